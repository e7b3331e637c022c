"""`LeastSquaresClassifier`: least squares on the indicator matrix of the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, solve_adaptively, warn_rank_and_precision
from linearly.dataset.rows.block import as_rows
from linearly.exceptions import MaskingWarning, warn_at_caller
from linearly.kernels.double_double import Array, to_float64
from linearly.models.base import (
    check_fitted,
    checked_matrix,
    checked_weight,
    column_names,
    restore_on_error,
    transactional_fit,
)
from linearly.models.class_gram_classifier import ClassGramClassifier
from linearly.models.parameter_checks import check_nonnegative
from linearly.models.score_classifier import is_multilabel, multilabel_targets


class LeastSquaresClassifier(ClassGramClassifier):
    """Least squares on class indicators: the class with the largest fitted value is predicted.

    A 2-D y of 0 and 1 is multilabel: any subset of the labels may apply to a row. A label is predicted if its fitted
    value is at least 0.5.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty; the intercept is not penalised.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order; for multilabel targets, the column numbers.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Coefficients of the fitted values. For two classes, those of the fitted value for ``classes_[1]`` minus 0.5.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Constant terms.
    multilabel_ : bool
        True if y had one column per label.
    summary_ : ClassGrams
        One Gram matrix of X per class. Fitted models add and subtract by it.
    labels_summary_ : Gram
        Summary of X and y, for multilabel targets.
    solution_ : Solution
        Coefficients with rank, condition number and correct digits.
    n_passes_ : int
        Number of passes over the rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    LinearDiscriminantAnalysis : Does not mask a class that lies between others.
    LogisticRegression : Models the probabilities of the classes.

    Notes
    -----
    ::

        Model       f(x) = b + x'B, one value per class; the class with the largest is predicted
        Objective   0.5 ||Y - f(X)||^2 + 0.5 alpha ||B||^2, Y with a column of 0 and 1 per class
        Summary     one Gram of X per class (a Gram of [1 | X | Y] for multilabel targets)
        Optimizer   triangular solve
        Passes      1   (2 if digits would be lost)

    With two classes the cut is at 0.5 for 0/1 coding.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed., section 4.2.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.LeastSquaresClassifier().fit([[0.0], [1.0], [4.0], [5.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[2.4], [2.6]]).tolist()
    ['no', 'yes']
    """

    def __init__(self, alpha: float = 0.0) -> None:
        self.alpha = alpha

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their labels and weights.
        y : array-like of shape (n_rows,) or (n_rows, n_labels), default=None
            Labels; or 0 and 1, one column per label.
        sample_weight : array-like of shape (n_rows,), default=None
            Counts of the rows: a row with weight 2 counts twice, one with weight 0 is absent.

        Returns
        -------
        LeastSquaresClassifier
            The fitted estimator.
        """
        problem = self.check_parameters()
        self.multilabel_ = is_multilabel(y)
        if not self.multilabel_:
            return super().fit(X, y, sample_weight)
        matrix = checked_matrix(self, X, reset=True)
        Y = multilabel_targets(y).astype(np.float64)
        if len(Y) != matrix.shape[0]:
            raise ValueError(f"X has {matrix.shape[0]} rows, but y has {len(Y)}. Pass one row of y per row of X.")
        self.classes_ = np.arange(Y.shape[1])
        weight = checked_weight(sample_weight, matrix)
        solved = solve_adaptively(as_rows(matrix, Y, weight, getattr(self, "feature_names_in_", None)), problem)
        self.labels_summary_: Gram = solved.summary
        self.n_passes_ = solved.passes
        self._set_from_solution(solved.solution, solved.method)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model; see `LinearDiscriminantAnalysis.partial_fit`. Multilabel targets are not supported.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,), default=None
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; required in the first call.
        sample_weight : array-like of shape (n_rows,), default=None
            Counts as in `fit`.

        Returns
        -------
        LeastSquaresClassifier
            The estimator.
        """
        self.multilabel_ = False
        return super().partial_fit(X, y, classes, sample_weight)

    def decision_function(self, X: Any) -> Array:
        """Return the fitted values.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), (n_rows,) or (n_rows, n_labels)
            Fitted values for K classes. For two classes, the value for ``classes_[1]`` minus 0.5. For multilabel
            targets, the value for each label minus 0.5.
        """
        fitted = self._all_scores(X)
        if self.multilabel_:
            return fitted - 0.5
        return fitted[:, 1] - 0.5 if len(self.classes_) == 2 else fitted

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest fitted value.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_labels)
            Labels. For multilabel targets, 0 and 1 in one column per label.
        """
        check_fitted(self)
        if self.multilabel_:
            return (self.decision_function(X) >= 0).astype(int)
        return super().predict(X)

    def scores(self, X: Array) -> Array:
        """Compute the fitted values of the indicators for a matrix of numbers.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Numeric features of the rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One fitted value per class.
        """
        return np.asarray(X @ self.solution_.coef + self.solution_.intercept)

    def _estimable(self) -> Callable[[Any], NDArray[np.bool_]] | None:
        return None if self.solution_.null is None else self.solution_.estimable

    def check_parameters(self) -> RidgeProblem:
        return RidgeProblem(check_nonnegative("alpha", self.alpha))

    def correct_digits(self) -> float:
        solution = self.check_parameters().solve(self.summary_.indicator_gram())
        return solution.digits if solution.rank_is_certain else 0.0

    def _check_mergeable(self, other: LeastSquaresClassifier) -> None:
        if self.multilabel_ or other.multilabel_:
            raise ValueError("Models with several labels per row cannot be added or subtracted. Fit all rows together.")

    def set_from_summary(self) -> None:
        self.multilabel_ = False
        self.__dict__.pop("labels_summary_", None)  # of an earlier fit to multilabel targets
        solution = self.check_parameters().solve(self.summary_.indicator_gram())
        self._set_from_solution(solution, "extended" if self.summary_.is_extended else "gram")
        self._warn_masking()

    def _warn_few_digits(self) -> None:
        """Do nothing: `warn_rank_and_precision` warns for each coefficient."""

    def _set_from_solution(self, solution: Solution, method: str) -> None:
        warn_rank_and_precision(solution, column_names(self), method, free=False, errors=False)
        self.solution_ = solution
        self.coef_, self.intercept_ = solution.coef.T.copy(), solution.intercept.copy()
        if not self.multilabel_ and len(self.classes_) == 2:
            self.coef_, self.intercept_ = self.coef_[1:], self.intercept_[1:] - 0.5

    def _warn_masking(self) -> None:
        present = np.flatnonzero(self.summary_.counts)
        fitted = self.scores(to_float64(self.summary_.means)[present])
        own = fitted[np.arange(len(present)), present]
        fitted[np.arange(len(present)), present] = -np.inf
        masked = self.classes_[present[own <= fitted.max(axis=1) + 1e-9]]
        if len(masked) and len(self.classes_) > 2:
            warn_at_caller(
                f"Class {', '.join(map(repr, masked.tolist()))} has no larger fitted value than another "
                "class even at its own mean, so it will rarely or never be predicted. Use LinearDiscriminantAnalysis "
                "or LogisticRegression.",
                MaskingWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
