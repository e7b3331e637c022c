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
from linearly.algorithm.least_squares.coded_moments import coded_moments, suits_codes
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import high_low_parts
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.column_matrix import ColumnMatrix, taking_columns
from linearly.dataset.rows.sparse import transposed
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import is_sparse

_ROWS = 4096  # rows per NumPy operation, so that temporaries stay in cache


@dataclass(frozen=True, slots=True, eq=False)
class LossDerivatives:
    """Loss, gradient and (if requested) Hessian at some B. ``a + b`` is for both sets of rows."""

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
        of_numbers = self._evaluator_of_numbers(B, hessian)

        def evaluate(block: Block) -> LossDerivatives:
            if block.offset is not None:
                return self._with_offset(block, B, hessian)
            if not isinstance(block.X, ColumnMatrix):
                return of_numbers(block)
            if block.X.codes and suits_codes(block.X, self.scaling.shift, self.scaling.scale):
                return self._coded(block, B, hessian)
            return of_numbers(replace(block, X=block.X[:]))

        return taking_columns(evaluate)

    def _evaluator_of_numbers(self, B: Array, hessian: bool) -> Callable[[Block], LossDerivatives]:
        if self.intercept and self.K > 2:
            return lambda block: self._softmax(block, B, hessian)
        if not hessian and not self.scaling.shift.any():
            return lambda block: self._unscaled(block, B)
        if self.K == 2 and self.intercept:
            return lambda block: self._two_classes(block, B, hessian)
        return lambda block: self._by_design(block, B, hessian)

    def _with_offset(self, block: Block, B: Array, hessian: bool) -> LossDerivatives:
        """Return the derivatives with the offset as one more column, whose coefficient is 1 and does not move."""
        assert block.offset is not None
        scaling = ColumnScaling(np.append(self.scaling.shift, 0.0), np.append(self.scaling.scale, 1.0))
        extended = np.vstack([B, np.ones((1, B.shape[1]))])
        X = append_column(block.X, block.offset)
        at = replace(self, scaling=scaling).evaluator(extended, hessian)(replace(block, X=X, offset=None))
        if at.hessian is None:
            return replace(at, gradient=at.gradient[:-1])
        kept = np.flatnonzero(np.arange(extended.size) % len(extended) != len(B))
        return replace(at, gradient=at.gradient[:-1], hessian=np.ascontiguousarray(at.hessian[np.ix_(kept, kept)]))

    def logits(self, Z: Array, B: Array, block: Block, rows: slice = slice(None)) -> Array:
        """Return the logits of some rows of a block, whose scaled design is Z."""
        return np.asarray(Z @ B if block.offset is None else Z @ B + block.offset[rows, None])

    def curvatures(self, B: Array, diagonal: bool) -> Callable[[Block], Array]:
        """Return the function that reduces a block to Σ w p(1 − p) zz' of each class, (K, q, q), or its diagonals."""

        def reduce_block(block: Block) -> Array:
            total = np.zeros((self.K, len(B)) if diagonal else (self.K, len(B), len(B)))
            for rows in row_slices(block):
                X = block.X[rows]
                logits = self._logits(X, B) + (0.0 if block.offset is None else block.offset[rows, None])
                P = np.insert(self.probabilities(logits)[0], self.reference, 0.0, axis=1)
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
            squared = transposed(X)
            squared.data = X.data**2
            squares = np.asarray((squared @ W).T) / self.scaling.scale**2
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

    def _softmax(self, block: Block, B: Array, hessian: bool) -> LossDerivatives:
        if is_sparse(block.X):
            return self._in_dense_slices(block, B) if hessian else self._unscaled(block, B)
        dense, _ = high_low_parts(block.X)
        codes = self._logit_of[np.asarray(block.y)]
        shift, scale = self.scaling.shift, 1.0 / self.scaling.scale
        return LossDerivatives(*kernels.softmax(dense, codes, block.weight, shift, scale, B, hessian))

    def _in_dense_slices(self, block: Block, B: Array) -> LossDerivatives:
        """Return the derivatives of sparse rows with the Hessian, some thousand rows at a time as dense ones."""
        total = LossDerivatives(0.0, np.zeros(B.shape), np.zeros((B.size, B.size)), 0, 0.0)
        for rows in row_slices(block):
            weight = None if block.weight is None else block.weight[rows]
            some = replace(block, X=block.X[rows].toarray(), y=np.asarray(block.y)[rows], weight=weight)
            total = total + self._softmax(some, B, hessian=True)
        return total

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
        # Slices of sparse rows would be copies.
        for rows in [slice(None)] if is_sparse(block.X) else row_slices(block):
            X = block.X if is_sparse(block.X) else block.X[rows]
            part, R = self._loss_and_residuals(self._logits(X, B), block, rows)
            turned = transposed(X) if is_sparse(X) else high_low_parts(X)[0].T
            sums = R.sum(axis=0)
            slope = (np.asarray(turned @ R) - self.scaling.shift[:, None] * sums) / self.scaling.scale[:, None]
            total = total + replace(part, gradient=np.vstack([sums, slope]) if first else slope)
        return total

    def _logits(self, X: Any, B: Array) -> Array:
        """Return the logits of unscaled rows."""
        first = int(self.intercept)
        coef = B[first:] / self.scaling.scale[:, None]
        constant = (B[0] if first else 0.0) - self.scaling.shift @ coef
        return np.asarray((X if is_sparse(X) else high_low_parts(X)[0]) @ coef) + constant

    @np.errstate(invalid="ignore", over="ignore")
    def _coded(self, block: Block, B: Array, hessian: bool) -> LossDerivatives:
        """Return the derivatives for features of which some are codes, by sums over the rows of each level."""
        first, (q, c) = int(self.intercept), B.shape
        X, shift, scale = block.X, self.scaling.shift, 1.0 / self.scaling.scale
        logits = X @ (B[first:] * scale[:, None]) + ((B[0] if first else 0.0) - shift @ (B[first:] * scale[:, None]))
        part, R = self._loss_and_residuals(logits, block, slice(None))
        sums = R.sum(axis=0)
        slope = (X.transposed_product(R) - shift[:, None] * sums) * scale[:, None]
        H = np.empty((c * q, c * q)) if hessian else None
        if H is not None:
            P, _ = self.probabilities(logits)
            weight = 1.0 if block.weight is None else block.weight
            for a in range(c):
                for b in range(a + 1):
                    w = weight * P[:, a] * (1.0 - P[:, a] if a == b else P[:, b])
                    moments = coded_moments(X, None, w, shift, scale)[0][1 - first :, 1 - first :]
                    here, there = slice(a * q, (a + 1) * q), slice(b * q, (b + 1) * q)
                    H[here, there] = moments if a == b else -moments
                    H[there, here] = H[here, there].T
        return replace(part, gradient=np.vstack([sums, slope]) if first else slope, hessian=H)

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
        if self.K == 2:
            return self._loss_and_residuals_of_two(logits, block, rows)
        c = logits.shape[1]
        weight = None if block.weight is None else block.weight[rows]
        codes = self._logit_of[np.asarray(block.y)[rows].astype(np.intp)]
        itself = np.vstack([np.zeros(c), np.eye(c)])  # the coefficients of a row whose features are its logits
        loss, _, _, mistakes, largest = kernels.softmax(logits, codes, weight, np.zeros(c), np.ones(c), itself)
        R = kernels.softmax_probabilities(logits, np.column_stack([itself, np.zeros(c + 1)]))[:, :-1]
        mine = np.flatnonzero(codes >= 0)
        R[mine, codes[mine]] -= 1.0
        if weight is not None:
            R *= weight[:, None]
        return LossDerivatives(loss, R[:0], None, mistakes, largest), R

    def _loss_and_residuals_of_two(self, logits: Array, block: Block, rows: slice) -> tuple[LossDerivatives, Array]:
        y = np.asarray(block.y)[rows].astype(np.float64)  # for two classes the reference is class 0
        weight = None if block.weight is None else block.weight[rows]
        itself = np.array([0.0, 1.0])  # the logit of a row whose only feature is its logit
        loss, _, _, mistakes, largest = kernels.logistic(logits, y, weight, itself[:1], itself[1:], itself, False)
        P = kernels.probabilities(logits, itself)
        R = np.where(y > 0.5, -P[:, 0], P[:, 1])[:, None]  # p − 1 has no digits for p close to 1
        if weight is not None:
            R *= weight[:, None]
        return LossDerivatives(loss, R[:0], None, mistakes, largest), R

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


def append_column(X: Any, column: Array) -> Any:
    """Return features with one more column."""
    if isinstance(X, ColumnMatrix):
        return ColumnMatrix([*X.columns, np.ascontiguousarray(column)])
    return np.column_stack([high_low_parts(X)[0], column])


def row_slices(block: Block) -> Iterator[slice]:
    """Yield slices of a few thousand rows of a block."""
    return (slice(first, first + _ROWS) for first in range(0, max(len(block), 1), _ROWS))
