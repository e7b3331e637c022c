"""Report the terms of a fitted model (`tidy`): one row per term, with estimate, standard error, test and interval.

The names of the functions `tidy`, `glance` and `augment` and of their columns follow the R package broom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.inference.fitted_terms import (
    BIAS_NOTE,
    WITH_ERRORS,
    constant_columns,
    estimates,
    logistic_notes,
    logit_terms,
    require_solution,
    shrinkage_bias,
    stack_targets,
    term_names,
    unidentified_note,
)
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import check_level, dof_of_terms, wald_columns
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.models.base import check_fitted
from linearly.models.kind_checks import is_elastic_net, is_logistic
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Table, to_python_value

if TYPE_CHECKING:
    from linearly.models.elastic_net_base import ElasticNetBase
    from linearly.models.logistic_regression import LogisticRegression

_SELECTION_NOTE = (
    "The rows selected the terms, so classical standard errors would be too small. Use selective_intervals, which "
    "account for the selection."
)
_LOGISTIC_SELECTION_NOTE = "The rows selected the terms, so classical standard errors would be too small."


@single_threaded_blas()
def tidy(model: Any, *, level: float = 0.95, standardized: bool = False, partial: bool = False) -> Table:
    """Return one row per term: estimate, standard error, test and confidence interval.

    Parameters
    ----------
    model : Model, LinearRegression, RidgeCV, ElasticNet, ElasticNetCV or LogisticRegression
        A fitted model.
    level : float, default=0.95
        Confidence level of the intervals.
    standardized : bool, default=False
        If True, add ``standardized``: the estimate in standard deviations of the target per standard deviation of
        the feature. For linear and ridge models.
    partial : bool, default=False
        If True, add ``partial_r_squared``: the share of the variance left by the other terms that the term explains,
        t² / (t² + dof). For linear models without a penalty, from classical standard errors.

    Returns
    -------
    Table
        Columns ``term, estimate, std_error, statistic, p_value, conf_low, conf_high``; the intercept comes first.
        Several targets add a column ``target``. Logits of three or more classes add a column ``label``. For ridge,
        ``bias`` is an estimate of the bias of each coefficient: ridge minus least squares on the same rows. The
        intervals do not account for it. An elastic net, and a logistic regression with ``l1_ratio`` above 0, have
        ``term`` and ``estimate`` only.

    Raises
    ------
    TypeError
        If the model has no standard errors.
    ValueError
        If `level` is not between 0 and 1.

    See Also
    --------
    glance : One row per model.
    augment : One row per row.
    odds_ratios : The coefficients of a logistic regression as factors of the odds.

    Notes
    -----
    The rows do not determine terms whose columns are linear combinations of others. Such terms have estimates of
    smallest norm and NaN for the rest. The same holds for terms of a logistic regression that have no finite estimate
    because the classes are separable. A constant column beside an intercept has estimate 0 and NaN for the rest.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> ly.tidy(model)["estimate"].round(2)
    array([1.03, 1.98])
    """
    model = unwrap_estimator(model)
    if is_logistic(model):
        if standardized or partial:
            raise ValueError(
                "standardized and partial apply to linear models only. Leave them out for a logistic model."
            )
        return _tidy_logistic(model, level)
    if is_elastic_net(model):
        return _tidy_sparse(model)
    solution = require_solution(model, WITH_ERRORS)
    check_level(level)
    terms = term_names(model)
    errors = model.std_errors()
    errors[int(solution.has_intercept) :][constant_columns(model)] = np.nan
    bias = shrinkage_bias(model) if solution.alpha > 0 else None
    parts = []
    for t, error in enumerate(errors.T):
        dof = dof_of_terms(model)
        wald = wald_columns(estimates(solution)[:, t], error, dof, level)
        more = {} if bias is None else {"bias": bias[:, t]}
        parts.append({"term": list(terms), **wald, **_dof_column(dof, error), **more})
        if standardized:
            parts[-1]["standardized"] = _standardized(model, wald["estimate"], t)
        if partial:
            parts[-1]["partial_r_squared"] = _partial_r_squared(model, t)
    notes = [
        *unidentified_note(terms, solution.identified, solution.rank_is_certain),
        *([] if bias is None else [BIAS_NOTE]),
    ]
    return stack_targets(model, parts, notes)


def _standardized(model: LeastSquaresBase, estimate: Array, t: int) -> Array:
    """Return estimates in standard deviations of target and feature; NaN for the intercept and unknown terms."""
    first, lengths = int(model.solution_.has_intercept), model.summary_.centered_norms
    total = model.summary_.select([], True).solve().tss[t]
    known = model.solution_.identified[first:] & ~constant_columns(model)
    with np.errstate(divide="ignore", invalid="ignore"):
        features = np.where(known, estimate[first:] * lengths / np.sqrt(total), np.nan)
    return np.concatenate([np.full(first, np.nan), features])


def _partial_r_squared(model: LeastSquaresBase, t: int) -> Array:
    """Return the partial R² of each term, from classical standard errors; NaN for the intercept."""
    solution = model.solution_
    if solution.alpha > 0:
        raise ValueError("partial requires a fit without a penalty. Leave it out for ridge.")
    first = int(solution.has_intercept)
    squares = (solution.inverse_root**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = estimates(solution)[:, t] ** 2 / squares
        share = explained / (explained + solution.rss[t])
    share[~solution.identified] = np.nan
    share[:first] = np.nan
    share[first:][constant_columns(model)] = np.nan
    return np.asarray(share)


def _tidy_logistic(model: LogisticRegression, level: float) -> Table:
    check_fitted(model)
    check_level(level)
    names, estimate = logit_terms(model, "tidy")
    if model.selects:
        return Table({**names, "estimate": estimate}, notes=[_LOGISTIC_SELECTION_NOTE])
    error = np.sqrt(np.diagonal(model.covariance_))  # raises if the solver formed no covariance
    notes = [f"The logits are against {to_python_value(model.reference_)!r}."] if "label" in names else []
    dof = dof_of_terms(model)
    wald = wald_columns(estimate, error, dof, level)
    return Table({**names, **wald, **_dof_column(dof, error)}, notes=[*notes, *logistic_notes(model)])


def _tidy_sparse(model: ElasticNetBase) -> Table:
    check_fitted(model)
    values = np.atleast_2d(model.coef_).T
    if model.fit_intercept:
        values = np.vstack([np.atleast_1d(model.intercept_), values])
    parts = [{"term": list(term_names(model)), "estimate": estimate} for estimate in values.T]
    return stack_targets(model, parts, [_SELECTION_NOTE])


def _dof_column(dof: float | Array, error: Array) -> dict[str, Array]:
    """Return the column ``df`` if the terms have degrees of freedom of their own."""
    return {} if np.ndim(dof) == 0 else {"df": np.where(np.isnan(error), np.nan, dof)}
