"""Treat texts such as "-", "?" or "missing" as missing values where the user names them (`na_values`).

A text column whose other values are all numbers becomes a column of numbers. CSV files convert such columns while they
are read; for other tables, one pass over the text columns finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import narwhals.stable.v2 as nw

from linearly.dataset.design.design import Composed
from linearly.dataset.design.numeric_text import is_plain_number
from linearly.dataset.rows.reduce import MapPartition
from linearly.dataset.rows.tables import Chunk, Tables

S = TypeVar("S")


def as_markers(na_values: Sequence[str]) -> tuple[str, ...]:
    """Return `na_values` as a tuple; raise if it is not a list of texts."""
    if isinstance(na_values, str) or not all(isinstance(marker, str) for marker in na_values):
        raise TypeError(f'na_values must be a list of strings such as ["-", "?"], not {na_values!r}.')
    return tuple(na_values)


def without_markers(tables: Tables, markers: tuple[str, ...]) -> Tables:
    """Return the same rows, with the cells that contain one of the markers missing."""
    if not markers:
        return tables
    if hasattr(tables, "with_na"):
        return cast(Tables, tables.with_na(markers))
    return MarkedTables(tables, markers)


class MarkedTables(Tables):
    """Other tables, with markers as missing values."""

    def __init__(self, tables: Tables, markers: tuple[str, ...], marked: dict[str, bool] | None = None) -> None:
        self.tables, self.markers, self.one_shot, self.ordered = tables, markers, tables.one_shot, tables.ordered
        texts = [name for name, kind in tables.schema.items() if kind == nw.String]
        if marked is None and texts:
            if self.one_shot:
                raise ValueError(
                    f"na_values requires a pass over the text columns {', '.join(map(repr, texts[:3]))} before the "
                    "fit, but this stream can be read only once. Write it to a file, and fit the file."
                )
            marked = tables.select(texts).reduce(partial(_find_marked, markers=frozenset(markers))).marked
        self.marked = marked or {}  # columns that contain markers, and whether all other values are numbers
        self.schema = {name: nw.Float64() if self.marked.get(name) else kind for name, kind in tables.schema.items()}
        self._replace = ReplaceMarkers(markers, tuple(self.marked.items()))

    def __iter__(self) -> Iterator[Chunk]:
        return map(self._replace, self.tables)

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        return cast(S, self.tables.reduce(Composed(self._replace, f)))

    def reduce_partitions(self, f: Callable[[Any], S]) -> S:
        """Return the sum of f over the partitions; f takes an iterable of a partition's chunks."""
        return cast(S, self.tables.reduce_partitions(MapPartition(self._replace, f)))

    @property
    def n_partitions(self) -> int | None:
        """The number of partitions on a cluster; None for rows in this process."""
        return self.tables.n_partitions

    def select(self, columns: Sequence[str]) -> MarkedTables:
        marked = {name: numbers for name, numbers in self.marked.items() if name in columns}
        return MarkedTables(self.tables.select(columns), self.markers, marked)


@dataclass(frozen=True)
class _TextColumns:
    """For each text column, whether all values but markers are numbers; `marked` has those that contain markers."""

    numeric: dict[str, bool]
    marked: dict[str, bool]

    def __add__(self, other: _TextColumns) -> _TextColumns:
        numeric = {name: here and other.numeric[name] for name, here in self.numeric.items()}
        return _TextColumns(numeric, {name: numeric[name] for name in {**self.marked, **other.marked}})


def _find_marked(chunk: Chunk, markers: frozenset[str]) -> _TextColumns:
    values = {name: set(chunk.frame[name].drop_nulls().unique().to_list()) for name in chunk.frame.columns}
    numeric = {
        name: all(isinstance(value, str) and is_plain_number(value) for value in some - markers)
        for name, some in values.items()
    }
    return _TextColumns(numeric, {name: numeric[name] for name, some in values.items() if some & markers})


@dataclass(frozen=True)
class ReplaceMarkers:
    """Make the cells of a chunk that contain a marker missing, and columns numeric where all other values are."""

    markers: tuple[str, ...]
    marked: tuple[tuple[str, bool], ...]

    def __call__(self, chunk: Chunk) -> Chunk:
        columns = [self._replaced(chunk.frame[name], numeric) for name, numeric in self.marked]
        return replace(chunk, frame=chunk.frame.with_columns(*columns)) if columns else chunk

    def _replaced(self, column: nw.Series[Any], numeric: bool) -> nw.Series[Any]:
        values = [None if value in self.markers else value for value in column.to_list()]
        kind: Any = nw.String
        if numeric:
            kind = nw.Float64
            values = [None if value is None or value != value else float(value) for value in values]
        made = nw.new_series(column.name, values, kind, backend=column.implementation)
        if not column.implementation.is_pandas_like():
            return made
        native = made.to_native()
        native.index = column.to_native().index  # otherwise pandas would align the rows by their labels
        return nw.from_native(native, series_only=True)
