"""Columns to numbers: kinds, levels learnt over all rows, missing values, new levels."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linearly as ly
from linearly.dataset.design.design import Design, DesignRows, design_of
from linearly.dataset.design.terms import MAX_LEVELS, Category, Levels, Numeric, Term
from linearly.dataset.rows import tables as tables_module
from linearly.dataset.rows.tables import FrameTables


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 60
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "rooms": rng.integers(1, 6, n),
            "garden": rng.random(n) < 0.4,
            "town": rng.choice(["Aix", "Bonn", "Cork"], n),
            "w": rng.uniform(0.5, 2, n),
            "price": rng.normal(10, 2, n),
        }
    )


def design(frame, **options) -> tuple[FrameTables, Design]:
    tables = FrameTables(frame)
    return tables, design_of(tables.schema, **options).fit(tables)


def frames(frame):
    arrow = pa.Table.from_pandas(frame)
    town = pl.Series("town", frame["town"])
    return {
        "pandas": frame,
        "pandas categorical": frame.astype({"town": "category"}),
        "polars": pl.from_pandas(frame),
        "polars categorical": pl.from_pandas(frame).with_columns(town.cast(pl.Categorical)),
        "arrow": arrow,
        "arrow dictionary": arrow.set_column(3, "town", arrow["town"].dictionary_encode()),
    }


def test_every_kind_of_frame_gives_the_same_numbers(frame):
    expected = np.column_stack(
        [
            frame["size"],
            frame["rooms"],
            frame["garden"],
            frame["town"] == "Bonn",
            frame["town"] == "Cork",
        ]
    ).astype(float)
    for kind, data in frames(frame).items():
        tables, found = design(data, target="price", weight="w")
        assert found.names == ("size", "rooms", "garden", "town[Bonn]", "town[Cork]"), kind
        (block,) = DesignRows(tables, found)
        np.testing.assert_array_equal(block.X, expected, err_msg=kind)
        np.testing.assert_array_equal(block.y, frame["price"])
        np.testing.assert_array_equal(block.weight, frame["w"])


def test_levels_are_learnt_over_all_rows_not_the_first_chunk(frame, monkeypatch):
    frame = frame.sort_values("town", ignore_index=True)  # the first chunk has one town only
    whole = ly.LinearRegression().fit(DesignRows(*design(frame, target="price")))
    monkeypatch.setattr(tables_module, "_ROWS", 7)
    tables, found = design(frame, target="price")
    rows = DesignRows(tables, found)
    assert len(list(rows)) == 9
    cut = ly.LinearRegression().fit(rows)
    np.testing.assert_allclose(cut.coef_, whole.coef_, rtol=1e-12)
    assert cut.feature_names_in_.tolist() == list(found.names)


def test_declared_order_of_levels_sets_the_reference(frame):
    town = pl.Series("town", frame["town"]).cast(pl.Enum(["Cork", "Bonn", "Aix", "Nowhere"]))
    _, found = design(pl.from_pandas(frame).with_columns(town), target="price")
    assert [name for name in found.names if "town" in name] == ["town[Bonn]", "town[Aix]"]


@pytest.mark.parametrize(
    ("column", "coded"),
    [
        (pd.Categorical(["high", "mid", "low"] * 2, categories=["low", "mid", "never", "high"]), ["mid", "high"]),
        (pd.Categorical(["high", "mid", "low"] * 2), ["low", "mid"]),  # pandas declares them sorted
        (pd.Categorical([11, 9, 10] * 2), ["10", "11"]),
        (pd.Categorical([11, 9, 10] * 2, categories=[11, 10, 9], ordered=True), ["10", "9"]),
        (pd.Categorical(pd.to_datetime(["2021-01-01", "2020-01-01"] * 3)), ["2021-01-01 00:00:00"]),
        (pa.array(["c", "a", "b"] * 2).dictionary_encode(), ["b", "c"]),
        (pa.array([11, 9, 10] * 2).dictionary_encode(), ["10", "11"]),
        (pl.Series(["c", "a", "b"] * 2).cast(pl.Categorical), ["b", "c"]),
    ],
)
def test_categories_come_in_their_declared_order_else_sorted(column, coded, monkeypatch):
    make = pd.DataFrame if isinstance(column, pd.Categorical) else pa.table
    make = pl.DataFrame if isinstance(column, pl.Series) else make
    table = make({"g": column})
    for rows in (2, 100):  # levels are learnt over all chunks
        monkeypatch.setattr(tables_module, "_ROWS", rows)
        assert Category("g").fit(FrameTables(table)).names(False) == tuple(f"g[{level}]" for level in coded)


def test_chunks_that_declare_different_orders_are_sorted_whichever_comes_first():
    low, high = Levels(frozenset(["9", "10"]), ("9", "10"), True), Levels(frozenset(["11"]), ("11", "10", "9"), True)
    for found in (low + high, high + low, (low + high) + low, low + (low + high), low + Levels(frozenset()) + high):
        assert found.ordered("g") == ("9", "10", "11")
    assert (high + Levels(frozenset()) + high).declared == high.declared


def test_whole_numbers_keep_their_text_beside_a_gap():
    gap = FrameTables(pd.DataFrame({"g": pd.Categorical([9, 10, None])}))
    assert Category("g").fit(gap).levels == ("9", "10")


def test_reference_can_be_named_and_must_exist(frame):
    tables = FrameTables(frame)
    chosen = Category("town", reference="Bonn").fit(tables)
    assert chosen.names(False) == ("town[Aix]", "town[Cork]")
    with pytest.raises(ValueError, match=r"'town' has no level 'Rome'\. Choose one .*: 'Aix', 'Bonn', 'Cork'"):
        Category("town", reference="Rome").fit(tables)


def test_interaction_of_categories_has_all_products_the_first_fastest(frame):
    tables = FrameTables(frame.assign(kind=np.where(frame["rooms"] > 2, "big", "small")))
    term = Term((Category("town").fit(tables), Category("kind").fit(tables)), (True, False))
    assert term.names() == ("town[Aix]:kind[small]", "town[Bonn]:kind[small]", "town[Cork]:kind[small]")
    (chunk,) = tables
    small = (frame["rooms"] <= 2).to_numpy()
    np.testing.assert_array_equal(term.values(chunk)[:, 1], (frame["town"] == "Bonn").to_numpy() & small)


def test_unseen_level_names_column_level_row_and_known_levels(frame):
    model = ly.fit(frame, target="price", features=["size", "town"])
    new = pd.DataFrame({"size": [1.0, 2.0], "town": ["Bonn", "Rome"]})
    with pytest.raises(ValueError, match=r"'town' has the level 'Rome' in row 1, .* 'Aix', 'Bonn', 'Cork'"):
        model.predict(new)
    lenient = ly.fit(frame, target="price", features=["size", "town"], unseen="reference")
    as_reference = lenient.predict(new.assign(town=["Bonn", "Aix"]))
    np.testing.assert_array_equal(lenient.predict(new), as_reference)


@pytest.mark.parametrize("column", ["size", "town", "garden", "price", "w"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_missing_values_are_named_or_dropped(frame, column, kind):
    frame = frame.astype({"garden": "boolean"})
    frame.loc[[17, 40], column] = None
    data = frames(frame)[kind]
    with pytest.raises(ValueError, match=rf"Column '{column}' is missing in row 17\b.*missing=\"drop\""):
        ly.fit(data, target="price", weight="w")
    model = ly.fit(data, target="price", weight="w", missing="drop")
    assert model.n_dropped == 2
    complete = ly.fit(frame.drop([17, 40]).astype({"garden": bool}), target="price", weight="w")
    np.testing.assert_allclose(model.estimator.coef_, complete.estimator.coef_, rtol=1e-12)


def test_nan_among_floats_counts_as_missing():
    data = pl.DataFrame({"x": [1.0, float("nan"), 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.5]})
    with pytest.raises(ValueError, match="NaN: row 1, column 'x'"):
        ly.fit(data, target="y")
    assert ly.fit(data, target="y", missing="drop").n_dropped == 1


def test_prediction_for_a_row_with_a_gap_keeps_its_place(frame):
    model = ly.fit(frame, target="price", features=["size", "town"], missing="drop")
    new = frame.iloc[:5].copy()
    expected = model.predict(new)
    new.loc[3, "size"] = np.nan
    found = model.predict(new)
    assert np.isnan(found[3])
    np.testing.assert_array_equal(np.delete(found, 3), np.delete(expected, 3))


def test_labels_keep_their_type(frame):
    for labels in (["no", "yes"], [0, 1], [False, True], [10, 20]):
        y = np.array(labels)[(frame["size"] + frame["price"] / 4 > 2.5).astype(int)]
        model = ly.fit(frame.assign(price=y), target="price", model="lda", features=["size", "rooms"])
        assert model.classes == tuple(labels)
        assert set(model.predict(frame).tolist()) <= set(labels)
        assert type(model.predict(frame).tolist()[0]) is type(labels[0])


def test_design_of_a_date_column_raises_with_its_name(frame):
    with pytest.raises(ValueError, match=r"'when' is a date or time\. Convert it to numbers"):
        ly.fit(frame.assign(when=pd.Timestamp("2024-01-01")), target="price")


def test_design_of_a_column_with_one_level_has_no_term_for_it(frame):
    assert "size" not in " ".join(design(frame.assign(size="same"), target="price")[1].names)


def test_too_many_levels_are_refused_by_name():
    n = MAX_LEVELS + 1
    data = {"id": [f"c{i}" for i in range(n)], "y": np.arange(n, dtype=float)}
    with pytest.raises(ValueError, match="'id' has more than 2000 levels"):
        ly.fit(data, target="y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "requires exactly one of target= and formula="),
        ({"target": "price", "formula": "price ~ size"}, "requires exactly one of target= and formula="),
        ({"target": "prize"}, r"target column 'prize' does not exist. Did you mean .*'price'.*\?"),
        ({"target": "PRICE"}, "Did you mean 'price'"),
        ({"target": "price", "features": ["siez"]}, "column 'siez' does not exist. Did you mean 'size'"),
        ({"target": "price", "features": ["price"]}, "'price' cannot also be a feature"),
        ({"target": "price", "weight": "v"}, "weight column 'v' does not exist. The columns are size, rooms"),
        ({"target": "price", "missing": "ignore"}, "missing must be one of"),
        ({"target": "price", "unseen": "ignore"}, "unseen must be one of"),
        ({"target": "price", "model": "glm"}, "model must be one of auto, linear"),
        ({"target": "town", "model": "linear"}, "'town' contains labels, but model 'linear' predicts numbers"),
        ({"target": "price", "alfa": 1.0}, "'linear' has no parameter 'alfa'. Choose one of alpha"),
    ],
)
def test_bad_requests_say_what_to_do(frame, options, message):
    with pytest.raises(ValueError, match=message):
        ly.fit(frame, **options)


def test_negative_weight_is_named_by_row(frame):
    frame.loc[5, "w"] = -1.0
    with pytest.raises(ValueError, match="weight 'w' is negative in row 5"):
        ly.fit(frame, target="price", weight="w")


def test_whole_numbers_beyond_float64_are_refused(frame):
    frame["big"] = 2**60 + np.arange(len(frame))
    with pytest.raises(ValueError, match="row 0, column 'big' exceeds 2"):
        ly.fit(frame, target="price")


def test_factor_protocol_reads_only_what_it_needs():
    assert Numeric("a").required_columns == ("a",)
    assert FrameTables({"a": [1], "b": [2]} and pd.DataFrame({"a": [1], "b": [2]})).select(["b"]).schema == {
        "b": nw.Int64()
    }


def test_category_beside_a_column_without_a_name_has_its_own_numbers():
    tables, fitted = design(pd.DataFrame({"": [1.0, 2.0, 4.0], "g": ["a", "b", "b"]}))
    (block,) = DesignRows(tables, fitted)
    np.testing.assert_array_equal(block.X, [[1, 0], [2, 1], [4, 1]])


@pytest.mark.parametrize("target", ["y", ""])
def test_fit_to_a_column_without_a_name_raises(target):
    columns = {"": [1.0, 2.0, 4.0, 3.0], "g": ["a", "b", "b", "a"], "y": [1.0, 3.0, 2.0, 5.0]}
    with pytest.raises(ValueError, match=r"A column of the data has no name\. Rename it, or leave it out\."):
        ly.fit(columns, target=target)
