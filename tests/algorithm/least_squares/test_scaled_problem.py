"""The solvers of a scaled problem against fractions, and the digits they report."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from least_squares_oracles import (
    fractions,
    solved,
)

import linearly as ly
from linearly.algorithm.least_squares import scaled_problem
from linearly.algorithm.least_squares.rounding_bounds import largest_ratio
from linearly.algorithm.least_squares.scaled_problem import ScaledProblem
from linearly.algorithm.least_squares.triangular import (
    EPS,
)
from linearly.kernels.double_double import DoubleDouble


def problem(D: np.ndarray, Y: np.ndarray, alpha: float = 0.0) -> ScaledProblem:
    zero = DoubleDouble.of(np.zeros(D.shape[1]))
    y_zero = DoubleDouble.of(np.zeros(Y.shape[1]))
    ones = np.ones(D.shape[1]), np.ones(Y.shape[1])
    return ScaledProblem("plain", len(D), float(len(D)), 0.0, *ones, zero, y_zero, (Y**2).sum(axis=0), alpha)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 2.0, 1e250, 1e-250])
@pytest.mark.parametrize("size", [1.0, 2.0**-17, 2.0**300, 2.0**-300])
def test_each_solve_agrees_with_fractions_at_any_scale(alpha, size):
    rng = np.random.default_rng(0)
    D, Y = rng.integers(-99, 99, (9, 3)) / 64, rng.integers(-99, 99, (9, 2)) / 64
    inside = Fraction(alpha) / Fraction(size) ** 2 * np.eye(3, dtype=int)
    wanted = solved(fractions(D.T @ D) + inside, fractions(D.T @ Y))
    rss = ((fractions(Y) - fractions(D) @ wanted) ** 2).sum(axis=0)
    covariance = solved(fractions(D.T @ D) + inside, fractions(np.eye(3)))
    spent = np.trace(covariance @ fractions(D.T @ D))
    D = D * size
    here = problem(D, Y, alpha)
    Q, R = np.linalg.qr(D / size)
    c, total = Q.T @ Y, (Y**2).sum(axis=0)
    squares = np.append((D**2).sum(axis=0), total)
    for found in (
        here.solve_qr(R * size, c, total - (c**2).sum(axis=0), EPS**2 * squares),
        here.solve_normal(D.T @ D, D.T @ Y, total, EPS * squares),
        here.solve_normal(*map(DoubleDouble.of, (D.T @ D, D.T @ Y, total)), EPS**2 * squares),
    ):
        np.testing.assert_allclose(found.coef, (wanted / Fraction(size)).astype(float), rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(found.rss, rss.astype(float), rtol=1e-9)
        np.testing.assert_allclose(found.tss, total, rtol=1e-13)
        assert found.dof == pytest.approx(9 - float(spent), rel=1e-9)
        assert (found.intercept == 0).all()
        assert not found.has_intercept
        assert found.rank == 3


def test_with_intercept_adds_a_combination_of_the_coefficients():
    rng = np.random.default_rng(0)
    mean, y_mean, size, y_size = (
        rng.standard_normal(3),
        rng.standard_normal(2),
        np.array([2.0, 8.0, 0.5]),
        np.array([4.0, 1]),
    )
    here = replace(
        problem(np.zeros((5, 3)), np.zeros((5, 2))),
        centering="centred",
        mean=DoubleDouble.of(mean),
        y_mean=DoubleDouble.of(y_mean),
    )
    T, b = rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
    U, b_all = here._with_intercept(T, b, size, y_size)
    np.testing.assert_allclose(b_all[0] * y_size, y_mean - mean @ (b * y_size / size[:, None]), rtol=1e-12)
    np.testing.assert_allclose(U[0], -mean @ (T / size[:, None]), rtol=1e-12)
    np.testing.assert_array_equal(U[1:], T)
    np.testing.assert_array_equal(b_all[1:], b)
    for other in (replace(here, centering="plain"), replace(here, centering="constant")):
        assert other._with_intercept(T, b, size, y_size)[0] is T
    assert here._with_intercept(T[:2], b[:2], size, y_size)[1].shape == (2, 2)  # some were set aside


def test_digits_decrease_with_the_rounding_bounds():
    D, Y = np.random.default_rng(0).standard_normal((9, 2)), np.ones((9, 1))
    squares = np.append((D**2).sum(axis=0), 9.0)
    R, c = np.linalg.qr(D, mode="r"), np.linalg.qr(D)[0].T @ Y
    products = (D.T @ D, D.T @ Y, np.array([9.0]))
    here = problem(D, Y)
    for solve, arguments, grain in (
        (here.solve_normal, products, EPS),
        (here.solve_qr, (R, c, 9.0 - (c**2).sum(axis=0)), EPS**2),
        (here.solve_normal, tuple(map(DoubleDouble.of, products)), EPS**2),
    ):
        usual, worse = (solve(*arguments, rounding) for rounding in (grain * squares, 1e20 * grain * squares))
        assert worse.digits < usual.digits - 3
        assert worse.error_digits < usual.error_digits - 3
    usual = here.solve_normal(*products, EPS * squares)
    spoilt = here.solve_normal(*products, np.append(EPS * squares[:2], 100 * EPS * 9.0))  # of the target alone
    assert usual.digits - 2 < spoilt.digits < usual.digits


def test_solve_normal_with_impossible_products_raises():
    A = np.array([[1e-300, 1e300], [1e300, 1e-300]])
    with pytest.raises(ValueError, match="The summary is invalid"):
        problem(np.zeros((5, 2)), np.ones((5, 1))).solve_normal(A, np.ones((2, 1)), np.ones(1), np.ones(3))


@pytest.mark.parametrize("penalty", [[0.0, 0.0, 0.0, 0.0], [1e-3, 5.0, 0.1, 1e9], [2.0, 2.0, 2.0, 2.0]])
@pytest.mark.parametrize("n", [2, 4])
def test_solve_by_rows_and_by_columns_agree_with_fractions(n, penalty):
    rng = np.random.default_rng(0)
    R, c, penalty = np.triu(rng.standard_normal((n, 4))), rng.standard_normal((n, 2)), np.array(penalty)
    A = fractions(R).T @ fractions(R) + np.diag(fractions(penalty) ** 2)
    for way in (scaled_problem._solve_by_columns, scaled_problem._solve_by_rows):
        if penalty[0] == 0 and (n < 4 or way is scaled_problem._solve_by_rows):
            continue
        found, b, left = way(R, c, penalty)
        wanted = solved(A, fractions(R).T @ fractions(c))
        np.testing.assert_allclose(b, wanted.astype(float), rtol=1e-9)
        np.testing.assert_allclose(left, (fractions(c) - fractions(R) @ wanted).astype(float), rtol=1e-9, atol=1e-12)
        M = fractions(R) @ solved(A, fractions(R).T)
        np.testing.assert_allclose(R @ found.inverse_R @ found.inverse_R.T @ R.T, M.astype(float), atol=1e-12)
        assert found.kept.tolist() == [0, 1, 2, 3]


def test_noise_is_combined_as_root_of_sum_of_squares():
    T, b = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[0.0, 0.0], [0.0, 4.0]])
    h, load = scaled_problem._noise(np.array([5.0, 1.0, 7.0, 3.0, 3.0]), np.array([1, 2]), b)
    assert (h.tolist(), load.tolist()) == ([1.0, 7.0], [3.0, 31.0])
    np.testing.assert_allclose(scaled_problem._lengths(T, h[:, None] * np.eye(2))[:, 0], [np.hypot(3.0, 28.0), 14.0])
    squares = scaled_problem._error_of_squares(np.array([5.0, 1.0, 7.0, 3.0, 3.0]), h, b)
    np.testing.assert_allclose(squares, [9.0, math.sqrt(81 + 4 * 9 * 784 + 2 * 784**2)])


def test_digits_of_coefs_are_of_the_weakest_and_of_the_weakest_relevant():
    reach = np.full((2, 1), 2.0)
    trust = scaled_problem._digits_of_coefs
    error = np.full((2, 1), 1e-10)
    assert trust(reach, np.array([[1.0], [0.01]]), error, 0.0) == (pytest.approx(8.0), pytest.approx(8.0))
    weakest, matter = trust(reach, np.array([[1.0], [1e-7]]), error, 0.0)
    assert weakest == pytest.approx(3.0)
    assert 3 < matter < 8
    # Zero up to rounding: measured against what it could be at most.
    assert trust(5 * reach, np.array([[10.0], [0.0]]), error, 0.0)[0] == pytest.approx(11.0)
    assert trust(reach, np.array([[1.0], [0.01]]), error, 1e-6) == (pytest.approx(6.0), pytest.approx(6.0))
    assert trust(reach * 0, np.zeros((2, 1)), error, 0.0) == (16.0, 16.0)
    assert largest_ratio(np.array([[3.0], [1.0]]), np.array([[4.0], [0.0]])) == 0.75
    assert largest_ratio(np.zeros((0, 1)), np.zeros((0, 1))) == 0.0


@pytest.mark.parametrize("near", [2.0**-18, 2.0**-26])
@pytest.mark.parametrize("alpha", [1e-12, 1e-3, 1e12])
def test_extended_ridge_of_nearly_equal_columns_has_the_exact_degrees_of_freedom_and_covariance(near, alpha):
    rng = np.random.default_rng(3)
    D = rng.integers(-99, 99, (9, 3)) / 64
    D[:, 2] = D[:, 0] + D[:, 2] * near
    y = rng.integers(-99, 99, 9) / 64
    found = ly.LinearRegression(alpha, fit_intercept=False, method="extended").fit(D, y).solution_
    A = fractions(D).T @ fractions(D)
    inverse = solved(A + Fraction(alpha) * np.eye(3, dtype=int), fractions(np.eye(3)))
    assert 9 - found.dof == pytest.approx(float(np.trace(inverse @ A)), rel=1e-9)
    covariance = found.inverse_root @ found.shrinkage @ found.inverse_root.T
    wanted = np.diagonal(inverse @ A @ inverse).astype(float)
    np.testing.assert_allclose(np.diagonal(covariance), wanted, rtol=1e-6)
