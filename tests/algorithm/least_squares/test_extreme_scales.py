"""Hostile scales: twelve digits against exact rational arithmetic, or a warning that says so by name."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from linearly.dataset.rows import block as rows_module
from linearly.exceptions import PrecisionWarning
from linearly.models.linear_regression import LinearRegression
from linearly.selftest.extreme import HOSTILE, WEIGHT, N, X, Y
from linearly.selftest.rationals import digits, least_squares, square_root, worst_digits

RNG = np.random.default_rng(23)
METHODS = ("auto", "gram", "qr", "extended")


def fitted(model, X, y, **more):
    """The model and the names of the warnings it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **more)
    return model, {w.category for w in caught}


def assert_right_or_said(model, warned, expected, at_least=12):
    """Coefficients and standard errors to `at_least` digits, or a warning by name; no other kind of warning."""
    assert warned <= {PrecisionWarning, np.exceptions.RankWarning}
    coef = np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_
    right = worst_digits(coef, expected.coef)
    if not warned:
        assert right >= at_least, f"coefficients: {right:.1f} digits, claimed {model.solution_.digits:.1f}"
        right_error = worst_digits(model.std_errors()[:, 0], expected.std_error)
        assert right_error >= at_least - 1, f"standard errors: {right_error:.1f} digits"
    claimed = model.solution_.digits
    assert claimed <= right + 1 or warned, f"claimed {claimed:.1f} digits, {right:.1f} are right"


def least_squares_of(name, **how):
    X, y = HOSTILE[name]
    return least_squares(np.asarray(X, dtype=np.float64), y, **how)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("method", METHODS)
def test_fit_of_hostile_columns_is_accurate_or_warns(name, method):
    model, warned = fitted(LinearRegression(method=method), *HOSTILE[name])
    expected = least_squares_of(name)
    if method == "extended":
        assert PrecisionWarning not in warned
    assert_right_or_said(model, warned, expected)


VARIED = ["tame", "offset 1e9", "offset -1e12, y with it", "x · 1e-150", "x · 1e300 and 1e-300", "x · 1e8 beside 1e-8"]


@pytest.mark.parametrize("name", VARIED)
@pytest.mark.parametrize("method", METHODS)
class TestVariants:
    def test_without_intercept(self, name, method):
        model, warned = fitted(LinearRegression(method=method, fit_intercept=False), *HOSTILE[name])
        assert_right_or_said(model, warned, least_squares_of(name, intercept=False))

    def test_weighted(self, name, method):
        model, warned = fitted(LinearRegression(method=method), *HOSTILE[name], sample_weight=WEIGHT)
        assert_right_or_said(model, warned, least_squares_of(name, weight=WEIGHT))

    def test_ridge(self, name, method):
        X, y = HOSTILE[name]
        model, warned = fitted(LinearRegression(alpha=0.7, method=method), X, y)
        expected = least_squares(X, y, alpha=0.7)
        assert warned <= {PrecisionWarning}
        right = worst_digits(np.append(model.intercept_, model.coef_), expected.coef)
        assert right >= 12 or warned, f"{right:.1f} digits"


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e300, 1e-300])
@pytest.mark.parametrize("alpha", [1e-300, 1.0, 1e300])
def test_ridge_does_not_depend_on_scale(scale, alpha):
    model, warned = fitted(LinearRegression(alpha=alpha), X * scale, Y)
    expected = least_squares(X * scale, Y, alpha=alpha)
    assert warned <= {PrecisionWarning, np.exceptions.RankWarning}
    coef = np.append(model.intercept_, model.coef_)
    smallest = Fraction(np.finfo(float).smallest_normal)  # a coefficient below this is no float64
    right = min(digits(c, e) for c, e in zip(coef, expected.coef, strict=True) if abs(e) > smallest or c != 0)
    assert right >= 12 or warned, f"{right:.1f} digits"


@pytest.mark.parametrize("factor", [1e-90, 1e-10, 1e10, 1e90])
def test_fit_does_not_depend_on_the_scale_of_weights(factor):
    model, warned = fitted(LinearRegression(), X, Y, sample_weight=WEIGHT * factor)
    assert not warned
    assert_right_or_said(model, warned, least_squares(X, Y, WEIGHT))  # analytic weights have no unit


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_weights_whose_squares_leave_float64_raise(factor):
    with pytest.raises(ValueError, match=r"sample_weight is .* in row 0.* Divide all weights by one constant"):
        LinearRegression().fit(X, Y, sample_weight=WEIGHT * factor)


def test_rows_of_weight_zero_with_extreme_numbers_are_ignored():
    weight = np.where(np.arange(N) < 3, 0.0, WEIGHT)
    wild = X.copy()
    wild[:3] = [[1e300, -1e300, 1e-300], [1e200, 0, 0], [0, 1e250, 1]]
    for method in METHODS:
        model, warned = fitted(LinearRegression(method=method), wild, Y, sample_weight=weight)
        assert_right_or_said(model, warned, least_squares(X[3:], Y[3:], WEIGHT[3:]))
        assert not warned


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nonfinite_number_in_a_row_of_weight_zero_raises(bad):
    holed = X.copy()
    holed[2, 1] = bad
    for method in METHODS:
        with pytest.raises(ValueError, match="row 2, column 'x1'"):
            LinearRegression(method=method).fit(holed, Y, sample_weight=np.where(np.arange(N) == 2, 0.0, WEIGHT))


# --- rows of other kinds --------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150, 1e300, 1e-300])
def test_fit_of_sparse_columns_at_extreme_scales(method, scale):
    sparse = np.where(RNG.random((N, 3)) < 0.4, X, 0.0) * scale
    model, warned = fitted(LinearRegression(method=method), sp.csr_matrix(sparse), Y)
    assert_right_or_said(model, warned, least_squares(sparse, Y))


def test_fit_of_sparse_columns_with_an_offset():
    model, warned = fitted(LinearRegression(), sp.csr_matrix(X + 1e9), Y)
    assert_right_or_said(model, warned, least_squares(X + 1e9, Y))


@pytest.mark.parametrize("name", HOSTILE)
def test_fit_in_many_blocks_is_accurate_or_warns(name, monkeypatch):
    monkeypatch.setattr(rows_module, "rows_in_block", lambda p: 7)
    model, warned = fitted(LinearRegression(), *HOSTILE[name])
    assert_right_or_said(model, warned, least_squares_of(name))


SHARES = {  # of a squared residual at leverage h
    "HC0": lambda h: 1,
    "HC1": lambda h: Fraction(N, N - 4),
    "HC2": lambda h: 1 / (1 - h),
    "HC3": lambda h: 1 / (1 - h) ** 2,
}


def product(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True))


def with_ones(Z):
    return [[Fraction(1), *map(Fraction, row)] for row in np.asarray(Z, dtype=float).tolist()]


@pytest.mark.parametrize("covariance", SHARES)
@pytest.mark.parametrize("name", [name for name in HOSTILE if name.startswith(("offset 1e", "x · 1e"))])
def test_robust_covariances_at_extreme_scales(name, covariance):
    """White's covariance does not care where a column is measured from or in which unit."""
    Z, y = HOSTILE[name]
    model, warned = fitted(LinearRegression(covariance=covariance), Z, y)
    exact, rows = least_squares_of(name), with_ones(Z)
    reach = [[product(row, column) for column in exact.inverse] for row in rows]  # rows of X (X'X)⁻¹
    residual = [Fraction(t) - product(row, exact.coef) for row, t in zip(rows, y.tolist(), strict=True)]
    share = [SHARES[covariance](product(row, u)) for row, u in zip(rows, reach, strict=True)]
    scores = [s * r * r for s, r in zip(share, residual, strict=True)]
    variance = [sum(s * u[j] ** 2 for s, u in zip(scores, reach, strict=True)) for j in range(4)]
    right = worst_digits(model.std_errors()[:, 0], list(map(square_root, variance)))
    assert right >= 11 or warned, f"{right:.1f} digits"


@pytest.mark.parametrize("name", [name for name in HOSTILE if "offset" in name])
def test_predictions_keep_the_digits_of_the_spread(name):
    """Far from zero ŷ = b + x'w is a small difference of large numbers; it may not cost the digits of the fit."""
    Z, y = HOSTILE[name]
    model, warned = fitted(LinearRegression(), Z, y)
    exact = least_squares_of(name)
    expected = [product(row, exact.coef) for row in with_ones(Z)]
    error = max(abs(Fraction(float(f)) - e) for f, e in zip(model.predict(Z), expected, strict=True))
    scale = max(np.ptp(y), np.spacing(np.abs(y).max()) * 1e12)
    assert float(error) <= 1e-11 * scale or warned, f"error {float(error):.1e} where y spreads over {np.ptp(y):.1e}"


# --- what leaves float64 --------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-170, 1e300])
def test_squares_of_y_that_leave_float64_warn(scale):
    """The coefficients are right; the sums of squares are no float64, so the standard errors cannot be known."""
    model, warned = fitted(LinearRegression(), X, Y * scale)
    expected = least_squares(X, Y * scale)
    assert worst_digits(np.append(model.intercept_, model.coef_), expected.coef) >= 12
    assert warned <= {PrecisionWarning}
    assert warned or worst_digits(model.std_errors()[:, 0], expected.std_error) >= 11
