"""`ElasticNet`: lasso and elastic net with a given penalty, and a proof that the coefficients are optimal."""

from __future__ import annotations

from typing import Any, Self

from linearly.algorithm.least_squares.adaptive_summary import merge, subtract
from linearly.algorithm.least_squares.solver import summarize
from linearly.models.base import is_multi_output, restore_on_error, training_rows, transactional_fit
from linearly.models.elastic_net_base import ElasticNetBase
from linearly.models.linear_regression import check_same_targets
from linearly.models.parameter_checks import check_bool, check_fraction, check_nonnegative


class ElasticNet(ElasticNetBase):
    """Lasso or elastic net regression, solved exactly from one pass over the rows.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty on the sum of squared residuals: n times ``alpha`` of scikit-learn's ``Lasso``, and n times lambda of
        glmnet. n is the sum of the weights.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty: 1 is the lasso, 0 is ridge.
    fit_intercept : bool, default=True
        If True, the model has a constant term, which is not penalised.
    standardize : bool, default=False
        If True, the penalty applies to the coefficients of columns divided by their standard deviations (divisor n), as
        in glmnet. Coefficients are in the user's units either way.
    penalty_weights : array-like of shape (n_features,), default=None
        Factor of the penalty of each coefficient. 0 leaves a coefficient without a penalty. They are not rescaled.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients, without the intercept.
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
        Sums over the rows that the model is solved from. Fitted models add and subtract by it.
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
    ElasticNetCV : Choose `alpha` and `l1_ratio` by cross-validation in one pass.
    best_subset : The best model of each size, with proof.
    selective_intervals : Intervals that account for the selection.

    Notes
    -----
    ::

        Model       y = b + x'w + e
        Objective   0.5 ||y - b - Xw||^2 + alpha (l1_ratio ||w||_1 + 0.5 (1 - l1_ratio) ||w||^2)
        Summary     cross-products, or QR factor, of [1 | X | y]; both add up over blocks of rows
        Optimizer   active set: exact up to rounding, no tolerance
        Passes      1

    Classical standard errors are wrong after a selection, so `tidy` shows none.

    References
    ----------
    .. [1] R. Tibshirani (1996). Regression shrinkage and selection via the lasso. JRSS B 58, 267-288.
    .. [2] H. Zou, T. Hastie (2005). Regularization and variable selection via the elastic net. JRSS B 67, 301-320.
    .. [3] H. Lee, A. Battle, R. Raina, A. Y. Ng (2007). Efficient sparse coding algorithms. NIPS 19.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ly.ElasticNet(alpha=200.0).fit(X, y)
    >>> model.active_.tolist()
    [2, 3, 6, 8]
    >>> model.certificate_.check()
    True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        l1_ratio: float = 1.0,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        penalty_weights: Any = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.penalty_weights = penalty_weights

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their targets and weights.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            Targets. The penalty applies to each target on its own.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the squared residuals. A row with weight 0 is absent.

        Returns
        -------
        ElasticNet
            The fitted estimator.
        """
        self.check_parameters()
        rows = training_rows(self, X, y, sample_weight)
        self.multi_output_ = is_multi_output(rows)
        self.summary_, self.n_passes_ = summarize(rows, "auto"), 1
        self._check_summary()
        self._solve()
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model. The result is the same as one fit to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            Targets.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights as in `fit`. After the first call, rows that all have weight 0 change nothing.

        Returns
        -------
        ElasticNet
            The estimator.
        """
        self.check_parameters()
        first = not hasattr(self, "summary_")
        rows = training_rows(self, X, y, sample_weight, reset=first)
        more = summarize(rows, "auto")
        if first:
            self.multi_output_ = is_multi_output(rows)
        else:
            check_same_targets(self.summary_, more)
            more = merge(self.summary_, more)
        self.summary_, self.n_passes_ = more, getattr(self, "n_passes_", 0) + 1
        self._solve()
        return self

    def check_parameters(self) -> None:
        check_nonnegative("alpha", self.alpha)
        check_fraction("l1_ratio", self.l1_ratio)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("standardize", self.standardize)

    def _solve(self) -> None:
        self._check_summary(1)
        self.set_from_summary(float(self.alpha), float(self.l1_ratio))

    def _subtract(self, summary: Any, part: Any) -> Any:
        return subtract(summary, part)

    def _set_from_two(self, a: ElasticNet, b: ElasticNet, combine: Any) -> None:
        check_same_targets(a.summary_, b.summary_)
        self.multi_output_ = a.multi_output_
        summaries = a.summary_, b.summary_
        if type(a.summary_) is not type(b.summary_):
            summaries = a.summary_.gram(), b.summary_.gram()
        self.summary_, self.n_passes_ = combine(*summaries), max(a.n_passes_, b.n_passes_)
        self._solve()
