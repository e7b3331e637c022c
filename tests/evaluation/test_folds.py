"""Which rows a cross-validation holds out together."""

import numpy as np
import pytest
from scipy import stats

from linearly.dataset.rows.block import Block, InMemoryRows, as_rows
from linearly.evaluation.folds import Folds


def folds_of(folds, rows):
    return np.concatenate([folds.of(block) for block in rows])


def small_blocks(codes, step, weight=None):
    """Return rows in blocks of `step` rows."""
    rows = as_rows(np.zeros((len(codes), 1)), codes, weight)
    assert isinstance(rows, InMemoryRows)
    rows._step = step
    return rows


@pytest.mark.parametrize("n", [5, 6, 99, 1003])
def test_folds_of_numbers_differ_by_at_most_one_row(n):
    sizes = np.bincount(Folds(5).of(Block(np.zeros((n, 1)))), minlength=5)
    assert sizes.sum() == n
    assert np.ptp(sizes) <= 1


@pytest.mark.parametrize("seed", range(20))
def test_folds_of_labels_differ_by_at_most_one_row_in_each_label_and_in_all(seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(12, 80, p=np.r_[0.5, np.full(11, 0.5 / 11)])
    folds = folds_of(
        Folds(5, seed).stratified(as_rows(np.zeros((80, 1)), codes), 12), as_rows(np.zeros((80, 1)), codes)
    )
    assert np.ptp(np.bincount(folds, minlength=5)) <= 1
    for k in range(12):
        assert np.ptp(np.bincount(folds[codes == k], minlength=5)) <= 1


@pytest.mark.parametrize("step", [1, 7, 50])
def test_folds_do_not_depend_on_the_blocks(step):
    codes = np.random.default_rng(0).integers(0, 3, 200)
    one, many = small_blocks(codes, 200), small_blocks(codes, step)
    np.testing.assert_array_equal(folds_of(Folds(4), many), folds_of(Folds(4), one))
    np.testing.assert_array_equal(
        folds_of(Folds(4).stratified(many, 3), many), folds_of(Folds(4).stratified(one, 3), one)
    )
    walked = [len(block) for block in Folds(4).stratified(many, 3).iterate_training(one, 0)]
    assert walked == [200 - np.sum(folds_of(Folds(4).stratified(one, 3), one) == 0)]


def test_rows_of_weight_zero_do_not_change_the_folds_of_labels():
    codes = np.random.default_rng(1).integers(0, 3, 100)
    weight = np.ones(100)
    weight[::4] = 0
    there = weight > 0
    every, some = small_blocks(codes, 30, weight), small_blocks(codes[there], 75)
    found = folds_of(Folds(5).stratified(every, 3), every)
    np.testing.assert_array_equal(found[there], folds_of(Folds(5).stratified(some, 3), some))


@pytest.mark.parametrize("period", [2, 5, 10])
def test_folds_are_independent_of_a_period_of_the_rows(period):
    """The χ² of phases and folds has its usual size: rejected at 1% for about 1% of the seeds."""
    phase, rejected = np.arange(2000) % period, 0
    for seed in range(200):
        folds = Folds(5, seed).of(Block(np.zeros((2000, 1))))
        table = np.array([np.bincount(folds[phase == k], minlength=5) for k in range(period)])
        statistic = ((table - table.mean()) ** 2 / table.mean()).sum()
        # In each group of five the folds are a permutation, which raises the variance of a cell by 5/4.
        rejected += stats.chi2.sf(statistic / 1.25, 4 * (period - 1)) < 0.01
    assert rejected <= 8


def test_folds_by_number_are_mod_k():
    np.testing.assert_array_equal(Folds(3, shuffle=False).of(Block(np.zeros((7, 1)), start=2)), np.arange(2, 9) % 3)
