"""Text that was meant for numbers: cells like 1,234 or $5 or 3 kg or <2 or 1D5, a few words among numbers, dates.

Such a column would be coded one level a column, and the fit would be perfect and worthless. Codes such as 00501 are
no numbers: they are levels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from linearly.formatting import shown

_FEWEST = 20  # different numbers: fewer may well be codes
_FEWEST_BESIDE = 3  # the same, where all else are markers of missing values
_MARKERS = {"-", "--", "---", "?", "??", ".", "..", "*", "#", "na", "n/a", "n.a.", "#n/a", "nan", "none", "null", "nil"}
_MARKERS |= {"missing", "unknown", "not available", "(null)", "<na>"}
_LONGEST_MARKER = 20  # characters of a word that may stand for a missing value
_WORDS = 0.1  # words for each number, at most
_MARKS = re.compile(r"[$€£¥₹%()\s'’_\u2212]")
_NUMBER = re.compile(r"[+-]?(?=[.,]?\d)(?:\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*|\d*)(?:[.,]\d*)?(?:[eEdD][+-]?\d+)?")
# Signs before a number, or a sign or a unit after it. A word before it makes a name (person 7), and none is stripped.
_BEFORE = re.compile(r"\s*[<>≤≥~≈=*]+\s*")
_AFTER = re.compile(r"(?<=[\d.,])\s*([-+*]|[^\W\d_]{1,6}[²³]?(?:/[^\W\d_]{1,4}[²³]?)?|°[CF]?)\s*")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_CODE = re.compile(r"0\d")  # 007x is no amount of x
_LEADING_ZERO = re.compile(r"0\d+")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*(?:[.,]\d*)?")
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}\b.*|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}\b.*")


@dataclass(frozen=True)
class NumericTextReport:
    """How many different values are numbers (none where they are dates), those with marks, and those that are words."""

    numbers: int
    marked: tuple[str, ...]
    words: tuple[str, ...]
    code: str = ""  # one that is written with leading zeros

    def __str__(self) -> str:
        if self.code:
            return f"its numbers have leading zeros, as in {shown(self.code)}: codes, not quantities"
        if not self.numbers:
            return f"its values are dates like {shown(self.marked[0])}"
        some = "its" if len(self.marked) == self.numbers else f"{len(self.marked):,} of its {self.numbers:,}"
        like = f"{some} numbers are written like {shown(self.marked[0])}{self._thousands()}" if self.marked else ""
        if not self.words:
            return like or "its numbers are stored as text"
        few = " and ".join(map(shown, self.words[:2])) + (" …" if len(self.words) > 2 else "")
        is_not = "is not" if len(self.words) == 1 else "are not"
        different = f"{self.numbers + len(self.words):,} different values"
        told = f"{self.numbers:,} of its {different} are numbers and {few} {is_not}"
        return f"{told}, and {like}" if like else told

    def _thousands(self) -> str:
        """What is between the thousands, where that is all there is about the numbers."""
        signs = {found[1] for found in map(_GROUPED.fullmatch, self.marked) if found}
        whole = signs and all(map(_GROUPED.fullmatch, self.marked))
        return f" ({'dots' if signs == {'.'} else 'commas'} between thousands)" if whole and len(signs) == 1 else ""

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if not self.numbers:
            return "Turn them into numbers (days, month, hour)"
        if self.marked:
            plain = "Write plain numbers"
            return f"{plain}, and nothing or NA for missing ones" if self.words else plain
        if not self.words:
            return "Convert it to numbers"
        if max(map(len, self.words[:3])) > _LONGEST_MARKER:
            return "Correct what is no number"
        return f"Name what stands for missing values, na_values=[{', '.join(map(_quoted, self.words[:3]))}]"


def detect_numeric_text(levels: Iterable[Any]) -> NumericTextReport | None:
    """What speaks for a column of text being meant for numbers; None if nothing does."""
    marked, words, numbers = [], [], 0
    levels = list(levels)
    dates = [level for level in levels if isinstance(level, str) and _DATE.fullmatch(level.strip())]
    if len(dates) >= max(_FEWEST, (1 - _WORDS) * len(levels)):
        return NumericTextReport(0, tuple(sorted(dates)), ())
    unit = _unit(levels) if not any(isinstance(level, str) and _CODE.match(level) for level in levels) else None
    for level in levels:
        if not isinstance(level, str) or not (is_number(level) or is_number(_stripped(level, unit))):
            words.append(str(level))
            continue
        numbers += 1
        if not is_plain_number(level):
            marked.append(level)
    beside = words and all(word.strip().lower() in _MARKERS for word in words)
    if numbers < (_FEWEST_BESIDE if beside else _FEWEST) or (not beside and len(words) > _WORDS * numbers):
        return None
    code = next((level for level in levels if isinstance(level, str) and _LEADING_ZERO.fullmatch(level)), "")
    if not words and not marked:
        # Plain numbers that were not read as such: in a file with decimal commas these are thousands.
        marked = [level for level in levels if _THOUSANDS.fullmatch(level)]
    return NumericTextReport(numbers, tuple(sorted(marked)), tuple(sorted(words)), code)


def _quoted(word: str) -> str:
    return f'"{word}"' if '"' not in word else repr(word)


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


def is_plain_number(text: str) -> bool:
    """Whether a text is a number as files of numbers have it."""
    # Python takes 1_000, full-width digits and a non-breaking space; files of numbers have none of them.
    if not text.isascii() or "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
