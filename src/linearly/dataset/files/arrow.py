"""Columnar files and streams: Parquet by row groups, Arrow by record batches, and whatever else gives batches."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import ipc

from linearly.dataset.files.locations import Location, StoredFile, read_already, unpacked
from linearly.dataset.files.parquet_pages import ReaderPool, columns_of, decodable_columns, decoded, opened
from linearly.dataset.files.read_units import Unit, check_columns_exist, check_unique_names, frame_of, rows_in_chunk
from linearly.dataset.rows.block import RowOrigin
from linearly.dataset.rows.tables import Chunk

_FEW_GROUPS = 4  # fewer large row groups than this keep no two threads busy: their batches are shared out instead
_LARGE_GROUP = 2**18  # rows
_BUFFERED = 2**25  # bytes read ahead in a row group, over all columns
_WHOLE = 2**23  # numbers of a row group that is decoded at once: 1.3 times faster than batch by batch
_PART = 2**22  # numbers of a larger one that are decoded at once
_TEXT = 2**25  # bytes of text in a chunk: a dictionary of 5 MB may stand for gigabytes of it
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class ParquetTable:
    """A Parquet file, one of `among` so many: each row group is read by one thread, in batches."""

    one_shot = False

    def __init__(self, location: Location, among: int = 1, readers: ReaderPool | None = None) -> None:
        self.location, self.name, self.among = location, location.name, among
        self.readers = ReaderPool() if readers is None else readers
        with _named(f"{self.name} is not a Parquet file, or was cut short"), pq.ParquetFile(location.whole()) as file:
            self.metadata = file.metadata
            schema = self._stored = file.schema_arrow
            check_unique_names(schema.names, self.name)
        # pandas writes the labels of rows as a column; they are no feature.
        self.schema = pa.schema([field for field in schema if not _PANDAS_INDEX.fullmatch(field.name)])
        self.n_rows: int | None = self.metadata.num_rows

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        return columns_of(self.location)

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """The row groups; where they are few and large, their batches."""
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
        with _named(f"Rows {first} to {first + rows - 1} of {self.name} cannot be read"):
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
                raise pa.ArrowInvalid(f"there are {found} of them")

    def _plain(self, group: int, rows: int, wanted: pa.Schema) -> Iterator[pa.Table]:
        """The rows as far as the pages are plain."""
        columns = decodable_columns(self.metadata, self._stored, self._columns, group, wanted)
        if columns:
            step = rows if rows * len(wanted) <= _WHOLE else max(rows_in_chunk(wanted), _PART // len(wanted))
            with opened(self.location) as file:
                if file is not None:
                    yield from decoded(file, columns, wanted, rows, step, self.readers)

    def _batches(self, group: int, rows: int, wanted: pa.Schema, together: bool) -> Iterator[Any]:
        """All rows as Arrow reads them."""
        # Without a buffer a whole row group of compressed bytes is held; pre_buffer would hold all row groups.
        buffer = max(2**14, min(2**20, _BUFFERED // len(wanted))) if isinstance(self.location, StoredFile) else 0
        with pq.ParquetFile(
            self.location.whole(), metadata=self.metadata, pre_buffer=False, buffer_size=buffer
        ) as file:
            if rows * len(wanted) <= _WHOLE and all(map(pa.types.is_primitive, wanted.types)):
                yield file.read_row_group(group, wanted.names, use_threads=together)
            else:
                step = self._rows_at_once(group, rows, wanted)
                yield from file.iter_batches(step, [group], wanted.names, use_threads=together)

    def _rows_at_once(self, group: int, rows: int, wanted: pa.Schema) -> int:
        """How many rows to read at a time, so that their text stays within bounds."""
        texts = [field.name for field in wanted if _is_text(field.type)]
        if not texts:
            return rows_in_chunk(wanted)
        # One row brings the dictionaries, which say how long a value can be; the size of the group, how long it is.
        with pq.ParquetFile(
            self.location.whole(), metadata=self.metadata, read_dictionary=texts, pre_buffer=False
        ) as file:
            first = next(file.iter_batches(1, [group], texts, use_threads=False))
        return _rows_of_text(first, rows_in_chunk(wanted), self.metadata.row_group(group).total_byte_size // rows)


class ArrowTable:
    """An Arrow IPC (Feather) file: each record batch is read by one thread."""

    one_shot = False

    def __init__(self, location: Location) -> None:
        self.location, self.name = location, location.name
        with _named(f"{self.name} is not an Arrow file, or was cut short"):
            self.schema = self._reader().schema
            check_unique_names(self.schema.names, self.name)
        self._sizes: list[int] | None = None

    def _reader(self, columns: list[str] | None = None) -> Any:
        fields = None if columns is None else sorted(self.schema.get_field_index(name) for name in columns)
        return ipc.open_file(
            self.location.whole(), options=ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        )

    def _rows(self) -> list[int]:
        if self._sizes is None:
            with _named(f"{self.name} cannot be read"):
                reader = self._reader(self.schema.names[:1])
                self._sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        return self._sizes

    @property
    def n_rows(self) -> int | None:
        """How many rows there are."""
        return sum(self._rows())

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """The record batches."""
        check_columns_exist(wanted.names, self.schema.names, self.name)
        first = 0
        for i, rows in enumerate(self._rows()):
            if rows:
                yield Unit(rows, partial(self._read, i, rows, wanted, start, first))
            start, first = start + rows, first + rows

    def _read(self, i: int, rows: int, wanted: pa.Schema, start: int, first: int) -> Iterator[Chunk]:
        with _named(f"Rows {first} to {first + rows - 1} of {self.name} cannot be read"):
            batch = self._reader(wanted.names).get_batch(i)
            yield from _cut(batch, wanted, start, self.name, first, rows_in_chunk(wanted))


class BatchStream:
    """Record batches that come one after another: an Arrow stream in a file, or an object that gives one."""

    n_rows: int | None = None

    def __init__(self, name: str, batches: Callable[[], tuple[pa.Schema, Iterable[Any]]], *, one_shot: bool) -> None:
        self.name, self.one_shot = name, one_shot
        self._passed: int | None = None  # rows in the pass before
        self._open = batches
        self._lock = threading.Lock()
        self._waiting: Iterable[Any] | None
        with _named(f"{name} is not an Arrow stream, or was cut short"):
            self.schema, self._waiting = batches()
            check_unique_names(self.schema.names, name)

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """The batches as they come."""
        check_columns_exist(wanted.names, self.schema.names, self.name)
        first = 0
        with _named(f"{self.name} cannot be read to its end"):
            for batch in self._batches():
                for chunk in _cut(batch, wanted, start, self.name, first, rows_in_chunk(wanted)):
                    yield Unit(len(chunk), partial(_only, chunk))
                start, first = start + len(batch), first + len(batch)
        if self._passed not in (None, first):
            raise ValueError(
                f"{self.name} has {first:,} rows in one pass and {self._passed:,} in another, so its passes do not "
                "agree. Write it to a file first, and give the file."
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
    """A file, or standard input, in the Arrow stream format."""

    def batches() -> tuple[pa.Schema, Iterable[Any]]:
        reader = ipc.open_stream(unpacked(location))
        return reader.schema, reader

    return BatchStream(location.name, batches, one_shot=location.one_shot)


def stream_from_arrow(data: Any) -> BatchStream:
    """Anything with an Arrow C stream, which is asked for anew at each pass unless it is a reader of batches itself.

    A polars LazyFrame is collected anew, in batches, at each pass; an Arrow dataset is scanned anew.
    """
    name = f"the {type(data).__name__}"
    if hasattr(data, "collect_batches"):

        def collected() -> tuple[pa.Schema, Iterable[Any]]:
            empty = data.clear().collect().to_arrow()
            return empty.schema, _record_batches(data)

        return BatchStream(name, collected, one_shot=False)

    if hasattr(data, "scanner"):
        return BatchStream(name, lambda: (data.schema, data.to_batches()), one_shot=False)

    def streamed() -> tuple[pa.Schema, Iterable[Any]]:
        reader = pa.RecordBatchReader.from_stream(data)
        return reader.schema, reader

    return BatchStream(name, streamed, one_shot=hasattr(data, "__next__"))


def _record_batches(lazy: Any) -> Iterator[Any]:
    for frame in lazy.collect_batches(maintain_order=True):
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
    """At most so many rows, and fewer where the values of dictionaries, or the rows themselves, are long."""
    longest = 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            longest += max((pc.max(pc.binary_length(one.dictionary)).as_py() or 0 for one in chunks), default=0)
    return max(1, min(most, _TEXT // max(longest, bytes_in_row, 1)))


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Arrow's complaints about a file, with the name of the file."""
    try:
        yield
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{what}: {error}") from error
    except MemoryError as error:
        raise ValueError(f"{what}: it asks for more memory than there is.") from error
