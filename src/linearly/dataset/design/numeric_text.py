"""Recognise text that was meant for numbers: cells like 1,234, $5, 3 kg, <2 or 1D5, words among numbers, and dates.

Such a column would become one column per level, and the fit would be perfect and worthless. Codes such as 00501 are
levels, not numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from linearly.formatting import shown

_MIN_NUMBERS = 20  # different numbers: fewer may be codes
_MIN_NUMBERS_BESIDE_MARKERS = 3  # if all other values are markers of missing values
_MARKERS = {"-", "--", "---", "?", "??", ".", "..", "*", "#", "na", "n/a", "n.a.", "#n/a", "nan", "none", "null", "nil"}
_MARKERS |= {"missing", "unknown", "not available", "(null)", "<na>"}
_MAX_MARKER_LENGTH = 20  # characters of a word that may stand for a missing value
_MAX_WORD_SHARE = 0.1  # words per number
_MARKS = re.compile(r"[$€£¥₹%()\s'’_\u2212]")
_NUMBER = re.compile(r"[+-]?(?=[.,]?\d)(?:\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*|\d*)(?:[.,]\d*)?(?:[eEdD][+-]?\d+)?")
# Signs before a number, or a sign or a unit after it. A word before it makes it a name (person 7).
_BEFORE = re.compile(r"\s*[<>≤≥~≈=*]+\s*")
_AFTER = re.compile(r"(?<=[\d.,])\s*([-+*]|[^\W\d_]{1,6}[²³]?(?:/[^\W\d_]{1,4}[²³]?)?|°[CF]?)\s*")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_CODE = re.compile(r"0\d")  # 007x is not an amount of x
_LEADING_ZERO = re.compile(r"0\d+")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")  # a number, once all other texts are known as missing values
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*(?:[.,]\d*)?")
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}\b.*|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}\b.*")


@dataclass(frozen=True)
class NumericTextReport:
    """The number of different values that are numbers (0: dates), those with marks, and those that are words."""

    numbers: int
    marked: tuple[str, ...]
    words: tuple[str, ...]
    code: str = ""  # a value with leading zeros

    def __str__(self) -> str:
        if self.code:
            return f"its numbers have leading zeros, as in {shown(self.code)}, so they are codes, not quantities"
        if not self.numbers:
            return f"its values are dates like {shown(self.marked[0])}"
        some = "its" if len(self.marked) == self.numbers else f"{len(self.marked):,} of its {self.numbers:,}"
        like = f"{some} numbers are written like {shown(self.marked[0])}{self._thousands()}" if self.marked else ""
        if not self.words:
            return like or "its numbers are stored as text"
        few = " and ".join(map(shown, self.words[:2])) + (" …" if len(self.words) > 2 else "")
        is_not = "is not" if len(self.words) == 1 else "are not"
        different = f"{self.numbers + len(self.words):,} different values"
        counts = f"{self.numbers:,} of its {different} are numbers and {few} {is_not}"
        return f"{counts}, and {like}" if like else counts

    def _thousands(self) -> str:
        """Return which sign separates thousands, if that is all that is unusual about the numbers."""
        signs = {found[1] for found in map(_GROUPED.fullmatch, self.marked) if found}
        grouped = signs and all(map(_GROUPED.fullmatch, self.marked))
        return f" ({'dots' if signs == {'.'} else 'commas'} between thousands)" if grouped and len(signs) == 1 else ""

    @property
    def remedy(self) -> str:
        """The advice for the user."""
        if not self.numbers:
            return "Convert them to numbers (days, month, hour)"
        if self.marked and not (self.words and all(map(_DECIMAL_COMMA.fullmatch, self.marked))):
            plain = "Write plain numbers"
            return f"{plain}, and empty cells or NA for missing values" if self.words else plain
        if not self.words:
            return "Convert it to numbers"
        if max(map(len, self.words[:3])) > _MAX_MARKER_LENGTH:
            return "Correct the values that are not numbers"
        return f"List the markers of missing values: na_values=[{', '.join(map(_quoted, self.words[:3]))}]"


def detect_numeric_text(levels: Iterable[Any]) -> NumericTextReport | None:
    """Return why a text column seems to be meant for numbers; None if it does not."""
    marked, words, numbers = [], [], 0
    levels = list(levels)
    dates = [level for level in levels if isinstance(level, str) and _DATE.fullmatch(level.strip())]
    if len(dates) >= max(_MIN_NUMBERS, (1 - _MAX_WORD_SHARE) * len(levels)):
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
    if numbers < (_MIN_NUMBERS_BESIDE_MARKERS if beside else _MIN_NUMBERS) or (
        not beside and len(words) > _MAX_WORD_SHARE * numbers
    ):
        return None
    code = next((level for level in levels if isinstance(level, str) and _LEADING_ZERO.fullmatch(level)), "")
    if not words and not marked:
        # Plain numbers that were read as text: in a file with decimal commas, points separate thousands.
        marked = [level for level in levels if _THOUSANDS.fullmatch(level)]
    return NumericTextReport(numbers, tuple(sorted(marked)), tuple(sorted(words)), code)


def _quoted(word: str) -> str:
    return f'"{word}"' if '"' not in word else repr(word)


def is_number(text: str) -> bool:
    """Return whether a text is a number, possibly with the marks that spreadsheets add."""
    return _NUMBER.fullmatch(_MARKS.sub("", text)) is not None


def _stripped(text: str, unit: str | None) -> str:
    """Return a text without signs before it, or a sign or the unit after it."""
    text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
    *_, last = [None, *_AFTER.finditer(text)]
    if last is not None and last.end() == len(text) and (last[1] in "-+*" or last[1] == unit):
        text = text[: last.start()]
    return text


def _unit(levels: list[Any]) -> str | None:
    """Return the unit that follows nearly all values, if there is one: 12a, 12b and 13a are codes."""
    ends = Counter(re.sub(r"^.*[\d.,]\s*", "", level).strip() for level in levels if isinstance(level, str))
    unit, often = ends.most_common(1)[0] if ends else ("", 0)
    return unit if unit and often >= (1 - _MAX_WORD_SHARE) * len(levels) else None


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number as it is written in files of numbers."""
    # Python accepts 1_000, full-width digits and non-breaking spaces; files of numbers contain none of them.
    if not text.isascii() or "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
