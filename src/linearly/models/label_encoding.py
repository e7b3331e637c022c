"""Encode labels as codes 0 … K − 1; the error for an invalid label names its row.

Classes are sorted and keep their type. With two classes, `classes[1]` is y = +1.

In reading order: rows with codes for a fit (`labelled_rows`, `rows_with_labels`); checks of labels; accuracy; codes of
labels (`encode`, `encode_known`); checks of classes; labels that are found by a reduction over rows (`Labelled`).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.design import DesignRows
from linearly.dataset.rows.array_checks import as_array, as_integer_array, short_repr
from linearly.dataset.rows.block import ROW, Block, RowLocator, Rows, as_rows
from linearly.dataset.rows.column_matrix import taking_columns
from linearly.dataset.rows.label_checks import is_missing
from linearly.dataset.rows.polynomial import Polynomial
from linearly.dataset.rows.sparse import SparseRows
from linearly.dataset.rows.views import MappedRows
from linearly.kernels.matrices import dense, drop_low_part, is_sparse
from linearly.models.base import (
    check_same_length,
    check_target_given,
    checked_matrix,
    checked_weight,
    rows_with_own_targets,
)

Labels = NDArray[Any]
Codes = NDArray[np.int32]

_LABELS_ARE = "Labels must be strings, booleans or integers. Convert y to one of these types."
_MAX_TABLE = 2**16  # integers that span less are encoded by a table
_N_FIRST = 64  # labels that show whether there may be two classes only


def labelled_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    classes: Any = None,
    reset: bool = True,
) -> tuple[Labels, Rows]:
    """Return the classes of a call to `fit` or `partial_fit`, and rows whose targets are codes.

    Unless `classes` are known, they are found in y. Rows that contain their targets take a pass for it, over the
    targets alone if possible.
    """
    known, rows = rows_with_labels(estimator, X, y, sample_weight, classes=classes, reset=reset)
    if known is None:
        known = (rows.targets() if isinstance(rows, DesignRows) else rows).reduce(Labelled.counts).classes()
        rows = encode_rows(rows, known)
    return known, rows


def rows_with_labels(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    classes: Any = None,
    reset: bool = True,
) -> tuple[Labels | None, Rows]:
    """Return the classes and rows whose targets are codes; or None and rows whose targets are labels not yet listed.

    In the latter case, a reduction to a `Labelled` finds the labels, and `encode_rows` encodes them. So a model that is
    solved from a sum over rows needs no further pass to find its classes.
    """
    rows = rows_with_own_targets(estimator, X, y, sample_weight, reset=reset, labels=True)
    if rows is not None:
        own = rows.classes
        if own is not None and (classes is None or np.array_equal(own, classes)):
            return check_two_classes(own), rows
        if own is not None:
            rows = MappedRows(rows, taking_columns(lambda block: replace(block, y=own[block.y])))
        return (None, rows) if classes is None else (classes, encode_rows(rows, classes))
    matrix = checked_matrix(estimator, X, reset=reset)
    labels = checked_labels(y, estimator)
    check_same_length(matrix, labels)
    weight = checked_weight(sample_weight, matrix, allow_all_zero=not reset)
    if classes is None:
        classes, codes = encode(labels)
        if weight is not None and len(found := encode(labels[weight > 0])[0]) < len(classes):
            classes, codes = found, encode_known(labels, found, absent=weight == 0)
        check_two_classes(classes)
    else:
        codes = encode_known(labels, classes, absent=None if weight is None else weight == 0)
    names = getattr(estimator, "feature_names_in_", None)
    if is_sparse(matrix):
        return classes, SparseRows(matrix, codes, weight, () if names is None else names)
    rows = as_rows(matrix, codes, weight, names)
    if isinstance(matrix, Polynomial):
        return classes, MappedRows(rows, lambda block: replace(block, X=drop_low_part(block.X)))
    return classes, rows


def encode_rows(rows: Rows, classes: Labels) -> Rows:
    """Return rows whose targets are codes, from rows whose targets are labels."""

    def encode_block(block: Block) -> Block:
        absent = None if block.weight is None else block.weight == 0
        labels = checked_labels(block.y, where=block.describe_row)
        return replace(block, y=encode_known(labels, classes, where=block.describe_row, absent=absent))

    return MappedRows(rows, taking_columns(encode_block))


def checked_labels(y: Any, estimator: Any = None, where: RowLocator = ROW) -> Labels:
    """Return y as a 1-D array of labels of one type; raise for missing labels, fractions and mixed types."""
    check_target_given(y, estimator)
    labels = as_array(y, "y")
    if labels.ndim == 0:
        raise ValueError(
            f"y should be a 1d array of labels, one per row, not {type(y).__name__}. Pass a list or an array."
        )
    if labels.ndim > 2 or labels.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"y should be a 1d array of labels, one per row, got an array of shape {labels.shape} instead. Reshape y."
        )
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y is {labels.dtype}. {_LABELS_ARE}")
    if labels.dtype.kind == "V":
        raise ValueError(f"y contains records ({labels.dtype}), not labels. {_LABELS_ARE}")
    if labels.ndim == 2:
        from sklearn.utils.validation import column_or_1d

        labels = np.asarray(column_or_1d(labels, warn=True))
    if isinstance(y, (list, tuple)):  # NumPy would make strings of numbers beside strings, and numbers of booleans
        values = np.array(y, dtype=object).ravel().tolist()
        _check_one_type(values, where)
        if labels.dtype.kind == "f" and all(isinstance(value, numbers.Integral) for value in values):
            return _as_64_bits(values, where)  # floats would be their neighbours
    kind = labels.dtype.kind
    if kind == "f":
        _check_integral(labels, where)
    elif kind in "mM":
        _check_no_missing(np.isnat(labels), where)
    elif kind not in "biuUSMm":
        labels = labels.astype(object)
        values = labels.tolist()
        _check_one_type(values, where)
        if values and all(isinstance(value, numbers.Integral) and _kind(value) == "number" for value in values):
            return _as_64_bits(values, where)
    return labels


def accuracy(predicted: Labels, y: Any, weight: NDArray[np.float64] | None, known: Labels) -> float:
    """Return the share of rows, by weight, whose label is predicted; with several labels per row, all of them.

    A label that is none of the `known` classes counts as an error. A label of another type, such as text for numbers,
    raises.
    """
    if predicted.ndim == 2:
        truth = np.asarray(as_array(dense(y), "y"))
        _check_length(predicted, truth)
        if truth.shape != predicted.shape:
            raise ValueError(
                f"y has shape {truth.shape}, but the predictions have {predicted.shape}. Pass one column per label."
            )
        right = (truth == predicted).all(axis=1)
    else:
        truth = checked_labels(y)
        _check_length(predicted, truth)
        if truth.dtype.kind == known.dtype.kind and truth.dtype.kind in "mM":
            truth = truth.astype(known.dtype)  # which may count days and nanoseconds
        kinds = {_kind(value) for value in (*truth[:1].tolist(), known.tolist()[0])}
        if len(kinds) > 1 and not kinds <= {"bool", "number"}:
            value = truth.tolist()[0]
            raise ValueError(
                f"y contains {value!r} ({_kind(value)}), but the classes are {shown(known)}. Pass labels of the same "
                "type."
            )
        if "O" in (truth.dtype.kind, predicted.dtype.kind):
            right = np.array([a == b for a, b in zip(truth.tolist(), predicted.tolist(), strict=True)], dtype=bool)
        else:
            right = truth == predicted
    if weight is not None:
        _check_length(predicted, weight, "sample_weight")
    return float(np.average(right, weights=weight))


def _check_length(predicted: Labels, other: NDArray[Any], what: str = "y") -> None:
    if len(other) != len(predicted):
        raise ValueError(
            f"X and {what} have inconsistent numbers of samples: [{len(predicted)}, {len(other)}]. Pass one per row "
            "of X."
        )


def encode(labels: Labels) -> tuple[Labels, Codes]:
    """Return the sorted classes among checked labels, and the code of each label."""
    kind = labels.dtype.kind
    if len(labels) and len(set(labels[:_N_FIRST].tolist())) <= 2:
        # Most often there are two; sorting a million labels to find them takes longer than a pass over the rows.
        other = labels != labels[0]
        second = labels[int(np.argmax(other))]
        if other.any() and np.array_equal(labels == second, other):
            reverse = bool(second < labels[0])
            classes = np.array([second, labels[0]] if reverse else [labels[0], second], dtype=labels.dtype)
            return classes, (other != reverse).astype(np.int32)
    if kind in "OU":  # a dictionary is three times as fast as sorting for strings
        values = labels.tolist()
        distinct = sorted(dict.fromkeys(values))
        place = {value: k for k, value in enumerate(distinct)}
        classes = np.array([*distinct, None], dtype=object)[:-1].astype(labels.dtype)
        return classes, np.fromiter((place[value] for value in values), dtype=np.int32, count=len(values))
    if kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < _MAX_TABLE:
            wide = labels if labels.dtype.itemsize == 8 else labels.astype(np.int64)
            offset = (wide - wide.dtype.type(low) if low else wide).astype(np.intp, copy=False)
            found = np.bincount(offset) > 0
            classes = (np.flatnonzero(found) + low).astype(labels.dtype)
            small = offset.astype(np.int32)
            return classes, small if found.all() else (np.cumsum(found) - 1).astype(np.int32)[small]
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int32)


def encode_known(labels: Labels, classes: Labels, *, where: RowLocator = ROW, absent: Any = None) -> Codes:
    """Return the code of each label among known classes; raise for an unknown label unless its row is `absent`."""
    found, codes = encode(labels)
    place = {value: k for k, value in enumerate(classes.tolist())}
    table = np.array([place.get(value, -1) for value in found.tolist()], dtype=np.int32)
    result: Codes = table[codes]
    unknown = (result < 0) if absent is None else (result < 0) & ~absent
    if unknown.any():
        i = int(np.argmax(unknown))
        raise ValueError(
            f"{_capital(where(i))} has the label {labels.tolist()[i]!r}, which is not one of the classes "
            f"{shown(classes)}. Drop the row, or also fit rows of that class. With partial_fit, pass all classes "
            "to the first call: classes=...."
        )
    return np.maximum(result, 0)


def check_two_classes(classes: Labels) -> Labels:
    """Return the classes; raise if there are fewer than two."""
    if len(classes) < 2:
        only = f"only one class, {classes.tolist()[0]!r}" if len(classes) else "no classes"
        raise ValueError(f"y has {only}. Fit rows from at least two classes.")
    return classes


def check_no_empty_class(classes: Labels, counts: NDArray[Any]) -> None:
    """Raise for a class without rows with positive weight."""
    if (counts == 0).any():
        label = classes.tolist()[int(np.argmax(counts == 0))]
        raise ValueError(f"Class {label!r} has no rows with positive weight. Leave it out, or add rows for it.")


def named_classes(classes: Any, known: Labels | None) -> Labels | None:
    """Return the sorted classes of a call of `partial_fit`; later calls may only repeat the first call's."""
    if classes is None:
        return known
    named = check_two_classes(encode(checked_labels(classes))[0])
    if known is not None and not np.array_equal(named, known):
        raise ValueError(
            f"The classes were {shown(known)} in the first call, not {shown(named)}. Pass the same "
            "classes in every call."
        )
    return named


def shown(classes: Labels) -> str:
    """Return the first few classes for a message."""
    values = classes.tolist()
    return f"[{', '.join(map(repr, values[:8]))}{', …' if len(values) > 8 else ''}]"


@dataclass(frozen=True)
class Labelled:
    """A summary per label; `+` adds them up label by label."""

    parts: dict[Any, Any]
    dtype: Any

    @staticmethod
    def of(block: Block, parts: Callable[[Block, int], Sequence[Any]]) -> Labelled:
        """Summarize a block with `parts(block with codes, number of codes)`, one summary per label."""
        if block.y is None:
            raise ValueError("These rows contain no targets. Pass rows with a target.")
        labels = checked_labels(block.y, where=block.describe_row)
        classes, codes = encode(labels)
        found = parts(replace(block, y=codes), len(classes))
        return Labelled(dict(zip(classes.tolist(), found, strict=True)), labels.dtype)

    @staticmethod
    def counts(block: Block) -> Labelled:
        """Summarize a block by the weight and the number of rows of each label."""
        return Labelled.of(block, lambda block, K: list(class_counts(block, K).T))

    def __add__(self, other: Labelled) -> Labelled:
        both = self.parts.keys() & other.parts.keys()
        sums = {label: self.parts[label] + other.parts[label] for label in both}
        return Labelled(self.parts | other.parts | sums, np.result_type(self.dtype, other.dtype))

    def classes(self, has_rows: Callable[[Any], bool] = lambda counts: counts[1] > 0) -> Labels:
        """Return the labels in order, without those whose summary has no rows with positive weight."""
        found = [label for label, part in self.parts.items() if has_rows(part)]
        _check_one_type(found, ROW)
        return check_two_classes(encode(np.array([*found, None], dtype=object)[:-1].astype(self.dtype))[0])


def class_counts(block: Block, K: int) -> NDArray[np.float64]:
    """Return the weight and the number of rows with positive weight of each class, 2 × K."""
    codes = np.asarray(block.y).astype(np.intp, copy=False)
    if block.weight is None:
        counts = np.bincount(codes, minlength=K)
        return np.stack([counts, counts]).astype(np.float64)
    return np.stack([np.bincount(codes, w, K) for w in (block.weight, (block.weight > 0).astype(np.float64))])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _check_no_missing(missing: NDArray[np.bool_], where: RowLocator, value: str = "NaN") -> None:
    if missing.any():
        i = int(np.argmax(missing))
        raise ValueError(f"Input y contains {value}: {where(i)} has no label. Drop the row or fill in the label first.")


def _check_integral(labels: Labels, where: RowLocator) -> None:
    if not np.isfinite(labels.sum()):
        _check_no_missing(np.isnan(labels), where)
        _check_no_missing(np.isinf(labels), where, "infinity")
    fractions = labels != np.rint(labels)
    if fractions.any():
        i = int(np.argmax(fractions))
        raise ValueError(
            f"Unknown label type: continuous. {_capital(where(i))} has {labels.tolist()[i]!r}. {_LABELS_ARE}"
        )


def _check_one_type(values: Sequence[Any], where: RowLocator) -> None:
    kinds: dict[str, tuple[int, Any]] = {}
    for i, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"Input y contains NaN: {where(i)} has no label. Drop the row or fill in the label first.")
        kinds.setdefault(_kind(value), (i, value))
    if len(kinds) > 1:
        (i, a), (j, b), *_ = kinds.values()
        raise ValueError(
            f"Labels of mixed types: {where(i)} has {a!r} ({type(a).__name__}), {where(j)} has {b!r} "
            f"({type(b).__name__}). Make all labels strings or all numbers."
        )
    if "number" in kinds:
        # Integers may be larger than any float.
        fractions = [0 if isinstance(value, numbers.Integral) else value for value in values]
        _check_integral(np.array(fractions, dtype=np.float64), where)
    for kind, (i, value) in kinds.items():
        if kind not in ("bool", "number", "str") and not _is_label(value):
            joined = " Join its parts into one string." if isinstance(value, tuple) else ""
            raise ValueError(
                f"{_capital(where(i))} has {value!r} ({kind}), which is not a label. {_LABELS_ARE}{joined}"
            )


def _as_64_bits(values: Sequence[Any], where: RowLocator) -> Labels:
    """Return integers as an array; raise for one that does not fit into 64 bits beside the others."""
    if (array := as_integer_array(values)) is not None:
        return array
    signed = min(values) < 0
    i = next(i for i, value in enumerate(values) if not (-(2**63) <= value < 2 ** (63 if signed else 64)))
    beside = " and other labels are negative" if signed and 0 < values[i] < 2**64 else ""
    raise ValueError(
        f"{_capital(where(i))} has the label {short_repr(values[i])}{beside}, so the labels need more than 64 bits. "
        "Convert all labels to strings."
    )


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (numbers.Real, Decimal)):
        return "number"
    return "str" if isinstance(value, str) else type(value).__name__


def _is_label(value: Any) -> bool:
    """Return whether values like this one can be compared and sorted."""
    try:
        # NumPy takes a tuple for a row of labels, and the order of frozensets is partial.
        return hash(value) is not None and not value < value and not isinstance(value, (frozenset, tuple))
    except TypeError:
        return False
