"""Bad features in data frames of pandas, polars and Arrow, and clean rows in such frames."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hostile import EMPTY, HOLED, INF, LARGE, NAN, NAN0, NAN1, NO_ARRAY, SHAPE, Bad, N, X, changed, holding, inf, nan

_TEXT = [f"v{i}" for i in range(N)]
COLUMN = r"Column 'height' is .*, not numeric\. Encode it as numbers, or drop it"
TWICE = r"Several columns have the name 'a' 2 times\. Rename"
NAMES = r"Feature names are only supported if all input features have string names"
FRAME = pd.DataFrame(X, columns=["age", "height", "income"])


def column(values: Any, kind: Any = None) -> Any:
    """The rows in a frame of pandas with another height."""
    return FRAME.assign(height=pd.array(values, dtype=kind) if kind else values)


def polars(values: Any) -> Any:
    """The rows in a frame of polars with another height."""
    return pl.DataFrame({"age": X[:, 0], "height": values, "income": X[:, 2]}, strict=False)


def arrow(values: Any) -> Any:
    """The rows in an Arrow table with another height."""
    return pa.table({"age": X[:, 0], "height": values, "income": X[:, 2]})


FRAMES: dict[str, Bad] = {
    "pandas NaN": Bad(lambda: column(changed(X[:, 1], 3, nan)), NAN),
    "pandas infinity": Bad(lambda: column(changed(X[:, 1], 3, inf)), INF),
    "pandas Float64 NA": Bad(lambda: column([None, *X[1:, 1]], kind="Float64"), NAN0),
    "pandas Int64 NA": Bad(lambda: column([1, 1, 1, None] * (N // 4), kind="Int64"), NAN),
    "pandas boolean NA": Bad(lambda: column([True, None] * (N // 2), kind="boolean"), NAN1),
    "pandas strings": Bad(lambda: column(_TEXT, kind="string"), COLUMN),
    "pandas text numbers": Bad(lambda: column(X[:, 1].astype(str)), COLUMN),
    "pandas categories": Bad(lambda: column(pd.Categorical(_TEXT)), COLUMN),
    "pandas categories of numbers": Bad(lambda: column(pd.Categorical(X[:, 1])), COLUMN),
    "pandas objects": Bad(lambda: column(X[:, 1].astype(object)), COLUMN),
    "pandas None among objects": Bad(lambda: column(changed(X[:, 1], 3, None, object)), COLUMN),
    "pandas dates": Bad(lambda: column(pd.date_range("2020", periods=N)), COLUMN),
    "pandas dates with a zone": Bad(lambda: column(pd.date_range("2020", periods=N, tz="UTC")), COLUMN),
    "pandas durations": Bad(lambda: column(pd.to_timedelta(np.arange(N), unit="D")), COLUMN),
    "pandas periods": Bad(lambda: column(pd.period_range("2020", periods=N, freq="D")), COLUMN),
    "pandas intervals": Bad(lambda: column(pd.interval_range(0, periods=N)), COLUMN),
    "pandas complex": Bad(lambda: column(X[:, 1] + 1j), COLUMN),
    "pandas lists": Bad(lambda: column([[1.0]] * N), COLUMN),
    "pandas decimals": Bad(lambda: column([Decimal(1)] * N), COLUMN),
    "pandas bytes": Bad(lambda: column([b"1"] * N), COLUMN),
    "pandas sparse NaN": Bad(lambda: column(pd.arrays.SparseArray(HOLED[:, 1])), COLUMN),
    "pandas large integers": Bad(lambda: column([2**60 + 1] * N), LARGE),
    "pandas large integers and NA": Bad(lambda: column([2**60 + 1, None] * (N // 2), kind="Int64"), LARGE),
    "pandas UInt64": Bad(lambda: column([2**63 + 1] * N, kind="UInt64"), LARGE),
    "pandas names twice": Bad(lambda: pd.DataFrame(X, columns=["a", "b", "a"]), TWICE),
    "pandas mixed names": Bad(lambda: pd.DataFrame(X, columns=["a", 1, "b"]), NAMES),
    "pandas without a name": Bad(lambda: pd.DataFrame(X, columns=["a", None, "b"]), NAMES),
    "pandas without rows": Bad(lambda: FRAME[:0], EMPTY),
    "pandas without columns": Bad(lambda: FRAME[[]], EMPTY),
    "a series": Bad(lambda: FRAME["age"], SHAPE),
    "an index": Bad(lambda: pd.Index(X[:, 0]), SHAPE),
    "NA among objects": Bad(lambda: holding(pd.NA), NAN),
    "NaT among objects": Bad(lambda: holding(pd.NaT), NAN),
    "pandas Arrow null": Bad(lambda: column([1.0, None] * (N // 2), kind="float64[pyarrow]"), NAN1),
    "pandas Arrow integer null": Bad(lambda: column([1, None] * (N // 2), kind="int64[pyarrow]"), NAN1),
    "pandas Arrow lists": Bad(lambda: column([[1.0]] * N, kind=pd.ArrowDtype(pa.list_(pa.float64()))), COLUMN),
    "polars null": Bad(lambda: polars([None, *X[1:, 1]]), NAN0),
    "polars NaN": Bad(lambda: polars(changed(X[:, 1], 3, nan)), NAN),
    "polars infinity": Bad(lambda: polars(changed(X[:, 1], 3, -inf)), INF),
    "polars boolean null": Bad(lambda: polars([True, None] * (N // 2)), NAN1),
    "polars decimal null": Bad(lambda: polars(pl.Series([Decimal(1), None] * 12, dtype=pl.Decimal(10, 2))), NAN1),
    "polars text": Bad(lambda: polars(_TEXT), COLUMN),
    "polars categories": Bad(lambda: polars(pl.Series(_TEXT, dtype=pl.Categorical)), COLUMN),
    "polars enum": Bad(lambda: polars(pl.Series(["a", "b"] * 12, dtype=pl.Enum(["a", "b"]))), COLUMN),
    "polars dates": Bad(lambda: polars([dt.date(2020, 1, 1)] * N), COLUMN),
    "polars times": Bad(lambda: polars([dt.time(1)] * N), COLUMN),
    "polars durations": Bad(lambda: polars([dt.timedelta(1)] * N), COLUMN),
    "polars lists": Bad(lambda: polars([[1.0]] * N), COLUMN),
    "polars arrays": Bad(lambda: polars(pl.Series([[1.0, 2.0]] * N, dtype=pl.Array(pl.Float64, 2))), COLUMN),
    "polars structs": Bad(lambda: polars([{"a": 1}] * N), COLUMN),
    "polars objects": Bad(lambda: polars(pl.Series([object()] * N, dtype=pl.Object)), COLUMN),
    "polars binary": Bad(lambda: polars([b"a"] * N), COLUMN),
    "polars nulls alone": Bad(lambda: polars([None] * N), COLUMN),
    "polars large integers": Bad(lambda: polars([2**60 + 1] * N), LARGE),
    "polars large integers and null": Bad(lambda: polars([2**60 + 1, None] * (N // 2)), LARGE),
    "polars Int128": Bad(lambda: polars(pl.Series([2**100] * N, dtype=pl.Int128)), LARGE),
    "polars without rows": Bad(lambda: polars(X[:, 1])[:0], EMPTY),
    "polars without columns": Bad(pl.DataFrame, EMPTY),
    "a lazy frame": Bad(lambda: polars(X[:, 1]).lazy(), NO_ARRAY + "LazyFrame"),
    "a polars series": Bad(lambda: pl.Series(X[:, 0]), SHAPE),
    "Arrow null": Bad(lambda: arrow(pa.array([None, *X[1:, 1]])), NAN0),
    "Arrow NaN": Bad(lambda: arrow(changed(X[:, 1], 3, nan)), NAN),
    "Arrow boolean null": Bad(lambda: arrow(pa.array([True, None] * (N // 2))), NAN1),
    "Arrow decimal null": Bad(lambda: arrow(pa.array([Decimal("1.5"), None] * (N // 2))), NAN1),
    "Arrow half null": Bad(lambda: arrow(pa.array(np.float16(X[:, 1]), mask=np.arange(N) == 3)), NAN),
    "Arrow text": Bad(lambda: arrow(pa.array(_TEXT)), COLUMN),
    "Arrow text views": Bad(lambda: arrow(pa.array(_TEXT, type=pa.string_view())), COLUMN),
    "Arrow dictionary": Bad(lambda: arrow(pa.array(_TEXT).dictionary_encode()), COLUMN),
    "Arrow lists": Bad(lambda: arrow(pa.array([[1.0]] * N)), COLUMN),
    "Arrow fixed lists": Bad(lambda: arrow(pa.array([[1.0, 2.0]] * N, type=pa.list_(pa.float64(), 2))), COLUMN),
    "Arrow structs": Bad(lambda: arrow(pa.array([{"a": 1.0}] * N)), COLUMN),
    "Arrow maps": Bad(lambda: arrow(pa.array([[("a", 1)]] * N, type=pa.map_(pa.string(), pa.int64()))), COLUMN),
    "Arrow unions": Bad(
        lambda: arrow(pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array(X[:, 1])])), COLUMN
    ),
    "Arrow runs": Bad(lambda: arrow(pa.RunEndEncodedArray.from_arrays([N], [1.0])), COLUMN),
    "Arrow timestamps": Bad(lambda: arrow(pa.array([dt.datetime(2020, 1, 1)] * N)), COLUMN),
    "Arrow dates": Bad(lambda: arrow(pa.array([dt.date(2020, 1, 1)] * N)), COLUMN),
    "Arrow durations": Bad(lambda: arrow(pa.array([dt.timedelta(1)] * N)), COLUMN),
    "Arrow binary": Bad(lambda: arrow(pa.array([b"a"] * N)), COLUMN),
    "Arrow nulls alone": Bad(lambda: arrow(pa.nulls(N)), COLUMN),
    "Arrow wide decimals": Bad(lambda: arrow(pa.array([Decimal(10) ** 60] * N, type=pa.decimal256(70, 0))), COLUMN),
    "Arrow large integers and null": Bad(lambda: arrow(pa.array([2**60 + 1, None] * (N // 2))), LARGE),
    "Arrow names twice": Bad(lambda: pa.table([pa.array(X[:, 0])] * 2, names=["a", "a"]), TWICE),
    "Arrow without rows": Bad(lambda: arrow(X[:, 1])[:0], EMPTY),
    "Arrow without columns": Bad(lambda: pa.table({}), EMPTY),
    "an Arrow array": Bad(lambda: pa.array(X[:, 0]), SHAPE),
}

# The clean rows in data frames.
DISGUISED_FRAMES: dict[str, Callable[[], Any]] = {
    "pandas with an odd index": lambda: pd.DataFrame(X, index=[7] * N),
    "pandas Int32": lambda: pd.DataFrame(X).astype("Int32"),
    "pandas Arrow": lambda: pd.DataFrame(X).astype("float64[pyarrow]"),
    "pandas with levels of names": lambda: pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a"], [1, 2, 3]])),
    "polars decimals": lambda: pl.DataFrame(X, schema=["x0", "x1", "x2"]).cast(pl.Decimal(10, 2)),
    "polars Int128": lambda: pl.DataFrame(X, schema=["x0", "x1", "x2"]).cast(pl.Int128),
    "Arrow in chunks": lambda: pa.concat_tables(
        [pa.table(dict(zip("abc", part.T, strict=True))) for part in (X[:7], X[7:])]
    ),
    "an Arrow batch": lambda: pa.table(dict(zip("abc", X.T, strict=True))).to_batches()[0],
}
