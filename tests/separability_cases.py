"""Data sets and oracles that the tests of separability share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls

from linearly.algorithm.separability.certificate import (
    Relation,
)
from linearly.algorithm.separability.halfspaces import Halfspaces

XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]


LAYOUTS = [np.asarray, sp.csr_array]


def uneven(K: int = 2, fit_intercept: bool = True, layout=np.asarray, seed: int = 0) -> Halfspaces:
    """Small numbers in one column, tiny ones in the second, huge ones close together in the third, zeros in a row."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (13, 3)) / 8
    X[4] = 0.0
    if fit_intercept and layout is np.asarray:
        X[:, 2] += 2.0**33
    X[:, 1] *= 2.0**-700
    return Halfspaces(layout(X), np.arange(13) * 7 % K, fit_intercept=fit_intercept)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def vectors(H: Halfspaces) -> list[list[Fraction]]:
    """Every vector a by the definition, in fractions: z in the block of its own class, −z in the rival's."""
    found = []
    for x, own in zip(dense(H.X).tolist(), H.codes.tolist(), strict=True):
        z = [
            (Fraction(t) - Fraction(float(c))) / Fraction(2) ** int(e)
            for t, c, e in zip(x, H.shift, H.exponent, strict=True)
        ]
        z += [Fraction(1)] * H.fit_intercept
        for rival in range(H.K):
            if rival != own:
                blocks = {own: z, rival: [-t for t in z]}
                found.append([t for k in range(1, H.K) for t in blocks.get(k, [Fraction(0)] * H.n_terms)])
    return found


def dot(a, b) -> Fraction:
    return sum((Fraction(s) * Fraction(t) for s, t in zip(a, b, strict=True)), Fraction(0))


def total(H: Halfspaces, relation: dict[int, int]) -> list[Fraction]:
    """Σ λ a."""
    A = vectors(H)
    return [sum(t * A[i][j] for i, t in relation.items()) for j in range(H.n_unknowns)]


def is_relation(H: Halfspaces, relation: dict[int, int]) -> bool:
    return bool(relation) and min(relation.values()) > 0 and not any(total(H, relation))


def whole(values) -> np.ndarray:
    return np.array([int(t) for t in values], dtype=object)


def some_integers(H: Halfspaces, seed: int, bits: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return whole(int(t) << bits - 5 for t in rng.integers(-30, 31, H.n_unknowns))


def nearest_point(A: np.ndarray) -> np.ndarray:
    """The point of the hull of rows nearest to the origin, by nonnegative least squares."""
    weights, _ = nnls(np.vstack([A.T, np.ones(len(A))]), np.append(np.zeros(A.shape[1]), 1.0))
    return weights / weights.sum() @ A


def lattices(seed: int) -> Halfspaces:
    """Grids with many relations; columns of very different units."""
    rng = np.random.default_rng(seed)
    K, p = 2 + seed % 2, 2 + seed % 3
    X = rng.integers(-2, 3, (12, p)) * 2.0 ** rng.integers(-40, 40, p)
    if seed % 4 == 0:
        X[:, 0] = 2.0**-3
    y = rng.integers(0, K, 12)
    y[:K] = range(K)
    if seed % 5 < 2:
        score = (X @ (1 / np.abs(X).max(axis=0).clip(1e-30))).round(3)
        y = np.where(score == 0, y, np.where(score > 0, K - 1, 0))
        y[:K] = range(K)
    return Halfspaces(X, y, fit_intercept=seed % 3 > 0)


def relation_of(rows, rivals, multipliers) -> Relation:
    return Relation(np.array(rows), np.array(rivals), tuple(Fraction(t) for t in multipliers))
