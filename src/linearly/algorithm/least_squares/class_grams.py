"""ByClass: one Gram for each label, from which LDA, QDA and the indicator classifier are all read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, sub

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import UNDERFLOW_SQUARES, ColumnScaling
from linearly.algorithm.least_squares.gram import Gram, diagonal, outer, weight_statistics
from linearly.dataset.rows.block import Block, check_finite
from linearly.kernels.double_double import EPS, Array, DoubleDouble, Numbers, concatenate, to_float64

_UNCENTERED_TOL = 1e-6  # what centring leaves of a square, at least: less would lose more than six digits


@dataclass(frozen=True, slots=True, eq=False)
class ClassGrams:
    """A Gram of the features for each of K classes; ``+`` learns together, ``-`` forgets rows that are in it."""

    parts: tuple[Gram, ...]

    @staticmethod
    def of(block: Block, K: int, exact: bool = False) -> ClassGrams:
        """The summary of a block whose y holds class numbers 0 … K − 1."""
        try:
            return ClassGrams._of(block, K, exact)
        except ValueError:
            check_finite(block)  # by its row in the block: a class counts only its own
            raise

    @staticmethod
    def _of(block: Block, K: int, exact: bool) -> ClassGrams:
        assert block.y is not None
        # Of 16-bit numbers NumPy sorts by radix, ten times faster; more classes than that have few rows each anyway.
        codes = block.y.astype(np.int16) if K < 2**15 else block.y
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(K + 1))
        if not exact and isinstance(block.X, np.ndarray):
            return _of_classes(block, order, ends)
        classes = [order[ends[k] : ends[k + 1]] for k in range(K)]
        return ClassGrams(tuple(Gram.of(replace(block.take(rows), y=None), exact) for rows in classes))

    def __add__(self, other: ClassGrams) -> ClassGrams:
        together = _together(self, other)
        return self._combined(other, add) if together is None else together

    def __sub__(self, other: ClassGrams) -> ClassGrams:
        return self._combined(other, sub)

    def _combined(self, other: ClassGrams, combine: Callable[[Gram, Gram], Gram]) -> ClassGrams:
        mine, others = self.parts, other.parts
        if self.is_extended != other.is_extended:
            mine, others = (tuple(part.in_float64() for part in parts) for parts in (mine, others))
        return ClassGrams(tuple(map(combine, mine, others)))

    @property
    def n(self) -> int:
        """Rows of positive weight."""
        return sum(part.n for part in self.parts)

    @property
    def shares_scaling(self) -> bool:
        """Whether every class has rows, in float64 and measured in one scaling."""
        scaling = self.parts[0].scaling
        return all(part.scaling is scaling and part.n > 0 and not part.is_extended for part in self.parts)

    @property
    def is_extended(self) -> bool:
        """Whether the numbers are double-double."""
        return any(part.is_extended for part in self.parts)

    @property
    def counts(self) -> Array:
        """Rows of positive weight in each class."""
        return np.array([part.n for part in self.parts])

    @property
    def weights(self) -> Array:
        """Σ w in each class."""
        return np.array([float(to_float64(part.weight)) for part in self.parts])

    @property
    def priors(self) -> Array:
        """The share of each class in the weight."""
        weights = self.weights
        return np.asarray(weights / weights.sum())

    def with_common_scaling(self) -> ClassGrams:
        """The same, all classes measured in the scaling of the whole."""
        scaling = self.total().scaling
        return ClassGrams(
            tuple(part.rescaled(scaling) if part.n else replace(part, scaling=scaling) for part in self.parts)
        )

    def total(self) -> Gram:
        """The Gram of all rows, whatever their class."""
        return reduce(add, self.parts)

    def pooled(self) -> Gram:
        """Cross-products about the class means, added up: (N − K) times the pooled covariance."""
        total = self.total()
        parts = [part.rescaled(total.scaling) for part in self.parts if part.n]
        pooled = replace(total, centered_crossprod=reduce(add, [part.centered_crossprod for part in parts]))
        known: Array = reduce(add, [part.rounding for part in parts])
        grain = EPS * (EPS if total.is_extended else 1.0)
        known[1:] = np.hypot(known[1:], grain * to_float64(diagonal(pooled.centered_crossprod)))
        return replace(pooled, rounding=known)

    @property
    def means(self) -> DoubleDouble:
        """Class means in the user's units, K × p, with the digits an offset would hide (NaN for an empty class)."""
        rows = []
        for part in self.parts:
            mean = DoubleDouble.of(part.mean) * part.scaling.scale + part.scaling.shift
            rows.append(mean if part.n else DoubleDouble.of(np.full(part.p, np.nan)))
        return DoubleDouble(np.stack([row.high for row in rows]), np.stack([row.low for row in rows]))

    def indicator_gram(self) -> Gram:
        """The Gram of [X | Y] for the indicator matrix Y (n × K): Σ over a class of x − mean is all it takes."""
        total = self.total()
        weights: Numbers = np.array([to_float64(part.weight) for part in self.parts])
        if total.is_extended:
            own = [DoubleDouble.of(part.weight) for part in self.parts]
            weights = DoubleDouble(np.array([w.high for w in own]), np.array([w.low for w in own]))
        share = weights / weights.sum()
        moved = [
            (part.rescaled(total.scaling).mean - total.mean) * weights[k] if part.n else total.mean * 0.0
            for k, part in enumerate(self.parts)
        ]
        between = _diagonal_of(weights) - outer(share, share) * weights.sum()
        scaling = ColumnScaling(
            np.concatenate([total.scaling.shift, np.zeros(len(self.parts))]),
            np.concatenate([total.scaling.scale, np.ones(len(self.parts))]),
        )
        # Weights and sums of a class have the errors of its constant; those of all rows are shared out.
        constants = np.array([part.rounding[0] for part in self.parts]) + to_float64(share) ** 2 * total.rounding[0]
        return replace(
            total,
            scaling=scaling,
            mean=_joined(total.mean, share),
            centered_crossprod=_bordered(total.centered_crossprod, moved, between),
            rounding=np.concatenate([total.rounding, constants]),
        )


def _of_classes(block: Block, order: NDArray[np.int64], ends: NDArray[np.int64]) -> ClassGrams:
    """A Gram for each class in float64, all in the scaling of the block."""
    scaling, p = ColumnScaling.of(block, None), block.X.shape[1]
    G = kernels.gram_by_class(block.X, block.weight, scaling.shift, 1.0 / scaling.scale, order, ends)
    weight = G[:, 0, 0]
    with np.errstate(all="ignore"):
        mean = G[:, 0, 1:] / np.where(weight > 0, weight, 1.0)[:, None]
        cross = G[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :] * weight[:, None, None]
    # Where a square over- or underflowed, or centring leaves little of it, the scaling of the block is not one for this
    # class: it is narrow, and far from the others.
    squares, left = (np.diagonal(A, axis1=1, axis2=2) for A in (G[:, 1:, 1:], cross))
    sound: NDArray[np.bool_] = np.all(
        np.isfinite(squares) & (squares > UNDERFLOW_SQUARES) & (left > _UNCENTERED_TOL * squares), axis=1
    )
    parts = []
    for k in range(len(G)):
        rows = order[ends[k] : ends[k + 1]]
        if sound[k]:
            counted = weight_statistics(None if block.weight is None else block.weight[rows], len(rows))
            parts.append(Gram(counted[0], weight[k], counted[1], p, scaling, mean[k], cross[k]))
        else:
            parts.append(Gram.of(replace(block.take(rows), y=None)))
    return ClassGrams(tuple(parts))


def _together(a: ClassGrams, b: ClassGrams) -> ClassGrams | None:
    """The sum of all classes at once, which is `Gram.__add__` of each; None where classes differ in scaling."""
    if not (a.shares_scaling and b.shares_scaling) or len(a.parts) != len(b.parts):
        return None
    scaling = a.parts[0].scaling.common_scale(b.parts[0].scaling)
    (n, weight, logs, mean, cross, bound), (n2, weight2, logs2, mean2, cross2, bound2) = (
        _stacked(side, scaling) for side in (a, b)
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
    return ClassGrams(
        tuple(
            Gram(int(n[k]), total[k], float(logs[k]), p, scaling, mean[k], cross[k], rounding=known[k])
            for k in range(len(n))
        )
    )


def _stacked(side: ClassGrams, scaling: ColumnScaling) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Rows, weights, Σ log w, means, cross-products and their bounds of all classes, measured in a scaling."""
    parts, mine = side.parts, side.parts[0].scaling
    mean, cross = np.stack([part.mean for part in parts]), np.stack([part.centered_crossprod for part in parts])
    bound = np.stack([part.rounding for part in parts])
    if mine is not scaling:
        ratio = mine.scale / scaling.scale
        mean = mean * ratio + (mine.shift - scaling.shift) / scaling.scale
        cross = cross if (ratio == 1).all() else cross * (ratio[:, None] * ratio)
        bound[:, 1:] *= ratio * ratio
    n, weight, logs = np.array([(part.n, part.weight, part.log_weight) for part in parts]).T
    return n, weight, logs, mean, cross, bound


def _diagonal_of(weights: Numbers) -> Numbers:
    if isinstance(weights, DoubleDouble):
        return DoubleDouble(np.diag(weights.high), np.diag(weights.low))
    return np.diag(weights)


def _joined(mean: Numbers, share: Numbers) -> Numbers:
    return concatenate([mean, share]) if isinstance(mean, DoubleDouble) else np.concatenate([mean, share])


def _bordered(cross: Numbers, moved: list[Numbers], between: Numbers) -> Numbers:
    if isinstance(cross, DoubleDouble):
        high = _bordered(cross.high, [m.high for m in moved], between.high)
        return DoubleDouble(high, _bordered(cross.low, [m.low for m in moved], between.low))
    C = np.stack(moved, axis=1)
    return np.block([[cross, C], [C.T, between]])
