"""Plots of a regression against its columns: the rows, the fitted line and its band.

With one column these are the rows themselves. With several, the others stay at typical values and points are partial
residuals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.dataset.rows.block import as_rows
from linearly.findings.column_effects import column_effects
from linearly.formatting import join_names, shorten_names, shown, visible
from linearly.inference.fitted_terms import check_single_target
from linearly.inference.unwrap import rows_of, unwrap_estimator
from linearly.inference.wald_tests import check_level
from linearly.models.base import check_fitted
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.plots import outliers, style
from linearly.plots.style import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.4, 4.1)
_SPREAD = 0.26  # to which points of a level are spread sideways


def plot_effect(
    model: Any, X: Any, y: Any = None, column: str | None = None, ax: Axes | None = None, level: float = 0.95
) -> Axes:
    """Plot the prediction of a regression against one of its columns, with a confidence band and the rows.

    The other columns are held at their means, and categories at their most frequent level. Points are partial
    residuals: the prediction at the row's own value of the column, plus its residual. With one column, they are the
    rows themselves, and the plot also has a band for new rows. If the effect depends on a category, each level has its
    own line.

    Parameters
    ----------
    model : estimator or Model
        Fitted least-squares model of one target.
    X : array-like of shape (n_rows, n_features), or data
        Fitted rows; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Target of the rows; not for a `Model`.
    column : str, optional
        Column of the data. By default, the one that changes the prediction most.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    level : float, default=0.95
        Confidence level of the bands.

    Returns
    -------
    matplotlib Axes
        The axes; their title reports how the prediction changes.

    Raises
    ------
    ValueError
        If the column is unknown or does not vary.
    TypeError
        If the model is not a least-squares model.

    See Also
    --------
    plot_coefficients : All coefficients with their intervals.
    marginal_effects : Average effects over rows, with standard errors.

    References
    ----------
    .. [1] Larsen, McCleary (1972), The Use of Partial Residual Plots in Regression Analysis.
    """
    estimator = unwrap_estimator(model)
    check_fitted(estimator)
    if not isinstance(estimator, LeastSquaresBase):
        raise TypeError(
            f"plot_effect supports only linear and ridge regression, not {type(estimator).__name__}. Use "
            "plot_coefficients."
        )
    check_single_target(estimator, "plot_effect")
    check_level(level)
    rows = as_rows(X, y) if estimator is model else rows_of(model, X)
    names = list(map(str, rows.names if estimator is model else model.design.features))
    if column is not None and column not in names:
        raise ValueError(f"Column {shown(column)} is not in the model. Choose one of {join_names(names)}.")
    found = column_effects(model, rows, level, None if column is None else [column])
    if not found:
        raise ValueError("No column of the model varies in these rows. Pass the rows of the fit.")
    return draw_effect(ax, found[0], getattr(model, "target", "y"))


def draw_effect(ax: Axes | None, effect: dict[str, Any], target: str) -> Axes:
    """Draw an effect of `column_effects`."""
    ax = style.axes(ax, SIZE)
    lines, x = effect["lines"], np.array(effect["x"], dtype=float)
    alone = not effect["others"] and effect["partner"] is None
    if effect["points"] is not None:
        _draw_points(ax, effect, n_lines=len(lines))
    for k, line in enumerate(lines):
        colour = ORANGE if len(lines) == 1 else style.colour(k)
        fit, low, high = (np.array(line[name], dtype=float) for name in ("fit", "low", "high"))
        if effect["levels"] is not None:
            at = x + _shift(k, len(lines))
            ax.vlines(at, low, high, color=colour, linewidth=2.5, zorder=3)
            ax.plot(at, fit, "D", markersize=7, color=colour, markeredgecolor="white", zorder=4, label=line["name"])
            continue
        new_low, new_high = (np.array(line.get(name, np.nan), dtype=float) for name in ("new_low", "new_high"))
        for bottom, top, shade in ((new_low, new_high, 0.1), (low, high, 0.25)):
            if np.isfinite(bottom).all() and np.isfinite(top).all():
                ax.fill_between(x, bottom, top, color=colour, alpha=shade, linewidth=0, zorder=1)
        ax.plot(x, fit, color=colour, linewidth=2, zorder=3, label=line["name"])
    if effect["points"] is not None:
        places, values = (np.array(effect["points"][name], dtype=float) for name in ("x", "y"))
        sides = "xy" if effect["levels"] is None else "y"
        outliers.clip(ax, places, values, effect["points"]["place"], sides=sides)
    if effect["levels"] is not None:
        names = shorten_names(effect["levels"], 14)
        turned: Any = {"rotation": 30, "ha": "right"} if sum(map(len, names)) > 40 else {}
        ax.set_xticks(range(len(names)), names, **turned)
        ax.set_xlim(-0.6, len(names) - 0.4)
    if len(lines) > 1:
        style.legend(ax, title=visible(str(effect["partner"])), title_fontsize=style.SMALL)
    return style.frame(ax, _message(effect, target), effect["column"], target if alone else f"{target}, others fixed")


def _shift(k: int, n: int) -> float:
    return 0.0 if n == 1 else (k - (n - 1) / 2) * 0.6 / n


def _draw_points(ax: Axes, effect: dict[str, Any], n_lines: int) -> None:
    points = effect["points"]
    x, y, line = (np.array(points[name], dtype=float) for name in ("x", "y", "line"))
    names, alpha = np.array(points["place"], dtype=object), 0.45
    if effect["levels"] is not None:
        # The fractional parts of multiples of the golden ratio spread any number of points evenly.
        x = x + _SPREAD / n_lines * (2 * (np.arange(len(x)) * 0.6180339887 % 1) - 1)
    for k in range(n_lines):
        own = line == k
        if own.any():
            shift = _shift(k, n_lines) if effect["levels"] is not None else 0.0
            colour = BLUE if n_lines == 1 else style.colour(k)
            style.dots(ax, x[own] + shift, y[own], color=colour, alpha=alpha, size=4, names=names[own].tolist())


def _message(effect: dict[str, Any], target: str) -> str:
    """Return how the prediction changes with the column."""
    column, lines = effect["column"], effect["lines"]
    if effect["partner"] is not None:
        return f"The effect of {column} on {target} depends on {effect['partner']}"
    fit = np.array(lines[0]["fit"], dtype=float)
    if effect["levels"] is not None:
        order = np.argsort(fit, kind="stable")
        most, least = effect["levels"][order[-1]], effect["levels"][order[0]]
        return f"{target} is {style.number(float(fit.max() - fit.min()))} higher for {most} than for {least}"
    x = np.array(effect["x"], dtype=float)
    slopes = np.diff(fit) / np.diff(x)
    if np.ptp(slopes) <= 1e-6 * np.abs(slopes).max():
        way = "higher" if slopes[0] > 0 else "lower"
        return f"{target} is {style.number(abs(float(slopes[0])))} {way} per unit of {column}"
    return f"{target} follows a curve in {column}"
