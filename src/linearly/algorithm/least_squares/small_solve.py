"""Solve the normal equations of few columns with the arithmetic around LAPACK compiled.

A fit of 100 rows spends its time in a hundred NumPy calls on arrays of a few numbers. `solve_small` makes two compiled
calls, and LAPACK's in between, and gives the bits of `ScaledProblem.solve_normal`. It leaves to that every case with a
penalty, aliased columns, a perfect fit or extreme numbers. Roots, condition and double-double coefficients are computed
when one of them is first read.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lapack

from linearly import kernels
from linearly.algorithm.least_squares.rounding_bounds import MAX_COLUMNS
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.triangular import add_leading_row_column, cholesky, condition, identity
from linearly.kernels.double_double import Array, DoubleDouble

if TYPE_CHECKING:
    from linearly.algorithm.least_squares.gram import Gram


def solve_small(gram: Gram) -> Solution | None:
    """Return the least-squares solution with an intercept, or None if `ScaledProblem` should solve the problem."""
    p, m = gram.p, len(gram.scaling.scale)
    if gram.is_extended or not 0 < p <= MAX_COLUMNS or m == p:
        return None
    weight, scaling = float(gram.weight), gram.scaling
    shape = (gram.n, p, weight, gram.log_weight, scaling.shift, scaling.scale)
    numbers = (*shape, gram.mean, gram.centered_crossprod, gram.rounding)
    scaled = kernels.scale_normal_equations(p, m, *numbers)
    if scaled is None:
        return None
    columns, A, C = scaled
    R = cholesky(A)
    if R is None:
        return None
    c, T = lapack.dtrtrs(R, C, trans=1)[0], lapack.dtrtrs(R, identity(p))[0]
    b = lapack.dtrtrs(R, c)[0]
    noise, center = columns[0, :p], columns[4, :p]
    U = np.empty((1 + p, p), order="F")
    U[0], U[1:] = -center @ T, T
    P = U @ (noise[:, None] * T).T
    found = kernels.finish_solution(p, m - p, *numbers, columns, R, T, c, b, U, P, center @ b)
    if found is None:
        return None
    digits, coef, (intercept, low, rss, tss, at_mean), means = found
    slopes, constant = coef.T, intercept + low
    return Solution.deferred(
        partial(_complete, gram, columns, R, T, DoubleDouble.of(slopes), DoubleDouble(intercept, low)),
        coef=slopes,
        intercept=constant,
        rank=p,
        aliased=(),
        rss=rss,
        tss=tss,
        dof=gram.n - float(p + 1),
        n=gram.n,
        weight=weight,
        log_weight=gram.log_weight,
        digits=digits[0],
        digits_of_relevant_coefs=digits[1],
        strict_digits=digits[2],
        error_digits=digits[3],
        rank_is_certain=True,
        alpha=0.0,
        centering="centred",
        mean=DoubleDouble(means[0], means[1]),
        prediction_at_mean=at_mean,
        null=None,
        is_far=digits[4],
        is_clearly_accurate=False,
    )


def _complete(
    gram: Gram, columns: Array, R: Array, T: Array, coef: DoubleDouble, intercept: DoubleDouble
) -> dict[str, Any]:
    """Return the fields of a solution that no fit needs, as `ScaledProblem` computes them."""
    p = gram.p
    scale, size, mean = gram.scaling.scale[:p], columns[1, :p], columns[2, :p]
    with np.errstate(over="ignore", under="ignore"):
        root = T / (scale * size)[:, None]  # powers of two
        top = -(mean[None, :] @ (root * scale[:, None]))
    return {
        "inverse_root": add_leading_row_column(1 / np.sqrt(gram.weight), top, root),
        "root_low": None,
        "shrinkage": identity(1 + p),
        "condition": condition(R),
        "extended": (coef, intercept),
    }
