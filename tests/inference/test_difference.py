"""Changes between two fitted models, and the joint test of all coefficients."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import linearly as ly
from linearly.inference.difference import joint_test


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
    assert "The coefficients differ" in str(table)


def test_joint_test_of_one_term_is_welch():
    rng = np.random.default_rng(2)
    x, z = rng.normal(size=(9, 1)), rng.normal(size=(30, 1))
    a = ly.LinearRegression(fit_intercept=False).fit(x, 3 * rng.normal(size=9))
    b = ly.LinearRegression(fit_intercept=False).fit(z, rng.normal(size=30))
    table, test = ly.diff(a, b), joint_test(a, b)
    assert test["statistic"] == pytest.approx(table["statistic"][0] ** 2, rel=1e-8)
    assert test["p_value"] == pytest.approx(table["p_value"][0], rel=1e-8)


def test_joint_test_of_equal_designs_is_hotelling_like_for_equal_variances():
    """With the same design and equal estimated variances, W / k has exactly F on k and n₁ + n₂ − 2k df."""
    rng = np.random.default_rng(3)
    X, e = rng.normal(size=(30, 2)), rng.normal(size=30)
    a = ly.LinearRegression().fit(X, X[:, 0] + e)
    b = ly.LinearRegression().fit(X, 2 * X[:, 0] - e)
    test = joint_test(a, b)
    assert test["df2"] == pytest.approx(54, rel=1e-8)
    apart = a.solution_.rss[0] + b.solution_.rss[0]
    chow = ((a + b).solution_.rss[0] - apart) / 3 / (apart / 54)
    assert test["statistic"] == pytest.approx(chow, rel=1e-8)


def test_joint_test_holds_its_level_for_unequal_error_variances():
    """20 rows of σ 3 against 200 of σ 1 with equal coefficients: Chow's test would reject 77% of them."""
    rng, joint, found = np.random.default_rng(0), 0, 0
    for _ in range(300):
        X, Z = rng.normal(size=(20, 3)), rng.normal(size=(200, 3))
        noise, other = 3 * rng.normal(size=20), ly.LinearRegression().fit(Z, Z[:, 0] + rng.normal(size=200))
        model = ly.LinearRegression().fit(X, X[:, 0] + noise)
        joint += joint_test(model, other)["p_value"] < 0.05
        found += joint_test(ly.LinearRegression().fit(X, 4 * X[:, 0] + noise), other)["p_value"] < 0.05
    assert joint <= 0.06 * 300
    assert found > 0.8 * 300


def test_diff_of_a_model_with_itself_says_so():
    X, y = load_diabetes(return_X_y=True)
    a, b, other = (ly.LinearRegression().fit(X[k], y[k]) for k in (slice(200), slice(200), slice(200, None)))
    for same in (a, b):
        assert "Both files contain the same model" in str(ly.diff(a, same))
        assert "differ" not in "".join(ly.diff(a, same).notes).replace("different", "")
    assert "Both files contain the same model" not in str(ly.diff(a, other))
    data = {"x": X[:, 0], "z": X[:, 1], "y": y}
    one, two = ly.fit(data, target="y"), ly.fit(data, target="y", covariance="HC3")
    assert "The models share rows" in str(ly.diff(one + ly.fit({k: v[:9] for k, v in data.items()}, like=one), one))
    assert "different kinds" not in str(ly.diff(one, two))


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
    with pytest.raises(ValueError, match="different kinds"):
        ly.diff(a, ly.LinearDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ValueError, match="has an intercept, but the other does not"):
        ly.diff(a, ly.LinearRegression(fit_intercept=False).fit(X, y))
    with pytest.raises(ValueError, match="one target"):
        ly.diff(a, ly.LinearRegression().fit(X, np.column_stack([y, y])))
    first, last = (ly.LogisticRegression(1.0, reference=k).fit(X, y) for k in (0, 2))
    with pytest.raises(ValueError, match="have different reference classes, 0 and 2"):
        ly.diff(first, last)
    assert "A joint test is not possible, because the coefficients are shrunk by a penalty." in str(
        ly.diff(a, ly.LinearRegression(1.0).fit(X, y))
    )
    lda = ly.LinearDiscriminantAnalysis().fit(X, y)
    with pytest.raises(TypeError, match="has no standard errors"):
        ly.diff(lda, lda)
    with pytest.warns(np.exceptions.RankWarning):
        few = ly.LinearRegression().fit(X[:4], y[:4] + X[:4, 0])
    assert "A joint test is not possible, because no term has a standard error in both models." in str(ly.diff(a, few))
