"""Describe the training of one model as frames, each of them computed by the library."""

from __future__ import annotations

import base64
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.perceptron.error_counts import predicted_codes, scores
from linearly.formatting import typeset_number
from linearly.models.score_classifier import softmax

Array = NDArray[np.float64]

N_FAINT_LINES = 60  # earlier voters whose lines are drawn faintly
WHEN_AT_REST = "when the point rests"  # instead of a number that takes too long while a point is dragged

_CAPTURING = threading.RLock()


@dataclass(frozen=True, eq=False)
class Animation:
    """Frames of a training, and what is drawn of them.

    model       the fitted estimator
    classes     names of its classes in its order; empty for curves
    unit        what leads from one frame to the next: "update", "pass", "step", …
    count       number of frames, at least one
    details     function from a frame's index to its `FrameDetails`
    weights     frames × vectors × 3: (b, w_x, w_y) of the class scores; one vector for two classes
    fields      classes × 6: scores as 1, x, y, x², xy, y² if they are not linear (one frame)
    walk        weights of every update, if the model combines all of them (pocket, average, vote)
    shade       "region" (the predicted class), "probability" (softmax of the scores) or "votes" (sent with each frame)
    at, curves  x of the fitted curves, and frames × x values of them
    wave        one number per frame for the timeline; `wave_name` is its title
    rows        index of the point that caused each frame, −1 for none
    marks       (frame, name) of frames with a name
    scene       what all frames share: certificate, Gaussians, exact solution, experiment
    picture     the plot beside the plane
    more        further plots below it
    line_names  what is written beside what is drawn: "weights", "walk", "curves", "exact"
    lift        the third feature, a name of `lifts.LIFTS`; "" for none. Weights then have four numbers
    notes       warnings of the library
    opening     index of the frame that is shown first; None for the last
    predict     function from a frame's index and x to the fitted values, for curves
    """

    model: Any
    classes: tuple[str, ...]
    unit: str
    count: int
    details: Callable[[int], FrameDetails]
    weights: Array | None = None
    fields: Array | None = None
    walk: Array | None = None
    shade: str = "region"
    at: Array | None = None
    curves: Array | None = None
    wave: Array | None = None
    wave_name: str = ""
    rows: tuple[int, ...] = ()
    marks: tuple[tuple[int, str], ...] = ()
    scene: dict[str, Any] = field(default_factory=dict)
    picture: dict[str, Any] | None = None
    more: tuple[dict[str, Any], ...] = ()
    line_names: dict[str, str] = field(default_factory=dict)
    lift: str = ""
    notes: tuple[str, ...] = ()
    opening: int | None = None
    predict: Callable[[int, Array], Array] | None = None

    @property
    def opening_frame(self) -> int:
        """Index of the frame that is shown first."""
        return self.count - 1 if self.opening is None else self.opening

    def to_dict(self, around: int | None = None) -> dict[str, Any]:
        """Return JSON values; with `around`, only the weights and curves that are drawn with that frame."""
        earlier = N_FAINT_LINES if self.shade == "votes" else 1  # frames drawn with one frame: voters, the line before
        first, last = (0, self.count) if around is None else (max(0, around - earlier), around + 1)
        same = ("unit", "count", "shade", "wave_name", "scene", "picture", "line_names", "lift")
        texts = {name: getattr(self, name) for name in same} | {"more": list(self.more)}
        arrays = {name: pack_floats(getattr(self, name)) for name in ("fields", "at", "wave")}
        parts = {
            name: pack_floats(None if array is None else array[first:last])
            for name, array in (("weights", self.weights), ("walk", self.walk), ("curves", self.curves))
        }
        return (
            texts
            | arrays
            | parts
            | {
                "classes": list(self.classes),
                "first": first,
                "opening": self.opening_frame,
                "partial": around is not None,
                "rows": list(self.rows),
                "marks": [{"at": at, "name": name} for at, name in self.marks],
            }
        )


@dataclass(frozen=True, eq=False)
class FrameDetails:
    """The text, numbers and code of one frame.

    model       a model of this frame that `evaluate` accepts
    words       a sentence or two
    facts       (name, number or text)
    terms       (term, estimate, standard error or None)
    terms_title what the terms are
    code        Python that computes this frame from X and y
    """

    model: Any
    words: str
    facts: tuple[tuple[str, Any], ...] = ()
    terms: tuple[tuple[str, float, float | None], ...] = ()
    code: str = ""
    terms_title: str = "Coefficients"


class FixedClassifier:
    """A linear classifier with given weights that `evaluate` accepts; one vector of weights for two classes."""

    def __init__(self, classes: Any, weights: Array) -> None:
        self.classes_ = np.asarray(classes)
        self.coef, self.intercept = np.ascontiguousarray(weights[:, 1:]), weights[:, 0]

    def _scores(self, X: Any) -> Array:
        return scores(np.asarray(X), self.coef, self.intercept)

    def decision_function(self, X: Any) -> Array:
        """Return the scores as an estimator does."""
        return self._scores(X)[:, 0] if len(self.coef) == 1 else self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes, with the library's rule for ties."""
        return self.classes_[predicted_codes(self._scores(X))]


class FixedLogisticClassifier(FixedClassifier):
    """A linear classifier with given weights whose scores are log-odds."""

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities, n × K."""
        logits = self._scores(X)
        return softmax(np.column_stack([np.zeros(len(logits)), logits]) if logits.shape[1] == 1 else logits)


def pack_floats(array: Array | None) -> dict[str, Any] | None:
    """Return float64 numbers as base64 of their bytes, with the shape."""
    if array is None:
        return None
    numbers = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(numbers.shape), "f64": base64.b64encode(numbers.tobytes()).decode("ascii")}


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Collect warnings in a list, to be shown instead of printed."""
    messages: list[str] = []
    # warnings.catch_warnings acts on the whole process, so one session captures at a time.
    with _CAPTURING, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    messages += dict.fromkeys(str(warning.message) for warning in caught)


def stack_weights(coef: Array, intercept: Array) -> Array:
    """Return (b, w) side by side along the last axis."""
    return np.concatenate([np.asarray(intercept)[..., None], np.asarray(coef)], axis=-1)


def linear_terms(names: tuple[str, ...], classes: tuple[str, ...], weights: Array) -> Any:
    """Return (term, estimate, None) for the weights of one frame."""
    prefixes = [""] if len(weights) == 1 else [f"{name}: " for name in classes]
    return tuple(
        (prefix + term, float(value), None)
        for prefix, row in zip(prefixes, weights, strict=True)
        for term, value in zip(("Intercept", *names), row, strict=True)
    )


def format_fit(estimator: str, parameters: dict[str, Any]) -> str:
    """Return the line of Python that fits an estimator."""
    arguments = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    return f"model = ly.{estimator}({arguments}).fit(X, y)"


def format_number(value: float, digits: int = 3) -> str:
    """Return a number for a sentence, with a typographic minus: 0.251, 1e−6."""
    return typeset_number(f"{value:.{digits}g}")
