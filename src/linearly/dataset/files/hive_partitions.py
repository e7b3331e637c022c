"""Keys: columns that files do not hold themselves, because the names of their directories say them.

In `year=2024/region=eu/part-0.parquet` every row has year 2024 and region "eu". A key whose values are whole numbers in
all files is a column of numbers, one of dates such as 2024-05-31 a column of dates, any other is text. A file may hold
the column all the same if it says the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from linearly.dataset.files.locations import Keys, Location
from linearly.dataset.files.read_units import TableFile, Unit
from linearly.dataset.rows.tables import Chunk

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def with_keys(files: Sequence[TableFile], locations: Sequence[Location]) -> list[TableFile]:
    """The files, each with the columns that its directories say."""
    if not any(location.keys for location in locations):
        return list(files)
    kinds = _kinds([location.keys for location in locations])
    return [
        KeyedFile(file, location, kinds) if location.keys else file
        for file, location in zip(files, locations, strict=True)
    ]


def _kinds(keys: Iterable[Keys]) -> dict[str, pa.DataType]:
    values: dict[str, set[str]] = {}
    for each in keys:
        for name, value in each.items():
            values.setdefault(name, set()).update(() if value is None else (value,))
    return {name: _kind(some) for name, some in values.items()}


def _kind(values: set[str]) -> pa.DataType:
    if all(map(_WHOLE_NUMBER.fullmatch, values)):
        return pa.int64()
    try:
        dates = all(map(_DATE.fullmatch, values)) and bool(pa.array(sorted(values)).cast(pa.date32()))
    except pa.ArrowInvalid:  # 2024-13-45 is none
        dates = False
    return pa.date32() if dates else pa.string()


class KeyedFile:
    """A file with a column for each key of its directories, after its own columns."""

    def __init__(self, file: TableFile, location: Location, kinds: dict[str, pa.DataType]) -> None:
        self.file, self.location, self.name, self.one_shot = file, location, file.name, file.one_shot
        self.kinds = {name: kinds[name] for name in location.keys}
        if hasattr(file, "types_from_text"):
            self.types_from_text = True

    def with_text(self, columns: Sequence[str]) -> KeyedFile:
        """The same rows, with some keys as text, and some columns of a file that does not say their types."""
        file: Any = self.file
        file = file.with_text(columns) if hasattr(file, "with_text") else file
        kinds = {name: pa.string() if name in columns else kind for name, kind in self.kinds.items()}
        return KeyedFile(file, self.location, kinds)

    def with_na(self, markers: tuple[str, ...]) -> KeyedFile:
        """The same rows, with the cells of a text file that hold one of the markers missing."""
        file: Any = self.file
        return KeyedFile(file.with_na(markers), self.location, self.kinds) if hasattr(file, "with_na") else self

    @property
    def n_rows(self) -> int | None:
        """How many rows there are."""
        return self.file.n_rows

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns of the file, and of its keys."""
        file: Any = self.file
        own: Sequence[str] = file.names if hasattr(file, "names") else file.schema.names
        return [*own, *(name for name in self.kinds if name not in own)]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file, and its keys."""
        own = self.file.schema
        return pa.schema([*own, *((name, kind) for name, kind in self.kinds.items() if name not in own.names)])

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """The units of the file, with the keys that are wanted."""
        own = self.file.schema
        held = [field for field in wanted if field.name in own.names or field.name not in self.kinds]
        if not len(own):
            raise ValueError(f"{self.name} has no column of its own, so its rows cannot be counted.")
        # Rows have to come from somewhere: where keys alone are wanted, with the first column.
        inner = pa.schema(held or [own.field(0)])
        for unit in self.file.units(inner, start):
            yield Unit(unit.rows, partial(self._keyed, unit.chunks, wanted, frozenset(own.names)))

    def _keyed(self, chunks: Callable[[], Iterable[Chunk]], wanted: pa.Schema, own: frozenset[str]) -> Iterator[Chunk]:
        for chunk in chunks():
            table = chunk.frame.to_native()
            columns = []
            for field in wanted:
                if field.name in own:
                    column = table.column(field.name)
                    if field.name in self.kinds:
                        self._refuse_other(field.name, column, chunk)
                else:
                    column = pa.repeat(pa.scalar(self.location.keys[field.name]).cast(field.type), len(table))
                columns.append(column)
            # Not by the schema: whole numbers of a CSV file may go on as fractions.
            frame = nw.from_native(pa.table(columns, names=wanted.names), eager_only=True)
            yield Chunk(frame, chunk.start, chunk.place)

    def _refuse_other(self, name: str, column: Any, chunk: Chunk) -> None:
        """Refuse a file that holds the column of a key and says something else than its directory."""
        key = self.location.keys[name]
        if key is None:
            other = pc.is_valid(column)
        else:
            try:
                other = pc.fill_null(pc.not_equal(column, pa.scalar(key).cast(column.type)), True)
            except pa.ArrowInvalid:
                other = pa.repeat(pa.scalar(True), len(column))
        at = pc.index(other, True).as_py()
        if at >= 0:
            raise ValueError(
                f"Column {name!r} is {column[at].as_py()!r} in {chunk.where(at)}, but the directory says "
                f"{name}={key or ''}: correct the one or rename the other."
            )
