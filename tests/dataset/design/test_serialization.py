"""Designs as JSON: restored as they were, and checked if they come from elsewhere."""

import json
import time

import narwhals.stable.v2 as nw
import numpy as np
import pytest
from formula_cases import CRY, design_in, matrix

from linearly.dataset.design.from_formula import formula_design
from linearly.dataset.design.serialization import design_from_json, design_to_json, factor_to_json
from linearly.dataset.design.terms import Category, Numeric
from linearly.dataset.design.transforms import (
    ExpressionTerm,
    NumericCategory,
    OrthogonalPolynomial,
    RawPolynomial,
    ScaledTerm,
)
from linearly.dataset.formula.expression import (
    parse,
)
from linearly.dataset.rows.tables import FrameTables

EVERYTHING = (
    "log(y) ~ x + region*z + C(doors, reference=3) + log(Petal.Width):kind + scale(x) + center(log(x)) + "
    "poly(x, 3) + poly(`net price`, 2, raw=True) + C(new):x - 1"
)


@pytest.mark.parametrize("formula", [EVERYTHING, "region ~ x + kind:z", "new ~ x", "y ~ ."])
def test_design_from_json_restores_design(cars, formula):
    design = design_in(cars, formula, unseen="reference")
    for each in (design, formula_design(formula, FrameTables(cars).schema)):
        plain = json.loads(json.dumps(design_to_json(each), allow_nan=False))
        assert design_from_json(plain) == each
    again = design_from_json(json.loads(json.dumps(design_to_json(design))))
    np.testing.assert_array_equal(matrix(FrameTables(cars), again), matrix(FrameTables(cars), design), strict=True)


def test_design_from_json_restores_long_expression():
    name = "x" * 400
    design = formula_design(f"y ~ I({'+'.join([name] * 24)})", {"y": nw.Float64(), name: nw.Float64()})
    assert design_from_json(design_to_json(design)) == design


def design_of_factor(data):
    """Return the JSON of a design whose only factor is this."""
    empty = {"target": None, "weight": None, "intercept": True, "missing": "error", "formula": None}
    return {**empty, "factors": [data], "terms": [{"factors": [0], "full": []}]}


def test_design_from_json_restores_every_factor():
    for factor in (
        Numeric("x"),
        Category("region", ("a", "b"), "b", "reference"),
        NumericCategory("doors", (2.0, 3.0), 2.0),
        NumericCategory("new", (False, True), False),
        ExpressionTerm(parse("log(`net price`) - x^2")),
        ScaledTerm(parse("x"), True, 1.5, 2.5),
        RawPolynomial(parse("x"), 4),
        OrthogonalPolynomial(parse("x"), 2, 10.0, 0.1, (0.1, 1e-300), (1.0, 2.0)),
    ):
        (again,) = design_from_json(json.loads(json.dumps(design_of_factor(factor_to_json(factor))))).terms[0].factors
        assert again == factor
        assert type(again) is type(factor)


def _changes():
    numeric, category = {"kind": "numeric", "name": "x"}, factor_to_json(Category("r", ("a", "b"), "a"))
    centred, powers = (
        factor_to_json(ScaledTerm(parse("x"), True, 1.0, 2.0)),
        factor_to_json(RawPolynomial(parse("x"), 4)),
    )
    orthogonal = factor_to_json(OrthogonalPolynomial(parse("x"), 2, 10.0, 0.1, (0.1, 0.2), (1.0, 2.0)))
    yield from [None, [], "numeric", 3, {}, {"kind": "numeric"}, {"kind": ["numeric"], "name": "x"}, {1: 2}]
    yield from [{**numeric, "kind": kind} for kind in ("os.system", "Numeric", "__class__", None, "category")]
    yield from [{**numeric, "name": name} for name in (None, 3, "x" * 10_001, ["x"])]
    yield {**numeric, "more": 1}
    yield from [{**category, "levels": levels} for levels in (None, "ab", ["a", "a"], ["a", None], [["a"]], ["c"])]
    yield from [{**category, "levels": levels} for levels in ([float("nan"), "a"], ["a", *map(str, range(2000))])]
    yield from [{**category, "reference": reference} for reference in (None, "c", ["a"], 1)]
    yield from [{**category, "unseen": unseen} for unseen in (None, "drop", True)]
    texts = (None, 3, "", "x +", CRY, "x.__class__[0]", "9**9**9", "nothing(x)", "scale(x)", "3", "(" * 5000, "'x'")
    yield from [{"kind": "computed", "expression": text} for text in texts]
    yield from [{**centred, "mean": mean} for mean in (None, "1", float("nan"), float("inf"), True, 10**400)]
    yield from [{**centred, "deviation": deviation} for deviation in (None, 0.0, -1.0, [])]
    yield {**centred, "scaled": 1}
    yield from [{**powers, "degree": degree} for degree in (0, 21, 10**9, 2.0, True, "3", None)]
    yield from [{**orthogonal, "degree": degree} for degree in (1, 3, 10**9)]
    yield from [{**orthogonal, "alpha": alpha} for alpha in ([], [1.0], [1.0, "2"], [1.0, float("nan")], None)]
    yield from [{**orthogonal, "beta": beta} for beta in ([0.0, 1.0], [-1.0, 1.0], [1.0] * 10_000)]
    yield from [{**orthogonal, "rows": 0}, {**orthogonal, "centre": "0"}]


@pytest.mark.parametrize("data", list(_changes()), ids=lambda data: repr(data)[:60])
def test_design_from_json_of_a_bad_factor_raises(data):
    with pytest.raises(ValueError, match=r"^[A-Z'].*\.$"):
        design_from_json(design_of_factor(data))


@pytest.mark.parametrize(
    "change",
    [
        {"terms": None},
        {"terms": [{"factors": [99], "full": []}]},
        {"terms": [{"factors": [-1], "full": []}]},
        {"terms": [{"factors": [True], "full": []}]},
        {"terms": [{"factors": [0, 0], "full": []}]},
        {"terms": [{"factors": [], "full": []}]},
        {"terms": [{"factors": [0], "full": [1]}]},
        {"terms": [{"factors": [0], "full": [True, False]}]},
        {"terms": [{"factors": [0]}]},
        {"terms": [{"factors": [0], "full": [], "name": "x"}]},
        {"terms": [{"factors": [0], "full": []}] * 100_001},
        {"factors": []},
        {"factors": {}},
        {"target": 3},
        {"target": {"factor": {"kind": "numeric", "name": "y"}, "labels": False}},
        {"target": {"factor": {"kind": "powers", "expression": "y", "degree": 2}, "labels": False, "classes": []}},
        {"target": {"factor": {"kind": "computed", "expression": "log(y)"}, "labels": True, "classes": []}},
        {"weight": 3},
        {"intercept": None},
        {"missing": "fill"},
        {"formula": ["y ~ x"]},
        {"code": "x"},
    ],
    ids=lambda change: repr(change)[:60],
)
def test_design_from_json_of_changed_data_raises(cars, change):
    plain = design_to_json(design_in(cars, EVERYTHING))
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        design_from_json({**plain, **change})


@pytest.mark.parametrize("name", ["factors", "terms", "target", "weight", "intercept", "missing", "formula"])
def test_design_from_json_without_field_raises(cars, name):
    plain = design_to_json(design_in(cars, EVERYTHING))
    del plain[name]
    with pytest.raises(ValueError, match=f"missing required field `{name}`, at design"):
        design_from_json(plain)


def test_design_from_json_with_too_many_columns_raises_within_seconds():
    levels = [str(k) for k in range(1000)]
    factors = [factor_to_json(Category(name, tuple(levels), "0")) for name in "abcdefgh"]
    base = {"factors": factors, "target": None, "weight": None, "intercept": True, "missing": "error", "formula": None}
    start = time.perf_counter()
    for terms in ([{"factors": [*range(8)], "full": []}], [{"factors": [0], "full": []}] * 99_999):
        with pytest.raises(ValueError, match="too many columns"):
            design_from_json({**base, "terms": terms})
    assert time.perf_counter() - start < 5
