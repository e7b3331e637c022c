"""Test and interval-estimate the coefficients of a logistic regression by its likelihood, and report odds ratios."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.logistic.firth import firth
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import newton
from linearly.dataset.rows.block import Rows, as_frame, is_frame, is_rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.rows.views import MappedRows
from linearly.exceptions import SeparationWarning
from linearly.inference.fitted_rows import check_labelled_rows_of_fit
from linearly.inference.tidy import check_level, check_not_multilabel, count_parameters, logit_terms, tidy
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.matrices import dense_float64
from linearly.models.base import column_names
from linearly.models.logistic_regression import LogisticRegression
from linearly.table import Table

Array = NDArray[np.float64]


@single_threaded_blas()
def odds_ratios(model: Any, *, level: float = 0.95) -> Table:
    """Return the factor by which the odds change per unit of each feature, with confidence intervals.

    Parameters
    ----------
    model : Model or LogisticRegression
        A fitted logistic regression.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Table
        Columns ``term, odds_ratio, conf_low, conf_high``, without the intercept: the exponentials of coefficients and
        Wald intervals. Three or more classes add ``label``, whose odds against the reference class are meant.

    Raises
    ------
    TypeError
        If the model is not a logistic regression.
    ValueError
        If `level` is not between 0 and 1.

    See Also
    --------
    tidy : The coefficients themselves, with tests.
    profile_intervals : Better intervals in small samples.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1])
    >>> ly.odds_ratios(model)["odds_ratio"].round(2)
    array([3.37])
    """
    model = unwrap_estimator(model)
    _check_logistic(model)
    table = tidy(model, level=level)
    first = int(model.fit_intercept)
    features = [i for i in range(len(table)) if i % (first + model.n_features_in_) >= first]
    columns: dict[str, Any] = {name: table[name][features] for name in ("label", "term") if name in table.columns}
    with np.errstate(over="ignore"):
        for name, source in (("odds_ratio", "estimate"), ("conf_low", "conf_low"), ("conf_high", "conf_high")):
            columns[name] = np.exp(table[source][features])
    return Table(columns, notes=table.notes)


@single_threaded_blas()
def likelihood_ratio_tests(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Return the likelihood-ratio test of each feature of a logistic regression: it is left out, and the rest refitted.

    Parameters
    ----------
    model : Model or LogisticRegression
        A logistic regression, fitted without penalty.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        The rows of the fit. For a `Model`, the data that it was fitted to, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        The labels of the fit.
    sample_weight : array-like of shape (n_rows,), optional
        The weights of the fit, if it had any.

    Returns
    -------
    Table
        Columns ``term, statistic, df, p_value``; the statistic is twice the fall of the log likelihood. Levels of a
        category are left out one by one. A feature that is a combination of others has NaN.

    Raises
    ------
    TypeError
        If the model is not a logistic regression.
    ValueError
        If the fit was penalised, or if the rows or weights are not those of the fit.

    See Also
    --------
    compare_models : The same test of several terms at once, for two fitted models.

    Notes
    -----
    If the classes are separable, the supremum of the likelihood is used, so that terms without a finite estimate can
    be tested too.

    Examples
    --------
    >>> import linearly as ly
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1]
    >>> ly.likelihood_ratio_tests(ly.LogisticRegression().fit(X, y), X, y)["p_value"].round(3)
    array([0.067])
    """
    model, X = unwrap_model(model, X, y, sample_weight, "likelihood_ratio_tests")
    _check_logistic(model)
    check_unpenalized(model, "likelihood_ratio_tests")
    names = column_names(model)
    check_labelled_rows_of_fit(model, X, y, sample_weight, "likelihood_ratio_tests")
    statistics, df = [], []
    classical = clone(model).set_params(covariance="classical")  # the likelihood does not depend on it
    for j in range(len(names)):
        others = [i for i in range(len(names)) if i != j]
        smaller, parameters = model.null_log_likelihood_, int(model.fit_intercept) * (len(model.classes_) - 1)
        if others:
            with warnings.catch_warnings():  # the fit warned of both, and the test allows for them
                warnings.simplefilter("ignore", SeparationWarning)
                warnings.simplefilter("ignore", np.exceptions.RankWarning)
                small = clone(classical).fit(_select_columns(X, others), y, sample_weight)
            smaller, parameters = largest_log_likelihood(small), count_parameters(small)
        df.append(count_parameters(model) - parameters)
        statistics.append(likelihood_ratio(largest_log_likelihood(model), smaller) if df[-1] > 0 else np.nan)
    p_value = chdtrc(np.maximum(df, 1), np.array(statistics))
    return Table({"term": list(names), "statistic": np.array(statistics), "df": np.array(df), "p_value": p_value})


@single_threaded_blas()
def profile_intervals(model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, level: float = 0.95) -> Table:
    """Return profile-likelihood intervals of the coefficients of a logistic regression.

    Parameters
    ----------
    model : Model or LogisticRegression
        A logistic regression, fitted without ridge penalty. With Firth's bias reduction the intervals follow the
        penalised likelihood, which gives intervals for separated classes too.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        The rows of the fit. For a `Model`, the data that it was fitted to, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        The labels of the fit.
    sample_weight : array-like of shape (n_rows,), optional
        The weights of the fit, if it had any.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Table
        Columns ``term, estimate, conf_low, conf_high``, and ``label`` for three or more classes. An end is infinite if
        the likelihood never falls far enough. It is NaN if rounding alone moves the likelihood by more, as for the
        intercept of columns far from zero, and for terms that the rows do not determine.

    Raises
    ------
    TypeError
        If the model is not a logistic regression.
    ValueError
        If the fit was penalised or did not reach a maximum, or if the rows or weights are not those of the fit.

    See Also
    --------
    tidy : Wald intervals, which are symmetric and cost nothing.

    Notes
    -----
    An interval holds the values at which the likelihood, maximised over the other coefficients, is below its maximum
    by less than half a chi-squared quantile. It is not symmetric, and in small samples better than Wald's. Each end
    takes several refits with one coefficient fixed.

    References
    ----------
    .. [1] Venzon, Moolgavkar (1988), A Method for Computing Profile-Likelihood-Based Confidence Intervals.
    .. [2] Heinze, Schemper (2002), A solution to the problem of separation in logistic regression.

    Examples
    --------
    >>> import linearly as ly
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1]
    >>> table = ly.profile_intervals(ly.LogisticRegression().fit(X, y), X, y)
    >>> table["conf_low"].round(2), table["conf_high"].round(2)
    (array([-11.14,  -0.07]), array([0.64, 4.16]))
    """
    model, X = unwrap_model(model, X, y, sample_weight, "profile_intervals")
    _check_logistic(model)
    check_not_multilabel(model, "profile_intervals")
    if model.alpha > 0:
        raise ValueError("profile_intervals needs a likelihood without a ridge penalty: alpha=0.")
    if model.separation_ is not None or not model.converged_:
        raise ValueError(
            "profile_intervals starts from a maximum of the likelihood, and this fit did not reach one"
            + (", because its classes are separable" if model.separation_ is not None else "")
            + '. Fit with bias_reduction="firth" first.'
        )
    check_level(level)
    rows = check_labelled_rows_of_fit(model, X, y, sample_weight, "profile_intervals")
    scaling = ColumnScaling.of(next(iter(rows)), None)
    first, unit = int(model.fit_intercept), scaling.scale
    reference = int(np.flatnonzero(model.classes_ == model.reference_)[0])
    names, estimate = logit_terms(model)
    error = np.sqrt(np.diagonal(model.covariance_))
    q = first + len(unit)
    size = np.r_[np.ones(first), unit]
    B = estimate.reshape(-1, q).T * size[:, None]
    # The intercept is the logit at zero. The slopes do not depend on the origin, and are best computed among the rows.
    near = scaling if first else ColumnScaling(0 * unit, unit)
    moved = B.copy()
    moved[:first] += (near.shift / unit) @ B[first:]
    starts = [(ColumnScaling(0 * unit, unit), B)] * first + [(near, moved)] * len(unit)
    limit = float(chdtri(1, 1 - level)) / 2
    low, high = np.full(len(estimate), np.nan), np.full(len(estimate), np.nan)
    penalized = model.bias_reduction == "firth"
    best = -model.log_likelihood_
    if penalized:  # the same in both scalings, between which the information keeps its determinant
        objective = Logistic(len(model.classes_), reference, near, model.fit_intercept)
        best = _smallest_loss(rows, objective, penalized)(moved)[0]
    for at in np.flatnonzero(error > 0).tolist():  # terms that the rows do not determine have no standard error
        i, a = at % q, at // q
        objective = Logistic(len(model.classes_), reference, starts[i][0], model.fit_intercept)
        smallest = _smallest_loss(rows, objective, penalized, (i, a))
        for ends, sign in ((low, -1.0), (high, 1.0)):
            ends[at] = _profile_end(smallest, starts[i][1], (i, a), sign * error[at] * size[i], best + limit)
        low[at], high[at] = low[at] / size[i], high[at] / size[i]
    return Table({**names, "estimate": estimate, "conf_low": low, "conf_high": high})


def _smallest_loss(
    rows: Rows, objective: Logistic, penalized: bool, fixed: tuple[int, int] | None = None
) -> Callable[[Array], tuple[float, Array]]:
    """Return a function of starting coefficients: the smallest loss with one of them fixed, and where it is."""

    def evaluate(B: Array, hessian: bool) -> LossDerivatives:
        return rows.reduce(objective.evaluator(B, hessian))

    def smallest(B: Array) -> tuple[float, Array]:
        if penalized:
            found = firth(rows, objective, evaluate, B, fixed)
            return float(found.history.loss[-1]) if found.converged else np.nan, found.B
        found = newton(evaluate, B, fixed=fixed, stop_when_separated=False)
        return found.last.loss, found.B

    return smallest


def _profile_end(
    smallest: Callable[[Array], tuple[float, Array]], B: Array, at: tuple[int, int], error: float, limit: float
) -> float:
    known = [(float(B[at]), B)]  # values, each with the best coefficients beside it

    def excess_loss(value: float) -> float:
        # The others move nearly on a line. A penalised likelihood may have several peaks; this starts near the one of
        # the estimates.
        (near, start), *rest = sorted(known, key=lambda pair: abs(pair[0] - value))
        other = next((pair for pair in rest if pair[0] != near), None)
        start = start if other is None else start + (other[1] - start) * ((value - near) / (other[0] - near))
        start = start.copy()
        start[at] = value
        loss, best = smallest(start)
        known.append((value, best))
        if np.isnan(loss):
            raise ArithmeticError("The search with this coefficient held did not end at a maximum.")
        return loss - limit

    try:
        return _first_zero(excess_loss, known[0][0], error)
    except ArithmeticError:
        return float("nan")


def _first_zero(excess_loss: Callable[[float], float], inner: float, error: float) -> float:
    """Return where a function that is negative at `inner` becomes positive: infinity if never, NaN if not negative."""
    outer = inner + 1.5 * error
    if not excess_loss(inner) < 0:
        return float("nan")
    if not excess_loss(inner + 0.1 * error) < 0:
        outer = inner + 0.1 * error
    for _ in range(60):
        if excess_loss(outer) > 0:
            return float(brentq(excess_loss, inner, outer, xtol=1e-12 + 1e-10 * abs(error), rtol=1e-12))
        inner, outer = outer, outer + 1.5 * error
    return float(np.inf * np.sign(error))


def _check_logistic(model: Any) -> None:
    if not isinstance(model, LogisticRegression):
        raise TypeError(f"A fitted LogisticRegression is needed, not {type(model).__name__}.")
    check_is_fitted(model)


def largest_log_likelihood(model: LogisticRegression) -> float:
    """Return the supremum of the log likelihood: 0 if the classes are separable, though nothing reaches it."""
    separable = model.separation_ is not None and model.separation_.verdict == "separable"
    return 0.0 if separable else model.log_likelihood_


def _select_columns(X: Any, chosen: list[int]) -> Any:
    if is_rows(X):
        return _SelectedColumns(X, chosen)
    if is_frame(X):
        return as_frame(X)[:, chosen].to_native()
    return X[:, chosen] if hasattr(X, "shape") else np.asarray(X)[:, chosen]


class _SelectedColumns(MappedRows):
    """The same rows with some of their columns."""

    def __init__(self, rows: Rows, chosen: list[int]) -> None:
        names = tuple(rows.names[j] for j in chosen)
        super().__init__(rows, lambda block: replace(block, X=dense_float64(block.X)[:, chosen], names=names))
        self.names, self.classes = names, rows.classes


def likelihood_ratio(larger: float, smaller: float) -> float:
    """Return twice the difference of the log likelihoods of two nested models, at least 0."""
    statistic = 2 * (larger - smaller)
    if statistic < -1e-6 * max(abs(larger), abs(smaller)):
        raise ValueError(
            f"The smaller model fits better (log likelihood {smaller:.6g} against {larger:.6g}), which none that is "
            'nested does. Pass the rows and weights of the fit, or fit with solver="newton".'
        )
    return max(statistic, 0.0)


def check_unpenalized(model: LogisticRegression, what: str) -> None:
    """Raise ValueError if a fit did not maximise the likelihood itself."""
    check_not_multilabel(model, what)
    if model.alpha > 0 or model.bias_reduction is not None:
        raise ValueError(f"{what} needs a plain maximum likelihood fit: alpha=0 and no bias_reduction.")
