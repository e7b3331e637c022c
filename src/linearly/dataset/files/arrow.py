"""Read Parquet files by row groups, Arrow files by record batches, and streams of Arrow batches."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from linearly.dataset.files.locations import Location, StoredFile, decompressed_stream, read_already
from linearly.dataset.files.parquet_pages import ReaderPool, columns_of, decodable_columns, decoded, local_descriptor
from linearly.dataset.files.read_units import (
    TableFile,
    Unit,
    check_columns_exist,
    frame_of,
    raise_with_name,
    rows_in_chunk,
)
from linearly.dataset.rows.block import RowOrigin
from linearly.dataset.rows.tables import Chunk, check_unique_names

_FEW_GROUPS = 4  # fewer large row groups than this keep no two threads busy: their batches are shared out instead
_LARGE_GROUP = 2**18  # rows
_BUFFERED = 2**20  # bytes read ahead in a row group, over all columns
_WHOLE = 2**23  # numbers of a row group that is decoded at once: 1.3 times faster than batch by batch
_PART = 2**22  # numbers of a larger one that are decoded at once
_TEXT = 2**25  # bytes of text in a chunk: a dictionary of 5 MB may stand for gigabytes of it
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def _parquet_file(source: Any, **options: Any) -> Any:
    """Open a Parquet file. The reader of pyarrow is imported with the first one: CSV files do without it."""
    from pyarrow.parquet import ParquetFile

    return ParquetFile(source, **options)


class ParquetTable(TableFile):
    """A Parquet file, one of `among` so many. One thread reads a row group, in batches."""

    def __init__(self, location: Location, among: int = 1, readers: ReaderPool | None = None) -> None:
        self.location, self.name, self.among = location, location.name, among
        self.readers = ReaderPool() if readers is None else readers
        with (
            raise_with_name(f"{self.name} is not a Parquet file, or is truncated"),
            _parquet_file(location.random_access()) as file,
        ):
            self.metadata = file.metadata
            schema = self._stored = file.schema_arrow
            check_unique_names(schema.names, self.name)
        # pandas writes the labels of rows as a column, which is not a feature.
        self.schema = pa.schema([field for field in schema if not _PANDAS_INDEX.fullmatch(field.name)])

    @property
    def n_rows(self) -> int | None:
        return int(self.metadata.num_rows)

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        return columns_of(self.location)

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """Iterate over the row groups, or over their batches if they are few and large."""
        check_columns_exist(wanted.names, self.schema.names, self.name)
        sizes = [self.metadata.row_group(i).num_rows for i in range(self.metadata.num_row_groups)]
        few = len(sizes) * self.among < _FEW_GROUPS and max(sizes, default=0) > _LARGE_GROUP
        first = 0
        for group, rows in enumerate(sizes):
            if rows:
                read = partial(self._read, group, rows, wanted, start, first, together=few)
                if few:
                    yield from (Unit(len(chunk), partial(_only, chunk)) for chunk in read())
                else:
                    yield Unit(rows, read)
            start, first = start + rows, first + rows

    def _read(
        self, group: int, rows: int, wanted: pa.Schema, start: int, first: int, together: bool
    ) -> Iterator[Chunk]:
        with raise_with_name(f"Rows {first} to {first + rows - 1} of {self.name} cannot be read"):
            found = 0
            if not together:
                for part in self._plain(group, rows, wanted):
                    yield from _cut(part, wanted, start + found, self.name, first + found, len(part))
                    found += len(part)
            passed = found
            for part in self._batches(group, rows, wanted, together) if found < rows else ():
                some, passed = part.slice(min(passed, len(part))), max(passed - len(part), 0)
                step = rows_in_chunk(wanted) if together else max(len(some), 1)
                yield from _cut(some, wanted, start + found, self.name, first + found, step)
                found += len(some)
            if found != rows:
                raise pa.ArrowInvalid(f"{found} rows were found")

    def _plain(self, group: int, rows: int, wanted: pa.Schema) -> Iterator[pa.Table]:
        """Iterate over the rows that the kernels can decode; stop at the first page that they cannot."""
        columns = decodable_columns(self.metadata, self._stored, self._columns, group, wanted)
        if columns:
            step = rows if rows * len(wanted) <= _WHOLE else max(rows_in_chunk(wanted), _PART // len(wanted))
            with local_descriptor(self.location) as file:
                if file is not None:
                    yield from decoded(file, columns, wanted, rows, step, self.readers)

    def _batches(self, group: int, rows: int, wanted: pa.Schema, together: bool) -> Iterator[Any]:
        """Iterate over all rows, read by Arrow."""
        # Without a buffer a whole row group of compressed bytes is held; pre_buffer would hold all row groups.
        buffer = max(2**14, min(2**20, _BUFFERED // len(wanted))) if isinstance(self.location, StoredFile) else 0
        with _parquet_file(
            self.location.random_access(), metadata=self.metadata, pre_buffer=False, buffer_size=buffer
        ) as file:
            if rows * len(wanted) <= _WHOLE and all(map(pa.types.is_primitive, wanted.types)):
                yield file.read_row_group(group, wanted.names, use_threads=together)
            else:
                step = self._rows_at_once(group, rows, wanted)
                yield from file.iter_batches(step, [group], wanted.names, use_threads=together)

    def _rows_at_once(self, group: int, rows: int, wanted: pa.Schema) -> int:
        """Return how many rows to read at a time, so that their text stays below a limit."""
        texts = [field.name for field in wanted if _is_text(field.type)]
        if not texts:
            return rows_in_chunk(wanted)
        # Reading one row gives the dictionaries, and so the longest value; the size of the group gives the average.
        with _parquet_file(
            self.location.random_access(), metadata=self.metadata, read_dictionary=texts, pre_buffer=False
        ) as file:
            first = next(file.iter_batches(1, [group], texts, use_threads=False))
        return _rows_of_text(first, rows_in_chunk(wanted), self.metadata.row_group(group).total_byte_size // rows)


class ArrowTable(TableFile):
    """An Arrow IPC (Feather) file. One thread reads a record batch."""

    def __init__(self, location: Location) -> None:
        self.location, self.name = location, location.name
        with raise_with_name(f"{self.name} is not an Arrow file, or is truncated"):
            self.schema = self._reader().schema
            check_unique_names(self.schema.names, self.name)

    def _reader(self, columns: list[str] | None = None) -> Any:
        fields = None if columns is None else sorted(self.schema.get_field_index(name) for name in columns)
        return ipc.open_file(
            self.location.random_access(), options=ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        )

    @cached_property
    def _batch_sizes(self) -> list[int]:
        with raise_with_name(f"{self.name} cannot be read"):
            reader = self._reader(self.schema.names[:1])
            return [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]

    @property
    def n_rows(self) -> int | None:
        return sum(self._batch_sizes)

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        check_columns_exist(wanted.names, self.schema.names, self.name)
        first = 0
        for i, rows in enumerate(self._batch_sizes):
            if rows:
                yield Unit(rows, partial(self._read, i, rows, wanted, start, first))
            start, first = start + rows, first + rows

    def _read(self, i: int, rows: int, wanted: pa.Schema, start: int, first: int) -> Iterator[Chunk]:
        with raise_with_name(f"Rows {first} to {first + rows - 1} of {self.name} cannot be read"):
            batch = self._reader(wanted.names).get_batch(i)
            yield from _cut(batch, wanted, start, self.name, first, rows_in_chunk(wanted))


class BatchStream(TableFile):
    """Record batches that come one after another: an Arrow stream in a file, or an object that gives one."""

    def __init__(self, name: str, batches: Callable[[], tuple[pa.Schema, Iterable[Any]]], *, one_shot: bool) -> None:
        self.name, self.one_shot = name, one_shot
        self._passed: int | None = None  # rows in the pass before
        self._open = batches
        self._lock = threading.Lock()
        self._waiting: Iterable[Any] | None
        with raise_with_name(f"{name} is not an Arrow stream, or is truncated"):
            self.schema, self._waiting = batches()
            check_unique_names(self.schema.names, name)

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        check_columns_exist(wanted.names, self.schema.names, self.name)
        first = 0
        with raise_with_name(f"{self.name} cannot be read to its end"):
            for batch in self._batches():
                for chunk in _cut(batch, wanted, start, self.name, first, rows_in_chunk(wanted)):
                    yield Unit(len(chunk), partial(_only, chunk))
                start, first = start + len(batch), first + len(batch)
        if self._passed not in (None, first):
            raise ValueError(
                f"{self.name} had {first:,} rows in one pass and {self._passed:,} in another. Write it to a "
                "file, and fit the file."
            )
        self._passed = first

    def _batches(self) -> Iterable[Any]:
        with self._lock:
            batches, self._waiting = self._waiting, None
        if batches is not None:
            return batches
        if self.one_shot:
            raise read_already(self.name)
        return self._open()[1]


def arrow_stream(location: Location) -> BatchStream:
    """Return the stream of a file, or of standard input, in the Arrow stream format."""

    def batches() -> tuple[pa.Schema, Iterable[Any]]:
        reader = ipc.open_stream(decompressed_stream(location))
        return reader.schema, reader

    return BatchStream(location.name, batches, one_shot=location.one_shot)


def stream_from_arrow(data: Any) -> BatchStream:
    """Return a stream of an object with an Arrow C stream, which is requested again at each pass.

    A reader of batches can be read only once. A polars LazyFrame is collected again, in batches, at each pass; an Arrow
    dataset is scanned again.
    """

    def batches() -> tuple[pa.Schema, Iterable[Any]]:
        if hasattr(data, "collect_batches"):
            return data.clear().collect().to_arrow().schema, _record_batches(data)
        if hasattr(data, "scanner"):
            return data.schema, data.to_batches()
        reader = pa.RecordBatchReader.from_stream(data)
        return reader.schema, reader

    lazy = hasattr(data, "collect_batches") or hasattr(data, "scanner")
    return BatchStream(f"the {type(data).__name__}", batches, one_shot=not lazy and hasattr(data, "__next__"))


def _record_batches(lazy: Any) -> Iterator[Any]:
    for frame in lazy.collect_batches(maintain_order=True):  # starts the query, so not before rows are needed
        yield frame.to_arrow()


def _only(chunk: Chunk) -> tuple[Chunk]:
    return (chunk,)


def _cut(batch: Any, wanted: pa.Schema, start: int, name: str, first: int, step: int) -> Iterator[Chunk]:
    batch.validate(full=True)  # offsets are addresses, and text that is not UTF-8 is found nowhere else
    step = _rows_of_text(batch, step)
    for at in range(0, len(batch), step):
        yield Chunk(frame_of(batch.slice(at, step), wanted), start + at, RowOrigin(name, first + at))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _rows_of_text(batch: Any, most: int, bytes_in_row: int = 0) -> int:
    """Return at most `most` rows, fewer if the values of dictionaries, or the rows themselves, are long."""
    import pyarrow.compute as pc

    longest = 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            longest += max((pc.max(pc.binary_length(one.dictionary)).as_py() or 0 for one in chunks), default=0)
    return max(1, min(most, _TEXT // max(longest, bytes_in_row, 1)))
