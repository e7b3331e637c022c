"""Scores of rows so far out that they leave float64: which class wins, and by how much, can still be told.

Infinity less infinity is no number, so such scores are measured from the largest of their row on the way: products are
computed with an exponent of their own for each row, and only differences are brought back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.matrices import dense_float64

Array = NDArray[np.float64]


def linear_scores(X: Any, coefficients: Array, constants: Array) -> Array:
    """X @ coefficients + constants; of a row where one is beyond float64, all less the largest of them."""
    S = np.asarray(X @ coefficients + constants)
    if np.isfinite(S.sum()):
        return S
    lost = np.flatnonzero(~np.isfinite(S).all(axis=1))
    P, exponent = scaled_product(dense_float64(X[lost]), coefficients)
    S[lost] = np.ldexp(P - P.max(axis=1, keepdims=True), exponent) + constants
    return S


def smallest_distance(X: Any, center: Array, roots: Array, moved: Array, K: int) -> Array:
    """By how much ‖(x − center)R_k − moved_k‖² is larger than the least of the K, n × K; infinite if it must be."""
    half = dense_float64(X) / 2 - center / 2  # two numbers of size 1e308 may be further apart than float64 goes
    P, exponent = scaled_product(half, roots)
    D = P - np.ldexp(moved, -exponent - 1)
    squares = (D.reshape(len(D), K, -1) ** 2).sum(axis=2)
    return np.asarray(np.ldexp(squares - squares.min(axis=1, keepdims=True), 2 * exponent + 2))


def scaled_product(X: Array, C: Array) -> tuple[Array, NDArray[np.int_]]:
    """P and, for each row, e with X @ C = P · 2ᵉ: no number of P is larger than there are columns."""
    size = np.frexp(np.abs(C).max(axis=1, initial=0.0))[1]
    exponent = (np.frexp(X)[1] + size).max(axis=1, keepdims=True, initial=-4000)
    return np.ldexp(X, size - exponent) @ np.ldexp(C, -size[:, None]), exponent
