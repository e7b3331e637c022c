"""Text that was meant for numbers: cells like 1,234 or $5 or 3 kg or <2 or 1D5, a few words among numbers, dates.

Such a column would be coded one level a column, and the fit would be perfect and worthless.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from linearly.dataset.wording import shown

_FEWEST = 20  # different numbers: fewer may well be codes
_WORDS = 0.1  # words for each number, at most
_MARKS = re.compile(r"[$€£¥₹%()\s'’_\u2212]")
_NUMBER = re.compile(r"[+-]?(?=[.,]?\d)(?:\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*|\d*)(?:[.,]\d*)?(?:[eEdD][+-]?\d+)?")
# Signs before a number, or a sign or a unit after it. A word before it makes a name (person 7), and none is stripped.
_BEFORE = re.compile(r"\s*[<>≤≥~≈=*]+\s*")
_AFTER = re.compile(r"(?<=[\d.,])\s*([-+*]|[^\W\d_]{1,6}[²³]?(?:/[^\W\d_]{1,4}[²³]?)?|°[CF]?)\s*")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_CODE = re.compile(r"0\d")  # 007x is no amount of x
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
        some = "its" if len(self.marked) == self.numbers else f"{len(self.marked):,} of its {self.numbers:,}"
        like = f"{some} numbers are written like {shown(self.marked[0])}" if self.marked else ""
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
    unit = _unit(levels) if not any(isinstance(level, str) and _CODE.match(level) for level in levels) else None
    for level in levels:
        if not isinstance(level, str) or not (is_number(level) or is_number(_stripped(level, unit))):
            words.append(str(level))
            continue
        numbers += 1
        if not _is_plain(level):
            marked.append(level)
    if numbers < _FEWEST or len(words) > _WORDS * numbers:
        return None
    if not words and not marked:
        # Plain numbers that were not read as such: in a file with decimal commas these are thousands.
        marked = [level for level in levels if _THOUSANDS.fullmatch(level)]
    return Misread(numbers, tuple(sorted(marked)), tuple(sorted(words)))


def is_number(text: str) -> bool:
    """Whether a text is a number, with whatever marks a spreadsheet writes about it."""
    return _NUMBER.fullmatch(_MARKS.sub("", text)) is not None


def _stripped(text: str, unit: str | None) -> str:
    """A text without signs before it, or a sign or the unit after it."""
    text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
    *_, last = [None, *_AFTER.finditer(text)]
    if last is not None and last.end() == len(text) and (last[1] in "-+*" or last[1] == unit):
        text = text[: last.start()]
    return text


def _unit(levels: list[Any]) -> str | None:
    """The one unit that stands after nearly all values: 12a, 12b and 13a are codes."""
    ends = Counter(re.sub(r"^.*[\d.,]\s*", "", level).strip() for level in levels if isinstance(level, str))
    unit, often = ends.most_common(1)[0] if ends else ("", 0)
    return unit if unit and often >= (1 - _WORDS) * len(levels) else None


def _is_plain(text: str) -> bool:
    # Python takes 1_000, full-width digits and a non-breaking space; files of numbers have none of them.
    if not text.isascii() or "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
