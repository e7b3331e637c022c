"""The same fit on Dask and on Spark: real clusters, the same numbers, and nothing lost with a worker.

The clusters take seconds to start and the runner deals single tests out to processes, so tests here are few and fat.
"""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import require
from estimators import CutRows
from sklearn.exceptions import ConvergenceWarning

import linearly as ly
from linearly.dataset.elsewhere import UNKNOWN, Starts, StartsNeeded, pairs
from linearly.dataset.fold import MergeTree
from linearly.dataset.mapped import MappedRows
from linearly.dataset.rows import Block
from linearly.dataset.tables import Chunk

CUTS = (150, 150, 270, 400, 480)  # the second partition is empty; the last has 120 rows
N, P = 600, 3
FEATURES = ["age", "size", "cost"]

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning:pyspark",
)


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, a numeric target, two overlapping classes and three, by rows that are not sorted by anything."""
    rng = np.random.default_rng(7)
    X = rng.normal(loc=[0.0, 5.0, -3.0], size=(N, P))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=N)
    two = np.where(y + 10.5 + rng.normal(size=N) > 0, "yes", "no")
    three = np.array(["a", "b", "c"])[np.digitize(y, [-13.0, -10.0])]
    return X, y, two, three


X, Y, TWO, THREE = data()
EDGES = [0, *CUTS, N]

REGRESSION = [
    ly.LinearRegression(),
    ly.LinearRegression(alpha=1.0, method="qr"),
    ly.LinearRegression(covariance="HC3", method="exact"),
    ly.RidgeCV(alphas=[0.1, 1.0, 10.0]),
    ly.RidgeCV(alphas=[0.1, 1.0, 10.0], cv="loo"),
]
CLASSIFICATION = [
    ly.LogisticRegression(),
    ly.LogisticRegression(alpha=1.0, solver="lbfgs"),
    ly.LogisticRegression(bias_reduction="firth"),
    ly.LinearDiscriminantAnalysis(),
    ly.QuadraticDiscriminantAnalysis(),
    ly.LeastSquaresClassifier(),
    ly.BatchPerceptron(max_passes=5),
    ly.PocketPerceptron(max_updates=100),
    ly.VotedPerceptron(max_passes=2),
]
# A pass over six partitions takes Spark half a second, so these wait for the slow test.
MANY_PASSES = [REGRESSION[2], REGRESSION[4], CLASSIFICATION[1], CLASSIFICATION[2]]
MIXED = [ly.Perceptron(max_passes=4), ly.AveragedPerceptron(max_passes=4)]


def fitted(model: Any, *rows: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*rows)


def numbers(model: Any) -> dict[str, Any]:
    """What a fit is: its coefficients, its uncertainty, and what it says about rows."""
    found = {
        name: getattr(model, name) for name in ("coef_", "intercept_", "alpha_", "covariance_") if _has(model, name)
    }
    found["scores"] = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return found


def _has(model: Any, name: str) -> bool:
    try:
        return isinstance(getattr(model, name, None), (np.ndarray, float))
    except ValueError:  # no standard errors without a Hessian
        return False


def assert_same(a: Any, b: Any, case: str) -> None:
    a, b = numbers(a), numbers(b)
    assert a.keys() == b.keys(), case
    for name, value in a.items():
        np.testing.assert_allclose(value, b[name], rtol=1e-10, atol=1e-10, err_msg=f"{case}: {name}")


def unnamed(model: Any) -> Any:
    model.__dict__.pop("feature_names_in_", None)
    return model


def mixed_by_hand(labels: np.ndarray, passes: int, edges: list[int]) -> tuple[np.ndarray, ...]:
    """Iterative parameter mixing as the paper writes it, row by row: the last weights, their mean; intercept last."""
    classes, codes = np.unique(labels, return_inverse=True)
    K = len(classes)
    Z = np.column_stack([X, np.ones(len(X))])
    w = np.zeros((1 if K == 2 else K, Z.shape[1]))
    total, seen = np.zeros_like(w), 0
    for _ in range(passes):
        shards = []
        for start, stop in pairwise(edges):
            v, made = w.copy(), 0
            for z, k in zip(Z[start:stop], codes[start:stop], strict=True):
                if K == 2:
                    sign = 2 * k - 1
                    if sign * (v[0] @ z) <= 0:
                        v[0] += sign * z
                        made += 1
                else:
                    scores = v @ z
                    others = np.where(np.arange(K) == k, -np.inf, scores)
                    rival = int(np.argmax(others))
                    if scores[k] <= scores[rival]:
                        v[k] += z
                        v[rival] -= z
                        made += 1
                total, seen = total + v, seen + 1
            shards.append((made, v))
        k = sum(made for made, _ in shards)
        if k == 0:
            break
        w = sum(made / k * v for made, v in shards)
    return w, total / seen


def assert_mixed(model: Any, labels: np.ndarray, edges: list[int], case: str) -> None:
    last, mean = mixed_by_hand(labels, model.max_passes, edges)
    W = mean if isinstance(model, ly.AveragedPerceptron) else last
    np.testing.assert_allclose(model.coef_, W[:, :-1], rtol=1e-10, atol=1e-10, err_msg=case)
    np.testing.assert_allclose(model.intercept_, W[:, -1], rtol=1e-10, atol=1e-10, err_msg=case)
    assert model.n_passes_ == model.max_passes
    with pytest.raises(AttributeError, match="no mistake log"):
        _ = model.mistake_log_


# --- Dask -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    import dask

    # On a busy machine a killed worker may take longer than 15 s to come back, after which its place would be given up.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
    ) as cluster:  # fmt: skip
        yield cluster


@pytest.fixture
def client(cluster):
    """A client that lasts as long as the test: the others run on Dask's threads."""
    import distributed

    with distributed.Client(cluster) as client:
        yield client


def dask_array(values: np.ndarray, edges: list[int] = EDGES) -> Any:
    import dask.array as da

    return da.from_array(values, chunks=(tuple(np.diff(edges).tolist()), *((2,) if values.ndim == 2 else ())))


def dask_frame(columns: dict[str, np.ndarray], edges: list[int] = EDGES) -> Any:
    import dask.dataframe as dd

    whole = pd.DataFrame(columns)
    parts = [whole.iloc[a:b] for a, b in pairwise(edges)]
    return dd.from_map(lambda k: parts[k], range(len(parts)), meta=whole.iloc[:0])


def frame_columns() -> dict[str, np.ndarray]:
    return {**dict(zip(FEATURES, X.T, strict=True)), "y": Y, "two": TWO, "three": THREE}


def test_every_estimator_on_dask_workers(client, tmp_path):
    array, frame = dask_array(X).persist(), dask_frame(frame_columns()).persist()
    for model in REGRESSION:
        here = numbers_of(fitted(model, X, Y))
        assert_equal(here, fitted(model, array, dask_array(Y)), f"{model} on a Dask array")
        assert_equal(here, unnamed(fitted(model, frame[FEATURES], frame["y"])), f"{model} on a Dask frame")
    check_classifiers(array, frame, "two", TWO)
    # Once here too; twenty times in the slow test.
    kill_one(client, tmp_path / "killed", 0)


@pytest.mark.slow
def test_three_classes_on_dask_workers(client):
    check_classifiers(dask_array(X), dask_frame(frame_columns()), "three", THREE)


def check_classifiers(array: Any, frame: Any, name: str, labels: np.ndarray) -> None:
    for model in CLASSIFICATION:
        if name == "three" and getattr(model, "bias_reduction", None):
            continue
        here = numbers_of(fitted(model, X, labels))
        assert_equal(here, fitted(model, array, dask_array(labels)), f"{model}, {name}, on a Dask array")
        away = unnamed(fitted(model, frame[FEATURES], frame[name]))
        assert_equal(here, away, f"{model}, {name}, on a Dask frame")
    for model in MIXED:
        assert_mixed(fitted(model, array, dask_array(labels)), labels, EDGES, f"{model}, {name}, Dask array")
        assert_mixed(fitted(model, frame[FEATURES], frame[name]), labels, EDGES, f"{model}, {name}, Dask frame")


def numbers_of(model: Any) -> dict[str, Any]:
    return {name: np.copy(value) for name, value in numbers(model).items()}


def assert_equal(here: dict[str, Any], model: Any, case: str) -> None:
    away = numbers(model)
    assert here.keys() == away.keys(), case
    for name, value in here.items():
        np.testing.assert_allclose(away[name], value, rtol=1e-10, atol=1e-10, err_msg=f"{case}: {name}")


def test_one_partition_is_the_plain_perceptron():
    pytest.importorskip("dask")
    for model in MIXED:
        for labels in (TWO, THREE):
            plain = fitted(model, X, labels)
            coef, intercept, log = plain.coef_, plain.intercept_, plain.mistake_log_
            away = fitted(model, dask_array(X, [0, N]), dask_array(labels, [0, N]))
            np.testing.assert_array_equal(away.coef_, coef)
            np.testing.assert_array_equal(away.intercept_, intercept)
            np.testing.assert_array_equal(away.mistake_log_.rows, log.rows)


def test_mixing_separates_what_is_separable():
    pytest.importorskip("dask")
    middle = np.median(Y)
    far, keep = np.where(middle < Y, "up", "down"), np.abs(Y - middle) > 2.5
    X_far, labels = X[keep], far[keep]
    edges = [0, 40, 90, 200, len(labels)]
    model = ly.Perceptron(max_passes=2000).fit(dask_array(X_far, edges), dask_array(labels, edges))
    certificate = ly.separability(X_far, labels)
    assert certificate.verdict == "separable"
    assert model.training_error_ == 0
    assert model.mistakes_per_pass_[-1] == 0
    # The paper's theorem: no more passes with mistakes than a single scan makes mistakes.
    assert model.n_passes_ - 1 <= certificate.mistake_bound()


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_mixing_of_extraordinary_size(scale):
    pytest.importorskip("dask")
    labels = dask_array(TWO)
    ordinary = fitted(ly.Perceptron(max_passes=3), dask_array(X / 2.0**3), labels)
    extreme = fitted(ly.Perceptron(max_passes=3), dask_array(X * scale), labels)
    assert np.isfinite(extreme.coef_).all()
    assert extreme.training_error_ == pytest.approx(ordinary.training_error_, abs=0.1)


def test_bits_are_those_of_a_local_fold_over_the_same_blocks():
    pytest.importorskip("dask")
    here = ly.LinearRegression().fit(CutRows(X, Y, cuts=CUTS))
    away = ly.LinearRegression().fit(dask_array(X), dask_array(Y))
    np.testing.assert_array_equal(away.coef_, here.coef_)
    np.testing.assert_array_equal(away.summary_.cross, here.summary_.cross)


@pytest.mark.parametrize("n", [*range(1, 40), 255, 256, 257, 1000])
def test_pairs_is_the_tree_of_a_local_fold(n):
    class Told:
        def __init__(self, text):
            self.text = text

        def __add__(self, other):
            return Told(f"({self.text}+{other.text})")

    tree = MergeTree()
    leaves = [Told(str(k)) for k in range(n)]
    for k in reversed(range(n)):
        tree.add(k, leaves[k])
    whole = tree.total().text
    assert pairs(leaves, lambda a, b: a + b).text == whole
    groups = [pairs(leaves[a : a + 16], lambda a, b: a + b) for a in range(0, n, 16)]
    assert pairs(groups, lambda a, b: a + b).text == whole


def test_rows_are_counted_only_if_a_fold_asks():
    asked = []
    starts = Starts(lambda: asked.append(1) or [3, 4])
    assert starts(lambda: 5) == 5
    assert not asked
    assert starts(lambda: starts.of(1) + 10) == 13
    assert len(asked) == 1
    for use in (lambda: UNKNOWN + 1, lambda: 1 - UNKNOWN, lambda: f"{UNKNOWN}", lambda: np.arange(5)[UNKNOWN:]):
        with pytest.raises(StartsNeeded):
            use()


def test_a_weight_a_name_and_a_bag_of_blocks():
    pytest.importorskip("dask")
    import dask
    import dask.bag

    weight = np.arange(N) % 3.0
    here = ly.LinearRegression().fit(X, Y, sample_weight=weight)
    away = ly.LinearRegression().fit(dask_array(X), dask_array(Y), sample_weight=dask_array(weight))
    assert_same(here, away, "weights")
    frame = dask_frame(frame_columns())
    assert ly.LinearRegression().fit(frame[FEATURES], frame["y"]).feature_names_in_.tolist() == FEATURES
    blocks = [Block(X[a:b], Y[a:b]) for a, b in pairwise(EDGES)]
    bag = dask.bag.from_sequence(blocks, npartitions=2)
    assert_same(ly.LinearRegression().fit(X, Y), ly.LinearRegression().fit(ly.from_dask(bag)), "a bag of blocks")
    delayed = [dask.delayed(block) for block in blocks]
    kept = dask_array(X).persist(), dask_array(Y).persist()
    assert_same(here.fit(X, Y), ly.LinearRegression().fit(*kept), "persisted")
    ridge = ly.RidgeCV(alphas=[0.1, 1.0, 10.0])
    assert_same(ridge.fit(X, Y), ly.RidgeCV(alphas=[0.1, 1.0, 10.0]).fit(ly.from_dask(delayed)), "delayed blocks")
    two = np.column_stack([Y, -Y])
    several = ly.LinearRegression().fit(dask_array(X), dask_array(two))
    np.testing.assert_allclose(several.coef_, ly.LinearRegression().fit(X, two).coef_, rtol=1e-10)


def test_a_pass_is_a_pass_and_a_first_block_is_one_partition():
    pytest.importorskip("dask")
    import dask.array as da

    lock, loads = threading.Lock(), []

    def load(part, block_id):
        with lock:
            loads.append(block_id[0])
        return part

    counted = dask_array(X).rechunk({1: -1}).map_blocks(load, dtype=float, meta=np.empty((0, 0)))
    assert isinstance(counted, da.Array)
    labels = dask_array(TWO)
    loads.clear()
    ly.LinearRegression().fit(counted, dask_array(Y))
    assert sorted(loads) == list(range(6))
    loads.clear()
    assert len(next(iter(ly.from_dask(counted, labels)))) == 150
    assert loads == [0]


def test_categories_and_gaps_in_a_dask_frame():
    pytest.importorskip("dask")
    kind = np.array(["u", "v", "w"])[np.arange(N) % 3]
    kind[-1] = "only here"
    columns = {**frame_columns(), "kind": kind, "flag": np.arange(N) % 2 == 0}
    here = ly.fit(pd.DataFrame(columns), target="y")
    away = ly.fit(dask_frame(columns), target="y")
    assert away.names == here.names
    np.testing.assert_allclose(away.estimator.coef_, here.estimator.coef_, rtol=1e-10)
    np.testing.assert_allclose(away.predict(dask_frame(columns)), here.predict(pd.DataFrame(columns)), rtol=1e-10)
    columns["size"] = np.where(np.arange(N) == 300, np.nan, X[:, 1])
    with pytest.raises(ValueError, match="Column 'size' is missing in row 30 of partition 3"):
        ly.fit(dask_frame(columns), target="y")
    dropped = ly.fit(dask_frame(columns), target="y", missing="drop")
    assert dropped.n_dropped == 1


BAD = {
    "y here": (lambda: (dask_array(X), Y), "X is on Dask and y is not"),
    "no y": (lambda: (dask_array(X), None), "requires y to be passed"),
    "y shorter": (lambda: (dask_array(X), dask_array(Y[:-1], [0, 599])), "y has 599 rows, X has 600"),
    "y cut otherwise": (
        lambda: (dask_frame(frame_columns())[FEATURES], dask_array(Y, [0, 300, 600])),
        "y has 2 partitions and X has 6",
    ),
    "y shorter in a partition": (
        lambda: (dask_frame(frame_columns())[FEATURES], dask_frame({"y": Y}, [0, *CUTS[:-1], 481, N])["y"]),
        "y has 81 rows in partition 4, X has 80",
    ),
    "text in X": (lambda: (dask_frame(frame_columns())[["age", "two"]], dask_array(Y)), "Column 'two' is"),
    "text in y": (lambda: (dask_array(X), dask_array(TWO)), "not numbers: use a classifier"),
    "NaN": (lambda: (dask_array(np.where(X.max() == X, np.nan, X)), dask_array(Y)), "of partition [0-9]"),
    "one dimension": (lambda: (dask_array(Y), dask_array(Y)), "two dimensions"),
    "negative weight": (lambda: (dask_array(X), dask_array(Y), dask_array(-np.ones(N))), "row 0 of partition 0 has -1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_on_dask_is_named(case):
    pytest.importorskip("dask")
    make, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        ly.LinearRegression().fit(*make())


def test_a_separable_target_on_dask_is_proven():
    pytest.importorskip("dask")
    with pytest.warns(ly.SeparationWarning, match="linearly separable"):
        model = ly.LogisticRegression().fit(dask_array(X), dask_array((X[:, 0] > 0).astype(int)))
    assert model.separation_.verdict == "separable"


def test_rows_that_come_in_blocks_cannot_be_shuffled():
    pytest.importorskip("dask")
    with pytest.raises(ValueError, match="cannot be shuffled"):
        ly.Perceptron(shuffle=True).fit(dask_array(X), dask_array(TWO))


def load_or_wait(k: int, folder: str, at: int) -> Any:
    """Partition k; the `at`-th worker that loads partition 1 says who it is and waits for its end."""
    if k == 1:
        turn = len(os.listdir(folder))
        with open(f"{folder}/{turn}.tmp", "w") as file:
            file.write(str(os.getpid()))
        os.rename(f"{folder}/{turn}.tmp", f"{folder}/{turn}")
        if turn == at:
            threading.Event().wait(120)
    rng = np.random.default_rng(k)
    part = rng.normal(size=(200, 3))
    return part, (part @ [1.0, -1.0, 2.0] + rng.normal(size=200) > 0).astype(int)


def kill_one(client: Any, folder: Path, at: int) -> None:
    """A logistic regression during whose pass number `at` the worker of partition 1 is killed: the same bits."""
    import cloudpickle
    import dask
    import psutil

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    folder.mkdir()

    def rows(at):
        load = dask.delayed(partial(load_or_wait, folder=str(folder), at=at), pure=False)
        parts = [load(k) for k in range(5)]
        return ly.from_dask([dask.delayed(lambda part: Block(*part), pure=False)(part) for part in parts])

    def kill():
        deadline = time.monotonic() + 100
        while not (folder / str(at)).exists():
            if time.monotonic() > deadline:
                return
            threading.Event().wait(0.005)
        pid = int((folder / str(at)).read_text())
        if pid in workers:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    expected = ly.LogisticRegression().fit(rows(-1))
    shutil.rmtree(folder)
    folder.mkdir()
    client.wait_for_workers(2, timeout=300)
    workers = {process.pid for process in psutil.Process().children(recursive=True)}
    killed: list[int] = []
    killer = threading.Thread(target=kill)
    killer.start()
    model = ly.LogisticRegression().fit(rows(at))
    killer.join()
    assert killed, "no worker was killed"
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    assert model.n_passes_ == expected.n_passes_


@pytest.mark.slow
def test_killed_workers_change_no_bit(client, tmp_path):
    for turn in range(20):
        kill_one(client, tmp_path / str(turn), at=turn % 7)


@pytest.mark.slow
def test_a_worker_started_anywhere_imports_the_installed_package(tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
    ):
        command = [sys.executable, "-m", "dask", "worker", client.scheduler.address, "--nthreads=1", "--no-dashboard"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        worker = subprocess.Popen(
            [*command, "--no-nanny"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            client.wait_for_workers(1, timeout=300)
            (where,) = client.run(os.getcwd).values()
            assert Path(where) == tmp_path
            away = ly.LinearRegression().fit(dask_array(X), dask_array(Y))
        finally:
            worker.terminate()
            worker.wait(30)
    assert_same(ly.LinearRegression().fit(X, Y), away, "a worker elsewhere")


# --- Spark ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    require(importlib.util.find_spec("pyspark"), "needs PySpark: pip install 'linearly[spark]'")
    require(shutil.which("java") or "JAVA_HOME" in os.environ, "needs Java 17 or later")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = SparkSession.builder.master("local[2,4]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def spark_frame(spark: Any, columns: dict[str, Any], edges: list[int] = EDGES) -> Any:
    """A DataFrame with just these partitions, the empty one too."""
    whole = pd.DataFrame(columns)
    schema = spark.createDataFrame(whole.iloc[:2]).schema
    records = list(whole.astype(object).itertuples(index=False, name=None))
    parts = [records[a:b] for a, b in pairwise(edges)]
    dealt = spark.sparkContext.parallelize(range(len(parts)), len(parts)).flatMap(lambda k: parts[k])
    return spark.createDataFrame(dealt, schema).persist()


def test_every_estimator_on_spark(spark, tmp_path):
    import cloudpickle
    import pyspark.cloudpickle

    for pickler in (cloudpickle, pyspark.cloudpickle):
        pickler.register_pickle_by_value(sys.modules[__name__])
    frame = spark_frame(spark, frame_columns())
    assert frame.rdd.getNumPartitions() == 6
    numeric = ly.from_spark(frame, target="y", features=FEATURES)
    rows = ly.from_spark(frame, target="two", features=FEATURES)
    check_on_spark(numeric, rows, lambda model: model not in MANY_PASSES)
    for model in MIXED:
        assert_mixed(fitted(model, rows), TWO, EDGES, f"{model} on Spark")
    check_failed_task(numeric, tmp_path)
    check_messages(spark, frame)


def check_on_spark(numeric: Any, rows: Any, chosen: Any) -> None:
    for model in filter(chosen, REGRESSION):
        here = numbers_of(fitted(model, X, Y))
        assert_equal(here, unnamed(fitted(model, numeric)), f"{model} on Spark")
    for model in filter(chosen, CLASSIFICATION):
        here = numbers_of(fitted(model, X, TWO))
        assert_equal(here, unnamed(fitted(model, rows)), f"{model} on Spark")


def check_failed_task(rows: Any, folder: Path) -> None:
    """A task that fails on its first attempt is tried again, and the answer is the same."""

    def fail_once(block: Block) -> Block:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context.partitionId() == 2:
            (folder / f"attempt {context.attemptNumber()}").touch()
            if context.attemptNumber() == 0:
                raise RuntimeError("a disk that fails")
        return block

    expected = ly.LinearRegression().fit(rows)
    away = ly.LinearRegression().fit(MappedRows(rows, fail_once))
    assert {file.name for file in folder.glob("attempt*")} == {"attempt 0", "attempt 1"}
    np.testing.assert_array_equal(away.coef_, expected.coef_)
    np.testing.assert_array_equal(away.summary_.cross, expected.summary_.cross)


def check_messages(spark: Any, frame: Any) -> None:
    from pyspark.sql import functions as sql

    gap = frame.withColumn("size", sql.when(sql.col("age") == float(X[300, 0]), None).otherwise(sql.col("size")))
    with pytest.raises(ValueError, match="Column 'size' is missing in row 30 of partition 3"):
        ly.LinearRegression().fit(ly.from_spark(gap, target="y", features=FEATURES))
    with pytest.raises(ValueError, match="no target column 'z'"):
        ly.from_spark(frame, target="z")
    with pytest.raises(TypeError, match="from_spark"):
        ly.LinearRegression().fit(frame, None)


@pytest.mark.slow
def test_three_classes_kinds_of_columns_and_many_partitions_on_spark(spark, monkeypatch):
    import linearly.dataset.spark as module

    frame = spark_frame(spark, frame_columns())
    numeric = ly.from_spark(frame, target="y", features=FEATURES)
    two = ly.from_spark(frame, target="two", features=FEATURES)
    check_on_spark(numeric, two, lambda model: model in MANY_PASSES)
    rows = ly.from_spark(frame, target="three", features=FEATURES)
    for model in CLASSIFICATION:
        if not getattr(model, "bias_reduction", None):
            here = numbers_of(fitted(model, X, THREE))
            assert_equal(here, unnamed(fitted(model, rows)), f"{model}, three, on Spark")
    for model in MIXED:
        assert_mixed(fitted(model, rows), THREE, EDGES, f"{model}, three, on Spark")

    kind = np.array(["u", "v", "w"])[np.arange(N) % 3]
    columns = {**frame_columns(), "kind": kind, "flag": np.arange(N) % 2 == 0, "a.b": np.arange(N)}
    mixed = spark_frame(spark, columns).selectExpr("*", "cast(round(cost, 3) as decimal(20, 3)) as price")
    local = pd.DataFrame(columns).assign(price=np.round(X[:, 2], 3))
    here, away = ly.fit(local, target="y"), ly.fit(mixed, target="y")
    assert away.names == here.names
    np.testing.assert_allclose(away.estimator.coef_, here.estimator.coef_, rtol=1e-9)
    np.testing.assert_allclose(away.predict(mixed), here.predict(local), rtol=1e-9)

    # One partition is the plain perceptron, to the bit.
    single = ly.from_spark(spark_frame(spark, frame_columns(), [0, N]), target="two", features=FEATURES)
    for model in MIXED:
        coef = fitted(model, X, TWO).coef_
        np.testing.assert_array_equal(fitted(model, single).coef_, coef)

    # Summaries merged by the executors, in two rounds, are merged in the same tree.
    direct = ly.LinearRegression().fit(numeric)
    monkeypatch.setattr(module, "_FEW", 2)
    monkeypatch.setattr(module, "_GROUP", 2)
    merged = ly.LinearRegression().fit(numeric)
    np.testing.assert_array_equal(merged.summary_.cross, direct.summary_.cross)
    with pytest.raises(ValueError, match="partition 0"):
        numeric.tables.fold(partial(refuse, what="partition 0"))


def refuse(chunk: Chunk, what: str) -> float:
    raise ValueError(f"{chunk.where(0)} will not do")


@pytest.mark.slow
def test_a_worker_without_the_package_is_named(spark, monkeypatch, tmp_path):
    (tmp_path / "linearly").mkdir()
    (tmp_path / "linearly" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'linearly'\")")
    code = (
        "import sys; from pyspark.sql import SparkSession; import linearly as ly;"
        "from linearly.dataset.spark import SparkTables;"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false')"
        f".config('spark.executorEnv.PYTHONPATH', {str(tmp_path)!r}).getOrCreate();"
        "frame = spark.range(10).selectExpr('cast(id as double) as x', 'cast(id * 2 as double) as y');\n"
        "try: ly.LinearRegression().fit(ly.from_spark(frame, target='y'))\n"
        "except ImportError as told: print(str(told))"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=200)
    assert "The Spark workers cannot import linearly" in run.stdout, run.stderr[-2000:]


def test_what_is_not_installed_is_named(tmp_path):
    for package, call in (("dask", "from_dask([])"), ("pyspark", "from_spark(None)")):
        code = (
            f"import sys; sys.modules[{package!r}] = None; import json, linearly as ly\n"
            f"try: ly.{call}\nexcept ImportError as told: print(json.dumps(str(told)))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        extra = "dask" if package == "dask" else "spark"
        assert f"pip install 'linearly[{extra}]'" in json.loads(run.stdout)
