"""The fits of `splits` on Dask's workers and in Spark's executors, started on this machine for the purpose."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

import linearly as ly
from linearly.selftest import Result, not_run
from linearly.selftest.splits import CLASSIFICATION, FEATURES, REGRESSION, WITHIN, difference, fitted

EDGES = (0, 150, 150, 270, 400, 480, 600)  # the second partition is empty


def on_dask(X: Any, y: Any, labels: Any) -> Result:
    """Every estimator whose rows may come in any order, on two worker processes."""
    what, required = "two Dask workers, 6 partitions", f"≤ {WITHIN:g}"
    if find_spec("distributed") is None or find_spec("dask") is None:
        return not_run(what, required, "Dask: pip install 'linearly[dask]'")
    import dask.array as da
    import distributed

    chunks = tuple(np.diff(EDGES).tolist())
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        silence_logs="CRITICAL",
    )  # fmt: skip
    worst = 0.0
    with cluster, distributed.Client(cluster):
        away = da.from_array(X, chunks=(chunks, 2))
        for models, target in ((REGRESSION, y), (CLASSIFICATION, labels)):
            there = da.from_array(target, chunks=(chunks,))
            for model in models:
                worst = max(worst, difference(fitted(model, away, there), fitted(model, X, target), X))
    return Result(what, f"differ by {worst:.1e}", required, worst <= WITHIN)


def on_spark(X: Any, y: Any, labels: Any) -> Result:
    """Some estimators of every kind; a pass takes Spark half a second."""
    what, required = "Spark on two cores, 6 partitions", f"≤ {WITHIN:g}"
    if find_spec("pyspark") is None:
        return not_run(what, required, "PySpark: pip install 'linearly[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return not_run(what, required, "Java 17 or later")
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
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        try:
            session.sparkContext.setLogLevel("OFF")
            worst = _worst_on_spark(session, X, y, labels)
        finally:
            session.stop()
    return Result(what, f"differ by {worst:.1e}", required, worst <= WITHIN)


def _worst_on_spark(session: Any, X: Any, y: Any, labels: Any) -> float:
    records = [(*map(float, row), float(t), str(label)) for row, t, label in zip(X, y, labels, strict=True)]
    parts = [records[a:b] for a, b in pairwise(EDGES)]
    dealt = session.sparkContext.parallelize(range(len(parts)), len(parts)).flatMap(lambda k: parts[k])
    frame = session.createDataFrame(dealt, [*FEATURES, "y", "label"]).persist()
    worst = 0.0
    for model in (*REGRESSION[:4], CLASSIFICATION[0], *CLASSIFICATION[3:]):
        column = "y" if model in REGRESSION else "label"
        away = fitted(model, ly.from_spark(frame, target=column, features=list(FEATURES)))
        worst = max(worst, difference(away, fitted(model, X, y if column == "y" else labels), X))
    return worst
