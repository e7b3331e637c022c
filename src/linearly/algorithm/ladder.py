"""The ladder of least squares: a fast summary where it is good enough, a better one where it is not.

``auto`` folds a float64 Gram and stops where ten digits remain; otherwise it takes one more pass with a Gram in
double-double. ``exact`` starts there and then measures, in one pass of residuals in double-double, how many digits it
has. ``qr`` folds a triangle. Digits are those of the rows as given, relative to the largest scaled coefficient.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linearly import kernels
from linearly.algorithm.gram import Gram, parts, targets
from linearly.algorithm.solution import EPS, Solution
from linearly.algorithm.triangle import Triangle
from linearly.algorithm.triangular import product
from linearly.dataset.rows import Block, Rows
from linearly.kernels.doubled import Doubled, concatenate

ENOUGH_DIGITS = 10.0

Summary = Any  # Gram or Triangle: both have +, select and solve


class PrecisionWarning(UserWarning):
    """Fewer digits can be trusted than one would expect of a float64."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked of the summary: the ridge penalty and how the intercept is treated."""

    alpha: float = 0.0
    intercept: bool = True
    penalize_intercept: bool = False

    def of(self, summary: Summary) -> Solution:
        """The answer."""
        solution: Solution = summary.select(None, self.intercept).solve(
            self.alpha, penalize_intercept=self.penalize_intercept
        )
        return solution


@dataclass(frozen=True, slots=True)
class Climb:
    """Where the ladder ended: the summary, its solution, the method's name and the passes it took."""

    summary: Summary
    solution: Solution
    method: str
    passes: int


def summarize(block: Block, method: str) -> Summary:
    """The summary of a block that a method works with."""
    if method == "qr":
        return Triangle.of(block)
    return Gram.of(block, exact=method == "exact")


def climb(rows: Rows, ask: Ask, method: str = "auto") -> Climb:
    """Solve least squares on the lowest rung of the ladder that leaves ten digits, or on the one asked for."""
    rungs = ("gram", "exact") if method == "auto" else (method,)
    passes = 0
    for rung in rungs:
        passes += 1
        summary = rows.fold(partial(summarize, method=rung))
        refuse_too_few(summary)
        solution = ask.of(summary)
        if solution.digits >= ENOUGH_DIGITS:
            break
    if method == "exact" and ask.alpha == 0:
        return Climb(summary, refine(rows, summary, solution), rung, passes + 1)
    return Climb(summary, solution, rung, passes)


def refuse_too_few(summary: Summary) -> None:
    """Refuse a summary of no rows at all."""
    if summary.n == 0:
        raise ValueError("There are no rows of positive weight: nothing can be fitted. Check sample_weight.")


def refine(rows: Rows, gram: Gram, solution: Solution) -> Solution:
    """One Newton step from residuals in double-double: it corrects the solution and measures what was wrong.

    The step is δ = (X'X)⁻¹X'r. Its size says how good the coefficients were; the corrected ones are better by the
    accuracy of the step itself.
    """
    gauge, p = gram.gauge, gram.p
    shift, unit = gauge.shift, gauge.unit
    coef, intercept = solution.exact
    start = intercept + product(Doubled.of(shift[None, :p]), coef)[0] - shift[p:]
    B = concatenate([(start / unit[p:])[None, :], coef * (unit[:p, None] / unit[p:])])

    def residual(block: Block) -> Doubled:
        X, X_low = parts(block.X)
        Y = targets(block)
        assert Y is not None
        return kernels.exact_residual(X, X_low, Y, block.weight, shift, 1.0 / unit, B)

    total = rows.fold(residual)
    y_unit = unit[p:]
    sums, moments = total[0] * y_unit, total[1 : 1 + p] * (unit[:p, None] * y_unit)
    gradient = moments + sums[None, :] * shift[:p, None]
    if solution.mean is not None:
        gradient = gradient - solution.mean[:, None] * sums[None, :]
        root = solution.root[1:, 1:]
    else:
        root = solution.root
    step = root @ (root.T @ gradient.rounded())
    better = coef + step
    if solution.mean is not None:
        intercept = intercept + sums / solution.weight - product(solution.mean[None, :], Doubled.of(step))[0]
    rss = np.maximum((total[1 + p] * y_unit**2).rounded() - (gradient.rounded() * step).sum(axis=0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(better.high != 0, np.abs(step / better.high), 0.0).max(initial=0.0)
    error = max(wrong * max(wrong, EPS * solution.condition), EPS)
    return replace(
        solution,
        coef=better.rounded(),
        intercept=intercept.rounded(),
        rss=rss,
        exact=(better, intercept),
        digits=float(np.clip(-np.log10(error), 0.0, 16.0)),
    )


def warn_of(solution: Solution, names: Sequence[str], method: str) -> None:
    """Say what a user must know: columns that are combinations of others, and digits that were lost."""
    if solution.aliased:
        told = ", ".join(repr(names[j]) for j in solution.aliased[:8])
        more = f" and {len(solution.aliased) - 8} more" if len(solution.aliased) > 8 else ""
        warnings.warn(
            f"{told}{more}: constant or a combination of the columns before. The coefficients of smallest norm are "
            "given; drop these columns, or set alpha > 0, for coefficients that mean something on their own.",
            np.exceptions.RankWarning,
            stacklevel=4,
        )
    if solution.digits < ENOUGH_DIGITS and not _perfect(solution):
        remedy = 'method="exact"' if method != "exact" else "dropping or combining columns"
        warnings.warn(
            f"Only about {solution.digits:.0f} digits can be trusted (condition {solution.condition:.1g}, method "
            f"{method!r}). {remedy} gives more.",
            PrecisionWarning,
            stacklevel=4,
        )


def _perfect(solution: Solution) -> bool:
    # A perfect fit has residuals that are rounding errors: they have no digits, and the coefficients do.
    perfect = solution.rss <= (100 * EPS) ** 2 * solution.tss
    return bool(perfect.all()) and solution.condition < 1e5
