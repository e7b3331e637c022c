"""`BatchPerceptron`: all mistakes of a pass update the weights at once, so that a pass is a sum over rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from linearly.algorithm.perceptron.error_counts import argmax_first, scores, training_error
from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.dataset.rows.reduce import FieldwiseSum
from linearly.dataset.rows.safe_scaling import exponent, max_abs, scaled_rows
from linearly.exceptions import warn_not_converged
from linearly.kernels.double_double import Array
from linearly.models.base import transactional_fit
from linearly.models.label_encoding import labelled_rows
from linearly.models.parameter_checks import check_bool, check_integer, check_nonnegative
from linearly.models.perceptron_base import LinearPerceptron
from linearly.models.uncentered_columns import warn_uncentered_columns


@dataclass(frozen=True, eq=False)
class Correction(FieldwiseSum):
    """Σ w y x and Σ w y over the mistakes of some weights, the number of mistakes, and the weight of all rows."""

    coef: Array
    intercept: Array
    mistakes: int
    weight: float

    @staticmethod
    def of(block: Block, coef: Array, intercept: Array) -> Correction:
        """Return the correction for a block; a mistake is a row whose own score is not the only largest."""
        assert block.y is not None
        S, own, rows = scores(block.X, coef, intercept), block.y, np.arange(len(block))
        G = np.zeros_like(S)
        if len(coef) == 1:
            y = 2.0 * own - 1.0
            wrong = ~(y * S[:, 0] > 0)
            G[wrong, 0] = y[wrong]
        else:
            others = np.ascontiguousarray(S.T)
            others[own, rows] = -np.inf
            rival = argmax_first(list(others))
            wrong = ~(S[rows, own] > S[rows, rival])
            G[rows[wrong], own[wrong]] = 1.0
            G[rows[wrong], rival[wrong]] = -1.0
        weight = float(len(block))
        if block.weight is not None:
            G *= block.weight[:, None]
            wrong &= block.weight > 0
            weight = float(block.weight.sum())
            if not np.isfinite(weight):
                check_finite(block)
        return Correction(np.asarray(block.X.T @ G).T, G.sum(axis=0), int(np.count_nonzero(wrong)), weight)


class BatchPerceptron(LinearPerceptron):
    """The batch perceptron: all mistakes of a pass update the weights at once.

    Parameters
    ----------
    max_passes : int, default=1000
        Largest number of passes over the rows.
    epsilon : float, default=0.0
        Stop after an update whose norm, intercept included, is smaller. This can stop early, with mistakes left;
        ``stop_reason_`` then reports how many. At 0, only a pass without mistakes or `max_passes` ends the training.
    fit_intercept : bool, default=True
        If True, the model has a constant term b. It is updated like the weight of a feature that is always 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order; for two classes, the second is y = +1.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights w.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Constant terms b.
    n_passes_ : int
        Number of training passes.
    n_updates_ : int
        Number of updates, at most one per pass.
    mistakes_per_pass_ : list of int
        Mistakes of the weights at the start of each pass.
    training_error_ : float
        Share of the training rows that the final weights misclassify, by weight.
    stop_reason_ : str
        Why training stopped.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    Perceptron : Update the weights after each mistake.

    Notes
    -----
    ::

        Model       sign(b + x'w), sign(0) = +1     (K classes: the largest of K scores)
        Objective   no row with y(b + x'w) <= 0
        Summary     D = sum of y x over the mistakes, their number, n
        Optimizer   w += D / n until a pass has no mistake or ||D / n|| < epsilon
        Passes      n_passes_, at most max_passes, 1 for the size of the rows and 1 for the training error

    The order of the rows does not matter. A pass is a sum over rows, so it runs wherever the rows are stored.

    Rows are not scaled, unless the largest absolute value is beyond 1e±100. In that case, all are divided by a power
    of two.

    References
    ----------
    .. [1] R. O. Duda, P. E. Hart, D. G. Stork (2001). Pattern Classification, 2nd ed., section 5.5.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.BatchPerceptron().fit([[2.0], [1.0], [-1.0], [-4.0]], [1, 1, 0, 0])
    >>> model.coef_, model.intercept_, model.stop_reason_  # (2 + 1 + 1 + 4) / 4
    (array([[2.]]), array([0.]), 'pass 2 found no mistake')
    """

    def __init__(self, max_passes: int = 1000, *, epsilon: float = 0.0, fit_intercept: bool = True) -> None:
        self.max_passes = max_passes
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their labels and weights.
        y : array-like of shape (n_rows,), default=None
            Labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Counts of the rows: a row with weight 2 counts twice, one with weight 0 is absent.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.check_parameters()
        self.classes_, rows = labelled_rows(self, X, y, sample_weight)
        e = exponent(max_abs(rows))
        W, b, rule = self._train(scaled_rows(rows, e))
        self.coef_, self.intercept_ = np.ldexp(W, -e), b
        self.training_error_ = training_error(rows, self.coef_, self.intercept_)
        if self.training_error_ > 0:
            warn_uncentered_columns(self, rows)
        self.stop_reason_ = self._stop_reason(rule)
        if rule == "max_passes":
            warn_not_converged(
                f"The batch perceptron did not converge: {self.stop_reason_}. Call explain(X, y) to find out whether "
                "any hyperplane separates these rows.",
            )
        return self

    def check_parameters(self) -> None:
        check_integer("max_passes", self.max_passes, 1)
        check_nonnegative("epsilon", self.epsilon)
        check_bool("fit_intercept", self.fit_intercept)

    def _train(self, rows: Rows) -> tuple[Array, Array, str]:
        W, b = np.zeros((self._n_vectors, self.n_features_in_)), np.zeros(self._n_vectors)
        self.mistakes_per_pass_: list[int] = []
        self.n_updates_, rule = 0, "max_passes"
        for _ in range(self.max_passes):
            found = rows.reduce(partial(Correction.of, coef=W, intercept=b))
            self.mistakes_per_pass_.append(found.mistakes)
            if found.mistakes == 0:
                rule = "no mistake"
                break
            step, constant = found.coef / found.weight, found.intercept / found.weight * self.fit_intercept
            W, b = W + step, b + constant
            self.n_updates_ += 1
            self._norm = float(np.sqrt(np.vdot(step, step) + np.vdot(constant, constant)))
            if self._norm < self.epsilon:
                rule = "epsilon"
                break
        self.n_passes_ = len(self.mistakes_per_pass_)
        return W, b, rule

    def _stop_reason(self, rule: str) -> str:
        last = self.mistakes_per_pass_[-1]
        if rule == "no mistake":
            return f"pass {self.n_passes_} found no mistake"
        left = f"the weights misclassify a share of {self.training_error_:.3g} of the rows"
        if rule == "epsilon":
            norm = f"norm {self._norm:.3g} < epsilon={self.epsilon:g}"
            return f"the correction of pass {self.n_passes_} had {norm}; {left}"
        return f"max_passes={self.max_passes} reached, the last pass found {last} mistake{'s' * (last != 1)}; {left}"

    def novikoff_bound_applies(self) -> bool:
        return False  # the bound is for updates by one row
