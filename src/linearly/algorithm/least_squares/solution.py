"""From a summary to coefficients and what is known about them.

A `Problem` is least squares in columns scaled to about unit length, the only form in which rank and condition mean
anything. It is solved by a triangle, in float64 or in double-double, and read back in the user's units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.identification import (
    constant_columns,
    is_estimable,
    null_direction,
    set_small_to_zero,
)
from linearly.algorithm.least_squares.triangular import (
    EPS,
    RANK_TOL,
    ROUNDING,
    PivotedTriangle,
    add_leading_row_column,
    condition,
    exact_rescale,
    inverse,
    pivot_normal,
    pivot_triangle,
    product,
    solve_triangular,
    upper,
)
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, dot, to_float64

_HUGE = 2.0**400  # its square, times a few thousand, is still a float64
NEGLIGIBLE = 1e-4  # of what a coefficient could be: up to 10⁸ rows, chance alone makes it larger
INTERPOLATION_TOL = (100 * EPS) ** 2  # of a sum of squares: what rounding errors alone leave of it
MIN_DOF = 1 - 1e-9  # of freedom, as rounding may leave it: of the 0.01 that ridge leaves, t reaches 1e100
SAFE = 4.0  # rounding errors this much larger than they usually are
_UNEVEN = math.log(2.0**10)  # of the weights: arithmetic over geometric mean


Centering = Literal["centred", "plain", "constant"]


def centering_for(intercept: bool, penalized: bool) -> Centering:
    """The design of a fit: X about its mean, X as it is, or [1 | X] where the intercept is penalised too."""
    if not intercept:
        return "plain"
    return "constant" if penalized else "centred"


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Coefficients of least squares and what is known about them.

    With M = (X'WX + penalty)⁻¹ = root @ root.T, the covariance for target t is σ²_t M X'WX M, or
    σ²_t · root @ shrinkage @ root.T. Rows of `root` are the intercept, if there is one, then the features.
    """

    coef: Array  # p × k
    intercept: Array  # k
    rank: int  # independent columns, the intercept not counted
    aliased: tuple[int, ...]  # features that are combinations of others (or constant, beside an intercept)
    rss: Array  # k, weighted residual sums of squares
    tss: Array  # k, about the mean, or about zero without an intercept
    dof: float  # n − rank − 1 with an intercept; for ridge the trace of the hat matrix takes the place of the rank
    inverse_root: Array
    root_low: Array | None  # what rounding took from `root`, where it was known in double-double
    shrinkage: Array  # root' X'WX root: the identity where there is no penalty
    n: int
    weight: float
    log_weight: float
    condition: float  # of the scaled design
    digits: float  # decimal digits to trust in the weakest coefficient and in the residual sum of squares
    digits_of_relevant_coefs: float  # the same, negligible coefficients measured against what chance would make of them
    rank_is_certain: bool  # whether the rank is known; a float64 Gram cannot tell combinations from near-combinations
    alpha: float
    form: Centering
    mean: DoubleDouble | None  # of the features, where the design was centred
    prediction_at_mean: Array  # k, what is predicted there; otherwise the prediction at zero
    exact: tuple[DoubleDouble, DoubleDouble]  # coefficients and intercept before rounding to float64
    null: Array | None = None  # a generic direction of the null space, as the rows of `root`; None at full rank
    error_digits: float | None = None  # decimal digits to trust in the weakest standard error
    strict_digits: float | None = None  # as `sound_digits`, only 1e-4 of what a coefficient could be being negligible

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Which terms the rows determine, as the rows of `root`: the others have coefficients of smallest norm."""
        return np.ones(len(self.inverse_root), dtype=bool) if self.null is None else self.null == 0

    def estimable(self, X: Numbers) -> NDArray[np.bool_]:
        """At which rows the prediction is the same for every solution of the normal equations."""
        if self.null is None:
            return np.ones(len(X), dtype=bool)
        first = int(self.has_intercept)
        constant = float(self.null[0]) if self.form == "constant" else 0.0
        return is_estimable(to_float64(X), to_float64(self._about_mean(X)), self.null[first:], constant)

    @property
    def has_intercept(self) -> bool:
        """Whether `root` has a row for the intercept."""
        return len(self.inverse_root) > len(self.coef)

    def whitened_rows(self, X: Numbers) -> Array:
        """Rows x as u = (1, x) times `root`: leverage w·u'u, variance of the prediction σ² u' shrinkage u.

        Measured about the mean, because an offset of 1e9 in a column of spread 1 would cost nine digits. Rows in
        double-double are powers, of which the differences count: they are multiplied in double-double too.
        """
        root = (
            self.inverse_root
            if self.root_low is None or not isinstance(X, DoubleDouble)
            else DoubleDouble(self.inverse_root, self.root_low)
        )
        if self.mean is None:
            if not self.has_intercept:
                return to_float64(product(X, root))
            return to_float64(product(X, root[1:]) + self.inverse_root[0])
        u = np.empty((len(X), self.inverse_root.shape[1]))
        u[:, 0] = self.inverse_root[0, 0]
        u[:, 1:] = to_float64(product(self._about_mean(X), root[1:, 1:]))
        return u

    def predict(self, X: Numbers) -> Array:
        """Fitted values, n × k; about the mean, and of rows in double-double likewise, for the same reasons."""
        if not isinstance(X, DoubleDouble):
            return np.asarray(self._about_mean(X) @ self.coef + self.prediction_at_mean)
        coef, intercept = self.exact
        return to_float64(
            product(self._about_mean(X), coef) + (intercept if self.mean is None else self.prediction_at_mean)
        )

    def _about_mean(self, X: Numbers) -> Numbers:
        if self.mean is None or isinstance(X, DoubleDouble):
            return X if self.mean is None else X - self.mean
        return (X - self.mean.high) - self.mean.low

    @property
    def sigma2(self) -> Array:
        """The unbiased variance of the errors, RSS / dof (NaN where not one degree of freedom is left)."""
        return self.rss / self.dof if self.dof >= MIN_DOF else np.full_like(self.rss, np.nan)


class Trust(NamedTuple):
    """Decimal digits to trust, as `Solution` has them."""

    digits: float
    sound: float
    strict: float
    errors: float


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Minimise ‖Y − D b‖² + alpha ‖coefficients‖² for a design D of q columns, of one of the forms of `form_of`."""

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
    mean_error: float = 0.0  # of a mean, where the square of its column is wrong by 1

    @property
    def uneven(self) -> bool:
        """Whether weights are so uneven that the length of y says nothing about what a coefficient could be."""
        weight = float(to_float64(self.weight))
        return self.n > 0 and weight > 0 and math.log(weight / self.n) - self.log_weight / self.n > _UNEVEN

    def solve_qr(self, R: Array, c: Array, rest: Array, *, rounding: Array | None = None) -> Solution:
        """Solve with D'D = R'R, D'Y = R'c and sums of squares `rest` beyond them, from a QR factorisation.

        `rounding` has the squared lengths of the errors of the columns of D and of Y.
        """
        if rounding is None:
            rounding = EPS**2 * np.concatenate([(R**2).sum(axis=0), rest + (c**2).sum(axis=0)])
        size = self._sizes(np.linalg.norm(R, axis=0))
        y_size = power_of_two(np.sqrt(rest + (c**2).sum(axis=0)))
        R, c, rest = R / size, c / y_size, rest / y_size**2
        noise = np.sqrt(rounding) / np.concatenate([size, y_size])
        total = rest + (c**2).sum(axis=0)
        if self.n < R.shape[1]:  # of rows that depend on each other the last leave rounding errors
            heard = np.abs(R).max(axis=1) > ROUNDING
            R, c, rest = R[heard], c[heard], rest + (c[~heard] ** 2).sum(axis=0)
        penalty = np.sqrt(self._penalty(size))
        few = self.alpha > 0 and R.shape[0] < R.shape[1] and penalty.min() > 1 / _HUGE
        solved, b, left = (_by_rows if few else _by_columns)(R, c, penalty)
        rss = rest + (left**2).sum(axis=0)
        kept, T = solved.kept, solved.inverse_R
        h, load = _noise(noise, kept, b)
        # Residuals that are rounding errors have no digits to lose.
        lost = _largest_ratio(load, np.sqrt(np.where(rss <= INTERPOLATION_TOL * total, total, rss)))
        if few:
            lost = min(lost, _largest_ratio(noise[len(size) :], np.sqrt(total)) * condition(solved.R) ** 2)
        half = R[:, kept] @ T if self.alpha > 0 else np.eye(len(T))
        U, b_all = self._with_intercept(T, b, size, y_size)
        # The error of each column: through the inverse, and through its square times the residual (Wedin).
        length, far = np.linalg.norm(U, axis=1)[:, None], _lengths(U, h[:, None] * T)
        error = SAFE * (length * load + far * np.sqrt(rss))
        of_errors = SAFE * _largest_ratio(far, length)
        trust = self._trust(length, b_all, error, load, total, rss, lost, of_errors)
        return self._read(solved, b, T, half.T @ half, rss, total, size, y_size, trust, True)

    def solve_normal(
        self, A: Array, C: Array, total: Array, *, rounding: Array | None = None, sure: bool = True
    ) -> Solution:
        """Solve with D'D = A, D'Y = C, Σ y² = total in float64.

        Products of columns i and j of [D | Y] are wrong by √(rounding_i · rounding_j) at most; `sure` is whether no
        column lost all its digits.
        """
        if rounding is None:
            rounding = EPS * np.concatenate([np.diagonal(A), total])
        size = self._sizes(np.sqrt(np.maximum(np.diagonal(A), 0.0)))
        y_size = power_of_two(np.sqrt(np.maximum(total, 0.0)))
        with np.errstate(over="ignore"):
            A, C, total = A / size / size[:, None], C / size[:, None] / y_size, total / y_size**2
            noise = np.sqrt(rounding) / np.concatenate([size, y_size])
        if not np.isfinite(A).all():
            raise ValueError("The sums of products are not those of any rows: one of them is far above its squares.")
        R, c, rest, tolerance = _triangle_of(A + np.diag(self._penalty(size)), C, total)
        solved = pivot_triangle(R, c, tolerance)
        kept = solved.kept
        b = solve_triangular(solved.R, solved.c)
        if self.alpha > 0:
            rss = np.maximum(total - (b * (2 * C[kept] - A[kept[:, None], kept] @ b)).sum(axis=0), 0.0)
        else:
            rss = rest + ((c - R[:, kept] @ b) ** 2).sum(axis=0)
        T = solved.inverse_R
        shrinkage = T.T @ A[kept[:, None], kept] @ T if self.alpha > 0 else np.eye(len(T))
        U, b_all = self._with_intercept(T, b, size, y_size)
        h, load = _noise(noise, kept, b)
        lost = _largest_ratio(_error_of_squares(noise, h, b), np.where(total > 0, np.maximum(rss, 1e-300), 0.0))
        length, far = np.linalg.norm(U, axis=1)[:, None], _lengths(U, h[:, None] * T)
        of_errors = 2 * _largest_ratio(far, length) ** 2
        trust = self._trust(length, b_all, SAFE * far * load, load, total, rss, lost, of_errors)
        # A column without any variation is constant; a combination of others may be a near-combination.
        sure = sure and not np.diagonal(A)[solved.aliased].any()
        return self._read(solved, b, T, shrinkage, rss, total, size, y_size, trust, sure)

    def solve_normal_extended(
        self, A: DoubleDouble, C: DoubleDouble, total: DoubleDouble, *, rounding: Array | None = None
    ) -> Solution:
        """The same in double-double."""
        if rounding is None:
            rounding = EPS**2 * np.concatenate([np.diagonal(to_float64(A)), to_float64(total)])
        size = self._sizes(np.sqrt(np.maximum(np.diagonal(to_float64(A)), 0.0)))
        y_size = power_of_two(np.sqrt(np.maximum(to_float64(total), 0.0)))
        A, C, total = A / size / size[:, None], C / size[:, None] / y_size, total / y_size**2
        noise = np.sqrt(rounding) / np.concatenate([size, y_size])
        solved = pivot_normal(A + np.diag(self._penalty(size)), C)
        kept = solved.kept
        b = solve_triangular(solved.R, solved.c)
        rss = total - (b * (C[kept] * 2.0 - product(A[kept[:, None], kept], b))).sum(axis=0)
        T = to_float64(solved.inverse_R)
        shrinkage = T.T @ to_float64(A[kept[:, None], kept]) @ T if self.alpha > 0 else np.eye(len(T))
        U, b_all = self._with_intercept(T, b.high, size, y_size)
        h, load = _noise(noise, kept, b.high)
        left, whole = np.maximum(to_float64(rss), 0.0), to_float64(total)
        wrong = _error_of_squares(noise, h, b.high)
        lost = max(EPS, _largest_ratio(wrong, np.where(left <= INTERPOLATION_TOL * whole, whole, left)))
        length, far = np.linalg.norm(U, axis=1)[:, None], _lengths(U, h[:, None] * T)
        of_errors = 2 * _largest_ratio(far, length) ** 2
        trust = self._trust(length, b_all, SAFE * far * load, load, whole, left, lost, of_errors, resolved=True)
        return self._read(solved, b, solved.inverse_R, shrinkage, left, whole, size, y_size, trust, True)

    def _trust(
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
    ) -> Trust:
        """Digits to trust; `length` is that of the rows of the root, `error` that of the coefficients, both q × 1 or k.

        Where weights are uneven, rows of large weight say nothing about what the others could make of a coefficient.
        None is zero or negligible then, unless it is `resolved` in double-double.
        """
        if self.centering == "centred" and len(b) > len(self.unit):  # the intercept is above
            length, error = length.copy(), error.copy()
            length[0] = math.hypot(length[0, 0], 1 / math.sqrt(float(to_float64(self.weight))))
            error[0] += SAFE * self.mean_error * load
        reach, size = length * np.sqrt(total), np.abs(b)
        if self.uneven and not resolved:
            reach, size = 0 * reach, np.maximum(size, error)
        digits, strict = _trust(reach, size, error, lost)
        # By chance alone a coefficient is as large as its standard error.
        share = np.divide(rss, total, out=np.zeros_like(total), where=total > 0) / max(self.n - len(b), 1)
        sound = _largest_ratio(error, np.maximum(size, np.maximum(np.sqrt(share), NEGLIGIBLE) * reach))
        return Trust(digits, digits_of_error(max(sound, lost)), strict, digits_of_error(max(lost, of_errors)))

    def _sizes(self, length: Array) -> Array:
        """The size of columns of this length, the penalty included: divided by it, both are at most 1."""
        with np.errstate(over="ignore"):
            return power_of_two(np.hypot(length, np.minimum(np.sqrt(self.alpha) / self.unit, 2.0**1000)))

    def _penalty(self, size: Array) -> Array:
        return np.asarray(np.minimum(np.sqrt(self.alpha) / size / self.unit, _HUGE) ** 2)

    def _with_intercept(self, T: Array, b: Array, size: Array, y_size: Array) -> tuple[Array, Array]:
        """T and b with a row for the intercept above, which is a combination of the others, if there is one."""
        if self.centering != "centred" or len(T) < len(size):
            return T, b
        m = self.mean.high / size
        return np.vstack([-m @ T, T]), np.vstack([self.y_mean.high / y_size - m @ b, b])

    def _read(
        self,
        solved: PivotedTriangle,
        b: Numbers,
        T: Numbers,
        shrinkage: Array,
        rss: Array,
        total: Array,
        size: Array,
        y_size: Array,
        trust: Trust,
        sure: bool,
    ) -> Solution:
        with np.errstate(over="ignore"):  # a coefficient or intercept beyond float64 is refused by name
            kept, unit, y_unit = solved.kept, self.unit * size, self.y_unit * y_size
        coef, root = exact_rescale(b, y_unit, unit[kept, None]), exact_rescale(T, np.ones(1), unit[kept, None])
        null: Array | None = None
        if len(solved.aliased):
            spread = least_norm(solved, unit)
            coef, root = spread @ to_float64(coef), spread @ to_float64(root)
            null = null_direction(solved, unit)
        low = root.low if isinstance(root, DoubleDouble) else None
        mean, at_mean = None, np.zeros(len(y_size))
        intercept = DoubleDouble.of(at_mean)
        effective = float(np.trace(shrinkage)) if self.alpha > 0 else float(len(kept))
        if self.centering == "centred":
            mean, fit = (
                exact_rescale(self.mean, self.unit, np.ones(1)),
                exact_rescale(self.y_mean, self.y_unit, np.ones(1)),
            )
            at_mean = fit.to_float64()
            # Σ mean · coef in units, where neither factor can leave float64, unless a coefficient itself has.
            with np.errstate(invalid="ignore"):
                moved = dot(self.mean, DoubleDouble.of(exact_rescale(coef, self.unit[:, None], self.y_unit)))
                intercept = exact_rescale(self.y_mean - moved, self.y_unit, np.ones(1))
            in_units = exact_rescale(root, self.unit[:, None], np.ones(1))
            center = self.mean if isinstance(root, DoubleDouble) else self.mean.high
            top = -to_float64(product(center[None, :], in_units))
            low = None if low is None else add_leading_row_column(0.0, 0.0, low)
            root = add_leading_row_column(1 / np.sqrt(to_float64(self.weight)), top, to_float64(root))
            shrinkage = add_leading_row_column(1.0, 0.0, shrinkage)
            effective += 1
            if null is not None:  # a constant column is left out: the intercept is that of the others
                others = np.delete(np.arange(len(null)), constant_columns(solved))
                null = np.append(set_small_to_zero(null[others], mean.high[others]), null)
        elif self.centering == "constant":
            intercept, coef = DoubleDouble.of(coef)[0], coef[1:]
            at_mean = intercept.to_float64()
        constant = int(self.centering == "constant")
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
            digits=trust.digits,
            digits_of_relevant_coefs=trust.sound,
            rank_is_certain=sure,
            alpha=self.alpha,
            form=self.centering,
            mean=mean,
            prediction_at_mean=at_mean,
            exact=(DoubleDouble.of(coef), DoubleDouble.of(intercept)),
            null=null,
            error_digits=trust.errors,
            strict_digits=trust.strict,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """A root of the inverse of a covariance-like matrix A: root' A root = identity on the columns that are kept."""

    root: Array  # p × rank; rows of columns that are combinations of others are zero
    aliased: tuple[int, ...]
    log_determinant: float  # of A on the kept columns
    condition: float  # of the columns scaled to unit length
    digits: float
    sure: bool  # whether aliased columns are known to be combinations: float64 cannot tell them from near-combinations
    solved: PivotedTriangle  # the triangle of A for columns divided by `size`
    size: Array


def whiten(A: Numbers, rounding: Array | None = None) -> Whitening:
    """The inverse root of a symmetric non-negative matrix, float64 or double-double; dependent columns are named.

    Its elements are wrong by √(rounding_i · rounding_j) at most; by default each is rounded once.
    """
    size = power_of_two(np.sqrt(np.maximum(np.diagonal(to_float64(A)), 0.0)))
    A = A / size / size[:, None]
    nothing = np.empty((len(size), 0))
    if isinstance(A, DoubleDouble):
        solved = pivot_normal(A, DoubleDouble.of(nothing))
    else:
        R, c, _, tolerance = _triangle_of(A, nothing, np.zeros(0))
        solved = pivot_triangle(R, c, tolerance)
    kappa = condition(to_float64(solved.R))
    exact = isinstance(A, DoubleDouble)
    error = EPS**2 * kappa**2 if exact else EPS * kappa**2
    if rounding is not None:
        # Of root' δA root: the largest eigenvalue of a matrix whose elements vary as the products of these shares.
        root = to_float64(solved.inverse_R) / size[solved.kept, None]
        shares = rounding[solved.kept] @ root**2
        error = 2 * math.sqrt(float(shares.max(initial=0.0) * shares.sum()))
    return _whitening(solved, size, kappa, error, exact or not np.diagonal(A)[solved.aliased].any())


def whiten_triangle(R: Array) -> Whitening:
    """The same of R'R, R being a triangle: errors are as the condition of R, not as its square."""
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


def _by_columns(R: Array, c: Array, penalty: Array) -> tuple[PivotedTriangle, Array, Array]:
    """The triangle of R'R + diag(penalty²), the solution for the columns it keeps, and the residuals of c."""
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


def _by_rows(R: Array, c: Array, penalty: Array) -> tuple[PivotedTriangle, Array, Array]:
    """The same for fewer rows than columns, at the price of the rows squared.

    In units of the penalty R is S = L'Q', and (S'S + 1)⁻¹ is Q(LL' + 1)⁻¹Q' on the rows of S. Beyond them it is 1,
    which neither a coefficient nor a covariance ever sees, so that a root of as many columns as rows will do. The
    residuals are (L'L + 1)⁻¹c, which do not cancel however small they are.
    """
    Q, L = map(np.asarray, np.linalg.qr((R / penalty).T))
    one = np.eye(len(L))
    W, V = upper(np.vstack([L.T, one])), upper(np.vstack([L, one]))
    T = inverse(W)
    root, u = Q @ T / penalty[:, None], T.T @ (L @ c)
    solved = PivotedTriangle(W, u, list(range(len(penalty))), [], np.empty((len(W), 0)), root)
    return solved, root @ u, solve_triangular(V, solve_triangular(V, c, transposed=True))


def least_norm(solved: PivotedTriangle, unit: Array) -> Array:
    """The matrix that takes coefficients of the kept columns to those of all columns of the smallest norm."""
    q, kept, aliased = len(unit), solved.kept, solved.aliased
    if 2 * len(kept) < q:  # what rows span is less than what they leave out
        spanned = np.empty((q, len(kept)))
        spanned[kept], spanned[aliased] = to_float64(solved.R).T, to_float64(solved.beside).T
        spanned *= np.maximum(unit / unit.max(), 1 / _HUGE)[:, None]
        basis, _ = np.linalg.qr(spanned)
        return np.asarray(basis @ basis[kept].T)
    null = np.zeros((q, len(aliased)))
    with np.errstate(over="ignore"):
        null[kept] = -solved.combinations * np.clip(unit[aliased] / unit[kept][:, None], 1 / _HUGE, _HUGE)
    null[aliased, np.arange(len(aliased))] = 1.0
    basis, _ = np.linalg.qr(null / np.linalg.norm(null, axis=0))
    keep = np.eye(q)[:, kept]
    return np.asarray(keep - basis @ (basis.T @ keep))


def _triangle_of(A: Array, C: Array, total: Array) -> tuple[Array, Array, Array, float]:
    """(R, c, rest, rank tolerance) of a float64 normal matrix: by Cholesky, or by eigenvalues where it is singular."""
    R: Array
    try:
        R = np.asarray(np.linalg.cholesky(A).T)
        if (np.diagonal(R) ** 2 > 64 * EPS * np.sqrt(len(A))).all():
            c = solve_triangular(R, C, transposed=True) if len(R) else C
            return R, c, np.maximum(total - (c**2).sum(axis=0), 0.0), RANK_TOL
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(A)
    # Directions below the rounding errors of the matrix explain nothing: they are left out.
    sure = values > 64 * EPS * len(A)
    root = np.sqrt(values[sure])[:, None]
    Q, R = map(np.asarray, np.linalg.qr(root * vectors[:, sure].T))
    c = Q.T @ (vectors[:, sure].T @ C / root)
    R = np.where(np.diagonal(A) > 0, R, 0.0)  # a column without any variation has none here either
    return R, c, np.maximum(total - (c**2).sum(axis=0), 0.0), 1e-6


def _lengths(U: Array, T: Array) -> Array:
    """The lengths of the rows of UT'; a T of more rows than columns has a triangle that serves as well.

    Rounding errors are as good as independent, so they add up like lengths: their sum grows as the root of the number
    of columns, where the worst case would grow as its square.
    """
    T = upper(T) if len(T) > T.shape[1] else T
    return np.asarray(np.linalg.norm(U @ T.T, axis=1)[:, None])


def _noise(noise: Array, kept: Array, b: Array) -> tuple[Array, Array]:
    """The errors of the kept columns of D, and of Y − Db, given those of the columns of [D | Y]."""
    h = noise[kept]
    return h, np.asarray(noise[len(noise) - b.shape[1] :] + np.linalg.norm(h[:, None] * b, axis=0))


def _error_of_squares(noise: Array, h: Array, b: Array) -> Array:
    """The error of Σ y² − 2 b'D'Y + b'D'Db, whose three parts have independent ones."""
    y, fitted = noise[len(noise) - b.shape[1] :] ** 2, ((h[:, None] * b) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(y**2 + 4 * y * fitted + 2 * fitted**2))


def _trust(reach: Array, size: Array, error: Array, error_of_squares: float) -> tuple[float, float]:
    """Digits to trust of the weakest coefficient, and of those that matter.

    Coefficients have this size and this error, and could be as large as their reach.
    """
    # Zero up to rounding: it has no digits of its own.
    weakest = _largest_ratio(error, np.where(size > 8 * error, size, np.maximum(size, reach)))
    matter = _largest_ratio(error, np.maximum(size, NEGLIGIBLE * reach))
    return digits_of_error(max(weakest, error_of_squares)), digits_of_error(max(matter, error_of_squares))


def _largest_ratio(error: Array, size: Array) -> float:
    return float(np.max(np.divide(error, size, out=np.zeros_like(error), where=size > 0), initial=0.0))


def digits_of_error(error: float) -> float:
    """Decimal digits that a relative error leaves, at most 16."""
    return min(max(-math.log10(max(error, 1e-16)), 0.0), 16.0)
