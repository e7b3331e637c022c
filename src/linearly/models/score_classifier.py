"""Classifiers with a score for each class: scores to labels and to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from linearly import kernels
from linearly.dataset.rows.array_checks import as_array
from linearly.dataset.rows.block import Block, check_finite
from linearly.dataset.rows.reduce import single_threaded_blas_unless_small
from linearly.kernels.matrices import dense, drop_low_part, is_sparse
from linearly.models.base import Array, EstimatorMixin, check_fitted, map_rows, prediction_rows
from linearly.models.estimability import NotEstimable
from linearly.models.label_encoding import accuracy
from linearly.models.overflow_safe_scores import linear_scores

_FEW = 256  # rows that are scored at once, without being cut into blocks


class ScoreClassifier(EstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that picks the class with the highest score."""

    classes_: NDArray[Any]

    def scores(self, X: Array) -> Array:
        """Scores of all classes, n × K, for a block of numbers."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Scores: n × K, or for two classes the score of ``classes_[1]`` less that of ``classes_[0]``."""
        scores = self._all_scores(X)
        with np.errstate(over="ignore"):
            return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest score (of equal ones the first, and of two classes the second)."""
        scores = self._all_scores(X)
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(scores[:, 1] >= scores[:, 0]).astype(int)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _score(self, X: Any, y: Any, weight: Array | None) -> float:
        return accuracy(np.asarray(self.predict(X)), y, weight, self.classes_)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end: one that was refused may have left the classes behind."""
        return "coef_" in self.__dict__ or "covariances_" in self.__dict__

    def _all_scores(self, X: Any) -> Array:
        return self._for_rows(X, self.scores)

    def _for_rows(self, X: Any, f: Callable[[Array], Array]) -> Array:
        """f of all rows, n × K, block by block on the threads of the fold; NaN and infinity are refused by name."""
        check_fitted(self)
        estimable = self._estimable()
        with np.errstate(invalid="ignore", over="ignore"):
            plainly = estimable is None and _plain_few(X) and not hasattr(self, "feature_names_in_")
            if plainly and X.shape[1] == self.n_features_in_:
                # A few rows in a few microseconds: a NaN or infinity in X shows up in the result.
                with single_threaded_blas_unless_small(X.size * len(self.classes_)):
                    few = f(X)
                if isfinite(np.add.reduce(few, axis=None)):
                    return few

        def scored(block: Block) -> Array:
            X = drop_low_part(block.X)
            with np.errstate(invalid="ignore", over="ignore"):
                part = f(X)
                if not np.isfinite(part.sum()):
                    check_finite(block)
            return part

        if estimable is None:
            return map_rows(prediction_rows(self, X), scored, wide=self._numbers_a_row())
        with NotEstimable() as doubtful:

            def scored_with_doubts(block: Block) -> Array:
                part = scored(block)
                doubtful.look(block, estimable)
                return part

            return map_rows(prediction_rows(self, X), scored_with_doubts, wide=self._numbers_a_row())

    def _estimable(self) -> Callable[[Any], NDArray[np.bool_]] | None:
        """What says at which rows the fit determines the scores; None where it does at all."""
        return None

    def _numbers_a_row(self) -> int:
        """How many numbers the scores of a row take on the way."""
        return len(self.classes_)


def is_multilabel(y: Any) -> bool:
    """Whether y has several columns, one a label."""
    # Asked of y itself where it knows: an array would compute a target that lives on Dask.
    shape = () if y is None else y.shape if hasattr(y, "shape") else as_array(y, "y").shape
    return len(shape) == 2 and shape[1] > 1


def multilabel_targets(y: Any) -> NDArray[Any]:
    """A 2-D y of 0 and 1, one column a label; anything else in it is refused by row and column."""
    Y = as_array(dense(y), "y")
    if Y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y is {Y.dtype}. A 2-D y must hold 0 and 1 only.")
    bad = np.argwhere((Y != 0) & (Y != 1))
    if len(bad):
        i, j = map(int, bad[0])
        raise ValueError(
            f"Unknown label type: a 2-D y must hold 0 and 1 only, one column a label (multilabel); row {i}, column {j} "
            f"holds {Y[i, j]!r}."
        )
    return np.asarray(Y)


def softmax(scores: Array) -> Array:
    """Probabilities proportional to exp(score), shifted by the largest so that nothing overflows."""
    E = _below_largest(scores)
    np.exp(E, out=E)
    E /= E.sum(axis=0)
    return E.T


def linear_softmax(X: Any, coefficients: Array, constants: Array) -> Array:
    """The softmax of X @ coefficients + constants, for a block of numbers, dense or sparse."""
    if is_sparse(X):
        return softmax(linear_scores(X, coefficients, constants))
    found = kernels.softmax_probabilities(softmax_by_element(X), np.concatenate([constants[None], coefficients]))
    if np.isnan(found.sum()):
        lost = np.flatnonzero(np.isnan(found).any(axis=1))
        found[lost] = softmax(linear_scores(X[lost], coefficients, constants))
    return found


def softmax_by_element(X: NDArray[Any]) -> NDArray[Any]:
    """X, or a copy of it where its strides are no multiples of a number: columns of a structured array, say."""
    return X if all(stride % X.itemsize == 0 for stride in X.strides) else X.copy()


def log_softmax(scores: Array) -> Array:
    """Logarithms of `softmax`."""
    moved = _below_largest(scores)
    moved -= np.log(np.exp(moved).sum(axis=0))
    return moved.T


def _below_largest(scores: Array) -> Array:
    """Scores less the largest of their row, K × n: classes are few, and NumPy is fast along the long side."""
    turned = np.array(scores.T, order="C")
    with np.errstate(over="ignore"):  # what is further below than float64 goes is −∞ below
        turned -= turned.max(axis=0)
    return turned


def _plain_few(X: Any) -> bool:
    return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and 0 < len(X) <= _FEW
