"""Terms: the products of factors that the columns of a design are made of.

A factor reads columns of a chunk and returns numbers. A numeric column returns itself; a categorical one returns a
column of 0 and 1 for each of its levels but the reference. Whatever a factor needs from all rows (levels, a mean) it
finds by a reduction, so that no chunk is encoded by its own values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.contrasts import coded_names, coding_matrix
from linearly.dataset.design.numeric_text import detect_numeric_text
from linearly.dataset.formula import expression
from linearly.dataset.rows.block import RowLocator, float_column
from linearly.dataset.rows.column_matrix import Codes
from linearly.dataset.rows.level_codes import dictionary_codes
from linearly.dataset.rows.level_spelling import declared_order, holds_numbers, level_positions, text_of
from linearly.dataset.rows.object_columns import check_object_column, is_object_column
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.formatting import list_first, shown
from linearly.kernels.double_double import Array, DoubleDouble

Level = str | int | float | bool

MAX_LEVELS = 2000  # of a categorical column
MAX_COLUMNS = 5000  # of one term


class Factor(Protocol):
    """One factor of a term."""

    @property
    def label(self) -> str:
        """The factor as the user wrote it."""
        ...

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        ...

    def fit(self, tables: Tables) -> Factor:
        """Return the factor with the constants it computes from all rows."""
        return self

    def names(self, full: bool) -> tuple[str, ...]:
        """Return the names of its columns; `full` includes a column for the reference of a category."""
        return (self.label,)

    def values(self, chunk: Chunk, full: bool) -> Array | DoubleDouble:
        """Return its columns for the rows of a chunk."""
        ...

    def codes(self, chunk: Chunk, full: bool) -> Codes | None:
        """Return its columns as codes if they have at most a single 1 in each row, else None."""
        return None


@dataclass(frozen=True)
class ColumnFactor(Factor):
    """A factor that reads one column."""

    name: str

    @property
    def label(self) -> str:
        return self.name

    @property
    def required_columns(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class Numeric(ColumnFactor):
    """A numeric or boolean column, unchanged."""

    def values(self, chunk: Chunk, full: bool) -> Array:
        return float_column(chunk.frame[self.name], chunk.where)[:, None]


@dataclass(frozen=True)
class Category(ColumnFactor):
    """A categorical column: 0 or 1 for each level but the reference, which is the first level unless named.

    Another `coding` than treatment has its own columns: see `contrasts`.
    """

    levels: tuple[Level, ...] = ()
    reference: Level | None = None
    unseen: str = "error"  # or "reference": a level that is not in the training rows counts as the reference
    fitting: bool = False  # whether rows are being fitted: a new level is an error whatever `unseen` says
    coding: str = "treatment"
    order: tuple[Level, ...] = ()  # all levels that may occur, in order, if the formula gives them

    def fit(self, tables: Tables) -> Category:
        return self if self.levels else self.with_levels(find_levels(tables.select([self.name]))[self.name])

    def with_levels(self, found: Levels) -> Category:
        """Return the category with these levels and a reference among them."""
        levels = found.ordered(self.name)
        if self.order:
            place = level_positions(levels, self.order)  # levels=c("1", "2") also means the numbers
            others = [level for level in levels if place[level] is None]
            if others:
                raise ValueError(
                    f"Column {self.name!r} has the level {shown(others[0])}, which levels= in the formula does not "
                    "list. Add it there, or leave those rows out."
                )
            levels = tuple(sorted(levels, key=lambda level: place[level] or 0))
        reference = levels[0] if self.reference is None else self.reference
        if reference not in levels:
            raise ValueError(
                f"Column {self.name!r} has no level {reference!r}. Choose one of its levels: "
                f"{list_first(map(shown, levels), 8)}."
            )
        return replace(self, levels=levels, reference=reference, order=())

    def names(self, full: bool) -> tuple[str, ...]:
        levels: tuple[object, ...] = self._shown(full)
        coded = levels if full or self.coding == "treatment" else coded_names(self.coding, levels)
        return tuple(f"{self.name}[{level}]" for level in coded)

    def coded(self, full: bool) -> Array:
        """Return the values of its columns for each level, levels × columns."""
        if not full and self.coding != "treatment" and len(self.levels) > 1:
            return coding_matrix(self.coding, len(self.levels))
        table = np.zeros((len(self.levels), len(self._coded(full))))
        for column, level in enumerate(self._coded(full)):
            table[self.levels.index(level), column] = 1.0
        return table

    def values(self, chunk: Chunk, full: bool) -> Array:
        codes = encode_levels(chunk, self.name, self.levels, self._default(), fitting=self.fitting)
        return np.asarray(self.coded(full)[codes])

    def _shown(self, full: bool) -> tuple[Level, ...]:
        return self._coded(full) if self.coding == "treatment" else self.levels

    def codes(self, chunk: Chunk, full: bool) -> Codes | None:
        if self.coding != "treatment" and not full:
            return None
        levels = self._coded(full)
        places = {level: column for column, level in enumerate(levels)}
        column_of = np.array([places.get(level, -1) for level in self.levels], dtype=np.int32)
        codes = encode_levels(chunk, self.name, self.levels, self._default(), fitting=self.fitting)
        return Codes(column_of[codes], len(levels)) if levels else None

    def _coded(self, full: bool) -> tuple[Level, ...]:
        return self.levels if full else tuple(level for level in self.levels if level != self.reference)

    def _default(self) -> int | None:
        if self.unseen == "error" or self.fitting or self.reference is None:
            return None
        return self.levels.index(self.reference)


@dataclass(frozen=True)
class LevelIndicator(Category):
    """1 where a column has a level, otherwise 0, or the reverse if `equal` is False: I(region == "north")."""

    value: Level = ""
    equal: bool = True

    @property
    def label(self) -> str:
        column, value = expression.Name(self.name), expression.Text(str(self.value))
        return f"I({column} {'==' if self.equal else '!='} {value})"

    def with_levels(self, found: Levels) -> LevelIndicator:
        category = Category(self.name).with_levels(found)
        if self.value not in category.levels:
            raise ValueError(
                f"Column {self.name!r} has no level {shown(self.value)}, with which {self.label} compares it. Choose "
                f"one of its levels: {list_first(map(shown, category.levels), 8)}."
            )
        return replace(self, levels=category.levels, reference=category.reference)

    def names(self, full: bool) -> tuple[str, ...]:
        return (self.label,)

    def coded(self, full: bool) -> Array:
        return np.array([[float((level == self.value) == self.equal)] for level in self.levels])

    def codes(self, chunk: Chunk, full: bool) -> Codes | None:
        codes = encode_levels(chunk, self.name, self.levels, self._default(), fitting=self.fitting)
        return Codes(self.coded(full)[:, 0].astype(np.int32)[codes] - 1, 1)


def is_coded(factor: Factor) -> bool:
    """Return whether the columns of a factor are a coding of the levels of a category."""
    return isinstance(factor, Category) and not isinstance(factor, LevelIndicator)


@dataclass(frozen=True)
class Term:
    """A product of factors: every product of their columns."""

    factors: tuple[Factor, ...]
    full: tuple[bool, ...] = ()  # for each factor whether a category keeps its reference level

    @property
    def label(self) -> str:
        """The term as R writes it: a:b."""
        return ":".join(factor.label for factor in self.factors)

    @property
    def plain(self) -> str | None:
        """The name of the column if the term is a numeric column, unchanged; otherwise None."""
        numeric = len(self.factors) == 1 and isinstance(self.factors[0], Numeric)
        return self.factors[0].label if numeric else None

    @property
    def width(self) -> int:
        """The number of columns; the factors must be fitted."""
        return prod(len(factor.names(full)) for factor, full in zip(self.factors, self._full(), strict=True))

    def names(self) -> tuple[str, ...]:
        """Return the names of its columns."""
        own = (factor.names(full) for factor, full in zip(self.factors, self._full(), strict=True))
        # The first factor varies fastest, as in R.
        return reduce(lambda names, more: tuple(f"{a}:{b}" for b in more for a in names), own)

    def values(self, chunk: Chunk) -> Array | DoubleDouble:
        """Return its columns for the rows of a chunk; in double-double if a factor is."""
        columns = (factor.values(chunk, full) for factor, full in zip(self.factors, self._full(), strict=True))
        return reduce(lambda product, own: _column_products(own, product), columns)

    def codes(self, chunk: Chunk) -> Codes | None:
        """Return its columns as codes if all factors are categories, else None."""
        product: Codes | None = None
        for factor, full in zip(self.factors, self._full(), strict=True):
            own = factor.codes(chunk, full)
            if own is None:
                return None
            product = own if product is None else product.times(own)
        return product

    def _full(self) -> tuple[bool, ...]:
        return self.full or (False,) * len(self.factors)


def _column_products(a: Any, b: Any) -> Array | DoubleDouble:
    """Return every column of a times every column of b; those of b vary fastest."""
    pairs = a[:, :, None] * b[:, None, :]
    shape = len(a), a.shape[1] * b.shape[1]
    if isinstance(pairs, DoubleDouble):
        return DoubleDouble(pairs.high.reshape(shape), pairs.low.reshape(shape))
    return np.asarray(pairs.reshape(shape))


@dataclass(frozen=True)
class Levels:
    """The values of a column, their declared order (if any), and whether they are numbers stored as text.

    The order counts as undeclared if parts of the rows declare different ones.
    """

    values: frozenset[Level]
    declared: tuple[Level, ...] = ()
    numbers: bool = False

    def __add__(self, other: Levels) -> Levels:
        if not (self.values and other.values):
            return self if self.values else other
        declared = self.declared if self.declared == other.declared else ()
        return Levels(self.values | other.values, declared, self.numbers and other.numbers)

    def ordered(self, name: str) -> tuple[Level, ...]:
        """Return the values as declared, or sorted; raise if there are more than MAX_LEVELS."""
        if len(self.values) > MAX_LEVELS:
            found = detect_numeric_text(self.values)
            numbers = "" if found is None else f" It is text, although {found}. Check for cells that are not numbers."
            raise ValueError(
                f"Column {name!r} has more than {MAX_LEVELS} levels, too many to code.{numbers} Leave it out, group "
                "its levels, or convert it to numbers."
            )
        if not self.values:
            raise ValueError(f"Column {name!r} is empty, so it has no levels. Leave it out.")
        if self.declared:
            return tuple(level for level in self.declared if level in self.values)
        try:
            levels = sorted(self.values)
        except TypeError:
            kinds = sorted({type(value).__name__ for value in self.values})
            raise ValueError(
                f"Column {name!r} contains values of several types ({', '.join(kinds)}). Convert all to text or all "
                "to numbers."
            ) from None
        return tuple(sorted(levels, key=float) if self.numbers else levels)


@dataclass(frozen=True)
class ColumnLevels:
    """The levels of several columns."""

    columns: dict[str, Levels] = field(default_factory=dict)

    def __add__(self, other: ColumnLevels) -> ColumnLevels:
        return ColumnLevels({name: found + other.columns[name] for name, found in self.columns.items()})


def find_levels(tables: Tables) -> dict[str, Levels]:
    """Return the distinct values of every column, by one pass over the rows."""
    return tables.reduce(count_levels).columns


def count_levels(chunk: Chunk) -> ColumnLevels:
    """Return the distinct values of every column of a chunk."""
    return ColumnLevels({name: _column_levels(chunk.frame[name], chunk.where) for name in chunk.frame.columns})


def _column_levels(column: nw.Series[Any], where: RowLocator) -> Levels:
    if is_object_column(column):
        check_object_column(column, where)
    elif column.dtype == nw.Object:
        raise ValueError(
            f"Column {column.name!r} contains neither numbers nor text. Leave it out, or convert it to numbers or text."
        )
    # More than the limit is an error whatever the values are, so a million of them need not be kept.
    coded = dictionary_codes(column)
    values = text_of(column).drop_nulls().unique().to_list() if coded is None else coded[1]
    some = values[: MAX_LEVELS + 1]
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
    """Return the number of the level of each row; an unknown level raises, or counts as `default`."""
    coded = dictionary_codes(chunk.frame[name])
    if coded is not None and len(chunk):
        places = [default if code is None else code for code in level_positions(coded[1], levels).values()]
        if None not in places and coded[0].min() >= 0:
            return np.array(places, dtype=np.intp)[coded[0]]
    column = text_of(chunk.frame[name])
    if not len(column):  # the type of a column without rows may be wrong
        return np.zeros(0, dtype=np.intp)
    place = level_positions(column.unique().to_list(), levels)
    unseen = [value for value, code in place.items() if code is None]
    if any(value != value for value in unseen):
        _raise_if_nan(column, chunk)
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
            f"Column {name!r} has the {what} {shown(worst)} in {chunk.where(i)}, which does not occur in the training "
            f"rows. The {what}s there are {list_first(map(shown, levels), 8)}. Correct it, or {remedy}."
        )
    known = {value: default if code is None else code for value, code in place.items() if value is not None}
    codes = column.replace_strict(list(known), list(known.values()), return_dtype=nw.Int64)
    return np.asarray(codes.to_numpy(), dtype=np.intp)


def _raise_if_nan(column: nw.Series[Any], chunk: Chunk) -> None:
    """Raise for NaN among levels that are numbers: the value is missing, not an unseen level."""
    gaps = np.isnan(np.asarray(column.to_numpy(), dtype=np.float64))
    gaps = gaps if chunk.absent is None else gaps & ~chunk.absent
    if gaps.any():
        raise missing_values_error(column.name, chunk.where(int(np.argmax(gaps))))


def missing_values_error(name: str, where: str) -> ValueError:
    """Return the error for a missing value."""
    return ValueError(
        f'Column {name!r} is missing in {where}. Fill in the value, or choose missing="drop" to leave such rows out.'
    )


def unknown_levels(chunk: Chunk, categories: Sequence[Category]) -> NDArray[np.bool_] | None:
    """Return which rows with weight 0 have an unknown level; None if no row does."""
    if chunk.absent is None or not len(chunk):
        return None
    unknown = np.zeros(len(chunk), dtype=bool)
    for category in categories:
        column = text_of(chunk.frame[category.name])
        place = level_positions(column.unique().to_list(), category.levels)
        unseen = [value for value, code in place.items() if code is None]
        if unseen and (category.unseen == "error" or category.fitting):
            unknown |= column.is_in(unseen).to_numpy()
    return unknown if unknown.any() else None
