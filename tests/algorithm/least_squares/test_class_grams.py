"""Tests of `class_grams`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.dataset.rows.block import Block
from linearly.kernels.double_double import DoubleDouble


def labelled(n=60, weighted=True, seed=2):
    rng = np.random.default_rng(seed)
    codes = np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]
    X = rng.standard_normal((n, 2)) @ np.array([[1.0, 0.7], [0.0, 3.0]]) + 4.0 * codes[:, None] + [100.0, -5.0]
    weight = rng.uniform(0.5, 3.0, n) * (rng.random(n) > 0.2) if weighted else None
    return X, codes, weight


def moments(gram):
    """Weight, means and cross-products in the user's units."""
    unit = gram.scaling.scale
    mean = (DoubleDouble.of(gram.mean) * unit + gram.scaling.shift).to_float64()
    cross = (
        gram.centered_crossprod.to_float64()
        if isinstance(gram.centered_crossprod, DoubleDouble)
        else gram.centered_crossprod
    )
    return (
        float(np.asarray(gram.weight.to_float64() if isinstance(gram.weight, DoubleDouble) else gram.weight)),
        mean,
        (cross * unit * unit[:, None]),
    )


def by_hand(X, w):
    mean = w @ X / w.sum()
    return w.sum(), mean, ((X - mean) * w[:, None]).T @ (X - mean)


def agree(one, other, rtol=1e-9):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)


def summaries_of_classes():
    X, codes, weight = labelled()
    yield X, codes, weight, ClassGrams.of(Block(X, codes, weight), 3)
    yield X, codes, np.ones(len(X)), ClassGrams.of(Block(X, codes), 3)
    yield X, codes, weight, ClassGrams.of(Block(X, codes, weight), 3, extended=True)
    yield X, codes, weight, ClassGrams.of(Block(sp.csr_matrix(X), codes, weight), 3)


def test_a_summary_by_class_is_a_summary_of_each_class():
    for X, codes, w, summary in summaries_of_classes():
        for k, part in enumerate(summary.parts):
            mine = codes == k
            agree(moments(part), by_hand(X[mine], w[mine]))
            positive = w[mine & (w > 0)]
            assert part.n == len(positive)
            assert part.log_weight == pytest.approx(np.log(positive).sum())
            assert part.p == 2
        assert summary.n == (w > 0).sum()
        np.testing.assert_array_equal(summary.counts, np.bincount(codes[w > 0]))
        np.testing.assert_allclose(summary.weights, np.bincount(codes, w))
        np.testing.assert_allclose(summary.priors, np.bincount(codes, w) / w.sum())
        np.testing.assert_allclose(
            summary.means.to_float64(), [by_hand(X[codes == k], w[codes == k])[1] for k in range(3)]
        )
        agree(moments(summary.total()), by_hand(X, w))
        about = X - summary.means.to_float64()[codes]
        agree(moments(summary.pooled())[2:], [(about * w[:, None]).T @ about])
        one = summary.with_common_scaling()
        assert all(part.scaling is one.parts[0].scaling for part in one.parts)
        for a, b in zip(one.parts, summary.parts, strict=True):
            agree(moments(a), moments(b))


def test_the_indicator_s_summary_is_that_of_features_and_indicators():
    for X, codes, w, summary in summaries_of_classes():
        gram = summary.indicator_gram()
        agree(moments(gram), by_hand(np.column_stack([X, np.eye(3)[codes]]), w), rtol=1e-8)
        assert gram.p == 2


def test_sum_and_difference_of_class_grams_equal_fits_of_the_rows():
    X, codes, w = labelled(n=80)
    for exact in ((False, False), (True, True), (True, False), (False, True)):
        for cut in (40, 30):
            a = ClassGrams.of(Block(X[:cut], codes[:cut], w[:cut]), 3, exact[0])
            b = ClassGrams.of(Block(X[cut:], codes[cut:], w[cut:]), 3, exact[1])
            both = a + b
            assert (a.is_extended, b.is_extended, both.is_extended) == (*exact, all(exact))
            for k, part in enumerate(both.parts):
                agree(moments(part), by_hand(X[codes == k], w[codes == k]))
                assert part.n == ((codes == k) & (w > 0)).sum()
                assert part.log_weight == pytest.approx(np.log(w[(codes == k) & (w > 0)]).sum())
            for k, part in enumerate((both - a).parts):
                mine = (codes == k) & (np.arange(80) >= cut)
                agree(moments(part), by_hand(X[mine], w[mine]), rtol=1e-7)


@pytest.mark.parametrize("factors", [[2.0**40, 1.0], [2.0**40, 2.0**40], [2.0**-40, 2.0**60]])
def test_classes_in_units_far_apart_are_added_as_their_rows_would_be(factors):
    X, codes, w = labelled()
    large = X * factors
    a, b = ClassGrams.of(Block(X, codes, w), 3), ClassGrams.of(Block(large, codes, w), 3)
    assert a.shares_scaling
    assert b.shares_scaling
    assert not np.array_equal(a.parts[0].scaling.scale, b.parts[0].scaling.scale)
    for both in (a + b, b + a):
        for k, part in enumerate(both.parts):
            mine = codes == k
            expected = by_hand(np.vstack([X[mine], large[mine]]), np.r_[w[mine], w[mine]])
            for one, other in zip(moments(part), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_class_without_rows_has_no_mean_and_is_left_out_of_sums():
    X, codes, w = labelled()
    block = Block(X, codes, w)
    for exact in (False, True):
        summary = ClassGrams.of(block, 4, exact)
        assert summary.counts[3] == summary.weights[3] == summary.priors[3] == 0
        assert np.isnan(summary.means.to_float64()[3]).all()
        assert not summary.shares_scaling
        agree(moments(summary.total()), by_hand(X, w))
        agree(moments(summary.pooled()), moments(ClassGrams.of(block, 3, exact).pooled()))
        agree(moments(summary.indicator_gram()), by_hand(np.column_stack([X, np.eye(4)[codes]]), w), rtol=1e-8)
        one = summary.with_common_scaling()
        assert one.parts[3].scaling is one.parts[0].scaling
        assert one.counts.tolist() == summary.counts.tolist()
        more = summary + ClassGrams.of(Block(X[:1] + 1, np.array([3])), 4, exact)
        assert more.counts.tolist() == [*summary.counts[:3].tolist(), 1]
        np.testing.assert_allclose(more.means.to_float64()[3], X[0] + 1)


def test_class_whose_squares_overflow_in_the_scaling_of_the_block_has_a_separate_scaling():
    X, codes = np.random.default_rng(0).standard_normal((256, 2)), np.tile([0, 1], 128)
    X[1::2] *= 2.0**800  # every other row, of which a sample of the block may see none
    w = np.random.default_rng(1).uniform(0.5, 2, 256)
    summary = ClassGrams.of(Block(X, codes, w), 2)
    assert not summary.shares_scaling
    agree(moments(summary.parts[0]), by_hand(X[::2], w[::2]))
    part = summary.parts[1]
    assert part.n == 128
    large = replace(part.scaling, scale=part.scaling.scale / 2.0**800, shift=part.scaling.shift / 2.0**800)
    agree(moments(replace(part, scaling=large)), by_hand(X[1::2] / 2.0**800, w[1::2]))


def test_a_column_that_is_constant_has_no_spread_in_any_class():
    X, codes, w = labelled()
    X[:, 1] = 0.1
    for part in ClassGrams.of(Block(X, codes, w), 3).parts:
        _, mean, cross = moments(part)
        assert mean[1] == 0.1
        assert not cross[1].any()
        assert cross[0, 0] > 0


def test_a_bad_number_is_named_by_its_row_in_the_block():
    X, codes, _ = labelled(weighted=False)
    X[17, 1] = np.nan
    for exact in (False, True):
        with pytest.raises(ValueError, match="NaN: row 17, column 1"):
            ClassGrams.of(Block(X, codes), 3, exact)
