"""`linearly anova`, `ask`, `means` and `table`: test and tabulate model files, without data if the summary suffices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.inputs import check_output, load_model, read_tables
from linearly.cli.options import common_options, level_option, model_argument, names_option
from linearly.cli.progress import Progress
from linearly.cli.terminal import bold, print_json, print_out, print_saved, typeset_table, wrap_text

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.table import Table

_ADJUST = click.Choice(["tukey", "holm", "bh", "none"])
_FORMATS = {".tex": "latex", ".md": "markdown", ".html": "html", ".typ": "typst", ".docx": "docx", ".txt": "text"}


def _print_table(table: Table, model: Model, as_json: bool, **facts: Any) -> None:
    """Print a table with its notes, wrapped, or as JSON."""
    if as_json:
        print_json({"model": model.model, "target": model.target, **facts, "table": table, "notes": table.notes})
        return
    from linearly.table import Table

    bare = Table({name: table[name] for name in table.columns}, title=table.title)
    print_out(f"{bold(model.target)}\n\n{typeset_table(str(bare))}")
    for k, note in enumerate(table.notes):
        print_out(("\n" if not k else "") + wrap_text(note))


@click.command()
@model_argument
@click.argument("data", required=False)
@click.option(
    "--type", "kind", type=click.IntRange(1, 3), default=2, show_default=True, help="Type of tests: I, II or III."
)
@common_options
def anova(model: str, data: str | None, kind: int, as_json: bool) -> None:
    """Test every term of a saved model: analysis of variance.

    Linear models require no DATA. For logistic models, the table is an analysis of deviance. The tests are
    likelihood-ratio tests if DATA contains the rows of the fit, and Wald tests otherwise.

    \b
    Examples:
      linearly anova model.json
      linearly anova model.json --type 3
      linearly anova logistic.json train.parquet
    """
    from linearly.inference.anova import anova as analyse

    fitted = load_model(model)
    if data is None:
        _print_table(analyse(fitted, type=kind), fitted, as_json, type=kind)
        return
    with Progress() as progress:
        table = analyse(fitted, read_tables(data, progress), type=kind)
    _print_table(table, fitted, as_json, type=kind)


@click.command()
@model_argument
@click.argument("hypotheses", metavar="HYPOTHESIS...", nargs=-1, required=True)
@click.option("--joint", is_flag=True, help="Test all hypotheses together.")
@click.option(
    "--adjust",
    type=click.Choice(["holm", "bh"]),
    help="Adjustment of p-values for several hypotheses.  [default: none]",
)
@level_option
@common_options
def ask(model: str, hypotheses: tuple[str, ...], joint: bool, adjust: str | None, level: float, as_json: bool) -> None:
    """Test hypotheses about the coefficients of a saved model.

    Write hypotheses with the term names that `linearly show` prints.

    \b
    Examples:
      linearly ask model.json "Price = -0.1"
      linearly ask model.json "ShelveLoc[Good] = 2*ShelveLoc[Medium]" "Age = 0" --joint
    """
    from linearly.inference.hypotheses import hypotheses as test

    fitted = load_model(model)
    _print_table(test(fitted, list(hypotheses), joint=joint, adjust=adjust, level=level), fitted, as_json, level=level)


@click.command()
@model_argument
@click.argument("factors", metavar="CATEGORY...", nargs=-1, required=True)
@names_option("--by", "Categories to compute separate means for, comma-separated.")
@click.option(
    "--at",
    "points",
    metavar="COLUMN=VALUE",
    multiple=True,
    help="Value of a column. Repeatable.  [default: means of numeric columns]",
)
@click.option("--pairs", is_flag=True, help="Compare all pairs of means.")
@click.option("--adjust", type=_ADJUST, help="Adjustment for several tests.  [default: tukey with --pairs, else none]")
@click.option("--scale", type=click.Choice(["response", "link"]), default="response", show_default=True,
              help="Scale of the means of a logistic model.")  # fmt: skip
@click.option("--data", metavar="DATA", help="Data for columns whose mean is not in the model file.")
@level_option
@common_options
def means(
    model: str,
    factors: tuple[str, ...],
    by: tuple[str, ...],
    points: tuple[str, ...],
    pairs: bool,
    adjust: str | None,
    scale: str,
    data: str | None,
    level: float,
    as_json: bool,
) -> None:
    """Compute or compare marginal means of categories.

    Means are predicted over a balanced grid of the other categories, with numeric columns at their means.

    \b
    Examples:
      linearly means model.json tension
      linearly means model.json tension --by wool --pairs --adjust holm
      linearly means model.json ShelveLoc --at Price=100
    """
    from linearly.inference.marginal_means import marginal_means, pairwise

    fitted = load_model(model)
    chosen = (adjust or "tukey") if pairs else adjust
    compute = pairwise if pairs else marginal_means
    with Progress() as progress:
        table = compute(
            fitted,
            list(factors),
            list(by) or None,
            _points(points, fitted),
            None if chosen == "none" else chosen,
            scale=scale,
            level=level,
            data=None if data is None else read_tables(data, progress),
        )
    _print_table(table, fitted, as_json, level=level)


def _points(given: tuple[str, ...], model: Model) -> dict[str, list[Any]]:
    """Return the values of each column of --at; those of numeric columns as numbers."""
    levels = {category.name: category.levels for category in model.design.categories}
    points: dict[str, list[Any]] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals:
            raise click.UsageError(f"--at {text} is not COLUMN=VALUE. Write, for example, Price=100.")
        same = [level for level in levels.get(name, ()) if str(level) == value]
        points.setdefault(name, []).append(same[0] if same else value)
    return points


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@names_option("--names", "Headings of the columns, comma-separated.  [default: (1),(2),…]")
@click.option("--stars", is_flag=True, help="Mark p-values below 0.05, 0.01 and 0.001.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="File to write (.tex, .md, .html, .typ, .docx or .txt).  [default: standard output]",
)
@common_options
def table(models: tuple[str, ...], names: tuple[str, ...], stars: bool, output: str | None, as_json: bool) -> None:
    """Print saved models side by side, as in a paper.

    \b
    Examples:
      linearly table small.json big.json
      linearly table small.json big.json --names "Small,Big" --stars -o table.tex
    """
    from linearly.export.regression_table import coefficient_table, regression_table

    suffix = "" if output is None else Path(output).suffix.lower()
    if output is not None and suffix not in _FORMATS:
        raise click.UsageError(f"--output {output} has an unknown ending. Use {', '.join(_FORMATS)}.")
    check_output(output, *models)
    result = regression_table([load_model(model) for model in models], names=list(names) or None, stars=stars)
    if output is not None:
        _write(result, output, _FORMATS[suffix])
    if as_json:
        print_json({"models": list(models), "saved": output, "table": coefficient_table(result)})
    elif output is None:
        print_out(str(result))
    else:
        print_saved(output)


def _write(result: Any, output: str, form: str) -> None:
    if form == "docx":
        result.to_docx(output)
        return
    from linearly.dataset.files.atomic_file import write_atomic

    text = f"{result}\n" if form == "text" else getattr(result, f"to_{form}")()
    write_atomic(output, text.encode())
