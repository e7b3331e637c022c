"""Test whether residuals are a sample from a normal distribution; three tests, with R's p-values.

Mean and variance are estimated from the residuals, so no test depends on shift or scale. A small p-value is evidence
against normality. A test that does not apply (too few rows, equal residuals, a value that is not finite) is NaN.
`normality_verdict` chooses the test that screens and pages quote.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from linearly.kernels.double_double import Array

SHAPIRO_ROWS = 5000  # the most rows for which Royston's approximation of the Shapiro-Wilk p-value was made
MIN_VERDICT_ROWS = 8  # fewer rows say next to nothing about a distribution

# Polynomials of statistics up to a limit: log p (log(1 − p) below 0.34) in Anderson and Darling's A², and p in
# Lilliefors' z.
_ANDERSON_DARLING_P = (
    (0.2, [-13.436, 101.14, -223.73]),
    (0.34, [-8.318, 42.796, -59.938]),
    (0.6, [0.9177, -4.279, -1.38]),
    (10.0, [1.2937, -5.709, 0.0186]),
)
_LILLIEFORS_P = (
    (0.302, [1.0]),
    (0.5, [2.76773, -19.828315, 80.709644, -138.55152, 81.218052]),
    (0.9, [-4.901232, 40.662806, -97.490286, 94.029866, -32.355711]),
    (np.inf, [6.198765, -19.558097, 23.186922, -12.234627, 2.423045]),
)


class NormalityTest(NamedTuple):
    """Statistic, p-value and the number of rows used."""

    statistic: float
    p_value: float
    n: int


class NormalityVerdict(NamedTuple):
    """The test that was chosen, with its result."""

    test: str
    statistic: float
    p_value: float
    n: int


def normality_verdict(residuals: ArrayLike) -> NormalityVerdict | None:
    """Return the test of normality to quote: Shapiro-Wilk from 8 to 5,000 rows, which it was made for, else None.

    >>> normality_verdict([1, 2, 4, 7, 11, 16, 22, 29]).test
    'shapiro_wilk'
    """
    r = np.asarray(residuals, dtype=np.float64)
    if not MIN_VERDICT_ROWS <= len(r) <= SHAPIRO_ROWS:
        return None
    return NormalityVerdict("shapiro_wilk", *shapiro_wilk(r))


def evenly_spaced(n: int) -> NDArray[np.intp]:
    """Return the indices of all n rows, or of the middle rows of 5,000 equal stretches.

    >>> evenly_spaced(3), evenly_spaced(125_000)[:4]
    (array([0, 1, 2]), array([12, 37, 62, 87]))
    """
    if n <= SHAPIRO_ROWS:
        return np.arange(n)
    return (2 * np.arange(SHAPIRO_ROWS) + 1) * n // (2 * SHAPIRO_ROWS)


def shapiro_wilk(r: ArrayLike) -> NormalityTest:
    """Return Shapiro and Wilk's W with Royston's p-value (1995, AS R94).

    The p-value was made for 3 to 5,000 rows. Of more rows, 5,000 evenly spaced ones are used, and `n` is 5,000.

    >>> test = shapiro_wilk([1, 2, 4, 7, 11])
    >>> round(test.statistic, 4), round(test.p_value, 4), test.n
    (0.9344, 0.6269, 5)
    """
    r = np.asarray(r, dtype=np.float64)
    x = _standardised(r[evenly_spaced(len(r))], fewest=3)
    if x is None:
        return _not_applicable(min(len(r), SHAPIRO_ROWS))
    n = len(x)
    a = _royston_weights(n)
    # W is the squared correlation of a and x. What is left of x after a gives 1 − W without cancellation.
    rest = x - a * (a @ x / (a @ a))
    lack = float(rest @ rest / (x @ x))
    return NormalityTest(1.0 - lack, _royston_p_value(lack, n), n)


def lilliefors(r: ArrayLike) -> NormalityTest:
    """Return Kolmogorov and Smirnov's D with estimated mean and variance (Lilliefors), p-value as R's nortest.

    >>> test = lilliefors([1, 2, 4, 7, 11])
    >>> round(test.statistic, 4), round(test.p_value, 4), test.n
    (0.1972, 0.7534, 5)
    """
    r = np.asarray(r, dtype=np.float64)
    x = _standardised(r, fewest=5)
    if x is None:
        return _not_applicable(len(r))
    n = len(x)
    below = ndtr(x)
    i = np.arange(n)
    D = max(float(np.max((i + 1) / n - below)), float(np.max(below - i / n)))
    return NormalityTest(D, _lilliefors_p_value(D, n), n)


def anderson_darling(r: ArrayLike) -> NormalityTest:
    """Return Anderson and Darling's A² with estimated mean and variance, p-value by Stephens (1986, table 4.9).

    >>> test = anderson_darling([1, 2, 4, 7, 11, 16, 22, 29])
    >>> round(test.statistic, 4), round(test.p_value, 4), test.n
    (0.3031, 0.4927, 8)
    """
    r = np.asarray(r, dtype=np.float64)
    x = _standardised(r, fewest=8)
    if x is None:
        return _not_applicable(len(r))
    n = len(x)
    odd = 2.0 * np.arange(n) + 1.0
    A = -n - float(np.mean(odd * (log_ndtr(x) + log_ndtr(-x[::-1]))))
    z = A * (1.0 + 0.75 / n + 2.25 / n**2)
    if z < 10.0:
        log_p = polyval(z, next(coefficients for limit, coefficients in _ANDERSON_DARLING_P if z < limit))
        p = -np.expm1(log_p) if z < 0.34 else np.exp(log_p)
    else:
        p = 3.7e-24  # the last formula would turn upwards; this is about its value at 10, and an upper bound
    return NormalityTest(A, float(p), n)


def _standardised(r: Array, fewest: int) -> Array | None:
    """Return residuals sorted, with mean 0 and standard deviation 1; None if there is nothing to test."""
    if len(r) < fewest or not np.all(np.isfinite(r)) or r.min() == r.max():
        return None
    # By a power of two, hence exactly: squares of residuals near 1e±200 must neither overflow nor vanish.
    x = np.ldexp(np.sort(r), -int(np.frexp(np.abs(r).max())[1]))
    x = x - x.mean()
    return np.asarray(x / np.sqrt(x @ x / (len(x) - 1)), dtype=np.float64)


def _not_applicable(n: int) -> NormalityTest:
    return NormalityTest(float("nan"), float("nan"), n)


def _royston_weights(n: int) -> Array:
    """Return approximate weights a of W = (a'x)²/‖x‖²: normal scores, the one or two largest of them corrected."""
    if n == 3:
        return np.array([-np.sqrt(0.5), 0.0, np.sqrt(0.5)])
    # Quantiles in full precision: p-values are then R's to 1e-13. Those of scipy.stats.shapiro (1.17) differ
    # from R's by up to 6e-8 on the golden samples, by 8e-9 on mtcars.
    m = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    square = float(m @ m)
    u = 1.0 / np.sqrt(n)
    a = m.copy()
    ends = [m[-1] / np.sqrt(square) + polyval(u, [0.0, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056])]
    if n > 5:
        correction = polyval(u, [0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633])
        ends.append(m[-2] / np.sqrt(square) + correction)
    k = len(ends)
    a /= np.sqrt((square - 2.0 * np.sum(m[n - k :] ** 2)) / (1.0 - 2.0 * np.sum(np.square(ends))))
    a[n - k :] = ends[::-1]
    a[:k] = np.negative(ends)
    return np.asarray(a, dtype=np.float64)


def _royston_p_value(lack: float, n: int) -> float:
    """Return P(W ≤ 1 − lack): a transform of log(1 − W) is nearly normal; for n = 3 the distribution is known."""
    if n == 3:
        p = 6.0 / np.pi * (np.arcsin(np.sqrt(1.0 - lack)) - np.arcsin(np.sqrt(0.75)))
        return float(max(p, 0.0))
    log_lack = float(np.log(lack)) if lack > 0.0 else -np.inf
    if n <= 11:
        # The inner difference is positive: weights this few rows have keep W well above 0.
        y = -np.log(polyval(n, [-2.273, 0.459]) - log_lack)
        mean = polyval(n, [0.5440, -0.39978, 0.025054, -6.714e-4])
        sd = np.exp(polyval(n, [1.3822, -0.77857, 0.062767, -0.0020322]))
    else:
        y = log_lack
        mean = polyval(np.log(n), [-1.5861, -0.31082, -0.083751, 0.0038915])
        sd = np.exp(polyval(np.log(n), [-0.4803, -0.082676, 0.0030302]))
    return float(ndtr((mean - y) / sd))


def _lilliefors_p_value(D: float, n: int) -> float:
    """Return p by Dallal and Wilkinson (1986) if that is at most 0.1, else from Stephens's (1974) modified statistic.

    R's nortest describes its polynomials in that statistic as the result of a simulation. The first two here were
    found by interpolating its p-values, which they reproduce to 2e-14. The third, for z > 0.9, is reached only with
    millions of rows. The reachable range of z is too narrow to determine it in the same way, so it is only checked
    against seven p-values of nortest for z from 0.902 to 0.917 (to 3e-15). With very many rows p jumps where one
    formula replaces the other, as it does in R: at 20 million rows from 0.04 to 0.10 as D grows.
    """
    # The formula was made for n ≤ 100; beyond, D shrinks as n^-0.49.
    few = min(n, 100)
    d = D * (n / few) ** 0.49
    z = d * np.sqrt(few + 2.78019)
    log_p = -7.01256 * z**2 + 2.99587 * z - 0.122119 + 0.974598 / np.sqrt(few) + 1.67997 / few
    if log_p <= np.log(0.1):
        return float(np.exp(log_p))
    z = D * (np.sqrt(n) - 0.01 + 0.85 / np.sqrt(n))
    return float(polyval(z, next(coefficients for limit, coefficients in _LILLIEFORS_P if z <= limit)))
