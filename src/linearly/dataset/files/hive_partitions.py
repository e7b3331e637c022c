"""Add the columns that the names of directories declare, as Hive and Spark write them.

In `year=2024/region=eu/part-0.parquet` every row has year 2024 and region "eu". A key is a column of integers if its
values are integers in all files, a column of dates if they are dates such as 2024-05-31, and text otherwise. A file may
also contain the column, if its values agree with the directory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from linearly.dataset.files.locations import Location
from linearly.dataset.files.read_units import TableFile, Unit
from linearly.dataset.rows.tables import Chunk

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def with_keys(files: Sequence[TableFile], locations: Sequence[Location]) -> list[TableFile]:
    """Return the files, each with the columns that its directories declare."""
    values: dict[str, set[str]] = {}
    for location in locations:
        for name, value in location.keys.items():
            values.setdefault(name, set()).update(() if value is None else (value,))
    types = {name: _key_type(some) for name, some in values.items()}
    return [
        KeyedFile(file, location, types) if location.keys else file
        for file, location in zip(files, locations, strict=True)
    ]


def _key_type(values: set[str]) -> pa.DataType:
    if all(map(_INTEGER.fullmatch, values)):
        return pa.int64()
    try:
        dates = all(map(_DATE.fullmatch, values)) and bool(pa.array(sorted(values)).cast(pa.date32()))
    except pa.ArrowInvalid:  # such as 2024-13-45
        dates = False
    return pa.date32() if dates else pa.string()


class KeyedFile(TableFile):
    """A file with a column for each key of its directories, after its own columns."""

    def __init__(self, file: TableFile, location: Location, types: dict[str, pa.DataType]) -> None:
        self.file, self.location, self.name, self.one_shot = file, location, file.name, file.one_shot
        self.types = {name: types[name] for name in location.keys}
        self.guesses_types = file.guesses_types

    def with_text(self, columns: Sequence[str]) -> KeyedFile:
        types = {name: pa.string() if name in columns else kind for name, kind in self.types.items()}
        return KeyedFile(self.file.with_text(columns), self.location, types)

    def with_na(self, markers: tuple[str, ...]) -> KeyedFile:
        return KeyedFile(self.file.with_na(markers), self.location, self.types)

    @property
    def n_rows(self) -> int | None:
        return self.file.n_rows

    @property
    def names(self) -> Sequence[str]:
        return list(dict.fromkeys([*self.file.names, *self.types]))

    @cached_property
    def schema(self) -> pa.Schema:
        own = self.file.schema
        return pa.schema([*own, *((name, kind) for name, kind in self.types.items() if name not in own.names)])

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        own = self.file.schema
        held = [field for field in wanted if field.name in own.names or field.name not in self.types]
        if not len(own):
            raise ValueError(
                f"{self.name} has no columns of its own, so its rows cannot be counted. Name a column of the file."
            )
        # If only keys are wanted, the first column is read to know the rows.
        inner = pa.schema(held or [own.field(0)])
        for unit in self.file.units(inner, start):
            yield Unit(unit.rows, partial(self._add_keys, unit.chunks, wanted, frozenset(own.names)))

    def _add_keys(
        self, chunks: Callable[[], Iterable[Chunk]], wanted: pa.Schema, own: frozenset[str]
    ) -> Iterator[Chunk]:
        for chunk in chunks():
            table = chunk.frame.to_native()
            columns = []
            for field in wanted:
                if field.name in own:
                    column = table.column(field.name)
                    if field.name in self.types:
                        self._check_agrees(field.name, column, chunk)
                else:
                    column = pa.repeat(pa.scalar(self.location.keys[field.name]).cast(field.type), len(table))
                columns.append(column)
            # Not by the schema: integers of a CSV file may continue as fractions.
            frame = nw.from_native(pa.table(columns, names=wanted.names), eager_only=True)
            yield Chunk(frame, chunk.start, chunk.place)

    def _check_agrees(self, name: str, column: Any, chunk: Chunk) -> None:
        """Raise if a column of the file contradicts the key of its directory."""
        import pyarrow.compute as pc

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
                f"Column {name!r} is {column[at].as_py()!r} in {chunk.where(at)}, but the directory is named "
                f"{name}={key or ''}. Correct the value, or rename the directory."
            )
