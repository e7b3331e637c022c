"""Collect the facts about a fitted model on rows: numbers, strings, lists and dicts that JSON can hold.

They are collected by reductions, so rows may live in files or on a cluster. Single rows appear only in a seeded
sample, among the most influential rows, and in proofs.
"""

from __future__ import annotations

from typing import Any

from linearly.dataset.rows.block import Rows, is_rows
from linearly.findings.column_effects import column_effects
from linearly.findings.regression_facts import regression_facts
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import check_level
from linearly.installed import library_version
from linearly.models.base import check_fitted, column_names
from linearly.models.kind_checks import is_elastic_net
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.report.classifier_facts import classifier_facts
from linearly.report.page_parts import Facts
from linearly.report.question_facts import question_facts
from linearly.report.sparse_facts import sparse_facts
from linearly.report.term_facts import level_columns, references, shared_terms, term_groups
from linearly.table import json_value


def facts(
    model: Any, rows: Rows, *, level: float = 0.95, no_rows: bool = False, held_out: Rows | None = None,
    training: bool | None = None, positive: Any = None,
) -> Facts:  # fmt: skip
    """Return the facts of a report on a fitted `Model` or estimator, and rows with the target.

    Parameters
    ----------
    model : Model or estimator
        Fitted model.
    rows : Rows
        Rows with targets, usually those of the fit; ``model.design_rows(data)`` makes them.
    level : float, default=0.95
        Confidence level of all intervals.
    no_rows : bool, default=False
        If True, leave out every value of a single row.
    held_out : Rows, optional
        Rows with targets that were not part of the fit, on which the model is evaluated.
    training : bool, optional
        True if ``rows`` are those of the fit, None if unknown. A regression determines it.
    positive : label, optional
        Which of two labels precision and recall are about. By default, the one named at the fit, or else the rarer one.

    Returns
    -------
    dict
        Facts by name, ready for `render` and for JSON.
    """
    check_level(level)
    if not is_rows(rows):
        kind = type(rows).__name__
        raise TypeError(f"facts requires Rows with targets, not {kind}. Make them with model.design_rows(data).")
    estimator = unwrap_estimator(model)
    check_fitted(estimator)
    design, names = getattr(model, "design", None), list(map(str, column_names(estimator)))
    features = names if design is None else list(map(str, design.features))
    found: Facts = {
        "model": type(estimator).__name__,
        "target": getattr(model, "target", "y"),
        "names": names,
        "levels": level_columns(design),
        "groups": term_groups(design, names),
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
        "version": library_version(),
        "no_rows": bool(no_rows),
    }
    if isinstance(estimator, LeastSquaresBase):
        found |= regression_facts(estimator, rows, level, held_out)
        determined = not found["aliased"] and not found["unidentified"] and found["constant"] is None
        has_offset = getattr(design, "offset", None) is not None  # which an effect would have to hold fixed
        is_drawn = determined and not has_offset and (design is not None or not found["shared"])
        found["effects"] = column_effects(model, rows, level, no_rows=no_rows) if is_drawn else []
    elif is_elastic_net(estimator):
        found |= sparse_facts(estimator, rows, level, held_out)
    elif hasattr(estimator, "classes_"):
        positive = getattr(model, "positive", None) if positive is None else positive
        found |= classifier_facts(estimator, rows, level, held_out, positive)
        found["training_rows"] = training or held_out is not None
    else:
        raise TypeError(
            f"Reports require a regression or a classifier, not {type(estimator).__name__}. Use summary() "
            "and evaluate() instead."
        )
    found |= question_facts(model, level)
    found["n_dropped"] = int(getattr(rows, "n_dropped", 0) or getattr(model, "n_dropped", 0))
    if no_rows:
        _remove_rows(found)
    result: Facts = json_value(found)
    return result


def _remove_rows(found: Facts) -> None:
    """Remove every value of a single row from facts."""
    for name in ("sample", "rows", "plane", "projection"):
        if found.get(name):
            del found[name]
    # The point where the classes meet may be a row of both.
    for name, values in (
        ("influence", ("rows",)),
        ("exact_rows", ("place", "zero", "weight")),
        ("separability", ("witness", "meeting_point")),
    ):
        if found.get(name):
            found[name] = {key: value for key, value in found[name].items() if key not in values}


def _short_value(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)[:200]
