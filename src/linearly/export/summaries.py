"""JSON records of summaries, solutions and perceptron trainings in a model file."""

from __future__ import annotations

from dataclasses import replace
from types import GenericAlias
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.perceptron.mistake_log import MistakeLog, Recorder
from linearly.algorithm.perceptron.training import Training
from linearly.dataset.design.serialization import InvalidFile
from linearly.export.records import AnyFloat, Count, Counts, Finite, NotNegative, array, extended, list_of, record, size
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense


def _check_gram(gram: Any) -> None:
    cross = to_float64(gram.centered_crossprod)
    if not np.allclose(cross, cross.T, rtol=1e-6, atol=1e-12 * float(np.abs(cross).max(initial=0.0))):
        raise ValueError("centered_crossprod is not symmetric")


def _check_qr_factor(factor: Any) -> None:
    rows, columns = factor.R.shape
    if not 0 < rows <= columns:
        raise ValueError(f"R has {rows} rows, but must have at least one and at most as many as columns")


def _with_least_rounding(kind: Any) -> Any:
    """Return a function that builds a summary; its rounding errors are at least those of its own numbers."""

    def build(**fields: Any) -> Any:
        summary = kind(**fields)
        return replace(summary, rounding=np.maximum(summary.rounding, summary.least_rounding()))

    return build


# Sizes: p features, k targets, m columns of [X | Y], K classes; v weight vectors, 1 for two classes.
COLUMN_SCALING = record("ColumnScaling", {"shift": array("m"), "scale": array("m", positive=True)}, of=ColumnScaling)
GRAM = record(
    "Gram",
    {
        "n": Count,
        "weight": extended(),
        "log_weight": Finite,
        "p": size("p"),
        "scaling": COLUMN_SCALING,
        "mean": extended("m"),
        "centered_crossprod": extended("m", "m"),
        "intercept": bool,
        "rounding": array("1 + m"),
    },
    of=Gram,
    build=_with_least_rounding(Gram),
    check=_check_gram,
    tag="Gram",
    tag_field="kind",
)
QR_FACTOR = record(
    "QRFactor",
    {
        "n": Count,
        "log_weight": Finite,
        "p": size("p"),
        "scaling": COLUMN_SCALING,
        "R": array("", "1 + m"),
        "intercept": bool,
        "rounding": array("1 + m"),
    },
    of=QRFactor,
    build=_with_least_rounding(QRFactor),
    check=_check_qr_factor,
    tag="QRFactor",
    tag_field="kind",
)
CLASS_GRAMS = record("ClassGrams", {"parts": list_of(GRAM, 1000)}, of=ClassGrams)
LEAST_SQUARES_SUMMARY = GRAM | QR_FACTOR
FOLD_SUMMARIES = record("FoldSummaries", {"parts": list_of(LEAST_SQUARES_SUMMARY, 1000)}, of=FoldSummaries)
SOLUTION = record(
    "Solution",
    {
        "coef": array("p", "k"),
        "intercept": array("k"),
        "rank": Count,
        "aliased": Counts,
        "rss": array("k", finite=False),
        "tss": array("k", finite=False),
        "dof": AnyFloat,
        "inverse_root": array("terms", "rank", finite=False),
        "shrinkage": array("rank", "rank", finite=False),
        "n": Count,
        "weight": Finite,
        "log_weight": Finite,
        "condition": AnyFloat,
        "digits": AnyFloat,
        "digits_of_relevant_coefs": AnyFloat,
        "rank_is_certain": bool,
        "alpha": NotNegative,
        "centering": Literal["centred", "plain", "constant"],
        "mean": extended("p") | None,
        "prediction_at_mean": array("k"),
        "extended": GenericAlias(tuple, (extended("p", "k"), extended("k"))),
        "root_low": array("terms", "rank", finite=False) | None,
        "null": array("terms") | None,
        "error_digits": Finite | None,
    },
    of=Solution,
)


# --- perceptrons ----------------------------------------------------------------------------------

MISTAKES = record(
    "Mistakes",
    {
        "rows": array("mistakes", dtype="i8"),
        "codes": array("mistakes", dtype="i4"),
        "rivals": array("mistakes", dtype="i4"),
        "times": array("mistakes", dtype="i8"),
        "features": array("distinct", "p"),
        "which": array("mistakes", dtype="i8"),
    },
)
TRAINING = record(
    "Training",
    {
        "coef": array("v", "p"),
        "intercept": array("v") | None,
        "coef_sum": array("v", "p") | None,
        "intercept_sum": array("v") | None,
        "seen": Count,
        "largest": NotNegative,
        "exponent": Annotated[int, Meta(ge=-2000, le=2000)],
        "mistakes": Counts,
        "updates": Count,
        "log": MISTAKES | None,
    },
)


def training_record(training: Training, *, with_log: bool) -> Any:
    """Return the record of a perceptron's training, with its mistaken rows if they are the model."""
    weights = training.weights
    U = weights.U if weights.U is None or not weights.interleaved else weights.U.T
    return TRAINING(
        coef=np.ascontiguousarray(weights.coef),
        intercept=weights.b,
        coef_sum=None if U is None else np.ascontiguousarray(U),
        intercept_sum=weights.c,
        seen=weights.seen,
        largest=weights.largest,
        exponent=training.exponent,
        mistakes=training.mistakes,
        updates=training.updates,
        log=_mistakes_record(training.log()) if with_log else None,
    )


def _mistakes_record(log: MistakeLog) -> Any:
    named = {name: getattr(log, name) for name in ("rows", "codes", "rivals", "times", "which")}
    return MISTAKES(**named, features=dense(log.features))


def resume_training(stored: Any, *, averaged: bool, intercept: bool, K: int, shuffle: Any) -> Training:
    """Return the training of a record, ready to continue; refuse one of another kind of perceptron."""
    have = stored.intercept is not None, stored.coef_sum is not None, stored.intercept_sum is not None
    if have != (intercept, averaged, intercept and averaged):
        raise InvalidFile("the training record does not match the parameters of the perceptron")
    training = Training(
        *stored.coef.shape,
        intercept=intercept,
        averaged=averaged,
        shuffle=shuffle,
        exponent=stored.exponent,
        mixes=stored.log is None,
    )
    weights = training.weights
    weights.W, weights.b, weights.U, weights.c = stored.coef, stored.intercept, stored.coef_sum, stored.intercept_sum
    weights.seen, weights.largest = stored.seen, stored.largest
    training.mistakes, training.updates = list(stored.mistakes), stored.updates
    training.record = None if stored.log is None else _recorder(stored.log, K, stored.seen)
    training.new_rows()
    return training


def _recorder(log: Any, K: int, seen: int) -> Recorder:
    """Return a recorder that has collected a mistake log; refuse a log that contradicts itself."""
    n, distinct = len(log.rows), len(log.features)
    ends = (distinct, log.which), (max(K, 2), log.codes), (max(K, 2), log.rivals)
    if any(len(places) and (places.min() < 0 or places.max() >= end) for end, places in ends):
        raise InvalidFile("the mistake log refers to rows or classes that do not exist")
    if n and (log.times[0] < 1 or log.times[-1] > seen or (np.diff(log.times) <= 0).any()):
        raise InvalidFile("the mistake log is not in the order of the mistakes")
    ids = np.full(distinct, -1, dtype=np.int64)
    ids[log.which] = log.rows
    if (ids < 0).any() or (ids[log.which] != log.rows).any() or len(np.unique(ids)) != distinct:
        raise InvalidFile("the mistake log does not identify the rows of its mistakes")
    recorder = Recorder(room=np.inf)
    recorder.parts = [(log.rows, log.codes, log.rivals, log.times)]
    recorder.kept = [(ids, log.features)] if distinct else []
    return recorder
