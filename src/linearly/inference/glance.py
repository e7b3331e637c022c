"""Report a fitted model in one row (`glance`): fit, criteria and accuracy; and the variance of its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.algorithm.least_squares.solution import MIN_DOF
from linearly.algorithm.least_squares.solver import correct_digits
from linearly.inference.fitted_terms import (
    WITH_ERRORS,
    check_not_multilabel,
    count_parameters,
    require_solution,
    stack_targets,
)
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import degrees, f_test
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.models.base import check_fitted, target_names
from linearly.models.kind_checks import is_elastic_net, is_logistic
from linearly.table import Table

if TYPE_CHECKING:
    from linearly.models.elastic_net_base import ElasticNetBase
    from linearly.models.logistic_regression import LogisticRegression


@single_threaded_blas()
def glance(model: Any) -> Table:
    """Return one row per model: fit statistics, information criteria and numerical accuracy.

    Parameters
    ----------
    model : Model, LinearRegression, RidgeCV or LogisticRegression
        A fitted model.

    Returns
    -------
    Table
        Least squares: ``r_squared, adj_r_squared, sigma, f_statistic, p_value, df_model, df_residual, n,
        log_likelihood, aic, bic, method, condition, digits``, one row per target. Logistic regression: ``deviance,
        null_deviance, pseudo_r_squared`` (McFadden's), ``log_likelihood, aic, bic, n, df_residual, passes, converged,
        condition, digits``. Clustered standard errors add ``n_clusters``.

    Raises
    ------
    TypeError
        If the model is neither a least-squares nor a logistic model.

    See Also
    --------
    tidy : One row per term.
    evaluate : Metrics of a model on other rows.

    Notes
    -----
    AIC and BIC count the error variance as a parameter, as R does. With a robust covariance, the F test is a Wald test
    with that covariance. Ridge has no F test. With G clusters the F test has G - 1 residual degrees of freedom.
    ``digits`` are the correct decimal digits of coefficients, residuals and standard errors. They are 0 if the sums do
    not determine whether a column is a linear combination of others. ``condition`` is the condition number of the
    scaled design.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> ly.glance(model)["r_squared"].round(4)
    array([0.9991])
    """
    model = unwrap_estimator(model)
    if is_logistic(model):
        return _glance_logistic(model)
    if is_elastic_net(model):
        return _glance_sparse(model)
    solution = require_solution(model, WITH_ERRORS)
    n, dof, constant = solution.n, solution.dof, int(solution.has_intercept)
    parts = []
    for t in range(len(solution.intercept)):
        rss, tss = float(solution.rss[t]), float(solution.tss[t])
        r_squared = 1 - rss / tss if tss > 0 else np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            adjusted = 1 - (rss / dof) / (tss / (n - constant)) if dof >= MIN_DOF and tss > 0 else np.nan
            log_likelihood = 0.5 * (solution.log_weight - n * (np.log(2 * np.pi) + 1 + np.log(np.float64(rss) / n)))
        f, p_value, f_dof = f_test(model, t)
        parameters = (solution.rank if solution.alpha == 0 else n - dof - constant) + constant + 1
        parts.append(
            {
                "r_squared": [r_squared],
                "adj_r_squared": [adjusted],
                "sigma": [np.sqrt(solution.sigma2[t])],
                "f_statistic": [f],
                "p_value": [p_value],
                "df_model": [degrees(n - dof - constant)],
                "df_residual": [degrees(dof)],
                "n": [n],
                **_cluster_count(model),
                **({"df_f": [f_dof]} if hasattr(model, "small_sample_") else {}),
                **_criteria(log_likelihood, parameters, n),
                "method": [model.method if model.method == "gradient_descent" else model.method_],
                "condition": [solution.condition],
                "digits": [correct_digits(solution)],
            }
        )
    return stack_targets(model, parts)


def _glance_logistic(model: LogisticRegression) -> Table:
    from linearly.algorithm.logistic.solver import GRAM_SIZE  # loaded with the model; no other model needs it

    check_fitted(model)
    check_not_multilabel(model, "glance")
    log_likelihood, null = model.log_likelihood_, model.null_log_likelihood_
    saturated = getattr(model, "saturated_log_likelihood_", 0.0)  # of numbers of successes, whose shares fit best
    parameters = count_parameters(model)
    notes = []
    if model.separation_ is not None:
        limit = " Its infimum is 0." if model.separation_.verdict == "separable" else ""
        notes.append(
            f"The classes are {model.separation_.verdict}, so no coefficients reach the smallest deviance. The "
            f"deviance shown is that of the coefficients where the optimizer stopped.{limit}"
        )
    if model.inverse_root_ is None and model.n_features_in_ >= GRAM_SIZE:
        notes.append(
            f"aic and bic count every coefficient, because collinearity is not checked for more than {GRAM_SIZE:,} "
            "columns."
        )
    return Table(
        {
            "deviance": [2 * saturated - 2 * log_likelihood],
            "null_deviance": [2 * saturated - 2 * null],
            "pseudo_r_squared": [1 - log_likelihood / null if null else np.nan],
            **_criteria(log_likelihood + getattr(model, "log_coefficients_", 0.0), parameters, model.n_rows_),
            "n": [model.n_rows_],
            **_cluster_count(model),
            "df_residual": [model.n_rows_ * (len(model.classes_) - 1) - parameters],
            "passes": [model.n_passes_],
            "converged": [bool(model.converged_)],
            "condition": [model.condition_],
            "digits": [getattr(model, "digits_", np.nan)],
        },
        notes=notes,
    )


def _glance_sparse(model: ElasticNetBase) -> Table:
    check_fitted(model)
    sums = model.residual_squares()
    coef = np.atleast_2d(model.coef_)
    parts = [
        {
            "r_squared": [1 - rss / tss if tss > 0 else np.nan],
            "n_active": [int((w != 0).sum())],
            "alpha": [model.penalty_.alpha],
            "l1_ratio": [model.penalty_.l1_ratio],
            "n": [model.summary_.n],
            "dual_gap": [gap],
            "method": [model.method_],
        }
        for rss, tss, w, gap in zip(*sums, coef, np.atleast_1d(model.dual_gap_), strict=True)
    ]
    return stack_targets(model, parts)


def _criteria(log_likelihood: float, parameters: float, n: int) -> dict[str, list[float]]:
    return {
        "log_likelihood": [log_likelihood],
        "aic": [-2 * log_likelihood + 2 * parameters],
        "bic": [-2 * log_likelihood + np.log(n) * parameters],
    }


def _cluster_count(model: Any) -> dict[str, list[int]]:
    return {"n_clusters": [model.n_clusters_]} if hasattr(model, "n_clusters_") else {}


@single_threaded_blas()
def error_variance(model: Any) -> Table:
    """Return the estimated variance of the errors, by maximum likelihood (RSS/n) and unbiased (RSS/dof).

    Parameters
    ----------
    model : Model, LinearRegression or RidgeCV
        A fitted least-squares model.

    Returns
    -------
    Table
        Columns ``sigma2_mle, sigma2_unbiased``, their square roots ``sigma_mle, sigma_unbiased``, and ``n,
        df_residual``. One row per target.

    Raises
    ------
    TypeError
        If the model is not a least-squares model.

    See Also
    --------
    glance : The unbiased ``sigma`` beside other statistics of the fit.

    References
    ----------
    .. [1] Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, equation 3.8.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> ly.error_variance(model)["sigma2_unbiased"].round(4)
    array([0.009])
    """
    model = unwrap_estimator(model)
    solution = require_solution(model)
    maximum, unbiased, k = solution.rss / solution.n, solution.sigma2, len(solution.rss)
    columns = {
        "sigma2_mle": maximum,
        "sigma2_unbiased": unbiased,
        "sigma_mle": np.sqrt(maximum),
        "sigma_unbiased": np.sqrt(unbiased),
        "n": np.full(k, solution.n),
        "df_residual": np.full(k, degrees(solution.dof)),
    }
    return Table({"target": target_names(model, k), **columns} if k > 1 else columns)
