"""Correct the scores of clusters for errors whose working variance is not the inverse of the weight.

R's clubSandwich takes the errors of a weighted least-squares fit to have equal variances, and those of a logistic fit
the binomial variance, with another root of the correction than the symmetric one. The corrected scores of clusters g
and h then have covariance

    P_g if g = h, and V_g J V_h' otherwise

with r × s matrices V. This module sums what the covariance, its degrees of freedom and Hotelling's T² need.

For a weighted fit, let u be the rows of a cluster in coordinates in which X'WX is the identity, w their weights,
B = [u, wu], K1 = Σ wuu', K2 = Σ w²uu' and S the sum of K2 over all clusters. For errors of equal variance 1, the
variance of its residuals is

    I + B J B'      with J = [[S, −I], [−I, 0]]

CR2 takes the symmetric inverse root of that matrix. Its eigenvectors are in the span of B, so the cross-products B'B
and B'e of each cluster suffice, whatever its number of rows. The corrected scores have the variance P = K2. CR3 has
P = K2 + N (S − K2) N with N = (I − K1)^(-1) K1, where S − K2 is summed over the other clusters.

P would cancel as a difference from V J V' for a cluster that nearly determines a direction, where an eigenvalue of K1
is next to 1. Clusters with an eigenvalue above 1/2 are kept one by one, as in `small_sample`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.small_sample import (
    EXACT_TOL,
    HIGH,
    MAX_TERMS,
    ScoreMoments,
    SmallSample,
    feature_directions,
    packed_index,
    unpacked,
)
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.triangular import EPS
from linearly.kernels.double_double import Array

_CHUNK = 1024  # clusters that are decomposed together


class ClusterCorrections(NamedTuple):
    """The corrections of some clusters."""

    scores: Array  # clusters × targets × r
    basis: Array  # clusters × r × r: orthonormal columns, of which single ones have large entries of V
    V: Array  # clusters × r × s, in coordinates of `basis`
    P: Array  # clusters × r × r: variance of the corrected scores for errors of variance 1
    high: NDArray[np.bool_]  # clusters: which nearly determine a direction
    exact: Array  # r × m: orthonormal directions that one of these clusters determines alone
    lost: Array  # targets × r × r: meat of the errors of scores by the correction; of equal variances in units of EPS


def equal_variance_corrections(
    sums: Array, kind: str, targets: int, r: int
) -> tuple[Iterator[ClusterCorrections], Array]:
    """Return the corrections of CR2 or CR3 for errors of equal variance, and J.

    `sums` has one row per cluster: Σ w u e' of each target and the packed Σ w uu'; then Σ u e', Σ uu' and Σ w² uu'.
    """
    m, k = r * (r + 1) // 2, targets * r
    t1, K1, t0, K0, K2 = np.split(sums, np.cumsum([k, m, k, m]), axis=1)
    # Weights are divided by a typical weight, so that the parts of B have similar sizes. Scores change by its root.
    S = unpacked(K2.sum(axis=0), r)
    unit = np.trace(S) / r or 1.0
    S, root = S / unit, np.sqrt(unit)
    J = np.block([[S, -np.eye(r)], [-np.eye(r), np.zeros((r, r))]])
    others = np.zeros_like(K2)  # S − K2 would cancel for a cluster that nearly determines a direction
    others[1:] = np.cumsum(K2[:-1], axis=0)
    others[:-1] += np.cumsum(K2[:0:-1], axis=0)[::-1]

    def corrections() -> Iterator[ClusterCorrections]:
        for start in range(0, len(sums), _CHUNK):
            part = slice(start, start + _CHUNK)
            first, second = (t[part].reshape(-1, targets, r) for t in (t0 * root, t1 / root))
            products = [unpacked(each[part], r) for each in (K0, K1, K2, others)]
            products = [each * scale for each, scale in zip(products, (unit, 1.0, 1 / unit, 1 / unit), strict=True)]
            found = _corrections(first, second, products, J, kind)
            yield found._replace(scores=found.scores * root, lost=found.lost * unit)

    return corrections(), J


def _corrections(t0: Array, t1: Array, products: list[Array], J: Array, kind: str) -> ClusterCorrections:
    K0, K1, K2, others = products
    r = K1.shape[1]
    values, vectors = np.linalg.eigh(K1)
    values = np.clip(values, 0.0, 1.0)
    alone = 1 - values <= EXACT_TOL
    high = values.max(axis=1, initial=0.0, where=~alone) > HIGH
    exact = vectors.transpose(1, 0, 2)[:, alone]
    if kind == "CR3":
        beta = np.where(alone, 0.0, 1 / np.where(alone, 1.0, 1 - values))
        inverse = _of(beta, vectors)
        # In the eigenvectors of K1, large and small numbers have rows and columns of their own until the last product.
        turned = vectors.transpose(0, 2, 1)
        V = np.concatenate([values[:, :, None] * turned, turned @ K2], axis=2) * beta[:, :, None]
        P = _scaled(turned @ K2 @ vectors, np.where(alone, 0.0, 1.0))
        P = vectors @ (P + _scaled(turned @ others @ vectors, values * beta)) @ turned
        scores = np.einsum("gij,gtj->gti", inverse, t1)
        # An error E of K1 changes the scores by inverse · E · scores. Errors of size EPS are given twice that size.
        lost = np.einsum("gt,gij,gjk->tik", 4 * (scores**2).sum(axis=2), inverse, inverse, optimize=True)
        return ClusterCorrections(scores, vectors, V, P, high, exact, lost)
    gram = np.concatenate([np.concatenate([K0, K1], axis=2), np.concatenate([K1, K2], axis=2)], axis=1)
    sizes, turned = np.linalg.eigh(gram)
    L = turned * np.sqrt(np.maximum(sizes, 0.0))[:, None, :]  # B'B = LL', so B = OL' with orthonormal O
    LJ = L.transpose(0, 2, 1) @ J
    y, turned = np.linalg.eigh(LJ @ L)  # the variance of the residuals is I + O y O'
    # A direction that the cluster determines alone has variance 0, and is left out.
    none = np.arange(2 * r) < alone.sum(axis=1)[:, None]
    share = np.sqrt(np.where(none, 1.0, np.maximum(1 + y, np.finfo(float).tiny)))
    # The functions (1 + y)^(-1/2) − 1 and 1/(1 + y) − 1, divided by y: they act on L'JB'e, without division by L.
    of_root = np.where(none, 1.0, -1 / (share * (1 + share)))
    of_inverse = np.where(none, 1.0, -1 / share**2)
    moved = L[:, r:] @ _of(of_root, turned) @ LJ
    both = np.concatenate([t0, t1], axis=2)
    P = K2.copy()
    for g in np.flatnonzero(alone.any(axis=1)):
        own = K2[g] @ vectors[g][:, alone[g]]
        P[g] -= own @ np.linalg.solve(vectors[g][:, alone[g]].T @ own, own.T)
    # An error E of the variance G changes the scores by half of B' G^(-1/2) E G^(-1) e.
    inverse = _of(of_inverse, turned) @ LJ
    squares = np.einsum("gij,gtj->gti", inverse, both)
    size = (squares**2).sum(axis=2).T * (1 + y.max(axis=1, initial=0.0)) ** 2
    lost = np.einsum("tg,gij->tij", size, K2 + L[:, r:] @ inverse @ gram[:, :, r:])
    scores = t1 + np.einsum("gij,gtj->gti", moved, both)
    V = vectors.transpose(0, 2, 1) @ (np.concatenate([K1, K2], axis=2) + moved @ gram)
    return ClusterCorrections(scores, vectors, V, P, high, exact, lost)


def _scaled(matrices: Array, scale: Array) -> Array:
    return matrices * scale[:, :, None] * scale[:, None, :]


def _of(values: Array, vectors: Array) -> Array:
    return np.asarray((vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1))


def meat_and_small_sample(
    parts: Iterable[ClusterCorrections], J: Array, solution: Solution | Array
) -> tuple[Array, SmallSample, Array]:
    """Return the meat, targets × r × r, the degrees of freedom of tests, and the sum of `lost`.

    `solution` is the solution, or an inverse root whose rows are the terms, without an F test.
    """
    root = solution if isinstance(solution, np.ndarray) else solution.inverse_root
    features = None if isinstance(solution, np.ndarray) else feature_directions(solution, np.zeros((root.shape[1], 0)))
    r, s = root.shape[1], len(J)
    few = r <= MAX_TERMS
    i, j = packed_index(r)
    m = len(i)
    units = np.abs(root).max(axis=1, keepdims=True, initial=0.0)
    directions = (root / np.where(units > 0, units, 1.0)).T
    meat, lost = np.zeros((1, r, r)), np.zeros((1, r, r))
    expected, exact = np.zeros((r, r)), [np.zeros((r, 0))]
    products, own = np.zeros((r * s, r * s)) if few else np.zeros(0), np.zeros((m, m)) if few else np.zeros(0)
    by_term, outer = np.zeros(len(root)), np.zeros((0 if few else len(root), s, s))
    joint = 0.0
    high = [(np.zeros((0, r, r)), np.zeros((0, r, s)), np.zeros((0, r, r)))]
    for part in parts:
        exact.append(part.exact)
        meat = meat + np.einsum("gti,gtj->tij", part.scores, part.scores)
        lost = lost + part.lost
        expected += part.P.sum(axis=0)
        high.append((part.basis[part.high], part.V[part.high], part.P[part.high]))
        V, P = (part.basis @ part.V)[~part.high], part.P[~part.high]
        R = V @ J @ V.transpose(0, 2, 1)
        if few:
            flat = V.reshape(-1, r * s)
            products += flat.T @ flat
            packed, moved = P[:, i, j], R[:, i, j]
            own += packed.T @ packed - moved.T @ moved
        else:
            v = np.einsum("gas,ac->cgs", V, directions)
            d, moved = (np.einsum("gij,ic,jc->gc", each, directions, directions) for each in (P, R))
            by_term += (d**2 - moved**2).sum(axis=0)
            outer += v.transpose(0, 2, 1) @ v
            if features is not None:
                V = features.T @ part.basis @ part.V
                C = features.T @ part.P @ features - V @ J @ V.transpose(0, 2, 1)
                joint += float((np.trace(C, axis1=1, axis2=2) ** 2).sum() + (C**2).sum())
    alone = np.concatenate(exact, axis=1)
    basis, V, P = (np.concatenate(each) for each in zip(*high, strict=True))
    if few:
        moments = _moments(expected, products, own, J, _high_rows(products, J, basis, V, P))
        known = np.zeros((r, 0)) if isinstance(solution, np.ndarray) else feature_directions(solution, alone)
        f_dof = moments.joint_dof(known) if known.shape[1] else np.nan
        return np.asarray(meat), SmallSample(alone, moments.dof(root.T), f_dof, moments), np.asarray(lost)
    with np.errstate(divide="ignore", invalid="ignore"):
        turned = outer @ J
        spread = np.maximum(by_term + np.einsum("tij,tji->t", turned, turned), 0.0)
        d, v = np.einsum("gij,ic,jc->gc", P, directions, directions), np.einsum("gas,ac->cgs", basis @ V, directions)
        pairs = v @ J @ v.transpose(0, 2, 1)
        pairs[:, np.arange(len(V)), np.arange(len(V))] = d.T
        spread += (pairs**2).sum(axis=(1, 2)) + 2 * np.einsum("cgs,cst,cgt->c", v @ J, outer, v @ J)
        mean = ((expected @ directions) * directions).sum(axis=0)
        q = np.float64(0 if features is None else features.shape[1])
        return np.asarray(meat), SmallSample(alone, mean**2 / spread, float(q * (q + 1) / joint)), np.asarray(lost)


def _moments(expected: Array, products: Array, own: Array, J: Array, high: tuple[Array, Array]) -> ScoreMoments:
    """Return the moments from Σ V ⊗ V over clusters, which gives those of all pairs of clusters.

    `high` contains the rows of pairs with other clusters.
    """
    r, s = len(expected), len(J)
    T = products.reshape(r, s, r, s).transpose(0, 2, 1, 3)
    left = np.einsum("acef,eg,fh->acgh", T, J, J, optimize=True).reshape(r * r, s * s)
    pairs = (left @ T.reshape(r * r, s * s).T).reshape(r, r, r, r).transpose(0, 2, 1, 3)  # Σ (V J V')_ab (V J V')_cd
    turned = pairs.transpose(1, 0, 2, 3)
    i, j = packed_index(r)
    symmetric = ((pairs + turned) / 2)[i, j][:, i, j]
    above = np.triu_indices(r, 1)
    skew = ((pairs - turned) / 2)[above][:, above[0], above[1]]
    variances, high_skew = high
    return ScoreMoments(
        expected, np.zeros_like(own), own + symmetric, np.zeros((0, len(i))), variances, skew=skew, high_skew=high_skew
    )


def _high_rows(products: Array, J: Array, basis: Array, V: Array, P: Array) -> tuple[Array, Array]:
    """Return few rows with the same outer products as all covariances with these clusters, and those of skew parts.

    `products` is Σ V ⊗ V over the other clusters. A sum of outer products would square the ratio of large to small
    covariances, and lose the small ones.
    """
    r, s = P.shape[1], len(J)
    i, j = packed_index(r)
    above = np.triu_indices(r, 1)
    symmetric, skew = P[:, i, j], np.zeros((0, len(above[0])))
    if not len(V):
        return symmetric, skew
    values, vectors = np.linalg.eigh(products)
    others = (vectors * np.sqrt(np.maximum(values, 0.0))).T[values > EPS * values[-1]].reshape(-1, r, s)
    for g, one in enumerate(V):
        left = np.sqrt(2) * one @ J  # both orders of a pair
        high = left @ V[:g].transpose(0, 2, 1) @ basis[:g].transpose(0, 2, 1)
        C = basis[g] @ np.concatenate([high, left @ others.transpose(0, 2, 1)])
        turned = C.transpose(0, 2, 1)
        symmetric = _fewest_rows(np.concatenate([symmetric, ((C + turned) / 2)[:, i, j]]))
        skew = _fewest_rows(np.concatenate([skew, ((C - turned) / 2)[:, above[0], above[1]]]))
    return symmetric, skew


def _fewest_rows(rows: Array) -> Array:
    """Return rows with the same sum of outer products, at most as many as columns."""
    return rows if len(rows) <= rows.shape[1] else np.asarray(np.linalg.qr(rows, mode="r"))
