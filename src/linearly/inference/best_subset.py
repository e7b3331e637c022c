"""Tabulate the best least-squares model of each size, with the proof that no other is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.algorithm.elastic_net.best_subset import MAX_NODES, Subsets, best_subsets
from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries, held_out_errors
from linearly.algorithm.least_squares.solver import RidgeProblem, check_has_rows_and_targets
from linearly.dataset.rows.block import default_names, is_rows
from linearly.formatting import describe_dependent
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.models.base import check_fitted, column_names
from linearly.models.elastic_net_base import ElasticNetBase
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_integer
from linearly.models.ridge_cv import summarize_folds
from linearly.table import Table

MAX_COLUMNS = 60  # beyond which a search of some minutes proves little


@single_threaded_blas()
def best_subset(
    model_or_rows: Any, max_size: int | None = None, *, folds: int = 5, max_nodes: int = MAX_NODES
) -> Table:
    """Return the best least-squares model of each size, by branch and bound on the summary of the rows.

    Parameters
    ----------
    model_or_rows : Model, LinearRegression, RidgeCV, ElasticNet, ElasticNetCV or Rows
        A fitted model of one target, whose summary is searched without its rows, or rows with targets.
    max_size : int, optional
        Largest number of columns; by default all.
    folds : int, default=5
        Folds for the cross-validated error, if rows are given. A fitted `RidgeCV` or `ElasticNetCV` has its own folds.
    max_nodes : int, default=5000000
        Number of models after which the search stops.

    Returns
    -------
    Table
        One row per size: ``size, terms, rss, r_squared, adj_r_squared, aic, bic, cv_error, bound, proven``. ``bound``
        is a lower bound on the residual sum of squares of every model of that size. If the search was complete,
        ``bound`` equals ``rss``, and ``proven`` is true. ``cv_error`` is the mean squared error on held-out rows, with
        these terms. It is NaN if the model has no folds.

    Raises
    ------
    ValueError
        If the columns are linearly dependent, if they are more than 60, or if the rows are fewer than the terms.

    See Also
    --------
    ElasticNetCV : Selection for any number of columns.

    Notes
    -----
    AIC and BIC count the intercept and the error variance as parameters, as `glance` does. The terms were selected with
    the same rows, so neither the cross-validated errors nor the standard errors of a refit account for the selection.

    References
    ----------
    .. [1] G. M. Furnival, R. W. Wilson (1974). Regressions by leaps and bounds. Technometrics 16, 499-511.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> table = ly.best_subset(ly.LinearRegression().fit(X, y), max_size=3)
    >>> table["terms"].tolist(), table["proven"].all()
    (['x2', 'x2, x8', 'x2, x3, x8'], np.True_)
    """
    summary, parts, names, intercept = _summary_of(model_or_rows, folds)
    p = summary.p
    size = p if max_size is None else min(check_integer("max_size", max_size, 1), p)
    check_integer("max_nodes", max_nodes, 1)
    _check_searchable(summary, names, intercept)
    loss = QuadraticLoss.of(summary, intercept)
    S = loss.S if loss.S is not None else loss.columns(np.arange(p))
    found = best_subsets(S, loss.c[:, 0], float(loss.total[0]), size, max_nodes)
    return _table(found, loss, names, _fold_errors(found, parts, intercept), float(summary.log_weight), intercept)


def _summary_of(source: Any, folds: int) -> tuple[Any, FoldSummaries | None, tuple[str, ...], bool]:
    """Return the summary, the summaries of folds if there are any, the names of the columns, and the intercept."""
    if is_rows(source):
        parts = summarize_folds(source, check_integer("folds", folds, 2))
        names = tuple(map(str, source.names)) or default_names(parts.parts[0].p)
        return parts.total(), parts, names, True
    model = unwrap_estimator(source)
    if not isinstance(model, (LeastSquaresBase, ElasticNetBase)):
        raise TypeError(
            f"best_subset requires a fitted least-squares model or rows, not {type(model).__name__}. Fit a regression."
        )
    check_fitted(model)
    return (
        model.summary_,
        getattr(model, "folds_", None),
        tuple(map(str, column_names(model))),
        bool(model.fit_intercept),
    )


def _check_searchable(summary: Any, names: tuple[str, ...], intercept: bool) -> None:
    check_has_rows_and_targets(summary)
    if len(summary.scaling.scale) - summary.p > 1:
        raise ValueError("best_subset accepts only one target. Search each target separately.")
    if summary.p > MAX_COLUMNS:
        raise ValueError(
            f"best_subset accepts at most {MAX_COLUMNS} columns, not {summary.p}. Use ElasticNetCV instead."
        )
    solution = RidgeProblem(0.0, intercept).solve(summary)
    if solution.aliased:
        dependent = [names[j] for j in solution.aliased]
        raise ValueError(f"{describe_dependent(dependent)}. Drop such columns first.")


def _fold_errors(found: Subsets, folds: FoldSummaries | None, intercept: bool) -> Array:
    """Return the mean squared error of each model on rows left out of its coefficients."""
    if folds is None:
        return np.full(len(found.rss), np.nan)
    squares = np.zeros(len(found.rss))
    for j, part in enumerate(folds.parts):
        if part.n == 0:
            continue
        loss = QuadraticLoss.of(folds.training_summary(j), intercept)
        W = np.zeros((loss.p, len(found.rss), 1))
        for i, A in enumerate(found.features):
            W[A, i, 0] = np.linalg.lstsq(loss.columns(A)[A], loss.c[A, 0], rcond=None)[0]
        coef, _ = loss.coefficients(W)
        centre = (loss.mean, loss.y_mean) if intercept else None
        squares += folds.weights[j] * held_out_errors(part, coef, centre)[:, 0]
    return np.asarray(squares / folds.weights.sum())


def _table(
    found: Subsets, loss: QuadraticLoss, names: tuple[str, ...], errors: Array, log_weight: float, intercept: bool
) -> Table:
    n, size, unit = loss.n, np.arange(1, len(found.rss) + 1), float(loss.y_unit[0]) ** 2
    rss, total = found.rss * unit, float(loss.total[0]) * unit
    terms = size + int(intercept)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_likelihood = 0.5 * (log_weight - n * (np.log(2 * np.pi) + 1 + np.log(rss / n)))
        adjusted = np.where(n > terms, 1 - (rss / (n - terms)) / (total / (n - int(intercept))), np.nan)
    gap = (
        ""
        if found.proven.all()
        else " A size that is not proven may have a better model, with a sum of squares as low as the column bound."
    )
    return Table(
        {
            "size": size,
            "terms": [", ".join(names[j] for j in features) for features in found.features],
            "rss": rss,
            "r_squared": 1 - rss / total,
            "adj_r_squared": adjusted,
            "aic": -2 * log_likelihood + 2 * (terms + 1),
            "bic": -2 * log_likelihood + np.log(n) * (terms + 1),
            "cv_error": errors,
            "bound": found.bound * unit,
            "proven": found.proven,
        },
        notes=[f"{found.n_nodes:,} of {2.0 ** len(names):.3g} models were examined.{gap}"],
    )
