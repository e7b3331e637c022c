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
from dataclasses import dataclass, fields
from typing import Any, Generic, Self, TypeVar

from linearly.kernels.blas_threads import single_threaded_blas

_LAST = sys.maxsize

B = TypeVar("B")
S = TypeVar("S")

_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_pool_lock = threading.Lock()


def n_threads() -> int:
    """Return how many threads a reduction may use: LINEARLY_NUM_THREADS, or the cores of this process."""
    given = os.environ.get("LINEARLY_NUM_THREADS", "")
    if given:
        if not given.isdigit() or int(given) < 1:
            raise ValueError(f"LINEARLY_NUM_THREADS must be an integer of at least 1, not {given!r}.")
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def reduce_blocks(blocks: Iterable[Callable[[], B]], f: Callable[[B], S]) -> S:
    """Return the sum of f over the blocks. Each block is a function that loads it on the thread that needs it."""
    source: Iterator[tuple[int, Callable[[], B]]] = enumerate(blocks)
    first = next(source, None)
    if first is None:
        raise ValueError("The data contain no rows to reduce. Pass at least one row.")
    second = next(source, None)
    if second is None:
        with single_threaded_blas():
            return _checked(f(first[1]()))
    tree: MergeTree[S] = MergeTree()
    source = itertools.chain([first, second], source)
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
            index, load = item
            try:
                tree.add(index, f(load()))
            except BaseException as failure:
                failures[index] = failure
                return
            finally:
                with turn:
                    busy -= 1
                    turn.notify_all()

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


def _checked(value: S) -> S:
    """Return a summary; raise for a type whose + does not add."""
    if isinstance(value, (tuple, list, str, bytes)):
        raise TypeError(
            f"The function returns {type(value).__name__}, whose + concatenates, but summaries must add up. Return "
            "numbers, arrays or a class with a suitable +."
        )
    return value


class MergeTree(Generic[S]):
    """Add summaries in a fixed binary tree over indices 0, 1, 2, …, whatever the order in which they arrive.

    At most one summary for each level and each late neighbour is held.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], S] = {}
        self._lock = threading.Lock()

    def add(self, index: int, value: S) -> None:
        """Add the value of block `index`; it merges with its neighbour if that is there already."""
        value, level = _checked(value), 0
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


def _start_anew() -> None:
    # A forked child has none of its parent's threads, so a lock that one of them held would stay locked.
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


class FieldwiseSum:
    """A dataclass whose `+` adds field by field."""

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True)
class MapPartition:
    """f of a partition whose blocks are passed through `change` first."""

    change: Callable[[Any], Any]
    f: Callable[[Iterable[Any]], Any]

    def __call__(self, blocks: Iterable[Any]) -> Any:
        return self.f(map(self.change, blocks))
