"""Standard deviations of the columns of a fitted model, by which plots compare coefficients of different units."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.dataset.design.terms import Category
from linearly.dataset.rows.block import Block, Rows
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.double_double import Array, to_float64
from linearly.kernels.matrices import dense_float64


def known_deviations(model: Any) -> Array | None:
    """Return the standard deviations of the columns that the summary of a fit contains; None without a summary."""
    summary = getattr(unwrap_estimator(model), "summary_", None)
    return _deviations(summary) if isinstance(summary, Gram) else None


def deviations_of(rows: Rows) -> Array:
    """Return the standard deviations of the columns in rows, with their weights."""
    return _deviations(rows.reduce(lambda block: Gram.of(Block(dense_float64(block.X), None, block.weight))))


def _deviations(gram: Gram) -> Array:
    return np.asarray(gram.centered_norms / np.sqrt(float(to_float64(gram.weight))))


def category_columns(model: Any) -> set[str]:
    """Return the columns of single categories: their coefficients are differences of levels, whatever their spread."""
    design = getattr(model, "design", None)
    terms = () if design is None else design.terms
    return {
        name for term in terms if len(term.factors) == 1 and isinstance(term.factors[0], Category)
        for name in term.names()
    }  # fmt: skip
