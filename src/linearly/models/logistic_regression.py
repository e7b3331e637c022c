"""`LogisticRegression`: two classes or K, with standard errors and proofs of separation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.identification import is_estimable
from linearly.algorithm.least_squares.sandwich import check_enough_clusters
from linearly.algorithm.least_squares.whitening import Whitening
from linearly.algorithm.logistic.aliasing import Aliasing
from linearly.algorithm.logistic.objective import Logistic
from linearly.algorithm.logistic.optimizers import History, OptimizeResult
from linearly.algorithm.logistic.sandwich import score_meat
from linearly.algorithm.logistic.solver import LogisticSolver
from linearly.algorithm.separability.certificate import Certificate
from linearly.dataset.rows.block import InMemoryRows, Rows, is_rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.rows.views import PassCounter
from linearly.exceptions import CovarianceNotAvailableError, PrecisionWarning, SeparationWarning, warn_at_caller
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import is_sparse
from linearly.models import from_inference
from linearly.models.base import Array, check_fitted, collect_rows, column_names, list_columns, transactional_fit
from linearly.models.class_survey import ClassSurvey
from linearly.models.label_encoding import check_no_empty_class, rows_with_labels
from linearly.models.parameter_checks import check_bool, check_choice, check_groups, check_nonnegative
from linearly.models.score_classifier import (
    ScoreClassifier,
    element_aligned,
    is_multilabel,
    linear_softmax,
    log_softmax,
    multilabel_targets,
)
from linearly.models.separation import decide_separation, unbounded_terms

if TYPE_CHECKING:
    from linearly.table import Summary

SOLVERS = ("auto", "newton", "lbfgs", "gradient_descent")
COVARIANCES = ("classical", "HC0", "HC1", "cluster")
_MIN_DIGITS = 6.0  # more than any table shows
_MAX_COLLECTED_CELLS = 2**24  # numbers that may be collected from elsewhere to prove separation: 128 MB


class LogisticRegression(ScoreClassifier):
    """Logistic regression by maximum likelihood, with or without penalty, for two classes or K.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty on the sum of the losses: 1/C in scikit-learn. The intercepts are not penalised.
    bias_reduction : {None, "firth"}, default=None
        ``"firth"`` maximises the likelihood with Jeffreys' prior: less bias, and finite estimates on separable data.
    reference : label or None, default=None
        With three classes or more, the class whose logit is 0. None is the last, and so is ``"last"`` unless a class
        has that name. With two classes it is always ``classes_[0]``.
    solver : {"auto", "newton", "lbfgs", "gradient_descent"}, default="auto"
        Optimizer. ``"auto"`` is Newton up to about 300 coefficients, and a quasi-Newton method beyond.
        ``"gradient_descent"`` is for teaching.
    fit_intercept : bool, default=True
        Whether the logits have a constant term.
    covariance : {"classical", "HC0", "HC1", "cluster"}, default="classical"
        Assumption behind the standard errors: that the model holds, or only that rows (or ``groups`` of them) are
        independent. With ``"cluster"``, Wald tests are t tests with one degree of freedom less than there are clusters,
        like R's ``coeftest(df = G - 1)``; there must be more clusters than coefficients.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order; for multilabel targets the numbers of the columns.
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
        Whether the optimizer reached the maximum.
    n_passes_ : int
        Number of passes over the rows.
    n_rows_ : int
        Number of rows of positive weight.
    condition_ : float
        Condition number of the scaled design.
    digits_ : float
        Correct decimal digits of the standard errors.
    n_clusters_ : int
        Number of groups with a row of positive weight, if ``covariance="cluster"``.
    log_likelihood_ : float
        Log-likelihood of the fit, without penalty.
    null_log_likelihood_ : float
        Log-likelihood of the shares of the classes alone.
    separation_ : Certificate or None
        Proof of separation, if the classes are separable.
    multilabel_ : bool
        Whether y had one column per label.
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
        Objective   -sum of log P(y|x) + 0.5 alpha ||w||^2     (b is not penalised)
        Summary     loss, gradient and Hessian at the current w, which add up over blocks of rows
        Optimizer   Newton (IRLS); a preconditioned quasi-Newton method for many coefficients
        Passes      n_passes_, usually 5 to 9: 1 for the classes and the size of the columns, 1 per Newton step

    If the classes are separable, maximum likelihood has no finite solution. The fit proves it, warns with a
    `SeparationWarning`, and gives no standard errors for terms without a finite estimate.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed., section 4.4.
    .. [2] A. Albert, J. A. Anderson (1984). On the existence of maximum likelihood estimates in logistic regression
       models. Biometrika 71, 1-10.
    .. [3] D. Firth (1993). Bias reduction of maximum likelihood estimates. Biometrika 80, 27-38.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 0, 1])
    >>> print(f"{model.intercept_[0]:.3f} + {model.coef_[0, 0]:.3f} x")
    -2.804 + 1.090 x
    """

    # fmt: off
    _private_state = (
        "_column_labels", "_aliased", "_center", "_class_weights", "_coefficients", "_constants", "_inner", "_null",
        "_root", "_unknown",
    )
    # fmt: on
    # scikit-learn's metadata routing: `groups` meant for GroupKFold are not requested unless set_fit_request does.
    __metadata_request__fit = {"groups": False}  # noqa: RUF012

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        bias_reduction: str | None = None,
        reference: Any = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        covariance: str = "classical",
    ) -> None:
        self.alpha = alpha
        self.bias_reduction = bias_reduction
        self.reference = reference
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.covariance = covariance

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
            Factors of the rows' log-likelihoods: a row of weight 2 counts twice, one of weight 0 is absent. Classical
            standard errors count rows in this way, too. For robust ones, weights are those of a sample: each row is one
            observation, and a common factor of all weights changes nothing.
        groups : array-like of shape (n_rows,), default=None
            Cluster of each row, for ``covariance="cluster"``.

        Returns
        -------
        LogisticRegression
            The fitted estimator.
        """
        self._check_parameters()
        check_groups(self.covariance, groups)
        self.multilabel_ = is_multilabel(y)
        if self.multilabel_:
            return self._fit_labels(X, y, sample_weight, groups)
        rows, scaling = self._survey_classes(X, y, sample_weight)
        counted = PassCounter(rows)
        objective = Logistic(len(self.classes_), self._reference(), scaling, bool(self.fit_intercept))
        solver = LogisticSolver(objective, float(self.alpha), self._class_weights)
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
        if found.last.hessian is not None:
            dropped = [] if aliasing is None else [first + j for j in aliasing.aliased]
            white, flat = solver.information(counted, found, dropped, self.bias_reduction)
        self._set_from_solution(objective, found, aliasing, white, flat)
        self.n_passes_ = 1 + counted.passes
        if self.covariance != "classical":
            self._set_robust_covariance(rows, objective, found, white, groups)
            self.n_passes_ += 1
        if verdict != "overlapping":
            self._warn_separation(certificate)
        elif found.converged:
            self._warn_few_digits()
        else:
            warn_at_caller(
                f"The search stopped after {self.n_passes_} passes, its gradient "
                f'{self.history_.gradient_norm[-1]:.1g}. Scale the columns, or use solver="newton".',
                ConvergenceWarning,
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
            Logits of ``classes_[1]`` for two classes; of all classes, 0 for the reference; or of all labels.
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
            Labels; for multilabel targets 0 and 1, one column per label.
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
            Probabilities in the order of ``classes_``; for multilabel targets of each label.
        """
        if self._is_multilabel():
            return np.stack([model.predict_proba(X)[:, 1] for model in self.estimators_], axis=1)
        return self._for_rows(X, self._probabilities)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, accurate also where the probabilities underflow.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes) or (n_rows, n_labels)
            Log-probabilities in the order of ``classes_``; for multilabel targets of each label.
        """
        if self._is_multilabel():
            return np.stack([model.predict_log_proba(X)[:, 1] for model in self.estimators_], axis=1)
        return log_softmax(self._all_scores(X))

    def scores(self, X: Array) -> Array:
        """Return the logits of all classes, n × K, 0 for the reference, for a matrix of numbers."""
        return np.asarray(X @ self._coefficients + self._constants)

    def _logits(self, X: Array) -> Array:
        return np.asarray(X @ self._coefficients[:, 1] + self._constants[1])

    def _probabilities(self, X: Array) -> Array:
        if len(self.classes_) > 2 or is_sparse(X):
            return linear_softmax(X, self._coefficients, self._constants)
        return kernels.probabilities(
            element_aligned(X), np.concatenate([self._constants[1:], self._coefficients[:, 1]])
        )

    def _estimable(self) -> Callable[[Any], NDArray[np.bool_]] | None:
        if self._null is None or self._center is None:
            return None
        null, center = self._null[int(self.fit_intercept) :], self._center
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

    @property
    @single_threaded_blas()
    def covariance_(self) -> Array:
        """Inverse information matrix, logit by logit: intercept first, then the coefficients.

        It is NaN for terms without a finite estimate, and for terms that the rows do not determine.
        """
        if self._is_multilabel():
            raise CovarianceNotAvailableError("Each label has a model of its own: ask estimators_[j].covariance_.")
        if self._root is None:
            raise CovarianceNotAvailableError(
                'Standard errors need the Hessian, which solver="lbfgs" does not form: fit with solver="newton".'
            )
        root, inner = self._root, self._inner
        full = np.asarray(root @ root.T if inner is None else root @ inner @ root.T)
        full[~self._identified], full[:, ~self._identified] = np.nan, np.nan
        return full

    @property
    def _identified(self) -> NDArray[np.bool_]:
        """Which terms have a finite estimate that the rows determine, logit by logit, intercept first."""
        check_fitted(self)
        return np.full(self._n_terms, self.separation_ is None) if self._unknown is None else ~self._unknown

    @property
    def _n_terms(self) -> int:
        return len(self.coef_) * (int(self.fit_intercept) + int(self.n_features_in_))

    def _check_parameters(self) -> None:
        check_nonnegative("alpha", self.alpha)
        check_bool("fit_intercept", self.fit_intercept)
        if self.bias_reduction is not None:
            check_choice("bias_reduction", self.bias_reduction, ("firth",))
        check_choice("solver", self.solver, SOLVERS)
        check_choice("covariance", self.covariance, COVARIANCES)
        if self.bias_reduction == "firth" and self.alpha > 0:
            raise ValueError('bias_reduction="firth" and alpha > 0 are two remedies for one ill: choose one.')
        if self.bias_reduction == "firth" and self.solver not in ("auto", "newton"):
            raise ValueError('bias_reduction="firth" is solved by Newton: leave solver at "auto".')

    def _reference(self) -> int:
        classes: list[Any] = self.classes_.tolist()
        last = isinstance(self.reference, str) and self.reference == "last" and "last" not in classes
        if self.reference is None or last:
            return 0 if len(classes) == 2 else len(classes) - 1
        if isinstance(self.reference, np.ndarray) or self.reference not in classes:
            raise ValueError(f"reference must be one of {classes}, not {self.reference!r}.")
        k = classes.index(self.reference)
        if len(classes) == 2 and k != 0:
            raise ValueError(f"With two classes the reference is always the first, {classes[0]!r}.")
        return k

    def _survey_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, ColumnScaling]:
        survey = ClassSurvey.at(*rows_with_labels(self, X, y, sample_weight))
        check_no_empty_class(survey.classes, survey.counts[1])
        self.classes_, self._class_weights = survey.classes, survey.counts[0]
        self.n_rows_ = int(survey.counts[1].sum())
        rows, scaling = survey.rows, survey.scaling
        if len(self.classes_) == 2 and isinstance(rows, InMemoryRows) and rows.y is not None:
            rows = rows.with_targets(rows.y.astype(np.float64), rows.weight)  # once, not in every pass
        # Without an intercept, columns cannot be shifted.
        return rows, scaling if self.fit_intercept else ColumnScaling(np.zeros_like(scaling.shift), scaling.scale)

    def _set_from_solution(
        self,
        objective: Logistic,
        found: OptimizeResult,
        aliasing: Aliasing | None,
        white: Whitening | None,
        flat: Array,
    ) -> None:
        first, p, K = int(self.fit_intercept), self.n_features_in_, len(self.classes_)
        unit, shift = objective.scaling.scale, objective.scaling.shift
        self._aliased = () if aliasing is None else aliasing.aliased
        self._null: Array | None = None if aliasing is None else aliasing.null
        self._center = None if aliasing is None else shift + unit * aliasing.mean

        def in_users_units(B: Array) -> Array:
            B = B if aliasing is None else aliasing.of_smallest_norm(B)
            # Coefficients are divided by the unit, and the intercept moves with the shift.
            slopes = B[first:] / unit[:, None]
            return np.concatenate([B[:first] - shift @ slopes, slopes]) if first else slopes

        B = in_users_units(found.B)
        n_logits = B.shape[1]
        self.coef_ = B[first:].T.copy()
        self.intercept_ = B[0].copy() if first else np.zeros(n_logits)
        columns = objective.columns()
        self._coefficients, self._constants = np.zeros((p, K)), np.zeros(K)
        self._coefficients[:, columns], self._constants[columns] = self.coef_.T, self.intercept_
        self.history_: History = found.history
        self.converged_ = found.converged
        # The loss of the last pass, penalty included; the last Newton step changes it in the 14th digit.
        penalty = 0.5 * self.alpha * float((self.coef_**2).sum()) if self.alpha else 0.0
        self.log_likelihood_ = -(found.last.loss - penalty)
        total = self._class_weights.sum()
        self.null_log_likelihood_ = float(self._class_weights @ np.log(self._class_weights / total))
        if not first:
            self.null_log_likelihood_ = -float(total) * np.log(K)
        self.separation_: Any = None
        self.reference_ = self.classes_[objective.reference]
        self._warn_aliased()
        self._root: Array | None = None
        self._inner: Array | None = None  # covariance in the coordinates of the root; None for the identity
        self.condition_ = self.digits_ = np.nan
        unknown = flat != 0  # directions in which float64 sees the likelihood as flat at the end
        if self._null is not None:
            unknown |= np.tile(self._null != 0, n_logits)
        self._unknown: NDArray[np.bool_] | None = unknown if unknown.any() else None
        if white is not None:
            self.condition_, self.digits_ = white.condition, white.digits
            self._root = np.concatenate([in_users_units(part) for part in np.split(white.root, n_logits)])

    def _set_robust_covariance(
        self, rows: Rows, objective: Logistic, found: OptimizeResult, white: Whitening | None, groups: Any
    ) -> None:
        if white is None:
            raise ValueError('A robust covariance needs the Hessian: fit with solver="newton".')
        root = white.root
        self._inner, clusters = score_meat(rows, objective, found.B, root, self.covariance, self.n_rows_, groups)
        if clusters is not None:
            self.n_clusters_ = clusters
            check_enough_clusters(clusters, terms=root.shape[1])

    def _warn_aliased(self) -> None:
        if self._aliased:
            more = f" and {len(self._aliased) - 8} more" if len(self._aliased) > 8 else ""
            warn_at_caller(
                f"{list_columns(self, self._aliased)}{more}: constant or a combination of the columns before, as far "
                "as seven digits tell. The coefficients of smallest norm are given; drop these columns, or set "
                "alpha > 0, for coefficients that mean something on their own. If a small difference of columns "
                "matters, give the difference as a column of its own.",
                np.exceptions.RankWarning,
            )

    def _warn_few_digits(self) -> None:
        if self.digits_ < _MIN_DIGITS:
            warn_at_caller(
                f"Only about {self.digits_:.0f} digits of the standard errors can be trusted (condition "
                f"{self.condition_:.1e}). Leave out columns that are nearly combinations of others, or use "
                'solver="newton".',
                PrecisionWarning,
            )

    def _verdict(self, X: Any, y: Any, sample_weight: Any, counted: PassCounter) -> tuple[str, Certificate | None]:
        """Return whether the classes can be separated; "unknown" if the rows are too many to decide."""
        index = None
        elsewhere = is_rows(X) or counted.rows.n_partitions is not None
        if elsewhere or (sample_weight is not None and not np.asarray(sample_weight).all()):
            collected = collect_rows(counted, _MAX_COLLECTED_CELLS)
            if collected is None:
                return "unknown", None
            X, y, index = collected[0], self.classes_[collected[1].astype(np.intp)], collected[2]
        return decide_separation(X, y, index, fit_intercept=bool(self.fit_intercept), names=column_names(self))

    def _warn_separation(self, certificate: Certificate | None) -> None:
        if certificate is None:
            self._unknown = np.ones(self._n_terms, dtype=bool)
            warn_at_caller(
                "Some probabilities are next to 0, as where hyperplanes separate the classes and coefficients grow "
                "without end; there are too many rows, or classes, to tell, so standard errors are missing. Use "
                'bias_reduction="firth" or alpha > 0 for finite coefficients.',
                SeparationWarning,
            )
            return
        self._unknown = np.tile(unbounded_terms(certificate), len(self.coef_)) | ~self._identified
        self.separation_ = certificate
        warn_at_caller(
            f"{certificate.describe()} So maximum likelihood has no finite solution: the coefficients would grow for "
            "ever, and were stopped. Terms without a finite estimate have no standard errors. Use "
            'bias_reduction="firth" or alpha > 0 for finite ones, or test terms with likelihood_ratio_tests.',
            SeparationWarning,
        )

    def _is_multilabel(self) -> bool:
        check_fitted(self)
        return bool(self.multilabel_)

    def _fit_labels(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        Y = multilabel_targets(y)
        for j in np.flatnonzero(np.all(Y[0] == Y, axis=0)) if len(Y) > 1 else ():
            raise ValueError(f"Column {j} of y is {Y[0, j]} in every row: leave that label out, or add rows.")
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
