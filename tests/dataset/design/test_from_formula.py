"""Designs of formulas: columns and coefficients of R (tests/golden/formula.R), in any blocks."""

import datetime
import json
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from formula_cases import Cut, design_in, frame_of, matrix, numbers

import linearly as ly
from linearly.dataset.design.from_formula import formula_design
from linearly.dataset.design.transforms import (
    Quadrature,
)
from linearly.dataset.rows.tables import FrameTables
from linearly.dataset.sources import as_tables

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "formula.json").read_text())
CASES = {f"{case['data']}: {case['formula']}": case for case in GOLDEN["cases"]}


# --- as in R


@pytest.mark.parametrize("name", CASES)
def test_formula_design_of_golden_cases_has_columns_of_r(name):
    case = CASES[name]
    frame = frame_of(GOLDEN["data"][case["data"]])
    design = design_in(frame, case["formula"])
    X = matrix(FrameTables(frame), design)
    assert design.intercept == bool(case["intercept"])
    assert len(design.terms) == len(case["terms"])
    assert len(design.names) == len(set(design.names)) == len(case["X"])
    np.testing.assert_allclose(X, np.transpose(case["X"]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_fit_of_golden_cases_has_coefficients_of_r(name):
    case = CASES[name]
    frame = frame_of(GOLDEN["data"][case["data"]])
    full_rank = case["rank"] == len(case["coefficients"])
    if not full_rank:
        with pytest.warns(np.exceptions.RankWarning):
            model = ly.fit(frame, formula=case["formula"])
    else:
        model = ly.fit(frame, formula=case["formula"])
        own = [*([model.estimator.intercept_] if case["intercept"] else []), *model.estimator.coef_]
        np.testing.assert_allclose(own, case["coefficients"], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(model.predict(frame_of(case["new"])), case["predicted"], rtol=1e-10)
    np.testing.assert_allclose(model.predict(frame), case["fitted"], rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_formula_design_in_small_blocks_gives_same_columns(name):
    case = CASES[name]
    frame = frame_of(GOLDEN["data"][case["data"]])
    whole = design_in(frame, case["formula"])
    parts = Cut(frame)
    cut = formula_design(case["formula"], parts.schema).fit(parts)
    assert cut.names == whole.names
    np.testing.assert_allclose(matrix(parts, cut), matrix(FrameTables(frame), whole), rtol=1e-11, atol=1e-13)


def test_formula_design_orders_terms_as_r_and_names_them_by_column(cars):
    design = design_in(cars, "y ~ region:x + log(x) + kind*z + `net price`")
    assert [term.label for term in design.terms] == ["log(x)", "kind", "z", "net price", "region:x", "kind:z"]
    assert design.names == (
        *("log(x)", "kind[b]", "z", "net price"),
        *("region[north]:x", "region[south]:x", "region[west]:x", "kind[b]:z"),
    )


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ . - region - kind", ["x", "z", "net price", "Petal.Width", "doors", "new"]),
        ("y ~ x + new", ["x", "new"]),
        ("y ~ C(new)", ["C(new)[True]"]),
        ("y ~ C(doors)", ["C(doors)[3]", "C(doors)[4]"]),
        ("y ~ C(doors, reference=3):kind - 1", [f"C(doors)[{d}]:kind[{k}]" for k in "ab" for d in (2, 3, 4)]),
        ("y ~ C(region, reference='south')", ["region[north]", "region[west]"]),
        ('y ~ C(region, Treatment("south"))', ["region[north]", "region[west]"]),
        ('y ~ C(region, Treatment(reference="south"))', ["region[north]", "region[west]"]),
        ('y ~ C(region, contr.treatment(base="south"))', ["region[north]", "region[west]"]),
        ("y ~ region + C(region)", ["region[south]", "region[west]"]),
        ("y ~ region + x:C(region, reference='west')", [f"region[{r}]" for r in ("north", "south")]),
        ("y ~ poly(x, 2) + poly(`net price`, degree=1, raw=TRUE)", ["poly(x, 2)[1]", "poly(x, 2)[2]"]),
        ("y ~ scale(x)+center( x )+{x+ z }+I(x**2)", ["scale(x)", "center(x)", "I(x + z)", "I(x^2)"]),
        ("y ~ I(x+z) + {x + z}", ["I(x + z)"]),
        ("y ~ x + -1", ["x"]),
        ("y ~ +x", ["x"]),
        ("y ~ (x + z - 1)", ["x", "z"]),
        ("y ~ x:x", ["x"]),
        ("y ~ log(Petal.Width):x", ["log(Petal.Width):x"]),
        ("y ~ log(`net price`)", ["log(`net price`)"]),
        ("`net price` ~ x", ["x"]),
        ("y ~ I(x^(1/3)) + I(x^-0.5)", ["I(x^(1 / 3))", "I(x^-0.5)"]),
        ("y ~ I(x^(-1/2)) + I(x^-(1/3))", ["I(x^(-1 / 2))", "I(x^-(1 / 3))"]),
        ("y ~ x - 1 + 1", ["x"]),
        ("y\n ~ x\n + z", ["x", "z"]),
    ],
)
def test_formula_design_names_its_columns(cars, formula, names):
    assert list(design_in(cars, formula).names)[: len(names)] == names


def test_formula_with_several_intercepts_uses_the_last(cars):
    for formula, expected in {
        "y ~ x": True,
        "y ~ x - 1": False,
        "y ~ 0 + x": False,
        "y ~ -1 + x": False,
        "y ~ x + 0 + 1": True,
        "y ~ x - 0": True,
        "y ~ 1 + x": True,
    }.items():
        assert design_in(cars, formula).intercept is expected, formula


def test_dot_leaves_out_target_and_weight(cars):
    assert "z" not in design_in(cars, "y ~ .", without=["z"]).names
    assert "x" not in design_in(cars, "log(x) ~ .").names
    assert design_in(cars, "log(x) ~ .").target.factor.label == "log(x)"


def test_dot_minus_column_leaves_it_out(cars):
    dated = cars.with_columns(day=pl.lit(datetime.date(2024, 1, 1)))
    assert "day" not in design_in(dated, "y ~ . - day").names
    with pytest.raises(ValueError, match="'day' is a date"):
        design_in(dated, "y ~ .")


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ 0 + x + x:kind", ("x", "x:kind[b]")),  # R has x:kind[a] too, which the others add up to
        ("y ~ x:z + x:kind", ("x:z", "x:kind[a]", "x:kind[b]")),  # R leaves out x:kind[a], and with it the slope of a
    ],
)
def test_interaction_with_numbers_has_full_rank(cars, formula, names):
    X = numbers(cars, formula)
    assert design_in(cars, formula).names == names
    assert np.linalg.matrix_rank(X) == X.shape[1]


def test_formula_with_labels_as_target_has_classes(cars):
    model = ly.fit(cars, formula="kind ~ x + z", model="lda")
    assert model.classes == ("a", "b")
    with pytest.raises(ValueError, match="is an expression, but a classifier requires a column"):
        ly.fit(cars, formula="log(x) ~ z", model="logistic")


# --- what is learnt of all rows


def test_transforms_of_new_rows_use_constants_of_the_fit(cars):
    design = design_in(cars, "y ~ scale(x) + center(z) + poly(x, 2) + C(doors)")
    new = cars[2:3]
    np.testing.assert_array_equal(matrix(FrameTables(new), design), matrix(FrameTables(cars), design)[2:3], strict=True)


def test_transforms_are_fitted_in_one_pass(cars):
    tables = Cut(cars)
    formula_design("y ~ log(x) + x:z + poly(z, 2, raw=True)", tables.schema).fit(tables)
    assert tables.passes == 0
    formula_design("y ~ poly(x, 5)*z + scale(x)", tables.schema).fit(tables)
    assert tables.passes == 2


@pytest.mark.parametrize(("shift", "size"), [(0.0, 1.0), (1e6, 1e-150), (-1e9, 1e150), (0.0, 1e-300), (1.0, 1e300)])
def test_orthogonal_polynomial_of_shifted_and_scaled_column_is_orthonormal(shift, size):
    rng = np.random.default_rng(1)
    x = (np.round(rng.exponential(size=500), 3) + shift) * size
    frame = pl.DataFrame({"y": x, "x": x})
    tables = Cut(frame.with_columns(y=1.0), 41)
    P = matrix(tables, formula_design("y ~ poly(x, 8)", tables.schema).fit(tables))
    P = np.column_stack([np.full(len(x), len(x) ** -0.5), P])
    assert np.abs(P.T @ P - np.eye(9)).max() < 1e-9
    scaled = matrix(tables, formula_design("y ~ scale(x)", tables.schema).fit(tables))[:, 0]
    assert scaled.std(ddof=1) == pytest.approx(1.0, rel=1e-9)


def test_quadrature_in_any_blocks_keeps_moments():
    rng = np.random.default_rng(2)
    x = rng.normal(size=1000)
    for cuts in ([], [500], [1, 2, 3], list(range(0, 1000, 17))):
        rule = sum((Quadrature.of(part, 4) for part in np.split(x, cuts)), Quadrature.of(x[:0], 4))
        assert len(rule) == 5
        for power in range(10):
            moment = rule.weights @ (rule.high + rule.low) ** power
            assert moment == pytest.approx((x**power).sum(), rel=1e-10, abs=1e-9)


def test_transforms_ignore_missing_values_in_fit(cars):
    gaps = cars.with_columns(x=pl.when(pl.col("x") > 8).then(None).otherwise(pl.col("x")))
    model = ly.fit(gaps, formula="y ~ center(x) + z", missing="drop")
    centred = model.design.terms[0].factors[0]
    assert centred.mean == pytest.approx(np.mean(cars["x"].to_numpy()[:-1]))
    assert model.n_dropped == 1
    with pytest.raises(ValueError, match="'x' is missing in row 7"):
        ly.fit(gaps, formula="y ~ center(x) + z")
    nan = cars.with_columns(x=pl.when(pl.col("x") > 8).then(np.nan).otherwise(pl.col("x")))
    with pytest.raises(ValueError, match="'x' is missing in row 7"):
        ly.fit(nan, formula="y ~ log(x)")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ log(z - 1)", r"log\(z - 1\) is infinite in row 2, where z is 1.0\."),
        ("y ~ sqrt(x - 2) + z", r"sqrt\(x - 2\) is not a number in row 0, where x is 1.0\."),
        ("y ~ I(z / (x - 2))", r"I\(z / \(x - 2\)\) is infinite in row 1, where z is 7.0, x is 2.0\."),
        ("y ~ exp(x * 1000)", r"exp\(x \* 1000\) is infinite in row 0, where x is 1.0\."),
        ("log(y - 1) ~ x", r"log\(y - 1\) is infinite in row 1, where y is 1.0\."),
        ("y ~ center(log(z - 1))", r"center\(log\(z - 1\)\) is infinite in row 2, where z is 1.0\."),
        ("y ~ poly(I(x * 1e20), 20, raw=True)", r"poly\(I\(x \* 1e\+20\), 20, raw=True\) is infinite in row 0"),
        ("y ~ poly(doors, 3)", r"poly\(doors, 3\) needs more than 3 different values, but doors has 3"),
        (
            "y ~ scale(I(x * 0))",
            r"scale\(I\(x \* 0\)\) cannot be computed, because I\(x \* 0\) is the same",
        ),
        (
            "y ~ C(region, reference='east')",
            r"'region' has no level 'east'\. .*: 'north', 'south', 'west'",
        ),
        ("y ~ C(doors, reference=5)", r"'doors' has no level 5.0\. Choose one of its levels: 2.0, 3.0, 4.0"),
    ],
)
def test_transform_without_value_raises_with_row(cars, formula, message):
    for tables in (FrameTables(cars), Cut(cars, 2)):
        with pytest.raises(ValueError, match=message):
            matrix(tables, formula_design(formula, tables.schema).fit(tables))


def test_term_with_too_many_columns_raises():
    n = 5100
    frame = pl.DataFrame(
        {"y": np.arange(n) * 1.0, "a": [f"{k % 100}" for k in range(n)], "b": [f"{k % 51}" for k in range(n)]}
    )
    with pytest.raises(ValueError, match="The term a:b has 5100 columns"):
        ly.fit(frame, formula="y ~ a:b")


def test_formula_on_every_kind_of_table_gives_same_fit(cars, tmp_path):
    formula = "log(y) ~ region*x + poly(z, 2) + scale(x) + C(doors) - 1"
    cars.write_parquet(tmp_path / "cars.parquet", row_group_size=3)
    cars.write_csv(tmp_path / "cars.csv")
    expected = numbers(cars, formula)
    tables = [as_tables(cars.to_pandas()), as_tables(cars.to_arrow()), as_tables(cars.to_dict(as_series=False))]
    tables += [as_tables(tmp_path / name) for name in ("cars.parquet", "cars.csv")]
    for each in tables:
        design = formula_design(formula, each.schema).fit(each)
        np.testing.assert_allclose(matrix(each, design), expected, rtol=1e-12, atol=1e-14)
        assert pickle.loads(pickle.dumps(design)) == design


def test_models_with_different_constants_refuse_to_merge(cars):
    formula = "y ~ scale(x)"
    first, second = ly.fit(cars[:4], formula=formula), ly.fit(cars[4:], formula=formula)
    with pytest.raises(ValueError, match="have different columns, levels or labels"):
        first + second
    together = first + ly.fit(cars[4:], like=first)
    assert together.predict(cars) == pytest.approx(ly.fit(cars, formula=formula).predict(cars), rel=1e-12)


def test_weight_column_is_not_a_feature(cars):
    model = ly.fit(cars, formula="y ~ . - region - kind - new - doors", weight="z")
    assert model.names == ("x", "net price", "Petal.Width")
    by_hand = ly.LinearRegression().fit(
        cars.select(model.names).to_numpy(), cars["y"].to_numpy(), sample_weight=cars["z"].to_numpy()
    )
    assert model.estimator.coef_ == pytest.approx(by_hand.coef_, rel=1e-12)


def test_transform_of_one_shot_stream_raises(cars):
    tables = Cut(cars)
    tables.one_shot = True
    with pytest.raises(ValueError, match=r"^center\(x\) requires a pass over the rows before the fit"):
        formula_design("y ~ center(x)", tables.schema).terms[0].factors[0].fit(tables)
