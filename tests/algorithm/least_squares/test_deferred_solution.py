"""Evidence of a solution with many columns is computed when it is first read, with the bits it always had."""

from dataclasses import fields

import numpy as np
import pytest

import linearly as ly
from linearly.algorithm.least_squares.rounding_bounds import CorrectDigits, are_enough
from linearly.algorithm.least_squares.scaled_problem import ScaledProblem
from linearly.algorithm.least_squares.solution import Solution
from linearly.kernels.double_double import DoubleDouble


def problem(condition: float, seed: int, n: int = 400, p: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose singular values lie between 1 and the condition, with some coefficients near zero."""
    rng = np.random.default_rng(seed)
    V, _ = np.linalg.qr(rng.standard_normal((p, p)))
    X = rng.standard_normal((n, p)) * np.geomspace(1, 1 / condition, p) @ V.T + rng.uniform(-3, 3, p)
    coef = rng.standard_normal(p) * 10.0 ** rng.uniform(-5, 0, p)
    return X, X @ coef + rng.standard_normal(n)


def bits(value: object) -> object:
    if isinstance(value, DoubleDouble):
        return value.high.tobytes() + value.low.tobytes()
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    return value.tobytes() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("weighted", [False, True])
def test_deferred_solution_every_field_same_bits_as_at_once(weighted, monkeypatch):
    X, y = problem(3.0, 0)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    later = ly.LinearRegression().fit(X, y, weight).solution_
    assert later.is_clearly_accurate
    monkeypatch.setattr(ScaledProblem, "_is_clearly_accurate", lambda *_: False)
    at_once = ly.LinearRegression().fit(X, y, weight).solution_
    assert not at_once.is_clearly_accurate
    for field in fields(Solution):
        if field.name != "is_clearly_accurate":
            assert bits(getattr(later, field.name)) == bits(getattr(at_once, field.name)), field.name


@pytest.mark.filterwarnings("ignore::linearly.exceptions.PrecisionWarning")
@pytest.mark.parametrize("condition", [1.0, 10.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e6])
def test_deferred_solution_any_condition_has_the_digits_it_claims(condition):
    for seed in range(4):
        X, y = problem(condition, seed)
        found = ly.LinearRegression(method="gram").fit(X, y).solution_
        if found.is_clearly_accurate:
            known = CorrectDigits(found.digits, found.digits_of_relevant_coefs, found.strict_digits, found.error_digits)
            assert are_enough(known, X.shape[1])
        if condition == 1:
            assert found.is_clearly_accurate
        if condition >= 1e4:
            assert not found.is_clearly_accurate


def test_deferred_solution_agrees_with_extended_precision():
    X, y = problem(10.0, 5)
    fast, extended = ly.LinearRegression().fit(X, y), ly.LinearRegression(method="extended").fit(X, y)
    assert fast.method_ == "gram"
    size = np.abs(extended.coef_).max()
    np.testing.assert_allclose(fast.coef_, extended.coef_, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(fast.std_errors(), extended.std_errors(), rtol=1e-12)
