"""Labels: from what the user calls the classes to codes 0 … K − 1, and every label that is none refused by row.

Classes are sorted and keep their type. Two classes: `classes[1]` is the notes' y = +1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from linearly.dataset.elsewhere import rows_elsewhere
from linearly.dataset.mapped import MappedRows
from linearly.dataset.polynomial import Polynomial
from linearly.dataset.rows import Block, Rows, as_rows, is_rows
from linearly.dataset.sparse import SparseRows
from linearly.models.base import checked_matrix, checked_weight, remember_columns

Labels = NDArray[Any]
Codes = NDArray[np.int32]

_LARGEST_TABLE = 2**16  # integers that span less are coded by looking them up


def labelled_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    classes: Any = None,
    reset: bool = True,
) -> tuple[Labels, Rows]:
    """The classes, and rows whose targets are codes, of a call to `fit` or `partial_fit`.

    ``classes`` are those known before; without them they are found in y (rows that bring their own targets take a
    pass for it).
    """
    away = rows_elsewhere(X, y, sample_weight, labels=True)
    if away is not None:
        if y is None:
            checked_labels(y, estimator)
        X, y, sample_weight = away, None, None
    if is_rows(X):
        if y is not None or sample_weight is not None:
            raise ValueError("These rows bring their own targets and weights: call fit(rows) without y.")
        remember_columns(estimator, X.names, reset)
        coded = getattr(X, "classes", None)
        if coded is not None and (classes is None or np.array_equal(coded, classes)):
            return at_least_two(coded), X
        if coded is not None:
            X = MappedRows(X, lambda block: replace(block, y=coded[block.y]))
        known = _classes_of(X) if classes is None else classes
        return known, MappedRows(X, lambda block: _coded(block, known))
    matrix = checked_matrix(estimator, X, reset=reset)
    labels = checked_labels(y, estimator)
    check_consistent_length(matrix, labels)
    weight = checked_weight(sample_weight, matrix)
    present = labels if weight is None else labels[weight > 0]
    if len(present) == 0:
        raise ValueError("All sample weights are zero: there are no rows to learn from.")
    if classes is None:
        classes, codes = encode(labels)
        if weight is not None and len(found := encode(present)[0]) < len(classes):
            classes, codes = found, codes_among(labels, found, absent=weight == 0)
        at_least_two(classes)
    else:
        codes = codes_among(labels, classes)
    names = getattr(estimator, "feature_names_in_", None)
    if hasattr(type(matrix), "tocsr"):
        return classes, SparseRows(matrix, codes, weight, () if names is None else names)
    rows = as_rows(matrix, codes, weight, names)
    return classes, MappedRows(rows, _rounded) if isinstance(matrix, Polynomial) else rows


def checked_labels(y: Any, estimator: Any = None) -> Labels:
    """y as a one-dimensional array of labels of one kind; gaps, numbers that are no labels and mixtures are refused."""
    if y is None:
        who = f"This {type(estimator).__name__} estimator" if estimator is not None else "This"
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise ValueError(f"y should be a 1d array of labels, one a row, not {y!r}.")
    labels = np.asarray(column_or_1d(labels, warn=True))
    if isinstance(y, (list, tuple)):  # NumPy would make strings of numbers beside strings, and numbers of booleans
        _refuse_mixed(np.array(y, dtype=object).ravel().tolist())
    kind = labels.dtype.kind
    if kind == "f":
        _refuse_continuous(labels)
    elif kind not in "biuUSMm":
        labels = labels.astype(object)
        _refuse_mixed(labels.tolist())
    return labels


def encode(labels: Labels) -> tuple[Labels, Codes]:
    """The sorted classes among checked labels, and the code of each label."""
    kind = labels.dtype.kind
    if len(labels):
        # Most often there are two; sorting a million labels to find them out takes longer than a pass over the rows.
        other = labels != labels[0]
        second = labels[int(np.argmax(other))]
        if other.any() and np.array_equal(labels == second, other):
            reverse = bool(second < labels[0])
            classes = np.array([second, labels[0]] if reverse else [labels[0], second], dtype=labels.dtype)
            return classes, (other != reverse).astype(np.int32)
    if kind == "O":
        values = labels.tolist()
        distinct = sorted(dict.fromkeys(values))
        place = {value: k for k, value in enumerate(distinct)}
        classes = np.array([*distinct, None], dtype=object)[:-1]
        return classes, np.fromiter((place[value] for value in values), dtype=np.int32, count=len(values))
    if kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < _LARGEST_TABLE:
            wide = labels if labels.dtype.itemsize == 8 else labels.astype(np.int64)
            offset = (wide - wide.dtype.type(low)).astype(np.intp)
            found = np.bincount(offset) > 0
            classes = (np.flatnonzero(found) + low).astype(labels.dtype)
            return classes, (np.cumsum(found) - 1).astype(np.int32)[offset]
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int32)


def codes_among(labels: Labels, classes: Labels, *, start: int = 0, absent: Any = None) -> Codes:
    """The code of each label among known classes; a label that is none of them is refused by row, unless `absent`."""
    found, codes = encode(labels)
    place = {value: k for k, value in enumerate(classes.tolist())}
    table = np.array([place.get(value, -1) for value in found.tolist()], dtype=np.int32)
    result: Codes = table[codes]
    unknown = (result < 0) if absent is None else (result < 0) & ~absent
    if unknown.any():
        i = int(np.argmax(unknown))
        raise ValueError(
            f"Row {start + i} has the label {labels.tolist()[i]!r}, which is not one of the classes {shown(classes)}. "
            "Name all classes in the first call: partial_fit(X, y, classes=...)."
        )
    return np.maximum(result, 0)


def at_least_two(classes: Labels) -> Labels:
    """The classes, refused if there is only one."""
    if len(classes) < 2:
        only = f"one class only, {classes.tolist()[0]!r}" if len(classes) else "no class"
        raise ValueError(f"y has {only}: a classifier needs rows of at least two classes.")
    return classes


def checked_classes(classes: Any) -> Labels:
    """The classes a user names for `partial_fit`, sorted."""
    return at_least_two(encode(checked_labels(classes))[0])


def shown(classes: Labels) -> str:
    """The classes for a message, the first few if they are many."""
    values = classes.tolist()
    return f"[{', '.join(map(repr, values[:8]))}{', …' if len(values) > 8 else ''}]"


@dataclass(frozen=True)
class _Found:
    classes: frozenset[Any]
    dtype: Any

    def __add__(self, other: _Found) -> _Found:
        return _Found(self.classes | other.classes, np.result_type(self.dtype, other.dtype))


def _classes_of(rows: Rows) -> Labels:
    def found(block: Block) -> _Found:
        if block.y is None:
            raise ValueError("These rows bring no targets: nothing can be learnt.")
        labels = _checked_block(block)
        labels = labels if block.weight is None else labels[block.weight > 0]
        return _Found(frozenset(encode(labels)[0].tolist()), labels.dtype)

    total = rows.fold(found)
    _refuse_mixed(list(total.classes))
    return at_least_two(encode(np.array([*total.classes, None], dtype=object)[:-1].astype(total.dtype))[0])


def _checked_block(block: Block) -> Labels:
    try:
        return checked_labels(block.y)
    except ValueError as error:
        raise ValueError(f"In the rows from {block.start} on: {error}") from error


def _coded(block: Block, classes: Labels) -> Block:
    absent = None if block.weight is None else block.weight == 0
    return replace(block, y=codes_among(_checked_block(block), classes, start=block.start, absent=absent))


def _rounded(block: Block) -> Block:
    return replace(block, X=block.X.rounded()) if hasattr(block.X, "rounded") else block


def _refuse_continuous(labels: Labels) -> None:
    if not np.isfinite(labels.sum()):
        bad = ~np.isfinite(labels)
        if bad.any():
            i = int(np.argmax(bad))
            value = "NaN" if np.isnan(labels[i]) else "infinity"
            raise ValueError(f"Input y contains {value}: row {i} has no label. Drop the row or fill the gap first.")
    fractions = labels != np.rint(labels)
    if fractions.any():
        i = int(np.argmax(fractions))
        raise ValueError(
            f"Unknown label type: continuous. Row {i} has {labels[i]!r}; labels are strings, booleans or whole numbers."
        )


def _refuse_mixed(values: Sequence[Any]) -> None:
    kinds: dict[str, tuple[int, Any]] = {}
    for i, value in enumerate(values):
        if value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType":
            raise ValueError(f"Input y contains NaN: row {i} has no label. Drop the row or fill the gap first.")
        kinds.setdefault(_kind(value), (i, value))
    if len(kinds) > 1:
        (i, a), (j, b), *_ = kinds.values()
        raise ValueError(
            f"Labels of mixed types: row {i} has {a!r} ({type(a).__name__}), row {j} has {b!r} ({type(b).__name__}). "
            "Make all labels strings, or all numbers."
        )
    if "number" in kinds:
        _refuse_continuous(np.array(values, dtype=np.float64))


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, float, np.integer, np.floating)):
        return "number"
    return "str" if isinstance(value, str) else type(value).__name__
