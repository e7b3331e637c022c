"""One finding: a claim about data or a model, the evidence for it, and a remedy that can be run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

OK, CHECK, PROBLEM = "OK", "Check", "Problem"
SEVERITIES = (PROBLEM, CHECK, OK)  # the worst first

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Finding:
    """A claim with its evidence, its test (if any) and its remedy.

    Attributes
    ----------
    id : str
        Name of the claim, the same on every screen and page.
    severity : {"OK", "Check", "Problem"}
        How bad it is.
    about : str
        A column, a term, or a topic such as "scale".
    claim : str
        What was found.
    remedy : str
        What to do; empty if nothing.
    options : tuple of (str, str)
        Arguments of a fit that carries out the remedy; ("without", name) leaves a column out. Without them the remedy
        is advice, unless it names a command.
    stops : bool
        True if no model can be fitted.
    section : str
        Section of a report that shows the evidence.
    null : str
        Null hypothesis that the test behind the claim rejects, or fails to reject; empty without a test.
    level : float, optional
        Level of that test: the largest rate of false alarms if the null hypothesis holds.
    statistic, p_value : float, optional
        Result of that test.
    evidence : dict
        Further numbers and names behind the claim.
    """

    id: str
    severity: str
    about: str
    claim: str
    remedy: str = ""
    options: Options = ()
    stops: bool = False
    section: str = ""
    null: str = ""
    level: float | None = None
    statistic: float | None = None
    p_value: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the worst first, otherwise in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
