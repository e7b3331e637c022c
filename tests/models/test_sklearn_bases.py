"""scikit-learn is loaded when its tools look at an estimator, and not before."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin

import linearly as ly
from linearly.models import sklearn_bases

START = """
import pickle, sys
import numpy as np
import linearly as ly
X = np.random.default_rng(0).normal(size=(60, 3))
y, k = X.sum(axis=1) + X[:, 0] ** 2, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
def loaded(*names):
    return sorted(name for name in names if name in sys.modules)
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", START + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class TestColdStart:
    @pytest.mark.parametrize(
        "fit",
        [
            "ly.LinearRegression().fit(X, y).predict(X)",
            "ly.LinearRegression().fit(X.astype(np.float32), y).std_errors()",
            "ly.tidy(ly.LinearRegression(alpha=1.0).fit(X.tolist(), y.tolist()))",
            "ly.RidgeCV([0.1, 1.0]).fit(X, y).predict(X)",
            "ly.LogisticRegression().fit(X, k).predict_proba(X)",
            "ly.LinearDiscriminantAnalysis().fit(X, k).predict(X)",
            "ly.QuadraticDiscriminantAnalysis().fit(X, k).predict(X)",
            "ly.AveragedPerceptron(2).fit(X, k).predict(X)",
            "ly.LinearRegression().fit(X, y) + ly.LinearRegression().fit(X, y)",
            "print(repr(ly.LinearRegression(alpha=2.0)))",
        ],
    )
    def test_fit_of_arrays_loads_neither_sklearn_nor_pandas(self, fit):
        assert run(f"{fit}\nprint(loaded('sklearn', 'pandas', 'scipy.stats', 'scipy.optimize'))").endswith("[]")

    def test_repr_is_that_of_sklearn(self):
        code = "m = ly.LinearRegression(alpha=2.0, method='qr')\nprint(repr(m))\nimport sklearn\nprint(repr(m))"
        before, after = run(code).splitlines()
        assert before == after == "LinearRegression(alpha=2.0, method='qr')"

    def test_parameters_are_those_of_sklearn(self):
        code = "m = ly.RidgeCV().set_params(cv=3)\nprint(m.get_params())\nimport sklearn\nprint(m.get_params())"
        before, after = run(code).splitlines()
        assert before == after

    def test_unknown_parameter_raises_error_of_sklearn(self):
        code = "try:\n    ly.LinearRegression().set_params(beta=1)\nexcept ValueError as error:\n    print(error)"
        assert "Invalid parameter 'beta' for estimator LinearRegression" in run(code)

    def test_unavailable_method_is_no_attribute(self):
        code = "print(hasattr(ly.LinearRegression(covariance='HC3'), 'partial_fit'), hasattr(ly.RidgeCV(), 'nonsense'))"
        assert run(code) == "False False"


class TestSklearnLoadedLater:
    def test_fitted_estimators_become_estimators_of_sklearn(self):
        code = """
m, lda = ly.LinearRegression().fit(X, y), ly.LinearDiscriminantAnalysis().fit(X, k)
class Mine(ly.LogisticRegression):
    pass
mine = Mine().fit(X, k)
assert not loaded('sklearn')
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
assert all(isinstance(model, BaseEstimator) for model in (m, lda, mine))
assert is_regressor(m) and is_classifier(lda) and is_classifier(mine)
assert clone(m).get_params() == m.get_params()
assert abs(m.score(X, y) - make_pipeline(ly.LinearRegression()).fit(X, y).score(X, y)) < 1e-12
GridSearchCV(ly.LinearRegression(), {"alpha": [0.0, 1.0]}).fit(X, y)
assert len(cross_val_score(mine, X, k)) == 5
import sklearn
sklearn.set_config(enable_metadata_routing=True)
assert "sample_weight" in str(m.set_fit_request(sample_weight=True).get_metadata_routing())
assert "<style>" in m._repr_html_()
assert type(lda.set_output(transform="pandas").transform(X)).__name__ == "DataFrame"
assert (pickle.loads(pickle.dumps(m)).predict(X) == m.predict(X)).all()
print(sum(type(finder).__name__ == "_SklearnFinder" for finder in sys.meta_path))
"""
        assert run(code) == "0"

    @pytest.mark.parametrize("ask", ["_repr_html_()", "set_fit_request", "get_metadata_routing()"])
    def test_methods_of_sklearn_load_it(self, ask):
        assert run(f"m = ly.LinearRegression()\nm.{ask}\nprint(loaded('sklearn'))") == "['sklearn']"

    def test_fit_transform_loads_it(self):
        code = "print(ly.LinearDiscriminantAnalysis().fit_transform(X, k).shape, loaded('sklearn'))"
        assert run(code) == "(60, 1) ['sklearn']"

    def test_pickle_of_a_process_without_sklearn_is_read_with_it(self):
        text = run("print(pickle.dumps(ly.LinearRegression().fit(X, y)).hex())")
        model = pickle.loads(bytes.fromhex(text))
        assert isinstance(model, BaseEstimator)
        assert np.isfinite(model.predict(np.ones((1, 3)))).all()

    def test_bad_input_raises_errors_of_sklearn(self):
        code = """
m = ly.LinearRegression()
for call in (lambda: m.predict(X), lambda: m.fit(X, y).predict(X[:, :2])):
    try:
        call()
    except ValueError as error:
        print(type(error).__name__, error)
"""
        first, second = run(code).splitlines()
        assert first.startswith("NotFittedError")
        assert "X has 2 features, but LinearRegression is expecting 3 features" in second


def test_bases_are_those_of_sklearn_here():
    assert sklearn_bases.sklearn_is_loaded()
    assert issubclass(ly.LinearRegression, (RegressorMixin, BaseEstimator))
    assert issubclass(ly.LinearDiscriminantAnalysis, TransformerMixin)
    assert issubclass(ly.Perceptron, ClassifierMixin)


def test_random_generator_matches_sklearn():
    from sklearn.utils import check_random_state

    from linearly.models.parameter_checks import random_generator

    assert random_generator(None) is check_random_state(None)
    assert random_generator(np.random) is check_random_state(np.random)
    assert random_generator(3).uniform() == check_random_state(3).uniform()
