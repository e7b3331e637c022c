"""ByClass: one Gram for each label, from which LDA, QDA and the indicator classifier are all read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, sub

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import VANISHED, Gauge
from linearly.algorithm.least_squares.gram import Gram, count, diagonal, outer
from linearly.dataset.rows.block import Block, refuse_bad_numbers
from linearly.kernels.double_double import EPS, Array, Doubled, Numbers, concatenate, rounded

_FAR = 1e-6  # what centring leaves of a square, at least: less would lose more than six digits


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
        if not exact and isinstance(block.X, np.ndarray):
            return _of_classes(block, order, ends)
        classes = [order[ends[k] : ends[k + 1]] for k in range(K)]
        return ByClass(tuple(Gram.of(replace(block.take(rows), y=None), exact) for rows in classes))

    def __add__(self, other: ByClass) -> ByClass:
        together = _together(self, other)
        return self._combined(other, add) if together is None else together

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
    def in_a_gauge(self) -> bool:
        """Whether every class has rows, in float64 and measured in one gauge."""
        gauge = self.parts[0].gauge
        return all(part.gauge is gauge and part.n > 0 and not part.exact for part in self.parts)

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
        pooled = replace(total, cross=reduce(add, [part.cross for part in parts]))
        known: Array = reduce(add, [part.rounding for part in parts])
        grain = EPS * (EPS if total.exact else 1.0)
        known[1:] = np.hypot(known[1:], grain * rounded(diagonal(pooled.cross)))
        return replace(pooled, rounding=known)

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
        if total.exact:
            own = [Doubled.of(part.weight) for part in self.parts]
            weights = Doubled(np.array([w.high for w in own]), np.array([w.low for w in own]))
        share = weights / weights.sum()
        moved = [
            (part.measured(total.gauge).mean - total.mean) * weights[k] if part.n else total.mean * 0.0
            for k, part in enumerate(self.parts)
        ]
        between = _diagonal_of(weights) - outer(share, share) * weights.sum()
        gauge = Gauge(
            np.concatenate([total.gauge.shift, np.zeros(len(self.parts))]),
            np.concatenate([total.gauge.unit, np.ones(len(self.parts))]),
        )
        # Weights and sums of a class have the errors of its constant; those of all rows are shared out.
        constants = np.array([part.rounding[0] for part in self.parts]) + rounded(share) ** 2 * total.rounding[0]
        return replace(
            total,
            gauge=gauge,
            mean=_joined(total.mean, share),
            cross=_bordered(total.cross, moved, between),
            rounding=np.concatenate([total.rounding, constants]),
        )


def _of_classes(block: Block, order: NDArray[np.int64], ends: NDArray[np.int64]) -> ByClass:
    """A Gram for each class in float64, all in the gauge of the block."""
    gauge, p = Gauge.of(block, None), block.X.shape[1]
    G = kernels.gram_by_class(block.X, block.weight, gauge.shift, 1.0 / gauge.unit, order, ends)
    weight = G[:, 0, 0]
    with np.errstate(all="ignore"):
        mean = G[:, 0, 1:] / np.where(weight > 0, weight, 1.0)[:, None]
        cross = G[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :] * weight[:, None, None]
    # Where a square over- or underflowed, or centring leaves little of it, the gauge of the block is not one for this
    # class: it is narrow, and far from the others.
    squares, left = (np.diagonal(A, axis1=1, axis2=2) for A in (G[:, 1:, 1:], cross))
    sound: NDArray[np.bool_] = np.all(np.isfinite(squares) & (squares > VANISHED) & (left > _FAR * squares), axis=1)
    parts = []
    for k in range(len(G)):
        rows = order[ends[k] : ends[k + 1]]
        if sound[k]:
            counted = count(None if block.weight is None else block.weight[rows], len(rows))
            parts.append(Gram(counted[0], weight[k], counted[1], p, gauge, mean[k], cross[k]))
        else:
            parts.append(Gram.of(replace(block.take(rows), y=None)))
    return ByClass(tuple(parts))


def _together(a: ByClass, b: ByClass) -> ByClass | None:
    """The sum of all classes at once, which is `Gram.__add__` of each; None where classes differ in gauge."""
    if not (a.in_a_gauge and b.in_a_gauge) or len(a.parts) != len(b.parts):
        return None
    gauge = a.parts[0].gauge.coarser(b.parts[0].gauge)
    (n, weight, logs, mean, cross, bound), (n2, weight2, logs2, mean2, cross2, bound2) = (
        _stacked(side, gauge) for side in (a, b)
    )
    total = weight + weight2
    difference, share, light = mean2 - mean, weight2 / total, weight / total
    bound[:, 1:] += (difference * share[:, None]) ** 2 * bound[:, :1]
    bound2[:, 1:] += (difference * light[:, None]) ** 2 * bound2[:, :1]
    mean = np.where((light < 1 / 3)[:, None], mean2 - difference * light[:, None], mean + difference * share[:, None])
    cross = (cross + cross2) + difference[:, :, None] * difference[:, None, :] * (weight * share)[:, None, None]
    p, logs, n = a.parts[0].p, logs + logs2, n + n2
    least = np.empty_like(bound)
    least[:, 0], least[:, 1:] = total, np.diagonal(cross, axis1=1, axis2=2) + mean**2 * total[:, None]
    known = np.hypot(bound + bound2, EPS * least)
    return ByClass(
        tuple(
            Gram(int(n[k]), total[k], float(logs[k]), p, gauge, mean[k], cross[k], rounding=known[k])
            for k in range(len(n))
        )
    )


def _stacked(side: ByClass, gauge: Gauge) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Rows, weights, Σ log w, means, cross-products and their bounds of all classes, measured in a gauge."""
    parts, mine = side.parts, side.parts[0].gauge
    mean, cross = np.stack([part.mean for part in parts]), np.stack([part.cross for part in parts])
    bound = np.stack([part.rounding for part in parts])
    if mine is not gauge:
        ratio = mine.unit / gauge.unit
        mean = mean * ratio + (mine.shift - gauge.shift) / gauge.unit
        cross = cross if (ratio == 1).all() else cross * (ratio[:, None] * ratio)
        bound[:, 1:] *= ratio * ratio
    n, weight, logs = np.array([(part.n, part.weight, part.log_weight) for part in parts]).T
    return n, weight, logs, mean, cross, bound


def _diagonal_of(weights: Numbers) -> Numbers:
    if isinstance(weights, Doubled):
        return Doubled(np.diag(weights.high), np.diag(weights.low))
    return np.diag(weights)


def _joined(mean: Numbers, share: Numbers) -> Numbers:
    return concatenate([mean, share]) if isinstance(mean, Doubled) else np.concatenate([mean, share])


def _bordered(cross: Numbers, moved: list[Numbers], between: Numbers) -> Numbers:
    if isinstance(cross, Doubled):
        high = _bordered(cross.high, [m.high for m in moved], between.high)
        return Doubled(high, _bordered(cross.low, [m.low for m in moved], between.low))
    C = np.stack(moved, axis=1)
    return np.block([[cross, C], [C.T, between]])
