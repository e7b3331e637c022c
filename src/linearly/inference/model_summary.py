"""Any fitted model on one screen."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.models.base import column_names
from linearly.models.registry import WORDS
from linearly.table import Summary, Table


def model_summary(estimator: Any, target: str = "") -> Summary:
    """The model's own summary where it has standard errors; else its coefficients and how the training went."""
    if hasattr(estimator, "summary"):
        own: Summary = estimator.summary()
        return Summary(f"{target}\n{own.title}" if target else own.title, own.tables, own.notes)
    kind = WORDS[type(estimator).__name__].capitalize()
    classes = estimator.classes_.tolist()
    told = ", ".join(map(str, classes[:8])) + (" …" if len(classes) > 8 else "")
    p = estimator.n_features_in_
    lines = [*([target] if target else []), f"{kind}: {p} column{'s' * (p > 1)}, {len(classes)} classes: {told}"]
    lines += _training(estimator)
    tables = [table for table in (_classes(estimator), _coefficients(estimator)) if table is not None]
    return Summary("\n".join(lines), tuple(tables), tuple(_notes(estimator)))


def _training(estimator: Any) -> list[str]:
    if hasattr(estimator, "stop_reason_"):
        error = getattr(estimator, "training_error_", np.nan)
        rows = f"{estimator.n_updates_} updates in {estimator.n_passes_} passes"
        wrong = "" if np.isnan(error) else f", {100 * error:.3g} % of the training rows wrong"
        return [f"{rows}{wrong}", f"stopped: {estimator.stop_reason_}"]
    rows = estimator.summary_.n if hasattr(estimator, "summary_") else estimator.labels_summary_.n
    return [f"{rows} rows, {estimator.n_passes_} pass{'es' * (estimator.n_passes_ > 1)}"]


def _classes(estimator: Any) -> Table | None:
    if not hasattr(estimator, "priors_"):
        return None
    columns: dict[str, Any] = {"class": estimator.classes_.tolist(), "rows": estimator.summary_.counts}
    columns["prior"] = estimator.priors_
    for name, means in list(zip(column_names(estimator), estimator.means_.T, strict=True))[:8]:
        columns[f"mean {name}"] = means
    return Table(columns, "Classes")


def _coefficients(estimator: Any) -> Table | None:
    coef = getattr(estimator, "coef_", None)
    if coef is None:
        return None
    columns: dict[str, Any] = {"term": ["Intercept", *column_names(estimator)]}
    values = np.hstack([np.reshape(estimator.intercept_, (-1, 1)), np.reshape(coef, (-1, coef.shape[-1]))])
    classes = estimator.classes_.tolist()
    heads = [f"score of {classes[1]}"] if len(values) == 1 else [str(label) for label in classes]
    columns |= dict(zip(heads, values, strict=True))
    return Table(columns, "Coefficients")


def _notes(estimator: Any) -> list[str]:
    notes = []
    shrinkage = getattr(estimator, "shrinkage_", None)
    if shrinkage is not None and np.any(shrinkage):
        notes.append(f"Covariances were shrunk (shrinkage {np.max(shrinkage):g}).")
    if not hasattr(estimator, "coef_"):
        notes.append("Not a linear classifier: it has no single set of coefficients.")
    return notes
