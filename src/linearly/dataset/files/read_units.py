"""Units: what one thread reads and folds by itself, such as a row group of a Parquet file or a piece of a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import pyarrow as pa

from linearly.dataset.rows.block import rows_in_block
from linearly.dataset.rows.tables import Chunk, known_columns

_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_FEWEST_ROWS, _CELLS = 2**16, 2**19  # in a chunk: it and the block made of it should stay in the cache


@dataclass(frozen=True)
class Unit:
    """Some consecutive rows: how many, and a function that reads them, chunk by chunk."""

    rows: int
    chunks: Callable[[], Iterable[Chunk]]


class TableFile(Protocol):
    """One file, or one stream, of rows."""

    name: str
    one_shot: bool  # whether its rows can be had once only

    @property
    def n_rows(self) -> int | None:
        """How many rows it has; None where it takes a pass to know."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Its columns and their types."""
        ...

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """Its rows in order, with these columns in these types; `start` is the index of the first row."""
        ...


def rows_in_chunk(wanted: pa.Schema) -> int:
    """How many rows to read at a time."""
    p = max(len(wanted), 1)
    return min(rows_in_block(p), max(_CELLS // p, _FEWEST_ROWS))


def frame_of(part: Any, wanted: pa.Schema) -> nw.DataFrame[Any]:
    """A data frame of a record batch or table, with the columns that are wanted in the types that are wanted."""
    if part.schema.equals(wanted):
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        return nw.from_native(table, eager_only=True)
    columns = [plain_views(part.column(name)) for name in wanted.names]
    columns = [
        column if column.type == kind else column.cast(kind) for column, kind in zip(columns, wanted.types, strict=True)
    ]
    return nw.from_native(pa.table(columns, schema=wanted), eager_only=True)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """A type as data frames know it: views of text and bytes, also in dictionaries, as plain text and bytes."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain_type(kind.value_type), kind.ordered)
    return _VIEWS.get(kind, kind)


def plain_views(column: Any) -> Any:
    """A column of views, or of a dictionary of views, as plain text or bytes; another as it is."""
    kind = plain_type(column.type)
    if kind == column.type:
        return column
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([plain_views(chunk) for chunk in column.chunks], kind)
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind.value_type), ordered=kind.ordered)


def check_columns_exist(wanted: Sequence[str], names: Iterable[str], file: str) -> None:
    """Refuse a column that a file lacks, by the name of the file."""
    try:
        known_columns(wanted, dict.fromkeys(names))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def check_unique_names(names: list[str], file: str) -> None:
    """Refuse a name that two columns have."""
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise ValueError(f"{file} has two columns called {twice!r}: rename one of them.")
