"""Triangular systems, pivoting and conditions, against fractions and definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from least_squares_oracles import (
    close,
    fractions,
    solved,
)

from linearly.algorithm.least_squares import triangular
from linearly.algorithm.least_squares.triangular import (
    EPS,
    PivotedTriangle,
    condition,
    pivot_normal,
    pivot_triangle,
    solve_triangular,
    upper,
)
from linearly.kernels.double_double import DoubleDouble


def triangle(q: int = 5, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.triu(rng.standard_normal((q, q))) + 2 * np.diag(rng.choice([-1.0, 1.0], q))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("q", [0, 1, 2, 5])
def test_solve_triangular_agrees_with_fractions(q, transposed):
    R, B = triangle(5)[:q, :q], np.random.default_rng(2).standard_normal((q, 3))
    A = R.T if transposed else R
    close(solve_triangular(R, B, transposed=transposed), solved(fractions(A), fractions(B)), 1e-14)
    exactly = solve_triangular(DoubleDouble.of(R), DoubleDouble.of(B), transposed=transposed)
    close(exactly, solved(fractions(A), fractions(B)), 1e-29)


def test_solve_triangular_leaves_its_arguments_unchanged():
    R, B = DoubleDouble.of(triangle(3)), DoubleDouble(np.ones((3, 2)), np.full((3, 2), 1e-20))
    solve_triangular(R, B)
    np.testing.assert_array_equal(B.high, 1.0)
    np.testing.assert_array_equal(B.low, 1e-20)


def test_solve_triangular_with_a_zero_on_the_diagonal_raises():
    with pytest.raises(np.linalg.LinAlgError, match="diagonal entry 1 is zero"):
        solve_triangular(np.array([[1.0, 2.0], [0.0, 0.0]]), np.ones((2, 1)))


def test_inverse_and_product_agree_with_fractions_in_both_kinds_of_numbers():
    R = triangle(4)
    close(triangular.inverse(R), solved(fractions(R), fractions(np.eye(4))), 1e-14)
    T = triangular.inverse(DoubleDouble.of(R))
    close(T, solved(fractions(R), fractions(np.eye(4))), 1e-29)
    A, B = R[:, :3], np.random.default_rng(3).standard_normal((3, 2))
    for one, other in ((DoubleDouble.of(A), B), (A, DoubleDouble.of(B)), (DoubleDouble.of(A), DoubleDouble.of(B))):
        close(triangular.product(one, other), fractions(A) @ fractions(B), 1e-30)
    np.testing.assert_array_equal(triangular.product(A, B), A @ B)
    assert triangular.to_float64(DoubleDouble(np.ones(1), np.full(1, EPS))).tolist() == [1 + EPS]


@pytest.mark.parametrize(("above", "below"), [(2.0, 8.0), (2.0**700, 2.0**600), (2.0**-900, 2.0**-1000), (1.0, 1.0)])
def test_exact_rescale_has_no_rounding(above, below):
    a = DoubleDouble(np.array([1.0, -3.0]), np.array([1e-17, 1e-20]))
    factor = Fraction(above) / Fraction(below)
    found = triangular.exact_rescale(a, np.array([above]), np.array([below]))
    assert (fractions(found) == fractions(a) * factor).all()
    assert (
        fractions(triangular.exact_rescale(a.high, np.array([above]), np.array([below]))) == fractions(a.high) * factor
    ).all()


def test_upper_keeps_the_cross_products():
    A = np.random.default_rng(0).standard_normal((9, 4))
    R = upper(A)
    assert R.shape == (4, 4)
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-13)


def test_condition_is_that_of_the_one_norm():
    assert condition(np.zeros((0, 0))) == 1.0
    assert condition(np.diag([1.0, -4.0, 0.5])) == pytest.approx(8.0)
    assert condition(np.array([[1.0, 3.0], [7e99, 2.0]])) == pytest.approx(10.0)  # below the diagonal is not looked at
    assert condition(np.array([[1.0, 1.0], [0.0, 0.0]])) == math.inf
    assert condition(np.zeros((1, 1))) == math.inf


DEPENDENCIES: dict[str, tuple[list[int], Callable[[np.ndarray], None]]] = {
    "none": ([], lambda D: None),
    "twice": ([2], lambda D: D.__setitem__((slice(None), 2), D[:, 0])),
    "first": ([0], lambda D: D.__setitem__((slice(None), 0), 0.0)),
    "last": ([4], lambda D: D.__setitem__((slice(None), 4), 3 * D[:, 1] - D[:, 2] / 4)),
    "two": ([1, 3], lambda D: D.__setitem__((slice(None), [1, 3]), D[:, [0, 2]] * [-2.0, 0.5] + D[:, [0, 0]])),
    "all": ([0, 1, 2, 3, 4], lambda D: D.__setitem__(slice(None), 0.0)),
}


@pytest.mark.parametrize("name", DEPENDENCIES)
@pytest.mark.parametrize("way", ["triangle", "rows", "normal"])
def test_pivoting_aliases_columns_that_are_combinations_of_those_before(name, way):
    aliased, change = DEPENDENCIES[name]
    rng = np.random.default_rng(7)
    D, Y = rng.integers(-9, 9, (8, 5)).astype(float), rng.integers(-9, 9, (8, 2)).astype(float)
    change(D)
    kept = [j for j in range(5) if j not in aliased]
    if way == "normal":
        found = pivot_normal(DoubleDouble.of(D.T @ D), DoubleDouble.of(D.T @ Y))
    else:
        Q, R = np.linalg.qr(D)
        R, c = (R, Q.T @ Y) if way == "triangle" else (R[: len(kept)] if name == "last" else R, Q.T @ Y)
        found = pivot_triangle(R, c[: len(R)])
    assert found.kept.tolist() == kept
    assert found.aliased.tolist() == aliased
    R, c, aliased_R, T = (triangular.to_float64(t) for t in (found.R, found.c, found.aliased_R, found.inverse_R))
    assert R.shape == (len(kept), len(kept))
    np.testing.assert_array_equal(R, np.triu(R))
    within = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(R.T @ R, D[:, kept].T @ D[:, kept], **within)
    np.testing.assert_allclose(R.T @ c, D[:, kept].T @ Y, **within)
    np.testing.assert_allclose(R.T @ aliased_R, D[:, kept].T @ D[:, aliased], **within)
    np.testing.assert_allclose(R @ T, np.eye(len(kept)), **within)
    assert found.combinations.shape == (len(kept), len(aliased))
    np.testing.assert_allclose(D[:, kept] @ found.combinations, D[:, aliased], **within)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_pivot_triangle_of_fewer_rows_than_columns_keeps_as_many_columns(rows):
    rng = np.random.default_rng(0)
    D, y = rng.standard_normal((rows, 6)), rng.standard_normal((rows, 1))
    D[:, 1] = -2 * D[:, 0]
    Q, R = np.linalg.qr(D)
    found = pivot_triangle(R, Q.T @ y)
    kept = [0, 2, 3, 4][:rows]
    assert found.kept.tolist() == kept
    np.testing.assert_allclose(found.R.T @ found.R, D[:, kept].T @ D[:, kept], atol=1e-12)
    np.testing.assert_allclose(D[:, kept] @ solve_triangular(found.R, found.c), y, atol=1e-11)
    np.testing.assert_allclose(D[:, kept] @ found.combinations, D[:, found.aliased], atol=1e-11)


@pytest.mark.parametrize("way", ["triangle", "normal"])
@pytest.mark.parametrize(("part", "kept"), [(1e-9, 3), (1e-11, 3), (1e-14, 2), (0.0, 2)])
def test_pivoting_keeps_a_small_independent_part_above_rounding(way, part, kept):
    R = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, part]])
    if way == "triangle":
        found = pivot_triangle(R, np.zeros((3, 0)))
    else:
        A = fractions(R).T @ fractions(R)
        high = A.astype(np.float64)
        A = DoubleDouble(high, (A - fractions(high)).astype(np.float64))
        found = pivot_normal(A, DoubleDouble.of(np.zeros((3, 0))))
    assert len(found.kept) == kept
    assert len(found.aliased) == 3 - kept


def test_pivot_triangle_uses_the_given_tolerance():
    R = np.array([[3.0, 4.0, 0.0], [0.0, 1e-7, 1.0], [0.0, 0.0, 1.0]])
    assert pivot_triangle(R, np.zeros((3, 0)), 1e-6).aliased.tolist() == [1]
    assert pivot_triangle(R, np.zeros((3, 0)), 1e-9).aliased.tolist() == []


def test_pivoting_aliases_columns_hidden_by_cancellation():
    # The last column is 10¹² times the second less 10¹² times the first, but for a part of 10⁻⁵.
    small = 1e-12
    R = np.array([[1.0, 1.0, 0.0], [0.0, small, 1.0], [0.0, 0.0, 1e-5]])
    found = pivot_triangle(R, np.zeros((3, 0)))
    assert found.aliased.tolist() == [2]
    A = fractions(R).T @ fractions(R)
    high = A.astype(np.float64)
    found = pivot_normal(
        DoubleDouble(high, (A - fractions(high)).astype(np.float64)), DoubleDouble.of(np.zeros((3, 0)))
    )
    assert found.aliased.tolist() == [2]


def test_combinations_without_aliased_columns_are_empty():
    none = PivotedTriangle(np.zeros((0, 0)), np.zeros((0, 1)), [], [0, 1], np.zeros((0, 2)))
    assert none.combinations.shape == (0, 2)
    assert PivotedTriangle(np.eye(2), np.zeros((2, 1)), [0, 1], [], np.zeros((2, 0))).combinations.shape == (2, 0)


@pytest.mark.parametrize("kept", [[0], [1, 2], [0, 2, 3], [0, 1, 2, 4], []])
def test_least_norm_agrees_with_the_pseudo_inverse(kept):
    rng = np.random.default_rng(1)
    basis, unit = rng.standard_normal((len(kept), len(kept))), 2.0 ** np.array([0, 1, -1, 2, 0])
    aliased = [j for j in range(5) if j not in kept]
    combinations = rng.standard_normal((len(kept), len(aliased)))
    R = upper(basis) if kept else np.zeros((0, 0))
    found, _ = triangular.least_norm(PivotedTriangle(R, R, kept, aliased, R @ combinations), unit)
    D = np.zeros((len(kept), 5))
    D[:, kept], D[:, aliased] = R, R @ combinations
    D *= unit  # columns in the user's units
    wanted = np.linalg.pinv(D, rcond=1e-10) @ D[:, kept]
    np.testing.assert_allclose(found, wanted, atol=1e-11)


@pytest.mark.parametrize("singular", [False, True])
def test_factor_normal_keeps_the_products_and_the_residual(singular):
    rng = np.random.default_rng(0)
    D, Y = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    D[:, 0] = 0.0 if singular else D[:, 0]
    D[:, 3] = D[:, 1] + D[:, 2] if singular else D[:, 3]
    D /= 4
    A, C, total = D.T @ D, D.T @ Y, (Y**2).sum(axis=0)
    R, c, rest, tolerance = triangular.factor_normal(A, C, total)
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, A, atol=1e-14)
    np.testing.assert_allclose(R.T @ c, C, atol=1e-14)
    fitted = D @ np.linalg.lstsq(D, Y, rcond=1e-10)[0]
    np.testing.assert_allclose(rest, ((Y - fitted) ** 2).sum(axis=0), rtol=1e-12)
    assert len(R) == (2 if singular else 4)
    assert tolerance < 1e-5
    assert not singular or not R[:, 0].any()
    _, _, none, _ = triangular.factor_normal(A, C, np.zeros(2))
    np.testing.assert_array_equal(none, 0.0)  # never below


def test_pivot_triangle_fewer_rows_than_columns_same_bits_as_column_by_column(monkeypatch):
    rng = np.random.default_rng(4)
    R, c = np.triu(rng.standard_normal((40, 100))) + 3 * np.eye(40, 100), rng.standard_normal((40, 2))
    at_once = triangular.pivot_triangle(R, c)
    monkeypatch.setattr(triangular, "DOUBTFUL", np.inf)  # every column is looked at
    one_by_one = triangular.pivot_triangle(R, c)
    assert list(at_once.kept) == list(one_by_one.kept) == list(range(40))
    assert list(at_once.aliased) == list(one_by_one.aliased) == list(range(40, 100))
    for name in ("R", "c", "aliased_R", "inverse_R"):
        np.testing.assert_array_equal(getattr(at_once, name), getattr(one_by_one, name))
