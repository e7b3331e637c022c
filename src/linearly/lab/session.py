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

from linearly.algorithm.separability.decide import separability
from linearly.evaluation.evaluate import evaluate_rows
from linearly.kernels.double_double import Array
from linearly.lab.animation import Animation, FrameDetails, capture_warnings
from linearly.lab.catalogue import ALGORITHMS, is_number
from linearly.lab.classifier_animations import discriminant_animation, indicator_animation, logistic_animation
from linearly.lab.code_snippet import full_program
from linearly.lab.curve_animations import (
    bias_variance_animation,
    degree_errors,
    gradient_descent_animation,
    lasso_animation,
    least_squares_animation,
    ridge_animation,
    without_point,
)
from linearly.lab.generators import GENERATOR, KINDS, generate
from linearly.lab.lessons import lesson_state, lessons
from linearly.lab.lifts import LIFTS, lift, lift_picture, lifted_names
from linearly.lab.perceptron_animations import ESTIMATORS, log_until, perceptron_animation
from linearly.lab.point_import import check_two_numeric, describe_columns, parse_csv, state_from_columns
from linearly.lab.presets import preset, presets
from linearly.lab.split import error_curves, in_all_rows
from linearly.lab.state import (
    CLASSES,
    MAX_POINTS,
    State,
    check_algorithm,
    check_index,
    check_number,
    check_option,
    check_view,
    fit_view,
    state_from_dict,
)
from linearly.lab.thresholds import ThresholdClassifier, roc_curve

ACTIONS = (
    "open", "add", "move", "remove", "flip", "clear", "choose_preset", "choose_algorithm", "choose_comparison",
    "set_parameter", "set_option", "generate", "choose_lesson", "set_view", "undo", "redo", "restore", "load",
    "columns", "check", "frame", "without_point",
)  # fmt: skip
_MAX_UNDO = 200
_MAX_ANIMATIONS = 4  # kept in memory
_VOTE_GRID = (84, 64)  # places at which votes are counted

_METRIC_TITLES = {
    "accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1", "macro_precision": "precision",
    "macro_recall": "recall", "macro_f1": "F1", "log_loss": "log-loss", "roc_auc": "ROC AUC",
    "r_squared": "R²", "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip
_CURVES = {
    "least_squares": least_squares_animation, "gradient_descent": gradient_descent_animation, "ridge": ridge_animation,
}  # fmt: skip
_CLASSIFIERS: dict[str, Any] = {
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
        self._past: list[tuple[State, str]] = []  # states with the name of their preset
        self._future: list[tuple[State, str]] = []
        self._dragging: int | None = None  # the point of the drag that goes on, which is undone as one change
        self._quick = False  # while the point moves, replies contain only what a drag shows
        self._chosen: dict[str, int] = {}  # opening frames of before the drag, by algorithm
        self._aspect = 1.25
        self._generator = GENERATOR.defaults()
        self._animations: dict[Any, Animation | str] = {}

    def restarted(self) -> Session:
        """Return a session that begins as this one began, with the animations computed so far."""
        session = Session(*self._initial)
        session._animations.update(self._animations)
        return session

    def handle(self, message: Any) -> dict[str, Any]:
        """Return the reply to a message; raise `ValueError` if the message is not valid."""
        if not isinstance(message, dict) or not isinstance(message.get("do"), str):
            raise ValueError('The message must be an object with a field "do".')
        fields = dict(message)
        do = fields.pop("do")
        at, aspect = fields.pop("at", None), fields.pop("aspect", 1.25)
        if at is not None and (not isinstance(at, int) or isinstance(at, bool) or at < 0):
            raise ValueError(f"at must be a frame number, not {at!r}.")
        if not is_number(aspect) or not 0.25 <= aspect <= 5:
            raise ValueError(f"aspect (width over height of the plane) must be from 0.25 to 5, not {aspect!r}.")
        self._aspect = float(aspect)
        if do not in ACTIONS:
            raise ValueError(f"{do!r} is not an action. Choose one of {', '.join(ACTIONS)}.")
        if do == "frame":
            fields["at"] = at
        action = getattr(self, do)
        arguments = inspect.signature(action).parameters
        for name in fields:
            if name not in arguments:
                raise ValueError(f"{name!r} is not a field of the action {do!r}. Remove it.")
        for name, argument in arguments.items():
            if argument.default is argument.empty and name not in fields:
                raise ValueError(f"The action {do!r} requires the field {name!r}. Add it.")
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
            "test": self.state.test().tolist(),
            "generator": self._generator,
        }
        if self.state.comparison:
            compared = self.state.compared()
            reply |= {"comparison_settings": compared.settings(), "comparison": self._answer(compared, None)}
        return reply

    # --- actions that change the state

    def add(self, x: Any, y: Any, label: Any) -> None:
        """Add a point."""
        if len(self.state.points) >= MAX_POINTS:
            raise ValueError(f"The plane is full ({MAX_POINTS} points). Delete one first.")
        point = (check_number(x, "x"), check_number(y, "y"), check_index(label, "label", len(self.state.classes)))
        self._set_state(replace(self.state, points=(*self.state.points, point)))

    def move(self, index: Any, x: Any, y: Any, drag: Any = "") -> None:
        """Move a point. A drag is many moves, undone as one: "on" while it moves, "rest" if it pauses, then "end"."""
        if drag not in ("", "on", "rest", "end"):
            raise ValueError(f'drag must be "on", "rest" or "end", not {drag!r}.')
        i = self._check_point(index)
        moved = self._with_point(i, check_number(x, "x"), check_number(y, "y"), self.state.points[i][2])
        if drag == "on" and not self._quick:
            self._chosen = self._opening_frames()
        if drag and self._dragging == i:
            self.state, self.preset = moved, ""
        else:
            self._set_state(moved)
        self._dragging = i if drag in ("on", "rest") else None
        self._quick = drag == "on"

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
            raise ValueError(
                f"{ALGORITHMS[other].title} uses the plane differently from {self.state.method.title}. Choose "
                "another algorithm to compare with."
            )
        self._set_state(replace(self.state, comparison=other, comparison_parameters={}))

    def set_parameter(self, name: Any, value: Any, comparison: Any = False) -> None:
        """Set a parameter of the algorithm, or of the one that it is compared with."""
        prefix = "comparison_" if comparison is True else ""
        algorithm = self.state.comparison if comparison is True else self.state.algorithm
        if not algorithm:
            raise ValueError("The second algorithm is not chosen yet. Choose one first.")
        given = {**getattr(self.state, f"{prefix}parameters"), name: value}
        changed: dict[str, Any] = {f"{prefix}parameters": ALGORITHMS[algorithm].check_settings(given)}
        self._set_state(replace(self.state, **changed))

    def set_option(self, name: Any, value: Any) -> None:
        """Set the third feature, the share of test points, their draw, or the threshold."""
        self._set_state(replace(self.state, **{name: check_option(name, value)}))

    def generate(self, settings: Any) -> None:
        """Draw points with the settings of the generator; keep the algorithm if it suits them."""
        checked = GENERATOR.check_settings(settings)
        new = replace(self.state, points=generate(checked), classes=CLASSES, names=("x", "y"))
        curve = checked["kind"] == "line"
        if (new.method.task == "curve") != curve or new.method.task == "truth":
            algorithm = KINDS[checked["kind"]][2]
            new = replace(new, algorithm=algorithm, parameters={}, comparison="", comparison_parameters={})
        self._set_state(self._with_fitted_view(new))
        self._generator = checked

    def choose_lesson(self, name: Any) -> None:
        """Set the scene of a lesson."""
        new, points = lesson_state(name)
        self._set_state(self._with_fitted_view(new))
        self.preset = points

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
        return {
            "algorithms": [vars(one) for one in ALGORITHMS.values()], "presets": presets(), "lessons": lessons(),
            "generator_parameters": GENERATOR.parameters, "lifts": [[name, one[0]] for name, one in LIFTS.items()],
            **self.reply(),
        }  # fmt: skip

    def columns(self, text: Any) -> dict[str, Any]:
        """Return the columns of a CSV text, to choose from."""
        described = describe_columns(parse_csv(text))
        check_two_numeric(described)  # before the viewer is shown an empty list
        return {"columns": described}

    def check(self) -> dict[str, Any]:
        """Return the verdict on separability, and whether its proof holds in integer arithmetic."""
        X, labels = self.state.columns()
        certificate = separability(X, np.array(self.state.classes)[labels], names=self.state.names)
        return {"verdict": certificate.verdict, "proven": certificate.check()}

    def frame(self, at: int | None = None) -> dict[str, Any]:
        """Return the details of one frame."""
        return {"details": self.frame_details(at)}

    def without_point(self, index: Any) -> dict[str, Any]:
        """Return the least-squares curve without one of the training points, and the influence of that point."""
        state, i = self.state, self._check_point(index)
        training = np.setdiff1d(np.arange(len(state.points)), state.test())
        if state.algorithm != "least_squares" or i not in training:
            raise ValueError("Only a least-squares training point can be left out. Select one.")
        X, y = state.design()
        animation = self.animation()
        if isinstance(animation, str) or animation.at is None:
            raise ValueError("The plane contains no curve yet. Add points.")
        row = int(np.searchsorted(training, i))
        degree = state.settings()["degree"]
        return {"without": without_point(X[training, 0], y[training], row, animation.at, state.names[0], degree)}

    # --- what the library computes

    def animation(self, state: State | None = None) -> Animation | str:
        """Return the animation of a state (the current one by default), or the reason why there is none."""
        state = self.state if state is None else state
        is_curve = state.method.task == "curve"
        chosen = self._chosen.get(state.algorithm, 0) if self._quick else None
        key = (
            state.points, state.classes, state.names, state.algorithm, repr(state.settings()), is_curve and state.view,
            chosen, state.lift, state.test_share and (state.test_share, state.split_seed),
        )  # fmt: skip
        if key not in self._animations:
            while len(self._animations) >= _MAX_ANIMATIONS:
                self._animations.pop(next(iter(self._animations)))
            try:
                self._animations[key] = _animate(state, chosen)
            except (ValueError, np.linalg.LinAlgError) as error:
                self._animations[key] = str(error)
        return self._animations[key]

    def frame_details(self, at: int | None = None, state: State | None = None) -> dict[str, Any] | None:
        """Return the text, tables and code of a frame, by default the one that the animation opens with."""
        state = self.state if state is None else state
        animation = self.animation(state)
        if isinstance(animation, str):
            return None
        at = animation.opening_frame if at is None else min(at, animation.count - 1)
        frame = animation.details(at)
        shown = {
            "at": at,
            "words": frame.words,
            "facts": [[name, _finite(value)] for name, value in frame.facts],
            "terms": [[name, _finite(value), _finite(error)] for name, value, error in frame.terms],
            "terms_title": frame.terms_title,
            "code": None if self._quick else full_program(state, frame.code),
            **_evaluate_frame(state, frame, _has_threshold(animation)),
        }
        if animation.shade == "votes":
            shown["votes"] = _count_votes(animation, frame, at, state, coarse=self._quick)
        return shown

    def _answer(self, state: State, at: int | None) -> dict[str, Any]:
        animation = self.animation(state)
        if isinstance(animation, str):
            return {"trouble": animation, "animation": None, "details": None, "warnings": []}
        details = self.frame_details(at, state)
        assert details is not None
        sent = animation.to_dict(details["at"] if self._quick else None)
        answer = {"trouble": "", "animation": sent, "details": details, "warnings": list(animation.notes)}
        return answer | ({"threshold": state.threshold} if _has_threshold(animation) else {})

    def _set_state(self, new: State) -> None:
        """Make a change that can be undone."""
        self._past.append((self.state, self.preset))
        del self._past[:-_MAX_UNDO]
        self._future.clear()
        self._dragging, self._quick = None, False
        self.note = ""
        if new.points != self.state.points:
            self.preset = ""
        self.state = new

    def _step(self, source: list[tuple[State, str]], other: list[tuple[State, str]]) -> None:
        if source:
            other.append((self.state, self.preset))
            self.state, self.preset = source.pop()
            self._dragging, self._quick = None, False

    def _opening_frames(self) -> dict[str, int]:
        states = [self.state, *([self.state.compared()] if self.state.comparison else [])]
        animations = {state.algorithm: self.animation(state) for state in states}
        return {name: one.opening_frame for name, one in animations.items() if not isinstance(one, str)}

    def _with_point(self, i: int, x: float, y: float, label: int) -> State:
        return replace(self.state, points=(*self.state.points[:i], (x, y, label), *self.state.points[i + 1 :]))

    def _with_fitted_view(self, state: State) -> State:
        return replace(state, view=fit_view(state.points, self._aspect))

    def _check_point(self, index: Any) -> int:
        if not self.state.points:
            raise ValueError("The plane contains no points. Add some first.")
        return check_index(index, "index", len(self.state.points))


def _has_threshold(animation: Animation) -> bool:
    """Return whether two classes are told apart by a probability, whose threshold can be chosen."""
    return animation.shade == "probability" and len(animation.classes) == 2


def _animate(state: State, chosen: int | None) -> Animation:
    """Return the animation of a state; while a point moves, `chosen` is the frame that opened before the drag."""
    settings, test = state.settings(), state.test()
    if state.method.task == "truth":
        return bias_variance_animation(state.columns()[0], settings)
    X, y = state.design()
    training = np.setdiff1d(np.arange(len(y)), test)
    animation = _animate_training(state, X[training], y[training], settings, chosen)
    if state.lift:
        animation = _lifted(animation, state)
    if not len(test):
        return animation
    animation = in_all_rows(animation, training)
    sets = {"training": (X[training], y[training]), "test": (X[test], y[test])}
    if chosen is not None or (state.method.task == "classes" and not set(y[test]) <= set(y[training])):
        return animation
    if state.algorithm == "least_squares":
        picture: Any = degree_errors({name: (x[:, 0], v) for name, (x, v) in sets.items()}, settings["degree"])
    else:
        picture = error_curves(animation, sets)
    return replace(animation, more=(picture, *animation.more)) if picture else animation


def _lifted(animation: Animation, state: State) -> Animation:
    """Return an animation of three features, which a plane separates."""
    scene = dict(animation.scene)
    if "certificate" in scene:
        badge = scene["certificate"]["badge"].replace("A line", "A plane").replace("a line", "a plane")
        scene["certificate"] = scene["certificate"] | {"badge": badge}
    return replace(animation, lift=state.lift, picture=lift_picture(state.lift, state.names), scene=scene)


def _animate_training(state: State, X: Array, y: Any, settings: dict[str, Any], chosen: int | None) -> Animation:
    quick = chosen is not None
    if state.method.task == "curve":
        if len(np.unique(X)) < 2:
            raise ValueError("Add at least two points with different x.")
        given = X[:, 0], y, state.view, state.names[0], settings
        return lasso_animation(*given, chosen) if state.algorithm == "lasso" else _CURVES[state.algorithm](*given)
    if len(np.unique(y)) < 2:
        raise ValueError("Add points of two colours.")
    names = lifted_names(state.lift, state.names)
    if state.algorithm == "logistic":
        return logistic_animation(X, y, names, settings, quick)
    if state.algorithm in ESTIMATORS:
        return perceptron_animation(state.algorithm, X, y, names, settings, quick)
    animation: Animation = _CLASSIFIERS[state.algorithm](X, y, names, settings)
    return animation


def _evaluate_frame(state: State, frame: FrameDetails, has_threshold: bool) -> dict[str, Any]:
    """Return the confusion matrix and the metrics of a frame, as `evaluate` computes them; on test points too."""
    if frame.model is None:
        return {"metrics": [], "confusion": None}
    X, y = state.design()
    test, model = state.test(), frame.model
    training = np.setdiff1d(np.arange(len(y)), test)
    if has_threshold and state.threshold != 0.5:
        model = ThresholdClassifier(model, state.threshold)
    shown = _evaluate_rows(model, X[training], y[training])
    if has_threshold:
        probability = np.asarray(frame.model.predict_proba(X[training]))[:, 1]
        shown["roc"] = roc_curve(probability, y[training] == model.classes_[1], state.threshold)
    if len(test):
        shown["test"] = _evaluate_rows(model, X[test], y[test])
    return shown


def _evaluate_rows(model: Any, X: Array, y: Any) -> dict[str, Any]:
    classes = getattr(model, "classes_", None)
    # The second of two classes is positive: its score or probability is what the model computes.
    positive = None if classes is None or len(classes) != 2 else classes[1]
    try:
        with capture_warnings():
            result = evaluate_rows(model, X, y, positive=positive)
    except ValueError:  # a label that the training points do not have
        return {"metrics": [], "confusion": None, "n": len(y)}
    metrics = [
        [_METRIC_TITLES[row["metric"]], *(_finite(row.get(key)) for key in ("value", "conf_low", "conf_high"))]
        for row in result.metrics
        if row["metric"] in _METRIC_TITLES
    ]
    shown: dict[str, Any] = {"metrics": metrics, "confusion": None, "n": result.n}
    if result.confusion is not None:
        rows = list(result.confusion)
        counts = [[int(value) for key, value in row.items() if key != "actual"] for row in rows]
        shown["confusion"] = {"labels": [str(row["actual"]) for row in rows], "counts": counts}
    if result.kind == "binary":
        shown["positive"] = str(result.labels[0])
    return shown


def _count_votes(animation: Animation, frame: FrameDetails, at: int, state: State, coarse: bool) -> dict[str, Any]:
    """Return the winner of the vote on a grid over the view, its lead, and the points that the vote gets wrong."""
    left, right, bottom, top = state.view
    nx, ny = (side // 3 for side in _VOTE_GRID) if coarse else _VOTE_GRID
    x = left + (np.arange(nx) + 0.5) * (right - left) / nx
    y = bottom + (np.arange(ny) + 0.5) * (top - bottom) / ny
    places = lift(state.lift, np.column_stack([np.tile(x, ny), np.repeat(y, nx)]))
    votes = log_until(animation.model.mistake_log_, at).vote(places)
    if votes.ndim == 1:
        winner, share = (votes >= 0).astype(int), np.abs(votes)
    else:
        order = np.sort(votes, axis=1)
        winner, share = np.argmax(votes, axis=1), order[:, -1] - order[:, -2]
    X, labels = state.design()
    wrong = np.flatnonzero(frame.model.predict(X) != labels)
    strength = np.rint(100 * share).astype(int).tolist()
    grid = {"nx": nx, "ny": ny, "view": list(state.view)}
    return grid | {"winner": winner.tolist(), "strength": strength, "wrong": wrong.tolist()}


def _finite(value: Any) -> Any:
    """Return None instead of NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
