"""Score the weights after each update on all rows, many updates at a time, for the pocket algorithm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse

from linearly.algorithm.perceptron.error_counts import count_errors
from linearly.algorithm.perceptron.mistake_log import (
    MAX_LOG_BYTES,
    BestWeights,
    MistakeLog,
    apply_updates,
    better_of,
    candidates_at_once,
)
from linearly.algorithm.perceptron.online_pass import Codes, Integers, Mistakes
from linearly.dataset.rows.block import Rows
from linearly.dataset.rows.safe_scaling import times_power
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import is_sparse


class Updates(NamedTuple):
    """Updates in order: the mistaken rows, their indices, classes and rivals, and the number of rows seen."""

    features: Any
    rows: Integers
    codes: Codes
    rivals: Codes
    times: Integers

    @classmethod
    def of(cls, found: Mistakes) -> Self:
        """Return the updates of some mistakes."""
        return cls(found.block.X[found.local], found.rows, found.codes, found.rivals, found.times)

    @classmethod
    def concatenate(cls, parts: list[Updates]) -> Self:
        """Return all updates of several parts."""
        sparse = is_sparse(parts[0].features)
        stack = [part.features for part in parts]
        features = scipy.sparse.vstack(stack, format="csr") if sparse else np.concatenate(stack)
        return cls(features, *(np.concatenate(column) for column in list(zip(*parts, strict=True))[1:]))

    def cut(self, start: int, stop: int) -> Updates:
        """Return updates start … stop − 1."""
        some = slice(start, stop)
        return Updates(self.features[some], self.rows[some], self.codes[some], self.rivals[some], self.times[some])


class PocketSearch:
    """The weights after each update, and the first of them with the fewest errors on all rows: the pocket.

    ``path`` contains the errors of the initial weights and after each update. One reduction scores up to 64 weight
    vectors, so the search costs a matrix product, not a pass over the rows per update.
    """

    def __init__(self, rows: Rows, W: Array, b: Array, *, intercept: bool, most: int) -> None:
        self.rows, self.W, self.b = rows, W, b
        self.start = W, b
        self.intercept, self.most = intercept, most
        wrong, self.total = count_errors(rows, W[None], b[None])
        self.best, self.path = BestWeights(0, float(wrong), W, b), [float(wrong)]
        self._at_once = candidates_at_once(*W.shape)
        self._waiting: list[Updates] = []
        self._steps: list[Updates] = []

    @property
    def updates(self) -> int:
        """Return the number of updates scored."""
        return len(self.path) - 1

    @property
    def ended(self) -> bool:
        """Return whether the pocket makes no error, or all updates are used up."""
        return self.best.errors == 0 or self.updates >= self.most

    def add_updates(self, found: Mistakes) -> None:
        """Add the updates of some mistakes, and score them as soon as they fill a reduction."""
        self._waiting.append(Updates.of(found))
        if sum(len(steps.rows) for steps in self._waiting) >= self._at_once:
            self.score(least=self._at_once)

    def score(self, least: int = 1) -> None:
        """Score the waiting updates while there are at least `least`. Updates beyond the end do not count."""
        if not self._waiting:
            return
        steps, at = Updates.concatenate(self._waiting), 0
        while len(steps.rows) - at >= min(least, self.most - self.updates) and at < len(steps.rows) and not self.ended:
            some = steps.cut(at, at + min(self._at_once, self.most - self.updates))
            coef, constants = apply_updates(self.W, self.b, some.features, some.codes, some.rivals, self.intercept)
            wrong = count_errors(self.rows, coef, constants)[:-1]
            made = int(np.argmin(wrong)) + 1 if (wrong == 0).any() else len(wrong)
            self.best = better_of(self.best, self.updates, coef, constants, wrong)
            self.path += wrong[:made].tolist()
            self.W, self.b = coef[made - 1], constants[made - 1]
            self._steps.append(some.cut(0, made))
            at += made
        self._waiting = [steps.cut(at, len(steps.rows))] if at < len(steps.rows) else []

    def log(self, exponent: int) -> MistakeLog:
        """Return the updates as a log, for rows that came as X · 2^−exponent, with the mistaken rows if they fit."""
        k, p = self.W.shape
        start = np.ldexp(self.start[0], -exponent), self.start[1]
        none = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)) * 2
        steps = (
            Updates.concatenate(self._steps)
            if self._steps
            else Updates(np.empty((0, p)), none[0], none[1], none[1], none[0])
        )
        seen = int(steps.times[-1]) if len(steps.times) else 0
        log = MistakeLog(steps.rows, steps.codes, steps.rivals, steps.times, seen, k, p, self.intercept, start=start)
        entries = steps.features.nnz if is_sparse(steps.features) else steps.features.size
        if 8 * entries > MAX_LOG_BYTES:
            return log
        features = times_power(steps.features, -exponent) if exponent else steps.features
        return replace(log, features=features, which=np.arange(len(log)))
