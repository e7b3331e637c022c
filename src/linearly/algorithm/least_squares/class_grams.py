"""Summarize rows by one Gram per class, from which LDA, QDA and the least-squares classifier are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add, sub
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import UNDERFLOW_SQUARES, ColumnScaling
from linearly.algorithm.least_squares.gram import Gram, diagonal, outer, weight_statistics
from linearly.algorithm.least_squares.whitening import Whitening, whiten
from linearly.dataset.rows.block import Block, check_finite
from linearly.kernels.double_double import EPS, Array, DoubleDouble, Numbers, map_parts, to_float64

_UNCENTERED_TOL = 1e-6  # fraction of a square that centring must leave: less would lose more than six digits


@dataclass(frozen=True, eq=False)
class ClassGrams:
    """One Gram of the features per class. ``+`` merges two sets of rows, ``-`` removes rows that are in it."""

    parts: tuple[Gram, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return ClassGrams, (self.parts,)  # without what is computed from them

    @staticmethod
    def of(block: Block, K: int, extended: bool = False) -> ClassGrams:
        """Return the summary of a block whose y has class codes 0 … K − 1, in double-double if `extended`."""
        assert block.y is not None
        # NumPy sorts 16-bit numbers by radix, ten times faster; more classes than that have few rows each.
        codes = block.y.astype(np.int16) if K < 2**15 else block.y
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(K + 1))
        classes = [order[ends[k] : ends[k + 1]] for k in range(K)]
        try:
            if not extended and isinstance(block.X, np.ndarray):
                return _with_scaling_of_block(block, order, ends)
            return ClassGrams(tuple(Gram.of(replace(block.take(rows), y=None), extended) for rows in classes))
        except ValueError:
            check_finite(block)  # reports the row of the block, not of the class
            raise

    def __add__(self, other: ClassGrams) -> ClassGrams:
        merged = _merge_at_once(self, other)
        return self._combine(other, add) if merged is None else merged

    def __sub__(self, other: ClassGrams) -> ClassGrams:
        return self._combine(other, sub)

    def _combine(self, other: ClassGrams, operation: Callable[[Gram, Gram], Gram]) -> ClassGrams:
        mine, others = self.parts, other.parts
        if self.is_extended != other.is_extended:
            mine, others = (tuple(part.in_float64() for part in parts) for parts in (mine, others))
        return ClassGrams(tuple(map(operation, mine, others)))

    @property
    def n(self) -> int:
        """Return the number of rows with positive weight."""
        return sum(part.n for part in self.parts)

    @property
    def shares_scaling(self) -> bool:
        """Return whether every class has rows, in float64 and in one scaling."""
        scaling = self.parts[0].scaling
        return all(part.scaling is scaling and part.n > 0 and not part.is_extended for part in self.parts)

    @property
    def is_extended(self) -> bool:
        """Return whether the numbers are double-double."""
        return any(part.is_extended for part in self.parts)

    @property
    def counts(self) -> Array:
        """Return the number of rows with positive weight in each class."""
        return np.array([part.n for part in self.parts])

    @property
    def weights(self) -> Array:
        """Return Σ w of each class."""
        return np.array([float(to_float64(part.weight)) for part in self.parts])

    @property
    def priors(self) -> Array:
        """Return the share of each class in the total weight."""
        weights = self.weights
        return np.asarray(weights / weights.sum())

    def with_common_scaling(self) -> ClassGrams:
        """Return the same summary with all classes in the scaling of the total."""
        scaling = self.total().scaling
        if all(part.scaling is scaling for part in self.parts):
            return self
        return ClassGrams(
            tuple(part.rescaled(scaling) if part.n else replace(part, scaling=scaling) for part in self.parts)
        )

    def total(self) -> Gram:
        """Return the Gram of all rows."""
        return self._total

    @cached_property
    def _total(self) -> Gram:
        return reduce(add, self.parts)

    @cached_property
    def whitening_of_total(self) -> Whitening:
        """The inverse root of the cross-products of all rows, with its rank and correct digits."""
        return whiten(self._total.centered_crossprod, self._total.rounding[1:])

    def pooled(self) -> Gram:
        """Return the sum of the cross-products about the class means: (N − K) times the pooled covariance."""
        return self._pooled

    @cached_property
    def _pooled(self) -> Gram:
        total = self._total
        parts = [part.rescaled(total.scaling) for part in self.parts if part.n]
        cross = reduce(add, [part.centered_crossprod for part in parts])
        known: Array = reduce(add, [part.rounding for part in parts])
        grain = EPS * (EPS if total.is_extended else 1.0)
        known[1:] = np.hypot(known[1:], grain * to_float64(diagonal(cross)))
        return replace(total, centered_crossprod=cross, rounding=known)

    @cached_property
    def means(self) -> DoubleDouble:
        """The class means in the user's units, K × p, in double-double (NaN for an empty class)."""
        if self.shares_scaling:
            scaling = self.parts[0].scaling
            return DoubleDouble.of(np.stack([part.mean for part in self.parts])) * scaling.scale + scaling.shift
        rows = []
        for part in self.parts:
            mean = DoubleDouble.of(part.mean) * part.scaling.scale + part.scaling.shift
            rows.append(mean if part.n else DoubleDouble.of(np.full(part.p, np.nan)))
        means: DoubleDouble = map_parts(lambda *parts: np.stack(parts), *rows)
        return means

    def indicator_gram(self) -> Gram:
        """Return the Gram of [X | Y] for the indicator matrix Y (n × K), from Σ (x − mean) over each class."""
        total = self.total()
        weights: Numbers = np.array([to_float64(part.weight) for part in self.parts])
        if total.is_extended:
            weights = map_parts(lambda *w: np.array(w), *(DoubleDouble.of(part.weight) for part in self.parts))
        share = weights / weights.sum()
        moved = [
            (part.rescaled(total.scaling).mean - total.mean) * weights[k] if part.n else total.mean * 0.0
            for k, part in enumerate(self.parts)
        ]
        between = map_parts(np.diag, weights) - outer(share, share) * weights.sum()
        scaling = ColumnScaling(
            np.concatenate([total.scaling.shift, np.zeros(len(self.parts))]),
            np.concatenate([total.scaling.scale, np.ones(len(self.parts))]),
        )
        # Weights and sums of a class have the errors of its constant, and its share of those of all rows.
        constants = np.array([part.rounding[0] for part in self.parts]) + to_float64(share) ** 2 * total.rounding[0]
        return replace(
            total,
            scaling=scaling,
            mean=map_parts(lambda *parts: np.concatenate(parts), total.mean, share),
            centered_crossprod=map_parts(_border, total.centered_crossprod, between, *moved),
            rounding=np.concatenate([total.rounding, constants]),
        )


def _with_scaling_of_block(block: Block, order: NDArray[np.int64], ends: NDArray[np.int64]) -> ClassGrams:
    """Return a float64 Gram per class, in the scaling of the block where that suits the class."""
    scaling, p = ColumnScaling.of(block, None), block.X.shape[1]
    G = kernels.gram_by_class(block.X, block.weight, scaling.shift, 1.0 / scaling.scale, order, ends)
    weight = G[:, 0, 0]
    with np.errstate(all="ignore"):
        mean = G[:, 0, 1:] / np.where(weight > 0, weight, 1.0)[:, None]
        cross = G[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :] * weight[:, None, None]
    # The scaling of the block does not suit a class that is narrow and far from the others: a square over- or
    # underflows, or centring leaves little of it.
    squares, left = (np.diagonal(A, axis1=1, axis2=2) for A in (G[:, 1:, 1:], cross))
    suits: NDArray[np.bool_] = np.all(
        np.isfinite(squares) & (squares > UNDERFLOW_SQUARES) & (left > _UNCENTERED_TOL * squares), axis=1
    )
    parts = []
    for k in range(len(G)):
        rows = order[ends[k] : ends[k + 1]]
        if suits[k]:
            counted = weight_statistics(None if block.weight is None else block.weight[rows], len(rows))
            parts.append(Gram(counted[0], weight[k], counted[1], p, scaling, mean[k], cross[k]))
        else:
            parts.append(Gram.of(replace(block.take(rows), y=None)))
    return ClassGrams(tuple(parts))


def _merge_at_once(a: ClassGrams, b: ClassGrams) -> ClassGrams | None:
    """Return a + b by array operations over all classes, as `Gram.__add__` of each; None if scalings differ."""
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
    """Return rows, weights, Σ log w, means, cross-products and their bounds of all classes in a scaling."""
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


def _border(cross: Array, between: Array, *moved: Array) -> Array:
    C = np.stack(moved, axis=1)
    return np.block([[cross, C], [C.T, between]])
