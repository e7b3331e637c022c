"""Read CSV files: pieces of text are parsed on the threads that reduce them.

Names come from the first row and types from the first piece. Later values of another type raise an error that names
file, line and column, except that a column of integers may continue with fractions.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from functools import cached_property, partial

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from linearly import kernels
from linearly.dataset.files.csv_text import (
    CARRIAGE_RETURN,
    CsvPiece,
    Header,
    end_of_rows,
    field_count_error,
    find_decimal,
    first_unpaired_quote,
    split_fields,
    split_pieces,
    without_byte_order_mark,
)
from linearly.dataset.files.locations import Location, decompressed_stream, read_already, read_fully
from linearly.dataset.files.read_units import TableFile, Unit, check_columns_exist, raise_with_name
from linearly.dataset.rows.array_checks import beyond_float64
from linearly.dataset.rows.block import integer_refused
from linearly.dataset.rows.tables import Chunk
from linearly.formatting import shown

_NAMES_BYTES = 2**16  # in which the names of the columns are looked for
_FIRST_ROWS = 1000  # whose cells are returned as they are written
_MAX_MARKER_LENGTH = 20  # characters of a cell that may stand for a missing value
_MAX_DIGITS = 300  # of an integer that float64 may hold
_INTEGER = re.compile(r"[+-]?\d+")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_NULLS = arrow_csv.ConvertOptions().null_values
_NUMBER_FIELDS = {pa.float64(): kernels.NUMBER, pa.int64(): kernels.WHOLE}
Types = dict[str, pa.DataType]


class CsvFile(TableFile):
    """A CSV file, compressed or not."""

    guesses_types = True

    def __init__(self, location: Location) -> None:
        self.location, self.name, self.one_shot = location, location.name, location.one_shot
        self._unread: list[Iterator[CsvPiece]] = []  # the pieces of a one-shot file, until they are read
        self._text_columns: frozenset[str] = frozenset()
        self._markers: tuple[str, ...] = ()
        self._header: Header | None = None

    def _pieces(self) -> Iterator[CsvPiece]:
        problem = f"{self.name} cannot be read to its end"
        with raise_with_name(problem), closing(decompressed_stream(self.location)) as stream:
            yield from split_pieces(stream, self.name)

    def _read_first(self) -> tuple[Header, CsvPiece]:
        """Return the header and the rows of the first piece, which is not kept: a thousand files would take 4 GB."""
        pieces = self._unread.pop() if self._unread else self._pieces()
        first = next(pieces, None)
        if self.one_shot and first is not None:
            self._unread[:] = [itertools.chain([first], pieces)]
        header, rows = Header.of(first, self.name)
        decimal = find_decimal(rows.data, header.delimiter)
        self._header = replace(header, decimal=decimal, markers=self._markers)
        return self._header, rows

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the columns; only the first bytes are read if they suffice."""
        if self._header is None and not self.one_shot:
            with closing(decompressed_stream(self.location)) as stream:
                data = without_byte_order_mark(read_fully(stream, _NAMES_BYTES), self.name)
            if end := end_of_rows(data, False):
                return Header.of(CsvPiece(data[:end], 1), self.name)[0].names
        return (self._header or self._read_first()[0]).names

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns with the types of the first piece, or text where that was requested."""
        kinds = zip(self._guessed.names, self._guessed.types, strict=True)
        return pa.schema([(name, pa.string() if name in self._text_columns else kind) for name, kind in kinds])

    @cached_property
    def _guessed(self) -> pa.Schema:
        header, piece = self._read_first()
        if not len(piece):
            return pa.schema([(name, pa.null()) for name in header.names])
        try:
            types = _parse(piece, header, {}).schema.types
        except pa.ArrowInvalid as error:
            raise self._error_with_line(piece, header, {}, error) from None
        # Text that is not UTF-8 raises later, with its line.
        kinds = [pa.string() if pa.types.is_binary(kind) else kind for kind in types]
        return pa.schema(list(zip(header.names, kinds, strict=True)))

    def first_cells(self) -> dict[str, list[str]]:
        header, piece = self._read_first()
        rows = [split_fields(row, header.delimiter) for row in piece.texts(0, _FIRST_ROWS)]
        return dict(zip(header.names, map(list, zip(*rows, strict=False)), strict=False))

    def with_text(self, columns: Sequence[str]) -> CsvFile:
        other = copy(self)
        other._text_columns = self._text_columns.union(columns)
        other.__dict__.pop("schema", None)
        return other

    def with_na(self, markers: tuple[str, ...]) -> CsvFile:
        """Return the same rows with the cells that contain one of the markers missing; quoted cells stay text."""
        other = copy(self)
        other._markers, other._header = markers, None
        for cached in ("schema", "_guessed"):
            other.__dict__.pop(cached, None)
        return other

    def units(self, wanted: pa.Schema, start: int) -> Iterator[Unit]:
        header = self._header or self._read_first()[0]
        check_columns_exist(wanted.names, header.names, self.name)
        if self.one_shot and not self._unread:
            raise read_already(self.name)
        pieces = self._unread.pop() if self.one_shot else self._pieces()
        for number, piece in enumerate(pieces):
            rows = piece if number else Header.of(piece, self.name)[1]
            if len(rows):
                yield Unit(len(rows), partial(self._chunk, rows, header, wanted, start))
                start += len(rows)

    def _chunk(self, piece: CsvPiece, header: Header, wanted: pa.Schema, start: int) -> Iterator[Chunk]:
        types = dict(zip(wanted.names, wanted.types, strict=True))
        table = _parse_numbers(piece, header, types)
        if table is None:
            table = self._parse(piece, header, types)
        self._check_integers(piece, header, table)
        yield Chunk(nw.from_native(table.select(wanted.names), eager_only=True), start, piece.place(self.name))

    def _parse(self, piece: CsvPiece, header: Header, types: Types) -> pa.Table:
        try:
            table = _parse(piece, header, types)
        except pa.ArrowInvalid:
            types = {name: pa.float64() if pa.types.is_integer(kind) else kind for name, kind in types.items()}
            try:
                table = _parse(piece, header, types)
            except pa.ArrowInvalid as error:
                raise self._error_with_line(piece, header, types, error) from None
        if len(table) != len(piece):
            if _LONE_RETURN.search(piece.data):
                raise ValueError(f"A line of {self.name}, at or after line {piece.line}, {CARRIAGE_RETURN}")
            opened = first_unpaired_quote(piece.data, piece.line)
            cause = "" if opened is None else f": a quote in line {opened} is not closed"
            raise ValueError(
                f"The quotes of {self.name} are not balanced after line {piece.line}{cause}. Close the quote."
            )
        return table

    def _check_integers(self, piece: CsvPiece, header: Header, table: pa.Table) -> None:
        """Raise for integers that float64 rounds: beyond 64 bits Arrow reads them as fractions."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            if not pa.types.is_floating(column.type) or not (large := beyond_float64(column.to_numpy())).any():
                continue
            cells = _parse(piece, header, {name: pa.string()}).column(0)
            for i in np.flatnonzero(large).tolist():
                cell = cells[i].as_py().strip()
                if _INTEGER.fullmatch(cell) and (len(cell) > _MAX_DIGITS or int(cell) != float(cell)):
                    raise integer_refused(piece.place(self.name).where(i), name)

    def _error_with_line(self, piece: CsvPiece, header: Header, types: Types, error: Exception) -> ValueError:
        """Return the error with the first row that cannot be read, found by bisection."""

        def fails(first: int, last: int, types: Types = types) -> bool:
            try:
                _parse(piece, header, types, piece.rows(first, last))
            except pa.ArrowInvalid:
                return True
            return False

        first, last = 0, len(piece)
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if fails(first, middle) else (middle, last)
        where = f"Line {piece.line_of(first)} of {self.name}"
        (row,) = piece.texts(first, first + 1)
        fields = split_fields(row, header.delimiter)
        if row.count('"') % 2:
            return ValueError(f"{where} has a quote that is not closed. Close the quote.")
        if len(fields) != len(header.names):
            return ValueError(field_count_error(where, fields, header.names, header.delimiter, top=first == 0))
        for name, kind in types.items():
            if fails(first, first + 1, {name: kind}):
                return _value_error(f"{where}, column {name!r}", fields[header.names.index(name)], kind)
        return ValueError(f"{where} cannot be read: {error}")


def _value_error(where: str, value: str, kind: pa.DataType) -> ValueError:
    if pa.types.is_string(kind):
        return ValueError(f"{where}: {shown(value)} is not UTF-8. Save the file as UTF-8.")
    held = str(kind)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        held = "numbers"
    elif pa.types.is_boolean(kind):
        held = "true and false"
    elif pa.types.is_temporal(kind):
        held = "dates or times"
    problem = f"{where}: {shown(value)} is not of the column's type. The rows above contain {held}."
    if len(value) > _MAX_MARKER_LENGTH:
        return ValueError(f"{problem} Correct it, or leave the column out.")
    marker = f"pass na_values=[{json.dumps(value)}] if it is missing"
    return ValueError(f"{problem} Correct it, leave the column out, or {marker}.")


def _parse(piece: CsvPiece, header: Header, types: Types, data: bytes | None = None) -> pa.Table:
    """Return the columns in `types` (all if it is empty) of a piece, or of `data`, some of its rows."""
    data = piece.data if data is None else data
    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=list(header.names)
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=piece.has_quoted_newline),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            decimal_point=header.decimal,
            null_values=[*_NULLS, *header.markers],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _parse_numbers(piece: CsvPiece, header: Header, types: Types) -> pa.Table | None:
    """Parse a piece whose wanted columns are all numbers by the kernel, three times faster; None if it cannot."""
    if header.decimal != "." or not all(kind in _NUMBER_FIELDS for kind in types.values()):
        return None
    fields = [_NUMBER_FIELDS[types[name]] if name in types else kernels.SKIPPED for name in header.names]
    found = kernels.read_numbers(piece.data, header.delimiter, np.array(fields, dtype=np.int8), len(piece))
    if found is None:
        return None
    numbers, integers = map(iter, found)
    columns = {
        name: next(numbers if field == kernels.NUMBER else integers)
        for name, field in zip(header.names, fields, strict=True)
        if field != kernels.SKIPPED
    }
    return pa.table(columns)
