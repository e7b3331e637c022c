"""Minimise a loss by Newton's method, by preconditioned L-BFGS for wide data, or by gradient descent.

Each optimizer takes `evaluate(B, hessian)`, one pass over the rows that returns loss, gradient and Hessian at B, which
is q × c. It returns an `OptimizeResult` with the `History` of its passes. Newton's method on the logistic loss is IRLS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack

from linearly.algorithm.least_squares.whitening import CholeskyFactor, whiten
from linearly.algorithm.logistic.objective import LossDerivatives
from linearly.kernels.double_double import Array

Evaluate = Callable[[Array, bool], LossDerivatives]
Preconditioner = Callable[[Array], Array]

MAX_PASSES = 100
_MEMORY = 12  # secant pairs
STEP_TOL_SE = 1e-10  # standard errors; a smaller Newton step is taken and ends the search
STALLED_STEP_SE = 1e-6  # standard errors; after a smaller step the next must be much smaller still
SATURATED_LOGIT = 15.0  # |logit| beyond which a probability is 0 or 1 for all practical purposes
MIN_PASSES_FOR_SEPARATION = 12  # passes after which large logits indicate separation


class SecantPairs:
    """The last steps of a search, the changes of the gradient along them, and the preconditioner times these changes.

    They are rows of three matrices, oldest first, so that a direction takes a dozen calls of NumPy rather than several
    per pair.
    """

    def __init__(self, memory: int, size: int) -> None:
        self.memory = memory
        # Rows first … last − 1 are in use; there is room to move on before they are copied to the top.
        self.first = self.last = 0
        self._rows = np.empty((3, 2 * memory, size))
        self._products = np.zeros((2 * memory, 2 * memory))  # steps times changes

    def __len__(self) -> int:
        return self.last - self.first

    def append(self, step: Array, change: Array, guess: Array) -> None:
        """Add a pair, and forget the oldest if there are too many."""
        if len(self) == self.memory:
            self.first += 1
        if self.last == self._rows.shape[1]:
            used, n = slice(self.first, self.last), len(self)
            self._rows[:, :n], self._products[:n, :n] = self._rows[:, used], self._products[used, used]
            self.first, self.last = 0, n
        for rows, row in zip(self._rows, (step, change, guess), strict=True):
            rows[self.last] = row.reshape(-1)
        self.last += 1
        used = slice(self.first, self.last)
        steps, changes, _ = self._rows[:, used]
        self._products[used, self.last - 1] = steps @ changes[-1]
        self._products[self.last - 1, used] = changes @ steps[-1]

    def clear(self) -> None:
        """Forget all pairs."""
        self.first = self.last = 0

    def solve_anew(self, solve: Preconditioner, shape: tuple[int, ...]) -> None:
        """Replace the guesses by those of another preconditioner."""
        for i in range(self.first, self.last):
            self._rows[2, i] = solve(self._rows[1, i].reshape(shape)).reshape(-1)

    def direction(self, g: Array, solved: Array) -> Array:
        """Return the L-BFGS product of the inverse Hessian and g (Nocedal 1980); `solved` is the preconditioner's.

        The preconditioner is scaled by the mean ratio of the pairs, that is how much longer steps were than its guess.
        One pair alone measures one direction only, and its ratio varies by a factor of two. The two loops over pairs
        are solutions of triangular equations.
        """
        if not len(self):
            return solved
        used = slice(self.first, self.last)
        steps, changes, guesses = self._rows[:, used]
        products = self._products[used, used]
        curvature = np.diagonal(products)
        ratio = float((curvature / np.maximum((changes * guesses).sum(axis=1), 1e-300)).mean())
        shares = lapack.dtrtrs(products, steps @ g.reshape(-1))[0]
        r = ratio * (solved.reshape(-1) - shares @ guesses)
        r += lapack.dtrtrs(products, curvature * shares - changes @ r, trans=1)[0] @ steps
        return np.asarray(r.reshape(g.shape))


@dataclass
class History:
    """Loss, gradient norm and coefficients of each pass, and the length of the step after it (1 is a full step)."""

    loss: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    coef: list[Array] = field(default_factory=list)

    def append(self, B: Array, at: LossDerivatives, step: float) -> None:
        """Add a pass."""
        self.loss.append(at.loss)
        self.gradient_norm.append(float(np.linalg.norm(at.gradient)))
        self.step.append(step)
        self.coef.append(B.copy())

    def __len__(self) -> int:
        return len(self.loss)

    def followed_by(self, other: History) -> History:
        """Return this history and one that continues it."""
        return History(
            self.loss + other.loss,
            self.gradient_norm + other.gradient_norm,
            self.step + other.step,
            self.coef + other.coef,
        )


RefreshPreconditioner = Callable[[History, Array], Preconditioner | None]
"""A function of the history and B that returns a new preconditioner, or None to keep the present one."""


@dataclass(frozen=True, eq=False)
class OptimizeResult:
    """Final coefficients of an optimizer, the derivatives of its last pass, and why it stopped."""

    B: Array
    last: LossDerivatives
    history: History
    converged: bool
    separation_suspected: bool = False
    aliased: tuple[
        int, ...
    ] = ()  # rows of B for columns that are combinations of others; they keep their initial values
    design: Array | None = (
        None  # D'WD of the columns in some weights, if it was computed; it identifies aliased columns
    )
    factor: CholeskyFactor | None = None  # of the last Hessian, if it is well conditioned


def newton(
    evaluate: Evaluate,
    B: Array,
    *,
    fixed: tuple[int, int] | None = None,
    stop_when_separated: bool = True,
    step_tol: float = STEP_TOL_SE,
) -> OptimizeResult:
    """Minimise by Newton's method with step-halving. Each step is a weighted least-squares fit.

    `fixed` is the index in B of a coefficient that may not move, for profile likelihoods. The search ends after a step
    below `step_tol` standard errors; the next would be about its square.
    """
    history = History()
    best = evaluate(B, True)
    q, c = B.shape
    assert best.hessian is not None
    design = best.hessian[:q, :q]
    factor = CholeskyFactor.of(best.hessian) if fixed is None else None
    aliased: tuple[int, ...] = ()
    kept: Array | None = None  # all
    if factor is None:
        aliased, kept = aliased_and_kept(best.hessian, q, c)
    if fixed is not None and kept is not None:
        kept = kept[kept != fixed[1] * q + fixed[0]]
    before = np.inf
    for _ in range(MAX_PASSES):
        if stop_when_separated and best.mistakes == 0:
            history.append(B, best, 0.0)
            return OptimizeResult(B, best, history, False, True, aliased, design)
        if kept is None and len(history):
            assert best.hessian is not None
            factor = CholeskyFactor.of(best.hessian)
        step, decrement = _newton_step(best, kept, factor)
        # With tiny weights a standard error is too large a unit: the whole loss is smaller.
        weighty = min(1.0, best.loss)
        # After a step so small the next is about its square. Otherwise both are rounding errors of the gradient,
        # enlarged by columns that are nearly combinations of others, and the search would never end. Steps also shrink
        # slowly for separable classes, which the checks below detect.
        finite = best.largest <= SATURATED_LOGIT or not stop_when_separated
        stalled = finite and before <= STALLED_STEP_SE**2 * weighty and decrement > before / 16
        if decrement <= step_tol**2 * weighty or stalled:
            history.append(B, best, 1.0)
            return OptimizeResult(B + step, best, history, True, False, aliased, design, factor)
        before = decrement
        if stop_when_separated and len(history) >= MIN_PASSES_FOR_SEPARATION and best.largest > SATURATED_LOGIT:
            history.append(B, best, 0.0)
            return OptimizeResult(B, best, history, False, True, aliased, design)
        length = 1.0
        while True:
            trial = evaluate(B + length * step, True)
            # Near the minimum rounding alone may raise the loss, so a tiny increase is accepted.
            if trial.loss <= best.loss * (1 + 1e-12) or length < 1e-6:
                break
            length /= 2
        history.append(B, best, length)
        B, best = B + length * step, trial
    history.append(B, best, 0.0)
    return OptimizeResult(B, best, history, False, best.largest > SATURATED_LOGIT, aliased, design)


def quasi_newton(
    evaluate: Evaluate,
    B: Array,
    solve: Preconditioner,
    *,
    stop_when_separated: bool = True,
    tolerance: float = 1e-8,
    step_tol: float = 0.0,
    early: tuple[int, float] | None = None,
    refresh: RefreshPreconditioner = lambda history, B: None,
    passes: int = 10 * MAX_PASSES,
) -> OptimizeResult:
    """Minimise by preconditioned L-BFGS; `solve` applies the inverse of an approximate Hessian.

    The search ends after a step shorter than `tolerance` times the first or than `step_tol`, in standard errors as far
    as the curvature is known. `early` is another `step_tol` for so many passes: a search that is fast goes on to more
    digits. The secant pairs are kept when `refresh` returns a new preconditioner.
    """
    history = History()
    best = evaluate(B, False)
    pairs = SecantPairs(_MEMORY, B.size)
    solved = solve(best.gradient)
    start: float | None = None
    for _ in range(passes):
        g = best.gradient
        direction = -pairs.direction(g, solved)
        slope = float((direction * g).sum())
        size = float(np.sqrt(abs(slope)))
        start = size if start is None else start
        limit = early[1] if early is not None and len(history) < early[0] else max(tolerance * start, step_tol)
        if size <= max(limit, 1e-300):
            history.append(B, best, float(slope < 0))
            # For separable classes steps become small because the slope vanishes, not because the minimum is near.
            return OptimizeResult(
                B + direction if slope < 0 else B, best, history, True, best.largest > SATURATED_LOGIT
            )
        if stop_when_separated and best.mistakes == 0 and best.largest > SATURATED_LOGIT:
            break
        if slope >= 0:
            pairs.clear()
            direction = -solved
            slope = float((direction * g).sum())
        length, trial = _backtrack(evaluate, B, best, direction, slope)
        history.append(B, best, length)
        if trial is None:
            break
        step, change = length * direction, trial.gradient - g
        solved_there = solve(trial.gradient)
        if (step * change).sum() > 0:
            pairs.append(step, change, solved_there - solved)
        B, best, solved = B + step, trial, solved_there
        fresh = refresh(history, B)
        if fresh is not None:
            solve, solved = fresh, fresh(best.gradient)
            pairs.solve_anew(fresh, B.shape)
    return OptimizeResult(B, best, history, False, best.largest > SATURATED_LOGIT)


def gradient_descent(
    evaluate: Evaluate, B: Array, curvature: float, *, steps: int = 2000, tolerance: float = 1e-6
) -> OptimizeResult:
    """Minimise by steps of 1 / curvature against the gradient; `curvature` bounds the curvature of the loss."""
    history = History()
    first: float | None = None
    best = evaluate(B, False)
    for _ in range(steps):
        history.append(B, best, 1 / curvature)
        size = history.gradient_norm[-1]
        first = size if first is None else first
        if size <= tolerance * max(first, 1e-300):
            return OptimizeResult(B, best, history, converged=True)
        B = B - best.gradient / curvature
        best = evaluate(B, False)
    return OptimizeResult(B, best, history, converged=False, separation_suspected=best.mistakes == 0)


def diagonal_preconditioner(diagonal: Array) -> Preconditioner:
    """Return the inverse of a diagonal matrix; 0 for zeros on the diagonal."""
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    return lambda g: np.asarray(inverse[:, None] * g)


def preconditioner(H: Array) -> Preconditioner:
    """Return the inverse of a positive matrix H (q × q) with a small ridge."""
    H = H + np.diag(np.full(len(H), 1e-12 * np.trace(H) / len(H)))
    # LAPACK directly: the checks of SciPy's `cho_solve` take longer than a small solution.
    R, failed = lapack.dpotrf(H)
    if failed:  # H vanishes if all rows of a class are certain
        return diagonal_preconditioner(np.diagonal(H))
    return lambda g: np.asarray(lapack.dpotrs(R, g)[0])


def class_preconditioner(curvatures: Array, columns: Array, reference: int) -> Preconditioner:
    """Return the inverse of the Hessian without the terms between coefficients of different classes.

    `curvatures` are K matrices, q × q, or their diagonals. Each class has its own coefficients, and logits are
    differences to the reference class. If all classes are equally likely everywhere, it is the exact inverse.
    """
    K = len(curvatures)
    parts = [diagonal_preconditioner(H) if H.ndim == 1 else preconditioner(H) for H in curvatures]

    def solve(g: Array) -> Array:
        slopes = np.empty((len(g), K))
        slopes[:, columns], slopes[:, reference] = g, -g.sum(axis=1)
        own = np.concatenate([part(slopes[:, k : k + 1]) for k, part in enumerate(parts)], axis=1)
        return np.asarray((own[:, columns] - own[:, reference, None]) * ((K - 1) / K))

    return solve


def hessian_preconditioner(H: Array, c: int) -> Preconditioner:
    """Return the inverse of a full Hessian of c logits, or its pseudo-inverse if that is singular."""
    root = whiten(H).root
    return lambda g: np.asarray((root @ (root.T @ g.T.reshape(-1))).reshape(c, -1).T)


def newton_polish(found: OptimizeResult) -> OptimizeResult:
    """Return the result after one Newton step with the Hessian of its last pass.

    Coefficients of aliased columns become 0, and the others take over their part.
    """
    if found.factor is not None:
        return replace(found, B=found.B + _newton_step(found.last, None, found.factor)[0], aliased=())
    b, g, H = found.B.T.reshape(-1), found.last.gradient.T.reshape(-1), found.last.hessian
    assert H is not None
    q, c = found.B.shape
    aliased, kept = aliased_and_kept(H, q, c)
    left_out = np.setdiff1d(np.arange(q * c), kept)
    root = whiten(H[np.ix_(kept, kept)]).root
    step = np.zeros(q * c)
    step[left_out] = -b[left_out]
    step[kept] = -(root @ (root.T @ (g[kept] + H[np.ix_(kept, left_out)] @ step[left_out])))
    return replace(found, B=found.B + step.reshape(c, q).T, aliased=aliased)


def aliased_and_kept(H: Array, q: int, c: int) -> tuple[tuple[int, ...], Array]:
    """Return the aliased columns, and the indices of the others in the Hessian of c logits."""
    aliased = whiten(H[:q, :q]).aliased
    return aliased, np.concatenate([a * q + np.setdiff1d(np.arange(q), aliased) for a in range(c)])


def _newton_step(at: LossDerivatives, kept: Array | None, factor: CholeskyFactor | None) -> tuple[Array, float]:
    """Return the step for the coefficients in `kept` (all of them if None), and its squared length in errors."""
    assert at.hessian is not None
    q, c = at.gradient.shape
    g = at.gradient.T.reshape(-1)
    if factor is not None:
        u = factor.solve_transposed(g)
        return -factor.solve(u).reshape(c, q).T, float(u @ u)
    kept = np.arange(q * c) if kept is None else kept
    g = g[kept]
    root = whiten(at.hessian[np.ix_(kept, kept)]).root
    u = root.T @ g
    step = np.zeros(q * c)
    step[kept] = -(root @ u)
    return step.reshape(c, q).T, float(u @ u)


def _backtrack(
    evaluate: Evaluate, B: Array, best: LossDerivatives, direction: Array, slope: float
) -> tuple[float, LossDerivatives | None]:
    length = 1.0
    for _ in range(40):
        trial = evaluate(B + length * direction, False)
        if trial.loss <= best.loss + 1e-4 * length * slope + 1e-13 * abs(best.loss):
            return length, trial
        length /= 2
    return 0.0, None
