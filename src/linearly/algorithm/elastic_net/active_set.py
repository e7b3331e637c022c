"""Minimize ½ w'Sw − c'w + Σ λ|w| + ½ Σ μw² by an active-set method.

Given which coefficients are not zero and their signs, the minimum solves a linear system. The method moves towards that
solution, drops coefficients that would change their signs, and adds features whose gradient exceeds the penalty (Lee,
Battle, Raina & Ng 2007; Lawson & Hanson 1974 for nonnegative coefficients). Each step decreases the objective, and
there are finitely many sets of signs, so it ends at the minimum. It is accurate to rounding, not to a tolerance.

For fewer rows than columns, coordinate descent over a working set of features finds nearly all active ones (Friedman,
Hastie & Tibshirani 2010). A product with all rows shows which features violate the optimality conditions, and those
with the largest gradients join the working set. The active-set method ends the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from linearly.algorithm.elastic_net.quadratic_loss import Index, QuadraticLoss
from linearly.kernels.double_double import Array

_VIOLATION_TOL = 2e-14  # excess of a gradient over its penalty that rounding may leave, for columns of norm 1
_DEPENDENT_TOL = 1e-12  # pivot of a column, over its square, that is a combination of the active ones
_FLAT_TOL = 1e-14  # decrease of Σ λ|w| along a combination of columns that is zero, over its terms, that is none
_TIE_TOL = 1e-9  # relative distance of a gradient from its penalty that counts as a tie
_MAX_STEPS_PER_FEATURE = 50
_CLOSE = 1e-7  # change of a coefficient, and excess of a gradient, at which coordinate descent ends
_NEAR = 1e-5  # relative distance of a gradient from its penalty within which a feature may be active
_WORKING_SET = 64  # features that join at once, if so many gradients exceed their penalties


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """Coefficients at the minimum in the units of a `QuadraticLoss`, with the evidence that they are optimal."""

    w: Array  # p
    active: Index  # features with a coefficient, in increasing order
    gradient: Array  # c − Sw

    def ties(self, loss: QuadraticLoss, lam: Array, mu: Array) -> Index:
        """Return inactive features with a gradient equal to their penalty that are combinations of the active ones.

        The minimum is then not unique. At a knot of the path, gradients equal penalties for features of other kinds.
        """
        slack = np.abs(self.gradient) - lam * (1 - _TIE_TOL)
        tied = np.flatnonzero((loss.diagonal > 0) & (mu == 0) & (slack >= 0) & (self.w == 0))
        if not len(tied) or not len(self.active):
            return np.empty(0, dtype=np.intp)
        n_active, S = len(self.active), loss.block(np.append(self.active, tied))
        cross, squares = S[:n_active, n_active:], S.diagonal()[n_active:]
        fitted = np.linalg.lstsq(S[:n_active, :n_active], cross)[0]
        return np.asarray(tied[squares - (cross * fitted).sum(axis=0) <= _TIE_TOL * squares])

    def violation(self, lam: Array, mu: Array) -> float:
        """Return the largest violation of the optimality conditions, for columns and targets of norm 1."""
        slope = self.gradient - mu * self.w
        excess = np.where(self.w == 0, np.maximum(np.abs(slope) - lam, 0.0), np.abs(slope - lam * np.sign(self.w)))
        return float(excess.max(initial=0.0))

    def dual_gap(self, loss: QuadraticLoss, t: int, lam: Array, mu: Array) -> float:
        """Return the objective minus the dual objective at a feasible point: a bound on the distance to the minimum."""
        w, slope = self.w, np.abs(self.gradient - mu * self.w)
        squares = loss.residual_squares(w, t, self.gradient)
        ridge = float(mu @ w**2)
        free = lam == 0
        ratio = np.divide(lam, slope, out=np.full_like(lam, np.inf), where=(slope > 0) & ~free)
        scale = min(1.0, float(ratio.min(initial=np.inf)))
        primal = 0.5 * (squares + ridge) + float(lam @ np.abs(w))
        dual = scale * (loss.total[t] - float(loss.c[:, t] @ w)) - 0.5 * scale**2 * (squares + ridge)
        return float(max(primal - dual, 0.0))


def minimize(
    loss: QuadraticLoss, t: int, lam: Array, mu: Array, start: Array | None = None, gradient: Array | None = None
) -> Minimum:
    """Return the minimum for target t, starting from coefficients of a similar problem.

    Parameters
    ----------
    loss : QuadraticLoss
        The quadratic part.
    t : int
        Target.
    lam, mu : ndarray of shape (p,)
        Penalties of the absolute values and of the squares.
    start : ndarray of shape (p,), optional
        Coefficients to start from.
    gradient : ndarray of shape (p,), optional
        Gradient c − Sw at `start`, if it is known.

    Returns
    -------
    Minimum
        Coefficients, active features and gradient.
    """
    if loss.S is None:
        return _minimize_by_working_sets(loss, t, lam, mu, np.zeros(loss.p) if start is None else start, gradient)
    search = _Search(loss, t, lam, mu, np.zeros(loss.p) if start is None else start.copy())
    search.settle(np.empty(0, dtype=np.intp))
    several, gradient = True, search.gradient()
    for _ in range(_MAX_STEPS_PER_FEATURE * (10 + loss.p)):
        excess = np.abs(gradient) - lam
        excess[search.active] = 0.0
        excess[loss.diagonal == 0] = 0.0
        new = np.flatnonzero(excess > _VIOLATION_TOL)
        if not len(new):
            break
        new = new[np.argsort(-excess[new], kind="stable")]
        before = search.objective(gradient)
        search.settle(new[: 10 + len(search.active) // 2] if several else new[:1], np.sign(gradient))
        gradient = search.gradient()
        if not search.objective(gradient) < before:
            if not several:  # rounding leaves nothing to gain
                break
            several = False
    active = np.sort(search.active)
    return Minimum(search.w, active, loss.gradient(search.w[active], t, active))


def _minimize_by_working_sets(
    loss: QuadraticLoss, t: int, lam: Array, mu: Array, w: Array, gradient: Array | None
) -> Minimum:
    w, gradient = _approach(loss, t, lam, mu, w, gradient)
    outside = loss.diagonal > 0
    working = np.flatnonzero((w != 0) | (outside & (np.abs(gradient) >= lam * (1 - _NEAR))))
    while True:
        outside[working] = False
        found = minimize(loss.part(working), t, lam[working], mu[working], w[working])
        w = np.zeros(loss.p)
        w[working] = found.w
        active = np.flatnonzero(w)
        gradient = loss.gradient(w[active], t, active)
        new = np.flatnonzero(outside & (np.abs(gradient) - lam > _VIOLATION_TOL))
        if not len(new):
            return Minimum(w, active, gradient)
        working = np.append(working, new)


def _approach(
    loss: QuadraticLoss, t: int, lam: Array, mu: Array, w: Array, gradient: Array | None
) -> tuple[Array, Array]:
    """Return coefficients near the minimum and their gradient, by coordinate descent over a growing working set."""
    working, outside = np.flatnonzero(w), loss.diagonal > 0
    outside[working] = False
    if gradient is None:
        gradient = loss.gradient(w[working], t, working)
    while True:
        excess = np.where(outside, np.abs(gradient) - lam, -np.inf)
        violations = int((excess > _CLOSE).sum())
        if not violations:
            return w, gradient
        count = min(max(_WORKING_SET, len(working)), 2 * violations, int(outside.sum()))
        new = np.argpartition(-excess, count - 1)[:count]
        outside[new] = False
        working = np.append(working, new)
        w, gradient = loss.descend(w, t, working, lam, mu, max(0.01 * float(excess[new].max()), _CLOSE))


class _Search:
    """Coefficients on their way to the minimum, with the active features and their signs."""

    def __init__(self, loss: QuadraticLoss, t: int, lam: Array, mu: Array, w: Array) -> None:
        self.loss, self.t, self.lam, self.mu, self.w = loss, t, lam, mu, w
        self.active: Index = np.flatnonzero(w)
        self.sign = np.sign(w)

    def gradient(self) -> Array:
        """Return c − Sw."""
        return self.loss.gradient(self.w[self.active], self.t, self.active)

    def objective(self, gradient: Array) -> float:
        """Return the objective up to a constant."""
        w, c = self.w, self.loss.c[:, self.t]
        return 0.5 * float(self.mu @ w**2 - w @ (c + gradient)) + float(self.lam @ np.abs(w))

    def settle(self, new: Index, sign: Array | None = None) -> None:
        """Add features with these signs, and move to the minimum over the active features."""
        if sign is not None:
            self.sign[new] = sign[new]
        self.active = np.append(self.active, new)
        while len(self.active):
            factor, singular = self._factor()
            if singular is not None:
                if len(new) == 1 or not np.isin(self.active[singular], new):
                    self._move_along_null(singular)
                else:
                    self._drop(np.arange(len(self.active)) >= singular)  # new features stand last
                new = np.intersect1d(new, self.active)
                continue
            A = self.active
            goal = dpotrs(factor, self.loss.c[A, self.t] - self.lam[A] * self.sign[A], lower=1)[0]
            wrong = (goal * self.sign[A] <= 0) & (self.lam[A] > 0)
            if not wrong.any():
                self.w[A] = goal
                return
            now = self.w[A]
            stuck = wrong & (now == 0)
            if stuck.any():
                self._drop(stuck)
                continue
            share = np.divide(now, now - goal, out=np.full(len(A), np.inf), where=wrong)
            self._clip(now, goal, share, np.tril(factor).T)

    def _clip(self, now: Array, goal: Array, share: Array, root: Array) -> None:
        """Move towards the goal, and drop features that reach zero at their share of the way.

        With signs that do not change, the objective is half the squared distance from the goal in the metric of the
        root. The step is halved until that decreases, as it does at the latest where the first feature reaches zero.
        """
        step, first, before = 1.0, float(share.min()), float(np.linalg.norm(root @ (now - goal)))
        while True:
            zero = share <= step
            moved = np.where(zero, 0.0, now + step * (goal - now))
            if step == first or np.linalg.norm(root @ (moved - goal)) < before:
                break
            step = max(step / 2, first)
        self.w[self.active] = moved
        self._drop(zero)

    def _factor(self) -> tuple[Array, int | None]:
        """Return the Cholesky factor of the active block, and the position of the first dependent column."""
        A = self.active
        M = self.loss.block(A)
        M[np.diag_indices(len(A))] = self.loss.diagonal[A] + self.mu[A]
        factor, info = dpotrf(M, lower=1)
        if info > 0:
            return factor, int(info) - 1
        pivots = np.diagonal(factor) ** 2 / np.diagonal(M)
        if pivots.min() < _DEPENDENT_TOL:
            return factor, int(np.argmax(pivots < _DEPENDENT_TOL))
        return factor, None

    def _move_along_null(self, position: int) -> None:
        """Move along a combination of columns that is zero, so that Σ λ|w| decreases, to the next zero."""
        A = self.active[: position + 1]
        block = self.loss.block(A)
        v = np.append(-np.linalg.lstsq(block[:-1, :-1], block[:-1, -1], rcond=None)[0], 1.0)
        v[np.abs(v) < 1e-9 * np.abs(v).max()] = 0.0
        slope = float((self.lam[A] * self.sign[A]) @ v)
        v = -v if slope > 0 else v
        now = self.w[A]
        shrinking = (now * v < 0) & (now != 0)
        if abs(slope) <= _FLAT_TOL * float(self.lam[A] @ np.abs(v)) or not shrinking.any():  # nothing to gain
            self._drop(np.arange(len(self.active)) == position)
            return
        share = -now[shrinking] / v[shrinking]
        step = float(share.min())
        self.w[A] = now + step * v
        self.sign[A] = np.where(self.w[A] != 0, np.sign(self.w[A]), self.sign[A])
        self._drop_zeros(A[shrinking][share <= step])

    def _drop_zeros(self, features: Index) -> None:
        self.w[features] = 0.0
        self._drop(np.isin(self.active, features))

    def _drop(self, which: NDArray[np.bool_]) -> None:
        self.w[self.active[which]] = 0.0
        self.active = self.active[~which]
