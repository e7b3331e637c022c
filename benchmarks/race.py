"""A race: every contender on the same data in one process, in alternation, after its answer was checked.

Seconds depend on the machine and the day, so what counts is the ratio of times within one race. Peers run with one
and with two BLAS threads and their better time counts.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


@dataclass
class Contender:
    """Someone who does the work: `run` returns the answer that is compared, as an array."""

    name: str
    run: Callable[[], Any]
    ours: bool = False
    repeats: int = 5
    optional: str = ""  # package it needs


@dataclass
class Result:
    """What a race found."""

    workload: str
    size: str
    seconds: dict[str, float] = field(default_factory=dict)
    extra_mb: dict[str, float] = field(default_factory=dict)
    difference: dict[str, float] = field(default_factory=dict)
    growth: float | None = None
    flops: float | None = None  # that the work takes at least, and
    bytes: float | None = None  # that it must read, where that is known

    def share_of_limit(self, limits: dict[str, float]) -> float | None:
        """Our speed, as a share of what the machine could do at most with that much to multiply and to read."""
        if self.flops is None and self.bytes is None:
            return None
        products = (self.flops or 0.0) / (1e9 * max(v for k, v in limits.items() if k.startswith("gflops")))
        reading = (self.bytes or 0.0) / (1e9 * max(v for k, v in limits.items() if k.startswith("gbytes")))
        return max(products, reading) / self.seconds[self.ours]

    @property
    def ours(self) -> str:
        return next(iter(self.seconds))

    def ratios(self) -> dict[str, float]:
        """How many times as long as ours each peer took."""
        mine = self.seconds[self.ours]
        return {name: seconds / mine for name, seconds in self.seconds.items() if name != self.ours}


# Threads of OpenBLAS look for work for up to 100 ms after they had some: nobody is to run beside those of another; it
# made least squares 13 ms slower after a peer than after itself. The time is counted, not slept: a processor that has
# slept takes up to 20 ms to come back, which says nothing about who wakes it.
_SETTLE = 0.1
_LONG = 20.0  # seconds after which a run is not repeated


def race(workload: str, size: str, contenders: list[Contender], *, agree: float, quick: bool = False) -> Result:
    """Run all contenders, ours first; raise if an answer differs from ours by more than `agree` (relative)."""
    result = Result(workload, size)
    contenders = [one for one in contenders if not one.optional or importlib.util.find_spec(one.optional)]
    reference: Any = None
    first: dict[str, float] = {}
    for contender in contenders:
        gc.collect()
        before = _memory("VmRSS")
        _reset_peak()
        start = time.perf_counter()
        answer = np.asarray(contender.run(), dtype=np.float64)
        first[contender.name] = time.perf_counter() - start
        result.extra_mb[contender.name] = max(0.0, (_memory("VmHWM") - before) / 1024)
        if reference is None:
            reference = answer
        scale = np.abs(reference).max()
        result.difference[contender.name] = float(np.abs(answer - reference).max() / scale)
        if not result.difference[contender.name] <= agree:
            apart = result.difference[contender.name]
            raise AssertionError(f"{workload}: {contender.name} differs from {contenders[0].name} by {apart:.2g}")
    best: dict[str, float] = {contender.name: np.inf for contender in contenders}
    rounds = max(contender.repeats for contender in contenders)
    if quick:
        rounds = min(rounds, 3)
    for turn in range(rounds):
        for contender in contenders:
            long = first[contender.name] > _LONG
            if turn >= (1 if long else contender.repeats):
                continue
            if long:  # it has run with all threads, and does once more with one
                best[contender.name] = first[contender.name]
            threads: tuple[int | None, ...] = (None,) if contender.ours else (1,) if long else (1, 2)
            for blas in threads:
                best[contender.name] = min(best[contender.name], _timed(contender.run, blas))
    result.seconds = best
    return result


def exponent(run: Callable[[int], Callable[[], Any]], n: int) -> float:
    """The power of n with which time grows, fitted over n/4, n/2 and n."""
    sizes = [n // 4, n // 2, n]
    times = []
    for size in sizes:
        work = run(size)
        work()
        times.append(min(_timed(work, None) for _ in range(3)))
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def machine() -> dict[str, Any]:
    """Where this was measured."""
    import sklearn

    import linearly
    from linearly.kernels import kernels_in_use

    model = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
        model = names[0] if names else model
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "kernels": kernels_in_use(),
        "linearly": linearly.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _timed(run: Callable[[], Any], blas: int | None) -> float:
    gc.collect()
    settled = time.perf_counter() + _SETTLE
    while time.perf_counter() < settled:
        pass
    with threadpool_limits(limits=blas) if blas else _Nothing():
        start = time.perf_counter()
        run()
        return time.perf_counter() - start


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _memory(key: str) -> float:
    """A line of /proc/self/status in kB (NaN where there is none)."""
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            return next(float(line.split()[1]) for line in status if line.startswith(key))
    except (OSError, StopIteration):
        return float("nan")


def _reset_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w", encoding="utf-8") as peak:
            peak.write("5")
    except OSError:
        pass
