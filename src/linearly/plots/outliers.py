"""Keep a few extreme rows from flattening a picture: cut the axes at the others and mark the rows at the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.kernels.double_double import Array
from linearly.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FENCE = 5.0  # interquartile ranges beyond the quartiles: a normal row is beyond with probability 1e-12
_MIN_GAIN = 2.0  # times that the rest must become larger
_MAX_SHARE = 0.02  # of the rows, or
_MAX_COUNT = 3
_MAX_NAMED = 3  # rows at the edges that get their names
_MARGIN = 0.06  # of an axis, beyond its outermost rows


def limits(values: Array) -> tuple[float, float] | None:
    """Return the range of the values without a few far outside; None if there are none.

    >>> limits(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1000.0]))
    (1.0, 5.0)
    """
    values = values[np.isfinite(values)]
    if len(values) < 5:
        return None
    low, high = np.quantile(values, [0.25, 0.75])
    reach = _FENCE * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    n_outside = len(values) - len(inside)
    if reach == 0 or not 0 < n_outside <= max(_MAX_COUNT, _MAX_SHARE * len(values)):
        return None
    if np.ptp(values) < _MIN_GAIN * np.ptp(inside):
        return None
    return float(inside.min()), float(inside.max())


def clip(ax: Axes, x: Array, y: Array, names: Any = None, *, sides: str = "xy") -> int:
    """Cut the axes at the other rows, mark those beyond at the edge, and return their number.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes on which the rows have been drawn.
    x, y : ndarray of shape (n_rows,)
        Where the rows are.
    names : sequence, optional
        Names of the rows; the farthest have theirs beside the mark.
    sides : {"xy", "x", "y"}
        Axes that may be cut.

    Returns
    -------
    int
        Number of rows beyond the edge.
    """
    outside = np.zeros(len(x), dtype=bool)
    shown: list[tuple[float, float] | None] = []
    for values, name in ((x, "x"), (y, "y")):
        found = limits(values) if name in sides else None
        if found is None:
            shown.append(None)
            continue
        low, high = found
        outside |= (values < low) | (values > high)
        margin = _MARGIN * (high - low)
        shown.append((low - margin, high + margin))
    if not outside.any():
        return 0
    if shown[0] is not None:
        ax.set_xlim(shown[0])
    if shown[1] is not None:
        ax.set_ylim(shown[1])
    return mark_outside(ax, x, y, names)


def mark_outside(ax: Axes, x: Array, y: Array, names: Any = None) -> int:
    """Mark the rows beyond the limits of the axes with arrowheads at the edge, and return their number."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    finite = np.isfinite(x) & np.isfinite(y)
    outside = np.flatnonzero(finite & ((x < left) | (x > right) | (y < bottom) | (y > top)))
    size = np.maximum(np.abs(x - (left + right) / 2) / (right - left), np.abs(y - (bottom + top) / 2) / (top - bottom))
    outside = outside[np.argsort(-size[outside], kind="stable")]
    for rank, i in enumerate(outside.tolist()):
        at = float(np.clip(x[i], left, right)), float(np.clip(y[i], bottom, top))
        marker = "^" if y[i] > top else "v" if y[i] < bottom else ">" if x[i] > right else "<"
        ax.plot(
            *at, linestyle="", marker=marker, markersize=7, color=style.VERMILION, clip_on=False, zorder=5,
        )  # fmt: skip
        if names is None or rank >= _MAX_NAMED:
            continue
        upper, later = at[1] > (bottom + top) / 2, at[0] > (left + right) / 2
        ax.annotate(
            style.row_name(names[i]) + (", off the scale" if rank == 0 else ""), at, textcoords="offset points",
            xytext=(-7 if later else 7, -4 if upper else 4), ha="right" if later else "left",
            va="top" if upper else "bottom", fontsize=style.SMALL, color=style.BLACK,
        )  # fmt: skip
    return len(outside)
