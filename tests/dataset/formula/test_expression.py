"""Expressions in formulas: parsed, written and evaluated as in R."""

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linearly.dataset.formula.expression import (
    FUNCTIONS,
    Binary,
    Call,
    Name,
    Negative,
    Number,
    columns_of,
    evaluate,
    parse,
)
from linearly.dataset.rows.tables import Chunk

TREES = st.recursive(
    st.one_of(
        st.floats(0, 1e300).map(Number),
        st.sampled_from(["x", "z", "a.b", "net price", "größe", "log", "1st"]).map(Name),
    ),
    lambda inner: st.one_of(
        inner.map(Negative),
        st.builds(Binary, st.sampled_from("+-*/"), inner, inner),
        st.builds(lambda base, k: Binary("^", base, k), inner, st.integers(0, 16).map(float).map(Number)),
        st.builds(lambda name, of: Call(name, (of,)), st.sampled_from(sorted(FUNCTIONS)), inner),
    ),
    max_leaves=12,
)


@given(TREES)
def test_parse_of_written_expression_gives_same_tree(tree):
    assert parse(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("-x^2 + 1", "-(x**2) + 1"),
        ("x^-2 * z", "x**-2 * z"),
        ("2 - x - z", "2 - x - z"),
        ("x / z / 2", "x / z / 2"),
        ("x - (z - 1) / -x", "x - (z - 1) / -x"),
        ("log(x)^2 / exp(-z)", "np.log(x)**2 / np.exp(-z)"),
        ("1.5e1 * x + .5", "15.0 * x + 0.5"),
        ("--x", "x"),
        ("abs(x - 3) * (x + z)^2", "abs(x - 3) * (x + z)**2"),
    ],
)
def test_evaluate_follows_precedence_of_r(text, python):
    x, z = np.array([1.0, 2.5, 7.0]), np.array([0.5, -1.0, 3.0])
    chunk = Chunk(nw.from_native(pl.DataFrame({"x": x, "z": z}), eager_only=True))
    expected = {
        "-(x**2) + 1": -(x**2) + 1,
        "x**-2 * z": x**-2 * z,
        "2 - x - z": 2 - x - z,
        "x / z / 2": x / z / 2,
        "x - (z - 1) / -x": x - (z - 1) / -x,
        "np.log(x)**2 / np.exp(-z)": np.log(x) ** 2 / np.exp(-z),
        "15.0 * x + 0.5": 15.0 * x + 0.5,
        "x": x,
        "abs(x - 3) * (x + z)**2": abs(x - 3) * (x + z) ** 2,
    }[python]
    np.testing.assert_allclose(evaluate(parse(text), chunk), expected, rtol=1e-15)


def test_parse_power_of_a_power_raises():
    with pytest.raises(ValueError, match="exponent"):
        parse("x**2**1")


def test_columns_of_expression_lists_each_column_once():
    assert columns_of(parse("log(`net price`) + x * x - a.b")) == ("net price", "x", "a.b")
