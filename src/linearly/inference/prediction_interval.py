"""Compute intervals around the predictions of a least-squares model."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.algorithm.least_squares.small_sample import SmallSample
from linearly.algorithm.least_squares.solution import Solution
from linearly.dataset.rows.block import Block, check_finite
from linearly.inference.fitted_terms import check_single_target, require_solution
from linearly.inference.wald_tests import check_level, dof_of_tests, t_quantile
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array, to_float64
from linearly.kernels.matrices import dense_keeping_low_part
from linearly.models.base import map_rows, prediction_rows
from linearly.models.estimability import NotEstimable
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Table


@single_threaded_blas()
def prediction_interval(model: LeastSquaresBase, X: Any, level: float, kind: str, weight: Any = None) -> Table:
    """Return ``fit, low, high`` for new rows: intervals of the mean ("confidence") or of a new value ("prediction").

    A new value has error variance σ²/weight. The default weight is the average weight of the rows of the fit, so that
    a factor of all weights changes nothing.
    """
    solution = require_solution(model)
    check_single_target(model, "predict_interval")
    check_level(level)
    if kind not in ("confidence", "prediction"):
        raise ValueError(f'kind must be "confidence" or "prediction", not {kind!r}.')
    inner = model.inner_covariance()[0]
    small_sample: SmallSample | None = getattr(model, "small_sample_", None)

    with NotEstimable() as doubtful:

        def fit_and_variance(block: Block) -> Array:
            check_finite(block)
            x = dense_keeping_low_part(block.X)
            u = solution.whitened_rows(x)
            variance = ((u @ inner) * u).sum(axis=1)
            known = doubtful.look(block, solution.estimable)
            if small_sample is not None:
                known &= ~small_sample.unknown(u)
            dof = np.full(len(u), dof_of_tests(model))
            if small_sample is not None:
                X = to_float64(x)
                terms = np.column_stack([np.ones(len(u)), X]) if solution.has_intercept else X
                dof = small_sample.dof(terms, u)
            fit = solution.predict(x)[:, 0] + (0.0 if block.offset is None else block.offset)
            return np.stack([fit, np.where(known, variance, np.nan), dof], axis=1)

        fit, variance, dof = map_rows(prediction_rows(model, X), fit_and_variance).T
    if kind == "prediction":
        error = solution.sigma2[0] / _new_weight(weight, solution, len(fit))
        # Welch: the variance of the mean and that of a new error are estimated apart.
        parts = variance**2 / dof + error**2 / solution.dof
        variance = variance + error
        dof = dof if small_sample is None else variance**2 / parts
    reach = t_quantile(level, dof) * np.sqrt(variance)
    return Table({"fit": fit, "low": fit - reach, "high": fit + reach})


def _new_weight(weight: Any, solution: Solution, n: int) -> Any:
    """Return the weights of new rows: given ones, or the average weight of the rows of the fit."""
    if weight is None:
        return solution.weight / solution.n
    given = np.asarray(weight, dtype=np.float64)
    if given.shape not in ((), (n,)) or not (given > 0).all() or not np.isfinite(given).all():
        raise ValueError(f"weight must be one positive number or one per row ({n:,} rows). Pass positive numbers.")
    return given
