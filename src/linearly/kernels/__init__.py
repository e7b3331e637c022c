"""The hot loops: compiled where a C++ compiler was at hand, NumPy (`reference`) elsewhere.

Both have the same functions with the same meaning. ``LINEARLY_KERNELS=reference`` asks for NumPy.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels import reference
from linearly.kernels.doubled import Array, Doubled

try:
    from linearly.kernels import _compiled
except ImportError:
    _compiled = None  # type: ignore[assignment]

if os.environ.get("LINEARLY_KERNELS", "") == "reference":
    _compiled = None  # type: ignore[assignment]


def kernels_in_use() -> str:
    """Which kernels run here, in words."""
    if _compiled is None:
        return "NumPy reference"
    return f"compiled ({_compiled.instruction_set()})"


def gram(X: Any, Y: Array | None, weight: Array | None, shift: Array, scale: Array, coef: Array | None = None) -> Array:
    """Z'WZ of Z = [1 | X | Y] in the gauge; see `reference.gram`."""
    if _compiled is None:
        return reference.gram(X, Y, weight, shift, scale, coef)
    G = np.zeros((len(shift) + 1, len(shift) + 1))
    _compiled.gram(X, Y, weight, shift, scale, coef, G)
    return G


def exact_gram(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, weight: Array | None, shift: Array, scale: Array
) -> Doubled:
    """Z'WZ in double-double; see `reference.exact_gram`."""
    if _compiled is None:
        return reference.exact_gram(X, X_low, Y, weight, shift, scale)
    m = len(shift) + 1
    G = Doubled(np.zeros((m, m)), np.zeros((m, m)))
    _compiled.exact_gram(X, X_low, Y, weight, shift, scale, G.high, G.low)
    return G


def triangle(R: Array, X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """R of QR of R stacked on W^½ Z; see `reference.triangle`."""
    if _compiled is None:
        return reference.triangle(R, X, Y, weight, shift, scale)
    R = R.copy()
    _compiled.triangle(X, Y, weight, shift, scale, R)
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
    """Gradient and residual sum of squares in double-double; see `reference.exact_residual`."""
    if _compiled is None:
        return reference.exact_residual(X, X_low, Y, weight, shift, scale, B)
    shape = (X.shape[1] + 2, Y.shape[1])
    total = Doubled(np.zeros(shape), np.zeros(shape))
    _compiled.exact_residual(
        X,
        X_low,
        Y,
        weight,
        shift,
        scale,
        np.ascontiguousarray(B.high),
        np.ascontiguousarray(B.low),
        total.high,
        total.low,
    )
    return total
