"""Polynomial terms of columns far from zero: digits, standard errors and nesting."""

import numpy as np
import pytest

import linearly as ly
from linearly.selftest.rationals import least_squares, rational, worst_digits


@pytest.mark.parametrize("powers", ["poly(x, 4)", "poly(I(x - 10000), 4, raw=True)"])
def test_orthogonal_or_shifted_powers_far_from_zero_keep_digits(powers):
    x = np.linspace(1e4, 1e4 + 10, 60)
    u = (x - 1e4) / 10
    y = 1 + u - 2 * u**2 + 3 * u**3 - u**4
    model = ly.fit({"x": x, "y": y}, formula=f"y ~ {powers}")
    np.testing.assert_allclose(model.predict({"x": x}), y, rtol=1e-11)


def fourth_degree(formula):
    """x between 10 000 and 10 010, whose fourth powers float64 rounds to the nearest 2, and the exact fit to them."""
    rng = np.random.default_rng(4)
    data = {"x": 1e4 + 10 * rng.random(40), "y": rng.standard_normal(40)}
    x = rational(data["x"])
    powers = [[v**k for k in range(5)] for v in x]
    exact = least_squares([row[1:] for row in powers], data["y"])
    return ly.fit(data, formula=formula), data, powers, exact


@pytest.mark.filterwarnings("ignore::linearly.PrecisionWarning")  # of the standard errors, which have 7 digits
@pytest.mark.parametrize("formula", ["y ~ poly(x, 4, raw=True)", "y ~ x + poly(x, 4, raw=True) - x"])
def test_raw_powers_far_from_zero_keep_their_digits(tmp_path, formula):
    model, data, powers, exact = fourth_degree(formula)
    found = [model.estimator.intercept_, *model.estimator.coef_]
    assert worst_digits(found, exact.coef) > 14
    assert worst_digits(model.tidy()["std_error"], exact.std_error) > 7
    fit = np.array([float(sum(b * v for b, v in zip(exact.coef, row, strict=True))) for row in powers])
    table = model.augment(data)
    D = np.array(powers, dtype=object)
    leverage = (D @ np.array(exact.inverse, dtype=object) * D).sum(axis=1).astype(float)
    for told in (model.predict(data), table["fitted"], model.predict_interval(data)["fit"]):
        np.testing.assert_allclose(told, fit, rtol=0, atol=1e-12)
    np.testing.assert_allclose(table["residual"], data["y"] - fit, rtol=0, atol=1e-12)
    np.testing.assert_allclose(table["leverage"], leverage, rtol=1e-6)
    model.save(tmp_path / "model.json")
    again = ly.load(tmp_path / "model.json")
    assert (again.predict(data) == model.predict(data)).all()
    assert (again.augment(data)["leverage"] == table["leverage"]).all()


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC3"])
def test_robust_errors_of_raw_powers_are_those_of_centred_ones(kind):
    rng = np.random.default_rng(5)
    x = 1e4 + np.arange(60) / 8
    data = {"x": x, "y": rng.standard_normal(60) * (x - 9999)}
    far = ly.fit(data, formula="y ~ poly(x, 3, raw=True)", covariance=kind)
    near = ly.fit(data, formula="y ~ poly(I(x - 10000), 3, raw=True)", covariance=kind)
    assert far.tidy()["std_error"][-1] == pytest.approx(near.tidy()["std_error"][-1], rel=1e-9)


def test_raw_powers_times_a_category_keep_their_digits():
    rng = np.random.default_rng(6)
    x = 1e4 + np.arange(80) / 16
    data = {"x": x, "group": ["a", "b"] * 40, "y": rng.standard_normal(80)}
    far = ly.fit(data, formula="y ~ group*poly(x, 2, raw=True)")
    near = ly.fit(data, formula="y ~ group*poly(I(x - 10000), 2, raw=True)")
    np.testing.assert_allclose(far.predict(data), near.predict(data), rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["lda", "logistic", "averaged"])
def test_classifier_of_raw_powers_separates_curved_classes(model):
    x = np.linspace(-1, 1, 30)
    data = {"x": x, "y": np.where(np.abs(x) > 0.5, "out", "in")}
    fitted = ly.fit(
        data, formula="y ~ poly(x, 2, raw=True)", model=model, **({"alpha": 1e-3} if model == "logistic" else {})
    )
    assert (fitted.predict(data) == data["y"]).mean() > 0.8


@pytest.mark.parametrize(
    ("small", "big"),
    [
        ("poly(x, 2, raw=True)", "poly(x, 3, raw=True)"),
        ("poly(x, 2)", "poly(x, 3)"),
        ("x", "poly(x, 2)"),
        ("poly(x, 1, raw=True) + z:poly(x, 2)", "poly(x, 2) + z:poly(x, 3, raw=True)"),
    ],
)
def test_polynomial_of_lower_degree_is_nested_in_higher(small, big):
    rng = np.random.default_rng(9)
    data = {name: rng.uniform(0, 3, 60) for name in ("x", "z")} | {"y": rng.standard_normal(60)}
    a, b = (ly.fit(data, formula=f"y ~ {terms}") for terms in (small, big))
    found = ly.compare_models(a, b)
    rss = [model.estimator.solution_.rss[0] for model in (a, b)]
    df, rest = len(b.names) - len(a.names), 60 - 1 - len(b.names)
    assert found["df"][0] == df
    assert found["statistic"][0] == pytest.approx((rss[0] - rss[1]) / df / (rss[1] / rest), rel=1e-9)
    with pytest.raises(ValueError, match="not nested"):
        ly.compare_models(ly.fit(data, formula="y ~ poly(z, 2)"), b)
