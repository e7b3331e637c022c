"""The perceptron scan against scikit-learn, dense and sparse, plain and averaged: five passes in order for all."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import linearly as ly
from benchmarks.race import Contender, Result, exponent, race
from linearly import kernels
from linearly.kernels import reference

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

PASSES = 5


def dense_rows(n: int, p: int) -> tuple[Array, Labels]:
    """Classes that overlap a little: about one row in twenty is a mistake."""
    rng = np.random.default_rng(30)
    X, w = rng.standard_normal((n, p)), rng.standard_normal(p)
    noise = 0.1 * np.linalg.norm(w) * rng.standard_normal(n)
    return X, (X @ w + noise > 0).astype(np.int64)


def sparse_rows(n: int, p: int, words: int) -> tuple[Any, Labels]:
    """Texts of `words` words of a vocabulary of p, the r-th most frequent with probability ∝ 1/r; values are counts."""
    rng = np.random.default_rng(31)
    below = np.cumsum(1 / np.arange(1, p + 1))
    at = np.empty((n, words), dtype=np.int32)
    for start in range(0, n, 50_000):
        part = at[start : start + 50_000]
        part[:] = np.searchsorted(below, rng.random(part.shape) * below[-1])
    at.sort(axis=1)
    X = sp.csr_matrix((np.ones(n * words), at.ravel(), np.arange(0, n * words + 1, words)), shape=(n, p))
    X.sum_duplicates()
    score = X @ rng.standard_normal(p)
    return X, (score > np.median(score)).astype(np.int64)


def ours(averaged: bool, X: Any, y: Labels, intercept: bool) -> Contender:
    Model = ly.AveragedPerceptron if averaged else ly.Perceptron

    def run() -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Model(PASSES, fit_intercept=intercept).fit(X, y).coef_

    return Contender("linearly", run, ours=True)


def sklearn(averaged: bool, X: Any, y: Labels, intercept: bool) -> Contender:
    from sklearn.linear_model import Perceptron, SGDClassifier

    same: dict[str, Any] = {"max_iter": PASSES, "tol": None, "shuffle": False, "fit_intercept": intercept}

    def run() -> Array:
        if not averaged:
            return Perceptron(**same).fit(X, y).coef_
        return (
            SGDClassifier("perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True, **same)
            .fit(X, y)
            .coef_
        )

    return Contender(f"scikit-learn {'SGDClassifier(average=True)' if averaged else 'Perceptron'}", run, repeats=3)


def same_mistakes_as_the_reference(X: Any, y: Labels) -> None:
    """The compiled scan and NumPy must make the same mistakes, row by row."""
    sparse = sp.issparse(X)
    told = []
    for scan in (kernels.perceptron_pass, reference.perceptron_pass):
        W, labels = np.zeros((X.shape[1], 1) if sparse else (1, X.shape[1])), y.astype(np.int32)
        mistakes, rivals = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.int32)
        done = scan(X, labels, None, W, np.zeros(1), None, None, 0, len(y), True, mistakes, rivals)
        told.append((done[:2], mistakes.tolist()))
    if told[0] != told[1]:
        raise AssertionError("the compiled scan makes other mistakes than the reference")


def stream_share(X: Array, y: Labels) -> float:
    """Bytes a second of a pass of the scan, over those of one thread that only sums the same array."""
    W, b, labels = np.zeros((1, X.shape[1])), np.zeros(1), y.astype(np.int32)
    room = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.int32)
    walk, read = np.inf, np.inf
    for turn in range(8):
        start = time.perf_counter()
        kernels.perceptron_pass(X, labels, None, W, b, None, None, 0, len(y), turn == 0, *room)
        middle = time.perf_counter()
        X.view(np.int64).sum()
        walk, read = min(walk, middle - start), min(read, time.perf_counter() - middle)
    print(f"  a pass at {X.nbytes / walk / 1e9:.1f} GB/s, reading alone at {X.nbytes / read / 1e9:.1f} GB/s")
    return float(read / walk)


def perceptron_dense(quick: bool) -> Result:
    """Perceptron, 5 passes over 1 000 000 rows of 100 columns."""
    n, p = (250_000 if quick else 1_000_000), 100
    X, y = dense_rows(n, p)
    same_mistakes_as_the_reference(X[:20_000], y[:20_000])
    result = race("perceptron_dense", f"{n} × {p}", [ours(False, X, y, True), sklearn(False, X, y, True)], agree=1e-9)
    print(f"  {100 * stream_share(X, y):.0f} % of the speed of reading")
    result.growth = exponent(lambda m: ours(False, X[:m], y[:m], True).run, n)
    return result


def averaged_perceptron_dense(quick: bool) -> Result:
    """Averaged perceptron, 5 passes over 1 000 000 rows of 100 columns."""
    n, p = (250_000 if quick else 1_000_000), 100
    X, y = dense_rows(n, p)
    return race(
        "averaged_perceptron_dense", f"{n} × {p}", [ours(True, X, y, True), sklearn(True, X, y, True)], agree=1e-6
    )


def sparse_race(quick: bool, averaged: bool) -> Result:
    n, p = (100_000 if quick else 500_000), 1_000_000
    X, y = sparse_rows(n, p, 100)
    same_mistakes_as_the_reference(X[:5000], y[:5000])
    # Without an intercept: scikit-learn lets it learn a hundredth as fast where rows are sparse.
    name = f"{'averaged_' * averaged}perceptron_sparse"
    size = f"{n} × {p}, {X.nnz / n:.0f} a row"
    return race(name, size, [ours(averaged, X, y, False), sklearn(averaged, X, y, False)], agree=1e-6)


def perceptron_sparse(quick: bool) -> Result:
    """Perceptron, 5 passes over 500 000 sparse rows of 1 000 000 columns."""
    return sparse_race(quick, averaged=False)


def averaged_perceptron_sparse(quick: bool) -> Result:
    """Averaged perceptron, 5 passes over 500 000 sparse rows of 1 000 000 columns."""
    return sparse_race(quick, averaged=True)


def pocket(quick: bool) -> Result:
    """Pocket perceptron, 1000 updates scored on 100 000 rows of 20 columns, against scoring each by a product."""
    n, p = (25_000 if quick else 100_000), 20
    X, y = dense_rows(n, p)
    model = ly.PocketPerceptron()

    def one_by_one() -> Array:
        coef, intercept, best, errors = np.zeros(p), 0.0, np.zeros(p), n + 1
        for i in model.mistake_log_.rows.tolist():
            sign = 2.0 * y[i] - 1.0
            coef, intercept = coef + sign * X[i], intercept + sign
            wrong = int(np.count_nonzero((X @ coef + intercept >= 0) != (y > 0)))
            if wrong < errors:
                best, errors = coef, wrong
        return best

    contenders = [
        Contender("linearly", lambda: model.fit(X, y).coef_[0], ours=True),
        Contender("NumPy, one update at a time", one_by_one, repeats=1),
    ]
    return race("pocket", f"{n} × {p}, 1000 updates", contenders, agree=1e-9)


WORKLOADS = [
    perceptron_dense,
    averaged_perceptron_dense,
    perceptron_sparse,
    averaged_perceptron_sparse,
    pocket,
]
