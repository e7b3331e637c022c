"""Format numbers and names, and build the parts of a page: texts, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linearly import formatting
from linearly.findings import Finding
from linearly.formatting import MISSING, format_count, format_number, join_names, typeset_number
from linearly.plots.style import count, percent

Facts = dict[str, Any]
Part = dict[str, Any]

WIDE = 9  # columns from which a table has smaller letters
MAX_ROWS, SHOWN_ROWS = 15, 12  # a table of more rows shows the first ones, and all on request
# Last columns that explain the others: on a narrow screen they stand below them, and need no heading.
_ASIDE = ("meaning", "in words", "question")


@dataclass(frozen=True)
class Section:
    """A heading and the parts below it."""

    name: str
    title: str
    parts: list[Part] = field(default_factory=list)
    scripted: bool = False  # whether it is hidden without the script
    folded: bool = False  # whether it is folded with those after it, under the title of the first


@dataclass(frozen=True)
class Page:
    """The contents of a report, before they are HTML."""

    title: str
    fitted: list[str]
    good: list[str]
    findings: list[Finding]
    sections: list[Section]
    refit: dict[str, Any] | None = None
    rows: list[str] = field(default_factory=list)  # names of the rows that figures draw

    @property
    def remedies(self) -> list[tuple[str, str]]:
        """Return what to do next, and the name of the section with the reason."""
        return [(finding.remedy, finding.section) for finding in self.findings if finding.remedy]


def metrics_by_name(evaluation: Facts) -> dict[str, Facts]:
    """Return the value and the interval of each metric of an evaluation."""
    columns = evaluation["metrics"]
    return {
        name: {key: columns[key][i] for key in ("value", "conf_low", "conf_high")}
        for i, name in enumerate(columns["metric"])
    }


def describe_term(facts: Facts, term: str, effect: str, estimate: str) -> str:
    """Return what a coefficient means, given its effect if the term were not part of a curve or an interaction."""
    part = facts["shared"].get(term)
    if part is None:
        return effect
    if part["kind"] == "curve":
        return f"part of a curve in {join_names(part['of'])}: read with its other terms"
    if part["kind"] == "main":
        return f"{effect} if {join_names(part['where'])}; the effect depends on {join_names(part['depends'])}"
    first, *others = part["parts"]
    return f"the effect of {first} changes by {estimate} with {join_names(others)}"


def text(*sentences: str) -> Part:
    """Return a paragraph."""
    return {"kind": "text", "text": " ".join(sentence for sentence in sentences if sentence), "look": ""}


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    words: Sequence[int] = (),
    left: Sequence[int] = (),
    small: bool = False,
) -> Part:
    """Return a table whose first column heads its rows; `words` are columns of sentences, `left` of single words."""
    unmarked = {"mark": "", "shade": ""}
    return {
        "kind": "table",
        "caption": caption,
        "head": list(head),
        "rows": [[unmarked | (cell if isinstance(cell, dict) else {"text": cell}) for cell in row] for row in rows],
        "kinds": ["words" if j in words else "left" if j in left else "" for j in range(len(head))],
        "look": "small" if small or len(head) >= WIDE else "",
        "figures": len(head) - 1 if head[-1] in _ASIDE else 0,
        "n_shown": SHOWN_ROWS if len(rows) > MAX_ROWS else None,
    }


def largest_first(rows: Sequence[Sequence[Any]], sizes: Sequence[float | None], n_before: int = 0) -> list[Any]:
    """Return the rows of a long table with the largest first, after the first `n_before`; a short one unchanged."""
    if len(rows) <= MAX_ROWS:
        return list(rows)
    order = sorted(range(n_before, len(rows)), key=lambda i: -abs(sizes[i] or 0.0))
    return [*rows[:n_before], *(rows[i] for i in order)]


def figure(svg: str, caption: str) -> Part:
    """Return a figure with its caption."""
    return {"kind": "figure", "svg": svg, "caption": caption}


def grid(*figures: Part) -> Part:
    """Return figures side by side if there is room."""
    return {"kind": "grid", "figures": list(figures)}


def align_decimals(values: Sequence[float | None]) -> list[str]:
    """Return the numbers of a column with the decimals that the smallest needs for three digits; or each on its own."""
    known = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    if not known or max(known) >= 1e7 or min(known) < 1e-4 or max(known) / min(known) > 1e5:
        return [format_number(value, 4) for value in values]
    if all(float(value).is_integer() for value in known):
        return [format_count(value) for value in values]
    decimals = max(0, 2 - math.floor(math.log10(min(known))))
    decimals = min(decimals, max(0, 7 - math.floor(math.log10(max(known)))))
    return [
        MISSING if value is None or not math.isfinite(value) else typeset_number(f"{value:,.{decimals}f}")
        for value in values
    ]


def digits(value: float | None) -> str:
    """Return a number of digits, rounded down."""
    return MISSING if value is None else str(int(value))


def format_p(p: float | None) -> str:
    """Return a p-value as tables write it, with a typographic minus."""
    return MISSING if p is None else typeset_number(formatting.format_p(p))


def interval(low: float | None, high: float | None, n: int = 3) -> str:
    """Return "low to high"."""
    return MISSING if low is None or high is None else f"{format_number(low, n)} to {format_number(high, n)}"


def format_factor(value: float | None) -> str:
    """Return a factor to three digits, and to two of its difference from 1: 1.0021 is not 1."""
    if value is None or not 1e-9 < abs(value - 1) < 0.05:
        return format_number(value, 3)
    return f"{value:.{1 - math.floor(math.log10(abs(value - 1)))}f}"


def factor_interval(low: float | None, high: float | None) -> str:
    """Return "low to high" of factors."""
    return MISSING if low is None or high is None else f"{format_factor(low)} to {format_factor(high)}"


FORMATTERS = {
    function.__name__: function
    for function in (count, digits, format_count, format_number, format_p, interval, join_names, percent)
}
"""What the templates of sentences can call."""
