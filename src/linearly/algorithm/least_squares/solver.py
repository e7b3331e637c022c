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
from linearly.algorithm.least_squares.adaptive_summary import MAX_ALWAYS_GRAM_COLUMNS, AdaptiveSummary
from linearly.algorithm.least_squares.column_scaling import drop_zero_weight
from linearly.algorithm.least_squares.gram import Gram, high_low_parts, target_matrix
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, SAFE, Solution
from linearly.algorithm.least_squares.triangular import EPS, exact_rescale, product
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.exceptions import PrecisionWarning, warn_at_caller
from linearly.kernels.double_double import DoubleDouble, concatenate

MIN_DIGITS = 10.0  # where auto stops with a float64 Gram
_MAX_EXTENDED_COLUMNS = 1000  # columns up to which auto resorts to double-double: half a minute
USE_EXTENDED = 'method="extended" gives more.'
MIN_EXTENDED_DIGITS = 13.0  # where it stops with a Gram in double-double

Summary = Any  # Gram or Triangle: both have +, select and solve


@dataclass(frozen=True, slots=True)
class RidgeProblem:
    """What is asked of the summary: the ridge penalty and how the intercept is treated."""

    alpha: float = 0.0
    intercept: bool = True
    penalize_intercept: bool = False

    @single_threaded_blas()
    def solve(self, summary: Summary) -> Solution:
        """The answer."""
        solution: Solution = summary.select(None, self.intercept).solve(
            self.alpha, penalize_intercept=self.penalize_intercept
        )
        return solution


@dataclass(frozen=True, slots=True)
class SolveResult:
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
            return QRFactor.of(block)
        if self.method == "auto":
            return AdaptiveSummary.of(block)
        return Gram.of(block, exact=self.method == "extended")


def summarize(rows: Rows, method: str) -> Summary:
    """The summary of rows that a method works with."""
    folded = rows.reduce(Summarize(method))
    return folded.summary if isinstance(folded, AdaptiveSummary) else folded


def method_of_summary(summary: Summary) -> str:
    """The method that works with a summary."""
    if isinstance(summary, QRFactor):
        return "qr"
    return "extended" if summary.is_extended else "gram"


@single_threaded_blas()
def solve_adaptively(rows: Rows, ask: RidgeProblem, method: str = "auto") -> SolveResult:
    """Solve least squares on the lowest rung of the ladder that leaves ten digits, or on the one asked for."""
    passes, tried = 0, ""
    for rung in candidate_methods(rows, method):
        if rung == tried:
            continue  # the rows turned out to be few
        passes += 1
        summary = summarize(rows, rung)
        check_has_rows_and_targets(summary)
        solution, tried = ask.solve(summary), method_of_summary(summary)
        if is_accurate_enough(solution):
            break
    finite = np.isfinite(solution.coef).all() and np.isfinite(solution.intercept).all()
    if (
        tried == "extended"
        and ask.alpha == 0
        and finite
        and (method == "extended" or solution.digits < MIN_EXTENDED_DIGITS)
    ):
        return SolveResult(summary, refine(rows, summary, solution), tried, passes + 1)
    return SolveResult(summary, solution, tried, passes)


def candidate_methods(rows: Rows, method: str) -> tuple[str, ...]:
    """The methods to try one after another, until one is `enough`."""
    if method != "auto":
        return (method,)
    if getattr(rows, "one_shot", False):
        return ("qr",)  # there will be no second pass, so the first must do
    p = len(rows.names)
    if p <= MAX_ALWAYS_GRAM_COLUMNS:
        return ("gram", "extended")
    # Where there are no more rows than columns a Gram is singular: it would say so, after a time that grows as p³.
    first = "auto"
    if isinstance(rows, Sized):
        first = "gram" if len(rows) > p else "qr"
    return (*dict.fromkeys((first, "qr")), *(("extended",) if p <= _MAX_EXTENDED_COLUMNS else ()))


def is_accurate_enough(solution: Solution) -> bool:
    """Whether a solution and its standard errors have digits enough, and its rank is known."""
    strict = solution.digits_of_relevant_coefs if solution.strict_digits is None else solution.strict_digits
    known = min(solution.digits_of_relevant_coefs, strict, digits_of_standard_errors(solution))
    return bool(known >= MIN_DIGITS and solution.rank_is_certain)


def check_has_rows_and_targets(summary: Summary) -> None:
    """Refuse a summary of no rows at all, or of rows without targets."""
    if summary.n == 0:
        raise ValueError(
            "Sample weights must contain at least one non-zero number: there are no rows of positive weight to fit."
        )
    if len(summary.scaling.scale) == summary.p:
        raise ValueError("These rows bring no targets: nothing can be learnt.")


def refine(rows: Rows, gram: Gram, solution: Solution) -> Solution:
    """One Newton step from residuals in double-double: it corrects the solution and measures what was wrong.

    The step is δ = (X'X)⁻¹X'r. Its size says how good the coefficients were; the corrected ones are better by the
    accuracy of the step itself.
    """
    scaling, p = gram.scaling, gram.p
    unit, y_unit, one = scaling.scale[:p, None], scaling.scale[p:], np.ones(1)
    # All in the units of the scaling, so that nothing leaves float64: X about its shift, Y about its own.
    shift = scaling.shift / scaling.scale
    coef = exact_rescale(solution.exact[0], unit, y_unit)
    intercept = (
        exact_rescale(solution.exact[1], one, y_unit) + product(DoubleDouble.of(shift[None, :p]), coef)[0] - shift[p:]
    )
    B = concatenate([intercept[None, :], coef])

    def residual(block: Block) -> DoubleDouble:
        block = drop_zero_weight(block)
        X, X_low = high_low_parts(block.X)
        Y = target_matrix(block)
        assert Y is not None
        return kernels.residual_extended(X, X_low, Y, block.weight, scaling.shift, 1.0 / scaling.scale, B)

    total = rows.reduce(residual)
    sums, gradient = total[0], total[1 : 1 + p]
    if solution.mean is None:
        gradient = gradient + sums[None, :] * shift[:p, None]
        root = exact_rescale(solution.inverse_root, unit, one)
    else:
        mean = exact_rescale(solution.mean, one, scaling.scale[:p]) - shift[:p]
        gradient = gradient - mean[:, None] * sums[None, :]
        root = exact_rescale(solution.inverse_root[1:, 1:], unit, one)
    step = root @ (root.T @ gradient.to_float64())
    better, constant = coef + step, solution.exact[1]
    if solution.mean is not None:
        intercept = intercept + sums / solution.weight - product(mean[None, :], DoubleDouble.of(step))[0]
        constant = exact_rescale(
            intercept - product(DoubleDouble.of(shift[None, :p]), better)[0] + shift[p:], y_unit, one
        )
    rss = np.maximum(total[1 + p].to_float64() - (gradient.to_float64() * step).sum(axis=0), 0.0)
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
    better = exact_rescale(better, y_unit, unit)
    digits = float(np.clip(-np.log10(error), 0.0, 16.0))
    return replace(
        solution,
        coef=better.to_float64(),
        intercept=constant.to_float64(),
        rss=rss,
        exact=(better, constant),
        digits=digits,
        digits_of_relevant_coefs=digits,
        strict_digits=digits,
    )


def warn_rank_and_precision(
    solution: Solution, names: Sequence[str], method: str, *, free: bool = True, errors: bool = True
) -> None:
    """Say what a user must know: columns that are combinations of others, and digits that were lost.

    `free` says whether the model has a method to choose, `errors` whether it has standard errors.
    """
    if solution.aliased:
        most = 8 if solution.n > len(names) else 3
        told = ", ".join(repr(names[j]) for j in solution.aliased[:most])
        more = f" and {len(solution.aliased) - most} more" if len(solution.aliased) > most else ""
        looked = "" if solution.rank_is_certain else f" (as far as method {method!r} can tell)"
        what = f"{told}{more}: constant or a combination of the columns before{looked}."
        remedy = "drop these columns, or set alpha > 0, for coefficients that mean something on their own."
        if solution.n <= len(names):  # which columns come after the others is chance, and no fault of theirs
            what = f"{solution.n:,} rows for {len(names):,} columns: a fit is arbitrary. {what}"
            remedy = f"use fewer columns, or a penalty, {'which RidgeCV chooses' if free else 'alpha > 0'}."
        warn_at_caller(f"{what} The coefficients of smallest norm are given; {remedy}", np.exceptions.RankWarning)
    if solution.digits_of_relevant_coefs < MIN_DIGITS and not _is_interpolating(solution):
        remedy = USE_EXTENDED if free else "Larger alphas, or fewer columns, give more."
        if method == "extended":
            remedy = "Dropping or combining columns gives more."
        warn_at_caller(
            f"Only about {min(solution.digits, 9):.0f} digits can be trusted (condition {solution.condition:.1g}, "
            f"method {method!r}). {remedy}",
            PrecisionWarning,
        )
    elif errors and digits_of_standard_errors(solution) < MIN_DIGITS and not _is_interpolating(solution):
        remedy = "Measure columns from a point near their values, or drop or combine columns."
        warn_at_caller(
            f"Only about {min(digits_of_standard_errors(solution), 9):.0f} digits of the standard errors can be trusted "
            f"(condition {solution.condition:.1g}); the coefficients have more. "
            f"{remedy if method == 'exact' or not free else USE_EXTENDED}",
            PrecisionWarning,
        )
    if _squares_overflow(solution):
        warn_at_caller(
            "The squares of y leave float64: no digit of the standard errors or the sums of squares can be trusted. "
            "Rescale y.",
            PrecisionWarning,
        )


def check_coefficients_finite(solution: Solution, names: Sequence[str]) -> None:
    """Refuse coefficients that float64 cannot hold, by name."""
    beyond = np.flatnonzero(~np.isfinite(solution.coef).all(axis=1))
    if len(beyond) or not np.isfinite(solution.intercept).all():
        who = f"The coefficient of {names[beyond[0]]!r}" if len(beyond) else "The intercept"
        raise ValueError(f"{who} is beyond float64. Rescale the column or y.")


def _squares_overflow(solution: Solution) -> bool:
    explained = np.abs(solution.coef).max(axis=0, initial=0.0) > 0
    squares = np.maximum(solution.tss, solution.rss)
    small = (squares < 1e-300) | ((solution.rss > 0) & (solution.rss < np.finfo(np.float64).smallest_normal))
    return bool((explained & small).any() or not np.isfinite(solution.tss).all())


def digits_of_standard_errors(solution: Solution) -> float:
    """Digits to trust in the standard errors; of a solution from an older model file, by its condition."""
    if solution.error_digits is not None:
        return solution.error_digits
    return float(np.clip(-2 * np.log10(EPS * max(solution.condition, 1.0)), 0.0, 16.0))


def _is_interpolating(solution: Solution) -> bool:
    # A perfect fit has residuals that are rounding errors: they have no digits, and the coefficients do.
    return bool((solution.rss <= INTERPOLATION_TOL * solution.tss).all()) and solution.condition < 1e5
