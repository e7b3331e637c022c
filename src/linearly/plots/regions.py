"""Two features as a plane: the rows as points, and the predictions of a classifier around them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.design import DesignRows
from linearly.dataset.design.terms import Category, Numeric, Term
from linearly.dataset.rows.block import ROW, as_frame, names_of
from linearly.dataset.sources import read_as
from linearly.evaluation.targets import codes
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense
from linearly.models.base import check_fitted, column_names
from linearly.models.label_encoding import checked_labels
from linearly.plots import style
from linearly.plots.style import BLACK, VERMILION
from linearly.table import to_python_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = 300  # points per side at which the model predicts
_MAX_POINTS = 5000  # drawn per class: more would only hide each other


class Plane(NamedTuple):
    """Rows of two features with their actual and predicted classes, and the part of the plane that is drawn."""

    model: Any
    points: Array
    actual: NDArray[np.intp]
    predicted: NDArray[np.intp]
    labels: list[Any]
    names: tuple[str, ...]
    data: Any  # features as they were given: a table, if the model was fitted to one
    extent: Array  # points that the picture shows
    title: str  # the name of the model
    known_region: NDArray[np.intp] | None = None  # the class at each point of a grid, if it was predicted before
    margins: Array | None = None  # K × grid: by how much the score of a class exceeds the best of the others

    @staticmethod
    def of(model: Any, X: Any, y: Any, names: Any = None) -> Plane:
        """Return the plane of a fitted classifier and its rows; raise for anything that does not fit in a plane.

        For a `Model`, X is data with the target in it, and the plane is that of two columns as they are in the data.
        """
        if unwrap_estimator(model) is not model:
            points, actual, labels = _model_points(model, X, y)
            names, title = model.design.features if names is None else names, type(model.estimator).__name__
        else:
            points, actual, labels = _estimator_points(model, X, y)
            names, title = (names_of(X) or column_names(model)) if names is None else names, type(model).__name__
        if len(names) != 2:
            raise ValueError(f"names has {len(names)} entries. Pass two, one per feature.")
        plane = Plane(model, points, actual, actual, labels, tuple(map(str, names)), X, points, title)
        return plane._replace(predicted=plane.predict_codes(*points.T))

    @property
    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Limits of both axes, a little wider than `extent`."""
        low, high = self.extent.min(axis=0), self.extent.max(axis=0)
        pad = np.where(high > low, 0.06 * (high - low), 0.5)
        (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
        return (left, right), (bottom, top)

    def grid(self, side: int | None = None) -> tuple[Array, Array]:
        """Return points all over the picture, `side` of them per side."""
        side = side or (_GRID if self.known_region is None else len(self.known_region))
        first, second = np.meshgrid(*(np.linspace(low, high, side) for low, high in self.limits))
        return first, second

    def to_input(self, first: Array, second: Array) -> Any:
        """Return two columns in the form that the model accepts: a table if it was fitted to one."""
        if unwrap_estimator(self.model) is not self.model:
            return dict(zip(self.model.design.features, (first.ravel(), second.ravel()), strict=True))
        columns = np.column_stack([first.ravel(), second.ravel()])
        names = names_of(self.data)
        if not hasattr(self.model, "feature_names_in_") or names is None:
            return columns
        backend = as_frame(self.data).implementation
        return nw.from_dict({name: columns[:, j] for j, name in enumerate(names)}, backend=backend).to_native()

    def predict_codes(self, first: Array, second: Array) -> NDArray[np.intp]:
        """Return the index of the predicted class at each point."""
        predicted = np.asarray(self.model.predict(self.to_input(first, second)))
        return codes(predicted, self.labels, "The prediction", ROW).reshape(first.shape)

    def class_margins(self, first: Array, second: Array) -> Array | None:
        """Return by how much each class leads at each point: its zeros are boundaries without the steps of a grid."""
        if not hasattr(self.model, "decision_function"):
            return None
        scores = np.asarray(self.model.decision_function(self.to_input(first, second)))
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        if scores.shape[1] != len(self.labels):
            return None
        best = np.argsort(scores, axis=1)[:, -2:]
        rival = np.take_along_axis(scores, best[:, :1], axis=1)
        top = np.take_along_axis(scores, best[:, 1:], axis=1)
        margins = scores - np.where(np.arange(scores.shape[1]) == best[:, 1:], rival, top)
        predicted = self.predict_codes(first, second).ravel()
        tied = np.abs(top - rival)[:, 0] <= 1e-9 * np.abs(scores).max()
        return margins.T.reshape(-1, *first.shape) if ((best[:, 1] == predicted) | tied).all() else None

    def wrong_side(self) -> str:
        """Return how many rows are on the wrong side, in words."""
        return f"{of_rows(int((self.predicted != self.actual).sum()), len(self.actual))} on the wrong side"

    def frame(self, ax: Axes, message: str) -> Axes:
        """Set limits, legend, names and title."""
        x_limits, y_limits = self.limits
        ax.set(xlim=x_limits, ylim=y_limits)
        style.legend(ax)
        return style.frame(ax, message, *self.names)


def _estimator_points(model: Any, X: Any, y: Any) -> tuple[Array, NDArray[np.intp], list[Any]]:
    """Return the points, the indices of their classes, and the labels of an estimator of two features."""
    check_fitted(model)
    points = np.asarray(dense(X), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        shape = f"{points.shape[1]} features" if points.ndim == 2 else f"the shape {points.shape}"
        raise ValueError(f"The plot needs two features, but X has {shape}. Fit the model on two columns.")
    if model.n_features_in_ != 2:
        raise ValueError(
            f"The plot needs two features, but the model was fitted on {model.n_features_in_}. Fit it on two."
        )
    classes = getattr(model, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise TypeError("The plot needs a classifier with one label per row. Fit another model.")
    labels = [to_python_value(label) for label in classes]
    truth = checked_labels(y)
    if len(points) != len(truth):
        raise ValueError(f"X has {len(points)} rows, but y has {len(truth)} labels. Pass one label per row.")
    return points, codes(truth, labels, "y", ROW), labels


def _model_points(model: Any, data: Any, y: Any) -> tuple[Array, NDArray[np.intp], list[Any]]:
    """Return the same for a `Model`: the two columns that it reads, whatever its terms make of them."""
    if not model.classes:
        raise TypeError("The plot needs a classifier with one label per row. Fit another model.")
    columns = model.design.features
    if len(columns) != 2:
        raise ValueError(f"The plot needs two features, but the model uses {len(columns)}. Fit it on two columns.")
    if any(isinstance(factor, Category) for term in model.design.terms for factor in term.factors):
        raise ValueError(
            f"The plot needs two numeric columns, but {columns[0]!r} or {columns[1]!r} is not numeric. "
            "Fit two numeric columns."
        )
    design = replace(model.design, terms=tuple(Term((Numeric(name),)) for name in columns), weight=None)
    rows = DesignRows(read_as(data, design), design)
    unwrap_model(model, rows, y, None, "plot_regions")
    blocks = list(rows)
    points = np.concatenate([np.asarray(block.X, dtype=np.float64) for block in blocks])
    return points, np.concatenate([np.asarray(block.y, dtype=np.intp) for block in blocks]), list(model.classes)


def draw_classes(ax: Axes, plane: Plane) -> Axes:
    """Draw regions and rows, ring the rows on the wrong side, and put their number in the title."""
    draw_regions(ax, plane, alpha=0.16)
    draw_points(ax, plane)
    wrong = np.flatnonzero(plane.predicted != plane.actual)
    if len(wrong):
        x, y = plane.points[_thin(wrong)].T
        ax.scatter(
            x, y, s=85, facecolors="none", edgecolors=VERMILION, linewidths=1.3,
            label="wrong side", zorder=4,
        )  # fmt: skip
    return plane.frame(ax, f"{plane.title}: {plane.wrong_side()}")


def draw_regions(ax: Axes, plane: Plane, alpha: float) -> None:
    """Colour the region of each class and draw the boundaries."""
    grid = plane.grid()
    if plane.margins is not None:
        for k, margin in enumerate(plane.margins):
            if margin.max() > 0:
                ax.contourf(*grid, margin, levels=[0, np.inf], colors=[style.colour(k)], alpha=alpha)
            if margin.min() < 0 < margin.max():
                ax.contour(*grid, margin, levels=[0], colors=[BLACK], linewidths=1.2)
        return
    region = plane.predict_codes(*grid) if plane.known_region is None else plane.known_region
    K = len(plane.labels)
    ax.contourf(*grid, region, levels=np.arange(K + 1) - 0.5, colors=[style.colour(k) for k in range(K)], alpha=alpha)
    for k in range(K):
        if 0 < np.count_nonzero(region == k) < region.size:
            ax.contour(*grid, region == k, levels=[0.5], colors=[BLACK], linewidths=1.2)


def draw_points(ax: Axes, plane: Plane, size: float = 28, alpha: float = 1.0) -> None:
    """Draw the rows, a colour and a shape for each class."""
    for k, label in enumerate(plane.labels):
        x, y = plane.points[_thin(np.flatnonzero(plane.actual == k))].T
        ax.scatter(
            x, y, s=size, marker=style.shape(k),
            color=style.colour(k), edgecolors="white", linewidths=0.5, alpha=alpha, label=str(label), zorder=3,
        )  # fmt: skip


def _thin(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    return rows[:: -(-len(rows) // _MAX_POINTS) or 1]


def of_rows(n: int, total: int) -> str:
    """Return "3 of 10 rows", or "none of 10 rows"."""
    return f"{n or 'none'} of {style.count(total, 'row')}"
