"""Every proof has a budget, and reports what it has proven within it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linearly as ly
from linearly.algorithm.separability import budget as budgets
from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import error_floor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
TEN, THIRTY = np.arange(300) % 10, np.arange(300) % 30


def test_error_floor_whose_budget_ends_returns_the_errors_proven_so_far_and_says_so():
    floor = error_floor(X, TEN, budget=3e8)
    whole = error_floor(X, np.arange(300) % 3)
    assert floor.stopped_after == 3e8
    assert whole.stopped_after is None
    assert 0 < floor.value == len(floor.witnesses)
    assert floor.check()
    told = "the search stopped after 3e+08 operations"
    assert repr(floor) == f"ErrorFloor({floor.value} of 300 rows; {told})"
    assert floor.describe() == f"Every hyperplane makes at least {floor.value} errors on these 300 rows; {told}."
    assert repr(whole) == f"ErrorFloor({whole.value} of 300 rows)"


def test_error_floor_with_more_budget_proves_no_fewer_errors_and_the_same_again():
    found = [error_floor(X, TEN, budget=budget) for budget in (1e8, 3e8, 3e8)]
    assert 0 < found[0].value < found[1].value == found[2].value
    assert [w.rows.tolist() for w in found[1].witnesses] == [w.rows.tolist() for w in found[2].witnesses]


@pytest.mark.parametrize("K", [40, 60])
def test_proofs_of_many_classes_take_no_more_than_their_budget(K, monkeypatch):
    spent = []

    def spend(operations):
        spent.append(operations)
        original(operations)

    original = budgets.spend_work
    for module in ("min_norm_point", "halfspaces", "float_search", "integer_algebra"):
        monkeypatch.setattr(f"linearly.algorithm.separability.{module}.spend_work", spend)
    error_floor(X, np.arange(300) % K, budget=1e9)
    assert sum(spent[:-1]) <= 1e9


def test_separability_whose_budget_ends_is_undecided_and_claims_nothing_more():
    certificate = separability(X, THIRTY, budget=1e5)
    assert certificate.verdict == "undecided"
    assert certificate.witness is None
    assert certificate.check()
    assert certificate.mistake_bound() == np.inf
    assert repr(certificate) == "Certificate(undecided, 300 rows × 4 columns, stopped after 1e+05 operations)"
    assert "did not decide whether" in str(certificate)
    assert "stopped after 1e+05 operations. Pass a larger budget=" in str(certificate)
    assert separability(X, THIRTY).verdict == "overlapping"


def test_separability_beyond_its_budget_reports_the_contradiction_found_so_far():
    twins = np.vstack([X, X[:1]])
    certificate = separability(twins, np.append(THIRTY, 7), budget=1e5)
    assert certificate.verdict == "undecided"
    assert certificate.witness_rows.tolist() == [0, 300]
    assert certificate.check()
    assert "are not linearly separable, because rows 0 and 300 are the same point" in str(certificate)


def test_separability_without_a_budget_comes_to_its_end():
    assert separability(X, np.arange(300) % 3, budget=None).verdict == "overlapping"
    assert error_floor(X[:60], np.arange(60) % 3, budget=None).stopped_after is None


@pytest.mark.parametrize("budget", [0, -1, True, "long", float("nan")])
def test_a_budget_that_is_none_is_refused(budget):
    for prove in (separability, error_floor, ly.mistake_bound):
        with pytest.raises(ValueError, match="budget must be a positive number of operations, or None"):
            prove(X, THIRTY, budget=budget)


def test_logistic_regression_of_199_classes_of_200_rows_ends_with_its_proof_s_budget(monkeypatch):
    allowed = []

    def small(X, y, **given):
        allowed.append(separability(X, y, **given, budget=1e8))
        return allowed[-1]

    monkeypatch.setattr("linearly.models.separation.separability", small)
    y = np.minimum(np.arange(200), 198)
    with pytest.warns(ly.SeparationWarning, match="too many rows or classes to decide"):
        model = ly.LogisticRegression().fit(X[:200, :1], y)
    assert model.separation_ is None
    assert [certificate.verdict for certificate in allowed] == ["undecided"]


def test_explain_and_report_of_an_undecided_proof_say_so(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "linearly.inference.perceptron_summary.separability", lambda X, y, **given: separability(X, y, budget=1)
    )
    model = ly.Perceptron(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:90], TEN[:90])
    told = str(model.explain(X[:90], TEN[:90]))
    assert "undecided" in told
    assert "Every hyperplane makes at least" in told
    monkeypatch.setattr(
        "linearly.report.classifier_facts.separability", lambda X, y, **given: separability(X, y, budget=1)
    )
    data = {"a": X[:, 0], "b": X[:, 1], "y": np.array(["u", "v"])[np.arange(300) % 2]}
    ly.fit(data, target="y", model="lda").report(tmp_path / "page.html", data)
    assert "ly.separability(X, y, budget=None)" in (tmp_path / "page.html").read_text()
