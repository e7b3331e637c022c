"""Routines of LAPACK for triangles, with the results that SciPy returns."""

from bisect import bisect_left
from typing import Any

import numpy as np

from .. import missing_function

__getattr__ = missing_function("scipy.linalg.lapack")


def dtrtrs(a: Any, b: Any, lower: int = 0, trans: int = 0) -> tuple[Any, int]:
    """Solve with a triangle, or its transpose; the second result is the first zero of the diagonal, from 1, or 0."""
    triangle = np.tril(a) if lower else np.triu(a)
    zeros = np.flatnonzero(np.diag(triangle) == 0)
    if len(zeros):
        return np.array(b), int(zeros[0]) + 1
    return _substitute(triangle.T if trans else triangle, b), 0


def dtrcon(a: Any, norm: str = "1", uplo: str = "U") -> tuple[float, int]:
    """Return the reciprocal condition number of a triangle in the 1-norm, computed from its inverse."""
    triangle = np.triu(a) if uplo == "U" else np.tril(a)
    if not np.diag(triangle).all():
        return 0.0, 0
    inverse = _substitute(triangle, np.eye(len(triangle)))
    return float(1 / np.linalg.norm(triangle, 1) / np.linalg.norm(inverse, 1)), 0


def dpotrf(a: Any, lower: int = 0, clean: int = 1) -> tuple[Any, int]:
    """Return the Cholesky factor, with zeros beside it, and 0.

    Without a factor the second result is the order of the first leading minor that is not positive.
    """
    a = np.asarray(a)
    a = a if lower else a.T  # NumPy reads the lower triangle
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        orders = range(1, len(a) + 1)
        return a, bisect_left(orders, True, key=lambda order: not _is_positive_definite(a[:order, :order])) + 1
    return (factor if lower else factor.T), 0


def _is_positive_definite(a: Any) -> bool:
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def dgeqrf(a: Any) -> tuple[Any, Any, Any, int]:
    """Return the R factor of a matrix in the shape of LAPACK, with zeros in place of the reflections."""
    R = np.asarray(np.linalg.qr(a, mode="r"))
    return np.vstack([R, np.zeros((max(len(a) - len(R), 0), R.shape[1]))]), None, None, 0


def dpotrs(c: Any, b: Any, lower: int = 0) -> tuple[Any, int]:
    """Solve a system from its Cholesky factor."""
    L = c if lower else c.T
    return _substitute(L.T, _substitute(L, b)), 0


def _substitute(triangle: Any, b: Any) -> Any:
    # Gaussian elimination of an upper triangle is substitution, because there is nothing to eliminate.
    if np.any(np.tril(triangle, -1)):
        return np.linalg.solve(triangle[::-1, ::-1], b[::-1])[::-1]
    return np.linalg.solve(triangle, b)
