"""Rows kept in memory, for models that pass over them again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from linearly.dataset.cluster.partitions import partitions_of
from linearly.dataset.design.design import DesignRows, no_rows_error
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.reduce import reduce_blocks

S = TypeVar("S")

MAX_CACHED_BYTES = 2**28  # of rows that are kept


class CachedRows:
    """The blocks of other rows, made once."""

    def __init__(self, rows: DesignRows, blocks: list[Block], n_dropped: int) -> None:
        self.names, self.classes, self.blocks, self.n_dropped = rows.names, rows.classes, blocks, n_dropped

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def reduce(self, f: Callable[[Block], S]) -> S:
        return reduce_blocks((partial(_same, block) for block in self.blocks), f)


def _same(block: Block) -> Block:
    return block


def cache_in_memory(rows: DesignRows, most_bytes: int = MAX_CACHED_BYTES) -> Rows:
    """The rows in memory if they take no more than so many bytes; else, and on a cluster, the rows as they are.

    A file is then parsed once and not in every pass.
    """
    if partitions_of(rows) is not None or getattr(rows.tables, "one_shot", False):
        return rows
    blocks, taken, n_dropped = [], 0, 0
    for chunk in rows.tables:
        block = rows.design.block(chunk)
        taken, n_dropped = taken + block.X.nbytes, n_dropped + len(chunk) - len(block)
        if taken > most_bytes:
            return rows
        blocks.append(block)
    if n_dropped and not any(map(len, blocks)):
        raise no_rows_error(n_dropped)
    return CachedRows(rows, [block for block in blocks if len(block)] or blocks, n_dropped)
