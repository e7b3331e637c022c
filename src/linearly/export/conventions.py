"""State the conventions of an estimator in words, for readers of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

_TIE = "the class with the largest score, the first one in a tie"
_SAMPLED = "as without a robust covariance in the coefficients; sampling weights in the covariance"
_TWO = "the second class if the score is at least 0, else the first"


def conventions_of(estimator: Any) -> dict[str, str]:
    """Return the conventions of a fitted estimator, each in a sentence."""
    conventions = {"missing values": "a row with a missing value has no prediction"}
    if hasattr(estimator, "classes_"):
        conventions["classes"] = (
            "in the order of design.target.classes, in which codes 0, 1, … in the file are positions"
        )
        conventions["tie rule"] = _TWO if len(estimator.classes_) == 2 else _TIE
    return conventions | _OWN.get(type(estimator).__name__, _perceptron)(estimator)


def _linear(estimator: Any) -> dict[str, str]:
    return {
        "objective": "½ Σ w (y − b − x'β)² + ½ alpha Σ β²",
        "divisor": "the error variance is the residual sum of squares divided by its degrees of freedom, n − rank − "
        "1 with an intercept; ridge uses the trace of the hat matrix instead of the rank",
        "intercept": _intercept(estimator),
        "covariance": str(estimator.covariance),
        "weights": _SAMPLED if estimator.covariance != "classical" else "analytic: the variance of a row is σ²/w",
    }


def _ridge(estimator: Any) -> dict[str, str]:
    return _linear(estimator) | {"alpha": "the value with the smallest mean squared error over the folds"}


def _logistic(estimator: Any) -> dict[str, str]:
    reference = estimator.reference_.item() if isinstance(estimator.reference_, np.generic) else estimator.reference_
    return {
        "objective": "−Σ w log P(y|x) + ½ alpha Σ β²",
        "reference class": f"{reference!r}: its logit is 0",
        "threshold": "the most probable class; for two classes, probability 0.5",
        "intercept": _intercept(estimator),
        "covariance": str(estimator.covariance),
        "weights": _SAMPLED if estimator.covariance != "classical" else "weight 2 counts a row twice",
    }


def _gaussian(estimator: Any) -> dict[str, str]:
    pooled = hasattr(estimator, "covariance_")
    return {
        "divisor": "the pooled covariance has divisor N − K"
        if pooled
        else "each class's covariance has divisor n_k − 1",
        "priors": "shares of the classes" if estimator.priors is None else "given",
        "weights": "weight 2 counts a row twice",
    }


def _indicator(estimator: Any) -> dict[str, str]:
    return {
        "objective": "½ ‖Y − f(X)‖² + ½ alpha ‖B‖², where Y has a column of 0 and 1 per class",
        "threshold": "for two classes, fitted value 0.5",
        "intercept": "fitted, not penalised",
    }


def _sparse(estimator: Any) -> dict[str, str]:
    return {
        "objective": "½ ‖y − f(x)‖² + alpha (l1_ratio ‖w‖₁ + ½ (1 − l1_ratio) ‖w‖²), alpha on the sum of squares",
        "intercept": _intercept(estimator),
    }


def _perceptron(estimator: Any) -> dict[str, str]:
    return {
        "objective": "no row with y(b + x'w) ≤ 0; a tie counts as a mistake in training",
        "intercept": "fitted like the weight of a feature that is always 1" if estimator.fit_intercept else "none",
    }


def _intercept(estimator: Any) -> str:
    if not estimator.fit_intercept:
        return "none"
    penalized = getattr(estimator, "penalize_intercept", False)
    return "fitted, penalised like the coefficients" if penalized else "fitted, not penalised"


_OWN = {
    "LinearRegression": _linear,
    "RidgeCV": _ridge,
    "ElasticNet": _sparse,
    "ElasticNetCV": _sparse,
    "LogisticRegression": _logistic,
    "LinearDiscriminantAnalysis": _gaussian,
    "QuadraticDiscriminantAnalysis": _gaussian,
    "LeastSquaresClassifier": _indicator,
}
