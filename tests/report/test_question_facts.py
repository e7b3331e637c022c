"""Reports contain the test of each term and the means of categories."""

import numpy as np
import pandas as pd
import pytest

import linearly as ly
from linearly.report.facts import facts
from linearly.report.question_facts import questions_section

RNG = np.random.default_rng(3)
DATA = pd.DataFrame({"x": RNG.normal(size=120), "a": RNG.choice(list("pqr"), 120)})
DATA["y"] = DATA["x"] + (DATA["a"] == "q") + RNG.normal(size=120)
DATA["label"] = np.where(DATA["y"] + RNG.normal(size=120) > 0.4, "yes", "no")


@pytest.mark.parametrize(("formula", "squares"), [("y ~ x + a", True), ("label ~ x + a", False)])
def test_facts_and_page_contain_the_tables_of_the_model(formula, squares):
    model = ly.fit(DATA, formula=formula)
    found = facts(model, model.design_rows(DATA))
    assert found["anova"]["columns"]["p_value"][0] == pytest.approx(ly.anova(model)["p_value"][0])
    assert found["means"]["a"]["columns"]["estimate"] == ly.marginal_means(model, "a")["estimate"].tolist()
    (section,) = questions_section(found)
    tests, means = [part for part in section.parts if part["kind"] == "table"]
    assert [row[0]["text"] for row in tests["rows"]][:2] == ["x", "a"]
    assert ("sum of squares" in tests["head"]) is squares
    assert [row[0]["text"] for row in means["rows"]] == ["p", "q", "r"]


def test_models_without_tests_have_no_section():
    for model in (
        ly.fit(DATA, formula="y ~ x + a", model="ridge", alpha=1.0),
        ly.fit(DATA, formula="a ~ x", model="lda"),
    ):
        found = facts(model, model.design_rows(DATA))
        assert "anova" not in found
        assert questions_section(found) == []
