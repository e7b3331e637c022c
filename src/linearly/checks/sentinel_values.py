"""Numbers that are no quantities: codes for missing values, and codes that are written with leading zeros."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What surveys and instruments write for "not known": -1, and nines.
USUAL = frozenset({-1.0} | {sign * (10.0**k - 1) for k in range(1, 7) for sign in (-1, 1)} - {9.0})
_FEWEST = 2  # rows: one may be a slip, or true
_SEVERAL = 10  # different values of others, all above zero, from which a lone -1 is no step of a scale


@dataclass(frozen=True)
class Edge:
    """The usual codes at one end of some rows, with their counts, up to the first value that is none.

    Whatever stands beyond a code that ends up here is a code too, in every part of the rows: the sum is exact.
    """

    codes: tuple[tuple[float, int], ...] = ()  # outermost first
    other: float | None = None

    @staticmethod
    def of(values: NDArray[np.float64], sign: int) -> Edge:
        """The edge of finite numbers: the low one with sign 1, the high one with −1."""
        codes: list[tuple[float, int]] = []
        while len(values):
            last = float(values.min() if sign > 0 else values.max())
            if last not in USUAL:
                return Edge(tuple(codes), last)
            rest = values[values != last]
            codes.append((last, len(values) - len(rest)))
            values = rest
        return Edge(tuple(codes))

    def plus(self, more: Edge, sign: int) -> Edge:
        """The edge of both."""
        ends = [sign * edge.other for edge in (self, more) if edge.other is not None]
        other = min(ends, default=None)
        counts: dict[float, int] = {}
        for value, rows in (*self.codes, *more.codes):
            if other is None or sign * value < other:
                counts[value] = counts.get(value, 0) + rows
        codes = tuple(sorted(counts.items(), key=lambda item: sign * item[0]))
        return Edge(codes, None if other is None else sign * other)


NO_EDGE = Edge()


def codes_of(column: Any) -> Iterator[tuple[float, int, float, float]]:
    """Values of a column that look like codes for missing ones: each with its rows, and the range of the others."""
    low, high = column.bottom.other, column.top.other
    if low is None or high is None:  # nothing but codes: perhaps they are none
        return
    ends = [*((value, rows, low) for value, rows in column.bottom.codes),
            *((value, rows, high) for value, rows in column.top.codes)]  # fmt: skip
    others = len(column.levels) - len(ends)
    for value, rows, near in ends:
        if rows < _FEWEST or others < 2:
            continue
        # A whole width away; or the only negative number where there are many, and not even a zero.
        alone = value < 0 < low and len(column.bottom.codes) == 1 and others >= _SEVERAL
        if abs(value - near) > high - low or alone:
            yield value, rows, low, high
