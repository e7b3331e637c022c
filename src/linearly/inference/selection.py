"""Conclude from a lasso or elastic net: intervals that account for the selection, and a refit of the chosen terms.

The rows chose the terms, so classical standard errors of the chosen ones are too small. `selective_intervals`
conditions on the choice instead (Lee, Sun, Sun & Taylor 2016). Given the active set and its signs, the least-squares
coefficient of an active term has a normal distribution truncated to an interval, whose ends follow from the summary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import check_level
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.models.base import check_fitted, column_names
from linearly.models.elastic_net import ElasticNet
from linearly.models.kind_checks import is_elastic_net
from linearly.models.linear_regression import LinearRegression
from linearly.table import Table

_MAX_REACH = 1e4  # standard errors: an end beyond 8,192, the largest power of 2 below, is reported as infinite


@single_threaded_blas()
def selective_intervals(model: Any, *, sigma: float | None = None, level: float = 0.95) -> Table:
    """Return tests and intervals of the selected terms that account for their selection.

    Parameters
    ----------
    model : Model or ElasticNet
        A fitted lasso or elastic net of one target with a given `alpha`.
    sigma : float, optional
        Standard deviation of the errors. By default it is estimated by least squares on all columns.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Table
        One row per selected term: ``term, estimate, p_value, conf_low, conf_high``. The estimate is from least squares
        on the selected terms. The interval covers the coefficient of the term in the best linear approximation by the
        selected terms.

    Raises
    ------
    TypeError
        If `alpha` was chosen by cross-validation, which these intervals do not account for.
    ValueError
        If the fit has too few rows to estimate sigma.

    See Also
    --------
    refit_on_support : Least squares on the selected terms, without a correction.

    Notes
    -----
    The intervals require normal errors of equal variance, and rows and `alpha` that were fixed before the target was
    seen. They are then valid in small samples, too, up to the estimate of sigma. They can be very wide if a coefficient
    is just large enough to be selected.

    References
    ----------
    .. [1] J. D. Lee, D. L. Sun, Y. Sun, J. E. Taylor (2016). Exact post-selection inference, with application to the
       lasso. Annals of Statistics 44, 907-927.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> table = ly.selective_intervals(ly.ElasticNet(alpha=300.0).fit(X, y))
    >>> table["term"].tolist()
    ['x2', 'x3', 'x6', 'x8']
    """
    model = unwrap_estimator(model)
    if not isinstance(model, ElasticNet):
        kind = type(model).__name__
        raise TypeError(f"selective_intervals requires an ElasticNet with a fixed alpha, not {kind}. Fit one.")
    check_fitted(model)
    check_level(level)
    if model.coef_.ndim > 1:
        raise ValueError("selective_intervals requires a model with one target. Fit each target separately.")
    loss = QuadraticLoss.of(model.summary_, bool(model.fit_intercept))
    deviation = (_residual_deviation(model) if sigma is None else _checked_sigma(sigma)) / loss.y_unit[0]
    rows = _selected_terms(loss, model, deviation, level)
    columns = zip(*rows, strict=True) if rows else [[]] * 4
    names = column_names(model)
    table = dict(zip(("estimate", "p_value", "conf_low", "conf_high"), map(np.array, columns), strict=True))
    note = "Intervals account for the selection by this alpha. They assume normal errors of equal variance."
    return Table({"term": [str(names[j]) for j in model.active_], **table}, notes=[note])


def _checked_sigma(sigma: Any) -> float:
    if not (isinstance(sigma, (int, float, np.floating)) and 0 < sigma < np.inf):
        raise ValueError(f"sigma must be a positive number, not {sigma!r}.")
    return float(sigma)


def _residual_deviation(model: ElasticNet) -> float:
    """Return the standard deviation of the errors by least squares on all columns."""
    solution = RidgeProblem(0.0, bool(model.fit_intercept)).solve(model.summary_)
    if not np.isfinite(solution.sigma2[0]):
        raise ValueError(
            f"{model.summary_.n} rows and {model.summary_.p} columns leave no degrees of freedom to estimate sigma. "
            "Pass sigma=."
        )
    return float(np.sqrt(solution.sigma2[0]))


def _selected_terms(
    loss: QuadraticLoss, model: ElasticNet, sigma: float, level: float
) -> list[tuple[float, float, float, float]]:
    """Return estimate, p-value and interval of each active term in the user's units."""
    A = model.active_
    if not len(A):
        return []
    lam, mu = loss.penalties(model.penalty_, 0)
    columns = loss.columns(A)
    inverse, penalized = np.linalg.inv(columns[A]), np.linalg.inv(columns[A] + np.diag(mu[A]))
    sign, estimates = np.sign(model.coef_[A]), inverse @ loss.c[A, 0]
    w = penalized @ (loss.c[A, 0] - lam[A] * sign)
    slope, outside = loss.c[:, 0] - columns @ w, np.setdiff1d(np.arange(loss.p), A)
    # The choice is the same as long as all of these stay above 0.
    levels = np.concatenate([sign * w, lam[outside] - slope[outside], lam[outside] + slope[outside]])
    rows = []
    for j, feature in enumerate(A):
        estimate, variance = float(estimates[j]), float(inverse[j, j])
        # X'y moves along this direction as the estimate moves by 1, with the rest of y fixed.
        direction = columns @ inverse[:, j] / variance
        dw = penalized @ direction[A]
        dslope = direction - columns @ dw
        rates = np.concatenate([sign * dw, -dslope[outside], dslope[outside]])
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = -levels / rates
        moving = np.abs(rates) > 1e-12 * np.abs(rates).max(initial=1.0)
        low = float(np.max(reach[moving & (rates > 0)], initial=-np.inf))
        high = float(np.min(reach[moving & (rates < 0)], initial=np.inf))
        error = sigma * np.sqrt(variance)
        law = _TruncatedNormal(estimate, estimate + min(low, 0.0), estimate + max(high, 0.0), error)
        unit = float(loss.y_unit[0] / loss.unit[feature])
        below = law.share_below(0.0)
        ends = (law.mean_with_share((1 + level) / 2), law.mean_with_share((1 - level) / 2))
        rows.append((estimate * unit, 2 * min(below, 1 - below), ends[0] * unit, ends[1] * unit))
    return rows


class _TruncatedNormal(NamedTuple):
    """A value seen from a normal distribution with a known standard deviation, truncated to [low, high]."""

    value: float
    low: float
    high: float
    error: float

    def share_below(self, mean: float) -> float:
        """Return the probability of values up to the one seen, for a mean of the distribution before truncation."""
        a, x, b = ((end - mean) / self.error for end in (self.low, self.value, self.high))
        if a > 0:  # in the upper tail, mirror it: logarithms keep their digits in the lower one
            return 1 - float(np.exp(_log_difference(-x, -b) - _log_difference(-a, -b)))
        return float(np.exp(_log_difference(x, a) - _log_difference(b, a)))

    def mean_with_share(self, share: float) -> float:
        """Return the mean for which the value seen is the quantile of this share, which decreases with the mean."""

        def excess(mean: float) -> float:
            return self.share_below(mean) - share

        reach = 1.0
        while reach < _MAX_REACH:
            low, high = self.value - reach * self.error, self.value + reach * self.error
            if excess(low) > 0 > excess(high):
                return float(brentq(excess, low, high, xtol=1e-12 * self.error))
            reach *= 2
        return np.inf if excess(self.value + _MAX_REACH / 2 * self.error) > 0 else -np.inf


def _log_difference(high: float, low: float) -> float:
    """Return log(Φ(high) − Φ(low))."""
    top, bottom = float(log_ndtr(high)), float(log_ndtr(low))
    return -np.inf if bottom >= top else top + float(np.log1p(-np.exp(bottom - top)))


@single_threaded_blas()
def refit_on_support(model: Any) -> LinearRegression:
    """Return least squares on the columns that a lasso or elastic net selected, from its summary.

    Parameters
    ----------
    model : Model, ElasticNet or ElasticNetCV
        A fitted model of one target with at least one selected column.

    Returns
    -------
    LinearRegression
        Unpenalised fit to the same rows. Its standard errors do not account for the selection: its p-values are too
        small.

    Raises
    ------
    ValueError
        If no column was selected, or if the model has several targets.

    See Also
    --------
    selective_intervals : Intervals that account for the selection.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ly.refit_on_support(ly.ElasticNet(alpha=300.0).fit(X, y)).coef_.round(1).tolist()
    [555.3, 269.7, -194.0, 485.0]
    """
    model = unwrap_estimator(model)
    if not is_elastic_net(model):
        raise TypeError(
            f"refit_on_support requires an ElasticNet or ElasticNetCV, not {type(model).__name__}. Fit one."
        )
    check_fitted(model)
    if model.coef_.ndim > 1 or not len(model.active_):
        raise ValueError(
            "refit_on_support requires one target and at least one coefficient other than 0. Fit with a smaller alpha."
        )
    return LinearRegression(fit_intercept=bool(model.fit_intercept)).from_columns(model, model.active_)
