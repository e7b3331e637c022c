"""Evaluate a fitted model on rows: metrics with confidence intervals, confusion matrix, curves.

`evaluate_rows` works with every model that has `predict`, scikit-learn's included. Each block of rows is reduced to
counts and sums where the rows are; these add up, and the metrics are computed from the total.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import RowLocator, names_of
from linearly.evaluation import targets
from linearly.evaluation.accumulators import ClassCounts, MultilabelCounts, RegressionSums, RowScores, Scores
from linearly.evaluation.metrics import MetricTables, class_metrics, multilabel_metrics, regression_metrics
from linearly.evaluation.targets import EvaluationData
from linearly.inference.unwrap import features_of, rows_of, unwrap_estimator
from linearly.inference.wald_tests import check_level
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.table import Summary, Table, to_python_value

MAX_PRINTED_CLASSES = 12  # of a confusion matrix

Encode = Callable[[Any, list[Any], str, RowLocator], NDArray[np.intp]]
Score = Callable[[Any, NDArray[np.intp], RowLocator], Scores]
Count = Callable[[NDArray[np.intp], NDArray[np.intp], Array, Scores], Any]


@single_threaded_blas()
def evaluate_rows(
    model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, positive: Any = None, level: float = 0.95
) -> Evaluation:
    """Return the evaluation of a fitted model without findings; `findings.evaluation.evaluate` has the parameters."""
    check_level(level)
    if unwrap_estimator(model) is not model:
        X = rows_of(model, X) if y is None else features_of(model, X)
        positive = model.positive if positive is None else positive
        model = unwrap_estimator(model)
    data = EvaluationData(X, y, sample_weight)
    if not targets.is_classifier(model):
        if positive is not None:
            raise ValueError("positive= requires a classifier with two labels. Leave positive= out.")
        return _evaluate_regression(model, data, y, level)
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise TypeError(f"{type(model).__name__} has no classes_. Fit it first.")
    if isinstance(classes, (list, tuple)) or (data.targets.ndim == 2 and data.targets.shape[1] > 1):
        if positive is not None:
            raise ValueError("positive= requires a classifier with one of two labels per row. Leave positive= out.")
        return _evaluate_labels(model, data, y, level)
    return _evaluate_classes(model, data, np.asarray(classes), positive, level)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of `evaluate`. It prints as one screen, and ``evaluation["accuracy"]`` is a number.

    Attributes
    ----------
    kind : {"binary", "multiclass", "multilabel", "regression"}
        What the model predicts.
    title : str
        The model and the number of rows, in one line.
    n : int
        Number of rows with positive weight.
    level : float
        Confidence level of the intervals.
    labels : tuple
        The labels in the order of every table; empty for regression.
    metrics : Table
        Columns ``metric, value, conf_low, conf_high, method``, with ``target`` first if there are several.
    confusion : Table or None
        Confusion matrix: actual labels in rows, predicted labels in columns. The positive of two labels is first. With
        several labels per row, the table contains four counts per label. None for regression.
    per_class : Table or None
        Precision, recall, F1 (and ROC AUC) of each label with intervals. None for regression.
    calibration : Table or None
        Predicted against observed frequency in ten bins. With more than two classes, it refers to the predicted label.
        None without probabilities.
    roc : Table or None
        ROC curve, ``threshold, false_positive_rate, true_positive_rate``, with ``label`` first if not binary.
    precision_recall : Table or None
        Precision-recall curve, ``threshold, precision, recall``, with ``label`` first if not binary.
    notes : tuple of str
        Remarks on the metrics and intervals.
    findings : tuple of Finding
        Results of tests on these rows for and against the model, the most serious first.

    See Also
    --------
    evaluate : Return an evaluation.
    """

    kind: str
    title: str
    n: int
    level: float
    labels: tuple[Any, ...]
    metrics: Table
    confusion: Table | None = None
    per_class: Table | None = None
    calibration: Table | None = None
    notes: tuple[str, ...] = ()
    row_scores: RowScores | None = field(default=None, compare=False)
    findings: tuple[Any, ...] = ()

    def __getitem__(self, metric: str) -> Any:
        """Return the value of a metric; an array with one entry per target if there are several targets."""
        found = self.metrics["value"][self.metrics["metric"] == metric]
        if len(found) == 0:
            names = dict.fromkeys(self.metrics["metric"].tolist())
            raise KeyError(f"{metric!r} is not a metric of this evaluation. Choose one of {', '.join(names)}.")
        return found if "target" in self.metrics.columns else float(found[0])

    @cached_property
    def roc(self) -> Table | None:
        """Return the ROC curve of each label against the rest; None without scores."""
        from sklearn.metrics import roc_curve

        def points(truth: Any, score: Any, weight: Any) -> dict[str, Array]:
            false, true, threshold = roc_curve(truth, score, sample_weight=weight)
            return {"threshold": threshold, "false_positive_rate": false, "true_positive_rate": true}

        return self._curve(points)

    @cached_property
    def precision_recall(self) -> Table | None:
        """Return the precision-recall curve of each label against the rest; None without scores."""
        from sklearn.metrics import precision_recall_curve

        def points(truth: Any, score: Any, weight: Any) -> dict[str, Array]:
            precision, recall, threshold = precision_recall_curve(
                truth, score, sample_weight=weight, drop_intermediate=True
            )
            return {"threshold": np.append(threshold, np.inf), "precision": precision, "recall": recall}

        return self._curve(points)

    def _curve(self, points: Callable[[Any, Any, Any], dict[str, Array]]) -> Table | None:
        if self.row_scores is None:
            return None
        parts: list[dict[str, Any]] = []
        for label, truth, score in self._one_against_rest():
            if truth.any() and not truth.all():
                part = points(truth, score, self.row_scores.weight)
                several: dict[str, Any] = {"label": [label] * len(part["threshold"])}
                parts.append(part if self.kind == "binary" else several | part)
        if not parts:
            return None
        return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    def _one_against_rest(self) -> list[tuple[Any, NDArray[np.bool_], Array]]:
        assert self.row_scores is not None
        score, actual = self.row_scores.score, self.row_scores.actual
        if self.kind == "binary":
            return [(self.labels[0], actual == 0, score[:, 0])]
        truth = actual == 1 if self.kind == "multilabel" else actual[:, None] == np.arange(len(self.labels))
        return [(label, truth[:, k], score[:, k]) for k, label in enumerate(self.labels)]

    def _summary(self) -> Summary:
        tables = [self.metrics]
        if self.confusion is not None and len(self.labels) <= MAX_PRINTED_CLASSES:
            tables.insert(0, self.confusion)
        if self.per_class is not None:
            shown = [name for name in self.per_class.columns if not name.endswith(("_low", "_high"))]
            tables.append(Table({name: self.per_class[name] for name in shown}, title=self.per_class.title))
        findings = (f"{one.severity}: {' '.join(filter(None, [one.claim, one.remedy]))}" for one in self.findings)
        return Summary(self.title, tuple(tables), (*self.notes, *findings))

    def __str__(self) -> str:
        return str(self._summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._summary()._repr_html_()


# --- the three kinds ------------------------------------------------------------------------------


def class_order(classes: NDArray[Any], positive: Any) -> list[int]:
    """Return the classes in the order of the tables: of two, the positive one first; the second one if it is None."""
    K, known = len(classes), classes.tolist()
    if K != 2:
        if positive is not None:
            raise ValueError(
                f"positive= requires two labels, but the model has {K}. Leave it out, and use per_class for each label."
            )
        return list(range(K))
    if positive is not None and positive not in known:
        raise ValueError(f"positive={positive!r} is not a label of the model. Choose one of {known}.")
    first = 1 if positive is None else known.index(positive)
    return [first, 1 - first]


def _evaluate_classes(
    model: Any, data: EvaluationData, classes: NDArray[Any], positive: Any, level: float
) -> Evaluation:
    K, order = len(classes), class_order(classes, positive)
    labels = [to_python_value(classes[k]) for k in order]

    def score(X: Any, actual: NDArray[np.intp], where: RowLocator) -> Scores:
        return targets.class_scores(model, X, order, actual, where)

    def count(actual: NDArray[np.intp], predicted: NDArray[np.intp], weight: Array, scores: Scores) -> ClassCounts:
        return ClassCounts.of(actual, predicted, weight, K, scores)

    total = data.reduce(_counter(model, labels, targets.codes, score, count))
    return evaluation_of_counts(model, total, classes, order, level, choose=positive is None)


def evaluation_of_counts(
    model: Any, total: ClassCounts, classes: NDArray[Any], order: list[int], level: float, *, choose: bool
) -> Evaluation:
    """Return the evaluation of counted rows whose classes are in this order; `choose` takes the rarer as positive."""
    targets.check_has_rows(total.n)
    if len(classes) != 2:
        labels = [to_python_value(label) for label in classes]
        return _result("multiclass", model, total, f"{len(classes)} labels", labels, class_metrics, level)
    first, second = total.counts.sum(axis=1)
    flip = int(choose and (0 < second < first or first == 0))
    labels = [to_python_value(classes[k]) for k in (order[::-1] if flip else order)]
    about = f"positive label {labels[0]!r}"
    return _result("binary", model, total.with_positive(flip), about, labels, class_metrics, level)


def _evaluate_labels(model: Any, data: EvaluationData, y: Any, level: float) -> Evaluation:
    if data.targets.ndim != 2:
        raise ValueError(
            "This model predicts several labels per row. Pass y as a 0/1 matrix with one column per label."
        )
    L = data.targets.shape[1]
    labels = [to_python_value(name) for name in names_of(y) or [f"y{j}" for j in range(L)]]
    score = partial(targets.label_scores, model)
    total = data.reduce(_counter(model, labels, targets.zeros_and_ones, score, MultilabelCounts.of))
    return _result("multilabel", model, total, f"{L} labels, any subset per row", labels, multilabel_metrics, level)


def _counter(
    model: Any, labels: list[Any], encode: Encode, score: Score, count: Count
) -> Callable[[Any, Any, Any, RowLocator], Any]:
    """Return the function that reduces rows with labels to counts."""

    def count_rows(X: Any, y: Any, weight: Any, where: RowLocator) -> Any:
        actual = encode(y, labels, "y", where)
        predicted = encode(model.predict(X), labels, "The prediction", where)
        targets.check_same_length(predicted, actual)
        scores = score(X, actual, where)
        rows, weight = targets.counted_rows(weight, len(actual))
        return count(actual[rows], predicted[rows], weight, scores.take(rows))

    return count_rows


def _evaluate_regression(model: Any, data: EvaluationData, y: Any, level: float) -> Evaluation:
    shift, unit = _units(data)

    def add_up(X: Any, y: Any, weight: Any, where: RowLocator) -> RegressionSums:
        truth = targets.numbers(y, "y", where)
        prediction = targets.numbers(model.predict(X), "The prediction", where)
        targets.check_same_length(prediction, truth)
        rows, weight = targets.counted_rows(weight, len(truth))
        return RegressionSums.of(truth[rows], prediction[rows], weight, shift, unit)

    total = data.reduce(add_up)
    names = [str(name) for name in names_of(y) or [f"y{t}" for t in range(len(unit))]]
    about = f"{len(unit)} targets" if len(unit) > 1 else ""
    return _result("regression", model, total, about, [], partial(regression_metrics, unit, names), level)


def regression_units(rows: Any) -> tuple[Array, Array]:
    """Return a shift near the mean of the targets of rows and a unit near their spread, from the first block."""
    return _units(EvaluationData(rows, None, None))


def _units(data: EvaluationData) -> tuple[Array, Array]:
    first = targets.numbers(data.targets, "y", data.where)
    first = first[targets.counted_rows(data.weight, len(first))[0]]  # rows of weight 0 must not set the scale
    targets.check_has_rows(len(first))
    shift = first.mean(axis=0)
    spread = np.abs(first - shift).max(axis=0)
    _, exponent = np.frexp(np.where(spread > 0, spread, 1.0))
    return shift, np.ldexp(1.0, exponent)


def _result(
    kind: str, model: Any, total: Any, about: str, labels: list[Any], compute: Callable[..., MetricTables], level: float
) -> Evaluation:
    """Return the evaluation of a model from the counts or sums of all rows."""
    targets.check_has_rows(total.n)
    if kind == "regression":
        rows, tables = None, compute(total, level)
    else:
        rows = RowScores.join(total.row_scores)
        tables = compute(total, rows, labels, level, probable=targets.score_method(model) == "predict_proba")
    title = ", ".join(filter(None, [f"{type(model).__name__} on {total.n} row{'s' * (total.n != 1)}", about]))
    notes = (
        *tables.notes,
        f"Intervals have level {100 * level:g}% and are for this model on rows like these {total.n}.",
    )
    return Evaluation(kind, title, total.n, level, tuple(labels), *tables[:-1], notes, rows)
