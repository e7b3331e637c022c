"""Codings, splines, comparisons and functions of formulas: R's columns, every source, the model file and exports."""

import numpy as np
import pandas as pd
import pytest
from golden_sets import read_golden

import linearly as ly
from linearly.dataset.design.from_formula import formula_design
from linearly.dataset.rows.tables import FrameTables
from linearly.kernels.double_double import to_float64

GOLDEN = read_golden("formula_terms")
DATA, NEW = pd.DataFrame(GOLDEN["data"]), pd.DataFrame(GOLDEN["new"])
CASES = {case["formula"]: case for case in GOLDEN["cases"]}


WEIGHTED = {case["formula"]: case for case in GOLDEN["weighted"]}
GAPS = pd.DataFrame(GOLDEN["gaps"]).replace({"k": {"NA": None}})


@pytest.mark.parametrize("terms", CASES)
def test_columns_coefficients_and_predictions_are_those_of_r(terms):
    case = CASES[terms]
    model = ly.fit(DATA, formula=f"y ~ {terms}")
    X = np.concatenate([to_float64(block.X) for block in model.design_rows(DATA)])
    np.testing.assert_allclose(X, np.array(case["X"]), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.tidy()["estimate"], case["coef"], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.predict(NEW), case["new"], rtol=1e-8)


@pytest.mark.parametrize("terms", WEIGHTED)
def test_coefficients_with_missing_values_and_weights_are_those_of_r(terms):
    case = WEIGHTED[terms]
    table = ly.fit(GAPS, formula=f"y ~ {terms}", missing="drop", weight="w").tidy()
    np.testing.assert_allclose(table["estimate"], case["coef"], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(table["std_error"], case["std_error"], rtol=1e-8)


def test_marginal_effects_of_a_column_that_is_compared_with_a_level():
    model = ly.fit(DATA, formula='y ~ z + z:I(k != "c")')
    effects = ly.marginal_effects(model, DATA).to_pandas().set_index(["term", "contrast"])["estimate"]
    slope = model.tidy().to_pandas().set_index("term")["estimate"]
    product = slope['z:I(k != "c")']
    assert effects["k", "c - a"] == pytest.approx(-product * DATA["z"].mean(), rel=1e-9)
    assert effects["k", "d - a"] == pytest.approx(0, abs=1e-9)
    assert effects["z", "dY/dX"] == pytest.approx(slope["z"] + product * (DATA["k"] != "c").mean(), rel=1e-9)


def test_type_3_of_a_comparison_with_a_level_is_the_t_test_of_its_coefficient():
    model = ly.fit(DATA, formula='y ~ x + I(k == "b")')
    table, tests = ly.anova(model, type=3).to_pandas().set_index("term"), model.tidy().to_pandas().set_index("term")
    name = 'I(k == "b")'
    assert table.loc[name, "statistic"] == pytest.approx(tests.loc[name, "statistic"] ** 2, rel=1e-9)


def test_levels_of_numbers_may_be_given_as_text_and_the_reverse():
    data = {"y": [1.0, 3.0, 2.0, 5.0, 4.0, 7.0], "n": [1, 2, 3, 1, 2, 3], "t": ["1", "2", "3", "1", "2", "3"]}
    for levels in ("c(3, 1, 2)", 'c("3", "1", "2")'):
        assert ly.fit(data, formula=f"y ~ factor(n, levels={levels})").names == ("C(n)[1]", "C(n)[2]")
        assert ly.fit(data, formula=f"y ~ factor(t, levels={levels})").names == ("t[1]", "t[2]")


def test_models_of_a_comparison_with_a_level_add_up():
    whole = ly.fit(DATA, formula='y ~ z + I(k == "b")')
    first = ly.fit(DATA[:30], formula='y ~ z + I(k == "b")')
    total = first + ly.fit(DATA[30:], like=first)
    np.testing.assert_allclose(total.tidy()["estimate"], whole.tidy()["estimate"], rtol=1e-10)


def test_a_comparison_with_a_level_cannot_be_the_target():
    with pytest.raises(ValueError, match="Use the column 'k' with a classifier"):
        ly.fit(DATA, formula='I(k == "b") ~ x')


@pytest.mark.parametrize("unseen", ["error", "reference"])
def test_a_level_that_is_new_in_predictions(unseen):
    model = ly.fit(DATA, formula='y ~ x + I(k == "b")', unseen=unseen)
    new = pd.DataFrame({"x": [2.0], "k": ["new"]})
    if unseen == "error":
        with pytest.raises(ValueError, match="'new'"):
            model.predict(new)
    else:
        assert model.predict(new)[0] == model.predict(new.assign(k="a"))[0]


@pytest.mark.parametrize("terms", CASES)
def test_every_source_and_the_model_file_give_the_same_predictions(terms, tmp_path):
    model = ly.fit(DATA, formula=f"y ~ {terms}")
    DATA.to_parquet(tmp_path / "rows.parquet", row_group_size=13)
    other = ly.fit(tmp_path / "rows.parquet", formula=f"y ~ {terms}")
    np.testing.assert_allclose(other.predict(NEW), model.predict(NEW), rtol=1e-9)
    model.save(tmp_path / "model.json")
    assert ly.load(tmp_path / "model.json").predict(NEW).tolist() == model.predict(NEW).tolist()


def test_dask_partitions_give_the_same_knots():
    dask = pytest.importorskip("dask.dataframe")
    here = ly.fit(DATA, formula="y ~ ns(x, df=4)")
    there = ly.fit(dask.from_pandas(DATA, npartitions=7), formula="y ~ ns(x, df=4)")
    np.testing.assert_allclose(there.predict(NEW), here.predict(NEW), rtol=1e-9)


@pytest.mark.parametrize("terms", CASES)
def test_an_exported_function_predicts_the_same(terms, tmp_path):
    from linearly.export.python import to_python

    model = ly.fit(DATA, formula=f"y ~ {terms}")
    space: dict = {}
    exec(to_python(model), space)  # our own source
    rows = NEW.to_dict("records")
    np.testing.assert_allclose([space["predict"](row) for row in rows], model.predict(NEW), rtol=1e-9)


@pytest.mark.parametrize("terms", CASES)
def test_sql_and_onnx_agree_with_the_model_on_made_up_rows(terms):
    from linearly.export.onnx import to_onnx
    from linearly.export.sql import to_sql

    model = ly.fit(DATA, formula=f"y ~ {terms}")  # the writers compare what they write with the model
    assert "prediction" in to_sql(model)
    assert to_onnx(model)


@pytest.mark.parametrize(
    ("named", "plain"), [("log(exp(z), base=10)", "log(exp(z), 10)"), ("round(x, digits=1)", "round(x, 1)")]
)
def test_second_arguments_may_be_named(named, plain):
    one, two = (ly.fit(DATA, formula=f"y ~ {term}") for term in (named, plain))
    assert one.names == two.names
    assert one.predict(DATA).tolist() == two.predict(DATA).tolist()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("lag(x)", "The function 'lag' is not available in formulas. Compute the lagged column before the fit"),
        ("s(x)", r"Write ns\(x, df=4\)"),
        ("rcs(x, 4)", r"Write ns\(x, df=4\)"),
        ("tanh(x)", "Compute the column before the fit"),
        ("sign(x)", "Compute the column before the fit"),
        ("I(x > 1 & z > 2)", r"Multiply comparisons for 'and'"),
        ("(1 | k)", r"fit with groups= for clustered standard errors"),
        ("log(x, base=1)", "base of a logarithm"),
        ("log(x, root=2)", "takes one argument"),
        ("log(x, 1)", "base of a logarithm"),
        ("log(x, z)", "base of a logarithm"),
        ("round(x, 0.5)", "digits from -15 to 15"),
        ("pmax(x)", "takes two or more arguments"),
        ("ns(x, df=1000)", r"df of ns\(\) must be an integer from 1 to 100"),
        ("bs(x, df=2)", r"df of bs\(\) must be an integer from 3 to 100"),
        ("ns(x, df=3, knots=c(1))", "both df and knots"),
        ("ns(x, knots=c(1, 1))", "different numbers"),
        ("ns(x, knots=k)", "different numbers"),
        ("bs(k)", "contains text"),
        ("I(x < z < 2)", "needs '<'|needs .* instead of|not expected"),
        ("scale(x, center=3)", "center must be True or False"),
        ("poly(x, z)", r"takes one column.*poly\(x, 2\) \+ poly\(z, 2\) \+ poly\(x, 1\):poly\(z, 1\)"),
        ("poly(x, z, degree=2)", "takes one column"),
        ("bs(x, df=3, intercept=TRUE)", r"df of bs\(\) must be an integer from 4 to 100"),
        ("bs(x, intercept=1)", "intercept must be True or False"),
        ("ns(x, Boundary.knots=c(1))", "two different numbers"),
        ("ns(x, knots=c(1), Boundary.knots=c(2, 3))", "must lie between 2.0 and 3.0"),
        ("ns(x, df=3, Boundary.knots=c(100, 200))", "between its boundary knots"),
        ('cut(x, 3, labels=c("a", "b"))', "must be 3 different texts"),
        ("cut(x, 3, labels=FALSE)", "must be 3 different texts"),
        ('factor(k, levels=c("a", "b"))', "has the level 'c', which levels= in the formula does not list"),
        ('factor(k, levels=c("a", "a"))', "must list different levels"),
        ('factor(k, levels=c("a", "b")) + factor(k, levels=c("b", "a"))', "two lists of levels"),
        ('I(k == "q")', "has no level 'q'"),
        ('I(x == "a")', "contains numbers"),
        ('I((k == "a") * x)', r'Write a term such as I\(k == "a"\)'),
        ("mgcv::s(x)", "The column 'mgcv' does not exist"),
        ("C(k, Sum) + C(k, Helmert)", "two codings"),
        ("relevel(k)", "needs a reference level"),
        ('relevel(k, ref="q")', "has no level 'q'"),
    ],
)
def test_a_term_that_is_not_possible_is_refused_with_its_remedy(terms, message):
    with pytest.raises(ValueError, match=message):
        ly.fit(DATA, formula=f"y ~ {terms}")


def test_knots_outside_the_data_are_refused():
    with pytest.raises(ValueError, match="must lie between"):
        ly.fit(DATA, formula="y ~ ns(x, knots=c(100))")


@pytest.mark.parametrize("coding", ["Sum", "Helmert", "Poly", "Treatment"])
def test_every_coding_fits_the_same_values(coding):
    plain = ly.fit(DATA, formula="y ~ k * z")
    coded = ly.fit(DATA, formula=f"y ~ C(k, {coding}) * z")
    np.testing.assert_allclose(coded.predict(DATA), plain.predict(DATA), rtol=1e-9)


def test_a_label_of_a_comparison_parses_to_itself():
    schema = FrameTables(DATA).schema
    for terms in ("I(x + z <= 3)", "I((x > 1) * z)", "I(x == 2)", "pmax(x, z, 2)", "log(x, 3)"):
        design = formula_design(f"y ~ {terms}", schema)
        again = formula_design(f"y ~ {design.terms[0].label}", schema)
        assert again.terms == design.terms


@pytest.mark.parametrize(("target", "expected"), [("y", 3.8), ("k", -0.405465)])
def test_an_intercept_alone_is_fitted_saved_and_predicted(target, expected, tmp_path):
    data = pd.DataFrame({"y": [1.0, 2.0, 4.0, 9.0, 3.0], "k": list("ababa")})
    model = ly.fit(data, formula=f"{target} ~ 1")
    assert model.tidy()["term"].tolist() == ["Intercept"]
    assert model.tidy()["estimate"][0] == pytest.approx(expected, rel=1e-6)
    model.save(tmp_path / "model.json")
    for one in (model, ly.load(tmp_path / "model.json")):
        assert one.predict(data).tolist() == [3.8] * 5 if target == "y" else ["a"] * 5
    with pytest.raises(ValueError, match="only an intercept"):
        model.report(tmp_path / "page.html", data)


def test_a_formula_without_any_term_is_refused():
    with pytest.raises(ValueError, match="has no term"):
        ly.fit(DATA, formula="y ~ 0")
