"""Correct likelihood-ratio tests of logistic regressions for small samples, by Bartlett's factor.

Twice the fall of the log likelihood has a mean above its degrees of freedom: by 30% with 6 rows per parameter. Divided
by that mean to the order 1 / n (Lawley 1956; Cordeiro 1983 for generalised linear models), it follows the chi-squared
distribution far more closely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.dataset.rows.block import Block, Rows, row_weights
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64

MAX_PARAMETERS = 32  # the sums take the cube of them
MAX_ROWS_PER_PARAMETER = 100  # with more the factor is below 1.02


def is_correctable(n: float, parameters: int, K: int) -> bool:
    """Return whether the factor is worth its passes, and known: for two labels."""
    return K == 2 and parameters <= MAX_PARAMETERS and n < MAX_ROWS_PER_PARAMETER * parameters


def bartlett_factor(rows: Rows, null: Any, tested: int, fit_intercept: bool) -> float:
    """Return the mean of the statistic that tests column `tested`, at the fit without it; 1 if it has no maximum."""
    if any(block.offset is not None for block in rows):  # the expansion below has none
        return 1.0
    if null is not None and (null.separation_ is not None or not null.converged_):
        return 1.0
    scaling = ColumnScaling.of(next(iter(rows)), None)
    shift = scaling.shift if fit_intercept else 0.0

    def design(block: Block) -> Array:
        Z = (dense_float64(block.X) - shift) / scaling.scale
        return np.column_stack([np.ones(len(Z)), Z]) if fit_intercept else Z

    others = np.arange(len(scaling.scale)) != tested
    coef = np.ravel(null.coef_) if null is not None else np.zeros(0)
    total = rows.reduce(lambda block: np.array([row_weights(block).sum(), row_weights(block) @ np.asarray(block.y)]))
    intercept = (
        float(np.ravel(null.intercept_)[0]) if null is not None else float(np.log(total[1] / (total[0] - total[1])))
    )

    def curvature(block: Block) -> tuple[Array, Array]:
        """Return probabilities and weighted variances of the rows under the null hypothesis."""
        logit = dense_float64(block.X)[:, others] @ coef + (intercept if fit_intercept else 0.0)
        p = expit(logit)
        return p, p * (1 - p)

    def information(block: Block) -> Array:
        Z = design(block)
        return np.asarray((Z * (row_weights(block) * curvature(block)[1])[:, None]).T @ Z)

    K = rows.reduce(information)
    kept = np.flatnonzero(np.r_[np.ones(int(fit_intercept), bool), others])
    whiteners = [_inverse_root(K), np.zeros((len(K), len(kept)))]
    whiteners[1][kept] = _inverse_root(K[np.ix_(kept, kept)])

    def excess(block: Block) -> Array:
        p, v = curvature(block)
        weight, Z = row_weights(block), design(block)
        parts = []
        for root in whiteners:
            A = Z @ root
            third = np.einsum("i,ij,ik,il->jkl", weight * v * (1 - 2 * p), A, A, A, optimize=True)
            fourth = (weight * v * (1 - 6 * v)) @ (A**2).sum(axis=1) ** 2
            parts += [third.ravel(), [fourth]]
        return np.concatenate(parts)

    sums = rows.reduce(excess)
    values = []
    for root in whiteners:
        q = root.shape[1]
        third, fourth, sums = sums[: q**3].reshape(q, q, q), sums[q**3], sums[q**3 + 1 :]
        trace = np.einsum("jjk->k", third)
        values.append((2 * (third**2).sum() + 3 * trace @ trace) / 12 - fourth / 4)
    return max(1.0 + float(values[0] - values[1]), 1.0)


def _inverse_root(K: Array) -> Array:
    """Return R with R R' = K⁻¹, on the space where K is not singular."""
    size = np.sqrt(np.maximum(np.diagonal(K), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(K / np.outer(size, size))
    used = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, used] / np.sqrt(values[used]) / size[:, None])
