"""Points from CSV text, files and data frames."""

import pytest
from lab_sessions import PETS_CSV

from linearly.lab.point_import import parse_csv, read_columns, state_from_columns
from linearly.lab.session import Session
from linearly.lab.state import MAX_POINTS


def test_state_from_columns_of_csv_text():
    state, note = state_from_columns(parse_csv(PETS_CSV), "height", "weight", "kind")
    assert (state.names, state.classes, note) == (("height", "weight"), ("cat", "dog"), "")
    assert state.points[3] == (3.5, 9.0, 0)
    assert len(state.points) == 40


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_parse_csv_accepts_all_line_ends(end):
    text = end.join(["a,b,c", "1,2,u\u2028v", '3,4,"u\x0cv"', '5,6,"u\nv"', ""])
    assert parse_csv(text) == {"a": ["1", "3", "5"], "b": ["2", "4", "6"], "c": ["u\u2028v", "u\x0cv", "u\nv"]}


def test_state_from_columns_chooses_unnamed_columns():
    state, _ = state_from_columns(parse_csv(PETS_CSV))
    assert state.names == ("id", "height")
    assert state.classes == ("cat", "dog")
    plain, _ = state_from_columns(parse_csv("a,b\n1,2\n2,3.5\n"))
    assert plain.method.task == "curve"


def test_state_from_columns_notes_rows_left_out():
    state, note = state_from_columns(parse_csv("a,b,c\n1,2,u\n,3,v\n3,NA,u\n4,5,v\n"), "a", "b", "c")
    assert len(state.points) == 2
    assert "2 of 4 rows" in note
    rows = "".join(f"{i},{i % 17},{'uv'[i % 3 == 0]}\n" for i in range(3 * MAX_POINTS))
    state, note = state_from_columns(parse_csv("a,b,c\n" + rows))
    assert len(state.points) == MAX_POINTS
    assert note == f"One in 3 of the {3 * MAX_POINTS} rows is shown."


def test_state_from_columns_too_many_labels_raises():
    rows = "".join(f"{i},{i},{i % 9}\n" for i in range(40))
    with pytest.raises(ValueError, match="'c' has 9 labels"):
        state_from_columns(parse_csv("a,b,c\n" + rows), "a", "b", "c")


@pytest.mark.parametrize(
    ("text", "why"),
    [("a,b\nu,v\nw,z\n", "no numeric column"), ("a,g\n1,u\n2,v\n", "one numeric column, 'a'")],
)
def test_file_with_fewer_than_two_numeric_columns_raises(text, why):
    for message in ({"do": "columns"}, {"do": "load"}, {"do": "load", "x": "", "y": "", "target": ""}):
        with pytest.raises(ValueError, match=why):
            Session().handle({**message, "text": text})


def test_same_column_for_both_axes_raises():
    with pytest.raises(ValueError, match="'height' is chosen for both x and y"):
        Session().handle({"do": "load", "text": PETS_CSV, "x": "height", "y": "height", "target": "kind"})


def test_read_columns_of_frames_and_files_agree(tmp_path):
    pd = pytest.importorskip("pandas")
    columns = parse_csv(PETS_CSV)
    frame = pd.DataFrame({"height": map(float, columns["height"]), "weight": map(float, columns["weight"])})
    frame["kind"] = columns["kind"]
    expected, _ = state_from_columns(columns, "height", "weight", "kind")
    assert state_from_columns(read_columns(frame), "height", "weight", "kind")[0] == expected
    (tmp_path / "pets.csv").write_text(PETS_CSV, encoding="utf-8")
    assert state_from_columns(read_columns(tmp_path / "pets.csv"), "height", "weight", "kind")[0] == expected


def test_parse_csv_reads_decimal_commas():
    state, _ = state_from_columns(parse_csv("a;b;kind\n1,5;2,25;u\n2,5;3;v\n"))
    assert state.points == ((1.5, 2.25, 0), (2.5, 3.0, 1))


def test_parse_csv_keeps_labels_as_they_are_written():
    state, _ = state_from_columns(parse_csv("a,b,code\n1.5,2,007\n2.5,3,010\n"))
    assert state.classes == ("007", "010")
