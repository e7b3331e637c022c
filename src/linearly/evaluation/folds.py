"""Assign rows to the folds of a cross-validation by a seeded hash of their numbers, the same wherever they are stored.

The rows of a class are numbered 0, 1, … in their order. Each K of them in turn are shuffled by a hash of their numbers,
and dealt to the K folds, one class after the other. So the folds differ by at most one row, in all and in each class,
and neither sorted nor periodic rows line up with them. The rows of a regression are one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.row_hash import hash_numbers

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Folds:
    """The fold of each row of a data set.

    Attributes
    ----------
    K : int
        Number of folds.
    seed : int
        Seed for the hash.
    shuffle : bool
        If True, use the hash. Otherwise row i is in fold i mod K.
    counts : ndarray of shape (n_classes,), optional
        Rows of positive weight in each class; None for one class whose rows are not counted.
    before : mapping of int to ndarray, optional
        Rows of each class before a block, by the index of the first row of the block.
    """

    K: int
    seed: int = 0
    shuffle: bool = True
    counts: Integers | None = None
    before: Mapping[int, Integers] | None = None

    def stratified(self, rows: Rows, n_classes: int) -> Folds:
        """Return the folds that spread each class; counts the classes in one pass over rows whose targets are codes."""
        if not self.shuffle:
            return self
        found = rows.reduce(lambda block: _CountsByStart.of(block, n_classes)).counts
        before, total = {}, np.zeros(n_classes, dtype=np.int64)
        for start in sorted(found):
            before[start], total = total, total + found[start]
        return replace(self, counts=total, before=before)

    def of(self, block: Block, before: Integers | None = None) -> Integers:
        """Return the fold of each row of a block; `before` counts the rows of each class before it, if known."""
        if not len(block):
            return np.empty(0, dtype=np.int64)
        index = np.asarray(block.global_index(np.arange(len(block))), dtype=np.int64)
        if not self.shuffle:
            return index % self.K
        if self.counts is None:
            first = int(index.min())
            return (self._positions(0, first, int(index.max()) + 1)[index - first]) % self.K
        assert self.before is not None
        before = self.before[int(block.start)] if before is None else before
        offsets = np.cumsum(self.counts) - self.counts
        folds = np.zeros(len(block), dtype=np.int64)  # rows of weight 0 are absent from any fold
        for k, rows in _rows_by_class(block, len(before)):
            first = int(before[k])
            positions = self._positions(k, first, first + len(rows), int(self.counts[k]))
            folds[rows] = (offsets[k] + positions) % self.K
        return folds

    def _positions(self, k: int, first: int, stop: int, count: int | None = None) -> Integers:
        """Return the shuffled positions of the rows first … stop − 1 of class k, which has `count` rows."""
        K, low = self.K, first // self.K * self.K
        numbers = np.arange(low, -(-stop // K) * K, dtype=np.int64)
        keys = hash_numbers(numbers, seed=(self.seed << 32) + k)
        if count is not None:
            keys[numbers >= count] = np.iinfo(np.uint64).max  # the last group may have fewer than K rows
        rank = np.argsort(np.argsort(keys.reshape(-1, K), axis=1, kind="stable"), axis=1).ravel()
        positions: Integers = (numbers // K * K + rank)[first - low : stop - low]
        return positions

    def split(self, block: Block) -> list[Block]:
        """Return the rows of a block that each fold holds out."""
        folds = self.of(block)
        return [block.take(np.flatnonzero(folds == j)) for j in range(self.K)]

    def training(self, block: Block, j: int, before: Integers | None = None) -> Block:
        """Return the rows of a block that fold j does not hold out."""
        return block.take(np.flatnonzero(self.of(block, before) != j))

    def iterate_training(self, rows: Rows, j: int) -> Iterator[Block]:
        """Yield the blocks in order, without the rows of fold j; they need not be the counted ones."""
        before = None if self.counts is None else np.zeros_like(self.counts)
        for block in rows:
            yield self.training(block, j, before)
            if before is not None:
                before = before + _class_counts(block, len(before))


@dataclass(frozen=True)
class _CountsByStart:
    """The rows of each class in blocks, by the index of the first row of the block."""

    counts: dict[int, Integers]

    @staticmethod
    def of(block: Block, n_classes: int) -> _CountsByStart:
        return _CountsByStart({int(block.start): _class_counts(block, n_classes)} if len(block) else {})

    def __add__(self, other: _CountsByStart) -> _CountsByStart:
        return _CountsByStart(self.counts | other.counts)


def _present(block: Block) -> NDArray[np.intp]:
    return np.arange(len(block)) if block.weight is None else np.flatnonzero(block.weight > 0)


def _class_counts(block: Block, n_classes: int) -> Integers:
    return np.bincount(np.asarray(block.y)[_present(block)], minlength=n_classes).astype(np.int64)


def _rows_by_class(block: Block, n_classes: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield each class of a block with its rows with positive weight, in order."""
    present = _present(block)
    codes = np.asarray(block.y)[present]
    order = present[np.argsort(codes, kind="stable")]
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))[:-1]
    return ((k, rows) for k, rows in enumerate(np.split(order, ends)) if len(rows))
