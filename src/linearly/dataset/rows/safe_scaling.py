"""Scale rows of extreme magnitude, so that products of a perceptron neither overflow nor underflow.

A perceptron compares sums of products of two rows, so it runs on the user's own numbers as long as the largest |x| is
between 1e-100 and 1e100, and a worked example comes out digit for digit. Beyond that all features together are
measured in one power of two, which makes the largest about 1; the constant feature of the intercept stays 1. So rows
times 1e200 or 1e-200 behave as the rows themselves would at size 1, and only the unit of the coefficients differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.dataset.rows.views import MappedRows
from linearly.kernels.matrices import is_sparse

T = TypeVar("T")

LARGE, SMALL = 2.0**332, 2.0**-332
# Rows of 2^±1000 can be brought to size 1 and their weights back without leaving float64.
_LARGEST_EXPONENT = 1000


class UnsafeMagnitude(Exception):
    """Rows are so large or so small that their products do not fit a float64."""


def is_safe_magnitude(largest: float) -> bool:
    """Return whether rows with this largest |x| can be multiplied with each other unchanged."""
    return largest == 0 or SMALL <= largest <= LARGE


def with_safe_scaling(rows: Rows, learn: Callable[[Rows, int], T]) -> tuple[T, int]:
    """Return learn(rows, 0) and 0; if it raises `UnsafeMagnitude`, learn(rows · 2^−e, e) and that e."""
    try:
        return learn(rows, 0), 0
    except UnsafeMagnitude:
        e = exponent(max_abs(rows))
        return learn(scaled_rows(rows, e), e), e


def exponent(size: float) -> int:
    """Return the exponent of the power of two just above a magnitude, 0 if the magnitude is safe."""
    if is_safe_magnitude(size):
        return 0
    return int(np.clip(np.frexp(size)[1], -_LARGEST_EXPONENT, _LARGEST_EXPONENT))


def fits_scale(size: float, e: int) -> bool:
    """Return whether rows of this magnitude are not too large beside rows that are measured in 2^e."""
    with np.errstate(over="ignore"):
        return bool(np.ldexp(size, -e) <= LARGE)


def scaled_rows(rows: Rows, e: int) -> Rows:
    """Return the rows with X · 2^−e in place of X."""
    return rows if e == 0 else MappedRows(rows, lambda block: replace(block, X=times_power(block.X, -e)))


def times_power(X: Any, e: int) -> Any:
    """Return X · 2^e, exact unless it under- or overflows."""
    if not is_sparse(X):
        return np.ldexp(X, e)
    result = X.copy()
    result.data = np.ldexp(X.data, e)
    return result


def max_abs(rows: Rows) -> float:
    """Return the largest |x|, in one reduction that also raises for NaN and infinity."""
    return rows.reduce(_largest_of).value


@dataclass(frozen=True, slots=True)
class _Largest:
    value: float

    def __add__(self, other: _Largest) -> _Largest:
        return _Largest(max(self.value, other.value))


def _largest_of(block: Block) -> _Largest:
    cells = block.X.data if is_sparse(block.X) else block.X
    value = max(float(cells.max(initial=0.0)), -float(cells.min(initial=0.0)))
    if not np.isfinite(value):
        check_finite(block)
    return _Largest(value)
