"""Writing: to a file beside the one asked for, which takes its place when all is written. Tables, chunk by chunk.

A process that is killed on the way leaves such a file behind; the next one to write in that directory removes it. It
knows that nobody is writing it any more because the lock that a writer holds goes with its process.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from linearly.formatting import visible

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_STRAY = re.compile(r"\.linearly-[0-9a-f]{16}\.saving")
_ABANDONED = 3600.0  # seconds after which a file without locks counts as left behind


_FORMULA = re.compile(r"[=+\-@\t\r]")  # what a spreadsheet takes for the beginning of a formula
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_tables(
    path: str | os.PathLike[str], chunks: Iterable[Mapping[str, Any]], *, escape_formulas: bool = False
) -> int:
    """Write columns to a .parquet, .csv or .csv.gz file and return the number of rows.

    A chunk is a dict of NumPy or Arrow columns, None (in NumPy's also NaN) where a value is missing, which is null in
    Parquet and an empty field in CSV. The first chunk fixes the types, as far as it has values. Nothing is left behind
    where writing is interrupted, and a file that was there is kept. A link stays one, and the file that it leads to is
    written; into a pipe or a device the rows go as they come. With ``escape_formulas`` a CSV file is safe to open in a
    spreadsheet: see `without_formulas`.
    """
    given = os.fspath(path)
    opener = _opener(given)
    if escape_formulas:
        if not given.lower().endswith((".csv", ".csv.gz")):
            raise ValueError(
                f"{given}: only CSV has formulas to escape. Write to .csv or .csv.gz, or leave the option out."
            )
        chunks = map(without_formulas, chunks)
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
    with replacing(given, target) as beside:
        return _write(beside, opener, chunks)


@contextmanager
def replacing(path: str, target: str) -> Iterator[str]:
    """A new file beside the target, which takes its place in one step when all is written, or not at all.

    What goes wrong is said with the path that the user gave. Files that killed processes left there are removed first.
    """
    directory = os.path.dirname(target)
    kept = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    _remove_strays(directory)
    # Named before it is made: whenever an interrupt comes, what was made is known, and removed.
    beside = os.path.join(directory, f".linearly-{secrets.token_hex(8)}.saving")
    fd = -1
    try:
        with naming(path):
            while fd < 0:
                # Never open to more people than the file that was there; a new one is as the user's mask has it.
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
                fd = os.open(beside, flags, 0o666 if kept is None else kept | 0o600)
                if fcntl is not None:
                    fcntl.flock(fd, fcntl.LOCK_EX)
                    if not os.fstat(fd).st_nlink:  # taken for a stray between the two lines: once more
                        os.close(fd)
                        fd = -1
            yield beside
            os.fsync(fd)
            if kept is not None:
                os.chmod(beside, kept)
            if fcntl is None:
                os.close(fd)
                fd = -1
            os.replace(beside, target)  # under the lock: until then nobody takes it for a stray
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    finally:
        if fd >= 0:
            os.close(fd)
    _sync_directory(directory)


def _remove_strays(directory: str) -> None:
    with os.scandir(directory) as entries:
        strays = [one.path for one in entries if _STRAY.fullmatch(one.name) and one.is_file(follow_symlinks=False)]
    for stray in strays:
        with suppress(OSError):
            if fcntl is None:
                if time.time() - os.stat(stray).st_mtime > _ABANDONED:
                    os.unlink(stray)
                continue
            fd = os.open(stray, os.O_WRONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(stray)
            finally:
                os.close(fd)


def _sync_directory(directory: str) -> None:
    if os.name == "nt":
        return
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


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


def without_formulas(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Columns whose texts no spreadsheet runs: what looks like a formula begins with an apostrophe.

    Numbers stay, as columns and as texts. Control characters are written as `visible` writes them.
    """
    import pyarrow as pa

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
