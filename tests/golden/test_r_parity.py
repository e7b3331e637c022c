"""The same numbers as R: lm, sandwich::vcovHC and vcovCL (tests/golden/lm.R), to 1e-8 or better."""

import numpy as np
import pytest
from golden_sets import LM as GOLDEN
from golden_sets import assert_as_in_r, case_of

from linearly.algorithm.least_squares.clusters import clustered_meat
from linearly.dataset.rows.block import as_rows
from linearly.models.linear_regression import LinearRegression

METHODS = ("auto", "gram", "qr", "extended")


@pytest.fixture(params=list(GOLDEN["data"]))
def case(request):
    return case_of(request.param)


def assert_same_covariance(actual, expected, rel=1e-8):
    """Entry by entry, on the scale of the two standard errors: a covariance can be anything down to zero."""
    expected = np.array(expected)
    size = np.sqrt(np.diagonal(expected))
    assert_as_in_r(np.diagonal(actual), np.diagonal(expected), rel)
    np.testing.assert_allclose(actual / np.outer(size, size), expected / np.outer(size, size), rtol=0, atol=rel)


def coefficients(model):
    return np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_


def test_golden_file_says_where_it_comes_from():
    assert GOLDEN["provenance"]["r"].startswith("R version")
    assert set(GOLDEN["data"]) >= {"swiss", "longley", "stackloss", "mtcars"}


# --- the fit --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["fit", "weighted", "zero_weighted", "no_intercept"])
class TestFit:
    def test_coefficients_and_standard_errors(self, case, kind, method):
        golden, model = case.golden[kind], case.fit(kind, method=method)
        assert_as_in_r(coefficients(model), golden["coefficients"])
        assert_as_in_r(np.sqrt(np.diagonal(model.covariance_)), golden["std_error"])
        assert_same_covariance(model.covariance_, golden["covariance"])

    def test_sums_of_squares(self, case, kind, method):
        golden, solution = case.golden[kind], case.fit(kind, method=method).solution_
        assert_as_in_r(solution.rss[0], golden["rss"])
        assert_as_in_r(np.sqrt(solution.sigma2[0]), golden["sigma"])
        assert_as_in_r(1 - solution.rss[0] / solution.tss[0], golden["r_squared"])
        assert solution.n == golden["n"]
        assert solution.dof == golden["df_residual"]
        assert solution.rank + int(solution.has_intercept) == golden["rank"]

    def test_rows(self, case, kind, method):
        golden, model = case.golden[kind], case.fit(kind, method=method)
        assert_as_in_r(model.predict(case.X), golden["fitted"])
        weight = np.array(golden.get("weights", np.ones(len(case.y))))
        leverage = weight * (model.solution_.whitened_rows(case.X) ** 2).sum(axis=1)
        assert_as_in_r(leverage, golden["hatvalues"])


@pytest.mark.parametrize("method", METHODS)
def test_rank_deficient(case, method):
    # R sets the coefficient of the copy aside (NA); here it is of smallest norm. What can be known is the same.
    golden, model = case.golden["rank_deficient"], case.fit("rank_deficient", method=method)
    solution = model.solution_
    assert solution.aliased == (case.X.shape[1],)
    assert solution.rank + 1 == golden["rank"]
    assert solution.dof == golden["df_residual"]
    assert_as_in_r(solution.rss[0], golden["rss"])
    assert_as_in_r(model.predict(np.column_stack([case.X, case.X[:, 0]])), golden["fitted"])
    both = model.coef_[[0, -1]]
    # Which of two copies carries how much is known a digit worse than the fit: 4e-10 by a float64 Gram, whatever BLAS.
    assert both[0] == pytest.approx(both[1], rel=max(1e-10, 10 * 10.0**-solution.digits))
    assert solution.digits > 10
    assert both.sum() == pytest.approx(golden["coefficients"][1], rel=1e-8)
    assert_as_in_r(model.coef_[1:-1], golden["coefficients"][2:-1])
    assert_as_in_r(np.sqrt(np.diagonal(model.covariance_))[2:-1], golden["std_error"][2:-1])
    assert np.isnan(model.covariance_[[1, -1]]).all()
    total = np.sqrt(solution.sigma2[0]) * np.linalg.norm(solution.inverse_root[[1, -1]].sum(axis=0))
    assert total == pytest.approx(golden["std_error"][1], rel=1e-8)


def test_several_responses(case):
    golden = case.golden["multi_response"]
    data = {column: np.array(values) for column, values in case.golden["data"].items()}
    X = np.column_stack([data[name] for name in golden["features"]])
    Y = np.column_stack([data[name] for name in golden["responses"]])
    model = LinearRegression().fit(X, Y)
    for t, name in enumerate(golden["responses"]):
        assert_as_in_r([model.intercept_[t], *model.coef_[t]], golden["coefficients"][name])
        assert_as_in_r(np.sqrt(np.diagonal(model.covariance_[t])), golden["std_error"][name])


# --- robust covariances ---------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["HC0", "HC1", "HC2", "HC3"])
@pytest.mark.parametrize("kind", ["fit", "weighted"])
def test_heteroscedasticity_consistent(case, kind, covariance):
    model = case.fit(kind, covariance=covariance)
    assert_same_covariance(model.covariance_, case.golden[kind]["hc"][covariance])
    assert_as_in_r(coefficients(model), case.golden[kind]["coefficients"])


@pytest.mark.parametrize("kind", ["fit", "weighted"])
def test_clustered(case, kind):
    golden = case.golden[kind]
    solution = case.fit(kind).solution_
    weight = None if "weights" not in golden else np.array(golden["weights"], dtype=float)
    # Not by covariance="cluster", which refuses five groups where the model has as many terms.
    meat = clustered_meat(as_rows(case.X, case.y, weight), solution, golden["cluster"]["groups"]).meat
    assert_same_covariance(solution.inverse_root @ meat[0] @ solution.inverse_root.T, golden["cluster"]["covariance"])


# --- evidence: a term, a model, a row, the residuals ----------------------------------------------
