"""What is in the columns of a table, found by one fold: counts, gaps, extent, levels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from linearly.checks.sentinel_values import NO_EDGE, Edge
from linearly.dataset.design.terms import MAX_LEVELS
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Chunk, Tables


@dataclass(frozen=True)
class Column:
    """Some rows of a column."""

    kind: str  # numbers, whole numbers, true/false, text, dates, other
    n: int = 0
    missing: int = 0
    infinite: int = 0
    low: float = np.inf
    high: float = -np.inf
    total: float = 0.0
    levels: frozenset[Any] = frozenset()  # distinct values, at most one more than a category may have
    counts: Counter[Any] | None = None  # of each value, where that was asked for
    bottom: Edge = NO_EDGE
    top: Edge = NO_EDGE

    def __add__(self, other: Column) -> Column:
        levels = self.levels if len(self.levels) > MAX_LEVELS else self.levels | other.levels
        counts = None if self.counts is None or other.counts is None else self.counts + other.counts
        return Column(
            self.kind if self.kind == other.kind else "numbers",
            self.n + other.n,
            self.missing + other.missing,
            self.infinite + other.infinite,
            min(self.low, other.low),
            max(self.high, other.high),
            self.total + other.total,
            levels,
            counts,
            self.bottom.plus(other.bottom, 1),
            self.top.plus(other.top, -1),
        )

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.n - self.missing

    @property
    def constant(self) -> bool:
        """Whether all its values are the same."""
        return len(self.levels) == 1

    @property
    def numbers_rows(self) -> bool:
        """Whether it numbers the rows: 1, 2, 3, … in any order."""
        if self.kind != "whole numbers" or self.missing or self.n < 20 or self.high - self.low + 1 != self.n:
            return False
        return self.total == self.n * (self.low + self.high) / 2 and len(self.levels) > min(self.n - 1, MAX_LEVELS)

    @property
    def identifies(self) -> bool:
        """Whether nearly every row has a text of its own."""
        if self.kind != "text" or self.present < 20:
            return False
        return len(self.levels) > MAX_LEVELS or len(self.levels) > 0.9 * self.present


@dataclass(frozen=True)
class Profile:
    """Some rows of a table, column by column."""

    columns: dict[str, Column]

    def __add__(self, other: Profile) -> Profile:
        return Profile({name: column + other.columns[name] for name, column in self.columns.items()})


def profile(tables: Tables, counted: str | None = None) -> Profile:
    """The profile of all rows; of the column `counted` each value is counted."""
    return tables.reduce(lambda chunk: _profile(chunk, counted))


def _profile(chunk: Chunk, counted: str | None) -> Profile:
    return Profile({name: _column(chunk.frame[name], name == counted) for name in chunk.frame.columns})


def _column(column: nw.Series[Any], counted: bool) -> Column:
    kind, n, missing = kind_of(column.dtype), len(column), int(column.null_count())
    levels = _levels(column) if kind not in ("dates", "other") else frozenset()
    counts = None
    if counted and kind not in ("dates", "other") and len(levels) <= MAX_LEVELS:
        counts = Counter(value for value in text_of(column).drop_nulls().to_list() if value == value)
    if kind not in ("numbers", "whole numbers"):
        return Column(kind, n, missing, levels=levels, counts=counts)
    values = np.asarray(column.drop_nulls().to_numpy(), dtype=np.float64)
    if kind == "numbers":
        missing += int(np.isnan(values).sum())
    finite = values[np.isfinite(values)]
    infinite = len(values) - len(finite) - int(np.isnan(values).sum())
    if not len(finite):
        return Column(kind, n, missing, infinite, levels=levels, counts=counts)
    total = float(finite.sum())
    bottom, top = Edge.of(finite, 1), Edge.of(finite, -1)
    low, high = float(finite.min()), float(finite.max())
    return Column(kind, n, missing, infinite, low, high, total, levels, counts, bottom, top)


def _levels(column: nw.Series[Any]) -> frozenset[Any]:
    values = text_of(column).drop_nulls().unique().head(MAX_LEVELS + 1).to_list()
    return frozenset(value for value in values if value == value)


def kind_of(dtype: nw.dtypes.DType) -> str:
    """What a column holds, in a word."""
    if dtype == nw.Boolean:
        return "true/false"
    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_numeric():
        return "numbers"
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return "text"
    return "dates" if dtype.is_temporal() else "other"
