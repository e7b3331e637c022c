"""Adjusted p-values: R's p.adjust on a textbook list, and laws."""

import numpy as np
import pytest

from linearly.inference.multiple_comparisons import adjust_p_values, adjusted_wald, check_adjust

P = np.array([0.01, 0.04, 0.03, np.nan, 0.005])


def test_adjusted_p_values_are_those_of_r():
    # p.adjust(c(.01, .04, .03, .005), "holm", n = 5) and "BH": NaN is a comparison, too
    np.testing.assert_allclose(adjust_p_values(P, "holm"), [0.04, 0.09, 0.09, np.nan, 0.025])
    np.testing.assert_allclose(adjust_p_values(P, "bh"), [0.025, 0.05, 0.05, np.nan, 0.025])
    # p.adjust(c(.01, .04, .03, .005), "holm") and "BH"
    np.testing.assert_allclose(adjust_p_values(P[[0, 1, 2, 4]], "holm"), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(adjust_p_values(P[[0, 1, 2, 4]], "bh"), [0.02, 0.04, 0.04, 0.02])


def test_tukey_of_two_means_is_the_t_test():
    estimate, error = np.array([1.3]), np.array([0.5])
    plain, tukey = (adjusted_wald(estimate, error, 12.0, 0.95, adjust, 2) for adjust in (None, "tukey"))
    assert plain["p_value"] == tukey["p_value"]
    assert plain["conf_low"] == tukey["conf_low"]


def test_tukey_lies_between_one_comparison_and_all():
    estimate, error = np.array([0.1, 1.3, 9.0]), np.array([0.5, 0.5, 0.5])
    for dof in (7.0, np.inf):
        plain, tukey = (adjusted_wald(estimate, error, dof, 0.95, adjust, 3)["p_value"] for adjust in (None, "tukey"))
        assert (tukey >= plain).all()
        assert (tukey <= np.minimum(3 * plain, 1)).all()


def test_unknown_method_is_refused():
    with pytest.raises(ValueError, match="adjust must be one of"):
        check_adjust("bonferroni")
