"""Compute the logistic loss over both weights of the plane, with the paths of the optimizers across it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array

_NX, _NY = 61, 43
_MAX_GRID_ROWS = 500  # points that the surface is computed from; more would take seconds


def loss_surface(
    X: Array, positive: NDArray[np.bool_], alpha: float, paths: dict[str, Array], endless: bool
) -> dict[str, Any]:
    """Return the loss on a grid of (w_x, w_y) with the best intercept at each place, and the paths of (b, w_x, w_y).

    Parameters
    ----------
    X : array of shape (n, 2)
        The points.
    positive : array of bool
        True if a point is of the second class.
    alpha : float
        Ridge penalty on the weights.
    paths : dict of arrays of shape (steps, 3)
        Weights after every step of each optimizer.
    endless : bool
        True if the loss has no minimum.

    Returns
    -------
    dict
        JSON values: edges of the grid, losses row by row, paths.
    """
    places = np.concatenate([path[:, 1:] for path in paths.values()] + [np.zeros((1, 2))])
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.maximum(high - low, 0.3 * (high - low).max() + 1e-9)
    middle = (low + high) / 2
    (left, bottom), (right, top) = middle - 0.68 * spread, middle + 0.68 * spread
    grid = np.stack(np.meshgrid(np.linspace(left, right, _NX), np.linspace(bottom, top, _NY)), axis=-1).reshape(-1, 2)
    stride = -(-len(X) // _MAX_GRID_ROWS)
    some, sign = X[::stride], np.where(positive[::stride], 1.0, -1.0)
    scores = grid @ some.T
    b = _best_intercepts(scores, sign)
    loss = np.logaddexp(0.0, -sign * (scores + b[:, None])).sum(axis=1) * (len(X) / len(some))
    loss += 0.5 * alpha * (grid**2).sum(axis=1)
    return {
        "kind": "surface", "title": "Loss over both weights, with the best intercept",
        "box": [float(v) for v in (left, right, bottom, top)], "nx": _NX, "ny": _NY,
        "loss": [float(f"{v:.6g}") for v in loss], "endless": endless,
        "paths": [{"name": name, "places": path[:, 1:].tolist()} for name, path in paths.items()],
    }  # fmt: skip


def _best_intercepts(scores: Array, sign: NDArray[np.float64]) -> Array:
    """Return the intercept of least loss for each row of scores, by bisection of the derivative, which rises."""
    reach = np.abs(scores).max(axis=1) + 10.0
    low, high = -reach, reach.copy()
    share = (sign > 0).sum()
    for _ in range(30):
        middle = (low + high) / 2
        expected = (0.5 * (1 + np.tanh((scores + middle[:, None]) / 2))).sum(axis=1)
        above = expected > share
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray((low + high) / 2)
