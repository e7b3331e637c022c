"""Tests of claims on held-out rows: known values, error rates and power."""

import numpy as np
import pytest
from scipy import stats

import linearly as ly
from linearly.evaluation.accumulators import RowScores
from linearly.evaluation.cross_validate import fit_folds
from linearly.evaluation.held_out_tests import (
    PairedCounts,
    PairedLosses,
    calibration_p_value,
    ranking_p_value,
    recalibration_p_value,
)


def test_baseline_test_is_mcnemar_with_mid_p():
    counts = np.array([[30.0, 20.0], [5.0, 45.0]])  # a tie: the first label counts as the most frequent
    paired = PairedCounts.of(counts)
    assert paired == (45, 20)
    sizes = np.arange(46, 66)
    expected = stats.binom.pmf(sizes, 65, 0.5).sum() + stats.binom.pmf(45, 65, 0.5) / 2
    assert paired.p_values()[0] == pytest.approx(expected, rel=1e-10)
    assert paired.p_values()[0] + paired.p_values()[1] == pytest.approx(1)
    doubled = PairedCounts.of(2 * counts, 100)  # weights of 2 are no further rows
    assert doubled == pytest.approx(paired)


def test_recalibration_test_is_the_score_test_of_intercept_and_slope():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 200)
    y = rng.random(200) < p
    x = np.column_stack([np.ones(200), np.log(p / (1 - p))])
    score, information = x.T @ (y - p), x.T * (p * (1 - p)) @ x
    expected = stats.chi2.sf(score @ np.linalg.solve(information, score), 2)
    assert recalibration_p_value(p, y, np.ones(200)) == pytest.approx(expected, rel=1e-9)
    assert recalibration_p_value(p[:8], y[:8], np.ones(8)) is None  # too few rows to say


def test_recalibration_test_holds_its_level_and_finds_overconfidence():
    rng = np.random.default_rng(1)
    alarms, found = 0, 0
    for _ in range(2000):
        logit = rng.normal(-1, 1.5, 100)
        y = rng.random(100) < 1 / (1 + np.exp(-logit))
        alarms += recalibration_p_value(1 / (1 + np.exp(-logit)), y, np.ones(100)) < 0.05
        found += recalibration_p_value(1 / (1 + np.exp(-2 * logit)), y, np.ones(100)) < 0.05
    assert alarms <= 0.06 * 2000
    assert found >= 0.9 * 2000


def noise(rng, n, p, effect=0.0):
    X = rng.standard_normal((n, p))
    return X, (rng.random(n) < 1 / (1 + np.exp(-effect * X[:, 0]))).astype(int)


@pytest.mark.parametrize(
    ("model", "n", "p"),
    [
        (ly.LogisticRegression(1e-6), 50, 5),
        (ly.LogisticRegression(1e-6), 100, 10),
        (ly.QuadraticDiscriminantAnalysis(), 200, 8),
    ],
    ids=["logistic 50", "logistic 100", "qda 200"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_noise_is_not_called_better_than_the_most_frequent_label(model, n, p):
    """On training rows it was, in 26%, 55% and 98.5% of the samples."""
    rng, better, ranked, repeats = np.random.default_rng(5), 0, 0, 40
    for _ in range(repeats):
        fitted = fit_folds(model, *noise(rng, n, p))
        counts = fitted.scores().counts.total()
        better += PairedCounts.of(counts.counts).p_values()[0] < 0.05
        ranked += ranking_p_value(fitted.evaluation().row_scores, fitted.test_widening) < 0.05
    assert better <= 0.06 * repeats
    assert ranked <= 0.125 * repeats  # 6% and two standard errors of 40 samples


def test_a_real_effect_is_called_better_than_the_most_frequent_label():
    rng, found = np.random.default_rng(6), 0
    for _ in range(40):
        counts = fit_folds(ly.LinearDiscriminantAnalysis(), *noise(rng, 200, 8, effect=1.5)).scores().counts.total()
        found += PairedCounts.of(counts.counts).p_values()[0] < 0.05
    assert found >= 36


def test_true_probabilities_of_three_labels_are_not_called_miscalibrated():
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(400):
        p = rng.dirichlet([1.0, 1.0, 1.0], 150)
        actual = (rng.random((150, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
        alarms += calibration_p_value(RowScores(p, actual, p.argmax(axis=1), np.ones(150)), 3) < 0.05
    assert alarms <= 0.08 * 400  # 5% and three standard errors of 400 samples


def test_equal_models_are_not_called_worse_than_the_best():
    """Nine classifiers, each with noise columns of its own: 43% of such comparisons named a worse one."""
    rng, alarms, repeats = np.random.default_rng(3), 0, 20
    for _ in range(repeats):
        y = rng.integers(0, 2, 100)
        models = [fit_folds(ly.LinearDiscriminantAnalysis(), rng.standard_normal((100, 3)), y) for _ in range(9)]
        losses = np.stack([np.concatenate([m.losses(block) for block in m.rows]) for m in models], axis=1)
        alarms += (PairedLosses.of(losses, np.ones(100)).behind_best(models[0].test_widening)[1] < 0.05).any()
    assert alarms <= 0.06 * repeats


def test_a_worse_model_is_called_worse_and_a_copy_is_not():
    rng = np.random.default_rng(4)
    good = (rng.random(300) < 0.2).astype(float)
    bad = (rng.random(300) < 0.4).astype(float)
    behind, p = PairedLosses.of(np.column_stack([bad, good, good]), np.ones(300)).behind_best(1.5)
    assert behind == pytest.approx([bad.mean() - good.mean(), 0, 0])
    assert p[0] < 0.05
    assert (p[1:] == 1).all()


def test_studentized_range_agrees_with_tukey():
    """For equal, independent variances the largest difference is Tukey's studentized range over √2."""
    rng = np.random.default_rng(0)
    losses = rng.standard_normal((40, 4))
    losses = np.linalg.qr(losses - losses.mean(axis=0))[0] * np.sqrt(39)  # exactly uncorrelated, of variance 1
    losses[:, 0] += 0.6
    behind, p = PairedLosses.of(losses, np.ones(40)).behind_best(1.0)
    statistic = behind[0] / np.sqrt(2 / 40)
    assert p[0] == pytest.approx(stats.studentized_range.sf(statistic * np.sqrt(2), 4, 39), abs=0.01)
