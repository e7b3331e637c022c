"""The forms in which features come: arrays, sparse matrices, double-double numbers; and the plain array of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.kernels.double_double import Array, DoubleDouble, Numbers


def is_sparse(X: Any) -> bool:
    """Whether X is one of SciPy's sparse matrices or arrays."""
    return hasattr(type(X), "tocsr")  # asked of the type: a data frame answers for its columns too


def dense(X: Any) -> Any:
    """X with its zeros written out if it is sparse; anything else as it is."""
    return X.toarray() if is_sparse(X) else X


def drop_low_part(X: Any) -> Any:
    """X in the nearest float64 if its numbers are double-double; anything else, a sparse matrix too, as it is."""
    return X.to_float64() if isinstance(X, DoubleDouble) else X


def dense_float64(X: Any) -> Array:
    """X as a dense array of float64, whatever its form."""
    return np.asarray(drop_low_part(dense(X)), dtype=np.float64)


def dense_keeping_low_part(X: Any) -> Numbers:
    """X as a dense array of float64, or in double-double where it is."""
    return X if isinstance(X, DoubleDouble) else np.asarray(dense(X), dtype=np.float64)
