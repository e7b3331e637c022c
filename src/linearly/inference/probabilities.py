"""Probabilities of a logistic model with their gradients and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from linearly.dataset.rows.block import Block, check_finite
from linearly.inference.coefficients import Coefficients, coefficients_of
from linearly.inference.wald_tests import check_level, t_quantile
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64
from linearly.models.base import map_rows, prediction_rows
from linearly.models.estimability import NotEstimable
from linearly.models.logistic_regression import LogisticRegression
from linearly.models.score_classifier import softmax
from linearly.table import Table


def class_columns(model: LogisticRegression) -> NDArray[np.intp]:
    """Return the number of the class that each logit belongs to; the reference class has none."""
    return np.flatnonzero(model.classes_ != model.reference_)


def class_scores(X: Array, value: Array, columns: NDArray[np.intp], K: int) -> Array:
    """Return the scores of K classes, 0 for the reference, for rows of the design."""
    scores = np.zeros((len(X), K))
    scores[:, columns] = X @ value.reshape(len(columns), -1).T
    return scores


def probability_gradients(X: Array, value: Array, columns: NDArray[np.intp], K: int) -> tuple[Array, Array]:
    """Return probabilities, n × K, and their derivatives by the coefficients, n × K × coefficients."""
    P = softmax(class_scores(X, value, columns, K))
    slope = P[:, :, None] * (np.eye(K)[:, columns] - P[:, None, columns])  # of the probabilities by the logits
    return P, (slope[:, :, :, None] * X[:, None, None, :]).reshape(len(X), K, -1)


@single_threaded_blas()
def probability_interval(model: LogisticRegression, X: Any, level: float, kind: str) -> Table:
    """Return probabilities with confidence intervals, which are symmetric on the scale of logits."""
    check_level(level)
    if kind != "confidence":
        raise ValueError(
            'kind="prediction" is not available for labels. Use kind="confidence", the interval of the probability.'
        )
    coefficients = coefficients_of(model, "predict_interval")
    K = len(model.classes_)
    shown = [1] if K == 2 else list(range(K))
    columns = class_columns(model)

    with NotEstimable() as doubtful:

        def ends(block: Block) -> Array:
            check_finite(block)
            Z = dense_float64(block.X)
            D = np.column_stack([np.ones(len(Z)), Z]) if model.fit_intercept else Z
            known = coefficients.estimable(np.tile(D, coefficients.n_logits))
            doubtful.look(block, lambda _: known)
            scores = class_scores(D, coefficients.value, columns, K)
            if block.offset is not None:
                scores[:, 1] += block.offset
            P = softmax(scores)
            parts = []
            for k in shown:
                logit, reach = _logit(D, P, k, columns, coefficients, level)
                reach = np.where(known, reach, np.nan)
                parts += [P[:, k], expit(logit - reach), expit(logit + reach)]
            return np.stack(parts, axis=1)

        found = map_rows(prediction_rows(model, X), ends, cells_per_row=coefficients.width)
    names = ("fit", "low", "high")
    if K == 2:
        return Table(dict(zip(names, found.T, strict=True)))
    table = found.reshape(-1, 3)
    return Table({"label": np.tile(model.classes_, len(found)), **dict(zip(names, table.T, strict=True))})


def _logit(
    D: Array, P: Array, k: int, columns: NDArray[np.intp], coefficients: Coefficients, level: float
) -> tuple[Array, Array]:
    """Return the logit of the probability of a class, and how far its interval by the delta method reaches."""
    others = np.delete(P, k, axis=1).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logit = np.log(P[:, k]) - np.log(others)
        # d logit(p_k) / d η_j = (1{j = k} − p_j) / (1 − p_k), and 1 for j = k.
        slope = np.where(columns == k, 1.0, -P[:, columns] / others[:, None])
    G = (slope[:, :, None] * D[:, None, :]).reshape(len(D), coefficients.width)
    U = G @ coefficients.root
    return logit, coefficients.std_errors(U) * t_quantile(level, coefficients.t_dof(G, U))
