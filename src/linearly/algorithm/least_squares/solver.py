"""The ladder of least squares: a fast summary where it is good enough, a better one where it is not.

``auto`` folds a float64 Gram and stops where ten digits remain; otherwise it takes one more pass with a Gram in
double-double. With many columns, where double-double is slow, it tries a triangle before. ``exact`` starts with
double-double and then measures, in one pass of residuals, how many digits it has; where even the double-double Gram
leaves fewer than 13, so does ``auto``. ``qr`` folds a triangle; so does ``auto``, at once, where rows can be had once
only, or where they are no more than the columns. Digits are those of the weakest coefficient, for the rows as given.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linearly import kernels
from linearly.algorithm.least_squares.adaptive_summary import NARROW, Growing
from linearly.algorithm.least_squares.column_scaling import without_absent
from linearly.algorithm.least_squares.gram import Gram, parts, targets
from linearly.algorithm.least_squares.qr import Triangle
from linearly.algorithm.least_squares.solution import PERFECT, SAFE, Solution
from linearly.algorithm.least_squares.triangular import EPS, product, ratio
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.reduce import quiet_blas
from linearly.exceptions import remark
from linearly.kernels.double_double import Doubled, concatenate

ENOUGH_DIGITS = 10.0  # where auto stops with a float64 Gram
_MOST_EXACT = 1000  # columns up to which auto resorts to double-double: half a minute
MORE = 'method="exact" gives more.'
FULL_DIGITS = 13.0  # where it stops with a Gram in double-double

Summary = Any  # Gram or Triangle: both have +, select and solve


class PrecisionWarning(UserWarning):
    """Fewer digits can be trusted than one would expect of a float64."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked of the summary: the ridge penalty and how the intercept is treated."""

    alpha: float = 0.0
    intercept: bool = True
    penalize_intercept: bool = False

    @quiet_blas()
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


@dataclass(frozen=True, slots=True)
class Summarize:
    """The summary of a block that a method works with; that of ``auto`` is `Growing`."""

    method: str

    @property
    def takes_columns(self) -> bool:
        """Whether the columns of a block may lie apart: the Gram in float64 reads them where they are."""
        return self.method in ("auto", "gram")

    def __call__(self, block: Block) -> Summary:
        if self.method == "qr":
            return Triangle.of(block)
        if self.method == "auto":
            return Growing.of(block)
        return Gram.of(block, exact=self.method == "exact")


def summarize(rows: Rows, method: str) -> Summary:
    """The summary of rows that a method works with."""
    folded = rows.fold(Summarize(method))
    return folded.summary if isinstance(folded, Growing) else folded


def method_of(summary: Summary) -> str:
    """The method that works with a summary."""
    if isinstance(summary, Triangle):
        return "qr"
    return "exact" if summary.exact else "gram"


@quiet_blas()
def climb(rows: Rows, ask: Ask, method: str = "auto") -> Climb:
    """Solve least squares on the lowest rung of the ladder that leaves ten digits, or on the one asked for."""
    passes, tried = 0, ""
    for rung in rungs(rows, method):
        if rung == tried:
            continue  # the rows turned out to be few
        passes += 1
        summary = summarize(rows, rung)
        refuse_too_few(summary)
        solution, tried = ask.of(summary), method_of(summary)
        if enough(solution):
            break
    finite = np.isfinite(solution.coef).all() and np.isfinite(solution.intercept).all()
    if tried == "exact" and ask.alpha == 0 and finite and (method == "exact" or solution.digits < FULL_DIGITS):
        return Climb(summary, refine(rows, summary, solution), tried, passes + 1)
    return Climb(summary, solution, tried, passes)


def rungs(rows: Rows, method: str) -> tuple[str, ...]:
    """The methods to try one after another, until one is `enough`."""
    if method != "auto":
        return (method,)
    if getattr(rows, "one_shot", False):
        return ("qr",)  # there will be no second pass, so the first must do
    p = len(rows.names)
    if p <= NARROW:
        return ("gram", "exact")
    # Where there are no more rows than columns a Gram is singular: it would say so, after a time that grows as p³.
    first = "auto"
    if isinstance(rows, Sized):
        first = "gram" if len(rows) > p else "qr"
    return (*dict.fromkeys((first, "qr")), *(("exact",) if p <= _MOST_EXACT else ()))


def enough(solution: Solution) -> bool:
    """Whether a solution and its standard errors have digits enough, and its rank is known."""
    strict = solution.sound_digits if solution.strict_digits is None else solution.strict_digits
    known = min(solution.sound_digits, strict, digits_of_errors(solution))
    return bool(known >= ENOUGH_DIGITS and solution.sure)


def refuse_too_few(summary: Summary) -> None:
    """Refuse a summary of no rows at all, or of rows without targets."""
    if summary.n == 0:
        raise ValueError(
            "Sample weights must contain at least one non-zero number: there are no rows of positive weight to fit."
        )
    if len(summary.gauge.unit) == summary.p:
        raise ValueError("These rows bring no targets: nothing can be learnt.")


def refine(rows: Rows, gram: Gram, solution: Solution) -> Solution:
    """One Newton step from residuals in double-double: it corrects the solution and measures what was wrong.

    The step is δ = (X'X)⁻¹X'r. Its size says how good the coefficients were; the corrected ones are better by the
    accuracy of the step itself.
    """
    gauge, p = gram.gauge, gram.p
    unit, y_unit, one = gauge.unit[:p, None], gauge.unit[p:], np.ones(1)
    # All in the units of the gauge, so that nothing leaves float64: X about its shift, Y about its own.
    shift = gauge.shift / gauge.unit
    coef = ratio(solution.exact[0], unit, y_unit)
    intercept = ratio(solution.exact[1], one, y_unit) + product(Doubled.of(shift[None, :p]), coef)[0] - shift[p:]
    B = concatenate([intercept[None, :], coef])

    def residual(block: Block) -> Doubled:
        block = without_absent(block)
        X, X_low = parts(block.X)
        Y = targets(block)
        assert Y is not None
        return kernels.exact_residual(X, X_low, Y, block.weight, gauge.shift, 1.0 / gauge.unit, B)

    total = rows.fold(residual)
    sums, gradient = total[0], total[1 : 1 + p]
    if solution.mean is None:
        gradient = gradient + sums[None, :] * shift[:p, None]
        root = ratio(solution.root, unit, one)
    else:
        mean = ratio(solution.mean, one, gauge.unit[:p]) - shift[:p]
        gradient = gradient - mean[:, None] * sums[None, :]
        root = ratio(solution.root[1:, 1:], unit, one)
    step = root @ (root.T @ gradient.rounded())
    better, constant = coef + step, solution.exact[1]
    if solution.mean is not None:
        intercept = intercept + sums / solution.weight - product(mean[None, :], Doubled.of(step))[0]
        constant = ratio(intercept - product(Doubled.of(shift[None, :p]), better)[0] + shift[p:], y_unit, one)
    rss = np.maximum(total[1 + p].rounded() - (gradient.rounded() * step).sum(axis=0), 0.0)
    with np.errstate(over="ignore", under="ignore"):
        # A coefficient that is zero up to rounding is measured against what it could have been.
        reach = np.linalg.norm(root, axis=1)[:, None] * np.sqrt(solution.tss / y_unit / y_unit)
        size = np.maximum(np.abs(better.high), EPS * reach)
        wrong = np.max(np.divide(np.abs(step), size, out=np.zeros_like(step), where=size > 0), initial=0.0)
        # The step itself has the rounding errors of the residuals, and of their products with the columns.
        noise = np.sqrt(gram.rounding_of(solution.form))
        load = noise[p:] + np.linalg.norm(noise[:p, None] * better.high, axis=0)
        far = np.linalg.norm(root @ (noise[:p, None] * root).T, axis=1)[:, None]
        left = SAFE * EPS * (np.linalg.norm(root, axis=1)[:, None] * load + far * np.sqrt(rss))
        least = np.max(np.divide(left, size, out=np.zeros_like(step), where=size > 0), initial=EPS)
        error = max(wrong * max(wrong, EPS * solution.condition), least)
        rss = rss * y_unit * y_unit
    better = ratio(better, y_unit, unit)
    digits = float(np.clip(-np.log10(error), 0.0, 16.0))
    return replace(
        solution,
        coef=better.rounded(),
        intercept=constant.rounded(),
        rss=rss,
        exact=(better, constant),
        digits=digits,
        sound_digits=digits,
        strict_digits=digits,
    )


def warn_of(solution: Solution, names: Sequence[str], method: str, *, free: bool = True, errors: bool = True) -> None:
    """Say what a user must know: columns that are combinations of others, and digits that were lost.

    `free` says whether the model has a method to choose, `errors` whether it has standard errors.
    """
    if solution.aliased:
        most = 8 if solution.n > len(names) else 3
        told = ", ".join(repr(names[j]) for j in solution.aliased[:most])
        more = f" and {len(solution.aliased) - most} more" if len(solution.aliased) > most else ""
        looked = "" if solution.sure else f" (as far as method {method!r} can tell)"
        what = f"{told}{more}: constant or a combination of the columns before{looked}."
        remedy = "drop these columns, or set alpha > 0, for coefficients that mean something on their own."
        if solution.n <= len(names):  # which columns come after the others is chance, and no fault of theirs
            what = f"{solution.n:,} rows for {len(names):,} columns: a fit is arbitrary. {what}"
            remedy = f"use fewer columns, or a penalty, {'which RidgeCV chooses' if free else 'alpha > 0'}."
        remark(f"{what} The coefficients of smallest norm are given; {remedy}", np.exceptions.RankWarning)
    if solution.sound_digits < ENOUGH_DIGITS and not _perfect(solution):
        remedy = MORE if free else "Larger alphas, or fewer columns, give more."
        if method == "exact":
            remedy = "Dropping or combining columns gives more."
        remark(
            f"Only about {min(solution.digits, 9):.0f} digits can be trusted (condition {solution.condition:.1g}, "
            f"method {method!r}). {remedy}",
            PrecisionWarning,
        )
    elif errors and digits_of_errors(solution) < ENOUGH_DIGITS and not _perfect(solution):
        remedy = "Measure columns from a point near their values, or drop or combine columns."
        remark(
            f"Only about {min(digits_of_errors(solution), 9):.0f} digits of the standard errors can be trusted "
            f"(condition {solution.condition:.1g}); the coefficients have more. "
            f"{remedy if method == 'exact' or not free else MORE}",
            PrecisionWarning,
        )
    if _squares_lost(solution):
        remark(
            "The squares of y leave float64: no digit of the standard errors or the sums of squares can be trusted. "
            "Rescale y.",
            PrecisionWarning,
        )


def refuse_beyond_float64(solution: Solution, names: Sequence[str]) -> None:
    """Refuse coefficients that float64 cannot hold, by name."""
    beyond = np.flatnonzero(~np.isfinite(solution.coef).all(axis=1))
    if len(beyond) or not np.isfinite(solution.intercept).all():
        who = f"The coefficient of {names[beyond[0]]!r}" if len(beyond) else "The intercept"
        raise ValueError(f"{who} is beyond float64. Rescale the column or y.")


def _squares_lost(solution: Solution) -> bool:
    explained = np.abs(solution.coef).max(axis=0, initial=0.0) > 0
    squares = np.maximum(solution.tss, solution.rss)
    small = (squares < 1e-300) | ((solution.rss > 0) & (solution.rss < np.finfo(np.float64).smallest_normal))
    return bool((explained & small).any() or not np.isfinite(solution.tss).all())


def digits_of_errors(solution: Solution) -> float:
    """Digits to trust in the standard errors; of a solution from an older model file, by its condition."""
    if solution.error_digits is not None:
        return solution.error_digits
    return float(np.clip(-2 * np.log10(EPS * max(solution.condition, 1.0)), 0.0, 16.0))


def _perfect(solution: Solution) -> bool:
    # A perfect fit has residuals that are rounding errors: they have no digits, and the coefficients do.
    return bool((solution.rss <= PERFECT * solution.tss).all()) and solution.condition < 1e5
