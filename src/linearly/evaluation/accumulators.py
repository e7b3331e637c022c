"""What an evaluation counts in a block of rows; tallies of blocks add up.

Counts and sums are enough for everything but ranks: areas under curves and calibration need the score of every row, so
those are kept, 8 bytes for each row and score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.evaluation.intervals import Array, RowMean

Codes = NDArray[np.intp]

_ROWS_AT_ONCE = 4096


class RowScores(NamedTuple):
    """Row by row: scores (n × K, or n × 1 for the positive label of two), class numbers, weights."""

    score: Array
    actual: NDArray[np.int_]
    predicted: NDArray[np.int_]
    weight: Array

    @staticmethod
    def joined(parts: tuple[RowScores, ...]) -> RowScores:
        """All blocks as one."""
        if len(parts) == 1:
            return parts[0]
        score, actual, predicted, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        return RowScores(score, actual, predicted, weight)


def log_losses(given: Array, logarithm: Array | None = None) -> tuple[Array, int]:
    """−log of the probabilities given to what is true, and how many were 0.

    A probability of 0 counts as the smallest step below 1, as in scikit-learn, so that the loss stays finite; unless
    its logarithm is known.
    """
    known = given > 0
    logs = np.log(np.where(known, given, np.finfo(given.dtype).eps), dtype=np.float64)
    if logarithm is not None:
        known, logs = known | np.isfinite(logarithm), np.where(np.isfinite(logarithm), logarithm, logs)
    return np.asarray(-logs), int(np.size(known) - np.count_nonzero(known))


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """One label a row: the confusion matrix, sums of row losses, and scores."""

    n: int  # rows of positive weight
    counts: Array  # Σw, actual × predicted
    squares: Array  # Σw²
    losses: Array  # the sums of RowMean for log-loss and Brier score, 2 × 5
    impossible: int  # rows whose actual label was given probability 0
    kept: tuple[RowScores, ...]

    @staticmethod
    def of(
        actual: Codes,
        predicted: Codes,
        weight: Array,
        K: int,
        probability: Array | None,
        score: Array | None,
        logarithm: Array | None = None,
    ) -> ClassCounts:
        """From class numbers; `probability` is n × K, `score` what is to be kept.

        `logarithm`, of the probability of each row's label, says what float64 cannot hold of the probability.
        """
        cell = actual * K + predicted
        counts, squares = (np.asarray(np.bincount(cell, w, K * K), float).reshape(K, K) for w in (weight, weight**2))
        losses, impossible = np.zeros((2, 5)), 0
        if probability is not None:
            given = probability[np.arange(len(actual)), actual]
            log_loss, impossible = log_losses(given, logarithm)
            brier = (probability.astype(np.float64) ** 2).sum(axis=1) - 2.0 * given + 1.0
            losses = np.stack([RowMean.sums(log_loss, weight), RowMean.sums(brier if K > 2 else brier / 2, weight)])
        kept = () if score is None else (RowScores(score, actual, predicted, weight),)
        return ClassCounts(len(actual), counts, squares, losses, impossible, kept)

    def __add__(self, other: ClassCounts) -> ClassCounts:
        return ClassCounts(
            self.n + other.n,
            self.counts + other.counts,
            self.squares + other.squares,
            self.losses + other.losses,
            self.impossible + other.impossible,
            self.kept + other.kept,
        )


@dataclass(frozen=True, slots=True, eq=False)
class MultilabelCounts:
    """Any subset of L labels a row: with v = (hit, predicted, actual) of every label, the sums Σwv, Σw²v and Σw²vv'."""

    n: int
    weight: float
    squares: float  # Σw²
    exact: tuple[float, float]  # Σw and Σw² of rows with every label right
    sums: Array  # Σwv, 3 × L
    sums2: Array  # Σw²v, 3L
    moments: Array  # Σw²vv', 3L × 3L
    losses: Array
    impossible: int  # labels whose actual value was given probability 0
    kept: tuple[RowScores, ...]

    @staticmethod
    def of(
        actual: Codes,
        predicted: Codes,
        weight: Array,
        probability: Array | None,
        score: Array | None,
        logarithm: Array | None = None,
    ) -> MultilabelCounts:
        """From 0/1 matrices, n × L; `logarithm` is that of the probability of what is true of each label."""
        n, L = actual.shape
        sums2, moments = np.zeros(3 * L), np.zeros((3 * L, 3 * L))
        for start in range(0, n, _ROWS_AT_ONCE):
            a, b = actual[start : start + _ROWS_AT_ONCE], predicted[start : start + _ROWS_AT_ONCE]
            v = np.hstack([a * b, b, a]).astype(np.float64)
            weighted = v * weight[start : start + _ROWS_AT_ONCE, None] ** 2
            sums2 += weighted.sum(axis=0)
            moments += weighted.T @ v
        right = (actual == predicted).all(axis=1)
        losses, impossible = np.zeros((2, 5)), 0
        if probability is not None:
            given = np.where(actual == 1, probability, 1 - probability)
            log_loss, impossible = log_losses(given, logarithm)
            brier = ((1.0 - given) ** 2).mean(axis=1)
            losses = np.stack([RowMean.sums(log_loss.mean(axis=1), weight), RowMean.sums(brier, weight)])
        return MultilabelCounts(
            n,
            float(weight.sum()),
            float(weight @ weight),
            (float(weight @ right), float(weight**2 @ right)),
            np.stack([weight @ (actual * predicted), weight @ predicted, weight @ actual]),
            sums2,
            moments,
            losses,
            impossible,
            () if score is None else (RowScores(score, actual, predicted, weight),),
        )

    def __add__(self, other: MultilabelCounts) -> MultilabelCounts:
        return MultilabelCounts(
            self.n + other.n,
            self.weight + other.weight,
            self.squares + other.squares,
            (self.exact[0] + other.exact[0], self.exact[1] + other.exact[1]),
            self.sums + other.sums,
            self.sums2 + other.sums2,
            self.moments + other.moments,
            self.losses + other.losses,
            self.impossible + other.impossible,
            self.kept + other.kept,
        )


@dataclass(frozen=True, slots=True, eq=False)
class RegressionSums:
    """Regression: sums Σwv and Σw²v of v = (1, |e|, e², e⁴, u, u², u³, u⁴, e²u, e²u²), for each target.

    e is the error and u the target less a shift near its mean, both in a unit near its spread: without a shift powers
    would lose digits, without a unit they could overflow.
    """

    n: int
    sums: Array  # 10 × k
    sums2: Array

    @staticmethod
    def of(y: Array, prediction: Array, weight: Array, shift: Array, unit: Array) -> RegressionSums:
        """From n × k targets and predictions."""
        e, u = (y - prediction) / unit, (y - shift) / unit
        e2, u2 = e**2, u**2
        v = np.stack([np.ones_like(e), np.abs(e), e2, e2**2, u, u2, u2 * u, u2**2, e2 * u, e2 * u2])
        return RegressionSums(len(y), np.einsum("i,vit->vt", weight, v), np.einsum("i,vit->vt", weight**2, v))

    def __add__(self, other: RegressionSums) -> RegressionSums:
        return RegressionSums(self.n + other.n, self.sums + other.sums, self.sums2 + other.sums2)

    def mean_power(self, power: int) -> list[RowMean]:
        """The mean of |e| (power 1) or e² (power 2) for each target."""
        return [
            RowMean.of(np.array([s[0], q[0], s[power], q[power], q[power + 1]]))
            for s, q in zip(self.sums.T, self.sums2.T, strict=True)
        ]

    def r_squared(self) -> list[tuple[float, float]]:
        """R² about the mean of these rows and its standard error, by the delta method, for each target."""
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
