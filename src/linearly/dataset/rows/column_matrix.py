"""A matrix as separate columns: numbers, and categories as codes whose columns of 0 and 1 are never formed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Codes:
    """Columns of 0 and 1 with at most a single 1 in each row: its column, or −1 for none (the reference level)."""

    values: NDArray[np.int32]
    width: int

    def __len__(self) -> int:
        return len(self.values)

    def times(self, other: Codes) -> Codes:
        """Return the products of all columns of both; the columns of this one vary fastest."""
        both = (self.values >= 0) & (other.values >= 0)
        return Codes(np.where(both, self.values + self.width * other.values, np.int32(-1)), self.width * other.width)

    def expanded(self, rows: Any = slice(None)) -> Array:
        """Return the columns of 0 and 1 of some rows."""
        values = self.values[rows]
        columns = np.zeros((len(values), self.width), order="F")
        present = np.flatnonzero(values >= 0)
        columns[present, values[present]] = 1.0
        return columns


class ColumnMatrix:
    """A float64 matrix stored as separate contiguous columns, with categories as `Codes`."""

    def __init__(self, columns: Sequence[Array | Codes]) -> None:
        self.columns = columns
        self.starts = np.cumsum([0, *(one.width if isinstance(one, Codes) else 1 for one in columns)])
        self.shape = (len(columns[0]), int(self.starts[-1]))

    @cached_property
    def numbers(self) -> list[Array]:
        """The columns that are not codes."""
        return [column for column in self.columns if not isinstance(column, Codes)]

    @cached_property
    def codes(self) -> list[Codes]:
        """The columns that are codes."""
        return [column for column in self.columns if isinstance(column, Codes)]

    @cached_property
    def at_numbers(self) -> NDArray[np.intp]:
        """The positions of `numbers` among all columns."""
        return np.array([self.starts[i] for i, one in enumerate(self.columns) if not isinstance(one, Codes)], dtype=int)

    @cached_property
    def at_codes(self) -> NDArray[np.intp]:
        """The positions of the columns of 0 and 1 of all `codes`."""
        ranges = [
            np.arange(self.starts[i], self.starts[i + 1])
            for i, one in enumerate(self.columns)
            if isinstance(one, Codes)
        ]
        return np.concatenate(ranges) if ranges else np.zeros(0, dtype=int)

    @property
    def nbytes(self) -> int:
        """The bytes of the numbers and codes."""
        return sum((one.values if isinstance(one, Codes) else one).nbytes for one in self.columns)

    def __getitem__(self, rows: Any) -> Array:
        """Return some of the rows as an array."""
        if not self.codes:
            part: Array = np.array([column[rows] for column in self.numbers])
            return part.T
        parts = [one.expanded(rows) if isinstance(one, Codes) else one[rows][:, None] for one in self.columns]
        result = np.empty((len(parts[0]), self.shape[1]), order="F")
        for start, own in zip(self.starts, parts, strict=False):
            result[:, start : start + own.shape[1]] = own
        return result

    def column(self, j: int) -> Array:
        """Return one column."""
        i = int(np.searchsorted(self.starts, j, side="right")) - 1
        one = self.columns[i]
        return (one.values == j - self.starts[i]).astype(np.float64) if isinstance(one, Codes) else one

    def __matmul__(self, coef: Array) -> Array:
        """Return the product with coefficients, a vector or a matrix: those of codes are looked up."""
        vector = coef.ndim == 1
        B = coef[:, None] if vector else coef
        result = np.zeros((self.shape[0], B.shape[1]))
        for start, one in zip(self.starts, self.columns, strict=False):
            if isinstance(one, Codes):
                # −1 looks up the last row, which is zero.
                result += np.vstack([B[start : start + one.width], np.zeros(B.shape[1])])[one.values]
            else:
                result += one[:, None] * B[start]
        return result[:, 0] if vector else result

    def transposed_product(self, R: Array) -> Array:
        """Return X'R for R with one row per row: sums by code for the codes."""
        result = np.empty((self.shape[1], R.shape[1]))
        for start, one in zip(self.starts, self.columns, strict=False):
            if isinstance(one, Codes):
                for k in range(R.shape[1]):
                    sums = np.bincount(one.values + 1, R[:, k], one.width + 1)
                    result[start : start + one.width, k] = sums[1:]
            else:
                result[start] = one @ R
        return result


def taking_columns(f: F) -> F:
    """Declare that a function of blocks accepts a `ColumnMatrix`."""
    f.takes_columns = True  # type: ignore[attr-defined]
    return f


def takes_columns(f: Any) -> bool:
    """Return whether a function of blocks also accepts a `ColumnMatrix`, which saves tables a copy."""
    return bool(getattr(f, "takes_columns", False))
