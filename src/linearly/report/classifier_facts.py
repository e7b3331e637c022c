"""The facts about a classifier: how often it is right, what it rests on, and what is proven about the rows."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.separability.certificate import Certificate
from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import error_floor
from linearly.dataset.rows.block import Block, Rows
from linearly.evaluation.evaluate import Evaluation, evaluate
from linearly.inference.likelihood import odds_ratios
from linearly.inference.tidy import glance, tidy
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense_float64
from linearly.models.logistic_regression import LogisticRegression
from linearly.plots.regions import Plane
from linearly.report.row_sample import Sample, random_keys
from linearly.table import Table

Array = NDArray[np.float64]

DRAWN = 600  # rows in the picture of two features
SHOWN = 10  # rows in the table of rows
CURVE = 200  # points of a curve
PATH = 400  # updates of the picture of a pocket
REGION = 120  # points a side at which the model is asked for its regions
# A proof of separability among K labels compares each row with K − 1 rivals, in K − 1 times the columns.
_MOST_CELLS = 200_000  # rows × columns × rivals that are searched for one
_MOST_COLUMNS = 100
_MOST_DIMENSIONS = 120  # columns × rivals: 50 labels of 6 columns that overlap took minutes
_MOST_FLOOR = 12_000  # rows × columns × rivals whose error floor is worked out


def class_facts(model: Any, rows: Rows, level: float, held_out: Rows | None = None) -> dict[str, Any]:
    """Evaluation, coefficients, training, separability, and the regions of two features."""
    if getattr(model, "multilabel_", False):
        raise ValueError("A report is about one label a row; fit each of the labels on its own.")
    labels = list(map(str, model.classes_.tolist()))
    evaluation = evaluate(model, rows, level=level)
    judged = evaluation if held_out is None else evaluate(model, held_out, level=level)
    with warnings.catch_warnings():  # outside of the threads: what is ignored in one of them is ignored in all
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        coded = getattr(rows, "classes", None)  # what goes to the blocks of a cluster must not hold the rows
        drawn = rows.reduce(lambda block: _drawn(model, block, coded))
    found: dict[str, Any] = {
        "kind": "classification",
        "n": evaluation.n,
        "weighted": next(iter(rows)).weight is not None,
        "classes": labels,
        "evaluation": _evaluation(judged),
        "held_out": None if held_out is None else {"n": judged.n, "fitted": {"metrics": evaluation.metrics}},
        "baseline": _baseline(judged),
        "rows": _shown(drawn, rows.names, labels),
        "coefficients": _coefficients(model),
        "scales": _scales(rows) if model.n_features_in_ <= _MOST_COLUMNS else None,
        "training": _training(model),
        "shrunk": _shrunk(model, labels),
        "separability": _separability(model, rows, evaluation),
        "plane": _plane(model, drawn, rows.names) if model.n_features_in_ == 2 else None,
    }
    if isinstance(model, LogisticRegression):
        found |= _logistic(model, level)
    return found


def _drawn(model: Any, block: Block, classes: NDArray[Any] | None) -> Sample:
    """Features, the number of the actual class and of the predicted one."""
    place = {label: k for k, label in enumerate(model.classes_.tolist())}

    def values(kept: NDArray[np.intp]) -> NDArray[np.float64]:
        X, y = dense_float64(block.X[kept]), np.asarray(block.y).ravel()[kept]
        if not len(X):
            return np.empty((0, 2 + X.shape[1]))
        truth = y if classes is None else classes[y]
        said = model.predict(X)
        codes = [[place[label] for label in labels.tolist()] for labels in (truth, said)]
        return np.column_stack([*codes, X])

    keys = random_keys(block.global_index(np.arange(len(block))))
    return Sample.of(DRAWN, keys if block.weight is None else np.where(block.weight > 0, keys, np.inf), block, values)


def _evaluation(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "kind": evaluation.kind,
        "n": evaluation.n,
        "level": evaluation.level,
        "labels": list(map(str, evaluation.labels)),
        "metrics": evaluation.metrics,
        "confusion": evaluation.confusion,
        "per_class": evaluation.per_class,
        "calibration": evaluation.calibration,
        "roc": _thinned(evaluation.roc, "false_positive_rate", "true_positive_rate"),
        "precision_recall": _thinned(evaluation.precision_recall, "recall", "precision"),
        "notes": list(evaluation.notes),
    }


def _thinned(curve: Table | None, x: str, y: str) -> dict[str, Any] | None:
    """A curve of at most CURVE points a label, evenly spaced along its length."""
    if curve is None:
        return None
    label = curve["label"] if "label" in curve.columns else np.zeros(len(curve), dtype=int)
    kept = []
    for name in dict.fromkeys(label.tolist()):
        mine = np.flatnonzero(label == name)
        along = np.cumsum(np.hypot(np.diff(curve[x][mine], prepend=0), np.diff(curve[y][mine], prepend=0)))
        steps = np.searchsorted(along, np.linspace(along[0], along[-1], CURVE))
        kept.append(mine if len(mine) <= CURVE else mine[np.unique(np.clip(steps, 0, len(mine) - 1))])
    chosen = np.concatenate(kept)
    told: dict[str, Any] = {"label": list(map(str, label[chosen]))} if "label" in curve.columns else {}
    return told | {x: curve[x][chosen], y: curve[y][chosen]}


def _baseline(evaluation: Evaluation) -> dict[str, Any]:
    """What always giving the most frequent label would do."""
    table = evaluation.confusion
    assert table is not None
    counts = np.column_stack([table[name] for name in table.columns[1:]]).sum(axis=1)
    k = int(np.argmax(counts))
    return {"label": str(evaluation.labels[k]), "share": float(counts[k] / counts.sum())}


def _shown(drawn: Sample, names: tuple[str, ...], labels: list[str]) -> dict[str, Any]:
    few = drawn.first(SHOWN).in_order()
    actual, said = few.values[:, :2].astype(int).T
    return {
        "place": few.places,
        "y": [labels[k] for k in actual],
        "predicted": [labels[k] for k in said],
        "names": list(map(str, names)),
        "X": few.values[:, 2:],
    }


def _coefficients(model: Any) -> dict[str, Any] | None:
    if not hasattr(model, "coef_") or isinstance(model, LogisticRegression):
        return None
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    labels = model.classes_.tolist()
    return {
        "labels": [str(label) for label in (labels[1:] if len(coef) == 1 else labels)],
        "intercept": intercept,
        "coef": coef,
    }


def _scales(rows: Rows) -> NDArray[np.float64]:
    """The standard deviation of each column."""
    total = rows.reduce(lambda block: Gram.of(Block(dense_float64(block.X), None, block.weight)))
    return np.asarray(total.centered_norms / np.sqrt(float(to_float64(total.weight))))


def _logistic(model: LogisticRegression, level: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "statistics": glance(model).row(0),
        "reference": str(model.classes_[0] if len(model.classes_) == 2 else model.reference_),
        "alpha": float(model.alpha),
        "separated": None if model.separation_ is None else model.separation_.verdict,
        "covariance": model.covariance,
    }
    if getattr(model, "_root", None) is not None:
        found |= {"terms": tidy(model, level=level), "odds_ratios": odds_ratios(model, level=level)}
        found["identified"] = model._identified.tolist()
    return found


def _training(model: Any) -> dict[str, Any] | None:
    if not hasattr(model, "mistakes_per_pass_") and not hasattr(model, "n_updates_"):
        return None
    path = np.asarray(getattr(model, "error_history_", []))
    best = int(getattr(model, "best_update_", 0))
    shown = np.unique(np.r_[np.arange(0, len(path), max(1, len(path) // PATH)), best, len(path) - 1])
    return {
        "mistakes": list(getattr(model, "mistakes_per_pass_", [])),
        "updates": int(model.n_updates_),
        "passes": int(model.n_passes_),
        "stopped": str(getattr(model, "stop_reason_", "")),
        "novikoff": bool(model._novikoff()) if hasattr(model, "_novikoff") else False,
        "pocket": path[shown] if len(path) else None,
        "updates_shown": shown if len(path) else None,
        "best_update": best if len(path) else None,
    }


def _shrunk(model: Any, labels: list[str]) -> dict[str, Any] | None:
    """The shrinkage that a discriminant analysis took on its own, and the labels that were in need of it."""
    if not hasattr(model, "shrinkage_") or model.shrinkage:
        return None
    used = np.broadcast_to(model.shrinkage_, len(labels))
    needy = [label for label, share in zip(labels, used, strict=True) if share > 0]
    each = np.ndim(model.shrinkage_) > 0  # one covariance a label, or one for all
    return {"share": float(used.max()), "labels": needy if each else None} if needy else None


def _separability(model: Any, rows: Rows, evaluation: Evaluation) -> dict[str, Any] | None:
    """The verdict with its proof, where the rows are few enough to be searched."""
    n, p, rivals = evaluation.n, model.n_features_in_, len(evaluation.labels) - 1
    # Where the model's own hyperplanes separate the rows, the search is short however many labels there are.
    far = (n * p * rivals > _MOST_CELLS or p * rivals > _MOST_DIMENSIONS) and not _separates(model, evaluation)
    if n * p > _MOST_CELLS or p > _MOST_COLUMNS or far:
        return None
    blocks = list(rows)
    classes = getattr(rows, "classes", None)
    X = np.concatenate([dense_float64(block.X) for block in blocks])
    y = np.concatenate([np.asarray(block.y).ravel() for block in blocks])
    y = y if classes is None else classes[y]
    places = [block.describe_row(i) for block in blocks for i in range(len(block))]
    if any(block.weight is not None for block in blocks):
        weight = np.concatenate([np.ones(len(b)) if b.weight is None else b.weight for b in blocks])
        X, y, places = X[weight > 0], y[weight > 0], [place for place, w in zip(places, weight, strict=True) if w > 0]
    if len(np.unique(y)) < 2:
        return None
    intercept = bool(getattr(model, "fit_intercept", True))
    certificate = separability(X, y, fit_intercept=intercept, names=rows.names)
    if certificate.verdict == "undecided":
        return None
    found: dict[str, Any] = {
        "verdict": certificate.verdict,
        "rules": list(certificate.rules[:3]),
        "margin": certificate.margin,
        "bound": certificate.mistake_bound(),
        "columns": [name for name, _ in certificate.separating_columns[:8]],
        "n_labels": len(certificate.classes),
        "checked": certificate.check(),
        "errors": round((1 - evaluation["accuracy"]) * n) if not _weighted(blocks) else None,
    }
    if certificate.witness is not None:
        found |= _witness(certificate, X, y, places, rows.names)
        if n * p * rivals <= _MOST_FLOOR:
            found["floor"] = int(error_floor(X, y, fit_intercept=intercept))
    elif certificate.verdict == "separable":
        found["floor"] = 0
    if not math.isfinite(found["bound"]):
        found["bound"] = None
    return found


def _separates(model: Any, evaluation: Evaluation) -> bool:
    return hasattr(model, "coef_") and bool(evaluation["accuracy"] == 1)


def _weighted(blocks: list[Block]) -> bool:
    return any(block.weight is not None for block in blocks)


def _witness(
    certificate: Certificate, X: NDArray[np.float64], y: NDArray[Any], places: list[str], names: tuple[str, ...]
) -> dict[str, Any]:
    assert certificate.witness is not None
    at = certificate.witness.rows[:12]
    point = certificate.common_hull_point
    return {
        "witness": {
            "place": [places[i] for i in at],
            "label": [str(label) for label in y[at].tolist()],
            "rival": [str(label) for label in certificate.witness.rivals[:12].tolist()],
            "multiplier": [float(m) for m in certificate.witness.witness_weights[:12]],
            "names": list(map(str, names)),
            "X": X[at],
        },
        "n_witness": len(certificate.witness),
        "twins": len(at) == 2 and bool(np.array_equal(X[at[0]], X[at[1]])),
        "meeting_point": None if point is None else np.asarray(point),
    }


def _plane(model: Any, drawn: Sample, names: tuple[str, ...]) -> dict[str, Any]:
    few = drawn.in_order()
    points = few.values[:, 2:]
    labels = np.array(model.classes_)[few.values[:, 0].astype(int)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        plane = Plane.of(model, points, labels, names)
        first, second = plane.grid_of(REGION)
        region = plane.predict_codes(first, second)
        lead = plane.class_margins(first, second)
    return {
        "points": points,
        "actual": plane.actual,
        "predicted": plane.predicted,
        "names": list(names),
        "region": region,
        "lead": lead,
    }
