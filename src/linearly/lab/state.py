"""The state of the lab: points with labels, a chosen algorithm, its parameters; nothing computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.lab.catalogue import ALGORITHMS, Algorithm

Array = NDArray[np.float64]
Point = tuple[float, float, int]
View = tuple[float, float, float, float]

MOST_POINTS = 2000
MOST_CLASSES = 6
CLASSES = ("blue", "orange", "green", "purple", "sky", "yellow")
_LONGEST_NAME = 60
_LARGEST = 1e9


@dataclass(frozen=True)
class State:
    """What a share link carries.

    points      (x, y, label), the label a place in `classes`
    classes     names of the labels; they have the colours of the page, in order
    names       of the two columns
    view        left, right, bottom and top edge of the plane; it does not follow the points
    rival       a second algorithm, shown beside the first on the same points; "" for none
    """

    points: tuple[Point, ...] = ()
    classes: tuple[str, ...] = CLASSES
    names: tuple[str, str] = ("x", "y")
    view: View = (-5.0, 5.0, -4.0, 4.0)
    algorithm: str = "perceptron"
    parameters: dict[str, Any] = field(default_factory=dict)
    rival: str = ""
    rival_parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> Algorithm:
        """The chosen algorithm."""
        return ALGORITHMS[self.algorithm]

    def settings(self) -> dict[str, Any]:
        """All parameters of the chosen algorithm."""
        return self.method.checked(self.parameters)

    def columns(self) -> tuple[Array, NDArray[np.intp]]:
        """The points as n × 2 numbers and their labels."""
        xy = np.array([point[:2] for point in self.points], dtype=np.float64).reshape(-1, 2)
        return xy, np.array([point[2] for point in self.points], dtype=np.intp)

    def as_rival(self) -> State:
        """The state of the second algorithm, alone."""
        return replace(self, algorithm=self.rival, parameters=self.rival_parameters, rival="", rival_parameters={})

    def to_dict(self) -> dict[str, Any]:
        """As plain data; `restored` reads it back."""
        return {
            "points": [list(point) for point in self.points],
            "classes": list(self.classes),
            "names": list(self.names),
            "view": list(self.view),
            "algorithm": self.algorithm,
            "parameters": self.settings(),
            "rival": self.rival,
            "rival_parameters": self.as_rival().settings() if self.rival else {},
        }


def restored(told: Any) -> State:
    """The state that `told` describes; everything about it is checked."""
    known = {"points", "classes", "names", "view", "algorithm", "parameters", "rival", "rival_parameters"}
    if not isinstance(told, dict):
        raise ValueError("A state is an object.")
    for name in told:
        if name not in known:
            raise ValueError(f"A state has no field {name!r}.")
    classes = checked_classes(told.get("classes", list(CLASSES)))
    names = checked_names(told.get("names", ["x", "y"]))
    algorithm = checked_algorithm(told.get("algorithm", "perceptron"))
    rival = told.get("rival", "")
    if rival != "":
        rival = checked_algorithm(rival)
    return State(
        points=checked_points(told.get("points", []), len(classes)),
        classes=classes,
        names=names,
        view=checked_view(told.get("view", [-5.0, 5.0, -4.0, 4.0])),
        algorithm=algorithm,
        parameters=ALGORITHMS[algorithm].checked(told.get("parameters", {})),
        rival=rival,
        rival_parameters=ALGORITHMS[rival].checked(told.get("rival_parameters", {})) if rival else {},
    )


def checked_number(value: Any, what: str) -> float:
    """A finite number of ordinary size."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{what} must be a number, not {value!r}.")
    if abs(value) > _LARGEST:
        raise ValueError(f"{what} is {value:g}; the plane ends at ±{_LARGEST:g}. Rescale the column.")
    return float(value)


def checked_whole(value: Any, what: str, below: int) -> int:
    """A whole number from 0 to below − 1."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < below:
        raise ValueError(f"{what} must be a whole number from 0 to {below - 1}, not {value!r}.")
    return value


def checked_points(points: Any, classes: int) -> tuple[Point, ...]:
    """Points as [x, y, label]."""
    if not isinstance(points, list):
        raise ValueError("points must be a list of [x, y, label].")
    if len(points) > MOST_POINTS:
        raise ValueError(f"The lab shows at most {MOST_POINTS} points, not {len(points)}.")
    found = []
    for i, point in enumerate(points):
        if not isinstance(point, list) or len(point) != 3:
            raise ValueError(f"Point {i} must be [x, y, label], not {point!r}.")
        x, y = (checked_number(value, f"{name} of point {i}") for name, value in zip("xy", point[:2], strict=True))
        found.append((x, y, checked_whole(point[2], f"The label of point {i}", classes)))
    return tuple(found)


def checked_classes(classes: Any) -> tuple[str, ...]:
    """Names of the labels."""
    if not isinstance(classes, list) or not 1 <= len(classes) <= MOST_CLASSES:
        raise ValueError(f"classes must be a list of 1 to {MOST_CLASSES} names.")
    for name in classes:
        _checked_name(name)
    if len(set(classes)) < len(classes):
        raise ValueError("Two classes have the same name.")
    return tuple(classes)


def checked_names(names: Any) -> tuple[str, str]:
    """Names of the two columns."""
    if not isinstance(names, list) or len(names) != 2:
        raise ValueError("names must be a list of two names.")
    return _checked_name(names[0]), _checked_name(names[1])


def checked_view(view: Any) -> View:
    """Edges of the plane."""
    if not isinstance(view, list) or len(view) != 4:
        raise ValueError("view must be [left, right, bottom, top].")
    left, right, bottom, top = (checked_number(edge, "An edge of the view") for edge in view)
    if not (right - left > 1e-9 and top - bottom > 1e-9):
        raise ValueError("The view is empty: right must exceed left, and top bottom.")
    return left, right, bottom, top


def checked_algorithm(name: Any) -> str:
    """A name from the catalogue."""
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise ValueError(f"There is no algorithm {name!r}; there are {', '.join(ALGORITHMS)}.")
    return name


def view_of(points: tuple[Point, ...], aspect: float = 1.25) -> View:
    """A view with room around the points, `aspect` times as wide as high where both columns have alike spreads."""
    if not points:
        return (-5.0, 5.0, -4.0, 4.0)
    xy = np.array([point[:2] for point in points])
    low, high = xy.min(axis=0), xy.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    if max(spread) < 4 * min(spread):  # alike: keep the axes to one scale, so that a right angle looks like one
        height = max(spread[1], spread[0] / aspect)
        spread = np.array([height * aspect, height])
    (a, c), (dx, dy) = (low + high) / 2, 0.62 * spread
    return float(a - dx), float(a + dx), float(c - dy), float(c + dy)


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise ValueError(f"A name has 1 to {_LONGEST_NAME} characters, not {name!r}.")
    return name
