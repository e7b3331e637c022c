"""Run gradient descent on least squares. A Gram gives each gradient at a cost of p², without a pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.solution import Solution
from linearly.exceptions import warn_not_converged
from linearly.kernels.double_double import Array, DoubleDouble

MAX_STEPS = 10_000
GRADIENT_TOL = 1e-9  # relative to the gradient at the start


@dataclass(frozen=True, slots=True, eq=False)
class GradientDescentHistory:
    """The steps of gradient descent: step size, and loss, gradient norm and coefficients before the step."""

    step: Array
    loss: Array
    gradient_norm: Array
    coef: Array  # steps × p × k

    def __len__(self) -> int:
        return len(self.loss)


def gradient_descent(
    gram: Gram, solution: Solution, step: float | None = None, steps: int = MAX_STEPS
) -> tuple[Solution, GradientDescentHistory]:
    """Minimise ½‖y − Xβ‖² + ½α‖β‖² from β = 0; return the solution and the history of steps.

    The default step 1/L, L being the largest curvature, never overshoots. Columns are scaled to unit length.
    """
    A, C, total, unit, y_unit = gram.normal_equations(solution.centering)
    size = np.sqrt(np.diagonal(A))
    size = np.where(size > 0, size, 1.0)
    user = unit * size
    cross, A, C = A, A / size / size[:, None], C / size[:, None]
    A = A + np.diag(solution.alpha / user**2)
    curvature = np.linalg.eigvalsh(A)[-1]
    rate = (1.0 / curvature if curvature > 0 else 1.0) if step is None else step
    b = np.zeros_like(C)
    losses, norms, places = [], [], []
    start = np.linalg.norm(C)
    for _ in range(steps):
        gradient = A @ b - C
        places.append(b / user[:, None] * y_unit)
        norms.append(float(np.linalg.norm(gradient)))
        losses.append(float((0.5 * (total + (b * (gradient - C)).sum(axis=0)) * y_unit**2).sum()))
        if norms[-1] <= GRADIENT_TOL * start or not np.isfinite(norms[-1]):
            break
        b = b - rate * gradient
    else:
        warn_not_converged(
            f"Gradient descent stopped after {steps} steps with the gradient at {norms[-1] / start:.1g} of its "
            'initial norm, because the columns are too correlated. Use method="auto", which solves the problem '
            "directly.",
        )
    history = GradientDescentHistory(np.full(len(losses), rate), np.array(losses), np.array(norms), np.array(places))
    return _solution_at(solution, _min_norm(solution, places[-1]), cross * unit * unit[:, None]), history


def _min_norm(solution: Solution, coef: Array) -> Array:
    """Return the coefficients of smallest norm with the same predictions, as the other methods do."""
    if not solution.aliased:
        return coef
    first = int(solution.centering == "centred")
    spanned, _ = np.linalg.qr(solution.inverse_root[first:, first:])
    return np.asarray(spanned @ (spanned.T @ coef))


def _solution_at(solution: Solution, coef: Array, cross: Array) -> Solution:
    """Return the solution with other coefficients, and its residual sum of squares there."""
    best, intercept, at_mean = solution.coef, solution.intercept, solution.prediction_at_mean
    if solution.centering == "constant":
        best = np.vstack([intercept, best])
    extra = coef - best
    # At the minimum of the ridge objective the gradient of the sum of squares is −2 alpha times the coefficients.
    rss = solution.rss - 2 * solution.alpha * (extra * best).sum(axis=0) + (extra * (cross @ extra)).sum(axis=0)
    if solution.centering == "constant":
        intercept, coef = coef[0], coef[1:]
        at_mean = intercept
    elif solution.mean is not None:
        intercept = intercept - (solution.mean[:, None] * DoubleDouble.of(extra)).sum(axis=0).to_float64()
    extended = (DoubleDouble.of(coef), DoubleDouble.of(intercept))
    moved = replace(solution, coef=coef, intercept=intercept, prediction_at_mean=at_mean, rss=rss, extended=extended)
    return replace(moved, is_far=None)
