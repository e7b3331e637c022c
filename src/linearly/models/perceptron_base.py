"""What every fitted perceptron can do: score new rows, name their classes, and explain itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.perceptron.error_counts import predicted_codes, scores
from linearly.dataset.cluster.partitions import rows_from_cluster
from linearly.dataset.rows.block import Block, Rows, as_rows, check_finite, is_rows
from linearly.dataset.rows.reduce import single_threaded_blas, single_threaded_blas_unless_small
from linearly.dataset.rows.sparse import SparseRows
from linearly.kernels.matrices import drop_low_part, is_sparse
from linearly.models import from_inference
from linearly.models.base import Array, EstimatorMixin, check_feature_names, checked_matrix
from linearly.models.label_encoding import accuracy

if TYPE_CHECKING:
    from linearly import table

_SMALLER = 2.0**-600


class PerceptronBase(EstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores of new rows, block by block, and the classes they mean."""

    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Array:
        """The score of each row: one a row for two classes (positive for ``classes_[1]``), one a class for more."""
        check_is_fitted(self)
        S = self._scored(X)
        return S[:, 0] if S.shape[1] == 1 else S

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: ``classes_[1]`` where the score is 0 or more; of K the first with the largest."""
        check_is_fitted(self)
        return self.classes_[predicted_codes(self._scored(X))]

    def explain(self, X: Any = None, y: Any = None) -> table.Summary:
        """What the training did; and with the rows it was done on, what is proven about them.

        With X and y: whether any hyperplane separates them (with a certificate), Novikoff's bound (R/γ)² beside the
        mistakes made, and the error floor, which no hyperplane can beat, beside this model's errors.
        """
        return from_inference.explain(self, X, y)

    def _score(self, X: Any, y: Any, weight: Array | None) -> float:
        return accuracy(np.asarray(self.predict(X)), y, weight, self.classes_)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end: one that was refused may have left the classes behind."""
        return any(name in self.__dict__ for name in ("coef_", "_training", "_log"))

    def _reset(self) -> None:
        """What a fit is known by goes before the next: see `all_or_nothing`."""
        for name in ("coef_", "_training", "_log"):
            self.__dict__.pop(name, None)

    @single_threaded_blas()
    def _scored(self, X: Any) -> Array:
        rows = _new_rows(self, X)
        parts = []
        for block in rows:
            parts.append(self._scores_of(replace(block, X=drop_low_part(block.X), y=None, weight=None)))
        return np.concatenate(parts)

    def _scores_of(self, block: Block) -> Array:
        """Scores of a block, n × 1 for two classes and n × K for more; NaN and infinity refused."""
        raise NotImplementedError

    def _novikoff(self) -> bool:
        """Whether Novikoff's bound holds for the updates: they start at zero, each corrected by one row."""
        raise NotImplementedError


class LinearPerceptron(PerceptronBase):
    """A perceptron that is one set of weights: its scores are x'w + b."""

    coef_: Array
    intercept_: Array

    def decision_function(self, X: Any) -> Array:
        """The scores x'w + b: one a row for two classes (positive for ``classes_[1]``), one a class for more."""
        S = self._quick(X)
        return super().decision_function(X) if S is None else S

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: ``classes_[1]`` where the score is 0 or more; of K the first with the largest."""
        S = self._quick(X)
        if S is None:
            return super().predict(X)
        codes = (S >= 0).astype(np.intp) if S.ndim == 1 else S.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _quick(self, X: Any) -> Array | None:
        """The common case in a few microseconds: a NaN or infinity in X shows up in the scores."""
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2:
            return None
        mine = self.__dict__
        coef = mine.get("coef_")
        if coef is None or X.shape[1] != coef.shape[1] or len(X) == 0 or "feature_names_in_" in mine:
            return None
        with single_threaded_blas_unless_small(X.size * len(coef)), np.errstate(over="ignore", invalid="ignore"):
            S: Array = X.dot(coef[0]) + mine["intercept_"][0] if len(coef) == 1 else X.dot(coef.T) + mine["intercept_"]
            total = np.add.reduce(S, axis=None)
        return S if math.isfinite(total) else None

    def _scores_of(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            S = scores(block.X, self.coef_, self.intercept_)
            if not np.isfinite(S.sum()):
                check_finite(block)
                # The numbers are finite, so a sum overflowed: its sign is what counts.
                S = scores(block.X * _SMALLER, self.coef_, self.intercept_ * _SMALLER) / _SMALLER
        return S


def _new_rows(estimator: Any, X: Any) -> Rows:
    X = rows_from_cluster(X) or X
    if is_rows(X):
        check_feature_names(estimator, X.names, reset=False)
        return X
    matrix = checked_matrix(estimator, X, reset=False)
    names = getattr(estimator, "feature_names_in_", ())
    if is_sparse(matrix):
        return SparseRows(matrix, names=tuple(names))
    return as_rows(matrix, names=tuple(names) if len(names) else None)
