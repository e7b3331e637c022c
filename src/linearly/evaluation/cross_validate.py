"""Cross-validation of every model of the package on rows anywhere: row i is held out in fold i mod K.

Models that are read off a summary (least squares, ridge, LDA, QDA, indicators) are fitted to all folds in one pass:
one summary a fold, and each model from the sum of the others. All other models are fitted K times to the rows that are
not held out, which stream past as they would for one fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.base import clone, is_classifier

from linearly.algorithm.least_squares.adaptive_summary import AdaptiveSummary
from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.solver import Summarize, candidate_methods, is_accurate_enough, method_of_summary
from linearly.dataset.rows.block import Block, Rows, SelectedOrigin, SingleBlockRows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.rows.views import MappedRows
from linearly.inference.tidy import check_level
from linearly.inference.unwrap import unwrap_model
from linearly.models.base import column_names, training_rows
from linearly.models.class_gram_classifier import ClassGramClassifier
from linearly.models.label_encoding import labelled_rows
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.linear_regression import LinearRegression
from linearly.models.perceptron_base import PerceptronBase
from linearly.models.score_classifier import ScoreClassifier
from linearly.table import Table

Array = NDArray[np.float64]


@single_threaded_blas()
def cross_validate(
    estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, folds: int = 5, level: float = 0.95
) -> Table:
    """A row for each fold: ``fold, rows``, then ``mse, r_squared`` of a regression, or ``accuracy`` (and ``log_loss``
    where the model has probabilities) of a classifier, each on the rows that were held out.

    Row i of the data is held out in fold i mod ``folds``. The notes give the means with intervals. The estimator need
    not be fitted; of a `Model`, which is what `fit` gives, the data bring the target, and levels stay as it knows them.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ly.cross_validate(ly.LinearDiscriminantAnalysis(), X, y)["accuracy"].round(3).tolist()
    [1.0, 1.0, 0.967, 0.933, 1.0]
    """
    if not isinstance(folds, (int, np.integer)) or folds < 2:
        raise ValueError(f"folds must be a whole number from 2 on, not {folds!r}.")
    check_level(level)
    estimator, X = unwrap_model(estimator, X, y, sample_weight, "cross_validate")
    if not isinstance(estimator, (LeastSquaresBase, PerceptronBase, ScoreClassifier)):
        raise TypeError(
            f"cross_validate is for the models of linearly, not for {type(estimator).__name__}: scikit-learn has a "
            "cross_validate that takes any."
        )
    if is_classifier(estimator):
        kind = clone(estimator)
        classes, rows = labelled_rows(kind, X, y, sample_weight)
        rows = rows if rows.names else _Named(rows, column_names(kind))
        models = _classifiers(estimator, kind, classes, rows, folds)
        return _table(_class_scores(rows, models, folds), folds, level)
    kind = clone(estimator)
    rows = training_rows(kind, X, y, sample_weight)
    return _table(_number_scores(rows, _regressors(estimator, kind, rows, folds), folds), folds, level)


@dataclass(frozen=True)
class Summaries:
    """A summary for each fold."""

    parts: tuple[Any, ...]

    def __add__(self, other: Summaries) -> Summaries:
        return Summaries(tuple(map(add, self.parts, other.parts)))

    def training_summary(self, j: int) -> Any:
        """The summary of all rows that fold j does not hold out."""
        return reduce(add, self.parts[:j] + self.parts[j + 1 :])


def _summaries(block: Block, summary: Callable[[Block], Any], K: int) -> Summaries:
    return Summaries(tuple(summary(held_out(block, K, j)) for j in range(K)))


def held_out(block: Block, K: int, j: int) -> Block:
    """The rows of a block that fold j holds out."""
    return block.take(block.rows_of_fold(K, j))


def _trained_on(block: Block, K: int, j: int) -> Block:
    number = block.global_index(np.arange(len(block)))
    rows = np.flatnonzero(number % K != j)
    # Counted anew without the fold, so that what a model does by row numbers is what it does in a fit of its own.
    start = block.start - (block.start - j + K - 1) // K
    new = number[rows] - (number[rows] - j + K - 1) // K
    return replace(
        block.take(rows), start=start, kept=new - start, place=SelectedOrigin("", before=block.describe_row, rows=rows)
    )


def _classifiers(estimator: Any, kind: Any, classes: NDArray[Any], rows: Rows, K: int) -> list[Any]:
    models = [_known(clone(estimator), kind) for _ in range(K)]
    if not isinstance(estimator, ClassGramClassifier):
        return [model.fit(_Training(rows, classes, K, j)) for j, model in enumerate(models)]
    for passes, extended in enumerate((False, True), start=1):
        of = partial(ClassGrams.of, K=len(classes), extended=extended)
        summaries = rows.reduce(partial(_summaries, summary=of, K=K))
        for j, model in enumerate(models):
            model._check_parameters()
            model.classes_, model.summary_, model.n_passes_ = classes, summaries.training_summary(j), passes
        if all(model.has_digits() for model in models):
            break
    for model in models:
        model._set_from_summary()
    return models


def _regressors(estimator: Any, kind: Any, rows: Rows, K: int) -> list[Any]:
    models = [_known(clone(estimator), kind) for _ in range(K)]
    exact = isinstance(estimator, LinearRegression) and estimator.method in ("auto", "gram", "extended", "qr")
    if not exact or estimator.covariance != "classical":
        return [model.fit(_Training(rows, None, K, j)) for j, model in enumerate(models)]
    for passes, method in enumerate(candidate_methods(rows, estimator.method), start=1):
        summaries = rows.reduce(partial(_summaries, summary=Summarize(method), K=K))
        solutions = []
        for j, model in enumerate(models):
            summary = summaries.training_summary(j)
            summary = summary.summary if isinstance(summary, AdaptiveSummary) else summary
            model._multi_output, model.summary_, model.n_passes_ = False, summary, passes
            model.method_ = method_of_summary(summary)
            solutions.append(model._ask().solve(summary))
        if all(map(is_accurate_enough, solutions)):
            break
    for model, solution in zip(models, solutions, strict=True):
        model._set_from_summary(solution)
    return models


def _known(model: Any, kind: Any) -> Any:
    for name in ("n_features_in_", "feature_names_in_", "_column_labels"):
        if hasattr(kind, name):
            setattr(model, name, getattr(kind, name))
    return model


class _Named(MappedRows):
    """Rows whose columns are called something: sparse ones have names only if they were given."""

    def __init__(self, rows: Rows, names: tuple[str, ...]) -> None:
        super().__init__(rows, partial(replace, names=names))
        self.names = names


class _Training(MappedRows):
    """The rows that fold j does not hold out."""

    def __init__(self, rows: Rows, classes: NDArray[Any] | None, K: int, j: int) -> None:
        super().__init__(rows, partial(_trained_on, K=K, j=j))
        self.classes = classes


def _number_scores(rows: Rows, models: list[Any], K: int) -> dict[str, Array]:
    def sums(block: Block) -> Moments:
        return Moments(np.stack([_moments(held_out(block, K, j), models[j]) for j in range(K)]))

    total = rows.reduce(sums)
    weight, error, _, spread, n = total.values.T
    _refuse_empty(n, K)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"rows": n, "mse": error / weight, "r_squared": 1 - error / spread}


@dataclass(frozen=True)
class Moments:
    """For each fold: weight, Σ squared errors, mean of y, Σ squares about it, rows."""

    values: Array

    def __add__(self, other: Moments) -> Moments:
        a, b = self.values.T, other.values.T
        weight = a[0] + b[0]
        share = np.divide(b[0], weight, out=np.zeros_like(weight), where=weight > 0)
        apart = b[2] - a[2]
        return Moments(
            np.stack(
                [weight, a[1] + b[1], a[2] + apart * share, a[3] + b[3] + apart**2 * a[0] * share, a[4] + b[4]], axis=1
            )
        )


def _moments(block: Block, model: Any) -> Array:
    if len(block) == 0:
        return np.zeros(5)
    y = target_matrix(block)
    assert y is not None
    if y.shape[1] > 1:
        raise ValueError(f"cross_validate takes one target, and y has {y.shape[1]}: give each of them on its own.")
    w = np.ones(len(block)) if block.weight is None else block.weight
    error = y[:, 0] - np.asarray(model.predict(SingleBlockRows(block))).reshape(len(block))
    weight = w.sum()
    mean = (w * y[:, 0]).sum() / weight if weight > 0 else 0.0
    return np.array([weight, (w * error**2).sum(), mean, (w * (y[:, 0] - mean) ** 2).sum(), np.count_nonzero(w)])


def _class_scores(rows: Rows, models: list[Any], K: int) -> dict[str, Array]:
    proba = hasattr(models[0], "predict_proba")

    def sums(block: Block) -> Array:
        return np.stack([_hits(held_out(block, K, j), models[j], proba) for j in range(K)])

    weight, right, loss, n = rows.reduce(sums).T
    _refuse_empty(n, K)
    scores = {"rows": n, "accuracy": right / weight}
    return scores | {"log_loss": loss / weight} if proba else scores


def _hits(block: Block, model: Any, proba: bool) -> Array:
    if len(block) == 0:
        return np.zeros(4)
    assert block.y is not None
    w = np.ones(len(block)) if block.weight is None else block.weight
    rows = SingleBlockRows(replace(block, y=None))
    right = model.predict(rows) == model.classes_[block.y]
    loss = 0.0
    if proba:
        logs = model.predict_log_proba(rows)[np.arange(len(block)), block.y]
        loss = float(-(w * logs).sum())
    return np.array([w.sum(), (w * right).sum(), loss, np.count_nonzero(w)])


def _refuse_empty(n: Array, K: int) -> None:
    if (n == 0).any():
        raise ValueError(f"n_samples={int(n.sum())} rows leave one of {K} folds empty: use fewer folds.")


def _table(scores: dict[str, Array], K: int, level: float) -> Table:
    columns: dict[str, Any] = {"fold": np.arange(1, K + 1), "rows": scores.pop("rows").astype(int)}
    columns |= scores
    notes = []
    for name, values in scores.items():
        mean, reach = interval(values, level)
        notes.append(f"mean {name} {mean:.4g} ± {reach:.2g} ({100 * level:g} % interval over the folds)")
    return Table(columns, f"Cross-validation, {K} folds", notes)


def interval(values: Array, level: float = 0.95) -> tuple[float, float]:
    """The mean of the folds, and how far the interval for it reaches to either side."""
    K = len(values)
    return float(values.mean()), float(stdtrit(K - 1, 0.5 + level / 2) * values.std(ddof=1) / np.sqrt(K))
