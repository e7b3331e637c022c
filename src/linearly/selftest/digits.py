"""Compare claimed digits with rational arithmetic: sums and differences of models, weights from 1e-12 to 1e12.

A case fails if more digits are claimed than are correct, by more than one, without a warning. A refusal is not a claim.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, log10
from typing import Any

import numpy as np

import linearly as ly
from linearly.algorithm.least_squares.solver import digits_of_standard_errors
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.selftest import ProgressCallback, Result, list_faults
from linearly.selftest.rationals import Exact, digits, inverse, least_squares, rational, worst_digits
from linearly.selftest.splits import CutRows

SHORT, LONG = 160, 5000
SLACK = 1.0  # digits that a claim may exceed the truth by
NAMED = (ly.PrecisionWarning, np.exceptions.RankWarning)

Claim = tuple[float, float]  # digits claimed, digits that are right


@dataclass
class Tally:
    """Cases of one kind: how many were refused, warned of and claimed, and the largest excess of a claim."""

    what: str
    cases: int = 0
    refused: int = 0
    warned: int = 0
    excess: float = -16.0
    short: list[float] = field(default_factory=list)  # digits that are right beyond those claimed
    wrong: list[str] = field(default_factory=list)

    def add(self, seed: int, claims: Callable[[Any], list[Claim]]) -> None:
        """Try the case of this seed; `claims` fits a model to random rows and compares it."""
        self.cases += 1
        with warnings.catch_warnings(record=True) as caught, single_threaded_blas():
            warnings.simplefilter("always")
            try:
                found = claims(np.random.default_rng(seed))
            except ValueError as refusal:
                if "cannot be removed" not in str(refusal):
                    raise
                self.refused += 1
                return
        if any(issubclass(one.category, NAMED) for one in caught):
            self.warned += 1
            return
        for claimed, right in found:
            self.excess = max(self.excess, claimed - right)
            self.short.append(right - claimed)
            if claimed > right + SLACK:
                self.wrong.append(f"seed {seed}: {claimed:.1f} claimed, {right:.1f} right")

    def result(self) -> Result:
        """Return the tally in words."""
        figure = f"{len(self.wrong)} fits with too many reported digits in {self.cases:,} cases"
        figure += f" ({self.refused:,} refused, {self.warned:,} warned)"
        if self.short:
            figure += f"; largest excess {self.excess:.1f}, median shortfall {np.median(self.short):.1f}"
        figure += list_faults(self.wrong, 3, "; ")
        return Result(self.what, figure, f"0 by more than {SLACK:g} digit without a warning", not self.wrong)


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield the fits with too many reported digits in chains of each model, and in weighted fits by each method."""
    chains = LONG if long else SHORT
    fits = chains * 5 // 4  # as many again without an intercept
    for first, cases, hunts in ((0, chains, CHAINS), (chains, fits, WEIGHTED)):
        tallies = [Tally(what) for what in hunts]
        claims = list(hunts.values())
        for seed in range(cases):
            kind = seed % len(hunts)
            tallies[kind].add(seed, claims[kind])
            if seed % 10 == 9:
                progress(first + seed + 1, chains + fits)
        yield from (tally.result() for tally in tallies)


# --- chains of sums and differences ---------------------------------------------------------------


def chained(rng: Any, make: Callable[[], Any], labels: int = 0) -> tuple[Any, Any, Any]:
    """Return a model after a chain of sums and differences of random scale, and its rows."""
    p, k = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    step, far = rng.uniform(0, 3.5), rng.uniform(0, 4) * rng.integers(0, 2)
    beta, offset = rng.normal(size=p), 10**far * rng.normal(size=p)
    parts = []
    for _ in range(k):
        size = 10 ** (step * rng.integers(0, 3)) * 10 ** rng.uniform(-0.5, 0.5, size=p)
        n = int(rng.integers(p + 6, 16)) * (labels or 1)
        X = rng.normal(size=(n, p)) * size + offset
        if labels:
            y = np.arange(n) % labels
            X = X + rng.normal(size=(labels, p))[y] * size
        else:
            y = (X - offset) @ beta + rng.normal(size=n) * size.mean() * 10 ** rng.uniform(-2, 1)
        parts.append((X, y))
    fits = [make().fit(X, y) for X, y in parts]
    kept = set(rng.choice(k, size=int(rng.integers(1, k)), replace=False).tolist())
    order = rng.permutation(k)
    model, inside = fits[order[0]], [order[0]]
    for j in order[1:]:
        model = model + fits[j]
        # Rows that do not stay are removed at once, or in the end.
        leaving = [i for i in inside if i not in kept]
        if leaving and rng.random() < 0.5:
            model = model - fits[leaving[0]]
            inside.remove(leaving[0])
        inside.append(j)
    for j in [i for i in rng.permutation(inside) if i not in kept]:
        model = model - fits[j]
    X, y = (np.concatenate([parts[j][i] for j in sorted(kept)]) for i in (0, 1))
    return model, X, y


def _least_squares_chain(alpha: float) -> Callable[[Any], list[Claim]]:
    def claims(rng: Any) -> list[Claim]:
        model, X, y = chained(rng, lambda: ly.LinearRegression(alpha))
        return _least_squares_claims(model, least_squares(X, y, alpha=alpha))

    return claims


def _least_squares_claims(model: Any, exact: Exact) -> list[Claim]:
    """Return digits of coefficients and residuals, and of standard errors without a penalty."""
    found = model.solution_
    coef = np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_
    claims = [(found.digits, worst_digits(coef, exact.coef))]
    if exact.rss > rational(1e-20) * exact.tss:
        claims.append((found.digits, digits(found.rss[0], exact.rss)))
        if not found.alpha and exact.dof > 0:
            claims.append((digits_of_standard_errors(found), worst_digits(model.std_errors()[:, 0], exact.std_error)))
    return claims


def _indicator_chain(rng: Any) -> list[Claim]:
    model, X, y = chained(rng, ly.LeastSquaresClassifier, 2)
    exact = least_squares(X, (y == 1).astype(float)).coef
    exact[0] -= Fraction(1, 2)
    found = np.append(model.intercept_, model.coef_)
    return [(model.correct_digits(), worst_digits(found[1:], exact[1:]))]


def _lda_chain(rng: Any) -> list[Claim]:
    model, X, y = chained(rng, ly.LinearDiscriminantAnalysis, 2)
    (mean, cross, _), (other, more, _) = (_moments(X[y == k]) for k in (0, 1))
    pooled = [[(a + b) / (len(X) - 2) for a, b in zip(*rows, strict=True)] for rows in zip(cross, more, strict=True)]
    exact = _product(inverse(pooled), [b - a for a, b in zip(mean, other, strict=True)])
    size = [float(row[j]) ** 0.5 for j, row in enumerate(pooled)]  # a coefficient means as much as its column varies
    error = max(abs(float(rational(c) - e)) * s for c, e, s in zip(model.coef_[0], exact, size, strict=True))
    return [(model.correct_digits(), _digits(error, max(abs(float(e)) * s for e, s in zip(exact, size, strict=True))))]


def _qda_chain(rng: Any) -> list[Claim]:
    model, X, y = chained(rng, ly.QuadraticDiscriminantAnalysis, 2)
    claimed, claims = model.correct_digits(), []
    for k in (0, 1):
        mean, cross, n = _moments(X[y == k])
        covariance = [[v / (n - 1) for v in row] for row in cross]
        inverted = inverse(covariance)
        constant = log(n / len(X)) - log(_determinant(covariance)) / 2
        for row in X[:: max(1, len(X) // 4)]:
            away = [rational(v) - m for v, m in zip(row, mean, strict=True)]
            distance = sum(a * b for a, b in zip(away, _product(inverted, away), strict=True))
            error = abs(float(model.scores(row[None])[0, k]) - constant + float(distance / 2))
            claims.append((claimed, _digits(error, abs(constant) + float(distance / 2))))
    return claims


def _digits(error: float, size: float) -> float:
    return min(16.0, -log10(max(error / size, 1e-16)))


def _moments(X: Any) -> tuple[list[Fraction], list[list[Fraction]], int]:
    """Return means, centered cross-products and the number of rows, by integers, which are faster."""
    rows = rational(X)
    unit = max(v.denominator for row in rows for v in row)  # all are powers of two
    columns = [[int(row[j] * unit) for row in rows] for j in range(len(rows[0]))]
    n, sums = len(rows), [sum(column) for column in columns]
    cross = [
        [
            Fraction(n * sum(u * v for u, v in zip(a, b, strict=True)) - sums[i] * sums[j], n * unit * unit)
            for j, b in enumerate(columns)
        ]
        for i, a in enumerate(columns)
    ]
    return [Fraction(total, n * unit) for total in sums], cross, n


def _product(A: Any, b: Any) -> list[Fraction]:
    return [sum((u * v for u, v in zip(row, b, strict=True)), Fraction(0)) for row in A]


def _determinant(A: Any) -> Fraction:
    if len(A) == 1:
        return Fraction(A[0][0])
    minors = ([row[:j] + row[j + 1 :] for row in A[1:]] for j in range(len(A)))
    return sum(((-1) ** j * A[0][j] * _determinant(minor) for j, minor in enumerate(minors)), Fraction(0))


# --- weights from 1e-12 to 1e12 -------------------------------------------------------------------


def _weighted(method: str, alpha: float, intercept: bool) -> Callable[[Any], list[Claim]]:
    def claims(rng: Any) -> list[Claim]:
        while True:
            p = int(rng.integers(1, 4))
            n = int(rng.integers(p + 3, 16))
            kind = rng.integers(0, 4)
            X = rng.integers(-1, 2, size=(n, p)).astype(float) if kind == 0 else rng.normal(size=(n, p))
            if kind == 1:
                X = X * (rng.random(size=(n, p)) < 0.4)
            if kind == 2 and p > 1:
                X[:, -1] = X[:, 0] + 10 ** rng.uniform(-5, 0) * X[:, -1]
            X = X * 10 ** rng.uniform(-3, 3, size=p)
            y = np.round(rng.normal(size=n) * 64) / 64 + rng.choice([0.0, 0.0, 5.0, 1e6, 5e12])
            wide = rng.choice([1, 4, 8, 12])
            weight = 10.0 ** rng.uniform(-wide, wide, size=n)
            D = np.column_stack([np.ones(n), X]) if intercept else X
            if np.linalg.matrix_rank(D) == D.shape[1]:
                break
        rows = CutRows(X, y, weight, cuts=range(3, n, 3) if rng.random() < 0.5 else ())
        model = ly.LinearRegression(alpha, fit_intercept=intercept, method=method).fit(rows)
        return _least_squares_claims(model, least_squares(X, y, weight, intercept=intercept, alpha=alpha))

    return claims


CHAINS: dict[str, Callable[[Any], list[Claim]]] = {
    "sums and differences of models, least squares": _least_squares_chain(0.0),
    "sums and differences of models, ridge": _least_squares_chain(0.7),
    "sums and differences of models, LDA": _lda_chain,
    "sums and differences of models, QDA": _qda_chain,
    "sums and differences of models, indicators": _indicator_chain,
}
WEIGHTED: dict[str, Callable[[Any], list[Claim]]] = {
    f"weights from 1e-12 to 1e12, no intercept, {method}{', ridge' if alpha else ''}": _weighted(method, alpha, False)
    for alpha in (0.0, 4.0)
    for method in ("auto", "gram", "qr", "extended")
} | {f"weights from 1e-12 to 1e12, intercept, {method}": _weighted(method, 0.0, True) for method in ("auto", "qr")}
