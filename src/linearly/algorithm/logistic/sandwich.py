"""Compute robust covariances of a logistic fit from the outer products of the scores, by one more pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.algorithm.least_squares.sandwich import sums_by_group
from linearly.algorithm.logistic.objective import Logistic
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import Array


def score_meat(
    rows: Rows, objective: Logistic, B: Array, root: Array, kind: str, n: int, groups: Any
) -> tuple[Array, int | None]:
    """Return root' (Σ s s') root for the scores s of rows ("HC0", "HC1") or of groups ("cluster"), and G.

    HC1 multiplies by n / (n − k), n being the number of rows of positive weight. "cluster" multiplies by
    G/(G−1) · (n−1)/(n−k), as R's sandwich does. The score of a row is multiplied by its weight, so a common factor of
    all weights changes nothing, and groups of one row each give HC1.
    """
    k = root.shape[1]

    def scores(block: Block) -> Array:
        weight = 1.0 if block.weight is None else block.weight[:, None]
        return np.asarray(weight * (_scores(block, objective, B) @ root))

    if kind != "cluster":
        meat = rows.reduce(lambda block: _outer(scores(block)))
        return np.asarray(meat * (n / (n - k) if n > k else np.nan) if kind == "HC1" else meat), None
    sums = sums_by_group(rows, groups, scores)
    G = len(sums)
    return np.asarray(_outer(sums) * (G / (G - 1) * (n - 1) / (n - k) if n > k else np.nan)), G


def _scores(block: Block, objective: Logistic, B: Array) -> Array:
    """Return the gradient of each row's unweighted log likelihood, n × (c·q), logit by logit."""
    Z = objective.design(block.X)
    P, _ = objective.probabilities(Z @ B)
    R = (np.asarray(block.y)[:, None] == objective.columns()[None, :]) - P
    return np.asarray((R[:, :, None] * Z[:, None, :]).reshape(len(Z), R.shape[1] * Z.shape[1]))


def _outer(S: Array) -> Array:
    return np.asarray(S.T @ S)
