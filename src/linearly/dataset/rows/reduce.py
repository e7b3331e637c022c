"""The fold: each block says what it has to say, and what blocks say adds up with `+`.

Blocks are taken by a few sleeping threads. Results meet in a binary tree that depends only on the order of the
blocks, so the same blocks give the same bits on one thread or many.
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
    """How many threads a fold may use: LINEARLY_NUM_THREADS, or the cores this process may run on."""
    asked = os.environ.get("LINEARLY_NUM_THREADS", "")
    if asked:
        if not asked.isdigit() or int(asked) < 1:
            raise ValueError(f"LINEARLY_NUM_THREADS must be a whole number from 1 on, not {asked!r}.")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def reduce_blocks(blocks: Iterable[Callable[[], B]], f: Callable[[B], S]) -> S:
    """The sum of f over the blocks. A block is a function that brings it, called on the thread that needs it."""
    source: Iterator[tuple[int, Callable[[], B]]] = enumerate(blocks)
    tree: MergeTree[S] = MergeTree()
    turn = threading.Condition()
    busy = 0  # blocks that are being worked on
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
        raise ValueError("There are no rows: nothing to fold over.")
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
            # Blocks are waited for, not threads: one that never starts is no loss, and a fold inside a fold cannot
            # wait for itself.
            with turn:
                turn.wait_for(lambda: busy == 0)
            for other in others:
                other.cancel()
        except BaseException as interrupted:
            failures[_LAST] = interrupted  # nobody begins another block
            raise
    if failures:
        raise failures[min(failures)]
    return tree.total()


def _helpers(work: Callable[[], None], more: int) -> list[Future[None]]:
    others: list[Future[None]] = []
    with contextlib.suppress(RuntimeError):  # no memory for another thread: those that run do all the work
        for _ in range(more):
            others.append(_pool_of(more).submit(work))
    return others


class MergeTree(Generic[S]):
    """Sums by a fixed binary tree over indices 0, 1, 2, …, whatever the order in which they arrive.

    At most one summary for each level and each late neighbour is held.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], S] = {}
        self._lock = threading.Lock()

    def add(self, index: int, value: S) -> None:
        """Take the value of block `index`; where its neighbour is there already, they merge."""
        if isinstance(value, (tuple, list, str, bytes)):
            raise TypeError(
                f"A fold adds summaries with +, and + of {type(value).__name__} joins instead of adding. "
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
        """The sum of all: what waits is merged from the right, small subtrees first."""
        parts = [self._waiting[key] for key in sorted(self._waiting)]
        total = parts[0]
        for part in parts[1:]:
            total = _plus(part, total)
        return total


def _plus(a: Any, b: Any) -> Any:
    return a + b


def _pool_of(size: int) -> ThreadPoolExecutor:
    """The pool, with so many threads or more. Folds at the same time share it: each works on its own thread too."""
    global _pool, _pool_size
    with _pool_lock:
        if _pool is None or _pool_size < size:
            _pool, _pool_size = ThreadPoolExecutor(max_workers=size, thread_name_prefix="linearly"), size
        return _pool


class single_threaded_blas(contextlib.ContextDecorator):
    """BLAS on one thread, in this process, while it lasts.

    Two pools at once cost 100 times on small blocks, and two BLAS threads lose on p × p matrices of ordinary size. The
    last bits of a large product depend on the number of its threads, so everything that computes runs inside this, or
    `quiet_unless_few`.
    """

    _lock = threading.Lock()
    _depth = 0
    _controller: Any = None
    _limits: Any = None

    def __enter__(self) -> None:
        with single_threaded_blas._lock:
            if single_threaded_blas._controller is None:
                import scipy.linalg  # noqa: F401  (brings a BLAS of its own, which must be found too)
                import threadpoolctl

                # Looking for the libraries takes 10 ms, so it is done once.
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
    """`quiet_blas`, which takes 6 µs, unless a product has so few numbers that BLAS takes one thread anyway."""
    return single_threaded_blas() if numbers > _FEW else _AS_IT_IS


def _start_anew() -> None:
    # A forked child has none of its parent's threads, and a lock that one of them held would never open.
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()
    single_threaded_blas._lock, single_threaded_blas._depth = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def partitions_of(rows: Any) -> int | None:
    """Return the number of partitions of rows on a cluster; None for rows that are here."""
    return getattr(rows, "n_partitions", None)


@dataclass(frozen=True)
class MapPartition:
    """f of a partition whose blocks are passed through `change` first."""

    change: Callable[[Any], Any]
    f: Callable[[Iterable[Any]], Any]

    def __call__(self, blocks: Iterable[Any]) -> Any:
        return self.f(map(self.change, blocks))
