"""Transforms: factors that compute their columns, such as log(price), scale(age), poly(age, 3) or C(cylinders).

What a transform must know of all rows it learns by one fold and keeps: new rows are centred by the mean of the old
ones. Means, variances and the recurrences of orthogonal polynomials are all read off one summary, `Quadrature`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linearly.dataset.design.terms import Category, Level
from linearly.dataset.formula.expression import Array, Expression, check_result_finite, columns_of, evaluate
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.polynomial import powers_of
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.double_double import DoubleDouble

MAX_DEGREE = 20


@dataclass(frozen=True)
class ExpressionTerm:
    """An expression of columns, row by row: log(price), I(x + z)."""

    expression: Expression

    @property
    def label(self) -> str:
        return str(self.expression)

    @property
    def required_columns(self) -> tuple[str, ...]:
        return columns_of(self.expression)

    def fit(self, tables: Tables) -> ExpressionTerm:
        return self

    def names(self, full: bool) -> tuple[str, ...]:
        return (self.label,)

    def values(self, chunk: Chunk, full: bool) -> Array:
        return finite(self.expression, chunk)[:, None]


@dataclass(frozen=True)
class ScaledTerm:
    """An expression less its mean, and with `scaled` divided by its standard deviation, as R's scale does."""

    expression: Expression
    scaled: bool = False
    mean: float | None = None
    deviation: float | None = None

    @property
    def label(self) -> str:
        return f"{'scale' if self.scaled else 'center'}({self.expression})"

    @property
    def required_columns(self) -> tuple[str, ...]:
        return columns_of(self.expression)

    def fit(self, tables: Tables) -> ScaledTerm:
        if self.mean is not None:
            return self
        rule = fit_polynomials(tables, self.expression, 1, self.label)
        if len(rule) < 1 + self.scaled:
            what = "the same in every row" if len(rule) else "missing in every row"
            raise ValueError(f"{self.label} cannot be computed: {self.expression} is {what}.")
        steps = rule.recurrence()
        mean = steps.centre + steps.alpha[0]
        if not self.scaled:
            return replace(self, mean=mean, deviation=1.0)
        rows = steps.rows
        return replace(self, mean=mean, deviation=steps.beta[0] * float(np.sqrt(rows / (rows - 1))))

    def names(self, full: bool) -> tuple[str, ...]:
        return (self.label,)

    def values(self, chunk: Chunk, full: bool) -> Array:
        assert self.mean is not None
        assert self.deviation is not None
        return ((finite(self.expression, chunk, self.label) - self.mean) / self.deviation)[:, None]


@dataclass(frozen=True)
class RawPolynomial:
    """The powers of an expression, from 1 to a degree: poly(x, 3, raw=True).

    They are formed in double-double, as `polynomial` does: of powers rounded to float64, of x between 10 000 and
    10 010, the coefficient of x⁴ has two digits right.
    """

    expression: Expression
    degree: int

    @property
    def label(self) -> str:
        return f"poly({self.expression}, {self.degree}, raw=True)"

    @property
    def required_columns(self) -> tuple[str, ...]:
        return columns_of(self.expression)

    def fit(self, tables: Tables) -> RawPolynomial:
        return self

    def names(self, full: bool) -> tuple[str, ...]:
        return tuple(f"{self.label}[{k}]" for k in range(1, self.degree + 1))

    def values(self, chunk: Chunk, full: bool) -> Array | DoubleDouble:
        x = finite(self.expression, chunk, self.label)
        with np.errstate(all="ignore"):
            powers = powers_of(x, self.degree)
        last = powers.high[:, -1]
        check_result_finite(np.where(np.isfinite(last), last, np.inf), self.expression, chunk, self.label)
        return powers


@dataclass(frozen=True)
class OrthogonalPolynomial:
    """Polynomials of an expression that are orthonormal over the rows they were learnt from: poly(x, 3).

    With t = x − centre and p₀ = 1/√n, the others follow by βₖ₊₁ pₖ₊₁ = (t − αₖ) pₖ − βₖ pₖ₋₁.
    """

    expression: Expression
    degree: int
    rows: float = 0.0
    centre: float = 0.0
    alpha: tuple[float, ...] = ()
    beta: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        return f"poly({self.expression}, {self.degree})"

    @property
    def required_columns(self) -> tuple[str, ...]:
        return columns_of(self.expression)

    def fit(self, tables: Tables) -> OrthogonalPolynomial:
        if self.alpha:
            return self
        rule = fit_polynomials(tables, self.expression, self.degree, self.label)
        if len(rule) <= self.degree:
            raise ValueError(
                f"{self.label} needs more than {self.degree} different values, and {self.expression} has "
                f"{len(rule)}: choose a lower degree."
            )
        steps = rule.recurrence()
        alpha, beta = steps.alpha[: self.degree], steps.beta[: self.degree]
        return replace(self, rows=steps.rows, centre=steps.centre, alpha=alpha, beta=beta)

    def names(self, full: bool) -> tuple[str, ...]:
        return tuple(f"{self.label}[{k}]" for k in range(1, self.degree + 1))

    def values(self, chunk: Chunk, full: bool) -> Array:
        t = finite(self.expression, chunk, self.label) - self.centre
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
    """A column of numbers taken as a category: C(cylinders)."""

    @property
    def label(self) -> str:
        return f"C({self.name})"

    def names(self, full: bool) -> tuple[str, ...]:
        return tuple(f"{self.label}[{_shown(level)}]" for level in self._coded(full))


def _shown(level: Level) -> Level:
    return int(level) if isinstance(level, float) and level.is_integer() else level


def finite(expression: Expression, chunk: Chunk, label: str | None = None) -> Array:
    """The numbers of an expression for the rows of a chunk; one that is not finite is refused by row and value."""
    values = evaluate(expression, chunk)
    check_result_finite(values, expression, chunk, label)
    return values


@dataclass(frozen=True)
class Recurrence:
    """The constants of the polynomials that are orthonormal over some numbers, counted from a centre."""

    rows: float
    centre: float
    alpha: tuple[float, ...]
    beta: tuple[float, ...]


@dataclass(frozen=True)
class Quadrature:
    """Some numbers in short: at most degree + 1 nodes and weights with the same moments up to 2·degree + 1.

    This is Gauss' rule for the numbers as a measure. Two rules add up by taking all their nodes and the rule of those,
    so that one pass over rows, in any blocks, gives the polynomials that are orthogonal over all of them. Numbers with
    few different values are kept as they are. A node is `high` + `low`: beside a large mean one float64 would lose
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
        """The rule of some numbers."""
        return cls(degree, values, np.zeros(len(values)), np.ones(len(values))).short()

    def __add__(self, other: Quadrature) -> Quadrature:
        high, low = np.concatenate([self.high, other.high]), np.concatenate([self.low, other.low])
        return Quadrature(self.degree, high, low, np.concatenate([self.weights, other.weights])).short()

    def short(self) -> Quadrature:
        """The same measure by few nodes: eigenvalues of the matrix of its recurrence (Golub and Welsch, 1969)."""
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
        """αₖ and βₖ₊₁ for k = 0 … degree, as far as the nodes go (Stieltjes)."""
        t, rows = self._from_centre(), float(self.weights.sum())
        scale = 2.0 ** (float(np.frexp(np.abs(t).max())[1]) - 1.0)  # squares of 1e200 would leave float64
        t = t / scale
        basis = [np.sqrt(self.weights / rows)]  # √weight · pₖ at the nodes
        alpha: list[float] = []
        beta: list[float] = []
        for k in range(min(self.degree + 1, len(t))):
            alpha.append(float(basis[k] @ (t * basis[k])))
            rise = (t - alpha[k]) * basis[k]
            # Orthogonal to all before, not only to the last two: with nearly as few nodes as steps it would be lost.
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


@dataclass(frozen=True)
class Quadratures:
    """From a chunk to the rule of an expression there; rows where a column is missing are passed over."""

    expression: Expression
    degree: int
    label: str

    def __call__(self, chunk: Chunk) -> Quadrature:
        values = evaluate(self.expression, chunk)
        there = np.ones(len(values), dtype=bool)
        for name in columns_of(self.expression):
            there &= ~np.isnan(float_column(chunk.frame[name], chunk.where))
        check_result_finite(np.where(there, values, 0.0), self.expression, chunk, self.label)
        return Quadrature.of(values[there], self.degree)


def fit_polynomials(tables: Tables, expression: Expression, degree: int, label: str) -> Quadrature:
    """The rule of an expression over all rows, by one pass."""
    if getattr(tables, "one_shot", False):
        raise ValueError(
            f"{label} takes a pass over the rows before the fit, and this is a one-shot stream. Write it to a file "
            "first, and give the file."
        )
    return tables.reduce(Quadratures(expression, degree, label))
