"""Convert features (arrays, sparse matrices, double-double numbers) to the kind of array that a computation takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.kernels.double_double import Array, DoubleDouble, Numbers


def is_sparse(X: Any) -> bool:
    """Return whether X is one of SciPy's sparse matrices or arrays."""
    return hasattr(type(X), "tocsr")  # of the type: a data frame may have a column of this name


def dense(X: Any) -> Any:
    """Return a sparse X as a dense array, anything else unchanged."""
    return X.toarray() if is_sparse(X) else X


def drop_low_part(X: Any) -> Any:
    """Return a double-double X in the nearest float64, anything else (sparse included) unchanged."""
    return X.to_float64() if isinstance(X, DoubleDouble) else X


def dense_float64(X: Any) -> Array:
    """Return X as a dense float64 array."""
    return np.asarray(drop_low_part(dense(X)), dtype=np.float64)


def dense_keeping_low_part(X: Any) -> Numbers:
    """Return X as a dense float64 array, or unchanged if it is double-double."""
    return X if isinstance(X, DoubleDouble) else np.asarray(dense(X), dtype=np.float64)
