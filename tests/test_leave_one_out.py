"""`RidgeCV(cv="loo")` against fits that truly leave each row out, also where there are fewer rows than columns."""

import numpy as np
import pytest

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
def test_error_is_that_of_n_fits(n, p, intercept):
    rng = np.random.default_rng(n * p)
    X, w = rng.normal(size=(n, p)) + 3, rng.uniform(0.5, 2, n)
    y = X[:, 0] + rng.normal(size=n)
    model = ly.RidgeCV(ALPHAS, cv="loo", fit_intercept=intercept).fit(X, y, sample_weight=w)
    truth = [left_out(X, y, w, alpha, intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(model.cv_errors_, truth, rtol=1e-7)
    assert model.alpha_ == ALPHAS[int(np.argmin(truth))]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.parametrize("intercept", [True, False])
def test_few_rows_one_of_them_twice(intercept):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(6, 8)), rng.normal(size=6), np.ones(6)
    X[3] = X[2]
    model = ly.RidgeCV(ALPHAS, cv="loo", fit_intercept=intercept).fit(X, y)
    truth = [left_out(X, y, w, alpha, intercept) for alpha in ALPHAS]
    np.testing.assert_allclose(model.cv_errors_, truth, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_few_rows_far_from_zero():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-99, 99, size=(10, 20)) / 8.0, rng.normal(size=10)
    near = ly.RidgeCV(ALPHAS, cv="loo").fit(X, y).cv_errors_
    np.testing.assert_allclose(ly.RidgeCV(ALPHAS, cv="loo").fit(X + 2.0**30, y).cv_errors_, near, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_few_rows_that_say_nothing(value):
    model = ly.RidgeCV(ALPHAS, cv="loo").fit(np.full((3, 4), value), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.cv_errors_, 1.5)
