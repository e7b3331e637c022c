"""Terms: what the columns of a design are made of.

A term is a product of factors. A factor reads columns of a chunk and gives numbers: a numeric column gives itself, a
categorical one a column of 0 and 1 for each of its levels but the reference. What a factor must know of all rows
(levels, a mean) it learns by a fold, so no chunk is ever coded by what happens to be in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.numeric_text import detect_numeric_text
from linearly.dataset.rows.block import RowLocator, float_column
from linearly.dataset.rows.level_spelling import declared_order, holds_numbers, level_positions, text_of
from linearly.dataset.rows.object_columns import check_object_column, is_object_column
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.formatting import shown
from linearly.kernels.double_double import DoubleDouble

Array = NDArray[np.float64]
Level = str | int | float | bool

MAX_LEVELS = 1000  # of a column that is coded one level a column
MAX_COLUMNS = 5000  # of one term


class Factor(Protocol):
    """One factor of a term."""

    @property
    def label(self) -> str:
        """The factor as the user wrote it."""
        ...

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    def fit(self, tables: Tables) -> Factor:
        """The factor with what it must know of all rows, found by folds over them."""
        ...

    def names(self, full: bool) -> tuple[str, ...]:
        """What its columns are called; `full` gives a category a column for its reference too."""
        ...

    def values(self, chunk: Chunk, full: bool) -> Array | DoubleDouble:
        """Its columns for the rows of a chunk."""
        ...


@dataclass(frozen=True)
class Numeric:
    """A numeric or boolean column as it is."""

    name: str

    @property
    def label(self) -> str:
        return self.name

    @property
    def required_columns(self) -> tuple[str, ...]:
        return (self.name,)

    def fit(self, tables: Tables) -> Numeric:
        return self

    def names(self, full: bool) -> tuple[str, ...]:
        return (self.name,)

    def values(self, chunk: Chunk, full: bool) -> Array:
        return float_column(chunk.frame[self.name], chunk.where)[:, None]


@dataclass(frozen=True)
class Category:
    """A categorical column: 0 or 1 for each level but the reference, which is the first unless one is named."""

    name: str
    levels: tuple[Level, ...] = ()
    reference: Level | None = None
    unseen: str = "error"  # or "reference": a level that was not there in training counts as the reference
    fitting: bool = False  # whether rows are being fitted, in which a new level is an error whatever `unseen` says

    @property
    def label(self) -> str:
        return self.name

    @property
    def required_columns(self) -> tuple[str, ...]:
        return (self.name,)

    def fit(self, tables: Tables) -> Category:
        if self.levels:
            return self
        return self.with_levels(find_levels(tables.select([self.name]))[self.name])

    def with_levels(self, found: Levels) -> Category:
        """The category with these levels, its reference chosen among them."""
        levels = found.ordered(self.name)
        reference = levels[0] if self.reference is None else self.reference
        if reference not in levels:
            raise ValueError(f"Column {self.name!r} has no level {reference!r}; its levels are {join_names(levels)}.")
        return replace(self, levels=levels, reference=reference)

    def names(self, full: bool) -> tuple[str, ...]:
        return tuple(f"{self.name}[{level}]" for level in self._coded(full))

    def values(self, chunk: Chunk, full: bool) -> Array:
        codes = encode_levels(chunk, self.name, self.levels, self._default(), fitting=self.fitting)
        table = np.zeros((len(self.levels), len(self._coded(full))))
        for column, level in enumerate(self._coded(full)):
            table[self.levels.index(level), column] = 1.0
        return np.asarray(table[codes])

    def _coded(self, full: bool) -> tuple[Level, ...]:
        return self.levels if full else tuple(level for level in self.levels if level != self.reference)

    def _default(self) -> int | None:
        if self.unseen == "error" or self.fitting or self.reference is None:
            return None
        return self.levels.index(self.reference)


@dataclass(frozen=True)
class Term:
    """A product of factors; of categories it has all the products of their columns."""

    factors: tuple[Factor, ...]
    full: tuple[bool, ...] = ()  # for each factor whether a category keeps its reference level

    @property
    def label(self) -> str:
        """The term as R writes it: a:b."""
        return ":".join(factor.label for factor in self.factors)

    @property
    def key(self) -> frozenset[str]:
        """What makes two terms the same: their factors, in any order."""
        return frozenset(factor.label for factor in self.factors)

    @property
    def plain(self) -> str:
        """The column that the term is, if it is a numeric column as it is; nothing if it is not."""
        numeric = len(self.factors) == 1 and isinstance(self.factors[0], Numeric)
        return self.factors[0].label if numeric else ""

    @property
    def width(self) -> int:
        """How many columns it has; its factors must have been learnt."""
        return prod(len(factor.names(full)) for factor, full in zip(self.factors, self._full(), strict=True))

    def names(self) -> tuple[str, ...]:
        """What its columns are called."""
        names: tuple[str, ...] = ("",)
        for factor, full in zip(self.factors, self._full(), strict=True):
            # The first factor varies fastest, as in R.
            names = tuple(f"{a}:{b}" if a else b for b in factor.names(full) for a in names)
        return names

    def values(self, chunk: Chunk) -> Array | DoubleDouble:
        """Its columns for the rows of a chunk; in double-double where a factor is."""
        product: Array | DoubleDouble | None = None
        for factor, full in zip(self.factors, self._full(), strict=True):
            own = factor.values(chunk, full)
            product = own if product is None else _products(own, product)
        assert product is not None
        return product

    def _full(self) -> tuple[bool, ...]:
        return self.full or (False,) * len(self.factors)


def _products(a: Any, b: Any) -> Array | DoubleDouble:
    """Every column of a times every column of b, which vary fastest."""
    pairs = a[:, :, None] * b[:, None, :]
    shape = len(a), a.shape[1] * b.shape[1]
    if isinstance(pairs, DoubleDouble):
        return DoubleDouble(pairs.high.reshape(shape), pairs.low.reshape(shape))
    return np.asarray(pairs.reshape(shape))


@dataclass(frozen=True)
class Levels:
    """Values found in a column, the order they were declared in, if they were, and whether they are numbers as text.

    Rows that declare different orders declare none, whichever come first.
    """

    values: frozenset[Level]
    declared: tuple[Level, ...] = ()
    numbers: bool = False

    def __add__(self, other: Levels) -> Levels:
        if not (self.values and other.values):  # a chunk without a value says nothing
            return self if self.values else other
        declared = self.declared if self.declared == other.declared else ()
        return Levels(self.values | other.values, declared, self.numbers and other.numbers)

    def ordered(self, name: str) -> tuple[Level, ...]:
        """The values in order: as declared, or sorted; too many are refused."""
        if len(self.values) > MAX_LEVELS:
            found = detect_numeric_text(self.values)
            numbers = "" if found is None else f" It is text, though {found}: is some cell no number?"
            raise ValueError(
                f"Column {name!r} has more than {MAX_LEVELS} levels: a column each would be too many.{numbers} Leave "
                "it out, group its levels, or turn it into numbers."
            )
        if not self.values:
            raise ValueError(f"Column {name!r} is empty: it has no level at all. Leave it out.")
        if self.declared:
            return tuple(level for level in self.declared if level in self.values)
        try:
            levels = sorted(self.values)
        except TypeError:
            kinds = sorted({type(value).__name__ for value in self.values})
            raise ValueError(
                f"Column {name!r} holds several kinds of values ({', '.join(kinds)}): make all text, or all numbers."
            ) from None
        return tuple(sorted(levels, key=float) if self.numbers else levels)


@dataclass(frozen=True)
class ColumnLevels:
    """What was found in several columns."""

    columns: dict[str, Levels] = field(default_factory=dict)

    def __add__(self, other: ColumnLevels) -> ColumnLevels:
        return ColumnLevels({name: found + other.columns[name] for name, found in self.columns.items()})


def find_levels(tables: Tables) -> dict[str, Levels]:
    """The distinct values of every column, by one fold over all rows."""
    return tables.reduce(count_levels).columns


def count_levels(chunk: Chunk) -> ColumnLevels:
    """The distinct values of every column of a chunk."""
    return ColumnLevels({name: _found(chunk.frame[name], chunk.where) for name in chunk.frame.columns})


def _found(column: nw.Series[Any], where: RowLocator) -> Levels:
    if is_object_column(column):
        check_object_column(column, where)
    elif column.dtype == nw.Object:
        raise ValueError(
            f"Column {column.name!r} holds neither numbers nor text. Leave it out, or turn it into numbers or text."
        )
    # Beyond the limit the answer is a refusal whatever they are: no need to carry a million of them.
    some = text_of(column).drop_nulls().unique().head(MAX_LEVELS + 1).to_list()
    return Levels(frozenset(value for value in some if value == value), declared_order(column), holds_numbers(column))


def encode_levels(
    chunk: Chunk,
    name: str,
    levels: Sequence[Level],
    default: int | None = None,
    what: str = "level",
    *,
    fitting: bool = False,
) -> NDArray[np.intp]:
    """For each row the number of its level; one that is none of them is refused, or counts as `default`."""
    column = text_of(chunk.frame[name])
    if not len(column):  # of whatever kind: a file without rows cannot tell
        return np.zeros(0, dtype=np.intp)
    place = level_positions(column.unique().to_list(), levels)
    unseen = [value for value, code in place.items() if code is None]
    if any(value != value for value in unseen):
        _refuse_nan(column, chunk)
    if unseen and default is None and chunk.absent is not None:
        there = column.filter((~chunk.absent).tolist()).unique().to_list()
        unseen = [value for value in there if place[value] is None]
        default = None if unseen else 0
    if unseen and default is None:
        worst = unseen[0]
        found = (column == worst).fill_null(False).to_numpy()
        found = found if chunk.absent is None else found & ~chunk.absent
        i = int(np.argmax(found)) if worst is not None else 0
        policy = 'choose unseen="extend" to add it' if fitting else 'choose unseen="reference"'
        remedy = policy if what == "level" else "leave such rows out"
        raise ValueError(
            f"Column {name!r} has the {what} {shown(worst)} in {chunk.where(i)}, which was not there in training; "
            f"known {what}s are {join_names(levels)}. Correct it, or {remedy}."
        )
    known = {value: default if code is None else code for value, code in place.items() if value is not None}
    codes = column.replace_strict(list(known), list(known.values()), return_dtype=nw.Int64)
    return np.asarray(codes.to_numpy(), dtype=np.intp)


def _refuse_nan(column: nw.Series[Any], chunk: Chunk) -> None:
    """Refuse NaN among numbers that are levels: it is missing, and no level that was not seen."""
    gaps = np.isnan(np.asarray(column.to_numpy(), dtype=np.float64))
    gaps = gaps if chunk.absent is None else gaps & ~chunk.absent
    if gaps.any():
        raise missing_values_error(column.name, chunk.where(int(np.argmax(gaps))))


def missing_values_error(name: str, where: str) -> ValueError:
    """What is said of a missing value where none is expected."""
    return ValueError(
        f'Column {name!r} is missing in {where}. Fill the gap, or choose missing="drop" to leave such rows out.'
    )


def unknown_levels(chunk: Chunk, categories: Sequence[Category]) -> NDArray[np.bool_] | None:
    """Which of the absent rows have a level that is none of those known, and counts as none; None if no row does."""
    if chunk.absent is None or not len(chunk):
        return None
    unknown = np.zeros(len(chunk), dtype=bool)
    for category in categories:
        column = text_of(chunk.frame[category.name])
        place = level_positions(column.unique().to_list(), category.levels)
        strange = [value for value, code in place.items() if code is None]
        if strange and (category.unseen == "error" or category.fitting):
            unknown |= column.is_in(strange).to_numpy()
    return unknown if unknown.any() else None


def join_names(levels: Sequence[Any]) -> str:
    """Levels for a message, the first few if they are many."""
    return ", ".join(map(shown, levels[:8])) + (" …" if len(levels) > 8 else "")
