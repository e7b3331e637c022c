"""Keep encoded rows in memory for models that pass over them several times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from linearly.dataset.design.design import DesignRows, no_rows_error
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.column_matrix import ColumnMatrix, takes_columns
from linearly.dataset.rows.reduce import reduce_blocks

S = TypeVar("S")

MAX_CACHED_BYTES = 2**28


class CachedRows(Rows):
    """The blocks of other rows, encoded once. Categories are kept as codes, and expanded if numbers are required."""

    def __init__(self, rows: DesignRows, blocks: list[Block], n_dropped: int) -> None:
        self.names, self.classes, self.blocks, self.n_dropped = rows.names, rows.classes, blocks, n_dropped
        cells = sum(len(block) for block in blocks) * len(self.names)
        self._keep_expanded = 8 * cells <= MAX_CACHED_BYTES
        self._expanded: dict[int, Block] = {}

    def __iter__(self) -> Iterator[Block]:
        return map(self._expand, range(len(self.blocks)))

    def column_blocks(self) -> Iterator[Block]:
        return iter(self.blocks)

    def _expand(self, i: int) -> Block:
        block = self.blocks[i]
        if not isinstance(block.X, ColumnMatrix):
            return block
        if i not in self._expanded:
            block = replace(block, X=block.X[:])
            if not self._keep_expanded:
                return block
            self._expanded[i] = block
        return self._expanded[i]

    def reduce(self, f: Callable[[Block], S]) -> S:
        block = self.blocks.__getitem__ if takes_columns(f) else self._expand
        return reduce_blocks((partial(block, i) for i in range(len(self.blocks))), f)


def cache_in_memory(rows: DesignRows) -> DesignRows | CachedRows:
    """Return the rows in memory if they are few; otherwise, and on a cluster, the rows themselves.

    A file is then parsed once and not in every pass. The rows in memory take at most `MAX_CACHED_BYTES`.
    """
    if rows.n_partitions is not None or rows.one_shot:
        return rows
    blocks, n_bytes, n_dropped = [], 0, 0
    for chunk in rows.tables:
        block = rows.design.block(chunk, as_columns=rows.design.has_codes)
        n_bytes, n_dropped = n_bytes + block.X.nbytes, n_dropped + len(chunk) - block.n_data_rows
        if n_bytes > MAX_CACHED_BYTES:
            return rows
        blocks.append(block)
    if n_dropped and not any(map(len, blocks)):
        raise no_rows_error(n_dropped)
    return CachedRows(rows, [block for block in blocks if len(block)] or blocks, n_dropped)
