"""Maximise the likelihood with Jeffreys' prior: Firth's bias reduction, finite for separated classes too.

The penalty is ½ log|I(B)|, I the information matrix. Its gradient needs, for each row, the c × c matrix
Q = (I_c ⊗ x)' I⁻¹ (I_c ⊗ x): the leverage, for two classes. (Firth 1993; for two classes X'(y − p + h(½ − p)) = 0.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.rounding_bounds import SAFE
from linearly.algorithm.least_squares.triangular import EPS, condition, inverse
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives, row_slices
from linearly.algorithm.logistic.optimizers import Evaluate, History, OptimizeResult, aliased_and_kept, quasi_newton
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import Array

MAX_SCORING_STEPS = 25  # of Fisher scoring, which is fast unless there are many coefficients for the number of rows
MIN_STEP_FRACTION = 1 / 16  # scoring ends if a step must be cut to less
REFRESH_AFTER = 40  # passes of L-BFGS before its preconditioner is computed anew
MAX_PASSES = 400  # of L-BFGS
SCORING_STEP_TOL = 1e-9  # standard errors; a smaller step ends scoring
GRADIENT_STEP_TOL = 1e-7  # and L-BFGS, where rounding errors of the loss allow no less


def firth(
    rows: Rows, objective: Logistic, evaluate: Evaluate, B: Array, fixed: tuple[int, int] | None = None
) -> OptimizeResult:
    """Maximise the penalised likelihood by Fisher scoring with step-halving, then by L-BFGS if that is slow.

    The coefficient at `fixed` does not move. The losses of the history are penalised.
    """
    history = History()
    q, c = B.shape
    start = evaluate(B, True)
    assert start.hessian is not None
    aliased, kept = aliased_and_kept(start.hessian, q, c)
    design = start.hessian[:q, :q]
    penalised = PenalizedObjective(rows, objective, evaluate, kept, fixed)
    at = penalised.point(B, start)
    for _ in range(MAX_SCORING_STEPS):
        g = penalised.gradient(at)
        step = -at.solve(g)
        history.append(B, replace(at.derivatives, loss=at.loss, gradient=g), 1.0)
        if -float((step * g).sum()) <= max(SCORING_STEP_TOL, at.rounding) ** 2:
            return OptimizeResult(B + step, at.derivatives, history, True, False, aliased, design)
        length = 1.0
        while True:
            trial = penalised.point_at(B + length * step)
            if trial.loss <= at.loss + 1e-12 * abs(at.loss) + max(at.rounding, trial.rounding) or length < 1e-6:
                break
            length /= 2
        history.step[-1] = length
        B, at = B + length * step, trial
        if length < MIN_STEP_FRACTION:
            break
    found = quasi_newton(
        penalised.evaluate,
        B,
        at.solve,
        stop_when_separated=False,
        tolerance=0.0,
        step_tol=max(GRADIENT_STEP_TOL, at.rounding),
        refresh=lambda history, B: penalised.point_at(B).solve if len(history) % REFRESH_AFTER == 0 else None,
        passes=MAX_PASSES,
    )
    history = history.followed_by(found.history)
    return OptimizeResult(found.B, evaluate(found.B, True), history, found.converged, False, aliased, design)


@dataclass(frozen=True, eq=False)
class PenalizedPoint:
    """Coefficients, penalised loss and unpenalised derivatives there, and the inverse root of the information."""

    B: Array
    loss: float  # infinite if the information is singular
    derivatives: LossDerivatives
    root: Array
    fixed: tuple[int, int] | None = None
    rounding: float = 0.0  # of log |I|, and of leverages: the loss and the gradient cannot show smaller steps

    def solve(self, g: Array) -> Array:
        """Return the inverse of the information of all coefficients except the fixed one, times g."""
        step = self._times_inverse(g)
        if self.fixed is None:
            return step
        alone = np.zeros_like(g)
        alone[self.fixed] = 1.0
        column = self._times_inverse(alone)
        step = np.asarray(step - column * (step[self.fixed] / column[self.fixed]))
        step[self.fixed] = 0.0
        return step

    def _times_inverse(self, g: Array) -> Array:
        q, c = g.shape
        return np.asarray((self.root @ (self.root.T @ g.T.reshape(-1))).reshape(c, q).T)


@dataclass(frozen=True, eq=False)
class PenalizedObjective:
    """The negative log likelihood with Jeffreys' prior, for the coefficients of independent columns."""

    rows: Rows
    objective: Logistic
    unpenalized: Evaluate
    kept: Array  # indices of the independent columns in the information
    fixed: tuple[int, int] | None = None  # the coefficient that does not move; its gradient is set to 0

    def point_at(self, B: Array) -> PenalizedPoint:
        """Return the point at B, by one pass over the rows."""
        return self.point(B, self.unpenalized(B, True))

    def point(self, B: Array, derivatives: LossDerivatives) -> PenalizedPoint:
        """Return the point at B, from the derivatives there."""
        assert derivatives.hessian is not None
        information = derivatives.hessian[np.ix_(self.kept, self.kept)]
        size = power_of_two(np.sqrt(np.maximum(np.diagonal(information), 0.0)))
        root = np.zeros((B.size, len(self.kept)))
        try:
            R = np.linalg.cholesky(information / size / size[:, None]).T
        except np.linalg.LinAlgError:
            return PenalizedPoint(B, np.inf, derivatives, root, self.fixed)
        root[self.kept] = inverse(R) / size[:, None]
        loss = derivatives.loss - float(np.log(np.diagonal(R) * size).sum())
        return PenalizedPoint(B, loss, derivatives, root, self.fixed, SAFE * EPS * condition(R) ** 2)

    def gradient(self, at: PenalizedPoint) -> Array:
        """Return the penalised gradient, by another pass."""
        q, c = at.B.shape
        share = partial(_jeffreys, objective=self.objective, B=at.B, root=at.root)
        gradient = np.asarray(at.derivatives.gradient - self.rows.reduce(share).reshape(c, q).T)
        if self.fixed is not None:
            gradient[self.fixed] = 0.0
        return gradient

    def evaluate(self, B: Array, hessian: bool) -> LossDerivatives:
        """Return the penalised loss and gradient, without a Hessian."""
        at = self.point_at(B)
        return replace(at.derivatives, loss=at.loss, gradient=self.gradient(at), hessian=None)


def _jeffreys(block: Block, objective: Logistic, B: Array, root: Array) -> Array:
    """Return the part of a block in the gradient of ½ log|I|: ½ Σ w tr(Q ∂V/∂η_a) x, V = diag(p) − pp'."""
    q, c = B.shape
    total = np.zeros(q * c)
    for rows in row_slices(block):
        Z = objective.design(block.X[rows])
        P, _ = objective.probabilities(objective.logits(Z, B, block, rows))
        U = [Z @ part for part in root.reshape(c, q, -1)]
        Q = np.empty((len(Z), c, c))
        for a in range(c):
            for b in range(a + 1):
                Q[:, a, b] = Q[:, b, a] = np.einsum("nr,nr->n", U[a], U[b])
        # ∂V_bd/∂η_a = δ_bd p_b(δ_ab − p_a) − p_b p_d(δ_ab + δ_ad − 2p_a), contracted with Q.
        diagonal = np.einsum("nbb->nb", Q)
        QP = np.einsum("nbd,nd->nb", Q, P)
        PQP = np.einsum("nb,nb->n", P, QP)
        trace = P * diagonal - P * (P * diagonal).sum(axis=1, keepdims=True) - 2 * P * QP + 2 * P * PQP[:, None]
        weighted = trace if block.weight is None else block.weight[rows, None] * trace
        total += 0.5 * (weighted.T @ Z).reshape(-1)
    return total
