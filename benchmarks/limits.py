"""What this machine can do at most: products a second, and bytes read a second, on one thread and on all.

Measured in the same run as the races, so that "percent of the limit" means the limit of the same minute.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits


def limits(quick: bool) -> dict[str, float]:
    """Gflop/s of a matrix product and GB/s of reading, by threads."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    size = 1000 if quick else 2000
    A = np.random.default_rng(0).standard_normal((size, size))
    parts = np.ones((cores, 10_000_000 if quick else 40_000_000))
    found: dict[str, float] = {}
    for threads in dict.fromkeys((1, cores)):
        with threadpool_limits(limits=threads, user_api="blas"):
            found[f"gflops_{threads}"] = 2 * size**3 / _least(lambda: A @ A) / 1e9
        with threadpool_limits(limits=1, user_api="blas"):
            found[f"gbytes_{threads}"] = threads * parts[0].nbytes / _least(lambda n=threads: _read(parts, n)) / 1e9  # type: ignore[misc]
    return found


def _read(parts: np.ndarray, threads: int) -> None:
    workers = [threading.Thread(target=np.dot, args=(part, part)) for part in parts[1:threads]]
    for worker in workers:
        worker.start()
    np.dot(parts[0], parts[0])
    for worker in workers:
        worker.join()


def _least(run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
