"""Numbers that Stata, R, NIST and gretl computed, as statsmodels ships them for its own tests."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.discrete.tests.results.results_discrete import Anes, Spector
from statsmodels.regression.tests.results import results_grunfeld_ols_robust_cluster as panel
from statsmodels.regression.tests.results import results_macro_ols_robust as macro
from statsmodels.regression.tests.results.results_regression import CCardWLS, Longley

import linearly as ly

FLOAT32 = 1e-6  # Stata's copies of Grunfeld's and Spector's data have seven digits


def constant_last(values):
    """Our order of terms, the constant first, turned into Stata's."""
    return np.roll(values, -1, axis=tuple(range(np.ndim(values))))


def growth():
    data = sm.datasets.macrodata.load_pandas().data
    gdp, investment = (400 * np.diff(np.log(data[name].to_numpy())) for name in ("realgdp", "realinv"))
    return np.column_stack([gdp, data["realint"].to_numpy()[:-1]]), investment


def grunfeld():
    """X, y and the firm of each row; Stata's copy lacks the last firm."""
    data = sm.datasets.grunfeld.load_pandas()
    X = data.exog[["value", "capital"]].to_numpy(dtype=np.float64)[:200]
    return X, data.endog.to_numpy(dtype=np.float64)[:200], data.exog["firm"].astype(str).to_numpy()[:200]


def assert_as_in_stata(model, truth, rel=1e-9):
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], truth.params, rtol=rel)
    np.testing.assert_allclose(constant_last(model.covariance_), truth.cov, rtol=rel)
    np.testing.assert_allclose(constant_last(model.std_errors()[:, 0]), truth.bse, rtol=rel)


# --- least squares --------------------------------------------------------------------------------


def test_robust_as_in_stata():
    X, y = growth()
    model = ly.LinearRegression(covariance="HC1").fit(X, y)
    truth = macro.results_hc0  # Stata's vce(robust), which others call HC1
    assert_as_in_stata(model, truth)
    table = ly.tidy(model)
    np.testing.assert_allclose(constant_last(table["p_value"]), truth.pvalues, rtol=1e-8)
    np.testing.assert_allclose(constant_last(table["statistic"]), truth.tvalues, rtol=1e-8)
    facts = ly.glance(model)
    assert facts["r_squared"] == pytest.approx(truth.r2, rel=1e-12)
    assert facts["adj_r_squared"] == pytest.approx(truth.r2_a, rel=1e-12)
    assert facts["log_likelihood"] == pytest.approx(truth.ll, rel=1e-12)


def test_robust_without_correction_as_in_ivreg2():
    X, y = growth()
    assert_as_in_stata(ly.LinearRegression(covariance="HC0").fit(X, y), macro.results_ivhc0_large)


@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
def test_clusters_as_in_stata():
    X, y, firms = grunfeld()
    model = ly.LinearRegression(covariance="cluster").fit(X, y, groups=firms)
    assert_as_in_stata(model, panel.results_cluster, rel=FLOAT32)


@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
def test_weights_as_in_stata():
    X, y, firms = grunfeld()
    robust = ly.LinearRegression(covariance="HC1").fit(X, y, sample_weight=1 / X[:, 0])
    assert_as_in_stata(robust, panel.results_hc1_wls_small, rel=FLOAT32)
    assert ly.glance(robust)["r_squared"] == pytest.approx(panel.results_hc1_wls_small.r2, rel=FLOAT32)
    clustered = ly.LinearRegression(covariance="cluster").fit(X, y, sample_weight=1 / X[:, 0], groups=firms)
    assert_as_in_stata(clustered, panel.results_cluster_wls_small, rel=FLOAT32)


def test_longley_as_at_nist_and_in_r():
    data, truth = sm.datasets.longley.load_pandas(), Longley()
    X, y = data.exog.to_numpy(), data.endog.to_numpy()
    model = ly.LinearRegression(method="extended").fit(X, y)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], truth.params, rtol=1e-13)
    np.testing.assert_allclose(constant_last(model.std_errors()[:, 0]), truth.bse, rtol=1e-12)
    np.testing.assert_allclose(y - model.predict(X), truth.resid, atol=5e-5)
    facts = ly.glance(model)
    assert facts["f_statistic"] == pytest.approx(truth.fvalue, rel=1e-12)
    assert facts["log_likelihood"] == pytest.approx(truth.llf, abs=5e-4)
    for kind in ("HC0", "HC1", "HC2", "HC3"):
        errors = ly.LinearRegression(covariance=kind).fit(X, y).std_errors()[:, 0]
        np.testing.assert_allclose(constant_last(errors), getattr(truth, f"{kind}_se"), rtol=1e-3, atol=5e-6)


def test_credit_cards_weighted_as_in_stata():
    data, truth = sm.datasets.ccard.load_pandas(), CCardWLS()
    X, y = data.exog.to_numpy(dtype=np.float64), data.endog.to_numpy(dtype=np.float64)
    weight = 1 / data.exog["INCOMESQ"].to_numpy()
    model = ly.LinearRegression().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], truth.params, rtol=1e-8)
    np.testing.assert_allclose(constant_last(model.std_errors()[:, 0]), truth.bse, rtol=1e-8)
    np.testing.assert_allclose(constant_last(ly.tidy(model)["p_value"]), truth.pvalues, rtol=1e-8)
    facts = ly.glance(model)
    assert facts["r_squared"] == pytest.approx(truth.rsquared, rel=1e-10)
    # Stata leaves the weights out of the likelihood; R and we do not.
    assert facts["log_likelihood"] == pytest.approx(truth.llf + 0.5 * np.log(weight / weight.mean()).sum(), rel=1e-10)


# --- logistic regression --------------------------------------------------------------------------


def test_spector_as_in_stata():
    data, truth = sm.datasets.spector.load_pandas(), Spector.logit
    X, y = data.exog.to_numpy(dtype=np.float64), data.endog.to_numpy(dtype=int)
    model = ly.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(np.r_[model.coef_[0], model.intercept_], truth.params, rtol=FLOAT32)
    np.testing.assert_allclose(constant_last(model.covariance_), truth.cov_params, rtol=FLOAT32)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], truth.phat, rtol=FLOAT32)
    assert model.log_likelihood_ == pytest.approx(truth.llf, rel=FLOAT32)
    assert model.null_log_likelihood_ == pytest.approx(truth.llnull, rel=1e-9)
    ratio = 2 * (model.log_likelihood_ - model.null_log_likelihood_)
    assert stats.chi2.sf(ratio, 3) == pytest.approx(truth.llr_pvalue, rel=1e-5)


def test_party_identification_as_in_stata():
    data, truth = sm.datasets.anes96.load_pandas(), Anes.mnlogit_basezero
    X, y = data.exog.to_numpy(dtype=np.float64), data.endog.to_numpy(dtype=int)
    model = ly.LogisticRegression(reference=0).fit(X, y)
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_].T, truth.params, rtol=1e-6, atol=5e-9)
    errors = np.sqrt(np.diagonal(model.covariance_)).reshape(6, 6)  # a row for each logit, the constant first
    np.testing.assert_allclose(np.roll(errors, -1, axis=1).T, truth.bse, rtol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), truth.phat, atol=1e-7)
    assert model.log_likelihood_ == pytest.approx(truth.llf, rel=1e-10)
    assert model.null_log_likelihood_ == pytest.approx(truth.llnull, rel=1e-10)
