"""Format numbers, counts, p-values and names for people, in tables, pages, plots and screens.

visible, shown        text and values of the user's data, made safe and short
format_number …       one number: to so many digits, as a count, as a p-value
align_numbers         the numbers of one column with the same decimals
pluralize             a count with its noun
join_names …          several names in a sentence, a message or a narrow column
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

MISSING = "–"
MINUS = "−"

MAX_SHOWN_CHARACTERS = 80
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
    """Return the repr of a value, cut at `MAX_SHOWN_CHARACTERS` if it is a long text."""
    if isinstance(value, str) and len(value) > MAX_SHOWN_CHARACTERS:
        return f"{value[:MAX_SHOWN_CHARACTERS]!r}… ({len(value)} characters)"
    return repr(value)


def format_number(value: float | None, digits: int = 4) -> str:
    """Return a number to so many digits, without an exponent from 1e-4 up to 1e7, with a typographic minus.

    >>> format_number(-0.123456), format_number(1234567.8), format_number(2.5e-7), format_number(None)
    ('−0.1235', '1,234,568', '2.500e−7', '–')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    size = abs(value)
    if size and not 1e-4 <= size < 1e7:
        return typeset_number(f"{value:.{digits - 1}e}")
    return typeset_number(f"{value:,.0f}" if size >= 10 ** (digits - 1) else f"{value:.{digits}g}")


def format_count(n: float | None) -> str:
    """Return a count in groups of three digits; a sum of weights that is not an integer to six digits.

    >>> format_count(12345), format_count(2.5)
    ('12,345', '2.5')
    """
    return typeset_number(f"{n:,.0f}") if n is not None and float(n).is_integer() else format_number(n, 6)


def format_p(p: float) -> str:
    """Return a p-value with four decimals, with two digits below 1e-4, and as "< 1e-16" below that.

    >>> format_p(0.01234), format_p(2.43e-5), format_p(0.0)
    ('0.0123', '2.4e-05', '< 1e-16')
    """
    if math.isnan(p):
        return MISSING
    return "< 1e-16" if p < 1e-16 else f"{p:.1e}" if p < 1e-4 else f"{p:.4f}"


def format_p_clause(p: float, digits: int = 2) -> str:
    """Return a p-value as part of a sentence.

    >>> format_p_clause(0.0514), format_p_clause(2.43e-5), format_p_clause(0.0)
    ('p 0.051', 'p 2.4e−5', 'p < 1e−16')
    """
    return typeset_number(f"p {MISSING}" if math.isnan(p) else "p < 1e-16" if p < 1e-16 else f"p {p:.{digits}g}")


def typeset_number(text: str) -> str:
    """Return numbers with a typographic minus, and exponents without a plus and leading zeros.

    >>> typeset_number("-1.5e-05"), typeset_number("[-2, 1e+06]")
    ('−1.5e−5', '[−2, 1e6]')
    """
    text = re.sub(r"(?<=\d)e\+?(-?)0*(?=\d)", r"e\1", text)
    return re.sub(r"(?<![\w.])-(?=\d)|(?<=\de)-", MINUS, text)


def align_numbers(values: Iterable[float]) -> list[str]:
    """Return the numbers of a column with as many decimals as show 4 digits of the largest and 3 of the smallest.

    If that takes more than 10 characters, each number has 4 digits of its own.

    >>> align_numbers([1234.5678, 0.0123, float("nan")])
    ['1234.5678', '0.0123', '–']
    """
    numbers = list(map(float, values))
    sizes = [abs(v) for v in numbers if math.isfinite(v) and v]
    form = "{:.0f}"
    if not all(size.is_integer() for size in sizes):
        largest, smallest = (math.floor(math.log10(size)) for size in (max(sizes), min(sizes)))
        decimals = max(3 - largest, 2 - smallest, 0)
        form = f"{{:.{decimals}f}}" if max(largest, 0) + 1 + decimals <= 10 else "{:.4g}"
    elif max(sizes, default=0.0) >= 1e10:
        form = "{:.4g}"
    return [MISSING if math.isnan(v) else form.format(v) for v in numbers]


def pluralize(n: int, noun: str, plural: str = "", *, zero: str = "0") -> str:
    """Return a count with its noun.

    >>> pluralize(1, "row"), pluralize(2000, "row"), pluralize(0, "class", "classes", zero="no")
    ('1 row', '2,000 rows', 'no classes')
    """
    return f"{f'{n:,}' if n else zero} {noun if n == 1 else plural or noun + 's'}"


def format_compact(value: float) -> str:
    """Return a number with at least four digits, and without an exponent from 1e4 up to 1e10.

    >>> format_compact(1234567.8), format_compact(0.123456)
    ('1,234,568', '0.12346')
    """
    return typeset_number(f"{value:,.0f}" if 1e4 <= abs(value) < 1e10 else f"{value:.5g}")


def shorten(name: str, width: int = 50) -> str:
    """Return a name of at most `width` characters, cut in the middle.

    >>> shorten("mean_radius_worst", 9)
    'mean_…rst'
    """
    return name if len(name) <= width else f"{name[: width - width // 3 - 1]}…{name[-(width // 3) :]}"


def join_names(names: Sequence[Any], limit: int = 5, last: str = " and ") -> str:
    """Return names as an enumeration, the first `limit` of them and how many more there are.

    >>> join_names("abc"), join_names("abc", last=", "), join_names("abcdefgh", 3), join_names([])
    ('a, b and c', 'a, b, c', 'a, b, c and 5 more', 'none')
    """
    *others, final = list(map(str, names[:limit])) or ["none"]
    if len(names) > limit:
        return f"{', '.join([*others, final])} and {len(names) - limit} more"
    return f"{', '.join(others)}{last}{final}" if others else final


def describe_dependent(names: Sequence[str], limit: int = 8) -> str:
    """Return the clause that states which columns the preceding ones determine, without a full stop.

    >>> describe_dependent(["x"]), describe_dependent(["a", "b"])
    ("Column 'x' is constant or a combination of the preceding columns", \
"Columns 'a', 'b' are constant or combinations of the preceding columns")
    """
    listed = join_names([repr(str(name)) for name in names], limit, ", ")
    if len(names) == 1:
        return f"Column {listed} is constant or a combination of the preceding columns"
    return f"Columns {listed} are constant or combinations of the preceding columns"


def list_first(names: Iterable[str], limit: int) -> str:
    """Return the first names, and a mark if there are more.

    >>> list_first("abc", 3), list_first("abcd", 3)
    ('a, b, c', 'a, b, c …')
    """
    every = list(names)
    return ", ".join(every[:limit]) + (" …" if len(every) > limit else "")


def shorten_names(names: Sequence[str], width: int, *, middle_first: bool = False) -> list[str]:
    """Return names of at most `width` characters, cut where most of them stay different.

    They are cut at the end, else in the middle, else at the start, else to what follows the words they share; with
    `middle_first`, at the end only if neither the middle nor the start is better.

    >>> shorten_names(["mean_radius_worst", "mean_radius_best"], 8)
    ['mean…rst', 'mean…est']
    >>> shorten_names(["level number 1 of the category", "level number 2 of the category"], 10)
    ['…1 of the…', '…2 of the…']
    """
    first, last = (visible(of(names)) for of in (min, max)) if names else ("", "")
    alike = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    begin = max((found.end() for found in re.finditer(r"\W", first[:alike])), default=0)  # the words that all share

    def cut(name: str, head: int) -> str:
        return name if len(name) <= width else f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"

    def rest(name: str) -> str:
        tail = name[begin:]
        return name if len(name) <= width else f"…{tail}" if len(tail) < width else f"…{tail[: width - 2]}…"

    heads = [width - 1, (width - 1) * 2 // 3, 0]
    ways = [[cut(visible(name), head) for name in names] for head in (heads[1:] + heads[:1] if middle_first else heads)]
    ways.append([rest(visible(name)) for name in names])
    return max(ways, key=lambda way: len(set(way)))
