"""Degrees of freedom for t and F tests with a robust covariance, by Satterthwaite's approximation.

A robust variance of ℓ'β̂ is a sum of squared scores. It is compared with the scaled chi-square variable that has its
mean and variance for independent errors of equal variance (Bell and McCaffrey 2002). A joint test of q hypotheses
compares the covariance with a Wishart matrix in the same way, which gives Hotelling's T² (the test AHT of Tipton and
Pustejovsky 2015).

In the coordinates of `Solution.inverse_root`, where X'WX is the identity, let cluster g have the cross-products G of
its rows and the correction B = (I − G)^(-1/2) of CR2, or (I − G)^(-1) of CR3. A single row with whitened row a is a
cluster with G = aa' (HC2, HC3). The scores ℓ'B A'Me of clusters g and h have covariance

    ℓ'P_g ℓ · [g = h] − ℓ'N_g N_h ℓ      with P = BGB, N = GB.

So everything follows from sums over clusters of products of entries of P, N and N², which are formed in the pass that
sums the scores. P − N² would cancel for a cluster that nearly determines a direction, where an eigenvalue of G is next
to 1. At most 2r clusters have an eigenvalue above 1/2. Those are kept one by one, with P − N² formed without a
difference.

With another working variance of the errors (`cluster_corrections`), the covariance of two clusters is not symmetric:
`own` then contains the products of its symmetric part over all pairs of clusters, and `skew` those of its other part.
Pairs with a cluster of high leverage are in the rows of `high_variances` and `high_skew`.

Beyond `MAX_TERMS` coordinates those sums would be too large; the degrees of freedom are then known per term only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.solution import Solution
from linearly.kernels.double_double import Array

MAX_TERMS = 24  # coordinates up to which fourth moments are kept: 300 × 300 numbers
HIGH = 0.5  # leverage, or eigenvalue of G, above which a row or cluster is kept by itself
EXACT_TOL = 1e-10  # 1 − leverage of a row, or of a direction of a cluster, that is fitted exactly
_DIRECTION_TOL = 1e-5  # share of a term along a direction whose variance is unknown that counts as 0


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """Sums over clusters (or rows) of products of entries of P, N and Q = N², packed as pairs of coordinates.

    `pairs` is Σ NN' and `own` Σ PP' − PQ' − QP', both over packed matrices, of clusters without a high leverage.
    `left_out` bounds what rows of small leverage, which are not in the sums, add to 1 / degrees of freedom.
    """

    expected: Array  # r × r: mean of the meat for errors of variance 1
    pairs: Array  # r(r+1)/2 square
    own: Array  # r(r+1)/2 square
    high_products: Array  # packed N of each cluster of high leverage
    high_variances: Array  # packed P − Q of each of those clusters, or rows whose outer products sum to those of pairs
    left_out: float = 0.0
    skew: Array | None = None  # r(r−1)/2 square
    high_skew: Array | None = None  # rows whose outer products sum to those of pairs with a cluster of high leverage

    @cached_property
    def _pairs4(self) -> Array:
        return _unpack(self.pairs, len(self.expected))

    @cached_property
    def _squares(self) -> Array:
        """The map from a packed symmetric matrix S to the packed Σ N S N."""
        i, j = packed_index(len(self.expected))
        by_row = self._pairs4.transpose(0, 3, 1, 2)[i, j]  # entry (a, d) of Σ N S N, by the entries (b, c) of S
        return np.asarray((by_row[:, i, j] + by_row[:, j, i]) / 2)

    @cached_property
    def _high(self) -> tuple[Array, Array]:
        """N and P − Q of each cluster of high leverage, r × r."""
        r = len(self.expected)
        return unpacked(self.high_products, r), unpacked(self.high_variances, r)

    def dof(self, directions: Array) -> Array:
        """Return the degrees of freedom of a t test for each column of r × c directions ℓ."""
        r = len(self.expected)
        i, j = packed_index(r)
        once = np.where(i == j, 1.0, 2.0)
        scaled = directions / np.maximum(np.linalg.norm(directions, axis=0), np.finfo(float).tiny)
        S = scaled[i] * scaled[j] * once[:, None]
        mean = ((self.expected @ scaled) * scaled).sum(axis=0)
        spread = ((self.own @ S) * S).sum(axis=0) + (once[:, None] * (self._squares @ S) ** 2).sum(axis=0)
        spread = np.maximum(spread, 0) + ((self.high_variances @ S) ** 2).sum(axis=0)
        moved = self._high[0] @ scaled  # N ℓ of each cluster of high leverage
        for a, one in enumerate(moved):
            for other in moved[a + 1 :]:
                spread += 2 * (one * other).sum(axis=0) ** 2
            S = (one[i] * scaled[j] + one[j] * scaled[i]) * once[:, None] / 2
            spread += 2 * ((self.pairs @ S) * S).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 / (spread / mean**2 + self.left_out))

    def joint_dof(self, basis: Array) -> float:
        """Return η of Hotelling's T² for a hypothesis about r × q orthonormal directions."""
        q = basis.shape[1]
        Z = basis @ np.linalg.pinv(basis.T @ self.expected @ basis, hermitian=True) @ basis.T
        T, U = self._pairs4, _unpack(self.own, len(Z))
        Y = np.einsum("ab,de,bcef->acdf", Z, Z, T, optimize=True)
        total = np.einsum("acdf,cafd->", Y, T, optimize=True) + np.einsum("acdf,cdfa->", Y, T, optimize=True)
        total += np.einsum("abcd,ab,cd->", U, Z, Z, optimize=True) + np.einsum("abcd,bc,da->", U, Z, Z, optimize=True)
        if self.skew is not None:
            total += np.einsum("abcd,bc,da->", _unpack_skew(self.skew, len(Z)), Z, Z, optimize=True)
        total = max(float(total), 0.0)
        products, variances = self._high
        if self.high_skew is not None:
            total += sum(_squared_traces(Z @ A) for A in _unpacked_skew(self.high_skew, len(Z)))
        total += sum(_squared_traces(Z @ D) for D in variances)
        for a, N in enumerate(products):
            M = Z @ N
            total += 2 * sum(_squared_traces(M @ other) for other in products[a + 1 :])
            total += 2 * float(np.einsum("ac,cafd,df->", M, T, M, optimize=True))
            total += 2 * float(np.einsum("ac,cdfa,df->", M, T, M, optimize=True))
        return float(q * (q + 1) / (total + 2 * self.left_out * q))


@dataclass(frozen=True, eq=False)
class SmallSample:
    """What small-sample inference with a robust covariance needs beyond the covariance.

    `exact` contains orthonormal directions, r × m, that a single row or cluster determines: its residual there is 0
    whatever its error was, so their variance is unknown.
    """

    exact: Array
    term_dof: Array  # per term
    f_dof: float  # η of the F test that no feature matters
    moments: ScoreMoments | None = None

    def unknown(self, rows: Array) -> NDArray[np.bool_]:
        """Return which rows ℓ, n × r, depend on a direction whose variance is unknown."""
        if not self.exact.shape[1]:
            return np.zeros(len(rows), dtype=bool)
        size = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        scaled = rows / np.where(size > 0, size, 1.0)
        along = np.linalg.norm(scaled @ self.exact, axis=1)
        return np.asarray(along > _DIRECTION_TOL * np.linalg.norm(scaled, axis=1))

    def dof(self, combinations: Array, rows: Array) -> Array:
        """Return the degrees of freedom for combinations of terms, n × terms, whose directions are n × r `rows`.

        Without moments it is the smallest of the terms involved, which is at most the right one for independent parts.
        """
        if self.moments is not None:
            return self.moments.dof(rows.T)
        involved = np.where(combinations != 0, self.term_dof, np.inf)
        return np.asarray(np.fmin.reduce(involved, axis=1))

    def hotelling_dof(self, combinations: Array, rows: Array) -> float:
        """Return η of Hotelling's T² for a joint test of independent combinations, whose directions are n × r `rows`.

        Without moments it is the smallest of the terms involved.
        """
        if self.moments is None:
            return float(np.min(self.dof(combinations, rows)))
        scaled = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
        return self.moments.joint_dof(np.linalg.qr(scaled.T)[0])


def feature_directions(solution: Solution, exact: Array) -> Array:
    """Return an orthonormal basis, r × q, of all feature directions with known variance."""
    root, first = solution.inverse_root, int(solution.has_intercept)
    r = root.shape[1]
    if solution.mean is not None or not first:
        basis = np.eye(r)[:, first:]
    else:
        size = np.abs(root[first:]).max(axis=1, keepdims=True, initial=0.0)
        vectors, values, _ = np.linalg.svd((root[first:] / np.where(size > 0, size, 1.0)).T, full_matrices=False)
        basis = vectors[:, : solution.rank] if len(values) else np.zeros((r, 0))
    if not exact.shape[1]:
        return np.asarray(basis)
    _, values, vectors = np.linalg.svd(exact.T @ basis)
    return np.asarray(basis @ vectors[int((values > _DIRECTION_TOL).sum()) :].T)


def packed_index(r: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the coordinates of the entries of a packed symmetric r × r matrix."""
    return np.triu_indices(r)


def unpacked(packed: Array, r: int) -> Array:
    """Return symmetric matrices, … × r × r, from their packed entries."""
    i, j = packed_index(r)
    full = np.empty((*packed.shape[:-1], r, r))
    full[..., i, j] = packed
    full[..., j, i] = packed
    return full


def _squared_traces(C: Array) -> float:
    """Return (tr C)² + tr C²."""
    return float(np.trace(C) ** 2 + (C * C.T).sum())


def _unpacked_skew(packed: Array, r: int) -> Array:
    """Return skew-symmetric matrices, … × r × r, from their entries above the diagonal."""
    i, j = np.triu_indices(r, 1)
    full = np.zeros((*packed.shape[:-1], r, r))
    full[..., i, j] = packed
    full[..., j, i] = -packed
    return full


def _unpack_skew(pairs: Array, r: int) -> Array:
    return np.moveaxis(_unpacked_skew(np.moveaxis(_unpacked_skew(pairs, r), 0, -1), r), (-2, -1), (0, 1))


def _unpack(pairs: Array, r: int) -> Array:
    return np.moveaxis(unpacked(np.moveaxis(unpacked(pairs, r), 0, -1), r), (-2, -1), (0, 1))
