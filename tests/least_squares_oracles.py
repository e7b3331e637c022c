"""What tests of least squares share: fractions, example rows, and summaries and solutions by their definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.dataset.rows.block import Block
from linearly.kernels.double_double import DoubleDouble


def fractions(a: object) -> np.ndarray:
    """Every number of an array, or of double-double numbers, as the fraction that it is."""
    if isinstance(a, DoubleDouble):
        return fractions(a.high) + fractions(a.low)
    a = np.asarray(a)
    return np.array([Fraction(t) for t in a.ravel().tolist()], dtype=object).reshape(a.shape)


def solved(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹B in fractions, by elimination."""
    M, q = np.hstack([A, B]), len(A)
    for j in range(q):
        i = next(i for i in range(j, q) if M[i, j] != 0)
        M[[i, j]] = M[[j, i]]
        M[j] = M[j] / M[j, j]
        for other in range(q):
            if other != j:
                M[other] = M[other] - M[other, j] * M[j]
    return M[:, q:]


def close(a: object, b: np.ndarray, within: float) -> None:
    """Two arrays agree to a fraction of the largest number of the second, compared without rounding."""
    wanted = fractions(b) if b.dtype != object else b
    largest = max((abs(t) for t in wanted.ravel()), default=0)
    assert np.shape(a.high if isinstance(a, DoubleDouble) else a) == wanted.shape
    assert all(abs(t) <= within * largest for t in (fractions(a) - wanted).ravel())


SUMMARIES: dict[str, Callable[[Block], Gram | QRFactor]] = {
    "gram": Gram.of,
    "extended": lambda block: Gram.of(block, extended=True),
    "qr": QRFactor.of,
}


def rows(n: int = 30, p: int = 3, k: int = 2, *, weighted: bool = True, seed: int = 5) -> Block:
    """Rows with columns and targets of different size and place, a few of them without weight."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10.0 ** np.resize([0, 5, -3], p) + np.resize([3.0, -1e5, 0.0], p)
    Y = rng.standard_normal((n, k)) * np.resize([40.0, 1e-4], k) + np.resize([7.0, -2e-4], k)
    Y = Y + X[:, :1] * np.resize([9.0, -3e-4], k)
    if not weighted:
        return Block(X, Y)
    weight = rng.uniform(0.5, 3.0, n)
    weight[[2, n - 1]] = 0.0
    X[2], Y[2] = 1e290, -1e290
    return Block(X, Y, weight)


def positive_weight_rows(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, Y and weights of the rows that count."""
    w = np.ones(len(block)) if block.weight is None else block.weight
    return block.X[w > 0], block.y[w > 0], w[w > 0]


def even(block: Block) -> Block:
    """Columns of about one size, and not too far from zero, so that a penalty means something for each."""
    X = (block.X - [0.0, -1e5, 0.0]) * [1.0, 1e-4, 1e3]
    return replace(block, X=X, y=block.y * [1.0, 1e5])


def by_definition(X: np.ndarray, Y: np.ndarray, w: np.ndarray, ask: RidgeProblem) -> dict[str, np.ndarray]:
    """What a `Solution` is about, from the normal equations of [1 | X]."""
    first = int(ask.intercept)
    D = np.column_stack([np.ones(len(X)), X])[:, 1 - first :]
    penalty = ask.alpha * np.eye(D.shape[1])
    if ask.intercept and not ask.penalize_intercept:
        penalty[0] = 0.0
    A = (D * w[:, None]).T @ D
    M = np.linalg.pinv(A + penalty, rcond=1e-12, hermitian=True)
    b = M @ (D * w[:, None]).T @ Y
    about = w @ Y / w.sum() if ask.intercept else 0.0
    return {
        "coef": b[first:],
        "intercept": b[0] if ask.intercept else np.zeros(Y.shape[1]),
        "rss": w @ (Y - D @ b) ** 2,
        "tss": w @ (Y - about) ** 2,
        "dof": len(X) - np.trace(M @ A),
        "inverse": M,
        "covariance": M @ A @ M,
        "leverage": w * np.einsum("ij,jk,ik->i", D, M, D),
        "fitted": D @ b,
    }


def check_solution(
    found: Solution, X: np.ndarray, Y: np.ndarray, w: np.ndarray, ask: RidgeProblem, within: float = 1e-9
) -> None:
    wanted = by_definition(X, Y, w, ask)
    for name in ("coef", "intercept", "rss", "tss", "dof"):
        np.testing.assert_allclose(getattr(found, name), wanted[name], rtol=within, atol=1e-13, err_msg=name)
    size = np.abs(wanted["inverse"]).max()
    np.testing.assert_allclose(
        found.inverse_root @ found.inverse_root.T, wanted["inverse"], rtol=within, atol=within * size
    )
    covariance = found.inverse_root @ found.shrinkage @ found.inverse_root.T
    np.testing.assert_allclose(covariance, wanted["covariance"], rtol=within, atol=within * size)
    u = found.whitened_rows(X)
    np.testing.assert_allclose(w * (u**2).sum(axis=1), wanted["leverage"], rtol=within)
    size = np.abs(wanted["fitted"]).max(axis=0)
    np.testing.assert_allclose((found.predict(X) - wanted["fitted"]) / size, 0, atol=within)
    np.testing.assert_allclose(found.sigma2, wanted["rss"] / wanted["dof"], rtol=within)
    coef, intercept = found.extended
    np.testing.assert_array_equal(coef.to_float64(), found.coef)
    np.testing.assert_array_equal(intercept.to_float64(), found.intercept)
    assert found.has_intercept == ask.intercept
    assert (found.n, found.alpha) == (len(X), ask.alpha)
    assert found.weight == pytest.approx(w.sum())
    assert found.log_weight == pytest.approx(np.log(w).sum())


def exactly(X: np.ndarray, Y: np.ndarray, w: np.ndarray, intercept: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (the intercept first, if there is one) and residual sums of squares in fractions."""
    D = np.column_stack([np.ones(len(X)), X])[:, 1 - intercept :]
    D, Y, w = fractions(D), fractions(Y), fractions(w)
    b = solved((D.T * w) @ D, (D.T * w) @ Y)
    return b, w @ (Y - D @ b) ** 2


def correlated_rows(n: int = 60, p: int = 5) -> Block:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.uniform(-9, 9, p)
    return Block(X, X @ np.arange(1.0, p + 1) + rng.standard_normal(n))
