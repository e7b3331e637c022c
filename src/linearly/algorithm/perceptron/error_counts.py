"""Count the errors of many linear classifiers in one reduction, with predictions as `predict` makes them.

Two classes: one vector of weights, predict `classes[1]` where x'w + b ≥ 0. K classes: K vectors, the largest score
wins, the first among equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import is_sparse

_ROWS = 2048  # scored at a time: the scores of 64 candidates stay in the cache, 3 times as fast as a whole block
_FEWEST = 64  # candidates at a time,
_SCORES = 2**17  # or so many that a megabyte holds their scores


def scores(X: Any, coef: Array, intercept: Array) -> Array:
    """Return x'w + b for each row and weight vector: n × k for coef k × p and k intercepts."""
    if len(coef) == 1:
        return np.asarray(X @ coef[0])[:, None] + intercept
    return np.asarray(X @ coef.T + intercept)


def predicted_codes(scores: Array) -> NDArray[np.intp]:
    """Return the codes of the predicted classes from n × k scores; k = 1 means two classes."""
    if scores.shape[1] == 1:
        return (scores[:, 0] >= 0).astype(np.intp)
    return np.asarray(np.argmax(scores, axis=1))


def argmax_first(scores: Sequence[Array]) -> NDArray[np.int16]:
    """Return the index of the largest of several arrays, element by element; the first among equals.

    This is several times as fast as argmax along a short axis.
    """
    best, winner = scores[0].copy(), np.zeros(scores[0].shape, dtype=np.int16)
    for k in range(1, len(scores)):
        winner[scores[k] > best] = k
        np.maximum(best, scores[k], out=best)
    return winner


def count_errors(rows: Rows, coef: Array, intercept: Array) -> Array:
    """Return the (weighted) number of rows that each candidate misclassifies, and last the total: m + 1 numbers.

    ``coef`` is m × k × p, ``intercept`` m × k, and the targets of the rows are codes.
    """
    m, k, p = coef.shape
    vectors, constants = coef.transpose(1, 0, 2), intercept.T

    def misclassified(X: Any, y: Any, some: slice) -> NDArray[np.bool_]:
        """Return which rows each candidate misclassifies; for two classes, which rows it predicts as the second."""
        among = vectors[:, some].reshape(-1, p)
        S = np.asarray(X @ among.T)
        if k == 1:
            return np.asarray(-constants[0, some] <= S)
        S += constants[:, some].reshape(-1)
        each = S.shape[1] // k
        return np.asarray(argmax_first([S[:, c * each : (c + 1) * each] for c in range(k)]) != y[:, None])

    def count(block: Block) -> Array:
        assert block.y is not None
        weight = np.ones(len(block), dtype=np.float32) if block.weight is None else block.weight
        total = np.append(np.zeros(m), float(weight.sum(dtype=np.float64)))
        if k == 1:
            # Every row of class 1 counts as an error first; predicting class 1 removes it, and adds one for the others.
            total[:m] = weight[block.y > 0].sum(dtype=np.float64)
            weight = np.where(block.y > 0, -weight, weight)
        step = max(len(block), 1) if is_sparse(block.X) else _ROWS
        for a in range(0, len(block), step):
            X, y, mine = block.X[a : a + step], block.y[a : a + step], weight[a : a + step]
            some_steps = max(_FEWEST, _SCORES // (k * len(y)))
            for first in range(0, m, some_steps):
                some = slice(first, min(first + some_steps, m))
                # A matrix product counts several times as fast as a sum of booleans.
                total[:m][some] += mine @ misclassified(X, y, some).astype(mine.dtype)
        return total

    return rows.reduce(count)


def training_error(rows: Rows, coef: Array, intercept: Array) -> float:
    """Return the (weighted) share of rows that one classifier (k × p weights) misclassifies."""
    wrong, total = count_errors(rows, coef[None], intercept[None])
    return float(wrong / total)


def pass_error(rows: Rows, coef: Array, intercept: Array) -> float:
    """Return the same for unweighted rows, with the scores of an online pass: exactly zero after convergence."""

    def count(block: Block) -> NDArray[np.int64]:
        assert block.y is not None
        W = np.ascontiguousarray(coef.T if is_sparse(block.X) else coef)
        return np.array([kernels.count_errors(block.X, block.y, W, intercept), len(block)])

    wrong, total = rows.reduce(count)
    return float(wrong / total)
