"""Write columns to Parquet and CSV files, chunk by chunk.

A file is replaced in one step when all is written (`atomic_file`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

try:
    import pyarrow as pa
except ImportError:
    raise ImportError("pyarrow is required to read and write files. Run: pip install 'linearly[files]'.") from None
from pyarrow import csv, parquet

from linearly.dataset.files.atomic_file import raise_with_path, replace_file
from linearly.formatting import visible

_FORMULA = re.compile(r"[=+\-@\t\r]")  # what a spreadsheet takes for the beginning of a formula
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CSV = (".csv", ".csv.gz")


def write_tables(
    path: str | os.PathLike[str], chunks: Iterable[Mapping[str, Any]], *, escape_formulas: bool = False
) -> int:
    """Write columns to a .parquet, .csv or .csv.gz file and return the number of rows.

    The first chunk decides the types of the columns that have values in it. If writing is interrupted, nothing is left
    behind and an existing file is kept. If the path is a link, the file that it leads to is written. Rows are written
    into a pipe or a device as they come.

    Parameters
    ----------
    path : str or PathLike
        The file to write.
    chunks : iterable of dict
        NumPy or Arrow columns by name. None, and NaN in NumPy columns, is a missing value: null in Parquet and an empty
        field in CSV.
    escape_formulas : bool, default=False
        Make a CSV file safe to open in a spreadsheet: see `without_formulas`.

    Returns
    -------
    int
        The number of rows written.
    """
    given = os.fspath(path)
    open_writer = _writer_for(given)
    is_csv = given.lower().endswith(_CSV)
    if escape_formulas:
        if not is_csv:
            raise ValueError(
                f"{given} is not a CSV file, so formulas in it cannot be escaped. Write to .csv or .csv.gz, or "
                "leave the option out."
            )
        chunks = map(without_formulas, chunks)
    if os.path.exists(given) and not os.path.isfile(given) and not os.path.isdir(given):
        if not is_csv:
            raise ValueError(
                f"{given} is a pipe or a device, to which Parquet cannot be written. Write to .csv or .csv.gz."
            )
        with raise_with_path(given):
            return _write(given, open_writer, chunks)
    target = os.path.realpath(given)
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise ValueError(
            f"{given} cannot be written, because the directory {os.path.dirname(given) or directory} does not "
            "exist. Create it first."
        )
    with replace_file(given, target) as temporary:
        return _write(temporary, open_writer, chunks)


def _writer_for(path: str) -> Callable[[str, Any], Any]:
    """Return the function that opens a writer for a path and a schema, by the suffix of the path."""
    name = path.lower()
    if name.endswith((".parquet", ".pq")):
        return parquet.ParquetWriter  # type: ignore[no-any-return]
    if name.endswith(_CSV):
        compression = "gzip" if name.endswith(".gz") else None
        return lambda temporary, schema: _CsvWriter(pa.output_stream(temporary, compression=compression), schema)
    raise ValueError(f"{path} has an unknown ending. Write to a file that ends in .parquet, .csv or .csv.gz.")


class _CsvWriter:
    """A CSV writer that also closes its stream."""

    def __init__(self, stream: Any, schema: Any) -> None:
        self._stream = stream
        self._writer = csv.CSVWriter(stream, _csv_schema(schema), write_options=csv_options(schema))

    def write_table(self, table: Any) -> None:
        self._writer.write_table(without_blank_lines(table))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._stream.close()


def without_formulas(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns that no spreadsheet executes: an apostrophe precedes text that looks like a formula.

    Numbers stay, as columns and as texts. Control characters are escaped as `visible` does.
    """

    def escaped(values: Any) -> Any:
        column = as_arrow(values)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return column
        coded = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
        coded = coded.combine_chunks().dictionary_encode()
        texts = [None if text is None else _inert(text) for text in coded.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(coded.indices)

    return {_inert(str(name)): escaped(values) for name, values in chunk.items()}


def _inert(text: str) -> str:
    formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return visible(f"'{text}" if formula else text)


def without_blank_lines(table: Any) -> Any:
    """Return a table for CSV: NA replaces missing values of an only column, since readers skip blank lines."""
    if _csv_schema(table.schema).types != [pa.string()]:
        return table
    return table.set_column(0, table.schema.names[0], table.column(0).cast(pa.string()).fill_null("NA"))


def csv_options(schema: Any, *, header: bool = True) -> Any:
    """Return how tables of this schema are written; numbers that `without_blank_lines` made text get no quotes."""
    quoted = len(schema) != 1 or not pa.types.is_floating(schema.types[0])
    return csv.WriteOptions(include_header=header, quoting_style="needed" if quoted else "none")


def _csv_schema(schema: Any) -> Any:
    """Return the schema of the tables that `without_blank_lines` returns."""
    if len(schema) != 1 or not (pa.types.is_null(schema.types[0]) or pa.types.is_floating(schema.types[0])):
        return schema
    return pa.schema([(schema.names[0], pa.string())])


def _write(path: str, open_writer: Callable[[str, Any], Any], chunks: Iterable[Mapping[str, Any]]) -> int:
    writer: Any = None
    types: dict[str, Any] = {}
    waiting: list[dict[str, Any]] = []  # chunks that came before every column had a value
    rows = 0

    def flush() -> None:
        nonlocal writer
        schema = pa.schema(list(types.items()))
        writer = open_writer(path, schema) if writer is None else writer
        for columns in waiting:
            writer.write_table(pa.table([_cast(columns[field.name], field) for field in schema], schema))
        waiting.clear()

    try:
        for chunk in chunks:
            columns = {str(name): as_arrow(values) for name, values in chunk.items()}
            if list(columns) != list(types or columns):
                raise ValueError(
                    f"A chunk has the columns {list(columns)}, but the first had {list(types)}. Write "
                    "the same columns in every chunk."
                )
            for name, column in columns.items():
                if pa.types.is_null(types.get(name, pa.null())):
                    types[name] = column.type
            rows += len(next(iter(columns.values())))
            waiting.append(columns)
            if not any(map(pa.types.is_null, types.values())):
                flush()
        if not types:
            raise ValueError("The sequence of chunks is empty. Pass at least one chunk.")
        flush()
    finally:
        if writer is not None:
            writer.close()
    return rows


def as_arrow(values: Any) -> Any:
    """Return an Arrow column; NaN in a NumPy column, which has no other sign for it, is a missing value."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        kind = values.type
        return values.cast(kind.value_type) if pa.types.is_dictionary(kind) else values
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"The column must have one value per row, not the shape {array.shape}. Pass one dimension.")
    return pa.array(array, from_pandas=True)


def _cast(column: Any, field: Any) -> Any:
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"Column {field.name!r} is {field.type} in the first chunk and {column.type} in a later one: "
            f"{str(error).rstrip('.')}. Convert it to one type."
        ) from None
