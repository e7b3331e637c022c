"""Convert targets and predictions to arrays that can be compared; raise errors that name the row if they cannot."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.array_checks import as_array, as_numeric_array
from linearly.dataset.rows.block import ROW, Block, RowLocator, Rows, SingleBlockRows, is_rows
from linearly.dataset.rows.label_checks import unique_with_codes
from linearly.evaluation.accumulators import Scores
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense, drop_low_part
from linearly.models.base import checked_weight
from linearly.models.sklearn_bases import Regressor
from linearly.table import to_python_value

S = TypeVar("S")

MIN_PROBABILITY = 1e-300  # a smaller one has lost digits, or is 0
MIN_COMPLEMENT = 1e-6  # a smaller 1 − p has lost ten digits


class EvaluationData:
    """Rows with their targets and weights: the user's X in one piece, or `Rows` block by block.

    `Rows` without targets may have y beside them, and are then taken in one piece, too.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.X, self.weight = X, None
        self.where: RowLocator = ROW  # of the targets
        self.classes = X.classes if is_rows(X) else None
        self.in_blocks = is_rows(X) and y is None
        first = _first_counted(X) if is_rows(X) else None
        if sample_weight is not None if self.in_blocks else first is not None and first.y is not None:
            raise ValueError("These rows contain targets and weights. Call evaluate(model, rows).")
        if self.in_blocks:
            if first is None:
                raise ValueError("The data contain no rows to evaluate on. Pass at least one row.")
            self.targets, self.weight, self.where = _labels(first.y, self.classes), first.weight, first.describe_row
            if self.targets.dtype == object and self.targets.ndim == 0:
                raise ValueError("These rows contain no targets to compare predictions with. Pass rows with a target.")
            return
        if y is None:
            raise ValueError("evaluate needs y to compare the predictions with. Pass y.")
        self.targets = as_array(dense(y), "y")
        n = len(self.targets)
        if n == 0:
            raise ValueError("The data contain no rows to evaluate on. Pass at least one row.")
        self.weight = checked_weight(sample_weight, np.empty((n, 0)))

    def reduce(self, f: Callable[[Any, Any, Any, RowLocator], S]) -> S:
        """Return the sum of f(X, y, weight, where a row is) over the blocks."""
        if not self.in_blocks:
            return f(self.X, self.targets, self.weight, ROW)
        with warnings.catch_warnings():
            # Blocks are arrays without names of columns, which were checked where the rows come from.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            total: S = self.X.reduce(_OnBlock(f, self.classes))
            return total


@dataclass(frozen=True)
class _OnBlock:
    """f of a block with its targets. It is sent to where the rows are, so it refers to nothing else."""

    f: Callable[[Any, Any, Any, RowLocator], Any]
    classes: NDArray[Any] | None

    def __call__(self, block: Block) -> Any:
        # Arrays have no offset, so a block that has one stays rows.
        X = drop_low_part(block.X) if block.offset is None else SingleBlockRows(replace(block, y=None, weight=None))
        return self.f(X, _labels(block.y, self.classes), block.weight, block.describe_row)


def _labels(y: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the targets of a block; for rows with codes, the labels that the codes stand for."""
    return np.asarray(y) if classes is None or y is None else classes[y]


def _first_counted(rows: Rows) -> Block | None:
    """Return the first block with a row with positive weight, or with any row if there is none."""
    first = None
    for block in rows:
        if len(block):
            first = block
            if block.weight is None or block.weight.any():
                break
    return first


def is_classifier(model: Any) -> bool:
    """Return whether the model predicts labels."""
    if not hasattr(model, "predict"):
        raise TypeError(f"evaluate needs a fitted model with predict, not {type(model).__name__}. Fit one.")
    if hasattr(model, "classes_") or isinstance(model, Regressor) or not hasattr(model, "__sklearn_tags__"):
        return hasattr(model, "classes_")
    from sklearn.base import is_classifier

    return bool(is_classifier(model))


def score_method(model: Any) -> str | None:
    """Return the name of the method that gives probabilities, or else scores."""
    return next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None)


def codes(y: Any, known: Sequence[Any], what: str, where: RowLocator) -> NDArray[np.intp]:
    """Return the position of each label among the known ones; raise ValueError for other labels."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y must have one label per row, not the shape {labels.shape}. Pass one dimension.")
    distinct, inverse = unique_with_codes(labels, what)
    names = [to_python_value(label) for label in distinct]
    position = {label: k for k, label in enumerate(known)}
    result = np.array([position.get(name, -1) for name in names], dtype=np.intp)[inverse]
    unseen = np.flatnonzero(result < 0)
    if len(unseen):
        others = ", ".join(repr(name) for name in names if name not in position)
        few = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
        raise ValueError(
            f"{what} has labels that are not among the classes of the model: {others} (first in "
            f"{where(int(unseen[0]))}). The classes are {few}. Drop these rows, or fit the model to rows with these "
            "labels."
        )
    return result


def zeros_and_ones(y: Any, labels: Sequence[Any], what: str, where: RowLocator) -> NDArray[np.intp]:
    """Return a 0/1 matrix of the labels of each row; raise ValueError for other values."""
    matrix = np.asarray(dense(y))  # predictions may be sparse too
    if matrix.ndim != 2 or matrix.shape[1] != len(labels):
        raise ValueError(f"{what} must be a 0/1 matrix with {len(labels)} columns, not of shape {matrix.shape}.")
    bad = np.argwhere((matrix != 0) & (matrix != 1))
    if len(bad):
        i, j = map(int, bad[0])
        value = to_python_value(matrix[i, j])
        raise ValueError(f"{what} has {value!r} in {where(i)}, label {labels[j]!r}. Use only 0 and 1.")
    return matrix.astype(np.intp)


def class_scores(model: Any, X: Any, order: list[int], actual: NDArray[np.intp], where: RowLocator) -> Scores:
    """Return probabilities and scores of the classes in the order given, each n × K."""
    method, K = score_method(model), len(order)
    if method is None:
        return Scores()
    answer = finite(getattr(model, method)(X), method, where)
    if method == "decision_function":
        if answer.ndim == 1 and K == 2:
            return Scores(score=np.stack([answer, -answer][:: 1 if order == [1, 0] else -1], axis=1, dtype=np.float64))
        # Votes of one class against one other, scikit-learn's "ovo", are not scores of a class.
        return Scores(score=np.asarray(answer[:, order], np.float64)) if answer.shape[1:] == (K,) else Scores()
    probability, rows, logarithm = answer[:, order], np.arange(len(answer)), None
    if hasattr(model, "predict_log_proba") and not (probability[rows, actual] > MIN_PROBABILITY).all():
        with np.errstate(divide="ignore"):  # scikit-learn's take the logarithm of 0
            logarithm = np.asarray(model.predict_log_proba(X), dtype=np.float64)[:, order][rows, actual]
    return Scores(probability, np.asarray(probability, np.float64), logarithm)


def label_scores(model: Any, X: Any, actual: NDArray[np.intp], where: RowLocator) -> Scores:
    """Return scores of each label, n × L: probabilities that a row has it, if the model gives any."""
    method = score_method(model)
    if method is None:
        return Scores()
    answer = getattr(model, method)(X)
    if isinstance(answer, list):  # as of scikit-learn's MultiOutputClassifier: for each label those of 0 and of 1
        columns = []
        for probability, known in zip(answer, model.classes_, strict=True):
            ones = np.flatnonzero(np.asarray(known) == 1)
            columns.append(probability[:, ones[0]] if len(ones) else np.zeros(len(probability)))
        answer = np.column_stack(columns)
    score = finite(answer, method, where)
    if method == "decision_function":
        return Scores(score=score)
    parts, logarithm = getattr(model, "estimators_", ()), None
    single = len(parts) == actual.shape[1] and all(hasattr(part, "predict_log_proba") for part in parts)
    if single and not (np.where(actual == 1, score, 1 - score) > MIN_COMPLEMENT).all():
        logarithm = np.full(actual.shape, np.nan)
        for j, part in enumerate(parts):
            if np.array_equal(part.classes_, [0, 1]):
                with np.errstate(divide="ignore"):
                    logarithm[:, j] = np.asarray(part.predict_log_proba(X))[np.arange(len(actual)), actual[:, j]]
    return Scores(score, score, logarithm)


def numbers(y: Any, what: str, where: RowLocator) -> Array:
    """Return targets or predictions of a regression, n × k."""
    values = np.asarray(as_numeric_array(y, what), dtype=np.float64)
    return finite(values[:, None] if values.ndim == 1 else values, what, where)


def finite(values: Any, what: str, where: RowLocator) -> NDArray[Any]:
    """Return an array; raise ValueError if it has NaN or infinity."""
    array = np.asarray(values)
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise ValueError(f"{what} contains NaN or infinity in {where(row)}. Drop the row.")
    return array


def counted_rows(weight: Array | None, n: int) -> tuple[Any, Array]:
    """Return which rows have positive weight, as an index, and their weights."""
    if weight is None:
        return slice(None), np.ones(n)
    rows = weight > 0
    return (slice(None), weight) if rows.all() else (rows, weight[rows])


def check_same_length(predicted: NDArray[Any], actual: NDArray[Any]) -> None:
    """Raise ValueError if the predictions are not of these rows."""
    if predicted.shape != actual.shape:
        raise ValueError(
            f"The predictions have shape {predicted.shape}, but y has {actual.shape}. Pass X and y for the same rows."
        )


def check_has_rows(n: int) -> None:
    """Raise ValueError if there are no rows."""
    if n == 0:
        raise ValueError("No row has positive weight. Pass sample_weight with at least one positive weight.")
