"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from linearly.cli.terminal import quoted

F = TypeVar("F", bound=Callable[..., Any])
_NAME = re.compile(r'\s*"((?:[^"]|"")+)"\s*(?=,|$)|([^,]+)')

json_option = click.option("--json", "as_json", is_flag=True, help="Answer with JSON.")
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show where an error comes from, and every warning."
)
data_argument = click.argument("data", metavar="DATA")
model_argument = click.argument("model", metavar="MODEL", type=click.Path())
na_option = click.option(
    "--na", multiple=True, metavar="TEXT", help="A text that stands for a missing value: - or ?. May be repeated."
)
level_option = click.option(
    "--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True,
    help="Confidence level of the intervals.",
)  # fmt: skip


def common(f: F) -> F:
    """The options of every command."""
    return json_option(debug_option(f))


def names(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Columns, named by repeating an option or with commas between them; a name with a comma stands in quotes."""
    found = (one for part in value for one in _NAME.finditer(part))
    named = (one[1].replace('""', '"') if one[1] else one[2].strip() for one in found)
    return tuple(name for name in named if name)


def option(*columns: str) -> str:
    """Columns as an option names them in the shell: see `names`."""

    def listed(name: str) -> str:
        return '"' + name.replace('"', '""') + '"' if "," in name or name.startswith('"') else name

    return quoted(",".join(map(listed, columns)))


def design_options(f: F) -> F:
    """What to predict from which columns."""
    for option in reversed(
        (
            click.option("--target", "-t", metavar="COLUMN", help="The column to predict."),
            click.option(
                "--formula", "-f", metavar="TEXT", help="Instead of a target, as in R: 'Sales ~ Price + log(Income)'."
            ),
            click.option(
                "--features", multiple=True, callback=names, metavar="A,B", help="Predict from these columns only."
            ),
            click.option("--without", multiple=True, callback=names, metavar="A,B", help="Leave these columns out."),
            click.option("--weight", metavar="COLUMN", help="A column of row weights."),
            click.option(
                "--missing",
                type=click.Choice(["error", "drop"]),
                default="error",
                show_default=True,
                help="What to do with rows that have missing values.",
            ),
            na_option,
        )
    ):
        f = option(f)
    return f


def chosen_features(
    schema: Any, target: str | None, formula: str | None, features: tuple[str, ...], without: tuple[str, ...],
    weight: str | None, groups: str | None = None,
) -> list[str] | None:  # fmt: skip
    """The features that the options ask for; None means all columns."""
    if formula is not None and (features or without):
        raise click.UsageError("A formula names its own columns: leave --features and --without out.")
    if formula is None and target in schema:
        _refuse_dates(schema, [name for name in features or schema if name not in {*without, target, weight, groups}])
    if not without:
        return list(features) or None
    from linearly.dataset.rows.tables import known_columns

    known_columns(without, schema)
    return [name for name in features or schema if name not in {*without, target, weight, groups}]


def _refuse_dates(schema: Any, features: list[str]) -> None:
    """Refuse dates and times, all at once and with the option that leaves them out."""
    dates = [name for name in features if name in schema and schema[name].is_temporal()]
    if dates:
        listed = ", ".join(map(repr, dates))
        what, them = (f"Column {listed} is a date or time", "it") if len(dates) == 1 else (
            f"Columns {listed} are dates or times", "them")  # fmt: skip
        told = f"{what}. Turn {them} into numbers first (days since a date, month, hour)"
        raise ValueError(f"{told}, or leave {them} out: --without {option(*dates)}.")


def one_aim(target: str | None, formula: str | None) -> None:
    """Refuse both or neither of target and formula."""
    if (target is None) == (formula is None):
        raise click.UsageError("Say what to predict: --target COLUMN or --formula 'COLUMN ~ TERMS', one of the two.")
