"""The estimators that `splits` and `clusters` fit, and how their results are compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

import linearly as ly

WITHIN = 1e-10


FEATURES = ("age", "size", "cost")


REGRESSION = (
    ly.LinearRegression(),
    ly.LinearRegression(alpha=1.0, method="qr"),
    ly.LinearRegression(covariance="HC3", method="extended"),
    ly.RidgeCV(alphas=[0.1, 1.0, 10.0]),
    ly.RidgeCV(alphas=[0.1, 1.0, 10.0], cv="loo"),
)


CLASSIFICATION = (
    ly.LogisticRegression(),
    ly.LogisticRegression(alpha=1.0, solver="lbfgs"),
    ly.LogisticRegression(bias_reduction="firth"),
    ly.LinearDiscriminantAnalysis(),
    ly.QuadraticDiscriminantAnalysis(),
    ly.LeastSquaresClassifier(),
    ly.BatchPerceptron(max_passes=5),
    ly.PocketPerceptron(max_updates=100),
    ly.VotedPerceptron(max_passes=2),
)


def fitted(model: Any, *rows: Any) -> Any:
    """Return a fresh fit without its warnings; perceptrons need not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(*rows)


def numbers(model: Any, X: Any) -> list[Any]:
    """Return the coefficients of a fit, its covariance, and its scores of rows."""
    found = []
    for name in ("coef_", "intercept_", "alpha_", "covariance_"):
        try:
            value = getattr(model, name, None)
        except ValueError:  # no standard errors without a Hessian
            continue
        if isinstance(value, np.ndarray | float):
            found.append(np.asarray(value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of columns, where one of two was fitted without
        scores = model.decision_function if hasattr(model, "decision_function") else model.predict
        found.append(np.asarray(scores(X)))
    return found


def difference(a: Any, b: Any, X: Any) -> float:
    """Return the largest difference between the numbers of two models, relative to the largest of each kind."""
    pairs = list(zip(numbers(a, X), numbers(b, X), strict=True))
    return max(float(np.abs(u - v).max() / (np.abs(v).max() or 1.0)) for u, v in pairs)
