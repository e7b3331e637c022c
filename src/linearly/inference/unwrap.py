"""Accept a `Model`, as `ly.fit` returns it, where an estimator is expected: its estimator, and rows of its data."""

from __future__ import annotations

from typing import Any

from linearly.dataset.design.design import DesignRows
from linearly.dataset.rows.block import Rows, is_rows
from linearly.dataset.sources import read_as


def unwrap_estimator(model: Any) -> Any:
    """Return the estimator of a `Model`; an estimator unchanged."""
    # A `Model` has a design. scikit-learn's searches have an estimator too, which is not fitted.
    return model.estimator if hasattr(model, "design") and hasattr(model, "estimator") else model


def rows_of(model: Any, data: Any) -> Rows:
    """Return the rows that a `Model` makes of data, with target and weights."""
    rows: Rows = data if is_rows(data) else model.design_rows(data)
    return rows


def features_of(model: Any, data: Any) -> Rows:
    """Return the rows that a `Model` makes of data that need not have the target."""
    return data if is_rows(data) else DesignRows(read_as(data, model.design), model.design.without_target())


def unwrap_model(model: Any, X: Any, y: Any, sample_weight: Any, what: str) -> tuple[Any, Any]:
    """Return the estimator of a `Model` and the rows of its data; an estimator and X unchanged."""
    if unwrap_estimator(model) is model:
        return model, X
    if y is not None or sample_weight is not None:
        raise ValueError(
            f"This Model reads its target {model.target!r}, and weights, from the data. Call {what}(model, data) with "
            "the data of the fit, without y or sample_weight."
        )
    return model.estimator, rows_of(model, X)
