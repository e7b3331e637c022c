"""Reduce blocks to one summary: apply a function to each block and add the results with `+`.

A few threads, which sleep between reductions, process the blocks. Results are merged in a binary tree that depends
only on the order of the blocks, so the same blocks give the same bits on any number of threads.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_LAST = sys.maxsize
# OpenBLAS takes a second thread for a matrix and a vector from 9,216 numbers on, for a dot product from 10,000, for the
# m · k · n of two matrices from 262,144; newer versions later.
_FEW = 8192
_AS_IT_IS = contextlib.nullcontext()

B = TypeVar("B")
S = TypeVar("S")

_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_pool_lock = threading.Lock()


def n_threads() -> int:
    """Return how many threads a reduction may use: LINEARLY_NUM_THREADS, or the cores of this process."""
    asked = os.environ.get("LINEARLY_NUM_THREADS", "")
    if asked:
        if not asked.isdigit() or int(asked) < 1:
            raise ValueError(f"LINEARLY_NUM_THREADS must be a whole number from 1 on, not {asked!r}.")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def reduce_blocks(blocks: Iterable[Callable[[], B]], f: Callable[[B], S]) -> S:
    """Return the sum of f over the blocks. Each block is a function that loads it on the thread that needs it."""
    source: Iterator[tuple[int, Callable[[], B]]] = enumerate(blocks)
    tree: MergeTree[S] = MergeTree()
    turn = threading.Condition()
    busy = 0  # blocks in progress
    failures: dict[int, BaseException] = {}

    def work() -> None:
        nonlocal busy
        while True:
            with turn:
                try:
                    item = None if failures else next(source, None)
                except BaseException as failure:
                    failures[_LAST] = failure
                    return
                if item is None:
                    return
                busy += 1
            index, bring = item
            try:
                tree.add(index, f(bring()))
            except BaseException as failure:
                failures[index] = failure
                return
            finally:
                with turn:
                    busy -= 1
                    turn.notify_all()

    first = next(source, None)
    if first is None:
        raise ValueError("There are no rows to reduce.")
    second = next(source, None)
    if second is None:
        with single_threaded_blas():
            tree.add(0, f(first[1]()))
        return tree.total()
    source = itertools.chain([first, second], source)
    with single_threaded_blas():
        try:
            others = _helpers(work, n_threads() - 1)
            work()
            # Wait for blocks, not for threads: a thread that never starts does no harm, and a nested reduction
            # cannot wait for itself.
            with turn:
                turn.wait_for(lambda: busy == 0)
            for other in others:
                other.cancel()
        except BaseException as interrupted:
            failures[_LAST] = interrupted  # no thread begins another block
            raise
    if failures:
        raise failures[min(failures)]
    return tree.total()


def _helpers(work: Callable[[], None], more: int) -> list[Future[None]]:
    others: list[Future[None]] = []
    with contextlib.suppress(RuntimeError):  # no memory for another thread: the running ones do all the work
        for _ in range(more):
            others.append(_pool_of(more).submit(work))
    return others


class MergeTree(Generic[S]):
    """Add summaries in a fixed binary tree over indices 0, 1, 2, …, whatever the order in which they arrive.

    At most one summary for each level and each late neighbour is held.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], S] = {}
        self._lock = threading.Lock()

    def add(self, index: int, value: S) -> None:
        """Add the value of block `index`; it merges with its neighbour if that is there already."""
        if isinstance(value, (tuple, list, str, bytes)):
            raise TypeError(
                f"Reducing adds summaries with +, and + of {type(value).__name__} joins instead of adding. "
                "Return numbers, arrays or a class of your own."
            )
        level = 0
        while True:
            with self._lock:
                neighbour = self._waiting.pop((level, index ^ 1), None)
                if neighbour is None:
                    self._waiting[level, index] = value
                    return
            value = _plus(neighbour, value) if index & 1 else _plus(value, neighbour)
            level, index = level + 1, index >> 1

    def total(self) -> S:
        """Return the sum of all values: what is left is merged from the right, small subtrees first."""
        parts = [self._waiting[key] for key in sorted(self._waiting)]
        total = parts[0]
        for part in parts[1:]:
            total = _plus(part, total)
        return total


def _plus(a: Any, b: Any) -> Any:
    return a + b


def _pool_of(size: int) -> ThreadPoolExecutor:
    """Return the pool with at least so many threads. Concurrent reductions share it."""
    global _pool, _pool_size
    with _pool_lock:
        if _pool is None or _pool_size < size:
            _pool, _pool_size = ThreadPoolExecutor(max_workers=size, thread_name_prefix="linearly"), size
        return _pool


class single_threaded_blas(contextlib.ContextDecorator):
    """Limit BLAS to one thread in this process.

    Two thread pools at once are 100 times slower on small blocks, and two BLAS threads are slower on p × p matrices of
    ordinary size. The last bits of a large product depend on the number of threads, so all computation runs inside this
    context or `single_threaded_blas_unless_small`.
    """

    _lock = threading.Lock()
    _depth = 0
    _controller: Any = None
    _limits: Any = None

    def __enter__(self) -> None:
        with single_threaded_blas._lock:
            if single_threaded_blas._controller is None:
                import scipy.linalg  # noqa: F401  (loads its own BLAS, which must be limited too)
                import threadpoolctl

                # Finding the libraries takes 10 ms, so it is done once.
                single_threaded_blas._controller = threadpoolctl.ThreadpoolController().select(user_api="blas")
            if single_threaded_blas._depth == 0:
                single_threaded_blas._limits = single_threaded_blas._controller.limit(limits=1)
            single_threaded_blas._depth += 1

    def __exit__(self, *_: object) -> None:
        with single_threaded_blas._lock:
            single_threaded_blas._depth -= 1
            if single_threaded_blas._depth == 0:
                single_threaded_blas._limits.restore_original_limits()


def single_threaded_blas_unless_small(numbers: int) -> contextlib.AbstractContextManager[None]:
    """Return `single_threaded_blas()` (6 µs), unless the product is so small that BLAS uses one thread."""
    return single_threaded_blas() if numbers > _FEW else _AS_IT_IS


def _start_anew() -> None:
    # A forked child has none of its parent's threads, so a lock that one of them held would stay locked.
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()
    single_threaded_blas._lock, single_threaded_blas._depth = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@dataclass(frozen=True)
class MapPartition:
    """f of a partition whose blocks are passed through `change` first."""

    change: Callable[[Any], Any]
    f: Callable[[Iterable[Any]], Any]

    def __call__(self, blocks: Iterable[Any]) -> Any:
        return self.f(map(self.change, blocks))
