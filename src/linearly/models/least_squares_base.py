"""The base of `LinearRegression` and `RidgeCV`: predictions, intervals, covariance and summary of a solution."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import Summary, check_coefficients_finite, warn_rank_and_precision
from linearly.dataset.rows.block import Block, check_finite
from linearly.dataset.rows.column_matrix import ColumnMatrix, taking_columns
from linearly.exceptions import warn_at_caller
from linearly.formatting import join_names
from linearly.kernels.blas_threads import single_threaded_blas, single_threaded_blas_unless_small
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_keeping_low_part, drop_low_part
from linearly.models import from_inference
from linearly.models.base import (
    PREDICTION_CELLS,
    EstimatorMixin,
    MergeableMixin,
    check_fitted,
    column_names,
    map_rows,
    prediction_rows,
)
from linearly.models.sklearn_bases import Regressor

if TYPE_CHECKING:
    from linearly.algorithm.least_squares.small_sample import SmallSample
    from linearly.table import Summary as PrintedSummary
    from linearly.table import Table


class LeastSquaresBase(EstimatorMixin, MergeableMixin, Regressor):
    """A model that is set from a `Solution`; subclasses differ in how they find it."""

    _fitted_attributes: ClassVar[tuple[str, ...]] = ("solution_",)
    fit_intercept: bool
    covariance: str = "classical"
    method: str = "gram"
    summary_: Summary
    method_: str
    n_passes_: int
    multi_output_: bool  # whether y had two dimensions: then every result has one entry per target
    predicts_about_mean_: bool  # whether b + x'w is a small difference of large numbers, so that means are subtracted
    _careful: bool  # whether X @ coef is not enough to predict: about the mean, or if rows may not be estimable

    def predict(self, X: Any) -> Array:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict. Those that the fit does not determine are named in a `NotEstimableWarning`.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            Predicted values. A column beside the rows if those are on a cluster.
        """
        if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and 0 < X.size <= PREDICTION_CELLS:
            # The common case in a few microseconds: a NaN or infinity in X shows up in the result.
            coef, named = getattr(self, "_coef", None), hasattr(self, "feature_names_in_")
            if coef is not None and X.shape[1] == len(coef) and not (self._careful or named):
                with single_threaded_blas_unless_small(X.size), np.errstate(over="ignore", invalid="ignore"):
                    result: Array = X @ coef + self.intercept_
                    total = result.sum()
                if np.isfinite(total):
                    return result
        check_fitted(self)
        estimable = None if self.solution_.null is None else self.solution_.estimable
        return map_rows(prediction_rows(self, X), self._predict_block, estimable=estimable)

    @taking_columns
    def _predict_block(self, block: Block) -> Array:
        check_finite(block)
        offset = 0.0 if block.offset is None else block.offset
        if not self.predicts_about_mean_:
            part = drop_low_part(block.X)
            return np.asarray(part @ self._coef + self.intercept_ + offset)
        if isinstance(block.X, ColumnMatrix):
            block = replace(block, X=block.X[:])
        fit = self.solution_.predict(dense_keeping_low_part(block.X))
        return fit if np.ndim(self.intercept_) else np.asarray(fit[:, 0] + offset)

    def predict_interval(self, X: Any, level: float = 0.95, kind: str = "confidence", weight: Any = None) -> Table:
        """Return predictions with their intervals.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.
        level : float, default=0.95
            Confidence level, between 0 and 1.
        kind : {"confidence", "prediction"}, default="confidence"
            An interval for the mean of y, or for a new y.
        weight : float or array-like of shape (n_rows,), optional
            Weight of a new row, for `kind="prediction"`: its error has variance σ²/weight. The default is the average
            weight of the rows of the fit, 1 without weights, so that a factor of all weights changes nothing.

        Returns
        -------
        Table
            Columns ``fit``, ``low`` and ``high``, one row per row. The interval is NaN, with a `NotEstimableWarning`,
            at points that the fitted rows do not determine.

        Examples
        --------
        >>> import linearly as ly
        >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
        >>> table = model.predict_interval([[4.0]], kind="prediction")
        >>> [round(float(table[name][0]), 2) for name in ("low", "fit", "high")]
        [8.3, 8.95, 9.6]
        """
        return from_inference.prediction_interval(self, X, level, kind, weight)

    def sample_coefficients(
        self, n: int, error_model: str = "normal", *, X: Any = None, y: Any = None, random_state: Any = None
    ) -> Array:
        """Draw coefficients from their estimated sampling distribution.

        A draw is β̂ − (X'X + αI)⁻¹X'ε, with errors ε of mean 0.

        Parameters
        ----------
        n : int
            Number of draws.
        error_model : {"normal", "residuals"}, default="normal"
            Draw ε from a normal distribution with the fitted variance, or resample the residuals.
        X, y : array-like, default=None
            The fitted rows, required for ``error_model="residuals"``.
        random_state : int, RandomState or None, default=None
            Seed for the draws.

        Returns
        -------
        ndarray of shape (n, n_terms)
            Draws, the intercept first. Terms that the rows do not determine are NaN.
        """
        return np.asarray(from_inference.draw_coefficients(self, n, error_model, X, y, random_state))

    def summary(self) -> PrintedSummary:
        """Return the fit on one screen: fit statistics, coefficients with intervals, and their accuracy.

        Returns
        -------
        Summary
            Text, which notebooks show as HTML.
        """
        return from_inference.regression_summary(self)

    @property
    @single_threaded_blas()
    def covariance_(self) -> Array:
        """Covariance matrix of the terms, intercept first: (n_terms, n_terms), or one such matrix per target.

        It is NaN for terms that the rows do not determine, and for terms whose variance they do not determine.
        """
        check_fitted(self)
        root, inner = self.solution_.inverse_root, self.inner_covariance()
        with np.errstate(over="ignore", invalid="ignore"):
            full = root @ inner @ root.T
        unknown = ~self.known_variances()
        full[:, unknown], full[:, :, unknown] = np.nan, np.nan
        return full if np.ndim(self.intercept_) else full[0]

    def std_errors(self) -> Array:
        """Return the standard errors of the terms, even if a variance would overflow.

        Returns
        -------
        ndarray of shape (n_terms, n_targets)
            Standard errors, the intercept first; NaN for terms that the rows do not determine.
        """
        check_fitted(self)
        solution = self.solution_
        size = power_of_two(np.maximum.reduce(np.abs(solution.inverse_root), axis=1, initial=0.0))[:, None]
        root = np.divide(solution.inverse_root, size, order="C")
        if solution.alpha == 0 and not hasattr(self, "meat_"):
            variances = np.add.reduce(root * solution.sigma2[:, None, None] * root, axis=2).T
        else:
            with single_threaded_blas():
                variances = np.stack([((root @ inner) * root).sum(axis=1) for inner in self.inner_covariance()], axis=1)
        errors = np.asarray(size * np.sqrt(variances))
        if solution.null is not None or hasattr(self, "small_sample_"):
            errors[~self.known_variances()] = np.nan
        return errors

    def known_variances(self) -> NDArray[np.bool_]:
        """Return which terms have a variance: the rows determine them, and no single row does so alone.

        Returns
        -------
        ndarray of bool of shape (n_terms,)
            True for terms with a standard error, the intercept first.
        """
        small_sample: SmallSample | None = getattr(self, "small_sample_", None)
        unknown = small_sample is not None and small_sample.unknown(self.solution_.inverse_root)
        return np.asarray(self.solution_.identified & ~np.asarray(unknown))

    def _warn_unknown_variances(self) -> None:
        alone = self.solution_.identified & ~self.known_variances()
        if alone.any():
            terms = ("Intercept", *column_names(self)) if self.solution_.has_intercept else column_names(self)
            named = join_names([term for term, is_alone in zip(terms, alone, strict=True) if is_alone], 8, ", ")
            what = "row" if self.covariance.startswith("HC") else "group"
            warn_at_caller(
                f"{named} has no standard error with {self.covariance}, because a single {what} determines it and has "
                f"residual 0. Other terms are not affected. Leave out that {what}, or merge its level with another.",
                np.exceptions.RankWarning,
            )

    def inner_covariance(self) -> Array:
        """Return the covariance of the coefficients in the coordinates of ``solution_.inverse_root``.

        Returns
        -------
        ndarray of shape (n_targets, rank, rank)
            One matrix per target.
        """
        meat = getattr(self, "meat_", None)
        if meat is not None:
            return np.asarray(meat)
        return np.asarray(self.solution_.sigma2[:, None, None] * self.solution_.shrinkage)

    def set_from_solution(self, solution: Solution) -> None:
        """Set the fitted attributes from a solution; ``summary_``, ``method_`` and ``multi_output_`` are set before.

        Parameters
        ----------
        solution : Solution
            The solution of ``summary_``.
        """
        names = column_names(self)
        check_coefficients_finite(solution, names)
        has_choice = "method" in self.__dict__  # RidgeCV has no parameter `method`
        warn_rank_and_precision(solution, names, self.method_, free=has_choice)
        self.solution_ = solution
        self.predicts_about_mean_ = _far_from_zero(solution)
        self._careful = self.predicts_about_mean_ or bool(solution.aliased)
        several = self.multi_output_ or len(solution.intercept) > 1
        self.coef_: NDArray[Any] = solution.coef.T.copy() if several else solution.coef[:, 0].copy()
        self.intercept_: Any = solution.intercept.copy() if several else float(solution.intercept[0])
        self._coef = solution.coef if several else self.coef_
        error = solution.rss / solution.weight
        self.training_error_: Any = error if several else float(error[0])


def _far_from_zero(solution: Solution) -> bool:
    if solution.mean is None or solution.is_far is not None:
        return bool(solution.is_far)
    size = np.abs(solution.prediction_at_mean) + np.sqrt(solution.tss / solution.weight)
    return bool((np.abs(solution.mean.high) @ np.abs(solution.coef) > 1e3 * size).any())
