"""Compute the meat of a covariance for errors that are correlated between neighbouring rows (HAC).

Newey and West (1987) add the products of the scores of rows up to L apart, with weights 1 − l/(L+1). Rows are in
their order in the data. Each block contributes the products inside it and keeps the scores of its first and last L
rows, so the products across the edges of blocks are added when blocks are merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linearly.algorithm.least_squares.sandwich import RobustMeat, row_parts
from linearly.algorithm.least_squares.solution import Solution
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import Array

MAX_LAGS = 1000


def default_lags(n: int) -> int:
    """Return ⌊4 (n/100)^(2/9)⌋, Newey and West's rule of thumb for n rows."""
    return min(int(4 * (n / 100) ** (2 / 9)), MAX_LAGS)


def hac_meat(rows: Rows, solution: Solution, lags: int) -> RobustMeat:
    """Return the meat of Newey and West for least squares, targets × r × r, times n/(n−k)."""
    r, k = solution.inverse_root.shape[1], len(solution.intercept)

    def scores(block: Block) -> Array:
        u, residual, weight = row_parts(block, solution)
        return np.asarray((weight[:, None] * residual)[:, :, None] * u[:, None, :])

    both = lagged_meat(rows, scores, (2 * k, r), lags)
    meat = both[:k] * (solution.n / solution.dof if solution.dof > 0 else np.nan)
    return RobustMeat(meat, rounding=both[k:])


def lagged_meat(rows: Rows, scores: Callable[[Block], Array], shape: tuple[int, int], lags: int) -> Array:
    """Return Σ (1 − |i−j|/(L+1)) s_i s_j' over rows at most L apart; rows with weight 0 are absent."""

    def sums(block: Block) -> LaggedScores:
        values, weight = scores(block).reshape(len(block), *shape), block.weight
        if block.paired and weight is not None:  # the successes and failures of a row are one observation
            values, weight = values.reshape(-1, 2, *shape).sum(axis=1), weight.reshape(-1, 2).sum(axis=1)
        return LaggedScores.of(values if weight is None else values[weight > 0], lags)

    if not rows.ordered:
        raise ValueError(
            'covariance="HAC" needs rows in order, but Spark rows have no order. Write them to a sorted file, '
            "and fit the file."
        )
    total: LaggedScores = rows.reduce(sums)
    return total.meat


@dataclass(frozen=True, slots=True, eq=False)
class LaggedScores:
    """Products of scores up to L rows apart, and the scores of the first and last L rows; ``a + b`` is a before b."""

    meat: Array  # targets × r × r
    head: Array  # at most L rows × targets × r
    tail: Array
    lags: int

    @staticmethod
    def of(scores: Array, lags: int) -> LaggedScores:
        """Return the sums for consecutive rows."""
        n = len(scores)
        meat = _products(scores, scores)
        for lag in range(1, min(lags, n - 1) + 1):
            meat += _both_ways(scores[lag:], scores[:-lag]) * (1 - lag / (lags + 1))
        return LaggedScores(meat, scores[:lags], scores[max(n - lags, 0) :], lags)

    def __add__(self, other: LaggedScores) -> LaggedScores:
        L, meat = self.lags, self.meat + other.meat
        for lag in range(1, L + 1):
            # Row j of the other's head comes so many rows after row len(tail) − lag + j of the own tail.
            j = np.arange(max(lag - len(self.tail), 0), min(lag, len(other.head)))
            if len(j):
                meat = meat + _both_ways(other.head[j], self.tail[len(self.tail) - lag + j]) * (1 - lag / (L + 1))
        tail = np.concatenate([self.tail, other.tail])
        head = np.concatenate([self.head, other.head])[:L]
        return LaggedScores(meat, head, tail[max(len(tail) - L, 0) :], L)


def _both_ways(later: Array, earlier: Array) -> Array:
    product = _products(later, earlier)
    return np.asarray(product + product.transpose(0, 2, 1))


def _products(a: Array, b: Array) -> Array:
    """Return the sum over rows of the outer products of two scores, per target."""
    return np.stack([a[:, t].T @ b[:, t] for t in range(a.shape[1])])
