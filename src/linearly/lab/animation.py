"""A film: the learning of one model as frames, each of them the library's own answer at that moment."""

from __future__ import annotations

import base64
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.perceptron.error_counts import predicted_codes, scores
from linearly.models.score_classifier import softmax

Array = NDArray[np.float64]

DRAWN_BEFORE = 60  # frames whose lines are drawn faintly behind the line of a frame

_LISTENING = threading.RLock()


@dataclass(frozen=True, eq=False)
class Animation:
    """Frames of a training, and what is drawn of them.

    model       the fitted estimator
    classes     names of its classes in its order; empty for curves
    unit        what leads from one frame to the next: "update", "pass", "step", …
    count       frames, at least one
    weights     frames × vectors × 3: (b, w_x, w_y) of the class scores; one vector for two classes
    fields      classes × 6: scores as 1, x, y, x², xy, y², where they are not linear (one frame)
    walk        weights on the way, where the answer is read off all of them (pocket, average, vote)
    shade       "region" (who wins), "probability" (softmax of the scores) or "votes" (asked for frame by frame)
    at, curves  where fitted curves are given, and frames × places of them
    wave        one number a frame, for the timeline; `wave_name` says what it is
    rows        the point that made each frame, −1 for none
    marks       frames with a name
    stills      frame → what evidence is drawn from
    """

    model: Any
    classes: tuple[str, ...]
    unit: str
    count: int
    stills: Callable[[int], FrameDetails]
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
    notes: tuple[str, ...] = ()

    def to_dict(self, around: int | None = None) -> dict[str, Any]:
        """As plain data, numbers packed; the weights only of the frames that are drawn with one, if it is given."""
        first, last = (0, self.count) if around is None else (max(0, around - DRAWN_BEFORE), around + 1)
        return {
            "classes": list(self.classes),
            "unit": self.unit,
            "count": self.count,
            "first": first,
            "partial": around is not None,
            "weights": packed(None if self.weights is None else self.weights[first:last]),
            "fields": packed(self.fields),
            "walk": packed(None if self.walk is None else self.walk[first:last]),
            "shade": self.shade,
            "at": packed(self.at),
            "curves": packed(self.curves),
            "wave": packed(self.wave),
            "wave_name": self.wave_name,
            "rows": list(self.rows),
            "marks": [{"at": at, "name": name} for at, name in self.marks],
            "scene": self.scene,
            "picture": self.picture,
        }


@dataclass(frozen=True, eq=False)
class FrameDetails:
    """One frame for the evidence.

    model       something that `evaluate` can judge
    words       what is seen, in a sentence or two
    facts       name → number or word
    terms       (term, estimate, standard error or None)
    code        Python that arrives at this frame, after X and y are there
    """

    model: Any
    words: str
    facts: tuple[tuple[str, Any], ...] = ()
    terms: tuple[tuple[str, float, float | None], ...] = ()
    code: str = ""


class Weighted:
    """A linear classifier with given weights, judged like any model; one vector of weights for two classes."""

    def __init__(self, classes: Any, weights: Array) -> None:
        self.classes_ = np.asarray(classes)
        self.coef, self.intercept = np.ascontiguousarray(weights[:, 1:]), weights[:, 0]

    def decision_function(self, X: Any) -> Array:
        """Scores as an estimator gives them."""
        found = scores(np.asarray(X), self.coef, self.intercept)
        return found[:, 0] if len(self.coef) == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes, ties broken as everywhere in the library."""
        return self.classes_[predicted_codes(scores(np.asarray(X), self.coef, self.intercept))]


class Probable(Weighted):
    """The same with scores that are log-odds."""

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, n × K."""
        found = scores(np.asarray(X), self.coef, self.intercept)
        return softmax(np.column_stack([np.zeros(len(found)), found]) if found.shape[1] == 1 else found)


def packed(array: Array | None) -> dict[str, Any] | None:
    """Float64 numbers as base64 of their bytes, with the shape."""
    if array is None:
        return None
    numbers = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(numbers.shape), "f64": base64.b64encode(numbers.tobytes()).decode("ascii")}


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Collects what the library warns of, to be shown instead of printed."""
    told: list[str] = []
    # Who listens, listens for the whole process: one page at a time.
    with _LISTENING, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += dict.fromkeys(str(warning.message) for warning in caught)


def joined(coef: Array, intercept: Array) -> Array:
    """(b, w) side by side along the last axis."""
    return np.concatenate([np.asarray(intercept)[..., None], np.asarray(coef)], axis=-1)


def linear_terms(names: tuple[str, str], classes: tuple[str, ...], weights: Array) -> Any:
    """(term, estimate, None) of one frame's weights."""
    if len(weights) == 1:
        return tuple((term, float(value), None) for term, value in zip(("Intercept", *names), weights[0], strict=True))
    return tuple(
        (f"{name}: {term}", float(value), None)
        for name, row in zip(classes, weights, strict=True)
        for term, value in zip(("Intercept", *names), row, strict=True)
    )


def counted(n: int, one: str) -> str:
    """1 point, 2 points, no points."""
    return f"{n or 'no'} {one}{'s' * (n != 1)}" if not one.endswith("s") else f"{n or 'no'} {one}{'es' * (n != 1)}"


def told(value: float, digits: int = 3) -> str:
    """A number in a sentence, with the page's minus: 0.251, 1e−6."""
    return re.sub(r"e\+?(−?)0*", r"e\1", f"{value:.{digits}g}".replace("-", "−"))
