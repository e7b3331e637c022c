"""`QuadraticDiscriminantAnalysis`: normal classes with a covariance each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from linearly import kernels
from linearly.algorithm.least_squares.whitening import Whitening, whiten
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense
from linearly.models.base import Array
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
    summary_ : ClassGrams
        One Gram of X per class. Fitted models add and subtract by it.
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
        """Return the discriminants, n × K; those of a row that all exceed float64 are given minus the largest."""
        rows: Any = dense(X)
        # Distances are taken about a common center, so that a large mean of the columns costs no digits.
        unit, K = np.ones(len(self._center)), len(self.classes_)
        distances = kernels.mahalanobis(rows, self._center, unit, self._roots, self._moved, K)
        scores = np.asarray(self._constants - 0.5 * distances)
        if not np.isfinite(best := scores.max(axis=1)).all():
            far = np.flatnonzero(~np.isfinite(best))
            excess = excess_squared_distances(rows[far], self._center, self._roots, self._moved, K)
            scores[far] = self._constants - 0.5 * excess
        return scores

    def _digits(self) -> float:
        # A class with no more rows than columns has a singular covariance, however accurate its sums are.
        parts = [part for part in self.summary_.parts if part.n > part.p]
        return min([super()._digits(), *map(digits_of_gram, parts)])

    def _set_from_summary(self) -> None:
        summary, p = self.summary_.with_common_scaling(), self.n_features_in_
        self.priors_ = self._priors()
        columns = self._useful_columns()
        pooled = summary.pooled()
        unit = pooled.scaling.scale[:p]
        square = np.ix_(columns, columns)
        beyond = float(to_float64(pooled.weight)) - len(self.classes_)
        common = pooled.centered_crossprod / (beyond if beyond > 0 else 1.0)
        if whiten(common[square]).aliased:
            common = towards_identity(common, unit, REMEDY)
        self.shrinkage_ = np.full(len(self.classes_), self.shrinkage or 0.0)
        roots, constants, covariances = [], [], []
        singular: list[tuple[int, Whitening]] = []
        for k, part in enumerate(summary.parts):
            own = part.centered_crossprod / self._divisor(k)
            covariance = own * (1 - self.shrinkage_[k]) + common * self.shrinkage_[k]
            found = whiten(covariance[square])
            if found.aliased:
                singular.append((k, found))
                self.shrinkage_[k] = REMEDY
                covariance = own * (1 - REMEDY) + common * REMEDY
                found = whiten(covariance[square])
            root = np.zeros((p, found.root.shape[1]))
            # The R of root' = QR gives the same distances, and has half as many numbers.
            (triangle,) = scipy.linalg.qr(found.root.T, mode="r")
            root[columns] = triangle[: found.root.shape[1]].T / unit[columns, None]
            roots.append(root)
            log_determinant = found.log_determinant + 2 * np.log(unit[columns]).sum()
            constants.append(np.log(self.priors_[k]) - 0.5 * log_determinant)
            with np.errstate(over="ignore"):
                covariances.append(to_float64(covariance) * unit * unit[:, None])
        if singular:
            classes = ", ".join(map(repr, self.classes_[[k for k, _ in singular]].tolist()))
            self._warn_singular(singular[0][1], columns, f"of class {classes}")
        self.means_, self.covariances_ = to_float64(summary.means), np.stack(covariances)
        self._center = self.means_.mean(axis=0)
        self._roots, self._constants = np.hstack(roots), np.array(constants)
        moved = to_float64(summary.means - self._center)
        self._moved = np.concatenate([m @ root for m, root in zip(moved, roots, strict=True)])

    def _divisor(self, k: int) -> float:
        """Return n_k − 1, the divisor of Σ_k; 1 for a single row, whose Σ_k is 0."""
        rows = float(self.summary_.weights[k])
        if self.summary_.counts[k] > 1 and rows <= 1:
            raise ValueError(
                f"The weights of class {self.classes_[k]!r} add up to {rows:g}: they count rows, and a covariance "
                "takes more than one. Multiply all weights by a constant."
            )
        return rows - 1 if self.summary_.counts[k] > 1 else 1.0
