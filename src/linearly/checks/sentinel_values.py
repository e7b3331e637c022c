"""Find numbers that stand for missing values, such as −999 among ages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What surveys and instruments write for "not known": −1, and nines.
SENTINELS = frozenset({-1.0} | {sign * (10.0**k - 1) for k in range(1, 7) for sign in (-1, 1)} - {9.0})
MIN_ROWS = 2  # one row may be a slip, or true
MIN_OTHERS = 10  # different positive values beside which a lone −1 is not a step of a scale


@dataclass(frozen=True)
class Edge:
    """The sentinels at one end of some rows, with their counts, up to the first other value.

    Everything beyond a sentinel that is counted here is a sentinel too, so edges of parts of the rows add up.
    """

    codes: tuple[tuple[float, int], ...] = ()  # (value, rows), outermost first
    other: float | None = None  # the first value that is not a sentinel

    @staticmethod
    def of(values: NDArray[np.float64], sign: int) -> Edge:
        """Return the low edge of finite numbers with sign 1, the high edge with −1."""
        codes: list[tuple[float, int]] = []
        while len(values):
            last = float(values.min() if sign > 0 else values.max())
            if last not in SENTINELS:
                return Edge(tuple(codes), last)
            rest = values[values != last]
            codes.append((last, len(values) - len(rest)))
            values = rest
        return Edge(tuple(codes))

    def plus(self, more: Edge, sign: int) -> Edge:
        """Return the edge of the rows of both."""
        ends = [sign * edge.other for edge in (self, more) if edge.other is not None]
        other = min(ends, default=None)
        counts: dict[float, int] = {}
        for value, rows in (*self.codes, *more.codes):
            if other is None or sign * value < other:
                counts[value] = counts.get(value, 0) + rows
        codes = tuple(sorted(counts.items(), key=lambda item: sign * item[0]))
        return Edge(codes, None if other is None else sign * other)


NO_EDGE = Edge()


def find_sentinels(column: Any) -> Iterator[tuple[float, int, float, float]]:
    """Yield the values of a column that look like sentinels: value, rows, and the range of the other values."""
    low, high = column.bottom.other, column.top.other
    if low is None or high is None:  # nothing but sentinels: they may be quantities
        return
    ends = [*((value, rows, low) for value, rows in column.bottom.codes),
            *((value, rows, high) for value, rows in column.top.codes)]  # fmt: skip
    others = len(column.levels) - len(ends)
    for value, rows, near in ends:
        if rows < MIN_ROWS or others < 2:
            continue
        # Further away than the others are wide; or the only negative number beside many positive ones.
        alone = value < 0 < low and len(column.bottom.codes) == 1 and others >= MIN_OTHERS
        if abs(value - near) > high - low or alone:
            yield value, rows, low, high
