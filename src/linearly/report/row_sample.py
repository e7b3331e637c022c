"""A few rows of many, gathered by a fold: drawn by a seeded key of their number, or the largest by some measure.

The key of a row depends on its number alone, so the same rows are drawn however the data are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import Block

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The rows with the smallest keys, at most `limit`, in the order of their keys; `a + b` is that of both.

    A row whose key is infinite is never among them.
    """

    limit: int
    keys: Array
    rows: NDArray[np.int64]  # numbers in the whole data set
    places: NDArray[np.object_]  # the same in words
    values: Array  # one row of numbers each

    @staticmethod
    def of(limit: int, keys: Array, block: Block, values: Callable[[NDArray[np.intp]], Array]) -> Sample:
        """From the keys of the rows of a block; `values` gives the numbers of those that are kept."""
        kept = _smallest(limit, keys)
        places = np.array([*(block.describe_row(int(i)) for i in kept), None], dtype=object)[:-1]
        return Sample(limit, keys[kept], block.global_index(kept), places, values(kept))

    def __add__(self, other: Sample) -> Sample:
        joined = (
            np.concatenate([mine, its])
            for mine, its in zip(
                (self.keys, self.rows, self.places, self.values),
                (other.keys, other.rows, other.places, other.values),
                strict=True,
            )
        )
        return Sample(self.limit, *joined).first(self.limit)

    def first(self, n: int) -> Sample:
        """The n rows with the smallest keys."""
        return self._pick(_smallest(n, self.keys))

    def in_order(self) -> Sample:
        """The same rows in the order of the data."""
        return self._pick(np.argsort(self.rows, kind="stable"))

    def _pick(self, kept: NDArray[np.intp]) -> Sample:
        return Sample(self.limit, self.keys[kept], self.rows[kept], self.places[kept], self.values[kept])


def _smallest(n: int, keys: Array) -> NDArray[np.intp]:
    near = np.flatnonzero(np.isfinite(keys))
    if len(near) > n:
        near = near[keys[near] <= np.partition(keys[near], n - 1)[n - 1]]
    return near[np.argsort(keys[near], kind="stable")][:n]


def random_keys(rows: NDArray[np.int64], seed: int = 0) -> Array:
    """A number in [0, 1) for each of some row numbers, always the same (splitmix64)."""
    with np.errstate(over="ignore"):
        z = (rows.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) * 2.0**-53
