"""Run the lab without the web: messages change points and models, replies carry what the library computes.

A message is a dict whose field ``do`` names an action, one of `ACTIONS`; its other fields are the arguments of the
method of that name. The reply is a dict of JSON values. The server, the widget and the tests use the same class.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from linearly.evaluation.evaluate import evaluate
from linearly.lab.animation import Animation, FrameDetails, capture_warnings
from linearly.lab.catalogue import ALGORITHMS, is_number
from linearly.lab.classifier_animations import discriminant_animation, indicator_animation, logistic_animation
from linearly.lab.code_snippet import full_program
from linearly.lab.curve_animations import (
    bias_variance_animation,
    gradient_descent_animation,
    least_squares_animation,
    ridge_animation,
)
from linearly.lab.perceptron_animations import ESTIMATORS, log_until, perceptron_animation
from linearly.lab.point_import import check_two_numeric, describe_columns, parse_csv, state_from_columns
from linearly.lab.presets import preset, presets
from linearly.lab.state import (
    MAX_POINTS,
    State,
    check_algorithm,
    check_index,
    check_number,
    check_view,
    fit_view,
    state_from_dict,
)

ACTIONS = (
    "open", "add", "move", "remove", "flip", "clear", "choose_preset", "choose_algorithm", "choose_comparison",
    "set_parameter", "set_view", "undo", "redo", "restore", "load", "columns", "frame",
)  # fmt: skip
_MAX_UNDO = 200
_MAX_ANIMATIONS = 4  # kept in memory
_VOTE_GRID = (84, 64)  # places at which votes are counted

_METRIC_TITLES = {
    "accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1", "macro_precision": "precision",
    "macro_recall": "recall", "macro_f1": "F1", "log_loss": "log-loss", "r_squared": "R²", "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip
_CURVES = {
    "least_squares": least_squares_animation, "gradient_descent": gradient_descent_animation, "ridge": ridge_animation,
}  # fmt: skip
_CLASSIFIERS: dict[str, Any] = {name: partial(perceptron_animation, name) for name in ESTIMATORS} | {
    "indicator": indicator_animation,
    "lda": partial(discriminant_animation, "lda"),
    "qda": partial(discriminant_animation, "qda"),
}


class Session:
    """Points, an algorithm, its animation, and the steps back and forth."""

    def __init__(self, state: State | None = None, note: str = "") -> None:
        self._initial = state, note
        self.state = preset("separable") if state is None else state
        self.preset = "separable" if state is None else ""
        self.note = note
        self._past: list[State] = []
        self._future: list[State] = []
        self._dragging: int | None = None
        self._aspect = 1.25
        self._animations: dict[Any, Animation | str] = {}

    def restarted(self) -> Session:
        """Return a session that begins as this one began, with the animations computed so far."""
        session = Session(*self._initial)
        session._animations.update(self._animations)
        return session

    def handle(self, message: Any) -> dict[str, Any]:
        """Return the reply to a message; raise `ValueError` if the message is not valid."""
        if not isinstance(message, dict) or not isinstance(message.get("do"), str):
            raise ValueError('A message is an object with a field "do".')
        fields = dict(message)
        do = fields.pop("do")
        at, aspect = fields.pop("at", None), fields.pop("aspect", 1.25)
        if at is not None and (not isinstance(at, int) or isinstance(at, bool) or at < 0):
            raise ValueError(f"at must be the number of a frame, not {at!r}.")
        if not is_number(aspect) or not 0.25 <= aspect <= 5:
            raise ValueError(f"aspect must be width over height of the plane, from 0.25 to 5, not {aspect!r}.")
        self._aspect = float(aspect)
        if do not in ACTIONS:
            raise ValueError(f"The lab cannot do {do!r}; it can do {', '.join(ACTIONS)}.")
        if do == "frame":
            fields["at"] = at
        action = getattr(self, do)
        arguments = inspect.signature(action).parameters
        for name in fields:
            if name not in arguments:
                raise ValueError(f"{do!r} has no field {name!r}.")
        for name, argument in arguments.items():
            if argument.default is argument.empty and name not in fields:
                raise ValueError(f"{do!r} needs the field {name!r}.")
        answer: dict[str, Any] | None = action(**fields)
        return self.reply(at) if answer is None else answer

    def reply(self, at: int | None = None) -> dict[str, Any]:
        """Return the state, its animation and the details of a frame."""
        reply = {
            "state": self.state.to_dict(),
            "settings": self.state.settings(),
            "answer": self._answer(self.state, at),
            "undo": len(self._past),
            "redo": len(self._future),
            "preset": self.preset,
            "note": self.note,
        }
        if self.state.comparison:
            compared = self.state.compared()
            reply |= {"comparison_settings": compared.settings(), "comparison": self._answer(compared, None)}
        return reply

    # --- actions that change the state

    def add(self, x: Any, y: Any, label: Any) -> None:
        """Add a point."""
        if len(self.state.points) >= MAX_POINTS:
            raise ValueError(f"The plane is full: {MAX_POINTS} points.")
        point = (check_number(x, "x"), check_number(y, "y"), check_index(label, "label", len(self.state.classes)))
        self._set_state(replace(self.state, points=(*self.state.points, point)))

    def move(self, index: Any, x: Any, y: Any, drag: Any = "") -> None:
        """Move a point. A drag is many moves, all "on" but the last, which is the "end"; it is undone as one."""
        if drag not in ("", "on", "end"):
            raise ValueError(f'drag must be "on" or "end", not {drag!r}.')
        i = self._check_point(index)
        moved = self._with_point(i, check_number(x, "x"), check_number(y, "y"), self.state.points[i][2])
        if drag and self._dragging == i:
            self.state, self.preset = moved, ""
        else:
            self._set_state(moved)
        self._dragging = i if drag == "on" else None

    def remove(self, index: Any) -> None:
        """Remove a point."""
        i = self._check_point(index)
        self._set_state(replace(self.state, points=self.state.points[:i] + self.state.points[i + 1 :]))

    def flip(self, index: Any) -> None:
        """Give a point the next label that is in use, or the other of the first two."""
        i = self._check_point(index)
        x, y, label = self.state.points[i]
        used = sorted({point[2] for point in self.state.points} | {0, min(1, len(self.state.classes) - 1)})
        self._set_state(self._with_point(i, x, y, used[(used.index(label) + 1) % len(used)]))

    def clear(self) -> None:
        """Remove all points."""
        self._set_state(replace(self.state, points=()))

    def choose_preset(self, name: Any) -> None:
        """Load a set of points with the algorithm that goes with it; keep a comparison that applies to it."""
        new = self._with_fitted_view(preset(name))
        if new.algorithm == self.state.algorithm:
            new = replace(new, parameters=self.state.parameters)
        other = self.state.comparison
        if other not in ("", new.algorithm) and ALGORITHMS[other].task == new.method.task:
            new = replace(new, comparison=other, comparison_parameters=self.state.comparison_parameters)
        self._set_state(new)
        self.preset = name

    def choose_algorithm(self, name: Any) -> None:
        """Apply another algorithm to the same points, with its default parameters."""
        new = replace(self.state, algorithm=check_algorithm(name), parameters={})
        if new.comparison and ALGORITHMS[new.comparison].task != new.method.task:
            new = replace(new, comparison="", comparison_parameters={})
        self._set_state(new)

    def choose_comparison(self, name: Any) -> None:
        """Show a second algorithm beside the first; "" for none."""
        other = check_algorithm(name) if name != "" else ""
        if other and ALGORITHMS[other].task != self.state.method.task:
            raise ValueError(f"{ALGORITHMS[other].title} reads the plane differently from {self.state.method.title}.")
        self._set_state(replace(self.state, comparison=other, comparison_parameters={}))

    def set_parameter(self, name: Any, value: Any, comparison: Any = False) -> None:
        """Set a parameter of the algorithm, or of the one that it is compared with."""
        prefix = "comparison_" if comparison is True else ""
        algorithm = self.state.comparison if comparison is True else self.state.algorithm
        if not algorithm:
            raise ValueError("There is no second algorithm to set a parameter of.")
        given = {**getattr(self.state, f"{prefix}parameters"), name: value}
        changed: dict[str, Any] = {f"{prefix}parameters": ALGORITHMS[algorithm].check_settings(given)}
        self._set_state(replace(self.state, **changed))

    def set_view(self, view: Any = None) -> None:
        """Set the edges of the plane; by default those that show all points."""
        edges = fit_view(self.state.points, self._aspect) if view is None else check_view(view)
        self.state = replace(self.state, view=edges)

    def undo(self) -> None:
        """Go back by one change."""
        self._step(self._past, self._future)

    def redo(self) -> None:
        """Go forward again."""
        self._step(self._future, self._past)

    def restore(self, state: Any) -> None:
        """Load the state of a share link."""
        self._set_state(state_from_dict(state))

    def load(self, text: Any, x: Any = None, y: Any = None, target: Any = None) -> None:
        """Load points from the text of a CSV file."""
        new, note = state_from_columns(parse_csv(text), x, y, target)
        new = self._with_fitted_view(new)
        if ALGORITHMS[self.state.algorithm].task == new.method.task:
            new = replace(new, algorithm=self.state.algorithm, parameters=self.state.parameters)
        self._set_state(new)
        self.note = note

    # --- actions that only return something

    def open(self) -> dict[str, Any]:
        """Return everything that a page needs to begin."""
        self.state = self._with_fitted_view(self.state)
        return {"algorithms": [vars(one) for one in ALGORITHMS.values()], "presets": presets(), **self.reply()}

    def columns(self, text: Any) -> dict[str, Any]:
        """Return the columns of a CSV text, to choose from."""
        described = describe_columns(parse_csv(text))
        check_two_numeric(described)  # before the viewer is shown an empty list
        return {"columns": described}

    def frame(self, at: int | None = None) -> dict[str, Any]:
        """Return the details of one frame."""
        return {"details": self.frame_details(at)}

    # --- what the library computes

    def animation(self, state: State | None = None) -> Animation | str:
        """Return the animation of a state (the current one by default), or the reason why there is none."""
        state = self.state if state is None else state
        is_curve = state.method.task == "curve"
        quick = self._dragging is not None  # the plot beside the plane can wait for the end of a drag
        key = (
            state.points, state.classes, state.names, state.algorithm, repr(state.settings()), is_curve and state.view,
            quick and state.algorithm == "logistic",
        )  # fmt: skip
        if key not in self._animations:
            while len(self._animations) >= _MAX_ANIMATIONS:
                self._animations.pop(next(iter(self._animations)))
            try:
                self._animations[key] = _animate(state, quick)
            except (ValueError, np.linalg.LinAlgError) as error:
                self._animations[key] = str(error)
        return self._animations[key]

    def frame_details(self, at: int | None = None, state: State | None = None) -> dict[str, Any] | None:
        """Return the text, tables and code of a frame, the last by default."""
        state = self.state if state is None else state
        animation = self.animation(state)
        if isinstance(animation, str):
            return None
        at = animation.count - 1 if at is None else min(at, animation.count - 1)
        frame = animation.details(at)
        shown = {
            "at": at,
            "words": frame.words,
            "facts": [[name, _finite(value)] for name, value in frame.facts],
            "terms": [[name, _finite(value), _finite(error)] for name, value, error in frame.terms],
            "code": None if self._dragging is not None else full_program(state, frame.code),
            **_evaluate_frame(state, frame),
        }
        if animation.shade == "votes":
            shown["votes"] = _count_votes(animation, frame, at, state, coarse=self._dragging is not None)
        return shown

    def _answer(self, state: State, at: int | None) -> dict[str, Any]:
        animation = self.animation(state)
        if isinstance(animation, str):
            return {"trouble": animation, "animation": None, "details": None, "warnings": []}
        details = self.frame_details(at, state)
        assert details is not None
        sent = animation.to_dict(details["at"] if self._dragging is not None else None)
        return {"trouble": "", "animation": sent, "details": details, "warnings": list(animation.notes)}

    def _set_state(self, new: State) -> None:
        """Make a change that can be undone."""
        self._past.append(self.state)
        del self._past[:-_MAX_UNDO]
        self._future.clear()
        self._dragging = None
        self.note = ""
        if new.points != self.state.points:
            self.preset = ""
        self.state = new

    def _step(self, source: list[State], other: list[State]) -> None:
        if source:
            other.append(self.state)
            self.state, self.preset, self._dragging = source.pop(), "", None

    def _with_point(self, i: int, x: float, y: float, label: int) -> State:
        return replace(self.state, points=(*self.state.points[:i], (x, y, label), *self.state.points[i + 1 :]))

    def _with_fitted_view(self, state: State) -> State:
        return replace(state, view=fit_view(state.points, self._aspect))

    def _check_point(self, index: Any) -> int:
        if not self.state.points:
            raise ValueError("There are no points.")
        return check_index(index, "index", len(self.state.points))


def _animate(state: State, quick: bool) -> Animation:
    X, labels = state.columns()
    settings = state.settings()
    if state.method.task == "truth":
        return bias_variance_animation(X, settings)
    if state.method.task == "curve":
        if len(np.unique(X[:, 0])) < 2:
            raise ValueError("Put down two points or more, at different x.")
        return _CURVES[state.algorithm](X[:, 0], X[:, 1], state.view, state.names[0], settings)
    if len(np.unique(labels)) < 2:
        raise ValueError("Put down points of two colours.")
    y = np.array(state.classes)[labels]
    if state.algorithm == "logistic":
        return logistic_animation(X, y, state.names, settings, quick)
    animation: Animation = _CLASSIFIERS[state.algorithm](X, y, state.names, settings)
    return animation


def _evaluate_frame(state: State, frame: FrameDetails) -> dict[str, Any]:
    """Return the confusion matrix and the metrics of a frame, as `evaluate` computes them."""
    if frame.model is None:
        return {"metrics": [], "confusion": None}
    X, labels = state.columns()
    with capture_warnings():
        if state.method.task == "curve":
            result = evaluate(frame.model, X[:, :1], X[:, 1])
        else:
            result = evaluate(frame.model, X, np.array(state.classes)[labels])
    metrics = [
        [_METRIC_TITLES[row["metric"]], *(_finite(row.get(key)) for key in ("value", "conf_low", "conf_high"))]
        for row in result.metrics
        if row["metric"] in _METRIC_TITLES
    ]
    if result.confusion is None:
        return {"metrics": metrics, "confusion": None}
    rows = list(result.confusion)
    counts = [[int(value) for key, value in row.items() if key != "actual"] for row in rows]
    return {"metrics": metrics, "confusion": {"labels": [str(row["actual"]) for row in rows], "counts": counts}}


def _count_votes(animation: Animation, frame: FrameDetails, at: int, state: State, coarse: bool) -> dict[str, Any]:
    """Return the winner of the vote on a grid over the view, its lead, and the points that the vote gets wrong."""
    left, right, bottom, top = state.view
    nx, ny = (side // 3 for side in _VOTE_GRID) if coarse else _VOTE_GRID
    x = left + (np.arange(nx) + 0.5) * (right - left) / nx
    y = bottom + (np.arange(ny) + 0.5) * (top - bottom) / ny
    places = np.column_stack([np.tile(x, ny), np.repeat(y, nx)])
    votes = log_until(animation.model.mistake_log_, at).vote(places)
    if votes.ndim == 1:
        winner, share = (votes >= 0).astype(int), np.abs(votes)
    else:
        order = np.sort(votes, axis=1)
        winner, share = np.argmax(votes, axis=1), order[:, -1] - order[:, -2]
    X, labels = state.columns()
    wrong = np.flatnonzero(frame.model.predict(X) != np.array(state.classes)[labels])
    strength = np.rint(100 * share).astype(int).tolist()
    grid = {"nx": nx, "ny": ny, "view": list(state.view)}
    return grid | {"winner": winner.tolist(), "strength": strength, "wrong": wrong.tolist()}


def _finite(value: Any) -> Any:
    """Return None instead of NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
