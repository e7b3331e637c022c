"""`linearly compare`: every model that applies, on the same folds."""

from __future__ import annotations

import math
import re
import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.inputs import read
from linearly.cli.options import chosen_features, common, data_argument, design_options, one_aim
from linearly.cli.progress import Progress
from linearly.cli.terminal import (
    bold,
    columns_told,
    count,
    dim,
    duration,
    note,
    print_out,
    put_json,
    two_values,
    wrapped,
)
from linearly.models.registry import MODELS

if TYPE_CHECKING:
    from linearly.dataset.rows.block import Rows
    from linearly.dataset.rows.tables import Tables

ASSUMES = {
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
@common
def compare(data: str, as_json: bool, models: tuple[str, ...], folds: int, **asked: Any) -> None:
    """Cross-validate every model that applies to DATA, on the same folds.

    One table with time, score and interval; it says which differences from the best are within error, and what each
    model assumes.

    \b
    Examples:
      linearly compare carseats.csv --target Sales
      linearly compare spam.csv -t label -m logistic -m lda --folds 10
    """
    from linearly.dataset.design.missing_markers import without_markers

    one_aim(asked["target"], asked["formula"])
    with Progress() as progress:
        tables: Tables = without_markers(read(data, progress), asked["na"])
        found = compared(tables, asked, models, folds, progress)
    if as_json:
        put_json(found)
        return
    print_out(compare_screen(found))
    if found["two_values"] is not None:
        note(two_values(found["target"], *found["two_values"]))
    for run in found["models"]:
        if run["warnings"]:
            note(f"{run['model']}: {run['warnings'][0]}")
    for model, reason in found["refused"].items():
        note(f"{model} is left out: {reason}")


def compared(
    tables: Tables, asked: dict[str, Any], models: tuple[str, ...], folds: int, progress: Progress
) -> dict[str, Any]:
    """The scores of all models, best first."""
    from linearly.cli.errors import in_options
    from linearly.cli.fit_summary import few_values
    from linearly.dataset.design.cached_rows import cache_in_memory
    from linearly.dataset.design.design import DesignRows
    from linearly.dataset.design.numeric_text_checks import check_no_numeric_text
    from linearly.dataset.design.zero_weights import fit_design
    from linearly.evaluation.cross_validate import cross_validate, interval
    from linearly.models.registry import classifies, estimator_of

    design = _design(tables, asked)
    assert design.target is not None
    labels = design.target.labels or any(map(classifies, models))
    chosen = models or tuple(name for name in MODELS if classifies(name) == labels)
    mixed = [name for name in chosen if classifies(name) != labels]
    if mixed:
        raise ValueError(f"{mixed[0]} predicts numbers, the others labels: compare models of one kind.")
    design = fit_design(design.with_labels() if labels else design, tables)
    assert design.target is not None
    for told in check_no_numeric_text(design, tables, certain=bool(models)):
        warnings.warn(told, UserWarning, stacklevel=1)
    rows = cache_in_memory(DesignRows(tables, design))
    progress.what = "reading"
    score, loss = ("accuracy", "log_loss") if labels else ("r_squared", "mse")
    runs: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for name in chosen:
        progress.what = name
        begun = perf_counter()
        try:
            params = {} if design.intercept else {"fit_intercept": False}
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always", UserWarning)
                table = cross_validate(estimator_of(name, params), rows, folds=folds)
        except (ValueError, ArithmeticError) as reason:
            alone = _in_one_fold(rows, design, folds) if "has no rows of" in str(reason) else ""
            refused[name] = alone or _of_fit(in_options(str(reason)))
            continue
        mean, reach = interval(table[score])
        least = 0.0 if labels else -math.inf  # a share of rows is one of 0 to 1, and R² no more than 1
        run = {"model": name, "score": mean, "low": max(mean - reach, least), "high": min(mean + reach, 1.0)}
        run |= {loss: float(table[loss].mean())} if loss in table.columns else {}
        run |= {"seconds": perf_counter() - begun, "folds": table[score], "assumes": ASSUMES[name]}
        runs.append(run | {"warnings": list(dict.fromkeys(_of_fit(in_options(str(one.message))) for one in heard))})
    if not runs:
        raise ValueError(f"Not one model could be fitted. {next(iter(refused.values()))}")
    runs.sort(key=lambda run: -run["score"])
    for run in runs:
        apart, reach = interval(runs[0]["folds"] - run["folds"])
        run |= {"behind": apart, "behind_by_at_least": apart - reach, "within_error": apart - reach <= 0}
    n, baseline = _baseline(rows, design)
    values = [] if labels else few_values(rows)
    return {
        "target": design.target.factor.label,
        "rows": n,
        "features": len(design.features),
        "columns": len(design.names),
        "folds": folds,
        "score": score,
        "two_values": values if len(values) == 2 else None,
        "baseline": baseline,
        "models": runs,
        "refused": refused,
    }


def _design(tables: Tables, asked: dict[str, Any]) -> Any:
    target, formula, weight = asked["target"], asked["formula"], asked["weight"]
    features = chosen_features(tables.schema, target, formula, asked["features"], asked["without"], weight)
    from linearly.api import design_for

    return design_for(tables, target, formula, features, weight, missing=asked["missing"])


def _of_fit(message: str) -> str:
    """Advice that names the command which has its options: a comparison takes every model as it is."""
    message = re.sub(r"\bset (?=--alpha)", "run ", message)
    message = message.replace("use fewer folds", "use fewer, such as --folds 2")
    return re.sub(r"--(?:param|alpha)\b", lambda found: f"linearly fit … {found[0]}", message, count=1)


def _in_one_fold(rows: Rows, design: Any, folds: int) -> str:
    """What to say of a label whose rows are all held out at once; nothing if there is none."""
    import numpy as np

    K = len(design.target.classes)

    def tally(block: Any) -> Any:
        present = np.ones(len(block)) if block.weight is None else block.weight > 0
        dealt = (block.rows_of_fold(folds, j) for j in range(folds))
        return np.array([np.bincount(block.y[one], present[one], minlength=K) for one in dealt])

    counts = rows.reduce(tally)
    for k, label in enumerate(design.target.classes):
        n, fold = int(counts[:, k].sum()), int(np.argmax(counts[:, k]))
        if n and counts[fold, k] == n:
            which = f"All {n:,} rows of {label!r} are" if n > 1 else f"The only row of {label!r} is"
            remedy = "Take another number of --folds, shuffle the rows" if n > 1 else "Add rows of it"
            return f"{which} held out in fold {fold + 1}, and none is left to learn from. {remedy}, or join labels."
    return ""


def _baseline(rows: Rows, design: Any) -> tuple[int, dict[str, Any]]:
    """The number of rows, and what is reached without looking at any column."""
    import numpy as np

    K = len(design.target.classes)
    if not design.target.labels:
        return int(rows.reduce(len)), {"always": "the mean", "score": 0.0}

    def tally(block: Any) -> Any:
        return np.append(np.bincount(block.y, block.weight, minlength=K), len(block))

    *counts, n = rows.reduce(tally)
    return int(n), {
        "always": design.target.classes[int(np.argmax(counts))],
        "score": float(max(counts) / sum(counts)),
    }


def compare_screen(found: dict[str, Any]) -> str:
    """The comparison as text."""
    from linearly.cli.fit_view import laid_out

    runs, score = found["models"], found["score"]
    loss = "log_loss" if score == "accuracy" else "mse"
    on = columns_told(found["features"], found["columns"])
    title = [bold(found["target"]), f"on {on}", count(found["rows"], "row")]
    title.append(f"{found['folds']} folds, the same for all")
    columns = [
        ("model", False, [run["model"] for run in runs]),
        ("R²" if score == "r_squared" else "accuracy", True, [f"{run['score']:.3f}" for run in runs]),
        ("95 % interval", True, [f"[{run['low']:6.3f}, {run['high']:6.3f}]" for run in runs]),
    ]
    if any(loss in run for run in runs):
        told = [f"{run[loss]:.4g}" if loss in run else "–" for run in runs]
        columns.append(("log loss" if loss == "log_loss" else "mean squared error", True, told))
    columns.append(("time", True, [duration(run["seconds"]) for run in runs]))
    columns.append(("against the best", False, [_against(run, i) for i, run in enumerate(runs)]))
    baseline = found["baseline"]
    always = baseline["always"] if score == "r_squared" else repr(baseline["always"])
    longest = max(len(run["model"]) for run in runs)
    lines = ["   ".join(title), "", *laid_out(columns), dim(f"always {always}: {baseline['score']:.3f}"), ""]
    lines += [wrapped(run["assumes"], f"{run['model']:<{longest}}  ") for run in runs]
    caution = "Differences are paired over the folds. Folds share training rows, so the intervals are rough."
    return "\n".join([*lines, "", dim(wrapped(caution))])


def _against(run: dict[str, Any], place: int) -> str:
    if place == 0:
        return "best"
    if run["within_error"]:
        return "within error" if abs(run["behind"]) >= 5e-4 else "the same"
    return f"worse by {run['behind']:.3f}"
