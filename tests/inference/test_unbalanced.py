"""ANOVA, marginal means and covariances of unbalanced designs: the values of R (tests/golden/unbalanced.R)."""

import re

import numpy as np
import pytest
from golden_sets import read_golden

import linearly as ly

GOLDEN = read_golden("unbalanced")
DATA = {
    **GOLDEN["columns"],
    "bcd": ["".join(levels) for levels in zip(*(GOLDEN["columns"][k] for k in "bcd"), strict=True)],
    "ac": ["".join(levels) for levels in zip(*(GOLDEN["columns"][k] for k in "ac"), strict=True)],
}
TYPES = {"I": 1, "II": 2, "III": 3}
CASES = [(name, kind) for name, case in GOLDEN["anova"].items() for kind in TYPES if kind in case]


def assert_same_table(table, expected):
    found = table.to_pandas()
    order = [re.sub(r"\s", "", term) for term in found["term"]]
    assert sorted(order) == sorted(re.sub(r"\s", "", term) for term in expected["term"])
    found = found.iloc[[order.index(re.sub(r"\s", "", term)) for term in expected["term"]]]
    for column in ("df", "sum_sq", "statistic"):
        np.testing.assert_allclose(found[column], np.array(expected[column], dtype=float), rtol=1e-8, err_msg=column)


def fitted(name, formula):
    return ly.fit(DATA, formula=formula, **({"weight": "w"} if name == "weighted" else {}))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_anova_equals_r(name, kind):
    case = GOLDEN["anova"][name]
    assert_same_table(ly.anova(fitted(name, case["formula"]), type=TYPES[kind]), case[kind])


@pytest.mark.parametrize("coding", ["Sum", "Helmert", "Treatment"])
@pytest.mark.parametrize("name", ["three", "weighted", "numbers", "squares"])
def test_type_iii_is_the_same_under_every_coding(name, coding):
    case = GOLDEN["anova"][name]
    right = re.sub(r"\b([abc])\b", rf"C(\1, {coding})", case["formula"].split("~")[1])
    found = ly.anova(fitted(name, f"y ~ {right}"), type=3).to_pandas()
    np.testing.assert_allclose(found["sum_sq"], case["III"]["sum_sq"], rtol=1e-10)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_empty_cells_have_the_sums_of_squares_of_r_and_no_type_iii_test_of_their_factors():
    empty = {("a1", "b3"), ("a3", "b2")}
    kept = [i for i, cell in enumerate(zip(DATA["a"], DATA["b"], strict=True)) if cell not in empty]
    model = ly.fit({name: [values[i] for i in kept] for name, values in DATA.items()}, formula="y ~ a * b + x")
    for kind in ("I", "II"):
        assert_same_table(ly.anova(model, type=TYPES[kind]), GOLDEN["holes"][kind])
    third = ly.anova(model, type=3).to_pandas().set_index("term")
    assert third["statistic"][["a", "b"]].isna().all()
    assert ly.marginal_means(model, "a").to_pandas()["estimate"].isna().tolist() == [True, False, True]


def test_anova_without_an_intercept_equals_r():
    assert_same_table(ly.anova(ly.fit(DATA, formula="y ~ 0 + a + x"), type=1), GOLDEN["no_intercept"])


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_anova_of_an_intercept_has_residuals_only(kind):
    found = ly.anova(ly.fit(DATA, formula="y ~ 1"), type=kind).to_pandas()
    assert found["term"].tolist() == ["Residuals"]
    assert found["sum_sq"][0] == pytest.approx(np.var(DATA["y"]) * 120, rel=1e-12)


def assert_same_means(table, expected):
    found = table.to_pandas()
    for column, tolerance in (("estimate", 1e-8), ("std_error", 1e-8), ("p_value", 1e-4)):
        np.testing.assert_allclose(found[column], expected[column], rtol=tolerance, atol=1e-12, err_msg=column)


def test_marginal_means_equal_emmeans():
    assert_same_means(ly.marginal_means(ly.fit(DATA, formula="y ~ a * b * c + x"), "a"), GOLDEN["means"]["three"])
    weighted = ly.fit(DATA, formula="y ~ a * b + x", weight="w")
    at = {"x": float(np.mean(DATA["x"]))}  # emmeans takes the unweighted mean
    assert_same_means(ly.marginal_means(weighted, "b", at=at), GOLDEN["means"]["weighted"])
    logistic = ly.fit(DATA, formula="label ~ a + b + x", model="logistic")
    assert_same_means(ly.marginal_means(logistic, "a"), GOLDEN["means"]["logit"])


@pytest.mark.parametrize(
    ("name", "formula", "factor"), [("three", "y ~ a * b * c + x", "b"), ("weighted", "y ~ a * b + x", "a")]
)
def test_tukey_pairs_of_unequal_sizes_equal_emmeans(name, formula, factor):
    assert_same_means(ly.pairwise(fitted(name, formula), factor, adjust="tukey"), GOLDEN["pairs"][name])


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("HAC", {"covariance": "HAC", "lags": 3}),
        ("HC3", {"covariance": "HC3"}),
        ("twoway", {"covariance": "CR1", "groups": ["bcd", "ac"]}),
        *((kind, {"covariance": kind, "groups": "bcd"}) for kind in ("CR0", "CR2", "CR3")),
    ],
)
@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
def test_standard_errors_equal_r(name, params):
    found = ly.fit(DATA, formula="y ~ a + x", **params).tidy().to_pandas()["std_error"]
    np.testing.assert_allclose(found, GOLDEN["errors"][name], rtol=1e-8)
