"""Robust and clustered covariances of a logistic model against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from logistic_oracles import (
    CASES,
    a_solver,
    by_definition,
    close,
)

from linearly.algorithm.logistic.sandwich import score_meat


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_score_meat_uses_the_gradient_of_each_row(K, reference, weighted):
    search, rows, Z, y, w = a_solver(K, reference=reference, weighted=weighted)
    B = np.random.default_rng(1).standard_normal((4, K - 1))
    root = np.random.default_rng(2).standard_normal((4 * (K - 1), 4 * (K - 1)))
    one = np.ones(1)
    S = np.array(
        [-by_definition(Z[[i]], y[[i]], one, B, K, reference).gradient.T.reshape(-1) @ root for i in range(len(Z))]
    )
    W = S * w[:, None]  # weights are those of a sample: a row is one term of a sum of squares, whatever its weight
    k = root.shape[1]

    def meat(kind, n=50, groups=None):
        return score_meat(rows, search.objective, B, (root, root), kind, n, groups)[0]

    close(meat("HC0"), W.T @ W)
    close(meat("HC1"), W.T @ W * 50 / (50 - k))
    assert np.isfinite(meat("HC1", k + 1)).all()
    assert np.isnan(meat("HC1", k)).all()
    assert np.isfinite(meat("HC0", k)).all()
    groups = np.random.default_rng(0).integers(0, 5, 60)
    groups[[4, 9]] = 7  # where rows are weighted, a group without weight
    names = sorted(set(groups[w > 0]))
    sums, G = np.array([W[groups == g].sum(axis=0) for g in names]), len(names)
    assert (5 if weighted else 6) == G
    close(meat("cluster", groups=groups), G / (G - 1) * 49 / (50 - k) * sums.T @ sums)
    assert np.isnan(meat("cluster", k, groups)).all()
    assert np.isfinite(meat("cluster", k + 1, groups)).all()
    with pytest.raises(ValueError, match="needs at least two"):
        meat("cluster", groups=np.zeros(60))
    assert np.isfinite(meat("cluster", groups=np.arange(60) % 2)).all()
