"""CSV text: rows that are nearly right, read in pieces of any size.

Whatever is accepted must be what Python's csv module and `float` read in the same text, cell by cell, and must not
depend on where the text was cut. Then the rows go to a fit, the front door or `linearly check`.
"""

from __future__ import annotations

import csv
import io
import zlib
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

import linearly as ly
from fuzz.mutation import mutated
from fuzz.run import Broken, Fuzzer, unlike_ours
from linearly.checks import inspect_table
from linearly.dataset.files import csv_text as text
from linearly.dataset.files.tables import file_tables

PIECES = (
    *(b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r\n", b"\r", b"\n\n", b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(b" ", b"NA", b"1e999"),
)
NAMES = ("a", "b", "c", "y", "net price", "é", "a b", "x.1", "", "1", "true", "id", "a", 'say "so"', "u,v", "null", "-")
NUMBERS = (
    *("1", "2", "-3", "0", "10", "0.5", "-2.25", "1e3", "1E-3", "+4", ".5", "5.", " 7", "8 ", "1e300", "-0.0"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "123456789012345678901234567890", "1e999"),
    *("0.1234567890123456789", "2.2250738585072e-308", "00012", "1_000", "1,5", "0x10", "inf", "-inf", "١", "1e-320"),
)
MISSING = ("", "NA", "NaN", "null", "N/A", "nan", "#N/A", "-", "None", "NULL", "n/a")
WORDS = ("red", "green", "blue", "", "é", "say 'hi'", 'a "quoted" word', "two\nlines", "u,v", "true", "NA", "1", " x ")
OTHERS = ("true", "false", "True", "FALSE", "2024-01-01", "2024-01-01 10:00:00", "10:00", "\x1b[31m", "x" * 3000)
# Arrow reads these as missing; in quotes they are text.
GAPS = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL")
) | frozenset(("NaN", "n/a", "nan", "null"))
TRUTH = {"1": True, "0": False, "true": True, "false": False}
SIZES = (7, 16, 50, 200, 2**22)


class Read(NamedTuple):
    """The table that was read, the rows in files of other pieces, and what came of using it."""

    table: pa.Table
    other: pa.Table | None
    errors: list[Exception]


def _cell(random: Random, kind: int) -> str:
    if random.random() < 0.04:
        kind = random.randrange(4)
    return random.choice((NUMBERS[:14], NUMBERS, WORDS, OTHERS, MISSING, NUMBERS[:3])[kind])


def draw(random: Random) -> bytes:
    delimiter = random.choice((",", ",", ",", ";", "\t", "|"))
    columns, rows = random.randrange(1, 5), random.randrange(0, 9)
    kinds = [random.choice((0, 0, 0, 0, 1, 2, 2, 3, 4, 5)) for _ in range(columns)]
    names = random.sample(NAMES, columns)
    ends = random.choice(("\n", "\n", "\n", "\r\n", "\r"))
    quoting = random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=ends, quoting=quoting)
    writer.writerow(names)
    for _ in range(rows):
        writer.writerow([_cell(random, kind) for kind in kinds])
    written = file.getvalue()
    if random.random() < 0.2:
        written = written.rstrip("\r\n")
    data = written.encode(random.choice(("utf-8", "utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")))
    return mutated(random, data, PIECES) if random.random() < 0.4 else data


def _read(data: bytes, size: int) -> tuple[Any, pa.Table]:
    before, text.PIECE = text.PIECE, size
    try:
        tables = file_tables(io.BytesIO(data))
        parts = [chunk.frame.to_native() for chunk in tables]
        # Whole numbers may go on as fractions: then all are, as in a fit.
        floats = {field.name for part in parts for field in part.schema if pa.types.is_floating(field.type)}
        return tables, pa.concat_tables([_with_floats(part, floats) for part in parts])
    finally:
        text.PIECE = before


def _with_floats(part: pa.Table, names: set[str]) -> pa.Table:
    for name in names:
        numbers = part[name].cast(pa.float64(), safe=False)
        part = part.set_column(part.column_names.index(name), name, numbers)
    return part


def attempt(data: bytes) -> Read:
    choice = zlib.crc32(data)
    size = SIZES[choice % 5]
    tables, table = _read(data, size)
    errors: list[Exception] = []
    other = None
    try:
        _, other = _read(data, SIZES[choice // 5 % 5])
    except Exception as error:
        errors.append(error)
    target = table.column_names[-1]
    try:
        match choice // 25 % 8:
            case 0:
                ly.LinearRegression(method="gram").fit(ly.scan(io.BytesIO(data), target=target))
            case 1:
                ly.fit(io.BytesIO(data), target=target, missing="drop", model="linear")
            case 2:
                inspect_table(tables, target)
            case 3:
                ly.fit(io.BytesIO(data), target=target, model="lda")
    except Exception as error:
        errors.append(error)
    return Read(table, other, errors)


def judge(data: bytes, found: Read) -> None:
    for error in found.errors:
        if unlike_ours(error) is not None:
            raise error
    table, other = found.table, found.other
    if other is not None and other.schema == table.schema and not _same(table, other):
        raise Broken("the rows depend on where the text is cut")
    rows = _by_python(data, table.column_names)
    if rows is None:
        return
    if len(rows) != len(table):
        raise Broken(f"{len(table)} rows, and {len(rows)} for Python: {rows}")
    for i, row in enumerate(rows):
        if len(row) != table.num_columns:
            raise Broken(f"row {i} has {len(row)} fields, and was accepted: {row}")
        cells = [column[i].as_py() for column in table.columns]
        for name, field, cell in zip(table.column_names, row, cells, strict=True):
            if not _agrees(field, cell):
                raise Broken(f"row {i}, column {name!r}: {cell!r}, where the text says {field!r}")


def _same(a: pa.Table, b: pa.Table) -> bool:
    return len(a) == len(b) and repr(a.to_pydict()) == repr(b.to_pydict())


def _agrees(field: str, cell: Any) -> bool:
    if cell is None:
        return field in GAPS
    if isinstance(cell, bool):
        return TRUTH.get(field.lower()) is cell
    if isinstance(cell, (int, float)):
        try:
            number = float(int(field, 16)) if field.strip().lower().startswith("0x") else float(field)
        except ValueError:
            return False
        return number == float(cell) if number == number else cell != cell
    if isinstance(cell, str):
        return field == cell
    return True  # dates and times have no twin here


def _by_python(data: bytes, names: list[str]) -> list[list[str]] | None:
    """The rows as the csv module reads them; None where it does not find these columns."""
    try:
        decoded = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    for delimiter in (",", ";", "\t", "|"):
        try:
            rows = [row for row in csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter) if row]
        except csv.Error:
            continue
        if rows and [name.strip() or f"column {j + 1}" for j, name in enumerate(rows[0])] == names:
            return rows[1:]
    return None


FUZZER = Fuzzer("csv", draw, attempt, judge)
