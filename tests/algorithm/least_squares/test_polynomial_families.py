"""Tests of `polynomial_families`."""

from __future__ import annotations

import numpy as np
import pytest

from linearly.algorithm.least_squares.polynomial_families import ModelFamily, PolynomialFamily, _solve
from linearly.algorithm.perceptron.mistake_log import MistakeLog


def curve(n=25):
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(3.0, 9.0, n))
    return x, np.sin(x) + 0.1 * rng.standard_normal(n)


def test_degrees_are_the_polynomials_of_least_squares():
    x, y = curve()
    at = np.linspace(2.5, 9.5, 7)
    for levels in ([0, 1, 3, 5], [2], [4, 0]):
        family = ModelFamily.of(x, levels, None, None)
        assert family.complexity == "degree"
        assert family.basis.shape == (25, max(levels))
        for degree, (coef, intercept) in zip(levels, family.fits(family.gram(y)), strict=True):
            expected = np.polynomial.Polynomial.fit(x, y, degree)
            np.testing.assert_allclose(family.design(at) @ coef[:, 0] + intercept, expected(at), rtol=1e-8)
            assert not coef[degree:].any()
        most = max(levels)
        residual = y - np.polynomial.Polynomial.fit(x, y, most)(x)
        assert family.residual_variance(y) == pytest.approx(residual @ residual / (25 - most - 1))
    assert ModelFamily.of(x, None, None, None).levels.tolist() == list(range(11))


def test_orthogonal_polynomials_have_the_identity_as_their_mean_square():
    x, _ = curve()
    Z = ModelFamily.of(x[:, None], [6], None, None).basis
    np.testing.assert_allclose(Z.T @ Z / len(x), np.eye(6), atol=1e-10)
    np.testing.assert_allclose(Z.sum(axis=0), 0.0, atol=1e-9)


def test_polynomials_that_are_not_made_orthogonal_are_legendre_s():
    x, _ = curve()
    polynomial = PolynomialFamily.of(x, 3, orthogonal=False)
    t = (2 * x - x.max() - x.min()) / (x.max() - x.min())
    expected = np.column_stack([t, (3 * t**2 - 1) / 2, (5 * t**3 - 3 * t) / 2])
    np.testing.assert_allclose(polynomial.evaluate(x), expected, atol=1e-14)


@pytest.mark.parametrize("degree", [None, 3])
def test_alphas_are_ridge(degree):
    x, y = curve()
    X = np.column_stack([x, np.cos(x)]) if degree is None else x
    weight = np.random.default_rng(0).uniform(0.5, 2, 25)
    Y = np.column_stack([y, x * y])
    alphas = [0.0, 0.3, 20.0]
    family = ModelFamily.of(X, None, alphas, degree)
    assert family.complexity == "alpha"
    Z = family.basis
    assert Z.shape == (25, degree or 2)
    for w in (None, weight):
        one = np.ones(25) if w is None else w
        middle, y_middle = one @ Z / one.sum(), one @ Y / one.sum()
        for alpha, (coef, intercept) in zip(alphas, family.fits(family.gram(Y, w)), strict=True):
            A = ((Z - middle) * one[:, None]).T @ (Z - middle) + alpha * np.eye(Z.shape[1])
            expected = np.linalg.solve(A, ((Z - middle) * one[:, None]).T @ (Y - y_middle))
            np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(intercept, y_middle - middle @ expected, rtol=1e-9)
    residual = y - np.column_stack([np.ones(25), Z]) @ np.linalg.lstsq(np.column_stack([np.ones(25), Z]), y)[0]
    assert family.residual_variance(y) == pytest.approx(residual @ residual / (25 - Z.shape[1] - 1))
    np.testing.assert_allclose(family.design(X[:4]), Z[:4], rtol=1e-14)
    if degree is None:
        one_column = ModelFamily.of(x, None, alphas, None)
        assert one_column.basis.shape == (25, 1)
        np.testing.assert_array_equal(one_column.design([1.0, 2.0]), [[1.0], [2.0]])


def test_degrees_need_more_different_numbers_than_they_say():
    x = np.array([1.0, 2.0, 2.0, 4.0])
    assert ModelFamily.of(x, [2], None, None).basis.shape == (4, 2)
    with pytest.raises(ValueError, match="Degree 3 needs more than 3 different values of x, but there are 3"):
        ModelFamily.of(x, [3], None, None)
    assert ModelFamily.of(x[:3], [0], None, None).basis.shape == (3, 0)
    assert ModelFamily.of(np.full(3, 2.0), [0], None, None).basis.shape == (3, 0)
    with pytest.raises(ValueError, match="degree must be an integer of at least 1"):
        ModelFamily.of(x, None, [1.0], 0)
    assert ModelFamily.of(x, None, [0.0], 1).basis.shape == (4, 1)
    with pytest.raises(ValueError, match="x has 2 columns, but a polynomial requires one"):
        ModelFamily.of(np.ones((4, 2)), [1], None, None)
    for bad in ([], [-1], [2, -1], [0.5], [[1]]):
        with pytest.raises(ValueError, match="degrees must be one or more integers"):
            ModelFamily.of(x, bad, None, None)
    for bad in ([], [-1.0], [1.0, -1.0], [1.0, np.inf], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="alphas must be one or more numbers"):
            ModelFamily.of(x, None, bad, None)
    with pytest.raises(ValueError, match="at least three rows"):
        ModelFamily.of(x[:2], [1], None, None)
    with pytest.raises(ValueError, match="at least three rows"):
        ModelFamily.of(np.ones((4, 1, 1)), [1], None, None)
    with pytest.raises(ValueError, match="infinity in row 2"):
        ModelFamily.of(np.array([1.0, 2.0, np.nan, np.nan]), [1], None, None)
    with pytest.raises(ValueError, match="cannot be combined"):
        ModelFamily.of(x, [1], [1.0], None)


def test_a_resample_with_too_few_different_rows_has_the_shortest_coefficients():
    x, y = curve()
    family = ModelFamily.of(x, [4], None, None)
    weight = np.zeros(25)
    weight[[3, 11, 19]] = 2.0
    ((coef, intercept),) = family.fits(family.gram(y, weight))
    some = weight > 0
    Z = family.basis[some] - family.basis[some].mean(axis=0)
    np.testing.assert_allclose(coef[:, 0], np.linalg.pinv(Z) @ (y[some] - y[some].mean()), rtol=1e-6)
    np.testing.assert_allclose(family.basis[some] @ coef[:, 0] + intercept, y[some], rtol=1e-8)


def test_columns_that_are_the_same_but_for_rounding_share_a_coefficient():
    S = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    for size in (1.0, 1e20, 1e-12):
        np.testing.assert_allclose(_solve(size * S, size * S[:, :1]), [[0.5], [0.5]], rtol=1e-6)
    S[1, 1] = 1.01
    np.testing.assert_allclose(_solve(S, S[:, :1]), [[1.0], [0.0]], atol=1e-10)


def test_averaged_weights_of_one_row_are_those_after_it():
    one = np.zeros(1, np.int64)
    log = MistakeLog(one, one + 1, one, one + 1, 1, 1, 2, True, np.array([[3.0, -2.0]]), one)
    for found, expected in zip(log.averaged_weights(), ([[3.0, -2.0]], [1.0]), strict=True):
        np.testing.assert_array_equal(found, expected)
