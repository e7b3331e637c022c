"""Findings about several models: `compare` and `diff` give the same sentences as data."""

import numpy as np
import pytest

import linearly as ly
from linearly.findings.comparison import compare_finding, difference_finding
from linearly.findings.difference import joint_finding


def test_compare_finding_states_how_far_a_model_is_behind():
    worse = compare_finding("qda", "lda", 0.125, 0.01)
    assert (worse.id, worse.about, worse.claim) == ("worse_than_best", "qda", "worse by 0.125")
    assert worse.level == 0.05
    assert worse.null
    assert compare_finding("qda", "lda", 0.125, 0.2).claim == "no clear difference"
    assert compare_finding("qda", "lda", 0.0, 1.0).claim == "same score"


def test_diff_note_is_the_claim_of_its_finding():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    a, b, c = (ly.LinearRegression().fit(X, X @ [slope, 0.0] + rng.normal(size=60)) for slope in (0.0, 0.0, 3.0))
    for other, name in ((a, "same_model"), (b, "no_sign_of_difference"), (c, "coefficients_differ")):
        finding = joint_finding(a, other)
        assert finding.id == name
        assert ly.diff(a, other).notes[0] == finding.claim


@pytest.mark.parametrize("df2", [float("inf"), 12.5])
def test_difference_finding_names_its_test(df2):
    finding = difference_finding({"statistic": 2.0, "df1": 3, "df2": df2, "p_value": 0.2}, "all terms")
    assert ("χ² 6 on 3 df, p 0.2" if df2 == float("inf") else "F 2 on 3 and 12.5 df, p 0.2") in finding.claim
    refused = difference_finding("a model has too few rows", "all terms")
    assert refused.claim == "A joint test is not possible, because a model has too few rows."
