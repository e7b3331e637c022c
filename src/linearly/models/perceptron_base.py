"""The bases of the perceptrons: scores and labels of new rows, and what is proven about the training rows."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.perceptron.error_counts import predicted_codes, scores
from linearly.dataset.rows.block import Block, check_finite
from linearly.kernels.blas_threads import single_threaded_blas, single_threaded_blas_unless_small
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import drop_low_part
from linearly.models import from_inference
from linearly.models.base import check_fitted, prediction_rows
from linearly.models.score_classifier import LabelClassifier

if TYPE_CHECKING:
    from linearly.table import Summary

_SCALE_DOWN = 2.0**-600


class PerceptronBase(LabelClassifier):
    """Scores of new rows, block by block, and the classes they stand for."""

    def decision_function(self, X: Any) -> Array:
        """Return the scores.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            One score per class. For two classes, one score, positive for ``classes_[1]``.
        """
        S = self._all_scores(X)
        return S[:, 0] if S.shape[1] == 1 else S

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels: the first class with the largest score. For two classes, ``classes_[1]`` if the score is 0 or more.
        """
        codes = predicted_codes(self._all_scores(X))
        return np.asarray(self.classes_[codes])

    def __getstate__(self) -> dict[str, Any]:
        # A pickle leaves out the log of mistakes, which holds as many bytes as the rows. To keep it, pickle
        # `mistake_log_` beside the model.
        state: dict[str, Any] = dict(cast(Any, super().__getstate__()))
        self._drop_log(state)
        return state

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(deepcopy(self.__dict__, memo))
        return other

    def _drop_log(self, state: dict[str, Any]) -> None:
        state.pop("mistake_log_", None)

    def explain(self, X: Any = None, y: Any = None) -> Summary:
        """Return a summary of the training and of the proofs about its rows.

        Parameters
        ----------
        X, y : array-like, default=None
            The training rows and their labels. With them, the summary reports whether any hyperplane separates the
            classes, with a certificate. It compares the mistakes made with Novikoff's bound (R/γ)², and this model's
            errors with the fewest errors that any hyperplane makes.

        Returns
        -------
        Summary
            Text, which notebooks show as HTML.

        See Also
        --------
        separability : Prove whether a hyperplane separates the classes.
        error_floor : The fewest errors that any hyperplane makes.
        """
        return from_inference.explain(self, X, y)

    @property
    def _n_vectors(self) -> int:
        """How many weight vectors there are: one for two classes, and otherwise one per class."""
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    @single_threaded_blas()
    def _all_scores(self, X: Any) -> Array:
        check_fitted(self)
        rows = prediction_rows(self, X, keep_sparse=True)
        blocks = (replace(block, X=drop_low_part(block.X), y=None, weight=None) for block in rows)
        return np.concatenate([self._scores_of(block) for block in blocks])

    def _scores_of(self, block: Block) -> Array:
        """Return the scores of a block, n × 1 for two classes and n × K for more; raise on NaN and infinity."""
        raise NotImplementedError

    def novikoff_bound_applies(self) -> bool:
        """Return whether Novikoff's bound is valid: weights start at zero, and each update is by one row."""
        raise NotImplementedError


class LinearPerceptron(PerceptronBase):
    """A perceptron with one vector of weights per class, whose scores are x'w + b."""

    coef_: Array
    intercept_: Array

    def decision_function(self, X: Any) -> Array:
        """Return the scores x'w + b.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            One score per class. For two classes, one score, positive for ``classes_[1]``.
        """
        S = self._small_scores(X)
        return super().decision_function(X) if S is None else S

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels: the first class with the largest score. For two classes, ``classes_[1]`` if the score is 0 or more.
        """
        S = self._small_scores(X)
        if S is None:
            return super().predict(X)
        codes = (S >= 0).astype(np.intp) if S.ndim == 1 else S.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _small_scores(self, X: Any) -> Array | None:
        """Return the scores of a plain array in a few microseconds; None if anything needs more care."""
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2:
            return None
        fitted = self.__dict__
        coef = fitted.get("coef_")
        if coef is None or X.shape[1] != coef.shape[1] or len(X) == 0 or "feature_names_in_" in fitted:
            return None
        with single_threaded_blas_unless_small(X.size * len(coef)), np.errstate(over="ignore", invalid="ignore"):
            b = fitted["intercept_"]
            S: Array = X.dot(coef[0]) + b[0] if len(coef) == 1 else X.dot(coef.T) + b
            total = np.add.reduce(S, axis=None)  # a NaN or infinity in X shows up here
        return S if math.isfinite(total) else None

    def _scores_of(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            S = scores(block.X, self.coef_, self.intercept_)
            if not np.isfinite(S.sum()):
                check_finite(block)
                # The numbers are finite, so a sum overflowed; only its sign matters.
                S = scores(block.X * _SCALE_DOWN, self.coef_, self.intercept_ * _SCALE_DOWN) / _SCALE_DOWN
        return S
