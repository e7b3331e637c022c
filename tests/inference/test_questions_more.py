"""Adjustments within levels, joint robust tests, counts and splines: the values of R (golden/questions_more.R)."""

import numpy as np
import pytest
from golden_sets import read_golden

import linearly as ly

GOLDEN = read_golden("questions_more")
DATA = read_golden("unbalanced")["columns"] | {name: GOLDEN[name] for name in ("group", "dead", "alive")}
EMPTY = {("a1", "b3"), ("a3", "b2")}
pytestmark = pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")


def assert_same(table, expected, columns=("estimate", "std_error", "p_value", "conf_low", "conf_high"), rtol=1e-8):
    for column in columns:
        wanted = np.array(expected[column], dtype=float)
        np.testing.assert_allclose(table[column], wanted, rtol=rtol, err_msg=column)


@pytest.mark.parametrize("adjust", ["holm", "bh"])
def test_means_by_a_category_are_adjusted_within_its_levels(adjust):
    model = ly.fit(DATA, formula="y ~ a * b + x")
    assert_same(ly.marginal_means(model, "a", by="b", adjust=adjust), GOLDEN["by"][adjust])


@pytest.mark.parametrize("adjust", ["holm", "bh"])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_pairs_without_a_number_count_in_the_adjustment(adjust):
    kept = [i for i, cell in enumerate(zip(DATA["a"], DATA["b"], strict=True)) if cell not in EMPTY]
    model = ly.fit({name: [values[i] for i in kept] for name, values in DATA.items()}, formula="y ~ a * b + x")
    assert_same(ly.pairwise(model, ["a", "b"], adjust=adjust), GOLDEN["empty"][adjust])


@pytest.mark.parametrize("covariance", ["HC2", "HC3", "CR2", "CR3"])
class TestSmallSample:
    def fit(self, covariance):
        groups = {"groups": "group"} if covariance.startswith("CR") else {}
        return ly.fit(DATA, formula="y ~ a * x + c", covariance=covariance, **groups)

    def test_joint_hypotheses_are_those_of_wald_test(self, covariance):
        table = ly.hypotheses(self.fit(covariance), ["a[a2]:x = 0", "a[a3]:x = 0"], joint=True)
        found = [table[name][0] for name in ("statistic", "df_residual", "p_value")]
        np.testing.assert_allclose(found, GOLDEN["joint"][covariance], rtol=1e-8)

    def test_anova_tests_the_same(self, covariance):
        table = ly.anova(self.fit(covariance))
        row = table["term"].tolist().index("a:x")
        assert table["statistic"][row] == pytest.approx(GOLDEN["joint"][covariance][0], rel=1e-8)
        assert table["p_value"][row] == pytest.approx(GOLDEN["joint"][covariance][2], rel=1e-8)
        assert "Hotelling" in table.notes[1]

    def test_every_question_about_one_combination_has_the_same_p_value(self, covariance):
        model = self.fit(covariance)
        single = ly.hypotheses(model, "c[c2] = 0")
        expected = dict(zip(model.tidy()["term"], model.tidy()["p_value"], strict=True))["c[c2]"]
        joint = ly.hypotheses(model, ["c[c2] = 0"], joint=True)
        effect = ly.marginal_effects(model, DATA, columns=["c"])
        for table in (single, joint, ly.pairwise(model, "c"), effect):
            assert table["p_value"][0] == pytest.approx(expected, rel=1e-9)

    def test_means_have_the_interval_of_predictions(self, covariance):
        model = self.fit(covariance)
        mean = ly.marginal_means(model, ["a", "c"], at={"x": 1.0}).row(0)
        interval = model.predict_interval({"a": ["a1"], "c": ["c1"], "x": [1.0]}, kind="confidence").row(0)
        assert (mean["conf_low"], mean["conf_high"]) == pytest.approx((interval["low"], interval["high"]), rel=1e-9)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_answers_that_a_single_row_determines_have_no_standard_error():
    data = DATA | {"a": ["single", *DATA["a"][1:]]}
    model = ly.fit(data, formula="y ~ a + x", covariance="HC3")
    assert np.isnan(ly.hypotheses(model, "a[single] = a[a2]")["std_error"][0])
    means = ly.marginal_means(model, "a")
    assert np.isnan(means["std_error"]).tolist() == [False, False, False, True]
    assert np.isfinite(means["estimate"]).all()
    assert any(note.startswith("No test is possible for a, because a single row") for note in ly.anova(model).notes)


@pytest.mark.parametrize("weight", [None, "trials"])
def test_counts_take_a_row_as_one_observation(weight, tmp_path):
    trials = np.add(DATA["dead"], DATA["alive"])
    data = DATA | {"share": (np.array(DATA["dead"]) / trials).tolist(), "trials": trials.tolist()}
    if weight is None:
        model = ly.fit(data, formula="cbind(dead, alive) ~ a + x", model="logistic")
    else:
        model = ly.fit(data, formula="share ~ a + x", weight=weight, model="logistic")
    expected = GOLDEN["counts"]
    model.save(tmp_path / "model.json")
    for table in (
        ly.marginal_means(model, "a"),
        ly.marginal_means(model, "a", data=data),
        ly.marginal_means(ly.load(tmp_path / "model.json"), "a"),
    ):
        assert_same(table, expected["means"])
    effects = ly.marginal_effects(model, data)
    assert effects["contrast"].tolist() == ["a2 - a1", "a3 - a1", "dY/dX"]
    np.testing.assert_allclose(effects["estimate"], np.array(expected["effects"])[:, 0], rtol=1e-8)
    np.testing.assert_allclose(effects["std_error"], np.array(expected["effects"])[:, 1], rtol=1e-8)


def test_hac_of_counts_is_newey_west():
    model = ly.fit(DATA, formula="cbind(dead, alive) ~ a + x", model="logistic", covariance="HAC", lags=2)
    np.testing.assert_allclose(model.tidy()["std_error"], GOLDEN["counts"]["HAC"], rtol=1e-8)


@pytest.mark.parametrize(("name", "term"), [("ns", "ns(x, df=4)"), ("bs", "bs(x, df=6)")])
def test_slopes_of_splines_are_exact(name, term):
    table = ly.marginal_effects(ly.fit(DATA, formula=f"y ~ {term} + a"), DATA, columns=["x"])
    assert [table["estimate"][0], table["std_error"][0]] == pytest.approx(GOLDEN["slopes"][name], rel=1e-10)
