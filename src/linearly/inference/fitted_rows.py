"""Refuse rows and weights that are not those of a fit, where figures of others would mean nothing.

A fit keeps how many rows it had, what they weigh, and how well it fits them. Other rows with all of these the same are
as good as impossible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, Solution
from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.kernels.matrices import drop_low_part
from linearly.models.label_encoding import labelled_rows
from linearly.models.logistic_regression import LogisticRegression
from linearly.models.score_classifier import log_softmax

Array = NDArray[np.float64]

_CLOSE = 1e-9  # two sums of weights, taken in another order, differ by less
_FITS = 1e-6  # and two sums of losses


class RowDiagnostics(NamedTuple):
    """Fitted values, residuals, leverages and weights of rows."""

    fit: Array
    residual: Array
    leverage: Array
    weight: Array


def check_rows_of_fit(solution: Solution, parts: RowDiagnostics, what: str) -> None:
    """Refuse rows that a least-squares solution is not of: by their number, weights, residuals and leverages."""
    present = parts.weight > 0
    weight, residual = parts.weight[present], parts.residual[present]
    if len(weight) != solution.n:
        raise _others(what, f"there are {len(weight):,} of positive weight, and the fit had {solution.n:,}")
    logs = float(np.log(weight).sum())
    same = _close(float(weight.sum()), solution.weight)
    if not same or abs(logs - solution.log_weight) > _CLOSE * (solution.n + abs(solution.log_weight)):
        raise _other_weights(what, bool((weight != 1).any()), float(weight.sum()), solution.weight)
    digits = min(solution.digits, 8.0)  # a fit of few digits has residuals and leverages of few
    enough = max(_FITS, 10.0 ** (2 - digits))
    y = parts.fit[present] + residual
    unit = float(np.abs(y).max(initial=0.0)) or 1.0  # squares of numbers near 1e±200 must neither overflow nor vanish
    squares, noise = (float((weight * (part / unit) ** 2).sum()) for part in (residual, y))
    rss = float(solution.rss[0]) / unit / unit
    if np.isfinite(rss) and not abs(squares - rss) <= enough * max(squares, rss) + INTERPOLATION_TOL * noise:
        told = f"{squares * unit * unit:.6g} and {float(solution.rss[0]):.6g}"
        raise _others(what, f"their residuals and those of the fit have sums of squares {told}")
    leverage, trace = float(parts.leverage[present].sum()), float(np.trace(solution.shrinkage))
    if np.isfinite(trace) and not abs(leverage - trace) <= enough * (1 + trace):
        raise _others(what, f"their leverages add up to {leverage:.6g}, and those of the fit to {trace:.6g}")


def check_labelled_rows_of_fit(model: LogisticRegression, X: Any, y: Any, sample_weight: Any, what: str) -> Rows:
    """Return the rows of a logistic fit; refuse others by their number, the weights of classes and the likelihood."""
    _, rows = labelled_rows(model, X, y, sample_weight, classes=model.classes_, reset=False)
    K, columns = len(model.classes_), np.abs(model._coefficients)

    def add_up(block: Block) -> Array:
        check_finite(block)
        codes = np.asarray(block.y).astype(np.intp)
        weight = np.ones(len(codes)) if block.weight is None else block.weight
        if block.unknown is not None:
            codes, weight = np.where(block.unknown, 0, codes), np.where(block.unknown, 0.0, weight)
        Z = drop_low_part(block.X)
        loss = -log_softmax(model.scores(Z))[np.arange(len(codes)), codes]
        with np.errstate(over="ignore"):
            reach = (abs(Z) @ columns).max(axis=1) + np.abs(model._constants).max()
        counted = weight > 0
        sums = [np.count_nonzero(counted), weight[counted] @ loss[counted], weight[counted] @ reach[counted]]
        return np.array([*sums, *np.bincount(codes, weight, K), *np.bincount(codes[counted], minlength=K)])

    n, loss, reach, *by_class = rows.reduce(add_up)
    weights, counts = np.array(by_class[:K]), np.array(by_class[K:])
    if n != model.n_rows_:
        raise _others(what, f"there are {int(n):,} of positive weight, and the fit had {model.n_rows_:,}")
    for label, mine, fitted in zip(model.classes_.tolist(), weights, model._class_weights, strict=True):
        if not _close(float(mine), float(fitted)):
            if np.array_equal(weights, counts):
                raise _other_weights(what, False, n, float(model._class_weights.sum()))
            raise _others(what, f"those of class {label!r} weigh {mine:.6g}, and the fit had {fitted:.6g}")
    if not abs(loss + model.log_likelihood_) <= _FITS * abs(model.log_likelihood_) + 64 * EPS * reach:
        raise _others(what, f"their log likelihood is {-loss:.6g}, and that of the fit {model.log_likelihood_:.6g}")
    return rows


def _other_weights(what: str, weighted: bool, total: float, fitted: float) -> ValueError:
    if not weighted:
        return _others(what, f"they have no weights, and those of the fit add up to {fitted:.6g}", "Pass sample_weight")
    return _others(what, f"their weights add up to {total:.6g}, and those of the fit to {fitted:.6g}")


def _others(what: str, how: str, remedy: str = "Pass the rows and weights of the fit") -> ValueError:
    return ValueError(f"X has other rows than the fit, and {what} takes those of the fit: {how}. {remedy}.")


def _close(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= _CLOSE * max(abs(a), abs(b))
