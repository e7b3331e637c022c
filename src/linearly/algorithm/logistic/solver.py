"""Choose the optimizer and the start of a logistic fit, and run it.

A subsample of the rows locates the maximum approximately, so that all rows are read fewer times. This saves a factor of
1.6 in time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.identification import null_direction
from linearly.algorithm.least_squares.whitening import CholeskyFactor, Whitening, whiten, whiten_triangle
from linearly.algorithm.logistic import optimizers
from linearly.algorithm.logistic.firth import firth
from linearly.algorithm.logistic.information import information_qr
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import Evaluate, History, OptimizeResult, Preconditioner
from linearly.algorithm.logistic.proximal_newton import proximal_newton
from linearly.dataset.rows.block import Block, InMemoryRows, Rows, check_finite, row_weights
from linearly.dataset.rows.column_matrix import taking_columns
from linearly.dataset.rows.sparse import SparseRows
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array

GRAM_SIZE = 3000  # columns up to which X'X is the preconditioner; beyond, its diagonal
_MAX_NEWTON_SIZE = 300  # coefficients up to which a Hessian is cheaper than the passes it saves
_FEW_FLOPS = 2e7  # multiplications for a Hessian, about a millisecond; beyond, passes without it are cheaper
_FEW_PASSES = 40  # of such passes; a search that needs more is left to Newton
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
_FEW_TOL = 1e-7  # by L-BFGS before the only Hessian, so that it has seven digits
_AFTER_FEW_TOL = 1e-6  # by Newton afterwards
_NO_HESSIAN_TOL = 2e-5  # by L-BFGS without a Hessian, times √(coefficients): on average for each
_MIN_HESSIAN_DIGITS = 8.0  # of standard errors; with fewer, the information is computed by QR
_CLEAR_PENALTY = 1e-5  # share of a diagonal element, above which no pivot is doubtful: ten times DOUBTFUL²
_SAFE = 4.0  # how much larger than average leverages are assumed to be
_NO_HESSIAN_TOL_ONE_ROW = 2e-6  # and of the standard error from one row: with few rows it is large


@dataclass(frozen=True, eq=False)
class Information:
    """A well-conditioned information matrix, whose root is computed when it is first used."""

    matrix: Array
    condition: float
    digits: float

    @cached_property
    def root(self) -> Array:
        """The inverse root."""
        return whiten(self.matrix).root


@dataclass(frozen=True, eq=False)
class LogisticSolver:
    """Fits an objective with a penalty. `class_weights` are Σ w of each class.

    The penalty is Σ l1|w| + ½ Σ alpha w² for coefficients w in the user's units, without the intercepts.
    """

    objective: Logistic
    alpha: float
    class_weights: Array
    l1: float = 0.0

    @single_threaded_blas()
    def solve(
        self, rows: Rows, solver: str, *, subsample_source: Rows | None = None, bias_reduction: str | None = None
    ) -> OptimizeResult:
        """Return the coefficients from a solver; "auto" chooses a suitable one.

        `subsample_source` are the rows to take a warm start from, if they are in memory.
        """
        q, c = int(self.objective.intercept) + len(self.objective.scaling.scale), self.objective.K - 1
        B = np.zeros((q, c))
        evaluate = self._evaluator(rows)
        if bias_reduction == "firth":
            return firth(rows, self.objective, evaluate, B)
        if self.l1 > 0:
            if q * c > GRAM_SIZE:
                raise ValueError(
                    f"l1_ratio > 0 supports at most {GRAM_SIZE:,} coefficients, but the model has {q * c:,}. "
                    "Use fewer columns."
                )
            with np.errstate(over="ignore"):
                lam = np.minimum(self.l1 / self.objective.scaling.scale, 1e300)
            return proximal_newton(evaluate, B, np.concatenate([np.zeros(q - len(lam)), lam]))
        auto = solver == "auto"
        in_memory = isinstance(subsample_source, InMemoryRows | SparseRows)
        with_hessian = auto and (float(self.class_weights.sum()) + q * c) * (q * c) ** 2 <= _MAX_HESSIAN_FLOPS
        if auto:
            solver = "newton" if q * c <= _MAX_NEWTON_SIZE else "lbfgs"
        if solver == "newton":
            thin, step = _subsample(subsample_source, q, _WARM_START_STRIDE)
            if thin is not None:
                guess = optimizers.newton(self._evaluator(thin, 1 / step), B, step_tol=_WARM_START_TOL)
                if guess.converged:
                    return self._continue_from_subsample(evaluate, guess, step)
            found = self._with_few_hessians(rows, subsample_source, evaluate, B) if auto and in_memory else None
            if found is not None:
                return found
            return optimizers.newton(evaluate, B, stop_when_separated=self.alpha == 0)
        if solver == "gradient_descent" and q > GRAM_SIZE:
            raise ValueError(
                f'solver="gradient_descent" supports at most {GRAM_SIZE} columns. Use solver="newton" or "lbfgs".'
            )
        gram = not (auto and self.alpha > 0 and isinstance(subsample_source, SparseRows))
        products = self._products(rows, gram=gram)
        fixed_columns = self._aliased_columns(products)
        if solver == "gradient_descent":
            steepest = float(np.linalg.eigvalsh(products)[-1]) / (4 if c == 1 else 2)
            found = optimizers.gradient_descent(_with_fixed(evaluate, fixed_columns), B, steepest + self._ridge().max())
            return self._with_design(replace(found, aliased=fixed_columns), products)
        early = (_FEW_PASSES, _FEW_TOL) if with_hessian and in_memory else None
        found = self._minimize_by_gradients(rows, subsample_source, evaluate, B, products, fixed_columns, early)
        found = self._with_design(replace(found, aliased=fixed_columns), products)
        if with_hessian:
            return self._with_hessian(evaluate, found)
        return found

    def _with_few_hessians(
        self, rows: Rows, source: Rows | None, evaluate: Evaluate, B: Array
    ) -> OptimizeResult | None:
        """Return the maximum by L-BFGS and one or two steps of Newton; None for few rows, or if it is not found.

        Each pass of Newton would compute a Hessian, and a pass without it costs a small part. X'X is the
        preconditioner. For sparse rows with a penalty its diagonal serves as well.
        """
        if float(self.class_weights.sum()) * B.size**2 < _FEW_FLOPS:
            return None
        products = self._products(rows, gram=not (self.alpha > 0 and isinstance(source, SparseRows)))
        if self.alpha == 0 and (products.ndim == 1 or CholeskyFactor.of(products) is None):
            return None  # aliased columns, perhaps
        solve, stop = self._initial_preconditioner(products), self.alpha == 0
        near = optimizers.quasi_newton(
            evaluate, B, solve, stop_when_separated=stop, tolerance=0.0, step_tol=_FEW_TOL, passes=_FEW_PASSES
        )
        if not near.converged or (near.separation_suspected and stop):
            return None
        found = optimizers.newton(evaluate, near.B, stop_when_separated=stop, step_tol=_AFTER_FEW_TOL)
        if stop and found.factor is None:
            return None
        return replace(found, history=near.history.followed_by(found.history))

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
    ) -> tuple[Whitening | Information, Array]:
        """Return the inverse root of the information at the result, and a direction in which it is flat.

        The rows of coefficients in `dropped` are aliased and have no part in it. The information is the Hessian of the
        last pass, or if that has too few digits its R factor, by one more pass. The Hessian is from before the last
        step, which changes it by a share √(rank / n) of the length of the step in standard errors, for average
        leverages. Firth's coefficients themselves depend on the inverse of the Hessian, so a more accurate one for the
        standard errors does not add digits to them.
        """
        assert found.last.hessian is not None
        q, c = found.B.shape
        if found.factor is not None and not dropped and found.converged and bias_reduction is None:
            digits = found.factor.digits
            if digits >= _MIN_HESSIAN_DIGITS:
                step = found.factor.solve_transposed(found.last.gradient.T.reshape(-1))
                digits = self._digits_after_step(step, q * c, digits)
                return Information(found.last.hessian, found.factor.condition, digits), np.zeros(q * c)
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
            step = white.root.T @ found.last.gradient.T.reshape(-1)
            return replace(white, digits=self._digits_after_step(step, white.root.shape[1], white.digits)), flat
        kept = np.flatnonzero(white.root.any(axis=1))
        better = whiten_triangle(information_qr(rows, self.objective, found.B, self._ridge(), kept))
        root = np.zeros((len(white.root), better.root.shape[1]))
        root[kept] = better.root
        digits = better.digits if bias_reduction is None else white.digits
        return replace(better, root=root, aliased=white.aliased, digits=digits), flat

    def _digits_after_step(self, step: Array, rank: int, digits: float) -> float:
        """Return the digits of an information from before the last step, which is in standard errors."""
        moved = _SAFE * math.sqrt(step @ step) * math.sqrt(rank / max(float(self.class_weights.sum()), 1.0))
        return min(max(-math.log10(max(moved, 1e-16)), 0.0), digits)

    def _aliased_columns(self, products: Array) -> tuple[int, ...]:
        """Return the aliased columns, by the Hessian at zero, which is a multiple of X'X plus the penalty.

        With more columns than `GRAM_SIZE` only the diagonal of X'X is available, and none is reported. A pivot of a
        column is at least its penalty, so an ordinary penalty leaves no column doubtful.
        """
        if products.ndim == 1:
            return ()
        K, ridge = self.objective.K, self._ridge()
        at_zero = products * ((K - 1) / K**2)
        penalized = slice(int(self.objective.intercept), None)
        if (ridge[penalized] > _CLEAR_PENALTY * (np.diagonal(at_zero) + ridge)[penalized]).all():
            return ()
        at_zero += np.diag(ridge)
        return () if CholeskyFactor.of(at_zero) is not None else whiten(at_zero).aliased

    def _minimize_by_gradients(
        self,
        rows: Rows,
        subsample_source: Rows | None,
        evaluate: Evaluate,
        B: Array,
        products: Array,
        fixed_columns: tuple[int, ...],
        early: tuple[int, float] | None,
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
            early=early,
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
        assert there.hessian is not None
        found = replace(found, factor=CholeskyFactor.of(there.hessian))
        step = optimizers.newton_polish(found)
        if found.factor is not None:
            length = np.linalg.norm(found.factor.solve_transposed(there.gradient.T.reshape(-1)))
            if length <= _AFTER_FEW_TOL:  # the Hessian there would be the same to seven digits
                return step
        # If nearly all rows are certain of their class, a step that seems small may be a bad one.
        there = evaluate(step.B, True)  # the Hessian before the step agrees with it to five digits
        closer = np.linalg.norm(there.gradient) <= np.linalg.norm(found.last.gradient)
        return replace(step, last=there, factor=None) if closer else found

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

    def _products(self, rows: Rows, gram: bool = True) -> Array:
        """Return X'X, or its diagonal if that would be large or suffices."""
        small = int(self.objective.intercept) + len(self.objective.scaling.scale) <= GRAM_SIZE
        return self._cross_products(rows) if gram and small else rows.reduce(self._squares)

    def _cross_products(self, rows: Rows) -> Array:
        """Return [1 | X]'W[1 | X] in the scaling of the objective."""
        of_features = taking_columns(lambda block: Gram.of(replace(block, y=None)))
        gram: Gram = rows.reduce(of_features).rescaled(self.objective.scaling)
        mean, weight = gram.mean, gram.weight
        second = gram.centered_crossprod + weight * np.outer(mean, mean)
        if not self.objective.intercept:
            return np.asarray(second)
        return np.block([[np.array([[weight]]), weight * mean[None, :]], [weight * mean[:, None], second]])

    def _squares(self, block: Block) -> Array:
        weight = row_weights(block)
        return np.asarray(self.objective.squares(block.X, weight[:, None])[0])

    def _ridge(self) -> Array:
        """Return the penalty on each squared scaled coefficient, 0 for the intercept."""
        with np.errstate(over="ignore"):
            ridge = self.alpha / self.objective.scaling.scale / self.objective.scaling.scale
        return np.concatenate([np.zeros(int(self.objective.intercept)), ridge])

    def _evaluator(self, rows: Rows, share: float = 1.0) -> Evaluate:
        """Return the function that evaluates the penalised loss; `share` is that of the rows in all rows."""
        ridge = share * self._ridge()
        penalty, tiled = ridge[:, None], np.tile(ridge, self.objective.K - 1)

        def evaluate(B: Array, hessian: bool) -> LossDerivatives:
            at = rows.reduce(self.objective.evaluator(B, hessian))
            # A compiled exponential may turn NaN into a finite loss, depending on the processor; the gradient keeps it.
            if not math.isfinite(at.loss + float(at.gradient.sum())):
                for block in rows:
                    check_finite(block)
                raise ValueError(
                    "The logits exceed the float64 range. Scale the columns down, or remove outliers from X."
                )
            if self.alpha == 0:
                return at
            H = at.hessian
            if H is not None:
                H = H.copy()
                H.reshape(-1)[:: len(H) + 1] += tiled
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
