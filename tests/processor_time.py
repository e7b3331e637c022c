"""Measure processor time, without the garbage collector's share, which grows with all tests that ran before."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Elapsed:
    """The processor time of this thread between entry and exit, in seconds."""

    seconds = 0.0


@contextmanager
def processor_time() -> Iterator[Elapsed]:
    elapsed, was_enabled = Elapsed(), gc.isenabled()
    gc.disable()
    start = time.thread_time()
    try:
        yield elapsed
    finally:
        elapsed.seconds = time.thread_time() - start
        if was_enabled:
            gc.enable()
