"""Gather the facts about a fitted model that `fit` and `show` print as text or JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linearly.models.registry import MODELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linearly.api import Model
    from linearly.dataset.rows.block import Block, Rows

MAX_DIAGNOSTIC_ROWS = 100_000  # rows up to which the training rows are read again


def model_facts(model: Model) -> dict[str, Any]:
    """Return the facts that the model itself contains."""
    from linearly.models.least_squares_base import LeastSquaresBase

    estimator = model.estimator
    alpha = _alpha(estimator)
    facts: dict[str, Any] = {
        "model": model.model,
        "kind": model_title(model),
        "target": model.target,
        "formula": model.design.formula,
        "features": list(model.design.features),
        "columns": list(model.names),
        "rows": _n_rows(estimator),
        "dropped": model.n_dropped,
        "one_level": [term.label for term in model.design.terms if term.width == 0],
        "passes": int(estimator.n_passes_) if hasattr(estimator, "n_passes_") else None,
        "note": model.note,
    }
    if alpha > 0:
        facts |= {"alpha": alpha, "alpha_chosen": hasattr(estimator, "alpha_")}
    if model.design.groups is not None:
        facts["groups_column"] = model.design.groups
    if model.classes:
        facts["classes"] = list(model.classes)
    if isinstance(estimator, LeastSquaresBase):
        return facts | _least_squares_facts(model)
    return facts | (_logistic_facts(model) if model.model == "logistic" else _classifier_facts(model))


def model_title(model: Model) -> str:
    """Return the name of the model in words: a linear regression with a penalty is a ridge regression."""
    return MODELS["ridge" if model.model == "linear" and _alpha(model.estimator) > 0 else model.model].words


def _alpha(estimator: Any) -> float:
    """Return the penalty of the fit, 0 if there is none."""
    from linearly.models.least_squares_base import LeastSquaresBase

    penalised = getattr(estimator, "solution_", None) is not None and isinstance(estimator, LeastSquaresBase)
    return float(estimator.solution_.alpha) if penalised else float(getattr(estimator, "alpha", 0.0) or 0.0)


def _n_rows(estimator: Any) -> int | None:
    """Return the number of rows that an estimator was fitted to, if it contains it."""
    for source in ("solution_", "summary_", "labels_summary_"):
        if hasattr(estimator, source):
            return int(getattr(estimator, source).n)
    return int(estimator.n_rows_) if hasattr(estimator, "n_rows_") else None


def _least_squares_facts(model: Model) -> dict[str, Any]:
    from linearly.inference.diagnostics import vif
    from linearly.inference.tidy import glance, term_names, tidy
    from linearly.report.term_facts import shared_terms

    estimator = model.estimator
    solution = estimator.solution_
    facts: dict[str, Any] = {
        "statistics": glance(estimator).row(0),
        "terms": _terms(model, tidy(estimator)),
        "covariance": estimator.covariance,
        "covariance_settable": "covariance" in estimator.get_params(),
        "aliased": [model.names[j] for j in solution.aliased],
        "unidentified": _unidentified(term_names(estimator), solution.identified),
    }
    if len(model.names) > 1 and solution.has_intercept:
        facts |= {"vif": list(vif(estimator)), "structural": list(shared_terms(model.design, model.names))}
    if hasattr(estimator, "cv_errors_"):
        facts["folds"] = int(estimator.fold_errors_.shape[1])
    return facts


def _logistic_facts(model: Model) -> dict[str, Any]:
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
    """Return the terms that the rows do not determine."""
    return [term for term, known in zip(terms, identified, strict=True) if not known]


def _terms(model: Model, table: Any) -> list[dict[str, Any]]:
    from linearly.report.term_facts import references

    baselines = references(model.design)
    return [term | ({"against": baselines[term["term"]]} if term["term"] in baselines else {}) for term in table]


def _classifier_facts(model: Model) -> dict[str, Any]:
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
        facts["coefficients"] = [
            {"term": name, "scores": {str(head): float(row[j]) for head, row in zip(heads, rows, strict=True)}}
            for j, name in enumerate(["Intercept", *model.names])
        ]
    return facts


def training_facts(model: Model, rows: Rows) -> dict[str, Any]:
    """Return diagnostics on the training rows: tests of residuals, or the accuracy of the labels."""
    from linearly.models.least_squares_base import LeastSquaresBase

    if isinstance(model.estimator, LeastSquaresBase):
        values = distinct_values(rows)
        return {
            "tests": _residual_tests(model.estimator, rows) if len(values) != 2 else [],
            "two_values": values if len(values) == 2 else None,
            "constant": values[0] if len(values) == 1 else None,
        }
    return {"training": _training_accuracy(model.estimator, rows)}


def distinct_values(rows: Rows) -> list[float]:
    """Return the values of a target that has one or two of them; an empty list if it has more."""
    import numpy as np

    values: set[float] = set()
    for block in rows:
        y = np.asarray(block.y, dtype=np.float64).ravel()
        values.update(np.unique(y if block.weight is None else y[block.weight > 0])[:3].tolist())
        if len(values) > 2:
            return []
    return sorted(values)


def _residual_tests(estimator: Any, rows: Rows) -> list[dict[str, Any]]:
    import numpy as np

    from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL
    from linearly.algorithm.least_squares.solver import RidgeProblem, summarize
    from linearly.inference.diagnostics import breusch_pagan, squared_residuals
    from linearly.inference.fitted_rows import row_diagnostics
    from linearly.inference.normality import normality_verdict

    solution = estimator.solution_
    _, residual, _, weight = row_diagnostics(rows, solution)
    residual = (residual * np.sqrt(weight))[weight > 0]
    if float((residual**2).sum()) <= INTERPOLATION_TOL * float(solution.tss[0]):
        return []
    verdict = normality_verdict(residual)
    tests = [] if verdict is None else [verdict._asdict()]
    auxiliary = RidgeProblem().solve(summarize(squared_residuals(rows, solution), "auto"))
    statistic, p_value = breusch_pagan(auxiliary)
    if not np.isnan(statistic):
        tests.append({"test": "breusch_pagan", "statistic": statistic, "p_value": p_value, "n": auxiliary.n})
    return tests


def _training_accuracy(estimator: Any, rows: Rows) -> dict[str, Any]:
    """Return the share of rows with a correct label, beside that of the commonest label."""
    import numpy as np

    from linearly.dataset.rows.block import SingleBlockRows

    K = len(estimator.classes_)

    def count(block: Block) -> Any:
        if not len(block):
            return np.zeros(K + 1)
        assert block.y is not None
        w = np.ones(len(block)) if block.weight is None else block.weight
        correct = estimator.predict(SingleBlockRows(replace(block, y=None))) == estimator.classes_[block.y]
        return np.append(np.bincount(block.y, w, minlength=K), (w * correct).sum())

    *counts, correct = rows.reduce(count)
    total = float(sum(counts))
    common = int(np.argmax(counts))
    return {
        "accuracy": float(correct) / total,
        "commonest": estimator.classes_.tolist()[common],
        "commonest_share": float(counts[common]) / total,
    }
