"""Summarize rows for least squares by the R factor of [1 | X | Y]: the accurate summary.

The column of ones comes first, so row 0 has the weight and the means, and the rows below it are centred. Two triangles
merge by QR of one stacked on the other. For fewer rows than columns R has only as many rows: 60 rows of 5,000 columns
take 2.4 MB, where a square matrix would take 200 MB. Those rows are centred by one reflection and become triangular
when a solution needs it: 2,000 rows of 5,000 columns take 0.2 s, and 3 s as a triangle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import ColumnScaling, drop_zero_weight, off_centre, power_of_two
from linearly.algorithm.least_squares.gram import (
    NOT_IN_FIT_MESSAGE,
    Gram,
    check_digits_left,
    check_remaining_rows,
    target_matrix,
    weight_statistics,
)
from linearly.algorithm.least_squares.rounding_bounds import about, least_bound
from linearly.algorithm.least_squares.scaled_problem import ScaledProblem
from linearly.algorithm.least_squares.solution import Solution, centering_for
from linearly.algorithm.least_squares.triangular import EPS, ROUNDING, upper
from linearly.dataset.rows.block import Block, check_finite
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.kernels.double_double import Array, Numbers
from linearly.kernels.matrices import dense, drop_low_part

_CELLS = 2**15  # numbers changed at once, so that they stay in cache
_REMOVED_TOL = 1e-11  # share of a direction that rounding leaves after it was removed
_NOT_IN_FIT_TOL = 1e-8  # a larger share shows that rows were never there; a smaller one has too few digits


@dataclass(frozen=True, slots=True, eq=False)
class QRFactor:
    """The R factor of W^½[1 | X | Y] in scaled columns. ``a + b`` is the factor of both sets of rows."""

    n: int  # rows of positive weight
    log_weight: float
    p: int
    scaling: ColumnScaling
    R: Array  # min(rows, columns) rows; for fewer rows than columns only its first column is triangular
    intercept: bool = True
    rounding: Numbers = None  # 1 + m bounds, see `rounding_bounds`; by default those of new rows

    def __post_init__(self) -> None:
        if self.rounding is None:
            # The error is 20 to 40 units in the last place for 10⁶ rows, and about 2 for 3,000.
            object.__setattr__(self, "rounding", self.single_rounding(1 + math.sqrt(self.n) / 32))

    @staticmethod
    def of(block: Block) -> QRFactor:
        """Return the R factor of a block."""
        X = block.X[:] if isinstance(block.X, ColumnMatrix) else block.X
        block = replace(block, X=drop_low_part(dense(X)))
        scaling = ColumnScaling.of(block, target_matrix(block))
        R = _factor(block, scaling)
        with np.errstate(over="ignore"):
            squares = column_squares(R[:, 1:])
        if scaling.over_or_underflowed(block, target_matrix(block), squares):
            check_finite(block)
            block = drop_zero_weight(block)
            scaling = ColumnScaling.of(block, target_matrix(block), all_rows=True)
            R = _factor(block, scaling)
            squares = column_squares(R[:, 1:])
        n, log_weight = weight_statistics(block.weight, len(block))
        triangle = QRFactor(n, log_weight, block.X.shape[1], scaling, R)
        if off_centre(squares, squares - R[0, 1:] ** 2):  # see Gram.of
            scaling = scaling.centred(block, target_matrix(block), triangle.mean)
            triangle = QRFactor(n, log_weight, triangle.p, scaling, _factor(block, scaling))
        return triangle

    @property
    def weight(self) -> float:
        """Return Σ w."""
        return float(self.R[0, 0] ** 2)

    @property
    def mean(self) -> Array:
        """Return the means of the scaled columns of [X | Y]."""
        return np.asarray(self.R[0, 1:] / (self.R[0, 0] or 1.0))

    @property
    def squares(self) -> Array:
        """Return Σ w (z − mean)² of the scaled columns z of [X | Y]."""
        return column_squares(self.R[1:, 1:])

    def single_rounding(self, times: float = 1.0) -> Array:
        """Return the bound on rounding errors for columns whose numbers are rounded once, or `times` as wrong."""
        return least_bound((times * EPS) ** 2, self.weight, self.mean, self.squares)

    def least_rounding(self) -> Array:
        """Return the smallest bound on rounding errors that any rows with these numbers can have."""
        return self.single_rounding()

    def __add__(self, other: QRFactor) -> QRFactor:
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        scaling = self.scaling.common_scale(other.scaling)
        R = np.vstack([self.R, other.R])
        a, b = self._rescaled(R[: len(self.R)], scaling), other._rescaled(R[len(self.R) :], scaling)
        means = a.mean, b.mean
        both = replace(a, n=a.n + b.n, log_weight=a.log_weight + b.log_weight, R=_reduced(R))
        known = about(a.rounding, both.mean - means[0]) + about(b.rounding, both.mean - means[1])
        return replace(both, rounding=known + both.single_rounding())

    def __sub__(self, other: QRFactor) -> QRFactor:
        """Return the factor without the other rows, for no more rows than columns. Raise if they were not in it.

        With R = UΣV' the other rows are F·ΣV', and the remaining rows are (1 − F'F)^½ΣV'. For independent rows F'F has
        the eigenvalues 0 and 1 only. Removing rows k times as large as those that remain costs digits as k², as with a
        Gram.
        """
        if other.n == 0:
            return self
        n = check_remaining_rows(self.n, other.n)
        scaling = self.scaling.common_scale(other.scaling)
        a, b = self.rescaled(scaling), other.rescaled(scaling)
        was = np.linalg.norm(a.R, axis=0)
        size = power_of_two(was)
        _, sigma, V = np.linalg.svd(a.R / size, full_matrices=False)
        nonzero = sigma > 1e-12 * sigma[0]
        rows = sigma[nonzero, None] * V[nonzero]
        less = b.R / size
        F = less @ V[nonzero].T / sigma[nonzero]
        shares, W = np.linalg.eigh(np.eye(len(rows)) - F.T @ F)
        if np.abs(less - F @ rows).max() > _NOT_IN_FIT_TOL or shares[0] < -_NOT_IN_FIT_TOL:
            raise ValueError(NOT_IN_FIT_MESSAGE)
        left = shares > _REMOVED_TOL
        if left.sum() > n:  # for example rows with another weight than they had in the fit
            raise ValueError(NOT_IN_FIT_MESSAGE)
        R = upper(np.sqrt(shares[left])[:, None] * (W[:, left].T @ rows)) * size
        # A direction of which almost nothing remains has as few digits as such a column.
        now = np.linalg.norm(R, axis=0) if (shares[left] > _NOT_IN_FIT_TOL).all() else np.zeros_like(was)
        check_digits_left((was / size)[1:] ** 2, (now / size)[1:] ** 2, EPS * (was / size)[1:] ** 2)
        # The products of the remaining rows keep the errors of those before. In their root these are divided by its
        # smallest singular value.
        relative = float(np.max((a.rounding + b.rounding) / size**2))
        values = np.linalg.svd(R / size, compute_uv=False)
        smallest = float(np.min(values[values > ROUNDING], initial=1.0))
        rounding = relative * size**2 / smallest**2
        return replace(a, n=n, log_weight=a.log_weight - b.log_weight, R=R, rounding=rounding)

    def gram(self) -> Gram:
        """Return the Gram of the same rows."""
        weight, centred = np.float64(self.weight), self.R[1:, 1:]
        gram = Gram(
            self.n, weight, self.log_weight, self.p, self.scaling, self.mean, centred.T @ centred, self.intercept
        )
        # r_i'δr_j + δr_i'r_j is at most √(bound_i · bound_j) for these bounds and any share.
        squares = np.append(weight, self.squares)
        share = float(np.sqrt(np.max(np.divide(self.rounding, squares, where=squares > 0, out=0 * squares))))
        known = share * squares + self.rounding / (share or 1.0)
        return replace(gram, rounding=np.hypot(known, gram.single_rounding()))

    def rescaled(self, scaling: ColumnScaling) -> QRFactor:
        """Return the factor in another scaling. Scales multiply the columns, shifts change the row of means only."""
        return self._rescaled(self.R.copy(), scaling)

    def _rescaled(self, R: Array, scaling: ColumnScaling) -> QRFactor:
        """Return the factor in another scaling. R is a copy of its rows, which is changed in place."""
        ratio = self.scaling.scale / scaling.scale
        if (ratio != 1).any():
            R[:, 1:] *= ratio
        R[0, 1:] += R[0, 0] * ((self.scaling.shift - scaling.shift) / scaling.scale)
        return replace(self, scaling=scaling, R=R, rounding=self.rounding * np.append(1.0, ratio**2))

    def select(self, features: Any = None, intercept: bool = True) -> QRFactor:
        """Return the factor of some features (all by default), to be solved with or without an intercept."""
        if features is None:
            return replace(self, intercept=intercept)
        chosen = np.arange(self.p)[features]
        columns = np.concatenate([chosen, np.arange(self.p, len(self.scaling.scale))])
        kept = np.append(0, 1 + columns)
        R, rounding = _reduced(self.R[:, kept]), self.rounding[kept]
        return replace(
            self, p=len(chosen), scaling=self.scaling.select(columns), R=R, intercept=intercept, rounding=rounding
        )

    @property
    def centered_norms(self) -> Array:
        """Return √Σ w (x − mean)² of each feature, in the user's units."""
        return np.asarray(np.linalg.norm(self.R[1:, 1 : 1 + self.p], axis=0) * self.scaling.scale[: self.p])

    def solve(self, alpha: float = 0.0, *, penalize_intercept: bool = False) -> Solution:
        """Return the least-squares solution (ridge if alpha > 0) of Y on X."""
        if len(self.R) >= self.R.shape[1]:
            return self._solve(alpha, penalize_intercept)
        rows, targets = self.R[1:, 1 : 1 + self.p], self.R[1:, 1 + self.p :]
        centering = centering_for(self.intercept, penalize_intercept and alpha > 0)
        problem = ScaledProblem.of(self, centering, column_squares(targets), alpha, 0.0)
        finish = partial(self.solve_by_triangle, alpha, penalize_intercept=penalize_intercept)
        return problem.solve_few_rows(rows, targets, finish) or finish()

    def solve_by_triangle(self, alpha: float = 0.0, *, penalize_intercept: bool = False) -> Solution:
        """Return the solution for fewer rows than columns by orthogonal factors: slower, for any condition."""
        return replace(self, R=upper(self.R))._solve(alpha, penalize_intercept)

    def _solve(self, alpha: float, penalize_intercept: bool) -> Solution:
        p, unit = self.p, self.scaling.scale
        centering = centering_for(self.intercept, penalize_intercept and alpha > 0)
        R, design, rounding = self.R, slice(1, 1 + p), self.rounding[1:]
        if centering != "centred":
            rounding = about(self.rounding, self.mean + self.scaling.shift / unit)[centering == "plain" :]
            R = self.rescaled(ColumnScaling(np.zeros_like(unit), unit)).R
            if centering == "constant":
                design = slice(0, 1 + p)
            else:
                # Without the ones R has one more row than columns; a small QR makes it triangular again.
                R = np.pad(upper(R[:, 1:]), ((1, 0), (1, 0)))
        y_squares = (self.R[1:, 1 + p :] ** 2).sum(axis=0)
        problem = ScaledProblem.of(self, centering, y_squares, alpha, 1 / math.sqrt(self.weight or 1.0))
        rest = (R[1 + p :, 1 + p :] ** 2).sum(axis=0)
        return problem.solve_qr(R[design, design], R[design, 1 + p :], rest, rounding)


def column_squares(A: Array) -> Array:
    """Return the sum of squares of each column."""
    return np.asarray(np.einsum("ij,ij->j", A, A))


def _factor(block: Block, scaling: ColumnScaling) -> Array:
    m, n = 1 + len(scaling.scale), len(block)
    if n < m:
        return _centred_rows(block, scaling)
    start = np.zeros((m, m))
    return kernels.qr_update(start, block.X, target_matrix(block), block.weight, scaling.shift, 1.0 / scaling.scale)


def _reduced(A: Array) -> Array:
    """Return the R factor of A; for fewer rows than columns, A with only its first column triangular."""
    if len(A) >= A.shape[1]:
        return upper(A)
    rows = np.union1d(0, np.flatnonzero(A[:, 0]))  # the others do not change
    v, length = _reflector(A[rows, 0])
    if length:
        A[rows] -= np.outer(v, v @ A[rows] / (length * v[0]))
        A[rows, 0], A[0, 0] = 0.0, -length
    return A


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def _centred_rows(block: Block, scaling: ColumnScaling) -> Array:
    """Return the rows of W^½[1 | X | Y] in the scaling, after the reflection that leaves one number in column 0."""
    n, (shift, scale), Y = len(block), (scaling.shift, 1.0 / scaling.scale), target_matrix(block)
    if not n:
        return np.zeros((1, 1 + len(shift)))  # for the weight
    root = np.ones(n) if block.weight is None else np.sqrt(block.weight)
    v, length = _reflector(root)
    A, share = np.empty((n, 1 + len(shift))), np.zeros(1 + len(shift))
    A[:, 0] = root
    step = max(1, _CELLS // A.shape[1])
    chunks = [slice(first, first + step) for first in range(0, n, step)]
    p = block.X.shape[1]
    for rows in chunks:
        Z = A[rows]
        np.subtract(block.X[rows], shift[:p], out=Z[:, 1 : 1 + p])
        if Y is not None:
            np.subtract(Y[rows], shift[p:], out=Z[:, 1 + p :])
        Z[:, 1:] *= scale
        if block.weight is not None:
            Z[:, 1:] *= root[rows, None]
        share += v[rows] @ Z
    if length:
        share /= length * v[0]
        for rows in chunks:
            A[rows] -= v[rows, None] * share
        A[:, 0], A[0, 0] = 0.0, -length
    return A


def _reflector(column: Array) -> tuple[Array, float]:
    """Return v and ±the norm of a column, such that subtracting v(v'a)/(norm · v₀) leaves −norm in its first row."""
    v = column.copy()
    length = math.copysign(float(np.linalg.norm(v)), v[0])
    v[0] += length
    return v, length
