"""Tests of `float_search`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from separability_cases import LAYOUTS, nearest_point, vectors

from linearly.algorithm.separability import exact_search as relations_module
from linearly.algorithm.separability.exact_search import (
    SeparatorSearch,
)
from linearly.algorithm.separability.float_search import (
    least_squares_guess,
    logistic_guess,
    per_class,
    search_min_norm_point,
    whitening_matrix,
)
from linearly.algorithm.separability.halfspaces import Halfspaces


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 4), (5, 9), (4, 4)])
def test_whitened_rows_have_unit_covariance(shape, fit_intercept, layout):
    n, p = shape
    X = np.random.default_rng(0).standard_normal(shape) @ np.diag(10.0 ** np.arange(p) / 100) + 1
    H = Halfspaces(layout(X), np.arange(n) % 2, fit_intercept=fit_intercept)
    T = whitening_matrix(H)
    white = H.dense(slice(None)) @ T
    assert T.shape == (H.n_terms, min(n, H.n_terms))
    np.testing.assert_allclose(white.T @ white / n, np.eye(T.shape[1]), atol=1e-6)


def test_whitening_leaves_out_what_does_not_vary():
    X = np.random.default_rng(0).standard_normal((50, 3))
    X = np.column_stack([X, X[:, 0] - X[:, 1], np.zeros(50)])
    for scale in (1.0, 1e-7, 1e7):
        H = Halfspaces(X * scale, np.arange(50) % 2)
        T = whitening_matrix(H)
        assert T.shape == (6, 4)
        white = H.dense(slice(None)) @ T
        np.testing.assert_allclose(white.T @ white / 50, np.eye(4), atol=1e-6)


def test_directions_of_small_spread_are_told_apart_from_each_other():
    rng = np.random.default_rng(0)
    base = rng.standard_normal(200)
    X = np.column_stack([base, base + 1e-7 * rng.standard_normal(200), base + 1e-8 * rng.standard_normal(200)])
    H = Halfspaces(X, np.arange(200) % 2, fit_intercept=False)
    white = H.Z @ whitening_matrix(H)
    np.testing.assert_allclose(white.T @ white / 200, np.eye(3), atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_the_first_guess_is_least_squares_on_class_indicators(K, fit_intercept):
    rng = np.random.default_rng(K)
    H = Halfspaces(rng.standard_normal((40, 3)) + 1, np.arange(40) % K, fit_intercept=fit_intercept)
    B = np.linalg.lstsq(H.dense(slice(None)), np.eye(K)[H.codes], rcond=None)[0]
    expected = np.concatenate([B[:, k] - B[:, 0] for k in range(1, K)])
    np.testing.assert_allclose(least_squares_guess(H, whitening_matrix(H)), expected, atol=1e-10)


def logistic_loss(H: Halfspaces, v: np.ndarray) -> float:
    F = np.zeros((H.n, H.K))
    F[:, 1:] = H.dense(slice(None)) @ v.reshape(H.K - 1, H.n_terms).T
    return float((np.log(np.exp(F).sum(axis=1)) - F[np.arange(H.n), H.codes]).sum())


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_descent_ends_at_the_smallest_logistic_loss(K, fit_intercept):
    rng = np.random.default_rng(K)
    X = rng.standard_normal((60, 2))
    y = np.argmax(X @ rng.standard_normal((2, K)) + 1.5 * rng.standard_normal((60, K)) + [0.5, *[0] * (K - 1)], axis=1)
    H = Halfspaces(X, y, fit_intercept=fit_intercept)
    v = logistic_guess(H, whitening_matrix(H))
    best = minimize(lambda u: logistic_loss(H, u), np.zeros(H.n_unknowns), method="BFGS")
    assert H.scores(v).min() < 0
    assert logistic_loss(H, v) == pytest.approx(best.fun, abs=1e-6)


@pytest.mark.parametrize("K", [2, 4])
def test_descent_ends_where_classes_are_separated(K):
    rng = np.random.default_rng(K)
    X = rng.standard_normal((200, 6))
    H = Halfspaces(X, np.argmax(X @ rng.standard_normal((6, K)), axis=1))
    assert H.scores(least_squares_guess(H, whitening_matrix(H))).min() <= 0
    assert H.scores(logistic_guess(H, whitening_matrix(H))).min() > 0


def test_per_class_of_two_classes_is_the_coordinates_themselves():
    T = np.random.default_rng(0).standard_normal((4, 3))
    np.testing.assert_array_equal(per_class(2, T), T)


@pytest.mark.parametrize("K", [3, 5])
def test_per_class_of_several_classes_treats_all_alike(K):
    T = np.random.default_rng(0).standard_normal((4, 3))
    frame = per_class(K, T)
    assert frame.shape == ((K - 1) * 4, (K - 1) * 3)
    # ‖x‖ is the Frobenius norm of K centred columns of coordinates, of which v = frame·x holds the differences.
    x = np.random.default_rng(1).standard_normal(frame.shape[1])
    W = np.column_stack([np.zeros(4), (frame @ x).reshape(K - 1, 4).T])
    W -= W.mean(axis=1, keepdims=True)
    U = np.linalg.lstsq(T, W, rcond=None)[0]
    np.testing.assert_allclose(T @ U, W, atol=1e-12)
    assert np.linalg.norm(U) == pytest.approx(np.linalg.norm(x))


@pytest.mark.parametrize("n", [50, 2000])
def test_min_norm_search_ends_with_a_direction_that_no_active_row_opposes(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 3))
    H = Halfspaces(X, X @ [1.0, -1.0, 0.5] > 0.2)
    flipped = Halfspaces(X, H.codes ^ (np.arange(n) == 7))
    asked = np.arange(n) != 7
    frame = whitening_matrix(H)
    for halfspaces, active in ((H, np.ones(n, dtype=bool)), (flipped, asked)):
        for guess in (None, np.zeros(4), np.array([-1.0, 1.0, 0.0, 0.0]), least_squares_guess(H, frame)):
            hint = search_min_norm_point(halfspaces, frame, active, guess)
            assert (halfspaces.scores(hint.v)[active] > 0).all()
            assert active[hint.ids].all()
            assert len(hint.ids) == len(hint.weights)


def test_min_norm_search_accepts_a_correct_guess_unchanged():
    X = np.random.default_rng(0).standard_normal((500, 2))
    H = Halfspaces(X, X @ [1.0, 3.0] > 0)
    guess = np.array([1.0, 3.0, 0.0])
    hint = search_min_norm_point(H, whitening_matrix(H), np.ones(500, dtype=bool), guess)
    assert hint.v is guess
    assert hint.ids == []


@pytest.mark.parametrize("n", [50, 2000])
def test_the_approach_ends_with_rows_whose_hull_holds_the_origin(n):
    rng = np.random.default_rng(n)
    H = Halfspaces(rng.standard_normal((n, 3)), rng.integers(0, 2, n))
    active = np.arange(n) % 5 > 0
    hint = search_min_norm_point(H, whitening_matrix(H), active)
    assert hint.v is None
    assert active[hint.ids].all()
    assert (hint.weights > 0).all()
    np.testing.assert_allclose(hint.weights @ H.rows(np.array(hint.ids)), 0, atol=1e-10)


@pytest.mark.parametrize("n", [40, 3000])
@pytest.mark.parametrize("gap", [0.001, 0.02])
def test_the_approach_with_a_gap_ends_near_the_largest_margin(gap, n):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 3)) + 0.1
    X = X[np.abs(X @ [1.0, 2.0, -1.0]) > 0.1]
    H = Halfspaces(X, X @ [1.0, 2.0, -1.0] > 0)
    A = np.array(vectors(H), dtype=float) if n < 100 else H.rows(np.arange(H.n_inequalities))
    largest = np.linalg.norm(nearest_point(A))
    hint = search_min_norm_point(H, np.eye(4), np.ones(H.n_inequalities, dtype=bool), gap=gap)
    margin = (A @ hint.v).min() / np.linalg.norm(hint.v)
    assert (1 - 2.5 * gap) * largest <= margin <= largest * (1 + 1e-9)
    short = search_min_norm_point(H, np.eye(4), np.ones(H.n_inequalities, dtype=bool), gap=1e-12, steps=2)
    assert short.v is not None
    assert np.linalg.norm(short.v) >= largest * (1 - 1e-9)


def test_only_many_unknowns_are_worth_a_descent(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(relations_module, "logistic_guess", lambda *_: "descended")
    few = SeparatorSearch(Halfspaces(rng.standard_normal((40, 3)), np.arange(40) % 2))
    assert few.good_guess is few.first_guess
    many = SeparatorSearch(Halfspaces(rng.standard_normal((400, 160)), np.arange(400) % 2))
    assert many.H.scores(many.first_guess).min() < 0
    assert many.good_guess == "descended"
    wide = SeparatorSearch(Halfspaces(rng.standard_normal((40, 160)), np.arange(40) % 2))
    assert wide.H.scores(wide.first_guess).min() > 0
    assert wide.good_guess is wide.first_guess
