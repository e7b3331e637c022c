"""Codings of a categorical column, as R's contr.treatment, contr.sum, contr.helmert and contr.poly.

A coding of k levels is a k × (k − 1) matrix: row i contains the values of the columns for a row of level i.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_DEGREES = (".L", ".Q", ".C")


def coded_names(coding: str, levels: tuple[object, ...]) -> tuple[str, ...]:
    """Return the level or polynomial degree that distinguishes each column of a coding."""
    if coding == "sum":
        return tuple(f"S.{level}" for level in levels[:-1])
    if coding == "helmert":
        return tuple(f"H.{level}" for level in levels[1:])
    return tuple((*_DEGREES, *(f"^{k}" for k in range(4, len(levels))))[: len(levels) - 1])


@lru_cache(maxsize=64)
def coding_matrix(coding: str, k: int) -> NDArray[np.float64]:
    """Return the coding of k levels, other than treatment, which depends on the reference level."""
    if coding == "sum":
        return np.vstack([np.eye(k - 1), -np.ones((1, k - 1))])
    if coding == "helmert":
        matrix = -np.triu(np.ones((k, k - 1)))
        matrix[np.arange(1, k), np.arange(k - 1)] = np.arange(1, k)
        return matrix
    x = np.arange(k) - (k - 1) / 2
    Q, R = np.linalg.qr(x[:, None] ** np.arange(k))
    return np.asarray((Q * np.sign(np.diag(R)))[:, 1:])
