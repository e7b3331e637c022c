"""Compare the digits claimed for robust standard errors with exact rationals."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import linearly as ly

KINDS = ["HC0", "HC1", "HC2", "HC3", "CR0", "HAC"]
GROUPS = 7
LAGS = 2


def solved(A: list[list[Fraction]], B: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return A⁻¹B by elimination."""
    rows = [[*a, *b] for a, b in zip(A, B, strict=True)]
    for i in range(len(A)):
        k = next(r for r in range(i, len(A)) if rows[r][i])
        rows[i], rows[k] = rows[k], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(len(A)):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[len(A) :] for row in rows]


def exact_errors(X: np.ndarray, y: np.ndarray, w: np.ndarray, kind: str) -> list[float]:
    """Return the robust standard errors of a fit with intercept, each rounded once."""
    D = [[Fraction(1), *map(Fraction, row)] for row in X.tolist()]
    n, q, weights = len(D), len(D[0]), list(map(Fraction, w.tolist()))
    A = [[sum(v * d[i] * d[j] for v, d in zip(weights, D, strict=True)) for j in range(q)] for i in range(q)]
    C = [sum(v * d[i] * Fraction(t) for v, d, t in zip(weights, D, y.tolist(), strict=True)) for i in range(q)]
    found = solved(A, [[c, *(Fraction(int(i == j)) for j in range(q))] for i, c in enumerate(C)])
    beta, inverse = [row[0] for row in found], [row[1:] for row in found]
    scores, residuals = [], []
    for v, d, t in zip(weights, D, y.tolist(), strict=True):
        u = [sum(a * b for a, b in zip(row, d, strict=True)) for row in inverse]
        rest = 1 - v * sum(a * b for a, b in zip(u, d, strict=True))
        share = {"HC2": rest, "HC3": rest**2}.get(kind, Fraction(1))
        residual = Fraction(t) - sum(a * b for a, b in zip(beta, d, strict=True))
        scores.append(([v * residual * a for a in u], share))
        residuals.append(residual)
    if kind == "CR3":
        leave_one_group_out(scores, residuals, D, weights, inverse)
    result = []
    for j in range(q):
        s = [(score[j], share) for score, share in scores]
        if kind in ("CR0", "CR3"):
            variance = sum(sum(a for a, _ in s[g::GROUPS]) ** 2 for g in range(GROUPS))
        elif kind == "HAC":
            near = ((i, k) for i in range(n) for k in range(max(i - LAGS, 0), min(i + LAGS + 1, n)))
            variance = sum(Fraction(LAGS + 1 - abs(i - k), LAGS + 1) * s[i][0] * s[k][0] for i, k in near)
        else:
            variance = sum(a * a / share for a, share in s)
        factor = Fraction(n, n - q) if kind in ("HC1", "HAC") else 1
        variance *= factor
        result.append(math.sqrt(float(variance)))
    return result


def leave_one_group_out(
    scores: list[tuple[list[Fraction], Fraction]],
    residuals: list[Fraction],
    D: list[list[Fraction]],
    weights: list[Fraction],
    inverse: list[list[Fraction]],
) -> None:
    """Replace each residual in the scores by that of the fit to the rows of the other groups."""
    for g in range(GROUPS):
        own = range(g, len(D), GROUPS)
        u = {i: [sum(a * b for a, b in zip(row, D[i], strict=True)) for row in inverse] for i in own}
        rest = [
            [int(i == k) - weights[k] * sum(a * b for a, b in zip(u[i], D[k], strict=True)) for k in own] for i in own
        ]
        for i, (left_out,) in zip(own, solved(rest, [[residuals[i]] for i in own]), strict=True):
            scores[i] = ([weights[i] * left_out * a for a in u[i]], Fraction(1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["auto", "qr", "gram"])
def test_robust_standard_errors_have_the_digits_that_are_claimed(kind: str, method: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for exponent in range(0, 11, 2):
        n = 15
        X = rng.normal(size=(n, 2))
        X[:, 1] = X[:, 0] + X[:, 1] / 10.0**exponent
        y = X[:, 0] + rng.normal(size=n) * 10.0 ** rng.uniform(-4, 0)
        w = 10.0 ** rng.uniform(-2, 2, size=n)
        if rng.random() < 0.5:
            X[0] *= 1e3  # leverage
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = ly.LinearRegression(method=method, covariance=kind, lags=LAGS if kind == "HAC" else None)
            model.fit(X, y, w, groups=np.arange(n) % GROUPS if kind == "CR0" else None)
        if model.solution_.aliased:
            continue
        errors = [abs(a / e - 1) for a, e in zip(model.std_errors()[:, 0], exact_errors(X, y, w, kind), strict=True)]
        actual, claimed = -math.log10(max(*errors, 1e-16)), float(ly.glance(model)["digits"][0])
        assert claimed <= actual + 1, f"claimed {claimed:.1f} digits, actual {actual:.1f}"
        assert model.solution_.error_digits >= 10 or any(
            issubclass(one.category, ly.PrecisionWarning) for one in caught
        )
        if method == "auto" and exponent <= 8:
            assert actual >= 9


@pytest.mark.parametrize("weighted", [False, True])
def test_group_with_a_row_of_high_leverage_has_the_digits_that_are_claimed(weighted: bool) -> None:
    rng = np.random.default_rng(7)
    for size in (1e2, 1e3, 1e4, 5e4):
        X, w = rng.normal(size=(16, 2)), rng.uniform(0.5, 2, 16) if weighted else np.ones(16)
        X[0] *= size
        y = X.sum(axis=1) + rng.normal(size=16)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ly.LinearRegression(covariance="CR3").fit(
                X, y, w if weighted else None, groups=np.arange(16) % GROUPS
            )
        exact = exact_errors(X, y, w, "CR3")
        error = max(abs(a / e - 1) for a, e in zip(model.std_errors()[:, 0], exact, strict=True))
        actual, claimed = -math.log10(max(error, 1e-16)), float(ly.glance(model)["digits"][0])
        assert claimed <= actual + 1, f"leverage {size:g}: claimed {claimed:.1f} digits, actual {actual:.1f}"
        assert claimed >= actual - 4


def test_coefficients_of_smallest_norm_have_the_digits_that_are_claimed() -> None:
    # The smallest norm is 1e-5 of the coefficients that it is computed from.
    X = np.array([[1.0, 1e-5, 3e-5], [2.0, 1e-5, -1e-5]])
    y = np.array([1.0, 2.0])
    for method in ("auto", "qr", "extended"):
        with pytest.warns(np.exceptions.RankWarning):
            model = ly.LinearRegression(method=method, fit_intercept=False).fit(X, y)
        rows = [list(map(Fraction, row)) for row in X.tolist()]
        products = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in rows] for r in rows]
        c = [row[0] for row in solved(products, [[Fraction(v)] for v in y.tolist()])]
        exact = [sum(ci * row[j] for ci, row in zip(c, rows, strict=True)) for j in range(3)]
        error = max(abs(float((Fraction(a) - e) / e)) for a, e in zip(model.coef_.tolist(), exact, strict=True))
        assert model.solution_.digits <= -math.log10(max(error, 1e-16)) + 1
