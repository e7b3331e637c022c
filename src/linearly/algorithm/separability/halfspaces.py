"""Represent separation as inequalities: a·v > 0 for each row and rival class.

Two classes: v = (w, b), z = (x, 1), and a = +z for rows of `classes[1]`, −z for rows of `classes[0]`. K classes: v
stacks one (w, b) for each class but the first, whose scores are fixed at 0, and row i contributes K − 1 inequalities,
"the score of my class exceeds the score of rival k". `fit_intercept=False` drops the 1 and the b.

Inside, z is (x − c)·2^−e with c and e chosen so that both operations are exact: a column far from zero is moved near
it (x − c is exact for c/2 ≤ x ≤ 2c, Sterbenz), a column of extreme size is brought to about 1. So a statement about z
is a statement about x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linearly.algorithm.separability.budget import spend_work
from linearly.algorithm.separability.integer_algebra import Integers, as_integers, product, to_python_ints
from linearly.dataset.rows.array_checks import as_array, as_numeric_array, beyond_float64, has_inexact_integers
from linearly.dataset.rows.block import names_of
from linearly.dataset.rows.label_checks import first_missing, unique_with_codes
from linearly.dataset.rows.safe_scaling import exponent
from linearly.kernels.matrices import dense, is_sparse

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]

UNIT = 2.0**-53  # unit roundoff of float64
_CHUNK = 4096


class Halfspaces:
    """The n·(K − 1) inequalities of a data set, with values in floating point and exact signs.

    Inequality `id` belongs to row id // (K − 1). `pair` returns its row and rival, `index` is the inverse.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        *,
        fit_intercept: bool = True,
        names: Sequence[str] | None = None,
        classes: NDArray[Any] | None = None,
    ) -> None:
        self.X, self.names = _matrix(X, names)
        self.n, self.p = self.X.shape
        self.classes, self.codes = _labels(y, self.n, classes)
        self.K = len(self.classes)
        self.fit_intercept = fit_intercept
        self.n_terms = self.p + fit_intercept
        self.n_unknowns = (self.K - 1) * self.n_terms
        self.n_inequalities = self.n * (self.K - 1)
        self.sparse = is_sparse(self.X)
        self.low, self.high = _extent(self.X, self.names)
        # Perceptrons with an intercept divide rows of extreme magnitude by this power of two.
        self.unit = exponent(max(np.abs(self.low).max(), np.abs(self.high).max())) if fit_intercept else 0
        self.shift, self.exponent = self._shift_and_exponent()
        self.Z = self._scaled_matrix() if self.shift.any() or self.exponent.any() else self.X
        top = np.maximum(np.abs(self.low - self.shift), np.abs(self.high - self.shift))
        top = np.ldexp(top, -self.exponent)
        self.top: Floats = np.append(top, 1.0) if fit_intercept else top

    def _shift_and_exponent(self) -> tuple[Floats, NDArray[np.int64]]:
        shift = np.zeros(self.p)
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        if self.fit_intercept and not self.sparse:
            with np.errstate(over="ignore"):
                spread = self.high - self.low
                far = (spread > 0) & (np.minimum(np.abs(self.low), np.abs(self.high)) > 1024 * spread)
            shift[far] = self.low[far]
            size = np.where(far, spread, size)
        exponent = np.frexp(size)[1].astype(np.int64)
        exponent[np.abs(exponent) <= 200] = 0
        return shift, exponent

    def _scaled_matrix(self) -> Any:
        # A column that spans more than 2¹⁰⁰⁰ loses its smallest entries here; `signs` allows for it, and exact
        # rows are taken from X.
        if self.sparse:
            Z = self.X.copy()
            Z.data = np.ldexp(Z.data, -self.exponent[Z.indices])
            return Z
        return np.ldexp(self.X - self.shift, -self.exponent)

    # --- inequalities and their rows

    def pair(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the rows and the rival codes of some inequalities."""
        rows, r = np.divmod(ids, self.K - 1)
        return rows, r + (r >= self.codes[rows])

    def index(self, rows: Ids, rivals: Ids) -> Ids:
        """Return the ids of the inequalities of some rows against some rival codes."""
        ids: Ids = rows * (self.K - 1) + rivals - (rivals > self.codes[rows])
        return ids

    def of_rows(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask over inequalities from a mask over rows."""
        return np.repeat(rows, self.K - 1)

    def nonzero_rows(self) -> NDArray[np.bool_]:
        """Return a mask of the rows with z ≠ 0. Other rows lie on every hyperplane."""
        if self.fit_intercept:
            return np.ones(self.n, dtype=bool)
        nonzero = (self.X != 0).sum(axis=1) if self.sparse else self.X.any(axis=1)
        return np.asarray(nonzero).ravel().astype(bool)

    def dense(self, rows: Any) -> Floats:
        """Return z of some rows, with the constant 1."""
        Z = dense(self.Z[rows])
        return np.column_stack([Z, np.ones(len(Z))]) if self.fit_intercept else Z

    def rows(self, ids: Ids) -> Floats:
        """Return the vectors a of some inequalities."""
        rows, _ = self.pair(ids)
        return self._signed(ids, self.dense(rows))

    def lattice(self, ids: Ids) -> tuple[Integers, NDArray[np.int64]]:
        """Return the vectors a as integers N and column exponents e: a[j] = N[j]·2^e[j] exactly."""
        rows, _ = self.pair(ids)
        N, e = self._integers(rows)
        return self._signed(ids, N), np.tile(e, self.K - 1)

    def _signed(self, ids: Ids, Z: NDArray[Any]) -> NDArray[Any]:
        rows, rival = self.pair(ids)
        own = self.codes[rows]
        spend_work(len(ids) * self.n_unknowns)
        A = np.zeros((len(ids), self.K - 1, self.n_terms), dtype=Z.dtype)
        t = np.flatnonzero(own > 0)
        A[t, own[t] - 1] = Z[t]
        t = np.flatnonzero(rival > 0)
        A[t, rival[t] - 1] = -Z[t]
        return A.reshape(len(ids), self.n_unknowns)

    def _integers(self, rows: Any, columns: Ids | None = None) -> tuple[Integers, NDArray[np.int64]]:
        """Return z of some rows (and columns) as integers and column exponents."""
        if columns is None:
            columns = np.arange(self.n_terms)
        some = columns[columns < self.p]
        X = self.X[rows]
        U = X[:, some].toarray() if self.sparse else X[:, some] - self.shift[some]
        N, e = as_integers(U)
        e = e - self.exponent[some]
        if len(some) < len(columns):
            N = np.column_stack([N, np.ones(len(N), dtype=N.dtype)])
            e = np.append(e, 0)
        return N, e

    def finest(self) -> int:
        """Return the exponent e of the finest grid 2^e that contains every number of the data."""
        chunks = (slice(i, i + _CHUNK) for i in range(0, self.n, _CHUNK))
        return min(int(self._integers(c)[1].min(initial=0)) for c in chunks)

    # --- values and signs

    def scores(self, v: Floats) -> Floats:
        """Return a·v for every inequality in floating point; for each column of v if it is a matrix."""
        V = v.reshape(self.K - 1, self.n_terms, -1)
        spend_work(self.n * V.size + 8 * self.n * self.K * V.shape[2] + 50_000)
        F = np.stack([self.Z @ W[: self.p] for W in V], axis=1)
        if self.fit_intercept:
            F += V[:, self.p]
        return self._against_rivals(F, slice(None)).reshape(self.n_inequalities, *v.shape[1:])

    def _against_rivals(self, F: NDArray[Any], rows: Any) -> NDArray[Any]:
        """Return the own score minus each rival's along axis 1, from the scores F of all classes but the first."""
        own = self.codes[rows].reshape(-1, *(1 for _ in F.shape[1:]))
        if self.K == 2:
            return np.where(own == 1, F, -F)
        F = np.concatenate([np.zeros_like(F[:, :1]), F], axis=1)
        return np.asarray(np.take_along_axis(F, own, 1) - np.take_along_axis(F, self._rivals(own), 1))

    def _rivals(self, own: NDArray[np.intp]) -> NDArray[np.intp]:
        r = np.arange(self.K - 1).reshape(-1, *(1 for _ in own.shape[2:]))
        rivals: NDArray[np.intp] = r + (r >= own)
        return rivals

    def signs(self, v: Integers, among: NDArray[np.bool_] | None = None) -> NDArray[np.int8]:
        """Return the exact sign of a·v for every inequality, v in integers; 0 outside the mask `among`.

        Floating point decides every inequality whose value exceeds its rounding error. The few others are computed in
        integers.
        """
        f, _ = floats(v, self._weights())
        value = self.scores(f)
        error = self._rounding(np.abs(f).reshape(self.K - 1, self.n_terms), self.top[None, :], slice(None))
        sign = np.sign(value).astype(np.int8)
        unclear = np.abs(value) <= error.ravel()
        if among is not None:
            sign[~among] = 0
            unclear &= among
        rows = np.flatnonzero(unclear.reshape(self.n, -1).any(axis=1))
        for start in range(0, len(rows), _CHUNK):
            some = rows[start : start + _CHUNK]
            ids = (some[:, None] * (self.K - 1) + np.arange(self.K - 1)).ravel()
            sign[ids] = np.where(unclear[ids], self._sharper_signs(some, v, f).ravel(), sign[ids])
        return sign

    def _weights(self) -> Floats:
        return np.tile(self.top, self.K - 1)

    def _rounding(self, V: Floats, Z: Floats, rows: Any) -> Floats:
        """Return a bound on the rounding error of scores: |fl(z·v) − z·v| ≤ γ |z|·|v| in any order of summation."""
        gamma = 1.01 * (self.n_terms + 4) * UNIT
        E = gamma * (Z @ V.T) + (self.n_terms + 4) * 2.0**-600
        if self.K == 2:
            return np.asarray(E)
        E = np.hstack([np.zeros((len(E), 1)), E])
        own = self.codes[rows][:, None]
        if len(E) == 1:
            return np.asarray(1.01 * (E[0, own] + E[0, self._rivals(own)]))
        return np.asarray(1.01 * (np.take_along_axis(E, own, 1) + np.take_along_axis(E, self._rivals(own), 1)))

    def _sharper_signs(self, rows: Ids, v: Integers, f: Floats) -> NDArray[np.int8]:
        """Return the signs of the inequalities of some rows: by each row's own error bound, else in integers."""
        F = f.reshape(self.K - 1, self.n_terms)
        Z = self.dense(rows)
        value = self._against_rivals(Z @ F.T, rows)
        sign: NDArray[np.int8] = np.sign(value).astype(np.int8)
        unclear = (np.abs(value) <= self._rounding(np.abs(F), np.abs(Z), rows)).any(axis=1)
        if unclear.any():
            rows = rows[unclear]
            V = v.reshape(self.K - 1, self.n_terms)
            used = np.flatnonzero(V.any(axis=0))
            N, e = self._integers(rows, used)
            V = to_python_ints(V[:, used], e - e.min(initial=0))
            if max((int(abs(t)).bit_length() for t in V.ravel()), default=0) < 62:
                V = V.astype(np.int64)
            exact = self._against_rivals(product(N, V.T), rows)
            sign[unclear] = np.sign(exact).astype(np.int8)
        return sign

    # --- hyperplanes in the units of X

    def to_data(self, v: Integers) -> list[list[Fraction]]:
        """Return exact (w, b) in the units of X: one row for two classes, K rows that sum to zero for K classes."""
        V = [[Fraction(int(t)) for t in row] for row in v.reshape(self.K - 1, self.n_terms)]
        for row in V:
            for j in range(self.p):
                row[j] /= Fraction(2) ** int(self.exponent[j])
            if self.fit_intercept:
                row[-1] -= sum(row[j] * Fraction(float(self.shift[j])) for j in np.flatnonzero(self.shift))
        if self.K == 2:
            return V
        V.insert(0, [Fraction(0)] * self.n_terms)
        mean = [sum(column, Fraction(0)) / self.K for column in zip(*V, strict=True)]
        return [[t - c for t, c in zip(row, mean, strict=True)] for row in V]

    def from_data(self, W: Sequence[Sequence[Fraction]]) -> Integers:
        """Return integers v, a positive multiple of the hyperplane W that is given in the units of X."""
        V = [list(W[0])] if self.K == 2 else [[t - c for t, c in zip(row, W[0], strict=True)] for row in W[1:]]
        for row in V:
            if self.fit_intercept:
                row[-1] += sum(row[j] * Fraction(float(self.shift[j])) for j in np.flatnonzero(self.shift))
            for j in range(self.p):
                row[j] *= Fraction(2) ** int(self.exponent[j])
        d = math.lcm(*(t.denominator for row in V for t in row))
        return np.array([int(t * d) for row in V for t in row], dtype=object)


def floats(v: Integers, weight: Floats | None = None) -> tuple[Floats, int]:
    """Return v·2^−s in floating point and s, chosen so that the largest weight·|v| is near 1."""
    size = [int(abs(t)).bit_length() for t in v]
    extra = np.zeros(len(v)) if weight is None else np.frexp(weight)[1]
    s = max((b + int(t) for b, t in zip(size, extra, strict=True) if b), default=0)
    if s >= 0:
        return np.array([int(t) / (1 << s) for t in v]), s
    return np.array([float(int(t) << -s) for t in v]), s


def _matrix(X: Any, names: Sequence[str] | None) -> tuple[Any, tuple[str, ...]]:
    given = names_of(X) if names is None else None
    if given is not None:
        names = [str(name) for name in given]
    X = as_numeric_array(X)
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if is_sparse(X) else X
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), not {X.ndim}. Reshape your data.")
    n, p = X.shape
    if not n or not p:
        raise ValueError(f"X contains no data: {n} rows, {p} columns. Pass at least one row and one column.")
    names = tuple(names) if names is not None else tuple(f"x{j}" for j in range(p))
    if len(names) != p:
        raise ValueError(f"names has {len(names)} entries, but X has {p} columns. Pass one name per column.")
    if has_inexact_integers(values):
        at = int(np.argmax(beyond_float64(values)))
        i, j = divmod(at, p)
        if is_sparse(X):
            i, j = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
        raise ValueError(
            f"X contains an integer beyond 2⁵³, which float64 cannot represent exactly, in row {i}, column "
            f"{names[j]!r}. Subtract an offset from the column first."
        )
    if values.dtype != np.float64:
        X = X.astype(np.float64)
    elif not is_sparse(X) and not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    return X, names


def _labels(y: ArrayLike, n: int, classes: NDArray[Any] | None) -> tuple[NDArray[Any], Ids]:
    if isinstance(y, list | tuple) and len({isinstance(t, str) for t in y}) == 2:  # NumPy would make all text
        raise ValueError("y mixes text labels with others. Use one type.")
    labels = as_array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(f"y must have one label per row, not the shape {labels.shape}.")
    if len(labels) != n:
        raise ValueError(f"X has {n} rows, but y has {len(labels)} labels. Pass one label per row.")
    gap = first_missing(labels)
    if gap is not None:
        raise ValueError(f"y has no label in row {gap}. Drop the row.")
    found, codes = unique_with_codes(labels, "y")
    if classes is not None:
        unknown = set(found.tolist()) - set(classes.tolist())
        if unknown:
            raise ValueError(
                f"y contains labels that are not among the classes: {sorted(unknown)}. Drop these rows, "
                "or add the labels to the classes."
            )
        return classes, np.searchsorted(classes, found)[codes].astype(np.intp)
    if len(found) == 1:
        raise ValueError(f"y has only one class, {found[:1].tolist()[0]!r}. Pass rows from at least two classes.")
    return found, codes.astype(np.intp)


def _extent(X: Any, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the smallest and largest entry of each column; raise a ValueError for NaN and infinity."""
    if is_sparse(X):
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if len(bad):
        j = int(bad[0])
        column = X[:, [j]].toarray().ravel() if is_sparse(X) else X[:, j]
        i = int(np.flatnonzero(~np.isfinite(column))[0])
        what = "NaN" if np.isnan(column[i]) else "infinity"
        raise ValueError(f"X contains {what}: row {i}, column {names[j]!r}. Drop the row or fill in the value first.")
    return low, high
