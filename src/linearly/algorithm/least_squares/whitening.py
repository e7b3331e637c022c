"""Invert covariance-like matrices by a root, and report their rank, condition and accuracy.

A matrix T with T'AT = 1 is an inverse root of A: with it the rows xT of data of covariance A are white, that is
uncorrelated and of unit variance. A⁻¹ is TT'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.rounding_bounds import MAX_COLUMNS, SAFE, digits_of_error
from linearly.algorithm.least_squares.solution import Deferred
from linearly.algorithm.least_squares.triangular import (
    DOUBTFUL,
    EPS,
    PivotedTriangle,
    cholesky,
    condition,
    factor_normal,
    identity,
    pivot_normal,
    pivot_triangle,
)
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, to_float64


@dataclass(frozen=True, slots=True, eq=False)
class Whitening(Deferred):
    """An inverse root of a covariance-like matrix A: root' A root is the identity on the independent columns."""

    root: Array  # p × rank; the rows of aliased columns are zero
    aliased: tuple[int, ...]  # columns that are combinations of those before
    pivots: Array  # of the Cholesky factor of A on the independent columns
    condition: float  # of the columns scaled to unit length
    digits: float  # correct decimal digits
    sure: bool  # whether aliased columns are certain to be combinations; float64 cannot exclude near-combinations
    solved: PivotedTriangle  # the triangle of A for columns divided by `size`
    size: Array

    @property
    def log_determinant(self) -> float:
        """Return log |A| on the independent columns."""
        return float(2 * np.log(self.pivots).sum())


def whiten(A: Numbers, rounding: Array | None = None) -> Whitening:
    """Return an inverse root of a symmetric non-negative matrix, float64 or double-double.

    Its elements have errors of at most √(rounding_i · rounding_j); by default each is rounded once.
    """
    found = None if isinstance(A, DoubleDouble) else _whiten_compiled(A, rounding)
    if found is not None:
        return found
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
        error = _error_of_root(rounding[solved.kept], to_float64(solved.inverse_R) / size[solved.kept, None])
    return _whitening(solved, size, kappa, error, extended or not np.diagonal(A)[solved.aliased].any())


def _whiten_compiled(A: Array, rounding: Array | None) -> Whitening | None:
    """Return the same for few columns that are clearly independent, with the arithmetic around LAPACK compiled."""
    p = len(A)
    scaled = kernels.scale_to_unit(A) if 0 < p <= MAX_COLUMNS else None
    if scaled is None:
        return None
    size, A = scaled
    R = cholesky(A)
    if R is None:
        return None
    T, _ = lapack.dtrtrs(R, identity(p))
    if not kernels.is_independent(R, T):
        return None
    root = T / size[:, None]
    pivots = np.abs(R.diagonal()) * size
    known = {"root": root.copy("C"), "aliased": (), "pivots": pivots, "sure": True, "size": size}
    if rounding is not None:
        known["digits"] = digits_of_error(max(_error_of_root(rounding, root), EPS))
    return Whitening.deferred(partial(_complete, R, T, size, known), **known)


def _complete(R: Array, T: Array, size: Array, known: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a whitening that most callers do not read."""
    kappa, p = condition(R), len(R)
    return {
        "condition": kappa,
        "digits": known.get("digits", digits_of_error(max(EPS * kappa**2, EPS))),
        "solved": PivotedTriangle(R, np.empty((p, 0)), range(p), (), np.empty((p, 0)), T),
    }


def _error_of_root(rounding: Array, root: Array) -> float:
    """Return a bound on the largest eigenvalue of root' δA root, whose elements vary as the products of shares."""
    shares = rounding @ root**2
    return 2 * math.sqrt(float(shares.max(initial=0.0) * shares.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class CholeskyFactor:
    """A = S R'R S of a well-conditioned matrix A, with S = diag(size). It takes a tenth of the time of `whiten`."""

    R: Array
    size: Array

    @staticmethod
    def of(A: Array) -> CholeskyFactor | None:
        """Return the factor of A, or None if a column may be a combination of others, which `whiten` decides."""
        found = kernels.scale_to_unit(A) if len(A) <= MAX_COLUMNS else None
        if found is None:
            size = power_of_two(np.sqrt(np.maximum(np.diagonal(A), 0.0)))
            found = size, A / size / size[:, None]
        size, scaled = found
        R, failed = lapack.dpotrf(scaled, clean=1)
        return None if failed or not (R.diagonal() > DOUBTFUL).all() else CholeskyFactor(R, size)

    def solve_transposed(self, g: Array) -> Array:
        """Return u = (RS)'⁻¹ g, so that u'u = g'A⁻¹g."""
        return np.asarray(lapack.dtrtrs(self.R, g / self.size, trans=1)[0])

    def solve(self, u: Array) -> Array:
        """Return (RS)⁻¹ u."""
        return np.asarray(lapack.dtrtrs(self.R, u)[0]) / self.size

    @property
    def condition(self) -> float:
        """The condition number that `whiten` reports."""
        return condition(self.R)

    @property
    def digits(self) -> float:
        """The correct digits that `whiten` reports."""
        return digits_of_error(max(EPS * self.condition**2, EPS))


def whiten_triangle(R: Array) -> Whitening:
    """Return an inverse root of R'R for a triangle R. Errors grow as the condition of R, not as its square."""
    size = power_of_two(np.linalg.norm(R, axis=0))
    solved = pivot_triangle(R / size, np.empty((len(R), 0)))
    kappa = condition(solved.R)
    return _whitening(solved, size, kappa, SAFE * EPS * kappa, True)


def _whitening(solved: PivotedTriangle, size: Array, kappa: float, error: float, sure: bool) -> Whitening:
    root = np.zeros((len(size), len(solved.kept)))
    root[solved.kept] = to_float64(solved.inverse_R) / size[solved.kept, None]
    return Whitening(
        root=root,
        aliased=tuple(map(int, solved.aliased)),
        pivots=np.abs(np.diagonal(to_float64(solved.R))) * size[solved.kept],
        condition=kappa,
        digits=digits_of_error(max(error, EPS)),
        sure=sure,
        solved=solved,
        size=size,
    )
