"""Cross-validation on any rows, and what changed between two models."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.naive_bayes import GaussianNB

import linearly as ly
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.ridge_cv import RidgePath
from linearly.dataset.rows.block import Block, as_rows
from linearly.dataset.rows.views import MappedRows
from linearly.inference.difference import chow

REGRESSORS = [ly.LinearRegression(), ly.LinearRegression(3.0), ly.LinearRegression(covariance="HC1"), ly.RidgeCV()]
CLASSIFIERS = [
    ly.LinearDiscriminantAnalysis(),
    ly.QuadraticDiscriminantAnalysis(),
    ly.LeastSquaresClassifier(),
    ly.LogisticRegression(alpha=0.5),
    ly.AveragedPerceptron(),
    ly.BatchPerceptron(max_passes=20),
]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=str)
def test_regression_folds_are_those_of_separate_fits(estimator):
    X, y = load_diabetes(return_X_y=True)
    table = ly.cross_validate(estimator, X, y, folds=4)
    for j in range(4):
        out = np.arange(len(y)) % 4 == j
        predicted = type(estimator)(**estimator.get_params()).fit(X[~out], y[~out]).predict(X[out])
        assert table["rows"][j] == out.sum()
        assert table["mse"][j] == pytest.approx(((y[out] - predicted) ** 2).mean(), rel=1e-9)
        spread = ((y[out] - y[out].mean()) ** 2).mean()
        assert table["r_squared"][j] == pytest.approx(1 - table["mse"][j] / spread, rel=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_classification_folds_are_those_of_separate_fits(estimator):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    table = ly.cross_validate(estimator, X, labels, folds=3)
    for j in range(3):
        out = np.arange(len(y)) % 3 == j
        model = type(estimator)(**estimator.get_params()).fit(X[~out], labels[~out])
        assert table["accuracy"][j] == pytest.approx((model.predict(X[out]) == labels[out]).mean())
        if "log_loss" in table.columns:
            p = model.predict_proba(X[out])[np.arange(out.sum()), y[out]]
            assert table["log_loss"][j] == pytest.approx(-np.log(p).mean(), rel=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_folds_of_a_sparse_matrix_are_those_of_the_dense_one(estimator):
    X, y = load_iris(return_X_y=True)
    dense, thin = (ly.cross_validate(estimator, matrix, y) for matrix in (X, sparse.csr_matrix(X)))
    for name in dense.columns:
        np.testing.assert_allclose(thin[name], dense[name], rtol=1e-6)


def test_exact_models_take_one_pass_for_all_folds_and_one_for_the_scores():
    X, y = load_iris(return_X_y=True)
    passes = []

    def seen(block):
        passes.append(block.start)
        return block

    rows = MappedRows(as_rows(X, X[:, 0] + y), seen)
    ly.cross_validate(ly.LinearRegression(), rows, folds=5)
    assert len(passes) == 2


def test_weights_count_in_the_scores():
    X, y = load_diabetes(return_X_y=True)
    w = np.arange(len(y)) % 3 + 0.0
    table = ly.cross_validate(ly.LinearRegression(), X, y, sample_weight=w, folds=2)
    out = np.arange(len(y)) % 2 == 0
    model = ly.LinearRegression().fit(X[~out], y[~out], w[~out])
    error = (y - model.predict(X)) ** 2
    assert table["mse"][0] == pytest.approx(np.average(error[out], weights=w[out]), rel=1e-9)
    assert table["rows"][0] == np.count_nonzero(w[out])


@pytest.mark.parametrize("folds", [1, 2.5, "5"])
def test_folds_must_be_a_number_of_them(folds):
    with pytest.raises(ValueError, match="folds must be a whole number from 2 on"):
        ly.cross_validate(ly.LinearRegression(), [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0], folds=folds)


def test_what_cannot_be_cross_validated():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="takes one target, and y has 2"):
        ly.cross_validate(ly.LinearRegression(), X[:, :2], X[:, 2:])
    with pytest.raises(ValueError, match="level must lie between 0 and 1, not 95"):
        ly.cross_validate(ly.LinearRegression(), X, y, level=95)
    with pytest.raises(TypeError, match="models of linearly, not for GaussianNB"):
        ly.cross_validate(GaussianNB(), X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_empty_fold_is_refused():
    with pytest.raises(ValueError, match="leave one of 5 folds empty"):
        ly.cross_validate(ly.LinearRegression(), [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])


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


@pytest.mark.parametrize("seed", range(5))
def test_a_ridge_path_without_penalty_has_the_smallest_norm(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 20)) @ rng.standard_normal((20, 60))
    y = rng.standard_normal((100, 1))
    B = RidgePath.of(Gram.of(Block(X, y)), False).coefficients(np.array([0.0]))[:, 0]
    np.testing.assert_allclose(B, np.linalg.lstsq(X, y, rcond=1e-10)[0], rtol=0, atol=1e-10)


def test_folds_are_fitted_as_carefully_as_a_fit_of_their_own():
    x = np.linspace(100, 101, 200)
    X = np.column_stack([x, x**2, x**3])
    y = np.sin(9 * x) + 0.1 * np.cos(71 * x)
    table = ly.cross_validate(ly.LinearRegression(), X, y)
    for j, error in enumerate(table["mse"]):
        held = np.arange(200) % 5 == j
        m = ly.LinearRegression().fit(X[~held], y[~held])
        assert m.method_ == "extended"
        assert error == pytest.approx(np.mean((y[held] - m.predict(X[held])) ** 2), rel=1e-8)


def test_folds_of_classes_are_told_apart_as_carefully_as_by_a_fit():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 3)) + y[:, None]
    X[:, 2] = X[:, 0] + 1e-4 * X[:, 2]
    table = ly.cross_validate(ly.LinearDiscriminantAnalysis(), X, y)
    for j, accuracy in enumerate(table["accuracy"]):
        held = np.arange(300) % 5 == j
        m = ly.LinearDiscriminantAnalysis().fit(X[~held], y[~held])
        assert m.n_passes_ == 2
        assert accuracy == m.score(X[held], y[held])


@pytest.mark.parametrize(("target", "model"), [("y", "linear"), ("kind", "lda"), ("kind", "logistic")])
def test_a_model_of_the_front_door_is_validated_on_its_data(target, model):
    rng = np.random.default_rng(8)
    x, town = rng.standard_normal(90), rng.choice(["a", "b", "c"], 90)
    y = x + (town == "b") + rng.standard_normal(90)
    data = {"x": x, "town": town, "y": y, "kind": np.where(y > 0.3, "up", "down")}
    fitted = ly.fit(data, target=target, features=["x", "town"], model=model)
    X = np.column_stack([x, town == "b", town == "c"]).astype(float)
    table = ly.cross_validate(fitted, data)
    plain = ly.cross_validate(fitted.estimator, X, data[target])
    for name in plain.columns:
        np.testing.assert_allclose(table[name], plain[name], rtol=1e-10)
    with pytest.raises(ValueError, match=r"call cross_validate\(model, data\)"):
        ly.cross_validate(fitted, data, data[target])
