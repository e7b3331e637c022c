"""Confidence intervals of proportions, averages and areas under curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from linearly.evaluation.intervals import RowMean, average, newcombe, precision_area, wilson, wilson_f1
from linearly.findings.evaluation import evaluate
from linearly.selftest import verdicts
from linearly.selftest.cases import Numbers

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


def coverage(case, n, times=400):
    """Return the share of samples whose interval contains the truth, for each metric."""
    made = verdicts._shares(case, n, times)
    return {name: share for name, (share, _) in made.items()}


def case(words):
    return next(case for case in verdicts.CASES if words in case.what)


# 400 samples: a coverage of 95 % has a standard error of 1.1 %. The figures before are in the comments.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "metric", "n", "low", "high"),
    [
        ("evaluate, normal errors", "rmse", 20, 0.92, 0.98),  # 91 %
        ("evaluate, t5 errors", "rmse", 100, 0.92, 0.98),  # 84 to 90 %
        ("evaluate, normal errors", "r_squared", 20, 0.92, 0.98),  # 91 %
        ("R² of 0, a slope twice", "r_squared", 100, 0.92, 0.98),
        ("R² of 0, a constant", "r_squared", 1000, 0.92, 0.988),  # 100 %
        ("10% positive", "roc_auc", 120, 0.92, 0.98),  # 86 to 89 %
        ("20% positive", "log_loss", 60, 0.92, 0.985),  # 91 %
        ("40% positive", "average_precision", 100, 0.92, 0.98),  # 99 %
        ("miscalibrated", "calibration_error", 300, 0.91, 0.995),  # 99 to 100 %
        ("any subset", "macro_recall", 50, 0.92, 0.98),  # 91 %
        ("lda, p = 20", "cross-validated accuracy", 100, 0.90, 0.98),  # 88 %
    ],
)
def test_interval_covers_as_often_as_it_says(words, metric, n, low, high):
    assert low <= coverage(case(words), n)[metric] <= high


def test_row_mean_of_narrow_losses_ignores_rounding_errors():
    loss = 0.7 + 1e-9 * np.random.default_rng(0).normal(size=100)
    mean = RowMean.of(RowMean.sums(loss, np.ones(100)))
    assert mean.skewness == 0
    assert mean.dof == 99
    assert mean.interval(0.95).low <= mean.value <= mean.interval(0.95).high


@given(st.integers(2, 60), st.integers(0, 1000))
def test_weights_of_another_scale_leave_the_interval(n, seed):
    rng = np.random.default_rng(seed)
    loss, weight = rng.exponential(size=n), rng.uniform(0.5, 2, n)
    one, two = (RowMean.of(RowMean.sums(loss, weight * scale)).interval(0.9) for scale in (1, 1000))
    assert one[:3] == pytest.approx(two[:3], rel=1e-6)
    assert one.low <= one.value <= one.high


def test_average_precision_influence_is_the_change_by_a_row_of_little_weight():
    rng = np.random.default_rng(1)
    score, positive = rng.normal(size=30).round(1), rng.random(30) < 0.4
    area, step = precision_area(score, positive, np.ones(30)), 1e-6
    more = np.where(positive, np.sqrt(positive.sum() / (positive.sum() - 1)), 1.0)
    for i in range(30):
        weight = np.ones(30)
        weight[i] += step
        change = (precision_area(score, positive, weight).value - area.value) / step
        assert area.influence[i] == pytest.approx(change * more[i], abs=1e-5)


def test_few_rows_state_the_limit_of_their_intervals():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    assert any("With only 30 rows" in note for note in evaluate(Numbers(), X, y).notes)
    p, labels = rng.random((60, 1)), np.r_[np.ones(6, int), np.zeros(54, int)]
    result = evaluate(verdicts.Probabilities(2, False), np.hstack([1 - p, p]), labels)
    assert any("Fewer than 10 rows of 1" in note for note in result.notes)


@pytest.mark.parametrize("seed", range(20))
def test_weights_of_separated_labels_give_an_area_of_1(seed):
    """Rounding made it 1 + 2e-16, for which there is no interval."""
    weight = np.random.default_rng(seed).gamma(2.0, size=20)
    p = np.linspace(0.05, 0.95, 20)[:, None]
    rows = np.hstack([1 - p, p]), (p[:, 0] > 0.5).astype(int)
    result = evaluate(verdicts.Probabilities(2, several=False), *rows, sample_weight=weight)
    assert result["roc_auc"] == 1


@pytest.mark.slow
def test_cross_validated_accuracy_of_100_rows_and_20_features_covers_the_truth():
    assert coverage(case("lda, p = 20"), 100)["cross-validated accuracy"] >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / 400)


@pytest.mark.slow
def test_calibration_error_of_a_miscalibrated_model_covers_the_truth_at_50_rows():
    assert coverage(case("miscalibrated"), 50)["calibration_error"] >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / 400)


def test_verdict_of_a_share_allows_for_its_draws_and_names_an_exception():
    cover = case("40% positive")
    judged = [verdicts._judge(cover, "recall", {50: (share, 800)}, long=True) for share in (0.95, 0.92, 0.90, 0.99)]
    assert [one.passed for one in judged] == [True, True, False, False]
    assert judged[0].figure == "95.0% at 50; 800 draws"
    excepted = verdicts._judge(cover, "calibration_error", {50: (0.99, 800)}, long=True)
    assert excepted.passed
    assert excepted.required == "≥ 93% (exception to 93 to 97%)"
