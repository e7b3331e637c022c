"""Columns of data frames are read as arrays, without a copy where their layout allows it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linearly as ly
from linearly.dataset.rows.block import as_rows
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.dataset.rows.frame_columns import as_matrix, numeric_arrays, strided_matrix

rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 4))
y = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=5000)
NAMES = ["a", "b", "c", "d"]


def frames() -> dict[str, object]:
    columns = {name: X[:, j].copy() for j, name in enumerate(NAMES)}
    table = pa.table(columns)
    return {
        "one block": pd.DataFrame(X, columns=NAMES),
        "a block per column": pd.DataFrame(columns),
        "pandas on Arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame(columns),
        "arrow": table,
        "arrow in chunks": pa.concat_tables([table.slice(0, 1234), table.slice(1234)]),
    }


@pytest.mark.parametrize("kind", frames())
def test_numeric_frame_gives_the_coefficients_of_its_array(kind: str) -> None:
    expected = ly.LinearRegression().fit(X, y)
    model = ly.LinearRegression().fit(frames()[kind], y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-13)
    np.testing.assert_allclose(model.predict(frames()[kind]), expected.predict(X), rtol=1e-12)


@pytest.mark.parametrize("kind", ["a block per column", "pandas on Arrow", "polars", "arrow"])
def test_columns_of_float64_share_the_memory_of_the_frame(kind: str) -> None:
    frame = frames()[kind]
    first, again = numeric_arrays(frame), numeric_arrays(frame)
    for one, two in zip(first, again, strict=True):
        assert one is not None
        assert two is not None
        assert np.shares_memory(one, two)


def test_frame_made_from_an_array_is_that_array() -> None:
    matrix = as_matrix(pd.DataFrame(X, copy=False))
    assert matrix is not None
    assert np.shares_memory(matrix, X)


def test_strided_matrix_of_the_columns_of_an_array_has_its_numbers_and_memory() -> None:
    for array in (X, np.asfortranarray(X), X.astype(np.float32)):
        matrix = strided_matrix([array[:, j] for j in range(4)])
        assert matrix is not None
        assert np.shares_memory(matrix, array)
        np.testing.assert_array_equal(matrix, array)


def test_strided_matrix_of_columns_in_another_order_or_type_is_none() -> None:
    assert strided_matrix([X[:, 1], X[:, 0]]) is None
    assert strided_matrix([X[:, 0], X[:, 1], X[:, 3]]) is None
    assert strided_matrix([X[:, 0], X[:, 1].astype(np.float32)]) is None
    assert strided_matrix([X[:, 0], None]) is None


@pytest.mark.parametrize("kind", ["pandas on Arrow", "polars", "arrow"])
def test_columns_of_separate_memory_are_no_matrix(kind: str) -> None:
    # Any two lie at one distance.
    assert strided_matrix(numeric_arrays(frames()[kind])[:2]) is None


def test_mixed_columns_are_read_by_column_and_converted() -> None:
    frame = pd.DataFrame(
        {
            "whole": np.arange(5000, dtype=np.int32),
            "short": X[:, 1].astype(np.float32),
            "truth": X[:, 2] > 0,
            "nullable": pd.array([None, *range(4999)], dtype="Int64"),
        }
    )
    seen = []

    def keep(block):  # type: ignore[no-untyped-def]
        seen.append(block.X)
        return len(block)

    keep.takes_columns = True  # type: ignore[attr-defined]
    as_rows(frame).reduce(keep)
    assert isinstance(seen[0], ColumnMatrix)
    expected = np.column_stack([np.asarray(frame[name], dtype=np.float64) for name in frame])
    np.testing.assert_array_equal(seen[0][:], expected[: seen[0].shape[0]])
    block = next(iter(as_rows(frame)))
    np.testing.assert_array_equal(block.X, expected[: len(block)])


def test_integer_beyond_float64_is_refused_by_row_and_column() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "id": np.full(5000, 2**53 + 1)})
    with pytest.raises(ValueError, match="row 0, column 'id' exceeds 2"):
        ly.LinearRegression().fit(frame, y)


def test_nan_of_a_frame_is_refused_by_row_and_column() -> None:
    frame = frames()["a block per column"]
    assert isinstance(frame, pd.DataFrame)
    frame.loc[7, "c"] = np.nan
    with pytest.raises(ValueError, match="NaN: row 7, column 'c'"):
        ly.LinearRegression().fit(frame, y)


def test_columns_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="Several columns have the name"):
        ly.LinearRegression().fit(pd.DataFrame(X, columns=["a", "b", "b", "c"]), y)
    with pytest.raises(ValueError, match="Several columns have the name"):
        ly.LinearRegression().fit(pa.table([X[:, 0].copy(), X[:, 1].copy()], names=["a", "a"]), y)
