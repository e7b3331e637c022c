"""Compute the interval of R² on rows that the model was not fitted to, from sums of powers.

1 − R² is the ratio of the mean squared error to the variance of y. The interval is one of its logarithm, to which a row
contributes l = e² / MSE − d² / Var(y), with d = y − ȳ. If the model predicts little more than the mean, l nearly
vanishes, and what remains is the error of ȳ: a term in its square, for which the delta method gives intervals that are
far too long. This term therefore has its own interval, and the two are combined (Zou and Donner's MOVER, 2008).
"""

from __future__ import annotations

import numpy as np

from linearly.evaluation.intervals import Interval, kish_sample_size, satterthwaite, skewness_shift
from linearly.inference.wald_tests import t_quantile
from linearly.kernels.double_double import Array

METHOD = "t, log of 1 − R²"


def r_squared(moments: Array, level: float) -> Interval:
    """Return R² about the mean of the rows, from the sums Σwᵃe²ⁱuʲ of `RegressionSums`; NaN if y does not vary."""
    total = float(moments[0, 0, 0])
    center, n = float(moments[0, 0, 1]) / total, kish_sample_size(total, float(moments[1, 0, 0]))
    variance, mse = float(moments[0, 0, 2]) / total - center**2, float(moments[0, 1, 0]) / total
    if not (variance > 1e-15 * moments[0, 0, 2] / total and n > 1):
        return Interval(np.nan, np.nan, np.nan, METHOD)
    value = 1 - mse / variance
    if not mse > 0:
        return Interval(value, value, value, METHOD)
    # Polynomials in e² (rows) and u (columns): d, d², e², and the contribution of a row.
    d, e2 = np.array([[-center, 1.0]]), np.array([[0.0], [1.0]])
    d2 = _times(d, d)

    def sum_of(a: int, *factors: Array) -> float:
        """Return Σwᵃ times the product of polynomials."""
        product = np.ones((1, 1))
        for factor in factors:
            product = _times(product, factor)
        rows, columns = product.shape
        return float((moments[a - 1, :rows, :columns] * product).sum())

    row = _plus(e2 / mse, -d2 / variance)
    # The slope of e² − d² (1 − R²) on d. An R² of 0 but for chance is taken as 0, or the skewness of y would enter.
    ratio = mse / variance
    slope = sum_of(1, _plus(e2, -d2 * (1.0 if abs(1 - ratio) < 10 / n else ratio)), d) / total / variance
    rest = _plus(row, -slope / mse * d)
    second, of_rest, of_d = (max(sum_of(2, part, part), 0.0) for part in (row, rest, d))
    related = max(sum_of(2, rest, d) * np.sign(slope) / np.sqrt(of_rest * of_d), 0.0) if of_rest > 0 else 0.0
    kurtosis = sum_of(4, row, row, row, row) / second**2 if second > 0 else 0.0
    t, z = t_quantile(level, satterthwaite(n, kurtosis)), t_quantile(level)
    more = np.sqrt(n / (n - 1)) / total
    reach = t * np.sqrt(of_rest) * more * np.exp(z / n)
    # For a model that predicts a constant, the slope is 2 (ȳ − constant) and 1 − R² is 1 + offset².
    offset, error = abs(slope) / 2 * max(1 / np.sqrt(variance), np.sqrt(variance) / mse), t / np.sqrt(n)
    squares = np.maximum([offset, offset + error, offset - error], 0.0) ** 2
    at, far, near = np.log1p(squares) if ratio >= 1 else squares
    up, down = (np.sqrt(reach**2 + part**2 + 2 * related * reach * part) for part in (far - at, at - near))
    skewness, relative = sum_of(3, rest, rest, rest) / of_rest**1.5 if of_rest > 0 else 0.0, np.sqrt(of_rest) * more
    up += relative * skewness_shift(skewness, relative, t)
    down += relative * skewness_shift(-skewness, relative, t)
    return Interval(value, float(1 - ratio * np.exp(up)), float(1 - ratio * np.exp(-down)), METHOD)


def _plus(a: Array, b: Array) -> Array:
    """Return the sum of two polynomials."""
    total = np.zeros(np.maximum(a.shape, b.shape))
    total[: a.shape[0], : a.shape[1]] += a
    total[: b.shape[0], : b.shape[1]] += b
    return total


def _times(a: Array, b: Array) -> Array:
    """Return the product of two polynomials."""
    product = np.zeros((a.shape[0] + b.shape[0] - 1, a.shape[1] + b.shape[1] - 1))
    for i, j in np.argwhere(b):
        product[i : i + a.shape[0], j : j + a.shape[1]] += a * b[i, j]
    return product
