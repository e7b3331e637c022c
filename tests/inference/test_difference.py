"""Changes between two fitted models, and Chow's test."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import linearly as ly
from linearly.inference.difference import chow


def test_chow_is_the_f_test_of_the_model_with_everything_interacted():
    X, y = load_diabetes(return_X_y=True)
    group = np.arange(len(y)) % 3 == 0
    a, b = (ly.LinearRegression().fit(X[g], y[g]) for g in (group, ~group))
    found = chow(a, b)
    small = ly.LinearRegression().fit(X, y)
    both = np.column_stack([X, group, X * group[:, None]])
    big = ly.LinearRegression().fit(both, y)
    k, df = 11, len(y) - 22
    f = (small.solution_.rss[0] - big.solution_.rss[0]) / k / (big.solution_.rss[0] / df)
    assert found["statistic"] == pytest.approx(f, rel=1e-8)
    assert (found["df1"], found["df2"]) == (k, df)
    assert found["p_value"] == pytest.approx(stats.f.sf(f, k, df), rel=1e-8)
    robust = ly.LinearRegression(covariance="HC3").fit(X[group], y[group])
    with pytest.raises(ValueError, match="Chow's test assumes errors of equal variance"):
        chow(robust, b)
    assert "No Chow test: Chow's test assumes errors of equal variance" in str(ly.diff(robust, b))


def test_diff_of_least_squares_is_welch_for_each_term():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(40, 1)), rng.normal(size=(30, 1))
    a = ly.LinearRegression().fit(x, 1 + 2 * x[:, 0] + rng.normal(size=40))
    b = ly.LinearRegression().fit(z, 1 + 5 * z[:, 0] + rng.normal(size=30))
    table = ly.diff(a, b)
    first, second = ly.tidy(a), ly.tidy(b)
    np.testing.assert_allclose(table["change"], second["estimate"] - first["estimate"])
    np.testing.assert_allclose(table["std_error"] ** 2, first["std_error"] ** 2 + second["std_error"] ** 2)
    assert table["p_value"][1] < 1e-6
    assert "the coefficients differ" in str(table)


def test_diff_of_logistic_models_is_a_wald_test():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :3]
    odd = np.arange(len(y)) % 2 == 1
    a, b = (ly.LogisticRegression().fit(X[g], y[g]) for g in (odd, ~odd))
    table = ly.diff(a, b)
    change = table["change"]
    wald = change @ np.linalg.solve(a.covariance_ + b.covariance_, change)
    assert f"χ² {wald:.4g} on 4 df, p {stats.chi2.sf(wald, 4):.3g}" in str(table)


def test_diff_refuses_models_that_cannot_be_compared():
    X, y = load_iris(return_X_y=True)
    a, b = ly.LinearRegression().fit(X, y), ly.LinearRegression().fit(X[:, :2], y)
    with pytest.raises(ValueError, match="different columns"):
        ly.diff(a, b)
    with pytest.raises(ValueError, match="two kinds"):
        ly.diff(a, ly.LinearDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ValueError, match="has an intercept and the other has none"):
        ly.diff(a, ly.LinearRegression(fit_intercept=False).fit(X, y))
    with pytest.raises(ValueError, match="one target"):
        ly.diff(a, ly.LinearRegression().fit(X, np.column_stack([y, y])))
    first, last = (ly.LogisticRegression(1.0, reference=k).fit(X, y) for k in (0, 2))
    with pytest.raises(ValueError, match="against different classes, 0 and 2"):
        ly.diff(first, last)
    assert "No Chow test: These models keep different summaries" in str(
        ly.diff(a, ly.LinearRegression(method="qr").fit(X, y))
    )
    lda = ly.LinearDiscriminantAnalysis().fit(X, y)
    with pytest.raises(TypeError, match="has no standard errors"):
        ly.diff(lda, lda)
    with pytest.warns(np.exceptions.RankWarning):
        few = ly.LinearRegression().fit(X[:4], y[:4] + X[:4, 0])
    assert "No Chow test" in str(ly.diff(a, few))
