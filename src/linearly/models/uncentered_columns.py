"""Columns that lie far from zero for what they vary: a perceptron sees little of them but how far they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.dataset.rows.block import LocalRows, Rows
from linearly.exceptions import remark
from linearly.models.base import column_names

_FAR = 1e4  # times the spread: the bound on mistakes, (R/γ)², is then 1e8 or more
_ROWS = 1000  # that are looked at


class FarColumnWarning(UserWarning):
    """Columns lie so far from zero that a perceptron hardly learns from what they vary."""


def warn_of_far_columns(estimator: Any, rows: Rows) -> None:
    """Name the columns that should be centred first, if rows in memory have any; others would take a pass more."""
    if not isinstance(rows, LocalRows):
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
        remark(
            f"{told}: far from zero for what it varies (about {mean[far[0]]:.3g} ± {spread[far[0]]:.1g}), and a "
            "perceptron learns such columns slowly or not at all. Subtract the mean of each from it.",
            FarColumnWarning,
        )
