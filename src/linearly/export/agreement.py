"""Refuse model files whose figures contradict their summary.

Figures that follow from the summary are derived again and compared. A solution in float64 is solved again, and the
file's own is not used. One in double-double may have been refined from the rows, which are not in the file: it is kept
if it agrees as far as its digits go.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from linearly.algorithm.least_squares.gradient_descent import gradient_descent
from linearly.algorithm.least_squares.gram import Gram, diagonal
from linearly.algorithm.least_squares.ridge_cv import fold_errors
from linearly.algorithm.least_squares.rounding_bounds import MAX_ALWAYS_GRAM_COLUMNS
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, method_of_summary
from linearly.algorithm.least_squares.triangular import EPS, exact_rescale, product
from linearly.dataset.design.serialization import InvalidFile
from linearly.kernels.double_double import concatenate, to_float64

STATE = "estimator.state"
SOLUTION = f"{STATE}.solution_"
MAX_SOLVED_COLUMNS = 300  # a solution in double-double with more takes over a second
MAX_FOLD_COLUMNS = 200  # the errors of each fold take an eigendecomposition
RSS_TOL = 1e-12  # of the total sum of squares: how far residuals computed from the rows may differ


def check_solution(summary: Any, stored: Solution, *, descended: bool = False) -> Solution:
    """Return the solution of a summary; refuse the one of the file if it differs."""
    extended = method_of_summary(summary) == "extended"
    if extended and summary.p > MAX_SOLVED_COLUMNS:
        _check_normal_equations(summary, stored)
        return stored
    problem = RidgeProblem(stored.alpha, stored.centering != "plain", stored.centering == "constant")
    again = problem.solve(summary)
    if descended:
        again, _ = gradient_descent(summary.select(None, problem.intercept), again)
    _check_same_solution(stored, again, extended=extended)
    return stored if extended else again


def _check_normal_equations(gram: Gram, stored: Solution) -> None:
    """Refuse a solution that does not solve the normal equations, or has other sums of squares."""
    A, C, total, unit, y_unit = gram.normal_equations(stored.centering)
    coef = exact_rescale(stored.extended[0], unit[-gram.p :, None], y_unit)
    if stored.centering == "constant":
        coef = concatenate([exact_rescale(stored.extended[1], np.ones(1), y_unit)[None, :], coef])
    fitted = product(A, coef)
    tss = to_float64(total)
    penalty = stored.alpha * to_float64(coef) / unit[:, None] ** 2
    largest = np.sqrt(to_float64(diagonal(A)))[:, None] * np.sqrt(tss)
    check_close(f"{SOLUTION}.coef", to_float64(fitted) + penalty, to_float64(C), 1e-6, 1e-6 * largest)
    rss = to_float64(total + (coef * (fitted - C * 2.0)).sum(axis=0))
    with np.errstate(over="ignore", under="ignore"):
        check_close(f"{SOLUTION}.tss", stored.tss, tss * y_unit * y_unit, 1e-8)
        check_close(f"{SOLUTION}.rss", stored.rss, rss * y_unit * y_unit, 1e-6, RSS_TOL * stored.tss)
    if not 0 <= stored.digits <= 16 or not 0 <= stored.digits_of_relevant_coefs <= 16:
        raise InvalidFile(f"{SOLUTION}.digits must be between 0 and 16, not {stored.digits!r}")
    check_close(f"{SOLUTION}.weight", stored.weight, float(to_float64(gram.weight)), 1e-9)
    if stored.alpha == 0:
        dof = gram.n - stored.rank - (stored.centering != "plain")
        check_close(f"{SOLUTION}.dof", stored.dof, dof, 1e-6, 1e-6 * gram.n)
    elif not 0 <= stored.dof <= gram.n:
        raise InvalidFile(f"{SOLUTION}.dof must be between 0 and the {gram.n} rows, not {stored.dof!r}")


def _check_same_solution(stored: Solution, again: Solution, *, extended: bool) -> None:
    for name in ("n", "centering") if extended and not again.rank_is_certain else ("n", "centering", "rank", "aliased"):
        if getattr(stored, name) != getattr(again, name):
            _refuse(f"{SOLUTION}.{name}", getattr(stored, name), getattr(again, name))
    refined = extended and stored.alpha == 0
    for name in ("digits", "digits_of_relevant_coefs"):
        if not 0 <= getattr(stored, name) <= (16 if refined else getattr(again, name) + 0.5):
            _refuse(f"{SOLUTION}.{name}", getattr(stored, name), getattr(again, name))
    if (stored.mean is None) != (again.mean is None):
        _refuse(f"{SOLUTION}.mean", stored.mean, again.mean)
    digits = again.digits_of_relevant_coefs
    digits = min(digits, stored.digits_of_relevant_coefs) if refined else digits
    close = _tolerance(digits)
    reach = np.linalg.norm(again.inverse_root, axis=1)[:, None] * np.sqrt(again.tss)
    slopes = reach[int(again.has_intercept) :]
    far = 0.0 if again.mean is None else np.abs(again.mean.high) @ (np.abs(again.coef) + close * slopes)
    constant = (reach[0] if again.has_intercept else 0.0) + far + np.abs(again.prediction_at_mean)
    # The residual sum of squares is a difference of the total and what is explained.
    floor = (min(max(1e-27 * again.condition**2, 1e-24), RSS_TOL) if extended else 1e-10) * np.abs(again.tss)
    tolerances: dict[str, tuple[float, Any]] = {  # relative, and absolute
        "weight": (1e-9, 0.0),
        "log_weight": (1e-9, 1e-9 * again.n),
        "dof": (1e-6, 1e-6 * again.n),
        "tss": (1e-8, 0.0),
    }
    # Refined coefficients of aliased columns, or without a digit, may be any.
    if not refined or (digits >= 1 and again.rank == len(again.coef)):
        tolerances |= {
            "rss": (max(close, 1e-8), floor),
            "coef": (close, close * slopes),
            "intercept": (close, close * constant),
            "prediction_at_mean": (close, close * constant),
        }
    if again.mean is not None:
        tolerances["mean"] = 1e-9, 1e-9 * np.abs(slopes).max(initial=0.0)
    for name, limits in tolerances.items():
        check_close(f"{SOLUTION}.{name}", getattr(stored, name), getattr(again, name), *limits)
    covariance = max(1e-8, 1e3 * (EPS * again.condition) if extended else 1e3 * EPS * again.condition**2)
    if stored.rank == again.rank and covariance < 1:
        variance, expected = ((solution.inverse_root**2).sum(axis=1) for solution in (stored, again))
        check_close(f"{SOLUTION}.inverse_root", variance, expected, covariance)
        check_close(f"{SOLUTION}.shrinkage", np.diagonal(stored.shrinkage), np.diagonal(again.shrinkage), 1e-6, 1e-6)
        check_close(f"{SOLUTION}.condition", np.log2(stored.condition), np.log2(again.condition), 0.0, 1.0)
    for rounded, unrounded in zip((stored.coef, stored.intercept), stored.extended, strict=True):
        check_close(f"{SOLUTION}.extended", unrounded, rounded, 4 * EPS)


def check_folds(estimator: Any) -> None:
    """Raise if the fold errors or the penalty contradict the summaries of the folds."""
    folds = getattr(estimator, "folds_", None)
    errors, alphas, mean = estimator.fold_errors_, estimator.alphas_, estimator.cv_errors_
    columns = 1 if folds is None else len(folds.parts)
    if errors.shape[1] != columns:
        raise InvalidFile(f"{STATE}.fold_errors_ has {errors.shape[1]} columns, and the model {columns} folds")
    if folds is not None and folds.parts[0].p <= MAX_FOLD_COLUMNS:
        again = fold_errors(folds, alphas, bool(estimator.fit_intercept)).mean(axis=2)
        check_close(f"{STATE}.fold_errors_", errors, again, 1e-4, 1e-6 * np.nanmax(again, initial=0.0))
    best = alphas[np.nanargmin(mean)] if np.isfinite(mean).any() else np.nan
    if not best == estimator.alpha_ == estimator.solution_.alpha:
        raise InvalidFile(
            f"{STATE}.alpha_ is {estimator.alpha_!r}, which does not have the smallest error among alphas_"
        )


def check_derived(estimator: Any, state: dict[str, Any], compared: tuple[str, ...]) -> None:
    """Derive the attributes of a classifier from its summary again; refuse those of the file that differ."""
    if estimator.summary_.is_extended and estimator.n_features_in_ > MAX_ALWAYS_GRAM_COLUMNS:
        return  # half a minute for 1000 columns
    estimator.set_from_summary()
    close = max(1e-6, _tolerance(estimator.correct_digits()))
    for name in compared:
        again = np.asarray(getattr(estimator, name), dtype=np.float64)
        finite = np.abs(again[np.isfinite(again)])
        check_close(f"{STATE}.{name}", state[name], again, close, close * float(finite.max(initial=0.0)))


def check_likelihood(estimator: Any) -> None:
    """Refuse figures of a logistic regression that no fit has."""
    weights = estimator.class_weights_
    if not (weights > 0).all():
        raise InvalidFile(f"{STATE}.class_weights_ must contain positive numbers")
    share = weights / weights.sum() if estimator.fit_intercept else np.full(len(weights), 1 / len(weights))
    null, fitted = estimator.null_log_likelihood_, estimator.log_likelihood_
    if not getattr(estimator, "has_offset_", False):
        check_close(f"{STATE}.null_log_likelihood_", null, float(weights @ np.log(share)), 1e-9)
    if fitted > 1e-9 * abs(null):
        raise InvalidFile(f"{STATE}.log_likelihood_ is {fitted!r}, but a log likelihood is at most 0")
    maximized = estimator.alpha == 0 and estimator.bias_reduction is None and estimator.converged_
    if maximized and fitted < null - 1e-6 * abs(null):
        raise InvalidFile(f"{STATE}.log_likelihood_ is {fitted!r}, less than {null!r} without any column")
    for name in ("inverse_root_", "inner_covariance_"):
        value = getattr(estimator, name)
        if value is not None and np.isnan(value).any():
            raise InvalidFile(f"{STATE}.{name} contains NaN")


def check_training(estimator: Any) -> None:
    """Refuse counts and errors of a perceptron that contradict each other."""
    error = getattr(estimator, "training_error_", np.nan)
    if not (np.isnan(error) or 0 <= error <= 1):
        raise InvalidFile(f"{STATE}.training_error_ must be between 0 and 1, not {error!r}")
    training = getattr(estimator, "training_", None)
    if training is not None and training.updates != sum(estimator.mistakes_per_pass_):
        _refuse(f"{STATE}.training.updates", training.updates, sum(estimator.mistakes_per_pass_))
    if training is not None and training.record is not None:
        final = zip(("coef", "intercept"), training.final_weights(), training.log().final_weights(), strict=True)
        for name, stored, again in final:
            floor = 1e-9 * (float(np.abs(again).max(initial=0.0)) if name == "coef" else 1.0)
            check_close(f"{STATE}.training.{name}", stored, again, 1e-9, floor)
    history = getattr(estimator, "error_history_", None)
    if history is None:
        return
    best = estimator.best_update_
    if best >= len(history) or history[best] != history.min():
        raise InvalidFile(f"{STATE}.best_update_ is {best}, where error_history_ is not smallest")


def check_close(name: str, stored: Any, again: Any, relative: float, absolute: Any = 0.0) -> None:
    """Refuse a figure of the file, by name, that differs from the derived one by more than a tolerance."""
    mine, theirs = (np.asarray(to_float64(value), dtype=np.float64) for value in (again, stored))
    if mine.shape != theirs.shape:
        raise InvalidFile(f"{name} has the shape {theirs.shape}, but the summary in the file implies {mine.shape}")
    with np.errstate(all="ignore"):
        same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
        same |= np.abs(mine - theirs) <= relative * np.maximum(np.abs(mine), np.abs(theirs)) + absolute
        same &= np.isfinite(mine) == np.isfinite(theirs)
    if not same.all():
        worst = np.unravel_index(int(np.argmin(same)), same.shape)
        _refuse(name, float(theirs[worst]), float(mine[worst]))


def _tolerance(digits: float) -> float:
    return float(10.0 ** (2 - min(max(digits, 0.0), 13.0)))


def _refuse(name: str, stored: Any, again: Any) -> NoReturn:
    raise InvalidFile(f"{name} contradicts the summary in the file: {stored!r} instead of {again!r}")
