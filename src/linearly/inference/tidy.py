"""Report a fitted model as three tables: one row per term (`tidy`), per model (`glance`) and per row (`augment`).

The tables are the same for least squares and for logistic regression as far as both have the numbers. The names of
the functions and columns follow the R package broom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, fdtrc, ndtr, ndtri, stdtr, stdtrit
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.solution import MIN_DOF, Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, digits_of_standard_errors
from linearly.algorithm.least_squares.triangular import EPS
from linearly.algorithm.logistic.solver import GRAM_SIZE
from linearly.dataset.rows.block import Block, check_finite
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.formatting import join_names
from linearly.inference.fitted_rows import (
    RowDiagnostics,
    check_labelled_rows_of_fit,
    check_rows_of_fit,
    row_diagnostics,
    row_weights,
)
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.matrices import dense_float64, dense_keeping_low_part
from linearly.models.base import column_names, map_rows, prediction_rows, target_names, training_rows
from linearly.models.estimability import NotEstimable
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.logistic_regression import LogisticRegression
from linearly.table import Table, to_python_value

Array = NDArray[np.float64]

MAX_NAMED_TERMS = 8  # in a note
MAX_LEVERAGE = 1 - 1e-10  # a row above this is fitted exactly, whatever its error: its residual says nothing
BIAS_NOTE = "Intervals ignore the bias of the penalty; `bias` estimates it (ridge minus least squares)."
_WITH_ERRORS = "least-squares or logistic model"


@single_threaded_blas()
def tidy(model: Any, *, level: float = 0.95) -> Table:
    """Return one row per term: estimate, standard error, test and confidence interval.

    Parameters
    ----------
    model : Model, LinearRegression, RidgeCV or LogisticRegression
        A fitted model.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Table
        Columns ``term, estimate, std_error, statistic, p_value, conf_low, conf_high``; the intercept comes first.
        Several targets add a column ``target``, logits of three or more classes a column ``label``. Ridge adds
        ``bias``, an estimate of how far the penalty pulled each coefficient (ridge minus least squares on the same
        rows); the intervals do not account for it.

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
    Terms that the rows do not determine, because their columns are combinations of others, have estimates of smallest
    norm and NaN for the rest. So do terms of a logistic regression without a finite estimate, because the classes are
    separable. A constant column beside an intercept has estimate 0 and NaN for the rest.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> ly.tidy(model)["estimate"].round(2)
    array([1.03, 1.98])
    """
    model = unwrap_estimator(model)
    if isinstance(model, LogisticRegression):
        return _tidy_logistic(model, level)
    solution = require_solution(model, _WITH_ERRORS)
    check_level(level)
    terms = term_names(model)
    errors = model.std_errors()
    errors[int(solution.has_intercept) :][constant_columns(model)] = np.nan
    bias = shrinkage_bias(model) if solution.alpha > 0 else None
    parts = []
    for t, error in enumerate(errors.T):
        wald = wald_columns(estimates(solution)[:, t], error, dof_of_tests(model), level)
        parts.append({"term": list(terms), **wald} | ({} if bias is None else {"bias": bias[:, t]}))
    notes = [*unidentified_note(terms, solution.identified), *([] if bias is None else [BIAS_NOTE])]
    return _stack_targets(model, parts, notes)


def _tidy_logistic(model: LogisticRegression, level: float) -> Table:
    check_is_fitted(model)
    check_level(level)
    names, estimate = logit_terms(model)
    error = np.sqrt(np.diagonal(model.covariance_))  # raises if the solver formed no covariance
    notes = [f"Logits against {to_python_value(model.reference_)!r}."] if "label" in names else []
    wald = wald_columns(estimate, error, dof_of_tests(model), level)
    return Table({**names, **wald}, notes=[*notes, *logistic_notes(model)])


@single_threaded_blas()
def glance(model: Any) -> Table:
    """Return one row per model: how well it fits, information criteria, and how well it was computed.

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
    evaluate : How good a model is on other rows.

    Notes
    -----
    AIC and BIC count the error variance as a parameter, as R does. With a robust covariance the F test is a Wald test
    that uses it; ridge has none. With G clusters the F test has G - 1 residual degrees of freedom. ``digits`` are the
    decimal digits to trust in coefficients, residuals and standard errors; ``condition`` is the condition number of
    the scaled design.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> ly.glance(model)["r_squared"].round(4)
    array([0.9991])
    """
    model = unwrap_estimator(model)
    if isinstance(model, LogisticRegression):
        return _glance_logistic(model)
    solution = require_solution(model, _WITH_ERRORS)
    n, dof, constant = solution.n, solution.dof, int(solution.has_intercept)
    parts = []
    for t in range(len(solution.intercept)):
        rss, tss = float(solution.rss[t]), float(solution.tss[t])
        r_squared = 1 - rss / tss if tss > 0 else np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            adjusted = 1 - (rss / dof) / (tss / (n - constant)) if dof >= MIN_DOF and tss > 0 else np.nan
            log_likelihood = 0.5 * (solution.log_weight - n * (np.log(2 * np.pi) + 1 + np.log(np.float64(rss) / n)))
        f, p_value = f_test(model, t)
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
                **_criteria(log_likelihood, parameters, n),
                "method": [model.method if model.method == "gradient_descent" else model.method_],
                "condition": [solution.condition],
                "digits": [min(solution.digits, digits_of_standard_errors(solution))],
            }
        )
    return _stack_targets(model, parts)


def _glance_logistic(model: LogisticRegression) -> Table:
    check_is_fitted(model)
    check_not_multilabel(model, "glance")
    log_likelihood, null = model.log_likelihood_, model.null_log_likelihood_
    parameters = count_parameters(model)
    notes = []
    if model.separation_ is not None:
        limit = " It can come as close to 0 as one likes." if model.separation_.verdict == "separable" else ""
        notes.append(
            f"The classes are {model.separation_.verdict}: no coefficients reach the smallest deviance. It is given "
            f"where the search was stopped, as the coefficients are.{limit}"
        )
    if model._root is None and model.n_features_in_ >= GRAM_SIZE:
        notes.append(
            f"Columns that depend on others are not looked for among more than {GRAM_SIZE:,}: aic and bic count every "
            "coefficient."
        )
    return Table(
        {
            "deviance": [0.0 - 2 * log_likelihood],
            "null_deviance": [0.0 - 2 * null],
            "pseudo_r_squared": [1 - log_likelihood / null if null else np.nan],
            **_criteria(log_likelihood, parameters, model.n_rows_),
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


@single_threaded_blas()
def augment(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Return one row per row of the fit: fitted value, residuals, leverage and influence.

    Parameters
    ----------
    model : Model, LinearRegression, RidgeCV or LogisticRegression
        A fitted model of one target, or of two classes.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        The rows of the fit. For a `Model`, the data that it was fitted to, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        The targets of the fit.
    sample_weight : array-like of shape (n_rows,), optional
        The weights of the fit, if it had any.

    Returns
    -------
    Table
        Least squares: ``fitted, residual, leverage, standardized_residual, studentized_residual, cooks_distance``.
        Logistic regression: ``probability, deviance_residual, pearson_residual, leverage, standardized_residual,
        cooks_distance``.

    Raises
    ------
    ValueError
        If the rows or weights are not those of the fit, whose leverages would mean nothing.

    See Also
    --------
    residual_tests : Tests of the residuals.

    Notes
    -----
    Rows of weight 0 have fitted values and residuals only, and not even those if no row of the fit has their level.

    References
    ----------
    .. [1] Belsley, Kuh, Welsch (1980), Regression Diagnostics, chapter 2.

    Examples
    --------
    >>> import linearly as ly
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0]
    >>> ly.augment(ly.LinearRegression().fit(X, y), X, y)["leverage"].round(2)
    array([0.7, 0.3, 0.3, 0.7])
    """
    model, X = unwrap_model(model, X, y, sample_weight, "augment")
    if isinstance(model, LogisticRegression):
        return _augment_logistic(model, X, y, sample_weight)
    solution = require_solution(model)
    check_single_target(model, "augment")
    parts = row_diagnostics(training_rows(model, X, y, sample_weight, reset=False), solution)
    check_rows_of_fit(solution, parts, "augment")
    return row_table(solution, parts)


def row_table(solution: Solution, parts: RowDiagnostics) -> Table:
    """Return the table of `augment` for the rows of a fit, or for some of them."""
    fit, residual, leverage, weight = parts
    sigma2, rank = float(solution.sigma2[0]), solution.rank + int(solution.has_intercept)
    leverage[weight == 0] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(leverage < MAX_LEVERAGE, 1 - leverage, np.nan)
        scaled = residual * np.sqrt(weight)
        standardized = scaled / np.sqrt(sigma2 * rest)
        dof = solution.dof - 1
        sigma2_without_row = (solution.dof * sigma2 - scaled**2 / rest) / (dof if dof > 0 else np.nan)
        studentized = scaled / np.sqrt(sigma2_without_row * rest)
        cooks = standardized**2 * leverage / rest / rank
    return Table(
        {
            "fitted": fit,
            "residual": residual,
            "leverage": leverage,
            "standardized_residual": standardized,
            "studentized_residual": studentized,
            "cooks_distance": cooks,
        }
    )


def _augment_logistic(model: LogisticRegression, X: Any, y: Any, sample_weight: Any) -> Table:
    check_is_fitted(model)
    check_not_multilabel(model, "augment")
    if len(model.classes_) > 2:
        raise ValueError("augment takes a logistic regression of two classes.")
    rows = check_labelled_rows_of_fit(model, X, y, sample_weight, "augment")
    root, first = model._root, int(model.fit_intercept)
    if root is None:
        raise ValueError('Leverage needs the Hessian, which solver="lbfgs" does not form: fit with solver="newton".')
    parts = []
    for block in rows:
        check_finite(block)
        Z, weight = dense_float64(block.X), row_weights(block)
        logit = model.scores(Z)[:, 1]
        side = np.where(np.asarray(block.y) == 1, 1.0, -1.0)
        # By logits: 1 − p has no digits left where p is next to 1.
        p, variance = expit(logit), expit(logit) * expit(-logit)
        deviance = 2 * weight * np.logaddexp(0.0, -side * logit)
        with np.errstate(over="ignore", invalid="ignore"):
            pearson = side * np.sqrt(weight) * np.exp(-side * logit / 2)
        U = (root[0] if first else 0.0) + Z @ root[first:]
        leverage = np.where(weight > 0, weight * variance * (U**2).sum(axis=1), np.nan)
        parts.append(np.stack([p, side * np.sqrt(deviance), pearson, leverage]))
        if block.unknown is not None:
            parts[-1][:, block.unknown] = np.nan
    p, deviance, pearson, leverage = np.concatenate(parts, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Table(
            {
                "probability": p,
                "deviance_residual": deviance,
                "pearson_residual": pearson,
                "leverage": leverage,
                "standardized_residual": deviance / np.sqrt(1 - leverage),
                "cooks_distance": (pearson / (1 - leverage)) ** 2 * leverage / root.shape[1],
            }
        )


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
        df_residual``; one row per target.

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


@single_threaded_blas()
def prediction_interval(model: LeastSquaresBase, X: Any, level: float, kind: str) -> Table:
    """Return ``fit, low, high`` for new rows: intervals of the mean ("confidence") or of a new value ("prediction")."""
    solution = require_solution(model)
    check_single_target(model, "predict_interval")
    check_level(level)
    if kind not in ("confidence", "prediction"):
        raise ValueError(f'kind must be "confidence" or "prediction", not {kind!r}.')
    inner = model.inner_covariance()[0]

    with NotEstimable() as doubtful:

        def fit_and_variance(block: Block) -> Array:
            check_finite(block)
            x = dense_keeping_low_part(block.X)
            u = solution.whitened_rows(x)
            variance = ((u @ inner) * u).sum(axis=1)
            known = doubtful.look(block, solution.estimable)
            return np.stack([solution.predict(x)[:, 0], np.where(known, variance, np.nan)], axis=1)

        fit, variance = map_rows(prediction_rows(model, X), fit_and_variance).T
    if kind == "prediction":
        variance = variance + solution.sigma2[0]
    reach = t_quantile(level, dof_of_tests(model)) * np.sqrt(variance)
    return Table({"fit": fit, "low": fit - reach, "high": fit + reach})


# --- checks ---------------------------------------------------------------------------------------


def require_solution(model: Any, needed: str = "least-squares model") -> Solution:
    """Return the solution of a fitted least-squares model; raise TypeError for any other."""
    if not isinstance(model, LeastSquaresBase):
        how = ": evaluate(model, X, y) says how good it is" if hasattr(model, "classes_") else ""
        raise TypeError(f"A fitted {needed} is needed, not {type(model).__name__}{how}.")
    check_is_fitted(model)
    return model.solution_


def check_level(level: float) -> None:
    """Raise ValueError if a confidence level is not between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level!r}.")


def check_single_target(model: LeastSquaresBase, what: str) -> None:
    """Raise ValueError if a model has several targets."""
    if len(model.solution_.intercept) > 1:
        raise ValueError(f"{what} takes a model of one target; fit each of the targets on its own.")


def check_not_multilabel(model: LogisticRegression, what: str) -> None:
    """Raise ValueError if a logistic regression has several targets."""
    if model.multilabel_:
        raise ValueError(f"{what} takes a model of one target; use it on each of model.estimators_.")


# --- terms and their notes ------------------------------------------------------------------------


def term_names(model: Any) -> tuple[str, ...]:
    """Return the names of the terms, the intercept first."""
    least_squares = isinstance(model, LeastSquaresBase)
    intercept = model.solution_.has_intercept if least_squares else model.fit_intercept
    return ("Intercept", *column_names(model)) if intercept else column_names(model)


def estimates(solution: Solution) -> Array:
    """Return intercept and coefficients, terms × targets."""
    return np.vstack([solution.intercept, solution.coef]) if solution.has_intercept else solution.coef


def logit_terms(model: LogisticRegression) -> tuple[dict[str, list[Any]], Array]:
    """Return the columns that name the terms, ``label`` (of three or more classes) and ``term``, and the estimates."""
    check_not_multilabel(model, "tidy")
    names = term_names(model)
    blocks = [np.r_[b, w] if model.fit_intercept else w for b, w in zip(model.intercept_, model.coef_, strict=True)]
    columns: dict[str, list[Any]] = {"term": list(names) * len(blocks)}
    if len(model.classes_) > 2:
        others = [label for label in model.classes_.tolist() if label != model.reference_]
        columns = {"label": [label for label in others for _ in names], **columns}
    return columns, np.concatenate(blocks)


def count_parameters(model: LogisticRegression) -> int:
    """Return how many coefficients were free to be fitted."""
    return len(model.coef_) * int(model.n_features_in_ + int(model.fit_intercept) - len(model._aliased))


def unidentified_note(terms: Sequence[str], identified: NDArray[np.bool_]) -> Iterator[str]:
    """Yield a note that names the terms that the rows do not determine, if there are any."""
    names = [term for term, known in zip(terms, identified, strict=True) if not known]
    if names:
        few = join_names(names, MAX_NAMED_TERMS, ", ")
        yield f"Not determined by the rows: {few}. Coefficients of smallest norm are shown, without standard errors."


def logistic_notes(model: LogisticRegression) -> Iterator[str]:
    """Yield notes that name the terms without standard errors, and say what to use instead."""
    names = term_names(model)
    if model._null is not None:
        yield from unidentified_note(names, np.equal(model._null, 0))
    known = np.asarray(model._identified.reshape(-1, len(names)).all(axis=0))
    unbounded = [name for name, sure in zip(names, known, strict=True) if not sure]
    if model.separation_ is not None:
        few = "all terms" if len(unbounded) == len(names) else join_names(unbounded, MAX_NAMED_TERMS, ", ")
        yield (
            f"The classes are {model.separation_.verdict}, so coefficients are where the search was stopped. No finite "
            f"estimate and no standard error: {few}. Test terms with likelihood_ratio_tests, or fit with "
            'bias_reduction="firth" or alpha > 0.'
        )
    elif unbounded and model._null is None:
        yield 'The search did not end at a maximum: no standard errors. Fit with bias_reduction="firth" or alpha > 0.'


def constant_columns(model: LeastSquaresBase) -> NDArray[np.bool_]:
    """Return which features are constant beside an intercept, so that the rows say nothing about them."""
    lengths = model.summary_.centered_norms
    same = lengths <= EPS * model.summary_.scaling.scale[: len(lengths)]
    return np.asarray(same & model.solution_.has_intercept)


def shrinkage_bias(model: LeastSquaresBase) -> Array:
    """Return ridge minus least squares, terms × targets: what the penalty did to the estimates."""
    unpenalized = RidgeProblem(0.0, bool(model.fit_intercept)).solve(model.summary_)
    known = unpenalized.identified[:, None]
    return np.where(known, estimates(model.solution_) - estimates(unpenalized), np.nan)


# --- tests and intervals --------------------------------------------------------------------------


def wald_columns(estimate: Array, error: Array, dof: float, level: float) -> dict[str, Array]:
    """Return the columns from ``estimate`` to ``conf_high``: t tests and intervals on so many degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / error
    reach = t_quantile(level, dof) * error
    return {
        "estimate": estimate,
        "std_error": error,
        "statistic": statistic,
        "p_value": t_p_values(statistic, dof),
        "conf_low": estimate - reach,
        "conf_high": estimate + reach,
    }


def f_test(model: LeastSquaresBase, t: int) -> tuple[float, float]:
    """Return F statistic and p-value of the hypothesis that no feature matters, for target t."""
    solution = model.solution_
    rank, dof = solution.rank, solution.dof
    if solution.alpha > 0 or rank == 0 or dof <= 0:
        return np.nan, np.nan
    if getattr(model, "meat_", None) is None:
        explained = float(solution.tss[t] - solution.rss[t]) / rank
        with np.errstate(divide="ignore", invalid="ignore"):
            f = float(np.float64(explained) / solution.sigma2[t])
    else:
        first = int(solution.has_intercept)
        root, inner = solution.inverse_root[first:, first:], model.inner_covariance()[t][first:, first:]
        if not (np.isfinite(root).all() and np.isfinite(inner).all()):
            return np.nan, np.nan
        g = np.linalg.lstsq(root, solution.coef[:, t], rcond=None)[0]
        f = float(g @ np.linalg.lstsq(inner, g, rcond=None)[0]) / rank
    return f, 0.0 if f == np.inf else float(fdtrc(rank, dof_of_tests(model), f))


def dof_of_tests(model: Any) -> float:
    """Return the degrees of freedom of t and F: G − 1 with G clusters, as R's coeftest(df = G − 1).

    Without clusters they are those of the residuals; for a logistic model infinite, hence the normal distribution.
    """
    clusters: int | None = getattr(model, "n_clusters_", None)
    if clusters is not None:
        return clusters - 1
    return float(model.solution_.dof) if isinstance(model, LeastSquaresBase) else np.inf


def t_p_values(statistic: Array, dof: float) -> Array:
    """Return two-sided p-values of t statistics; NaN below one degree of freedom."""
    if dof < MIN_DOF:
        return np.full(np.shape(statistic), np.nan)
    return np.asarray(2 * (ndtr(-np.abs(statistic)) if dof == np.inf else stdtr(dof, -np.abs(statistic))))


def t_quantile(level: float, dof: float = np.inf) -> float:
    """Return how many standard errors an interval reaches to either side; NaN below one degree of freedom."""
    if dof == np.inf:
        return float(ndtri(0.5 + level / 2))
    return float(stdtrit(dof, 0.5 + level / 2)) if dof >= MIN_DOF else np.nan


def degrees(value: float) -> float | int:
    """Return degrees of freedom as an integer if they are one, which those of ridge are not."""
    return round(value) if abs(value - round(value)) < 1e-9 else float(value)


# --- parts of the tables --------------------------------------------------------------------------


def _criteria(log_likelihood: float, parameters: float, n: int) -> dict[str, list[float]]:
    return {
        "log_likelihood": [log_likelihood],
        "aic": [-2 * log_likelihood + 2 * parameters],
        "bic": [-2 * log_likelihood + np.log(n) * parameters],
    }


def _cluster_count(model: Any) -> dict[str, list[int]]:
    return {"n_clusters": [model.n_clusters_]} if hasattr(model, "n_clusters_") else {}


def _stack_targets(model: LeastSquaresBase, parts: list[dict[str, Any]], notes: Sequence[str] = ()) -> Table:
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if len(parts) > 1:
        rows = len(parts[0][next(iter(parts[0]))])
        columns = {"target": np.repeat(target_names(model, len(parts)), rows), **columns}
    return Table(columns, notes=notes)
