"""What a model file says must be what its summary says: figures that can be derived are derived and compared.

A solution in float64 is solved again from the summary, and the file's own is not used. One in double-double may have
been refined from the rows, which are not in the file: it is kept if it agrees, as far as its digits go.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.adaptive_summary import MAX_ALWAYS_GRAM_COLUMNS
from linearly.algorithm.least_squares.gradient_descent import gradient_descent
from linearly.algorithm.least_squares.gram import Gram, diagonal
from linearly.algorithm.least_squares.ridge_cv import fold_errors
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, method_of_summary
from linearly.algorithm.least_squares.triangular import EPS, exact_rescale, product
from linearly.dataset.design.serialization import InvalidFile
from linearly.kernels.double_double import concatenate, to_float64

Array = NDArray[np.float64]

_MOST_SOLVED = 300  # columns up to which a solution in double-double is solved again: a second
_VANISHED = 1e-12  # of a sum of squares: what its residuals, taken from the rows, may differ by
_MOST_REFOLDED = 200  # columns up to which the errors of folds, each of which takes an eigendecomposition, are derived


def agreed_solution(summary: Any, stored: Solution, at: str, *, descended: bool = False) -> Solution:
    """The solution of a summary, by which that of the file is refused where it says otherwise."""
    exact = method_of_summary(summary) == "extended"
    if exact and summary.p > _MOST_SOLVED:
        _refuse_unsolved(summary, stored, at)
        return stored
    ask = RidgeProblem(stored.alpha, stored.centering != "plain", stored.centering == "constant")
    again = ask.solve(summary)
    if descended:
        again, _ = gradient_descent(summary.select(None, ask.intercept), again)
    _refuse_solution(stored, again, at, exact=exact)
    return stored if exact else again


def _refuse_unsolved(gram: Gram, stored: Solution, at: str) -> None:
    """Refuse a solution that does not solve the normal equations, or has other sums of squares."""
    A, C, total, unit, y_unit = gram.normal_equations(stored.centering)
    coef = exact_rescale(stored.extended[0], unit[-gram.p :, None], y_unit)
    if stored.centering == "constant":
        coef = concatenate([exact_rescale(stored.extended[1], np.ones(1), y_unit)[None, :], coef])
    fitted = product(A, coef)
    tss = to_float64(total)
    penalty = stored.alpha * to_float64(coef) / unit[:, None] ** 2
    largest = np.sqrt(to_float64(diagonal(A)))[:, None] * np.sqrt(tss)
    agree(f"{at}.coef", to_float64(fitted) + penalty, to_float64(C), 1e-6, 1e-6 * largest)
    rss = to_float64(total + (coef * (fitted - C * 2.0)).sum(axis=0))
    with np.errstate(over="ignore", under="ignore"):
        agree(f"{at}.tss", stored.tss, tss * y_unit * y_unit, 1e-8)
        agree(f"{at}.rss", stored.rss, rss * y_unit * y_unit, 1e-6, _VANISHED * stored.tss)
    if not 0 <= stored.digits <= 16 or not 0 <= stored.digits_of_relevant_coefs <= 16:
        raise InvalidFile(f"{at}.digits must be between 0 and 16, not {stored.digits!r}")
    agree(f"{at}.weight", stored.weight, float(to_float64(gram.weight)), 1e-9)
    if stored.alpha == 0:
        agree(f"{at}.dof", stored.dof, gram.n - stored.rank - (stored.centering != "plain"), 1e-6, 1e-6 * gram.n)
    elif not 0 <= stored.dof <= gram.n:
        raise InvalidFile(f"{at}.dof must be between 0 and the {gram.n} rows, not {stored.dof!r}")


def _refuse_solution(stored: Solution, again: Solution, at: str, *, exact: bool) -> None:
    for name in ("n", "centering") if exact and not again.rank_is_certain else ("n", "centering", "rank", "aliased"):
        if getattr(stored, name) != getattr(again, name):
            _refuse(f"{at}.{name}", getattr(stored, name), getattr(again, name))
    refined = exact and stored.alpha == 0
    for name in ("digits", "digits_of_relevant_coefs"):
        if not 0 <= getattr(stored, name) <= (16 if refined else getattr(again, name) + 0.5):
            _refuse(f"{at}.{name}", getattr(stored, name), getattr(again, name))
    known = (
        min(again.digits_of_relevant_coefs, stored.digits_of_relevant_coefs)
        if refined
        else again.digits_of_relevant_coefs
    )
    close = 10.0 ** (2 - min(max(known, 0.0), 13.0))
    reach = np.linalg.norm(again.inverse_root, axis=1)[:, None] * np.sqrt(again.tss)
    slopes = reach[int(again.has_intercept) :]
    far = 0.0 if again.mean is None else np.abs(again.mean.high) @ (np.abs(again.coef) + close * slopes)
    constant = (reach[0] if again.has_intercept else 0.0) + far + np.abs(again.prediction_at_mean)
    # The residual sum of squares is a difference of the total and what is explained.
    floor = (min(max(1e-27 * again.condition**2, 1e-24), _VANISHED) if exact else 1e-10) * np.abs(again.tss)
    of_squares = max(close, 1e-8)
    covariance = max(1e-8, 1e3 * (EPS * again.condition) if exact else 1e3 * EPS * again.condition**2)
    agree(f"{at}.weight", stored.weight, again.weight, 1e-9)
    agree(f"{at}.log_weight", stored.log_weight, again.log_weight, 1e-9, 1e-9 * again.n)
    agree(f"{at}.dof", stored.dof, again.dof, 1e-6, 1e-6 * again.n)
    agree(f"{at}.tss", stored.tss, again.tss, 1e-8)
    # Refined coefficients of aliased columns, or without a digit, may be any.
    if not refined or (known >= 1 and again.rank == len(again.coef)):
        agree(f"{at}.rss", stored.rss, again.rss, of_squares, floor)
        agree(f"{at}.coef", stored.coef, again.coef, close, close * slopes)
        agree(f"{at}.intercept", stored.intercept, again.intercept, close, close * constant)
        agree(f"{at}.prediction_at_mean", stored.prediction_at_mean, again.prediction_at_mean, close, close * constant)
    if (stored.mean is None) != (again.mean is None):
        _refuse(f"{at}.mean", stored.mean, again.mean)
    if again.mean is not None and stored.mean is not None:
        agree(
            f"{at}.mean", to_float64(stored.mean), to_float64(again.mean), 1e-9, 1e-9 * np.abs(slopes).max(initial=0.0)
        )
    if stored.rank == again.rank and covariance < 1:
        agree(
            f"{at}.inverse_root", (stored.inverse_root**2).sum(axis=1), (again.inverse_root**2).sum(axis=1), covariance
        )
        agree(f"{at}.shrinkage", np.diagonal(stored.shrinkage), np.diagonal(again.shrinkage), 1e-6, 1e-6)
        agree(f"{at}.condition", np.log2(stored.condition), np.log2(again.condition), 0.0, 1.0)
    for name, figure, high in zip(("coef", "intercept"), (stored.coef, stored.intercept), stored.extended, strict=True):
        agree(f"{at}.extended", to_float64(high), figure, 4 * EPS, 0.0)
        if not np.isfinite(figure).all():
            raise InvalidFile(f"{at}.{name} holds NaN or infinity")


def agreed_folds(estimator: Any, at: str) -> None:
    """Refuse errors of folds, and a penalty, that are not those of the summaries of the folds."""
    folds = getattr(estimator, "folds_", None)
    errors, alphas = estimator.fold_errors_, estimator.alphas_
    columns = 1 if folds is None else len(folds.parts)
    if errors.shape[1] != columns:
        raise InvalidFile(f"{at}.fold_errors_ has {errors.shape[1]} columns, and the model {columns} folds")
    if folds is not None and folds.parts[0].p <= _MOST_REFOLDED:
        again = fold_errors(folds, alphas, bool(estimator.fit_intercept)).mean(axis=2)
        agree(f"{at}.fold_errors_", errors, again, 1e-4, 1e-6 * np.nanmax(again, initial=0.0))
    # Files of before averaged over folds, and not over rows.
    for mean in (estimator.cv_errors_, errors.mean(axis=1)):
        if np.isfinite(mean).any() and alphas[np.nanargmin(mean)] == estimator.alpha_ == estimator.solution_.alpha:
            return
    raise InvalidFile(f"{at}.alpha_ is {estimator.alpha_!r}, which is not the one of alphas_ with the smallest error")


def derived_again(estimator: Any, state: dict[str, Any], compared: tuple[str, ...]) -> None:
    """Read a classifier off its summary again, and refuse attributes of the file that differ from it."""
    if estimator.summary_.is_extended and estimator.n_features_in_ > MAX_ALWAYS_GRAM_COLUMNS:
        return  # half a minute for 1000 columns
    estimator._set_from_summary()
    close = max(1e-6, 10.0 ** (2 - min(max(estimator._digits(), 0.0), 13.0)))
    for name in compared:
        again = np.asarray(getattr(estimator, name), dtype=np.float64)
        finite = np.abs(again[np.isfinite(again)])
        agree(f"estimator.state.{name}", state[name], again, close, close * float(finite.max(initial=0.0)))


def agree(name: str, stored: Any, again: Any, close: float, floor: Any = 0.0) -> None:
    """Refuse a figure of the file, by name, that is not what is derived: up to a share of it, and a floor."""
    mine, theirs = np.asarray(again, dtype=np.float64), np.asarray(stored, dtype=np.float64)
    if mine.shape != theirs.shape:
        raise InvalidFile(f"{name} has the shape {theirs.shape}, and the summary of the file makes it {mine.shape}")
    with np.errstate(all="ignore"):
        same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
        same |= np.abs(mine - theirs) <= close * np.maximum(np.abs(mine), np.abs(theirs)) + floor
        same &= np.isfinite(mine) == np.isfinite(theirs)
    if not same.all():
        worst = np.unravel_index(int(np.argmin(same)), same.shape)
        _refuse(name, float(theirs[worst]), float(mine[worst]))


def _refuse(name: str, stored: Any, again: Any) -> None:
    raise InvalidFile(f"{name} contradicts the summary in the file: it is {stored!r}, and the summary says {again!r}")


def agreed_likelihood(estimator: Any, at: str) -> None:
    """Refuse figures of a logistic regression that no fit has."""
    weights = estimator._class_weights
    if not (weights > 0).all():
        raise InvalidFile(f"{at}._class_weights must hold positive numbers")
    share = weights / weights.sum() if estimator.fit_intercept else np.full(len(weights), 1 / len(weights))
    null, found = estimator.null_log_likelihood_, estimator.log_likelihood_
    agree(f"{at}.null_log_likelihood_", null, float(weights @ np.log(share)), 1e-9)
    if found > 1e-9 * abs(null):
        raise InvalidFile(f"{at}.log_likelihood_ is {found!r}, and a log likelihood is at most 0")
    plain = estimator.alpha == 0 and estimator.bias_reduction is None and estimator.converged_
    if plain and found < null - 1e-6 * abs(null):
        raise InvalidFile(f"{at}.log_likelihood_ is {found!r}, less than {null!r} without any column")
    for name in ("_root", "_inner"):
        value = getattr(estimator, name)
        if value is not None and np.isnan(value).any():
            raise InvalidFile(f"{at}.{name} holds NaN")


def agreed_training(estimator: Any, at: str) -> None:
    """Refuse counts and errors of a perceptron that contradict each other."""
    error = getattr(estimator, "training_error_", np.nan)
    if not (np.isnan(error) or 0 <= error <= 1):
        raise InvalidFile(f"{at}.training_error_ must be between 0 and 1, not {error!r}")
    mistakes = np.asarray(estimator.mistakes_per_pass_)
    if (mistakes < 0).any():
        raise InvalidFile(f"{at}.mistakes_per_pass_ must not be negative")
    training = getattr(estimator, "_training", None)
    if training is not None and training.updates != mistakes.sum():
        _refuse(f"{at}.training.updates", training.updates, int(mistakes.sum()))
    if training is not None and training.record is not None:
        coef, intercept = training.log().final_weights()
        agree(
            f"{at}.training.coef", training.final_weights()[0], coef, 1e-9, 1e-9 * float(np.abs(coef).max(initial=0.0))
        )
        agree(f"{at}.training.intercept", training.final_weights()[1], intercept, 1e-9, 1e-9)
    path = getattr(estimator, "error_history_", None)
    if path is not None and (
        estimator.best_update_ >= len(path) or path[estimator.best_update_] != path.min(initial=path[0])
    ):
        raise InvalidFile(f"{at}.best_update_ is {estimator.best_update_}, where error_history_ is not at its lowest")
