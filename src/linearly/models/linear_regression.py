"""`LinearRegression`: ordinary least squares and ridge regression."""

from __future__ import annotations

from operator import add
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from linearly.algorithm.least_squares.adaptive_summary import is_wide_qr, merge, subtract
from linearly.algorithm.least_squares.gradient_descent import gradient_descent
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.sandwich import check_enough_clusters, clustered_meat, robust_meat
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import (
    RidgeProblem,
    Summary,
    check_has_rows_and_targets,
    method_of_summary,
    solve_adaptively,
    summarize,
)
from linearly.models.base import is_multi_output, restore_on_error, training_rows, transactional_fit
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_bool, check_choice, check_groups, check_nonnegative

METHODS = ("auto", "gram", "qr", "extended", "gradient_descent")
COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3", "cluster")


class LinearRegression(LeastSquaresBase):
    """Ordinary least squares or ridge regression with standard errors.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty on the sum of squared residuals. Equals ``Ridge(alpha)`` in scikit-learn and n times lambda in
        glmnet.
    fit_intercept : bool, default=True
        Whether the model has a constant term.
    penalize_intercept : bool, default=False
        Whether the penalty applies to the constant term, too.
    covariance : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="classical"
        Assumption behind the standard errors: equal variances, unequal variances, or rows that are correlated within
        the ``groups`` of `fit`. With ``"cluster"``, t and F tests have one degree of freedom less than there are
        clusters, like R's ``coeftest(df = G - 1)``; there must be more clusters than terms.
    method : {"auto", "gram", "qr", "extended", "gradient_descent"}, default="auto"
        How to solve. ``"auto"`` starts with cross-products (``"gram"``), or with a QR factor if there are no more rows
        than columns. It reads the rows again in extended precision only if fewer than ten digits would be correct.
        ``"gradient_descent"`` is for teaching; it records its steps in ``history_``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients, without the intercept.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant term; 0 if ``fit_intercept=False``.
    covariance_ : ndarray of shape (n_terms, n_terms) or (n_targets, n_terms, n_terms)
        Covariance matrix of the terms, intercept first.
    training_error_ : float or ndarray of shape (n_targets,)
        Mean squared residual.
    summary_ : Gram or QRFactor
        Sums over the rows that the model is solved from. Fitted models add and subtract by it.
    solution_ : Solution
        Coefficients with rank, condition number, correct digits and a root of their covariance.
    method_ : str
        Method used: ``"gram"``, ``"qr"`` or ``"extended"``.
    n_passes_ : int
        Number of passes over the rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.
    target_names_ : ndarray of shape (n_targets,)
        Names of several targets, if y is a data frame.
    n_clusters_ : int
        Number of groups with a row of positive weight, if ``covariance="cluster"``.
    history_ : GradientDescentHistory
        Steps, if ``method="gradient_descent"``.

    See Also
    --------
    RidgeCV : Choose `alpha` by cross-validation in one pass.
    tidy : Coefficients with standard errors, tests and intervals.
    glance : Fit statistics, information criteria and accuracy.
    augment : Fitted values, residuals and influence of each row.

    Notes
    -----
    ::

        Model       y = b + x'w + e
        Objective   0.5 ||y - b - Xw||^2 + 0.5 alpha ||w||^2     (b is not penalised by default)
        Summary     cross-products, or QR factor, of [1 | X | y]; both add up over blocks of rows
        Optimizer   triangular solve
        Passes      1   (2 with a robust covariance or method="extended"; "auto" adds some if digits would be lost)

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed., sections 3.2
       and 3.4.
    .. [2] A. E. Hoerl, R. W. Kennard (1970). Ridge regression: biased estimation for nonorthogonal problems.
       Technometrics 12, 55-67.
    .. [3] J. G. MacKinnon, H. White (1985). Some heteroskedasticity-consistent covariance matrix estimators with
       improved finite sample properties. Journal of Econometrics 29, 305-325.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> print(f"{model.intercept_:.2f} + {model.coef_[0]:.2f} x")
    1.03 + 1.98 x
    """

    # scikit-learn's metadata routing: `groups` meant for GroupKFold are not requested unless set_fit_request does.
    __metadata_request__fit = {"groups": False}  # noqa: RUF012

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        covariance: str = "classical",
        method: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.covariance = covariance
        self.method = method

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their targets and weights.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            Targets.
        sample_weight : array-like of shape (n_rows,), default=None
            Analytic weights, as in R's ``lm``: the variance of a row is σ²/w, and a row of weight 0 is absent. Robust
            covariances weight each row's score, w·r·x, so they are valid for sampling weights, too.
        groups : array-like of shape (n_rows,), default=None
            Cluster of each row, for ``covariance="cluster"``.

        Returns
        -------
        LinearRegression
            The fitted estimator.
        """
        problem = self._check_parameters()
        check_groups(self.covariance, groups)
        rows = training_rows(self, X, y, sample_weight)
        self._multi_output = is_multi_output(rows)
        solved = solve_adaptively(rows, problem, "gram" if self.method == "gradient_descent" else self.method)
        self.summary_, self.method_, self.n_passes_ = solved.summary, solved.method, solved.passes
        self._set_from_summary(solved.solution)
        if self.covariance == "cluster":
            self.meat_, self.n_clusters_ = clustered_meat(rows, self.solution_, groups)
            check_enough_clusters(self.n_clusters_, terms=self.solution_.inverse_root.shape[1])
        elif self.covariance != "classical":
            self.meat_ = robust_meat(rows, self.solution_, self.covariance)
        self.n_passes_ += int(self.covariance != "classical")
        return self

    def _can_stream(self) -> bool:
        if self.covariance != "classical":
            raise AttributeError(
                f"covariance={self.covariance!r} needs all rows at the final coefficients; "
                'partial_fit works with covariance="classical".'
            )
        return True

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model. The result is that of one fit to all rows.

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
        LinearRegression
            The estimator.
        """
        problem = self._check_parameters()
        first = not hasattr(self, "summary_")
        rows = training_rows(self, X, y, sample_weight, reset=first)
        if first:
            method = self.method if self.method in ("auto", "qr", "extended") else "gram"
        else:
            # A QR factor that "auto" kept because rows were few becomes a Gram when they outnumber the columns.
            method = "auto" if self.method == "auto" and is_wide_qr(self.summary_) else self.method_
        more = summarize(rows, method)
        if first:
            check_has_rows_and_targets(more)
            self._multi_output = is_multi_output(rows)
            self.summary_ = more
        else:
            _check_same_targets(self.summary_, more)
            self.summary_ = merge(self.summary_, more) if method == "auto" else add(self.summary_, more)
        for name in ("meat_", "n_clusters_", "history_"):  # of a fit with other parameters
            self.__dict__.pop(name, None)
        self.method_, self.n_passes_ = method_of_summary(self.summary_), getattr(self, "n_passes_", 0) + 1
        self._set_from_summary(problem.solve(self.summary_))
        return self

    def _check_parameters(self) -> RidgeProblem:
        """Return the problem that the parameters describe; raise if one of them is invalid."""
        check_choice("method", self.method, METHODS)
        check_choice("covariance", self.covariance, COVARIANCES)
        return RidgeProblem(
            check_nonnegative("alpha", self.alpha),
            check_bool("fit_intercept", self.fit_intercept),
            check_bool("penalize_intercept", self.penalize_intercept),
        )

    def _check_mergeable(self, other: LinearRegression) -> None:
        if self.covariance != "classical" or other.covariance != "classical":
            raise ValueError('Robust covariances cannot be merged without the rows: use covariance="classical".')

    def _subtract(self, summary: Summary, part: Summary) -> Summary:
        if self.method == "qr" and isinstance(summary, QRFactor) and summary.n > summary.p:
            raise ValueError('Rows cannot be removed from a triangle: fit with method="gram" to subtract models.')
        return subtract(summary, part)

    def _set_from_two(self, a: LinearRegression, b: LinearRegression, combine: Any) -> None:
        summaries = a.summary_, b.summary_
        if type(a.summary_) is not type(b.summary_):
            if "qr" in (a.method, b.method):
                raise ValueError(
                    'These models keep different summaries. Fit both with the same method= ("gram" or "qr").'
                )
            summaries = a.summary_.gram(), b.summary_.gram()  # the sum has no more correct digits than the worse one
        _check_same_targets(*summaries)
        self._multi_output = a._multi_output
        self.summary_ = combine(*summaries)
        self.method_, self.n_passes_ = method_of_summary(self.summary_), max(a.n_passes_, b.n_passes_)
        self._set_from_summary(self._check_parameters().solve(self.summary_))

    def _set_from_summary(self, solution: Solution) -> None:
        if self.method == "gradient_descent":
            solution, self.history_ = gradient_descent(self.summary_.select(None, self.fit_intercept), solution)
        super()._set_from_summary(solution)


def _check_same_targets(a: Summary, b: Summary) -> None:
    if len(a.scaling.scale) != len(b.scaling.scale):
        raise ValueError("These models have different numbers of targets.")
