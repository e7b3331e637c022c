"""Rows and weights that are not those of the fit are refused where figures of others would mean nothing."""

import numpy as np
import pandas as pd
import pytest
from least_squares_oracles import fractions, solved

import linearly as ly

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
WEIGHT = RNG.integers(1, 6, 80).astype(float)
Y = X @ [1.0, -0.5] + RNG.normal(size=80)
LABELS = (X[:, 0] + RNG.logistic(size=80) > 0).astype(int)

LINEAR = (ly.augment, ly.residual_tests)
LOGISTIC = (ly.augment, ly.likelihood_ratio_tests, ly.profile_intervals)
ASKS = [(ask, ly.LinearRegression, Y) for ask in LINEAR] + [(ask, ly.LogisticRegression, LABELS) for ask in LOGISTIC]
each = pytest.mark.parametrize(("ask", "estimator", "y"), ASKS)


@each
def test_rows_without_the_weights_of_the_fit_raise(ask, estimator, y):
    model = estimator().fit(X, y, sample_weight=WEIGHT)
    with pytest.raises(
        ValueError,
        match=rf"{ask.__name__} requires the rows of the fit.* have no weights.*Pass sample",
    ):
        ask(model, X, y)
    ask(model, X, y, sample_weight=WEIGHT)


@each
def test_weights_that_a_fit_did_not_have_are_refused(ask, estimator, y):
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match=r"X has other rows.*weigh"):
        ask(model, X, y, sample_weight=WEIGHT)


@each
def test_weights_in_another_order_are_refused(ask, estimator, y):
    model = estimator().fit(X, y, sample_weight=WEIGHT)
    swapped = WEIGHT.copy()
    same = np.flatnonzero(y == y[0]) if estimator is ly.LogisticRegression else np.arange(80)
    swapped[same] = np.roll(swapped[same], 1)  # no sum of weights tells them apart
    with pytest.raises(ValueError, match=r"X has other rows.*(likelihood|residual)"):
        ask(model, X, y, sample_weight=swapped)


@each
def test_half_the_rows_are_refused_by_their_number(ask, estimator, y):
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match=r"40 rows have positive weight, but the fit had 80\. Pass the rows"):
        ask(model, X[:40], y[:40])


@each
def test_as_many_other_rows_are_refused_by_how_they_fit(ask, estimator, y):
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match=r"X has other rows.*(likelihood|residual|leverages)"):
        ask(model, X[::-1], y)
    with pytest.raises(ValueError, match="X has other rows"):
        ask(model, X * 1.01, y)


@each
def test_rows_in_another_order_container_or_with_absent_ones_are_those_of_the_fit(ask, estimator, y):
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = estimator().fit(frame, y, sample_weight=WEIGHT)
    ask(model, frame[::-1], y[::-1], sample_weight=WEIGHT[::-1])
    more = pd.concat([frame, frame[:5]])
    ask(model, more, np.append(y, y[:5]), sample_weight=np.append(WEIGHT, np.zeros(5)))


@pytest.mark.filterwarnings("ignore:Only about:linearly.PrecisionWarning")
@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("size", [1e-120, 1.0, 1e120])
@pytest.mark.parametrize("method", ["gram", "qr", "extended"])
def test_rows_of_the_fit_are_recognized_at_any_scale_and_offset(method, size, far):
    data, y = X * size + far * size, Y * size
    ly.augment(ly.LinearRegression(method=method).fit(data, y), data, y)
    exact = data @ [1.0, 2.0]
    ly.augment(ly.LinearRegression(method=method).fit(data, exact), data, exact)


def test_a_sum_of_models_takes_the_rows_of_both():
    model = ly.LinearRegression().fit(X[:30], Y[:30]) + ly.LinearRegression().fit(X[30:], Y[30:])
    assert ly.augment(model, X, Y)["leverage"].sum() == pytest.approx(3)
    with pytest.raises(ValueError, match="30 rows have positive weight"):
        ly.augment(model, X[:30], Y[:30])


@pytest.mark.parametrize("model", [ly.LinearRegression(alpha=2.0), ly.RidgeCV()])
def test_rows_of_a_penalised_fit_are_recognized(model):
    model.fit(X, Y)
    ly.augment(model, X, Y)
    with pytest.raises(ValueError, match="X has other rows"):
        ly.augment(model, X, Y + X[:, 0])


@pytest.mark.parametrize("how", [{"alpha": 1.0}, {"bias_reduction": "firth"}, {"covariance": "HC0"}])
def test_rows_of_other_logistic_fits_are_recognized(how):
    model = ly.LogisticRegression(**how).fit(X, LABELS, sample_weight=WEIGHT)
    ly.augment(model, X, LABELS, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match="Pass sample_weight"):
        ly.augment(model, X, LABELS)


def test_resampled_residuals_are_those_of_the_fit():
    model = ly.LinearRegression().fit(X, Y)
    model.sample_coefficients(2, "residuals", X=X, y=Y, random_state=0)
    with pytest.raises(ValueError, match="sample_coefficients requires the rows of the fit"):
        model.sample_coefficients(2, "residuals", X=X[:40], y=Y[:40], random_state=0)


@pytest.mark.parametrize("plot", [ly.plot_residuals, ly.plot_qq, ly.plot_scale_location, ly.plot_leverage])
def test_plots_of_a_weighted_fit_take_its_weights(plot):
    model = ly.LinearRegression().fit(X, Y, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match="Pass sample_weight"):
        plot(model, X, Y)
    assert plot(model, X, Y, sample_weight=WEIGHT).collections is not None


def test_residuals_far_below_the_rounding_of_the_target_are_those_of_the_fit():
    far = 2.0**30 + np.arange(80.0) ** 2 / 64
    y = far / 3  # each value is rounded, and these roundings are the residuals
    model = ly.LinearRegression(method="extended").fit(far[:, None], y)
    D = fractions(np.column_stack([np.ones(80), far]))
    b = solved(D.T @ D, (D.T @ fractions(y))[:, None])[:, 0]
    wanted = (fractions(y) - D @ b).astype(float)

    found = ly.augment(model, far[:, None], y)["residual"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * abs(wanted).max())


def test_rows_of_an_extended_fit_of_nearly_equal_columns_are_recognized():
    data = np.column_stack([X, X[:, 0] + 1e-12 * X[:, 1] ** 2])
    with pytest.warns(ly.PrecisionWarning, match="digits of the standard errors"):
        model = ly.LinearRegression(method="extended").fit(data, Y)
    residual = ly.augment(model, data, Y)["residual"]
    assert residual @ residual == pytest.approx(model.solution_.rss[0], rel=1e-9)
