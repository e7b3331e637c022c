"""Text that was meant for numbers: cells like 1,234 or $5 or 3 %, a few words among numbers, dates.

Such a column would be coded one level a column, and the fit would be perfect and worthless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from linearly.dataset.wording import shown

_FEWEST = 20  # different numbers: fewer may well be codes
_WORDS = 0.1  # words for each number, at most
_MARKS = re.compile(r"[$€£¥₹%()\s'’_\u2212]")
_NUMBER = re.compile(r"[+-]?(?=[.,]?\d)(?:\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*|\d*)(?:[.,]\d*)?(?:[eE][+-]?\d+)?")


_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}\b.*|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}\b.*")


@dataclass(frozen=True)
class Misread:
    """How many different values are numbers (none where they are dates), those with marks, and those that are words."""

    numbers: int
    marked: tuple[str, ...]
    words: tuple[str, ...]

    def __str__(self) -> str:
        if not self.numbers:
            return f"its values are dates like {shown(self.marked[0])}"
        like = f"its numbers are written like {shown(self.marked[0])}" if self.marked else ""
        if not self.words:
            return like or "its numbers are stored as text"
        few = " and ".join(map(shown, self.words[:2])) + (" …" if len(self.words) > 2 else "")
        is_not = "is not" if len(self.words) == 1 else "are not"
        different = f"{self.numbers + len(self.words):,} different values"
        told = f"{self.numbers:,} of its {different} are numbers and {few} {is_not}"
        return f"{told}, and {like}" if like else told


def misread(levels: Iterable[Any]) -> Misread | None:
    """What speaks for a column of text being meant for numbers; None if nothing does."""
    marked, words, numbers = [], [], 0
    levels = list(levels)
    dates = [level for level in levels if isinstance(level, str) and _DATE.fullmatch(level.strip())]
    if len(dates) >= max(_FEWEST, (1 - _WORDS) * len(levels)):
        return Misread(0, tuple(sorted(dates)), ())
    for level in levels:
        if not isinstance(level, str) or not is_number(level):
            words.append(str(level))
            continue
        numbers += 1
        if not _is_plain(level):
            marked.append(level)
    if numbers < _FEWEST or len(words) > _WORDS * numbers:
        return None
    return Misread(numbers, tuple(sorted(marked)), tuple(sorted(words)))


def is_number(text: str) -> bool:
    """Whether a text is a number, with whatever marks a spreadsheet writes about it."""
    return _NUMBER.fullmatch(_MARKS.sub("", text)) is not None


def _is_plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
