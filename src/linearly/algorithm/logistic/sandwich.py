"""Compute robust covariances of a logistic fit from the outer products of the scores, by one more pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from linearly.algorithm.least_squares.cluster_corrections import meat_and_small_sample
from linearly.algorithm.least_squares.clusters import ClusteredMeat, meat_of_groups
from linearly.algorithm.least_squares.covariance_names import CLUSTERED, CORRECTED
from linearly.algorithm.least_squares.hac import lagged_meat
from linearly.algorithm.least_squares.small_sample import EXACT_TOL, packed_index
from linearly.algorithm.logistic.cluster_roots import ScoreParts, binomial_corrections
from linearly.algorithm.logistic.information import information_rows
from linearly.algorithm.logistic.objective import Logistic
from linearly.dataset.rows.block import Block, Rows, row_weights
from linearly.kernels.double_double import Array


def score_meat(
    rows: Rows, objective: Logistic, B: Array, roots: tuple[Array, Array], kind: str, n: int, groups: Any, lags: int = 0
) -> tuple[Array, ClusteredMeat | None]:
    """Return root' (Σ s s') root for the scores s of rows, of groups, or of neighbouring rows.

    `roots` are the inverse root of the information for scaled columns, and the same for columns as users have them.

    HC1 and HAC multiply by n / (n − k), for n rows with positive weight. HC2 and HC3 divide by powers of 1 − leverage,
    in the least-squares problem of the last Newton step. The score of a row is multiplied by its weight, so a common
    factor of all weights changes nothing, and groups of one row each give HC1. The successes and failures of a paired
    block are one observation.
    """
    root, terms = roots
    k = root.shape[1]
    scale = n / (n - k) if n > k else np.nan

    def scores(block: Block) -> Array:
        weight = 1.0 if block.weight is None else block.weight[:, None]
        return np.asarray(weight * (_scores(block, objective, B) @ root))

    if kind == "CR2" and objective.K == 2:
        return _binomial_cr2(rows, objective, B, roots, groups)
    if kind in CLUSTERED:
        of_groups = _with_products(scores, objective, B, root) if kind in CORRECTED else scores
        found = meat_of_groups(rows, groups, kind, of_groups, (1, k), scale * (n - 1) / n, terms)
        return found.meat[0], found
    if kind == "HAC":
        return lagged_meat(rows, scores, (1, k), lags)[0] * scale, None

    def sums_of_pairs(block: Block, values: Array) -> Array:
        return np.asarray(values.reshape(-1, 2, *values.shape[1:]).sum(axis=1)) if block.paired else values

    power = {"HC2": 1, "HC3": 2}.get(kind, 0)

    def meat(block: Block) -> Array:
        s = sums_of_pairs(block, scores(block))
        if power:
            rest = 1 - sums_of_pairs(block, (_whitened(block, objective, B, root) ** 2).sum(axis=1))
            s = s / np.where(rest > EXACT_TOL, rest, np.inf)[:, None] ** (power / 2)
        return np.asarray(s.T @ s)

    return np.asarray(rows.reduce(meat) * (scale if kind == "HC1" else 1.0)), None


def _binomial_cr2(
    rows: Rows, objective: Logistic, B: Array, roots: tuple[Array, Array], groups: Any
) -> tuple[Array, ClusteredMeat]:
    """Return the meat of CR2 for two classes, with the working variance and the root of clubSandwich."""
    root, terms = roots
    r = root.shape[1]

    def parts(block: Block) -> ScoreParts:
        weight = row_weights(block)
        total = np.repeat(weight.reshape(-1, 2).sum(axis=1), 2) if block.paired else weight
        logit = objective.logits(objective.design(block.X), B, block)[:, 0]
        variance = np.divide(expit(logit) * expit(-logit), total, out=np.zeros(len(total)), where=total > 0)
        scores = weight[:, None] * (_scores(block, objective, B) @ root)
        return ScoreParts(_whitened(block, objective, B, root), scores, variance)

    corrections, n_clusters = binomial_corrections(rows, groups, parts, r)
    meat, small_sample, lost = meat_and_small_sample(corrections, -np.eye(r), terms)
    return meat[0], ClusteredMeat(meat, n_clusters, small_sample, rounding=lost)


def _with_products(scores: Any, objective: Logistic, B: Array, root: Array) -> Any:
    """Return the scores of rows beside the packed cross-products of their part of the information."""
    i, j = packed_index(root.shape[1])

    def both(block: Block) -> Array:
        A = _whitened(block, objective, B, root)
        products = (A[:, i] * A[:, j]).reshape(-1, len(block), len(i)).sum(axis=0)  # one part per class, if several
        return np.hstack([scores(block), products])

    return both


def _whitened(block: Block, objective: Logistic, B: Array, root: Array) -> Array:
    Z = objective.design(block.X)
    weight = row_weights(block)
    return information_rows(Z, objective, objective.logits(Z, B, block), weight) @ root


def _scores(block: Block, objective: Logistic, B: Array) -> Array:
    """Return the gradient of each row's unweighted log likelihood, n × (c·q), logit by logit."""
    Z = objective.design(block.X)
    P, _ = objective.probabilities(objective.logits(Z, B, block))
    R = (np.asarray(block.y)[:, None] == objective.columns()[None, :]) - P
    return np.asarray((R[:, :, None] * Z[:, None, :]).reshape(len(Z), R.shape[1] * Z.shape[1]))
