"""Limit BLAS to one thread, so that threads are those of the reduction and bits do not depend on their number."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Any

# OpenBLAS takes a second thread for a matrix and a vector from 9,216 numbers on, for a dot product from 10,000, for the
# m · k · n of two matrices from 262,144; newer versions later.
_FEW = 8192
_AS_IT_IS = contextlib.nullcontext()


class single_threaded_blas(contextlib.ContextDecorator):
    """Limit BLAS to one thread in this process.

    Two thread pools at once are 100 times slower on small blocks, and two BLAS threads are slower on p × p matrices of
    ordinary size. The last bits of a large product depend on the number of threads, so all computation runs inside this
    context or `single_threaded_blas_unless_small`.
    """

    _lock = threading.Lock()
    _depth = 0
    _libraries: Any = None
    _before: list[tuple[Any, int]] = []  # noqa: RUF012 (functions that limit a library, with its threads)

    def __enter__(self) -> None:
        with single_threaded_blas._lock:
            if single_threaded_blas._libraries is None:
                import scipy.linalg  # noqa: F401  (loads its own BLAS, which must be limited too)
                import threadpoolctl

                # Finding the libraries takes 10 ms, so it is done once.
                found = threadpoolctl.ThreadpoolController().select(user_api="blas")
                single_threaded_blas._libraries = [_thread_functions(library) for library in found.lib_controllers]
            if single_threaded_blas._depth == 0:
                # Directly, because `ThreadpoolController.limit` takes 30 µs, a tenth of a small fit.
                threads = [(set_to, get()) for get, set_to in single_threaded_blas._libraries]
                single_threaded_blas._before = [(set_to, n) for set_to, n in threads if n is not None and n > 1]
                for set_to, _ in single_threaded_blas._before:
                    set_to(1)
            single_threaded_blas._depth += 1

    def __exit__(self, *_: object) -> None:
        with single_threaded_blas._lock:
            single_threaded_blas._depth -= 1
            if single_threaded_blas._depth == 0:
                for set_to, n in single_threaded_blas._before:
                    set_to(n)


def _thread_functions(library: Any) -> tuple[Callable[[], int | None], Callable[[int], Any]]:
    """Return the functions of a BLAS library that read and set its threads: OpenBLAS's own, or threadpoolctl's.

    threadpoolctl looks up OpenBLAS's functions by name in every call, which takes four times as long as the call.
    """
    find = getattr(library, "_get_symbol", None)
    if getattr(library, "threading_layer", "") == "pthreads" and find is not None:
        own = find("openblas_get_num_threads"), find("openblas_set_num_threads")
        if None not in own:
            return own
    return library.get_num_threads, library.set_num_threads


def single_threaded_blas_unless_small(numbers: int) -> contextlib.AbstractContextManager[None]:
    """Return `single_threaded_blas()` (6 µs), unless the product is so small that BLAS uses one thread."""
    return single_threaded_blas() if numbers > _FEW else _AS_IT_IS


def _unlock() -> None:
    # A forked child has none of its parent's threads, so a lock that one of them held would stay locked.
    single_threaded_blas._lock, single_threaded_blas._depth = threading.Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)
