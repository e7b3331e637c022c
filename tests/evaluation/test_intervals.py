"""Confidence intervals of proportions, averages and areas under curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from linearly.evaluation.accumulators import ClassCounts, Scores
from linearly.evaluation.evaluate import evaluate
from linearly.evaluation.intervals import average, newcombe, wilson, wilson_f1
from linearly.evaluation.metrics import class_metrics

Z = 1.959963984540054


def test_wilson_of_all_or_none_has_positive_length():
    assert wilson(1.0, 10, 0.95)[1:3] == pytest.approx((1 - Z**2 / (10 + Z**2), 1.0))
    assert wilson(0.0, 10, 0.95)[1:3] == pytest.approx((0.0, Z**2 / (10 + Z**2)))
    assert wilson(0.0, 0, 0.95)[1:3] == (0.0, 1.0)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_f1_interval_holds_its_value(tp, fp, fn):
    union = tp + fp + fn
    value, low, high, _ = wilson_f1(tp, union, union, 0.95)
    assert 0 <= low <= value <= high <= 1
    assert value == pytest.approx(2 * tp / (2 * tp + fp + fn) if union else 0.0)


def test_newcombe_of_separated_classes_narrows_with_rows():
    low = [newcombe(1.0, n, n, 0.95).low for n in (2, 5, 20, 1000)]
    assert low == sorted(low)
    assert low[0] < 0.5
    assert low[-1] > 0.99
    assert newcombe(0.0, 5, 8, 0.9).high == pytest.approx(1 - newcombe(1.0, 5, 8, 0.9).low, abs=1e-8)


def test_average_of_one_interval_is_that_interval():
    part = wilson(0.7, 30, 0.95)
    assert average([part], None, "")[:3] == pytest.approx(part[:3])
    together = average([part, part], np.ones((2, 2)), "")
    assert together[:3] == pytest.approx(part[:3])  # the same rows twice know no more
    assert average([part, part], None, "").low > together.low


def test_a_higher_level_is_a_wider_interval():
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    narrow, wide = (evaluate(model, X, y, level=level).metrics for level in (0.8, 0.99))
    assert (wide["conf_low"] <= narrow["conf_low"]).all()
    assert (wide["conf_high"] >= narrow["conf_high"]).all()
    assert (wide["conf_low"] < wide["value"]).all()


def test_intervals_cover_as_often_as_they_say():
    # 400 data sets of 100 rows: coverage of 95 % has a standard error of 1.1 %.
    rng = np.random.default_rng(5)

    def figures(n):
        y = (rng.random(n) < 0.4).astype(int)
        p = 1 / (1 + np.exp(-(np.log(0.4 / 0.6) + 1.5 * (rng.normal(size=n) + 1.5 * y) - 1.125)))
        P = np.c_[p, 1 - p]
        tally = ClassCounts.of(1 - y, (p < 0.5).astype(int), np.ones(n), 2, Scores(P, P[:, :1]))
        return class_metrics(tally, tally.row_scores[0], [1, 0], 0.95, probable=True).metrics

    truth = figures(400_000)
    covered = np.zeros(len(truth))
    for _ in range(400):
        found = figures(100)
        covered += (found["conf_low"] <= truth["value"]) & (truth["value"] <= found["conf_high"])
    share = dict(zip(truth["metric"].tolist(), covered / 400, strict=True))
    share.pop("calibration_error")  # of an error that is 0 the interval always holds the truth
    assert all(0.90 <= value <= 0.995 for value in share.values()), share
