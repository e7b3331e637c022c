"""Warn of columns whose mean is large compared with their standard deviation: a perceptron learns little from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.dataset.rows.block import InMemoryRows, Rows
from linearly.exceptions import UncenteredColumnsWarning, warn_at_caller
from linearly.models.base import describe_columns

_MAX_MEAN_OVER_STD = 1e4  # beyond it, the bound on mistakes, (R/γ)², is 1e8 or more
_N_ROWS = 1000  # rows that are checked


def warn_uncentered_columns(estimator: Any, rows: Rows) -> None:
    """Warn of columns of rows in memory that should be centered first; other rows would need a further pass."""
    if not isinstance(rows, InMemoryRows):
        return
    X = next(iter(rows)).X
    if not isinstance(X, np.ndarray):
        return
    first_rows = X[:_N_ROWS].astype(np.float64)
    with np.errstate(all="ignore"):
        mean, std = first_rows.mean(axis=0), first_rows.std(axis=0)
        far = np.flatnonzero((std > 0) & (np.abs(mean) > _MAX_MEAN_OVER_STD * std)).tolist()
    if far:
        warn_at_caller(
            f"{describe_columns(estimator, far)} far from zero compared with the standard deviation (about "
            f"{mean[far[0]]:.3g} ± {std[far[0]]:.1g}), so a perceptron learns slowly. Subtract the mean of each "
            "such column.",
            UncenteredColumnsWarning,
        )
