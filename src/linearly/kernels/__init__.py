"""Run the hot loops: the compiled extension where it is available, NumPy elsewhere.

In reading order:
    double_double    numbers of about 31 digits, each the sum of two float64
    blas_threads     limit BLAS to one thread
    matrices         dense, sparse and double-double features as plain arrays
    reference        every loop in NumPy; this is what each loop means
    cpp/             the same loops in C++, compiled to `_compiled`

Each function below has the signature and the meaning of its namesake in `reference`.
``LINEARLY_KERNELS=reference`` in the environment selects NumPy.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from linearly.kernels import reference
from linearly.kernels.double_double import Array, DoubleDouble
from linearly.kernels.matrices import is_sparse
from linearly.kernels.reference import PassResult

try:
    from linearly.kernels import _compiled
except ImportError:
    _compiled = None  # type: ignore[assignment]

if os.environ.get("LINEARLY_KERNELS", "") == "reference":
    _compiled = None  # type: ignore[assignment]

SKIPPED, NUMBER, WHOLE = 0, 1, 2  # how `read_numbers` reads a field: not at all, as float64, as int64
P = ParamSpec("P")
Result = TypeVar("Result")


def _or_reference(compiled: Callable[P, Result]) -> Callable[P, Result]:
    """Return a function that calls `compiled` if the extension is available, else its namesake in `reference`."""
    in_numpy: Callable[P, Result] = getattr(reference, compiled.__name__)

    @functools.wraps(compiled)
    def kernel(*args: P.args, **kwargs: P.kwargs) -> Result:
        return (in_numpy if _compiled is None else compiled)(*args, **kwargs)

    return kernel


def is_compiled() -> bool:
    """Return whether the compiled extension is in use."""
    return _compiled is not None


def kernels_in_use() -> str:
    """Return the name of the kernels in use, with their instruction set."""
    if _compiled is None:
        return "NumPy reference"
    return f"compiled ({_compiled.instruction_set()})"


@_or_reference
def gram(X: Any, Y: Array | None, weight: Array | None, shift: Array, scale: Array, coef: Array | None = None) -> Array:
    """Return Z'WZ of Z = [1 | X | Y] in the scaling."""
    G = np.zeros((len(shift) + 1, len(shift) + 1))
    _compiled.gram(X, Y, weight, shift, scale, coef, G)
    return G


@_or_reference
def power_of_two(size: Array, step: int = 1) -> Array:
    """Return the power of 2ˢᵗᵉᵖ just above each size; 1 for a size of 0 or one that is not finite."""
    if np.ndim(size) != 1:
        return reference.power_of_two(size, step)
    power = np.empty(len(size))
    _compiled.power_of_two(np.ascontiguousarray(size, dtype=np.float64), step, power)
    return power


def column_scaling(X: NDArray[Any], Y: Array | None, coarse: int) -> tuple[Array, Array] | None:
    """Return shift and scale of the columns of [X | Y], as `ColumnScaling.of` computes them for rows without weights.

    The result is None for a single row or column, for numbers whose differences overflow, and without the extension.
    """
    if _compiled is None:
        return None
    out = np.empty((2, X.shape[1] + (0 if Y is None else Y.shape[1])))
    return (out[0], out[1]) if _compiled.column_scaling(X, Y, coarse, out) else None


def centred_gram(X: NDArray[Any], Y: Array) -> tuple[Array, Array, Array, Array, Array] | None:
    """Return shift, scale, mean, centred cross-products and rounding bounds of rows without weights, by `gram`.

    The result is None for rows that need more care (constant or huge columns, a mean far from the sample), and without
    the extension. `Gram.of` defines the result, bit by bit.
    """
    if _compiled is None:
        return None
    m = X.shape[1] + Y.shape[1]
    out, rounding = np.empty((3 + m, m)), np.empty(1 + m)
    if not _compiled.centred_gram(X, Y, out, rounding):
        return None
    return out[0], out[1], out[2], out[3:], rounding


def scale_normal_equations(p: int, m: int, *gram: Any) -> tuple[Array, Array, Array] | None:
    """Return scaled columns and normal equations of p features and m − p targets, as `small_solve` takes them."""
    if _compiled is None:
        return None
    columns, A, C = np.empty((6, m)), np.empty((p, p)), np.empty((p, m - p))
    return (columns, A, C) if _compiled.scale_normal_equations(*gram, columns, A, C) else None


def finish_solution(p: int, k: int, *problem: Any) -> tuple[Any, Array, Array, Array] | None:
    """Return correct digits, coefficients, numbers of each target and means of a problem, for `small_solve`."""
    coef, targets, means = np.empty((k, p)), np.empty((5, k)), np.empty((2, p))
    digits = _compiled.finish_solution(*problem, coef, targets, means)
    return None if digits is None else (digits, coef, targets, means)


def scale_to_unit(A: Array) -> tuple[Array, Array] | None:
    """Return powers of two and A divided by them on both sides, its diagonal about 1.

    The result is None if a number is not finite, and without the extension.
    """
    if _compiled is None:
        return None
    size, scaled = np.empty(len(A)), np.empty(A.shape)
    return (size, scaled) if _compiled.scale_to_unit(A, size, scaled) else None


def is_independent(R: Array, T: Array) -> bool:
    """Return whether the columns of a triangle R with inverse T are clearly independent; requires the extension."""
    return _compiled.is_independent(R, T)


@_or_reference
def sparse_gram(X: Any, weight: Array | None, scale: Array, D: Array) -> tuple[Array, Array]:
    """Return Z'WZ and Z'WD for a CSR matrix. The compiled loop requires each column at most once in a row."""
    if not X.has_canonical_format:
        return reference.sparse_gram(X, weight, scale, D)
    p = X.shape[1]
    G, C = np.zeros((p, p)), np.zeros((p, D.shape[1]))
    offsets, values = X.indptr.astype(X.indices.dtype, copy=False), np.asarray(X.data, dtype=np.float64)
    _compiled.sparse_gram(offsets, X.indices, values, weight, scale, np.ascontiguousarray(D), G, C)
    return G, C


@_or_reference
def largest_of_columns(X: Any) -> Array:
    """Return the largest absolute value of each column of a CSR matrix; NaN may be ignored."""
    largest = np.zeros(X.shape[1])
    values = X.data if X.dtype in (np.float64, np.float32) else X.data.astype(np.float64)
    _compiled.largest_of_columns(X.indices, values, largest)
    return largest


@_or_reference
def gram_by_class(
    X: NDArray[Any], weight: Array | None, shift: Array, scale: Array, order: NDArray[np.int64], ends: NDArray[np.int64]
) -> Array:
    """Return Z'WZ of Z = [1 | X] for each class of rows."""
    G = np.zeros((len(ends) - 1, len(shift) + 1, len(shift) + 1))
    _compiled.gram_by_class(X, weight, shift, scale, order, ends, G)
    return G


@_or_reference
def gram_columns(X: Sequence[Array], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """Return Z'WZ for features stored as separate columns."""
    G = np.zeros((len(shift) + 1, len(shift) + 1))
    _compiled.gram_columns(X, Y, weight, shift, scale, G)
    return G


@_or_reference
def code_tables(
    X: Sequence[Array],
    weight: Array | None,
    shift: Array,
    scale: Array,
    codes: Sequence[NDArray[np.int32]],
    widths: Sequence[int],
) -> tuple[Array, Array]:
    """Return sums of the scaled columns and of their squares by code, and sums of weights by pairs of codes."""
    size = len(widths) + sum(widths)
    sums, pairs = np.zeros((size, 1 + 2 * len(X))), np.zeros((size, size))
    _compiled.code_tables(X, weight, shift, scale, codes, np.array(widths, dtype=np.int64), sums, pairs)
    return sums, pairs


@_or_reference
def gram_extended(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, weight: Array | None, shift: Array, scale: Array
) -> DoubleDouble:
    """Return Z'WZ in double-double."""
    m = len(shift) + 1
    G = DoubleDouble(np.zeros((m, m)), np.zeros((m, m)))
    _compiled.gram_extended(X, X_low, Y, weight, shift, scale, G.high, G.low)
    return G


@_or_reference
def qr_update(R: Array, X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """Return the R factor of R stacked on W^½ Z. The compiled loop requires a square R."""
    if len(R) < len(shift) + 1:
        return reference.qr_update(R, X, Y, weight, shift, scale)
    R = R.copy()
    _compiled.qr_update(X, Y, weight, shift, scale, R)
    return R


@_or_reference
def logistic(
    X: NDArray[Any], y: Array, weight: Array | None, shift: Array, scale: Array, beta: Array, hessian: bool
) -> tuple[float, Array, Array | None, int, float]:
    """Return loss, gradient, Hessian, mistakes and largest |logit| for two classes."""
    m = X.shape[1] + 1
    gradient, H = np.zeros((m, 1)), np.zeros((m, m)) if hessian else None
    loss, mistakes, largest = _compiled.logistic(X, y, weight, shift, scale, beta, H, gradient)
    return loss, gradient, H, mistakes, largest


@_or_reference
def probabilities(X: NDArray[Any], beta: Array) -> Array:
    """Return the probabilities of two classes, n × 2."""
    out = np.empty((len(X), 2))
    _compiled.probabilities(X, beta, out)
    return out


@_or_reference
def softmax(
    X: NDArray[Any],
    codes: NDArray[np.int32],
    weight: Array | None,
    shift: Array,
    scale: Array,
    B: Array,
    hessian: bool = False,
) -> tuple[float, Array, Array | None, int, float]:
    """Return loss, gradient, Hessian, mistakes and largest |logit| for c logits."""
    gradient, H = np.zeros(B.shape), np.zeros((B.size, B.size)) if hessian else None
    B = np.ascontiguousarray(B)
    loss, mistakes, largest = _compiled.softmax(X, codes, weight, shift, scale, B, H, gradient)
    return loss, gradient, H, mistakes, largest


@_or_reference
def softmax_probabilities(X: NDArray[Any], B: Array) -> Array:
    """Return the softmax of the scores [1 | X]B, n × K."""
    out = np.empty((len(X), B.shape[1]))
    _compiled.softmax_probabilities(X, B, out)
    return out


@_or_reference
def mahalanobis(X: NDArray[Any], shift: Array, scale: Array, roots: Array, moved: Array, K: int) -> Array:
    """Return squared distances from K centres, n × K."""
    out = np.empty((len(X), K))
    _compiled.mahalanobis(X, shift, scale, roots, moved, out)
    return out


@_or_reference
def residual_extended(
    X: NDArray[Any], X_low: Array | None, Y: Array, weight: Array | None, shift: Array, scale: Array, B: DoubleDouble
) -> DoubleDouble:
    """Return the gradient and the residual sum of squares in double-double."""
    shape = (X.shape[1] + 2, Y.shape[1])
    total = DoubleDouble(np.zeros(shape), np.zeros(shape))
    _compiled.residual_extended(
        X,
        X_low,
        Y,
        weight,
        shift,
        scale,
        np.ascontiguousarray(B.high),
        np.ascontiguousarray(B.low),
        total.high,
        total.low,
    )
    return total


@_or_reference
def coordinate_descent(
    columns: Array,
    places: NDArray[np.int64],
    squares: Array,
    lam: Array,
    mu: Array,
    w: Array,
    residual: Array,
    tolerance: float,
    most: int,
) -> tuple[Array, Array]:
    """Return coefficients and residual after sweeps of coordinate descent. `columns` is column-major."""
    w, residual = w.copy(), residual.copy()
    _compiled.coordinate_descent(columns.T, places, squares, lam, mu, tolerance, most, w, residual)
    return w, residual


@_or_reference
def count_rows(text: bytes) -> tuple[int, int, bool]:
    """Return the number of non-blank lines of CSV text, the number of line ends, and whether it has a quote."""
    return _compiled.count_rows(text)


def read_numbers(
    text: bytes, delimiter: str, fields: NDArray[np.int8], rows: int
) -> tuple[Array, NDArray[np.int64]] | None:
    """Return the float64 and the int64 columns of CSV text, or None if a field cannot be read as its column's kind.

    `fields` has the kind of each column: `SKIPPED`, `NUMBER` or `WHOLE`. Text with a quote in a field, a blank line,
    or another number of rows or fields also gives None. Without the extension the result is None, because pyarrow is
    faster than Python.
    """
    if _compiled is None:
        return None
    numbers = np.empty((int((fields == NUMBER).sum()), rows))
    wholes = np.empty((int((fields == WHOLE).sum()), rows), dtype=np.int64)
    found = _compiled.read_numbers(text, delimiter, fields, numbers, wholes)
    return (numbers, wholes) if found == rows else None


class ColumnChunk(NamedTuple):
    """One column of one row group, in the codes of a Parquet footer; −1 for what the footer does not state."""

    type: int
    codec: int
    values: int
    length: int
    data: int
    dictionary: int
    apart: int  # 1 if it is stored in another file, or is encrypted


def columns_of(footer: bytes) -> NDArray[np.int64]:
    """Return one `ColumnChunk` per row, by row group; no rows for a damaged footer or without the extension."""
    chunks = b"" if _compiled is None else _compiled.columns_of(footer)
    return np.frombuffer(chunks, dtype=np.int64).reshape(-1, len(ColumnChunk._fields))


def pages() -> _compiled.Pages | None:
    """Return a reader of Parquet columns of float64, or None without the extension, where pyarrow is faster.

    Call `open(file, …)` for a column, then `read(out)`, which returns False for a page it cannot decode.
    """
    return None if _compiled is None else _compiled.Pages()


@_or_reference
def perceptron_pass(
    X: Any,
    labels: NDArray[np.int32],
    order: NDArray[np.int64] | None,
    W: Array,
    b: Array | None,
    U: Array | None,
    c: Array | None,
    seen: int,
    most: int,
    measure: bool,
    mistakes: NDArray[np.int64],
    rivals: NDArray[np.int32],
) -> PassResult:
    """Make one online pass over the rows and correct W and b in place."""
    return _run_perceptron_pass(X, labels, order, W, b, U, c, float(seen), most, measure, mistakes, rivals)


@_or_reference
def count_errors(X: Any, labels: NDArray[np.int32], W: Array, b: Array | None) -> int:
    """Return the number of rows that these weights classify wrongly."""
    return _run_perceptron_pass(X, labels, None, W, b, None, None, 0.0, 0, False, None, None).found


def _run_perceptron_pass(X: Any, *rest: Any) -> PassResult:
    if not is_sparse(X):
        return PassResult(*_compiled.perceptron_pass_dense(X, *rest))
    offsets = X.indptr.astype(X.indices.dtype, copy=False)
    return PassResult(*_compiled.perceptron_pass_sparse(offsets, X.indices, X.data, X.shape[1], *rest))
