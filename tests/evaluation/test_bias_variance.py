"""Bias and variance: the decomposition as a theorem, measured and exact."""

import doctest
import sys

import matplotlib as mpl
import numpy as np
import pytest

import linearly
import linearly.evaluation.bias_variance as module
from linearly.algorithm.least_squares.polynomial_families import _solve
from linearly.evaluation.bias_variance import bias_variance

mpl.use("Agg")

SIGMA = 0.3
X = np.linspace(0, 1, 30)
DEGREES = range(9)


def wave(x):
    return np.sin(6 * x)


@pytest.fixture(scope="module")
def known():
    return bias_variance(X, truth=wave, noise=SIGMA, degrees=DEGREES, resamples=2000, random_state=0)


def hat(degree):
    Q, _ = np.linalg.qr(np.vander(2 * X - 1, degree + 1))
    return Q @ Q.T


def test_expected_prediction_error_is_noise_and_bias2_and_variance(known):
    table = known.table
    total = table["noise"] + table["bias2"] + table["variance"]
    # epe is measured on 60 000 fresh errors of mean square s: its standard error is about s · √(2 / 60 000).
    np.testing.assert_allclose(table["epe"], total, rtol=4 * np.sqrt(2 / 60_000))


def test_bias_noise_and_variance_agree_with_linear_algebra(known):
    for i, degree in enumerate(DEGREES):
        H = hat(degree)
        bias2 = np.mean((H @ wave(X) - wave(X)) ** 2)
        np.testing.assert_allclose(known.table["bias2"][i], bias2, atol=4 * SIGMA * np.sqrt(bias2 / 2000 / 30) + 2e-5)
        np.testing.assert_allclose(known.table["variance"][i], SIGMA**2 * (degree + 1) / 30, rtol=0.06)
        training = SIGMA**2 * (1 - (degree + 1) / 30) + bias2
        np.testing.assert_allclose(known.table["train_error"][i], training, rtol=0.02)


def test_other_software_measures_the_same_error(known):
    rng = np.random.default_rng(1)
    for i, degree in enumerate(DEGREES):
        errors = []
        for _ in range(500):
            coef = np.polyfit(X, wave(X) + SIGMA * rng.normal(size=30), degree)
            errors.append(np.mean((wave(X) + SIGMA * rng.normal(size=30) - np.polyval(coef, X)) ** 2))
        error = np.std(errors) / np.sqrt(500)
        assert known.table["epe"][i] == pytest.approx(np.mean(errors), abs=5 * error)


def test_complexity_trades_bias_for_variance(known):
    assert (np.diff(known.table["variance"]) > 0).all()
    assert (np.diff(known.table["bias2"]) < 1e-5).all()
    assert (np.diff(known.table["train_error"]) < 0).all()
    assert known.best in (3, 5)
    assert known.complexity == "degree"


def test_the_right_degree_has_no_bias():
    result = bias_variance(X, truth=lambda x: 1 - x + 4 * x**3, noise=0.1, degrees=[2, 3, 4], random_state=0)
    assert result.table["bias2"][0] > 1e-3
    assert (result.table["bias2"][1:] < 1e-5).all()
    assert result.best == 3
    silent = bias_variance(X, truth=lambda x: 1 - x, noise=0.0, degrees=[0, 1], random_state=0)
    assert silent.table["epe"][1] == pytest.approx(0.0, abs=1e-20)
    assert silent.table["variance"].tolist() == pytest.approx([0.0, 0.0], abs=1e-15)


def test_bias_variance_at_other_points_than_the_rows():
    inside = bias_variance(X, truth=wave, noise=SIGMA, degrees=[5], at=[0.4, 0.5, 0.6], random_state=0)
    outside = bias_variance(X, truth=wave, noise=SIGMA, degrees=[5], at=[1.2], random_state=0)
    assert outside.table["epe"][0] > 10 * inside.table["epe"][0]
    total = outside.table["noise"] + outside.table["bias2"] + outside.table["variance"]
    np.testing.assert_allclose(outside.table["epe"], total, rtol=0.3)


def test_ridge_shrinks_variance_and_adds_bias():
    rng = np.random.default_rng(2)
    features = rng.normal(size=(40, 15))
    beta = rng.normal(size=15)
    alphas = [0.0, 1.0, 10.0, 100.0, 1000.0]
    result = bias_variance(features, truth=lambda Z: Z @ beta, noise=2.0, alphas=alphas, resamples=1000, random_state=0)
    table = result.table
    assert (np.diff(table["variance"]) < 0).all()
    assert (np.diff(table["bias2"]) > 0).all()
    np.testing.assert_allclose(table["epe"], table["noise"] + table["bias2"] + table["variance"], rtol=0.05)
    # Least squares: variance σ² (p + 1) / n. Ridge: exactly, from the singular values of the centred features.
    np.testing.assert_allclose(table["variance"][0], 4 * 16 / 40, rtol=0.05)
    d2 = np.linalg.svd(features - features.mean(axis=0), compute_uv=False) ** 2
    expected = [4 * (1 + ((d2 / (d2 + alpha)) ** 2).sum()) / 40 for alpha in alphas]
    np.testing.assert_allclose(table["variance"], expected, rtol=0.06)
    assert result.complexity == "alpha"
    assert result.best in alphas


def test_bias_variance_of_data_estimates_variance_and_error():
    rng = np.random.default_rng(3)
    x = rng.random(600)
    y = wave(x) + SIGMA * rng.normal(size=600)
    result = bias_variance(x, y, degrees=range(7), noise=SIGMA, random_state=0)
    table = result.table
    truth = [np.mean((np.polyval(np.polyfit(x, wave(x), d), x) - wave(x)) ** 2) for d in range(7)]
    np.testing.assert_allclose(table["bias2"], truth, rtol=0.1, atol=0.1 * SIGMA**2)
    np.testing.assert_allclose(table["variance"][3:], SIGMA**2 * np.arange(4, 8) / 600, rtol=0.35)
    np.testing.assert_allclose(table["epe"], table["noise"] + table["bias2"] + table["variance"], rtol=1e-12)
    # Leave-one-out is what epe estimates.
    for i, degree in enumerate(range(7)):
        Q, _ = np.linalg.qr(np.vander(2 * x - 1, degree + 1))
        loo = np.mean(((y - Q @ (Q.T @ y)) / (1 - (Q**2).sum(axis=1))) ** 2)
        assert table["epe"][i] == pytest.approx(loo, rel=0.01)


def test_bias_variance_estimates_unknown_noise_with_a_note():
    rng = np.random.default_rng(4)
    x = rng.random(300)
    y = wave(x) + SIGMA * rng.normal(size=300)
    result = bias_variance(x, y, random_state=0)
    assert result.table["degree"].tolist() == list(range(11))
    residual = y - np.polyval(np.polyfit(x, y, 10), x)
    np.testing.assert_allclose(result.table["noise"], residual @ residual / (300 - 11), rtol=1e-8)
    assert "the residual variance of degree 10" in str(result)
    ridge = bias_variance(x, y, alphas=[0.1, 1.0, 100.0], degree=8, random_state=0)
    assert "noise is estimated by the residual variance of alpha 0.1" in str(ridge)
    assert ridge.table["bias2"][2] > ridge.table["bias2"][0]


def test_few_rows_and_high_degrees_do_not_fail():
    x = np.arange(8.0)
    result = bias_variance(x, np.sin(x), degrees=range(8), resamples=50, random_state=0)
    assert np.isfinite(result.table["epe"]).all()


def test_polynomial_fit_does_not_depend_on_the_origin_of_x():
    near = bias_variance(X, truth=wave, noise=SIGMA, degrees=[3, 8], random_state=0).table
    far = bias_variance(
        1e6 + 1e-3 * X, truth=lambda x: wave(1e3 * (x - 1e6)), noise=SIGMA, degrees=[3, 8], random_state=0
    )
    np.testing.assert_allclose(far.table["epe"], near["epe"], rtol=1e-5)


def test_bias_variance_repeats_with_the_same_seed():
    one, same, other = (bias_variance(X, truth=wave, noise=1.0, random_state=seed).table["epe"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()
    y = wave(X)
    first, again = (bias_variance(X, y, degrees=[2], random_state=5).table["epe"] for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either y"),
        ({"y": X, "truth": wave}, "either y"),
        ({"truth": wave}, "Pass noise="),
        ({"truth": wave, "noise": -1.0}, "noise must be a standard deviation"),
        ({"truth": wave, "noise": np.nan}, "noise must be a standard deviation"),
        ({"truth": lambda x: 1.0, "noise": 1.0}, "y must have one number per row .30 rows"),
        ({"y": np.where(X > 0.5, np.nan, X)}, "y contains nan in row 15"),
        ({"y": X, "degrees": [1], "alphas": [1.0]}, "cannot be combined"),
        ({"y": X, "degrees": []}, "degrees must be one or more integers"),
        ({"y": X, "degrees": [1.5]}, "degrees must be one or more integers"),
        ({"y": X, "degrees": [30]}, "Degree 30 needs more than 30 different values of x, but there are 30"),
        ({"y": X, "alphas": [-1.0]}, "alphas must be one or more numbers of at least 0"),
        ({"y": X, "alphas": [1.0], "degree": 0}, "degree must be an integer of at least 1"),
        ({"y": X, "resamples": 5}, "resamples must be an integer of at least 20"),
        ({"y": X, "at": X}, "at= requires truth="),
        ({"x": np.where(X > 0.5, np.inf, X), "y": X}, "x contains NaN or infinity in row 15"),
        ({"x": np.zeros((30, 2)), "y": X}, "x has 2 columns, but a polynomial requires one"),
        ({"x": [1.0], "y": [1.0]}, "at least three rows"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bias_variance(**({"x": X} | arguments))


def test_plot(known):
    axes = known.plot()
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    np.testing.assert_array_equal(lines["bias²"], known.table["bias2"])
    assert {"expected prediction error", "training error", "variance", "noise"} <= set(lines)
    assert axes.get_xlabel() == "polynomial degree"
    for alphas, scale in (([0.1, 1.0, 10.0], "log"), ([0.0, 1.0, 10.0], "symlog")):
        ridge = bias_variance(X[:, None], truth=wave, noise=1.0, alphas=alphas, degree=5, random_state=0)
        other = mpl.figure.Figure().subplots()
        assert ridge.plot(other) is other
        assert other.get_xscale() == scale
        assert other.xaxis_inverted()
    mpl.pyplot.close("all")


def test_plot_without_matplotlib_says_what_to_do(known, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        known.plot()


def test_bias_variance_prints_its_table(known):
    assert str(known).splitlines()[0].split() == ["degree", "noise", "bias2", "variance", "epe", "train_error"]
    assert repr(known) == str(known)
    assert "<table>" in known._repr_html_()


def test_docstring_example(monkeypatch):
    monkeypatch.setattr(linearly, "bias_variance", bias_variance, raising=False)
    assert doctest.testmod(module) == (0, 4)


def test_a_singular_resample_has_the_solution_of_smallest_norm():
    S, C = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-14]]), np.array([2.0, 2.0 + 1e-12])
    np.testing.assert_allclose(_solve(S, C), [1.0, 1.0], rtol=1e-9)
    np.testing.assert_allclose(_solve(np.diag([1.0, 1e-20]), np.array([3.0, 2e-20])), [3.0, 2.0], rtol=1e-12)


@pytest.mark.parametrize("x", [np.zeros((4, 2, 2)), [1.0, 2.0]])
def test_x_is_a_column_or_a_matrix_of_three_rows(x):
    with pytest.raises(ValueError, match="at least three rows"):
        bias_variance(x, np.arange(len(x)), degrees=[1])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_bias_variance_of_few_rows_and_high_degrees_adds_up_to_the_error(seed):
    rng = np.random.default_rng(seed)
    x = rng.random(40)
    table = bias_variance(x, wave(x) + SIGMA * rng.normal(size=40), noise=SIGMA, resamples=2000, random_state=0).table
    np.testing.assert_allclose(table["epe"], table["noise"] + table["bias2"] + table["variance"], rtol=1e-12)
    # The variance of least squares at the rows, not that of samples of rows that extrapolate.
    np.testing.assert_allclose(table["variance"], SIGMA**2 * np.arange(1, 12) / 40, rtol=0.15)
