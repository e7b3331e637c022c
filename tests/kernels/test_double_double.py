"""Double-double numbers against fractions: error-free sums and products, and every operation to 31 digits."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from least_squares_oracles import close, fractions

from linearly.algorithm.least_squares.gram import outer
from linearly.kernels.double_double import DoubleDouble, concatenate, dot, two_product, two_sum

U2 = 2.0**-106  # the square of the rounding unit: one double-double rounding


def floats(exponent):
    size = st.floats(2.0**-exponent, 2.0**exponent)
    return st.one_of(st.just(0.0), size, size.map(lambda v: -v))


@st.composite
def double_doubles(draw, exponent=200):
    high = draw(floats(exponent))
    low = draw(st.floats(-0.5, 0.5)) * math.ulp(high) if high else 0.0
    return DoubleDouble(np.array(high), np.array(low if abs(low) > 1e-250 else 0.0))


def value(d):
    return Fraction(float(d.high)) + Fraction(float(d.low))


def assert_close(d, expected, roundings):
    assert abs(value(d) - expected) <= roundings * Fraction(U2) * abs(expected)
    if expected:
        assert abs(float(d.low)) <= math.ulp(float(d.high))  # the parts do not overlap


@given(floats(1000), floats(1000))
def test_two_sum_is_exact(a, b):
    s, e = two_sum(np.float64(a), np.float64(b))
    assert s == a + b
    assert Fraction(float(s)) + Fraction(float(e)) == Fraction(a) + Fraction(b)


@given(floats(450), floats(450))
def test_two_product_is_exact(a, b):
    product, e = two_product(np.float64(a), np.float64(b))
    assert product == a * b
    assert Fraction(float(product)) + Fraction(float(e)) == Fraction(a) * Fraction(b)


@given(double_doubles(), double_doubles())
def test_sum_and_difference_round_once(a, b):
    assert_close(a + b, value(a) + value(b), 4)
    assert_close(a - b, value(a) - value(b), 4)
    assert_close(2.5 - a, Fraction(5, 2) - value(a), 4)


@given(double_doubles(), double_doubles())
def test_product_rounds_once(a, b):
    assert_close(a * b, value(a) * value(b), 8)
    assert value(a * b) == value(b * a)


@given(double_doubles(), double_doubles().filter(lambda d: d.high != 0))
def test_quotient_rounds_once(a, b):
    assert_close(a / b, value(a) / value(b), 16)
    assert_close(1.0 / b, 1 / value(b), 16)


@given(double_doubles().map(lambda d: d if d.high >= 0 else -d))
def test_square_root_squared_is_the_number(a):
    root = a.sqrt()
    assert_close(root * root, value(a), 32)


@given(hnp.arrays(np.float64, st.integers(0, 40), elements=floats(60)))
def test_sum_of_an_array_is_that_of_fractions(terms):
    total = DoubleDouble.of(terms).sum()
    assert abs(value(total) - sum(map(Fraction, terms))) <= 64 * Fraction(U2) * sum(map(abs, map(Fraction, terms)))


def test_indexing_and_reflected_operators_work_like_those_of_arrays():
    a = DoubleDouble.of(np.arange(12.0).reshape(3, 4)) + 1e-20
    assert a.shape == (3, 4)
    assert len(a) == 3
    assert a.T.shape == (4, 3)
    assert DoubleDouble.of(a) is a
    np.testing.assert_array_equal(a[1].high, np.arange(4.0, 8.0))
    np.testing.assert_array_equal(a.sum(axis=1).high, [6.0, 22.0, 38.0])
    np.testing.assert_array_equal(a.sum(axis=1).low, np.full(3, 4e-20))
    np.testing.assert_array_equal((np.full((3, 4), 0.5) - a).low, np.full((3, 4), -1e-20))  # array on the left
    assert concatenate([a, a]).shape == (6, 4)
    assert outer(a[0], a[1]).shape == (4, 4)
    np.testing.assert_array_equal(DoubleDouble.of(np.zeros((0, 3))).sum().high, np.zeros(3))


def test_dot_is_rounded_once():
    a = DoubleDouble(np.array([1e16, 3.0, -1e16]), np.array([1.0, 1e-17, 0.0]))
    B = DoubleDouble.of(np.array([[1.0, 2.0], [1 / 3, 1e-30], [1.0, 2.0]]))
    close(dot(a, B), fractions(a) @ fractions(B), 1e-31)
    huge = dot(DoubleDouble.of(np.full(2, 1e200)), DoubleDouble.of(np.array([[1e200], [-1e200]])))
    assert np.isnan(huge.high).all()
