"""Plots of coefficients with their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import as_rows
from linearly.formatting import shorten_names
from linearly.inference.standard_deviations import category_columns, deviations_of, known_deviations
from linearly.inference.tidy import tidy
from linearly.inference.unwrap import features_of, unwrap_estimator
from linearly.models.base import column_names
from linearly.plots import style
from linearly.plots.style import GREY
from linearly.table import Table, to_python_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_coefficients(
    model: Any, ax: Axes | None = None, level: float = 0.95, *, intercept: bool = False, per: str | None = None,
    data: Any = None,
) -> Axes:  # fmt: skip
    """Plot coefficients with their intervals, per standard deviation of each column.

    Points whose intervals contain 0 are hollow. The numbers are those of the plot in a report: they are comparable
    between columns with different units. The coefficients in `tidy` are per unit. Several targets, or the logits of K ≥
    3 classes, share a row and differ in colour.

    Parameters
    ----------
    model : estimator or Model
        Fitted model with standard errors.
    ax : matplotlib Axes, optional
        Axes to draw on; new ones by default.
    level : float, default=0.95
        Confidence level of the intervals.
    intercept : bool, default=False
        If True, draw the intercept, too. Coefficients are then per unit, unless `per` is given.
    per : {"sd", "unit"}, optional
        Unit of the coefficients: one standard deviation or one unit of a column. Levels of a category are compared with
        the reference either way. The default is ``"sd"`` if the standard deviations are known: from `data`, or from the
        summary of a least-squares fit.
    data : data or array-like of shape (n_rows, n_features), optional
        Fitted rows, for their standard deviations. Models other than least squares require them for ``per="sd"``.

    Returns
    -------
    matplotlib Axes
        The axes; their title reports how many intervals exclude 0.

    Raises
    ------
    ValueError
        If ``per="sd"`` and the standard deviations are not known.

    See Also
    --------
    tidy : The coefficients per unit, as a table.
    plot_effect : The prediction against one column, with the rows.
    """
    if per not in (None, "sd", "unit"):
        raise ValueError(f"per must be 'sd' or 'unit', not {per!r}.")
    table, scaled = tidy(model, level=level), False
    if per == "sd" or (per is None and not intercept):
        deviations = _deviations(model, data)
        if deviations is None and per == "sd":
            raise ValueError("The model does not contain standard deviations of its columns. Pass the rows as data=.")
        scaled = deviations is not None
        table = table if deviations is None else scale_terms(table, deviations)
    estimator = unwrap_estimator(model)
    reference, classes = getattr(estimator, "reference_", None), getattr(estimator, "classes_", None)
    change = "the prediction"
    if classes is not None:
        two = not isinstance(classes, list) and len(classes) == 2
        change = f"the log-odds of {to_python_value(classes[1])}" if two else "the log-odds"
    return draw_coefficients(
        ax,
        table,
        level,
        f"change of {change} per {'standard deviation' if scaled else 'unit'} of the column",
        group_title="" if reference is None else f"against {to_python_value(reference)}",
        separated=getattr(estimator, "separation_", None) is not None,
        intercept=intercept,
    )


def _deviations(model: Any, data: Any) -> dict[str, float] | None:
    """Return the standard deviations of the columns but for categories; None if they are not known."""
    if data is None:
        found = known_deviations(model)
    else:
        is_model = unwrap_estimator(model) is not model
        found = deviations_of(features_of(model, data) if is_model else as_rows(data, None))
    levels, names = category_columns(model), map(str, column_names(unwrap_estimator(model)))
    return None if found is None else {n: float(s) for n, s in zip(names, found, strict=True) if n not in levels}


def scale_terms(table: Table, deviations: Mapping[str, float]) -> Table:
    """Return a table of terms for one standard deviation more of each column; terms without one stay per unit."""
    factor = np.array([deviations.get(str(term), 1.0) for term in table["term"]])
    columns = {name: table[name] for name in table.columns}
    return Table(columns | {name: table[name] * factor for name in ("estimate", "conf_low", "conf_high")})


def draw_coefficients(
    ax: Axes | None, table: Table, level: float, unit: str, *, group_title: str = "", separated: bool = False,
    intercept: bool = False, n_drawn: int | None = None,
) -> Axes:  # fmt: skip
    """Draw intervals from a table of terms; `unit` names the axis, `group_title` the legend of labels or targets.

    With `n_drawn` only the first terms are drawn; the title counts all.
    """
    group = next((name for name in ("label", "target") if name in table.columns), None)
    shown = np.ones(len(table), dtype=bool) if intercept else table["term"] != "Intercept"
    if not shown.any():
        raise ValueError("The model has no coefficients besides the intercept. Pass intercept=True to draw it.")
    n_known = int(np.isfinite(table["conf_low"][shown]).sum())
    clear = int(((table["conf_low"] > 0) | (table["conf_high"] < 0))[shown].sum()) or "None"
    terms = list(dict.fromkeys(table["term"][shown].tolist()))[:n_drawn]
    shown &= np.isin(table["term"], terms)
    series = list(dict.fromkeys(table[group][shown].tolist())) if group else [None]
    ax = style.axes(ax, (6.8, min(1.6 + (0.30 + 0.14 * (len(series) - 1)) * len(terms), 14.0)))
    ax.axvline(0, color=GREY, linewidth=1, linestyle=":")
    for k, name in enumerate(series):
        rows = np.flatnonzero(shown & (table[group] == name)) if group else np.flatnonzero(shown)
        _draw_series(ax, table, rows, terms, k, (k - (len(series) - 1) / 2) * 0.7 / len(series), name)
    ax.set_yticks(range(len(terms)), shorten_names(terms, 28))
    ax.set_ylim(len(terms) - 0.4, -0.6)
    if group:
        style.legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=group_title, title_fontsize=style.SMALL)
    else:
        _write_intervals(ax, table, np.flatnonzero(shown))
    ax.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)
    message = f"{clear} of {style.count(n_known, 'coefficient')} distinguishable from 0 ({100 * level:g}% intervals)"
    if n_known == 0:
        message = "No intervals: too few rows, collinear columns, or unknown covariance"
    if separated:
        message = "The classes are separable, so the coefficients are not estimates"
    style.frame(ax, message, unit)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    style.wrap_again(ax, message)
    return ax


def _draw_series(
    ax: Axes, table: Table, rows: NDArray[np.intp], terms: list[str], k: int, shift: float, name: Any
) -> None:
    """Draw the intervals of one target or label, hollow if they contain 0."""
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


def _write_intervals(ax: Axes, table: Table, rows: NDArray[np.intp]) -> None:
    """Write estimates and intervals as numbers beside the plot."""
    ink = ax.xaxis.label.get_color()
    for i, row in enumerate(rows.tolist()):
        values = [float(table[column][row]) for column in ("estimate", "conf_low", "conf_high")]
        value, low, high = map(style.number, values)
        said = f"{value}  ({low} to {high})" if np.isfinite(values[1:]).all() else f"{value}  (no interval)"
        ax.text(1.02, i, said, transform=ax.get_yaxis_transform(), va="center", fontsize=style.SMALL, color=ink)
