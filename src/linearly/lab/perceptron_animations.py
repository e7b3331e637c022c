"""Animate the perceptrons: one frame per update (per pass for the batch perceptron), read from the log of mistakes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.perceptron.error_counts import count_errors
from linearly.algorithm.perceptron.mistake_log import MistakeLog, apply_updates
from linearly.algorithm.separability.certificate import Certificate
from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import error_floor
from linearly.dataset.rows.block import as_rows
from linearly.formatting import pluralize
from linearly.kernels.double_double import Array
from linearly.lab.animation import (
    WHEN_AT_REST,
    Animation,
    FixedClassifier,
    FrameDetails,
    capture_warnings,
    format_fit,
    format_number,
    linear_terms,
    stack_weights,
)
from linearly.lab.separability_text import describe_separability, describe_with_scores, separability_badge
from linearly.models.averaged_perceptron import AveragedPerceptron
from linearly.models.batch_perceptron import BatchPerceptron, Correction
from linearly.models.perceptron import Perceptron
from linearly.models.pocket_perceptron import PocketPerceptron
from linearly.models.voted_perceptron import VotedPerceptron

MAX_FRAMES = 2001  # 2,000 updates and the start
_MAX_FLOOR_POINTS = 80  # points up to which the error floor is computed: about 20 ms

ESTIMATORS: dict[str, Any] = {
    "perceptron": Perceptron,
    "pocket": PocketPerceptron,
    "averaged": AveragedPerceptron,
    "voted": VotedPerceptron,
    "batch": BatchPerceptron,
}

_LINE_NAMES = {
    "perceptron": {"weights": "now"},
    "pocket": {"weights": "in the pocket", "walk": "now"},
    "averaged": {"weights": "average", "walk": "now"},
    "voted": {"walk": "newest voter"},
    "batch": {"weights": "now"},
}

_AFTER_UPDATE = """\
walk = [(w, b) for _, coef, intercept in model.mistake_log_.iter_weights() for w, b in zip(coef, intercept)]
w, b = walk[{last}]  # after update {update}"""
_AT_ZERO = "w, b = np.zeros(({vectors}, {features})), np.zeros({vectors})  # before the first update"
_LOG_UNTIL = """from dataclasses import replace

full = model.mistake_log_
log = replace(full, rows=full.rows[:{t}], codes=full.codes[:{t}], rivals=full.rivals[:{t}],
              times=full.times[:{t}], which=full.which[:{t}], seen={seen})
"""


def perceptron_animation(
    name: str, X: Array, y: NDArray[Any], names: tuple[str, ...], settings: dict[str, Any], quick: bool = False
) -> Animation:
    """Return the animation of one of the five perceptrons; with `quick` without the error floor."""
    given = dict(settings)
    if given.pop("shuffle", False):
        given |= {"shuffle": True, "random_state": 0}
    with capture_warnings() as notes:
        model = ESTIMATORS[name](**given).fit(X, y)
    fit_code = format_fit(type(model).__name__, given)
    return PerceptronAnimator(name, model, X, y, names, fit_code, quick).animation(notes)


class PerceptronAnimator:
    """Compute the frames of a fitted perceptron.

    walk        (b, w) at the start and after every update or pass: frames × vectors × 3
    errors      how many points each of them gets wrong
    best        for every frame, the first frame up to it with the fewest errors
    weights     what the model predicts with at each frame: the walk, the pocket or the average
    """

    def __init__(
        self, name: str, model: Any, X: Array, y: NDArray[Any], names: tuple[str, ...], fit_code: str, quick: bool
    ) -> None:
        self.name, self.model, self.names, self.fit_code, self.quick = name, model, names, fit_code, quick
        self.certificate = separability(X, y, names=names)
        self.classes = tuple(map(str, model.classes_.tolist()))
        self.two = len(self.classes) == 2
        self.rows = as_rows(X, np.searchsorted(model.classes_, y))
        self.walk = self._batch_walk() if name == "batch" else walk_of(model.mistake_log_)
        self.errors = count_errors(self.rows, self.walk[..., 1:], self.walk[..., 0])[:-1]
        self.best = first_best(self.errors)
        self.weights = self.walk
        if name == "pocket":
            self.weights = self.walk[self.best]
        elif name == "averaged":
            self.weights = running_averages(model.mistake_log_, self.walk)

    def animation(self, notes: list[str]) -> Animation:
        """Return all frames; `notes` are the warnings of the fit."""
        name, voted = self.name, self.name == "voted"
        marks: tuple[tuple[int, str], ...] = ()
        rows: tuple[int, ...] = ()
        if name != "batch":
            marks = _pass_marks(self.model.mistakes_per_pass_, len(self.walk))
            rows = (-1, *self.model.mistake_log_.rows[: len(self.walk) - 1].tolist())
        if name == "pocket":
            marks = (*marks, (int(self.best[-1]), "best"))
        return Animation(
            self.model, self.classes, "pass" if name == "batch" else "update", len(self.walk), self.frame_details,
            weights=None if voted else self.weights,
            walk=self.walk if name in ("pocket", "averaged", "voted") else None,
            shade="votes" if voted else "region",
            wave=self.errors,
            wave_name="errors of each line" if name in ("averaged", "voted") else "errors on all points",
            line_names=_LINE_NAMES[name],
            marks=marks, rows=rows, scene=certificate_scene(self.certificate), picture={"kind": "weights"},
            notes=tuple(notes if self.two else map(describe_with_scores, notes)), more=self._novikoff_curves(),
        )  # fmt: skip

    def _novikoff_curves(self) -> tuple[dict[str, Any], ...]:
        """Return the plot of the two bounds on ‖w‖ in Novikoff's proof: t·γ ≤ ‖w‖ ≤ √t·R, so t ≤ (R/γ)²."""
        certificate = self.certificate
        if self.name != "perceptron" or not self.two or certificate.verdict != "separable" or len(self.walk) < 3:
            return ()
        gamma, t = float(certificate.augmented_margin or 0.0), np.arange(len(self.walk))
        radius = math.sqrt(float((np.asarray(certificate.X) ** 2).sum(axis=1).max()) + 1)
        bound = certificate.mistake_bound()
        if not math.isclose((radius / gamma) ** 2 if gamma else math.inf, bound, rel_tol=1e-6):
            return ()  # rows of extreme size are scaled, and the curves would be in other units
        series = [
            {"name": "√t·R", "values": (np.sqrt(t) * radius).tolist()},
            {"name": "‖w‖", "values": np.linalg.norm(self.walk[:, 0], axis=1).tolist()},
            {"name": "t·γ", "values": (t * gamma).tolist()},
        ]
        title = f"Novikoff: t·γ ≤ ‖w‖ ≤ √t·R, so t ≤ (R/γ)² = {format_number(bound)}"
        return ({"kind": "series", "title": title, "x": "update t", "series": series, "log": False},)

    def frame_details(self, t: int) -> FrameDetails:
        """Return the details of frame t."""
        log = None if self.name == "batch" else self.model.mistake_log_
        words, code = self._describe(t)
        if t == len(self.walk) - 1:
            reason = self.model.stop_reason_
            words += f" Stopped: {reason if self.two else describe_with_scores(reason)}."
            if log is not None and self.model.n_updates_ > t:
                words = f"The first {t} of {self.model.n_updates_} updates are shown."
        code = f"{self.fit_code}\n{code}"
        if self.name == "voted":
            assert log is not None
            facts = (*self._facts(t), ("voters", t + 1))
            return FrameDetails(Voters(self.model.classes_, log_until(log, t)), words, facts, (), code)
        frame = FixedClassifier(self.model.classes_, self.weights[t])
        return FrameDetails(frame, words, self._facts(t), linear_terms(self.names, self.classes, self.weights[t]), code)

    def _batch_walk(self) -> Array:
        walk = np.zeros((self.model.n_updates_ + 1, 1 if self.two else len(self.classes), len(self.names) + 1))
        for t in range(self.model.n_updates_):
            step = self.rows.reduce(partial(Correction.of, coef=walk[t, :, 1:], intercept=walk[t, :, 0]))
            walk[t + 1] = walk[t] + stack_weights(step.coef / step.weight, step.intercept / step.weight)
        return walk

    def _facts(self, t: int) -> tuple[tuple[str, Any], ...]:
        certificate = self.certificate
        facts: list[tuple[str, Any]] = [("passes" if self.name == "batch" else "updates", t)]
        if certificate.verdict == "separable":
            if self.name != "batch":
                facts.append(("never more than (R/γ)²", certificate.mistake_bound()))
            facts.append(("margin γ", certificate.margin))
        elif len(certificate.y) <= _MAX_FLOOR_POINTS:
            floor = WHEN_AT_REST if self.quick else self._floor
            facts.append((f"fewest errors of any {'line' if self.two else 'scores'}", floor))
        return tuple(facts)

    @cached_property
    def _floor(self) -> int:
        """Return the fewest errors of any line: the same in every frame, and slower than the rest of a frame."""
        return int(error_floor(self.certificate.X, self.certificate.y))

    def _describe(self, t: int) -> tuple[str, str]:
        """Return a sentence about frame t, and the code that computes its weights."""
        after = f"After {pluralize(t, *(('pass', 'passes') if self.name == 'batch' else ('update',)), zero='no')}"
        share = f"{int(self.errors[t])} of {len(self.certificate.y)}"
        words = f"{after} {'the line misclassifies' if self.two else 'the scores misclassify'} {share} points."
        if not self.walk[t].any():
            words = self._describe_start()
        at_zero = _AT_ZERO.format(vectors=self.walk.shape[1], features=self.walk.shape[2] - 1)
        if self.name == "voted":
            who = pluralize(t + 1, "line") if self.two else f"{t + 1} sets of scores"
            return f"{after}, {who} vote." if t else self._describe_start(), self._log_code(t) + "votes = log.vote(X)"
        if self.name == "averaged":
            if t:
                mean = FixedClassifier(self.model.classes_, self.weights[t]).predict(self.certificate.X)
                last, drawn = "scores misclassify", "Their mean so far is drawn and misclassifies"
                if self.two:
                    last, drawn = "line misclassifies", "The bold line is the mean of all so far and misclassifies"
                wrong = int(np.count_nonzero(mean != self.certificate.y))
                words = f"{after} the last {last} {share} points. {drawn} {wrong}."
            return words, self._log_code(t) + "w, b = log.averaged_weights()"
        if self.name == "pocket":
            return self._describe_pocket(t, words)
        if self.name == "batch":
            fit = f"model = ly.BatchPerceptron(max_passes={t}).fit(X, y)\nw, b = model.coef_, model.intercept_"
            return words, fit if t else at_zero
        return words, _AFTER_UPDATE.format(last=t - 1, update=t) if t else at_zero

    def _describe_pocket(self, t: int, words: str) -> tuple[str, str]:
        best = int(self.best[t])
        kept = f"{'the line' if self.two else 'those'} after update {best}" if best else "the start"
        words = f"{words} Pocket (best so far): {kept}, with {pluralize(int(self.errors[best]), 'error', zero='no')}."
        if t == len(self.walk) - 1:
            return words, "w, b = model.coef_, model.intercept_  # from the pocket"
        if best:
            return words, _AFTER_UPDATE.format(last=best - 1, update=best)
        coef, intercept = self.model.mistake_log_.start
        return words, f"w, b = np.array({coef.tolist()!r}), np.array({intercept.tolist()!r})  # the start"

    def _describe_start(self) -> str:
        """Describe weights that are all zero: nothing can be drawn, and ties go to one class."""
        kind = self.classes[1] if self.two else self.classes[0]
        what = "The line is not defined yet" if self.two else "The scores are not defined yet"
        wrong = f"{int(self.errors[0])} of {len(self.certificate.y)} wrongly"
        return f"{what}, because all weights are 0. All points are predicted as “{kind}”, {wrong}."

    def _log_code(self, t: int) -> str:
        return _LOG_UNTIL.format(t=t, seen=log_until(self.model.mistake_log_, t).seen)


class Voters:
    """The vote of the lines so far, as a model that `evaluate` accepts."""

    def __init__(self, classes: Any, log: MistakeLog) -> None:
        self.classes_, self.log = classes, log
        self._last: tuple[Any, Any] = None, None

    def decision_function(self, X: Any) -> Array:
        """Return the mean vote, −1 to 1; for more than two classes the share of each."""
        if not np.array_equal(self._last[0], X):
            self._last = X, self.log.vote(np.asarray(X))
        return self._last[1]  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes."""
        votes = self.decision_function(X)
        code = (votes >= 0).astype(np.intp) if votes.ndim == 1 else np.argmax(votes, axis=1)
        return self.classes_[code]  # type: ignore[no-any-return]


def walk_of(log: MistakeLog) -> Array:
    """Return (b, w) at the start and after every update that is shown: frames × vectors × 3."""
    start = (np.zeros((log.vectors, log.p)), np.zeros(log.vectors)) if log.start is None else log.start
    assert log.which is not None
    some = slice(MAX_FRAMES - 1)
    steps = apply_updates(*start, log.features[log.which[some]], log.codes[some], log.rivals[some], log.intercept)
    return np.concatenate([stack_weights(*start)[None], stack_weights(*steps)])


def log_until(log: MistakeLog, t: int) -> MistakeLog:
    """Return the log as it was just before mistake t + 1."""
    assert log.which is not None
    seen = log.seen if t == len(log) else int(log.times[t]) - 1
    return replace(
        log, rows=log.rows[:t], codes=log.codes[:t], rivals=log.rivals[:t], times=log.times[:t], which=log.which[:t],
        seen=max(seen, 1),
    )  # fmt: skip


def running_averages(log: MistakeLog, walk: Array) -> Array:
    """Return the averaged weights of `log_until(log, t)` for every t in one sweep: Σ c w / Σ c."""
    survived = log.survival_counts[: len(walk)].astype(np.float64)
    total = np.cumsum(survived)
    return np.asarray(np.cumsum(survived[:, None, None] * walk, axis=0) / np.maximum(total, 1)[:, None, None])


def first_best(errors: Array) -> NDArray[np.intp]:
    """Return for every frame the first frame up to it with the fewest errors."""
    lower = np.concatenate([[True], errors[1:] < np.minimum.accumulate(errors)[:-1]])
    return np.asarray(np.maximum.accumulate(np.where(lower, np.arange(len(errors)), 0)))


def certificate_scene(certificate: Certificate) -> dict[str, Any]:
    """Return what is drawn of a certificate of separability or overlap."""
    proof: dict[str, Any] = {
        "verdict": certificate.verdict,
        "badge": separability_badge(certificate),
        "sentence": describe_separability(certificate),
    }
    if certificate.verdict == "separable" and len(certificate.classes) == 2:
        assert certificate.coef is not None
        proof["margin"] = certificate.margin
        proof["separator"] = [float(np.ravel(certificate.intercept)[0]), *map(float, np.ravel(certificate.coef))]
    if certificate.witness is not None:
        proof["witness"] = [int(i) for i in certificate.witness.rows]
        meeting = certificate.common_hull_point
        proof["meeting"] = None if meeting is None else [float(v) for v in meeting]
    return {"certificate": proof}


def _pass_marks(mistakes: list[int], n_frames: int) -> tuple[tuple[int, str], ...]:
    ends = np.cumsum(mistakes)[:-1]
    return tuple((int(end), f"pass {k + 2}") for k, end in enumerate(ends) if 0 < end < n_frames)
