"""Likelihood-ratio statistics of logistic regressions."""

import pytest

from linearly.inference.likelihood import likelihood_ratio


def test_a_negative_likelihood_ratio_raises_and_rounding_does_not():
    assert likelihood_ratio(-10.0, -10.0 + 1e-9) == 0.0
    with pytest.raises(ValueError, match="The smaller model fits better"):
        likelihood_ratio(-10.0, -9.9)
