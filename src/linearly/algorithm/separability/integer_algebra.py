"""Linear algebra in integers. A float is an integer times a power of two, so nothing is rounded.

`as_integers` turns columns of floats into integers, `null_space` solves R v = 0 in integers. The solver lifts the
solution digit by digit in base q, q a prime (J. D. Dixon 1982): one inverse modulo q, then one matrix-vector product
per digit, all in float64 products that are exact because they stay below 2⁵³. 51 unknowns of 53 bits take 0.03 s,
where elimination in fractions takes 1.2 s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.separability.budget import spend_work

Integers = NDArray[Any]
"""Integers: int64 where they fit, Python integers (dtype object) otherwise."""

# The largest primes below 2²⁶. One is enough unless it happens to divide a pivot; then the next is tried.
_PRIMES = (67108859, 67108837, 67108819, 67108777, 67108763, 67108757)
_DIGIT = 26


def as_integers(M: NDArray[np.float64]) -> tuple[Integers, NDArray[np.int64]]:
    """Return integers N and exponents e with M[i, j] = N[i, j]·2^e[j] exactly, e as large as possible."""
    mantissa, exponent = np.frexp(M)
    N = np.ldexp(mantissa, 53).astype(np.int64)
    low = np.frexp((N & -N).astype(np.float64))[1] - 1  # trailing zero bits; −1 where N = 0
    zero = N == 0
    N >>= np.where(zero, 0, low)
    place = exponent.astype(np.int64) - 53 + low
    e = np.where(zero, 4096, place).min(axis=0, initial=4096)
    e[e == 4096] = 0
    shift = np.where(zero, 0, place - e)
    width = np.where(zero, 0, exponent - e).max(initial=0)
    if width < 62:
        return N << shift, e
    return N.astype(object) << shift.astype(object), e


def to_python_ints(N: Integers, shift: NDArray[np.int64]) -> Integers:
    """Return N[:, j]·2^shift[j] as Python integers, which cannot overflow."""
    wide: Integers = N.astype(object) << shift.astype(object)
    return wide


def product(A: Integers, B: Integers) -> Integers:
    """Return A B, in int64 if no sum can overflow, else in Python integers."""
    if A.dtype != object and B.dtype != object:
        bound = np.abs(A).astype(np.float64).max(axis=0, initial=0) @ np.abs(B).astype(np.float64)
        if np.max(bound, initial=0) < 2.0**62:
            return A @ B
    spend_work(100 * A.size * (B.size // max(len(B), 1)))
    return np.asarray(A.astype(object) @ B.astype(object))


def divide_by_gcd(v: Integers) -> Integers:
    """Return v divided by the greatest common divisor of its entries."""
    d = math.gcd(*(int(t) for t in v))
    return v if d <= 1 else v // d


def null_space(R: Integers) -> tuple[Integers, NDArray[np.intp]]:
    """Return integer columns B that span {v : R v = 0} exactly, and the pivot columns of R (as many as its rank).

    Column f of B belongs to the f-th column that is no pivot: positive there and zero at the other free columns.
    The rank is proven: modulo a prime it can only be too small, and then some column of B would not satisfy R v = 0.
    """
    R = R.astype(object)
    content = np.array([math.gcd(*row) or 1 for row in R.tolist()], dtype=object)
    R = R // content[:, None] if len(R) else R
    for q in _PRIMES:
        rows, pivots, inverse = _eliminate((R % q).astype(np.int64), q)
        free = np.setdiff1d(np.arange(R.shape[1]), pivots)
        B = np.zeros((R.shape[1], len(free)), dtype=object)
        if len(free):
            solution, denominator = _hensel_lift(R[np.ix_(rows, pivots)], R[np.ix_(rows, free)], inverse, q)
            B[pivots] = -solution
            B[free, np.arange(len(free))] = denominator
            B = np.column_stack([divide_by_gcd(b) for b in B.T])
        if not product(R, B).any():
            return B, pivots
    raise ArithmeticError(
        "The rational elimination failed, because each of six primes divides a pivot. Multiply a column by another "
        "constant, and try again."
    )  # pragma: no cover


def _eliminate(R: NDArray[np.int64], q: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Return pivot rows and columns of R modulo q, and the inverse modulo q of the block where they cross."""
    r, c = R.shape
    # Carrying the identity along records the row operations; pivot rows are only ever mixed with pivot rows.
    R = np.hstack([R, np.eye(r, dtype=np.int64)])
    rows: list[int] = []
    pivots: list[int] = []
    open_rows = np.ones(r, dtype=bool)
    for j in range(c):
        spend_work(4 * R.size)
        candidates = np.flatnonzero(open_rows & (R[:, j] != 0))
        if not len(candidates):
            continue
        i = int(candidates[0])
        open_rows[i] = False
        rows.append(i)
        pivots.append(j)
        R[i] = R[i] * pow(int(R[i, j]), -1, q) % q
        others = np.flatnonzero(R[:, j])
        others = others[others != i]
        # Entries stay below 2²⁶, so the products stay below 2⁵² and int64 does not overflow.
        R[others] = (R[others] - R[others, j, None] * R[i]) % q
        if len(rows) == r:
            break
    at = np.array(rows, dtype=np.intp)
    return at, np.array(pivots, dtype=np.intp), R[np.ix_(at, c + at)]


def _hensel_lift(N: Integers, F: Integers, inverse: NDArray[np.int64], q: int) -> tuple[Integers, Integers]:
    """Return integers S and d > 0 (one d per column) with N S = F d; N has an inverse modulo q."""
    k = len(N)
    if not k:
        return np.zeros((0, F.shape[1]), dtype=object), np.full(F.shape[1], 1, dtype=object)
    # A limb times a digit, summed k times, must stay below 2⁵².
    bits = 52 - _DIGIT - max(1, k - 1).bit_length()
    limbs = _limbs(N, bits)
    inverse_limbs = _limbs(inverse.astype(object), bits)
    size = max(int(abs(t)).bit_length() for t in np.concatenate([N.ravel(), F.ravel()]))
    # Cramer's rule and Hadamard's bound: numerators and denominators are below 2^(k·(size + ½ log₂ k)).
    enough = (k * (2 * size + k.bit_length()) + 42) // (_DIGIT - 1) + 1
    digits: list[NDArray[np.float64]] = []
    residual = F
    check_at = 4
    while True:
        spend_work(k * (k * (len(limbs) + len(inverse_limbs)) + 1000 * F.shape[1]))
        r = (residual % q).astype(np.float64)
        x = np.zeros(r.shape)
        for part in reversed(inverse_limbs):
            x = (x * 2.0**bits + part @ r) % q
        digits.append(x)
        if len(limbs) > 12:  # entries far beyond 53 bits: Python's own products are faster
            step = N @ x.astype(np.int64).astype(object)
        else:
            step = np.zeros(r.shape, dtype=object)
            for part in reversed(limbs):
                step = (step << bits) + (part @ x).astype(np.int64).astype(object)
        residual = (residual - step) // q
        if len(digits) == check_at:  # small answers, which are frequent, show early
            answer = _rational(digits, q)
            if answer is not None and not (product(N, answer[0]) - F * answer[1]).any():
                return answer
            check_at = enough if check_at < enough < 2 * check_at else 2 * check_at


def _limbs(N: Integers, bits: int) -> list[NDArray[np.float64]]:
    """Return float64 matrices below 2^bits with N = Σ limb·2^(bits·index)."""
    sign = np.where(N < 0, -1, 1)
    rest = np.abs(N)
    limbs = []
    while True:
        limbs.append((rest & ((1 << bits) - 1)).astype(np.float64) * sign)
        rest = rest >> bits
        if not rest.any():
            return limbs


def _rational(digits: list[NDArray[np.float64]], q: int) -> tuple[Integers, Integers] | None:
    """Return numerators and one denominator per column of the fractions with these digits in base q, if short."""
    places = [digit.astype(np.int64).astype(object) for digit in digits]
    base = q
    while len(places) > 1:  # neighbours first: long numbers meet only at the end
        pairs = [low + high * base for low, high in zip(places[::2], places[1::2], strict=False)]
        places = pairs + places[2 * len(pairs) :]
        base *= base
    x = places[0]
    modulus = q ** len(digits)
    # A wrong guess has numerator times denominator near the modulus; 40 bits less happen by chance once in 2⁴⁰.
    short = math.isqrt(modulus >> 40)
    denominators = []
    for j in range(x.shape[1]):
        d = 1
        found: list[tuple[int, int]] = []
        for t in x[:, j].tolist():
            value = _centred(t * d, modulus)
            if abs(value) > short:
                d *= _denominator(value % modulus, modulus, short)
                value = _centred(t * d, modulus)
                if d == 0 or d > short or abs(value) > short:
                    return None
            found.append((value, d))
        x[:, j] = [value * (d // then) for value, then in found]
        denominators.append(d)
    return x, np.array(denominators, dtype=object)


def _centred(t: int, modulus: int) -> int:
    t %= modulus
    return t - modulus if 2 * t > modulus else t


def _denominator(t: int, modulus: int, short: int) -> int:
    """Return the d for which d·t is short modulo the modulus, by Euclid's algorithm; 0 if there is none."""
    a, b, u, v = modulus, t, 0, 1
    while b > short:
        quotient = a // b
        a, b, u, v = b, a - quotient * b, v, u - quotient * v
    return abs(v) if abs(v) <= short else 0
