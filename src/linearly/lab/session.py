"""The lab's state machine: messages change points, algorithm and parameters; answers are computed by the library.

There is no web in it. A message is a dict with a field ``do``; the reply is a dict of plain data. Whoever carries
them (the server, the widget, a test) sees the same session.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from linearly.evaluation.evaluate import evaluate
from linearly.lab import classifier_animations, curve_animations
from linearly.lab.animation import Animation, FrameDetails, capture_warnings
from linearly.lab.catalogue import ALGORITHMS, catalogue
from linearly.lab.code_snippet import listing
from linearly.lab.perceptron_animations import ESTIMATORS, perceptron_animation, until
from linearly.lab.point_import import columns_of_text, described, refuse_few, state_of
from linearly.lab.presets import preset, presets
from linearly.lab.state import (
    MOST_POINTS,
    State,
    checked_algorithm,
    checked_number,
    checked_view,
    checked_whole,
    restored,
    view_of,
)

_LONGEST_UNDO = 200
_GRID = (84, 64)  # places at which votes are counted

_SHOWN = {
    "accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1", "macro_precision": "precision",
    "macro_recall": "recall", "macro_f1": "F1", "log_loss": "log-loss", "r_squared": "R²", "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip


class Session:
    """Points, an algorithm, its film, and a way back."""

    def __init__(self, state: State | None = None, note: str = "") -> None:
        self._begun, self._told = state, note
        self.state = preset("separable") if state is None else state
        self.preset = "separable" if state is None else ""
        self.note = note
        self._past: list[State] = []
        self._future: list[State] = []
        self._dragging: int | None = None
        self._aspect = 1.25
        self._films: dict[Any, Animation | str] = {}

    def anew(self) -> Session:
        """A session that begins as this one began, with the films that are made already."""
        session = Session(self._begun, self._told)
        session._films.update(self._films)
        return session

    # --- messages

    def handle(self, message: Any) -> dict[str, Any]:
        """The reply to a message; a `ValueError` says what is wrong with it."""
        if not isinstance(message, dict) or not isinstance(message.get("do"), str):
            raise ValueError('A message is an object with a field "do".')
        fields = dict(message)
        do = fields.pop("do")
        at, aspect = fields.pop("at", None), fields.pop("aspect", 1.25)
        if at is not None and (not isinstance(at, int) or isinstance(at, bool) or at < 0):
            raise ValueError(f"at must be the number of a frame, not {at!r}.")
        if not isinstance(aspect, (int, float)) or isinstance(aspect, bool) or not 0.25 <= aspect <= 5:
            raise ValueError(f"aspect must be width over height of the plane, from 0.25 to 5, not {aspect!r}.")
        self._aspect = float(aspect)
        if do not in _ACTIONS:
            raise ValueError(f"The lab cannot do {do!r}; it can do {', '.join(_ACTIONS)}.")
        action, needed, optional = _ACTIONS[do]
        for name in fields:
            if name not in needed and name not in optional:
                raise ValueError(f"{do!r} has no field {name!r}.")
        for name in needed:
            if name not in fields:
                raise ValueError(f"{do!r} needs the field {name!r}.")
        found: dict[str, Any] | None = action(self, **fields)
        if found is not None:
            return found | ({"still": self.still(at)} if do == "frame" else {})
        return self.reply(at)

    def reply(self, at: int | None = None) -> dict[str, Any]:
        """State, film and evidence."""
        told = {
            "state": self.state.to_dict(),
            "settings": self.state.settings(),
            "answer": self._answer(self.state, at),
            "undo": len(self._past),
            "redo": len(self._future),
            "preset": self.preset,
            "note": self.note,
        }
        if self.state.rival:
            rival = self.state.as_rival()
            told["rival_settings"] = rival.settings()
            told["rival"] = self._answer(rival, None)
        return told

    # --- what changes

    def add(self, x: Any, y: Any, label: Any) -> None:
        """Put down a point."""
        if len(self.state.points) >= MOST_POINTS:
            raise ValueError(f"The plane is full: {MOST_POINTS} points.")
        point = (*self._place(x, y), checked_whole(label, "label", len(self.state.classes)))
        self._become(replace(self.state, points=(*self.state.points, point)))

    def move(self, index: Any, x: Any, y: Any, drag: Any = "") -> None:
        """Move a point. A drag is many moves, all "on" but the last, which is the "end"; it is undone as one."""
        if drag not in ("", "on", "end"):
            raise ValueError(f'drag must be "on" or "end", not {drag!r}.')
        i = self._index(index)
        points = list(self.state.points)
        points[i] = (*self._place(x, y), points[i][2])
        moved = replace(self.state, points=tuple(points))
        if drag and self._dragging == i:
            self.state, self.preset = moved, ""
        else:
            self._become(moved)
        self._dragging = i if drag == "on" else None

    def remove(self, index: Any) -> None:
        """Take a point away."""
        i = self._index(index)
        self._become(replace(self.state, points=self.state.points[:i] + self.state.points[i + 1 :]))

    def flip(self, index: Any) -> None:
        """Give a point the next label that is in use, or the other of the first two."""
        i = self._index(index)
        x, y, label = self.state.points[i]
        used = sorted({point[2] for point in self.state.points} | {0, min(1, len(self.state.classes) - 1)})
        after = used[(used.index(label) + 1) % len(used)]
        points = (*self.state.points[:i], (x, y, after), *self.state.points[i + 1 :])
        self._become(replace(self.state, points=points))

    def clear(self) -> None:
        """An empty plane."""
        self._become(replace(self.state, points=()))

    def choose_preset(self, name: Any) -> None:
        """Other points, with the algorithm that shows why they are worth a look; a rival stays if it can."""
        new = self._framed(preset(name))
        if new.algorithm == self.state.algorithm:
            new = replace(new, parameters=self.state.parameters)
        rival = self.state.rival
        if rival not in ("", new.algorithm) and ALGORITHMS[rival].task == new.method.task:
            new = replace(new, rival=rival, rival_parameters=self.state.rival_parameters)
        self._become(new)
        self.preset = name

    def choose_algorithm(self, name: Any) -> None:
        """Another algorithm on the same points, its parameters at their defaults."""
        algorithm = checked_algorithm(name)
        new = replace(self.state, algorithm=algorithm, parameters={})
        if new.rival and ALGORITHMS[new.rival].task != new.method.task:
            new = replace(new, rival="", rival_parameters={})
        self._become(new)

    def choose_rival(self, name: Any) -> None:
        """A second algorithm beside the first; "" for none."""
        rival = checked_algorithm(name) if name != "" else ""
        if rival and ALGORITHMS[rival].task != self.state.method.task:
            raise ValueError(f"{ALGORITHMS[rival].title} reads the plane differently from {self.state.method.title}.")
        self._become(replace(self.state, rival=rival, rival_parameters={}))

    def set_parameter(self, name: Any, value: Any, rival: Any = False) -> None:
        """Turn a parameter of the algorithm, or of its rival."""
        which = self.state.rival if rival is True else self.state.algorithm
        if not which:
            raise ValueError("There is no rival to set a parameter of.")
        held = self.state.rival_parameters if rival is True else self.state.parameters
        values = ALGORITHMS[which].checked({**held, name: value})
        if rival is True:
            self._become(replace(self.state, rival_parameters=values))
        else:
            self._become(replace(self.state, parameters=values))

    def set_view(self, view: Any = None) -> None:
        """Other edges of the plane; without any, those that show all points."""
        edges = view_of(self.state.points, self._aspect) if view is None else checked_view(view)
        self.state = replace(self.state, view=edges)

    def undo(self) -> None:
        """Back by one change."""
        if self._past:
            self._future.append(self.state)
            self.state, self.preset = self._past.pop(), ""
            self._dragging = None

    def redo(self) -> None:
        """Forward again."""
        if self._future:
            self._past.append(self.state)
            self.state, self.preset = self._future.pop(), ""
            self._dragging = None

    def restore(self, state: Any) -> None:
        """The state of a share link."""
        self._become(restored(state))

    def load(self, text: Any, x: Any = None, y: Any = None, target: Any = None) -> None:
        """Points from the text of a CSV file."""
        new, note = state_of(self._columns(text), x, y, target)
        new = self._framed(new)
        if ALGORITHMS[self.state.algorithm].task == new.method.task:
            new = replace(new, algorithm=self.state.algorithm, parameters=self.state.parameters)
        self._become(new)
        self.note = note

    # --- what is only asked

    def open(self) -> dict[str, Any]:
        """All that a page needs to begin."""
        self.state = self._framed(self.state)
        return {"algorithms": catalogue(), "presets": presets(), **self.reply()}

    def columns(self, text: Any) -> dict[str, Any]:
        """The columns of a CSV text, to choose from."""
        told = described(self._columns(text))
        refuse_few(told)  # before somebody chooses from a list of none
        return {"columns": told}

    def frame(self) -> dict[str, Any]:
        """The evidence of one frame, no more."""
        return {}

    def film(self, state: State | None = None) -> Animation | str:
        """The film of the current state, or in words why there is none."""
        state = self.state if state is None else state
        curve = state.method.task == "curve"
        quick = self._dragging is not None  # a picture beside the plane can wait for the end of a drag
        key = (
            state.points, state.classes, state.names, state.algorithm, repr(state.settings()), curve and state.view,
            quick and state.algorithm == "logistic",
        )  # fmt: skip
        if key not in self._films:
            while len(self._films) >= 4:
                self._films.pop(next(iter(self._films)))
            try:
                self._films[key] = _film(state, quick)
            except (ValueError, np.linalg.LinAlgError) as error:
                self._films[key] = str(error)
        return self._films[key]

    def still(self, at: int | None = None, state: State | None = None) -> dict[str, Any] | None:
        """The evidence of a frame, the last by default."""
        state = self.state if state is None else state
        film = self.film(state)
        if isinstance(film, str):
            return None
        at = film.count - 1 if at is None else min(at, film.count - 1)
        still = film.stills(at)
        told = {
            "at": at,
            "words": still.words,
            "facts": [[name, _plain(value)] for name, value in still.facts],
            "terms": [[name, _plain(value), _plain(error)] for name, value, error in still.terms],
            "code": None if self._dragging is not None else listing(state, still.code),
            **_judged(state, still),
        }
        if film.shade == "votes":
            told["votes"] = _votes(film, still, at, state, coarse=self._dragging is not None)
        return told

    # --- inside

    def _answer(self, state: State, at: int | None) -> dict[str, Any]:
        film = self.film(state)
        if isinstance(film, str):
            return {"trouble": film, "film": None, "still": None, "warnings": []}
        still = self.still(at, state)
        assert still is not None
        told = film.to_dict(still["at"] if self._dragging is not None else None)
        return {"trouble": "", "film": told, "still": still, "warnings": list(film.notes)}

    def _become(self, new: State) -> None:
        self._past.append(self.state)
        del self._past[:-_LONGEST_UNDO]
        self._future.clear()
        self._dragging = None
        self.note = ""
        if new.points != self.state.points:
            self.preset = ""
        self.state = new

    def _framed(self, state: State) -> State:
        return replace(state, view=view_of(state.points, self._aspect))

    def _index(self, index: Any) -> int:
        if not self.state.points:
            raise ValueError("There are no points.")
        return checked_whole(index, "index", len(self.state.points))

    def _place(self, x: Any, y: Any) -> tuple[float, float]:
        return checked_number(x, "x"), checked_number(y, "y")

    def _columns(self, text: Any) -> dict[str, list[str]]:
        if not isinstance(text, str):
            raise ValueError("text must be the text of a CSV file.")
        return columns_of_text(text)


_ACTIONS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]] = {
    "open": (Session.open, (), ()),
    "add": (Session.add, ("x", "y", "label"), ()),
    "move": (Session.move, ("index", "x", "y"), ("drag",)),
    "remove": (Session.remove, ("index",), ()),
    "flip": (Session.flip, ("index",), ()),
    "clear": (Session.clear, (), ()),
    "preset": (Session.choose_preset, ("name",), ()),
    "algorithm": (Session.choose_algorithm, ("name",), ()),
    "rival": (Session.choose_rival, ("name",), ()),
    "parameter": (Session.set_parameter, ("name", "value"), ("rival",)),
    "view": (Session.set_view, (), ("view",)),
    "undo": (Session.undo, (), ()),
    "redo": (Session.redo, (), ()),
    "restore": (Session.restore, ("state",), ()),
    "load": (Session.load, ("text",), ("x", "y", "target")),
    "columns": (Session.columns, ("text",), ()),
    "frame": (Session.frame, (), ()),
}


def _film(state: State, quick: bool) -> Animation:
    X, labels = state.columns()
    settings = state.settings()
    task = state.method.task
    if task == "truth":
        return curve_animations.bias_variance_animation(X, settings)
    if task == "curve":
        if len(np.unique(X[:, 0])) < 2:
            raise ValueError("Put down two points or more, at different x.")
        make: Any = getattr(curve_animations, f"{state.algorithm}_animation")
        return make(X[:, 0], X[:, 1], state.view, state.names[0], settings)  # type: ignore[no-any-return]
    if len(np.unique(labels)) < 2:
        raise ValueError("Put down points of two colours.")
    y = np.array(state.classes)[labels]
    if state.algorithm in ESTIMATORS:
        return perceptron_animation(state.algorithm, X, y, state.names, settings)
    if state.algorithm == "logistic":
        return classifier_animations.logistic_animation(X, y, state.names, settings, quick)
    make = getattr(classifier_animations, f"{state.algorithm}_animation")
    return make(X, y, state.names, settings)  # type: ignore[no-any-return]


def _judged(state: State, still: FrameDetails) -> dict[str, Any]:
    """Confusion matrix and figures of a frame, from `evaluate`."""
    if still.model is None:
        return {"metrics": [], "confusion": None}
    X, labels = state.columns()
    with capture_warnings():
        if state.method.task == "curve":
            result = evaluate(still.model, X[:, :1], X[:, 1])
        else:
            result = evaluate(still.model, X, np.array(state.classes)[labels])
    metrics = [
        [_SHOWN[row["metric"]], _plain(row["value"]), _plain(row.get("conf_low")), _plain(row.get("conf_high"))]
        for row in result.metrics
        if row["metric"] in _SHOWN
    ]
    if result.confusion is None:
        return {"metrics": metrics, "confusion": None}
    rows = list(result.confusion)
    counts = [[int(value) for key, value in row.items() if key != "actual"] for row in rows]
    return {"metrics": metrics, "confusion": {"labels": [str(row["actual"]) for row in rows], "counts": counts}}


def _votes(film: Animation, still: FrameDetails, at: int, state: State, coarse: bool) -> dict[str, Any]:
    """Who wins the vote over the view, and by how much."""
    left, right, bottom, top = state.view
    nx, ny = (side // 3 for side in _GRID) if coarse else _GRID
    x = left + (np.arange(nx) + 0.5) * (right - left) / nx
    y = bottom + (np.arange(ny) + 0.5) * (top - bottom) / ny
    places = np.column_stack([np.tile(x, ny), np.repeat(y, nx)])
    votes = until(film.model.mistake_log_, at).vote(places)
    if votes.ndim == 1:
        winner, share = (votes >= 0).astype(int), np.abs(votes)
    else:
        order = np.sort(votes, axis=1)
        winner, share = np.argmax(votes, axis=1), order[:, -1] - order[:, -2]
    X, labels = state.columns()
    wrong = np.flatnonzero(still.model.predict(X) != np.array(state.classes)[labels])
    return {
        "nx": nx,
        "ny": ny,
        "view": list(state.view),
        "winner": winner.tolist(),
        "strength": np.rint(100 * share).astype(int).tolist(),
        "wrong": wrong.tolist(),
    }


def _plain(value: Any) -> Any:
    """Standard JSON has no NaN and no infinity."""
    if isinstance(value, (np.integer, int)) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value
