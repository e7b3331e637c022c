"""Keep encoded rows in memory for models that pass over them several times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from linearly.dataset.design.design import DesignRows, no_rows_error
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.reduce import reduce_blocks

S = TypeVar("S")

MAX_CACHED_BYTES = 2**28


class CachedRows(Rows):
    """The blocks of other rows, encoded once."""

    def __init__(self, rows: DesignRows, blocks: list[Block], n_dropped: int) -> None:
        self.names, self.classes, self.blocks, self.n_dropped = rows.names, rows.classes, blocks, n_dropped

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def reduce(self, f: Callable[[Block], S]) -> S:
        return reduce_blocks((partial(self.blocks.__getitem__, i) for i in range(len(self.blocks))), f)


def cache_in_memory(rows: DesignRows, max_bytes: int = MAX_CACHED_BYTES) -> DesignRows | CachedRows:
    """Return the rows in memory if they take at most `max_bytes`; otherwise, and on a cluster, the rows themselves.

    A file is then parsed once and not in every pass.
    """
    if rows.n_partitions is not None or rows.one_shot:
        return rows
    blocks, n_bytes, n_dropped = [], 0, 0
    for chunk in rows.tables:
        block = rows.design.block(chunk)
        n_bytes, n_dropped = n_bytes + block.X.nbytes, n_dropped + len(chunk) - len(block)
        if n_bytes > max_bytes:
            return rows
        blocks.append(block)
    if n_dropped and not any(map(len, blocks)):
        raise no_rows_error(n_dropped)
    return CachedRows(rows, [block for block in blocks if len(block)] or blocks, n_dropped)
