"""One finding about a table, and how findings list names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Options = tuple[tuple[str, str], ...]
DROP_ROWS: Options = (("missing", "drop"),)


class Finding(NamedTuple):
    """How bad it is, about what, what it is, and what to do.

    Attributes
    ----------
    level : {"ok", "note", "problem"}
    about : str
        A column, a term, or a topic such as "scale".
    text : str
        What was found.
    remedy : str
        What to do, in the words of `linearly.fit`; empty if nothing.
    options : tuple of (str, str)
        Arguments of a fit that avoids the problem; ("without", name) leaves a column out.
    stops : bool
        Whether no model can be fitted.
    """

    level: str
    about: str
    text: str
    remedy: str = ""
    options: Options = ()
    stops: bool = False


def without(column: str) -> Options:
    """Return the options of a fit that leaves a column out."""
    return (("without", column),)


def list_first(names: Sequence[str], limit: int = 6) -> str:
    """Return the first names, and a mark if there are more."""
    return ", ".join(names[:limit]) + (" …" if len(names) > limit else "")
