"""Labels: from what the user calls the classes to codes 0 … K − 1, and every label that is none refused by row.

Classes are sorted and keep their type. Two classes: `classes[1]` is the notes' y = +1.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from linearly.dataset.cluster.partitions import rows_from_cluster
from linearly.dataset.design.design import DesignRows
from linearly.dataset.rows.array_checks import as_array, as_integer_array, short_repr
from linearly.dataset.rows.block import ROW, Block, RowLocator, Rows, as_rows, is_rows
from linearly.dataset.rows.label_checks import is_missing
from linearly.dataset.rows.polynomial import Polynomial
from linearly.dataset.rows.sparse import SparseRows
from linearly.dataset.rows.views import MappedRows
from linearly.kernels.matrices import dense, drop_low_part, is_sparse
from linearly.models.base import check_feature_names, checked_matrix, checked_weight, same_length

Labels = NDArray[Any]
Codes = NDArray[np.int32]

_LABELS = "Labels are strings, booleans or whole numbers."
_LARGEST_TABLE = 2**16  # integers that span less are coded by looking them up
_GLANCE = 64  # labels that show whether there are more than two


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
    pass for it, over the targets alone where those can be had; see `rows_with_labels`).
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
    """The classes, and rows whose targets are codes; or None, and rows whose targets are labels nobody has listed yet.

    The labels of the latter are found by a fold to something `Labelled`, and `coded` makes codes of them. A model that
    is read off a sum over rows so needs no pass to find its classes.
    """
    away = rows_from_cluster(X, y, sample_weight, labels=True)
    if away is not None:
        if y is None:
            checked_labels(y, estimator)
        X, y, sample_weight = away, None, None
    if is_rows(X):
        if y is not None or sample_weight is not None:
            raise ValueError("These rows bring their own targets and weights: call fit(rows) without y.")
        check_feature_names(estimator, X.names, reset)
        own = getattr(X, "classes", None)
        if own is not None and (classes is None or np.array_equal(own, classes)):
            return check_two_classes(own), X
        if own is not None:
            X = MappedRows(X, lambda block: replace(block, y=own[block.y]))
        return (None, X) if classes is None else (classes, encode_rows(X, classes))
    matrix = checked_matrix(estimator, X, reset=reset)
    labels = checked_labels(y, estimator)
    same_length(matrix, labels)
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
    return classes, MappedRows(rows, _rounded) if isinstance(matrix, Polynomial) else rows


def encode_rows(rows: Rows, classes: Labels) -> Rows:
    """Rows whose targets are codes, of rows whose targets are labels."""
    return MappedRows(rows, lambda block: _coded(block, classes))


def checked_labels(y: Any, estimator: Any = None, where: RowLocator = ROW) -> Labels:
    """y as a one-dimensional array of labels of one kind; gaps, numbers that are no labels and mixtures are refused."""
    if y is None:
        who = f"This {type(estimator).__name__} estimator" if estimator is not None else "This"
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    labels = as_array(y, "y")
    if labels.ndim == 0:
        raise ValueError(f"y should be a 1d array of labels, one a row, not {type(y).__name__}.")
    if labels.ndim > 2 or labels.shape[1:] not in ((), (1,)):
        raise ValueError(f"y should be a 1d array of labels, one a row, got an array of shape {labels.shape} instead.")
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y is {labels.dtype}. {_LABELS}")
    if labels.dtype.kind == "V":
        raise ValueError(f"y holds records ({labels.dtype}), not labels. {_LABELS}")
    labels = np.asarray(column_or_1d(labels, warn=True))
    if isinstance(y, (list, tuple)):  # NumPy would make strings of numbers beside strings, and numbers of booleans
        values = np.array(y, dtype=object).ravel().tolist()
        _refuse_mixed(values, where)
        if labels.dtype.kind == "f" and all(isinstance(value, numbers.Integral) for value in values):
            return _in_64_bits(values, where)  # floats would be their neighbours
    kind = labels.dtype.kind
    if kind == "f":
        _refuse_continuous(labels, where)
    elif kind in "mM":
        _refuse_gap(np.isnat(labels), where)
    elif kind not in "biuUSMm":
        labels = labels.astype(object)
        values = labels.tolist()
        _refuse_mixed(values, where)
        if values and all(isinstance(value, numbers.Integral) and _kind(value) == "number" for value in values):
            return _in_64_bits(values, where)
    return labels


def accuracy(predicted: Labels, y: Any, weight: NDArray[np.float64] | None, known: Labels) -> float:
    """The share of rows, by weight, whose label is the predicted one; of several labels a row, all of them.

    Labels are those that a fit takes. A label that is none of the `known` classes is a mistake; one of another kind,
    text where they are numbers, is refused.
    """
    if predicted.ndim == 2:
        truth = np.asarray(as_array(dense(y), "y"))
        _refuse_other_length(predicted, truth)
        if truth.shape != predicted.shape:
            raise ValueError(f"y has shape {truth.shape} and the predictions {predicted.shape}: one column a label.")
        right = (truth == predicted).all(axis=1)
    else:
        truth = checked_labels(y)
        _refuse_other_length(predicted, truth)
        if truth.dtype.kind == known.dtype.kind and truth.dtype.kind in "mM":
            truth = truth.astype(known.dtype)  # which may count days and nanoseconds
        kinds = {_kind(value) for value in (*truth[:1].tolist(), known.tolist()[0])}
        if len(kinds) > 1 and not kinds <= {"bool", "number"}:
            told = f"{truth.tolist()[0]!r} ({_kind(truth.tolist()[0])})"
            raise ValueError(f"y holds {told}, and the classes are {shown(known)}. Give labels of their kind.")
        plain = truth.dtype.kind != "O" and predicted.dtype.kind != "O"
        pairs = zip(truth.tolist(), predicted.tolist(), strict=True)
        right = truth == predicted if plain else np.array([a == b for a, b in pairs], dtype=bool)
    if weight is not None:
        _refuse_other_length(predicted, weight, "sample_weight")
    return float(np.average(right, weights=weight))


def _refuse_other_length(predicted: Labels, other: NDArray[Any], what: str = "y") -> None:
    if len(other) != len(predicted):
        raise ValueError(
            f"X and {what} have inconsistent numbers of samples: [{len(predicted)}, {len(other)}]. Pass one per row "
            "of X."
        )


def encode(labels: Labels) -> tuple[Labels, Codes]:
    """The sorted classes among checked labels, and the code of each label."""
    kind = labels.dtype.kind
    if len(labels) and len(set(labels[:_GLANCE].tolist())) <= 2:
        # Most often there are two; sorting a million labels to find them out takes longer than a pass over the rows.
        other = labels != labels[0]
        second = labels[int(np.argmax(other))]
        if other.any() and np.array_equal(labels == second, other):
            reverse = bool(second < labels[0])
            classes = np.array([second, labels[0]] if reverse else [labels[0], second], dtype=labels.dtype)
            return classes, (other != reverse).astype(np.int32)
    if kind in "OU":  # a dictionary finds strings three times as fast as sorting does
        values = labels.tolist()
        distinct = sorted(dict.fromkeys(values))
        place = {value: k for k, value in enumerate(distinct)}
        classes = np.array([*distinct, None], dtype=object)[:-1].astype(labels.dtype)
        return classes, np.fromiter((place[value] for value in values), dtype=np.int32, count=len(values))
    if kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < _LARGEST_TABLE:
            wide = labels if labels.dtype.itemsize == 8 else labels.astype(np.int64)
            offset = (wide - wide.dtype.type(low) if low else wide).astype(np.intp, copy=False)
            found = np.bincount(offset) > 0
            classes = (np.flatnonzero(found) + low).astype(labels.dtype)
            small = offset.astype(np.int32)
            return classes, small if found.all() else (np.cumsum(found) - 1).astype(np.int32)[small]
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int32)


def encode_known(labels: Labels, classes: Labels, *, where: RowLocator = ROW, absent: Any = None) -> Codes:
    """The code of each label among known classes; a label that is none of them is refused by row, unless `absent`."""
    found, codes = encode(labels)
    place = {value: k for k, value in enumerate(classes.tolist())}
    table = np.array([place.get(value, -1) for value in found.tolist()], dtype=np.int32)
    result: Codes = table[codes]
    unknown = (result < 0) if absent is None else (result < 0) & ~absent
    if unknown.any():
        i = int(np.argmax(unknown))
        raise ValueError(
            f"{_capital(where(i))} has the label {labels.tolist()[i]!r}, which is not one of the classes "
            f"{shown(classes)}. Drop the row, or fit rows of that class, too (with partial_fit, name all classes in "
            "the first call: classes=...)."
        )
    return np.maximum(result, 0)


def check_two_classes(classes: Labels) -> Labels:
    """The classes, refused if there is only one."""
    if len(classes) < 2:
        only = f"one class only, {classes.tolist()[0]!r}" if len(classes) else "no class"
        raise ValueError(f"y has {only}: a classifier needs rows of at least two classes.")
    return classes


def check_no_empty_class(classes: Labels, counts: NDArray[Any]) -> None:
    """Refuse a class that no row of positive weight has."""
    if (counts == 0).any():
        label = classes.tolist()[int(np.argmax(counts == 0))]
        raise ValueError(f"The class {label!r} has no rows of positive weight: leave it out, or add rows of it.")


def checked_classes(classes: Any) -> Labels:
    """The classes a user names for `partial_fit`, sorted."""
    return check_two_classes(encode(checked_labels(classes))[0])


def named_classes(classes: Any, known: Labels | None) -> Labels | None:
    """The classes of a call of `partial_fit`: those of the first call, which later ones may repeat, not change."""
    if classes is None:
        return known
    named = checked_classes(classes)
    if known is not None and not np.array_equal(named, known):
        raise ValueError(f"The classes are {shown(known)} since the first call, not {shown(named)}.")
    return named


def shown(classes: Labels) -> str:
    """The classes for a message, the first few if they are many."""
    values = classes.tolist()
    return f"[{', '.join(map(repr, values[:8]))}{', …' if len(values) > 8 else ''}]"


@dataclass(frozen=True)
class Labelled:
    """Something for each label that was found; `+` adds it up label by label."""

    parts: dict[Any, Any]
    dtype: Any

    @staticmethod
    def of(block: Block, parts: Callable[[Block, int], Sequence[Any]]) -> Labelled:
        """What a function of a block with codes and of their number says, by the labels the codes stand for."""
        if block.y is None:
            raise ValueError("These rows bring no targets: nothing can be learnt.")
        labels = checked_labels(block.y, where=block.describe_row)
        classes, codes = encode(labels)
        found = parts(replace(block, y=codes), len(classes))
        return Labelled(dict(zip(classes.tolist(), found, strict=True)), labels.dtype)

    @staticmethod
    def counts(block: Block) -> Labelled:
        """The weight and the number of rows of each label."""
        return Labelled.of(block, lambda block, K: list(class_counts(block, K).T))

    def __add__(self, other: Labelled) -> Labelled:
        both = self.parts.keys() & other.parts.keys()
        sums = {label: self.parts[label] + other.parts[label] for label in both}
        return Labelled(self.parts | other.parts | sums, np.result_type(self.dtype, other.dtype))

    def classes(self, there: Callable[[Any], bool] = lambda counts: counts[1] > 0) -> Labels:
        """The labels in order, but for those whose part says that no row of positive weight has them."""
        found = [label for label, part in self.parts.items() if there(part)]
        _refuse_mixed(found, ROW)
        return check_two_classes(encode(np.array([*found, None], dtype=object)[:-1].astype(self.dtype))[0])


def class_counts(block: Block, K: int) -> NDArray[np.float64]:
    """Σ w and the number of rows of positive weight in each class, 2 × K."""
    codes = np.asarray(block.y).astype(np.intp, copy=False)
    if block.weight is None:
        counts = np.bincount(codes, minlength=K)
        return np.stack([counts, counts]).astype(np.float64)
    return np.stack([np.bincount(codes, w, K) for w in (block.weight, (block.weight > 0).astype(np.float64))])


def _coded(block: Block, classes: Labels) -> Block:
    absent = None if block.weight is None else block.weight == 0
    labels = checked_labels(block.y, where=block.describe_row)
    return replace(block, y=encode_known(labels, classes, where=block.describe_row, absent=absent))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rounded(block: Block) -> Block:
    return replace(block, X=drop_low_part(block.X))


def _refuse_gap(gaps: NDArray[np.bool_], where: RowLocator, value: str = "NaN") -> None:
    if gaps.any():
        i = int(np.argmax(gaps))
        raise ValueError(f"Input y contains {value}: {where(i)} has no label. Drop the row or fill the gap first.")


def _refuse_continuous(labels: Labels, where: RowLocator) -> None:
    if not np.isfinite(labels.sum()):
        _refuse_gap(np.isnan(labels), where)
        _refuse_gap(np.isinf(labels), where, "infinity")
    fractions = labels != np.rint(labels)
    if fractions.any():
        i = int(np.argmax(fractions))
        raise ValueError(f"Unknown label type: continuous. {_capital(where(i))} has {labels.tolist()[i]!r}. {_LABELS}")


def _refuse_mixed(values: Sequence[Any], where: RowLocator) -> None:
    kinds: dict[str, tuple[int, Any]] = {}
    for i, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"Input y contains NaN: {where(i)} has no label. Drop the row or fill the gap first.")
        kinds.setdefault(_kind(value), (i, value))
    if len(kinds) > 1:
        (i, a), (j, b), *_ = kinds.values()
        raise ValueError(
            f"Labels of mixed types: {where(i)} has {a!r} ({type(a).__name__}), {where(j)} has {b!r} "
            f"({type(b).__name__}). Make all labels strings, or all numbers."
        )
    if "number" in kinds:
        # Whole numbers may be larger than any float.
        fractions = [0 if isinstance(value, numbers.Integral) else value for value in values]
        _refuse_continuous(np.array(fractions, dtype=np.float64), where)
    for kind, (i, value) in kinds.items():
        if kind not in ("bool", "number", "str") and not _is_label(value):
            joined = " Make one string of its parts." if isinstance(value, tuple) else ""
            raise ValueError(f"{_capital(where(i))} has {value!r} ({kind}), which is no label. {_LABELS}{joined}")


def _in_64_bits(values: Sequence[Any], where: RowLocator) -> Labels:
    """Whole numbers as an array of them; those that no 64 bits hold, or not all in one array, are refused by row."""
    if (array := as_integer_array(values)) is not None:
        return array
    signed = min(values) < 0
    i = next(i for i, value in enumerate(values) if not (-(2**63) <= value < 2 ** (63 if signed else 64)))
    beside = " beside labels below 0" if signed and 0 < values[i] < 2**64 else ""
    raise ValueError(
        f"{_capital(where(i))} has the label {short_repr(values[i])}{beside}, which takes more than 64 bits. Make all "
        "labels strings."
    )


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (numbers.Real, Decimal)):
        return "number"
    return "str" if isinstance(value, str) else type(value).__name__


def _is_label(value: Any) -> bool:
    """Whether values like this one can be told apart and put in order."""
    try:
        # NumPy takes a tuple for a row of labels, and frozensets have an order that leaves pairs apart.
        return hash(value) is not None and not value < value and not isinstance(value, (frozenset, tuple))
    except TypeError:
        return False
