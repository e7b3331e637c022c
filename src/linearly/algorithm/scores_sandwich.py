"""Robust covariances of a logistic fit: outer products of the scores, one more fold at the final coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.algorithm.objective import Logistic
from linearly.algorithm.sandwich import group_codes, of_block
from linearly.dataset.rows import Block, Rows
from linearly.kernels.doubled import Array


def scores_meat(rows: Rows, objective: Logistic, B: Array, root: Array, kind: str, n: float, groups: Any) -> Array:
    """root' (Σ s s') root for the scores s of rows ("HC0", "HC1") or of groups of rows ("cluster"), in the gauge.

    HC1 multiplies by n / (n − k); groups by G/(G−1) · (n−1)/(n−k), as R's sandwich does. Weights count rows: a row of
    weight 2 is two terms of the sum, and n is the sum of the weights.
    """
    k = root.shape[1]
    if kind != "cluster":
        meat = rows.fold(lambda block: _outer(_scores(block, objective, B) @ root, block.weight))
        return np.asarray(meat * (n / (n - k) if n > k else np.nan) if kind == "HC1" else meat)
    codes, most = group_codes(rows, groups)

    def by_group(block: Block) -> Array:
        total = np.zeros((most, k + 1))  # the last column counts rows
        mine = of_block(codes, block)
        weight = 1.0 if block.weight is None else block.weight[:, None]
        np.add.at(total[:, :k], mine, weight * (_scores(block, objective, B) @ root))
        np.add.at(total[:, k], mine, 1.0 if block.weight is None else block.weight > 0)
        return total

    sums = rows.fold(by_group)
    G = int((sums[:, k] > 0).sum())  # a group whose rows have weight 0 is absent
    if G < 2:
        raise ValueError("A clustered covariance needs at least two groups.")
    return np.asarray(_outer(sums[:, :k]) * (G / (G - 1) * (n - 1) / (n - k) if n > k else np.nan))


def _scores(block: Block, objective: Logistic, B: Array) -> Array:
    """The gradient of each row's log likelihood, weights left out, n × (c·q), logit by logit."""
    Z = objective.design(block.X)
    P, _ = objective.probabilities(Z @ B)
    columns = objective.columns()
    R = (np.asarray(block.y)[:, None] == columns[None, :]) - P
    return np.asarray((R[:, :, None] * Z[:, None, :]).reshape(len(Z), R.shape[1] * Z.shape[1]))


def _outer(S: Array, weight: Array | None = None) -> Array:
    return np.asarray(S.T @ (S if weight is None else weight[:, None] * S))
