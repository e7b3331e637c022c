"""Views of rows: blocks passed through a function, and a counter of passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.column_matrix import takes_columns, taking_columns
from linearly.dataset.rows.reduce import MapPartition

S = TypeVar("S")


class MappedRows(Rows):
    """The blocks of other rows, each passed through `change`."""

    def __init__(self, rows: Rows, change: Callable[[Block], Block]) -> None:
        self.rows, self.change, self.names = rows, change, rows.names
        self.one_shot, self.ordered = rows.one_shot, rows.ordered

    def __iter__(self) -> Iterator[Block]:
        return map(self.change, self.rows)

    def reduce(self, f: Callable[[Block], S]) -> S:
        change = self.change

        def changed(block: Block) -> S:
            return f(change(block))

        return self.rows.reduce(taking_columns(changed) if takes_columns(f) and takes_columns(change) else changed)

    @property
    def n_partitions(self) -> int | None:
        """Return the number of partitions; None for rows in this process."""
        return self.rows.n_partitions

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """Return the sum of f over the partitions, each given as its blocks in order."""
        return cast(S, self.rows.reduce_partitions(MapPartition(self.change, f)))


class PassCounter(Rows):
    """Other rows, unchanged; `passes` counts how often they were reduced or walked."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.names, self.passes = rows, rows.names, 0
        self.one_shot, self.ordered, self.classes = rows.one_shot, rows.ordered, rows.classes

    def __iter__(self) -> Iterator[Block]:
        self.passes += 1
        return iter(self.rows)

    def column_blocks(self) -> Iterator[Block]:
        """Yield the blocks in order, their X as a `ColumnMatrix` if that saves work."""
        self.passes += 1
        return self.rows.column_blocks()

    def reduce(self, f: Callable[[Block], S]) -> S:
        self.passes += 1
        return self.rows.reduce(f)

    @property
    def n_partitions(self) -> int | None:
        """Return the number of partitions; None for rows in this process."""
        return self.rows.n_partitions

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """Return the sum of f over the partitions, each given as its blocks in order."""
        self.passes += 1
        return self.rows.reduce_partitions(f)
