"""`linearly check`: report what is wrong with a table before any fit."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.errors import with_option_names
from linearly.cli.fit_view import COLOURS, Column, format_finding, layout_table, table_width
from linearly.cli.inputs import read_tables
from linearly.cli.options import (
    common_options,
    data_argument,
    format_names,
    na_option,
    target_option,
    weight_option,
    without_option,
)
from linearly.cli.progress import Progress
from linearly.cli.terminal import (
    bold,
    dim,
    print_err,
    print_json,
    print_out,
    quote_word,
    terminal_width,
    visible_width,
)
from linearly.formatting import format_compact, pluralize, shorten_names

if TYPE_CHECKING:
    from linearly.dataset.rows.tables import Tables
    from linearly.findings import Finding

_MAX_COLUMNS = 40  # listed
_MIN_LETTERS = 12  # of a name and of the values that are shown


@click.command()
@data_argument
@target_option
@without_option
@weight_option
@na_option
@click.option("--strict", is_flag=True, help="Exit with code 1 if a problem is found.")
@common_options
def check(
    data: str,
    target: str | None,
    without: tuple[str, ...],
    weight: str | None,
    na: tuple[str, ...],
    strict: bool,
    as_json: bool,
) -> int:
    """Find problems in DATA before a fit, and how to fix them.

    Reports the kind of each column, missing values, constant, duplicate and collinear columns, identifiers, scales,
    label counts, and whether a hyperplane separates the labels. The exit code is 0 unless --strict is given.

    \b
    Example:
      linearly check carseats.csv --target Sales
    """
    from linearly.checks import inspect_table
    from linearly.dataset.design.missing_markers import without_markers
    from linearly.dataset.rows.tables import check_columns_known

    with Progress() as progress:
        tables: Tables = without_markers(read_tables(data, progress), na)
        check_columns_known([target] if target is not None else [], tables.schema, "target column")
        check_columns_known([*without, *([weight] if weight is not None else [])], tables.schema)
        for name, role in ((target, "--target"), (weight, "--weight")):
            if name in without:
                raise click.UsageError(f"{role} {name} and --without {name} contradict each other. Remove one.")
        tables = tables.select([name for name in tables.schema if name not in without])
        inspected = inspect_table(tables, target, weight)
    found = [_with_options(finding) for finding in inspected.findings]
    columns = [_describe_column(name, column) for name, column in inspected.profile.columns.items()]
    n = inspected.profile.n
    counts = {severity: sum(one.severity == severity for one in found) for severity in COLOURS}
    code = int(strict and counts["Problem"] > 0)
    if as_json:
        print_json({"rows": n, "columns": columns, "findings": [asdict(one) for one in found], "counts": counts})
        return code
    print_out(f"{bold(data)}   {pluralize(n, 'row')}   {pluralize(len(columns), 'column')}\n")
    print_out("\n".join([*_column_table(columns, target, weight), ""]))
    for finding in sorted(found, key=lambda one: list(COLOURS).index(one.severity)):
        print_out(format_finding(asdict(finding)))
    total = f"{pluralize(counts['Problem'], 'problem')}, {pluralize(counts['Check'], 'point')} to check"
    print_out(f"\n{total if counts['Problem'] + counts['Check'] else 'No problem was found.'}")
    if target is not None and data != "-" and not any(one.stops for one in found):
        print_err(f"next: {_fit_command(data, target, without, weight, found, na)}")
    return code


def _with_options(finding: Finding) -> Finding:
    """Return a finding whose remedy and options are written as options of `linearly fit`."""
    column = dict(finding.options).get("without", finding.about)
    remedy = with_option_names(finding.remedy)
    remedy = remedy.replace("ridge: RidgeCV", "ridge: --cv").replace("in a formula", "in a --formula")
    without = f": --without {format_names(column)}"
    remedy = re.sub(r"\bleave (it|the column) out\b", lambda match: match[0] + without, remedy)
    remedy += ": --without" if remedy.startswith("leave out those") else ""
    return replace(finding, remedy=remedy, options=tuple((f"--{flag}", value) for flag, value in finding.options))


def _fit_command(
    data: str, target: str, without: tuple[str, ...], weight: str | None, found: list[Any], na: tuple[str, ...]
) -> str:
    """Return the command that fits a model with the remedies applied."""
    options = [pair for one in found for pair in one.options]
    left_out = dict.fromkeys([*without, *(name for flag, name in options if flag == "--without")])
    words = ["linearly", "fit", quote_word(data), "--target", quote_word(target)]
    words += ["--weight", quote_word(weight)] if weight is not None else []
    words += [quote_word(f"--na={marker}") for marker in na]
    words += ["--without", format_names(*left_out)] if left_out else []
    for flag, value in dict(pair for pair in options if pair[0] != "--without").items():
        words += [flag, value] if value else [flag]
    return " ".join(words)


def _describe_column(name: str, column: Any) -> dict[str, Any]:
    from linearly.dataset.design.terms import MAX_LEVELS

    n_levels = len(column.levels)
    row: dict[str, Any] = {"column": name, "kind": column.kind, "missing": column.missing}
    row |= {"levels": n_levels if 0 < n_levels <= MAX_LEVELS else None, "many": n_levels > MAX_LEVELS}
    if column.kind in ("numbers", "integers") and column.high >= column.low:
        row |= {"low": column.low, "high": column.high, "mean": column.total / max(column.present - column.infinite, 1)}
    elif column.kind in ("text", "true/false"):
        row["examples"] = sorted(map(str, column.levels))[:5]
    return row


def _column_table(rows: list[dict[str, Any]], target: str | None, weight: str | None) -> list[str]:
    shown = rows[:_MAX_COLUMNS]
    roles = {target: "target", weight: "weight"}
    columns = [
        Column("kind", [row["kind"] for row in shown]),
        Column("different", ["> 1000" if row["many"] else str(row["levels"] or "–") for row in shown], True),
        Column("missing", [f"{row['missing']:,}" if row["missing"] else "–" for row in shown], True),
        Column("", [roles.get(row["column"], "") for row in shown]),
    ]
    if not any(columns[-1].cells):
        columns.pop()
    room = terminal_width() - table_width(columns) - 4  # for names and values
    names = shorten_names([row["column"] for row in shown], max(room - _MIN_LETTERS, _MIN_LETTERS), middle_first=True)
    columns.insert(0, Column("column", names))
    room = max(room - max(map(visible_width, ["column", *names])), _MIN_LETTERS)
    values = map(_format_values, shown)
    columns.insert(4, Column("values", [v if len(v) <= room else v[: room - 1] + "…" for v in values]))
    more = [dim(f"… {len(rows) - _MAX_COLUMNS:,} more columns; --json has them all")]
    return layout_table(columns) + (more if len(rows) > _MAX_COLUMNS else [])


def _format_values(row: dict[str, Any]) -> str:
    if "low" in row:
        low, high, mean = (format_compact(row[name]) for name in ("low", "high", "mean"))
        return f"{low} to {high}, mean {mean}"
    more = " …" if row["many"] or (row["levels"] or 0) > 5 else ""
    return ", ".join(one if one == " ".join(one.split()) else repr(one) for one in row.get("examples", ())) + more
