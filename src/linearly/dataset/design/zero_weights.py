"""Rows of weight 0 are absent: what a design learns of all rows (levels, labels, means) it learns without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from linearly.dataset.design.design import Design, WithRowCounts
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.tables import Chunk, Tables

S = TypeVar("S")


def fit_design(design: Design, tables: Tables) -> Design:
    """The design with what it must know of the rows that have a positive weight."""
    return design.fit(tables if design.weight is None else PositiveWeightTables(tables, DropZeroWeight(design.weight)))


def extend_design(design: Design, tables: Tables) -> Design:
    """The design with the levels that only these rows have, those of rows without weight left out."""
    return design.extended(
        tables if design.weight is None else PositiveWeightTables(tables, DropZeroWeight(design.weight))
    )


@dataclass(frozen=True)
class DropZeroWeight:
    """From a chunk to its rows of positive weight, with some of the columns."""

    weight: str
    columns: tuple[str, ...] | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        present = float_column(chunk.frame[self.weight], chunk.where) > 0  # a gap is none; the fit refuses or drops it
        kept = chunk if present.all() else chunk.rows(present)
        return kept if self.columns is None else replace(kept, frame=kept.frame.select(list(self.columns)))


class PositiveWeightTables:
    """Other tables without the rows that have no positive weight."""

    def __init__(self, tables: Tables, present: DropZeroWeight) -> None:
        self.tables, self.present = tables, present
        self.schema = tables.schema
        self.one_shot = getattr(tables, "one_shot", False)

    def select(self, columns: Sequence[str]) -> PositiveWeightTables:
        """The same rows with some of the columns."""
        needed = list(dict.fromkeys([*columns, self.present.weight]))
        return PositiveWeightTables(self.tables.select(needed), replace(self.present, columns=tuple(columns)))

    def __iter__(self) -> Iterator[Chunk]:
        return map(self.present, self.tables)

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        total = self.tables.reduce(Counted(self.present, f))
        if total.rows and not total.kept:
            raise ValueError(f"The weight {self.present.weight!r} is positive in no row: no row would be left.")
        value: S = total.value
        return value


@dataclass(frozen=True)
class Counted:
    """f of the rows that are present, and how many those are."""

    present: DropZeroWeight
    f: Callable[[Chunk], Any]

    def __call__(self, chunk: Chunk) -> WithRowCounts:
        kept = self.present(chunk)
        return WithRowCounts(None if len(chunk) and not len(kept) else self.f(kept), len(chunk), len(kept))
