"""ByClass: one Gram for each label, from which LDA, QDA and the indicator classifier are all read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, sub

import numpy as np

from linearly.algorithm.gauge import Gauge
from linearly.algorithm.gram import Gram, outer
from linearly.algorithm.triangular import Numbers, rounded
from linearly.dataset.rows import Block, refuse_bad_numbers
from linearly.kernels.doubled import Array, Doubled


@dataclass(frozen=True, slots=True, eq=False)
class ByClass:
    """A Gram of the features for each of K classes; ``+`` learns together, ``-`` forgets rows that are in it."""

    parts: tuple[Gram, ...]

    @staticmethod
    def of(block: Block, K: int, exact: bool = False) -> ByClass:
        """The summary of a block whose y holds class numbers 0 … K − 1."""
        try:
            return ByClass._of(block, K, exact)
        except ValueError:
            refuse_bad_numbers(block)  # by its row in the block: a class counts only its own
            raise

    @staticmethod
    def _of(block: Block, K: int, exact: bool) -> ByClass:
        assert block.y is not None
        # Of 16-bit numbers NumPy sorts by radix, ten times faster; more classes than that have few rows each anyway.
        codes = block.y.astype(np.int16) if K < 2**15 else block.y
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(K + 1))
        classes = [order[ends[k] : ends[k + 1]] for k in range(K)]
        if not exact and isinstance(block.X, np.ndarray):
            gauge = Gauge.of(block, None)
            return ByClass(tuple(Gram.of_rows(block, rows, gauge) for rows in classes))
        parts = []
        for rows in classes:
            parts.append(Gram.of(replace(block.take(rows), y=None), exact))
        return ByClass(tuple(parts))

    def __add__(self, other: ByClass) -> ByClass:
        return self._combined(other, add)

    def __sub__(self, other: ByClass) -> ByClass:
        return self._combined(other, sub)

    def _combined(self, other: ByClass, combine: Callable[[Gram, Gram], Gram]) -> ByClass:
        mine, others = self.parts, other.parts
        if self.exact != other.exact:
            mine, others = (tuple(part.in_float64() for part in parts) for parts in (mine, others))
        return ByClass(tuple(map(combine, mine, others)))

    @property
    def n(self) -> int:
        """Rows of positive weight."""
        return sum(part.n for part in self.parts)

    @property
    def exact(self) -> bool:
        """Whether the numbers are double-double."""
        return any(part.exact for part in self.parts)

    @property
    def counts(self) -> Array:
        """Rows of positive weight in each class."""
        return np.array([part.n for part in self.parts])

    @property
    def weights(self) -> Array:
        """Σ w in each class."""
        return np.array([float(rounded(part.weight)) for part in self.parts])

    @property
    def priors(self) -> Array:
        """The share of each class in the weight."""
        weights = self.weights
        return np.asarray(weights / weights.sum())

    def in_one_gauge(self) -> ByClass:
        """The same, all classes measured in the gauge of the whole."""
        gauge = self.total().gauge
        return ByClass(tuple(part.measured(gauge) if part.n else replace(part, gauge=gauge) for part in self.parts))

    def total(self) -> Gram:
        """The Gram of all rows, whatever their class."""
        return reduce(add, self.parts)

    def pooled(self) -> Gram:
        """Cross-products about the class means, added up: (N − K) times the pooled covariance."""
        total = self.total()
        parts = [part.measured(total.gauge) for part in self.parts if part.n]
        return replace(total, cross=reduce(add, [part.cross for part in parts]))

    @property
    def means(self) -> Doubled:
        """Class means in the user's units, K × p, with the digits an offset would hide (NaN for an empty class)."""
        rows = []
        for part in self.parts:
            mean = Doubled.of(part.mean) * part.gauge.unit + part.gauge.shift
            rows.append(mean if part.n else Doubled.of(np.full(part.p, np.nan)))
        return Doubled(np.stack([row.high for row in rows]), np.stack([row.low for row in rows]))

    def indicator(self) -> Gram:
        """The Gram of [X | Y] for the indicator matrix Y (n × K): Σ over a class of x − mean is all it takes."""
        total = self.total()
        weights: Numbers = np.array([rounded(part.weight) for part in self.parts])
        share = weights / weights.sum()
        moved = [
            (part.measured(total.gauge).mean - total.mean) * float(weights[k]) if part.n else total.mean * 0.0
            for k, part in enumerate(self.parts)
        ]
        between = np.diag(weights) - outer(share, share) * weights.sum()
        gauge = Gauge(
            np.concatenate([total.gauge.shift, np.zeros(len(weights))]),
            np.concatenate([total.gauge.unit, np.ones(len(weights))]),
        )
        return replace(
            total,
            gauge=gauge,
            mean=_joined(total.mean, share),
            cross=_bordered(total.cross, moved, between),
        )


def _joined(mean: Numbers, share: Array) -> Numbers:
    if isinstance(mean, Doubled):
        return Doubled(np.concatenate([mean.high, share]), np.concatenate([mean.low, 0 * share]))
    return np.concatenate([mean, share])


def _bordered(cross: Numbers, moved: list[Numbers], between: Array) -> Numbers:
    if isinstance(cross, Doubled):
        high = _bordered(cross.high, [m.high for m in moved], between)
        return Doubled(high, _bordered(cross.low, [m.low for m in moved], 0 * between))
    C = np.stack(moved, axis=1)
    return np.block([[cross, C], [C.T, between]])
