"""Two features as a plane: the rows as points, and what a classifier says everywhere around them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linearly.dataset.design.design import DesignRows
from linearly.dataset.design.terms import Category, Numeric, Term
from linearly.dataset.rows.block import ROW, as_frame, names_of
from linearly.dataset.sources import read_as
from linearly.evaluation.targets import codes
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.matrices import dense
from linearly.models.base import column_names
from linearly.models.label_encoding import checked_labels
from linearly.plots import style
from linearly.plots.style import BLACK, VERMILION
from linearly.table import to_python_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_GRID = 300  # points a side at which the model is asked
_MOST_POINTS = 5000  # drawn of each class: more would only hide each other


class Plane(NamedTuple):
    """Rows of two features, what is true of them and what a model says, and the piece of the plane they lie in."""

    model: Any
    points: Array
    actual: NDArray[np.intp]
    predicted: NDArray[np.intp]
    labels: list[Any]
    names: tuple[str, str]
    given: Any
    seen: Array  # points that the picture shows
    title: str  # the name of the model
    told: NDArray[np.intp] | None = None  # the class at each point of a grid, where it was asked for before
    lead: Array | None = None  # K × grid: by how much the score of a class exceeds the best of the others

    @staticmethod
    def of(model: Any, X: Any, y: Any, names: Any = None) -> Plane:
        """The plane of a fitted classifier and its rows; what does not fit in a plane is refused.

        Of a `Model`, X is data with the target in it, and the plane is that of two columns as they are in the data.
        """
        if unwrap_estimator(model) is not model:
            return _of_model(model, X, y, names)
        check_is_fitted(model)
        points = np.asarray(dense(X), dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            shape = f"{points.shape[1]} features" if points.ndim == 2 else f"the shape {points.shape}"
            raise ValueError(f"The picture has two features; X has {shape}. Fit the model on two of them to draw it.")
        if model.n_features_in_ != 2:
            raise ValueError(f"The picture has two features; the model was fitted on {model.n_features_in_}.")
        classes = getattr(model, "classes_", None)
        if classes is None or isinstance(classes, list):
            raise TypeError("The picture is for a classifier, one label a row.")
        labels = [to_python_value(label) for label in classes]
        truth = checked_labels(y)
        if len(points) != len(truth):
            raise ValueError(f"X has {len(points)} rows, y has {len(truth)} labels.")
        actual = codes(truth, labels, "y", ROW)
        if names is None:
            names = names_of(X) or column_names(model)
        names = tuple(map(str, names))
        if len(names) != 2:
            raise ValueError(f"names must be two, one for each feature, not {len(names)}.")
        plane = Plane(model, points, actual, actual, labels, names, X, points, type(model).__name__)
        return plane._replace(predicted=plane.predict_codes(*points.T))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """The rows that the model gets wrong."""
        return np.asarray(self.predicted != self.actual)

    @property
    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The piece of the plane that is shown, a little wider than what is to be seen."""
        low, high = self.seen.min(axis=0), self.seen.max(axis=0)
        pad = np.where(high > low, 0.06 * (high - low), 0.5)
        (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
        return (left, right), (bottom, top)

    @property
    def grid(self) -> tuple[Array, Array]:
        """Points all over it."""
        return self.grid_of(_GRID if self.told is None else len(self.told))

    def grid_of(self, side: int) -> tuple[Array, Array]:
        """So many points a side."""
        first, second = np.meshgrid(*(np.linspace(low, high, side) for low, high in self.limits))
        return first, second

    @property
    def region(self) -> NDArray[np.intp]:
        """The class at each point of the grid."""
        return self.predict_codes(*self.grid) if self.told is None else self.told

    def asked(self, first: Array, second: Array) -> Any:
        """Two columns as the model wants them: in a frame if it was fitted on one."""
        if unwrap_estimator(self.model) is not self.model:
            return dict(zip(self.model.design.features, (first.ravel(), second.ravel()), strict=True))
        columns = np.column_stack([first.ravel(), second.ravel()])
        names = names_of(self.given)
        if not hasattr(self.model, "feature_names_in_") or names is None:
            return columns
        backend = as_frame(self.given).implementation
        return nw.from_dict({name: columns[:, j] for j, name in enumerate(names)}, backend=backend).to_native()

    def predict_codes(self, first: Array, second: Array) -> NDArray[np.intp]:
        """The class that the model gives to each point."""
        said = np.asarray(self.model.predict(self.asked(first, second)))
        return codes(said, self.labels, "The prediction", ROW).reshape(first.shape)

    def class_margins(self, first: Array, second: Array) -> Array | None:
        """By how much each class leads all over the plane: its zeros are boundaries without the steps of a grid."""
        if not hasattr(self.model, "decision_function"):
            return None
        scores = np.asarray(self.model.decision_function(self.asked(first, second)))
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        if scores.shape[1] != len(self.labels):
            return None
        best = np.argsort(scores, axis=1)[:, -2:]
        rival = np.take_along_axis(scores, best[:, :1], axis=1)
        top = np.take_along_axis(scores, best[:, 1:], axis=1)
        lead = scores - np.where(np.arange(scores.shape[1]) == best[:, 1:], rival, top)
        told = self.predict_codes(first, second).ravel()
        near = np.abs(top - rival)[:, 0] <= 1e-9 * np.abs(scores).max()
        return lead.T.reshape(-1, *first.shape) if ((best[:, 1] == told) | near).all() else None

    def wrong_side(self) -> str:
        """How many rows are on the wrong side, in words."""
        return f"{of_rows(int(self.wrong.sum()), len(self.actual))} on the wrong side"

    def frame(self, ax: Axes, message: str) -> Axes:
        """Sets limits, legend, names and title."""
        (left, right), (bottom, top) = self.limits
        ax.set_xlim(left, right)
        ax.set_ylim(bottom, top)
        style.legend(ax)
        return style.frame(ax, message, *self.names)


def _of_model(model: Any, data: Any, y: Any, names: Any) -> Plane:
    """The plane of the two columns that a `Model` reads, whatever its terms make of them."""
    if not model.classes:
        raise TypeError("The picture is for a classifier, one label a row.")
    columns = model.design.features
    if len(columns) != 2:
        raise ValueError(
            f"The picture has two features; the model reads {len(columns)}. Fit it on two of them to draw it."
        )
    if any(isinstance(factor, Category) for term in model.design.terms for factor in term.factors):
        raise ValueError(
            f"The picture is of two columns of numbers, and one of {columns[0]!r} and {columns[1]!r} is not."
        )
    design = replace(model.design, terms=tuple(Term((Numeric(name),)) for name in columns), weight=None)
    rows = DesignRows(read_as(data, design), design)
    unwrap_model(model, rows, y, None, "plot_regions")
    blocks = list(rows)
    points = np.concatenate([np.asarray(block.X, dtype=np.float64) for block in blocks])
    actual = np.concatenate([np.asarray(block.y, dtype=np.intp) for block in blocks])
    told = tuple(map(str, columns if names is None else names))
    if len(told) != 2:
        raise ValueError(f"names must be two, one for each feature, not {len(told)}.")
    title = type(model.estimator).__name__
    plane = Plane(model, points, actual, actual, list(model.classes), (told[0], told[1]), data, points, title)
    return plane._replace(predicted=plane.predict_codes(*points.T))


def draw_regions(ax: Axes, plane: Plane, alpha: float) -> None:
    """Colours the region of each class and draws the boundaries."""
    first, second = plane.grid
    K = len(plane.labels)
    if plane.lead is not None:
        for k, lead in enumerate(plane.lead):
            if lead.max() > 0:
                ax.contourf(first, second, lead, levels=[0, np.inf], colors=[style.colour(k)], alpha=alpha)
            if lead.min() < 0 < lead.max():
                ax.contour(first, second, lead, levels=[0], colors=[BLACK], linewidths=1.2)
        return
    region = plane.region
    levels, colours = np.arange(K + 1) - 0.5, [style.colour(k) for k in range(K)]
    ax.contourf(first, second, region, levels=levels, colors=colours, alpha=alpha)
    for k in range(K):
        if 0 < np.count_nonzero(region == k) < region.size:
            ax.contour(first, second, region == k, levels=[0.5], colors=[BLACK], linewidths=1.2)


def draw_points(ax: Axes, plane: Plane, size: float = 28, alpha: float = 1.0) -> None:
    """Draws the rows, a colour and a shape for each class."""
    for k, label in enumerate(plane.labels):
        mine = np.flatnonzero(plane.actual == k)
        shown = plane.points[mine[:: -(-len(mine) // _MOST_POINTS) or 1]]
        ax.scatter(
            shown[:, 0], shown[:, 1], s=size, marker=style.shape(k), color=style.colour(k), edgecolors="white",
            linewidths=0.5, alpha=alpha, label=str(label), zorder=3,
        )  # fmt: skip


def draw_wrong(ax: Axes, plane: Plane) -> None:
    """Rings the rows on the wrong side."""
    wrong = np.flatnonzero(plane.wrong)
    if len(wrong):
        shown = plane.points[wrong[:: -(-len(wrong) // _MOST_POINTS)]]
        ax.scatter(
            shown[:, 0], shown[:, 1], s=85, facecolors="none", edgecolors=VERMILION, linewidths=1.3,
            label="wrong side", zorder=4,
        )  # fmt: skip


def of_rows(n: int, total: int) -> str:
    """3 of 10 rows, none of 10 rows."""
    return f"{n or 'none'} of {style.count(total, 'row')}"
