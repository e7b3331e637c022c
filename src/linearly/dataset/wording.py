"""Wording: values as messages show them, however long they are; what is wrong with a row of so many fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LONGEST = 80  # characters


def shown(value: Any) -> str:
    """A value in a message: as Python writes it, cut short where it is long."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]!r}… ({len(value)} characters)"
    return repr(value)


def miscounted(where: str, fields: Sequence[str], names: Sequence[str], delimiter: str, *, top: bool) -> str:
    """What is wrong with a row that has not a field for each column, and the remedy; `top` is just below the names."""
    if len(fields) == len(names) + 1 and not fields[-1].strip():
        return f"{where} ends with the delimiter {delimiter!r}, the row of column names does not: make them alike."
    told = f"{where} has {_count(len(fields), 'field')}, but the first row "
    mark = names[0][:1]
    if mark in ("#", "%") and (len(names) == 1 or names[0][1:2] == " "):  # else #id may be the name of a column
        return f"{told}is a remark, {shown(names[0])}: remove the lines with {mark} above the column names."
    told += f"names {_count(len(names), 'column')} (delimiter {delimiter!r}). "
    above = "Remove what stands above the column names, if that is it, or correct the line."
    return told + (above if top else "Correct the line; a field that holds the delimiter stands in quotes.")


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" + ("s" if n != 1 else "")
