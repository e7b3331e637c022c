"""`linearly fit`: a model of a file, on one screen."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.inputs import load_model, read, refuse_output, split
from linearly.cli.options import chosen_features, common, data_argument, design_options, one_aim
from linearly.cli.pages import write_page
from linearly.cli.progress import Progress
from linearly.cli.terminal import evaluation, note, print_err, print_out, put_json, quoted, saved, two_values
from linearly.models.registry import MODELS

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Tables

PENALISED = ("auto", "linear", "ridge", "logistic", "least-squares")


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
@common
def fit(data: str, as_json: bool, output: str | None, report: str | None, holdout: float | None, **asked: Any) -> None:
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
    _refuse(asked)
    for path, ending in ((output, ".json"), (report, ".html")):
        if path is not None and not path.lower().endswith(ending):
            raise click.UsageError(f"{path}: this file must end in {ending}.")
        refuse_output(path, data, asked["like"])
    with Progress() as progress:
        tables: Tables = read(data, progress)
        training: Tables = tables
        if holdout is not None:
            training, held = split(tables, holdout)
        facts, model = fitted(training, asked)
        if holdout is not None:
            found = model.evaluate(held)
            facts["holdout"] = {"rows": found.n, "share": holdout, "metrics": found.metrics}
        if output is not None:
            model.save(output)
            facts["saved"] = output
        if report is not None:
            write_page(model, report, training, training=True, held_out=None if holdout is None else held)
            facts["report"] = report
    if as_json:
        put_json(facts)
        return
    from linearly.cli.fit_view import fit_screen

    print_out(fit_screen(facts))
    if facts.get("two_values") is not None:
        note(two_values(model.target, *facts["two_values"]))
    for name in facts["one_level"]:
        note(f"{name} has one level in the rows fitted, and tells nothing: it is left out.")
    if holdout is not None:
        print_out(f"\nOn the {found.n:,} rows held out:\n{evaluation(found, model)}")
    for path in filter(None, (output, report)):
        saved(path)
    chooses = asked["cv"] or asked["like"] is not None or model.classes or "alpha" in facts
    if not chooses and 5 <= facts["rows"] <= len(facts["columns"]):
        print_err("next: add --cv to choose a penalty by cross-validation")
    else:
        print_err(_next(data, output, report))


def fitted(tables: Any, asked: dict[str, Any]) -> tuple[dict[str, Any], Model]:
    """The model that was asked for, and the facts about it."""
    import linearly.models.logistic_regression
    import linearly.models.ridge_cv  # noqa: F401 (imports are no part of the time that a fit takes)
    from linearly.cli.fit_summary import LOOKED_AT, look_again, model_facts

    begun = perf_counter()
    model = _fit(tables, asked)
    seconds = perf_counter() - begun
    facts = model_facts(model)
    if facts["rows"] is None:
        facts["rows"] = _rows(model, tables)
    facts["seconds"] = seconds
    if facts["rows"] <= LOOKED_AT:
        facts |= look_again(model, model.design_rows(tables))
    return facts, model


def _fit(tables: Any, asked: dict[str, Any]) -> Model:
    from linearly import api

    params = dict(map(_parameter, asked["param"]))
    if asked["alpha"] is not None:
        params["alpha"] = asked["alpha"]
    if asked["like"] is not None:
        policy = {name: asked[name] for name in ("missing", "unseen")} | {"na_values": asked["na"]}
        return api.fit(tables, like=load_model(asked["like"]), model=asked["model"], **policy, **params)
    target, formula, weight = asked["target"], asked["formula"], asked["weight"]
    groups = asked["groups"]
    features = chosen_features(tables.schema, target, formula, asked["features"], asked["without"], weight, groups)
    model = asked["model"]
    if asked["cv"]:
        from linearly.dataset.design.design import target_of
        from linearly.dataset.design.missing_markers import without_markers

        if target is not None and target in tables.schema:
            aim = target_of(target, without_markers(tables, asked["na"]).schema)
            if aim is not None and aim.labels:
                raise ValueError(f"--cv chooses the penalty of a ridge regression, but {target!r} holds labels: leave "
                                 "it out, or give --alpha.")  # fmt: skip
        model = "ridge"
    return api.fit(
        tables, target=target, formula=formula, model=model, features=features, weight=weight, groups=groups,
        missing=asked["missing"], unseen=asked["unseen"], na_values=asked["na"], **params,
    )  # fmt: skip


def _rows(model: Model, tables: Any) -> int:
    """Rows that were fitted, counted, for models that do not count."""

    def kept(chunk: Any) -> int:
        complete = model.design.complete(chunk)
        return len(chunk) if complete is None else int(complete.sum())

    n: int = tables.select(model.design.required_columns).reduce(kept)
    return n


def _refuse(asked: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    model, alpha = asked["model"], asked["alpha"]
    if asked["like"] is not None:
        given = [name for name in ("target", "formula", "features", "without", "weight", "groups") if asked[name]]
        if given:
            raise click.UsageError(f"--like brings its own columns: leave --{given[0]} out.")
        if asked["cv"]:
            raise click.UsageError("--like keeps the model's own way to choose the penalty: leave --cv out.")
    else:
        one_aim(asked["target"], asked["formula"])
    if asked["cv"] and alpha is not None:
        raise click.UsageError("--alpha fixes the penalty and --cv chooses it: give one of the two.")
    if asked["cv"] and model not in ("auto", "ridge"):
        raise click.UsageError(f"--cv chooses the penalty of a ridge regression, not of {model}.")
    if alpha is not None and model not in PENALISED:
        raise click.UsageError(f"{model} has no penalty: leave --alpha out.")


def _parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise click.UsageError(f"--param {text}: write NAME=VALUE, such as covariance=HC3.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _next(data: str, output: str | None, report: str | None) -> str:
    if output is None:
        return "next: add -o model.json to keep this model"
    if report is None and data != "-":
        return f"next: linearly report {quoted(output)} {quoted(data)} -o report.html"
    return f"next: linearly predict {quoted(output)} NEW_DATA -o answers.csv"
