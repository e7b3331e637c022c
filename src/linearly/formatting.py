"""Wording: values as messages show them, however long they are; what is wrong with a row of so many fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_LONGEST = 80  # characters
# Control characters but for tab and newline, marks that turn the direction of text, and what XML cannot hold. A
# terminal obeys the first: a header may move its cursor or rename its window.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""Return text in which control characters are written as Python writes them.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


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
