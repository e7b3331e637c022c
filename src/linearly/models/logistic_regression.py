"""`LogisticRegression`: two classes or K, with standard errors and proofs of separation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.algorithm.least_squares.clusters import check_enough_clusters
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.covariance_names import COVARIANCES
from linearly.algorithm.least_squares.hac import default_lags
from linearly.algorithm.least_squares.identification import is_estimable
from linearly.algorithm.least_squares.rounding_bounds import SAFE, digits_of_error, relative_error
from linearly.algorithm.least_squares.whitening import Whitening
from linearly.algorithm.logistic.aliasing import Aliasing
from linearly.algorithm.logistic.objective import Logistic
from linearly.algorithm.logistic.optimizers import History, OptimizeResult
from linearly.algorithm.logistic.sandwich import score_meat
from linearly.algorithm.logistic.solver import Information, LogisticSolver
from linearly.algorithm.separability.certificate import Certificate
from linearly.dataset.rows.block import Block, InMemoryRows, Rows, is_rows
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.dataset.rows.views import MappedRows, PassCounter
from linearly.exceptions import (
    CovarianceNotAvailableError,
    PrecisionWarning,
    SeparationWarning,
    warn_at_caller,
    warn_not_converged,
)
from linearly.formatting import describe_dependent
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array, to_float64
from linearly.kernels.matrices import is_sparse
from linearly.models import from_inference
from linearly.models.base import check_fitted, collect_rows, column_names, transactional_fit
from linearly.models.class_survey import ClassSurvey
from linearly.models.label_encoding import check_no_empty_class, rows_with_labels
from linearly.models.parameter_checks import (
    check_bool,
    check_choice,
    check_fraction,
    check_groups_given,
    check_lags,
    check_nonnegative,
)
from linearly.models.score_classifier import (
    ScoreClassifier,
    element_aligned,
    features_of,
    is_multilabel,
    linear_softmax,
    log_softmax,
    multilabel_targets,
    softmax,
)
from linearly.models.separation import decide_separation, unbounded_terms
from linearly.models.sklearn_bases import clone

if TYPE_CHECKING:
    from linearly.table import Summary, Table

SOLVERS = ("auto", "newton", "lbfgs", "gradient_descent")
_MIN_DIGITS = 6.0  # more than any table shows
_MAX_COPIED_CELLS = 2**21  # numbers that are copied as float64, row by row, if X is not stored so: 16 MB
_MAX_COLLECTED_CELLS = 2**24  # numbers that may be collected from a cluster or a file to prove separation: 128 MB


class LogisticRegression(ScoreClassifier):
    """Logistic regression by maximum likelihood, with or without penalty, for two classes or K.

    Parameters
    ----------
    alpha : float, default=0.0
        Penalty on the sum of the losses: 1/C in scikit-learn, and n times lambda of glmnet. The intercepts are not
        penalised.
    l1_ratio : float, default=0.0
        Share of the absolute values in the penalty: 0 is ridge, 1 is the lasso. Above 0, some coefficients are
        exactly 0, and standard errors are not available.
    bias_reduction : {None, "firth"}, default=None
        ``"firth"`` maximises the likelihood with Jeffreys' prior: less bias, and finite estimates on separable data.
    reference : label or None, default=None
        With three classes or more, the class whose logit is 0. None chooses the last class. ``"last"`` does the same,
        unless a class has that name. With two classes, it is always ``classes_[0]``.
    solver : {"auto", "newton", "lbfgs", "gradient_descent"}, default="auto"
        Optimizer. ``"auto"`` is Newton up to about 300 coefficients, and a quasi-Newton method beyond. If a Hessian
        over rows in memory is expensive, only the last steps are Newton steps. ``"gradient_descent"`` is for teaching.
    fit_intercept : bool, default=True
        If True, the logits have a constant term.
    covariance : {"classical", "HC0", "HC1", "HC2", "HC3", "HAC", "CR0", "CR1", "CR2", "CR3", "cluster"}, \
default="classical"
        Assumption that the standard errors are based on. ``"classical"`` assumes that the model is correct. The others
        only assume that rows (HC), distant rows (HAC) or the ``groups`` of `fit` (CR) are independent. ``"cluster"``
        is CR1. HC2 and HC3 require two classes. With CR0 and CR1, Wald
        tests are t tests with G − 1 degrees of freedom for G clusters, as in R's ``coeftest(df = G - 1)``. There must
        be more clusters than coefficients. With CR2 and CR3 they have Satterthwaite's degrees of freedom.
    lags : int, default=None
        With ``covariance="HAC"``, the largest distance between rows that are dependent. None is
        ``int(4 * (n / 100) ** (2 / 9))``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order; for multilabel targets, the column numbers.
    coef_ : ndarray of shape (1, n_features), (n_classes - 1, n_features) or (n_labels, n_features)
        Coefficients of the logits; for two classes, of the log-odds of ``classes_[1]``.
    intercept_ : ndarray of shape (1,), (n_classes - 1,) or (n_labels,)
        Constant terms; 0 if ``fit_intercept=False``.
    covariance_ : ndarray of shape (n_terms, n_terms)
        Covariance matrix of the terms, logit by logit, intercept first.
    reference_ : label
        Class whose logit is 0.
    history_ : History
        Loss, gradient norm and step of every pass.
    converged_ : bool
        True if the optimizer reached the maximum.
    n_passes_ : int
        Number of passes over the rows.
    n_rows_ : int
        Number of rows with positive weight.
    condition_ : float
        Condition number of the scaled design.
    digits_ : float
        Correct decimal digits of the standard errors.
    n_clusters_ : int
        Number of groups with a row of positive weight, if the covariance is clustered. With two columns of groups, the
        smaller of the two numbers.
    lags_ : int
        Number of lags used, if ``covariance="HAC"``.
    small_sample_ : SmallSample
        Degrees of freedom of the tests, if the covariance is CR2 or CR3 and the fit has no penalty.
    log_likelihood_ : float
        Log-likelihood of the fit, without penalty.
    null_log_likelihood_ : float
        Log-likelihood of the class shares alone, or of an intercept and the offset.
    saturated_log_likelihood_ : float
        Log-likelihood of the saturated model, which predicts the observed shares of each row. Only set if the target is
        ``cbind(successes, failures)`` or a proportion.
    log_coefficients_ : float
        Sum of the logarithms of the binomial coefficients, for targets of counts or proportions.
    column_means_ : ndarray of shape (n_features,)
        Means of the features, if the model was fitted to a table.
    has_offset_ : bool
        True if the fit had an offset.
    separation_ : Certificate or None
        Proof of separation, if the classes are separable.
    multilabel_ : bool
        True if y had one column per label.
    class_weights_ : ndarray of shape (n_classes,)
        Sum of the weights of each class.
    class_coef_, class_constants_ : ndarray of shape (n_features, n_classes) and (n_classes,)
        Coefficients and constant terms of all classes, 0 for the reference.
    inverse_root_ : ndarray of shape (n_terms, rank) or None
        R, in ``covariance_ = R @ inner_covariance_ @ R.T``; None if the solver forms no Hessian.
    inner_covariance_ : ndarray of shape (rank, rank) or None
        Covariance in the coordinates of the root; None for the identity.
    aliased_ : tuple of int
        Columns that are linear combinations of the columns before them.
    null_direction_ : ndarray of shape (n_features,) or (1 + n_features,), or None
        Direction in which the rows do not determine the coefficients. None if they determine all of them.
    center_ : ndarray of shape (n_features,) or None
        Means of the columns, if some are aliased.
    unknown_terms_ : ndarray of bool of shape (n_terms,) or None
        Terms that the rows determine but that have no finite estimate. None if there are none or if all are separated.
    identified_terms : ndarray of bool of shape (n_terms,)
        Terms with a finite estimate that the rows determine.
    selects : bool
        True if the penalty sets coefficients to 0, because alpha and l1_ratio are above 0.
    estimators_ : list of LogisticRegression
        One model per label, for multilabel targets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    tidy : Coefficients with standard errors, tests and intervals.
    odds_ratios : Exponentials of the coefficients, with intervals.
    profile_intervals : Intervals by profile likelihood.
    likelihood_ratio_tests : Test of each term by refitting.
    separability : Prove whether a hyperplane separates the classes.

    Notes
    -----
    ::

        Model       log P(k|x) / P(reference|x) = b_k + x'w_k, k = 1 ... K - 1
        Objective   -sum of log P(y|x) + alpha (l1_ratio ||w||_1 + 0.5 (1 - l1_ratio) ||w||^2)     (without b)
        Summary     loss, gradient and Hessian at the current w, which add up over blocks of rows
        Optimizer   Newton (IRLS), proximal if l1_ratio > 0; a preconditioned quasi-Newton method for many coefficients
        Passes      n_passes_, usually 5 to 9: 1 for the classes and the size of the columns, 1 per Newton step;
                    10 to 30 shorter ones if many columns make a Hessian expensive

    If the classes are separable, maximum likelihood has no finite solution. The fit proves it, warns with a
    `SeparationWarning`, and gives no standard errors for terms without a finite estimate.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed., section 4.4.
    .. [2] A. Albert, J. A. Anderson (1984). On the existence of maximum likelihood estimates in logistic regression
       models. Biometrika 71, 1-10.
    .. [3] D. Firth (1993). Bias reduction of maximum likelihood estimates. Biometrika 80, 27-38.
    .. [4] J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear models via
       coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 0, 1])
    >>> print(f"{model.intercept_[0]:.3f} + {model.coef_[0, 0]:.3f} x")
    -2.804 + 1.090 x
    """

    _linear_in_columns = True
    _private_state = ("_column_labels", "_information")
    # scikit-learn's metadata routing: `groups` meant for GroupKFold are not requested unless set_fit_request does.
    __metadata_request__fit = {"groups": False}  # noqa: RUF012

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        l1_ratio: float = 0.0,
        bias_reduction: str | None = None,
        reference: Any = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        covariance: str = "classical",
        lags: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.bias_reduction = bias_reduction
        self.reference = reference
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.covariance = covariance
        self.lags = lags

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their labels and weights.
        y : array-like of shape (n_rows,) or (n_rows, n_labels), default=None
            Labels; or 0 and 1, one column and one model per label.
        sample_weight : array-like of shape (n_rows,), default=None
            Factors for the log-likelihoods of rows. A row with weight 2 counts twice, and a row with weight 0 is
            absent. Classical standard errors count rows in this way, too. For robust standard errors, weights are
            sampling weights: each row counts once, and multiplying all weights by a constant changes nothing.
        groups : array-like of shape (n_rows,) or (n_rows, 2), default=None
            Cluster of each row, or two clusters, for a clustered covariance.

        Returns
        -------
        LogisticRegression
            The fitted estimator.
        """
        self.check_parameters()
        check_groups_given(self.covariance, groups)
        self.multilabel_ = is_multilabel(y)
        if self.multilabel_:
            return self._fit_labels(X, y, sample_weight, groups)
        rows, scaling = self._survey_classes(X, y, sample_weight)
        counted = PassCounter(rows)
        objective = Logistic(len(self.classes_), self.reference_code(), scaling, bool(self.fit_intercept))
        l1 = float(self.alpha) * float(self.l1_ratio)
        solver = LogisticSolver(objective, float(self.alpha) - l1, self.class_weights_, l1)
        found = solver.solve(counted, self.solver, subsample_source=rows, bias_reduction=self.bias_reduction)
        suspected = found.separation_suspected and self.alpha == 0 and self.bias_reduction is None
        verdict, certificate = self._verdict(X, y, sample_weight, counted) if suspected else ("overlapping", None)
        if suspected and verdict == "overlapping" and not found.converged:
            found = solver.resume_newton(counted, found)
        if verdict != "overlapping":  # the last step, though small, may have led far: take the loss at its end
            loss = counted.reduce(objective.evaluator(found.B, False)).loss
            found = replace(found, last=replace(found.last, loss=loss))
        first = int(self.fit_intercept)
        aliasing = None if found.design is None else Aliasing.of(found.design, objective.scaling, bool(first))
        white, flat = None, np.zeros(found.B.size)
        if found.last.hessian is not None and l1 == 0:
            dropped = [] if aliasing is None else [first + j for j in aliasing.aliased]
            white, flat = solver.information(counted, found, dropped, self.bias_reduction)
        self._set_from_solution(objective, found, aliasing, white, flat)
        if hasattr(self, "has_offset_"):
            self.null_log_likelihood_ = _null_log_likelihood(objective, counted, self.class_weights_)
        self.n_passes_ = 1 + counted.passes
        if self.covariance != "classical":
            self._set_robust_covariance(rows, objective, found, white, groups)
            self.n_passes_ += 1
        if verdict != "overlapping":
            self._warn_separation(certificate)
        elif found.converged:
            self._warn_few_digits()
        else:
            warn_not_converged(
                f"The optimizer stopped after {self.n_passes_} passes with gradient norm "
                f'{self.history_.gradient_norm[-1]:.1g}. Scale the columns, or use solver="newton".',
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the logits.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows,), (n_rows, n_classes) or (n_rows, n_labels)
            Logits of ``classes_[1]`` for two classes, or of all classes, with 0 for the reference. For multilabel
            targets, logits of all labels.
        """
        if self._is_multilabel():
            return np.stack([model.decision_function(X) for model in self.estimators_], axis=1)
        if len(self.classes_) == 2:
            return self._for_rows(X, self._logits)
        return super().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_labels)
            Labels. For multilabel targets, 0 and 1 in one column per label.
        """
        if self._is_multilabel():
            return (self.decision_function(X) >= 0).astype(int)
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(self._for_rows(X, self._logits) >= 0).astype(int)])
        return super().predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes) or (n_rows, n_labels)
            Probabilities in the order of ``classes_``. For multilabel targets, one per label.
        """
        if self._is_multilabel():
            return np.stack([model.predict_proba(X)[:, 1] for model in self.estimators_], axis=1)
        return self._for_rows(X, self._probabilities)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, accurate even if the probabilities underflow.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes) or (n_rows, n_labels)
            Log-probabilities in the order of ``classes_``. For multilabel targets, one per label.
        """
        if self._is_multilabel():
            return np.stack([model.predict_log_proba(X)[:, 1] for model in self.estimators_], axis=1)
        return log_softmax(self._all_scores(X))

    def predict_interval(self, X: Any, level: float = 0.95, kind: str = "confidence") -> Table:
        """Return probabilities with confidence intervals.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.
        level : float, default=0.95
            Confidence level, between 0 and 1.
        kind : {"confidence"}, default="confidence"
            An interval for the probability.

        Returns
        -------
        Table
            Columns ``fit``, ``low`` and ``high``: the probability of the second of two classes, one row per row. With
            three or more classes, the table has one row per row and class, and a column ``label``. Intervals are
            symmetric on the logit scale. They are NaN, with a `NotEstimableWarning`, at points that the fit does not
            determine.

        Examples
        --------
        >>> import linearly as ly
        >>> model = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 0, 1])
        >>> table = model.predict_interval([[2.0]])
        >>> [round(float(table[name][0]), 2) for name in ("low", "fit", "high")]
        [0.05, 0.35, 0.84]
        """
        if self._is_multilabel():
            raise ValueError("predict_interval requires a model with one target. Use it on each of model.estimators_.")
        return from_inference.probability_interval(self, X, level, kind)

    def scores(self, X: Array) -> Array:
        """Compute the logits of all classes for a matrix of numbers.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Numeric features of the rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One logit per class, 0 for the reference.
        """
        return np.asarray(X @ self._coefficients_for(X) + self.class_constants_)

    def block_scores(self, block: Block) -> Array:
        """Compute the logits of all classes for the rows of a block, with their offset.

        Parameters
        ----------
        block : Block
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One logit per class.
        """
        return self.scores(features_of(block))

    def _coefficients_for(self, X: Any) -> Array:
        """Return the coefficients of all classes; one more column of X than there are features is an offset."""
        if X.shape[1] == len(self.class_coef_):
            return self.class_coef_
        return np.vstack([self.class_coef_, [0.0, 1.0]])

    def _logits(self, X: Array) -> Array:
        return np.asarray(X @ self._coefficients_for(X)[:, 1] + self.class_constants_[1])

    def _probabilities(self, X: Array) -> Array:
        if X.shape[1] > len(self.class_coef_):
            return softmax(self.scores(X))
        if isinstance(X, ColumnMatrix):  # the softmax of the scores themselves
            return linear_softmax(self.scores(X), np.eye(len(self.classes_)), np.zeros(len(self.classes_)))
        if len(self.classes_) > 2 or is_sparse(X):
            return linear_softmax(X, self.class_coef_, self.class_constants_)
        return kernels.probabilities(
            element_aligned(X), np.concatenate([self.class_constants_[1:], self.class_coef_[:, 1]])
        )

    def _estimable(self) -> Callable[[Any], NDArray[np.bool_]] | None:
        if self.null_direction_ is None or self.center_ is None:
            return None
        null, center = self.null_direction_[int(self.fit_intercept) :], self.center_
        return lambda X: is_estimable(to_float64(X), to_float64(X) - center, null)

    def summary(self) -> Summary:
        """Return the fit on one screen: deviance, coefficients with intervals, and their accuracy.

        Returns
        -------
        Summary
            Text, which notebooks show as HTML.
        """
        check_fitted(self)
        return from_inference.logistic_summary(self)

    @cached_property
    def inverse_root_(self) -> Array | None:
        """Inverse root of the information in the user's units, computed when it is first used."""
        if "_information" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no information matrix before fit. Call fit first.")
        information, scaling = self._information
        with single_threaded_blas():
            return _root_in_users_units(information.root, len(self.coef_), scaling, int(self.fit_intercept), None)

    @property
    @single_threaded_blas()
    def covariance_(self) -> Array:
        """Inverse information matrix, logit by logit: intercept first, then the coefficients.

        It is NaN for terms without a finite estimate, and for terms that the rows do not determine.
        """
        if self._is_multilabel():
            raise CovarianceNotAvailableError(
                "A multilabel model has one covariance per label. Use estimators_[j].covariance_."
            )
        if self.selects:
            raise CovarianceNotAvailableError(
                "covariance_ is not available with l1_ratio > 0, because the rows select the terms. Fit the selected "
                "terms to other rows without a penalty."
            )
        if self.inverse_root_ is None:
            raise CovarianceNotAvailableError(
                'Standard errors need the Hessian, which solver="lbfgs" does not form. Fit with solver="newton".'
            )
        root, inner = self.inverse_root_, self.inner_covariance_
        full = np.asarray(root @ root.T if inner is None else root @ inner @ root.T)
        full[~self.identified_terms], full[:, ~self.identified_terms] = np.nan, np.nan
        return full

    @property
    def selects(self) -> bool:
        """Whether the penalty sets coefficients to 0."""
        return bool(self.alpha > 0 and self.l1_ratio > 0)

    @property
    def identified_terms(self) -> NDArray[np.bool_]:
        """Which terms have a finite estimate that the rows determine, logit by logit, intercept first."""
        check_fitted(self)
        return np.full(self._n_terms, self.separation_ is None) if self.unknown_terms_ is None else ~self.unknown_terms_

    @property
    def _n_terms(self) -> int:
        return len(self.coef_) * (int(self.fit_intercept) + int(self.n_features_in_))

    def check_parameters(self) -> None:
        check_nonnegative("alpha", self.alpha)
        check_fraction("l1_ratio", self.l1_ratio)
        check_bool("fit_intercept", self.fit_intercept)
        if self.bias_reduction is not None:
            check_choice("bias_reduction", self.bias_reduction, ("firth",))
        check_choice("solver", self.solver, SOLVERS)
        check_choice("covariance", self.covariance, COVARIANCES)
        check_lags(self.covariance, self.lags)
        if self.bias_reduction == "firth" and self.alpha > 0:
            raise ValueError('bias_reduction="firth" and alpha > 0 cannot be combined. Choose one.')
        if self.bias_reduction == "firth" and self.solver not in ("auto", "newton"):
            raise ValueError('bias_reduction="firth" requires Newton\'s method. Use solver="auto".')

        if self.selects and self.solver not in ("auto", "newton"):
            raise ValueError(f'l1_ratio > 0 requires Newton\'s method, not solver="{self.solver}". Use solver="auto".')
        if self.selects and self.covariance != "classical":
            raise ValueError(
                f'Fits with l1_ratio > 0 have no standard errors, so covariance="{self.covariance}" is not '
                "available. Leave covariance= out."
            )

    def reference_code(self) -> int:
        """Return the index in `classes_` of the class whose logit is 0.

        Returns
        -------
        int
            Index of the class.
        """
        classes: list[Any] = self.classes_.tolist()
        last = isinstance(self.reference, str) and self.reference == "last" and "last" not in classes
        if self.reference is None or last:
            return 0 if len(classes) == 2 else len(classes) - 1
        if isinstance(self.reference, np.ndarray) or self.reference not in classes:
            raise ValueError(f"reference must be one of {classes}, not {self.reference!r}.")
        k = classes.index(self.reference)
        if len(classes) == 2 and k != 0:
            raise ValueError(
                f"With two classes the reference is always the first, {classes[0]!r}. Leave reference= out."
            )
        return k

    def _survey_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, ColumnScaling]:
        survey = ClassSurvey.at(*rows_with_labels(self, X, y, sample_weight))
        check_no_empty_class(survey.classes, survey.counts[1])
        self.classes_, self.class_weights_ = survey.classes, survey.counts[0]
        self.n_rows_ = int(survey.counts[1].sum())
        if survey.has_offset:
            self.has_offset_ = True
        if survey.means is not None:
            self.column_means_ = survey.means
        if survey.trials is not None:
            self.n_rows_ = int(survey.trials[0])
            self.saturated_log_likelihood_, self.log_coefficients_ = map(float, survey.trials[1:])
        rows, scaling = survey.rows, survey.scaling
        if isinstance(rows, InMemoryRows) and rows.y is not None:  # once, not in every pass
            y = rows.y.astype(np.float64) if len(self.classes_) == 2 else rows.y
            rows = rows.for_many_passes(y, _MAX_COPIED_CELLS)
        # Without an intercept, columns cannot be shifted.
        return rows, scaling if self.fit_intercept else ColumnScaling(np.zeros_like(scaling.shift), scaling.scale)

    def _set_from_solution(
        self,
        objective: Logistic,
        found: OptimizeResult,
        aliasing: Aliasing | None,
        white: Whitening | Information | None,
        flat: Array,
    ) -> None:
        first, p, K = int(self.fit_intercept), self.n_features_in_, len(self.classes_)
        unit, shift = objective.scaling.scale, objective.scaling.shift
        self.aliased_ = () if aliasing is None else aliasing.aliased
        self.null_direction_: Array | None = None if aliasing is None else aliasing.null
        self.center_ = None if aliasing is None else shift + unit * aliasing.mean

        B = _in_users_units(found.B, objective.scaling, first, aliasing)
        n_logits = B.shape[1]
        self.coef_ = B[first:].T.copy()
        self.intercept_ = B[0].copy() if first else np.zeros(n_logits)
        columns = objective.columns()
        self.class_coef_, self.class_constants_ = np.zeros((p, K)), np.zeros(K)
        self.class_coef_[:, columns], self.class_constants_[columns] = self.coef_.T, self.intercept_
        self.history_: History = found.history
        self.converged_ = found.converged
        # The loss of the last pass, penalty included; the last Newton step changes it in the 14th digit.
        penalty = 0.5 * self.alpha * (1 - self.l1_ratio) * float((self.coef_**2).sum()) if self.alpha else 0.0
        self.log_likelihood_ = -(found.last.loss - penalty)
        total = self.class_weights_.sum()
        self.null_log_likelihood_ = float(self.class_weights_ @ np.log(self.class_weights_ / total))
        if not first:
            self.null_log_likelihood_ = -float(total) * np.log(K)
        self.separation_: Any = None
        self.reference_ = self.classes_[objective.reference]
        self._warn_aliased()
        self.inner_covariance_: Array | None = None  # covariance in the coordinates of the root; None for the identity
        self.condition_ = self.digits_ = np.nan
        unknown = flat != 0  # directions in which float64 sees the likelihood as flat at the end
        if self.null_direction_ is not None:
            unknown |= np.tile(self.null_direction_ != 0, n_logits)
        self.unknown_terms_: NDArray[np.bool_] | None = unknown if unknown.any() else None
        if white is None:
            self.inverse_root_ = None
            return
        self.condition_, self.digits_ = white.condition, white.digits
        if isinstance(white, Information):
            self._information = white, objective.scaling
        else:
            self.inverse_root_ = _root_in_users_units(white.root, n_logits, objective.scaling, first, aliasing)

    def _set_robust_covariance(
        self,
        rows: Rows,
        objective: Logistic,
        found_at: OptimizeResult,
        white: Whitening | Information | None,
        groups: Any,
    ) -> None:
        if white is None:
            raise ValueError(
                'A robust covariance needs the Hessian, which solver="lbfgs" does not form. Fit with solver="newton".'
            )
        if self.covariance in ("HC2", "HC3") and len(self.classes_) > 2:
            raise ValueError(
                f'covariance="{self.covariance}" is available for two classes only. Use covariance="HC1" for more.'
            )
        root, lags = white.root, 0
        if self.covariance == "HAC":
            self.lags_ = lags = default_lags(self.n_rows_) if self.lags is None else int(self.lags)
        assert self.inverse_root_ is not None
        self.inner_covariance_, found = score_meat(
            rows, objective, found_at.B, (root, self.inverse_root_), self.covariance, self.n_rows_, groups, lags
        )
        if found is not None:
            self.n_clusters_ = found.n_clusters
            check_enough_clusters(self.n_clusters_, root.shape[1], self.covariance)
            if found.small_sample is not None and self.alpha == 0 and self.bias_reduction is None:
                self.small_sample_ = found.small_sample
                assert found.rounding is not None
                error = relative_error(self.inverse_root_, found.meat, found.rounding)
                self.digits_ = min(self.digits_, digits_of_error(SAFE * error))

    def _warn_aliased(self) -> None:
        if self.aliased_:
            warn_at_caller(
                f"{describe_dependent([column_names(self)[j] for j in self.aliased_])}, to about seven digits. "
                "Coefficients of smallest norm are returned. Drop such columns, or set alpha > 0, to make single "
                "coefficients interpretable. If a small difference of columns matters, add the difference as a column.",
                np.exceptions.RankWarning,
            )

    def _warn_few_digits(self) -> None:
        if self.digits_ < _MIN_DIGITS:
            warn_at_caller(
                f"Only about {self.digits_:.0f} digits of the standard errors are correct (condition "
                f"{self.condition_:.1e}). Drop columns that are nearly linear combinations of others, or "
                'use solver="newton".',
                PrecisionWarning,
            )

    def _verdict(self, X: Any, y: Any, sample_weight: Any, counted: PassCounter) -> tuple[str, Certificate | None]:
        """Return whether the classes can be separated; "unknown" if the rows are too many to decide."""
        index = None
        is_remote = is_rows(X) or counted.n_partitions is not None
        if is_remote or (sample_weight is not None and not np.asarray(sample_weight).all()):
            collected = collect_rows(counted, _MAX_COLLECTED_CELLS)
            if collected is None:
                return "unknown", None
            X, y, index = collected[0], self.classes_[collected[1].astype(np.intp)], collected[2]
        return decide_separation(X, y, index, fit_intercept=bool(self.fit_intercept), names=column_names(self))

    def _warn_separation(self, certificate: Certificate | None) -> None:
        if certificate is None:
            self.unknown_terms_ = np.ones(self._n_terms, dtype=bool)
            warn_at_caller(
                "Some probabilities are nearly 0, as they are for separable classes. The fit has too many rows "
                "or classes to decide separability, so standard errors are not computed. Use "
                'bias_reduction="firth" or alpha > 0 for finite coefficients.',
                SeparationWarning,
            )
            return
        self.unknown_terms_ = np.tile(unbounded_terms(certificate), len(self.coef_)) | ~self.identified_terms
        self.separation_ = certificate
        warn_at_caller(
            f"{certificate.describe()} The optimizer was stopped, and terms without a finite estimate have no standard "
            'errors. Use bias_reduction="firth" or alpha > 0 for finite estimates, or test terms with '
            "likelihood_ratio_tests.",
            SeparationWarning,
        )

    def _is_multilabel(self) -> bool:
        check_fitted(self)
        return bool(self.multilabel_)

    def _fit_labels(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        Y = multilabel_targets(y)
        for j in np.flatnonzero(np.all(Y[0] == Y, axis=0)) if len(Y) > 1 else ():
            raise ValueError(f"Column {j} of y is {Y[0, j]} in every row. Leave that label out, or add rows.")
        self.estimators_ = [clone(self).fit(X, Y[:, j], sample_weight, groups) for j in range(Y.shape[1])]
        self.classes_ = np.arange(Y.shape[1])
        self.n_features_in_ = self.estimators_[0].n_features_in_
        if hasattr(self.estimators_[0], "feature_names_in_"):
            self.feature_names_in_ = self.estimators_[0].feature_names_in_
        self.coef_ = np.concatenate([model.coef_ for model in self.estimators_])
        self.intercept_ = np.concatenate([model.intercept_ for model in self.estimators_])
        self.n_passes_ = sum(model.n_passes_ for model in self.estimators_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _null_log_likelihood(objective: Logistic, rows: Rows, class_weights: Array) -> float:
    """Return the log likelihood of the offset and an intercept, if the model has one, without features."""
    alone = MappedRows(rows, lambda block: replace(block, X=np.zeros((len(block), 0)), names=()))
    none = replace(objective, scaling=ColumnScaling(np.zeros(0), np.zeros(0)))
    if objective.intercept:
        return -float(LogisticSolver(none, 0.0, class_weights).solve(alone, "newton").last.loss)
    return -float(alone.reduce(none.evaluator(np.zeros((0, 1)), False)).loss)


def _in_users_units(B: Array, scaling: ColumnScaling, first: int, aliasing: Aliasing | None) -> Array:
    """Return coefficients of scaled columns for the columns as users have them; `first` is 1 with an intercept."""
    B = B if aliasing is None else aliasing.of_smallest_norm(B)
    # Coefficients are divided by the unit, and the intercept moves with the shift.
    slopes = B[first:] / scaling.scale[:, None]
    return np.concatenate([B[:first] - scaling.shift @ slopes, slopes]) if first else slopes


def _root_in_users_units(
    root: Array, n_logits: int, scaling: ColumnScaling, first: int, aliasing: Aliasing | None
) -> Array:
    return np.concatenate([_in_users_units(part, scaling, first, aliasing) for part in np.split(root, n_logits)])
