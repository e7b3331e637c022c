"""The models by the names that `fit` and the command line use."""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """An estimator's class, its name in words, whether it predicts labels, and whether it makes many passes."""

    name: str
    words: str
    classifies: bool
    iterates: bool = False

    @property
    def module(self) -> str:
        """The module that defines the estimator, which is named after it."""
        return "linearly.models." + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()


MODELS = {
    "linear": Entry("LinearRegression", "linear regression", False),
    "ridge": Entry("RidgeCV", "ridge regression", False),
    "logistic": Entry("LogisticRegression", "logistic regression", True, True),
    "lda": Entry("LinearDiscriminantAnalysis", "linear discriminant analysis", True),
    "qda": Entry("QuadraticDiscriminantAnalysis", "quadratic discriminant analysis", True),
    "least-squares": Entry("LeastSquaresClassifier", "least squares on indicators", True),
    "perceptron": Entry("Perceptron", "perceptron", True, True),
    "batch": Entry("BatchPerceptron", "batch perceptron", True, True),
    "pocket": Entry("PocketPerceptron", "pocket perceptron", True, True),
    "voted": Entry("VotedPerceptron", "voted perceptron", True, True),
    "averaged": Entry("AveragedPerceptron", "averaged perceptron", True, True),
}

WORDS = {entry.name: entry.words for entry in MODELS.values()}
"""The name of each estimator in words, by the name of its class."""


def classifies(model: str) -> bool:
    """Return whether a model predicts labels."""
    return MODELS[model].classifies


def estimator_of(model: str, params: dict[str, Any]) -> Any:
    """Return an unfitted estimator; "ridge" with an `alpha` is a linear model, without one `alpha` is chosen."""
    entry = MODELS["linear"] if model == "ridge" and "alpha" in params else MODELS[model]
    estimator_class = getattr(importlib.import_module(entry.module), entry.name)
    known = estimator_class._get_param_names()
    for name in params:
        if name not in known:
            raise ValueError(f"Model {model!r} has no parameter {name!r}; it has {', '.join(known)}.")
    return estimator_class(**params)
