"""Separable classes in logistic regression: prove separation, and find the terms without a finite estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.identification import undetermined_coefs
from linearly.algorithm.logistic.objective import Logistic
from linearly.algorithm.logistic.solver import LogisticSolver
from linearly.algorithm.separability.budget import DEFAULT_BUDGET, BudgetExceeded, work_limit
from linearly.algorithm.separability.certificate import Certificate
from linearly.algorithm.separability.decide import separability, tied_rows
from linearly.algorithm.separability.float_overlap import certify_overlap
from linearly.algorithm.separability.halfspaces import Halfspaces
from linearly.dataset.rows.block import as_rows
from linearly.kernels.matrices import dense

_MAX_CELLS = 2**22  # numbers in the rows that are searched: about a second
_MAX_COLUMNS = 1000
_MIN_MOVE = 0.5  # in logits: a Newton step moves separated rows by about 1, and the others by nothing


def decide_separation(
    X: Any, y: Any, index: NDArray[np.intp] | None, *, fit_intercept: bool, names: Sequence[str]
) -> tuple[str, Certificate | None]:
    """Return whether the classes can be separated, with the proof if they can.

    The verdict is "overlapping", "unknown" if the decision takes too long, or that of the certificate, whose rows are
    numbered by `index`.
    """
    try:
        with work_limit(DEFAULT_BUDGET):
            if certify_overlap(Halfspaces(X, y, fit_intercept=fit_intercept, names=names)):
                return "overlapping", None
    except BudgetExceeded:
        return "unknown", None
    certificate = separability(X, y, fit_intercept=fit_intercept, names=names)
    if certificate.verdict == "undecided":
        return "unknown", None
    return certificate.verdict, replace(certificate, index=index)


def unbounded_terms(certificate: Certificate) -> NDArray[np.bool_]:
    """Return which terms, intercept first if there is one, have no finite estimate.

    In the limit, rows that a hyperplane separates contribute nothing to the likelihood. The rows on it have a maximum
    of their own, and a term has a finite estimate if those rows determine it [1]_. All terms count as unbounded if the
    classes are separable or more than two, or if the rows are too many to search. Rows count as separated if Newton's
    steps keep moving them: one too many makes a term unbounded, never finite.

    References
    ----------
    .. [1] A. Albert, J. A. Anderson (1984). On the existence of maximum likelihood estimates in logistic regression
       models. Biometrika 71, 1-10.
    """
    n, p = certificate.X.shape
    intercept = certificate.fit_intercept
    all_terms = np.ones(p + int(intercept), dtype=bool)
    if certificate.verdict == "separable" or len(certificate.classes) > 2 or n * p > _MAX_CELLS or p > _MAX_COLUMNS:
        return all_terms
    tied = tied_rows(certificate)
    X, y = dense(certificate.X[tied]), (np.asarray(certificate.y)[tied] == certificate.classes[1]).astype(np.float64)
    while 0 < y.sum() < len(y):
        rows = as_rows(X, y)
        scaling = ColumnScaling.of(next(iter(rows)), None)
        scaling = scaling if intercept else ColumnScaling(np.zeros_like(scaling.shift), scaling.scale)
        objective = Logistic(2, 0, scaling, intercept)
        found = LogisticSolver(objective, 0.0, np.array([len(y) - y.sum(), y.sum()])).solve(rows, "newton")
        if not found.separation_suspected:
            return undetermined_coefs(X, intercept)
        steps = found.history.coef
        step = steps[-1] - steps[-2] if len(steps) > 1 else np.zeros_like(found.B)
        separated = (2 * y - 1) * (objective.design(X) @ step)[:, 0] > _MIN_MOVE
        if not separated.any():
            return all_terms
        X, y = X[~separated], y[~separated]
    return all_terms
