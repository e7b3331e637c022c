"""What a column is does not depend on its box or its container: numbers are numbers, and a level has one spelling."""

import datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import linearly as ly
from linearly.dataset.design.terms import count_levels
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.tables import Chunk

N = 24
Y = [1.0, 2.0, 4.0, 3.0, 5.0, 7.0, 6.0, 9.0, 8.0, 1.5, 2.5, 11.0] * 2


def boxed(values):
    return pd.Series([values[i % len(values)] for i in range(N)], dtype=object)


# --- boxes ----------------------------------------------------------------------------------------

NUMBERS = {
    "decimals": [Decimal("2.25"), Decimal("3.50"), Decimal("-1")],
    "decimals and None": [Decimal("2.25"), None, Decimal("3.50")],
    "a decimal that is NaN": [Decimal("2.25"), Decimal("NaN"), Decimal("3.50")],
    "floats": [1.5, 2.5, 4.0],
    "floats and None": [1.5, None, 4.0],
    "integers and None": [1, None, 5],
    "integers and NA": [1, pd.NA, 5],
    "NumPy numbers": [np.float32(1.5), np.int16(4), None],
    "integers and fractions": [1, 2.5, 7],
    "decimals and integers": [Decimal("1.5"), 2, 7.5],
    "truth values and None": [True, None, False],
    "NumPy truth values": [np.True_, np.False_, None],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_an_object_column_of_numbers_is_a_column_of_numbers(name):
    values = boxed(NUMBERS[name])
    plain = [np.nan if pd.isna(value) else float(value) for value in values]
    model = ly.fit(pd.DataFrame({"x": values, "y": Y}), target="y", missing="drop")
    expected = ly.fit(pd.DataFrame({"x": plain, "y": Y}), target="y", missing="drop")
    assert model.names == ("x",)
    np.testing.assert_array_equal(model.estimator.coef_, expected.estimator.coef_)
    assert model.n_dropped == expected.n_dropped
    np.testing.assert_array_equal(expected.predict(pd.DataFrame({"x": values})), expected.predict({"x": plain}))


def test_a_target_of_decimals_is_a_regression():
    frame = pd.DataFrame({"x": np.arange(N), "rev": pd.Series([Decimal(str(y)) for y in Y], dtype=object)})
    model = ly.fit(frame, target="rev")
    assert model.model == "linear"
    np.testing.assert_array_equal(model.predict(frame), ly.fit({"x": range(N), "rev": Y}, target="rev").predict(frame))


def test_a_target_of_truth_values_and_none_holds_labels():
    frame = pd.DataFrame({"x": np.arange(N) % 5, "up": boxed([True, False, None, False, True])})
    model = ly.fit(frame, target="up", missing="drop", alpha=1.0)
    assert model.classes == (False, True)
    assert model.n_dropped == 5


MIXED = {
    "text, then a number": ([*"ab", 1.5], r"'x' contains text, 'a', in row 0 and a number, 1.5, in row 2"),
    "a number, then text": ([1, "n/a"], r"'x' contains a number, 1, in row 0 and text, 'n/a', in row 1"),
    "a truth value and numbers": ([1.5, True], r"'x' contains a number, 1.5, in row 0 and a boolean, True, in row 1"),
    "dates": ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], r"'x' is a date or time"),
    "lists": ([[1], [2]], r"'x' contains neither numbers nor text: \[1\] in row 0"),
    "a decimal beyond float64": ([Decimal(1), Decimal("1e999")], r"'x' contains Decimal\('1E\+999'\) in row 1"),
    "an integer beyond 2**53": ([1, 2**70], r"'x' contains 1180591620717411303424 in row 1, which exceeds 2\*\*53"),
}


@pytest.mark.parametrize("name", MIXED)
def test_an_object_column_of_several_kinds_is_refused_by_row(name):
    values, told = MIXED[name]
    frame = pd.DataFrame({"x": boxed(values), "z": np.arange(N), "y": Y})
    with pytest.raises(ValueError, match=told):
        ly.fit(frame, target="y")
    with pytest.raises(ValueError, match=told):
        ly.fit(pd.DataFrame({"x": np.arange(N), "y": Y}), target="y").predict(frame)
    assert ly.fit(frame, target="y", features=["z"]).names == ("z",)


def test_a_number_after_a_hundred_texts_is_refused_by_row():
    values = pd.Series([*["a", "b"] * 60, 1.5], dtype=object)
    with pytest.raises(ValueError, match=r"a number, 1\.5, in row 120"):
        ly.fit(pd.DataFrame({"x": values, "y": np.arange(121.0)}), target="y")


def test_object_columns_of_dask_raise_as_levels_and_are_read_as_numbers():
    """A Dask frame does not say what its object columns hold."""
    chunk = Chunk(nw.from_native(pd.DataFrame({"x": boxed([Decimal("1.5"), None])}), eager_only=True))
    with pytest.raises(ValueError, match=r"'x' contains Decimal\('1.5'\) in row 0.*astype\(float\)"):
        count_levels(chunk)
    np.testing.assert_array_equal(float_column(chunk.frame["x"], chunk.where)[:2], [1.5, np.nan])


# --- what auto does not choose --------------------------------------------------------------------


def test_auto_refuses_a_target_of_numbers_that_are_text():
    data = {"x": np.arange(60.0) % 7, "t": [str(i % 30) for i in range(60)]}
    with pytest.raises(ValueError, match=r"target 't' is text, although its numbers are stored as text.*logistic"):
        ly.fit(data, target="t")
    assert len(ly.fit(data, target="t", model="lda", shrinkage=0.5).classes) == 30


def test_auto_refuses_a_target_whose_labels_are_nearly_unique():
    names = [f"person {chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(21)]
    data = {"x": np.arange(41.0) % 7, "who": (names * 2)[:41]}
    with pytest.raises(ValueError, match=r"target 'who' contains 21 different labels in 41 rows.*model=\"logistic\""):
        ly.fit(data, target="who")
    assert len(ly.fit(data, target="who", model="lda", shrinkage=0.5).classes) == 21
    assert len(ly.fit({"x": np.arange(42.0) % 7, "who": names * 2}, target="who", alpha=1.0).classes) == 21


# --- spelling -------------------------------------------------------------------------------------

KINDS = {"bool": [True, False, None], "int": [2, 1, None], "float": [1.0, 2.5, None], "text": ["b", "a", None]}
HEIGHT = [5.0, 0.0, 3.0, 5.5, 0.5, 3.3] * 3


def containers(values, folder: Path):
    """The same categories in every container that can hold them."""
    categories = pd.Categorical(values)
    frame = pd.DataFrame({"g": categories, "y": HEIGHT})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    plain = table.set_column(0, "g", table["g"].cast(table["g"].type.value_type))
    pq.write_table(table, folder / "t.parquet")
    pyarrow.feather.write_feather(table, folder / "t.arrow")
    frame.to_csv(folder / "pandas.csv", index=False)
    pyarrow.csv.write_csv(plain, folder / "arrow.csv")
    polars = pl.from_pandas(frame)
    found = {
        "pandas": frame,
        "pandas, plain": pd.DataFrame({"g": pd.Series(values, dtype=object), "y": HEIGHT}),
        "dict of categories": {"g": categories, "y": HEIGHT},
        "dict of a series": {"g": frame["g"], "y": HEIGHT},
        "dict of a list": {"g": values, "y": HEIGHT},
        "Arrow dictionary": table,
        "Arrow, plain": plain,
        "record batch": table.combine_chunks().to_batches()[0],
        "polars": polars,
        "polars, lazy": polars.lazy(),
        "Parquet": folder / "t.parquet",
        "Feather": folder / "t.arrow",
        "CSV by pandas": folder / "pandas.csv",
        "CSV by Arrow": folder / "arrow.csv",
    }
    try:
        import duckdb
    except ImportError:
        return found
    return found | {"DuckDB": duckdb.connect().from_df(frame)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_one_container_predicts_the_same_from_any_other(kind, tmp_path):
    made = containers(KINDS[kind] * 6, tmp_path)
    models = {name: ly.fit(data, target="y", missing="drop", unseen="reference") for name, data in made.items()}
    for (name, model), (other, data) in product(models.items(), made.items()):
        answers = model.predict(data)
        np.testing.assert_allclose(answers, model.predict(made[name]), rtol=1e-12, err_msg=f"{name} → {other}")
        np.testing.assert_allclose(answers[:2], [5.25, 0.25], rtol=1e-12)
        assert np.isnan(answers[2])
    level = {"bool": "True", "int": "2", "float": "2.5", "text": "b"}[kind]
    assert models["pandas"].names == models["Arrow dictionary"].names == (f"g[{level}]",)


@pytest.mark.parametrize("kind", ["bool", "int"])
def test_levels_that_are_not_text_are_found_in_any_container(kind, tmp_path):
    """C() of a plain column has levels that are numbers or truth values, categories have levels that are text."""
    made = containers(KINDS[kind] * 6, tmp_path)
    model = ly.fit(made["Arrow, plain"], formula="y ~ C(g)", missing="drop", unseen="reference")
    for name, data in made.items():
        np.testing.assert_allclose(model.predict(data)[:2], [5.25, 0.25], rtol=1e-12, err_msg=name)


def test_models_of_earlier_versions_that_spell_levels_as_arrow_does_find_them(tmp_path):
    data = {"a": ["true", "false"] * 2, "b": ["2.0", "1.0", "1.0", "2.0"], "y": [1.0, 2.0, 3.5, 5.0]}
    model = ly.fit(data, target="y")
    model.save(tmp_path / "m.json")
    model = ly.load(tmp_path / "m.json")
    assert [category.levels for category in model.design.categories] == [("false", "true"), ("1.0", "2.0")]
    expected = model.predict({"a": ["true", "false"], "b": ["2.0", "1.0"]})
    frame = pd.DataFrame({"a": pd.Categorical([True, False]), "b": pd.Categorical([2, 1])})
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_array_equal(model.predict(pa.Table.from_pandas(frame)), expected)


def test_texts_that_are_levels_themselves_are_not_respelled():
    data = {"g": ["true", "True", "1", "1.0"] * 2, "y": [1.0, 2.0, 3.0, 4.0] * 2}
    model = ly.fit(data, target="y")
    np.testing.assert_allclose(model.predict(data), data["y"], rtol=1e-12)
    with pytest.raises(ValueError, match="has the level 'TRUE' in row 0"):
        model.predict({"g": ["TRUE"]})


def test_nan_among_levels_is_missing_and_not_the_reference():
    model = ly.fit(pd.DataFrame({"g": pd.Categorical([1, 2] * 4), "y": np.arange(8.0)}), target="y", unseen="reference")
    with pytest.raises(ValueError, match="Column 'g' is missing in row 1"):
        model.predict(pa.table({"g": [1.0, float("nan")]}))


# --- order ----------------------------------------------------------------------------------------

ORDER = ["low", "mid", "never", "high"]
GRADES = ["high", "low", "mid", "low", "high", "mid", "mid", "low"]


def in_order(folder: Path):
    """The same categories with a declared order, in every container that can hold one."""
    declared = pd.Categorical(GRADES, categories=ORDER, ordered=True)
    numbers = {"x": [0.5, 1.0, -1.0, 2.0, 0.0, 1.5, -0.5, 0.3], "y": [1.0, 2.0, 4.0, 3.0, 5.0, 7.0, 6.0, 9.0]}
    table = pa.Table.from_pandas(pd.DataFrame({"g": declared, **numbers}), preserve_index=False)
    polars = pl.DataFrame({"g": pl.Series(GRADES, dtype=pl.Enum(ORDER)), **numbers})
    pq.write_table(table, folder / "arrow.parquet", row_group_size=3)
    polars.write_parquet(folder / "polars.parquet")
    return {
        "pandas, unordered": pd.DataFrame({"g": pd.Categorical(GRADES, categories=ORDER), **numbers}),
        "dict": {"g": pd.Categorical(GRADES, categories=ORDER), **numbers},
        "dict of a polars series": {"g": polars["g"], **numbers},
        "Arrow": table,
        "record batch": table.combine_chunks().to_batches()[0],
        "polars": polars,
        "polars, lazy": polars.lazy(),
        "Parquet": folder / "arrow.parquet",
        "Parquet by polars": folder / "polars.parquet",
    }


def test_the_declared_order_of_categories_is_kept_in_every_container(tmp_path):
    for name, data in in_order(tmp_path).items():
        assert ly.fit(data, target="y").names == ("g[mid]", "g[high]", "x"), name
        assert ly.fit(data, target="g", features=["x"], alpha=1.0).classes == ("low", "mid", "high"), name
