"""Fit families of models of growing complexity from one Gram.

The Gram of the highest polynomial degree contains those of lower degrees, and one eigendecomposition gives every ridge
penalty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.ridge_cv import RidgePath, means, user_units
from linearly.dataset.rows.block import as_rows
from linearly.kernels.double_double import Array


@dataclass(frozen=True, slots=True, eq=False)
class ModelFamily:
    """Models of growing complexity, by ``degree`` or by ``alpha``, on one basis of the features."""

    complexity: str
    levels: Array  # degrees or alphas
    basis: Array  # n × p
    polynomial: PolynomialFamily | None  # of the basis, if it is polynomial

    @staticmethod
    def of(x: Any, degrees: Any, alphas: Any, degree: int | None) -> ModelFamily:
        """Return polynomials of each of the degrees, or ridge with each of the alphas, on X or on polynomials."""
        X = np.asarray(x, dtype=np.float64)
        if X.ndim not in (1, 2) or len(X) < 3:
            raise ValueError(
                f"x must be one column or a matrix with at least three rows, not an array of shape {X.shape}."
            )
        if not np.isfinite(X).all():
            raise ValueError(
                f"x contains NaN or infinity in row {int(np.argwhere(~np.isfinite(X))[0][0])}. Drop the row."
            )
        if alphas is not None and degrees is not None:
            raise ValueError("degrees= and alphas= cannot be combined. Pass one of the two.")
        if alphas is None:
            levels = np.asarray(list(range(11)) if degrees is None else list(degrees))
            if levels.ndim != 1 or len(levels) == 0 or levels.dtype.kind not in "iu" or (levels < 0).any():
                raise ValueError(f"degrees must be one or more integers of at least 0, not {degrees!r}.")
            polynomial = PolynomialFamily.of(X, int(levels.max()), orthogonal=True)
            return ModelFamily("degree", levels, polynomial.evaluate(X), polynomial)
        levels = np.asarray(list(alphas), dtype=np.float64)
        if levels.ndim != 1 or len(levels) == 0 or not ((levels >= 0) & (levels < np.inf)).all():
            raise ValueError(f"alphas must be one or more numbers of at least 0, not {alphas!r}.")
        if degree is None:
            return ModelFamily("alpha", levels, X if X.ndim == 2 else X[:, None], None)
        polynomial = PolynomialFamily.of(X, degree, orthogonal=False)
        return ModelFamily("alpha", levels, polynomial.evaluate(X), polynomial)

    def design(self, at: Any) -> Array:
        """Return the basis at other points."""
        points = np.asarray(at, dtype=np.float64)
        if self.polynomial is not None:
            return self.polynomial.evaluate(points)
        return points if points.ndim == 2 else points[:, None]

    def gram(self, Y: Array, weight: Array | None = None) -> Gram:
        """Return the summary that all levels are solved from."""
        return as_rows(self.basis, Y, weight).reduce(Gram.of)

    def fits(self, gram: Gram) -> Iterator[tuple[Array, Array]]:
        """Yield coefficients (p × k) and intercepts (k) for each level."""
        if self.complexity == "alpha":
            path = RidgePath.of(gram, True)
            B = path.coefficients(self.levels)
            yield from ((B[:, a], path.y_mean - path.mean @ B[:, a]) for a in range(len(self.levels)))
            return
        S, C, _ = user_units(gram, True)
        mean, y_mean = means(gram)
        for degree in self.levels:
            coef = np.zeros_like(C)
            coef[:degree] = _solve(S[:degree, :degree], C[:degree])
            yield coef, y_mean - mean @ coef

    def residual_variance(self, y: Array) -> float:
        """Return σ² of the most flexible model."""
        gram = self.gram(y)
        if self.complexity == "alpha":
            return float(gram.solve(float(self.levels.min())).sigma2[0])
        return float(gram.select(np.arange(self.levels.max())).solve().sigma2[0])


@dataclass(frozen=True, slots=True, eq=False)
class PolynomialFamily:
    """Polynomials of degree 1 … D whose first d span, with a constant, all of degree d.

    They are Legendre's polynomials of x scaled to [−1, 1], or polynomials that are orthogonal on the rows, so that a
    resample of the rows has a Gram near the identity. The Gram of powers has condition 1e16 at degree 12.
    """

    middle: float
    half: float
    change: Array  # (D + 1) × D, of basis from 1 and Legendre's polynomials

    @staticmethod
    def of(X: Array, degree: int, *, orthogonal: bool) -> PolynomialFamily:
        """Return Legendre's polynomials, or the polynomials that are orthogonal on these rows."""
        if X.ndim == 2 and X.shape[1] != 1:
            raise ValueError(f"x has {X.shape[1]} columns, but a polynomial requires one. Pass one column.")
        if not isinstance(degree, (int, np.integer)) or degree < 1 - orthogonal:
            raise ValueError(f"degree must be an integer of at least 1, not {degree!r}.")
        distinct = len(np.unique(X))
        if degree >= distinct:
            raise ValueError(
                f"Degree {degree} needs more than {degree} different values of x, but there are "
                f"{distinct}. Choose a lower degree."
            )
        low, high = float(X.min()), float(X.max())
        legendre = PolynomialFamily((low + high) / 2, (high - low) / 2 or 1.0, np.eye(degree + 1)[:, 1:])
        if not orthogonal:
            return legendre
        R = np.linalg.qr(np.hstack([np.ones((X.size, 1)), legendre.evaluate(X)]), mode="r")
        return replace(legendre, change=np.sqrt(X.size) * np.linalg.inv(R)[:, 1:])

    def evaluate(self, x: Array) -> Array:
        """Return the polynomials at x, n × D."""
        legendre = np.polynomial.legendre.legvander((x.ravel() - self.middle) / self.half, len(self.change) - 1)
        return np.asarray(legendre @ self.change)


def _solve(S: Array, C: Array) -> Array:
    """Solve least squares from cross-products; of smallest norm if a resample has too few different rows."""
    try:
        L = np.linalg.cholesky(S)
        if (np.diagonal(L) ** 2 > 1e-10 * np.diagonal(S)).all():
            return np.asarray(np.linalg.solve(S, C))
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(S, C, rcond=1e-10)[0])
