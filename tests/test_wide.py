"""Fewer rows than columns: the smallest of the solutions, ridge at the price of the rows, and what is known of them."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

import linearly as ly
from linearly.algorithm.triangle import Triangle
from linearly.algorithm.triangular import upper
from linearly.dataset.rows import Block
from linearly.export.summaries import TRIANGLE

T = TypeVar("T")


def rows(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.01, 100, p) + rng.uniform(-5, 5, p)
    return X, X[:, :3] @ [1.0, 2.0, 3.0] + rng.standard_normal(n), rng.uniform(0.5, 2, n)


def fitted(X: np.ndarray, y: np.ndarray, w: np.ndarray | None = None, **parameters: object) -> ly.LinearRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        return ly.LinearRegression(**parameters).fit(X, y, w)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 3.0])
def test_coefficients_and_covariance_are_those_of_the_definition(alpha: float, intercept: bool, weighted: bool) -> None:
    X, y, w = rows(30, 200)
    w = w if weighted else np.ones(30)
    m = fitted(X, y, w, alpha=alpha, fit_intercept=intercept)
    assert (m.method_, m.n_passes_) == ("qr", 1)
    middle = w @ X / w.sum() if intercept else np.zeros(200)
    root = np.sqrt(w)[:, None]
    D, t = root * (X - middle), np.sqrt(w) * (y - (w @ y / w.sum() if intercept else 0.0))
    A = np.linalg.pinv(np.vstack([D, np.sqrt(alpha) * np.eye(200)]), rcond=1e-12)[:, :30]
    beta = A @ t
    np.testing.assert_allclose(m.coef_, beta, rtol=0, atol=1e-9 * np.abs(beta).max())
    s = m.solution_
    spread = s.root @ s.shrinkage @ s.root.T
    wanted = A @ A.T
    assert np.abs(spread[-200:, -200:] - wanted).max() < 1e-6 * np.abs(wanted).max()
    effective = np.trace(D @ A) + intercept
    assert s.dof == pytest.approx(30 - effective, abs=1e-6)


def test_leverages_add_up_to_the_degrees_of_freedom_spent() -> None:
    X, y, _ = rows(40, 300)
    m = fitted(X, y, alpha=50.0)
    table = ly.augment(m, X, y)
    assert np.sum(table["leverage"]) > 0
    M = np.linalg.inv((X - X.mean(0)).T @ (X - X.mean(0)) + 50.0 * np.eye(300))
    hat = np.einsum("ij,jk,ik->i", X - X.mean(0), M, X - X.mean(0)) + 1 / 40
    np.testing.assert_allclose(table["leverage"], hat, rtol=1e-7)


def test_a_penalised_intercept_is_a_column_like_any_other() -> None:
    X, y, _ = rows(20, 150)
    m = fitted(X, y, alpha=2.0, penalize_intercept=True)
    Z = np.column_stack([np.ones(20), X])
    beta = Z.T @ np.linalg.solve(Z @ Z.T + 2.0 * np.eye(20), y)
    np.testing.assert_allclose(np.r_[m.intercept_, m.coef_], beta, rtol=0, atol=1e-10 * np.abs(beta).max())


def test_halves_add_up() -> None:
    X, y, _ = rows(60, 140)
    for alpha in (0.0, 1.0):
        whole = fitted(X, y, alpha=alpha)
        halves = fitted(X[:25], y[:25], alpha=alpha), fitted(X[25:], y[25:], alpha=alpha)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            both = halves[0] + halves[1]
        np.testing.assert_allclose(both.coef_, whole.coef_, rtol=0, atol=1e-9 * np.abs(whole.coef_).max())


def test_several_targets_and_columns_that_are_constant() -> None:
    X, y, _ = rows(12, 160)
    X[:, [3, 90]] = 7.0
    Y = np.column_stack([y, -2 * y + 1])
    with pytest.warns(np.exceptions.RankWarning, match="'x3'"):
        m = ly.LinearRegression().fit(X, Y)
    np.testing.assert_allclose(m.predict(X), Y, rtol=1e-9)
    np.testing.assert_allclose(m.coef_[1], -2 * m.coef_[0], atol=1e-10 * np.abs(m.coef_).max())
    assert np.abs(m.coef_[:, [3, 90]]).max() < 1e-12 * np.abs(m.coef_).max()
    assert m.solution_.digits > 9


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_row_or_two(n: int, alpha: float) -> None:
    X, y, _ = rows(n, 130)
    m = fitted(X, y, alpha=alpha)
    middle, level = X.mean(0), y.mean()
    D = X - middle
    beta = np.linalg.pinv(D) @ (y - level) if alpha == 0 else D.T @ np.linalg.solve(D @ D.T + np.eye(n), y - level)
    np.testing.assert_allclose(m.coef_, beta, rtol=0, atol=1e-12 * max(np.abs(beta).max(), 1.0))
    assert m.predict(middle[None])[0] == pytest.approx(level)


def unspoken(make: Callable[[], T]) -> T:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        warnings.simplefilter(
            "ignore", ly.PrecisionWarning
        )  # of about as many rows as columns a Gram knows nine digits
        return make()


@pytest.mark.parametrize("n", [0, 503])
def test_a_triangle_of_no_rows_or_too_many_is_refused(n: int) -> None:
    X, y, _ = rows(12, 500)
    few = Triangle.of(Block(X, y))
    plain = TRIANGLE.encode(few)
    plain["R"] = TRIANGLE.encode(replace(few, R=np.ones((n, 502))))["R"]
    with pytest.raises(ValueError, match=f"R has {n} rows"):
        TRIANGLE.decode(plain, "summary_", {"m": 501, "1 + m": 502})


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (3, 4), (4, 4), (6, 4), (3, 1)])
def test_the_triangle_of_any_shape(shape: tuple[int, int]) -> None:
    A = np.random.default_rng(0).standard_normal(shape)
    if shape[0] > 1:
        A[1] = A[0]
    R = upper(A)
    assert R.shape == (min(shape), shape[1])
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-14 * 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ly.LinearRegression(),
        lambda: ly.LinearRegression(1.0),
        lambda: ly.LinearRegression(1.0, fit_intercept=False),
        lambda: ly.LinearRegression(1.0, penalize_intercept=True),
    ],
)
def test_nothing_is_as_large_as_the_columns_squared(make: Callable[[], Any]) -> None:
    X, y, _ = rows(60, 5000)
    ly.tidy(fitted(X[:, :200], y, alpha=1.0))  # whatever is imported first

    def everything() -> None:
        m = make().fit(X, y)
        for table in (ly.glance(m), ly.tidy(m), ly.vif(m), ly.augment(m, X, y), m.predict_interval(X)):
            assert len(table) > 0
        m + make().fit(X[:5] + 1, y[:5])

    tracemalloc.start()
    try:
        unspoken(everything)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 0.4 * 8 * 5000**2
