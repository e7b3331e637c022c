"""Codes of text and categorical columns stand for the same values in every container."""

from __future__ import annotations

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from linearly.dataset.rows.level_codes import dictionary_codes

VALUES = ["b", None, "a", "b", "c", None]
COLUMNS = {
    "pandas text": pd.Series(VALUES, dtype="str"),
    "pandas string": pd.Series(VALUES, dtype="string[pyarrow]"),
    "pandas categories": pd.Series(pd.Categorical(VALUES, categories=["unused", "c", "b", "a"])),
    "polars text": pl.Series(VALUES),
    "polars enum": pl.Series(VALUES, dtype=pl.Enum(["unused", "a", "b", "c"])),
    "arrow text": pa.chunked_array([VALUES[:2], VALUES[2:]]),
    "arrow dictionary": pa.chunked_array([pa.array(VALUES).dictionary_encode()]),
    "arrow dictionaries": pa.chunked_array(
        [pa.array(VALUES[:2]).dictionary_encode(), pa.array(VALUES[2:]).dictionary_encode()]
    ),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_codes_stand_for_the_values_and_missing_ones_are_negative(kind: str) -> None:
    found = dictionary_codes(nw.from_native(COLUMNS[kind], series_only=True))
    assert found is not None
    codes, values = found
    assert sorted(values) == ["a", "b", "c"]  # a category without rows is left out
    assert [values[code] if code >= 0 else None for code in codes] == VALUES


def test_categories_of_one_spelling_have_one_code() -> None:
    column = pd.Series(pd.Categorical([1.0, "1", 2.0, "1"], categories=[1.0, "1", 2.0]))
    found = dictionary_codes(nw.from_native(column, series_only=True))
    assert found is not None
    assert np.array(found[1])[found[0]].tolist() == ["1", "1", "2", "1"]


def test_numbers_have_no_codes() -> None:
    assert dictionary_codes(nw.from_native(pd.Series([1.0, 2.0]), series_only=True)) is None
