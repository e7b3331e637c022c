"""Are the rows what the model assumes? Tests of the residuals, and collinearity of the columns."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.special import chdtrc

from linearly.algorithm.least_squares.gram import Gram, target_matrix
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, solve_adaptively
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.rows.views import MappedRows
from linearly.inference.durbin_watson import EXACT_BELOW, Differences, DurbinWatson, durbin_watson
from linearly.inference.fitted_rows import check_rows_of_fit
from linearly.inference.normality import SHAPIRO_ROWS, anderson_darling, lilliefors, shapiro_wilk
from linearly.inference.tidy import Array, check_single_target, require_solution, row_diagnostics
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.double_double import Numbers
from linearly.kernels.matrices import dense_keeping_low_part
from linearly.models.base import column_names, training_rows
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Table


@single_threaded_blas()
def residual_tests(model: LeastSquaresBase, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """A row for each test of the residuals: ``test, statistic, p_value, n``.

    Normality by Shapiro-Wilk (at most 5 000 evenly spaced rows; ``n`` says how many), by Kolmogorov-Smirnov in
    Lilliefors' form, since mean and variance are estimated, and by Anderson-Darling. Equal variance by Breusch-Pagan in
    Koenker's form. Independence of neighbouring rows by Durbin-Watson, against positive correlation. The rows
    are those of the fit, with its weights if it had any, and others are refused: each residual is then multiplied by
    the root of its weight, and rows of weight 0 are absent. Of an exact fit, whose residuals are rounding errors, all
    tests are NaN. For a `Model`, X is the data that it was fitted to.
    """
    model, X = unwrap_model(model, X, y, sample_weight, "residual_tests")
    solution = require_solution(model)
    check_single_target(model, "residual_tests")
    rows = training_rows(model, X, y, sample_weight, reset=False)
    parts = row_diagnostics(rows, solution)
    check_rows_of_fit(solution, parts, "residual_tests")
    fit, residual, _, weight = parts
    fit, residual = ((part * np.sqrt(weight))[weight > 0] for part in (fit, residual))
    notes, n = [], len(residual)
    if solution.alpha == 0 and _rounding_alone(residual, fit + residual):
        notes = ["The fit is exact: its residuals are rounding errors, and tests of them would tell nothing."]
        found = [(np.nan, np.nan, rows_used) for rows_used in (min(n, SHAPIRO_ROWS), n, n, n, n)]
    else:
        normal = [test(residual) for test in (shapiro_wilk, lilliefors, anderson_darling)]
        uneven = breusch_pagan(solve_adaptively(squared_residuals(rows, solution), RidgeProblem()).solution)
        found = [*normal, (*uneven, n), _independence(rows, solution, n)]
    return Table(
        {
            "test": ["shapiro_wilk", "lilliefors", "anderson_darling", "breusch_pagan", "durbin_watson"],
            "statistic": [row[0] for row in found],
            "p_value": [row[1] for row in found],
            "n": [row[2] for row in found],
        },
        notes=notes,
    )


def _rounding_alone(residual: Array, y: Array) -> bool:
    """Whether residuals are what rounding leaves of an exact fit, by the rule of the report."""
    size = float(np.abs(y).max(initial=0.0)) or 1.0  # squares of numbers near 1e±200 must neither overflow nor vanish
    return bool(((residual / size) ** 2).sum() <= INTERPOLATION_TOL * ((y / size) ** 2).sum())


def breusch_pagan(about: Solution) -> tuple[float, float]:
    """Koenker's studentised form, of the fit of squared residuals to the features: n · R² and its p-value.

    Features as many as rows fit anything: then nothing is known.
    """
    if about.rank == 0 or about.dof <= 0 or not about.tss[0] > 0:
        return np.nan, np.nan
    statistic = float(about.n * (1 - about.rss[0] / about.tss[0]))
    return statistic, float(chdtrc(about.rank, statistic))


def squared_residuals(rows: Rows, solution: Solution) -> Rows:
    """The same features with squared residuals for targets, times their weights; rows of weight 0 stay absent."""

    def squared(block: Block) -> Block:
        X, residual, weight = _residuals(block, solution)
        present = None if block.weight is None else (weight > 0).astype(np.float64)
        return replace(block, X=X, y=weight * residual**2, weight=present)

    return MappedRows(rows, squared)


def _independence(rows: Rows, solution: Solution, n: int) -> DurbinWatson:
    """Durbin and Watson's test of rows in their order: exact where they are few, else block by block."""
    parts = (_in_order(block, solution) for block in rows)
    told = [(residual, u) for residual, u in parts if len(residual)] if n < EXACT_BELOW else []
    if told:
        residual, u = (np.concatenate(column) for column in zip(*told, strict=True))
        return durbin_watson(residual, np.linalg.qr(u)[0])
    total = reduce(add, (Differences.of(residual, u) for residual, u in parts if len(residual)))
    return DurbinWatson(total.statistic, total.normal_p_value(), total.n)


def _in_order(block: Block, solution: Solution) -> tuple[Array, Array]:
    """Residuals and coordinates of the rows that count, both times the roots of the weights."""
    X, residual, weight = _residuals(block, solution)
    root, present = np.sqrt(weight), weight > 0
    return (residual * root)[present], (solution.whitened_rows(X) * root[:, None])[present]


def _residuals(block: Block, solution: Solution) -> tuple[Numbers, Array, Array]:
    X = dense_keeping_low_part(block.X)
    y = target_matrix(block)
    assert y is not None
    weight = np.ones(len(X)) if block.weight is None else block.weight
    return X, y[:, 0] - solution.predict(X)[:, 0], weight


@single_threaded_blas()
def vif(model: LeastSquaresBase) -> Table:
    """Variance inflation of each feature, ``term, vif``: 1 / (1 − R²) of the feature on the others.

    1 means unrelated to the others; above 10 its standard error is more than three times what it could be; infinite for
    a feature that is a combination of others, and for those it is a combination of.
    """
    model = unwrap_estimator(model)
    require_solution(model)
    summary: Gram = model.summary_
    solution = RidgeProblem(0.0).solve(summary)
    root, length = solution.inverse_root[1:, 1:], summary.centered_norms[:, None]
    inflation = ((length * root) ** 2).sum(axis=1)
    inflation[~solution.identified[1:]] = np.inf
    return Table({"term": list(column_names(model)), "vif": inflation})
