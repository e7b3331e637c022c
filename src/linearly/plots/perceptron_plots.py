"""Pictures of perceptrons: the boundary in two features, the mistakes of each pass, the errors in the pocket.

Every function draws on the axes it is given, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linearly.inference.unwrap import unwrap_estimator
from linearly.plots import style
from linearly.plots.classifier_plots import plot_regions
from linearly.plots.style import BLUE, GREEN, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_boundary(model: Any, X: Any, y: Any = None, ax: Axes | None = None) -> Axes:
    """The classes as regions of two features, the rows as points, and the rows on the wrong side ringed."""
    return plot_regions(model, X, y, ax)


def plot_mistakes(model: Any, ax: Axes | None = None) -> Axes:
    """The mistakes of each pass of a perceptron, and whether they came to an end."""
    model = unwrap_estimator(model)
    check_is_fitted(model)
    if not hasattr(model, "mistakes_per_pass_"):
        raise TypeError(f"{type(model).__name__} makes no passes of mistakes: plot_mistakes is for perceptrons.")
    return draw_mistakes(style.axes(ax), type(model).__name__, model.mistakes_per_pass_)


def plot_pocket_errors(model: Any, ax: Axes | None = None) -> Axes:
    """The errors of a `PocketPerceptron` after each update, and the fewest so far, which it keeps."""
    model = unwrap_estimator(model)
    check_is_fitted(model)
    if not hasattr(model, "error_history_"):
        raise ValueError(f"{type(model).__name__} has no pocket: plot_pocket_errors is for PocketPerceptron.")
    path = np.asarray(model.error_history_)
    return draw_pocket(style.axes(ax), type(model).__name__, np.arange(len(path)), path, int(model.best_update_))


def draw_mistakes(ax: Axes, name: str, mistakes: Sequence[int]) -> Axes:
    """Mistakes against passes."""
    made = np.asarray(mistakes)
    passes = np.arange(1, len(made) + 1)
    ax.plot(passes, made, color=BLUE, marker="o" if len(made) <= 60 else "", markersize=5, linewidth=1.6)
    ended = made[-1] == 0
    ax.plot(passes[-1:], made[-1:], marker="o", markersize=9, color=GREEN if ended else VERMILION, clip_on=False)
    ax.set_ylim(0, max(1.0, 1.12 * float(made.max())))
    ax.set_xlim(0.5, max(len(made), 2) + 0.5)
    _whole_ticks(ax)
    how = f"no mistakes left after {style.count(len(made), 'pass', 'passes')}"
    if not ended:
        how = f"{style.count(int(made[-1]), 'mistake')} in the last of {style.count(len(made), 'pass', 'passes')}"
    return style.frame(ax, f"{name}: {how}", "pass over the rows", "mistakes in the pass")


def draw_pocket(ax: Axes, name: str, updates: Any, path: Any, best: int) -> Axes:
    """Errors against updates, and the running minimum."""
    path, updates = np.asarray(path), np.asarray(updates)
    pocket = np.minimum.accumulate(path)
    ax.plot(updates, path, color=GREY, linewidth=0.8, alpha=0.8, label="weights after each update")
    ax.step(updates, pocket, where="post", color=BLUE, linewidth=2.0, label="in the pocket")
    kept = path[np.searchsorted(updates, best)]
    ax.plot([best], [kept], marker="o", markersize=8, color=VERMILION, linestyle="", label=f"kept: update {best}")
    ax.set_ylim(0, max(1.0, 1.35 * float(path.max())))  # room for the legend
    ax.set_xlim(0, max(float(updates[-1]), 1.0))
    _whole_ticks(ax)
    style.legend(ax, loc="upper right")
    message = f"{name}: {style.count(int(pocket[-1]), 'error')} in the pocket, first after update {best}"
    return style.frame(ax, message, "updates", "errors on all rows")


def _whole_ticks(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
