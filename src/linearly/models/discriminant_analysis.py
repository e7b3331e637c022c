"""Gaussian discriminants: LDA and QDA, read off one Gram a class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from linearly import kernels
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.rounding_bounds import NEGLIGIBLE, digits_of_error
from linearly.algorithm.least_squares.whitening import Whitening, whiten
from linearly.dataset.rows.array_checks import as_numeric_array
from linearly.dataset.rows.block import check_finite
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.exceptions import warn_at_caller
from linearly.kernels.double_double import Numbers, to_float64
from linearly.kernels.matrices import dense, dense_float64
from linearly.models.base import Array, column_names, prediction_rows
from linearly.models.class_gram_classifier import ClassGramClassifier
from linearly.models.label_encoding import check_no_empty_class
from linearly.models.overflow_safe_scores import linear_scores, smallest_distance
from linearly.models.parameter_checks import check_fraction
from linearly.models.score_classifier import linear_softmax, log_softmax, softmax

REMEDY = 0.1  # the shrinkage that is used, and said, where a covariance is singular and none was chosen


class Discriminant(ClassGramClassifier):
    """What LDA and QDA share: priors, shrinkage, and columns that tell nothing."""

    priors: Any
    shrinkage: float | None

    def _check_parameters(self) -> None:
        if self.shrinkage is not None:
            check_fraction("shrinkage", self.shrinkage)

    def _priors(self) -> Array:
        check_no_empty_class(self.classes_, self.summary_.counts)
        if self.priors is None:
            return self.summary_.priors
        priors = np.array(
            as_numeric_array(self.priors, "priors"), dtype=np.float64
        )  # later changes of it are the user's
        if priors.shape != (len(self.classes_),) or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-8:
            raise ValueError(
                f"priors must be {len(self.classes_)} positive numbers that add up to 1, one for each of "
                f"{self.classes_.tolist()}, not {self.priors!r}."
            )
        return priors

    def _digits(self) -> float:
        pooled = self.summary_.pooled()
        found = whiten(pooled.centered_crossprod, pooled.rounding[1:])
        digits = [_digits_of(self.summary_.total()), found.digits if found.sure else 0.0]
        return min([*digits, self._digits_of_means(pooled, found)])

    def _digits_of_means(self, pooled: Gram, found: Whitening) -> float:
        """Digits of the distance of each class mean from that of all rows, which the coefficients are read from."""
        parts = [part.rescaled(pooled.scaling) for part in self.summary_.parts if part.n]
        apart = np.stack([to_float64(part.mean - pooled.mean) for part in parts]) @ found.root
        bound, weights = (
            np.stack([part.rounding for part in parts]),
            np.array([to_float64(part.weight) for part in parts]),
        )
        error = np.sqrt(bound[:, 0] * (bound[:, 1:] @ (found.root**2).sum(axis=1))) / weights
        # A distance that chance alone would exceed has no digits of its own.
        least = NEGLIGIBLE / math.sqrt(float(to_float64(pooled.weight)))
        return digits_of_error(float((error / np.maximum(np.sqrt((apart**2).sum(axis=1)), least)).max()))

    def _enough_rows(self) -> bool:
        """A row of each class, and one more to vary by."""
        return bool((self.summary_.counts > 0).all() and self.summary_.weights.sum() > len(self.classes_))

    def _useful_columns(self) -> NDArray[np.intp]:
        """Columns that are not constant or combinations of others over all rows; the rest is named and left out."""
        aliased = whiten(self.summary_.total().centered_crossprod).aliased
        if aliased:
            names = column_names(self)
            told = ", ".join(repr(names[j]) for j in aliased[:8])
            warn_at_caller(
                f"{told}: constant or a combination of the columns before, so it tells nothing about the classes. "
                "It is left out (coefficient 0).",
                np.exceptions.RankWarning,
            )
        return np.setdiff1d(np.arange(self.n_features_in_), aliased)

    def _warn_singular(self, found: Whitening, columns: NDArray[np.intp], whose: str) -> None:
        names = column_names(self)
        told = ", ".join(repr(names[columns[j]]) for j in found.aliased[:8])
        warn_at_caller(
            f"The covariance {whose} is singular: {told} does not vary there on its own. shrinkage={REMEDY} was used; "
            "set shrinkage yourself, drop the column, or add rows.",
            np.exceptions.RankWarning,
        )


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):  # type: ignore[misc]
    """LDA: classes are normal with means of their own and one covariance; the boundary is a hyperplane.

        Model class   δ_k(x) = x'Σ⁻¹μ_k − ½μ_k'Σ⁻¹μ_k + log π_k       (S2)
        Objective     likelihood of normal classes with a common Σ
        Summary       ByClass: one Gram of X a label
        Optimizer     none: means, shares, and Σ with divisor N − K, as R's MASS has it
        Passes        1   (2 where digits would be lost)

    Parameters
    ----------
    priors : sequence of float, default=None
        π_k in the order of ``classes_``; by default the share of each class.
    shrinkage : float, default=None
        Between 0 and 1: Σ becomes (1 − s)Σ + s·(trace Σ / p)·I, the remedy for a singular covariance.

    Attributes
    ----------
    classes_, priors_, means_, covariance_ : labels, π, μ (K × p) and Σ.
    coef_, intercept_ : of δ_k (K × p and K), or for two classes of the difference δ_1 − δ_0.
    scalings_, explained_variance_ratio_ : the discriminant directions, and the share of each in the whole.
    shrinkage_ : the shrinkage used: ``shrinkage``, or 0.1, with a warning, where the covariance was singular.
    summary_, n_passes_ : what the model was read from, and in how many passes over the rows.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ly.LinearDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    def __init__(self, priors: Any = None, shrinkage: float | None = None) -> None:
        self.priors = priors
        self.shrinkage = shrinkage

    @single_threaded_blas()
    def transform(self, X: Any) -> Array:
        """Coordinates in the discriminant directions, in which classes are spheres: n × min(K − 1, p)."""
        check_is_fitted(self)
        rows = prediction_rows(self, X)
        parts = []
        for block in rows:
            check_finite(block)
            parts.append((dense_float64(block.X) - self._center) @ self.scalings_)
        return np.concatenate(parts)

    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities, n × K."""
        return self._for_rows(X, lambda block: linear_softmax(block, self._coefficients, self._constants))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the posterior probabilities, exact even where the probabilities underflow."""
        return log_softmax(self._all_scores(X))

    def decision_function(self, X: Any) -> Array:
        """δ_k as printed in S2, n × K, less what all share if that is beyond float64; for two classes δ_1 − δ_0."""
        scores = self._all_scores(X)
        with np.errstate(over="ignore", invalid="ignore"):
            if len(self.classes_) == 2:
                return scores[:, 1] - scores[:, 0]
            common = np.concatenate([dense_float64(block.X) @ self._common for block in prediction_rows(self, X)])
            shared = common - 0.5 * self._center @ self._common
            return np.asarray(scores + np.where(np.isfinite(shared), shared, 0.0)[:, None])

    def scores(self, X: Array) -> Array:
        """δ_k less what all classes share, for a block of numbers: an offset of the columns cannot drown it."""
        return linear_scores(X, self._coefficients, self._constants)

    def _set_from_summary(self) -> None:
        summary, K, p = self.summary_, len(self.classes_), self.n_features_in_
        self.priors_ = self._priors()
        pooled = summary.pooled()
        rows = float(to_float64(pooled.weight)) - K
        if rows <= 0:
            raise ValueError(f"LDA of {K} classes needs more than {K} rows; n_samples={pooled.n} (weights count rows).")
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
        self._center = to_float64(center)
        # The digits of the differences of means survive an offset because the means are double-double.
        M = to_float64(means - center) @ W
        with np.errstate(over="ignore"):  # a square of the user's units may leave float64
            self.means_, self.covariance_ = to_float64(means), to_float64(covariance) * unit * unit[:, None]
        self._read_scores(W, M)
        self._read_directions(W, M)

    def _read_scores(self, W: Array, M: Array) -> None:
        at_center = self._center @ W
        coef = M @ W.T  # Σ⁻¹(μ_k − center)
        constants = -0.5 * (M**2).sum(axis=1) + np.log(self.priors_)
        self._coefficients, self._constants = np.ascontiguousarray(coef.T), constants - M @ at_center
        self._common = W @ at_center
        if len(self.classes_) == 2:
            self.coef_ = coef[1:] - coef[:1]
            self.intercept_ = self._constants[1:] - self._constants[:1]
        else:
            full = M + at_center  # W'μ_k
            self.coef_, self.intercept_ = full @ W.T, -0.5 * (full**2).sum(axis=1) + np.log(self.priors_)

    def _read_directions(self, W: Array, M: Array) -> None:
        K = len(self.classes_)
        _, size, V = np.linalg.svd(np.sqrt(self.priors_ * K / (K - 1))[:, None] * M, full_matrices=False)
        keep = min(K - 1, W.shape[1])
        self.scalings_ = W @ V[:keep].T
        self._n_features_out = keep  # what scikit-learn names the columns of `transform` by
        total = (size**2).sum()
        self.explained_variance_ratio_ = size[:keep] ** 2 / total if total > 0 else np.zeros(keep)


class QuadraticDiscriminantAnalysis(Discriminant):
    """QDA: classes are normal with means and covariances of their own; the boundary is a quadric.

        Model class   δ_k(x) = −½log|Σ_k| − ½(x − μ_k)'Σ_k⁻¹(x − μ_k) + log π_k
        Objective     likelihood of normal classes
        Summary       ByClass: one Gram of X a label
        Optimizer     none: means, shares, and Σ_k with divisor n_k − 1
        Passes        1   (2 where digits would be lost)

    Parameters
    ----------
    priors : sequence of float, default=None
        π_k in the order of ``classes_``; by default the share of each class.
    shrinkage : float, default=None
        Between 0 and 1: Σ_k becomes (1 − s)Σ_k + sΣ with the pooled Σ. With 1 QDA is LDA.

    Attributes
    ----------
    classes_, priors_, means_, covariances_ : labels, π, μ (K × p) and Σ_k (K × p × p).
    shrinkage_ : the shrinkage used for each class: 0.1, with a warning, where its covariance was singular.
    summary_, n_passes_ : what the model was read from, and in how many passes over the rows.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ly.QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    def __init__(self, priors: Any = None, shrinkage: float | None = None) -> None:
        self.priors = priors
        self.shrinkage = shrinkage

    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities, n × K."""
        return self._for_rows(X, lambda block: softmax(self.scores(block)))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the posterior probabilities, exact even where the probabilities underflow."""
        return log_softmax(self._all_scores(X))

    def scores(self, X: Array) -> Array:
        """δ_k for a block of numbers; of a row whose are all beyond float64, less what all share."""
        rows: Any = dense(X)
        # About a common centre, so that an offset of the columns costs no digits; all classes in one pass.
        scaling = self._center, np.ones(len(self._center))
        K = len(self.classes_)
        scores = np.asarray(self._constants - 0.5 * kernels.mahalanobis(rows, *scaling, self._roots, self._moved, K))
        if not np.isfinite(best := scores.max(axis=1)).all():
            far = np.flatnonzero(~np.isfinite(best))
            scores[far] = self._constants - 0.5 * smallest_distance(
                rows[far], self._center, self._roots, self._moved, K
            )
        return scores

    def _digits(self) -> float:
        # A class of no more rows than columns has a singular covariance, however well it is known.
        parts = [part for part in self.summary_.parts if part.n > part.p]
        return min([super()._digits(), *map(_digits_of, parts)])

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
            own = part.centered_crossprod / self._rows_beyond_one(k)
            covariance = own * (1 - self.shrinkage_[k]) + common * self.shrinkage_[k]
            found = whiten(covariance[square])
            if found.aliased:
                singular.append((k, found))
                self.shrinkage_[k] = REMEDY
                covariance = own * (1 - REMEDY) + common * REMEDY
                found = whiten(covariance[square])
            root = np.zeros((p, found.root.shape[1]))
            # Distances are the same by the triangle R of root' = QR, and R has half as many numbers.
            (triangle,) = scipy.linalg.qr(found.root.T, mode="r")
            root[columns] = triangle[: found.root.shape[1]].T / unit[columns, None]
            roots.append(root)
            log_determinant = found.log_determinant + 2 * np.log(unit[columns]).sum()
            constants.append(np.log(self.priors_[k]) - 0.5 * log_determinant)
            with np.errstate(over="ignore"):
                covariances.append(to_float64(covariance) * unit * unit[:, None])
        if singular:
            told = ", ".join(map(repr, self.classes_[[k for k, _ in singular]].tolist()))
            self._warn_singular(singular[0][1], columns, f"of class {told}")
        self.means_, self.covariances_ = to_float64(summary.means), np.stack(covariances)
        self._center = self.means_.mean(axis=0)
        self._roots, self._constants = np.hstack(roots), np.array(constants)
        moved = to_float64(summary.means - self._center)
        self._moved = np.concatenate([m @ root for m, root in zip(moved, roots, strict=True)])

    def _rows_beyond_one(self, k: int) -> float:
        """n_k − 1, the divisor of Σ_k; 1 for a single row, whose Σ_k is 0."""
        rows = float(self.summary_.weights[k])
        if self.summary_.counts[k] > 1 and rows <= 1:
            raise ValueError(
                f"The weights of class {self.classes_[k]!r} add up to {rows:g}: they count rows, and a covariance "
                "takes more than one. Multiply all weights by a constant."
            )
        return rows - 1 if self.summary_.counts[k] > 1 else 1.0


def _digits_of(gram: Gram) -> float:
    found = whiten(gram.centered_crossprod, gram.rounding[1:])
    return found.digits if found.sure else 0.0


def towards_identity(covariance: Numbers, unit: Array, s: float) -> Numbers:
    """(1 − s)Σ + s·(trace Σ / p)·I in the user's units, for a covariance measured in `unit`."""
    if s == 0:
        return covariance
    variances = np.diagonal(to_float64(covariance)) * unit**2
    level = variances.mean() if variances.any() else 1.0
    return covariance * (1 - s) + np.diag(level / unit**2) * s
