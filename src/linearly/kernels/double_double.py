"""Compute in double-double: arrays that are the unevaluated sum of two float64, with about 31 digits.

A `DoubleDouble` supports ``+ - * /``, slicing and sums like an array. Every operation is built from two error-free
ones (Dekker 1971, Knuth): the rounding error of a float64 sum or product is itself a float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = Any  # an Array or a DoubleDouble
EPS = float(np.finfo(np.float64).eps)
_SPLIT = 134217729.0  # 2²⁷ + 1: halves the 53 bits of a float64
_LARGE = 2.0**500


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the float64 sum of a and b, and its rounding error."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the float64 product of a and b, and its rounding error."""
    product = a * b
    with np.errstate(over="ignore", invalid="ignore"):
        error = _product_error(a, b, product)
        if not np.isfinite(error).all():
            # Splitting overflows from 2⁹⁹⁵: such factors are scaled down before and up afterwards.
            a_unit, b_unit = (np.where(np.abs(x) > _LARGE, 1 / _LARGE, 1.0) for x in (a, b))
            small = _product_error(a * a_unit, b * b_unit, product * a_unit * b_unit) / a_unit / b_unit
            error = np.where(np.isfinite(error), error, small)
    return product, error


def _product_error(a: Array, b: Array, product: Array) -> Array:
    a_wide, b_wide = _SPLIT * a, _SPLIT * b
    a_high, b_high = a_wide - (a_wide - a), b_wide - (b_wide - b)
    a_low, b_low = a - a_high, b - b_high
    return np.asarray(((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


@dataclass(frozen=True, slots=True, eq=False)
class DoubleDouble:
    """An array of double-double numbers ``high + low``."""

    high: Array
    low: Array

    __array_ufunc__ = None  # NumPy defers ndarray ∘ DoubleDouble to the reflected methods below

    @staticmethod
    def of(a: Any) -> DoubleDouble:
        """Return a number or array as a DoubleDouble; a DoubleDouble is returned unchanged."""
        if isinstance(a, DoubleDouble):
            return a
        high = np.asarray(a, dtype=np.float64)
        return DoubleDouble(high, np.zeros(high.shape))

    @staticmethod
    def _normal(high: Array, low: Array) -> DoubleDouble:
        s = high + low
        return DoubleDouble(s, low - (s - high))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.high.shape

    @property
    def T(self) -> DoubleDouble:
        return DoubleDouble(self.high.T, self.low.T)

    def __getitem__(self, key: Any) -> DoubleDouble:
        return DoubleDouble(np.asarray(self.high[key]), np.asarray(self.low[key]))

    def __len__(self) -> int:
        return len(self.high)

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.high, -self.low)

    def __add__(self, other: Any) -> DoubleDouble:
        b = DoubleDouble.of(other)
        s, e = two_sum(self.high, b.high)
        t, f = two_sum(self.low, b.low)
        s, e = _quick_two_sum(s, e + t)
        return DoubleDouble._normal(s, e + f)

    def __sub__(self, other: Any) -> DoubleDouble:
        return self + (-DoubleDouble.of(other))

    def __mul__(self, other: Any) -> DoubleDouble:
        b = DoubleDouble.of(other)
        product, e = two_product(self.high, b.high)
        return DoubleDouble._normal(product, e + (self.high * b.low + self.low * b.high))

    def __truediv__(self, other: Any) -> DoubleDouble:
        b = DoubleDouble.of(other)
        first = self.high / b.high
        rest = self - b * first
        second = rest.high / b.high
        rest = rest - b * second
        return DoubleDouble._normal(*_quick_two_sum(first, second)) + rest.high / b.high

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> DoubleDouble:
        return DoubleDouble.of(other) - self

    def __rtruediv__(self, other: Any) -> DoubleDouble:
        return DoubleDouble.of(other) / self

    def sqrt(self) -> DoubleDouble:
        """Return square roots: one Newton step from the float64 root doubles its digits."""
        root = np.sqrt(self.high)
        square, error = two_product(root, root)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(root > 0, ((self.high - square) - error + self.low) / (2 * root), 0.0)
        return DoubleDouble._normal(root, step)

    def sum(self, axis: int = 0) -> DoubleDouble:
        """Return the sum along an axis, added in pairs, so that n terms cost log n roundings."""
        terms = DoubleDouble(np.moveaxis(self.high, axis, 0), np.moveaxis(self.low, axis, 0))
        if len(terms) == 0:
            return DoubleDouble.of(np.zeros(terms.shape[1:]))
        while len(terms) > 1:
            half = len(terms) // 2
            paired = terms[:half] + terms[half : 2 * half]
            terms = concatenate([paired, terms[2 * half :]]) if len(terms) % 2 else paired
        return terms[0]

    def to_float64(self) -> Array:
        """Return the nearest float64 numbers."""
        return self.high + self.low


def to_float64(a: Numbers) -> Array:
    """Return an array of either kind in the nearest float64 numbers."""
    return a.to_float64() if isinstance(a, DoubleDouble) else np.asarray(a)


def _quick_two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    s = a + b
    return s, b - (s - a)


def map_parts(f: Callable[..., Array], *numbers: Numbers) -> Numbers:
    """Return f of arrays. For double-double arguments apply f to the high parts and to the low parts.

    This suits functions that only move, copy or scale numbers by powers of two, such as `np.diag`.
    """
    if not isinstance(numbers[0], DoubleDouble):
        return f(*numbers)
    return DoubleDouble(f(*(a.high for a in numbers)), f(*(a.low for a in numbers)))


def concatenate(parts: list[DoubleDouble]) -> DoubleDouble:
    """Return double-double arrays joined along the first axis."""
    return DoubleDouble(np.concatenate([part.high for part in parts]), np.concatenate([part.low for part in parts]))


def dot(a: DoubleDouble, B: DoubleDouble) -> DoubleDouble:
    """Return a'B for a vector a and a matrix B; each sum of products is rounded once to a double-double."""
    with np.errstate(over="ignore", invalid="ignore"):
        terms = a[:, None] * B
        if not np.isfinite(np.abs(terms.high).sum(axis=0)).all():
            return DoubleDouble.of(terms.high.sum(axis=0))
    columns = [[*high, *low] for high, low in zip(terms.high.T.tolist(), terms.low.T.tolist(), strict=True)]
    high = [math.fsum(column) for column in columns]
    low = [math.fsum([*column, -total]) for column, total in zip(columns, high, strict=True)]
    return DoubleDouble(np.array(high), np.array(low))
