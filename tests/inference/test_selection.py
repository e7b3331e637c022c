"""`selective_intervals` and `refit_on_support`: truncation limits by brute force, coverage, refits."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import linearly as ly

X, Y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
def test_coverage_is_that_of_the_level(l1_ratio):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 8)) @ (np.eye(8) + 0.2 * rng.normal(size=(8, 8)))
    beta = np.array([1.0, 0.6, 0.3, 0, 0, 0, 0, 0])
    Zc = Z - Z.mean(axis=0)
    covered = []
    for _ in range(250):
        model = ly.ElasticNet(12.0, l1_ratio).fit(Z, Z @ beta + rng.normal(size=60))
        table = ly.selective_intervals(model, sigma=1.0, level=0.8)
        true = np.linalg.lstsq(Zc[:, model.active_], Zc @ beta, rcond=None)[0]
        covered += ((table["conf_low"] <= true) & (true <= table["conf_high"])).tolist()
    assert len(covered) > 600
    assert 0.76 < np.mean(covered) < 0.84


def test_p_values_of_selected_noise_are_uniform_where_naive_ones_are_not():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(50, 10))
    naive, selective = [], []
    for _ in range(250):
        model = ly.ElasticNet(8.0).fit(Z, rng.normal(size=50))
        if len(model.active_):
            selective += ly.selective_intervals(model)["p_value"].tolist()
            naive += ly.tidy(ly.refit_on_support(model))["p_value"][1:].tolist()
    assert np.mean(np.array(naive) < 0.05) > 0.15
    assert 0.02 < np.mean(np.array(selective) < 0.05) < 0.09


def test_the_selection_is_the_same_exactly_between_the_truncation_limits():
    # Move y along the direction of one coefficient: inside its limits the lasso selects the same terms and signs.
    from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
    from linearly.inference import selection

    model = ly.ElasticNet(300.0).fit(X, Y)
    Zc, A = X - X.mean(axis=0), model.active_
    seen = []
    original = selection._TruncatedNormal.mean_with_share

    def record(self, share):
        seen.append(self)
        return original(self, share)

    selection._TruncatedNormal.mean_with_share = record
    try:
        ly.selective_intervals(model)
    finally:
        selection._TruncatedNormal.mean_with_share = original
    loss = QuadraticLoss.of(model.summary_, True)
    for j, law in enumerate(seen[::2]):
        eta = np.linalg.pinv(Zc[:, A])[j]
        unit = loss.y_unit[0] / loss.unit[A[j]]
        for end, side in ((law.low, 1), (law.high, -1)):
            if not np.isfinite(end):
                continue
            for step, same in ((side * 1e-6, True), (-side * 1e-6, False)):
                moved = (end - law.value) * unit + step * abs(end) * unit
                other = ly.ElasticNet(300.0).fit(X, Y + moved * eta / (eta @ eta))
                assert np.array_equal(np.sign(other.coef_), np.sign(model.coef_)) == same


def test_refit_equals_least_squares_on_the_selected_columns():
    model = ly.ElasticNet(300.0).fit(X, Y)
    refit, direct = ly.refit_on_support(model), ly.LinearRegression().fit(X[:, model.active_], Y)
    np.testing.assert_allclose(refit.coef_, direct.coef_, rtol=1e-12)
    np.testing.assert_allclose(refit.std_errors(), direct.std_errors(), rtol=1e-12)
    assert list(ly.tidy(refit)["term"]) == ["Intercept", "x2", "x3", "x6", "x8"]


def test_tidy_of_a_lasso_has_no_p_values():
    table = ly.tidy(ly.ElasticNet(300.0).fit(X, Y))
    assert list(table.columns) == ["term", "estimate"]
    assert "selective_intervals" in str(table)


class TestRefusals:
    def test_a_penalty_chosen_from_the_rows_is_refused(self):
        with pytest.raises(TypeError, match="fixed alpha"):
            ly.selective_intervals(ly.ElasticNetCV().fit(X, Y))

    def test_sigma_is_needed_where_nothing_is_left_to_estimate_it(self):
        rng = np.random.default_rng(0)
        model = ly.ElasticNet(5.0).fit(rng.normal(size=(10, 20)), rng.normal(size=10))
        with pytest.raises(ValueError, match="sigma"):
            ly.selective_intervals(model)

    def test_an_empty_selection_cannot_be_refitted(self):
        with pytest.raises(ValueError, match="at least one coefficient"):
            ly.refit_on_support(ly.ElasticNet(1e9).fit(X, Y))
