"""Compute the correction CR2 of a logistic fit for two classes, with the root that R's clubSandwich takes.

In coordinates in which the information is the identity, let a row have the whitened row a, the score s and the working
variance θ = p(1 − p) / weight. For the rows of a cluster, aa' is their block of the hat matrix, and

    G = Θ (I − aa') Θ,    corrected score = a' G^(-1/2) Θ z    with s = a'z

The eigenvectors of G are not in the span of a, so no power of G follows from cross-products of the rows. Its inverse
root is the integral (2/π) ∫ (G + t²)^(-1) dt, and for each t the inverse follows from cross-products with weights that
depend on θ and t. A rule with N points has an error of about exp(−2π²N / (log κ + 6)) for eigenvalues whose ratio is κ
(Hale, Higham and Trefethen 2008), so some 30 points give all digits.

Clusters are taken in portions whose sums fit in memory, by one pass each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipk, ellipkm1

from linearly.algorithm.least_squares.cluster_corrections import ClusterCorrections
from linearly.algorithm.least_squares.clusters import GroupSums, check_one_column, sums_by_group, totals_by_group
from linearly.algorithm.least_squares.small_sample import EXACT_TOL, HIGH, packed_index, unpacked
from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.label_checks import unique_with_codes
from linearly.kernels.double_double import Array

_FLOOR = 1e-8  # of the largest working variance: rows with less add nothing that float64 could show
_MAX_SUMS = 2**23  # numbers per pass: 64 MB
_MAX_WEIGHTS = 2**20  # of rows at all points, in memory at once
_CHUNK = 256  # clusters that are solved together


class ScoreParts(NamedTuple):
    """What the correction needs of the rows of a block. Rows with weight 0 have zeros."""

    whitened: Array  # n × r
    scores: Array  # n × r
    variances: Array  # n: working variances


def binomial_corrections(
    rows: Rows, groups: Any, parts: Callable[[Block], ScoreParts], r: int
) -> tuple[Iterator[ClusterCorrections], int]:
    """Return the corrections, and the number of clusters."""
    i, j = packed_index(r)
    m = len(i)

    def extremes(block: Block) -> _Extremes:
        found = parts(block).variances
        return _Extremes(found.min(initial=np.inf, where=found > 0), found.max(initial=0.0))

    range_ = rows.reduce(extremes)
    lowest = max(range_.smallest / range_.largest, _FLOOR)

    def sums(block: Block) -> Array:
        a, s, variances = parts(block)
        share = np.maximum(variances / range_.largest, lowest)[:, None]
        products = a[:, i] * a[:, j]
        return np.hstack([s, products, products / share, products / share**2])

    of_groups = sums_by_group(rows, groups, sums)
    check_one_column(of_groups, "CR2")
    (totals,) = of_groups
    s, *products = np.split(totals.sums, np.cumsum([r, m, m]), axis=1)
    excess = unpacked(products[0].sum(axis=0), r) - np.eye(r)
    rest = 1 - np.linalg.eigvalsh(unpacked(products[0], r))
    smallest = float(rest.min(initial=1.0, where=rest > EXACT_TOL))
    points, weights = inverse_root_rule(lowest**2 * smallest / 4)

    def at_points(block: Block, chosen: set[Any]) -> Callable[[NDArray[Any], NDArray[np.bool_]], GroupSums]:
        def summed(labels: NDArray[Any], there: NDArray[np.bool_]) -> GroupSums:
            # Both rows of a pair of successes and failures have the same label, so that pairs stay together.
            own = np.array([label in chosen for label in labels.tolist()], dtype=bool)
            a, s, variances = parts(replace(block.take(np.flatnonzero(own)), paired=block.paired))
            share = np.maximum(variances / range_.largest, lowest)
            values = np.hstack([s, a[:, i] * a[:, j]])
            kept = np.flatnonzero(there[own])
            found, codes = unique_with_codes(labels[own][kept], "groups")
            kept = kept[np.argsort(codes, kind="stable")]
            total = np.zeros((len(found), 2 * len(points), r + m))
            step = max(1, _MAX_WEIGHTS // (2 * len(points)))
            for code, rows_of in enumerate(np.split(kept, np.cumsum(np.bincount(codes, minlength=len(found)))[:-1])):
                for start in range(0, len(rows_of), step):
                    some = rows_of[start : start + step]
                    inverse = 1 / (share[some] ** 2 + points[:, None] ** 2)
                    total[code] += np.vstack([inverse * share[some], inverse]) @ values[some]
            return GroupSums(found, total.reshape(len(found), 2 * len(points) * (r + m)))

        return summed

    def corrections() -> Iterator[ClusterCorrections]:
        portion = max(1, _MAX_SUMS // (2 * len(points) * (r + m)))
        for start in range(0, len(totals.labels), portion):
            chosen = totals.labels[start : start + portion]
            (found,) = totals_by_group(rows, groups, partial(at_points, chosen=set(chosen.tolist())))
            for first in range(0, len(chosen), _CHUNK):
                some = slice(first, first + _CHUNK)
                own = slice(start + first, start + min(first + _CHUNK, len(chosen)))
                sums = found.sums[some].reshape(-1, 2, len(points), r + m)
                yield _corrections(sums, s[own], [unpacked(each[own], r) for each in products], points, weights, excess)

    return corrections(), len(totals.labels)


def _corrections(
    sums: Array, s: Array, products: list[Array], points: Array, weights: Array, excess: Array
) -> ClusterCorrections:
    """Return the corrections from Σ of rows with weights θ/(θ² + t²) and 1/(θ² + t²), clusters × 2 × points × sums.

    `excess` is what the cross-products of all clusters have more than the identity. The root of the information is from
    before the last step.
    """
    r = s.shape[1]
    squares, points = points[:, None] ** 2, points[:, None, None]
    (psi, plain), (Psi, Omega) = sums[..., :r].swapaxes(0, 1), unpacked(sums[..., r:], r).swapaxes(0, 1)
    K, K1, K2 = products
    values, Q = np.linalg.eigh(K)
    alone = 1 - values <= EXACT_TOL
    # In the eigenvectors Q of K, I − Σ aa'θ²/(θ² + t²) is diag(1 − values) + t² Q'ΩQ, a sum of positive matrices.
    rest = np.where(alone, 0.0, 1 - values)
    turn = Q[:, None]
    inner = turn.swapaxes(2, 3) @ (points**2 * Omega) @ turn
    inner[..., np.arange(r), np.arange(r)] += rest[:, None]
    score = np.einsum("gi,gij->gj", s, Q) * ~alone  # of alone directions 0, up to rounding
    score = score[:, None] - squares * np.einsum("gti,gij->gtj", plain, Q)
    kept = np.broadcast_to(np.eye(r) * ~alone[:, None, :], (len(points), len(s), r, r)).swapaxes(0, 1)
    found = np.linalg.solve(inner, np.concatenate([kept, score[..., None]], axis=3))
    found[..., :r] = found[..., :r] @ turn.swapaxes(2, 3)
    found = np.einsum("t,gtij->gij", weights, Psi @ turn @ found)
    N, scores = found[..., :r], np.einsum("t,gti->gi", weights, psi) + found[..., r]
    expected = K.copy()
    for g in np.flatnonzero(alone.any(axis=1)):  # CR2 makes the mean of the meat right, except in these directions
        own = Q[g][:, alone[g]]
        expected[g] -= K1[g] @ own @ np.linalg.solve(own.T @ K2[g] @ own, own.T @ K1[g])
    exact = Q.transpose(1, 0, 2)[:, alone]
    high = values.max(axis=1, initial=0.0, where=~alone) > HIGH
    # The root loses the digits of 1 − eigenvalue.
    inverse = (Q * np.where(alone, 0.0, 1 / np.where(alone, 1.0, 1 - values))[:, None, :]) @ Q.transpose(0, 2, 1)
    wrong = np.concatenate([np.einsum("gij,gj->gi", inverse @ error, scores) for error in (EPS * K, excess / 2)])
    lost = (wrong.T @ wrong)[None]
    return ClusterCorrections(scores[:, None], Q, Q.transpose(0, 2, 1) @ N, expected, high, exact, lost)


def inverse_root_rule(smallest: float) -> tuple[Array, Array]:
    """Return points t and weights such that Σ weight / (λ + t²) is λ^(-1/2) for smallest ≤ λ ≤ 1, to float64."""
    square = min(smallest, 0.5)  # k² of Jacobi's functions; a rule for more eigenvalues is one for fewer
    k, K, quarter = math.sqrt(square), float(ellipk(square)), float(ellipkm1(square))
    count = math.ceil((6 - math.log(square)) * 36 / (2 * math.pi**2))
    u = (np.arange(count) + 0.5) * quarter / count
    # sn/cn of the complementary modulus by its Fourier series (DLMF 22.11.1), whose terms are all positive here. It
    # converges up to half a quarter period, and sc(u) sc(quarter − u) = 1/k.
    odd = 2 * np.arange(25)[:, None] + 1
    near = np.minimum(u, quarter - u)
    decay, growth = -odd * math.pi * quarter / (2 * K), odd * math.pi * near / (2 * K)
    terms = (np.exp(decay + growth) - np.exp(decay - growth)) / (1 - np.exp(2 * decay))
    sc = math.pi / (k * K) * terms.sum(axis=0)
    sc = np.where(u <= quarter / 2, sc, 1 / (k * sc))
    return k * sc, 2 * quarter * k / (math.pi * count) * np.sqrt((1 + sc**2) * (1 + square * sc**2))


@dataclass(frozen=True, slots=True)
class _Extremes:
    smallest: float
    largest: float

    def __add__(self, other: _Extremes) -> _Extremes:
        return _Extremes(min(self.smallest, other.smallest), max(self.largest, other.largest))
