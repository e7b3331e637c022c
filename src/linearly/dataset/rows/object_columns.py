"""Columns of Python objects, as pandas stores Decimals, or integers and booleans beside None.

Numbers are numbers whatever their box: a frame is unboxed once, when it becomes a table. A column that mixes numbers
and text stays as it is, and is refused by its row where it is used.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.array_checks import LARGEST_EXACT_INTEGER, short_repr
from linearly.dataset.rows.label_checks import is_missing

_FLOATS = ("decimal", "floating", "mixed", "mixed-integer", "mixed-integer-float")  # as pandas infers them
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def convert_object_columns(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return the frame with object columns of numbers or booleans converted to those types."""
    if not frame.implementation.is_pandas():
        return frame
    kinds = zip(frame.columns, frame.to_native().dtypes, strict=True)
    found = [convert_object_column(frame[name]) for name, kind in kinds if kind == "object"]
    return frame.with_columns(*[column for column in found if not is_object_column(column)])


def is_object_column(column: nw.Series[Any]) -> bool:
    """Return whether a pandas column contains Python objects; before pandas 3 text columns did too."""
    return column.implementation.is_pandas() and bool(column.to_native().dtype == "object")


def convert_object_column(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return an object column as numbers or booleans if it contains nothing else, otherwise unchanged."""
    from pandas.api.types import infer_dtype

    native = column.to_native()
    kind = infer_dtype(native, skipna=True)
    try:
        if kind == "boolean":
            return nw.from_native(native.astype("boolean"), series_only=True)
        if kind == "integer":
            return nw.from_native(native.astype("Int64"), series_only=True)
    except (TypeError, ValueError, OverflowError):  # beyond 64 bits
        return column
    values = _floats(native.to_numpy()) if kind in _FLOATS else None
    if values is None:
        return column
    return nw.from_native(type(native)(values, index=native.index, name=native.name), series_only=True)


def _floats(objects: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return numbers as float64, missing ones as NaN; None if a value is not a number or does not fit."""
    values = objects.tolist()
    kinds = set(map(type, values))
    if not all(kind is type(None) or _kind_of(kind) in ("a number", "missing") for kind in kinds):
        return None
    if kinds - {float, type(None)} and any(_unfit(value) for value in values):
        return None
    return np.array([np.nan if is_missing(value) else float(value) for value in values])


def _kind_of(kind: type) -> str:
    """Return what values of a type are, in words."""
    if issubclass(kind, (bool, np.bool_)):
        return "a boolean"
    if issubclass(kind, (numbers.Real, Decimal)):
        return "a number"
    if issubclass(kind, str):
        return "text"
    if kind.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    return "a date or time" if issubclass(kind, _DATES) or kind.__name__ == "Period" else "an object"


def _unfit(value: Any) -> str:
    """Return why float64 cannot represent a number; "" if it can."""
    if is_missing(value):
        return ""
    if isinstance(value, numbers.Integral):
        return "exceeds 2**53 and would lose digits in float64" if abs(int(value)) > LARGEST_EXACT_INTEGER else ""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return "exceeds the float64 range"
    return "exceeds the float64 range" if np.isinf(number) and value != number else ""


def check_object_column(column: nw.Series[Any], where: Callable[[int], str]) -> None:
    """Raise a ValueError that names the first row of an object column that is not text."""
    from pandas.api.types import infer_dtype

    native = column.to_native()
    if infer_dtype(native, skipna=True) in ("string", "empty"):
        return
    name, first = f"Column {column.name!r}", None
    for i, value in enumerate(native.to_list()):
        kind = _kind_of(type(value))
        if kind == "missing" or is_missing(value):
            continue
        if kind == "a date or time":
            raise date_error(column.name)
        if kind == "an object":
            raise ValueError(
                f"{name} contains neither numbers nor text: {short_repr(value)} in {where(i)}. Leave it out, or "
                "convert it to numbers or text."
            )
        if kind == "a number" and _unfit(value):
            raise ValueError(
                f"{name} contains {short_repr(value)} in {where(i)}, which {_unfit(value)}. Leave the column out."
            )
        first = first or (i, kind, value)
        if kind != first[1]:
            raise ValueError(
                f"{name} contains {first[1]}, {short_repr(first[2])}, in {where(first[0])} and {kind}, "
                f"{short_repr(value)}, in {where(i)}. Convert all to numbers or all to text."
            )
    if first is not None and first[1] != "text":
        raise ValueError(
            f"{name} contains {short_repr(first[2])} in {where(first[0])}, but its type, object, is treated as text. "
            f"Convert it: frame[{column.name!r}].astype(float)."
        )


def date_error(name: str) -> ValueError:
    """Return the error for a column of dates or times."""
    return ValueError(
        f"Column {name!r} is a date or time. Convert it to numbers first (days since a date, month, hour), or leave "
        "it out."
    )
