"""Advise which columns to leave out of a fit: those that others determine, or that contain the target."""

from __future__ import annotations

from typing import Any

from linearly.findings.finding import Finding
from linearly.findings.sentences import describe_option, make_finding
from linearly.formatting import join_names

Facts = dict[str, Any]

MAX_OPTIONS = 5  # of columns to leave out that are written in full


def aliased_finding(facts: Facts, catalogue: str = "regression", *, advise: bool = True) -> Finding:
    """Return the finding about terms that others determine; its remedy leaves out columns of the data.

    Parameters
    ----------
    facts : dict
        With the terms ``aliased``; ``features`` and ``formula`` if the data are known.
    catalogue : {"regression", "classification"}
        The file of sentences.
    advise : bool
        Whether leaving these columns out is of use.
    """
    terms = facts["aliased"]
    columns = [name for name in terms if name in facts.get("features", ())]
    if not advise or not 0 < len(columns) <= MAX_OPTIONS:
        return make_finding("aliased", "merge", catalogue=catalogue, terms=terms)
    return make_finding("aliased", catalogue=catalogue, terms=terms, columns=columns, **leave_out(facts, columns))


def leave_out(facts: Facts, columns: list[str]) -> Facts:
    """Return a fit without some columns: its text, and as options; a formula names its columns itself."""
    if facts.get("formula") or not set(columns) <= set(facts["features"]):
        return {"option": f"write a formula without {join_names(columns)}"}
    options = tuple(("without", name) for name in columns)
    rest = [name for name in facts["features"] if name not in columns]
    commands = " ".join(describe_option(facts, *one) for one in options)
    return {"option": commands if facts.get("commands") else f"features={rest}", "options": options}
