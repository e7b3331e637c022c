"""Provide sets of example points, each with an algorithm that it illustrates."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from linearly.lab.state import CLASSES, Point, State, fit_view

Draw = Callable[[np.random.Generator], list[tuple[Any, int]]]


_TILT = np.array([0.6, -0.8])


def _separable(draw: np.random.Generator) -> list[tuple[Any, int]]:
    cloud = draw.normal(size=(400, 2)) * [1.9, 1.5]
    apart = cloud[np.abs(cloud @ _TILT - 0.7) > 0.13][:44]
    return [(xy, int(xy @ _TILT > 0.7)) for xy in apart]


def _outlier(draw: np.random.Generator) -> list[tuple[Any, int]]:
    return [*_separable(draw), (np.array([-2.6, 1.4]), 1)]


def _xor(draw: np.random.Generator) -> list[tuple[Any, int]]:
    corners = np.array([[-2, -1.6], [2, 1.6], [-2, 1.6], [2, -1.6]])
    return [(corners[k] + 0.55 * draw.normal(size=2), int(k > 1)) for k in range(4) for _ in range(11)]


def _circles(draw: np.random.Generator) -> list[tuple[Any, int]]:
    angles, radii = draw.uniform(0, 2 * np.pi, 60), np.repeat([0.8, 2.6], 30) + 0.3 * draw.normal(size=60)
    places = np.column_stack([np.cos(angles), np.sin(angles)]) * radii[:, None]
    return [(xy, int(k < 30)) for k, xy in enumerate(places)]


def _overlapping(draw: np.random.Generator) -> list[tuple[Any, int]]:
    return [(draw.normal(size=2) * [1.3, 1.1] + (2 * k - 1) * np.array([1.1, 0.7]), k) for k in (0, 1) * 35]


def _three(draw: np.random.Generator) -> list[tuple[Any, int]]:
    means = np.array([[-1.7, -1.0], [1.9, -0.9], [0.1, 1.7]])
    root = np.array([[1.35, 0.0], [0.6, 0.95]])
    return [(means[k] + root @ draw.normal(size=2), k) for k in (0, 1, 2) * 30]


def _masking(draw: np.random.Generator) -> list[tuple[Any, int]]:
    return [(np.array([3.2, 2.2]) * (k - 1) + 0.55 * draw.normal(size=2), k) for k in (0, 1, 2) * 25]


def _ellipses(draw: np.random.Generator) -> list[tuple[Any, int]]:
    wide, narrow = np.array([[2.2, 0.0], [0.7, 1.2]]), np.array([[0.55, 0.0], [-0.3, 0.45]])
    inner = [(narrow @ draw.normal(size=2) + [0.5, 0.2], 1) for _ in range(40)]
    return [*((wide @ draw.normal(size=2), 0) for _ in range(50)), *inner]


def _line(draw: np.random.Generator) -> list[tuple[Any, int]]:
    x = np.sort(draw.uniform(0.5, 9.5, 28))
    return [(np.array([u, 1.1 + 0.55 * u + 0.75 * draw.normal()]), 0) for u in x]


def _regression_outlier(draw: np.random.Generator) -> list[tuple[Any, int]]:
    x = np.linspace(0.6, 7.4, 16)
    rows = [(np.array([u, 1.0 + 0.6 * u + 0.25 * draw.normal()]), 0) for u in x]
    return [*rows, (np.array([9.3, 0.4]), 0)]


def _curve(draw: np.random.Generator) -> list[tuple[Any, int]]:
    x = np.sort(draw.uniform(-1.0, 1.0, 24))
    return [(np.array([u, np.sin(3.2 * u) + 0.22 * draw.normal()]), 0) for u in x]


@lru_cache
def _digits() -> tuple[Point, ...]:
    recorded = resources.files("linearly.lab").joinpath("digits.json")
    if recorded.is_file():  # an exported page, which has no scikit-learn
        return tuple(map(tuple, json.loads(recorded.read_text(encoding="utf-8"))))
    from sklearn.datasets import load_digits

    from linearly.dataset.features.digits import digit_features

    images, digit = load_digits(return_X_y=True)
    some = (digit == 0) | (digit == 7)
    features = digit_features(images[some])[:, :2].round(4)
    return tuple((float(a), float(b), int(d == 7)) for (a, b), d in zip(features, digit[some], strict=True))


# name → title, generator of the points (None: the digits), algorithm
_PRESETS: dict[str, tuple[str, Draw | None, str]] = {
    "separable": ("Separable", _separable, "perceptron"),
    "outlier": ("One outlier", _outlier, "pocket"),
    "xor": ("XOR", _xor, "perceptron"),
    "circles": ("A circle in a ring", _circles, "perceptron"),
    "overlapping": ("Two overlapping classes", _overlapping, "logistic"),
    "three": ("Three Gaussians", _three, "lda"),
    "ellipses": ("Two covariances", _ellipses, "qda"),
    "masking": ("Three in a row (masking)", _masking, "indicator"),
    "digits": ("Digits 0 and 7: density, symmetry", None, "pocket"),
    "cloud": ("Regression cloud", _line, "least_squares"),
    "ruined": ("An outlier that ruins least squares", _regression_outlier, "least_squares"),
    "curved": ("A curve", _curve, "ridge"),
}


def presets() -> list[dict[str, str]]:
    """Return names, titles and algorithms, for the page."""
    return [{"name": name, "title": title, "algorithm": algorithm} for name, (title, _, algorithm) in _PRESETS.items()]


def preset(name: Any) -> State:
    """Return the points of a preset with its algorithm."""
    if not isinstance(name, str) or name not in _PRESETS:
        raise ValueError(f"{name!r} is not a preset. Choose one of {', '.join(_PRESETS)}.")
    _, draw, algorithm = _PRESETS[name]
    if draw is None:
        points = _digits()
        return State(points, ("0", "7"), ("density", "symmetry"), fit_view(points), algorithm)
    rows = draw(np.random.default_rng(7))
    points = tuple((round(float(xy[0]), 3), round(float(xy[1]), 3), label) for xy, label in rows)
    return State(points, CLASSES, ("x", "y"), fit_view(points), algorithm)
