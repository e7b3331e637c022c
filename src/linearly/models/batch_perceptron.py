"""`BatchPerceptron`: all mistakes of a pass correct the weights at once, so a pass is a fold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linearly.algorithm.perceptron.error_counts import argmax_first, scores, training_error
from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.dataset.rows.safe_scaling import exponent, max_abs, scaled_rows
from linearly.exceptions import warn_at_caller
from linearly.models.base import Array, transactional_fit
from linearly.models.label_encoding import labelled_rows
from linearly.models.parameter_checks import check_bool, check_integer, check_nonnegative
from linearly.models.perceptron_base import LinearPerceptron
from linearly.models.uncentered_columns import warn_uncentered_columns


@dataclass(frozen=True, eq=False)
class Correction:
    """What rows say to weights: Σ w y x and Σ w y over the mistakes, how many those are, and the weight of all rows."""

    coef: Array
    intercept: Array
    mistakes: int
    weight: float

    @staticmethod
    def of(block: Block, coef: Array, intercept: Array) -> Correction:
        """The correction that a block asks for; a mistake is a row whose own score is not the only largest."""
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

    def __add__(self, other: Correction) -> Correction:
        return Correction(
            self.coef + other.coef,
            self.intercept + other.intercept,
            self.mistakes + other.mistakes,
            self.weight + other.weight,
        )


class BatchPerceptron(LinearPerceptron):
    """The perceptron that looks at all rows before it moves: the mean of y x over the mistakes corrects the weights.

        Model class   sign(b + x'w), sign(0) = +1      (K classes: the largest of K scores)
        Objective     no y(b + x'w) ≤ 0
        Summary       Δ = Σ y x over the mistakes, their number, n
        Optimizer     w ← w + Δ/n until no mistake is left or ‖Δ/n‖ < epsilon      (S2)
        Passes        n_passes_, at most max_passes, 1 for the size of the rows and 1 for the training error

    The order of the rows does not matter, and a pass is a fold: it runs wherever rows live.

    Parameters
    ----------
    max_passes : int, default=1000
        Passes over the rows, at most.
    epsilon : float, default=0.0
        Stop after a correction whose norm, intercept included, is smaller. It is S2's only rule, and can stop early,
        with mistakes left; ``stop_reason_`` then says how many. At 0 only a pass without mistakes, or
        ``max_passes``, ends the training.
    fit_intercept : bool, default=True
        Whether there is a constant term b; it learns like the weight of a feature that is always 1.

    Attributes
    ----------
    classes_ : the labels, sorted; of two, the second is y = +1.
    coef_, intercept_ : w and b, one row a class (one row for two classes).
    n_passes_, n_updates_, mistakes_per_pass_ : how the training went; mistakes are those of the weights a pass began
        with.
    training_error_ : share of the rows (by weight) that the final weights get wrong, S1's E_in.
    stop_reason_ : in words.

    Rows are learnt as they are. Only where the largest |x| is beyond 1e±100 are all features measured in one power of
    two.

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
        """Fit to rows: arrays, sparse matrices, data frames, or anything that is already `Rows`.

        A row of ``sample_weight`` 2 counts as two rows, one of weight 0 is absent.
        """
        check_integer("max_passes", self.max_passes, 1)
        check_nonnegative("epsilon", self.epsilon)
        check_bool("fit_intercept", self.fit_intercept)
        self.classes_, rows = labelled_rows(self, X, y, sample_weight)
        e = exponent(max_abs(rows))
        W, b, rule = self._descend(scaled_rows(rows, e))
        self.coef_, self.intercept_ = np.ldexp(W, -e), b
        self.training_error_ = training_error(rows, self.coef_, self.intercept_)
        if self.training_error_ > 0:
            warn_uncentered_columns(self, rows)
        self.stop_reason_ = self._stop_reason(rule)
        if rule == "max_passes":
            warn_at_caller(
                f"The batch perceptron did not settle: {self.stop_reason_}. explain(X, y) says whether any "
                "hyperplane separates these rows.",
                ConvergenceWarning,
            )
        return self

    def _descend(self, rows: Rows) -> tuple[Array, Array, str]:
        k = 1 if len(self.classes_) == 2 else len(self.classes_)
        W, b = np.zeros((k, self.n_features_in_)), np.zeros(k)
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
        left = f"the weights still get {self.training_error_:.3g} of the rows wrong"
        if rule == "epsilon":
            return (
                f"the correction of pass {self.n_passes_} had norm {self._norm:.3g} < epsilon={self.epsilon:g}; {left}"
            )
        return f"max_passes={self.max_passes} reached, the last pass found {last} mistake{'s' * (last != 1)}; {left}"

    def _novikoff(self) -> bool:
        return False  # the bound counts corrections by one row
