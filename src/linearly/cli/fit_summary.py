"""What `fit` has to say about a model, as plain facts: for the screen and for --json."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linearly.models.registry import MODELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linearly.api import Model
    from linearly.dataset.rows.block import Block, Rows

LOOKED_AT = 100_000  # rows up to which the training rows are read again to see how the fit went
TESTED = 5_000  # rows up to which residuals are tested for normality


def model_facts(model: Model, seen: int | None = None) -> dict[str, Any]:
    """What the model knows about itself, without rows; `seen` is how many there were, where it does not know."""
    from linearly.models.least_squares_base import LeastSquaresBase

    estimator = model.estimator
    alpha = _alpha(estimator)
    facts: dict[str, Any] = {
        "model": model.model,
        "kind": kind_of(model),
        "target": model.target,
        "formula": model.design.formula,
        "features": list(model.design.features),
        "columns": list(model.names),
        "rows": rows_of(estimator) or seen,
        "dropped": model.n_dropped,
        "one_level": [term.label for term in model.design.terms if term.width == 0],
        "passes": int(estimator.n_passes_) if hasattr(estimator, "n_passes_") else None,
        "note": model.note,
    }
    if alpha > 0:
        facts["alpha"] = alpha
        facts["alpha_chosen"] = hasattr(estimator, "alpha_")
    if model.design.groups is not None:
        facts["groups_column"] = model.design.groups
    if model.classes:
        facts["classes"] = list(model.classes)
    if isinstance(estimator, LeastSquaresBase):
        facts |= _least_squares(model)
    elif model.model == "logistic":
        facts |= _logistic(model)
    else:
        facts |= _classifier(model)
    return facts


def kind_of(model: Model) -> str:
    """What the model is in words: a linear regression with a penalty is a ridge regression."""
    return MODELS["ridge" if model.model == "linear" and _alpha(model.estimator) > 0 else model.model].words


def _alpha(estimator: Any) -> float:
    """The penalty of the fit, 0 if there is none."""
    from linearly.models.least_squares_base import LeastSquaresBase

    penalised = getattr(estimator, "solution_", None) is not None and isinstance(estimator, LeastSquaresBase)
    return float(estimator.solution_.alpha) if penalised else float(getattr(estimator, "alpha", 0.0) or 0.0)


def rows_of(estimator: Any) -> int | None:
    """How many rows an estimator was fitted to, as far as it knows."""
    for source in ("solution_", "summary_", "labels_summary_"):
        if hasattr(estimator, source):
            return int(getattr(estimator, source).n)
    return int(estimator.n_rows_) if hasattr(estimator, "n_rows_") else None


def _least_squares(model: Model) -> dict[str, Any]:
    from linearly.inference.diagnostics import vif
    from linearly.inference.tidy import glance, term_names, tidy
    from linearly.report.facts import shared_terms

    estimator = model.estimator
    solution = estimator.solution_
    facts: dict[str, Any] = {"statistics": glance(estimator).row(0), "terms": _terms(model, tidy(estimator))}
    facts["covariance"] = estimator.covariance
    facts["covariance_settable"] = "covariance" in estimator.get_params()
    facts["aliased"] = [model.names[j] for j in solution.aliased]
    facts["unidentified"] = _unidentified(term_names(estimator), solution.identified)
    if len(model.names) > 1 and solution.has_intercept:
        facts["vif"] = list(vif(estimator))
        facts["structural"] = list(shared_terms(model.design, model.names))
    if hasattr(estimator, "cv_errors_"):
        facts["folds"] = int(estimator.fold_errors_.shape[1])
    return facts


def _logistic(model: Model) -> dict[str, Any]:
    import numpy as np

    from linearly.inference.tidy import glance, tidy
    from linearly.table import to_python_value

    estimator = model.estimator
    facts: dict[str, Any] = {"statistics": glance(estimator).row(0), "separated": estimator.separation_ is not None}
    if estimator.separation_ is not None:
        facts["separation"] = str(estimator.separation_.verdict)
    if len(model.classes) > 2:
        facts["reference"] = to_python_value(estimator.reference_)
    facts["aliased"] = [model.names[j] for j in estimator._aliased]
    if estimator._null is not None:
        names = (*(["Intercept"] if estimator.fit_intercept else []), *model.names)
        facts["unidentified"] = _unidentified(names, estimator._null == 0)
    if estimator._root is None:
        return facts | {"terms": []}
    terms = _terms(model, tidy(estimator))
    with np.errstate(over="ignore"):
        for term in terms:
            if term["term"] != "Intercept":
                odds = np.exp([term["estimate"], term["conf_low"], term["conf_high"]])
                term |= dict(zip(("odds_ratio", "odds_low", "odds_high"), odds.tolist(), strict=True))
    return facts | {"terms": terms}


def _unidentified(terms: Sequence[str], identified: Any) -> list[str]:
    """The terms that the rows do not determine."""
    return [term for term, known in zip(terms, identified, strict=True) if not known]


def _terms(model: Model, table: Any) -> list[dict[str, Any]]:
    from linearly.report.facts import references

    against = references(model.design)
    terms = list(table)
    for term in terms:
        if term["term"] in against:
            term["against"] = against[term["term"]]
    return terms


def _classifier(model: Model) -> dict[str, Any]:
    import numpy as np

    estimator = model.estimator
    facts: dict[str, Any] = {}
    if hasattr(estimator, "stop_reason_"):
        facts |= {"updates": int(estimator.n_updates_), "stopped_because": str(estimator.stop_reason_)}
        error = float(getattr(estimator, "training_error_", np.nan))
        if not np.isnan(error):
            facts["training_error"] = error
    if hasattr(estimator, "priors_"):
        counts, priors = estimator.summary_.counts, estimator.priors_
        facts["groups"] = [
            {"class": label, "rows": int(n), "prior": float(prior), "means": dict(zip(model.names, means, strict=True))}
            for label, n, prior, means in zip(model.classes, counts, priors, estimator.means_, strict=True)
        ]
    coef = getattr(estimator, "coef_", None)
    if coef is not None:
        rows = np.hstack([np.reshape(estimator.intercept_, (-1, 1)), np.reshape(coef, (-1, len(model.names)))])
        heads = model.classes[1:] if len(rows) == 1 else model.classes
        names = ["Intercept", *model.names]
        facts["coefficients"] = [
            {"term": name, "scores": {str(head): float(row[j]) for head, row in zip(heads, rows, strict=True)}}
            for j, name in enumerate(names)
        ]
    return facts


def look_again(model: Model, rows: Rows) -> dict[str, Any]:
    """How the fit went on its own rows: tests of residuals, or the share of labels that are right."""
    from linearly.models.least_squares_base import LeastSquaresBase

    if isinstance(model.estimator, LeastSquaresBase):
        values = few_values(rows)
        return {
            "tests": _residual_tests(model.estimator, rows) if len(values) != 2 else [],
            "two_values": values if len(values) == 2 else None,
            "constant": values[0] if len(values) == 1 else None,
        }
    return {"training": _hits(model.estimator, rows)}


def few_values(rows: Rows) -> list[float]:
    """The values of a target that has one or two; of one that has more, none."""
    import numpy as np

    found: set[float] = set()
    for block in rows:
        y = np.asarray(block.y, dtype=np.float64).ravel()
        found.update(np.unique(y if block.weight is None else y[block.weight > 0])[:3].tolist())
        if len(found) > 2:
            return []
    return sorted(found)


def _residual_tests(estimator: Any, rows: Rows) -> list[dict[str, Any]]:
    import numpy as np

    from linearly.algorithm.least_squares.solver import RidgeProblem, summarize
    from linearly.inference.diagnostics import breusch_pagan, squared_residuals
    from linearly.inference.fitted_rows import row_diagnostics
    from linearly.inference.normality import shapiro_wilk

    solution = estimator.solution_
    _, residual, _, weight = row_diagnostics(rows, solution)
    residual = (residual * np.sqrt(weight))[weight > 0]
    found = []
    # Residuals that are all rounding say nothing about errors.
    if float((residual**2).sum()) <= 1e-24 * float(solution.tss[0]):
        return []
    if 8 <= len(residual) <= TESTED:
        normal = shapiro_wilk(residual)
        found.append({"test": "shapiro_wilk", "statistic": normal.statistic, "p_value": normal.p_value, "n": normal.n})
    about = RidgeProblem().solve(summarize(squared_residuals(rows, solution), "auto"))
    statistic, p_value = breusch_pagan(about)
    if not np.isnan(statistic):
        found.append({"test": "breusch_pagan", "statistic": statistic, "p_value": p_value, "n": about.n})
    return found


def _hits(estimator: Any, rows: Rows) -> dict[str, Any]:
    """The share of rows whose label is told rightly, beside that of the commonest label."""
    import numpy as np

    from linearly.dataset.rows.block import SingleBlockRows

    K = len(estimator.classes_)

    def tally(block: Block) -> Any:
        if not len(block):
            return np.zeros(K + 1)
        assert block.y is not None
        w = np.ones(len(block)) if block.weight is None else block.weight
        right = estimator.predict(SingleBlockRows(replace(block, y=None))) == estimator.classes_[block.y]
        return np.append(np.bincount(block.y, w, minlength=K), (w * right).sum())

    *counts, right = rows.reduce(tally)
    total = float(sum(counts))
    common = int(np.argmax(counts))
    return {
        "accuracy": float(right) / total,
        "commonest": estimator.classes_.tolist()[common],
        "commonest_share": float(counts[common]) / total,
    }
