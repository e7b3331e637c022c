"""Cross-validate ridge in one pass: one summary per fold, and one eigendecomposition per fold for every penalty.

A hash of its values assigns a row to a fold. It needs neither the index of the row nor the number of rows, so the folds
are the same for an array, a file or a cluster, in any order, and the folds of two sets of rows add up. Equal rows are
held out together. For fewer rows than columns the summary is an R factor, and no matrix here is larger than it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.adaptive_summary import merge, subtract, summarize_block
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import Gram, outer, target_matrix
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.dataset.rows.block import Block, Rows, check_finite, row_weights
from linearly.dataset.rows.row_hash import hash_rows
from linearly.kernels.double_double import Array, to_float64
from linearly.kernels.matrices import dense, dense_float64, drop_low_part

_FULL_LEVERAGE_TOL = 1e-12  # 1 − leverage, without a penalty, that counts as 0: only this row determines a coefficient
_HIGH_LEVERAGE_TOL = 1e-8  # the same with a penalty; above it the quotient is more accurate than the limit


@dataclass(frozen=True, slots=True, eq=False)
class FoldSummaries:
    """One summary per fold: a Gram or an R factor, as suits the number of rows."""

    parts: tuple[Gram | QRFactor, ...]

    @staticmethod
    def of(block: Block, K: int) -> FoldSummaries:
        """Return the summaries of a block whose rows are assigned to folds by a hash of their values."""
        return _fold_summaries(block, (hash_rows(block.X, block.y) % np.uint64(K)).astype(np.int16), K)

    @staticmethod
    def from_assignment(block: Block, fold_of_row: NDArray[np.int_], K: int) -> FoldSummaries:
        """Return the summaries of a block for a given fold of each row of the data set."""
        return _fold_summaries(block, fold_of_row[block.start : block.start + len(block)], K)

    def __add__(self, other: FoldSummaries) -> FoldSummaries:
        return FoldSummaries(tuple(map(merge, self.parts, other.parts)))

    def __sub__(self, other: FoldSummaries) -> FoldSummaries:
        return FoldSummaries(tuple(map(subtract, self.parts, other.parts)))

    @property
    def weights(self) -> Array:
        """Return the weight of the rows in each fold."""
        return np.array([float(to_float64(part.weight)) for part in self.parts])

    def total(self) -> Gram | QRFactor:
        """Return the summary of all rows."""
        return reduce(merge, self.parts)

    def training_summary(self, j: int) -> Gram | QRFactor:
        """Return the summary of all rows outside fold j: a new sum, since a difference would lose digits."""
        return reduce(merge, self.parts[:j] + self.parts[j + 1 :])


def _fold_summaries(block: Block, folds: NDArray[np.signedinteger], K: int) -> FoldSummaries:
    order = np.argsort(folds, kind="stable")
    ends = np.searchsorted(folds[order], np.arange(1, K))
    try:
        return FoldSummaries(tuple(summarize_block(block.take(rows)) for rows in np.split(order, ends)))
    except ValueError:
        check_finite(block)  # reports the row of the block, not of the fold
        target_matrix(block)
        raise


@dataclass(frozen=True, slots=True, eq=False)
class RidgePath:
    """Ridge for every penalty at once, by S = V diag(values) V' for the cross-products S of the training rows.

    All features have the same power of two as their unit, so that squares of features of size 1e200 stay in float64.
    """

    V: Array  # p × p, or p × n for fewer rows than columns
    values: Array  # in increasing order
    moments: Array  # V' times the cross-products with the targets
    mean: Array  # of the features in the user's units
    y_mean: Array
    weight: float
    unit: float

    @staticmethod
    def of(summary: Gram | QRFactor, intercept: bool, unit: float | None = None) -> RidgePath:
        """Return the path of a summary."""
        unit = largest_unit(summary) if unit is None else unit
        if isinstance(summary, QRFactor):
            D, c = rows_in_units(summary, intercept, unit)
            U, size, rows = np.linalg.svd(D, full_matrices=False)
            values, V, moments = size[::-1] ** 2, rows[::-1].T, (size[:, None] * (U.T @ c))[::-1]
        else:
            S, C, _ = user_units(summary, intercept, unit)
            values, V = np.linalg.eigh(S)
            moments = V.T @ C
        mean, y_mean = means(summary)
        if not intercept:
            mean, y_mean = np.zeros_like(mean), np.zeros_like(y_mean)
        return RidgePath(V, np.maximum(values, 0.0), moments, mean, y_mean, float(to_float64(summary.weight)), unit)

    @property
    def level(self) -> float:
        """Return the mean eigenvalue of S."""
        return float(self.values.sum() / len(self.V))

    def shrinkage_factors(self, alphas: Array) -> Array:
        """Return 1 / (values + alpha), alphas × p; 0 for directions without variation."""
        with np.errstate(over="ignore", under="ignore"):  # a penalty of extreme size
            size = self.values + (alphas / self.unit / self.unit)[:, None]
        floor = np.finfo(float).eps * len(self.V) * self.values.max(initial=0.0)
        return np.asarray(np.divide(1.0, size, out=np.zeros_like(size), where=size > floor))

    def coefficients(self, alphas: Array) -> Array:
        """Return the coefficients, p × alphas × k, in the user's units."""
        along = self.shrinkage_factors(alphas).T[:, :, None] * self.moments[:, None, :]
        return np.asarray(np.tensordot(self.V, along, 1) / self.unit)


def fold_errors(folds: FoldSummaries, alphas: Array, intercept: bool) -> Array:
    """Return the mean squared error of each fold by the model of the others, alphas × folds × k; NaN if it is empty."""
    errors: list[Array] = []
    unit = max(largest_unit(part) for part in folds.parts if part.n)
    for j, part in enumerate(folds.parts):
        if part.n == 0:
            errors.append(np.full((len(alphas), len(part.scaling.scale) - part.p), np.nan))
            continue
        path = RidgePath.of(folds.training_summary(j), intercept, unit)
        centre = (path.mean, path.y_mean) if intercept else None
        errors.append(held_out_errors(part, path.coefficients(alphas), centre, unit))
    return np.stack(errors, axis=1)


def held_out_errors(
    part: Gram | QRFactor, coef: Array, centre: tuple[Array, Array] | None, unit: float | None = None
) -> Array:
    """Return the mean squared error on the rows of a summary, alphas × k, for coefficients p × alphas × k.

    `centre` has the means of the features and of the targets of the training rows; it is None without an intercept.
    """
    unit = largest_unit(part) if unit is None else unit
    B, weight = coef * unit, float(to_float64(part.weight))
    squares = _squares(part, B, centre is not None, unit)
    if centre is not None:
        mean, y_mean = means(part)
        squares += weight * (y_mean - centre[1] - np.einsum("jat,j->at", B, (mean - centre[0]) / unit)) ** 2
    return np.asarray(np.maximum(squares, 0.0) / weight)


def _squares(part: Gram | QRFactor, B: Array, intercept: bool, unit: float) -> Array:
    """Return the sum of squared errors for coefficients B (p × alphas × k), about the mean or about zero."""
    if isinstance(part, QRFactor):
        D, c = rows_in_units(part, intercept, unit)
        return np.asarray(((c[:, None, :] - np.tensordot(D, B, 1)) ** 2).sum(axis=0))
    S, C, T = user_units(part, intercept, unit)
    return np.asarray(T - 2 * np.einsum("jat,jt->at", B, C) + np.einsum("jat,jl,lat->at", B, S, B, optimize=True))


def leave_one_out_errors(rows: Rows, summary: Gram | QRFactor, alphas: Array, intercept: bool) -> Array:
    """Return the mean squared leave-one-out error, alphas × k, of residual / (1 − leverage), by a second pass.

    At leverage 1 both are rounding errors, and the limit is used: with g = S⁺z the other rows do not determine t in
    β̂ − tg. The shortest such vector has t = g'β̂ / g'g, and its error is t / w.
    """
    if summary.n <= summary.p + intercept:
        return _leave_one_out_errors_of_few_rows(rows, alphas, intercept, largest_unit(summary))
    path = RidgePath.of(summary, intercept)
    factors, unpenalized = path.shrinkage_factors(alphas), path.shrinkage_factors(np.zeros(1))

    def squares(block: Block) -> Array:
        X = drop_low_part(dense(block.X))
        y = target_matrix(block)
        assert y is not None
        w = row_weights(block)
        Z = (X - path.mean) / path.unit @ path.V
        constant = 1 / path.weight if intercept else 0.0
        leverage = w[:, None] * (Z**2 @ factors.T + constant)
        alone = (1 - w[:, None] * (Z**2 @ unpenalized.T + constant) < _FULL_LEVERAGE_TOL) & (
            1 - leverage < _HIGH_LEVERAGE_TOL
        )
        sums = np.empty((len(alphas), y.shape[1]))
        for t in range(y.shape[1]):
            residual = (y[:, t] - path.y_mean[t])[:, None] - Z @ (factors * path.moments[:, t]).T
            with np.errstate(divide="ignore", invalid="ignore"):
                error = residual / (1 - leverage)
                if alone.any():
                    short = Z @ (factors**2 * path.moments[:, t]).T / (Z**2 @ (factors**2).T)
                    error = np.where(alone, short / w[:, None], error)
                sums[:, t] = (w[:, None] * error**2)[w > 0].sum(axis=0)
        return sums

    return np.asarray(rows.reduce(squares) / path.weight)


def _leave_one_out_errors_of_few_rows(rows: Rows, alphas: Array, intercept: bool, unit: float) -> Array:
    """Return the same for no more rows than coefficients, where a small alpha would leave the quotient no digits.

    It is (Ay)ᵢ / Aᵢᵢ with A = (XX' + αI)⁻¹, on what is orthogonal to the constant.
    """
    X, y, w = (np.concatenate(column) for column in zip(*(dense_rows(block) for block in rows), strict=True))
    with np.errstate(over="ignore", under="ignore"):
        X, alphas = X / unit, np.minimum(alphas / unit / unit, 1e300)
    root = np.sqrt(w)[:, None]
    noise = 1e-26 * float(((root * X) ** 2).sum())  # what rounding leaves of a direction without variation
    if intercept:
        X, y = X - w @ X / w.sum(), y - w @ y / w.sum()
    constant = root[:, : int(intercept)]
    outside = np.linalg.qr(constant, mode="complete").Q[:, constant.shape[1] :]
    U, size, _ = np.linalg.svd(outside.T @ (root * X), full_matrices=False)
    values = np.zeros(U.shape[1])
    values[: len(size)] = np.where(size**2 > noise, size**2, 0.0)
    # In such a direction 1e-8 stands for the limit of alpha → 0: less would enlarge its rounding errors above the rest.
    least = np.where(values > 0, 0.0, 1e-8 * (values.max(initial=0.0) or 1.0))
    inverse = 1 / (values + np.maximum(alphas[:, None], least))
    basis = outside @ U
    moments = np.einsum("nl,al,lt->ant", basis, inverse, basis.T @ (root * y))
    errors = moments / np.einsum("nl,al->an", basis**2, inverse)[:, :, None]
    return np.asarray((errors**2).sum(axis=1) / w.sum())


def dense_rows(block: Block) -> tuple[Array, Array, Array]:
    """Return X, Y and the weights of the rows with positive weight."""
    X = dense_float64(block.X)
    y = target_matrix(block)
    assert y is not None
    w = row_weights(block)
    return X[w > 0], y[w > 0], w[w > 0]


def largest_unit(summary: Gram | QRFactor) -> float:
    """Return the largest scale of a feature."""
    return float(summary.scaling.scale[: summary.p].max())


def user_units(gram: Gram, intercept: bool, unit: float = 1.0) -> tuple[Array, Array, Array]:
    """Return X'X, X'Y and the squares of Y in the user's units, X divided by `unit`, about the mean or about zero."""
    p, own = gram.p, gram.scaling.scale
    cross = gram.centered_crossprod
    if not intercept:
        zero = gram.mean + gram.scaling.shift / own
        cross = cross + outer(zero, zero) * gram.weight
    size = np.concatenate([own[:p] / unit, own[p:]])
    cross = to_float64(cross) * size * size[:, None]
    return cross[:p, :p], cross[:p, p:], np.diagonal(cross)[p:]


def rows_in_units(triangle: QRFactor, intercept: bool, unit: float) -> tuple[Array, Array]:
    """Return rows of X and of Y, as many as in R, with the same products as `user_units`."""
    p, own = triangle.p, triangle.scaling.scale
    R = triangle.R[1:, 1:] if intercept else triangle.rescaled(ColumnScaling(np.zeros_like(own), own)).R[:, 1:]
    return R[:, :p] * (own[:p] / unit), R[:, p:] * own[p:]


def means(summary: Gram | QRFactor) -> tuple[Array, Array]:
    """Return the means of the features and of the targets in the user's units."""
    mean = to_float64(summary.mean * summary.scaling.scale + summary.scaling.shift)
    return mean[: summary.p], mean[summary.p :]
