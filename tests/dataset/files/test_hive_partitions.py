"""Keys: directories called year=2024/region=eu are columns, as pyarrow, polars, DuckDB and Spark have them."""

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import require
from pyarrow import csv, dataset

import linearly as ly
from linearly.dataset.files.tables import file_tables

REGIONS = ["eu", "north america", "a/b=c"]


def table(n: int = 120, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    x, year = rng.normal(size=n), 2020 + rng.integers(0, 3, size=n)
    region = rng.integers(0, 3, size=n)
    y = 1 + 2 * x + 0.5 * (year - 2020) + region + rng.normal(size=n)
    return pa.table({"x": x, "y": y, "year": year, "region": np.array(REGIONS)[region]})


def written(data: pa.Table, folder: Path, keys: list[str]) -> Path:
    """The data as pyarrow partitions them, values percent-encoded in the names."""
    dataset.write_dataset(data, folder, format="parquet", partitioning=keys, partitioning_flavor="hive")
    return folder


def read(source: object, columns: list[str] | None = None) -> pa.Table:
    tables = file_tables(source)
    tables = tables if columns is None else tables.select(columns)
    return pa.concat_tables([chunk.frame.to_native() for chunk in tables], promote_options="permissive")


def test_keys_are_columns_after_those_of_the_files(tmp_path):
    folder = written(table(), tmp_path / "rows", ["year", "region"])
    assert (folder / "year=2021" / "region=north%20america").is_dir()
    back = read(folder)
    assert back.column_names == ["x", "y", "year", "region"]
    assert back.schema.types == [pa.float64(), pa.float64(), pa.int64(), pa.string()]
    order = [("x", "ascending")]
    assert back.sort_by(order).to_pydict() == table().sort_by(order).to_pydict()
    assert file_tables(folder).n_rows == 120


def test_other_libraries_read_the_same(tmp_path):
    folder = written(table(), tmp_path, ["year", "region"])
    ours = read(folder).sort_by("x").to_pydict()
    columns = ["x", "y", "year", "region"]
    arrow = dataset.dataset(folder, partitioning="hive").to_table()
    assert arrow.select(columns).sort_by("x").to_pydict() == ours
    assert pl.read_parquet(folder, hive_partitioning=True).select(columns).sort("x").to_dict(as_series=False) == ours
    try:
        import duckdb
    except ImportError:
        require(False, "needs duckdb")
    relation = duckdb.connect().read_parquet(f"{folder}/**/*.parquet", hive_partitioning=True)
    assert relation.to_arrow_table().select(columns).sort_by("x").to_pydict() == ours


@pytest.mark.parametrize("columns", [["region"], ["year", "x"], ["x"], ["region", "y", "year"]])
def test_only_some_columns(columns, tmp_path):
    folder = written(table(), tmp_path, ["year", "region"])
    some = read(folder, columns)
    assert some.column_names == columns
    assert some.to_pydict() == read(folder).select(columns).to_pydict()


def test_fit_and_predict(tmp_path):
    data = table()
    folder = written(data, tmp_path, ["year", "region"])
    here = ly.fit(data, target="y")
    away = ly.fit(folder, target="y")
    assert away.names == here.names == ("x", "year", "region[eu]", "region[north america]")
    np.testing.assert_allclose(away.estimator.coef_, here.estimator.coef_, rtol=1e-10)
    np.testing.assert_allclose(away.predict(folder), here.predict(read(folder)), rtol=1e-10)
    rows = ly.LinearRegression().fit(ly.scan(folder, target="y"))
    np.testing.assert_allclose(rows.coef_, here.estimator.coef_, rtol=1e-10)
    labels = ly.fit(folder, target="region", model="lda")
    assert labels.classes == tuple(sorted(REGIONS))


def test_the_command_line(tmp_path, capsys):
    pytest.importorskip("click", reason="the command line needs click")
    from linearly.cli.main import main

    folder, model, answers = (str(tmp_path / name) for name in ("rows", "model.json", "answers.csv"))
    written(table(), Path(folder), ["year", "region"])
    assert main(["fit", folder, "--target", "y", "-o", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 120
    assert main(["predict", model, folder, "--keep", "year,region", "-o", answers]) == 0
    told = csv.read_csv(answers)
    assert told["region"].to_pylist() == read(folder)["region"].to_pylist()
    np.testing.assert_allclose(told["prediction"].to_numpy(), ly.load(model).predict(folder), rtol=1e-10)


def test_the_default_partition_is_missing(tmp_path):
    data = pa.table({"x": np.arange(6.0), "y": [0.0, 2, 1, 3, 2, 5], "kind": ["a", None, "b", None, "a", "b"]})
    folder = written(data, tmp_path, ["kind"])
    assert (folder / "kind=__HIVE_DEFAULT_PARTITION__").is_dir()
    assert sorted(map(str, read(folder)["kind"].to_pylist())) == ["None", "None", "a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"Column 'kind' is missing in row 0 of .*kind=__HIVE_DEFAULT_PARTITION__"):
        ly.fit(folder, target="y")
    assert ly.fit(folder, target="y", missing="drop").n_dropped == 2


def parts(folder: Path, **files: pa.Table) -> Path:
    for name, data in files.items():
        path = folder / name.replace("__", "/").replace("_is_", "=")
        path.mkdir(parents=True, exist_ok=True)
        pq.write_table(data, path / "part-0.parquet")
    return folder


ROWS = pa.table({"x": [1.0, 2.0], "y": [3.0, 4.0]})


def test_a_key_with_one_value_that_is_no_number_is_text(tmp_path):
    parts(tmp_path, k_is_01=ROWS, k_is_7=ROWS)
    assert read(tmp_path)["k"].to_pylist() == [1, 1, 7, 7]
    parts(tmp_path, k_is_7b=ROWS)
    assert read(tmp_path)["k"].to_pylist() == ["01", "01", "7", "7", "7b", "7b"]


def test_csv_files_have_keys_too(tmp_path):
    for k, values in enumerate(["1,2", "1.5,3"]):
        os.makedirs(tmp_path / f"k={k}")
        (tmp_path / f"k={k}" / "t.csv").write_text(f"x,y\n{values}\n")
    assert read(tmp_path).to_pydict() == {"x": [1.0, 1.5], "y": [2, 3], "k": [0, 1]}
    assert read(tmp_path, ["k"]).to_pydict() == {"k": [0, 1]}


def test_only_directories_below_the_given_place_are_keys(tmp_path):
    parts(tmp_path, a_is_1__b_is_2=ROWS, a_is_1__b_is_3=ROWS)
    columns = {
        tmp_path: ["x", "y", "a", "b"],
        tmp_path / "a=1": ["x", "y", "b"],
        tmp_path / "a=1" / "b=2": ["x", "y"],
        tmp_path / "a=1" / "b=2" / "part-0.parquet": ["x", "y"],
        f"{tmp_path}/*/b=*/*.parquet": ["x", "y", "a", "b"],
        f"{tmp_path}/a=1/**/*.parquet": ["x", "y", "b"],
        f"file://{tmp_path}": ["x", "y", "a", "b"],
        f"file://{tmp_path}/a=1/*/part-0.parquet": ["x", "y", "b"],
    }
    for source, expected in columns.items():
        assert list(file_tables(source).schema) == expected, source


def test_a_key_that_the_file_holds_too_must_say_the_same(tmp_path):
    same = ROWS.append_column("year", pa.array([2024, 2024], pa.int32()))
    parts(tmp_path / "same", year_is_2024=same, year_is_2025=ROWS)
    assert read(tmp_path / "same")["year"].to_pylist() == [2024, 2024, 2025, 2025]
    other = ROWS.append_column("year", pa.array([2024, 2023]))
    parts(tmp_path / "other", year_is_2024=other)
    with pytest.raises(
        ValueError, match=r"Column 'year' is 2023 in row 1 of .*part-0\.parquet, but the directory is named year=2024"
    ):
        read(tmp_path / "other")
    assert len(read(tmp_path / "other", ["x"])) == 2
    gap = ROWS.append_column("year", pa.array([2024, None]))
    parts(tmp_path / "gap", year_is_2024=gap)
    with pytest.raises(ValueError, match=r"Column 'year' is None in row 1"):
        read(tmp_path / "gap")
    text = ROWS.append_column("year", pa.array(["2024", "x"]))
    parts(tmp_path / "text", year_is_2024=text)
    with pytest.raises(ValueError, match=r"Column 'year' is 'x' in row 1"):
        read(tmp_path / "text")


def test_directories_that_do_not_fit_together_are_named(tmp_path):
    parts(tmp_path / "one", a_is_1=ROWS, b_is_2=ROWS)
    with pytest.raises(ValueError, match=r"a=1/part-0\.parquet is below the keys a, .*b=2/part-0.* below the keys b"):
        file_tables(tmp_path / "one")
    parts(tmp_path / "two", a_is_1=ROWS)
    pq.write_table(ROWS, tmp_path / "two" / "z.parquet")
    with pytest.raises(ValueError, match=r"below the keys a, .*z\.parquet is below no key"):
        file_tables(tmp_path / "two")
    parts(tmp_path / "three", a_is_1__a_is_2=ROWS)
    with pytest.raises(ValueError, match=r"below two directories a=…"):
        file_tables(tmp_path / "three")


@pytest.mark.parametrize("key", ["year=2024", "kind=01"])
def test_levels_that_look_like_numbers_are_text_in_files_with_keys_too(tmp_path, key):
    old = tmp_path / "old.csv"
    old.write_text("level,kind,y\n01,01,1\n02,01,2\n0X,0X,4\n01,0X,1.5\n02,02,2.5\n0X,02,5\n")
    model = ly.fit(old, target="y")
    plain = tmp_path / "plain.csv"
    plain.write_text("level,kind\n01,01\n02,01\n")
    below = tmp_path / "rows" / key / "p.csv"
    below.parent.mkdir(parents=True)
    below.write_text("level\n01\n02\n" if key == "kind=01" else plain.read_text())
    np.testing.assert_array_equal(model.predict(tmp_path / "rows"), model.predict(plain))
    # A file that says its types does not keep the others from being read as text.
    pq.write_table(pa.table({"level": ["01", "02"], "kind": ["01", "01"]}), tmp_path / "typed.parquet")
    np.testing.assert_array_equal(model.predict([plain, tmp_path / "typed.parquet"]), [*model.predict(plain)] * 2)
