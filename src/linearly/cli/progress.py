"""Show a progress bar on standard error while rows are read, if that takes longer than a second."""

from __future__ import annotations

import math
import sys
import threading
from time import monotonic
from types import TracebackType
from typing import Any, Self

from linearly.cli.terminal import is_quiet

DELAY = 1.0  # seconds of reading without a bar
MIN_LEFT = 0.5  # seconds that a pass must still take: a bar that comes and goes is noise


class Progress:
    """Count the rows and passes of a command; show a bar if standard error is a terminal."""

    def __init__(self, delay: float = DELAY) -> None:
        self.delay = delay
        self.started: float | None = None  # when reading began: imports and model files are not progress
        self._pass_started = 0.0
        self.passes = self.rows = 0
        self.total: int | None = None
        self.task = ""
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task_id: Any = None
        self._enabled = sys.stderr is not None and sys.stderr.isatty() and not is_quiet()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, total: int | None) -> None:
        """Begin a new pass over `total` rows, if their number is known."""
        with self._lock:
            if self.rows:
                total = max(total or 0, self.rows)
            self.passes, self.rows, self.total = self.passes + 1, 0, total
            self._pass_started = monotonic()
            self.started = self._pass_started if self.started is None else self.started
            if self._bar is not None:
                self._bar.reset(self._task_id, total=total, description=self._description())

    def advance(self, rows: int) -> None:
        """Count rows that have been read."""
        with self._lock:
            self.rows += rows
            if not self._enabled or self.started is None or monotonic() - self.started < self.delay:
                return
            if self._bar is None and self._seconds_left() < min(MIN_LEFT, self.delay):
                return
            if self._bar is None:
                self._open()
            elif self._task_id is not None:
                speed = self._bar.tasks[0].speed
                rate = f"{format_thousands(speed)} rows/s" if speed else ""
                self._bar.update(self._task_id, completed=self.rows, rate=rate)

    def _seconds_left(self) -> float:
        """Return how long the pass will still take at its speed so far; infinity if the number of rows is not known."""
        if self.total is None or not self.rows:
            return math.inf
        return (monotonic() - self._pass_started) * max(self.total - self.rows, 0) / self.rows

    def _description(self) -> str:
        return f"{self.task}, pass {self.passes}" if self.task else f"pass {self.passes}"

    def _open(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:  # the bar is optional
            self._enabled = False
            return
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,.0f} rows"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task_id = self._bar.add_task(self._description(), total=self.total, completed=self.rows, rate="")


def format_thousands(number: float) -> str:
    """Return 1.3M, 420k, 17."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{name}"
    return f"{number:.0f}"
