"""Tests of `pocket_search`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from perceptron_cases import Textbook, a_start, made, same, whole_numbers

from linearly.algorithm.perceptron import mistake_log
from linearly.algorithm.perceptron import pocket_search as trail_module
from linearly.algorithm.perceptron.online_pass import Weights, online_pass
from linearly.algorithm.perceptron.pocket_search import PocketSearch
from linearly.dataset.rows.block import as_rows
from linearly.dataset.rows.sparse import SparseRows


def followed_trail(X, y, K, *, most, sparse=False, started=False, passes=3, intercept=True, at_a_time=None):
    p, vectors = X.shape[1], 1 if K == 2 else K
    W, b = a_start(K, p) if started else (np.zeros((vectors, p)), np.zeros(vectors))
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    trail = PocketSearch(rows, W.copy(), b.copy(), intercept=intercept, most=most)
    weights = Weights(W.copy(), b.copy() if intercept else None)
    for _ in range(passes):
        for found in online_pass(rows, weights, most=at_a_time or most):
            trail.add_updates(found)
    trail.score()
    return trail


@pytest.mark.parametrize(("sparse", "started"), [(False, True), (True, False)])
@pytest.mark.parametrize("at_a_time", [1, 4, 1000])
@pytest.mark.parametrize("K", [2, 3])
def test_pocket_search_scores_every_update(K, at_a_time, sparse, started, monkeypatch):
    monkeypatch.setattr(mistake_log, "CANDIDATES_PER_PASS", 6)
    X, y = whole_numbers(K)
    book = Textbook(K, 3, start=a_start(K, 3) if started else None)
    for _ in range(3):
        book.one_pass(X, y)
    wrong = book.errors(X, y)
    for most in (1000, len(book.made), len(book.made) - 1, 13, 6, 1):
        trail = followed_trail(X, y, K, most=most, sparse=sparse, started=started, at_a_time=at_a_time)
        made_ = min(most, len(book.made))
        assert trail.path == wrong[: made_ + 1]
        assert trail.updates == made_
        assert trail.total == 45
        assert trail.ended == (most <= len(book.made))
        assert (trail.best.update, trail.best.errors) == (int(np.argmin(trail.path)), min(trail.path))
        same((trail.best.coef, trail.best.intercept), book.trail[trail.best.update])
        same((trail.W, trail.b), book.trail[made_])
        log = trail.log(0)
        assert made(log) == book.made[:made_]
        assert log.seen == book.made[made_ - 1][3]
        features = log.features.toarray() if sparse else log.features
        np.testing.assert_array_equal(features[log.which], X[log.rows])
        same(log.final_weights(), book.trail[made_])


@pytest.mark.parametrize("candidates", [1, 3, 64])
def test_pocket_search_ends_with_the_first_weights_without_errors(candidates, monkeypatch):
    monkeypatch.setattr(mistake_log, "CANDIDATES_PER_PASS", candidates)
    X, _ = whole_numbers(2)
    y = (X @ [1.0, -2.0, 1.5] > 0.2).astype(np.int32)
    book = Textbook(2, 3)
    for _ in range(100):
        book.one_pass(X, y)
    wrong = book.errors(X, y)
    end = wrong.index(0.0)
    trail = followed_trail(X, y, 2, most=10_000, passes=100, at_a_time=5)
    assert trail.ended
    assert trail.path == wrong[: end + 1]
    assert trail.best.update == trail.updates == len(trail.log(0)) == end
    same((trail.W, trail.b), book.trail[end])


def test_pocket_search_scores_as_soon_as_updates_fill_a_reduction(monkeypatch):
    monkeypatch.setattr(mistake_log, "CANDIDATES_PER_PASS", 4)
    X, y = whole_numbers(2)
    trail = PocketSearch(as_rows(X, y), np.zeros((1, 3)), np.zeros(1), intercept=True, most=100)
    empty = trail.log(0)
    assert (trail.updates, len(empty), empty.seen, empty.features.shape) == (0, 0, 0, (0, 3))
    weights, scored = Weights.zeros(1, 3), []
    for found in online_pass(as_rows(X, y), weights, most=1):
        trail.add_updates(found)
        scored.append(trail.updates)
    assert scored == [4 * ((i + 1) // 4) for i in range(len(scored))]
    trail.score()
    assert trail.updates == len(scored)
    trail.score()
    assert trail.updates == len(scored)


@pytest.mark.parametrize("sparse", [False, True])
def test_pocket_search_of_scaled_rows_logs_the_unscaled_rows(sparse, monkeypatch):
    X, y = whole_numbers(2)
    X[0, 0] = 0.0
    trail = followed_trail(X, y, 2, most=20, sparse=sparse, started=True)
    log = trail.log(2)
    same(log.start, (trail.start[0] / 4, trail.start[1]))
    features = log.features.toarray() if sparse else log.features
    np.testing.assert_array_equal(features[log.which], X[log.rows] / 4)
    same(log.final_weights(), (trail.W / 4, trail.b))
    entries = np.count_nonzero(X[log.rows]) if sparse else 3 * len(log)
    for room, kept in ((8 * entries, True), (8 * entries - 1, False)):
        monkeypatch.setattr(trail_module, "MAX_LOG_BYTES", room)
        assert (trail.log(2).features is not None) == kept


def test_pocket_search_from_a_start_without_errors_ends_at_once():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0], dtype=np.int32)
    trail = PocketSearch(as_rows(X, y), np.ones((1, 1)), np.zeros(1), intercept=False, most=5)
    assert trail.ended
    assert trail.path == [0.0]
    assert trail.best.update == 0
    assert not PocketSearch(as_rows(X, y), -np.ones((1, 1)), np.zeros(1), intercept=False, most=5).ended
