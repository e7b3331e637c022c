"""Reduce a block of rows to the counts and sums that an evaluation needs; the results of blocks are added.

Counts and sums are enough for everything but ranks. Areas under curves and calibration need the score of every row, so
scores are kept, 8 bytes per row and score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.reduce import FieldwiseSum
from linearly.evaluation.intervals import RowMean, powers
from linearly.kernels.double_double import Array

Codes = NDArray[np.intp]

_ROWS_AT_ONCE = 4096


class Scores(NamedTuple):
    """What a model gives beside labels: probabilities, scores to rank by, logarithms of the true label's probability.

    The logarithms are given only if some probability is too small for the digits of float64.
    """

    probability: NDArray[Any] | None = None
    score: NDArray[Any] | None = None
    log_probability: Array | None = None

    def take(self, rows: Any) -> Scores:
        """Return the scores of some rows."""
        return Scores(*(None if part is None else part[rows] for part in self))


class RowScores(NamedTuple):
    """Scores (n × K, or n × 1 once the positive label of two is known), class codes and weights, row by row."""

    score: Array
    actual: NDArray[np.int_]
    predicted: NDArray[np.int_]
    weight: Array

    @staticmethod
    def join(parts: tuple[RowScores, ...]) -> RowScores | None:
        """Return the rows of all blocks; None if there are no scores."""
        if len(parts) < 2:
            return parts[0] if parts else None
        return RowScores(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def log_losses(given: Array, log_probability: Array | None = None) -> tuple[Array, int]:
    """Return −log of the probabilities of the true labels, and how many of these are 0.

    A probability of 0 counts as the smallest step below 1, as in scikit-learn, so that the loss stays finite, unless
    its logarithm is known.
    """
    known = given > 0
    logs = np.log(np.where(known, given, np.finfo(given.dtype).eps), dtype=np.float64)
    if log_probability is not None:
        finite = np.isfinite(log_probability)
        known, logs = known | finite, np.where(finite, log_probability, logs)
    return np.asarray(-logs), int(np.size(known) - np.count_nonzero(known))


@dataclass(frozen=True, eq=False)
class ClassCounts(FieldwiseSum):
    """One label per row: the confusion matrix, sums of row losses, and scores."""

    n: int  # rows of positive weight
    counts: Array  # Σw, actual × predicted
    squares: Array  # Σw²
    losses: Array  # the sums of RowMean for log-loss and Brier score, 2 × 14
    impossible: int  # rows whose actual label was given probability 0
    row_scores: tuple[RowScores, ...]

    @staticmethod
    def of(actual: Codes, predicted: Codes, weight: Array, K: int, scores: Scores) -> ClassCounts:
        """Count rows with class codes from 0 to K − 1; probabilities are n × K."""
        cell = actual * K + predicted
        counts, squares = (np.asarray(np.bincount(cell, w, K * K), float).reshape(K, K) for w in (weight, weight**2))
        losses, impossible, probability = np.zeros((2, 14)), 0, scores.probability
        if probability is not None:
            given = probability[np.arange(len(actual)), actual]
            log_loss, impossible = log_losses(given, scores.log_probability)
            brier = (probability.astype(np.float64) ** 2).sum(axis=1) - 2.0 * given + 1.0
            losses = np.stack([RowMean.sums(log_loss, weight), RowMean.sums(brier if K > 2 else brier / 2, weight)])
        rows = () if scores.score is None else (RowScores(scores.score, actual, predicted, weight),)
        return ClassCounts(len(actual), counts, squares, losses, impossible, rows)

    def with_positive(self, k: int) -> ClassCounts:
        """Return the counts of two classes with class k first, and of both scores of a row only its own."""
        counts, squares = (table if k == 0 else table[::-1, ::-1] for table in (self.counts, self.squares))
        rows = [
            RowScores(part.score[:, k : k + 1], abs(part.actual - k), abs(part.predicted - k), part.weight)
            for part in self.row_scores
        ]
        return replace(self, counts=counts, squares=squares, row_scores=tuple(rows))


@dataclass(frozen=True, eq=False)
class MultilabelCounts(FieldwiseSum):
    """Any subset of L labels per row: sums Σwv, Σw²v and Σw²vv' of v = (hit, predicted, actual) of every label."""

    n: int
    weight: float
    squares: float  # Σw²
    all_right: float  # Σw of rows with every label right
    sums: Array  # Σwv, 3 × L
    sums2: Array  # Σw²v, 3L
    moments: Array  # Σw²vv', 3L × 3L
    losses: Array
    impossible: int  # labels whose actual value was given probability 0
    row_scores: tuple[RowScores, ...]

    @staticmethod
    def of(actual: Codes, predicted: Codes, weight: Array, scores: Scores) -> MultilabelCounts:
        """Count rows of 0/1 matrices, n × L; log probabilities are those of the truth about each label."""
        n, L = actual.shape
        sums2, moments = np.zeros(3 * L), np.zeros((3 * L, 3 * L))
        for start in range(0, n, _ROWS_AT_ONCE):
            a, b = actual[start : start + _ROWS_AT_ONCE], predicted[start : start + _ROWS_AT_ONCE]
            v = np.hstack([a * b, b, a]).astype(np.float64)
            weighted = v * weight[start : start + _ROWS_AT_ONCE, None] ** 2
            sums2 += weighted.sum(axis=0)
            moments += weighted.T @ v
        losses, impossible, probability = np.zeros((2, 14)), 0, scores.probability
        if probability is not None:
            given = np.where(actual == 1, probability, 1 - probability)
            log_loss, impossible = log_losses(given, scores.log_probability)
            brier = ((1.0 - given) ** 2).mean(axis=1)
            losses = np.stack([RowMean.sums(log_loss.mean(axis=1), weight), RowMean.sums(brier, weight)])
        all_right = float(weight @ (actual == predicted).all(axis=1))
        sums = np.stack([weight @ (actual * predicted), weight @ predicted, weight @ actual])
        rows = () if scores.score is None else (RowScores(scores.score, actual, predicted, weight),)
        total, squares = float(weight.sum()), float(weight @ weight)
        return MultilabelCounts(n, total, squares, all_right, sums, sums2, moments, losses, impossible, rows)


@dataclass(frozen=True, eq=False)
class RegressionSums(FieldwiseSum):
    """Sums of |e| (see `RowMean.sums`) and sums Σwᵃe²ⁱuʲ for a = 1 to 4, i = 0 to 4 and j = 0 to 8, for each target.

    e is the error and u the target less a shift near its mean, both in a unit near its spread: without a shift powers
    would lose digits, without a unit they could overflow.
    """

    n: int
    absolute: Array  # k × 14
    moments: Array  # k × 4 × 5 × 9

    @staticmethod
    def of(y: Array, prediction: Array, weight: Array, shift: Array, unit: Array) -> RegressionSums:
        """Add up rows of n × k targets and predictions."""
        n, k = y.shape
        absolute, moments = np.zeros((k, 14)), np.zeros((k, 4, 5, 9))
        for start in range(0, n, _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            w = powers(weight[rows], 5)[1:]
            for t in range(k):
                e, u = (y[rows, t] - prediction[rows, t]) / unit[t], (y[rows, t] - shift[t]) / unit[t]
                errors = w[:, None] * powers(e**2, 5)
                moments[t] += (errors.reshape(20, -1) @ powers(u, 9).T).reshape(4, 5, 9)
                absolute[t] += RowMean.sums(np.abs(e), weight[rows])
        return RegressionSums(n, absolute, moments)

    def absolute_errors(self) -> list[RowMean]:
        """Return the mean of |e| for each target."""
        return [RowMean.of(sums) for sums in self.absolute]

    def squared_errors(self) -> list[RowMean]:
        """Return the mean of e² for each target."""
        return [
            RowMean.of(np.concatenate([moments[a - 1, : a + 1, 0] for a in range(1, 5)])) for moments in self.moments
        ]
