"""Summarize rows for least squares by count, means and centred cross-products of [X | Y]: the fast summary.

`Gram` works in float64 and in double-double. In float64 it costs one pass at the speed of matrix multiplication and
loses digits as the square of the condition number. In double-double it costs about eight times as much and keeps 30
digits, of which 14 remain at a condition number of 1e8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linearly import kernels
from linearly.algorithm.least_squares.coded_moments import coded_moments
from linearly.algorithm.least_squares.column_scaling import ColumnScaling, drop_zero_weight, off_centre
from linearly.algorithm.least_squares.rounding_bounds import about, least_bound
from linearly.algorithm.least_squares.scaled_problem import ScaledProblem
from linearly.algorithm.least_squares.small_solve import solve_small
from linearly.algorithm.least_squares.solution import Centering, Solution, centering_for
from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.rows.block import DENSE, Block, check_finite, check_integer_range
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, map_parts, to_float64
from linearly.kernels.matrices import dense, is_sparse

NOT_IN_FIT_MESSAGE = (
    "These rows cannot be removed, because they were never part of the fit (a sum of squares would be "
    "negative). Subtract only fitted rows."
)
_HEAVIER = 2.0**20  # weight over that of the other rows, above which these rows determine the shift of the sum
_MAX_DOWNDATE_ERROR = 1e-10  # relative error that removing rows may leave in the squares of a column


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Count, weight, means and centred cross-products of the scaled columns of [X | Y].

    ``a + b`` is the Gram of both sets of rows (Chan, Golub & LeVeque 1979). ``a - b`` removes rows that are in it.
    Both propagate the bound on rounding errors.
    """

    n: int  # rows of positive weight
    weight: Numbers  # Σ w
    log_weight: float  # Σ log w, for the likelihood of a weighted fit
    p: int
    scaling: ColumnScaling
    mean: Numbers  # of z = (x − shift) / scale
    centered_crossprod: Numbers  # Σ w (z − mean)(z − mean)'
    intercept: bool = True
    rounding: Numbers = None  # 1 + m bounds, see `rounding_bounds`; by default those of new rows

    def __post_init__(self) -> None:
        if self.rounding is None:
            object.__setattr__(self, "rounding", self.single_rounding(1 + math.sqrt(self.n) / 64))

    @staticmethod
    def of(block: Block, extended: bool = False) -> Gram:
        """Return the Gram of a block, in double-double if `extended`."""
        if extended and is_sparse(block.X):
            block = replace(block, X=block.X.toarray())
        if isinstance(block.X, ColumnMatrix) and block.X.codes:
            return Gram._of_codes(block)
        Y = target_matrix(block)
        if type(block.X) is np.ndarray and block.weight is None and Y is not None and not extended:
            found = kernels.centred_gram(block.X, Y)
            if found is not None:
                shift, scale, mean, cross, rounding = found
                n, p = block.X.shape
                return Gram(n, np.float64(n), 0.0, p, ColumnScaling(shift, scale), mean, cross, rounding=rounding)
        scaling = ColumnScaling.of(block, Y)
        G = _moments(block, Y, scaling, extended)
        # A sample determined the scaling. If a square over- or underflowed, all rows do.
        if scaling.over_or_underflowed(block, Y, _high_diagonal(G)[1:]):
            if isinstance(block.X, ColumnMatrix):
                block = replace(block, X=block.X[:])
            check_finite(block)
            block = drop_zero_weight(block)
            Y = target_matrix(block)
            scaling = ColumnScaling.of(block, Y, all_rows=True)
            G = _moments(block, Y, scaling, extended)
        gram = Gram.centred(G, *weight_statistics(block.weight, len(block)), block.X.shape[1], scaling)
        # If a few rows have nearly all the weight, the mean is close to them, and centring would cancel.
        if off_centre(_high_diagonal(G)[1:], _high_diagonal(gram.centered_crossprod)) and not is_sparse(block.X):
            scaling = scaling.centred(block, Y, to_float64(gram.mean))
            gram = Gram.centred(_moments(block, Y, scaling, extended), gram.n, gram.log_weight, gram.p, scaling)
        return gram

    @staticmethod
    def _of_codes(block: Block) -> Gram:
        """Return the Gram of a block with codes; of its columns of 0 and 1 if the scaling of a sample does not do."""
        X, Y = block.X, target_matrix(block)
        scaling = ColumnScaling.of(block, Y)
        G, share = coded_moments(X, Y, block.weight, scaling.shift, 1.0 / scaling.scale)
        squares = np.diagonal(G)[1:]
        n, log_weight = weight_statistics(block.weight, len(block))
        gram = Gram.centred(G, n, log_weight, X.shape[1], scaling)
        about_mean = np.diagonal(gram.centered_crossprod)
        if scaling.over_or_underflowed(block, Y, squares) or off_centre(squares, about_mean):
            return Gram.of(replace(block, X=X[:]))
        gram.rounding[1 + X.at_codes] *= share
        return gram

    @staticmethod
    def centred(G: Numbers, n: int, log_weight: float, p: int, scaling: ColumnScaling) -> Gram:
        """Return the Gram of moments [1 | X | Y]'W[1 | X | Y] in a scaling."""
        weight = G[0, 0]
        mean = G[0, 1:] / (weight if to_float64(weight) > 0 else 1.0)
        cross = outer(mean, mean) * weight
        cross = G[1:, 1:] - cross if isinstance(G, DoubleDouble) else np.subtract(G[1:, 1:], cross, out=cross)
        return Gram(n, weight, log_weight, p, scaling, mean, cross)

    @property
    def is_extended(self) -> bool:
        """Return whether the numbers are double-double."""
        return isinstance(self.centered_crossprod, DoubleDouble)

    def single_rounding(self, times: float = 1.0) -> Array:
        """Return the bound on rounding errors for products that are rounded once, or `times` as wrong.

        The products of n rows are wrong by about √n / 64 units in the last place more (measured: 22 at 10⁶
        rows, 1 at 1,000).
        """
        grain = times * EPS * (EPS if self.is_extended else 1.0)
        return least_bound(
            grain, to_float64(self.weight), to_float64(self.mean), _high_diagonal(self.centered_crossprod)
        )

    def least_rounding(self) -> Array:
        """Return the smallest bound on rounding errors that any rows with these numbers can have.

        It is that of products that are rounded once, and less for columns of 0 and 1: only the rows of a level add
        errors to its products (`coded_moments`). Sums of rows with mostly 0 and others with mostly 1 have up to 64
        times less than their rarer value says.
        """
        least = self.single_rounding()
        if self.is_extended or self.n == 0:
            return least
        share = np.abs(self.mean)
        squares = self.weight * share * (1 - share)
        coded = (self.scaling.scale == 1) & ((self.scaling.shift == 0) | (self.scaling.shift == 1))
        coded &= np.abs(_high_diagonal(self.centered_crossprod) - squares) <= 1e-9 * self.weight * share
        rarer = np.minimum(share, np.abs(1 - share))
        least[1:] = np.where(coded, np.minimum(least[1:], least[0] * rarer**2 / 64), least[1:])
        return least

    def _share_of_single_rounding(self) -> Array:
        """Return each bound over that of products that are rounded once, at most 1."""
        least = self.single_rounding()
        return np.minimum(np.divide(self.rounding, least, out=np.ones_like(least), where=least > 0), 1.0)

    def gram(self) -> Gram:
        """Return itself, as `QRFactor.gram` returns a Gram."""
        return self

    def in_float64(self) -> Gram:
        """Return the same Gram rounded to float64."""
        if not self.is_extended:
            return self
        weight, mean, cross = to_float64(self.weight), to_float64(self.mean), to_float64(self.centered_crossprod)
        rough = replace(self, weight=weight, mean=mean, centered_crossprod=cross)
        return replace(rough, rounding=np.hypot(self.rounding, rough.single_rounding()))

    def __add__(self, other: Gram) -> Gram:
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        if self.is_extended != other.is_extended:
            # The sum has no more digits than the less accurate of the two.
            return self.in_float64() + other.in_float64()
        heavier = to_float64(other.weight) / to_float64(self.weight)
        scaling = (
            other.scaling.common_scale(self.scaling) if heavier > _HEAVIER else self.scaling.common_scale(other.scaling)
        )
        a, b = self.rescaled(scaling), other.rescaled(scaling)
        weight = a.weight + b.weight
        difference = b.mean - a.mean
        # Starting from the heavier rows: from the others the mean would have the rounding errors of the difference.
        mean = a.mean + difference * (b.weight / weight)
        if heavier > 2:
            mean = b.mean - difference * (a.weight / weight)
        cross = a.centered_crossprod + b.centered_crossprod
        cross += outer(difference, difference) * (a.weight * b.weight / weight)
        # Errors of the two may be correlated and add up; those of the addition are new and add as squares.
        share, apart = float(to_float64(b.weight / weight)), to_float64(difference)
        known = a.rounding + b.rounding  # about their own means
        known[1:] += apart * apart * (share**2 * a.rounding[0] + (1 - share) ** 2 * b.rounding[0])
        # Columns of codes have smaller errors than products that are rounded once, and keep them.
        small = np.maximum(a._share_of_single_rounding(), b._share_of_single_rounding())
        grain = EPS * (EPS if self.is_extended else 1.0)
        least = least_bound(grain, to_float64(weight), to_float64(mean), _high_diagonal(cross))
        return replace(
            a,
            n=a.n + b.n,
            weight=weight,
            log_weight=a.log_weight + b.log_weight,
            mean=mean,
            centered_crossprod=cross,
            rounding=np.hypot(known, least * small),
        )

    def __sub__(self, other: Gram) -> Gram:
        """Return the Gram without the other rows. Raise if they were not in it or too few digits would remain."""
        if other.n == 0:
            return self
        n = check_remaining_rows(self.n, other.n)
        if self.is_extended != other.is_extended:
            return self.in_float64() - other.in_float64()
        scaling = self.scaling.common_scale(other.scaling)
        a, b = self.rescaled(scaling), other.rescaled(scaling)
        weight = a.weight - b.weight
        if to_float64(weight) <= 0:
            raise ValueError(
                "The removed rows have more weight than the fit, so they were never part of it. "
                "Subtract only fitted rows."
            )
        mean = a.mean + (a.mean - b.mean) * (b.weight / weight)
        difference = b.mean - mean
        cross = (a.centered_crossprod - b.centered_crossprod) - outer(difference, difference) * (
            b.weight * weight / a.weight
        )
        rest = replace(
            a, n=n, weight=weight, log_weight=a.log_weight - b.log_weight, mean=mean, centered_crossprod=cross
        )
        # The absolute errors of both remain, and those of subtracting about the new mean are added.
        moved = np.abs(to_float64(mean)) + np.abs(to_float64(mean - a.mean))
        known = a.rounding_about(mean) + b.rounding_about(mean)
        rounding = np.hypot(known, about(a.single_rounding(), moved))
        rest = replace(rest, rounding=rounding)
        _check_downdate(a, rest)
        return rest

    def rounding_about(self, mean: Numbers) -> Array:
        """Return the bound on rounding errors about another mean in this scaling."""
        return about(self.rounding, to_float64(mean - self.mean))

    def rescaled(self, scaling: ColumnScaling) -> Gram:
        """Return the Gram in another scaling. A change of scale is exact, a change of shift affects the means only."""
        if scaling is self.scaling:
            return self
        ratio = self.scaling.scale / scaling.scale
        moved = self.mean - self.mean  # zeros of the same kind of number
        moved = ((moved + self.scaling.shift) - scaling.shift) / scaling.scale
        cross, rounding = self.centered_crossprod, self.rounding
        if not (ratio == 1).all():
            cross, rounding = cross * (ratio[:, None] * ratio), rounding * np.append(1.0, ratio * ratio)
        return replace(
            self, scaling=scaling, mean=self.mean * ratio + moved, centered_crossprod=cross, rounding=rounding
        )

    def select(self, features: Any = None, intercept: bool = True) -> Gram:
        """Return the Gram of some features (all by default), to be solved with or without an intercept."""
        if features is None:
            return self if intercept is self.intercept else replace(self, intercept=intercept)
        chosen = np.arange(self.p)[features]
        columns = np.concatenate([chosen, np.arange(self.p, len(self.scaling.scale))])
        return replace(
            self,
            p=len(chosen),
            scaling=self.scaling.select(columns),
            mean=self.mean[columns],
            centered_crossprod=self.centered_crossprod[columns[:, None], columns],
            intercept=intercept,
            rounding=self.rounding[np.append(0, 1 + columns)],
        )

    @property
    def centered_norms(self) -> Array:
        """Return √Σ w (x − mean)² of each feature, in the user's units."""
        squares = to_float64(diagonal(self.centered_crossprod))[: self.p]
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) * self.scaling.scale[: self.p])

    def solve(self, alpha: float = 0.0, *, penalize_intercept: bool = False) -> Solution:
        """Return the least-squares solution (ridge if alpha > 0) of Y on X."""
        centering = centering_for(self.intercept, penalize_intercept and alpha > 0)
        if alpha == 0 and centering == "centred":
            solution = solve_small(self)
            if solution is not None:
                return solution
        A, C, total, _, _ = self.normal_equations(centering)
        y_squares = to_float64(diagonal(self.centered_crossprod))[self.p :]
        mean_error = float(np.sqrt(self.rounding[0]) / to_float64(self.weight)) if self.n else 0.0
        problem = ScaledProblem.of(self, centering, y_squares, alpha, mean_error)
        rounding = self.rounding_of(centering)
        if self.is_extended:
            return problem.solve_normal(A, C, total, rounding)
        # A column of which only rounding errors are left counts as constant.
        vanished = np.diagonal(A) <= 64 * rounding[: len(A)]
        vanished &= rounding[: len(A)] > 0
        if vanished.any():
            A, C = np.where(vanished | vanished[:, None], 0.0, A), np.where(vanished[:, None], 0.0, C)
        return problem.solve_normal(A, C, total, rounding, rank_is_certain=not vanished.any())

    def rounding_of(self, centering: Centering) -> Array:
        """Return the bounds on rounding errors of the columns of the design and of the targets."""
        if centering == "centred":
            return np.asarray(self.rounding[1:])
        from_zero = about(self.rounding, to_float64(self.mean) + self.scaling.shift / self.scaling.scale)
        return from_zero if centering == "constant" else from_zero[1:]

    def normal_equations(self, centering: Centering) -> tuple[Numbers, Numbers, Numbers, Array, Array]:
        """Return D'D, D'Y and Σ y² for a design D, and the units of the columns of D and of Y."""
        p, unit, cross = self.p, self.scaling.scale, self.centered_crossprod
        if centering != "centred":
            about_zero = self.mean + self.scaling.shift / unit
            cross = cross + outer(about_zero, about_zero) * self.weight
        A, C, total = cross[:p, :p], cross[:p, p:], diagonal(cross[p:, p:])
        if centering != "constant":
            return A, C, total, unit[:p], unit[p:]
        sums = about_zero * self.weight
        A = map_parts(_border, A, sums[:p], self.weight)
        C = map_parts(lambda C, sums: np.vstack([sums, C]), C, sums[p:])
        return A, C, total, np.concatenate([[1.0], unit[:p]]), unit[p:]


def outer(a: Numbers, b: Numbers) -> Numbers:
    """Return the outer product of two vectors of either kind of number."""
    return a[:, None] * b[None, :]


def diagonal(A: Numbers) -> Numbers:
    """Return the diagonal of a square matrix of either kind of number."""
    return A[np.arange(len(A)), np.arange(len(A))]


def _high_diagonal(A: Numbers) -> Array:
    return np.diagonal(A.high if isinstance(A, DoubleDouble) else A)


def check_remaining_rows(n: int, fewer: int) -> int:
    """Return how many of n rows remain; raise if none does."""
    if n < fewer:
        raise ValueError(
            f"{fewer} rows cannot be removed from {n}, because some were never part of the fit. Subtract "
            "only fitted rows."
        )
    if n == fewer:
        raise ValueError("This would remove every row of the fit. Keep at least one row.")
    return n - fewer


def weight_statistics(weight: Array | None, n: int) -> tuple[int, float]:
    """Return the number of rows with positive weight, and the sum of the logarithms of their weights."""
    if weight is None:
        return n, 0.0
    positive = weight[weight > 0]
    return len(positive), float(np.log(positive).sum())


def target_matrix(block: Block) -> Array | None:
    """Return the targets as an n × k float64 array; raise for integers that float64 cannot represent."""
    if block.y is None:
        return None
    y = block.y if block.y.ndim == 2 else block.y[:, None]
    check_integer_range(y, block.describe_row, block.target)
    return np.asarray(y, dtype=np.float64)


def high_low_parts(X: Any) -> tuple[Array, Array | None]:
    """Return the features of a block as a dense array, and their low parts if they are double-double."""
    if isinstance(X, DoubleDouble):
        return X.high, X.low
    return dense(X), None


def _moments(block: Block, Y: Array | None, scaling: ColumnScaling, extended: bool) -> Numbers:
    scale = 1.0 / scaling.scale
    if isinstance(block.X, ColumnMatrix) and not extended:
        return kernels.gram_columns(block.X.numbers, Y, block.weight, scaling.shift, scale)
    if is_sparse(block.X) and not extended:
        return _sparse_moments(block.X, Y, block.weight, scaling)
    X, X_low = high_low_parts(block.X)
    if extended:
        return kernels.gram_extended(X, X_low, Y, block.weight, scaling.shift, scale)
    return kernels.gram(X, Y, block.weight, scaling.shift, scale)


def _sparse_moments(X: Any, Y: Array | None, weight: Array | None, scaling: ColumnScaling) -> Array:
    n, p = X.shape
    unit = scaling.scale
    if X.nnz * DENSE >= n * p:  # blocks of such rows are no larger than dense ones
        return kernels.gram(X.toarray(), Y, weight, scaling.shift, 1.0 / unit)
    w = np.ones(n) if weight is None else weight
    dense = np.ones((n, 1)) if Y is None else np.hstack([np.ones((n, 1)), (Y - scaling.shift[p:]) / unit[p:]])
    G = np.empty((1 + len(unit), 1 + len(unit)))
    others = np.concatenate([[0], np.arange(1 + p, 1 + len(unit))])
    G[1 : 1 + p, 1 : 1 + p], G[1 : 1 + p, others] = kernels.sparse_gram(X, weight, 1.0 / unit[:p], dense)
    G[others, 1 : 1 + p] = G[1 : 1 + p, others].T
    G[np.ix_(others, others)] = dense.T @ (dense * w[:, None])
    return G


def _border(A: Array, sums: Array, weight: Array) -> Array:
    """Return the normal matrix of [1 | X], given that of X."""
    return np.block([[np.reshape(weight, (1, 1)), sums[None]], [sums[:, None], A]])


def _check_downdate(before: Gram, rest: Gram) -> None:
    was, cross = np.diagonal(to_float64(before.centered_crossprod)), to_float64(rest.centered_crossprod)
    now, rounding = np.diagonal(cross), rest.rounding[1:]
    if (now < -1e3 * rounding).any():
        raise ValueError(
            "These rows cannot be removed, because they were never part of the fit (a variance would be "
            "negative). Subtract only fitted rows."
        )
    check_digits_left(was, now, rounding)
    size = np.sqrt(np.where(now > 0, now, 1.0))
    if np.linalg.eigvalsh(cross / size / size[:, None])[0] < -1e-8:
        raise ValueError(NOT_IN_FIT_MESSAGE)


def check_digits_left(was: Array, now: Array, rounding: Array) -> None:
    """Raise if removing rows would leave the squares of a column with fewer than ten digits."""
    spoiled = np.flatnonzero((was > 0) & (now * _MAX_DOWNDATE_ERROR < rounding))
    if len(spoiled):
        raise ValueError(
            f"These rows cannot be removed, because column {int(spoiled[0])} of [X | Y] would keep too little "
            "variation for ten correct digits. Fit the remaining rows again."
        )
