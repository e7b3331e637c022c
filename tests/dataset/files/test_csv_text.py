"""Small CSV texts read without pyarrow: `read_columns`."""

from __future__ import annotations

import pytest

from linearly.dataset.files.csv_text import read_columns


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        ("a,b\n1,x\n2,y\n", {"a": ["1", "2"], "b": ["x", "y"]}),
        (b"\xef\xbb\xbfa\tb\r\n1\tx\r\n", {"a": ["1"], "b": ["x"]}),
        ("town;size\nUlm;1,5\n\nKiel;-2,25\n", {"town": ["Ulm", "Kiel"], "size": ["1.5", "-2.25"]}),
        ("sep=;\na;b\n1;2\n", {"a": ["1"], "b": ["2"]}),
        ('a,b\n"x,\ny","say ""hi"""\n', {"a": ["x,\ny"], "b": ['say "hi"']}),
        ("a|b\n1,234|2\n", {"a": ["1,234"], "b": ["2"]}),
        ("a,b\n", {"a": [], "b": []}),
    ],
    ids=["comma", "mark and tabs", "decimal commas", "named delimiter", "quotes", "thousands", "no rows"],
)
def test_read_columns_returns_cells_as_written(data, columns):
    assert read_columns(data) == columns


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "^points.csv is empty"),
        ("a,b\n1,2\n1,2,3\n", "^Line 3 of points.csv has 3 fields"),
        ("a,a\n1,2\n", "^points.csv has two columns with the name 'a'"),
        ('{"a": 1}\n', "^points.csv contains JSON"),
        ("1.5,2.5\n3,4\n", "^The first row of points.csv contains numbers"),
        ('a,b\n"1,2\n', "^Line 2 of points.csv has a quote that is not closed"),
        (b"a,\xff\n1,2\n", "is not UTF-8"),
    ],
    ids=["empty", "row of other length", "names twice", "JSON", "no names", "open quote", "not UTF-8"],
)
def test_read_columns_refuses_by_name_and_line(data, message):
    with pytest.raises(ValueError, match=message):
        read_columns(data, "points.csv")
