"""Distribution functions: normal and Student's t."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from . import missing_function

__getattr__ = missing_function("scipy.special")

_NORMAL = NormalDist()


def expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) without overflow."""
    with np.errstate(under="ignore"):
        small = np.exp(-np.abs(x))
        return np.where(np.asarray(x) >= 0, 1.0, small)[()] / (1.0 + small)


def _elementwise(f: Callable[..., float]) -> Callable[..., Any]:
    over_arrays = np.vectorize(f, otypes=[float])
    return lambda *values: over_arrays(*values)[()]


@_elementwise
def erf(x: float) -> float:
    """Return the error function."""
    return math.erf(x)


@_elementwise
def ndtr(x: float) -> float:
    """Return the distribution function of a standard normal variable."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


@_elementwise
def ndtri(p: float) -> float:
    """Return the quantile of a standard normal variable."""
    if 0 < p < 1:
        return _NORMAL.inv_cdf(p)
    return math.copysign(math.inf, p - 0.5) if p in (0, 1) else math.nan


def _gamma_ratio(a: float) -> float:
    """Return gamma(a + 1/2) / gamma(a): the recurrence up to a = 20, then eight terms of the asymptotic series."""
    factor = 1.0
    while a < 20:
        factor *= a / (a + 0.5)
        a += 1
    u = 1 / a
    series = u * (-1 / 8 + u**2 * (1 / 192 + u**2 * (-1 / 640 + u**2 * (17 / 14336 - u**2 * 31 / 18432))))
    return factor * math.sqrt(a) * math.exp(series)


def _density(df: float, t: float) -> float:
    """Return the density of Student's t."""
    power = -(df + 1) / 2 * math.log1p(t * t / df)
    return _gamma_ratio(df / 2) / math.sqrt(df * math.pi) * math.exp(power)


def _tail(df: float, t: float) -> float:
    """Return the probability beyond t > 0, by the continued fraction of the incomplete beta function (Lentz)."""
    x, a, b = df / (df + t * t), df / 2, 0.5
    upper = x < (a + 1) / (a + b + 2)  # the fraction converges there; elsewhere it is one minus the other side
    if not upper:
        x, a, b = t * t / (df + t * t), b, a
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    fraction = d
    for m in range(1, 10_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + numerator * d or tiny)
            c = 1 + numerator / c or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    # x^a (1 - x)^b / B(a, b), which is symmetric in the two sides, from the density.
    front = t * _density(df, t)
    return 0.5 * front / a * fraction if upper else 0.5 - 0.5 * front / a * fraction


@_elementwise
def stdtr(df: float, t: float) -> float:
    """Return the distribution function of Student's t."""
    if math.isnan(t) or not df > 0:
        return math.nan
    if math.isinf(df):
        return float(ndtr(t))
    if math.isinf(t):
        return float(t > 0)
    if t == 0:
        return 0.5
    return _tail(df, -t) if t < 0 else 1 - _tail(df, t)


@_elementwise
def stdtrit(df: float, p: float) -> float:
    """Return the quantile of Student's t: Newton's method between bounds that close in."""
    if math.isnan(p) or not df > 0 or not 0 <= p <= 1:
        return math.nan
    if p == 0.5:
        return 0.0
    if p in (0, 1):
        return math.copysign(math.inf, p - 0.5)
    if math.isinf(df):
        return float(ndtri(p))
    beyond, low, high = min(p, 1 - p), 0.0, 1.0
    while _tail(df, high) > beyond:
        low, high = high, 2 * high
    t = min(max(-float(ndtri(beyond)), low), high) or high / 2
    for _ in range(200):
        excess = _tail(df, t) - beyond
        low, high = (t, high) if excess > 0 else (low, t)
        step = excess / _density(df, t)
        new = t + step if low < t + step < high else (low + high) / 2
        if abs(new - t) <= 1e-16 * t:
            break
        t = new
    return math.copysign(t, p - 0.5)
