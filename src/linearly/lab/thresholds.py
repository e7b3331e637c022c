"""Classify two classes at a threshold other than one half, and trace the ROC curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array


class ThresholdClassifier:
    """A model of two classes that predicts the second one from a given probability on."""

    def __init__(self, model: Any, threshold: float) -> None:
        self.model, self.threshold, self.classes_ = model, threshold, model.classes_

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the model."""
        return np.asarray(self.model.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the second class if its probability reaches the threshold."""
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] >= self.threshold).astype(np.intp)])


def roc_curve(probability: Array, positive: NDArray[np.bool_], threshold: float) -> dict[str, Any]:
    """Return false and true positive rates for every threshold in falling order, and those at the given one."""
    order = np.argsort(-probability, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(probability[order]) != 0, True))  # ties share a threshold
    true, total = np.cumsum(positive[order])[ends], np.arange(1, len(order) + 1)[ends]
    n_true, n_false = max(int(positive.sum()), 1), max(int((~positive).sum()), 1)
    above = probability >= threshold
    return {
        "false_positive": [0.0, *((total - true) / n_false).tolist()],
        "true_positive": [0.0, *(true / n_true).tolist()],
        "threshold": threshold,
        "at": [float((above & ~positive).sum() / n_false), float((above & positive).sum() / n_true)],
    }
