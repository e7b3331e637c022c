"""Small triangular algebra, the same for float64 arrays and double-double numbers."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from linearly.kernels.double_double import EPS as EPS
from linearly.kernels.double_double import Array, DoubleDouble, Numbers, to_float64
from linearly.kernels.reference import upper as upper

# A column whose part outside its predecessors is below this fraction of it counts as a combination of them.
# Columns formed in float64 from others leave about 1e-16; NIST's Filip, which has full rank, 1e-10.
RANK_TOL = 1e-13
ROUNDING = 64 * EPS
_DOUBTFUL = 1e-3  # a column that keeps more than this of its length is no combination of others


def solve_triangular(R: Numbers, B: Numbers, *, transposed: bool = False) -> Numbers:
    """R⁻¹B, or R⁻ᵀB, for upper triangular R."""
    if 0 in B.shape:
        return B
    if not isinstance(R, DoubleDouble):
        # LAPACK itself: SciPy's own `solve_triangular` takes six times as long to come to it on small triangles.
        solved, zero_at = lapack.dtrtrs(R, B, trans=int(transposed))
        if zero_at > 0:
            raise np.linalg.LinAlgError(f"Singular triangle: {zero_at - 1} on the diagonal is zero.")
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
    """R⁻¹ for upper triangular R."""
    identity = np.eye(len(R))
    return solve_triangular(R, DoubleDouble.of(identity) if isinstance(R, DoubleDouble) else identity)


def product(A: Numbers, B: Numbers) -> Numbers:
    """The matrix product."""
    if not (isinstance(A, DoubleDouble) or isinstance(B, DoubleDouble)):
        return A @ B
    A, B = DoubleDouble.of(A), DoubleDouble.of(B)
    total = DoubleDouble.of(np.zeros((A.shape[0], B.shape[1])))
    for j in range(len(B)):  # one product of a column with a row at a time: all at once would not fit in memory
        total = total + A[:, j, None] * B[None, j]
    return total


def add_leading_row_column(corner: Array | float, top: Array | float, A: Array) -> Array:
    """A with a row above it, and a column of zeros before it."""
    result = np.zeros((1 + A.shape[0], 1 + A.shape[1]))
    result[0, 0], result[0, 1:], result[1:, 1:] = corner, top, A
    return result


def exact_rescale(a: Numbers, above: Array, below: Array) -> Numbers:
    """a · above / below for powers of two: exact, and nothing leaves float64 on the way."""
    exponent = np.frexp(above)[1] - np.frexp(below)[1]
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(a, DoubleDouble):
            return DoubleDouble(np.ldexp(a.high, exponent), np.ldexp(a.low, exponent))
        return np.ldexp(a, exponent)


def condition(R: Array) -> float:
    """The condition number of an upper triangular R in the 1-norm, estimated as LAPACK does."""
    if len(R) == 0:
        return 1.0
    reciprocal, _ = lapack.dtrcon(np.asfortranarray(R), norm="1", uplo="U")
    return float(1 / reciprocal) if reciprocal > 0 else float("inf")


class PivotedTriangle:
    """A triangle whose dependent columns are set aside: R on the kept ones, and the others as their combinations.

    Columns are taken in order and a column that adds nothing to its predecessors is set aside, as in R's lm, so that
    of two equal columns the later one is named.
    """

    def __init__(
        self, R: Numbers, c: Numbers, kept: list[int], aliased: list[int], beside: Numbers, inverse_R: Numbers = None
    ) -> None:
        self.R, self.c = R, c
        self.kept, self.aliased = np.array(kept, dtype=int), np.array(aliased, dtype=int)
        self.beside = beside  # R'⁻¹ times the cross-products of kept and aliased columns
        self.inverse_R = inverse(R) if inverse_R is None else inverse_R

    @property
    def combinations(self) -> Array:
        """Each aliased column as a combination of the kept ones."""
        if len(self.aliased) == 0 or len(self.kept) == 0:
            return np.zeros((len(self.kept), len(self.aliased)))
        return to_float64(solve_triangular(self.R, self.beside))


def pivot_triangle(R: Array, c: Array, tolerance: float = RANK_TOL) -> PivotedTriangle:
    """Set aside the dependent columns of an upper triangular R (float64); c are the targets beside it.

    R may have fewer rows than columns.
    """
    rows, q = R.shape
    size = np.linalg.norm(R, axis=0)
    if rows == q and (np.abs(np.diagonal(R)) > tolerance * size).all():
        T = inverse(R)
        if (ROUNDING * size @ np.abs(T) < 1).all():  # as `_rounding` below, for all columns at once
            return PivotedTriangle(R, c, list(range(q)), [], np.empty((q, 0)), T)
    M = np.hstack([R, c])
    beside = np.zeros((rows, q))
    kept: list[int] = []
    aliased: list[int] = []
    for j in range(q):
        r = len(kept)
        if r == rows:  # nothing is left for any column to add
            beside[:, len(aliased) : len(aliased) + q - j] = M[:, j:q]
            aliased.extend(range(j, q))
            break
        here = slice(r, j + 1)  # below the diagonal there is nothing, and rows above are done with
        v = M[here, j].copy()
        length = np.linalg.norm(v)
        noise = tolerance * size[j]
        if r and length <= _DOUBTFUL * size[j]:
            noise = max(noise, _rounding(M[:r, kept], M[:r, j], size[kept]))
        if length <= noise:
            beside[:r, len(aliased)] = M[:r, j]
            aliased.append(j)
            continue
        v[0] += np.copysign(length, v[0])
        v /= np.linalg.norm(v)
        M[here, j:] -= 2 * np.outer(v, v @ M[here, j:])
        kept.append(j)
    r = len(kept)
    upper = np.triu(M[:r, kept])
    return PivotedTriangle(upper, M[:r, q:], kept, aliased, beside[:r, : len(aliased)])


def _rounding(R: Array, column: Array, sizes: Array) -> float:
    """What rounding errors may leave of a column that is a combination of the others: those of its largest parts."""
    return ROUNDING * float(np.abs(solve_triangular(np.triu(R), column[:, None])[:, 0]) @ sizes)


def pivot_normal(A: DoubleDouble, C: DoubleDouble) -> PivotedTriangle:
    """The Cholesky factor of a double-double normal matrix A, its dependent columns set aside."""
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
        if rows and left <= _DOUBTFUL * length[j]:
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
        np.array([r.high for r in rows]).reshape(-1, q + k),
        np.array([r.low for r in rows]).reshape(-1, q + k),
    )
    triangle = upper[:, kept]
    triangle = DoubleDouble(np.triu(triangle.high), np.triu(triangle.low))
    # A row of the factor knows nothing of columns before it that were set aside.
    beside = upper[:, aliased]
    before = np.array(kept, dtype=int)[:, None] > np.array(aliased, dtype=int)[None, :]
    beside = DoubleDouble(np.where(before, 0.0, beside.high), np.where(before, 0.0, beside.low))
    return PivotedTriangle(triangle, upper[:, q:], kept, aliased, beside)
