"""Find which coefficients the rows determine, and at which points they determine the prediction.

Columns that are combinations of others leave a null space: directions n of the coefficients with x'n = 0 for every row.
A coefficient is identified, and the prediction at a point is estimable, only if no such direction changes it (S. R.
Searle 1971, Linear Models, chapter 5). One random direction of the null space suffices for the test: it is 0 where
another direction is not with probability 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.triangular import (
    ROUNDING,
    PivotedTriangle,
    condition,
    pivot_triangle,
    product,
    solve_triangular,
    upper,
)
from linearly.kernels.double_double import Array, to_float64

_MIN_NOISE, _MAX_NOISE = 1e-10, 1e-6  # of what rounding leaves of a zero in the direction, for unit columns
_NULL_TOL = 1e-9  # share of its length that rounding leaves of a column that is a combination of others
_MAX_SCALE = 1e300  # bound on a direction in extreme units
_ESTIMABLE_TOL = 1e-7  # share of the size of a point along the null space that counts as 0


def null_direction(solved: PivotedTriangle, unit: Array) -> Array:
    """Return a random direction of the null space for columns in these units; 0 if every direction is 0."""
    share = np.random.default_rng(0).uniform(1.0, 2.0, len(solved.aliased))
    share[1::2] *= -1
    null = np.zeros(len(unit))
    null[solved.aliased] = share
    if len(solved.kept):
        combined = to_float64(solve_triangular(solved.R, product(solved.aliased_R, share[:, None])))[:, 0]
        noise = np.clip(ROUNDING * condition(to_float64(solved.R)), _MIN_NOISE, _MAX_NOISE) * np.sqrt(len(share))
        null[solved.kept] = np.where(np.abs(combined) > noise, -combined, 0.0)
    with np.errstate(over="ignore"):
        return np.clip(null / unit, -_MAX_SCALE, _MAX_SCALE)


def constant_columns(solved: PivotedTriangle) -> NDArray[np.intp]:
    """Return the aliased columns that have no variation."""
    return np.asarray(solved.aliased[~to_float64(solved.aliased_R).any(axis=0)])


def undetermined_coefs(X: Array, intercept: bool) -> NDArray[np.bool_]:
    """Return which terms of a linear predictor, intercept first, the rows X do not determine."""
    mean = X.mean(axis=0) if intercept else np.zeros(X.shape[1])
    about = np.where(np.abs(X - mean) > ROUNDING * np.abs(mean), X - mean, 0.0)
    size = power_of_two(np.linalg.norm(about, axis=0))
    null = null_direction(pivot_triangle(upper(about / size), np.empty((min(X.shape), 0)), _NULL_TOL), size)
    return np.asarray(np.append(intercept_of_direction(null, mean), null) != 0 if intercept else null != 0)


def intercept_of_direction(null: Array, mean: Array) -> float:
    """Return the intercept of a direction about the mean: −null'mean, or 0 if that is within rounding."""
    moved = null * mean
    total = float(moved.sum())
    return -total if abs(total) > _MIN_NOISE * float(np.abs(moved).sum()) else 0.0


def is_estimable(X: Array, about: Array, null: Array, constant: float = 0.0) -> NDArray[np.bool_]:
    """Return for each point whether moving the coefficients along the direction leaves its prediction unchanged.

    `about` are the points relative to the origin at which the direction has this `constant`. Rounding errors are those
    of X.
    """
    size = np.abs(null)
    with np.errstate(over="ignore", invalid="ignore"):
        along = np.abs(about @ null + constant)
        far = np.abs(about) @ size + abs(constant)
        return np.asarray(~(along > _ESTIMABLE_TOL * far + ROUNDING * (np.abs(X) @ size)))
