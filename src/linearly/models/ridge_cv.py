"""`RidgeCV`: ridge regression with its penalty chosen by cross-validation in one pass over the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.ridge_cv import FoldSummaries, RidgePath, fold_errors, leave_one_out_errors
from linearly.algorithm.least_squares.solver import (
    RidgeProblem,
    Summary,
    check_has_rows_and_targets,
    method_of_summary,
    summarize,
)
from linearly.dataset.rows.block import InMemoryRows, Rows
from linearly.kernels.double_double import Array
from linearly.models.base import EstimatorMixin, column_names, is_multi_output, training_rows, transactional_fit
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_bool, check_several_nonnegative

_MAX_FOLDS = 1000  # each has a summary and an eigendecomposition of its own


class PenaltyCVMixin(EstimatorMixin):
    """A penalty chosen by folds or by leaving out one row at a time; models with the same number of folds merge."""

    cv: Any
    folds_: FoldSummaries
    multi_output_: bool

    def _fit_folds(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self.check_parameters()
        rows = training_rows(self, X, y, sample_weight)
        self.multi_output_ = is_multi_output(rows)
        if isinstance(self.cv, str):
            self._leave_one_out(rows)
        else:
            self.folds_ = summarize_folds(rows, self.cv)
            self._choose_from_folds()
        return self

    def _leave_one_out(self, rows: Rows) -> None:
        """Choose the penalty by the error of each row in a fit without it."""
        raise NotImplementedError

    def _choose_from_folds(self) -> None:
        """Choose the penalty by the errors of `folds_`."""
        raise NotImplementedError

    def _check_mergeable(self, other: Any) -> None:
        check_folds_mergeable(self.cv, other.cv)

    def _set_from_two(self, a: Any, b: Any, combine: Any) -> None:
        if len(a.folds_.parts) != len(b.folds_.parts):
            raise ValueError(
                "The models have different numbers of folds, so they cannot be merged. Fit both with the same cv=."
            )
        self.multi_output_ = a.multi_output_
        self.folds_ = combine(a.folds_, b.folds_)
        self._choose_from_folds()


class RidgeCV(PenaltyCVMixin, LeastSquaresBase):
    """Ridge regression with `alpha` chosen by cross-validation: any number of penalties and folds in one pass.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Penalties to try. The default is 100 of them, from a millionth to a hundred times the mean eigenvalue of X'X.
    cv : int, "loo" or a scikit-learn splitter, default=5
        Number of folds. A hash of the values of a row determines its fold. The folds therefore depend neither on the
        order of the rows nor on their storage, and equal rows share a fold. ``"loo"`` leaves out one row at a time.
    fit_intercept : bool, default=True
        If True, the model has a constant term, which is not penalised.

    Attributes
    ----------
    alpha_ : float
        Penalty with the smallest prediction error.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried.
    cv_errors_ : ndarray of shape (n_alphas,)
        Mean squared prediction error of each penalty on held-out rows.
    fold_errors_ : ndarray of shape (n_alphas, n_folds)
        The same for each fold; NaN for a fold without rows. ``cv_errors_`` is their mean, weighted by rows.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the fit to all rows with ``alpha_``, without the intercept.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant term; 0 if ``fit_intercept=False``.
    covariance_ : ndarray of shape (n_terms, n_terms) or (n_targets, n_terms, n_terms)
        Covariance matrix of the terms, intercept first, for the chosen penalty.
    training_error_ : float or ndarray of shape (n_targets,)
        Mean squared residual.
    folds_ : FoldSummaries
        One summary per fold, unless ``cv="loo"``. Fitted models add and subtract by it.
    summary_ : Gram or QRFactor
        Sums over all rows.
    solution_ : Solution
        Coefficients with rank, condition number, correct digits and a root of their covariance.
    method_ : str
        Method used: ``"gram"`` or ``"qr"``.
    predicts_about_mean_ : bool
        True if predictions subtract the means of the columns first, to keep digits.
    multi_output_ : bool
        True if y had two dimensions, so that each result has one entry per target.
    n_passes_ : int
        Number of passes over the rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    LinearRegression : Least squares, or ridge with a given `alpha`.
    cross_validate : Prediction error of any model on held-out rows.

    Notes
    -----
    ::

        Model       y = b + x'w + e
        Objective   0.5 ||y - b - Xw||^2 + 0.5 alpha ||w||^2, alpha with the smallest error on held-out rows
        Summary     cross-products of [1 | X | y], one per fold; a QR factor if there are few rows
        Optimizer   one eigendecomposition per fold, used for every alpha
        Passes      1   (2 with cv="loo")

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed., sections 3.4
       and 7.10.
    .. [2] G. H. Golub, M. Heath, G. Wahba (1979). Generalized cross-validation as a method for choosing a good ridge
       parameter. Technometrics 21, 215-223.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ly.RidgeCV(alphas=[0.01, 0.1, 1.0, 10.0]).fit(X, y).alpha_
    0.01
    """

    def __init__(self, alphas: Any = None, *, cv: Any = 5, fit_intercept: bool = True) -> None:
        self.alphas = alphas
        self.cv = cv
        self.fit_intercept = fit_intercept

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose alpha, and fit the model to all rows with it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their targets and weights.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            Targets.
        sample_weight : array-like of shape (n_rows,), default=None
            Analytic weights: the variance of a row is σ²/w, and a row with weight 0 is absent.

        Returns
        -------
        RidgeCV
            The fitted estimator.
        """
        return self._fit_folds(X, y, sample_weight)

    def check_parameters(self) -> None:
        check_bool("fit_intercept", self.fit_intercept)

    def _leave_one_out(self, rows: Rows) -> None:
        if self.cv != "loo":
            raise ValueError(f'cv must be a number of folds, "loo" or a splitter, not {self.cv!r}.')
        self.summary_ = summarize(rows, "auto")
        check_has_rows_and_targets(self.summary_)
        if self.summary_.n < 2:
            raise ValueError('n_samples=1, but cv="loo" needs at least two rows with positive weight. Add rows.')
        self.alphas_ = self._alphas(self.summary_)
        errors = leave_one_out_errors(rows, self.summary_, self.alphas_, self.fit_intercept)
        self.fold_errors_ = errors.mean(axis=1)[:, None]
        self._choose(2)

    def _alphas(self, summary: Summary) -> Array:
        if self.alphas is not None:
            return check_several_nonnegative("alphas", self.alphas)
        factors: Array = np.logspace(-6, 2, 100)
        path = RidgePath.of(summary, self.fit_intercept)
        if not path.level > 0:
            return factors
        with np.errstate(over="ignore", under="ignore"):
            alphas = factors * (path.level * path.unit * path.unit)
        if not np.finfo(np.float64).smallest_normal < alphas[0] <= alphas[-1] < np.inf:
            size, remedy = ("small", "Multiply") if alphas[0] < 1 else ("large", "Divide")
            name = column_names(self)[int(np.argmax(summary.scaling.scale[: summary.p]))]
            raise ValueError(
                f"Column {name!r} is so {size} that default penalties exceed the float64 range. {remedy} X by a "
                "constant, or pass alphas=."
            )
        return alphas

    def _choose_from_folds(self) -> None:
        self.summary_ = self.folds_.total()
        self.alphas_ = self._alphas(self.summary_)
        self.fold_errors_ = fold_errors(self.folds_, self.alphas_, self.fit_intercept).mean(axis=2)
        self._choose(1)

    def average_errors(self) -> None:
        """Set the mean squared error over all held-out rows from the errors of the folds."""
        weights = self.folds_.weights if hasattr(self, "folds_") else np.ones(1)
        nonempty = weights > 0
        self.cv_errors_ = self.fold_errors_[:, nonempty] @ (weights[nonempty] / weights.sum())

    def _choose(self, passes: int) -> None:
        self.average_errors()
        if not np.isfinite(self.cv_errors_).any():
            raise ValueError(
                "No penalty has a finite prediction error, so none can be chosen. Squaring y exceeds the float64 "
                "range, or one row has all the weight. Rescale y, or give weight to more rows."
            )
        self.alpha_ = float(self.alphas_[np.nanargmin(self.cv_errors_)])
        self.method_, self.n_passes_ = method_of_summary(self.summary_), passes
        self.set_from_solution(RidgeProblem(self.alpha_, bool(self.fit_intercept)).solve(self.summary_))


def check_folds_mergeable(*cvs: Any) -> None:
    """Raise unless each `cv` is a number of folds: other folds cannot be merged without the rows."""
    for cv in cvs:
        if not isinstance(cv, (int, np.integer)):
            shown = '"loo"' if isinstance(cv, str) else repr(cv)
            raise ValueError(f"Models with cv={shown} cannot be merged without the rows. Use a number of folds.")


def summarize_folds(rows: Rows, cv: Any) -> FoldSummaries:
    """Return one summary per fold, for a number of folds or a scikit-learn splitter."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        K = int(cv)
        if not 2 <= K <= _MAX_FOLDS:
            raise ValueError(f'cv must be at least 2 folds and at most {_MAX_FOLDS}, or "loo", not {K}.')
        folds = rows.reduce(lambda block: FoldSummaries.of(block, K))
    else:
        K, fold_of_row = _folds_of_splitter(rows, cv)
        folds = rows.reduce(lambda block: FoldSummaries.from_assignment(block, fold_of_row, K))
    check_has_rows_and_targets(max(folds.parts, key=lambda part: part.n))
    n = sum(part.n for part in folds.parts)
    if n < K:
        raise ValueError(f"n_samples={n} rows with positive weight leave one of {K} folds empty. Use fewer folds.")
    if sum(part.n > 0 for part in folds.parts) < 2:
        raise ValueError(f'All {n} rows are equal, so they fall into one fold. Use cv="loo".')
    return folds


def _folds_of_splitter(rows: Rows, cv: Any) -> tuple[int, NDArray[np.int_]]:
    """Return how many folds a scikit-learn splitter makes, and in which of them each row is left out."""
    from sklearn.model_selection import check_cv

    if not isinstance(rows, InMemoryRows):
        raise ValueError("cv is a scikit-learn splitter, which needs rows in memory. Pass a number of folds.")
    fold_of_row, times = np.full(len(rows), -1), np.zeros(len(rows), dtype=int)
    try:
        splits = list(check_cv(cv).split(np.empty((len(rows), 0)), rows.y))
        for j, (_, test) in enumerate(splits):
            fold_of_row[test] = j
            np.add.at(times, test, 1)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"cv={cv!r} does not split these rows: {str(error).rstrip('.')}. "
            'Pass a number of folds, "loo" or a splitter.'
        ) from error
    if (times != 1).any():
        i = int(np.argmax(times != 1))
        raise ValueError(
            f"cv must leave each row out exactly once, but row {i} is left out {times[i]} times. Pass another splitter."
        )
    return len(splits), fold_of_row
