"""`LinearRegression`: ordinary least squares and ridge regression."""

from __future__ import annotations

from operator import add
from typing import Any, Self

from linearly.algorithm.least_squares.adaptive_summary import is_wide_qr, merge, subtract
from linearly.algorithm.least_squares.covariance_names import CLUSTERED, COVARIANCES
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.rounding_bounds import MIN_DIGITS
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import (
    RidgeProblem,
    Summary,
    check_has_rows_and_targets,
    digits_of_standard_errors,
    method_of_summary,
    solve_adaptively,
    summarize,
    warn_imprecise_errors,
)
from linearly.dataset.rows.block import Rows
from linearly.models.base import (
    check_feature_names,
    column_names,
    is_multi_output,
    restore_on_error,
    training_rows,
    transactional_fit,
)
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_bool, check_choice, check_groups_given, check_lags, check_nonnegative
from linearly.models.sklearn_bases import available_if

_ROBUST_ATTRIBUTES = ("meat_", "n_clusters_", "small_sample_", "cluster_sums_", "lags_")
METHODS = ("auto", "gram", "qr", "extended", "gradient_descent")


class LinearRegression(LeastSquaresBase):
    """Ordinary least squares or ridge regression with standard errors.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty on the sum of squared residuals. Equals ``Ridge(alpha)`` in scikit-learn and n times lambda in
        glmnet.
    fit_intercept : bool, default=True
        If True, the model has a constant term.
    penalize_intercept : bool, default=False
        If True, the constant term is penalised, too.
    covariance : {"classical", "HC0", "HC1", "HC2", "HC3", "HAC", "CR0", "CR1", "CR2", "CR3", "cluster"}, \
default="classical"
        Assumption about the errors that the standard errors are based on. Variances are equal (``"classical"``) or
        unequal (HC). Errors are correlated between neighbouring rows (HAC), or within the ``groups`` of `fit` (CR).
        ``"cluster"`` is CR1.
        HC2, HC3, CR2 and CR3 correct for small samples: t and F tests have Satterthwaite's degrees of freedom. CR0 and
        CR1 have G − 1 degrees of freedom for G clusters, as in R's ``coeftest(df = G - 1)``. There must be more
        clusters than terms.
    lags : int, default=None
        With ``covariance="HAC"``, the largest distance between rows whose errors are correlated. None is
        ``int(4 * (n / 100) ** (2 / 9))``.
    method : {"auto", "gram", "qr", "extended", "gradient_descent"}, default="auto"
        Solution method. ``"auto"`` starts with cross-products (``"gram"``), or with a QR factor if there are no more
        rows than columns. It rereads the rows in extended precision only if fewer than ten digits would be correct.
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
    target_names_ : ndarray of shape (n_targets,)
        Names of several targets, if y is a data frame.
    n_clusters_ : int
        Number of groups with a row of positive weight, if the covariance is clustered. With two columns of groups, the
        smaller of the two numbers.
    lags_ : int
        Number of lags used, if ``covariance="HAC"``.
    small_sample_ : SmallSample
        Degrees of freedom of the tests, if the covariance is HC2, HC3, CR2 or CR3 and ``alpha`` is 0.
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
    .. [4] R. M. Bell, D. F. McCaffrey (2002). Bias reduction in standard errors for linear regression with multi-stage
       samples. Survey Methodology 28, 169-181.
    .. [5] W. K. Newey, K. D. West (1987). A simple, positive semi-definite, heteroskedasticity and autocorrelation
       consistent covariance matrix. Econometrica 55, 703-708.

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
        lags: int | None = None,
        method: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.covariance = covariance
        self.lags = lags
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
            Analytic weights, as in R's ``lm``: the variance of a row is σ²/w, and a row with weight 0 is absent. Robust
            covariances weight each row's score, w·r·x, so they are valid for sampling weights, too.
        groups : array-like of shape (n_rows,) or (n_rows, 2), default=None
            Cluster of each row, or two clusters, for a clustered covariance.

        Returns
        -------
        LinearRegression
            The fitted estimator.
        """
        problem = self.check_parameters()
        check_groups_given(self.covariance, groups)
        rows = training_rows(self, X, y, sample_weight)
        self.multi_output_ = is_multi_output(rows)
        solved = solve_adaptively(rows, problem, "gram" if self.method == "gradient_descent" else self.method)
        self.summary_, self.method_, self.n_passes_ = solved.summary, solved.method, solved.passes
        self.set_from_solution(solved.solution)
        if self.covariance != "classical":
            self._set_robust_covariance(rows, groups)
            self.n_passes_ += 1
        return self

    def _set_robust_covariance(self, rows: Rows, groups: Any) -> None:
        # These take a sixth of the time of a process's first fit to import.
        from linearly.algorithm.least_squares.clusters import check_enough_clusters, clustered_meat
        from linearly.algorithm.least_squares.hac import default_lags, hac_meat
        from linearly.algorithm.least_squares.sandwich import limit_error_digits, robust_meat

        solution = self.solution_
        if self.covariance in CLUSTERED:
            found: Any = clustered_meat(rows, solution, groups, self.covariance)
            self.n_clusters_ = found.n_clusters
            if found.sums is not None:
                self.cluster_sums_ = found.sums
            check_enough_clusters(self.n_clusters_, solution.inverse_root.shape[1], self.covariance)
        elif self.covariance == "HAC":
            self.lags_ = default_lags(solution.n) if self.lags is None else int(self.lags)
            found = hac_meat(rows, solution, self.lags_)
        else:
            found = robust_meat(rows, solution, self.covariance)
        self.meat_, small_sample = found.meat, found.small_sample
        self.solution_ = limit_error_digits(solution, found.meat, found.rounding)
        if self.solution_ is not solution and digits_of_standard_errors(solution) >= MIN_DIGITS:
            warn_imprecise_errors(self.solution_, self.method_)
        if small_sample is not None and solution.alpha == 0:
            self.small_sample_ = small_sample
            self._warn_unknown_variances()

    def _can_stream(self) -> bool:
        if self.covariance != "classical":
            raise AttributeError(
                f"covariance={self.covariance!r} needs all rows at the final coefficients, so partial_fit cannot "
                'compute it. Use covariance="classical".'
            )
        return True

    @available_if(_can_stream)
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
        LinearRegression
            The estimator.
        """
        problem = self.check_parameters()
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
            self.multi_output_ = is_multi_output(rows)
            self.summary_ = more
        else:
            check_same_targets(self.summary_, more)
            self.summary_ = merge(self.summary_, more) if method == "auto" else add(self.summary_, more)
        for name in (*_ROBUST_ATTRIBUTES, "history_"):  # of a fit with other parameters
            self.__dict__.pop(name, None)
        self.method_, self.n_passes_ = method_of_summary(self.summary_), getattr(self, "n_passes_", 0) + 1
        self.set_from_solution(problem.solve(self.summary_))
        return self

    def check_parameters(self) -> RidgeProblem:
        """Return the problem that the parameters describe; raise if one of them is invalid."""
        check_choice("method", self.method, METHODS)
        check_choice("covariance", self.covariance, COVARIANCES)
        check_lags(self.covariance, self.lags)
        return RidgeProblem(
            check_nonnegative("alpha", self.alpha),
            check_bool("fit_intercept", self.fit_intercept),
            check_bool("penalize_intercept", self.penalize_intercept),
        )

    def _check_mergeable(self, other: LinearRegression) -> None:
        if self.covariance != "classical" or other.covariance != "classical":
            raise ValueError('Robust covariances cannot be merged without the rows. Use covariance="classical".')

    def _subtract(self, summary: Summary, part: Summary) -> Summary:
        if self.method == "qr" and isinstance(summary, QRFactor) and summary.n > summary.p:
            raise ValueError('Rows cannot be removed from a QR triangle. Fit with method="gram" to subtract models.')
        return subtract(summary, part)

    def from_columns(self, fitted: Any, columns: Any) -> Self:
        """Fit the model to some columns of another fitted model, from its summary and without its rows.

        Parameters
        ----------
        fitted : estimator
            A fitted model with a ``summary_`` for one target.
        columns : array-like of int
            Indices of the columns.

        Returns
        -------
        LinearRegression
            The fitted estimator.
        """
        problem = self.check_parameters()
        names = column_names(fitted)
        check_feature_names(self, tuple(names[j] for j in columns), reset=True)
        self.summary_, self.multi_output_ = fitted.summary_.select(columns), False
        self.method_, self.n_passes_ = method_of_summary(self.summary_), fitted.n_passes_
        self.set_from_solution(problem.solve(self.summary_))
        return self

    def _set_from_two(self, a: LinearRegression, b: LinearRegression, combine: Any) -> None:
        summaries = a.summary_, b.summary_
        if type(a.summary_) is not type(b.summary_):
            if "qr" in (a.method, b.method):
                raise ValueError(
                    'The models contain different summaries. Fit both with the same method= ("gram" or "qr").'
                )
            summaries = a.summary_.gram(), b.summary_.gram()  # the sum has no more correct digits than the worse one
        check_same_targets(*summaries)
        self.multi_output_ = a.multi_output_
        self.summary_ = combine(*summaries)
        self.method_, self.n_passes_ = method_of_summary(self.summary_), max(a.n_passes_, b.n_passes_)
        self.set_from_solution(self.check_parameters().solve(self.summary_))

    def set_from_solution(self, solution: Solution) -> None:
        if self.method == "gradient_descent":
            from linearly.algorithm.least_squares.gradient_descent import gradient_descent  # for teaching only

            solution, self.history_ = gradient_descent(self.summary_.select(None, self.fit_intercept), solution)
        super().set_from_solution(solution)


def check_same_targets(a: Summary, b: Summary) -> None:
    """Raise if two summaries have different numbers of targets."""
    if len(a.scaling.scale) != len(b.scaling.scale):
        raise ValueError("The models have different numbers of targets. Fit both to the same targets.")
