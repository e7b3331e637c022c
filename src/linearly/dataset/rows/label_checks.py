"""Labels of any kind: which are missing, and which are the same."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_missing(label: Any) -> bool:
    """Whether a label is none: None, NaN, or a gap as pandas and NumPy write it."""
    if isinstance(label, (float, np.floating, Decimal, np.datetime64, np.timedelta64)):
        return bool(label != label)
    return label is None or type(label).__name__ in ("NAType", "NaTType")  # pandas' NA does not say whether it is equal


def first_missing(labels: NDArray[Any]) -> int | None:
    """The row of the first label that is missing, if there is one."""
    kind = labels.dtype.kind
    if kind in "biuUS":
        return None
    gaps: Any = np.isnan(labels) if kind in "fc" else np.isnat(labels) if kind in "mM" else None
    if gaps is None:
        gaps = np.array([is_missing(label) for label in labels.tolist()], dtype=bool)
    return int(np.argmax(gaps)) if gaps.any() else None


def unique_with_codes(labels: NDArray[Any], what: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The labels that occur, in order, and the position of each row's among them; types without order are refused."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise ValueError(f"{what} mixes labels of different types ({kinds}). Use one type.") from None
