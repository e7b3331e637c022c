"""Cut numbers into intervals, as R's cut() does: a category of the intervals between breaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from linearly.dataset.design.transforms import ExpressionFactor, check_pass, evaluate_finite, present_values
from linearly.dataset.formula.expression import Number, Text
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.double_double import Array

MAX_INTERVALS = 1000
_MAX_DIGITS = 15


@dataclass(frozen=True)
class Cut(ExpressionFactor):
    """One column of 0 and 1 for each interval but the first: cut(age, c(0, 18, 65, Inf)).

    Intervals contain their right end, or with `right` False their left one. With `lowest` the first interval contains
    both ends (the last one, if `right` is False). `open_low` and `open_high` add -Inf and Inf to the breaks.
    """

    right: bool = True
    lowest: bool = False
    n_intervals: int | None = None  # of equal width, instead of breaks
    breaks: tuple[float, ...] = ()
    open_low: bool = False
    open_high: bool = False
    labels: tuple[str, ...] = ()  # of the intervals, if they are given

    @property
    def label(self) -> str:
        edges = [
            *(["-Inf"] if self.open_low else []),
            *map(str, map(Number, self.breaks)),
            *(["Inf"] if self.open_high else []),
        ]
        given = f"c({', '.join(edges)})" if self.n_intervals is None else str(self.n_intervals)
        options = ("" if self.right else ", right=False") + (", include.lowest=True" if self.lowest else "")
        if self.labels:
            options += f", labels=c({', '.join(str(Text(label)) for label in self.labels)})"
        return f"cut({self.expression}, {given}{options})"

    @property
    def edges(self) -> Array:
        """The ends of the intervals, infinite ones included."""
        low, high = [-np.inf] * self.open_low, [np.inf] * self.open_high
        return np.array([*low, *self.breaks, *high])

    def fit(self, tables: Tables) -> Cut:
        if self.breaks:
            return self
        assert self.n_intervals is not None
        check_pass(tables, self.label)

        def find_ends(chunk: Chunk) -> _Ends:
            values = present_values(self.expression, chunk, self.label)
            return _Ends(float(values.min(initial=np.inf)), float(values.max(initial=-np.inf)))

        ends = tables.reduce(find_ends)
        low, high = ends.low, ends.high
        if not low < high:
            raise ValueError(f"{self.label} needs different values of {self.expression}. Pass the breaks.")
        breaks = np.linspace(low, high, self.n_intervals + 1)
        breaks[[0, -1]] = low - (high - low) / 1000, high + (high - low) / 1000  # as in R
        return replace(self, breaks=tuple(breaks.tolist()))

    def names(self, full: bool) -> tuple[str, ...]:
        return tuple(f"{self.label}[{interval}]" for interval in self.intervals()[0 if full else 1 :])

    def intervals(self) -> tuple[str, ...]:
        """Return the labels, or the intervals as R writes them, with as few digits as distinguish the breaks."""
        if self.labels:
            return self.labels
        edges = self.edges
        if not len(edges):
            return tuple(map(str, range(1, (self.n_intervals or 0) + 1)))
        for digits in range(3, _MAX_DIGITS + 1):
            texts = ["-Inf" if e == -np.inf else "Inf" if e == np.inf else f"{e:.{digits}g}" for e in edges]
            if len(set(texts)) == len(texts):
                break
        opening, closing = ("(", "]") if self.right else ("[", ")")
        found = [f"{opening}{a},{b}{closing}" for a, b in pairwise(texts)]
        if self.lowest:
            k = 0 if self.right else -1
            found[k] = f"[{found[k][1:-1]}]"
        return tuple(found)

    def values(self, chunk: Chunk, full: bool) -> Array:
        x = evaluate_finite(self.expression, chunk, self.label)
        edges = self.edges
        codes = np.searchsorted(edges, x, side="left" if self.right else "right") - 1
        if self.lowest:
            codes[x == edges[0 if self.right else -1]] = 0 if self.right else len(edges) - 2
        outside = (codes < 0) | (codes > len(edges) - 2)
        if outside.any():
            i = int(np.argmax(outside))
            raise ValueError(
                f"{self.expression} is {x[i]:g} in {chunk.where(i)}, outside the intervals of {self.label}. Add -Inf "
                "or Inf to the breaks, or leave the row out."
            )
        return np.asarray(np.eye(len(edges) - 1)[codes][:, 0 if full else 1 :])


@dataclass(frozen=True)
class _Ends:
    low: float
    high: float

    def __add__(self, other: _Ends) -> _Ends:
        return _Ends(min(self.low, other.low), max(self.high, other.high))
