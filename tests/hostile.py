"""Every estimator, clean rows, and bad features in arrays and sparse matrices with the message that each must raise.

`ARRAYS` must be refused wherever rows of numbers are required. `DISGUISED_ARRAYS` are the clean rows in another form
and must give the same predictions. Every entry is a function, so that each use gets a fresh object (a generator can
be used once). The data frames are in `hostile_frames`.
"""

from __future__ import annotations

import datetime as dt
import io
import tempfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import linearly as ly

N, P = 24, 3
_RNG = np.random.default_rng(8)
# Whole numbers, so that every integer, decimal or text form of them means the same; classes overlap a little.
X = _RNG.integers(-9, 10, size=(N, P)).astype(float)
Y = X @ [1.0, -2.0, 0.5] + _RNG.normal(size=N)
LABELS = np.where(Y + 3 * _RNG.normal(size=N) > 0, "yes", "no")

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "LinearRegression": ly.LinearRegression,
    "RidgeCV": lambda: ly.RidgeCV(alphas=[0.1, 1.0], cv=3),
    "ElasticNet": ly.ElasticNet,
    "ElasticNetCV": lambda: ly.ElasticNetCV(alphas=[0.1, 1.0], cv=3),
    "LogisticRegression": ly.LogisticRegression,
    "LinearDiscriminantAnalysis": ly.LinearDiscriminantAnalysis,
    "QuadraticDiscriminantAnalysis": ly.QuadraticDiscriminantAnalysis,
    "LeastSquaresClassifier": ly.LeastSquaresClassifier,
    "Perceptron": lambda: ly.Perceptron(max_passes=20),
    "BatchPerceptron": lambda: ly.BatchPerceptron(max_passes=20),
    "PocketPerceptron": lambda: ly.PocketPerceptron(max_updates=20),
    "VotedPerceptron": ly.VotedPerceptron,
    "AveragedPerceptron": ly.AveragedPerceptron,
}
REGRESSORS = ("LinearRegression", "RidgeCV", "ElasticNet", "ElasticNetCV")
CLASSIFIERS = tuple(name for name in ESTIMATORS if name not in REGRESSORS)


def target(name: str) -> Any:
    """The targets that an estimator learns from the clean rows."""
    return Y if name in REGRESSORS else LABELS


class Bad(NamedTuple):
    """Something that must be refused, and what must be said."""

    make: Callable[[], Any]
    says: str


def changed(a: Any, at: Any, value: Any, dtype: Any = None) -> Any:
    """A copy with one entry changed."""
    a = np.array(a, dtype=dtype or a.dtype)
    a[at] = value
    return a


def csr(**parts: Any) -> Any:
    """The CSR matrix with some of its arrays replaced behind its back, as a careless program would."""
    matrix = sp.csr_matrix(X)
    for name, value in parts.items():
        setattr(matrix, name, value)
    return matrix


def entry(name: str, k: int, value: Any) -> Any:
    """One of the arrays of the CSR matrix with one entry changed."""
    return changed(getattr(sp.csr_matrix(X), name), k, value)


class Awkward:
    """An object that is no array and says so loudly."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array here")


def damaged(kind: str, name: str, k: int, value: int) -> Any:
    """A sparse matrix of some format with one index changed."""
    matrix = getattr(sp, f"{kind}_matrix")(X)
    getattr(matrix, name)[k] = value
    return matrix


def mapped(a: Any) -> Any:
    """The rows in a memory map."""
    with tempfile.TemporaryFile() as file:
        a.tofile(file)
        file.flush()
        return np.memmap(file, dtype=a.dtype, mode="r", shape=a.shape)


def frozen(a: Any) -> Any:
    """The array, which can no longer be written to."""
    a.setflags(write=False)
    return a


def holding(cell: Any) -> Any:
    """The rows as objects, with something in row 3, column 1."""
    rows = X.astype(object)
    rows[3:4, 1:2].fill(cell)
    return rows


_RAW = sp.csr_matrix(X)
_STORED = _RAW.nnz
_DAYS = np.datetime64("2020-01-01") + np.arange(N * P).reshape(N, P)
RECORDS = np.zeros(N, dtype=[("a", float), ("b", int)])
HOLED = changed(X, (3, 1), np.nan)
nan, inf = np.nan, np.inf

# What is said about X: its shape, its kind, a cell, an index of a sparse matrix.
NO_ARRAY = r"X must be an array, a list of rows, a sparse matrix or a data frame, not an? "
SHAPE = r"Expected 2D array, got (scalar|1D) array instead|dim [34]"
EMPTY = r"0 (sample|feature)\(s\)|X has 0 features"
NAN = r"X contains NaN: row 3, column ('x1'|'height'|1)\. Drop the row or fill in the (value|label)"
NAN0 = r"X contains NaN: row 0, column ('x[01]'|'height'|0)\. Drop the row or fill in the (value|label)"
NAN1 = r"X contains NaN: row 1, column ('x1'|'height')\. Drop the row or fill in the (value|label)"
INF = r"X contains infinity: row 3, column ('x1'|'height'|1)\. Drop the row or fill in the (value|label)"
MASKED = r"X is masked, so missing: row 3, column 1\. Drop the row or fill in the (value|label)"
CELL = r"Row 3, column 1 of X is .*Encode each as a number, or drop its column"
ROW0 = r"Row 0 of X is .*Encode each as a number"
KIND = r"X contains (text|bytes|dates|durations|records) .*not numeric\. Encode them as numbers"
LARGE = r"integer in row [03], column (1|'height').* exceeds 2\*\*53.*Subtract an offset"
FLOAT = r"Row 3, column 1 of X is .*, which exceeds the float64 range\. Rescale the column"
OUTSIDE = r"damaged sparse matrix: .*(row|column) -?\d+, but only \d+ \w+ exist, numbered from 0\. Rebuild it"
ORDER = r"damaged sparse matrix: the row offsets \(indptr\) are not in order"
FIT = r"damaged sparse matrix: its arrays do not match its shape"
COMPLEX = r"Complex data not supported: X is complex\d+\. Use real numbers"

ARRAYS: dict[str, Bad] = {
    # No array at all
    "None": Bad(lambda: None, r"X must be .*, not None"),
    "a number": Bad(lambda: 3.0, SHAPE),
    "a boolean": Bad(lambda: True, SHAPE),
    "text": Bad(lambda: "height", NO_ARRAY + "str"),
    "bytes": Bad(lambda: b"1,2,3", NO_ARRAY + "bytes"),
    "a byte array": Bad(lambda: bytearray(b"123"), NO_ARRAY + "bytearray"),
    "a memory view": Bad(lambda: memoryview(b"123"), NO_ARRAY + "memoryview"),
    "a set": Bad(lambda: {1.0, 2.0}, NO_ARRAY + "set"),
    "a frozen set": Bad(lambda: frozenset({1.0}), NO_ARRAY + "frozenset"),
    "a generator": Bad(lambda: (row for row in X), NO_ARRAY + "generator"),
    "a map": Bad(lambda: map(list, X), NO_ARRAY + "map"),
    "a zip": Bad(lambda: zip(*X.T, strict=True), NO_ARRAY + "zip"),
    "a dict of columns": Bad(lambda: {"a": [1.0] * N}, NO_ARRAY + "dict"),
    "a dict of unequal columns": Bad(lambda: {"a": [1.0], "b": [1.0, 2.0]}, NO_ARRAY + "dict"),
    "an object": Bad(object, NO_ARRAY + "object"),
    "a class": Bad(lambda: np.ndarray, NO_ARRAY + "type"),
    "a function": Bad(lambda: len, NO_ARRAY + "builtin"),
    "an ellipsis": Bad(lambda: ..., NO_ARRAY + "ellipsis"),
    "a path": Bad(lambda: Path("x.csv"), NO_ARRAY + r"\w*Path"),
    "an open file": Bad(lambda: io.StringIO("1,2"), NO_ARRAY + "StringIO"),
    "an estimator": Bad(ly.LinearRegression, NO_ARRAY + "LinearRegression"),
    "an exception": Bad(lambda: ValueError("x"), NO_ARRAY + "ValueError"),
    "an awkward object": Bad(Awkward, r"X is an Awkward, which cannot be read as an array: no array here"),
    # Shapes
    "no dimension": Bad(lambda: np.array(3.0), SHAPE),
    "one dimension": Bad(lambda: X[:, 0], SHAPE),
    "three dimensions": Bad(lambda: X[:, :, None], SHAPE),
    "four dimensions": Bad(lambda: np.zeros((N, 1, 1, 1)), SHAPE),
    "a flat list": Bad(lambda: X[:, 0].tolist(), SHAPE),
    "a range": Bad(lambda: range(N), SHAPE),
    "an empty list": Bad(lambda: [], SHAPE),
    "an empty row": Bad(lambda: [[]], EMPTY),
    "no columns": Bad(lambda: np.zeros((N, 0)), EMPTY),
    "no rows": Bad(lambda: np.zeros((0, P)), EMPTY),
    "no rows of integers": Bad(lambda: np.zeros((0, P), dtype=int), EMPTY),
    "a ragged list": Bad(
        lambda: [[1.0, 2.0, 3.0]] * (N - 1) + [[1.0, 2.0]], r"rows of X differ in length: .*row 23 has 2"
    ),
    "ragged arrays": Bad(lambda: [np.ones(3)] * (N - 1) + [np.ones(2)], r"rows of X differ in length: .*row 23 has 2"),
    "a number among rows": Bad(lambda: [[1.0, 2.0]] * 5 + [3.0], r"row 0 has 2 values, row 5 has a single value"),
    "ragged objects": Bad(lambda: np.array([[1.0, 2.0]] * 5 + [[1.0]], dtype=object), ROW0),
    "dicts": Bad(lambda: [{"a": 1.0}] * N, ROW0),
    "sets": Bad(lambda: [{1.0, 2.0}] * N, ROW0),
    "records": Bad(lambda: RECORDS, KIND),
    "a record array": Bad(lambda: RECORDS.view(np.recarray), KIND),
    "bare bytes": Bad(lambda: np.zeros((N, 2), dtype="V4"), KIND),
    "a matrix": Bad(lambda: np.matrix(X), r"np\.matrix is not supported.*np\.asarray"),
    # NaN and infinity in every kind of array
    "NaN": Bad(lambda: HOLED, NAN),
    "minus NaN": Bad(lambda: changed(X, (3, 1), -nan), NAN),
    "NaN in the last cell": Bad(lambda: changed(X, (N - 1, P - 1), nan), r"row 23, column 'x2'"),
    "a row of NaN": Bad(lambda: changed(X, 5, nan), r"NaN: row 5, column 'x0'"),
    "NaN everywhere": Bad(lambda: np.full((N, P), nan), NAN0),
    "both infinities": Bad(lambda: changed(changed(X, (3, 1), inf), (4, 1), -inf), INF),
    "infinity everywhere": Bad(lambda: np.full((N, P), -inf), r"infinity: row 0, column 'x0'"),
    "infinity in float32": Bad(lambda: changed(X, (3, 1), inf, np.float32), INF),
    "NaN in float16": Bad(lambda: changed(X, (3, 1), nan, np.float16), NAN),
    "NaN in long double": Bad(lambda: changed(X, (3, 1), nan, np.longdouble), NAN),
    "a long double beyond float64": Bad(lambda: changed(X, (3, 1), np.longdouble("1e4000"), np.longdouble), INF),
    "NaN in big endian": Bad(lambda: changed(X, (3, 1), nan, ">f8"), NAN),
    "NaN in strides": Bad(lambda: np.repeat(HOLED, 2, axis=0)[::2], NAN),
    "NaN backwards": Bad(lambda: changed(X, (N - 4, 1), nan)[::-1], NAN),
    "NaN in Fortran order": Bad(lambda: np.asfortranarray(HOLED), NAN),
    "NaN in read-only memory": Bad(lambda: frozen(HOLED.copy()), NAN),
    "a masked cell": Bad(lambda: np.ma.masked_array(X, np.isnan(HOLED)), MASKED),
    "a masked NaN": Bad(lambda: np.ma.masked_invalid(HOLED), MASKED),
    "all masked": Bad(lambda: np.ma.masked_array(X, np.ones((N, P), bool)), r"masked, so missing: row 0, column 0"),
    # Kinds of values
    "complex": Bad(lambda: X + 1j, COMPLEX),
    "complex without imaginary parts": Bad(lambda: X.astype(np.complex64), COMPLEX),
    "dates": Bad(lambda: _DAYS, KIND),
    "durations": Bad(lambda: _DAYS - _DAYS[0, 0], KIND),
    "an array of bytes": Bad(lambda: X.astype("S"), KIND),
    "words": Bad(lambda: np.array([["a", "b", "c"]] * N), KIND),
    "text that looks like numbers": Bad(lambda: X.astype(str), KIND),
    "a list of such text": Bad(lambda: X.astype(str).tolist(), KIND),
    "NumPy strings": Bad(lambda: X.astype(str).astype(np.dtypes.StringDType()), KIND),
    "a word among objects": Bad(lambda: holding("tall"), CELL),
    "a text number among objects": Bad(lambda: holding("1.5"), CELL),
    "an underscore among objects": Bad(lambda: holding("1_000"), CELL),
    "the text nan": Bad(lambda: holding("nan"), CELL),
    "the text inf": Bad(lambda: holding("inf"), CELL),
    "empty text": Bad(lambda: holding(""), CELL),
    "bytes among objects": Bad(lambda: holding(b"1.5"), CELL),
    "a complex object": Bad(lambda: holding(1j), CELL),
    "a dict among objects": Bad(lambda: holding({"a": 1}), CELL),
    "a function among objects": Bad(lambda: holding(len), CELL),
    "a date among objects": Bad(lambda: holding(dt.date(2020, 1, 1)), CELL),
    "a NumPy date among objects": Bad(lambda: holding(np.datetime64("2020-01-01")), CELL),
    "a NumPy duration among objects": Bad(lambda: holding(np.timedelta64(5, "D")), CELL),
    "a missing NumPy date": Bad(lambda: holding(np.datetime64("NaT")), CELL),
    "None among objects": Bad(lambda: holding(None), NAN),
    "a decimal NaN": Bad(lambda: holding(Decimal("NaN")), NAN),
    "a decimal infinity": Bad(lambda: holding(Decimal("Infinity")), INF),
    "rows of None": Bad(lambda: [[None] * P] * N, NAN0),
    # Numbers that float64 cannot hold
    "a whole number beyond 2**53": Bad(lambda: changed(X, (3, 1), 2**53 + 1, np.int64), LARGE),
    "the smallest int64": Bad(lambda: changed(X, (3, 1), -(2**63), np.int64), LARGE),
    "the largest uint64": Bad(lambda: changed(np.ones((N, P), np.uint64), (3, 1), 2**64 - 1), LARGE),
    "a large object": Bad(lambda: holding(2**60 + 1), LARGE),
    "2**64 in a list": Bad(lambda: holding(2**64).tolist(), LARGE),
    "10**400": Bad(lambda: holding(10**400), FLOAT),
    "10**400 in a list": Bad(lambda: holding(10**400).tolist(), FLOAT),
    "a number too long to print": Bad(lambda: holding(10**5000), FLOAT),
    "a decimal beyond float64": Bad(lambda: holding(Decimal("1e999")), FLOAT),
    "a signalling NaN": Bad(lambda: holding(Decimal("sNaN")), FLOAT),
    "a fraction beyond float64": Bad(lambda: holding(Fraction(10**400, 3)), FLOAT),
    # Sparse matrices
    "CSR NaN": Bad(lambda: sp.csr_matrix(HOLED), NAN),
    "CSR float32 NaN": Bad(lambda: sp.csr_array(HOLED.astype(np.float32)), NAN),
    "CSR long double NaN": Bad(lambda: csr(data=_RAW.data.astype(np.longdouble) * nan), r"NaN: row 0, column"),
    "CSC infinity": Bad(lambda: sp.csc_matrix(changed(X, (3, 1), inf)), INF),
    "COO infinity": Bad(lambda: sp.coo_array(changed(X, (3, 1), -inf)), INF),
    "LIL NaN": Bad(lambda: sp.lil_matrix(HOLED), NAN),
    "DOK NaN": Bad(lambda: sp.dok_matrix(HOLED), NAN),
    "BSR NaN": Bad(lambda: sp.bsr_matrix(HOLED), NAN),
    "DIA NaN": Bad(lambda: sp.dia_matrix(HOLED), NAN),
    "COO infinities that cancel": Bad(
        lambda: sp.coo_matrix((np.r_[inf, -inf], np.zeros((2, 2), int)), shape=(N, P)), r"NaN: row 0, column"
    ),
    "CSR entries whose sum overflows": Bad(
        lambda: sp.csr_matrix(
            (np.full(2 * N, 1.5e308), np.zeros(2 * N, int), np.arange(0, 2 * N + 1, 2)), shape=(N, P)
        ),
        r"infinity: row 0, column",
    ),
    "CSR column beyond": Bad(lambda: csr(indices=entry("indices", 4, P)), OUTSIDE),
    "CSR column far beyond": Bad(lambda: csr(indices=entry("indices", 4, 2**31 - 1)), OUTSIDE),
    "CSR int64 column beyond": Bad(
        lambda: csr(indices=changed(_RAW.indices, 4, 2**40, np.int64), indptr=_RAW.indptr.astype(np.int64)), OUTSIDE
    ),
    "CSR negative column": Bad(lambda: csr(indices=entry("indices", 4, -1)), OUTSIDE),
    "CSC row beyond": Bad(lambda: damaged("csc", "indices", 3, 700), OUTSIDE),
    "CSC negative row": Bad(lambda: damaged("csc", "indices", 3, -5), OUTSIDE),
    "BSR column beyond": Bad(lambda: damaged("bsr", "indices", 0, 700), OUTSIDE),
    "COO column beyond": Bad(lambda: damaged("coo", "col", 3, 7), OUTSIDE),
    "COO negative column": Bad(lambda: damaged("coo", "col", 3, -1), OUTSIDE),
    "COO row beyond": Bad(lambda: damaged("coo", "row", 3, 700), OUTSIDE),
    "CSR offsets that fall": Bad(lambda: csr(indptr=entry("indptr", 3, 0)), ORDER),
    "CSR offsets beyond": Bad(lambda: csr(indptr=entry("indptr", N, _STORED + 5)), ORDER),
    "CSR offsets that start late": Bad(lambda: csr(indptr=entry("indptr", 0, 1)), ORDER),
    "CSR negative offset": Bad(lambda: csr(indptr=entry("indptr", 3, -4)), ORDER),
    "CSR too few offsets": Bad(lambda: csr(indptr=_RAW.indptr[:-3]), FIT),
    "CSR too many offsets": Bad(lambda: csr(indptr=np.append(_RAW.indptr, _STORED)), FIT),
    "CSR too few columns": Bad(lambda: csr(indices=_RAW.indices[:-3]), FIT),
    "CSR too few entries": Bad(lambda: csr(data=_RAW.data[:-3]), FIT),
    "CSR columns as floats": Bad(lambda: csr(indices=_RAW.indices.astype(float)), FIT),
    "CSR entries in two dimensions": Bad(lambda: csr(data=_RAW.data[:, None]), FIT),
    "CSR complex": Bad(lambda: sp.csr_matrix(X + 1j), COMPLEX),
    "CSR objects": Bad(lambda: csr(data=_RAW.data.astype(object)), r"sparse matrix of object, not numeric"),
    "CSR text": Bad(lambda: csr(data=_RAW.data.astype(str)), r"sparse matrix of <U32, not numeric"),
    "CSR dates": Bad(lambda: csr(data=np.zeros(_STORED, "M8[D]")), r"sparse matrix of datetime64\[D\], not numeric"),
    "CSR large integers": Bad(lambda: sp.csr_matrix(changed(X, (3, 1), 2**60 + 1, np.int64)), LARGE),
    "CSR the largest uint64": Bad(lambda: sp.csr_matrix(changed(np.ones((N, P), np.uint64), (3, 1), 2**64 - 1)), LARGE),
    "a sparse vector": Bad(lambda: sp.coo_array(X[:, 0]), r"sparse array of 1 dimensions. Pass rows and columns"),
    "a sparse cube": Bad(lambda: sp.coo_array(np.ones((N, 2, 2))), r"sparse array of 3 dimensions. Pass rows"),
    "CSR without rows": Bad(lambda: sp.csr_matrix((0, P)), EMPTY),
    "CSR without columns": Bad(lambda: sp.csr_matrix((N, 0)), EMPTY),
}

# The clean rows in another form.
DISGUISED_ARRAYS: dict[str, Callable[[], Any]] = {
    "a list": X.tolist,
    "tuples": lambda: tuple(map(tuple, X.tolist())),
    "rows as arrays": lambda: list(X),
    "Fortran order": lambda: np.asfortranarray(X),
    "strides": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": lambda: np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(N, P),
    "read-only": lambda: frozen(X.copy()),
    "big endian": lambda: X.astype(">f8"),
    "float16": lambda: X.astype(np.float16),
    "float32": lambda: X.astype(np.float32),
    "long double": lambda: X.astype(np.longdouble),
    "int8": lambda: X.astype(np.int8),
    "int64": lambda: X.astype(np.int64),
    "objects": lambda: X.astype(object),
    "whole objects": lambda: X.astype(int).astype(object),
    "decimals": lambda: [[Decimal(int(v)) for v in row] for row in X],
    "fractions": lambda: [[Fraction(int(v)) for v in row] for row in X],
    "an empty mask": lambda: np.ma.masked_array(X),
    "a subclass": lambda: X.view(type("Mine", (np.ndarray,), {})),
    "a memory map": lambda: mapped(X),
    "CSR": lambda: sp.csr_matrix(X),
    "CSR of int64 indices": lambda: csr(indices=_RAW.indices.astype(np.int64), indptr=_RAW.indptr.astype(np.int64)),
    "CSR unsorted": lambda: sp.csr_matrix(X[:, ::-1])[:, ::-1],
    "CSR with zeros stored": lambda: sp.csr_matrix(
        (X.ravel(), np.tile(np.arange(P), N), np.arange(0, N * P + 1, P)), shape=(N, P)
    ),
    "CSR with duplicates": lambda: sp.csr_matrix(
        (np.repeat(X.ravel() / 2, 2), np.tile(np.repeat(np.arange(P), 2), N), np.arange(0, 2 * N * P + 1, 2 * P)),
        shape=(N, P),
    ),
    "CSR with room to spare": lambda: csr(
        data=np.append(_RAW.data, [9.0, 9.0]), indices=np.append(_RAW.indices, [0, 0]).astype(np.int32)
    ),
    "CSR of int8": lambda: sp.csr_matrix(X.astype(np.int8)),
    "CSR of float16": lambda: csr(data=_RAW.data.astype(np.float16)),
    "CSR read-only": lambda: csr(data=frozen(_RAW.data.copy()), indices=frozen(_RAW.indices.copy())),
    "CSC": lambda: sp.csc_matrix(X),
    "COO with duplicates": lambda: sp.coo_matrix(
        (np.r_[X.ravel() - 1, np.ones(N * P)], np.tile(np.indices((N, P)).reshape(2, -1), 2)), shape=(N, P)
    ),
    "LIL": lambda: sp.lil_array(X),
    "DOK": lambda: sp.dok_array(X),
    "DIA": lambda: sp.dia_array(X),
    "BSR": lambda: sp.bsr_array(X, blocksize=(2, 3)),
}
