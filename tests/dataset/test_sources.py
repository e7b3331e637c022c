"""What is read is what was meant: markers of missing values, streams, files given twice, new levels in later rows."""

import io
import json
import os
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import linearly as ly
from linearly.dataset.design.design import DesignRows
from linearly.dataset.files.tables import stream_tables

RNG = np.random.default_rng(0)
X = RNG.normal(size=200).round(3)
Y = 2 * X + RNG.normal(size=200)
MARKERS = ("-", "?", ".", "None", "missing", "N/A")


def marked(marker, cells=X):
    return [marker if i % 19 == 0 else str(x) for i, x in enumerate(cells)]


def as_csv(cells, y=Y):
    return ("x,y\n" + "".join(f"{cell},{value}\n" for cell, value in zip(cells, y, strict=True))).encode()


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own: exit code, standard output, standard error."""
    pytest.importorskip("click")
    from linearly.cli.main import main

    monkeypatch.chdir(tmp_path)

    def command(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, " ".join(said.err.split())

    return command


# --- numbers that are text ------------------------------------------------------------------------


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_marker_among_numbers_is_refused_by_name_and_read_as_missing_on_request(make, marker):
    data = make({"x": marked(marker), "y": Y})
    told = rf"Column 'x' is text and would become 184 levels.*na_values=\[\"{'[' + marker[0] + ']'}"
    with pytest.raises(ValueError, match=told):
        ly.fit(data, target="y")
    with pytest.raises(ValueError, match=told):
        ly.scan(data, target="y")
    with pytest.raises(ValueError, match="Column 'x' is missing in row 0"):
        ly.fit(data, target="y", na_values=[marker])
    model = ly.fit(data, target="y", na_values=[marker], missing="drop")
    kept = np.arange(200) % 19 != 0
    expected = ly.fit({"x": X[kept], "y": Y[kept]}, target="y")
    assert model.n_dropped == 11
    np.testing.assert_allclose(model.estimator.coef_, expected.estimator.coef_, rtol=1e-12)
    assert np.isnan(model.predict(data)).tolist() == (~kept).tolist()
    rows = ly.scan(data, target="y", na_values=[marker], missing="drop")
    np.testing.assert_allclose(ly.LinearRegression().fit(rows).coef_, expected.estimator.coef_, rtol=1e-12)


@pytest.mark.parametrize("marker", ["-", "?", ".", "None", "missing"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_marker_in_a_csv_file_is_read_as_missing_on_request(marker, quote, tmp_path):
    data = as_csv([f"{quote}{cell}{quote}" for cell in marked(marker)])
    with pytest.raises(ValueError, match="Column 'x' is text and would become 184 levels"):
        ly.fit(io.BytesIO(data), target="y", missing="drop")
    model = ly.fit(io.BytesIO(data), target="y", missing="drop", na_values=[marker])
    assert (model.names, model.n_dropped) == (("x",), 11)
    model.save(tmp_path / "m.json")
    again = ly.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(io.BytesIO(data)), model.predict(io.BytesIO(data)))


def test_a_marker_that_comes_late_in_a_csv_file_is_read_as_missing_on_request(monkeypatch):
    monkeypatch.setattr("linearly.dataset.files.csv_text.PIECE", 200)
    data = as_csv([*map(str, X[:-1]), "-"])
    with pytest.raises(ValueError, match=r"Line 201 .*, column 'x': '-' is not of .* type.*na_values=\[\"-\"\]"):
        ly.fit(io.BytesIO(data), target="y", missing="drop")
    assert ly.fit(io.BytesIO(data), target="y", missing="drop", na_values=["-"]).n_dropped == 1


def test_a_marker_among_levels_is_missing():
    model = ly.fit({"g": ["a", "b", "?"] * 4, "y": np.arange(12.0)}, target="y", na_values=["?"], missing="drop")
    assert (model.names, model.n_dropped) == (("g[b]",), 4)


def test_few_numbers_beside_a_marker_are_numbers_and_few_beside_a_word_are_levels():
    with pytest.raises(ValueError, match=r"3 of its 4 different values are numbers and '\?' is not"):
        ly.fit({"g": ["1", "2", "3", "?"] * 4, "y": np.arange(16.0)}, target="y")
    assert len(ly.fit({"g": ["1", "2", "3", "K"] * 4, "y": np.arange(16.0)}, target="y").names) == 3


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([f"{1 + i}.{i:03d}.000" for i in range(60)], r"dots between thousands"),
        ([f"{1 + i},{i:03d}" for i in range(60)], r"commas between thousands"),
        ([f"{i}.25" for i in range(60)], r"its numbers are stored as text. Convert it to numbers"),
    ],
    ids=["dots", "commas", "fractions"],
)
def test_numbers_that_are_text_are_refused_and_kept_as_levels_on_request(cells, message):
    data = {"x": cells, "y": np.arange(60.0)}
    with pytest.raises(ValueError, match=f"Column 'x' is text.*{message}"):
        ly.fit(data, target="y")
    assert len(ly.fit(data, formula="y ~ C(x)", alpha=1.0).names) == 59
    assert len(ly.fit(pd.DataFrame(data).astype({"x": "category"}), target="y", alpha=1.0).names) == 59


def test_integers_that_are_text_are_levels():
    assert len(ly.fit({"x": [str(i % 30) for i in range(60)], "y": np.arange(60.0)}, target="y").names) == 29


def test_codes_with_leading_zeros_are_named_where_they_are_read_as_numbers():
    data = "zip,y\n" + "".join(f"{501 + 37 * i:05d},{i % 7}\n" for i in range(60))
    with pytest.warns(UserWarning, match=r"'zip' is read as numbers, but has leading zeros \('00501'\)"):
        model = ly.fit(io.BytesIO(data.encode()), target="y")
    assert model.names == ("zip",)


@pytest.mark.parametrize("na_values", ["-", [1]])
def test_na_values_that_are_no_list_of_texts_are_refused(na_values):
    with pytest.raises(TypeError, match="na_values must be a list of strings"):
        ly.fit({"x": X, "y": Y}, target="y", na_values=na_values)


def test_the_command_line_takes_markers_and_puts_warnings_into_json(run):
    Path("t.csv").write_bytes(as_csv(marked("-")))
    code, out, err = run("fit", "t.csv", "-t", "y", "--json")
    assert (code, out) == (1, "")
    assert "List the markers of missing values: --na=-, leave the column out" in err
    code, out, _ = run("fit", "t.csv", "-t", "y", "--na", "-", "--missing", "drop", "--json", "-o", "m.json")
    assert (code, json.loads(out)["warnings"]) == (0, [])
    code, out, _ = run("predict", "m.json", "t.csv", "--json")
    assert (code, json.loads(out)["prediction"][0]) == (0, None)
    code, out, _ = run("check", "t.csv", "-t", "y", "--json")
    (finding,) = [one for one in json.loads(out)["findings"] if one["about"] == "x"]
    assert "--na=-" in finding["remedy"]
    code, out, _ = run("check", "t.csv", "-t", "y", "--na", "-", "--json")
    assert {row["column"]: row["missing"] for row in json.loads(out)["columns"]} == {"x": 11, "y": 0}
    assert run("compare", "t.csv", "-t", "y", "--na", "-", "--missing", "drop", "--json")[0] == 0


def test_json_has_the_warnings_of_every_command(run):
    rows = "".join(f"{i},{2 * i},{i % 7},{i % 2}\n" for i in range(60))
    Path("t.csv").write_text(f"a,b,y,k\n{rows}")
    code, out, err = run("fit", "t.csv", "-t", "y", "--features", "a,b", "--json", "-o", "m.json")
    (warning,) = json.loads(out)["warnings"]
    assert (code, warning["class"]) == (0, "RankWarning")
    assert warning["text"] in err
    for words in ("show m.json", "evaluate m.json t.csv", "check t.csv", "diff m.json m.json"):
        code, out, _ = run(*words.split(), "--json")
        assert (code, json.loads(out)["warnings"]) == (0, []), words


# --- streams --------------------------------------------------------------------------------------

TABLE = pa.table({"g": ["a", "b", "c", "a"] * 10, "x": np.arange(40.0) % 7, "y": np.arange(40.0) ** 1.1})
EXPECTED = ly.fit(TABLE, target="y").estimator.coef_


def duckdb_relation():
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(TABLE).project("g, x, y")


class Again:
    """Something that gives its rows as an Arrow stream as often as it is asked."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        duckdb_relation,
        lambda: TABLE.to_batches()[0],
        lambda: pa.dataset.dataset(TABLE),
        Again,
        lambda: pl.from_arrow(TABLE).lazy(),
    ],
    ids=["DuckDB", "record batch", "dataset", "stream", "lazy frame"],
)
def test_sources_that_can_be_read_again_are_fitted_with_text_columns(make):
    model = ly.fit(make(), target="y")
    assert model.names == ("g[b]", "g[c]", "x")
    np.testing.assert_allclose(model.estimator.coef_, EXPECTED, rtol=1e-10)


def test_a_stream_that_gives_fewer_rows_the_next_time_is_refused():
    class Shrinking:
        rows = 40

        def __arrow_c_stream__(self, requested_schema=None):
            self.rows -= 10
            return TABLE.slice(0, self.rows).__arrow_c_stream__(requested_schema)

    tables = stream_tables(Shrinking())
    assert tables.reduce(len) == 30
    with pytest.raises(ValueError, match="the Shrinking had 20 rows in one pass and 30 in another"):
        tables.reduce(len)


@pytest.mark.parametrize(
    "kind",
    [
        pa.string_view(),
        pa.large_string(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
        pa.dictionary(pa.int8(), pa.string_view()),
    ],
    ids=str,
)
def test_text_of_every_arrow_type_is_read(kind):
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = TABLE["g"].cast(values)
    if values != kind:
        codes = pa.array([0, 1, 2, 0] * 10, kind.index_type)
        column = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "c"]).cast(values))
    table = TABLE.set_column(0, "g", column)
    for data in (table, table.to_batches()[0], pa.dataset.dataset(table)):
        np.testing.assert_allclose(ly.fit(data, target="y").estimator.coef_, EXPECTED, rtol=1e-10)


def test_a_view_of_bytes_is_refused_as_bytes_are():
    table = TABLE.set_column(0, "g", TABLE["g"].cast(pa.binary_view()))
    with pytest.raises(ValueError, match="Column 'g' is Binary, which is neither numeric nor text"):
        ly.fit(table, target="y")


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["9223372036854775809", "123456789012345678901", "-99999999999999999999"])
@pytest.mark.parametrize("at", [0, 7])
@pytest.mark.parametrize("others", ["{}", "{}.5"])
def test_a_csv_integer_beyond_64_bits_is_refused_as_one_beyond_2_to_the_53_is(cell, at, others):
    cells = [others.format(i) for i in range(10)]
    cells[at] = cell
    with pytest.raises(ValueError, match=rf"integer in line {at + 2} of .*, column 'x' exceeds 2\*\*53"):
        ly.fit(io.BytesIO(as_csv(cells, Y[:10])), target="y")


@pytest.mark.parametrize("cell", ["1e20", "123456789012345678901.5", "100000000000000000000"])
def test_a_csv_number_that_float64_holds_is_no_large_integer(cell):
    cells = [str(i) for i in range(10)]
    cells[3] = cell
    assert ly.fit(io.BytesIO(as_csv(cells, Y[:10])), target="y").names == ("x",)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        Path(name).write_bytes(as_csv(X[:20], Y[:20]))
    return tmp_path


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_that_is_given_twice_is_refused_by_name(folder, link):
    for twice in (["a.csv", "a.csv"], ["*.csv", folder / "b.csv"], [folder, "b.csv"]):
        with pytest.raises(ValueError, match=r"[ab]\.csv is given twice.*its rows would count twice"):
            ly.fit(twice, target="y")
    link("a.csv", "linked.csv")
    for source in (["a.csv", "linked.csv"], "*.csv", folder):
        with pytest.raises(ValueError, match=r"linked\.csv is given twice, also as .*a\.csv"):
            ly.fit(source, target="y")
    with open("a.csv", "rb") as file, pytest.raises(ValueError, match="is given twice"):
        ly.fit([file, file], target="y")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_that_only_a_later_file_has_is_refused_by_name(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    first = pd.DataFrame({"x": X[:20], "y": Y[:20]})
    second = first.assign(z=np.arange(20.0))
    for name, frame in (("1", first), ("2", second)):
        frame.to_csv(f"{name}.csv", index=False) if kind == "csv" else frame.to_parquet(f"{name}.parquet")
    files = [f"{name}.{kind}" for name in "12"]
    with pytest.raises(ValueError, match=rf"Column 'z' is in 2\.{kind}, but not in 1\.{kind}"):
        ly.fit(files, target="y")
    with pytest.raises(ValueError, match=rf"1\.{kind}: The column 'z' does not exist"):
        ly.fit(files[::-1], target="y")
    assert ly.fit(files, target="y", features=["x"]).names == ("x",)


def test_keys_that_are_dates_are_refused_as_columns_of_dates_are(tmp_path):
    for day in ("2024-05-30", "2024-05-31"):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"x": X[:20], "y": Y[:20]}), tmp_path / f"day={day}" / "part.parquet")
    with pytest.raises(ValueError, match="Column 'day' is a date or time"):
        ly.fit(tmp_path, target="y")
    assert ly.fit(tmp_path, target="y", features=["x"]).names == ("x",)
    (tmp_path / "day=2024-05-31").rename(tmp_path / "day=2024-13-31")
    assert ly.fit(tmp_path, target="y", alpha=1.0).names == ("x", "day[2024-13-31]")


# --- new levels -----------------------------------------------------------------------------------


def month(seed, towns, n=60):
    rng = np.random.default_rng(seed)
    town, x = rng.choice(towns, n), rng.normal(size=n)
    y = 1 + 2 * x + np.char.str_len(town) * x + rng.normal(size=n)
    return pd.DataFrame({"town": town, "x": x, "y": y, "buys": np.where(x + rng.normal(size=n) > 0, "yes", "no")})


MONTHS = [month(1, ["Aix", "Cork"]), month(2, ["Aix", "Cork", "Bonn"]), month(3, ["Zug", "Aix", "Cork", "Bonn"])]


@pytest.mark.parametrize("unseen", ["error", "reference"])
def test_a_new_level_in_a_fit_like_another_is_an_error_that_names_it(unseen):
    january = ly.fit(MONTHS[0], target="y", features=["town", "x"], unseen=unseen)
    row = int(np.argmax(MONTHS[1]["town"] == "Bonn"))
    told = rf"'town' has the level 'Bonn' in row {row}.*unseen=\"extend\" to add it"
    with pytest.raises(ValueError, match=told) as refused:
        ly.fit(MONTHS[1], like=january)
    assert "reference" not in str(refused.value)
    february = ly.fit(MONTHS[1], like=january, unseen="extend")
    assert february.design.categories[0].unseen == unseen
    known = ly.fit(MONTHS[1][MONTHS[1]["town"] != "Bonn"], like=january)
    assert known.design.terms == january.design.terms


def test_unseen_reference_beside_like_and_extend_without_it_are_refused():
    january = ly.fit(MONTHS[0], target="y", features=["town", "x"])
    with pytest.raises(ValueError, match='Leave unseen= out, or choose unseen="extend"'):
        ly.fit(MONTHS[1], like=january, unseen="reference")
    with pytest.raises(ValueError, match='unseen="extend" needs an existing model to add levels to'):
        ly.fit(MONTHS[1], target="y", features=["town", "x"], unseen="extend")


SUMS = {
    "linear": ("y", {}),
    "qr": ("y", {"method": "qr"}),
    "extended": ("y", {"method": "extended"}),
    "ridge": ("y", {"alphas": [0.1, 1.0]}),
    "lda": ("buys", {"shrinkage": 0.1}),
    "qda": ("buys", {"shrinkage": 0.1}),
    "least-squares": ("buys", {}),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("saved", [False, True])
def test_models_whose_levels_were_extended_add_to_the_model_of_all_rows(name, saved, tmp_path):
    target, params = SUMS[name]
    model = "linear" if name in ("qr", "extended") else name
    models = [ly.fit(MONTHS[0], formula=f"{target} ~ town * x", model=model, **params)]
    for rows in MONTHS[1:]:
        models.append(ly.fit(rows, like=models[-1], unseen="extend"))
    if saved:
        for k, each in enumerate(models):
            each.save(tmp_path / f"{k}.json")
        models = [ly.load(tmp_path / f"{k}.json") for k in range(3)]
    everything = pd.concat(MONTHS, ignore_index=True)
    whole = ly.fit(everything, formula=f"{target} ~ town * x", model=model, **params)
    for total in (reduce(add, models), reduce(add, models[::-1]), models[1] + models[2] + models[0]):
        assert total.names == models[2].names
        assert sorted(total.names) == sorted(whole.names)
        if target == "y":
            np.testing.assert_allclose(total.predict(everything), whole.predict(everything), rtol=1e-9, atol=1e-9)
        else:
            expected, found = (
                model.estimator.decision_function(
                    DesignRows(model._new_tables(everything), model.design.without_target())
                )
                for model in (whole, total)
            )
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_the_older_rows_can_be_removed_from_a_sum_with_new_levels():
    january = ly.fit(MONTHS[0], target="y", features=["town", "x"])
    february = ly.fit(MONTHS[1], like=january, unseen="extend")
    rest = (january + february) - january
    np.testing.assert_allclose(rest.estimator.coef_, february.estimator.coef_, rtol=1e-9)


def test_models_with_levels_of_their_own_each_are_refused_with_the_remedy():
    january = ly.fit(MONTHS[0], target="y", features=["town", "x"])
    february = ly.fit(MONTHS[1], like=january, unseen="extend")
    other = ly.fit(MONTHS[0].replace({"town": {"Cork": "Ulm"}}), target="y", features=["town", "x"])
    with pytest.raises(ValueError, match='like=model, …\\), with unseen="extend" if the data have new levels'):
        february + other


def test_the_command_line_extends_and_merges(run):
    for k, rows in enumerate(MONTHS[:2]):
        rows.drop(columns="buys").to_csv(f"{k}.csv", index=False)
    assert run("fit", "0.csv", "-t", "y", "--unseen", "reference", "-o", "0.json")[0] == 0
    code, _, err = run("fit", "1.csv", "--like", "0.json")
    assert code == 1
    assert "has the level 'Bonn'" in err
    assert "fit with --unseen extend to add it" in err
    assert run("fit", "1.csv", "--like", "0.json", "--unseen", "extend", "-o", "1.json")[0] == 0
    assert run("merge", "0.json", "1.json", "-o", "both.json")[0] == 0
    assert ly.load("both.json").names == ("town[Cork]", "town[Bonn]", "x")
