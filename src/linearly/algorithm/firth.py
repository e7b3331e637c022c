"""Firth's bias reduction: maximum likelihood with Jeffreys' prior, whose estimates are finite on separated data too.

The penalty is ½ log|I(B)|, I the information matrix. Its gradient needs, for each row, the c × c matrix
Q = (I_c ⊗ x)' I⁻¹ (I_c ⊗ x): the leverage, for two classes. (Firth 1993; for two classes X'(y − p + h(½ − p)) = 0.)
"""

from __future__ import annotations

from functools import partial

import numpy as np

from linearly.algorithm.objective import Logistic, Quadratic
from linearly.algorithm.optimizer import Found, Look, Path
from linearly.algorithm.solution import whiten
from linearly.dataset.rows import Block, Rows
from linearly.kernels.doubled import Array

MOST_STEPS = 500
SMALL_STEP = 1e-9  # of a standard error


def firth(rows: Rows, objective: Logistic, look: Look, B: Array) -> Found:
    """Climb the penalised likelihood by Fisher scoring with step-halving; two passes a step."""
    path = Path()
    q, c = B.shape
    at = look(B, True)
    assert at.hessian is not None
    aliased = whiten(at.hessian[:q, :q]).aliased
    kept = np.concatenate([a * q + np.setdiff1d(np.arange(q), aliased) for a in range(c)])
    for _ in range(MOST_STEPS):
        found = whiten(at.hessian[np.ix_(kept, kept)])
        root = np.zeros((q * c, found.root.shape[1]))
        root[kept] = found.root
        g = at.gradient.T.reshape(-1) - rows.fold(partial(_jeffreys, objective=objective, B=B, root=root))
        u = root.T @ g
        loss = at.loss - 0.5 * found.log_determinant
        decrement = float(u @ u)
        if decrement <= SMALL_STEP**2:
            path.note(B, _penalised(at, loss, g, B), 1.0)
            return Found(B - (root @ u).reshape(c, q).T, at, path, True, aliased=aliased)
        step, length = -(root @ u).reshape(c, q).T, 1.0
        while True:
            trial = look(B + length * step, True)
            assert trial.hessian is not None
            value = trial.loss - 0.5 * whiten(trial.hessian[np.ix_(kept, kept)]).log_determinant
            if value <= loss + 1e-12 * abs(loss) or length < 1e-6:
                break
            length /= 2
        path.note(B, _penalised(at, loss, g, B), length)
        B, at = B + length * step, trial
        assert at.hessian is not None
    return Found(B, at, path, False, aliased=aliased)


def _penalised(at: Quadratic, loss: float, g: Array, B: Array) -> Quadratic:
    return Quadratic(loss, g.reshape(B.shape[1], B.shape[0]).T, None, at.mistakes, at.largest)


def _jeffreys(block: Block, objective: Logistic, B: Array, root: Array) -> Array:
    """The block's share of the gradient of ½ log|I|: ½ Σ w tr(Q ∂V/∂η_a) x, V = diag(p) − pp'."""
    q, c = B.shape
    Z = objective.design(block.X)
    weight = np.ones(len(Z)) if block.weight is None else block.weight
    P, _ = objective.probabilities(Z @ B)
    U = np.einsum("nq,aqr->nar", Z, root.reshape(c, q, -1))
    Q = np.einsum("nar,nbr->nab", U, U)
    # ∂V_bd/∂η_a = δ_bd p_b(δ_ab − p_a) − p_b p_d(δ_ab + δ_ad − 2p_a), contracted with Q.
    diagonal = np.einsum("nbb->nb", Q)
    QP = np.einsum("nbd,nd->nb", Q, P)
    PQP = np.einsum("nb,nb->n", P, QP)
    trace = P * diagonal - P * (P * diagonal).sum(axis=1, keepdims=True) - 2 * P * QP + 2 * P * PQP[:, None]
    return np.asarray(0.5 * ((weight[:, None] * trace).T @ Z).reshape(-1))
