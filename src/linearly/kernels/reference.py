"""The hot loops in NumPy: what each compiled loop means, and what runs where there is no compiler.

Rows are X (n × p, float64 or float32, any strides) and Y (n × k, float64). They are measured in a gauge,
z = (x − shift) · scale with scale a power of two, so that squares neither overflow nor cancel. Z = [1 | X | Y] in
that gauge, m = 1 + p + k columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.doubled import Array, Doubled, two_sum

_ROWS = 2048  # rows in float64 at a time: the copy stays in cache, and memory does not grow with n


def gram(
    X: NDArray[Any],
    Y: Array | None,
    weight: Array | None,
    shift: Array,
    scale: Array,
    coef: Array | None = None,
) -> Array:
    """Z'WZ; with `coef` (p numbers and an intercept, in the gauge) each row counts weight · residual²."""
    m = len(shift) + 1
    G = np.zeros((m, m))
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        Z = _gauged(X, Y, rows, shift, scale)
        root = None if weight is None else np.sqrt(weight[rows])
        if coef is not None:
            p = X.shape[1]
            residual = Z[:, 1 + p] - coef[p] - Z[:, 1 : 1 + p] @ coef[:p]
            root = residual if root is None else residual * root
        if root is not None:
            Z *= root[:, None]
        G += Z.T @ Z
    return G


def exact_gram(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, weight: Array | None, shift: Array, scale: Array
) -> Doubled:
    """Z'WZ in double-double. X_low carries the digits of X below float64."""
    m = len(shift) + 1
    G = Doubled.of(np.zeros((m, m)))
    rows_at_once = max(1, _ROWS // m)
    for first in range(0, len(X), rows_at_once):
        rows = slice(first, first + rows_at_once)
        Z = _gauged_exactly(X, X_low, Y, rows, shift, scale)
        left = Z if weight is None else Z * weight[rows, None]
        G = G + (left[:, :, None] * Z[:, None, :]).sum(axis=0)
    return G


def triangle(R: Array, X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """The R factor of QR of R stacked on W^½ Z."""
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        Z = _gauged(X, Y, rows, shift, scale)
        if weight is not None:
            Z *= np.sqrt(weight[rows])[:, None]
        R = np.asarray(np.linalg.qr(np.vstack([R, Z]), mode="r"))
        R = np.vstack([R, np.zeros((len(shift) + 1 - len(R), len(shift) + 1))])
    return R


def exact_residual(
    X: NDArray[Any],
    X_low: Array | None,
    Y: Array,
    weight: Array | None,
    shift: Array,
    scale: Array,
    B: Doubled,
) -> Doubled:
    """For r = y − [1 | X]B in the gauge: rows 0..p of the result are [1 | X]'W r, the last is Σ w r²."""
    p, k = X.shape[1], Y.shape[1]
    total = Doubled.of(np.zeros((p + 2, k)))
    rows_at_once = max(1, _ROWS // (1 + p))
    for first in range(0, len(X), rows_at_once):
        rows = slice(first, first + rows_at_once)
        Z = _gauged_exactly(X, X_low, Y, rows, shift, scale)
        fitted = (Z[:, : 1 + p, None] * B[None, :, :]).sum(axis=1)
        r = Z[:, 1 + p :] - fitted
        wr = r if weight is None else r * weight[rows, None]
        gradient = (Z[:, : 1 + p, None] * wr[:, None, :]).sum(axis=0)
        squares = (r * wr).sum(axis=0)
        total = total + Doubled(np.vstack([gradient.high, squares.high]), np.vstack([gradient.low, squares.low]))
    return total


def _gauged(X: NDArray[Any], Y: Array | None, rows: slice, shift: Array, scale: Array) -> Array:
    p = X.shape[1]
    part = X[rows]
    Z = np.empty((len(part), len(shift) + 1))
    Z[:, 0] = 1.0
    Z[:, 1 : 1 + p] = part
    if Y is not None:
        Z[:, 1 + p :] = Y[rows]
    Z[:, 1:] -= shift
    Z[:, 1:] *= scale
    return Z


def _gauged_exactly(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, rows: slice, shift: Array, scale: Array
) -> Doubled:
    plain = np.concatenate([np.asarray(X[rows], dtype=np.float64)] + ([] if Y is None else [Y[rows]]), axis=1)
    high, low = two_sum(plain, -np.broadcast_to(shift, plain.shape))
    if X_low is not None:
        low[:, : X.shape[1]] += X_low[rows]
    high, low = two_sum(high, low)
    ones = np.ones((len(plain), 1))
    return Doubled(np.hstack([ones, high * scale]), np.hstack([0 * ones, low * scale]))
