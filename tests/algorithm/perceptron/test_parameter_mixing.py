"""Tests of `parameter_mixing`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from perceptron_cases import Partitioned, Textbook, a_start, made, same, whole_numbers

from linearly.algorithm.perceptron.online_pass import Weights
from linearly.algorithm.perceptron.parameter_mixing import Mixture, Shard
from linearly.algorithm.perceptron.training import Training
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.safe_scaling import (
    UnsafeMagnitude,
)


def shards(K, X, y, step, start, intercept=True):
    """Each partition's textbook scan from the same weights."""
    books = []
    for a in range(0, len(X), step):
        books.append(Textbook(K, X.shape[1], intercept, start).one_pass(X[a : a + step], y[a : a + step]))
    return books


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("step", [15, 30])
@pytest.mark.parametrize("K", [2, 3])
def test_partitions_are_averaged_by_mistakes_and_rows_by_number(K, step, intercept):
    X, y = whole_numbers(K, n=60)
    rows, learner = Partitioned(X, y, step), Training(1 if K == 2 else K, 3, averaged=True, mixes=True)
    learner = Training(1 if K == 2 else K, 3, intercept=intercept, averaged=True, mixes=True)
    W, b = learner.final_weights()
    sums, seen, counted = [0.0, 0.0], 0, []
    for _ in range(3):
        books = shards(K, X, y, step, (W, b), intercept)
        counts = np.array([len(book.made) for book in books], dtype=float)
        W = np.average([book.W for book in books], axis=0, weights=counts)
        b = np.average([book.b for book in books], axis=0, weights=counts)
        sums[0] = sums[0] + sum(W for book in books for W, _ in book.after)
        sums[1] = sums[1] + sum(b for book in books for _, b in book.after)
        seen += len(X)
        counted.append(int(counts.sum()))
        assert learner.one_pass(rows) == counted[-1]
        np.testing.assert_allclose(learner.final_weights()[0], W, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(learner.final_weights()[1], b, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(learner.averaged_weights()[0], sums[0] / seen, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(learner.averaged_weights()[1], sums[1] / seen, rtol=1e-11, atol=1e-12)
    assert learner.mistakes == counted
    assert learner.updates == sum(counted)
    assert learner.weights.seen == seen
    assert learner.weights.largest == 3.0
    with pytest.raises(AttributeError, match="mistake log is not available after training on a cluster"):
        learner.log()


def test_one_partition_gives_the_online_pass_with_its_log():
    X, y = whole_numbers(2)
    rows, book = Partitioned(X, y, 45), Textbook(2, 3)
    learner = Training(1, 3, averaged=True, mixes=True)
    shard = Shard(Weights.zeros(1, 3, averaged=True))(iter(rows))
    for _ in range(2):
        learner.one_pass(rows)
        book.one_pass(X, y)
    assert made(learner.log()) == book.made
    same(learner.final_weights(), book.trail[-1])
    first = Textbook(2, 3).one_pass(X, y)
    assert (shard.mistakes, shard.seen, shard.largest) == (len(first.made), 45, 3.0)
    same((shard.W, shard.b), first.trail[-1])
    np.testing.assert_allclose(shard.W - shard.U / 45, first.average[0], rtol=1e-13)
    np.testing.assert_allclose(shard.b - shard.c / 45, first.average[1], rtol=1e-13)


def test_a_model_that_keeps_its_log_or_shuffles_walks_partitions_in_order():
    X, y = whole_numbers(2)
    book = Textbook(2, 3).one_pass(X, y)
    learner = Training(1, 3)
    learner.one_pass(Partitioned(X, y, 15))
    assert made(learner.log()) == book.made
    with pytest.raises(ValueError, match="shuffle=False"):
        Training(1, 3, mixes=True, shuffle=np.random.RandomState(0)).one_pass(Partitioned(X, y, 15))


@pytest.mark.parametrize("sparse", [False, True])
def test_training_of_a_partition_leaves_its_initial_weights_unchanged(sparse):
    X, y = whole_numbers(3)
    start = a_start(3, 3)
    weights = Weights(start[0].copy(), start[1].copy(), np.ones((3, 3)), np.ones(3), seen=8)
    features = sp.csr_matrix(X) if sparse else X
    mixture = Shard(weights)([Block(features[:20], y[:20], start=100), Block(features[20:], y[20:], start=120)])
    same((weights.W, weights.b, weights.U, weights.c), (*start, np.ones((3, 3)), np.ones(3)))
    book = Textbook(3, 3, start=start).one_pass(X, y)
    assert (mixture.mistakes, mixture.seen) == (len(book.made), 45)
    same((mixture.W, mixture.b), book.trail[-1])
    mixture.update(weights)
    same((weights.W, weights.b), book.trail[-1])
    assert weights.seen == 53
    # Eight rows at the start, whose sum was 8·start − 1, and those of the scan.
    total = 8 * start[0] - 1 + sum(W for W, _ in book.after)
    np.testing.assert_allclose(weights.averaged_weights()[0], total / 53, rtol=1e-13, atol=1e-14)
    total = 8 * start[1] - 1 + sum(b for _, b in book.after)
    np.testing.assert_allclose(weights.averaged_weights()[1], total / 53, rtol=1e-13, atol=1e-14)


def test_a_mixture_of_weights_without_averages_has_none():
    W = np.ones((1, 2))
    none = Mixture(W, np.ones(1), None, None, 2, 10, 1.0)
    some = Mixture(3 * W, 3 * np.ones(1), W, np.ones(1), 6, 30, 2.0)
    for total in (none + some, some + none):
        assert total.U is None
        assert total.c is None
        np.testing.assert_array_equal(total.W, [[2.5, 2.5]])
        np.testing.assert_array_equal(total.b, [2.5])
        assert (total.mistakes, total.seen, total.largest) == (8, 40, 2.0)
    weights = Weights.zeros(1, 2)
    none.update(weights)
    assert weights.U is None
    assert weights.c is None
    same((weights.W, weights.b), (none.W, none.b))
    without = Weights.zeros(1, 2, intercept=False)
    none.update(without)
    assert without.b is None
    assert (without.seen, without.largest) == (10, 1.0)


def test_mixture_with_a_partition_without_mistakes_is_that_of_the_others():
    third = np.array([[1 / 3, 0.1]])
    learnt = Mixture(third, third[:, 0], 0 * third, np.zeros(1), 3, 5, 1.0)
    idle = Mixture(7 * third, 7 * third[:, 0], 0 * third, np.zeros(1), 0, 5, 1.0)
    for total in (learnt + idle, idle + learnt):
        same((total.W, total.b), (third, third[:, 0]))
        np.testing.assert_allclose(total.seen * total.W - total.U, 5 * third + 35 * third, rtol=1e-15)
        np.testing.assert_allclose(total.seen * total.b - total.c, 40 * third[:, 0], rtol=1e-15)
    both = idle + replace(learnt, mistakes=0)
    same((both.W, both.b), (idle.W, idle.b))
    assert both.mistakes == 0


@pytest.mark.parametrize(("sizes", "fits"), [((1.0, 1e-150), True), ((1e-150, 1e-150), False), ((1.0, 1e200), False)])
def test_parameter_mixing_accepts_tiny_rows_beside_ordinary_ones_and_refuses_huge_ones(sizes, fits):
    X = np.vstack([size * np.array([[1.0], [-2.0]]) for size in sizes])
    y = np.array([1, 0, 1, 0], dtype=np.int32)
    learner = Training(1, 1, mixes=True)
    if fits:
        learner.one_pass(Partitioned(X, y, 2))
        assert learner.weights.largest == 2.0
    else:
        with pytest.raises(UnsafeMagnitude):
            learner.one_pass(Partitioned(X, y, 2))
