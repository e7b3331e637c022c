"""Bad calls: clean numbers at the wrong time, or with the wrong columns, lengths, labels or models."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from hostile import (
    CLASSIFIERS,
    ESTIMATORS,
    HOLED,
    LABELS,
    REGRESSORS,
    N,
    X,
    Y,
    changed,
    nan,
    target,
)
from hostile_targets import CONTINUOUS, LENGTH

import linearly as ly
from linearly.dataset.rows.block import as_rows

ALL = tuple(ESTIMATORS)
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform")
STREAMED = tuple(name for name in CLASSIFIERS if hasattr(ESTIMATORS[name](), "partial_fit"))
# These learn from rows as they come; the others must be told all classes before the first.
NAMELESS = ("Perceptron", "VotedPerceptron", "AveragedPerceptron")
ADDED = ("LinearRegression", "RidgeCV", "ElasticNet", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis",
         "LeastSquaresClassifier")  # fmt: skip
WITH_INTERVALS = ("LinearRegression", "RidgeCV")
WITH_ERRORS = ("LinearRegression", "RidgeCV", "LogisticRegression")  # have standard errors
OTHER = np.where(LABELS == "no", "maybe", LABELS)

UNFITTED = r"not fitted yet"
COLUMNS = r"X has \d+ features?, but"
KINDS = r"unsupported operand type\(s\) for [+-]: '\w+' and '\w+'"
STRANGER = r"has the label 'maybe', which is not one of the classes \['no', 'yes'\]"
CLASSES = (
    r"only one class|no classes|NaN|mixed types|continuous|y (must|should) be|Pass classes=|not one of the classes"
)
SHORT = r"inconsistent numbers of samples|Pass X and y for the same rows"


class Use(NamedTuple):
    """A call that must be refused, the message it must raise, and the estimators that it applies to."""

    call: Callable[[str], Any]
    says: str
    names: tuple[str, ...] = ALL


@cache
def fitted(name: str) -> Any:
    """Return an estimator fitted to the clean rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ESTIMATORS[name]().fit(X, target(name))


def having(method: str) -> tuple[str, ...]:
    """Return the names of the estimators that have a method."""
    return tuple(name for name in ALL if hasattr(fitted(name), method))


def fitted_to(name: str, rows: Any, labels: Any) -> Any:
    """Fit an estimator to other rows."""
    return ESTIMATORS[name]().fit(rows, labels)


def streamed(name: str, classes: Any = ("no", "yes")) -> Any:
    """Return a classifier that has been given a first part of its rows."""
    return ESTIMATORS[name]().partial_fit(X, LABELS, classes=classes)


def _before_a_fit(method: str) -> Use:
    return Use(lambda name: getattr(ESTIMATORS[name](), method)(X), UNFITTED, having(method))


def _columns(method: str, make: Callable[[], Any], says: str = COLUMNS) -> Use:
    return Use(lambda name: getattr(fitted(name), method)(make()), says, having(method))


def _twice(name: str) -> Any:
    return fitted_to(name, np.vstack([X, X]), np.r_[target(name), target(name)])


def _classes(classes: Any, names: tuple[str, ...] = STREAMED) -> Use:
    return Use(lambda name: streamed(name, classes), CLASSES, names)


def bad_uses() -> dict[str, Use]:
    """Return every bad use by its name."""
    found = {f"{method} before a fit": _before_a_fit(method) for method in METHODS}
    for method in METHODS:
        found |= {
            f"{method} of fewer columns": _columns(method, lambda: X[:, :2]),
            f"{method} of more columns": _columns(method, lambda: np.hstack([X, X])),
            f"{method} of sparse rows of more columns": _columns(method, lambda: sp.csr_matrix(np.hstack([X, X]))),
            f"{method} of rows of fewer columns": _columns(method, lambda: as_rows(X[:, :2])),
            f"{method} of one row as a vector": _columns(method, lambda: X[0], "Expected 2D array, got 1D"),
        }
    return found | {
        # Before a fit
        "score before a fit": Use(lambda name: ESTIMATORS[name]().score(X, target(name)), UNFITTED),
        "evaluate before a fit": Use(
            lambda name: ly.evaluate(ESTIMATORS[name](), X, target(name)), r"not fitted yet|has no classes_. Fit it"
        ),
        "tidy before a fit": Use(lambda name: ly.tidy(ESTIMATORS[name]()), UNFITTED, WITH_ERRORS),
        "glance before a fit": Use(lambda name: ly.glance(ESTIMATORS[name]()), UNFITTED, WITH_ERRORS),
        "augment before a fit": Use(
            lambda name: ly.augment(ESTIMATORS[name](), X, target(name)), UNFITTED, WITH_ERRORS
        ),
        "diff with what is not fitted": Use(lambda name: ly.diff(fitted(name), ESTIMATORS[name]()), UNFITTED),
        "compared with what is not fitted": Use(
            lambda name: ly.compare_models(fitted(name), ESTIMATORS[name]()), UNFITTED
        ),
        "added to what is not fitted": Use(lambda name: fitted(name) + ESTIMATORS[name](), UNFITTED, ADDED),
        # What is no model, and names that nothing has
        "added to a number": Use(lambda name: fitted(name) + 1, KINDS),
        "added to another kind": Use(
            lambda name: fitted(name) + fitted("Perceptron" if name == "RidgeCV" else "RidgeCV"), KINDS
        ),
        "diff with another kind": Use(
            lambda name: ly.diff(fitted(name), fitted("Perceptron" if name == "RidgeCV" else "RidgeCV")),
            r"kinds",
        ),
        "a parameter that it has not": Use(lambda name: ESTIMATORS[name]().set_params(colour=1), r"'colour'"),
        "an argument that it has not": Use(lambda name: type(ESTIMATORS[name]())(colour=1), r"'colour'"),
        # Rows and their targets
        "rows with targets, and targets": Use(
            lambda name: fitted_to(name, as_rows(X, target(name)), target(name)), r"contain targets.*without y"
        ),
        "rows without targets": Use(lambda name: ESTIMATORS[name]().fit(as_rows(X)), r"rows contain no targets"),
        "rows without targets to evaluate on": Use(
            lambda name: ly.evaluate(fitted(name), as_rows(X)), r"rows contain no targets"
        ),
        "labels for numbers": Use(lambda name: fitted_to(name, X, LABELS), r"y contains text .*not num", REGRESSORS),
        "numbers for labels": Use(lambda name: fitted_to(name, X, Y), CONTINUOUS, CLASSIFIERS),
        "one row": Use(
            lambda name: fitted_to(name, X[:1], target(name)[:1]),
            r"Use fewer folds|only one class",
            ("RidgeCV", *CLASSIFIERS),
        ),
        # Scores and evidence
        "score of fewer columns": Use(lambda name: fitted(name).score(X[:, :2], target(name)), COLUMNS),
        "score of too few targets": Use(lambda name: fitted(name).score(X, target(name)[:-1]), SHORT),
        "score without targets": Use(lambda name: fitted(name).score(X, None), r"score needs y"),
        "score of NaN": Use(lambda name: fitted(name).score(X, np.full(N, nan)), r"contains NaN", REGRESSORS),
        "score with too few weights": Use(lambda name: fitted(name).score(X, target(name), np.ones(3)), SHORT),
        "score with a negative weight": Use(
            lambda name: fitted(name).score(X, target(name), changed(np.ones(N), 3, -1.0)),
            r"Negative values in sample_weight: row 3 has -1",
        ),
        "score with weights of NaN": Use(
            lambda name: fitted(name).score(X, target(name), changed(np.ones(N), 3, nan)),
            r"sample_weight contains NaN: row 3",
        ),
        "score with no weight at all": Use(
            lambda name: fitted(name).score(X, target(name), np.zeros(N)), r"at least one non-zero number"
        ),
        "evaluate fewer columns": Use(lambda name: ly.evaluate(fitted(name), X[:, :2], target(name)), COLUMNS),
        "evaluate too few targets": Use(lambda name: ly.evaluate(fitted(name), X, target(name)[:-1]), SHORT),
        "evaluate without targets": Use(lambda name: ly.evaluate(fitted(name), X), r"evaluate needs y"),
        "evaluate NaN": Use(lambda name: ly.evaluate(fitted(name), HOLED, target(name)), r"NaN: row 3, column 'x1'"),
        "evaluate at a level of 95": Use(
            lambda name: ly.evaluate(fitted(name), X, target(name), level=95), r"level must be between 0 and 1, not 95"
        ),
        "evaluate unknown labels": Use(
            lambda name: ly.evaluate(fitted(name), X, OTHER),
            r"of the model: 'maybe' \(first in row \d+\)",
            CLASSIFIERS,
        ),
        "evaluate labels for numbers": Use(
            lambda name: ly.evaluate(fitted(name), X, LABELS), r"y contains text .*not num", REGRESSORS
        ),
        "augment fewer columns": Use(
            lambda name: ly.augment(fitted(name), X[:, :2], target(name)), COLUMNS, WITH_ERRORS
        ),
        "augment NaN": Use(
            lambda name: ly.augment(fitted(name), HOLED, target(name)), r"NaN: row 3, column 'x1'", WITH_ERRORS
        ),
        "augment too few targets": Use(
            lambda name: ly.augment(fitted(name), X, target(name)[:-1]), LENGTH, WITH_ERRORS
        ),
        "augment unknown labels": Use(
            lambda name: ly.augment(fitted(name), X, OTHER), STRANGER, ("LogisticRegression",)
        ),
        "tidy at a level of 95": Use(
            lambda name: ly.tidy(fitted(name), level=95), r"level must be between 0 and 1, not 95", WITH_ERRORS
        ),
        "intervals at a level of 2": Use(
            lambda name: fitted(name).predict_interval(X, level=2),
            r"level must be between 0 and 1, not 2",
            WITH_INTERVALS,
        ),
        "intervals of no known kind": Use(
            lambda name: fitted(name).predict_interval(X, kind="x"), r"kind must be .*, not 'x'", WITH_INTERVALS
        ),
        "intervals of NaN": Use(
            lambda name: fitted(name).predict_interval(HOLED), r"NaN: row 3, column 'x1'", WITH_INTERVALS
        ),
        "cross-validate NaN": Use(
            lambda name: ly.cross_validate(ESTIMATORS[name](), HOLED, target(name)), r"NaN: row 3, column 'x1'"
        ),
        # Models and rows that do not go together
        "added to a model of fewer columns": Use(
            lambda name: fitted(name) + fitted_to(name, X[:, :2], target(name)), COLUMNS, ADDED
        ),
        "more rows removed than it has learnt": Use(
            lambda name: fitted(name) - _twice(name),
            r"\d+ rows cannot be removed from \d+",
            tuple(name for name in ADDED if name != "RidgeCV"),
        ),
        "more rows with fewer columns": Use(
            lambda name: streamed(name).partial_fit(X[:, :2], LABELS), COLUMNS, STREAMED
        ),
        "more numbers with fewer columns": Use(
            lambda name: ESTIMATORS[name]().partial_fit(X, Y).partial_fit(X[:, :2], Y),
            COLUMNS,
            ("LinearRegression", "ElasticNet"),
        ),
        "more rows of another class": Use(lambda name: streamed(name).partial_fit(X, OTHER), STRANGER, STREAMED),
        "more rows with numbers for labels": Use(lambda name: streamed(name).partial_fit(X, Y), CONTINUOUS, STREAMED),
        "more rows with NaN": Use(
            lambda name: streamed(name).partial_fit(HOLED, LABELS), r"NaN: row 3, column 'x1'", STREAMED
        ),
        "classes: one": _classes(["no"]),
        "classes: none": _classes([]),
        "classes: not all": _classes(["no", "maybe"]),
        "classes: text": _classes("no"),
        "classes: a set": _classes({"no", "yes"}),
        "classes: a number": _classes(3),
        "classes: a gap": _classes([None, "no"]),
        "classes: mixed": _classes(["no", 1]),
        "classes: fractions": _classes([0.5, 1.5]),
        "classes: not named": _classes(None, tuple(name for name in STREAMED if name not in NAMELESS)),
    }
