"""What the lab can show: every algorithm with the parameters a viewer may turn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Number:
    """A slider; with `whole`, of whole numbers."""

    name: str
    title: str
    low: float
    high: float
    step: float
    default: float
    whole: bool = False

    def checked(self, value: Any) -> Any:
        """The value if it is a number in range."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not self.low <= value <= self.high or (self.whole and value != int(value)):
            kind = "a whole number" if self.whole else "a number"
            raise ValueError(f"{self.name} must be {kind} from {self.low:g} to {self.high:g}, not {value!r}.")
        return int(value) if self.whole else float(value)

    def to_dict(self) -> dict[str, Any]:
        """What a page needs to draw it."""
        return {"kind": "number", **vars(self)}


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    name: str
    title: str
    options: tuple[tuple[str, str], ...]
    default: str

    def checked(self, value: Any) -> Any:
        """The value if it is one of the options."""
        known = [option for option, _ in self.options]
        if value not in known:
            raise ValueError(f"{self.name} must be one of {', '.join(known)}, not {value!r}.")
        return value

    def to_dict(self) -> dict[str, Any]:
        """What a page needs to draw it."""
        return {"kind": "choice", **vars(self)}


@dataclass(frozen=True)
class Flag:
    """On or off."""

    name: str
    title: str
    default: bool = False

    def checked(self, value: Any) -> Any:
        """The value if it is true or false."""
        if not isinstance(value, bool):
            raise ValueError(f"{self.name} must be true or false, not {value!r}.")
        return value

    def to_dict(self) -> dict[str, Any]:
        """What a page needs to draw it."""
        return {"kind": "flag", **vars(self)}


Parameter = Number | Choice | Flag


@dataclass(frozen=True)
class Algorithm:
    """One entry of the list: `task` says how the plane is read ("classes", "curve" or "truth")."""

    name: str
    title: str
    group: str
    task: str
    idea: str
    parameters: tuple[Parameter, ...] = ()

    def defaults(self) -> dict[str, Any]:
        """Every parameter at its default."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def checked(self, values: Any) -> dict[str, Any]:
        """Defaults with the given values in their place; unknown names are refused."""
        if not isinstance(values, dict):
            raise ValueError(f"parameters must be an object, not {type(values).__name__}.")
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in values:
            if name not in known:
                raise ValueError(f"{self.title} has no parameter {name!r}; it has {', '.join(known) or 'none'}.")
        return self.defaults() | {name: known[name].checked(value) for name, value in values.items()}


_SHUFFLE = Flag("shuffle", "New order every pass")
_DEGREE = Number("degree", "Degree", 1, 12, 1, 1, whole=True)

_LIST = (
    Algorithm(
        "perceptron", "Perceptron", "Perceptrons", "classes",
        "A mistake adds y·x to the weights, until a pass makes none.",
        (Number("max_passes", "Passes at most", 1, 200, 1, 50, whole=True), _SHUFFLE),
    ),
    Algorithm(
        "pocket", "Pocket", "Perceptrons", "classes",
        "The perceptron's walk; the best line so far stays in the pocket.",
        (
            Number("max_updates", "Updates at most", 10, 2000, 10, 200, whole=True),
            Choice("init", "Start", (("zeros", "zero"), ("least_squares", "least squares")), "zeros"),
            _SHUFFLE,
        ),
    ),
    Algorithm(
        "averaged", "Averaged", "Perceptrons", "classes",
        "The mean of all weights on the walk, each counted for the rows it survived.",
        (Number("max_passes", "Passes at most", 1, 50, 1, 10, whole=True), _SHUFFLE),
    ),
    Algorithm(
        "voted", "Voted", "Perceptrons", "classes",
        "All lines of the walk vote, each with the rows it survived.",
        (Number("max_passes", "Passes at most", 1, 50, 1, 10, whole=True), _SHUFFLE),
    ),
    Algorithm(
        "batch", "Batch", "Perceptrons", "classes",
        "All mistakes of a pass correct the weights at once.",
        (Number("max_passes", "Passes at most", 1, 500, 1, 100, whole=True),),
    ),
    Algorithm(
        "least_squares", "Least squares", "Regression", "curve",
        "The curve with the smallest sum of squared residuals.",
        (_DEGREE,),
    ),
    Algorithm(
        "gradient_descent", "Gradient descent", "Regression", "curve",
        "Least squares by steps against the gradient of the loss.",
        (
            Number("rate", "Learning rate × L", 0.05, 2.2, 0.05, 1.0),
            Number("steps", "Steps", 5, 300, 5, 60, whole=True),
        ),
    ),
    Algorithm(
        "ridge", "Ridge", "Regression", "curve",
        "Least squares with a price λ on the size of the coefficients.",
        (Number("degree", "Degree", 1, 12, 1, 7, whole=True),),
    ),
    Algorithm(
        "indicator", "Least squares on labels", "Classifiers", "classes",
        "Fit 0 and 1 by least squares; the largest fitted value wins.",
        (Number("alpha", "Penalty λ", 0, 50, 0.5, 0),),
    ),
    Algorithm(
        "logistic", "Logistic regression", "Classifiers", "classes",
        "Log-odds are linear; the likelihood is maximised.",
        (
            Choice("solver", "Steps by", (("newton", "Newton"), ("gradient_descent", "gradient descent")), "newton"),
            Choice(
                "remedy", "Against separation", (("none", "nothing"), ("firth", "Firth"), ("ridge", "penalty λ")),
                "none",
            ),
            Number("alpha", "Penalty λ", 0.01, 20, 0.01, 1.0),
        ),
    ),
    Algorithm(
        "lda", "LDA", "Classifiers", "classes",
        "Normal classes with one covariance: the boundary is a line.",
        (
            Number("shrinkage", "Shrinkage", 0, 1, 0.05, 0),
            Choice("priors", "Priors", (("shares", "shares"), ("equal", "equal")), "shares"),
        ),
    ),
    Algorithm(
        "qda", "QDA", "Classifiers", "classes",
        "Normal classes with covariances of their own: the boundary is a conic.",
        (
            Number("shrinkage", "Shrinkage", 0, 1, 0.05, 0),
            Choice("priors", "Priors", (("shares", "shares"), ("equal", "equal")), "shares"),
        ),
    ),
    Algorithm(
        "bias_variance", "Bias and variance", "Complexity", "truth",
        "Draw the data again and again: expected error = noise + bias² + variance.",
        (
            Number("degree", "Degree", 0, 12, 1, 3, whole=True),
            Choice(
                "truth", "Truth",
                (("sine", "sine"), ("step", "soft step"), ("line", "line"), ("bump", "bump"), ("points", "my points")),
                "sine",
            ),
            Number("noise", "Noise σ", 0.05, 1.0, 0.05, 0.3),
            Number("n", "Points a sample", 15, 80, 1, 25, whole=True),
            Number("seed", "Draw", 0, 50, 1, 0, whole=True),
        ),
    ),
)  # fmt: skip

ALGORITHMS: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in _LIST}


def catalogue() -> list[dict[str, Any]]:
    """Every algorithm as plain data, for a page."""
    return [
        {
            "name": a.name,
            "title": a.title,
            "group": a.group,
            "task": a.task,
            "idea": a.idea,
            "parameters": [parameter.to_dict() for parameter in a.parameters],
        }
        for a in ALGORITHMS.values()
    ]
