"""`ElasticNetCV`: lasso and elastic net with the penalty chosen by cross-validation in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.elastic_net.path import (
    LassoKnots,
    coefficient_path,
    cross_validated_errors,
    grid,
    largest_alpha,
    lasso_knots,
    leave_one_out_errors,
)
from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.solver import summarize
from linearly.dataset.rows.block import Rows
from linearly.kernels.double_double import Array
from linearly.models.base import check_fitted, transactional_fit
from linearly.models.elastic_net_base import ElasticNetBase
from linearly.models.parameter_checks import check_bool, check_choice, check_integer, check_several_nonnegative
from linearly.models.ridge_cv import PenaltyCVMixin

RULES = ("min", "1se")


class ElasticNetCV(PenaltyCVMixin, ElasticNetBase):
    """Lasso or elastic net with `alpha` and `l1_ratio` chosen by cross-validation, in one pass over the rows.

    Parameters
    ----------
    l1_ratio : float or sequence of float, default=1.0
        Shares of the absolute values in the penalty to try: 1 is the lasso.
    alphas : int or sequence of float, default=100
        Penalties to try, or their number for each l1_ratio. A number stands for penalties from the smallest that
        sets all coefficients to 0 down to a thousandth of it.
    cv : int, "loo" or a scikit-learn splitter, default=5
        Number of folds. A hash of the values of a row determines its fold, as in `RidgeCV`. ``"loo"`` leaves out one
        row at a time.
    rule : {"min", "1se"}, default="min"
        Choose the penalty with the smallest error, or the largest penalty whose error is within one standard error of
        it.
    fit_intercept : bool, default=True
        If True, the model has a constant term, which is not penalised.
    standardize : bool, default=False
        If True, the penalty applies to the coefficients of columns divided by their standard deviations, as in glmnet.
    penalty_weights : array-like of shape (n_features,), default=None
        Factor of the penalty of each coefficient. 0 leaves a coefficient without a penalty.

    Attributes
    ----------
    alpha_ : float
        Chosen penalty.
    l1_ratio_ : float
        Chosen share of the absolute values.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratios, n_alphas)
        Penalties tried, in decreasing order.
    cv_errors_ : ndarray of shape (n_alphas,) or (n_l1_ratios, n_alphas)
        Mean squared error on held-out rows.
    cv_std_errors_ : ndarray of shape (n_alphas,) or (n_l1_ratios, n_alphas)
        Standard errors of ``cv_errors_`` over the folds, or over the rows for ``cv="loo"``.
    path_ : ndarray of shape (n_alphas, n_features) or (n_alphas, n_targets, n_features)
        Coefficients of the fit to all rows for each penalty of the chosen l1_ratio.
    knots_ : LassoKnots or None
        The lasso for every alpha, if ``l1_ratio_`` is 1 and there is one target.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the fit to all rows with the chosen penalty, without the intercept.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant term; 0 if ``fit_intercept=False``.
    active_ : ndarray of shape (n_active,)
        Indices of the features with a coefficient other than 0, for any target.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Upper bound on how far the objective is from its minimum.
    kkt_ : float or ndarray of shape (n_targets,)
        Largest violation of the optimality conditions, for columns and targets of norm 1.
    certificate_ : OptimalityCertificate
        Proof of the active set and its signs in rational arithmetic.
    penalty_ : Penalty
        Penalty with its factor for each coefficient.
    summary_ : Gram or QRFactor
        Sums over all rows.
    folds_ : FoldSummaries
        One summary per fold, if `cv` is a number of folds or a splitter.
    method_ : {"gram", "qr", "extended"}
        Kind of summary.
    multi_output_ : bool
        True if y had two dimensions, so that each result has one entry per target.
    n_passes_ : int
        Number of passes over the rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.
    target_names_ : ndarray of shape (n_targets,)
        Names of several targets, if y is a data frame.

    See Also
    --------
    ElasticNet : The model with a given penalty.
    RidgeCV : Ridge regression with its penalty chosen by cross-validation.

    Notes
    -----
    ::

        Model       y = b + x'w + e
        Objective   0.5 ||y - b - Xw||^2 + alpha (l1_ratio ||w||_1 + 0.5 (1 - l1_ratio) ||w||^2)
        Summary     one summary of [1 | X | y] per fold; they add up over blocks of rows
        Optimizer   active set, from the largest penalty down
        Passes      1   (2 with cv="loo")

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear models via
       coordinate descent. Journal of Statistical Software 33.
    .. [2] M. R. Osborne, B. Presnell, B. A. Turlach (2000). A new approach to variable selection in least squares
       problems. IMA Journal of Numerical Analysis 20, 389-403.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ly.ElasticNetCV(rule="1se").fit(X, y)
    >>> model.active_.tolist()
    [1, 2, 3, 6, 8]
    """

    def __init__(
        self,
        l1_ratio: Any = 1.0,
        alphas: Any = 100,
        cv: Any = 5,
        rule: str = "min",
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        penalty_weights: Any = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.penalty_weights = penalty_weights

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty, and fit the model to all rows with it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their targets and weights.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            Targets.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the squared residuals. A row with weight 0 is absent.

        Returns
        -------
        ElasticNetCV
            The fitted estimator.
        """
        return self._fit_folds(X, y, sample_weight)

    def check_parameters(self) -> None:
        ratios = check_several_nonnegative("l1_ratio", self.l1_ratio)
        if (ratios > 1).any():
            raise ValueError(f"l1_ratio must be between 0 and 1, not {self.l1_ratio!r}.")
        if isinstance(self.alphas, Sequence | np.ndarray):
            check_several_nonnegative("alphas", self.alphas)
        else:
            check_integer("alphas", self.alphas, 1)
        check_choice("rule", self.rule, RULES)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("standardize", self.standardize)

    def _choose_from_folds(self) -> None:
        self.summary_ = self.folds_.total()
        self._check_summary()
        _, penalties, alphas = self._candidates()
        errors = [
            error.mean(axis=2)
            for error in cross_validated_errors(self.folds_, penalties, alphas, bool(self.fit_intercept))
        ]
        share = np.where(self.folds_.weights > 0, self.folds_.weights, 0.0)
        share, nonempty = share / share.sum(), share > 0
        means = np.stack([error[:, nonempty] @ share[nonempty] for error in errors])
        unit = power_of_two(np.array([means.max(initial=0.0)]))[0]  # squares of errors may leave float64
        apart = [(e[:, nonempty].T - m) / unit for e, m in zip(errors, means, strict=True)]
        variances = np.stack([share[nonempty] @ a**2 for a in apart]) / (nonempty.sum() - 1)
        self._choose(penalties, alphas, means, unit * np.sqrt(variances), passes=1)

    def _leave_one_out(self, rows: Rows) -> None:
        if self.cv != "loo":
            raise ValueError(f'cv must be a number of folds, "loo" or a splitter, not {self.cv!r}.')
        self.summary_ = summarize(rows, "auto")
        self._check_summary()
        loss, penalties, alphas = self._candidates()
        means, errors = leave_one_out_errors(rows, loss, penalties, alphas, bool(self.fit_intercept))
        self._choose(penalties, alphas, means, errors, passes=2)

    def _candidates(self) -> tuple[QuadraticLoss, list[Any], list[Array]]:
        """Return the loss of all rows, and for each l1_ratio its penalty and the alphas to try."""
        loss = QuadraticLoss.of(self.summary_, bool(self.fit_intercept))
        ratios = check_several_nonnegative("l1_ratio", self.l1_ratio)
        penalties = [self._penalty_of(self.summary_, 1.0, float(ratio)) for ratio in ratios]
        if isinstance(self.alphas, Sequence | np.ndarray):
            tried = np.unique(check_several_nonnegative("alphas", self.alphas))[::-1]
            return loss, penalties, [tried] * len(penalties)
        return loss, penalties, [grid(largest_alpha(loss, penalty) or 1.0, int(self.alphas)) for penalty in penalties]

    @property
    def path_(self) -> NDArray[np.float64]:
        """Coefficients of the fit to all rows for each penalty of the chosen l1_ratio."""
        loss = self._loss()
        tried = np.atleast_2d(self.alphas_)[list(np.atleast_1d(self.l1_ratio)).index(self.l1_ratio_)]
        coef, _ = loss.coefficients(coefficient_path(loss, self.penalty_, tried))
        return coef.transpose(1, 2, 0) if self.coef_.ndim > 1 else coef[:, :, 0].T

    @property
    def knots_(self) -> LassoKnots | None:
        """The lasso for every alpha; None if ``l1_ratio_`` is not 1 or there are several targets."""
        loss = self._loss()
        return lasso_knots(loss, self.penalty_.absolute) if self.l1_ratio_ == 1 and len(loss.total) == 1 else None

    def _loss(self) -> QuadraticLoss:
        check_fitted(self)
        return QuadraticLoss.of(self.summary_, bool(self.fit_intercept))

    def _choose(self, penalties: list[Any], alphas: list[Array], means: Array, spread: Array, passes: int) -> None:
        if not np.isfinite(means).any():
            raise ValueError(
                "No penalty has a finite prediction error, so none can be chosen. Squaring y exceeds the float64 "
                "range. Rescale y."
            )
        best, i = (int(at) for at in np.unravel_index(np.nanargmin(means), means.shape))
        if self.rule == "1se":
            i = int(np.argmax(means[best] <= means[best, i] + spread[best, i]))
        penalty = penalties[best]
        self.alpha_, self.l1_ratio_ = float(alphas[best][i]), float(penalty.l1_ratio)
        several = np.ndim(self.l1_ratio) > 0
        self.alphas_ = np.stack(alphas) if several else alphas[0]
        self.cv_errors_ = means if several else means[0]
        self.cv_std_errors_ = spread if several else spread[0]
        self.n_passes_ = passes
        self.set_from_summary(self.alpha_, self.l1_ratio_)
