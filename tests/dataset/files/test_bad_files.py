"""Bad files: the message names the file, the row or line, and the column; threads end, nothing is guessed."""

import gzip
import re
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import linearly as ly
from linearly.dataset.files import csv_text as text
from linearly.dataset.files.tables import file_tables


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(text, "PIECE", 2**11)


def numbers(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table({"a": rng.standard_normal(n), "b": rng.standard_normal(n), "y": rng.standard_normal(n)})


def lines(n: int = 2000) -> list[str]:
    return ["a,b,y", *(f"{i},{i % 7}.5,{(i * 37) % 101}" for i in range(n))]


def write(path, rows: list[str]):
    path.write_text("\n".join(rows) + "\n")
    return path


def refused(source, match: str, **options) -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match=match):
        ly.LinearRegression(method="gram").fit(ly.scan(source, target="y", **options))
    # The pool's threads sleep on and are used again; a fold that failed leaves no more of them behind each time.
    with pytest.raises(ValueError, match=match):
        ly.LinearRegression(method="gram").fit(ly.scan(source, target="y", **options))
    assert threading.active_count() <= before + 2


# --- Parquet and Arrow ----------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [4, 100, -1, -20])
def test_truncated_parquet(cut, tmp_path):
    pq.write_table(numbers(), path := tmp_path / "t.parquet")
    path.write_bytes(path.read_bytes()[:cut])
    refused(path, r"t\.parquet is not a Parquet file, or is truncated")


def test_not_parquet_at_all(tmp_path):
    write(tmp_path / "t.parquet", lines())
    refused(tmp_path / "t.parquet", r"t\.parquet is not a Parquet file")
    (tmp_path / "t.parquet").write_bytes(b"")
    refused(tmp_path / "t.parquet", r"t\.parquet is not a Parquet file\. It is empty")


def test_not_any_table(tmp_path):
    (tmp_path / "t.bin").write_bytes(bytes(range(256)) * 20)
    refused(tmp_path / "t.bin", r"t\.bin is not Parquet, Arrow or CSV")


def test_truncated_arrow(tmp_path):
    feather.write_feather(numbers(), path := tmp_path / "t.feather")
    path.write_bytes(path.read_bytes()[:-30])
    refused(path, r"t\.feather is not an Arrow file, or is truncated")


def test_damaged_pages_name_the_rows(tmp_path):
    pq.write_table(numbers(), path := tmp_path / "t.parquet", row_group_size=500)
    column = pq.read_metadata(path).row_group(3).column(1)
    with open(path, "r+b") as file:
        file.seek(column.data_page_offset)
        file.write(b"\xff" * 100)
    refused(path, r"Rows 1500 to 1999 of .*t\.parquet cannot be read")


def test_missing_column_in_the_second_file(tmp_path):
    pq.write_table(numbers(), tmp_path / "1.parquet")
    pq.write_table(numbers().drop_columns(["b"]), tmp_path / "2.parquet")
    refused(tmp_path, r"2\.parquet: The column 'b' does not exist")
    ly.LinearRegression().fit(ly.scan(tmp_path, target="y", features=["a"]))


def test_missing_column_in_the_second_csv(tmp_path):
    write(tmp_path / "1.csv", lines())
    write(tmp_path / "2.csv", ["a,y", "1,2"])
    refused(tmp_path, r"2\.csv: The column 'b' does not exist")


def test_columns_in_another_order_are_the_same_columns(tmp_path):
    data = numbers()
    pq.write_table(data.slice(0, 1000), tmp_path / "1.parquet")
    pq.write_table(data.slice(1000).select(["y", "b", "a"]), tmp_path / "2.parquet")
    model = ly.LinearRegression().fit(ly.scan(tmp_path, target="y"))
    X = np.column_stack([data["a"], data["b"]])
    np.testing.assert_allclose(model.coef_, ly.LinearRegression().fit(X, data["y"].to_numpy()).coef_, rtol=1e-9)


def test_whole_numbers_in_one_file_and_fractions_in_another(tmp_path):
    data = numbers()
    whole = data.set_column(0, "a", pa.array(np.arange(3000) % 11))
    pq.write_table(whole, tmp_path / "1.parquet")
    pq.write_table(data, tmp_path / "2.parquet")
    tables = file_tables(tmp_path)
    assert str(tables.schema["a"]) == "Float64"
    model = ly.LinearRegression().fit(ly.scan(tmp_path, target="y"))
    both = [np.concatenate([whole[name].to_numpy(), data[name].to_numpy()]) for name in "aby"]
    expected = ly.LinearRegression().fit(np.column_stack(both[:2]), both[2])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)


def test_text_in_one_file_and_numbers_in_another(tmp_path):
    data = numbers()
    pq.write_table(data, tmp_path / "1.parquet")
    pq.write_table(data.set_column(1, "b", pa.array(["u"] * 3000)), tmp_path / "2.parquet")
    refused(tmp_path, r"Column 'b' is double in .*1\.parquet but string in .*2\.parquet")
    ly.LinearRegression().fit(ly.scan(tmp_path, target="y", features=["a"]))


def test_empty_partitions_are_no_rows(tmp_path):
    data = numbers()
    pq.write_table(data.slice(0, 0), tmp_path / "0.parquet")
    pq.write_table(data, tmp_path / "1.parquet")
    pq.write_table(data.slice(0, 0), tmp_path / "2.parquet")
    write(tmp_path / "3.csv", ["a,b,y"])
    (tmp_path / "4.csv").touch()
    model = ly.LinearRegression().fit(ly.scan(tmp_path, target="y"))
    assert model.summary_.n == 3000
    for one in ("1.parquet", "4.csv"):
        (tmp_path / one).unlink()
    refused(tmp_path, r"0\.parquet and 2 more files contains column names but no rows")


@pytest.mark.parametrize("value", [None, np.nan])
def test_gap_is_named_by_row(value, tmp_path):
    data = numbers()
    b = data["b"].to_pylist()
    b[2345] = value
    pq.write_table(data.set_column(1, "b", pa.array(b)), tmp_path / "t.parquet", row_group_size=700)
    refused(tmp_path / "t.parquet", r"row 2345 of .*t\.parquet")
    refused(tmp_path / "t.parquet", r"'b'")


def test_two_columns_of_one_name(tmp_path):
    pq.write_table(pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "y"]), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", r"t\.parquet has two columns with the name 'a'")
    write(tmp_path / "t.csv", ["a,a,y", "1,2,3"])
    refused(tmp_path / "t.csv", r"t\.csv has two columns with the name 'a'")


# --- CSV ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [5, 1500])
@pytest.mark.parametrize(("bad", "fields"), [("1,2", 2), ("1,2,3,4", 4)])
def test_ragged_row(row, bad, fields, tmp_path):
    rows = lines()
    rows[row] = bad
    refused(write(tmp_path / "t.csv", rows), rf"Line {row + 1} of .*t\.csv has {fields} fields.* names 3 columns")


def test_text_where_numbers_were(tmp_path):
    rows = lines()
    rows[1700] = "17,oops,3"
    refused(
        write(tmp_path / "t.csv", rows),
        r"Line 1701 of .*t\.csv, column 'b': 'oops' is not of the column's type. The rows above contain numbers",
    )
    ly.LinearRegression().fit(ly.scan(tmp_path / "t.csv", target="y", features=["a"]))


def test_text_in_the_second_file_where_the_first_has_numbers(tmp_path):
    write(tmp_path / "1.csv", lines())
    write(tmp_path / "2.csv", ["y,b,a", "1,x,3"])
    refused(tmp_path, r"Line 2 of .*2\.csv, column 'b': 'x' is not of the column's type")


def test_whole_numbers_that_go_on_as_fractions(tmp_path):
    rows = lines()
    rows[1800] = "0.25,1.5,3"
    model = ly.LinearRegression().fit(ly.scan(write(tmp_path / "t.csv", rows), target="y"))
    cells = np.array([row.split(",") for row in rows[1:]], dtype=float)
    expected = ly.LinearRegression().fit(cells[:, :2], cells[:, 2])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)


def test_whole_numbers_stay_labels(tmp_path):
    model = ly.LinearDiscriminantAnalysis().fit(
        ly.scan(write(tmp_path / "t.csv", ["a,y", *(f"{i % 9}.5,{i % 9 // 3}" for i in range(900))]), target="y")
    )
    assert model.classes_.dtype.kind == "i"
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("gap", ["", "NA", "NaN", "null"])
def test_gap_is_named_by_line(gap, tmp_path):
    rows = lines()
    rows[1234] = f"3,{gap},1"
    refused(write(tmp_path / "t.csv", rows), r"'b' is missing in line 1235 of .*t\.csv")
    fitted = ly.LinearRegression().fit(ly.scan(tmp_path / "t.csv", target="y", missing="drop"))
    assert fitted.summary_.n == 1999


def test_gap_in_text_is_missing_too(tmp_path):
    rows = ["k,y", *(f"{'uv'[i % 2]},{i}" for i in range(50))]
    rows[9] = ",3"
    refused(write(tmp_path / "t.csv", rows), r"'k' is missing in line 10 of .*t\.csv")
    rows[9] = '"NA",3'
    model = ly.LinearRegression().fit(ly.scan(write(tmp_path / "t.csv", rows), target="y"))
    assert model.feature_names_in_.tolist() == ["k[u]", "k[v]"]


def test_lines_are_those_of_an_editor(tmp_path):
    rows = ['a,"b\nb",y', "", *(f'{i},"{i % 5}",{i % 3}\n' for i in range(300))]
    rows[150] = "1,NA,2"
    path = write(tmp_path / "t.csv", rows)
    line = next(k for k, text in enumerate(path.read_text().split("\n"), start=1) if text == "1,NA,2")
    refused(path, rf"'b\\nb' is missing in line {line} of")
    rows[150] = "1,2"
    refused(write(path, rows), rf"Line {line} of .* has 2 fields")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"t\.csv is empty and contains no column names"),
        (b"\n\n", r"t\.csv is empty"),
        (b"a,b,y\n", r"t\.csv contains column names but no rows"),
        (b"1.5,2,3\n4,5,6\n", "contains numbers. Insert a row of column names"),
        (b"a,y\r1,2\r3,4\r", "carriage return alone"),
        ("a,y\n1,2\n".encode("utf-16"), "UTF-16 text. Save it as UTF-8"),
        (b"a,y\nz\xe9ro,2\nun,3\n", r"Line 2 of .*column 'a'.*not UTF-8"),
        (b'a,y\n1,2\n"3,4\n5,6\n', r"Line 3 of .*t\.csv has a quote that is not closed"),
        ("größe,y\n1,2\n".encode("latin-1"), r"Line 1 of .*t\.csv, the row of column names, is not UTF-8"),
        ("a,y\n1,2\n".encode("utf-16-le"), r"Line 1 of .*t\.csv contains zero bytes, so it may be UTF-16 text"),
        (b'{"a": 1, "y": 2}\n{"a": 2, "y": 3}\n', r"t\.csv contains JSON. Convert it"),
        (b'[{"a": 1, "y": 2}, {"a": 2, "y": 3}]', r"t\.csv contains JSON. Convert it"),
        (b"<!DOCTYPE html>\n<html></html>\n", r"t\.csv is an HTML or XML page"),
        (b"PK\x03\x04" + bytes(60), r"t\.csv is a zip archive or an Excel workbook. Unpack it"),
        (b"5,3,8\n1,2,3\n", "contains numbers. Insert a row of column names"),
        (b"Report,,\na,b,y\n1,2,3\n", "has a name for only one of 3 columns. Remove the lines above"),
        (b"Sales\na,y\n1,2\n", "Line 2 of .* has 2 fields, but .* 1 column .*remove the lines above"),
        (b"# note\n# mm\na,y\n1,2\n", "Line 3 of .* has 2 fields, but the first row is a comment, '# note'. Remove"),
        (b"#a,y\n1,2\n1,2,3\n", "Line 3 of .* has 3 fields, but the first row names 2 columns"),
        (b"a,y\n1,2,\n3,4,\n", "Line 2 of .* ends with the delimiter ',', but the row of column names does not"),
    ],
    ids=[
        "empty",
        "blank",
        "header only",
        "no header",
        "old Mac",
        "UTF-16",
        "Latin-1",
        "open quote",
        "Latin-1 names",
        "UTF-16 without mark",
        "JSON lines",
        "JSON",
        "page",
        "workbook",
        "no header, whole numbers",
        "title",
        "title alone",
        "comment",
        "name with a sign",
        "delimiter at the end",
    ],
)
def test_odd_text(content, message, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    refused(tmp_path / "t.csv", message)


def test_quote_that_is_never_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MAX_ROW_BYTES", 2**13)
    rows = lines()
    rows[100] = '1,"2.5,3'
    refused(write(tmp_path / "t.csv", rows), "a quote in line 101 is not closed")


def test_truncated_gzip(tmp_path):
    packed = gzip.compress("\n".join(lines(20_000)).encode())
    (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) // 2])
    refused(tmp_path / "t.csv.gz", r"t\.csv\.gz")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("tail", ["", "end", "blank"])
def test_dialects(end, mark, delimiter, tail, tmp_path):
    rows = [row.replace(",", delimiter) for row in lines(500)]
    content = mark + end.join(rows) + {"": "", "end": end, "blank": end * 3}[tail]
    (tmp_path / "t.txt").write_bytes(content.encode())
    chunks = list(file_tables(tmp_path / "t.txt"))
    assert chunks[0].frame.columns == ["a", "b", "y"]
    np.testing.assert_array_equal(np.concatenate([chunk.frame["a"].to_numpy() for chunk in chunks]), np.arange(500))
    assert chunks[-1].where(len(chunks[-1]) - 1).startswith("line 501 of")
    assert all(re.fullmatch(rf"line {chunk.start + 2} of .*", chunk.where(0)) for chunk in chunks)


def test_quoted_line_ends_never_cut_a_row(tmp_path):
    rng = np.random.default_rng(0)
    words = ["plain", "two\nlines", 'a "quoted" word', "comma, inside", "\n\n\n", "x" * 90]
    chosen = rng.integers(0, len(words), 400)
    rows = ["k,y", *('"' + words[k].replace('"', '""') + f'",{i}' for i, k in enumerate(chosen))]
    seen = list(file_tables(write(tmp_path / "t.csv", rows)))
    assert len(seen) > 5
    assert [value for chunk in seen for value in chunk.frame["k"].to_list()] == [words[k] for k in chosen]
    assert [value for chunk in seen for value in chunk.frame["y"].to_list()] == list(range(400))
