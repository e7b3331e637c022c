"""Films of the perceptrons: one frame an update (a pass, for the batch), read off the log of mistakes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.perceptron.error_counts import count_errors
from linearly.algorithm.perceptron.mistake_log import MistakeLog, apply_updates
from linearly.algorithm.separability.certificate import Certificate
from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import error_floor
from linearly.dataset.rows.block import Rows, as_rows
from linearly.lab.animation import (
    Animation,
    Array,
    FrameDetails,
    Weighted,
    capture_warnings,
    counted,
    joined,
    linear_terms,
)
from linearly.lab.separability_text import about_scores, badge_of, sentence_of
from linearly.models.averaged_perceptron import AveragedPerceptron
from linearly.models.batch_perceptron import BatchPerceptron, Correction
from linearly.models.perceptron import Perceptron
from linearly.models.pocket_perceptron import PocketPerceptron
from linearly.models.voted_perceptron import VotedPerceptron

MOST_FRAMES = 2001  # 2 000 updates and the start
_MOST_FLOORED = 80  # points up to which the error floor is looked for: some 20 ms

ESTIMATORS: dict[str, Any] = {
    "perceptron": Perceptron,
    "pocket": PocketPerceptron,
    "averaged": AveragedPerceptron,
    "voted": VotedPerceptron,
    "batch": BatchPerceptron,
}

_TRAIL = """trail = [(w, b) for _, coef, intercept in model.mistake_log_.iter_weights() for w, b in zip(coef, intercept)]
w, b = trail[{last}]  # after update {update}"""
_START = "w, b = np.zeros(({vectors}, 2)), np.zeros({vectors})  # before the first update"


def perceptron_animation(
    name: str, X: Array, y: NDArray[Any], names: tuple[str, str], settings: dict[str, Any]
) -> Animation:
    """The film of one of the five perceptrons."""
    given = dict(settings)
    if given.pop("shuffle", False):
        given |= {"shuffle": True, "random_state": 0}
    with capture_warnings() as notes:
        model = ESTIMATORS[name](**given).fit(X, y)
    certificate = separability(X, y, names=names)
    codes = np.searchsorted(model.classes_, y)
    rows = as_rows(X, codes)
    classes = tuple(map(str, model.classes_.tolist()))
    fitted = code_of(type(model).__name__, given)
    reel = PerceptronAnimator(model, certificate, rows, classes, names, fitted, tuple(notes))
    return reel.batch() if name == "batch" else reel.online(name)


def code_of(estimator: str, given: dict[str, Any]) -> str:
    """The line that fits it."""
    told = ", ".join(f"{key}={value!r}" for key, value in given.items())
    return f"model = ly.{estimator}({told}).fit(X, y)"


class PerceptronAnimator:
    """What the five films have in common."""

    def __init__(
        self, model: Any, certificate: Certificate, rows: Rows, classes: tuple[str, ...], names: tuple[str, str],
        fitted: str, notes: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.model, self.certificate, self.rows = model, certificate, rows
        self.classes, self.names, self.fitted = classes, names, fitted
        self.notes = notes if len(classes) == 2 else tuple(map(about_scores, notes))

    def online(self, name: str) -> Animation:
        """Perceptron, pocket, averaged and voted: one frame an update."""
        log: MistakeLog = self.model.mistake_log_
        trail = trail_of(log)
        wrong = count_errors(self.rows, trail[..., 1:], trail[..., 0])[:-1]
        weights, walk = trail, None
        marks = _passes(self.model.mistakes_per_pass_, len(trail))
        best = first_best(wrong)
        if name == "pocket":
            weights, walk = trail[best], trail
            marks = (*marks, (int(best[-1]), "best"))
        elif name == "averaged":
            weights, walk = averages(log, trail), trail
        return Animation(
            self.model, self.classes, "update", len(trail),
            stills=partial(self._still, name, log, trail, weights, wrong, best),
            weights=None if name == "voted" else weights, walk=trail if name == "voted" else walk,
            shade="votes" if name == "voted" else "region",
            wave=wrong, wave_name="errors of each line" if name in ("averaged", "voted") else "errors on all points",
            marks=marks,
            rows=(-1, *log.rows[: len(trail) - 1].tolist()),
            scene=scene_of(self.certificate), picture={"kind": "weights"}, notes=self.notes,
        )  # fmt: skip

    def batch(self) -> Animation:
        """The batch perceptron: one frame a correction."""
        model = self.model
        k = 1 if len(self.classes) == 2 else len(self.classes)
        trail = np.zeros((model.n_updates_ + 1, k, 3))
        for t in range(model.n_updates_):
            found = self.rows.reduce(partial(Correction.of, coef=trail[t, :, 1:], intercept=trail[t, :, 0]))
            trail[t + 1] = trail[t] + joined(found.coef / found.weight, found.intercept / found.weight)
        wrong = count_errors(self.rows, trail[..., 1:], trail[..., 0])[:-1]
        return Animation(
            model, self.classes, "pass", len(trail),
            stills=partial(self._still, "batch", None, trail, trail, wrong, first_best(wrong)),
            weights=trail, wave=wrong, wave_name="errors on all points",
            scene=scene_of(self.certificate), picture={"kind": "weights"}, notes=self.notes,
        )  # fmt: skip

    def _still(
        self, name: str, log: MistakeLog | None, trail: Array, weights: Array, wrong: Array, best: Any, t: int
    ) -> FrameDetails:
        n = len(self.certificate.y)
        facts: list[tuple[str, Any]] = [("passes" if name == "batch" else "updates", t)]
        if name not in ("batch",) and self.certificate.verdict == "separable":
            facts.append(("never more than (R/γ)²", self.certificate.mistake_bound()))
        if self.certificate.verdict == "separable":
            facts.append(("margin γ", self.certificate.margin))
        elif n <= _MOST_FLOORED:
            facts.append(("errors nobody avoids", int(error_floor(self.certificate.X, self.certificate.y))))
        made = "pass" if name == "batch" else "update"
        if name == "voted":
            assert log is not None
            judged: Any = Voters(self.model.classes_, until(log, t))
            facts.append(("voters", t + 1))
            who = counted(t + 1, "line") if len(self.classes) == 2 else f"{t + 1} sets of scores"
            words = f"After {counted(t, made)}, {who} vote." if t else self._start(wrong, n)
            code = self._until(log, t) + "votes = log.vote(X)"
            terms: Any = ()
        else:
            judged = Weighted(self.model.classes_, weights[t])
            terms = linear_terms(self.names, self.classes, weights[t])
            words, code = self._words(name, log, trail, weights, wrong, best, t, n, made)
        end = t == len(trail) - 1
        if end:
            why = self.model.stop_reason_
            words += f" Stopped: {why if len(self.classes) == 2 else about_scores(why)}."
            truncated = name != "batch" and self.model.n_updates_ > t
            if truncated:
                words = f"The first {t} of {self.model.n_updates_} updates are shown."
        return FrameDetails(judged, words, tuple(facts), terms, self.fitted + "\n" + code)

    def _words(
        self, name: str, log: MistakeLog | None, trail: Array, weights: Array, wrong: Array, best: Any, t: int, n: int,
        made: str,
    ) -> tuple[str, str]:  # fmt: skip
        vectors = trail.shape[1]
        after = _TRAIL.format(last=t - 1, update=t) if t else _START.format(vectors=vectors)
        two = vectors == 1
        gets = "the line gets" if two else "the scores get"
        now = f"After {counted(t, made)} {gets} {int(wrong[t])} of {n} points wrong."
        if not trail[t].any():
            now = self._start(wrong, n)
        if name == "pocket":
            least = int(wrong[best[t]])
            kept = f"{'the line' if two else 'those'} after update {int(best[t])}" if best[t] else "the start"
            words = f"{now} In the pocket: {kept}, with {counted(least, 'error')}."
            if t == len(trail) - 1:
                return words, "w, b = model.coef_, model.intercept_  # from the pocket"
            return words, _TRAIL.format(last=best[t] - 1, update=best[t]) if best[t] else self._begin()
        if name == "averaged":
            assert log is not None
            if t:
                mean = Weighted(self.model.classes_, weights[t]).predict(self.certificate.X)
                left = int(np.count_nonzero(mean != self.certificate.y))
                whose = (
                    "the bold line, the mean of all so far, gets" if two else "their mean so far, which is drawn, gets"
                )
                now = (
                    f"After {counted(t, made)} the last {'line gets' if two else 'scores get'} {int(wrong[t])} of {n} "
                )
                now += f"points wrong; {whose} {left}."
            return now, self._until(log, t) + "w, b = log.averaged_weights()"
        if name == "batch":
            until = f"model = ly.BatchPerceptron(max_passes={t}).fit(X, y)\nw, b = model.coef_, model.intercept_"
            return now, until if t else _START.format(vectors=vectors)
        return now, after

    def _start(self, wrong: Array, n: int) -> str:
        """All weights zero draw nothing, and a tie goes to one class."""
        two = len(self.classes) == 2
        kind = self.classes[1] if two else self.classes[0]
        what = "There is no line yet" if two else "There are no scores yet"
        return f"{what}: all weights are 0, and all points count as “{kind}”, {int(wrong[0])} of {n} wrongly."

    def _begin(self) -> str:
        start = self.model.mistake_log_.start
        return f"w, b = np.array({start[0].tolist()!r}), np.array({start[1].tolist()!r})  # the start"

    def _until(self, log: MistakeLog, t: int) -> str:
        part = until(log, t)
        return (
            "from dataclasses import replace\n\nwhole = model.mistake_log_\n"
            f"log = replace(whole, rows=whole.rows[:{t}], codes=whole.codes[:{t}], rivals=whole.rivals[:{t}],\n"
            f"              times=whole.times[:{t}], which=whole.which[:{t}], seen={part.seen})\n"
        )


class Voters:
    """The vote of the lines so far, judged like any model."""

    def __init__(self, classes: Any, log: MistakeLog) -> None:
        self.classes_, self.log = classes, log
        self._asked: tuple[Any, Any] = None, None

    def decision_function(self, X: Any) -> Array:
        """Mean vote, −1 to 1; of K classes the share of each."""
        if not np.array_equal(self._asked[0], X):
            self._asked = X, self.log.vote(np.asarray(X))
        return self._asked[1]  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[Any]:
        """Who gets the most votes."""
        votes = self.decision_function(X)
        code = (votes >= 0).astype(np.intp) if votes.ndim == 1 else np.argmax(votes, axis=1)
        return self.classes_[code]  # type: ignore[no-any-return]


def trail_of(log: MistakeLog) -> Array:
    """(b, w) at the start and after every update that is shown: frames × vectors × 3."""
    start = (np.zeros((log.vectors, log.p)), np.zeros(log.vectors)) if log.start is None else log.start
    assert log.which is not None
    some = slice(MOST_FRAMES - 1)
    steps = apply_updates(*start, log.features[log.which[some]], log.codes[some], log.rivals[some], log.intercept)
    return np.concatenate([joined(*start)[None], joined(*steps)])


def until(log: MistakeLog, t: int) -> MistakeLog:
    """The log as it was just before mistake t + 1."""
    assert log.which is not None
    seen = log.seen if t == len(log) else int(log.times[t]) - 1
    return replace(
        log, rows=log.rows[:t], codes=log.codes[:t], rivals=log.rivals[:t], times=log.times[:t], which=log.which[:t],
        seen=max(seen, 1),
    )  # fmt: skip


def averages(log: MistakeLog, trail: Array) -> Array:
    """What `until(log, t).average()` says for every t, in one sweep: Σ c w / Σ c."""
    survived = log.survival_counts[: len(trail)].astype(np.float64)
    total = np.cumsum(survived)
    return np.asarray(np.cumsum(survived[:, None, None] * trail, axis=0) / np.maximum(total, 1)[:, None, None])


def first_best(wrong: Array) -> NDArray[np.intp]:
    """For every frame, the first frame up to it with the fewest errors."""
    lower = np.concatenate([[True], wrong[1:] < np.minimum.accumulate(wrong)[:-1]])
    return np.asarray(np.maximum.accumulate(np.where(lower, np.arange(len(wrong)), 0)))


def scene_of(certificate: Certificate) -> dict[str, Any]:
    """The proof as something to draw."""
    told: dict[str, Any] = {
        "verdict": certificate.verdict, "badge": badge_of(certificate), "sentence": sentence_of(certificate),
    }  # fmt: skip
    if certificate.verdict == "separable" and len(certificate.classes) == 2:
        assert certificate.coef is not None
        told["margin"] = certificate.margin
        told["separator"] = [float(np.ravel(certificate.intercept)[0]), *map(float, np.ravel(certificate.coef))]
    if certificate.witness is not None:
        told["witness"] = [int(i) for i in certificate.witness.rows]
        meeting = certificate.common_hull_point
        told["meeting"] = None if meeting is None else [float(v) for v in meeting]
    return {"certificate": told}


def _passes(mistakes: list[int], frames: int) -> tuple[tuple[int, str], ...]:
    ends = np.cumsum(mistakes)[:-1]
    return tuple((int(end), f"pass {k + 2}") for k, end in enumerate(ends) if 0 < end < frames)
