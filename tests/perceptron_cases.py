"""Textbook perceptrons and data that the tests of perceptrons share."""

from __future__ import annotations

import numpy as np

from linearly.dataset.rows.block import Block, Rows


class Streamed(Rows):
    """Rows that come a few at a time and are nowhere in memory."""

    def __init__(self, X, y, step=7):
        self.X, self.y, self.step, self.names = X, y, step, ()

    def __iter__(self):
        for a in range(0, self.X.shape[0], self.step):
            yield Block(self.X[a : a + self.step], self.y[a : a + self.step], start=a)

    def reduce(self, f):
        first, *others = map(f, self)
        return sum(others, start=first)


class Partitioned(Streamed):
    """The same in partitions, as on a cluster."""

    @property
    def n_partitions(self):
        return -(-self.X.shape[0] // self.step)

    def reduce_partitions(self, f):
        first, *others = (f(iter([block])) for block in self)
        return sum(others, start=first)


class Textbook:
    """A perceptron row by row: what it got wrong, the weights after each row, and after each mistake."""

    def __init__(self, K, p, intercept=True, start=None):
        self.K, self.intercept = K, intercept
        vectors = 1 if K == 2 else K
        W, b = (np.zeros((vectors, p)), np.zeros(vectors)) if start is None else start
        self.W, self.b = W.copy(), b.copy()
        self.after, self.version, self.made = [], [], []
        self.trail = [(self.W.copy(), self.b.copy())]

    def one_pass(self, X, y, order=None, before=0):
        for i in range(len(X)) if order is None else order:
            self._see(X[i], int(y[i]), before + int(i))
        return self

    def _see(self, x, own, row):
        scores = self.W @ x + self.b
        if self.K == 2:
            rival, sign = 1 - own, 2 * own - 1
            corrections = [(0, sign)] if sign * scores[0] <= 0 else []
        else:
            rival = max((k for k in range(self.K) if k != own), key=lambda k: (scores[k], -k))
            corrections = [(own, 1), (rival, -1)] if scores[own] <= scores[rival] else []
        for k, sign in corrections:
            self.W[k] += sign * x
            self.b[k] += sign * self.intercept
        if corrections:
            self.made.append((row, own, rival, len(self.after) + 1))
            self.trail.append((self.W.copy(), self.b.copy()))
        self.after.append((self.W.copy(), self.b.copy()))
        self.version.append(len(self.made))

    @property
    def average(self):
        return np.mean([W for W, _ in self.after], axis=0), np.mean([b for _, b in self.after], axis=0)

    @property
    def survived(self):
        return np.bincount(self.version, minlength=len(self.trail))

    def vote(self, X, counts):
        said = np.array([[self._winner(x, W, b) for x in X] for W, b in self.trail])
        if self.K == 2:
            return counts @ (2.0 * said - 1) / counts.sum()
        return np.stack([counts @ (said == k) for k in range(self.K)], axis=1) / counts.sum()

    def _winner(self, x, W, b):
        scores = W @ x + b
        return int(scores[0] >= 0) if self.K == 2 else int(np.argmax(scores))

    def errors(self, X, y, weight=None):
        weight = np.ones(len(X)) if weight is None else weight
        return [
            float(sum(w for x, k, w in zip(X, y, weight, strict=True) if self._winner(x, W, b) != k))
            for W, b in self.trail
        ]


def whole_numbers(K, n=45, p=3, seed=0):
    """Rows of small whole numbers, where sums are exact and ties common, and labels that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, p)).astype(float)
    return X, np.r_[np.arange(K), rng.integers(0, K, n - K)].astype(np.int32)


def a_start(K, p, seed=5):
    rng = np.random.default_rng(seed)
    vectors = 1 if K == 2 else K
    return rng.integers(-2, 3, (vectors, p)).astype(float), rng.integers(-2, 3, vectors).astype(float)


def same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def made(log):
    return list(zip(log.rows.tolist(), log.codes.tolist(), log.rivals.tolist(), log.times.tolist(), strict=True))
