"""Define what every kind of file offers: `TableFile`, and the units of rows that one thread reads at a time.

A unit is a row group of a Parquet file, a record batch, or a piece of a CSV file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import pyarrow as pa

from linearly.dataset.rows.block import rows_in_block
from linearly.dataset.rows.tables import Chunk, check_columns_known

_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_FEWEST_ROWS, _CELLS = 2**16, 2**19  # in a chunk: the chunk and its block should stay in the cache


@dataclass(frozen=True)
class Unit:
    """Some consecutive rows: their number, and a function that reads them chunk by chunk."""

    rows: int
    chunks: Callable[[], Iterable[Chunk]]


class TableFile(Protocol):
    """One file, or one stream, of rows."""

    name: str
    schema: pa.Schema
    one_shot: bool = False  # whether the rows can be read only once
    guesses_types: bool = False  # whether types are guessed from the rows; the first of several such files decides

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if it takes a pass to count them."""
        return None

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        names: Sequence[str] = self.schema.names
        return names

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """Iterate over the rows, with these columns in these types; `start` is the index of the first row."""
        ...

    def with_text(self, columns: Sequence[str]) -> TableFile:
        """Return the same rows with some columns as text, if their types are guessed."""
        return self

    def with_na(self, markers: tuple[str, ...]) -> TableFile:
        """Return the same rows with the cells missing that contain one of the markers, if the file is text."""
        return self

    def first_cells(self) -> dict[str, list[str]]:
        """Return the cells of the first rows as they are written, if the file is text and can be read again."""
        return {}


def rows_in_chunk(wanted: pa.Schema) -> int:
    """Return how many rows to read at a time."""
    p = max(len(wanted), 1)
    return min(rows_in_block(p), max(_CELLS // p, _FEWEST_ROWS))


def frame_of(part: Any, wanted: pa.Schema) -> nw.DataFrame[Any]:
    """Return a data frame of a record batch or table, with the wanted columns in the wanted types."""
    if part.schema.equals(wanted):
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        return nw.from_native(table, eager_only=True)
    columns = [plain_views(part.column(name)) for name in wanted.names]
    columns = [
        column if column.type == kind else column.cast(kind) for column, kind in zip(columns, wanted.types, strict=True)
    ]
    return nw.from_native(pa.table(columns, schema=wanted), eager_only=True)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type that data frames support: views of text and bytes, also in dictionaries, become text and bytes."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain_type(kind.value_type), kind.ordered)
    return _VIEWS.get(kind, kind)


def plain_views(column: Any) -> Any:
    """Return a column of views, or of a dictionary of views, as text or bytes; other columns unchanged."""
    kind = plain_type(column.type)
    if kind == column.type:
        return column
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([plain_views(chunk) for chunk in column.chunks], kind)
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind.value_type), ordered=kind.ordered)


def check_columns_exist(wanted: Sequence[str], names: Iterable[str], file: str) -> None:
    """Raise for a column that a file lacks."""
    try:
        check_columns_known(wanted, dict.fromkeys(names))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


@contextmanager
def raise_with_name(what: str) -> Iterator[None]:
    """Raise Arrow's errors about a file as ValueError with the name of the file."""
    try:
        yield
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{what}: {error}") from error
    except MemoryError as error:
        raise ValueError(
            f"{what}: it needs more memory than is available. Pass a smaller file, or fewer columns."
        ) from error
