"""Rows seen through a function of their blocks: labels as codes, numbers in another unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from linearly.dataset.rows import Block, Rows

S = TypeVar("S")


class MappedRows:
    """The blocks of other rows, each passed through `change` where it is needed."""

    def __init__(self, rows: Rows, change: Callable[[Block], Block]) -> None:
        self.rows, self.change, self.names = rows, change, rows.names

    def __iter__(self) -> Iterator[Block]:
        return map(self.change, self.rows)

    def fold(self, f: Callable[[Block], S]) -> S:
        return self.rows.fold(lambda block: f(self.change(block)))
