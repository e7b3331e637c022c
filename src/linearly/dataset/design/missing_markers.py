"""Markers of missing values, such as - or ? or missing: the user names them, and their cells become missing.

A column of text that holds nothing but numbers besides is a column of numbers then. CSV files read such columns as
numbers themselves; of other tables, one pass over the columns of text finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import narwhals.stable.v2 as nw

from linearly.dataset.design.numeric_text import is_plain
from linearly.dataset.rows.tables import Chunk, Tables

S = TypeVar("S")


def as_markers(na_values: Sequence[str]) -> tuple[str, ...]:
    """The markers that a user names; what is no list of texts is refused."""
    if isinstance(na_values, str) or not all(isinstance(marker, str) for marker in na_values):
        raise TypeError(f'na_values takes a list of texts, such as ["-", "?"], not {na_values!r}.')
    return tuple(na_values)


def without_markers(tables: Tables, markers: tuple[str, ...]) -> Tables:
    """The same rows, with the cells that hold one of the markers missing."""
    if not markers:
        return tables
    if hasattr(tables, "with_na"):
        known: Tables = tables.with_na(markers)
        return known
    return MarkedTables(tables, markers)


class MarkedTables:
    """Other tables whose markers are missing values."""

    def __init__(self, tables: Tables, markers: tuple[str, ...], found: dict[str, bool] | None = None) -> None:
        self.tables, self.markers = tables, markers
        self.one_shot = getattr(tables, "one_shot", False)
        texts = [name for name, kind in tables.schema.items() if kind == nw.String]
        if found is None and texts:
            if self.one_shot:
                raise ValueError(
                    f"na_values takes a pass over the text columns {', '.join(map(repr, texts[:3]))} before the fit, "
                    "and this is a one-shot stream. Write it to a file first, and give the file."
                )
            found = tables.select(texts).reduce(partial(_marked, markers=frozenset(markers))).numbers
        self.found = found or {}  # columns that hold markers, and whether all else in them are numbers
        self.schema = {name: nw.Float64() if self.found.get(name) else kind for name, kind in tables.schema.items()}

    def _clean(self) -> Clean:
        return Clean(self.markers, tuple(self.found.items()))

    def __iter__(self) -> Iterator[Chunk]:
        return map(self._clean(), self.tables)

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        value: S = self.tables.reduce(Cleaned(self._clean(), f))
        return value

    def reduce_partitions(self, f: Callable[[Any], S]) -> S:
        """The sum of f over the partitions, each given as its chunks in order."""
        from linearly.dataset.cluster.partitions import MapPartition

        tables: Any = self.tables
        value: S = tables.reduce_partitions(MapPartition(self._clean(), f))
        return value

    @property
    def n_partitions(self) -> int | None:
        """How many partitions there are; None for rows that are here."""
        from linearly.dataset.cluster.partitions import partitions_of

        return partitions_of(self.tables)

    def select(self, columns: Sequence[str]) -> MarkedTables:
        """The same rows with some of the columns."""
        found = {name: numbers for name, numbers in self.found.items() if name in columns}
        return MarkedTables(self.tables.select(columns), self.markers, found)


@dataclass(frozen=True)
class _Marked:
    """Columns that hold markers, and whether all else in them are numbers, as far as rows were seen."""

    numbers: dict[str, bool]
    plain: dict[str, bool]  # the same of all columns of text

    def __add__(self, other: _Marked) -> _Marked:
        plain = {name: here and other.plain[name] for name, here in self.plain.items()}
        return _Marked({name: plain[name] for name in {**self.numbers, **other.numbers}}, plain)


def _marked(chunk: Chunk, markers: frozenset[str]) -> _Marked:
    found, plain = {}, {}
    for name in chunk.frame.columns:
        values = set(chunk.frame[name].drop_nulls().unique().to_list())
        plain[name] = all(isinstance(value, str) and is_plain(value) for value in values - markers)
        if values & markers:
            found[name] = plain[name]
    return _Marked(found, plain)


@dataclass(frozen=True)
class Clean:
    """From a chunk to the chunk without markers."""

    markers: tuple[str, ...]
    found: tuple[tuple[str, bool], ...]

    def __call__(self, chunk: Chunk) -> Chunk:
        columns = [self._cleaned(chunk.frame[name], numbers) for name, numbers in self.found]
        return replace(chunk, frame=chunk.frame.with_columns(*columns)) if columns else chunk

    def _cleaned(self, column: nw.Series[Any], numbers: bool) -> nw.Series[Any]:
        values = [None if value in self.markers else value for value in column.to_list()]
        kind: Any = nw.String
        if numbers:
            kind = nw.Float64
            values = [None if value is None or value != value else float(value) for value in values]
        made = nw.new_series(column.name, values, kind, backend=column.implementation)
        if not column.implementation.is_pandas_like():
            return made
        native = made.to_native()
        native.index = column.to_native().index  # else pandas would align the rows by their labels
        return nw.from_native(native, series_only=True)


@dataclass(frozen=True)
class Cleaned:
    """f after the cleaning: what is sent to where the chunks are."""

    clean: Clean
    f: Callable[[Chunk], Any]

    @property
    def takes_columns(self) -> bool:
        """Whether f does."""
        return bool(getattr(self.f, "takes_columns", False))

    def __call__(self, chunk: Chunk) -> Any:
        return self.f(self.clean(chunk))
