"""Columns that lie far from zero for what they vary: a perceptron sees little of them but how far they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.dataset.rows.block import InMemoryRows, Rows
from linearly.exceptions import UncenteredColumnsWarning, warn_at_caller
from linearly.models.base import column_names

_FAR = 1e4  # times the spread: the bound on mistakes, (R/γ)², is then 1e8 or more
_ROWS = 1000  # that are looked at


def warn_uncentered_columns(estimator: Any, rows: Rows) -> None:
    """Name the columns that should be centred first, if rows in memory have any; others would take a pass more."""
    if not isinstance(rows, InMemoryRows):
        return
    X = next(iter(rows)).X
    if not isinstance(X, np.ndarray):
        return
    some = X[:_ROWS].astype(np.float64)
    with np.errstate(all="ignore"):
        mean, spread = some.mean(axis=0), some.std(axis=0)
        far = np.flatnonzero((spread > 0) & (np.abs(mean) > _FAR * spread))
    if len(far):
        names = column_names(estimator)
        told = ", ".join(repr(names[j]) for j in far[:8])
        warn_at_caller(
            f"{told}: far from zero for what it varies (about {mean[far[0]]:.3g} ± {spread[far[0]]:.1g}), and a "
            "perceptron learns such columns slowly or not at all. Subtract the mean of each from it.",
            UncenteredColumnsWarning,
        )
