"""Cross-validate the models of the package on rows anywhere; `folds` assigns rows to folds.

Models that are solved from a summary (least squares, ridge, LDA, QDA, indicators) are fitted to all folds in one pass:
one summary per fold, and each model from the sum of the others. All other models are fitted K times to the rows that
are not held out, which are streamed as for one fit. Figures are pooled over the rows of all folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from linearly.algorithm.least_squares.adaptive_summary import AdaptiveSummary
from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.solver import Summarize, candidate_methods, is_accurate_enough, method_of_summary
from linearly.dataset.rows.block import Block, Rows, SingleBlockRows, row_weights
from linearly.dataset.rows.views import MappedRows
from linearly.evaluation import targets
from linearly.evaluation.accumulators import ClassCounts, RegressionSums, Scores
from linearly.evaluation.evaluate import Evaluation, class_order, evaluation_of_counts, regression_units
from linearly.evaluation.folds import Folds
from linearly.evaluation.intervals import Interval, RowMean, kish_sample_size, wilson
from linearly.evaluation.r_squared import r_squared as pooled_r_squared
from linearly.inference.unwrap import unwrap_model
from linearly.inference.wald_tests import check_level, t_quantile
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.models.base import column_names, training_rows
from linearly.models.class_gram_classifier import ClassGramClassifier
from linearly.models.elastic_net_base import ElasticNetBase
from linearly.models.label_encoding import labelled_rows
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.linear_regression import LinearRegression
from linearly.models.perceptron_base import PerceptronBase
from linearly.models.score_classifier import ScoreClassifier
from linearly.models.sklearn_bases import Classifier, clone
from linearly.table import Table

MAX_SCREEN_ROWS = 1_000_000
_SCREEN_FOLDS = 5
MAX_SCREEN_CELLS = 50_000_000  # about five seconds
_MODELS = (LeastSquaresBase, ElasticNetBase, PerceptronBase, ScoreClassifier)
_COLUMN_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "_column_labels")  # what a fit remembers of the columns


@single_threaded_blas()
def cross_validate(
    estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, folds: int = 5, shuffle: bool = True,
    random_state: int = 0, level: float = 0.95,
) -> Table:  # fmt: skip
    """Evaluate a model on held-out rows, fold by fold and over all rows.

    Parameters
    ----------
    estimator : Model or estimator of linearly
        The model to fit; it need not be fitted yet. A `Model` keeps its levels.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        Features. For a `Model`, data that contain the target, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        Targets: numbers or labels.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    folds : int, default=5
        Number of folds K, at least 2.
    shuffle : bool, default=True
        If True, a hash of the row number assigns the fold, with each label spread evenly over the folds. Otherwise, row
        i is held out in fold i mod K.
    random_state : int, default=0
        Seed for the hash. The same seed gives the same folds for arrays, files and clusters.
    level : float, default=0.95
        Confidence level of the intervals in the notes.

    Returns
    -------
    Table
        One row per fold: ``fold, rows``, then ``mse, r_squared`` for a regression, or ``accuracy`` (and ``log_loss`` if
        the model has probabilities) for a classifier. ``r_squared`` is 1 − mse / variance of all targets, so that its
        mean over the rows is the pooled R². The notes give the pooled figures with intervals, and the score of a
        constant prediction on the same folds.

    Raises
    ------
    TypeError
        If the estimator is not one of linearly's.
    ValueError
        If a fold would be empty, or if y has several targets.

    See Also
    --------
    evaluate : More metrics, on rows that were not used to fit.
    RidgeCV : Choose a penalty by cross-validation.

    Notes
    -----
    Pooled R² is 1 − SSE / SST over all held-out rows. The intervals refer to models that are fitted to (K − 1) / K of
    the rows. Standard errors over rows are multiplied by √(K / (K − 1)), because the folds share training rows. In
    simulations with normal errors, K = 5 and 50 to 400 rows the intervals of R² then cover 93% to 97%.

    References
    ----------
    .. [1] Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, section 7.10.
    .. [2] Bates, Hastie, Tibshirani (2024), Cross-Validation: What Does It Estimate and How Well Does It Do It?

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ly.cross_validate(ly.LinearDiscriminantAnalysis(), X, y)["accuracy"].round(3).tolist()
    [1.0, 1.0, 0.967, 1.0, 0.933]
    """
    check_level(level)
    fitted = fit_folds(
        estimator, X, y, sample_weight=sample_weight, folds=folds, shuffle=shuffle, random_state=random_state
    )
    return fitted.scores().table(level)


@single_threaded_blas()
def fit_folds(
    estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, folds: int = 5, shuffle: bool = True,
    random_state: int = 0,
) -> FoldModels:  # fmt: skip
    """Return one fitted model per fold; the parameters are the same as in `cross_validate`."""
    if not isinstance(folds, (int, np.integer)) or folds < 2:
        raise ValueError(f"folds must be an integer of at least 2, not {folds!r}.")
    if not isinstance(random_state, (int, np.integer)) or not 0 <= random_state < 2**31:
        raise ValueError(f"random_state must be an integer from 0 to 2147483647, not {random_state!r}.")
    assignment = Folds(int(folds), int(random_state), bool(shuffle))
    estimator, X = unwrap_model(estimator, X, y, sample_weight, "cross_validate")
    if not isinstance(estimator, _MODELS):
        raise TypeError(
            f"cross_validate requires linearly models, not {type(estimator).__name__}. "
            "Use scikit-learn's cross_validate."
        )
    checked = clone(estimator)  # remembers the columns
    if isinstance(estimator, Classifier):
        classes, rows = labelled_rows(checked, X, y, sample_weight)
        rows = rows if rows.names else _NamedRows(rows, column_names(checked))
        assignment = assignment.stratified(rows, len(classes))
        if assignment.counts is not None and (n := int(assignment.counts.sum())) < folds:
            raise _empty_fold(n, int(folds))
        return FoldModels(rows, assignment, _fit_classifiers(_folds_like(checked, folds), classes, rows, assignment))
    rows = training_rows(checked, X, y, sample_weight)
    return FoldModels(rows, assignment, _fit_regressors(_folds_like(checked, folds), rows, assignment))


def fit_folds_if_affordable(model: Any, rows: Rows, n: int) -> FoldModels | None:
    """Return a fitted classifier, fitted again to n rows without each fold; None if it takes too long or a fit fails.

    A search of scikit-learn stands for its best estimator. None also for models that are not of this package.

    Models that are solved from a summary take two passes, for at most MAX_SCREEN_ROWS rows. For others, the passes of
    the fit, times the folds, times the cells, must stay below MAX_SCREEN_CELLS; each pass counts as 10,000 cells more.
    """
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, _MODELS):
        return None
    passes = 1 if isinstance(model, ClassGramClassifier) else int(getattr(model, "n_passes_", 10))
    cells = _SCREEN_FOLDS * passes * (n * (model.n_features_in_ + 1) + 10_000)
    if rows.one_shot or n > MAX_SCREEN_ROWS or (passes > 1 and cells > MAX_SCREEN_CELLS):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows has given them
        try:
            return fit_folds(model, rows, folds=_SCREEN_FOLDS)
        except (ValueError, ArithmeticError):  # a label with one row, say
            return None


def _empty_fold(n: int, K: int) -> ValueError:
    return ValueError(f"n_samples={n} rows leave one of {K} folds empty. Use fewer folds.")


@dataclass(frozen=True)
class PerFold:
    """One summary per fold."""

    parts: tuple[Any, ...]

    def __add__(self, other: PerFold) -> PerFold:
        return PerFold(tuple(map(add, self.parts, other.parts)))

    def training_summary(self, j: int) -> Any:
        """Return the summary of all rows that fold j does not hold out."""
        return reduce(add, self.parts[:j] + self.parts[j + 1 :])

    def total(self) -> Any:
        """Return the summary of all rows."""
        return reduce(add, self.parts)


@dataclass(frozen=True)
class FoldModels:
    """Models, each fitted to the rows that its fold does not hold out."""

    rows: Rows
    folds: Folds
    models: list[Any]

    def scores(self) -> RegressionScores | ClassScores:
        """Return the scores of each model on the rows that it was not fitted to."""
        if hasattr(self.models[0], "classes_"):
            model = self.models[0]
            return ClassScores(self._reduce(partial(_count, order=None)), model.classes_, model.n_features_in_)
        shift, unit = regression_units(self.rows)
        return RegressionScores(self._reduce(partial(_add_up, shift=shift, unit=unit)), float(shift[0]), float(unit[0]))

    def evaluation(self, *, positive: Any = None, level: float = 0.95) -> Evaluation:
        """Return the evaluation of a classifier on held-out rows, as `evaluate` gives it; intervals widened as here."""
        classes = self.models[0].classes_
        order = class_order(classes, positive)
        total = self._reduce(partial(_count, order=order)).total()
        wider = np.sqrt(variance_factor(self.folds.K, total.n, self.models[0].n_features_in_))
        wide = 2 * float(ndtr(t_quantile(level) * wider)) - 1
        found = evaluation_of_counts(self.models[0], total, classes, order, wide, choose=positive is None)
        how = f"Cross-validated with {self.folds.K} folds: every row is predicted by a model fitted without it."
        return replace(found, level=level, notes=(*found.notes[:-1], how))

    @property
    def test_widening(self) -> float:
        """Return the factor of standard errors in tests (Nadeau & Bengio 2003); intervals use `variance_factor`."""
        return float(np.sqrt(1 + self.folds.K / (self.folds.K - 1)))

    def losses(self, block: Block) -> Array:
        """Return the loss of each row of a block: 0 or 1 for a wrong label, the squared error of a number."""
        loss, folds = np.zeros(len(block)), self.folds.of(block)
        for j, model in enumerate(self.models):
            rows = np.flatnonzero(folds == j)
            if len(rows):
                part = block.take(rows)
                predicted = np.asarray(model.predict(SingleBlockRows(replace(part, y=None))))
                assert part.y is not None
                wrong = hasattr(model, "classes_")
                loss[rows] = predicted != model.classes_[part.y] if wrong else (part.y.ravel() - predicted.ravel()) ** 2
        return loss

    def _reduce(self, score: Callable[[Block, Any], Any]) -> PerFold:
        folds, models = self.folds, self.models

        def add_up(block: Block) -> PerFold:
            return PerFold(tuple(score(part, model) for part, model in zip(folds.split(block), models, strict=True)))

        total: PerFold = self.rows.reduce(add_up)
        n = [part.n for part in total.parts]
        if not all(n):
            raise _empty_fold(sum(n), folds.K)
        return total


def variance_factor(folds: int, n: int, n_features: int) -> float:
    """Return the factor of the variance over rows in intervals of a classifier, because the folds share training rows.

    The fits vary, too, as predictions of a linear fit do: by p / n. Without that, intervals of accuracy at 100 rows and
    20 or 40 features cover 92%, and with it 94 and 96%.
    """
    return folds / (folds - 1) * (1 + n_features / n)


@dataclass(frozen=True)
class RegressionScores:
    """Sums of held-out errors and targets, fold by fold, in units of `unit` about `shift`."""

    sums: PerFold
    shift: float
    unit: float

    @property
    def K(self) -> int:
        """Return the number of folds."""
        return len(self.sums.parts)

    @property
    def variance(self) -> float:
        """Return the variance of the targets of all rows, SST / Σw."""
        weight, first, second = _target_sums(self.sums.total())
        return (second - first**2 / weight) / weight * self.unit**2

    @property
    def mean(self) -> float:
        """Return the mean of the targets of all rows."""
        weight, first, _ = _target_sums(self.sums.total())
        return first / weight * self.unit + self.shift

    @property
    def mse(self) -> Array:
        """Return the mean squared error of each fold."""
        return (
            np.array([part.moments[0, 0, 1, 0] / part.moments[0, 0, 0, 0] for part in self.sums.parts]) * self.unit**2
        )

    def r_squared(self, level: float = 0.95) -> Interval:
        """Return pooled R² = 1 − SSE / SST with its interval."""
        found = pooled_r_squared(self.sums.total().moments[0], level)
        wider = np.sqrt(self.K / (self.K - 1))  # folds share training rows
        low, high = (float(found.value + wider * (end - found.value)) for end in (found.low, found.high))
        return Interval(found.value, low, min(high, 1.0), found.method)

    def baseline(self) -> float:
        """Return the pooled R² of the mean of the training rows."""
        weight, first, second = _target_sums(self.sums.total())
        error = 0.0
        for part in self.sums.parts:
            w, u, u2 = _target_sums(part)
            mean = (first - u) / (weight - w)
            error += u2 - 2 * mean * u + mean**2 * w
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(1 - np.float64(error) / (second - first**2 / weight))

    def table(self, level: float) -> Table:
        """Return the scores of the folds, with the pooled scores as notes."""
        mse, weight = self.mse, np.array([_target_sums(part)[0] for part in self.sums.parts])
        with np.errstate(divide="ignore", invalid="ignore"):
            r_squared = 1 - mse / np.float64(self.variance)
        notes = [
            f"pooled mse {np.average(mse, weights=weight):.4g}",
            _describe("R²", self.r_squared(level), level),
            f"the mean of the training rows has R² {self.baseline():.4g}",
        ]
        return _fold_table(self.sums, {"mse": mse, "r_squared": r_squared}, notes)


def _target_sums(sums: RegressionSums) -> tuple[float, float, float]:
    """Return Σw, Σwu and Σwu² of the first target."""
    weight, first, second = sums.moments[0, 0, 0, :3].tolist()
    return weight, first, second


@dataclass(frozen=True)
class ClassScores:
    """Confusion matrices and sums of log losses on held-out rows, fold by fold."""

    counts: PerFold
    classes: NDArray[Any]
    n_features: int

    @property
    def K(self) -> int:
        """Return the number of folds."""
        return len(self.counts.parts)

    def accuracy(self, level: float = 0.95) -> Interval:
        """Return pooled accuracy with its interval."""
        total = self.counts.total()
        n = kish_sample_size(float(total.counts.sum()), float(total.squares.sum()))
        rows = n / variance_factor(self.K, total.n, self.n_features)
        return wilson(float(np.trace(total.counts) / total.counts.sum()), rows, level)

    @property
    def fold_accuracy(self) -> Array:
        """Return the accuracy of each fold."""
        return np.array([np.trace(part.counts) / part.counts.sum() for part in self.counts.parts])

    @property
    def log_loss(self) -> Array | None:
        """Return the mean log loss of each fold; None without probabilities."""
        losses = np.array([part.losses[0] for part in self.counts.parts])
        return losses[:, 1] / losses[:, 0] if losses.any() else None

    def baseline(self) -> tuple[int, float]:
        """Return the most frequent class, and the accuracy of always predicting the training rows' one."""
        actual = np.array([part.counts.sum(axis=1) for part in self.counts.parts])
        chosen = np.argmax(actual.sum(axis=0) - actual, axis=1)
        right = actual[np.arange(len(actual)), chosen].sum()
        return int(np.argmax(actual.sum(axis=0))), float(right / actual.sum())

    def table(self, level: float) -> Table:
        """Return the scores of the folds, with the pooled scores as notes."""
        most, share = self.baseline()
        scores = {"accuracy": self.fold_accuracy}
        notes = [_describe("accuracy", self.accuracy(level), level)]
        if self.log_loss is not None:
            scores["log_loss"] = self.log_loss
            losses = RowMean.of(self.counts.total().losses[0])
            reach = t_quantile(level) * losses.error * np.sqrt(self.K / (self.K - 1))
            found = Interval(losses.value, max(losses.value - reach, 0.0), losses.value + reach, "normal")
            notes.append(_describe("log loss", found, level))
        notes.append(f"always predicting {self.classes.tolist()[most]!r} has accuracy {share:.4g}")
        return _fold_table(self.counts, scores, notes)


def _describe(name: str, found: Interval, level: float) -> str:
    return f"pooled {name} {found.value:.4g} ({100 * level:g}% interval {found.low:.4g} to {found.high:.4g})"


def _fold_table(sums: PerFold, scores: dict[str, Array], notes: list[str]) -> Table:
    K = len(sums.parts)
    columns = {"fold": np.arange(1, K + 1), "rows": np.array([part.n for part in sums.parts]), **scores}
    return Table(columns, f"Cross-validation, {K} folds", notes)


def _folds_like(checked: Any, K: int) -> list[Any]:
    """Return K unfitted models that expect the columns of a checked one."""
    columns = {name: checked.__dict__[name] for name in _COLUMN_ATTRIBUTES if name in checked.__dict__}
    models = [clone(checked) for _ in range(K)]
    for model in models:
        model.__dict__.update(columns)
    return models


def _summarize_folds(block: Block, summary: Callable[[Block], Any], folds: Folds) -> PerFold:
    return PerFold(tuple(map(summary, folds.split(block))))


def _fit_classifiers(models: list[Any], classes: NDArray[Any], rows: Rows, folds: Folds) -> list[Any]:
    if not isinstance(models[0], ClassGramClassifier):
        return [model.fit(_TrainingRows(rows, classes, folds, j)) for j, model in enumerate(models)]
    for passes, extended in enumerate((False, True), start=1):
        summarize = partial(ClassGrams.of, K=len(classes), extended=extended)
        summaries = rows.reduce(partial(_summarize_folds, summary=summarize, folds=folds))
        for j, model in enumerate(models):
            model.check_parameters()
            model.classes_, model.summary_, model.n_passes_ = classes, summaries.training_summary(j), passes
        if all(model.has_digits() for model in models):
            break
    for model in models:
        model.set_from_summary()
    return models


def _fit_regressors(models: list[Any], rows: Rows, folds: Folds) -> list[Any]:
    first = models[0]
    direct = isinstance(first, LinearRegression) and first.method in ("auto", "gram", "extended", "qr")
    if not direct or first.covariance != "classical":
        return [model.fit(_TrainingRows(rows, None, folds, j)) for j, model in enumerate(models)]
    for passes, method in enumerate(candidate_methods(rows, first.method), start=1):
        summaries = rows.reduce(partial(_summarize_folds, summary=Summarize(method), folds=folds))
        solutions = []
        for j, model in enumerate(models):
            summary = summaries.training_summary(j)
            summary = summary.summary if isinstance(summary, AdaptiveSummary) else summary
            model.multi_output_, model.summary_, model.n_passes_ = False, summary, passes
            model.method_ = method_of_summary(summary)
            solutions.append(model.check_parameters().solve(summary))
        if all(map(is_accurate_enough, solutions)):
            break
    for model, solution in zip(models, solutions, strict=True):
        model.set_from_solution(solution)
    return models


class _NamedRows(MappedRows):
    """Rows with names of columns, which sparse ones have only if they were given."""

    def __init__(self, rows: Rows, names: tuple[str, ...]) -> None:
        super().__init__(rows, partial(replace, names=names))
        self.names = names


class _TrainingRows(MappedRows):
    """The rows that fold j does not hold out."""

    def __init__(self, rows: Rows, classes: NDArray[Any] | None, folds: Folds, j: int) -> None:
        super().__init__(rows, partial(_training_part, folds=folds, j=j))
        self.classes, self.folds, self.j = classes, folds, j

    def __iter__(self) -> Iterator[Block]:
        return self.folds.iterate_training(self.rows, self.j)


def _training_part(block: Block, folds: Folds, j: int) -> Block:
    return folds.training(block, j)


def _add_up(block: Block, model: Any, shift: Array, unit: Array) -> RegressionSums:
    weight = row_weights(block)
    part = block.take(np.flatnonzero(weight > 0))
    y = target_matrix(part)
    assert y is not None
    if y.shape[1] > 1:
        raise ValueError(
            f"cross_validate accepts only one target, but y has {y.shape[1]}. Cross-validate each target separately."
        )
    predicted = np.asarray(model.predict(SingleBlockRows(part))) if len(part) else np.empty(0)
    return RegressionSums.of(y, predicted.reshape(len(part), 1), weight[weight > 0], shift, unit)


def _count(block: Block, model: Any, order: list[int] | None) -> ClassCounts:
    """Count the rows of a block; with the order of the classes, also keep the scores of each row."""
    K, weight = len(model.classes_), row_weights(block)
    chosen = list(range(K)) if order is None else order
    code = np.argsort(chosen)
    part = block.take(np.flatnonzero(weight > 0))
    if not len(part):
        return ClassCounts.of(np.empty(0, int), np.empty(0, int), np.empty(0), K, Scores())
    assert part.y is not None
    rows, actual = SingleBlockRows(replace(part, y=None)), code[part.y]
    predicted = code[np.searchsorted(model.classes_, model.predict(rows))]
    scores = targets.class_scores(model, rows, chosen, actual, part.describe_row)
    scores = scores if order is not None else scores._replace(score=None)
    return ClassCounts.of(actual, predicted, weight[weight > 0], K, scores)
