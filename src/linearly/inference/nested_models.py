"""Does the bigger of two nested models fit better than chance would have it? `compare_models`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.dataset.design.design import Design, DesignRows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.sources import read_as
from linearly.inference.likelihood import check_unpenalized, largest_log_likelihood, parameters_of
from linearly.inference.tidy import check_single_target, degrees, require_solution
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.matrices import dense, drop_low_part
from linearly.models.base import Array, column_names
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.logistic_regression import LogisticRegression
from linearly.table import Table

_POLYNOMIAL = re.compile(r"poly\((?P<x>[^:]+), \d+(?:, raw=True)?\)\[(?P<k>\d+)\]")
_ROUNDING = 1e-9  # two sums over the same rows, taken in another order or by a triangle, differ by less


@single_threaded_blas()
def compare_models(small: Any, big: Any) -> Table:
    """Do the terms of the bigger of two nested models matter? ``statistic, df, p_value``.

    Least squares: the F test (``df`` and ``df_residual``). Logistic regression: the likelihood-ratio test. Both models
    must be fitted without penalty to the same rows, with the same target and weights; the columns of the small one, and
    its intercept, are among those of the big one or, for two `Model`s, combinations of them. So ``y ~ x`` is nested in
    ``y ~ C(x)``, and comparing them tests for lack of fit.
    """
    designs = [getattr(model, "design", None) for model in (small, big)]
    small, big = unwrap_estimator(small), unwrap_estimator(big)
    check_is_fitted(small)
    check_is_fitted(big)
    _refuse_not_nested(small, big, *designs)
    if isinstance(small, LogisticRegression) and isinstance(big, LogisticRegression):
        return _by_likelihood(small, big)
    return _by_squares(small, big)


def _power(name: str) -> str:
    """A column by the power that it adds: polynomials of a lower degree are among those of a higher one, raw or not."""
    return _POLYNOMIAL.sub(lambda found: found["x"] + (f"^{found['k']}" if found["k"] != "1" else ""), name)


def _refuse_not_nested(small: Any, big: Any, inner: Design | None, outer: Design | None) -> None:
    """Refuse a smaller model with a column or an intercept that the bigger one does not make up for."""
    known = {_power(name) for name in column_names(big)}
    lacking = [name for name in column_names(small) if _power(name) not in known]
    named = all(hasattr(model, "feature_names_in_") for model in (small, big))
    if named and lacking and not (inner is not None and outer is not None and _spans(outer, inner)):
        raise ValueError(f"Not nested: {lacking} are neither columns of the bigger model nor combinations of them.")
    constant = [bool(getattr(model, "fit_intercept", True)) for model in (small, big)]
    if constant == [True, False] and not _spans_constant(big):
        raise ValueError(
            "Not nested: the smaller model has an intercept, and the bigger one has none. Fit both with an intercept."
        )


def _spans(outer: Design, inner: Design) -> bool:
    """Return whether every column of one design is a combination of those of another, whatever the rows.

    Both are computed for made-up rows: levels at random, and numbers in general position. Terms are analytic functions
    of numbers, so what holds for these rows holds for all. Only abs() has corners, and is not taken for a combination.
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
    left = B - A @ np.linalg.lstsq(A, B, rcond=1e-12)[0]
    return bool((np.linalg.norm(left, axis=0) < _ROUNDING).all())


def _matrix(design: Design, columns: dict[str, list[Any]]) -> Array:
    needed = {name: columns[name] for name in design.features}
    rows = DesignRows(read_as(needed, design), design.without_target())
    return np.concatenate([drop_low_part(dense(block.X)) for block in rows])


def _by_squares(small: Any, big: Any) -> Table:
    a, b = require_solution(small), require_solution(big)
    check_single_target(small, "compare_models")
    check_single_target(big, "compare_models")
    if a.alpha or b.alpha:
        raise ValueError("compare_models takes models without a penalty: fit both with alpha=0.")
    _refuse_other_rows(small, big)
    df = round(a.dof - b.dof)
    if df <= 0:
        raise ValueError("The bigger model, second, must have more terms than the smaller one.")
    if float(b.rss[0] - a.rss[0]) > _ROUNDING * max(a.tss[0], b.tss[0]):
        raise _fits_better(f"residual sum of squares {a.rss[0]:.6g} against {b.rss[0]:.6g}")
    f = float((a.rss[0] - b.rss[0]) / df / b.sigma2[0])
    return Table(
        {
            "statistic": [f],
            "df": [df],
            "df_residual": [degrees(b.dof)],
            "p_value": [float(fdtrc(df, b.dof, max(f, 0.0)))],
        }
    )


def _by_likelihood(small: LogisticRegression, big: LogisticRegression) -> Table:
    for model in (small, big):
        check_unpenalized(model, "compare_models")
    _refuse_other_classes(small, big)
    df = parameters_of(big) - parameters_of(small)
    if df <= 0:
        raise ValueError("The bigger model, second, must have more terms than the smaller one.")
    more, less = largest_log_likelihood(big), largest_log_likelihood(small)
    statistic = 2 * (more - less)
    if statistic < 1e-6 * less:
        raise _fits_better(f"log likelihood {less:.6g} against {more:.6g}")
    return Table({"statistic": [statistic], "df": [df], "p_value": [float(chdtrc(df, max(statistic, 0.0)))]})


def _refuse_other_rows(small: LeastSquaresBase, big: LeastSquaresBase) -> None:
    """Refuse two fits of different rows, weights or targets, as far as sums over the rows tell."""
    # The mean alone, fitted with either summary: whatever differs then is not due to the columns.
    a, b = (model.summary_.select([], True).solve() for model in (small, big))
    if a.n != b.n:
        raise _not_alike("rows", f"there are {a.n} and {b.n}")
    if not _close(a.weight, b.weight) or abs(a.log_weight - b.log_weight) > _ROUNDING * (a.n + abs(a.log_weight)):
        raise _not_alike(
            "weights",
            f"they add up to {a.weight:.6g} and {b.weight:.6g}, their logarithms to "
            f"{a.log_weight:.6g} and {b.log_weight:.6g}",
        )
    first, second, far = float(a.tss[0]), float(b.tss[0]), abs(float(a.prediction_at_mean[0]))
    spread = np.sqrt(max(first, second) / a.weight)
    # Of numbers far from zero rounding leaves a spread of its own.
    if not _close(np.sqrt(first / a.weight), np.sqrt(second / a.weight), 1e-14 * far):
        raise _not_alike("target", f"its squares about the mean add up to {first:.6g} and {second:.6g}")
    if not abs(float(a.prediction_at_mean[0] - b.prediction_at_mean[0])) <= _ROUNDING * (far + spread):
        raise _not_alike("target", f"its mean is {a.prediction_at_mean[0]:.6g} and {b.prediction_at_mean[0]:.6g}")


def _refuse_other_classes(small: Any, big: Any) -> None:
    """Refuse two logistic regressions whose classes differ, or the weights of their rows."""
    if small.n_rows_ != big.n_rows_:
        raise _not_alike("rows", f"there are {small.n_rows_} and {big.n_rows_}")
    if not np.array_equal(small.classes_, big.classes_):
        raise _not_alike("classes", f"they are {small.classes_.tolist()} and {big.classes_.tolist()}")
    for label, first, second in zip(small.classes_.tolist(), small._class_weights, big._class_weights, strict=True):
        if not _close(first, second):
            raise _not_alike("weights or labels", f"the rows of class {label!r} weigh {first:.6g} and {second:.6g}")


def _spans_constant(model: Any) -> bool:
    """Whether the columns of a model without intercept make up for one, as all levels of a category do."""
    if not isinstance(model, LeastSquaresBase):
        return False  # a likelihood leaves no sums behind that would tell
    return RidgeProblem(0.0).solve(model.summary_).rank + 1 == model.solution_.rank


def _fits_better(how: str) -> ValueError:
    """What to say of a smaller model with the better fit, which none of nested models has."""
    return ValueError(
        f"Not nested: the smaller model fits better ({how}). Give the bigger one all columns of the smaller one."
    )


def _not_alike(what: str, how: str) -> ValueError:
    return ValueError(
        f"compare_models takes two fits of the same rows, target and weights, and these do not have the same {what}: "
        f"{how}. Fit both models to the same data."
    )


def _close(a: float, b: float, least: float = 0.0) -> bool:
    return bool(a == b or abs(a - b) <= _ROUNDING * max(abs(a), abs(b)) + least)
