"""Optimizers over folds: Newton, which is IRLS; a preconditioned quasi-Newton for wide data; gradient descent.

Each takes `look(B, hessian)`, one pass over the rows that says loss, gradient and Hessian at B, and returns where it
ended with the `Path` it took. B is q × c throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from linearly.algorithm.least_squares.solution import whiten
from linearly.algorithm.logistic.objective import LossDerivatives
from linearly.kernels.double_double import Array

Evaluate = Callable[[Array, bool], LossDerivatives]
Preconditioner = Callable[[Array], Array]

MAX_PASSES = 100
STEP_TOL_SE = 1e-10  # of a standard error: the Newton step that ends the search, taken before it ends
STALLED_STEP_SE = 1e-6  # of a standard error: a step after which the next must be much smaller
SATURATED_LOGIT = 15.0  # a logit beyond this has a probability of 0 or 1 for all practical purposes
MIN_PASSES_FOR_SEPARATION = 12  # passes after which growing logits are a sign of separation


@dataclass(frozen=True, eq=False)
class SecantPair:
    """A step, the change of the gradient along it, and the step that the preconditioner would make of that change."""

    step: Array
    change: Array
    guess: Array

    @cached_property
    def curvature(self) -> float:
        return float((self.step * self.change).sum())

    @cached_property
    def ratio(self) -> float:
        """How much longer the step was than the preconditioner's guess of it."""
        return self.curvature / max(float((self.change * self.guess).sum()), 1e-300)


@dataclass
class History:
    """What each pass found: loss, gradient norm, and the length of the step that followed (1 = a full Newton step)."""

    loss: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    coef: list[Array] = field(default_factory=list)

    def note(self, B: Array, at: LossDerivatives, step: float) -> None:
        """Add a pass."""
        self.loss.append(at.loss)
        self.gradient_norm.append(float(np.linalg.norm(at.gradient)))
        self.step.append(step)
        self.coef.append(B.copy())

    def __len__(self) -> int:
        return len(self.loss)

    def then(self, other: History) -> History:
        """This path and the one that went on from its end."""
        return History(
            self.loss + other.loss,
            self.gradient_norm + other.gradient_norm,
            self.step + other.step,
            self.coef + other.coef,
        )


Renewed = Callable[[History, Array], Preconditioner | None]
"""After some passes, at B: a preconditioner to go on with, or None where the one there is will do."""


@dataclass(frozen=True, eq=False)
class OptimizeResult:
    """Where an optimizer ended. `last` is what the last pass saw; `suspicious` if it looked like separation."""

    B: Array
    last: LossDerivatives
    path: History
    converged: bool
    separation_suspected: bool = False
    aliased: tuple[int, ...] = ()  # rows of B that belong to columns depending on others; they stay where they started
    design: Array | None = None  # D'WD of the columns in some weights, where it was formed: it tells them apart


def newton(
    look: Evaluate,
    B: Array,
    *,
    hold: tuple[int, int] | None = None,
    stop_when_separated: bool = True,
    small_step: float = STEP_TOL_SE,
) -> OptimizeResult:
    """Newton's method with step-halving: each step is a weighted least-squares fit (S3), never dividing by a weight.

    `hold` is the place in B of a coefficient that may not move, for profile likelihoods. The search ends with a step
    below `small_step` standard errors; the next would be about its square.
    """
    path = History()
    best = look(B, True)
    q, c = B.shape
    assert best.hessian is not None
    aliased, kept = independent(best.hessian, q, c)
    design = best.hessian[:q, :q]
    if hold is not None:
        kept = kept[kept != hold[1] * q + hold[0]]
    before = np.inf
    for _ in range(MAX_PASSES):
        if stop_when_separated and best.mistakes == 0:
            path.note(B, best, 0.0)
            return OptimizeResult(B, best, path, False, True, aliased, design)
        step, decrement = _newton_step(best, kept)
        # A standard error of rows that weigh next to nothing is no measure: their whole loss is smaller.
        weighty = min(1.0, best.loss)
        # From a step so small the next is about its square. Where it is not, both are rounding errors of the gradient,
        # which columns that are nearly combinations of others enlarge; the search would never end. Where classes are
        # separable steps shrink slowly, too: that is for the checks below to say.
        finite = best.largest <= SATURATED_LOGIT or not stop_when_separated
        stalled = finite and before <= STALLED_STEP_SE**2 * weighty and decrement > before / 16
        if decrement <= small_step**2 * weighty or stalled:
            path.note(B, best, 1.0)
            return OptimizeResult(B + step, best, path, True, False, aliased, design)
        before = decrement
        if stop_when_separated and len(path) >= MIN_PASSES_FOR_SEPARATION and best.largest > SATURATED_LOGIT:
            path.note(B, best, 0.0)
            return OptimizeResult(B, best, path, False, True, aliased, design)
        length = 1.0
        while True:
            trial = look(B + length * step, True)
            # Rounding alone may raise the loss near the minimum; that is no reason to halve.
            if trial.loss <= best.loss * (1 + 1e-12) or length < 1e-6:
                break
            length /= 2
        path.note(B, best, length)
        B, best = B + length * step, trial
    path.note(B, best, 0.0)
    return OptimizeResult(B, best, path, False, best.largest > SATURATED_LOGIT, aliased, design)


def quasi_newton(
    look: Evaluate,
    B: Array,
    solve: Preconditioner,
    *,
    stop_when_separated: bool = True,
    tolerance: float = 1e-8,
    small_step: float = 0.0,
    renewed: Renewed = lambda path, B: None,
    passes: int = 10 * MAX_PASSES,
    memory: int = 12,
) -> OptimizeResult:
    """L-BFGS, preconditioned: `solve` applies the inverse of a matrix that the Hessian resembles.

    Ends with a step, taken before it ends, that is shorter than `tolerance` times the first or than `small_step`, both
    in standard errors as far as the curvature is known by then. What steps have taught about the Hessian is kept where
    the matrix is `renewed`.
    """
    path = History()
    best = look(B, False)
    pairs: list[SecantPair] = []
    start: float | None = None
    for _ in range(passes):
        g = best.gradient
        direction = -_two_loops(g, pairs, solve)
        slope = float((direction * g).sum())
        size = float(np.sqrt(abs(slope)))
        start = size if start is None else start
        if size <= max(tolerance * start, small_step, 1e-300):
            path.note(B, best, float(slope < 0))
            # Where classes are separable, steps become small for want of a slope, not for want of a distance.
            return OptimizeResult(B + direction if slope < 0 else B, best, path, True, best.largest > SATURATED_LOGIT)
        if stop_when_separated and best.mistakes == 0 and best.largest > SATURATED_LOGIT:
            break
        if slope >= 0:
            pairs.clear()
            direction = -solve(g)
            slope = float((direction * g).sum())
        length, trial = _backtrack(look, B, best, direction, slope)
        path.note(B, best, length)
        if trial is None:
            break
        change = trial.gradient - g
        pair = SecantPair(length * direction, change, solve(change))
        if pair.curvature > 0:
            pairs.append(pair)
            del pairs[:-memory]
        B, best = B + pair.step, trial
        fresh = renewed(path, B)
        if fresh is not None:
            solve = fresh
            pairs = [replace(pair, guess=fresh(pair.change)) for pair in pairs]
    return OptimizeResult(B, best, path, False, best.largest > SATURATED_LOGIT)


def gradient_descent(
    look: Evaluate, B: Array, curvature: float, *, steps: int = 2000, tolerance: float = 1e-6
) -> OptimizeResult:
    """Steps of 1 / curvature against the gradient, for teaching: the curvature bounds that of the loss everywhere."""
    path = History()
    first: float | None = None
    best = look(B, False)
    for _ in range(steps):
        path.note(B, best, 1 / curvature)
        size = path.gradient_norm[-1]
        first = size if first is None else first
        if size <= tolerance * max(first, 1e-300):
            return OptimizeResult(B, best, path, converged=True)
        B = B - best.gradient / curvature
        best = look(B, False)
    return OptimizeResult(B, best, path, converged=False, separation_suspected=best.mistakes == 0)


def diagonal_preconditioner(diagonal: Array) -> Preconditioner:
    """The inverse of a diagonal matrix; columns of zeros stay where they are."""
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    return lambda g: np.asarray(inverse[:, None] * g)


def preconditioner(H: Array) -> Preconditioner:
    """The inverse of a positive matrix H (q × q), a little ridge making it safe."""
    H = H + np.diag(np.full(len(H), 1e-12 * np.trace(H) / len(H)))
    try:
        factor = cho_factor(H)
    except LinAlgError:  # nothing is left of it, where all rows of a class are certain
        return diagonal_preconditioner(np.diagonal(H))
    return lambda g: np.asarray(cho_solve(factor, g))


def class_preconditioner(curvatures: Array, columns: Array, reference: int) -> Preconditioner:
    """The inverse of the Hessian as if each of K classes had coefficients of its own that leave the others' alone.

    `curvatures` are K matrices, q × q, or their diagonals. The logits then are differences against the reference.
    Where all classes are equally likely everywhere it is the inverse itself.
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
    """The inverse of a whole Hessian of c logits, of its rank where that is less than full."""
    root = whiten(H).root
    return lambda g: np.asarray((root @ (root.T @ g.T.reshape(-1))).reshape(c, -1).T)


def newton_polish(found: OptimizeResult) -> OptimizeResult:
    """What one Newton step makes of where a search ended, its last pass having seen a Hessian.

    Coefficients of columns that depend on others become 0, the others taking over what they were for.
    """
    b, g, H = found.B.T.reshape(-1), found.last.gradient.T.reshape(-1), found.last.hessian
    assert H is not None
    q, c = found.B.shape
    aliased, kept = independent(H, q, c)
    left_out = np.setdiff1d(np.arange(q * c), kept)
    root = whiten(H[np.ix_(kept, kept)]).root
    step = np.zeros(q * c)
    step[left_out] = -b[left_out]
    step[kept] = -(root @ (root.T @ (g[kept] + H[np.ix_(kept, left_out)] @ step[left_out])))
    return replace(found, B=found.B + step.reshape(c, q).T, aliased=aliased)


def independent(H: Array, q: int, c: int) -> tuple[tuple[int, ...], Array]:
    """The columns that depend on others, and the places in the Hessian of c logits that belong to the rest."""
    aliased = whiten(H[:q, :q]).aliased
    return aliased, np.concatenate([a * q + np.setdiff1d(np.arange(q), aliased) for a in range(c)])


def _newton_step(at: LossDerivatives, kept: Array) -> tuple[Array, float]:
    assert at.hessian is not None
    q, c = at.gradient.shape
    g = at.gradient.T.reshape(-1)[kept]
    root = whiten(at.hessian[np.ix_(kept, kept)]).root
    u = root.T @ g
    step = np.zeros(q * c)
    step[kept] = -(root @ u)
    return step.reshape(c, q).T, float(u @ u)


def _two_loops(g: Array, pairs: Sequence[SecantPair], solve: Preconditioner) -> Array:
    """The L-BFGS direction (Nocedal 1980), started from the preconditioner.

    Its scale is the mean of what the pairs say: one pair alone sees one direction, and swings by a factor of two.
    """
    q = g.copy()
    shares = []
    for pair in reversed(pairs):
        share = float((pair.step * q).sum()) / pair.curvature
        shares.append(share)
        q -= share * pair.change
    r = solve(q)
    if pairs:
        r = r * (sum(pair.ratio for pair in pairs) / len(pairs))
    for pair, share in zip(pairs, reversed(shares), strict=True):
        r += pair.step * (share - float((pair.change * r).sum()) / pair.curvature)
    return r


def _backtrack(
    look: Evaluate, B: Array, best: LossDerivatives, direction: Array, slope: float
) -> tuple[float, LossDerivatives | None]:
    length = 1.0
    for _ in range(40):
        trial = look(B + length * direction, False)
        if trial.loss <= best.loss + 1e-4 * length * slope + 1e-13 * abs(best.loss):
            return length, trial
        length /= 2
    return 0.0, None
