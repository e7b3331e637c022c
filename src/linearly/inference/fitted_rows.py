"""Compute what a fit leaves of its rows, and check that rows and weights are those of the fit.

A fit keeps how many rows it had, their weights, and how well it fits them. Other rows that agree in all of these are
practically impossible. Leverages, tests and refits on other rows would mean nothing, so those raise ValueError.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, Solution
from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.kernels.double_double import Numbers
from linearly.kernels.matrices import dense_keeping_low_part, drop_low_part
from linearly.models.label_encoding import labelled_rows
from linearly.models.logistic_regression import LogisticRegression
from linearly.models.score_classifier import log_softmax

Array = NDArray[np.float64]

SUM_TOL = 1e-9  # relative difference of two sums of weights that were added in another order
LOSS_TOL = 1e-6  # relative difference of two sums of losses


class RowDiagnostics(NamedTuple):
    """Fitted values, residuals, leverages and weights of rows."""

    fit: Array
    residual: Array
    leverage: Array
    weight: Array


def row_weights(block: Block) -> Array:
    """Return the weights of a block's rows, 1 if it has none."""
    return np.ones(len(block)) if block.weight is None else block.weight


def block_residuals(block: Block, solution: Solution) -> tuple[Numbers, Array, Array, Array]:
    """Return features, fitted values, residuals and weights of a block, for one target."""
    X, y = dense_keeping_low_part(block.X), target_matrix(block)
    assert y is not None
    fit = solution.predict(X)[:, 0]
    if block.unknown is not None:
        fit[block.unknown] = np.nan
    return X, fit, y[:, 0] - fit, row_weights(block)


def row_diagnostics(rows: Rows, solution: Solution) -> RowDiagnostics:
    """Return fitted values, residuals, leverages and weights of all rows, for one target."""
    parts = []
    for block in rows:
        check_finite(block)
        X, fit, residual, weight = block_residuals(block, solution)
        leverage = weight * (solution.whitened_rows(X) ** 2).sum(axis=1)
        parts.append(np.stack([fit, residual, leverage, weight]))
    return RowDiagnostics(*np.concatenate(parts, axis=1))


def check_rows_of_fit(solution: Solution, parts: RowDiagnostics, what: str) -> None:
    """Raise ValueError if the number, weights, residuals or leverages of rows are not those of a least-squares fit."""
    counted = parts.weight > 0
    weight, residual = parts.weight[counted], parts.residual[counted]
    if len(weight) != solution.n:
        raise _others(what, f"there are {len(weight):,} of positive weight, and the fit had {solution.n:,}")
    if not same_weights(float(weight.sum()), float(np.log(weight).sum()), solution):
        raise _other_weights(what, bool((weight != 1).any()), float(weight.sum()), solution.weight)
    digits = min(solution.digits, 8.0)  # a fit of few digits has residuals and leverages of few
    tolerance = max(LOSS_TOL, 10.0 ** (2 - digits))
    y = parts.fit[counted] + residual
    unit = unit_of(y)
    squares, noise = (float((weight * (part / unit) ** 2).sum()) for part in (residual, y))
    rss = float(solution.rss[0]) / unit / unit
    if np.isfinite(rss) and not abs(squares - rss) <= tolerance * max(squares, rss) + INTERPOLATION_TOL * noise:
        sums = f"{squares * unit * unit:.6g} and {float(solution.rss[0]):.6g}"
        raise _others(what, f"their residuals and those of the fit have sums of squares {sums}")
    leverage, trace = float(parts.leverage[counted].sum()), float(np.trace(solution.shrinkage))
    if np.isfinite(trace) and not abs(leverage - trace) <= tolerance * (1 + trace):
        raise _others(what, f"their leverages add up to {leverage:.6g}, and those of the fit to {trace:.6g}")


def check_labelled_rows_of_fit(model: LogisticRegression, X: Any, y: Any, sample_weight: Any, what: str) -> Rows:
    """Return the rows of a logistic fit; raise ValueError if number, class weights or likelihood differ from it."""
    _, rows = labelled_rows(model, X, y, sample_weight, classes=model.classes_, reset=False)
    K, columns = len(model.classes_), np.abs(model._coefficients)

    def add_up(block: Block) -> Array:
        check_finite(block)
        codes, weight = np.asarray(block.y).astype(np.intp), row_weights(block)
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
        if not same_sum(float(mine), float(fitted)):
            if np.array_equal(weights, counts):
                raise _other_weights(what, False, n, float(model._class_weights.sum()))
            raise _others(what, f"those of class {label!r} weigh {mine:.6g}, and the fit had {fitted:.6g}")
    if not abs(loss + model.log_likelihood_) <= LOSS_TOL * abs(model.log_likelihood_) + 64 * EPS * reach:
        raise _others(what, f"their log likelihood is {-loss:.6g}, and that of the fit {model.log_likelihood_:.6g}")
    return rows


def same_sum(a: float, b: float, rounding: float = 0.0) -> bool:
    """Return whether two numbers may be one sum, added in another order."""
    return bool(a == b or abs(a - b) <= SUM_TOL * max(abs(a), abs(b)) + rounding)


def same_weights(total: float, logarithms: float, solution: Solution) -> bool:
    """Return whether weights with this sum, and sum of logarithms, may be those of a fit."""
    apart = abs(logarithms - solution.log_weight) > SUM_TOL * (solution.n + abs(solution.log_weight))
    return same_sum(total, solution.weight) and not apart


def unit_of(y: Array) -> float:
    """Return the largest size of numbers whose squares must not leave the float64 range; 1 if all are 0."""
    return float(np.abs(y).max(initial=0.0)) or 1.0


def _other_weights(what: str, weighted: bool, total: float, fitted: float) -> ValueError:
    if not weighted:
        return _others(what, f"they have no weights, and those of the fit add up to {fitted:.6g}", "Pass sample_weight")
    return _others(what, f"their weights add up to {total:.6g}, and those of the fit to {fitted:.6g}")


def _others(what: str, how: str, remedy: str = "Pass the rows and weights of the fit") -> ValueError:
    return ValueError(f"X has other rows than the fit, and {what} takes those of the fit: {how}. {remedy}.")
