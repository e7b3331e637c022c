"""Writing tables: chunk by chunk to a file beside the one asked for, which takes its place when all is written."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np


def write_tables(path: str | os.PathLike[str], chunks: Iterable[Mapping[str, Any]]) -> int:
    """Write columns to a .parquet, .csv or .csv.gz file and return the number of rows.

    A chunk is a dict of NumPy or Arrow columns, None (in NumPy's also NaN) where a value is missing, which is null in
    Parquet and an empty field in CSV. The first chunk fixes the types, as far as it has values. Nothing is left behind
    where writing is interrupted, and a file that was there is kept. A link stays one, and the file that it leads to is
    written; into a pipe or a device the rows go as they come.
    """
    given = os.fspath(path)
    opener = _opener(given)
    if os.path.exists(given) and not os.path.isfile(given) and not os.path.isdir(given):
        if not given.lower().endswith((".csv", ".csv.gz")):
            raise ValueError(
                f"{given} is a pipe or a device, and Parquet is not written in one go: use .csv or .csv.gz."
            )
        with naming(given):
            return _write(given, opener, chunks)
    target = os.path.realpath(given)
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise ValueError(f"{given}: there is no directory {os.path.dirname(given) or directory}.")
    kept = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    # Named before it is made: whenever an interrupt comes, what was made is known, and removed.
    beside = os.path.join(directory, f".{os.path.basename(target)}.{secrets.token_hex(8)}")
    try:
        with naming(given):
            # Never open to more people than the file that was there; a new one is as the user's mask has it.
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if kept is None else kept | 0o600))
            rows = _write(beside, opener, chunks)
            with open(beside, "rb+") as file:
                os.fsync(file.fileno())
            if kept is not None:
                os.chmod(beside, kept)
            os.replace(beside, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    return rows


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """What goes wrong with the disk, a full one above all, is said with the name of the file that was to be written."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        told = f"{os.strerror(error.errno)}, so nothing was written"
        raise OSError(error.errno, told, os.fspath(path)) from error


def _opener(path: str) -> Callable[[str, Any], Any]:
    """A function that opens a writer for a path and a schema, by the suffix."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("Reading and writing files needs pyarrow: pip install 'linearly[files]'.") from None
    name = path.lower()
    if name.endswith((".parquet", ".pq")):
        import pyarrow.parquet as pq

        return lambda beside, schema: pq.ParquetWriter(beside, schema)
    if name.endswith((".csv", ".csv.gz")):
        from pyarrow import csv

        packing = "gzip" if name.endswith(".gz") else None
        return lambda beside, schema: _Both(
            lambda stream: csv.CSVWriter(stream, _lines(schema), write_options=csv_options(schema)),
            pa.output_stream(beside, compression=packing),
        )
    raise ValueError(f"{path}: write to a file that ends in .parquet, .csv or .csv.gz.")


def without_blank_lines(table: Any) -> Any:
    """A table for CSV: what is missing in its only column is NA, since readers skip blank lines and lose the row."""
    import pyarrow as pa

    if _lines(table.schema).types != [pa.string()]:
        return table
    return table.set_column(0, table.schema.names[0], table.column(0).cast(pa.string()).fill_null("NA"))


def csv_options(schema: Any, *, header: bool = True) -> Any:
    """How tables of this schema are written: numbers that `without_blank_lines` made text go without quotes."""
    import pyarrow as pa
    from pyarrow import csv

    quoted = len(schema) != 1 or not pa.types.is_floating(schema.types[0])
    return csv.WriteOptions(include_header=header, quoting_style="needed" if quoted else "none")


def _lines(schema: Any) -> Any:
    """The schema of what `without_blank_lines` makes of a table."""
    import pyarrow as pa

    if len(schema) != 1 or not (pa.types.is_null(schema.types[0]) or pa.types.is_floating(schema.types[0])):
        return schema
    return pa.schema([(schema.names[0], pa.string())])


class _Both:
    """A writer that closes its stream too."""

    def __init__(self, opened: Callable[[Any], Any], stream: Any) -> None:
        self._stream = stream
        self._writer = opened(stream)

    def write_table(self, table: Any) -> None:
        self._writer.write_table(without_blank_lines(table))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._stream.close()


def _write(path: str, opener: Callable[[str, Any], Any], chunks: Iterable[Mapping[str, Any]]) -> int:
    import pyarrow as pa

    writer: Any = None
    schema: Any = None
    waiting: list[dict[str, Any]] = []  # chunks that came before every column had shown a value
    rows = 0

    def flush() -> None:
        nonlocal writer
        if writer is None:
            writer = opener(path, schema)
        for columns in waiting:
            writer.write_table(pa.table([_cast(columns[name], schema.field(name)) for name in schema.names], schema))
        waiting.clear()

    try:
        for chunk in chunks:
            columns = {str(name): as_arrow(values) for name, values in chunk.items()}
            if schema is None:
                schema = pa.schema([(name, column.type) for name, column in columns.items()])
            if list(columns) != schema.names:
                raise ValueError(f"A chunk has the columns {list(columns)}, the first had {schema.names}.")
            if writer is None:
                kinds = [columns[field.name].type if pa.types.is_null(field.type) else field.type for field in schema]
                schema = pa.schema(list(zip(schema.names, kinds, strict=True)))
            rows += len(next(iter(columns.values())))
            waiting.append(columns)
            if not any(pa.types.is_null(kind) for kind in schema.types):
                flush()
        if schema is None:
            raise ValueError("There is nothing to write: not one chunk.")
        flush()
    finally:
        if writer is not None:
            writer.close()
    return rows


def as_arrow(values: Any) -> Any:
    """A column of Arrow; NaN in one of NumPy, which has no other sign for it, is a missing value."""
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        kind = values.type
        return values.cast(kind.value_type) if pa.types.is_dictionary(kind) else values
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"A column has one value a row, not the shape {array.shape}.")
    return pa.array(array, from_pandas=True)


def _cast(column: Any, field: Any) -> Any:
    import pyarrow as pa

    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise ValueError(f"Column {field.name!r} began as {field.type} and goes on as {column.type}: {error}") from None
