"""Plots of classifiers of two features: the regions of the classes, their densities, probabilities.

Every function draws on the axes it is given, or on new ones, and returns them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.formatting import visible
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.double_double import Array
from linearly.plots import style
from linearly.plots.regions import Plane, draw_classes, draw_points, draw_regions, of_rows
from linearly.plots.style import BLACK, BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MASS = {0.5: "-", 0.95: "--"}  # share of a class inside an ellipse, and the ellipse's line
_SURE = 0.9


def plot_regions(model: Any, X: Any, y: Any = None, ax: Axes | None = None, names: Any = None) -> Axes:
    """Plot the region of each class in two features, the rows, and rings around rows on the wrong side.

    Parameters
    ----------
    model : estimator or Model
        Classifier fitted to two features, including scikit-learn's, or a `Model` with two columns.
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
        The axes. The title reports how many rows are on the wrong side.

    Raises
    ------
    ValueError
        If the model or X does not have two features.
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
    """Plot the class densities of LDA or QDA: means, ellipses that contain 50% and 95% of a class, and the boundary.

    The ellipses are from the model (``covariance_`` or ``covariances_``). Points that do not fill them show where the
    model does not fit the data.

    Parameters
    ----------
    model : estimator or Model
        Fitted discriminant analysis of two features, including scikit-learn's.
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

    Raises
    ------
    TypeError
        If the model has no means and covariances.
    """
    plane = Plane.of(model, X, y)
    if unwrap_estimator(model) is not model:
        if model.names != model.design.features:
            raise ValueError(
                f"The ellipses belong to terms such as {model.names[0]!r}, not to columns of the data. "
                "Fit two numeric columns."
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
        raise TypeError(f"{type(model).__name__} has no means_ and covariance_. Fit LDA or QDA.")
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
        The axes. The title reports for how many rows a probability is at least 90%.

    Raises
    ------
    TypeError
        If the model has no probabilities.
    ValueError
        If the model does not have two classes and two features.
    """
    name = type(unwrap_estimator(model)).__name__
    if not hasattr(unwrap_estimator(model), "predict_proba"):
        raise TypeError(f"{name} has no probabilities (predict_proba). Use plot_regions.")
    plane = Plane.of(model, X, y)
    if len(plane.labels) != 2:
        raise ValueError(
            f"plot_probability requires two classes, but the model has {len(plane.labels)}. Use plot_regions."
        )
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
    message = f"Probability at least {style.percent(_SURE, 0)} in {of_rows(int(sure.sum()), len(sure))}"
    if sure.any():
        right = float(np.mean(plane.actual[sure] == plane.predicted[sure]))
        message += f", correct in {style.percent(right)} of them"
    return plane.frame(ax, f"{plane.title}: {message}")
