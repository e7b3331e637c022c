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
from linearly.dataset.rows.column_matrix import ColumnMatrix, takes_columns
from linearly.dataset.rows.frame_columns import as_matrix, has_unique_names, numeric_arrays, strided_matrix
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
DENSE = 8  # sparse rows with at least 1 / DENSE of their entries are multiplied as dense ones
_ADDITIONS = 8  # products of a sparse block for each number of its p × p summary
_CELLS_OF_FEWEST = 2**19  # numbers below which they do not, if they are read many times


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


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows: X (n × p numbers), targets, weights, and the index of the first row.

    X is a float64 or float32 array, a CSR matrix, double-double numbers or, for functions that declare
    `takes_columns`, a `ColumnMatrix`. `names`, `place` and `target` (the name of y) are for messages only. If rows
    were left out, `kept` contains the positions of those that remain. `unknown` marks rows with weight 0 with unknown
    levels, whose X is meaningless. `group` contains the cluster labels for a clustered covariance. `offset` is added
    to the predictions, with a coefficient of 1; `subtracted` is one that was taken from y instead. In a `paired` block
    each row of the data is two rows: its successes and its failures, with their numbers as weights.
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
    offset: NDArray[np.float64] | None = None
    subtracted: NDArray[np.float64] | None = None
    paired: bool = False

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_data_rows(self) -> int:
        """The number of rows of the data that the block was made of."""
        return len(self) // 2 if self.paired else len(self)

    def describe_row(self, i: int) -> str:
        """Return row i of the block in words."""
        return in_words(i, self.start, self.place, self.kept)

    def global_index(self, i: Any) -> Any:
        """Return the index of row i, or of several rows, in the whole data set."""
        return self.start + (i if self.kept is None else self.kept[i])

    def take(self, rows: Any) -> Block:
        """Return some of the rows, by a slice or by their positions in the block."""
        names = ("y", "unknown", "group", "offset", "subtracted")
        others = {name: values[rows] for name in names if (values := getattr(self, name)) is not None}
        weight = None if self.weight is None else np.ascontiguousarray(self.weight[rows])
        kept = (np.arange(len(self)) if self.kept is None else self.kept)[rows]
        return replace(self, X=self.X[rows], weight=weight, kept=kept, paired=False, **others)


def in_words(i: int, start: int, place: RowOrigin | None, kept: NDArray[np.intp] | None) -> str:
    """Return row i of rows that start at an index and an origin, of which some may have been left out, in words."""
    i = i if kept is None else int(kept[i])
    return f"row {start + i}" if place is None else place.where(i)


class Rows(ABC):
    """A data set that can be walked in order or reduced where it is stored."""

    names: tuple[str, ...]
    one_shot: bool = False  # whether the rows can be read only once
    ordered: bool = True  # whether the order of the rows is that of the data
    classes: NDArray[Any] | None = None  # the labels that the codes in y stand for; None if y contains no codes

    @abstractmethod
    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks in order; each call is a new pass."""

    @abstractmethod
    def reduce(self, f: Callable[[Block], S]) -> S:
        """Return the sum of f over the blocks, merged in a fixed order."""

    def column_blocks(self) -> Iterator[Block]:
        """Yield the blocks in order, their X as a `ColumnMatrix` if that saves work."""
        return iter(self)

    @property
    def n_partitions(self) -> int | None:
        """Return the number of partitions on a cluster; None for rows in this process."""
        return None

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """Return the sum of f over the partitions, each given as its blocks in order."""
        raise TypeError(f"{type(self).__name__} has no partitions. Pass rows on a Dask or Spark cluster.")


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
        cut_columns: Callable[[slice], Any] | None = None,
        sparse_step: int = 0,
    ) -> None:
        self.n, p = shape
        self.y, self.weight = y if y is None or _lies_in_elements(y) else y.copy(), weight
        self._numbers = numbers  # of the rows in the whole data set, where these are some of them
        self.names = tuple(names) if names is not None else default_names(p)
        self._cut, self._cut_columns = cut, cut_columns or cut  # the second for functions that take columns
        self._step = min(rows_in_block(p), max(-(-self.n // _PIECES), fewest))
        self._sparse_step = max(self._step, sparse_step)  # for functions that keep sparse blocks sparse

    def __len__(self) -> int:
        return self.n

    def block(self, start: int, stop: int, as_columns: bool = False) -> Block:
        """Return rows start … stop − 1."""
        rows = slice(start, stop)
        y = None if self.y is None else self.y[rows]
        weight = None if self.weight is None else self.weight[rows]
        place = None if self._numbers is None else SelectedOrigin("", rows=self._numbers[rows])
        X = (self._cut_columns if as_columns else self._cut)(rows)
        return Block(X, y, weight, start, self.names, place)

    def for_many_passes(self, y: NDArray[Any], max_cells: int) -> InMemoryRows:
        """Return the rows with other targets, prepared for an iterative fit.

        Blocks are small enough for all threads. If X is not stored as float64 row by row and has at most `max_cells`
        numbers, it is copied so: a pass then takes half the time.
        """
        cut, columns, p = self._cut, self._cut_columns, max(len(self.names), 1)
        if 0 < self.n * p <= max_cells:
            X = cut(slice(0, self.n))
            if isinstance(X, np.ndarray) and not (X.dtype == np.float64 and X.flags.c_contiguous):
                copy = np.ascontiguousarray(X, dtype=np.float64)
                cut = columns = copy.__getitem__
        fewest = min(_FEWEST, max(_CELLS_OF_FEWEST // p, 256))
        return InMemoryRows(cut, (self.n, len(self.names)), y, self.weight, self.names, self._numbers, fewest, columns)

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
        step = self._sparse_step if getattr(f, "takes_sparse", False) else self._step
        starts = range(0, self.n, step) or range(1)
        block = partial(self.block, as_columns=takes_columns(f))
        return reduce_blocks((partial(block, s, min(s + step, self.n)) for s in starts), f)


class SingleBlockRows(Rows):
    """Rows that consist of one block."""

    def __init__(self, block: Block) -> None:
        self.block, self.names = block, block.names

    def __iter__(self) -> Iterator[Block]:
        yield self.block

    def reduce(self, f: Callable[[Block], S]) -> S:
        return f(self.block)


def row_weights(block: Block) -> NDArray[np.float64]:
    """Return the weights of a block's rows, 1 if it has none."""
    return np.ones(len(block)) if block.weight is None else block.weight


@lru_cache(maxsize=16)
def default_names(p: int) -> tuple[str, ...]:
    """Return x0, x1, …: the names of columns without names."""
    return tuple(f"x{j}" for j in range(p))


def rows_in_block(p: int) -> int:
    """Return the rows of a block of p columns: about 16 MB, more for a p × p summary, at most 64 MB."""
    p = max(p, 1)
    rows = min(max(2**21 // p, 16 * p), 2**23 // p)
    return max(256, rows // 256 * 256)


def rows_in_sparse_block(X: Any) -> int:
    """Return the rows of a CSR matrix whose products take several times as long as to add two p × p matrices."""
    n, p = X.shape
    entries = X.nnz / max(n, 1)
    if entries * DENSE >= p:
        return 0  # multiplied as dense rows
    blocks = max(int(n * (entries**2 / 2 + entries) / (_ADDITIONS * max(p, 1) ** 2)), 1)
    return int(-(-n // blocks))


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
        return _frame_rows(X, y, weight, names)
    array = as_numeric_array(X)
    if is_sparse(array):
        step = rows_in_sparse_block(array)
        return InMemoryRows(_cut_sparse(array), array.shape, y, weight, names, sparse_step=step)
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
    return nw.dependencies.is_pandas_dataframe(X) or bool(nw.dependencies.is_into_dataframe(X))


def as_frame(X: Any) -> nw.DataFrame[Any]:
    """Return a narwhals data frame; raise a ValueError if several columns have one name."""
    try:
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        if not has_unique_names(X):
            _ = frame.schema
    except DuplicateError as error:
        names = ", ".join(re.findall(r"'.*' \d+ times", str(error)))
        raise ValueError(f"Several columns have the name {names}. Rename all but one of them.") from None
    return frame


def frame_names(X: Any) -> list[Any]:
    """Return the column names of a data frame; raise a ValueError if several columns have one name."""
    if nw.dependencies.is_pandas_dataframe(X) and X.columns.is_unique:
        return list(X.columns.tolist())  # `as_frame` takes as long as a small fit
    return as_frame(X).columns


def names_of(X: Any) -> list[Any] | None:
    """Return the column names of a data frame, None for other X; `.columns` of an Arrow table are its values."""
    return frame_names(X) if is_frame(X) else None


def check_finite(block: Block) -> None:
    """Raise a ValueError that names the first NaN or infinity of a block by row and column, if there is one."""
    X, first = block.X, 0
    if isinstance(X, ColumnMatrix):
        finite = all(np.isfinite(column).all() for column in X.numbers)
        X = np.zeros((0, 0)) if finite else X[:]
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
        f"Input {what} contains {value}: {block.describe_row(first + i)}{column}. Drop the row or fill in the value "
        "first."
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
    """Raise a ValueError for the first integer of an n × p array that float64 cannot represent."""
    if not has_inexact_integers(part):
        return
    i, j = map(int, np.argwhere(beyond_float64(part))[0])
    raise integer_refused(where(i), j if name is None else name)


def integer_refused(where: str, column: str | int) -> ValueError:
    """Return the error for an integer that float64 cannot represent."""
    return ValueError(
        f"The integer in {where}, column {column!r} exceeds 2**53 and would lose digits in float64. Subtract an "
        "offset, convert the column, or leave it out."
    )


def _frame_rows(
    X: Any, y: NDArray[Any] | None, weight: NDArray[np.float64] | None, names: Iterable[str] | None
) -> InMemoryRows:
    """Return rows of a data frame: of an array that shares its memory if there is one, else of its columns."""
    names = list(map(str, frame_names(X))) if names is None else names
    matrix = as_matrix(X)
    if matrix is None:
        frame = as_frame(X)
        columns = numeric_arrays(X) or [None] * frame.shape[1]
        matrix = strided_matrix(columns) if columns else None
    if matrix is not None:
        return InMemoryRows(_cut_array(matrix), matrix.shape, y, weight, names)
    cut = _FrameCutter(frame, columns)
    return InMemoryRows(cut.matrix, frame.shape, y, weight, names, cut_columns=cut.columns)


class _FrameCutter:
    """Cut blocks of float64 from a frame; `arrays` has the columns that are arrays of numbers."""

    def __init__(self, frame: nw.DataFrame[Any], arrays: Sequence[NDArray[Any] | None]) -> None:
        self.frame, self.arrays = frame, arrays
        self.others = [name for name, array in zip(frame.columns, arrays, strict=True) if array is None]
        for name in self.others:
            dtype = frame.schema[name]
            if not (dtype.is_numeric() or dtype == nw.Boolean):
                raise ValueError(
                    f"Column {name!r} is {dtype}, not numeric. Encode it as numbers, or drop it, before fitting."
                )

    def columns(self, rows: slice) -> ColumnMatrix:
        """Return some rows as contiguous columns; those of float64 share the memory of the frame."""
        return ColumnMatrix([np.ascontiguousarray(column, dtype=np.float64) for column in self._parts(rows)])

    def matrix(self, rows: slice) -> NDArray[np.float64]:
        """Return some rows as one matrix."""
        block = np.empty((len(range(*rows.indices(len(self.frame)))), len(self.arrays)), order="F")
        for j, column in enumerate(self._parts(rows)):
            block[:, j] = column
        return block

    def _parts(self, rows: slice) -> Iterator[NDArray[Any]]:
        part = self.frame[rows.start : rows.stop] if self.others else self.frame
        if self.others and rows.step is not None:  # slices of Arrow tables have no step
            part = part.gather_every(rows.step)
        for j, array in enumerate(self.arrays):
            if array is None:
                yield float_column(part[:, j], _rows_of(rows))
                continue
            if has_inexact_integers(array[rows]):
                check_integer_range(array[rows][:, None], _rows_of(rows), self.frame.columns[j])
            yield array[rows]


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
        kind = "text" if column.dtype == nw.String else column.dtype
        raise ValueError(f"Column {column.name!r} is {kind}, not numeric. Convert it to numbers.")
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
