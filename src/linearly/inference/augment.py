"""Report the rows of a fit (`augment`): fitted value, residuals, leverage and influence of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from linearly.algorithm.least_squares.solution import Solution
from linearly.dataset.rows.block import Block, check_finite, row_weights
from linearly.inference.fitted_rows import (
    RowDiagnostics,
    check_labelled_rows_of_fit,
    check_rows_of_fit,
    collect_keys,
    join_keys,
    row_diagnostics,
)
from linearly.inference.fitted_terms import check_not_multilabel, check_single_target, require_solution
from linearly.inference.unwrap import unwrap_model
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64
from linearly.models.base import check_fitted, training_rows
from linearly.models.kind_checks import is_logistic
from linearly.models.score_classifier import log_softmax
from linearly.table import Table

if TYPE_CHECKING:
    from linearly.models.logistic_regression import LogisticRegression

MAX_LEVERAGE = 1 - 1e-10  # rows above this are fitted exactly, whatever their error


@single_threaded_blas()
def augment(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Return one row per row of the fit: fitted value, residuals, leverage and influence.

    Parameters
    ----------
    model : Model, LinearRegression, RidgeCV or LogisticRegression
        A fitted model of one target.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        The fitted rows. For a `Model`, the data that it was fitted to, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        The fitted targets.
    sample_weight : array-like of shape (n_rows,), optional
        The weights used in the fit, if any.

    Returns
    -------
    Table
        ``row`` identifies the row: its index label in a pandas frame, or its line in a file. Otherwise it is the number
        of the row, from 0. Rows that the fit left out are not in the table. Least squares: ``fitted, residual,
        leverage, standardized_residual, studentized_residual, cooks_distance``. Logistic regression: ``probability,
        deviance_residual, pearson_residual, leverage, standardized_residual, cooks_distance``. Three or more classes:
        ``label, predicted, probability`` of the row's own label, ``deviance_residual, pearson_residual`` and
        ``probability[label]`` of each.

    Raises
    ------
    ValueError
        If the rows or weights differ from the fitted ones, because leverages refer to the fitted rows.

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
    data, keys = X, list[NDArray[Any]]()
    model, X = unwrap_model(model, X, y, sample_weight, "augment")
    if is_logistic(model):
        rows = check_labelled_rows_of_fit(_checked_for_augment(model), X, y, sample_weight, "augment")
        augment_blocks = _augment_classes if len(model.classes_) > 2 else _augment_logistic
        table = augment_blocks(model, collect_keys(rows, keys))
    else:
        solution = require_solution(model)
        check_single_target(model, "augment")
        rows = training_rows(model, X, y, sample_weight, reset=False)
        parts = row_diagnostics(collect_keys(rows, keys), solution)
        check_rows_of_fit(solution, parts, "augment")
        table = row_table(solution, parts)
    return Table({"row": join_keys(keys, data)} | {name: table[name] for name in table.columns})


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


def _checked_for_augment(model: LogisticRegression) -> LogisticRegression:
    check_fitted(model)
    check_not_multilabel(model, "augment")
    return model


def _augment_classes(model: LogisticRegression, rows: Iterable[Block]) -> Table:
    """Return the probability of each row's own class, of all classes, and the residuals of three or more classes."""
    K = len(model.classes_)
    parts = []
    for block in rows:
        check_finite(block)
        codes, weight = np.asarray(block.y).astype(np.intp), row_weights(block)
        log_p = log_softmax(model.block_scores(block))
        if block.unknown is not None:
            log_p[block.unknown] = np.nan
        own = log_p[np.arange(len(codes)), codes]
        P = np.exp(log_p)
        # The Pearson statistic of a row: Σ (1{k = y} − p_k)² / p_k over the classes = 1 / p_y − 1.
        pearson = np.sqrt(weight * np.expm1(-own))
        parts.append(np.column_stack([codes, P.argmax(axis=1), np.exp(own), np.sqrt(-2 * weight * own), pearson, P]))
    found = np.concatenate(parts)
    columns: dict[str, Any] = {
        "label": model.classes_[found[:, 0].astype(np.intp)],
        "predicted": model.classes_[found[:, 1].astype(np.intp)],
        "probability": found[:, 2],
        "deviance_residual": found[:, 3],
        "pearson_residual": found[:, 4],
    }
    return Table(columns | {f"probability[{model.classes_[k]}]": found[:, 5 + k] for k in range(K)})


def _augment_logistic(model: LogisticRegression, rows: Iterable[Block]) -> Table:
    root, first = model.inverse_root_, int(model.fit_intercept)
    if root is None:
        raise ValueError('Leverage needs the Hessian, which solver="lbfgs" does not form. Fit with solver="newton".')
    parts = []
    for block in rows:
        check_finite(block)
        Z, weight = dense_float64(block.X), row_weights(block)
        logit = model.block_scores(block)[:, 1]
        side = np.where(np.asarray(block.y) == 1, 1.0, -1.0)
        # By logits: 1 − p has no digits left where p is next to 1.
        p, variance = expit(logit), expit(logit) * expit(-logit)
        deviance = 2 * weight * np.logaddexp(0.0, -side * logit)
        with np.errstate(over="ignore", invalid="ignore"):
            pearson = side * np.sqrt(weight) * np.exp(-side * logit / 2)
        U = (root[0] if first else 0.0) + Z @ root[first:]
        leverage = np.where(weight > 0, weight * variance * (U**2).sum(axis=1), np.nan)
        if block.paired:
            part = _of_pairs(p, logit, deviance, leverage, weight)
        else:
            part = np.stack([p, side * np.sqrt(deviance), pearson, leverage])
        if block.unknown is not None:
            part[:, block.unknown[:: 2 if block.paired else 1]] = np.nan
        parts.append(part)
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


def _of_pairs(p: Array, logit: Array, deviance: Array, leverage: Array, weight: Array) -> Array:
    """Return probability, deviance and Pearson residual and leverage of data rows of successes and failures."""
    p, logit, counts = p[::2], logit[::2], weight.reshape(-1, 2)
    n, excess = counts.sum(axis=1), counts[:, 0] - p * counts.sum(axis=1)
    saturated = (xlogy(counts, counts).sum(axis=1) - xlogy(n, n)) * 2
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.sqrt(np.maximum(deviance.reshape(-1, 2).sum(axis=1) + saturated, 0.0))
        pearson = np.where(n > 0, excess / np.sqrt(n * p * expit(-logit)), np.nan)
    own = np.where(n > 0, np.nansum(leverage.reshape(-1, 2), axis=1), np.nan)
    return np.stack([p, np.sign(excess) * size, pearson, own])
