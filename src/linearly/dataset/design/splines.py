"""Spline terms as R's splines::bs and ns: bs(x, df=5), ns(x, df=4), ns(x, knots=c(1, 2, 3)).

Knots that are not given are quantiles of all training rows, whatever the blocks: one pass counts the distinct values.
Beyond the boundary knots bs() continues its outer polynomials and ns() is a straight line, as in R.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from linearly.dataset.design.transforms import ExpressionFactor, check_pass, evaluate_finite, present_values
from linearly.dataset.formula.expression import Number
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.double_double import Array

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

MAX_COLUMNS = 100  # of a spline
MAX_DEGREE = 10
_MAX_DISTINCT = 2**24  # values that are counted for the quantiles: 256 MB


@dataclass(frozen=True)
class Spline(ExpressionFactor):
    """A B-spline (`natural` False) or natural cubic spline of an expression, without the constant unless `intercept`.

    Knots are known when the factor is fitted: `inner` between the two `boundary` knots. `ends` are boundary knots that
    are given; otherwise they are the smallest and the largest value.
    """

    natural: bool
    degree: int
    columns: int | None = None  # df
    given: tuple[float, ...] = ()  # inner knots, if they are given
    inner: tuple[float, ...] = ()
    boundary: tuple[float, ...] = ()
    ends: tuple[float, ...] = ()
    intercept: bool = False

    @property
    def label(self) -> str:
        parts = [str(self.expression)]
        if self.given:
            parts.append(f"knots=c({', '.join(str(Number(knot)) for knot in self.given)})")
        elif self.columns is not None:
            parts.append(f"df={self.columns}")
        if not self.natural and self.degree != 3:
            parts.append(f"degree={self.degree}")
        if self.ends:
            parts.append(f"Boundary.knots=c({', '.join(str(Number(knot)) for knot in self.ends)})")
        if self.intercept:
            parts.append("intercept=True")
        return f"{'ns' if self.natural else 'bs'}({', '.join(parts)})"

    def fit(self, tables: Tables) -> Spline:
        if self.boundary:
            return self
        if self.ends and (self.given or self._n_inner == 0):
            return self._with_knots(self.given, (self.ends[0], self.ends[1]))
        check_pass(tables, self.label)

        def count_values(chunk: Chunk) -> ValueCounts:
            values, counts = np.unique(present_values(self.expression, chunk, self.label), return_counts=True)
            return ValueCounts(values, counts.astype(np.float64))

        counts = tables.reduce(count_values)
        if len(counts.values) < 2:
            raise ValueError(
                f"{self.label} needs at least two different values, but {self.expression} has "
                f"{len(counts.values)}. Leave it out."
            )
        low, high = self.ends or (float(counts.values[0]), float(counts.values[-1]))
        inside = counts.between(low, high)  # as in R, numbers beyond given boundary knots do not count
        n = self._n_inner
        if n and len(inside.values) < 2:
            raise ValueError(
                f"{self.label} needs at least two different values of {self.expression} between its boundary knots. "
                "Choose other boundary knots."
            )
        inner = self.given or tuple(inside.quantile(k / (n + 1)) for k in range(1, n + 1))
        return self._with_knots(inner, (low, high))

    @property
    def _n_inner(self) -> int:
        """The number of inner knots if they are not given."""
        return 0 if self.columns is None else self.columns - (1 if self.natural else self.degree) - self.intercept

    def _with_knots(self, inner: tuple[float, ...], boundary: tuple[float, float]) -> Spline:
        if inner and not boundary[0] < min(inner) <= max(inner) < boundary[1]:
            raise ValueError(
                f"The knots of {self.label} must lie between {boundary[0]!r} and {boundary[1]!r}. Choose other knots."
            )
        return replace(self, inner=inner, boundary=boundary)

    def names(self, full: bool) -> tuple[str, ...]:
        inner = len(self.inner or self.given) if self.boundary or self.given else 0
        width = inner + (1 if self.natural else self.degree) + self.intercept
        width = width if self.boundary or self.given or self.columns is None else self.columns
        return tuple(f"{self.label}[{k}]" for k in range(1, width + 1))

    def values(self, chunk: Chunk, full: bool) -> Array:
        return self.basis(evaluate_finite(self.expression, chunk, self.label))

    def _splines(self) -> BSpline:
        from scipy.interpolate import BSpline  # its import takes as long as the whole fit of a small file

        low, high = self.boundary
        order = self.degree + 1
        knots = np.array([low] * order + sorted(self.inner) + [high] * order)
        return BSpline(knots, np.eye(len(knots) - order), self.degree)

    @property
    def _first(self) -> int:
        """The first B-spline that is a column: without the constant, the second."""
        return 0 if self.intercept else 1

    def _without_curvature(self, splines: BSpline) -> Array:
        """Return the combinations of the columns that have no curvature at the boundary knots."""
        Q, _ = np.linalg.qr(splines(np.array(self.boundary), 2)[:, self._first :].T, mode="complete")
        return np.asarray(Q[:, 2:])

    def pieces(self) -> list[tuple[float, float, Array]]:
        """Return where each polynomial piece starts, its origin, and its coefficients, degree + 1 × columns."""
        low, high = self.boundary
        splines = self._splines()
        combine = self._without_curvature(splines) if self.natural else np.eye(splines.c.shape[1] - self._first)

        def powers(origin: float, degree: int) -> Array:
            rows = [np.asarray(splines(origin, k))[self._first :] / factorial(k) for k in range(degree + 1)]
            rows += [np.zeros(len(combine))] * (self.degree - degree)
            return np.stack(rows) @ combine

        starts = [low, *sorted(set(self.inner))]
        found = [(-np.inf if k == 0 else start, start, powers(start, self.degree)) for k, start in enumerate(starts)]
        if self.natural:  # beyond the boundary knots, the tangent
            found[0] = (low, *found[0][1:])
            found = [(-np.inf, low, powers(low, 1)), *found, (high, high, powers(high, 1))]
        return found

    def basis(self, x: Array, *, slope: bool = False) -> Array:
        """Return the columns of the spline for some numbers, or their derivatives."""
        low, high = self.boundary
        splines = self._splines()
        if not self.natural:
            return np.asarray(splines(x, int(slope))[:, self._first :])
        # Natural: no curvature at the boundary, which removes two columns; outside, continue the tangent.
        values = splines(np.clip(x, low, high), int(slope))
        if not slope:
            outside = (x < low) | (x > high)
            end = np.where(x < low, low, high)[outside]
            values[outside] += splines(end, 1) * (x[outside] - end)[:, None]
        return np.asarray(values[:, self._first :] @ self._without_curvature(splines))


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Distinct numbers in order, and how often each occurs."""

    values: Array
    counts: Array

    def __add__(self, other: ValueCounts) -> ValueCounts:
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        if len(values) > _MAX_DISTINCT:
            raise ValueError(
                f"A column of more than {_MAX_DISTINCT:,} different values requires explicit knots. Pass them, as "
                "in ns(x, knots=c(1, 2))."
            )
        counts = np.bincount(place, np.concatenate([self.counts, other.counts]), len(values))
        return ValueCounts(values, counts.astype(np.float64))

    def between(self, low: float, high: float) -> ValueCounts:
        """Return the counts of the numbers from low to high."""
        inside = (self.values >= low) & (self.values <= high)
        return ValueCounts(self.values[inside], self.counts[inside])

    def quantile(self, share: float) -> float:
        """Return a quantile as R does (type 7)."""
        upto = np.cumsum(self.counts)
        at = share * (upto[-1] - 1)
        low, high = (self.values[np.searchsorted(upto, k, side="right")] for k in (np.floor(at), np.ceil(at)))
        return float(low + (at - np.floor(at)) * (high - low))
