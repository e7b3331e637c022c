"""Durbin-Watson against R (tests/golden/lm.R), against known distributions, and split anywhere."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from golden_sets import read_golden
from scipy import stats

from linearly.inference.durbin_watson import EXACT_BELOW, Differences, durbin_watson, exact_p_value

GOLDEN = read_golden("lm")
SERIES = {s["name"]: s for s in GOLDEN["durbin_watson"]}


def basis(columns):
    columns = [np.asarray(c, dtype=float) for c in columns]
    return np.linalg.qr(np.column_stack([np.ones(len(columns[0])), *(c - c.mean() for c in columns)]))[0]


def residuals(y, Q):
    y = np.asarray(y, dtype=float)
    y = y - Q @ (Q.T @ y)
    return y - Q @ (Q.T @ y)


def eigenvalues(Q):
    n = len(Q)
    M = np.eye(n) - Q @ Q.T
    step = np.diff(np.eye(n), axis=0)
    return np.linalg.eigvalsh(M @ step.T @ step @ M)[Q.shape[1] :]


@pytest.mark.parametrize("name", GOLDEN["data"])
def test_as_in_r(name):
    data = GOLDEN["data"][name]
    Q = basis([data["data"][f] for f in data["features"]])
    expected = data["tests"]["durbin_watson"]
    result = durbin_watson(data["fit"]["residuals"], Q)
    assert result.statistic == pytest.approx(expected["statistic"], rel=1e-13)
    assert result.p_value == pytest.approx(expected["p_value"], rel=1e-9)
    assert result.n == len(Q)


@pytest.mark.parametrize("name", SERIES)
def test_series_as_in_r(name):
    s = SERIES[name]
    Q = basis(s["X"].values())
    r = residuals(s["y"], Q)
    result = durbin_watson(r, Q)
    assert result.statistic == pytest.approx(s["statistic"], rel=1e-12)
    assert result.p_value == pytest.approx(s["exact" if len(r) < EXACT_BELOW else "normal"], rel=1e-10)
    assert Differences.of(r, Q).normal_p_value() == pytest.approx(s["normal"], rel=1e-10)
    if name != "airquality":
        assert exact_p_value(result.statistic, eigenvalues(Q)) == pytest.approx(s["exact"], rel=1e-9)


def test_exact_p_value_is_accurate_where_pan_cancels():
    # dwtest(exact = TRUE) says 0.3589 here. The inversion formula in 30 digits says 0.33553254437634933.
    s = SERIES["airquality"]
    assert exact_p_value(s["statistic"], eigenvalues(basis(s["X"].values()))) == pytest.approx(
        0.33553254437634933, rel=1e-12
    )
    assert abs(s["exact"] - 0.33553254437634933) > 0.02


@pytest.mark.parametrize("d", [0.01, 0.3, 1.0, 1.7, 2.0, 2.6, 3.9, 3.999])
def test_two_groups_of_equal_eigenvalues_are_an_f_distribution(d):
    # With ν = 0 (a times) and 4 (b times), D/4 is a Beta(b/2, a/2) variable.
    for a, b in [(1, 1), (2, 3), (5, 1), (8, 8), (40, 50)]:
        p = exact_p_value(d, [0.0] * a + [4.0] * b)
        assert p == pytest.approx(stats.beta.cdf(d / 4.0, b / 2.0, a / 2.0), rel=1e-11, abs=1e-300)


def test_exact_p_value_outside_and_at_the_edge():
    assert exact_p_value(0.5, [1.0, 2.0, 3.0]) == 0.0
    assert exact_p_value(3.5, [1.0, 2.0, 3.0]) == 1.0
    assert np.isnan(exact_p_value(1.0, [1.0]))
    assert np.isnan(exact_p_value(np.nan, [1.0, 2.0]))


def test_exact_p_value_rises_with_d_and_mirrors():
    nu = eigenvalues(basis([np.arange(30.0), np.arange(30.0) ** 2]))
    d = np.linspace(nu.min() + 1e-6, nu.max() - 1e-6, 60)
    p = [exact_p_value(x, nu) for x in d]
    assert np.all(np.diff(p) >= 0)
    assert [1.0 - exact_p_value(4.0 - x, 4.0 - nu) for x in d] == pytest.approx(p, rel=1e-10, abs=1e-15)


def test_p_values_are_uniform_under_independence():
    rng = np.random.default_rng(2)
    for n in (25, 120):
        Q = basis(rng.normal(size=(2, n)))
        p = [durbin_watson(residuals(e, Q), Q).p_value for e in rng.normal(size=(400, n))]
        assert stats.kstest(p, "uniform").pvalue > 0.001


def test_normal_approximation_has_the_moments_of_the_exact_one():
    Q = basis([np.arange(80.0), np.sin(np.arange(80.0))])
    nu = eigenvalues(Q)
    m = len(nu)
    r = residuals(np.random.default_rng(1).normal(size=80), Q)
    d = Differences.of(r, Q).statistic
    sd = np.sqrt(2.0 * (np.sum(nu**2) - np.sum(nu) ** 2 / m) / (m * (m + 2)))
    assert Differences.of(r, Q).normal_p_value() == pytest.approx(stats.norm.cdf(d, nu.mean(), sd), rel=1e-10)


@pytest.mark.parametrize("n", [20, 150])
def test_durbin_watson_is_invariant_to_scale_sign_and_reversal(n):
    Q = basis([np.arange(n)])
    r = residuals(np.cumsum(np.random.default_rng(n).normal(size=n)), Q)
    expected = durbin_watson(r, Q)
    for factor in (-1.0, 1e-3, 12.5):
        assert durbin_watson(factor * r, Q) == pytest.approx(expected, rel=1e-10)
    assert durbin_watson(r[::-1], Q[::-1]) == pytest.approx(expected, rel=1e-10)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    assert durbin_watson(r, Q @ turn) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("cuts", [[1], [2], [3, 4], [1, 2, 3, 4, 5], [40], [119], [118], [1, 119], list(range(1, 120))])
def test_differences_add_up_wherever_rows_are_split(cuts):
    rng = np.random.default_rng(4)
    Q = basis(rng.normal(size=(3, 120)))
    r = residuals(np.cumsum(rng.normal(size=120)), Q)
    whole = Differences.of(r, Q)
    pieces = [Differences.of(a, B) for a, B in zip(np.split(r, cuts), np.split(Q, cuts), strict=True)]
    # + is associative, as a fold in any tree needs, though not commutative.
    for parts in (reduce(add, pieces), reduce(lambda b, a: a + b, pieces[::-1])):
        assert parts.n == 120
        assert parts.statistic == pytest.approx(whole.statistic, rel=1e-13)
        assert parts.normal_p_value() == pytest.approx(whole.normal_p_value(), rel=1e-9)
        np.testing.assert_allclose(parts.turns, whole.turns, atol=1e-12 * np.abs(whole.turns).max())


def test_differences_without_basis_have_a_statistic():
    r = np.array([1.0, -1.0, 2.0, -2.0])
    assert (Differences.of(r[:1]) + Differences.of(r[1:])).statistic == 29.0 / 10.0
    with pytest.raises(ValueError, match="at least one row"):
        Differences.of([])


def test_durbin_watson_of_too_few_rows_is_nan():
    constant = np.full((3, 1), 3**-0.5)
    assert np.isnan(durbin_watson(np.zeros(3), constant)).tolist() == [True, True, False]
    assert np.isnan(durbin_watson([1.0, -1.0], np.full((2, 1), 0.5**0.5)).p_value)
    assert np.isnan(durbin_watson([0.0], np.ones((1, 1))).p_value)
    assert np.isnan(Differences.of(np.zeros(2), np.eye(2)).normal_p_value())
