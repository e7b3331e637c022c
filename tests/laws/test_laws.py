"""Laws that every estimator obeys, theorems of least squares, and the kinds of rows and passes of each."""

import itertools
import re
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from estimators import KINDS, REGRESSION, CutRows, obeying
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import linearly as ly
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.rounding_bounds import MIN_DIGITS
from linearly.dataset.rows.block import as_rows
from linearly.models.linear_regression import LinearRegression
from linearly.models.ridge_cv import RidgeCV

METHODS = ("auto", "gram", "qr", "extended")

# A law is tried on every estimator in the table, so a few cases each are many; `--hypothesis-profile=long` tries more.
some = settings(max_examples=max(6, settings.default.max_examples // 8))


class unspoken(warnings.catch_warnings):
    """Rank, digits and convergence may be remarked on in here: what is tested is something else."""

    def __enter__(self):
        super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", np.exceptions.RankWarning)


@st.composite
def datasets(draw, targets=(1, 2), far=True):
    """X, y and weights: normal or whole numbers, more rows than columns, `far` from zero or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    p = draw(st.integers(1, 4))
    n = draw(st.integers(4 * p + 6, 60))
    X = rng.normal(size=(n, p)) if draw(st.booleans()) else rng.integers(-9, 10, size=(n, p)).astype(np.float64)
    X = X + draw(st.sampled_from([0.0, 2.0, 1000.0] if far else [0.0, 2.0]))
    k = draw(st.sampled_from(targets))
    y = X @ rng.normal(size=(p, k)) + rng.normal(size=(n, k))
    weight = rng.uniform(0.5, 2.0, size=n)
    assume(np.linalg.cond(X - X.mean(axis=0)) < 1e3)
    return X, y[:, 0] if k == 1 else y, weight


def fit(estimator, X, y, weight=None):
    """The fitted estimator; a Gram may doubt its digits and gradient descent its convergence, the others may not."""
    with unspoken() if getattr(estimator, "method", "") in ("gradient_descent", "gram") else nullcontext():
        return estimator.fit(X, y, sample_weight=weight)


def assert_same_model(a, b, X, tolerance, *, errors=False):
    """The same predictions at X on the scale of the predictions; with `errors` the same standard errors too."""
    expected = b.predict(X)
    scale = np.ptp(expected) + np.abs(expected).max()
    np.testing.assert_allclose(a.predict(X), expected, rtol=0, atol=tolerance * scale)
    spread = X.std(axis=0) + 1e-300
    size = np.abs(np.atleast_2d(b.coef_) * spread).max()
    difference = (np.atleast_2d(a.coef_) - np.atleast_2d(b.coef_)) * spread
    assert np.abs(difference).max() <= 10 * tolerance * max(size, scale)
    if errors and hasattr(b, "std_errors"):
        np.testing.assert_allclose(a.std_errors(), b.std_errors(), rtol=10 * tolerance)
        assert a.solution_.dof == pytest.approx(b.solution_.dof, rel=tolerance)
        assert a.solution_.n == b.solution_.n


def draw_for(data, entry):
    """A data set for an estimator: without a free intercept, columns far from zero are nearly dependent."""
    return data.draw(datasets(far="shift" in entry.laws))


def second_set(X, y, weight):
    """Other rows of about the same place and size."""
    X2 = 0.5 * X[::-1] + 0.5 * X.mean(axis=0) + 0.3 * X.std(axis=0)
    return X2, 0.7 * np.flip(y, axis=0) + 0.3 * y.mean(axis=0), weight[::-1].copy()


def cuts_of(data, n, most=6):
    return data.draw(st.lists(st.integers(0, n), max_size=most), label="cuts")


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", obeying("split"), ids=str)
@some
@given(st.data())
def test_split_anywhere(entry, data):
    X, y, weight = draw_for(data, entry)
    if "order" not in entry.laws and data.draw(st.booleans()):
        weight = None
    whole = fit(entry.make(), X, y, weight)
    parts = fit(entry.make(), CutRows(X, y, weight, cuts_of(data, len(X))), None)
    assert_same_model(parts, whole, X, entry.tolerance, errors=True)


@pytest.mark.parametrize("entry", obeying("stream"), ids=str)
@some
@given(st.data())
def test_one_batch_after_another(entry, data):
    X, y, weight = draw_for(data, entry)
    whole, stream = fit(entry.make(), X, y, weight), entry.make()
    edges = [0, *sorted(cuts_of(data, len(X))), len(X)]
    for start, stop in itertools.pairwise(edges):
        if start < stop:
            with unspoken():  # the first batches may be too few rows
                stream.partial_fit(X[start:stop], y[start:stop], sample_weight=weight[start:stop])
    assert_same_model(stream, whole, X, entry.tolerance, errors=True)


@pytest.mark.parametrize("entry", obeying("order"), ids=str)
@some
@given(st.data())
def test_order_of_rows_does_not_matter(entry, data):
    X, y, weight = draw_for(data, entry)
    order = np.array(data.draw(st.permutations(range(len(X)))))
    one, other = fit(entry.make(), X, y, weight), fit(entry.make(), X[order], y[order], weight[order])
    assert_same_model(other, one, X, entry.tolerance, errors=True)


@pytest.mark.parametrize("entry", obeying("duplicate"), ids=str)
@some
@given(st.data())
def test_a_duplicated_row_has_weight_two(entry, data):
    X, y, weight = draw_for(data, entry)
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))
    repeated = fit(entry.make(), np.repeat(X, times, axis=0), np.repeat(y, times, axis=0), np.repeat(weight, times))
    weighted = fit(entry.make(), X, y, weight * times)
    assert_same_model(repeated, weighted, X, entry.tolerance)


@pytest.mark.parametrize("entry", obeying("absent"), ids=str)
@some
@given(st.data())
def test_a_row_of_weight_zero_is_absent(entry, data):
    X, y, weight = draw_for(data, entry)
    extra = data.draw(st.integers(1, 8))
    at = np.array(sorted(data.draw(st.lists(st.integers(0, len(X)), min_size=extra, max_size=extra))))
    wild = data.draw(st.sampled_from([1.0, 1e6, 1e100]))
    more_X = np.insert(X, at, wild * (1 + np.arange(X.shape[1])), axis=0)
    more_y, more_weight = np.insert(y, at, -wild, axis=0), np.insert(weight, at, 0.0)
    with_them, without = fit(entry.make(), more_X, more_y, more_weight), fit(entry.make(), X, y, weight)
    assert_same_model(with_them, without, X, entry.tolerance, errors=True)


@pytest.mark.parametrize("entry", obeying("weight"), ids=str)
@some
@given(st.data())
def test_weights_have_no_unit(entry, data):
    X, y, weight = draw_for(data, entry)
    factor = data.draw(st.sampled_from([2.0**-20, 0.3, 7.0, 1e8]))
    one, other = fit(entry.make(), X, y, weight), fit(entry.make(), X, y, weight * factor)
    assert_same_model(other, one, X, entry.tolerance, errors=True)


@pytest.mark.parametrize("entry", obeying("scale"), ids=str)
@some
@given(st.data())
def test_columns_have_no_unit(entry, data):
    X, y, weight = draw_for(data, entry)
    powers = data.draw(st.lists(st.integers(-300, 300), min_size=X.shape[1], max_size=X.shape[1]))
    by_two = 2.0 ** np.array(powers)
    factor = np.array(data.draw(st.lists(st.floats(0.01, 100), min_size=X.shape[1], max_size=X.shape[1])))
    one = fit(entry.make(), X, y, weight)
    for scale, tolerance in ((by_two, entry.tolerance), (factor, entry.tolerance)):
        other = fit(entry.make(), X * scale, y, weight)
        np.testing.assert_allclose(other.predict(X * scale), one.predict(X), atol=tolerance * np.abs(y).max())
        first = int(one.fit_intercept)
        if hasattr(one, "std_errors"):
            np.testing.assert_allclose(other.std_errors()[first:] * scale[:, None], one.std_errors()[first:], rtol=1e-8)


@pytest.mark.parametrize("entry", obeying("shift"), ids=str)
@some
@given(st.data())
def test_columns_have_no_zero(entry, data):
    X, y, weight = draw_for(data, entry)
    shift = np.array(data.draw(st.lists(st.integers(-1000, 1000), min_size=X.shape[1], max_size=X.shape[1])))
    one, other = fit(entry.make(), X, y, weight), fit(entry.make(), X + shift, y, weight)
    scale = np.abs(y).max()
    np.testing.assert_allclose(other.predict(X + shift), one.predict(X), atol=10 * entry.tolerance * scale)
    if hasattr(one, "std_errors"):
        np.testing.assert_allclose(other.std_errors()[1:], one.std_errors()[1:], rtol=1e-8)


@pytest.mark.parametrize("entry", obeying("rotate"), ids=str)
@some
@given(st.data())
def test_rotating_the_features_leaves_predictions(entry, data):
    X, y, weight = draw_for(data, entry)
    p = X.shape[1]
    Q, _ = np.linalg.qr(np.random.default_rng(data.draw(st.integers(0, 2**32))).normal(size=(p, p)))
    one, other = fit(entry.make(), X, y, weight), fit(entry.make(), X @ Q, y, weight)
    scale = np.abs(y).max() + np.abs(X).max() * np.abs(one.coef_).max()
    np.testing.assert_allclose(other.predict(X @ Q), one.predict(X), atol=10 * entry.tolerance * scale)


@pytest.mark.parametrize("entry", obeying("merge"), ids=str)
@some
@given(st.data())
def test_a_plus_b_is_the_model_of_all_rows(entry, data):
    X, y, weight = draw_for(data, entry)
    X2, y2, weight2 = second_set(X, y, weight)
    a, b = fit(entry.make(), X, y, weight), fit(entry.make(), X2, y2, weight2)
    # "auto" may choose another method for one of them; the refusal has its own test.
    assume(type(a.summary_) is type(b.summary_) and a.method_ == b.method_)
    whole = fit(entry.make(), np.vstack([X, X2]), np.concatenate([y, y2]), np.concatenate([weight, weight2]))
    before = a.coef_.copy(), b.coef_.copy()
    with unspoken():
        both = a + b
    assert_same_model(both, whole, X, entry.tolerance, errors=True)
    assert both.summary_.n == 2 * len(X)
    np.testing.assert_array_equal(a.coef_, before[0])  # neither is changed
    np.testing.assert_array_equal(b.coef_, before[1])


@pytest.mark.parametrize("entry", obeying("unlearn"), ids=str)
@some
@given(st.data())
def test_a_plus_b_minus_b_is_a(entry, data):
    X, y, weight = draw_for(data, entry)
    X2, y2, weight2 = second_set(X, y, weight)
    a, b = fit(entry.make(), X, y, weight), fit(entry.make(), X2, y2, weight2)
    assume(a.method_ == b.method_)
    with unspoken():
        rest = (a + b) - b
    assert_same_model(rest, a, X, max(entry.tolerance, 1e-10), errors=True)


# --- every kind of rows ---------------------------------------------------------------------------

RNG = np.random.default_rng(8)
WHOLE = RNG.integers(-9, 10, size=(80, 4)).astype(np.float64)
WHOLE[RNG.random(WHOLE.shape) < 0.3] = 0.0
WHOLE_Y = WHOLE @ [1.0, 2.0, -1.0, 0.5] + RNG.normal(size=80)
WHOLE_WEIGHT = RNG.uniform(0.5, 2.0, size=80)


@pytest.mark.parametrize("entry", REGRESSION, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows_gives_the_same_model(entry, kind):
    expected = fit(entry.make(), WHOLE, WHOLE_Y, WHOLE_WEIGHT)
    X = KINDS[kind](WHOLE)
    if kind == "rows":
        model = fit(entry.make(), as_rows(WHOLE, WHOLE_Y, WHOLE_WEIGHT), None)
        assert_same_model(model, expected, WHOLE, 1e-12, errors=True)
        return
    model = fit(entry.make(), X, WHOLE_Y, WHOLE_WEIGHT)
    np.testing.assert_allclose(model.predict(X), expected.predict(WHOLE), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-11)
    if hasattr(model, "std_errors"):
        np.testing.assert_allclose(model.std_errors(), expected.std_errors(), rtol=1e-11)


@pytest.mark.parametrize("entry", REGRESSION, ids=str)
def test_targets_of_every_kind(entry):
    expected = fit(entry.make(), WHOLE, np.round(WHOLE_Y))
    import pandas as pd
    import polars as pl

    y = np.round(WHOLE_Y)
    for other in (y.astype(int), y.astype(np.float32), y.tolist(), pd.Series(y), pl.Series(y), np.repeat(y, 2)[::2]):
        np.testing.assert_allclose(fit(entry.make(), WHOLE, other).coef_, expected.coef_, rtol=1e-12)
    column = fit(entry.make(), WHOLE, y[:, None])
    assert column.coef_.shape == (1, 4)
    np.testing.assert_allclose(column.coef_[0], expected.coef_, rtol=1e-12)
    assert column.predict(WHOLE).shape == (80, 1)


# --- scikit-learn ---------------------------------------------------------------------------------


@parametrize_with_checks([e.make() for e in REGRESSION if not e.twin], expected_failed_checks=lambda _: {})
def test_scikit_learn(estimator, check):
    with unspoken():  # the checks fit few rows and dependent columns on purpose
        check(estimator)


# --- passes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", REGRESSION, ids=str)
def test_pass_budget(entry):
    rows = CutRows(WHOLE, WHOLE_Y, WHOLE_WEIGHT, cuts=(20, 50))
    model = fit(entry.make(), rows, None)
    assert rows.passes == entry.passes
    assert model.n_passes_ == entry.passes


def collinear(e):
    X = RNG.normal(size=(80, 3))
    X[:, 1] = X[:, 0] + e * X[:, 1]
    return X


@pytest.mark.parametrize(
    ("parameters", "X", "passes"),
    [
        ({}, WHOLE, 1),
        ({"covariance": "HC1"}, WHOLE, 2),
        ({"covariance": "HC2"}, WHOLE, 2),
        ({"method": "extended"}, WHOLE, 2),
        ({"method": "extended", "covariance": "HC3"}, WHOLE, 3),
        ({"method": "extended", "alpha": 1.0}, WHOLE, 1),
        ({"method": "qr"}, WHOLE, 1),
        ({"method": "gradient_descent"}, WHOLE, 1),
        ({}, collinear(1e-4), 2),  # Gram, then double-double
        ({}, collinear(1e-7), 2),
        ({}, collinear(1e-10), 3),  # and a pass of residuals
        ({"method": "gram"}, collinear(1e-4), 1),
        ({"method": "qr"}, collinear(1e-7), 1),
    ],
)
def test_passes_of_least_squares(parameters, X, passes):
    rows = CutRows(X, WHOLE_Y, cuts=(10, 60))
    with unspoken():
        model = LinearRegression(**parameters).fit(rows)
    assert rows.passes == passes
    assert model.n_passes_ == passes


@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
def test_clustered_passes():
    rows = CutRows(WHOLE, WHOLE_Y)
    LinearRegression(covariance="cluster").fit(rows, groups=np.arange(80) % 7)
    assert rows.passes == 2


@pytest.mark.parametrize("estimator", [LinearRegression, RidgeCV])
def test_the_card_tells_the_number_of_passes(estimator):
    told = int(re.search(r"^ +Passes +(\d+)", estimator.__doc__, flags=re.M).group(1))
    rows = CutRows(WHOLE, WHOLE_Y, cuts=(33,))
    estimator().fit(rows)
    assert rows.passes == told


# --- theorems of least squares --------------------------------------------------------------------

theorem = pytest.mark.parametrize("method", METHODS)


@theorem
@some
@given(datasets(targets=(1,)))
def test_residuals_are_orthogonal_to_the_columns(method, data):
    X, y, weight = data
    model = LinearRegression(method=method).fit(X, y, sample_weight=weight)
    residual = weight * (y - model.predict(X))
    size = np.linalg.norm(X, axis=0) * np.linalg.norm(y)
    assert abs(residual.sum()) <= 1e-10 * np.abs(y).sum()
    assert np.all(np.abs(X.T @ residual) <= 1e-10 * size)


@theorem
@some
@given(datasets(targets=(1,)))
def test_frisch_waugh_lovell(method, data):
    """A coefficient is that of the residuals of y on the residuals of its column, both after the other columns."""
    X, y, weight = data
    assume(X.shape[1] > 1)
    full = LinearRegression(method=method).fit(X, y, sample_weight=weight)
    first, others = X[:, :1], X[:, 1:]

    def after_the_others(v):
        return v - LinearRegression(method=method).fit(others, v, sample_weight=weight).predict(others)

    part = LinearRegression(method=method).fit(after_the_others(first), after_the_others(y), sample_weight=weight)
    size = np.abs(full.coef_ * X.std(axis=0)).max() / X[:, 0].std()
    assert part.coef_[0] == pytest.approx(full.coef_[0], rel=1e-8, abs=1e-8 * size)
    ratio = np.sqrt(full.solution_.dof / part.solution_.dof)  # the same residuals, other degrees of freedom
    assert part.std_errors()[1, 0] * ratio**-1 == pytest.approx(full.std_errors()[1, 0], rel=1e-8)


def literal(X, y, weight, alpha, intercept, penalize):
    """S0 as it is written: A = (X'WX + αI)⁻¹, β = A X'Wy, with a column of ones where there is an intercept."""
    D = np.column_stack([np.ones(len(X)), X]) if intercept else X
    penalty = alpha * np.eye(D.shape[1])
    if intercept and not penalize:
        penalty[0, 0] = 0.0
    A = np.linalg.inv(D.T @ (D * weight[:, None]) + penalty)
    return D, A, A @ D.T @ (weight * y)


FORMS = [(0.0, True, False), (0.0, False, False), (1.5, True, False), (1.5, False, False), (1.5, True, True)]


@theorem
@pytest.mark.parametrize(("alpha", "intercept", "penalize"), FORMS)
class TestLiterally:
    def fitted(self, method, alpha, intercept, penalize, **more):
        rng = np.random.default_rng(4)
        X, weight = rng.normal([1.0, 0.0, -2.0], size=(40, 3)), rng.uniform(0.5, 2.0, size=40)
        y = X @ [1.0, -1.0, 0.3] + 2 + rng.normal(size=40)
        model = LinearRegression(
            alpha, fit_intercept=intercept, penalize_intercept=penalize, method=method, **more
        ).fit(X, y, sample_weight=weight)
        return (model, X, y, weight, *literal(X, y, weight, alpha, intercept, penalize))

    def test_coefficients(self, method, alpha, intercept, penalize):
        model, *_, beta = self.fitted(method, alpha, intercept, penalize)
        actual = np.append(model.intercept_, model.coef_) if intercept else model.coef_
        np.testing.assert_allclose(actual, beta, rtol=1e-11)

    def test_covariance(self, method, alpha, intercept, penalize):
        model, _, y, weight, D, A, beta = self.fitted(method, alpha, intercept, penalize)
        rss = (weight * (y - D @ beta) ** 2).sum()
        hat = np.trace(D @ A @ (D * weight[:, None]).T)
        sigma2 = rss / (40 - hat)
        assert model.solution_.rss[0] == pytest.approx(rss, rel=1e-11)
        assert model.solution_.dof == pytest.approx(40 - hat, rel=1e-11)
        cross = (D * weight[:, None]).T @ D
        np.testing.assert_allclose(model.covariance_, sigma2 * A @ cross @ A, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(model.std_errors()[:, 0] ** 2, np.diagonal(model.covariance_), rtol=1e-12)

    def test_leverage_and_the_trace_of_the_hat_matrix(self, method, alpha, intercept, penalize):
        model, X, _, weight, D, A, _ = self.fitted(method, alpha, intercept, penalize)
        leverage = weight * (model.solution_.whitened_rows(X) ** 2).sum(axis=1)
        np.testing.assert_allclose(leverage, weight * np.einsum("ij,jl,il->i", D, A, D), rtol=1e-10)
        assert leverage.sum() == pytest.approx(40 - model.solution_.dof, rel=1e-11)
        if alpha == 0:
            assert leverage.sum() == pytest.approx(model.solution_.rank + intercept, rel=1e-11)

    @pytest.mark.parametrize("covariance", ["HC0", "HC1", "HC2", "HC3"])
    def test_robust_covariance(self, method, alpha, intercept, penalize, covariance):
        model, _, y, weight, D, A, beta = self.fitted(method, alpha, intercept, penalize, covariance=covariance)
        leverage = weight * np.einsum("ij,jl,il->i", D, A, D)
        share = {"HC0": 1.0, "HC1": 40 / model.solution_.dof, "HC2": 1 / (1 - leverage), "HC3": (1 - leverage) ** -2}
        scores = (weight * (y - D @ beta)) ** 2 * share[covariance]
        expected = A @ (D * scores[:, None]).T @ D @ A
        np.testing.assert_allclose(model.covariance_, expected, rtol=1e-9, atol=1e-14)

    @pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
    def test_clustered_covariance(self, method, alpha, intercept, penalize):
        model, X, y, weight, D, A, beta = self.fitted(method, alpha, intercept, penalize)
        groups = np.arange(40) % 6
        model = clone(model).set_params(covariance="cluster").fit(X, y, sample_weight=weight, groups=groups)
        scores = D * (weight * (y - D @ beta))[:, None]
        sums = np.stack([scores[groups == g].sum(axis=0) for g in range(6)])
        expected = 6 / 5 * 39 / model.solution_.dof * A @ sums.T @ sums @ A
        np.testing.assert_allclose(model.covariance_, expected, rtol=1e-9, atol=1e-14)

    def test_total_sum_of_squares(self, method, alpha, intercept, penalize):
        model, X, y, weight, *_ = self.fitted(method, alpha, intercept, penalize)
        center = np.average(y, weights=weight) if intercept else 0.0
        assert model.solution_.tss[0] == pytest.approx((weight * (y - center) ** 2).sum(), rel=1e-11)
        if intercept:
            r_squared = 1 - model.solution_.rss[0] / model.solution_.tss[0]
            assert model.score(X, y, sample_weight=weight) == pytest.approx(r_squared, rel=1e-11)

    @pytest.mark.parametrize("error_model", ["normal", "residuals"])
    def test_draws_vary_as_the_coefficients_do(self, method, alpha, intercept, penalize, error_model):
        model, X, y, *_ = self.fitted(method, alpha, intercept, penalize)
        model.fit(X, y)
        draws = model.sample_coefficients(4000, error_model, X=X, y=y, random_state=0)
        center = np.append(model.intercept_, model.coef_) if intercept else model.coef_
        draws = draws - center
        if error_model == "residuals":
            draws = draws * np.sqrt(model.solution_.sigma2[0] / (y - model.predict(X)).var())
        size = model.std_errors()[:, 0]
        draws, covariance = draws / size, model.covariance_ / np.outer(size, size)
        np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.1)
        np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=0.1)

    def test_several_targets_are_one_by_one(self, method, alpha, intercept, penalize):
        model, X, y, weight, *_ = self.fitted(method, alpha, intercept, penalize)
        Y = np.column_stack([y, y**2, np.full(40, 3.0)])  # the last one is constant
        together = clone(model).fit(X, Y, sample_weight=weight)
        for t in range(3):
            alone = clone(model).fit(X, Y[:, t], sample_weight=weight)
            scale = np.abs(Y[:, t]).max()
            np.testing.assert_allclose(together.coef_[t], alone.coef_, rtol=1e-11, atol=1e-13 * scale)
            np.testing.assert_allclose(together.intercept_[t], alone.intercept_, rtol=1e-11)
            np.testing.assert_allclose(together.predict(X)[:, t], alone.predict(X), rtol=1e-11)
            if t < 2:
                np.testing.assert_allclose(together.covariance_[t], alone.covariance_, rtol=1e-9, atol=1e-14)


@theorem
@some
@given(datasets(targets=(1,)), st.floats(1e-3, 1e3))
def test_ridge_is_least_squares_on_more_rows(method, data, alpha):
    """p more rows √α·e_j with target 0, on columns measured from their mean."""
    X, y, _ = data
    p = X.shape[1]
    Z, z = X - X.mean(axis=0), y - y.mean()
    more, zeros = np.vstack([Z, np.sqrt(alpha) * np.eye(p)]), np.append(z, np.zeros(p))
    ridge = LinearRegression(alpha, method=method).fit(X, y)
    least = LinearRegression(fit_intercept=False, method=method).fit(more, zeros)
    size = np.abs(least.coef_).max()
    np.testing.assert_allclose(ridge.coef_, least.coef_, atol=1e-9 * size)


@pytest.mark.parametrize(
    "summary", [Gram.of, QRFactor.of, lambda b: Gram.of(b, extended=True)], ids=["gram", "qr", "dd"]
)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("features", [[0], [2, 0], [1, 2, 3], slice(1, 3), np.array([True, False, False, True])])
def test_a_summary_answers_for_any_of_its_columns(summary, intercept, features):
    whole = as_rows(WHOLE, WHOLE_Y, WHOLE_WEIGHT).reduce(summary)
    part = whole.select(features, intercept).solve(0.3)
    expected = LinearRegression(0.3, fit_intercept=intercept).fit(WHOLE[:, features], WHOLE_Y, WHOLE_WEIGHT)
    np.testing.assert_allclose(part.coef[:, 0], expected.coef_, rtol=1e-11)
    np.testing.assert_allclose(part.rss, expected.solution_.rss, rtol=1e-11)


# --- rank -----------------------------------------------------------------------------------------


def with_rank_warning(estimator, X, y, match="", **more):
    """The fitted estimator, which names columns; it may add that fewer than ten digits remain, and a Gram, which
    cannot tell a perfect fit, may do so of one.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y, **more)
    named = [str(w.message) for w in caught if w.category is np.exceptions.RankWarning]
    assert len(named) == 1
    assert re.search(match, named[0])
    assert len(caught) == 1 or estimator.method == "gram" or estimator.solution_.sound_digits < MIN_DIGITS
    return estimator


@theorem
@pytest.mark.parametrize("intercept", [True, False])
@some
@given(data=st.data())
def test_smallest_norm_where_columns_are_combinations(method, intercept, data):
    """The pseudo-inverse of S1; which of the columns is named is told by their order."""
    X, y, _ = data.draw(datasets(targets=(1,)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    mix = rng.integers(-2, 3, size=(X.shape[1], 2)).astype(np.float64)
    mix[0] = [1.0, 2.0]
    X = np.round(X * 16) / 16  # sums of these are exact
    X = np.column_stack([X, X @ mix])
    assume(np.linalg.matrix_rank(X - X.mean(axis=0), tol=1e-9 * np.abs(X).max()) == X.shape[1] - 2)
    model = with_rank_warning(LinearRegression(fit_intercept=intercept, method=method), X, y)
    Z, z = (X - X.mean(axis=0), y - y.mean()) if intercept else (X, y)
    expected = np.linalg.pinv(Z, rcond=1e-10) @ z
    np.testing.assert_allclose(model.coef_, expected, atol=1e-7 * np.abs(expected).max())
    assert model.solution_.aliased == (X.shape[1] - 2, X.shape[1] - 1)
    assert model.solution_.rank == X.shape[1] - 2
    assert model.solution_.dof == len(X) - X.shape[1] + 2 - intercept


@theorem
@pytest.mark.parametrize("weighted", [False, True])
def test_more_columns_than_rows(method, weighted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 9)), rng.normal(size=6)
    weight = rng.uniform(0.5, 2, size=6) if weighted else None
    message = "'x5'.*smallest norm"
    model = with_rank_warning(LinearRegression(method=method), X, y, message, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)  # every row is fitted
    Z = X - X.mean(axis=0)
    if not weighted:
        np.testing.assert_allclose(model.coef_, np.linalg.pinv(Z) @ (y - y.mean()), atol=1e-9)
    assert model.solution_.rank == 5
    assert model.solution_.dof == 0
    assert np.isnan(model.solution_.sigma2).all()
    assert np.isnan(model.std_errors()).all()


@theorem
def test_ridge_needs_no_rank(method):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 9)), rng.normal(size=6)
    model = LinearRegression(0.5, method=method).fit(X, y)
    Z = X - X.mean(axis=0)
    expected = np.linalg.solve(Z.T @ Z + 0.5 * np.eye(9), Z.T @ (y - y.mean()))
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)
    twice = np.column_stack([X[:, :2], X[:, 0]])
    both = LinearRegression(0.5, method=method).fit(twice, y).coef_
    assert both[0] == pytest.approx(both[2], rel=1e-10)
    assert model.solution_.aliased == ()


@theorem
@pytest.mark.parametrize("n", [1, 2, 5])
def test_nothing_but_constants(method, n):
    X, y = np.tile([3.0, -1e9], (n, 1)), np.arange(1.0, n + 1)
    model = with_rank_warning(LinearRegression(method=method), X, y, match="'x0', 'x1'")
    np.testing.assert_array_equal(model.coef_, [0.0, 0.0])
    assert model.intercept_ == pytest.approx(y.mean(), rel=1e-15)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-15)
    assert model.solution_.rank == 0
    assert model.solution_.dof == n - 1


@theorem
def test_one_row(method):
    model = with_rank_warning(LinearRegression(method=method), [[2.0]], [5.0], match="'x0'")
    assert model.coef_ == [0.0]
    assert model.intercept_ == 5.0
    model = LinearRegression(method=method, fit_intercept=False).fit([[2.0]], [5.0])
    assert model.coef_ == [2.5]
    model = LinearRegression(alpha=4.0, method=method, fit_intercept=False).fit([[2.0]], [5.0])
    assert model.coef_ == pytest.approx([1.25], rel=1e-15)


@theorem
def test_a_constant_target(method):
    model = LinearRegression(method=method).fit(WHOLE, np.full(80, 7.0))
    np.testing.assert_array_equal(model.coef_, np.zeros(4))
    assert model.intercept_ == 7.0
    assert model.training_error_ == 0.0


@theorem
def test_a_column_of_zeros_and_zero_targets(method):
    X = WHOLE.copy()
    X[:, 2] = 0.0
    model = with_rank_warning(LinearRegression(method=method), X, np.zeros(80), match="^Column 'x2' is constant")
    np.testing.assert_array_equal(model.coef_, np.zeros(4))
    assert model.intercept_ == 0.0


@theorem
@pytest.mark.parametrize("alpha", [1e12, 1e100, 1e300])
def test_a_huge_penalty_leaves_the_mean(method, alpha):
    model = LinearRegression(alpha, method=method).fit(WHOLE, WHOLE_Y)
    assert np.abs(model.coef_).max() < 1e5 / alpha
    assert model.intercept_ == pytest.approx(WHOLE_Y.mean(), rel=1e-7)
    assert model.solution_.dof == pytest.approx(79, abs=1e-6)
    Z = WHOLE - WHOLE.mean(axis=0)
    np.testing.assert_allclose(model.coef_ * alpha, Z.T @ WHOLE_Y, rtol=1e-7)


@theorem
def test_a_tiny_penalty_is_least_squares(method):
    ridge, least = LinearRegression(1e-300, method=method), LinearRegression(method=method)
    np.testing.assert_allclose(ridge.fit(WHOLE, WHOLE_Y).coef_, least.fit(WHOLE, WHOLE_Y).coef_, rtol=1e-11)


# --- digits ---------------------------------------------------------------------------------------


@theorem
def test_a_coefficient_that_is_zero_is_no_reason_to_warn(method):
    """A balanced design: the second factor has exactly no effect, so its coefficient is rounding errors only."""
    X = np.array(list(itertools.product([-1.0, 1.0], [-1.0, 1.0], [0.1, 0.2, 0.3])))
    y = X @ [1.0, 0.0, 2.0] + np.where(X[:, 1] * X[:, 0] > 0, 0.3, -0.3)
    model = LinearRegression(method=method).fit(X, y)
    assert abs(model.coef_[1]) < 1e-15
    assert model.solution_.digits >= 10


@given(st.integers(0, 2**32), st.floats(0, 8), st.floats(-2, 6))
def test_claimed_digits_are_conservative(seed, collinearity, offset):
    """Against the answer in double-double with a refinement, which the NIST tests hold to exact arithmetic."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 4))
    X[:, 1] = X[:, 0] + 10.0**-collinearity * X[:, 1]
    X += 10.0**offset * rng.normal(size=4)
    y = X @ rng.normal(size=4) + rng.normal(size=50)
    truth = LinearRegression(method="extended").fit(X, y)
    expected = np.append(truth.intercept_, truth.coef_)
    for method in ("auto", "gram", "qr"):
        with unspoken():
            model = LinearRegression(method=method).fit(X, y)
        if model.solution_.aliased:
            assert not model.solution_.rank_is_certain
            continue
        error = np.abs(np.append(model.intercept_, model.coef_) / expected - 1).max()
        assert model.solution_.digits <= 1 - np.log10(max(error, 1e-16))


# --- gradient descent -----------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "intercept", "penalize"), FORMS)
def test_gradient_descent_walks_down_to_the_solution(alpha, intercept, penalize):
    form = {"alpha": alpha, "fit_intercept": intercept, "penalize_intercept": penalize}
    model = LinearRegression(method="gradient_descent", **form).fit(WHOLE, WHOLE_Y, sample_weight=WHOLE_WEIGHT)
    best = LinearRegression(**form).fit(WHOLE, WHOLE_Y, sample_weight=WHOLE_WEIGHT)
    np.testing.assert_allclose(model.coef_, best.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, best.intercept_, rtol=1e-6, atol=1e-9)
    path = model.history_
    assert len(path) == len(path.step) == len(path.gradient_norm) == len(path.coef)
    assert np.all(np.diff(path.loss) <= 1e-12 * path.loss[0])
    assert path.gradient_norm[-1] <= 1e-8 * path.gradient_norm[0]
    residual = WHOLE_Y - model.predict(WHOLE)
    penalty = (model.coef_**2).sum() + (model.intercept_**2 if penalize else 0.0)
    loss = 0.5 * (WHOLE_WEIGHT * residual**2).sum() + 0.5 * alpha * penalty
    assert path.loss[-1] == pytest.approx(loss, rel=1e-9)
    assert model.solution_.rss[0] == pytest.approx((WHOLE_WEIGHT * residual**2).sum(), rel=1e-9)


def test_gradient_descent_says_when_it_did_not_arrive():
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearRegression(method="gradient_descent").fit(collinear(1e-3), WHOLE_Y)
    assert ConvergenceWarning in {w.category for w in caught}


# --- what a fit leaves behind ---------------------------------------------------------------------


def test_a_new_fit_forgets_the_old_one():
    model = LinearRegression(covariance="HC3").fit(WHOLE, WHOLE_Y)
    model.set_params(covariance="classical").fit(WHOLE, WHOLE_Y)
    np.testing.assert_array_equal(model.covariance_, LinearRegression().fit(WHOLE, WHOLE_Y).covariance_)
    model.set_params(method="gradient_descent").fit(WHOLE, WHOLE_Y)
    assert hasattr(model, "history_")
    model.set_params(method="auto").fit(WHOLE, WHOLE_Y)
    assert not hasattr(model, "history_")
    ridge = RidgeCV().fit(WHOLE, WHOLE_Y).set_params(cv="loo").fit(WHOLE[:30], WHOLE_Y[:30])
    with pytest.raises(ValueError, match='cv="loo" cannot be merged'):
        ridge + RidgeCV().fit(WHOLE[30:], WHOLE_Y[30:])


REFITTED = (
    LinearRegression, RidgeCV, ly.LogisticRegression, ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis,
    ly.LeastSquaresClassifier, ly.Perceptron, ly.VotedPerceptron, ly.BatchPerceptron, ly.PocketPerceptron,
)  # fmt: skip


@pytest.mark.parametrize("make", REFITTED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_is_refused_leaves_the_model_as_it_was(make):
    y = WHOLE_Y if make in (LinearRegression, RidgeCV) else np.where(WHOLE_Y.mean() < WHOLE_Y, "b", "a")
    model = make().fit(WHOLE, y)
    expected, known = model.predict(WHOLE), dict(model.__dict__)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((8, WHOLE.shape[1] - 1), np.nan), [0, 1] * 4)
    assert model.__dict__ == known
    np.testing.assert_array_equal(model.predict(WHOLE), expected)


@pytest.mark.parametrize(
    "make",
    [
        LinearRegression,
        ly.LinearDiscriminantAnalysis,
        ly.QuadraticDiscriminantAnalysis,
        ly.Perceptron,
        ly.VotedPerceptron,
    ],
)
def test_more_rows_that_are_refused_leave_the_model_as_it_was(make):
    y, more = (WHOLE_Y, {}) if make is LinearRegression else ((WHOLE_Y.mean() < WHOLE_Y) * 1, {"classes": [0, 1]})
    bad = np.full((8, WHOLE.shape[1]), np.nan)
    model = make()
    for _ in range(2):
        known = dict(model.__dict__)
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(bad, [0, 1] * 4, **more)
        assert model.__dict__ == known
        model.partial_fit(WHOLE, y, **more)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(WHOLE[:, 1:], y)
    assert not hasattr(model, "summary_") or model.summary_.n == 2 * len(WHOLE)


@pytest.mark.parametrize("make", [ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis])
def test_rows_may_come_class_by_class(make):
    model, y = make(), (WHOLE_Y.mean() < WHOLE_Y) * 1
    model.partial_fit(WHOLE[y == 0], y[y == 0], classes=[0, 1])
    with pytest.raises(NotFittedError):
        model.predict(WHOLE)
    with pytest.raises(ValueError, match="in the first call"):
        model.partial_fit(WHOLE, y, classes=[0, 1, 2])
    model.partial_fit(WHOLE[y == 1], y[y == 1])
    np.testing.assert_allclose(model.predict_proba(WHOLE), make().fit(WHOLE, y).predict_proba(WHOLE), atol=1e-9)


@pytest.mark.parametrize("make", [LinearRegression, RidgeCV, ly.LinearDiscriminantAnalysis])
def test_models_with_and_without_names_are_added_in_either_order(make):
    import pandas as pd

    names = [f"column {j}" for j in range(WHOLE.shape[1])]
    y = (WHOLE_Y.mean() < WHOLE_Y) * 1 if make is ly.LinearDiscriminantAnalysis else WHOLE_Y
    named, bare = make().fit(pd.DataFrame(WHOLE, columns=names), y), make().fit(WHOLE, y)
    for both in (named + bare, bare + named, named + named):
        assert list(both.feature_names_in_) == names
    assert not hasattr(bare + bare, "feature_names_in_")
    with pytest.raises(ValueError, match="The columns differ"):
        named + make().fit(pd.DataFrame(WHOLE, columns=names[::-1]), y)
    for few, many in ((make().fit(WHOLE[:, 1:], y), named), (named, make().fit(WHOLE[:, 1:], y))):
        with pytest.raises(ValueError, match="features"):
            few + many


@pytest.mark.parametrize("make", [LinearRegression, RidgeCV, ly.LinearDiscriminantAnalysis])
def test_columns_called_as_those_without_names_are_told_apart_by_name_too(make):
    import pandas as pd

    y = (WHOLE_Y.mean() < WHOLE_Y) * 1 if make is ly.LinearDiscriminantAnalysis else WHOLE_Y
    frame = pd.DataFrame(WHOLE, columns=[f"x{j}" for j in range(WHOLE.shape[1])])
    rows = ly.scan(frame.assign(y=y), target="y")
    swapped = ly.scan(frame[frame.columns[::-1]].assign(y=y), target="y")
    model = make().fit(rows)
    np.testing.assert_allclose(model.predict(rows), model.predict(WHOLE), rtol=1e-9)
    with pytest.raises(ValueError, match="The columns are"):
        model.predict(swapped)
    for a, b in ((rows, swapped), (swapped, rows)):
        with pytest.raises(ValueError, match="The columns differ"):
            make().fit(a) + make().fit(b)


def test_sum_and_difference_of_ridge_models_equal_fits_of_the_rows():
    first, second = RidgeCV().fit(WHOLE[:43], WHOLE_Y[:43]), RidgeCV().fit(WHOLE[43:], WHOLE_Y[43:])
    whole = RidgeCV().fit(WHOLE, WHOLE_Y)
    np.testing.assert_allclose((first + second).fold_errors_, whole.fold_errors_, rtol=1e-9)
    rest = whole - second
    assert rest.alpha_ == pytest.approx(first.alpha_, rel=1e-9)
    np.testing.assert_allclose(rest.coef_, first.coef_, rtol=1e-7)
    with pytest.raises(ValueError, match="never"):
        first - whole
    with pytest.raises(TypeError):
        whole - LinearRegression().fit(WHOLE, WHOLE_Y)


def test_partial_fit_goes_on_from_any_fit():
    for e in (1.0, 1e-5):  # the second ends in double-double
        X = collinear(e)
        whole = LinearRegression(method="extended").fit(X, WHOLE_Y)
        model = LinearRegression().fit(X[:50], WHOLE_Y[:50]).partial_fit(X[50:], WHOLE_Y[50:])
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        assert model.n_passes_ == (2 if e == 1.0 else 3)


def test_pickle_of_a_model_contains_no_rows():
    import pickle

    X = np.random.default_rng(0).normal(size=(20_000, 3))
    model = LinearRegression().fit(X, X.sum(axis=1) + X[:, 0] ** 2)
    assert len(pickle.dumps(model)) < 10_000
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
