"""`linearly anova`, `ask`, `means` and `table`: the library's numbers, from files alone."""

import csv
from pathlib import Path

import pytest
from commands import run  # noqa: F401
from questions_cases import DATA

import linearly as ly

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")


@pytest.fixture
def files(run):  # noqa: F811
    ly.fit(DATA, formula="y ~ a * b + x").save("linear.json")
    ly.fit(DATA, formula="label ~ a + x").save("logistic.json")
    with Path("rows.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(DATA), *zip(*DATA.values(), strict=True)])
    return run


def test_anova_needs_no_data_for_a_linear_model(files):
    expected = ly.anova(ly.load("linear.json"), type=3)
    found = files("anova", "linear.json", "--type", "3", "--json").json
    assert [row["p_value"] for row in found["table"]][:4] == expected["p_value"].tolist()[:4]
    screen = files("anova", "linear.json", "--type", "3").out
    assert "Analysis of variance, type III" in screen
    assert "H₀ b: b[b2] + 1/3*a[a2]:b[b2]" in screen


def test_anova_of_a_logistic_model_says_which_test_it_is(files):
    assert "Wald" in files("anova", "logistic.json").out
    assert "likelihood-ratio" in files("anova", "logistic.json", "rows.csv").out


def test_ask_tests_hypotheses(files):
    found = files("ask", "linear.json", "x = 1", "a[a2] = a[a3]", "--joint", "--json").json["table"]
    expected = ly.hypotheses(ly.load("linear.json"), ["x = 1", "a[a2] = a[a3]"], joint=True).row(0)
    assert found == [expected]
    refused = files("ask", "linear.json", "xx = 1")
    assert refused.code == 1
    assert "Term 'xx' is not in the model" in refused.err


def test_means_and_pairs(files):
    model = ly.load("linear.json")
    found = files("means", "linear.json", "a", "--by", "b", "--at", "x=1", "--json").json["table"]
    expected = ly.marginal_means(model, "a", by="b", at={"x": 1})
    assert [row["estimate"] for row in found] == expected["estimate"].tolist()
    pairs = files("means", "linear.json", "a", "--pairs", "--json").json["table"]
    assert [row["p_value"] for row in pairs] == ly.pairwise(model, "a")["p_value"].tolist()
    plain = files("means", "linear.json", "a", "--pairs", "--adjust", "none", "--json").json["table"]
    assert [row["p_value"] for row in plain] == ly.pairwise(model, "a", adjust=None)["p_value"].tolist()
    rows = files("means", "logistic.json", "a", "--data", "rows.csv", "--json").json["table"]
    assert len(rows) == 3
    assert files("means", "linear.json", "a", "--at", "x").code == 2


def test_table_is_written_by_the_ending_of_the_file(files):
    pytest.importorskip("docx")
    table = ly.regression_table([ly.load("linear.json"), ly.load("logistic.json")], names=["one", "two"], stars=True)
    for ending, text in (("tex", table.to_latex()), ("md", table.to_markdown()), ("txt", f"{table}\n")):
        done = files("table", "linear.json", "logistic.json", "--names", "one,two", "--stars", "-o", f"t.{ending}")
        assert done.code == 0
        assert Path(f"t.{ending}").read_text(encoding="utf-8") == text
    assert files("table", "linear.json", "-o", "t.docx").code == 0
    assert files("table", "linear.json", "-o", "t.pdf").code == 2
    assert "Residual standard error" in files("table", "linear.json").out


def test_predict_writes_intervals(files):
    header = files("predict", "logistic.json", "rows.csv", "--interval", "confidence").out.splitlines()[0]
    assert header.replace('"', "").endswith("low[yes],high[yes]")
    header = files("predict", "linear.json", "rows.csv", "--interval", "prediction").out.splitlines()[0]
    assert header.replace('"', "") == "prediction,low,high"
