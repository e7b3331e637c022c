"""Random draws of the coefficients."""

import numpy as np
import pytest
from golden_sets import LM as GOLDEN
from golden_sets import case_of

import linearly as ly


@pytest.fixture(params=list(GOLDEN["data"]))
def case(request):
    return case_of(request.param)


def test_draws_have_the_covariance_of_the_coefficients(case):
    model = case.fit()
    draws = model.sample_coefficients(20_000, random_state=0)
    expected = np.sqrt(np.diagonal(model.covariance_))
    np.testing.assert_allclose(draws.std(axis=0), expected, rtol=0.03)
    np.testing.assert_allclose(
        draws.mean(axis=0), ly.tidy(model)["estimate"], atol=4 * expected.max() / np.sqrt(20_000)
    )
    resampled = model.sample_coefficients(4_000, "residuals", X=case.X, y=case.y, random_state=0)
    # Residuals are smaller than errors by √(dof / n).
    shrunk = expected * np.sqrt(model.solution_.dof / model.solution_.n)
    np.testing.assert_allclose(resampled.std(axis=0), shrunk, rtol=0.1)


def test_errors_of_a_weighted_fit_are_not_resampled():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = ly.LinearRegression().fit(X, y, rng.uniform(1, 2, 30))
    with pytest.raises(ValueError, match="errors of a weighted fit"):
        model.sample_coefficients(5, "residuals", X=X, y=y)
    assert model.sample_coefficients(5, random_state=0).shape == (5, 3)
    with pytest.raises(ValueError, match="n must be an integer of at least 1, not -1"):
        model.sample_coefficients(-1)
