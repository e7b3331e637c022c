"""Minimise the logistic loss with a penalty of absolute values by proximal Newton.

Each step minimises the quadratic approximation of the loss plus the penalty, which is a lasso in the Hessian and the
gradient of one pass, by the active-set method of `elastic_net` (Friedman, Hastie & Tibshirani 2010; Lee, Sun & Saunders
2014). Its minimum is accurate to rounding, so steps shrink quadratically.
"""

from __future__ import annotations

import numpy as np

from linearly.algorithm.elastic_net.active_set import minimize
from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
from linearly.algorithm.logistic.objective import LossDerivatives
from linearly.algorithm.logistic.optimizers import MAX_PASSES, STEP_TOL_SE, Evaluate, History, OptimizeResult
from linearly.kernels.double_double import Array

_SUFFICIENT_DECREASE = 1e-4  # of the decrease that the quadratic approximation promises (Armijo 1966)
_STALLED_STEP_SE = 1e-6  # standard errors; below it a step that does not shrink is a rounding error


def proximal_newton(evaluate: Evaluate, B: Array, lam: Array) -> OptimizeResult:
    """Minimise the loss plus Σ λ|B|.

    Parameters
    ----------
    evaluate : callable
        One pass over the rows: loss, gradient and Hessian at coefficients B, with the penalty of squares if any.
    B : ndarray of shape (q, c)
        Coefficients to start from.
    lam : ndarray of shape (q,)
        Penalty of the absolute value of each coefficient, 0 for the intercept.

    Returns
    -------
    OptimizeResult
        Coefficients, some of them exactly 0, and the derivatives of the last pass. Its loss is without Σ λ|B|.
    """
    history, penalty = History(), np.tile(lam, B.shape[1])
    at, before = evaluate(B, True), np.inf
    for _ in range(MAX_PASSES):
        goal = _minimize_approximation(at, B, penalty)
        step = goal - B
        flat = step.T.reshape(-1)
        assert at.hessian is not None
        decrement = float(flat @ at.hessian @ flat)
        weighty = min(1.0, at.loss)
        stalled = before <= _STALLED_STEP_SE**2 * weighty and decrement > before / 16
        if decrement <= STEP_TOL_SE**2 * weighty or stalled:
            history.append(B, at, 1.0)
            return OptimizeResult(goal, at, history, True)
        before = decrement
        promised = float((at.gradient * step).sum()) + _absolute(penalty, goal) - _absolute(penalty, B)
        now, length = at.loss + _absolute(penalty, B), 1.0
        while True:
            # A whole step keeps its zeros; sums of B and a multiple of the step would round.
            trial_B = goal if length == 1.0 else B + length * step
            trial = evaluate(trial_B, True)
            ends = trial.loss + _absolute(penalty, trial_B)
            if ends <= now + _SUFFICIENT_DECREASE * length * promised + 1e-12 * abs(now) or length < 1e-6:
                break
            length /= 2
        history.append(B, at, length)
        B, at = trial_B, trial
    history.append(B, at, 0.0)
    return OptimizeResult(B, at, history, False)


def _absolute(penalty: Array, B: Array) -> float:
    return float(penalty @ np.abs(B.T.reshape(-1)))


def _minimize_approximation(at: LossDerivatives, B: Array, penalty: Array) -> Array:
    """Return the minimum of the quadratic approximation at B plus the penalty."""
    H, b = at.hessian, B.T.reshape(-1)
    assert H is not None
    moments = H @ b - at.gradient.T.reshape(-1)
    loss = QuadraticLoss.from_products(H, moments)
    start = b * loss.unit / loss.y_unit[0]
    found = minimize(loss, 0, penalty / loss.unit / loss.y_unit[0], np.zeros(len(b)), start=start)
    return np.asarray((found.w / loss.unit * loss.y_unit[0]).reshape(B.T.shape).T)
