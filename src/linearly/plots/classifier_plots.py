"""Pictures of classifiers and of coefficients: what a model says of two features, how often it is right, how sure.

Every function draws on the axes it is given, or on new ones, and returns them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linearly.evaluation.evaluate import Evaluation
from linearly.formatting import visible
from linearly.inference.tidy import tidy
from linearly.inference.unwrap import unwrap_estimator
from linearly.plots import style
from linearly.plots.regions import Plane, draw_points, draw_regions, draw_wrong, of_rows
from linearly.plots.style import BLACK, BLUE, GREY, ORANGE, PALE, VERMILION
from linearly.table import Table, to_python_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_MASS = (0.5, 0.95)  # of a class inside its ellipses
_SURE = 0.9
_MOST_COUNTED = 20  # classes up to which the cells of a confusion matrix hold numbers
_NAMED = 8  # labels up to which a legend of their curves leaves room for these
_NARROWEST, _LOWEST = 5.2, 3.6  # inches of a confusion matrix


# --- two features ---------------------------------------------------------------------------------


def plot_regions(model: Any, X: Any, y: Any = None, ax: Axes | None = None, names: Any = None) -> Axes:
    """The region of each class in two features, the rows as points, and the rows on the wrong side ringed.

    Parameters
    ----------
    model : a classifier fitted on two features, scikit-learn's included, or a `Model` of two columns.
    X, y : rows to draw, and their labels; for a `Model`, the data.
    ax : axes to draw on; new ones by default.
    names : what to call the two features; by default as in the data.
    """
    plane = Plane.of(model, X, y, names)
    plane = plane._replace(lead=plane.class_margins(*plane.grid))
    ax = style.axes(ax)
    draw_regions(ax, plane, alpha=0.16)
    draw_points(ax, plane)
    draw_wrong(ax, plane)
    return plane.frame(ax, f"{plane.title}: {plane.wrong_side()}")


def plot_gaussians(model: Any, X: Any, y: Any = None, ax: Axes | None = None) -> Axes:
    """What LDA or QDA takes the classes for: means, ellipses that hold 50 % and 95 % of a class, and the boundary.

    The ellipses are those of the model (``covariance_`` or ``covariances_``), so points that do not fill them show
    where it is wrong about the data.
    """
    plane = Plane.of(model, X, y)
    if unwrap_estimator(model) is not model:
        if model.names != model.design.features:
            raise ValueError(
                f"The ellipses are of {model.names[0]!r} and so on, not of columns as they are in the data."
            )
        model = model.estimator
    covariances = _covariances(model)
    reach = np.sqrt(_radius2(_MASS[-1]) * np.diagonal(covariances, axis1=1, axis2=2))
    plane = plane._replace(seen=np.concatenate([plane.points, model.means_ - reach, model.means_ + reach]))
    ax = style.axes(ax)
    from matplotlib.patches import Ellipse

    draw_regions(ax, plane, alpha=0.07)
    draw_points(ax, plane, size=18, alpha=0.75)
    for k, (mean, covariance) in enumerate(zip(model.means_, covariances, strict=True)):
        variances, axes = np.linalg.eigh(covariance)
        angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
        for mass in _MASS:
            height, width = 2 * np.sqrt(_radius2(mass) * np.maximum(variances, 0.0))
            ellipse = Ellipse(
                mean, width, height, angle=angle, fill=False, edgecolor=style.colour(k), linewidth=1.8, zorder=4,
                linestyle="-" if mass == _MASS[0] else "--",
            )  # fmt: skip
            ax.add_patch(ellipse)
        ax.plot(
            *mean, marker=style.shape(k), markersize=11, color=style.colour(k), markeredgecolor=BLACK,
            markeredgewidth=1.4, linestyle="", zorder=5,
        )  # fmt: skip
    ax.plot([], [], color=GREY, linewidth=1.8, label=f"{style.percent(_MASS[0], 0)} of a class")
    ax.plot([], [], color=GREY, linewidth=1.8, linestyle="--", label=f"{style.percent(_MASS[1], 0)} of a class")
    how = "one covariance, straight boundaries"
    if hasattr(model, "covariances_") or isinstance(model.covariance_, list):
        how = "a covariance for each class, curved boundaries"
    return plane.frame(ax, f"{plane.title}: {how}; {plane.wrong_side()}")


def plot_probability(model: Any, X: Any, y: Any = None, ax: Axes | None = None) -> Axes:
    """The probability that a model of two classes gives to ``classes_[1]``, as a surface over two features."""
    if not hasattr(unwrap_estimator(model), "predict_proba"):
        raise TypeError(
            f"{type(unwrap_estimator(model)).__name__} gives no probabilities (predict_proba): see plot_regions."
        )
    plane = Plane.of(model, X, y)
    if len(plane.labels) != 2:
        raise ValueError(f"A probability is drawn for two classes; the model knows {len(plane.labels)}.")
    ax = style.axes(ax)
    from matplotlib.colors import LinearSegmentedColormap

    first, second = plane.grid
    surface = np.asarray(model.predict_proba(plane.asked(first, second)))[:, 1].reshape(first.shape)
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
    sure = np.asarray(model.predict_proba(plane.asked(*plane.points.T))).max(axis=1) >= _SURE
    right = np.mean(plane.actual[sure] == plane.predicted[sure]) if sure.any() else 0.0
    message = f"at least {style.percent(_SURE, 0)} sure of {of_rows(int(sure.sum()), len(sure))}"
    if sure.any():
        message += f", and right on {style.percent(float(right))} of them"
    return plane.frame(ax, f"{plane.title}: {message}")


def _radius2(mass: float) -> float:
    """The squared radius that holds so much of a normal class: P(d² < r²) = 1 − exp(−r²/2) in two dimensions."""
    return float(-2 * np.log1p(-mass))


def _covariances(model: Any) -> Array:
    """The covariance of each class: its own, or the one of all."""
    found = getattr(model, "covariances_", getattr(model, "covariance_", None))
    if found is None or not hasattr(model, "means_"):
        raise TypeError(f"{type(model).__name__} has no means_ and covariance_: ellipses are for LDA and QDA.")
    return np.broadcast_to(np.asarray(found), (len(model.means_), 2, 2))


# --- evaluation -----------------------------------------------------------------------------------


def plot_confusion(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """The confusion matrix: rows actual, columns predicted; blue is right, red is wrong, darker is more of the row.

    With several labels a row, the four counts of each label.
    """
    table = _evaluated(evaluation, "plot_confusion").confusion
    if table is None:
        raise ValueError("A confusion matrix is for classifiers; this is an evaluation of a regression.")
    several = evaluation.kind == "multilabel"
    head, *columns = table.columns
    counts = np.column_stack([table[name] for name in columns]).astype(float)
    rows, width = [str(name) for name in table[head]], len(columns)
    total = counts.sum(axis=1, keepdims=True)
    share = counts / np.where(total > 0, total, 1.0)
    shade = np.sqrt(share)  # so that a few mistakes among many rows are seen
    right = np.tile([name.startswith("true") for name in columns], (len(rows), 1)) if several else np.eye(width) == 1
    side = min(max(_LOWEST, 1.6 + 0.6 * len(rows)), 8.0)
    ax = style.axes(ax, (min(max(_NARROWEST, 2.2 + 0.9 * width), 9.0), side))
    ax.imshow([[style.tint(BLUE if right[i, j] else VERMILION, 0.85 * shade[i, j]) for j in range(width)]
               for i in range(len(rows))], aspect="auto")  # fmt: skip
    if max(len(rows), width) <= _MOST_COUNTED:
        for i, j in np.ndindex(counts.shape):
            told = f"{counts[i, j]:.4g}" if counts[i, j] % 1 else f"{counts[i, j]:.0f}"
            told += f"\n{style.percent(float(share[i, j]), 0)}" if width <= 8 and counts[i, j] else ""
            ink = "white" if share[i, j] > 0.35 else BLACK if counts[i, j] else GREY
            ax.text(j, i, told, ha="center", va="center", color=ink, fontsize=style.TEXT if width <= 8 else style.SMALL)
    names = [name.replace("_", "\n") for name in columns] if several else rows
    long = max(map(len, names)) * width > 50 and not several
    ax.set_xticks(
        range(width), style.shorten_names(names, 18), rotation=35 if long else 0, ha="right" if long else "center"
    )
    ax.set_yticks(range(len(rows)), style.shorten_names(rows, 18))
    metric = "subset_accuracy" if several else "accuracy"
    message = f"{_with_interval(evaluation, metric)} of {style.count(evaluation.n, 'row')}"
    style.frame(ax, f"Right on {message}" if not several else f"Every label right on {message}")
    ax.set_xlabel("" if several else "predicted", fontsize=style.TEXT)
    ax.set_ylabel("label" if several else "actual", fontsize=style.TEXT)
    ax.hlines(np.arange(len(rows) + 1) - 0.5, -0.5, width - 0.5, color=PALE, linewidth=0.8, clip_on=False)
    ax.vlines(np.arange(width + 1) - 0.5, -0.5, len(rows) - 0.5, color=PALE, linewidth=0.8, clip_on=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def plot_roc(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """The ROC curve, or that of each label against the rest; with two labels, a dot where the predictions stand."""
    curve = _evaluated(evaluation, "plot_roc").roc
    if curve is None:
        raise ValueError("There is no ROC curve: the model gives no scores, or all rows have one label.")
    ax = style.axes(ax, (5.6, 5.2))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="guessing")
    false, true = curve["false_positive_rate"], curve["true_positive_rate"]
    if evaluation.kind == "binary":
        positive, other = evaluation.labels
        ax.plot(false, true, color=BLUE, linewidth=2, label=f"{positive} against {other}")
        ax.fill_between(false, true, color=BLUE, alpha=0.08, linewidth=0)
        hits, alarms = _rates(evaluation)
        ax.plot(
            [alarms], [hits], marker="o", markersize=9, color=BLACK, linestyle="",
            label=f"as predicted: {style.percent(hits)} found,\n{style.percent(alarms)} false alarms",
        )  # fmt: skip
        message = f"{positive} is ranked above {other} in {_with_interval(evaluation, 'roc_auc')} of pairs"
    else:
        assert evaluation.per_class is not None
        areas = dict(zip(map(str, evaluation.labels), evaluation.per_class["roc_auc"].tolist(), strict=True))
        drawn = np.array([str(label) for label in curve["label"]])
        for k, label in enumerate(areas):
            mine = drawn == label
            if mine.any():
                dashes = "-" if k < len(style.COLOURS) else "--"
                told = f"{label}: {style.percent(areas[label])}"
                ax.plot(false[mine], true[mine], color=style.colour(k), linewidth=1.8, linestyle=dashes, label=told)
        area = _with_interval(evaluation, "macro_roc_auc")
        message = f"A label is ranked above the rest in {area} of pairs, averaged over {len(areas)} labels"
        message += _best_and_worst(areas)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    if len(evaluation.labels) <= _NAMED:
        style.legend(ax, loc="lower right")
    return style.frame(ax, message, "false positives, share of the negative", "true positives, share of the positive")


def plot_precision_recall(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Precision against recall, or that of each label; the dotted line is the precision of a guess."""
    curve = _evaluated(evaluation, "plot_precision_recall").precision_recall
    if curve is None:
        raise ValueError("There is no precision-recall curve: the model gives no scores, or all rows have one label.")
    ax = style.axes(ax, (5.6, 5.2))
    precision, recall = curve["precision"], curve["recall"]
    if evaluation.kind == "binary":
        positive = evaluation.labels[0]
        share = _share(evaluation)
        ax.axhline(share, color=GREY, linewidth=1, linestyle=":", label=f"guessing: {style.percent(share)}")
        ax.step(recall, precision, where="post", color=BLUE, linewidth=2, label=str(positive))
        area = _with_interval(evaluation, "average_precision")
        message = f"Rows that rank as {positive} are so in {area} of cases, averaged over recall"
    else:
        drawn = np.array([str(label) for label in curve["label"]])
        for k, label in enumerate(map(str, evaluation.labels)):
            mine = drawn == label
            dashes = "-" if k < len(style.COLOURS) else "--"
            ax.step(
                recall[mine], precision[mine], where="post", color=style.colour(k), linewidth=1.8, linestyle=dashes,
                label=label,
            )  # fmt: skip
        area = _with_interval(evaluation, "macro_average_precision")
        message = f"Rows that rank as a label have it in {area} of cases, averaged over recall and labels"
        message += _best_and_worst({label: _area(recall[drawn == label], precision[drawn == label])
                                    for label in map(str, evaluation.labels)})  # fmt: skip
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.04)
    if len(evaluation.labels) <= _NAMED:
        style.legend(ax, loc="lower left")
    return style.frame(ax, message, "recall: share of the positive that is found", "precision: share found that is so")


def _best_and_worst(areas: dict[str, float]) -> str:
    """The two labels to know of where there are too many to name each."""
    known = {label: area for label, area in areas.items() if area == area}
    if len(areas) <= _NAMED or not known:
        return ""
    best, worst = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    if style.percent(known[best]) == style.percent(known[worst]):
        return "; all about the same"
    return f"; best {best}, worst {worst}"


def _area(x: Array, y: Array) -> float:
    """Below a curve; not known of one without points."""
    return float(abs(np.diff(x) @ (y[1:] + y[:-1])) / 2) if len(x) > 1 else np.nan


def _share(evaluation: Evaluation) -> float:
    """The share of the rows that have the positive of two labels."""
    table = evaluation.confusion
    assert table is not None
    counts = np.column_stack([table[name] for name in table.columns[1:]]).sum(axis=1)
    return float(counts[0] / counts.sum())


def plot_calibration(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Observed against predicted frequency with intervals; bars at the foot show how many rows each point has."""
    table = _evaluated(evaluation, "plot_calibration").calibration
    if table is None:
        raise ValueError("There is no calibration: the model gives no probabilities, one label a row.")
    ax = style.axes(ax, (5.6, 5.2))
    n, predicted, observed = (np.asarray(table[name], dtype=float) for name in ("n", "predicted", "observed"))
    low, high = np.asarray(table["conf_low"], dtype=float), np.asarray(table["conf_high"], dtype=float)
    starts = np.array([float(name.split()[0]) for name in table["bin"]])
    ax.bar(starts + 0.05, 0.15 * n / n.max(), width=0.09, color=PALE, label=f"rows, {n.max():g} at most", zorder=1)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="calibrated")
    reach = np.maximum([observed - low, high - observed], 0.0)
    ax.errorbar(
        predicted, observed, yerr=reach, color=BLUE, marker="o", markersize=6, linewidth=1.6, elinewidth=1.2,
        capsize=3, label=f"observed, {100 * evaluation.level:g} % intervals", zorder=3,
    )  # fmt: skip
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    # Points may be anywhere, so the legend stands below the picture.
    style.legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    error = evaluation.metrics.row(evaluation.metrics["metric"].tolist().index("calibration_error"))
    verdict = "no more than chance would do" if error["conf_low"] <= 0 else "more than chance would do"
    message = f"Probabilities are off by {100 * error['value']:.2g} points on average, {verdict}"
    if evaluation.kind == "binary":
        label = evaluation.labels[0]
        return style.frame(ax, message, f"predicted probability of {label}", f"share of rows that are {label}")
    return style.frame(ax, message, "probability of the predicted label", "share of rows predicted right")


def _evaluated(evaluation: Any, what: str) -> Any:
    if not hasattr(evaluation, "metrics"):  # a report draws what it has stored of one
        raise TypeError(
            f"{what} draws an evaluation, not a {type(evaluation).__name__}: {what}(ly.evaluate(model, X, y)), or "
            f"{what}(model.evaluate(data)) of what ly.fit gave."
        )
    return evaluation


def _rates(evaluation: Evaluation) -> tuple[float, float]:
    """True and false positive rate of the predictions of a model of two labels."""
    assert evaluation.confusion is not None
    said = np.asarray(evaluation.confusion[evaluation.confusion.columns[1]], dtype=float)
    other = np.asarray(evaluation.confusion[evaluation.confusion.columns[2]], dtype=float)
    hits, alarms = said / (said + other)
    return float(hits), float(alarms)


def _with_interval(evaluation: Evaluation, metric: str) -> str:
    row = evaluation.metrics.row(evaluation.metrics["metric"].tolist().index(metric))
    low, high = (style.percent(row[end]) for end in ("conf_low", "conf_high"))
    if low == high:
        return style.percent(row["value"])
    return f"{style.percent(row['value'])} " + f"({low.removesuffix(' %')} to {high})".replace(
        " ", "\N{NO-BREAK SPACE}"
    )


# --- coefficients ---------------------------------------------------------------------------------


def plot_coefficients(model: Any, ax: Axes | None = None, level: float = 0.95, *, intercept: bool = False) -> Axes:
    """Coefficients with their intervals, as `tidy` gives them; hollow where the interval holds 0.

    A coefficient is per unit of its feature: to compare lengths, fit on features of one scale. Several targets, or
    the logits of K ≥ 3 classes, stand in one row in colours of their own.
    """
    separated = getattr(model, "separation_", None) is not None
    table = tidy(model, level=level)
    return draw_coefficients(
        ax, table, level, _unit(model), about=_about(model), separated=separated, intercept=intercept
    )


def draw_coefficients(
    ax: Axes | None,
    table: Table,
    level: float,
    unit: str,
    *,
    about: str = "",
    separated: bool = False,
    intercept: bool = False,
) -> Axes:
    """The same from a table of terms."""
    group = next((name for name in ("label", "target") if name in table.columns), None)
    kept = np.ones(len(table), dtype=bool) if intercept else table["term"] != "Intercept"
    if not kept.any():
        raise ValueError("The model has no coefficients beside the intercept: pass intercept=True to draw it.")
    terms = list(dict.fromkeys(table["term"][kept].tolist()))
    series = list(dict.fromkeys(table[group][kept].tolist())) if group else [None]
    ax = style.axes(ax, (6.8, min(1.6 + (0.30 + 0.14 * (len(series) - 1)) * len(terms), 14.0)))
    ax.axvline(0, color=GREY, linewidth=1, linestyle=":")
    step = 0.7 / len(series)
    clear = 0
    for k, name in enumerate(series):
        mine = np.flatnonzero(kept & (table[group] == name)) if group else np.flatnonzero(kept)
        clear += _draw_series(ax, table, mine, terms, k, (k - (len(series) - 1) / 2) * step, name)
    ax.set_yticks(range(len(terms)), style.shorten_names(terms, 28))
    ax.set_ylim(len(terms) - 0.4, -0.6)
    if group:
        style.legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=about, title_fontsize=style.SMALL)
    else:
        _write_numbers(ax, table, np.flatnonzero(kept))
    ax.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)
    known = int(np.isfinite(table["conf_low"][kept]).sum())
    message = f"{clear or 'None'} of {style.count(known, 'coefficient')} clear of 0 ({100 * level:g} % intervals)"
    if known == 0:
        message = "No intervals: too few rows, columns that are combinations of others, or no known covariance"
    if separated:
        message = "The classes are separable: coefficients where the search stopped, not estimates"
    style.frame(ax, message, unit)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    style.wrap_again(ax, message)
    return ax


def _draw_series(
    ax: Axes, table: Table, mine: NDArray[np.intp], terms: list[str], k: int, shift: float, name: Any
) -> int:
    """Draws the intervals of one target or label; how many leave out 0."""
    place = np.array([terms.index(term) for term in table["term"][mine]]) + shift
    estimate, low, high = (table[column][mine] for column in ("estimate", "conf_low", "conf_high"))
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


def _write_numbers(ax: Axes, table: Table, mine: NDArray[np.intp]) -> None:
    ink = ax.xaxis.label.get_color()
    for i, row in enumerate(mine.tolist()):
        value, low, high = (float(table[column][row]) for column in ("estimate", "conf_low", "conf_high"))
        told = f"{style.number(value)}  (no interval)"
        if np.isfinite([low, high]).all():
            told = f"{style.number(value)}  ({style.number(low)} to {style.number(high)})"
        ax.text(1.02, i, told, transform=ax.get_yaxis_transform(), va="center", fontsize=style.SMALL, color=ink)


def _about(model: Any) -> str:
    reference = getattr(model, "reference_", None)
    return f"against {to_python_value(reference)}" if reference is not None else ""


def _unit(model: Any) -> str:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return "change of the prediction per unit of the feature"
    if isinstance(classes, list) or len(classes) > 2:
        return "change of the log-odds per unit of the feature"
    return f"change of the log-odds of {to_python_value(classes[1])} per unit of the feature"
