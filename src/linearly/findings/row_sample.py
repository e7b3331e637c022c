"""Choose a few rows of many by a reduction: at random, or the largest by some measure.

Random keys depend on the index of a row alone, so the same rows are drawn however the data are split into blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import Block

Array = NDArray[np.float64]


MAX_SHOWN = 10  # rows in the table of rows


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The `limit` rows with the smallest keys, in the order of their keys.

    `a + b` is the sample of both. A row whose key is infinite is never in a sample.
    """

    limit: int
    keys: Array
    rows: NDArray[np.int64]  # indices in the whole data set
    places: NDArray[np.object_]  # the same in words
    values: Array  # one row of numbers each

    @staticmethod
    def of(limit: int, keys: Array, block: Block, values: Callable[[NDArray[np.intp]], Array]) -> Sample:
        """Return the sample of a block from the keys of its rows; `values` returns the numbers of chosen rows."""
        chosen = _smallest(limit, keys)
        places = np.array([*(block.describe_row(int(i)) for i in chosen), None], dtype=object)[:-1]
        return Sample(limit, keys[chosen], block.global_index(chosen), places, values(chosen))

    def __add__(self, other: Sample) -> Sample:
        names = ("keys", "rows", "places", "values")
        both = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in names]
        return Sample(self.limit, *both).first(self.limit)

    def first(self, n: int) -> Sample:
        """Return the n rows with the smallest keys."""
        return self._select(_smallest(n, self.keys))

    def in_order(self) -> Sample:
        """Return the same rows in the order of the data."""
        return self._select(np.argsort(self.rows, kind="stable"))

    def _select(self, chosen: NDArray[np.intp]) -> Sample:
        return Sample(self.limit, self.keys[chosen], self.rows[chosen], self.places[chosen], self.values[chosen])


def rows_table(sample: Sample, names: Sequence[str], **columns: Any) -> dict[str, Any]:
    """Return the facts of a table of rows: where each is, the names of the features, and further columns."""
    return {"place": sample.places, "names": list(map(str, names)), **columns}


def _smallest(n: int, keys: Array) -> NDArray[np.intp]:
    near = np.flatnonzero(np.isfinite(keys))
    if len(near) > n:
        near = near[keys[near] <= np.partition(keys[near], n - 1)[n - 1]]
    return near[np.argsort(keys[near], kind="stable")][:n]


def random_keys(rows: NDArray[np.int64]) -> Array:
    """Return a number in [0, 1) for each row index, always the same (splitmix64)."""
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) * 2.0**-53
