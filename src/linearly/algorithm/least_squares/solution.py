"""Hold the coefficients of least squares and what is known about them, and predict with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.identification import is_estimable
from linearly.algorithm.least_squares.triangular import EPS, product
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, to_float64

INTERPOLATION_TOL = (100 * EPS) ** 2  # residual over total sum of squares of a perfect fit: rounding errors only
MIN_DOF = 1 - 1e-9  # degrees of freedom for a variance, up to rounding; ridge may leave 0.01, where t reaches 1e100

Centering = Literal["centred", "plain", "constant"]


def centering_for(intercept: bool, penalized: bool) -> Centering:
    """Return the design of a fit: X about its mean, X unchanged, or [1 | X] if the intercept is penalised too."""
    if not intercept:
        return "plain"
    return "constant" if penalized else "centred"


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Coefficients of least squares and what is known about them.

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

    def whitened_rows(self, X: Numbers) -> Array:
        """Return u = (1, x) times `inverse_root` for each row x: leverage w·u'u, prediction variance σ² u' shrinkage u.

        The mean is subtracted first, because an offset of 1e9 in a column of spread 1 would cost nine digits. Rows in
        double-double are powers, whose small differences matter, so their products are in double-double too.
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
        """Return fitted values, n × k, computed about the mean as in `whitened_rows`."""
        if not isinstance(X, DoubleDouble):
            return np.asarray(self._about_mean(X) @ self.coef + self.prediction_at_mean)
        coef, intercept = self.extended
        return to_float64(
            product(self._about_mean(X), coef) + (intercept if self.mean is None else self.prediction_at_mean)
        )

    def _about_mean(self, X: Numbers) -> Numbers:
        if self.mean is None or isinstance(X, DoubleDouble):
            return X if self.mean is None else X - self.mean
        return (X - self.mean.high) - self.mean.low

    @property
    def sigma2(self) -> Array:
        """Return the unbiased variance of the errors, RSS / dof (NaN for less than one degree of freedom)."""
        return self.rss / self.dof if self.dof >= MIN_DOF else np.full_like(self.rss, np.nan)
