"""The base of classifiers with one score per class: from scores to labels and to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.dataset.rows.array_checks import as_array
from linearly.dataset.rows.block import Block, check_finite
from linearly.dataset.rows.column_matrix import taking_columns
from linearly.kernels.blas_threads import single_threaded_blas_unless_small
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense, drop_low_part, is_sparse
from linearly.models.base import EstimatorMixin, check_fitted, map_rows, prediction_rows
from linearly.models.label_encoding import accuracy
from linearly.models.overflow_safe_scores import linear_scores
from linearly.models.sklearn_bases import Classifier

_MAX_ROWS_AT_ONCE = 256  # rows that are scored without being cut into blocks


class LabelClassifier(EstimatorMixin, Classifier):
    """A classifier whose `score` is the accuracy of its labels."""

    classes_: NDArray[Any]

    def _score(self, X: Any, y: Any, weight: Array | None) -> float:
        return accuracy(np.asarray(self.predict(X)), y, weight, self.classes_)


class ScoreClassifier(LabelClassifier):
    """A classifier that predicts the class with the highest score."""

    _linear_in_columns: ClassVar[bool] = False  # whether scores take a `ColumnMatrix`

    def scores(self, X: Array) -> Array:
        """Return the scores of all classes, n × K, for a matrix of numbers."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            One score per class. For two classes, the score of ``classes_[1]`` minus that of ``classes_[0]``.
        """
        scores = self._all_scores(X)
        with np.errstate(over="ignore"):
            return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels. If scores are equal, the first class is predicted, or the second one if there are two classes.
        """
        scores = self._all_scores(X)
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(scores[:, 1] >= scores[:, 0]).astype(int)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _all_scores(self, X: Any) -> Array:
        return self._for_rows(X, self.scores)

    def _for_rows(self, X: Any, f: Callable[[Array], Array]) -> Array:
        """Return f of all rows, computed block by block; the error for NaN or infinity names its row and column."""
        check_fitted(self)
        estimable = self._estimable()
        small = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and 0 < len(X) <= _MAX_ROWS_AT_ONCE
        small = small and estimable is None and not hasattr(self, "feature_names_in_")
        if small and X.shape[1] == self.n_features_in_:
            # A few rows in a few microseconds: a NaN or infinity in X shows up in the result.
            with np.errstate(invalid="ignore", over="ignore"):
                with single_threaded_blas_unless_small(X.size * len(self.classes_)):
                    result = f(X)
                if isfinite(np.add.reduce(result, axis=None)):
                    return result

        def f_of_finite(block: Block) -> Array:
            matrix = features_of(block)
            with np.errstate(invalid="ignore", over="ignore"):
                part = f(matrix)
                if not np.isfinite(part.sum()):
                    check_finite(block)
            return part

        rows = prediction_rows(self, X)
        f_of_finite = taking_columns(f_of_finite) if self._linear_in_columns else f_of_finite
        return map_rows(rows, f_of_finite, cells_per_row=len(self.classes_), estimable=estimable)

    def _estimable(self) -> Callable[[Any], NDArray[np.bool_]] | None:
        """Return a function that says for which rows the fit determines the scores; None if it does for all."""
        return None


def features_of(block: Block) -> Any:
    """Return the features of a block, and its offset, if it has one, as the last column."""
    matrix = drop_low_part(block.X)
    if block.offset is None:
        return matrix
    from linearly.algorithm.logistic.objective import append_column  # loaded already: only logistic fits take offsets

    return append_column(matrix, block.offset)


def is_multilabel(y: Any) -> bool:
    """Return whether y has several columns, one per label."""
    # y itself is asked for its shape where it has one: conversion would compute a target that lives on Dask.
    shape = () if y is None else y.shape if hasattr(y, "shape") else as_array(y, "y").shape
    return len(shape) == 2 and shape[1] > 1


def multilabel_targets(y: Any) -> NDArray[Any]:
    """Return a 2-D y of 0 and 1, one column per label; the error for other values names row and column."""
    Y = as_array(dense(y), "y")
    if Y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y is {Y.dtype}. Pass a 2-D y of 0 and 1 only.")
    bad = np.argwhere((Y != 0) & (Y != 1))
    if len(bad):
        i, j = map(int, bad[0])
        raise ValueError(
            f"Unknown label type: row {i}, column {j} of a 2-D y is {Y[i, j]!r}. A 2-D y must contain only 0 and 1, "
            "one column per label (multilabel)."
        )
    return np.asarray(Y)


def softmax(scores: Array) -> Array:
    """Return probabilities proportional to exp(score), shifted by the largest so that nothing overflows."""
    E = _minus_largest(scores)
    np.exp(E, out=E)
    E /= E.sum(axis=0)
    return E.T


def linear_softmax(X: Any, coefficients: Array, constants: Array) -> Array:
    """Return the softmax of X @ coefficients + constants for a dense or sparse matrix."""
    if is_sparse(X):
        return softmax(linear_scores(X, coefficients, constants))
    found = kernels.softmax_probabilities(element_aligned(X), np.concatenate([constants[None], coefficients]))
    if np.isnan(found.sum()):
        lost = np.flatnonzero(np.isnan(found).any(axis=1))
        found[lost] = softmax(linear_scores(X[lost], coefficients, constants))
    return found


def element_aligned(X: NDArray[Any]) -> NDArray[Any]:
    """Return X, copied if its strides are not multiples of the item size, as for columns of a structured array."""
    return X if all(stride % X.itemsize == 0 for stride in X.strides) else X.copy()


def log_softmax(scores: Array) -> Array:
    """Return the logarithms of `softmax`, accurate even if the probabilities underflow."""
    L = _minus_largest(scores)
    L -= np.log(np.exp(L).sum(axis=0))
    return L.T


def _minus_largest(scores: Array) -> Array:
    """Return scores minus the largest of their row, as K × n: NumPy is fast along the long side."""
    S = np.array(scores.T, order="C")
    with np.errstate(over="ignore"):  # a difference beyond float64 becomes −∞
        S -= S.max(axis=0)
    return S
