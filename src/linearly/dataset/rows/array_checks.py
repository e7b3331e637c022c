"""Convert array-likes to arrays of real numbers, or raise an error that names the place.

NumPy converts more than it should: a masked cell becomes the number behind the mask, a date the nanoseconds since 1970,
a missing date −2⁶³, an integer beyond 2⁵³ its neighbour, text that looks like a number that number. SciPy trusts
the indices of a sparse matrix, and reads or writes wherever they point. So this is looked at once, here.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.matrices import is_sparse

LARGEST_EXACT_INTEGER = 2**53  # beyond it, float64 skips integers
_LARGE = 2.0**1000
_LARGEST_WEIGHT = 1e100
_SHAPES = {"X": "an array, a list of rows, a sparse matrix or a data frame"}
_KINDS = {"M": "dates", "m": "durations", "U": "text", "S": "bytes", "T": "text", "V": "records"}
_LONGEST = 40  # characters of a value in a message


def as_numeric_array(X: Any, what: str = "X") -> Any:
    """Return X as an array or sparse matrix of real numbers, without a copy if it is one. NaN is not searched for."""
    if is_sparse(X):
        return _sound(X)
    array = as_array(X, what)
    kind = array.dtype.kind
    if kind in "fiub":
        return array
    if kind == "c":
        raise ValueError(f"Complex data not supported: {what} is {array.dtype}. Use real numbers.")
    if kind == "O" and array.ndim:
        return _of_objects(array, what)
    if array.ndim == 0:
        raise ValueError(_no_array(X, what))
    raise ValueError(
        f"{what} contains {_KINDS.get(kind, 'values')} ({array.dtype}), not numeric. Encode them as numbers, or drop "
        "them, before fitting."
    )


def has_inexact_integers(values: NDArray[Any]) -> bool:
    """Return whether float64 would round some integer. No copy is made, because every block is checked."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or values.size == 0:
        return False
    return bool(values.max() > LARGEST_EXACT_INTEGER or values.min() < -LARGEST_EXACT_INTEGER)


def beyond_float64(integers: Any) -> Any:
    """Return a mask of the integers, of an array or a column, that float64 would round."""
    return (integers > LARGEST_EXACT_INTEGER) | (integers < -LARGEST_EXACT_INTEGER)


def check_weight_range(weight: NDArray[np.float64], where: Callable[[int], str], name: str) -> None:
    """Raise a ValueError if sums or squares of the weights would exceed the float64 range."""
    extreme = (weight > _LARGEST_WEIGHT) | ((weight < 1 / _LARGEST_WEIGHT) & (weight > 0))
    if extreme.any():
        i = int(np.argmax(extreme))
        raise ValueError(
            f"{name} is {float(weight[i])!r} in {where(i)}, but weights must be 0 or between "
            f"{1 / _LARGEST_WEIGHT:.0e} and {_LARGEST_WEIGHT:.0e}. Divide all weights by one constant."
        )


def as_array(X: Any, what: str) -> NDArray[Any]:
    """Return X as an array of any dtype; raise for ragged rows, masked cells and non-arrays."""
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X, what)
    if isinstance(X, np.ndarray):
        return X
    if isinstance(X, (str, bytes, bytearray, memoryview)):
        raise ValueError(_no_array(X, what))
    try:
        return np.asarray(X)
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(X, (list, tuple)):
            _refuse_ragged(X, what)
        raise ValueError(f"{what} is {_a(X)}, which cannot be read as an array: {error}") from error


def as_integer_array(values: Sequence[Any]) -> NDArray[Any] | None:
    """Return integers as a 64-bit array, which NumPy turns into floats beyond 2⁶³; None if they do not fit."""
    for kind in (np.int64, np.uint64):
        try:
            return np.array(values, dtype=kind)
        except OverflowError:
            continue
    return None


def as_labels(values: Sequence[Any]) -> NDArray[Any]:
    """Return labels of one type as an array."""
    whole = as_integer_array(values) if all(type(value) is int for value in values) else None
    return np.array(values) if whole is None else whole


def _no_array(X: Any, what: str) -> str:
    wanted = _SHAPES.get(what, "an array or a list with one entry per row")
    # Words that scikit-learn's own checks look for, where it is a matter of shape.
    number = "Expected 2D array, got scalar array instead: " if isinstance(X, (numbers.Number, np.ndarray)) else ""
    return f"{number}{what} must be {wanted}, not {_a(X)}."


def _a(X: Any) -> str:
    name = type(X).__name__
    return "None" if X is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _refuse_ragged(X: Any, what: str) -> None:
    lengths = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else None for row in X]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            first, here = (f"{n} values" if n is not None else "a single value" for n in (lengths[0], length))
            raise ValueError(
                f"The rows of {what} differ in length: row 0 has {first}, row {i} has {here}. Give all "
                "rows the same length."
            )


def _unmasked(array: Any, what: str) -> NDArray[Any]:
    mask = np.ma.getmaskarray(array)
    if mask.any():
        at = np.argwhere(mask)[0]
        raise ValueError(f"Input {what} is masked, so missing: {_cell(at)}. Drop the row or fill in the value first.")
    return np.asarray(array.data)


def _cell(at: Any) -> str:
    return ", ".join(f"{word} {int(i)}" for word, i in zip(("row", "column", "layer"), at, strict=False))


def _of_objects(array: NDArray[Any], what: str) -> NDArray[np.float64]:
    if set(map(type, array.ravel().tolist())) == {float}:
        return array.astype(np.float64)
    result = np.empty(array.shape)
    for at, value in np.ndenumerate(array):
        try:
            result[at] = _number(value)
        except TypeError:
            raise TypeError(
                f"{_cell(at).capitalize()} of {what} is {short_repr(value)} ({type(value).__name__}), which is "
                "not a number. The argument must be free of strings, dates and other objects. Encode each as a "
                "number, or drop its column."
            ) from None
        except (ValueError, OverflowError):
            raise ValueError(
                f"{_cell(at).capitalize()} of {what} is {short_repr(value)}, which exceeds the float64 range. Rescale "
                "the column, or drop the row."
            ) from None
        if isinstance(value, numbers.Integral) and abs(int(value)) > LARGEST_EXACT_INTEGER:
            raise ValueError(
                f"The integer in {_cell(at)} of {what} exceeds 2**53 and would lose digits in float64. Subtract an "
                "offset, or convert the column to float64 if the lost digits do not matter."
            )
    return result


def _number(value: Any) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return np.nan
    if not isinstance(value, (numbers.Real, Decimal, np.bool_)):
        raise TypeError
    number = float(value)
    if np.isinf(number) and value != number:
        raise OverflowError
    return number


def short_repr(value: Any) -> str:
    """Return the repr of a value for a message, cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = "a number with thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _sound(X: Any) -> Any:
    """Return a sparse matrix as CSR of real numbers; raise if an index points outside it."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse array of {X.ndim} dimensions. Pass rows and columns.")
    kind = X.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: X is {X.dtype}. Use real numbers.")
    if kind not in "fiub":
        raise ValueError(f"X is a sparse matrix of {X.dtype}, not numeric. Encode it as numbers before fitting.")
    if X.dtype not in (np.float64, np.float32) and kind == "f":
        X = X.astype(np.float64)  # SciPy multiplies no other floats
    if X.format == "coo":
        for name, indices, size in zip(("row", "column"), X.coords, X.shape, strict=True):
            _refuse_outside(indices, size, name)
    elif X.format in ("csr", "csc", "bsr"):
        _refuse_damaged(X)
    csr = X if X.format == "csr" else X.tocsr()
    if X.format in ("lil", "dok"):
        _refuse_damaged(csr)
    if not csr.has_canonical_format and float(np.abs(csr.data).max(initial=0.0)) > _LARGE:
        csr = csr.copy()
        csr.sum_duplicates()  # entries of one cell may be finite and their sum not
    return csr


def _refuse_damaged(X: Any) -> None:
    across = "row" if X.format == "csc" else "column"
    tall, wide = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        tall, wide = tall // X.blocksize[0], wide // X.blocksize[1]
    offsets, indices, data = X.indptr, X.indices, X.data
    whole = all(a.ndim == 1 and a.dtype.kind in "iu" for a in (offsets, indices))
    if not whole or len(offsets) != tall + 1 or len(indices) != len(data) or (X.format != "bsr" and data.ndim != 1):
        raise ValueError(_DAMAGED.format("its arrays do not match its shape"))
    if len(offsets) and (offsets[0] != 0 or offsets[-1] > len(data) or (offsets[1:] < offsets[:-1]).any()):
        raise ValueError(_DAMAGED.format("the row offsets (indptr) are not in order"))
    _refuse_outside(indices[: offsets[-1]], wide, across, offsets if X.format == "csr" else None)


_DAMAGED = "X is a damaged sparse matrix: {}. Rebuild it from (data, (row, column))."


def _refuse_outside(indices: NDArray[Any], size: int, name: str, offsets: NDArray[Any] | None = None) -> None:
    if len(indices) == 0 or (indices.min() >= 0 and indices.max() < size):
        return
    k = int(np.argmax((indices < 0) | (indices >= size)))
    row = "" if offsets is None else f"row {int(np.searchsorted(offsets, k, side='right')) - 1} has "
    raise ValueError(_DAMAGED.format(f"{row}{name} {int(indices[k])}, but only {size} {name}s exist, numbered from 0"))
