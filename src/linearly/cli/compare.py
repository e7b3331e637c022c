"""`linearly compare`: cross-validate every model that applies, on the same folds."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.errors import with_option_names
from linearly.cli.fit_summary import distinct_values
from linearly.cli.fit_view import Column, advise_logistic, format_finding, layout_table
from linearly.cli.inputs import read_tables
from linearly.cli.options import (
    check_target_or_formula,
    choose_features,
    common_options,
    data_argument,
    design_options,
)
from linearly.cli.progress import Progress
from linearly.cli.terminal import bold, dim, format_columns, format_duration, print_note, print_result, wrap_text
from linearly.formatting import pluralize
from linearly.models.registry import MODELS, classifies, estimator_of

if TYPE_CHECKING:
    from linearly.dataset.rows.block import Rows
    from linearly.dataset.rows.tables import Tables

_ASSUMPTIONS = {
    "linear": "the mean is linear in every column; errors are independent with equal variance",
    "ridge": "assumptions of linear, and coefficients are small; alpha is chosen inside each fold",
    "lasso": "assumptions of linear, and most coefficients are 0; alpha is chosen inside each fold",
    "elastic-net": "assumptions of lasso; correlated columns stay together; alpha and l1_ratio are chosen in each fold",
    "logistic": "log-odds are linear in every column; no assumption about the distribution of the columns",
    "lda": "columns are normal within each class, with one covariance for all classes",
    "qda": "columns are normal within each class, each with its own covariance",
    "least-squares": "class indicators are fitted as numbers; a middle class may never be predicted",
    "perceptron": "a hyperplane separates the classes; otherwise training does not converge",
    "batch": "a hyperplane separates the classes; each update corrects all mistakes together",
    "pocket": "no assumption; training keeps the best hyperplane found",
    "voted": "no assumption; each hyperplane votes with the number of rows that it classified correctly",
    "averaged": "no assumption; the model is the mean of all hyperplanes visited in training",
}


@click.command()
@data_argument
@design_options
@click.option(
    "--model",
    "-m",
    "models",
    multiple=True,
    type=click.Choice(list(MODELS)),
    help="Model to compare. Repeatable.  [default: all that apply]",
)
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Number of folds.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True,
              help="Seed that assigns rows to folds.")  # fmt: skip
@click.option("--no-shuffle", is_flag=True, help="Put row i into fold i mod K instead of a random one.")
@common_options
def compare(
    data: str, as_json: bool, models: tuple[str, ...], folds: int, seed: int, no_shuffle: bool, **given: Any
) -> None:
    """Cross-validate all models that apply, on the same folds.

    The table has a pooled score with an interval and the time of each model. A paired test of all models finds those
    that are worse than the best.

    \b
    Examples:
      linearly compare carseats.csv --target Sales
      linearly compare spam.csv -t label -m logistic -m lda --folds 10
    """
    from linearly.dataset.design.missing_markers import without_markers

    check_target_or_formula(given["target"], given["formula"])
    with Progress() as progress:
        tables: Tables = without_markers(read_tables(data, progress), given["na"])
        options = {"folds": folds, "random_state": seed, "shuffle": not no_shuffle}
        facts = _compare_models(tables, given, models, options, progress)
    print_result(facts, as_json, _compare_screen)
    if as_json:
        return
    if facts["two_values"] is not None:
        print_note(advise_logistic(facts["target"], *facts["two_values"]))
    for run in facts["models"]:
        if run["warnings"]:
            print_note(f"{run['model']}: {run['warnings'][0]}")
    for model, reason in facts["refused"].items():
        print_note(f"{model} is left out: {reason}")


def _compare_models(
    tables: Tables, given: dict[str, Any], models: tuple[str, ...], options: dict[str, Any], progress: Progress
) -> dict[str, Any]:
    """Return the scores of all models, best first."""
    from linearly.dataset.design.cached_rows import cache_in_memory
    from linearly.dataset.design.design import DesignRows
    from linearly.findings.comparison import baseline_finding

    design = _fit_design(tables, given, models)
    labels = design.target.labels
    rows = cache_in_memory(DesignRows(tables, design))
    runs: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for name in models or [name for name in MODELS if classifies(name) == labels]:
        progress.task = name
        try:
            runs.append(_cross_validate(name, rows, design, options))
        except (ValueError, ArithmeticError) as reason:
            refused[name] = _label_of_one_row(rows, design, str(reason)) or _advise_fit(str(reason))
    if not runs:
        raise ValueError(f"No model could be fitted. {next(iter(refused.values()))}")
    scores = runs[0]["scores"]
    always, score, guess = "the mean", scores.baseline(), 0.0
    if labels:
        guess, score = score
        always = design.target.classes[guess]
    else:
        guess = scores.mean
    p_value = _compare_with_best(rows, runs, guess)
    target = design.target.factor.label
    verdict = baseline_finding(repr(always) if labels else always, target, p_value)
    runs.sort(key=lambda run: -run["score"])
    values = [] if labels else distinct_values(rows)
    return {
        "target": target,
        "rows": int(sum(runs[0]["rows_in_folds"])),
        "features": len(design.features),
        "columns": len(design.names),
        "folds": options["folds"],
        "score": "accuracy" if labels else "r_squared",
        "two_values": values if len(values) == 2 else None,
        "baseline": {"always": always, "score": score, "p_value": p_value, "finding": asdict(verdict)},
        "models": [{key: value for key, value in run.items() if key not in ("fitted", "scores")} for run in runs],
        "refused": refused,
    }


def _compare_with_best(rows: Rows, runs: list[dict[str, Any]], guess: float) -> float:
    """Add to each run how far it is behind the best; return the p-value that none is better than a constant guess.

    The guess is the mean of all targets, or the code of the most frequent label.
    """
    import numpy as np

    from linearly.dataset.rows.block import row_weights
    from linearly.evaluation.held_out_tests import PairedLosses
    from linearly.findings.comparison import compare_finding

    fitted = [run["fitted"] for run in runs]

    labels = not hasattr(runs[0]["scores"], "variance")

    def guess_losses(block: Any) -> Any:
        y = np.asarray(block.y).ravel()
        return (y != guess).astype(float) if labels else (y - guess) ** 2

    def add_up(block: Any) -> PairedLosses:
        losses = [guess_losses(block), *(one.losses(block) for one in fitted)]
        return PairedLosses.of(np.stack(losses, axis=1), row_weights(block))

    losses = rows.reduce(add_up)
    behind, p_values = losses.select(slice(1, None)).behind_best(fitted[0].test_widening)
    scale = getattr(runs[0]["scores"], "variance", 1.0)  # of R², the loss is a squared error
    best = runs[int(np.argmin(behind))]["model"]
    for run, loss, p in zip(runs, behind, p_values, strict=True):
        difference = float(loss / scale) if scale > 0 else 0.0
        finding = compare_finding(run["model"], best, difference, float(p))
        run |= {"behind": difference, "p_value": float(p), "worse": finding.id == "worse_than_best"}
        run["finding"] = asdict(finding)
    return losses.better_than(0)


def _fit_design(tables: Tables, given: dict[str, Any], models: tuple[str, ...]) -> Any:
    """Return the design that all models share; raise `ValueError` if some predict numbers and others labels."""
    from linearly.api import design_for
    from linearly.dataset.design.numeric_text_checks import check_no_numeric_text
    from linearly.dataset.design.zero_weights import fit_design

    target, formula, weight = given["target"], given["formula"], given["weight"]
    features = choose_features(tables.schema, target, formula, given["features"], given["without"], weight)
    design = design_for(tables, target, formula, features, weight, missing=given["missing"])
    assert design.target is not None
    labels = design.target.labels or any(map(classifies, models))
    for name in models:
        if classifies(name) != labels:
            raise ValueError(f"{name} predicts another kind of target. Compare only classifiers or only regressions.")
    if labels and design.offset is not None:
        raise ValueError("The only classifier that supports offset() is logistic. Remove it from the formula.")
    design = fit_design(design.with_labels() if labels else design, tables)
    for message in check_no_numeric_text(design, tables, certain=bool(models)):
        from linearly.exceptions import ColumnTypeWarning, warn_at_caller

        warn_at_caller(message, ColumnTypeWarning)
    return design


def _cross_validate(name: str, rows: Rows, design: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return score, interval, time and warnings of one model."""
    import numpy as np

    from linearly.evaluation.cross_validate import fit_folds

    score, loss, least = ("accuracy", "log_loss", 0.0) if design.target.labels else ("r_squared", "mse", -math.inf)
    started = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        params = {} if design.intercept else {"fit_intercept": False}
        fitted = fit_folds(estimator_of(name, params), rows, **options)
        scores = fitted.scores()
        table = scores.table(0.95)
    found = getattr(scores, score)()
    run = {"model": name, "score": found.value, "low": max(found.low, least), "high": found.high}
    run |= {loss: float(np.average(table[loss], weights=table["rows"]))} if loss in table.columns else {}
    run |= {"seconds": perf_counter() - started, "folds": table[score], "rows_in_folds": table["rows"].tolist()}
    run |= {"assumes": _ASSUMPTIONS[name], "fitted": fitted, "scores": scores}
    return run | {"warnings": list(dict.fromkeys(_advise_fit(str(one.message)) for one in caught))}


def _advise_fit(message: str) -> str:
    """Return advice that names `linearly fit`, which has the options: a comparison takes every model as it is."""
    message = re.sub(r"\bset (?=--alpha)", "run ", with_option_names(message))
    message = message.replace("Use fewer folds", "Use fewer, such as --folds 2")
    return re.sub(r"--(?:param|alpha)\b", lambda match: f"linearly fit … {match[0]}", message, count=1)


def _label_of_one_row(rows: Rows, design: Any, reason: str) -> str:
    """Describe a label with a single row, which cannot be held out and learnt from; return "" if there is none."""
    import numpy as np

    if "has no rows with" not in reason:
        return ""
    K = len(design.target.classes)

    def count(block: Any) -> Any:
        return np.bincount(block.y, None if block.weight is None else block.weight > 0, minlength=K)

    single = [label for label, n in zip(design.target.classes, rows.reduce(count), strict=True) if n == 1]
    if not single:
        return ""
    problem = f"The label {single[0]!r} has only one row, so no row of it remains for the fit if that row is held out"
    return f"{problem}. Add rows with this label, or merge labels."


def _compare_screen(facts: dict[str, Any]) -> str:
    """Return the comparison as text."""
    runs, is_regression = facts["models"], facts["score"] == "r_squared"
    title = [
        bold(facts["target"]),
        f"on {format_columns(facts['features'], facts['columns'])}",
        pluralize(facts["rows"], "row"),
        f"{facts['folds']} folds, the same for all",
    ]
    columns = [
        Column("model", [run["model"] for run in runs]),
        Column("R²" if is_regression else "accuracy", [f"{run['score']:.3f}" for run in runs], True),
        Column("95% interval", [f"[{run['low']:6.3f}, {run['high']:6.3f}]" for run in runs], True),
    ]
    loss, loss_title = ("mse", "mean squared error") if is_regression else ("log_loss", "log loss")
    if any(loss in run for run in runs):
        columns.append(Column(loss_title, [f"{run[loss]:.4g}" if loss in run else "–" for run in runs], True))
    columns.append(Column("time", [format_duration(run["seconds"]) for run in runs], True))
    columns.append(Column("compared with the best", ["best", *(run["finding"]["claim"] for run in runs[1:])]))
    baseline = facts["baseline"]
    always = baseline["always"] if is_regression else repr(baseline["always"])
    longest = max(len(run["model"]) for run in runs)
    lines = ["   ".join(title), "", *layout_table(columns), dim(f"always {always}: {baseline['score']:.3f}"), ""]
    lines += [format_finding(baseline["finding"]), ""]
    lines += [wrap_text(run["assumes"], f"{run['model']:<{longest}}  ") for run in runs]
    how = (
        f"Scores are pooled over all {facts['rows']:,} held-out rows. A model is worse than the best if a "
        "paired test of all models rejects equality at the 5% level."
    )
    return "\n".join([*lines, "", dim(wrap_text(how))])
