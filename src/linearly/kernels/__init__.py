"""The hot loops: compiled where a C++ compiler was at hand, NumPy (`reference`) elsewhere.

Both have the same functions with the same meaning. ``LINEARLY_KERNELS=reference`` asks for NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.kernels import reference
from linearly.kernels.double_double import Array, DoubleDouble
from linearly.kernels.matrices import is_sparse
from linearly.kernels.reference import NUMBER as NUMBER
from linearly.kernels.reference import SKIPPED as SKIPPED
from linearly.kernels.reference import WHOLE as WHOLE

try:
    from linearly.kernels import _compiled
except ImportError:
    _compiled = None  # type: ignore[assignment]

if os.environ.get("LINEARLY_KERNELS", "") == "reference":
    _compiled = None  # type: ignore[assignment]


def kernels_in_use() -> str:
    """Which kernels run here, in words."""
    if _compiled is None:
        return "NumPy reference"
    return f"compiled ({_compiled.instruction_set()})"


def gram(
    X: Any,
    Y: Array | None,
    weight: Array | None,
    shift: Array,
    scale: Array,
    coef: Array | None = None,
) -> Array:
    """Z'WZ of Z = [1 | X | Y] in the scaling; see `reference.gram`."""
    if _compiled is None:
        return reference.gram(X, Y, weight, shift, scale, coef)
    G = np.zeros((len(shift) + 1, len(shift) + 1))
    _compiled.gram(X, Y, weight, shift, scale, coef, G)
    return G


def gram_by_class(
    X: NDArray[Any],
    weight: Array | None,
    shift: Array,
    scale: Array,
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> Array:
    """Z'WZ of Z = [1 | X] for each class of rows; see `reference.gram_by_class`."""
    if _compiled is None:
        return reference.gram_by_class(X, weight, shift, scale, order, ends)
    G = np.zeros((len(ends) - 1, len(shift) + 1, len(shift) + 1))
    _compiled.gram_by_class(X, weight, shift, scale, order, ends, G)
    return G


def gram_columns(X: Sequence[Array], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """Z'WZ of columns that lie apart; see `reference.gram_columns`."""
    if _compiled is None:
        return reference.gram_columns(X, Y, weight, shift, scale)
    G = np.zeros((len(shift) + 1, len(shift) + 1))
    _compiled.gram_columns(X, Y, weight, shift, scale, G)
    return G


def gram_extended(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, weight: Array | None, shift: Array, scale: Array
) -> DoubleDouble:
    """Z'WZ in double-double; see `reference.gram_extended`."""
    if _compiled is None:
        return reference.gram_extended(X, X_low, Y, weight, shift, scale)
    m = len(shift) + 1
    G = DoubleDouble(np.zeros((m, m)), np.zeros((m, m)))
    _compiled.gram_extended(X, X_low, Y, weight, shift, scale, G.high, G.low)
    return G


def qr_update(R: Array, X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """R of QR of R stacked on W^½ Z; see `reference.qr_update`. The compiled loop is for a square R."""
    if _compiled is None or len(R) < len(shift) + 1:
        return reference.qr_update(R, X, Y, weight, shift, scale)
    R = R.copy()
    _compiled.qr_update(X, Y, weight, shift, scale, R)
    return R


def logistic(
    X: NDArray[Any], y: Array, weight: Array | None, shift: Array, scale: Array, beta: Array, hessian: bool
) -> tuple[float, Array, Array | None, int, float]:
    """One read of rows for two classes; see `reference.logistic`."""
    if _compiled is None:
        return reference.logistic(X, y, weight, shift, scale, beta, hessian)
    m = X.shape[1] + 1
    gradient, H = np.zeros((m, 1)), np.zeros((m, m)) if hessian else None
    loss, mistakes, largest = _compiled.logistic(X, y, weight, shift, scale, beta, H, gradient)
    return loss, gradient, H, mistakes, largest


def probabilities(X: NDArray[Any], beta: Array) -> Array:
    """Probabilities of two classes, n × 2; see `reference.probabilities`."""
    if _compiled is None:
        return reference.probabilities(X, beta)
    out = np.empty((len(X), 2))
    _compiled.probabilities(X, beta, out)
    return out


def softmax(
    X: NDArray[Any], codes: NDArray[np.int32], weight: Array | None, shift: Array, scale: Array, B: Array
) -> tuple[float, Array, int, float]:
    """Loss and gradient of c logits, one read of rows; see `reference.softmax`."""
    if _compiled is None:
        return reference.softmax(X, codes, weight, shift, scale, B)
    gradient = np.zeros(B.shape)
    loss, mistakes, largest = _compiled.softmax(X, codes, weight, shift, scale, np.ascontiguousarray(B), gradient)
    return loss, gradient, mistakes, largest


def softmax_probabilities(X: NDArray[Any], B: Array) -> Array:
    """Shares of exp(score) for K scores [1 | X]B, n × K; see `reference.softmax_probabilities`."""
    if _compiled is None:
        return reference.softmax_probabilities(X, B)
    out = np.empty((len(X), B.shape[1]))
    _compiled.softmax_probabilities(X, B, out)
    return out


def mahalanobis(X: NDArray[Any], shift: Array, scale: Array, roots: Array, moved: Array, K: int) -> Array:
    """Squared distances from K centres, n × K; see `reference.mahalanobis`."""
    if _compiled is None:
        return reference.mahalanobis(X, shift, scale, roots, moved, K)
    out = np.empty((len(X), K))
    _compiled.mahalanobis(X, shift, scale, roots, moved, out)
    return out


def residual_extended(
    X: NDArray[Any],
    X_low: Array | None,
    Y: Array,
    weight: Array | None,
    shift: Array,
    scale: Array,
    B: DoubleDouble,
) -> DoubleDouble:
    """Gradient and residual sum of squares in double-double; see `reference.residual_extended`."""
    if _compiled is None:
        return reference.residual_extended(X, X_low, Y, weight, shift, scale, B)
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


def count_rows(text: bytes) -> tuple[int, int, bool]:
    """Of rows of CSV: lines that are not blank, line ends, and whether there is a quote; see `reference.count_rows`."""
    return reference.count_rows(text) if _compiled is None else _compiled.count_rows(text)


def read_numbers(
    text: bytes, delimiter: str, fields: NDArray[np.int8], rows: int
) -> tuple[Array, NDArray[np.int64]] | None:
    """The numbers of rows of CSV, column after column; None if anything in them is not plain. See `reference`.

    There is None where the kernels are not compiled: pyarrow is faster than Python then.
    """
    if _compiled is None:
        return None
    numbers = np.empty((int((fields == NUMBER).sum()), rows))
    wholes = np.empty((int((fields == WHOLE).sum()), rows), dtype=np.int64)
    found = _compiled.read_numbers(text, delimiter, fields, numbers, wholes)
    return (numbers, wholes) if found == rows else None


class ColumnChunk(NamedTuple):
    """A column of a row group as a Parquet file's footer has it, in Parquet's numbers; −1 where it does not say."""

    type: int
    codec: int
    values: int
    length: int
    data: int
    dictionary: int
    apart: int  # 1 if it lies in another file, or is encrypted


def columns_of(footer: bytes) -> NDArray[np.int64]:
    """A `ColumnChunk` a row, one row group after another; none where the footer is damaged, or no kernel reads it."""
    told = b"" if _compiled is None else _compiled.columns_of(footer)
    return np.frombuffer(told, dtype=np.int64).reshape(-1, len(ColumnChunk._fields))


def pages() -> _compiled.Pages | None:
    """A reader of Parquet columns of float64: `open(file, …)` one, then `read(out)`, False where a page is not plain.

    There is None where the kernels are not compiled: pyarrow is faster than Python then.
    """
    return None if _compiled is None else _compiled.Pages()


class PassResult(NamedTuple):
    """What a scan did: steps walked, mistakes found, the largest |x| it met, and whether every score was finite."""

    walked: int
    found: int
    largest: float
    finite: bool


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
    """The perceptron's walk over rows, correcting W and b in place; see `reference.perceptron_pass`."""
    if _compiled is None:
        return PassResult(
            *reference.perceptron_pass(X, labels, order, W, b, U, c, seen, most, measure, mistakes, rivals)
        )
    return _perceptron_pass(X, labels, order, W, b, U, c, float(seen), most, measure, mistakes, rivals)


def count_errors(X: Any, labels: NDArray[np.int32], W: Array, b: Array | None) -> int:
    """How many rows these weights classify wrongly; see `reference.count_errors`."""
    if _compiled is None:
        return reference.count_errors(X, labels, W, b)
    return _perceptron_pass(X, labels, None, W, b, None, None, 0.0, 0, False, None, None).found


def _perceptron_pass(X: Any, *rest: Any) -> PassResult:
    if not is_sparse(X):
        return PassResult(*_compiled.perceptron_pass_dense(X, *rest))
    offsets = X.indptr.astype(X.indices.dtype, copy=False)
    return PassResult(*_compiled.perceptron_pass_sparse(offsets, X.indices, X.data, X.shape[1], *rest))
