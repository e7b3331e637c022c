"""Print a fitted model on one screen: what was fitted, how well it fits, how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.formatting import MISSING, describe_dependent, format_p_clause
from linearly.inference.fitted_terms import BIAS_NOTE, logistic_notes, require_solution, term_names, unidentified_note
from linearly.inference.glance import glance
from linearly.inference.tidy import tidy
from linearly.models.base import column_names, count_rows_of_fit
from linearly.models.kind_checks import is_elastic_net, is_logistic
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.registry import WORDS
from linearly.table import Summary, Table, to_python_value

if TYPE_CHECKING:
    from linearly.models.elastic_net_base import ElasticNetBase
    from linearly.models.logistic_regression import LogisticRegression

MAX_LISTED = 8  # classes in a title, columns of means in a table
_REGRESSION_ERRORS = {
    "classical": "Standard errors assume independent errors of equal variance.",
    "HC": "Standard errors allow unequal variances ({covariance}).",
    "HAC": "Standard errors allow errors to be correlated up to {lags} rows apart (HAC).",
    "CR": "Standard errors allow correlated errors within {clusters} clusters. t and F tests are on {dof} df.",
    "small": "Standard errors allow {alike} ({covariance}). The degrees of freedom, df, differ between terms.",
}
_LOGISTIC_ERRORS = {
    "classical": "Standard errors assume a correct model and independent rows.",
    "HC": "Standard errors assume only independent rows ({covariance}).",
    "HAC": "Standard errors allow dependent rows up to {lags} rows apart (HAC).",
    "CR": "Standard errors allow dependent rows within {clusters} clusters. t tests are on {dof} df.",
    "small": "Standard errors allow {alike} ({covariance}). The degrees of freedom, df, differ between terms.",
}


def model_summary(estimator: Any, target: str = "") -> Summary:
    """Return the estimator's own summary if it has standard errors, else its coefficients and how training went."""
    if hasattr(estimator, "summary"):
        own: Summary = estimator.summary()
        return Summary(f"{target}\n{own.title}" if target else own.title, own.tables, own.notes)
    if is_elastic_net(estimator):
        return _sparse_summary(estimator, target)
    kind = WORDS[type(estimator).__name__].capitalize()
    classes = estimator.classes_.tolist()
    names = ", ".join(map(str, classes[:MAX_LISTED])) + (" …" if len(classes) > MAX_LISTED else "")
    p = estimator.n_features_in_
    lines = [f"{kind}: {p} column{'s' * (p > 1)}, {len(classes)} classes: {names}", *_training_lines(estimator)]
    tables = [*_class_tables(estimator), *_coefficient_tables(estimator)]
    notes = []
    shrinkage = getattr(estimator, "shrinkage_", None)
    if shrinkage is not None and np.any(shrinkage):
        notes.append(f"Covariances were shrunk (shrinkage {np.max(shrinkage):g}).")
    if not hasattr(estimator, "coef_"):
        notes.append("This model is not a linear classifier, so it has no single set of coefficients.")
    return Summary("\n".join([*filter(None, [target]), *lines]), tuple(tables), tuple(notes))


def _sparse_summary(model: ElasticNetBase, target: str) -> Summary:
    """Return the coefficients that are not 0, the penalty, and the fit to the training rows."""
    terms, fit, penalty = tidy(model), glance(model), model.penalty_
    kind = "Lasso" if penalty.l1_ratio == 1 else "Elastic net"
    chosen = " (chosen by cross-validation)" if hasattr(model, "alpha_") else ""
    lines = [
        f"{kind}: {len(model.active_)} of {model.n_features_in_} coefficients are not 0",
        f"{model.summary_.n:,} rows   alpha {penalty.alpha:.4g}{chosen}   l1_ratio {penalty.l1_ratio:g}   R² "
        f"{', '.join(f'{value:.4f}' for value in fit['r_squared'])} on the rows of the fit",
    ]
    shown = np.flatnonzero((terms["estimate"] != 0) | (np.asarray(terms["term"]) == "Intercept"))
    table = Table({name: np.asarray(terms[name])[shown] for name in terms.columns})
    return Summary("\n".join([*filter(None, [target]), *lines]), (table,), terms.notes)


def _training_lines(estimator: Any) -> list[str]:
    if hasattr(estimator, "stop_reason_"):
        error = getattr(estimator, "training_error_", np.nan)
        wrong = "" if np.isnan(error) else f", {100 * error:.3g}% of the training rows misclassified"
        updates = f"{estimator.n_updates_} updates in {estimator.n_passes_} passes"
        return [f"{updates}{wrong}", f"stopped: {estimator.stop_reason_}"]
    return [f"{count_rows_of_fit(estimator)} rows, {estimator.n_passes_} pass{'es' * (estimator.n_passes_ > 1)}"]


def _class_tables(estimator: Any) -> list[Table]:
    if not hasattr(estimator, "priors_"):
        return []
    columns = {"class": estimator.classes_.tolist(), "rows": estimator.summary_.counts, "prior": estimator.priors_}
    means = zip(column_names(estimator), estimator.means_.T, strict=True)
    columns |= {f"mean {name}": mean for name, mean in list(means)[:MAX_LISTED]}
    return [Table(columns, "Classes")]


def _coefficient_tables(estimator: Any) -> list[Table]:
    if not hasattr(estimator, "coef_"):
        return []
    coef, classes = estimator.coef_, estimator.classes_.tolist()
    values = np.hstack([np.reshape(estimator.intercept_, (-1, 1)), np.reshape(coef, (-1, coef.shape[-1]))])
    heads = [f"score of {classes[1]}"] if len(values) == 1 else list(map(str, classes))
    columns = {"term": ["Intercept", *column_names(estimator)], **dict(zip(heads, values, strict=True))}
    return [Table(columns, "Coefficients")]


def regression_summary(model: LeastSquaresBase) -> Summary:
    """Return statistics, coefficients with intervals, and remarks on a fitted least-squares model."""
    solution = require_solution(model)
    kind = f"Ridge regression, alpha {solution.alpha:g}" if solution.alpha > 0 else "Linear regression"
    passes = f"{model.n_passes_} pass{'es' if model.n_passes_ > 1 else ''}"
    p = model.n_features_in_
    head = f"{kind}: {p} column{'s' * (p > 1)}, {solution.n} rows, {passes} ({model.method_})"
    notes = [_assumption(model, _REGRESSION_ERRORS) + " Intervals have level 95%."]
    if solution.alpha > 0:
        notes.append(BIAS_NOTE)
    if solution.aliased:
        names = column_names(model)
        notes.append(f"{describe_dependent([names[j] for j in solution.aliased], len(names))}.")
        notes += unidentified_note(term_names(model), solution.identified, solution.rank_is_certain)
    return Summary("\n".join([head, *map(_statistics_line, glance(model))]), (_terms(model),), tuple(notes))


def _statistics_line(row: dict[str, Any]) -> str:
    def number(name: str) -> str:
        return MISSING if np.isnan(row[name]) else f"{row[name]:.4g}"

    parts = [f"{row['target']}:"] if "target" in row else []
    parts += [f"R² {number('r_squared')}", f"adjusted {number('adj_r_squared')}"]
    parts.append(f"σ {number('sigma')} on {row['df_residual']:g} df")
    if not np.isnan(row["f_statistic"]):
        parts.append(f"F {row['f_statistic']:.4g}, {format_p_clause(row['p_value'])}")
    digits = int(row["digits"])
    return "   ".join([*parts, f"{digits} correct digit{'s' * (digits != 1)}"])


def logistic_summary(model: LogisticRegression) -> Summary:
    """Return deviance, coefficients with intervals, and remarks on a fitted logistic regression."""
    row = glance(model).row(0)
    kind = "Logistic regression"
    if model.bias_reduction == "firth":
        kind += " with Firth's bias reduction"
    elif model.alpha > 0:
        kind += f", alpha {model.alpha:g}" + (f", l1_ratio {model.l1_ratio:g}" if model.selects else "")
    p, classes = model.n_features_in_, model.classes_.tolist()
    reference = to_python_value(model.reference_)
    what = f"log-odds of {classes[1]!r}" if len(classes) == 2 else f"{len(classes)} classes against {reference!r}"
    title = (
        f"{kind}: {what} on {p} column{'s' * (p > 1)}, {row['n']} rows, {row['passes']} passes\n"
        f"pseudo-R² {row['pseudo_r_squared']:.4g}   deviance {row['deviance']:.5g} on {row['df_residual']} df"
        f"   null {row['null_deviance']:.5g}   AIC {row['aic']:.5g}"
    )
    if model.selects:
        terms = tidy(model)
        shown = np.flatnonzero((terms["estimate"] != 0) | (np.asarray(terms["term"]) == "Intercept"))
        count = f"\n{int((model.coef_ != 0).sum())} of {model.coef_.size} coefficients are not 0"
        return Summary(
            title + count, (Table({name: np.asarray(terms[name])[shown] for name in terms.columns}),), terms.notes
        )
    if model.inverse_root_ is None:
        return Summary(
            title, (), ('Standard errors are not available, because solver="lbfgs" does not form the Hessian.',)
        )
    notes = []
    if model.identified_terms.any():
        profiled = model.alpha == 0 and model.covariance == "classical" and model.separation_ is None
        better = "; profile_intervals gives more accurate ones" if profiled else ""
        notes.append(f"{_assumption(model, _LOGISTIC_ERRORS)} Intervals are Wald intervals of level 95%{better}.")
    if model.separation_ is not None:
        notes.append(model.separation_.describe())
    return Summary(title, (_terms(model),), (*notes, *logistic_notes(model)))


def _assumption(model: Any, sentences: dict[str, str]) -> str:
    """Return the sentence on what the standard errors assume."""
    clusters, lags = getattr(model, "n_clusters_", 0), getattr(model, "lags_", 0)
    alike = f"dependent rows within {clusters} clusters" if clusters else "unequal variances"
    kind = "small" if hasattr(model, "small_sample_") else "CR" if clusters else model.covariance
    sentence = sentences.get(kind, sentences["HC"])
    return sentence.format(covariance=model.covariance, clusters=clusters, dof=clusters - 1, lags=lags, alike=alike)


def _terms(model: Any) -> Table:
    """Return the table of `tidy` with its statistics under the name of their distribution."""
    table = tidy(model)
    clustered = hasattr(model, "small_sample_") or getattr(model, "n_clusters_", 0) > 0
    statistic = "z" if is_logistic(model) and not clustered else "t"
    return Table({statistic if name == "statistic" else name: table[name] for name in table.columns})
