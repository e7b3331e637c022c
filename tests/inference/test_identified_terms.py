"""No standard error, p-value or interval for what the rows do not determine, beside R (tests/golden/identified.R)."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from golden_sets import read_golden

import linearly as ly
from linearly.algorithm.separability.decide import separability, tied_rows
from linearly.cli.main import main
from linearly.models.separation import unbounded_terms

GOLDEN = read_golden("identified")
CARS, ENDOMETRIAL = (pd.DataFrame(GOLDEN[name]) for name in ("mtcars", "endometrial"))
UNKNOWN = ["std_error", "statistic", "p_value", "conf_low", "conf_high"]
SUM = ["hp", "wt", "tot"]
RANK, SEPARATED = np.exceptions.RankWarning, ly.SeparationWarning


def fitted(estimator, X, y, warning=RANK, **more):
    with pytest.warns(warning):
        return estimator.fit(X, y, **more)


def of_formula(formula, data=CARS, warning=RANK, **options):
    with pytest.warns(warning):
        return ly.fit(data, formula=formula, **options)


def missing(table):
    """The terms without standard error, statistic, p-value and interval; a term lacks all of them or none."""
    gone = np.isnan([table[name] for name in UNKNOWN])
    assert (gone == gone[0]).all()
    return table["term"][gone[0]].tolist()


# --- least squares: columns that are combinations of others -----------------------------------------


@pytest.mark.parametrize("covariance", ["classical", "HC1", "HC3"])
@pytest.mark.parametrize("method", ["auto", "gram", "qr", "extended", "gradient_descent"])
def test_tidy_of_a_sum_of_columns_lacks_inference_for_all_three_and_keeps_r_figures_for_the_others(method, covariance):
    X, y = CARS[[*SUM, "qsec"]], CARS["mpg"]
    model = fitted(ly.LinearRegression(method=method, covariance=covariance), X, y)
    table = ly.tidy(model)
    assert missing(table) == SUM
    full = ly.LinearRegression(covariance=covariance).fit(CARS[["hp", "wt", "qsec"]], y)
    alone = ly.tidy(full)
    for name in ("estimate", *UNKNOWN):
        np.testing.assert_allclose(table[name][[0, 4]], alone[name][[0, 3]], rtol=1e-6)
    assert model.coef_[:3] @ [1, 1, -1] == pytest.approx(0, abs=1e-8)  # of smallest norm: nothing along the null space
    assert any("hp, wt, tot" in note for note in table.notes)
    assert ly.glance(model)["f_statistic"][0] == pytest.approx(ly.glance(full)["f_statistic"][0], rel=1e-6)


@pytest.mark.parametrize("case", GOLDEN["linear"])
def test_a_rank_deficient_lm_agrees_with_r_where_both_have_figures(case):
    golden = GOLDEN["linear"][case]
    model = of_formula(golden["formula"])
    table, solution = model.tidy(), model.estimator.solution_
    np.testing.assert_allclose(model.predict(CARS), golden["fitted"], rtol=1e-9)
    assert (solution.dof, solution.rss[0]) == (golden["df_residual"], pytest.approx(golden["rss"], rel=1e-9))
    known = ~np.isnan(table["std_error"])
    expected = [np.array(golden[name], dtype=float) for name in ("coefficients", "std_error", "p_value")]
    assert not np.isnan(expected[0][known]).any()  # R sets aside a part of what is not determined, never more
    for name, theirs in zip(("estimate", "std_error", "p_value"), expected, strict=True):
        np.testing.assert_allclose(table[name][known], theirs[known], rtol=1e-8)
    assert known.tolist() == {"sum": [1, 0, 0, 0], "cells": [1, 1, 1, 0, 0, 0, 0]}[case]


def test_every_other_table_of_an_aliased_fit_lacks_the_same_figures(tmp_path):
    model = of_formula("mpg ~ hp + wt + tot + qsec")
    estimator = model.estimator
    assert np.isnan(estimator.std_errors()[1:4]).all()
    assert np.isnan(estimator.covariance_[1:4]).all()
    assert np.isnan(estimator.covariance_[:, 1:4]).all()
    assert np.isfinite(estimator.covariance_[np.ix_([0, 4], [0, 4])]).all()
    assert np.isnan(estimator.sample_coefficients(3, random_state=0)[:, 1:4]).all()
    assert np.isfinite(estimator.sample_coefficients(3, random_state=0)[:, [0, 4]]).all()
    assert missing_of(model.summary().tables[0]) == SUM
    found = ly.diff(of_formula("mpg ~ hp + wt + tot", CARS[:16]), of_formula("mpg ~ hp + wt + tot", CARS[16:]))
    assert np.isnan(found["p_value"][1:]).all()
    assert np.isfinite(found["p_value"][0])
    model.save(tmp_path / "m.json")
    assert missing(ly.load(tmp_path / "m.json").tidy()) == SUM


def missing_of(table):
    return table["term"][np.isnan(table["std_error"]) & np.isnan(table["p_value"])].tolist()


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a directory of its own: what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words):
        capsys.readouterr()
        assert main(words) == 0
        return capsys.readouterr().out

    return run


def test_the_screen_json_and_page_of_an_aliased_fit_show_no_p_value(run):
    CARS[["mpg", *SUM]].to_csv("cars.csv", index=False)
    fit = ("fit", "cars.csv", "--formula", "mpg ~ hp + wt + tot")
    shown = run(*fit, "--report", "r.html")
    for term, remark in (("hp", "not determined"), ("wt", "not determined"), ("tot", "a combination of other columns")):
        (line,) = re.findall(rf"^ *{term} .*$", shown, flags=re.M)
        assert re.fullmatch(rf" *{term} +\S+ +– +– +– +{remark}", line), line
    terms = {term["term"]: term for term in json.loads(run(*fit, "--json"))["terms"]}
    assert [terms[name]["p_value"] for name in SUM] == [None] * 3
    assert terms["Intercept"]["p_value"] < 1e-10
    page = Path("r.html").read_text()
    assert page.count("not determined by the rows") >= 3
    assert not re.search(r"largest t statistic is (hp|wt|tot)", page)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_which_terms_are_determined_does_not_depend_on_units_or_origin(scale, offset):
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 50))
    X = np.column_stack([a * scale, b, np.round(a + 2 * b, 30), c + offset])
    model = fitted(ly.LinearRegression(), X, rng.normal(size=50))
    assert model.solution_.identified.tolist() == [True, False, False, False, True]


def test_a_dummy_for_every_level_leaves_neither_levels_nor_intercept_but_other_columns():
    rng = np.random.default_rng(1)
    level = np.eye(3)[np.arange(30) % 3]
    X, y = np.column_stack([level, rng.normal(size=30)]), rng.normal(size=30)
    for model, target in ((ly.LinearRegression(), y), (ly.LogisticRegression(), y > 0)):
        assert missing(ly.tidy(fitted(model, X, target))) == ["Intercept", "x0", "x1", "x2"]
        assert missing(ly.tidy(fitted(type(model)(), X[:, 1:] * [1, 1, 0], target))) == ["x2"]
    plain = ly.LinearRegression(fit_intercept=False).fit(X, y)
    assert missing(ly.tidy(plain)) == []


def test_the_bias_of_ridge_is_unknown_where_least_squares_is():
    found = ly.tidy(ly.LinearRegression(alpha=1.0).fit(CARS[[*SUM, "qsec"]], CARS["mpg"]))
    assert np.isnan(found["bias"]).tolist() == [False, True, True, True, False]
    assert np.isfinite(found["std_error"]).all()


# --- predictions that the rows do not determine -----------------------------------------------------


def test_predictions_off_the_row_space_are_named_and_have_no_interval():
    model = of_formula("mpg ~ hp + wt + tot")
    new = pd.DataFrame({"hp": [100.0, 100.0, 150.0], "wt": [3.0, 3.0, 2.0], "tot": [103.0, 110.0, 152.0]})
    for kind in ("confidence", "prediction"):
        with pytest.warns(ly.NotEstimableWarning, match="not estimable at row 1:"):
            found = model.predict_interval(new, kind=kind)
        assert np.isnan(found["low"]).tolist() == np.isnan(found["high"]).tolist() == [False, True, False]
    with pytest.warns(ly.NotEstimableWarning, match="not estimable at row 1:") as told:
        model.predict(new)
    assert len(told) == 1
    alone = ly.fit(CARS, formula="mpg ~ hp + wt")
    np.testing.assert_allclose(model.predict(new[::2]), alone.predict(new[::2]), rtol=1e-9)
    np.testing.assert_allclose(model.predict_interval(new[::2])["low"], alone.predict_interval(new[::2])["low"])


def test_a_cell_that_never_occurs_is_not_estimable_and_those_that_do_are():
    model = of_formula("mpg ~ wt + factor(gear)*factor(am)")
    with pytest.warns(ly.NotEstimableWarning, match="row 0"):
        found = model.predict_interval(pd.DataFrame({"wt": [3.0], "gear": [3.0], "am": [1.0]}))
    assert np.isnan(found["low"][0])
    found = model.predict_interval(CARS)
    assert np.isfinite(found["low"]).all()


def test_a_logistic_prediction_off_the_row_space_is_named_by_every_method():
    X, y = CARS[["wt", "mpg", "both"]].to_numpy(), CARS["vs"].astype(int)
    model = fitted(ly.LogisticRegression(), X, y)
    off = X[:4] + np.array([0, 0, 1.0])
    for ask in (model.predict, model.predict_proba, model.decision_function, model.predict_log_proba):
        with pytest.warns(ly.NotEstimableWarning, match=r"row 0, row 1, row 2 and 1 more"):
            ask(off)
        ask(X)


def test_fitted_values_of_indicators_off_the_row_space_are_named():
    X, y = CARS[["wt", "mpg", "both"]].to_numpy(), CARS["vs"].astype(int)
    model = fitted(ly.LeastSquaresClassifier(), X, y)
    with pytest.warns(ly.NotEstimableWarning, match="row 0:"):
        model.predict(X[:1] + np.array([0, 0, 1.0]))
    model.predict(X)


@pytest.mark.parametrize("blocks", [1, 7])
def test_rows_are_counted_once_whatever_the_chunks(blocks, tmp_path):
    model = of_formula("vs ~ wt + mpg + both", CARS.astype({"vs": int}), model="logistic")
    part = CARS[["wt", "mpg"]].assign(both=0.0)
    files = [tmp_path / f"{i}.parquet" for i in range(blocks)]
    for file in files:
        part.to_parquet(file)
    with pytest.warns(ly.NotEstimableWarning, match=rf" and {32 * blocks - 3} more") as told:
        model.predict(files, out=tmp_path / "answers.csv")
    assert len(told) == 1


# --- logistic regression: the same convention -------------------------------------------------------


@pytest.mark.parametrize("covariance", ["classical", "HC1"])
def test_a_rank_deficient_glm_agrees_with_r_where_both_have_figures(covariance):
    golden = GOLDEN["logistic"]["sum"]
    X, y = CARS[["wt", "mpg", "both"]], CARS["vs"].astype(int)
    model = fitted(ly.LogisticRegression(covariance=covariance), X, y)
    table, row = ly.tidy(model), ly.glance(model).row(0)
    assert missing(table) == ["wt", "mpg", "both"]
    assert missing_of(model.summary().tables[0]) == ["wt", "mpg", "both"]
    assert np.isnan(ly.odds_ratios(model)["conf_low"]).all()
    for name in ("deviance", "aic", "df_residual"):
        assert row[name] == pytest.approx(golden[name], rel=1e-9)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], golden["fitted"], rtol=1e-6)
    assert table["estimate"][0] == pytest.approx(golden["coefficients"][0], rel=1e-6)
    if covariance == "classical":
        assert table["std_error"][0] == pytest.approx(golden["std_error"][0], rel=1e-6)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_descent", "firth"])
def test_every_solver_gives_the_coefficients_of_smallest_norm_and_counts_the_same_parameters(solver):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3)) * [1.0, 4.0, 1.0]
    y = X @ [1.0, -0.2, 0.5] + rng.logistic(size=200) > 0.3
    whole = np.column_stack([X, X[:, 0] - X[:, 1] + 7, np.full(200, 2.5)])
    how = {"bias_reduction": "firth"} if solver == "firth" else {"solver": solver}
    model = ly.LogisticRegression(**how)
    with pytest.warns(RANK, match="'x3', 'x4'"):
        model.fit(whole, y)
    alone = ly.LogisticRegression(**how).fit(X, y)
    assert model.coef_[0] @ [1, -1, 0, -1, 0] == pytest.approx(0, abs=1e-9)
    assert model.coef_[0, 4] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(model.predict_proba(whole), alone.predict_proba(X), atol=1e-4)
    assert ly.glance(model)["aic"][0] == pytest.approx(ly.glance(alone)["aic"][0], rel=1e-6)
    if solver != "gradient_descent":
        assert model.coef_[0, 2] == pytest.approx(alone.coef_[0, 2], rel=1e-4)
    if solver in ("newton", "firth"):
        assert missing(ly.tidy(model)) == ["Intercept", "x0", "x1", "x3", "x4"]


def test_classes_beyond_two_lack_the_same_terms_in_every_logit():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    y = rng.integers(0, 3, 120)
    model = fitted(ly.LogisticRegression(), np.column_stack([X, X[:, 0]]), y)
    table = ly.tidy(model)
    assert missing(table) == ["x0", "x2"] * 2
    alone = ly.tidy(ly.LogisticRegression().fit(X, y))
    np.testing.assert_allclose(table["std_error"][[0, 2, 4, 6]], alone["std_error"][[0, 2, 3, 5]], rtol=1e-6)


# --- separated classes ------------------------------------------------------------------------------


def test_separable_classes_have_no_inference_and_one_state():
    golden = GOLDEN["separated"]["separable"]
    X, y = CARS[["wt", "gear"]], CARS["am"].astype(int)
    model = ly.LogisticRegression()
    with pytest.warns(SEPARATED, match=r"bias_reduction=.*alpha > 0.*likelihood_ratio_tests"):
        model.fit(X, y)
    assert missing(ly.tidy(model)) == ["Intercept", "wt", "gear"]
    assert np.isnan(model.covariance_).all()
    assert np.isnan([ly.odds_ratios(model)[end] for end in ("conf_low", "conf_high")]).all()
    assert missing_of(model.summary().tables[0]) == ["Intercept", "wt", "gear"]
    assert "likelihood_ratio_tests" in str(model.summary())
    given = -2 * model.predict_log_proba(X)[np.arange(32), y].sum()
    assert ly.glance(model)["deviance"][0] == pytest.approx(given, rel=1e-10)
    found = ly.likelihood_ratio_tests(model, X, y)  # of the limit, which is R's deviance of 1e-14
    # Without wt the classes are quasi-separable: the search for that limit stops 3e-5 above it.
    np.testing.assert_allclose(found["statistic"], golden["lrt"]["statistic"], rtol=1e-5)
    np.testing.assert_allclose(found["p_value"], golden["lrt"]["p_value"], rtol=1e-4)
    small = ly.LogisticRegression().fit(X[["wt"]], y)
    assert ly.compare_models(small, model)["statistic"][0] == pytest.approx(golden["lrt"]["statistic"][1], rel=1e-6)


def test_two_clean_clusters_show_no_p_value_anywhere(run):
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b"], 40)
    pd.DataFrame({"x": rng.normal(size=80) + 6 * (kind == "b"), "z": rng.normal(size=80), "kind": kind}).to_csv(
        "two.csv", index=False
    )
    facts = json.loads(run("fit", "two.csv", "-t", "kind", "--json", "--report", "r.html", "-o", "m.json"))
    assert facts["separated"]
    assert [term["p_value"] for term in facts["terms"]] == [None] * 3
    assert [term["std_error"] for term in facts["terms"]] == [None] * 3
    assert missing(ly.load("m.json").tidy()) == ["Intercept", "x", "z"]
    page = Path("r.html").read_text()
    assert "not estimates" in page
    (line,) = re.findall(r"^ *x .*$", run("show", "m.json"), flags=re.M)
    assert re.fullmatch(r" *x +\S+ +– +\S+ +– +–", line), line  # log-odds and odds ratio alone


def test_quasi_separation_keeps_the_other_terms_equal_to_r_on_the_remaining_rows():
    golden = GOLDEN["separated"]["quasi"]
    X, y = ENDOMETRIAL[["NV", "PI", "EH"]], ENDOMETRIAL["HG"].astype(int)
    model = fitted(ly.LogisticRegression(), X, y, SEPARATED)
    table = ly.tidy(model)
    assert missing(table) == ["NV"]
    for name, theirs in (("estimate", "coefficients"), ("std_error", "std_error"), ("p_value", "p_value")):
        np.testing.assert_allclose(table[name][[0, 2, 3]], golden["tied"][theirs], rtol=1e-4)
    assert ly.glance(model)["deviance"][0] == pytest.approx(golden["deviance"], rel=1e-5)
    found = ly.likelihood_ratio_tests(model, X, y)
    np.testing.assert_allclose(found["statistic"], golden["lrt"]["statistic"], rtol=1e-4)
    np.testing.assert_allclose(found["p_value"], golden["lrt"]["p_value"], rtol=1e-4)


@pytest.mark.parametrize(("case", "data"), [("separable", CARS), ("quasi", ENDOMETRIAL)])
def test_firth_of_separated_classes_has_the_figures_of_brglm2(case, data):
    golden = GOLDEN["separated"][case]
    target, features = golden["formula"].split(" ~ ")
    X, y = data[features.split(" + ")], data[target].astype(int)
    table = ly.tidy(ly.LogisticRegression(bias_reduction="firth").fit(X, y))
    for name, theirs in (("estimate", "coefficients"), ("std_error", "std_error"), ("p_value", "p_value")):
        np.testing.assert_allclose(table[name], golden["firth"][theirs], rtol=1e-5)


def test_a_baseline_level_of_one_label_leaves_no_intercept_and_no_other_level():
    rng = np.random.default_rng(4)
    level, x = np.arange(90) % 3, rng.normal(size=90)
    y = (x + rng.normal(size=90) * 2 > 0) | (level == 0)
    model = fitted(ly.LogisticRegression(), np.column_stack([x, level == 1, level == 2]), y, SEPARATED)
    assert missing(ly.tidy(model)) == ["Intercept", "x1", "x2"]
    alone = ly.tidy(ly.LogisticRegression().fit(np.column_stack([x, level == 1])[level > 0], y[level > 0]))
    assert ly.tidy(model)["std_error"][1] == pytest.approx(alone["std_error"][1], rel=1e-4)


def test_rows_that_one_hyperplane_leaves_may_be_quasi_separable_again():
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 80))
    kind = np.arange(80) % 4
    y = (z + rng.normal(size=80) * 2 > 0) | (kind == 1)
    apart = np.where(kind == 2, np.where(y, 1.0, -1.0) * (1 + rng.random(80)), 0.0)  # tells kind 2 by its own column
    X = np.column_stack([x, z, kind == 1, apart]).astype(float)
    certificate = separability(X, y)
    assert certificate.verdict == "quasi-separable"
    assert set(kind[tied_rows(certificate)]) == {0, 3}
    assert unbounded_terms(certificate).tolist() == [False, False, False, True, True]


def test_separation_of_more_than_two_classes_leaves_no_term():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] > 1, 2, (X[:, 1] + rng.normal(size=90) > 0).astype(int))
    model = fitted(ly.LogisticRegression(), X, y, SEPARATED)
    assert np.isnan(ly.tidy(model)["std_error"]).all()


def test_profile_intervals_of_an_aliased_fit_are_missing_where_standard_errors_are():
    X, y = CARS[["wt", "mpg", "both"]], CARS["vs"].astype(int)
    model = fitted(ly.LogisticRegression(), X, y)
    found = ly.profile_intervals(model, X, y)
    assert np.isnan(found["conf_low"]).tolist() == [False, True, True, True]


# --- nested by column space, degrees of freedom -----------------------------------------------------


def test_a_number_is_nested_in_its_own_levels_as_in_r():
    golden = GOLDEN["nested"]
    found = ly.compare_models(*(ly.fit(CARS, formula=f"mpg ~ {term}") for term in ("cyl", "factor(cyl)")))
    for name in ("statistic", "df", "p_value"):
        assert found[name][0] == pytest.approx(golden[name], rel=1e-9)


@pytest.mark.parametrize(
    ("small", "big", "nested"),
    [
        ("wt + wt:cyl", "wt*factor(cyl)", True),
        ("log(cyl)", "factor(cyl)", True),
        ("scale(wt)", "wt + hp", True),
        ('C(cyl, reference=8)', "factor(cyl) + wt", True),
        ("factor(cyl)", "cyl + hp + wt", False),
        ("log(wt)", "wt + hp", False),
        ("abs(wt - 9)", "wt + hp", False),
        ("cyl", "factor(gear) + wt", False),
    ],
)  # fmt: skip
def test_nested_means_that_columns_are_combinations_whatever_their_names(small, big, nested):
    a, b = (ly.fit(CARS, formula=f"mpg ~ {terms}") for terms in (small, big))
    if nested:
        rss = [model.estimator.solution_.rss[0] for model in (a, b)]
        found = ly.compare_models(a, b)
        df, rest = found["df"][0], found["df_residual"][0]
        assert found["statistic"][0] == pytest.approx((rss[0] - rss[1]) / df / (rss[1] / rest), rel=1e-9)
    else:
        with pytest.raises(ValueError, match="not nested"):
            ly.compare_models(a, b)


def test_residual_degrees_of_freedom_of_k_classes_count_each_logit():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    assert ly.glance(ly.LogisticRegression().fit(X, y))["df_residual"][0] == 60 * 3 - 3 * 3
    assert ly.glance(ly.LogisticRegression().fit(X, y > 1))["df_residual"][0] == 60 - 3


def test_a_warning_of_no_estimate_is_not_raised_for_fits_of_full_rank():
    model = ly.LinearRegression().fit(CARS[["hp", "wt"]], CARS["mpg"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_interval(CARS[["hp", "wt"]] * 100)
