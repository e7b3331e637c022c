"""Data that a command is given: files or standard input, watched while they are read, some rows held out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from linearly.cli.errors import near_files
from linearly.cli.progress import Progress

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Chunk, Tables

S = TypeVar("S")

_FINEST = 1000  # a share is a fraction with at most this denominator
_SAMPLED = 2**20  # bytes of a text file by which its rows are estimated


def read(data: str, progress: Progress) -> WatchedTables:
    """The tables that a command is given by a path, a glob, a directory, a URL, or - for standard input."""
    from linearly.dataset.files.tables import file_tables

    try:
        tables = file_tables(_source(data))
    except FileNotFoundError as absent:
        raise FileNotFoundError(f"{absent}{near_files(data)}") from None
    return WatchedTables(tables, progress, _expected_rows(tables))


def load_model(path: str) -> Model:
    """The model in a file."""
    from linearly.api import load

    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no model file {path}.{near_files(path)}")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory: name a model file.")
    return load(path)


def refuse_output(path: str | None, *given: str | None) -> None:
    """Refuse a file to be written that is given to be read, or in a directory that there is not, before any work."""
    if path is None:
        return
    from linearly.dataset.files.locations import check_not_overwriting

    check_not_overwriting(path, *given)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(f"{path}: there is no directory {folder}.")


def _source(data: str) -> Any:
    """What is read: the path itself, or a temporary copy of what can be read only once, as pipes can."""
    if data == "-":
        return _twice(sys.stdin.buffer, "standard input")
    if os.path.exists(data) and stat.S_ISFIFO(os.stat(data).st_mode):
        with open(data, "rb") as pipe:
            return _twice(pipe, data)
    return data


def _twice(stream: Any, name: str) -> Any:
    """A stream that can be read from the start again."""
    import shutil
    import tempfile

    if stream.seekable():
        return stream
    spool: Any = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process ends)
    shutil.copyfileobj(stream, spool)
    spool.seek(0)
    spool.raw.name = name
    return spool


class WatchedTables:
    """Tables that tell a `Progress` of every chunk that is done."""

    one_shot = False

    def __init__(self, tables: Tables, progress: Progress, expected: int | None = None) -> None:
        self.tables, self.progress, self.expected = tables, progress, expected
        self.schema = tables.schema

    def __iter__(self) -> Iterator[Chunk]:
        self.progress.begin(self.expected)
        for chunk in self.tables:
            yield chunk
            self.progress.advance(len(chunk))

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        """The sum of f over the chunks."""
        self.progress.begin(self.expected)
        return self.tables.reduce(_Watched(f, self.progress))

    def select(self, columns: Sequence[str]) -> WatchedTables:
        """The same rows with some of the columns."""
        return WatchedTables(self.tables.select(columns), self.progress, self.expected)

    def with_text(self, columns: Sequence[str]) -> WatchedTables:
        """The same rows, with some columns as text."""
        return WatchedTables(self.tables.with_text(columns), self.progress, self.expected)

    def with_na(self, markers: tuple[str, ...]) -> WatchedTables:
        """The same rows, with the cells that hold one of the markers missing."""
        from linearly.dataset.design.missing_markers import without_markers

        return WatchedTables(without_markers(self.tables, markers), self.progress, self.expected)


@dataclass(frozen=True)
class _Watched(Generic[S]):
    """f, telling a progress of every chunk."""

    f: Callable[[Chunk], S]
    progress: Progress

    @property
    def takes_columns(self) -> bool:
        """Whether f does."""
        from linearly.dataset.rows.block import takes_columns

        return takes_columns(self.f)

    def __call__(self, chunk: Chunk) -> S:
        value = self.f(chunk)
        self.progress.advance(len(chunk))
        return value


def _expected_rows(tables: Any) -> int | None:
    """How many rows there will be: as files say, or for text by the length of the first lines."""
    known: int | None = getattr(tables, "n_rows", None)
    if known is not None:
        return known
    total = 0.0
    for file in getattr(tables, "files", ()):
        path = getattr(getattr(file, "location", None), "path", None)
        if path is None or not os.path.isfile(path) or not path.lower().endswith((".csv", ".tsv", ".txt")):
            return None
        head = file.location.head(_SAMPLED)
        total += os.path.getsize(path) * head.count(b"\n") / max(len(head), 1)
    return round(total) or None


class PickedTables:
    """Every so-many-th row of tables, or all the others: row i is held out where ⌊(i + 1) share⌋ > ⌊i share⌋."""

    one_shot = False

    def __init__(self, tables: Tables, share: Fraction, *, held: bool) -> None:
        self.tables, self.share, self.held = tables, share, held
        self.schema = tables.schema

    def __iter__(self) -> Iterator[Chunk]:
        return map(Pick(self.share, self.held), self.tables)

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        """The sum of f over the chunks."""
        from linearly.dataset.design.design import WithRowCounts

        pick = Pick(self.share, self.held)

        def picked(chunk: Chunk) -> WithRowCounts:
            some = pick(chunk)
            return WithRowCounts(f(some) if len(some) else None, len(chunk), len(some))

        total = self.tables.reduce(picked)
        if not total.kept:
            raise ValueError(f"--holdout {float(self.share):g} of {total.rows:,} rows leaves none on one side.")
        value: S = total.value
        return value

    def select(self, columns: Sequence[str]) -> PickedTables:
        """The same rows with some of the columns."""
        return PickedTables(self.tables.select(columns), self.share, held=self.held)

    def with_text(self, columns: Sequence[str]) -> PickedTables:
        """The same rows, with some columns as text."""
        return PickedTables(self.tables.with_text(columns), self.share, held=self.held)

    def with_na(self, markers: tuple[str, ...]) -> PickedTables:
        """The same rows, with the cells that hold one of the markers missing."""
        from linearly.dataset.design.missing_markers import without_markers

        return PickedTables(without_markers(self.tables, markers), self.share, held=self.held)


@dataclass(frozen=True)
class Pick:
    """The rows of a chunk that are held out, or those that are not, with their places."""

    share: Fraction
    held: bool

    def __call__(self, chunk: Chunk) -> Chunk:
        import numpy as np

        from linearly.dataset.rows.block import SelectedOrigin

        a, b = self.share.numerator, self.share.denominator
        number = chunk.start + np.arange(len(chunk) + 1, dtype=np.int64)
        before = number * a // b  # rows held out before each
        rows = np.flatnonzero((np.diff(before) > 0) == self.held)
        start = int(before[0]) if self.held else chunk.start - int(before[0])
        picked = chunk.rows(np.isin(np.arange(len(chunk)), rows))
        name = "" if chunk.place is None else chunk.place.name
        return replace(picked, start=start, place=SelectedOrigin(name, before=chunk.where, rows=rows), kept=None)


def split(tables: Tables, share: float) -> tuple[PickedTables, PickedTables]:
    """The rows to fit to, and those held out."""
    exact = Fraction(share).limit_denominator(_FINEST)
    if not 0 < exact < 1:
        raise ValueError(f"A share of {share:g} leaves nothing on one side: hold out between 0.001 and 0.999.")
    return PickedTables(tables, exact, held=False), PickedTables(tables, exact, held=True)
