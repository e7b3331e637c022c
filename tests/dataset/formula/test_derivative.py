"""Derivatives of expressions, against central differences."""

import numpy as np
import pytest

from linearly.dataset.formula.derivative import derivative
from linearly.dataset.formula.expression import evaluate, parse
from linearly.dataset.sources import as_tables

X, Z = np.linspace(0.3, 1.4, 12), np.linspace(1.0, 2.0, 12)


def chunk_of(x):
    return next(iter(as_tables({"x": x.tolist(), "z": Z.tolist()})))


@pytest.mark.parametrize(
    "text",
    ["x", "-x", "3 - x", "x * z", "z / x", "x / z", "x^3", "x^-2", "I(x + z)^0.5", "z", "2"]
    + [
        f"{f}(x * z)"
        for f in ("abs", "cos", "exp", "expm1", "log", "log10", "log1p", "log2", "sin", "sqrt", "tan", "I")
    ],
)
def test_derivative_is_the_limit_of_differences(text):
    tree, h = parse(text), 1e-6
    slope = derivative(tree, "x", chunk_of(X))
    ends = [np.broadcast_to(evaluate(tree, chunk_of(X + step)), X.shape) for step in (h, -h)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-8)


def test_derivative_of_an_unknown_function_is_none():
    assert derivative(parse("lag(x)"), "x", chunk_of(X)) is None
    assert derivative(parse("2 * lag(x) + z"), "x", chunk_of(X)) is None
    assert (derivative(parse("lag(x)"), "z", chunk_of(X)) == 0).all()
