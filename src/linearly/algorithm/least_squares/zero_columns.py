"""Widening: the summary of rows in which some columns are zero, from the summary without those columns.

A level that appears in later rows is a column that is zero in all earlier ones. Zeros change no other sum, so the wider
summary is exact, and then adds to that of the later rows.
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
from linearly.kernels.double_double import DoubleDouble


def add_zero_columns(summary: Any, columns: NDArray[np.intp]) -> Any:
    """The summary with these features, each given by its number in the summary, or −1 if it is zero in all its rows."""
    if isinstance(summary, (ClassGrams, FoldSummaries)):
        return replace(summary, parts=tuple(add_zero_columns(part, columns) for part in summary.parts))
    m = len(summary.scaling.scale)
    # The zero column is appended as the last one.
    take = np.concatenate([np.where(columns < 0, m, columns), np.arange(summary.p, m)])
    scaling = ColumnScaling(np.append(summary.scaling.shift, 0.0)[take], np.append(summary.scaling.scale, 1.0)[take])
    rounding = _padded(summary.rounding, 1)[np.append(0, 1 + take)]
    if isinstance(summary, QRFactor):
        R = upper(_padded(summary.R, (0, 1))[:, np.append(0, 1 + take)])
        return replace(summary, p=len(columns), scaling=scaling, R=R, rounding=rounding)
    assert isinstance(summary, Gram)
    mean, cross = _padded(summary.mean, 1)[take], _padded(summary.centered_crossprod, 1)[take[:, None], take]
    return replace(summary, p=len(columns), scaling=scaling, mean=mean, centered_crossprod=cross, rounding=rounding)


def _padded(values: Any, ends: Any) -> Any:
    """An array with zeros after it: one in every dimension, or (rows, columns) of them."""
    if isinstance(values, DoubleDouble):
        return DoubleDouble(_padded(values.high, ends), _padded(values.low, ends))
    ends = (ends,) * np.ndim(values) if isinstance(ends, int) else ends
    return np.pad(values, [(0, end) for end in ends])
