"""Draw points from a known distribution, with a size, a noise, a separation and an imbalance that can be set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array
from linearly.lab.catalogue import Algorithm
from linearly.lab.state import Point

Draw = Callable[[np.random.RandomState, NDArray[np.intp], float, float], Array]


def _gaussians(draw: np.random.RandomState, labels: NDArray[np.intp], noise: float, separation: float) -> Array:
    middles = (labels[:, None] - 0.5) * separation * np.array([1.6, 1.0])
    return np.asarray(middles + noise * draw.standard_normal((len(labels), 2)))


def _xor(draw: np.random.RandomState, labels: NDArray[np.intp], noise: float, separation: float) -> Array:
    side = draw.choice([-1.0, 1.0], size=len(labels))
    corners = np.column_stack([side, np.where(labels == 1, -side, side)]) * separation * np.array([1.0, 0.8])
    return np.asarray(corners + 0.7 * noise * draw.standard_normal((len(labels), 2)))


def _circles(draw: np.random.RandomState, labels: NDArray[np.intp], noise: float, separation: float) -> Array:
    angle = draw.uniform(0, 2 * np.pi, len(labels))
    radius = np.where(labels == 1, 0.6, 0.6 + separation) + 0.3 * noise * draw.standard_normal(len(labels))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _line(draw: np.random.RandomState, labels: NDArray[np.intp], noise: float, separation: float) -> Array:
    x = draw.uniform(0, 10, len(labels))
    return np.column_stack([x, 1.0 + 0.5 * separation * x / 2 + noise * draw.standard_normal(len(labels))])


# kind → title, function, algorithm for its points if the current one does not suit them
KINDS: dict[str, tuple[str, Draw, str]] = {
    "gaussians": ("Two Gaussians", _gaussians, "logistic"),
    "xor": ("XOR", _xor, "perceptron"),
    "circles": ("Circle in a ring", _circles, "perceptron"),
    "line": ("Line", _line, "least_squares"),
}
GENERATOR = Algorithm(
    name="generator", title="The generator", group="", task="", idea="",
    parameters=[
        {"kind": "choice", "name": "kind", "title": "Draw from", "options": [[k, v[0]] for k, v in KINDS.items()],
         "default": "gaussians"},
        {"kind": "number", "name": "n", "title": "Points", "low": 10, "high": 500, "step": 10, "default": 80,
         "integer": True},
        {"kind": "number", "name": "noise", "title": "Noise", "low": 0.1, "high": 3, "step": 0.1, "default": 1.0},
        {"kind": "number", "name": "separation", "title": "Separation", "low": 0, "high": 5, "step": 0.1,
         "default": 2.0},
        {"kind": "number", "name": "share", "title": "Share of orange", "low": 0.05, "high": 0.95, "step": 0.05,
         "default": 0.5},
        {"kind": "number", "name": "seed", "title": "Draw", "low": 0, "high": 9999, "step": 1, "default": 0,
         "integer": True},
    ],
)  # fmt: skip


def generate(settings: dict[str, Any]) -> tuple[Point, ...]:
    """Return points drawn with checked settings of `GENERATOR`; both classes have one point at least."""
    n, kind = settings["n"], settings["kind"]
    draw = np.random.RandomState(settings["seed"])
    orange = min(n - 1, max(1, round(settings["share"] * n)))
    labels = draw.permutation(np.arange(n) < orange).astype(np.intp)
    places = KINDS[kind][1](draw, labels, settings["noise"], settings["separation"])
    if kind == "line":
        labels = np.zeros(n, dtype=np.intp)
    return tuple((round(float(x), 3), round(float(y), 3), int(k)) for (x, y), k in zip(places, labels, strict=True))
