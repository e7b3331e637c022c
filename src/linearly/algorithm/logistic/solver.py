"""The search for the coefficients of a logistic model: which optimizer, and from where.

A few rows say roughly where the maximum is, so that all rows need to be read fewer times: 1.6 times fewer seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.identification import null_direction
from linearly.algorithm.least_squares.solution import Whitening, whiten, whiten_triangle
from linearly.algorithm.logistic.firth import firth
from linearly.algorithm.logistic.information import information_qr
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import (
    Evaluate,
    History,
    OptimizeResult,
    Preconditioner,
    class_preconditioner,
    diagonal_preconditioner,
    gradient_descent,
    hessian_preconditioner,
    newton,
    newton_polish,
    preconditioner,
    quasi_newton,
)
from linearly.dataset.rows.block import Block, InMemoryRows, Rows, check_finite
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.kernels.double_double import Array

GRAM_SIZE = 3000  # columns up to which X'X serves as a preconditioner; beyond, its diagonal
_NEWTON_SIZE = 300  # coefficients up to which a Hessian is cheaper than the passes it saves
_CURVATURE_CELLS = 2**24  # numbers in the curvatures of all classes; beyond, their diagonals are formed: 128 MB
_SETTLED = 2  # passes by gradients, before some of many rows are asked for a better preconditioner
_QUICK = 1 / 16  # of the gradient left by the first step: where so little is, the preconditioner is good as it is
_REMAINS = 0.1  # of what all rows said before
_STALE_AFTER = 40  # passes by gradients, before all rows are asked
_MOST_PASSES = 1000  # by gradients
_CHEAP = 1e10  # products in a Hessian and its inverse that take a second: beyond, a search by gradients forms none
_WARM_START_STRIDE = 16  # the first guess comes from every 16th row
_PRECOND_STRIDE = 32  # a better preconditioner from every 32nd
_THIN_ROWS = 100_000  # of so many, at least
_THIN_CELLS = 2**21  # numbers in them, at most
_ROWS_EACH = 20  # thinned rows for each column, at least: fewer might be separable

# How far from the maximum, in standard errors, a search may end, the last step taken.
_WARM_START_TOL = 1.0  # by the thinned rows, which know no better than to several of these
_GRADIENT_TOL = 2e-3  # by gradients alone, before a Hessian
_NEWTON_TOL = 1e-4  # by Newton thereafter: the error of its step is quadratic, and the rows are many
_ALONE = 2e-5  # by gradients, where no Hessian is formed: times √(coefficients), so for each in the mean
_ENOUGH_DIGITS = 8.0  # of standard errors: of fewer, the information is formed anew as a triangle
_SAFE = 4.0  # leverages this much larger than they are in the mean
_ALONE_OF_ONE = 2e-6  # and of what a standard error would be from one row: of few rows it is large


@dataclass(frozen=True, eq=False)
class LogisticSolver:
    """What is searched: an objective with a ridge penalty. `class_weights` are Σ w of each class."""

    objective: Logistic
    alpha: float
    class_weights: Array

    @single_threaded_blas()
    def solve(
        self, rows: Rows, solver: str, *, few: Rows | None = None, bias_reduction: str | None = None
    ) -> OptimizeResult:
        """Search with a solver, or the one that suits. `few` are the rows to take a first guess from, if in memory."""
        q, c = int(self.objective.intercept) + len(self.objective.scaling.scale), self.objective.K - 1
        B = np.zeros((q, c))
        look = self._look(rows)
        if bias_reduction == "firth":
            return firth(rows, self.objective, look, B)
        auto = solver == "auto"
        if auto:
            solver = "newton" if q * c <= _NEWTON_SIZE else "lbfgs"
        if solver == "newton":
            thin, step = _subsample(few, q, _WARM_START_STRIDE)
            guess = None if thin is None else newton(self._look(thin, 1 / step), B, small_step=_WARM_START_TOL)
            if guess is None or not guess.converged:
                return newton(look, B, stop_when_separated=self.alpha == 0)
            return self._refined(look, guess, step)
        if solver == "gradient_descent" and q > GRAM_SIZE:
            raise ValueError(f"gradient_descent is for teaching: at most {GRAM_SIZE} columns.")
        products = self._products(rows)
        held = self._dependent(products)
        if solver == "gradient_descent":
            steepest = float(np.linalg.eigvalsh(products)[-1]) / (4 if c == 1 else 2)
            found = gradient_descent(_with_fixed(look, held), B, steepest + self._ridge().max())
            return self._nan_for_dropped_terms(replace(found, aliased=held), products)
        found = self._by_gradients(rows, few, look, B, products, held)
        found = self._nan_for_dropped_terms(replace(found, aliased=held), products)
        if auto and (float(self.class_weights.sum()) + q * c) * (q * c) ** 2 <= _CHEAP:
            return self._with_hessian(look, found)
        return found

    def resume_newton(self, rows: Rows, found: OptimizeResult) -> OptimizeResult:
        """On by Newton from where it stopped on suspicion, the maximum being there after all."""
        if found.last.hessian is None:
            return found
        more = newton(self._look(rows), found.B, stop_when_separated=False)
        return replace(more, path=found.path.then(more.path), design=found.design)

    def _refined(self, look: Evaluate, guess: OptimizeResult, step: int) -> OptimizeResult:
        """From the solution for some rows to that for all: gradients only, then one Hessian where the search ends.

        The Hessian of the thinned rows resembles that of all; a pass without one costs a third.
        """
        assert guess.last.hessian is not None
        solve = hessian_preconditioner(step * guess.last.hessian, guess.B.shape[1])
        near = quasi_newton(look, guess.B, solve, tolerance=0.0, small_step=_GRADIENT_TOL)
        if not near.converged:
            return newton(look, guess.B, stop_when_separated=False)
        found = newton(look, near.B, stop_when_separated=False, small_step=_NEWTON_TOL)
        return replace(found, path=near.path.then(found.path))

    def information(
        self, rows: Rows, found: OptimizeResult, dropped: Sequence[int], bias_reduction: str | None = None
    ) -> tuple[Whitening, Array]:
        """Return the inverse root of the information where the search ended, and a direction in which it is flat.

        The rows of coefficients that are `dropped` depend on others and have no part in it.

        It comes from the Hessian of the last pass, or where that leaves few digits from a triangle, by one more pass.
        The Hessian is from before the last step, which changes it by a share √(rank / n) of the step's length in
        standard errors, as leverages are in the mean. Firth's coefficients hang on the Hessian's inverse themselves:
        a better one for the standard errors gives them no more digits.
        """
        assert found.last.hessian is not None
        q, c = found.B.shape
        known = np.setdiff1d(np.arange(q * c), [a * q + j for a in range(c) for j in dropped])
        white = whiten(found.last.hessian[np.ix_(known, known)])
        flat = np.zeros(q * c)
        if white.aliased:
            flat[known] = null_direction(white.solved, white.size)
        root = np.zeros((q * c, white.root.shape[1]))
        root[known] = white.root
        white = replace(white, root=root)
        if white.digits >= _ENOUGH_DIGITS or not found.converged:
            if bias_reduction is not None:
                return white, flat
            step = np.linalg.norm(white.root.T @ found.last.gradient.T.reshape(-1))
            moved = _SAFE * float(step) * np.sqrt(white.root.shape[1] / max(self.class_weights.sum(), 1.0))
            return replace(white, digits=float(np.clip(-np.log10(max(moved, 1e-16)), 0.0, white.digits))), flat
        kept = np.flatnonzero(white.root.any(axis=1))
        better = whiten_triangle(information_qr(rows, self.objective, found.B, self._ridge(), kept))
        root = np.zeros((len(white.root), better.root.shape[1]))
        root[kept] = better.root
        digits = better.digits if bias_reduction is None else white.digits
        return replace(better, root=root, aliased=white.aliased, digits=digits), flat

    def _dependent(self, products: Array) -> tuple[int, ...]:
        """The columns that depend on others, as Newton finds them: by the Hessian at zero, which is X'X and a penalty.

        Of more columns than `GRAM_SIZE` only the diagonal is there, and nobody knows.
        """
        if products.ndim == 1:
            return ()
        K = self.objective.K
        return whiten(products * ((K - 1) / K**2) + np.diag(self._ridge())).aliased

    def _by_gradients(
        self, rows: Rows, few: Rows | None, look: Evaluate, B: Array, products: Array, held: tuple[int, ...]
    ) -> OptimizeResult:
        """L-BFGS. Its preconditioner is made anew from where it is: of rows that are certain of their class there is
        nothing to learn, and which those are, nobody knew at the start. Some rows of many will do, and early.
        """
        products = _split_fixed(products, held)

        def renewed(path: History, B: Array) -> Preconditioner | None:
            if len(path) == _SETTLED and path.gradient_norm[-1] > _QUICK * path.gradient_norm[0]:
                return self._resembling_some(few, products, B, held)
            return self._resembling_at(rows, B, held) if len(path) % _STALE_AFTER == 0 else None

        return quasi_newton(
            _with_fixed(look, held),
            B,
            self._resembling(products),
            stop_when_separated=self.alpha == 0,
            small_step=min(_ALONE * np.sqrt(B.size), _ALONE_OF_ONE * np.sqrt(self.class_weights.sum())),
            renewed=renewed,
            passes=_MOST_PASSES,
        )

    def _nan_for_dropped_terms(self, found: OptimizeResult, products: Array) -> OptimizeResult:
        """With what tells columns apart that are combinations of others; a penalty chooses between those itself."""
        return replace(found, design=products) if self.alpha == 0 and products.ndim == 2 else found

    def _with_hessian(self, look: Evaluate, found: OptimizeResult) -> OptimizeResult:
        """With the Hessian where the search ended, so that there are standard errors, and the step it proposes."""
        there = look(found.B, True)
        if there.loss > found.last.loss * (1 + 1e-12):  # the last step, which nobody had looked at, led up again
            found = replace(found, B=found.path.coef[-1])
            there = look(found.B, True)
        found = replace(found, last=there)
        if not found.converged or (found.separation_suspected and self.alpha == 0):
            return found
        # Where nearly all rows are certain of their class, a step that seems small may lead far away.
        step = newton_polish(found)
        there = look(step.B, True)  # the Hessian before the step has five digits of the one after it
        closer = np.linalg.norm(there.gradient) <= np.linalg.norm(found.last.gradient)
        return replace(step, last=there) if closer else found

    def _resembling_at(self, rows: Rows, B: Array, held: tuple[int, ...] = ()) -> Preconditioner:
        """The inverse of something like the Hessian at B."""
        diagonal = self.objective.K * len(B) ** 2 > _CURVATURE_CELLS
        curvatures = _split_fixed(rows.reduce(self.objective.curvatures(B, diagonal)), held)
        return self._of_classes(curvatures + (self._ridge() if diagonal else np.diag(self._ridge())))

    def _resembling_some(
        self, few: Rows | None, products: Array, B: Array, held: tuple[int, ...] = ()
    ) -> Preconditioner | None:
        """The same from some of the rows, where they are many. A part of what all rows say remains: it knows of a
        column that is zero but in rows that were left out, and keeps the steps short where B is far off.
        """
        thin, step = _subsample(few, len(B), _PRECOND_STRIDE)
        if thin is None or products.ndim == 1 or self.objective.K * len(B) ** 2 > _CURVATURE_CELLS:
            return None
        share = self._shares()
        all_rows = (share * (1 - share))[:, None, None] * products
        some_rows = step * _split_fixed(thin.reduce(self.objective.curvatures(B, False)), held)
        return self._of_classes((1 - _REMAINS) * some_rows + _REMAINS * all_rows + np.diag(self._ridge()))

    def _of_classes(self, curvatures: Array) -> Preconditioner:
        return class_preconditioner(curvatures, self.objective.columns(), self.objective.reference)

    def _resembling(self, products: Array) -> Preconditioner:
        """The inverse of something like the Hessian: what the shares of the classes alone make of it, times X'X."""
        logits = self._shares()[self.objective.columns()]
        V = np.diag(logits) - np.outer(logits, logits)
        ridge = self._ridge() / V.max()
        if products.ndim == 2:
            within = preconditioner(products + np.diag(ridge))
        else:
            within = diagonal_preconditioner(products + ridge)
        across = np.linalg.inv(V)
        return lambda g: within(g) @ across

    def _shares(self) -> Array:
        return np.asarray(self.class_weights / self.class_weights.sum())

    def _products(self, rows: Rows) -> Array:
        """X'X, or its diagonal where that would be large."""
        few = int(self.objective.intercept) + len(self.objective.scaling.scale) <= GRAM_SIZE
        return self._cross_products(rows) if few else rows.reduce(self._squares)

    def _cross_products(self, rows: Rows) -> Array:
        """[1 | X]'W[1 | X] in the objective's scaling."""
        gram: Gram = rows.reduce(lambda block: Gram.of(replace(block, y=None))).rescaled(self.objective.scaling)
        mean, weight = gram.mean, gram.weight
        second = gram.centered_crossprod + weight * np.outer(mean, mean)
        if not self.objective.intercept:
            return np.asarray(second)
        return np.block([[np.array([[weight]]), weight * mean[None, :]], [weight * mean[:, None], second]])

    def _squares(self, block: Block) -> Array:
        weight = np.ones(len(block)) if block.weight is None else block.weight
        return np.asarray(self.objective.squares(block.X, weight[:, None])[0])

    def _ridge(self) -> Array:
        """The penalty on each squared coefficient in the scaling: none on the intercept."""
        with np.errstate(over="ignore"):
            ridge = self.alpha / self.objective.scaling.scale / self.objective.scaling.scale
        return np.concatenate([np.zeros(int(self.objective.intercept)), ridge])

    def _look(self, rows: Rows, share: float = 1.0) -> Evaluate:
        """Loss, gradient and Hessian with the penalty, or a share of it where rows are that share of all."""
        penalty = share * self._ridge()[:, None]

        def look(B: Array, hessian: bool) -> LossDerivatives:
            at = rows.reduce(self.objective.evaluator(B, hessian))
            if not np.isfinite(at.loss):
                for block in rows:
                    check_finite(block)
                raise ValueError("The logits overflow: scale the columns down, or remove outliers from X.")
            if self.alpha == 0:
                return at
            H = None if at.hessian is None else at.hessian + np.diag(np.tile(penalty[:, 0], B.shape[1]))
            loss = at.loss + 0.5 * float((penalty * B**2).sum())
            return LossDerivatives(loss, at.gradient + penalty * B, H, at.mistakes, at.largest)

        return look


def _with_fixed(look: Evaluate, held: tuple[int, ...]) -> Evaluate:
    """A look that sees no slope in the rows of B that belong to some columns, so that they stay where they are."""
    if not held:
        return look

    def held_look(B: Array, hessian: bool) -> LossDerivatives:
        at = look(B, hessian)
        gradient = at.gradient.copy()
        gradient[list(held)] = 0.0
        return replace(at, gradient=gradient)

    return held_look


def _split_fixed(curvatures: Array, held: tuple[int, ...]) -> Array:
    """Matrices, q × q, in which some columns have nothing to do with the others; diagonals stay as they are."""
    if not held or curvatures.ndim == 1:
        return curvatures
    apart, size = curvatures.copy(), curvatures.max()
    for j in held:
        apart[..., j, :] = apart[..., :, j] = 0.0
        apart[..., j, j] = size
    return apart


def _subsample(rows: Rows | None, columns: int, least: int) -> tuple[InMemoryRows | None, int]:
    """Every so many-th row in memory, and how many; (None, 1) where that would be too few rows to learn from."""
    if not isinstance(rows, InMemoryRows) or len(rows) < _THIN_ROWS:
        return None, 1
    step = max(least, -(-len(rows) * len(rows.names) // _THIN_CELLS))
    if len(rows) // step < _ROWS_EACH * columns:
        return None, 1
    return rows.every_nth(step), step
