"""Tables: named columns as users have them, wherever they are stored.

A `Chunk` contains consecutive rows of a table as a narwhals data frame. `Tables` yields chunks in order, or applies a
function to each and adds the results, as `Rows` does with blocks of numbers. A `Design` turns chunks into blocks, and
`as_tables` turns whatever has columns into `Tables`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import RowOrigin, as_frame, in_words
from linearly.dataset.rows.object_columns import convert_object_columns
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.formatting import list_first

S = TypeVar("S")

_ROWS = 2**16  # in a chunk of a frame


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a table: a data frame, the index of its first row, and the origin of that row.

    Where rows were left out, `kept` says which of the consecutive ones these are. Rows of weight 0 are `absent`: they
    keep their place, and may have levels that the design does not contain.
    """

    frame: nw.DataFrame[Any]
    start: int = 0
    place: RowOrigin | None = None
    kept: NDArray[np.intp] | None = None
    absent: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.frame)

    def where(self, i: int) -> str:
        """Return row i of the chunk in words."""
        return in_words(i, self.start, self.place, self.kept)

    def pieces(self, step: int) -> Iterator[Chunk]:
        """Yield the chunk in pieces of `step` rows; itself if it has no more."""
        if len(self) <= step:
            yield self
            return
        for at in range(0, len(self), step):
            place = None if self.place is None else self.place.after(at)
            kept = None if self.kept is None else self.kept[at : at + step] - at
            yield Chunk(self.frame[at : at + step], self.start + at, place, kept)

    def rows(self, keep: Any) -> Chunk:
        """Return the chunk with only the rows where `keep` holds."""
        kept = np.flatnonzero(keep) if self.kept is None else self.kept[keep]
        return replace(self, frame=self.frame.filter(keep.tolist()), kept=kept)


class Tables(Protocol):
    """Named, typed columns that can be walked in order or reduced where they are stored."""

    schema: dict[str, nw.dtypes.DType]
    one_shot: bool = False  # whether the rows can be read only once
    ordered: bool = True  # whether the order of the rows is that of the data

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks in order; each call is a new pass."""
        ...

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        """Return the sum of f over the chunks, merged in a fixed order."""
        ...

    def select(self, columns: Sequence[str]) -> Tables:
        """Return the same rows with some of the columns; the others are not read."""
        ...

    def with_text(self, columns: Sequence[str]) -> Tables:
        """Return the same rows with some columns as text, if their types are guessed from the rows (CSV files).

        A file may contain only 1 and 2 of the levels 1, 2 and X; these are text too. Columns that are absent, and
        tables that declare their types, stay as they are.
        """
        return self

    @property
    def n_partitions(self) -> int | None:
        """Return the number of partitions on a cluster; None for tables in this process."""
        return None

    def reduce_partitions(self, f: Callable[[Iterable[Chunk]], S]) -> S:
        """Return the sum of f over the partitions, each given as its chunks in order."""
        raise TypeError(f"{type(self).__name__} has no partitions. Pass rows on a Dask or Spark cluster.")


class FrameTables(Tables):
    """A data frame in this process: pandas, polars, Arrow, or any other that narwhals supports."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame if isinstance(frame, nw.DataFrame) else convert_object_columns(as_frame(_named(frame)))
        self.schema = dict(self.frame.schema)

    def __len__(self) -> int:
        return len(self.frame)

    def _chunk(self, start: int) -> Chunk:
        return Chunk(self.frame[start : start + _ROWS], start)

    def __iter__(self) -> Iterator[Chunk]:
        return map(self._chunk, range(0, max(len(self.frame), 1), _ROWS))

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        return reduce_blocks((partial(self._chunk, start) for start in range(0, max(len(self.frame), 1), _ROWS)), f)

    def select(self, columns: Sequence[str]) -> FrameTables:
        return FrameTables(self.frame.select(list(columns)))


def _named(frame: Any) -> Any:
    """Return the frame with strings as column names; pandas may have numbers, or tuples of several levels."""
    if nw.dependencies.is_pandas_dataframe(frame) and not all(isinstance(name, str) for name in frame.columns):
        return frame.set_axis(list(map(str, frame.columns)), axis=1)
    return frame


def _spelt_alike(name: str, known: str) -> bool:
    """Return whether a user may have meant the other name: 'yy' for 'y', but not 'target' for 'age'."""
    from difflib import SequenceMatcher

    return name[:1].lower() == known[:1].lower() or SequenceMatcher(None, name, known).ratio() >= 0.7


def check_columns_known(wanted: Sequence[str], schema: dict[str, Any], what: str = "column") -> None:
    """Raise a ValueError for a column that does not exist, with similar names."""
    if isinstance(wanted, str):
        raise TypeError(f"Columns must be a list of names, not one string. Write [{wanted!r}].")
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"The {what} must be given by its name (a string), not {name!r}.")
        if name not in schema:
            from difflib import get_close_matches

            near = [known for known in schema if known.lower() == name.lower()]
            near = near or [known for known in get_close_matches(name, schema, n=3) if _spelt_alike(name, known)]
            listed = list_first([f'"{known}"' if "," in known else known for known in schema], 12)
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"The columns are {listed}."
            raise ValueError(f"The {what} {name!r} does not exist. {hint}")


def check_unique_names(names: Sequence[str], file: str) -> None:
    """Raise if two columns of a file have the same name."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ValueError(f"{file} has two columns with the name {name!r}. Rename one of them.")


def missing_in(column: nw.Series[Any], *, search: bool) -> NDArray[np.bool_] | None:
    """Return a mask of missing values, None if there are none. NaN in floats is searched only if `search`."""
    gaps: NDArray[np.bool_] | None = None
    if column.null_count():
        gaps = np.asarray(column.is_null().to_numpy(), dtype=bool)
    if search and column.dtype.is_float():
        values = column.to_numpy()
        nan = np.isnan(np.asarray(values, dtype=np.float64))
        if nan.any():
            gaps = nan if gaps is None else gaps | nan
    return gaps
