"""Invert covariance-like matrices by a root, and report their rank, condition and accuracy.

A matrix T with T'AT = 1 is an inverse root of A: with it the rows xT of data of covariance A are white, that is
uncorrelated and of unit variance. A⁻¹ is TT'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.rounding_bounds import SAFE, digits_of_error
from linearly.algorithm.least_squares.triangular import (
    EPS,
    PivotedTriangle,
    condition,
    factor_normal,
    pivot_normal,
    pivot_triangle,
)
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, to_float64


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """An inverse root of a covariance-like matrix A: root' A root is the identity on the independent columns."""

    root: Array  # p × rank; the rows of aliased columns are zero
    aliased: tuple[int, ...]  # columns that are combinations of those before
    log_determinant: float  # of A on the independent columns
    condition: float  # of the columns scaled to unit length
    digits: float  # correct decimal digits
    sure: bool  # whether aliased columns are certain to be combinations; float64 cannot exclude near-combinations
    solved: PivotedTriangle  # the triangle of A for columns divided by `size`
    size: Array


def whiten(A: Numbers, rounding: Array | None = None) -> Whitening:
    """Return an inverse root of a symmetric non-negative matrix, float64 or double-double.

    Its elements have errors of at most √(rounding_i · rounding_j); by default each is rounded once.
    """
    size = power_of_two(np.sqrt(np.maximum(np.diagonal(to_float64(A)), 0.0)))
    A = A / size / size[:, None]
    nothing = np.empty((len(size), 0))
    if isinstance(A, DoubleDouble):
        solved = pivot_normal(A, DoubleDouble.of(nothing))
    else:
        R, c, _, tolerance = factor_normal(A, nothing, np.zeros(0))
        solved = pivot_triangle(R, c, tolerance)
    kappa = condition(to_float64(solved.R))
    extended = isinstance(A, DoubleDouble)
    error = EPS**2 * kappa**2 if extended else EPS * kappa**2
    if rounding is not None:
        # A bound on the largest eigenvalue of root' δA root, whose elements vary as the products of these shares.
        root = to_float64(solved.inverse_R) / size[solved.kept, None]
        shares = rounding[solved.kept] @ root**2
        error = 2 * math.sqrt(float(shares.max(initial=0.0) * shares.sum()))
    return _whitening(solved, size, kappa, error, extended or not np.diagonal(A)[solved.aliased].any())


def whiten_triangle(R: Array) -> Whitening:
    """Return an inverse root of R'R for a triangle R. Errors grow as the condition of R, not as its square."""
    size = power_of_two(np.linalg.norm(R, axis=0))
    solved = pivot_triangle(R / size, np.empty((len(R), 0)))
    kappa = condition(solved.R)
    return _whitening(solved, size, kappa, SAFE * EPS * kappa, True)


def _whitening(solved: PivotedTriangle, size: Array, kappa: float, error: float, sure: bool) -> Whitening:
    root = np.zeros((len(size), len(solved.kept)))
    root[solved.kept] = to_float64(solved.inverse_R) / size[solved.kept, None]
    diagonal = np.abs(np.diagonal(to_float64(solved.R))) * size[solved.kept]
    return Whitening(
        root=root,
        aliased=tuple(map(int, solved.aliased)),
        log_determinant=float(2 * np.log(diagonal).sum()),
        condition=kappa,
        digits=digits_of_error(max(error, EPS)),
        sure=sure,
        solved=solved,
        size=size,
    )
