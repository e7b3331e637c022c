"""Least squares and ridge: `LinearRegression`."""

from __future__ import annotations

from operator import add
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

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
from linearly.dataset.rows.block import Rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.models.base import (
    check_same_settings,
    is_multi_output,
    merge_feature_names,
    restore_on_error,
    settings_of,
    training_rows,
    transactional_fit,
)
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_bool, check_choice, check_groups, check_nonnegative

METHODS = ("auto", "gram", "qr", "extended", "gradient_descent")
COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3", "cluster")


class LinearRegression(LeastSquaresBase):
    """Least squares, or ridge with ``alpha`` > 0, with everything needed to say how sure it is.

        Model class   ŷ = b + x'w
        Objective     ½‖y − ŷ‖² + ½α‖w‖²          (S0, eq. 2; b is not penalised)
        Summary       Gram or Triangle of [1 | X | y]
        Optimizer     back-substitution
        Passes        1   (2 with covariance="HC…" or method="extended"; auto takes more where digits would be lost)

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty, the notes' λ (scikit-learn's ``Ridge.alpha``; n times glmnet's λ).
    fit_intercept : bool, default=True
        Whether the model has a constant term.
    penalize_intercept : bool, default=False
        Penalise the constant term too, as S0 is written.
    covariance : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="classical"
        What the standard errors assume: equal variances, unequal ones, or rows that are alike within
        ``fit(..., groups=)``. With ``"cluster"``, t and F tests have one degree of freedom less than there are
        clusters, as R's ``coeftest(df = G - 1)``; there must be more clusters than terms.
    method : {"auto", "gram", "qr", "extended", "gradient_descent"}, default="auto"
        ``auto`` starts with the fast Gram, or where rows are no more than columns with a triangle, and takes a further
        pass in double-double only where fewer than ten digits would remain. ``qr`` folds a triangle, ``exact`` measures
        its digits. ``gradient_descent`` is S0's optimizer, for teaching; it leaves its steps in ``history_``.

    Attributes
    ----------
    coef_, intercept_ : the fitted w and b (one row a target if y has several).
    target_names_ : what several targets are called, if y was a data frame of them.
    training_error_ : mean squared residual, S1's E_in.
    summary_ : the Gram or Triangle the model was read from; fitted models add and subtract by it.
    solution_ : coefficients with rank, condition, digits to trust and the root of their covariance.
    method_, n_passes_ : how the fit was done, in how many passes over the rows.
    n_clusters_ : groups with a row of positive weight, if ``covariance="cluster"``.
    history_ : steps of gradient descent, when that was the method.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> print(f"{model.intercept_:.2f} + {model.coef_[0]:.2f} x")
    1.03 + 1.98 x
    """

    # scikit-learn's metadata routing: `groups` meant for GroupKFold are not asked for unless set_fit_request says so.
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
        """Fit to rows: arrays, sparse matrices, data frames, or anything that is already `Rows`.

        ``sample_weight`` is analytic, as in R's lm: a row's variance is σ²/w, and weight 0 means the row is absent.
        Robust covariances weigh each row's score, w·r·x, so they are right for sampling weights too. ``groups``
        (one label per row) goes with ``covariance="cluster"``.
        """
        ask = self._ask()
        check_groups(self.covariance, groups)
        rows = training_rows(self, X, y, sample_weight)
        self._multi_output = is_multi_output(rows)
        climbed = solve_adaptively(rows, ask, "gram" if self.method == "gradient_descent" else self.method)
        self.summary_, self.method_, self.n_passes_ = climbed.summary, climbed.method, climbed.passes
        self._set_from_summary(climbed.solution)
        if self.covariance != "classical":
            self._read_meat(rows, groups)
            self.n_passes_ += 1
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
        """Learn from more rows, as if they had been there from the start.

        After the first call, rows that all have weight 0 are absent, and change nothing.
        """
        ask = self._ask()
        first = not hasattr(self, "summary_")
        rows = training_rows(self, X, y, sample_weight, reset=first)
        if first:
            method = self.method if self.method in ("auto", "qr", "extended") else "gram"
        else:
            # A triangle that auto kept because rows were few becomes a Gram when they outnumber the columns.
            method = "auto" if self.method == "auto" and is_wide_qr(self.summary_) else self.method_
        more = summarize(rows, method)
        if first:
            check_has_rows_and_targets(more)
            self._multi_output = is_multi_output(rows)
        self.summary_ = more if first else self._joined(self.summary_, more, merge if method == "auto" else add)
        for name in ("meat_", "n_clusters_", "history_"):  # of a fit with other parameters
            self.__dict__.pop(name, None)
        self.method_, self.n_passes_ = method_of_summary(self.summary_), getattr(self, "n_passes_", 0) + 1
        self._set_from_summary(ask.solve(self.summary_))
        return self

    def __add__(self, other: Any) -> LinearRegression:
        """The model of both sets of rows, without either."""
        return self._combined(other, add)

    def __sub__(self, other: Any) -> LinearRegression:
        """The model without the other's rows: refused where they were never part of it."""
        kept = getattr(self, "summary_", None)
        if self.method == "qr" and isinstance(kept, QRFactor) and kept.n > kept.p:
            raise ValueError('Rows cannot be removed from a triangle: fit with method="gram" to subtract models.')
        return self._combined(other, subtract)

    @single_threaded_blas()
    def _combined(self, other: Any, combine: Any) -> LinearRegression:
        if not isinstance(other, LinearRegression):
            return NotImplemented  # type: ignore[no-any-return]
        check_is_fitted(self)
        check_is_fitted(other)
        if self.covariance != "classical" or other.covariance != "classical":
            raise ValueError('Robust covariances cannot be merged without the rows: use covariance="classical".')
        check_same_settings(settings_of(self), settings_of(other))
        result: LinearRegression = clone(self)
        merge_feature_names(result, self, other)
        result._multi_output = self._multi_output
        a, b = self.summary_, other.summary_
        if type(a) is not type(b):
            if "qr" in (self.method, other.method):
                told = 'These models keep different summaries. Fit both with the same method= ("gram" or "qr").'
                raise ValueError(told)
            a, b = a.gram(), b.gram()  # the sum knows no more digits than the poorer of the two
        result.summary_ = self._joined(a, b, combine)
        result.method_ = method_of_summary(result.summary_)
        result.n_passes_ = max(self.n_passes_, other.n_passes_)
        result._set_from_summary(result._ask().solve(result.summary_))
        return result

    @staticmethod
    def _joined(a: Summary, b: Summary, combine: Any) -> Summary:
        if len(a.scaling.scale) != len(b.scaling.scale):
            raise ValueError("These models have different numbers of targets.")
        return combine(a, b)

    def _ask(self) -> RidgeProblem:
        check_choice("method", self.method, METHODS)
        check_choice("covariance", self.covariance, COVARIANCES)
        return RidgeProblem(
            check_nonnegative("alpha", self.alpha),
            check_bool("fit_intercept", self.fit_intercept),
            check_bool("penalize_intercept", self.penalize_intercept),
        )

    def _set_from_summary(self, solution: Solution) -> None:
        if self.method == "gradient_descent":
            solution, self.history_ = gradient_descent(self.summary_.select(None, self.fit_intercept), solution)
        super()._set_from_summary(solution)

    def _read_meat(self, rows: Rows, groups: Any) -> None:
        if self.covariance == "cluster":
            self.meat_, self.n_clusters_ = clustered_meat(rows, self.solution_, groups)
            check_enough_clusters(self.n_clusters_, terms=self.solution_.inverse_root.shape[1])
        else:
            self.meat_ = robust_meat(rows, self.solution_, self.covariance)
