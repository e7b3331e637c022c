"""Turn columns of a table into the numbers that a model is fitted to.

Numbers stay numbers, booleans become 0 and 1, and text and categories become one column for each level but the
reference. Levels are found by a reduction over all rows. The same `Design` then encodes rows in a frame, in files or on
a cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar, cast

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

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
from linearly.dataset.rows.block import Block, ColumnMatrix, Rows, takes_columns
from linearly.dataset.rows.level_spelling import level_positions, spell_level, text_of
from linearly.dataset.rows.object_columns import date_error
from linearly.dataset.rows.reduce import MapPartition
from linearly.dataset.rows.tables import Chunk, Tables, check_columns_known, missing_in
from linearly.kernels.double_double import DoubleDouble, to_float64

S = TypeVar("S")

MISSING = ("error", "drop")
UNSEEN = ("error", "reference")


@dataclass(frozen=True)
class Target:
    """The target: a number, or one of some labels."""

    factor: Factor
    labels: bool = False
    classes: tuple[Level, ...] = ()

    def values(self, chunk: Chunk, plain: Mapping[str, Array] = MappingProxyType({})) -> NDArray[Any]:
        """Return y for a chunk: numbers or codes of labels. Columns in `plain` are converted already."""
        if self.labels:
            return encode_levels(chunk, self.factor.required_columns[0], self.classes, what="label").astype(np.int32)
        if isinstance(self.factor, Numeric):
            if self.factor.name in plain:
                return plain[self.factor.name]
            column = chunk.frame[self.factor.name]
            if (column.dtype.is_integer() or column.dtype == nw.Boolean) and not column.null_count():
                return column.to_numpy()  # integers stay integers: they may be labels
        return to_float64(self.factor.values(chunk, False))[:, 0]


@dataclass(frozen=True)
class Design:
    """Terms, target, weight and groups, and what to do with missing values."""

    terms: tuple[Term, ...]
    target: Target | None = None
    weight: str | None = None
    intercept: bool = True
    missing: str = "error"
    formula: str | None = None
    groups: str | None = None  # the column of groups for a clustered covariance
    na_values: tuple[str, ...] = ()  # texts that count as missing values
    extended_powers: bool = False  # whether blocks keep raw powers in double-double

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the design's columns."""
        return tuple(name for term in self.terms for name in term.names())

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns that the terms read."""
        return tuple(dict.fromkeys(name for term in self.terms for f in term.factors for name in f.required_columns))

    @cached_property
    def required_columns(self) -> tuple[str, ...]:
        """All columns that a fit reads."""
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
        """Return the design with its levels, classes and whatever else its factors need from all rows."""
        check_columns_known(self.required_columns, tables.schema)
        names = [category.name for category in self.categories if not category.levels]
        labels = self.target.factor.required_columns if self._needs_classes() and self.target is not None else ()
        levels = self._find_levels(tables, [*names, *(name for name in labels if name not in names)])
        fitted = dict.fromkeys(factor for term in self.terms for factor in term.factors)
        factors = {factor: _fit_factor(factor, tables, levels) for factor in fitted}
        design = replace(self._map_factors(factors.__getitem__), target=self._fit_target(levels))
        for term in design.terms:
            if term.width > MAX_COLUMNS:
                raise ValueError(f"The term {term.label} has {term.width} columns; {MAX_COLUMNS} are the most.")
        return design

    def _needs_classes(self) -> bool:
        return self.target is not None and self.target.labels and not self.target.classes

    def _fit_target(self, levels: Mapping[str, Levels]) -> Target | None:
        if self.target is None or not self._needs_classes():
            return self.target
        name = self.target.factor.required_columns[0]
        classes = levels[name].ordered(name)
        for value in classes:
            if isinstance(value, float) and not value.is_integer():
                raise ValueError(
                    f"The target {name!r} holds numbers such as {value!r}, not labels. Choose a model that predicts "
                    'numbers, such as model="linear".'
                )
        return replace(self.target, classes=classes)

    def _find_levels(self, tables: Tables, names: Sequence[str]) -> dict[str, Levels]:
        """Return the levels of some columns in the rows that are kept; levels of dropped rows do not count."""
        if not names:
            return {}
        if tables.one_shot:
            raise ValueError(
                f"The levels of {', '.join(map(repr, names))} take a pass over the rows before the fit, and this is a "
                "one-shot stream. Write it to a file first, and give the file."
            )
        if self.missing == "error":
            return find_levels(tables.select(names))
        levels = tables.select(self.required_columns).reduce(CompleteRowLevels(self, tuple(names))).columns
        # If no row is kept, the fit raises.
        return levels if any(column.values for column in levels.values()) else find_levels(tables.select(names))

    def with_new_levels(self, tables: Tables) -> Design:
        """Return the design with the levels that occur only in these rows added after the known ones."""
        found = self._find_levels(tables, [category.name for category in self.categories])

        def add_levels(factor: Factor) -> Factor:
            if not isinstance(factor, Category):
                return factor
            some = found[factor.name].ordered(factor.name) if found[factor.name].values else ()
            new = [value for value, code in level_positions(some, factor.levels).items() if code is None]
            text = all(isinstance(level, str) for level in factor.levels)
            return replace(factor, levels=(*factor.levels, *(map(spell_level, new) if text else new)))

        return self._map_factors(add_levels)

    def being_fitted(self) -> Design:
        """Return the design for fitting rows with known levels: a new level is an error, whatever `unseen` says."""
        return self._map_factors(
            lambda factor: replace(factor, fitting=True) if isinstance(factor, Category) else factor
        )

    def _map_factors(self, change: Callable[[Factor], Factor]) -> Design:
        terms = tuple(replace(term, factors=tuple(map(change, term.factors))) for term in self.terms)
        return replace(self, terms=terms)

    def covers(self, other: Design) -> bool:
        """Return whether its terms are those of the other design, apart from levels that only this one has."""

        def alike(own: Factor, its: Factor) -> bool:
            if not isinstance(own, Category) or not isinstance(its, Category):
                return own == its
            return replace(own, levels=its.levels) == its and set(its.levels) <= set(own.levels)

        return len(self.terms) == len(other.terms) and all(
            a.full == b.full and len(a.factors) == len(b.factors) and all(map(alike, a.factors, b.factors))
            for a, b in zip(self.terms, other.terms, strict=True)
        )

    def with_labels(self) -> Design:
        """Return the design for a classifier: the target contains labels, whatever its type."""
        if self.target is None or self.target.labels:
            return self
        if not isinstance(self.target.factor, Numeric):
            raise ValueError(f"The target {self.target.factor.label!r} is computed: a classifier needs a plain column.")
        return replace(self, target=replace(self.target, labels=True))

    def without_target(self) -> Design:
        """Return the design without target, weight and groups, for prediction."""
        return replace(self, target=None, weight=None, groups=None)

    def block(self, chunk: Chunk, as_columns: bool = False) -> Block:
        """Return the numbers of a chunk; rows with missing values raise or are dropped, as `missing` says."""
        plain = plain_columns(chunk, self.required_columns) if self.missing == "error" else {}
        complete = self.complete(chunk, plain.keys())
        if complete is not None:
            if self.missing == "error":
                self._raise_missing(chunk, complete)
            chunk, plain = chunk.rows(complete), {}
        weight = None if self.weight is None else self._weights(chunk)
        chunk = chunk if weight is None or weight.all() else replace(chunk, absent=weight == 0)
        X = (self._columns if as_columns and self.names else self._matrix)(chunk, plain)
        unknown = unknown_levels(chunk, self.categories)
        group = None if self.groups is None else text_of(chunk.frame[self.groups]).to_numpy()
        block = Block(X, None, weight, chunk.start, self.names, chunk.place, chunk.kept, unknown, group=group)
        target = self.target
        return block if target is None else replace(block, y=target.values(chunk, plain), target=target.factor.label)

    def _columns(self, chunk: Chunk, plain: Mapping[str, Array]) -> ColumnMatrix:
        columns: list[Array] = []
        for term, column in zip(self.terms, self._unchanged_columns, strict=True):
            columns.extend(
                [plain[column]] if column in plain else np.ascontiguousarray(to_float64(term.values(chunk)).T)
            )
        return ColumnMatrix(columns)

    def _matrix(self, chunk: Chunk, plain: Mapping[str, Array]) -> Array | DoubleDouble:
        X = np.empty((len(chunk), len(self.names)), order="F")
        low: Array | None = None  # low parts of the columns in double-double
        at = 0
        for term, column in zip(self.terms, self._unchanged_columns, strict=True):
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
    def _unchanged_columns(self) -> tuple[str, ...]:
        """The column that each term takes unchanged, or an empty text."""
        return tuple(term.plain for term in self.terms)

    def complete(self, chunk: Chunk, known: Collection[str] = ()) -> NDArray[np.bool_] | None:
        """Return whether each row is complete; None if all are. Columns in `known` have no missing values."""
        others = [name for name in self.required_columns if name not in known]
        if others:
            check_columns_known(others, dict.fromkeys(chunk.frame.columns))
        complete: NDArray[np.bool_] | None = None
        for name in others:
            gaps = missing_in(chunk.frame[name], search=self.missing == "drop")
            if gaps is not None:
                complete = ~gaps if complete is None else complete & ~gaps
        return complete

    def _raise_missing(self, chunk: Chunk, complete: NDArray[np.bool_]) -> None:
        i = int(np.argmin(complete))
        for name in self.required_columns:
            gaps = missing_in(chunk.frame[name], search=True)
            if gaps is not None and gaps[i]:
                numbers = chunk.frame[name].dtype.is_numeric()  # a column without any value is read as numbers
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


class DesignRows(Rows):
    """Rows of numbers: tables encoded by a design, chunk by chunk, wherever the tables are."""

    def __init__(self, tables: Tables, design: Design) -> None:
        check_columns_known(design.required_columns, tables.schema)
        self.tables, self.design, self.names = tables.select(design.required_columns), design, design.names
        self.n_rows: int | None = None  # after a reduction: rows read
        self.n_dropped = 0  # and rows dropped for missing values
        self.one_shot = tables.one_shot
        if design.target is not None and design.target.labels:
            self.classes = as_labels(design.target.classes)

    def targets(self) -> DesignRows:
        """Return the rows without features, or with them if their missing values decide which rows are dropped."""
        return self if self.design.missing == "drop" else DesignRows(self.tables, replace(self.design, terms=()))

    def __iter__(self) -> Iterator[Block]:
        return map(self.design.block, self.tables)

    def reduce(self, f: Callable[[Block], S]) -> S:
        encode = partial(self.design.block, as_columns=takes_columns(f))
        if self.design.missing == "error":
            return cast(S, self.tables.reduce(Composed(encode, f)))
        total = self.tables.reduce(CountKept(encode, f))
        if total.rows and not total.kept:
            raise no_rows_error(total.rows)
        self.n_rows, self.n_dropped = total.rows, total.rows - total.kept
        return cast(S, total.value)

    @property
    def n_partitions(self) -> int | None:
        """The number of partitions on a cluster; None for rows in this process."""
        return self.tables.n_partitions

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """Return the sum of f over the partitions; f takes an iterable of a partition's blocks."""
        return cast(S, self.tables.reduce_partitions(MapPartition(self.design.block, f)))


def no_rows_error(n: int) -> ValueError:
    """Return the error for a fit that drops every row."""
    return ValueError(
        f"Each of the {n:,} rows has a missing value in a column that is needed: no row is left. Fill the gaps, or "
        "leave out the columns that have most of them."
    )


def _fit_factor(factor: Factor, tables: Tables, levels: Mapping[str, Levels]) -> Factor:
    if isinstance(factor, Category) and factor.name in levels and not factor.levels:
        return factor.with_levels(levels[factor.name])
    return factor if isinstance(factor, Numeric) else factor.fit(tables.select(factor.required_columns))


@dataclass(frozen=True)
class CompleteRowLevels:
    """Reduce a chunk to the levels of some columns in the rows without missing values."""

    design: Design
    names: tuple[str, ...]

    def __call__(self, chunk: Chunk) -> ColumnLevels:
        complete = self.design.complete(chunk)
        kept = chunk if complete is None else chunk.rows(complete)
        return count_levels(replace(kept, frame=kept.frame.select(list(self.names))))


@dataclass(frozen=True)
class Composed:
    """Apply `change` to a chunk, then f to the result; picklable, so that it can be sent to workers."""

    change: Callable[[Chunk], Any]
    f: Callable[[Any], Any]

    @property
    def takes_columns(self) -> bool:
        """Whether f does; chunks need not be cut for it then."""
        return takes_columns(self.f)

    def __call__(self, chunk: Chunk) -> Any:
        return self.f(self.change(chunk))


@dataclass(frozen=True)
class CountKept:
    """Apply `change`, which may drop rows, to a chunk, then f to the result; count the rows before and after."""

    change: Callable[[Chunk], Any]
    f: Callable[[Any], Any]

    def __call__(self, chunk: Chunk) -> WithRowCounts:
        kept = self.change(chunk)
        return WithRowCounts(None if len(chunk) and not len(kept) else self.f(kept), len(chunk), len(kept))


@dataclass(frozen=True)
class WithRowCounts:
    """A summary, the number of rows read and the number kept. The value is None if no row was kept."""

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
    """Return a design with one term per feature; by default all columns but target, weight and groups are features."""
    check_policies(missing, unseen)
    known = dict(schema)
    for name, what in ((groups, "column of groups"), (target, "target column"), (weight, "weight column")):
        if name is not None:
            check_columns_known([name], known, what)
    if features is not None:
        check_columns_known(features, known)
    chosen = [name for name in known if name not in (target, weight, groups)] if features is None else list(features)
    check_groups(groups, target, weight)
    if target is not None and target in (weight, *chosen):
        raise ValueError(f"The target {target!r} cannot be a {'weight' if target == weight else 'feature'} too.")
    name, count = Counter(chosen).most_common(1)[0] if chosen else ("", 0)
    if count > 1:
        raise ValueError(f"features names {name!r} {count} times: once is enough.")
    if not chosen:
        raise ValueError("There is no feature column: only the target" + (" and the weight." if weight else "."))
    terms = tuple(Term((factor_of(name, known[name], unseen),)) for name in chosen)
    return Design(terms, target_of(target, known), weight, True, missing, groups=groups)


def check_groups(groups: str | None, target: str | None, weight: str | None) -> None:
    """Raise if the groups are the target or the weight. A feature may also be the groups."""
    for name, what in ((target, "target"), (weight, "weight")):
        if groups is not None and groups == name:
            raise ValueError(f"The column of groups, {groups!r}, is the {what}. Name another column.")


def check_policies(missing: str, unseen: str) -> None:
    """Raise if `missing` or `unseen` is not a known policy."""
    if missing not in MISSING:
        raise ValueError(f"missing must be one of {MISSING}, not {missing!r}.")
    if unseen not in UNSEEN:
        raise ValueError(f"unseen must be one of {UNSEEN}, not {unseen!r}.")


def factor_of(name: str, dtype: nw.dtypes.DType, unseen: str = "error") -> Numeric | Category:
    """Return the factor for a column of a type; raise for types that are neither numbers nor categories."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Numeric(name)
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return Category(name, unseen=unseen)
    if dtype.is_temporal():
        raise date_error(name)
    raise ValueError(f"Column {name!r} is {dtype}, neither numbers nor text. Leave it out, or turn it into numbers.")


def target_of(name: str | None, schema: Mapping[str, nw.dtypes.DType]) -> Target | None:
    """Return the target for a column: numbers, or labels for text, categories and booleans."""
    if name is None:
        return None
    factor = factor_of(name, schema[name])
    labels = isinstance(factor, Category) or schema[name] == nw.Boolean
    return Target(Numeric(name) if schema[name] == nw.Boolean else factor, labels)


def plain_columns(chunk: Chunk, names: Sequence[str]) -> dict[str, Array]:
    """Return the float64 columns of an Arrow table that have no missing values, without copying them.

    Most columns of most files are of this kind.
    """
    table = chunk.frame.to_native()
    if not nw.dependencies.is_pyarrow_table(table):
        return {}
    plain: dict[str, Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.num_chunks == 1 and column.null_count == 0 and str(column.type) == "double" and name in names:
            plain[name] = column.chunk(0).to_numpy()
    return plain
