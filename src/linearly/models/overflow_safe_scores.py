"""Scores of rows so large that their scores exceed float64.

Infinity minus infinity is NaN, so such scores are given relative to the largest of their row: products are computed
with one exponent per row, and only differences are scaled back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64


def linear_scores(X: Any, coefficients: Array, constants: Array) -> Array:
    """Return X @ coefficients + constants; in a row where one of them exceeds float64, minus the largest."""
    S = np.asarray(X @ coefficients + constants)
    if np.isfinite(S.sum()):
        return S
    lost = np.flatnonzero(~np.isfinite(S).all(axis=1))
    P, exponent = scaled_product(dense_float64(X[lost]), coefficients)
    S[lost] = np.ldexp(P - P.max(axis=1, keepdims=True), exponent) + constants
    return S


def excess_squared_distances(X: Any, center: Array, roots: Array, moved: Array, K: int) -> Array:
    """Return by how much ‖(x − center)R_k − moved_k‖² exceeds the smallest of the K, n × K; it may be infinite."""
    half = dense_float64(X) / 2 - center / 2  # the difference of two numbers of size 1e308 may exceed float64
    P, exponent = scaled_product(half, roots)
    D = P - np.ldexp(moved, -exponent - 1)
    squares = (D.reshape(len(D), K, -1) ** 2).sum(axis=2)
    return np.asarray(np.ldexp(squares - squares.min(axis=1, keepdims=True), 2 * exponent + 2))


def scaled_product(X: Array, C: Array) -> tuple[Array, NDArray[np.int_]]:
    """Return P and one exponent e per row with X @ C = P · 2ᵉ; no entry of P exceeds the number of columns."""
    size = np.frexp(np.abs(C).max(axis=1, initial=0.0))[1]
    exponent = (np.frexp(X)[1] + size).max(axis=1, keepdims=True, initial=-4000)
    return np.ldexp(X, size - exponent) @ np.ldexp(C, -size[:, None]), exponent
