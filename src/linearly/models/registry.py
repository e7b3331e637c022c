"""The models by the names that `fit` and the command line know them by."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """Where an estimator is defined, what it is in words, whether it predicts labels and takes pass after pass."""

    module: str
    name: str
    words: str
    classifies: bool
    iterates: bool = False


MODELS = {
    "linear": Entry("linearly.models.linear_regression", "LinearRegression", "linear regression", False),
    "ridge": Entry("linearly.models.ridge_cv", "RidgeCV", "ridge regression", False),
    "logistic": Entry("linearly.models.logistic_regression", "LogisticRegression", "logistic regression", True, True),
    "lda": Entry(
        "linearly.models.discriminant_analysis", "LinearDiscriminantAnalysis", "linear discriminant analysis", True
    ),
    "qda": Entry(
        "linearly.models.discriminant_analysis",
        "QuadraticDiscriminantAnalysis",
        "quadratic discriminant analysis",
        True,
    ),
    "least-squares": Entry(
        "linearly.models.least_squares_classifier", "LeastSquaresClassifier", "least squares on indicators", True
    ),
    "perceptron": Entry("linearly.models.online_perceptrons", "Perceptron", "perceptron", True, True),
    "batch": Entry("linearly.models.batch_perceptron", "BatchPerceptron", "batch perceptron", True, True),
    "pocket": Entry("linearly.models.pocket_perceptron", "PocketPerceptron", "pocket perceptron", True, True),
    "voted": Entry("linearly.models.online_perceptrons", "VotedPerceptron", "voted perceptron", True, True),
    "averaged": Entry("linearly.models.online_perceptrons", "AveragedPerceptron", "averaged perceptron", True, True),
}

WORDS = {entry.name: entry.words for entry in MODELS.values()}
"""What each estimator is in words, by the name of its class."""


def classifies(model: str) -> bool:
    """Whether a model predicts labels."""
    return MODELS[model].classifies


def estimator_of(model: str, params: dict[str, Any]) -> Any:
    """An unfitted estimator; "ridge" with an alpha of its own is a linear model, without one its alpha is chosen."""
    entry = MODELS["linear"] if model == "ridge" and "alpha" in params else MODELS[model]
    kind = getattr(importlib.import_module(entry.module), entry.name)
    known = kind._get_param_names()
    for name in params:
        if name not in known:
            raise ValueError(f"Model {model!r} has no parameter {name!r}; it has {', '.join(known)}.")
    return kind(**params)
