"""Marginal means and their pairs: emmeans' numbers, what is not estimable, where the means of numbers come from."""

import numpy as np
import pytest
from questions_cases import DATA, EMPTY_CELL, GOLDEN, WALD, assert_columns

import linearly as ly

MEANS, PAIRS = GOLDEN["means"], GOLDEN["pairs"]


@pytest.fixture(scope="module")
def linear():
    return ly.fit(DATA, formula="y ~ a * b + x + z")


@pytest.fixture(scope="module")
def logistic():
    return ly.fit(DATA, formula="label ~ a * b + x")


@pytest.mark.parametrize(
    ("case", "given"),
    [
        ("a", {"factors": "a"}),
        ("ab", {"factors": ["a", "b"]}),
        ("a_by_b", {"factors": "a", "by": "b"}),
        ("at", {"factors": "a", "at": {"x": 0.5, "b": "b2"}}),
    ],
)
def test_means_of_a_linear_model_are_those_of_emmeans(linear, case, given):
    assert_columns(ly.marginal_means(linear, **given), MEANS[case], WALD, 1e-10)


def test_numbers_inside_functions_are_at_their_means():
    assert_columns(ly.marginal_means(ly.fit(DATA, formula="y ~ a + poly(z, 2)"), "a"), MEANS["poly"], WALD, 1e-10)
    model = ly.fit(DATA, formula="y ~ a + log(z)")
    assert_columns(ly.marginal_means(model, "a", data=DATA), MEANS["log"], WALD, 1e-10)
    with pytest.raises(ValueError, match=r"only inside a function, an interaction or an offset: z. Pass the rows"):
        ly.marginal_means(model, "a")
    raw, scaled = (ly.fit(DATA, formula=f"y ~ a + {term}") for term in ("poly(z, 2, raw=True)", "scale(z) + I(z^2)"))
    for other in (raw, scaled):
        assert_columns(ly.marginal_means(other, "a"), MEANS["poly"], WALD, 1e-9)


def test_means_of_a_logistic_model_are_those_of_emmeans(logistic):
    assert_columns(ly.marginal_means(logistic, "a", data=DATA), MEANS["logit"], WALD)
    assert_columns(ly.marginal_means(logistic, "a", data=DATA, scale="link"), MEANS["logit_link"], WALD)
    assert_columns(ly.marginal_means(logistic, "a"), MEANS["logit"], WALD)  # the model contains the means


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_mean_of_an_empty_cell_is_named_and_has_no_number():
    table = ly.marginal_means(ly.fit(EMPTY_CELL, formula="y ~ a * b + x"), "a")
    assert_columns(table, MEANS["empty"], WALD, 1e-10)
    assert np.isnan(table["estimate"][2])
    assert table.notes[-1].endswith(": a3.")


@pytest.mark.parametrize(("case", "adjust"), [("tukey", "tukey"), ("holm", "holm"), ("fdr", "bh"), ("none", None)])
def test_pairs_of_a_linear_model_are_those_of_emmeans(linear, case, adjust):
    table = ly.pairwise(linear, "a", adjust=adjust)
    assert table["contrast"].tolist() == PAIRS[case]["contrast"]
    assert_columns(table, PAIRS[case], WALD, 1e-4 if adjust == "tukey" else 1e-8)
    assert_columns(table, PAIRS[case], ("estimate", "std_error", "statistic"), 1e-10)


def test_pairs_within_levels_and_of_cells_are_those_of_emmeans(linear):
    for case, table in (("by", ly.pairwise(linear, "a", by="b")), ("cells", ly.pairwise(linear, ["a", "b"]))):
        assert table["contrast"].tolist() == PAIRS[case]["contrast"]
        assert_columns(table, PAIRS[case], ("estimate", "std_error", "statistic", "conf_low", "conf_high"), 1e-7)
        np.testing.assert_allclose(table["p_value"], PAIRS[case]["p_value"], rtol=1e-4, atol=1e-9)


def test_pairs_of_a_logistic_model_are_odds_ratios(logistic):
    table = ly.pairwise(logistic, "a", data=DATA)
    assert table["contrast"].tolist() == PAIRS["logit"]["contrast"]
    assert_columns(table, PAIRS["logit"], WALD, 1e-7)
    link = ly.pairwise(logistic, "a", adjust="holm", data=DATA, scale="link")
    assert_columns(link, PAIRS["logit_link"], WALD)


def test_means_of_three_classes_are_means_of_probabilities():
    model = ly.fit(DATA, formula="kind ~ a + b + x")
    table = ly.marginal_means(model, "a", at={"x": 0.5})
    grid = {"a": ["a1", "a1", "a2", "a2", "a3", "a3"], "b": ["b1", "b2"] * 3, "x": [0.5] * 6}
    expected = model.predict_proba(grid).reshape(3, 2, 3).mean(axis=1)
    np.testing.assert_allclose(table["estimate"], expected.ravel(), rtol=1e-12)
    assert table["label"].tolist() == ["k1", "k2", "k3"] * 3
    # The delta method, by differences of the coefficients.
    value = np.concatenate(
        [np.r_[b, w] for b, w in zip(model.estimator.intercept_, model.estimator.coef_, strict=True)]
    )
    X = model.design_matrix(grid)
    D = np.column_stack([X[name] for name in X.columns])

    def first(beta):
        e = np.exp(D[:2] @ beta.reshape(2, -1).T)
        return (e[:, 0] / (1 + e.sum(axis=1))).mean()

    step = 1e-6
    gradient = [(first(value + step * unit) - first(value - step * unit)) / (2 * step) for unit in np.eye(len(value))]
    error = np.sqrt(gradient @ model.estimator.covariance_ @ gradient)
    assert table["std_error"][0] == pytest.approx(error, rel=1e-6)
    pairs = ly.pairwise(model, "a", at={"x": 0.5}, adjust=None)
    assert pairs["estimate"][0] == pytest.approx(expected[0, 0] - expected[1, 0], rel=1e-10)
    link = ly.marginal_means(model, "a", at={"x": 0.5}, scale="link")
    assert link["label"].tolist() == ["k1", "k2"] * 3
    assert ly.pairwise(model, "a", at={"x": 0.5}, scale="link")["label"].tolist() == ["k1"] * 3 + ["k2"] * 3


def test_means_are_the_same_from_file_parquet_and_dask(linear, logistic, tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(DATA)
    frame.to_parquet(tmp_path / "rows.parquet")
    for model in (linear, logistic):
        model.save(tmp_path / "model.json")
        expected = ly.pairwise(model, "a", data=DATA)
        others = [
            ly.pairwise(ly.load(tmp_path / "model.json"), "a", data=tmp_path / "rows.parquet"),
            ly.pairwise(model, "a", data=dd.from_pandas(frame, npartitions=3)),
        ]
        for other in others:
            np.testing.assert_allclose(other["p_value"], expected["p_value"], rtol=1e-9)


def test_means_do_not_depend_on_the_reference_level(linear):
    coded = ly.fit(DATA, formula="y ~ C(a, reference='a3') * C(b, reference='b2') + x + z")
    plain = ly.marginal_means(linear, "a")
    for name in WALD[:3]:
        np.testing.assert_allclose(ly.marginal_means(coded, "a")[name], plain[name], rtol=1e-10)


def test_category_of_numbers_goes_by_its_column_or_label():
    data = DATA | {"size": [float(1 + i % 3) for i in range(90)]}
    model = ly.fit(data, formula="y ~ C(size) + x")
    for name in ("size", "C(size)"):
        assert ly.pairwise(model, name)["contrast"].tolist() == ["1 - 2", "1 - 3", "2 - 3"]


def test_listed_numbers_count_as_levels(linear):
    table = ly.marginal_means(linear, "x", at={"x": [0, 1]})
    slope = {row["term"]: row["estimate"] for row in ly.tidy(linear)}["x"]
    assert table["estimate"][1] - table["estimate"][0] == pytest.approx(slope, rel=1e-10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"factors": "nope"}, "Column 'nope' is not in the model"),
        ({"factors": "x"}, "is numeric. List its values"),
        ({"factors": []}, "No categories are named"),
        ({"factors": "a", "by": "a"}, "some are named twice"),
        ({"factors": "a", "at": {"q": 1}}, "at= names 'q'"),
        ({"factors": "a", "at": {"x": "much"}}, "Pass numbers"),
        ({"factors": "a", "at": {"b": "b9"}}, "no level 'b9'"),
        ({"factors": "a", "at": {"b": []}}, "lists no value"),
        ({"factors": "a", "at": {"x": range(100_000)}}, "more than the limit of 100,000"),
        ({"factors": "a", "scale": "log"}, "scale must be"),
        ({"factors": "a", "adjust": "tukey"}, "for all pairs"),
    ],
)
def test_means_refuse_what_they_cannot_answer(linear, given, message):
    with pytest.raises(ValueError, match=message):
        ly.marginal_means(linear, **given)


def test_means_need_a_model_and_pairs_two_levels(linear):
    with pytest.raises(TypeError, match="require a Model, which has categories"):
        ly.marginal_means(linear.estimator, "a")
    with pytest.raises(ValueError, match="no pair can be compared"):
        ly.pairwise(linear, "a", at={"a": "a1"})
