"""Test whether the bigger of two nested models fits better than chance explains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc, fdtrc

from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.dataset.design.design import Design, DesignRows
from linearly.dataset.sources import read_as
from linearly.inference.coefficients import coefficients_of
from linearly.inference.fitted_rows import SUM_TOL, same_sum, same_weights
from linearly.inference.fitted_terms import check_single_target, count_parameters, require_solution
from linearly.inference.likelihood import check_unpenalized, largest_log_likelihood, small_sample_notes
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import degrees
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense, drop_low_part
from linearly.models.base import check_fitted, column_names
from linearly.models.kind_checks import is_logistic
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Table

if TYPE_CHECKING:
    from linearly.models.logistic_regression import LogisticRegression

_POLYNOMIAL = re.compile(r"poly\((?P<x>[^:]+), \d+(?:, raw=True)?\)\[(?P<k>\d+)\]")


@single_threaded_blas()
def compare_models(small: Any, big: Any) -> Table:
    """Test the additional terms of the bigger of two nested models.

    Parameters
    ----------
    small, big : Model, LinearRegression or LogisticRegression
        Two models of one kind, fitted without penalty to the same rows, target and weights. The columns of the small
        model, and its intercept, must be columns of the big model or, for two `Model`s, linear combinations of them.
        For example, ``y ~ x`` is nested in ``y ~ C(x)``, and comparing the two tests for lack of fit.

    Returns
    -------
    Table
        One row. Least squares: the F test, ``statistic, df, df_residual, p_value``. Logistic regression: the
        likelihood-ratio test, ``statistic, df, p_value``. If the bigger model has a robust or clustered covariance, the
        Wald test with that covariance, as in `hypotheses`.

    Raises
    ------
    ValueError
        If the models are not nested, were penalised, or were fitted to different rows, targets or weights. With a
        robust covariance, also if columns of the small model have other names in the big one.

    See Also
    --------
    likelihood_ratio_tests : The test of each feature of one logistic regression.
    diff : Compare models with the same terms, fitted to different rows.

    References
    ----------
    .. [1] Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, equation 3.13.

    Examples
    --------
    >>> import linearly as ly
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0], [4.0, 5.0]], [1.0, 3.0, 5.0, 8.0, 9.0]
    >>> small = ly.LinearRegression().fit([row[:1] for row in X], y)
    >>> ly.compare_models(small, ly.LinearRegression().fit(X, y))
    statistic  df  df_residual  p_value
    -----------------------------------
        1.500   1            2   0.3453
    """
    designs = [getattr(model, "design", None) for model in (small, big)]
    small, big = unwrap_estimator(small), unwrap_estimator(big)
    check_fitted(small)
    check_fitted(big)
    _check_nested(small, big, *designs)
    if is_logistic(small) and is_logistic(big):
        return _likelihood_ratio_test(small, big)
    return _f_test(small, big)


def _power(name: str) -> str:
    """Return the power of x that a column of a polynomial adds: lower degrees are nested in higher ones, raw or not."""
    return _POLYNOMIAL.sub(lambda found: found["x"] + (f"^{found['k']}" if found["k"] != "1" else ""), name)


def _check_nested(small: Any, big: Any, inner: Design | None, outer: Design | None) -> None:
    """Raise ValueError if a column of the smaller model, or its intercept, is not a combination of the bigger one's."""
    known = {_power(name) for name in column_names(big)}
    missing = [name for name in column_names(small) if _power(name) not in known]
    named = all(hasattr(model, "feature_names_in_") for model in (small, big))
    if named and missing and not (inner is not None and outer is not None and _spans(outer, inner)):
        raise ValueError(
            f"The models are not nested: {missing} are neither columns of the bigger model nor linear "
            "combinations of them. Add them to the bigger model."
        )
    constant = [bool(getattr(model, "fit_intercept", True)) for model in (small, big)]
    if constant == [True, False] and not _spans_constant(big):
        raise ValueError(
            "The models are not nested: the smaller one has an intercept, but the bigger one does not. Fit both with "
            "an intercept."
        )


def _spans(outer: Design, inner: Design) -> bool:
    """Return whether every column of one design is a combination of those of another, whatever the rows.

    Both designs are computed for made-up rows: random levels, and numbers in general position. Terms are analytic
    functions of numbers, so what holds for these rows holds for all. Only abs() is not, and counts as no combination.
    """
    if any("abs(" in name for name in inner.names):
        return False
    draw = np.random.default_rng(0)
    levels = {category.name: category.levels for design in (inner, outer) for category in design.categories}
    columns: dict[str, list[Any]] = {}
    n = 50 + 4 * (len(inner.names) + len(outer.names))
    for name in dict.fromkeys((*inner.features, *outer.features)):
        known = levels.get(name)
        codes = draw.integers(len(known or ()) or 1, size=n)
        columns[name] = [known[k] for k in codes] if known else draw.uniform(0.5, 1.5, n).tolist()
    try:
        parts = [_matrix(design, columns) for design in (inner, outer)]
    except ValueError:  # a logarithm of such numbers, say
        return False
    B, A = (np.column_stack([np.ones(n), part]) for part in parts)
    A = A if outer.intercept else A[:, 1:]
    B = B[:, 1:] / np.linalg.norm(B[:, 1:], axis=0)
    rest = B - A @ np.linalg.lstsq(A, B, rcond=1e-12)[0]
    return bool((np.linalg.norm(rest, axis=0) < SUM_TOL).all())


def _matrix(design: Design, columns: dict[str, list[Any]]) -> Array:
    needed = {name: columns[name] for name in design.features}
    rows = DesignRows(read_as(needed, design), design.without_target())
    return np.concatenate([drop_low_part(dense(block.X)) for block in rows])


def _f_test(small: Any, big: Any) -> Table:
    a, b = require_solution(small), require_solution(big)
    check_single_target(small, "compare_models")
    check_single_target(big, "compare_models")
    if a.alpha or b.alpha:
        raise ValueError("compare_models requires models without a penalty. Fit both with alpha=0.")
    _check_same_rows(small, big)
    df = _check_more_terms(round(a.dof - b.dof))
    if float(b.rss[0] - a.rss[0]) > SUM_TOL * max(a.tss[0], b.tss[0]):
        raise _fits_better(f"residual sum of squares {a.rss[0]:.6g} against {b.rss[0]:.6g}")
    if big.covariance != "classical":
        columns = _columns_in(small, big)
        again = RidgeProblem(0.0, a.has_intercept).solve(big.summary_.select(columns))
        if not same_sum(float(a.rss[0]), float(again.rss[0]), INTERPOLATION_TOL * float(a.tss[0])):
            raise _other_names(big)
        return _wald_test(small, big, columns)
    f = float((a.rss[0] - b.rss[0]) / df / b.sigma2[0])
    p_value = float(fdtrc(df, b.dof, max(f, 0.0)))
    return Table({"statistic": [f], "df": [df], "df_residual": [degrees(b.dof)], "p_value": [p_value]})


def _columns_in(small: Any, big: Any) -> list[int]:
    """Return the positions of the smaller model's columns among those of the bigger one; raise if one has none."""
    place = {name: j for j, name in enumerate(column_names(big))}
    if not all(name in place for name in column_names(small)):
        raise _other_names(big)
    return [place[name] for name in column_names(small)]


def _wald_test(small: Any, big: Any, columns: list[int]) -> Table:
    """Test with the covariance of the bigger model that the coefficients of its other columns are 0."""
    coefficients = coefficients_of(big, "compare_models")
    shared, first = set(columns), int(big.fit_intercept)
    added = [first + j for j in range(len(column_names(big))) if j not in shared]
    if big.fit_intercept and not small.fit_intercept:
        added.insert(0, 0)
    of_all_logits = np.concatenate(
        [np.array(added) + k * len(coefficients.names) for k in range(coefficients.n_logits)]
    )
    found = coefficients.test(np.eye(coefficients.width)[of_all_logits])
    notes = [f"The test is a Wald test with covariance={big.covariance!r}."]
    if np.isnan(found.statistic):
        notes.append("The rows do not determine all added terms, so no test is possible. Leave such terms out.")
    residual = {"df_residual": [degrees(found.dof)]} if np.isfinite(found.dof) else {}
    return Table(
        {"statistic": [found.statistic], "df": [found.df], **residual, "p_value": [found.p_value]}, notes=notes
    )


def _likelihood_ratio_test(small: LogisticRegression, big: LogisticRegression) -> Table:
    for model in (small, big):
        check_unpenalized(model, "compare_models")
    _check_same_classes(small, big)
    df = _check_more_terms(count_parameters(big) - count_parameters(small))
    more, less = largest_log_likelihood(big), largest_log_likelihood(small)
    statistic = 2 * (more - less)
    if statistic < 1e-6 * less:
        raise _fits_better(f"log likelihood {less:.6g} against {more:.6g}")
    if big.covariance != "classical":
        if not (hasattr(small, "feature_names_in_") and hasattr(big, "feature_names_in_")):
            raise _other_names(big)
        return _wald_test(small, big, _columns_in(small, big))
    p_value = float(chdtrc(df, max(statistic, 0.0)))
    return Table({"statistic": [statistic], "df": [df], "p_value": [p_value]}, notes=small_sample_notes(big))


def _check_same_rows(small: LeastSquaresBase, big: LeastSquaresBase) -> None:
    """Raise ValueError if sums over the rows show that two fits had different rows, weights or targets."""
    # The mean alone, fitted with either summary: what differs then is not due to the columns.
    a, b = (model.summary_.select([], True).solve() for model in (small, big))
    if a.n != b.n:
        raise _not_alike("rows", f"{a.n} and {b.n} rows")
    if not same_weights(b.weight, b.log_weight, a):
        raise _not_alike(
            "weights",
            f"the weights add up to {a.weight:.6g} and {b.weight:.6g}, their logarithms to {a.log_weight:.6g} and "
            f"{b.log_weight:.6g}",
        )
    first, second, far = float(a.tss[0]), float(b.tss[0]), abs(float(a.prediction_at_mean[0]))
    spread = np.sqrt(max(first, second) / a.weight)
    # Rounding alone spreads numbers that are far from zero.
    if not same_sum(np.sqrt(first / a.weight), np.sqrt(second / a.weight), 1e-14 * far):
        raise _not_alike("target", f"the squared deviations from its mean add up to {first:.6g} and {second:.6g}")
    if not abs(float(a.prediction_at_mean[0] - b.prediction_at_mean[0])) <= SUM_TOL * (far + spread):
        raise _not_alike("target", f"its mean is {a.prediction_at_mean[0]:.6g} and {b.prediction_at_mean[0]:.6g}")


def _check_same_classes(small: Any, big: Any) -> None:
    """Raise ValueError if two logistic regressions differ in rows, classes or the weights of classes."""
    if small.n_rows_ != big.n_rows_:
        raise _not_alike("rows", f"{small.n_rows_} and {big.n_rows_} rows")
    if not np.array_equal(small.classes_, big.classes_):
        raise _not_alike("classes", f"they are {small.classes_.tolist()} and {big.classes_.tolist()}")
    for label, first, second in zip(small.classes_.tolist(), small.class_weights_, big.class_weights_, strict=True):
        if not same_sum(first, second):
            raise _not_alike(
                "weights or labels", f"the rows of class {label!r} have weight {first:.6g} and {second:.6g}"
            )


def _spans_constant(model: Any) -> bool:
    """Return whether the columns of a model without intercept add up to one, as all levels of a category do."""
    if not isinstance(model, LeastSquaresBase):
        return False  # a logistic fit keeps no sums that would show it
    return RidgeProblem(0.0).solve(model.summary_).rank + 1 == model.solution_.rank


def _check_more_terms(df: int) -> int:
    if df <= 0:
        raise ValueError(
            "The bigger model, second, must have more terms than the smaller one. Swap them, or add terms."
        )
    return df


def _other_names(big: Any) -> ValueError:
    return ValueError(
        f"With covariance={big.covariance!r}, compare_models identifies added terms by column name, but these "
        "names do not show which columns the models share. Pass data frames with the same names, or test the "
        "terms with hypotheses(big, [...], joint=True)."
    )


def _fits_better(how: str) -> ValueError:
    return ValueError(
        f"The models are not nested: the smaller one fits better ({how}). Add all columns of the smaller model to the "
        "bigger one."
    )


def _not_alike(what: str, how: str) -> ValueError:
    return ValueError(
        f"compare_models requires two fits of the same rows, target and weights, but these differ in {what}: {how}. "
        "Fit both models to the same data."
    )
