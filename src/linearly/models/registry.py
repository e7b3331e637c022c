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
    "linear": Entry("linearly.models.regression", "LinearRegression", "linear regression", False),
    "ridge": Entry("linearly.models.ridge", "RidgeCV", "ridge regression", False),
    "logistic": Entry("linearly.models.logistic", "LogisticRegression", "logistic regression", True, True),
    "lda": Entry("linearly.models.discriminant", "LinearDiscriminantAnalysis", "linear discriminant analysis", True),
    "qda": Entry(
        "linearly.models.discriminant", "QuadraticDiscriminantAnalysis", "quadratic discriminant analysis", True
    ),
    "least-squares": Entry("linearly.models.indicator", "LeastSquaresClassifier", "least squares on indicators", True),
    "perceptron": Entry("linearly.models.perceptron", "Perceptron", "perceptron", True, True),
    "batch": Entry("linearly.models.batch_perceptron", "BatchPerceptron", "batch perceptron", True, True),
    "pocket": Entry("linearly.models.pocket", "PocketPerceptron", "pocket perceptron", True, True),
    "voted": Entry("linearly.models.perceptron", "VotedPerceptron", "voted perceptron", True, True),
    "averaged": Entry("linearly.models.perceptron", "AveragedPerceptron", "averaged perceptron", True, True),
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
