"""Rows on Dask and Spark as people have them: one data frame cut up by an optimizer, and answers beside their rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import linearly as ly

dd = pytest.importorskip("dask.dataframe")

N, PARTS = 800, 8
COLUMNS = [f"c{j}" for j in range(8)]

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning:pyspark",
)


def whole() -> pd.DataFrame:
    """Rows of which no two are alike, in an order that nothing says."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({f"c{j}": rng.normal(size=N) for j in range(12)})
    frame["y"] = 2 * frame["c0"] - frame["c1"] + rng.normal(size=N)
    frame["weight"] = rng.uniform(0.5, 2, size=N)
    frame["label"] = np.where(frame["y"] + rng.normal(size=N) > 0, "yes", "no")
    frame["flag"] = (frame["label"] == "yes").astype(int)
    frame["key"] = rng.integers(0, 60, size=N)
    return frame


HERE = whole()


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """Eight Parquet files of different lengths."""
    folder = tmp_path_factory.mktemp("parquet")
    edges = [0, 60, 200, 300, 370, 500, 610, 700, N]
    for k in range(PARTS):
        HERE.iloc[edges[k] : edges[k + 1]].to_parquet(folder / f"part.{k}.parquet")
    return folder


def fused(frame: Any) -> bool:
    """Whether Dask's optimizer joins the partitions of one column: else these tests show nothing."""
    return len(frame["y"].to_delayed()) < PARTS


def lazy(frame: Any, *names: str) -> list[Any]:
    assert fused(frame)
    return [frame[COLUMNS], *(frame[name] for name in names)]


def persisted(frame: Any, *names: str) -> list[Any]:
    frame = frame.persist()
    return [frame[COLUMNS], *(frame[name] for name in names)]


def persisted_columns(frame: Any, *names: str) -> list[Any]:
    """Columns persisted one by one, as the error about lost partitions advises."""
    import dask

    with dask.config.set({"optimization.tune.active": False}):
        return [frame[COLUMNS].persist(), *(frame[name].persist() for name in names)]


def persisted_targets(frame: Any, *names: str) -> list[Any]:
    """y and weights that the optimizer has joined for good; X is not."""
    found = [frame[COLUMNS], *(frame[name].persist() for name in names)]
    assert found[1].npartitions < found[0].npartitions == PARTS
    return found


def unknown_chunks(frame: Any, *names: str) -> list[Any]:
    found = [frame[COLUMNS].values, *(frame[name].values for name in names)]
    assert found[1].numblocks[0] < found[0].numblocks[0] < PARTS
    return found


def known_chunks(frame: Any, *names: str) -> list[Any]:
    frame = frame.persist()
    return [frame[part].to_dask_array(lengths=True) for part in (COLUMNS, *names)]


WAYS = [lazy, persisted, persisted_columns, persisted_targets, unknown_chunks, known_chunks]


def assert_fits_as_here(files: Path, way: Any, filesystem: str) -> None:
    frame = dd.read_parquet(files, filesystem=filesystem)
    X, y, key = (HERE[part] for part in (COLUMNS, "y", "key"))
    for model, given in (
        (ly.LinearRegression(), ("y",)),
        (ly.LinearRegression(), ("y", "weight")),
        (ly.RidgeCV(alphas=[0.1, 10.0], cv=5), ("y",)),  # folds are by row number
    ):
        away = model.fit(*way(frame, *given)).coef_.copy()
        here = model.fit(X, *(HERE[name] for name in given)).coef_
        np.testing.assert_allclose(away, here, rtol=1e-10, err_msg=f"{model}, {given}")
    rows = way(frame, "flag")
    np.testing.assert_allclose(
        ly.LogisticRegression().fit(*rows).coef_, ly.LogisticRegression().fit(X, HERE["flag"]).coef_, rtol=1e-8
    )
    clustered = ly.LinearRegression(covariance="cluster")
    away = clustered.fit(*way(frame, "y"), groups=frame["key"]).covariance_.copy()
    np.testing.assert_allclose(away, clustered.fit(X, y, groups=key).covariance_, rtol=1e-8)


@pytest.mark.parametrize(
    ("way", "filesystem"), [*((way, "fsspec") for way in WAYS), (lazy, "arrow"), (persisted_columns, "arrow")]
)
def test_columns_of_one_parquet_frame_stay_aligned(way, filesystem, files):
    assert_fits_as_here(files, way, filesystem)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_columns_of_one_parquet_frame_stay_aligned_on_a_cluster(way, files, client):
    assert_fits_as_here(files, way, "fsspec")


def test_a_filtered_parquet_frame_stays_aligned(files):
    frame = dd.read_parquet(files)
    frame, here = frame[frame["c0"] > 0.5], HERE[HERE["c0"] > 0.5]
    away = ly.LinearRegression().fit(frame[COLUMNS], frame["y"])
    np.testing.assert_allclose(away.coef_, ly.LinearRegression().fit(here[COLUMNS], here["y"]).coef_, rtol=1e-10)


def test_rows_of_a_parquet_frame_have_the_numbers_that_they_have_here(files):
    frame = dd.read_parquet(files)[["c0", "c1", "y"]]
    away = ly.fit(frame, target="y", model="ridge", alphas=[0.1, 10.0], cv=5)
    here = ly.fit(HERE[["c0", "c1", "y"]], target="y", model="ridge", alphas=[0.1, 10.0], cv=5)
    np.testing.assert_allclose(away.estimator.coef_, here.estimator.coef_, rtol=1e-10)
    assert away.estimator.alpha_ == here.estimator.alpha_


def test_partitions_of_other_lengths_are_refused_by_name(files):
    X, y = lazy(dd.read_parquet(files), "y")
    model = ly.LinearRegression()
    with pytest.raises(ValueError, match="y has 799 rows, but X has 800"):
        model.fit(X, dd.from_pandas(HERE["y"].iloc[:-1], npartitions=3))
    with pytest.raises(ValueError, match=r"X have different partitions and different indexes in partition [0-7]"):
        model.fit(X, dd.from_pandas(HERE["y"].iloc[::-1], npartitions=3, sort=False))
    with pytest.raises(ValueError, match="y has 100 rows in partition 0, but X has 60"):
        model.fit(X, dd.from_pandas(HERE["y"], npartitions=PARTS))
    with pytest.raises(
        ValueError, match=r"y has 3 partitions, but X has 8. Repartition or rechunk both in the same way"
    ):
        model.fit(X, y.values)


def test_partitions_that_dask_lost_are_named(files):
    X = dd.read_parquet(files)[COLUMNS].persist()
    with pytest.raises(TypeError):  # of Dask, for anybody who asks for the rows
        X.compute()
    with pytest.raises(
        ValueError, match=r"Dask lost partitions of a data frame when it persisted it\. Persist it within"
    ):
        ly.LinearRegression().fit(X, X["c0"])


# --- answers beside their rows --------------------------------------------------------------------


def test_predictions_on_dask_keep_index_and_partitions(files):
    frame = dd.read_parquet(files)
    model = ly.LogisticRegression().fit(frame[COLUMNS], frame["label"])
    answers = frame.assign(found=model.predict(frame[COLUMNS]))
    answers = answers[answers["c0"] > 0].compute()
    np.testing.assert_array_equal(answers["found"], model.predict(HERE.loc[HERE["c0"] > 0, COLUMNS]))
    assert answers.index.equals(HERE.index[HERE["c0"] > 0])
    chances = model.predict_proba(frame[COLUMNS]).compute()
    assert chances.columns.tolist() == ["no", "yes"]
    np.testing.assert_allclose(chances, model.predict_proba(HERE[COLUMNS]), rtol=1e-12)
    assert model.score(frame[COLUMNS], frame["label"]) == model.score(HERE[COLUMNS], HERE["label"])

    array = frame[COLUMNS].values
    unnamed = ly.LinearRegression().fit(array, frame["y"].values)
    found = unnamed.predict(array)
    assert found.chunks[0] == array.chunks[0] or np.isnan(found.chunks[0]).all()
    np.testing.assert_allclose(found.compute(), unnamed.predict(HERE[COLUMNS].to_numpy()), rtol=1e-12)
    several = ly.LinearRegression().fit(array, frame[["y", "c9"]].values).predict(array)
    assert several.compute().shape == (N, 2)


def test_answers_of_a_model_on_dask_are_columns_beside_those_kept(files):
    frame = dd.read_parquet(files)
    here = HERE.assign(c0=HERE["c0"].where(HERE.index != 5))
    gap = frame.assign(c0=frame["c0"].where(frame["key"] != 61))
    model = ly.fit(here[["c0", "c1", "label"]], target="label", missing="drop")
    found = model.predict(gap, keep=["key"]).compute()
    assert list(found.columns) == ["key", "prediction"]
    np.testing.assert_array_equal(found["prediction"], model.predict(HERE))
    series = model.predict(frame)
    assert series.name == "prediction"
    assert series.npartitions == PARTS
    dropped = model.predict(dd.from_pandas(here, npartitions=3)).compute()
    assert dropped.isna().sum() == 1
    assert pd.isna(dropped[5])
    with pytest.raises(ValueError, match="Column 'c0' is missing in row 5 of partition 0"):
        ly.fit(HERE[["c0", "y"]], target="y").predict(dd.from_pandas(here, npartitions=3)).compute()
    linear = ly.fit(HERE[["c0", "c1", "y"]], target="y")
    ends = linear.predict_interval(frame).compute()
    assert list(ends.columns) == ["fit", "low", "high"]
    np.testing.assert_allclose(ends["low"], linear.predict_interval(HERE)["low"], rtol=1e-12)


def collected(frame: Any) -> pd.DataFrame:
    return pd.DataFrame([tuple(row) for row in frame.collect()], columns=frame.columns)


@pytest.mark.slow
def test_answers_on_spark_stay_with_their_rows_after_a_shuffle(spark):
    here = HERE[["c0", "c1", "key", "label", "y"]].assign(id=np.arange(N), **{"a.b": np.arange(N) % 7})
    shuffled = spark.createDataFrame(here).repartition(6)
    price = shuffled.selectExpr("*", "cast(c1 as decimal(20, 12)) as price").drop("c1")
    local = here.assign(price=here["c1"]).drop(columns="c1")
    model = ly.fit(local.drop(columns=["id", "y"]), target="label")
    found = model.predict(price)
    assert found.columns == [*price.columns, "prediction"]
    assert dict(found.dtypes)["price"] == "decimal(20,12)"
    found = collected(found).sort_values("id")
    np.testing.assert_array_equal(found["prediction"], model.predict(local))
    kept = collected(model.predict(price, keep=["id"])).set_index("id").sort_index()
    np.testing.assert_array_equal(kept["prediction"], model.predict(local))
    chances = collected(model.predict_proba(price)).sort_values("id")[["probability[no]", "probability[yes]"]]
    np.testing.assert_allclose(chances, model.predict_proba(local), rtol=1e-9)
    linear = ly.fit(here[["c0", "c1", "y"]], target="y")
    ends = collected(linear.predict_interval(shuffled)).sort_values("id")
    np.testing.assert_allclose(ends["high"], linear.predict_interval(here)["high"], rtol=1e-9)
    rows = ly.from_spark(shuffled, target="y", features=["c0", "c1"])
    bare = collected(ly.LinearRegression().fit(rows).predict(rows)).sort_values("id")
    np.testing.assert_allclose(bare["prediction"], linear.predict(here), rtol=1e-9)
    with pytest.raises(ValueError, match="Column 'prediction' already exists in the DataFrame"):
        model.predict(price.withColumnRenamed("id", "prediction"))


@pytest.mark.slow
def test_evaluation_and_report_on_spark_are_those_of_the_rows_here(spark, tmp_path):
    here = HERE[["c0", "c1", "label", "y"]].assign(town=np.where(HERE["key"] % 2, "Aix", "Bonn"))
    frame = spark.createDataFrame(here).repartition(3)
    for target, metric in (("y", "rmse"), ("label", "log_loss")):
        columns = ["c0", "c1", "town", target]
        model = ly.fit(here[columns], target=target)
        away, local = model.evaluate(frame), model.evaluate(here)
        assert away[metric] == pytest.approx(local[metric], rel=1e-9)
        assert away.n == N
        model.report(tmp_path / "away.html", frame)
        assert f"{N} rows" in (tmp_path / "away.html").read_text()


@pytest.mark.slow
def test_an_empty_spark_frame_is_named(spark):
    full = spark.createDataFrame(HERE[["c0", "c1", "label", "y"]])
    model = ly.fit(HERE[["c0", "y"]], target="y")
    for frame in (full.filter("c0 > 100"), spark.createDataFrame([], full.schema)):
        for columns in (["c0", "y"], ["c0", "label", "y"]):
            with pytest.raises(ValueError, match="The Spark DataFrame has column names but no rows"):
                ly.fit(frame.select(*columns), target="y")
        with pytest.raises(ValueError, match="The data contain no rows to evaluate on"):
            model.evaluate(frame)
        assert model.predict(frame).count() == 0
