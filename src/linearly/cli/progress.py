"""A bar on standard error while rows are read: rows a second and time left, once that has taken a second."""

from __future__ import annotations

import sys
import threading
from time import monotonic
from types import TracebackType
from typing import Any, Self

PATIENCE = 1.0  # seconds without a bar


class Progress:
    """What is told while passes over rows are made; nothing where standard error is no terminal."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience, self.begun = patience, monotonic()
        self.passes = self.rows = 0
        self.total: int | None = None
        self.what = ""
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, total: int | None) -> None:
        """A new pass begins; `total` is how many rows it will see, as far as is known."""
        with self._lock:
            if self.rows:
                total = max(total or 0, self.rows)
            self.passes, self.rows, self.total = self.passes + 1, 0, total
            if self._bar is not None:
                self._bar.reset(self._task, total=total, description=self._told())

    def advance(self, rows: int) -> None:
        """So many rows more have been read."""
        with self._lock:
            self.rows += rows
            if not self._shown or monotonic() - self.begun < self.patience:
                return
            if self._bar is None:
                self._open()
            elif self._task is not None:
                self._bar.update(self._task, completed=self.rows)

    def _told(self) -> str:
        what = f"{self.what}, " if self.what else ""
        return f"{what}pass {self.passes}"

    def _open(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:  # no reason to stop: the bar is a courtesy
            self._shown = False
            return

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,.0f} rows"),
            _rate_column(),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self._told(), total=self.total, completed=self.rows)


def _rate_column() -> Any:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        """Rows a second."""

        def render(self, task: Task) -> Text:
            """The rate of late, short."""
            return Text(f"{short(task.speed)} rows/s" if task.speed else "")

    return Rate()


def short(number: float) -> str:
    """1.3M, 420k, 17."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{name}"
    return f"{number:.0f}"
