"""Collect the facts about a classifier that its findings need, from an evaluation and from the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linearly.evaluation.evaluate import Evaluation
from linearly.models.base import column_names
from linearly.models.kind_checks import is_logistic

Facts = dict[str, Any]


def classification_facts(model: Any, judged: Evaluation, describe: Callable[[Any], str] = str) -> Facts:
    """Return the facts behind the findings about a fitted classifier.

    Parameters
    ----------
    model : estimator
        Fitted classifier.
    judged : Evaluation
        Its evaluation; on rows that it was not fitted to if there are any.
    describe : callable
        Returns the text of a label.
    """
    values = zip(judged.metrics["metric"].tolist(), judged.metrics["value"].tolist(), strict=True)
    return fitted_facts(model, describe) | {
        "evaluation": _evaluation_facts(judged, describe),
        "judged": dict(values),
        "label_counts": _label_counts(judged).tolist(),
        "baseline": _baseline(judged, describe),
    }


def fitted_facts(model: Any, describe: Callable[[Any], str] = str) -> Facts:
    """Return the facts about a fitted classifier that need no rows."""
    found: Facts = {
        "model": type(model).__name__,
        "p": int(getattr(model, "n_features_in_", 1)),
        "shrunk": _shrinkage(model, list(map(describe, model.classes_.tolist()))),
        "has_probabilities": hasattr(model, "predict_proba"),
    }
    if is_logistic(model):
        separation = model.separation_
        found |= {"reduced_bias": model.bias_reduction is not None}
        found |= {"aliased": [str(column_names(model)[j]) for j in model.aliased_]}
        found |= {"separated": None if separation is None else str(separation.verdict), "converged": model.converged_}
        found |= {"alpha": float(model.alpha), "has_intervals": model.inverse_root_ is not None and not model.selects}
    return found


def _evaluation_facts(evaluation: Evaluation, describe: Callable[[Any], str]) -> Facts:
    names = ("kind", "n", "level", "metrics", "confusion", "per_class", "calibration", "notes")
    return {name: getattr(evaluation, name) for name in names} | {"labels": list(map(describe, evaluation.labels))}


def _label_counts(evaluation: Evaluation) -> Any:
    """Return the weight of the rows of each label."""
    table = evaluation.confusion
    assert table is not None
    return np.column_stack([table[name] for name in table.columns[1:]]).sum(axis=1)


def _baseline(evaluation: Evaluation, describe: Callable[[Any], str]) -> Facts:
    """Return the most frequent label, its share, and the log loss of the shares of all labels."""
    counts = _label_counts(evaluation)
    k, shares = int(np.argmax(counts)), counts[counts > 0] / counts.sum()
    log_loss = float(-(shares * np.log(shares)).sum())
    return {"label": describe(evaluation.labels[k]), "share": float(counts[k] / counts.sum()), "log_loss": log_loss}


def _shrinkage(model: Any, labels: list[str]) -> Facts | None:
    """Return the shrinkage that a discriminant analysis chose on its own, and the labels that needed it."""
    if not hasattr(model, "shrinkage_") or model.shrinkage:
        return None
    used = np.broadcast_to(model.shrinkage_, len(labels))
    shrunk = [label for label, share in zip(labels, used, strict=True) if share > 0]
    one_per_label = np.ndim(model.shrinkage_) > 0
    return {"share": float(used.max()), "labels": shrunk if one_per_label else None} if shrunk else None
