"""Bound the rounding errors of a summary by one number per column, and convert errors to correct digits.

Column 0 is the constant. The others are the scaled columns of [X | Y] about their means. The products of columns i and
j in a `Gram` have errors of at most √(bound_i · bound_j); a column of a `QRFactor` has an error vector of length
√bound_j. Both bounds are sums of squares, and both change with the origin in the same way. Sums and differences of
summaries propagate them: an error remains after the rows that caused it are removed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linearly.kernels.double_double import Array

SAFE = 4.0  # how much larger than usual rounding errors are assumed to be
MIN_DIGITS = 10.0  # of a solution that "auto" accepts
MAX_ALWAYS_GRAM_COLUMNS = 128  # up to this a Gram is fast to solve, even in double-double
_FEWER_DIGITS = 1.0  # of coefficients far below their standard errors, with many columns
MAX_COLUMNS = 64  # beyond it NumPy's calls take less time than the products
NEGLIGIBLE = 1e-4  # of what a coefficient could be: up to 10⁸ rows, chance alone makes it larger


class CorrectDigits(NamedTuple):
    """Estimated correct decimal digits, with the meaning of the fields of `Solution`."""

    digits: float
    digits_of_relevant_coefs: float
    strict_digits: float
    error_digits: float


def are_enough(found: CorrectDigits, columns: int) -> bool:
    """Return whether coefficients and standard errors have `MIN_DIGITS` digits.

    With many columns, where another method takes many times as long, a coefficient far below its standard error may
    have one digit fewer.
    """
    strict = found.strict_digits + (_FEWER_DIGITS if columns > MAX_ALWAYS_GRAM_COLUMNS else 0.0)
    return min(found.digits_of_relevant_coefs, strict, found.error_digits) >= MIN_DIGITS


def least_bound(grain: float, weight: Array | float, mean: Array, squares: Array) -> Array:
    """Return the bound for products that are each rounded once: `grain` times the squares about the shift."""
    bound = np.empty(1 + len(mean))
    bound[0], about_shift = weight, bound[1:]
    np.multiply(mean, mean, out=about_shift)
    about_shift *= weight
    about_shift += squares
    bound *= grain
    return np.maximum(bound, 0.0, out=bound)


def about(bound: Array, moved: Array) -> Array:
    """Return the bound for an origin that is `moved`: each column inherits that many errors of the constant.

    The four errors of (z_i − t_i)(z_j − t_j) are independent, so their squares add to the product of the two results.
    """
    result = bound.copy()
    result[1:] += moved**2 * bound[0]
    return result


def largest_ratio(error: Array, size: Array) -> float:
    """Return the largest relative error; a size of 0 does not count."""
    positive = size > 0
    ratio = error / size if positive.all() else np.divide(error, size, out=np.zeros(error.shape), where=positive)
    return float(ratio.max(initial=0.0))


def relative_error(root: Array, meat: Array, wrong: Array) -> float:
    """Return the largest relative error of a standard error for these meats of scores and of their errors."""
    root = root / np.abs(root).max(axis=1, keepdims=True, initial=np.finfo(np.float64).tiny)
    variances, errors = (np.einsum("ir,trs,is->ti", root, each, root) for each in (meat, wrong))
    return math.sqrt(largest_ratio(errors, variances))


def digits_of_error(error: float) -> float:
    """Return the decimal digits that a relative error leaves, at most 16."""
    return min(max(-math.log10(max(error, 1e-16)), 0.0), 16.0)
