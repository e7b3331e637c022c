"""Find the point of a convex hull nearest to the origin (Wolfe 1976), in floating point and in integers.

The nearest point x decides whether some v has a·v > 0 for all rows a, or some convex combination Σ λ a is 0. If x ≠ 0,
every a·x ≥ ‖x‖² > 0, and no v has a larger margin min a·v / ‖v‖. If x = 0, its weights are the combination. The
algorithm keeps a *corral* (Wolfe's term): affinely independent rows whose hull contains x in its interior. Each step
adds the row that opposes x most and drops rows whose weight would become negative. ‖x‖ decreases at every step, so the
algorithm cannot cycle, even on degenerate data.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr_delete, qr_insert
from scipy.linalg.lapack import dtrtrs

from linearly.algorithm.separability.budget import spend_work
from linearly.algorithm.separability.halfspaces import Floats
from linearly.algorithm.separability.integer_algebra import Integers, null_space

_ROUNDING = 1e-13


class Corral:
    """Search the nearest point in floating point, for rows that arrive in batches.

    `x` is the current point, `members` are the rows of the corral and `weights` their weights. The QR factorisation of
    the members, with a 1 appended, is updated row by row in O(d²) per step.
    """

    def __init__(self, d: int) -> None:
        self.d = d
        self.rows = np.empty((0, d))
        self._sizes = np.empty(0)
        self.members: list[int] = []
        self.weights: Floats = np.empty(0)
        self.x: Floats = np.zeros(d)
        self.contains_origin = False
        self._Q: NDArray[Any] = np.eye(d + 1)
        self._R: NDArray[Any] = np.empty((d + 1, 0))
        self._age = 0

    def add(self, rows: Floats) -> None:
        """Add rows to the search."""
        self.rows = np.vstack([self.rows, rows])
        self._sizes = np.linalg.norm(self.rows, axis=1)

    def run(self, gap: float | None = None, steps: int = 10**9) -> bool:
        """Iterate until every a·x > 0 (with a gap, a·x ≥ (1 − gap)‖x‖²) or x = 0. Return False if rounding stops it."""
        if not self.members:
            self._enter(int(np.argmin(self._sizes)))
        last, stalls = math.inf, 0
        for _ in range(min(steps, 1000 + 100 * self.d)):
            spend_work(2 * self.rows.size + 4 * self.d**2 + 100_000)
            if stalls > 8 or not self._minor_cycles():
                return False
            self.x = self.weights @ self.rows[self.members]
            square = float(self.x @ self.x)
            size = float(self._sizes[self.members].max())
            if len(self.members) > self.d or math.sqrt(square) <= _ROUNDING * size:
                self.contains_origin = True
                return True
            value = self.rows @ self.x
            j = int(np.argmin(value))
            if value[j] > 0 if gap is None else value[j] >= (1 - gap) * square:
                return True
            if j in self.members:
                return False
            stalls = stalls + 1 if square >= last else 0
            last = min(square, last)
            self._enter(j)
        return False

    def _enter(self, j: int) -> None:
        column = np.append(self.rows[j], 1.0)
        if self._age % (64 + self.d) == 0:  # updates lose digits slowly: factorise anew now and then
            columns = [np.append(self.rows[i], 1.0) for i in self.members]
            self._Q, self._R = np.linalg.qr(np.column_stack([*columns, column]), mode="complete")
        else:
            self._Q, self._R = qr_insert(self._Q, self._R, column, len(self.members), which="col", check_finite=False)
        self._age += 1
        self.members.append(j)
        self.weights = np.append(self.weights, 0.0 if len(self.members) > 1 else 1.0)

    def _minor_cycles(self) -> bool:
        """Move to the nearest point of the members' affine hull, dropping members. Return False on breakdown."""
        while True:
            k = len(self.members)
            # min ‖Σ α a‖² with Σ α = 1 is, up to scale, least squares of (0, …, 0, 1) on the columns (a, 1).
            alpha, singular = dtrtrs(self._R[:k], self._Q[-1, :k])
            total = alpha.sum()
            if singular or not np.isfinite(total) or total <= 0:
                return False
            alpha /= total
            out = alpha <= _ROUNDING
            if not out.any():
                self.weights = alpha
                return True
            if k == 1:
                return False
            w = self.weights
            with np.errstate(divide="ignore", invalid="ignore"):
                steps = np.where(out, w / (w - alpha), np.inf)
            steps = np.where(np.isnan(steps), 0.0, steps)
            drop = int(np.argmin(steps))
            theta = min(1.0, max(0.0, float(steps[drop])))
            w = np.maximum(w + theta * (alpha - w), 0.0)
            w[drop] = 0.0
            if w.sum() <= 0:
                return False
            self.weights = np.delete(w, drop) / w.sum()
            self.members.pop(drop)
            self._Q, self._R = qr_delete(self._Q, self._R, drop, which="col", check_finite=False)
            self._age += 1


class ExactCorral:
    """Run the same search in integers, one step at a time: slow and exact.

    After `enter`, `x` is the nearest point of the hull of `points`, and all `weights` are positive.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.points: list[Integers] = []
        self.weights: list[Fraction] = []

    def enter(self, i: int, point: Integers) -> None:
        """Add a point a with a·x ≤ 0 (any point at first) and move to the nearest point."""
        self.ids.append(i)
        self.points.append(point)
        self.weights.append(Fraction(0) if len(self.ids) > 1 else Fraction(1))
        self._minor_cycles()

    def start(self, ids: list[int], points: Integers, weights: Floats) -> None:
        """Start from the affinely independent ones among the members of a floating-point search."""
        ones = np.ones((1, len(points)), dtype=object)
        _, independent = null_space(np.vstack([points.T, ones]))
        self.ids = [ids[i] for i in independent]
        self.points = [points[i] for i in independent]
        w = [Fraction(max(float(weights[i]), 2.0**-40)) for i in independent]
        self.weights = [t / sum(w) for t in w]
        self._minor_cycles()

    @property
    def x(self) -> Integers:
        """Return the nearest point times a positive integer."""
        d = math.lcm(*(w.denominator for w in self.weights))
        return np.asarray(sum(int(w * d) * a for w, a in zip(self.weights, self.points, strict=True)))

    def _minor_cycles(self) -> None:
        while True:
            P = np.array(self.points, dtype=object).reshape(len(self.ids), -1)
            spend_work(100 * P.size * len(P))
            ones = np.ones((len(self.ids), 1), dtype=object)
            # (P P' + 1 1') α = 1 up to scale; the matrix is positive definite for affinely independent points.
            B, _ = null_space(np.hstack([P @ P.T + 1, -ones]))
            alpha = [Fraction(int(t), int(B[:-1, 0].sum())) for t in B[:-1, 0]]
            if all(a > 0 for a in alpha):
                self.weights = alpha
                return
            theta = min(w / (w - a) for w, a in zip(self.weights, alpha, strict=True) if a <= 0)
            moved = [w + theta * (a - w) for w, a in zip(self.weights, alpha, strict=True)]
            stay = [i for i, w in enumerate(moved) if w > 0]
            self.ids = [self.ids[i] for i in stay]
            self.points = [self.points[i] for i in stay]
            self.weights = [moved[i] for i in stay]
