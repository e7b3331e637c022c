"""The same numbers as R through the front door: formulas, weights of 0, gaps, aliased terms (tests/golden/sets.R)."""

import warnings

import numpy as np
import pandas as pd
import pytest
from golden_sets import read_golden

import linearly as ly

GOLDEN = read_golden("sets")
TERMS = ("estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high")


def close(actual, expected, rel=1e-8, least=1e-6):
    """Equal to `rel`, of a unit `least` for what is next to zero; R's NA (null) is NaN here."""
    expected = np.array(expected, dtype=np.float64)
    np.testing.assert_allclose(np.asarray(actual, dtype=np.float64), expected, rtol=rel, atol=rel * least)


def fitted(case, formula=None, **options):
    data, weight = pd.DataFrame(case["data"]), "w" if case["weighted"] else None
    return data, ly.fit(data, formula=formula or case["formula"], weight=weight, missing="drop", **options)


def holds(case, data, model):
    """Model and rows as a whole, and the test against a smaller model."""
    row, rows = model.glance().row(0), model.augment(data)
    for key, value in case["glance"].items():
        close(row[key], value)
    for key, values in case["rows"].items():
        close(rows[key], values, rel=1e-7, least=1e-2)
    if "nested" in case:
        small = fitted(case, case["nested"]["small"], model=model.model)[1]
        found = ly.compare_models(small.estimator, model.estimator)
        for key in ("statistic", "df", "p_value"):
            close(found[key], [case["nested"][key]], rel=1e-7)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ("linear", "logistic") for name in GOLDEN[kind]])
def test_fits(kind, name):
    case = GOLDEN[kind][name]
    aliased = [j for j, b in enumerate(case["coefficients"][1:]) if b is None]
    if aliased:  # R sets their coefficients aside, here they are of smallest norm: what can be known is the same
        with pytest.warns(np.exceptions.RankWarning, match=r"Type\[Large\]:Cylinders\[4\]"):
            data, model = fitted(case)
        assert list(model.estimator.solution_.aliased) == aliased
        return holds(case, data, model)
    data, model = fitted(case)
    holds(case, data, model)
    for ours, theirs in zip(TERMS, ("coefficients", *TERMS[1:]), strict=True):
        close(model.tidy(level=0.9)[ours], case[theirs], least=1e-3)
    if kind == "logistic":
        found = ly.profile_intervals(model.estimator, model.design_rows(data), None, level=0.9)
        for key, values in case["profile"].items():
            close(found[key], values, rel=1e-7, least=1.0)
        return None
    for kind in ("confidence", "prediction"):
        found = model.predict_interval(case["prediction"]["new"], 0.9, kind, weight=1.0)  # as R assumes
        for key, values in case["prediction"][kind].items():
            close(found[key], values)


@pytest.mark.parametrize("name", [name for name in GOLDEN["linear"] if name != "Cars93"])
@pytest.mark.parametrize("covariance", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_errors(name, covariance):
    expected = GOLDEN["linear"][name]["hc"][covariance]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _, model = fitted(GOLDEN["linear"][name], covariance=covariance)
    close(model.tidy()["std_error"], expected)
    unknown = name == "anscombe" and covariance in ("HC2", "HC3")  # its row of leverage 1 makes them 0/0
    assert ["a single row determines it" in str(warning.message) for warning in told] == [True] * unknown


def test_multinom():
    case = GOLDEN["multinomial"]["housing"]
    _, model = fitted(case, reference=case["reference"])
    close(model.tidy()["estimate"], np.ravel(case["coefficients"]), least=1e-2)
    close(model.tidy()["std_error"], np.ravel(case["std_error"]))
    close([model.glance()[key][0] for key in ("deviance", "aic")], [case["deviance"], case["aic"]])


@pytest.mark.parametrize("name", GOLDEN["discriminant"])
def test_posteriors_with_priors_given(name):
    case = GOLDEN["discriminant"][name]
    for model in ("lda", "qda"):
        found = ly.fit(case["data"], target=case["label"], model=model, priors=case["prior"])
        close(found.predict_proba(case["data"]), case[model])


@pytest.mark.parametrize("name", GOLDEN["chow"])
def test_chow(name):
    case, data = GOLDEN["chow"][name], pd.DataFrame(GOLDEN["chow"][name]["data"])
    a, b = (ly.fit(data[data["group"] == k], formula=case["formula"]) for k in (0, 1))
    apart, together = (sum(model.estimator.solution_.rss[0] for model in models) for models in ((a, b), (a + b,)))
    close((together - apart) / case["df1"] / (apart / case["df2"]), case["statistic"])
    for key in ("change", "std_error"):
        close(ly.diff(a, b)[key], case[key])
