"""Effects of single columns: predictions with the others held, and partial residuals."""

import numpy as np
import pytest

import linearly as ly
from linearly.findings.column_effects import MAX_EFFECTS, MAX_POINTS, column_effects


def _cars(n=250):
    rng = np.random.default_rng(4)
    fuel, km = rng.choice(["petrol", "diesel"], n), rng.gamma(2, 30.0, n)
    age = rng.uniform(0, 15, n)
    price = 30 - 0.05 * km - np.where(fuel == "diesel", 0.5, 1.5) * age + rng.normal(size=n)
    return {"fuel": fuel, "km": km, "age": age, "price": price}


def _effect(data, formula, column, **options):
    model = ly.fit(data, formula=formula)
    return model, column_effects(model, model.design_rows(data), columns=[column], **options)[0]


def test_points_of_a_single_column_are_the_rows():
    rng = np.random.default_rng(0)
    data = {"x": rng.uniform(0, 10, 50), "y": rng.normal(size=50)}
    _, effect = _effect(data, "y ~ x", "x")
    np.testing.assert_allclose(effect["points"]["x"], data["x"])
    np.testing.assert_allclose(effect["points"]["y"], data["y"])
    assert effect["points"]["place"][7] == "row 7"


def test_line_is_predict_interval_with_the_others_held():
    data = _cars()
    model, effect = _effect(data, "price ~ poly(km, 2) + age", "km", level=0.9)
    grid = {"km": effect["x"], "age": [effect["others"]["age"]] * len(effect["x"])}
    expected = model.predict_interval(grid, level=0.9)
    for name in ("fit", "low", "high"):
        np.testing.assert_allclose(effect["lines"][0][name], expected[name])


def test_partial_residuals_of_a_straight_term_are_component_plus_residual():
    data = _cars(120)
    model, effect = _effect(data, "price ~ km + age", "age")
    slope = dict(zip(model.tidy()["term"], model.tidy()["estimate"], strict=True))["age"]
    residual = data["price"] - model.predict(data)
    moved = np.array(effect["points"]["y"]) - slope * data["age"] - residual
    np.testing.assert_allclose(moved, moved[0])


def test_effect_that_depends_on_a_category_has_a_line_per_level():
    data = _cars()
    _, effect = _effect(data, "price ~ fuel * age + km", "age")
    assert effect["partner"] == "fuel"
    slopes = {line["name"]: np.ptp(line["fit"]) / np.ptp(effect["x"]) for line in effect["lines"]}
    assert slopes["petrol"] > 2 * slopes["diesel"]


def test_no_rows_leaves_out_points_and_the_ends_of_the_range():
    data = _cars()
    _, effect = _effect(data, "price ~ km + age", "km", no_rows=True)
    assert effect["points"] is None
    assert not {data["km"].min(), data["km"].max()} & set(effect["x"])


def test_strongest_columns_come_first_and_points_are_limited():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 9))
    data = {f"x{j}": X[:, j] for j in range(9)} | {"y": X @ np.arange(9.0) + rng.normal(size=400)}
    model = ly.fit(data, target="y")
    effects = column_effects(model, model.design_rows(data))
    assert [effect["column"] for effect in effects] == ["x8", "x7", "x6", "x5", "x4", "x3"]
    assert len(effects) == MAX_EFFECTS
    assert {len(effect["points"]["x"]) for effect in effects} == {MAX_POINTS}


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_incomplete_rows_have_no_point(missing):
    data = _cars(40)
    if missing == "drop":
        data["km"][3] = np.nan
    model = ly.fit(data, formula="price ~ km + age", missing=missing)
    places = column_effects(model, model.design_rows(data), columns=["km"])[0]["points"]["place"]
    assert len(places) == 40 - (missing == "drop")
    assert ("row 3" in places) == (missing == "error")
