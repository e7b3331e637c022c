"""`LogisticRegression` with `l1_ratio` above 0: glmnet, optimality, laws, tables, files and errors."""

import numpy as np
import pytest
from golden_sets import read_golden
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as SkLogisticRegression

import linearly as ly
from linearly.export.python import to_python

GOLDEN = read_golden("logistic_lasso")
X, Y = load_breast_cancer(return_X_y=True)


class TestGlmnet:
    @pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
    def test_coefficients_and_zeros_equal_those_of_glmnet(self, case):
        model = ly.LogisticRegression(case["alpha"], l1_ratio=case["l1_ratio"], fit_intercept=case["intercept"])
        model.fit(np.array(GOLDEN["x"]), case["y"], sample_weight=case["w"])
        np.testing.assert_allclose(model.coef_[0], case["coef"], rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(model.coef_[0] == 0, np.array(case["coef"]) == 0)
        assert model.intercept_[0] == pytest.approx(case["constant"], rel=1e-6, abs=1e-6)
        assert model.converged_


class TestOptimality:
    def test_two_classes_equal_scikit_learn(self):
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        peer = SkLogisticRegression(C=0.2, l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000).fit(Z[:, :8], Y)
        model = ly.LogisticRegression(5.0, l1_ratio=1.0).fit(Z[:, :8], Y)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)

    @pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
    def test_the_gradient_balances_the_penalty_for_three_classes(self, l1_ratio):
        A, y = load_iris(return_X_y=True)
        model = ly.LogisticRegression(2.0, l1_ratio=l1_ratio).fit(A, y)
        P = softmax(model.decision_function(A), axis=1)
        gradient = ((P - np.eye(3)[y])[:, :2].T @ A) + 2.0 * (1 - l1_ratio) * model.coef_
        active = model.coef_ != 0
        assert 0 < active.sum() < active.size
        np.testing.assert_allclose(gradient[active], -2.0 * l1_ratio * np.sign(model.coef_[active]), atol=1e-8)
        assert np.abs(gradient[~active]).max() <= 2.0 * l1_ratio
        np.testing.assert_allclose(P.sum(axis=0), np.bincount(y), rtol=1e-9)  # the intercepts have no penalty

    def test_separable_classes_have_a_finite_solution(self):
        A, y = load_iris(return_X_y=True)
        model = ly.LogisticRegression(0.01, l1_ratio=1.0).fit(A[:100], y[:100])
        assert model.converged_
        assert np.isfinite(model.coef_).all()

    def test_without_absolute_values_it_is_ridge(self):
        for l1_ratio, alpha in ((0.0, 3.0), (1.0, 0.0)):
            model = ly.LogisticRegression(alpha, l1_ratio=l1_ratio).fit(X[:, :4], Y)
            np.testing.assert_array_equal(model.coef_, ly.LogisticRegression(alpha).fit(X[:, :4], Y).coef_)


class TestLaws:
    def test_weights_permutations_and_blocks_change_nothing(self):
        model = ly.LogisticRegression(5.0, l1_ratio=0.8).fit(X, Y)
        twice = np.concatenate([X, X[:50]]), np.concatenate([Y, Y[:50]])
        weight = np.where(np.arange(len(Y)) < 50, 2.0, 1.0)
        order = np.random.default_rng(0).permutation(len(Y))
        doubled, weighted = (ly.LogisticRegression(5.0, l1_ratio=0.8).fit(*rows) for rows in (twice, (X, Y, weight)))
        np.testing.assert_allclose(weighted.coef_, doubled.coef_, rtol=1e-8, atol=1e-12)
        shuffled = ly.LogisticRegression(5.0, l1_ratio=0.8).fit(X[order], Y[order])
        np.testing.assert_allclose(shuffled.coef_, model.coef_, rtol=1e-8, atol=1e-12)

    def test_labels_of_a_multilabel_fit_are_fitted_one_by_one(self):
        labels = np.column_stack([Y, X[:, 0] > 14])
        model = ly.LogisticRegression(5.0, l1_ratio=1.0).fit(X[:, 1:6], labels)
        for j in range(2):
            alone = ly.LogisticRegression(5.0, l1_ratio=1.0).fit(X[:, 1:6], labels[:, j])
            np.testing.assert_array_equal(model.coef_[j], alone.coef_[0])


class TestTables:
    def test_there_are_no_standard_errors(self):
        model = ly.LogisticRegression(5.0, l1_ratio=1.0).fit(X, Y)
        assert list(ly.tidy(model).columns) == ["term", "estimate"]
        with pytest.raises(ly.CovarianceNotAvailableError, match="the rows select the terms"):
            _ = model.covariance_
        n_active = int((model.coef_ != 0).sum())
        assert ly.glance(model).row(0)["df_residual"] == len(Y) - 1 - n_active
        assert f"{n_active} of 30 coefficients are not 0" in str(model.summary())

    def test_a_saved_model_and_its_export_predict_the_same(self, tmp_path):
        frame = load_breast_cancer(as_frame=True).frame
        fitted = ly.fit(frame, target="target", model="logistic", alpha=5.0, l1_ratio=1.0)
        fitted.save(tmp_path / "model.json")
        loaded = ly.load(tmp_path / "model.json")
        assert loaded.estimator.l1_ratio == 1.0
        np.testing.assert_array_equal(loaded.predict(frame), fitted.predict(frame))
        namespace = {}
        exec(to_python(fitted), namespace)
        row = {name: float(value) for name, value in frame.iloc[0].items()}
        assert namespace["predict"](row) == fitted.predict(frame)[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"l1_ratio": -0.1}, "l1_ratio"),
        ({"l1_ratio": 1.0, "solver": "lbfgs"}, "requires Newton"),
        ({"l1_ratio": 1.0, "covariance": "HC1"}, "no standard errors"),
        ({"l1_ratio": 1.0, "bias_reduction": "firth"}, "Choose one"),
    ],
)
def test_an_invalid_parameter_is_named(params, message):
    with pytest.raises(ValueError, match=message):
        ly.LogisticRegression(1.0, **params).fit(X[:, :4], Y)
