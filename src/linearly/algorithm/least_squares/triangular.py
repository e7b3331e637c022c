"""Factor and solve small triangular systems, in float64 or double-double."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.linalg import lapack

from linearly.kernels.double_double import EPS as EPS
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, map_parts, to_float64
from linearly.kernels.reference import upper as upper

# A column counts as a combination of those before it if the part outside them is below this fraction of its length.
# Columns computed in float64 from others leave about 1e-16; NIST's Filip, which has full rank, leaves 1e-10.
RANK_TOL = 1e-13
ROUNDING = 64 * EPS
DOUBTFUL = 1e-3  # a column that keeps more than this fraction of its length is not a combination of others
HUGE = 2.0**400  # its square, times a few thousand, is still a float64


def solve_triangular(R: Numbers, B: Numbers, *, transposed: bool = False) -> Numbers:
    """Return R⁻¹B, or R⁻ᵀB, for upper triangular R."""
    if 0 in B.shape:
        return B
    if not isinstance(R, DoubleDouble):
        # LAPACK directly: the checks of SciPy's `solve_triangular` take six times as long on small triangles.
        solved, zero_at = lapack.dtrtrs(R, B, trans=int(transposed))
        if zero_at > 0:
            raise np.linalg.LinAlgError(
                f"The triangular matrix is singular, because diagonal entry {zero_at - 1} is zero. Drop columns "
                "that are combinations of others."
            )
        return solved
    rest, q = DoubleDouble.of(B), len(R)
    high, low = rest.high.copy(), rest.low.copy()
    for j in range(q) if transposed else reversed(range(q)):
        x = DoubleDouble(high[j], low[j]) / R[j, j]
        high[j], low[j] = x.high, x.low
        others = slice(j + 1, q) if transposed else slice(0, j)
        column = R[j, others] if transposed else R[others, j]
        left = DoubleDouble(high[others], low[others]) - column[:, None] * x[None, :]
        high[others], low[others] = left.high, left.low
    return DoubleDouble(high, low)


def inverse(R: Numbers) -> Numbers:
    """Return R⁻¹ for upper triangular R."""
    identity = np.eye(len(R))
    return solve_triangular(R, DoubleDouble.of(identity) if isinstance(R, DoubleDouble) else identity)


@lru_cache(maxsize=64)
def identity(q: int) -> Array:
    """Return the identity of q columns, to be read only."""
    one = np.eye(q)
    one.flags.writeable = False
    return one


def product(A: Numbers, B: Numbers) -> Numbers:
    """Return the matrix product AB, in double-double if A or B is."""
    if not (isinstance(A, DoubleDouble) or isinstance(B, DoubleDouble)):
        return A @ B
    A, B = DoubleDouble.of(A), DoubleDouble.of(B)
    total = DoubleDouble.of(np.zeros((A.shape[0], B.shape[1])))
    for j in range(len(B)):  # one outer product at a time: all at once may not fit in memory
        total = total + A[:, j, None] * B[None, j]
    return total


def add_leading_row_column(corner: Array | float, top: Array | float, A: Array) -> Array:
    """Return A with a row above it and a column of zeros before it."""
    result = np.zeros((1 + A.shape[0], 1 + A.shape[1]))
    result[0, 0], result[0, 1:], result[1:, 1:] = corner, top, A
    return result


def exact_rescale(a: Numbers, above: Array, below: Array) -> Numbers:
    """Return a · above / below for powers of two, without rounding and without overflow on the way."""
    exponent = np.frexp(above)[1] - np.frexp(below)[1]
    with np.errstate(over="ignore", under="ignore"):
        return map_parts(lambda part: np.ldexp(part, exponent), a)


def condition(R: Array) -> float:
    """Return LAPACK's estimate of the condition number of an upper triangular R in the 1-norm."""
    if len(R) == 0:
        return 1.0
    reciprocal, _ = lapack.dtrcon(np.asfortranarray(R), norm="1", uplo="U")
    return float(1 / reciprocal) if reciprocal > 0 else float("inf")


class PivotedTriangle:
    """The R factor of the independent columns, and the other (aliased) columns as combinations of them.

    Columns are taken in order. A column that adds nothing to those before is aliased, as in R's lm, so that the later
    of two equal columns is reported.
    """

    def __init__(
        self,
        R: Numbers,
        c: Numbers,
        kept: Sequence[int],
        aliased: Sequence[int],
        aliased_R: Numbers,
        inverse_R: Numbers = None,
    ) -> None:
        self.R, self.c = R, c
        self.kept, self.aliased = np.array(kept, dtype=int), np.array(aliased, dtype=int)
        self.aliased_R = aliased_R  # R'⁻¹ times the cross-products of kept and aliased columns
        self.inverse_R = inverse(R) if inverse_R is None else inverse_R

    @property
    def combinations(self) -> Array:
        """Return each aliased column as a combination of the kept ones."""
        if len(self.aliased) == 0 or len(self.kept) == 0:
            return np.zeros((len(self.kept), len(self.aliased)))
        return to_float64(solve_triangular(self.R, self.aliased_R))


def pivot_triangle(R: Array, c: Array, tolerance: float = RANK_TOL) -> PivotedTriangle:
    """Separate the independent from the aliased columns of an upper triangular R (float64) with targets c.

    R may have fewer rows than columns.
    """
    rows, q = R.shape
    size = np.linalg.norm(R, axis=0)
    if rows == q and (np.abs(np.diagonal(R)) > tolerance * size).all():
        T = inverse(R)
        if (ROUNDING * size @ np.abs(T) < 1).all():  # `_rounding` of all columns at once
            return PivotedTriangle(R, c, list(range(q)), [], np.empty((q, 0)), T)
    if rows < q and (np.abs(np.diagonal(R)) > max(tolerance, DOUBTFUL) * size[:rows]).all():
        # The loop below would keep the first columns and change the signs of all rows.
        turned = R - 2 * R
        return PivotedTriangle(
            np.triu(turned[:, :rows]), c - 2 * c, list(range(rows)), list(range(rows, q)), turned[:, rows:]
        )
    M = np.hstack([R, c])
    aliased_R = np.zeros((rows, q))
    kept: list[int] = []
    aliased: list[int] = []
    for j in range(q):
        r = len(kept)
        if r == rows:  # no column can add anything
            aliased_R[:, len(aliased) : len(aliased) + q - j] = M[:, j:q]
            aliased.extend(range(j, q))
            break
        here = slice(r, j + 1)  # entries below the diagonal are zero, and the rows above are finished
        v = M[here, j].copy()
        length = np.linalg.norm(v)
        noise = tolerance * size[j]
        if r and length <= DOUBTFUL * size[j]:
            noise = max(noise, _rounding(M[:r, kept], M[:r, j], size[kept]))
        if length <= noise:
            aliased_R[:r, len(aliased)] = M[:r, j]
            aliased.append(j)
            continue
        v[0] += np.copysign(length, v[0])
        v /= np.linalg.norm(v)
        M[here, j:] -= 2 * np.outer(v, v @ M[here, j:])
        kept.append(j)
    r = len(kept)
    upper = np.triu(M[:r, kept])
    return PivotedTriangle(upper, M[:r, q:], kept, aliased, aliased_R[:r, : len(aliased)])


def _rounding(R: Array, column: Array, sizes: Array) -> float:
    """Return what rounding may leave of a column that is a combination of the others: errors of its largest parts."""
    return ROUNDING * float(np.abs(solve_triangular(np.triu(R), column[:, None])[:, 0]) @ sizes)


def cholesky(A: Array) -> Array | None:
    """Return the upper triangular R with R'R = A, or None if A is not positive definite."""
    # `lapack.dpotrf` would take 8 µs less on few columns, but SciPy's LAPACK rounds the last bit differently.
    try:
        return np.asarray(np.linalg.cholesky(A).T)
    except np.linalg.LinAlgError:
        return None


def pivot_normal(A: DoubleDouble, C: DoubleDouble) -> PivotedTriangle:
    """Return the Cholesky factor of a double-double normal matrix A and products C, its aliased columns separated."""
    q, k = C.shape
    length = np.sqrt(np.diagonal(A.high))
    M = DoubleDouble(np.hstack([A.high, C.high]), np.hstack([A.low, C.low]))
    high, low = M.high.copy(), M.low.copy()
    rows: list[DoubleDouble] = []
    kept: list[int] = []
    aliased: list[int] = []
    for j in range(q):
        pivot = DoubleDouble(high[j, j], low[j, j])
        left, noise = float(np.sqrt(max(float(pivot.high), 0.0))), RANK_TOL * length[j]
        if rows and left <= DOUBTFUL * length[j]:
            factor = np.array([r.high for r in rows])
            noise = max(noise, _rounding(factor[:, kept], factor[:, j], length[kept]))
        if left <= noise:
            aliased.append(j)
            continue
        row = DoubleDouble(high[j], low[j]) / pivot.sqrt()
        rows.append(row)
        kept.append(j)
        update = DoubleDouble(high[j + 1 :], low[j + 1 :]) - row[j + 1 : q, None] * row[None, :]
        high[j + 1 :], low[j + 1 :] = update.high, update.low
    upper = DoubleDouble(
        np.array([r.high for r in rows]).reshape(-1, q + k), np.array([r.low for r in rows]).reshape(-1, q + k)
    )
    # A row of the factor has no part in the aliased columns before it.
    before = np.array(kept, dtype=int)[:, None] > np.array(aliased, dtype=int)[None, :]
    aliased_R = map_parts(lambda part: np.where(before, 0.0, part), upper[:, aliased])
    return PivotedTriangle(map_parts(np.triu, upper[:, kept]), upper[:, q:], kept, aliased, aliased_R)


def least_norm(solved: PivotedTriangle, unit: Array) -> tuple[Array, float]:
    """Return the matrix that maps coefficients of the kept columns to the smallest-norm coefficients of all columns.

    Also return the condition number of the vectors that it is computed from.
    """
    q, kept, aliased = len(unit), solved.kept, solved.aliased
    if 2 * len(kept) < q:  # the row space has fewer dimensions than the null space
        spanned = np.empty((q, len(kept)))
        spanned[kept], spanned[aliased] = to_float64(solved.R).T, to_float64(solved.aliased_R).T
        spanned *= np.maximum(unit / unit.max(), 1 / HUGE)[:, None]
        basis, triangle = np.linalg.qr(spanned)
        return np.asarray(basis @ basis[kept].T), condition(triangle)
    null = np.zeros((q, len(aliased)))
    with np.errstate(over="ignore"):
        null[kept] = -solved.combinations * np.clip(unit[aliased] / unit[kept][:, None], 1 / HUGE, HUGE)
    null[aliased, np.arange(len(aliased))] = 1.0
    basis, triangle = np.linalg.qr(null / np.linalg.norm(null, axis=0))
    keep = np.eye(q)[:, kept]
    return np.asarray(keep - basis @ (basis.T @ keep)), condition(triangle)


def factor_normal(A: Array, C: Array, total: Array) -> tuple[Array, Array, Array, float]:
    """Return (R, c, rest, rank tolerance) of float64 normal equations, by Cholesky or by eigenvalues if singular."""
    R = cholesky(A)
    if R is not None and (np.diagonal(R) ** 2 > 64 * EPS * np.sqrt(len(A))).all():
        c = solve_triangular(R, C, transposed=True) if len(R) else C
        return R, c, np.maximum(total - (c**2).sum(axis=0), 0.0), RANK_TOL
    values, vectors = np.linalg.eigh(A)
    # Directions below the rounding errors of the matrix explain nothing and are left out.
    above_noise = values > 64 * EPS * len(A)
    root = np.sqrt(values[above_noise])[:, None]
    Q, R = map(np.asarray, np.linalg.qr(root * vectors[:, above_noise].T))
    c = Q.T @ (vectors[:, above_noise].T @ C / root)
    R = np.where(np.diagonal(A) > 0, R, 0.0)  # a constant column must stay exactly zero
    return R, c, np.maximum(total - (c**2).sum(axis=0), 0.0), 1e-6
