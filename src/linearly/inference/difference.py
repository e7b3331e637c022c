"""What changed between two fitted models: coefficient by coefficient, and as a whole, without the rows of either."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.algorithm.least_squares.whitening import whiten
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.evaluation.targets import to_plain_values
from linearly.inference.tidy import check_single_target, dof_of_tests, require_solution, t_p_values, term_names, tidy
from linearly.inference.unwrap import unwrap_estimator
from linearly.models.base import column_names
from linearly.models.logistic_regression import LogisticRegression
from linearly.table import Table

Array = NDArray[np.float64]


@single_threaded_blas()
def diff(a: Any, b: Any) -> Table:
    """A row for each term: ``term, first, second, change, std_error, statistic, p_value``; two models of one kind.

    The rows of the two fits must be different rows. For least squares the notes give Chow's test that all coefficients
    are the same, which needs the sum of the two summaries only; for logistic regression a Wald test of the same.
    """
    first, second = (unwrap_estimator(model) for model in (a, b))
    if type(first) is not type(second):
        raise ValueError(f"These are models of two kinds: {type(first).__name__} and {type(second).__name__}.")
    check_is_fitted(first)
    check_is_fitted(second)
    if column_names(first) != column_names(second):
        raise ValueError("These models have different columns: only models with the same design can be compared.")
    if getattr(first, "fit_intercept", True) != getattr(second, "fit_intercept", True):
        raise ValueError("One of these models has an intercept and the other has none: fit both alike.")
    if isinstance(first, LogisticRegression):
        return _diff_logistic(first, second)
    if not hasattr(first, "solution_") or hasattr(first, "classes_"):
        raise TypeError(f"{type(first).__name__} has no standard errors: diff compares linear and logistic models.")
    return _diff_linear(first, second)


def _diff_linear(a: Any, b: Any) -> Table:
    check_single_target(a, "diff")
    check_single_target(b, "diff")
    first, second = tidy(a), tidy(b)
    change, error, statistic = _changes(first, second)
    p_value = _welch_tests(a, first, b, second, statistic)
    notes = [chow_test(a, b), "Standard errors treat the two sets of rows as independent (Welch's degrees of freedom)."]
    return Table(
        {
            "term": list(term_names(a)),
            "first": first["estimate"],
            "second": second["estimate"],
            "change": change,
            "std_error": error,
            "statistic": statistic,
            "p_value": p_value,
        },
        "What changed",
        notes,
    )


@single_threaded_blas()
def chow(a: Any, b: Any) -> dict[str, float]:
    """Chow's test that two least-squares fits share all their coefficients: ``statistic, df1, df2, p_value``.

    F = ((S − S₁ − S₂) / k) / ((S₁ + S₂) / (n₁ + n₂ − 2k)), with S the residual sum of squares of the pooled fit, read
    off the sum of the two summaries.
    """
    one, two = require_solution(a), require_solution(b)
    if a.covariance != "classical" or b.covariance != "classical":
        raise ValueError("Chow's test assumes errors of equal variance, and these fits do not.")
    if one.alpha > 0 or two.alpha > 0:
        raise ValueError("Chow's test is for least squares without a penalty.")
    if type(a.summary_) is not type(b.summary_):
        raise ValueError("These models keep different summaries: fit both with the same method=.")
    pooled = RidgeProblem(0.0, bool(a.fit_intercept)).solve(a.summary_ + b.summary_)
    k = pooled.rank + int(pooled.has_intercept)
    if one.rank != pooled.rank or two.rank != pooled.rank:
        raise ValueError("Chow's test needs enough rows in both models: one of them cannot tell all columns apart.")
    df2 = one.n + two.n - 2 * k
    if df2 <= 0:
        raise ValueError(f"Chow's test needs more than {2 * k} rows in all, and there are {one.n + two.n}.")
    apart = float(one.rss[0] + two.rss[0])
    together = float(pooled.rss[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(np.float64(max(together - apart, 0.0) / k) / np.float64(apart / df2))
    return {"statistic": statistic, "df1": k, "df2": df2, "p_value": float(fdtrc(k, df2, statistic))}


def chow_test(a: Any, b: Any) -> str:
    """Chow's test in a sentence, or why there is none."""
    try:
        found = chow(a, b)
    except ValueError as reason:
        return f"No Chow test: {reason}"
    verdict = "the coefficients differ" if found["p_value"] < 0.05 else "no sign that the coefficients differ"
    p = "p < 1e-16" if found["p_value"] < 1e-16 else f"p {found['p_value']:.3g}"
    return f"Chow test: F {found['statistic']:.4g} on {found['df1']} and {found['df2']} df, {p}: {verdict}."


def _diff_logistic(a: Any, b: Any) -> Table:
    if not np.array_equal(a.classes_, b.classes_):
        raise ValueError(f"The classes differ: {a.classes_.tolist()} and {b.classes_.tolist()}.")
    if not (a.multilabel_ or b.multilabel_) and a.reference_ != b.reference_:
        both = " and ".join(repr(to_plain_values(model.reference_)) for model in (a, b))
        raise ValueError(f"The logits are against different classes, {both}: fit both with the same reference=.")
    first, second = tidy(a), tidy(b)
    change, error, statistic = _changes(first, second)
    columns: dict[str, Any] = {"term": first["term"].tolist()}
    if "label" in first.columns:
        columns = {"label": first["label"].tolist(), **columns}
    columns |= {
        "first": first["estimate"],
        "second": second["estimate"],
        "change": change,
        "std_error": error,
        "statistic": statistic,
        "p_value": _welch_tests(a, first, b, second, statistic),
    }
    known = np.isfinite(error)
    if not known.any():
        return Table(columns, "What changed", ["No Wald test: no term has a standard error in both models."])
    found = whiten((a.covariance_ + b.covariance_)[np.ix_(known, known)])
    wald = float(((found.root.T @ change[known]) ** 2).sum())
    df = found.root.shape[1]
    p = chdtrc(df, wald)
    verdict = "the coefficients differ" if p < 0.05 else "no sign that the coefficients differ"
    which = "all terms" if known.all() else f"{int(known.sum())} terms that have standard errors"
    notes = [f"Wald test of {which}: χ² {wald:.4g} on {df} df, p {p:.3g}: {verdict}."]
    return Table(columns, "What changed", notes)


def _changes(first: Table, second: Table) -> tuple[Array, Array, Array]:
    """Of each term: the change, its standard error where the rows are independent, and their ratio."""
    change = second["estimate"] - first["estimate"]
    error = np.hypot(first["std_error"], second["std_error"])
    with np.errstate(divide="ignore", invalid="ignore"):
        return change, error, change / error


def _welch_tests(a: Any, first: Table, b: Any, second: Table, statistic: Array) -> Array:
    """Two-sided p-values of the changes, on Welch's degrees of freedom."""
    dof = _welch(first["std_error"], dof_of_tests(a), second["std_error"], dof_of_tests(b))
    return np.array([t_p_values(np.array([t]), d)[0] for t, d in zip(statistic, dof, strict=True)])


def _welch(a: Array, df_a: float, b: Array, df_b: float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (a**2 + b**2) ** 2 / (a**4 / df_a + b**4 / df_b)
    return np.where(np.isfinite(df), df, df_a + df_b)
