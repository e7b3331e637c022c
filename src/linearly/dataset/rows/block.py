"""Rows: blocks of numbers that every fit reduces, wherever they are stored.

The algorithms see only a `Block`, which contains numbers. `Rows` yields blocks in order (`for block in rows`) or
applies a function to each and adds the results (`rows.reduce(f)`). `as_rows` makes `Rows` of arrays, sparse matrices
and data frames without copying the whole.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeGuard, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from linearly.dataset.rows.array_checks import as_numeric_array, beyond_float64, has_inexact_integers
from linearly.dataset.rows.level_spelling import holds_numbers, numbers_of
from linearly.dataset.rows.object_columns import check_object_column, convert_object_column, is_object_column
from linearly.dataset.rows.polynomial import Polynomial
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.kernels.double_double import DoubleDouble
from linearly.kernels.matrices import is_sparse

S = TypeVar("S")
RowLocator = Callable[[int], str]  # row i of some rows in words

ROW: RowLocator = "row {}".format

_PIECES = 16  # minimum number of blocks of large data, so that threads finish together
_PIECES_OF_FEW = 8
_FEWEST = 8192  # rows below which blocks do not become smaller for that


@dataclass(frozen=True, slots=True)
class RowOrigin:
    """Where rows come from, for messages: a file or partition, and the number of its first row there."""

    name: str
    first: int = 0
    unit: str = "row"  # or line, of a text file

    def where(self, i: int) -> str:
        """Return the i-th of these rows in words."""
        return f"{self.unit} {self.first + i} of {self.name}"

    def after(self, rows: int) -> RowOrigin:
        """Return the origin of what follows so many of these rows."""
        return replace(self, first=self.first + rows)


@dataclass(frozen=True, slots=True)
class SelectedOrigin(RowOrigin):
    """The original place of rows that were selected from others."""

    before: RowLocator = ROW  # of the others
    rows: Any = ()  # which of them

    def where(self, i: int) -> str:
        return self.before(int(self.rows[i]))

    def after(self, rows: int) -> SelectedOrigin:
        return replace(self, rows=self.rows[rows:])


class ColumnMatrix:
    """A float64 matrix stored as separate contiguous columns."""

    def __init__(self, columns: Sequence[NDArray[np.float64]]) -> None:
        self.columns = columns
        self.shape = (len(columns[0]), len(columns))

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        """Return some of the rows as an array."""
        part: NDArray[np.float64] = np.array([column[rows] for column in self.columns])
        return part.T


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows: X (n × p numbers), targets, weights, and the index of the first row.

    X is a float64 or float32 array, a CSR matrix, double-double numbers or, for functions that declare
    `takes_columns`, a `ColumnMatrix`. `names`, `place` and `target` (the name of y) are for messages only. If rows
    were left out, `kept` contains the positions of those that remain. `unknown` marks rows of weight 0 with unknown
    levels, whose X is meaningless. `group` contains the cluster labels for a clustered covariance.
    """

    X: Any
    y: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    start: int = 0
    names: tuple[str, ...] = ()
    place: RowOrigin | None = None
    kept: NDArray[np.intp] | None = None
    unknown: NDArray[np.bool_] | None = None
    target: str = "y"
    group: NDArray[Any] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def describe_row(self, i: int) -> str:
        """Return row i of the block in words."""
        return in_words(i, self.start, self.place, self.kept)

    def global_index(self, i: Any) -> Any:
        """Return the index of row i, or of several rows, in the whole data set."""
        return self.start + (i if self.kept is None else self.kept[i])

    def take(self, rows: Any) -> Block:
        """Return some of the rows, by a slice or by their positions in the block."""
        y = None if self.y is None else self.y[rows]
        weight = None if self.weight is None else np.ascontiguousarray(self.weight[rows])
        kept = (np.arange(len(self)) if self.kept is None else self.kept)[rows]
        unknown = None if self.unknown is None else self.unknown[rows]
        group = None if self.group is None else self.group[rows]
        return replace(self, X=self.X[rows], y=y, weight=weight, kept=kept, unknown=unknown, group=group)

    def rows_of_fold(self, K: int, j: int) -> Any:
        """Return the rows of fold j if row i of the whole data set belongs to fold i mod K."""
        if self.kept is None:
            return slice((j - self.start) % K, None, K)
        return np.flatnonzero(self.global_index(slice(None)) % K == j)


def in_words(i: int, start: int, place: RowOrigin | None, kept: NDArray[np.intp] | None) -> str:
    """Return row i of rows that start at an index and an origin, of which some may have been left out, in words."""
    i = i if kept is None else int(kept[i])
    return f"row {start + i}" if place is None else place.where(i)


class Rows(ABC):
    """A data set that can be walked in order or reduced where it is stored."""

    names: tuple[str, ...]
    one_shot: bool = False  # whether the rows can be read only once
    classes: NDArray[Any] | None = None  # the labels that the codes in y stand for; None if y contains no codes

    @abstractmethod
    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks in order; each call is a new pass."""

    @abstractmethod
    def reduce(self, f: Callable[[Block], S]) -> S:
        """Return the sum of f over the blocks, merged in a fixed order."""

    @property
    def n_partitions(self) -> int | None:
        """Return the number of partitions on a cluster; None for rows in this process."""
        return None

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """Return the sum of f over the partitions, each given as its blocks in order."""
        raise TypeError(f"{type(self).__name__} has no partitions.")


class InMemoryRows(Rows):
    """Rows in this process. Block boundaries depend on the shape alone, so results do not depend on threads."""

    def __init__(
        self,
        cut: Callable[[slice], Any],
        shape: tuple[int, int],
        y: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
        names: Iterable[str] | None = None,
        numbers: range | None = None,
        fewest: int = _FEWEST,
    ) -> None:
        self.n, p = shape
        self.y, self.weight = y if y is None or _lies_in_elements(y) else y.copy(), weight
        self._numbers = numbers  # of the rows in the whole data set, where these are some of them
        self.names = tuple(names) if names is not None else default_names(p)
        self._cut = cut
        self._step = min(rows_in_block(p), max(-(-self.n // _PIECES), fewest))

    def __len__(self) -> int:
        return self.n

    def block(self, start: int, stop: int) -> Block:
        """Return rows start … stop − 1."""
        rows = slice(start, stop)
        y = None if self.y is None else self.y[rows]
        weight = None if self.weight is None else self.weight[rows]
        place = None if self._numbers is None else SelectedOrigin("", rows=self._numbers[rows])
        return Block(self._cut(rows), y, weight, start, self.names, place)

    def with_targets(self, y: NDArray[Any] | None, weight: NDArray[np.float64] | None = None) -> InMemoryRows:
        """Return the same features with other targets and weights."""
        return InMemoryRows(self._cut, (self.n, len(self.names)), y, weight, self.names, self._numbers)

    def every_nth(self, step: int) -> InMemoryRows:
        """Return every step-th row, as a view if its numbers are contiguous, else as a copy."""
        X = self._cut(slice(0, self.n, step))
        X = X.copy() if isinstance(X, np.ndarray) and X.strides[1] != X.itemsize else X
        pick = slice(None, None, step)
        y = None if self.y is None else np.ascontiguousarray(self.y[pick])
        weight = None if self.weight is None else np.ascontiguousarray(self.weight[pick])
        numbers = range(0, self.n, step)
        # Subsampled rows are expensive ones: make a few blocks per thread, however few rows there are.
        fewest = -(-len(numbers) // _PIECES_OF_FEW)
        return InMemoryRows(
            lambda rows: X[rows], (len(numbers), len(self.names)), y, weight, self.names, numbers, fewest
        )

    def __iter__(self) -> Iterator[Block]:
        for start in range(0, self.n, self._step):
            yield self.block(start, min(start + self._step, self.n))

    def reduce(self, f: Callable[[Block], S]) -> S:
        starts = range(0, self.n, self._step) or range(1)
        return reduce_blocks((partial(self.block, s, min(s + self._step, self.n)) for s in starts), f)


class SingleBlockRows(Rows):
    """Rows that consist of one block."""

    def __init__(self, block: Block) -> None:
        self.block, self.names = block, block.names

    def __iter__(self) -> Iterator[Block]:
        yield self.block

    def reduce(self, f: Callable[[Block], S]) -> S:
        return f(self.block)


def takes_columns(f: Callable[..., Any]) -> bool:
    """Return whether a function of blocks also accepts a `ColumnMatrix`, which saves tables a copy."""
    return bool(getattr(f, "takes_columns", False))


@lru_cache(maxsize=16)
def default_names(p: int) -> tuple[str, ...]:
    """Return x0, x1, …: the names of columns without names."""
    return tuple(f"x{j}" for j in range(p))


def rows_in_block(p: int) -> int:
    """Return the rows of a block of p columns: about 16 MB, more for a p × p summary, at most 64 MB."""
    p = max(p, 1)
    rows = min(max(2**21 // p, 16 * p), 2**23 // p)
    return max(256, rows // 256 * 256)


def as_rows(
    X: Any,
    y: NDArray[Any] | None = None,
    weight: NDArray[np.float64] | None = None,
    names: Iterable[str] | None = None,
) -> Rows:
    """Return rows of a NumPy array, sparse matrix or pandas, polars or Arrow table, or X itself if it is `Rows`.

    Nothing is copied whole: integers, booleans and data frames become float64 one block at a time.
    """
    if is_rows(X):
        return X
    if isinstance(X, Polynomial):
        return InMemoryRows(X.cut, X.shape, y, weight, X.names if names is None else names)
    if is_frame(X):
        frame = as_frame(X)
        return InMemoryRows(
            _cut_frame(frame), frame.shape, y, weight, names if names is not None else map(str, frame.columns)
        )
    array = as_numeric_array(X)
    if is_sparse(array):
        return InMemoryRows(_cut_sparse(array), array.shape, y, weight, names)
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), not {array.ndim}. Reshape your data.")
    return InMemoryRows(_cut_array(array), array.shape, y, weight, names)


def is_rows(X: Any) -> TypeGuard[Rows]:
    """Return whether X is `Rows` already."""
    return isinstance(X, Rows)


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame that narwhals supports (pandas, polars, Arrow, …)."""
    if isinstance(X, np.ndarray):
        return False
    return bool(nw.dependencies.is_into_dataframe(X))


def as_frame(X: Any) -> nw.DataFrame[Any]:
    """Return a narwhals data frame; raise a ValueError if several columns have one name."""
    try:
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        _ = frame.schema
    except DuplicateError as error:
        names = ", ".join(re.findall(r"'.*' \d+ times", str(error)))
        raise ValueError(f"Several columns have one name: {names}. Rename all but one of them.") from None
    return frame


def names_of(X: Any) -> list[str] | None:
    """Return the column names of a data frame, None for other X; `.columns` of an Arrow table are its values."""
    return as_frame(X).columns if is_frame(X) else None


def check_finite(block: Block) -> None:
    """Raise a ValueError that names the first NaN or infinity of a block by row and column, if there is one."""
    X, first = block.X, 0
    if is_sparse(X):
        first, X = _row_with(X, ~np.isfinite(X.data))
    _refuse(X.high if isinstance(X, DoubleDouble) else X, "X", block, block.names, first)
    if block.y is not None and block.y.dtype.kind == "f":
        y = block.y if block.y.ndim == 2 else block.y[:, None]
        _refuse(y, "y", block, ())
    if block.weight is not None:
        _refuse(block.weight[:, None], "sample_weight", block, ())


def _refuse(cells: NDArray[Any], what: str, block: Block, names: tuple[str, ...], first: int = 0) -> None:
    bad = np.argwhere(~np.isfinite(cells))
    if len(bad) == 0:
        return
    i, j = map(int, bad[0])
    value = "NaN" if np.isnan(cells[i, j]) else "infinity"
    column = f", column {names[j]!r}" if names else (f", column {j}" if cells.shape[1] > 1 else "")
    raise ValueError(
        f"Input {what} contains {value}: {block.describe_row(first + i)}{column}. Drop the row or fill the gap first."
    )


def _row_with(X: Any, bad: NDArray[np.bool_]) -> tuple[int, NDArray[Any]]:
    """Return the number and cells of the first row of a CSR matrix with an entry for which `bad` holds.

    The other rows stay sparse: 4000 rows of 500 000 columns are 15 GiB of cells.
    """
    if not bad.any():
        return 0, np.zeros((0, 0))
    row = int(np.searchsorted(X.indptr, int(np.argmax(bad)), side="right")) - 1
    return row, X[row : row + 1].toarray()


def _cut_array(X: NDArray[Any]) -> Callable[[slice], NDArray[Any]]:
    if X.dtype.isnative and X.dtype in (np.float64, np.float32) and _lies_in_elements(X):
        return lambda rows: X[rows]

    def cut(rows: slice) -> NDArray[Any]:
        part = X[rows]
        check_integer_range(part, _rows_of(rows))
        with np.errstate(over="ignore"):  # a long double that overflows is refused as infinity
            return np.array(part, dtype=np.float64)

    return cut


def _cut_sparse(X: Any) -> Callable[[slice], Any]:
    def cut(rows: slice) -> Any:
        part = X[rows]
        if has_inexact_integers(part.data):
            row, cells = _row_with(part, beyond_float64(part.data))
            check_integer_range(cells, lambda i: _rows_of(rows)(row + i))
        return part if part.dtype.kind == "f" else part.astype(np.float64)

    return cut


def _lies_in_elements(X: NDArray[Any]) -> bool:
    """Return whether strides are multiples of the element size; those of a field of records may not be."""
    return X.flags.aligned and all(stride % X.itemsize == 0 for stride in X.strides)


def _rows_of(rows: slice) -> RowLocator:
    return lambda i: f"row {rows.start + i * (rows.step or 1)}"


def check_integer_range(part: NDArray[Any], where: RowLocator = ROW, name: str | None = None) -> None:
    """Raise a ValueError that names the first integer of an n × p array that float64 cannot hold, if there is one."""
    if not has_inexact_integers(part):
        return
    i, j = map(int, np.argwhere(beyond_float64(part))[0])
    raise integer_refused(where(i), j if name is None else name)


def integer_refused(where: str, column: str | int) -> ValueError:
    """Return the error for an integer that float64 cannot hold."""
    return ValueError(
        f"The integer in {where}, column {column!r} is beyond 2**53 and would lose digits as a float64. "
        "Subtract an offset, convert the column, or leave it out."
    )


def _cut_frame(frame: nw.DataFrame[Any]) -> Callable[[slice], NDArray[Any]]:
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(
                f"Column {name!r} is {dtype}, not numeric. Encode it as numbers, or drop it, before fitting."
            )

    def cut(rows: slice) -> NDArray[Any]:
        part = frame[rows.start : rows.stop]
        if rows.step is not None:  # slices of Arrow tables have no step
            part = part.gather_every(rows.step)
        block = np.empty((len(part), part.shape[1]), order="F")
        for j in range(part.shape[1]):
            block[:, j] = float_column(part[:, j], _rows_of(rows))
        return block

    return cut


def _first_word(column: nw.Series[Any]) -> tuple[int, str] | None:
    """Return the first text of a column that is not a number, beside others that are; None otherwise."""
    if column.dtype != nw.String:
        return None
    found, numbers = None, 0
    for i, text in enumerate(column.to_list()):
        try:
            float(text or "nan")
            numbers += text is not None
        except ValueError:
            found = found or (i, text)
    return found if numbers else None


def float_column(column: nw.Series[Any], where: RowLocator) -> NDArray[np.float64]:
    """Return a numeric or boolean column as float64, missing values as NaN; raise for inexact integers."""
    if is_object_column(column):
        column = convert_object_column(column)
    if column.dtype == nw.Categorical and holds_numbers(column, truths=True):
        column = numbers_of(column)
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        if is_object_column(column):
            check_object_column(column, where)
        if column.null_count() == len(column):  # an empty column has no type
            return np.full(len(column), np.nan)
        word = _first_word(column)
        if word is not None:
            i, text = word
            raise ValueError(
                f"{text!r} in {where(i)}, column {column.name!r}, is not a number. Correct it, or leave it empty if "
                "it is missing."
            )
        raise ValueError(f"Column {column.name!r} is {column.dtype}, not numeric. Give it as numbers.")
    if column.dtype in (nw.Int64, nw.UInt64):
        whole = column.drop_nulls().to_numpy()  # integers with missing values would arrive as rounded floats
        if has_inexact_integers(whole):
            check_integer_range(column.fill_null(0).to_numpy()[:, None], where, column.name)
    if column.dtype in (nw.Int128, nw.UInt128):
        beyond = beyond_float64(column).fill_null(False).to_numpy()
        if beyond.any():
            check_integer_range(np.where(beyond, 2**60, 0)[:, None], where, column.name)
        column = column.cast(nw.Int64)
    if column.dtype == nw.Boolean and column.null_count():
        column = column.cast(nw.Float64)
    with np.errstate(all="ignore"):
        return np.asarray(column.to_numpy(), dtype=np.float64)
