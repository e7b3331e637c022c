"""Tests of `training`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from perceptron_cases import Streamed, Textbook, a_start, made, same, whole_numbers

from linearly.algorithm.perceptron import training
from linearly.algorithm.perceptron.training import Training
from linearly.dataset.rows.block import as_rows
from linearly.dataset.rows.safe_scaling import (
    UnsafeMagnitude,
)
from linearly.dataset.rows.sparse import SparseRows


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_measured_in_a_power_of_two_have_coefficients_for_the_rows_themselves(sparse):
    X, y = whole_numbers(2)
    start = a_start(2, 3)
    book, learner = Textbook(2, 3, start=start), Training(1, 3, averaged=True, start=start, exponent=3)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    for _ in range(2):
        learner.one_pass(rows)
        book.one_pass(X, y)
    same(learner.final_weights(), (book.trail[-1][0] / 8, book.trail[-1][1]))
    W, b = learner.averaged_weights()
    np.testing.assert_allclose(W, book.average[0] / 8, rtol=1e-13)
    np.testing.assert_allclose(b, book.average[1], rtol=1e-13)
    log = learner.log()
    same(log.final_weights(), learner.final_weights())
    np.testing.assert_allclose(log.averaged_weights()[0], W, rtol=1e-13)
    features = log.features.toarray() if sparse else log.features
    np.testing.assert_array_equal(features[log.which], X[log.rows] / 8)
    same(log.start, (start[0] / 8, start[1]))
    assert log.start[1] is not start[1]


def test_a_stream_of_new_rows_counts_them_on():
    X, y = whole_numbers(3, n=60)
    learner, book = Training(3, 3), Textbook(3, 3)
    for a, b in pairwise((0, 20, 35, 60)):
        learner.one_pass(as_rows(X[a:b], y[a:b]))
        book.one_pass(X[a:b], y[a:b], before=a)
        learner.new_rows()
    log = learner.log()
    assert made(log) == book.made
    assert log.seen == 60
    np.testing.assert_array_equal(log.features[log.which], X[log.rows])
    same(log.final_weights(), book.trail[-1])


def test_a_shuffled_pass_draws_a_new_order_each_time():
    X, y = whole_numbers(2)
    learner = Training(1, 3, shuffle=np.random.RandomState(4))
    random, book = np.random.RandomState(4), Textbook(2, 3)
    for _ in range(3):
        learner.one_pass(as_rows(X, y))
        book.one_pass(X, y, random.permutation(45))
    assert made(learner.log()) == book.made
    assert learner.mistakes == np.histogram([t for *_, t in book.made], [1, 46, 91, 136])[0].tolist()


def test_rows_are_measured_in_the_first_pass_over_them():
    tiny, y = np.array([[1e-150], [2e-150]]), np.array([1, 0], dtype=np.int32)
    learner = Training(1, 1)
    with pytest.raises(UnsafeMagnitude):
        learner.one_pass(as_rows(tiny, y))
    learner = Training(1, 1)
    learner.one_pass(as_rows(tiny * 1e150, y))
    assert learner.weights.largest == 2.0
    learner.one_pass(as_rows(tiny * 1e153, y))
    assert learner.weights.largest == 2.0
    learner.new_rows()
    learner.one_pass(as_rows(tiny * 1e153, y))
    assert learner.weights.largest == 2000.0


@pytest.mark.parametrize("mixes", [True, False])
def test_log_of_rows_not_in_memory_is_dropped_unless_predictions_need_it(mixes, monkeypatch):
    X, y = whole_numbers(2)
    book = Textbook(2, 3)
    for _ in range(2):
        book.one_pass(X, y)
    for limit, rows, gone in (
        (len(book.made), Streamed(X, y), False),
        (len(book.made) - 1, Streamed(X, y), mixes),
        (len(book.made) - 1, as_rows(X, y), False),
    ):
        monkeypatch.setattr(training, "_MAX_LOGGED", limit)
        learner = Training(1, 3, mixes=mixes)
        learner.one_pass(rows)
        learner.one_pass(rows)
        same(learner.final_weights(), book.trail[-1])
        assert learner.updates == len(book.made)
        if gone:
            with pytest.raises(AttributeError, match=f"not available after more than {limit:,} mistakes on files"):
                learner.log()
        else:
            assert made(learner.log()) == book.made
