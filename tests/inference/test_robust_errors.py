"""Robust and clustered inference: R's numbers, groups from a column of any table, weights that mean one thing."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import require
from golden_sets import read_golden

import linearly as ly

GOLDEN = read_golden("robust")
DATA = {name: np.array(values) for name, values in GOLDEN["data"].items()}
X = np.column_stack([DATA["x1"], DATA["x2"]])
G = 48
KINDS = {"lm": (ly.LinearRegression, "y"), "glm": (ly.LogisticRegression, "label")}
few = pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")


def fitted(model, kind, covariance, weight=None, groups=None):
    make, target = KINDS[model]
    weight = DATA["w"] if kind == "weighted" and weight is None else weight
    groups = DATA["group"] if covariance == "cluster" and groups is None else groups
    return make(covariance=covariance).fit(X, DATA[target], sample_weight=weight, groups=groups)


# --- R --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("model", KINDS)
def test_tidy_of_a_clustered_fit_is_coeftest_with_g_minus_1_degrees_of_freedom(model, kind):
    expected, table = GOLDEN[model][kind]["cluster"], ly.tidy(fitted(model, kind, "cluster"))
    for name in ("estimate", "std_error", "statistic", "p_value"):
        np.testing.assert_allclose(table[name], expected[name], rtol=1e-7, err_msg=name)
    np.testing.assert_allclose(table["conf_low"], expected["low"], rtol=1e-7)
    np.testing.assert_allclose(table["conf_high"], expected["high"], rtol=1e-7)


@pytest.mark.parametrize("covariance", ["HC0", "HC1"])
@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("model", KINDS)
def test_robust_covariances_are_those_of_the_sandwich_package(model, kind, covariance):
    found = fitted(model, kind, covariance).covariance_
    np.testing.assert_allclose(found, GOLDEN[model][kind][covariance], rtol=1e-7)


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_f_test_of_a_clustered_fit_has_g_minus_1_degrees_of_freedom(kind):
    row, expected = ly.glance(fitted("lm", kind, "cluster")).row(0), GOLDEN["lm"][kind]["wald"]
    assert row["f_statistic"] == pytest.approx(expected["f"], rel=1e-8)
    assert row["p_value"] == pytest.approx(expected["p_value"], rel=1e-7)
    assert row["n_clusters"] == G
    assert row["df_residual"] == len(X) - 3  # that of sigma


def test_predict_interval_of_a_clustered_fit_has_g_minus_1_degrees_of_freedom():
    new = GOLDEN["lm"]["new"]
    table = fitted("lm", "plain", "cluster").predict_interval(np.column_stack([new["x1"], new["x2"]]))
    for name in ("fit", "low", "high"):
        np.testing.assert_allclose(table[name], new[name], rtol=1e-8)


def test_the_change_between_two_clustered_fits_is_tested_on_their_clusters():
    halves = [slice(0, 120), slice(120, 240)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ly.FewClustersWarning)
        models = [
            make(covariance="cluster").fit(X[h], DATA[target][h], groups=DATA["group"][h])
            for make, target in KINDS.values()
            for h in halves
        ]
    from scipy.stats import t

    for a, b in (models[:2], models[2:]):
        first, second, change = ly.tidy(a), ly.tidy(b), ly.diff(a, b)
        v, u = first["std_error"] ** 2, second["std_error"] ** 2
        dof = (v + u) ** 2 / (v**2 / 23 + u**2 / 23)
        np.testing.assert_allclose(change["p_value"], 2 * t.sf(np.abs(change["statistic"]), dof), rtol=1e-10)


# --- few clusters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", KINDS)
def test_fewer_than_forty_clusters_warn_and_forty_do_not(model):
    with pytest.warns(ly.FewClustersWarning, match="39 groups"):
        fitted(model, "plain", "cluster", groups=np.arange(240) % 39)
    fitted(model, "plain", "cluster", groups=np.arange(240) % 40)


@few
@pytest.mark.parametrize("model", KINDS)
def test_no_more_clusters_than_terms_are_refused_with_both_numbers(model):
    with pytest.raises(ValueError, match="3 groups for 3 terms"):
        fitted(model, "plain", "cluster", groups=np.arange(240) % 3)
    assert np.isfinite(fitted(model, "plain", "cluster", groups=np.arange(240) % 4).covariance_).all()


@pytest.mark.parametrize("model", KINDS)
def test_the_messages_about_groups_name_what_to_add(model):
    make, target = KINDS[model]
    with pytest.raises(ValueError, match=r"requires a clustered covariance, not covariance=\'HC1\'"):
        make(covariance="HC1").fit(X, DATA[target], groups=DATA["group"])
    with pytest.raises(ValueError, match=r'fit\(X, y, groups=labels\).* ly\.fit\(data, groups="column"\)'):
        make(covariance="cluster").fit(X, DATA[target])
    with pytest.raises(ValueError, match="'group' is the name of a column"):
        make(covariance="cluster").fit(X, DATA[target], groups="group")


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", KINDS)
def test_every_row_its_own_cluster_is_hc1_for_weighted_rows(model):
    w = np.where(np.arange(240) % 7 == 0, 0.0, DATA["w"])  # absent rows count nowhere
    alone = fitted(model, "weighted", "cluster", w, groups=np.arange(240))
    np.testing.assert_allclose(alone.covariance_, fitted(model, "weighted", "HC1", w).covariance_, rtol=1e-10)
    assert alone.n_clusters_ == (w > 0).sum()


@pytest.mark.parametrize("covariance", ["HC0", "HC1", "cluster"])
@pytest.mark.parametrize("model", KINDS)
def test_robust_covariances_do_not_change_with_the_scale_of_the_weights(model, covariance):
    one, many = (fitted(model, "weighted", covariance, scale * DATA["w"]).covariance_ for scale in (1.0, 1000.0))
    np.testing.assert_allclose(many, one, rtol=1e-6)


# --- groups from a column -------------------------------------------------------------------------

TABLE = {"x1": DATA["x1"], "x2": DATA["x2"], "y": DATA["y"], "w": DATA["w"]}
TABLE["town"] = np.array([f"town {g}" for g in DATA["group"]])


def parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame(TABLE).write_parquet(path, row_group_size=37)
    return path


def csv(tmp_path):
    path = tmp_path / "rows.csv"
    pl.DataFrame(TABLE).write_csv(path)
    return path


SOURCES = {
    "dict": lambda tmp: TABLE,
    "pandas": lambda tmp: pd.DataFrame(TABLE),
    "pandas, categories": lambda tmp: pd.DataFrame(TABLE).astype({"town": "category"}),
    "pandas, numbers": lambda tmp: pd.DataFrame(TABLE | {"town": DATA["group"]}),
    "polars": lambda tmp: pl.DataFrame(TABLE),
    "Arrow": lambda tmp: pa.table(TABLE),
    "Parquet": parquet,
    "CSV": csv,
}


@pytest.mark.parametrize("source", SOURCES)
def test_fit_takes_groups_from_a_column_that_is_no_feature(tmp_path, source):
    model = ly.fit(SOURCES[source](tmp_path), target="y", weight="w", groups="town", covariance="cluster")
    assert model.names == ("x1", "x2")
    expected = ly.tidy(fitted("lm", "weighted", "cluster"))
    for name in ("estimate", "std_error", "p_value", "conf_low"):
        np.testing.assert_allclose(model.tidy()[name], expected[name], rtol=1e-9)


def test_fit_takes_groups_from_a_column_on_dask():
    require(pytest.importorskip("dask.dataframe"), "needs dask")
    import dask.dataframe as dd

    model = ly.fit(dd.from_pandas(pd.DataFrame(TABLE), npartitions=7), target="y", weight="w", groups="town")
    np.testing.assert_allclose(
        model.tidy()["std_error"], ly.tidy(fitted("lm", "weighted", "cluster"))["std_error"], rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
def test_fit_takes_groups_from_a_column_on_spark(spark):
    frame = spark.createDataFrame(pd.DataFrame(TABLE)).repartition(5)
    model = ly.fit(frame, target="y", weight="w", groups="town")
    np.testing.assert_allclose(
        model.tidy()["std_error"], ly.tidy(fitted("lm", "weighted", "cluster"))["std_error"], rtol=1e-9
    )


def test_groups_imply_a_clustered_covariance_and_go_with_a_formula_and_a_classifier():
    model = ly.fit(TABLE, formula="y ~ . - w", groups="town")
    assert model.estimator.covariance == "cluster"
    assert model.names == ("x1", "x2")
    labels = {**TABLE, "y": np.where(DATA["label"] == 1, "yes", "no")}
    found = ly.fit(labels, target="y", features=["x1", "x2"], groups="town").tidy()
    np.testing.assert_allclose(found["p_value"], GOLDEN["glm"]["plain"]["cluster"]["p_value"], rtol=1e-7)


def test_rows_without_a_group_are_dropped_or_refused_and_stay_dropped_in_augment():
    towns = [None if i % 10 == 3 else town for i, town in enumerate(TABLE["town"].tolist())]
    data = pl.DataFrame(TABLE | {"town": towns})
    with pytest.raises(ValueError, match="Column 'town' is missing"):
        ly.fit(data, target="y", weight="w", groups="town")
    model = ly.fit(data, target="y", weight="w", groups="town", missing="drop")
    assert model.n_dropped == 24
    assert len(model.augment(data)) == 216
    assert len(model.predict(data.drop("town", "y", "w"))) == 240


def test_a_file_keeps_the_number_of_clusters_and_gives_the_same_table(tmp_path):
    labels = {**TABLE, "y": np.where(DATA["label"] == 1, "yes", "no")}
    for data in (TABLE, labels):
        model = ly.fit(data, target="y", features=["x1", "x2"], groups="town")
        model.save(tmp_path / "m.json")
        loaded = ly.load(tmp_path / "m.json")
        assert loaded.design.groups == "town"
        assert loaded.estimator.n_clusters_ == G
        for table in ("tidy", "glance"):
            assert getattr(loaded, table)().to_dict() == getattr(model, table)().to_dict()
        assert "48 clusters" in str(loaded.summary())
        again = ly.fit(data, like=loaded)
        np.testing.assert_array_equal(again.tidy()["std_error"], model.tidy()["std_error"])


def test_a_file_of_a_clustered_fit_without_its_number_of_clusters_is_refused(tmp_path):
    from linearly.dataset.design.serialization import InvalidFile
    from linearly.export.records import decode
    from linearly.export.state import ESTIMATOR, estimator_to_json, restore_estimator, sizes_of

    plain = estimator_to_json(fitted("lm", "plain", "cluster"))
    assert plain["state"]["n_clusters_"] == G
    del plain["state"]["n_clusters_"]
    sizes = sizes_of(2, 0)
    with pytest.raises(InvalidFile, match="number of clusters"):
        restore_estimator(decode(plain, ESTIMATOR, "estimator", sizes), "linear", (), ("x0", "x1"), sizes)


def test_groups_that_cannot_be_used_are_refused_by_name():
    with pytest.raises(ValueError, match="model 'lda' does not have"):
        ly.fit(TABLE | {"y": DATA["label"]}, target="y", groups="town", model="lda")
    with pytest.raises(ValueError, match="groups column"):
        ly.fit(TABLE, target="y", groups="village")
    with pytest.raises(ValueError, match="'y' is also the target"):
        ly.fit(TABLE, target="y", groups="y")
    with pytest.raises(ValueError, match="'w' is also the weight"):
        ly.fit(TABLE, formula="y ~ x1", weight="w", groups="w")
    with pytest.raises(ValueError, match="not covariance='HC1'"):
        ly.fit(TABLE, target="y", groups="town", covariance="HC1")


def test_the_command_line_clusters_by_a_column(tmp_path, capsys):
    from linearly.cli.main import main

    def run(*arguments):
        code = main(["fit", str(csv(tmp_path)), "-t", "y", "--weight", "w", *arguments])
        found = capsys.readouterr()
        return code, found.out if code == 0 else found.err

    code, screen = run("--groups", "town", "-o", str(tmp_path / "m.json"), "--report", str(tmp_path / "r.html"))
    assert code == 0, screen
    assert "48 clusters by town: t on 47 df" in screen
    facts = json.loads(run("--groups", "town", "--json")[1])
    expected = GOLDEN["lm"]["weighted"]["cluster"]["p_value"]
    np.testing.assert_allclose([term["p_value"] for term in facts["terms"]], expected, rtol=1e-7)
    page = " ".join((tmp_path / "r.html").read_text(encoding="utf-8").split())
    assert "within 48 clusters and use t with 47 degrees of freedom" in page
    assert "needs --groups COLUMN" in run("--param", "covariance=cluster")[1]


# --- metadata routing -----------------------------------------------------------------------------


@pytest.mark.parametrize("model", KINDS)
def test_group_k_fold_with_metadata_routing_needs_no_request_of_the_estimator(model):
    import sklearn
    from sklearn.model_selection import GroupKFold, cross_val_score

    make, target = KINDS[model]
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(make(), X, DATA[target], cv=GroupKFold(4), params={"groups": DATA["group"]})
        assert len(scores) == 4
        asked = make(covariance="cluster").set_fit_request(groups=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ly.FewClustersWarning)
            assert len(cross_val_score(asked, X, DATA[target], cv=GroupKFold(4), params={"groups": DATA["group"]})) == 4
