"""`LogisticRegression`: two classes or K, with standard errors, and the truth about separation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

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
from linearly.dataset.cluster.partitions import partitions_of
from linearly.dataset.rows.block import InMemoryRows, Rows, is_rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.rows.views import PassCounter
from linearly.exceptions import CovarianceNotAvailableError, PrecisionWarning, SeparationWarning, warn_at_caller
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import is_sparse
from linearly.models.base import Array, check_fitted, collect_rows, column_names, transactional_fit
from linearly.models.class_survey import ClassSurvey
from linearly.models.label_encoding import check_no_empty_class, rows_with_labels
from linearly.models.parameter_checks import check_bool, check_choice, check_groups, check_nonnegative
from linearly.models.score_classifier import (
    ScoreClassifier,
    is_multilabel,
    linear_softmax,
    log_softmax,
    multilabel_targets,
    softmax_by_element,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from linearly import table
    from linearly.algorithm.separability.certificate import Certificate

SOLVERS = ("auto", "newton", "lbfgs", "gradient_descent")
COVARIANCES = ("classical", "HC0", "HC1", "cluster")
_OF_ONE_TARGET = (  # what a fit to several labels a row has not, and would keep of a fit before
    "_aliased",
    "_center",
    "_class_weights",
    "_coefficients",
    "_constants",
    "_inner",
    "_null",
    "_unknown",
    "condition_",
    "converged_",
    "digits_",
    "log_likelihood_",
    "n_clusters_",
    "n_rows_",
    "null_log_likelihood_",
    "history_",
    "reference_",
    "separation_",
)
_FEW_DIGITS = 6.0  # more than any table shows
_GATHERED = 2**24  # numbers that may come here from elsewhere to prove that they are separable: 128 MB


class LogisticRegression(ScoreClassifier):
    """Logistic regression by maximum likelihood, penalised or not, for two classes or K.

        Model class   log P(k|x) / P(reference|x) = b_k + x'w_k, k = 1 … K − 1     (S3)
        Objective     −Σ log P(y|x) + ½α‖w‖²                                      (b is not penalised)
        Summary       Quadratic: loss, gradient and Hessian at the current w
        Optimizer     Newton = IRLS; for many coefficients a preconditioned quasi-Newton
        Passes        n_passes_, usually 5 to 9: 1 for the classes and the size of the columns, 1 a Newton step

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty against the sum of the losses.
    bias_reduction : {None, "firth"}, default=None
        ``"firth"`` maximises the likelihood with Jeffreys' prior: less bias, and finite on separated data.
    reference : label or None, default=None
        With three classes or more, the class whose logit is 0; None is the last, and so is ``"last"`` unless a class
        is called so. With two classes it is always ``classes_[0]``.
    solver : {"auto", "newton", "lbfgs", "gradient_descent"}, default="auto"
        ``auto`` takes Newton up to some 300 coefficients and quasi-Newton beyond. ``gradient_descent`` is for teaching.

    fit_intercept : bool, default=True
        Whether the logits have a constant term.
    covariance : {"classical", "HC0", "HC1", "cluster"}, default="classical"
        What the standard errors assume: that the model is right, or only that rows (or ``groups`` of them) are
        independent. With ``"cluster"``, Wald tests are t tests with one degree of freedom less than there are
        clusters, as R's ``coeftest(df = G - 1)``; there must be more clusters than coefficients.

    Attributes
    ----------
    classes_ : labels in order.
    coef_, intercept_ : (1, p) and (1,) for two classes: log-odds of ``classes_[1]``; (K − 1, p) and (K − 1,) otherwise.
    history_ : loss, gradient norm and step of every pass.
    converged_, n_passes_ : whether the search ended at the maximum, and in how many passes over the rows in all.
    n_rows_ : rows of positive weight.
    condition_, digits_ : condition of the scaled design, and decimal digits to trust in the standard errors.
    n_clusters_ : groups with such a row, if ``covariance="cluster"``.
    log_likelihood_, null_log_likelihood_ : of the fit, and of the shares of the classes alone.
    separation_ : the certificate, where the classes turned out to be separable; None otherwise.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 0, 1])
    >>> print(f"{model.intercept_[0]:.3f} + {model.coef_[0, 0]:.3f} x")
    -2.597 + 1.045 x
    """

    # scikit-learn's metadata routing: `groups` meant for GroupKFold are not asked for unless set_fit_request says so.
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
        """Fit to rows and their labels; a 2-D y of 0 and 1 is multilabel, one model a column.

        ``sample_weight`` multiplies a row's log likelihood: weight 2 is the row twice, 0 is absent. Classical standard
        errors count rows so, too. Robust ones take the weights as those of a sample: each row is one observation
        whatever its weight, and all weights times a constant change nothing. ``groups`` (one label per row) goes with
        ``covariance="cluster"``.
        """
        self._check_parameters()
        check_groups(self.covariance, groups)
        self.multilabel_ = is_multilabel(y)
        if self.multilabel_:
            return self._fit_labels(X, y, sample_weight, groups)
        rows, scaling = self._survey_classes(X, y, sample_weight)
        counted = PassCounter(rows)
        objective = Logistic(len(self.classes_), self._reference(), scaling, bool(self.fit_intercept))
        search = LogisticSolver(objective, float(self.alpha), self._class_weights)
        found = search.solve(counted, self.solver, subsample_source=rows, bias_reduction=self.bias_reduction)
        doubtful = found.separation_suspected and self.alpha == 0 and self.bias_reduction is None
        verdict, certificate = self._verdict(X, y, sample_weight, counted) if doubtful else ("overlapping", None)
        if doubtful and verdict == "overlapping" and not found.converged:
            found = search.resume_newton(counted, found)
        if verdict != "overlapping":  # the last step, though small, may have led far: the loss where it ended
            loss = counted.reduce(objective.evaluator(found.B, False)).loss
            found = replace(found, last=replace(found.last, loss=loss))
        first = int(self.fit_intercept)
        dependence = None if found.design is None else Aliasing.of(found.design, objective.scaling, bool(first))
        white = None
        flat = np.zeros(found.B.size)
        if found.last.hessian is not None:
            dropped = [] if dependence is None else [first + j for j in dependence.aliased]
            white, flat = search.information(counted, found, dropped, self.bias_reduction)
        self._set_from_solution(objective, found, dependence, white, flat)
        self.n_passes_ = 1 + counted.passes
        if self.covariance != "classical":
            self._read_robust(rows, objective, found, white, groups)
            self.n_passes_ += 1
        if verdict != "overlapping":
            self._warn_separation(certificate)
        elif found.converged:
            self._warn_of_digits()
        else:
            warn_at_caller(
                f"The search stopped after {self.n_passes_} passes, its gradient {self.history_.gradient_norm[-1]:.1g}. "
                'Scale the columns, or use solver="newton".',
                ConvergenceWarning,
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Logits: of ``classes_[1]`` for two classes; n × K, 0 for the reference; n × labels if multilabel."""
        if self._is_multilabel():
            return np.stack([model.decision_function(X) for model in self.estimators_], axis=1)
        if len(self.classes_) == 2:
            return self._for_rows(X, self._logits)
        return super().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; for multilabel targets 0 and 1, one column a label."""
        if self._is_multilabel():
            return (self.decision_function(X) >= 0).astype(int)
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(self._for_rows(X, self._logits) >= 0).astype(int)])
        return super().predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, n × K; for multilabel targets the probability of each label."""
        if self._is_multilabel():
            return np.stack([model.predict_proba(X)[:, 1] for model in self.estimators_], axis=1)
        return self._for_rows(X, self._probabilities)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, exact even where the probabilities underflow."""
        if self._is_multilabel():
            return np.stack([model.predict_log_proba(X)[:, 1] for model in self.estimators_], axis=1)
        return log_softmax(self._all_scores(X))

    def _probabilities(self, X: Array) -> Array:
        if len(self.classes_) > 2 or is_sparse(X):
            return linear_softmax(X, self._coefficients, self._constants)
        return kernels.probabilities(
            softmax_by_element(X), np.concatenate([self._constants[1:], self._coefficients[:, 1]])
        )

    def _logits(self, X: Array) -> Array:
        return np.asarray(X @ self._coefficients[:, 1] + self._constants[1])

    def _estimable(self) -> Callable[[Any], NDArray[np.bool_]] | None:
        if self._null is None or self._center is None:
            return None
        null, center = self._null[int(self.fit_intercept) :], self._center
        return lambda X: is_estimable(to_float64(X), to_float64(X) - center, null)

    def scores(self, X: Array) -> Array:
        """Logits of all classes, 0 for the reference, for a block of numbers."""
        return np.asarray(X @ self._coefficients + self._constants)

    def summary(self) -> table.Summary:
        """The fit on one screen: deviance, coefficients with intervals, and what they rest on."""
        from linearly.inference.logistic_summary import logistic_summary

        check_is_fitted(self)
        return logistic_summary(self)

    @property
    @single_threaded_blas()
    def covariance_(self) -> Array:
        """Inverse of the information, logit by logit: intercept first, then the coefficients (in user's units).

        It is NaN for terms that have no finite estimate, or none that the rows determine.
        """
        if self._is_multilabel():
            raise CovarianceNotAvailableError("Each label has a model of its own: ask estimators_[j].covariance_.")
        root: Array | None = getattr(self, "_root", None)
        if root is None:
            raise CovarianceNotAvailableError(
                'Standard errors need the Hessian, which solver="lbfgs" does not form: fit with solver="newton".'
            )
        inner = self._inner
        full = np.asarray(root @ root.T if inner is None else root @ inner @ root.T)
        full[~self._identified], full[:, ~self._identified] = np.nan, np.nan
        return full

    @property
    def _identified(self) -> NDArray[np.bool_]:
        """Which terms have a finite estimate that the rows determine, logit by logit, intercept first."""
        check_fitted(self)
        if self._unknown is not None:
            return ~self._unknown
        return np.full(len(self.coef_) * (int(self.fit_intercept) + self.n_features_in_), self.separation_ is None)

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
        at = classes.index(self.reference)
        if len(classes) == 2 and at != 0:
            raise ValueError(f"With two classes the reference is always the first, {classes[0]!r}.")
        return at

    def _survey_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, ColumnScaling]:
        look = ClassSurvey.at(*rows_with_labels(self, X, y, sample_weight))
        check_no_empty_class(look.classes, look.counts[1])
        self.classes_, self._class_weights, self.n_rows_ = look.classes, look.counts[0], int(look.counts[1].sum())
        rows, scaling = look.rows, look.scaling
        if len(look.classes) == 2 and isinstance(rows, InMemoryRows) and rows.y is not None:
            rows = rows.with_targets(rows.y.astype(np.float64), rows.weight)  # once, not in every pass
        # Without an intercept nothing could take up a shift.
        return rows, scaling if self.fit_intercept else ColumnScaling(np.zeros_like(scaling.shift), scaling.scale)

    def _set_from_solution(
        self,
        objective: Logistic,
        found: OptimizeResult,
        dependence: Aliasing | None,
        white: Whitening | None,
        flat: Array,
    ) -> None:
        first, p = int(self.fit_intercept), self.n_features_in_
        unit, shift = objective.scaling.scale, objective.scaling.shift
        self._aliased = () if dependence is None else dependence.aliased
        self._null: Array | None = None if dependence is None else dependence.null
        self._center = None if dependence is None else shift + unit * dependence.mean

        def in_users_units(B: Array) -> Array:
            B = B if dependence is None else dependence.of_smallest_norm(B)
            # Coefficients divide by the unit, the intercept moves with the shift.
            slopes = B[first:] / unit[:, None]
            return np.concatenate([B[:first] - shift @ slopes, slopes]) if first else slopes

        B = in_users_units(found.B)
        c = B.shape[1]
        self.coef_ = B[first:].T.copy()
        self.intercept_ = B[0].copy() if first else np.zeros(c)
        K = len(self.classes_)
        columns = objective.columns()
        self._coefficients, self._constants = np.zeros((p, K)), np.zeros(K)
        self._coefficients[:, columns], self._constants[columns] = self.coef_.T, self.intercept_
        self.history_: History = found.history
        self.converged_ = found.converged
        self.log_likelihood_ = -self._plain_loss(found)
        share = self._class_weights / self._class_weights.sum()
        self.null_log_likelihood_ = float(self._class_weights @ np.log(share))
        if not first:
            self.null_log_likelihood_ = -float(self._class_weights.sum()) * np.log(K)
        self.separation_: Any = None
        self.reference_ = self.classes_[objective.reference]
        self._warn_aliased()
        self._root: Array | None = None
        self._inner: Array | None = None  # covariance in the coordinates of the root; None for the identity
        self.condition_ = self.digits_ = np.nan
        q = first + p
        unknown = flat != 0  # directions in which the likelihood is flat at the end, as far as float64 tells
        if self._null is not None:
            unknown |= np.tile(self._null != 0, c)
        self._unknown: NDArray[np.bool_] | None = unknown if unknown.any() else None
        if white is not None:
            self.condition_, self.digits_ = white.condition, white.digits
            self._root = np.concatenate([in_users_units(white.root[a * q : (a + 1) * q]) for a in range(c)])

    def _read_robust(
        self, rows: Rows, objective: Logistic, found: OptimizeResult, white: Whitening | None, groups: Any
    ) -> None:
        if white is None:
            raise ValueError('A robust covariance needs the Hessian: fit with solver="newton".')
        root = white.root
        self._inner, clusters = score_meat(rows, objective, found.B, root, self.covariance, self.n_rows_, groups)
        if clusters is not None:
            self.n_clusters_ = clusters
            check_enough_clusters(clusters, terms=root.shape[1])

    def _plain_loss(self, found: OptimizeResult) -> float:
        # What the last pass saw, less the penalty that `look` added; the last Newton step changes it in the 14th digit.
        if self.alpha == 0:
            return found.last.loss
        return found.last.loss - 0.5 * self.alpha * float((self.coef_**2).sum())

    def _warn_aliased(self) -> None:
        names = column_names(self)
        if self._aliased:
            told = ", ".join(repr(names[j]) for j in self._aliased[:8])
            more = f" and {len(self._aliased) - 8} more" if len(self._aliased) > 8 else ""
            warn_at_caller(
                f"{told}{more}: constant or a combination of the columns before, as far as seven digits tell. The "
                "coefficients of smallest norm are given; drop these columns, or set alpha > 0, for coefficients that "
                "mean something on their own. If a small difference of columns matters, give the difference as a "
                "column of its own.",
                np.exceptions.RankWarning,
            )

    def _warn_of_digits(self) -> None:
        if self.digits_ < _FEW_DIGITS:
            warn_at_caller(
                f"Only about {self.digits_:.0f} digits of the standard errors can be trusted (condition "
                f"{self.condition_:.1e}). Leave out columns that are nearly combinations of others, or use "
                'solver="newton".',
                PrecisionWarning,
            )

    def _verdict(self, X: Any, y: Any, sample_weight: Any, counted: PassCounter) -> tuple[str, Certificate | None]:
        """Whether the classes can be separated, with the proof if they can; "unknown" where that takes too long."""
        from linearly.algorithm.separability.budget import DEFAULT_BUDGET, BudgetExceeded, work_limit
        from linearly.algorithm.separability.decide import separability
        from linearly.algorithm.separability.float_overlap import certify_overlap
        from linearly.algorithm.separability.halfspaces import Halfspaces

        index = None
        away = is_rows(X) or partitions_of(counted.rows) is not None
        if away or (sample_weight is not None and not np.asarray(sample_weight).all()):
            here = collect_rows(counted, _GATHERED)
            if here is None:
                return "unknown", None
            X, y, index = here[0], self.classes_[here[1].astype(np.intp)], here[2]
        intercept, names = bool(self.fit_intercept), column_names(self)
        try:
            with work_limit(DEFAULT_BUDGET):
                if certify_overlap(Halfspaces(X, y, fit_intercept=intercept, names=names)):
                    return "overlapping", None
        except BudgetExceeded:
            return "unknown", None
        certificate = separability(X, y, fit_intercept=intercept, names=names)
        if certificate.verdict == "undecided":
            return "unknown", None
        return certificate.verdict, replace(certificate, index=index)

    def _warn_separation(self, certificate: Certificate | None) -> None:
        if certificate is None:
            self._unknown = np.ones(len(self.coef_) * (int(self.fit_intercept) + self.n_features_in_), dtype=bool)
            warn_at_caller(
                "Some probabilities are next to 0, as where hyperplanes separate the classes and coefficients grow "
                "without end; there are too many rows, or classes, to tell, so standard errors are missing. Use "
                'bias_reduction="firth" or alpha > 0 for finite coefficients.',
                SeparationWarning,
            )
            return
        from linearly.models.unbounded_terms import unbounded_terms

        self._unknown = np.tile(unbounded_terms(certificate), len(self.coef_)) | ~self._identified
        self.separation_ = certificate
        warn_at_caller(
            f"{certificate.describe()} So maximum likelihood has no finite solution: the coefficients would grow for "
            "ever, and were stopped. Terms without a finite estimate have no standard errors. Use "
            'bias_reduction="firth" or alpha > 0 for finite ones, or test terms with likelihood_ratio_tests.',
            SeparationWarning,
        )

    def _reset(self) -> None:
        """What a fit is known by goes before the next: see `all_or_nothing`."""
        for name in ("coef_", "estimators_", "_root", "feature_names_in_", "_column_labels", *_OF_ONE_TARGET):
            self.__dict__.pop(name, None)

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
