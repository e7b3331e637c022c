"""Tests of `safe_scaling`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from perceptron_cases import Streamed

from linearly.dataset.rows.block import as_rows
from linearly.dataset.rows.safe_scaling import (
    LARGE,
    SMALL,
    UnsafeMagnitude,
    exponent,
    fits_scale,
    is_safe_magnitude,
    max_abs,
    scaled_rows,
    times_power,
    with_safe_scaling,
)


def test_is_safe_magnitude_includes_both_bounds():
    for size in (0.0, SMALL, 1.0, LARGE):
        assert is_safe_magnitude(size)
        assert exponent(size) == 0
    for size in (np.nextafter(SMALL, 0), np.nextafter(LARGE, np.inf), 1e-310, 1e300):
        assert not is_safe_magnitude(size)
    assert np.isfinite(LARGE * LARGE)
    assert SMALL * SMALL > 0


@pytest.mark.parametrize("size", [1.5e200, 2.0**400, 3e-200, 2.0**-400])
def test_exponent_scales_a_size_to_between_a_half_and_one(size):
    assert 0.5 <= np.ldexp(size, -exponent(size)) < 1


def test_exponent_is_limited_to_1000():
    assert exponent(1.7e308) == 1000
    assert exponent(5e-324) == -1000


def test_fits_scale_accepts_rows_of_safe_magnitude_in_the_scale():
    for e in (0, 500, -500):
        assert fits_scale(np.ldexp(LARGE, e), e)
        assert not fits_scale(np.ldexp(LARGE, e + 1), e)
        assert fits_scale(np.ldexp(1.0, e), e)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_scaled_rows_are_divided_by_their_power_of_two(kind):
    X = np.array([[1.0, 0.0, -3.0], [0.0, 2.0, 0.0]])
    rows, Z = as_rows(kind(X)), kind(X)
    assert scaled_rows(rows, 0) is rows
    for e in (3, -2):
        (block,) = scaled_rows(rows, e)
        np.testing.assert_array_equal(block.X.toarray() if sp.issparse(block.X) else block.X, X / 2.0**e)
        changed = times_power(Z, e)
        np.testing.assert_array_equal(changed.toarray() if sp.issparse(changed) else changed, X * 2.0**e)
    np.testing.assert_array_equal(Z.toarray() if sp.issparse(Z) else Z, X)
    assert max_abs(rows) == 3.0
    assert max_abs(as_rows(kind(-X))) == 3.0
    assert max_abs(as_rows(kind(np.array([[-4.0, -5.0]])))) == 5.0
    assert max_abs(as_rows(kind(np.zeros((2, 2))))) == 0.0


def test_the_largest_of_several_blocks_is_that_of_all_and_bad_numbers_are_named():
    X = np.ones((20, 2))
    X[12, 1], X[3, 0] = -9.0, 4.0
    assert max_abs(Streamed(X, np.zeros(20))) == 9.0
    X[15, 1] = np.inf
    with pytest.raises(ValueError, match="infinity: row 15, column 1"):
        max_abs(Streamed(X, np.zeros(20)))


def test_with_safe_scaling_scales_rows_of_unsafe_magnitude():
    def learn(rows, e):
        size = max_abs(rows)
        if not is_safe_magnitude(size):
            raise UnsafeMagnitude
        return size, e

    assert with_safe_scaling(as_rows(np.array([[3.0], [-5.0]])), learn) == ((5.0, 0), 0)
    told, e = with_safe_scaling(as_rows(np.array([[3.0], [-5.0]]) * 2.0**500), learn)
    assert told == (5 / 8, 503)
    assert e == 503
