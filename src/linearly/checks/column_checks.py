"""Checks of single columns: missing values, kinds that cannot be used, codes, spelling, and the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from linearly.checks.column_profile import Column, Profile
from linearly.checks.fit_options import DROP_ROWS, make, without
from linearly.checks.sentinel_values import find_sentinels
from linearly.dataset.design.numeric_text import detect_numeric_text, is_number
from linearly.dataset.design.numeric_text_checks import leading_zeros
from linearly.dataset.design.terms import MAX_LEVELS
from linearly.dataset.rows.array_checks import LARGEST_EXACT_INTEGER
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Tables
from linearly.findings import Finding
from linearly.formatting import format_compact, list_first, shorten, shown

MAX_SQUARED = 1e150  # numbers whose squares, summed over rows, stay in float64
MAX_MISSING_SHARE = 0.3  # of a column that is still used
YEARS = (1500, 2200)  # numbers of rows within are as likely years as identifiers
MAX_LISTED = 12  # columns with missing values


def find_missing(profile: Profile, target: str | None) -> Iterator[Finding]:
    """Yield the columns with missing values, most of them first."""
    counts = {name: column.missing for name, column in profile.columns.items() if column.missing}
    if not counts:
        yield make("none_missing")
    for name, missing in sorted(counts.items(), key=lambda item: -item[1])[:MAX_LISTED]:
        given: dict[str, Any] = {"about": name, "missing": missing, "n": profile.n}
        if name == target:
            yield make("target_missing", options=DROP_ROWS, **given)
        elif missing > MAX_MISSING_SHARE * profile.n:
            yield make("mostly_missing", options=without(name), **given)
        else:
            yield make("missing_values", options=DROP_ROWS, **given)
    if len(counts) > MAX_LISTED:
        yield make("more_missing", k=len(counts) - MAX_LISTED)


def find_numeric_text(tables: Tables, name: str, column: Column, *, is_target: bool = False) -> Finding | None:
    """Return a finding if a column of text was meant for numbers."""
    report = detect_numeric_text(column.levels) if column.kind == "text" else None
    capped = len(column.levels) > MAX_LEVELS
    if report is None or report.code or not (report.words or report.marked or capped):
        return None
    first = ""
    if report.numbers and (report.words or capped):
        first = next((f" (first {shown(value)} in {where})" for where, value in _iter_words(tables, name)), "")
    fix = report.remedy[0].lower() + report.remedy[1:]
    if is_target:
        return make("numeric_text_target", about=name, report=report, first=first, fix=fix)
    return make("numeric_text", about=name, report=report, first=first, fix=fix, options=without(name))


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
            ends: dict[str, Any] = {"low": format_compact(low), "high": format_compact(high)}
            what = "the target " if name == target else ""
            yield make("sentinel_value", about=name, what=what, value=value, k=rows, **ends)
    whole = [name for name, c in columns.items() if c.kind == "integers" and not c.numbers_rows and name != target]
    for name, cell in leading_zeros(tables, whole).items():
        variant = "levels" if len(columns[name].levels) <= MAX_LEVELS else ""
        options = without(name) if len(columns) > 2 else ()  # the only feature stays
        yield make("leading_zeros", variant, about=name, cell=shown(cell), options=options)


def find_unusable(name: str, column: Column) -> Finding | None:
    """Return why a column cannot be a feature, or should not be; None if it can."""
    given: dict[str, Any] = {"about": name, "options": without(name)}
    if column.kind in ("dates", "other"):
        return make("dates" if column.kind == "dates" else "other_kind", **given)
    if column.missing > MAX_MISSING_SHARE * column.n:
        return make("too_many_missing", about=name)
    if column.infinite:
        return make("infinite", k=column.infinite, **given)
    if column.constant:
        return make("constant_column", value=shown(next(iter(column.levels))), **given)
    if column.kind == "integers" and column.largest > LARGEST_EXACT_INTEGER:
        return make("inexact_integers", **given)
    if column.identifies:
        many = f"more than {MAX_LEVELS}" if len(column.levels) > MAX_LEVELS else str(len(column.levels))
        return make("identifier", many=many, **given)
    if column.kind == "text" and len(column.levels) > MAX_LEVELS:
        return make("too_many_levels", most=MAX_LEVELS, **given)
    return None


def find_odd(columns: dict[str, Column]) -> Iterator[Finding]:
    """Yield usable columns that number the rows, have many levels, or spell a level in several ways."""
    for name, column in columns.items():
        yield from find_spellings(name, column)
        if column.numbers_rows:
            given: dict[str, Any] = {"about": name, "low": column.low, "high": column.high}
            if column.low >= YEARS[0] and column.high <= YEARS[1]:
                yield make("row_number", "time", guess="an identifier or a time", **given)
            else:
                options = without(name) if len(columns) > 1 else ()  # the only feature stays
                yield make("row_number", guess="an identifier", options=options, **given)
        elif column.kind == "text" and len(column.levels) > max(20, 0.05 * column.present):
            yield make("many_levels", about=name, k=len(column.levels), n=column.present)


def find_spellings(name: str, column: Column) -> Iterator[Finding]:
    """Yield a finding if levels differ in spaces or capitals only."""
    if column.kind != "text" or len(column.levels) > MAX_LEVELS:
        return
    spellings: dict[str, list[str]] = {}
    for level in sorted(map(str, column.levels)):
        spellings.setdefault(" ".join(level.split()).casefold(), []).append(level)
    several = [levels for levels in spellings.values() if len(levels) > 1]
    if several:
        more = f", and {len(several) - 1} similar cases" if len(several) > 1 else ""
        yield make("spellings", about=name, levels=", ".join(map(shown, several[0][:4])), more=more)


# --- the target -----------------------------------------------------------------------------------


def inspect_target(name: str, column: Column) -> Iterator[Finding]:
    """Yield what the target contains, and whether it can be predicted."""
    if column.kind in ("dates", "other"):
        yield make("target_kind", about=name, kind="dates" if column.kind == "dates" else "neither numbers nor text")
    elif column.constant:
        yield make("target_constant", about=name)
    elif column.kind == "text" and len(column.levels) > max(50, column.n // 4):
        yield make("target_labels_many", about=name, k=len(column.levels))
    else:
        if column.kind in ("numbers", "integers"):
            yield from _inspect_numeric_target(name, column)
        yield from find_spellings(name, column)
        if column.counts is not None and holds_labels(column):
            yield _inspect_balance(name, column.counts)


def _inspect_numeric_target(name: str, column: Column) -> Iterator[Finding]:
    values = sorted(column.levels)
    if column.largest > MAX_SQUARED:
        yield make("target_overflow", about=name, largest=column.largest)
    if len(values) == 2:
        labels = holds_labels(column)
        options = (("model", "logistic"),) if labels else ()
        yield make("two_values", "" if labels else "recode", about=name, low=values[0], high=values[1], options=options)
    elif column.kind == "integers" and len(values) <= 10 and column.n >= 10 * len(values):
        yield make("few_integers", about=name, k=len(values))
    else:
        yield make("target_numbers", about=name, low=column.low, high=column.high)


def holds_labels(column: Column) -> bool:
    """Return whether a target contains labels, by its kind or because it has only two values, both integers."""
    if column.kind == "numbers" and not all(float(value).is_integer() for value in column.levels):
        return False
    return 2 <= len(column.levels) <= (50 if column.kind in ("text", "true/false") else 2)


def _inspect_balance(name: str, counts: Counter[Any]) -> Finding:
    ranked, total = counts.most_common(), sum(counts.values())
    ranked = [(f"{label:g}" if isinstance(label, float) else label, n) for label, n in ranked]
    labels = [str(label) for label, _ in ranked]
    listed = list_first([f"{shorten(label, 30)} {n:,}" for label, (_, n) in zip(labels, ranked, strict=True)], 6)
    (most, most_rows), (least, rows) = ranked[0], ranked[-1]
    if rows < 10:
        return make("label_with_few_rows", about=name, label=shown(least), k=rows, listed=listed)
    if rows < 0.2 * total / len(ranked):  # a fifth of its fair share; with two labels, a tenth of the rows
        percent = 100 * most_rows / total
        return make("rare_label", about=name, label=shown(least), listed=listed, most=shown(most), percent=percent)
    return make("target_labels", about=name, k=len(ranked), listed=listed)
