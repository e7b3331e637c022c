"""`linearly fit`."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from commands import CLEAN

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

import linearly as ly
from linearly.inference.normality import shapiro_wilk


def test_fit_json_equals_the_library(run):
    found = run("fit", "loans.csv", "-t", "income", *CLEAN, "--json").json
    whole = ly.fit("loans.csv", target="income", missing="drop", features=found["features"])
    assert [term["estimate"] for term in found["terms"]] == whole.tidy()["estimate"].tolist()
    assert found["rows"] == 476
    assert found["dropped"] == 24
    X = np.concatenate([block.X for block in whole.design_rows("loans.csv")])
    y = np.concatenate([block.y for block in whole.design_rows("loans.csv")])
    tests = {test["test"]: test["p_value"] for test in found["tests"]}
    standardized = ly.augment(ly.LinearRegression().fit(X, y), X, y)["standardized_residual"]
    assert tests["shapiro_wilk"] == pytest.approx(shapiro_wilk(standardized).p_value, rel=1e-6)
    assert {"unequal_variance", "serial_correlation", "curvature"} <= set(tests)
    against = {term["term"]: term["against"] for term in found["terms"] if "against" in term}
    assert against["job[manager]"] == "clerk"
    assert against["repaid[yes]"] == "no"


def test_fit_numeric_target_of_two_values_advises_logistic(run):
    lines = Path("loans.csv").read_text().splitlines()
    Path("coded.csv").write_text("\n".join(re.sub(r"yes$", "1", re.sub(r"no$", "0", line)) for line in lines))
    result = run("fit", "coded.csv", "-t", "repaid", *CLEAN)
    assert result.code == 0
    assert "--model logistic" in " ".join(result.out.split())
    assert "--model logistic" not in " ".join(run("fit", "coded.csv", "-t", "income", *CLEAN).out.split())


def test_fit_separable_labels_reports_no_estimates(run):
    Path("apart.csv").write_text("x,y\n" + "".join(f"{i},{'high' if i > 10 else 'low'}\n" for i in range(20)))
    result = run("fit", "apart.csv", "-t", "y")
    assert result.code == 0
    assert "not estimates" in result.out
    assert "--alpha above 0" in result.err


def test_holdout_evaluates_every_fifth_row(run):
    found = run("fit", "loans.csv", "-t", "age", "--without", "balance", "--holdout", "0.2", "--json").json
    assert found["rows"] == 400
    assert found["holdout"]["rows"] == 100
    lines = Path("loans.csv").read_text().splitlines()
    Path("kept.csv").write_text("\n".join([lines[0], *(row for i, row in enumerate(lines[1:]) if i % 5 != 4)]) + "\n")
    kept = run("fit", "kept.csv", "-t", "age", "--without", "balance", "--json").json
    expected = [term["estimate"] for term in kept["terms"]]
    np.testing.assert_allclose([term["estimate"] for term in found["terms"]], expected, rtol=1e-9)


def test_fit_with_the_alpha_that_cv_chose_gives_the_same_estimates(run):
    chosen = run("fit", "loans.csv", "-t", "income", *CLEAN, "--cv", "--json").json
    assert chosen["kind"] == "ridge regression"
    assert chosen["alpha_chosen"]
    fixed = run("fit", "loans.csv", "-t", "income", *CLEAN, "--alpha", chosen["alpha"], "--json").json
    estimates = [[term["estimate"] for term in found["terms"]] for found in (chosen, fixed)]
    np.testing.assert_allclose(*estimates, rtol=1e-9)


def test_fit_column_of_one_level_is_noted(run):
    fitted = run("fit", "loans.csv", "-t", "repaid", "--without", "customer", "--missing", "drop")
    assert "note: currency has only one level in the fitted rows, so it is left out." in fitted.err


@pytest.mark.parametrize("name", ["Intercept", "g[b]"])
def test_fit_two_terms_of_one_name_raises(run, name):
    Path("t.csv").write_text(f"g,{name},y\n" + "".join(f"{'ab'[i % 2]},{i * i % 7},{i % 5}\n" for i in range(30)))
    failed = run("fit", "t.csv", "-t", "y")
    assert failed.code == 1
    assert failed.err.startswith(f"error: Two terms would have the name '{name}'. Rename the column")


@pytest.mark.parametrize("name", ["Intercept", "g[b]"])
def test_fit_command_of_check_leaves_out_a_column_with_the_name_of_another_term(run, name):
    lines = [f"{'ab'[i % 2]},{i * i % 7},{i * i % 11},{i % 5}" for i in range(30)]
    Path("t.csv").write_text("\n".join([f"g,{name},x,y", *lines]))
    checked = run("check", "t.csv", "-t", "y")
    assert f"{name}: a term of the model would have the same name. Rename the column" in " ".join(checked.out.split())
    words = shlex.split(checked.err.removeprefix("next: linearly "))
    assert run(*words).code == 0


def test_fit_level_too_long_to_save_names_its_field(run):
    Path("t.csv").write_text("x,y\n" + "".join(f"{'w' * 20_000}{i % 2},{i % 5}\n" for i in range(30)))
    failed = run("fit", "t.csv", "-t", "y", "-o", "m.json")
    assert failed.code == 1
    assert "Expected `str` of length <= 10000, at design.factors[0].levels[0].\n" in failed.err
    assert "wwww" not in failed.err


def test_holdout_of_no_row_raises(run):
    failed = run("fit", "loans.csv", "-t", "income", "--features", "age", "--holdout", "0.001")
    assert (failed.code, failed.err) == (1, "error: The data contain no rows to evaluate on. Pass at least one row.\n")


def test_fit_level_per_row_prints_no_note_per_fold(run, tmp_path):
    lines = [f"u{i},{i % 7},{'yes' if i % 3 else 'no'}" for i in range(60)]
    (tmp_path / "ids.csv").write_text("\n".join(["id,x,y", *lines]), encoding="utf-8")
    done = run("fit", "ids.csv", "--target", "y")
    assert done.code == 0
    assert "not estimable" not in done.err


@pytest.mark.parametrize("model", ["linear", "lda", "logistic", "perceptron", "ridge"])
def test_fit_without_a_complete_row_raises(run, model):
    Path("t.csv").write_text("a,b,y\n" + "".join(f"{i},,{i % 2}\n,{i},{i % 2}\n" for i in range(30)))
    failed = run("fit", "t.csv", "-t", "y", "-m", model, "--missing", "drop")
    assert failed.code == 1
    assert "Each of the 60 rows has a missing value in a required column, so no row remains." in failed.err


@pytest.mark.parametrize(
    ("target", "rows", "remedy"), [("y", 12, "--cv"), ("y", 4, "--alpha 1"), ("label", 12, "--alpha 1")]
)
def test_fewer_rows_than_columns_advises_a_penalty(run, target, rows, remedy):
    rng = np.random.default_rng(0)
    labels = {"y": [f"{value:.3f}" for value in rng.normal(size=rows)], "label": ["no", "yes"] * 6}[target]
    cells = [",".join([told, *(f"{value:.3f}" for value in rng.normal(size=30))]) for told in labels]
    Path("genes.csv").write_text("\n".join([",".join([target, *(f"g{j}" for j in range(30))]), *cells]) + "\n")
    checked = run("check", "genes.csv", "-t", target)
    claim = f"the table has {rows} complete rows for 30 columns after coding, so coefficients would not be unique"
    assert claim in " ".join(checked.out.split())
    follow = checked.err.splitlines()[-1].removeprefix("next: linearly ")
    assert follow == f"fit genes.csv --target {target} {remedy}"
    assert run(*follow.split()).code == 0
    if remedy == "--cv":
        fitted = run("fit", "genes.csv", "-t", target)
        said = " ".join(fitted.err.split())
        assert said.count("12 rows for 30 columns, so the coefficients are not unique.") == 1
        assert "or a penalty that cross-validation chooses: --cv." in said
        assert said.endswith("next: add --cv to choose a penalty by cross-validation")
        assert "next: add -o model.json" in run("fit", "genes.csv", "-t", target, "--cv").err


def test_fit_empty_column_raises_with_the_option_that_drops_it(run):
    Path("excel.csv").write_text("x,z,y,\n1,2,3,\n2,4,1,\n3,1,2,\n4,2,1,\n")
    result = run("fit", "excel.csv", "-t", "y")
    assert "Column 'column 4' is empty from line 2 of excel.csv onwards." in result.err
    assert "--without 'column 4'" in result.err
    assert run("fit", "excel.csv", "-t", "y", "--without", "column 4").code == 0


def test_fit_lasso_shows_the_selected_terms_and_is_saved(run):
    result = run(
        "fit", "loans.csv", "-t", "income", *CLEAN, "--model", "lasso", "--alpha", "200000", "-o", "lasso.json"
    )
    assert result.code == 0
    found = run("fit", "loans.csv", "-t", "income", *CLEAN, "--model", "lasso", "--alpha", "200000", "--json").json
    shown = [term["term"] for term in found["terms"]]
    assert found["statistics"]["n_active"] == len(shown) - 1 < len(found["columns"])
    assert f"{len(shown) - 1} of {len(found['columns'])} coefficients not 0" in result.out
    assert "linearly report lasso.json" in result.err
    assert run("show", "lasso.json").code == 0
    assert run("report", "lasso.json", "loans.csv", "-o", "page.html").code == 0


def test_fit_chooses_the_penalty_of_an_elastic_net_by_folds(run):
    result = run("fit", "loans.csv", "-t", "income", *CLEAN, "--model", "elastic-net", "--cv")
    assert result.code == 0
    assert "chosen by 5 folds" in " ".join(result.out.split())
