"""Repeat the fits of `splits` on Dask workers and in Spark, started on this machine, and kill a worker during a fit."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import linearly as ly
from linearly.dataset.rows.block import Block
from linearly.selftest import Result, not_run
from linearly.selftest.reference_fits import CLASSIFICATION, FEATURES, REGRESSION, WITHIN, difference, fitted

EDGES = (0, 150, 150, 270, 400, 480, 600)  # the second partition is empty
DASK = "Dask: pip install 'linearly[dask]'"
PARTITIONS, KILLS = 5, 5
PATIENCE = 100.0  # seconds that the killer waits for its moment, and a worker for its end


def on_dask(X: Any, y: Any, labels: Any) -> Result:
    """Compare fits on two Dask workers with fits in memory."""
    what, required = "two Dask workers, 6 partitions", f"≤ {WITHIN:g}"
    if find_spec("distributed") is None or find_spec("dask") is None:
        return not_run(what, required, DASK)
    import dask.array as da
    import distributed

    chunks = tuple(np.diff(EDGES).tolist())
    worst = 0.0
    with _two_workers() as cluster, distributed.Client(cluster):
        away = da.from_array(X, chunks=(chunks, 2))
        for models, target in ((REGRESSION, y), (CLASSIFICATION, labels)):
            there = da.from_array(target, chunks=(chunks,))
            for model in models:
                worst = max(worst, difference(fitted(model, away, there), fitted(model, X, target), X))
    return Result(what, f"largest difference {worst:.1e}", required, worst <= WITHIN)


def killed_on_dask() -> Result:
    """Kill a worker during logistic regressions, each time in another pass."""
    what, required = "kill -9 of a Dask worker in the middle of a fit", "identical bits, or an error"
    if find_spec("distributed") is None or find_spec("dask") is None:
        return not_run(what, required, DASK)
    if not hasattr(signal, "SIGKILL"):
        return not_run(what, required, "a system with kill -9")
    import distributed

    killed = same = failed = 0
    for turn in range(KILLS):
        # A cluster for each: on a busy machine, Dask may give up the worker that takes the place of a killed one.
        with (
            tempfile.TemporaryDirectory(prefix="linearly-selftest-") as folder,
            _two_workers() as cluster,
            distributed.Client(cluster) as client,
        ):
            expected, model, pid = fitted_despite_a_kill(client, Path(folder), at=turn)
        killed += pid is not None
        failed += isinstance(model, Exception)
        same += not isinstance(model, Exception) and same_fit(expected, model)
    figure = f"{killed} kills: identical bits after {same}, an error after {failed}"
    return Result(what, figure, required, killed == KILLS == same + failed)


def same_fit(a: Any, b: Any) -> bool:
    """Return whether two fits have the same bits and number of passes."""
    pairs = ((a.coef_, b.coef_), (a.intercept_, b.intercept_))
    return all(u.tobytes() == v.tobytes() for u, v in pairs) and bool(a.n_passes_ == b.n_passes_)


def fitted_despite_a_kill(client: Any, folder: Path, at: int) -> tuple[Any, Any, int | None]:
    """Return an undisturbed fit, a fit in whose pass `at` a worker is killed (or its error), and the killed pid."""
    client.wait_for_workers(2, timeout=300)
    expected = ly.LogisticRegression().fit(_counted(folder / "calm", -1))
    workers = set(client.run(os.getpid).values())
    hit: list[int] = []

    def kill() -> None:
        mark = folder / "fire" / str(at)
        deadline = time.monotonic() + PATIENCE
        while not mark.exists() and time.monotonic() < deadline:
            threading.Event().wait(0.005)
        pid = int(mark.read_text()) if mark.exists() else -1
        if pid in workers:
            os.kill(pid, signal.SIGKILL)
            hit.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    model: Any
    try:
        model = ly.LogisticRegression().fit(_counted(folder / "fire", at))
    except Exception as failure:  # an explicit failure is an answer
        model = failure
    killer.join()
    return expected, model, hit[0] if hit else None


def _counted(folder: Path, at: int) -> Any:
    """Return rows in partitions that are loaded anew in each pass."""
    import dask

    folder.mkdir()
    load = dask.delayed(partial(load_or_wait, folder=str(folder), at=at), pure=False)
    return ly.from_dask([load(k) for k in range(PARTITIONS)])


def load_or_wait(k: int, folder: str, at: int) -> Block:
    """Return partition k; when partition 1 is loaded for the `at`-th time, its worker writes its pid and waits."""
    if k == 1:
        turn = len(os.listdir(folder))
        Path(folder, f"{turn}.tmp").write_text(str(os.getpid()), encoding="utf-8")
        os.rename(f"{folder}/{turn}.tmp", f"{folder}/{turn}")
        if turn == at:
            threading.Event().wait(PATIENCE)
    rng = np.random.default_rng(k)
    part = rng.normal(size=(200, 3))
    return Block(part, (part @ [1.0, -1.0, 2.0] + rng.normal(size=200) > 0).astype(int))


def _two_workers() -> Any:
    import distributed

    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        silence_logs="CRITICAL",
    )  # fmt: skip


def on_spark(X: Any, y: Any, labels: Any) -> Result:
    """Compare some fits in Spark with fits in memory; a pass takes Spark half a second."""
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
    return Result(what, f"largest difference {worst:.1e}", required, worst <= WITHIN)


def _worst_on_spark(session: Any, X: Any, y: Any, labels: Any) -> float:
    records = [(*map(float, row), float(t), str(label)) for row, t, label in zip(X, y, labels, strict=True)]
    parts = [records[a:b] for a, b in pairwise(EDGES)]
    distributed = session.sparkContext.parallelize(range(len(parts)), len(parts)).flatMap(lambda k: parts[k])
    frame = session.createDataFrame(distributed, [*FEATURES, "y", "label"]).persist()
    worst = 0.0
    for model in (*REGRESSION[:4], CLASSIFICATION[0], *CLASSIFICATION[3:]):
        column = "y" if model in REGRESSION else "label"
        away = fitted(model, ly.from_spark(frame, target=column, features=list(FEATURES)))
        worst = max(worst, difference(away, fitted(model, X, y if column == "y" else labels), X))
    return worst
