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
    "lasso": Entry("ElasticNetCV", "lasso regression", False),
    "elastic-net": Entry("ElasticNetCV", "elastic net regression", False),
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

WITH_GIVEN_ALPHA = {
    "ridge": MODELS["linear"],
    "lasso": Entry("ElasticNet", "lasso regression", False),
    "elastic-net": Entry("ElasticNet", "elastic net regression", False),
}
"""The estimators of models that choose `alpha` by cross-validation, if it is given instead."""

_MIXES = (0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0)  # l1_ratio of an elastic net to try, as in the examples of glmnet

WORDS = {entry.name: entry.words for entry in (*WITH_GIVEN_ALPHA.values(), *MODELS.values())}
"""The name of each estimator in words, by the name of its class."""


def classifies(model: str) -> bool:
    """Return whether a model predicts labels."""
    return MODELS[model].classifies


def estimator_of(model: str, params: dict[str, Any]) -> Any:
    """Return an unfitted estimator; penalised regressions choose `alpha` unless it is given."""
    entry = MODELS[model]
    if model == "lasso" and "l1_ratio" in params:
        raise ValueError("Model 'lasso' has no parameter 'l1_ratio': its l1_ratio is 1. Use model 'elastic-net'.")
    if "alpha" in params and model in WITH_GIVEN_ALPHA:
        entry = WITH_GIVEN_ALPHA[model]
    if model == "elastic-net":
        params = {"l1_ratio": 0.5 if "alpha" in params else _MIXES} | params
    estimator_class = getattr(importlib.import_module(entry.module), entry.name)
    known = estimator_class._get_param_names()
    for name in params:
        if name not in known:
            raise ValueError(f"Model {model!r} has no parameter {name!r}. Choose one of {', '.join(known)}.")
    return estimator_class(**params)
