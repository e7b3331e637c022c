"""Factorisations of small dense matrices."""

from typing import Any

import numpy as np

from .. import missing_function
from . import lapack as lapack

__getattr__ = missing_function("scipy.linalg")


def helmert(n: int) -> Any:
    """Return the n - 1 rows of a Helmert matrix: orthonormal contrasts."""
    rows = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    return rows[1:] / np.sqrt(np.arange(1, n) * np.arange(2, n + 1))[:, None]


def qr(a: Any, mode: str = "full") -> Any:
    """Return Q and R, or (R,) if mode is "r"; R has as many rows as a."""
    Q, R = np.linalg.qr(a, mode="complete")
    return (R,) if mode == "r" else (Q, R)


def qr_insert(Q: Any, R: Any, u: Any, k: int, which: str = "col", check_finite: bool = True) -> tuple[Any, Any]:
    """Return the complete factorisation after a column was appended: one reflection."""
    if (k, which) != (R.shape[1], "col"):
        raise NotImplementedError("Columns are inserted at the end only.")
    v = Q.T @ u
    axis = v[k:].copy()
    axis[0] += np.copysign(np.linalg.norm(axis), axis[0])
    Q, R = Q.copy(), np.column_stack([R, v])
    if size := axis @ axis:
        Q[:, k:] -= np.outer(Q[:, k:] @ axis, 2 / size * axis)
        R[k:, k] -= 2 / size * axis * (axis @ v[k:])
    R[k + 1 :, k] = 0
    return Q, R


def qr_delete(Q: Any, R: Any, k: int, which: str = "col", check_finite: bool = True) -> tuple[Any, Any]:
    """Return the complete factorisation after column k was removed: one rotation per column behind it."""
    Q, R = Q.copy(), np.delete(R, k, axis=1)
    for j in range(k, min(R.shape[1], len(R) - 1)):
        a, b = R[j : j + 2, j]
        size = np.hypot(a, b)
        if size > 0:
            turn = np.array([[a, b], [-b, a]]) / size
            R[j : j + 2] = turn @ R[j : j + 2]
            Q[:, j : j + 2] = Q[:, j : j + 2] @ turn.T
        R[j + 1, j] = 0
    return Q, R
