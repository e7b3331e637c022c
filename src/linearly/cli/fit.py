"""`linearly fit`: fit a model to a file and show it on one screen."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.fit_summary import MAX_DIAGNOSTIC_ROWS, held_out_findings, model_facts, training_facts
from linearly.cli.fit_view import evaluation_tables, fit_screen
from linearly.cli.inputs import check_output, load_model, read_tables, split_rows
from linearly.cli.options import (
    check_suffix,
    check_target_or_formula,
    choose_features,
    common_options,
    data_argument,
    design_options,
    force_option,
    level_option,
    names_option,
    positive_option,
)
from linearly.cli.pages import write_report
from linearly.cli.progress import Progress
from linearly.cli.terminal import print_err, print_json, print_note, print_out, print_saved, quote_word
from linearly.models.registry import MODELS

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Tables

_PENALISED = ("auto", "linear", "ridge", "lasso", "elastic-net", "logistic", "least-squares")
_CHOOSES_PENALTY = ("auto", "ridge", "lasso", "elastic-net")


@click.command()
@data_argument
@design_options
@click.option(
    "--model", "-m", type=click.Choice(["auto", *MODELS]), default="auto", show_default=True,
    help="Model to fit; auto is linear for numbers, logistic for labels.",
)  # fmt: skip
@click.option(
    "--alpha", type=click.FloatRange(min=0), help="Penalty for ridge, lasso, elastic-net, logistic or least-squares."
)
@names_option("--groups", "One or two columns to cluster standard errors by. They are not features.")
@click.option("--covariance", metavar="KIND", help="Kind of standard errors: classical, HC0 to HC3, HAC, CR0 to CR3.")
@click.option("--cv", is_flag=True, help="Choose the penalty of ridge, lasso or elastic-net by cross-validation.")
@click.option("--folds", type=click.IntRange(min=2), help="Number of folds for --cv.  [default: 5]")
@click.option("--like", metavar="MODEL", help="Model file whose columns and levels to use, so that both can be merged.")
@click.option("--unseen", type=click.Choice(["error", "reference", "extend"]), default="error", show_default=True,
              help="Treatment of new levels at prediction; extend adds them, with --like.")  # fmt: skip
@click.option(
    "--param", multiple=True, metavar="NAME=VALUE", help="Parameter of the estimator, such as solver=lbfgs. Repeatable."
)
@click.option("--holdout", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE",
              help="Share of rows to hold out for evaluation. 0.2 holds out every fifth row.")  # fmt: skip
@positive_option
@level_option
@click.option("--output", "-o", metavar="FILE", help="Model file to save, such as model.json.")
@click.option("--report", metavar="FILE", help="HTML report to write, such as report.html.")
@force_option
@common_options
def fit(
    data: str,
    as_json: bool,
    output: str | None,
    report: str | None,
    force: bool,
    holdout: float | None,
    level: float,
    **given: Any,
) -> None:
    """Fit a model to DATA and show it on one screen.

    Numeric columns are used as they are. A text column becomes one term per level, except for its first level, the
    baseline. Without --model, linear regression is fitted to a numeric target, and logistic regression to labels.

    \b
    Examples:
      linearly fit carseats.csv --target Sales -o model.json
      linearly fit carseats.csv --formula 'Sales ~ Price + ShelveLoc' --holdout 0.2
      linearly fit spam.parquet -t label -m lda --json
      cat rows.csv | linearly fit - -t y --cv
    """
    _check_options(given)
    for path, suffix in ((output, ".json"), (report, ".html")):
        check_suffix(path, "this file", suffix)
        check_output(path, data, given["like"], force=force)
    with Progress() as progress:
        training: Tables = read_tables(data, progress)
        held_out: Tables | None = None
        if holdout is not None:
            training, held_out = split_rows(training, holdout)
        facts, model = _fit_with_facts(training, given, level, cross_validate=held_out is None)
        if held_out is not None:
            result = model.evaluate(held_out, level=level)
            facts["holdout"] = {"rows": result.n, "share": holdout, "metrics": result.metrics}
            facts |= held_out_findings(model, result)
        if output is not None:
            model.save(output)
            facts["saved"] = output
        if report is not None:
            write_report(model, report, training, training=True, held_out=held_out)
            facts["report"] = report
    if as_json:
        print_json(facts)
        return
    print_out(fit_screen(facts))
    for name in facts["one_level"]:
        print_note(f"{name} has only one level in the fitted rows, so it is left out.")
    if held_out is not None:
        print_out(f"\nEvaluation on the {result.n:,} held-out rows:\n{evaluation_tables(result)}")
    for path in filter(None, (output, report)):
        print_saved(path)
    needs_penalty = not (given["cv"] or given["like"] is not None or model.classes or "alpha" in facts)
    if needs_penalty and 5 <= facts["rows"] <= len(facts["columns"]):
        print_err("next: add --cv to choose a penalty by cross-validation")
    else:
        print_err(_next_step(data, output, report))


def _fit_with_facts(
    tables: Any, given: dict[str, Any], level: float, *, cross_validate: bool
) -> tuple[dict[str, Any], Model]:
    """Return the facts about the fitted model, and the model."""
    import linearly.api  # noqa: F401 (imported here so that the time of the fit does not include it)

    started = perf_counter()
    model = _fit(tables, given)
    facts = model_facts(model, level) | {"seconds": perf_counter() - started}
    if facts["rows"] is None:
        facts["rows"] = _count_rows(model, tables)
    if facts["rows"] <= MAX_DIAGNOSTIC_ROWS:
        facts |= training_facts(model, model.design_rows(tables), cross_validate=cross_validate)
    return facts, model


def _fit(tables: Any, given: dict[str, Any]) -> Model:
    from linearly import api

    params = dict(map(_parse_parameter, given["param"]))
    if given["alpha"] is not None:
        params["alpha"] = given["alpha"]
    if given["covariance"] is not None:
        params["covariance"] = given["covariance"]
    if given["folds"] is not None:
        params["cv"] = given["folds"]
    policies = {"missing": given["missing"], "unseen": given["unseen"], "na_values": given["na"]}
    policies["positive"] = given["positive"]
    if given["like"] is not None:
        return api.fit(tables, like=load_model(given["like"]), model=given["model"], **policies, **params)
    columns = {name: given[name] for name in ("target", "formula", "weight")} | {"groups": given["groups"] or None}
    features = choose_features(tables.schema, features=given["features"], without=given["without"], **columns)
    if given["cv"]:
        _check_numeric_target(tables, given["target"], given["na"])
    model = "ridge" if given["cv"] and given["model"] == "auto" else given["model"]
    return api.fit(tables, model=model, features=features, **columns, **policies, **params)


def _check_numeric_target(tables: Any, target: str | None, na: tuple[str, ...]) -> None:
    """Raise `ValueError` if the target contains labels, for which --cv has no model."""
    from linearly.dataset.design.design import target_of
    from linearly.dataset.design.missing_markers import without_markers

    if target is None or target not in tables.schema:
        return
    described = target_of(target, without_markers(tables, na).schema)
    if described is not None and described.labels:
        what = f"--cv chooses the penalty of a regression, but column {target!r} contains labels"
        raise ValueError(f"{what}. Remove it, or set --alpha.")


def _count_rows(model: Model, tables: Any) -> int:
    """Return the number of rows that were fitted, for models that do not count them."""

    def count(chunk: Any) -> int:
        complete = model.design.complete(chunk)
        return len(chunk) if complete is None else int(complete.sum())

    n: int = tables.select(model.design.required_columns).reduce(count)
    return n


def _check_options(given: dict[str, Any]) -> None:
    """Raise `click.UsageError` for options that contradict each other."""
    model, alpha = given["model"], given["alpha"]
    if given["like"] is not None:
        columns = [name for name in ("target", "formula", "features", "without", "weight", "groups") if given[name]]
        if columns:
            raise click.UsageError(
                f"--{columns[0]} cannot be combined with --like, which uses that model's columns. Remove it."
            )
        if given["cv"]:
            raise click.UsageError(
                "--cv cannot be combined with --like: the penalty is chosen as in that model. Remove it."
            )
    else:
        check_target_or_formula(given["target"], given["formula"])
    if given["cv"] and alpha is not None:
        raise click.UsageError(
            "--alpha and --cv cannot be combined: one sets the penalty, the other chooses it. Remove one."
        )
    if given["folds"] is not None and not given["cv"]:
        raise click.UsageError("--folds needs --cv. Add --cv, or use linearly compare --folds.")
    if given["cv"] and model not in _CHOOSES_PENALTY:
        raise click.UsageError(f"--cv applies only to ridge, lasso and elastic-net, not to {model}. Remove it.")
    if alpha is not None and model not in _PENALISED:
        raise click.UsageError(f"--alpha sets a penalty, which {model} does not have. Remove it.")


def _parse_parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise click.UsageError(f"--param {text} is not NAME=VALUE. Write, for example, solver=lbfgs.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _next_step(data: str, output: str | None, report: str | None) -> str:
    if output is None:
        return "next: add -o model.json to keep this model"
    if report is None and data != "-":
        return f"next: linearly report {quote_word(output)} {quote_word(data)} -o report.html"
    return f"next: linearly predict {quote_word(output)} NEW_DATA -o predictions.csv"
