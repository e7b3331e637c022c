"""Solve least squares in columns scaled to about unit length, and estimate how many digits are correct.

Rank and condition depend on units, so they are computed for scaled columns only. `ScaledProblem` takes the R factor or
the normal equations of a summary, solves them by a triangle, and returns a `Solution` in the user's units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.identification import constant_columns, intercept_of_direction, null_direction
from linearly.algorithm.least_squares.rounding_bounds import (
    MAX_COLUMNS,
    NEGLIGIBLE,
    SAFE,
    CorrectDigits,
    are_enough,
    digits_of_error,
    largest_ratio,
)
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, Centering, Solution
from linearly.algorithm.least_squares.triangular import (
    EPS,
    HUGE,
    RANK_TOL,
    ROUNDING,
    PivotedTriangle,
    add_leading_row_column,
    cholesky,
    condition,
    exact_rescale,
    factor_normal,
    inverse,
    least_norm,
    pivot_normal,
    pivot_triangle,
    product,
    solve_triangular,
    upper,
)
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, dot, to_float64

_PROBES = 32  # vectors of random signs: lengths are known to 12%, and within a factor of 2 for any number of columns
_DEFERRED = (  # fields of a solution that no fit needs
    "inverse_root",
    "root_low",
    "shrinkage",
    "condition",
    "digits",
    "digits_of_relevant_coefs",
    "strict_digits",
    "error_digits",
)
_MAX_CONDITION_OF_COLUMNS = 1e6  # of a square of columns that `pivot_triangle` finds independent
_MAX_CONDITION_OF_ROWS = 1e4  # with its square, and one step of refinement, more than 12 digits remain
_MAX_CHANGE = 1e-8  # by that step, relative to the coefficients
_FEW_COLUMNS = 256  # whose cross-products are worth a task of their own
_UNEVEN = math.log(2.0**10)  # of the weights: arithmetic over geometric mean


@dataclass(frozen=True, slots=True, eq=False)
class ScaledProblem:
    """Minimise ‖Y − D b‖² + alpha ‖coefficients‖² for a design D of q columns, one of those of `centering_for`."""

    centering: Centering
    n: int
    weight: Numbers
    log_weight: float
    unit: Array  # of the columns of D
    y_unit: Array
    mean: DoubleDouble  # of the features, in units
    y_mean: DoubleDouble
    y_squares: Array  # of the targets about their mean, in units
    alpha: float
    mean_error: float = 0.0  # error of a mean for an error of 1 in the sum of squares of its column

    @staticmethod
    def of(summary: Any, centering: Centering, y_squares: Array, alpha: float, mean_error: float) -> ScaledProblem:
        """Return the problem of a `Gram` or a `QRFactor`."""
        p, scale = summary.p, summary.scaling.scale
        mean = DoubleDouble.of(summary.mean) + summary.scaling.shift / scale
        return ScaledProblem(
            centering=centering,
            n=summary.n,
            weight=summary.weight,
            log_weight=summary.log_weight,
            unit=np.append(1.0, scale[:p]) if centering == "constant" else scale[:p],
            y_unit=scale[p:],
            mean=mean[:p],
            y_mean=mean[p:],
            y_squares=y_squares,
            alpha=alpha,
            mean_error=mean_error,
        )

    @property
    def has_uneven_weights(self) -> bool:
        """Return whether weights are so uneven that the length of y does not bound what a coefficient could be."""
        weight = float(to_float64(self.weight))
        return self.n > 0 and weight > 0 and math.log(weight / self.n) - self.log_weight / self.n > _UNEVEN

    def solve_qr(self, R: Array, c: Array, rest: Array, rounding: Array) -> Solution:
        """Solve with D'D = R'R, D'Y = R'c and sums of squares `rest` beyond them, from a QR factorisation.

        `rounding` has the squared lengths of the errors of the columns of D and of Y.
        """
        size = self._sizes(np.linalg.norm(R, axis=0))
        y_size = power_of_two(np.sqrt(rest + (c**2).sum(axis=0)))
        R, c, rest = R / size, c / y_size, rest / y_size**2
        noise = np.sqrt(rounding) / np.concatenate([size, y_size])
        total = rest + (c**2).sum(axis=0)
        if self.n < R.shape[1]:  # dependent rows leave rounding errors in the last rows of R
            nonzero = np.abs(R).max(axis=1) > ROUNDING
            R, c, rest = R[nonzero], c[nonzero], rest + (c[~nonzero] ** 2).sum(axis=0)
        penalty = np.sqrt(self._penalty(size))
        wide = self.alpha > 0 and R.shape[0] < R.shape[1] and penalty.min() > 1 / HUGE
        solved, b, left = (_solve_by_rows if wide else _solve_by_columns)(R, c, penalty)
        rss = rest + (left**2).sum(axis=0)
        kept, T = solved.kept, solved.inverse_R
        h, load = _noise(noise, kept, b)
        # Residuals that are rounding errors have no digits to lose.
        lost = largest_ratio(load, np.sqrt(np.where(rss <= INTERPOLATION_TOL * total, total, rss)))
        if wide:
            lost = min(lost, largest_ratio(noise[len(size) :], np.sqrt(total)) * condition(solved.R) ** 2)
        half = R[:, kept] @ T if self.alpha > 0 else np.eye(len(T))
        U, b_all = self._with_intercept(T, b, size, y_size)
        # The error of each column acts through the inverse, and through its square times the residual (Wedin 1973).
        length, far = np.linalg.norm(U, axis=1)[:, None], _lengths(U, h[:, None] * T)
        error = SAFE * (length * load + far * np.sqrt(rss))
        of_errors = SAFE * largest_ratio(far, length)
        digits = self._correct_digits(length, b_all, error, load, total, rss, lost, of_errors)
        return self._solution(solved, b, T, half.T @ half, rss, total, size, y_size, digits, error, True)

    def solve_few_rows(self, A: Array, c: Array, finish: Callable[[], Solution]) -> Solution | None:
        """Return the solution of smallest norm for fewer rows than columns, or None for `finish` to solve the problem.

        A and c are the centred rows of D and Y. The coefficients are A'(AA')⁻¹c, refined once. This takes an eighth of
        the time of orthogonal factors. Its errors are clearly small if the rows are independent, and if the first
        columns, as many as there are rows, are too: then these are the columns that are kept.
        """
        r, q = A.shape
        unit = self.unit / self.unit.max(initial=0.0)  # powers of two: the norm is that of coefficients in user's units
        if self.alpha or self.centering != "centred" or self.n != r + 1 or not 0 < r < q or unit.min() < 1 / HUGE:
            return None
        size = self._sizes(np.sqrt(np.einsum("ij,ij->j", A, A)))
        if _condition_of_square(A[:, :r] / size[:r]) > _MAX_CONDITION_OF_COLUMNS:
            return None
        D = A if (unit == 1).all() else A * unit
        step = max(_FEW_COLUMNS, -(-q // 8))
        parts = [partial(D.__getitem__, (slice(None), slice(first, first + step))) for first in range(0, q, step)]
        products = reduce_blocks(parts, _row_products)
        length = power_of_two(np.sqrt(np.diagonal(products)))[:, None]
        R = cholesky(products / length / length.T)
        if R is None or condition(R) > _MAX_CONDITION_OF_ROWS:
            return None

        def least_norm_of(y: Array) -> Array:
            return np.asarray(D.T @ (solve_triangular(R, solve_triangular(R, y / length, transposed=True)) / length))

        y_size = power_of_two(np.linalg.norm(c, axis=0))
        y = c / y_size
        b = least_norm_of(y)
        change = least_norm_of(y - D @ b)
        if (np.linalg.norm(change, axis=0) > _MAX_CHANGE * np.linalg.norm(b, axis=0)).any():
            return None
        b += change
        rss, total = ((y - D @ b) ** 2).sum(axis=0), (y**2).sum(axis=0)
        return self._deferred_solution(b * (unit * size)[:, None], rss, total, size, y_size, finish, r)

    def solve_normal(
        self, A: Numbers, C: Numbers, total: Numbers, rounding: Array, *, rank_is_certain: bool = True
    ) -> Solution:
        """Solve with D'D = A, D'Y = C and Σ y² = total, all in float64 or all in double-double.

        The products of columns i and j of [D | Y] have errors of at most √(rounding_i · rounding_j). `rank_is_certain`
        is False if some column lost all its digits.
        """
        extended = isinstance(A, DoubleDouble)
        size = self._sizes(np.sqrt(np.maximum(np.diagonal(to_float64(A)), 0.0)))
        y_size = power_of_two(np.sqrt(np.maximum(to_float64(total), 0.0)))
        with np.errstate(over="ignore"):
            A, C, total = A / size / size[:, None], C / size[:, None] / y_size, total / y_size**2
            noise = np.sqrt(rounding) / np.concatenate([size, y_size])
        squares = to_float64(total)
        if not np.isfinite(to_float64(A)).all():
            raise ValueError(
                "The summary is invalid, because a cross product exceeds the limit that its sums of squares "
                "set. Fit the rows again."
            )
        penalised = A + np.diag(self._penalty(size)) if self.alpha > 0 else A
        if extended:
            return self._finish_normal(A, C, total, size, y_size, noise, pivot_normal(penalised, C), rank_is_certain)
        R, c, rest, tolerance = factor_normal(penalised, C, total)

        def finish() -> Solution:
            solved = pivot_triangle(R, c, tolerance)
            return self._finish_normal(A, C, total, size, y_size, noise, solved, rank_is_certain, (R, c, rest))

        if tolerance == RANK_TOL and rank_is_certain and len(R) > MAX_COLUMNS and self._may_defer(A, noise):
            b = solve_triangular(R, c)
            rss = rest + ((c - R @ b) ** 2).sum(axis=0)
            if self._is_clearly_accurate(R, b, rss, squares, size, y_size, noise):
                return self._deferred_solution(b, rss, squares, size, y_size, finish, len(b))
        return finish()

    def _may_defer(self, A: Array, noise: Array) -> bool:
        """Return whether `_is_clearly_accurate` can judge the problem: the common one, without columns of codes."""
        ordinary = self.alpha == 0 and self.centering == "centred" and not self.has_uneven_weights
        return ordinary and bool((2 * noise[: len(A)] ** 2 >= EPS * np.diagonal(A)).all())

    def _is_clearly_accurate(
        self, R: Array, b: Array, rss: Array, squares: Array, size: Array, y_size: Array, noise: Array
    ) -> bool:
        """Return whether the digits that `_finish_normal` would report are clearly enough.

        The lengths of the rows of R⁻¹ and R⁻¹R'⁻¹ are estimated by products with random signs, a factor of 2 being
        allowed for the error of each. This takes a time of p², the inverse one of p³.
        """
        q = len(R)
        signs = np.where(np.random.default_rng(q).random((q, _PROBES)) < 0.5, -1.0, 1.0)
        h, load = _noise(noise, np.arange(q), b)
        m = self.mean.high / size
        of_mean = solve_triangular(R, m[:, None], transposed=True)
        inverse_times = solve_triangular(R, signs)
        far = solve_triangular(R, solve_triangular(R, h[:, None] * signs, transposed=True))
        lengths = np.linalg.norm(inverse_times, axis=1) / math.sqrt(_PROBES) / 2
        if 4 * ROUNDING * math.sqrt(q) * np.linalg.norm(lengths) * np.linalg.norm(R, axis=0).max() >= 1:
            return False  # `pivot_triangle` decides which columns are independent
        length = np.append(np.linalg.norm(of_mean), lengths)[:, None]
        of_intercept = np.linalg.norm(h * solve_triangular(R, of_mean)[:, 0])
        reached = np.append(of_intercept, np.linalg.norm(far, axis=1) / math.sqrt(_PROBES) * 2)[:, None]
        wrong = _error_of_squares(noise, h, b)
        lost = largest_ratio(wrong, np.where(squares > 0, np.maximum(rss, 1e-300), 0.0))
        b_all = np.vstack([self.y_mean.high / y_size - m @ b, b])
        error, of_errors = SAFE * reached * load, 2 * largest_ratio(reached, length) ** 2
        return are_enough(self._correct_digits(length, b_all, error, load, squares, rss, lost, of_errors), q)

    def _deferred_solution(
        self, b: Array, rss: Array, total: Array, size: Array, y_size: Array, finish: Callable[[], Solution], rank: int
    ) -> Solution:
        """Return the solution of a well-conditioned problem; `finish` gives its root, condition and digits.

        The columns after the first `rank` are combinations of those.
        """
        y_unit = self.y_unit * y_size
        coef = exact_rescale(b, y_unit, (self.unit * size)[:, None])
        mean, at_mean, intercept = self._mean_and_intercept(coef)

        known = {} if rank < len(b) else {"null": None}

        @single_threaded_blas()
        def complete() -> dict[str, Any]:
            full = finish()
            return {name: getattr(full, name) for name in (*_DEFERRED, "null") if name not in known}

        with np.errstate(over="ignore", under="ignore"):
            rss, tss = rss * y_unit * y_unit, self.y_squares * self.y_unit * self.y_unit
        return Solution.deferred(
            complete,
            coef=coef,
            intercept=to_float64(intercept),
            rank=rank,
            aliased=tuple(range(rank, len(b))),
            rss=rss,
            tss=tss,
            dof=self.n - float(rank + 1),
            n=self.n,
            weight=float(to_float64(self.weight)),
            log_weight=self.log_weight,
            rank_is_certain=True,
            alpha=self.alpha,
            centering=self.centering,
            mean=mean,
            prediction_at_mean=at_mean,
            extended=(DoubleDouble.of(coef), DoubleDouble.of(intercept)),
            is_far=None,
            is_clearly_accurate=True,
            **known,
        )

    def _mean_and_intercept(self, coef: Numbers) -> tuple[DoubleDouble, Array, DoubleDouble]:
        """Return the mean of the features, that of the targets, and the intercept of a centred design."""
        one = np.ones(1)
        mean = exact_rescale(self.mean, self.unit, one)
        at_mean = to_float64(exact_rescale(self.y_mean, self.y_unit, one))
        # Σ mean · coef in units, where neither factor can leave float64, unless a coefficient itself has.
        with np.errstate(invalid="ignore"):
            moved = dot(self.mean, DoubleDouble.of(exact_rescale(coef, self.unit[:, None], self.y_unit)))
            return mean, at_mean, exact_rescale(self.y_mean - moved, self.y_unit, one)

    def _finish_normal(
        self,
        A: Numbers,
        C: Numbers,
        total: Numbers,
        size: Array,
        y_size: Array,
        noise: Array,
        solved: PivotedTriangle,
        rank_is_certain: bool,
        factor: tuple[Array, Array, Array] | None = None,
    ) -> Solution:
        """Return the solution of factored normal equations; `factor` is (R, c, rest) of those in float64."""
        extended, squares = factor is None, to_float64(total)
        kept = solved.kept
        square = A[kept[:, None], kept]
        b = solve_triangular(solved.R, solved.c)
        if factor is None or self.alpha > 0:
            rss = total - (b * (C[kept] * 2.0 - product(square, b))).sum(axis=0)
            rss = np.maximum(to_float64(rss), 0.0)
        else:
            R, c, rest = factor
            rss = rest + ((c - R[:, kept] @ b) ** 2).sum(axis=0)
        T, b64 = to_float64(solved.inverse_R), to_float64(b)
        shrinkage = np.eye(len(T))
        if self.alpha > 0 and extended:  # T'AT in float64 would cancel as the square of the condition number
            penalty = solved.inverse_R.T * self._penalty(size)[kept]
            shrinkage = to_float64(shrinkage - product(penalty, solved.inverse_R))
        elif self.alpha > 0:
            shrinkage = T.T @ to_float64(square) @ T
        U, b_all = self._with_intercept(T, b64, size, y_size)
        h, load = _noise(noise, kept, b64)
        wrong = _error_of_squares(noise, h, b64)
        if extended:
            lost = max(EPS, largest_ratio(wrong, np.where(rss <= INTERPOLATION_TOL * squares, squares, rss)))
        else:
            lost = largest_ratio(wrong, np.where(squares > 0, np.maximum(rss, 1e-300), 0.0))
            # A column without any variation is constant; a combination of others may be a near-combination.
            rank_is_certain = rank_is_certain and not np.diagonal(A)[solved.aliased].any()
        length, far = np.linalg.norm(U, axis=1)[:, None], _lengths(U, h[:, None] * T)
        of_errors, error = 2 * largest_ratio(far, length) ** 2, SAFE * far * load
        exact = np.flatnonzero(2 * h * h < EPS * np.diagonal(to_float64(square)))
        if len(exact) and not extended:
            counts, inverse_rows = to_float64(square)[np.ix_(exact, exact)], U @ T[exact].T
            error, of_errors, lost = self._add_errors_of_storage(
                (error, of_errors, lost), counts, inverse_rows, b64[exact], length, rss
            )
        digits = self._correct_digits(length, b_all, error, load, squares, rss, lost, of_errors, resolved=extended)
        return self._solution(
            solved, b, solved.inverse_R, shrinkage, rss, squares, size, y_size, digits, error, rank_is_certain
        )

    def _add_errors_of_storage(
        self, errors: tuple[Array, float, float], A: Array, inverse: Array, b: Array, length: Array, rss: Array
    ) -> tuple[Array, float, float]:
        """Return the errors of coefficients, variances and squares with those of products that are small sums.

        The products A of columns of codes are counts. They are exact until they are centred, and each is then wrong in
        its own last place. Sums of weights are rounded as other sums are.
        """
        weighted = self.log_weight != 0.0 or float(to_float64(self.weight)) != self.n
        grain = SAFE * EPS * (1 + math.sqrt(self.n) / 64 if weighted else 1.0)
        A2, inverse2 = A * A, inverse * inverse
        of_coefs = grain * np.sqrt(inverse2 @ (A2 @ (b * b)))
        of_variances = grain * np.sqrt(((inverse2 @ A2) * inverse2).sum(axis=1))
        of_squares = grain * np.sqrt(((b * b) * (A2 @ (b * b))).sum(axis=0))
        return (
            np.hypot(errors[0], of_coefs),
            max(errors[1], largest_ratio(of_variances, length[:, 0] ** 2)),
            max(errors[2], largest_ratio(of_squares, rss)),
        )

    def _correct_digits(
        self,
        length: Array,
        b: Array,
        error: Array,
        load: Array,
        total: Array,
        rss: Array,
        lost: float,
        of_errors: float,
        *,
        resolved: bool = False,
    ) -> CorrectDigits:
        """Return the correct digits for rows of the root of this `length` and coefficients of this `error`.

        With uneven weights, rows of large weight do not bound what the other rows could make of a coefficient. Then no
        coefficient counts as zero or negligible, unless it is `resolved` in double-double.
        """
        if self.centering == "centred" and len(b) > len(self.unit):  # the first row is the intercept
            length, error = length.copy(), error.copy()
            length[0] = math.hypot(length[0, 0], 1 / math.sqrt(float(to_float64(self.weight))))
            error[0] += SAFE * self.mean_error * load
        reach, size = length * np.sqrt(total), np.abs(b)
        if self.has_uneven_weights and not resolved:
            reach, size = 0 * reach, np.maximum(size, error)
        digits, strict = _digits_of_coefs(reach, size, error, lost)
        # By chance alone a coefficient is as large as its standard error.
        share = np.divide(rss, total, out=np.zeros_like(total), where=total > 0) / max(self.n - len(b), 1)
        relevant = largest_ratio(error, np.maximum(size, np.maximum(np.sqrt(share), NEGLIGIBLE) * reach))
        return CorrectDigits(
            digits, digits_of_error(max(relevant, lost)), strict, digits_of_error(max(lost, of_errors))
        )

    def _sizes(self, length: Array) -> Array:
        """Return the size of columns of this length, penalty included. Divided by it, both are at most 1."""
        with np.errstate(over="ignore"):
            return power_of_two(np.hypot(length, np.minimum(np.sqrt(self.alpha) / self.unit, 2.0**1000)))

    def _penalty(self, size: Array) -> Array:
        return np.asarray(np.minimum(np.sqrt(self.alpha) / size / self.unit, HUGE) ** 2)

    def _with_intercept(self, T: Array, b: Array, size: Array, y_size: Array) -> tuple[Array, Array]:
        """Return T and b with a first row for the intercept, a combination of the others, if the design is centred."""
        if self.centering != "centred" or len(T) < len(size):
            return T, b
        m = self.mean.high / size
        return np.vstack([-m @ T, T]), np.vstack([self.y_mean.high / y_size - m @ b, b])

    def _solution(
        self,
        solved: PivotedTriangle,
        b: Numbers,
        T: Numbers,
        shrinkage: Array,
        rss: Array,
        total: Array,
        size: Array,
        y_size: Array,
        digits: CorrectDigits,
        error: Array,
        rank_is_certain: bool,
    ) -> Solution:
        """Return the solution in the user's units, from coefficients b and an inverse root T in scaled columns.

        `error` is that of the coefficients b.
        """
        one, constant = np.ones(1), int(self.centering == "constant")
        with np.errstate(over="ignore"):  # `check_coefficients_finite` refuses a coefficient beyond float64 by name
            kept, unit, y_unit = solved.kept, self.unit * size, self.y_unit * y_size
        coef, root = exact_rescale(b, y_unit, unit[kept, None]), exact_rescale(T, one, unit[kept, None])
        null: Array | None = None
        if len(solved.aliased):
            spread, kappa = least_norm(solved, unit)
            # The projection to the smallest norm is rounded as its largest part is, and takes over errors before it.
            rounded = SAFE * EPS * kappa * np.abs(to_float64(coef)).sum(axis=0)
            error = rounded + np.abs(spread) @ exact_rescale(error, y_unit, unit[kept, None])
            coef, root = spread @ to_float64(coef), spread @ to_float64(root)
            size = np.where(np.abs(coef) > 8 * error, np.abs(coef), np.abs(coef).max(axis=0, initial=0.0))
            digits = digits._replace(digits=min(digits.digits, digits_of_error(largest_ratio(error, size))))
            null = null_direction(solved, unit)
        low = root.low if isinstance(root, DoubleDouble) else None
        mean, at_mean = None, np.zeros(len(y_size))
        intercept = DoubleDouble.of(at_mean)
        effective = float(np.trace(shrinkage)) if self.alpha > 0 else float(len(kept))
        if self.centering == "centred":
            mean, at_mean, intercept = self._mean_and_intercept(coef)
            in_units = exact_rescale(root, self.unit[:, None], one)
            center = self.mean if isinstance(root, DoubleDouble) else self.mean.high
            top = -to_float64(product(center[None, :], in_units))
            low = None if low is None else add_leading_row_column(0.0, 0.0, low)
            root = add_leading_row_column(1 / np.sqrt(to_float64(self.weight)), top, to_float64(root))
            shrinkage = add_leading_row_column(1.0, 0.0, shrinkage)
            effective += 1
            if null is not None:  # a constant column has no coefficient, so it does not affect the intercept
                others = np.delete(np.arange(len(null)), constant_columns(solved))
                null = np.append(intercept_of_direction(null[others], mean.high[others]), null)
        elif constant:
            intercept, coef = DoubleDouble.of(coef)[0], coef[1:]
            at_mean = intercept.to_float64()
        with np.errstate(over="ignore", under="ignore"):
            rss = rss * y_unit * y_unit
            tss = total * y_unit * y_unit if self.centering == "plain" else self.y_squares * self.y_unit * self.y_unit
        return Solution(
            coef=to_float64(coef),
            intercept=to_float64(intercept),
            rank=len(kept) - constant,
            aliased=tuple(int(j) - constant for j in solved.aliased if j >= constant),
            rss=rss,
            tss=tss,
            dof=self.n - effective,
            inverse_root=to_float64(root),
            root_low=low,
            shrinkage=shrinkage,
            n=self.n,
            weight=float(to_float64(self.weight)),
            log_weight=self.log_weight,
            condition=condition(to_float64(solved.R)),
            rank_is_certain=rank_is_certain,
            alpha=self.alpha,
            centering=self.centering,
            mean=mean,
            prediction_at_mean=at_mean,
            extended=(DoubleDouble.of(coef), DoubleDouble.of(intercept)),
            null=null,
            **digits._asdict(),
        )


def _solve_by_columns(R: Array, c: Array, penalty: Array) -> tuple[PivotedTriangle, Array, Array]:
    """Return the triangle of R'R + diag(penalty²), the solution for its independent columns, and the residuals of c."""
    rows, q = R.shape
    if penalty.any():
        seen, added = np.hstack([R, c]), np.hstack([np.diag(penalty), np.zeros((q, c.shape[1]))])
        first = added.copy()
        # The larger of the two on the diagonal: a reflection that begins with the smaller would lose it.
        larger = (penalty[:rows] > np.abs(np.diagonal(R)))[:, None]
        first[:rows] = np.where(larger, added[:rows], seen)
        stacked = upper(np.vstack([first, np.where(larger, seen, added[:rows])]))
        solved = pivot_triangle(stacked[:q, :q], stacked[:q, q:])
    else:
        solved = pivot_triangle(R, c)
    b = solve_triangular(solved.R, solved.c)
    return solved, b, c - R[:, solved.kept] @ b


def _solve_by_rows(R: Array, c: Array, penalty: Array) -> tuple[PivotedTriangle, Array, Array]:
    """Return the results of `_solve_by_columns` for fewer rows than columns, at a cost of rows² × columns.

    In units of the penalty R is S = L'Q', and (S'S + 1)⁻¹ is Q(LL' + 1)⁻¹Q' on the rows of S. Beyond them it is 1,
    which affects neither coefficients nor covariances, so a root of as many columns as rows suffices. The residuals
    are (L'L + 1)⁻¹c, which do not cancel however small they are.
    """
    Q, L = map(np.asarray, np.linalg.qr((R / penalty).T))
    one = np.eye(len(L))
    W, V = upper(np.vstack([L.T, one])), upper(np.vstack([L, one]))
    T = inverse(W)
    root, u = Q @ T / penalty[:, None], T.T @ (L @ c)
    solved = PivotedTriangle(W, u, list(range(len(penalty))), [], np.empty((len(W), 0)), root)
    return solved, root @ u, solve_triangular(V, solve_triangular(V, c, transposed=True))


def _row_products(A: Array) -> Array:
    return np.asarray(A @ A.T)


def _condition_of_square(A: Array) -> float:
    """Return LAPACK's estimate of the condition number of a square matrix in the 1-norm."""
    factors, _, singular = lapack.dgetrf(A)
    reciprocal = 0.0 if singular else lapack.dgecon(factors, np.abs(A).sum(axis=0).max())[0]
    return float(1 / reciprocal) if reciprocal > 0 else math.inf


def _lengths(U: Array, T: Array) -> Array:
    """Return the lengths of the rows of UT'. A T of more rows than columns is replaced by its triangle.

    Rounding errors are nearly independent, so they add up like lengths: their sum grows as the root of the number of
    columns, where the worst case would grow as its square.
    """
    T = upper(T) if len(T) > T.shape[1] else T
    return np.asarray(np.linalg.norm(U @ T.T, axis=1)[:, None])


def _noise(noise: Array, kept: Any, b: Array) -> tuple[Array, Array]:
    """Return the errors of the kept columns of D, and of Y − Db, given those of the columns of [D | Y]."""
    h = noise[kept]
    return h, np.asarray(noise[len(noise) - b.shape[1] :] + np.linalg.norm(h[:, None] * b, axis=0))


def _error_of_squares(noise: Array, h: Array, b: Array) -> Array:
    """Return the error of Σ y² − 2 b'D'Y + b'D'Db, whose three parts have independent errors."""
    y, fitted = noise[len(noise) - b.shape[1] :] ** 2, ((h[:, None] * b) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(y**2 + 4 * y * fitted + 2 * fitted**2))


def _digits_of_coefs(reach: Array, size: Array, error: Array, error_of_squares: float) -> tuple[float, float]:
    """Return the digits of the least accurate coefficient, and of the least accurate that is not negligible.

    Coefficients have this size and this error, and could be as large as their reach.
    """
    # A coefficient that is zero up to rounding has no digits: its error is compared to its reach.
    weakest = largest_ratio(error, np.where(size > 8 * error, size, np.maximum(size, reach)))
    strict = largest_ratio(error, np.maximum(size, NEGLIGIBLE * reach))
    return digits_of_error(max(weakest, error_of_squares)), digits_of_error(max(strict, error_of_squares))
