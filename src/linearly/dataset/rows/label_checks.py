"""Labels of any type: missing ones, and distinct ones."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_missing(label: Any) -> bool:
    """Return whether a label is missing: None, NaN, or a missing value of pandas or NumPy."""
    if isinstance(label, (float, np.floating, Decimal, np.datetime64, np.timedelta64)):
        return bool(label != label)
    return label is None or type(label).__name__ in ("NAType", "NaTType")  # pandas' NA does not say whether it is equal


def first_missing(labels: NDArray[Any]) -> int | None:
    """Return the row of the first missing label; None if there is none."""
    kind = labels.dtype.kind
    if kind in "biuUS":
        return None
    gaps: Any = np.isnan(labels) if kind in "fc" else np.isnat(labels) if kind in "mM" else None
    if gaps is None:
        gaps = np.array([is_missing(label) for label in labels.tolist()], dtype=bool)
    return int(np.argmax(gaps)) if gaps.any() else None


def unique_with_codes(labels: NDArray[Any], what: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct labels in order and the code of each row; raise for types without an order."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise ValueError(f"{what} mixes labels of different types ({kinds}). Use one type.") from None
