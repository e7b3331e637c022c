"""What every fitted least-squares model can do: predict, say how sure it is, and print itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import Summary, check_coefficients_finite, warn_rank_and_precision
from linearly.dataset.rows.block import Block, check_finite
from linearly.dataset.rows.reduce import single_threaded_blas, single_threaded_blas_unless_small
from linearly.kernels.matrices import dense_keeping_low_part, drop_low_part
from linearly.models import from_inference
from linearly.models.base import PREDICTION_CELLS, Array, EstimatorMixin, column_names, map_rows, prediction_rows
from linearly.models.estimability import NotEstimable

if TYPE_CHECKING:
    from linearly import table


class LeastSquaresBase(EstimatorMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model read off a `Solution`; `LinearRegression` and `RidgeCV` differ in how they come by it."""

    fit_intercept: bool
    covariance: str = "classical"
    method: str = "gram"
    summary_: Summary
    method_: str
    n_passes_: int
    _multi_output: bool  # whether y had two dimensions: then every result has one entry a target
    _far: bool  # whether ŷ = b + x'w is a small difference of large numbers: then it is formed about the mean
    _careful: bool  # whether a product does not do to predict: of such a fit, and of one that does not determine all

    def predict(self, X: Any) -> Array:
        """ŷ for new rows; a `NotEstimableWarning` names those that the fitted rows do not determine."""
        if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and 0 < X.size <= PREDICTION_CELLS:
            # The common case in a few microseconds: a NaN or infinity in X shows up in the result.
            coef, named = getattr(self, "_coef", None), hasattr(self, "feature_names_in_")
            if coef is not None and X.shape[1] == len(coef) and not (self._careful or named):
                with single_threaded_blas_unless_small(X.size), np.errstate(over="ignore", invalid="ignore"):
                    result: Array = X @ coef + self.intercept_
                    total = result.sum()
                if np.isfinite(total):
                    return result
        check_is_fitted(self)
        if self.solution_.null is None:
            return map_rows(prediction_rows(self, X), self._predicted)
        with NotEstimable() as doubtful:

            def predicted(block: Block) -> Array:
                fit = self._predicted(block)
                doubtful.look(block, self.solution_.estimable)
                return fit

            return map_rows(prediction_rows(self, X), predicted)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end: one that was refused may have left the number of columns behind."""
        return "solution_" in self.__dict__

    def _reset(self) -> None:
        """What a fit is known by goes before the next: see `all_or_nothing`."""
        for name in ("summary_", "solution_", "_coef", "meat_", "n_clusters_", "history_", "folds_"):
            self.__dict__.pop(name, None)

    def _predicted(self, block: Block) -> Array:
        check_finite(block)
        if not self._far:
            part = drop_low_part(block.X)
            return np.asarray(part @ self._coef + self.intercept_)
        fit = self.solution_.predict(dense_keeping_low_part(block.X))
        return fit if np.ndim(self.intercept_) else fit[:, 0]

    def predict_interval(self, X: Any, level: float = 0.95, kind: str = "confidence") -> table.Table:
        """A Table ``fit, low, high``: where the mean of y is (``confidence``), or a new y (``prediction``).

        The interval is NaN, with a `NotEstimableWarning`, at points that the fitted rows do not determine.
        """
        return from_inference.prediction_interval(self, X, level, kind)

    def sample_coefficients(
        self, n: int, error_variance: str = "normal", *, X: Any = None, y: Any = None, random_state: Any = None
    ) -> Array:
        """n draws of S0's β† = β̂ − (X'X + αI)⁻¹X'ε, the intercept first: the uncertainty of the fit as a cloud.

        ε is drawn from ``normal`` errors with the fitted σ, or resampled from the ``residuals``, which needs the rows.
        Terms that the rows do not determine are NaN.
        """
        return np.asarray(from_inference.draw_coefficients(self, n, error_variance, X, y, random_state))

    def summary(self) -> table.Summary:
        """The fit on one screen: statistics, coefficients with intervals, and how far to trust them."""
        return from_inference.regression_summary(self)

    @property
    @single_threaded_blas()
    def covariance_(self) -> Array:
        """The covariance matrix of (intercept, coefficients), NaN for terms that the rows do not determine.

        There is one per target if there are several.
        """
        check_is_fitted(self)
        root, inner = self.solution_.inverse_root, self.inner_covariance()
        with np.errstate(over="ignore", invalid="ignore"):
            full = root @ inner @ root.T
        unknown = ~self.solution_.identified
        full[:, unknown], full[:, :, unknown] = np.nan, np.nan
        return full if np.ndim(self.intercept_) else full[0]

    @single_threaded_blas()
    def std_errors(self) -> Array:
        """Standard errors of (intercept, coefficients), terms × targets; NaN for terms that rows do not determine.

        They are right also where a variance overflows.
        """
        check_is_fitted(self)
        size = power_of_two(np.abs(self.solution_.inverse_root).max(axis=1, initial=0.0))[:, None]
        root = self.solution_.inverse_root / size
        variances = [((root @ inner) * root).sum(axis=1) for inner in self.inner_covariance()]
        errors = np.asarray(size * np.sqrt(np.stack(variances, axis=1)))
        errors[~self.solution_.identified] = np.nan
        return errors

    def inner_covariance(self) -> Array:
        """The covariance of the coefficients in the coordinates of ``solution_.root``, one matrix a target."""
        meat = getattr(self, "meat_", None)
        if meat is not None:
            return np.asarray(meat)
        return np.asarray(self.solution_.sigma2[:, None, None] * self.solution_.shrinkage)

    def _set_from_summary(self, solution: Solution) -> None:
        names = column_names(self)
        check_coefficients_finite(solution, names)
        warn_rank_and_precision(
            solution, names, self.method_, free="method" in self.__dict__
        )  # RidgeCV has none to choose
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
