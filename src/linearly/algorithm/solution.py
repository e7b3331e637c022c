"""From a summary to coefficients and what is known about them.

A `Problem` is least squares in columns scaled to about unit length, the only form in which rank and condition mean
anything. It is solved by a triangle, in float64 or in double-double, and read back in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from linearly.algorithm.gauge import power_of_two
from linearly.algorithm.triangular import (
    DEPENDENT,
    Numbers,
    Pivoted,
    condition,
    inverse,
    pivot_normal,
    pivot_triangle,
    product,
    rounded,
    substitute,
    upper,
)
from linearly.kernels.doubled import Array, Doubled

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Coefficients of least squares and what is known about them; covariance of target t = σ²_t · root @ root.T.

    Rows of `root` are the intercept, if there is one, then the features.
    """

    coef: Array  # p × k
    intercept: Array  # k
    rank: int  # independent columns, the intercept not counted
    aliased: tuple[int, ...]  # features that are combinations of others (or constant, beside an intercept)
    rss: Array  # k, weighted residual sums of squares
    tss: Array  # k, about the mean, or about zero without an intercept
    dof: float  # n − rank − 1 with an intercept; for ridge the trace of the hat matrix takes the place of the rank
    root: Array
    n: int
    weight: float
    log_weight: float
    condition: float  # of the scaled design
    digits: float  # decimal digits to trust in the coefficients and in the residual sum of squares
    alpha: float
    mean: Doubled | None  # of the features, where the design was centred
    exact: tuple[Doubled, Doubled]  # coefficients and intercept before rounding to float64

    @property
    def has_intercept(self) -> bool:
        """Whether `root` has a row for the intercept."""
        return len(self.root) > len(self.coef)

    def coordinates(self, X: Array) -> Array:
        """Rows x as u with leverage w·u'u and prediction variance σ² u'u: (1, x) times `root`, about the mean.

        About the mean, because an offset of 1e9 in a column of spread 1 would cost nine digits.
        """
        if self.mean is None:
            return np.asarray(X @ self.root if not self.has_intercept else self.root[0] + X @ self.root[1:])
        u = np.empty((len(X), self.root.shape[1]))
        u[:, 0] = self.root[0, 0]
        u[:, 1:] = ((X - self.mean.high) - self.mean.low) @ self.root[1:, 1:]
        return u

    def predict(self, X: Array) -> Array:
        """Fitted values, n × k."""
        return np.asarray(X @ self.coef + self.intercept)

    @property
    def sigma2(self) -> Array:
        """The unbiased variance of the errors, RSS / dof (NaN where no degree of freedom is left)."""
        return self.rss / self.dof if self.dof > 0 else np.full_like(self.rss, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Minimise ‖Y − D b‖² + alpha ‖coefficients‖² for a design D of q columns.

    D is X about its mean ("centred"), X as it is ("plain"), or [1 | X] with the intercept a column like the others
    ("constant", for a penalised intercept).
    """

    form: Literal["centred", "plain", "constant"]
    n: int
    weight: Numbers
    log_weight: float
    unit: Array  # of the columns of D
    y_unit: Array
    mean: Numbers  # of the features in the user's units, for a centred design
    y_mean: Numbers
    alpha: float

    def by_triangle(self, R: Array, c: Array, rest: Array) -> Solution:
        """Solve with D'D = R'R, D'Y = R'c and sums of squares `rest` beyond them, from a QR factorisation."""
        size = power_of_two(np.linalg.norm(R, axis=0))
        y_size = power_of_two(np.sqrt(rest + (c**2).sum(axis=0)))
        solved, b, rss, total = self._least_squares(R / size, c / y_size, rest / y_size**2, size, DEPENDENT)
        kappa = condition(solved.R)
        fitted = np.sqrt((solved.c**2).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            slant = np.max(np.where(rss > 0, np.sqrt(rss) / fitted, 0.0), initial=0.0)
        # Wedin: the condition enters squared in proportion to the residual. A residual is known to EPS of its target.
        error = EPS * max(kappa + kappa**2 * min(slant, 1.0), 1 / np.sqrt(_smallest_share(rss, total)))
        return self._read(solved, b, rss, total, R / size, size, y_size, kappa, _digits(error))

    def by_normal(self, A: Array, C: Array, total: Array, *, spread: float = 1.0) -> Solution:
        """Solve with D'D = A, D'Y = C, Σ y² = total in float64; `spread` is what centring cost, as a factor."""
        size, y_size = _sizes(A, total)
        A, C, total = A / size / size[:, None], C / size[:, None] / y_size, total / y_size**2
        R, c, rest, tolerance = _triangle_of(A, C, total)
        solved, b, rss, _ = self._least_squares(R, c, rest, size, tolerance)
        kappa = condition(solved.R)
        error = EPS * spread * max(kappa**2, 1 / _smallest_share(rss, total))
        return self._read(solved, b, rss, total, R, size, y_size, kappa, _digits(error))

    def by_exact_normal(self, A: Doubled, C: Doubled, total: Doubled) -> Solution:
        """The same in double-double."""
        size, y_size = _sizes(rounded(A), rounded(total))
        A, C, total = A / size / size[:, None], C / size[:, None] / y_size, total / y_size**2
        plain = pivot_normal(A, C)
        solved = pivot_normal(A + np.diag(self._penalty(size)), C) if self.alpha > 0 else plain
        b = substitute(solved.R, solved.c)
        kept = solved.kept
        rss = total - (b * (C[kept] * 2.0 - product(A[kept[:, None], kept], b))).sum(axis=0)
        R = Doubled.of(np.zeros((len(plain.kept), len(size))))
        R.high[:, plain.kept], R.low[:, plain.kept] = plain.R.high, plain.R.low
        kappa = condition(rounded(solved.R))
        error = max(EPS, EPS**2 * kappa**2)
        return self._read(
            solved, b, np.maximum(rounded(rss), 0.0), rounded(total), R, size, y_size, kappa, _digits(error)
        )

    def _penalty(self, size: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(self.alpha / (self.unit * size) ** 2)

    def _least_squares(
        self, R: Array, c: Array, rest: Array, size: Array, tolerance: float
    ) -> tuple[Pivoted, Array, Array, Array]:
        q = R.shape[1]
        solved = pivot_triangle(R, c, tolerance)
        if self.alpha > 0:
            penalty = np.diag(np.sqrt(self._penalty(size)))
            stacked = upper(np.block([[R, c], [penalty, np.zeros_like(c)]]))
            solved = pivot_triangle(stacked[:q, :q], stacked[:q, q:], DEPENDENT)
        b = substitute(solved.R, solved.c) if len(solved.kept) else solved.c
        rss = rest + ((c - R[:, solved.kept] @ b) ** 2).sum(axis=0)
        return solved, b, rss, rest + (c**2).sum(axis=0)

    def _read(
        self,
        solved: Pivoted,
        b: Numbers,
        rss: Array,
        total: Array,
        R: Numbers,
        size: Array,
        y_size: Array,
        kappa: float,
        digits: float,
    ) -> Solution:
        kept, unit = solved.kept, 1.0 / (self.unit * size)
        root, effective = inverse(solved.R), float(len(kept))
        if self.alpha > 0:
            # Cov = σ² M D'D M with M = (D'D + penalty)⁻¹, so its root is M R'; M D'D has the trace of the hat matrix.
            root = product(product(root, root.T), R[:, kept].T)
            effective = float((rounded(root) * rounded(R[:, kept].T)).sum())
        coef = b * unit[kept, None] * (self.y_unit * y_size)
        root = root * unit[kept, None]
        if len(solved.aliased):
            spread = _least_norm(solved, unit)
            coef, root = spread @ rounded(coef), spread @ rounded(root)
        if self.form == "centred":
            intercept = self.y_mean - product(self.mean[None, :], Doubled.of(coef))[0]
            top = np.hstack([[[1 / np.sqrt(rounded(self.weight))]], -rounded(product(_like(self.mean, root)[None, :], root))])
            root = np.vstack([top, np.hstack([np.zeros((len(unit), 1)), rounded(root)])])
        elif self.form == "constant":
            intercept, coef = Doubled.of(coef)[0], coef[1:]
        else:
            intercept = Doubled.of(np.zeros(len(y_size)))
        constant = int(self.form == "constant")
        return Solution(
            coef=rounded(coef),
            intercept=rounded(intercept),
            rank=len(kept) - constant,
            aliased=tuple(int(j) - constant for j in solved.aliased if j >= constant),
            rss=rss * (self.y_unit * y_size) ** 2,
            tss=total * (self.y_unit * y_size) ** 2,
            dof=self.n - effective - int(self.form == "centred"),
            root=rounded(root),
            n=self.n,
            weight=float(rounded(self.weight)),
            log_weight=self.log_weight,
            condition=kappa,
            digits=digits,
            alpha=self.alpha,
            mean=Doubled.of(self.mean) if self.form == "centred" else None,
            exact=(Doubled.of(coef), Doubled.of(intercept)),
        )


def _least_norm(solved: Pivoted, unit: Array) -> Array:
    """The matrix that takes coefficients of the kept columns to those of all columns of the smallest norm."""
    q, kept, aliased = len(unit), solved.kept, solved.aliased
    null = np.zeros((q, len(aliased)))
    null[kept] = -solved.combinations * (unit[kept][:, None] / unit[aliased])
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
            c = substitute(R, C, transposed=True) if len(R) else C
            return R, c, np.maximum(total - (c**2).sum(axis=0), 0.0), DEPENDENT
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(A)
    # Directions below the rounding errors of the matrix explain nothing: they are left out.
    sure = values > 64 * EPS * len(A)
    root = np.sqrt(values[sure])[:, None]
    Q, R = map(np.asarray, np.linalg.qr(np.vstack([root * vectors[:, sure].T, np.zeros(((~sure).sum(), len(A)))])))
    c = Q[: sure.sum()].T @ (vectors[:, sure].T @ C / root)
    return R, c, np.maximum(total - (c**2).sum(axis=0), 0.0), 1e-6


def _sizes(A: Array, total: Array) -> tuple[Array, Array]:
    return power_of_two(np.sqrt(np.maximum(np.diagonal(A), 0.0))), power_of_two(np.sqrt(np.maximum(total, 0.0)))


def _smallest_share(rss: Array, total: Array) -> float:
    shares = rss[total > 0] / total[total > 0]
    return max(float(np.min(shares, initial=1.0)), 1e-300)


def _like(a: Doubled, b: Numbers) -> Numbers:
    return a if isinstance(b, Doubled) else a.rounded()


def _digits(error: float) -> float:
    return float(np.clip(-np.log10(max(error, 1e-16)), 0.0, 16.0))
