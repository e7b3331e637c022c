"""Compute confidence intervals of proportions, means of row losses, and areas under ROC curves.

Weights enter through Kish's effective number of rows, (Σw)² / Σw²: their scale does not matter, and equal weights are
no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from linearly.inference.tidy import t_quantile

Array = NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate with its confidence interval, and how that was computed."""

    value: float
    low: float
    high: float
    method: str


UNDEFINED = Interval(np.nan, np.nan, np.nan, "undefined")


def kish_sample_size(weight: float, squares: float) -> float:
    """Return Kish's effective number of rows, from Σw and Σw²."""
    return weight**2 / squares if squares > 0 else 0.0


def share(part: float, whole: float) -> float:
    """Return a ratio, with 0/0 defined as 0."""
    return part / whole if whole > 0 else 0.0


def wilson(value: float, n: float, level: float, method: str = "Wilson") -> Interval:
    """Return the interval of a proportion of n rows (Wilson 1927): inside [0, 1], and never of length 0."""
    if not n > 0:
        return Interval(value, 0.0, 1.0, method)
    z = t_quantile(level)
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return Interval(value, 0.0 if value == 0 else float(low), 1.0 if value == 1 else float(high), method)


def wilson_f1(hits: float, union: float, n: float, level: float) -> Interval:
    """Return the interval of F1, the increasing function 2J / (1 + J) of the proportion J = TP / (TP + FP + FN)."""
    J = wilson(share(hits, union), n, level)
    value, low, high = (2 * j / (1 + j) for j in J[:3])
    return Interval(value, low, high, "Wilson of TP/(TP+FP+FN)")


def matched_wilson(value: float, variance: float, n: float, level: float) -> Interval:
    """Return Wilson's interval of a proportion of known variance, with the number of rows that would give it."""
    rows = value * (1 - value) / variance if variance > 0 else n
    return wilson(value, rows, level, "Wilson, delta")


class RowMean(NamedTuple):
    """The mean of a loss over rows, from the sums Σw, Σw², Σwl, Σw²l and Σw²l²: its value and standard error."""

    value: float
    error: float

    @staticmethod
    def of(sums: Array) -> RowMean:
        """Compute the mean from the five sums, which add up over blocks."""
        w, w2, wl, w2l, w2l2 = map(float, sums)
        value = wl / w
        n = kish_sample_size(w, w2)
        spread = max(w2l2 - 2 * value * w2l + value**2 * w2, 0.0)
        return RowMean(value, float(np.sqrt(spread * n / (n - 1)) / w) if n > 1 else np.nan)

    @staticmethod
    def sums(loss: Array, weight: Array) -> Array:
        """Return the five sums of a block."""
        w2 = weight**2
        return np.array([weight.sum(), w2.sum(), weight @ loss, w2 @ loss, w2 @ loss**2])

    def interval(self, level: float) -> Interval:
        """Return a normal interval of the logarithm: losses are positive and their means skewed to the right."""
        factor = np.exp(t_quantile(level) * self.error / self.value) if self.value > 0 else 1.0
        return Interval(self.value, float(self.value / factor), float(self.value * factor), "normal, log")


def average(parts: Sequence[Interval], correlation: Array | None, method: str) -> Interval:
    """Return the interval of a mean of estimates from their intervals (Zou and Donner's MOVER, 2008).

    Without a correlation matrix the estimates are taken as independent.
    """
    if not parts:
        return UNDEFINED
    value, low, high = np.array([part[:3] for part in parts]).T
    R = np.eye(len(parts)) if correlation is None else correlation
    below, above = (np.sqrt(max(float(d @ R @ d), 0.0)) / len(parts) for d in (value - low, high - value))
    middle = float(value.mean())
    return Interval(middle, max(middle - float(below), 0.0), min(middle + float(above), 1.0), method)


def correlation(covariance: Array) -> Array:
    """Return the correlation matrix; what does not vary is unrelated to the rest."""
    size = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))  # rounding may leave -1e-18 of a variance of 0
    R = covariance / np.where(size > 0, size, 1.0) / np.where(size > 0, size, 1.0)[:, None]
    np.fill_diagonal(R, 1.0)
    return np.asarray(R)


class Area(NamedTuple):
    """The area under a ROC curve and each row's influence on it, whose squares sum to DeLong's variance."""

    value: float
    influence: Array
    n_positive: float
    n_negative: float

    @staticmethod
    def of(score: Array, positive: NDArray[np.bool_], weight: Array) -> Area:
        """Compute the area by placements (DeLong, DeLong & Clarke-Pearson 1988), with ties counted half."""
        _, group = np.unique(score, return_inverse=True)
        w1, w0 = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
        at1, at0 = np.bincount(group, w1), np.bincount(group, w0)
        total1, total0 = float(at1.sum()), float(at0.sum())
        if not (total1 > 0 and total0 > 0):
            return Area(np.nan, np.zeros(len(score)), 0.0, 0.0)
        below = (np.cumsum(at0) - at0 / 2)[group] / total0
        above = 1 - (np.cumsum(at1) - at1 / 2)[group] / total1
        value = float(w1 @ below / total1)
        n1, n0 = kish_sample_size(total1, float(w1 @ w1)), kish_sample_size(total0, float(w0 @ w0))
        influence = np.where(positive, w1 * (below - value) / total1, w0 * (above - value) / total0)
        # One row alone does not show how much rows like it vary; its influence is 0 rather than 0 · ∞.
        more1, more0 = (np.sqrt(n / (n - 1)) if n > 1 else 1.0 for n in (n1, n0))
        influence *= np.where(positive, more1, more0)
        return Area(value, influence, n1, n0)

    def interval(self, level: float) -> Interval:
        """Return DeLong's interval of the log-odds; Newcombe's if a class has one row or the classes are separated."""
        if np.isnan(self.value):
            return UNDEFINED
        error = float(np.sqrt(self.influence @ self.influence))
        if not (min(self.n_positive, self.n_negative) > 1 and error > 0 and 0 < self.value < 1):
            return newcombe(self.value, self.n_positive, self.n_negative, level)
        odds = np.log(self.value / (1 - self.value))
        half = t_quantile(level) * error / (self.value * (1 - self.value))
        low, high = (float(1 / (1 + np.exp(-(odds + side * half)))) for side in (-1, 1))
        return Interval(self.value, low, high, "DeLong, logit")


def average_precision(score: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the area under the precision-recall curve as a sum of steps, Σ (Rᵢ − Rᵢ₋₁) Pᵢ over falling thresholds."""
    _, group = np.unique(score, return_inverse=True)
    hits = np.bincount(group, np.where(positive, weight, 0.0))[::-1]
    taken = np.cumsum(np.bincount(group, weight)[::-1])
    there = hits > 0
    return float(hits[there] @ (np.cumsum(hits)[there] / taken[there]) / hits.sum())


def newcombe(value: float, n1: float, n0: float, level: float) -> Interval:
    """Return the interval of an area under a ROC curve by Newcombe's method 5 (2006)."""
    z, more = t_quantile(level), max((n1 + n0) / 2 - 1, 0.0)

    def excess(theta: float) -> float:
        variance = theta * (1 - theta) * (1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)) / (n1 * n0)
        return float((value - theta) ** 2 - z**2 * variance)

    # At 0 and 1 there is no variance, hence a second root that is not the end of the interval.
    low = 0.0 if value == 0 else float(brentq(excess, 0.0, min(value, 1 - 1e-12)))
    high = 1.0 if value == 1 else float(brentq(excess, max(value, 1e-12), 1.0))
    return Interval(value, low, high, "Newcombe")
