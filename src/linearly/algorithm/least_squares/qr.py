"""The exact summary of rows for least squares: the R factor of QR of [1 | X | Y].

The ones come first, so row 0 holds the weight and the means, and what is below it is centred for free. Two triangles
merge by QR of one stacked on the other. As far as least squares is concerned the triangle *is* the data set. Of fewer
rows than columns it has as many rows as they, so that 60 rows of 5000 columns are 2.4 MB, where a square would be 200.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
from linearly.algorithm.least_squares.solution import Problem, Solution, centering_for
from linearly.algorithm.least_squares.triangular import EPS, ROUNDING, upper
from linearly.dataset.rows.block import Block, ColumnMatrix, check_finite
from linearly.kernels.double_double import Array, DoubleDouble, Numbers
from linearly.kernels.matrices import dense, drop_low_part

_REMOVED_TOL = 1e-11  # of a direction: what rounding leaves of one that was removed
_NOT_IN_FIT_TOL = 1e-8  # the same, of rows that were never there; of less than this too few digits remain


@dataclass(frozen=True, slots=True, eq=False)
class QRFactor:
    """R of QR of W^½[1 | X | Y], the columns measured in a scaling. ``a + b`` is the triangle of both sets of rows."""

    n: int  # rows of positive weight
    log_weight: float
    p: int
    scaling: ColumnScaling
    R: Array  # as many rows as there were in all, or as it has columns
    intercept: bool = True
    rounding: Numbers = (
        None  # 1 + m squared lengths of the errors of columns, about their means; of new rows by default
    )

    def __post_init__(self) -> None:
        if self.rounding is None:
            # Of 10⁶ rows the error is 20 to 40 units in the last place, of 3000 about 2.
            object.__setattr__(self, "rounding", self.least_rounding(1 + math.sqrt(self.n) / 32))

    @staticmethod
    def of(block: Block) -> QRFactor:
        """The triangle of a block."""
        X = block.X[:] if isinstance(block.X, ColumnMatrix) else block.X
        block = replace(block, X=drop_low_part(dense(X)))
        scaling = ColumnScaling.of(block, target_matrix(block))
        R = _factor(block, scaling)
        with np.errstate(over="ignore"):
            squares = (R[:, 1:] ** 2).sum(axis=0)
        if scaling.over_or_underflowed(block, target_matrix(block), squares):
            check_finite(block)
            block = drop_zero_weight(block)
            scaling = ColumnScaling.of(block, target_matrix(block), whole=True)
            R = _factor(block, scaling)
        n, log_weight = weight_statistics(block.weight, len(block))
        triangle = QRFactor(n, log_weight, block.X.shape[1], scaling, R)
        if off_centre((R[:, 1:] ** 2).sum(axis=0), triangle.squares):  # see Gram.of
            scaling = scaling.centred(block, target_matrix(block), triangle.mean)
            triangle = QRFactor(n, log_weight, triangle.p, scaling, _factor(block, scaling))
        return triangle

    @property
    def weight(self) -> float:
        """Σ w."""
        return float(self.R[0, 0] ** 2)

    @property
    def mean(self) -> Array:
        """The means of the columns of [X | Y] in the scaling."""
        return np.asarray(self.R[0, 1:] / (self.R[0, 0] or 1.0))

    @property
    def squares(self) -> Array:
        """Σ w (z − mean)² of the columns of [X | Y] in the scaling."""
        return np.asarray((self.R[1:, 1:] ** 2).sum(axis=0))

    def least_rounding(self, times: float = 1.0) -> Array:
        """The bound on rounding errors where each number of a column is rounded once, or so many times."""
        return least_bound((times * EPS) ** 2, self.weight, self.mean, self.squares)

    def __add__(self, other: QRFactor) -> QRFactor:
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        scaling = self.scaling.common_scale(other.scaling)
        a, b = self.rescaled(scaling), other.rescaled(scaling)
        R = upper(np.vstack([a.R, b.R]))
        both = replace(a, n=a.n + b.n, log_weight=a.log_weight + b.log_weight, R=R)
        known = about(a.rounding, both.mean - a.mean) + about(b.rounding, both.mean - b.mean)
        return replace(both, rounding=known + both.least_rounding())

    def __sub__(self, other: QRFactor) -> QRFactor:
        """These rows without the others, where they are no more than columns; refused where they were not in it.

        With R = UΣV' the rows of the others are F·ΣV', and those that remain (1 − F'F)^½ΣV'. Of independent rows F'F
        has no eigenvalues but 0 and 1. Rows k times as large as those that remain cost digits as k², as of Grams.
        """
        if other.n == 0:
            return self
        n = check_remaining_rows(self.n, other.n)
        scaling = self.scaling.common_scale(other.scaling)
        a, b = self.rescaled(scaling), other.rescaled(scaling)
        was = np.linalg.norm(a.R, axis=0)
        size = power_of_two(was)
        _, sigma, V = np.linalg.svd(a.R / size, full_matrices=False)
        heard = sigma > 1e-12 * sigma[0]
        rows = sigma[heard, None] * V[heard]
        less = b.R / size
        F = less @ V[heard].T / sigma[heard]
        shares, W = np.linalg.eigh(np.eye(len(rows)) - F.T @ F)
        if np.abs(less - F @ rows).max() > _NOT_IN_FIT_TOL or shares[0] < -_NOT_IN_FIT_TOL:
            raise ValueError(NOT_IN_FIT_MESSAGE)
        left = shares > _REMOVED_TOL
        if left.sum() > n:  # as of rows that have another weight here than they had there
            raise ValueError(NOT_IN_FIT_MESSAGE)
        R = upper(np.sqrt(shares[left])[:, None] * (W[:, left].T @ rows)) * size
        # A direction that keeps next to nothing is as little known as a column that does.
        now = np.linalg.norm(R, axis=0) if (shares[left] > _NOT_IN_FIT_TOL).all() else np.zeros_like(was)
        check_digits_left((was / size)[1:] ** 2, (now / size)[1:] ** 2, EPS * (was / size)[1:] ** 2)
        # The products of what remains have the errors of those before. Their root has them over its smallest value.
        relative = float(np.max((a.rounding + b.rounding) / size**2))
        values = np.linalg.svd(R / size, compute_uv=False)
        smallest = float(np.min(values[values > ROUNDING], initial=1.0))
        rounding = relative * size**2 / smallest**2
        return replace(a, n=n, log_weight=a.log_weight - b.log_weight, R=R, rounding=rounding)

    def gram(self) -> Gram:
        """The Gram of the same rows."""
        weight, centred = np.float64(self.weight), self.R[1:, 1:]
        gram = Gram(
            self.n, weight, self.log_weight, self.p, self.scaling, self.mean, centred.T @ centred, self.intercept
        )
        # r_i'δr_j + δr_i'r_j is at most √(bound_i · bound_j) for these bounds, whatever share is taken.
        squares = np.append(weight, self.squares)
        share = float(np.sqrt(np.max(np.divide(self.rounding, squares, where=squares > 0, out=0 * squares))))
        known = share * squares + self.rounding / (share or 1.0)
        return replace(gram, rounding=np.hypot(known, gram.least_rounding()))

    def rescaled(self, scaling: ColumnScaling) -> QRFactor:
        """The same rows in another scaling: units scale the columns, shifts move the row of means only."""
        R, ratio = self.R.copy(), self.scaling.scale / scaling.scale
        R[:, 1:] *= ratio
        R[0, 1:] += R[0, 0] * ((self.scaling.shift - scaling.shift) / scaling.scale)
        return replace(self, scaling=scaling, R=R, rounding=self.rounding * np.append(1.0, ratio**2))

    def select(self, features: Any = None, intercept: bool = True) -> QRFactor:
        """The triangle of some features (all by default), to be solved with or without an intercept."""
        if features is None:
            return replace(self, intercept=intercept)
        chosen = np.arange(self.p)[features]
        columns = np.concatenate([chosen, np.arange(self.p, len(self.scaling.scale))])
        kept = np.append(0, 1 + columns)
        R, rounding = upper(self.R[:, kept]), self.rounding[kept]
        return replace(
            self, p=len(chosen), scaling=self.scaling.select(columns), R=R, intercept=intercept, rounding=rounding
        )

    @property
    def centered_norms(self) -> Array:
        """√Σ w (x − mean)² of each feature, in the user's units."""
        return np.asarray(np.linalg.norm(self.R[1:, 1 : 1 + self.p], axis=0) * self.scaling.scale[: self.p])

    def solve(self, alpha: float = 0.0, *, penalize_intercept: bool = False) -> Solution:
        """Least squares (ridge if alpha > 0) of Y on X."""
        p, unit = self.p, self.scaling.scale
        form = centering_for(self.intercept, penalize_intercept and alpha > 0)
        R, design, rounding = self.R, slice(1, 1 + p), self.rounding[1:]
        mean = DoubleDouble.of(self.mean) + self.scaling.shift / unit
        if form != "centred":
            rounding = about(self.rounding, mean.high)[form == "plain" :]
            R = self.rescaled(ColumnScaling(np.zeros_like(unit), unit)).R
            if form == "constant":
                design = slice(0, 1 + p)
            else:
                # Without the ones, one more row than columns is left: a small QR makes it a triangle again.
                R = np.pad(upper(R[:, 1:]), ((1, 0), (1, 0)))
        problem = Problem(
            centering=form,
            n=self.n,
            weight=self.weight,
            log_weight=self.log_weight,
            unit=np.concatenate([[1.0], unit])[design],
            y_unit=unit[p:],
            mean=mean[:p],
            y_mean=mean[p:],
            y_squares=(self.R[1:, 1 + p :] ** 2).sum(axis=0),
            alpha=alpha,
            mean_error=1 / math.sqrt(self.weight or 1.0),
        )
        rest = (R[1 + p :, 1 + p :] ** 2).sum(axis=0)
        return problem.solve_qr(R[design, design], R[design, 1 + p :], rest, rounding=rounding)


def _factor(block: Block, scaling: ColumnScaling) -> Array:
    m, n = 1 + len(scaling.scale), len(block)
    begun = np.zeros((m if n >= m else int(n == 0), m))  # a row at least, which has the weight
    return kernels.qr_update(begun, block.X, target_matrix(block), block.weight, scaling.shift, 1.0 / scaling.scale)
