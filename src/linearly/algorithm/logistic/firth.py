"""Firth's bias reduction: maximum likelihood with Jeffreys' prior, whose estimates are finite on separated data too.

The penalty is ½ log|I(B)|, I the information matrix. Its gradient needs, for each row, the c × c matrix
Q = (I_c ⊗ x)' I⁻¹ (I_c ⊗ x): the leverage, for two classes. (Firth 1993; for two classes X'(y − p + h(½ − p)) = 0.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.triangular import inverse
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives, row_slices
from linearly.algorithm.logistic.optimizers import Evaluate, History, OptimizeResult, independent, quasi_newton
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import Array

MAX_SCORING_STEPS = 25  # of Fisher scoring, which is quick unless coefficients are many for the rows there are
MIN_STEP_FRACTION = 1 / 16  # a step cut to less leads in a poor direction: scoring is given up
REFRESH_AFTER = 40  # passes by gradients, before the information that guides them is looked at anew
MAX_PASSES = 400  # by gradients
SCORING_STEP_TOL = 1e-9  # of a standard error, that ends scoring
GRADIENT_STEP_TOL = 1e-7  # and the rest, where rounding errors of the loss allow no less


def firth(
    rows: Rows, objective: Logistic, look: Evaluate, B: Array, hold: tuple[int, int] | None = None
) -> OptimizeResult:
    """Climb the penalised likelihood by Fisher scoring with step-halving, and on by gradients where that is slow.

    The coefficient at ``hold`` stays as it is. The losses of the path are penalised.
    """
    path = History()
    q, c = B.shape
    start = look(B, True)
    assert start.hessian is not None
    aliased, kept = independent(start.hessian, q, c)
    design = start.hessian[:q, :q]
    penalised = PenalizedObjective(rows, objective, look, kept, hold)
    at = penalised.read(B, start)
    for _ in range(MAX_SCORING_STEPS):
        g = penalised.gradient(at)
        step = -at.solve(g)
        path.note(B, replace(at.seen, loss=at.loss, gradient=g), 1.0)
        if -float((step * g).sum()) <= SCORING_STEP_TOL**2:
            return OptimizeResult(B + step, at.seen, path, True, False, aliased, design)
        length = 1.0
        while True:
            trial = penalised.evaluate(B + length * step)
            if trial.loss <= at.loss + 1e-12 * abs(at.loss) or length < 1e-6:
                break
            length /= 2
        path.step[-1] = length
        B, at = B + length * step, trial
        if length < MIN_STEP_FRACTION:
            break
    found = quasi_newton(
        penalised.look_at,
        B,
        at.solve,
        stop_when_separated=False,
        tolerance=0.0,
        small_step=GRADIENT_STEP_TOL,
        renewed=lambda path, B: penalised.evaluate(B).solve if len(path) % REFRESH_AFTER == 0 else None,
        passes=MAX_PASSES,
    )
    path = path.then(found.path)
    return OptimizeResult(found.B, look(found.B, True), path, found.converged, False, aliased, design)


@dataclass(frozen=True, eq=False)
class PenalizedPoint:
    """Some B, the penalised loss there, what the pass saw, and the inverse root of the information."""

    B: Array
    loss: float  # infinite where the information is singular
    seen: LossDerivatives
    root: Array
    hold: tuple[int, int] | None = None

    def solve(self, g: Array) -> Array:
        """The inverse of the information of all coefficients but the one held, times g."""
        step = self._times_inverse(g)
        if self.hold is None:
            return step
        alone = np.zeros_like(g)
        alone[self.hold] = 1.0
        column = self._times_inverse(alone)
        step = np.asarray(step - column * (step[self.hold] / column[self.hold]))
        step[self.hold] = 0.0
        return step

    def _times_inverse(self, g: Array) -> Array:
        q, c = g.shape
        return np.asarray((self.root @ (self.root.T @ g.T.reshape(-1))).reshape(c, q).T)


@dataclass(frozen=True, eq=False)
class PenalizedObjective:
    """The likelihood with Jeffreys' prior, in the coefficients of columns that do not depend on others."""

    rows: Rows
    objective: Logistic
    look: Evaluate
    kept: Array  # their places in the information
    hold: tuple[int, int] | None = None  # the coefficient that does not move: its gradient is given as 0

    def evaluate(self, B: Array) -> PenalizedPoint:
        """One pass."""
        return self.read(B, self.look(B, True))

    def read(self, B: Array, seen: LossDerivatives) -> PenalizedPoint:
        """What a pass that saw a Hessian says."""
        assert seen.hessian is not None
        information = seen.hessian[np.ix_(self.kept, self.kept)]
        size = power_of_two(np.sqrt(np.maximum(np.diagonal(information), 0.0)))
        root = np.zeros((B.size, len(self.kept)))
        try:
            R = np.linalg.cholesky(information / size / size[:, None]).T
        except np.linalg.LinAlgError:
            return PenalizedPoint(B, np.inf, seen, root, self.hold)
        root[self.kept] = inverse(R) / size[:, None]
        return PenalizedPoint(B, seen.loss - float(np.log(np.diagonal(R) * size).sum()), seen, root, self.hold)

    def gradient(self, at: PenalizedPoint) -> Array:
        """Another pass."""
        q, c = at.B.shape
        share = partial(_jeffreys, objective=self.objective, B=at.B, root=at.root)
        gradient = np.asarray(at.seen.gradient - self.rows.reduce(share).reshape(c, q).T)
        if self.hold is not None:
            gradient[self.hold] = 0.0
        return gradient

    def look_at(self, B: Array, hessian: bool) -> LossDerivatives:
        """Both, without a Hessian of its own."""
        at = self.evaluate(B)
        return replace(at.seen, loss=at.loss, gradient=self.gradient(at), hessian=None)


def _jeffreys(block: Block, objective: Logistic, B: Array, root: Array) -> Array:
    """The block's share of the gradient of ½ log|I|: ½ Σ w tr(Q ∂V/∂η_a) x, V = diag(p) − pp'."""
    q, c = B.shape
    total = np.zeros(q * c)
    for rows in row_slices(block):
        Z = objective.design(block.X[rows])
        P, _ = objective.probabilities(Z @ B)
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
