"""Rows on Dask and on Spark: what a cluster changes, what it does not, and what is said when something is wrong.

The table of all estimators on real clusters is in test_every_source.py. Here Dask runs on its own threads, except in
the slow tests.
"""

import json
import os
import subprocess
import sys
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from clusters import dask_array as cut_array
from clusters import dask_frame as cut_frame
from clusters import fitted, kill_one, mixed_by_hand, pickled_by_value
from clusters import spark_frame as cut_spark
from estimators import CutRows

import linearly as ly
from linearly.dataset.cluster.partitions import UNKNOWN, OffsetsNeeded, PartitionOffsets, merge_pairwise
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.reduce import MergeTree
from linearly.dataset.rows.tables import Chunk

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
    ly.LinearRegression(alpha=1.0, method="qr"),
    ly.LinearRegression(covariance="HC3", method="extended"),
    ly.RidgeCV(alphas=[0.1, 1.0, 10.0], cv="loo"),
]
CLASSIFICATION = [
    ly.LogisticRegression(alpha=1.0, solver="lbfgs"),
    ly.LogisticRegression(bias_reduction="firth"),
    ly.LogisticRegression(covariance="HC1"),
    ly.PocketPerceptron(max_updates=100, init="least_squares"),
]
MIXED = [ly.Perceptron(max_passes=4), ly.AveragedPerceptron(max_passes=4)]


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


def assert_mixed(model: Any, labels: np.ndarray, edges: list[int], case: str) -> None:
    last, mean = mixed_by_hand(X, labels, model.max_passes, edges)
    W = mean if isinstance(model, ly.AveragedPerceptron) else last
    np.testing.assert_allclose(model.coef_, W[:, :-1], rtol=1e-10, atol=1e-10, err_msg=case)
    np.testing.assert_allclose(model.intercept_, W[:, -1], rtol=1e-10, atol=1e-10, err_msg=case)
    assert model.n_passes_ == model.max_passes
    with pytest.raises(AttributeError, match="mistake log is not available after training on a cluster"):
        _ = model.mistake_log_


# --- Dask -----------------------------------------------------------------------------------------


def dask_array(values: np.ndarray, edges: list[int] = EDGES) -> Any:
    return cut_array(values, edges)


def dask_frame(columns: dict[str, np.ndarray], edges: list[int] = EDGES) -> Any:
    return cut_frame(columns, edges)


def spark_frame(spark: Any, columns: dict[str, Any], edges: list[int] = EDGES) -> Any:
    return cut_spark(spark, columns, edges)


def frame_columns() -> dict[str, np.ndarray]:
    return {**dict(zip(FEATURES, X.T, strict=True)), "y": Y, "two": TWO, "three": THREE}


def test_other_ways_to_fit_on_dask():
    pytest.importorskip("dask")
    array, frame = dask_array(X), dask_frame(frame_columns())
    for model in REGRESSION:
        here = numbers_of(fitted(model, X, Y))
        assert_equal(here, fitted(model, array, dask_array(Y)), f"{model} on a Dask array")
        assert_equal(here, unnamed(fitted(model, frame[FEATURES], frame["y"])), f"{model} on a Dask frame")
    for name, labels in (("two", TWO), ("three", THREE)):
        for model in CLASSIFICATION:
            if name == "three" and getattr(model, "bias_reduction", None):
                continue
            here = numbers_of(fitted(model, X, labels))
            assert_equal(here, fitted(model, array, dask_array(labels)), f"{model}, {name}, on a Dask array")
            away = unnamed(fitted(model, frame[FEATURES], frame[name]))
            assert_equal(here, away, f"{model}, {name}, on a Dask frame")
        for model in MIXED:
            assert_mixed(fitted(model, array, dask_array(labels)), labels, EDGES, f"{model}, {name}, Dask array")


def numbers_of(model: Any) -> dict[str, Any]:
    return {name: np.copy(value) for name, value in numbers(model).items()}


def assert_equal(here: dict[str, Any], model: Any, case: str) -> None:
    away = numbers(model)
    assert here.keys() == away.keys(), case
    for name, value in here.items():
        np.testing.assert_allclose(away[name], value, rtol=1e-10, atol=1e-10, err_msg=f"{case}: {name}")


def test_labels_on_dask_are_not_computed_for_their_shape():
    pytest.importorskip("dask")
    from dask.callbacks import Callback

    counts = []
    for model in (ly.LinearDiscriminantAnalysis(), ly.LeastSquaresClassifier()):
        graphs: list[Any] = []
        with Callback(start=graphs.append):
            fitted(model, dask_array(X), dask_array(TWO))
        counts.append(len(graphs))
    assert counts[0] == counts[1] > 0


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
def test_parameter_mixing_of_extreme_magnitude_has_about_the_errors_of_ordinary_rows(scale):
    pytest.importorskip("dask")
    labels = dask_array(TWO)
    ordinary = fitted(ly.Perceptron(max_passes=3), dask_array(X / 2.0**3), labels)
    extreme = fitted(ly.Perceptron(max_passes=3), dask_array(X * scale), labels)
    assert np.isfinite(extreme.coef_).all()
    assert extreme.training_error_ == pytest.approx(ordinary.training_error_, abs=0.1)


def test_cluster_reduction_has_the_bits_of_a_local_one_over_the_same_blocks():
    pytest.importorskip("dask")
    here = ly.LinearRegression().fit(CutRows(X, Y, cuts=CUTS))
    away = ly.LinearRegression().fit(dask_array(X), dask_array(Y))
    np.testing.assert_array_equal(away.coef_, here.coef_)
    np.testing.assert_array_equal(away.summary_.centered_crossprod, here.summary_.centered_crossprod)


@pytest.mark.parametrize("n", [*range(1, 40), 255, 256, 257, 1000])
def test_merge_pairwise_is_the_tree_of_a_local_reduction(n):
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
    assert merge_pairwise(leaves, lambda a, b: a + b).text == whole
    groups = [merge_pairwise(leaves[a : a + 16], lambda a, b: a + b) for a in range(0, n, 16)]
    assert merge_pairwise(groups, lambda a, b: a + b).text == whole


def test_partitions_are_counted_only_if_a_reduction_needs_offsets():
    asked = []
    starts = PartitionOffsets(lambda: asked.append(1) or [3, 4])
    assert starts(lambda: 5) == 5
    assert not asked
    assert starts(lambda: starts.of(1) + 10) == 13
    assert len(asked) == 1
    for use in (lambda: UNKNOWN + 1, lambda: 1 - UNKNOWN, lambda: f"{UNKNOWN}", lambda: np.arange(5)[UNKNOWN:]):
        with pytest.raises(OffsetsNeeded):
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


def test_dask_pass_loads_each_partition_once_and_the_first_block_one():
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


def test_names_that_are_no_text_are_those_of_a_frame_that_is_here():
    pytest.importorskip("dask")
    columns = dict(zip([0, 1, "y"], X.T, strict=True))
    here, away = (ly.fit(frame, target="y") for frame in (pd.DataFrame(columns), dask_frame(columns)))
    assert away.names == here.names == ("0", "1")
    np.testing.assert_allclose(away.predict(dask_frame(columns)), here.predict(pd.DataFrame(columns)), rtol=1e-10)
    with pytest.raises(ValueError, match=r"The target column 'z' does not exist\. The columns are 0, 1, y"):
        ly.fit(dask_frame(columns), target="z")
    with pytest.raises(ValueError, match="Several columns have the name '0' 2 times"):
        ly.fit(dask_frame(columns | {"0": Y}), target="y")


BAD = {
    "y here": (lambda: (dask_array(X), Y), "X is on Dask but y is not"),
    "no y": (lambda: (dask_array(X), None), "requires y to be passed"),
    "y shorter": (lambda: (dask_array(X), dask_array(Y[:-1], [0, 599])), "y has 599 rows, but X has 600"),
    "y cut otherwise": (
        lambda: (dask_frame(frame_columns())[FEATURES], dask_array(Y, [0, 300, 600])),
        "y has 2 partitions, but X has 6",
    ),
    "y shorter in a partition": (
        lambda: (dask_frame(frame_columns())[FEATURES], dask_frame({"y": Y}, [0, *CUTS[:-1], 481, N])["y"]),
        "y has 81 rows in partition 4, but X has 80",
    ),
    "text in X": (lambda: (dask_frame(frame_columns())[["age", "two"]], dask_array(Y)), "Column 'two' is"),
    "text in y": (lambda: (dask_array(X), dask_array(TWO)), r"not numeric, in partition \d+. Use a classifier"),
    "NaN": (lambda: (dask_array(np.where(X.max() == X, np.nan, X)), dask_array(Y)), "of partition [0-9]"),
    "one dimension": (lambda: (dask_array(Y), dask_array(Y)), "two dimensions"),
    "negative weight": (lambda: (dask_array(X), dask_array(Y), dask_array(-np.ones(N))), "in row 0 of partition 0: -1"),
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


@pytest.mark.slow
def test_killed_workers_change_no_bit(client, tmp_path):
    for turn in range(20):
        kill_one(client, tmp_path / str(turn), at=turn % 7)


@pytest.mark.slow
def test_worker_started_in_any_directory_imports_the_installed_package(tmp_path):
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


@pytest.mark.slow
def test_other_ways_to_fit_kinds_of_columns_and_many_partitions_on_spark(spark, monkeypatch):
    import linearly.dataset.cluster.spark as module

    pickled_by_value(__name__)
    frame = spark_frame(spark, frame_columns())
    numeric = ly.from_spark(frame, target="y", features=FEATURES)
    for model in REGRESSION:
        here = numbers_of(fitted(model, X, Y))
        assert_equal(here, unnamed(fitted(model, numeric)), f"{model} on Spark")
    for name, labels in (("two", TWO), ("three", THREE)):
        rows = ly.from_spark(frame, target=name, features=FEATURES)
        for model in CLASSIFICATION:
            if name == "two" or not getattr(model, "bias_reduction", None):
                here = numbers_of(fitted(model, X, labels))
                assert_equal(here, unnamed(fitted(model, rows)), f"{model}, {name}, on Spark")
        for model in MIXED:
            assert_mixed(fitted(model, rows), labels, EDGES, f"{model}, {name}, on Spark")

    kind = np.array(["u", "v", "w"])[np.arange(N) % 3]
    columns = {**frame_columns(), "kind": kind, "flag": np.arange(N) % 2 == 0, "a.b": np.arange(N)}
    mixed = spark_frame(spark, columns).selectExpr("*", "cast(round(cost, 3) as decimal(20, 3)) as price")
    local = pd.DataFrame(columns).assign(price=np.round(X[:, 2], 3))
    here, away = ly.fit(local, target="y"), ly.fit(mixed, target="y")
    assert away.names == here.names
    np.testing.assert_allclose(away.estimator.coef_, here.estimator.coef_, rtol=1e-9)
    found = away.predict(mixed).toArrow()
    order = np.argsort(found["a.b"].to_numpy())
    np.testing.assert_allclose(found["prediction"].to_numpy()[order], here.predict(local), rtol=1e-9)

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
    np.testing.assert_array_equal(merged.summary_.centered_crossprod, direct.summary_.centered_crossprod)
    with pytest.raises(ValueError, match="partition 0"):
        numeric.tables.reduce(partial(refuse, what="partition 0"))


def refuse(chunk: Chunk, what: str) -> float:
    raise ValueError(f"{chunk.where(0)} will not do")


@pytest.mark.slow
def test_a_worker_without_the_package_is_named(spark, monkeypatch, tmp_path):
    # What Spark starts gets the environment of its driver. An editable install would be found before any folder.
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['linearly'] = None")
    code = (
        "import os; from pyspark.sql import SparkSession; import linearly as ly;"
        f"os.environ['PYTHONPATH'] = {str(tmp_path)!r};"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate();"
        "frame = spark.range(10).selectExpr('cast(id as double) as x', 'cast(id * 2 as double) as y');\n"
        "try: ly.LinearRegression().fit(ly.from_spark(frame, target='y'))\n"
        "except ImportError as told: print(str(told))"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=600)
    assert "The Spark workers cannot import linearly" in run.stdout, run.stderr[-2000:]


def test_from_dask_and_from_spark_without_the_package_name_the_extra(tmp_path):
    for package, call in (("dask", "from_dask([])"), ("pyspark", "from_spark(None)")):
        code = (
            f"import sys; sys.modules[{package!r}] = None; import json, linearly as ly\n"
            f"try: ly.{call}\nexcept ImportError as told: print(json.dumps(str(told)))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        extra = "dask" if package == "dask" else "spark"
        assert f"pip install 'linearly[{extra}]'" in json.loads(run.stdout)
