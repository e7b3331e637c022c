"""Checks of single columns: missing values, kinds that cannot be used, codes, spelling, and the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from linearly.checks.column_profile import Column, Profile
from linearly.checks.finding import DROP_ROWS, Finding, list_first, without
from linearly.checks.sentinel_values import find_sentinels
from linearly.dataset.design.numeric_text import detect_numeric_text, is_number
from linearly.dataset.design.numeric_text_checks import leading_zeros
from linearly.dataset.design.terms import MAX_LEVELS
from linearly.dataset.rows.array_checks import LARGEST_EXACT_INTEGER
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Tables
from linearly.formatting import format_compact, pluralize, shorten, shown

MAX_SQUARED = 1e150  # numbers whose squares, summed over rows, stay in float64
MAX_MISSING_SHARE = 0.3  # of a column that is still used
MAX_LISTED = 12  # columns with missing values


def find_missing(profile: Profile, target: str | None) -> Iterator[Finding]:
    """Yield the columns with missing values, most of them first."""
    counts = {name: column.missing for name, column in profile.columns.items() if column.missing}
    if not counts:
        yield Finding("ok", "missing values", "none")
    for name, missing in sorted(counts.items(), key=lambda item: -item[1])[:MAX_LISTED]:
        text = f"missing in {pluralize(missing, 'row')} of {profile.n:,}"
        if name == target:
            yield Finding("problem", name, f"the target is {text}", 'missing="drop" leaves those rows out', DROP_ROWS)
        elif missing > MAX_MISSING_SHARE * profile.n:
            yield Finding("problem", name, text, "leave the column out", without(name))
        else:
            remedy = 'fill the gaps, or missing="drop" leaves those rows out'
            yield Finding("problem", name, text, remedy, DROP_ROWS)
    if len(counts) > MAX_LISTED:
        yield Finding("note", "missing values", f"in {len(counts) - MAX_LISTED} columns more")


def find_numeric_text(tables: Tables, name: str, column: Column, what: str = "") -> Finding | None:
    """Return a finding if a column of text was meant for numbers; `what` names the target."""
    report = detect_numeric_text(column.levels) if column.kind == "text" else None
    capped = len(column.levels) > MAX_LEVELS
    if report is None or report.code or not (report.words or report.marked or capped):
        return None
    text = f"{what}is text, though {report}"
    if report.numbers and (report.words or capped):
        text += next((f" (first {shown(value)} in {where})" for where, value in _iter_words(tables, name)), "")
    remedy = report.remedy[0].lower() + report.remedy[1:]
    if what:
        return Finding("problem", name, text, remedy, stops=True)
    return Finding("problem", name, text, f"{remedy}, or leave it out", without(name))


def _iter_words(tables: Tables, name: str) -> Iterator[tuple[str, str]]:
    """Yield the cells of a text column that are not numbers: where they are, and their text."""
    for chunk in tables.select([name]):
        for i, value in enumerate(text_of(chunk.frame[name]).to_list()):
            if value is not None and not is_number(value):
                yield chunk.where(i), value


def find_codes(tables: Tables, columns: dict[str, Column], target: str | None) -> Iterator[Finding]:
    """Yield the columns whose numbers are codes rather than quantities."""
    for name, column in columns.items():
        for value, rows, low, high in find_sentinels(column):
            text = "the target " if name == target else ""
            text += f"is exactly {value:.0f} in {pluralize(rows, 'row')}, far from the rest"
            text += f" ({format_compact(low)} to {format_compact(high)}): a code for missing values?"
            remedy = 'if so, leave those cells empty, and missing="drop" leaves the rows out'
            yield Finding("note", name, text, remedy)
    whole = [name for name, c in columns.items() if c.kind == "whole numbers" and not c.numbers_rows and name != target]
    for name, cell in leading_zeros(tables, whole).items():
        remedy = "leave it out"
        if len(columns[name].levels) <= MAX_LEVELS:
            remedy += f"; or, as levels, write it as C({name}) in a formula"
        options = without(name) if len(columns) > 2 else ()  # the only feature stays
        yield Finding("note", name, f"has leading zeros ({shown(cell)}): a code, not a quantity", remedy, options)


def find_unusable(name: str, column: Column) -> Finding | None:
    """Return why a column cannot be a feature, or should not be; None if it can."""
    fix = ""
    if column.kind == "dates":
        text, fix = "holds dates or times", "turn them into numbers (days, month, hour), or "
    elif column.kind == "other":
        text = "holds neither numbers nor text"
    elif column.missing > MAX_MISSING_SHARE * column.n:
        return Finding("note", name, "has too many gaps to be looked at further", "leave it out")
    elif column.infinite:
        text, fix = f"is infinite in {pluralize(column.infinite, 'row')}", "correct them, or "
    elif column.constant:
        text = f"is constant ({shown(next(iter(column.levels)))} in every row)"
    elif column.kind == "whole numbers" and column.largest > LARGEST_EXACT_INTEGER:
        text = "holds whole numbers beyond 2**53, and would lose digits: it looks like an identifier"
    elif column.identifies:
        many = f"more than {MAX_LEVELS}" if len(column.levels) > MAX_LEVELS else str(len(column.levels))
        text = f"looks like an identifier: {many} different texts"
    elif column.kind == "text" and len(column.levels) > MAX_LEVELS:
        text, fix = f"has more than {MAX_LEVELS} levels", "group them, or "
    else:
        return None
    return Finding("problem", name, text, f"{fix}leave it out", without(name))


def find_odd(columns: dict[str, Column]) -> Iterator[Finding]:
    """Yield usable columns that number the rows, have many levels, or spell a level in several ways."""
    for name, column in columns.items():
        yield from find_spellings(name, column)
        if column.numbers_rows:
            text = f"numbers the rows, {column.low:.0f} to {column.high:.0f}: it looks like an identifier"
            yield Finding("note", name, text, "leave it out", without(name))
        elif column.kind == "text" and len(column.levels) > max(20, 0.05 * column.present):
            text = f"has {len(column.levels)} levels in {pluralize(column.present, 'row')}: a column for each but one"
            yield Finding("note", name, text, "group the rare ones")


def find_spellings(name: str, column: Column) -> Iterator[Finding]:
    """Yield a finding if levels differ in spaces or capitals only."""
    if column.kind != "text" or len(column.levels) > MAX_LEVELS:
        return
    spellings: dict[str, list[str]] = {}
    for level in sorted(map(str, column.levels)):
        spellings.setdefault(" ".join(level.split()).casefold(), []).append(level)
    several = [levels for levels in spellings.values() if len(levels) > 1]
    if several:
        more = f", and {len(several) - 1} more like it" if len(several) > 1 else ""
        text = f"has levels that differ in spaces or capitals only: {', '.join(map(shown, several[0][:4]))}{more}"
        yield Finding("note", name, text, "write them alike")


# --- the target -----------------------------------------------------------------------------------


def inspect_target(name: str, column: Column) -> Iterator[Finding]:
    """Yield what the target holds, and whether that can be predicted."""
    if column.kind in ("dates", "other"):
        text = f"the target holds {'dates' if column.kind == 'dates' else 'neither numbers nor text'}"
        yield Finding("problem", name, text, "choose a column of numbers or labels", stops=True)
    elif column.constant:
        text = "the target is constant: there is nothing to predict"
        yield Finding("problem", name, text, "choose another column", stops=True)
    elif column.kind == "text" and len(column.levels) > max(50, column.n // 4):
        yield Finding("problem", name, f"the target has {len(column.levels)} different labels", "group them")
    else:
        if column.kind in ("numbers", "whole numbers"):
            yield from _inspect_numeric_target(name, column)
        yield from find_spellings(name, column)
        if column.counts is not None and holds_labels(column):
            yield _inspect_balance(name, column.counts)


def _inspect_numeric_target(name: str, column: Column) -> Iterator[Finding]:
    values = sorted(column.levels)
    if column.largest > MAX_SQUARED:
        text = f"the target goes up to {column.largest:.4g}, and its squares leave float64"
        yield Finding("note", name, text, "rescale it, or there are no standard errors")
    if len(values) == 2:
        text = f"the target holds only {values[0]:g} and {values[1]:g}: logistic regression is the usual model"
        yield Finding("note", name, text, 'model="logistic"', (("model", "logistic"),))
    elif column.kind == "whole numbers" and len(values) <= 10 and column.n >= 10 * len(values):
        text = f"the target holds {len(values)} whole numbers, and would be fitted as a number"
        yield Finding("note", name, text, 'if these are labels: model="logistic"')
    else:
        yield Finding("ok", name, f"the target holds numbers, {column.low:.4g} to {column.high:.4g}: linear")


def holds_labels(column: Column) -> bool:
    """Return whether a target holds labels, by its kind or because it holds two numbers only."""
    return 2 <= len(column.levels) <= (50 if column.kind in ("text", "true/false") else 2)


def _inspect_balance(name: str, counts: Counter[Any]) -> Finding:
    ranked, total = counts.most_common(), sum(counts.values())
    labels = [f"{label:g}" if isinstance(label, float) else str(label) for label, _ in ranked]
    listed = list_first([f"{shorten(label, 30)} {n:,}" for label, (_, n) in zip(labels, ranked, strict=True)])
    (most, most_rows), (least, rows) = ranked[0], ranked[-1]
    if rows < 10:
        text = f"the label {shown(least)} has {pluralize(rows, 'row')} only ({listed})"
        return Finding("problem", name, text, "find more of them, or join labels")
    if rows < 0.2 * total / len(ranked):  # a fifth of its fair share; with two labels, a tenth of the rows
        always = f"always saying {shown(most)} is right {100 * most_rows / total:.1f} % of the time"
        return Finding("note", name, f"{shown(least)} is rare: {listed}; {always}", "look at recall, not at accuracy")
    return Finding("ok", name, f"the target holds {len(ranked)} labels: {listed}")
