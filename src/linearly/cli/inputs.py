"""Open the data and model files of a command: count rows while they are read, hold some rows out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from linearly.cli.errors import suggest_files
from linearly.cli.progress import Progress
from linearly.cli.terminal import print_note

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Chunk, Tables

S = TypeVar("S")

own_process = False  # whether `main` runs as the command, not inside another program

_MAX_DENOMINATOR = 1000  # of the share of rows that is held out
_SAMPLE_BYTES = 2**20  # of a text file, from which its number of rows is estimated
_HEAD_BYTES = 4096  # of a file, in which its author is named
_OWN_FILES = {  # what the head of a file contains if linearly wrote it
    ".json": b'"linearly model"',
    ".html": b'name="generator" content="linearly ',
    ".htm": b'name="generator" content="linearly ',
    ".md": b"# Trust: promises",
}


def read_tables(data: str, progress: Progress) -> WatchedTables:
    """Return the tables of a path, a glob, a directory, a URL, or - for standard input."""
    from linearly.dataset.files.tables import file_tables

    if own_process:
        _limit_memory_of_pyarrow()
    try:
        tables = file_tables(_rereadable(data))
    except FileNotFoundError as failure:
        raise FileNotFoundError(f"{failure}{suggest_files(data)}") from None
    return WatchedTables(tables, progress, _estimate_rows(tables))


def _limit_memory_of_pyarrow() -> None:
    """Let pyarrow take memory from the system, and keep it from importing pandas at its first conversion.

    Its own memory pool keeps 6 to 45 MB that it does not use. pandas takes 0.4 s and 50 MB. pyarrow looks for it once,
    and a process in which no code but the command runs has no data frame to convert.
    """
    import pyarrow as pa

    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """A finder of modules for which pandas is not installed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}")


def load_model(path: str) -> Model:
    """Return the model in a file."""
    from linearly.api import load

    if not os.path.exists(path):
        raise FileNotFoundError(f"The model file {path} does not exist.{suggest_files(path)}")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory. Name a model file.")
    return load(path)


def check_output(path: str | None, *inputs: str | None, force: bool = False) -> None:
    """Raise if an output cannot or must not be written; called before any work.

    A model file or a page replaces only files of its own kind, unless `force` is set. For other formats, whose files
    do not name their author, a note announces the replacement.
    """
    if path is None:
        return
    from linearly.dataset.files.locations import check_not_overwriting

    check_not_overwriting(path, *inputs)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(
            f"{path} cannot be written, because the directory {folder} does not exist. Create it first."
        )
    if force or not os.path.isfile(path):
        return
    mark = next((mark for suffix, mark in _OWN_FILES.items() if path.lower().endswith(suffix)), None)
    if mark is None:
        print_note(f"{path} exists and will be replaced.")
    elif os.path.getsize(path) and mark not in _head(path):
        raise FileExistsError(f"{path} exists, and linearly did not write it. Name another file, or add --force.")


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_HEAD_BYTES)


def _rereadable(data: str) -> Any:
    """Return the path itself, or a temporary copy of a pipe, which can be read only once."""
    if data == "-":
        return _spool(sys.stdin.buffer, "standard input")
    if os.path.exists(data) and stat.S_ISFIFO(os.stat(data).st_mode):
        with open(data, "rb") as pipe:
            return _spool(pipe, data)
    return data


def _spool(stream: Any, name: str) -> Any:
    """Return a stream that can be read from the start again."""
    import shutil
    import tempfile

    if stream.seekable():
        return stream
    spool: Any = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process ends)
    shutil.copyfileobj(stream, spool)
    spool.seek(0)
    spool.raw.name = name
    return spool


def _estimate_rows(tables: Any) -> int | None:
    """Return the number of rows: as the files record it, or for text estimated from the length of the first lines."""
    known: int | None = getattr(tables, "n_rows", None)
    if known is not None:
        return known
    total = 0.0
    for file in getattr(tables, "files", ()):
        path = getattr(getattr(file, "location", None), "path", None)
        if path is None or not os.path.isfile(path) or not path.lower().endswith((".csv", ".tsv", ".txt")):
            return None
        head = file.location.head(_SAMPLE_BYTES)
        total += os.path.getsize(path) * head.count(b"\n") / max(len(head), 1)
    return round(total) or None


@dataclass
class _DerivedTables:
    """Tables made of other tables; which columns are read, and how, is passed on to those."""

    tables: Tables
    one_shot = False
    ordered = True
    n_partitions = None  # commands read files here

    def __post_init__(self) -> None:
        self.schema = self.tables.schema

    def reduce_partitions(self, f: Callable[[Iterable[Chunk]], S]) -> S:
        """Raise, because tables in this process have no partitions."""
        raise TypeError(f"{type(self).__name__} has no partitions. Call reduce on its rows.")

    def select(self, columns: Sequence[str]) -> Self:
        """Return the same rows with some of the columns."""
        return replace(self, tables=self.tables.select(columns))

    def with_text(self, columns: Sequence[str]) -> Self:
        """Return the same rows with some columns as text."""
        return replace(self, tables=self.tables.with_text(columns))

    def with_na(self, markers: tuple[str, ...]) -> Self:
        """Return the same rows with the cells missing that contain one of the markers."""
        from linearly.dataset.design.missing_markers import without_markers

        return replace(self, tables=without_markers(self.tables, markers))


@dataclass
class WatchedTables(_DerivedTables):
    """Tables that report every chunk that is read to a `Progress`."""

    progress: Progress
    expected: int | None = None

    def __iter__(self) -> Iterator[Chunk]:
        self.progress.begin(self.expected)
        for chunk in self.tables:
            yield chunk
            self.progress.advance(len(chunk))

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        """Return the sum of f over the chunks."""
        self.progress.begin(self.expected)
        return self.tables.reduce(_Watched(f, self.progress))


@dataclass(frozen=True)
class _Watched(Generic[S]):
    """A function of chunks that reports each of them to a `Progress`."""

    f: Callable[[Chunk], S]
    progress: Progress

    @property
    def takes_columns(self) -> bool:
        """Whether f takes columns."""
        from linearly.dataset.rows.column_matrix import takes_columns

        return takes_columns(self.f)

    def __call__(self, chunk: Chunk) -> S:
        value = self.f(chunk)
        self.progress.advance(len(chunk))
        return value


@dataclass
class SplitTables(_DerivedTables):
    """Rows that are held out, or the others: row i is held out if ⌊(i + 1) share⌋ > ⌊i share⌋."""

    share: Fraction
    held_out: bool

    def __iter__(self) -> Iterator[Chunk]:
        return map(self._pick, self.tables)

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        """Return the sum of f over the chunks."""
        from linearly.dataset.design.design import WithRowCounts

        def reduce_chunk(chunk: Chunk) -> WithRowCounts:
            some = self._pick(chunk)
            return WithRowCounts(f(some) if len(some) else None, len(chunk), len(some))

        total = self.tables.reduce(reduce_chunk)
        if not total.kept:
            raise ValueError(
                f"--holdout {float(self.share):g} of {total.rows:,} rows leaves no row on one side. Change the share."
            )
        value: S = total.value
        return value

    def _pick(self, chunk: Chunk) -> Chunk:
        """Return the rows of a chunk that belong to this side, with their origins."""
        import numpy as np

        from linearly.dataset.rows.block import SelectedOrigin

        number = chunk.start + np.arange(len(chunk) + 1, dtype=np.int64)
        before = number * self.share.numerator // self.share.denominator  # rows held out before each
        mine = (np.diff(before) > 0) == self.held_out
        start = int(before[0]) if self.held_out else chunk.start - int(before[0])
        name = "" if chunk.place is None else chunk.place.name
        origin = SelectedOrigin(name, before=chunk.where, rows=np.flatnonzero(mine))
        return replace(chunk.rows(mine), start=start, place=origin, kept=None)


def split_rows(tables: Tables, share: float) -> tuple[SplitTables, SplitTables]:
    """Return the rows to fit to, and those held out."""
    fraction = Fraction(share).limit_denominator(_MAX_DENOMINATOR)
    if not 0 < fraction < 1:
        raise ValueError(f"--holdout {share:g} is out of range. Use a share between 0.001 and 0.999.")
    return SplitTables(tables, fraction, False), SplitTables(tables, fraction, True)


def label_of(model: Model, text: str | None) -> Any:
    """Return the label of a model that is written like the text of --positive; None without a text."""
    if text is None:
        return None
    if not model.classes:
        raise ValueError(f"--positive requires labels, but the model predicts numbers ({model.target}). Remove it.")
    for label in model.classes:
        if str(label) == text:
            return label
    raise ValueError(f"{text!r} is not a label of the model. Choose one of {', '.join(map(str, model.classes[:12]))}.")
