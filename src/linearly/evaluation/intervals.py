"""Compute confidence intervals of proportions, means of row losses, and areas under ROC curves.

Weights enter through Kish's effective number of rows, (Σw)² / Σw²: their scale does not matter, and equal weights are
no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from linearly.inference.wald_tests import t_quantile
from linearly.kernels.double_double import Array


class Interval(NamedTuple):
    """An estimate with its confidence interval, and how that was computed."""

    value: float
    low: float
    high: float
    method: str


_ROUNDING = 1e-12  # of a share, by sums of weights
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
    """The mean of a loss over rows, with the sums that its interval requires.

    `skewness` is that of the mean, not of a row's loss. `dof` are Satterthwaite's degrees of freedom of the standard
    error: few if the losses have heavy tails.
    """

    value: float
    error: float
    skewness: float
    dof: float

    @staticmethod
    def of(sums: Array) -> RowMean:
        """Compute the mean from sums of `sums`, which add up over blocks."""
        power = np.split(sums, np.cumsum([2, 3, 4]))
        (w, wl), w2 = power[0], float(power[1][0])
        value, n = float(wl / w), kish_sample_size(float(w), w2)
        # Σwᵃ(l − mean)ᵃ for a = 2, 3, 4. With a spread below 1e-3 of the mean they would be rounding errors.
        central = [
            sum(comb(a, k) * (-value) ** (a - k) * float(part[k]) for k in range(a + 1))
            for a, part in enumerate(power[1:], start=2)
        ]
        narrow = not central[0] > 1e-6 * value**2 * w2
        return row_mean(value, float(w), n, max(central[0], 0.0), *((0.0, 0.0) if narrow else central[1:]))

    @staticmethod
    def sums(loss: Array, weight: Array) -> Array:
        """Return Σwᵃlᵏ of a block for a = 1 to 4 and k = 0 to a."""
        W, L = powers(weight, 5), powers(loss, 5)
        return np.array([W[a] @ L[k] for a in range(1, 5) for k in range(a + 1)])

    def interval(self, level: float) -> Interval:
        """Return an interval of the logarithm by Student's t, moved up because means of losses are skewed to the right.

        The shift is Bonett's (2006) for variances, for losses of any relative error. The upper end follows the
        skewness besides, by the expansion of Johnson (1978) and Hall (1992).
        """
        if not self.value > 0:
            return Interval(self.value, self.value, self.value, "t, log")
        relative, t = self.error / self.value, t_quantile(level, self.dof)
        shift = t_quantile(level) * relative**2 / 2
        half = t * relative * np.exp(shift)
        more = relative * skewness_shift(self.skewness, relative, t)
        low, high = self.value * np.exp(min(shift - half, 0.0)), self.value * np.exp(shift + half + more)
        return Interval(self.value, float(low), float(high), "t, log")


def powers(values: Array, n: int) -> Array:
    """Return the first n powers, starting at 0, in rows; products are ten times as fast as `**`."""
    return np.vander(values, n, increasing=True).T


def row_mean(value: float, weight: float, n: float, second: float, third: float, fourth: float) -> RowMean:
    """Return a mean of n rows from Σw and the sums Σwᵃ(l − mean)ᵃ; third and fourth are 0 if they are not known."""
    if not n > 1:
        return RowMean(value, np.nan, 0.0, np.nan)
    error = float(np.sqrt(second * n / (n - 1)) / weight)
    skewness = third / second**1.5 if second > 0 else 0.0
    return RowMean(value, error, float(skewness), satterthwaite(n, fourth / second**2 if second > 0 else 0.0))


def satterthwaite(n: float, kurtosis: float) -> float:
    """Return the degrees of freedom of a standard error of n rows, at least 2 if there are so many.

    `kurtosis` is Σu⁴ / (Σu²)² of the influences u of the rows, which is 3/n for normal ones.
    """
    excess = kurtosis - (n - 3) / (n - 1) / n
    return max(min(2 / excess if excess > 0 else np.inf, n - 1), min(2.0, n - 1), 1.0)


def skewness_shift(skewness: float, relative: float, t: float) -> float:
    """Return how many standard errors of the logarithm of a mean its skewness moves an end of an interval outwards."""
    return max(max(skewness / 3 - relative / 2, 0.0) * t**2 + skewness / 6, 0.0)


def folded_normal(mean: Array, error: Array) -> tuple[Array, Array]:
    """Return mean and variance of the absolute value of normal variables."""
    ratio = mean / np.where(error > 0, error, 1.0)
    expected = np.where(
        error > 0, error * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + mean * erf(ratio / np.sqrt(2)), mean
    )
    return expected, np.maximum(mean**2 + error**2 - expected**2, 0.0)


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
    """Return the correlation matrix; variables with variance 0 are uncorrelated with the rest."""
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
    positive: NDArray[np.bool_]

    @staticmethod
    def of(score: Array, positive: NDArray[np.bool_], weight: Array) -> Area:
        """Compute the area by placements (DeLong, DeLong & Clarke-Pearson 1988), with ties counted half."""
        _, group = np.unique(score, return_inverse=True)
        w1, w0 = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
        at1, at0 = np.bincount(group, w1), np.bincount(group, w0)
        total1, total0 = float(at1.sum()), float(at0.sum())
        if not (total1 > 0 and total0 > 0):
            return Area(np.nan, np.zeros(len(score)), 0.0, 0.0, positive)
        below = (np.cumsum(at0) - at0 / 2)[group] / total0
        above = 1 - (np.cumsum(at1) - at1 / 2)[group] / total1
        value = float(w1 @ below / total1)
        if min(value, 1 - value) < _ROUNDING:  # separated: sums of weights may miss 0 and 1 by rounding
            value = float(round(value))
        n1, n0 = kish_sample_size(total1, float(w1 @ w1)), kish_sample_size(total0, float(w0 @ w0))
        influence = np.where(positive, w1 * (below - value) / total1, w0 * (above - value) / total0)
        # One row alone does not show how much rows like it vary; its influence is 0 rather than 0 · ∞.
        more1, more0 = (np.sqrt(n / (n - 1)) if n > 1 else 1.0 for n in (n1, n0))
        influence *= np.where(positive, more1, more0)
        return Area(value, influence, n1, n0, positive)

    def interval(self, level: float) -> Interval:
        """Return DeLong's interval of the log-odds; Newcombe's if a class has one row or the classes are separated.

        Student's t allows for variances of few rows. The log-odds of a large area are skewed, and those of few rows too
        large: the interval moves towards 0, as that of a mean loss moves up.
        """
        if np.isnan(self.value):
            return UNDEFINED
        error = float(np.sqrt(self.influence @ self.influence))
        if not (min(self.n_positive, self.n_negative) > 1 and error > 0 and 0 < self.value < 1):
            return newcombe(self.value, self.n_positive, self.n_negative, level)
        relative = error / (self.value * (1 - self.value))
        lean = (2 * self.value - 1) * abs(2 * self.value - 1)
        t = t_quantile(level, self.dof())
        return logit_interval(self.value, relative, -t_quantile(level) * relative**2 / 2 * lean, t, "DeLong, t, logit")

    def dof(self) -> float:
        """Return Welch's degrees of freedom.

        The kurtosis of the placements of few rows is too uncertain to enter: with it, intervals of 50 rows cover 98%.
        """
        total = 0.0
        for rows, n in ((self.positive, self.n_positive), (~self.positive, self.n_negative)):
            variance = float(self.influence[rows] @ self.influence[rows])
            total += variance**2 / max(n - 1, 1.0)
        return max(float(self.influence @ self.influence) ** 2 / total, 1.0)


def logit_interval(value: float, error: float, shift: float, t: float, method: str) -> Interval:
    """Return the interval of a share from the standard error of its log-odds, moved by `shift`, value included."""
    odds = np.log(value / (1 - value))
    low, high = (float(1 / (1 + np.exp(-(odds + shift + side * t * error)))) for side in (-1, 1))
    return Interval(value, min(low, value), max(high, value), method)


def precision_area(score: Array, positive: NDArray[np.bool_], weight: Array) -> Area:
    """Return the average precision, Σ (Rᵢ − Rᵢ₋₁) Pᵢ over falling thresholds, and each row's influence on it.

    A row adds its own precision if it is positive, and changes the precision at all lower thresholds.
    """
    _, group = np.unique(-score, return_inverse=True)
    hits, rows = np.bincount(group, np.where(positive, weight, 0.0)), np.bincount(group, weight)
    taken, total = np.cumsum(rows), float(hits.sum())
    precision = np.cumsum(hits) / taken
    value = float(hits @ precision / total)
    gain, loss = (np.cumsum((hits * part / taken)[::-1])[::-1] for part in (np.ones_like(hits), precision))
    influence = weight * (positive * (precision[group] - value + gain[group]) - loss[group]) / total
    w1, w0 = weight[positive], weight[~positive]
    n1, n0 = kish_sample_size(total, float(w1 @ w1)), kish_sample_size(float(w0.sum()), float(w0 @ w0))
    influence[positive] *= np.sqrt(n1 / (n1 - 1)) if n1 > 1 else 1.0
    return Area(value, influence, n1, n0, positive)


def precision_interval(area: Area, level: float) -> Interval:
    """Return the interval of an average precision, by the log-odds; Wilson's for the positives if it is 1.

    The value is too large by half the variance of its log-odds, in small samples.
    """
    error = float(np.sqrt(area.influence @ area.influence))
    if not (area.n_positive > 1 and error > 0 and 0 < area.value < 1):
        return wilson(area.value, area.n_positive, level, "Wilson on positives")
    relative = error / (area.value * (1 - area.value))
    return logit_interval(area.value, relative, -(relative**2) / 2, t_quantile(level, area.dof()), "t, logit")


def newcombe(value: float, n1: float, n0: float, level: float) -> Interval:
    """Return the interval of an area under a ROC curve by Newcombe's method 5 (2006)."""
    from scipy.optimize import brentq  # loading it takes as long as all the rest of a small evaluation

    z, more = t_quantile(level), max((n1 + n0) / 2 - 1, 0.0)

    def excess(theta: float) -> float:
        variance = theta * (1 - theta) * (1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)) / (n1 * n0)
        return float((value - theta) ** 2 - z**2 * variance)

    # At 0 and 1 there is no variance, hence a second root that is not the end of the interval.
    low = 0.0 if value == 0 else float(brentq(excess, 0.0, min(value, 1 - 1e-12)))
    high = 1.0 if value == 1 else float(brentq(excess, max(value, 1e-12), 1.0))
    return Interval(value, low, high, "Newcombe")
