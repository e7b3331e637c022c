"""Small-sample, two-way and HAC covariances: R's numbers, every source, the model file, and the size of the tests."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from golden_sets import read_golden

import linearly as ly
from linearly.inference.coefficients import coefficients_of
from linearly.selftest.rationals import inverse as rational_inverse

GOLDEN = read_golden("covariances")
DATA = {name: np.array(values) for name, values in read_golden("robust")["data"].items()}
DATA["second"] = (np.arange(1, 241) * 11) % 7
X = np.column_stack([DATA["x1"], DATA["x2"]])
pytestmark = pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")


def small_fit(covariance, weighted):
    groups = {"groups": DATA["group"][:60]} if covariance.startswith("CR") else {}
    weight = DATA["w"][:60] if weighted == "weighted" else None
    return ly.LinearRegression(covariance=covariance).fit(X[:60], DATA["y"][:60], weight, **groups)


@pytest.mark.parametrize("covariance", ["HC2", "HC3", "CR2", "CR3"])
@pytest.mark.parametrize("weighted", ["plain", "weighted"])
class TestClubSandwich:
    def test_tidy_has_its_degrees_of_freedom(self, covariance, weighted):
        model, expected = small_fit(covariance, weighted), GOLDEN["small"][weighted][covariance]
        table = ly.tidy(model)
        np.testing.assert_allclose(model.covariance_, expected["covariance"], rtol=1e-8)
        np.testing.assert_allclose(table["df"], expected["df"], rtol=1e-8)
        np.testing.assert_allclose(table["p_value"], expected["p_value"], rtol=1e-7)

    def test_glance_has_its_hotelling_test(self, covariance, weighted):
        row, expected = ly.glance(small_fit(covariance, weighted)).row(0), GOLDEN["small"][weighted][covariance]
        assert row["f_statistic"] == pytest.approx(expected["f"], rel=1e-8)
        assert row["df_f"] == pytest.approx(expected["df_f"], rel=1e-8)
        assert row["p_value"] == pytest.approx(expected["f_p_value"], rel=1e-7)

    def test_a_contrast_has_its_degrees_of_freedom(self, covariance, weighted):
        coefficients = coefficients_of(small_fit(covariance, weighted), "test")
        contrast = np.array([[0.0, 1.0, -1.0]])
        found = coefficients.t_dof(contrast, coefficients.combine(contrast)[1])
        np.testing.assert_allclose(found, GOLDEN["small"][weighted][covariance]["contrast_df"], rtol=1e-8)


def exact_dof(X, power):
    """Return Bell and McCaffrey's degrees of freedom of each term for clusters of one row, by rationals."""
    D = np.array([[Fraction(1), *map(Fraction, row)] for row in X.tolist()], dtype=object)
    inverse = np.array(rational_inverse((D.T @ D).tolist()), dtype=object)
    rest = np.identity(len(D), dtype=int) - D @ inverse @ D.T
    share = (1 / np.diagonal(rest)) ** power
    for along in (D @ inverse).T:
        scores = along**2 * share
        spread = scores @ rest**2 @ scores
        yield float((scores * np.diagonal(rest)).sum() ** 2 / spread)


@pytest.mark.parametrize("covariance", ["HC2", "HC3", "CR2", "CR3"])
@pytest.mark.parametrize("far", [1e3, 1e4, 3e4])
def test_row_that_nearly_determines_a_term_has_the_exact_degrees_of_freedom(covariance, far):
    x = np.array([far, 0.3, -1.1, 0.7, 1.9, -0.4, 0.2, -1.6])
    X = np.column_stack([x, [0.5, -3 * far / 1e3, 1.2, 0.1, -0.8, 0.9, -0.3, 1.4]])
    y = np.arange(8) % 3 + X[:, 1]
    groups = {"groups": np.arange(8)} if covariance.startswith("CR") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ly.PrecisionWarning)
        model = ly.LinearRegression(covariance=covariance, method="extended").fit(X, y, **groups)
    power = 1 if covariance.endswith("2") else 2
    np.testing.assert_allclose(ly.tidy(model)["df"], list(exact_dof(X, power)), rtol=1e-6)
    assert 0.5 <= ly.glance(model)["df_f"][0] <= 8


def exact_weighted_dof(X, weight, group, covariance):
    """Return the degrees of freedom of each term and of the F test for errors of equal variance, by rationals.

    The inverse root of CR2 is rational up to a factor for clusters of one row.
    """
    D = np.array([[Fraction(1), *map(Fraction, row)] for row in X.tolist()], dtype=object)
    weighted = D * np.array(list(map(Fraction, weight.tolist())), dtype=object)[:, None]
    M = np.array(rational_inverse((D.T @ weighted).tolist()), dtype=object)
    rest = np.identity(len(D), dtype=int) - D @ M @ weighted.T
    scores, factors = [], []
    for g in np.unique(group):
        own = np.flatnonzero(group == g)
        score = M @ weighted[own].T
        if covariance == "CR3":
            score = score @ np.array(rational_inverse(rest[np.ix_(own, own)].tolist()), dtype=object)
            factors.append(Fraction(1))
        else:
            assert len(own) == 1
            factors.append(1 / (rest[own[0]] @ rest[own[0]]))
        scores.append(score @ rest[own])
    mean = sum(f * s @ s.T for f, s in zip(factors, scores, strict=True))
    Z = np.array(rational_inverse(mean[1:, 1:].tolist()), dtype=object)
    spread, total, q = 0, 0, len(Z)
    for a, one in zip(factors, scores, strict=True):
        for b, other in zip(factors, scores, strict=True):
            C = one @ other.T
            spread = spread + a * b * np.diagonal(C) ** 2
            C = Z @ C[1:, 1:]
            total += a * b * (np.trace(C) ** 2 + np.trace(C @ C))
    return (np.diagonal(mean) ** 2 / spread).astype(float), float(q * (q + 1) / total) - q + 1


@pytest.mark.parametrize(("covariance", "clusters"), [("CR2", 10), ("CR3", 10), ("CR3", 5)])
@pytest.mark.parametrize(("far", "tolerance"), [(1, 1e-10), (1e2, 1e-9), (1e4, 1e-6), (3e4, 1e-5)])
@pytest.mark.parametrize("other", [1, -0.5])
def test_weighted_clusters_that_nearly_determine_a_term_have_the_exact_degrees_of_freedom(
    covariance, clusters, far, tolerance, other
):
    rng = np.random.default_rng(clusters)
    X, weight, group = rng.normal(size=(10, 2)), rng.uniform(0.5, 2, 10), np.arange(10) % clusters
    X[0] *= far
    X[1, 1] *= other * far if other < 0 else 1
    y = X.sum(axis=1) + rng.normal(size=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ly.PrecisionWarning)
        model = ly.LinearRegression(covariance=covariance).fit(X, y, weight, groups=group)
    terms, f_test = exact_weighted_dof(X, weight, group, covariance)
    np.testing.assert_allclose(ly.tidy(model)["df"], terms, rtol=tolerance)
    assert ly.glance(model)["df_f"][0] == pytest.approx(f_test, rel=tolerance)


def test_model_file_keeps_the_degrees_of_freedom_of_a_cluster_that_nearly_determines_a_term(tmp_path):
    frame = FRAME[:40].copy()
    frame.loc[0, "x1"] *= 1e4
    options = {"formula": "y ~ x1 + x2", "weight": "w", "groups": "group", "covariance": "CR3"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ly.PrecisionWarning)
        model = ly.fit(frame, **options)
        model.save(tmp_path / "model.json")
        loaded = ly.load(tmp_path / "model.json")
    assert len(model.estimator.small_sample_.moments.high_variances) > 0
    np.testing.assert_array_equal(loaded.tidy()["df"], model.tidy()["df"])
    joint = [one.estimator.small_sample_.moments.joint_dof(np.eye(3)) for one in (model, loaded)]
    assert joint[0] == joint[1]


@pytest.mark.parametrize("lags", [0, 3, 7])
def test_hac_is_newey_west(lags):
    model = ly.LinearRegression(covariance="HAC", lags=lags).fit(X, DATA["y"])
    np.testing.assert_allclose(model.covariance_, GOLDEN["hac"][f"lag{lags}"], rtol=1e-8)


def test_hac_without_lags_uses_the_rule_of_thumb():
    model = ly.LinearRegression(covariance="HAC").fit(X, DATA["y"])
    assert model.lags_ == int(4 * (240 / 100) ** (2 / 9))


@pytest.mark.parametrize("covariance", ["CR0", "CR1", "CR2", "CR3"])
def test_clustered_covariances_are_those_of_club_sandwich(covariance):
    model = ly.LinearRegression(covariance=covariance).fit(X, DATA["y"], groups=DATA["group"])
    np.testing.assert_allclose(model.covariance_, GOLDEN["clusters"][covariance], rtol=1e-8)


@pytest.mark.parametrize("covariance", ["CR0", "CR1"])
def test_two_way_clusters_are_vcov_cl(covariance):
    both = np.column_stack([DATA["group"], DATA["second"]])
    model = ly.LinearRegression(covariance=covariance).fit(X, DATA["y"], groups=both)
    np.testing.assert_allclose(model.covariance_, GOLDEN["twoway"][covariance], rtol=1e-8)
    assert model.n_clusters_ == 7


def test_logistic_covariances_are_those_of_sandwich_and_club_sandwich():
    expected = GOLDEN["glm"]
    both = np.column_stack([DATA["group"], DATA["second"]])
    cases = {"HC2": {}, "HC3": {}, "HAC": {}, "twoway": {"groups": both}}
    for name, more in cases.items():
        covariance, lags = ("CR1" if name == "twoway" else name), (3 if name == "HAC" else None)
        model = ly.LogisticRegression(covariance=covariance, lags=lags).fit(X, DATA["label"], **more)
        np.testing.assert_allclose(model.covariance_, expected[name], rtol=1e-8, err_msg=name)
    model = ly.LogisticRegression(covariance="CR3").fit(X, DATA["label"], groups=DATA["group"])
    np.testing.assert_allclose(model.covariance_, expected["CR3"], rtol=1e-8)


SUCCESSES = np.minimum(3 + np.arange(1, 241) % 5, (np.arange(1, 241) * 7) % 6 * (1 + DATA["label"]) // 2)
COUNTS = pd.DataFrame({"x1": DATA["x1"], "x2": DATA["x2"], "k": SUCCESSES, "group": DATA["group"] % 24}).assign(
    rest=3 + np.arange(1, 241) % 5 - SUCCESSES
)


def clustered_logit(case, covariance):
    if case == "counts":
        return ly.fit(
            COUNTS, formula="cbind(k, rest) ~ x1 + x2", model="logistic", covariance=covariance, groups="group"
        ).estimator
    weight = DATA["w"] if case == "weighted" else None
    return ly.LogisticRegression(covariance=covariance).fit(X, DATA["label"], weight, groups=DATA["group"])


@pytest.mark.parametrize("covariance", ["CR2", "CR3"])
@pytest.mark.parametrize("case", ["plain", "weighted", "counts"])
def test_logistic_covariance_and_degrees_of_freedom_are_those_of_club_sandwich(case, covariance):
    model, expected = clustered_logit(case, covariance), GOLDEN["logit"][case][covariance]
    np.testing.assert_allclose(model.covariance_, expected["covariance"], rtol=1e-8)
    np.testing.assert_allclose(ly.tidy(model)["df"], expected["df"], rtol=1e-8)


def cr2_by_definition(X, y, group, weight):
    """Return CR2 of a logistic fit and the covariance of its scores, by matrices of all rows of a cluster."""
    Z = np.column_stack([np.ones(len(y)), X])
    fit = ly.LogisticRegression().fit(X, y, weight)
    p = fit.predict_proba(X)[:, 1]
    theta = p * (1 - p) / weight
    D = Z * (p * (1 - p))[:, None]
    M = np.linalg.pinv(D.T / theta @ D, hermitian=True)
    meat = 0.0
    for g in np.unique(group):
        own = group == g
        values, vectors = np.linalg.eigh(
            np.sqrt(np.outer(theta[own], theta[own])) * (np.diag(theta[own]) - D[own] @ M @ D[own].T)
        )
        root = (vectors[:, values > 1e-12] / np.sqrt(values[values > 1e-12])) @ vectors[:, values > 1e-12].T
        score = D[own].T / np.sqrt(theta[own]) @ root @ (np.sqrt(theta[own]) * (y[own] - p[own]))
        meat = meat + np.outer(score, score)
    return M @ meat @ M


def test_logistic_cr2_with_an_intercept_per_cluster_keeps_the_slope():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(8), 12)
    x = rng.normal(size=96) * 1.5
    dummies = (group[:, None] == np.arange(1, 8)).astype(float)
    y = (rng.random(96) < 1 / (1 + np.exp(-x - 0.2 * group + 0.5))).astype(int)
    weight = rng.uniform(0.5, 2, 96)
    design = np.column_stack([x, dummies])
    model = ly.LogisticRegression(covariance="CR2").fit(design, y, weight, groups=group)
    expected = cr2_by_definition(design, y, group, weight)
    assert model.covariance_[1, 1] == pytest.approx(expected[1, 1], rel=1e-8)
    assert 1 < ly.tidy(model)["df"][1] < 8


def test_logistic_cr2_is_the_same_in_portions_and_any_blocks(monkeypatch, tmp_path):
    from linearly.algorithm.logistic import cluster_roots

    frame = pd.DataFrame({name: DATA[name] for name in ("x1", "x2", "label", "w", "group")})
    options = {"formula": "label ~ x1 + x2", "model": "logistic", "weight": "w", "groups": "group", "covariance": "CR2"}
    expected = ly.fit(frame, **options)
    monkeypatch.setattr(cluster_roots, "_MAX_SUMS", 7 * 1000)
    monkeypatch.setattr(cluster_roots, "_MAX_WEIGHTS", 100)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=37)
    expected.save(tmp_path / "model.json")
    for model in (ly.fit(tmp_path / "rows.parquet", **options), ly.load(tmp_path / "model.json")):
        for name in ("std_error", "df", "p_value"):
            np.testing.assert_allclose(model.tidy()[name], expected.tidy()[name], rtol=1e-9)


@pytest.mark.parametrize("smallest", [1.0, 0.3, 1e-4, 1e-16, 1e-28])
def test_rule_for_the_inverse_root_has_all_digits(smallest):
    from linearly.algorithm.logistic.cluster_roots import inverse_root_rule

    points, weights = inverse_root_rule(smallest)
    eigenvalues = np.geomspace(smallest, 1, 300)
    found = (weights / (eigenvalues[:, None] + points**2)).sum(axis=1)
    np.testing.assert_allclose(found, eigenvalues**-0.5, rtol=1e-14)


def equal_variance_dof(X, weight, group):
    """Return the degrees of freedom of CR2 of a weighted fit for errors of equal variance, by n × n matrices."""
    n = len(X)
    M = np.linalg.inv(X.T * weight @ X)
    rest = np.eye(n) - X @ M @ X.T * weight
    G = rest @ rest.T
    rows = []
    for g in np.unique(group):
        own = group == g
        values, vectors = np.linalg.eigh(G[np.ix_(own, own)])
        rows.append((M @ X[own].T * weight[own]) @ (vectors / np.sqrt(values)) @ vectors.T @ rest[own])
    P = np.einsum("gtn,htn->tgh", np.array(rows), np.array(rows))
    return np.trace(P, axis1=1, axis2=2) ** 2 / (P**2).sum(axis=(1, 2))


@pytest.mark.parametrize("far", [1, 300])
@pytest.mark.parametrize("terms", [4, 30])
def test_weighted_cr2_has_the_degrees_of_freedom_of_its_definition(terms, far):
    rng = np.random.default_rng(terms)
    n = 60 * terms // 4
    rows, weight, group = rng.normal(size=(n, terms - 1)), np.exp(rng.normal(size=n)), rng.integers(0, n // 5, n)
    rows[0] *= far
    model = ly.LinearRegression(covariance="CR2").fit(rows, rng.normal(size=n), weight * 1e6, groups=group)
    expected = equal_variance_dof(np.column_stack([np.ones(n), rows]), weight, group)
    np.testing.assert_allclose(ly.tidy(model)["df"], expected, rtol=1e-8)


# --- every source and the model file --------------------------------------------------------------

FRAME = pd.DataFrame({name: DATA[name] for name in ("x1", "x2", "y", "w", "group", "second")})


@pytest.mark.parametrize(
    ("covariance", "more"),
    [
        ("HC3", {}),
        ("HAC", {"lags": 5}),
        ("CR2", {"groups": "group"}),
        ("CR2", {"groups": "group", "weight": "w"}),
        ("CR3", {"groups": ["group"]}),
        ("CR1", {"groups": ["group", "second"]}),
    ],
)
def test_every_source_and_the_file_give_the_same_table(covariance, more, tmp_path):
    options = {"formula": "y ~ x1 + x2", "covariance": covariance, **more}
    model = ly.fit(FRAME, **options)
    FRAME.to_parquet(tmp_path / "rows.parquet", row_group_size=37)
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    model.save(tmp_path / "model.json")
    others = [ly.fit(tmp_path / "rows.parquet", **options), ly.fit(tmp_path / "rows.csv", **options)]
    for other in (*others, ly.load(tmp_path / "model.json")):
        for name in model.tidy().columns[1:]:
            np.testing.assert_allclose(other.tidy()[name], model.tidy()[name], rtol=1e-9, err_msg=name)
        assert other.glance()["p_value"][0] == pytest.approx(model.glance()["p_value"][0], rel=1e-9)
    loaded = ly.load(tmp_path / "model.json")
    expected = model.predict_interval(FRAME[:5])
    for name in expected.columns:
        np.testing.assert_allclose(loaded.predict_interval(FRAME[:5])[name], expected[name], rtol=1e-12)


def test_dask_blocks_give_the_same_hac_and_clusters():
    dask = pytest.importorskip("dask.dataframe")
    for options in ({"covariance": "HAC", "lags": 5}, {"covariance": "CR2", "groups": "group"}):
        here = ly.fit(FRAME, formula="y ~ x1 + x2", **options).tidy()
        there = ly.fit(dask.from_pandas(FRAME, npartitions=9), formula="y ~ x1 + x2", **options).tidy()
        np.testing.assert_allclose(there["std_error"], here["std_error"], rtol=1e-9)


# --- rows and groups that determine a term alone ---------------------------------------------------


def test_hc3_with_a_singleton_level_loses_only_the_terms_of_that_level():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "kind": ["a"] * 20 + ["b"] * 19 + ["c"], "y": rng.normal(size=40)})
    with pytest.warns(np.exceptions.RankWarning, match=r"kind\[c\] has no standard error with HC3"):
        model = ly.fit(frame, target="y", covariance="HC3")
    table = model.tidy()
    assert np.isnan(table["std_error"]).tolist() == [False, False, False, True]
    without = ly.fit(frame[:39], target="y", covariance="HC3")
    for name in ("std_error", "df", "p_value"):
        np.testing.assert_allclose(table[name][:3], without.tidy()[name], rtol=1e-9)
    assert model.glance()["p_value"][0] == pytest.approx(without.glance()["p_value"][0], rel=1e-8)
    ends = model.predict_interval(frame[[True] * 1 + [False] * 38 + [True]])
    assert np.isnan(ends["low"]).tolist() == [False, True]


def test_cr2_with_a_dummy_per_cluster_keeps_the_slope():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=60), "g": np.repeat(list("abcdefghij"), 6), "y": rng.normal(size=60)})
    with pytest.warns(np.exceptions.RankWarning, match="a single group"):
        table = ly.fit(frame, formula="y ~ x + g", groups="g", covariance="CR2").tidy()
    assert np.flatnonzero(np.isfinite(table["std_error"])).tolist() == [1]


@pytest.mark.parametrize("covariance", ["CR2", "CR3"])
def test_weighted_fit_with_a_term_that_a_group_determines_is_that_without_the_group(covariance):
    rng = np.random.default_rng(7)
    rows, y, weight, groups = rng.normal(size=(60, 2)), rng.normal(size=60), rng.uniform(0.2, 3, 60), np.arange(60) % 9
    groups[0] = 99
    design = np.column_stack([rows, np.arange(60) == 0]).astype(float)
    with pytest.warns(np.exceptions.RankWarning, match="a single group"):
        model = ly.LinearRegression(covariance=covariance).fit(design, y, weight, groups=groups)
    without = ly.LinearRegression(covariance=covariance).fit(rows[1:], y[1:], weight[1:], groups=groups[1:])
    for name in ("std_error", "df"):
        np.testing.assert_allclose(ly.tidy(model)[name][:3], ly.tidy(without)[name], rtol=1e-9)
    assert np.isnan(ly.tidy(model)["std_error"][3])
    assert ly.glance(model)["p_value"][0] == pytest.approx(ly.glance(without)["p_value"][0], rel=1e-8)


def test_weighted_cr2_of_several_targets_is_that_of_each():
    rng = np.random.default_rng(8)
    rows, Y, weight = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), rng.uniform(0.2, 3, 60)
    groups = np.arange(60) % 9
    both = ly.LinearRegression(covariance="CR2").fit(rows, Y, weight, groups=groups)
    for t in range(2):
        one = ly.LinearRegression(covariance="CR2").fit(rows, Y[:, t], weight, groups=groups)
        np.testing.assert_allclose(both.covariance_[t], one.covariance_, rtol=1e-10)


# --- size -----------------------------------------------------------------------------------------


def rejections(make_rows, covariance, term, repeats=400, seed=0):
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [ly.LinearRegression(covariance=covariance).fit(*make_rows(rng)) for _ in range(repeats)]
    if term is None:
        return float(np.mean([ly.glance(model)["p_value"][0] < 0.05 for model in found]))
    return float(np.mean([ly.tidy(model)["p_value"][term] < 0.05 for model in found]))


def few_rows_in_a_level(m):
    def make(rng):
        rows = np.column_stack([np.arange(100) < m, rng.normal(size=100)]).astype(float)
        return rows, rng.normal(size=100)

    return make


def lognormal(rng):
    x = rng.lognormal(size=(100, 1))
    return x, rng.normal(size=100) * (0.2 + x[:, 0])


def many_columns(n):
    return lambda rng: (rng.normal(size=(n, 20)), rng.normal(size=n))


@pytest.mark.parametrize(
    ("make_rows", "term"),
    [
        *((few_rows_in_a_level(m), 1) for m in (2, 3, 5)),
        (lognormal, 1),
        (many_columns(100), None),
        (many_columns(60), None),
    ],
)
def test_hc3_rejects_a_true_hypothesis_in_at_most_6_percent(make_rows, term):
    # 400 draws: 0.0827 is 6% plus two standard errors.
    assert rejections(make_rows, "HC3", term) <= 0.0827


def test_many_terms_have_conservative_degrees_of_freedom():
    rng = np.random.default_rng(5)
    rows, y = rng.normal(size=(90, 30)), rng.normal(size=90)
    model = ly.LinearRegression(covariance="HC3").fit(rows, y)
    A = np.column_stack([np.ones(90), rows])
    Q, R = np.linalg.qr(A)
    h = (Q**2).sum(axis=1)
    directions = np.linalg.inv(R)
    d = (Q @ directions.T) ** 2 / (1 - h)[:, None] ** 2
    M2 = (np.eye(90) - Q @ Q.T) ** 2
    exact = ((1 - h) @ d) ** 2 / np.einsum("it,ij,jt->t", d, M2, d)
    assert model.small_sample_.moments is None
    assert (ly.tidy(model)["df"] <= exact * (1 + 1e-9)).all()
    assert (ly.tidy(model)["df"] >= exact / 2).all()


def test_many_rows_leave_out_those_of_small_leverage_safely(monkeypatch):
    from linearly.algorithm.least_squares import sandwich

    rng = np.random.default_rng(6)
    rows = rng.normal(size=(3000, 3))
    rows[:4] *= 30
    y = rng.normal(size=3000)
    exact = ly.tidy(ly.LinearRegression(covariance="HC3").fit(rows, y))["df"]
    monkeypatch.setattr(sandwich, "_MAX_FLOPS", 2e5)
    found = ly.tidy(ly.LinearRegression(covariance="HC3").fit(rows, y))["df"]
    assert (found <= exact * (1 + 1e-9)).all()
    few = exact < 10
    assert few.sum() == 2
    assert (found[few] >= 0.9 * exact[few]).all()
    assert (found >= 1 / (1 / exact + 3 * 0.01)).all()  # rows of leverage below 0.008 are left out
