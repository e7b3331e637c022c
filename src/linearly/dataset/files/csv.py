"""CSV: text is cut into pieces of whole rows, and each piece is parsed on the thread that folds it.

Cutting is sequential and cheap: a piece ends at the last line end outside quotes. Names come from the first row, types
from the first piece; what does not fit them later is refused by file, line and column. A column of whole numbers may
go on as fractions. The delimiter and decimal commas are recognised; a line `sep=;`, as Excel writes, names the former.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from linearly import kernels
from linearly.dataset.files.locations import Location, read_already, read_fully, unpacked
from linearly.dataset.files.read_units import Unit, check_columns_exist, check_unique_names
from linearly.dataset.rows.array_checks import beyond_float64
from linearly.dataset.rows.block import RowOrigin, integer_refused
from linearly.dataset.rows.tables import Chunk
from linearly.formatting import miscounted, shown

PIECE = 2**22  # bytes
_LONGEST = 2**24  # bytes of one row
_MOST_COLUMNS = 50_000  # Arrow takes about 8 kB for each to parse a piece: 0.4 GB
_QUOTES_BACK = 64  # quotes before the end of a piece, among which the last row most often ends
_TOP = 2**16  # bytes in which the names of the columns are looked for
_SAMPLE = 50  # rows that the delimiter is found in
_HEAD = 1000  # rows in which it is looked how cells are written
_LONGEST_MARKER = 20  # characters of a cell that may stand for a missing value
_DELIMITERS = (",", ";", "\t", "|")
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"?')
_INTEGER = re.compile(r"[+-]?\d+")
_MOST_DIGITS = 300  # of an integer that float64 may hold
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?')
_JSON = re.compile(r'\s*(\{\s*"|\[\s*([\[{"]|$))')
_MARKUP = re.compile(r"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
_CARRIAGE_RETURN = "has a carriage return without a line feed: convert the line ends to line feeds."


@dataclass(frozen=True)
class LineOrigins(RowOrigin):
    """Rows of a text file that are not one a line: a quoted line end or a blank line came between."""

    numbers: tuple[int, ...] = ()

    def where(self, i: int) -> str:
        return f"line {self.numbers[i]} of {self.name}"

    def after(self, rows: int) -> LineOrigins:
        return replace(self, numbers=self.numbers[rows:])


class CsvPiece:
    """Whole rows of a CSV file: their bytes and the number of their first line. Blank lines are no rows."""

    def __init__(self, data: bytes, line: int) -> None:
        self.data, self.line = data, line
        rows, self.line_ends, self._quoted = kernels.count_rows(data)
        self._rows = len(self.starts) if self._quoted else rows

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where the lines end, and which of these ends are inside quotes."""
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
        """Where each row begins."""
        ends = np.setdiff1d(*self._places, assume_unique=True)
        starts, stops = np.concatenate([[0], ends + 1]), np.concatenate([ends, [len(self.data)]])
        starts, stops = starts[stops > starts], stops[stops > starts]
        text = np.frombuffer(self.data, dtype=np.uint8)
        return np.asarray(starts[(stops > starts + 1) | (text[starts] != _RETURN)], dtype=np.intp)

    def line_of(self, i: int) -> int:
        """The number of the line that row i begins in."""
        return self.line + int(np.searchsorted(self._places[0], self.starts[i]))

    def rows(self, first: int, last: int) -> bytes:
        """The bytes of rows first … last − 1."""
        return self.data[self.starts[first] : self.starts[last] if last < len(self) else None]

    def texts(self, first: int, last: int) -> list[str]:
        """Rows first … last − 1, as many as there are, as text without their line ends."""
        rows = (self.rows(i, i + 1) for i in range(first, min(last, len(self))))
        return [row.decode(errors="replace").rstrip("\r\n") for row in rows]

    def place(self, name: str) -> RowOrigin:
        """Where the rows are, for messages."""
        lines = self.line_ends + (not self.data.endswith(b"\n"))
        if lines == len(self):
            return RowOrigin(name, self.line, "line")
        numbers = self.line + np.searchsorted(self._places[0], self.starts)
        return LineOrigins(name, self.line, "line", tuple(numbers.tolist()))


def split_pieces(stream: Any, name: str) -> Iterator[CsvPiece]:
    """The pieces of a text in order."""
    line, rest, inside, last = 1, b"", False, False  # `inside`: whether the rest ends inside quotes
    while not last:
        data = read_fully(stream, PIECE)
        last = len(data) < PIECE
        if line == 1 and not rest:
            data = _without_mark(data, name)
        end = len(data) if last else _end_of_rows(data, inside)
        if len(rest) + (0 if end else len(data)) > _LONGEST:
            raise _too_long(rest + data, line, name)
        if last and inside ^ (data.count(b'"') % 2 == 1):
            raise ValueError(f"Line {_unpaired(rest + data, line)} of {name} has a quote that is not closed.")
        if end or (last and rest):
            piece = CsvPiece(b"".join((rest, memoryview(data)[:end])), line)
            line += piece.line_ends
            yield piece
        rest = data[end:] if end else rest + data
        inside = rest.count(b'"') % 2 == 1


def _without_mark(data: bytes, name: str) -> bytes:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{name} is UTF-16 text: save it as UTF-8.")
    if b"\r" in data and b"\n" not in data:
        raise ValueError(f"The lines of {name} end with a carriage return alone: convert them to line feeds.")
    return data.removeprefix(b"\xef\xbb\xbf")


def _end_of_rows(data: bytes, inside: bool) -> int:
    """Just after the last line end that is outside quotes; 0 if there is none. Quotes may be open at the start."""
    inside ^= b'"' in data and data.count(b'"') % 2 == 1  # looking is ten times faster than counting
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


def _too_long(data: bytes, line: int, name: str) -> ValueError:
    """What to say of a row that is longer than any is read, by what it begins with."""
    opened = _unpaired(data, line)
    if opened is not None:
        cause = f"a quote in line {opened} is not closed. Close it."
    elif line == 1 and max(data.count(sign.encode()) for sign in _DELIMITERS) >= _MOST_COLUMNS:
        cause = f"it has more than {_MOST_COLUMNS:,} columns. Leave some out."
    else:
        cause = "a line has no end. Check that the file is CSV."
    return ValueError(f"{name} has a row of more than {_LONGEST >> 20} MB, from line {line} on: {cause}")


def _unpaired(data: bytes, line: int) -> int | None:
    """The number of the first line with an odd number of quotes; None if there is none."""
    at = data.find(b'"')
    while at >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if data.count(b'"', at, end) % 2:
            return line + data.count(b"\n", 0, at)
        at = data.find(b'"', end)
    return None


class CsvFile:
    """A CSV file, compressed or not."""

    n_rows: int | None = None
    types_from_text = True  # the first of several files sets the types for all

    def __init__(self, location: Location) -> None:
        self.location, self.name, self.one_shot = location, location.name, location.one_shot
        self._begun: list[Iterator[CsvPiece]] = []  # of a one-shot file: its pieces, until they are asked for
        self._texts: frozenset[str] = frozenset()
        self._markers: tuple[str, ...] = ()
        self._header: Header | None = None

    def _pieces(self) -> Iterator[CsvPiece]:
        try:
            with closing(unpacked(self.location)) as stream:
                yield from split_pieces(stream, self.name)
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            raise ValueError(f"{self.name} cannot be read to its end: {error}") from error

    def _first(self) -> tuple[Header, CsvPiece]:
        """The header and the rows of the first piece, which is not kept: of a thousand files that would be 4 GB."""
        pieces = self._begun.pop() if self._begun else self._pieces()
        first = next(pieces, None)
        if first is None or not len(first):
            raise ValueError(f"{self.name} is empty: it has not even a row of column names.")
        if self.one_shot:
            self._begun[:] = [itertools.chain([first], pieces)]
        header, rows = Header.of(first, self.name)
        self._header = replace(header, decimal=_decimal(rows.data, header.delimiter), markers=self._markers)
        return self._header, rows

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, of which only the first bytes are read where they suffice."""
        if self._header is not None or self.one_shot:
            return (self._header or self._first()[0]).names
        with closing(unpacked(self.location)) as stream:
            data = _without_mark(read_fully(stream, _TOP), self.name)
        end = _end_of_rows(data, False)
        return Header.of(CsvPiece(data[:end], 1), self.name)[0].names if end else self._first()[0].names

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types, as the first piece shows them, or as text where that was asked for."""
        if not self._texts:
            return self._guessed
        kinds = zip(self._guessed.names, self._guessed.types, strict=True)
        return pa.schema([(name, pa.string() if name in self._texts else kind) for name, kind in kinds])

    @cached_property
    def _guessed(self) -> pa.Schema:
        header, piece = self._first()
        if not len(piece):
            return pa.schema([(name, pa.null()) for name in header.names])
        try:
            table = _parse(piece.data, header, {}, quoted_newlines=piece.has_quoted_newline)
        except pa.ArrowInvalid as error:
            raise self._located(piece, header, {}, error) from None
        # Text that is not UTF-8 will be refused by line.
        kinds = [pa.string() if pa.types.is_binary(kind) else kind for kind in table.schema.types]
        return pa.schema(list(zip(header.names, kinds, strict=True)))

    def texts(self) -> dict[str, list[str]]:
        """The cells of the first rows as they are written; not of a file that can be read only once."""
        header, piece = self._first()
        rows = [_fields(row, header.delimiter) for row in piece.texts(0, _HEAD)]
        return dict(zip(header.names, map(list, zip(*rows, strict=False)), strict=False))

    def with_text(self, columns: Sequence[str]) -> CsvFile:
        """The same rows, with some columns as text whatever the first piece shows; rows to be had once stay so."""
        other = copy(self)
        other._texts = self._texts.union(columns)
        return other

    def with_na(self, markers: tuple[str, ...]) -> CsvFile:
        """The same rows, with the cells that hold one of the markers missing; quoted cells are text and stay."""
        other = copy(self)
        other._markers, other._header = markers, None
        other.__dict__.pop("_guessed", None)
        return other

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        """The pieces, with where each starts."""
        header = self._header or self._first()[0]
        check_columns_exist(wanted.names, header.names, self.name)
        for number, piece in enumerate(self._again()):
            rows = piece if number else Header.of(piece, self.name)[1]
            if len(rows):
                yield Unit(len(rows), partial(self._chunk, rows, header, wanted, start))
                start += len(rows)

    def _again(self) -> Iterator[CsvPiece]:
        if not self.one_shot:
            return self._pieces()
        if not self._begun:
            raise read_already(self.name)
        return self._begun.pop()

    def _chunk(self, piece: CsvPiece, header: Header, wanted: pa.Schema, start: int) -> Iterator[Chunk]:
        types = dict(zip(wanted.names, wanted.types, strict=True))
        table = _plain(piece, header, types)
        if table is not None:
            self._refuse_rounded(piece, header, table)
            yield Chunk(nw.from_native(table, eager_only=True), start, piece.place(self.name))
            return
        try:
            table = _parse(piece.data, header, types, quoted_newlines=piece.has_quoted_newline)
        except pa.ArrowInvalid:
            types = _widened(types)
            try:
                table = _parse(piece.data, header, types, quoted_newlines=piece.has_quoted_newline)
            except pa.ArrowInvalid as error:
                raise self._located(piece, header, types, error) from None
        if len(table) != len(piece):
            if _LONE_RETURN.search(piece.data):
                raise ValueError(f"A line of {self.name} from line {piece.line} on {_CARRIAGE_RETURN}")
            opened = _unpaired(piece.data, piece.line)
            cause = "" if opened is None else f": a quote in line {opened} is not closed"
            raise ValueError(f"The quotes of {self.name} do not pair up from line {piece.line} on{cause}.")
        self._refuse_rounded(piece, header, table)
        yield Chunk(nw.from_native(table.select(wanted.names), eager_only=True), start, piece.place(self.name))

    def _refuse_rounded(self, piece: CsvPiece, header: Header, table: pa.Table) -> None:
        """Refuse integers that float64 rounds: beyond 64 bits Arrow reads them as fractions."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            if not pa.types.is_floating(column.type):
                continue
            large = np.flatnonzero(beyond_float64(column.to_numpy()))
            if not len(large):
                continue
            cells = _parse(piece.data, header, {name: pa.string()}, quoted_newlines=piece.has_quoted_newline).column(0)
            for i in large.tolist():
                cell = cells[i].as_py().strip()
                if _INTEGER.fullmatch(cell) and (len(cell) > _MOST_DIGITS or int(cell) != float(cell)):
                    raise integer_refused(piece.place(self.name).where(i), name)

    def _located(self, piece: CsvPiece, header: Header, types: dict[str, pa.DataType], error: Exception) -> ValueError:
        """The error with the first row that cannot be read, found by halving."""

        def fails(first: int, last: int, types: dict[str, pa.DataType] = types) -> bool:
            try:
                _parse(piece.rows(first, last), header, types, quoted_newlines=piece.has_quoted_newline)
            except pa.ArrowInvalid:
                return True
            return False

        first, last = 0, len(piece)
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if fails(first, middle) else (middle, last)
        where = f"Line {piece.line_of(first)} of {self.name}"
        (row,) = piece.texts(first, first + 1)
        fields = _fields(row, header.delimiter)
        if row.count('"') % 2:
            return ValueError(f"{where} has a quote that is not closed.")
        if len(fields) != len(header.names):
            return ValueError(miscounted(where, fields, header.names, header.delimiter, top=first == 0))
        for name, kind in types.items():
            if fails(first, first + 1, {name: kind}):
                value = fields[header.names.index(name)]
                if pa.types.is_string(kind):
                    return ValueError(f"{where}, column {name!r}: {shown(value)} is not UTF-8. Save the file as UTF-8.")
                told = f"{where}, column {name!r}: {shown(value)} does not fit, the rows before hold {_kind(kind)}."
                if len(value) > _LONGEST_MARKER:
                    return ValueError(f"{told} Correct it, or leave the column out.")
                marker = f"give na_values=[{json.dumps(value)}] if it is missing"
                return ValueError(f"{told} Correct it, leave the column out, or {marker}.")
        return ValueError(f"{where} cannot be read: {error}")


@dataclass(frozen=True)
class Header:
    """The delimiter, the names of the columns, and the sign before fractions."""

    delimiter: str
    names: tuple[str, ...]
    decimal: str = "."
    markers: tuple[str, ...] = ()  # of missing values

    @staticmethod
    def of(piece: CsvPiece, file: str) -> tuple[Header, CsvPiece]:
        """The header that a first piece begins with, and the piece without it."""
        said = _SEPARATOR.fullmatch(piece.rows(0, 1).rstrip(b"\r\n"))
        top = 1 if said and len(piece) > 1 else 0
        delimiter = said[1].decode() if said and top else _delimiter(piece.texts(top, _SAMPLE))
        where = f"Line {piece.line_of(top)} of {file}"
        first = _first_row(piece.rows(top, top + 1), where, file)
        width = _width(first, delimiter)
        if width > _MOST_COLUMNS:
            raise ValueError(f"{where} names {width:,} columns; at most {_MOST_COLUMNS:,} are read. Leave some out.")
        if "\r" in _QUOTED.sub("", first):
            raise ValueError(f"{where} {_CARRIAGE_RETURN}")
        row = _fields(first, delimiter)
        if len(row) > 2 and sum(map(bool, map(str.strip, row))) == 1:
            raise ValueError(
                f"The first row of {file} names one of {len(row)} columns: remove what stands above the column names."
            )
        names = [name.strip() or f"column {j + 1}" for j, name in enumerate(row)]
        check_unique_names(names, file)
        if any(_is_measurement(name) for name in names) or _in_disorder(names):
            raise ValueError(f"The first row of {file} holds numbers: put a row of column names before it.")
        at = int(piece.starts[top + 1]) if len(piece) > top + 1 else len(piece.data)
        line = piece.line + piece.data.count(b"\n", 0, at)
        return Header(delimiter, tuple(names)), CsvPiece(piece.data[at:], line)


def _first_row(data: bytes, where: str, file: str) -> str:
    """The row of names as text; what is no CSV is refused by what it looks like."""
    try:
        text = data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError(f"{where}, the row of column names, is not UTF-8. Save the file as UTF-8.") from None
    if "\0" in text:
        raise ValueError(f"{where} holds zero bytes, as UTF-16 text does: save it as UTF-8.")
    if _JSON.match(text):
        raise ValueError(f"{file} holds JSON: convert it to CSV or Parquet.")
    if _MARKUP.match(text):
        raise ValueError(f"{file} is a page (HTML or XML), not a table: was it downloaded right? Save the data as CSV.")
    return text


def _decimal(data: bytes, delimiter: str) -> str:
    """The sign before fractions: a comma where it cannot be between thousands, and no field has a point instead.

    Beside 793,96 a point as in 811.692 stands between thousands: read as a fraction, the number would be 1000 times
    too small without a word. Such a column is text, which is doubted.
    """
    if delimiter == "," or b"," not in data:
        return "."
    end = re.escape(delimiter.encode())
    field = rb'(?:^|(?<=[%b\n]))"?[+-]?%%b(?:[eE][+-]?\d+)?"?(?=[%b\r\n]|$)' % (end, end)
    if not re.search(field % rb"(?:0?,\d+|\d+,(?:\d{1,2}|\d{4,})|\d{4,},\d+)", data):
        return "."
    fraction = rb"(?![1-9]\d{0,2}\.\d{3}(?![\deE]))\d*\.\d+"
    return "." if re.search(field % fraction, data) else ","


def _delimiter(rows: list[str]) -> str:
    """The delimiter that cuts the first rows into the most fields, the same number in each."""
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        counts = {_width(row, delimiter) for row in rows}
        if len(counts) == 1 and max(counts) > most:
            best, most = delimiter, max(counts)
    if most > 1:
        return best
    # Rows of different lengths: the first of them decides, and the others will be refused by line.
    first = rows[0].split("\n", 1)[0]
    return max(_DELIMITERS, key=first.count)


@cache
def _field(delimiter: str) -> re.Pattern[str]:
    """A field after its delimiter: what is in quotes, if it begins with one, and what follows them."""
    sign = re.escape(delimiter)
    return re.compile(rf"{sign}((?:{_QUOTED.pattern})?[^{sign}]*)")


def _fields(row: str, delimiter: str) -> list[str]:
    """The fields of a row. Python's csv module refuses those of more than 131,072 letters."""
    if '"' not in row:
        return row.split(delimiter)
    found = _field(delimiter).findall(delimiter + row)
    return [_unquoted(field) if field.startswith('"') else field for field in found]


def _unquoted(field: str) -> str:
    quoted = _QUOTED.match(field)
    assert quoted is not None
    inside = quoted[0][1:-1] if len(quoted[0]) > 1 and quoted[0].endswith('"') else quoted[0][1:]
    return inside.replace('""', '"') + field[quoted.end() :]


def _width(row: str, delimiter: str) -> int:
    """How many fields a row has."""
    return sum(1 for _ in _field(delimiter).finditer(delimiter + row)) if '"' in row else row.count(delimiter) + 1


def _is_measurement(name: str) -> bool:
    """Whether a name is a number with a fraction or a sign: 0, 1, 2 may well be names."""
    try:
        float(name)
    except ValueError:
        return False
    return not name.isdigit() and name.lower() not in ("nan", "inf", "infinity")


def _in_disorder(names: list[str]) -> bool:
    """Whether names are whole numbers that do not rise, as those of a measurement may."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    return any(int(a) >= int(b) for a, b in itertools.pairwise(names))


def _parse(data: bytes, header: Header, types: dict[str, pa.DataType], *, quoted_newlines: bool) -> pa.Table:
    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=list(header.names)
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=quoted_newlines),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            decimal_point=header.decimal,
            null_values=[*_NULLS, *header.markers],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


_NULLS = arrow_csv.ConvertOptions().null_values
_FIELDS = {pa.float64(): kernels.NUMBER, pa.int64(): kernels.WHOLE}


def _plain(piece: CsvPiece, header: Header, types: dict[str, pa.DataType]) -> pa.Table | None:
    """A piece in which all that is wanted are numbers, read by the kernel, three times faster; None if it is not."""
    if header.decimal != "." or not all(kind in _FIELDS for kind in types.values()):
        return None
    fields = [_FIELDS[types[name]] if name in types else kernels.SKIPPED for name in header.names]
    found = kernels.read_numbers(piece.data, header.delimiter, np.array(fields, dtype=np.int8), len(piece))
    if found is None:
        return None
    numbers, wholes = map(iter, found)
    columns = {
        name: next(numbers if field == kernels.NUMBER else wholes)
        for name, field in zip(header.names, fields, strict=True)
        if field != kernels.SKIPPED
    }
    return pa.table([columns[name] for name in types], names=list(types))


def _widened(types: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    return {name: pa.float64() if pa.types.is_integer(kind) else kind for name, kind in types.items()}


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return "numbers"
    if pa.types.is_boolean(kind):
        return "true and false"
    return "dates or times" if pa.types.is_temporal(kind) else str(kind)
