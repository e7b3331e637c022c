"""The wild cluster bootstrap against its definition on rows, its size, and what it refuses."""

import itertools

import numpy as np
import pandas as pd
import pytest

import linearly as ly


def rows(seed=0, G=7, slope=0.4):
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, G, 60))
    x = rng.normal(size=60) + rng.normal(size=G)[groups]
    return pd.DataFrame({"x": x, "z": rng.normal(size=60), "g": groups, "y": slope * x + rng.normal(size=G)[groups]})


def t_statistic(X, y, groups):
    M = np.linalg.inv(X.T @ X)
    beta = M @ X.T @ y
    e = y - X @ beta
    s = np.array([X[groups == g].T @ e[groups == g] for g in np.unique(groups)])
    return beta, np.sqrt((M @ s.T @ s @ M)[1, 1])


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_all_draws_give_the_p_value_of_refits(value):
    data = rows()
    X, y, g = np.column_stack([np.ones(60), data["x"], data["z"]]), data["y"].to_numpy(), data["g"].to_numpy()
    beta, error = t_statistic(X, y, g)
    restricted = np.delete(X, 1, axis=1)
    moved = y - value * X[:, 1]
    fit = restricted @ np.linalg.lstsq(restricted, moved, rcond=None)[0] + value * X[:, 1]
    names, larger = np.unique(g), 0
    draws = list(itertools.product((-1, 1), repeat=len(names)))
    for draw in draws:
        v = np.array(draw)[np.searchsorted(names, g)]
        own, spread = t_statistic(X, fit + v * (y - fit), g)
        larger += abs(own[1] - value) / spread >= abs(beta[1] - value) / error * (1 - 1e-9)
    model = ly.fit(data, formula="y ~ x + z", groups="g", covariance="CR2")
    table = ly.wild_bootstrap(model, f"x = {value}")
    assert table["p_value"][0] == pytest.approx(larger / len(draws), abs=1e-12)
    with pytest.warns(ly.FewClustersWarning):
        clustered = ly.fit(data, formula="y ~ x + z", groups="g")
    assert table["std_error"][0] == pytest.approx(clustered.tidy()["std_error"][1], rel=1e-9)


def weighted_t(X, y, w, groups):
    M = np.linalg.inv(X.T * w @ X)
    beta = M @ (X.T * w @ y)
    e = w * (y - X @ beta)
    s = np.array([X[groups == g].T @ e[groups == g] for g in np.unique(groups)])
    return beta, np.sqrt((M @ s.T @ s @ M)[1, 1])


@pytest.mark.parametrize("weights", ["rademacher", "webb"])
def test_weights_an_offset_and_rows_without_weight_give_the_p_value_of_refits(weights):
    from linearly.inference.wild_bootstrap import _multipliers

    rng = np.random.default_rng(1)
    data = rows().assign(w=rng.uniform(0.1, 3, 60), o=rng.normal(size=60))
    data.loc[[3, 9], "w"] = 0.0
    kept = data[data["w"] > 0]
    X, w, g = np.column_stack([np.ones(58), kept["x"], kept["z"]]), kept["w"].to_numpy(), kept["g"].to_numpy()
    y = (kept["y"] - kept["o"]).to_numpy()
    beta, error = weighted_t(X, y, w, g)
    restricted, moved = np.delete(X, 1, axis=1), y - 0.3 * X[:, 1]
    fit = restricted @ np.linalg.solve(restricted.T * w @ restricted, restricted.T * w @ moved) + 0.3 * X[:, 1]
    names, larger = np.unique(g), 0
    draws = _multipliers(len(names), 199, weights, np.random.RandomState(5))
    for draw in draws:
        own, spread = weighted_t(X, fit + draw[np.searchsorted(names, g)] * (y - fit), w, g)
        larger += abs(own[1] - 0.3) / spread >= abs(beta[1] - 0.3) / error * (1 - 1e-9)
    model = ly.fit(data, formula="y ~ x + z + offset(o)", groups="g", covariance="CR2", weight="w")
    table = ly.wild_bootstrap(model, "x = 0.3", n=199, weights=weights, random_state=5)
    assert table["p_value"][0] == pytest.approx(larger / len(draws), abs=1e-12)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_a_term_without_a_known_variance_is_refused():
    data = rows()
    data["z2"], data["treated"] = 2 * data["z"], (data["g"] == 2).astype(float)
    model = ly.fit(data, formula="y ~ x + z + z2 + treated", groups="g", covariance="CR2")
    with pytest.raises(ValueError, match="do not determine 'z', because its column is a linear combination"):
        ly.wild_bootstrap(model, "z = 0")
    with pytest.raises(ValueError, match="rows of a single group determine 'treated'"):
        ly.wild_bootstrap(model, "treated = 0")
    assert ly.wild_bootstrap(model, "x = 0")["p_value"][0] <= 1


def test_the_interval_ends_where_the_p_value_crosses_the_level():
    model = ly.fit(rows(G=14), formula="y ~ x + z", groups="g", covariance="CR2")
    table = ly.wild_bootstrap(model, "x = 0", n=999, random_state=1)
    for end in (table["conf_low"][0], table["conf_high"][0]):
        values = [
            ly.wild_bootstrap(model, f"x = {end + d}", n=999, random_state=1)["p_value"][0] for d in (-0.03, 0.03)
        ]
        assert min(values) <= 0.05 <= max(values)


def test_the_model_file_gives_the_same_draws(tmp_path):
    model = ly.fit(rows(G=14), formula="y ~ x + z", groups="g", covariance="CR2")
    model.save(tmp_path / "model.json")
    for weights in ("rademacher", "webb"):
        ask = {"n": 499, "weights": weights, "random_state": 3}
        a, b = (ly.wild_bootstrap(m, "x = 0", **ask) for m in (model, ly.load(tmp_path / "model.json")))
        assert {name: a[name].tolist() for name in a.columns} == {name: b[name].tolist() for name in b.columns}


def test_a_true_hypothesis_is_rejected_in_about_5_percent():
    found = [
        ly.wild_bootstrap(
            ly.fit(rows(seed, 12, 0.0), formula="y ~ x + z", groups="g", covariance="CR2"),
            "x = 0",
            n=199,
            random_state=seed,
        )["p_value"][0]
        <= 0.05
        for seed in range(200)
    ]
    assert np.mean(found) <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / 200)


@pytest.mark.parametrize(
    ("hypothesis", "message"),
    [
        ("x", "must consist of a term and a number"),
        ("q = 0", "has no term 'q'"),
        ("x = __import__('os')", "must consist of a term and a number"),
        ("x = nan", "must consist of a term and a number"),
        (5, "must be a string"),
        ("x" * 20_000 + " = 0", "must be a string"),
    ],
)
def test_a_hypothesis_that_is_none_is_refused(hypothesis, message):
    model = ly.fit(rows(), formula="y ~ x + z", groups="g", covariance="CR2")
    with pytest.raises(ValueError, match=message):
        ly.wild_bootstrap(model, hypothesis)


def test_a_model_without_clusters_is_refused_with_its_remedy():
    with pytest.raises(ValueError, match='covariance="CR2"'):
        ly.wild_bootstrap(ly.fit(rows(), formula="y ~ x + z"), "x = 0")
