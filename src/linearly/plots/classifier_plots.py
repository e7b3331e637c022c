"""Plots of classifiers and of coefficients.

Two features: regions, class densities, probabilities. Evaluations: confusion matrix, ROC, precision-recall,
calibration. Coefficients: intervals. Every function draws on the axes it is given, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.evaluation.evaluate import Evaluation
from linearly.formatting import visible
from linearly.inference.tidy import tidy
from linearly.inference.unwrap import unwrap_estimator
from linearly.plots import style
from linearly.plots.regions import Plane, draw_classes, draw_points, draw_regions, of_rows
from linearly.plots.style import BLACK, BLUE, GREY, ORANGE, PALE, VERMILION
from linearly.table import Table, to_python_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_MASS = {0.5: "-", 0.95: "--"}  # share of a class inside an ellipse, and the ellipse's line
_SURE = 0.9
_MAX_COUNTED = 20  # classes up to which the cells of a confusion matrix hold numbers
_MAX_WITH_SHARES = 8  # columns up to which they hold shares too
_MAX_NAMED = 8  # labels up to which a legend of their curves leaves room for these
_SQUARE = (5.6, 5.2)  # inches of curves of shares


# --- two features ---------------------------------------------------------------------------------


def plot_regions(model: Any, X: Any, y: Any = None, ax: Axes | None = None, names: Any = None) -> Axes:
    """Plot the region of each class in two features, the rows, and rings around rows on the wrong side.

    Parameters
    ----------
    model : estimator or Model
        Classifier fitted on two features, scikit-learn's included, or a `Model` of two columns.
    X : array-like of shape (n_rows, 2), or data
        Rows to draw; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Labels of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    names : sequence of two str, optional
        Names of the features; by default as in the data.

    Returns
    -------
    matplotlib Axes
        The axes; their title says how many rows are on the wrong side.

    Raises
    ------
    ValueError
        If the model or X has other than two features.
    TypeError
        If the model is not a classifier.

    See Also
    --------
    plot_probability : The probability of one of two classes.
    plot_gaussians : Means and covariances of LDA and QDA.
    """
    plane = Plane.of(model, X, y, names)
    plane = plane._replace(margins=plane.class_margins(*plane.grid()))
    return draw_classes(style.axes(ax), plane)


def plot_gaussians(model: Any, X: Any, y: Any = None, ax: Axes | None = None) -> Axes:
    """Plot the class densities of LDA or QDA: means, ellipses that hold 50 % and 95 % of a class, and the boundary.

    The ellipses are those of the model (``covariance_`` or ``covariances_``). Points that do not fill them show where
    the model does not fit the data.

    Parameters
    ----------
    model : estimator or Model
        Fitted discriminant analysis of two features, scikit-learn's included.
    X : array-like of shape (n_rows, 2), or data
        Rows to draw; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Labels of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes; their title says how many rows are on the wrong side.

    Raises
    ------
    TypeError
        If the model has no means and covariances.
    """
    plane = Plane.of(model, X, y)
    if unwrap_estimator(model) is not model:
        if model.names != model.design.features:
            raise ValueError(
                f"The ellipses are of {model.names[0]!r} and so on, not of columns as they are in the data."
            )
        model = model.estimator
    covariances = _covariances(model)
    reach = np.sqrt(_squared_radius(max(_MASS)) * np.diagonal(covariances, axis1=1, axis2=2))
    plane = plane._replace(extent=np.concatenate([plane.points, model.means_ - reach, model.means_ + reach]))
    ax = style.axes(ax)
    from matplotlib.patches import Ellipse

    draw_regions(ax, plane, alpha=0.07)
    draw_points(ax, plane, size=18, alpha=0.75)
    for k, (mean, covariance) in enumerate(zip(model.means_, covariances, strict=True)):
        variances, axes = np.linalg.eigh(covariance)
        angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
        for mass, line in _MASS.items():
            height, width = 2 * np.sqrt(_squared_radius(mass) * np.maximum(variances, 0.0))
            ellipse = Ellipse(
                mean, width, height, angle=angle, fill=False, edgecolor=style.colour(k), linewidth=1.8, zorder=4,
                linestyle=line,
            )  # fmt: skip
            ax.add_patch(ellipse)
        ax.plot(
            *mean, marker=style.shape(k), markersize=11, color=style.colour(k), markeredgecolor=BLACK,
            markeredgewidth=1.4, linestyle="", zorder=5,
        )  # fmt: skip
    for mass, line in _MASS.items():
        ax.plot([], [], color=GREY, linewidth=1.8, linestyle=line, label=f"{style.percent(mass, 0)} of a class")
    how = "one covariance, straight boundaries"
    if hasattr(model, "covariances_") or isinstance(model.covariance_, list):
        how = "a covariance for each class, curved boundaries"
    return plane.frame(ax, f"{plane.title}: {how}; {plane.wrong_side()}")


def _squared_radius(mass: float) -> float:
    """Return the squared radius that holds a share of a normal class: P(d² < r²) = 1 − exp(−r²/2) in the plane."""
    return float(-2 * np.log1p(-mass))


def _covariances(model: Any) -> Array:
    """Return the covariance of each class: its own, or the pooled one."""
    found = getattr(model, "covariances_", getattr(model, "covariance_", None))
    if found is None or not hasattr(model, "means_"):
        raise TypeError(f"{type(model).__name__} has no means_ and covariance_: ellipses are for LDA and QDA.")
    return np.broadcast_to(np.asarray(found), (len(model.means_), 2, 2))


def plot_probability(model: Any, X: Any, y: Any = None, ax: Axes | None = None) -> Axes:
    """Plot the probability of ``classes_[1]``, given by a model of two classes, over two features.

    Parameters
    ----------
    model : estimator or Model
        Classifier of two classes with ``predict_proba``, fitted on two features.
    X : array-like of shape (n_rows, 2), or data
        Rows to draw; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Labels of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes; their title says for how many rows a probability is at least 90 %.

    Raises
    ------
    TypeError
        If the model has no probabilities.
    ValueError
        If the model has other than two classes or features.
    """
    name = type(unwrap_estimator(model)).__name__
    if not hasattr(unwrap_estimator(model), "predict_proba"):
        raise TypeError(f"{name} gives no probabilities (predict_proba): see plot_regions.")
    plane = Plane.of(model, X, y)
    if len(plane.labels) != 2:
        raise ValueError(f"A probability is drawn for two classes; the model knows {len(plane.labels)}.")
    ax = style.axes(ax)
    from matplotlib.colors import LinearSegmentedColormap

    first, second = plane.grid()
    surface = np.asarray(model.predict_proba(plane.to_input(first, second)))[:, 1].reshape(first.shape)
    ramp = LinearSegmentedColormap.from_list("classes", [style.tint(BLUE, 0.5), (1, 1, 1), style.tint(ORANGE, 0.5)])
    filled = ax.contourf(first, second, surface, levels=np.linspace(0, 1, 21), cmap=ramp)
    ticks = [0, 1 - _SURE, 0.5, _SURE, 1]
    bar = ax.figure.colorbar(filled, ax=ax, ticks=ticks, shrink=0.85)
    for level, dashes in zip(ticks[1:-1], ("--", "-", "--"), strict=True):
        if surface.min() < level < surface.max():
            ax.contour(first, second, surface, levels=[level], colors=[BLACK], linewidths=1.2, linestyles=[dashes])
        bar.ax.axhline(level, color=BLACK, linewidth=1.2, linestyle=dashes)
    draw_points(ax, plane, size=20)
    ink = ax.xaxis.label.get_color()
    bar.set_label(visible(f"probability of {plane.labels[1]}"), fontsize=style.TEXT, color=ink)
    bar.ax.tick_params(labelcolor=ink)
    bar.ax.set_yticklabels([style.percent(tick, 0) for tick in ticks], fontsize=style.SMALL)
    sure = np.asarray(model.predict_proba(plane.to_input(*plane.points.T))).max(axis=1) >= _SURE
    message = f"at least {style.percent(_SURE, 0)} sure of {of_rows(int(sure.sum()), len(sure))}"
    if sure.any():
        right = float(np.mean(plane.actual[sure] == plane.predicted[sure]))
        message += f", and right on {style.percent(right)} of them"
    return plane.frame(ax, f"{plane.title}: {message}")


# --- evaluation -----------------------------------------------------------------------------------


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
            raise ValueError("A confusion matrix is for classifiers; this is an evaluation of a regression.")
        head, *names = table.columns
        counts = np.column_stack([table[name] for name in names]).astype(float)
        rows = [str(name) for name in table[head]]
        if evaluation.kind != "multilabel":
            return _Matrix(counts, np.eye(len(rows)) == 1, rows, rows, "accuracy", "Right on", ("predicted", "actual"))
        right = np.tile([name.startswith("true") for name in names], (len(rows), 1))
        columns = [name.replace("_", "\n") for name in names]
        return _Matrix(counts, right, rows, columns, "subset_accuracy", "Every label right on", ("", "label"))


def plot_confusion(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Plot the confusion matrix: blue is right, red is wrong, darker is more of the row.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `evaluate` for a classifier. With several labels per row, the four counts of each label are drawn.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes, rows actual and columns predicted; their title is the accuracy with its interval.

    Raises
    ------
    ValueError
        If the evaluation is of a regression.
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
    ax.set_xticks(range(n_columns), style.shorten_names(matrix.columns, 18), **turned)
    ax.set_yticks(range(n_rows), style.shorten_names(matrix.rows, 18))
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
    """Plot the ROC curve, or that of each label against the rest.

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
        If there are no scores, or all rows have one label.
    """
    _check_evaluation(evaluation, "plot_roc")
    curve = evaluation.roc
    if curve is None:
        raise ValueError("There is no ROC curve: the model gives no scores, or all rows have one label.")
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
                name = f"{label}: {style.percent(areas[label])}"
                ax.plot(false[rows], true[rows], **_line_of_label(k), label=name)
        area = _metric_with_interval(evaluation, "macro_roc_auc")
        message = f"A label is ranked above the rest in {area} of pairs, averaged over {len(areas)} labels"
        message += _best_and_worst(areas)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    if len(evaluation.labels) <= _MAX_NAMED:
        style.legend(ax, loc="lower right")
    return style.frame(ax, message, "false positives, share of the negative", "true positives, share of the positive")


def plot_precision_recall(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Plot precision against recall, or that of each label; the dotted line is the precision of a guess.

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
        If there are no scores, or all rows have one label.
    """
    _check_evaluation(evaluation, "plot_precision_recall")
    curve = evaluation.precision_recall
    if curve is None:
        raise ValueError("There is no precision-recall curve: the model gives no scores, or all rows have one label.")
    ax = style.axes(ax, _SQUARE)
    precision, recall = curve["precision"], curve["recall"]
    if evaluation.kind == "binary":
        positive, counts = evaluation.labels[0], _binary_counts(evaluation).sum(axis=1)
        share = float(counts[0] / counts.sum())
        ax.axhline(share, color=GREY, linewidth=1, linestyle=":", label=f"guessing: {style.percent(share)}")
        ax.step(recall, precision, where="post", color=BLUE, linewidth=2, label=str(positive))
        area = _metric_with_interval(evaluation, "average_precision")
        message = f"Rows that rank as {positive} are so in {area} of cases, averaged over recall"
    else:
        rows_of_labels = _rows_of_labels(evaluation, curve)
        for k, (label, rows) in enumerate(rows_of_labels.items()):
            ax.step(recall[rows], precision[rows], where="post", **_line_of_label(k), label=label)
        area = _metric_with_interval(evaluation, "macro_average_precision")
        message = f"Rows that rank as a label have it in {area} of cases, averaged over recall and labels"
        message += _best_and_worst({
            label: abs(np.trapezoid(precision[rows], recall[rows])) if rows.sum() > 1 else np.nan
            for label, rows in rows_of_labels.items()
        })  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
    if len(evaluation.labels) <= _MAX_NAMED:
        style.legend(ax, loc="lower left")
    return style.frame(ax, message, "recall: share of the positive that is found", "precision: share found that is so")


def _rows_of_labels(evaluation: Evaluation, curve: Table) -> dict[str, NDArray[np.bool_]]:
    """Return for each label which points of a table of curves are its own."""
    of_point = np.array([str(label) for label in curve["label"]])
    return {label: of_point == label for label in map(str, evaluation.labels)}


def _line_of_label(k: int) -> dict[str, Any]:
    return {"color": style.colour(k), "linewidth": 1.8, "linestyle": "-" if k < len(style.COLOURS) else "--"}


def _best_and_worst(areas: Mapping[str, float]) -> str:
    """Return the labels with the largest and the smallest area if there are too many labels for a legend."""
    known = {label: area for label, area in areas.items() if not np.isnan(area)}
    if len(areas) <= _MAX_NAMED or not known:
        return ""
    best, worst = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    if style.percent(known[best]) == style.percent(known[worst]):
        return "; all about the same"
    return f"; best {best}, worst {worst}"


def plot_calibration(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Plot observed against predicted frequency with intervals; bars at the foot show the rows of each point.

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
        If there are no probabilities, or several labels per row.
    """
    _check_evaluation(evaluation, "plot_calibration")
    table = evaluation.calibration
    if table is None:
        raise ValueError("There is no calibration: the model gives no probabilities, one label a row.")
    ax = style.axes(ax, _SQUARE)
    names = ("n", "predicted", "observed", "conf_low", "conf_high")
    n, predicted, observed, low, high = (np.asarray(table[name], dtype=float) for name in names)
    starts = np.array([float(name.split()[0]) for name in table["bin"]])
    ax.bar(starts + 0.05, 0.15 * n / n.max(), width=0.09, color=PALE, label=f"rows, {n.max():g} at most", zorder=1)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="calibrated")
    reach = np.maximum([observed - low, high - observed], 0.0)
    ax.errorbar(
        predicted, observed, yerr=reach, color=BLUE, marker="o", markersize=6, linewidth=1.6, elinewidth=1.2,
        capsize=3, label=f"observed, {100 * evaluation.level:g} % intervals", zorder=3,
    )  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    # Points may be anywhere, so the legend stands below the picture.
    style.legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    error = _metric(evaluation, "calibration_error")
    verdict = "no more than chance would do" if error["conf_low"] <= 0 else "more than chance would do"
    message = f"Probabilities are off by {100 * error['value']:.2g} points on average, {verdict}"
    if evaluation.kind == "binary":
        label = evaluation.labels[0]
        return style.frame(ax, message, f"predicted probability of {label}", f"share of rows that are {label}")
    return style.frame(ax, message, "probability of the predicted label", "share of rows predicted right")


def _check_evaluation(evaluation: Any, plot: str) -> None:
    if not hasattr(evaluation, "metrics"):  # a report draws what it has stored of one
        raise TypeError(
            f"{plot} draws an evaluation, not a {type(evaluation).__name__}: {plot}(ly.evaluate(model, X, y)), or "
            f"{plot}(model.evaluate(data)) of what ly.fit gave."
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
    return f"{value} " + f"({low.removesuffix(' %')} to {high})".replace(" ", "\N{NO-BREAK SPACE}")


# --- coefficients ---------------------------------------------------------------------------------


def plot_coefficients(model: Any, ax: Axes | None = None, level: float = 0.95, *, intercept: bool = False) -> Axes:
    """Plot coefficients with their intervals, as `tidy` gives them; hollow if the interval holds 0.

    A coefficient is per unit of its feature: to compare lengths, fit on features of one scale. Several targets, or
    the logits of K ≥ 3 classes, stand in one row in colours of their own.

    Parameters
    ----------
    model : estimator or Model
        Fitted model with standard errors.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    level : float, default=0.95
        Confidence level of the intervals.
    intercept : bool, default=False
        Whether to draw the intercept too.

    Returns
    -------
    matplotlib Axes
        The axes; their title says how many intervals leave out 0.

    See Also
    --------
    tidy : The same numbers as a table.
    """
    reference, classes = getattr(model, "reference_", None), getattr(model, "classes_", None)
    change = "the prediction"
    if classes is not None:
        two = not isinstance(classes, list) and len(classes) == 2
        change = f"the log-odds of {to_python_value(classes[1])}" if two else "the log-odds"
    return draw_coefficients(
        ax,
        tidy(model, level=level),
        level,
        f"change of {change} per unit of the feature",
        group_title="" if reference is None else f"against {to_python_value(reference)}",
        separated=getattr(model, "separation_", None) is not None,
        intercept=intercept,
    )


def draw_coefficients(
    ax: Axes | None, table: Table, level: float, unit: str, *, group_title: str = "", separated: bool = False,
    intercept: bool = False,
) -> Axes:  # fmt: skip
    """Draw intervals from a table of terms; `unit` names the axis, `group_title` the legend of labels or targets."""
    group = next((name for name in ("label", "target") if name in table.columns), None)
    shown = np.ones(len(table), dtype=bool) if intercept else table["term"] != "Intercept"
    if not shown.any():
        raise ValueError("The model has no coefficients beside the intercept: pass intercept=True to draw it.")
    terms = list(dict.fromkeys(table["term"][shown].tolist()))
    series = list(dict.fromkeys(table[group][shown].tolist())) if group else [None]
    ax = style.axes(ax, (6.8, min(1.6 + (0.30 + 0.14 * (len(series) - 1)) * len(terms), 14.0)))
    ax.axvline(0, color=GREY, linewidth=1, linestyle=":")
    n_clear = 0
    for k, name in enumerate(series):
        rows = np.flatnonzero(shown & (table[group] == name)) if group else np.flatnonzero(shown)
        n_clear += _draw_series(ax, table, rows, terms, k, (k - (len(series) - 1) / 2) * 0.7 / len(series), name)
    ax.set_yticks(range(len(terms)), style.shorten_names(terms, 28))
    ax.set_ylim(len(terms) - 0.4, -0.6)
    if group:
        style.legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=group_title, title_fontsize=style.SMALL)
    else:
        _write_intervals(ax, table, np.flatnonzero(shown))
    ax.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)
    n_known = int(np.isfinite(table["conf_low"][shown]).sum())
    message = f"{n_clear or 'None'} of {style.count(n_known, 'coefficient')} clear of 0 ({100 * level:g} % intervals)"
    if n_known == 0:
        message = "No intervals: too few rows, columns that are combinations of others, or no known covariance"
    if separated:
        message = "The classes are separable: coefficients where the search stopped, not estimates"
    style.frame(ax, message, unit)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    style.wrap_again(ax, message)
    return ax


def _draw_series(
    ax: Axes, table: Table, rows: NDArray[np.intp], terms: list[str], k: int, shift: float, name: Any
) -> int:
    """Draw the intervals of one target or label, and return how many leave out 0."""
    place = np.array([terms.index(term) for term in table["term"][rows]]) + shift
    estimate, low, high = (table[column][rows] for column in ("estimate", "conf_low", "conf_high"))
    clear = (low > 0) | (high < 0)
    ax.hlines(place, low, high, color=style.colour(k), linewidth=2)
    for which, filled in ((clear, True), (~clear, False)):
        if which.any() or filled:
            ax.plot(
                estimate[which], place[which], linestyle="", marker=style.shape(k), markersize=6.5, zorder=3,
                color=style.colour(k), markerfacecolor=style.colour(k) if filled else "white",
                label=str(name) if filled and name is not None else None,
            )  # fmt: skip
    return int(clear.sum())


def _write_intervals(ax: Axes, table: Table, rows: NDArray[np.intp]) -> None:
    """Write estimates and intervals as numbers beside the plot."""
    ink = ax.xaxis.label.get_color()
    for i, row in enumerate(rows.tolist()):
        values = [float(table[column][row]) for column in ("estimate", "conf_low", "conf_high")]
        value, low, high = map(style.number, values)
        said = f"{value}  ({low} to {high})" if np.isfinite(values[1:]).all() else f"{value}  (no interval)"
        ax.text(1.02, i, said, transform=ax.get_yaxis_transform(), va="center", fontsize=style.SMALL, color=ink)
