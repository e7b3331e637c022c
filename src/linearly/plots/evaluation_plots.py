"""Plots of an evaluation of a classifier: confusion matrix, ROC curve, precision against recall, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.evaluation.evaluate import Evaluation
from linearly.formatting import shorten_names
from linearly.kernels.double_double import Array
from linearly.plots import style
from linearly.plots.style import BLACK, BLUE, GREY, ORANGE, PALE, VERMILION
from linearly.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_COUNTED = 20  # classes up to which the cells of a confusion matrix hold numbers
_MAX_WITH_SHARES = 8  # columns up to which they hold shares too
_MAX_NAMED = 8  # labels up to which each curve has a colour and a name
_SQUARE = (5.6, 5.2)  # inches of curves of shares


class _Matrix(NamedTuple):
    """A confusion matrix, or the four counts of each label, as it is drawn."""

    counts: Array
    right: NDArray[np.bool_]  # cells of correct predictions
    rows: list[str]
    columns: list[str]
    metric: str
    message: str
    axis_names: tuple[str, str]

    @staticmethod
    def of(evaluation: Evaluation) -> _Matrix:
        table = evaluation.confusion
        if table is None:
            raise ValueError(
                "A confusion matrix requires a classifier, but this evaluates a regression. Use plot_residuals."
            )
        head, *names = table.columns
        counts = np.column_stack([table[name] for name in names]).astype(float)
        rows = [str(name) for name in table[head]]
        if evaluation.kind != "multilabel":
            return _Matrix(
                counts, np.eye(len(rows)) == 1, rows, rows, "accuracy", "Correct on", ("predicted", "actual")
            )
        right = np.tile([name.startswith("true") for name in names], (len(rows), 1))
        columns = [name.replace("_", "\n") for name in names]
        return _Matrix(counts, right, rows, columns, "subset_accuracy", "Every label correct on", ("", "label"))


def plot_confusion(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Plot the confusion matrix: blue is right, red is wrong, and darker cells contain a larger share of their row.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate` for a classifier. With several labels per row, the four counts of each label are drawn.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes, with actual labels in rows and predicted labels in columns. The title is the accuracy with its
        interval.

    Raises
    ------
    ValueError
        If the evaluation is for a regression.
    """
    _check_evaluation(evaluation, "plot_confusion")
    matrix = _Matrix.of(evaluation)
    n_rows, n_columns = matrix.counts.shape
    total = matrix.counts.sum(axis=1, keepdims=True)
    share = matrix.counts / np.where(total > 0, total, 1.0)
    shade = 0.85 * np.sqrt(share)  # so that a few mistakes among many rows are seen
    ax = style.axes(ax, (float(np.clip(2.2 + 0.9 * n_columns, 5.2, 9.0)), float(np.clip(1.6 + 0.6 * n_rows, 3.6, 8.0))))
    cells = np.zeros((n_rows, n_columns, 3))
    for cell, right in np.ndenumerate(matrix.right):
        cells[cell] = style.tint(BLUE if right else VERMILION, float(shade[cell]))
    ax.imshow(cells, aspect="auto")
    if max(n_rows, n_columns) <= _MAX_COUNTED:
        _write_counts(ax, matrix.counts, share)
    long = matrix.metric == "accuracy" and max(map(len, matrix.columns)) * n_columns > 50
    turned: Any = {"rotation": 35, "ha": "right"} if long else {}
    ax.set_xticks(range(n_columns), shorten_names(matrix.columns, 18), **turned)
    ax.set_yticks(range(n_rows), shorten_names(matrix.rows, 18))
    accuracy = _metric_with_interval(evaluation, matrix.metric)
    message = f"{matrix.message} {accuracy} of {style.count(evaluation.n, 'row')}"
    style.frame(ax, message, *matrix.axis_names)
    ax.hlines(np.arange(n_rows + 1) - 0.5, -0.5, n_columns - 0.5, color=PALE, linewidth=0.8, clip_on=False)
    ax.vlines(np.arange(n_columns + 1) - 0.5, -0.5, n_rows - 0.5, color=PALE, linewidth=0.8, clip_on=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _write_counts(ax: Axes, counts: Array, share: Array) -> None:
    """Write counts, and shares of the row where there is room, into the cells of a confusion matrix."""
    with_shares = counts.shape[1] <= _MAX_WITH_SHARES
    for (i, j), count in np.ndenumerate(counts):
        said = f"{count:.4g}" if count % 1 else f"{count:.0f}"
        if with_shares and count:
            said += f"\n{style.percent(float(share[i, j]), 0)}"
        ink = "white" if share[i, j] > 0.35 else BLACK if count else GREY
        size = style.TEXT if with_shares else style.SMALL
        ax.text(j, i, said, ha="center", va="center", color=ink, fontsize=size)


def plot_roc(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Plot the ROC curve, or one curve per label against the rest.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate` for a classifier with scores.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes; their title is the area under the curve. With two labels, a dot marks the predictions.

    Raises
    ------
    ValueError
        If the model has no scores, or all rows have the same label.
    """
    _check_evaluation(evaluation, "plot_roc")
    curve = evaluation.roc
    if curve is None:
        raise ValueError(
            "The ROC curve is not defined, because the model has no scores or all rows have the same label. "
            "Evaluate on rows with all labels."
        )
    ax = style.axes(ax, _SQUARE)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="guessing")
    false, true = curve["false_positive_rate"], curve["true_positive_rate"]
    if evaluation.kind == "binary":
        positive, other = evaluation.labels
        ax.plot(false, true, color=BLUE, linewidth=2, label=f"{positive} against {other}")
        ax.fill_between(false, true, color=BLUE, alpha=0.08, linewidth=0)
        counts = _binary_counts(evaluation)
        hits, alarms = (counts[:, 0] / counts.sum(axis=1)).tolist()
        ax.plot(
            [alarms], [hits], marker="o", markersize=9, color=BLACK, linestyle="",
            label=f"as predicted: {style.percent(hits)} found,\n{style.percent(alarms)} false alarms",
        )  # fmt: skip
        message = f"{positive} is ranked above {other} in {_metric_with_interval(evaluation, 'roc_auc')} of pairs"
    else:
        assert evaluation.per_class is not None
        areas = dict(zip(map(str, evaluation.labels), evaluation.per_class["roc_auc"].tolist(), strict=True))
        for k, (label, rows) in enumerate(_rows_of_labels(evaluation, curve).items()):
            if rows.any():
                ax.plot(false[rows], true[rows], **_line_of_label(k, label, areas))
        area = _metric_with_interval(evaluation, "macro_roc_auc")
        message = f"A label is ranked above the rest in {area} of pairs, averaged over {len(areas)} labels"
        message += _best_and_worst(areas)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    style.legend(ax)
    return style.frame(ax, message, "false positive rate", "true positive rate (recall)")


def plot_precision_recall(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Plot the precision-recall curve, or one curve per label. The dotted line is the precision of a random guess.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate` for a classifier with scores.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes; their title is the average precision.

    Raises
    ------
    ValueError
        If the model has no scores, or all rows have the same label.
    """
    _check_evaluation(evaluation, "plot_precision_recall")
    curve = evaluation.precision_recall
    if curve is None:
        raise ValueError(
            "The precision-recall curve is not defined, because the model has no scores or all rows have the "
            "same label. Evaluate on rows with all labels."
        )
    ax = style.axes(ax, _SQUARE)
    precision, recall = curve["precision"], curve["recall"]
    if evaluation.kind == "binary":
        positive, counts = evaluation.labels[0], _binary_counts(evaluation).sum(axis=1)
        share = float(counts[0] / counts.sum())
        ax.axhline(share, color=GREY, linewidth=1, linestyle=":", label=f"guessing: {style.percent(share)}")
        ax.step(recall, precision, where="post", color=BLUE, linewidth=2, label=str(positive))
        area = _metric_with_interval(evaluation, "average_precision")
        message = f"Average precision of {positive} is {area}"
    else:
        rows_of_labels = _rows_of_labels(evaluation, curve)
        areas = {
            label: abs(np.trapezoid(precision[rows], recall[rows])) if rows.sum() > 1 else np.nan
            for label, rows in rows_of_labels.items()
        }
        for k, (label, rows) in enumerate(rows_of_labels.items()):
            ax.step(recall[rows], precision[rows], where="post", **_line_of_label(k, label, areas))
        area = _metric_with_interval(evaluation, "macro_average_precision")
        message = f"Average precision is {area}, averaged over labels{_best_and_worst(areas)}"
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
    style.legend(ax)
    return style.frame(ax, message, "recall: share of positives found", "precision: share of alarms that are correct")


def _rows_of_labels(evaluation: Evaluation, curve: Table) -> dict[str, NDArray[np.bool_]]:
    """Return for each label which points of a table of curves are its own."""
    of_point = np.array([str(label) for label in curve["label"]])
    return {label: of_point == label for label in map(str, evaluation.labels)}


def _line_of_label(k: int, label: str, areas: Mapping[str, float]) -> dict[str, Any]:
    """Return how the curve of label k is drawn; of many labels only the best and the worst have a colour and a name."""
    name = label if np.isnan(areas[label]) else f"{label}: {style.percent(areas[label])}"
    if len(areas) <= _MAX_NAMED:
        line = "-" if k < len(style.COLOURS) else "--"
        return {"color": style.colour(k), "linewidth": 1.8, "linestyle": line, "label": name}
    extremes = _extremes(areas)
    if label not in extremes:
        return {"color": PALE, "linewidth": 1.0, "zorder": 1}
    return {"color": (BLUE, ORANGE)[extremes.index(label)], "linewidth": 1.8, "label": name}


def _extremes(areas: Mapping[str, float]) -> list[str]:
    """Return the labels with the largest and with the smallest area; none if these are about the same."""
    known = {label: area for label, area in areas.items() if not np.isnan(area)}
    found = [of(known, key=known.__getitem__) for of in (max, min) if known]
    return found if len({style.percent(known[label]) for label in found}) == 2 else []


def _best_and_worst(areas: Mapping[str, float]) -> str:
    """Return the labels with the largest and the smallest area if there are too many labels for a legend."""
    if len(areas) <= _MAX_NAMED or np.isnan(list(areas.values())).all():
        return ""
    extremes = _extremes(areas)
    return f"; best {extremes[0]}, worst {extremes[1]}" if extremes else "; all about the same"


def plot_calibration(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Plot observed against predicted frequency with intervals. Bars at the bottom show the number of rows per point.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate` for a classifier with probabilities.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes; their title is the mean calibration error.

    Raises
    ------
    ValueError
        If the model has no probabilities, or several labels per row.
    """
    _check_evaluation(evaluation, "plot_calibration")
    table = evaluation.calibration
    if table is None:
        raise ValueError(
            "The calibration curve is not defined, because the model has no probabilities for one label per "
            "row. Choose logistic regression, LDA or QDA."
        )
    ax = style.axes(ax, _SQUARE)
    names = ("n", "predicted", "observed", "conf_low", "conf_high")
    n, predicted, observed, low, high = (np.asarray(table[name], dtype=float) for name in names)
    starts = np.array([float(name.split()[0]) for name in table["bin"]])
    ax.bar(starts + 0.05, 0.15 * n / n.max(), width=0.09, color=PALE, label=f"rows, at most {n.max():g}", zorder=1)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="calibrated")
    reach = np.maximum([observed - low, high - observed], 0.0)
    ax.errorbar(
        predicted, observed, yerr=reach, color=BLUE, marker="o", markersize=6, linewidth=1.6, elinewidth=1.2,
        capsize=3, label=f"observed, {100 * evaluation.level:g}% intervals", zorder=3,
    )  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    style.legend(ax)
    error = _metric(evaluation, "calibration_error")
    verdict = "no more than chance explains" if error["conf_low"] <= 0 else "more than chance explains"
    message = f"Probabilities are off by {100 * error['value']:.2g} percentage points on average, {verdict}"
    if evaluation.kind == "binary":
        label = evaluation.labels[0]
        return style.frame(ax, message, f"predicted probability of {label}", f"share of rows that are {label}")
    return style.frame(ax, message, "probability of the predicted label", "share of correct predictions")


def _check_evaluation(evaluation: Any, plot: str) -> None:
    if not hasattr(evaluation, "metrics"):  # a report draws what it has stored of one
        raise TypeError(
            f"{plot} draws an evaluation, not a {type(evaluation).__name__}. Pass ly.evaluate(model, X, y), or "
            "model.evaluate(data) for a result of ly.fit."
        )


def _binary_counts(evaluation: Evaluation) -> Array:
    """Return the confusion matrix of two labels, the positive one first."""
    assert evaluation.confusion is not None
    return np.column_stack([evaluation.confusion[name] for name in evaluation.confusion.columns[1:]]).astype(float)


def _metric(evaluation: Evaluation, name: str) -> dict[str, Any]:
    return evaluation.metrics.row(evaluation.metrics["metric"].tolist().index(name))


def _metric_with_interval(evaluation: Evaluation, name: str) -> str:
    value, low, high = (style.percent(_metric(evaluation, name)[key]) for key in ("value", "conf_low", "conf_high"))
    if low == high:
        return value
    return f"{value} " + f"({low.removesuffix('%')} to {high})".replace(" ", "\N{NO-BREAK SPACE}")
