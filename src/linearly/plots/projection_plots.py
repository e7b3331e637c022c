"""Plots of the directions in which discriminant analysis separates classes, for models of many columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array
from linearly.plots import style
from linearly.plots.regions import of_rows
from linearly.plots.style import BLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_MAX_BINS = 30


def project(model: Any, X: Array) -> dict[str, Any] | None:
    """Return rows along the first two discriminant directions, or the only one, and the predictions there.

    Parameters
    ----------
    model : LinearDiscriminantAnalysis
        Fitted model.
    X : ndarray of shape (n_rows, n_features)
        Rows to project.

    Returns
    -------
    dict or None
        ``points`` of shape (n_rows, 1 or 2), the class ``means`` there, the ``constants`` of the linear scores, and the
        ``shares`` of the variance between classes. None if the classes have no direction.
    """
    points, means = np.asarray(model.transform(X)), np.asarray(model.transform(model.means_))
    if not points.shape[1]:
        return None
    # The covariance is I: class k scores z·m − |m|²/2 + log π. Directions that are not drawn stay at 0, their mean.
    constants = np.log(model.priors_) - (means**2).sum(axis=1) / 2
    shares = np.asarray(model.explained_variance_ratio_)[:2]
    return {"points": points[:, :2], "means": means[:, :2], "constants": constants, "shares": shares}


def score_margins(means: Array, constants: Array, first: Array, second: Array) -> Array:
    """Return by how much each class leads the best of the others at points of a plane: K × shape of the grid."""
    scores = np.tensordot(np.stack([first, second], axis=-1), means.T, axes=1) + constants
    best = np.sort(scores, axis=-1)
    rival = np.where(scores == best[..., -1:], best[..., -2:-1], best[..., -1:])
    return np.moveaxis(scores - rival, -1, 0)


def draw_scores(
    ax: Axes | None, scores: Array, actual: NDArray[np.intp], predicted: NDArray[np.intp], labels: Sequence[Any],
    threshold: float, title: str,
) -> Axes:  # fmt: skip
    """Draw how the rows of two classes lie along the one direction that separates them, and the threshold."""
    ax = style.axes(ax)
    edges = np.histogram_bin_edges(scores, bins=int(np.clip(len(scores) ** 0.5 * 1.5, 8, _MAX_BINS)))
    for k, label in enumerate(labels):
        ax.hist(scores[actual == k], bins=edges.tolist(), color=style.colour(k), alpha=0.55, label=str(label))
    ax.axvline(threshold, color=BLACK, linewidth=1.4, linestyle="--", label="threshold")
    style.legend(ax)
    wrong = of_rows(int((predicted != actual).sum()), len(actual))
    return style.frame(ax, f"{title}: {wrong} on the wrong side", "discriminant direction, standard deviations", "rows")
