"""`QuadraticDiscriminantAnalysis`: normal classes with a covariance each."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from linearly import kernels
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.rounding_bounds import MAX_COLUMNS
from linearly.algorithm.least_squares.whitening import Whitening, whiten
from linearly.kernels.double_double import Array, Numbers, to_float64
from linearly.kernels.matrices import dense
from linearly.models.discriminant_base import REMEDY, DiscriminantBase, digits_of_gram, towards_identity
from linearly.models.overflow_safe_scores import excess_squared_distances
from linearly.models.score_classifier import softmax


class QuadraticDiscriminantAnalysis(DiscriminantBase):
    """Quadratic discriminant analysis: normal classes with own covariances, so that boundaries are quadrics.

    Parameters
    ----------
    priors : sequence of float of shape (n_classes,), default=None
        Prior probabilities in the order of ``classes_``. The default is the share of each class.
    shrinkage : float, default=None
        Between 0 and 1: each covariance becomes (1 − s)Σ_k + sΣ, with the pooled Σ. With 1, QDA is LDA.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariances_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances, with divisors n_k − 1.
    shrinkage_ : ndarray of shape (n_classes,)
        Shrinkage used for each class: `shrinkage`, or 0.1, with a warning, if its covariance is singular.
    center_ : ndarray of shape (n_features,)
        Mean of the class means, subtracted before `inverse_roots_` are applied.
    inverse_roots_ : ndarray of shape (n_features, n_directions)
        Roots of the inverse covariances, one class after the other.
    whitened_means_ : ndarray of shape (n_directions,)
        Class means about the center in the coordinates of those roots.
    class_constants_ : ndarray of shape (n_classes,)
        Scores of the classes at their means.
    summary_ : ClassGrams
        One Gram matrix of X per class. Fitted models add and subtract by it.
    n_passes_ : int
        Number of passes over the rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    LinearDiscriminantAnalysis : One covariance for all classes.

    Notes
    -----
    ::

        Model       d_k(x) = -0.5 log|S_k| - 0.5 (x - m_k)'S_k^-1 (x - m_k) + log prior_k; the largest is predicted
        Objective   likelihood of normal classes with means m_k and covariances S_k
        Summary     one Gram of X per class
        Optimizer   none: means, shares, and S_k with divisor n_k - 1
        Passes      1   (2 if digits would be lost)

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed., section 4.3.
    .. [2] J. H. Friedman (1989). Regularized discriminant analysis. Journal of the American Statistical Association
       84, 165-175.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ly.QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    _fitted_attributes: ClassVar[tuple[str, ...]] = ("covariances_",)

    def predict_proba(self, X: Any) -> Array:
        """Return the posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities in the order of ``classes_``.
        """
        return self._for_rows(X, lambda block: softmax(self.scores(block)))

    def scores(self, X: Array) -> Array:
        """Compute the discriminants; the largest is subtracted if all of a row exceed float64.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Numeric features of the rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One discriminant per class.
        """
        rows: Any = dense(X)
        # Distances are taken about a common center, so that a large mean of the columns costs no digits.
        unit, K = np.ones(len(self.center_)), len(self.classes_)
        distances = kernels.mahalanobis(rows, self.center_, unit, self.inverse_roots_, self.whitened_means_, K)
        scores = np.asarray(self.class_constants_ - 0.5 * distances)
        if not np.isfinite(best := scores.max(axis=1)).all():
            far = np.flatnonzero(~np.isfinite(best))
            excess = excess_squared_distances(rows[far], self.center_, self.inverse_roots_, self.whitened_means_, K)
            scores[far] = self.class_constants_ - 0.5 * excess
        return scores

    def correct_digits(self) -> float:
        # A class with no more rows than columns has a singular covariance, however accurate its sums are.
        parts = [part for part in self.summary_.parts if part.n > part.p]
        return min([super().correct_digits(), *map(digits_of_gram, parts)])

    def set_from_summary(self) -> None:
        summary, p = self.summary_.with_common_scaling(), self.n_features_in_
        self.priors_ = self._priors()
        columns = self._useful_columns()
        pooled = summary.pooled()
        unit = pooled.scaling.scale[:p]
        square = ... if len(columns) == p else np.ix_(columns, columns)
        common: Numbers | None = None  # the pooled covariance, towards which singular ones are shrunk
        self.shrinkage_ = np.full(len(self.classes_), self.shrinkage or 0.0)
        roots, constants, covariances = [], [], []
        singular: list[tuple[int, Whitening]] = []
        for k, part in enumerate(summary.parts):
            own = part.centered_crossprod / self._divisor(k)
            covariance = own
            if self.shrinkage:
                common = self._common_covariance(pooled, columns, square) if common is None else common
                covariance = own * (1 - self.shrinkage) + common * self.shrinkage
            found = whiten(covariance[square])
            if not found.aliased and part.n <= len(columns) and not self.shrinkage_[k]:
                # n rows have at most n − 1 independent deviations; after a subtraction rounding errors hide it.
                found = replace(found, aliased=tuple(range(max(part.n - 1, 0), len(columns))))
            if found.aliased:
                singular.append((k, found))
                self.shrinkage_[k] = REMEDY
                common = self._common_covariance(pooled, columns, square) if common is None else common
                covariance = own * (1 - REMEDY) + common * REMEDY
                found = whiten(covariance[square])
            root = np.zeros((p, found.root.shape[1]))
            # The R of root' = QR gives the same distances, and has half as many numbers.
            root[columns] = _triangle(found.root.T).T / unit[columns, None]
            roots.append(root)
            log_determinant = found.log_determinant + 2 * np.log(unit[columns]).sum()
            constants.append(np.log(self.priors_[k]) - 0.5 * log_determinant)
            with np.errstate(over="ignore"):
                covariances.append(to_float64(covariance) * unit * unit[:, None])
        if singular:
            classes = ", ".join(map(repr, self.classes_[[k for k, _ in singular]].tolist()))
            self._warn_singular(singular[0][1], columns, f"of class {classes}")
        means = summary.means
        self.means_, self.covariances_ = to_float64(means), np.stack(covariances)
        self.center_ = self.means_.mean(axis=0)
        self.inverse_roots_, self.class_constants_ = np.hstack(roots), np.array(constants)
        moved = to_float64(means - self.center_)
        self.whitened_means_ = np.concatenate([m @ root for m, root in zip(moved, roots, strict=True)])

    def _common_covariance(self, pooled: Gram, columns: NDArray[np.intp], square: Any) -> Numbers:
        """Return the pooled covariance in its scaling, itself shrunk towards the identity if it is singular."""
        K = len(self.classes_)
        beyond = float(to_float64(pooled.weight)) - K
        common = pooled.centered_crossprod / (beyond if beyond > 0 else 1.0)
        if whiten(common[square]).aliased or pooled.n - K < len(columns):
            return towards_identity(common, pooled.scaling.scale[: pooled.p], REMEDY)
        return common

    def _divisor(self, k: int) -> float:
        """Return n_k − 1, the divisor of Σ_k; 1 for a single row, whose Σ_k is 0."""
        rows = float(self.summary_.weights[k])
        if self.summary_.counts[k] > 1 and rows <= 1:
            raise ValueError(
                f"The weights of class {self.classes_[k]!r} add up to {rows:g}, but a covariance needs more than 1 "
                "because weights count rows. Multiply all weights by a constant."
            )
        return rows - 1 if self.summary_.counts[k] > 1 else 1.0


def _triangle(A: Array) -> Array:
    """Return the R factor of a square A. LAPACK directly: the checks of SciPy take ten times as long on few columns."""
    if len(A) > MAX_COLUMNS:
        (R,) = scipy.linalg.qr(A, mode="r")
        return np.asarray(R)
    factor, _, _, _ = lapack.dgeqrf(A)
    return np.where(_upper_triangle(len(A)), factor, 0.0)


@lru_cache(maxsize=16)
def _upper_triangle(p: int) -> NDArray[np.bool_]:
    return np.triu(np.ones((p, p), dtype=bool))
