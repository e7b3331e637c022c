"""Cross-validation on any rows, and what changed between two models."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB

import linearly as ly
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.ridge_cv import RidgePath
from linearly.dataset.rows.block import Block, as_rows
from linearly.dataset.rows.views import MappedRows
from linearly.evaluation.cross_validate import fit_folds
from linearly.evaluation.folds import Folds

REGRESSORS = [ly.LinearRegression(), ly.LinearRegression(3.0), ly.LinearRegression(covariance="HC1"), ly.RidgeCV()]
CLASSIFIERS = [
    ly.LinearDiscriminantAnalysis(),
    ly.QuadraticDiscriminantAnalysis(),
    ly.LeastSquaresClassifier(),
    ly.LogisticRegression(alpha=0.5),
    ly.AveragedPerceptron(),
    ly.BatchPerceptron(max_passes=20),
]


def fold_of_rows(n, K, codes=None):
    """Return the fold of each of n rows; `codes` are their classes."""
    folds, block = Folds(K), Block(np.zeros((n, 1)), codes)
    if codes is not None:
        folds = folds.stratified(as_rows(block.X, codes), int(codes.max()) + 1)
    return folds.of(block)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=str)
def test_regression_folds_are_those_of_separate_fits(estimator):
    X, y = load_diabetes(return_X_y=True)
    table = ly.cross_validate(estimator, X, y, folds=4)
    for j in range(4):
        out = fold_of_rows(len(y), 4) == j
        predicted = type(estimator)(**estimator.get_params()).fit(X[~out], y[~out]).predict(X[out])
        assert table["rows"][j] == out.sum()
        assert table["mse"][j] == pytest.approx(((y[out] - predicted) ** 2).mean(), rel=1e-9)
        assert table["r_squared"][j] == pytest.approx(1 - table["mse"][j] / y.var(), rel=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_classification_folds_are_those_of_separate_fits(estimator):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    table = ly.cross_validate(estimator, X, labels, folds=3)
    for j in range(3):
        out = fold_of_rows(len(y), 3, y) == j
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


def test_summary_models_take_one_pass_for_all_folds_and_one_for_the_scores():
    X, y = load_iris(return_X_y=True)
    passes = []

    def seen(block):
        passes.append(block.start)
        return block

    rows = MappedRows(as_rows(X, X[:, 0] + y), seen)
    ly.cross_validate(ly.LinearRegression(), rows, folds=5)
    assert len(passes) == 2 + 1  # and the first block alone, for the unit of the targets


def test_weights_count_in_the_scores():
    X, y = load_diabetes(return_X_y=True)
    w = np.arange(len(y)) % 3 + 0.0
    table = ly.cross_validate(ly.LinearRegression(), X, y, sample_weight=w, folds=2)
    out = fold_of_rows(len(y), 2) == 0
    model = ly.LinearRegression().fit(X[~out], y[~out], w[~out])
    error = (y - model.predict(X)) ** 2
    assert table["mse"][0] == pytest.approx(np.average(error[out], weights=w[out]), rel=1e-9)
    assert table["rows"][0] == np.count_nonzero(w[out])


@pytest.mark.parametrize("folds", [1, 2.5, "5"])
def test_folds_below_2_or_not_integer_raise(folds):
    with pytest.raises(ValueError, match="folds must be an integer of at least 2"):
        ly.cross_validate(ly.LinearRegression(), [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0], folds=folds)


def test_cross_validate_refuses_other_estimators_and_targets():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="accepts only one target, but y has 2"):
        ly.cross_validate(ly.LinearRegression(), X[:, :2], X[:, 2:])
    with pytest.raises(ValueError, match="level must be between 0 and 1, not 95"):
        ly.cross_validate(ly.LinearRegression(), X, y, level=95)
    with pytest.raises(TypeError, match="linearly models, not GaussianNB"):
        ly.cross_validate(GaussianNB(), X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_empty_fold_is_refused():
    with pytest.raises(ValueError, match="leave one of 5 folds empty"):
        ly.cross_validate(ly.LinearRegression(), [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])


def test_folds_on_request_are_row_number_mod_k():
    X, y = load_diabetes(return_X_y=True)
    table = ly.cross_validate(ly.LinearRegression(), X, y, folds=4, shuffle=False)
    for j in range(4):
        out = np.arange(len(y)) % 4 == j
        predicted = ly.LinearRegression().fit(X[~out], y[~out]).predict(X[out])
        assert table["mse"][j] == pytest.approx(((y[out] - predicted) ** 2).mean(), rel=1e-9)


def test_periodic_rows_do_not_line_up_with_the_folds():
    """Five doses in turn and a curve through them: a fold of one dose must extrapolate or interpolate far."""
    rng = np.random.default_rng(0)
    dose = np.arange(500) % 5 - 2.0
    X = np.column_stack([dose, dose**2, dose**3])
    y = dose**4 + rng.standard_normal(500)
    by_number = fit_folds(ly.LinearRegression(), X, y, shuffle=False).scores().r_squared()
    hashed = fit_folds(ly.LinearRegression(), X, y).scores().r_squared()
    assert by_number.value < 0
    assert hashed.value == pytest.approx(ly.LinearRegression().fit(X, y).score(X, y), abs=0.01)
    assert hashed.value > 0.9


def test_random_state_gives_other_folds_and_the_same_ones_again():
    X, y = load_diabetes(return_X_y=True)
    first, again, other = (ly.cross_validate(ly.LinearRegression(), X, y, random_state=k)["mse"] for k in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    with pytest.raises(ValueError, match="random_state must be an integer from 0 to"):
        ly.cross_validate(ly.LinearRegression(), X, y, random_state=-1)


def test_pooled_r_squared_is_that_of_all_held_out_predictions():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 3))
    y = X[:, 0] + rng.standard_normal(20)
    folds, predicted, means = fold_of_rows(20, 5), np.empty(20), np.empty(20)
    for j in range(5):
        out = folds == j
        predicted[out] = ly.LinearRegression().fit(X[~out], y[~out]).predict(X[out])
        means[out] = y[~out].mean()
    scores = fit_folds(ly.LinearRegression(), X, y).scores()
    spread = ((y - y.mean()) ** 2).sum()
    assert scores.r_squared().value == pytest.approx(1 - ((y - predicted) ** 2).sum() / spread, rel=1e-10)
    assert scores.baseline() == pytest.approx(1 - ((y - means) ** 2).sum() / spread, rel=1e-10)
    assert scores.baseline() < 0
    table = scores.table(0.95)
    assert np.average(table["r_squared"], weights=table["rows"]) == pytest.approx(scores.r_squared().value)


def test_cross_validated_evaluation_is_that_of_all_held_out_predictions():
    X, y = load_breast_cancer(return_X_y=True)
    X, folds, p = X[:, :4], fold_of_rows(len(y), 5, y), np.empty(len(y))
    for j in range(5):
        out = folds == j
        p[out] = ly.LinearDiscriminantAnalysis().fit(X[~out], y[~out]).predict_proba(X[out])[:, 0]
    found = fit_folds(ly.LinearDiscriminantAnalysis(), X, y).evaluation()
    assert found.labels == (0, 1)  # 212 rows of 0, 357 of 1: the rarer label first
    assert found["accuracy"] == pytest.approx(((p > 0.5) == (y == 0)).mean())
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y == 0, p))
    assert found["log_loss"] == pytest.approx(log_loss(y == 0, p), rel=1e-6)
    assert "Cross-validated with 5 folds" in found.notes[-1]


@pytest.mark.parametrize("seed", range(5))
def test_a_ridge_path_without_penalty_has_the_smallest_norm(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 20)) @ rng.standard_normal((20, 60))
    y = rng.standard_normal((100, 1))
    B = RidgePath.of(Gram.of(Block(X, y)), False).coefficients(np.array([0.0]))[:, 0]
    np.testing.assert_allclose(B, np.linalg.lstsq(X, y, rcond=1e-10)[0], rtol=0, atol=1e-10)


def test_regression_folds_use_extended_precision_if_a_fit_would():
    x = np.linspace(100, 101, 200)
    X = np.column_stack([x, x**2, x**3])
    y = np.sin(9 * x) + 0.1 * np.cos(71 * x)
    table = ly.cross_validate(ly.LinearRegression(), X, y)
    for j, error in enumerate(table["mse"]):
        held = fold_of_rows(200, 5) == j
        m = ly.LinearRegression().fit(X[~held], y[~held])
        assert m.method_ == "extended"
        assert error == pytest.approx(np.mean((y[held] - m.predict(X[held])) ** 2), rel=1e-8)


def test_class_folds_use_extended_precision_if_a_fit_would():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 3)) + y[:, None]
    X[:, 2] = X[:, 0] + 1e-4 * X[:, 2]
    table = ly.cross_validate(ly.LinearDiscriminantAnalysis(), X, y)
    for j, accuracy in enumerate(table["accuracy"]):
        held = fold_of_rows(300, 5, y) == j
        m = ly.LinearDiscriminantAnalysis().fit(X[~held], y[~held])
        assert m.n_passes_ == 2
        assert accuracy == m.score(X[held], y[held])


@pytest.mark.parametrize(("target", "model"), [("y", "linear"), ("kind", "lda"), ("kind", "logistic")])
def test_cross_validate_accepts_a_model_of_fit(target, model):
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
    with pytest.raises(ValueError, match=r"Call cross_validate\(model, data\)"):
        ly.cross_validate(fitted, data, data[target])
