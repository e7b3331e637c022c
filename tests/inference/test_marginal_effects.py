"""Average effects: the delta method worked out in R, laws of averages, and one pass over any rows."""

import numpy as np
import pytest
from questions_cases import DATA, EMPTY_CELL, GOLDEN, WALD, assert_columns

import linearly as ly
from linearly.dataset.sources import as_tables

EFFECTS = {
    name: {column: [row[i] for row in rows] for i, column in enumerate(WALD)}
    for name, rows in GOLDEN["effects"].items()
}


@pytest.mark.parametrize(
    ("case", "formula"),
    [
        ("lm", "y ~ a * x + poly(z, 2, raw=True) + b"),
        ("lm", "y ~ a * x + poly(z, 2) + b"),
        ("lm", "y ~ a * x + scale(z) + I(z^2) + b"),
        ("glm", "label ~ a * x + log(z) + b"),
        ("multinom", "kind ~ a + x"),
    ],
)
def test_effects_are_those_worked_out_in_r(case, formula):
    table = ly.marginal_effects(ly.fit(DATA, formula=formula), DATA)
    assert table.columns[:2] == ("term", "contrast")
    assert_columns(table, EFFECTS[case], WALD)
    assert table["contrast"].tolist()[0] == "a2 - a1"


def test_effects_of_three_classes_add_up_to_zero():
    table = ly.marginal_effects(ly.fit(DATA, formula="kind ~ a * x + log(z)"), DATA)
    np.testing.assert_allclose(table["estimate"].reshape(-1, 3).sum(axis=1), 0, atol=1e-14)
    assert table["label"].tolist() == ["k1", "k2", "k3"] * 4


@pytest.mark.parametrize(
    "term", ["sqrt(z)", "I(exp(z) / z)", "log1p(z) * x", "I(abs(z - 2.9)^3)", "sin(z):x", "I(-1 / z)"]
)
def test_slopes_are_those_of_differences(term):
    model = ly.fit(DATA, formula=f"y ~ a + {term}")
    slope = ly.marginal_effects(model, DATA, columns=["z"])["estimate"][0]
    h = 1e-5
    ends = [model.predict(DATA | {"z": (np.array(DATA["z"]) + step).tolist()}) for step in (h, -h)]
    assert slope == pytest.approx((ends[0] - ends[1]).mean() / (2 * h), rel=1e-7)


def test_effects_on_the_link_are_those_of_the_linear_predictor():
    model = ly.fit(DATA, formula="label ~ a + x")
    table, tidy = ly.marginal_effects(model, DATA, scale="link"), ly.tidy(model)
    np.testing.assert_allclose(table["estimate"], tidy["estimate"][1:], rtol=1e-12)
    np.testing.assert_allclose(table["std_error"], tidy["std_error"][1:], rtol=1e-10)


def test_boolean_column_has_a_difference():
    data = DATA | {"old": [i % 3 == 0 for i in range(90)]}
    model = ly.fit(data, formula="label ~ old + x")
    table = ly.marginal_effects(model, data)
    yes, no = (model.predict_proba(data | {"old": [value] * 90})[:, 1].mean() for value in (True, False))
    assert table.row(0)["contrast"] == "True - False"
    assert table["estimate"][0] == pytest.approx(yes - no, rel=1e-12)


def test_weights_count_rows():
    weight = [float(1 + i % 2) for i in range(90)]
    twice = {
        name: [v for v, w in zip(values, weight, strict=True) for _ in range(int(w))] for name, values in DATA.items()
    }
    weighted = ly.fit(DATA | {"w": weight}, formula="label ~ a + x", weight="w")
    expected = ly.marginal_effects(ly.fit(twice, formula="label ~ a + x"), twice)
    table = ly.marginal_effects(weighted, DATA | {"w": weight})
    for name in WALD[:3]:
        np.testing.assert_allclose(table[name], expected[name], rtol=1e-8)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_difference_that_an_empty_cell_leaves_open_has_no_number():
    for formula in ("y ~ a * b", "label ~ a * b"):
        model = ly.fit(EMPTY_CELL, formula=formula)
        table = {(row["term"], row["contrast"]): row["estimate"] for row in ly.marginal_effects(model, EMPTY_CELL)}
        assert np.isnan(table["a", "a3 - a1"])
        assert np.isnan(table["b", "b2 - b1"])
        assert np.isfinite(table["a", "a2 - a1"])
        assert "a (a3 - a1)" in ly.marginal_effects(model, EMPTY_CELL).notes[-1]


def test_effects_take_one_pass_over_any_rows(tmp_path, monkeypatch):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(DATA)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = ly.fit(DATA, formula="label ~ a * x + log(z) + b")
    model.save(tmp_path / "model.json")
    tables = as_tables(tmp_path / "rows.parquet")
    passes = []
    reduce = type(tables).reduce
    monkeypatch.setattr(type(tables), "reduce", lambda self, f: passes.append(1) or reduce(self, f))
    found = [ly.marginal_effects(ly.load(tmp_path / "model.json"), tmp_path / "rows.parquet")]
    assert len(passes) == 1
    found.append(ly.marginal_effects(model, dd.from_pandas(frame, npartitions=3)))
    for table in found:
        np.testing.assert_allclose(table["estimate"], ly.marginal_effects(model, DATA)["estimate"], rtol=1e-10)


def test_effects_refuse_what_they_cannot_answer():
    model = ly.fit(DATA, formula="y ~ x")
    with pytest.raises(ValueError, match="Column 'q' is not in the model"):
        ly.marginal_effects(model, DATA, columns=["q"])
    with pytest.raises(ValueError, match="scale must be"):
        ly.marginal_effects(model, DATA, scale="odds")
    with pytest.raises(TypeError, match="require a Model, which has columns"):
        ly.marginal_effects(model.estimator, DATA)
