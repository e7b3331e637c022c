"""Columns of a file or a frame as points: two of numbers, and one of labels or none."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from linearly.lab.state import CLASSES, MOST_CLASSES, MOST_POINTS, Point, State, checked_number, view_of

Columns = Mapping[str, Sequence[Any]]

_MOST_COLUMNS = 2000
_DELIMITERS = ",;\t|"


def columns_of_text(text: str) -> dict[str, list[str]]:
    """The columns of a CSV text with a header; comma, semicolon, tab or bar, whichever the header has most of."""
    lines = io.StringIO(text.lstrip("\ufeff"), newline=None)  # str.splitlines would end a line at U+2028, too
    header = lines.readline()
    if not header:
        raise ValueError("The file is empty: it needs a line with the names of its columns, and rows.")
    lines.seek(0)
    reader = csv.reader(lines, delimiter=max(_DELIMITERS, key=header.count))
    try:
        names = [name.strip() for name in next(reader)]
        if len(names) > _MOST_COLUMNS:
            raise ValueError(f"The file has {len(names)} columns; the lab reads at most {_MOST_COLUMNS}.")
        if len(set(names)) < len(names) or "" in names:
            raise ValueError("The first line must name every column, each name once.")
        rows = []
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(names):
                raise ValueError(f"Line {reader.line_num} has {len(row)} cells, the header {len(names)}.")
            rows.append(row)
    except csv.Error as error:
        raise ValueError(f"Line {reader.line_num} is no CSV: {error}.") from None
    if not rows:
        raise ValueError("The file has a header and no rows.")
    return {name: [row[j].strip() for row in rows] for j, name in enumerate(names)}


def columns_of(data: Any) -> Columns:
    """The columns of a CSV file, or of anything the library reads as tables."""
    if isinstance(data, (str, os.PathLike)) and os.fspath(data).lower().endswith((".csv", ".tsv", ".txt")):
        with open(data, encoding="utf-8-sig", newline="") as file:
            return columns_of_text(file.read())
    from linearly.dataset.sources import as_tables

    found: dict[str, list[Any]] = {}
    for chunk in as_tables(data):
        for name, values in chunk.frame.to_dict(as_series=False).items():
            found.setdefault(str(name), []).extend(values)
    if not found:
        raise ValueError("The data have no rows.")
    return found


def described(columns: Columns) -> list[dict[str, Any]]:
    """Each column with whether it is of numbers, and how many labels it has if they are few."""
    told = []
    for name, values in columns.items():
        labels = set()
        for value in values:
            labels.add(_label(value))
            if len(labels) > MOST_CLASSES:
                break
        few = len(labels) if len(labels) <= MOST_CLASSES else None
        told.append({"name": name, "numeric": _numeric(values), "labels": few})
    return told


def refuse_few(told: list[dict[str, Any]]) -> list[str]:
    """The columns of numbers; a plane needs two."""
    numeric = [column["name"] for column in told if column["numeric"]]
    if len(numeric) < 2:
        found = f"one column of numbers, {numeric[0]!r}" if numeric else "no column of numbers"
        raise ValueError(f"The file has {found}: the lab needs two, one across and one up.")
    return numeric


def state_of(columns: Columns, x: Any = None, y: Any = None, target: Any = None) -> tuple[State, str]:
    """Points of two columns and a target, and a sentence about what was left out.

    Columns not named are chosen: the target is the last column with 2 to 6 labels, x and y the first two of numbers.
    With ``target=""`` there are no labels, and y is what curves are fitted to.
    """
    told = described(columns)
    for name in (x, y, target):
        if name and name not in columns:
            listed = ", ".join(list(columns)[:12])
            raise ValueError(f"There is no column {name!r}; the columns are {listed}.")
    x, y = x or None, y or None
    # A column that is named may have few numbers: rows without are left out, and that is said.
    named = x is not None or y is not None
    numeric = [column["name"] for column in told if column["numeric"]] if named else refuse_few(told)
    if x is not None and x == y:
        raise ValueError(f"{x!r} stands across and up: choose two columns.")
    if target is None:
        labelled = [c["name"] for c in told if c["labels"] is not None and c["labels"] > 1 and c["name"] not in (x, y)]
        target = labelled[-1] if labelled and len(numeric) > (labelled[-1] in numeric) + 1 else ""
    free = [name for name in numeric if name not in (x, y, target)]
    if (x is None) + (y is None) > len(free):
        raise ValueError(
            f"The lab needs two columns of numbers beside the target; there are {', '.join(free) or 'none'}."
        )
    x = free.pop(0) if x is None else x
    y = free.pop(0) if y is None else y
    labels = [_label(v) for v in columns[target]] if target else [CLASSES[0]] * len(columns[x])
    classes = sorted(set(labels))
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"The column {target!r} has {len(classes)} labels, the lab {MOST_CLASSES} colours: choose another target."
        )
    if not target:
        classes = list(CLASSES)
    points, absent = [], 0
    for row, (a, b, label) in enumerate(zip(columns[x], columns[y], labels, strict=True)):
        u, v = _number(a), _number(b)
        if u is None or v is None:
            absent += 1
            continue
        points.append((checked_number(u, f"{x!r} in row {row}"), checked_number(v, f"{y!r} in row {row}"), label))
    if not points:
        raise ValueError(f"No row has a number in both {x!r} and {y!r}.")
    notes = [f"{absent} of {len(labels)} rows have no number in {x!r} or {y!r} and are left out."] if absent else []
    step = math.ceil(len(points) / MOST_POINTS)
    if step > 1:
        notes.append(f"1 of every {step} of the {len(points)} rows is shown.")
    code = {name: k for k, name in enumerate(classes)}
    kept: tuple[Point, ...] = tuple((a, b, code[label]) for a, b, label in points[::step])
    algorithm = "perceptron" if target else "least_squares"
    state = State(kept, tuple(classes), (_short(x), _short(y)), view_of(kept), algorithm)
    return state, " ".join(notes)


def _numeric(values: Sequence[Any]) -> bool:
    """Whether most of its first entries are numbers."""
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
    told = str(value).strip() if value is not None else ""
    told = "".join(letter if letter.isprintable() else " " for letter in told)
    return _short(told) if told else "(none)"


def _short(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"
