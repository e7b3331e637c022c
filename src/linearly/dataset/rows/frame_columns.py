"""Read the numeric columns of a data frame as arrays, without a copy if their layout allows it.

Columns of pandas, polars and Arrow without missing values are arrays in memory already. Each is looked up once, not in
every block. If all lie at equal distances, as in a pandas frame that was made from an array, they are one matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

_FEW = 2**20  # numbers that pandas may copy into one array: 8 MB, half a block


def has_unique_names(frame: Any) -> bool:
    """Return whether no two columns of a pandas, polars or Arrow table have one name; False for other tables."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return bool(frame.columns.is_unique)
    if nw.dependencies.is_pyarrow_table(frame):
        return len(set(frame.column_names)) == len(frame.column_names)
    return bool(nw.dependencies.is_polars_dataframe(frame))


def numeric_arrays(frame: Any) -> list[NDArray[Any] | None]:
    """Return the columns of a pandas, polars or Arrow table as arrays of numbers, None for each that is not one.

    No column is copied. Other tables give an empty list.
    """
    if nw.dependencies.is_pandas_dataframe(frame):
        return [_of_pandas(column) for _, column in frame.items()]
    if nw.dependencies.is_polars_dataframe(frame):
        return [_of_polars(column) for column in frame.get_columns()]
    if nw.dependencies.is_pyarrow_table(frame):
        return [_of_arrow(column) for column in frame.itercolumns()]
    return []


def as_matrix(frame: Any) -> NDArray[Any] | None:
    """Return a pandas frame of float64 columns as one array, if it is one already or is small; None otherwise."""
    if not nw.dependencies.is_pandas_dataframe(frame) or frame.size > _FEW:
        return None
    if not all(isinstance(dtype, np.dtype) and dtype == np.float64 for dtype in frame.dtypes.array):
        return None
    matrix = frame.to_numpy()
    return matrix if matrix.dtype == np.float64 else None


def strided_matrix(columns: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Return columns of one array at equal distances as one matrix of floats, which shares its memory; None for others.

    Columns that were allocated one by one are not a matrix, though any two lie at one distance: NumPy crashed with a
    distance of 45 TB, and the matrix would not keep them alive.
    """
    first = columns[0]
    if first is None or first.dtype not in (np.float64, np.float32) or not first.dtype.isnative or not first.size:
        return None
    owner, starts = _owner(first), []
    for column in columns:
        if column is None or column.dtype != first.dtype or column.strides != first.strides:
            return None
        if _owner(column) is not owner:
            return None
        starts.append(column.__array_interface__["data"][0])
    steps = np.diff(starts)
    step = int(steps[0]) if len(steps) else first.itemsize
    if (steps != step).any() or step % first.itemsize or first.strides[0] % first.itemsize or step <= 0:
        return None
    matrix: NDArray[Any] = np.lib.stride_tricks.as_strided(
        first, (len(first), len(columns)), (first.strides[0], step), writeable=False
    )
    return matrix


def _owner(column: NDArray[Any]) -> NDArray[Any]:
    """Return the array that a column is a view of, or the column itself."""
    while isinstance(column.base, np.ndarray):
        column = column.base
    return column


def _is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub" and dtype.itemsize <= 8 and dtype != np.float16


def _of_pandas(column: Any) -> NDArray[Any] | None:
    if _is_number(column.dtype):
        values: NDArray[Any] = column.to_numpy()
        return values
    if type(column.dtype).__name__ == "ArrowDtype":
        return _of_arrow(column.array.__arrow_array__())
    return None


def _of_polars(column: Any) -> NDArray[Any] | None:
    number = column.dtype.is_float() or column.dtype.is_integer()
    if not number or str(column.dtype).endswith("128") or column.n_chunks() != 1 or column.null_count():
        return None
    values: NDArray[Any] = column.to_numpy()
    return values if _is_number(values.dtype) else None


def _of_arrow(column: Any) -> NDArray[Any] | None:
    from pyarrow import types

    number = types.is_floating(column.type) or types.is_integer(column.type)
    if not number or column.num_chunks != 1 or column.null_count:
        return None
    values: NDArray[Any] = column.chunk(0).to_numpy()
    return values if _is_number(values.dtype) else None
