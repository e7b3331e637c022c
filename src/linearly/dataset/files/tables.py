"""Read rows that are larger than memory: tables of Parquet, CSV and Arrow files, and of streams of Arrow batches.

One thread reads and reduces one unit at a time (a row group, a piece of text). Memory therefore does not grow with the
number of rows, and the order of merging does not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
from narwhals.exceptions import NarwhalsError

try:
    import pyarrow as pa
except ImportError:
    raise ImportError("pyarrow is required to read and write files. Run: pip install 'linearly[files]'.") from None

from linearly.dataset.design.missing_markers import MarkedTables
from linearly.dataset.files.arrow import ArrowTable, ParquetTable, arrow_stream, stream_from_arrow
from linearly.dataset.files.csv import CsvFile
from linearly.dataset.files.hive_partitions import with_keys
from linearly.dataset.files.locations import detect_format, locations_of
from linearly.dataset.files.parquet_pages import ReaderPool
from linearly.dataset.files.read_units import TableFile, Unit, check_columns_exist, plain_type, rows_in_chunk
from linearly.dataset.rows.column_matrix import takes_columns
from linearly.dataset.rows.reduce import MergeTree, reduce_blocks
from linearly.dataset.rows.tables import Chunk, Tables, check_columns_known

S = TypeVar("S")


def file_tables(source: Any) -> FileTables:
    """Return the tables of files; `linearly.scan` lists the accepted sources."""
    locations = locations_of(source)
    formats = [detect_format(location) for location in locations]
    files = list(zip(locations, formats, strict=True))
    if len(files) > 1:
        # A writer with nothing to write leaves an empty file behind, which has no rows.
        files = [(location, kind) for location, kind in files if location.head(1)] or files[:1]
    reader: dict[str, Callable[[Any], TableFile]] = {
        "parquet": partial(ParquetTable, among=len(locations), readers=ReaderPool()),
        "arrow": ArrowTable,
        "stream": arrow_stream,
        "csv": CsvFile,
    }
    return FileTables(with_keys([reader[kind](location) for location, kind in files], [one for one, _ in files]))


def stream_tables(data: Any) -> FileTables:
    """Return the tables of anything that gives Arrow batches: a batch reader, a DuckDB relation, a polars LazyFrame."""
    return FileTables([stream_from_arrow(data)])


class FileTables(Tables):
    """The rows of some files, one after another, with the columns of the schema `wanted`."""

    def __init__(self, files: Sequence[TableFile], wanted: pa.Schema | None = None) -> None:
        self.files = list(files)
        self.wanted = _common_schema(self.files) if wanted is None else wanted
        self.schema = _narwhals_types(self.wanted)
        self.one_shot = any(file.one_shot for file in self.files)

    @property
    def n_rows(self) -> int | None:
        """The number of rows if it is known without reading them."""
        counts = [file.n_rows for file in self.files]
        return sum(count for count in counts if count is not None) if None not in counts else None

    def select(self, columns: Sequence[str]) -> FileTables:
        check_columns_known(columns, self.schema)
        return FileTables(self.files, pa.schema([self.wanted.field(name) for name in dict.fromkeys(columns)]))

    def with_text(self, columns: Sequence[str]) -> FileTables:
        """Return the same rows with some columns as text, except those for which some file declares another type."""
        files = [file.with_text(columns) for file in self.files]
        declared = chain.from_iterable(file.schema for file in files if not file.guesses_types)
        texts = set(columns) - {field.name for field in declared if field.type != pa.string()}
        fields = [(one.name, pa.string() if one.name in texts else one.type) for one in self.wanted]
        return FileTables(files, pa.schema(fields))

    def with_na(self, markers: tuple[str, ...]) -> Tables:
        """Return the same rows, with the cells that contain one of the markers missing."""
        return MarkedTables(FileTables([file.with_na(markers) for file in self.files]), markers)

    def __iter__(self) -> Iterator[Chunk]:
        """Iterate over the chunks in order; one empty chunk if there are no rows."""
        empty = True
        for unit in self._units():
            for chunk in self._chunks(unit):
                empty = False
                yield chunk
        if empty:
            yield Chunk(nw.from_native(self.wanted.empty_table(), eager_only=True))

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        def reduce_unit(unit: Unit) -> S:
            tree: MergeTree[S] = MergeTree()
            for index, chunk in enumerate(unit.chunks() if takes_columns(f) else self._chunks(unit)):
                tree.add(index, f(chunk))
            return tree.total()

        units = self._units()
        first = next(units, None)
        if first is None:
            more = f" and {len(self.files) - 1} more files" if len(self.files) > 1 else ""
            raise ValueError(f"{self.files[0].name}{more} contains column names but no rows. Pass a file with rows.")
        return reduce_blocks((partial(_identity, unit) for unit in chain([first], units)), reduce_unit)

    def _units(self) -> Iterator[Unit]:
        _check_first_file_complete(self.files, self.wanted)
        _check_types_agree(self.files, self.wanted)
        start = 0
        for file in self.files:
            for unit in file.units(self.wanted, start):
                yield unit
                start += unit.rows

    def _chunks(self, unit: Unit) -> Iterator[Chunk]:
        """Iterate over the chunks of a unit, none so large that the numbers made of it leave the cache."""
        for chunk in unit.chunks():
            yield from chunk.pieces(rows_in_chunk(self.wanted))


def _identity(unit: Unit) -> Unit:
    return unit


def _files_with_types(files: Sequence[TableFile]) -> Iterator[TableFile]:
    """Iterate over the files whose types count: of CSV files only the first that has values in every column."""
    known = False
    for file in files:
        if not (file.guesses_types and known):
            yield file
        known = known or (file.guesses_types and not any(map(pa.types.is_null, file.schema.types)))


def _common_schema(files: Sequence[TableFile]) -> pa.Schema:
    """Return the columns of all files, in types that hold those of each; an empty column counts as numbers.

    A column that some file lacks is included, so that using it raises.
    """
    types: dict[str, pa.DataType] = {}
    for file in _files_with_types(files):
        for field in file.schema:
            known = types.setdefault(field.name, field.type)
            types[field.name] = _common_type(known, field.type) or known
    for file in files:
        for name in file.names:
            if name not in types:
                types[name] = file.schema.field(name).type
    return pa.schema(
        [(name, pa.float64() if pa.types.is_null(kind) else plain_type(kind)) for name, kind in types.items()]
    )


def _check_first_file_complete(files: Sequence[TableFile], wanted: pa.Schema) -> None:
    """Raise for a column that the first file lacks; name a file that has it."""
    given = set(files[0].names) if len(files) > 1 else set(wanted.names)
    lacking = [name for name in wanted.names if name not in given]
    if not lacking:
        return
    for file in files[1:]:
        # A file that lacks columns of the first is the likelier mistake, such as a note among tables.
        check_columns_exist([name for name in wanted.names if name in given], file.names, file.name)
    has = next(file.name for file in files if lacking[0] in file.names)
    raise ValueError(
        f"Column {lacking[0]!r} is in {has}, but not in {files[0].name}. Leave it out, or add it to every file."
    )


def _check_types_agree(files: Sequence[TableFile], wanted: pa.Schema) -> None:
    """Raise for a column that is text in one file and numbers in another."""
    for file in _files_with_types(files):
        types = dict(zip(file.schema.names, file.schema.types, strict=True))
        for field in wanted:
            own = types.get(field.name, field.type)
            if own != field.type and _common_type(field.type, own) != field.type:
                raise ValueError(
                    f"Column {field.name!r} is {field.type} in {files[0].name} but {own} in {file.name}. Convert one "
                    "of them, or leave the column out."
                )


def _common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return a type that holds the values of both; None if there is none."""
    a, b = plain_type(a), plain_type(b)
    if a == b:
        return a
    if pa.types.is_dictionary(a) or pa.types.is_dictionary(b):
        return _common_type(getattr(a, "value_type", a), getattr(b, "value_type", b))
    try:
        joined = pa.unify_schemas([pa.schema([("", a)]), pa.schema([("", b)])], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    return joined.field(0).type


def _narwhals_types(schema: pa.Schema) -> dict[str, nw.dtypes.DType]:
    """Return the columns with their types as narwhals names them; raise for a column of an unknown type."""
    try:
        types: dict[str, nw.dtypes.DType] = dict(nw.from_native(schema.empty_table(), eager_only=True).schema)
        # narwhals takes any dictionary for categories; those of lists and structs are not.
        coded = [field for field in schema if pa.types.is_dictionary(field.type)]
        return types | {one.name: nw.Unknown() for one in coded if pa.types.is_nested(one.type.value_type)}
    except (ValueError, NarwhalsError) as error:
        if len(schema) > 1:
            return {field.name: _narwhals_types(pa.schema([field]))[field.name] for field in schema}
        raise ValueError(
            f"Column {schema.names[0]!r} is {schema.types[0]}, which cannot be read: {error}. Convert the column."
        ) from None
