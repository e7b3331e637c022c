"""Compare two fitted models coefficient by coefficient and jointly, without the rows of either."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc

from linearly.algorithm.least_squares.whitening import whiten
from linearly.inference.fitted_terms import check_single_target
from linearly.inference.tidy import tidy
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import dof_of_terms, dof_of_tests, t_p_values
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.models.base import check_fitted, column_names
from linearly.models.kind_checks import is_logistic
from linearly.table import Table, to_python_value


def coefficient_changes(a: Any, b: Any) -> Table:
    """Return the change of each coefficient between two models of different rows, with Welch's test of each.

    Raise `TypeError` if the models have no standard errors, `ValueError` if they are not of one kind and design.
    """
    first, second = (unwrap_estimator(model) for model in (a, b))
    _check_comparable(first, second)
    old, new = tidy(first), tidy(second)
    change = new["estimate"] - old["estimate"]
    error = np.hypot(old["std_error"], new["std_error"])
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = change / error
    dof = _welch_dof(old["std_error"], dof_of_terms(first), new["std_error"], dof_of_terms(second))
    columns = {name: old[name].tolist() for name in ("label", "term") if name in old.columns} | {
        "first": old["estimate"],
        "second": new["estimate"],
        "change": change,
        "std_error": error,
        "statistic": statistic,
        "p_value": np.array([t_p_values(np.array([t]), d)[0] for t, d in zip(statistic, dof, strict=True)]),
    }
    return Table(columns, "Change of each coefficient")


def _check_comparable(a: Any, b: Any) -> None:
    if type(a) is not type(b):
        raise ValueError(
            f"The models are of different kinds, {type(a).__name__} and {type(b).__name__}. Compare two "
            "models of the same kind."
        )
    check_fitted(a)
    check_fitted(b)
    if column_names(a) != column_names(b):
        raise ValueError("The models have different columns. Fit both with the same design.")
    if getattr(a, "fit_intercept", True) != getattr(b, "fit_intercept", True):
        raise ValueError("One model has an intercept, but the other does not. Fit both with the same fit_intercept.")
    if is_logistic(a):
        if not np.array_equal(a.classes_, b.classes_):
            raise ValueError(
                f"The classes differ: {a.classes_.tolist()} and {b.classes_.tolist()}. Fit both "
                "models to rows with the same classes."
            )
        if not (a.multilabel_ or b.multilabel_) and a.reference_ != b.reference_:
            both = " and ".join(repr(to_python_value(model.reference_)) for model in (a, b))
            raise ValueError(f"The logits have different reference classes, {both}. Fit both with the same reference=.")
    elif not hasattr(a, "solution_") or hasattr(a, "classes_"):
        raise TypeError(f"{type(a).__name__} has no standard errors. Compare linear or logistic models.")
    else:
        check_single_target(a, "diff")
        check_single_target(b, "diff")


@single_threaded_blas()
def joint_test(a: Any, b: Any) -> dict[str, float]:
    """Return the test that two fitted models share all coefficients: ``statistic, df1, df2, p_value``.

    W = d'(V₁ + V₂)⁻¹d for the changes d and the covariances of the two fits, whose error variances may differ. For
    least squares W is scaled and compared with an F distribution whose degrees of freedom match its mean and variance
    (Kenward & Roger 1997): each fit has one error variance, estimated on its residual degrees of freedom. For one term
    this is Welch's test. For logistic regression df2 is infinite, and W has a χ² distribution.
    """
    first, second = (unwrap_estimator(model) for model in (a, b))
    old, new = tidy(first), tidy(second)
    change = new["estimate"] - old["estimate"]
    return _joint_test(first, second, change, np.isfinite(np.hypot(old["std_error"], new["std_error"])))


def _joint_test(a: Any, b: Any, change: Array, known: NDArray[np.bool_]) -> dict[str, float]:
    if not known.any():
        raise ValueError("no term has a standard error in both models")
    if any(getattr(getattr(model, "solution_", None), "alpha", 0) > 0 for model in (a, b)):
        raise ValueError("the coefficients are shrunk by a penalty")
    each = np.ix_(known, known)
    covariances = [np.asarray(model.covariance_)[each] for model in (a, b)]
    whitening = whiten(covariances[0] + covariances[1])
    statistic = float(((whitening.root.T @ change[known]) ** 2).sum())
    df1 = whitening.root.shape[1]
    # tr(V⁻¹Vᵢ) and tr((V⁻¹Vᵢ)²), with weights 2 / df: the squared coefficient of variation of an error variance.
    shares = [whitening.root.T @ covariance @ whitening.root for covariance in covariances]
    weights = [2 / dof_of_tests(model) for model in (a, b)]
    A1 = sum(w * np.trace(share) ** 2 for w, share in zip(weights, shares, strict=True))
    A2 = sum(w * (share * share.T).sum() for w, share in zip(weights, shares, strict=True))
    scale, df2 = _matched_f(df1, float(A1), float(A2))
    p_value = chdtrc(df1, statistic) if df2 == np.inf else fdtrc(df1, df2, scale * statistic / df1)
    return {"statistic": scale * statistic / df1, "df1": df1, "df2": df2, "p_value": float(p_value)}


def _matched_f(k: int, A1: float, A2: float) -> tuple[float, float]:
    """Return the factor and the denominator degrees of freedom of an F that has the mean and variance of W / k."""
    if A2 <= 0:
        return 1.0, np.inf
    B, g = (A1 + 6 * A2) / (2 * k), ((k + 1) * A1 - (k + 4) * A2) / ((k + 2) * A2)
    c = 3 * k + 2 * (1 - g)
    c1, c2, c3 = g / c, (k - g) / c, (k + 2 - g) / c
    if k <= A2 or c3 * B >= 1 or c2 * B >= 1:
        raise ValueError("one of the models has too few rows for its terms")
    mean = 1 / (1 - A2 / k)
    variance = 2 / k * (1 + c1 * B) / ((1 - c2 * B) ** 2 * (1 - c3 * B))
    df2 = 4 + (k + 2) / (k * variance / (2 * mean**2) - 1)
    return df2 / (mean * (df2 - 2)), df2


def is_same_model(a: Any, b: Any) -> bool:
    """Return whether two models have the same coefficients and covariances."""
    first, second = (unwrap_estimator(model) for model in (a, b))
    same = np.array_equal(first.coef_, second.coef_) and np.array_equal(first.covariance_, second.covariance_)
    return first is second or bool(same)


def shares_rows(a: Any, b: Any) -> bool:
    """Return whether two models were fitted to some of the same blocks of rows, as far as they record them."""
    return bool(hasattr(a, "ledger") and hasattr(b, "ledger") and a.ledger.shared_with(b.ledger))


def _welch_dof(a: Array, df_a: float | Array, b: Array, df_b: float | Array) -> Array:
    """Return Welch's degrees of freedom, from standard errors and their degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (a**2 + b**2) ** 2 / (a**4 / df_a + b**4 / df_b)
    return np.where(np.isfinite(df), df, df_a + df_b)
