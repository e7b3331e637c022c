"""What a page says about a classifier: held-out evidence, rare labels, and no two sentences that contradict."""

import numpy as np
import pytest
from findings.contradictions import contradictions

import linearly as ly
from linearly.report.facts import facts
from linearly.report.render import page_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def page_about(data, model="auto", **options):
    fitted = ly.fit(data, target="y", model=model, **options)
    found = facts(fitted, fitted.design_rows(data))
    return found, page_of(found)


def columns(X, y, **more):
    return {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y} | more


def noise(n=60, p=5, seed=0):
    rng = np.random.default_rng(seed)
    return columns(rng.standard_normal((n, p)), rng.choice(["no", "yes"], n))


def frauds():
    """28 frauds of 6,000 rows that can be ranked but not found at the threshold 1/2."""
    rng = np.random.default_rng(1)
    y = np.full(6000, "legit")
    y[:28] = "fraud"
    X = rng.standard_normal((6000, 2)) + 1.3 * (y == "fraud")[:, None]
    return columns(X, y)


def separable():
    x = np.linspace(-1, 1, 40)
    return columns(np.column_stack([x, x**2]), np.where(x > 0, "b", "a"))


def twelve_labels():
    rng = np.random.default_rng(2)
    codes = np.arange(240) % 12
    return columns(
        rng.standard_normal((240, 3)) + 2 * np.column_stack([codes % 3, codes // 3, codes]), codes.astype(str)
    )


def one_column():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(200)
    return columns(x[:, None], np.where(x + rng.standard_normal(200) > 0, "up", "down"))


def weighted():
    data = one_column()
    return data | {"w": np.arange(200) % 3 + 0.5}


KINDS = {
    "noise": (noise, "logistic", {}),
    "noise, qda": (lambda: noise(200, 8), "qda", {}),
    "noise, pocket": (noise, "pocket", {}),
    "rare": (frauds, "logistic", {}),
    "rare, lda": (frauds, "lda", {}),
    "separable": (separable, "logistic", {}),
    "separable, perceptron": (separable, "perceptron", {}),
    "twelve labels": (twelve_labels, "lda", {}),
    "one column": (one_column, "logistic", {}),
    "weights": (weighted, "logistic", {"weight": "w"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_findings_of_a_page_contradict(kind):
    data, model, options = KINDS[kind]
    found, page = page_about(data(), model, **options)
    ids = [finding.id for finding in page.findings]
    assert contradictions(ids, "classification") == []
    assert len(set(ids)) == len(ids)
    baseline = {"beats_most_frequent", "worse_than_most_frequent", "ranks_only", "no_better_than_most_frequent"}
    assert len(baseline.intersection(ids)) == (found["held_out"] is not None)
    if "nothing_against" in ids:
        assert not {finding.severity for finding in page.findings} - {"OK"}


def test_noise_is_not_said_to_beat_the_most_frequent_label():
    _, page = page_about(noise(100, 10))
    said = {finding.id for finding in page.findings}
    assert said.isdisjoint({"beats_most_frequent", "ranks_only", "calibrated"})


def test_a_real_effect_is_said_to_beat_the_most_frequent_label():
    _, page = page_about(one_column())
    assert {"beats_most_frequent", "calibrated"} <= {finding.id for finding in page.findings}


def test_frauds_are_the_positive_label_and_their_ranking_is_recognised():
    found, page = page_about(frauds())
    assert found["evaluation"]["labels"] == ["fraud", "legit"]
    good = " ".join(page.good)
    assert "of legit" not in good
    assert "it finds 0.0% of fraud" in good
    ids = {finding.id: finding for finding in page.findings}
    assert {"ranks_only", "rare_label"} <= ids.keys()
    assert "related to" not in " ".join(finding.remedy for finding in page.findings)  # no "look for other columns"
    assert found["baseline"]["log_loss"] == pytest.approx(0.0297, abs=5e-4)  # the base rate's, not 0.69


def test_ranking_is_recognised_whichever_label_is_named_positive():
    _, page = page_about(frauds(), positive="legit")
    findings = {finding.id: finding for finding in page.findings}
    assert "It does rank rows of fraud above rows of legit" in findings["ranks_only"].claim
    assert "no_better_than_most_frequent" not in findings


def test_rows_of_the_fit_alone_give_no_verdict():
    data = one_column()
    data["y"][:] = "down"
    data["y"][0] = "up"  # a label of one row cannot be held out and fitted
    found, page = page_about(data)
    assert found["held_out"] is None
    said = {finding.id for finding in page.findings}
    assert said.isdisjoint({"beats_most_frequent", "ranks_only", "calibrated", "miscalibrated"})


def test_positive_label_named_at_the_fit_is_kept_in_the_file(tmp_path):
    data = frauds()
    model = ly.fit(data, target="y", model="lda", positive="legit")
    model.save(tmp_path / "m.json")
    again = ly.load(tmp_path / "m.json")
    assert again.positive == "legit"
    assert again.evaluate(data).labels[0] == "legit"
    assert again.evaluate(data, positive="fraud").labels[0] == "fraud"
    assert ly.fit(data, target="y", model="lda").evaluate(data).labels[0] == "fraud"
    with pytest.raises(ValueError, match=r"positive='theft' is not a label of 'y'.*'fraud' and 'legit'"):
        ly.fit(data, target="y", positive="theft")
    with pytest.raises(ValueError, match="positive= requires a target with two labels"):
        ly.fit({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0]}, target="y", positive=1)
