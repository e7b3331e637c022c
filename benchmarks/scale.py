"""What a pass costs on a cluster: constants measured here, a model made of them, and the model held against real runs.

    python -m benchmarks.scale                  constants, predictions and Dask runs, as tables for docs/scale.md
    python -m benchmarks.scale --spark          the same with Spark

The model of one fold of a Gram over n rows in P partitions on W workers, in processor seconds:

    a worker        n/W · t_row  +  P/W · (t_task + t_merge)
    the scheduler   P · t_plan
    the fold        the longer of the two, for they work side by side, and ⌈log₂ P⌉ · t_merge

t_row is a row in the fold; t_task what a worker spends on a partition beside its rows; t_plan what the process here
spends on it (graph, scheduling, bookkeeping); t_merge a merge of two summaries with its way there. Seconds are
processor time, so that other work on the machine does not change them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import psutil

from linearly.algorithm.gram import Gram
from linearly.dataset.elsewhere import partitions_of
from linearly.dataset.fold import quiet_blas
from linearly.dataset.rows import Block, rows_in_block

REPEATS = 5


@dataclass(frozen=True)
class Costs:
    """Constants of a cluster, in processor seconds."""

    task: float  # a worker's, for a partition, beside its rows
    plan: float  # the scheduler's, for a partition
    start_worker: float  # of a fold, whatever its size
    start_driver: float


@dataclass(frozen=True)
class Fold:
    """Processor seconds of one fold: of the busiest worker, and of the process here."""

    worker: float
    driver: float


def summary_bytes(p: int) -> int:
    """What a Gram of p features and a target takes on its way: measured, not computed."""
    return len(pickle.dumps(Gram.of(_block(64, p)), protocol=5))


def row_seconds(p: int) -> float:
    """A row of a Gram fold on one core, of rows that are in memory."""
    block = _block(rows_in_block(p), p)
    with quiet_blas():
        return best(lambda: Gram.of(block), clock=time.thread_time) / len(block)


def merge_seconds(p: int) -> float:
    """A merge of two Grams with their way through a pickle."""
    a, b = Gram.of(_block(64, p)), Gram.of(_block(64, p, seed=1))

    def merge() -> Any:
        left, right = (pickle.loads(pickle.dumps(each, protocol=5)) for each in (a, b))
        return left + right

    with quiet_blas():
        return best(merge, clock=time.thread_time)


def predicted(n: float, P: int, W: int, costs: Costs, row: float, merge: float) -> Fold:
    """What the model says of one fold."""
    W = min(W, P)
    worker = costs.start_worker + n / W * row + P / W * (costs.task + merge)
    return Fold(worker, costs.start_driver + P * costs.plan)


def seconds(fold: Fold, P: int, merge: float) -> float:
    """How long a fold takes where every worker and the scheduler have a core of their own."""
    return max(fold.worker, fold.driver) + math.ceil(math.log2(P)) * merge


def best(run: Callable[[], Any], repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of some runs: what the machine can do when nobody disturbs it.

    What runs on one thread is timed by the processor time it takes, so that a busy machine does not make it longer.
    """
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def _block(n: int, p: int, seed: int = 0) -> Block:
    rng = np.random.default_rng(seed)
    return Block(rng.normal(size=(n, p)), rng.normal(size=n))


# --- real runs ------------------------------------------------------------------------------------


def _used(process: Any) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


class DaskCluster:
    """Rows made by the workers and kept there: a fold then moves nothing but summaries."""

    name = "Dask"

    def __init__(self, workers: int) -> None:
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs="ERROR",
        )
        self.client = Client(self.cluster)
        self.workers = [psutil.Process(pid) for pid in self.client.run(os.getpid).values()]

    def processor_seconds(self) -> list[float]:
        """What each worker has used so far."""
        return [_used(worker) for worker in self.workers]

    def rows(self, n: int, p: int, P: int) -> Any:
        import dask.array as da

        import linearly as ly

        X = da.random.default_rng(0).normal(size=(n, p), chunks=(n // P, p)).persist()
        y = X.sum(axis=1).persist()
        self.client.wait_for_workers(1)
        from distributed import wait

        wait([X, y])
        return ly.from_dask(X, y)

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


class SparkCluster:
    """A local Spark with its DataFrame in memory."""

    name = "Spark"

    def __init__(self, workers: int) -> None:
        import warnings

        warnings.filterwarnings("ignore", message="PySpark does not yet")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        self.session = SparkSession.builder.master(f"local[{workers}]").config(map=settings).getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")
        self.workers = workers

    def processor_seconds(self) -> list[float]:
        """What Java and its Python workers have used so far, a share for each worker: they are threads of one process."""
        return [sum(map(_used, psutil.Process().children(recursive=True))) / self.workers]

    def rows(self, n: int, p: int, P: int) -> Any:
        import linearly as ly

        columns = [f"randn({j}) as a{j}" for j in range(p)] + ["randn(99) as y"]
        frame = self.session.range(0, n, 1, P).selectExpr(*columns).persist()
        frame.count()
        return ly.from_spark(frame, target="y")

    def close(self) -> None:
        self.session.stop()


def measured(cluster: Any, n: int, p: int, P: int, repeats: int) -> Fold:
    """One fold of a Gram on a cluster, the cheapest of some."""
    rows = cluster.rows(n, p, P)
    assert partitions_of(rows) == P
    rows.fold(Gram.of)  # workers import what they need
    found = []
    for _ in range(repeats):
        here, there = time.process_time(), cluster.processor_seconds()
        rows.fold(Gram.of)
        after = cluster.processor_seconds()
        found.append(Fold(max(b - a for a, b in zip(there, after, strict=True)), time.process_time() - here))
    return Fold(min(fold.worker for fold in found), min(fold.driver for fold in found))


def calibrated(cluster: Any, small: int, large: int, repeats: int) -> Costs:
    """The costs of a cluster of one worker, from folds over next to no rows in few and in many partitions."""
    few, many = (measured(cluster, 16 * P, 4, P, repeats) for P in (small, large))
    merge = merge_seconds(4)
    each = max((many.worker - few.worker) / (large - small) - merge, 0.0)
    plan = (many.driver - few.driver) / (large - small)
    return Costs(each, plan, max(few.worker - small * (each + merge), 0.0), max(few.driver - small * plan, 0.0))


def runs(make: Callable[[int], Any], sizes: list[Any], span: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """The costs, measured on one worker; then every size on one and on two, beside what the model says of it."""
    costs = None
    for workers in (1, 2):
        cluster = make(workers)
        try:
            if costs is None:
                costs = calibrated(cluster, *span, REPEATS)
                yield {"costs": asdict(costs)}
            for n, p, P in sizes:
                found = measured(cluster, n, p, P, 3)
                told = predicted(n, P, workers, costs, row_seconds(p), merge_seconds(p))
                yield {
                    "cluster": cluster.name, "n": n, "p": p, "partitions": P, "workers": workers,
                    "predicted": asdict(told), "measured": asdict(found),
                }  # fmt: skip
        finally:
            cluster.close()


DASK_SIZES = [
    (2**21, 20, 1),
    (2**21, 20, 16),
    (2**21, 20, 256),
    (2**21, 20, 4096),
    (2**18, 200, 16),
    (2**18, 200, 256),
    (2**14, 1000, 16),
]
SPARK_SIZES = [(2**20, 20, 4), (2**20, 20, 32), (2**20, 20, 128)]
PAPER = [
    (1e9, 20, 1_000, 16), (1e10, 20, 10_000, 100), (1e12, 20, 100_000, 1_000),
    (1e9, 500, 10_000, 100), (1e12, 500, 1_000_000, 1_000),
    (1e9, 5_000, 2_000, 1_000), (1e12, 5_000, 100_000, 1_000),
]  # fmt: skip


def main() -> None:
    """Print everything as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="store_true", help="measure Spark instead of Dask")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    asked = parser.parse_args()
    kernels = {}
    for p in (4, 20, 200, 500, 1000) if asked.quick else (4, 20, 200, 500, 1000, 5000):
        kernels[p] = {"row": row_seconds(p), "merge": merge_seconds(p), "bytes": summary_bytes(p)}
    for p, found in kernels.items():
        print(json.dumps({"p": p, **found}))
    sizes, span = (SPARK_SIZES, (2, 32)) if asked.spark else (DASK_SIZES, (1, 1024))
    make = SparkCluster if asked.spark else DaskCluster
    costs = None
    for line in runs(make, sizes[:2] if asked.quick else sizes, span):
        print(json.dumps(line), flush=True)
        if "costs" in line:
            costs = Costs(**line["costs"])
    assert costs is not None
    for n, p, P, W in PAPER:
        if p in kernels:
            row, merge, size = kernels[p].values()
            told = predicted(n, P, W, costs, row, merge)
            line = {"n": n, "p": p, "partitions": P, "workers": W, **asdict(told), "sent": P * size}
            print(json.dumps({**line, "seconds": seconds(told, P, merge)}))


if __name__ == "__main__":
    main()
