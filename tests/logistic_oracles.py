"""What tests of iterative models share: rows in blocks, numerical derivatives, and the likelihood by its definition."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.solver import LogisticSolver
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import DoubleDouble


class Cut(Rows):
    """Rows in several blocks."""

    def __init__(self, X, y, weight=None, step=9):
        self.X, self.y, self.weight, self.step, self.names = X, y, weight, step, ()

    def __iter__(self):
        for a in range(0, self.X.shape[0], self.step):
            some = slice(a, a + self.step)
            yield Block(self.X[some], self.y[some], None if self.weight is None else self.weight[some], a)

    def reduce(self, f):
        first, *others = map(f, self)
        return sum(others, start=first)


def close(one, other, rtol=1e-9, atol=1e-10):
    np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def logistic_rows(K, n=30, p=3, seed=0, weighted=True, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * [2.0, 1.0, 0.5][:p] + (0 if sparse else np.array([1.0, -2.0, 0.0])[:p])
    if sparse:
        X[rng.random(X.shape) < 0.4] = 0.0
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    if weight is not None:
        weight[[4, 9]] = 0.0
    return X, y, weight


def a_scaling(p=3, shifted=True):
    return ColumnScaling(np.array([0.5, -1.5, 0.25])[:p] * shifted, np.array([2.0, 1.0, 0.5])[:p])


def design(X, scaling, intercept):
    Z = (X - scaling.shift) / scaling.scale
    return np.column_stack([np.ones(len(X)), Z]) if intercept else Z


def by_definition(Z, y, w, B, K, reference):
    """−Σ w log P(y), its gradient and Hessian, the mistakes and the largest logit, of all rows at once."""
    q, c = B.shape
    classes = np.array([k for k in range(K) if k != reference])
    logits = np.zeros((len(Z), K))
    logits[:, classes] = Z @ B
    told = log_softmax(logits, axis=1)
    own, P = np.arange(len(Z)), np.exp(told)[:, classes]
    V = np.einsum("na,ab->nab", P, np.eye(c)) - np.einsum("na,nb->nab", P, P)
    hessian = np.einsum("n,nab,ni,nj->aibj", w, V, Z, Z, optimize=True).reshape(c * q, c * q)
    rivals = logits.copy()
    rivals[own, y] = -np.inf
    return LossDerivatives(
        float(-w @ told[own, y]),
        (Z * w[:, None]).T @ (P - (y[:, None] == classes)),
        hessian,
        int(((w > 0) & (logits[own, y] <= rivals.max(axis=1))).sum()),
        float(np.abs(logits[w > 0]).max(initial=0.0)),
    )


CASES = [(2, 0), (3, 0), (3, 1), (4, 3)]


def inverse_of(H, q, c):
    return lambda g: np.linalg.solve(H, g.T.reshape(-1)).reshape(c, q).T


def a_solver(K, *, reference=0, alpha=0.0, intercept=True, weighted=True, n=60, sparse=False):
    X, y, weight = logistic_rows(K, n=n, weighted=weighted, sparse=sparse)
    w = np.ones(n) if weight is None else weight
    scaling = a_scaling(shifted=not sparse)
    search = LogisticSolver(Logistic(K, reference, scaling, intercept), alpha, np.bincount(y, w, minlength=K))
    return search, Cut(sp.csr_matrix(X) if sparse else X, y, weight, 25), design(X, scaling, intercept), y, w


def regression(n=24, targets=2, weighted=True, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 30.0, 0.1] + [5.0, -7.0, 0.0]
    Y = (X @ rng.standard_normal((3, targets)) + rng.standard_normal((n, targets))) * [1.0, 100.0][:targets]
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    if weight is not None:
        weight[[3, 8]] = 0.0
    return X, Y, weight


FEATURES = {"dense": np.asarray, "sparse": sp.csr_matrix, "doubled": DoubleDouble.of}
