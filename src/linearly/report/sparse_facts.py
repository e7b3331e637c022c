"""Collect the facts about a lasso or elastic net: selected terms, the path with its errors, evaluation and proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linearly.algorithm.elastic_net.path import coefficient_path, grid, largest_alpha
from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
from linearly.dataset.rows.block import Rows
from linearly.evaluation.evaluate import evaluate_rows
from linearly.inference.glance import glance
from linearly.inference.tidy import tidy
from linearly.models.elastic_net_base import ElasticNetBase
from linearly.report.page_parts import Facts

MAX_PATHS = 12  # coefficients drawn, the largest ones
_N_ALPHAS = 60  # of the path of a model with a given penalty
_PROOF_BUDGET = 1e8  # operations, some seconds


def sparse_facts(model: ElasticNetBase, rows: Rows, level: float, held_out: Rows | None = None) -> Facts:
    """Return selected terms, path, evaluation and proof of a fitted lasso or elastic net of one target."""
    if model.coef_.ndim > 1:
        raise ValueError("Reports require a model with one target. Fit each target separately.")
    fitted = evaluate_rows(model, rows, level=level)
    judged = None if held_out is None else evaluate_rows(model, held_out, level=level)
    certificate = replace(model.certificate_, budget=_PROOF_BUDGET)
    penalty = model.penalty_
    return {
        "kind": "sparse",
        "n": fitted.n,
        "weighted": next(iter(rows)).weight is not None,
        "alpha": penalty.alpha,
        "l1_ratio": penalty.l1_ratio,
        "chosen": hasattr(model, "alpha_"),
        "intercept": bool(model.fit_intercept),
        "n_active": len(model.active_),
        "terms": tidy(model),
        "statistics": glance(model).row(0),
        "evaluation": {"n": fitted.n, "metrics": fitted.metrics},
        "held_out": None if judged is None else {"n": judged.n, "metrics": judged.metrics},
        "path": _path(model),
        "proof": {"verdict": certificate.verdict, "text": certificate.describe()},
    }


def _path(model: ElasticNetBase) -> Facts:
    """Return coefficients times the standard deviations of their columns for each penalty, and the folds' errors."""
    loss = QuadraticLoss.of(model.summary_, bool(model.fit_intercept))
    errors: Facts = {}
    if hasattr(model, "alphas_"):
        row = list(np.atleast_1d(model.l1_ratio)).index(model.l1_ratio_)
        alphas = np.atleast_2d(model.alphas_)[row]
        errors = {name: np.atleast_2d(getattr(model, f"cv_{name}_"))[row] for name in ("errors", "std_errors")}
    else:
        alphas = grid(max(largest_alpha(loss, model.penalty_), model.penalty_.alpha) or 1.0, _N_ALPHAS)
    coef, _ = loss.coefficients(coefficient_path(loss, model.penalty_, alphas))
    scaled = coef[:, :, 0] * (model.summary_.centered_norms / np.sqrt(loss.weight))[:, None]
    shown = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")[:MAX_PATHS]
    shown = shown[np.abs(scaled[shown]).max(axis=1) > 0]
    return {"alphas": alphas, "shown": shown, "coefs": scaled[shown], **errors}


def drawn_alphas(facts: Facts) -> Any:
    """Return the base-10 logarithms of the penalties of the path, and which of them exist."""
    alphas = np.array(facts["path"]["alphas"], dtype=np.float64)
    return np.log10(alphas[alphas > 0]), alphas > 0
