"""The base of `ElasticNet` and `ElasticNetCV`: predictions, penalties, and the coefficients from a summary."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from linearly.algorithm.elastic_net.active_set import minimize
from linearly.algorithm.elastic_net.optimality import OptimalityCertificate
from linearly.algorithm.elastic_net.quadratic_loss import Penalty, QuadraticLoss
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solver import check_has_rows_and_targets, method_of_summary
from linearly.dataset.rows.block import Block, check_finite
from linearly.exceptions import warn_at_caller
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import drop_low_part
from linearly.models.base import (
    EstimatorMixin,
    MergeableMixin,
    check_fitted,
    column_names,
    describe_columns,
    map_rows,
    prediction_rows,
)
from linearly.models.parameter_checks import check_several_nonnegative
from linearly.models.sklearn_bases import Regressor


class ElasticNetBase(EstimatorMixin, MergeableMixin, Regressor):
    """A sparse linear model that is solved from a summary; subclasses differ in how they choose the penalty."""

    _private_state: ClassVar[tuple[str, ...]] = ("_column_labels", "_centre")
    fit_intercept: bool
    standardize: bool
    penalty_weights: Any
    summary_: Gram | QRFactor
    n_passes_: int
    multi_output_: bool
    _centre: tuple[Array, Any] | None  # means of X and y, if b + x'w is a small difference of large numbers

    def predict(self, X: Any) -> Array:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            Predicted values. A column beside the rows if those are on a cluster.
        """
        check_fitted(self)
        return map_rows(prediction_rows(self, X), self._predict_block)

    def _predict_block(self, block: Block) -> Array:
        check_finite(block)
        X, offset = drop_low_part(block.X), 0.0 if block.offset is None else block.offset
        if self._centre is None:
            return np.asarray(X @ self.coef_.T + self.intercept_ + offset)
        return np.asarray((X - self._centre[0]) @ self.coef_.T + self._centre[1] + offset)

    @property
    def centre_(self) -> tuple[Array, Any] | None:
        """Means of X and y about which predictions are computed; None if b + x'w loses no digits."""
        return self._centre

    @property
    def certificate_(self) -> OptimalityCertificate:
        """Proof, in rational arithmetic, that the coefficients are optimal for the summary of the rows."""
        check_fitted(self)
        return OptimalityCertificate(
            self.summary_,
            bool(self.fit_intercept),
            self.penalty_,
            tuple(map(str, column_names(self))),
            np.atleast_2d(self.coef_),
        )

    def _penalty_of(self, summary: Gram | QRFactor, alpha: float, l1_ratio: float) -> Penalty:
        """Return the penalty with a factor for each coefficient, by `penalty_weights` and `standardize`."""
        p = summary.p
        factors = np.ones(p)
        if self.penalty_weights is not None:
            factors = check_several_nonnegative("penalty_weights", self.penalty_weights)
            if len(factors) != p:
                raise ValueError(
                    f"penalty_weights has {len(factors)} numbers, but X has {p} columns. Pass one number per column."
                )
        if not self.standardize:
            return Penalty(alpha, l1_ratio, factors, factors)
        deviation = summary.centered_norms / np.sqrt(float(np.asarray(summary.weight)))
        return Penalty(alpha, l1_ratio, factors * deviation, factors * deviation**2)

    def residual_squares(self) -> tuple[Array, Array]:
        """Return the residual and total sums of squares of each target, from the summary.

        Returns
        -------
        tuple of ndarray of shape (n_targets,)
            Residual sums of squares, and sums of squares about the mean, or about zero without an intercept.
        """
        loss = QuadraticLoss.of(self.summary_, bool(self.fit_intercept))
        W = np.atleast_2d(self.coef_).T * loss.unit[:, None] / loss.y_unit
        every = np.arange(loss.p)
        rss = [loss.residual_squares(w, t, loss.gradient(w, t, every)) for t, w in enumerate(W.T)]
        return np.array(rss) * loss.y_unit**2, loss.total * loss.y_unit**2

    def _check_summary(self, least: int = 2) -> None:
        check_has_rows_and_targets(self.summary_)
        if self.summary_.n < least:
            raise ValueError(
                "n_samples=1 row with positive weight, but a penalised fit needs at least two rows. Add rows."
            )

    def set_from_summary(self, alpha: float, l1_ratio: float) -> None:
        """Set the fitted attributes from ``summary_``, for a penalty.

        Parameters
        ----------
        alpha : float
            The penalty.
        l1_ratio : float
            Share of the absolute values in the penalty.
        """
        loss = QuadraticLoss.of(self.summary_, bool(self.fit_intercept))
        penalty = self._penalty_of(self.summary_, alpha, l1_ratio)
        k = len(loss.total)
        W, gaps, violations, tied = np.zeros((loss.p, k)), np.zeros(k), np.zeros(k), set[int]()
        for t in range(k):
            lam, mu = loss.penalties(penalty, t)
            found = minimize(loss, t, lam, mu)
            W[:, t], violations[t] = found.w, found.violation(lam, mu)
            with np.errstate(over="ignore"):
                gaps[t] = found.dual_gap(loss, t, lam, mu) * np.square(loss.y_unit[t])
            tied |= set(found.ties(loss, lam, mu).tolist())
        coef, intercept = loss.coefficients(W)
        several = self.multi_output_ or k > 1
        self.penalty_, self.method_ = penalty, method_of_summary(self.summary_)
        self.coef_: Array = coef.T.copy() if several else coef[:, 0].copy()
        self.intercept_: Any = (intercept if several else float(intercept[0])) if self.fit_intercept else 0.0
        if several and not self.fit_intercept:
            self.intercept_ = np.zeros(k)
        large = np.abs(loss.mean) @ np.abs(coef) > _FAR * (
            np.abs(loss.y_mean) + np.sqrt(loss.total / loss.weight) * loss.y_unit
        )
        self._centre = (loss.mean, loss.y_mean if several else loss.y_mean[0]) if large.any() else None
        self.active_ = np.flatnonzero((coef != 0).any(axis=1))
        self.dual_gap_: Any = gaps if several else float(gaps[0])
        self.kkt_: Any = violations if several else float(violations[0])
        self._warn_about_columns(loss, sorted(tied))

    def _warn_about_columns(self, loss: QuadraticLoss, tied: list[int]) -> None:
        constant = np.flatnonzero(loss.diagonal == 0) if self.fit_intercept else np.empty(0, dtype=int)
        for columns, what in ((constant, "constant, so the coefficient is 0. Drop constant columns"), (tied, _TIED)):
            if len(columns):
                warn_at_caller(f"{describe_columns(self, list(columns))} {what}.", np.exceptions.RankWarning)


_FAR = 1e3  # size of x'w at the mean over that of y, from which predictions are computed about the mean
_TIED = (
    "tied with active columns (copies or linear combinations of them), so the solution is not unique. Drop copies, or "
    "set l1_ratio below 1"
)
