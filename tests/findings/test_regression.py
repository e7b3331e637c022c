"""Findings about a regression: what they claim on data of known truth, and what their remedies do."""

import ast
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from findings.contradictions import contradictions
from findings.kinds_of_data import kinds

import linearly as ly
from linearly.findings.regression import regression_findings
from linearly.report.facts import facts

TABLES = kinds()


def fitted(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weight = {"weight": "w"} if "w" in data else {}
        missing = {"missing": "drop"} if data.isna().any().any() else {}
        target = {} if "formula" in options else {"target": "y"}
        return ly.fit(data, **target, **weight, **missing, **options)


def about(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return facts(model, model.design_rows(data))


@cache
def found_in(name, **options):
    data = TABLES[name]
    return {finding.id: finding for finding in regression_findings(about(fitted(data, **options), data))}


@pytest.mark.parametrize("model", ["linear", "ridge"])
@pytest.mark.parametrize("name", TABLES)
def test_no_two_claims_exclude_each_other(name, model):
    findings = found_in(name, model=model)
    assert contradictions(findings) == []
    assert ("nothing_against" in findings) <= ("explains" in findings)
    if any(finding.severity != "OK" for finding in findings.values()):
        assert "nothing_against" not in findings


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("good", {"explains", "no_residual_pattern", "nothing_against"}),
        ("noise", {"chance"}),
        ("singleton level", {"leverage_one"}),
        ("growing variance", {"unequal_variance"}),
        ("negative autocorrelation", {"serial_correlation"}),
        ("positive autocorrelation", {"serial_correlation"}),
        ("clusters", {"serial_correlation"}),
        ("time, correlated errors", {"curve_or_correlation"}),
        ("time, curve", {"curve_or_correlation"}),
        ("wide", {"saturated", "aliased"}),
        ("sine", {"curvature"}),
        ("sine of normal", {"curvature"}),
        ("quadratic", {"curvature"}),
        ("outlier first", {"influence"}),
        ("skewed errors", {"not_normal"}),
        ("leakage", {"leakage"}),
        ("exact", {"perfect"}),
        ("constant", {"constant"}),
        ("two values", {"two_values"}),
        ("repeated rows", {"repeated_rows"}),
        ("nearly collinear", {"collinear"}),
        ("collinear", {"aliased"}),
        ("missing rows", {"dropped_rows"}),
    ],
)
def test_a_kind_of_data_has_its_findings(name, ids):
    assert ids <= set(found_in(name))


@pytest.mark.parametrize("name", ["outlier first", "leverage row", "growing variance"])
def test_one_row_or_unequal_variance_is_not_called_a_curve_or_serial_correlation(name):
    assert not {"curvature", "serial_correlation"} & set(found_in(name))


def test_dropped_rows_have_a_command_that_names_the_target():
    data = TABLES["missing rows"].rename(columns={"y": "mass (g)"})
    model = ly.fit(data, target="mass (g)", missing="drop")
    (found,) = [finding for finding in regression_findings(about(model, data)) if finding.id == "dropped_rows"]
    assert "(linearly check DATA --target 'mass (g)')" in found.remedy


def test_serial_correlation_states_its_sign():
    assert "negatively" in found_in("negative autocorrelation")["serial_correlation"].claim
    assert "positively" in found_in("positive autocorrelation")["serial_correlation"].claim


def test_a_curve_in_time_is_not_told_from_correlated_errors_before_the_curve_is_fitted():
    for name, left in (("time, curve", set()), ("time, correlated errors", {"serial_correlation"})):
        found = found_in(name)
        assert not set(found) & {"curvature", "serial_correlation", "explains", "unequal_variance"}
        fitted_curve = found_in(name, **dict(found["curve_or_correlation"].options))
        assert set(fitted_curve) & {"curvature", "serial_correlation", "curve_or_correlation"} == left


def test_chance_is_not_ruled_out_by_rows_whose_errors_are_correlated():
    rng = np.random.default_rng(0)
    e, x = np.zeros((2, 200))
    for i in range(1, 200):
        e[i], x[i] = 0.8 * np.array([e[i - 1], x[i - 1]]) + rng.normal(size=2)
    data = pd.DataFrame({"x": x, "y": e})
    ids = {one.id for one in regression_findings(about(fitted(data, covariance="HAC"), data))}
    assert "autocorrelation_allowed" in ids
    assert "explains" not in ids


def test_a_fit_through_every_row_has_one_cause():
    found = found_in("wide")
    assert "60 terms for 30 rows" in found["saturated"].claim
    assert not set(found) & {"leakage", "few_rows", "leverage_one", "explains", "chance", "no_influence", "perfect"}
    assert found["aliased"].options == ()  # it would leave 31 columns out
    assert "None" not in " ".join(one.claim + one.remedy for one in found.values())


def test_intervals_of_a_penalised_fit_are_said_to_leave_its_bias_out():
    assert "penalised_intervals" in found_in("good", model="ridge")
    assert "penalised_intervals" not in found_in("good")


def test_clustered_errors_are_named_and_allowed_for():
    data = TABLES["clusters"].assign(g=np.repeat(np.arange(20), 10))
    model = fitted(data, covariance="cluster", groups="g", features=["a"])
    ids = {finding.id for finding in regression_findings(about(model, data))}
    assert "cluster_correlation" in ids
    assert not ids & {"serial_correlation", "no_residual_pattern"}


# --- weights --------------------------------------------------------------------------------------


def test_errors_of_a_weighted_fit_are_in_units_of_the_target():
    data = TABLES["weights"]
    once = about(fitted(data), data)
    for factor in (1.0, 100.0):
        scaled = data.assign(w=data.w * factor)
        found = about(fitted(scaled), scaled)
        assert found["typical_error"] == pytest.approx(once["typical_error"], rel=1e-9)
        assert found["spread"] == pytest.approx(once["spread"], rel=1e-9)
    assert once["typical_error"] == pytest.approx(1, abs=0.15)
    mean = np.average(data.y, weights=data.w)
    assert once["spread"] == pytest.approx(np.sqrt(np.average((data.y - mean) ** 2, weights=data.w)), rel=0.01)


def test_prediction_intervals_do_not_depend_on_a_factor_of_the_weights():
    data = TABLES["weights"]
    tables = [
        fitted(data.assign(w=data.w * factor)).predict_interval(data.head(5), kind="prediction")
        for factor in (1.0, 100.0)
    ]
    np.testing.assert_allclose(tables[0]["low"], tables[1]["low"], rtol=1e-9)
    covered = (tables[0]["high"] - tables[0]["low"]) / 2
    assert ((covered > 1.5) & (covered < 2.5)).all()  # errors have standard deviation 1


def test_prediction_interval_of_a_stated_weight():
    data = TABLES["weights"]
    model = fitted(data)
    sigma = model.glance()["sigma"][0]
    mean = model.predict_interval(data.head(3))
    for weight in (1.0, 4.0):
        table = model.predict_interval(data.head(3), kind="prediction", weight=weight)
        reach = (table["high"] - table["low"]) / 2
        t = scipy.stats.t.ppf(0.975, 197)
        se = (mean["high"] - mean["low"]) / 2 / t
        np.testing.assert_allclose(reach, t * np.sqrt(se**2 + sigma**2 / weight), rtol=1e-6)
    with pytest.raises(ValueError, match="weight must be one positive number"):
        model.predict_interval(data.head(3), kind="prediction", weight=0.0)


# --- leverage 1 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["solo", "aaa"])
def test_a_row_that_alone_determines_a_level_is_named(name):
    data = TABLES["singleton level"].replace({"g": {"solo": name}})
    model = fitted(data)
    found = about(model, data)
    finding = {one.id: one for one in regression_findings(found)}["leverage_one"]
    assert f"Only row 17 determines g[{name}]" in finding.claim
    rest = data.drop(index=17)
    alone = fitted(rest)
    other = about(alone, rest)
    assert found["exact_rows"]["r_squared_rest"] == pytest.approx(alone.glance()["r_squared"][0], rel=1e-6)
    assert found["left_out"] == pytest.approx(other["left_out"], rel=1e-6)
    assert found["left_out_r_squared"] == pytest.approx(other["left_out_r_squared"], rel=1e-6)


# --- ridge ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_ridge_on_noise_is_not_recommended(seed):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(80, 6)), columns=[*"abcde", "y"])
    ids = {finding.id for finding in regression_findings(about(fitted(data, model="ridge"), data))}
    assert "nothing_against" not in ids or "explains" in ids


def test_alpha_at_the_edge_of_the_grid_is_reported():
    data = TABLES["noise"]
    for alphas, name in (([0.1, 1.0], "alpha_largest"), ([1e4, 1e6], "alpha_smallest")):
        table = data if name == "alpha_largest" else TABLES["good"]
        found = {one.id: one for one in regression_findings(about(fitted(table, model="ridge", alphas=alphas), table))}
        assert name in found


# --- remedies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sine", "quadratic"])
def test_remedy_of_curvature_improves_the_fit_and_removes_the_curve(name):
    data, finding = TABLES[name], found_in(name)["curvature"]
    better = fitted(data, **dict(finding.options))
    before, after = about(fitted(data), data), about(better, data)
    assert after["left_out_r_squared"] > before["left_out_r_squared"] + 0.1
    assert "curvature" not in {one.id for one in regression_findings(after)}


def test_logarithm_is_advised_for_positive_targets_only():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 400))
    data = pd.DataFrame({"a": a, "b": b, "y": np.exp(a + b) + 0.1 * rng.random(400)})
    for shift, advised in ((0.0, True), (-1.0, False)):
        table = data.assign(y=data.y + shift)
        remedies = " ".join(one.remedy for one in regression_findings(about(fitted(table), table)))
        assert ("logarithm" in remedies) <= advised


def test_interactions_are_not_advised_to_a_formula_that_has_them():
    data = TABLES["quadratic"].assign(y=lambda table: table.y + table.a * table.b)
    model = fitted(data, formula="y ~ (a + b)^2")
    remedies = [one.remedy for one in regression_findings(about(model, data)) if one.id == "curvature"]
    assert remedies
    assert "^2" not in remedies[0]


def test_remedy_of_unequal_variance_changes_the_standard_errors_only():
    data, finding = TABLES["growing variance"], found_in("growing variance")["unequal_variance"]
    plain, robust = fitted(data), fitted(data, **dict(finding.options))
    np.testing.assert_allclose(robust.tidy()["estimate"], plain.tidy()["estimate"], rtol=1e-12)
    assert robust.tidy()["std_error"][1] > 1.3 * plain.tidy()["std_error"][1]
    assert "unequal_variance" not in {one.id for one in regression_findings(about(robust, data))}


@pytest.mark.parametrize(
    ("name", "id_"), [("leakage", "leakage"), ("nearly collinear", "collinear"), ("collinear", "aliased")]
)
def test_remedy_without_a_column_can_be_run_as_it_is_written(name, id_):
    data = TABLES[name]
    argument = found_in(name)[id_].remedy.partition("features=")[2].rstrip(".")
    better = fitted(data, features=ast.literal_eval(argument))
    assert id_ not in {one.id for one in regression_findings(about(better, data))}
    by_formula = fitted(data, formula="y ~ " + " + ".join(data.columns.drop("y")))
    finding = {one.id: one for one in regression_findings(about(by_formula, data) | {"commands": True})}[id_]
    assert "write a formula without" in finding.remedy
    assert finding.options == ()  # --without cannot be combined with --formula


def test_all_columns_that_others_determine_are_left_out():
    data = TABLES["collinear"].assign(d=TABLES["collinear"].a * 2)
    commands = about(fitted(data), data) | {"commands": True}
    finding = {one.id: one for one in regression_findings(commands)}["aliased"]
    assert "--without c --without d" in finding.remedy
    assert finding.options == (("without", "c"), ("without", "d"))


def test_remedies_of_columns_rows_and_targets_run():
    for name, id_ in (("leakage", "leakage"), ("nearly collinear", "collinear"), ("collinear", "aliased")):
        left_out = [value for key, value in found_in(name)[id_].options if key == "without"]
        data = TABLES[name].drop(columns=left_out)
        assert id_ not in {one.id for one in regression_findings(about(fitted(data), data))}
    data = TABLES["repeated rows"].drop_duplicates()
    assert "repeated_rows" not in {one.id for one in regression_findings(about(fitted(data), data))}
    assert fitted(TABLES["two values"], **dict(found_in("two values")["two_values"].options)).model == "logistic"
