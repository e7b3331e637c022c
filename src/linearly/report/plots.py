"""Pictures: the boundary of a classifier in two features, a perceptron's mistakes, the pocket's errors.

Every function draws on the axes it is given, or on new ones, and returns them. Classes differ in colour and in shape;
the colours are those of Okabe and Ito, which colour-blind readers tell apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linearly.models.base import column_names
from linearly.models.labels import checked_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442",
)  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
SHAPES = ("o", "^", "s", "D", "v", "P")
BLACK, GREY = "#000000", "#777777"
_GRID = 300  # points a side at which the model is asked for the picture of its regions
_MOST_POINTS = 5000  # drawn of each class: more would only hide each other


def plot_boundary(model: Any, X: Any, y: Any, ax: Axes | None = None) -> Axes:
    """The classes as regions of two features, the rows as points, and the rows on the wrong side ringed."""
    check_is_fitted(model)
    ax = _axes(ax)
    points, labels = _two_features(X), checked_labels(y)
    if len(points) != len(labels):
        raise ValueError(f"X has {len(points)} rows, y has {len(labels)} labels.")
    named = _named_like(model, X)
    wrong = model.predict(named(points)) != labels
    (left, right), (bottom, top) = (_padded(points[:, j]) for j in (0, 1))
    first, second = np.meshgrid(np.linspace(left, right, _GRID), np.linspace(bottom, top, _GRID))
    region = np.searchsorted(model.classes_, model.predict(named(np.column_stack([first.ravel(), second.ravel()]))))
    region = region.reshape(first.shape)
    K = len(model.classes_)
    ax.contourf(
        first, second, region, levels=np.arange(K + 1) - 0.5, colors=[COLOURS[k % 6] for k in range(K)], alpha=0.15
    )
    for k in range(K):
        if (region == k).any() and not (region == k).all():
            ax.contour(first, second, region == k, levels=[0.5], colors=[BLACK], linewidths=1.2)
    for k, name in enumerate(model.classes_.tolist()):
        mine = np.flatnonzero(labels == model.classes_[k])
        shown = mine[:: max(1, len(mine) // _MOST_POINTS)]
        look: dict[str, Any] = {
            "marker": SHAPES[k % 6],
            "color": COLOURS[k % 6],
            "edgecolors": "white",
            "linewidths": 0.4,
        }
        ax.scatter(points[shown, 0], points[shown, 1], s=28, label=str(name), zorder=3, **look)
    if wrong.any():
        ringed = np.flatnonzero(wrong)[:: max(1, np.count_nonzero(wrong) // _MOST_POINTS)]
        ax.scatter(
            points[ringed, 0],
            points[ringed, 1],
            s=90,
            facecolors="none",
            edgecolors=VERMILION,
            linewidths=1.4,
            label="wrong side",
            zorder=4,
        )
    ax.set(xlim=(left, right), ylim=(bottom, top))
    _label_axes(ax, *column_names(model)[:2])
    ax.legend(loc="best", framealpha=0.9)
    n = int(np.count_nonzero(wrong))
    ax.set_title(f"{_name(model)}: {_rows(n, len(labels))} on the wrong side")
    return ax


def plot_mistakes(model: Any, ax: Axes | None = None) -> Axes:
    """The mistakes of each pass of a perceptron, and whether they came to an end."""
    check_is_fitted(model)
    ax = _axes(ax)
    made = np.asarray(model.mistakes_per_pass_)
    passes = np.arange(1, len(made) + 1)
    ax.plot(passes, made, color=BLUE, marker="o" if len(made) <= 60 else "", markersize=5, linewidth=1.6)
    ended = made[-1] == 0
    ax.plot(passes[-1:], made[-1:], marker="o", markersize=9, color=GREEN if ended else VERMILION, clip_on=False)
    ax.set_ylim(0, max(1.0, 1.12 * float(made.max())))
    ax.set_xlim(0.5, max(len(made), 2) + 0.5)
    _whole_ticks(ax)
    _label_axes(ax, "pass over the rows", "mistakes in the pass")
    how = f"no mistakes left after {_count(len(made), 'pass', 'passes')}"
    if not ended:
        how = f"{_count(int(made[-1]), 'mistake')} in the last of {_count(len(made), 'pass', 'passes')}"
    ax.set_title(f"{_name(model)}: {how}")
    return ax


def plot_pocket(model: Any, ax: Axes | None = None) -> Axes:
    """The errors of a `PocketPerceptron` after each update, and the fewest so far, which it keeps."""
    check_is_fitted(model)
    if not hasattr(model, "error_path_"):
        raise ValueError(f"{type(model).__name__} has no pocket: plot_pocket is for PocketPerceptron.")
    ax = _axes(ax)
    path = np.asarray(model.error_path_)
    pocket = np.minimum.accumulate(path)
    updates = np.arange(len(path))
    ax.plot(updates, path, color=GREY, linewidth=0.8, alpha=0.8, label="weights after each update")
    ax.step(updates, pocket, where="post", color=BLUE, linewidth=2.0, label="in the pocket")
    best = int(model.best_update_)
    ax.plot([best], [path[best]], marker="o", markersize=8, color=VERMILION, linestyle="", label=f"kept: update {best}")
    ax.set_ylim(0, max(1.0, 1.35 * float(path.max())))  # room for the legend
    ax.set_xlim(0, max(len(path) - 1, 1))
    _whole_ticks(ax)
    _label_axes(ax, "updates", "errors on all rows")
    ax.legend(loc="upper right", framealpha=0.9)
    ax.set_title(f"{_name(model)}: {_count(int(pocket[-1]), 'error')} in the pocket, first after update {best}")
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'linearly[cli]'") from error
    _, new = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    return new


def _two_features(X: Any) -> NDArray[np.float64]:
    points = np.asarray(X.toarray() if hasattr(type(X), "tocsr") else X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"A boundary is drawn in two features; X has the shape {points.shape}.")
    return points


def _named_like(model: Any, X: Any) -> Any:
    """Numbers as the model wants them: a data frame of the same kind and names, so that swapped columns are refused."""
    if not hasattr(model, "feature_names_in_") or not hasattr(X, "columns"):
        return lambda points: points
    kind, names = type(X), list(X.columns)
    return lambda points: kind({name: points[:, j] for j, name in enumerate(names)})


def _padded(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    pad = 0.06 * (high - low) or 0.5
    return low - pad, high + pad


def _whole_ticks(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def _label_axes(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)


def _name(model: Any) -> str:
    return str(type(model).__name__)


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n or 'no'} {one if n == 1 else many or one + 's'}"


def _rows(n: int, total: int) -> str:
    return f"{n or 'none'} of {total} rows"
