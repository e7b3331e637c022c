"""Tests of normality against R (tests/golden/lm.R) and against their own symmetries."""

import numpy as np
import pytest
from golden_sets import read_golden
from scipy import stats

from linearly.inference.normality import (
    _lilliefors_p_value,
    anderson_darling,
    evenly_spaced,
    lilliefors,
    normality_verdict,
    shapiro_wilk,
)

GOLDEN = read_golden("lm")
SAMPLES = [(name, s["fit"]["residuals"], s["tests"]) for name, s in GOLDEN["data"].items()]
SAMPLES += [(s["name"], s["x"], s) for s in GOLDEN["normality"]]
TESTS = {"shapiro_wilk": shapiro_wilk, "lilliefors": lilliefors, "anderson_darling": anderson_darling}


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(("x", "expected"), [pytest.param(x, e, id=label) for label, x, e in SAMPLES])
def test_as_in_r(name, x, expected):
    result = TESTS[name](x)
    assert result.n == len(x)
    if name in expected:
        assert result.statistic == pytest.approx(expected[name]["statistic"], rel=1e-12, abs=0)
        assert result.p_value == pytest.approx(expected[name]["p_value"], rel=1e-12, abs=1e-300)
    else:  # nortest refuses fewer than 5 and 8 rows
        assert np.isnan(result.statistic)
        assert np.isnan(result.p_value)


def test_golden_reaches_every_branch():
    z = [s["lilliefors"]["p_value"] for _, _, s in SAMPLES if "lilliefors" in s]
    assert min(z) < 0.1 < sorted(z)[len(z) // 2]
    assert max(z) == 1.0
    n_and_A = [(len(x), s["anderson_darling"]["statistic"]) for _, x, s in SAMPLES if "anderson_darling" in s]
    modified = [A * (1 + 0.75 / n + 2.25 / n**2) for n, A in n_and_A]
    assert np.all(np.histogram(modified, [0, 0.2, 0.34, 0.6, 10, np.inf])[0])
    assert {3, 4, 5, 7, 11, 12} <= {len(x) for _, x, _ in SAMPLES}


@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
class TestLaws:
    x = np.random.default_rng(3).gamma(3.0, size=60)

    def test_shift_and_scale_do_not_matter(self, test):
        expected = test(self.x)
        for scale, shift in [(1e-3, 0.0), (1.0, -40.0), (7.0, 5.0), (1e200, 0.0), (1e-200, 0.0)]:
            assert test(scale * self.x + shift) == pytest.approx(expected, rel=1e-10)

    def test_powers_of_two_change_no_bit(self, test):
        assert test(self.x * 2.0**-900) == test(self.x)

    def test_sign_and_order_do_not_matter(self, test):
        expected = test(self.x)
        assert test(-self.x) == pytest.approx(expected, rel=1e-12)
        assert test(np.random.default_rng(0).permutation(self.x)) == expected

    def test_normal_quantiles_are_normal_and_an_outlier_is_not(self, test):
        x = stats.norm.ppf((np.arange(50) + 0.5) / 50)
        assert test(x).p_value > 0.99
        assert test([*x, 40.0]).p_value < 1e-6

    def test_p_values_are_uniform_under_normality(self, test):
        rng = np.random.default_rng(11)
        p = np.array([test(rng.normal(size=30)).p_value for _ in range(1000)])
        # 3 standard deviations of a share among 1000, and the formulas' own third digit
        for level in (0.01, 0.05, 0.1, 0.3):
            slack = 3.2 * np.sqrt(level / 1000) + 0.005
            assert np.mean(p < level) == pytest.approx(level, abs=slack)

    @pytest.mark.parametrize("x", [[], [1.0], [2.0] * 20, [0.0] * 20, [np.nan] * 20, [*range(20), np.inf]])
    def test_durbin_watson_of_too_few_rows_is_nan(self, test, x):
        result = test(x)
        assert result.n == len(x)
        assert np.isnan(result.statistic)
        assert np.isnan(result.p_value)


def test_shapiro_wilk_uses_at_most_5000_rows():
    x = np.random.default_rng(5).normal(size=12_345)
    assert shapiro_wilk(x) == shapiro_wilk(x[evenly_spaced(12_345)])
    assert shapiro_wilk(x).n == 5000
    assert shapiro_wilk(x[:5000]).n == 5000
    assert lilliefors(x).n == anderson_darling(x).n == 12_345
    assert np.isnan(shapiro_wilk(np.zeros(9000)).p_value)


@pytest.mark.parametrize("n", [0, 1, 2, 4999, 5000])
def test_evenly_spaced_few_rows_are_all_rows(n):
    np.testing.assert_array_equal(evenly_spaced(n), np.arange(n))


@pytest.mark.parametrize("n", [5001, 7777, 10**6])
def test_evenly_spaced_many_rows_are_5000_at_equal_distances(n):
    rows = evenly_spaced(n)
    assert len(np.unique(rows)) == len(rows) == 5000
    assert np.ptp(np.diff(rows)) <= 1
    assert 0 <= rows[0] <= rows[-1] < n
    assert abs(rows[0] - (n - 1 - rows[-1])) <= 1


def test_close_to_scipy():
    x = np.random.default_rng(8).standard_t(4, size=300)
    ours, theirs = shapiro_wilk(x), stats.shapiro(x)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-8)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-6)


@pytest.mark.parametrize(
    ("D", "n", "p"),
    [
        (0.00020120101231591025, 20007245, 0.047379615565635191),
        (0.00020417101001268811, 20007352, 0.042491601215240982),
        (0.00020739078387821408, 20007468, 0.093203902925578674),
    ],
)
def test_lilliefors_with_millions_of_rows_is_as_in_r(D, n, p):
    # nortest 1.0.4 on qnorm(((1:2e7) - 0.5) / 2e7) followed by thousands of copies of 0.3.
    assert _lilliefors_p_value(D, n) == pytest.approx(p, rel=1e-10)


@pytest.mark.parametrize(("n", "tested"), [(7, False), (8, True), (5000, True), (5001, False)])
def test_normality_verdict_is_shapiro_wilk_from_8_to_5000_rows(n, tested):
    r = np.random.default_rng(n).normal(size=n)
    verdict = normality_verdict(r)
    assert (verdict is not None) == tested
    if tested:
        assert verdict == ("shapiro_wilk", *shapiro_wilk(r))
