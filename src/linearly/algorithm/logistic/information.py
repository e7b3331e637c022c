"""Compute the information of a logistic fit by QR, if the information matrix itself has too few digits.

With V = diag(p) − pp' of a row, the information is Σ w V ⊗ zz' = A'A. The matrix A has one row √(w p_k) (e_k − p) ⊗ z
for each row and each class k, the reference included. The R factor of A loses digits as the condition number of the
columns, the matrix A'A as its square: at condition 2e6 standard errors have 4 digits by the matrix and 10 by R.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from linearly.algorithm.least_squares.triangular import upper
from linearly.algorithm.logistic.objective import Logistic, row_slices
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import Array


@dataclass(frozen=True, slots=True, eq=False)
class InformationQR:
    """R with R'R the information of some rows. ``a + b`` is for both sets of rows."""

    R: Array

    def __add__(self, other: InformationQR) -> InformationQR:
        return InformationQR(upper(np.vstack([self.R, other.R])))


def information_qr(rows: Rows, objective: Logistic, B: Array, ridge: Array, kept: NDArray[np.intp]) -> Array:
    """Return R with R'R the information at B plus the penalty, for the `kept` rows of the Hessian, by one pass."""

    def of(block: Block) -> InformationQR:
        total = InformationQR(np.zeros((0, len(kept))))
        for part in row_slices(block):
            Z = objective.design(block.X[part])
            weight = np.ones(len(Z)) if block.weight is None else block.weight[part]
            logits = objective.logits(Z, B, block, part)
            total = total + InformationQR(information_rows(Z, objective, logits, weight)[:, kept])
        return total

    found: InformationQR = rows.reduce(of)
    penalty = np.diag(np.sqrt(np.tile(ridge, B.shape[1])))[:, kept]
    return (found + InformationQR(penalty)).R


def information_rows(Z: Array, objective: Logistic, logits: Array, weight: Array) -> Array:
    """Return A for some rows. For two classes, whose rows of A are multiples of each other, it is √(w p(1 − p)) z."""
    if logits.shape[1] == 1:
        return np.asarray(np.sqrt(weight * expit(logits[:, 0]) * expit(-logits[:, 0]))[:, None] * Z)
    P, normaliser = objective.probabilities(logits)
    shares = np.column_stack([P, np.exp(-normaliser)])  # the reference class last
    parts = []
    for k, share in enumerate(shares.T):
        E = -P
        if k < P.shape[1]:
            E[:, k] = np.delete(shares, k, axis=1).sum(axis=1)  # 1 − p has no digits for p close to 1
        A = (np.sqrt(weight * share)[:, None] * E)[:, :, None] * Z[:, None, :]
        parts.append(A.reshape(len(Z), -1))
    return np.concatenate(parts)
