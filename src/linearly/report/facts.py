"""The facts about a fitted model on rows: plain numbers, strings, lists and dicts, ready for JSON and for `render`.

They are gathered by folds, so rows may live in files or on a cluster. Rows themselves appear only as a seeded sample,
and those that weigh most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linearly.dataset.rows.block import Rows, is_rows
from linearly.inference.tidy import check_level
from linearly.inference.unwrap import unwrap_estimator
from linearly.models.base import column_names
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Table

Facts = dict[str, Any]


def facts(
    model: Any, rows: Rows, *, level: float = 0.95, no_rows: bool = False, held_out: Rows | None = None,
    training: bool | None = None,
) -> Facts:  # fmt: skip
    """What is known about a fitted `Model`, or a fitted estimator, and rows that have the target.

    Parameters
    ----------
    model : a fitted `Model` or estimator.
    rows : `Rows` with targets, most often those of the fit; ``model.rows(data)`` makes them.
    level : confidence level of all intervals.
    no_rows : leave out every value of a single row.
    held_out : `Rows` with targets that the fit has not seen, on which the model is judged.
    training : whether ``rows`` are those of the fit; None if that is not known. A regression finds out by itself.
    """
    check_level(level)
    if not is_rows(rows):
        raise TypeError(f"facts needs Rows with targets, as model.rows(data) makes them, not {type(rows).__name__}.")
    estimator = unwrap_estimator(model)
    check_is_fitted(estimator)
    found: Facts = {
        "model": type(estimator).__name__,
        "target": getattr(model, "target", "y"),
        "names": list(map(str, column_names(estimator))),
        "levels": _levels(getattr(model, "design", None)),
        "references": references(getattr(model, "design", None)),
        "shared": shared_terms(getattr(model, "design", None), column_names(estimator)),
        "p": int(estimator.n_features_in_),
        "columns": len(model.design.features) if hasattr(model, "design") else int(estimator.n_features_in_),
        "features": list(map(str, model.design.features if hasattr(model, "design") else column_names(estimator))),
        "level": float(level),
        "parameters": {name: _told(value) for name, value in estimator.get_params(deep=False).items()},
        "note": getattr(model, "note", ""),
        "formula": getattr(getattr(model, "design", None), "formula", None),
        "passes": int(estimator.n_passes_) if hasattr(estimator, "n_passes_") else None,
        "version": _version(),
        "no_rows": bool(no_rows),
    }
    if isinstance(estimator, LeastSquaresBase):
        from linearly.report.regression_facts import regression_facts

        found |= regression_facts(estimator, rows, level, held_out)
    elif hasattr(estimator, "classes_"):
        from linearly.report.classifier_facts import class_facts

        found |= class_facts(estimator, rows, level, held_out) | {"training_rows": training or held_out is not None}
    else:
        raise TypeError(f"A report is about a regression or a classifier of linearly, not {type(estimator).__name__}.")
    found["n_dropped"] = int(getattr(rows, "n_dropped", 0) or getattr(model, "n_dropped", 0))
    if no_rows:
        for part in ("sample", "rows"):
            found.pop(part, None)
        _without_values(found)
    result: Facts = plain_data(found)
    return result


def _levels(design: Any) -> list[str]:
    """The columns that are levels of a category, or products with one."""
    terms = () if design is None else design.terms
    return [name for term in terms if any(hasattr(f, "reference") for f in term.factors) for name in term.names()]


def _without_values(found: Facts) -> None:
    if found.get("influence"):
        found["influence"] = {key: value for key, value in found["influence"].items() if key != "rows"}
    if found.get("separability"):
        # Where the classes meet may be a row of both.
        told = ("witness", "meeting_point")
        found["separability"] = {key: value for key, value in found["separability"].items() if key not in told}
    if found.get("plane"):
        found.pop("plane")


def references(design: Any) -> dict[str, Any]:
    """For each column that is a level of one category: the level that it is held against."""
    found: dict[str, Any] = {}
    for term in () if design is None else design.terms:
        (factor, *others), full = term.factors, any(term.full)
        if not others and not full and hasattr(factor, "reference"):
            found |= dict.fromkeys(term.names(), factor.reference)
    return found


def shared_terms(design: Any, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """For each column that is not read on its own: what it is part of.

    An "interaction" has the parts whose product it is. A "main" effect also occurs in interactions: it "depends" on
    other factors, and its coefficient is the effect "where" those are 0 or at their reference level. A "curve" is one
    of several functions "of" the same columns.
    """
    if design is None:  # of `polynomial`: x, x^2, x^3
        bases = {name: re.sub(r"\^\d+$", "", name) for name in map(str, names)}
        powers = {base for name, base in bases.items() if name != base and base in bases}
        return {name: {"kind": "curve", "of": [base]} for name, base in bases.items() if base in powers}
    found: dict[str, dict[str, Any]] = {}
    for term in design.terms:
        own = _needs(term)
        others = [other for other in design.terms if other is not term and _needs(other) & own]
        products = [factor for other in others if len(other.factors) > 1 for factor in other.factors]
        beside = {factor.label: factor for factor in products if not own & {*factor.required_columns}}
        if len(term.factors) > 1:
            parts: list[tuple[str, ...]] = [()]
            for factor, full in zip(term.factors, term.full or (False,) * len(term.factors), strict=True):
                parts = [(*before, name) for name in factor.names(full) for before in parts]
            told = [{"kind": "interaction", "parts": part} for part in parts]
        elif beside:
            where = [f"{label} is {getattr(factor, 'reference', 0)}" for label, factor in beside.items()]
            told = [{"kind": "main", "depends": list(beside), "where": where}] * term.width
        elif others or (term.width > 1 and not hasattr(term.factors[0], "reference")):
            told = [{"kind": "curve", "of": sorted(own)}] * term.width
        else:
            continue
        found |= zip(term.names(), told, strict=True)
    return found


def _needs(term: Any) -> set[str]:
    return {name for factor in term.factors for name in factor.required_columns}


def plain_data(value: Any) -> Any:
    """Python's own numbers, strings, lists and dicts; what is not a finite number is None."""
    if isinstance(value, Table):
        return plain_data(value.to_dict())
    if isinstance(value, dict):
        return {str(key): plain_data(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist())
    if isinstance(value, np.generic):
        return plain_data(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _told(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)[:200]


def _version() -> str:
    try:
        return metadata.version("linearly")
    except metadata.PackageNotFoundError:
        return "0+unknown"
