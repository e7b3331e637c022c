"""`evaluate`: how good a fitted model is on rows, each figure with an interval.

It works with every model that has `predict`, scikit-learn's included, and is a fold: blocks are tallied where they
are, tallies add up, and the figures are read off the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import RowLocator, names_of
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.evaluation.accumulators import ClassCounts, MultilabelCounts, RegressionSums, RowScores
from linearly.evaluation.intervals import Array
from linearly.evaluation.metrics import MetricTables, class_figures, label_figures, regression_figures
from linearly.evaluation.targets import (
    EvaluationData,
    check_has_rows,
    check_same_length,
    class_scores,
    classifies,
    codes,
    column,
    label_scores,
    log_probability,
    log_probability_of_labels,
    numbers,
    position,
    present,
    scorer,
    zeros_and_ones,
)
from linearly.inference.tidy import check_level
from linearly.inference.unwrap import features_of, rows_of, unwrap_estimator
from linearly.table import Summary, Table, to_python_value

_WIDEST_CONFUSION = 12  # classes whose confusion matrix is printed


@single_threaded_blas()
def evaluate(
    model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, positive: Any = None, level: float = 0.95
) -> Evaluation:
    """How good a fitted classifier or regressor is on rows: figures with intervals, confusion matrix, curves.

    Parameters
    ----------
    model : a fitted model with ``predict``; a classifier also has ``classes_``. Figures that need probabilities or
        scores are given where it has ``predict_proba`` or ``decision_function``. Or a `Model` of `fit`.
    X, y : rows and what is true of them: numbers (regression), labels, or a 0/1 matrix (any subset of labels a row).
        ``X`` may be `Rows` that bring their own targets and weights. For a `Model` it is data as `fit` takes them, and
        without y their own target and weights count.
    sample_weight : weights of the rows. Intervals count (Σw)² / Σw² rows; weight 0 means the row is absent.
    positive : which of two labels precision, recall and F1 are about; ``model.classes_[1]`` by default.
    level : confidence level of the intervals.

    They are intervals for the model as it is, on rows like these: Wilson's for proportions (for F1 through
    TP / (TP + FP + FN)), DeLong's for the area under the ROC curve, normal ones for means of row losses; averages over
    classes combine the intervals of the classes. A ratio 0/0 is defined as 0, and a note says so.

    Scores are kept row by row for curves and calibration; all else is counted block by block.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> result = ly.evaluate(GaussianNB().fit(X, y), X, y)
    >>> result.confusion
    Confusion matrix: rows actual, columns predicted
    actual  predicted yes  predicted no
    -----------------------------------
    yes                 2             1
    no                  1             2
    >>> result["accuracy"]
    0.6666666666666666
    """
    check_level(level)
    if unwrap_estimator(model) is not model:
        X = rows_of(model, X) if y is None else features_of(model, X)
        model = unwrap_estimator(model)
    data = EvaluationData(X, y, sample_weight)
    if not classifies(model):
        if positive is not None:
            raise ValueError("positive= is for classifiers of two labels.")
        return _evaluate_regression(model, data, y, level)
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise TypeError(f"{type(model).__name__} has no classes_: fit it first.")
    if isinstance(classes, (list, tuple)) or (data.targets.ndim == 2 and data.targets.shape[1] > 1):
        if positive is not None:
            raise ValueError("positive= is for classifiers of two labels; here a row may have several.")
        return _evaluate_labels(model, data, y, level)
    return _evaluate_classes(model, data, np.asarray(classes), positive, level)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What `evaluate` found; it prints as one screen, and ``evaluation["accuracy"]`` is a number.

    Attributes
    ----------
    metrics : Table ``metric, value, conf_low, conf_high, method``, with ``target`` first if there are several.
    confusion : Table of the confusion matrix, rows actual, columns predicted, the positive of two labels first; for
        several labels a row, the four counts of each label. None for regression.
    per_class : Table of precision, recall, F1 (and ROC AUC) of each label with intervals, or None.
    calibration : Table of predicted against observed frequency in ten bins, or None. With more than two classes it is
        about the predicted label: how sure the model was, and how often it was right.
    kind : "binary", "multiclass", "multilabel" or "regression".
    labels : the labels in the order of every table.
    n, level, notes : rows of positive weight, confidence level, and what else a reader must know.
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
    kept: RowScores | None = field(default=None, compare=False)

    def __getitem__(self, metric: str) -> Any:
        """The value of a metric; an array, one entry a target, if there are several targets."""
        found = self.metrics["value"][self.metrics["metric"] == metric]
        if len(found) == 0:
            names = dict.fromkeys(self.metrics["metric"].tolist())
            raise KeyError(f"{metric!r}; the metrics are {', '.join(names)}")
        return found if "target" in self.metrics.columns else float(found[0])

    @cached_property
    def roc(self) -> Table | None:
        """The ROC curve, ``threshold, false_positive_rate, true_positive_rate``; with ``label`` first if not binary."""
        from sklearn.metrics import roc_curve

        def points(truth: Any, score: Any, weight: Any) -> dict[str, Array]:
            false, true, threshold = roc_curve(truth, score, sample_weight=weight)
            return {"threshold": threshold, "false_positive_rate": false, "true_positive_rate": true}

        return self._curve(points)

    @cached_property
    def precision_recall(self) -> Table | None:
        """The precision-recall curve, ``threshold, precision, recall``; with ``label`` first if not binary."""
        from sklearn.metrics import precision_recall_curve

        def points(truth: Any, score: Any, weight: Any) -> dict[str, Array]:
            precision, recall, threshold = precision_recall_curve(
                truth, score, sample_weight=weight, drop_intermediate=True
            )
            return {"threshold": np.append(threshold, np.inf), "precision": precision, "recall": recall}

        return self._curve(points)

    def _curve(self, points: Callable[[Any, Any, Any], dict[str, Array]]) -> Table | None:
        if self.kept is None:
            return None
        parts: list[dict[str, Any]] = []
        for label, truth, score in self._one_against_rest():
            if truth.any() and not truth.all():
                part = points(truth, score, self.kept.weight)
                several: dict[str, Any] = {"label": [label] * len(part["threshold"])}
                parts.append(part if self.kind == "binary" else several | part)
        if not parts:
            return None
        return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    def _one_against_rest(self) -> list[tuple[Any, NDArray[np.bool_], Array]]:
        assert self.kept is not None
        score, actual = self.kept.score, self.kept.actual
        if self.kind == "binary":
            return [(self.labels[0], actual == 0, score[:, 0])]
        truth = actual == 1 if self.kind == "multilabel" else actual[:, None] == np.arange(len(self.labels))
        return [(label, truth[:, k], score[:, k]) for k, label in enumerate(self.labels)]

    def _summary(self) -> Summary:
        tables = [self.metrics]
        if self.confusion is not None and len(self.labels) <= _WIDEST_CONFUSION:
            tables.insert(0, self.confusion)
        if self.per_class is not None and self.kind != "binary":
            shown = [name for name in self.per_class.columns if not name.endswith(("_low", "_high"))]
            tables.append(Table({name: self.per_class[name] for name in shown}, title=self.per_class.title))
        return Summary(self.title, tuple(tables), self.notes)

    def __str__(self) -> str:
        return str(self._summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._summary()._repr_html_()


# --- the three kinds ------------------------------------------------------------------------------


def _evaluate_classes(
    model: Any, data: EvaluationData, classes: NDArray[Any], positive: Any, level: float
) -> Evaluation:
    K = len(classes)
    order = list(range(K))
    if K == 2:
        first = 1 if positive is None else position(positive, classes)
        order = [first, 1 - first]
    elif positive is not None:
        raise ValueError(f"positive= is for two labels; the model knows {K}. See per_class for each of them.")
    labels = [to_python_value(classes[k]) for k in order]
    ask = scorer(model)

    def tally(X: Any, y: Any, weight: Any, where: RowLocator) -> ClassCounts:
        actual = codes(column(y), labels, "y", where)
        predicted = codes(column(model.predict(X)), labels, "The prediction", where)
        check_same_length(predicted, actual)
        probability, score = class_scores(model, ask, X, order, where)
        rows, weight = present(weight, len(actual))
        logarithm = log_probability(model, X, probability, order, actual)
        cut = [None if part is None else part[rows] for part in (probability, score, logarithm)]
        return ClassCounts.of(actual[rows], predicted[rows], weight, K, *cut)

    found = data.reduce(tally)
    check_has_rows(found.n)
    kept = RowScores.joined(found.kept) if found.kept else None
    figures = class_figures(found, kept, labels, level, probable=ask == "predict_proba")
    about = f", positive label {labels[0]!r}" if K == 2 else f", {K} labels"
    kind = "binary" if K == 2 else "multiclass"
    return _result(kind, model, found.n, about, labels, figures, kept, level)


def _evaluate_labels(model: Any, data: EvaluationData, y: Any, level: float) -> Evaluation:
    if data.targets.ndim != 2:
        raise ValueError("This model answers with several labels a row: y must be a 0/1 matrix, one column a label.")
    L = data.targets.shape[1]
    labels = [to_python_value(name) for name in names_of(y) or [f"y{j}" for j in range(L)]]
    ask = scorer(model)

    def tally(X: Any, y: Any, weight: Any, where: RowLocator) -> MultilabelCounts:
        actual = zeros_and_ones(y, labels, "y", where)
        predicted = zeros_and_ones(model.predict(X), labels, "The prediction", where)
        check_same_length(predicted, actual)
        score = label_scores(model, ask, X, where)
        rows, weight = present(weight, len(actual))
        probability = score if ask == "predict_proba" else None
        logarithm = log_probability_of_labels(model, X, probability, actual)
        cut = [None if part is None else part[rows] for part in (probability, score, logarithm)]
        return MultilabelCounts.of(actual[rows], predicted[rows], weight, *cut)

    found = data.reduce(tally)
    check_has_rows(found.n)
    kept = RowScores.joined(found.kept) if found.kept else None
    figures = label_figures(found, kept, labels, level, probable=ask == "predict_proba")
    return _result("multilabel", model, found.n, f", {L} labels, any subset a row", labels, figures, kept, level)


def _evaluate_regression(model: Any, data: EvaluationData, y: Any, level: float) -> Evaluation:
    first = numbers(data.targets, "y", data.where)
    first = first[present(data.weight, len(first))[0]]  # absent rows must not set the scale: theirs may be any
    check_has_rows(len(first))
    shift = first.mean(axis=0)
    spread = np.abs(first - shift).max(axis=0)
    _, exponent = np.frexp(np.where(spread > 0, spread, 1.0))
    unit = np.ldexp(1.0, exponent)

    def tally(X: Any, y: Any, weight: Any, where: RowLocator) -> RegressionSums:
        truth = numbers(y, "y", where)
        prediction = numbers(model.predict(X), "The prediction", where)
        check_same_length(prediction, truth)
        rows, weight = present(weight, len(truth))
        return RegressionSums.of(truth[rows], prediction[rows], weight, shift, unit)

    found = data.reduce(tally)
    check_has_rows(found.n)
    names = names_of(y) or [f"y{t}" for t in range(len(unit))]
    figures = regression_figures(found, unit, [str(name) for name in names], level)
    several = f", {len(unit)} targets" if len(unit) > 1 else ""
    return _result("regression", model, found.n, several, [], figures, None, level)


def _result(
    kind: str,
    model: Any,
    n: int,
    about: str,
    labels: list[Any],
    figures: MetricTables,
    kept: RowScores | None,
    level: float,
) -> Evaluation:
    notes = [*figures.notes, f"Intervals at {100 * level:g} %: for this model, on rows like these {n}."]
    title = f"{type(model).__name__} on {n} row{'s' if n != 1 else ''}{about}"
    return Evaluation(
        kind, title, n, level, tuple(labels), figures.metrics, figures.confusion, figures.per_class,
        figures.calibration, tuple(notes), kept,
    )  # fmt: skip
