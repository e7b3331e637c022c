"""Prove the active set and the signs of an elastic net in rational arithmetic.

The numbers of a summary, the penalty and the coefficients are floats, which are integers times powers of two. So the
optimality conditions can be verified for the stored summary without rounding:

    S_AA w_A + M_A w_A = c_A − λ_A s_A,  sign(w_A) = s_A,  |c_j − S_jA w_A| ≤ λ_j for every other j.

They are sufficient, because the problem is convex. What is proven is the minimum for the summary. The summary itself
has the rounding errors of one pass over the rows. For fewer rows than columns, the last condition is first tried in
floating point with a bound on its rounding errors, and in rational arithmetic only if that bound does not decide.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.elastic_net.quadratic_loss import Penalty
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor, column_squares
from linearly.algorithm.least_squares.triangular import EPS
from linearly.algorithm.separability.budget import DEFAULT_BUDGET, BudgetExceeded, spend_work, work_limit
from linearly.algorithm.separability.integer_algebra import null_space
from linearly.kernels.double_double import Array, DoubleDouble, Numbers

COEFFICIENT_TOL = 1e-8  # relative distance of a coefficient from the exact one
_ROUNDING = 1e-14  # relative rounding error of the equations that the coefficients solve
Verdict = Literal["optimal", "not optimal", "unproven"]


class _NotUnique(Exception):
    """The equations of the active features have no unique solution."""


@dataclass(frozen=True, eq=False)
class OptimalityCertificate:
    """Proof that the coefficients of an elastic net are optimal for its summary.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    coef : ndarray of shape (n_targets, n_features)
        Coefficients, whose signs are claimed.
    budget : float or None, default=1e10
        Number of operations after which a proof is given up.

    Examples
    --------
    >>> import linearly as ly
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> proof = ly.ElasticNet(alpha=1.0).fit(X, [0.0, 1.0, 2.0, 3.0]).certificate_
    >>> proof.verdict, proof.check()
    ('optimal', True)
    """

    summary: Gram | QRFactor
    intercept: bool
    penalty: Penalty
    names: tuple[str, ...]
    coef: Array
    budget: float | None = DEFAULT_BUDGET

    def check(self) -> bool:
        """Verify the optimality conditions without rounding.

        Returns
        -------
        bool
            True if the active set, the signs and the coefficients are proven.
        """
        return self.verdict == "optimal"

    @property
    def verdict(self) -> Verdict:
        """Return "optimal", "not optimal", or "unproven".

        The verdict is "unproven" if the proof would take too long, or if the active columns are linearly dependent.
        """
        return self._proof[0]

    def describe(self) -> str:
        """Return the verdict in words."""
        return self._proof[1]

    def __repr__(self) -> str:
        return f"OptimalityCertificate({self.verdict}, {len(self.coef)} × {self.coef.shape[1]} coefficients)"

    @cached_property
    def _proof(self) -> tuple[Verdict, str]:
        try:
            with work_limit(self.budget):
                problem = _Problem(self.summary, self.intercept)
                for t, coef in enumerate(self.coef):
                    wrong = self._violation(problem, coef, t)
                    if wrong:
                        return "not optimal", f"The coefficients are not optimal, because {wrong}."
        except _NotUnique:
            return "unproven", (
                "The active columns are linearly dependent, so the solution may not be unique and its signs do "
                "not certify it. Set l1_ratio below 1, or drop columns."
            )
        except BudgetExceeded:
            return "unproven", (
                f"The proof stopped, because it would exceed {self.budget:g} operations. For a proof that may take "
                "longer, call dataclasses.replace(estimator.certificate_, budget=None).check()."
            )
        n_active = int((self.coef != 0).any(axis=0).sum())
        return "optimal", (
            f"The coefficients satisfy the optimality conditions in rational arithmetic ({n_active} of "
            f"{len(self.names)} are not 0)."
        )

    def _violation(self, problem: _Problem, coef: Array, t: int) -> str:
        """Return the optimality condition that fails for a target; an empty text if none does."""
        lam, mu = problem.penalties(self.penalty, t)
        active, sign = np.flatnonzero(coef), np.sign(coef)
        free = [j for j in range(len(coef)) if lam[j] == 0 and j not in active and any(problem.column(j, [j]))]
        active = np.union1d(active, free).astype(np.intp)
        w, d, rounding = problem.solve(active.tolist(), sign, lam, mu, t)
        if d == 0:
            raise _NotUnique
        for j, value in zip(active.tolist(), w, strict=True):
            if lam[j] and value * int(sign[j]) <= 0:
                return f"the coefficient of {self.names[j]!r} has the wrong sign"
        for j, value, error in zip(active.tolist(), w, rounding, strict=True):
            distance = abs(problem.scaled(coef[j], j, t) * d - value)
            if distance > Fraction(COEFFICIENT_TOL) * abs(value) + Fraction(error) * d:
                return f"the coefficient of {self.names[j]!r} differs from the optimal one"
        undecided = set(range(len(coef))) - set(active.tolist())
        for j in undecided - problem.certainly_inactive(active, w, d, lam, t):
            spend_work(100 * len(active))
            slope = problem.moment(j, t) * d - sum(
                s * v for s, v in zip(problem.column(j, active.tolist()), w, strict=True)
            )
            if abs(slope) > lam[j] * d:
                return f"{self.names[j]!r} has a coefficient of 0 and a gradient larger than its penalty"
        return ""


class _Problem:
    """S, c and the penalties as fractions, in the scaling of a summary."""

    def __init__(self, summary: Gram | QRFactor, intercept: bool) -> None:
        self.p, self.unit = summary.p, summary.scaling.scale
        self._factor: Array | None = None
        self._columns: dict[int, tuple[list[int], int]] = {}
        self._cross: Any = None
        if isinstance(summary, QRFactor):
            own = ColumnScaling(np.zeros_like(self.unit), self.unit)
            self._factor = summary.R[1:, 1:] if intercept else summary.rescaled(own).R[:, 1:]
            return
        self._cross = summary.centered_crossprod
        self._zero: list[Fraction] | None = None
        if not intercept:
            shift = [Fraction(s) / Fraction(u) for s, u in zip(summary.scaling.shift, self.unit, strict=True)]
            self._zero = [a + b for a, b in zip(_fractions(summary.mean), shift, strict=True)]
            self._weight = _fractions(summary.weight[None])[0]

    def entry(self, i: int, j: int) -> Fraction:
        if self._factor is not None:
            spend_work(50 * len(self._factor))
            (a, a_exponent), (b, b_exponent) = self._integers(i), self._integers(j)
            return Fraction(sum(map(operator.mul, a, b))) * Fraction(2) ** (a_exponent + b_exponent)
        (value,) = _fractions(self._cross[i, j][None])
        return value if self._zero is None else value + self._weight * self._zero[i] * self._zero[j]

    def _integers(self, j: int) -> tuple[list[int], int]:
        """Return a column of the R factor as integers and the exponent of the power of two that multiplies them."""
        if j not in self._columns:
            assert self._factor is not None
            spend_work(1000 * len(self._factor))
            fraction, exponent = np.frexp(self._factor[:, j])
            least = int(exponent[fraction != 0].min(initial=0)) - 53
            digits = np.ldexp(fraction, 53).astype(np.int64).tolist()
            shifts = (exponent - 53 - least).tolist()
            self._columns[j] = [d << e if d else 0 for d, e in zip(digits, shifts, strict=True)], least
        return self._columns[j]

    def certainly_inactive(
        self, active: NDArray[np.intp], w: list[int], d: int, lam: list[Fraction], t: int
    ) -> set[int]:
        """Return features whose gradient at w/d is below the penalty by more than a bound on its rounding errors.

        The bound is that of a dot product (Higham 2002, section 3.1) with |D_j|'|r| ≤ ‖D_j‖‖r‖. There is none for a
        Gram, whose products are few.
        """
        if self._factor is None:
            return set()
        D, y = self._factor[:, : self.p], self._factor[:, self.p + t]
        n, solution = len(D), np.array([float(Fraction(value, d)) for value in w])
        residual = y - D[:, active] @ solution
        off = (len(active) + 4) * EPS * (np.abs(y) + np.abs(D[:, active]) @ np.abs(solution))
        norms = np.sqrt(column_squares(D))
        bound = 1.001 * norms * ((n + 4) * EPS * np.linalg.norm(residual) + np.linalg.norm(off)) + 1e-290
        below = np.abs(D.T @ residual) + bound < np.array([float(value) for value in lam]) * (1 - 4 * EPS)
        return set(np.flatnonzero(below & (bound < np.inf)).tolist())

    def column(self, j: int, features: list[int]) -> list[Fraction]:
        spend_work(100 * len(features))
        return [self.entry(i, j) for i in features]

    def moment(self, j: int, t: int) -> Fraction:
        return self.entry(j, self.p + t)

    def scaled(self, coef: float, j: int, t: int) -> Fraction:
        return Fraction(float(coef)) * Fraction(self.unit[j]) / Fraction(self.unit[self.p + t])

    def penalties(self, penalty: Penalty, t: int) -> tuple[list[Fraction], list[Fraction]]:
        alpha, ratio, y_unit = Fraction(penalty.alpha), Fraction(penalty.l1_ratio), Fraction(self.unit[self.p + t])
        units = [Fraction(u) for u in self.unit[: self.p]]
        lam = [alpha * ratio * Fraction(a) / u / y_unit for a, u in zip(penalty.absolute, units, strict=True)]
        mu = [alpha * (1 - ratio) * Fraction(q) / u / u for q, u in zip(penalty.squared, units, strict=True)]
        return lam, mu

    def solve(
        self, active: list[int], sign: Array, lam: list[Fraction], mu: list[Fraction], t: int
    ) -> tuple[list[int], int, list[float]]:
        """Solve the equations of the active features.

        Returns integers w and d > 0 such that w/d is the solution, or d = 0 if there is none, and how far rounding may
        carry a solution in floats from it (Skeel 1979).
        """
        if not active:
            return [], 1, []
        rows, floats = [], []
        for i in active:
            row = self.column(i, active)
            row[active.index(i)] += mu[i]
            row.append(-(self.moment(i, t) - lam[i] * int(sign[i])))
            floats.append([float(value) for value in row])
            scale = math.lcm(*(value.denominator for value in row))
            rows.append([int(value * scale) for value in row])
        B, pivots = null_space(np.array(rows, dtype=object))
        if len(pivots) < len(active) or pivots[-1] != len(active) - 1:
            return [], 0, []
        *w, d = (int(value) for value in B[:, -1])
        w, d = (w, d) if d > 0 else ([-value for value in w], -d)
        equations = np.abs(np.array(floats))
        solution = np.array([abs(float(Fraction(value, d))) for value in w] + [1.0])
        inverse = np.abs(np.linalg.pinv(np.array(floats)[:, :-1], hermitian=True))
        return w, d, (_ROUNDING * (inverse @ (equations @ solution))).tolist()


def _fractions(values: Numbers) -> list[Fraction]:
    """Return floats, or numbers in double-double, as fractions."""
    if isinstance(values, DoubleDouble):
        return [Fraction(a) + Fraction(b) for a, b in zip(values.high.tolist(), values.low.tolist(), strict=True)]
    return [Fraction(value) for value in np.asarray(values).tolist()]
