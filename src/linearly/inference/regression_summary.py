"""A fitted model on one screen: what was fitted, how good it is, how far to trust it."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.inference.tidy import glance, require_solution, term_names, tidy, unidentified_note
from linearly.models.base import column_names
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Summary, Table

_ASSUMES = {
    "classical": "Standard errors assume independent errors of equal variance.",
    "HC0": "Standard errors allow unequal variances (HC0).",
    "HC1": "Standard errors allow unequal variances (HC1).",
    "HC2": "Standard errors allow unequal variances (HC2).",
    "HC3": "Standard errors allow unequal variances (HC3).",
    "cluster": "Standard errors allow rows to be alike within {clusters} clusters; t and F are on {dof} df.",
}


def regression_summary(model: LeastSquaresBase) -> Summary:
    """Statistics, coefficients with intervals, and remarks on a fitted least-squares model."""
    solution = require_solution(model)
    kind = f"Ridge regression, alpha {solution.alpha:g}" if solution.alpha > 0 else "Linear regression"
    passes = f"{model.n_passes_} pass{'es' if model.n_passes_ > 1 else ''}"
    p = model.n_features_in_
    head = f"{kind}: {p} column{'s' if p > 1 else ''}, {solution.n} rows, {passes} ({model.method_})"
    fit = glance(model)
    lines = [head, *(_statistics(fit.row(t)) for t in range(len(fit)))]
    table = tidy(model)
    shown = Table({name: table[name] for name in table.columns if name != "statistic"})
    clusters = getattr(model, "n_clusters_", 0)
    notes = [_ASSUMES[model.covariance].format(clusters=clusters, dof=clusters - 1) + " Intervals are at 95 %."]
    if solution.alpha > 0:
        notes.append("Intervals ignore the bias of the penalty; `bias` estimates it (ridge minus least squares).")
    if solution.aliased:
        names = column_names(model)
        told = ", ".join(names[j] for j in solution.aliased)
        notes.append(f"Constant or combinations of the columns before: {told}.")
        notes += unidentified_note(term_names(model), solution.identified)
    return Summary("\n".join(lines), (shown,), tuple(notes))


def _statistics(row: dict[str, Any]) -> str:
    parts = [f"{row['target']}:"] if "target" in row else []
    parts.append(f"R² {_number(row['r_squared'])}")
    parts.append(f"adjusted {_number(row['adj_r_squared'])}")
    parts.append(f"σ {_number(row['sigma'])} on {row['df_residual']:g} df")
    if not np.isnan(row["f_statistic"]):
        p_value = row["p_value"]
        told = "p < 1e-16" if p_value < 1e-16 else f"p {p_value:.2g}"
        parts.append(f"F {row['f_statistic']:.4g}, {told}")
    parts.append(f"{int(row['digits'])} digit{'s' * (int(row['digits']) != 1)} to trust")
    return "   ".join(parts)


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4g}"
