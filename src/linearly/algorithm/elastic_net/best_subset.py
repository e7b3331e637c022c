"""Find the best least-squares model of each size by branch and bound on the summary of the rows.

The search starts from all features and drops one at a time (Furnival & Wilson 1974). Dropping features never decreases
the residual sum of squares, so that of a node is a lower bound for all models below it. A node is not followed if its
bound is no better than the best models known of the sizes below it. Nodes with equally many features are handled at
once, as one batch of small matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array

_CHUNK = 256  # nodes per batch
_SLACK = 1e-12  # relative improvement that counts as one
MAX_NODES = 5_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Subsets:
    """The best model of each size 1 … m, with lower bounds on the residual sum of squares of any model of that size."""

    features: tuple[NDArray[np.intp], ...]
    rss: Array
    bound: Array
    n_nodes: int

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Return for which sizes no better model exists."""
        return self.bound >= self.rss * (1 - 1e-9)


class _Nodes(NamedTuple):
    """Nodes with q features each: features, inverse cross-products, coefficients, RSS and number of fixed features."""

    features: NDArray[np.intp]  # N × q
    inverse: Array  # N × q × q
    coef: Array  # N × q
    rss: Array  # N
    fixed: NDArray[np.intp]  # N; the first features of a node that no node below it drops

    def part(self, rows: slice) -> _Nodes:
        features, inverse, coef, rss, fixed = self
        return _Nodes(features[rows], inverse[rows], coef[rows], rss[rows], fixed[rows])


def best_subsets(S: Array, c: Array, total: float, max_size: int, max_nodes: int = MAX_NODES) -> Subsets:
    """Return the best subsets of features for cross-products S, moments c and total sum of squares.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Cross-products of the features, of full rank.
    c : ndarray of shape (p,)
        Cross-products of the features with the target.
    total : float
        Sum of squares of the target.
    max_size : int
        Largest size of interest.
    max_nodes : int
        Number of nodes after which the search stops, with a lower bound.

    Returns
    -------
    Subsets
        The best models, their bounds, and the number of nodes.
    """
    p = len(c)
    search = _Search(S, c, total, max_size)
    inverse: Array = np.asarray(np.linalg.inv(S), dtype=np.float64)
    coef = inverse @ c
    rss = max(total - float(c @ coef), 0.0)
    search.offer(np.arange(p)[None], np.array([rss]))
    open_nodes: dict[int, list[_Nodes]] = {q: [] for q in range(p + 1)}
    open_nodes[p].append(
        _Nodes(np.arange(p)[None], inverse[None], coef[None], np.array([rss]), np.zeros(1, dtype=np.intp))
    )
    n_nodes = 0
    while n_nodes < max_nodes:
        level = next((q for q in range(2, p + 1) if open_nodes[q]), None)
        if level is None:
            break
        nodes = open_nodes[level].pop()
        if len(nodes.rss) > _CHUNK:
            open_nodes[level].append(nodes.part(slice(_CHUNK, None)))
            nodes = nodes.part(slice(_CHUNK))
        n_nodes += len(nodes.rss)
        below = search.branch(nodes)
        if len(below.rss):
            open_nodes[level - 1].append(below)
    bound = search.best.copy()
    for level, waiting in open_nodes.items():
        for nodes in waiting:
            for rss, fixed in zip(nodes.rss.tolist(), nodes.fixed.tolist(), strict=True):
                sizes = slice(max(fixed, 1), min(level, max_size + 1))
                bound[sizes] = np.minimum(bound[sizes], rss)
    return Subsets(tuple(search.features[1:]), search.best[1:], bound[1:], n_nodes)


class _Search:
    """The best models known of each size."""

    def __init__(self, S: Array, c: Array, total: float, max_size: int) -> None:
        self.S, self.c, self.total, self.max_size = S, c, total, max_size
        self.best = np.full(max_size + 1, np.inf)
        self.best[0] = total
        self.features = [np.empty(0, dtype=np.intp) for _ in range(max_size + 1)]
        self._start_forward()

    def offer(self, features: NDArray[np.intp], rss: Array) -> None:
        """Keep the best of several models of one size if it is better than the one known."""
        size = features.shape[1]
        if 0 < size <= self.max_size and len(rss):
            i = int(np.argmin(rss))
            if rss[i] < self.best[size] * (1 - _SLACK):
                self.best[size], self.features[size] = float(rss[i]), np.sort(features[i])

    def _start_forward(self) -> None:
        """Find a good model of each size: add the best feature, then exchange features while that helps."""
        chosen: list[int] = []
        for _ in range(self.max_size):
            chosen.append(self._best_addition(chosen))
            for _ in range(10 * len(chosen)):
                worst = self._worst(chosen)
                rest = [j for j in chosen if j != worst]
                other = self._best_addition(rest)
                if other == worst:
                    break
                chosen = [*rest, other]
            A = np.array(chosen)
            self.offer(A[None], np.array([self.total - self.c[A] @ np.linalg.solve(self.S[np.ix_(A, A)], self.c[A])]))

    def _best_addition(self, chosen: list[int]) -> int:
        A = np.array(chosen, dtype=np.intp)
        B = np.linalg.solve(self.S[np.ix_(A, A)], np.column_stack([self.S[A], self.c[A]]))
        left = np.diagonal(self.S) - (self.S[A] * B[:, :-1]).sum(axis=0)
        gain = np.divide((self.c - self.S[:, A] @ B[:, -1]) ** 2, left, out=np.zeros_like(left), where=left > 1e-14)
        gain[A] = -1.0
        return int(np.argmax(gain))

    def _worst(self, chosen: list[int]) -> int:
        A = np.array(chosen)
        inverse = np.linalg.inv(self.S[np.ix_(A, A)])
        return int(A[np.argmin((inverse @ self.c[A]) ** 2 / np.diagonal(inverse))])

    def branch(self, nodes: _Nodes) -> _Nodes:
        """Offer the models with one feature less, and return those nodes that may lead to better ones."""
        q = nodes.features.shape[1]
        increase = nodes.coef**2 / np.diagonal(nodes.inverse, axis1=1, axis2=2)
        place = np.arange(q)
        free = place >= nodes.fixed[:, None]
        # The most important free features come first: bounds are high where they are dropped.
        order = np.argsort(np.where(free, -increase, -np.inf), axis=1, kind="stable")
        increase, features = np.take_along_axis(increase, order, 1), np.take_along_axis(nodes.features, order, 1)
        below = nodes.rss[:, None] + increase
        if q - 1 <= self.max_size:
            best = np.unravel_index(np.argmin(np.where(free, below, np.inf)), below.shape)
            self.offer(np.delete(features[best[0]], best[1])[None], below[best][None])
        least = np.maximum(place, 1)  # size of the smallest model below the node that drops this place
        last = min(q - 2, self.max_size)
        limit = np.where(least <= last, self.best[np.minimum(least, self.max_size)], -np.inf)
        node, dropped = np.nonzero(free & (below < limit * (1 - _SLACK)))
        rest = place[None, : q - 1] + (place[None, : q - 1] >= dropped[:, None])
        at, out = order[node[:, None], rest], order[node, dropped]
        pivot = nodes.inverse[node, out, out]
        column = nodes.inverse[node[:, None], at, out[:, None]]
        inverse = nodes.inverse[node[:, None, None], at[:, :, None], at[:, None, :]]
        inverse -= column[:, :, None] * column[:, None, :] / pivot[:, None, None]
        coef = nodes.coef[node[:, None], at] - column * (nodes.coef[node, out] / pivot)[:, None]
        return _Nodes(features[node[:, None], rest], inverse, coef, below[node, dropped], dropped)
