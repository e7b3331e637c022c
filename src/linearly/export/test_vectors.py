"""Test vectors of a model file: three made-up rows of the design and their predictions, checked at load.

The rows are not rows of the data. They lie near the means if the model has them, and otherwise where its scores are of
moderate size.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.dataset.design.serialization import InvalidFile
from linearly.dataset.rows.block import Block, SingleBlockRows
from linearly.exceptions import NotEstimableWarning
from linearly.export.records import Label, array, record
from linearly.kernels.double_double import Array, to_float64

ROWS = 3
SCORE_TOL = 1e-9  # of the size of the scores: another machine may add in another order


VECTORS = record(
    "TestVectors",
    {"rows": array("vectors", "p"), "predictions": tuple[Label, ...], "scores": array("vectors", "scores")},
)
"""Rows of the design, their predictions, and the scores behind them (for a regression the same)."""


def make_vectors(estimator: Any, names: tuple[str, ...]) -> Any:
    """Return the test vectors of a fitted estimator."""
    center, spread = typical_values(estimator)
    j = np.arange(len(center))
    steps = np.array([(i + j) % ROWS - 1.0 for i in range(ROWS)])
    rows = np.ascontiguousarray(center + 0.5 * steps * spread)
    predictions, scores = _predict(estimator, names, rows)
    return VECTORS(rows=rows, predictions=predictions.tolist(), scores=scores)


def check_vectors(vectors: Any, estimator: Any, names: tuple[str, ...]) -> None:
    """Refuse an estimator that does not give the predictions and scores of its test vectors."""
    predictions, scores = _predict(estimator, names, vectors.rows)
    size = max(float(np.abs(vectors.scores).max(initial=0.0)), float(np.abs(scores).max(initial=0.0)), 1e-300)
    if scores.shape != vectors.scores.shape or not (np.abs(scores - vectors.scores) <= SCORE_TOL * size).all():
        raise InvalidFile("the self-test failed: the model does not compute the scores in the file")
    if len(vectors.predictions) != ROWS:
        raise InvalidFile(f"vectors.predictions has {len(vectors.predictions)} entries, not {ROWS}")
    classifies = hasattr(estimator, "classes_")
    clear = _clear(scores, size) if classifies else np.ones(ROWS, dtype=bool)
    for i in np.flatnonzero(clear):
        mine, expected = predictions.tolist()[i], vectors.predictions[i]
        if type(mine) is not type(expected) or (classifies and mine != expected):
            raise InvalidFile(
                f"the self-test failed: row {i} is {mine!r}, which differs from the prediction in the file"
            )


def _predict(estimator: Any, names: tuple[str, ...], rows: Array) -> tuple[NDArray[Any], Array]:
    block = SingleBlockRows(Block(rows, names=names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEstimableWarning)  # made-up rows need not be related as the fitted ones are
        predictions = estimator.predict(block)
        scores = estimator.decision_function(block) if hasattr(estimator, "classes_") else predictions
    return predictions, np.asarray(scores, dtype=np.float64).reshape(len(rows), -1)


def _clear(scores: Array, size: float) -> NDArray[np.bool_]:
    """Return which rows have a class that rounding cannot change."""
    if scores.shape[1] == 1:
        return np.asarray(np.abs(scores[:, 0]) > 1e-6 * size)
    top = np.sort(scores, axis=1)
    return np.asarray(top[:, -1] - top[:, -2] > 1e-6 * size)


def typical_values(estimator: Any) -> tuple[Array, Array]:
    """Return a typical value of each column, and a typical distance from it."""
    summary = getattr(estimator, "summary_", None)
    if summary is not None:
        return _moments(summary.total() if isinstance(summary, ClassGrams) else summary)
    if hasattr(estimator, "coef_"):
        weight = np.abs(estimator.coef_).max(axis=0)
        with np.errstate(divide="ignore", over="ignore"):
            reach = 1.0 / weight
        reach = np.where((weight > 0) & np.isfinite(reach), reach, 1.0)
        return reach / len(weight), reach
    features = estimator.mistake_log_.features
    if len(features) == 0:
        return np.zeros(estimator.n_features_in_), np.ones(estimator.n_features_in_)
    return features.mean(axis=0), np.asarray(np.abs(features - features.mean(axis=0)).mean(axis=0))


def _moments(summary: Any) -> tuple[Array, Array]:
    p, scaling = summary.p, summary.scaling
    mean = summary.R[0, 1:] / (summary.R[0, 0] or 1.0) if isinstance(summary, QRFactor) else to_float64(summary.mean)
    center = mean[:p] * scaling.scale[:p] + scaling.shift[:p]
    with np.errstate(over="ignore"):
        spread = summary.centered_norms / np.sqrt(float(to_float64(summary.weight)))
    return center, np.where(np.isfinite(spread), spread, np.abs(center))
