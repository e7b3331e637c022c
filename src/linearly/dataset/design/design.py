"""The design: from columns as users have them to the numbers that a model sees.

Numbers stay numbers, booleans are 0 and 1, text and categories become one column for each level but the reference.
Levels are learnt by a fold over all rows. The same `Design` then codes rows in a frame, in files or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.cluster.partitions import MapPartition, partitions_of
from linearly.dataset.design.terms import (
    MAX_COLUMNS,
    Array,
    Category,
    ColumnLevels,
    Factor,
    Level,
    Levels,
    Numeric,
    Term,
    count_levels,
    encode_levels,
    find_levels,
    missing_values_error,
    unknown_levels,
)
from linearly.dataset.rows.array_checks import as_labels, check_weight_range
from linearly.dataset.rows.block import Block, ColumnMatrix, takes_columns
from linearly.dataset.rows.level_spelling import level_positions, spell_levels, text_of
from linearly.dataset.rows.object_columns import date_error
from linearly.dataset.rows.tables import Chunk, Tables, known_columns, missing_in
from linearly.kernels.double_double import DoubleDouble, to_float64

S = TypeVar("S")

MISSING = ("error", "drop")
UNSEEN = ("error", "reference")


@dataclass(frozen=True)
class Target:
    """What is to be predicted: a number, or one of some labels."""

    factor: Factor
    labels: bool = False
    classes: tuple[Level, ...] = ()

    def values(self, chunk: Chunk, plain: Mapping[str, Array] = MappingProxyType({})) -> NDArray[Any]:
        """y for the rows of a chunk: numbers, or the codes of their labels; `plain` columns are numbers already."""
        if self.labels:
            return encode_levels(chunk, self.factor.required_columns[0], self.classes, what="label").astype(np.int32)
        if isinstance(self.factor, Numeric):
            if self.factor.name in plain:
                return plain[self.factor.name]
            column = chunk.frame[self.factor.name]
            if (column.dtype.is_integer() or column.dtype == nw.Boolean) and not column.null_count():
                return column.to_numpy()  # whole numbers stay whole: they may be labels
        return to_float64(self.factor.values(chunk, False))[:, 0]


@dataclass(frozen=True)
class Design:
    """Terms, target and weight, and what is to be done where a value is missing or a level is new."""

    terms: tuple[Term, ...]
    target: Target | None = None
    weight: str | None = None
    intercept: bool = True
    missing: str = "error"
    formula: str | None = None
    groups: str | None = None  # the column of the groups that rows are alike in, for a clustered covariance
    na_values: tuple[str, ...] = ()  # texts that stand for missing values
    extended_powers: bool = False  # whether blocks keep what float64 cannot hold of powers, in double-double

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the columns of the design are called."""
        return tuple(name for term in self.terms for name in term.names())

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns that the terms read."""
        return tuple(dict.fromkeys(name for term in self.terms for f in term.factors for name in f.required_columns))

    @cached_property
    def required_columns(self) -> tuple[str, ...]:
        """All columns to be read for a fit."""
        target = () if self.target is None else self.target.factor.required_columns
        beside = (name for name in (self.weight, self.groups) if name)
        return tuple(dict.fromkeys((*self.features, *target, *beside)))

    @property
    def categories(self) -> tuple[Category, ...]:
        """The categorical factors, each once."""
        found = {f.name: f for term in self.terms for f in term.factors if isinstance(f, Category)}
        return tuple(found.values())

    @cached_property
    def text_columns(self) -> tuple[str, ...]:
        """The columns whose levels or labels are text."""
        known = {category.name: category.levels for category in self.categories}
        if self.target is not None and self.target.labels:
            known[self.target.factor.required_columns[0]] = self.target.classes
        return tuple(name for name, some in known.items() if some and all(isinstance(one, str) for one in some))

    def fit(self, tables: Tables) -> Design:
        """The design with levels, classes and whatever else its factors must know of all rows."""
        known_columns(self.required_columns, tables.schema)
        unknown = [category.name for category in self.categories if not category.levels]
        target = self.target
        if target is not None and target.labels and not target.classes:
            unknown += [name for name in target.factor.required_columns if name not in unknown]
        if unknown and getattr(tables, "one_shot", False):
            raise needs_a_pass(unknown)
        found = self._levels(tables, unknown) if unknown else {}

        def learnt(factor: Factor) -> Factor:
            if isinstance(factor, Category) and factor.name in found and not factor.levels:
                return factor.with_levels(found[factor.name])
            if isinstance(factor, Numeric):
                return factor
            return factor.fit(tables.select(factor.required_columns))

        lessons: dict[Factor, Factor] = {}
        for factor in (factor for term in self.terms for factor in term.factors):
            if factor not in lessons:
                lessons[factor] = learnt(factor)
        terms = tuple(replace(term, factors=tuple(lessons[f] for f in term.factors)) for term in self.terms)
        for term in terms:
            if term.width > MAX_COLUMNS:
                raise ValueError(f"The term {term.label} has {term.width} columns; {MAX_COLUMNS} are the most.")
        if target is not None and target.labels and not target.classes:
            name = target.factor.required_columns[0]
            target = replace(target, classes=_whole(found[name].ordered(name), name))
        return replace(self, terms=terms, target=target)

    def _levels(self, tables: Tables, names: Sequence[str]) -> dict[str, Levels]:
        """The levels of some columns in the rows that are kept: one that only dropped rows have is none."""
        if self.missing == "error":
            return find_levels(tables.select(names))
        found = tables.select(self.required_columns).reduce(Complete(self, tuple(names))).columns
        # Where no row is kept the fit says so.
        return found if any(column.values for column in found.values()) else find_levels(tables.select(names))

    def extended(self, tables: Tables) -> Design:
        """The design with the levels that only these rows have, after those it knows."""
        names = [category.name for category in self.categories]
        if names and getattr(tables, "one_shot", False):
            raise needs_a_pass(names)
        found = self._levels(tables, names) if names else {}

        def widened(factor: Factor) -> Factor:
            if not isinstance(factor, Category):
                return factor
            some = found[factor.name].ordered(factor.name) if found[factor.name].values else ()
            new = [value for value, code in level_positions(some, factor.levels).items() if code is None]
            text = all(isinstance(level, str) for level in factor.levels)
            return replace(factor, levels=(*factor.levels, *(map(spell_levels, new) if text else new)))

        return self._with(widened)

    def being_fitted(self) -> Design:
        """The design for rows that are fitted with levels known before: a new level in them is an error."""
        return self._with(lambda factor: replace(factor, fitting=True) if isinstance(factor, Category) else factor)

    def _with(self, change: Callable[[Factor], Factor]) -> Design:
        terms = tuple(replace(term, factors=tuple(map(change, term.factors))) for term in self.terms)
        return replace(self, terms=terms)

    def covers(self, other: Design) -> bool:
        """Whether its terms are those of the other, but for levels that only this one has."""

        def alike(own: Factor, its: Factor) -> bool:
            if not isinstance(own, Category) or not isinstance(its, Category):
                return own == its
            return replace(own, levels=its.levels) == its and set(its.levels) <= set(own.levels)

        return len(self.terms) == len(other.terms) and all(
            a.full == b.full and len(a.factors) == len(b.factors) and all(map(alike, a.factors, b.factors))
            for a, b in zip(self.terms, other.terms, strict=True)
        )

    def with_labels(self) -> Design:
        """The design for a classifier: the target is one of some labels, whatever its kind."""
        if self.target is None or self.target.labels:
            return self
        if not isinstance(self.target.factor, Numeric):
            raise ValueError(f"The target {self.target.factor.label!r} is computed: a classifier needs a plain column.")
        return replace(self, target=replace(self.target, labels=True))

    def without_target(self) -> Design:
        """The design without target, weight and groups, for rows to be predicted."""
        return replace(self, target=None, weight=None, groups=None)

    def block(self, chunk: Chunk, takes_columns: bool = False) -> Block:
        """The numbers of a chunk that has no missing values, or whose rows with missing values are to be dropped."""
        plain = plain_columns(chunk, self.required_columns) if self.missing == "error" else {}
        complete = self.complete(chunk, plain.keys())
        if complete is not None:
            if self.missing == "error":
                self._refuse_missing(chunk, complete)
            chunk, plain = chunk.rows(complete), {}
        weight = None if self.weight is None else self._weights(chunk)
        chunk = chunk if weight is None or weight.all() else replace(chunk, absent=weight == 0)
        X = (self._columns if takes_columns and self.names else self._matrix)(chunk, plain)
        unknown = unknown_levels(chunk, self.categories)
        group = None if self.groups is None else text_of(chunk.frame[self.groups]).to_numpy()
        block = Block(X, None, weight, chunk.start, self.names, chunk.place, chunk.kept, unknown, group=group)
        target = self.target
        return block if target is None else replace(block, y=target.values(chunk, plain), target=target.factor.label)

    def _columns(self, chunk: Chunk, plain: Mapping[str, Array]) -> ColumnMatrix:
        columns: list[Array] = []
        for term, column in zip(self.terms, self._as_they_are, strict=True):
            columns.extend(
                [plain[column]] if column in plain else np.ascontiguousarray(to_float64(term.values(chunk)).T)
            )
        return ColumnMatrix(columns)

    def _matrix(self, chunk: Chunk, plain: Mapping[str, Array]) -> Array | DoubleDouble:
        X = np.empty((len(chunk), len(self.names)), order="F")
        low: Array | None = None  # what rounding took from the columns that are in double-double
        at = 0
        for term, column in zip(self.terms, self._as_they_are, strict=True):
            if column in plain:
                X[:, at] = plain[column]
                at += 1
                continue
            values = term.values(chunk)
            own = slice(at, at + values.shape[1])
            X[:, own] = to_float64(values)
            if self.extended_powers and isinstance(values, DoubleDouble):
                low = np.zeros_like(X) if low is None else low
                low[:, own] = values.low
            at = own.stop
        return X if low is None else DoubleDouble(X, low)

    @cached_property
    def _as_they_are(self) -> tuple[str, ...]:
        """For each term the column that it is, or nothing."""
        return tuple(term.plain for term in self.terms)

    def complete(self, chunk: Chunk, known: Collection[str] = ()) -> NDArray[np.bool_] | None:
        """For each row whether no column that is needed is missing; None if nothing is, as is `known` of some."""
        others = [name for name in self.required_columns if name not in known]
        if others:
            known_columns(others, dict.fromkeys(chunk.frame.columns))
        complete: NDArray[np.bool_] | None = None
        for name in others:
            gaps = missing_in(chunk.frame[name], search=self.missing == "drop")
            if gaps is not None:
                complete = ~gaps if complete is None else complete & ~gaps
        return complete

    def _refuse_missing(self, chunk: Chunk, complete: NDArray[np.bool_]) -> None:
        i = int(np.argmin(complete))
        for name in self.required_columns:
            gaps = missing_in(chunk.frame[name], search=True)
            if gaps is not None and gaps[i]:
                numbers = chunk.frame[name].dtype.is_numeric()  # as a column without any value is read
                if numbers and gaps.all() and len(gaps) > 1 and self.target is not None and name in self.features:
                    # Spreadsheets write such columns; with missing="drop" no row would be left.
                    raise ValueError(f"Column {name!r} is empty from {chunk.where(0)} on. Fill it, or fit without it.")
                raise missing_values_error(name, chunk.where(i))

    def _weights(self, chunk: Chunk) -> Array:
        assert self.weight is not None
        weight = np.ascontiguousarray(Numeric(self.weight).values(chunk, False)[:, 0])
        if (weight < 0).any():
            i = int(np.argmax(weight < 0))
            raise ValueError(
                f"The weight {self.weight!r} is negative in {chunk.where(i)}: {weight[i]}. Weights must be 0 or more."
            )
        check_weight_range(weight, chunk.where, f"The weight {self.weight!r}")
        return weight


class DesignRows:
    """Rows of numbers that a design makes of tables, chunk by chunk, wherever those live."""

    def __init__(self, tables: Tables, design: Design) -> None:
        known_columns(design.required_columns, tables.schema)
        self.tables, self.design, self.names = tables.select(design.required_columns), design, design.names
        self.n_rows: int | None = None  # after a fold: rows there were
        self.n_dropped = 0  # and how many of them were left out, having missing values

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels that the codes in y stand for; None where y are numbers."""
        target = self.design.target
        if target is None or not target.labels:
            return None
        return as_labels(target.classes)

    @property
    def one_shot(self) -> bool:
        """Whether the rows can be had once only."""
        return getattr(self.tables, "one_shot", False)

    def targets(self) -> DesignRows:
        """The same rows without features, which are not read then; with them where they say which rows are dropped."""
        return self if self.design.missing == "drop" else DesignRows(self.tables, replace(self.design, terms=()))

    def __iter__(self) -> Iterator[Block]:
        return map(self.design.block, self.tables)

    def reduce(self, f: Callable[[Block], S]) -> S:
        if self.design.missing == "error":
            value: S = self.tables.reduce(ApplyDesign(self.design, f))
            return value
        total = self.tables.reduce(CountDropped(self.design, f))
        if total.rows and not total.kept:
            raise no_rows_error(total.rows)
        self.n_rows, self.n_dropped = total.rows, total.rows - total.kept
        kept: S = total.value
        return kept

    @property
    def n_partitions(self) -> int | None:
        """How many partitions there are; None for rows that are here."""
        return partitions_of(self.tables)

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """The sum of f over the partitions, each given as its blocks in order."""
        tables: Any = self.tables
        value: S = tables.reduce_partitions(MapPartition(self.design.block, f))
        return value


def needs_a_pass(names: Sequence[str]) -> ValueError:
    """What is said where levels are to be learnt of rows that can be read once."""
    return ValueError(
        f"The levels of {', '.join(map(repr, names))} take a pass over the rows before the fit, and this is a one-shot "
        "stream. Write it to a file first, and give the file."
    )


def no_rows_error(n: int) -> ValueError:
    """What to say where every row was dropped."""
    return ValueError(
        f"Each of the {n:,} rows has a missing value in a column that is needed: no row is left. Fill the gaps, or "
        "leave out the columns that have most of them."
    )


@dataclass(frozen=True)
class ApplyDesign:
    """f after the design: what is sent to where the chunks are."""

    design: Design
    f: Callable[[Block], Any]

    @property
    def takes_columns(self) -> bool:
        """Whether f does: chunks need not be cut for it then."""
        return takes_columns(self.f)

    def __call__(self, chunk: Chunk) -> Any:
        return self.f(self.design.block(chunk, self.takes_columns))


@dataclass(frozen=True)
class Complete:
    """The distinct values of some columns in the rows of a chunk that have no missing values."""

    design: Design
    names: tuple[str, ...]

    def __call__(self, chunk: Chunk) -> ColumnLevels:
        complete = self.design.complete(chunk)
        kept = chunk if complete is None else chunk.rows(complete)
        return count_levels(replace(kept, frame=kept.frame.select(list(self.names))))


@dataclass(frozen=True)
class CountDropped:
    """The same, counting the rows that were dropped."""

    design: Design
    f: Callable[[Block], Any]

    def __call__(self, chunk: Chunk) -> WithRowCounts:
        block = self.design.block(chunk, takes_columns(self.f))
        nothing = len(chunk) and not len(block)
        return WithRowCounts(None if nothing else self.f(block), len(chunk), len(block))


@dataclass(frozen=True)
class WithRowCounts:
    """A value, and the rows that it came from: all, and those that were kept. Where none were, there is no value."""

    value: Any
    rows: int
    kept: int

    def __add__(self, other: WithRowCounts) -> WithRowCounts:
        values = [one.value for one in (self, other) if one.value is not None]
        value = values[0] + values[1] if len(values) == 2 else values[0] if values else None
        return WithRowCounts(value, self.rows + other.rows, self.kept + other.kept)


def design_of(
    schema: Mapping[str, nw.dtypes.DType],
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    groups: str | None = None,
    missing: str = "error",
    unseen: str = "error",
) -> Design:
    """The plain design of a table: a term for each feature (all columns but target, weight, groups, unless named)."""
    check_policies(missing, unseen)
    known = dict(schema)
    known_columns([name for name in (groups,) if name is not None], known, "column of groups")
    known_columns([name for name in (target,) if name is not None], known, "target column")
    known_columns([name for name in (weight,) if name is not None], known, "weight column")
    if features is not None:
        known_columns(features, known)
    chosen = [name for name in known if name not in (target, weight, groups)] if features is None else list(features)
    refuse_groups(groups, target, weight)
    if target is not None and target in (weight, *chosen):
        raise ValueError(f"The target {target!r} cannot be a {'weight' if target == weight else 'feature'} too.")
    for name in chosen:
        if chosen.count(name) > 1:
            raise ValueError(f"features names {name!r} {chosen.count(name)} times: once is enough.")
    if not chosen:
        raise ValueError("There is no feature column: only the target" + (" and the weight." if weight else "."))
    terms = tuple(Term((factor_of(name, known[name], unseen),)) for name in chosen)
    return Design(terms, target_of(target, known), weight, True, missing, groups=groups)


def refuse_groups(groups: str | None, target: str | None, weight: str | None) -> None:
    """Refuse groups that are the target or the weight; a feature may be the groups too, as a term for each of them."""
    for name, what in ((target, "target"), (weight, "weight")):
        if groups is not None and groups == name:
            raise ValueError(f"The column of groups, {groups!r}, is the {what}. Name another column.")


def _whole(classes: tuple[Level, ...], target: str) -> tuple[Level, ...]:
    """The classes, refused if they are fractions: those are measured, not labels."""
    for value in classes:
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(
                f"The target {target!r} holds numbers such as {value!r}, not labels. Choose a model that predicts "
                'numbers, such as model="linear".'
            )
    return classes


def check_policies(missing: str, unseen: str) -> None:
    """Refuse policies that do not exist."""
    if missing not in MISSING:
        raise ValueError(f"missing must be one of {MISSING}, not {missing!r}.")
    if unseen not in UNSEEN:
        raise ValueError(f"unseen must be one of {UNSEEN}, not {unseen!r}.")


def factor_of(name: str, dtype: nw.dtypes.DType, unseen: str = "error") -> Numeric | Category:
    """The factor that a column is by its kind; what is neither number nor category is refused with advice."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Numeric(name)
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return Category(name, unseen=unseen)
    if dtype.is_temporal():
        raise date_error(name)
    raise ValueError(f"Column {name!r} is {dtype}, neither numbers nor text. Leave it out, or turn it into numbers.")


def target_of(name: str | None, schema: Mapping[str, nw.dtypes.DType]) -> Target | None:
    """The target that a column is by its kind: numbers, or labels for text, categories and booleans."""
    if name is None:
        return None
    factor = factor_of(name, schema[name])
    labels = isinstance(factor, Category) or schema[name] == nw.Boolean
    return Target(Numeric(name) if schema[name] == nw.Boolean else factor, labels)


def plain_columns(chunk: Chunk, names: Sequence[str]) -> dict[str, Array]:
    """The columns of an Arrow table that are float64 without gaps, as they lie in memory.

    For those, which are most columns of most files, this saves a copy and some of the time that a data frame takes.
    """
    table = chunk.frame.to_native()
    if not nw.dependencies.is_pyarrow_table(table):
        return {}
    plain: dict[str, Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.num_chunks == 1 and column.null_count == 0 and str(column.type) == "double" and name in names:
            plain[name] = column.chunk(0).to_numpy()
    return plain
