"""Split the points into training and test points, and compare the errors on both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.perceptron.error_counts import count_errors
from linearly.dataset.rows.block import as_rows
from linearly.kernels.double_double import Array
from linearly.lab.animation import Animation

Rows = NDArray[np.intp]


def in_all_rows(animation: Animation, training: Rows) -> Animation:
    """Return an animation of the training points whose rows are indices among all points."""
    scene = dict(animation.scene)
    if "certificate" in scene:
        proof = dict(scene["certificate"])
        if "witness" in proof:
            proof["witness"] = [int(training[i]) for i in proof["witness"]]
        proof["sentence"] += " (Rows are counted among the training points.)"
        scene["certificate"] = proof
    if "influence" in scene:
        n = int(training[-1]) + 1
        found = dict(scene["influence"])
        for key in ("leverage", "studentized_residual", "cooks_distance"):
            values = dict(zip(training.tolist(), found[key], strict=True))
            found[key] = [values.get(i) for i in range(n)]
        if found["strongest"] is not None:
            found["strongest"] = int(training[found["strongest"]])
        scene["influence"] = found
    rows = tuple(int(training[row]) if row >= 0 else -1 for row in animation.rows)
    return replace(animation, rows=rows, scene=scene)


def error_curves(animation: Animation, sets: dict[str, tuple[Array, Any]]) -> dict[str, Any] | None:
    """Return the plot of the error on each set of points against the frames; None if there is one frame only."""
    if animation.count < 2:
        return None
    series = []
    for name, (X, y) in sets.items():
        if animation.weights is not None:
            rows = as_rows(X, np.searchsorted(animation.model.classes_, y))
            wrong = count_errors(rows, animation.weights[..., 1:], animation.weights[..., 0])[:-1]
            values = wrong / len(y)
        elif animation.predict is not None:
            fitted = np.array([animation.predict(t, X[:, 0]) for t in range(animation.count)])
            values = np.sqrt(((fitted - y) ** 2).mean(axis=1))
        else:
            return None
        series.append({"name": name, "values": values.tolist()})
    what = "Share of errors" if animation.weights is not None else "RMSE"
    return {
        "kind": "series", "title": f"{what} on training and test points", "x": animation.unit, "log": False,
        "series": series,
    }  # fmt: skip
