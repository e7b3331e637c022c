"""Choose how precisely to solve a least-squares problem, and solve it.

`solve_adaptively` starts with the cheapest summary and moves to a more accurate one only if fewer than `MIN_DIGITS`
digits of some coefficient would be correct:

    gram       float64 cross-products; fast, loses digits as the square of the condition number
    qr         R factor of [1 | X | Y]; 5 to 20 times slower, loses digits as the condition number
    extended   cross-products in double-double; 8 times slower than gram

With ``auto``, the second method is ``extended`` up to 128 columns, and ``qr`` beyond, where double-double is slow. Rows
that can be read only once, and rows that are no more than the columns, go to ``qr`` at once. A solution in
double-double is refined by one pass over the residuals, which measures its digits, if ``extended`` was requested or if
fewer than 13 digits are certain.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linearly import kernels
from linearly.algorithm.least_squares.adaptive_summary import AdaptiveSummary
from linearly.algorithm.least_squares.column_scaling import drop_zero_weight
from linearly.algorithm.least_squares.gram import Gram, high_low_parts, target_matrix
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.rounding_bounds import (
    MAX_ALWAYS_GRAM_COLUMNS,
    MIN_DIGITS,
    SAFE,
    CorrectDigits,
    are_enough,
    largest_ratio,
)
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL, Solution
from linearly.algorithm.least_squares.triangular import EPS, exact_rescale, product
from linearly.dataset.rows.block import Block, InMemoryRows, Rows
from linearly.exceptions import PrecisionWarning, warn_at_caller
from linearly.formatting import describe_dependent, pluralize
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import DoubleDouble, concatenate

MAX_EXTENDED_COLUMNS = 1000  # columns up to which "auto" tries double-double: half a minute
USE_EXTENDED = 'Use method="extended" for more digits.'
MIN_EXTENDED_DIGITS = 13.0  # of a double-double solution that is not refined

Summary = Any  # Gram or QRFactor: both have +, select and solve


@dataclass(frozen=True, slots=True)
class RidgeProblem:
    """The ridge penalty and the treatment of the intercept; `solve` applies them to a summary."""

    alpha: float = 0.0
    intercept: bool = True
    penalize_intercept: bool = False

    @single_threaded_blas()
    def solve(self, summary: Summary) -> Solution:
        """Return the solution for the rows of a summary."""
        solution: Solution = summary.select(None, self.intercept).solve(
            self.alpha, penalize_intercept=self.penalize_intercept
        )
        return solution


@dataclass(frozen=True, slots=True)
class SolveResult:
    """The summary, its solution, the name of the method and the number of passes over the rows."""

    summary: Summary
    solution: Solution
    method: str
    passes: int


@dataclass(frozen=True, slots=True)
class Summarize:
    """Reduce a block to the summary of a method; for ``auto``, an `AdaptiveSummary`."""

    method: str

    @property
    def takes_columns(self) -> bool:
        """Return whether blocks may have separate columns: the Gram in float64 reads them without a copy."""
        return self.method in ("auto", "gram")

    @property
    def takes_sparse(self) -> bool:
        """Return whether sparse blocks may be large: the Gram in float64 makes no dense copy of all of a block."""
        return self.method == "gram"

    def __call__(self, block: Block) -> Summary:
        if self.method == "qr":
            return QRFactor.of(block)
        if self.method == "auto":
            return AdaptiveSummary.of(block)
        return Gram.of(block, extended=self.method == "extended")


def summarize(rows: Rows, method: str) -> Summary:
    """Return the summary of rows for a method."""
    reduced = Summarize(method)
    if (
        isinstance(rows, InMemoryRows)
        and method in ("auto", "qr")
        and MAX_ALWAYS_GRAM_COLUMNS < len(rows.names) >= rows.n
    ):
        # Their summary has as many numbers as the rows, so blocks would save no memory, and merging takes time.
        with single_threaded_blas():
            total = reduced(rows.block(0, rows.n))
    else:
        total = rows.reduce(reduced)
    return total.summary if isinstance(total, AdaptiveSummary) else total


def method_of_summary(summary: Summary) -> str:
    """Return the name of the method that a summary belongs to."""
    if isinstance(summary, QRFactor):
        return "qr"
    return "extended" if summary.is_extended else "gram"


@single_threaded_blas()
def solve_adaptively(rows: Rows, problem: RidgeProblem, method: str = "auto") -> SolveResult:
    """Solve a least-squares problem with the first method that is accurate enough.

    Parameters
    ----------
    rows : Rows
        Training rows. They are read once per method tried.
    problem : RidgeProblem
        Penalty and treatment of the intercept.
    method : {"auto", "gram", "qr", "extended"}
        A single method to use, or "auto" to try them in order.

    Returns
    -------
    SolveResult
        The summary, the solution, the method used and the number of passes.
    """
    passes, used = 0, ""
    for candidate in candidate_methods(rows, method):
        if candidate == used:
            continue  # "auto" found fewer rows than columns and used an R factor
        passes += 1
        summary = summarize(rows, candidate)
        check_has_rows_and_targets(summary)
        solution, used = problem.solve(summary), method_of_summary(summary)
        if is_accurate_enough(solution):
            break
    can_refine = used == "extended" and problem.alpha == 0 and _is_finite(solution)
    if can_refine and (method == "extended" or solution.digits < MIN_EXTENDED_DIGITS):
        return SolveResult(summary, refine(rows, summary, solution), used, passes + 1)
    return SolveResult(summary, solution, used, passes)


def candidate_methods(rows: Rows, method: str) -> tuple[str, ...]:
    """Return the methods to try in order, until a solution is accurate enough."""
    if method != "auto":
        return (method,)
    if rows.one_shot:
        return ("qr",)  # there is no second pass
    p = len(rows.names)
    if p <= MAX_ALWAYS_GRAM_COLUMNS:
        return ("gram", "extended")
    # With no more rows than columns a Gram is singular, and takes a time of p³ to show it.
    first = "auto"
    if isinstance(rows, Sized):
        first = "gram" if len(rows) > p else "qr"
    return (*dict.fromkeys((first, "qr")), *(("extended",) if p <= MAX_EXTENDED_COLUMNS else ()))


def is_accurate_enough(solution: Solution) -> bool:
    """Return whether a solution and its standard errors have `MIN_DIGITS` digits and its rank is certain."""
    if solution.is_clearly_accurate:
        return True
    relevant = solution.digits_of_relevant_coefs
    strict = relevant if solution.strict_digits is None else solution.strict_digits
    found = CorrectDigits(solution.digits, relevant, strict, digits_of_standard_errors(solution))
    return are_enough(found, len(solution.coef)) and solution.rank_is_certain


def check_has_rows_and_targets(summary: Summary) -> None:
    """Raise for a summary without rows with positive weight, or without targets."""
    if summary.n == 0:
        raise ValueError(
            "The data contain no rows to fit. Sample weights must contain at least one non-zero number; pass "
            "rows with positive weight."
        )
    if len(summary.scaling.scale) == summary.p:
        raise ValueError("These rows contain no targets. Pass rows with a target.")


def refine(rows: Rows, gram: Gram, solution: Solution) -> Solution:
    """Return the solution after one Newton step from residuals in double-double, with its digits measured.

    The step is δ = (X'X)⁻¹X'r. Its size is the error of the coefficients before; the error after it is that of the
    step itself.
    """
    scaling, p = gram.scaling, gram.p
    unit, y_unit, one = scaling.scale[:p, None], scaling.scale[p:], np.ones(1)
    # Everything is scaled, so that nothing leaves float64: X and Y about their shifts.
    shift = scaling.shift / scaling.scale
    coef = exact_rescale(solution.extended[0], unit, y_unit)
    intercept = (
        exact_rescale(solution.extended[1], one, y_unit)
        + product(DoubleDouble.of(shift[None, :p]), coef)[0]
        - shift[p:]
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
    better, constant = coef + step, solution.extended[1]
    if solution.mean is not None:
        intercept = intercept + sums / solution.weight - product(mean[None, :], DoubleDouble.of(step))[0]
        constant = exact_rescale(
            intercept - product(DoubleDouble.of(shift[None, :p]), better)[0] + shift[p:], y_unit, one
        )
    rss = np.maximum(total[1 + p].to_float64() - (gradient.to_float64() * step).sum(axis=0), 0.0)
    with np.errstate(over="ignore", under="ignore"):
        # The error of a coefficient that is zero up to rounding is compared to what it could have been.
        reach = np.linalg.norm(root, axis=1)[:, None] * np.sqrt(solution.tss / y_unit / y_unit)
        size = np.maximum(np.abs(better.high), EPS * reach)
        wrong = largest_ratio(np.abs(step), size)
        # The step has the rounding errors of the residuals, and of their products with the columns.
        noise = np.sqrt(gram.rounding_of(solution.centering))
        load = noise[p:] + np.linalg.norm(noise[:p, None] * better.high, axis=0)
        far = np.linalg.norm(root @ (noise[:p, None] * root).T, axis=1)[:, None]
        left = SAFE * EPS * (np.linalg.norm(root, axis=1)[:, None] * load + far * np.sqrt(rss))
        error = max(wrong * max(wrong, EPS * solution.condition), largest_ratio(left, size), EPS)
        rss = rss * y_unit * y_unit
    better = exact_rescale(better, y_unit, unit)
    digits = float(np.clip(-np.log10(error), 0.0, 16.0))
    # Residuals do not show errors in directions that the rows do not determine.
    certain = digits if solution.null is None else min(digits, solution.digits)
    return replace(
        solution,
        coef=better.to_float64(),
        intercept=constant.to_float64(),
        rss=rss,
        extended=(better, constant),
        digits=certain,
        digits_of_relevant_coefs=digits,
        strict_digits=digits,
    )


def warn_rank_and_precision(
    solution: Solution, names: Sequence[str], method: str, *, free: bool = True, errors: bool = True
) -> None:
    """Warn about columns that are combinations of others, and about lost digits.

    `free` is whether the model has a `method` parameter, `errors` whether it has standard errors.
    """
    if solution.aliased:
        n_shown = 8 if solution.n > len(names) else 3
        dependent = describe_dependent([names[j] for j in solution.aliased], n_shown)
        caveat = "" if solution.rank_is_certain else f" (according to method {method!r})"
        what = f"{dependent}{caveat}."
        drop = "Drop it" if len(solution.aliased) == 1 else "Drop these columns"
        remedy = f"{drop}, or set alpha > 0, to make single coefficients interpretable."
        if not solution.rank_is_certain and free and method != "extended":
            remedy = f'Fit with method="extended" to see whether the dependence is exact. {remedy}'
        if solution.n <= len(names):  # which columns come last is arbitrary
            size = f"{pluralize(solution.n, 'row')} for {pluralize(len(names), 'column')}"
            what = f"{size}, so the coefficients are not unique. {what}"
            remedy = f"Use fewer columns, or a penalty{', which RidgeCV chooses' if free else ' (alpha > 0)'}."
        warn_at_caller(f"{what} Coefficients of smallest norm are returned. {remedy}", np.exceptions.RankWarning)
    if solution.is_clearly_accurate:
        pass
    elif solution.digits_of_relevant_coefs < MIN_DIGITS and not _is_interpolating(solution, method):
        remedy = USE_EXTENDED if free else "Use larger alphas or fewer columns for more digits."
        if method == "extended":
            remedy = "Drop or combine columns for more digits."
        warn_at_caller(
            f"Only about {min(solution.digits, 9):.0f} digits of the coefficients are correct (condition "
            f"{solution.condition:.1g}, method {method!r}). {remedy}",
            PrecisionWarning,
        )
    elif errors:
        warn_imprecise_errors(solution, method, free=free)
    if not solution.is_ordinary and _squares_overflow(solution):
        warn_at_caller(
            "Squaring y exceeds the float64 range, so no digit of the standard errors and sums of squares is "
            "correct. Rescale y.",
            PrecisionWarning,
        )


def warn_imprecise_errors(solution: Solution, method: str, *, free: bool = True) -> None:
    """Warn if fewer digits of the standard errors than `MIN_DIGITS` are correct."""
    digits = digits_of_standard_errors(solution)
    if digits >= MIN_DIGITS or _is_interpolating(solution, method):
        return
    remedy = "Subtract a typical value from each column, or drop or combine columns."
    warn_at_caller(
        f"Only about {min(digits, 9):.0f} digits of the standard errors are correct (condition "
        f"{solution.condition:.1g}); the coefficients have more. "
        f"{remedy if method == 'extended' or not free else USE_EXTENDED}",
        PrecisionWarning,
    )


def check_coefficients_finite(solution: Solution, names: Sequence[str]) -> None:
    """Raise for coefficients that float64 cannot represent, by name."""
    if solution.is_ordinary or _is_finite(solution):
        return
    overflowed = np.flatnonzero(~np.isfinite(solution.coef).all(axis=1))
    who = f"The coefficient of {names[overflowed[0]]!r}" if len(overflowed) else "The intercept"
    raise ValueError(f"{who} exceeds the float64 range. Rescale the column or y.")


def _is_finite(solution: Solution) -> bool:
    return bool(np.isfinite(solution.coef).all() and np.isfinite(solution.intercept).all())


def _squares_overflow(solution: Solution) -> bool:
    explained = np.abs(solution.coef).max(axis=0, initial=0.0) > 0
    squares = np.maximum(solution.tss, solution.rss)
    small = (squares < 1e-300) | ((solution.rss > 0) & (solution.rss < np.finfo(np.float64).smallest_normal))
    return bool((explained & small).any() or not np.isfinite(solution.tss).all())


def digits_of_standard_errors(solution: Solution) -> float:
    """Return the correct digits of the standard errors; from the condition number if a model file has none."""
    if solution.error_digits is not None:
        return solution.error_digits
    return float(np.clip(-2 * np.log10(EPS * max(solution.condition, 1.0)), 0.0, 16.0))


def correct_digits(solution: Solution) -> float:
    """Return the correct digits of coefficients and standard errors; 0 if an aliased column may not be aliased."""
    if solution.aliased and not solution.rank_is_certain:
        return 0.0
    return min(solution.digits, digits_of_standard_errors(solution))


def _is_interpolating(solution: Solution, method: str) -> bool:
    # The residuals of a perfect fit are rounding errors. They have no digits. The coefficients have about ten, unless
    # the condition is large. Cross-products lose digits as its square.
    largest = 2e3 if method == "gram" else 1e5
    return bool((solution.rss <= INTERPOLATION_TOL * solution.tss).all()) and solution.condition < largest
