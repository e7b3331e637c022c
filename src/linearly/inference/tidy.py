"""Three tables of a fitted least-squares model, by grain: a term (`tidy`), a model (`glance`), a row (`augment`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, ndtr, ndtri, stdtr, stdtrit
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.solution import MIN_DOF, Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, digits_of_standard_errors
from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.inference.fitted_rows import RowDiagnostics, check_rows_of_fit
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.matrices import dense_keeping_low_part
from linearly.models.base import column_names, map_rows, prediction_rows, target_names, training_rows
from linearly.models.estimability import NotEstimable
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Table

Array = NDArray[np.float64]

_NAMED = 8  # terms that a note names
_WITH_ERRORS = "least-squares or logistic model"


@single_threaded_blas()
def tidy(model: Any, *, level: float = 0.95) -> Table:
    """A row for each term: ``term, estimate, std_error, statistic, p_value, conf_low, conf_high``; Intercept first.

    Several targets add a column ``target``, with their names if y was a data frame. For ridge a column ``bias``
    estimates how far the penalty pulled each coefficient (ridge minus least squares on the same rows); the intervals do
    not account for it. Terms that the rows do not determine, their columns being combinations of others, have estimates
    of smallest norm and NaN for the rest. So do the terms of a logistic regression that have no finite estimate,
    because the classes are separable. A constant column beside an intercept has estimate 0, and is left out.
    """
    model = unwrap_estimator(model)
    if _is_logistic(model):
        from linearly.inference.likelihood import tidy_logistic

        return tidy_logistic(model, level)
    solution = require_solution(model, _WITH_ERRORS)
    check_level(level)
    terms = term_names(model)
    errors = model.std_errors()
    errors[int(solution.has_intercept) :][constant_columns(model)] = np.nan
    parts = []
    bias = shrinkage_bias(model) if solution.alpha > 0 else None
    for t, error in enumerate(errors.T):
        estimate = estimates(solution)[:, t]
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = estimate / error
        reach = t_quantile(level, dof_of_tests(model)) * error
        part = {
            "term": list(terms),
            "estimate": estimate,
            "std_error": error,
            "statistic": statistic,
            "p_value": t_p_values(statistic, dof_of_tests(model)),
            "conf_low": estimate - reach,
            "conf_high": estimate + reach,
        }
        if bias is not None:
            part["bias"] = bias[:, t]
        parts.append(part)
    notes = [*unidentified_note(terms, solution.identified)]
    if bias is not None:
        notes.append("Intervals ignore the bias of the penalty; `bias` estimates it (ridge minus least squares).")
    return _stacked(model, parts, notes)


@single_threaded_blas()
def glance(model: Any) -> Table:
    """A row for each model: fit statistics, information criteria, and how well it was computed.

    AIC and BIC count σ as a parameter, as R does. With a robust covariance the F test is a Wald test with it; for ridge
    there is none. With clusters, ``n_clusters`` is how many, and the F test has one degree of freedom less. ``digits``
    are the decimal digits to trust in coefficients, residuals and standard errors, ``condition`` is that of the scaled
    design.
    """
    model = unwrap_estimator(model)
    if _is_logistic(model):
        from linearly.inference.likelihood import glance_logistic

        return glance_logistic(model)
    solution = require_solution(model, _WITH_ERRORS)
    n, dof = solution.n, solution.dof
    constant = int(solution.has_intercept)
    rank = solution.rank
    parts = []
    for t in range(len(solution.intercept)):
        rss, tss = float(solution.rss[t]), float(solution.tss[t])
        r_squared = 1 - rss / tss if tss > 0 else np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            adjusted = 1 - (rss / dof) / (tss / (n - constant)) if dof >= MIN_DOF and tss > 0 else np.nan
            log_likelihood = 0.5 * (solution.log_weight - n * (np.log(2 * np.pi) + 1 + np.log(np.float64(rss) / n)))
        f, p_value = f_test(model, t)
        parameters = (rank if solution.alpha == 0 else n - dof - constant) + constant + 1
        clusters = {"n_clusters": [model.n_clusters_]} if hasattr(model, "n_clusters_") else {}
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
                **clusters,
                "log_likelihood": [log_likelihood],
                "aic": [-2 * log_likelihood + 2 * parameters],
                "bic": [-2 * log_likelihood + np.log(n) * parameters],
                "method": [model.method if model.method == "gradient_descent" else model.method_],
                "condition": [solution.condition],
                "digits": [min(solution.digits, digits_of_standard_errors(solution))],
            }
        )
    return _stacked(model, parts, [])


@single_threaded_blas()
def augment(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """A row for each row: ``fitted, residual, leverage, standardized_residual, studentized_residual, cooks_distance``.

    The rows are those of the fit, with its weights if it had any: leverage and what follows from it mean nothing for
    others, which are refused. Rows of weight 0 have fitted values and residuals only, and not even those where no row
    of the fit has their level. For a `Model`, X is the data that it was fitted to.
    """
    model, X = unwrap_model(model, X, y, sample_weight, "augment")
    if _is_logistic(model):
        from linearly.inference.likelihood import augment_logistic

        return augment_logistic(model, X, y, sample_weight)
    solution = require_solution(model)
    check_single_target(model, "augment")
    parts = row_diagnostics(training_rows(model, X, y, sample_weight, reset=False), solution)
    check_rows_of_fit(solution, parts, "augment")
    return row_table(solution, parts)


def row_table(solution: Solution, parts: RowDiagnostics) -> Table:
    """What `augment` says of the rows of a fit, or of some of them."""
    fit, residual, leverage, weight = parts
    sigma2, rank = float(solution.sigma2[0]), solution.rank + int(solution.has_intercept)
    absent = weight == 0
    leverage[absent] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        # Leverage 1 means the row is fitted exactly, whatever the errors: nothing can be said about its residual.
        kept = np.where(leverage < 1 - 1e-10, 1 - leverage, np.nan)
        scaled = residual * np.sqrt(weight)
        standardized = scaled / np.sqrt(sigma2 * kept)
        rest = solution.dof - 1
        without = (solution.dof * sigma2 - scaled**2 / kept) / (rest if rest > 0 else np.nan)
        studentized = scaled / np.sqrt(without * kept)
        cooks = standardized**2 * leverage / kept / rank
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


@single_threaded_blas()
def error_variance(model: Any) -> Table:
    """The variance of the errors, by maximum likelihood (RSS/n) and unbiased (RSS/dof), and its square roots."""
    model = unwrap_estimator(model)
    solution = require_solution(model)
    maximum, unbiased = solution.rss / solution.n, solution.sigma2
    parts = [
        {
            "sigma2_mle": [maximum[t]],
            "sigma2_unbiased": [unbiased[t]],
            "sigma_mle": [np.sqrt(maximum[t])],
            "sigma_unbiased": [np.sqrt(unbiased[t])],
            "n": [solution.n],
            "df_residual": [degrees(solution.dof)],
        }
        for t in range(len(maximum))
    ]
    return _stacked(model, parts, [])


@single_threaded_blas()
def prediction_interval(model: LeastSquaresBase, X: Any, level: float, kind: str) -> Table:
    """``fit, low, high`` for new rows: of the mean (``confidence``), or of a new value (``prediction``)."""
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


def _is_logistic(model: Any) -> bool:
    # Its tables build on this module, so they are fetched when asked for.
    from linearly.models.logistic_regression import LogisticRegression

    if not isinstance(model, LogisticRegression):
        return False
    check_is_fitted(model)
    return True


# --- what the tables share ------------------------------------------------------------------------


def require_solution(model: Any, needed: str = "least-squares model") -> Solution:
    """The solution of a fitted least-squares model; others are refused by name."""
    if not isinstance(model, LeastSquaresBase):
        how = ": evaluate(model, X, y) says how good it is" if hasattr(model, "classes_") else ""
        raise TypeError(f"A fitted {needed} is needed, not {type(model).__name__}{how}.")
    check_is_fitted(model)
    return model.solution_


def term_names(model: LeastSquaresBase) -> tuple[str, ...]:
    """Names of the terms, the intercept first."""
    return ("Intercept", *column_names(model)) if model.solution_.has_intercept else column_names(model)


def estimates(solution: Solution) -> Array:
    """Intercept and coefficients, terms × targets."""
    if not solution.has_intercept:
        return solution.coef
    return np.vstack([solution.intercept, solution.coef])


def unidentified_note(terms: Sequence[str], identified: NDArray[np.bool_]) -> Iterator[str]:
    """Say which terms the rows do not determine, if there are any."""
    names = [term for term, known in zip(terms, identified, strict=True) if not known]
    if names:
        told = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        yield f"Not determined by the rows: {told}. Coefficients of smallest norm are shown, without standard errors."


def constant_columns(model: LeastSquaresBase) -> NDArray[np.bool_]:
    """The features that are the same in every row beside an intercept: the rows say nothing about them."""
    lengths = model.summary_.centered_norms
    same = lengths <= EPS * model.summary_.scaling.scale[: len(lengths)]
    return np.asarray(same & model.solution_.has_intercept)


def shrinkage_bias(model: LeastSquaresBase) -> Array:
    """Ridge minus least squares, term by term: what the penalty did to the estimates."""
    plainly = RidgeProblem(0.0, bool(model.fit_intercept)).solve(model.summary_)
    known = plainly.identified[:, None]  # least squares says nothing of the others
    return np.where(known, estimates(model.solution_) - estimates(plainly), np.nan)


def f_test(model: LeastSquaresBase, t: int) -> tuple[float, float]:
    """F statistic and p-value of "no feature matters" for target t."""
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


def row_diagnostics(rows: Rows, solution: Solution) -> RowDiagnostics:
    """Fitted values, residuals, leverages and weights of all rows, for one target."""
    parts = []
    for block in rows:
        check_finite(block)
        X, y = dense_keeping_low_part(block.X), target_matrix(block)
        assert y is not None
        fit = solution.predict(X)[:, 0]
        if block.unknown is not None:
            fit[block.unknown] = np.nan
        weight = np.ones(len(block)) if block.weight is None else block.weight
        leverage = weight * (solution.whitened_rows(X) ** 2).sum(axis=1)
        parts.append(np.stack([fit, y[:, 0] - fit, leverage, weight]))
    return RowDiagnostics(*np.concatenate(parts, axis=1))


def dof_of_tests(model: Any) -> float:
    """Degrees of freedom of t and F: with G clusters G − 1, as R's coeftest(df = G − 1).

    Without clusters, those of the residuals; of a logistic model infinite, which is the normal distribution.
    """
    clusters: int | None = getattr(model, "n_clusters_", None)
    if clusters is not None:
        return clusters - 1
    return float(model.solution_.dof) if isinstance(model, LeastSquaresBase) else np.inf


def t_p_values(statistic: Array, dof: float) -> Array:
    """Two-sided p-values of t statistics; of less than one degree of freedom none is known."""
    if dof < MIN_DOF:
        return np.full(np.shape(statistic), np.nan)
    if dof == np.inf:
        return np.asarray(2 * ndtr(-np.abs(statistic)))
    return np.asarray(2 * stdtr(dof, -np.abs(statistic)))


def t_quantile(level: float, dof: float) -> float:
    """How many standard errors an interval reaches; of less than one degree of freedom that is anything."""
    if dof == np.inf:
        return float(ndtri(0.5 + level / 2))
    return float(stdtrit(dof, 0.5 + level / 2)) if dof >= MIN_DOF else np.nan


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level!r}.")


def check_single_target(model: LeastSquaresBase, what: str) -> None:
    """Refuse a model of several targets where one is meant."""
    if len(model.solution_.intercept) > 1:
        raise ValueError(f"{what} takes a model of one target; fit each of the targets on its own.")


def degrees(value: float) -> float | int:
    """Degrees of freedom: a whole number where they are one, which those of ridge are not."""
    return round(value) if abs(value - round(value)) < 1e-9 else float(value)


def _stacked(model: LeastSquaresBase, parts: list[dict[str, Any]], notes: list[str]) -> Table:
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if len(parts) > 1:
        rows = len(parts[0][next(iter(parts[0]))])
        columns = {"target": np.repeat(target_names(model, len(parts)), rows), **columns}
    return Table(columns, notes=tuple(notes))
