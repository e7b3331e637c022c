"""Widen a summary by columns that are zero in all its rows.

A level that first appears in later rows is a column of zeros in all earlier ones. Zeros change no other sum, so the
wider summary has no further error, and it can be added to that of the later rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries
from linearly.algorithm.least_squares.triangular import upper
from linearly.kernels.double_double import Numbers, map_parts


def add_zero_columns(summary: Any, columns: NDArray[np.intp]) -> Any:
    """Return the summary with these features, each given by its index in the summary, or −1 for a column of zeros."""
    if isinstance(summary, (ClassGrams, FoldSummaries)):
        return replace(summary, parts=tuple(add_zero_columns(part, columns) for part in summary.parts))
    m = len(summary.scaling.scale)
    # One column of zeros is appended, and `take` selects it for every −1.
    take = np.concatenate([np.where(columns < 0, m, columns), np.arange(summary.p, m)])
    scaling = ColumnScaling(np.append(summary.scaling.shift, 0.0)[take], np.append(summary.scaling.scale, 1.0)[take])
    rounding = _append_zeros(summary.rounding, 1)[np.append(0, 1 + take)]
    if isinstance(summary, QRFactor):
        R = upper(_append_zeros(summary.R, 0, 1)[:, np.append(0, 1 + take)])
        return replace(summary, p=len(columns), scaling=scaling, R=R, rounding=rounding)
    assert isinstance(summary, Gram)
    mean, cross = (
        _append_zeros(summary.mean, 1)[take],
        _append_zeros(summary.centered_crossprod, 1, 1)[take[:, None], take],
    )
    return replace(summary, p=len(columns), scaling=scaling, mean=mean, centered_crossprod=cross, rounding=rounding)


def _append_zeros(values: Numbers, *ends: int) -> Numbers:
    """Return an array with so many zeros after it in each dimension."""
    return map_parts(lambda part: np.pad(part, [(0, end) for end in ends]), values)
