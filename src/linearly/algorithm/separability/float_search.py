"""Find candidates for a separating hyperplane, or for a witness, in floating point. `exact_search` proves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linearly.algorithm.separability.budget import spend_work
from linearly.algorithm.separability.halfspaces import Floats, Halfspaces
from linearly.algorithm.separability.min_norm_point import Corral
from linearly.kernels.matrices import dense


@dataclass
class FloatHint:
    """A candidate: a direction v, or the inequalities whose hull seems to contain the origin."""

    v: Floats | None
    ids: list[int]
    weights: Floats


def search_min_norm_point(
    H: Halfspaces,
    frame: Floats,
    active: NDArray[np.bool_],
    guess: Floats | None = None,
    gap: float | None = None,
    steps: int = 10**9,
) -> FloatHint:
    """Search by cutting planes in the coordinates x, v = frame·x: the rows that oppose v most join until none does.

    With a gap, until no hyperplane has a margin larger by more than that share (margins measured by ‖x‖).
    """
    d = frame.shape[1]
    corral = Corral(d)
    ids = np.empty(0, dtype=np.intp)
    v = guess
    goal = np.inf if gap is not None else 0.0
    while True:
        value = np.zeros(H.n_inequalities) if v is None else H.scores(v)
        low = np.flatnonzero(active & (value <= goal))
        if not len(low):
            return FloatHint(v, ids[corral.members].tolist(), corral.weights)
        batch = 2 * d + 20
        if not len(ids) and np.count_nonzero(active) <= 4 * batch:
            low, batch = np.flatnonzero(active), H.n_inequalities
        new = low[np.argpartition(value[low], batch)[:batch]] if len(low) > batch else low
        new = np.setdiff1d(new, ids)
        if not len(new):
            return FloatHint(None, ids[corral.members].tolist(), corral.weights)
        ids = np.concatenate([ids, new])
        spend_work(0.2 * len(new) * frame.size)
        corral.add(H.rows(new) @ frame)
        settled = corral.run(gap, steps)
        if corral.contains_origin or (not settled and gap is None):
            return FloatHint(None, ids[corral.members].tolist(), corral.weights)
        v = frame @ corral.x
        if not settled:
            return FloatHint(v, ids[corral.members].tolist(), corral.weights)
        goal = (1 - 2 * gap) * float(corral.x @ corral.x) if gap is not None else 0.0


def whitening_matrix(H: Halfspaces) -> Floats:
    """Return T such that Z T has orthonormal columns (up to √n), as many as the numerical rank."""
    D = np.ldexp(1.0, -np.frexp(H.top)[1])
    if H.n < H.n_terms:
        Z = H.dense(slice(None)) * D
        squares, U = _principal(Z @ Z.T, lambda U: Z.T @ U, H.n)
        V = D[:, None] * (Z.T @ (U / np.sqrt(H.n * squares)))
    else:
        G = H.Z.T @ H.Z
        G = dense(G)
        if H.fit_intercept:
            total = np.asarray(H.Z.sum(axis=0)).reshape(-1, 1)
            G = np.block([[G, total], [total.T, np.array([[H.n]])]])
        squares, V = _principal(D[:, None] * G * D, lambda V: values(H, D[:, None] * V), H.n)
        V = D[:, None] * V
    return np.asarray(V / np.sqrt(squares))


def _principal(G: Floats, values: Callable[[Floats], Floats], n: int) -> tuple[Floats, Floats]:
    """Return eigenvalues of G/n, G = A'A, and eigenvectors, without those that vanish; values(V) is A V.

    G has an error of 1e-16 of the largest *square*, but a direction of spread 1e-9 may be the one that separates. A
    itself gives the spread in such directions to 1e-16.
    """
    squares, V = np.linalg.eigh(G / n)
    small = squares < 1e-10 * squares[-1]
    if small.any():
        F = values(V[:, small])
        squares[small], U = np.linalg.eigh(F.T @ F / n)
        V[:, small] = V[:, small] @ U
    keep = squares > (1e-15 * len(G)) ** 2 * squares.max()
    return squares[keep], V[:, keep]


def least_squares_guess(H: Halfspaces, whitening: Floats) -> Floats:
    """Return the v of least squares on class indicators: one pass, and often enough to separate."""
    Y = np.zeros((H.n, H.K))
    Y[np.arange(H.n), H.codes] = 1.0
    return _beyond_first(whitening @ (whitening.T @ _moments(H, Y)) / H.n)


def logistic_guess(H: Halfspaces, whitening: Floats) -> Floats:
    """Return the v of the smallest logistic loss in some L-BFGS steps, or the first v that separates.

    10 classes of 7,291 rows and 256 columns are separated after 23 evaluations, in 2 s. The search for the nearest
    point takes minutes.
    """
    each = np.arange(H.n)
    best, W_best = np.inf, np.zeros((H.n_terms, H.K))

    def loss(u: Floats) -> tuple[float, Floats]:
        nonlocal best, W_best
        spend_work(H.n * H.K * (2 * H.n_terms + 20))
        W = whitening @ u.reshape(-1, H.K)
        D = values(H, W)
        D -= D[each, H.codes][:, None]
        D[each, H.codes] = -np.inf
        worst = D.max(axis=1)
        if best == -np.inf or worst.max() < 0:
            W_best = W if best > -np.inf else W_best
            best = -np.inf
            return 0.0, np.zeros(len(u))  # nothing left to gain: the search ends
        base = np.maximum(worst, 0.0)
        E = np.exp(D - base[:, None])
        total = E.sum(axis=1) + np.exp(-base)
        P = E / total[:, None]
        P[each, H.codes] = -P.sum(axis=1)
        value = float((base + np.log(total)).sum())
        if value < best:
            best, W_best = value, W
        return value, (whitening.T @ _moments(H, P)).ravel()

    from scipy.optimize import minimize  # loading it takes as long as all the rest of a small fit

    start = np.zeros(whitening.shape[1] * H.K)
    evaluations = max(30, min(100, 10**9 // (H.n * H.n_unknowns)))  # some seconds at most
    with np.errstate(all="ignore"):
        minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxfun": evaluations, "maxcor": 20, "ftol": 0, "gtol": 0},
        )
    return _beyond_first(W_best)


def values(H: Halfspaces, V: Floats) -> Floats:
    """Return z·v for every row z and every column v of V."""
    F: Floats = H.Z @ V[: H.p]
    return F + V[H.p] if H.fit_intercept else F


def _moments(H: Halfspaces, Y: Floats) -> Floats:
    M: Floats = H.Z.T @ Y
    return np.vstack([M, Y.sum(axis=0)]) if H.fit_intercept else M


def _beyond_first(W: Floats) -> Floats:
    """Return v from one column (w, b) per class: each class minus the first."""
    return np.asarray((W[:, 1:] - W[:, :1]).T.ravel())


def per_class(K: int, T: Floats) -> Floats:
    """Return coordinates for the (w, b) of K classes from coordinates T of one; orthonormal between classes.

    The vector v has the difference of each class from the first, so T alone would favour the first class.
    """
    if K == 2:
        return T
    basis = scipy.linalg.helmert(K)
    return np.asarray(np.kron((basis[:, 1:] - basis[:, :1]).T, T), dtype=np.float64)
