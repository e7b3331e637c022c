"""`linearly check`: a look at the data before any fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.errors import in_options, one_line
from linearly.cli.inputs import read
from linearly.cli.options import common, data_argument, na_option, names, option
from linearly.cli.progress import Progress
from linearly.cli.terminal import (
    bold,
    brief,
    compact,
    count,
    dim,
    print_err,
    print_out,
    put_json,
    quoted,
    seen,
    short,
    style,
    width,
    wrapped,
)

if TYPE_CHECKING:
    from linearly.checks import Finding
    from linearly.dataset.rows.tables import Tables

COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}
MOST_COLUMNS = 40  # listed
LEAST = 12  # letters of a name, and of the values, that are shown


@click.command()
@data_argument
@click.option("--target", "-t", metavar="COLUMN", help="The column to predict.")
@click.option("--without", multiple=True, callback=names, metavar="A,B", help="Leave these columns out.")
@click.option("--weight", metavar="COLUMN", help="A column of row weights.")
@na_option
@common
def check(
    data: str, target: str | None, without: tuple[str, ...], weight: str | None, na: tuple[str, ...], as_json: bool
) -> None:
    """Look at DATA before any fit: what will go wrong, and the remedy.

    Columns and their kinds, missing values, constant, duplicate and collinear columns by name, identifiers, scale,
    counts of labels, and whether the labels can be told apart without an error. The exit code is 0 whatever is found.

    \b
    Example:
      linearly check carseats.csv --target Sales
    """
    from linearly.checks import inspect_table
    from linearly.dataset.design.missing_markers import without_markers
    from linearly.dataset.rows.tables import known_columns

    with Progress() as progress:
        tables: Tables = without_markers(read(data, progress), na)
        known_columns([target] if target is not None else [], tables.schema, "target column")
        known_columns([*without, *([weight] if weight is not None else [])], tables.schema)
        for name, role in ((target, "--target"), (weight, "--weight")):
            if name in without:
                raise click.UsageError(f"{role} {name} and --without {name} contradict each other: leave one out.")
        tables = tables.select([name for name in tables.schema if name not in without])
        inspected = inspect_table(tables, target, weight)
    told = [with_options(finding) for finding in inspected.findings]
    columns = [_row(name, column) for name, column in inspected.profile.columns.items()]
    n = inspected.profile.n
    if as_json:
        tally = {level: sum(one.level == level for one in told) for level in COLOURS}
        put_json({"rows": n, "columns": columns, "findings": [one._asdict() for one in told], "counts": tally})
        return
    print_out(f"{bold(data)}   {count(n, 'row')}   {count(len(columns), 'column')}\n")
    print_out(_columns(columns, target, weight))
    print_out()
    for level in COLOURS:
        for one in told:
            if one.level == level:
                print_out(_line(one))
    problems = sum(one.level == "problem" for one in told)
    notes = sum(one.level == "note" for one in told)
    print_out()
    print_out(
        f"{count(problems, 'problem')}, {count(notes, 'note')}" if problems + notes else "nothing stands in the way"
    )
    if target is not None and data != "-" and not any(one.stops for one in told):
        print_err(f"next: {next_command(data, target, without, weight, told, na)}")


def with_options(finding: Finding) -> Finding:
    """Return a finding whose remedy and options are written as options of `linearly fit`."""
    column = dict(finding.options).get("without", finding.about)
    remedy = (
        in_options(finding.remedy).replace("ridge: RidgeCV", "ridge: --cv").replace("in a formula", "in a --formula")
    )
    remedy = re.sub(r"\bleave (it|the column) out\b", lambda found: f"{found[0]}: --without {option(column)}", remedy)
    remedy += ": --without" if remedy.startswith("leave out those") else ""
    return finding._replace(remedy=remedy, options=tuple((f"--{word}", value) for word, value in finding.options))


def next_command(
    data: str, target: str, without: tuple[str, ...], weight: str | None, told: list[Any], na: tuple[str, ...] = ()
) -> str:
    """The fit that heeds what was found."""
    options = [pair for one in told for pair in one.options]
    left_out = dict.fromkeys([*without, *(name for word, name in options if word == "--without")])
    words = ["linearly", "fit", quoted(data), "--target", quoted(target)]
    words += ["--weight", quoted(weight)] if weight is not None else []
    words += [quoted(f"--na={marker}") for marker in na]
    words += ["--without", option(*left_out)] if left_out else []
    for word, value in dict(pair for pair in options if pair[0] != "--without").items():
        words += [word, value] if value else [word]
    return " ".join(words)


def _row(name: str, column: Any) -> dict[str, Any]:
    from linearly.dataset.design.terms import MAX_LEVELS

    row: dict[str, Any] = {"column": name, "kind": column.kind, "missing": column.missing}
    row["levels"] = len(column.levels) if 0 < len(column.levels) <= MAX_LEVELS else None
    row["many"] = len(column.levels) > MAX_LEVELS
    if column.kind in ("numbers", "whole numbers") and column.high >= column.low:
        row |= {"low": column.low, "high": column.high, "mean": column.total / max(column.present - column.infinite, 1)}
    elif column.kind in ("text", "true/false"):
        row["examples"] = sorted(map(str, column.levels))[:5]
    return row


def _columns(rows: list[dict[str, Any]], target: str | None, weight: str | None) -> str:
    from linearly.cli.fit_view import cut_names, laid_out

    shown = rows[:MOST_COLUMNS]
    roles = {target: "target", weight: "weight"}
    columns = [
        ("kind", False, [row["kind"] for row in shown]),
        ("different", True, ["> 1000" if row["many"] else str(row["levels"] or "–") for row in shown]),
        ("missing", True, [f"{row['missing']:,}" if row["missing"] else "–" for row in shown]),
        ("", False, [roles.get(row["column"], "") for row in shown]),
    ]
    if not any(columns[-1][2]):
        columns.pop()
    room = width() - max(map(seen, laid_out(columns))) - 4  # for names and values
    named = cut_names([row["column"] for row in shown], max(room - LEAST, LEAST))
    columns.insert(0, ("column", False, named))
    room -= max(map(seen, ["column", *named]))
    columns.insert(4, ("values", False, [_cut(_values(row), max(room, LEAST)) for row in shown]))
    lines = laid_out(columns)
    if len(rows) > MOST_COLUMNS:
        lines.append(dim(f"… {len(rows) - MOST_COLUMNS:,} more columns; --json has them all"))
    return "\n".join(lines)


def _values(row: dict[str, Any]) -> str:
    if "low" in row:
        return f"{compact(row['low'])} to {compact(row['high'])}, mean {compact(row['mean'])}"
    more = " …" if row["many"] or (row["levels"] or 0) > 5 else ""
    told = [one if one == " ".join(one.split()) else repr(one) for one in row.get("examples", ())]
    return ", ".join(told) + more


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(one: Any) -> str:
    lead = f"{one.level:<8} "
    text = f"{short(one.about)}: {one.text}"
    text = f"{one_line(text)} {one_line(one.remedy[0].upper() + one.remedy[1:])}" if one.remedy else text
    return style(f"{one.level:<8}", COLOURS[one.level]) + wrapped(brief(text), lead)[8:]
