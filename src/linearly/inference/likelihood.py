"""Test and interval-estimate the coefficients of a logistic regression by its likelihood, and report odds ratios."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc, chdtri

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.logistic.firth import firth
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import newton
from linearly.dataset.rows.block import Rows, as_frame, is_frame, is_rows
from linearly.dataset.rows.views import MappedRows
from linearly.exceptions import SeparationWarning
from linearly.inference.bartlett import bartlett_factor, is_correctable
from linearly.inference.fitted_rows import check_labelled_rows_of_fit
from linearly.inference.fitted_terms import check_not_multilabel, count_parameters, logit_terms
from linearly.inference.tidy import tidy
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.inference.wald_tests import check_level
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64
from linearly.models.base import check_fitted, column_names
from linearly.models.kind_checks import is_logistic
from linearly.models.sklearn_bases import clone
from linearly.table import Table

if TYPE_CHECKING:
    from linearly.models.logistic_regression import LogisticRegression

MIN_ROWS_PER_PARAMETER = 20  # for a likelihood-ratio test without correction


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
        Wald intervals. Three or more classes add ``label``; odds are against the reference class.

    Raises
    ------
    TypeError
        If the model is not a logistic regression.
    ValueError
        If `level` is not between 0 and 1.

    See Also
    --------
    tidy : The coefficients themselves, with tests.
    profile_intervals : More accurate intervals in small samples.

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
    """Return the likelihood-ratio test of each feature of a logistic regression, by refitting without the feature.

    Parameters
    ----------
    model : Model or LogisticRegression
        A logistic regression, fitted without penalty.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        The fitted rows. For a `Model`, the data that it was fitted to, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        The fitted labels.
    sample_weight : array-like of shape (n_rows,), optional
        The weights used in the fit, if any.

    Returns
    -------
    Table
        Columns ``term, statistic, df, correction, p_value``; the statistic is twice the decrease in log-likelihood.
        Levels of a category are left out one by one. A feature that is a linear combination of others has NaN.

    Raises
    ------
    TypeError
        If the model is not a logistic regression.
    ValueError
        If the fit was penalised, or if the rows or weights differ from the fitted ones.

    See Also
    --------
    compare_models : The same test for several terms at once, from two fitted models.

    Notes
    -----
    If the classes are separable, the supremum of the likelihood is used, so that terms without a finite estimate can
    be tested too.

    The statistic divided by ``correction``, Bartlett's factor, is compared with a chi-squared distribution. The factor
    is computed for two labels and at most 32 parameters, if there are fewer than 100 rows per parameter. With 100 rows
    and 16 features, the test at the 5% level rejects a true null hypothesis in 6 to 8% of samples without it. With it,
    the share is 4 to 5%. The factor is 1 if the classes are separable. If it is 1 with few rows, a note states the
    limit.

    References
    ----------
    .. [1] Lawley (1956), A General Method for Approximating to the Distribution of Likelihood Ratio Criteria.
    .. [2] Cordeiro (1983), Improved Likelihood Ratio Statistics for Generalized Linear Models.

    Examples
    --------
    >>> import linearly as ly
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1]
    >>> ly.likelihood_ratio_tests(ly.LogisticRegression().fit(X, y), X, y)["p_value"].round(3)
    array([0.109])
    """
    model, X = unwrap_model(model, X, y, sample_weight, "likelihood_ratio_tests")
    _check_logistic(model)
    check_unpenalized(model, "likelihood_ratio_tests")
    names = column_names(model)
    rows = check_labelled_rows_of_fit(model, X, y, sample_weight, "likelihood_ratio_tests")
    statistics, df, factors = [], [], []
    corrected = is_correctable(model.n_rows_, count_parameters(model), len(model.classes_))
    corrected &= model.separation_ is None  # at the limit of a separable fit the information that it needs is 0
    classical = clone(model).set_params(covariance="classical")  # the likelihood does not depend on it
    for j in range(len(names)):
        others = [i for i in range(len(names)) if i != j]
        smaller, parameters = model.null_log_likelihood_, int(model.fit_intercept) * (len(model.classes_) - 1)
        small = None
        if others:
            with warnings.catch_warnings():  # the fit warned of both, and the test allows for them
                warnings.simplefilter("ignore", SeparationWarning)
                warnings.simplefilter("ignore", np.exceptions.RankWarning)
                small = clone(classical).fit(_select_columns(X, others), y, sample_weight)
            smaller, parameters = largest_log_likelihood(small), count_parameters(small)
        df.append(count_parameters(model) - parameters)
        statistics.append(likelihood_ratio(largest_log_likelihood(model), smaller) if df[-1] > 0 else np.nan)
        factors.append(bartlett_factor(rows, small, j, model.fit_intercept) if corrected and df[-1] > 0 else 1.0)
    statistic, correction = np.array(statistics), np.array(factors)
    p_value = chdtrc(np.maximum(df, 1), statistic / correction)
    columns: dict[str, Any] = {
        "term": list(names),
        "statistic": statistic,
        "df": np.array(df),
        "correction": correction,
    }
    return Table(columns | {"p_value": p_value}, notes=() if corrected else small_sample_notes(model))


def small_sample_notes(model: LogisticRegression) -> list[str]:
    """Return the limit of an uncorrected likelihood-ratio test, if the fit had too few rows per parameter."""
    each = model.n_rows_ / max(count_parameters(model), 1)
    if each >= MIN_ROWS_PER_PARAMETER:
        return []
    return [
        f"With {each:.3g} rows per parameter, the chi-squared distribution is inaccurate. The test rejects a true "
        "null hypothesis too often. At the 5% level and 6 rows per parameter, it rejects in 8% of samples for one "
        "feature and in 13% for 16."
    ]


@single_threaded_blas()
def profile_intervals(model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, level: float = 0.95) -> Table:
    """Return profile-likelihood intervals of the coefficients of a logistic regression.

    Parameters
    ----------
    model : Model or LogisticRegression
        A logistic regression, fitted without ridge penalty. With Firth's bias reduction the intervals follow the
        penalised likelihood, which gives intervals for separated classes too.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        The fitted rows. For a `Model`, the data that it was fitted to, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        The fitted labels.
    sample_weight : array-like of shape (n_rows,), optional
        The weights used in the fit, if any.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Table
        Columns ``term, estimate, conf_low, conf_high``, and ``label`` for three or more classes. An end is infinite if
        the likelihood never falls far enough. It is NaN for terms that the rows do not determine. It is also NaN if
        rounding alone changes the likelihood by more, as for the intercept of columns far from zero.

    Raises
    ------
    TypeError
        If the model is not a logistic regression.
    ValueError
        If the fit was penalised or did not reach a maximum, or if the rows or weights differ from the fitted ones.

    See Also
    --------
    tidy : Wald intervals, which are symmetric and need no refits.

    Notes
    -----
    An interval contains the values whose profile log-likelihood is below the maximum by less than half a chi-squared
    quantile. The profile maximises over the other coefficients. The interval is not symmetric, and is more
    accurate than Wald's in small samples. Each end takes several refits with one coefficient fixed.

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
        raise ValueError("profile_intervals requires a fit without a ridge penalty. Fit with alpha=0.")
    if model.separation_ is not None or not model.converged_:
        raise ValueError(
            "profile_intervals starts from the maximum of the likelihood, which this fit did not reach"
            + (", because its classes are separable" if model.separation_ is not None else "")
            + '. Fit with bias_reduction="firth" first.'
        )
    check_level(level)
    rows = check_labelled_rows_of_fit(model, X, y, sample_weight, "profile_intervals")
    scaling = ColumnScaling.of(next(iter(rows)), None)
    first, unit = int(model.fit_intercept), scaling.scale
    reference = int(np.flatnonzero(model.classes_ == model.reference_)[0])
    names, estimate = logit_terms(model, "profile_intervals")
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
            raise ArithmeticError("The search with this coefficient fixed did not reach a maximum. Scale the columns.")
        return loss - limit

    try:
        return _first_zero(excess_loss, known[0][0], error)
    except ArithmeticError:
        return float("nan")


def _first_zero(excess_loss: Callable[[float], float], inner: float, error: float) -> float:
    """Return where a function that is negative at `inner` becomes positive: infinity if never, NaN if not negative."""
    from scipy.optimize import brentq

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
    if not is_logistic(model):
        raise TypeError(
            f"The model must be a fitted LogisticRegression, not {type(model).__name__}. Pass a logistic model."
        )
    check_fitted(model)


def largest_log_likelihood(model: LogisticRegression) -> float:
    """Return the supremum of the log likelihood: 0 if the classes are separable, which no coefficients reach."""
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
            f"The smaller model fits better (log likelihood {smaller:.6g} against {larger:.6g}), which is impossible "
            'if it is nested. Pass the rows and weights of the fit, or fit with solver="newton".'
        )
    return max(statistic, 0.0)


def check_unpenalized(model: LogisticRegression, what: str) -> None:
    """Raise ValueError if a fit did not maximise the likelihood itself."""
    check_not_multilabel(model, what)
    if model.alpha > 0 or model.bias_reduction is not None:
        raise ValueError(f"{what} requires a maximum likelihood fit. Fit with alpha=0 and without bias_reduction.")
