"""`RidgeCV`: ridge with its penalty chosen by cross-validation in one pass over the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.ridge_cv import FoldSummaries, RidgePath, fold_errors, leave_one_out_errors
from linearly.algorithm.least_squares.solver import (
    RidgeProblem,
    Summary,
    check_has_rows_and_targets,
    method_of_summary,
    summarize,
)
from linearly.dataset.rows.block import InMemoryRows, Rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.models.base import (
    Array,
    check_same_settings,
    column_names,
    is_multi_output,
    merge_feature_names,
    settings_of,
    training_rows,
    transactional_fit,
)
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_bool, check_several_nonnegative

_LEAST = float(np.finfo(np.float64).smallest_normal)
_MOST_FOLDS = 1000  # each has a summary and an eigendecomposition of its own


class RidgeCV(LeastSquaresBase):
    """Ridge with ``alpha`` chosen by cross-validation: any number of penalties and folds in one pass.

        Model class   ŷ = b + x'w
        Objective     ½‖y − ŷ‖² + ½α‖w‖², α the one with the smallest prediction error on rows left out
        Summary       one Gram of [1 | X | y] a fold; of few rows, a Triangle
        Optimizer     one eigendecomposition a fold serves every alpha
        Passes        1   (2 with cv="loo")

    Parameters
    ----------
    alphas : sequence of float, default=None
        Penalties to try; by default 100 of them, from a millionth to a hundred times the mean eigenvalue of X'X.
    cv : int, "loo" or a scikit-learn splitter, default=5
        Number of folds. A hash of its values says which fold a row is in, so neither the order of the rows nor what
        holds them matters, and equal rows are left out together. ``"loo"`` leaves out one row at a time, exactly.
    fit_intercept : bool, default=True
        Whether the model has a constant term; it is not penalised.

    Attributes
    ----------
    alpha_ : the chosen penalty.
    alphas_, cv_errors_ : the penalties tried, and the mean squared prediction error of each.
    fold_errors_ : the same for each fold (alphas × folds), NaN for a fold without rows; their mean, weighted as the
        rows of each fold are, is ``cv_errors_``.
    coef_, intercept_, summary_, solution_, … : as in `LinearRegression`, of the fit to all rows with ``alpha_``.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ly.RidgeCV(alphas=[0.01, 0.1, 1.0, 10.0]).fit(X, y).alpha_
    0.1
    """

    penalize_intercept = False

    def __init__(self, alphas: Any = None, *, cv: Any = 5, fit_intercept: bool = True) -> None:
        self.alphas = alphas
        self.cv = cv
        self.fit_intercept = fit_intercept

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose alpha and fit to all rows with it; ``sample_weight`` is analytic: a row's variance is σ²/w."""
        check_bool("fit_intercept", self.fit_intercept)
        rows = training_rows(self, X, y, sample_weight)
        self._multi_output = is_multi_output(rows)
        if isinstance(self.cv, str):
            self._leave_one_out(rows)
        else:
            self.folds_ = self._fold(rows)
            self._choose_from_folds()
        return self

    def __add__(self, other: Any) -> RidgeCV:
        """The model of both sets of rows, alpha chosen anew, without either."""
        return self._combined(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> RidgeCV:
        """The model without the other's rows, alpha chosen anew: refused where they were never part of it."""
        return self._combined(other, lambda a, b: a - b)

    @single_threaded_blas()
    def _combined(self, other: Any, combine: Callable[[FoldSummaries, FoldSummaries], FoldSummaries]) -> RidgeCV:
        if not isinstance(other, RidgeCV):
            return NotImplemented  # type: ignore[no-any-return]
        check_is_fitted(self)
        check_is_fitted(other)
        for cv in (self.cv, other.cv):
            if not isinstance(cv, (int, np.integer)):
                told = '"loo"' if isinstance(cv, str) else repr(cv)
                raise ValueError(f"Models with cv={told} cannot be merged without the rows: use a number of folds.")
        check_same_settings(settings_of(self), settings_of(other))
        if len(self.folds_.parts) != len(other.folds_.parts):
            raise ValueError("Models with different numbers of folds cannot be merged.")
        result: RidgeCV = clone(self)
        merge_feature_names(result, self, other)
        result._multi_output = self._multi_output
        result.folds_ = combine(self.folds_, other.folds_)
        result._choose_from_folds()
        return result

    def _leave_one_out(self, rows: Rows) -> None:
        if self.cv != "loo":
            raise ValueError(f'cv must be a number of folds, "loo" or a splitter, not {self.cv!r}.')
        self.summary_ = summarize(rows, "auto")
        check_has_rows_and_targets(self.summary_)
        if self.summary_.n < 2:
            raise ValueError('n_samples=1: cv="loo" needs at least two rows of positive weight.')
        self.alphas_ = self._alphas(self.summary_)
        errors = leave_one_out_errors(rows, self.summary_, self.alphas_, self.fit_intercept)
        self.fold_errors_ = errors.mean(axis=1)[:, None]
        self._choose(2)

    def _fold(self, rows: Rows) -> FoldSummaries:
        if isinstance(self.cv, (int, np.integer)) and not isinstance(self.cv, bool):
            K = int(self.cv)
            if not 2 <= K <= _MOST_FOLDS:
                raise ValueError(f'cv must be at least 2 folds and at most {_MOST_FOLDS}, or "loo", not {K}.')
            folds = rows.reduce(lambda block: FoldSummaries.of(block, K))
        else:
            K, fold_of_row = self._folds_of_splitter(rows)
            folds = rows.reduce(lambda block: FoldSummaries.from_assignment(block, fold_of_row, K))
        check_has_rows_and_targets(max(folds.parts, key=lambda part: part.n))
        n = sum(part.n for part in folds.parts)
        if n < K:
            raise ValueError(f"n_samples={n} rows of positive weight leave one of {K} folds empty: use fewer folds.")
        if sum(part.n > 0 for part in folds.parts) < 2:
            raise ValueError(f'All {n} rows fall into one fold, where equal rows belong together. Use cv="loo".')
        return folds

    def _folds_of_splitter(self, rows: Rows) -> tuple[int, NDArray[np.int_]]:
        """How many folds a scikit-learn splitter makes, and which of them each row is left out in."""
        from sklearn.model_selection import check_cv

        if not isinstance(rows, InMemoryRows):
            raise ValueError("A scikit-learn splitter needs rows in memory; give cv as a number of folds.")
        fold_of_row, times = np.full(len(rows), -1), np.zeros(len(rows), dtype=int)
        try:
            splits = list(check_cv(self.cv).split(np.empty((len(rows), 0)), rows.y))
            for j, (_, test) in enumerate(splits):
                fold_of_row[test] = j
                np.add.at(times, test, 1)
        except (ValueError, TypeError, IndexError) as error:
            told = f'cv must be a number of folds, "loo" or a splitter; {self.cv!r} does not split these rows: {error}'
            raise ValueError(told) from error
        if (times != 1).any():
            i = int(np.argmax(times != 1))
            raise ValueError(f"cv must leave each row out exactly once; row {i} is left out {times[i]} times.")
        return len(splits), fold_of_row

    def _alphas(self, summary: Summary) -> Array:
        if self.alphas is None:
            path = RidgePath.of(summary, self.fit_intercept)
            level = path.level
            if not level > 0:
                return np.logspace(-6, 2, 100)
            with np.errstate(over="ignore", under="ignore"):
                alphas: Array = np.logspace(-6, 2, 100) * (level * path.unit * path.unit)
            if not _LEAST < alphas[0] <= alphas[-1] < np.inf:
                many, do = ("small", "Multiply") if alphas[0] < 1 else ("large", "Divide")
                name = column_names(self)[int(np.argmax(summary.scaling.scale[: summary.p]))]
                raise ValueError(
                    f"Column {name!r} is so {many} that the penalties to try, of the size of its squares, are beyond "
                    f"float64. {do} X by a constant, or give alphas=."
                )
            return alphas
        return check_several_nonnegative("alphas", self.alphas)

    @single_threaded_blas()
    def _choose_from_folds(self) -> None:
        self.summary_ = self.folds_.total()
        self.alphas_ = self._alphas(self.summary_)
        self.fold_errors_ = fold_errors(self.folds_, self.alphas_, self.fit_intercept).mean(axis=2)
        self._choose(1)

    def _average_errors(self) -> None:
        """Set the mean squared error over all rows that were left out, from those of the folds."""
        weights = self.folds_.weights if hasattr(self, "folds_") else np.ones(1)
        there = weights > 0
        self.cv_errors_ = self.fold_errors_[:, there] @ (weights[there] / weights.sum())

    def _choose(self, passes: int) -> None:
        self._average_errors()
        if not np.isfinite(self.cv_errors_).any():
            raise ValueError(
                "No penalty has a prediction error that is a number, so none can be chosen: the squares of y leave "
                "float64, or one row has all the weight. Rescale y, or the weights."
            )
        self.alpha_ = float(self.alphas_[np.nanargmin(self.cv_errors_)])
        self.method_, self.n_passes_ = method_of_summary(self.summary_), passes
        self._set_from_summary(RidgeProblem(self.alpha_, bool(self.fit_intercept)).solve(self.summary_))
