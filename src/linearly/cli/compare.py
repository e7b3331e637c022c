"""`linearly compare`: cross-validate every model that applies, on the same folds."""

from __future__ import annotations

import math
import re
import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.errors import with_option_names
from linearly.cli.fit_summary import distinct_values
from linearly.cli.fit_view import Column, advise_logistic, layout_table
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
    "linear": "the mean is a line in every column; errors alike and independent",
    "ridge": "as linear, and that coefficients are small; alpha is chosen inside each fold",
    "logistic": "log-odds are a line in every column; nothing about how columns are spread",
    "lda": "columns are normal within each class, with one covariance for all",
    "qda": "columns are normal within each class, each with its own covariance",
    "least-squares": "indicators of the classes are fitted as numbers; a middle class may be masked",
    "perceptron": "some hyperplane separates the classes; else it never settles",
    "batch": "some hyperplane separates the classes; corrects all mistakes at once",
    "pocket": "nothing; keeps the best hyperplane that it came across",
    "voted": "nothing; hyperplanes vote by how long they survived",
    "averaged": "nothing; the mean of all hyperplanes on the way",
}


@click.command()
@data_argument
@design_options
@click.option(
    "--model", "-m", "models", multiple=True, type=click.Choice(list(MODELS)), help="Only these; all that apply."
)
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Row i is held out in i mod K.")
@common_options
def compare(data: str, as_json: bool, models: tuple[str, ...], folds: int, **given: Any) -> None:
    """Cross-validate every model that applies to DATA, on the same folds.

    One table with time, score and interval; it says which differences from the best are within error, and what each
    model assumes.

    \b
    Examples:
      linearly compare carseats.csv --target Sales
      linearly compare spam.csv -t label -m logistic -m lda --folds 10
    """
    from linearly.dataset.design.missing_markers import without_markers

    check_target_or_formula(given["target"], given["formula"])
    with Progress() as progress:
        tables: Tables = without_markers(read_tables(data, progress), given["na"])
        facts = _compare_models(tables, given, models, folds, progress)
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
    tables: Tables, given: dict[str, Any], models: tuple[str, ...], folds: int, progress: Progress
) -> dict[str, Any]:
    """Return the scores of all models, best first."""
    from linearly.dataset.design.cached_rows import cache_in_memory
    from linearly.dataset.design.design import DesignRows
    from linearly.evaluation.cross_validate import interval

    design = _fit_design(tables, given, models)
    labels = design.target.labels
    rows = cache_in_memory(DesignRows(tables, design))
    runs: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for name in models or [name for name in MODELS if classifies(name) == labels]:
        progress.task = name
        try:
            runs.append(_cross_validate(name, rows, design, folds))
        except (ValueError, ArithmeticError) as reason:
            one_fold = _label_in_one_fold(rows, design, folds) if "has no rows of" in str(reason) else ""
            refused[name] = one_fold or _advise_fit(str(reason))
    if not runs:
        raise ValueError(f"Not one model could be fitted. {next(iter(refused.values()))}")
    runs.sort(key=lambda run: -run["score"])
    for run in runs:
        difference, half_width = interval(runs[0]["folds"] - run["folds"])
        least = difference - half_width
        run |= {"behind": difference, "behind_by_at_least": least, "within_error": least <= 0}
    n, baseline = _baseline(rows, design)
    values = [] if labels else distinct_values(rows)
    return {
        "target": design.target.factor.label,
        "rows": n,
        "features": len(design.features),
        "columns": len(design.names),
        "folds": folds,
        "score": "accuracy" if labels else "r_squared",
        "two_values": values if len(values) == 2 else None,
        "baseline": baseline,
        "models": runs,
        "refused": refused,
    }


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
            raise ValueError(f"{name} predicts numbers, the others labels: compare models of one kind.")
    design = fit_design(design.with_labels() if labels else design, tables)
    for message in check_no_numeric_text(design, tables, certain=bool(models)):
        warnings.warn(message, UserWarning, stacklevel=1)
    return design


def _cross_validate(name: str, rows: Rows, design: Any, folds: int) -> dict[str, Any]:
    """Return score, interval, time and warnings of one model."""
    from linearly.evaluation.cross_validate import cross_validate, interval

    score, loss, least = ("accuracy", "log_loss", 0.0) if design.target.labels else ("r_squared", "mse", -math.inf)
    started = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        params = {} if design.intercept else {"fit_intercept": False}
        table = cross_validate(estimator_of(name, params), rows, folds=folds)
    mean, half_width = interval(table[score])
    run = {"model": name, "score": mean, "low": max(mean - half_width, least), "high": min(mean + half_width, 1.0)}
    run |= {loss: float(table[loss].mean())} if loss in table.columns else {}
    run |= {"seconds": perf_counter() - started, "folds": table[score], "assumes": _ASSUMPTIONS[name]}
    return run | {"warnings": list(dict.fromkeys(_advise_fit(str(one.message)) for one in caught))}


def _advise_fit(message: str) -> str:
    """Return advice that names `linearly fit`, which has the options: a comparison takes every model as it is."""
    message = re.sub(r"\bset (?=--alpha)", "run ", with_option_names(message))
    message = message.replace("use fewer folds", "use fewer, such as --folds 2")
    return re.sub(r"--(?:param|alpha)\b", lambda match: f"linearly fit … {match[0]}", message, count=1)


def _label_in_one_fold(rows: Rows, design: Any, folds: int) -> str:
    """Describe a label whose rows are all held out at once; return "" if there is none."""
    import numpy as np

    K = len(design.target.classes)

    def count(block: Any) -> Any:
        present = np.ones(len(block)) if block.weight is None else block.weight > 0
        parts = (block.rows_of_fold(folds, j) for j in range(folds))
        return np.array([np.bincount(block.y[part], present[part], minlength=K) for part in parts])

    counts = rows.reduce(count)
    for k, label in enumerate(design.target.classes):
        n, fold = int(counts[:, k].sum()), int(np.argmax(counts[:, k]))
        if n and counts[fold, k] == n:
            which = f"All {n:,} rows of {label!r} are" if n > 1 else f"The only row of {label!r} is"
            remedy = "Take another number of --folds, shuffle the rows" if n > 1 else "Add rows of it"
            return f"{which} held out in fold {fold + 1}, and none is left to learn from. {remedy}, or join labels."
    return ""


def _baseline(rows: Rows, design: Any) -> tuple[int, dict[str, Any]]:
    """Return the number of rows, and the score of the best constant prediction."""
    import numpy as np

    if not design.target.labels:
        return int(rows.reduce(len)), {"always": "the mean", "score": 0.0}
    K = len(design.target.classes)

    def count(block: Any) -> Any:
        return np.append(np.bincount(block.y, block.weight, minlength=K), len(block))

    *counts, n = rows.reduce(count)
    most = int(np.argmax(counts))
    return int(n), {"always": design.target.classes[most], "score": float(counts[most] / sum(counts))}


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
        Column("95 % interval", [f"[{run['low']:6.3f}, {run['high']:6.3f}]" for run in runs], True),
    ]
    loss, loss_title = ("mse", "mean squared error") if is_regression else ("log_loss", "log loss")
    if any(loss in run for run in runs):
        columns.append(Column(loss_title, [f"{run[loss]:.4g}" if loss in run else "–" for run in runs], True))
    columns.append(Column("time", [format_duration(run["seconds"]) for run in runs], True))
    columns.append(Column("against the best", ["best", *map(_describe_difference, runs[1:])]))
    baseline = facts["baseline"]
    always = baseline["always"] if is_regression else repr(baseline["always"])
    longest = max(len(run["model"]) for run in runs)
    lines = ["   ".join(title), "", *layout_table(columns), dim(f"always {always}: {baseline['score']:.3f}"), ""]
    lines += [wrap_text(run["assumes"], f"{run['model']:<{longest}}  ") for run in runs]
    caution = "Differences are paired over the folds. Folds share training rows, so the intervals are rough."
    return "\n".join([*lines, "", dim(wrap_text(caution))])


def _describe_difference(run: dict[str, Any]) -> str:
    if run["within_error"]:
        return "within error" if abs(run["behind"]) >= 5e-4 else "the same"
    return f"worse by {run['behind']:.3f}"
