"""Decode row groups of Parquet files whose columns are plainly encoded float64, without Arrow's reader.

Most numbers in Parquet files are doubles without missing values, compressed with Snappy or not at all. The kernels
decode those a few pages at a time, into memory that is still in the cache when it is reduced: twice as fast. Arrow
reads everything else, and the rest of a row group from the first page on that the kernels cannot decode.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import fs

from linearly import kernels
from linearly.dataset.files.locations import Location, StoredFile

_DOUBLE, _NO_CODEC, _SNAPPY = 5, 0, 1  # Parquet's numbers
_LONGEST_FOOTER = 2**26
_MOST_READERS = 32  # columns that are read side by side: each keeps a page and a dictionary, some 2 MB


@dataclass(frozen=True)
class Column:
    """Where a column of a row group is in its file, and how it is encoded."""

    offset: int
    length: int
    optional: bool  # whether values could be missing
    snappy: bool


def columns_of(location: Location) -> NDArray[np.int64]:
    """Return the columns of a local file by its footer, one `kernels.ColumnChunk` per row; no rows for other files.

    There are no rows, either, where the kernels cannot decode pages: without the extension, or without `os.pread`,
    which Windows does not have. pyarrow would end the process if an untrusted footer names an impossible codec or size.
    """
    none = kernels.columns_of(b"")
    if not kernels.is_compiled() or not hasattr(os, "pread"):
        return none
    with local_descriptor(location) as file:
        if file is None:
            return none
        size = os.fstat(file).st_size
        end = os.pread(file, 8, max(size - 8, 0))
        length = int.from_bytes(end[:4], "little")
        whole = end[4:] == b"PAR1" and length <= min(size - 8, _LONGEST_FOOTER)
        return kernels.columns_of(os.pread(file, length, size - 8 - length) if whole else b"")


def decodable_columns(
    metadata: Any, schema: pa.Schema, columns: NDArray[np.int64], group: int, wanted: pa.Schema
) -> list[Column] | None:
    """Return the wanted columns of a row group if the kernels can decode them; otherwise None."""
    width = len(schema)
    # Columns in structs and lists are counted differently.
    flat = metadata.num_columns == width and len(columns) == metadata.num_row_groups * width
    if not flat or any(kind != pa.float64() for kind in wanted.types):
        return None
    rows, found = metadata.row_group(group).num_rows, []
    for name in wanted.names:
        at = schema.get_field_index(name)
        chunk, kind = kernels.ColumnChunk(*columns[group * width + at].tolist()), metadata.schema.column(at)
        if chunk.type != _DOUBLE or chunk.codec not in (_NO_CODEC, _SNAPPY) or chunk.values != rows or chunk.apart:
            return None
        if kind.max_repetition_level or kind.max_definition_level > 1 or chunk.data < 0 or chunk.length < 0:
            return None
        start = min(chunk.data, chunk.dictionary) if chunk.dictionary > 0 else chunk.data
        found.append(Column(start, chunk.length, kind.max_definition_level == 1, chunk.codec == _SNAPPY))
    return found


@contextmanager
def local_descriptor(location: Location) -> Iterator[int | None]:
    """Open a local file and give its descriptor; None for other files."""
    if not isinstance(location, StoredFile) or not isinstance(location.filesystem, fs.LocalFileSystem):
        yield None
        return
    file = os.open(location.path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


class ReaderPool:
    """Readers that are used again for the next row group, with their memory."""

    def __init__(self) -> None:
        self._waiting: deque[Any] = deque()

    @contextmanager
    def borrow(self, count: int) -> Iterator[list[Any]]:
        """Lend some readers; none if the kernels are not compiled."""
        readers = []
        for _ in range(count):
            try:
                readers.append(self._waiting.pop())
            except IndexError:
                readers.append(kernels.pages())
        try:
            yield [reader for reader in readers if reader is not None]
        finally:
            self._waiting.extend(readers)


def decoded(
    file: int, columns: Sequence[Column], wanted: pa.Schema, rows: int, step: int, readers: ReaderPool
) -> Iterator[pa.Table]:
    """Iterate over the rows of the columns, up to the first page that the kernels cannot decode."""
    # A column that is read at once leaves its reader to the next; otherwise each column has its own.
    several = rows > step
    if several and len(columns) > _MOST_READERS:
        return
    with readers.borrow(len(columns) if several else 1) as borrowed:
        for first in range(0, rows if borrowed else 0, step):
            count, arrays = min(step, rows - first), []
            for reader, column in zip(borrowed if several else borrowed * len(columns), columns, strict=True):
                if first == 0:
                    reader.open(file, column.offset, column.length, rows, column.optional, column.snappy)
                memory = pa.allocate_buffer(8 * count)
                if not reader.read(np.frombuffer(memory, dtype=np.float64)):
                    return
                arrays.append(pa.Array.from_buffers(pa.float64(), count, [None, memory]))
            yield pa.Table.from_arrays(arrays, schema=wanted)
