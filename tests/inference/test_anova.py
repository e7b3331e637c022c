"""Analysis of variance and deviance: car::Anova, invariance of the coding, empty cells, where the rows are."""

import numpy as np
import pytest
from questions_cases import DATA, EMPTY_CELL, GOLDEN, assert_columns

import linearly as ly

F_COLUMNS = ("df", "sum_sq", "statistic", "p_value")
TYPES = {"I": 1, "II": 2, "III": 3}


@pytest.mark.parametrize("formula", list(GOLDEN["anova"]))
@pytest.mark.parametrize("kind", list(TYPES))
def test_anova_of_a_linear_model_is_that_of_r(formula, kind):
    expected = GOLDEN["anova"][formula][kind]
    table = ly.anova(ly.fit(DATA, formula=formula), type=TYPES[kind])
    assert table.columns[:5] == ("term", *F_COLUMNS)
    assert table["term"].tolist() == expected["term"]
    assert_columns(table, expected, F_COLUMNS, 1e-10)


@pytest.mark.parametrize("formula", list(GOLDEN["anova"]))
def test_aic_of_type_2_is_that_of_drop1(formula):
    expected = dict(zip(*GOLDEN["anova"][formula]["drop1"].values(), strict=True))
    table = ly.anova(ly.fit(DATA, formula=formula))
    model_aic = ly.glance(ly.fit(DATA, formula=formula))["aic"][0]
    assert table["aic"][-1] == pytest.approx(model_aic, rel=1e-12)
    found = {row["term"]: row["aic"] - model_aic for row in table if not np.isnan(row["aic"])}
    assert found.keys() - {"Residuals"} == expected.keys() - {"<none>"}
    for term in found.keys() - {"Residuals"}:
        assert found[term] == pytest.approx(expected[term], rel=1e-8)


@pytest.mark.parametrize("formula", list(GOLDEN["deviance"]))
@pytest.mark.parametrize("kind", list(TYPES))
def test_anova_of_a_logistic_model_is_that_of_r(formula, kind):
    golden = GOLDEN["deviance"][formula]
    model = ly.fit(DATA, formula=formula)
    table = ly.anova(model, DATA, type=TYPES[kind])
    assert table["term"].tolist()[: len(golden[kind]["term"])] == golden[kind]["term"]
    assert_columns(table, golden[kind], ("df", "statistic", "p_value"), 1e-9)
    if kind == "I":
        return
    wald = ly.anova(model, type=TYPES[kind])
    assert "Wald" in wald.notes[0]
    assert_columns(wald, golden[f"wald_{kind}"], ("df", "statistic", "p_value"), 1e-8)


def test_aic_of_a_logistic_model_is_that_of_drop1():
    for formula, golden in GOLDEN["deviance"].items():
        table = ly.anova(ly.fit(DATA, formula=formula), DATA)
        found = {row["term"].replace("(full model)", "<none>"): row["aic"] for row in table if row["aic"] == row["aic"]}
        assert found == pytest.approx(dict(zip(*golden["drop1"].values(), strict=True)), rel=1e-9)


def test_robust_anova_is_that_of_car():
    table = ly.anova(ly.fit(DATA, formula="y ~ a * b + x", covariance="HC1"), type=3)
    assert_columns(table, GOLDEN["anova_hc"]["III"], ("df", "statistic", "p_value"), 1e-10)
    assert "HC1" in table.notes[0]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_empty_cells_are_named_and_get_no_number():
    model = ly.fit(EMPTY_CELL, formula="y ~ a * b + x")
    for kind in ("I", "II"):
        assert_columns(ly.anova(model, type=TYPES[kind]), GOLDEN["anova_empty"][kind], F_COLUMNS)
    table = ly.anova(model, type=3)
    assert np.isnan(table["p_value"][:2]).all()
    assert np.isfinite(table["p_value"][2:4]).all()
    assert any(note.startswith("No test is possible for a, b, because") for note in table.notes)
    assert any("a:b (1 of 2)" in note for note in table.notes)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_aliased_term_has_no_degrees_of_freedom_in_any_order():
    data = DATA | {"twice": (2 * np.array(DATA["x"]) + 1).tolist()}
    for formula in ("y ~ x + twice + z", "y ~ twice + x + z"):
        table = ly.anova(ly.fit(data, formula=formula))
        assert table["df"].tolist()[:3] == [0, 0, 1]
        assert np.isnan(table["p_value"][:2]).all()
        assert table.notes[0].startswith("Terms that are linear combinations of the others (aliased): ")
        first = ly.anova(ly.fit(data, formula=formula), type=1)
        assert first["df"].tolist()[:3] == [1, 0, 1]
    alone = ly.anova(ly.fit(DATA, formula="y ~ x + z"))
    assert table["p_value"][2] == pytest.approx(alone["p_value"][1], rel=1e-8)


@pytest.mark.parametrize("reference", ["a1", "a2", "a3"])
@pytest.mark.parametrize("formula", ["y ~ {} * b + x", "y ~ {} * b * x", "label ~ {} * b + x"])
def test_type_3_does_not_depend_on_the_coding(formula, reference):
    coded = ly.fit(DATA, formula=formula.format(f"C(a, reference='{reference}')"))
    for rows in (None, DATA) if "label" in formula else (None,):
        plain = ly.anova(ly.fit(DATA, formula=formula.format("a")), rows, type=3)
        table = ly.anova(coded, rows, type=3)
        assert table["term"].tolist() == plain["term"].tolist()
        np.testing.assert_allclose(table["statistic"], plain["statistic"], rtol=1e-10)


def test_hypotheses_that_type_3_prints_give_its_f():
    model = ly.fit(DATA, formula="y ~ a * b + x")
    table = ly.anova(model, type=3)
    for row, note in zip(table, table.notes, strict=False):
        equations = note.partition(": ")[2].replace("0.3333", "1/3").split(", ")
        found = ly.hypotheses(model, equations, joint=True).row(0)
        assert found["statistic"] == pytest.approx(row["statistic"], rel=1e-10)
        assert found["df"] == row["df"]


def test_anova_is_the_same_from_file_parquet_and_dask(tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(DATA)
    frame.to_parquet(tmp_path / "rows.parquet")
    for formula in ("y ~ a * b + x", "label ~ a * b + x"):
        model = ly.fit(DATA, formula=formula)
        model.save(tmp_path / "model.json")
        labels = "label" in formula
        plain = ly.anova(model, DATA if labels else None)
        others = [
            ly.anova(ly.load(tmp_path / "model.json"), DATA if labels else None),
            ly.anova(ly.fit(tmp_path / "rows.parquet", formula=formula), tmp_path / "rows.parquet" if labels else None),
            ly.anova(ly.fit(dd.from_pandas(frame, npartitions=3), formula=formula), frame if labels else None),
        ]
        if labels:
            others.append(ly.anova(model, dd.from_pandas(frame, npartitions=3)))
        for other in others:
            np.testing.assert_allclose(other["statistic"], plain["statistic"], rtol=1e-9)


def test_each_column_of_an_array_is_a_term():
    X = np.column_stack([DATA["x"], DATA["z"]])
    model = ly.LinearRegression().fit(X, DATA["y"])
    table, tidy = ly.anova(model), ly.tidy(model)
    assert table["term"].tolist() == ["x0", "x1", "Residuals"]
    np.testing.assert_allclose(table["statistic"][:2], tidy["statistic"][1:] ** 2, rtol=1e-10)
    logistic = ly.LogisticRegression().fit(X, DATA["label"])
    tests = ly.likelihood_ratio_tests(logistic, X, DATA["label"])
    np.testing.assert_allclose(ly.anova(logistic, X, DATA["label"])["statistic"][:2], tests["statistic"], rtol=1e-9)


def test_anova_of_three_classes_counts_all_logits():
    model = ly.fit(DATA, formula="kind ~ a + x")
    table = ly.anova(model, DATA)
    assert table["df"].tolist()[:2] == [4, 2]
    small = ly.fit(DATA, formula="kind ~ x")
    assert table["statistic"][0] == pytest.approx(ly.compare_models(small, model)["statistic"][0], rel=1e-9)
    assert ly.anova(model)["df"].tolist() == [4, 2]


def test_separated_term_is_tested_by_likelihood_and_not_by_wald():
    data = {"x": [0.0, 1, 2, 3, 4, 5, 6, 7], "z": [1.0, 0, 1, 0, 0, 1, 0, 1], "k": list("aaaabbbb")}
    with pytest.warns(ly.SeparationWarning):
        model = ly.fit(data, formula="k ~ x + z")
    assert np.isnan(ly.anova(model)["p_value"][0])
    assert ly.anova(model, data)["statistic"][0] == pytest.approx(8 * np.log(4), rel=1e-6)


def test_anova_refuses_ridge_other_rows_and_types():
    model = ly.fit(DATA, formula="y ~ x + z", model="ridge", alpha=1.0)
    with pytest.raises(ValueError, match="this one is ridge"):
        ly.anova(model)
    with pytest.raises(ValueError, match="type must be 1, 2 or 3"):
        ly.anova(ly.fit(DATA, formula="y ~ x"), type=4)
    with pytest.raises(ValueError, match="X has other rows"):
        ly.anova(ly.fit(DATA, formula="label ~ x"), EMPTY_CELL)
    with pytest.raises(ValueError, match="requires a maximum likelihood fit"):
        ly.anova(ly.fit(DATA, formula="label ~ x", bias_reduction="firth"))
