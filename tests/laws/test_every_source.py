"""One table: every estimator × every place that rows may be, and the same numbers to 1e-10 as from NumPy arrays.

A cell that means something else says so in `RELATIONS`: on the partitions of a cluster, `Perceptron` and
`AveragedPerceptron` are iterative parameter mixing, and are held against that, written out row by row. Everything else
is the fit in memory, `PocketPerceptron` and `VotedPerceptron` too, for which rows come here in order.

Blocks are cut so that one is empty and the last has one row. The clusters are real, take seconds to start, and are
started once: what else needs them is tested here too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from clusters import dask_array, dask_frame, fitted, kill_one, mixed_by_hand, pickled_by_value, spark_frame
from pyarrow import csv

import linearly as ly
from linearly.dataset.files import csv_text as text
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.views import MappedRows

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning:pyspark",
    "ignore::linearly.MaskingWarning",
    "ignore:.*combinations? of the preceding columns",
)

# --- what is fitted -------------------------------------------------------------------------------

# Each with what it needs where there are fewer rows than columns.
ESTIMATORS: dict[type, tuple[dict[str, Any], dict[str, Any]]] = {
    ly.LinearRegression: ({}, {"alpha": 1.0}),
    ly.RidgeCV: ({"alphas": [0.1, 1.0, 10.0]}, {}),
    ly.ElasticNet: ({"alpha": 0.5}, {}),
    ly.ElasticNetCV: ({"alphas": [0.1, 1.0, 10.0]}, {}),
    ly.LogisticRegression: ({}, {"alpha": 1.0}),
    ly.LinearDiscriminantAnalysis: ({}, {"shrinkage": 0.5}),
    ly.QuadraticDiscriminantAnalysis: ({}, {"shrinkage": 1.0}),
    ly.LeastSquaresClassifier: ({}, {"alpha": 1.0}),
    ly.Perceptron: ({"max_passes": 2}, {}),
    ly.AveragedPerceptron: ({"max_passes": 2}, {}),
    ly.VotedPerceptron: ({"max_passes": 2}, {}),
    ly.PocketPerceptron: ({"max_updates": 30}, {}),
    ly.BatchPerceptron: ({"max_passes": 3}, {}),
}
REGRESSION = (ly.LinearRegression, ly.RidgeCV, ly.ElasticNet, ly.ElasticNetCV)


@dataclass(frozen=True, eq=False)
class Data:
    """Rows with a number and a label each, and where they are cut."""

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    edges: list[int]

    @property
    def features(self) -> list[str]:
        return [f"f{j}" for j in range(self.X.shape[1])]

    @property
    def columns(self) -> dict[str, np.ndarray]:
        return {**dict(zip(self.features, self.X.T, strict=True)), "y": self.y, "labels": self.labels}

    def targets(self, kind: type) -> np.ndarray:
        return self.y if kind in REGRESSION else self.labels


def data(n: int, p: int, names: list[Any], edges: list[int]) -> Data:
    rng = np.random.default_rng(n)
    X = rng.normal(loc=np.arange(p) % 4 - 1.0, size=(n, p))
    y = X @ (1.0 + np.arange(p) % 3) + rng.normal(size=n)
    noisy = y + 2 * rng.normal(size=n)
    cuts = np.quantile(noisy, np.arange(1, len(names)) / len(names))
    return Data(X, y, np.array(names)[np.digitize(noisy, cuts)], edges)


SHAPES = {
    "600 × 4, three classes": data(600, 4, ["a", "b", "c"], [0, 350, 350, 599, 600]),
    "one column, two classes": data(60, 1, [0, 1], [0, 59, 59, 60]),
    "fewer rows than columns": data(12, 20, [0, 1], [0, 11, 11, 12]),
}
WIDE = "fewer rows than columns"

# --- where it is ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """What a source may use: a folder of its own, and what starts a cluster."""

    folder: Path
    cluster: Callable[[str], Any]


def frame(make: Callable[[Any], Any]) -> Callable[..., tuple[Any, ...]]:
    return lambda data, kind, place: (make(dict(zip(data.features, data.X.T, strict=True))), data.targets(kind))


def target(kind: type) -> str:
    return "y" if kind in REGRESSION else "labels"


def parquet(data: Data, kind: type, place: Place) -> tuple[Any, ...]:
    table = pa.table(data.columns)
    for k, (a, b) in enumerate(pairwise(data.edges)):
        pq.write_table(table.slice(a, b - a), place.folder / f"{k}.parquet", row_group_size=100)
    return (ly.scan(place.folder, target=target(kind), features=data.features),)


def csv_file(data: Data, kind: type, place: Place) -> tuple[Any, ...]:
    csv.write_csv(pa.table(data.columns), place.folder / "rows.csv")
    return (ly.scan(place.folder / "rows.csv", target=target(kind), features=data.features),)


def on_dask(data: Data, kind: type, place: Place) -> tuple[Any, ...]:
    """Arrays, whose partitions know their lengths, or where there is one column a data frame, whose do not."""
    place.cluster("client")
    if data.X.shape[1] > 1:
        return dask_array(data.X, data.edges), dask_array(data.targets(kind), data.edges)
    whole = dask_frame(data.columns, data.edges)
    return whole[data.features], whole[target(kind)]


_SPARK: dict[Any, Any] = {}  # rows by shape and target: one pass finds their labels


def on_spark(data: Data, kind: type, place: Place) -> tuple[Any, ...]:
    session = place.cluster("spark")
    key = id(data), target(kind)
    if id(data) not in _SPARK:
        _SPARK[id(data)] = spark_frame(session, data.columns, data.edges)
    if key not in _SPARK:
        _SPARK[key] = ly.from_spark(_SPARK[id(data)], target=target(kind), features=data.features)
    return (_SPARK[key],)


SOURCES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "pandas": frame(pd.DataFrame),
    "polars": frame(pl.DataFrame),
    "Arrow": frame(pa.table),
    "CSR": lambda data, kind, place: (sp.csr_matrix(data.X), data.targets(kind)),
    "Parquet": parquet,
    "CSV": csv_file,
    "Dask": on_dask,
    "Spark": on_spark,
}
CLUSTERS = ("Dask", "Spark")

# --- what must come out ---------------------------------------------------------------------------

NUMBERS = ("coef_", "intercept_", "alpha_", "means_", "priors_", "training_error_", "error_history_", "log_likelihood_")


def told(model: Any, data: Data, source: Any = None) -> dict[str, Any]:
    """What a fit says: coefficients, standard errors, scores and probabilities, and predictions for the source."""
    found = {name: np.copy(getattr(model, name)) for name in NUMBERS if hasattr(model, name)}
    if isinstance(model, (ly.LinearRegression, ly.RidgeCV, ly.LogisticRegression)):
        found["standard errors"] = np.sqrt(np.diagonal(model.covariance_, axis1=-2, axis2=-1))
    here = pd.DataFrame(data.X, columns=data.features) if hasattr(model, "feature_names_in_") else data.X
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            found[method] = getattr(model, method)(here)
    answers = model.predict(here if source is None else source)
    # Those of a Spark DataFrame are a column of it; this one is persisted, so that its rows keep their order.
    on_spark = hasattr(answers, "toArrow")
    found["predict"] = answers.toArrow()["prediction"].to_numpy() if on_spark else np.asarray(answers)
    return found


def made(kind: type, shape: str) -> Any:
    plain, wide = ESTIMATORS[kind]
    return kind(**(plain | wide if shape == WIDE else plain))


@cache
def same_as_in_memory(kind: type, shape: str) -> dict[str, Any]:
    """The fit to NumPy arrays."""
    data = SHAPES[shape]
    return told(fitted(made(kind, shape), data.X, data.targets(kind)), data)


@cache
def parameter_mixing(kind: type, shape: str) -> dict[str, Any]:
    """Each pass scans every partition from the common weights, which are then averaged by mistakes."""
    data = SHAPES[shape]
    last, mean = mixed_by_hand(data.X, data.labels, made(kind, shape).max_passes, data.edges)
    W = mean if kind is ly.AveragedPerceptron else last
    scores = data.X @ W[:, :-1].T + W[:, -1]
    classes = np.unique(data.labels)
    codes = (scores[:, 0] >= 0).astype(int) if len(W) == 1 else scores.argmax(axis=1)
    return {
        "coef_": W[:, :-1],
        "intercept_": W[:, -1],
        "decision_function": scores[:, 0] if len(W) == 1 else scores,
        "predict": classes[codes],
        "training_error_": np.mean(classes[codes] != data.labels),
    }


# Spark takes seconds where other sources take milliseconds. There, models that share the code of these are slow tests.
ON_SPARK = (ly.LinearRegression, ly.LogisticRegression, ly.QuadraticDiscriminantAnalysis, ly.Perceptron)
CELLS = [
    pytest.param(source, kind, marks=[pytest.mark.slow] if source == "Spark" and kind not in ON_SPARK else [])
    for source in SOURCES
    for kind in ESTIMATORS
]
WAYS_TO_PREDICT = (ly.LinearRegression, ly.LogisticRegression, ly.Perceptron)
RELATIONS = {(kind, source): parameter_mixing for kind in (ly.Perceptron, ly.AveragedPerceptron) for source in CLUSTERS}


@pytest.fixture
def place(request, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "PIECE", 2**10)
    return Place(tmp_path, request.getfixturevalue)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("source", "kind"), CELLS, ids=lambda value: getattr(value, "__name__", None))
def test_the_same_numbers_from_every_source(source, kind, shape, place):
    data = SHAPES[shape]
    rows = SOURCES[source](data, kind, place)
    # A cluster hands out rows by a job for each partition: once for each way to predict will do.
    again = source not in CLUSTERS or (shape == next(iter(SHAPES)) and kind in WAYS_TO_PREDICT)
    found = told(fitted(made(kind, shape), *rows), data, rows[0] if again else None)
    expected = RELATIONS.get((kind, source), same_as_in_memory)(kind, shape)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if name == "predict" and kind not in REGRESSION:
            np.testing.assert_array_equal(found[name], value, err_msg=name)
        else:
            np.testing.assert_allclose(found[name], value, rtol=1e-10, atol=1e-10, err_msg=name)


def test_no_estimator_and_no_source_is_left_out():
    from linearly.models.registry import MODELS, WITH_GIVEN_ALPHA

    entries = [*MODELS.values(), *WITH_GIVEN_ALPHA.values()]
    assert {kind.__name__ for kind in ESTIMATORS} == {entry.name for entry in entries}


# --- what else needs a cluster --------------------------------------------------------------------


def test_a_killed_worker_changes_no_bit(client, tmp_path):
    kill_one(client, tmp_path / "killed", 0)


def test_a_spark_task_that_fails_is_tried_again(spark, tmp_path):
    pickled_by_value(__name__)
    data = SHAPES["600 × 4, three classes"]
    (rows,) = on_spark(data, ly.LinearRegression, Place(tmp_path, lambda _: spark))

    def fail_once(block: Block) -> Block:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context.partitionId() == 2:
            (tmp_path / f"attempt {context.attemptNumber()}").touch()
            if context.attemptNumber() == 0:
                raise RuntimeError("a disk that fails")
        return block

    expected = ly.LinearRegression().fit(rows)
    away = ly.LinearRegression().fit(MappedRows(rows, fail_once))
    assert {file.name for file in tmp_path.glob("attempt*")} == {"attempt 0", "attempt 1"}
    np.testing.assert_array_equal(away.coef_, expected.coef_)
    np.testing.assert_array_equal(away.summary_.centered_crossprod, expected.summary_.centered_crossprod)


def test_refused_spark_input_is_named(spark):
    from pyspark.sql import functions as sql

    data = SHAPES["600 × 4, three classes"]
    frame = spark_frame(spark, data.columns, data.edges)
    assert frame.rdd.getNumPartitions() == 4
    gap = frame.withColumn("f1", sql.when(sql.col("f0") == float(data.X[380, 0]), None).otherwise(sql.col("f1")))
    with pytest.raises(ValueError, match="Column 'f1' is missing in row 30 of partition 2"):
        ly.LinearRegression().fit(ly.from_spark(gap, target="y", features=data.features))
    with pytest.raises(ValueError, match="The target column 'z' does not exist"):
        ly.from_spark(frame, target="z")
    with pytest.raises(TypeError, match="from_spark"):
        ly.LinearRegression().fit(frame, None)
    dotted = ly.fit(frame.withColumnRenamed("f0", "a.b"), target="y", features=["a.b", "f1"])
    assert dotted.names == ("a.b", "f1")
    np.testing.assert_allclose(dotted.estimator.coef_, ly.LinearRegression().fit(data.X[:, :2], data.y).coef_)
