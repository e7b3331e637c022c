"""Train an online perceptron: passes over rows, with a record of the mistakes."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from linearly.algorithm.perceptron.mistake_log import MAX_LOG_BYTES, MistakeLog, Recorder
from linearly.algorithm.perceptron.online_pass import Weights, in_memory, in_one_array, online_pass
from linearly.algorithm.perceptron.parameter_mixing import Mixture, Shard
from linearly.dataset.rows.block import Rows
from linearly.dataset.rows.safe_scaling import UnsafeMagnitude, is_safe_magnitude
from linearly.kernels.double_double import Array

_MAX_LOGGED = 2**21  # mistakes on rows that are not in memory: 50 MB of log


class Training:
    """Weights that are trained pass by pass, on the rows of the pass before or, after `new_rows`, on others.

    ``start`` are the initial weights and intercepts, zero if None. ``shuffle``, a NumPy RandomState, draws a new order
    for each pass. ``room`` is the number of bytes for mistaken rows. ``exponent`` means that rows come as X ·
    2^−exponent; the coefficients are given for X. ``mixes`` means that the model can do without its log: rows on a
    cluster are then processed where they are, by iterative parameter mixing, and the log of rows in files is given up
    before it fills the memory. Otherwise rows come here in order and all mistakes are kept.
    """

    def __init__(
        self,
        vectors: int,
        p: int,
        *,
        intercept: bool = True,
        averaged: bool = False,
        start: tuple[Array, Array] | None = None,
        shuffle: Any = None,
        room: float = MAX_LOG_BYTES,
        exponent: int = 0,
        mixes: bool = False,
    ) -> None:
        self.weights = Weights.zeros(vectors, p, intercept=intercept, averaged=averaged)
        self.exponent, self.shuffle, self.mixes = exponent, shuffle, mixes
        self.mistakes: list[int] = []
        self.updates = 0
        if start is not None:
            self.weights.W[:], self.weights.intercept[:] = start
            start = np.ldexp(start[0], -exponent), start[1].copy()
        self.record: Recorder | None = Recorder(start, room)
        self._why_no_record = "after loading or unpickling a model"
        self._before = 0  # rows of the stream before these
        self._measured = False

    def copy(self) -> Training:
        """Return an independent copy of the training so far. Both draw their orders from one generator."""
        other = copy(self)
        other.weights, other.mistakes = self.weights.copy(), self.mistakes.copy()
        other.record = None if self.record is None else self.record.copy()
        return other

    def one_pass(self, rows: Rows) -> int:
        """Make one pass over the rows and return the number of mistakes."""
        if self.mixes and self.shuffle is None and (rows.n_partitions or 0) > 1:
            return self._mixed_pass(rows)
        order = None if self.shuffle is None else self.shuffle.permutation(len(in_one_array(rows))).astype(np.int64)
        made = 0
        for found in online_pass(rows, self.weights, order=order, measure=not self._measured):
            made += len(found)
            if self.record is not None:
                self.record.add(found, before=self._before, exponent=self.exponent)
                if self.mixes and self.updates + made > _MAX_LOGGED and not in_memory(rows):
                    self.drop_record(f"after more than {_MAX_LOGGED:,} mistakes on files")
        self._measured = True
        self.mistakes.append(made)
        self.updates += made
        return made

    def _mixed_pass(self, rows: Any) -> int:
        self.drop_record("after training on a cluster")
        mixture: Mixture = rows.reduce_partitions(Shard(self.weights))
        if not is_safe_magnitude(max(self.weights.largest, mixture.largest)):
            raise UnsafeMagnitude
        mixture.update(self.weights)
        self._measured = True
        self.mistakes.append(mixture.mistakes)
        self.updates += mixture.mistakes
        return mixture.mistakes

    def drop_record(self, why: str) -> None:
        """Stop recording mistakes, and forget those recorded. `why` is the cause that errors about the log name."""
        if self.record is not None:
            self.record, self._why_no_record = None, why

    def new_rows(self) -> None:
        """Declare that the next pass is over other rows, which follow those seen so far."""
        self._before, self._measured = self.weights.seen, False
        if self.record is not None:
            self.record.forget_rows_known()

    def final_weights(self) -> tuple[Array, Array]:
        """Return the current weights and intercepts."""
        return self._in_units_of_x(self.weights.coef.copy()), self.weights.intercept.copy()

    def averaged_weights(self) -> tuple[Array, Array]:
        """Return the mean of the weights and intercepts over all rows seen."""
        W, b = self.weights.averaged_weights()
        return self._in_units_of_x(W), b

    def _in_units_of_x(self, W: Array) -> Array:
        return np.ldexp(W, -self.exponent) if self.exponent else W

    def log(self) -> MistakeLog:
        """Return the mistakes so far."""
        if self.record is None:
            raise AttributeError(
                f"The mistake log is not available {self._why_no_record}. Call fit() on rows in memory to record one."
            )
        k, p = self.weights.coef.shape
        return self.record.log(self.weights.seen, k, p, self.weights.b is not None)
