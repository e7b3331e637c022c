"""Compare two fitted models coefficient by coefficient and as a whole, without the rows of either."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.algorithm.least_squares.whitening import whiten
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.formatting import format_p_clause
from linearly.inference.tidy import check_single_target, dof_of_tests, require_solution, t_p_values, tidy
from linearly.inference.unwrap import unwrap_estimator
from linearly.models.base import column_names
from linearly.models.logistic_regression import LogisticRegression
from linearly.table import Table, to_python_value

Array = NDArray[np.float64]


@single_threaded_blas()
def diff(a: Any, b: Any) -> Table:
    """Return the change of each coefficient between two models that were fitted to different rows.

    Parameters
    ----------
    a, b : Model, LinearRegression, RidgeCV or LogisticRegression
        Two fitted models of one kind, with the same columns. Their rows must be different rows.

    Returns
    -------
    Table
        Columns ``term, first, second, change, std_error, statistic, p_value``, and ``label`` for three or more
        classes. The p-values are Welch's. A note gives a test that all coefficients are the same: Chow's test for
        least squares, a Wald test for logistic regression.

    Raises
    ------
    TypeError
        If the models have no standard errors.
    ValueError
        If the models differ in kind, columns, intercept, classes or reference class.

    See Also
    --------
    compare_models : Test the terms that one of two nested models adds.

    References
    ----------
    .. [1] Chow (1960), Tests of Equality Between Sets of Coefficients in Two Linear Regressions.

    Examples
    --------
    >>> import linearly as ly
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> before = ly.LinearRegression().fit(X, [1.0, 3.1, 4.9, 7.0])
    >>> after = ly.LinearRegression().fit(X, [1.5, 4.0, 7.1, 10.0])
    >>> ly.diff(before, after)["change"].round(2)
    array([0.33, 0.88])
    """
    first, second = (unwrap_estimator(model) for model in (a, b))
    _check_comparable(first, second)
    old, new = tidy(first), tidy(second)
    change = new["estimate"] - old["estimate"]
    error = np.hypot(old["std_error"], new["std_error"])
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = change / error
    dof = _welch_dof(old["std_error"], dof_of_tests(first), new["std_error"], dof_of_tests(second))
    columns = {name: old[name].tolist() for name in ("label", "term") if name in old.columns} | {
        "first": old["estimate"],
        "second": new["estimate"],
        "change": change,
        "std_error": error,
        "statistic": statistic,
        "p_value": np.array([t_p_values(np.array([t]), d)[0] for t, d in zip(statistic, dof, strict=True)]),
    }
    if isinstance(first, LogisticRegression):
        notes = [_wald_note(first, second, change, np.isfinite(error))]
    else:
        welch = "Standard errors treat the two sets of rows as independent (Welch's degrees of freedom)."
        notes = [_chow_note(first, second), welch]
    return Table(columns, "What changed", notes)


def _check_comparable(a: Any, b: Any) -> None:
    if type(a) is not type(b):
        raise ValueError(f"These are models of two kinds: {type(a).__name__} and {type(b).__name__}.")
    check_is_fitted(a)
    check_is_fitted(b)
    if column_names(a) != column_names(b):
        raise ValueError("These models have different columns: only models with the same design can be compared.")
    if getattr(a, "fit_intercept", True) != getattr(b, "fit_intercept", True):
        raise ValueError("One of these models has an intercept and the other has none: fit both alike.")
    if isinstance(a, LogisticRegression):
        if not np.array_equal(a.classes_, b.classes_):
            raise ValueError(f"The classes differ: {a.classes_.tolist()} and {b.classes_.tolist()}.")
        if not (a.multilabel_ or b.multilabel_) and a.reference_ != b.reference_:
            both = " and ".join(repr(to_python_value(model.reference_)) for model in (a, b))
            raise ValueError(f"The logits are against different classes, {both}: fit both with the same reference=.")
    elif not hasattr(a, "solution_") or hasattr(a, "classes_"):
        raise TypeError(f"{type(a).__name__} has no standard errors: diff compares linear and logistic models.")
    else:
        check_single_target(a, "diff")
        check_single_target(b, "diff")


@single_threaded_blas()
def chow(a: Any, b: Any) -> dict[str, float]:
    """Return Chow's test that two least-squares fits share all coefficients: ``statistic, df1, df2, p_value``.

    F = ((S − S₁ − S₂) / k) / ((S₁ + S₂) / (n₁ + n₂ − 2k)), with S the residual sum of squares of the pooled fit, which
    is solved from the sum of the two summaries.
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
    apart, together = float(one.rss[0] + two.rss[0]), float(pooled.rss[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(np.float64(max(together - apart, 0.0) / k) / np.float64(apart / df2))
    return {"statistic": statistic, "df1": k, "df2": df2, "p_value": float(fdtrc(k, df2, statistic))}


def _chow_note(a: Any, b: Any) -> str:
    try:
        test = chow(a, b)
    except ValueError as reason:
        return f"No Chow test: {reason}"
    p = format_p_clause(test["p_value"], 3)
    head = f"Chow test: F {test['statistic']:.4g} on {test['df1']} and {test['df2']} df"
    return f"{head}, {p}: {_verdict(test['p_value'])}."


def _wald_note(a: Any, b: Any, change: Array, known: NDArray[np.bool_]) -> str:
    if not known.any():
        return "No Wald test: no term has a standard error in both models."
    whitening = whiten((a.covariance_ + b.covariance_)[np.ix_(known, known)])
    statistic = float(((whitening.root.T @ change[known]) ** 2).sum())
    df = whitening.root.shape[1]
    p = float(chdtrc(df, statistic))
    which = "all terms" if known.all() else f"{int(known.sum())} terms that have standard errors"
    return f"Wald test of {which}: χ² {statistic:.4g} on {df} df, p {p:.3g}: {_verdict(p)}."


def _verdict(p: float) -> str:
    return "the coefficients differ" if p < 0.05 else "no sign that the coefficients differ"


def _welch_dof(a: Array, df_a: float, b: Array, df_b: float) -> Array:
    """Return Welch's degrees of freedom, from standard errors and their degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (a**2 + b**2) ** 2 / (a**4 / df_a + b**4 / df_b)
    return np.where(np.isfinite(df), df, df_a + df_b)
