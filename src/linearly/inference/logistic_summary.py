"""A fitted logistic regression on one screen."""

from __future__ import annotations

from linearly.evaluation.targets import to_plain_values
from linearly.inference.likelihood import glance_logistic, tidy_logistic, unknown_notes
from linearly.models.logistic_regression import LogisticRegression
from linearly.table import Summary, Table

_ASSUMES = {
    "classical": "Standard errors assume that the model is right and rows are independent.",
    "HC0": "Standard errors assume only that rows are independent (HC0).",
    "HC1": "Standard errors assume only that rows are independent (HC1).",
    "cluster": "Standard errors allow rows to be alike within {clusters} clusters; t is on {dof} df.",
}


def logistic_summary(model: LogisticRegression) -> Summary:
    """What was fitted, how good it is, coefficients with intervals, and remarks."""
    row = glance_logistic(model).row(0)
    kind = "Logistic regression"
    if model.bias_reduction == "firth":
        kind += " with Firth's bias reduction"
    elif model.alpha > 0:
        kind += f", alpha {model.alpha:g}"
    p, K = model.n_features_in_, len(model.classes_)
    reference = to_plain_values(model.reference_)
    what = f"log-odds of {model.classes_.tolist()[1]!r}" if K == 2 else f"{K} classes against {reference!r}"
    head = f"{kind}: {what} on {p} column{'s' if p > 1 else ''}, {row['n']} rows, {row['passes']} passes"
    fit = (
        f"pseudo-R² {row['pseudo_r_squared']:.4g}   deviance {row['deviance']:.5g} on {row['df_residual']} df"
        f"   null {row['null_deviance']:.5g}   AIC {row['aic']:.5g}"
    )
    notes = []
    if model._identified.any():
        clusters = getattr(model, "n_clusters_", 0)
        assumes = _ASSUMES[model.covariance].format(clusters=clusters, dof=clusters - 1)
        profiled = model.alpha == 0 and model.covariance == "classical" and model.separation_ is None
        better = "; profile_intervals gives better ones" if profiled else ""
        notes.append(f"{assumes} Intervals are Wald's, at 95 %{better}.")
    if model.separation_ is not None:
        notes.append(model.separation_.describe())
    notes += unknown_notes(model)
    if model._root is None:
        return Summary(f"{head}\n{fit}", (), ('No standard errors: solver="lbfgs" does not form the Hessian.',))
    table = tidy_logistic(model, 0.95)
    shown = Table({name: table[name] for name in table.columns if name != "statistic"})
    return Summary(f"{head}\n{fit}", (shown,), tuple(notes))
