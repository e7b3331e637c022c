"""Files: rows larger than memory, read where they are and folded by a few threads.

`scan` gives rows that every estimator's `fit` takes. Underneath, `file_tables` makes `Tables` of Parquet, CSV and Arrow
files, `stream_tables` of anything that gives Arrow batches. One thread reads and folds one unit at a time (a row group,
a piece of text), so memory does not grow with the number of rows, and the order of merging does not depend on threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals.stable.v2 as nw
from narwhals.exceptions import NarwhalsError

from linearly.dataset.rows.block import takes_columns
from linearly.dataset.rows.reduce import MergeTree, reduce_blocks
from linearly.dataset.rows.tables import Chunk, Tables, known_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from linearly.dataset.files.read_units import TableFile, Unit

S = TypeVar("S")


def file_tables(source: Any) -> Tables:
    """Return the tables of files; `linearly.scan` lists what may be given."""
    arrow_needed()
    from linearly.dataset.files.arrow import ArrowTable, ParquetTable, arrow_stream
    from linearly.dataset.files.csv import CsvFile
    from linearly.dataset.files.hive_partitions import with_keys
    from linearly.dataset.files.locations import detect_format, locations_of
    from linearly.dataset.files.parquet_pages import ReaderPool

    locations = locations_of(source)
    reader: dict[str, Callable[[Any], TableFile]] = {
        "parquet": partial(ParquetTable, among=len(locations), readers=ReaderPool()),
        "arrow": ArrowTable,
        "stream": arrow_stream,
        "csv": CsvFile,
    }
    formats = [detect_format(location) for location in locations]
    if len(locations) > 1:
        # A writer with nothing to write leaves an empty file behind: it holds no rows, among others that do.
        kept = [(place, kind) for place, kind in zip(locations, formats, strict=True) if place.head(1)]
        locations, formats = [place for place, _ in kept] or locations[:1], [kind for _, kind in kept] or formats[:1]
    files = [reader[kind](location) for location, kind in zip(locations, formats, strict=True)]
    return FileTables(with_keys(files, locations))


def stream_tables(data: Any) -> Tables:
    """Tables of anything that gives Arrow batches: a record batch reader, a DuckDB relation, a polars LazyFrame."""
    arrow_needed()
    from linearly.dataset.files.arrow import stream_from_arrow

    return FileTables([stream_from_arrow(data)])


def arrow_needed() -> None:
    """Say which extra is missing where pyarrow is."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError("Reading and writing files needs pyarrow: pip install 'linearly[files]'.") from None


@dataclass
class Hook:
    """What is told of progress; shared by tables and all their selections."""

    call: Callable[[int], None] | None = None


class FileTables:
    """The rows of some files, one after another.

    `n_rows` is their number where the files say it, else None. `on_progress`, if set, is called with the number of rows
    of each chunk after it was folded, from the thread that folded it. Rows of a `one_shot` source can be had once.
    """

    def __init__(self, files: Sequence[TableFile], wanted: pa.Schema | None = None, hook: Hook | None = None) -> None:
        self.files = list(files)
        self.wanted = _common(self.files) if wanted is None else wanted
        self.schema = _kinds(self.wanted)
        self.one_shot = any(file.one_shot for file in self.files)
        self._hook = Hook() if hook is None else hook

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""
        counts = [file.n_rows for file in self.files]
        return sum(count for count in counts if count is not None) if None not in counts else None

    @property
    def on_progress(self) -> Callable[[int], None] | None:
        """What is called with the number of rows of a chunk that is done."""
        return self._hook.call

    @on_progress.setter
    def on_progress(self, call: Callable[[int], None] | None) -> None:
        self._hook.call = call

    def select(self, columns: Sequence[str]) -> FileTables:
        """The same rows with some of the columns."""
        import pyarrow as pa

        known_columns(columns, self.schema)
        wanted = pa.schema([self.wanted.field(name) for name in dict.fromkeys(columns)])
        return FileTables(self.files, wanted, self._hook)

    def with_text(self, columns: Sequence[str]) -> FileTables:
        """The same rows, with some columns as text, but for those of which some file says another type."""
        import pyarrow as pa

        given: list[Any] = self.files
        files = [file.with_text(columns) if hasattr(file, "with_text") else file for file in given]
        said = [file.schema for file in files if not hasattr(file, "types_from_text")]
        others = {one.name for schema in said for one in schema if one.type != pa.string()}
        texts = set(columns) - others
        fields = [(one.name, pa.string() if one.name in texts else one.type) for one in self.wanted]
        return FileTables(files, pa.schema(fields), self._hook)

    def with_na(self, markers: tuple[str, ...]) -> Tables:
        """The same rows, with the cells that hold one of the markers missing."""
        from linearly.dataset.design.missing_markers import MarkedTables

        given: list[Any] = self.files
        files = [file.with_na(markers) if hasattr(file, "with_na") else file for file in given]
        return MarkedTables(FileTables(files, hook=self._hook), markers)

    def __iter__(self) -> Iterator[Chunk]:
        """The chunks in order, one empty chunk if there are no rows."""
        empty = True
        for unit in self._units():
            for chunk in self._chunks(unit):
                empty = False
                yield chunk
                self._done(chunk)
        if empty:
            yield Chunk(nw.from_native(self.wanted.empty_table(), eager_only=True))

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        def reduced(unit: Unit) -> S:
            tree: MergeTree[S] = MergeTree()
            for index, chunk in enumerate(unit.chunks() if takes_columns(f) else self._chunks(unit)):
                tree.add(index, f(chunk))
                self._done(chunk)
            return tree.total()

        units = self._units()
        first = next(units, None)
        if first is None:
            raise ValueError(f"There are no rows in {self._named()}, only column names.")
        return reduce_blocks((_bringing(unit) for unit in _chained(first, units)), reduced)

    def _units(self) -> Iterator[Unit]:
        _refuse_lacking(self.files, self.wanted)
        _refuse_conflicts(self.files, self.wanted)
        start = 0
        for file in self.files:
            for unit in file.units(self.wanted, start):
                yield unit
                start += unit.rows

    def _chunks(self, unit: Unit) -> Iterator[Chunk]:
        """The chunks of a unit, none so large that the numbers made of it leave the cache."""
        from linearly.dataset.files.read_units import rows_in_chunk

        for chunk in unit.chunks():
            yield from chunk.pieces(rows_in_chunk(self.wanted))

    def _done(self, chunk: Chunk) -> None:
        if self._hook.call is not None:
            self._hook.call(len(chunk))

    def _named(self) -> str:
        return self.files[0].name + (f" and {len(self.files) - 1} more files" if len(self.files) > 1 else "")


def _bringing(unit: Unit) -> Callable[[], Unit]:
    return lambda: unit


def _chained(first: Unit, rest: Iterator[Unit]) -> Iterator[Unit]:
    yield first
    yield from rest


def _typed(files: Sequence[TableFile]) -> Iterator[TableFile]:
    """The files that say their types: of CSV files the first that has values, whose types the others are read in."""
    import pyarrow as pa

    known = False
    for file in files:
        text = hasattr(file, "types_from_text")
        if not (text and known):
            yield file
        known = known or (text and not any(map(pa.types.is_null, file.schema.types)))


def _common(files: Sequence[TableFile]) -> pa.Schema:
    """The columns of all files, in types that hold those of each; one that is empty counts as numbers.

    A column that some file lacks is among them, so that it is refused where it is used, and not ignored.
    """
    import pyarrow as pa

    from linearly.dataset.files.read_units import plain_type

    kinds: dict[str, pa.DataType] = {}
    for file in _typed(files):
        for field in file.schema:
            known = kinds.setdefault(field.name, field.type)
            kinds[field.name] = _wider(known, field.type) or known
    for file in files:
        for name in _names(file):
            if name not in kinds:
                kinds[name] = file.schema.field(name).type
    known = {name: pa.float64() if pa.types.is_null(kind) else plain_type(kind) for name, kind in kinds.items()}
    return pa.schema(list(known.items()))


def _names(file: Any) -> Sequence[str]:
    """The columns of a file; of a text file only its first rows are read for them."""
    names: Sequence[str] = file.names if hasattr(file, "names") else file.schema.names
    return names


def _refuse_lacking(files: Sequence[TableFile], wanted: pa.Schema) -> None:
    """Refuse a column that the first file lacks, by the name of a file that has it."""
    from linearly.dataset.files.read_units import check_columns_exist

    if len(files) < 2 or not (lacking := [name for name in wanted.names if name not in _names(files[0])]):
        return
    given = set(_names(files[0]))
    for file in files[1:]:
        # A file that lacks columns of the first is what is amiss, such as a note among tables.
        check_columns_exist([name for name in wanted.names if name in given], _names(file), file.name)
    has = next(file.name for file in files if lacking[0] in _names(file))
    raise ValueError(
        f"Column {lacking[0]!r} is in {has}, but not in {files[0].name}. Leave it out, or add it to every file."
    )


def _kinds(schema: pa.Schema) -> dict[str, nw.dtypes.DType]:
    """The columns and their kinds; one of a kind that nobody knows is refused by name."""
    import pyarrow as pa

    try:
        kinds: dict[str, nw.dtypes.DType] = dict(nw.from_native(schema.empty_table(), eager_only=True).schema)
        # A data frame takes any dictionary for categories; those of lists and structs are none.
        coded = [field for field in schema if pa.types.is_dictionary(field.type)]
        return kinds | {one.name: nw.Unknown() for one in coded if pa.types.is_nested(one.type.value_type)}
    except (ValueError, NarwhalsError) as error:
        if len(schema) > 1:
            return {field.name: _kinds(pa.schema([field]))[field.name] for field in schema}
        raise ValueError(f"Column {schema.names[0]!r} is {schema.types[0]}, which cannot be read: {error}.") from None


def _wider(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both; None if there is none."""
    import pyarrow as pa

    from linearly.dataset.files.read_units import plain_type

    a, b = plain_type(a), plain_type(b)
    if a == b:
        return a
    if pa.types.is_dictionary(a) or pa.types.is_dictionary(b):
        return _wider(getattr(a, "value_type", a), getattr(b, "value_type", b))
    try:
        joined = pa.unify_schemas([pa.schema([("", a)]), pa.schema([("", b)])], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    return joined.field(0).type


def _refuse_conflicts(files: Sequence[TableFile], wanted: pa.Schema) -> None:
    """Refuse columns that are text in one file and numbers in another, by the names of both."""
    for file in _typed(files):
        known = file.schema
        for field in wanted:
            at = known.get_field_index(field.name)
            if at < 0 or known.field(at).type == field.type:
                continue
            if _wider(field.type, known.field(at).type) != field.type:
                raise ValueError(
                    f"Column {field.name!r} is {field.type} in {files[0].name} and {known.field(at).type} in "
                    f"{file.name}: make them alike, or leave the column out."
                )
