"""`RidgeCV(cv="loo")` against fits that truly leave each row out, also where there are fewer rows than columns or these
are of any size."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import linearly as ly

ALPHAS = (0.0, 1e-16, 1e-10, 1e-3, 1.0, 1e5)


def left_out(X, y, w, alpha, intercept):
    """The mean squared error of predicting each row from the others: n fits by the singular value decomposition."""
    total = 0.0
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        A, b, v = X[others], y[others], w[others]
        x_mean, y_mean = (v @ A / v.sum(), v @ b / v.sum()) if intercept else (np.zeros(X.shape[1]), 0.0)
        U, size, V = np.linalg.svd((A - x_mean) * np.sqrt(v)[:, None], full_matrices=False)
        shrunk = np.divide(size, size**2 + alpha, out=np.zeros_like(size), where=size > 1e-12 * size[0])
        coef = V.T @ (shrunk * (U.T @ ((b - y_mean) * np.sqrt(v))))
        total += w[i] * (y[i] - y_mean - (X[i] - x_mean) @ coef) ** 2
    return total / w.sum()


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), [(10, 50), (10, 10), (10, 9), (11, 10), (30, 4)])
def test_ridge_cv_loo_error_is_that_of_n_fits(n, p, intercept):
    rng = np.random.default_rng(n * p)
    X, w = rng.normal(size=(n, p)) + 3, rng.uniform(0.5, 2, n)
    y = X[:, 0] + rng.normal(size=n)
    model = ly.RidgeCV(ALPHAS, cv="loo", fit_intercept=intercept).fit(X, y, sample_weight=w)
    truth = [left_out(X, y, w, alpha, intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(model.cv_errors_, truth, rtol=1e-7)
    assert model.alpha_ == ALPHAS[int(np.argmin(truth))]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.parametrize("intercept", [True, False])
def test_loo_error_of_few_rows_with_a_repeated_row(intercept):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(6, 8)), rng.normal(size=6), np.ones(6)
    X[3] = X[2]
    model = ly.RidgeCV(ALPHAS, cv="loo", fit_intercept=intercept).fit(X, y)
    truth = [left_out(X, y, w, alpha, intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(model.cv_errors_, truth, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_loo_error_of_few_rows_far_from_zero():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-99, 99, size=(10, 20)) / 8.0, rng.normal(size=10)
    near = ly.RidgeCV(ALPHAS, cv="loo").fit(X, y).cv_errors_
    np.testing.assert_allclose(ly.RidgeCV(ALPHAS, cv="loo").fit(X + 2.0**30, y).cv_errors_, near, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_loo_error_of_constant_columns(value):
    model = ly.RidgeCV(ALPHAS, cv="loo").fit(np.full((3, 4), value), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.cv_errors_, 1.5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_loo_error_of_rows_with_leverage_one(intercept, weighted):
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(40, 2)), np.eye(40)[:, :10]])
    y, w = 100 * rng.normal(size=40), rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
    model = ly.RidgeCV(ALPHAS, cv="loo", fit_intercept=intercept).fit(X, y, sample_weight=w)
    truth = [left_out(X, y, w, alpha, intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(model.cv_errors_, truth, rtol=1e-7)


def test_loo_error_of_a_row_far_from_the_others():
    rng = np.random.default_rng(0)
    x, y, w = np.r_[rng.normal(size=29), 1e5], rng.normal(size=30), np.ones(30)
    model = ly.RidgeCV([0.0], cv="loo").fit(x[:, None], y)  # leverage 1 − 3e-9, and the slope does not hang on it alone
    assert model.cv_errors_[0] == pytest.approx(left_out(x[:, None], y, w, 0.0, True), rel=1e-5)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning", "ignore:Only about:linearly.PrecisionWarning")
@pytest.mark.parametrize("n", [6, 40])
@pytest.mark.parametrize("exponent", [-900, -600, 500, 600, 900])
@pytest.mark.parametrize("cv", [KFold(3), "loo"])  # three folds by number would have other rows, with other values
def test_cv_error_does_not_depend_on_the_unit_of_columns(n, exponent, cv):
    rng = np.random.default_rng(0)
    X, size = rng.normal(size=(n, 8)), 2.0**exponent
    y = X[:, 0] + rng.normal(size=n)
    alphas = np.array([0.0, 1.0])
    if abs(exponent) == 500:
        alphas[1] = size * size
    near, far = ly.RidgeCV([0.0, 1.0], cv=cv).fit(X, y), ly.RidgeCV(alphas, cv=cv).fit(X * size, y)
    assert np.isfinite(far.cv_errors_).all()
    assert far.cv_errors_[0] == pytest.approx(near.cv_errors_[0], rel=1e-6)
    if abs(exponent) == 500:
        assert far.cv_errors_[1] == pytest.approx(near.cv_errors_[1], rel=1e-9)
        np.testing.assert_allclose(far.coef_ * size, near.coef_, rtol=1e-9)


@pytest.mark.parametrize(("size", "message"), [(1e200, "large .* Divide X"), (1e-200, "small .* Multiply X")])
def test_penalties_beyond_float64_raise(size, message):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    X[:, 1] *= 1e3
    with pytest.raises(ValueError, match=f"Column 'x1' is so {message}"):
        ly.RidgeCV().fit(X * size, y)


@pytest.mark.parametrize("cv", [5, "loo"])
def test_precision_warning_of_ridge_cv_names_an_available_remedy(cv):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    X = np.hstack([x, x + 1e-6 * rng.normal(size=(60, 1))])
    with pytest.warns(ly.PrecisionWarning, match="Use larger alphas or fewer columns for more digits") as told:
        ly.RidgeCV([0.0], cv=cv).fit(X, x[:, 0] + rng.normal(size=60))
    assert "extended" not in str(told[0].message)


@pytest.mark.parametrize("cv", [5, "loo"])
def test_cv_errors_beyond_float64_raise(cv):
    rng = np.random.default_rng(0)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"No penalty has a finite .* Rescale y"),
    ):
        ly.RidgeCV([1.0], cv=cv).fit(rng.normal(size=(30, 2)), rng.normal(size=30) * 1e200)
