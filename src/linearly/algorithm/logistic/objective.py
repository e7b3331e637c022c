"""Evaluate the logistic loss of a block: loss, gradient and Hessian at coefficients B, which add up over blocks.

Shapes: a row x has q = 1 + p entries, the constant first (q = p without an intercept). K classes have c = K − 1 logits
x'B, B being q × c, against a reference class whose logit is 0. The gradient is q × c. The Hessian is (c·q) × (c·q),
logit by logit: entry (a·q + i, b·q + j) belongs to B[i, a] and B[j, b].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import high_low_parts
from linearly.dataset.rows.block import Block
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import is_sparse

_ROWS = 4096  # rows per NumPy operation, so that temporaries stay in cache


@dataclass(frozen=True, slots=True, eq=False)
class LossDerivatives:
    """Loss, gradient and (if requested) Hessian at some B. ``a + b`` is that of both sets of rows."""

    loss: float
    gradient: Array
    hessian: Array | None
    mistakes: int  # rows whose own class does not have the strictly largest score
    largest: float  # |logit|: beyond 15 a probability is 0 or 1 for all practical purposes

    def __add__(self, other: LossDerivatives) -> LossDerivatives:
        hessian = None if self.hessian is None or other.hessian is None else self.hessian + other.hessian
        return LossDerivatives(
            self.loss + other.loss,
            self.gradient + other.gradient,
            hessian,
            self.mistakes + other.mistakes,
            max(self.largest, other.largest),
        )


@dataclass(frozen=True, eq=False)
class Logistic:
    """The negative log likelihood of K classes with c = K − 1 logits, for scaled features."""

    K: int
    reference: int  # code of the class whose logit is 0
    scaling: ColumnScaling
    intercept: bool

    def evaluator(self, B: Array, hessian: bool = True) -> Callable[[Block], LossDerivatives]:
        """Return the function that evaluates a block at B."""
        if not hessian and self.intercept and self.K > 2:
            return lambda block: self._softmax(block, B)
        if not hessian and not self.scaling.shift.any():
            return lambda block: self._unscaled(block, B)
        if self.K == 2 and self.intercept:
            return lambda block: self._two_classes(block, B, hessian)
        return lambda block: self._by_design(block, B, hessian)

    def curvatures(self, B: Array, diagonal: bool) -> Callable[[Block], Array]:
        """Return the function that reduces a block to Σ w p(1 − p) zz' of each class, (K, q, q), or its diagonals."""

        def reduce_block(block: Block) -> Array:
            total = np.zeros((self.K, len(B)) if diagonal else (self.K, len(B), len(B)))
            for rows in row_slices(block):
                X = block.X[rows]
                P = np.insert(self.probabilities(self._logits(X, B))[0], self.reference, 0.0, axis=1)
                P[:, self.reference] = np.maximum(1.0 - P.sum(axis=1), 0.0)
                W = P * (1.0 - P) * (1.0 if block.weight is None else block.weight[rows, None])
                if diagonal:
                    total += self.squares(X, W)
                elif is_sparse(X):
                    Z = self.design(X)
                    for H, w in zip(total, W.T, strict=True):
                        H += (Z * w[:, None]).T @ Z
                else:
                    dense, first = high_low_parts(X)[0], 1 - int(self.intercept)
                    for H, w in zip(total, np.ascontiguousarray(W.T), strict=True):
                        H += kernels.gram(dense, None, w, self.scaling.shift, 1.0 / self.scaling.scale)[first:, first:]
            return total

        return reduce_block

    def squares(self, X: Any, W: Array) -> Array:
        """Return Σ w z² of each scaled column of [1 | X], for each column of W; sparse X stays sparse."""
        if is_sparse(X):  # the shift of sparse columns is 0
            squares = np.asarray((X.multiply(X).T @ W).T) / self.scaling.scale**2
            return np.concatenate([W.sum(axis=0)[:, None], squares], axis=1) if self.intercept else squares
        return np.asarray(W.T @ self.design(X) ** 2)

    def design(self, X: Any) -> Array:
        """Return scaled [1 | X], dense."""
        dense, _ = high_low_parts(X)
        Z = np.empty((dense.shape[0], int(self.intercept) + dense.shape[1]))
        if self.intercept:
            Z[:, 0] = 1.0
        np.subtract(dense, self.scaling.shift, out=Z[:, int(self.intercept) :])
        Z[:, int(self.intercept) :] /= self.scaling.scale
        return Z

    def probabilities(self, logits: Array) -> tuple[Array, Array]:
        """Return the probabilities without the reference class, and the log of the normaliser, of logits (n × c)."""
        top = np.maximum(logits.max(axis=1, initial=0.0), 0.0)
        E = np.exp(logits - top[:, None])
        total = E.sum(axis=1) + np.exp(-top)
        return E / total[:, None], top + np.log(total)

    def columns(self) -> Array:
        """Return the class codes of the logits, in order."""
        return np.delete(np.arange(self.K), self.reference)

    def _softmax(self, block: Block, B: Array) -> LossDerivatives:
        if is_sparse(block.X):
            return self._unscaled(block, B)
        dense, _ = high_low_parts(block.X)
        codes = self._logit_of[np.asarray(block.y)]
        loss, gradient, mistakes, largest = kernels.softmax(
            dense, codes, block.weight, self.scaling.shift, 1.0 / self.scaling.scale, B
        )
        return LossDerivatives(loss, gradient, None, mistakes, largest)

    @cached_property
    def _logit_of(self) -> NDArray[np.int32]:
        """Return the index of the logit of each class, −1 for the reference."""
        logit = np.full(self.K, -1, dtype=np.int32)
        logit[self.columns()] = np.arange(self.K - 1)
        return logit

    @np.errstate(invalid="ignore", over="ignore")  # a NaN or infinity in X appears in the loss
    def _unscaled(self, block: Block, B: Array) -> LossDerivatives:
        """Return loss and gradient without scaling the rows, so that sparse rows stay sparse; B is scaled instead."""
        first = int(self.intercept)
        total = LossDerivatives(0.0, np.zeros_like(B), None, 0, 0.0)
        for rows in row_slices(block):
            X = block.X[rows]
            part, R = self._loss_and_residuals(self._logits(X, B), block, rows)
            X = X if is_sparse(X) else high_low_parts(X)[0]
            sums = R.sum(axis=0)
            slope = (np.asarray(X.T @ R) - self.scaling.shift[:, None] * sums) / self.scaling.scale[:, None]
            total = total + replace(part, gradient=np.vstack([sums, slope]) if first else slope)
        return total

    def _logits(self, X: Any, B: Array) -> Array:
        """Return the logits of unscaled rows."""
        first = int(self.intercept)
        coef = B[first:] / self.scaling.scale[:, None]
        constant = (B[0] if first else 0.0) - self.scaling.shift @ coef
        return np.asarray((X if is_sparse(X) else high_low_parts(X)[0]) @ coef) + constant

    def _two_classes(self, block: Block, B: Array, hessian: bool) -> LossDerivatives:
        dense, _ = high_low_parts(block.X)
        target = np.asarray(block.y, dtype=np.float64)  # for two classes the reference is class 0
        beta = np.ascontiguousarray(B[:, 0])
        shift, scale = self.scaling.shift, 1.0 / self.scaling.scale
        return LossDerivatives(*kernels.logistic(dense, target, block.weight, shift, scale, beta, hessian))

    @np.errstate(invalid="ignore", over="ignore")
    def _by_design(self, block: Block, B: Array, hessian: bool) -> LossDerivatives:
        q, c = B.shape
        total = LossDerivatives(0.0, np.zeros((q, c)), np.zeros((q * c, q * c)) if hessian else None, 0, 0.0)
        for rows in row_slices(block):
            Z = self.design(block.X[rows])
            logits = Z @ B
            part, R = self._loss_and_residuals(logits, block, rows)
            H = self._curvature(Z, logits, block, rows) if hessian else None
            total = total + replace(part, gradient=Z.T @ R, hessian=H)
        return total

    def _loss_and_residuals(self, logits: Array, block: Block, rows: slice) -> tuple[LossDerivatives, Array]:
        """Return the derivatives of logits without gradient and Hessian, and the weighted residuals P − Y."""
        n, c = logits.shape
        logit_of = self._logit_of[np.asarray(block.y)[rows].astype(np.intp)]
        weight = np.ones(n) if block.weight is None else block.weight[rows]
        R, normaliser = self.probabilities(logits)
        mine = np.flatnonzero(logit_of >= 0)
        own = np.zeros(n)
        own[mine] = logits[mine, logit_of[mine]]
        R[mine, logit_of[mine]] -= 1.0
        R *= weight[:, None]
        rival = np.concatenate([logits, np.zeros((n, 1))], axis=1)
        rival[np.arange(n), np.where(logit_of >= 0, logit_of, c)] = -np.inf
        wrong = (own <= rival.max(axis=1)) & (weight > 0)
        largest = float(np.abs(logits[weight > 0]).max(initial=0.0))
        return LossDerivatives(float(weight @ (normaliser - own)), R[:0], None, int(wrong.sum()), largest), R

    def _curvature(self, Z: Array, logits: Array, block: Block, rows: slice) -> Array:
        q, c = Z.shape[1], logits.shape[1]
        P, _ = self.probabilities(logits)
        weight = 1.0 if block.weight is None else block.weight[rows]
        H = np.empty((c * q, c * q))
        for a in range(c):
            for b in range(a + 1):
                w = weight * P[:, a] * ((1.0 if a == b else 0.0) - P[:, b])
                here, there = slice(a * q, (a + 1) * q), slice(b * q, (b + 1) * q)
                H[here, there] = (Z * w[:, None]).T @ Z
                H[there, here] = H[here, there].T
        return H


def row_slices(block: Block) -> Iterator[slice]:
    """Yield slices of a few thousand rows of a block."""
    return (slice(first, first + _ROWS) for first in range(0, max(len(block), 1), _ROWS))
