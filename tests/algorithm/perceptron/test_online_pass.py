"""Tests of `online_pass`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from perceptron_cases import Streamed, Textbook, same, whole_numbers

from linearly.algorithm.perceptron import online_pass as mistakes
from linearly.algorithm.perceptron.online_pass import Weights, in_memory, in_one_array, online_pass
from linearly.dataset.rows.block import as_rows
from linearly.dataset.rows.safe_scaling import (
    UnsafeMagnitude,
)
from linearly.dataset.rows.sparse import SparseRows
from linearly.dataset.rows.views import MappedRows


def test_weights_begin_at_zero_with_the_requested_parts():
    for intercept in (True, False):
        for averaged in (True, False):
            weights = Weights.zeros(3, 2, intercept=intercept, averaged=averaged)
            assert weights.W.shape == (3, 2)
            assert (weights.b is not None) == intercept
            assert (weights.U is not None) == averaged
            assert (weights.c is not None) == (intercept and averaged)
            assert not any(part.any() for part in (weights.W, weights.b, weights.U, weights.c) if part is not None)
            same((weights.intercept,), (np.zeros(3),))
            if averaged:
                same(weights.averaged_weights(), (np.zeros((3, 2)), np.zeros(3)))
            else:
                with pytest.raises(ValueError, match="not averaged"):
                    weights.averaged_weights()


def test_weights_are_the_same_however_they_are_laid_out():
    W, U = np.arange(6.0).reshape(3, 2), np.arange(6.0, 12.0).reshape(3, 2)
    weights = Weights(W, np.ones(3), U, np.arange(3.0), seen=4)
    average = weights.averaged_weights()
    np.testing.assert_array_equal(average[0], W - U / 4)
    np.testing.assert_array_equal(average[1], 1 - np.arange(3.0) / 4)
    for interleaved in (True, True, False):
        weights.set_layout(interleaved)
        assert weights.W.shape == ((2, 3) if interleaved else (3, 2))
        assert weights.W.flags.c_contiguous
        np.testing.assert_array_equal(weights.coef, W)
        same(weights.averaged_weights(), average)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("K", [2, 3])
def test_online_pass_yields_its_mistakes_a_few_at_a_time(K, sparse, monkeypatch):
    X, y = whole_numbers(K, n=600)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    book = Textbook(K, 3).one_pass(X, y)
    for most, room, cells in ((3, 2**15, 2**23), (None, 4, 2**23), (None, 2**15, 1)):
        monkeypatch.setattr(mistakes, "_MISTAKE_BUFFER", room)
        monkeypatch.setattr(mistakes, "_MAX_BLOCK_CELLS", cells)
        weights, found = Weights.zeros(1 if K == 2 else K, 3), []
        for some in online_pass(rows, weights, most=most):
            assert 1 <= len(some) <= (most or room)
            found += zip(some.rows, some.codes, some.rivals, some.times, strict=True)
            if most or room == 4:
                same((weights.coef, weights.intercept), book.trail[len(found)])
            here = some.block.X[some.local]
            np.testing.assert_array_equal(here.toarray() if sparse else here, X[some.rows])
        assert found == book.made
        assert weights.seen == 600
        same((weights.coef, weights.intercept), book.trail[-1])


@pytest.mark.parametrize("sparse", [False, True])
def test_online_pass_in_an_order_visits_the_rows_in_that_order(sparse, monkeypatch):
    X, y = whole_numbers(3)
    order = np.random.default_rng(1).permutation(45)
    book = Textbook(3, 3).one_pass(X, y, order)
    for steps in (2**18, 10):
        monkeypatch.setattr(mistakes, "_MAX_BLOCK_STEPS", steps)
        weights = Weights.zeros(3, 3)
        rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
        found = [
            row for some in online_pass(rows, weights, order=order) for row in zip(some.rows, some.times, strict=True)
        ]
        assert found == [(row, time) for row, _, _, time in book.made]
        same((weights.coef, weights.intercept), book.trail[-1])


def test_stretches_of_rows_are_cut_by_their_numbers(monkeypatch):
    X, y = np.ones((2000, 4)), np.zeros(2000, dtype=np.int32)
    half = sp.csr_matrix(np.tile([1.0, 0.0, 1.0, 0.0], (2000, 1)))
    for cells, dense, sparse in ((1, 256, 256), (4 * 600, 600, 1200), (2 * 300, 256, 300), (10**6, 2000, 2000)):
        monkeypatch.setattr(mistakes, "_MAX_BLOCK_CELLS", cells)
        for rows, step in ((as_rows(X, y), dense), (SparseRows(half, y), sparse)):
            blocks = list(mistakes._blocks(rows))
            assert [block.start for block in blocks] == list(range(0, 2000, step))
            assert sum(map(len, blocks)) == 2000
    assert [len(block) for block in mistakes._blocks(Streamed(X[:10], y[:10]))] == [7, 3]
    nothing = SparseRows(sp.csr_matrix((300, 2)), y[:300])
    assert [len(block) for block in mistakes._blocks(nothing)] == [300]


def test_online_pass_measures_the_largest_number_only_on_request():
    X, y = np.array([[1.0, -5.0], [2.0, 3.0]]), np.array([1, 0], dtype=np.int32)
    for measure, size in ((True, 5.0), (False, 0.0)):
        weights = Weights.zeros(1, 2)
        assert len(list(online_pass(as_rows(X, y), weights, measure=measure))) == 1
        assert weights.largest == size
    with pytest.raises(UnsafeMagnitude):
        list(online_pass(as_rows(X * 1e-150, y), Weights.zeros(1, 2), measure=True))
    list(online_pass(as_rows(X * 1e-150, y), Weights.zeros(1, 2)))
    with pytest.raises(UnsafeMagnitude):
        list(online_pass(as_rows(X * 1e200, y), Weights.zeros(1, 2)))
    with pytest.raises(ValueError, match="NaN: row 1, column 'x0'"):
        list(online_pass(as_rows(np.array([[1.0, 2.0], [np.nan, 1.0]]), y), Weights.zeros(1, 2)))
    with pytest.raises(ValueError, match="have weights"):
        list(online_pass(as_rows(X, y, np.ones(2)), Weights.zeros(1, 2)))


def test_rows_in_memory_are_one_block_and_a_stream_is_not():
    X, y = whole_numbers(2)
    here = [as_rows(X, y), SparseRows(sp.csr_matrix(X), y)]
    here += [MappedRows(rows, lambda block: replace(block, X=2 * block.X)) for rows in here]
    for rows, factor in zip(here, (1, 1, 2, 2), strict=True):
        assert in_memory(rows)
        block = in_one_array(rows)
        features = block.X.toarray() if sp.issparse(block.X) else block.X
        same((features, block.y), (factor * X, y))
    stream = Streamed(X, y)
    for rows in (stream, MappedRows(stream, lambda block: block)):
        assert not in_memory(rows)
        with pytest.raises(ValueError, match="shuffle=False"):
            in_one_array(rows)
