"""Hold the state of the lab: labelled points, the chosen algorithm and its parameters; nothing that is computed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array
from linearly.lab.catalogue import ALGORITHMS, Algorithm, is_number
from linearly.lab.lifts import LIFTS, lift

Point = tuple[float, float, int]
View = tuple[float, float, float, float]

MAX_POINTS = 2000
MAX_CLASSES = 6
CLASSES = ("blue", "orange", "green", "purple", "sky", "yellow")
OPTIONS: dict[str, Any] = {"features": None, "test_share": (0, 0.8), "split_seed": (0, 9999), "threshold": (0.01, 0.99)}
_NONE = np.zeros(0, dtype=np.intp)
_MAX_NAME_LENGTH = 60
_MAX_COORDINATE = 1e9


@dataclass(frozen=True)
class State:
    """What a share link contains.

    points      (x, y, label), where the label is an index into `classes`
    classes     names of the labels; the page colours them in this order
    names       names of the two columns
    view        left, right, bottom and top edge of the plane; it does not follow the points
    comparison  a second algorithm, shown beside the first on the same points; "" for none
    features    a third feature of linear classifiers, a name of `lifts.LIFTS`; "" for none
    test_share  share of the points that are left out of the fit; `split_seed` decides which
    threshold   probability from which the second of two classes is predicted
    """

    points: tuple[Point, ...] = ()
    classes: tuple[str, ...] = CLASSES
    names: tuple[str, str] = ("x", "y")
    view: View = (-5.0, 5.0, -4.0, 4.0)
    algorithm: str = "perceptron"
    parameters: dict[str, Any] = field(default_factory=dict)
    comparison: str = ""
    comparison_parameters: dict[str, Any] = field(default_factory=dict)
    features: str = ""
    test_share: float = 0.0
    split_seed: int = 0
    threshold: float = 0.5

    @property
    def lift(self) -> str:
        """The third feature of the chosen algorithm; "" if it has none."""
        return self.features if self.method.task == "classes" and self.algorithm != "qda" else ""

    def design(self) -> tuple[Array, NDArray[Any]]:
        """Return the features and the targets that the chosen algorithm learns from."""
        X, labels = self.columns()
        if self.method.task == "classes":
            return lift(self.lift, X), np.array(self.classes)[labels]
        return X[:, :1], X[:, 1]

    def test(self) -> NDArray[np.intp]:
        """Return the indices of the test points."""
        return (
            held_out_rows(len(self.points), self.test_share, self.split_seed) if self.method.task != "truth" else _NONE
        )

    @property
    def method(self) -> Algorithm:
        """The chosen algorithm."""
        return ALGORITHMS[self.algorithm]

    def settings(self) -> dict[str, Any]:
        """Return all parameters of the chosen algorithm."""
        return self.method.check_settings(self.parameters)

    def columns(self) -> tuple[Array, NDArray[np.intp]]:
        """Return the coordinates, n × 2, and the labels."""
        xy = np.array([point[:2] for point in self.points], dtype=np.float64).reshape(-1, 2)
        return xy, np.array([point[2] for point in self.points], dtype=np.intp)

    def compared(self) -> State:
        """Return the same points with the second algorithm alone."""
        parameters = self.comparison_parameters
        return replace(self, algorithm=self.comparison, parameters=parameters, comparison="", comparison_parameters={})

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values; `state_from_dict` reads it back."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        compared = self.compared().settings() if self.comparison else {}
        points = [list(point) for point in self.points]
        return fields | {"points": points, "parameters": self.settings(), "comparison_parameters": compared}


def state_from_dict(fields: Any) -> State:
    """Return the state that JSON values describe; raise `ValueError` for anything unexpected in them."""
    if not isinstance(fields, dict):
        raise ValueError("The lab's state must be a JSON object.")
    given = State().to_dict() | {"parameters": {}}
    for name in fields:
        if name not in given:
            raise ValueError(f"{name!r} is not a field of the lab's state. Remove it.")
    given |= fields
    classes = check_classes(given["classes"])
    names = check_column_names(given["names"])
    algorithm = check_algorithm(given["algorithm"])
    comparison = "" if given["comparison"] == "" else check_algorithm(given["comparison"])
    return State(
        points=check_points(given["points"], len(classes)),
        classes=classes,
        names=names,
        view=check_view(given["view"]),
        algorithm=algorithm,
        parameters=ALGORITHMS[algorithm].check_settings(given["parameters"]),
        comparison=comparison,
        comparison_parameters=(
            ALGORITHMS[comparison].check_settings(given["comparison_parameters"]) if comparison else {}
        ),
        **{name: check_option(name, given[name]) for name in OPTIONS},
    )


def check_option(name: Any, value: Any) -> Any:
    """Return the value of an option of the state, one of `OPTIONS`."""
    if not isinstance(name, str) or name not in OPTIONS:
        raise ValueError(f"{name!r} is not an option. Choose one of {', '.join(OPTIONS)}.")
    if name == "features":
        if value not in ("", *LIFTS):
            raise ValueError(f"features must be empty or one of {', '.join(LIFTS)}, not {value!r}.")
        return value
    low, high = OPTIONS[name]
    if not is_number(value) or not low <= value <= high or (name == "split_seed" and value != int(value)):
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, not {value!r}.")
    return int(value) if name == "split_seed" else float(value)


def held_out_rows(n: int, share: float, seed: int) -> NDArray[np.intp]:
    """Return the indices of the test points; one more point changes at most one of the others."""
    order = np.argsort(np.random.RandomState(seed).random_sample(n), kind="stable")
    return np.sort(order[: round(share * n)])


def check_number(value: Any, what: str) -> float:
    """Return a finite number within the plane."""
    if not is_number(value):
        raise ValueError(f"{what} must be a number, not {value!r}.")
    if abs(value) > _MAX_COORDINATE:
        raise ValueError(f"{what} is {value:g}; the plane ends at ±{_MAX_COORDINATE:g}. Rescale the column.")
    return float(value)


def check_index(value: Any, what: str, length: int) -> int:
    """Return an integer from 0 to length − 1."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < length:
        raise ValueError(f"{what} must be an integer from 0 to {length - 1}, not {value!r}.")
    return value


def check_points(points: Any, n_classes: int) -> tuple[Point, ...]:
    """Return points that are given as [x, y, label]."""
    if not isinstance(points, list):
        raise ValueError("points must be a list of [x, y, label].")
    if len(points) > MAX_POINTS:
        raise ValueError(f"The lab shows at most {MAX_POINTS} points, not {len(points)}. Remove some.")
    checked = []
    for i, point in enumerate(points):
        if not isinstance(point, list) or len(point) != 3:
            raise ValueError(f"Point {i} must be [x, y, label], not {point!r}.")
        x, y = (check_number(value, f"{name} of point {i}") for name, value in zip("xy", point[:2], strict=True))
        checked.append((x, y, check_index(point[2], f"The label of point {i}", n_classes)))
    return tuple(checked)


def check_classes(classes: Any) -> tuple[str, ...]:
    """Return the names of the labels."""
    if not isinstance(classes, list) or not 1 <= len(classes) <= MAX_CLASSES:
        raise ValueError(f"classes must be a list of 1 to {MAX_CLASSES} names.")
    names = tuple(map(_check_name, classes))
    if len(set(names)) < len(names):
        raise ValueError("Two classes have the same name. Rename one of them.")
    return names


def check_column_names(names: Any) -> tuple[str, str]:
    """Return the names of the two columns."""
    if not isinstance(names, list) or len(names) != 2:
        raise ValueError("names must be a list of two names.")
    return _check_name(names[0]), _check_name(names[1])


def check_view(view: Any) -> View:
    """Return the edges of the plane."""
    if not isinstance(view, list) or len(view) != 4:
        raise ValueError("view must be [left, right, bottom, top].")
    left, right, bottom, top = (check_number(edge, "An edge of the view") for edge in view)
    if not (right - left > 1e-9 and top - bottom > 1e-9):
        raise ValueError(
            "The view is empty, because right must exceed left and top must exceed bottom. Choose larger limits."
        )
    return left, right, bottom, top


def check_algorithm(name: Any) -> str:
    """Return a name of the catalogue."""
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise ValueError(f"{name!r} is not an algorithm. Choose one of {', '.join(ALGORITHMS)}.")
    return name


def fit_view(points: tuple[Point, ...], aspect: float = 1.25) -> View:
    """Return a view with room around the points, `aspect` times as wide as high if both columns spread alike."""
    if not points:
        return (-5.0, 5.0, -4.0, 4.0)
    xy = np.array([point[:2] for point in points])
    low, high = xy.min(axis=0), xy.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    if max(spread) < 4 * min(spread):  # similar units: one scale for both axes, so that a right angle looks like one
        height = max(spread[1], spread[0] / aspect)
        spread = np.array([height * aspect, height])
    (a, c), (dx, dy) = (low + high) / 2, 0.62 * spread
    return float(a - dx), float(a + dx), float(c - dy), float(c + dy)


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME_LENGTH or not name.isprintable():
        raise ValueError(f"A name must have 1 to {_MAX_NAME_LENGTH} characters, not {name!r}.")
    return name
