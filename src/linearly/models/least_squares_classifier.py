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
from linearly.exceptions import warn_at_caller
from linearly.kernels.double_double import to_float64
from linearly.models.base import (
    Array,
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
    """Least squares on indicators: Y has a column of 0 and 1 for each class, and the largest fitted value wins.

        Model class   f(x) = b + x'B, class = argmax of f            (S3)
        Objective     ½‖Y − f(X)‖² + ½α‖B‖²
        Summary       ByClass: one Gram of X a label                 (a Gram of [1 | X | Y] for several labels a row)
        Optimizer     back-substitution
        Passes        1   (2 where digits would be lost)

    With two classes the cut is at 0.5 for 0/1 coding. A 2-D y of 0 and 1 is multilabel: any subset of the labels may
    hold for a row, and each column is cut at 0.5.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty; the intercept is not penalised.

    Attributes
    ----------
    classes_ : labels in order (for multilabel targets the numbers of the columns).
    coef_, intercept_ : of the fitted values (K × p and K); for two classes of f_1(x) − 0.5.
    summary_, solution_, n_passes_ : what the model was read from, and in how many passes over the rows.

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
        """Fit to rows and their labels, or to a 2-D y of 0 and 1, one column a label.

        ``sample_weight`` counts rows: weight 2 is the row twice, 0 is absent.
        """
        self._check_parameters()
        self.multilabel_ = is_multilabel(y)
        if not self.multilabel_:
            return super().fit(X, y, sample_weight)
        matrix = checked_matrix(self, X, reset=True)
        Y = multilabel_targets(y).astype(np.float64)
        if len(Y) != matrix.shape[0]:
            raise ValueError(f"X has {matrix.shape[0]} rows and y has {len(Y)}.")
        self.classes_ = np.arange(Y.shape[1])
        weight = checked_weight(sample_weight, matrix)
        climbed = solve_adaptively(
            as_rows(matrix, Y, weight, getattr(self, "feature_names_in_", None)), RidgeProblem(float(self.alpha))
        )
        self.labels_summary_: Gram = climbed.summary
        self.n_passes_ = climbed.passes
        self._take(climbed.solution, climbed.method)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. The first call needs ``classes``, all labels that will ever come."""
        self.multilabel_ = False
        return super().partial_fit(X, y, classes, sample_weight)

    def decision_function(self, X: Any) -> Array:
        """Fitted values less 0.5 for two classes or several labels a row; fitted values, n × K, for K classes."""
        fitted = self._all_scores(X)
        if self.multilabel_:
            return fitted - 0.5
        return fitted[:, 1] - 0.5 if len(self.classes_) == 2 else fitted

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest fitted value; for multilabel targets 0 and 1, one column a label."""
        check_fitted(self)
        if self.multilabel_:
            return (self.decision_function(X) >= 0).astype(int)
        return super().predict(X)

    def scores(self, X: Array) -> Array:
        """Fitted values of the indicators for a block of numbers."""
        return np.asarray(X @ self.solution_.coef + self.solution_.intercept)

    def _estimable(self) -> Callable[[Any], NDArray[np.bool_]] | None:
        return None if self.solution_.null is None else self.solution_.estimable

    def _check_parameters(self) -> None:
        check_nonnegative("alpha", self.alpha)

    def _digits(self) -> float:
        solution = RidgeProblem(float(self.alpha)).solve(self.summary_.indicator_gram())
        return solution.digits if solution.rank_is_certain else 0.0

    def _combined(self, other: Any, combine: Any) -> Self:
        if getattr(self, "multilabel_", False) or getattr(other, "multilabel_", False):
            raise ValueError("Models of several labels a row are not added or subtracted: fit all rows together.")
        return super()._combined(other, combine)

    def _set_from_summary(self) -> None:
        self.multilabel_ = False
        self.__dict__.pop("labels_summary_", None)  # of an earlier fit to several labels a row
        self._take(
            RidgeProblem(float(self.alpha)).solve(self.summary_.indicator_gram()),
            "extended" if self.summary_.is_extended else "gram",
        )
        self._warn_of_masking()

    def _warn_of_digits(self) -> None:
        """Said with the solution, which knows of every coefficient."""

    def _take(self, solution: Solution, method: str) -> None:
        warn_rank_and_precision(solution, column_names(self), method, free=False, errors=False)
        self.solution_ = solution
        self.coef_, self.intercept_ = solution.coef.T.copy(), solution.intercept.copy()
        if not self.multilabel_ and len(self.classes_) == 2:
            self.coef_, self.intercept_ = self.coef_[1:], self.intercept_[1:] - 0.5

    def _warn_of_masking(self) -> None:
        means = to_float64(self.summary_.means)
        present = np.flatnonzero(self.summary_.counts)
        fitted = self.scores(means[present])
        own = fitted[np.arange(len(present)), present]
        fitted[np.arange(len(present)), present] = -np.inf
        masked = self.classes_[present[own <= fitted.max(axis=1) + 1e-9]]
        if len(masked) and len(self.classes_) > 2:
            told = ", ".join(map(repr, masked.tolist()))
            warn_at_caller(
                f"Masking: even at its own mean, class {told} has no larger fitted value than another class, so it "
                "will rarely or never be predicted. LDA and logistic regression do not have this fault.",
                UserWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
