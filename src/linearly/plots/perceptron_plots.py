"""Plots of perceptrons: the boundary in two features, the mistakes of each pass, the errors of the pocket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.inference.unwrap import unwrap_estimator
from linearly.models.base import check_fitted
from linearly.plots import style
from linearly.plots.classifier_plots import plot_regions
from linearly.plots.style import BLUE, GREEN, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_boundary(model: Any, X: Any, y: Any = None, ax: Axes | None = None) -> Axes:
    """Plot the regions of the classes in two features, the rows, and rings around rows on the wrong side.

    Parameters
    ----------
    model : estimator or Model
        Classifier fitted on two features.
    X : array-like of shape (n_rows, 2), or data
        Rows to draw; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Labels of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes. The title reports how many rows are on the wrong side.

    See Also
    --------
    plot_regions : The same for any classifier, with names for the features.
    """
    return plot_regions(model, X, y, ax)


def plot_mistakes(model: Any, ax: Axes | None = None) -> Axes:
    """Plot the number of mistakes in each pass of a perceptron.

    Parameters
    ----------
    model : estimator or Model
        Fitted perceptron.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes; their title reports whether the mistakes ended.

    Raises
    ------
    TypeError
        If the model is not a perceptron.
    """
    model = unwrap_estimator(model)
    check_fitted(model)
    if not hasattr(model, "mistakes_per_pass_"):
        raise TypeError(f"{type(model).__name__} does not count mistakes per pass. Fit a perceptron.")
    return draw_mistakes(style.axes(ax), type(model).__name__, model.mistakes_per_pass_)


def plot_pocket_errors(model: Any, ax: Axes | None = None) -> Axes:
    """Plot the errors of a `PocketPerceptron` after each update, and the fewest so far.

    Parameters
    ----------
    model : PocketPerceptron or Model
        Fitted pocket perceptron.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
        The axes. The title contains the number of errors of the weights in the pocket.

    Raises
    ------
    ValueError
        If the model has no pocket.
    """
    model = unwrap_estimator(model)
    check_fitted(model)
    if not hasattr(model, "error_history_"):
        raise ValueError(f"{type(model).__name__} has no pocket. Fit a PocketPerceptron.")
    errors = np.asarray(model.error_history_)
    return draw_pocket(style.axes(ax), type(model).__name__, np.arange(len(errors)), errors, int(model.best_update_))


def draw_mistakes(ax: Axes, name: str, mistakes: Sequence[int]) -> Axes:
    """Draw mistakes against passes."""
    made = np.asarray(mistakes)
    passes = np.arange(1, len(made) + 1)
    ax.plot(passes, made, color=BLUE, marker="o" if len(made) <= 60 else "", markersize=5, linewidth=1.6)
    ended = made[-1] == 0
    ax.plot(passes[-1:], made[-1:], marker="o", markersize=9, color=GREEN if ended else VERMILION, clip_on=False)
    ax.set(xlim=(0.5, max(len(made), 2) + 0.5), ylim=(0, max(1.0, 1.12 * float(made.max()))))
    style.integer_ticks(ax)
    n_passes = style.count(len(made), "pass", "passes")
    how = f"{style.count(int(made[-1]), 'mistake')} in the last of {n_passes}"
    if ended:
        how = f"no mistakes left after {n_passes}"
    return style.frame(ax, f"{name}: {how}", "pass over the rows", "mistakes in the pass")


def draw_pocket(ax: Axes, name: str, updates: Any, errors: Any, best: int) -> Axes:
    """Draw errors against updates, and their running minimum."""
    errors, updates = np.asarray(errors), np.asarray(updates)
    pocket = np.minimum.accumulate(errors)
    ax.plot(updates, errors, color=GREY, linewidth=0.8, alpha=0.8, label="weights after each update")
    ax.step(updates, pocket, where="post", color=BLUE, linewidth=2.0, label="in the pocket")
    kept = errors[np.searchsorted(updates, best)]
    ax.plot([best], [kept], marker="o", markersize=8, color=VERMILION, linestyle="", label=f"kept: update {best}")
    ax.set(xlim=(0, max(float(updates[-1]), 1.0)), ylim=(0, max(1.0, 1.08 * float(errors.max()))))
    style.integer_ticks(ax)
    style.legend(ax)
    message = f"{name}: {style.count(int(pocket[-1]), 'error')} in the pocket, first after update {best}"
    return style.frame(ax, message, "updates", "errors on all rows")
