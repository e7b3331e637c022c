"""Findings of `evaluate`: the same sentences in Python and on the command line, and none from rows of the fit."""

import numpy as np
import pandas as pd
import pytest
from findings.contradictions import contradictions

import linearly as ly
from linearly.findings.evaluation import evaluation_findings


def table(seed, n=150, effect=1.5):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    labels = np.where(effect * a + rng.logistic(size=n) > 0, "yes", "no")
    return pd.DataFrame({"a": a, "b": b, "number": effect * a + rng.normal(size=n), "label": labels})


def ids(model, data):
    return [finding.id for finding in model.evaluate(data).findings]


@pytest.mark.parametrize(("target", "found"), [("number", "better_than_mean"), ("label", "beats_most_frequent")])
def test_evaluate_new_rows_of_a_real_effect_reports_success(target, found):
    model = ly.fit(table(0), target=target, features=["a", "b"])
    assert found in ids(model, table(1))
    assert "new_rows_assumed" in ids(model, table(1))


@pytest.mark.parametrize("target", ["number", "label"])
def test_evaluate_rows_of_the_fit_reports_no_test(target):
    model = ly.fit(table(0), target=target, features=["a", "b"])
    assert ids(model, table(0)) == ["rows_of_the_fit"]


def test_evaluate_wrong_predictions_are_worse_than_the_mean():
    model = ly.fit(table(0), target="number", features=["a", "b"])
    (finding, _) = model.evaluate(table(1, effect=-1.5)).findings
    assert (finding.id, finding.severity, finding.level) == ("worse_than_mean", "Problem", 0.05)
    assert finding.evidence["high"] < 0
    refitted = ly.fit(table(0, effect=-1.5), target="number", features=["a", "b"], **dict(finding.options))
    assert "worse_than_mean" not in ids(refitted, table(1, effect=-1.5))


def test_evaluate_level_of_the_interval_is_the_level_of_the_finding():
    model = ly.fit(table(0), target="number", features=["a", "b"])
    finding = model.evaluate(table(1), level=0.9).findings[0]
    assert finding.level == pytest.approx(0.1)
    assert "90% interval" in finding.claim


def test_evaluate_findings_are_part_of_the_printed_evaluation():
    result = ly.evaluate(ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]] * 9, [0, 1, 0, 1] * 9), [[1.0]], [1])
    for finding in result.findings:
        assert finding.claim in str(result).replace("\n", " ")


def test_evaluate_several_targets_have_a_finding_each():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    y = np.column_stack([2 * X[:, 0] + rng.normal(size=120), rng.normal(size=120)])
    found = ly.evaluate(ly.LinearRegression().fit(X[:60], y[:60]), X[60:], y[60:]).findings
    assert {finding.id for finding in found} == {"better_than_mean", "no_better_than_mean", "new_rows_assumed"}


def test_evaluate_model_of_another_library_has_findings():
    from sklearn.naive_bayes import GaussianNB

    data, new = table(0), table(1)
    model = GaussianNB().fit(data[["a", "b"]], data["label"])
    judged = ly.evaluate(model, new[["a", "b"]], new["label"])
    assert contradictions([finding.id for finding in judged.findings], "classification") == []
    assert "beats_most_frequent" in {finding.id for finding in evaluation_findings(model, judged)}


def test_evaluate_several_labels_per_row_has_no_findings():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    Y = (X + rng.logistic(size=(80, 2)) > 0).astype(int)
    assert ly.evaluate(ly.LogisticRegression().fit(X, Y), X, Y).findings == ()


def test_evaluate_command_prints_the_claims_of_the_findings(run, tmp_path):
    table(0).to_csv("train.csv", index=False)
    table(1).to_csv("test.csv", index=False)
    assert run("fit", "train.csv", "--target", "label", "--without", "number", "-o", "model.json").code == 0
    found = run("evaluate", "model.json", "test.csv", "--json").json["findings"]
    screen = " ".join(run("evaluate", "model.json", "test.csv").out.split())
    assert [finding["id"] for finding in found][-1] == "new_rows_assumed"
    assert all(finding["claim"] in screen for finding in found)
    again = run("evaluate", "model.json", "train.csv", "--json").json["findings"]
    assert [finding["id"] for finding in again] == ["rows_of_the_fit"]
