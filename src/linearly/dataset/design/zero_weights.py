"""Leave out rows with weight 0 where a design is fitted: levels, labels and means do not depend on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from linearly.dataset.design.design import CountKept, Design
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.tables import Chunk, Tables

S = TypeVar("S")


def fit_design(design: Design, tables: Tables) -> Design:
    """Return the design fitted to the rows that have a positive weight."""
    return design.fit(_weighted_rows(design, tables))


def extend_design(design: Design, tables: Tables) -> Design:
    """Return the design with the levels added that occur only in these rows, with a positive weight."""
    return design.with_new_levels(_weighted_rows(design, tables))


def _weighted_rows(design: Design, tables: Tables) -> Tables:
    return tables if design.weight is None else PositiveWeightTables(tables, DropZeroWeight(design.weight))


@dataclass(frozen=True)
class DropZeroWeight:
    """Select the rows of a chunk with positive weight, and some of the columns."""

    weight: str
    columns: tuple[str, ...] | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        # A missing weight is not positive here; the fit raises or drops the row.
        positive = float_column(chunk.frame[self.weight], chunk.where) > 0
        kept = chunk if positive.all() else chunk.rows(positive)
        return kept if self.columns is None else replace(kept, frame=kept.frame.select(list(self.columns)))


class PositiveWeightTables(Tables):
    """Other tables without the rows whose weight is 0 or missing."""

    def __init__(self, tables: Tables, keep: DropZeroWeight) -> None:
        self.tables, self.keep = tables, keep
        self.schema, self.one_shot, self.ordered = tables.schema, tables.one_shot, tables.ordered

    def select(self, columns: Sequence[str]) -> PositiveWeightTables:
        needed = list(dict.fromkeys([*columns, self.keep.weight]))
        return PositiveWeightTables(self.tables.select(needed), replace(self.keep, columns=tuple(columns)))

    def __iter__(self) -> Iterator[Chunk]:
        return map(self.keep, self.tables)

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        total = self.tables.reduce(CountKept(self.keep, f))
        if total.rows and not total.kept:
            raise ValueError(
                f"The weight {self.keep.weight!r} is not positive in any row, so no row remains. Name "
                "another weight column."
            )
        return cast(S, total.value)
