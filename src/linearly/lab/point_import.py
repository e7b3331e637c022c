"""Make points of the columns of a file or a data frame: two columns of numbers, and one of labels or none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from linearly.dataset.files import csv_text
from linearly.dataset.sources import as_tables
from linearly.lab.state import CLASSES, MAX_CLASSES, MAX_POINTS, State, check_number, fit_view

Columns = Mapping[str, Sequence[Any]]

_MAX_COLUMNS = 2000
_MAX_NAME_LENGTH = 60


def read_columns(data: Any) -> Columns:
    """Return the columns of anything that the library reads: a path, an open CSV file, a data frame.

    CSV columns without fractions are read as text, so that labels such as 007 stay as they are written.
    """
    tables = as_tables(data)
    _check_width(len(tables.schema))
    tables = tables.with_text([name for name, kind in tables.schema.items() if not kind.is_float()])
    columns: dict[str, list[Any]] = {}
    for chunk in tables:
        for name, values in chunk.frame.to_dict(as_series=False).items():
            columns.setdefault(str(name), []).extend(values)
    return _check_rows(columns)


def parse_csv(text: Any) -> Columns:
    """Return the columns of the text of a CSV file, without pyarrow, which the lab in a browser does not have."""
    if not isinstance(text, str):
        raise ValueError("text must be the content of a CSV file.")
    columns = csv_text.read_columns(text.replace("\r\n", "\n").replace("\r", "\n"), "the file")
    _check_width(len(columns))
    return _check_rows(columns)


def _check_width(n_columns: int) -> None:
    if n_columns > _MAX_COLUMNS:
        raise ValueError(f"The file has {n_columns} columns, but the lab reads at most {_MAX_COLUMNS}. Leave some out.")


def _check_rows(columns: Columns) -> Columns:
    if not any(columns.values()):
        raise ValueError("The file contains no rows. Choose a file with rows.")
    return columns


def describe_columns(columns: Columns) -> list[dict[str, Any]]:
    """Return for each column its name, whether it is numeric, and its number of labels (None if there are too many)."""
    described = []
    for name, values in columns.items():
        labels = set()
        for value in values:
            labels.add(_label(value))
            if len(labels) > MAX_CLASSES:
                break
        n_labels = len(labels) if len(labels) <= MAX_CLASSES else None
        described.append({"name": name, "numeric": _is_numeric(values), "labels": n_labels})
    return described


def check_two_numeric(described: list[dict[str, Any]]) -> list[str]:
    """Return the names of the numeric columns; raise `ValueError` if there are fewer than two."""
    numeric = [column["name"] for column in described if column["numeric"]]
    if len(numeric) < 2:
        found = f"one numeric column, {numeric[0]!r}" if numeric else "no numeric column"
        raise ValueError(
            f"The file has {found}, but the lab needs two numeric columns for the axes. Choose another file."
        )
    return numeric


def state_from_columns(columns: Columns, x: Any = None, y: Any = None, target: Any = None) -> tuple[State, str]:
    """Return the points of two columns and a target, and a sentence about rows that are left out.

    Columns not named are chosen: the target is the last column with 2 to 6 labels, x and y the first two numeric ones.
    With ``target=""`` there are no labels, and curves are fitted to y.
    """
    x, y, target = _choose_columns(columns, x or None, y or None, target)
    classes: tuple[str, ...] = CLASSES
    codes = [0] * len(columns[x])
    if target:
        labels = [_label(value) for value in columns[target]]
        classes = tuple(sorted(set(labels)))
        if len(classes) > MAX_CLASSES:
            found = f"The column {target!r} has {len(classes)} labels; the lab shows at most {MAX_CLASSES}"
            raise ValueError(f"{found}. Choose another target.")
        codes = [classes.index(label) for label in labels]
    points = []
    for row, (a, b, code) in enumerate(zip(columns[x], columns[y], codes, strict=True)):
        u, v = _number(a), _number(b)
        if u is not None and v is not None:
            points.append((check_number(u, f"{x!r} in row {row}"), check_number(v, f"{y!r} in row {row}"), code))
    if not points:
        raise ValueError(f"No row has a number in both {x!r} and {y!r}. Choose other columns.")
    notes = []
    if missing := len(codes) - len(points):
        notes.append(f"{missing} of {len(codes)} rows have no number in {x!r} or {y!r} and are left out.")
    step = math.ceil(len(points) / MAX_POINTS)
    if step > 1:
        notes.append(f"One in {step} of the {len(points)} rows is shown.")
    shown = tuple(points[::step])
    algorithm = "perceptron" if target else "least_squares"
    return State(shown, classes, (_shorten(x), _shorten(y)), fit_view(shown), algorithm), " ".join(notes)


def _choose_columns(columns: Columns, x: Any, y: Any, target: Any) -> tuple[str, str, str]:
    """Return the columns for x, y and the target ("" for none), with those that are not named filled in."""
    for name in (x, y, target):
        if name and name not in columns:
            raise ValueError(f"The column {name!r} does not exist. The columns are {', '.join(list(columns)[:12])}.")
    if x is not None and x == y:
        raise ValueError(f"{x!r} is chosen for both x and y. Choose two different columns.")
    described = describe_columns(columns)
    # A column that is named may be mostly text: its other rows are left out, and a note reports it.
    named = x is not None or y is not None
    numeric = [one["name"] for one in described if one["numeric"]] if named else check_two_numeric(described)
    if target is None:
        labelled = [one["name"] for one in described if (one["labels"] or 0) > 1 and one["name"] not in (x, y)]
        target = labelled[-1] if labelled and len(numeric) > (labelled[-1] in numeric) + 1 else ""
    free = [name for name in numeric if name not in (x, y, target)]
    if (x is None) + (y is None) > len(free):
        raise ValueError(
            "The lab needs two numeric columns besides the target, but the file has "
            f"{', '.join(free) or 'none'}. Choose another target."
        )
    x = free.pop(0) if x is None else x
    return x, free.pop(0) if y is None else y, target


def _is_numeric(values: Sequence[Any]) -> bool:
    """Return whether most of the first entries are numbers."""
    some = [value for value in values[:200] if value not in (None, "")]
    return bool(some) and sum(_number(value) is not None for value in some) > 0.9 * len(some)


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _label(value: Any) -> str:
    text = str(value).strip() if value is not None else ""
    return _shorten("".join(letter if letter.isprintable() else " " for letter in text)) or "(none)"


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else name[: _MAX_NAME_LENGTH - 1] + "…"
