"""Tables: what goes in comes out, in every form."""

import html.parser
import json
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from linearly.table import Summary, Table

COEFFICIENTS = {
    "term": ["Intercept", "age", "copy"],
    "estimate": [66.9152, -0.1721, float("nan")],
    "p_value": [1.9e-7, 0.018727, None],
    "n": [47, 47, 47],
}


@pytest.fixture
def table():
    return Table(COEFFICIENTS, title="Coefficients", notes=["copy repeats age."])


def test_columns_rows_and_length(table):
    assert table.columns == ("term", "estimate", "p_value", "n")
    assert len(table) == 3
    np.testing.assert_array_equal(table["estimate"], [66.9152, -0.1721, np.nan])
    assert table["n"].dtype.kind == "i"
    assert table.row(1) == {"term": "age", "estimate": -0.1721, "p_value": 0.018727, "n": 47}
    assert table.row(-1)["term"] == "copy"
    assert [row["term"] for row in table] == COEFFICIENTS["term"]
    assert all(type(v) in (str, float, int) for row in table for v in row.values())


def test_unknown_column_raises_with_the_known_names(table):
    with pytest.raises(KeyError, match=r"'slope' does not exist. The columns are term, estimate"):
        table["slope"]


def test_table_is_immutable(table):
    with pytest.raises(AttributeError, match="is read-only"):
        table.title = "Other"
    with pytest.raises(ValueError, match="read-only"):
        table["estimate"][0] = 1.0
    mine = np.arange(3.0)
    Table({"x": mine})
    mine[0] = 7.0  # the table's view is read-only, the caller's array is not


@pytest.mark.parametrize("columns", [{"a": [1, 2], "b": [1]}, {"a": np.zeros((2, 2))}, {"a": np.zeros(())}])
def test_columns_of_unequal_length_or_two_dimensions_raise(columns):
    with pytest.raises(ValueError, match="of a table"):
        Table(columns)


def test_pickle_keeps_everything(table):
    again = pickle.loads(pickle.dumps(table))
    assert (str(again), again.columns, again.notes) == (str(table), table.columns, table.notes)


def test_json_is_standard_and_has_null_for_what_is_missing(table):
    def refuse(name):
        raise AssertionError(name)

    read = json.loads(table.to_json(indent=1), parse_constant=refuse)
    assert list(read) == list(table.columns)
    assert read["estimate"] == [66.9152, -0.1721, None]
    assert json.loads(Table({"x": [np.inf, 1e-300]}).to_json())["x"] == [None, 1e-300]
    assert json.loads(Table({"term": ["größe"]}).to_json())["term"] == ["größe"]


def test_frames_hold_the_same_values(table):
    pandas, polars = table.to_pandas(), table.to_polars()
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    for frame in (pandas, polars):
        assert tuple(frame.columns) == table.columns
        assert list(frame["term"]) == COEFFICIENTS["term"]
        np.testing.assert_array_equal(frame["estimate"].to_numpy(), table["estimate"])
    pandas.loc[0, "estimate"] = 0.0
    assert table["estimate"][0] == 66.9152


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_without_the_package_the_error_says_what_to_install(table, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(table, f"to_{package}")()


def test_text(table):
    assert str(table) == repr(table)
    assert str(table).splitlines() == [
        "Coefficients",
        "term       estimate  p_value   n",
        "--------------------------------",
        "Intercept    66.915  1.9e-07  47",
        "age          -0.172   0.0187  47",
        "copy              –        –  47",
        "copy repeats age.",
    ]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 20.0, -3.0], ["1", "20", "-3"]),
        ([0.5, 0.25], ["0.5000", "0.2500"]),
        ([1234.5678, 0.0123], ["1234.5678", "0.0123"]),
        ([1234.5678, 1.23456e-9], ["1235", "1.235e-09"]),
        ([1e12, 2.0], ["1e+12", "2"]),
        ([0.0, 1.5], ["0.000", "1.500"]),
        ([np.nan, np.inf, -np.inf], ["–", "inf", "-inf"]),
        ([1.5, None], ["1.500", "–"]),
        ([True, False], ["True", "False"]),
        (np.float32([0.1, 0.2]), ["0.1000", "0.2000"]),
        ([1.23456789, "qr", None, 3], ["1.235", "qr", "–", "3"]),
    ],
)
def test_numbers_by_column(values, shown):
    lines = str(Table({"value": values})).splitlines()[2:]
    assert [line.strip() for line in lines] == shown


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.0123, "0.0123"),
        (1.0, "1.0000"),
        (2.43e-5, "2.4e-05"),
        (1e-17, "< 1e-16"),
        (0.0, "< 1e-16"),
        (np.nan, "–"),
    ],
)
def test_p_value_columns_show_bounds_and_other_columns_do_not(p, shown):
    for name in ("p_value", "f_p_value"):
        assert str(Table({name: [p]})).splitlines()[-1].strip() == shown
    assert "<" not in str(Table({"slope": [1e-17]}))


def test_text_aligns_wide_and_combining_characters():
    text = str(Table({"term": ["日本", "e\u0301te\u0301", "line\nbreak"], "estimate": [1.25, -2.5, 3.5]}))
    assert text.splitlines()[2:] == [
        "日本           1.250",
        "e\u0301te\u0301           -2.500",
        "line break     3.500",
    ]


def test_a_single_wide_row_stands_upright():
    wide = Table({f"quantity_number_{i}": [float(i)] for i in range(10)})
    assert str(wide).splitlines()[3] == "quantity_number_3  3"
    assert len(str(wide).splitlines()) == 10
    assert "thead" not in wide._repr_html_()


def test_wide_tables_go_on_below_beside_their_first_column():
    wide = Table({"term": ["a", "b"], **{f"quantity_number_{i}": [i, i] for i in range(10)}})
    lines = str(wide).splitlines()
    assert max(map(len, lines)) <= 100
    assert sum(line.startswith("term") for line in lines) == 2
    assert all(str(wide).count(f"quantity_number_{i}") == 1 for i in range(10))
    assert wide._repr_html_().count("<table>") == 1


def test_long_tables_show_both_ends():
    lines = str(Table({"row": np.arange(1000)})).splitlines()
    assert (lines[2].strip(), lines[-2].strip(), lines[-1]) == ("0", "999", "1000 rows, 25 shown")
    assert "..." in lines[22]
    assert len(lines) == 2 + 25 + 1 + 1
    assert len(str(Table({"row": np.arange(40)})).splitlines()) == 42


def test_empty_table_prints_nothing():
    assert str(Table({})) == ""
    assert len(Table({})) == 0
    assert str(Table({"estimate": []})).splitlines() == ["estimate", "--------"]


class Page(html.parser.HTMLParser):
    """Collects tags and text; complains about a tag closed out of turn."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_has_caption_and_scoped_headers(table):
    page = Page(table._repr_html_())
    scopes = [attrs.get("scope") for tag, attrs in page.tags if tag == "th"]
    assert scopes == ["col"] * 4 + ["row"] * 3
    assert ("caption", {}) in page.tags
    assert page.texts[:2] == ["Coefficients", "term"]
    assert page.texts[-1] == "copy repeats age."


def test_html_is_escaped():
    hostile = "<script>alert('x')</script>"
    shown = Summary(hostile, (Table({hostile: [hostile]}, title=hostile, notes=[hostile]),), (hostile,))
    page = Page(shown._repr_html_())
    assert "script" not in [tag for tag, _ in page.tags]
    assert page.texts.count(hostile) == 6


def test_summary(table):
    summary = Summary("Least squares\n47 rows", (table, Table({"n": [47]})), ("A note.",))
    assert str(summary) == f"Least squares\n47 rows\n=============\n\n{table}\n\n n\n--\n47\n\nA note."
    assert repr(summary) == str(summary)
    assert Page(summary._repr_html_()).texts[:2] == ["Least squares", "47 rows"]
    assert str(Summary("Only a title")) == "Only a title\n============"
