"""Claims and advice on awkward tables: copies, few rows, one extreme value, rare labels, values that are no labels."""

import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest

import linearly as ly
from linearly.checks import inspect_table
from linearly.cli.fit_summary import training_facts
from linearly.evaluation.held_out_tests import PairedLosses
from linearly.findings.comparison import baseline_finding, compare_finding
from linearly.findings.sentences import distinct_rows
from linearly.inference.residual_patterns import NeighbourProducts, confirm_by_signs, curvature_test, outlier_limits


def found_in(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ly.fit(data, target="y", **options)
        facts = training_facts(model, model.design_rows(data), cross_validate=True)
    return {finding["id"]: finding for finding in facts["findings"]}


def columns(n, seed=0):
    return np.random.default_rng(seed).normal(size=(3, n))


# --- error rates ----------------------------------------------------------------------------------


def test_curvature_keeps_its_level_with_a_thousand_rows_of_a_lognormal_column():
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 78])
        x = np.exp(rng.normal(size=1000))
        y = x + x * rng.normal(size=1000)
        Z = np.column_stack([np.ones(1000), x])
        r = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
        rejected += curvature_test(r, Z, x[:, None], np.ones(1000), np.arange(1000)).p_value <= 0.05
    assert rejected / 200 <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / 200)


def test_rows_sorted_by_a_column_that_the_variance_grows_with_are_not_called_correlated():
    rejected = confirmed = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 9])
        x = np.sort(rng.normal(size=150))
        U = np.linalg.qr(np.column_stack([np.ones(150), x]))[0]
        y = np.exp(x) * rng.normal(size=150)
        r = y - U @ (U.T @ y)
        limits = outlier_limits(r)
        test = NeighbourProducts.of(r, U, *limits).test()
        rejected += test.p_value <= 0.05
        confirmed += confirm_by_signs(test, r, U, *limits).p_value <= 0.05
    assert rejected / 300 > 0.08
    assert confirmed / 300 <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / 300)


@pytest.mark.parametrize("rho", [-0.5, 0.5])
def test_correlated_errors_are_confirmed_by_random_signs(rho):
    confirmed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        e = rng.normal(size=100)
        for i in range(1, 100):
            e[i] += rho * e[i - 1]
        U = np.linalg.qr(np.column_stack([np.ones(100), rng.normal(size=100)]))[0]
        r = e - U @ (U.T @ e)
        test = NeighbourProducts.of(r, U).test()
        confirmed += confirm_by_signs(test, r, U, -np.inf, np.inf).p_value <= 0.05
    assert confirmed >= 56


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["logistic", "qda"])
def test_copies_of_rows_of_noise_are_reported_and_no_test_is_made_of_them(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.choice(["a", "b"], 40)
    data = pd.DataFrame(np.repeat(X, 5, axis=0)).add_prefix("x").assign(y=np.repeat(y, 5))
    found = found_in(data, model=model)
    assert "80% of the rows repeat another row" in found["repeated_rows"]["claim"]
    assert not {"beats_most_frequent", "ranks_only", "calibrated", "nothing_against"} & set(found)
    assert "repeated_rows" in {finding.id for finding in inspect_table(data, target="y").findings}


def test_equal_rows_of_discrete_columns_are_no_copies():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.integers(0, 2, (400, 5))).add_prefix("x").assign(y=rng.choice(["a", "b"], 400))
    assert "repeated_rows" not in found_in(data, model="lda")


def test_remedy_of_copies_is_a_command_that_leaves_them_out(tmp_path):
    a, b, _ = columns(40)
    data = pd.DataFrame({"a": np.repeat(a, 3), "y": np.repeat(a + b, 3)})
    command = distinct_rows({"commands": True})
    assert command in found_in(data)["repeated_rows"]["remedy"]
    data.to_csv(tmp_path / "DATA.csv", index=False)
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    distinct = pd.read_csv(tmp_path / "DISTINCT.csv")
    assert len(distinct) == 40
    assert "repeated_rows" not in found_in(distinct)


# --- few rows, and rows that determine a fit ------------------------------------------------------


@pytest.mark.parametrize(("n", "option"), [(3, ("alpha", "1.0")), (5, ("cv", ""))])
def test_few_rows_of_one_column_have_advice_that_runs(n, option, run):
    a, b, _ = columns(n)
    data = pd.DataFrame({"a": a, "y": a + b})
    data.to_csv("few.csv", index=False)
    found = found_in(data)["few_rows"]
    assert "fewer columns" not in found["remedy"]
    assert found["options"] == (option,)
    words = [word for word in (f"--{option[0]}", option[1]) if word]
    assert run("fit", "few.csv", "--target", "y", *words).code == 0


def test_check_reports_few_rows_per_column():
    a, b, c = columns(12)
    found = {one.id: one for one in inspect_table({"a": a, "b": b, "y": c}, target="y").findings}
    assert "12 complete rows for 2 columns" in found["few_rows"].claim


def test_one_extreme_value_of_a_column_is_not_advised_a_polynomial():
    a, b, _ = columns(150)
    a[70] = 1e9
    found = found_in(pd.DataFrame({"a": a, "y": np.where(np.arange(150) == 70, 0.0, a) + b}))
    assert "poly" not in found.get("curvature", {"remedy": ""})["remedy"]
    assert "without 1 row of leverage above 0.5" in found["explains"]["claim"]
    assert found["leverage_one"]["remedy"].startswith("Check a in row 70")


def test_several_levels_of_one_row_are_counted():
    a, b, _ = columns(60)
    level = np.where(np.arange(60) < 3, [f"solo{i}" for i in range(60)], "rest")
    claim = found_in(pd.DataFrame({"g": level, "a": a, "y": b}))["leverage_one"]["claim"]
    assert claim.startswith("Each of 3 rows alone determines a coefficient (row 0: g[solo0])")


def test_influential_rows_are_named_once_in_the_order_of_the_data(tmp_path):
    a, b, _ = columns(6, seed=3)
    pd.DataFrame({"a": a, "y": np.where(np.arange(6) % 4 == 0, 9 * b, a)}).to_csv(tmp_path / "six.csv", index=False)
    model = ly.fit(tmp_path / "six.csv", target="y")
    facts = training_facts(model, model.design_rows(tmp_path / "six.csv"), cross_validate=True)
    claim = next(one["claim"] for one in facts["findings"] if one["id"] == "influence")
    assert claim.count("six.csv") == 1


def test_cause_of_residuals_that_do_not_look_normal_is_one_that_was_found():
    a, _, _ = columns(150)
    counts = np.random.default_rng(0).poisson(np.exp(0.5 + 0.5 * a))
    found = found_in(pd.DataFrame({"a": a, "y": counts}))
    assert "unequal_variance" in found
    assert "curvature" not in found
    assert "The unequal variance can cause that." in found["not_normal_beside"]["claim"]


# --- labels ---------------------------------------------------------------------------------------


def test_two_values_that_are_no_labels_are_to_be_recoded_first():
    a, b, _ = columns(80)
    data = pd.DataFrame({"a": a, "y": np.where(a + b > 0, 7.5, 5.5)})
    assert found_in(data)["two_values"]["options"] == ()
    found = {one.id: one for one in inspect_table(data, target="y").findings}
    assert "replace them by 0 and 1" in found["two_values"].remedy
    recoded = data.assign(y=(data.y > 6).astype(int))
    assert ly.fit(recoded, target="y", model="logistic").model == "logistic"


def test_a_rare_label_of_three_is_reported():
    a, b, c = columns(300)
    y = np.where(np.arange(300) < 5, "rare", np.where(a + c > 0, "yes", "no"))
    found = found_in(pd.DataFrame({"a": a, "b": b, "y": y}))
    assert "'rare' is rare (5 rows, 1.67%)" in found["rare_label"]["claim"]
    assert "nothing_against" not in found


def test_a_label_of_one_row_is_the_reason_why_nothing_is_tested():
    a, _, c = columns(100)
    y = np.where(np.arange(100) == 0, "one", np.where(a + c > 0, "yes", "no"))
    found = found_in(pd.DataFrame({"a": a, "y": y}))
    assert "'one' has only one row" in found["not_cross_validated"]["claim"]


def test_columns_of_a_classifier_that_others_determine_are_left_out():
    a, _, c = columns(200)
    data = pd.DataFrame({"a": a, "a2": a, "y": np.where(a + c > 0, "yes", "no")})
    found = found_in(data)
    assert found["aliased"]["options"] == (("without", "a2"),)
    assert "nothing_against" not in found
    assert "aliased" not in found_in(data.drop(columns="a2"))


def test_few_rows_of_a_label_are_advised_a_reduction_of_bias():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 16))
    y = np.where(0.5 * X[:, 0] + rng.logistic(size=120) > 0, "yes", "no")
    data = pd.DataFrame(X).add_prefix("x").assign(y=y)
    found = found_in(data)["few_rows"]
    assert "95% intervals contain the true values less often" in found["claim"]
    assert "few_rows" not in found_in(data, **dict(found["options"]))


# --- several models, and the table of findings ----------------------------------------------------


def test_models_of_noise_are_not_called_better_than_a_constant_guess():
    rng = np.random.default_rng(0)
    verdicts = []
    for effect in (0.0, 0.3):
        wrong = (rng.random((200, 4)) < [0.5, 0.5 - effect, 0.5, 0.5]).astype(float)
        verdicts.append(baseline_finding("'a'", "y", PairedLosses.of(wrong, np.ones(200)).better_than(0)).id)
    assert verdicts == ["none_beats_baseline", "beats_baseline"]


def test_a_difference_that_is_not_shown_is_no_difference():
    assert compare_finding("b", "a", 1e-6, 0.001).claim == "same score"


A = np.random.default_rng(5).normal(size=20)
FITTED_BY_OPTION = {  # findings of a table with an option of `fit`: a table that has each, and the option
    "missing_values": ({"a": [None, *A[1:]], "b": A**2}, "--missing"),
    "dates": ({"a": A, "d": pd.date_range("2020-01-01", periods=20)}, "--without"),
    "constant_column": ({"a": A, "k": [1] * 20}, "--without"),
    "identifier": ({"a": A, "id": [f"k{i}" for i in range(20)]}, "--without"),
    "infinite": ({"a": A, "b": [np.inf, *A[1:]]}, "--without"),
    "mostly_missing": ({"a": A, "b": [1.0] + [None] * 19}, "--without"),
    "aliased": ({"a": np.arange(20.0) ** 2, "b": np.arange(20.0) ** 2}, "--without"),
    "too_few_rows": ({f"x{j}": np.random.default_rng(j).normal(size=8) for j in range(9)}, "--cv"),
}


@pytest.mark.parametrize("name", FITTED_BY_OPTION)
def test_remedies_of_a_table_run_and_remove_the_finding(name, run):
    table, option = FITTED_BY_OPTION[name]
    data = pd.DataFrame(table)
    data["y"] = np.random.default_rng(9).normal(size=len(data))
    data.to_csv("data.csv", index=False)
    checked = run("check", "data.csv", "--target", "y")
    assert name in {finding.id for finding in inspect_table("data.csv", target="y").findings}
    line = next(line for line in checked.err.splitlines() if line.startswith("next: "))
    words = line.removeprefix("next: linearly ").split()
    assert option in words or option in checked.out
    words += [] if option in words else [option]
    assert run(*words).code == 0


def test_the_command_after_a_check_keeps_the_only_column_that_can_be_used(run):
    data = pd.DataFrame({"i": range(30), "k": [1] * 30, "y": np.random.default_rng(9).normal(size=30)})
    data.to_csv("data.csv", index=False)
    line = next(
        text for text in run("check", "data.csv", "--target", "y").err.splitlines() if text.startswith("next: ")
    )
    assert line == "next: linearly fit data.csv --target y --without k"
    assert run(*line.removeprefix("next: linearly ").split()).code == 0
