"""Check the assumptions of a least-squares fit: tests of the residuals, and collinearity of the columns."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.special import chdtrc

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, solve_adaptively
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.views import MappedRows
from linearly.inference.coefficients import coefficients_of
from linearly.inference.durbin_watson import EXACT_BELOW, Differences, DurbinWatson, durbin_watson
from linearly.inference.fitted_rows import block_residuals, check_rows_of_fit, row_diagnostics, unit_of
from linearly.inference.fitted_terms import check_single_target, require_solution
from linearly.inference.normality import SHAPIRO_ROWS, anderson_darling, lilliefors, shapiro_wilk
from linearly.inference.term_hypotheses import terms_of
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.models.base import column_names, training_rows
from linearly.table import Table

_TESTS = ("shapiro_wilk", "lilliefors", "anderson_darling", "breusch_pagan", "durbin_watson")


@single_threaded_blas()
def residual_tests(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Return tests of the residuals of a least-squares fit: normality, equal variance and independence.

    Parameters
    ----------
    model : Model, LinearRegression or RidgeCV
        A fitted least-squares model of one target.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        The fitted rows. For a `Model`, the data that it was fitted to, without `y` and `sample_weight`.
    y : array-like of shape (n_rows,), optional
        The fitted targets.
    sample_weight : array-like of shape (n_rows,), optional
        The weights used in the fit, if any. Each residual is multiplied by the square root of its weight, and rows with
        weight 0 are left out.

    Returns
    -------
    Table
        Columns ``test, statistic, p_value, n``, where ``n`` is the number of rows that the test used:

        - ``shapiro_wilk`` of at most 5,000 evenly spaced rows,
        - ``lilliefors``, the Kolmogorov-Smirnov test with estimated mean and variance,
        - ``anderson_darling``,
        - ``breusch_pagan`` for equal variance, in Koenker's form,
        - ``durbin_watson`` for independence of neighbouring rows, against positive correlation.

        All are NaN if the fit is exact, because its residuals are then rounding errors.

    Raises
    ------
    TypeError
        If the model is not a least-squares model.
    ValueError
        If the rows or weights differ from the fitted ones.

    See Also
    --------
    augment : The residuals themselves.
    vif : Collinearity of the columns.

    References
    ----------
    .. [1] Royston (1995), Remark AS R94: A Remark on Algorithm AS 181: The W-test for Normality.
    .. [2] Koenker (1981), A note on studentizing a test for heteroscedasticity.
    .. [3] Durbin, Watson (1950), Testing for Serial Correlation in Least Squares Regression. I.

    Examples
    --------
    >>> import linearly as ly
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.1, 4.9, 7.0, 8.8]
    >>> ly.residual_tests(ly.LinearRegression().fit(X, y), X, y)["test"].tolist()[3:]
    ['breusch_pagan', 'durbin_watson']
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
    if solution.alpha == 0 and is_rounding_error(residual, fit + residual):
        notes = [
            "The fit is exact, so its residuals are rounding errors and cannot be tested. Test a fit with residuals."
        ]
        results = [(np.nan, np.nan, used) for used in (min(n, SHAPIRO_ROWS), n, n, n, n)]
    else:
        normal = [test(residual) for test in (shapiro_wilk, lilliefors, anderson_darling)]
        variance = breusch_pagan(solve_adaptively(squared_residuals(rows, solution), RidgeProblem()).solution)
        results = [*normal, (*variance, n), _serial_correlation(rows, solution, n)]
    statistic, p_value, used = zip(*results, strict=True)
    return Table({"test": _TESTS, "statistic": statistic, "p_value": p_value, "n": used}, notes=notes)


def is_rounding_error(residual: Array, y: Array) -> bool:
    """Return whether the residuals of y are only the rounding errors of an exact fit."""
    unit = unit_of(y)
    return bool(((residual / unit) ** 2).sum() <= INTERPOLATION_TOL * ((y / unit) ** 2).sum())


def breusch_pagan(squares: Solution) -> tuple[float, float]:
    """Return n·R² and its p-value, of a fit of squared residuals to the features: the test in Koenker's form.

    Both are NaN with as many features as rows, which fit anything.
    """
    if squares.rank == 0 or squares.dof <= 0 or not squares.tss[0] > 0:
        return np.nan, np.nan
    statistic = float(squares.n * (1 - squares.rss[0] / squares.tss[0]))
    return statistic, float(chdtrc(squares.rank, statistic))


def squared_residuals(rows: Rows, solution: Solution) -> Rows:
    """Return rows with the same features and, as targets, squared residuals times their weights."""

    def square(block: Block) -> Block:
        X, _, residual, weight = block_residuals(block, solution)
        counted = None if block.weight is None else (weight > 0).astype(np.float64)
        return replace(block, X=X, y=np.where(weight > 0, weight * residual**2, 0.0), weight=counted)

    return MappedRows(rows, square)


def _serial_correlation(rows: Rows, solution: Solution, n: int) -> DurbinWatson:
    """Return Durbin and Watson's test of rows in their order: exact for few rows, else block by block."""

    def weighted(block: Block) -> tuple[Array, Array]:
        X, _, residual, weight = block_residuals(block, solution)
        root, counted = np.sqrt(weight), weight > 0
        return (residual * root)[counted], (solution.whitened_rows(X) * root[:, None])[counted]

    parts = (part for part in map(weighted, rows) if len(part[0]))
    if n < EXACT_BELOW:
        residual, u = (np.concatenate(column) for column in zip(*parts, strict=True))
        return durbin_watson(residual, np.linalg.qr(u)[0])
    total = reduce(add, (Differences.of(residual, u) for residual, u in parts))
    return DurbinWatson(total.statistic, total.normal_p_value(), total.n)


@single_threaded_blas()
def vif(model: Any, *, terms: bool = False) -> Table:
    """Return the variance inflation factor of each feature: 1 / (1 − R²) of the feature on the others.

    Parameters
    ----------
    model : Model, LinearRegression or RidgeCV
        A fitted least-squares model.
    terms : bool, default=False
        If True, return one generalised factor per term of a `Model`'s formula, for all columns of the term together.

    Returns
    -------
    Table
        Columns ``term, vif``. 1 means that the feature is uncorrelated with the others. Above 10, the standard error is
        more than three times as large as with uncorrelated features. The VIF is infinite for a linear combination of
        other features, and for those others. With ``terms=True``, ``term, df, gvif, gvif_per_df``, where the last is
        GVIF^(1 / (2 df)): the factor by which standard errors grow, comparable between terms.

    Raises
    ------
    TypeError
        If the model is not a least-squares model.

    See Also
    --------
    tidy : The standard errors.

    References
    ----------
    .. [1] Belsley, Kuh, Welsch (1980), Regression Diagnostics, chapter 3.
    .. [2] Fox, Monette (1992), Generalized Collinearity Diagnostics.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [1.0, 3.0, 5.0, 8.0])
    >>> ly.vif(model)["vif"].round(4)
    array([1.5625, 1.5625])
    """
    whole, model = model, unwrap_estimator(model)
    require_solution(model)
    summary: Gram = model.summary_
    solution = RidgeProblem(0.0).solve(summary)
    root, length = solution.inverse_root[1:, 1:], summary.centered_norms[:, None]
    if terms:
        return _generalized_vif(whole, model, length * root, solution)
    inflation = ((length * root) ** 2).sum(axis=1)
    inflation[~solution.identified[1:]] = np.inf
    return Table({"term": list(column_names(model)), "vif": inflation})


def _generalized_vif(whole: Any, model: Any, root: Array, solution: Solution) -> Table:
    """Return GVIF = det(R_TT) · det(R⁻¹_TT) for the columns T of each term, with R the correlations of all columns."""
    gram = model.summary_.gram().in_float64()
    cross = gram.centered_crossprod[: gram.p, : gram.p]
    size = np.sqrt(np.diagonal(cross))
    first = int(model.solution_.has_intercept)
    labels, df, gvif = [], [], []
    for term in terms_of(whole, coefficients_of(model, "vif")):
        own = term.columns - first
        labels.append(term.label)
        df.append(len(own))
        if not solution.identified[1:][own].all():
            gvif.append(np.inf)
            continue
        correlation = cross[np.ix_(own, own)] / size[own] / size[own, None]
        gvif.append(float(np.linalg.det(correlation) * np.linalg.det(root[own] @ root[own].T)))
    per_df = np.array(gvif) ** (1 / (2 * np.array(df)))
    return Table({"term": labels, "df": df, "gvif": gvif, "gvif_per_df": per_df})
