"""Store the coefficients of least squares with their accuracy, and predict with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.identification import is_estimable
from linearly.algorithm.least_squares.triangular import EPS, product
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, to_float64

INTERPOLATION_TOL = (100 * EPS) ** 2  # residual over total sum of squares of a perfect fit: rounding errors only
MAX_FLOAT64_LOSS = 300.0  # factor of rounding errors from which the rows of a double-double fit are in double-double
MIN_DOF = 1 - 1e-9  # degrees of freedom for a variance, up to rounding; ridge may leave 0.01, where t reaches 1e100

Centering = Literal["centred", "plain", "constant"]


def centering_for(intercept: bool, penalized: bool) -> Centering:
    """Return the design of a fit: X about its mean, X unchanged, or [1 | X] if the intercept is penalised too."""
    if not intercept:
        return "plain"
    return "constant" if penalized else "centred"


class Deferred:
    """A frozen dataclass of which some fields are computed when one of them is first read."""

    __slots__ = ("_complete",)
    _complete: Callable[[], dict[str, Any]]

    @classmethod
    def deferred(cls, complete: Callable[[], dict[str, Any]], **known: Any) -> Self:
        """Return an instance with these fields; `complete()` gives the others."""
        self = cls.__new__(cls)
        set_field = object.__setattr__
        set_field(self, "_complete", complete)
        for name, value in known.items():
            set_field(self, name, value)
        return self

    def __getattr__(self, name: str) -> Any:  # of a field that is not set
        if name not in getattr(type(self), "__dataclass_fields__", {}):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        for field, value in self._complete().items():
            object.__setattr__(self, field, value)
        return object.__getattribute__(self, name)


@dataclass(frozen=True, slots=True, eq=False)
class Solution(Deferred):
    """Least-squares coefficients with their rank, accuracy and covariance.

    With M = (X'WX + penalty)⁻¹ = root @ root.T, where root is `inverse_root`, the covariance for target t is
    σ²_t M X'WX M = σ²_t · root @ shrinkage @ root.T. The rows of `inverse_root` are the terms: the intercept, if the
    model has one, then the features.
    """

    coef: Array  # p × k
    intercept: Array  # k
    rank: int  # number of independent columns, without the intercept
    aliased: tuple[int, ...]  # features that are combinations of others (or constant, beside an intercept)
    rss: Array  # k, weighted residual sums of squares
    tss: Array  # k, about the mean, or about zero without an intercept
    dof: float  # n − rank − 1 with an intercept; for ridge the trace of the hat matrix replaces the rank
    inverse_root: Array
    root_low: Array | None  # low part of `inverse_root`, if it was computed in double-double
    shrinkage: Array  # root' X'WX root; the identity without a penalty
    n: int
    weight: float
    log_weight: float
    condition: float  # of the scaled design
    digits: float  # correct decimal digits of the least accurate coefficient and of the residual sum of squares
    digits_of_relevant_coefs: float  # the same, with small coefficients compared to their standard errors
    rank_is_certain: bool  # a float64 Gram cannot distinguish combinations from near-combinations
    alpha: float
    centering: Centering
    mean: DoubleDouble | None  # of the features, if the design was centred
    prediction_at_mean: Array  # k, at the mean of a centred design, otherwise at zero
    extended: tuple[DoubleDouble, DoubleDouble]  # coefficients and intercept before rounding to float64
    null: Array | None = None  # a generic direction of the null space, by term; None at full rank
    error_digits: float | None = None  # correct decimal digits of the least accurate standard error
    strict_digits: float | None = None  # as `digits`, without coefficients below 1e-4 of what they could be
    is_far: bool | None = None  # whether b + x'w is a small difference of large numbers; None if not computed

    is_clearly_accurate: bool = False  # whether the digits are certain to be enough; they may be computed later

    @property
    def is_ordinary(self) -> bool:
        """Return whether all numbers are known to be finite, with squares that neither over- nor underflow."""
        return self.is_far is not None

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Return which terms the rows determine. The others have the coefficients of smallest norm."""
        return np.ones(len(self.inverse_root), dtype=bool) if self.null is None else self.null == 0

    def estimable(self, X: Numbers) -> NDArray[np.bool_]:
        """Return at which rows every solution of the normal equations predicts the same."""
        if self.null is None:
            return np.ones(len(X), dtype=bool)
        first = int(self.has_intercept)
        constant = float(self.null[0]) if self.centering == "constant" else 0.0
        return is_estimable(to_float64(X), to_float64(self._about_mean(X)), self.null[first:], constant)

    @property
    def has_intercept(self) -> bool:
        """Return whether the first term is the intercept."""
        return len(self.inverse_root) > len(self.coef)

    @property
    def is_delicate(self) -> bool:
        """Return whether rows in float64 have whitened values or residuals with few digits."""
        return self.condition > MAX_FLOAT64_LOSS or bool((self.rss < self.tss / MAX_FLOAT64_LOSS**2).any())

    @property
    def rows_are_extended(self) -> bool:
        """Return whether rows in float64 are multiplied in double-double: if the fit was, and they are delicate."""
        return self.root_low is not None and self.is_delicate

    def whitened_rows(self, X: Numbers) -> Array:
        """Return u = (1, x) times `inverse_root` for each row x: leverage w·u'u, prediction variance σ² u' shrinkage u.

        The mean is subtracted first, because an offset of 1e9 in a column of spread 1 would cost nine digits. Rows in
        double-double are powers, whose small differences matter, so their products are in double-double too.
        """
        X = self._in_precision(X)
        root = (
            self.inverse_root
            if self.root_low is None or not isinstance(X, DoubleDouble)
            else DoubleDouble(self.inverse_root, self.root_low)
        )
        if self.mean is None:
            if not self.has_intercept:
                return to_float64(product(X, root))
            return to_float64(product(X, root[1:]) + root[0])
        u = np.empty((len(X), self.inverse_root.shape[1]))
        u[:, 0] = self.inverse_root[0, 0]
        u[:, 1:] = to_float64(product(self._about_mean(X), root[1:, 1:]))
        return u

    def predict(self, X: Numbers) -> Array:
        """Return fitted values, n × k, computed about the mean as in `whitened_rows`."""
        return to_float64(self._fitted(X))

    def residuals(self, X: Numbers, Y: Array) -> Array:
        """Return Y minus the fitted values, n × k. The difference is rounded once if those are in double-double."""
        return to_float64(Y - self._fitted(self._in_precision(X)))

    def rounding_of_residuals(self, X: Numbers, Y: Array, residuals: Array) -> Array:
        """Return the size of the rounding errors of residuals, with those of whitened rows as a share of them."""
        if isinstance(X, DoubleDouble) or self.rows_are_extended:
            return EPS * np.abs(residuals)
        # The errors of the products are nearly independent, so they add up to the length of the largest.
        reached = np.abs(self._about_mean(X)) @ np.abs(self.coef) / np.sqrt(max(len(self.coef), 1))
        return np.asarray(EPS * (np.abs(Y) + reached + self.condition * np.abs(residuals)))

    def _fitted(self, X: Numbers) -> Numbers:
        if not isinstance(X, DoubleDouble):
            return self._about_mean(X) @ self.coef + self.prediction_at_mean
        coef, intercept = self.extended
        if self.mean is None or self.root_low is not None:
            return product(X, coef) + intercept
        return product(self._about_mean(X), coef) + self.prediction_at_mean

    def _in_precision(self, X: Numbers) -> Numbers:
        return DoubleDouble.of(X) if self.rows_are_extended else X

    def _about_mean(self, X: Numbers) -> Numbers:
        if self.mean is None or isinstance(X, DoubleDouble):
            return X if self.mean is None else X - self.mean
        return (X - self.mean.high) - self.mean.low

    @property
    def sigma2(self) -> Array:
        """Return the unbiased variance of the errors, RSS / dof (NaN for less than one degree of freedom)."""
        return self.rss / self.dof if self.dof >= MIN_DOF else np.full_like(self.rss, np.nan)
