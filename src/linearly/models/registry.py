"""The models by the names that `fit` and the command line know them by."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """Where an estimator is defined, whether it predicts labels, and whether it takes pass after pass."""

    module: str
    name: str
    classifies: bool
    iterates: bool = False


MODELS = {
    "linear": Entry("linearly.models.regression", "LinearRegression", False),
    "ridge": Entry("linearly.models.ridge", "RidgeCV", False),
    "logistic": Entry("linearly.models.logistic", "LogisticRegression", True, True),
    "lda": Entry("linearly.models.discriminant", "LinearDiscriminantAnalysis", True),
    "qda": Entry("linearly.models.discriminant", "QuadraticDiscriminantAnalysis", True),
    "least-squares": Entry("linearly.models.indicator", "LeastSquaresClassifier", True),
    "perceptron": Entry("linearly.models.perceptron", "Perceptron", True, True),
    "batch": Entry("linearly.models.batch_perceptron", "BatchPerceptron", True, True),
    "pocket": Entry("linearly.models.pocket", "PocketPerceptron", True, True),
    "voted": Entry("linearly.models.perceptron", "VotedPerceptron", True, True),
    "averaged": Entry("linearly.models.perceptron", "AveragedPerceptron", True, True),
}


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
