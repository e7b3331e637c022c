"""What is true and what a model answers, as arrays that can be compared; what cannot be is refused by name and row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.array_checks import as_array, as_numeric_array
from linearly.dataset.rows.block import ROW, Block, RowLocator, Rows, is_rows
from linearly.dataset.rows.label_checks import unique_with_codes
from linearly.evaluation.intervals import Array
from linearly.kernels.matrices import dense, drop_low_part
from linearly.models.base import checked_weight
from linearly.table import to_python_value

S = TypeVar("S")

_TINY = 1e-300  # a probability below this has lost digits, or is 0
_LOST = 1e-6  # 1 − p below this has lost ten digits


class EvaluationData:
    """Rows with what is true of them and their weights: the user's X whole, or `Rows` block by block.

    `Rows` that bring no targets may have y beside them, and are then taken whole, too.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.X, self.weight = X, None
        self.where: RowLocator = ROW  # of the targets
        self.classes = getattr(X, "classes", None) if is_rows(X) else None
        self.in_blocks = is_rows(X) and y is None
        first = _first_present(X) if is_rows(X) else None
        if sample_weight is not None if self.in_blocks else first is not None and first.y is not None:
            raise ValueError("These rows bring their own targets and weights: call evaluate(model, rows).")
        if self.in_blocks:
            if first is None:
                raise ValueError("There are no rows: nothing to evaluate on.")
            self.targets, self.weight, self.where = self._labels(first.y), first.weight, first.describe_row
            if self.targets.dtype == object and self.targets.ndim == 0:
                raise ValueError("These rows bring no targets: nothing to compare the predictions with.")
            return
        if y is None:
            raise ValueError("evaluate needs y: what the predictions are compared with.")
        self.targets = as_array(dense(y), "y")
        n = len(self.targets)
        if n == 0:
            raise ValueError("There are no rows: nothing to evaluate on.")
        self.weight = checked_weight(sample_weight, np.empty((n, 0)))

    def reduce(self, f: Callable[[Any, Any, Any, RowLocator], S]) -> S:
        """The sum of f(X, y, weight, where a row is) over the blocks."""
        if not self.in_blocks:
            return f(self.X, self.targets, self.weight, ROW)
        with warnings.catch_warnings():
            # Blocks are arrays. Their columns have been named where the rows come from.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            total: S = self.X.reduce(_OfBlock(f, self.classes))
            return total

    def _labels(self, y: Any) -> NDArray[Any]:
        return _labels(y, self.classes)


@dataclass(frozen=True)
class _OfBlock:
    """f of a block with its targets. It goes to where the rows are, so it holds nothing that stays here."""

    f: Callable[[Any, Any, Any, RowLocator], Any]
    classes: NDArray[Any] | None

    def __call__(self, block: Block) -> Any:
        return self.f(drop_low_part(block.X), _labels(block.y, self.classes), block.weight, block.describe_row)


def _labels(y: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """The targets of a block; of rows that bring codes, the labels those stand for."""
    return np.asarray(y) if classes is None or y is None else classes[y]


def _first_present(rows: Rows) -> Block | None:
    """The first block with a row of positive weight; with any row, if there is none such."""
    first = None
    for block in rows:
        if len(block):
            first = block
            if block.weight is None or block.weight.any():
                break
    return first


def classifies(model: Any) -> bool:
    """Whether the model answers with labels."""
    if not hasattr(model, "predict"):
        raise TypeError(f"evaluate needs a fitted model with predict, not {type(model).__name__}.")
    if hasattr(model, "classes_"):
        return True
    from sklearn.base import is_classifier

    return hasattr(model, "__sklearn_tags__") and bool(is_classifier(model))


def scorer(model: Any) -> str | None:
    """The method that gives probabilities, or else scores."""
    return next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None)


def column(y: Any) -> NDArray[Any]:
    """Labels, one a row."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"Labels are one a row: got an array of shape {labels.shape}.")
    return labels


def codes(labels: NDArray[Any], known: Sequence[Any], what: str, where: RowLocator) -> NDArray[np.intp]:
    """The position of each label among the known ones; others are refused by name and row."""
    found, inverse = unique_with_codes(labels, what)
    position = {label: k for k, label in enumerate(known)}
    codes = np.array([position.get(to_python_value(label), -1) for label in found], dtype=np.intp)[inverse]
    unseen = np.flatnonzero(codes < 0)
    if len(unseen):
        names = ", ".join(repr(to_python_value(label)) for label in found if to_python_value(label) not in position)
        told = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
        raise ValueError(
            f"{what} has labels that the model has never seen: {names} (first in {where(int(unseen[0]))}). "
            f"It knows {told}. Drop these rows, or fit the model on rows that have them."
        )
    return codes


def position(positive: Any, classes: NDArray[Any]) -> int:
    """Which of the classes is meant."""
    for k, label in enumerate(classes.tolist()):
        if label == positive:
            return k
    raise ValueError(f"positive={positive!r} is not a label of the model: it knows {classes.tolist()}.")


def zeros_and_ones(y: Any, labels: Sequence[Any], what: str, where: RowLocator) -> NDArray[np.intp]:
    """A matrix that says which labels a row has."""
    matrix = np.asarray(dense(y))  # predictions may be sparse too
    if matrix.ndim != 2 or matrix.shape[1] != len(labels):
        raise ValueError(f"{what} must be a 0/1 matrix with {len(labels)} columns, not of shape {matrix.shape}.")
    bad = np.argwhere((matrix != 0) & (matrix != 1))
    if len(bad):
        i, j = map(int, bad[0])
        raise ValueError(
            f"{what} has {to_python_value(matrix[i, j])!r} in {where(i)}, label {labels[j]!r}: 0 or 1 is meant."
        )
    return matrix.astype(np.intp)


def class_scores(
    model: Any, ask: str | None, X: Any, order: list[int], where: RowLocator
) -> tuple[NDArray[Any] | None, Array | None]:
    """Probabilities, n × K with the classes in the order given, and scores: the same, or of two classes the first's."""
    if ask is None:
        return None, None
    K = len(order)
    answer = finite(getattr(model, ask)(X), ask, where)
    if ask == "predict_proba":
        answer = answer[:, order]
        return answer, np.asarray(answer[:, :1] if K == 2 else answer, dtype=np.float64)
    if answer.ndim == 1 and K == 2:
        return None, np.asarray(answer[:, None] * (1.0 if order == [1, 0] else -1.0), dtype=np.float64)
    # Votes of one class against one other, scikit-learn's "ovo", are no scores of a class.
    return None, np.asarray(answer[:, order], dtype=np.float64) if answer.shape[1:] == (K,) else None


def label_scores(model: Any, ask: str | None, X: Any, where: RowLocator) -> NDArray[Any] | None:
    """Scores of each label, n × L: probabilities that a row has it, if the model gives any."""
    if ask is None:
        return None
    answer = getattr(model, ask)(X)
    if isinstance(answer, list):  # as of scikit-learn's MultiOutputClassifier: for each label those of 0 and of 1
        columns = []
        for probability, known in zip(answer, model.classes_, strict=True):
            ones = np.flatnonzero(np.asarray(known) == 1)
            columns.append(probability[:, ones[0]] if len(ones) else np.zeros(len(probability)))
        answer = np.column_stack(columns)
    return finite(answer, ask, where)


def log_probability(
    model: Any, X: Any, probability: NDArray[Any] | None, order: list[int], actual: NDArray[np.intp]
) -> Array | None:
    """Logarithms of the probabilities of what is true, of a model that has them, where a probability may be 0."""
    if probability is None or not hasattr(model, "predict_log_proba"):
        return None
    rows = np.arange(len(actual))
    if (probability[rows, actual] > _TINY).all():
        return None
    with np.errstate(divide="ignore"):  # scikit-learn's take the logarithm of 0
        return np.asarray(np.asarray(model.predict_log_proba(X), dtype=np.float64)[:, order][rows, actual])


def log_probability_of_labels(
    model: Any, X: Any, probability: NDArray[Any] | None, actual: NDArray[np.intp]
) -> Array | None:
    """The same for labels of which a row has any subset, of a model of one estimator a label."""
    parts = getattr(model, "estimators_", ())
    if probability is None or len(parts) != actual.shape[1] or not all(hasattr(m, "predict_log_proba") for m in parts):
        return None
    if (np.where(actual == 1, probability, 1 - probability) > _LOST).all():
        return None
    found = np.full(actual.shape, np.nan)
    for j, part in enumerate(parts):
        if np.array_equal(part.classes_, [0, 1]):
            with np.errstate(divide="ignore"):
                found[:, j] = np.asarray(part.predict_log_proba(X))[np.arange(len(actual)), actual[:, j]]
    return found


def numbers(y: Any, what: str, where: RowLocator) -> Array:
    """Targets or predictions of a regression, n × k."""
    numbers = np.asarray(as_numeric_array(y, what), dtype=np.float64)
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    return finite(numbers, what, where)


def finite(values: Any, what: str, where: RowLocator) -> NDArray[Any]:
    """An array without NaN and infinity."""
    array = np.asarray(values)
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise ValueError(f"{what} has NaN or infinity in {where(row)}: nothing can be said about it.")
    return array


def present(weight: Array | None, n: int) -> tuple[Any, Array]:
    """Which rows have weight, and their weights."""
    if weight is None:
        return slice(None), np.ones(n)
    rows = weight > 0
    return (slice(None), weight) if rows.all() else (rows, weight[rows])


def check_same_length(predicted: NDArray[Any], actual: NDArray[Any]) -> None:
    """Refuse predictions that are not of these rows."""
    if predicted.shape != actual.shape:
        raise ValueError(f"Predictions have shape {predicted.shape}, but y has {actual.shape}: not the same rows.")


def check_has_rows(n: int) -> None:
    """Refuse no rows at all."""
    if n == 0:
        raise ValueError("There are no rows of positive weight: nothing to evaluate on. Check sample_weight.")
