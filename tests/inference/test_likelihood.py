"""Likelihood-ratio statistics of logistic regressions."""

import numpy as np
import pytest
from scipy.special import chdtrc, expit

from linearly.inference.likelihood import likelihood_ratio, likelihood_ratio_tests
from linearly.inference.nested_models import compare_models
from linearly.models.logistic_regression import LogisticRegression


def test_a_negative_likelihood_ratio_raises_and_rounding_does_not():
    assert likelihood_ratio(-10.0, -10.0 + 1e-9) == 0.0
    with pytest.raises(ValueError, match="The smaller model fits better"):
        likelihood_ratio(-10.0, -9.9)


def test_likelihood_ratio_tests_correct_few_rows_and_not_many():
    # `linearly selftest verdicts` measures the size with and without.
    rng = np.random.default_rng(22)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000)
    few, many = (likelihood_ratio_tests(LogisticRegression().fit(X[:n], y[:n]), X[:n], y[:n]) for n in (40, 3000))
    assert ((few["correction"] > 1.05) & (few["correction"] < 1.5)).all()
    np.testing.assert_allclose(few["p_value"], chdtrc(1, few["statistic"] / few["correction"]))
    assert (many["correction"] == 1).all()
    assert many.notes == ()


def test_bartlett_factor_is_that_of_the_formula_over_all_pairs_of_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)) * [1, 10, 0.1] + [0, 50, 3]
    y = (rng.random(60) < expit(X[:, 0])).astype(int)
    table = likelihood_ratio_tests(LogisticRegression().fit(X, y), X, y)

    def excess(Z, p):
        v = p * (1 - p)
        H = Z @ np.linalg.solve((Z * v[:, None]).T @ Z, Z.T)
        u, d = v * (1 - 2 * p), np.diag(H)
        return (2 * u @ H**3 @ u + 3 * (u * d) @ H @ (u * d)) / 12 - (v * (1 - 6 * v)) @ d**2 / 4

    Z = np.column_stack([np.ones(60), X - X.mean(axis=0)])
    for j in range(3):
        null = LogisticRegression().fit(np.delete(X, j, 1), y)
        p = null.predict_proba(np.delete(X, j, 1))[:, 1]
        assert table["correction"][j] == pytest.approx(1 + excess(Z, p) - excess(np.delete(Z, j + 1, 1), p), rel=1e-6)


def test_likelihood_ratio_tests_without_correction_state_their_limit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 3, 90)
    table = likelihood_ratio_tests(LogisticRegression().fit(X, y), X, y)
    assert table["correction"].tolist() == [1.0] * 4
    assert any("9 rows per parameter" in note for note in table.notes)


def test_comparison_of_models_with_few_rows_states_its_limit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 16)), rng.integers(0, 2, 100)
    many = compare_models(LogisticRegression().fit(X[:, :1], y), LogisticRegression().fit(X, y))
    assert any("5.88 rows per parameter" in note and "13%" in note for note in many.notes)
    few = compare_models(LogisticRegression().fit(X[:, :1], y), LogisticRegression().fit(X[:, :2], y))
    assert few.notes == ()
