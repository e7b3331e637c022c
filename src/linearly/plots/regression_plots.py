"""Plots of residuals: against fitted values, normal quantiles and leverage.

Every function draws on the axes it is given, or on new ones, and returns them. The rows, and
`sample_weight` if there was one, must be those of the fit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from linearly.inference.augment import augment
from linearly.inference.normality import evenly_spaced, normality_verdict
from linearly.inference.residual_patterns import curvature_test
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.double_double import Array
from linearly.plots import outliers, style
from linearly.plots.style import BLACK, BLUE, GREY, ORANGE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.4, 4.1)
STRONG = 0.5  # Cook's distance from which on a row changes the fit
_MAX_DRAWN = 5000
_MIN_T = 3.0  # standard errors from which on a trend is called one
_LEVEL = 0.05  # of the tests in titles
_MIN_TESTED = 12  # rows
_MIN_BEYOND = 0.5  # standard deviations by which an end of heavy tails is off the line
_N_NUMBERED = 3  # rows that get their number
_MEET = 0.2  # of the height: contours of Cook's distance that end lower have no room for their names there


def plot_residuals(model: Any, X: Any, y: Any = None, ax: Axes | None = None, sample_weight: Any = None) -> Axes:
    """Plot residuals against fitted values.

    A curve is evidence against a linear effect.

    Parameters
    ----------
    model : estimator or Model
        Fitted least-squares model of one target.
    X : array-like of shape (n_rows, n_features), or data
        Rows of the fit; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Target of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    sample_weight : array-like of shape (n_rows,), optional
        Weights used in the fit, if any.

    Returns
    -------
    matplotlib Axes
        The axes. The title reports whether the residuals follow a curve.
    """
    rows = augment(model, X, y, sample_weight)
    return draw_residuals(ax, rows["fitted"], rows["residual"], np.arange(len(rows)))


def plot_qq(model: Any, X: Any, y: Any = None, ax: Axes | None = None, sample_weight: Any = None) -> Axes:
    """Plot standardised residuals against normal quantiles.

    Points off the line are evidence against normality.

    Parameters
    ----------
    model : estimator or Model
        Fitted least-squares model of one target.
    X : array-like of shape (n_rows, n_features), or data
        Rows of the fit; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Target of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    sample_weight : array-like of shape (n_rows,), optional
        Weights used in the fit, if any.

    Returns
    -------
    matplotlib Axes
        The axes. The title reports how the residuals differ from normal residuals.
    """
    standardized = augment(model, X, y, sample_weight)["standardized_residual"]
    return draw_qq(ax, standardized, np.arange(len(standardized)))


def plot_scale_location(model: Any, X: Any, y: Any = None, ax: Axes | None = None, sample_weight: Any = None) -> Axes:
    """Plot the size of residuals against fitted values.

    A line that rises or falls is evidence of unequal variance.

    Parameters
    ----------
    model : estimator or Model
        Fitted least-squares model of one target.
    X : array-like of shape (n_rows, n_features), or data
        Rows of the fit; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Target of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    sample_weight : array-like of shape (n_rows,), optional
        Weights used in the fit, if any.

    Returns
    -------
    matplotlib Axes
        The axes; their title reports whether the spread changes.
    """
    rows = augment(model, X, y, sample_weight)
    return draw_scale_location(ax, rows["fitted"], rows["standardized_residual"], names=np.arange(len(rows)))


def plot_leverage(model: Any, X: Any, y: Any = None, ax: Axes | None = None, sample_weight: Any = None) -> Axes:
    """Plot standardised residuals against leverage, with contours of Cook's distance.

    A row beyond the contours changes the fit on its own.

    Parameters
    ----------
    model : estimator or Model
        Fitted least-squares model of one target.
    X : array-like of shape (n_rows, n_features), or data
        Rows of the fit; for a `Model`, data with the target.
    y : array-like of shape (n_rows,), optional
        Target of the rows; not for a `Model`.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    sample_weight : array-like of shape (n_rows,), optional
        Weights used in the fit, if any.

    Returns
    -------
    matplotlib Axes
        The axes. The title reports how many rows change the fit.
    """
    rows = augment(model, X, y, sample_weight)
    solution = unwrap_estimator(model).solution_
    leverage, standardized, cooks = (rows[name] for name in ("leverage", "standardized_residual", "cooks_distance"))
    k = int(solution.rank) + int(solution.has_intercept)
    return draw_leverage(ax, leverage, standardized, cooks, np.arange(len(rows)), k)


def draw_residuals(
    ax: Axes | None, fitted: Array, residual: Array, names: Any = None, curved: bool | None = None
) -> Axes:
    """Draw residuals against fitted values; `curved` is the verdict of a test of all columns, if there was one."""
    ax = style.axes(ax, SIZE)
    ax.axhline(0, color=GREY, linewidth=1, linestyle=":")
    _draw_dots(ax, fitted, residual, names)
    _draw_trend(ax, fitted, residual)
    outliers.clip(ax, fitted, residual, names)
    message = "Residuals against fitted values"
    if curved is None and len(fitted) >= _MIN_TESTED and np.ptp(fitted) > 0 and np.ptp(residual) > 0:
        line = np.column_stack([np.ones(len(fitted)), fitted])
        p = curvature_test(residual, line, fitted[:, None], np.ones(len(fitted)), np.arange(len(fitted))).p_value
        curved = bool(p <= _LEVEL)
    if curved is not None:
        message = "The residuals follow a curve" if curved else "No evidence of a curve along the fitted values"
    return style.frame(ax, message, "fitted value", "residual")


def draw_qq(ax: Axes | None, standardized: Array, names: Any = None) -> Axes:
    """Draw quantiles of the residuals against normal quantiles."""
    ax = style.axes(ax, SIZE)
    order = np.argsort(standardized, kind="stable")[: int(np.isfinite(standardized).sum())]
    values = standardized[order]
    names = None if names is None else np.asarray(names)[order]
    n = len(values)
    expected = ndtri((np.arange(1, n + 1) - 0.5) / max(n, 1))
    reach = 1.08 * max(float(np.abs(expected).max(initial=1.0)), 1.0)
    ax.plot([-reach, reach], [-reach, reach], color=GREY, linewidth=1, linestyle=":")
    _draw_dots(ax, expected, values, names)
    outliers.clip(ax, expected, values, names, sides="y")
    verdict = normality_verdict(values[evenly_spaced(n)]) if n and np.ptp(values) > 0 else None
    p = np.nan if verdict is None else verdict.p_value
    message = "Residuals against normal quantiles"
    if p >= 0.05:
        message = "Close to the line: no evidence against normal residuals"
    elif np.isfinite(p):
        message = f"Off the line: the residuals {_shape_of(values, expected)}"
    return style.frame(ax, message, "normal quantile", "standardised residual")


def _shape_of(values: Array, expected: Array) -> str:
    """Return how sorted residuals that are not normal differ from normal quantiles."""
    skew = float((values**3).mean() / (values**2).mean() ** 1.5)
    tails = float((values**4).mean() / (values**2).mean() ** 2)
    # A few outliers make any skewness: residuals lean only if one end falls short of the line.
    if min(expected[0] - values[0], values[-1] - expected[-1]) > _MIN_BEYOND:
        return "have heavy tails"
    return "are skewed" if abs(skew) > 0.7 else "have heavy tails" if tails > 3.5 else "are not normal"


def draw_scale_location(
    ax: Axes | None, fitted: Array, standardized: Array, test: tuple[str, float] | None = None, names: Any = None
) -> Axes:
    """Draw the root of the size of residuals; `test` is the name and the p-value of a test of equal variance."""
    ax = style.axes(ax, SIZE)
    known = np.isfinite(standardized)
    fitted, size = fitted[known], np.sqrt(np.abs(standardized[known]))
    names = None if names is None else np.asarray(names)[known]
    _draw_dots(ax, fitted, size, names)
    _draw_trend(ax, fitted, size)
    t = _slope_t(fitted, size)
    message = "No clear change of the spread"
    if not np.isfinite(t):
        message = "Size of residuals against fitted values"
    elif abs(t) > _MIN_T:
        message = f"The spread {'grows' if t > 0 else 'falls'} with the fitted value"
        if test is not None and test[1] >= 0.05:
            message = f"The spread seems to {'grow' if t > 0 else 'fall'}, but {test[0]} finds no change"
    ax.set_ylim(bottom=0)
    if outliers.clip(ax, fitted, size, names):
        ax.set_ylim(bottom=0)
    return style.frame(ax, message, "fitted value", "√|standardised residual|")


def draw_leverage(
    ax: Axes | None, leverage: Array, standardized: Array, cooks: Array, number: NDArray[Any], k: int
) -> Axes:
    """Draw residuals against leverage, contours of Cook's distance for k coefficients, and the worst rows' numbers."""
    ax = style.axes(ax, SIZE)
    known = np.isfinite(standardized) & np.isfinite(leverage)
    leverage, standardized, cooks, number = leverage[known], standardized[known], cooks[known], number[known]
    ax.axhline(0, color=GREY, linewidth=1, linestyle=":")
    _draw_dots(ax, leverage, standardized, number)
    right, top = _reach(leverage, standardized)
    for distance, along, edge in cook_lines(leverage, standardized, k):
        for sign in (1, -1):
            ax.plot(along, sign * edge, color=VERMILION, linewidth=1, linestyle="--" if distance < 1 else "-")
        # Named where they leave the plot; those that meet at a leverage of 1, where they enter it.
        enters = edge[-1] < _MEET * top
        x, y = (along[np.argmax(edge < top)], top) if enters else (along[-1], min(edge[-1], top))
        aligned = "top" if enters else "center"
        ax.text(x, y, f" {distance:g}", color=BLACK, fontsize=style.SMALL, va=aligned, clip_on=False)
    inside = (leverage <= right) & (np.abs(standardized) <= top)
    worst = [i for i in np.argsort(-cooks, kind="stable")[:_N_NUMBERED].tolist() if inside[i]]
    places = {i: (float(leverage[i] / right), float((standardized[i] / top + 1) / 2)) for i in worst}
    taken = [(x - 0.013, y - 0.015, x + 0.013, y + 0.015) for x, y in places.values()]  # by the rings themselves
    for i, place in places.items():
        point, name = (leverage[i], standardized[i]), re.sub(r"^(?:row|line) (?=\d+$)", "", str(number[i]))
        colour = VERMILION if cooks[i] > STRONG else BLUE
        ax.plot(*point, marker="o", markersize=7, linestyle="", markerfacecolor="none", color=colour)
        offset = _free_offset(place, name, taken)
        ax.annotate(
            name, point, xytext=offset, textcoords="offset points", fontsize=style.SMALL, color=BLACK,
            ha="left" if offset[0] > 0 else "right",
        )  # fmt: skip
    ax.set(xlim=(0, right), ylim=(-top, top))
    outliers.mark_outside(ax, leverage, standardized, number)
    n_strong = int((cooks > STRONG).sum())
    message = "No row has a large influence"
    if n_strong:
        largest = f"Cook's distance up to {style.number(float(np.nanmax(cooks)))}"
        message = f"{style.count(n_strong, 'row has', 'rows have')} a large influence ({largest})"
    return style.frame(ax, message, "leverage", "standardised residual")


def cook_lines(leverage: Array, standardized: Array, k: int) -> list[tuple[float, Array, Array]]:
    """Return the Cook's distances whose contours cross the plot, each with its contour."""
    right, top = _reach(leverage, standardized)
    along = np.linspace(right / 200, min(right, 0.999), 200)
    # D = r² h / (k (1 − h)), solved for r.
    edges = [(distance, np.sqrt(distance * k * (1 - along) / along)) for distance in (STRONG, 1.0)]
    return [(distance, along, edge) for distance, edge in edges if edge.min() < top]


def _reach(leverage: Array, standardized: Array) -> tuple[float, float]:
    """Return the limits of the axes of leverage and of residuals."""
    known = np.isfinite(standardized) & np.isfinite(leverage)
    across, up = outliers.limits(leverage[known]), outliers.limits(standardized[known])
    most = float(leverage[known].max(initial=0.02)) if across is None else across[1]
    size = float(np.abs(standardized[known]).max(initial=2.0)) if up is None else max(map(abs, up))
    return 1.12 * most, 1.25 * size


def _free_offset(at: tuple[float, float], text: str, taken: list[tuple[float, float, float, float]]) -> tuple[int, int]:
    """Return an offset in points at which a number covers no other; `at` is in shares of the axes."""
    point = 0.0038  # of the height; widths are those of letters of 8.5 points
    wide, high = 0.018 * len(text), 11 * point
    for right, up in ((6, 4), (6, -12), (-6, 4), (-6, -12), (6, 18), (6, -26), (-6, 18), (-6, -26)):
        x = at[0] + 0.017 if right > 0 else at[0] - 0.017 - wide
        y = at[1] + (up - 2) * point
        box = (x, y, x + wide, y + high)
        inside = x >= 0 and box[2] <= 1.04 and y >= 0 and box[3] <= 1
        if inside and all(box[2] < a or c < x or box[3] < b or d < y for a, b, c, d in taken):
            taken.append(box)
            return right, up
    return 6, 4


def _draw_dots(ax: Axes, x: Array, y: Array, names: Any = None) -> None:
    step = -(-len(x) // _MAX_DRAWN) or 1
    style.dots(ax, x[::step], y[::step], names=None if names is None else names[::step])


def _draw_trend(ax: Axes, x: Array, y: Array) -> None:
    """Draw means of neighbouring rows if there are enough of them for a line."""
    if len(x) < 20:
        return
    order = np.argsort(x, kind="stable")
    groups = np.array_split(order, int(np.clip(len(x) // 12, 4, 14)))
    ax.plot([x[g].mean() for g in groups], [y[g].mean() for g in groups], color=ORANGE, linewidth=2)


def _slope_t(x: Array, y: Array) -> float:
    """Return the t statistic of the slope of y on x; NaN if it is not determined."""
    spread = float(x.std()) if len(x) else 0.0
    if len(x) < 8 or spread == 0:
        return float("nan")
    Q, R = np.linalg.qr(((x - x.mean()) / spread)[:, None] ** np.arange(2))
    c = Q.T @ y
    rss = float(((y - Q @ c) ** 2).sum())
    if abs(R[-1, -1]) < 1e-9 * len(y) ** 0.5 or rss <= 0:
        return float("nan")
    # R is triangular: the last coefficient is c / r, its standard error σ / |r|.
    return float(c[-1] / R[-1, -1] / (np.sqrt(rss / (len(y) - 2)) / abs(R[-1, -1])))
