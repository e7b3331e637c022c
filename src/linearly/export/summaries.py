"""Codecs of what estimators rest on: summaries (Gram, Triangle, ByClass, Folds), solutions, perceptron trainings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.perceptron.mistake_log import MistakeLog, Recorder
from linearly.algorithm.perceptron.training import Training
from linearly.export.arrays import Exact, Numbers
from linearly.export.codec import (
    Bool,
    Float,
    Integer,
    InvalidFile,
    ListOf,
    OneOf,
    Optional,
    Plain,
    Record,
    Sizes,
    Text,
    TupleOf,
)
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense

# Sizes: p features, k targets, m columns of [X | Y], K classes; v vectors of weights, 1 for two classes.
SCALING = Record(ColumnScaling, {"shift": Numbers(("m",)), "scale": Numbers(("m",), positive=True)})


_Summary = TypeVar("_Summary", Gram, QRFactor)


class _GramCodec(Record):
    def decode(self, plain: Plain, at: str, sizes: Sizes) -> Gram:
        gram: Gram = super().decode(plain, at, sizes)
        cross = to_float64(gram.centered_crossprod)
        if not np.allclose(cross, cross.T, rtol=1e-6, atol=1e-12 * float(np.abs(cross).max(initial=0.0))):
            raise InvalidFile(f"{at}.centered_crossprod is not symmetric")
        return _with_least_rounding(gram)


def _with_least_rounding(summary: _Summary) -> _Summary:
    """The summary with a bound on its rounding errors that is no smaller than that of its own numbers."""
    return replace(summary, rounding=np.maximum(summary.rounding, summary.least_rounding()))


GRAM = _GramCodec(
    Gram,
    {
        "n": Integer(),
        "weight": Exact(()),
        "log_weight": Float(),
        "p": Integer(size="p"),
        "scaling": SCALING,
        "mean": Exact(("m",)),
        "centered_crossprod": Exact(("m", "m")),
        "intercept": Bool(),
    },
    "Gram",
    later={"rounding": Numbers(("1 + m",))},
)


class _QRFactorCodec(Record):
    def decode(self, plain: Plain, at: str, sizes: Sizes) -> QRFactor:
        triangle: QRFactor = super().decode(plain, at, sizes)
        if not 0 < len(triangle.R) <= triangle.R.shape[1]:
            raise InvalidFile(
                f"{at}.R has {len(triangle.R)} rows: a triangle has one at least, and no more than columns"
            )
        return _with_least_rounding(triangle)


QR_FACTOR = _QRFactorCodec(
    QRFactor,
    {
        "n": Integer(),
        "log_weight": Float(),
        "p": Integer(size="p"),
        "scaling": SCALING,
        "R": Numbers(("", "1 + m")),
        "intercept": Bool(),
    },
    "QRFactor",
    later={"rounding": Numbers(("1 + m",))},
)
CLASS_GRAMS = Record(ClassGrams, {"parts": ListOf(GRAM, size="K")}, "ClassGrams")
LEAST_SQUARES_SUMMARY = OneOf((GRAM, QR_FACTOR))
FOLDS = Record(FoldSummaries, {"parts": ListOf(LEAST_SQUARES_SUMMARY, most=1000)}, "FoldSummaries")

SOLUTION = Record(
    Solution,
    {
        "coef": Numbers(("p", "k")),
        "intercept": Numbers(("k",)),
        "rank": Integer(),
        "aliased": ListOf(Integer()),
        "rss": Numbers(("k",), finite=False),
        "tss": Numbers(("k",), finite=False),
        "dof": Float(finite=False),
        "inverse_root": Numbers(("terms", "rank"), finite=False),
        "shrinkage": Numbers(("rank", "rank"), finite=False),
        "n": Integer(),
        "weight": Float(),
        "log_weight": Float(),
        "condition": Float(finite=False),
        "digits": Float(finite=False),
        "digits_of_relevant_coefs": Float(finite=False),
        "rank_is_certain": Bool(),
        "alpha": Float(least=0.0),
        "centering": Text(("centred", "plain", "constant")),
        "mean": Optional(Exact(("p",))),
        "prediction_at_mean": Numbers(("k",)),
        "extended": TupleOf((Exact(("p", "k")), Exact(("k",)))),
    },
    later={
        "root_low": Numbers(("terms", "rank"), finite=False),
        "null": Numbers(("terms",)),
        "error_digits": Float(),
    },
)


@dataclass(frozen=True)
class Mistakes:
    """A mistake log with its rows: the voted perceptron."""

    rows: NDArray[np.int64]
    codes: NDArray[np.int32]
    rivals: NDArray[np.int32]
    times: NDArray[np.int64]
    features: NDArray[np.float64]
    which: NDArray[np.int64]

    @staticmethod
    def of(log: MistakeLog) -> Mistakes:
        """What is to be kept of a log."""
        features = dense(log.features)
        assert log.which is not None
        return Mistakes(log.rows, log.codes, log.rivals, log.times, features, log.which)

    def recorder(self, K: int, seen: int) -> Recorder:
        """A recorder that has collected this log; a log that cannot be one is refused."""
        n, distinct = len(self.rows), len(self.features)
        ends = (0, distinct, self.which), (0, max(K, 2), self.codes), (0, max(K, 2), self.rivals)
        if any(len(a) and (a.min() < low or a.max() >= high) for low, high, a in ends):
            raise InvalidFile("the mistake log speaks of rows or classes that are not there")
        if n and (self.times[0] < 1 or self.times[-1] > seen or (np.diff(self.times) <= 0).any()):
            raise InvalidFile("the mistake log is not in the order of its mistakes")
        ids = np.full(distinct, -1, dtype=np.int64)
        ids[self.which] = self.rows
        if (ids < 0).any() or (ids[self.which] != self.rows).any() or len(np.unique(ids)) != distinct:
            raise InvalidFile("the mistake log does not say which rows its mistakes were made on")
        recorder = Recorder(room=np.inf)
        recorder.parts = [(self.rows, self.codes, self.rivals, self.times)]
        recorder.kept = [(ids, self.features)] if distinct else []
        return recorder


@dataclass(frozen=True)
class Course:
    """A perceptron's training as far as it went, so that it can go on."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64] | None
    coef_sum: NDArray[np.float64] | None
    intercept_sum: NDArray[np.float64] | None
    seen: int
    largest: float
    exponent: int
    mistakes: NDArray[np.int64]
    updates: int
    log: Mistakes | None

    @staticmethod
    def of(training: Training, with_log: bool) -> Course:
        """The course of a training, with its mistaken rows where they are the model."""
        weights = training.weights
        U = weights.U if weights.U is None or not weights.interleaved else weights.U.T
        log = Mistakes.of(training.log()) if with_log else None
        return Course(
            np.ascontiguousarray(weights.coef),
            weights.b,
            U if U is None else np.ascontiguousarray(U),
            weights.c,
            weights.seen,
            weights.largest,
            training.exponent,
            np.array(training.mistakes, dtype=np.int64),
            training.updates,
            log,
        )

    def training(self, *, averaged: bool, intercept: bool, K: int, shuffle: Any) -> Training:
        """The training that was, ready to go on; one that is not of this kind is refused."""
        have = self.intercept is not None, self.coef_sum is not None, self.intercept_sum is not None
        if have != (intercept, averaged, intercept and averaged):
            raise InvalidFile("the training does not fit the parameters of the perceptron")
        vectors, p = self.coef.shape
        training = Training(
            vectors,
            p,
            intercept=intercept,
            averaged=averaged,
            shuffle=shuffle,
            exponent=self.exponent,
            mixes=self.log is None,
        )
        weights = training.weights
        weights.W, weights.b, weights.U, weights.c = self.coef, self.intercept, self.coef_sum, self.intercept_sum
        weights.seen, weights.largest = self.seen, self.largest
        training.mistakes, training.updates = self.mistakes.tolist(), self.updates
        training.record = None if self.log is None else self.log.recorder(K, self.seen)
        training.new_rows()
        return training


MISTAKES = Record(
    Mistakes,
    {
        "rows": Numbers(("mistakes",), "i8"),
        "codes": Numbers(("mistakes",), "i4"),
        "rivals": Numbers(("mistakes",), "i4"),
        "times": Numbers(("mistakes",), "i8"),
        "features": Numbers(("distinct", "p")),
        "which": Numbers(("mistakes",), "i8"),
    },
)
COURSE = Record(
    Course,
    {
        "coef": Numbers(("v", "p")),
        "intercept": Optional(Numbers(("v",))),
        "coef_sum": Optional(Numbers(("v", "p"))),
        "intercept_sum": Optional(Numbers(("v",))),
        "seen": Integer(),
        "largest": Float(least=0.0),
        "exponent": Integer(least=-2000),
        "mistakes": Numbers(("passes",), "i8"),
        "updates": Integer(),
        "log": Optional(MISTAKES),
    },
)

# By the names they have in the schema.
RECORDS: dict[str, Record] = {
    "scaling": SCALING,
    "Gram": GRAM,
    "QRFactor": QR_FACTOR,
    "ClassGrams": CLASS_GRAMS,
    "FoldSummaries": FOLDS,
    "solution": SOLUTION,
    "mistakes": MISTAKES,
    "course": COURSE,
}
