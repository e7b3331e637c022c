"""`linearly fit`: fit a model to a file and show it on one screen."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.fit_summary import MAX_DIAGNOSTIC_ROWS, model_facts, training_facts
from linearly.cli.fit_view import advise_logistic, fit_screen, format_evaluation
from linearly.cli.inputs import check_output, load_model, read_tables, split_rows
from linearly.cli.options import (
    check_suffix,
    check_target_or_formula,
    choose_features,
    common_options,
    data_argument,
    design_options,
)
from linearly.cli.pages import write_report
from linearly.cli.progress import Progress
from linearly.cli.terminal import print_err, print_json, print_note, print_out, print_saved, quote_word
from linearly.models.registry import MODELS

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Tables

_PENALISED = ("auto", "linear", "ridge", "logistic", "least-squares")


@click.command()
@data_argument
@design_options
@click.option(
    "--model", "-m", type=click.Choice(["auto", *MODELS]), default="auto", show_default=True,
    help="auto is linear for numbers, logistic for labels.",
)  # fmt: skip
@click.option("--alpha", type=click.FloatRange(min=0), help="The penalty of ridge, logistic or least-squares.")
@click.option("--groups", metavar="COLUMN", help="Standard errors clustered by this column, which is no feature then.")
@click.option("--cv", is_flag=True, help="Choose the penalty of a ridge regression by cross-validation.")
@click.option(
    "--like", metavar="MODEL", help="Read the columns as this model file does, so that the two can be merged."
)
@click.option("--unseen", type=click.Choice(["error", "reference", "extend"]), default="error", show_default=True,
              help="A level that was not there in training, at prediction; with --like, extend adds it.")  # fmt: skip
@click.option("--param", multiple=True, metavar="NAME=VALUE", help="A parameter of the estimator: covariance=HC3.")
@click.option("--holdout", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE",
              help="Evaluate on this share of the rows, evenly spaced and held out: 0.2 is every 5th.")  # fmt: skip
@click.option("--output", "-o", metavar="FILE", help="Save the model: model.json.")
@click.option("--report", metavar="FILE", help="Write a page about the model: report.html.")
@common_options
def fit(data: str, as_json: bool, output: str | None, report: str | None, holdout: float | None, **given: Any) -> None:
    """Fit a model to DATA and show it on one screen.

    Numbers stay numbers; text becomes a column for each level but the first. The target decides the model: linear
    regression for numbers, logistic regression for labels, unless --model says otherwise.

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
        check_output(path, data, given["like"])
    with Progress() as progress:
        training: Tables = read_tables(data, progress)
        held_out: Tables | None = None
        if holdout is not None:
            training, held_out = split_rows(training, holdout)
        facts, model = _fit_with_facts(training, given)
        if held_out is not None:
            result = model.evaluate(held_out)
            facts["holdout"] = {"rows": result.n, "share": holdout, "metrics": result.metrics}
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
    if facts.get("two_values") is not None:
        print_note(advise_logistic(model.target, *facts["two_values"]))
    for name in facts["one_level"]:
        print_note(f"{name} has one level in the rows fitted, and tells nothing: it is left out.")
    if held_out is not None:
        print_out(f"\nOn the {result.n:,} rows held out:\n{format_evaluation(result, model)}")
    for path in filter(None, (output, report)):
        print_saved(path)
    needs_penalty = not (given["cv"] or given["like"] is not None or model.classes or "alpha" in facts)
    if needs_penalty and 5 <= facts["rows"] <= len(facts["columns"]):
        print_err("next: add --cv to choose a penalty by cross-validation")
    else:
        print_err(_next_step(data, output, report))


def _fit_with_facts(tables: Any, given: dict[str, Any]) -> tuple[dict[str, Any], Model]:
    """Return the facts about the fitted model, and the model."""
    import linearly.models.logistic_regression
    import linearly.models.ridge_cv  # noqa: F401 (imported here so that the time of the fit does not include it)

    started = perf_counter()
    model = _fit(tables, given)
    facts = model_facts(model) | {"seconds": perf_counter() - started}
    if facts["rows"] is None:
        facts["rows"] = _count_rows(model, tables)
    if facts["rows"] <= MAX_DIAGNOSTIC_ROWS:
        facts |= training_facts(model, model.design_rows(tables))
    return facts, model


def _fit(tables: Any, given: dict[str, Any]) -> Model:
    from linearly import api

    params = dict(map(_parse_parameter, given["param"]))
    if given["alpha"] is not None:
        params["alpha"] = given["alpha"]
    policies = {"missing": given["missing"], "unseen": given["unseen"], "na_values": given["na"]}
    if given["like"] is not None:
        return api.fit(tables, like=load_model(given["like"]), model=given["model"], **policies, **params)
    columns = {name: given[name] for name in ("target", "formula", "weight", "groups")}
    features = choose_features(tables.schema, features=given["features"], without=given["without"], **columns)
    if given["cv"]:
        _check_numeric_target(tables, given["target"], given["na"])
    model = "ridge" if given["cv"] else given["model"]
    return api.fit(tables, model=model, features=features, **columns, **policies, **params)


def _check_numeric_target(tables: Any, target: str | None, na: tuple[str, ...]) -> None:
    """Raise `ValueError` if the target holds labels, for which --cv has no model."""
    from linearly.dataset.design.design import target_of
    from linearly.dataset.design.missing_markers import without_markers

    if target is None or target not in tables.schema:
        return
    described = target_of(target, without_markers(tables, na).schema)
    if described is not None and described.labels:
        what = f"--cv chooses the penalty of a ridge regression, but {target!r} holds labels"
        raise ValueError(f"{what}: leave it out, or give --alpha.")


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
            raise click.UsageError(f"--like brings its own columns: leave --{columns[0]} out.")
        if given["cv"]:
            raise click.UsageError("--like keeps the model's own way to choose the penalty: leave --cv out.")
    else:
        check_target_or_formula(given["target"], given["formula"])
    if given["cv"] and alpha is not None:
        raise click.UsageError("--alpha fixes the penalty and --cv chooses it: give one of the two.")
    if given["cv"] and model not in ("auto", "ridge"):
        raise click.UsageError(f"--cv chooses the penalty of a ridge regression, not of {model}.")
    if alpha is not None and model not in _PENALISED:
        raise click.UsageError(f"{model} has no penalty: leave --alpha out.")


def _parse_parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise click.UsageError(f"--param {text}: write NAME=VALUE, such as covariance=HC3.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _next_step(data: str, output: str | None, report: str | None) -> str:
    if output is None:
        return "next: add -o model.json to keep this model"
    if report is None and data != "-":
        return f"next: linearly report {quote_word(output)} {quote_word(data)} -o report.html"
    return f"next: linearly predict {quote_word(output)} NEW_DATA -o answers.csv"
