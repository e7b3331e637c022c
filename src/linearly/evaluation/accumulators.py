"""Reduce a block of rows to the counts and sums that an evaluation needs; the results of blocks are added.

Counts and sums are enough for everything but ranks. Areas under curves and calibration need the score of every row, so
scores are kept, 8 bytes per row and score.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from linearly.evaluation.intervals import Array, RowMean

Codes = NDArray[np.intp]

_ROWS_AT_ONCE = 4096


class Scores(NamedTuple):
    """What a model gives beside labels: probabilities, scores to rank by, logarithms of the true label's probability.

    The logarithms are given only if some probability is too small for float64 to hold its digits.
    """

    probability: NDArray[Any] | None = None
    score: NDArray[Any] | None = None
    log_probability: Array | None = None

    def take(self, rows: Any) -> Scores:
        """Return the scores of some rows."""
        return Scores(*(None if part is None else part[rows] for part in self))


class RowScores(NamedTuple):
    """Scores (n × K, or n × 1 for the positive label of two), class codes and weights, row by row."""

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
    """Return −log of the probabilities given to what is true, and how many of them were 0.

    A probability of 0 counts as the smallest step below 1, as in scikit-learn, so that the loss stays finite, unless
    its logarithm is known.
    """
    known = given > 0
    logs = np.log(np.where(known, given, np.finfo(given.dtype).eps), dtype=np.float64)
    if log_probability is not None:
        finite = np.isfinite(log_probability)
        known, logs = known | finite, np.where(finite, log_probability, logs)
    return np.asarray(-logs), int(np.size(known) - np.count_nonzero(known))


class Additive:
    """A dataclass of counts and sums whose `+` adds field by field."""

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True, eq=False)
class ClassCounts(Additive):
    """One label per row: the confusion matrix, sums of row losses, and scores."""

    n: int  # rows of positive weight
    counts: Array  # Σw, actual × predicted
    squares: Array  # Σw²
    losses: Array  # the sums of RowMean for log-loss and Brier score, 2 × 5
    impossible: int  # rows whose actual label was given probability 0
    row_scores: tuple[RowScores, ...]

    @staticmethod
    def of(actual: Codes, predicted: Codes, weight: Array, K: int, scores: Scores) -> ClassCounts:
        """Count rows with class codes from 0 to K − 1; probabilities are n × K."""
        cell = actual * K + predicted
        counts, squares = (np.asarray(np.bincount(cell, w, K * K), float).reshape(K, K) for w in (weight, weight**2))
        losses, impossible, probability = np.zeros((2, 5)), 0, scores.probability
        if probability is not None:
            given = probability[np.arange(len(actual)), actual]
            log_loss, impossible = log_losses(given, scores.log_probability)
            brier = (probability.astype(np.float64) ** 2).sum(axis=1) - 2.0 * given + 1.0
            losses = np.stack([RowMean.sums(log_loss, weight), RowMean.sums(brier if K > 2 else brier / 2, weight)])
        rows = () if scores.score is None else (RowScores(scores.score, actual, predicted, weight),)
        return ClassCounts(len(actual), counts, squares, losses, impossible, rows)


@dataclass(frozen=True, eq=False)
class MultilabelCounts(Additive):
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
        losses, impossible, probability = np.zeros((2, 5)), 0, scores.probability
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
class RegressionSums(Additive):
    """Sums Σwv and Σw²v of v = (1, |e|, e², e⁴, u, u², u³, u⁴, e²u, e²u²), for each target.

    e is the error and u the target less a shift near its mean, both in a unit near its spread: without a shift powers
    would lose digits, without a unit they could overflow.
    """

    n: int
    sums: Array  # 10 × k
    sums2: Array

    @staticmethod
    def of(y: Array, prediction: Array, weight: Array, shift: Array, unit: Array) -> RegressionSums:
        """Add up rows of n × k targets and predictions."""
        e, u = (y - prediction) / unit, (y - shift) / unit
        e2, u2 = e**2, u**2
        v = np.stack([np.ones_like(e), np.abs(e), e2, e2**2, u, u2, u2 * u, u2**2, e2 * u, e2 * u2])
        return RegressionSums(len(y), np.einsum("i,vit->vt", weight, v), np.einsum("i,vit->vt", weight**2, v))

    def mean_power(self, power: int) -> list[RowMean]:
        """Return the mean of |e| (power 1) or e² (power 2) for each target."""
        return [
            RowMean.of(np.array([s[0], q[0], s[power], q[power], q[power + 1]]))
            for s, q in zip(self.sums.T, self.sums2.T, strict=True)
        ]

    def r_squared(self) -> list[tuple[float, float]]:
        """Return R² about the mean of these rows and its standard error, by the delta method, for each target."""
        result = []
        for s, q in zip(self.sums.T, self.sums2.T, strict=True):
            center = s[4] / s[0]
            total = s[5] - s[4] * center
            if not total > 1e-15 * s[5] or self.n < 2:
                result.append((np.nan, np.nan))
                continue
            # A row's influence is (r (y − ȳ)² − e²) / total with r = Σe² / total; q holds the sums of its square.
            r = s[2] / total
            fourth = q[7] - 4 * center * q[6] + 6 * center**2 * q[5] - 4 * center**3 * q[4] + center**4 * q[0]
            crossed = q[9] - 2 * center * q[8] + center**2 * q[2]
            variance = max(r**2 * fourth - 2 * r * crossed + q[3], 0.0) / total**2
            result.append((float(1 - r), float(np.sqrt(variance))))
        return result
