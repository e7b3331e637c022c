"""Parquet pages that the kernels decode: the same bits as Arrow's reader gives, and Arrow's reader for all else."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linearly as ly
from linearly import kernels
from linearly.dataset.files import arrow as columnar
from linearly.dataset.files.tables import file_tables

compiled = pytest.mark.skipif(kernels.kernels_in_use() == "NumPy reference", reason="the kernels are not compiled")
ROWS = 30_000


def table(n=ROWS):
    """Numbers that writers store in different ways: all different, few of them, one, in runs, and no numbers."""
    rng = np.random.default_rng(5)
    normal = rng.standard_normal(n)
    return pa.table(
        {
            "different": normal,
            "tenths": np.round(normal, 1),
            "three": rng.integers(0, 3, n).astype(np.float64),
            "one": np.full(n, 7.5),
            "runs": np.repeat(normal[: -(-n // 1000)], 1000)[:n],
            "counted": np.arange(n) / 8,
            "odd": rng.choice([np.nan, np.inf, -0.0, 5e-324, 1.7976931348623157e308], n),
        }
    )


def read(path):
    """All rows through the library, and how many of them the kernels decoded."""
    plain = []

    def counted(*arguments):
        for part in decoded(*arguments):
            plain.append(len(part))
            yield part

    decoded = columnar.decoded
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columnar, "decoded", counted)
        chunks = [chunk.frame.to_native() for chunk in file_tables(path)]
    return pa.concat_tables(chunks), sum(plain)


def assert_same(a, b):
    assert a.column_names == b.column_names
    for name in a.column_names:
        left, right = (one.column(name).combine_chunks() for one in (a, b))
        assert left.null_count == right.null_count
        bits = [np.asarray(one.drop_null()).view(np.int64) for one in (left, right)]
        np.testing.assert_array_equal(*bits, err_msg=name)


@compiled
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("group", [1, 999, ROWS])
@pytest.mark.parametrize("page", [64, 2**20])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False, ["three", "tenths"]])
@pytest.mark.parametrize("packing", ["snappy", "none"])
def test_decoded_parquet_pages_have_the_bits_of_arrow(tmp_path, packing, dictionary, version, page, group, nullable):
    rows = table(300 if group == 1 or page == 64 else ROWS)
    rows = rows.cast(pa.schema([field.with_nullable(nullable) for field in rows.schema]))
    path = tmp_path / "rows.parquet"
    pq.write_table(
        rows, path, compression=packing, use_dictionary=dictionary, data_page_version=version, data_page_size=page,
        row_group_size=group, dictionary_pagesize_limit=2**14,
    )  # fmt: skip
    found, plain = read(path)
    assert_same(found, rows.cast(found.schema))
    assert plain == len(rows)


@compiled
@pytest.mark.parametrize("several", [False, True])
def test_a_row_group_goes_on_where_it_stops_being_plain(tmp_path, monkeypatch, several):
    """A value is missing near the end of the second row group: none is read twice, none is lost."""
    values = np.arange(40_000.0)
    missing = np.zeros(len(values), dtype=bool)
    missing[35_000] = True
    rows = pa.table({"a": pa.array(values, mask=missing), "b": values / 3})
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path, row_group_size=20_000, data_page_size=2**13, use_dictionary=False)
    if several:
        monkeypatch.setattr(columnar, "_WHOLE", 1)
        monkeypatch.setattr(columnar, "_PART", 8_000)
        monkeypatch.setattr(columnar, "rows_in_chunk", lambda wanted: 4_000)
    found, plain = read(path)
    assert_same(found, rows)
    assert plain == (32_000 if several else 20_000)


@compiled
@pytest.mark.parametrize("packing", ["zstd", "gzip", "brotli", "lz4"])
def test_other_packings_are_left_to_arrow(tmp_path, packing):
    path = tmp_path / "rows.parquet"
    pq.write_table(table(2000), path, compression=packing)
    found, plain = read(path)
    assert_same(found, table(2000))
    assert plain == 0


@compiled
@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3]),
        pa.array([1.0, 2.0, 3.0], pa.float32()),
        pa.array(["u", "v", "u"]).dictionary_encode(),
        pa.array([{"deep": 1.0}, {"deep": 2.0}, {"deep": 3.0}]),
        pa.array([[1.0], [], [2.0, 3.0]]),
    ],
    ids=["whole", "float32", "text", "struct", "list"],
)
def test_other_columns_are_left_to_arrow(tmp_path, column):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"first": [1.0, 2.0, 3.0], "other": column, "last": [4.0, 5.0, 6.0]}), path)
    tables = file_tables(path)
    chunk = next(iter(tables.select(["first", "last"])))
    assert chunk.frame["last"].to_list() == [4.0, 5.0, 6.0]


@compiled
@pytest.mark.parametrize("encoding", ["BYTE_STREAM_SPLIT", "PLAIN"])
def test_other_encodings_are_left_to_arrow(tmp_path, encoding):
    path = tmp_path / "rows.parquet"
    rows = table(5000)
    pq.write_table(rows, path, use_dictionary=False, column_encoding=dict.fromkeys(rows.column_names, encoding))
    found, plain = read(path)
    assert_same(found, rows)
    assert plain == (5000 if encoding == "PLAIN" else 0)


@compiled
@pytest.mark.parametrize("packing", ["snappy", "none"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_damage_is_read_as_arrow_reads_it_or_refused(tmp_path, packing, version):
    """Bytes of pages changed at random, headers and all: the answer is Arrow's, or an error; never a crash."""
    rows = table(600).select(["different", "three", "runs"])
    whole = tmp_path / "whole.parquet"
    pq.write_table(rows, whole, compression=packing, data_page_version=version, data_page_size=512)
    good = whole.read_bytes()
    end = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    rng = np.random.default_rng(1)
    alike = refused = read_alone = 0
    for _ in range(400):
        bad = bytearray(good)
        for at in rng.integers(4, end, size=int(rng.integers(1, 4))):
            bad[at] = rng.integers(256)
        path = tmp_path / "bad.parquet"
        path.write_bytes(bad)
        try:
            expected = pq.ParquetFile(path).read()
        except (OSError, pa.ArrowException):
            expected = None
        try:
            found, _ = read(path)
        except ValueError as error:
            refused += "bad.parquet" in str(error)
            continue
        if expected is not None:
            assert_same(found, expected)
            alike += 1
        else:
            read_alone += 1
    assert alike > 50
    assert refused > 20
    assert read_alone == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"one\x15\x02\x16", b"one\x15\x7f\x16"), (b"\x25\x02\x18\x03one", b"\x25\x00\x18\x03one")],
    ids=["a codec that there is not", "levels counted of a column that has none"],
)
def test_a_footer_that_cannot_be_does_not_end_the_process(tmp_path, old, new):
    """Found by fuzzing: pyarrow's own account of such columns aborts, so it is not asked."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table(100).select(["different", "one"]), path)
    good = path.read_bytes()
    assert good.count(old) == 1
    path.write_bytes(good.replace(old, new))
    with pytest.raises(ValueError, match=r"rows\.parquet"):
        list(file_tables(path))


@compiled
def test_a_file_cut_short_under_the_reader_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table(), path)
    tables = file_tables(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with pytest.raises(ValueError, match=r"Rows 0 to 29999 of .*rows\.parquet cannot be read"):
        list(tables)


def test_row_groups_of_many_files_are_units_of_their_own(tmp_path, monkeypatch):
    """One large row group a file: alone its batches are shared out, among others each is one thread's."""
    monkeypatch.setattr(columnar, "_LARGE_GROUP", 1000)
    for k in range(4):
        pq.write_table(table(3000), tmp_path / f"{k}.parquet")
    assert [unit.rows for unit in file_tables(tmp_path)._units()] == [3000] * 4
    alone = file_tables(tmp_path / "0.parquet")
    monkeypatch.setattr(columnar, "rows_in_chunk", lambda wanted: 1000)
    assert [unit.rows for unit in alone._units()] == [1000] * 3


def test_a_fit_is_that_of_the_rows_in_memory(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50_000, 4))
    y = X @ [1.0, -2.0, 3.0, 0.5] + rng.standard_normal(len(X))
    for k, part in enumerate(np.array_split(np.column_stack([X, y]), 3)):
        pq.write_table(
            pa.table(dict(zip("abcdy", part.T, strict=True))), tmp_path / f"{k}.parquet", row_group_size=7000
        )
    model = ly.LinearRegression().fit(ly.scan(tmp_path, target="y"))
    np.testing.assert_allclose(model.coef_, ly.LinearRegression().fit(X, y).coef_, rtol=1e-12)


@pytest.mark.parametrize("missing", ["kernels", "pread"])
def test_arrow_reads_a_local_file_without_kernels_or_without_pread(tmp_path, monkeypatch, missing):
    path = tmp_path / "plain.parquet"
    pq.write_table(table(3000), path)
    if missing == "kernels":
        monkeypatch.setattr(kernels, "_compiled", None)
    monkeypatch.delattr(os, "pread")  # Windows has none
    rows, plain = read(path)
    assert plain == 0
    assert_same(rows, pq.read_table(path))
