"""The parts of least squares one by one: each against fractions, a definition or a law."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from linearly.algorithm.least_squares import column_scaling as scaling
from linearly.algorithm.least_squares import gram, solution, triangular
from linearly.algorithm.least_squares import solver as ladder
from linearly.algorithm.least_squares.column_scaling import ColumnScaling, drop_zero_weight, power_of_two
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solution import Problem, Solution, centering_for, whiten
from linearly.algorithm.least_squares.solver import RidgeProblem, Summarize
from linearly.algorithm.least_squares.triangular import (
    EPS,
    PivotedTriangle,
    condition,
    pivot_normal,
    pivot_triangle,
    solve_triangular,
    upper,
)
from linearly.algorithm.separability import integer_algebra as exact
from linearly.dataset.rows.block import Block, ColumnMatrix
from linearly.exceptions import PrecisionWarning
from linearly.kernels.double_double import DoubleDouble, dot

PRIME = 67108859  # the first that exact elimination takes


def fractions(a: object) -> np.ndarray:
    """Every number of an array, or of double-double numbers, as the fraction that it is."""
    if isinstance(a, DoubleDouble):
        return fractions(a.high) + fractions(a.low)
    a = np.asarray(a)
    return np.array([Fraction(t) for t in a.ravel().tolist()], dtype=object).reshape(a.shape)


def solved(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹B in fractions, by elimination."""
    M, q = np.hstack([A, B]), len(A)
    for j in range(q):
        i = next(i for i in range(j, q) if M[i, j] != 0)
        M[[i, j]] = M[[j, i]]
        M[j] = M[j] / M[j, j]
        for other in range(q):
            if other != j:
                M[other] = M[other] - M[other, j] * M[j]
    return M[:, q:]


def rank(A: np.ndarray) -> int:
    M, r = fractions(A), 0
    for j in range(M.shape[1]):
        below = [i for i in range(r, len(M)) if M[i, j] != 0]
        if below:
            M[[r, below[0]]] = M[[below[0], r]]
            for i in range(r + 1, len(M)):
                M[i] = M[i] - M[r] * (M[i, j] / M[r, j])
            r += 1
    return r


def close(a: object, b: np.ndarray, within: float) -> None:
    """Two arrays agree to a fraction of the largest number of the second, compared without rounding."""
    wanted = fractions(b) if b.dtype != object else b
    largest = max((abs(t) for t in wanted.ravel()), default=0)
    assert np.shape(a.high if isinstance(a, DoubleDouble) else a) == wanted.shape
    assert all(abs(t) <= within * largest for t in (fractions(a) - wanted).ravel())


# --- integers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0, 8, 11, 12, 70, 900])  # from 11 on int64 is too short
def test_integers_are_as_small_as_can_be(spread):
    M = np.array([[1 + 2.0**-52, 3.0, 0.0], [2.0**spread, 0.0, 0.0], [-(2.0**-5), -12.0, -0.0]])
    N, e = exact.as_integers(M)
    assert (fractions(N.astype(object)) * [Fraction(2) ** int(t) for t in e] == fractions(M)).all()
    assert (N[:, :2] % 2 == 1).any(axis=0).all()
    assert e.tolist() == [-52, 0, 0]
    assert N.dtype == (np.int64 if spread <= 8 else object)


def test_integers_of_the_largest_and_the_smallest_floats():
    M = np.array([[5e-324, 1.7976931348623157e308], [-3 * 5e-324, 2.0**1000]])
    N, e = exact.as_integers(M)
    assert e.tolist() == [-1074, 971]
    assert N.tolist() == [[1, 2**53 - 1], [-3, 2**29]]
    N, e = exact.as_integers(np.zeros((0, 2)))
    assert N.shape == (0, 2)
    assert e.tolist() == [0, 0]


def test_the_primes_are_the_largest_below_their_digit():
    primes = [q for q in range(2**exact._DIGIT - 1, 2**exact._DIGIT - 200, -1) if all(q % d for d in range(2, 8192))]
    assert list(exact._PRIMES) == primes[: len(exact._PRIMES)]


def test_widened_integers_do_not_overflow():
    assert exact.to_python_ints(np.array([[3, -5], [1, 0]]), np.array([70, 1])).tolist() == [
        [3 << 70, -10],
        [1 << 70, 0],
    ]


@pytest.mark.parametrize(
    ("A", "B", "small"),
    [
        ([[2**30, -(2**30)]], [[2**30], [2**30]], True),
        ([[3, -4], [5, 6]], [[1, 2], [-3, 4]], True),
        ([[2**40]], [[2**40]], False),
        ([[1], [2**40]], [[2**40]], False),
        ([[-(2**40)], [1]], [[2**40]], False),
        ([[2**40]], [[-(2**40)]], False),
        ([[2**40]], [[1, 2**40]], False),
        ([[2**31] * 8], [[2**31]] * 8, False),
    ],
)
def test_products_of_integers_never_overflow(A, B, small):
    found = exact.product(np.array(A), np.array(B))
    assert found.tolist() == [
        [sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*B, strict=True)] for row in A
    ]
    assert (found.dtype == np.int64) == small
    for one, other in ((A, np.array(B)), (np.array(A), B)):
        mixed = exact.product(np.array(one, dtype=object), np.array(other, dtype=object))
        assert mixed.tolist() == found.tolist()
    half = exact.product(np.array(A, dtype=object), np.array(B))
    assert half.dtype == object
    assert half.tolist() == found.tolist() == exact.product(np.array(A), np.array(B, dtype=object)).tolist()


@pytest.mark.parametrize(("v", "wanted"), [([6, -9, 0], [2, -3, 0]), ([0, 0], [0, 0]), ([4, 6], [2, 3]), ([3], [1])])
def test_primitive_integers_have_no_common_divisor(v, wanted):
    assert exact.divide_by_gcd(np.array(v, dtype=object)).tolist() == wanted


def test_elimination_gives_the_inverse_of_the_block_where_pivots_cross():
    R = np.array([[0, 0, 0, 0], [0, 3, 5, 1], [0, 6, 10, 2], [2, 1, 1, 4], [7, 7, 1, 2]])
    for q in (101, PRIME):
        rows, pivots, inverse = exact._eliminate(R % q, q)
        assert pivots.tolist() == [0, 1, 2]
        assert len(set(rows.tolist())) == 3
        assert (inverse >= 0).all()
        assert (inverse < q).all()
        assert (inverse @ R[np.ix_(rows, pivots)] % q == np.eye(3)).all()


def matrices() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    small = rng.integers(-3, 4, (4, 6))
    long = np.array([[int(t) ** 25 + j for j, t in enumerate(row)] for row in rng.integers(-9999, 9999, (3, 5))])
    wide = rng.integers(-(2**52), 2**52, (6, 8)).astype(object)
    return [
        small.astype(object),
        (small.T @ rng.integers(-2, 3, (4, 5))).astype(object),
        wide,
        np.vstack([wide[:2], wide[0] * 3 - wide[1], np.zeros(8, dtype=object), wide[3]]),
        long.astype(object),
        np.array([[0, 0, 5, 7], [0, 0, 0, 0]], dtype=object),
        np.zeros((2, 3), dtype=object),
        np.zeros((0, 3), dtype=object),
        np.array([[1, 1], [1, PRIME + 1]], dtype=object),  # modulo the first prime of less rank than it has
        np.array([[PRIME, 1, 3]], dtype=object),
        np.array([[2, 4, 6], [30, 45, 15]], dtype=object),
        np.eye(3, dtype=int).astype(object) * 7,
        np.array([[3, 1, 0, 2], [0, 5, 7, 1]], dtype=object),
    ]


@pytest.mark.parametrize("R", matrices())
def test_a_null_space_is_all_of_it_in_the_smallest_integers(R):
    B, pivots = exact.null_space(R)
    free = [j for j in range(R.shape[1]) if j not in pivots]
    assert len(pivots) == rank(R) == rank(R[:, pivots])
    assert B.shape == (R.shape[1], len(free))
    assert not (R @ B).any()
    for f, column in enumerate(B.T):
        assert math.gcd(*column) == 1
        assert column[free[f]] > 0
        assert not np.delete(column[free], f).any()


def test_pivots_are_the_first_columns_that_are_independent():
    R = np.array([[0, 2, 4, 1, 0], [0, 1, 2, 1, 5], [0, 3, 6, 2, 5]], dtype=object)
    assert exact.null_space(R)[1].tolist() == [1, 3]
    assert exact.null_space(np.array([[1, 2, 3], [4, 5, 6]]))[1].tolist() == [0, 1]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("bits", [3, 40, 53, 400])
def test_lifting_solves_in_integers(k, bits):
    rng = np.random.default_rng(k)
    N = np.array([[int(t) << max(bits - 50, 0) for t in row] for row in rng.integers(-(2**50), 2**50, (k, k))])
    N = (
        N.astype(object) + rng.integers(-99, 99, (k, k)).astype(object)
        if bits > 50
        else (N.astype(object) >> 50 - bits)
    )
    N = N + np.eye(k, dtype=int).astype(object) * (1 << bits)
    F = rng.integers(-(2**30), 2**30, (k, 2)).astype(object)
    rows, pivots, inverse = exact._eliminate((N % PRIME).astype(np.int64), PRIME)
    assert len(pivots) == k
    S, d = exact._hensel_lift(N[np.ix_(rows, pivots)], F[rows], inverse, PRIME)
    assert (d > 0).all()
    assert (fractions(S) / fractions(d) == solved(fractions(N), fractions(F))).all()


@pytest.mark.parametrize("bits", [5, 20, 26])
def test_limbs_spell_the_integers(bits):
    N = np.array([[0, -1, 2**bits - 1], [2**bits, -(3**50), 7**40]], dtype=object)
    limbs = exact._limbs(N, bits)
    assert all((np.abs(limb) < 2**bits).all() for limb in limbs)
    spelt = sum(limb.astype(np.int64).astype(object) << bits * i for i, limb in enumerate(limbs))
    assert spelt.tolist() == N.tolist()
    assert len(limbs) == -(-(7**40).bit_length() // bits)


def digits_of(numerators: list[list[int]], denominators: list[int], q: int, length: int) -> list[np.ndarray]:
    modulus = q**length
    x = [[t * pow(d, -1, modulus) % modulus for t, d in zip(row, denominators, strict=True)] for row in numerators]
    return [np.array([[t // q**i % q for t in row] for row in x], dtype=np.float64) for i in range(length)]


@pytest.mark.parametrize("length", [4, 5, 7, 8])
def test_digits_of_fractions_give_them_back(length):
    numerators, denominators = [[1, -7], [0, 15], [-123456, 2], [5, 10]], [12, 35]
    S, d = exact._rational(digits_of(numerators, denominators, PRIME, length), PRIME)
    assert d.tolist() == denominators  # the least that will do
    found = fractions(S) / fractions(d)
    assert found.tolist() == [[Fraction(t, b) for t, b in zip(row, denominators, strict=True)] for row in numerators]


def test_fractions_too_long_for_their_digits_are_not_guessed():
    assert exact._rational(digits_of([[10**30]], [10**29 + 1], PRIME, 4), PRIME) is None
    S, d = exact._rational(digits_of([[10**30]], [10**29 + 1], PRIME, 10), PRIME)
    assert Fraction(S[0, 0], d[0]) == Fraction(10**30, 10**29 + 1)


def test_remainders_about_zero():
    assert [exact._centred(t, 7) for t in range(-4, 8)] == [3, -3, -2, -1, 0, 1, 2, 3, -3, -2, -1, 0]
    assert [exact._centred(t, 8) for t in range(8)] == [0, 1, 2, 3, 4, -3, -2, -1]


def test_the_denominator_is_the_least_that_makes_a_number_short():
    modulus = 10007
    for short in (20, 60):
        for t in range(1, modulus, 37):
            d = exact._denominator(t, modulus, short)
            assert 0 <= d <= short
            if d:
                assert abs(exact._centred(d * t, modulus)) <= short
            least = next((d for d in range(1, short + 1) if abs(exact._centred(d * t, modulus)) <= short), 0)
            if least * short * 2 < modulus:
                assert (d == 0) == (least == 0) or d == least


# --- triangles -----------------------------------------------------------------------------------------


def triangle(q: int = 5, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.triu(rng.standard_normal((q, q))) + 2 * np.diag(rng.choice([-1.0, 1.0], q))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("q", [0, 1, 2, 5])
def test_substitution_solves_a_triangle(q, transposed):
    R, B = triangle(5)[:q, :q], np.random.default_rng(2).standard_normal((q, 3))
    A = R.T if transposed else R
    close(solve_triangular(R, B, transposed=transposed), solved(fractions(A), fractions(B)), 1e-14)
    exactly = solve_triangular(DoubleDouble.of(R), DoubleDouble.of(B), transposed=transposed)
    close(exactly, solved(fractions(A), fractions(B)), 1e-29)


def test_substitution_keeps_what_it_is_given():
    R, B = DoubleDouble.of(triangle(3)), DoubleDouble(np.ones((3, 2)), np.full((3, 2), 1e-20))
    solve_triangular(R, B)
    np.testing.assert_array_equal(B.high, 1.0)
    np.testing.assert_array_equal(B.low, 1e-20)


def test_a_triangle_with_a_zero_on_its_diagonal_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="1 on the diagonal"):
        solve_triangular(np.array([[1.0, 2.0], [0.0, 0.0]]), np.ones((2, 1)))


def test_sums_of_products_are_rounded_once():
    a = DoubleDouble(np.array([1e16, 3.0, -1e16]), np.array([1.0, 1e-17, 0.0]))
    B = DoubleDouble.of(np.array([[1.0, 2.0], [1 / 3, 1e-30], [1.0, 2.0]]))
    close(dot(a, B), fractions(a) @ fractions(B), 1e-31)
    huge = dot(DoubleDouble.of(np.full(2, 1e200)), DoubleDouble.of(np.array([[1e200], [-1e200]])))
    assert np.isnan(huge.high).all()


def test_inverses_and_products_in_either_kind_of_number():
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
def test_a_ratio_of_powers_of_two_is_exact(above, below):
    a = DoubleDouble(np.array([1.0, -3.0]), np.array([1e-17, 1e-20]))
    factor = Fraction(above) / Fraction(below)
    found = triangular.exact_rescale(a, np.array([above]), np.array([below]))
    assert (fractions(found) == fractions(a) * factor).all()
    assert (
        fractions(triangular.exact_rescale(a.high, np.array([above]), np.array([below]))) == fractions(a.high) * factor
    ).all()


def test_the_triangle_of_rows_has_their_products():
    A = np.random.default_rng(0).standard_normal((9, 4))
    R = upper(A)
    assert R.shape == (4, 4)
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-13)


def test_the_condition_of_a_triangle():
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
def test_columns_that_are_combinations_of_those_before_are_set_aside(name, way):
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
    R, c, beside, T = (triangular.to_float64(t) for t in (found.R, found.c, found.beside, found.inverse_R))
    assert R.shape == (len(kept), len(kept))
    np.testing.assert_array_equal(R, np.triu(R))
    within = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(R.T @ R, D[:, kept].T @ D[:, kept], **within)
    np.testing.assert_allclose(R.T @ c, D[:, kept].T @ Y, **within)
    np.testing.assert_allclose(R.T @ beside, D[:, kept].T @ D[:, aliased], **within)
    np.testing.assert_allclose(R @ T, np.eye(len(kept)), **within)
    assert found.combinations.shape == (len(kept), len(aliased))
    np.testing.assert_allclose(D[:, kept] @ found.combinations, D[:, aliased], **within)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_of_a_triangle_with_fewer_rows_than_columns_as_many_columns_are_kept(rows):
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
def test_a_small_part_outside_the_others_keeps_a_column_unless_rounding_errors_explain_it(way, part, kept):
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


def test_what_tolerance_is_asked_for_is_held():
    R = np.array([[3.0, 4.0, 0.0], [0.0, 1e-7, 1.0], [0.0, 0.0, 1.0]])
    assert pivot_triangle(R, np.zeros((3, 0)), 1e-6).aliased.tolist() == [1]
    assert pivot_triangle(R, np.zeros((3, 0)), 1e-9).aliased.tolist() == []


def test_large_parts_that_cancel_hide_a_column_in_their_rounding_errors():
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


def test_combinations_of_nothing_are_nothing():
    none = PivotedTriangle(np.zeros((0, 0)), np.zeros((0, 1)), [], [0, 1], np.zeros((0, 2)))
    assert none.combinations.shape == (0, 2)
    assert PivotedTriangle(np.eye(2), np.zeros((2, 1)), [0, 1], [], np.zeros((2, 0))).combinations.shape == (2, 0)


# --- scalings --------------------------------------------------------------------------------------------


def test_a_power_of_two_is_just_above():
    size = np.array([1.0, 1.5, 2.0, 3.0, 0.7, 1e-300, 1e300, 5e-324, 1.7e308])
    unit = power_of_two(size)
    inside = slice(0, 7)
    assert (unit[inside] > size[inside]).all()
    assert (unit[inside] / 2 <= size[inside]).all()
    assert (np.frexp(unit)[0] == 0.5).all()
    assert unit[-2:].tolist() == [2.0**-1021, 2.0**1022]  # so that neither it nor its reciprocal leaves float64
    assert np.isfinite(1 / unit).all()
    assert power_of_two(np.array([0.0, np.inf, np.nan])).tolist() == [1.0, 1.0, 1.0]


def test_powers_of_two_in_steps():
    unit = power_of_two(np.array([1.0, 0.5, 65535.0, 65536.0, 2.0**-16, 0.99 * 2.0**-16]), 16)
    assert unit.tolist() == [2.0**16, 1.0, 2.0**16, 2.0**32, 1.0, 2.0**-16]


def test_a_gauge_is_the_middle_and_the_reach_of_its_rows():
    X, Y = np.array([[1.0, 5.0], [3.0, 5.0], [11.0, 5.0]]), np.array([[0.0, 100.0], [0.0, 101.0], [0.0, 102.5]])
    found = ColumnScaling.of(Block(X), Y, coarse=1)
    np.testing.assert_allclose(found.shift, [5.0, 5.0, 0.0, 303.5 / 3], rtol=1e-15)
    assert found.scale.tolist() == [8.0, 8.0, 1.0, 2.0]  # a constant column by its value, one of zeros by one
    assert ColumnScaling.of(Block(-X), -Y, coarse=1).scale.tolist() == found.scale.tolist()
    assert ColumnScaling.of(Block(X), Y).scale.tolist() == [2.0**16, 2.0**16, 1.0, 2.0**16]
    np.testing.assert_array_equal(ColumnScaling.of(Block(X), None, coarse=1).scale, [8.0, 8.0])
    doubled = ColumnScaling.of(Block(DoubleDouble(X, X * 1e-17)), Y, coarse=1)
    np.testing.assert_array_equal(doubled.shift, found.shift)


def test_rows_without_weight_have_no_part_in_a_gauge():
    X = np.array([[1.0], [np.nan], [3.0], [1e300]])
    weight = np.array([1.0, 0.0, 2.0, 0.0])
    found = ColumnScaling.of(Block(X, weight=weight), X.copy(), coarse=1)
    assert found.shift.tolist() == [2.0, 2.0]
    assert found.scale.tolist() == [2.0, 2.0]
    for nobody in (Block(X, weight=np.zeros(4)), Block(X[:0])):
        none = ColumnScaling.of(nobody, nobody.X)
        assert (none.shift.tolist(), none.scale.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_a_gauge_of_many_rows_comes_from_rows_all_over_them():
    X = np.arange(6400.0)[:, None]
    for weight in (None, np.where(np.arange(6400) == 0, 0.0, 1.0)):
        some = ColumnScaling.of(Block(X, weight=weight), X.copy(), coarse=1)
        assert abs(some.shift[0] - 3200) < 60
        assert some.scale.tolist() == [4096.0, 4096.0]
        whole = ColumnScaling.of(Block(X, weight=weight), None, whole=True)
        assert whole.shift[0] == pytest.approx(3199.5 + (weight is not None) / 2)
    spike = np.zeros((6400, 1))
    spike[33] = 1e9
    assert ColumnScaling.of(Block(spike), None).scale[0] == 1.0
    assert ColumnScaling.of(Block(spike), None, whole=True).scale[0] == 2.0**32


def test_sparse_columns_are_measured_from_zero():
    dense = np.array([[0.0, -5.0, 0.0], [3.0, 0.0, 0.0], [0.0, 1e200, 0.0]])
    X, Y = sp.csr_matrix(dense), np.array([[10.0], [12.0], [1e300]])
    found = ColumnScaling.of(Block(X, weight=np.array([1.0, 1.0, 0.0])), Y, coarse=1)
    assert found.shift.tolist() == [0.0, 0.0, 0.0, 11.0]
    assert found.scale.tolist() == [4.0, 8.0, 1.0, 2.0]
    assert ColumnScaling.of(Block(X), None, coarse=1).scale.tolist() == [4.0, float(power_of_two(np.array(1e200))), 1.0]


def test_a_gauge_misleads_where_squares_leave_float64():
    X, Y = np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([[4.0, 5.0], [4.0, 6.0]])
    here = ColumnScaling.of(Block(X), Y)
    fine = np.array([0.0, 1.0, 0.0, 1.0])
    for kind in (X, ColumnMatrix([X[:, 0].copy(), X[:, 1].copy()]), DoubleDouble.of(X)):
        block = Block(kind, Y)
        assert not here.over_or_underflowed(block, Y, fine)
        for j, misled in enumerate([False, True, False, True]):
            squares = np.ones(4)
            squares[j] = 0.0
            assert here.over_or_underflowed(block, Y, squares) == misled
            squares[j] = np.inf
            assert here.over_or_underflowed(block, Y, squares)
        assert not here.over_or_underflowed(block, None, np.array([0.0, 1.0]))
        assert here.over_or_underflowed(block, None, np.array([1.0, 0.0]))
    # A row without weight does not make a column vary.
    assert not here.over_or_underflowed(Block(X, Y, np.array([1.0, 0.0])), Y[:, :1], np.array([0.0, 1.0, 0.0]))
    assert not ColumnScaling(X[0], np.ones(2)).over_or_underflowed(
        Block(X, weight=np.array([1.0, 0.0])), None, np.zeros(2)
    )


def test_entries_of_sparse_columns_are_what_makes_them_vary():
    X = sp.csr_matrix(([1.0, 0.0, 2.0], ([0, 1, 2], [0, 1, 2])), shape=(3, 4))
    here = ColumnScaling.of(Block(X), None)
    for j, misled in enumerate([True, False, True, False]):
        squares = np.ones(4)
        squares[j] = 0.0
        assert here.over_or_underflowed(Block(X), None, squares) == misled
        assert not here.over_or_underflowed(Block(X, weight=np.array([0.0, 1.0, 0.0])), None, squares)


def test_columns_beside_one_that_overflows_keep_their_gauge():
    beside = np.array([[5.0, 3e6], [6.0, 3e6], [-1.5, 3e6], [100.0, 3e6]])
    alone = ColumnScaling.of(Block(beside), None, coarse=1)
    together = ColumnScaling.of(
        Block(np.column_stack([[-0.95e308, 0.95e308, -0.9e308, -0.9e308], beside])), None, coarse=1
    )
    np.testing.assert_allclose(together.shift[1:], alone.shift, rtol=1e-15)
    np.testing.assert_array_equal(together.scale[1:], alone.scale)
    assert together.shift[0] == pytest.approx(-0.45e308)
    assert together.scale[0] == 2.0**1022


def test_the_coarser_of_two_gauges_keeps_its_own_shift():
    a, b = (
        ColumnScaling(np.array([1.0, 2.0]), np.array([1.0, 4.0])),
        ColumnScaling(np.array([3.0, 4.0]), np.array([2.0, 2.0])),
    )
    both = a.common_scale(b)
    assert (both.shift.tolist(), both.scale.tolist()) == ([1.0, 2.0], [2.0, 4.0])
    assert both.common_scale(a) is both
    assert both.common_scale(both) is both
    part = both.select([1])
    assert (part.shift.tolist(), part.scale.tolist()) == ([2.0], [4.0])


def test_rows_without_weight_are_left_out():
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    whole = Block(X, y, np.array([1.0, 2.0, 3.0]))
    assert drop_zero_weight(whole) is whole
    part = drop_zero_weight(Block(X, y, np.array([1.0, 0.0, 3.0])))
    assert part.X.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert part.y.tolist() == [0.0, 2.0]
    assert part.weight.tolist() == [1.0, 3.0]
    assert drop_zero_weight(Block(X, None, np.array([0.0, 0.0, 3.0]))).y is None
    assert drop_zero_weight(Block(X)).weight is None


def test_the_largest_of_sparse_columns_in_size():
    X = sp.csr_matrix(np.array([[0.0, -5.0, 0.0], [3.0, 4.0, 0.0]]))
    assert scaling._largest_of_sparse(X).tolist() == [3.0, 5.0, 0.0]


# --- summaries -----------------------------------------------------------------------------------------

SUMMARIES: dict[str, Callable[[Block], Gram | QRFactor]] = {
    "gram": Gram.of,
    "extended": lambda block: Gram.of(block, exact=True),
    "qr": QRFactor.of,
}


def rows(n: int = 30, p: int = 3, k: int = 2, *, weighted: bool = True, seed: int = 5) -> Block:
    """Rows with columns and targets of different size and place, a few of them without weight."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10.0 ** np.resize([0, 5, -3], p) + np.resize([3.0, -1e5, 0.0], p)
    Y = rng.standard_normal((n, k)) * np.resize([40.0, 1e-4], k) + np.resize([7.0, -2e-4], k)
    Y = Y + X[:, :1] * np.resize([9.0, -3e-4], k)
    if not weighted:
        return Block(X, Y)
    weight = rng.uniform(0.5, 3.0, n)
    weight[[2, n - 1]] = 0.0
    X[2], Y[2] = 1e290, -1e290
    return Block(X, Y, weight)


def plain(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, Y and weights of the rows that count."""
    w = np.ones(len(block)) if block.weight is None else block.weight
    return block.X[w > 0], block.y[w > 0], w[w > 0]


def moments(summary: Gram | QRFactor) -> tuple[float, np.ndarray, np.ndarray]:
    """Weight, means and centred products of [X | Y] in the user's units."""
    unit, shift = summary.scaling.scale, summary.scaling.shift
    if isinstance(summary, Gram):
        weight, mean, cross = map(triangular.to_float64, (summary.weight, summary.mean, summary.centered_crossprod))
    else:
        R = summary.R
        np.testing.assert_array_equal(R, np.triu(R))
        weight, mean, cross = summary.weight, R[0, 1:] / R[0, 0], R[1:, 1:].T @ R[1:, 1:]
    return float(weight), shift + unit * mean, cross * unit * unit[:, None]


def says(summary: Gram | QRFactor, block: Block) -> None:
    """The summary is that of the rows by its definition."""
    X, Y, w = plain(block)
    Z = np.hstack([X, Y])
    mean = w @ Z / w.sum()
    cross = (w[:, None] * (Z - mean)).T @ (Z - mean)
    weight, found_mean, found_cross = moments(summary)
    size = np.sqrt(np.diagonal(cross))
    assert (summary.n, summary.p) == (len(w), X.shape[1])
    assert weight == pytest.approx(w.sum(), rel=1e-13)
    assert summary.log_weight == pytest.approx(np.log(w).sum(), abs=1e-12)
    np.testing.assert_allclose((found_mean - mean) / size, 0, atol=1e-12)
    np.testing.assert_allclose((found_cross - cross) / size / size[:, None], 0, atol=1e-11)
    np.testing.assert_allclose(summary.centered_norms**2, np.diagonal(cross)[: X.shape[1]], rtol=1e-11)


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_summary_is_that_of_the_definition(name, weighted):
    says(SUMMARIES[name](rows(weighted=weighted)), rows(weighted=weighted))


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_summary_of_sparse_rows_is_that_of_dense_ones(name, weighted):
    block = rows(weighted=weighted)
    X = np.where(np.random.default_rng(0).random(block.X.shape) < 0.5, 0.0, block.X)
    says(SUMMARIES[name](replace(block, X=sp.csr_matrix(X), y=block.y)), replace(block, X=X))
    X = X[3:-1]
    alone = SUMMARIES[name](Block(sp.csr_matrix(X)))
    assert (alone.p, len(alone.scaling.scale)) == (3, 3)
    np.testing.assert_allclose(alone.centered_norms**2, ((X - X.mean(0)) ** 2).sum(0), rtol=1e-11)


def test_a_gram_of_columns_that_lie_apart_is_that_of_an_array():
    block = rows()
    apart = ColumnMatrix([np.ascontiguousarray(column) for column in block.X.T])
    says(Gram.of(replace(block, X=apart)), block)
    says(Gram.of(replace(block, X=apart), exact=False), block)


def test_an_exact_gram_keeps_thirty_digits():
    X, Y, w = plain(rows(12))
    found = Gram.of(Block(X, Y, w), exact=True)
    Z = (fractions(np.hstack([X, Y])) - fractions(found.scaling.shift)) / fractions(found.scaling.scale)
    W = fractions(w)
    mean = W @ Z / W.sum()
    close(found.mean, mean, 1e-28)
    close(found.centered_crossprod, ((Z - mean).T * W) @ (Z - mean), 1e-28)
    assert abs(fractions(found.weight) - W.sum()) < 1e-29
    low = X * 1e-20
    Z[:, :3] = (fractions(X) + fractions(low) - fractions(found.scaling.shift[:3])) / fractions(found.scaling.scale[:3])
    finer = Gram.of(Block(DoubleDouble(X, low), Y, w), exact=True)
    mean = W @ Z / W.sum()
    close(finer.mean, mean, 1e-28)
    assert found.is_extended
    rough = found.in_float64()
    assert not rough.is_extended
    assert rough.in_float64() is rough
    for part in ("weight", "mean", "centered_crossprod"):
        np.testing.assert_array_equal(getattr(rough, part), getattr(found, part).to_float64())


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_gauge_that_misled_is_set_anew(name):
    X = np.zeros((6400, 2))
    X[33, 0], X[1::2, 1] = 1e200, 1e-200  # neither is seen in a few of the rows
    y = np.arange(6400.0)
    for weight in (None, np.where(np.arange(6400) == 6399, 0.0, 1.0)):
        block = Block(X, y[:, None], weight)
        found = SUMMARIES[name](block)
        here, _, w = plain(block)
        scaled = here / found.scaling.scale[:2]
        in_units = replace(found, scaling=ColumnScaling(np.zeros(3), np.ones(3)))
        wanted = (w[:, None] * (scaled - w @ scaled / w.sum()) ** 2).sum(axis=0)
        np.testing.assert_allclose(in_units.centered_norms**2, wanted, rtol=1e-9)
        assert (wanted > 1e-30).all()
        assert found.n == len(w)
    if name == "gram":
        apart = Gram.of(Block(ColumnMatrix([X[:, 0].copy(), X[:, 1].copy()]), y[:, None]))
        whole = Gram.of(Block(X, y[:, None]))
        np.testing.assert_array_equal(apart.scaling.scale, whole.scaling.scale)
        np.testing.assert_allclose(apart.centered_crossprod, whole.centered_crossprod, rtol=1e-12)


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_bad_number_that_spoilt_the_squares_is_named(name):
    X = np.ones((4, 2))
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN: row 2, column 1"):
        SUMMARIES[name](Block(X, np.ones(4)))
    if name != "extended":
        X[2, 1] = np.inf
        with pytest.raises(ValueError, match="X contains infinity: row 2, column 1"):
            SUMMARIES[name](Block(X, np.ones(4)))


def halves(block: Block, factor: float) -> tuple[Block, Block]:
    """Two parts of the rows, the second of which has columns far larger: they do not share a scaling."""
    first, second = block.take(slice(0, 11)), block.take(slice(11, None))
    return first, replace(second, X=second.X * factor, y=second.y * factor)


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("factor", [1.0, 1e9, 1e-9])
def test_the_summaries_of_parts_add_up_to_that_of_the_whole(name, factor):
    first, second = halves(rows(), factor)
    whole = Block(np.vstack([first.X, second.X]), np.vstack([first.y, second.y]), np.r_[first.weight, second.weight])
    a, b = SUMMARIES[name](first), SUMMARIES[name](second)
    says(a + b, whole)
    says(b + a, whole)
    nothing = SUMMARIES[name](replace(first, weight=np.zeros(11)))
    assert nothing.n == 0
    assert nothing + a is a
    assert a + nothing is a


@pytest.mark.parametrize("name", ["gram", "extended"])
@pytest.mark.parametrize("factor", [1.0, 9.0, 0.2])
def test_rows_that_are_removed_were_never_there(name, factor):
    first, second = halves(rows(), factor)
    a, b = SUMMARIES[name](first), SUMMARIES[name](second)
    says((a + b) - b, first)
    says((b + a) - a, second)
    says((a + b) - b.in_float64(), first)
    says((a + b).in_float64() - b, first)
    nothing = SUMMARIES[name](replace(first, weight=np.zeros(11)))
    assert a - nothing is a
    assert ((a + b) - b).is_extended == (name == "extended")


def test_a_sum_of_two_kinds_of_numbers_is_in_float64():
    first, second = halves(rows(), 1.0)
    whole = rows()
    for a, b in ((True, False), (False, True)):
        both = Gram.of(first, exact=a) + Gram.of(second, exact=b)
        assert not both.is_extended
        says(both, whole)


@pytest.mark.parametrize("name", ["gram", "extended"])
def test_what_was_never_there_cannot_be_removed(name):
    of = SUMMARIES[name]
    block = rows(40, weighted=False)
    whole, part = of(block), of(block.take(slice(0, 10)))
    with pytest.raises(ValueError, match="Cannot remove 40 rows from 10"):
        part - whole
    with pytest.raises(ValueError, match="every row"):
        whole - of(block)
    heavy = replace(block.take(slice(0, 10)), weight=np.full(10, 4.0))
    for weight in (4.0, 9.0):  # all of it, and more
        with pytest.raises(ValueError, match="more weight than the fit has"):
            whole - of(replace(heavy, weight=np.full(10, weight)))
    other = replace(block.take(slice(0, 10)), X=block.X[:10] * [1.0, 30.0, 1.0])
    with pytest.raises(ValueError, match="a variance would be negative"):
        whole - of(other)
    turned = replace(block.take(slice(0, 20)), y=-0.5 * block.y[:20] + block.y[:20].mean(0) * 1.5)
    with pytest.raises(ValueError, match="not be a sum of squares"):
        whole - of(turned)


@pytest.mark.parametrize(("left", "spoilt"), [(1e-2, False), (1e-5, True)])
def test_what_would_remain_must_be_known_to_ten_digits(left, spoilt):
    X = np.random.default_rng(0).standard_normal((20, 2))
    X[:10, 1] *= left
    block = Block(X, X.sum(axis=1) ** 2)
    whole, part = Gram.of(block), Gram.of(block.take(slice(10, None)))
    if spoilt:
        with pytest.raises(ValueError, match=r"column 1 of \[X \| Y\] would keep too little"):
            whole - part
    else:
        says(whole - part, Block(X[:10], block.y[:10, None]))
    finer = Gram.of(block, exact=True) - Gram.of(block.take(slice(10, None)), exact=True)
    says(finer, Block(X[:10], block.y[:10, None]))


def test_a_column_that_never_varied_may_be_left():
    X = np.column_stack([np.full(9, 4.0), np.arange(9.0)])
    block = Block(X, np.arange(9.0) ** 2)
    rest = Gram.of(block) - Gram.of(block.take(slice(0, 3)))
    assert rest.centered_norms.tolist() == [0.0, pytest.approx(np.sqrt(17.5))]


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_in_another_gauge_is_of_the_same_rows(name):
    block = rows()
    summary = SUMMARIES[name](block)
    moves, factors = np.array([1.0, -3e4, 1e-3, 5.0, 1e-4]), np.array([2.0, 0.25, 1.0, 8.0, 0.5])
    other = ColumnScaling(summary.scaling.shift + moves, summary.scaling.scale * factors)
    moved = summary.rescaled(other)
    assert moved.scaling is other
    says(moved, block)
    says(summary.rescaled(ColumnScaling(other.shift, summary.scaling.scale)), block)
    says(summary.rescaled(ColumnScaling(summary.scaling.shift, other.scale)), block)


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("features", [None, [2, 0], [1], slice(1, None), [True, False, True]])
def test_some_features_of_a_summary(name, features):
    block = rows()
    summary = SUMMARIES[name](block)
    part = summary.select(features, False)
    assert not part.intercept
    assert summary.select(features).intercept
    says(part, replace(block, X=block.X if features is None else block.X[:, features]))


def test_rows_of_no_weight_have_a_mean_of_zero():
    nothing = Gram.centred(np.zeros((3, 3)), 0, 0.0, 1, ColumnScaling(np.zeros(2), np.ones(2)))
    assert nothing.mean.tolist() == [0.0, 0.0]
    light = Gram.centred(np.array([[0.5, 1.0], [1.0, 5.0]]), 1, 0.0, 1, ColumnScaling(np.zeros(1), np.ones(1)))
    assert (light.mean.tolist(), light.centered_crossprod.tolist()) == ([2.0], [[3.0]])


def test_rows_of_positive_weight_are_counted():
    assert gram.weight_statistics(None, 7) == (7, 0.0)
    assert gram.weight_statistics(np.array([0.0, 2.0, 0.5, 8.0]), 4) == (3, pytest.approx(math.log(8.0)))


def test_targets_are_columns():
    assert gram.target_matrix(Block(np.ones((2, 1)))) is None
    assert gram.target_matrix(Block(np.ones((2, 1)), np.array([1, 2]))).tolist() == [[1.0], [2.0]]
    assert gram.target_matrix(Block(np.ones((2, 1)), np.array([[1, 2], [3, 4]]))).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_parts_of_features_are_their_digits():
    X = np.arange(4.0).reshape(2, 2)
    assert gram.high_low_parts(X) == (X, None)
    high, low = gram.high_low_parts(DoubleDouble(X, X * 1e-20))
    assert (high.tolist(), low.tolist()) == (X.tolist(), (X * 1e-20).tolist())
    dense, none = gram.high_low_parts(sp.csr_matrix(X))
    assert (dense.tolist(), none) == (X.tolist(), None)


def test_new_rows_have_the_rounding_errors_of_their_squares_about_the_shift():
    here = ColumnScaling(np.zeros(4), np.ones(4))
    cross = np.diag([2.0, 8.0, 0.0, 1e-20])
    found = Gram(1, np.float64(4.0), 0.0, 3, here, np.array([1.0, 30.0, 0.0, 1.0]), cross)
    np.testing.assert_allclose(found.rounding / EPS, np.array([4.0, 6.0, 3608.0, 0.0, 4.0]) * (1 + 1 / 64))
    finer = replace(
        found,
        centered_crossprod=DoubleDouble.of(cross),
        mean=DoubleDouble.of(found.mean),
        weight=DoubleDouble.of(4.0),
        rounding=None,
    )
    np.testing.assert_allclose(finer.rounding, found.rounding * EPS)
    assert finer.in_float64().rounding == pytest.approx(found.least_rounding())


def test_a_column_of_which_centring_left_rounding_errors_is_constant():
    whole = Gram.of(rows())
    cross, mean = whole.centered_crossprod.copy(), whole.mean.copy()
    mean[1] = 1.0
    cross[1] = cross[:, 1] = 1e-16 * np.array([3.0, 2.0, -1.0, 7.0, 5.0])
    spoilt = replace(whole, centered_crossprod=cross, mean=mean, rounding=None)
    found, alone = spoilt.solve(), whole.select([0, 2]).solve()
    assert (found.aliased, found.rank, found.rank_is_certain) == ((1,), 2, False)
    np.testing.assert_allclose(found.coef, np.insert(alone.coef, 1, 0.0, axis=0), rtol=1e-11, atol=1e-30)
    np.testing.assert_allclose(found.rss, alone.rss, rtol=1e-12)
    np.testing.assert_allclose(found.intercept, alone.intercept, rtol=1e-11)
    assert found.digits == pytest.approx(alone.digits, abs=1)
    assert not spoilt.solve(0.5).coef[1].any()


@pytest.mark.parametrize("form", ["centred", "plain", "constant"])
@pytest.mark.parametrize("name", ["gram", "extended"])
def test_normal_equations_are_those_of_the_design(name, form):
    block = rows()
    X, Y, w = plain(block)
    mean = w / w.sum()
    D = {"centred": X - mean @ X, "plain": X, "constant": np.column_stack([np.ones(len(X)), X])}[form]
    Y = Y - mean @ Y if form == "centred" else Y
    A, C, total, unit, y_unit = SUMMARIES[name](block).normal_equations(form)
    A, C, total = map(triangular.to_float64, (A, C, total))
    assert len(unit) == D.shape[1]
    size = np.sqrt((w[:, None] * D**2).sum(0))
    y_size = np.sqrt((w[:, None] * Y**2).sum(0))
    found = A * (unit / size) * (unit / size)[:, None]
    np.testing.assert_allclose(found, (D / size * w[:, None]).T @ (D / size), atol=1e-11)
    found = C * (unit / size)[:, None] * (y_unit / y_size)
    np.testing.assert_allclose(found, (D / size * w[:, None]).T @ (Y / y_size), atol=1e-11)
    np.testing.assert_allclose(total * (y_unit / y_size) ** 2, 1.0, rtol=1e-11)


# --- solutions -----------------------------------------------------------------------------------------


def test_the_form_of_a_fit():
    assert [centering_for(i, c) for i in (True, False) for c in (True, False)] == [
        "constant",
        "centred",
        "plain",
        "plain",
    ]


ASKED = {
    "centred": RidgeProblem(),
    "plain": RidgeProblem(intercept=False),
    "ridge": RidgeProblem(0.7),
    "plain ridge": RidgeProblem(0.7, intercept=False),
    "constant": RidgeProblem(0.7, penalize_intercept=True),
    "centred after all": RidgeProblem(0.0, penalize_intercept=True),
    "plain all the same": RidgeProblem(0.7, intercept=False, penalize_intercept=True),
}


def even(block: Block) -> Block:
    """Columns of about one size, and not too far from zero, so that a penalty means something for each."""
    X = (block.X - [0.0, -1e5, 0.0]) * [1.0, 1e-4, 1e3]
    return replace(block, X=X, y=block.y * [1.0, 1e5])


def by_definition(X: np.ndarray, Y: np.ndarray, w: np.ndarray, ask: RidgeProblem) -> dict[str, np.ndarray]:
    """What a `Solution` is about, from the normal equations of [1 | X]."""
    first = int(ask.intercept)
    D = np.column_stack([np.ones(len(X)), X])[:, 1 - first :]
    penalty = ask.alpha * np.eye(D.shape[1])
    if ask.intercept and not ask.penalize_intercept:
        penalty[0] = 0.0
    A = (D * w[:, None]).T @ D
    M = np.linalg.pinv(A + penalty, rcond=1e-12, hermitian=True)
    b = M @ (D * w[:, None]).T @ Y
    about = w @ Y / w.sum() if ask.intercept else 0.0
    return {
        "coef": b[first:],
        "intercept": b[0] if ask.intercept else np.zeros(Y.shape[1]),
        "rss": w @ (Y - D @ b) ** 2,
        "tss": w @ (Y - about) ** 2,
        "dof": len(X) - np.trace(M @ A),
        "inverse": M,
        "covariance": M @ A @ M,
        "leverage": w * np.einsum("ij,jk,ik->i", D, M, D),
        "fitted": D @ b,
    }


def is_that(
    found: Solution, X: np.ndarray, Y: np.ndarray, w: np.ndarray, ask: RidgeProblem, within: float = 1e-9
) -> None:
    wanted = by_definition(X, Y, w, ask)
    for name in ("coef", "intercept", "rss", "tss", "dof"):
        np.testing.assert_allclose(getattr(found, name), wanted[name], rtol=within, atol=1e-13, err_msg=name)
    size = np.abs(wanted["inverse"]).max()
    np.testing.assert_allclose(
        found.inverse_root @ found.inverse_root.T, wanted["inverse"], rtol=within, atol=within * size
    )
    covariance = found.inverse_root @ found.shrinkage @ found.inverse_root.T
    np.testing.assert_allclose(covariance, wanted["covariance"], rtol=within, atol=within * size)
    u = found.whitened_rows(X)
    np.testing.assert_allclose(w * (u**2).sum(axis=1), wanted["leverage"], rtol=within)
    size = np.abs(wanted["fitted"]).max(axis=0)
    np.testing.assert_allclose((found.predict(X) - wanted["fitted"]) / size, 0, atol=within)
    np.testing.assert_allclose(found.sigma2, wanted["rss"] / wanted["dof"], rtol=within)
    coef, intercept = found.exact
    np.testing.assert_array_equal(coef.to_float64(), found.coef)
    np.testing.assert_array_equal(intercept.to_float64(), found.intercept)
    assert found.has_intercept == ask.intercept
    assert (found.n, found.alpha) == (len(X), ask.alpha)
    assert found.weight == pytest.approx(w.sum())
    assert found.log_weight == pytest.approx(np.log(w).sum())


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", SUMMARIES)
def test_a_solution_is_that_of_the_definition(name, asked):
    block, ask = even(rows()), ASKED[asked]
    found = ask.solve(SUMMARIES[name](block))
    is_that(found, *plain(block), ask)
    assert (found.rank, found.aliased, found.rank_is_certain) == (3, (), True)
    if not ask.alpha:
        np.testing.assert_array_equal(found.shrinkage, np.eye(len(found.shrinkage)))
        assert found.dof == found.n - 3 - ask.intercept


@pytest.mark.parametrize("name", SUMMARIES)
def test_unless_asked_nothing_is_penalised_and_never_the_intercept(name):
    summary = SUMMARIES[name](even(rows()))
    assert (summary.solve().alpha, summary.solve().form) == (0.0, "centred")
    assert summary.solve(0.7).form == "centred"
    assert summary.solve(0.7, penalize_intercept=True).form == "constant"
    assert summary.solve(penalize_intercept=True).form == "centred"


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("where", [0, 1, 3])
def test_of_columns_that_are_combinations_the_smallest_solution_is_given(name, asked, where):
    block, ask = even(rows()), ASKED[asked]
    X, Y, w = plain(block)
    X = np.insert(X, where, X[:, 0] - 2 * X[:, 2], axis=1)
    found = ask.solve(SUMMARIES[name](Block(X, Y, w)))
    is_that(found, X, Y, w, ask, 1e-7)
    assert found.rank == (4 if ask.alpha else 3)
    assert found.aliased == (() if ask.alpha else (3,))
    assert found.rank_is_certain == (name != "gram" or ask.alpha > 0)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", SUMMARIES)
def test_a_column_that_is_constant_or_zero(name, asked):
    block, ask = even(rows()), ASKED[asked]
    X, Y, w = plain(block)
    for value in (0.0, 5.0):
        Z = np.insert(X, 1, value, axis=1)
        found = ask.solve(SUMMARIES[name](Block(Z, Y, w)))
        idle = ask.alpha == 0 and (ask.intercept or value == 0)
        assert found.aliased == ((1,) if idle else ())
        if ask.intercept or value == 0:
            alone = by_definition(X, Y, w, ask)
            np.testing.assert_allclose(np.delete(found.coef, 1, axis=0), alone["coef"], rtol=1e-7) if not (
                ask.penalize_intercept and ask.alpha
            ) or value == 0 else None
        if value == 0:
            np.testing.assert_allclose(found.coef[1], 0.0, atol=1e-12)
            np.testing.assert_allclose(found.rss, alone["rss"], rtol=1e-9)
        assert found.rank_is_certain or (name == "gram" and value != 0)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_of_fewer_rows_than_columns_the_smallest_solution_is_given(name, asked, n):
    rng, ask = np.random.default_rng(n), ASKED[asked]
    X, Y, w = rng.standard_normal((n, 9)), rng.standard_normal((n, 2)), rng.choice([1.0, 4.0], n)
    found = ask.solve(SUMMARIES[name](Block(X, Y, w)))
    first, root, mean = int(ask.intercept), np.sqrt(w)[:, None], w / w.sum() * ask.intercept
    D = root * np.column_stack([np.ones(n), X])[:, 1 - first :]
    if ask.alpha:
        wanted = by_definition(X, Y, w, ask)
        np.testing.assert_allclose(found.rss, wanted["rss"], rtol=1e-9, atol=1e-20)
        covariance = found.inverse_root @ found.shrinkage @ found.inverse_root.T
        np.testing.assert_allclose(covariance, wanted["covariance"], atol=1e-10)
        coef, spent = wanted["coef"], D @ wanted["covariance"] @ D.T
        assert found.rank == 9
        assert found.dof == pytest.approx(wanted["dof"], abs=1e-10)
    else:
        coef = (
            np.linalg.pinv(root * (X - mean @ X), rcond=1e-10) @ (root * (Y - mean @ Y)) if n > first else 0 * X.T @ Y
        )
        spent = np.eye(n)
        np.testing.assert_allclose(found.rss, 0.0, atol=1e-13 if name == "gram" else 1e-20)
        assert np.isnan(found.sigma2).all()
        assert (found.rank, found.dof) == (n - first, 0.0)
    np.testing.assert_allclose(found.coef, coef, atol=1e-10)
    if not ask.penalize_intercept or not ask.alpha:
        np.testing.assert_allclose(found.intercept, mean @ Y - mean @ X @ coef, atol=1e-10)
    u = root * found.whitened_rows(X)
    np.testing.assert_allclose(u @ found.shrinkage @ u.T, spent, atol=1e-10)


@pytest.mark.parametrize("asked", ["centred", "plain", "ridge", "plain ridge"])
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("n", [3, 30])
def test_what_is_known_of_a_solution_does_not_depend_on_units(name, asked, n):
    block, ask = even(rows()), ASKED[asked]
    X, Y, w = (part[:n] for part in plain(block))
    X = np.column_stack([X, X[:, 0] + 1e-3 * X[:, 1] ** 2, X[:, 0] * X[:, 1]])
    a = ask.solve(SUMMARIES[name](Block(X, Y, w)))
    powers = np.full(5, 37) if ask.alpha else np.array([0, 70, -50, 7, 13]) if n > 9 else np.full(5, -9)
    moved = replace(ask, alpha=ask.alpha * 4.0 ** int(powers[0]))
    unit, y_unit = 2.0**powers, 2.0 ** np.array([-40, 55])
    b = moved.solve(SUMMARIES[name](Block(X * unit, Y * y_unit, w)))
    np.testing.assert_array_equal(b.coef, a.coef / unit[:, None] * y_unit)
    np.testing.assert_array_equal(b.intercept, a.intercept * y_unit)
    np.testing.assert_array_equal(b.rss, a.rss * y_unit**2)
    np.testing.assert_array_equal(b.tss, a.tss * y_unit**2)
    np.testing.assert_array_equal(b.shrinkage, a.shrinkage)
    assert (a.condition, a.digits, a.digits_of_relevant_coefs, a.dof) == (
        b.condition,
        b.digits,
        b.digits_of_relevant_coefs,
        b.dof,
    )


def exactly(X: np.ndarray, Y: np.ndarray, w: np.ndarray, intercept: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (the intercept first, if there is one) and residual sums of squares in fractions."""
    D = np.column_stack([np.ones(len(X)), X])[:, 1 - intercept :]
    D, Y, w = fractions(D), fractions(Y), fractions(w)
    b = solved((D.T * w) @ D, (D.T * w) @ Y)
    return b, w @ (Y - D @ b) ** 2


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-4, 1e-6])
def test_digits_that_are_promised_are_right_and_those_that_are_not_promised_are_few(name, near, intercept):
    rng = np.random.default_rng(0)
    X = rng.integers(-99, 99, (20, 3)) / 64 + [0.0, 8.0, 0.0]
    X[:, 2] = X[:, 0] + near * X[:, 2]
    Y = X[:, :2] @ rng.integers(-9, 9, (2, 2)) + rng.standard_normal((20, 2))
    w = rng.integers(1, 4, 20) * 0.5
    found = SUMMARIES[name](Block(X, Y, w)).select(None, intercept).solve()
    b, rss = exactly(X, Y, w, intercept)
    got = np.vstack([found.intercept[None], found.coef])[1 - intercept :]
    wrong = max(float(abs(t - s) / abs(s)) for t, s in zip(fractions(got).ravel(), b.ravel(), strict=True))
    wrong_rss = max(float(abs(t - s) / s) for t, s in zip(fractions(found.rss), rss, strict=True))
    assert max(wrong, wrong_rss) <= 10.0**-found.digits
    usual = EPS * (1 / near if name == "qr" else near**-2 if name == "gram" else EPS / near**2)
    assert found.digits >= min(-math.log10(usual) - 3.7, 15.6 if name == "extended" else 16)
    assert found.digits_of_relevant_coefs >= found.digits
    assert found.condition == pytest.approx(1 / near, rel=30)
    assert found.condition > 1 / near / 9


def test_a_coefficient_that_is_tiny_costs_digits_but_no_sound_ones():
    rng = np.random.default_rng(0)
    X, e = rng.standard_normal((50, 2)), rng.standard_normal(50)
    D = np.column_stack([np.ones(50), X])
    y = 5 * X[:, 0] + 1e-9 * X[:, 1] + 0.1 * (e - D @ np.linalg.lstsq(D, e, rcond=None)[0])
    for of in (Gram.of, QRFactor.of):
        found = of(Block(X, y)).solve()
        assert found.digits < 8
        assert found.digits_of_relevant_coefs > 10


def test_predictions_keep_the_digits_of_columns_far_from_zero():
    X = 1e9 + np.arange(8.0)[:, None] / 3
    y = np.sin(np.arange(8.0))
    found = Gram.of(Block(X, y), exact=True).solve()
    b, _ = exactly(X - 1e9, y[:, None], np.ones(8))
    wanted = np.array([float(b[0, 0] + b[1, 0] * Fraction(x - 1e9)) for x in X[:, 0]])
    np.testing.assert_allclose(found.predict(X)[:, 0], wanted, atol=1e-14)
    u = found.whitened_rows(X)
    about = X[:, 0] - 1e9 - float(np.mean(X[:, 0] - 1e9))
    np.testing.assert_allclose((u**2).sum(axis=1), 1 / 8 + about**2 / (about**2).sum(), rtol=1e-13)


def problem(D: np.ndarray, Y: np.ndarray, alpha: float = 0.0) -> Problem:
    zero = DoubleDouble.of(np.zeros(D.shape[1]))
    y_zero = DoubleDouble.of(np.zeros(Y.shape[1]))
    ones = np.ones(D.shape[1]), np.ones(Y.shape[1])
    return Problem("plain", len(D), float(len(D)), 0.0, *ones, zero, y_zero, (Y**2).sum(axis=0), alpha)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 2.0, 1e250, 1e-250])
@pytest.mark.parametrize("size", [1.0, 2.0**-17, 2.0**300, 2.0**-300])
def test_a_problem_of_any_size_is_solved_each_way(alpha, size):
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
    for found in (
        here.solve_qr(R * size, c, total - (c**2).sum(axis=0)),
        here.solve_normal(D.T @ D, D.T @ Y, total),
        here.solve_normal_extended(DoubleDouble.of(D.T @ D), DoubleDouble.of(D.T @ Y), DoubleDouble.of(total)),
    ):
        np.testing.assert_allclose(found.coef, (wanted / Fraction(size)).astype(float), rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(found.rss, rss.astype(float), rtol=1e-9)
        np.testing.assert_allclose(found.tss, total, rtol=1e-13)
        assert found.dof == pytest.approx(9 - float(spent), rel=1e-9)
        assert (found.intercept == 0).all()
        assert not found.has_intercept
        assert found.rank == 3


def test_the_intercept_is_a_combination_of_the_coefficients():
    rng = np.random.default_rng(0)
    mean, y_mean, size, y_size = (
        rng.standard_normal(3),
        rng.standard_normal(2),
        np.array([2.0, 8.0, 0.5]),
        np.array([4.0, 1]),
    )
    here = replace(
        problem(np.zeros((5, 3)), np.zeros((5, 2))),
        form="centred",
        mean=DoubleDouble.of(mean),
        y_mean=DoubleDouble.of(y_mean),
    )
    T, b = rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
    U, b_all = here._with_intercept(T, b, size, y_size)
    np.testing.assert_allclose(b_all[0] * y_size, y_mean - mean @ (b * y_size / size[:, None]), rtol=1e-12)
    np.testing.assert_allclose(U[0], -mean @ (T / size[:, None]), rtol=1e-12)
    np.testing.assert_array_equal(U[1:], T)
    np.testing.assert_array_equal(b_all[1:], b)
    for other in (replace(here, form="plain"), replace(here, form="constant")):
        assert other._with_intercept(T, b, size, y_size)[0] is T
    assert here._with_intercept(T[:2], b[:2], size, y_size)[1].shape == (2, 2)  # some were set aside


def test_an_exact_covariance_keeps_the_digits_of_near_columns_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.integers(-99, 99, (21, 2)) / 64 + [2.0**20, 1.0]
    X[:, 1] = X[:, 0] + X[:, 1] * 2.0**-20
    D = fractions(np.column_stack([np.ones(21), X]))
    wanted = solved(D.T @ D, fractions(np.eye(3))).astype(float)
    found = Gram.of(Block(X, X[:, 0] ** 2), exact=True).solve()
    np.testing.assert_allclose(found.inverse_root @ found.inverse_root.T, wanted, rtol=1e-12)


def test_unless_told_products_are_rounded_once():
    D, Y = np.random.default_rng(0).standard_normal((9, 2)), np.ones((9, 1))
    squares = np.append((D**2).sum(axis=0), 9.0)
    R, c = np.linalg.qr(D, mode="r"), np.linalg.qr(D)[0].T @ Y
    doubled = map(DoubleDouble.of, (D.T @ D, D.T @ Y, np.array([9.0])))
    for solve, normal, grain in (
        (problem(D, Y).solve_normal, (D.T @ D, D.T @ Y, np.array([9.0])), EPS),
        (problem(D, Y).solve_qr, (R, c, 9.0 - (c**2).sum(axis=0)), EPS**2),
        (problem(D, Y).solve_normal_extended, tuple(doubled), EPS**2),
    ):
        usual, same, worse = (
            solve(*normal, rounding=rounding) for rounding in (None, grain * squares, 1e20 * grain * squares)
        )
        assert (usual.digits, usual.error_digits) == pytest.approx((same.digits, same.error_digits))
        assert worse.digits < same.digits - 3
        assert worse.error_digits < same.error_digits - 3
        if solve.__name__ == "by_normal":
            spoilt = solve(*normal, rounding=np.append(EPS * squares[:2], 100 * EPS * 9.0))  # of the target alone
            assert same.digits - 2 < spoilt.digits < same.digits


def test_sums_of_products_that_no_rows_have_are_refused():
    A = np.array([[1e-300, 1e300], [1e300, 1e-300]])
    with pytest.raises(ValueError, match="not those of any rows"):
        problem(np.zeros((5, 2)), np.ones((5, 1))).solve_normal(A, np.ones((2, 1)), np.ones(1))


@pytest.mark.parametrize("doubled", [False, True])
def test_whitening_makes_columns_of_length_one_at_right_angles(doubled):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 9, (12, 4)) * [1.0, 64.0, 2.0**-9, 1.0]
    X[:, 3] = X[:, 0] - X[:, 1] / 2
    A = X.T @ X
    found = whiten(DoubleDouble.of(A) if doubled else A)
    assert found.aliased == (3,)
    assert found.root.shape == (4, 3)
    np.testing.assert_allclose(found.root.T @ A @ found.root, np.eye(3), atol=1e-10)
    assert not found.root[3].any()
    inverse = np.linalg.inv(A[:3, :3])
    np.testing.assert_allclose((found.root @ found.root.T)[:3, :3], inverse, rtol=1e-9, atol=1e-9 * inverse.max())
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(A[:3, :3])[1], rel=1e-12)
    size = np.sqrt(np.diagonal(A))[:3]
    assert found.condition == pytest.approx(np.sqrt(np.linalg.cond(A[:3, :3] / size / size[:, None])), rel=3)
    assert 1 <= found.condition < 9
    assert found.digits > 13
    empty = whiten(np.zeros((2, 2)))
    assert (empty.aliased, empty.root.shape, empty.log_determinant) == ((0, 1), (2, 0), 0.0)


@pytest.mark.parametrize("penalty", [[0.0, 0.0, 0.0, 0.0], [1e-3, 5.0, 0.1, 1e9], [2.0, 2.0, 2.0, 2.0]])
@pytest.mark.parametrize("n", [2, 4])
def test_a_penalty_is_so_many_more_rows(n, penalty):
    rng = np.random.default_rng(0)
    R, c, penalty = np.triu(rng.standard_normal((n, 4))), rng.standard_normal((n, 2)), np.array(penalty)
    A = fractions(R).T @ fractions(R) + np.diag(fractions(penalty) ** 2)
    for way in (solution._by_columns, solution._by_rows):
        if penalty[0] == 0 and (n < 4 or way is solution._by_rows):
            continue
        found, b, left = way(R, c, penalty)
        wanted = solved(A, fractions(R).T @ fractions(c))
        np.testing.assert_allclose(b, wanted.astype(float), rtol=1e-9)
        np.testing.assert_allclose(left, (fractions(c) - fractions(R) @ wanted).astype(float), rtol=1e-9, atol=1e-12)
        M = fractions(R) @ solved(A, fractions(R).T)
        np.testing.assert_allclose(R @ found.inverse_R @ found.inverse_R.T @ R.T, M.astype(float), atol=1e-12)
        assert found.kept.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kept", [[0], [1, 2], [0, 2, 3], [0, 1, 2, 4], []])
def test_the_coefficients_of_smallest_norm(kept):
    rng = np.random.default_rng(1)
    basis, unit = rng.standard_normal((len(kept), len(kept))), 2.0 ** np.array([0, 1, -1, 2, 0])
    aliased = [j for j in range(5) if j not in kept]
    combinations = rng.standard_normal((len(kept), len(aliased)))
    R = upper(basis) if kept else np.zeros((0, 0))
    found = solution.least_norm(PivotedTriangle(R, R, kept, aliased, R @ combinations), unit)
    D = np.zeros((len(kept), 5))
    D[:, kept], D[:, aliased] = R, R @ combinations
    D *= unit  # columns in the user's units
    wanted = np.linalg.pinv(D, rcond=1e-10) @ D[:, kept]
    np.testing.assert_allclose(found, wanted, atol=1e-11)


@pytest.mark.parametrize("singular", [False, True])
def test_the_triangle_of_a_normal_matrix(singular):
    rng = np.random.default_rng(0)
    D, Y = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    D[:, 0] = 0.0 if singular else D[:, 0]
    D[:, 3] = D[:, 1] + D[:, 2] if singular else D[:, 3]
    D /= 4
    A, C, total = D.T @ D, D.T @ Y, (Y**2).sum(axis=0)
    R, c, rest, tolerance = solution._triangle_of(A, C, total)
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, A, atol=1e-14)
    np.testing.assert_allclose(R.T @ c, C, atol=1e-14)
    fitted = D @ np.linalg.lstsq(D, Y, rcond=1e-10)[0]
    np.testing.assert_allclose(rest, ((Y - fitted) ** 2).sum(axis=0), rtol=1e-12)
    assert len(R) == (2 if singular else 4)
    assert tolerance < 1e-5
    assert not singular or not R[:, 0].any()
    _, _, none, _ = solution._triangle_of(A, C, np.zeros(2))
    np.testing.assert_array_equal(none, 0.0)  # never below


def test_digits_of_an_error():
    assert [solution.digits_of_error(t) for t in (1e-5, 1.0, 30.0, 0.0, 1e-20)] == [
        pytest.approx(5.0),
        0.0,
        0.0,
        16.0,
        16.0,
    ]


def test_rounding_errors_add_up_like_lengths():
    T, b = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[0.0, 0.0], [0.0, 4.0]])
    h, load = solution._noise(np.array([5.0, 1.0, 7.0, 3.0, 3.0]), np.array([1, 2]), b)
    assert (h.tolist(), load.tolist()) == ([1.0, 7.0], [3.0, 31.0])
    np.testing.assert_allclose(solution._lengths(T, h[:, None] * np.eye(2))[:, 0], [np.hypot(3.0, 28.0), 14.0])
    squares = solution._error_of_squares(np.array([5.0, 1.0, 7.0, 3.0, 3.0]), h, b)
    np.testing.assert_allclose(squares, [9.0, math.sqrt(81 + 4 * 9 * 784 + 2 * 784**2)])


def test_trust_is_that_of_the_weakest_and_of_those_that_matter():
    reach = np.full((2, 1), 2.0)
    trust = solution._trust
    error = np.full((2, 1), 1e-10)
    assert trust(reach, np.array([[1.0], [0.01]]), error, 0.0) == (pytest.approx(8.0), pytest.approx(8.0))
    weakest, matter = trust(reach, np.array([[1.0], [1e-7]]), error, 0.0)
    assert weakest == pytest.approx(3.0)
    assert 3 < matter < 8
    # Zero up to rounding: measured against what it could be at most.
    assert trust(5 * reach, np.array([[10.0], [0.0]]), error, 0.0)[0] == pytest.approx(11.0)
    assert trust(reach, np.array([[1.0], [0.01]]), error, 1e-6) == (pytest.approx(6.0), pytest.approx(6.0))
    assert trust(reach * 0, np.zeros((2, 1)), error, 0.0) == (16.0, 16.0)
    assert solution._largest_ratio(np.array([[3.0], [1.0]]), np.array([[4.0], [0.0]])) == 0.75
    assert solution._largest_ratio(np.zeros((0, 1)), np.zeros((0, 1))) == 0.0


# --- the ladder ----------------------------------------------------------------------------------------


class Few:
    """Rows in two blocks, of so many names, that can be told to come once only."""

    def __init__(self, block: Block, names: int = 0, one_shot: bool = False) -> None:
        self.blocks = [block.take(slice(0, 11)), block.take(slice(11, None))]
        self.names, self.one_shot = ("x",) * (names or block.X.shape[1]), one_shot

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def reduce(self, f: Callable[[Block], object]) -> object:
        first, second = map(f, self.blocks)
        return first + second


class Endless:
    """Rows that nobody has counted."""

    def __init__(self, names: int) -> None:
        self.names = ("x",) * names


@pytest.mark.parametrize(
    ("rows", "method", "wanted"),
    [
        (Endless(3), "gram", ("gram",)),
        (Endless(3), "auto", ("gram", "extended")),
        (Endless(128), "auto", ("gram", "extended")),
        (Endless(129), "auto", ("auto", "qr", "extended")),
        (Endless(1000), "auto", ("auto", "qr", "extended")),
        (Endless(1001), "auto", ("auto", "qr")),
        (Few(rows(), 200), "auto", ("qr", "extended")),
        (Few(rows(200), 200), "auto", ("qr", "extended")),
        (Few(rows(201), 200), "auto", ("gram", "qr", "extended")),
        (Few(rows(), 2000), "auto", ("qr",)),
        (Few(rows(), one_shot=True), "auto", ("qr",)),
        (Few(rows(), one_shot=True), "extended", ("extended",)),
    ],
)
def test_the_rungs_of_the_ladder(rows, method, wanted):
    assert ladder.candidate_methods(rows, method) == wanted


def test_each_method_has_its_summary():
    block = rows()
    assert isinstance(Summarize("qr")(block), QRFactor)
    assert Summarize("extended")(block).exact
    for summary in (Summarize("gram")(block), Summarize("auto")(block).summary):
        assert isinstance(summary, Gram)
        assert not summary.is_extended
    assert [Summarize(m).takes_columns for m in ("auto", "gram", "qr", "extended")] == [True, True, False, False]


def test_the_ladder_is_climbed_until_it_is_enough():
    block = even(rows())
    low = ladder.solve_adaptively(Few(block), RidgeProblem())
    assert (low.method, low.passes, type(low.summary)) == ("gram", 1, Gram)
    near = replace(block, X=np.column_stack([block.X, block.X[:, 0] + 1e-5 * block.X[:, 1]])[:, [0, 2, 3]])
    high = ladder.solve_adaptively(Few(near), RidgeProblem())
    assert (high.method, high.passes) == ("extended", 2)
    assert ladder.solve_adaptively(Few(near), RidgeProblem(), "gram").method == "gram"
    asked = ladder.solve_adaptively(Few(block), RidgeProblem(), "extended")
    assert (asked.method, asked.passes) == ("extended", 2)
    ridge = ladder.solve_adaptively(Few(block), RidgeProblem(0.5), "extended")
    assert (ridge.method, ridge.passes) == ("extended", 1)
    is_that(ridge.solution, *plain(block), RidgeProblem(0.5))
    is_that(asked.solution, *plain(block), RidgeProblem())


def test_an_exact_gram_that_is_not_exact_enough_is_refined():
    rng = np.random.default_rng(0)
    X = rng.integers(-99, 99, (20, 2)) / 64
    X[:, 1] = X[:, 0] + X[:, 1] * 2.0**-34
    block = Block(X, X[:, :1] + rng.integers(-99, 99, (20, 1)) / 64)
    found = ladder.solve_adaptively(Few(block), RidgeProblem())
    assert (found.method, found.passes) == ("extended", 3)
    b, rss = exactly(X, block.y, np.ones(20))
    np.testing.assert_allclose(found.solution.coef, b[1:].astype(float), rtol=1e-15)
    np.testing.assert_allclose(found.solution.rss, rss.astype(float), rtol=1e-14)
    assert found.solution.digits > 15
    assert RidgeProblem() == RidgeProblem(alpha=0.0, intercept=True, penalize_intercept=False)


def test_enough_is_ten_digits_and_a_rank_that_is_known():
    found = RidgeProblem().solve(Gram.of(even(rows())))
    assert ladder.is_accurate_enough(replace(found, digits_of_relevant_coefs=10.0))
    assert not ladder.is_accurate_enough(replace(found, digits_of_relevant_coefs=9.9))
    assert not ladder.is_accurate_enough(replace(found, sure=False))


def test_too_little_to_learn_from_is_refused():
    X = np.ones((3, 1))
    with pytest.raises(ValueError, match="no rows of positive weight"):
        ladder.check_has_rows_and_targets(Gram.of(Block(X, np.ones(3), np.zeros(3))))
    with pytest.raises(ValueError, match="no targets"):
        ladder.check_has_rows_and_targets(Gram.of(Block(X)))
    ladder.check_has_rows_and_targets(Gram.of(Block(X, np.ones(3))))
    with pytest.raises(ValueError, match="no rows of positive weight"):
        ladder.solve_adaptively(Few(Block(np.ones((20, 1)), np.ones(20), np.zeros(20))), RidgeProblem())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("wrong", [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize("weighted", [True, False])
def test_one_step_from_the_residuals_corrects_and_measures_a_solution(intercept, wrong, weighted):
    block = rows(20, weighted=weighted)
    gram = Gram.of(block, exact=True).select(None, intercept)
    start = gram.solve()
    coef, constant = start.exact
    factor = 1 + wrong * np.array([[1.0, -0.5], [-0.7, 0.2], [0.1, 0.9]])
    if intercept:
        moved = (start.mean[:, None] * (coef * factor - coef)).sum()
        constant = constant * (1 + 1e-6 * wrong) - moved
    off = replace(start, exact=(coef * factor, constant))
    found = ladder.refine(Few(block), gram, off)
    b, rss = exactly(*plain(block), intercept)
    size = float(np.abs(b.astype(float)).max())
    for j in range(3):
        close(found.exact[0][j], b[j + intercept], max(1e-12 * wrong, 1e-26))
    if intercept:
        close(found.exact[1], b[0], max(1e-11 * wrong, 1e-26) * size)
        assert found.intercept == pytest.approx(b[0].astype(float), rel=1e-14)
    else:
        assert not found.intercept.any()
    np.testing.assert_array_equal(found.coef, found.exact[0].to_float64())
    np.testing.assert_allclose(found.rss, rss.astype(float), rtol=1e-13 if wrong < 1e-5 else 1e-9)
    assert found.digits == found.digits_of_relevant_coefs
    if wrong == 1e-4:
        assert found.digits == pytest.approx(8.0, abs=0.3)  # what was wrong, squared
    else:
        assert found.digits > 15


@pytest.mark.parametrize("feature", range(3))
def test_each_coefficient_that_was_wrong_is_noticed(feature):
    block = rows(20)
    gram = Gram.of(block, exact=True).select(None, False)
    start = gram.solve()
    factor = np.ones((3, 2))
    factor[feature, 1] = 1 - 1e-4
    found = ladder.refine(Few(block), gram, replace(start, exact=(start.exact[0] * factor, start.exact[1])))
    assert found.digits == pytest.approx(8.0, abs=0.3)


@pytest.mark.parametrize(("unit", "y_unit"), [(1.0, 1.0), (2.0**40, 2.0**-30)])
def test_a_coefficient_of_zero_is_measured_against_what_it_could_be(unit, y_unit):
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] * 5)
    y = 3 * X[:, 0] + X[:, 0] * X[:, 1]  # at right angles to the second column
    block = Block(X * unit, y * y_unit)
    gram = Gram.of(block, exact=True).select(None, False)
    start = gram.solve()
    off = start.exact[0] + np.array([[0.0], [1e-20]]) * y_unit / unit
    found = ladder.refine(Few(block), gram, replace(start, exact=(off, start.exact[1])))
    most = math.sqrt(10.0)  # the length of y over that of the column
    assert found.digits == pytest.approx(-2 * math.log10(1e-20 / (EPS * most)), abs=1e-3)
    assert abs(found.coef[1, 0]) < 1e-30 * y_unit / unit


def warned(found: Solution, method: str = "gram", **options: bool) -> list[tuple[type, str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ladder.warn_rank_and_precision(found, [f"c{j}" for j in range(20)], method, **options)
    return [(w.category, str(w.message)) for w in caught]


def test_a_user_is_told_of_columns_that_are_combinations():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    assert warned(fine) == []
    [(kind, told)] = warned(replace(fine, aliased=(1, 3)))
    assert kind is np.exceptions.RankWarning
    assert told.startswith("'c1', 'c3': constant or a combination of the columns before.")
    [(_, told)] = warned(replace(fine, aliased=(1,), sure=False), "qr")
    assert "(as far as method 'qr' can tell)" in told
    [(_, told)] = warned(replace(fine, aliased=tuple(range(8))))
    assert told.startswith("'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7': constant")
    [(_, told)] = warned(replace(fine, aliased=tuple(range(10))))
    assert "'c7' and 2 more: " in told
    assert "'c8'" not in told


def test_a_user_is_told_of_lost_digits():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    poor = replace(fine, digits=6.2, digits_of_relevant_coefs=7.0)
    [(kind, told)] = warned(poor)
    assert kind is PrecisionWarning
    assert told.startswith("Only about 6 digits can be trusted")
    assert told.endswith('method="extended" gives more.')
    assert warned(poor, free=False)[0][1].endswith("Larger alphas, or fewer columns, give more.")
    assert warned(poor, "extended")[0][1].endswith("Dropping or combining columns gives more.")
    assert warned(replace(fine, digits_of_relevant_coefs=10.0, digits=3.0)) == []
    # A perfect fit has no digits in its residuals, unless its columns are too close to each other.
    perfect = replace(poor, rss=poor.tss * 1e-29)
    assert warned(perfect) == []
    assert len(warned(replace(perfect, condition=1e6))) == 1
    assert len(warned(replace(perfect, rss=poor.tss * [1e-29, 1e-3]))) == 1


def test_a_user_is_told_of_standard_errors_that_lost_digits():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    assert warned(replace(fine, error_digits=10.0), "extended") == []
    poor = replace(fine, error_digits=7.2)
    assert not ladder.is_accurate_enough(poor)
    for method, remedy in (("extended", "drop or combine columns."), ("qr", 'method="extended" gives more.')):
        [(kind, told)] = warned(poor, method)
        assert kind is PrecisionWarning
        assert told.startswith("Only about 7 digits of the standard errors")
        assert told.endswith(remedy)
    assert warned(poor, errors=False) == []
    assert warned(poor, free=False)[0][1].endswith("drop or combine columns.")
    # A model file written before says so by its condition only.
    older = replace(fine, error_digits=None, condition=1e12)
    assert ladder.digits_of_standard_errors(older) == pytest.approx(-2 * math.log10(EPS * 1e12))
    assert ladder.digits_of_standard_errors(replace(older, condition=0.0)) == 16.0
    assert ladder.digits_of_standard_errors(replace(older, condition=1e17)) == 0.0


def test_a_user_is_told_of_squares_that_leave_float64():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    assert not ladder._squares_overflow(fine)
    none = np.zeros(2)
    for lost in (
        replace(fine, tss=np.array([1.0, np.inf])),
        replace(fine, tss=none, rss=none),
        replace(fine, tss=none, rss=none, coef=-np.abs(fine.coef)),
        replace(fine, tss=np.array([1.0, 0.0]), rss=np.array([0.5, 0.0])),
        replace(fine, rss=np.array([1e-310, 1.0])),
        replace(fine, tss=np.full(2, 1e-305), rss=none),
    ):
        assert ladder._squares_overflow(lost)
        assert (PrecisionWarning, warned(lost)[-1][1]) == warned(lost)[-1]
        assert warned(lost)[-1][1].startswith("The squares of y leave float64")
    for kept in (
        replace(fine, rss=none),
        replace(fine, tss=none, rss=none, coef=0 * fine.coef),
        replace(fine, tss=np.array([1.0, 0.0]), rss=np.array([0.5, 0.0]), coef=fine.coef * [1.0, 0.0]),
        replace(fine, tss=none, rss=fine.rss),
    ):
        assert not ladder._squares_overflow(kept)


def test_coefficients_beyond_float64_are_refused_by_name():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    ladder.check_coefficients_finite(fine, "abc")
    coef = fine.coef.copy()
    coef[1, 1] = np.inf
    with pytest.raises(ValueError, match="The coefficient of 'b' is beyond float64"):
        ladder.check_coefficients_finite(replace(fine, coef=coef), "abc")
    with pytest.raises(ValueError, match="The intercept is beyond float64"):
        ladder.check_coefficients_finite(replace(fine, intercept=np.array([1.0, np.nan])), "abc")
