"""Collect the facts about a classifier: evaluation, coefficients, training, and a proof of separability."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.separability.budget import is_affordable
from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import error_floor
from linearly.dataset.rows.block import Block, Rows, SingleBlockRows, row_weights
from linearly.evaluation.cross_validate import fit_folds_if_affordable
from linearly.evaluation.evaluate import Evaluation, evaluate_rows
from linearly.evaluation.held_out_tests import classifier_tests
from linearly.exceptions import CovarianceNotAvailableError
from linearly.findings.classification_facts import classification_facts
from linearly.findings.repeated_rows import share_repeated_labels
from linearly.findings.row_sample import MAX_SHOWN, Array, Sample, random_keys, rows_table
from linearly.inference.glance import glance
from linearly.inference.likelihood import odds_ratios
from linearly.inference.standard_deviations import deviations_of
from linearly.inference.tidy import tidy
from linearly.kernels.matrices import dense_float64
from linearly.models.kind_checks import is_logistic
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis
from linearly.models.logistic_regression import LogisticRegression
from linearly.plots.projection_plots import project
from linearly.plots.regions import Plane
from linearly.report.page_parts import Facts
from linearly.table import Table

MAX_DRAWN = 600  # rows in the figure of two features
MAX_CURVE_POINTS = 200
MAX_UPDATES = 400  # in the figure of a pocket
GRID = 120  # points per side at which the model predicts its regions
MAX_WITNESS_ROWS = 12
# A proof of separability among K labels compares each row with K − 1 rivals, in K − 1 times the columns.
_MAX_COLUMNS = 100
_MAX_DIMENSIONS = 120  # columns × rivals: 50 labels of 6 columns that overlap took minutes


def classifier_facts(model: Any, rows: Rows, level: float, held_out: Rows | None = None, positive: Any = None) -> Facts:
    """Return evaluation, coefficients, training, separability, and the regions of two features.

    The evaluation is on the held-out rows, or else cross-validated if that is affordable, or else on the rows given.
    """
    if getattr(model, "multilabel_", False):
        raise ValueError("Reports require a model with one label per row. Fit each label separately.")
    labels = list(map(str, model.classes_.tolist()))
    fitted = evaluate_rows(model, rows, positive=positive, level=level)
    if len(labels) == 2:
        positive = fitted.labels[0]
    judged, other = fitted, None
    if held_out is not None:
        judged = evaluate_rows(model, held_out, positive=positive, level=level)
        other = {"n": judged.n, "tests": classifier_tests(judged)}
    elif (folds := fit_folds_if_affordable(model, rows, fitted.n)) is not None:
        judged = folds.evaluation(positive=positive, level=level)
        other = {"n": judged.n, "folds": folds.folds.K, "tests": classifier_tests(judged, folds.test_widening)}
    with warnings.catch_warnings():  # outside of the threads: what is ignored in one of them is ignored in all
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        classes = rows.classes  # what goes to the blocks of a cluster must not hold the rows
        drawn = rows.reduce(lambda block: _draw_rows(model, block, classes))
        plane = _plane(model, drawn, rows.names) if model.n_features_in_ == 2 else None
        projection = _projection(model, drawn) if plane is None else None
    sample = drawn.first(MAX_SHOWN).in_order()
    actual, predicted = ([labels[k] for k in column] for column in sample.values[:, :2].astype(int).T)
    about = classification_facts(model, judged)
    of_fit = held_out is None
    found: Facts = about | {
        "kind": "classification",
        "n": fitted.n,
        "weighted": next(iter(rows)).weight is not None,
        "classes": labels,
        "evaluation": about["evaluation"]
        | {
            "roc": _thin_curve(judged.roc, "false_positive_rate", "true_positive_rate"),
            "precision_recall": _thin_curve(judged.precision_recall, "recall", "precision"),
        },
        "repeated": share_repeated_labels(rows, model.classes_) if other and of_fit else 0.0,
        "rows_of_fit": of_fit,
        "held_out": None if other is None else other | {"fitted": {"metrics": fitted.metrics}},
        "rows": rows_table(sample, rows.names, y=actual, predicted=predicted, X=sample.values[:, 2:]),
        "coefficients": _coefficients(model),
        "scales": deviations_of(rows) if model.n_features_in_ <= _MAX_COLUMNS else None,
        "training": _training(model),
        "separability": _separability(model, rows, fitted),
        "plane": plane,
        "projection": projection,
    }
    return found | _logistic(model, level) if is_logistic(model) else found


def _draw_rows(model: Any, block: Block, classes: NDArray[Any] | None) -> Sample:
    """Return a sample of a block: the indices of the actual and the predicted class, and the features."""
    index = {label: k for k, label in enumerate(model.classes_.tolist())}

    def values(kept: NDArray[np.intp]) -> Array:
        X, y = dense_float64(block.X[kept]), np.asarray(block.y).ravel()[kept]
        if not len(X):
            return np.empty((0, 2 + X.shape[1]))
        truth = y if classes is None else classes[y]
        given = X if block.offset is None else SingleBlockRows(replace(block.take(kept), y=None, weight=None))
        codes = [[index[label] for label in labels.tolist()] for labels in (truth, model.predict(given))]
        return np.column_stack([*codes, X])

    keys = random_keys(block.global_index(np.arange(len(block))))
    keys = keys if block.weight is None else np.where(block.weight > 0, keys, np.inf)
    return Sample.of(MAX_DRAWN, keys, block, values)


def _thin_curve(curve: Table | None, x: str, y: str) -> Facts | None:
    """Return at most MAX_CURVE_POINTS points of a curve per label, evenly spaced along its length."""
    if curve is None:
        return None
    label = curve["label"] if "label" in curve.columns else np.zeros(len(curve), dtype=int)
    kept = []
    for name in dict.fromkeys(label.tolist()):
        own = np.flatnonzero(label == name)
        along = np.cumsum(np.hypot(np.diff(curve[x][own], prepend=0), np.diff(curve[y][own], prepend=0)))
        steps = np.searchsorted(along, np.linspace(along[0], along[-1], MAX_CURVE_POINTS))
        kept.append(own if len(own) <= MAX_CURVE_POINTS else own[np.unique(np.clip(steps, 0, len(own) - 1))])
    chosen = np.concatenate(kept)
    labels: Facts = {"label": list(map(str, label[chosen]))} if "label" in curve.columns else {}
    return labels | {x: curve[x][chosen], y: curve[y][chosen]}


def _coefficients(model: Any) -> Facts | None:
    if not hasattr(model, "coef_") or is_logistic(model):
        return None
    coef, labels = np.atleast_2d(model.coef_), list(map(str, model.classes_.tolist()))
    return {
        "labels": labels[1:] if len(coef) == 1 else labels,
        "intercept": np.atleast_1d(model.intercept_),
        "coef": coef,
    }


def _logistic(model: LogisticRegression, level: float) -> Facts:
    found: Facts = {
        "statistics": glance(model).row(0),
        "reference": str(model.classes_[0] if len(model.classes_) == 2 else model.reference_),
        "alpha": float(model.alpha),
        "covariance": model.covariance,
    }
    try:
        terms = tidy(model, level=level)
    except CovarianceNotAvailableError:
        return found
    if model.selects:
        return found
    identified = np.isfinite(terms["std_error"])
    return found | {"terms": terms, "odds_ratios": odds_ratios(model, level=level), "identified": identified}


def _training(model: Any) -> Facts | None:
    if not hasattr(model, "mistakes_per_pass_") and not hasattr(model, "n_updates_"):
        return None
    found = {
        "mistakes": list(getattr(model, "mistakes_per_pass_", [])),
        "updates": int(model.n_updates_),
        "passes": int(model.n_passes_),
        "stopped": str(getattr(model, "stop_reason_", "")),
        "novikoff": bool(model.novikoff_bound_applies()) if hasattr(model, "novikoff_bound_applies") else False,
    }
    errors = np.asarray(getattr(model, "error_history_", []))
    if not len(errors):
        return found | dict.fromkeys(("pocket", "updates_shown", "best_update"))
    every = np.arange(0, len(errors), max(1, len(errors) // MAX_UPDATES))
    shown = np.unique(np.r_[every, model.best_update_, len(errors) - 1])
    return found | {"pocket": errors[shown], "updates_shown": shown, "best_update": int(model.best_update_)}


def _separability(model: Any, rows: Rows, evaluation: Evaluation) -> Facts | None:
    """Return the verdict with its proof if the rows are few enough to be searched."""
    n, p, n_rivals = evaluation.n, model.n_features_in_, len(evaluation.labels) - 1
    # If the model's own hyperplanes separate the rows, the search is short however many labels there are.
    is_separating = hasattr(model, "coef_") and bool(evaluation["accuracy"] == 1)
    too_many_labels = not is_affordable("page", n, p, n_rivals) or p * n_rivals > _MAX_DIMENSIONS
    if not is_affordable("page", n, p) or p > _MAX_COLUMNS or (too_many_labels and not is_separating):
        return None
    blocks = list(rows)
    classes = rows.classes
    X = np.concatenate([dense_float64(block.X) for block in blocks])
    y = np.concatenate([np.asarray(block.y).ravel() for block in blocks])
    y = y if classes is None else classes[y]
    places = np.array([block.describe_row(i) for block in blocks for i in range(len(block))], dtype=object)
    weighted = any(block.weight is not None for block in blocks)
    if weighted:
        present = np.concatenate([row_weights(b) for b in blocks]) > 0
        X, y, places = X[present], y[present], places[present]
    if len(np.unique(y)) < 2:
        return None
    intercept = bool(getattr(model, "fit_intercept", True))
    certificate = separability(X, y, fit_intercept=intercept, names=rows.names)
    if certificate.verdict == "undecided":
        return None
    found: Facts = {
        "verdict": certificate.verdict,
        "rules": list(certificate.rules[:3]),
        "margin": certificate.margin,
        "bound": certificate.mistake_bound(),
        "columns": [name for name, _ in certificate.separating_columns[:8]],
        "n_labels": len(certificate.classes),
        "checked": certificate.check(),
        "errors": None if weighted else round((1 - evaluation["accuracy"]) * n),
    }
    if certificate.witness is None:
        return found | ({"floor": 0} if certificate.verdict == "separable" else {})
    if is_affordable("error floor", n, p, n_rivals):
        found["floor"] = int(error_floor(X, y, fit_intercept=intercept))
    witness, point = certificate.witness, certificate.common_hull_point
    shown = witness.rows[:MAX_WITNESS_ROWS]
    return found | {
        "witness": {
            "place": places[shown],
            "label": list(map(str, y[shown].tolist())),
            "rival": list(map(str, witness.rivals[:MAX_WITNESS_ROWS].tolist())),
            "multiplier": [float(weight) for weight in witness.witness_weights[:MAX_WITNESS_ROWS]],
            "names": list(map(str, rows.names)),
            "X": X[shown],
        },
        "n_witness": len(witness),
        "twins": len(shown) == 2 and np.array_equal(*X[shown]),
        "meeting_point": None if point is None else np.asarray(point),
    }


def _projection(model: Any, drawn: Sample) -> Facts | None:
    """Return a sample of rows along the directions in which a discriminant analysis separates the classes."""
    if not isinstance(model, LinearDiscriminantAnalysis):
        return None
    values = drawn.in_order().values
    actual, predicted = values[:, :2].T.astype(int)
    found = project(model, values[:, 2:])
    return None if found is None else found | {"actual": actual, "predicted": predicted}


def _plane(model: Any, drawn: Sample, names: tuple[str, ...]) -> Facts:
    """Return a sample of rows, and the predictions on a grid around them."""
    values = drawn.in_order().values
    plane = Plane.of(model, values[:, 2:], np.array(model.classes_)[values[:, 0].astype(int)], names)
    grid = plane.grid(GRID)
    return {
        "points": plane.points,
        "actual": plane.actual,
        "predicted": plane.predicted,
        "names": list(names),
        "region": plane.predict_codes(*grid),
        "lead": plane.class_margins(*grid),
    }
