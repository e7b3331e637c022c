"""Iterative parameter mixing: train an online perceptron on the partitions of a cluster.

Each worker makes an online pass over its partition, all from the same weights. The weights are then averaged, weighted
by the mistakes of each partition, and the next pass starts from the average. If a hyperplane with margin γ separates
rows of norm up to R, at most (R/γ)² passes make a mistake (McDonald, Hall & Mann 2010, theorem 3 with μ proportional to
mistakes). With one partition this is the ordinary online pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linearly.algorithm.perceptron.online_pass import Weights, online_pass
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.safe_scaling import SMALL, UnsafeMagnitude
from linearly.kernels.double_double import Array


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Weights after a pass over some partitions, averaged by mistakes, with the sums for the average over rows.

    The sum of the weights after each row is seen · W − U, and of the intercepts seen · b − c.
    """

    W: Array
    b: Array
    U: Array | None
    c: Array | None
    mistakes: int
    seen: int
    largest: float

    @staticmethod
    def of(weights: Weights, mistakes: int) -> Mixture:
        """Return the mixture of one partition, whose pass started at ``seen = 0``."""
        weights.set_layout(False)
        return Mixture(weights.W, weights.intercept, weights.U, weights.c, mistakes, weights.seen, weights.largest)

    def __add__(self, other: Mixture) -> Mixture:
        total = self.mistakes + other.mistakes
        # A partition without mistakes still has the starting weights and does not count.
        share = other.mistakes / total if total else 0.0
        W, b = _between(self.W, other.W, share), _between(self.b, other.b, share)
        m, n = self.seen, other.seen
        U = c = None
        if self.U is not None and other.U is not None:
            U = self.U + other.U + m * (W - self.W) + n * (W - other.W)
        if self.c is not None and other.c is not None:
            c = self.c + other.c + m * (b - self.b) + n * (b - other.b)
        return Mixture(W, b, U, c, total, m + n, max(self.largest, other.largest))

    def update(self, weights: Weights) -> None:
        """Move weights from the start of this pass to its end."""
        weights.set_layout(False)
        if weights.U is not None and self.U is not None:
            weights.U += self.U + weights.seen * (self.W - weights.W)
        if weights.c is not None and self.c is not None:
            weights.c += self.c + weights.seen * (self.b - weights.intercept)
        weights.W[:] = self.W
        if weights.b is not None:
            weights.b[:] = self.b
        weights.seen += self.seen
        weights.largest = max(weights.largest, self.largest)


@dataclass(frozen=True)
class Shard:
    """An online pass over one partition from given weights: the function that is sent to its worker."""

    start: Weights

    def __call__(self, blocks: Iterable[Block]) -> Mixture:
        start = self.start
        U, c = (None if a is None else np.zeros_like(a) for a in (start.U, start.c))
        b = None if start.b is None else start.b.copy()
        weights = Weights(start.W.copy(), b, U, c, start.interleaved)
        made = 0
        try:
            for found in online_pass(_PartitionRows(blocks), weights, measure=True):
                made += len(found)
        except UnsafeMagnitude:
            # Rows that are tiny here may be accompanied by ordinary ones elsewhere; overflowing products may not.
            if not weights.largest < SMALL:
                weights.largest = np.inf
        return Mixture.of(weights, made)


class _PartitionRows(Rows):
    """The blocks of a partition as rows that can be walked once. Their global indices do not matter."""

    names: tuple[str, ...] = ()

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks = blocks

    def __iter__(self) -> Iterator[Block]:
        return (replace(block, start=0) for block in self.blocks)

    def reduce(self, f: Callable[[Block], Any]) -> Any:
        raise NotImplementedError


def _between(a: Array, b: Array, share: float) -> Array:
    """Return a + (b − a) · share, and a or b themselves at the ends, where the formula might round."""
    if share in (0.0, 1.0):
        return b if share else a
    return np.asarray(a + (b - a) * share)
