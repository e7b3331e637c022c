"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from linearly.cli.terminal import quote_word, set_color, set_quiet

F = TypeVar("F", bound=Callable[..., Any])
_NAME = re.compile(r'\s*"((?:[^"]|"")+)"\s*(?=,|$)|([^,]+)')

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error, and every warning."
)


def _if_given(apply: Callable[[Any], None]) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Return a callback for an option of both `linearly` and its commands: a default does not undo what was given."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if ctx.get_parameter_source(str(param.name)) is click.core.ParameterSource.COMMANDLINE:
            apply(value)

    return callback


quiet_option = click.option(
    "--quiet", "-q", is_flag=True, expose_value=False, callback=_if_given(set_quiet),
    help="Print results and errors only.",
)  # fmt: skip
color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True, expose_value=False,
    callback=_if_given(set_color), help="When to use colors; auto follows the terminal and NO_COLOR.",
)  # fmt: skip
force_option = click.option("--force", is_flag=True, help="Replace an output file that linearly did not write.")
data_argument = click.argument("data", metavar="DATA")
model_argument = click.argument("model", metavar="MODEL", type=click.Path())
target_option = click.option("--target", "-t", metavar="COLUMN", help="Column to predict.")
weight_option = click.option("--weight", metavar="COLUMN", help="Column of row weights.")
na_option = click.option(
    "--na", multiple=True, metavar="TEXT", help="Text that stands for a missing value, such as - or ?. Repeatable."
)
positive_option = click.option(
    "--positive", metavar="LABEL", help="Label that precision and recall refer to.  [default: the rarer of two labels]"
)
level_option = click.option(
    "--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True,
    help="Confidence level of the intervals.",
)  # fmt: skip


def common_options(f: F) -> F:
    """Add the options of every command."""
    return json_option(quiet_option(color_option(debug_option(f))))


def names_option(flag: str, help: str) -> Callable[[F], F]:
    """Return an option that takes names of columns."""
    return click.option(flag, multiple=True, callback=_parse_names, metavar="A,B", help=help)


def _parse_names(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that are separated by commas or repeated options; a name with a comma stands in quotes."""
    matches = (match for part in value for match in _NAME.finditer(part))
    names = (match[1].replace('""', '"') if match[1] else match[2].strip() for match in matches)
    return tuple(name for name in names if name)


def format_names(*columns: str) -> str:
    """Return columns as `names_option` takes them in the shell."""

    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"' if "," in name or name.startswith('"') else name

    return quote_word(",".join(map(quoted, columns)))


without_option = names_option("--without", "Columns to leave out, comma-separated.")


def design_options(f: F) -> F:
    """Add the options that say what to predict from which columns."""
    formula = click.option(
        "--formula", "-f", metavar="TEXT", help="Formula as in R, instead of --target: 'Sales ~ Price + log(Income)'."
    )
    missing = click.option(
        "--missing", type=click.Choice(["error", "drop"]), default="error", show_default=True,
        help="Treatment of rows with missing values.",
    )  # fmt: skip
    features = names_option("--features", "Columns to predict from, comma-separated.  [default: all others]")
    for option in (na_option, missing, weight_option, without_option, features, formula, target_option):
        f = option(f)
    return f


def choose_features(
    schema: Any, target: str | None, formula: str | None, features: tuple[str, ...], without: tuple[str, ...],
    weight: str | None, groups: tuple[str, ...] | None = None,
) -> list[str] | None:  # fmt: skip
    """Return the features that the options select; None means all columns."""
    if formula is not None and (features or without):
        raise click.UsageError(
            "--formula cannot be combined with --features or --without. Name the columns in the formula."
        )
    chosen = [name for name in features or schema if name not in {*without, target, weight, *(groups or ())}]
    if formula is None and target in schema:
        _check_no_dates(schema, chosen)
    if not without:
        return list(features) or None
    from linearly.dataset.rows.tables import check_columns_known

    check_columns_known(without, schema)
    return chosen


def _check_no_dates(schema: Any, features: list[str]) -> None:
    """Raise `ValueError` for dates and times, with the option that leaves all of them out."""
    dates = [name for name in features if name in schema and schema[name].is_temporal()]
    if not dates:
        return
    listed = ", ".join(map(repr, dates))
    what, them = (f"Column {listed} is a date or time", "it") if len(dates) == 1 else (
        f"Columns {listed} are dates or times", "them")  # fmt: skip
    remedy = f"Turn {them} into numbers first (days since a date, month, hour)"
    raise ValueError(f"{what}. {remedy}, or leave {them} out: --without {format_names(*dates)}.")


def check_target_or_formula(target: str | None, formula: str | None) -> None:
    """Raise `click.UsageError` for both or neither of target and formula."""
    if (target is None) == (formula is None):
        raise click.UsageError("Name what to predict with either --target COLUMN or --formula 'COLUMN ~ TERMS'.")


def check_suffix(path: str | None, what: str, *suffixes: str) -> None:
    """Raise `click.UsageError` if a file has none of the suffixes."""
    if path is not None and not path.lower().endswith(suffixes):
        raise click.UsageError(
            f"The file name of {what} must end in {suffixes[0]}, but it is {path}. Choose another name."
        )
