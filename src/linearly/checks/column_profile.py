"""Profile the columns of a table in one pass: rows, missing values, range and levels of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from linearly.checks.sentinel_values import NO_EDGE, Edge
from linearly.dataset.design.terms import MAX_LEVELS
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Chunk, Tables


@dataclass(frozen=True)
class Column:
    """The profile of some rows of a column; profiles of other rows add up."""

    kind: str  # numbers, integers, true/false, text, dates, other
    n: int = 0
    missing: int = 0
    infinite: int = 0
    low: float = np.inf
    high: float = -np.inf
    total: float = 0.0
    levels: frozenset[Any] = frozenset()  # distinct values, at most one more than a category may have
    counts: Counter[Any] | None = None  # rows of each value, in the column to count
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
    def largest(self) -> float:
        """The largest absolute value."""
        return max(-self.low, self.high)

    @property
    def present(self) -> int:
        """The number of rows with a value."""
        return self.n - self.missing

    @property
    def constant(self) -> bool:
        """Whether all values are the same."""
        return len(self.levels) == 1

    @property
    def numbers_rows(self) -> bool:
        """Whether the values number the rows: 1, 2, 3, … in any order."""
        if self.kind != "integers" or self.missing or self.n < 20 or self.high - self.low + 1 != self.n:
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
    """The profiles of all columns."""

    columns: dict[str, Column]

    @property
    def n(self) -> int:
        """The number of rows."""
        return next(iter(self.columns.values())).n

    def __add__(self, other: Profile) -> Profile:
        return Profile({name: column + other.columns[name] for name, column in self.columns.items()})


def profile_columns(tables: Tables, counted: str | None = None) -> Profile:
    """Return the profile of all rows; the values of the column `counted` are counted."""

    def profile(chunk: Chunk) -> Profile:
        return Profile({name: _profile_column(chunk.frame[name], name == counted) for name in chunk.frame.columns})

    return tables.reduce(profile)


def _profile_column(column: nw.Series[Any], counted: bool) -> Column:
    kind, levels, counts = kind_of(column.dtype), frozenset[Any](), None
    if kind not in ("dates", "other"):
        values = text_of(column).drop_nulls()
        levels = frozenset(v for v in values.unique().head(MAX_LEVELS + 1).to_list() if v == v)  # NaN is missing
        if counted and len(levels) <= MAX_LEVELS:
            counts = Counter(v for v in values.to_list() if v == v)
    profile = Column(kind, len(column), int(column.null_count()), levels=levels, counts=counts)
    if kind not in ("numbers", "integers"):
        return profile
    numbers = np.asarray(column.drop_nulls().to_numpy(), dtype=np.float64)
    finite, missing = numbers[np.isfinite(numbers)], int(np.isnan(numbers).sum())
    return replace(
        profile,
        missing=profile.missing + missing,
        infinite=len(numbers) - len(finite) - missing,
        low=float(finite.min(initial=np.inf)),
        high=float(finite.max(initial=-np.inf)),
        total=float(finite.sum()),
        bottom=Edge.of(finite, 1),
        top=Edge.of(finite, -1),
    )


def kind_of(dtype: nw.dtypes.DType) -> str:
    """Return the kind of a column: true/false, integers, numbers, text, dates or other."""
    if dtype == nw.Boolean:
        return "true/false"
    if dtype.is_integer():
        return "integers"
    if dtype.is_numeric():
        return "numbers"
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return "text"
    return "dates" if dtype.is_temporal() else "other"
