"""Cross-validate the models of the package on rows anywhere: row i is held out in fold i mod K.

Models that are solved from a summary (least squares, ridge, LDA, QDA, indicators) are fitted to all folds in one pass:
one summary per fold, and each model from the sum of the others. All other models are fitted K times to the rows that
are not held out, which are streamed as for one fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from linearly.algorithm.least_squares.adaptive_summary import AdaptiveSummary
from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.solver import Summarize, candidate_methods, is_accurate_enough, method_of_summary
from linearly.dataset.rows.block import Block, Rows, SelectedOrigin, SingleBlockRows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.rows.views import MappedRows
from linearly.inference.fitted_rows import Array, row_weights
from linearly.inference.tidy import check_level, t_quantile
from linearly.inference.unwrap import unwrap_model
from linearly.models.base import column_names, training_rows
from linearly.models.class_gram_classifier import ClassGramClassifier
from linearly.models.label_encoding import labelled_rows
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.linear_regression import LinearRegression
from linearly.models.perceptron_base import PerceptronBase
from linearly.models.score_classifier import ScoreClassifier
from linearly.table import Table

_COLUMN_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "_column_labels")  # what a fit remembers of the columns


@single_threaded_blas()
def cross_validate(
    estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, folds: int = 5, level: float = 0.95
) -> Table:
    """Return how good a model is on held-out rows, fold by fold.

    Parameters
    ----------
    estimator : Model or estimator of linearly
        The model to fit; it need not be fitted. A `Model` keeps the levels that it has.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        Features. For a `Model`, data that contain the target, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        Targets: numbers or labels.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    folds : int, default=5
        Number of folds, at least 2. Row i is held out in fold i mod `folds`.
    level : float, default=0.95
        Confidence level of the intervals in the notes.

    Returns
    -------
    Table
        One row per fold: ``fold, rows``, then ``mse, r_squared`` for a regression, or ``accuracy`` (and ``log_loss``
        if the model has probabilities) for a classifier. The notes give the means with intervals over the folds.

    Raises
    ------
    TypeError
        If the estimator is not one of linearly's.
    ValueError
        If a fold would be empty, or if there are several targets.

    See Also
    --------
    evaluate : More metrics, on rows that were not used to fit.
    RidgeCV : Choose a penalty by cross-validation.

    References
    ----------
    .. [1] Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, section 7.10.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ly.cross_validate(ly.LinearDiscriminantAnalysis(), X, y)["accuracy"].round(3).tolist()
    [0.967, 1.0, 1.0, 0.933, 1.0]
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
    checked = clone(estimator)  # remembers the columns
    if is_classifier(estimator):
        classes, rows = labelled_rows(checked, X, y, sample_weight)
        rows = rows if rows.names else _NamedRows(rows, column_names(checked))
        models = _fit_classifiers(_folds_like(checked, folds), classes, rows, folds)
        return _table(_class_scores(rows, models, folds), folds, level)
    rows = training_rows(checked, X, y, sample_weight)
    models = _fit_regressors(_folds_like(checked, folds), rows, folds)
    return _table(_regression_scores(rows, models, folds), folds, level)


@dataclass(frozen=True)
class SummaryPerFold:
    """One summary per fold."""

    parts: tuple[Any, ...]

    def __add__(self, other: SummaryPerFold) -> SummaryPerFold:
        return SummaryPerFold(tuple(map(add, self.parts, other.parts)))

    def training_summary(self, j: int) -> Any:
        """Return the summary of all rows that fold j does not hold out."""
        return reduce(add, self.parts[:j] + self.parts[j + 1 :])


def _summarize_folds(block: Block, summary: Callable[[Block], Any], K: int) -> SummaryPerFold:
    return SummaryPerFold(tuple(summary(held_out(block, K, j)) for j in range(K)))


def held_out(block: Block, K: int, j: int) -> Block:
    """Return the rows of a block that fold j holds out."""
    return block.take(block.rows_of_fold(K, j))


def _not_held_out(block: Block, K: int, j: int) -> Block:
    index = block.global_index(np.arange(len(block)))
    rows = np.flatnonzero(index % K != j)
    # Rows are numbered as if the fold did not exist, so that what depends on row numbers is as in a fit of its own.
    start = block.start - (block.start - j + K - 1) // K
    kept = index[rows] - (index[rows] - j + K - 1) // K - start
    return replace(
        block.take(rows), start=start, kept=kept, place=SelectedOrigin("", before=block.describe_row, rows=rows)
    )


def _folds_like(checked: Any, K: int) -> list[Any]:
    """Return K unfitted models that expect the columns of a checked one."""
    columns = {name: checked.__dict__[name] for name in _COLUMN_ATTRIBUTES if name in checked.__dict__}
    models = [clone(checked) for _ in range(K)]
    for model in models:
        model.__dict__.update(columns)
    return models


def _fit_classifiers(models: list[Any], classes: NDArray[Any], rows: Rows, K: int) -> list[Any]:
    if not isinstance(models[0], ClassGramClassifier):
        return [model.fit(_TrainingRows(rows, classes, K, j)) for j, model in enumerate(models)]
    for passes, extended in enumerate((False, True), start=1):
        summarize = partial(ClassGrams.of, K=len(classes), extended=extended)
        summaries = rows.reduce(partial(_summarize_folds, summary=summarize, K=K))
        for j, model in enumerate(models):
            model._check_parameters()
            model.classes_, model.summary_, model.n_passes_ = classes, summaries.training_summary(j), passes
        if all(model.has_digits() for model in models):
            break
    for model in models:
        model._set_from_summary()
    return models


def _fit_regressors(models: list[Any], rows: Rows, K: int) -> list[Any]:
    first = models[0]
    direct = isinstance(first, LinearRegression) and first.method in ("auto", "gram", "extended", "qr")
    if not direct or first.covariance != "classical":
        return [model.fit(_TrainingRows(rows, None, K, j)) for j, model in enumerate(models)]
    for passes, method in enumerate(candidate_methods(rows, first.method), start=1):
        summaries = rows.reduce(partial(_summarize_folds, summary=Summarize(method), K=K))
        solutions = []
        for j, model in enumerate(models):
            summary = summaries.training_summary(j)
            summary = summary.summary if isinstance(summary, AdaptiveSummary) else summary
            model._multi_output, model.summary_, model.n_passes_ = False, summary, passes
            model.method_ = method_of_summary(summary)
            solutions.append(model._check_parameters().solve(summary))
        if all(map(is_accurate_enough, solutions)):
            break
    for model, solution in zip(models, solutions, strict=True):
        model._set_from_summary(solution)
    return models


class _NamedRows(MappedRows):
    """Rows with names of columns, which sparse ones have only if they were given."""

    def __init__(self, rows: Rows, names: tuple[str, ...]) -> None:
        super().__init__(rows, partial(replace, names=names))
        self.names = names


class _TrainingRows(MappedRows):
    """The rows that fold j does not hold out."""

    def __init__(self, rows: Rows, classes: NDArray[Any] | None, K: int, j: int) -> None:
        super().__init__(rows, partial(_not_held_out, K=K, j=j))
        self.classes = classes


def _regression_scores(rows: Rows, models: list[Any], K: int) -> dict[str, Array]:
    def add_up(block: Block) -> Moments:
        return Moments(np.stack([_moments(held_out(block, K, j), models[j]) for j in range(K)]))

    weight, error, _, spread, n = rows.reduce(add_up).values.T
    _check_no_empty_fold(n, K)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"rows": n, "mse": error / weight, "r_squared": 1 - error / spread}


@dataclass(frozen=True)
class Moments:
    """Weight, Σ squared errors, mean of y, Σ squares about it and number of rows, for each fold."""

    values: Array

    def __add__(self, other: Moments) -> Moments:
        a, b = self.values.T, other.values.T
        weight = a[0] + b[0]
        share = np.divide(b[0], weight, out=np.zeros_like(weight), where=weight > 0)
        apart = b[2] - a[2]
        mean, spread = a[2] + apart * share, a[3] + b[3] + apart**2 * a[0] * share
        return Moments(np.stack([weight, a[1] + b[1], mean, spread, a[4] + b[4]], axis=1))


def _moments(block: Block, model: Any) -> Array:
    if len(block) == 0:
        return np.zeros(5)
    y = target_matrix(block)
    assert y is not None
    if y.shape[1] > 1:
        raise ValueError(f"cross_validate takes one target, and y has {y.shape[1]}: give each of them on its own.")
    w = row_weights(block)
    error = y[:, 0] - np.asarray(model.predict(SingleBlockRows(block))).reshape(len(block))
    weight = w.sum()
    mean = (w * y[:, 0]).sum() / weight if weight > 0 else 0.0
    return np.array([weight, (w * error**2).sum(), mean, (w * (y[:, 0] - mean) ** 2).sum(), np.count_nonzero(w)])


def _class_scores(rows: Rows, models: list[Any], K: int) -> dict[str, Array]:
    proba = hasattr(models[0], "predict_proba")

    def add_up(block: Block) -> Array:
        return np.stack([_hits(held_out(block, K, j), models[j], proba) for j in range(K)])

    weight, right, loss, n = rows.reduce(add_up).T
    _check_no_empty_fold(n, K)
    scores = {"rows": n, "accuracy": right / weight}
    return scores | {"log_loss": loss / weight} if proba else scores


def _hits(block: Block, model: Any, proba: bool) -> Array:
    if len(block) == 0:
        return np.zeros(4)
    assert block.y is not None
    w = row_weights(block)
    rows = SingleBlockRows(replace(block, y=None))
    right = model.predict(rows) == model.classes_[block.y]
    loss = 0.0
    if proba:
        logs = model.predict_log_proba(rows)[np.arange(len(block)), block.y]
        loss = float(-(w * logs).sum())
    return np.array([w.sum(), (w * right).sum(), loss, np.count_nonzero(w)])


def _check_no_empty_fold(n: Array, K: int) -> None:
    if (n == 0).any():
        raise ValueError(f"n_samples={int(n.sum())} rows leave one of {K} folds empty: use fewer folds.")


def _table(scores: dict[str, Array], K: int, level: float) -> Table:
    columns = {"fold": np.arange(1, K + 1), "rows": scores.pop("rows").astype(int), **scores}
    notes = []
    for name, values in scores.items():
        mean, reach = interval(values, level)
        notes.append(f"mean {name} {mean:.4g} ± {reach:.2g} ({100 * level:g} % interval over the folds)")
    return Table(columns, f"Cross-validation, {K} folds", notes)


def interval(values: Array, level: float = 0.95) -> tuple[float, float]:
    """Return the mean of the folds, and how far its interval reaches to either side."""
    K = len(values)
    return float(values.mean()), float(t_quantile(level, K - 1) * values.std(ddof=1) / np.sqrt(K))
