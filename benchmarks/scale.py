"""What a pass costs on a cluster: constants measured here, a model made of them, and the model held against real runs.

    python -m benchmarks.scale                  constants, predictions and Dask runs, as lines of JSON
    python -m benchmarks.scale --spark          the same with Spark

The model of one fold of a Gram (or of any summary of s numbers) over n rows in P partitions on W workers:

    T = n · t_row / W  +  P · t_task / W + P · t_plan  +  P · t_merge / W + depth · t_merge  +  start

t_row is the time of a row in the fold, t_task what a worker spends on a task beside that, t_plan what the scheduler
here spends on a partition, t_merge a merge of two summaries with its way there, depth = ⌈log₂ P⌉.
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

from linearly.algorithm.least_squares.gram import Gram
from linearly.dataset.rows.block import Block, rows_in_block
from linearly.kernels.blas_threads import single_threaded_blas

REPEATS = 5


@dataclass(frozen=True)
class Costs:
    """Constants of a cluster, in seconds."""

    task: float  # a worker's, for a partition and its merge, beside the rows
    plan: float  # the scheduler's, for a partition
    start: float  # of a fold, whatever its size


def summary_bytes(p: int) -> int:
    """What a Gram of p features and a target takes on its way: measured, not computed."""
    return len(pickle.dumps(Gram.of(_block(64, p)), protocol=5))


def row_seconds(p: int) -> float:
    """A row of a Gram fold on one core, of rows that are in memory."""
    block = _block(rows_in_block(p), p)
    with single_threaded_blas():
        return best(lambda: Gram.of(block), clock=time.thread_time) / len(block)


def merge_seconds(p: int) -> float:
    """A merge of two Grams with their way through a pickle."""
    a, b = Gram.of(_block(64, p)), Gram.of(_block(64, p, seed=1))

    def merge() -> Any:
        left, right = (pickle.loads(pickle.dumps(each, protocol=5)) for each in (a, b))
        return left + right

    with single_threaded_blas():
        return best(merge, clock=time.thread_time)


def predicted(n: float, p: int, P: int, W: int, costs: Costs, row: float, merge: float) -> float:
    """Seconds of one fold."""
    depth = math.ceil(math.log2(P)) if P > 1 else 0
    W = min(W, P)
    return costs.start + n * row / W + P * (costs.task / W + costs.plan) + (P / W + depth) * merge


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

    def rows(self, n: int, p: int, P: int) -> Any:
        import linearly as ly

        columns = [f"randn({j}) as a{j}" for j in range(p)] + ["randn(99) as y"]
        frame = self.session.range(0, n, 1, P).selectExpr(*columns).persist()
        frame.count()
        return ly.from_spark(frame, target="y")

    def close(self) -> None:
        self.session.stop()


def measured(cluster: Any, n: int, p: int, P: int, repeats: int) -> float:
    """Seconds of one fold of a Gram on a cluster."""
    rows = cluster.rows(n, p, P)
    assert rows.n_partitions == P
    rows.reduce(Gram.of)  # workers import what they need
    return best(lambda: rows.reduce(Gram.of), repeats)


def calibrated(cluster: Any, small: int, large: int, repeats: int) -> tuple[float, float]:
    """Start and cost of a partition of a cluster, from folds over next to no rows in few and in many partitions."""
    few, many = (measured(cluster, 16 * P, 4, P, repeats) for P in (small, large))
    each = max((many - few) / (large - small), 0.0)
    return max(few - small * each, 0.0), each


def runs(
    make: Callable[[int], Any], sizes: list[tuple[int, int, int]], span: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Every size on one and on two workers, beside what the model says of it.

    The cost of a partition is measured at both numbers of workers on next to no rows: what two workers halve of it is
    the workers' part, the rest is the scheduler's.
    """
    found = {}
    for workers in (1, 2):
        cluster = make(workers)
        try:
            found[workers] = calibrated(cluster, *span, REPEATS)
        finally:
            cluster.close()
    (start, one), (_, two) = found[1], found[2]
    task = min(max(2 * (one - two), 0.0), one)
    costs = Costs(task=task, plan=one - task, start=start)
    yield {"costs": asdict(costs)}
    for workers in (1, 2):
        cluster = make(workers)
        try:
            for n, p, P in sizes:
                seconds = measured(cluster, n, p, P, 3)
                expected = predicted(n, p, P, workers, costs, row_seconds(p), merge_seconds(p))
                yield {
                    "cluster": cluster.name, "n": n, "p": p, "partitions": P, "workers": workers,
                    "predicted": expected, "measured": seconds,
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
            seconds = predicted(n, p, P, W, costs, kernels[p]["row"], kernels[p]["merge"])
            sent = P * kernels[p]["bytes"]
            print(json.dumps({"n": n, "p": p, "partitions": P, "workers": W, "predicted": seconds, "sent": sent}))


if __name__ == "__main__":
    main()
