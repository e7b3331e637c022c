"""Which terms of a logistic regression of quasi-separable classes have no finite estimate.

Rows that a hyperplane tells apart contribute nothing to the likelihood in the limit. The rows that are left on it have
a maximum of their own, and a term has a finite estimate if those rows determine it (A. Albert, J. A. Anderson 1984).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.identification import undetermined_coefs
from linearly.algorithm.logistic.objective import Logistic
from linearly.algorithm.logistic.solver import LogisticSolver
from linearly.algorithm.separability.certificate import Certificate
from linearly.algorithm.separability.decide import tied_rows
from linearly.dataset.rows.block import as_rows
from linearly.kernels.matrices import dense

_CELLS = 2**22  # numbers in the rows that are searched: a second or so
_COLUMNS = 1000
_MOVES = 0.5  # in logits: a Newton step moves rows that can be told apart by about 1, and the others by nothing


def unbounded_terms(certificate: Certificate) -> NDArray[np.bool_]:
    """Return which terms, intercept first if there is one, have no finite estimate.

    All terms are, where the classes are separable, more than two, or the rows too many to be searched. Rows are taken
    for told apart where Newton's steps move them without end: one too many makes a term unbounded, never finite.
    """
    n, p = certificate.X.shape
    intercept = certificate.fit_intercept
    everything = np.ones(p + int(intercept), dtype=bool)
    if certificate.verdict == "separable" or len(certificate.classes) > 2 or n * p > _CELLS or p > _COLUMNS:
        return everything
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
        apart = (2 * y - 1) * (objective.design(X) @ step)[:, 0] > _MOVES
        if not apart.any():
            return everything
        X, y = X[~apart], y[~apart]
    return everything
