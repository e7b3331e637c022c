"""Run the hot loops: the compiled extension where it is available, NumPy elsewhere.

In reading order:
    double_double    numbers of about 31 digits, each the sum of two float64
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
    X: NDArray[Any], codes: NDArray[np.int32], weight: Array | None, shift: Array, scale: Array, B: Array
) -> tuple[float, Array, int, float]:
    """Return loss, gradient, mistakes and largest |logit| for c logits."""
    gradient = np.zeros(B.shape)
    loss, mistakes, largest = _compiled.softmax(X, codes, weight, shift, scale, np.ascontiguousarray(B), gradient)
    return loss, gradient, mistakes, largest


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
