"""Numbers in text: the compiled reader against its twin in Python, and both against what must not be read."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linearly import kernels
from linearly.kernels import NUMBER, SKIPPED, WHOLE, reference

compiled = pytest.mark.skipif(kernels._compiled is None, reason="the kernels are not compiled")

_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?\d+")


def read_numbers_in_python(text, delimiter, fields, rows):
    """Define what `kernels.read_numbers` must return: the columns of CSV text, or None if a field is not plain.

    Each field is a number, an integer or skipped, according to its column. Plain text has a number in every field that
    is read, no quote, no blank line, and as many rows and fields as expected.
    """
    lines = text.decode("latin-1").replace("\r\n", "\n").removesuffix("\n").split("\n")
    cells = [line.split(delimiter) for line in lines]
    if len(lines) != rows or "" in lines or any(len(row) != len(fields) for row in cells):
        return None
    columns = ([], [])
    for kind, column in zip(fields.tolist(), zip(*cells, strict=True), strict=True):
        if kind == NUMBER and all(map(_NUMBER.fullmatch, column)) and not any(map(_over_or_underflows, column)):
            columns[0].append([float(cell) for cell in column])
        elif (
            kind == WHOLE
            and all(map(_WHOLE.fullmatch, column))
            and all(-(2**63) <= int(cell) < 2**63 for cell in column)
        ):
            columns[1].append([int(cell) for cell in column])
        elif kind != SKIPPED or any('"' in cell or "\r" in cell for cell in column):
            return None
    return (
        np.array(columns[0], dtype=np.float64).reshape(-1, rows),
        np.array(columns[1], dtype=np.int64).reshape(-1, rows),
    )


def _over_or_underflows(cell):
    """Return whether a number is too large or too small for float64."""
    value = float(cell)
    return np.isinf(value) or (value == 0 and any(digit in cell.lower().split("e")[0] for digit in "123456789"))


FIELDS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["", "0", "-0", "007", ".5", "5.", "-.5e3", "1e400", "1e-400", "5e-324", "+1", "nan", "-inf"]),
    st.sampled_from(["0x10", "1_000", " 1", "1 ", '"1"', "one", "-", ".", "e5", "1e", "1e+", "--1", "1.2.3", "é"]),
    st.text(alphabet="0123456789.-+eE", max_size=8),
)


@st.composite
def pieces(draw):
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = [",".join(draw(FIELDS) for _ in range(columns)) for _ in range(rows)]
    if draw(st.integers(0, 9)) == 0:
        lines.insert(draw(st.integers(0, rows)), draw(st.sampled_from(["", "1", "1,2,3,4,5", '"a\nb"'])))
    text = end.join(lines) + draw(st.sampled_from(["", end]))
    kinds = draw(st.lists(st.sampled_from([SKIPPED, NUMBER, WHOLE]), min_size=columns, max_size=columns))
    return text.encode(), np.array(kinds, dtype=np.int8), rows + draw(st.sampled_from([0, 0, 0, 0, -1, 1]))


@compiled
@given(pieces())
def test_read_numbers_agrees_with_its_definition_in_python(piece):
    text, fields, rows = piece
    found, meant = kernels.read_numbers(text, ",", fields, rows), read_numbers_in_python(text, ",", fields, rows)
    assert (found is None) == (meant is None), text
    if meant is not None:
        for mine, its in zip(found, meant, strict=True):
            assert mine.tobytes() == its.tobytes()


@given(st.text(alphabet='a1,"\n\r', max_size=40).map(str.encode))
def test_count_rows_agrees_with_reference(text):
    assert kernels.count_rows(text) == reference.count_rows(text)


@compiled
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_read_numbers_is_correct_to_the_last_bit(delimiter):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) * 10.0 ** rng.integers(-300, 300, (200, 3))
    k = rng.integers(-(2**63), 2**63 - 1, 200)
    lines = [delimiter.join([*map(repr, row.tolist()), "some words", str(n)]) for row, n in zip(X, k, strict=True)]
    fields = np.array([NUMBER, NUMBER, NUMBER, SKIPPED, WHOLE], dtype=np.int8)
    numbers, wholes = kernels.read_numbers("\n".join(lines).encode(), delimiter, fields, 200)
    np.testing.assert_array_equal(numbers, X.T)
    np.testing.assert_array_equal(wholes[0], k)


@compiled
def test_read_numbers_with_wrong_shapes_raises():
    fields = np.array([NUMBER], dtype=np.int8)
    with pytest.raises(ValueError, match="column for each field"):
        kernels._compiled.read_numbers(b"1\n", ",", fields, np.empty((2, 1)), np.empty((0, 1), dtype=np.int64))
    with pytest.raises(ValueError, match="one byte"):
        kernels._compiled.read_numbers(b"1\n", ",,", fields, np.empty((1, 1)), np.empty((0, 1), dtype=np.int64))
