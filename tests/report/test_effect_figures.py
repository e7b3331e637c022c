"""The first pictures of a regression's page: rows and line, effects, the equation, names of rows."""

import json
import re

import numpy as np
import pytest

import linearly as ly
from linearly.inference.fitted_rows import shorten_places
from linearly.report.effect_figures import equation
from linearly.report.facts import facts
from linearly.report.render import page_of, render


def _page(data, **fit):
    model = ly.fit(data, **fit)
    return render(facts(model, model.design_rows(data)))


def _data(n=60, p=1):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, p))
    return {f"x{j}": X[:, j] for j in range(p)} | {"y": 1 + X @ np.linspace(1, 3, p) + rng.normal(size=n)}


def test_one_column_has_its_rows_instead_of_one_interval():
    page = _page(_data(), target="y")
    assert 'aria-labelledby="effect-0-title' in page
    assert 'aria-labelledby="coefficients-title' not in page
    assert re.search(r"y = \d[\d.]* \+ \d[\d.]* × x0", page)


def test_several_columns_have_a_picture_each():
    page = _page(_data(p=3), target="y")
    assert len(re.findall(r'aria-labelledby="effect-\d-title', page)) == 3
    assert 'aria-labelledby="coefficients-title' in page


def test_equation_of_many_terms_is_left_out():
    terms = {"term": ["Intercept", *"abcdefghij"], "estimate": [1.0] * 11}
    assert equation({"target": "y", "terms": terms, "aliased": []}) == ""


def test_dots_refer_to_the_names_of_their_rows():
    data = _data()
    page = _page(data, target="y")
    names = json.loads(re.search(r'id="row-names">(.*?)</script>', page)[1])
    assert names == [f"row {i}" for i in range(60)]
    quantiles = re.search(r'<svg[^>]*aria-labelledby="qq-title.*?</svg>', page, re.DOTALL)[0]
    order = list(map(int, re.search(r'data-rows="([^"]+)"', quantiles)[1].split()))
    model = ly.fit(data, target="y")
    standardized = model.augment(data)["standardized_residual"]
    np.testing.assert_array_equal(order, np.argsort(standardized, kind="stable"))


def test_places_in_several_files_keep_their_names():
    assert shorten_places(["line 3 of a.csv", "line 3 of b.csv"]) == ["line 3 of a.csv", "line 3 of b.csv"]


def test_no_rows_has_no_names_of_rows():
    data = _data(p=2)
    model = ly.fit(data, target="y")
    page = render(facts(model, model.design_rows(data), no_rows=True))
    assert 'id="row-names"' not in page
    assert "data-rows" not in page


def test_long_tables_show_twelve_rows_and_all_on_request():
    page = _page(_data(n=200, p=20), target="y")
    assert page.count("Show all 21 rows</span>") == 3  # coefficients, those without influential rows, tests of terms
    first = re.search(r'<div class="long">.*?</table>', page, re.DOTALL)[0]
    assert len(re.findall(r'<th scope="row">', first)) == 21


def test_ticks_of_the_refit_are_per_term():
    rng = np.random.default_rng(0)
    data = {"g": np.tile(list("abcd"), 20), "x": rng.normal(size=80), "y": rng.normal(size=80)}
    model = ly.fit(data, target="y")
    found = page_of(facts(model, model.design_rows(data)))
    assert found.refit["groups"] == [["g", 3], ["x", 1]]


@pytest.mark.parametrize("p", [2, 3])
def test_plot_coefficients_and_the_report_show_the_same_numbers(p):
    data = _data(p=p)
    model = ly.fit(data, target="y")
    ax = ly.plot_coefficients(model)
    written = {text.get_text() for text in ax.texts}
    page = render(facts(model, model.design_rows(data)))
    picture = re.search(r'<svg[^>]*aria-labelledby="coefficients-title.*?</svg>', page, re.DOTALL)[0]
    assert written <= {" ".join(text.split()) and text for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture)}


def test_a_column_of_two_numbers_has_levels_with_a_typographic_minus():
    data = _data(p=2)
    data["x1"] = np.where(np.arange(60) % 2, -0.5, 0.5)
    page = _page(data, target="y")
    assert re.search(r"higher for (−0\.5 than for 0\.5|0\.5 than for −0\.5)", page)
    assert "for -0.5" not in page


def test_the_first_sentence_names_columns_and_not_their_levels():
    data = _data() | {"region": [f"region {i % 12}" for i in range(60)]}
    assert "Predicts y from x0 and region by least squares, fitted to 60 rows." in _page(data, target="y")


def test_an_intercept_is_not_pulled_by_a_rounding_error():
    model = ly.fit(_data(), target="y", model="ridge", alpha=1.0)
    found = facts(model, model.design_rows(_data()))
    columns = found["terms"]
    columns["bias"] = [1e-15 * columns["estimate"][0], *columns["bias"][1:]]
    part = next(part for part in page_of(found).sections[0].parts if part["kind"] == "table")
    pulls = [row[part["head"].index("pull")]["text"] for row in part["rows"]]
    assert pulls[0] == "0"
    assert pulls[1] != "0"
