"""Gather the facts about a fitted model that `fit` and `show` print as text or JSON."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from linearly.formatting import shorten
from linearly.models.kind_checks import is_elastic_net
from linearly.models.registry import MODELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linearly.api import Model
    from linearly.dataset.rows.block import Block, Rows
    from linearly.evaluation.evaluate import Evaluation

MAX_DIAGNOSTIC_ROWS = 100_000  # rows up to which the training rows are read again


def model_facts(model: Model, level: float = 0.95) -> dict[str, Any]:
    """Return the facts that the model itself contains."""
    from linearly.models.base import count_rows_of_fit
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
        "rows": count_rows_of_fit(estimator),
        "dropped": model.n_dropped,
        "one_level": [term.label for term in model.design.terms if term.width == 0],
        "passes": int(estimator.n_passes_) if hasattr(estimator, "n_passes_") else None,
        "note": model.note,
        "level": level,
    }
    if alpha > 0:
        facts |= {"alpha": alpha, "alpha_chosen": hasattr(estimator, "alpha_")}
    if model.design.groups is not None:
        from linearly.dataset.design.design import group_columns

        facts["groups_column"] = " and ".join(group_columns(model.design.groups))
    if model.classes:
        facts["classes"] = list(model.classes)
    if isinstance(estimator, LeastSquaresBase):
        return facts | _least_squares_facts(model, level)
    if is_elastic_net(estimator):
        return facts | _sparse_facts(model)
    return facts | (_logistic_facts(model, level) if model.model == "logistic" else _classifier_facts(model))


def model_title(model: Model) -> str:
    """Return the name of the model in words: a linear regression with a penalty is a ridge regression."""
    return MODELS["ridge" if model.model == "linear" and _alpha(model.estimator) > 0 else model.model].words


def _alpha(estimator: Any) -> float:
    """Return the penalty of the fit, 0 if there is none."""
    from linearly.models.least_squares_base import LeastSquaresBase

    if hasattr(estimator, "penalty_"):
        return float(estimator.penalty_.alpha)
    penalised = getattr(estimator, "solution_", None) is not None and isinstance(estimator, LeastSquaresBase)
    return float(estimator.solution_.alpha) if penalised else float(getattr(estimator, "alpha", 0.0) or 0.0)


def _least_squares_facts(model: Model, level: float) -> dict[str, Any]:
    from linearly.inference.diagnostics import vif
    from linearly.inference.fitted_terms import term_names
    from linearly.inference.glance import glance
    from linearly.inference.tidy import tidy
    from linearly.report.term_facts import shared_terms

    estimator = model.estimator
    solution = estimator.solution_
    facts: dict[str, Any] = {
        "statistics": glance(estimator).row(0),
        "terms": _terms(model, tidy(estimator, level=level)),
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


def _sparse_facts(model: Model) -> dict[str, Any]:
    from linearly.inference.glance import glance
    from linearly.inference.tidy import tidy

    estimator = model.estimator
    terms = [term for term in _terms(model, tidy(estimator)) if term["estimate"] != 0 or term["term"] == "Intercept"]
    facts: dict[str, Any] = {"statistics": glance(estimator).row(0), "terms": terms}
    if hasattr(estimator, "folds_"):
        facts["folds"] = len(estimator.folds_.parts)
    return facts


def _logistic_facts(model: Model, level: float) -> dict[str, Any]:
    import numpy as np

    from linearly.inference.glance import glance
    from linearly.inference.tidy import tidy
    from linearly.table import to_python_value

    estimator = model.estimator
    facts: dict[str, Any] = {"statistics": glance(estimator).row(0), "separated": estimator.separation_ is not None}
    facts |= _fitted_findings(model)
    if len(model.classes) > 2:
        facts["reference"] = to_python_value(estimator.reference_)
    facts["aliased"] = [model.names[j] for j in estimator.aliased_]
    if estimator.null_direction_ is not None:
        names = (*(["Intercept"] if estimator.fit_intercept else []), *model.names)
        facts["unidentified"] = _unidentified(names, estimator.null_direction_ == 0)
    if estimator.selects:
        return facts | {"terms": _terms(model, tidy(estimator))}
    if estimator.inverse_root_ is None:
        return facts | {"terms": []}
    terms = _terms(model, tidy(estimator, level=level))
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
    facts: dict[str, Any] = _fitted_findings(model)
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


def training_facts(model: Model, rows: Rows, *, cross_validate: bool) -> dict[str, Any]:
    """Return diagnostics on the training rows: tests of residuals, or accuracy, also cross-validated."""
    import numpy as np

    from linearly.models.least_squares_base import LeastSquaresBase

    if isinstance(model.estimator, LeastSquaresBase):
        has_facts = bool(model.names) and bool(np.isfinite(model.estimator.solution_.rss).all())  # else y² overflows
        return _regression_findings(model, rows) if has_facts else {"tests": [], "two_values": None, "findings": []}
    if not model.classes:
        return {}
    found = {"training": _training_accuracy(model.estimator, rows)}
    return found | (_cross_validated(model, rows) if cross_validate else {})


def _cross_validated(model: Model, rows: Rows) -> dict[str, Any]:
    """Return the cross-validated accuracy and the findings that it gives, if it is affordable."""
    from linearly.evaluation.cross_validate import fit_folds_if_affordable
    from linearly.evaluation.held_out_tests import classifier_tests
    from linearly.exceptions import NotEstimableWarning
    from linearly.findings.repeated_rows import share_repeated_labels

    with warnings.catch_warnings():
        # A level that only the held-out rows of a fold have: of no interest to a reader of the fit itself.
        warnings.simplefilter("ignore", NotEstimableWarning)
        folds = fit_folds_if_affordable(model.estimator, rows, int(rows.reduce(len)))
        if folds is None:
            return _not_cross_validated(model, rows)
        judged = folds.evaluation(positive=model.positive)
    metric = judged.metrics.row(0)
    ends = {name: metric[name] for name in ("conf_low", "conf_high")}
    repeated = share_repeated_labels(rows, model.estimator.classes_)
    tests = classifier_tests(judged, folds.test_widening)
    findings = _classifier_findings(model, judged, tests, repeated)
    return {"cross_validated": {"folds": folds.folds.K, "accuracy": judged["accuracy"], **ends}, "findings": findings}


def _not_cross_validated(model: Model, rows: Rows) -> dict[str, Any]:
    """Return the findings about a classifier one of whose labels has a single row; nothing for any other."""
    from linearly.evaluation.evaluate import evaluate_rows

    judged = evaluate_rows(model.estimator, rows, positive=model.positive)
    findings = _classifier_findings(model, judged, None)
    return {"findings": findings} if any(one["id"] == "not_cross_validated" for one in findings) else {}


def held_out_findings(model: Model, judged: Evaluation) -> dict[str, Any]:
    """Return the findings about a classifier by its evaluation on held-out rows; nothing about a regression."""
    return {"findings": findings_of_evaluation(model, judged, held_out=True)} if model.classes else {}


def findings_of_evaluation(model: Model, judged: Evaluation, *, held_out: bool = False) -> list[dict[str, Any]]:
    """Return the findings about a model by its evaluation, with advice for the command line."""
    from linearly.findings.evaluation import evaluation_findings

    found = evaluation_findings(model, judged, _describe_label, commands=True, held_out=held_out)
    return [asdict(finding) for finding in found]


def _classifier_findings(
    model: Model, judged: Evaluation, tests: dict[str, float | None] | None, repeated: float = 0.0
) -> list[dict[str, Any]]:
    from linearly.findings.classification import classifier_findings
    from linearly.findings.classification_facts import classification_facts

    facts = classification_facts(model.estimator, judged, _describe_label)
    facts |= {
        "commands": True,
        "target": model.target,
        "training_rows": True,
        "repeated": repeated,
        "rows_of_fit": True,
    }
    facts |= {"held_out": None if tests is None else {"tests": tests}, "weighted": model.design.weight is not None}
    facts |= {"features": list(map(str, model.design.features)), "formula": model.design.formula}
    return [asdict(finding) for finding in classifier_findings(facts)]


def _fitted_findings(model: Model) -> dict[str, Any]:
    """Return the findings about a classifier that need no rows."""
    from linearly.findings.classification import model_findings
    from linearly.findings.classification_facts import fitted_facts

    facts = fitted_facts(model.estimator, _describe_label) | {"commands": True}
    facts |= {"features": list(map(str, model.design.features)), "formula": model.design.formula}
    return {"findings": [asdict(finding) for finding in model_findings(facts)]}


def _describe_label(label: Any) -> str:
    return shorten(repr(label))


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


def _regression_findings(model: Model, rows: Rows) -> dict[str, Any]:
    """Return the findings about a regression on its training rows, and the tests behind them."""
    from linearly.findings.regression import regression_findings
    from linearly.findings.regression_facts import residual_facts
    from linearly.inference.tidy import tidy
    from linearly.report.term_facts import level_columns, references, shared_terms

    estimator, names = model.estimator, list(map(str, model.names))
    found = residual_facts(estimator, rows)
    about = {
        "commands": True,
        "target": model.target,
        "names": names,
        "features": list(map(str, model.design.features)),
        "p": len(names),
        "levels": level_columns(model.design),
        "references": references(model.design),
        "shared": shared_terms(model.design, names),
        "parameters": estimator.get_params(deep=False),
        "formula": model.design.formula,
        "n_dropped": model.n_dropped,
        "terms": tidy(estimator).to_dict(),
    }
    findings = [asdict(finding) for finding in regression_findings(found | about)]
    return {name: found[name] for name in ("tests", "two_values", "constant", "weighted")} | {"findings": findings}


def _training_accuracy(estimator: Any, rows: Rows) -> dict[str, Any]:
    """Return the share of rows with a correct label, beside that of the commonest label."""
    import numpy as np

    from linearly.dataset.rows.block import SingleBlockRows, row_weights

    K = len(estimator.classes_)

    def count(block: Block) -> Any:
        if not len(block):
            return np.zeros(K + 1)
        assert block.y is not None
        w = row_weights(block)
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
