"""Choose a shift and a power-of-two scale for each column.

As (x − shift) / scale, a column of mean 1e9 keeps the digits of its spread, and the squares of one of size 1e200 do not
overflow. Scales are powers of two, so a change of scale causes no rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linearly import kernels
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.kernels import power_of_two as power_of_two
from linearly.kernels.double_double import EPS, Array, DoubleDouble
from linearly.kernels.matrices import is_sparse

_SAMPLE = 64  # rows that determine the scaling of a block: enough to be within a standard deviation of its mean
_COARSE = 16  # scales are powers of 2¹⁶, so that blocks of the same data nearly always share them
_OFF_CENTER = 1e3  # squares about the shift over squares about the mean: centring costs three digits
UNDERFLOW_SQUARES = 1e-280  # a sum of squares below this has underflowed, or the column is constant


@dataclass(frozen=True, slots=True, eq=False)
class ColumnScaling:
    """Shift and scale of each column of [X | Y]."""

    shift: Array
    scale: Array

    @staticmethod
    def of(block: Block, Y: Array | None, *, all_rows: bool = False, coarse: int = _COARSE) -> ColumnScaling:
        """Return a scaling for the block, from a sample of its rows or from `all_rows`.

        Scales are powers of 2ᶜᵒᵃʳˢᵉ. With coarse=1 all scaled columns have about the same size.
        """
        X = block.X
        p, k = X.shape[1], 0 if Y is None else Y.shape[1]
        rows = _positive_weight(block)
        n = len(block) if isinstance(rows, slice) else len(rows)
        if n == 0:
            return ColumnScaling(np.zeros(p + k), np.ones(p + k))
        if type(X) is np.ndarray and X.dtype.kind == "f" and isinstance(rows, slice) and not all_rows:
            found = kernels.column_scaling(X, Y, coarse)
            if found is not None:
                return ColumnScaling(*found)
        step = 1 if all_rows else max(1, n // _SAMPLE)
        some: Any = slice(None, None, step) if isinstance(rows, slice) else rows[::step]
        if is_sparse(X):
            # A shift would fill in the zeros.
            shift, scale = np.zeros(p + k), np.ones(p + k)
            scale[:p] = power_of_two(kernels.largest_of_columns(X if isinstance(rows, slice) else X[rows]), coarse)
            if Y is not None:
                shift[p:], scale[p:] = _shift_and_scale(_as_float64(Y[some]), coarse)
            return ColumnScaling(shift, scale)
        sample = _as_float64(X[some])
        shift, scale = _shift_and_scale(sample if Y is None else np.hstack([sample, Y[some]]), coarse)
        if isinstance(X, ColumnMatrix) and X.codes:
            shift[X.at_codes], scale[X.at_codes] = sample[:, X.at_codes].mean(axis=0) > 0.5, 1.0
        return ColumnScaling(shift, scale)

    def over_or_underflowed(self, block: Block, Y: Array | None, squares: Array) -> bool:
        """Return whether scaled sums of squares overflowed, or underflowed for a column that is not constant."""
        if not np.isfinite(squares).all():
            return True
        vanished = squares < UNDERFLOW_SQUARES
        if isinstance(block.X, ColumnMatrix):
            vanished[block.X.at_codes] = False  # counts do not underflow: a level without rows is constant
        if is_sparse(block.X) and vanished.any():
            # Shifts are zero, so a column without an entry is constant. Slicing each column of 20,000 rows of 3,000
            # levels took 3.9 s.
            X = block.X[_positive_weight(block)]
            filled = np.zeros(X.shape[1], dtype=bool)
            filled[X.indices[X.data != 0]] = True
            vanished[: len(filled)] &= filled
        for j in np.flatnonzero(vanished):
            part: Any
            part, at = (block.X, j) if Y is None or j < block.X.shape[1] else (Y, j - block.X.shape[1])
            column = _column(part, int(at))
            if (column[_positive_weight(block)] != self.shift[j]).any():
                return True
        return False

    def centred(self, block: Block, Y: Array | None, mean: Array) -> ColumnScaling:
        """Return this scaling with its shift at the mean, or at the row of largest weight if the two nearly agree.

        The mean has the rounding errors of the shift. With that row as the shift, the row itself is exactly zero.
        """
        moved = self.shift + mean * self.scale
        if block.weight is None:
            return replace(self, shift=moved)
        at = slice(first := int(np.argmax(block.weight)), first + 1)
        row = _as_float64(block.X[at])[0]
        row = row if Y is None else np.append(row, Y[first])
        near = np.abs(moved - row) <= 64 * EPS * (np.abs(self.shift) + np.abs(moved))
        return replace(self, shift=np.where(near, row, moved))

    def common_scale(self, other: ColumnScaling) -> ColumnScaling:
        """Return this scaling with scales no smaller than the other's; the same object if they already are."""
        if other is self or (self.scale >= other.scale).all():
            return self
        return ColumnScaling(self.shift, np.maximum(self.scale, other.scale))

    def select(self, columns: Any) -> ColumnScaling:
        """Return the scaling of some columns."""
        return ColumnScaling(self.shift[columns], self.scale[columns])


def off_centre(about_shift: Array, about_mean: Array) -> bool:
    """Return whether centring cancels more than three digits of the squares of a column."""
    return bool((about_shift > _OFF_CENTER * np.maximum(about_mean, 0.0)).any())


def _positive_weight(block: Block) -> Any:
    """Return an index of the rows with positive weight: a full slice if all are."""
    if block.weight is None or (block.weight > 0).all():
        return slice(None)
    return np.flatnonzero(block.weight > 0)


def drop_zero_weight(block: Block) -> Block:
    """Return the block without its rows with weight 0, whose numbers may have any size."""
    rows = _positive_weight(block)
    return block if isinstance(rows, slice) else block.take(rows)


def _column(part: Any, j: int) -> Array:
    if isinstance(part, ColumnMatrix):
        return part.column(j)
    return part[:, [j]].toarray() if is_sparse(part) else _as_float64(part[:, j])


def _as_float64(part: Any) -> Array:
    return np.asarray(part.high if isinstance(part, DoubleDouble) else part, dtype=np.float64)


def _shift_and_scale(sample: Array, coarse: int) -> tuple[Array, Array]:
    # Relative to the first row, so that a constant column has its value as the shift and a spread of exactly zero.
    first = sample[0]
    with np.errstate(all="ignore"):
        moved = sample - first
        middle = np.add.reduce(moved, axis=0) / len(moved)
        shift = first + middle
        spread = np.maximum(np.maximum.reduce(moved, axis=0) - middle, middle - np.minimum.reduce(moved, axis=0))
        if not np.isfinite(spread).all():
            # The difference of two numbers of size 1e308 overflows; the difference of their halves does not.
            half = sample / 2 - first / 2
            shift = first + 2 * half.mean(axis=0)
            shift = np.where(np.isfinite(shift), shift, 0.0)
            spread = 2 * np.abs(sample / 2 - shift / 2).max(axis=0)
    return shift, power_of_two(np.where(spread > 0, spread, np.abs(shift)), coarse)
