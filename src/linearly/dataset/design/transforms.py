"""Factors that compute their columns, such as log(price), scale(age), poly(age, 3) or C(cylinders).

Whatever a factor needs from all rows it finds in one pass and keeps: new rows are centred by the mean of the training
rows. Means, variances and the recurrences of orthogonal polynomials all come from one summary, `Quadrature`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linearly.dataset.design.contrasts import coded_names
from linearly.dataset.design.terms import Category, Factor
from linearly.dataset.formula.expression import Expression, check_result_finite, columns_of, evaluate
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.polynomial import powers_of
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.double_double import Array, DoubleDouble

MAX_DEGREE = 20


@dataclass(frozen=True)
class ExpressionFactor(Factor):
    """A factor that is computed from an expression of columns."""

    expression: Expression

    @property
    def required_columns(self) -> tuple[str, ...]:
        return columns_of(self.expression)


@dataclass(frozen=True)
class ExpressionTerm(ExpressionFactor):
    """An expression of columns, row by row: log(price), I(x + z)."""

    @property
    def label(self) -> str:
        return str(self.expression)

    def values(self, chunk: Chunk, full: bool) -> Array:
        return evaluate_finite(self.expression, chunk)[:, None]


@dataclass(frozen=True)
class Offset(ExpressionFactor):
    """offset(log(exposure)): a part of the predictions whose coefficient is 1. A design keeps its expression."""

    @property
    def label(self) -> str:
        return f"offset({self.expression})"

    def values(self, chunk: Chunk, full: bool) -> Array:
        return evaluate_finite(self.expression, chunk, self.label)[:, None]


@dataclass(frozen=True)
class ScaledTerm(ExpressionFactor):
    """An expression minus its mean and, with `scaled`, divided by its standard deviation, as by R's scale().

    If it is not `centred`, nothing is subtracted, and `deviation` is the root of Σ x² / (n − 1).
    """

    scaled: bool = False
    mean: float | None = None
    deviation: float | None = None
    centred: bool = True

    @property
    def label(self) -> str:
        if not self.centred:
            return f"scale({self.expression}, center=False{'' if self.scaled else ', scale=False'})"
        return f"{'scale' if self.scaled else 'center'}({self.expression})"

    def fit(self, tables: Tables) -> ScaledTerm:
        if self.mean is not None:
            return self
        if not (self.centred or self.scaled):
            return replace(self, mean=0.0, deviation=1.0)
        rule = fit_quadrature(tables, self.expression, 1, self.label)
        if not self.centred and len(rule):
            return replace(self, mean=0.0, deviation=self._root_mean_square(rule))
        if len(rule) < 1 + self.scaled:
            what = "the same in every row" if len(rule) else "missing in every row"
            raise ValueError(
                f"{self.label} cannot be computed, because {self.expression} is {what}. Leave it out of the formula."
            )
        steps = rule.recurrence()
        mean, rows = steps.centre + steps.alpha[0], steps.rows
        deviation = steps.beta[0] * float(np.sqrt(rows / (rows - 1))) if self.scaled else 1.0
        return replace(self, mean=mean, deviation=deviation)

    def _root_mean_square(self, rule: Quadrature) -> float:
        x, rows = rule.high + rule.low, float(rule.weights.sum())
        unit = float(np.abs(x).max()) or 1.0
        if rows < 2 or not x.any():
            what = "only one row has a value" if rows < 2 else f"{self.expression} is 0 in every row"
            raise ValueError(f"{self.label} cannot be computed, because {what}. Leave it out.")
        return unit * float(np.sqrt(rule.weights @ (x / unit) ** 2 / (rows - 1)))

    def values(self, chunk: Chunk, full: bool) -> Array:
        assert self.mean is not None
        assert self.deviation is not None
        return ((evaluate_finite(self.expression, chunk, self.label) - self.mean) / self.deviation)[:, None]


@dataclass(frozen=True)
class PolynomialFactor(ExpressionFactor):
    """A factor with one column for each degree of at least 1."""

    degree: int

    def names(self, full: bool) -> tuple[str, ...]:
        return tuple(f"{self.label}[{k}]" for k in range(1, self.degree + 1))


@dataclass(frozen=True)
class RawPolynomial(PolynomialFactor):
    """The powers of an expression up to a degree: poly(x, 3, raw=True).

    They are formed in double-double, as in `polynomial_features`. With powers rounded to float64, for x between 10,000
    and 10,010, the coefficient of x⁴ has two correct digits.
    """

    @property
    def label(self) -> str:
        return f"poly({self.expression}, {self.degree}, raw=True)"

    def values(self, chunk: Chunk, full: bool) -> Array | DoubleDouble:
        x = evaluate_finite(self.expression, chunk, self.label)
        with np.errstate(all="ignore"):
            powers = powers_of(x, self.degree)
        last = powers.high[:, -1]
        check_result_finite(np.where(np.isfinite(last), last, np.inf), self.expression, chunk, self.label)
        return powers


@dataclass(frozen=True)
class OrthogonalPolynomial(PolynomialFactor):
    """Polynomials of an expression that are orthonormal over the training rows: poly(x, 3).

    With t = x − centre and p₀ = 1/√n, the others follow by βₖ₊₁ pₖ₊₁ = (t − αₖ) pₖ − βₖ pₖ₋₁.
    """

    rows: float = 0.0
    centre: float = 0.0
    alpha: tuple[float, ...] = ()
    beta: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        return f"poly({self.expression}, {self.degree})"

    def fit(self, tables: Tables) -> OrthogonalPolynomial:
        if self.alpha:
            return self
        rule = fit_quadrature(tables, self.expression, self.degree, self.label)
        if len(rule) <= self.degree:
            raise ValueError(
                f"{self.label} needs more than {self.degree} different values, but {self.expression} has {len(rule)}. "
                "Choose a lower degree."
            )
        steps = rule.recurrence()
        alpha, beta = steps.alpha[: self.degree], steps.beta[: self.degree]
        return replace(self, rows=steps.rows, centre=steps.centre, alpha=alpha, beta=beta)

    def values(self, chunk: Chunk, full: bool) -> Array:
        t = evaluate_finite(self.expression, chunk, self.label) - self.centre
        columns = np.empty((len(t), self.degree + 1), order="F")
        columns[:, 0] = 1.0 / np.sqrt(self.rows)
        with np.errstate(all="ignore"):
            for k in range(self.degree):
                rise = (t - self.alpha[k]) * columns[:, k]
                if k:
                    rise -= self.beta[k - 1] * columns[:, k - 1]
                columns[:, k + 1] = rise / self.beta[k]
        check_result_finite(columns[:, -1], self.expression, chunk, self.label)
        return columns[:, 1:]


@dataclass(frozen=True)
class NumericCategory(Category):
    """A numeric column treated as categorical: C(cylinders)."""

    @property
    def label(self) -> str:
        return f"C({self.name})"

    def names(self, full: bool) -> tuple[str, ...]:
        levels = tuple(int(one) if isinstance(one, float) and one.is_integer() else one for one in self._shown(full))
        coded = levels if full or self.coding == "treatment" else coded_names(self.coding, levels)
        return tuple(f"{self.label}[{level}]" for level in coded)


def evaluate_finite(expression: Expression, chunk: Chunk, label: str | None = None) -> Array:
    """Return the numbers of an expression for the rows of a chunk; raise if one is not finite."""
    values = evaluate(expression, chunk)
    check_result_finite(values, expression, chunk, label)
    return values


@dataclass(frozen=True)
class Recurrence:
    """The constants of the polynomials that are orthonormal over some numbers, measured from a centre."""

    rows: float
    centre: float
    alpha: tuple[float, ...]
    beta: tuple[float, ...]


@dataclass(frozen=True)
class Quadrature:
    """A summary of numbers: at most degree + 1 nodes and weights with the same moments up to 2·degree + 1.

    This is the Gauss quadrature rule of the numbers as a measure. Two rules are added by taking the rule of all their
    nodes, so one pass over rows, in any blocks, gives the polynomials that are orthogonal over all of them. Numbers
    with few different values are kept unchanged. A node is `high` + `low`: next to a large mean, one float64 would lose
    the digits of the differences.
    """

    degree: int
    high: Array
    low: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.high)

    @classmethod
    def of(cls, values: Array, degree: int) -> Quadrature:
        """Return the rule of some numbers."""
        return cls(degree, values, np.zeros(len(values)), np.ones(len(values))).short()

    def __add__(self, other: Quadrature) -> Quadrature:
        high, low = np.concatenate([self.high, other.high]), np.concatenate([self.low, other.low])
        return Quadrature(self.degree, high, low, np.concatenate([self.weights, other.weights])).short()

    def short(self) -> Quadrature:
        """Return the rule with few nodes: the eigenvalues of its recurrence matrix (Golub and Welsch, 1969)."""
        _, first, place = np.unique(self._from_centre(), return_index=True, return_inverse=True)
        weights = np.bincount(place, self.weights, len(first)).astype(np.float64)
        distinct = Quadrature(self.degree, self.high[first], self.low[first], weights)
        if len(distinct) <= self.degree + 1:
            return distinct
        steps = distinct.recurrence()
        matrix = np.diag(steps.alpha) + np.diag(steps.beta[:-1], 1) + np.diag(steps.beta[:-1], -1)
        t, vectors = np.linalg.eigh(matrix)
        high = steps.centre + t
        return Quadrature(self.degree, high, t - (high - steps.centre), steps.rows * vectors[0] ** 2)

    def recurrence(self) -> Recurrence:
        """Return αₖ and βₖ₊₁ for k = 0 … degree, as far as the nodes go (Stieltjes procedure)."""
        t, rows = self._from_centre(), float(self.weights.sum())
        scale = 2.0 ** (float(np.frexp(np.abs(t).max())[1]) - 1.0)  # the square of 1e200 exceeds the float64 range
        t = t / scale
        basis = [np.sqrt(self.weights / rows)]  # √weight · pₖ at the nodes
        alpha: list[float] = []
        beta: list[float] = []
        for k in range(min(self.degree + 1, len(t))):
            alpha.append(float(basis[k] @ (t * basis[k])))
            rise = (t - alpha[k]) * basis[k]
            # Orthogonalise against all, not only the last two: with nearly as few nodes as steps it would be lost.
            for before in basis:
                rise -= (before @ rise) * before
            beta.append(float(np.linalg.norm(rise)))
            if beta[k] == 0.0:
                break
            basis.append(rise / beta[k])
        return Recurrence(rows, self._centre(), tuple(a * scale for a in alpha), tuple(b * scale for b in beta))

    def _centre(self) -> float:
        return float(self.high[len(self.high) // 2]) if len(self.high) else 0.0

    def _from_centre(self) -> Array:
        return np.asarray((self.high - self._centre()) + self.low)


def present_values(expression: Expression, chunk: Chunk, label: str) -> Array:
    """Return the numbers of an expression for the rows of a chunk without missing values; raise if one is infinite."""
    values = evaluate(expression, chunk)
    there = np.ones(len(values), dtype=bool)
    for name in columns_of(expression):
        there &= ~np.isnan(float_column(chunk.frame[name], chunk.where))
    check_result_finite(np.where(there, values, 0.0), expression, chunk, label)
    return np.asarray(values[there])


def check_pass(tables: Tables, label: str) -> None:
    """Raise if a factor needs a pass of its own over rows that can be read only once."""
    if tables.one_shot:
        raise ValueError(
            f"{label} requires a pass over the rows before the fit, but this stream can be read only once. Write it "
            "to a file, and fit the file."
        )


def fit_quadrature(tables: Tables, expression: Expression, degree: int, label: str) -> Quadrature:
    """Return the rule of an expression over all rows, by one pass."""
    check_pass(tables, label)
    return tables.reduce(lambda chunk: Quadrature.of(present_values(expression, chunk, label), degree))
