"""Tests of two nested models, and what is not nested."""

import numpy as np
import pandas as pd
import pytest
from golden_sets import LM as GOLDEN
from golden_sets import case_of

import linearly as ly


@pytest.fixture(params=list(GOLDEN["data"]))
def case(request):
    return case_of(request.param)


def test_compare_models_is_the_f_test_of_one_term(case):
    big = case.fit()
    small = ly.LinearRegression().fit(case.X[:, :-1], case.y)
    row, t = ly.compare_models(small, big).row(0), ly.tidy(big)["statistic"][-1]
    assert row["statistic"] == pytest.approx(t**2, rel=1e-6)
    assert row["p_value"] == pytest.approx(ly.tidy(big)["p_value"][-1], rel=1e-6)


@pytest.mark.parametrize("method", ["gram", "qr", "extended"])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_compare_models_takes_one_target_by_any_summary(method, offset):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(40, 2)), rng.normal(size=40) + offset, rng.uniform(0.5, 2, 40)
    small = ly.LinearRegression(method=method).fit(X[:, :1], y, sample_weight=w)
    row = ly.compare_models(small, ly.LinearRegression().fit(X, y, sample_weight=w)).row(0)
    assert 0 <= row["statistic"] < 20


@pytest.mark.parametrize(
    ("target", "weight", "message"),
    [
        (np.log, None, "differ in target: the squared deviations from its mean add up to"),
        (lambda y: y + 1, None, "differ in target: its mean is"),
        (None, lambda y: y, "differ in weights: the weights add up to 40 and"),
        (None, lambda y: np.where(np.arange(40) < 20, 0.5, 1.5), "differ in weights: the weights add up to 40 and 40"),
        (None, lambda y: np.arange(40) > 0, "differ in rows: 40 and 39"),
    ],
)
def test_compare_models_refuses_other_targets_and_weights(target, weight, message):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.uniform(1, 9, 40)
    small = ly.LinearRegression().fit(X[:, :1], y)
    given = None if weight is None else np.asarray(weight(y), dtype=float)
    big = ly.LinearRegression().fit(X, y if target is None else target(y), sample_weight=given)
    with pytest.raises(ValueError, match=message):
        ly.compare_models(small, big)


def test_compare_models_refuses_other_classes_and_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.tile([0, 1], 30)
    small = ly.LogisticRegression().fit(X[:, :1], y)
    with pytest.raises(ValueError, match="weights or labels: the rows of class 0 have weight 30 and 60"):
        ly.compare_models(small, ly.LogisticRegression().fit(X, y, sample_weight=np.full(60, 2.0)))
    with pytest.raises(ValueError, match=r"classes: they are \[0, 1\] and \[1, 2\]"):
        ly.compare_models(small, ly.LogisticRegression().fit(X, y + 1))


def test_compare_models_refuses_models_that_are_not_nested():
    rng = np.random.default_rng(0)
    x, z, k, noise = rng.normal(size=(4, 60))
    y = 9 + x + noise
    for model, target in ((ly.LinearRegression, y), (ly.LogisticRegression, np.where(x + noise > 0, "p", "q"))):
        small = model().fit(np.c_[x], target)
        with pytest.raises(
            ValueError, match="not nested: the smaller one has an intercept, but the bigger one does not"
        ):
            ly.compare_models(small, model(fit_intercept=False).fit(np.c_[x, z, k], target))
        with pytest.raises(ValueError, match="not nested: the smaller one fits better"):
            ly.compare_models(small, model().fit(np.c_[z, k], target))
    # All levels of a category make up for an intercept: the same test as with one.
    levels = np.eye(3)[np.repeat([0, 1, 2], [10, 20, 30])]
    small = ly.LinearRegression().fit(np.c_[x], y)
    without = ly.LinearRegression(fit_intercept=False).fit(np.c_[x, levels], y)
    beside = ly.LinearRegression().fit(np.c_[x, levels[:, 1:]], y)
    assert ly.compare_models(small, without).row(0) == pytest.approx(ly.compare_models(small, beside).row(0))


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC3", "HAC", "CR1"])
def test_compare_models_uses_the_robust_covariance_of_the_bigger_model(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200) * np.exp(X[:, 0])
    given = {"groups": np.arange(200) % 50} if kind == "CR1" else {}
    small = ly.LinearRegression(covariance=kind).fit(X[:, :2], y, **given)
    big = ly.LinearRegression(covariance=kind).fit(X, y, **given)
    row, term = ly.compare_models(small, big).row(0), ly.tidy(big).row(3)
    assert row["statistic"] == pytest.approx(term["statistic"] ** 2, rel=1e-9)
    if kind != "HC3":  # its t test has degrees of freedom of its own
        assert row["p_value"] == pytest.approx(term["p_value"], rel=1e-9)
    classical = ly.compare_models(ly.LinearRegression().fit(X[:, :2], y), ly.LinearRegression().fit(X, y))
    assert row["statistic"] != pytest.approx(classical["statistic"][0], rel=1e-3)
    with pytest.raises(ValueError, match="same names"):  # its column x0 is the bigger model's x1
        ly.compare_models(ly.LinearRegression().fit(X[:, 1:2], y), big)


def test_compare_models_uses_the_robust_covariance_of_a_logistic_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = X["a"] + rng.logistic(size=300) > 0
    small, big = (ly.LogisticRegression(covariance="HC1").fit(X[list(names)], y) for names in ("a", "ab"))
    row, term = ly.compare_models(small, big).row(0), ly.tidy(big).row(2)
    assert row["statistic"] == pytest.approx(term["statistic"] ** 2, rel=1e-9)
    assert row["p_value"] == pytest.approx(term["p_value"], rel=1e-9)
