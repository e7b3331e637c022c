"""Write half the sum of squared residuals as a quadratic in the coefficients, from a summary of the rows.

Columns are divided by powers of two just above their norms, so that all numbers are of size 1 and nothing is rounded by
the change of units. For fewer rows than columns the matrix is never formed: the rows of an R factor give gradients, and
products are computed only for features that may become active.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import ColumnScaling, power_of_two
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor, column_squares
from linearly.algorithm.least_squares.ridge_cv import means
from linearly.algorithm.least_squares.solution import centering_for
from linearly.kernels.double_double import Array, to_float64

Index = NDArray[np.intp]
_MAX_SWEEPS = 200  # of coordinate descent; more take longer than the factorizations that they save
_VANISHED = 64.0  # a sum of squares below this many rounding errors belongs to a constant column


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticLoss:
    """½ w'Sw − c'w + ½ total for each target, in scaled units: w = coefficient · unit / y_unit.

    `S` is p × p, or None with `rows` D such that S = D'D after its columns are divided by `row_unit`. `row_targets` has
    the targets of these rows.
    """

    S: Array | None
    rows: Array | None
    diagonal: Array  # of S
    c: Array  # p × k
    total: Array  # k
    unit: Array  # p, powers of two
    y_unit: Array  # k, powers of two
    mean: Array  # p, in the user's units; zeros without an intercept
    y_mean: Array  # k
    n: int
    weight: float
    row_unit: Array | None = None  # p, powers of two
    row_targets: Array | None = None
    _computed: _ColumnCache = field(default_factory=lambda: _ColumnCache())
    _working: _WorkingColumns = field(default_factory=lambda: _WorkingColumns())

    @staticmethod
    def of(summary: Gram | QRFactor, intercept: bool) -> QuadraticLoss:
        """Return the loss of the rows of a summary, with an intercept that is not penalised or without one."""
        p, mean, y_mean = summary.p, *means(summary)
        if not intercept:
            mean, y_mean = np.zeros_like(mean), np.zeros_like(y_mean)
        own = summary.scaling.scale
        if isinstance(summary, QRFactor):
            R = summary.R[1:] if intercept else summary.rescaled(ColumnScaling(np.zeros_like(own), own)).R
            D, Y = R[:, 1 : 1 + p], R[:, 1 + p :]
            squares, total = column_squares(D), column_squares(Y)
            unit, y_unit = power_of_two(np.sqrt(squares)), power_of_two(np.sqrt(total))
            Y = Y / y_unit
            S, c = None, (D.T @ Y) / unit[:, None]
        else:
            S, c, total = _scaled_moments(summary, intercept)
            D, Y, squares = None, None, np.maximum(np.diagonal(S), 0.0)
            unit, y_unit = power_of_two(np.sqrt(squares)), power_of_two(np.sqrt(np.maximum(total, 0.0)))
            S, c = S / unit / unit[:, None], c / unit[:, None] / y_unit
        vanished = squares <= _VANISHED * summary.rounding[1 : 1 + p]
        return QuadraticLoss(
            S=S,
            rows=D,
            diagonal=np.where(vanished, 0.0, squares / unit**2),
            c=np.where(vanished[:, None], 0.0, c),
            total=total / y_unit**2,
            unit=unit * own[:p],
            y_unit=y_unit * own[p:],
            mean=mean,
            y_mean=y_mean,
            n=summary.n,
            weight=float(to_float64(summary.weight)),
            row_unit=None if D is None else unit,
            row_targets=Y,
        )

    @staticmethod
    def from_products(S: Array, c: Array) -> QuadraticLoss:
        """Return ½ w'Sw − c'w for one target, for a matrix and a vector of any origin. Its total is not known."""
        squares = np.maximum(np.diagonal(S), 0.0)
        unit = power_of_two(np.sqrt(squares))
        size = power_of_two(np.abs(c / unit).max(keepdims=True))
        return QuadraticLoss(
            S=S / unit / unit[:, None],
            rows=None,
            diagonal=squares / unit**2,
            c=(c / unit / size)[:, None],
            total=np.full(1, np.nan),
            unit=unit,
            y_unit=size,
            mean=np.zeros_like(c),
            y_mean=np.zeros(1),
            n=0,
            weight=np.nan,
        )

    @property
    def p(self) -> int:
        """Return the number of features."""
        return len(self.unit)

    def columns(self, features: Index) -> Array:
        """Return some columns of S, p × len(features)."""
        if self.S is not None:
            return self.S[:, features]
        assert self.rows is not None
        assert self.row_unit is not None
        places = self._computed.places(features, self.rows, self.row_unit)
        return np.asarray(self._computed.matrix[:, places]) if len(places) else np.empty((self.p, 0))

    def block(self, features: Index) -> Array:
        """Return the rows and columns of S of some features."""
        if self.S is not None:
            return self.S[np.ix_(features, features)]
        assert self.rows is not None
        assert self.row_unit is not None
        return self._working.block(features, self.rows, self.row_unit)

    def part(self, features: Index) -> QuadraticLoss:
        """Return the loss of some features, the coefficients of the others being 0."""
        return replace(
            self,
            S=self.block(features),
            rows=None,
            row_unit=None,
            row_targets=None,
            diagonal=self.diagonal[features],
            c=self.c[features],
            unit=self.unit[features],
            mean=self.mean[features],
        )

    def gradient(self, w: Array, t: int, features: Index) -> Array:
        """Return c − Sw for target t and coefficients w of some features, the others being 0."""
        if self.S is not None:
            return np.asarray(self.c[:, t] - self.S[:, features] @ w)
        assert self.rows is not None
        assert self.row_unit is not None
        if not len(features):
            return self.c[:, t].copy()
        if 4 * len(features) > self.p:  # copies of their columns would take longer than a product with all rows
            every = np.zeros(self.p)
            every[features] = w / self.row_unit[features]
            fitted = self.rows @ every
        else:
            places = self._working.places(features, self.rows, self.row_unit)
            fitted = self._working.fitted(places, w)
        return np.asarray(self.c[:, t] - (self.rows.T @ fitted) / self.row_unit)

    def descend(
        self, w: Array, t: int, features: Index, lam: Array, mu: Array, tolerance: float
    ) -> tuple[Array, Array]:
        """Return w after sweeps of coordinate descent over some features, and the gradient there, from the rows."""
        assert self.rows is not None
        assert self.row_unit is not None
        assert self.row_targets is not None
        places = self._working.places(features, self.rows, self.row_unit)
        start = w[features]
        moved, residual = kernels.coordinate_descent(
            self._working.columns,
            places,
            self.diagonal[features],
            lam[features],
            mu[features],
            start,
            self.row_targets[:, t] - self._working.fitted(places, start),
            tolerance,
            _MAX_SWEEPS,
        )
        w = w.copy()
        w[features] = moved
        return w, np.asarray((self.rows.T @ residual) / self.row_unit)

    def residual_squares(self, w: Array, t: int, gradient: Array) -> float:
        """Return w'Sw − 2c'w + total for all coefficients w, given their gradient."""
        return float(max(self.total[t] - w @ (self.c[:, t] + gradient), 0.0))

    def coefficients(self, W: Array) -> tuple[Array, Array]:
        """Return coefficients (p × …, the last axis targets) and intercepts in the user's units."""
        shape = (-1,) + (1,) * (W.ndim - 1)
        coef = W / self.unit.reshape(shape) * self.y_unit
        return coef, self.y_mean - np.tensordot(self.mean, coef, 1)

    def penalties(self, penalty: Penalty, t: int) -> tuple[Array, Array]:
        """Return λ and μ of Σ λ|w| + ½ Σ μw² in the units of w."""
        with np.errstate(over="ignore", under="ignore"):
            lam = penalty.alpha * penalty.l1_ratio * penalty.absolute / self.unit / self.y_unit[t]
            mu = penalty.alpha * (1 - penalty.l1_ratio) * penalty.squared / self.unit / self.unit
        return lam, mu


class _ColumnCache:
    """Columns of S = D'D that were needed so far."""

    def __init__(self) -> None:
        self._space: Array = np.empty((0, 0), order="F")
        self._place: dict[int, int] = {}

    @property
    def matrix(self) -> Array:
        """Return all columns so far, in the order in which they were needed."""
        return self._space[:, : len(self._place)]

    def places(self, features: Index, D: Array, unit: Array) -> Index:
        """Return where the columns of some features are in the matrix, after computing those that are new."""
        new, before = _places_of_new(self._place, features), self._space.shape[1]
        if len(new):
            count = len(self._place)
            if count > before:
                self._space = _enlarged(self._space, (D.shape[1], max(count, 2 * before)))
            self._space[:, count - len(new) : count] = (D.T @ (D[:, new] / unit[new])) / unit[:, None]
        return np.array([self._place[j] for j in features.tolist()], dtype=np.intp)


class _WorkingColumns:
    """Columns of D that were needed so far, divided by their units, and products of some of them."""

    def __init__(self) -> None:
        self._space: Array = np.empty((0, 0), order="F")
        self._place: dict[int, int] = {}
        self._products: Array = np.empty((0, 0), order="F")
        self._place_in_products: dict[int, int] = {}

    @property
    def columns(self) -> Array:
        """Return all columns so far, in the order in which they were needed."""
        return self._space[:, : len(self._place)]

    def places(self, features: Index, D: Array, unit: Array) -> Index:
        """Return where the columns of some features are, after copying those that are new."""
        new, before = _places_of_new(self._place, features), self._space.shape[1]
        if len(new):
            count = len(self._place)
            if count > before:
                self._space = _enlarged(self._space, (len(D), max(count, min(2 * before, D.shape[1]))))
            self._space[:, count - len(new) : count] = D[:, new] / unit[new]
        return np.array([self._place[j] for j in features.tolist()], dtype=np.intp)

    def block(self, features: Index, D: Array, unit: Array) -> Array:
        """Return the products of some features, after computing those that are new."""
        new, before = _places_of_new(self._place_in_products, features), len(self._products)
        if len(new):
            places = self.places(np.array(list(self._place_in_products)), D, unit)
            every = self._space[:, places]
            count = every.shape[1]
            if count > before:
                size = max(count, min(2 * before, D.shape[1]))
                self._products = _enlarged(self._products, (size, size))
            added = slice(count - len(new), count)
            products = every.T @ every[:, added]
            self._products[:count, added], self._products[added, :count] = products, products.T
        at = np.array([self._place_in_products[j] for j in features.tolist()], dtype=np.intp)
        return self._products[np.ix_(at, at)]

    def fitted(self, places: Index, w: Array) -> Array:
        """Return the product of the columns at some places with coefficients."""
        every = np.zeros(len(self._place))
        every[places] = w
        return np.asarray(self.columns @ every)


def _places_of_new(place: dict[int, int], features: Index) -> list[int]:
    """Return the features that have no place yet, after giving them the next ones."""
    new = [j for j in features.tolist() if j not in place]
    place.update(zip(new, range(len(place), len(place) + len(new)), strict=True))
    return new


def _enlarged(matrix: Array, shape: tuple[int, int]) -> Array:
    space = np.empty(shape, order="F")
    space[: matrix.shape[0], : matrix.shape[1]] = matrix
    return space


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """α(ρ Σ a|b| + ½(1 − ρ) Σ q b²) with factors a and q for each coefficient b in the user's units."""

    alpha: float
    l1_ratio: float
    absolute: Array
    squared: Array


def _scaled_moments(gram: Gram, intercept: bool) -> tuple[Array, Array, Array]:
    """Return X'X, X'Y and the squares of Y in the scaling of a Gram."""
    if intercept:
        cross = to_float64(gram.centered_crossprod)
        return cross[: gram.p, : gram.p], cross[: gram.p, gram.p :], np.diagonal(cross)[gram.p :]
    A, C, total, _, _ = gram.normal_equations(centering_for(False, False))
    return to_float64(A), to_float64(C), to_float64(total)
