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
from math import isfinite
from types import MappingProxyType
from typing import Any, TypeVar, cast

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.counts import Counts
from linearly.dataset.design.terms import (
    MAX_COLUMNS,
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
from linearly.dataset.formula.expression import Expression, check_result_finite, columns_of, evaluate
from linearly.dataset.rows.array_checks import as_labels, check_weight_range
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.column_matrix import Codes, ColumnMatrix, takes_columns
from linearly.dataset.rows.frame_columns import numeric_arrays
from linearly.dataset.rows.level_spelling import level_positions, spell_level, text_of
from linearly.dataset.rows.object_columns import date_error
from linearly.dataset.rows.reduce import MapPartition
from linearly.dataset.rows.tables import Chunk, Tables, check_columns_known, missing_in
from linearly.kernels.double_double import Array, DoubleDouble, to_float64

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
    groups: str | tuple[str, ...] | None = None  # the column, or two, of groups for a clustered covariance
    na_values: tuple[str, ...] = ()  # texts that count as missing values
    extended_powers: bool = False  # whether blocks keep raw powers in double-double
    offset: Expression | None = None  # a part of the predictions whose coefficient is 1
    offset_mean: float | None = None  # over the rows of the fit

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the design's columns."""
        return tuple(name for term in self.terms for name in term.names())

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns that the terms read."""
        return tuple(dict.fromkeys(name for term in self.terms for f in term.factors for name in f.required_columns))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The columns that a prediction reads, for the terms and the offset."""
        return tuple(dict.fromkeys((*self.features, *(() if self.offset is None else columns_of(self.offset)))))

    @cached_property
    def required_columns(self) -> tuple[str, ...]:
        """All columns that a fit reads."""
        target = () if self.target is None else self.target.factor.required_columns
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys((*self.inputs, *target, *weight, *group_columns(self.groups))))

    @property
    def categories(self) -> tuple[Category, ...]:
        """The categorical factors, each once."""
        found = {f.name: f for term in self.terms for f in term.factors if isinstance(f, Category)}
        return tuple(found.values())

    @cached_property
    def text_columns(self) -> tuple[str, ...]:
        """The columns whose levels or labels are text."""
        known = {category.name: category.levels for category in self.categories}
        if self.target is not None and self.target.labels and not isinstance(self.target.factor, Counts):
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
        if design.offset is not None and not tables.one_shot:
            n, total = tables.select(design.required_columns).reduce(design._sum_offset)
            design = replace(design, offset_mean=float(total / n) if n else None)
        for term in design.terms:
            if term.width > MAX_COLUMNS:
                raise ValueError(
                    f"The term {term.label} has {term.width} columns, more than the limit of "
                    f"{MAX_COLUMNS}. Leave it out, or group levels."
                )
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
                    f"The target {name!r} contains numbers such as {value!r}, not labels. Choose a model that "
                    'predicts numbers, such as model="linear". For proportions, name the column of trials with '
                    "weight=."
                )
        return replace(self.target, classes=classes)

    def _find_levels(self, tables: Tables, names: Sequence[str]) -> dict[str, Levels]:
        """Return the levels of some columns in the rows that are kept; levels of dropped rows do not count."""
        if not names:
            return {}
        if tables.one_shot:
            raise ValueError(
                f"The levels of {', '.join(map(repr, names))} require a pass over the rows before the fit, but this "
                "stream can be read only once. Write it to a file, and fit the file."
            )
        if self.missing == "error":
            return find_levels(tables.select(names))

        def complete_row_levels(chunk: Chunk) -> ColumnLevels:
            kept = self._complete_rows(chunk)
            return count_levels(replace(kept, frame=kept.frame.select(list(names))))

        levels = tables.select(self.required_columns).reduce(complete_row_levels).columns
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
            if new and factor.coding != "treatment":
                raise ValueError(
                    f"Column {factor.name!r} has the new level {new[0]!r}, but its coding {factor.coding} depends on "
                    "the number of levels. Fit all rows together."
                )
            text = all(isinstance(level, str) for level in factor.levels)
            return replace(factor, levels=(*factor.levels, *(map(spell_level, new) if text else new)))

        return self._map_factors(add_levels)

    def being_fitted(self) -> Design:
        """Return the design for fitting rows with known levels: a new level is an error for any `unseen`."""
        return self._map_factors(
            lambda factor: replace(factor, fitting=True) if isinstance(factor, Category) else factor
        )

    def _map_factors(self, change: Callable[[Factor], Factor]) -> Design:
        terms = tuple(replace(term, factors=tuple(map(change, term.factors))) for term in self.terms)
        return replace(self, terms=terms)

    def covers(self, other: Design) -> bool:
        """Return whether its terms equal the other design's, apart from levels that only this one has."""

        def alike(own: Factor, its: Factor) -> bool:
            if not isinstance(own, Category) or not isinstance(its, Category):
                return own == its
            return replace(own, levels=its.levels) == its and set(its.levels) <= set(own.levels)

        return (
            self.offset == other.offset
            and len(self.terms) == len(other.terms)
            and all(
                a.full == b.full and len(a.factors) == len(b.factors) and all(map(alike, a.factors, b.factors))
                for a, b in zip(self.terms, other.terms, strict=True)
            )
        )

    def with_labels(self) -> Design:
        """Return the design for a classifier: the target contains labels, whatever its type."""
        if self.target is None or self.target.labels:
            return self
        if not isinstance(self.target.factor, Numeric):
            raise ValueError(
                f"The target {self.target.factor.label!r} is an expression, but a classifier requires a "
                "column. Compute the column first, and name it as the target."
            )
        return replace(self, target=replace(self.target, labels=True))

    def without_target(self) -> Design:
        """Return the design without target, weight and groups, for prediction."""
        return replace(self, target=None, weight=None, groups=None)

    def block(self, chunk: Chunk, as_columns: bool = False) -> Block:
        """Return the numbers of a chunk; rows with missing values raise or are dropped, according to `missing`."""
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
        labels = [text_of(chunk.frame[name]).to_numpy() for name in group_columns(self.groups)]
        group = None if not labels else labels[0] if len(labels) == 1 else np.array(labels, dtype=object).T
        block = Block(X, None, weight, chunk.start, self.names, chunk.place, chunk.kept, unknown, group=group)
        offset = None if self.offset is None else self.offset_values(chunk)
        return self._with_target(replace(block, offset=offset), chunk, plain)

    def block_of_one_row(self, columns: Any) -> Block | None:
        """Return the features of a dict of one row as `block` does, in a fiftieth of the time.

        None for anything but a dict of values, or of lists of one value, that are finite numbers and known levels of
        text, and no other column than the features. `block` handles those and reports what is wrong.
        """
        if type(columns) is not dict or self._single_columns is None or len(columns) != len(self._single_columns):
            return None
        numbers: list[float] = []
        if all(type(value) is list and len(value) == 1 for value in columns.values()):
            columns = {name: value for name, (value,) in columns.items()}
        for name, levels in self._single_columns.items():
            value = columns.get(name)
            if levels is None and type(value) is float and isfinite(value):
                numbers.append(value)
            elif levels is not None and type(value) is str and value in levels:
                numbers.extend(levels[value])
            else:
                return None
        return Block(np.array([numbers]), None, None, 0, self.names)

    @cached_property
    def _single_columns(self) -> dict[str, dict[Level, list[float]] | None] | None:
        """The column of each term and the numbers of its levels; None if a term is computed or a column read twice."""
        found: dict[str, dict[Level, list[float]] | None] = {}
        for term in self.terms:
            factor = term.factors[0]
            if len(term.factors) > 1 or not isinstance(factor, (Numeric, Category)) or factor.name in found:
                return None
            full = bool(term.full and term.full[0])
            found[factor.name] = None
            if isinstance(factor, Category):
                found[factor.name] = dict(zip(factor.levels, factor.coded(full).tolist(), strict=True))
        others = self.offset is not None or self.na_values
        return None if others or set(found) != set(self.without_target().required_columns) else found

    def offset_values(self, chunk: Chunk) -> Array:
        """Return the offset of the rows of a chunk; raise if one is not finite."""
        assert self.offset is not None
        values = evaluate(self.offset, chunk)
        check_result_finite(values, self.offset, chunk)
        return values

    def _with_target(self, block: Block, chunk: Chunk, plain: Mapping[str, Array]) -> Block:
        target = self.target
        if target is None:
            return block
        if isinstance(target.factor, Counts):
            return target.factor.pair(replace(block, target=target.factor.label), chunk)
        y = target.values(chunk, plain)
        if block.offset is not None and not target.labels:  # a regression of y on an offset is one of their difference
            y = y - block.offset
            return replace(block, y=y, offset=None, subtracted=block.offset, target=target.factor.label)
        return replace(block, y=y, target=target.factor.label)

    def _columns(self, chunk: Chunk, plain: Mapping[str, Array]) -> ColumnMatrix:
        columns: list[Array | Codes] = []
        for term, column in zip(self.terms, self._unchanged_columns, strict=True):
            if column is not None and column in plain:
                columns.append(plain[column])
                continue
            codes = term.codes(chunk)
            columns.extend(np.ascontiguousarray(to_float64(term.values(chunk)).T) if codes is None else [codes])
        return ColumnMatrix(columns)

    def _matrix(self, chunk: Chunk, plain: Mapping[str, Array]) -> Array | DoubleDouble:
        X = np.empty((len(chunk), len(self.names)), order="F")
        low: Array | None = None  # low parts of the columns in double-double
        at = 0
        for term, column in zip(self.terms, self._unchanged_columns, strict=True):
            if column is not None and column in plain:
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
    def has_codes(self) -> bool:
        """Whether the columns of a term are codes, a category or an interaction, and no column is double-double."""
        coded = (all(isinstance(factor, Category) for factor in term.factors) for term in self.terms)
        return not self.extended_powers and any(coded)

    @cached_property
    def _unchanged_columns(self) -> tuple[str | None, ...]:
        """The column that each term takes unchanged, or None."""
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

    def _complete_rows(self, chunk: Chunk) -> Chunk:
        complete = self.complete(chunk)
        return chunk if complete is None else chunk.rows(complete)

    def _sum_offset(self, chunk: Chunk) -> Array:
        """Return the number of rows that are kept, and the sum of their offsets."""
        kept = self._complete_rows(chunk) if self.missing == "drop" else chunk
        return np.array([len(kept), self.offset_values(kept).sum()])

    def _raise_missing(self, chunk: Chunk, complete: NDArray[np.bool_]) -> None:
        i = int(np.argmin(complete))
        for name in self.required_columns:
            gaps = missing_in(chunk.frame[name], search=True)
            if gaps is not None and gaps[i]:
                numbers = chunk.frame[name].dtype.is_numeric()  # a column without any value is read as numbers
                if numbers and gaps.all() and len(gaps) > 1 and self.target is not None and name in self.features:
                    # Spreadsheets write such columns; with missing="drop" no row would be left.
                    raise ValueError(
                        f"Column {name!r} is empty from {chunk.where(0)} onwards. Fill in its values, or fit "
                        "without it."
                    )
                raise missing_values_error(name, chunk.where(i))

    def _weights(self, chunk: Chunk) -> Array:
        assert self.weight is not None
        weight = np.ascontiguousarray(Numeric(self.weight).values(chunk, False)[:, 0])
        if (weight < 0).any():
            i = int(np.argmax(weight < 0))
            raise ValueError(
                f"The weight {self.weight!r} is negative in {chunk.where(i)}: {weight[i]}. Make all weights at least 0."
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
        self.one_shot, self.ordered = tables.one_shot, tables.ordered
        if design.target is not None and design.target.labels:
            self.classes = as_labels(design.target.classes)

    def targets(self) -> DesignRows:
        """Return the rows without features, or with them if their missing values decide which rows are dropped."""
        return self if self.design.missing == "drop" else DesignRows(self.tables, replace(self.design, terms=()))

    def __iter__(self) -> Iterator[Block]:
        return map(self.design.block, self.tables)

    def column_blocks(self) -> Iterator[Block]:
        return map(partial(self.design.block, as_columns=self.design.has_codes), self.tables)

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
        f"Each of the {n:,} rows has a missing value in a required column, so no row remains. Fill in the "
        "values, or leave out the columns with the most missing values."
    )


def _fit_factor(factor: Factor, tables: Tables, levels: Mapping[str, Levels]) -> Factor:
    if isinstance(factor, Category) and factor.name in levels and not factor.levels:
        return factor.with_levels(levels[factor.name])
    return factor if isinstance(factor, Numeric) else factor.fit(tables.select(factor.required_columns))


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
        n_kept = getattr(kept, "n_data_rows", len(kept))
        return WithRowCounts(None if len(chunk) and not n_kept else self.f(kept), len(chunk), n_kept)


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
    groups: str | tuple[str, ...] | None = None,
    missing: str = "error",
    unseen: str = "error",
) -> Design:
    """Return a design with one term per feature; by default all columns but target, weight and groups are features."""
    check_policies(missing, unseen)
    known = dict(schema)
    check_columns_known(group_columns(groups), known, "groups column")
    for name, what in ((target, "target column"), (weight, "weight column")):
        if name is not None:
            check_columns_known([name], known, what)
    if features is not None:
        check_columns_known(features, known)
    beside = (target, weight, *group_columns(groups))
    chosen = [name for name in known if name not in beside] if features is None else list(features)
    check_group_columns(groups, target, weight)
    if target is not None and target in (weight, *chosen):
        raise ValueError(
            f"The target {target!r} cannot also be a {'weight' if target == weight else 'feature'}. Leave it out there."
        )
    name, count = Counter(chosen).most_common(1)[0] if chosen else ("", 0)
    if count > 1:
        raise ValueError(f"features= contains the name {name!r} {count} times. Name it once.")
    if not chosen:
        raise ValueError(
            f"The data contain no column besides the target{' and the weight' if weight else ''}. Add a feature column."
        )
    terms = tuple(Term((factor_of(name, known[name], unseen),)) for name in chosen)
    return Design(terms, target_of(target, known), weight, True, missing, groups=groups)


def group_columns(groups: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the columns of groups: none, one or two."""
    return () if groups is None else (groups,) if isinstance(groups, str) else groups


def as_groups(groups: Any) -> str | tuple[str, ...] | None:
    """Return one or two columns of groups as a design has them; raise for anything else."""
    if groups is None or isinstance(groups, str):
        return groups
    names = tuple(groups) if isinstance(groups, (list, tuple)) else ()
    if len(names) == 1 and isinstance(names[0], str):
        return names[0]
    if len(names) != 2 or not all(isinstance(name, str) for name in names) or names[0] == names[1]:
        raise ValueError(f"groups= must be the name of one column or a list of two names, not {groups!r}.")
    return names[0], names[1]


def check_group_columns(groups: str | tuple[str, ...] | None, target: str | None, weight: str | None) -> None:
    """Raise if the groups are the target or the weight. A feature may also be the groups."""
    for name, what in ((target, "target"), (weight, "weight")):
        if name is not None and name in group_columns(groups):
            raise ValueError(f"The groups column {name!r} is also the {what}. Name another column.")


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
    raise ValueError(
        f"Column {name!r} is {dtype}, which is neither numeric nor text. Leave it out, or convert it to numbers."
    )


def target_of(name: str | None, schema: Mapping[str, nw.dtypes.DType]) -> Target | None:
    """Return the target for a column: numbers, or labels for text, categories and booleans."""
    if name is None:
        return None
    factor = factor_of(name, schema[name])
    labels = isinstance(factor, Category) or schema[name] == nw.Boolean
    return Target(Numeric(name) if schema[name] == nw.Boolean else factor, labels)


def plain_columns(chunk: Chunk, names: Sequence[str]) -> dict[str, Array]:
    """Return the contiguous float64 columns of a table that have no missing values, without copying them.

    Most columns of most tables are of this kind. In pandas, NaN is a missing value.
    """
    table = chunk.frame.to_native()
    pandas = nw.dependencies.is_pandas_dataframe(table)
    plain: dict[str, Array] = {}
    for name, values in zip(chunk.frame.columns, numeric_arrays(table), strict=False):
        if values is None or name not in names or values.dtype != np.float64 or not values.flags.c_contiguous:
            continue
        if not (pandas and np.isnan(np.add.reduce(values))):
            plain[name] = values
    return plain
