"""Rows of a CSR matrix for models that need no p × p summary: blocks by stored entries, without copies.

`as_rows` sizes blocks by columns, as if they were dense. With a million features that is 256 rows at a time, each
block a copy and each feature named; here a block is about a million stored entries, and only given names are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.array_checks import beyond_float64, has_inexact_integers
from linearly.dataset.rows.block import Block, Rows, integer_refused
from linearly.dataset.rows.reduce import reduce_blocks

S = TypeVar("S")

ENTRIES = 2**20  # in a block: about 12 MB


class SparseRows(Rows):
    """Rows of a CSR matrix in this process. Block boundaries depend on the matrix alone."""

    def __init__(
        self,
        X: Any,
        y: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.names = tuple(names)  # none unless given: a million of them take longer than a pass
        self.cuts = _cuts(X.indptr)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def block(self, start: int, stop: int) -> Block:
        """Return rows start … stop − 1."""
        rows = slice(start, stop)
        y = None if self.y is None else self.y[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Block(in_floats(part(self.X, start, stop), start), y, weight, start, self.names)

    def __iter__(self) -> Iterator[Block]:
        for start, stop in self.cuts:
            yield self.block(start, stop)

    def reduce(self, f: Callable[[Block], S]) -> S:
        return reduce_blocks((partial(self.block, start, stop) for start, stop in self.cuts), f)


def part(X: Any, start: int, stop: int) -> Any:
    """Return rows start … stop − 1 of a CSR matrix, sharing its memory."""
    if start == 0 and stop == X.shape[0]:
        return X
    entries = slice(int(X.indptr[start]), int(X.indptr[stop]))
    # Assigned one by one: the constructor would search all indices for the narrowest type.
    some = type(X)((stop - start, X.shape[1]), dtype=X.dtype)
    some.data, some.indices = X.data[entries], X.indices[entries]
    some.indptr = X.indptr[start : stop + 1] - X.indptr[start]
    return some


def transposed(X: Any) -> Any:
    """Return the transpose of a CSR matrix, sharing its memory; SciPy would copy parts of a larger matrix."""
    turned = type(X)(X.shape, dtype=X.dtype).T
    turned.data, turned.indices, turned.indptr = X.data, X.indices, X.indptr
    return turned


def in_floats(X: Any, start: int = 0) -> Any:
    """Return a CSR matrix in float64 or float32; raise for integers that float64 would round."""
    if X.dtype in (np.float64, np.float32):
        return X
    if has_inexact_integers(X.data):
        at = int(np.argmax(beyond_float64(X.data)))
        row = start + int(np.searchsorted(X.indptr, at, side="right")) - 1
        raise integer_refused(f"row {row}", int(X.indices[at]))
    return X.astype(np.float64)


def _cuts(indptr: NDArray[Any]) -> list[tuple[int, int]]:
    """Return ranges of rows of about ENTRIES entries each; one empty range if there are no rows."""
    n = len(indptr) - 1
    at = np.arange(int(indptr[0]) + ENTRIES, int(indptr[-1]) + ENTRIES, ENTRIES)
    stops = np.unique(np.concatenate([np.searchsorted(indptr, at), [n]]).clip(0, n))
    stops = stops[stops > 0] if n else stops
    starts = np.concatenate([[0], stops[:-1]])
    return [(int(a), int(b)) for a, b in zip(starts, stops, strict=True)]
