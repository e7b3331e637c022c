"""Claimed digits: never more than one above what is right, without a warning or a refusal."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import linearly as ly
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.dataset.rows.block import Block
from linearly.export.records import decode, to_json
from linearly.export.summaries import LEAST_SQUARES_SUMMARY, SOLUTION
from linearly.kernels.double_double import to_float64
from linearly.selftest import digits
from linearly.selftest.rationals import digits as right_digits
from linearly.selftest.rationals import least_squares, worst_digits
from linearly.selftest.splits import CutRows


def regression_part(rng: Any, size: float) -> tuple[Any, Any]:
    X = rng.normal(size=(50, 1)) * size
    return X, 1.2 + 2 * X[:, 0] + rng.normal(size=50) * size


def labelled_part(rng: Any, size: float) -> tuple[Any, Any]:
    y = np.arange(50) % 2
    return (rng.normal(size=(50, 2)) + y[:, None]) * size, y


KINDS = {
    "least squares": (ly.LinearRegression, regression_part),
    "ridge": (lambda: ly.LinearRegression(0.5), regression_part),
    "LDA": (ly.LinearDiscriminantAnalysis, labelled_part),
    "QDA": (ly.QuadraticDiscriminantAnalysis, labelled_part),
    "indicators": (ly.LeastSquaresClassifier, labelled_part),
}


@pytest.mark.parametrize("step", [100, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_chain_of_differences_with_remaining_rounding_errors_raises(kind, step):
    make, part = KINDS[kind]
    rng = np.random.default_rng(0)
    a, b1, b2, b3 = (make().fit(*part(rng, size)) for size in (1.0, step**3, step**2, step))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ly.PrecisionWarning)  # of the steps on the way
        rest = (a + b1 + b2 + b3) - b1
        with pytest.raises(ValueError, match="too little variation for ten correct digits"):
            rest - b2 - b3


def test_one_sum_and_difference_claims_correct_digits_or_warns():
    accepted = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X, y = regression_part(rng, 1.0)
        a, b = (
            ly.LinearRegression().fit(X, y),
            ly.LinearRegression().fit(*regression_part(rng, 10 ** rng.uniform(0, 4))),
        )
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                rest = (a + b) - b
            except ValueError:
                continue
        if not told:
            accepted += 1
            exact = least_squares(X, y)
            assert rest.solution_.digits <= worst_digits([rest.intercept_, *rest.coef_], exact.coef) + 1
            assert rest.solution_.digits <= right_digits(rest.solution_.rss[0], exact.rss) + 1
    assert accepted > 30


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_bound_of_a_chain_covers_the_errors_of_its_products(exact, seed):
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.integers(0, 4, size=3)
    blocks = [Block(rng.normal(size=(30, 2)) * s + 7, rng.normal(size=30) * s, rng.exponential(size=30)) for s in size]
    a, b, c = (Gram.of(block, exact) for block in blocks)
    chain = (a + b + c) - b - c
    truth = Gram.of(blocks[0], extended=True).rescaled(chain.scaling)
    error = to_float64(
        chain.centered_crossprod - (truth.centered_crossprod if exact else truth.centered_crossprod.to_float64())
    )
    bound = np.sqrt(chain.rounding[1:])
    assert (np.abs(error) <= 4 * bound * bound[:, None]).all()
    assert (chain.rounding[1:] >= b.rescaled(chain.scaling).rounding[1:]).all()


def test_bound_after_select_is_that_of_the_selected_columns():
    rng = np.random.default_rng(0)
    block = Block(rng.normal(size=(30, 3)) * [1.0, 1e3, 1.0], rng.normal(size=30))
    for summary in (Gram.of(block), QRFactor.of(block)):
        kept = summary.select([2, 0], False)
        np.testing.assert_array_equal(kept.rounding, summary.rounding[[0, 3, 1, 4]])


@pytest.mark.parametrize("method", ["gram", "qr", "extended"])
def test_model_file_keeps_the_bound(method):
    rng = np.random.default_rng(0)
    a, b = (ly.LinearRegression(method=method).fit(*regression_part(rng, size)) for size in (1.0, 30.0))
    rest = a + b if method == "qr" else (a + b) - b
    summary, solution = (
        decode(json.loads(json.dumps(to_json(value))), record, "it", {})
        for record, value in ((LEAST_SQUARES_SUMMARY, rest.summary_), (SOLUTION, rest.solution_))
    )
    np.testing.assert_array_equal(summary.rounding, rest.summary_.rounding)
    assert solution.error_digits == rest.solution_.error_digits
    if method == "gram":
        fresh = Gram.of(Block(*regression_part(np.random.default_rng(0), 1.0)))
        assert (summary.rounding[1:] > 100 * fresh.rescaled(summary.scaling).rounding[1:]).all()


@pytest.mark.parametrize("kind", [Gram, QRFactor])
def test_model_file_cannot_claim_less_rounding_than_its_numbers_have(kind):
    summary = kind.of(Block(*regression_part(np.random.default_rng(0), 1.0)))
    plain = to_json(replace(summary, rounding=0 * summary.rounding))
    small = decode(plain, LEAST_SQUARES_SUMMARY, "it", {})
    np.testing.assert_array_equal(small.rounding, summary.single_rounding())
    del plain["rounding"]
    with pytest.raises(ValueError, match="missing required field `rounding`"):
        decode(plain, LEAST_SQUARES_SUMMARY, "it", {})


WIDE = {
    "ridge": (4.0, [[1.0], [0.0], [0.0]], [5e12, 5e12, 5e12 + 1], [1e-8, 1e10, 1.0]),
    "least squares": (
        0.0,
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
        [3.0, 7.0, 7.5, 2.0, 1.0],
        [1e-7, 1e9, 1e9, 2e-7, 1e9],
    ),
}


@pytest.mark.parametrize("method", ["auto", "extended"])
@pytest.mark.parametrize("name", WIDE)
def test_fit_without_intercept_and_with_uneven_weights_is_accurate(name, method):
    alpha, X, y, weight = WIDE[name]
    model = ly.LinearRegression(alpha, fit_intercept=False, method=method).fit(X, y, weight)
    assert worst_digits(model.coef_, least_squares(X, y, weight, intercept=False, alpha=alpha).coef) > 14
    assert not model.solution_.aliased
    assert model.solution_.digits > 14


@pytest.mark.parametrize("method", ["gram", "qr"])
@pytest.mark.parametrize("name", WIDE)
def test_float64_method_with_uneven_weights_warns_about_its_digits(name, method):
    alpha, X, y, weight = WIDE[name]
    with pytest.warns(ly.PrecisionWarning, match="digits of the coefficients are correct"):
        model = ly.LinearRegression(alpha, fit_intercept=False, method=method).fit(X, y, weight)
    right = worst_digits(model.coef_, least_squares(X, y, weight, intercept=False, alpha=alpha).coef)
    assert model.solution_.digits <= right + 1


def test_rows_of_small_weight_before_rows_of_large_weight_keep_their_digits():
    # The mean of a sum counts from the heavier rows on: from the lighter it had 10 digits here, and 11 were claimed.
    rng = np.random.default_rng(198)
    X = np.round(rng.normal(size=(24, 2))) * (rng.random(size=(24, 2)) < 0.6)
    y, weight = rng.normal(size=24), np.sort(10 ** rng.uniform(-12, 12, size=24))
    weight[-2:] = 5e10, 6e10
    X[-2:, 1] = 0.0
    rows = CutRows(X, y, weight, cuts=range(3, 24, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ly.PrecisionWarning)
        model = ly.LinearRegression(fit_intercept=False, method="gram").fit(rows)
    assert worst_digits(model.coef_, least_squares(X, y, weight, intercept=False).coef) > 12


@pytest.mark.parametrize("method", ["auto", "gram", "qr"])
@pytest.mark.parametrize("intercept", [True, False])
def test_standard_errors_of_near_duplicates_with_uneven_weights_claim_correct_digits(intercept, method):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, 3))
        X[:, 2] = X[:, 0] + 10 ** rng.uniform(-5, -2) * X[:, 2]
        y, weight = rng.normal(size=12), 10 ** rng.uniform(-12, 12, size=12)
        model, named = _fitted(ly.LinearRegression(fit_intercept=intercept, method=method), X, y, weight)
        right = worst_digits(model.std_errors()[:, 0], least_squares(X, y, weight, intercept=intercept).std_error)
        assert named or ly.glance(model)["digits"][0] <= right + 1
        assert right > 9 or named


def _fitted(model: Any, X: Any, y: Any, weight: Any) -> tuple[Any, set[type]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y, weight)
    return model, {one.category for one in told}


def test_ridge_cv_at_condition_40_does_not_warn():
    X, y = load_diabetes(return_X_y=True)
    model = ly.RidgeCV().fit(X, y)  # a warning is an error here
    right = worst_digits([model.intercept_, *model.coef_], least_squares(X, y, alpha=model.alpha_).coef)
    assert right > 11
    assert 10 <= model.solution_.digits <= right + 1
    assert model.solution_.digits_of_relevant_coefs > 11


def test_ordinary_fits_keep_their_digits_and_their_method():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)) + 5
    y = X @ rng.normal(size=8) + rng.normal(size=2000)
    for model in (ly.LinearRegression(), ly.LinearRegression(fit_intercept=False), ly.LinearRegression(1.0)):
        model.fit(X, y, rng.exponential(size=2000))
        assert (model.method_, model.n_passes_) == ("gram", 1)
        assert model.solution_.digits > 11
    halves = ly.LinearRegression().fit(X[:900], y[:900]) + ly.LinearRegression().fit(X[900:], y[900:])
    assert (halves - ly.LinearRegression().fit(X[:900], y[:900])).solution_.digits > 11


def test_selftest_finds_no_false_claim(monkeypatch):
    monkeypatch.setattr(digits, "SHORT", 60)
    results = list(digits.results(False, lambda done, total: None))
    assert [result.what for result in results if not result.passed] == []
    assert len(results) == len(digits.CHAINS) + len(digits.WEIGHTED)


@pytest.mark.parametrize(
    "what", ["sums and differences of models, least squares", "sums and differences of models, LDA"]
)
def test_selftest_detects_forgotten_rounding_errors(monkeypatch, what):
    # As it was: each summary claimed the rounding errors of its own numbers, whatever rows had been in it.
    monkeypatch.setattr(
        Gram, "__post_init__", lambda self: object.__setattr__(self, "rounding", self.single_rounding())
    )
    monkeypatch.setattr("linearly.algorithm.least_squares.gram._check_downdate", lambda before, rest: None)
    tally = digits.Tally(what)
    for seed in range(40):
        tally.add(seed, digits.CHAINS[what])
    assert not tally.result().passed
    assert "claimed" in tally.result().figure


@pytest.mark.slow
def test_full_selftest_finds_no_false_claim():
    results = list(digits.results(True, lambda done, total: None))
    assert [result.what for result in results if not result.passed] == []
