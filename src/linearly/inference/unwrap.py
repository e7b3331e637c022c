"""A `Model`, which is what `ly.fit` gives, where an estimator is expected: what is in it, and its rows of data."""

from __future__ import annotations

from typing import Any

from linearly.dataset.design.design import DesignRows
from linearly.dataset.rows.block import Rows, is_rows
from linearly.dataset.sources import read_as


def unwrap_estimator(model: Any) -> Any:
    """The estimator in a `Model`, which is what `ly.fit` gives; an estimator itself stays what it is."""
    # Known by its design: scikit-learn's searches have an estimator too, and theirs is not fitted.
    return model.estimator if hasattr(model, "design") and hasattr(model, "estimator") else model


def rows_of(model: Any, data: Any) -> Rows:
    """The rows that a `Model` makes of data, with the target and weights in them."""
    rows: Rows = data if is_rows(data) else model.design_rows(data)
    return rows


def features_of(model: Any, data: Any) -> Rows:
    """The rows that a `Model` makes of data that need not have the target."""
    if is_rows(data):
        return data
    return DesignRows(read_as(data, model.design), model.design.without_target())


def unwrap_model(model: Any, X: Any, y: Any, sample_weight: Any, what: str) -> tuple[Any, Any]:
    """The estimator in a `Model` and the rows of its data; an estimator and X stay what they are."""
    if unwrap_estimator(model) is model:
        return model, X
    if y is not None or sample_weight is not None:
        raise ValueError(
            f"This Model finds its target {model.target!r}, and weights, in the data themselves: call "
            f"{what}(model, data) with the data of the fit, and without y or sample_weight."
        )
    return model.estimator, rows_of(model, X)
