"""Compute residuals and leverages of rows, and check that rows and weights are those of the fit.

A fit keeps how many rows it had, their weights, and how well it fits them. Other rows that agree in all of these are
practically impossible. Leverages, tests and refits on other rows would mean nothing, so those raise ValueError.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, Solution
from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.rows.block import Block, Rows, check_finite, row_weights
from linearly.kernels.double_double import Array, Numbers
from linearly.kernels.matrices import dense_keeping_low_part, drop_low_part
from linearly.models.label_encoding import labelled_rows
from linearly.models.score_classifier import log_softmax

if TYPE_CHECKING:
    from linearly.models.logistic_regression import LogisticRegression

SUM_TOL = 1e-9  # relative difference of two sums of weights that were added in another order
LOSS_TOL = 1e-6  # relative difference of two sums of losses


class RowDiagnostics(NamedTuple):
    """Fitted values, residuals, leverages and weights of rows."""

    fit: Array
    residual: Array
    leverage: Array
    weight: Array


def block_residuals(block: Block, solution: Solution) -> tuple[Numbers, Array, Array, Array]:
    """Return features, fitted values, residuals and weights of a block, for one target."""
    X, y = dense_keeping_low_part(block.X), target_matrix(block)
    assert y is not None
    fit = solution.predict(X)[:, 0]
    residual = solution.residuals(X, y)[:, 0]
    if block.unknown is not None:
        fit[block.unknown] = residual[block.unknown] = np.nan
    return X, fit, residual, row_weights(block)


def row_diagnostics(rows: Iterable[Block], solution: Solution) -> RowDiagnostics:
    """Return fitted values, residuals, leverages and weights of all rows, for one target."""
    parts = []
    for block in rows:
        check_finite(block)
        X, fit, residual, weight = block_residuals(block, solution)
        leverage = weight * (solution.whitened_rows(X) ** 2).sum(axis=1)
        fit = fit if block.subtracted is None else fit + block.subtracted
        parts.append(np.stack([fit, residual, leverage, weight]))
    return RowDiagnostics(*np.concatenate(parts, axis=1))


def collect_keys(rows: Rows, keys: list[NDArray[Any]]) -> Iterator[Block]:
    """Yield the blocks of rows and append the keys of each: lines of a file, or numbers of rows from 0."""
    for block in rows:
        at = np.arange(0, len(block), 2 if block.paired else 1)
        words = block.place is not None
        keys.append(np.array([block.describe_row(int(i)) for i in at]) if words else block.global_index(at))
        yield block


def join_keys(keys: list[NDArray[Any]], data: Any) -> NDArray[Any]:
    """Return the keys of all blocks; for a pandas frame, the labels of its index instead of row numbers."""
    joined = np.concatenate(keys)
    if nw.dependencies.is_pandas_dataframe(data):
        return data.index.to_numpy()[joined]  # type: ignore[no-any-return]
    return joined if joined.dtype.kind != "U" else np.array(shorten_places(joined.tolist()))


def shorten_places(places: Sequence[str]) -> list[str]:
    """Return where rows are without the name of their file if they stay different: "line 7 of a.csv" is "line 7".

    >>> shorten_places(["line 7 of a.csv", "line 8 of a.csv"])
    ['line 7', 'line 8']
    """
    short = [re.sub(r"^((?:row|line) \d+) of .*$", r"\1", place) for place in places]
    return short if len(set(short)) == len(short) else list(places)


def check_rows_of_fit(solution: Solution, parts: RowDiagnostics, what: str) -> None:
    """Raise ValueError if the number, weights, residuals or leverages of rows differ from a least-squares fit's."""
    counted = parts.weight > 0
    weight, residual = parts.weight[counted], parts.residual[counted]
    if len(weight) != solution.n:
        raise _others(what, f"{len(weight):,} rows have positive weight, but the fit had {solution.n:,}")
    if not same_weights(float(weight.sum()), float(np.log(weight).sum()), solution):
        raise _other_weights(what, bool((weight != 1).any()), float(weight.sum()), solution.weight)
    digits = min(solution.digits, 8.0)  # a fit of few digits has residuals and leverages of few
    tolerance = max(LOSS_TOL, 10.0 ** (2 - digits))
    y = parts.fit[counted] + residual
    unit = unit_of(y)
    squares, noise = (float((weight * (part / unit) ** 2).sum()) for part in (residual, y))
    rss = float(solution.rss[0]) / unit / unit
    # Rounding adds to the length of the residuals, not to their squares.
    apart = tolerance / 2 * math.sqrt(max(squares, rss)) + math.sqrt(INTERPOLATION_TOL * noise)
    if np.isfinite(rss) and not abs(math.sqrt(squares) - math.sqrt(rss)) <= apart:
        sums = f"{squares * unit * unit:.6g} and {float(solution.rss[0]):.6g}"
        raise _others(what, f"the residual sums of squares of these rows and of the fit are {sums}")
    leverage, trace = float(parts.leverage[counted].sum()), float(np.trace(solution.shrinkage))
    if np.isfinite(trace) and not abs(leverage - trace) <= tolerance * (1 + trace):
        raise _others(
            what, f"the leverages of these rows add up to {leverage:.6g}, but the fit has a total of {trace:.6g}"
        )


def check_labelled_rows_of_fit(model: LogisticRegression, X: Any, y: Any, sample_weight: Any, what: str) -> Rows:
    """Return the rows of a logistic fit; raise ValueError if number, class weights or likelihood differ from it."""
    _, rows = labelled_rows(model, X, y, sample_weight, classes=model.classes_, reset=False)
    K, columns = len(model.classes_), np.abs(model.class_coef_)

    def add_up(block: Block) -> Array:
        check_finite(block)
        codes, weight = np.asarray(block.y).astype(np.intp), row_weights(block)
        if block.unknown is not None:
            codes, weight = np.where(block.unknown, 0, codes), np.where(block.unknown, 0.0, weight)
        Z = drop_low_part(block.X)
        loss = -log_softmax(model.block_scores(block))[np.arange(len(codes)), codes]
        with np.errstate(over="ignore"):
            reach = (abs(Z) @ columns).max(axis=1) + np.abs(model.class_constants_).max()
        counted = weight > 0
        n_rows = np.count_nonzero(counted.reshape(-1, 2).any(axis=1) if block.paired else counted)
        sums = [n_rows, weight[counted] @ loss[counted], weight[counted] @ reach[counted]]
        return np.array([*sums, *np.bincount(codes, weight, K), *np.bincount(codes[counted], minlength=K)])

    n, loss, reach, *by_class = rows.reduce(add_up)
    weights, counts = np.array(by_class[:K]), np.array(by_class[K:])
    if n != model.n_rows_:
        raise _others(what, f"{int(n):,} rows have positive weight, but the fit had {model.n_rows_:,}")
    for label, mine, fitted in zip(model.classes_.tolist(), weights, model.class_weights_, strict=True):
        if not same_sum(float(mine), float(fitted)):
            if np.array_equal(weights, counts):
                raise _other_weights(what, False, n, float(model.class_weights_.sum()))
            raise _others(what, f"the rows of class {label!r} have weight {mine:.6g}, but in the fit {fitted:.6g}")
    if not abs(loss + model.log_likelihood_) <= LOSS_TOL * abs(model.log_likelihood_) + 64 * EPS * reach:
        raise _others(
            what, f"the log likelihood of these rows is {-loss:.6g}, but that of the fit is {model.log_likelihood_:.6g}"
        )
    return rows


def same_sum(a: float, b: float, rounding: float = 0.0) -> bool:
    """Return whether two numbers may be one sum, added in another order."""
    return bool(a == b or abs(a - b) <= SUM_TOL * max(abs(a), abs(b)) + rounding)


def same_weights(total: float, logarithms: float, solution: Solution) -> bool:
    """Return whether weights with this sum, and sum of logarithms, may equal the fitted weights."""
    apart = abs(logarithms - solution.log_weight) > SUM_TOL * (solution.n + abs(solution.log_weight))
    return same_sum(total, solution.weight) and not apart


def unit_of(y: Array) -> float:
    """Return the largest size of numbers whose squares must not leave the float64 range; 1 if all are 0."""
    return float(np.abs(y).max(initial=0.0)) or 1.0


def _other_weights(what: str, weighted: bool, total: float, fitted: float) -> ValueError:
    if not weighted:
        return _others(
            what, f"these rows have no weights, but the fit has a total weight of {fitted:.6g}", "Pass sample_weight"
        )
    totals = f"the weights of these rows add up to {total:.6g}, but the fit has a total weight of {fitted:.6g}"
    return _others(what, totals)


def _others(what: str, how: str, remedy: str = "Pass the rows and weights of the fit") -> ValueError:
    return ValueError(f"{what} requires the rows of the fit, but X has other rows: {how}. {remedy}.")
