"""Files: the same rows from every format, in as many passes as promised, in memory that does not grow with the rows.

That every estimator fits them as it fits arrays is shown in test_every_source.py.
"""

import gc
import gzip
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clusters import fitted
from conftest import require
from pyarrow import csv, feather, ipc

import linearly as ly
from linearly.dataset.design.design import DesignRows, design_of
from linearly.dataset.files import csv_text as text
from linearly.dataset.files.locations import locations_of
from linearly.dataset.files.tables import FileTables, file_tables, stream_tables
from linearly.dataset.files.writers import write_tables
from linearly.dataset.rows.block import RowOrigin
from linearly.dataset.rows.tables import Chunk, FrameTables

N, P = 2000, 4


def table(n: int = N, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, P))
    score = X @ np.arange(1.0, P + 1) + rng.standard_normal(n)
    columns = {f"f{j}": X[:, j] for j in range(P)}
    kind = np.where(score > 1, "hi", "lo")
    return pa.table({**columns, "y": score, "label": (score > 0).astype(np.int64), "kind": kind})


FEATURES = [f"f{j}" for j in range(P)]


def parquet(data: pa.Table, folder: Path) -> Path:
    pq.write_table(data, folder / "t.parquet", row_group_size=300)
    return folder / "t.parquet"


def parquet_directory(data: pa.Table, folder: Path) -> Path:
    inner = folder / "parts" / "deep"
    inner.mkdir(parents=True)
    half = len(data) // 2
    pq.write_table(data.slice(0, half), folder / "parts" / "a.parquet", row_group_size=200)
    pq.write_table(data.slice(half), inner / "b.parquet")
    (folder / "parts" / "_SUCCESS").touch()
    (folder / "parts" / "README.md").write_text("not a table")
    return folder / "parts"


def plain_csv(data: pa.Table, folder: Path) -> Path:
    csv.write_csv(data, folder / "t.csv")
    return folder / "t.csv"


def gzipped_csv(data: pa.Table, folder: Path) -> Path:
    (folder / "t.csv.gz").write_bytes(gzip.compress(plain_csv(data, folder).read_bytes()))
    return folder / "t.csv.gz"


def zstd_csv(data: pa.Table, folder: Path) -> Path:
    with pa.output_stream(folder / "t.csv.zst", compression="zstd") as stream:
        csv.write_csv(data, stream)
    return folder / "t.csv.zst"


def arrow_file(data: pa.Table, folder: Path) -> Path:
    feather.write_feather(data, folder / "t.arrow", chunksize=700)
    return folder / "t.arrow"


def arrow_stream(data: pa.Table, folder: Path) -> Path:
    with ipc.new_stream(folder / "t.arrows", data.schema) as writer:
        writer.write_table(data, max_chunksize=500)
    return folder / "t.arrows"


def without_suffix(data: pa.Table, folder: Path) -> Path:
    return parquet(data, folder).rename(folder / "table")


KINDS = [parquet, parquet_directory, plain_csv, gzipped_csv, zstd_csv, arrow_file, arrow_stream, without_suffix]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(text, "PIECE", 2**13)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def stored(request, tmp_path):
    return request.param(table(), tmp_path)


def matrix(data: pa.Table) -> np.ndarray:
    return np.column_stack([data[name].to_numpy() for name in FEATURES])


# --- the same fit ---------------------------------------------------------------------------------


def test_least_squares_is_the_fit_in_memory(stored):
    data = table()
    model = ly.LinearRegression().fit(ly.scan(stored, target="y", features=FEATURES))
    expected = ly.LinearRegression().fit(matrix(data), data["y"].to_numpy())
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-9)
    assert tuple(model.feature_names_in_) == tuple(FEATURES)
    assert model.n_passes_ == 1


def test_same_bits_on_one_thread_and_two(stored, monkeypatch):
    rows = ly.scan(stored, target="y", features=FEATURES)
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "2")
    two = ly.LinearRegression().fit(rows)
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "1")
    one = ly.LinearRegression().fit(rows)
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.intercept_ == two.intercept_


@pytest.mark.parametrize("estimator", [ly.Perceptron, ly.AveragedPerceptron, ly.VotedPerceptron])
def test_the_log_of_mistakes_does_not_fill_the_memory(estimator, tmp_path, monkeypatch):
    data = table()
    path = parquet(data, tmp_path)

    def model():
        return estimator(max_passes=2, shuffle=False)

    in_full = fitted(model(), ly.scan(path, target="kind", features=FEATURES))
    monkeypatch.setattr("linearly.algorithm.perceptron.training._MAX_LOGGED", 100)
    short = fitted(model(), ly.scan(path, target="kind", features=FEATURES))
    X = data.select(FEATURES)
    np.testing.assert_array_equal(short.decision_function(X), in_full.decision_function(X))
    assert short.n_updates_ == in_full.n_updates_ > 100
    assert len(fitted(model(), X, data["kind"].to_numpy()).mistake_log_) == short.n_updates_  # rows in memory
    if estimator is ly.VotedPerceptron:  # which is its log
        assert len(short.mistake_log_) == short.n_updates_
    else:
        assert len(in_full.mistake_log_) == short.n_updates_
        with pytest.raises(AttributeError, match="after more than 100 mistakes on files"):
            _ = short.mistake_log_


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_plain_columns_are_read_beside_other_columns_of_a_file(missing, tmp_path, monkeypatch):
    monkeypatch.setattr("linearly.dataset.files.read_units._FEWEST_ROWS", 64)
    monkeypatch.setattr("linearly.dataset.files.read_units._CELLS", 64)
    data = table().append_column("whole", pa.array(np.arange(N) % 7)).append_column("one", pa.array(np.ones(N)))
    path = parquet(data, tmp_path)
    features = ["whole", "f0", "kind", "one", "f1"]
    rows = ly.scan(path, target="y", features=features, weight="label", missing=missing)
    assert [len(block) for block in rows][:6] == [64, 64, 64, 64, 44, 64]
    with pytest.warns(np.exceptions.RankWarning, match="'one'"):
        fit = ly.LinearRegression().fit(rows)
    blocks = list(rows)
    X, y, w = (np.concatenate([getattr(b, what) for b in blocks]) for what in ("X", "y", "weight"))
    with pytest.warns(np.exceptions.RankWarning):
        same = ly.LinearRegression().fit(X, y, w)
    np.testing.assert_allclose(fit.coef_, same.coef_, rtol=1e-12)
    np.testing.assert_allclose(fit.covariance_, same.covariance_, rtol=1e-11)


def test_pieces_of_a_chunk_keep_the_numbers_of_their_rows():
    chunk = Chunk(FrameTables(pa.table({"a": np.arange(10)})).frame, 5, RowOrigin("t", 2))
    pieces = list(chunk.rows(np.arange(10) % 3 > 0).pieces(4))
    assert [piece.frame["a"].to_list() for piece in pieces] == [[1, 2, 4, 5], [7, 8]]
    assert [piece.where(1) for piece in pieces] == ["row 4 of t", "row 10 of t"]
    assert list(chunk.pieces(10)) == [chunk]


def test_pieces_of_a_text_with_long_rows_have_the_right_line_numbers():
    piece = text.CsvPiece(b'1,"u\n"\n2,v\n\n3,w\n4,x\n', 2)
    chunk = Chunk(FrameTables(pa.table({"a": [1, 2, 3, 4]})).frame, 0, piece.place("t.csv"))
    assert [chunk.where(i) for i in range(4)] == [f"line {k} of t.csv" for k in (2, 4, 6, 7)]
    assert [part.where(0) for part in chunk.pieces(2)] == ["line 2 of t.csv", "line 6 of t.csv"]


def test_a_pass_over_many_csv_files_keeps_none_of_them(tmp_path):
    for k in range(5):
        csv.write_csv(table(50, seed=k), tmp_path / f"{k}.csv")
    rows = ly.scan(tmp_path, target="y", features=FEATURES)
    ly.LinearRegression(covariance="HC1").fit(rows)
    gc.collect()
    assert not [thing for thing in gc.get_objects() if isinstance(thing, text.CsvPiece)]


def test_text_columns_learn_their_levels_over_all_rows(tmp_path):
    pq.write_table(pa.table({"z": ["a"] * 5, "y": np.arange(5.0)}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"z": ["b", "c", "c", "b"], "y": [7.0, 9, 9, 7]}), tmp_path / "2.parquet")
    model = ly.LinearRegression().fit(ly.scan(tmp_path, target="y"))
    assert model.feature_names_in_.tolist() == ["z[b]", "z[c]"]
    np.testing.assert_allclose([model.intercept_, *model.coef_], [2, 5, 7])


@pytest.mark.parametrize(
    "content",
    [
        "größe;ort;y\r\n1,5;a;3\r\n-0,25;b;-1,5\r\n1000;a;2e1\r\n",
        'sep=;\r\ngröße;ort;y\r\n"1,5";a;3\r\n"-,25";b;-1,5\r\n1000;a;20\r\n',
        "größe\tort\ty\n1,50\ta\t3\n-0,25\tb\t-1,5\n1000\ta\t20\n",
        "\ufeffgröße|ort|y\n1.5|a|3\n-.25|b|-1.5\n1e3|a|20",
    ],
    ids=["decimal commas", "separator and quotes", "tabs", "decimal points"],
)
def test_numbers_as_spreadsheets_write_them(content):
    tables = file_tables(io.BytesIO(content.encode()))
    (chunk,) = tables
    assert chunk.frame.to_dict(as_series=False) == {
        "größe": [1.5, -0.25, 1000], "ort": ["a", "b", "a"], "y": [3, -1.5, 20],
    }  # fmt: skip


@pytest.mark.parametrize("cell", ["1,234", "12,345,678", "1.234,5", "1,5 %"])
def test_commas_that_may_stand_between_thousands_are_no_decimal_commas(cell):
    tables = file_tables(io.BytesIO(f"x;y\n{cell};1\n{cell};2\n".encode()))
    assert str(tables.schema["x"]) == "String"


def test_decimal_commas_after_the_first_piece(monkeypatch):
    monkeypatch.setattr(text, "PIECE", 64)
    rows = "".join(f"{i},5;{i}\n" for i in range(100))
    tables = file_tables(io.BytesIO(f"x;y\n{rows}".encode()))
    chunks = list(tables)
    assert len(chunks) > 1
    assert [v for chunk in chunks for v in chunk.frame["x"].to_list()] == [i + 0.5 for i in range(100)]


def test_few_large_row_groups_are_shared_out(tmp_path, monkeypatch):
    from linearly.dataset.files import arrow as columnar

    monkeypatch.setattr(columnar, "_LARGE_GROUP", 100)
    monkeypatch.setattr(columnar, "rows_in_chunk", lambda wanted: 250)
    pq.write_table(table(), tmp_path / "one.parquet")
    units = list(file_tables(tmp_path / "one.parquet")._units())
    assert [unit.rows for unit in units] == [250] * 8
    model = ly.LinearRegression().fit(ly.scan(tmp_path / "one.parquet", target="y", features=FEATURES))
    expected = ly.LinearRegression().fit(matrix(table()), table()["y"].to_numpy())
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)


@pytest.mark.parametrize("kind", [parquet, plain_csv, arrow_file])
def test_rows_with_missing_values_are_dropped(kind, tmp_path):
    data = table()
    x = data["f1"].to_numpy().copy()
    gaps = np.arange(N) % 7 == 3
    column = pa.array(x, mask=gaps)
    data = data.set_column(1, "f1", column)
    rows = ly.scan(kind(data, tmp_path), target="y", features=FEATURES, missing="drop")
    model = ly.LinearRegression().fit(rows)
    expected = ly.LinearRegression().fit(matrix(table())[~gaps], data["y"].to_numpy()[~gaps])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    assert (rows.n_rows, rows.n_dropped) == (N, gaps.sum())


def test_weights_come_from_a_column(tmp_path):
    data = table().append_column("w", pa.array(np.arange(N) % 3, pa.int32()))
    model = ly.LinearRegression().fit(ly.scan(parquet(data, tmp_path), target="y", features=FEATURES, weight="w"))
    weight = (np.arange(N) % 3).astype(float)
    expected = ly.LinearRegression().fit(matrix(data), data["y"].to_numpy(), sample_weight=weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)


# --- chunks ---------------------------------------------------------------------------------------


def test_chunks_tile_the_rows_in_order(stored):
    tables = file_tables(stored).select(["y", "kind"])
    start, seen = 0, []
    for chunk in tables:
        assert chunk.start == start
        assert chunk.frame.columns == ["y", "kind"]
        start += len(chunk)
        seen.append(chunk.frame["y"].to_numpy())
    np.testing.assert_allclose(np.concatenate(seen), table()["y"].to_numpy(), rtol=1e-14)
    assert tables.n_rows in (None, N)
    assert (tables.n_rows is None) == (stored.name.startswith("t.csv") or stored.suffix == ".arrows")


def test_places_name_the_row_of_the_file(tmp_path):
    chunks = list(file_tables(parquet_directory(table(), tmp_path)))
    assert chunks[0].where(0) == f"row 0 of {tmp_path / 'parts' / 'a.parquet'}"
    assert chunks[1].where(5) == f"row 205 of {tmp_path / 'parts' / 'a.parquet'}"
    assert chunks[-1].where(1) == f"row 1 of {tmp_path / 'parts' / 'deep' / 'b.parquet'}"
    assert chunks[-1].start == N // 2


def test_columns_that_are_not_asked_for_are_not_read(tmp_path):
    path = parquet(table(), tmp_path)
    group = pq.read_metadata(path).row_group(2)
    at = next(group.column(j) for j in range(group.num_columns) if group.column(j).path_in_schema == "f3")
    with open(path, "r+b") as file:
        file.seek(at.data_page_offset)
        file.write(b"\xff" * 200)
    ly.LinearRegression().fit(ly.scan(path, target="y", features=["f0", "f1"]))
    with pytest.raises(ValueError, match=r"Rows 600 to 899 of .*t\.parquet cannot be read"):
        ly.LinearRegression().fit(ly.scan(path, target="y", features=["f0", "f3"]))


def test_pandas_row_labels_are_no_feature(tmp_path):
    import pandas as pd

    pd.DataFrame({"x": [1.0, 2, 4], "y": [1.0, 2, 3]}, index=["a", "b", "c"]).to_parquet(tmp_path / "p.parquet")
    assert list(file_tables(tmp_path / "p.parquet").schema) == ["x", "y"]


# --- ways to give files ---------------------------------------------------------------------------


def test_globs_lists_urls_and_open_files(tmp_path):
    data = table()
    paths = [tmp_path / f"{k}.csv" for k in range(3)]
    for k, path in enumerate(paths):
        csv.write_csv(data.slice(k * 600, 600 if k < 2 else N), path)
    expected = ly.LinearRegression().fit(matrix(data), data["y"].to_numpy()).coef_
    with open(parquet(data, tmp_path), "rb") as file:
        sources = [
            str(tmp_path / "*.csv"),
            paths,
            [str(tmp_path / "[01].csv"), paths[2]],
            f"file://{tmp_path}/t.parquet",
            f"file://{tmp_path}/*.csv",
            file,
            io.BytesIO((tmp_path / "t.parquet").read_bytes()),
        ]
        for source in sources:
            model = ly.LinearRegression(covariance="HC1").fit(ly.scan(source, target="y", features=FEATURES))
            np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)
        assert not file.closed


@pytest.mark.parametrize("pattern", ["*.csv", "*/*.csv", "**/*.csv", "**", "d/*", "d/**/?.csv", "[ab].csv", "d/.*/*"])
def test_a_glob_means_the_same_in_a_url(pattern, tmp_path):
    for name in ("a.csv", "bb.csv", ".c.csv", "d/a.csv", "d/e/b.csv", "d/.f/b.csv", "d/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x,y\n1,2\n")
    here = [place.name for place in locations_of(str(tmp_path / pattern))]
    there = [place.name for place in locations_of(f"file://{tmp_path}/{pattern}")]
    assert sorted(there) == sorted(here)


@pytest.mark.parametrize("kind", [plain_csv, gzipped_csv, arrow_stream])
def test_standard_input(kind, tmp_path):
    code = (
        "import linearly as ly; m = ly.LinearRegression().fit(ly.scan('-', target='y', features=['f0', 'f1']));"
        "print(m.method_, m.n_passes_, repr(float(m.coef_[0])))"
    )
    with subprocess.Popen(["cat", kind(table(), tmp_path)], stdout=subprocess.PIPE) as pipe:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=pipe.stdout, capture_output=True, text=True, check=True
        )
    method, passes, coef = done.stdout.split()
    data = table()
    expected = ly.LinearRegression().fit(matrix(data)[:, :2], data["y"].to_numpy()).coef_[0]
    assert (method, passes) == ("qr", "1")
    assert float(coef) == pytest.approx(expected, rel=1e-10)


def test_scan_of_a_missing_or_unsuitable_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The file .*nothing\.csv does not exist"):
        ly.scan(tmp_path / "nothing.csv", target="y")
    with pytest.raises(FileNotFoundError, match=r"No file matches .*\*\.csv"):
        ly.scan(tmp_path / "*.csv", target="y")
    with pytest.raises(FileNotFoundError, match="no Parquet, Arrow or CSV file"):
        ly.scan(tmp_path, target="y")
    with pytest.raises(TypeError, match="binary mode"):
        ly.scan(io.StringIO("x,y\n1,2\n"), target="y")
    with pytest.raises(ValueError, match="list of files is empty"):
        ly.scan([], target="y")


# --- streams --------------------------------------------------------------------------------------


def reader(data: pa.Table) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(data.schema, data.to_batches(max_chunksize=300))


def test_one_shot_stream_takes_the_triangle_at_once():
    data = table()
    rows = ly.scan(reader(data), target="y", features=FEATURES)
    assert rows.one_shot
    model = ly.LinearRegression().fit(rows)
    expected = ly.LinearRegression(method="qr").fit(matrix(data), data["y"].to_numpy())
    assert (model.method_, model.n_passes_) == ("qr", 1)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    with pytest.raises(ValueError, match=r"the RecordBatchReader can be read only once, and has been read.*file"):
        ly.LinearRegression().fit(rows)


def test_one_shot_stream_says_what_takes_another_pass():
    with pytest.raises(ValueError, match=r"levels of 'kind' require a pass.*only once"):
        ly.scan(reader(table()), target="y", features=["f0", "kind"])
    with pytest.raises(ValueError, match="can be read only once, and has been read"):
        ly.LinearRegression(covariance="HC1").fit(ly.scan(reader(table()), target="y", features=FEATURES))
    with pytest.raises(ValueError, match="can be read only once, and has been read"):
        ly.LogisticRegression().fit(ly.scan(reader(table()), target="label", features=FEATURES))


class Pipe(io.RawIOBase):
    def __init__(self, data):
        self.inner = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.inner.readinto(memoryview(buffer)[:1000])


def test_stream_with_text_is_read_once_and_a_second_read_raises():
    model = ly.fit(io.BytesIO(b"kind,y\n1,2\nX,3\n1,2.5\nX,3.5\n"), target="y")
    tables = file_tables(Pipe(b"kind,y\n1,2\n1,3\n"))
    assert tables.one_shot
    np.testing.assert_allclose(model.predict(tables), [2.25, 2.25])
    with pytest.raises(ValueError, match="can be read only once, and has been read"):
        model.predict(tables)


def test_pipes_are_read_once():
    sink = io.BytesIO()
    csv.write_csv(table(), sink)
    rows = ly.scan(Pipe(sink.getvalue()), target="y", features=FEATURES)
    model = ly.LinearRegression().fit(rows)
    expected = ly.LinearRegression().fit(matrix(table()), table()["y"].to_numpy())
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="can be read only once, and has been read"):
        ly.LinearRegression().fit(rows)
    pq.write_table(table(), sink := io.BytesIO())
    with pytest.raises(ValueError, match="Save it to a file first"):
        ly.scan(Pipe(sink.getvalue()), target="y")


def test_polars_lazy_frames_are_collected_at_each_pass(tmp_path):
    data = table()
    rows = ly.scan(pl.scan_parquet(parquet(data, tmp_path)), target="label", features=FEATURES)
    assert not rows.one_shot
    model = ly.LogisticRegression().fit(rows)
    expected = ly.LogisticRegression().fit(matrix(data), data["label"].to_numpy())
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8)


def test_duckdb_relations(tmp_path):
    try:
        import duckdb
    except ImportError:
        require(False, "needs duckdb")
    data = table()
    relation = duckdb.connect().read_parquet(str(parquet(data, tmp_path))).filter("f0 > 0")
    model = ly.LinearRegression().fit(ly.scan(relation, target="y", features=FEATURES))
    keep = data["f0"].to_numpy() > 0
    expected = ly.LinearRegression().fit(matrix(data)[keep], data["y"].to_numpy()[keep])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)


def test_stream_tables_take_anything_with_an_arrow_stream():
    class Arrow:
        def __arrow_c_stream__(self, requested_schema=None):
            return table().__arrow_c_stream__(requested_schema)

    tables = stream_tables(Arrow())
    assert isinstance(tables, FileTables)
    assert not tables.one_shot
    assert tables.reduce(len) == tables.reduce(len) == N


# --- passes and memory ----------------------------------------------------------------------------


class Counting(FileTables):
    """File tables that count the passes over them."""

    passes = 0
    columns: ClassVar[list[list[str]]] = []  # of each pass

    def _units(self):
        Counting.passes += 1
        Counting.columns.append(self.wanted.names)
        return super()._units()

    def select(self, columns):
        chosen = super().select(columns)
        return Counting(chosen.files, chosen.wanted)


PASSES = [
    (ly.LinearRegression(), "y", 1),
    (ly.LinearRegression(covariance="HC1"), "y", 2),
    (ly.RidgeCV(alphas=[0.1, 1.0]), "y", 1),
    *((model, labels, 1) for labels in ("label", "kind") for model in (
        ly.LinearDiscriminantAnalysis(), ly.QuadraticDiscriminantAnalysis(), ly.LeastSquaresClassifier())),
    *((model, labels, None) for labels in ("label", "kind") for model in (
        ly.LogisticRegression(), ly.LogisticRegression(alpha=1.0, solver="lbfgs"),
        ly.LogisticRegression(covariance="HC1"), ly.LogisticRegression(bias_reduction="firth"),
        ly.Perceptron(max_passes=3), ly.AveragedPerceptron(max_passes=2), ly.VotedPerceptron(max_passes=2),
        ly.BatchPerceptron(max_passes=3))),
]  # fmt: skip
# What the card of a perceptron names beside its n_passes_: the training error, and the size of the rows.
BESIDE = {ly.Perceptron: 1, ly.AveragedPerceptron: 1, ly.VotedPerceptron: 1, ly.BatchPerceptron: 2}


@pytest.mark.parametrize(("estimator", "target", "budget"), PASSES, ids=str)
def test_pass_budget(estimator, target, budget, tmp_path):
    tables = Counting(file_tables(parquet(table(), tmp_path)).files)
    design = design_of(tables.schema, target=target, features=FEATURES)
    Counting.passes = 0
    design = design.fit(tables)
    # Whole numbers are found to be labels in the fit itself; the levels of text take a pass over that one column.
    assert Counting.passes == (target == "kind")
    Counting.passes, Counting.columns = 0, []
    fitted(estimator, DesignRows(tables, design))
    beside = BESIDE.get(type(estimator), 0)
    if beside and target == "label":
        assert Counting.columns[0] == ["label"]
        beside += 1
    assert Counting.passes == estimator.n_passes_ + beside
    assert budget in (None, estimator.n_passes_)


_PEAK = """
import sys, linearly as ly
rows = ly.scan(sys.argv[1], target=sys.argv[3])
getattr(ly, sys.argv[2])(**eval(sys.argv[4])).fit(rows)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "target", "options"),
    [
        ("LinearRegression", "y", {}),
        ("LinearDiscriminantAnalysis", "side", {}),
        ("LogisticRegression", "side", {"alpha": 1.0}),
        ("Perceptron", "side", {"max_passes": 2, "shuffle": False}),
    ],
)
def test_memory_does_not_grow_with_the_rows(estimator, target, options, tmp_path):
    require(os.path.exists("/proc/self/status"), "needs /proc")
    rng = np.random.default_rng(0)
    n, p = 200_000, 10
    X = rng.standard_normal((n, p))
    columns = {f"x{j}": X[:, j] for j in range(p)}
    columns[target] = X.sum(axis=1) if target == "y" else (X.sum(axis=1) > 0).astype(np.int32)
    part = pa.table(columns)  # 16 MB: eight of them would show
    peaks = {}
    for parts in (2, 8):
        folder = tmp_path / str(parts)
        folder.mkdir()
        for k in range(parts):
            pq.write_table(part, folder / f"{k}.parquet", row_group_size=50_000)
        command = [sys.executable, "-c", _PEAK, str(folder), estimator, target, repr(options)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[parts] = int(done.stdout) / 1024
    assert peaks[8] - peaks[2] < 40, peaks


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.csv.gz"])
def test_written_tables_are_read_again(name, tmp_path):
    chunks = [
        {"a": np.array([None, None], dtype=object), "b": np.array([1.5, np.nan]), "c": pa.array(["x", None])},
        {"a": np.array(["u", None], dtype=object), "b": np.array([2.5, 3.5]), "c": pa.array([None, "y"])},
        {"a": np.array([None, None], dtype=object), "b": np.array([None, 1.0], dtype=object), "c": pa.array(["", "z"])},
    ]
    assert write_tables(tmp_path / name, iter(chunks)) == 6
    back = pa.concat_tables([chunk.frame.to_native() for chunk in file_tables(tmp_path / name)])
    assert back["a"].to_pylist() == [None, None, "u", None, None, None]
    assert back["c"].to_pylist() == ["x", None, None, "y", "", "z"]
    assert [value for value in back["b"].to_pylist() if value is not None and value == value] == [1.5, 2.5, 3.5, 1.0]
    assert os.listdir(tmp_path) == [name]
    assert oct(os.stat(tmp_path / name).st_mode)[-3:] == "644" or os.umask(os.umask(0)) != 0o022


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.csv.gz"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_interrupted_writing_leaves_the_old_file(name, error, tmp_path):
    write_tables(tmp_path / name, [{"a": np.arange(3)}])
    before = (tmp_path / name).read_bytes()

    def chunks():
        yield {"a": np.arange(5)}
        raise error

    with pytest.raises(error):
        write_tables(tmp_path / name, chunks())
    assert (tmp_path / name).read_bytes() == before
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("mode", [None, 0o640, 0o444])
def test_a_link_stays_one_and_the_file_keeps_its_mode(mode, tmp_path):
    require(os.name != "nt", "links and modes as Unix has them")
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "real.csv", tmp_path / "link.csv"
    link.symlink_to(real)  # for None it leads nowhere yet
    if mode is not None:
        real.write_text("old")
        real.chmod(mode)
    write_tables(link, [{"a": np.arange(3)}])
    assert link.is_symlink()
    assert real.read_text().split() == ['"a"', "0", "1", "2"]
    assert mode is None or real.stat().st_mode & 0o777 == mode
    assert os.listdir(tmp_path / "elsewhere") == ["real.csv"]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_pipe_is_written_to(name, tmp_path):
    require(hasattr(os, "mkfifo"), "pipes with names")
    pipe = tmp_path / name
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_bytes)
        assert write_tables(pipe, [{"a": np.arange(3)}, {"a": np.arange(2)}]) == 5
        packed = read.result(timeout=10)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == [name]
    (tmp_path / f"copy.{name}").write_bytes(packed)
    back = pa.concat_tables([chunk.frame.to_native() for chunk in file_tables(tmp_path / f"copy.{name}")])
    assert back["a"].to_pylist() == [0, 1, 2, 0, 1]
    os.mkfifo(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet is a pipe or a device"):
        write_tables(tmp_path / "t.parquet", [{"a": np.arange(3)}])


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match=r"\.parquet, \.csv or \.csv\.gz"):
        write_tables(tmp_path / "t.xlsx", [{"a": np.arange(3)}])
    with pytest.raises(ValueError, match="The sequence of chunks is empty"):
        write_tables(tmp_path / "t.csv", [])
    with pytest.raises(ValueError, match="Column 'a' is int64 in the first chunk and string in a later one"):
        write_tables(tmp_path / "t.csv", [{"a": np.arange(3)}, {"a": np.array(["x"], dtype=object)}])
    with pytest.raises(ValueError, match="A chunk has the columns"):
        write_tables(tmp_path / "t.csv", [{"a": np.arange(3)}, {"b": np.arange(3)}])
    with pytest.raises(
        ValueError,
        match=r"t\.csv cannot be written, because the directory .*nowhere does not exist\. Create it first\.$",
    ):
        write_tables(tmp_path / "nowhere" / "t.csv", [{"a": np.arange(3)}])
    assert os.listdir(tmp_path) == []
