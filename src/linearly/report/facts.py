"""Collect the facts about a fitted model on rows: numbers, strings, lists and dicts that JSON can hold.

They are collected by reductions, so rows may live in files or on a cluster. Single rows appear only in a seeded
sample, among the most influential rows, and in proofs.
"""

from __future__ import annotations

import math
from importlib import metadata
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linearly.dataset.rows.block import Rows, is_rows
from linearly.inference.tidy import check_level
from linearly.inference.unwrap import unwrap_estimator
from linearly.models.base import column_names
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.report.classifier_facts import classifier_facts
from linearly.report.page_parts import Facts
from linearly.report.regression_facts import regression_facts
from linearly.report.term_facts import level_columns, references, shared_terms
from linearly.table import Table


def facts(
    model: Any, rows: Rows, *, level: float = 0.95, no_rows: bool = False, held_out: Rows | None = None,
    training: bool | None = None,
) -> Facts:  # fmt: skip
    """Return what a report says about a fitted `Model`, or a fitted estimator, and rows that have the target.

    Parameters
    ----------
    model : Model or estimator
        Fitted model.
    rows : Rows
        Rows with targets, usually those of the fit; ``model.design_rows(data)`` makes them.
    level : float, default=0.95
        Confidence level of all intervals.
    no_rows : bool, default=False
        Whether to leave out every value of a single row.
    held_out : Rows, optional
        Rows with targets that were not part of the fit, on which the model is evaluated.
    training : bool, optional
        Whether ``rows`` are those of the fit; None if unknown. A regression finds out by itself.

    Returns
    -------
    dict
        Facts by name, ready for `render` and for JSON.
    """
    check_level(level)
    if not is_rows(rows):
        kind = type(rows).__name__
        raise TypeError(f"facts needs Rows with targets, as model.design_rows(data) makes them, not {kind}.")
    estimator = unwrap_estimator(model)
    check_is_fitted(estimator)
    design, names = getattr(model, "design", None), list(map(str, column_names(estimator)))
    features = names if design is None else list(map(str, design.features))
    found: Facts = {
        "model": type(estimator).__name__,
        "target": getattr(model, "target", "y"),
        "names": names,
        "levels": level_columns(design),
        "references": references(design),
        "shared": shared_terms(design, names),
        "p": int(estimator.n_features_in_),
        "columns": len(features),
        "features": features,
        "level": float(level),
        "parameters": {name: _short_value(value) for name, value in estimator.get_params(deep=False).items()},
        "note": getattr(model, "note", ""),
        "formula": getattr(design, "formula", None),
        "passes": int(estimator.n_passes_) if hasattr(estimator, "n_passes_") else None,
        "version": _version(),
        "no_rows": bool(no_rows),
    }
    if isinstance(estimator, LeastSquaresBase):
        found |= regression_facts(estimator, rows, level, held_out)
    elif hasattr(estimator, "classes_"):
        found |= classifier_facts(estimator, rows, level, held_out)
        found["training_rows"] = training or held_out is not None
    else:
        raise TypeError(f"A report is about a regression or a classifier of linearly, not {type(estimator).__name__}.")
    found["n_dropped"] = int(getattr(rows, "n_dropped", 0) or getattr(model, "n_dropped", 0))
    if no_rows:
        _remove_rows(found)
    result: Facts = to_json(found)
    return result


def _remove_rows(found: Facts) -> None:
    """Remove every value of a single row from facts."""
    for name in ("sample", "rows", "plane"):
        if found.get(name):
            del found[name]
    # The point where the classes meet may be a row of both.
    for name, values in (("influence", ("rows",)), ("separability", ("witness", "meeting_point"))):
        if found.get(name):
            found[name] = {key: value for key, value in found[name].items() if key not in values}


def to_json(value: Any) -> Any:
    """Return a value as Python's own numbers, strings, lists and dicts; a number that is not finite becomes None."""
    if isinstance(value, Table):
        return to_json(value.to_dict())
    if isinstance(value, dict):
        return {str(key): to_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return to_json(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _short_value(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)[:200]


def _version() -> str:
    try:
        return metadata.version("linearly")
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"
