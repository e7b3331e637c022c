"""Tests of `mistake_log`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from perceptron_cases import Streamed, Textbook, a_start, made, same, whole_numbers

from linearly.algorithm.perceptron import mistake_log
from linearly.algorithm.perceptron.mistake_log import BestWeights, MistakeLog, Recorder, better_of, candidates_at_once
from linearly.algorithm.perceptron.online_pass import Weights, online_pass
from linearly.algorithm.perceptron.training import Training
from linearly.dataset.rows.block import as_rows
from linearly.dataset.rows.sparse import SparseRows


def trained(K, *, p=3, intercept=True, started=False, sparse=False, passes=3, n=45):
    X, y = whole_numbers(K, n, p)
    start = a_start(K, p) if started else None
    if started and not intercept:
        start = start[0], np.zeros_like(start[1])
    book = Textbook(K, p, intercept, start)
    learner = Training(1 if K == 2 else K, p, intercept=intercept, averaged=True, start=start if intercept else None)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    for _ in range(passes):
        before = len(book.made)
        book.one_pass(X, y)
        assert learner.one_pass(rows) == len(book.made) - before
    return X, y, book, learner


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_training_is_the_textbook_s_and_the_log_says_all_of_it(K, intercept, sparse):
    _, _, book, learner = trained(K, intercept=intercept, sparse=sparse, started=intercept)
    log = learner.log()
    assert made(log) == book.made
    assert len(log) == learner.updates == sum(learner.mistakes) == len(book.made)
    assert log.seen == 3 * 45
    assert log.features.shape[0] == len({row for row, *_ in book.made})
    same(learner.final_weights(), book.trail[-1])
    same(log.final_weights(), book.trail[-1])
    np.testing.assert_array_equal(log.survival_counts, book.survived)
    for read in (learner.averaged_weights(), log.averaged_weights()):
        np.testing.assert_allclose(read[0], book.average[0], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(read[1], book.average[1], rtol=1e-13, atol=1e-14)
    for at_once in (None, 1, 4):
        steps = list(log.iter_weights(at_once))
        assert [a for a, *_ in steps][:2] == [0, len(steps[0][1])]
        same(np.concatenate([coef for _, coef, _ in steps]), [W for W, _ in book.trail[1:]])
        same(np.concatenate([b for *_, b in steps]), [b for _, b in book.trail[1:]])
    if K == 2:
        assert log.signs.tolist() == [2 * code - 1 for _, code, *_ in book.made]
    else:
        with pytest.raises(ValueError, match="two classes"):
            _ = log.signs


@pytest.mark.parametrize("p", [3, 70])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_votes_are_counted_one_by_one(K, started, sparse, p, monkeypatch):
    monkeypatch.setattr(mistake_log, "_TILE", 7)
    monkeypatch.setattr(mistake_log, "_PLACES", 9)
    monkeypatch.setattr(mistake_log, "_SCORES", 64)
    monkeypatch.setattr(mistake_log, "CANDIDATES_PER_PASS", 5)
    X, _, book, learner = trained(K, p=p, sparse=sparse, started=started, passes=1 if p > 3 else 2)
    log, points = learner.log(), X[:25]
    points = sp.csr_matrix(points) if sparse else points
    np.testing.assert_allclose(log.vote(points), book.vote(X[:25], book.survived.astype(float)), rtol=1e-12, atol=1e-14)
    uniform = np.r_[0.0, np.ones(len(log))]
    np.testing.assert_allclose(log.vote(points, "uniform"), book.vote(X[:25], uniform), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("K", [2, 3])
def test_best_weights_of_a_log_are_the_first_with_the_fewest_errors(K):
    X, y, book, learner = trained(K, started=True)
    weight = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    for w in (None, weight):
        wrong = book.errors(X, y, w)
        best = learner.log().best(as_rows(X, y, w))
        assert (best.update, best.errors) == (int(np.argmin(wrong)), min(wrong))
        same((best.coef, best.intercept), book.trail[best.update])


@pytest.mark.parametrize("K", [2, 3])
def test_final_weights_of_a_converged_training_are_the_best(K):
    X, _ = whole_numbers(K)
    y = np.digitize(X @ [1.0, -2.0, 1.5], [0.2]) if K == 2 else np.argmax(X @ np.eye(3) + [0.1, 0.2, 0.3], axis=1)
    learner = Training(1 if K == 2 else K, 3)
    assert 0 in (learner.one_pass(as_rows(X, y.astype(np.int32))) for _ in range(200))
    best = learner.log().best(as_rows(X, y))
    assert best.errors == 0
    assert best.update == len(learner.log())
    same((best.coef, best.intercept), learner.final_weights())


def test_a_start_without_errors_stays_the_best():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0], dtype=np.int32)
    learner = Training(1, 1, start=(np.array([[2.0]]), np.zeros(1)))
    assert learner.one_pass(as_rows(X, y)) == 0
    best = learner.log().best(as_rows(X, y))
    assert (best.update, best.errors) == (0, 0.0)
    same((best.coef, best.intercept), learner.final_weights())


def test_the_better_of_candidates_is_strictly_better_and_the_first():
    start = BestWeights(0, 3.0, np.zeros((1, 2)), np.zeros(1))
    coef, intercept = np.arange(8.0).reshape(4, 1, 2), np.arange(4.0)[:, None]
    assert better_of(start, 10, coef, intercept, np.array([4.0, 3.0, 5.0, 3.0])) is start
    found = better_of(start, 10, coef, intercept, np.array([4.0, 2.0, 2.0, 3.0]))
    assert (found.update, found.errors) == (12, 2.0)
    same((found.coef, found.intercept), (coef[1], intercept[1]))


@pytest.mark.parametrize("vectors", [1, 3, 4, 5, 100, 300])
@pytest.mark.parametrize("p", [0, 1, 50, 2**16, 2**18, 2**21, 2**23])
def test_as_many_candidates_at_once_as_three_limits_allow(vectors, p):
    m = candidates_at_once(vectors, p)

    def allowed(m):
        return m <= 64 and m * vectors <= 256 and m * vectors * p <= 2**22

    assert m >= 1
    assert allowed(m) or m == 1
    assert not allowed(m + 1)


def test_mistake_log_takes_missing_rows_from_the_training_data():
    X, _, book, learner = trained(2)
    log = learner.log()
    bare = replace(log, features=None, which=None)
    last = max(row for row, *_ in book.made)
    same(bare.with_rows(X[: last + 1]).final_weights(), log.final_weights())
    np.testing.assert_allclose(
        bare.with_rows(sp.csr_matrix(X)).averaged_weights()[0], log.averaged_weights()[0], rtol=1e-12
    )
    for wrong in (X[:last], X[:, :2]):
        with pytest.raises(ValueError, match="does not match the mistake log"):
            bare.with_rows(wrong)
    with pytest.raises(ValueError, match=r"more than 4 MB.*with_rows"):
        bare.final_weights()
    none = MistakeLog(*(np.empty(0, np.int64),) * 4, 0, 1, 3, True)
    same(none.with_rows(X[:0]).final_weights(), (np.zeros((1, 3)), np.zeros(1)))
    same(none.with_rows(X[:0]).averaged_weights(), (np.zeros((1, 3)), np.zeros(1)))


@pytest.mark.parametrize("sparse", [False, True])
def test_recorder_keeps_each_mistaken_row_once_while_there_is_room(sparse):
    X, y = whole_numbers(2)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    book = Textbook(2, 3)
    for _ in range(3):
        book.one_pass(X, y)
    distinct = sorted({row for row, *_ in book.made})
    needed = 12 * np.count_nonzero(X[distinct]) if sparse else 8 * X[distinct].size
    for room, kept in ((needed, True), (needed - 1, False)):
        learner = Training(1, 3, room=room)
        for _ in range(3):
            learner.one_pass(rows)
        log = learner.log()
        assert (log.features is not None) == (log.which is not None) == kept
        assert made(log) == book.made
        if kept:
            features = log.features.toarray() if sparse else log.features
            np.testing.assert_array_equal(features[log.which], X[log.rows])


def test_mistake_recorder_continues_after_it_was_read():
    X, y = whole_numbers(3)
    learner, book = Training(3, 3), Textbook(3, 3)
    empty = learner.log()
    assert (len(empty), empty.seen, empty.features.shape, len(empty.which)) == (0, 0, (0, 3), 0)
    for _ in range(3):
        learner.one_pass(Streamed(X, y))
        book.one_pass(X, y)
        log = learner.log()
        assert made(log) == book.made
        np.testing.assert_array_equal(log.features[log.which], X[log.rows])


def test_recorder_counts_from_the_first_row_by_default():
    X, y = whole_numbers(2)
    recorder, book = Recorder(), Textbook(2, 3).one_pass(X, y)
    for found in online_pass(as_rows(X, y), Weights.zeros(1, 3)):
        recorder.add(found)
    log = recorder.log(45, 1, 3, True)
    assert made(log) == book.made
    np.testing.assert_array_equal(log.features[log.which], X[log.rows])


def contradiction_of(X, y, K=2, intercept=True):
    learner = Training(1 if K == 2 else K, X.shape[1], intercept=intercept)
    rows = as_rows(X, np.asarray(y, dtype=np.int32)) if isinstance(X, np.ndarray) else SparseRows(X, np.int32(y))
    for _ in range(4):
        learner.one_pass(rows)
    return learner.log().find_contradiction()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_contradiction_is_one_point_with_two_labels(kind):
    X = np.array([[1.0, 2.0], [-1.0, -2.0], [3.0, 0.0], [1.0, 2.0], [3.0, -0.0]])
    assert contradiction_of(kind(X[:4]), [1, 0, 1, 1]) == ""
    assert contradiction_of(kind(X[:4]), [1, 0, 1, 0]) == "rows 0 and 3 are the same point with different labels"
    assert contradiction_of(kind(X), [1, 0, 1, 1, 0]) == "rows 2 and 4 are the same point with different labels"
    zero = kind(np.array([[1.0], [0.0]]))
    assert contradiction_of(zero, [1, 0]) == ""
    assert contradiction_of(zero, [1, 0], intercept=False) == "row 1 is zero and there is no intercept"


def test_stored_zeros_and_halves_of_an_entry_are_the_same_point():
    stored = sp.csr_matrix((np.array([1.0, 0.0, 0.5, 0.5]), np.array([0, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    assert contradiction_of(stored, [1, 0]) == "rows 0 and 1 are the same point with different labels"


def test_few_rows_only_are_searched_for_contradictions(monkeypatch):
    X = np.array([[1.0, 2.0], [1.0, 2.0]])
    monkeypatch.setattr(mistake_log, "_MAX_COMPARED", 2)
    assert contradiction_of(X, [1, 0])
    monkeypatch.setattr(mistake_log, "_MAX_COMPARED", 1)
    assert contradiction_of(X, [1, 0]) == ""
    log = MistakeLog(*(np.zeros(1, np.int64),) * 4, 1, 1, 2, True)
    assert log.find_contradiction() == ""
