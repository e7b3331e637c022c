"""Compare the digits claimed for CR3 of logistic fits with sums in extended precision."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import linearly as ly

Long = np.longdouble


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A⁻¹b of a positive definite matrix by elimination in extended precision."""
    rows = np.column_stack([A, b]).astype(Long)
    for i in range(len(A)):
        rows[i] /= rows[i, i]
        for k in range(len(A)):
            if k != i:
                rows[k] -= rows[k, i] * rows[i]
    return rows[:, -1]


def exact_cr3(Z: np.ndarray, y: np.ndarray, w: np.ndarray, group: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the standard errors. The corrected scores use the information of the other groups."""
    Z, beta = Z.astype(Long), start.astype(Long)
    for _ in range(6):
        p = 1 / (1 + np.exp(-Z @ beta))
        beta = beta + solved((Z.T * (w * p * (1 - p))) @ Z, Z.T @ (w * (y - p)))
    p = 1 / (1 + np.exp(-Z @ beta))
    changes = []
    for g in np.unique(group):
        own = group == g
        others = (Z[~own].T * (w * p * (1 - p))[~own]) @ Z[~own]
        changes.append(solved(others, Z[own].T @ (w * (y - p))[own]))
    return np.sqrt((np.array(changes) ** 2).sum(axis=0))


@pytest.mark.skipif(np.finfo(Long).nmant < 63, reason="extended precision is float64 on this platform")
@pytest.mark.parametrize("far", [1, 1e2, 1e3])
def test_cr3_of_a_logistic_fit_has_the_digits_that_are_claimed(far: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        X, y, w = rng.normal(size=(24, 2)), rng.integers(0, 2, 24), rng.uniform(0.5, 2, 24)
        X[6] = X[0]
        X[[0, 6]] *= far
        y[[0, 6]] = 0, 1
        group = np.arange(24) % 6
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ly.LogisticRegression(covariance="CR3").fit(X, y, w, groups=group)
        start = np.append(model.intercept_, model.coef_)
        exact = exact_cr3(np.column_stack([np.ones(24), X]), y, w, group, start)
        error = float(np.abs(np.array(ly.tidy(model)["std_error"]) / exact - 1).max())
        actual, claimed = -math.log10(max(error, 1e-16)), float(ly.glance(model)["digits"][0])
        assert claimed <= actual + 0.5, f"claimed {claimed:.1f} digits, actual {actual:.1f}"
        assert claimed >= actual - 3
