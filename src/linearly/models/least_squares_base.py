"""The base of `LinearRegression` and `RidgeCV`: predictions, intervals, covariance and summary of a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import Summary, check_coefficients_finite, warn_rank_and_precision
from linearly.dataset.rows.block import Block, check_finite
from linearly.dataset.rows.reduce import single_threaded_blas, single_threaded_blas_unless_small
from linearly.kernels.matrices import dense_keeping_low_part, drop_low_part
from linearly.models import from_inference
from linearly.models.base import (
    PREDICTION_CELLS,
    Array,
    EstimatorMixin,
    MergeableMixin,
    check_fitted,
    column_names,
    map_rows,
    prediction_rows,
)

if TYPE_CHECKING:
    from linearly.table import Summary as PrintedSummary
    from linearly.table import Table


class LeastSquaresBase(EstimatorMixin, MergeableMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model that is set from a `Solution`; subclasses differ in how they find it."""

    _fitted_attributes: ClassVar[tuple[str, ...]] = ("solution_",)
    fit_intercept: bool
    covariance: str = "classical"
    method: str = "gram"
    summary_: Summary
    method_: str
    n_passes_: int
    _multi_output: bool  # whether y had two dimensions: then every result has one entry per target
    _far: bool  # whether ŷ = b + x'w is a small difference of large numbers: then it is computed about the mean
    _careful: bool  # whether X @ coef is not enough to predict: if _far, or if rows may not be estimable

    def predict(self, X: Any) -> Array:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict. Those that the fit does not determine are named in a `NotEstimableWarning`.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            Predicted values; a column beside the rows if those are on a cluster.
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

    def _predict_block(self, block: Block) -> Array:
        check_finite(block)
        if not self._far:
            part = drop_low_part(block.X)
            return np.asarray(part @ self._coef + self.intercept_)
        fit = self.solution_.predict(dense_keeping_low_part(block.X))
        return fit if np.ndim(self.intercept_) else fit[:, 0]

    def predict_interval(self, X: Any, level: float = 0.95, kind: str = "confidence") -> Table:
        """Return predictions with their intervals.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.
        level : float, default=0.95
            Confidence level, between 0 and 1.
        kind : {"confidence", "prediction"}, default="confidence"
            An interval for the mean of y, or for a new y.

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
        return from_inference.prediction_interval(self, X, level, kind)

    def sample_coefficients(
        self, n: int, error_model: str = "normal", *, X: Any = None, y: Any = None, random_state: Any = None
    ) -> Array:
        """Draw coefficients as they would have been for other errors: the uncertainty of the fit as a cloud.

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
            Seed of the draws.

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

        It is NaN for terms that the rows do not determine.
        """
        check_fitted(self)
        root, inner = self.solution_.inverse_root, self.inner_covariance()
        with np.errstate(over="ignore", invalid="ignore"):
            full = root @ inner @ root.T
        unknown = ~self.solution_.identified
        full[:, unknown], full[:, :, unknown] = np.nan, np.nan
        return full if np.ndim(self.intercept_) else full[0]

    @single_threaded_blas()
    def std_errors(self) -> Array:
        """Return the standard errors of the terms, also where a variance would overflow.

        Returns
        -------
        ndarray of shape (n_terms, n_targets)
            Standard errors, the intercept first; NaN for terms that the rows do not determine.
        """
        check_fitted(self)
        size = power_of_two(np.abs(self.solution_.inverse_root).max(axis=1, initial=0.0))[:, None]
        root = self.solution_.inverse_root / size
        variances = [((root @ inner) * root).sum(axis=1) for inner in self.inner_covariance()]
        errors = np.asarray(size * np.sqrt(np.stack(variances, axis=1)))
        errors[~self.solution_.identified] = np.nan
        return errors

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

    def _set_from_summary(self, solution: Solution) -> None:
        names = column_names(self)
        check_coefficients_finite(solution, names)
        has_choice = "method" in self.__dict__  # RidgeCV has no parameter `method`
        warn_rank_and_precision(solution, names, self.method_, free=has_choice)
        self.solution_ = solution
        self._far = _far_from_zero(solution)
        self._careful = self._far or solution.null is not None
        several = self._multi_output or len(solution.intercept) > 1
        self.coef_: NDArray[Any] = solution.coef.T.copy() if several else solution.coef[:, 0].copy()
        self.intercept_: Any = solution.intercept.copy() if several else float(solution.intercept[0])
        self._coef = solution.coef if several else self.coef_
        error = solution.rss / solution.weight
        self.training_error_: Any = error if several else float(error[0])


def _far_from_zero(solution: Solution) -> bool:
    if solution.mean is None:
        return False
    size = np.abs(solution.prediction_at_mean) + np.sqrt(solution.tss / solution.weight)
    return bool((np.abs(solution.mean.high) @ np.abs(solution.coef) > 1e3 * size).any())
