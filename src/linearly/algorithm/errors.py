"""The errors of linear classifiers, many candidates in one fold: predictions as `predict` makes them.

Two classes: one vector of weights, predict `classes[1]` where x'w + b ≥ 0. K classes: K vectors, the largest score
wins, the first among equals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.dataset.rows import Block, Rows

Array = NDArray[np.float64]


def scores(X: Any, coef: Array, intercept: Array) -> Array:
    """x'w + b for each row and each vector of weights: n × k for coef k × p and k intercepts."""
    if len(coef) == 1:
        return np.asarray(X @ coef[0])[:, None] + intercept
    return np.asarray(X @ coef.T + intercept)


def winners(scores: Array) -> NDArray[np.intp]:
    """Codes of the predicted classes from n × k scores; k = 1 means two classes."""
    if scores.shape[1] == 1:
        return (scores[:, 0] >= 0).astype(np.intp)
    return np.asarray(np.argmax(scores, axis=1))


def errors(rows: Rows, coef: Array, intercept: Array) -> Array:
    """The (weighted) number of rows that each candidate gets wrong, and last the total: m + 1 numbers.

    ``coef`` is m × k × p, ``intercept`` m × k, and the targets of the rows are codes.
    """
    m, k, p = coef.shape
    vectors, constants = coef.reshape(m * k, p), intercept.reshape(m * k)

    def count(block: Block) -> Array:
        assert block.y is not None
        S = scores(block.X, vectors, constants)
        if k == 1:
            wrong = (S >= 0) != (block.y > 0)[:, None]
        else:
            wrong = np.argmax(S.reshape(-1, m, k), axis=2) != block.y[:, None]
        if block.weight is None:
            return np.append(np.count_nonzero(wrong, axis=0), len(wrong)).astype(np.float64)
        return np.append(block.weight @ wrong, block.weight.sum())

    return rows.fold(count)


def training_error(rows: Rows, coef: Array, intercept: Array) -> float:
    """S1's E_in of one classifier (k × p weights): the share of rows, by weight, that it gets wrong."""
    wrong, total = errors(rows, coef[None], intercept[None])
    return float(wrong / total)


def scanned_error(rows: Rows, coef: Array, intercept: Array) -> float:
    """The same for rows without weights, with the scores of the scan: fast, and exactly zero where it converged."""

    def count(block: Block) -> NDArray[np.int64]:
        assert block.y is not None
        W = np.ascontiguousarray(coef.T if hasattr(type(block.X), "tocsr") else coef)
        return np.array([kernels.count_errors(block.X, block.y, W, intercept), len(block)])

    wrong, total = rows.fold(count)
    return float(wrong / total)
