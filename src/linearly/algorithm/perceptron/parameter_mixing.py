"""Iterative parameter mixing: how an online perceptron learns from partitions on a cluster.

A pass scans every partition on its own worker, each from the same weights. Then the weights are averaged, each
partition counted by the mistakes it made, and the next pass starts from the average. Where a hyperplane with margin γ
separates rows of length up to R, at most (R/γ)² passes make a mistake, as many as a single scan makes mistakes at most
(McDonald, Hall & Mann 2010, theorem 3 with μ proportional to mistakes). With one partition it is the single scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linearly.algorithm.perceptron.online_pass import Array, Weights, online_pass
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.safe_scaling import SMALL, UnsafeMagnitude


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Weights after a pass over some partitions, averaged by mistakes, and what the average over rows needs.

    The sum of the weights after each row is seen · W − U, and of the constant terms seen · b − c.
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
        """The weights that a scan from ``seen = 0`` left."""
        weights.set_layout(False)
        return Mixture(weights.W, weights.intercept, weights.U, weights.c, mistakes, weights.seen, weights.largest)

    def __add__(self, other: Mixture) -> Mixture:
        total = self.mistakes + other.mistakes
        # Who made no mistake still has the weights of the start and no say in the mixture.
        share = other.mistakes / total if total else 0.0
        W, b = _between(self.W, other.W, share), _between(self.b, other.b, share)
        m, n = self.seen, other.seen
        U = c = None
        if self.U is not None and other.U is not None:
            U = self.U + other.U + m * (W - self.W) + n * (W - other.W)
        if self.c is not None and other.c is not None:
            c = self.c + other.c + m * (b - self.b) + n * (b - other.b)
        return Mixture(W, b, U, c, total, m + n, max(self.largest, other.largest))

    def follow(self, weights: Weights) -> None:
        """Bring weights that were the start of this pass to its end."""
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
    """The scan of one partition from given weights: what is sent to where its blocks are."""

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
            # Rows that are tiny here may stand beside ordinary ones elsewhere; those whose products overflow may not.
            if not weights.largest < SMALL:
                weights.largest = np.inf
        return Mixture.of(weights, made)


class _PartitionRows:
    """The blocks of a partition as rows that can be walked once; their indices in the whole data set do not matter."""

    names: tuple[str, ...] = ()

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks = blocks

    def __iter__(self) -> Iterator[Block]:
        return (replace(block, start=0) for block in self.blocks)

    def reduce(self, f: Callable[[Block], Any]) -> Any:
        raise NotImplementedError


def _between(a: Array, b: Array, share: float) -> Array:
    """a and b themselves at the ends, where a + (b − a) · share might round."""
    if share in (0.0, 1.0):
        return b if share else a
    return np.asarray(a + (b - a) * share)
