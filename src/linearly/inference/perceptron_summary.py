"""Explain a trained perceptron: its errors and updates beside what is proven about the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import error_floor
from linearly.models.base import check_fitted
from linearly.models.label_encoding import checked_labels, shown
from linearly.table import Summary, Table


def explain(model: Any, X: Any = None, y: Any = None) -> Summary:
    """Return the summary of `model.explain(X, y)`."""
    check_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("explain() requires both X and y, or neither. Pass both.")
    facts = {"classes": shown(model.classes_), "passes": model.n_passes_, "updates": model.n_updates_}
    facts |= _errors(model, X, y)
    notes = [f"Stopped: {model.stop_reason_}."]
    if X is not None:
        certificate = separability(X, y, fit_intercept=model.fit_intercept)
        facts["verdict"] = certificate.verdict
        notes.append(certificate.describe())
        if certificate.verdict == "separable":
            facts["margin found"] = certificate.margin
            bound = certificate.mistake_bound()
            if model.novikoff_bound_applies():
                facts["Novikoff's bound on updates"] = bound
                notes.append(_compare_with_bound(model.n_updates_, bound))
        else:
            floor = error_floor(X, y, fit_intercept=model.fit_intercept)
            facts["error floor"] = int(floor)
            beside = f" This model makes {facts['errors on these rows']}."
            notes.append(floor.describe() + beside)
    values = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in facts.values()]
    return Summary(
        f"Training of {type(model).__name__}", (Table({"what": list(facts), "value": values}),), tuple(notes)
    )


def _errors(model: Any, X: Any, y: Any) -> dict[str, Any]:
    if X is not None:
        labels = checked_labels(y)
        wrong = int(np.count_nonzero(model.predict(X) != labels))
        return {"errors on these rows": wrong, "rows": len(labels)}
    error = getattr(model, "training_error_", math.nan)
    return {} if math.isnan(error) else {"training error": error}


def _compare_with_bound(updates: int, bound: float) -> str:
    made = f"{updates} update{'s' * (updates != 1)}"
    if updates <= bound:
        return f"{made}, within Novikoff's bound of {bound:.6g} for a perceptron that starts at zero."
    return (
        f"{made} exceed Novikoff's bound of {bound:.6g}, so these are not the training rows, or rounding "
        "errors affected some updates."
    )
