"""Split CSV text into rows and fields, and recognise its delimiter, column names and decimal sign.

Text is cut into pieces of complete rows: a piece ends at the last line end outside quotes. This is sequential and
cheap, so that threads can parse the pieces (`csv`). The delimiter and decimal commas are recognised; a line `sep=;`, as
Excel writes it, names the delimiter. `read_columns` reads a small text without pyarrow.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.dataset.files.locations import read_fully
from linearly.dataset.rows.block import RowOrigin
from linearly.dataset.rows.tables import check_unique_names
from linearly.formatting import pluralize, shown

PIECE = 2**22  # bytes
MAX_ROW_BYTES = 2**24
MAX_COLUMNS = 50_000  # Arrow takes about 8 kB for each to parse a piece: 0.4 GB
_QUOTES_BACK = 64  # quotes before the end of a piece, among which the last row most often ends
_SAMPLE = 50  # rows that the delimiter is found in
_DELIMITERS = (",", ";", "\t", "|")
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"?')
_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?')
_JSON = re.compile(r'\s*(\{\s*"|\[\s*([\[{"]|$))')
_MARKUP = re.compile(r"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
CARRIAGE_RETURN = "has a carriage return without a line feed. Convert the line ends to line feeds."


def read_columns(data: bytes | str, name: str = "the text") -> dict[str, list[str]]:
    """Return the columns of a CSV text as the cells are written, without quotes; decimal commas become points.

    Parameters
    ----------
    data : bytes or str
        The text, UTF-8 if it is bytes. The first row names the columns.
    name : str
        The name of the text in error messages.

    Returns
    -------
    dict of str to list of str
        One list of cells for each column. An empty cell is an empty text.

    Raises
    ------
    ValueError
        If the text is empty or is not CSV, or a row has another number of fields than there are columns.

    Examples
    --------
    >>> read_columns("town;size\\nUlm;1,5\\nKiel;2,25\\n")
    {'town': ['Ulm', 'Kiel'], 'size': ['1.5', '2.25']}
    """
    pieces = split_pieces(io.BytesIO(data.encode() if isinstance(data, str) else data), name)
    header, first = Header.of(next(pieces, None), name)
    rows: list[list[str]] = []
    for piece in itertools.chain([first], pieces):
        for i, row in enumerate(piece.texts(0, len(piece))):
            fields = split_fields(row, header.delimiter)
            if len(fields) != len(header.names):
                where = f"Line {piece.line_of(i)} of {name}"
                raise ValueError(field_count_error(where, fields, header.names, header.delimiter, top=not rows))
            rows.append(fields)
    columns = zip(*rows, strict=True) if rows else ((),) * len(header.names)
    point = find_decimal(first.data, header.delimiter) == ","
    return {
        column: [cell.replace(",", ".") if point and _DECIMAL_COMMA.fullmatch(cell) else cell for cell in cells]
        for column, cells in zip(header.names, columns, strict=True)
    }


@dataclass(frozen=True)
class LineOrigins(RowOrigin):
    """Rows of a text file that are not one per line: quoted line ends or blank lines come between them."""

    numbers: tuple[int, ...] = ()

    def where(self, i: int) -> str:
        return f"line {self.numbers[i]} of {self.name}"

    def after(self, rows: int) -> LineOrigins:
        return replace(self, numbers=self.numbers[rows:])


class CsvPiece:
    """Complete rows of a CSV file: their bytes and the number of their first line. Blank lines are not rows."""

    def __init__(self, data: bytes, line: int) -> None:
        self.data, self.line = data, line
        rows, self.line_ends, self._quoted = kernels.count_rows(data)
        self._rows = len(self.starts) if self._quoted else rows

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The positions of line ends, and those of them that are inside quotes."""
        text = np.frombuffer(self.data, dtype=np.uint8)
        ends = np.flatnonzero(text == _NEWLINE)
        if not self._quoted:
            return ends, ends[:0]
        return ends, ends[np.searchsorted(np.flatnonzero(text == _QUOTE), ends) % 2 == 1]

    @property
    def has_quoted_newline(self) -> bool:
        """Whether a line end is inside quotes."""
        return self._quoted and len(self._places[1]) > 0

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The position where each row begins."""
        ends = np.setdiff1d(*self._places, assume_unique=True)
        starts, stops = np.concatenate([[0], ends + 1]), np.concatenate([ends, [len(self.data)]])
        starts, stops = starts[stops > starts], stops[stops > starts]
        text = np.frombuffer(self.data, dtype=np.uint8)
        return np.asarray(starts[(stops > starts + 1) | (text[starts] != _RETURN)], dtype=np.intp)

    def line_of(self, i: int) -> int:
        """Return the number of the line in which row i begins."""
        return self.line + int(np.searchsorted(self._places[0], self.starts[i]))

    def rows(self, first: int, last: int) -> bytes:
        """Return the bytes of rows first … last − 1."""
        return self.data[self.starts[first] : self.starts[last] if last < len(self) else None]

    def texts(self, first: int, last: int) -> list[str]:
        """Return rows first … last − 1, as many as there are, as text without line ends."""
        rows = (self.rows(i, i + 1) for i in range(first, min(last, len(self))))
        return [row.decode(errors="replace").rstrip("\r\n") for row in rows]

    def place(self, name: str) -> RowOrigin:
        """Return where the rows are, for messages."""
        lines = self.line_ends + (not self.data.endswith(b"\n"))
        if lines == len(self):
            return RowOrigin(name, self.line, "line")
        numbers = self.line + np.searchsorted(self._places[0], self.starts)
        return LineOrigins(name, self.line, "line", tuple(numbers.tolist()))


def split_pieces(stream: Any, name: str) -> Iterator[CsvPiece]:
    """Iterate over the pieces of a text."""
    line, rest, inside, last = 1, b"", False, False  # `inside`: whether the rest ends inside quotes
    while not last:
        data = read_fully(stream, PIECE)
        last = len(data) < PIECE
        if line == 1 and not rest:
            data = without_byte_order_mark(data, name)
        end = len(data) if last else end_of_rows(data, inside)
        if len(rest) + (0 if end else len(data)) > MAX_ROW_BYTES:
            raise _row_too_long_error(rest + data, line, name)
        if last and inside ^ (data.count(b'"') % 2 == 1):
            raise ValueError(
                f"Line {first_unpaired_quote(rest + data, line)} of {name} has a quote that is not closed. Close the "
                "quote."
            )
        if end or (last and rest):
            piece = CsvPiece(b"".join((rest, memoryview(data)[:end])), line)
            line += piece.line_ends
            yield piece
        rest = data[end:] if end else rest + data
        inside = rest.count(b'"') % 2 == 1


def without_byte_order_mark(data: bytes, name: str) -> bytes:
    """Return the text without a UTF-8 byte order mark; raise for UTF-16 and for line ends without line feeds."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{name} is UTF-16 text. Save it as UTF-8.")
    if b"\r" in data and b"\n" not in data:
        raise ValueError(f"The lines of {name} end with a carriage return alone. Convert them to line feeds.")
    return data.removeprefix(b"\xef\xbb\xbf")


def end_of_rows(data: bytes, inside: bool) -> int:
    """Return the position after the last line end outside quotes; 0 if there is none.

    `inside` is whether the data begin inside quotes.
    """
    inside ^= b'"' in data and data.count(b'"') % 2 == 1  # searching is ten times faster than counting
    stop = len(data)
    for _ in range(_QUOTES_BACK):
        at = data.rfind(b'"', 0, stop)
        end = -1 if inside else data.rfind(b"\n", at + 1, stop)
        if end >= 0 or at < 0:
            return end + 1
        inside, stop = not inside, at
    text = np.frombuffer(data, dtype=np.uint8)[:stop]
    quotes, ends = np.flatnonzero(text == _QUOTE), np.flatnonzero(text == _NEWLINE)
    outside = (len(quotes) - np.searchsorted(quotes, ends) + inside) % 2 == 0
    return int(ends[outside][-1]) + 1 if outside.any() else 0


def _row_too_long_error(data: bytes, line: int, name: str) -> ValueError:
    """Return the error for a row of more than MAX_ROW_BYTES, with its likely cause."""
    opened = first_unpaired_quote(data, line)
    if opened is not None:
        cause = f"a quote in line {opened} is not closed. Close it."
    elif line == 1 and max(data.count(sign.encode()) for sign in _DELIMITERS) >= MAX_COLUMNS:
        cause = f"it has more than {MAX_COLUMNS:,} columns. Leave some out."
    else:
        cause = "a line has no end. Check that the file is CSV."
    return ValueError(f"{name} has a row of more than {MAX_ROW_BYTES >> 20} MB, starting at line {line}: {cause}")


def first_unpaired_quote(data: bytes, line: int) -> int | None:
    """Return the number of the first line with an odd number of quotes; None if there is none."""
    at = data.find(b'"')
    while at >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if data.count(b'"', at, end) % 2:
            return line + data.count(b"\n", 0, at)
        at = data.find(b'"', end)
    return None


@dataclass(frozen=True)
class Header:
    """The delimiter, the names of the columns, the decimal sign, and texts that count as missing values."""

    delimiter: str
    names: tuple[str, ...]
    decimal: str = "."
    markers: tuple[str, ...] = ()

    @staticmethod
    def of(piece: CsvPiece | None, file: str) -> tuple[Header, CsvPiece]:
        """Return the header at the beginning of a first piece, and the rows after it."""
        if piece is None or not len(piece):
            raise ValueError(f"{file} is empty and contains no column names. Pass a file with column names and rows.")
        named = _SEPARATOR.fullmatch(piece.rows(0, 1).rstrip(b"\r\n"))
        top = 1 if named and len(piece) > 1 else 0
        delimiter = named[1].decode() if named and top else _find_delimiter(piece.texts(top, _SAMPLE))
        where = f"Line {piece.line_of(top)} of {file}"
        first = _decode_names(piece.rows(top, top + 1), where, file)
        width = _width(first, delimiter)
        if width > MAX_COLUMNS:
            raise ValueError(
                f"{where} names {width:,} columns, more than the limit of {MAX_COLUMNS:,}. Leave some out."
            )
        if "\r" in _QUOTED.sub("", first):
            raise ValueError(f"{where} {CARRIAGE_RETURN}")
        row = split_fields(first, delimiter)
        if len(row) > 2 and sum(map(bool, map(str.strip, row))) == 1:
            raise ValueError(
                f"The first row of {file} has a name for only one of {len(row)} columns. Remove the lines "
                "above the column names."
            )
        names = [name.strip() or f"column {j + 1}" for j, name in enumerate(row)]
        check_unique_names(names, file)
        if any(map(_is_measurement, names)) or _is_unordered_integers(names):
            raise ValueError(f"The first row of {file} contains numbers. Insert a row of column names above it.")
        at = int(piece.starts[top + 1]) if len(piece) > top + 1 else len(piece.data)
        line = piece.line + piece.data.count(b"\n", 0, at)
        return Header(delimiter, tuple(names)), CsvPiece(piece.data[at:], line)


def _decode_names(data: bytes, where: str, file: str) -> str:
    """Return the row of column names as text; raise if it looks like another format."""
    try:
        text = data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError(f"{where}, the row of column names, is not UTF-8. Save the file as UTF-8.") from None
    if "\0" in text:
        raise ValueError(f"{where} contains zero bytes, so it may be UTF-16 text. Save the file as UTF-8.")
    if _JSON.match(text):
        raise ValueError(f"{file} contains JSON. Convert it to CSV or Parquet.")
    if _MARKUP.match(text):
        raise ValueError(f"{file} is an HTML or XML page, not a table. Save the data as CSV.")
    return text


def find_decimal(data: bytes, delimiter: str) -> str:
    """Return the decimal sign: a comma if it cannot separate thousands and no field has a decimal point.

    Next to 793,96 the point in 811.692 separates thousands; read as a fraction, the number would be 1000 times too
    small. Such a column stays text, which `check_no_numeric_text` reports.
    """
    if delimiter == "," or b"," not in data:
        return "."
    end = re.escape(delimiter.encode())
    field = rb'(?:^|(?<=[%b\n]))"?[+-]?%%b(?:[eE][+-]?\d+)?"?(?=[%b\r\n]|$)' % (end, end)
    if not re.search(field % rb"(?:0?,\d+|\d+,(?:\d{1,2}|\d{4,})|\d{4,},\d+)", data):
        return "."
    fraction = rb"(?![1-9]\d{0,2}\.\d{3}(?![\deE]))\d*\.\d+"
    return "." if re.search(field % fraction, data) else ","


def _find_delimiter(rows: list[str]) -> str:
    """Return the delimiter that splits the first rows into the most fields, the same number in each."""
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        counts = {_width(row, delimiter) for row in rows}
        if len(counts) == 1 and max(counts) > most:
            best, most = delimiter, max(counts)
    if most > 1:
        return best
    # Rows of different lengths: the first decides, and the others raise with their line.
    first = rows[0].split("\n", 1)[0]
    return max(_DELIMITERS, key=first.count)


@cache
def _field(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of a field after its delimiter: a quoted part, if it begins with a quote, and the rest."""
    sign = re.escape(delimiter)
    return re.compile(rf"{sign}((?:{_QUOTED.pattern})?[^{sign}]*)")


def split_fields(row: str, delimiter: str) -> list[str]:
    """Return the fields of a row. Python's csv module raises for fields of more than 131,072 characters."""
    if '"' not in row:
        return row.split(delimiter)
    fields = _field(delimiter).findall(delimiter + row)
    return [_unquoted(field) if field.startswith('"') else field for field in fields]


def _unquoted(field: str) -> str:
    quoted = _QUOTED.match(field)
    assert quoted is not None
    inside = quoted[0][1:-1] if len(quoted[0]) > 1 and quoted[0].endswith('"') else quoted[0][1:]
    return inside.replace('""', '"') + field[quoted.end() :]


def _width(row: str, delimiter: str) -> int:
    """Return the number of fields of a row."""
    return sum(1 for _ in _field(delimiter).finditer(delimiter + row)) if '"' in row else row.count(delimiter) + 1


def _is_measurement(name: str) -> bool:
    """Return whether a name is a number with a fraction or a sign; 0, 1, 2 may be names."""
    try:
        float(name)
    except ValueError:
        return False
    return not name.isdigit() and name.lower() not in ("nan", "inf", "infinity")


def _is_unordered_integers(names: list[str]) -> bool:
    """Return whether all names are integers that are not increasing, and so are likely to be data."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    return any(int(a) >= int(b) for a, b in itertools.pairwise(names))


def field_count_error(where: str, fields: Sequence[str], names: Sequence[str], delimiter: str, *, top: bool) -> str:
    """Return the problem with a row that has too many or too few fields, and its fix.

    `top` is whether the row is the first below the column names.
    """
    if len(fields) == len(names) + 1 and not fields[-1].strip():
        return (
            f"{where} ends with the delimiter {delimiter!r}, but the row of column names does not. Make both the same."
        )
    problem = f"{where} has {pluralize(len(fields), 'field')}, but the first row "
    mark = names[0][:1]
    if mark in ("#", "%") and (len(names) == 1 or names[0][1:2] == " "):  # else #id may be the name of a column
        return f"{problem}is a comment, {shown(names[0])}. Remove the lines with {mark} above the column names."
    problem += f"names {pluralize(len(names), 'column')} (delimiter {delimiter!r}). "
    above = "Correct the line, or remove the lines above the column names."
    return problem + (above if top else "Correct the line. Put fields that contain the delimiter in quotes.")
