"""`LinearDiscriminantAnalysis`: normal classes with one covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.algorithm.least_squares.whitening import whiten
from linearly.dataset.rows.block import check_finite
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array, to_float64
from linearly.kernels.matrices import dense_float64
from linearly.models.base import check_fitted, prediction_rows
from linearly.models.discriminant_base import REMEDY, DiscriminantBase, towards_identity
from linearly.models.overflow_safe_scores import linear_scores
from linearly.models.score_classifier import linear_softmax
from linearly.models.sklearn_bases import Transformer


class LinearDiscriminantAnalysis(Transformer, DiscriminantBase):
    """Linear discriminant analysis: normal classes with one covariance, so that boundaries are hyperplanes.

    Parameters
    ----------
    priors : sequence of float of shape (n_classes,), default=None
        Prior probabilities in the order of ``classes_``. The default is the share of each class.
    shrinkage : float, default=None
        Between 0 and 1: the covariance becomes (1 − s)Σ + s·(trace Σ / p)·I, a remedy if it is singular.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance within classes, with divisor n − n_classes.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Coefficients of the discriminants; for two classes, of their difference.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Constant terms of the discriminants.
    scalings_ : ndarray of shape (n_features, n_directions)
        Discriminant directions, at most n_classes − 1.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        Share of the variance between classes along each direction.
    shrinkage_ : float
        Shrinkage used: `shrinkage`, or 0.1, with a warning, if the covariance is singular.
    center_ : ndarray of shape (n_features,)
        Mean that is subtracted before `scalings_` are applied.
    class_coef_, class_constants_ : ndarray of shape (n_features, n_classes) and (n_classes,)
        Coefficients and constant terms of the scores of all classes, up to a term that the classes share.
    common_coef_ : ndarray of shape (n_features,)
        Coefficients of the shared term.
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
    QuadraticDiscriminantAnalysis : One covariance per class.
    LogisticRegression : The same form of boundary, without assuming normal classes.

    Notes
    -----
    ::

        Model       d_k(x) = x'S^-1 m_k - 0.5 m_k'S^-1 m_k + log prior_k; the class with the largest is predicted
        Objective   likelihood of normal classes with means m_k and a common covariance S
        Summary     one Gram of X per class
        Optimizer   none: means, shares, and S with divisor n - K as in R's MASS
        Passes      1   (2 if digits would be lost)

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed., section 4.3.
    .. [2] R. A. Fisher (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7, 179-188.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ly.LinearDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    @single_threaded_blas()
    def transform(self, X: Any) -> Array:
        """Return the coordinates in the discriminant directions, in which the covariance of the classes is I.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to transform.

        Returns
        -------
        ndarray of shape (n_rows, n_directions)
            Coordinates. The first direction separates the classes most.
        """
        check_fitted(self)
        parts = []
        for block in prediction_rows(self, X):
            check_finite(block)
            parts.append((dense_float64(block.X) - self.center_) @ self.scalings_)
        return np.concatenate(parts)

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
        return self._for_rows(X, lambda block: linear_softmax(block, self.class_coef_, self.class_constants_))

    def decision_function(self, X: Any) -> Array:
        """Return the discriminants.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            Discriminants d_k, minus their common part if it exceeds the float64 range. For two classes, d_1 − d_0.
        """
        scores = self._all_scores(X)
        with np.errstate(over="ignore", invalid="ignore"):
            if len(self.classes_) == 2:
                return scores[:, 1] - scores[:, 0]
            common = np.concatenate([dense_float64(block.X) @ self.common_coef_ for block in prediction_rows(self, X)])
            shared = common - 0.5 * self.center_ @ self.common_coef_
            return np.asarray(scores + np.where(np.isfinite(shared), shared, 0.0)[:, None])

    def scores(self, X: Array) -> Array:
        """Compute the discriminants minus their common part, which avoids cancellation.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Numeric features of the rows to score.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One score per class.
        """
        return linear_scores(X, self.class_coef_, self.class_constants_)

    def set_from_summary(self) -> None:
        summary, K, p = self.summary_, len(self.classes_), self.n_features_in_
        self.priors_ = self._priors()
        pooled = summary.pooled()
        rows = float(to_float64(pooled.weight)) - K
        if rows <= 0:
            raise ValueError(
                f"LDA with {K} classes needs more than {K} rows, but n_samples={pooled.n} (weights count rows). "
                "Add rows."
            )
        unit = pooled.scaling.scale[:p]
        columns = self._useful_columns()
        self.shrinkage_ = self.shrinkage or 0.0
        covariance = towards_identity(pooled.centered_crossprod / rows, unit, self.shrinkage_)
        found = whiten(covariance[columns[:, None], columns])
        if found.aliased:
            self._warn_singular(found, columns, "within classes")
            self.shrinkage_ = REMEDY
            covariance = towards_identity(covariance, unit, REMEDY)
            found = whiten(covariance[columns[:, None], columns])
        W = np.zeros((p, found.root.shape[1]))
        W[columns] = found.root / unit[columns, None]
        means = summary.means
        center = (means * self.priors_[:, None]).sum(axis=0)
        self.center_ = to_float64(center)
        # The means are double-double, so that their differences keep their digits if the columns have a large mean.
        M = to_float64(means - center) @ W
        with np.errstate(over="ignore"):  # squaring the user's units may exceed float64
            self.means_, self.covariance_ = to_float64(means), to_float64(covariance) * unit * unit[:, None]
        self._set_scores(W, M)
        self._set_directions(W, M)

    def _set_scores(self, W: Array, M: Array) -> None:
        at_center = self.center_ @ W
        coef = M @ W.T  # Σ⁻¹(μ_k − center)
        constants = -0.5 * (M**2).sum(axis=1) + np.log(self.priors_)
        self.class_coef_, self.class_constants_ = np.ascontiguousarray(coef.T), constants - M @ at_center
        self.common_coef_ = W @ at_center
        if len(self.classes_) == 2:
            self.coef_ = coef[1:] - coef[:1]
            self.intercept_ = self.class_constants_[1:] - self.class_constants_[:1]
        else:
            full = M + at_center  # W'μ_k
            self.coef_, self.intercept_ = full @ W.T, -0.5 * (full**2).sum(axis=1) + np.log(self.priors_)

    def _set_directions(self, W: Array, M: Array) -> None:
        K = len(self.classes_)
        _, size, V = np.linalg.svd(np.sqrt(self.priors_ * K / (K - 1))[:, None] * M, full_matrices=False)
        keep = min(K - 1, W.shape[1])
        self.scalings_ = W @ V[:keep].T
        self._n_features_out = keep  # scikit-learn names the columns of `transform` by it
        total = (size**2).sum()
        self.explained_variance_ratio_ = size[:keep] ** 2 / total if total > 0 else np.zeros(keep)
