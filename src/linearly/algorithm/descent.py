"""Gradient descent on least squares (S0, section 2), read off the Gram: every step costs p², no pass over the rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from linearly.algorithm.gram import Gram
from linearly.algorithm.solution import Solution
from linearly.kernels.doubled import Array, Doubled

MOST_STEPS = 10_000
SMALL_GRADIENT = 1e-9  # relative to the gradient at the start


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The steps of an optimizer: length of the step, loss and gradient norm before it, and where it stood."""

    step: Array
    loss: Array
    gradient_norm: Array
    coef: Array  # steps × p × k

    def __len__(self) -> int:
        return len(self.loss)


def descend(
    gram: Gram, solution: Solution, step: float | None = None, steps: int = MOST_STEPS
) -> tuple[Solution, Path]:
    """Walk down ½‖y − Xβ‖² + ½α‖β‖² from zero; the step 1/L, L the largest curvature, never overshoots.

    The columns are centred by the summary and scaled to unit length, as one would for gradient descent by hand.
    """
    p, unit = gram.p, gram.gauge.unit
    if not gram.intercept:
        zero = gram.mean + gram.gauge.shift / unit
        cross = gram.cross + zero[:, None] * zero * gram.weight
    else:
        cross = gram.cross
    size = np.sqrt(np.diagonal(cross)[:p])
    size = np.where(size > 0, size, 1.0)
    A, C = cross[:p, :p] / size / size[:, None], cross[:p, p:] / size[:, None]
    A = A + np.diag(solution.alpha / (unit[:p] * size) ** 2)
    rate = 1.0 / np.linalg.eigvalsh(A)[-1] if step is None else step
    total = np.diagonal(cross[p:, p:])
    b = np.zeros_like(C)
    losses, norms, places = [], [], []
    start = np.linalg.norm(C)
    for _ in range(steps):
        gradient = A @ b - C
        places.append(b / (unit[:p] * size)[:, None] * unit[p:])
        norms.append(float(np.linalg.norm(gradient)))
        losses.append(float((0.5 * (total + (b * (gradient - C)).sum(axis=0)) * unit[p:] ** 2).sum()))
        if norms[-1] <= SMALL_GRADIENT * start or not np.isfinite(norms[-1]):
            break
        b = b - rate * gradient
    else:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"Gradient descent stopped after {steps} steps with its gradient at {norms[-1] / start:.1g} of the start: "
            'the columns are too correlated for it. method="auto" solves this at once.',
            ConvergenceWarning,
            stacklevel=4,
        )
    coef = places[-1]
    intercept = solution.intercept
    if solution.mean is not None:
        moved = (solution.mean[:, None] * Doubled.of(coef - solution.coef)).sum(axis=0)
        intercept = solution.intercept - moved.rounded()
    path = Path(np.full(len(losses), rate), np.array(losses), np.array(norms), np.array(places))
    extra = coef - solution.coef
    rss = solution.rss + np.einsum("jt,jl,lt->t", extra, (cross[:p, :p] * unit[:p] * unit[:p, None]), extra)
    exact = (Doubled.of(coef), Doubled.of(intercept))
    return replace(solution, coef=coef, intercept=intercept, rss=rss, exact=exact), path
