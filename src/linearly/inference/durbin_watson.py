"""Test whether the residuals of neighbouring rows are correlated, by Durbin and Watson's statistic.

    d = Σ (rᵢ₊₁ − rᵢ)² / Σ rᵢ² = r'Ar / r'r,      A = Δ'Δ, Δ the first differences

Independent errors give d near 2, positive serial correlation gives less. The p-value is P(D ≤ d) under
independent normal errors, as `dwtest` of R's lmtest gives it: exact below 100 rows, from there on a normal
approximation with the exact mean and variance of D (Durbin and Watson 1950).

The order of rows matters, but they may come in blocks: `Differences` is a summary whose `a + b` means a's rows
followed by b's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from linearly.kernels.double_double import Array

EXACT_BELOW = 100  # rows from which on the p-value is the normal approximation, as in lmtest


class DurbinWatson(NamedTuple):
    """Statistic, P(D ≤ statistic) under independence (small: positive serial correlation), rows."""

    statistic: float
    p_value: float
    n: int


@dataclass(frozen=True, slots=True)
class Differences:
    """Sums over consecutive rows of [r | Z]; `a + b` is the summary of a's rows followed by b's.

    r is the residual, Z a row of an orthonormal basis of the model's column space (X times the inverse of the
    triangle, intercept included; its squared length is the row's leverage). All sums are (1 + rank) square.

    Parameters
    ----------
    n: rows
    square: Σ r²
    steps: Σ δδ', δ the difference of a row and the one before it
    turns: Σ (δδ₊' + δ₊δ'), over consecutive differences δ, δ₊
    first, last: the outermost rows
    first_step, last_step: the outermost differences, zero where there is only one row
    """

    n: int
    square: float
    steps: Array
    turns: Array
    first: Array
    last: Array
    first_step: Array
    last_step: Array

    @classmethod
    def of(cls, r: ArrayLike, Z: ArrayLike | None = None) -> Differences:
        """Summarise one block of at least one row; without Z the summary has a statistic, but no p-value."""
        columns = [np.asarray(r, dtype=np.float64)]
        rows = np.column_stack(columns if Z is None else [*columns, np.asarray(Z, dtype=np.float64)])
        if not len(rows):
            raise ValueError("Differences.of needs at least one row. Pass rows.")
        d = np.diff(rows, axis=0)
        turns = d[:-1].T @ d[1:]
        none = np.zeros(rows.shape[1])
        first_step, last_step = (d[0], d[-1]) if len(d) else (none, none)
        square = float(rows[:, 0] @ rows[:, 0])
        return cls(len(rows), square, d.T @ d, turns + turns.T, rows[0], rows[-1], first_step, last_step)

    def __add__(self, other: Differences) -> Differences:
        step = other.first - self.last
        # A block of one row has no steps: zeros stand for them in the products and give way here.
        turn = np.outer(self.last_step + other.first_step, step)
        return Differences(
            self.n + other.n,
            self.square + other.square,
            self.steps + other.steps + np.outer(step, step),
            self.turns + other.turns + turn + turn.T,
            self.first,
            other.last,
            self.first_step if self.n > 1 else step,
            other.last_step if other.n > 1 else step,
        )

    @property
    def statistic(self) -> float:
        """Return Durbin and Watson's d, between 0 and 4; NaN if every residual is zero."""
        return float(self.steps[0, 0]) / self.square if self.square > 0 else float("nan")

    def normal_p_value(self) -> float:
        """Return P(D ≤ d) with D taken as normal, from the exact mean and variance of D; this needs Z.

        Durbin and Watson (1950), with H = ZZ' the projection on the model and m = n − rank:
        tr MA = tr A − tr Z'AZ and tr (MA)² = tr A² − 2 tr Z'A²Z + tr (Z'AZ)².
        """
        n, m = self.n, self.n - (len(self.steps) - 1)
        if m < 1:
            return float("nan")
        ZAZ = self.steps[1:, 1:]
        # Rows of AZ are differences of neighbouring steps: Z'A²Z = Σ (δ − δ₊)(δ − δ₊)', with zero steps
        # at both ends. What cancels in the trace is small beside tr A².
        trace_ZA2Z = 2.0 * float(np.trace(ZAZ)) - float(np.trace(self.turns[1:, 1:]))
        trace_MA = 2.0 * (n - 1) - float(np.trace(ZAZ))
        trace_MA2 = 2.0 * (3 * n - 4) - 2.0 * trace_ZA2Z + float(np.sum(ZAZ * ZAZ))
        mean = trace_MA / m
        variance = 2.0 * (trace_MA2 - trace_MA * mean) / (m * (m + 2.0))
        return float(ndtr((self.statistic - mean) / np.sqrt(variance))) if variance > 0 else float("nan")


def durbin_watson(r: ArrayLike, Q: ArrayLike) -> DurbinWatson:
    """Test the residuals r, in row order, of a fit whose column space has the orthonormal basis Q (n × rank).

    >>> t = np.arange(12.0)
    >>> Q, _ = np.linalg.qr(np.column_stack([np.ones(12), t]))
    >>> y = np.sin(t)
    >>> test = durbin_watson(y - Q @ (Q.T @ y), Q)
    >>> round(test.statistic, 4), round(test.p_value, 4), test.n
    (0.915, 0.0048, 12)
    """
    r = np.asarray(r, dtype=np.float64)
    Q = np.asarray(Q, dtype=np.float64)
    differences = Differences.of(r, Q)
    n, d = differences.n, differences.statistic
    if n >= EXACT_BELOW:
        return DurbinWatson(d, differences.normal_p_value(), n)
    rank = Q.shape[1]
    # The non-zero eigenvalues of MA are those of W'AW, W a basis of what the model leaves over.
    W = np.linalg.qr(Q, mode="complete")[0][:, rank:]
    steps = np.diff(W, axis=0)
    return DurbinWatson(d, exact_p_value(d, np.linalg.eigvalsh(steps.T @ steps)), n)


def exact_p_value(d: float, eigenvalues: ArrayLike) -> float:
    """Return P(Σ νⱼ zⱼ² ≤ d Σ zⱼ²) for independent standard normal z and the eigenvalues ν of MA.

    lmtest evaluates the same probability by Pan's algorithm (Farebrother 1980, AS 153) with 15 nodes, a
    sum of alternating integrals between neighbouring eigenvalues. Its terms grow with the number of rows
    and cancel where d is near its mean. Over 200 random series it differs from the value here, relative
    to p, by less than 4e-9 for 10 to 20 rows, by up to 7e-2 for 99 rows (one left [0, 1]), and by up to
    2e-2 where only two eigenvalues are left. Here the inversion integral runs through its saddle point,
    where nothing cancels: within 2e-15 of 30-digit arithmetic in 59 cases with p from 1 down to 3e-30,
    the worst of those series among them. The two agree to 3e-10 on swiss, longley, stackloss and mtcars.
    """
    lam = np.asarray(eigenvalues, dtype=np.float64) - d
    if len(lam) < 2 or not np.isfinite(d):
        return float("nan")  # with one degree of freedom left, D is a constant
    if lam.max() <= 0:
        return 1.0
    if lam.min() >= 0:
        return 0.0
    return _lower_tail(lam) if lam.sum() > 0 else 1.0 - _lower_tail(-lam)


def _lower_tail(lam: Array) -> float:
    """Return P(Q < 0) for Q = Σ λⱼ zⱼ² with a positive mean and some λ below zero.

    With K(s) = −½ Σ log(1 − 2sλⱼ), the log of E exp(sQ), it is −(1/2πi) ∫ exp(K(s))/s ds over any upward line
    between the first singularity left of zero, 1/(2 min λ), and zero.
    """
    lam = lam / np.abs(lam).max()  # the sign of Q does not depend on its scale
    # K(s) − log(−s) is convex and infinite at both ends: one minimum, the saddle. Near enough is good enough.
    low, high = 0.5 / lam.min(), 0.0
    left = low
    for _ in range(40):
        c = 0.5 * (low + high)
        low, high = (low, c) if np.sum(lam / (1.0 - 2.0 * c * lam)) > 1.0 / c else (c, high)
    c = 0.5 * (low + high)

    # On the line, t = σ sinh x turns algebraic decay into exponential and keeps every singularity π/2
    # away, so the trapezoidal rule converges geometrically: halve the step until the sum stands still.
    sigma = min(-c, c - left)
    log_peak = -0.5 * float(np.sum(np.log1p(-2.0 * c * lam)))

    def on_line(x: Array) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Return the point s, and exp(K(s)) over its value at the saddle."""
        s = c + 1j * sigma * np.sinh(x)
        K = -0.5 * np.log(1.0 - 2.0 * s[:, None] * lam).sum(axis=1)
        return s, np.exp(K - log_peak)

    def area(x: Array) -> float:
        s, relative = on_line(x)
        return float(np.sum((relative / s).real * np.cosh(x)))

    # |exp(K)| falls all along the line; beyond the reach it is below any digit that counts.
    reach = 1.0 + float(np.count_nonzero(np.abs(on_line(np.arange(1.0, 100.0))[1]) > 1e-18))
    points = 64
    step = reach / points
    total = 0.5 * area(np.zeros(1)) + area(step * np.arange(1.0, points + 1.0))
    value = step * total
    for _ in range(8):
        total += area(step * np.arange(0.5, points))
        points, step = 2 * points, 0.5 * step
        previous, value = value, step * total
        if abs(value - previous) <= 1e-14 * abs(value):
            break
    return float(np.clip(-value * sigma / np.pi * np.exp(log_peak), 0.0, 1.0))
