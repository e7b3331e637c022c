"""Choose the optimizer and the start of a logistic fit, and run it.

A subsample of the rows locates the maximum approximately, so that all rows are read fewer times. This saves a factor of
1.6 in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.identification import null_direction
from linearly.algorithm.least_squares.whitening import Whitening, whiten, whiten_triangle
from linearly.algorithm.logistic import optimizers
from linearly.algorithm.logistic.firth import firth
from linearly.algorithm.logistic.information import information_qr
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import Evaluate, History, OptimizeResult, Preconditioner
from linearly.dataset.rows.block import Block, InMemoryRows, Rows, check_finite
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.kernels.double_double import Array

GRAM_SIZE = 3000  # columns up to which X'X is the preconditioner; beyond, its diagonal
_MAX_NEWTON_SIZE = 300  # coefficients up to which a Hessian is cheaper than the passes it saves
_MAX_CURVATURE_CELLS = 2**24  # numbers in the curvatures of all classes (128 MB); beyond, only diagonals
_FIRST_REFRESH = 2  # passes of L-BFGS before a subsample gives a better preconditioner
_FAST_DECREASE = 1 / 16  # of the first gradient; if less is left then, the preconditioner is good enough
_PRIOR_SHARE = 0.1  # of the preconditioner of all rows, in that of a subsample
_REFRESH_EVERY = 40  # passes of L-BFGS before all rows give a new preconditioner
_MAX_PASSES = 1000  # of L-BFGS
_MAX_HESSIAN_FLOPS = 1e10  # multiplications for a Hessian and its inverse, about a second; beyond, L-BFGS forms none
_WARM_START_STRIDE = 16  # the warm start uses at most every 16th row
_PRECOND_STRIDE = 32  # a better preconditioner uses at most every 32nd row
_MIN_SUBSAMPLED_ROWS = 100_000  # fewer rows are not subsampled
_MAX_SUBSAMPLE_CELLS = 2**21  # numbers in a subsample, at most
_MIN_ROWS_PER_COLUMN = 20  # in a subsample, at least: fewer rows might be separable

# Distance from the maximum, in standard errors, at which a search ends after its last step.
_WARM_START_TOL = 1.0  # on a subsample, whose maximum differs by several of these
_GRADIENT_TOL = 2e-3  # by L-BFGS, before a Hessian
_NEWTON_TOL = 1e-4  # by Newton afterwards: the error of its step is quadratic, and the rows are many
_NO_HESSIAN_TOL = 2e-5  # by L-BFGS without a Hessian, times √(coefficients): on average for each
_MIN_HESSIAN_DIGITS = 8.0  # of standard errors; with fewer, the information is computed by QR
_SAFE = 4.0  # how much larger than average leverages are assumed to be
_NO_HESSIAN_TOL_ONE_ROW = 2e-6  # and of the standard error from one row: with few rows it is large


@dataclass(frozen=True, eq=False)
class LogisticSolver:
    """Fits an objective with a ridge penalty. `class_weights` are Σ w of each class."""

    objective: Logistic
    alpha: float
    class_weights: Array

    @single_threaded_blas()
    def solve(
        self, rows: Rows, solver: str, *, subsample_source: Rows | None = None, bias_reduction: str | None = None
    ) -> OptimizeResult:
        """Return the coefficients by a solver, or with "auto" the one that suits.

        `subsample_source` are the rows to take a warm start from, if they are in memory.
        """
        q, c = int(self.objective.intercept) + len(self.objective.scaling.scale), self.objective.K - 1
        B = np.zeros((q, c))
        evaluate = self._evaluator(rows)
        if bias_reduction == "firth":
            return firth(rows, self.objective, evaluate, B)
        auto = solver == "auto"
        if auto:
            solver = "newton" if q * c <= _MAX_NEWTON_SIZE else "lbfgs"
        if solver == "newton":
            thin, step = _subsample(subsample_source, q, _WARM_START_STRIDE)
            if thin is not None:
                guess = optimizers.newton(self._evaluator(thin, 1 / step), B, step_tol=_WARM_START_TOL)
                if guess.converged:
                    return self._continue_from_subsample(evaluate, guess, step)
            return optimizers.newton(evaluate, B, stop_when_separated=self.alpha == 0)
        if solver == "gradient_descent" and q > GRAM_SIZE:
            raise ValueError(f"gradient_descent is for teaching: at most {GRAM_SIZE} columns.")
        products = self._products(rows)
        fixed_columns = self._aliased_columns(products)
        if solver == "gradient_descent":
            steepest = float(np.linalg.eigvalsh(products)[-1]) / (4 if c == 1 else 2)
            found = optimizers.gradient_descent(_with_fixed(evaluate, fixed_columns), B, steepest + self._ridge().max())
            return self._with_design(replace(found, aliased=fixed_columns), products)
        found = self._minimize_by_gradients(rows, subsample_source, evaluate, B, products, fixed_columns)
        found = self._with_design(replace(found, aliased=fixed_columns), products)
        if auto and (float(self.class_weights.sum()) + q * c) * (q * c) ** 2 <= _MAX_HESSIAN_FLOPS:
            return self._with_hessian(evaluate, found)
        return found

    def resume_newton(self, rows: Rows, found: OptimizeResult) -> OptimizeResult:
        """Continue by Newton a search that stopped because it suspected separation, if there is a maximum."""
        if found.last.hessian is None:
            return found
        more = optimizers.newton(self._evaluator(rows), found.B, stop_when_separated=False)
        return replace(more, history=found.history.followed_by(more.history), design=found.design)

    def _continue_from_subsample(self, evaluate: Evaluate, guess: OptimizeResult, step: int) -> OptimizeResult:
        """Continue from the solution of a subsample: by L-BFGS, then by Newton with a Hessian of all rows.

        The Hessian of the subsample is the preconditioner; a pass without a Hessian costs a third.
        """
        assert guess.last.hessian is not None
        solve = optimizers.hessian_preconditioner(step * guess.last.hessian, guess.B.shape[1])
        near = optimizers.quasi_newton(evaluate, guess.B, solve, tolerance=0.0, step_tol=_GRADIENT_TOL)
        if not near.converged:
            return optimizers.newton(evaluate, guess.B, stop_when_separated=False)
        found = optimizers.newton(evaluate, near.B, stop_when_separated=False, step_tol=_NEWTON_TOL)
        return replace(found, history=near.history.followed_by(found.history))

    def information(
        self, rows: Rows, found: OptimizeResult, dropped: Sequence[int], bias_reduction: str | None = None
    ) -> tuple[Whitening, Array]:
        """Return the inverse root of the information at the result, and a direction in which it is flat.

        The rows of coefficients in `dropped` are aliased and have no part in it. The information is the Hessian of the
        last pass, or if that has too few digits its R factor, by one more pass. The Hessian is from before the last
        step, which changes it by a share √(rank / n) of the length of the step in standard errors, for average
        leverages. Firth's coefficients themselves depend on the inverse of the Hessian, so a more accurate one for the
        standard errors does not add digits to them.
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
        if white.digits >= _MIN_HESSIAN_DIGITS or not found.converged:
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

    def _aliased_columns(self, products: Array) -> tuple[int, ...]:
        """Return the aliased columns, by the Hessian at zero, which is a multiple of X'X plus the penalty.

        With more columns than `GRAM_SIZE` only the diagonal of X'X is available, and none is reported.
        """
        if products.ndim == 1:
            return ()
        K = self.objective.K
        return whiten(products * ((K - 1) / K**2) + np.diag(self._ridge())).aliased

    def _minimize_by_gradients(
        self,
        rows: Rows,
        subsample_source: Rows | None,
        evaluate: Evaluate,
        B: Array,
        products: Array,
        fixed_columns: tuple[int, ...],
    ) -> OptimizeResult:
        """Minimise by L-BFGS with a preconditioner that is computed anew on the way.

        Rows that are certain of their class do not contribute to the Hessian, and which those are is not known at the
        start. A subsample gives an early update.
        """
        products = _split_fixed(products, fixed_columns)

        def refresh(history: History, B: Array) -> Preconditioner | None:
            if len(history) == _FIRST_REFRESH and history.gradient_norm[-1] > _FAST_DECREASE * history.gradient_norm[0]:
                return self._preconditioner_from_subsample(subsample_source, products, B, fixed_columns)
            return self._preconditioner_at(rows, B, fixed_columns) if len(history) % _REFRESH_EVERY == 0 else None

        return optimizers.quasi_newton(
            _with_fixed(evaluate, fixed_columns),
            B,
            self._initial_preconditioner(products),
            stop_when_separated=self.alpha == 0,
            step_tol=min(
                _NO_HESSIAN_TOL * np.sqrt(B.size), _NO_HESSIAN_TOL_ONE_ROW * np.sqrt(self.class_weights.sum())
            ),
            refresh=refresh,
            passes=_MAX_PASSES,
        )

    def _with_design(self, found: OptimizeResult, products: Array) -> OptimizeResult:
        """Return the result with X'X, from which aliased columns are identified; a penalty needs none of that."""
        return replace(found, design=products) if self.alpha == 0 and products.ndim == 2 else found

    def _with_hessian(self, evaluate: Evaluate, found: OptimizeResult) -> OptimizeResult:
        """Return the result with the Hessian, for standard errors, and after the Newton step it gives."""
        there = evaluate(found.B, True)
        if there.loss > found.last.loss * (1 + 1e-12):  # the last step was not evaluated, and raised the loss
            found = replace(found, B=found.history.coef[-1])
            there = evaluate(found.B, True)
        found = replace(found, last=there)
        if not found.converged or (found.separation_suspected and self.alpha == 0):
            return found
        # If nearly all rows are certain of their class, a step that seems small may be a bad one.
        step = optimizers.newton_polish(found)
        there = evaluate(step.B, True)  # the Hessian before the step agrees with it to five digits
        closer = np.linalg.norm(there.gradient) <= np.linalg.norm(found.last.gradient)
        return replace(step, last=there) if closer else found

    def _preconditioner_at(self, rows: Rows, B: Array, fixed_columns: tuple[int, ...] = ()) -> Preconditioner:
        """Return the inverse of an approximate Hessian at B, from all rows."""
        diagonal = self.objective.K * len(B) ** 2 > _MAX_CURVATURE_CELLS
        curvatures = _split_fixed(rows.reduce(self.objective.curvatures(B, diagonal)), fixed_columns)
        return self._class_preconditioner(curvatures + (self._ridge() if diagonal else np.diag(self._ridge())))

    def _preconditioner_from_subsample(
        self, subsample_source: Rows | None, products: Array, B: Array, fixed_columns: tuple[int, ...] = ()
    ) -> Preconditioner | None:
        """Return the inverse of an approximate Hessian at B from a subsample, or None if there is none.

        A share of X'X of all rows is added. It covers columns that are zero in the subsample, and keeps steps short if
        B is far from the maximum.
        """
        thin, step = _subsample(subsample_source, len(B), _PRECOND_STRIDE)
        if thin is None or products.ndim == 1 or self.objective.K * len(B) ** 2 > _MAX_CURVATURE_CELLS:
            return None
        share = self._shares()
        all_rows = (share * (1 - share))[:, None, None] * products
        some_rows = step * _split_fixed(thin.reduce(self.objective.curvatures(B, False)), fixed_columns)
        return self._class_preconditioner(
            (1 - _PRIOR_SHARE) * some_rows + _PRIOR_SHARE * all_rows + np.diag(self._ridge())
        )

    def _class_preconditioner(self, curvatures: Array) -> Preconditioner:
        return optimizers.class_preconditioner(curvatures, self.objective.columns(), self.objective.reference)

    def _initial_preconditioner(self, products: Array) -> Preconditioner:
        """Return the inverse of the Hessian at the class shares: their covariance times X'X."""
        logits = self._shares()[self.objective.columns()]
        V = np.diag(logits) - np.outer(logits, logits)
        ridge = self._ridge() / V.max()
        if products.ndim == 2:
            within = optimizers.preconditioner(products + np.diag(ridge))
        else:
            within = optimizers.diagonal_preconditioner(products + ridge)
        across = np.linalg.inv(V)
        return lambda g: within(g) @ across

    def _shares(self) -> Array:
        return np.asarray(self.class_weights / self.class_weights.sum())

    def _products(self, rows: Rows) -> Array:
        """Return X'X, or its diagonal if that would be large."""
        subsample_source = int(self.objective.intercept) + len(self.objective.scaling.scale) <= GRAM_SIZE
        return self._cross_products(rows) if subsample_source else rows.reduce(self._squares)

    def _cross_products(self, rows: Rows) -> Array:
        """Return [1 | X]'W[1 | X] in the scaling of the objective."""
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
        """Return the penalty on each squared scaled coefficient, 0 for the intercept."""
        with np.errstate(over="ignore"):
            ridge = self.alpha / self.objective.scaling.scale / self.objective.scaling.scale
        return np.concatenate([np.zeros(int(self.objective.intercept)), ridge])

    def _evaluator(self, rows: Rows, share: float = 1.0) -> Evaluate:
        """Return the function that evaluates the penalised loss; `share` is that of the rows in all rows."""
        penalty = share * self._ridge()[:, None]

        def evaluate(B: Array, hessian: bool) -> LossDerivatives:
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

        return evaluate


def _with_fixed(evaluate: Evaluate, fixed_columns: tuple[int, ...]) -> Evaluate:
    """Return a function with gradient 0 for the coefficients of some columns, so that they do not move."""
    if not fixed_columns:
        return evaluate

    def evaluate_fixed(B: Array, hessian: bool) -> LossDerivatives:
        at = evaluate(B, hessian)
        gradient = at.gradient.copy()
        gradient[list(fixed_columns)] = 0.0
        return replace(at, gradient=gradient)

    return evaluate_fixed


def _split_fixed(curvatures: Array, fixed_columns: tuple[int, ...]) -> Array:
    """Return matrices, q × q, without cross-products of the fixed columns; diagonals stay unchanged."""
    if not fixed_columns or curvatures.ndim == 1:
        return curvatures
    apart, size = curvatures.copy(), curvatures.max()
    for j in fixed_columns:
        apart[..., j, :] = apart[..., :, j] = 0.0
        apart[..., j, j] = size
    return apart


def _subsample(rows: Rows | None, columns: int, min_stride: int) -> tuple[InMemoryRows | None, int]:
    """Return every k-th row in memory, and k; (None, 1) if that would be too few rows."""
    if not isinstance(rows, InMemoryRows) or len(rows) < _MIN_SUBSAMPLED_ROWS:
        return None, 1
    step = max(min_stride, -(-len(rows) * len(rows.names) // _MAX_SUBSAMPLE_CELLS))
    if len(rows) // step < _MIN_ROWS_PER_COLUMN * columns:
        return None, 1
    return rows.every_nth(step), step
