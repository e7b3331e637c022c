"""Wording: values as messages show them, however long they are."""

from __future__ import annotations

from typing import Any

_LONGEST = 80  # characters


def shown(value: Any) -> str:
    """A value in a message: as Python writes it, cut short where it is long."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]!r}… ({len(value)} characters)"
    return repr(value)
