"""Least squares in exact rational arithmetic: the answer that every float64 answer is measured against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf, isqrt, log10
from typing import Any

import numpy as np


def rational(value: Any) -> Any:
    """Return a number, or a nested list or array of numbers, as fractions equal to the float64 or the text."""
    if isinstance(value, str):
        return Fraction(Decimal(value))
    if isinstance(value, Fraction | int):
        return Fraction(value)
    if np.ndim(value):
        return [rational(v) for v in value]
    return Fraction(float(value))


def digits(actual: Any, expected: Any) -> float:
    """Return the correct decimal digits, at most 16 (NIST's log relative error); absolute if the truth is 0."""
    expected = rational(expected)
    if not np.isfinite(float(actual)):
        return 0.0
    error = abs(rational(actual) - expected) / (abs(expected) or 1)
    return min(16.0, _minus_log10(error))


def worst_digits(actual: Any, expected: Any) -> float:
    """Return the digits of the worst of many numbers."""
    pairs = list(zip(np.ravel(actual), np.ravel(np.array(rational(expected), dtype=object)), strict=True))
    return min(digits(a, e) for a, e in pairs)


def square_root(value: Fraction) -> Fraction:
    """Return the square root of a fraction to more than 30 digits."""
    shift = 2 * max(0, 220 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    scaled = (value.numerator << shift) // value.denominator
    return Fraction(isqrt(scaled), 1 << (shift // 2))


@dataclass(frozen=True)
class Exact:
    """Coefficients (the intercept first), sums of squares and the inverse normal matrix of least squares."""

    coef: list[Fraction]
    rss: Fraction
    tss: Fraction
    inverse: list[list[Fraction]]
    dof: int

    @property
    def std_error(self) -> list[Fraction]:
        """Standard errors of the coefficients."""
        return [square_root(self.rss / self.dof * self.inverse[j][j]) for j in range(len(self.coef))]


def least_squares(X: Any, y: Any, weight: Any = None, *, intercept: bool = True, alpha: float = 0) -> Exact:
    """Minimise Σ w (y − b − x'β)² + alpha ‖β‖² exactly, for one target."""
    X, y = rational(X), rational(y)
    w = [Fraction(1)] * len(y) if weight is None else rational(weight)
    D = [[Fraction(1), *row] if intercept else row for row in X]
    q = len(D[0])
    A = [[_dot(w, [r[i] * r[j] for r in D]) for j in range(q)] for i in range(q)]
    c = [_dot(w, [r[i] * t for r, t in zip(D, y, strict=True)]) for i in range(q)]
    for j in range(1 if intercept else 0, q):
        A[j][j] += rational(alpha)
    inverted = inverse(A)
    coef = [_dot(row, c) for row in inverted]
    residual = [t - _dot(row, coef) for row, t in zip(D, y, strict=True)]
    mean = _dot(w, y) / sum(w) if intercept else Fraction(0)
    return Exact(
        coef,
        rss=_dot(w, [r * r for r in residual]),
        tss=_dot(w, [(t - mean) ** 2 for t in y]),
        inverse=inverted,
        dof=sum(v > 0 for v in w) - q,
    )


def _dot(a: Iterable[Fraction], b: Iterable[Fraction]) -> Fraction:
    return sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))


def inverse(A: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Return the inverse of a matrix."""
    q = len(A)
    M = [[*row, *(Fraction(i == j) for j in range(q))] for i, row in enumerate(A)]
    for j in range(q):
        pivot = next(i for i in range(j, q) if M[i][j] != 0)
        M[j], M[pivot] = M[pivot], M[j]
        M[j] = [v / M[j][j] for v in M[j]]
        for i in range(q):
            if i != j and M[i][j] != 0:
                factor = M[i][j]
                M[i] = [u - factor * v for u, v in zip(M[i], M[j], strict=True)]
    return [row[q:] for row in M]


def _minus_log10(error: Fraction) -> float:
    if error == 0:
        return inf
    scale = error.denominator.bit_length() - error.numerator.bit_length()
    return scale * log10(2) - log10(error * Fraction(2) ** scale)
