"""The base of linear and quadratic discriminant analysis: normal classes from one Gram per class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.rounding_bounds import NEGLIGIBLE, digits_of_error
from linearly.algorithm.least_squares.whitening import Whitening, whiten
from linearly.dataset.rows.array_checks import as_numeric_array
from linearly.exceptions import warn_at_caller
from linearly.formatting import describe_dependent
from linearly.kernels.double_double import Array, Numbers, to_float64
from linearly.models.base import column_names, list_columns
from linearly.models.class_gram_classifier import ClassGramClassifier
from linearly.models.label_encoding import check_no_empty_class
from linearly.models.parameter_checks import check_fraction
from linearly.models.score_classifier import log_softmax

REMEDY = 0.1  # the shrinkage that is used, with a warning, if a covariance is singular and none was chosen


class DiscriminantBase(ClassGramClassifier):
    """Priors, shrinkage, correct digits and probabilities of a classifier with normal classes."""

    def __init__(self, priors: Any = None, shrinkage: float | None = None) -> None:
        self.priors = priors
        self.shrinkage = shrinkage

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the posterior probabilities, accurate even if the probabilities underflow.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Log-probabilities in the order of ``classes_``.
        """
        return log_softmax(self._all_scores(X))

    def check_parameters(self) -> None:
        if self.shrinkage is not None:
            check_fraction("shrinkage", self.shrinkage)

    def _priors(self) -> Array:
        check_no_empty_class(self.classes_, self.summary_.counts)
        if self.priors is None:
            return self.summary_.priors
        try:
            priors = np.array(as_numeric_array(self.priors, "priors"), dtype=np.float64)  # a copy
        except (ValueError, TypeError):
            priors = np.empty(0)
        if priors.shape != (len(self.classes_),) or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-8:
            raise ValueError(
                f"priors must be {len(self.classes_)} positive numbers that add up to 1, one for each of "
                f"{self.classes_.tolist()}, not {self.priors!r}."
            )
        return priors

    def correct_digits(self) -> float:
        pooled = self.summary_.pooled()
        found = whiten(pooled.centered_crossprod, pooled.rounding[1:])
        whole = self.summary_.whitening_of_total
        digits = [whole.digits if whole.sure else 0.0, found.digits if found.sure else 0.0]
        return min([*digits, self._digits_of_means(pooled, found)])

    def _digits_of_means(self, pooled: Gram, found: Whitening) -> float:
        """Return the correct digits of the distance of each class mean from the mean of all rows."""
        parts = [part.rescaled(pooled.scaling) for part in self.summary_.parts if part.n]
        apart = np.stack([to_float64(part.mean - pooled.mean) for part in parts]) @ found.root
        bound = np.stack([part.rounding for part in parts])
        weights = np.array([to_float64(part.weight) for part in parts])
        error = np.sqrt(bound[:, 0] * (bound[:, 1:] @ (found.root**2).sum(axis=1))) / weights
        # A distance smaller than its standard error needs no correct digits.
        least = NEGLIGIBLE / math.sqrt(float(to_float64(pooled.weight)))
        return digits_of_error(float((error / np.maximum(np.sqrt((apart**2).sum(axis=1)), least)).max()))

    def _enough_rows(self) -> bool:
        """Return whether each class has a row, and some class a further one."""
        return bool((self.summary_.counts > 0).all() and self.summary_.weights.sum() > len(self.classes_))

    def _useful_columns(self) -> NDArray[np.intp]:
        """Return the columns that are not combinations of others over all rows; warn of the rest."""
        aliased = self.summary_.whitening_of_total.aliased
        if not aliased:
            return np.arange(self.n_features_in_)
        dependent, them = [column_names(self)[j] for j in aliased], "it" if len(aliased) == 1 else "them"
        warn_at_caller(
            f"{describe_dependent(dependent)}, so the fit leaves {them} out (coefficient 0). Drop {them}.",
            np.exceptions.RankWarning,
        )
        return np.setdiff1d(np.arange(self.n_features_in_), aliased)

    def _warn_singular(self, found: Whitening, columns: NDArray[np.intp], whose: str) -> None:
        dependent = list_columns(self, [int(columns[j]) for j in found.aliased])
        verb = "does" if len(found.aliased) == 1 else "do"
        warn_at_caller(
            f"The covariance {whose} is singular, because {dependent} {verb} not vary independently there. "
            f"shrinkage={REMEDY} was used. Set shrinkage, drop columns, or add rows.",
            np.exceptions.RankWarning,
        )


def digits_of_gram(gram: Gram) -> float:
    """Return the correct digits of an inverse covariance; 0 if its rank is not certain."""
    found = whiten(gram.centered_crossprod, gram.rounding[1:])
    return found.digits if found.sure else 0.0


def towards_identity(covariance: Numbers, unit: Array, s: float) -> Numbers:
    """Return (1 − s)Σ + s·(trace Σ / p)·I in the user's units, for a covariance in units of `unit`."""
    if s == 0:
        return covariance
    variances = np.diagonal(to_float64(covariance)) * unit**2
    level = variances.mean() if variances.any() else 1.0
    return covariance * (1 - s) + np.diag(level / unit**2) * s
