"""Estimate and test linear combinations of the coefficients of a fitted model.

A combination is a row of numbers, one per coefficient. It is estimable if every solution of the fit gives it the same
value. Other combinations get no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import chdtrc, fdtrc

from linearly.algorithm.least_squares.identification import is_estimable
from linearly.algorithm.least_squares.small_sample import SmallSample
from linearly.algorithm.least_squares.solution import MIN_DOF
from linearly.inference.fitted_terms import check_single_target, logit_terms, require_solution, term_names
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import dof_of_tests
from linearly.kernels.double_double import Array
from linearly.models.base import check_fitted
from linearly.models.kind_checks import is_logistic

if TYPE_CHECKING:
    from linearly.models.logistic_regression import LogisticRegression

_DEPENDENT_TOL = 1e-9  # share of a combination that rounding leaves after those before it are removed


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a model, logit by logit, with their covariance σ² · root @ inner @ root.T.

    Combinations are computed about the means of the columns if the fit was: a column around 1e9 costs no digits then.
    """

    names: tuple[str, ...]  # the terms of one logit, intercept first
    labels: tuple[Any, ...]  # the label of each logit, for three or more classes
    value: Array
    root: Array
    inner: Array | None  # None for the identity
    sigma2: float
    dof: float  # of t and F; infinite for z and χ²
    null: Array | None  # by term: a direction that changes no prediction
    unbounded: NDArray[np.bool_]  # coefficients without a finite estimate
    mean: Array | None  # of the features
    small_sample: SmallSample | None = None  # of HC2, HC3, CR2 and CR3

    @property
    def width(self) -> int:
        """Return the number of coefficients."""
        return len(self.value)

    @property
    def n_logits(self) -> int:
        """Return the number of linear predictors."""
        return len(self.value) // len(self.names)

    @property
    def index(self) -> dict[str, int]:
        """Return the position of each term."""
        return {name: j for j, name in enumerate(self.names)}

    def estimable(self, L: Array) -> NDArray[np.bool_]:
        """Return which combinations have the same value for every solution of the fit."""
        known = ~((L != 0) & self.unbounded).any(axis=1)
        if self.null is not None:
            for part in np.split(L, self.n_logits, axis=1):
                known &= is_estimable(part, part, self.null)
        return np.asarray(known)

    def combine(self, L: Array) -> tuple[Array, Array]:
        """Return combinations of the coefficients, and the rows that their covariance is made of.

        With rows U, the covariance of the combinations is σ² · U @ inner @ U.T. Both are NaN where not estimable, and
        U where a single row or cluster determines the combination, so that its variance is unknown.
        """
        known = self.estimable(L)
        about = L
        if self.mean is not None:
            about = np.column_stack([L[:, 0], L[:, 1:] - L[:, :1] * self.mean])
        value, U = about @ self.value, about @ self.root
        sure = known if self.small_sample is None else known & ~self.small_sample.unknown(U)
        return np.where(known, value, np.nan), np.where(sure[:, None], U, np.nan)

    def t_dof(self, L: Array, U: Array) -> float | Array:
        """Return the degrees of freedom of the t tests of combinations, given their rows.

        They are Satterthwaite's for each combination with HC2, HC3, CR2 and CR3, and those of the model otherwise.
        """
        return self.dof if self.small_sample is None else self.small_sample.dof(L, np.nan_to_num(U))

    def covariance(self, U: Array, V: Array | None = None) -> Array:
        """Return the covariance of combinations, given their rows."""
        V = U if V is None else V
        return np.asarray(self.sigma2 * (U @ V.T if self.inner is None else U @ self.inner @ V.T))

    def std_errors(self, U: Array) -> Array:
        """Return the standard errors of combinations, given their rows."""
        inside = U * U if self.inner is None else (U @ self.inner) * U
        return np.asarray(np.sqrt(self.sigma2 * np.maximum(inside.sum(axis=1), 0.0)))

    def test(self, L: Array, constant: Array | None = None) -> JointTest:
        """Return the Wald test that all combinations are equal to constants (0 by default).

        With HC2, HC3, CR2 and CR3 it is Hotelling's T² with estimated degrees of freedom, as in `glance`.
        """
        value, U = self.combine(L)
        d = value if constant is None else value - constant
        if not np.isfinite(U).all():
            return JointTest(np.nan, np.nan, 0, self.dof)
        kept = self._independent(L, d) if len(L) > 1 else np.arange(1)
        d, U = d[kept], U[kept]
        df = len(kept)
        squares = _quadratic_form(U @ U.T, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.float64(squares) / self.sigma2
        if self.inner is not None:
            statistic = np.float64(_quadratic_form(self.covariance(U), d))
        if self.small_sample is None:
            return JointTest(squares, float(statistic), df, self.dof)
        # Hotelling's T² with estimated degrees of freedom (Tipton and Pustejovsky 2015).
        eta = self.small_sample.hotelling_dof(L[kept], U)
        dof = eta - df + 1
        return JointTest(squares, float(statistic) * dof / eta if dof > 0 else np.nan, df, dof)

    def _independent(self, L: Array, d: Array) -> NDArray[np.intp]:
        """Return the combinations that are not combinations of others; raise if constants contradict each other."""
        size = np.linalg.norm(self.root, axis=1)
        A = L * np.where(size > 0, size, 1.0)
        A = A / np.where(norm := np.linalg.norm(A, axis=1), norm, 1.0)[:, None]
        R, order = qr(A.T, mode="r", pivoting=True)
        rank = int((np.abs(np.diagonal(R)) > _DEPENDENT_TOL).sum())
        kept, rest = np.sort(order[:rank]), order[rank:]
        if len(rest):
            share = np.linalg.lstsq(L[kept].T, L[rest].T, rcond=None)[0].T
            apart = np.abs(share @ d[kept] - d[rest])
            if (apart > 1e-7 * (np.abs(share) @ np.abs(d[kept]) + np.abs(d[rest]))).any():
                raise ValueError(
                    "The hypotheses contradict each other, so no coefficients satisfy all of them. Leave one "
                    "hypothesis out."
                )
        return np.asarray(kept)


@dataclass(frozen=True)
class JointTest:
    """The sum of squares of some combinations in the metric of the fit, their Wald χ², and the degrees of freedom."""

    squares: float
    chi_squared: float
    df: int
    dof: float

    @property
    def statistic(self) -> float:
        """Return F, or χ² for infinite residual degrees of freedom."""
        if self.df == 0:
            return np.nan
        return self.chi_squared if self.dof == np.inf else self.chi_squared / self.df

    @property
    def p_value(self) -> float:
        """Return the p-value; NaN below one residual degree of freedom."""
        if self.df == 0 or self.dof < MIN_DOF:
            return np.nan
        if self.statistic == np.inf:
            return 0.0
        return float(
            chdtrc(self.df, self.statistic) if self.dof == np.inf else fdtrc(self.df, self.dof, self.statistic)
        )


def _quadratic_form(S: Array, d: Array) -> float:
    """Return d' S⁻¹ d, with S scaled to unit diagonal."""
    size = np.sqrt(np.diagonal(S))
    if not (size > 0).all():
        return np.nan if (d[size == 0] == 0).any() else np.inf
    scaled = d / size
    if len(d) == 1:
        return float(scaled[0] ** 2)
    return float(scaled @ np.linalg.lstsq(S / size / size[:, None], scaled, rcond=None)[0])


def coefficients_of(model: Any, what: str) -> Coefficients:
    """Return the coefficients of a fitted least-squares or logistic model of one target."""
    model = unwrap_estimator(model)
    if is_logistic(model):
        return _logistic_coefficients(model, what)
    solution = require_solution(model, "least-squares or logistic model")
    check_single_target(model, what)
    value, root, mean = np.append(solution.intercept, solution.coef[:, 0]), solution.inverse_root, None
    if not solution.has_intercept:
        value = value[1:]
    elif solution.mean is not None:
        mean, value[0] = solution.mean.to_float64(), solution.prediction_at_mean[0]
        root = root.copy()
        root[0, 1:] = 0.0
    classical = getattr(model, "meat_", None) is None
    plain = classical and solution.alpha == 0
    inner = None if plain else solution.shrinkage if classical else model.inner_covariance()[0]
    sigma2 = float(solution.sigma2[0]) if classical else 1.0
    null = solution.null
    return Coefficients(
        term_names(model), (), value, root, inner, sigma2, dof_of_tests(model), null,
        np.zeros(len(value), dtype=bool), mean, getattr(model, "small_sample_", None),
    )  # fmt: skip


def _logistic_coefficients(model: LogisticRegression, what: str) -> Coefficients:
    check_fitted(model)
    names, value = logit_terms(model, what)
    _ = model.covariance_  # raises if the solver formed no covariance
    assert model.inverse_root_ is not None
    labels = tuple(dict.fromkeys(names.get("label", ())))
    unbounded = ~model.identified_terms
    if model.null_direction_ is not None and model.separation_ is None and model.converged_:
        unbounded = unbounded & ~np.tile(model.null_direction_ != 0, len(model.coef_))
    return Coefficients(
        term_names(model), labels, value, model.inverse_root_, model.inner_covariance_, 1.0, dof_of_tests(model),
        model.null_direction_, unbounded, None, getattr(model, "small_sample_", None),
    )  # fmt: skip
