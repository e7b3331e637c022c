"""Transform the two columns into a third feature, which makes a plane in space of a line on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linearly.kernels.double_double import Array

# name → its title with the names of the columns, the function, and the Python for it
LIFTS: dict[str, tuple[str, Callable[[Array, Array], Array], str]] = {
    "xy": ("{x}·{y}", lambda x, y: x * y, "X[:, 0] * X[:, 1]"),
    "radius": ("{x}² + {y}²", lambda x, y: x**2 + y**2, "X[:, 0] ** 2 + X[:, 1] ** 2"),
    "square": ("{x}²", lambda x, y: x**2, "X[:, 0] ** 2"),
}


def lift(name: str, X: Array) -> Array:
    """Return the columns and the third feature of this name; the columns alone if the name is empty."""
    return np.column_stack([X, LIFTS[name][1](X[:, 0], X[:, 1])]) if name else X


def lifted_names(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the features."""
    return (*names, LIFTS[name][0].format(x=names[0], y=names[1])) if name else names


def lift_code(name: str) -> str:
    """Return the line of Python that adds the feature to X."""
    return f"X = np.column_stack([X, {LIFTS[name][2]}])\n" if name else ""


def lift_picture(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the plot of the points in space with the separating plane."""
    return {"kind": "lift", "title": f"The points lifted to {lifted_names(name, names)[2]}"}
