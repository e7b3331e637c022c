"""Integer algebra against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from least_squares_oracles import (
    fractions,
    solved,
)

from linearly.algorithm.separability import integer_algebra

PRIME = 67108859  # the first that exact elimination takes


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


@pytest.mark.parametrize("spread", [0, 8, 11, 12, 70, 900])  # from 11 on int64 is too short
def test_as_integers_gives_odd_integers_and_their_exponents(spread):
    M = np.array([[1 + 2.0**-52, 3.0, 0.0], [2.0**spread, 0.0, 0.0], [-(2.0**-5), -12.0, -0.0]])
    N, e = integer_algebra.as_integers(M)
    assert (fractions(N.astype(object)) * [Fraction(2) ** int(t) for t in e] == fractions(M)).all()
    assert (N[:, :2] % 2 == 1).any(axis=0).all()
    assert e.tolist() == [-52, 0, 0]
    assert N.dtype == (np.int64 if spread <= 8 else object)


def test_as_integers_of_the_largest_and_smallest_floats():
    M = np.array([[5e-324, 1.7976931348623157e308], [-3 * 5e-324, 2.0**1000]])
    N, e = integer_algebra.as_integers(M)
    assert e.tolist() == [-1074, 971]
    assert N.tolist() == [[1, 2**53 - 1], [-3, 2**29]]
    N, e = integer_algebra.as_integers(np.zeros((0, 2)))
    assert N.shape == (0, 2)
    assert e.tolist() == [0, 0]


def test_primes_are_the_largest_below_their_digit():
    primes = [
        q
        for q in range(2**integer_algebra._DIGIT - 1, 2**integer_algebra._DIGIT - 200, -1)
        if all(q % d for d in range(2, 8192))
    ]
    assert list(integer_algebra._PRIMES) == primes[: len(integer_algebra._PRIMES)]


def test_to_python_ints_does_not_overflow():
    assert integer_algebra.to_python_ints(np.array([[3, -5], [1, 0]]), np.array([70, 1])).tolist() == [
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
def test_product_never_overflows(A, B, small):
    found = integer_algebra.product(np.array(A), np.array(B))
    assert found.tolist() == [
        [sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*B, strict=True)] for row in A
    ]
    assert (found.dtype == np.int64) == small
    for one, other in ((A, np.array(B)), (np.array(A), B)):
        mixed = integer_algebra.product(np.array(one, dtype=object), np.array(other, dtype=object))
        assert mixed.tolist() == found.tolist()
    half = integer_algebra.product(np.array(A, dtype=object), np.array(B))
    assert half.dtype == object
    assert half.tolist() == found.tolist() == integer_algebra.product(np.array(A), np.array(B, dtype=object)).tolist()


@pytest.mark.parametrize(("v", "wanted"), [([6, -9, 0], [2, -3, 0]), ([0, 0], [0, 0]), ([4, 6], [2, 3]), ([3], [1])])
def test_divide_by_gcd_leaves_no_common_divisor(v, wanted):
    assert integer_algebra.divide_by_gcd(np.array(v, dtype=object)).tolist() == wanted


def test_elimination_returns_the_inverse_of_the_pivot_block():
    R = np.array([[0, 0, 0, 0], [0, 3, 5, 1], [0, 6, 10, 2], [2, 1, 1, 4], [7, 7, 1, 2]])
    for q in (101, PRIME):
        rows, pivots, inverse = integer_algebra._eliminate(R % q, q)
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
def test_null_space_is_complete_and_in_the_smallest_integers(R):
    B, pivots = integer_algebra.null_space(R)
    free = [j for j in range(R.shape[1]) if j not in pivots]
    assert len(pivots) == rank(R) == rank(R[:, pivots])
    assert B.shape == (R.shape[1], len(free))
    assert not (R @ B).any()
    for f, column in enumerate(B.T):
        assert math.gcd(*column) == 1
        assert column[free[f]] > 0
        assert not np.delete(column[free], f).any()


def test_pivots_are_the_first_independent_columns():
    R = np.array([[0, 2, 4, 1, 0], [0, 1, 2, 1, 5], [0, 3, 6, 2, 5]], dtype=object)
    assert integer_algebra.null_space(R)[1].tolist() == [1, 3]
    assert integer_algebra.null_space(np.array([[1, 2, 3], [4, 5, 6]]))[1].tolist() == [0, 1]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("bits", [3, 40, 53, 400])
def test_hensel_lift_solves_in_integers(k, bits):
    rng = np.random.default_rng(k)
    N = np.array([[int(t) << max(bits - 50, 0) for t in row] for row in rng.integers(-(2**50), 2**50, (k, k))])
    N = (
        N.astype(object) + rng.integers(-99, 99, (k, k)).astype(object)
        if bits > 50
        else (N.astype(object) >> 50 - bits)
    )
    N = N + np.eye(k, dtype=int).astype(object) * (1 << bits)
    F = rng.integers(-(2**30), 2**30, (k, 2)).astype(object)
    rows, pivots, inverse = integer_algebra._eliminate((N % PRIME).astype(np.int64), PRIME)
    assert len(pivots) == k
    S, d = integer_algebra._hensel_lift(N[np.ix_(rows, pivots)], F[rows], inverse, PRIME)
    assert (d > 0).all()
    assert (fractions(S) / fractions(d) == solved(fractions(N), fractions(F))).all()


@pytest.mark.parametrize("bits", [5, 20, 26])
def test_limbs_represent_the_integers(bits):
    N = np.array([[0, -1, 2**bits - 1], [2**bits, -(3**50), 7**40]], dtype=object)
    limbs = integer_algebra._limbs(N, bits)
    assert all((np.abs(limb) < 2**bits).all() for limb in limbs)
    spelt = sum(limb.astype(np.int64).astype(object) << bits * i for i, limb in enumerate(limbs))
    assert spelt.tolist() == N.tolist()
    assert len(limbs) == -(-(7**40).bit_length() // bits)


def digits_of(numerators: list[list[int]], denominators: list[int], q: int, length: int) -> list[np.ndarray]:
    modulus = q**length
    x = [[t * pow(d, -1, modulus) % modulus for t, d in zip(row, denominators, strict=True)] for row in numerators]
    return [np.array([[t // q**i % q for t in row] for row in x], dtype=np.float64) for i in range(length)]


@pytest.mark.parametrize("length", [4, 5, 7, 8])
def test_fractions_are_recovered_from_their_digits(length):
    numerators, denominators = [[1, -7], [0, 15], [-123456, 2], [5, 10]], [12, 35]
    S, d = integer_algebra._rational(digits_of(numerators, denominators, PRIME, length), PRIME)
    assert d.tolist() == denominators  # the least that will do
    found = fractions(S) / fractions(d)
    assert found.tolist() == [[Fraction(t, b) for t, b in zip(row, denominators, strict=True)] for row in numerators]


def test_fractions_too_long_for_their_digits_are_not_recovered():
    assert integer_algebra._rational(digits_of([[10**30]], [10**29 + 1], PRIME, 4), PRIME) is None
    S, d = integer_algebra._rational(digits_of([[10**30]], [10**29 + 1], PRIME, 10), PRIME)
    assert Fraction(S[0, 0], d[0]) == Fraction(10**30, 10**29 + 1)


def test_remainders_are_centred_at_zero():
    assert [integer_algebra._centred(t, 7) for t in range(-4, 8)] == [3, -3, -2, -1, 0, 1, 2, 3, -3, -2, -1, 0]
    assert [integer_algebra._centred(t, 8) for t in range(8)] == [0, 1, 2, 3, 4, -3, -2, -1]


def test_denominator_is_the_least_that_makes_a_remainder_short():
    modulus = 10007
    for short in (20, 60):
        for t in range(1, modulus, 37):
            d = integer_algebra._denominator(t, modulus, short)
            assert 0 <= d <= short
            if d:
                assert abs(integer_algebra._centred(d * t, modulus)) <= short
            least = next((d for d in range(1, short + 1) if abs(integer_algebra._centred(d * t, modulus)) <= short), 0)
            if least * short * 2 < modulus:
                assert (d == 0) == (least == 0) or d == least
