"""Compute t and F tests of coefficients: statistics, p-values, intervals and their degrees of freedom."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import fdtrc, ndtr, ndtri, stdtr, stdtrit

from linearly.algorithm.least_squares.small_sample import SmallSample, feature_directions
from linearly.algorithm.least_squares.solution import MIN_DOF
from linearly.kernels.double_double import Array
from linearly.models.least_squares_base import LeastSquaresBase


def check_level(level: float) -> None:
    """Raise ValueError if a confidence level is not between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level!r}.")


def wald_columns(estimate: Array, error: Array, dof: float | Array, level: float) -> dict[str, Array]:
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


def f_test(model: LeastSquaresBase, t: int) -> tuple[float, float, float]:
    """Return F, p-value and denominator degrees of freedom for the hypothesis that no feature matters for target t.

    With HC2, HC3, CR2 or CR3 it is Hotelling's T² with estimated degrees of freedom (Tipton and Pustejovsky 2015), of
    all directions whose variance is known.
    """
    solution = model.solution_
    rank, dof = solution.rank, solution.dof
    if solution.alpha > 0 or rank == 0 or dof <= 0:
        return np.nan, np.nan, np.nan
    small_sample: SmallSample | None = getattr(model, "small_sample_", None)
    if small_sample is not None:
        return _hotelling_test(model, small_sample, t)
    if getattr(model, "meat_", None) is None:
        explained = float(solution.tss[t] - solution.rss[t]) / rank
        with np.errstate(divide="ignore", invalid="ignore"):
            f = float(np.float64(explained) / solution.sigma2[t])
    else:
        first = int(solution.has_intercept)
        root, inner = solution.inverse_root[first:, first:], model.inner_covariance()[t][first:, first:]
        if not (np.isfinite(root).all() and np.isfinite(inner).all()):
            return np.nan, np.nan, np.nan
        g = np.linalg.lstsq(root, solution.coef[:, t], rcond=None)[0]
        f = float(g @ np.linalg.lstsq(inner, g, rcond=None)[0]) / rank
    return f, 0.0 if f == np.inf else float(fdtrc(rank, dof_of_tests(model), f)), dof_of_tests(model)


def _hotelling_test(model: LeastSquaresBase, small_sample: SmallSample, t: int) -> tuple[float, float, float]:
    solution, inner = model.solution_, model.inner_covariance()[t]
    basis = feature_directions(solution, small_sample.exact)
    q, first = basis.shape[1], int(solution.has_intercept)
    dof = small_sample.f_dof - q + 1
    if q == 0 or not dof > 0 or not np.isfinite(inner).all():
        return np.nan, np.nan, np.nan
    whole = feature_directions(solution, np.zeros((len(basis), 0)))
    root = solution.inverse_root[first:] @ whole
    g = basis.T @ whole @ np.linalg.lstsq(root, solution.coef[:, t], rcond=None)[0]
    f = float(g @ np.linalg.lstsq(basis.T @ inner @ basis, g, rcond=None)[0]) * dof / (small_sample.f_dof * q)
    return f, 0.0 if f == np.inf else float(fdtrc(q, dof, f)), dof


def dof_of_tests(model: Any) -> float:
    """Return the degrees of freedom of t and F: G − 1 with G clusters, as R's coeftest(df = G − 1).

    Without clusters they are those of the residuals; for a logistic model infinite, hence the normal distribution.
    """
    clusters: int | None = getattr(model, "n_clusters_", None)
    if clusters is not None:
        return clusters - 1
    return float(model.solution_.dof) if isinstance(model, LeastSquaresBase) else np.inf


def dof_of_terms(model: Any) -> float | Array:
    """Return the degrees of freedom of the t tests of terms: one number, or Satterthwaite's for each term.

    Satterthwaite's are those of the robust covariances HC2, HC3, CR2 and CR3.
    """
    small_sample: SmallSample | None = getattr(model, "small_sample_", None)
    return dof_of_tests(model) if small_sample is None else small_sample.term_dof


def t_p_values(statistic: Array, dof: float | Array) -> Array:
    """Return two-sided p-values of t statistics; NaN below one degree of freedom."""
    values = 2 * np.where(np.equal(dof, np.inf), ndtr(-np.abs(statistic)), stdtr(dof, -np.abs(statistic)))
    return np.where(np.greater_equal(dof, MIN_DOF), values, np.nan)


def t_quantile(level: float, dof: float | Array = np.inf) -> Any:
    """Return how many standard errors an interval reaches to either side; NaN below one degree of freedom."""
    if np.ndim(dof) == 0:
        if dof == np.inf:
            return float(ndtri(0.5 + level / 2))
        return float(stdtrit(dof, 0.5 + level / 2)) if dof >= MIN_DOF else np.nan
    reach = np.where(np.equal(dof, np.inf), ndtri(0.5 + level / 2), stdtrit(dof, 0.5 + level / 2))
    return np.where(np.greater_equal(dof, MIN_DOF), reach, np.nan)


def degrees(value: float) -> float | int:
    """Return degrees of freedom as an integer if they are integral; for ridge they are not."""
    return round(value) if abs(value - round(value)) < 1e-9 else float(value)
