"""Store a result as ordered named columns and show it in a terminal, in a notebook or as a data frame.

Every result of more than one number is a `Table`. `summary()` returns a `Summary`: tables under a title, with notes.
A table is rendered in two steps: columns to grids of strings, then a grid to text or HTML.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.formatting import MISSING, align_numbers, format_p, visible

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Summary", "Table"]

MAX_WIDTH = 100  # characters of a line; the columns of wider tables continue below
MAX_ROWS = 40  # rows shown in full; longer tables show the first HEAD and the last TAIL
HEAD, TAIL = 20, 5


class Table:
    """Immutable named columns of equal length, in order.

    Parameters
    ----------
    columns : mapping of str to array-like of shape (n_rows,)
        Numbers or text of each column. Arrays are not copied. None is a missing value.
    title : str, default=""
        Line above the table.
    notes : iterable of str, default=()
        Lines below the table.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    title : str
        Line above the table.
    notes : tuple of str
        Lines below the table.

    Raises
    ------
    ValueError
        If the columns have different lengths or more than one dimension.

    See Also
    --------
    tidy, glance, augment : Functions that return tables.

    Examples
    --------
    >>> table = Table({"term": ["Intercept", "x"], "estimate": [2.5, -0.125], "p_value": [3e-20, 0.0123]})
    >>> table
    term       estimate  p_value
    ----------------------------
    Intercept     2.500  < 1e-16
    x            -0.125   0.0123
    >>> table["estimate"]
    array([ 2.5  , -0.125])
    >>> table.row(1)
    {'term': 'x', 'estimate': -0.125, 'p_value': 0.0123}
    """

    __slots__ = ("_columns", "notes", "title")

    title: str
    notes: tuple[str, ...]
    _columns: dict[str, NDArray[Any]]

    def __init__(self, columns: Mapping[str, Iterable[Any]], title: str = "", notes: Iterable[str] = ()) -> None:
        arrays = {name: _column(name, values) for name, values in columns.items()}
        if len({len(array) for array in arrays.values()}) > 1:
            lengths = ", ".join(f"{name}: {len(array)}" for name, array in arrays.items())
            raise ValueError(f"The columns of a table must have equal lengths, not {lengths}. Pass one value per row.")
        for name, value in (("_columns", arrays), ("title", title), ("notes", tuple(notes))):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Table is read-only, so {name!r} cannot be set. Build a new one from to_dict().")

    def __reduce__(self) -> tuple[type[Table], tuple[Any, ...]]:
        return Table, (self._columns, self.title, self.notes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(self._columns)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"The column {name!r} does not exist. The columns are {', '.join(self._columns)}.")
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def row(self, i: int) -> dict[str, Any]:
        """Return one row as a dict of Python values.

        Parameters
        ----------
        i : int
            Index of the row; negative ones count from the end.

        Returns
        -------
        dict
            Values by the names of the columns.
        """
        return {name: to_python_value(array[i]) for name, array in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self.row(i) for i in range(len(self)))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists of Python values, by name."""
        return {name: array.tolist() for name, array in self._columns.items()}

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` as standard JSON, in which NaN and infinity become null.

        Parameters
        ----------
        indent : int, optional
            Spaces of indentation; None for one line.

        Returns
        -------
        str
            The columns by name.

        Examples
        --------
        >>> Table({"term": ["x"], "estimate": [float("nan")]}).to_json()
        '{"term": ["x"], "estimate": [null]}'
        """
        return json.dumps(json_value(self), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_pandas(self) -> pd.DataFrame:
        """Return a copy as a pandas DataFrame."""
        frame: pd.DataFrame = self._to_frame("pandas")
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return a copy as a polars DataFrame."""
        frame: pl.DataFrame = self._to_frame("polars")
        return frame

    def _to_frame(self, library: str) -> Any:
        try:
            module = importlib.import_module(library)
        except ImportError as error:
            raise ImportError(f"Table.to_{library} needs {library}. Run: pip install {library}") from error
        columns = {name: a.copy() if a.dtype.kind in "biuf" else a.tolist() for name, a in self._columns.items()}
        return module.DataFrame(columns)

    def __str__(self) -> str:
        body = [line for grid in self._grids() for line in ["", *grid.text()]][1:]
        return visible("\n".join([*filter(None, [self.title]), *body, *self._remarks()]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # One table, however wide: a notebook scrolls sideways.
        grids = self._grids(MAX_WIDTH if len(self) == 1 else sys.maxsize)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._remarks())
        return visible(f'<div class="linearly-table">{"".join(g.html(self.title) for g in grids)}{notes}</div>')

    def _remarks(self) -> list[str]:
        total = [f"{len(self)} rows, {HEAD + TAIL} shown"] if len(self) > MAX_ROWS else []
        return [*total, *self.notes]

    def _grids(self, width: int = MAX_WIDTH) -> list[Grid]:
        n = len(self)
        shown = np.arange(n) if n <= MAX_ROWS else np.r_[:HEAD, n - TAIL : n]
        cells = {name: _format(name, array[shown]) for name, array in self._columns.items()}
        if n > MAX_ROWS:
            for column in cells.values():
                column.insert(HEAD, "...")
        right = {name: array.dtype.kind in "iuf" for name, array in self._columns.items()}
        widths = {name: max(map(_width, [visible(name), *column])) for name, column in cells.items()}
        if n == 1 and sum(widths.values()) + 2 * len(widths) - 2 > width:
            return [Grid([], [False, False], [[visible(name), column[0]] for name, column in cells.items()])]
        groups: list[list[str]] = []
        for name in cells:
            if groups and sum(widths[c] + 2 for c in groups[-1]) + widths[name] <= width:
                groups[-1].append(name)
            else:  # columns that do not fit go below, beside the first column, which names the rows
                groups.append([next(iter(cells)), name] if groups else [name])
        grids = []
        for group in groups:
            body = [list(row) for row in zip(*(cells[name] for name in group), strict=True)]
            grids.append(Grid(list(map(visible, group)), [right[name] for name in group], body))
        return grids


@dataclass(frozen=True, repr=False)
class Summary:
    """Tables under a title, with notes, as an estimator's `summary()` returns them.

    >>> Summary("Least squares", (Table({"n": [47], "sigma": [7.1654]}),), ("Rows are independent.",))
    Least squares
    =============
    <BLANKLINE>
     n  sigma
    ---------
    47  7.165
    <BLANKLINE>
    Rows are independent.
    """

    title: str
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        rule = "=" * max(map(_width, self.title.splitlines()), default=0)
        parts = [f"{self.title}\n{rule}", *map(str, self.tables), "\n".join(self.notes)]
        return visible("\n\n".join(part for part in parts if part))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = "<br>".join(map(escape, self.title.splitlines()))
        tables = "".join(table._repr_html_() for table in self.tables)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return visible(f'<section class="linearly-summary"><h3>{title}</h3>{tables}{notes}</section>')


class Grid(NamedTuple):
    """Strings in rows and columns: header (empty if the first column contains the names), right alignment, body."""

    header: list[str]
    right: list[bool]
    body: list[list[str]]

    def text(self) -> list[str]:
        """Return lines of aligned text."""
        rows = [self.header, *self.body] if self.header else self.body
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            pads = [" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
            cells = (p + c if r else c + p for c, p, r in zip(row, pads, self.right, strict=True))
            lines.append("  ".join(cells).rstrip())
        if self.header:
            lines.insert(1, "-" * (sum(widths) + 2 * len(widths) - 2))
        return lines

    def html(self, caption: str) -> str:
        """Return an HTML table in which text of the first column is the header of its row."""
        style = [' style="text-align:right"' if r else ' style="text-align:left"' for r in self.right]

        def cell(tag: str, text: str, j: int) -> str:
            return f"<{tag}{style[j]}>{escape(text)}</{tag[:2]}>"

        title = f"<caption>{escape(caption)}</caption>" if caption else ""
        head = "".join(cell('th scope="col"', name, j) for j, name in enumerate(self.header))
        head = f"<thead><tr>{head}</tr></thead>" if head else ""
        names = "td" if self.right[0] else 'th scope="row"'
        rows = ("".join(cell("td" if j else names, c, j) for j, c in enumerate(row)) for row in self.body)
        return f"<table>{title}{head}<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def _column(name: str, values: Iterable[Any]) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        array = values.view()
    else:
        items = list(values)
        present = [v for v in items if v is not None]
        if present and all(isinstance(v, (int, float, np.number)) for v in present):
            array = np.array([math.nan if v is None else v for v in items])
        else:
            # NumPy would turn a number beside a string into a string.
            plain = len(present) == len(items) and len({type(v) for v in items}) <= 1
            array = np.array(items) if plain else np.array([*items, None], dtype=object)[:-1]
    if array.ndim != 1:
        raise ValueError(
            f"Column {name!r} of a table must have one dimension, not shape {array.shape}. Pass one value per row."
        )
    array.flags.writeable = False
    return array


def json_value(value: Any, of_table: Callable[[Table], Any] = Table.to_dict) -> Any:
    """Return a value as Python's own numbers, strings, lists and dicts; a number that is not finite becomes None."""
    if isinstance(value, Table):
        return json_value(of_table(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return json_value(value.tolist())
    if isinstance(value, dict):
        return {str(key): json_value(part, of_table) for key, part in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return [json_value(part, of_table) for part in value] if isinstance(value, Iterable) else str(value)


def to_python_value(value: Any) -> Any:
    """Return the Python value of a NumPy scalar; anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: 0 per combining mark, 2 per wide character."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _format(name: str, values: NDArray[Any]) -> list[str]:
    if values.dtype.kind == "f":
        probability = name == "p_value" or name.endswith("_p_value")
        return list(map(format_p, values)) if probability else align_numbers(values)
    if values.dtype.kind == "O":  # values of several types: each is formatted alone
        cells = [np.array([v]) for v in values]
        alone = [cell.astype(str) if cell.dtype.kind == "O" else cell for cell in cells]
        return [MISSING if v is None else _format(name, cell)[0] for v, cell in zip(values, alone, strict=True)]
    return [" ".join(visible(str(v)).split()) for v in values]
