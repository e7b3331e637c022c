"""Are the rows what the model assumes? Tests of the residuals, and collinearity of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc

from linearly.algorithm.gram import Gram
from linearly.algorithm.ladder import Ask, climb
from linearly.dataset.rows import LocalRows
from linearly.evidence.durbin_watson import Differences, durbin_watson
from linearly.evidence.inference import Array, fitted, plain, refuse_several, row_parts
from linearly.evidence.normality import anderson_darling, lilliefors, shapiro_wilk
from linearly.evidence.table import Table
from linearly.models.base import column_names, training_rows
from linearly.models.least_squares import LeastSquares

_EXACT_DURBIN_WATSON = 100  # rows from which the normal approximation is used, as in R's lmtest


def residual_tests(model: LeastSquares, X: Any, y: Any = None) -> Table:
    """A row for each test of the residuals: ``test, statistic, p_value, n``.

    Normality by Shapiro-Wilk (at most 5 000 evenly spaced rows; ``n`` says how many), by Kolmogorov-Smirnov in
    Lilliefors' form, since mean and variance are estimated, and by Anderson-Darling. Equal variance by Breusch-Pagan in
    Koenker's form. Independence of neighbouring rows by Durbin-Watson, against positive correlation.
    """
    solution = fitted(model)
    refuse_several(model, "residual_tests")
    rows = training_rows(model, X, y, None, reset=False)
    assert isinstance(rows, LocalRows)
    _, residual, _, _ = row_parts(rows, solution)
    normal = [shapiro_wilk(residual), lilliefors(residual), anderson_darling(residual)]
    found = [(test.statistic, test.p_value, test.n) for test in normal]
    found.append((*breusch_pagan(rows, residual), len(residual)))
    u = [solution.coordinates(plain(block.X)) for block in rows]
    if len(residual) < _EXACT_DURBIN_WATSON:
        Q, _ = np.linalg.qr(np.concatenate(u))
        independence = durbin_watson(residual, Q)
        found.append((independence.statistic, independence.p_value, len(residual)))
    else:
        ends = np.cumsum([len(part) for part in u])[:-1]
        parts = [Differences.of(r, z) for r, z in zip(np.split(residual, ends), u, strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        found.append((total.statistic, total.normal_p_value(), len(residual)))
    return Table(
        {
            "test": ["shapiro_wilk", "lilliefors", "anderson_darling", "breusch_pagan", "durbin_watson"],
            "statistic": [row[0] for row in found],
            "p_value": [row[1] for row in found],
            "n": [row[2] for row in found],
        }
    )


def breusch_pagan(rows: LocalRows, residual: Array) -> tuple[float, float]:
    """Koenker's studentised form: n · R² of the squared residuals on the features."""
    solution = climb(rows.with_targets(residual**2), Ask()).solution
    if solution.rank == 0 or not solution.tss[0] > 0:
        return np.nan, np.nan
    statistic = float(len(residual) * (1 - solution.rss[0] / solution.tss[0]))
    return statistic, float(chdtrc(solution.rank, statistic))


def vif(model: LeastSquares) -> Table:
    """Variance inflation of each feature, ``term, vif``: 1 / (1 − R²) of the feature on the others.

    1 means unrelated to the others; above 10 its standard error is more than three times what it could be; infinite for
    a feature that is a combination of others.
    """
    fitted(model)
    summary: Gram = model.summary_
    solution = Ask(0.0).of(summary)
    inflation = summary.squares * (solution.root[1:] ** 2).sum(axis=1)
    for j in solution.aliased:
        inflation[j] = np.inf
    return Table({"term": list(column_names(model)), "vif": inflation})
