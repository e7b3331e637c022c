"""Digits of errors."""

from __future__ import annotations

import pytest

from linearly.algorithm.least_squares.rounding_bounds import digits_of_error


def test_digits_of_error_are_between_0_and_16():
    assert [digits_of_error(t) for t in (1e-5, 1.0, 30.0, 0.0, 1e-20)] == [
        pytest.approx(5.0),
        0.0,
        0.0,
        16.0,
        16.0,
    ]
