"""A run of a fuzzer: case by case under limits, with a record of what must not have happened."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

import numpy as np

import linearly as ly

SOURCE = os.path.dirname(ly.__file__) + os.sep
MEMORY = 2**31  # bytes that a run may take beyond what the interpreter and its libraries have
SECONDS = 20.0  # of computing that a case may take
LONGEST_MESSAGE = 5_000  # the names of columns are as long as they are

# What no text, file or formula may bring about.
FORBIDDEN = (
    *("exec", "compile", "import", "open", "code.__new__", "marshal.loads", "pickle.find_class", "builtins.input"),
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate", "os.utime"),
    *("os.putenv", "os.kill", "shutil.rmtree", "shutil.move", "shutil.copyfile", "urllib.Request", "webbrowser.open"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "ctypes.dlopen", "ctypes.cdata", "glob.glob"),
)


class Broken(AssertionError):
    """What must hold of an input does not."""


class TooSlow(BaseException):
    """A case that took too long; not an Exception, so that nobody catches it on the way."""


@dataclass(frozen=True)
class Fuzzer:
    """How inputs are drawn, what is done with them, and what must hold of the outcome."""

    name: str
    draw: Callable[[Random], bytes]
    attempt: Callable[[bytes], Any]  # what the library makes of the input; its refusals come as exceptions
    judge: Callable[[bytes, Any], None]  # raises Broken
    watched: bool = False  # whether nothing may be opened, imported or run meanwhile
    opens: tuple[str, ...] = ()  # but these files


@dataclass(frozen=True)
class Finding:
    """A case that failed, and where."""

    fuzzer: str
    case: int
    sort: str  # the same for cases that fail alike
    text: str
    data: bytes


@dataclass
class Tally:
    """What came of a run."""

    accepted: int = 0
    refused: int = 0
    sorts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    tell: Callable[[Finding], None] = lambda finding: None

    @property
    def cases(self) -> int:
        """How many there were."""
        return self.accepted + self.refused + self.sorts.total()

    def add(self, outcome: str | Finding) -> None:
        """Count one more; the first finding of its sort is kept, and told at once."""
        if isinstance(outcome, Finding):
            if not self.sorts[outcome.sort]:
                self.findings.append(outcome)
                self.tell(outcome)
            self.sorts[outcome.sort] += 1
        elif outcome == "accepted":
            self.accepted += 1
        else:
            self.refused += 1

    def line(self, name: str) -> str:
        """The summary in a line."""
        return (
            f"{name}: {self.cases} cases, {self.accepted} accepted, {self.refused} refused, "
            f"{self.sorts.total()} failed in {len(self.sorts)} ways"
        )


def drawn(fuzzer: Fuzzer, seed: int, case: int) -> bytes:
    """The input of a case."""
    return fuzzer.draw(Random(f"{seed} {fuzzer.name} {case}"))


def tried(fuzzer: Fuzzer, data: bytes, case: int = 0) -> str | Finding:
    """What came of an input: "accepted", "refused", or what must not be."""
    watch = _WATCH if fuzzer.watched else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's: what it complains of, we should have refused
            warnings.simplefilter("ignore", np.exceptions.RankWarning)  # ours
            if watch:
                watch.start(fuzzer.opens)
            try:
                found = fuzzer.attempt(data)
            finally:
                seen = watch.stop() if watch else []
        if seen:
            raise Broken(f"it did what no input may: {seen[0]}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fuzzer.judge(data, found)
    except TooSlow:
        return Finding(fuzzer.name, case, "too slow", f"more than {SECONDS:g} seconds", data)
    except Exception as raised:
        error = Broken(f"it did what no input may: {seen[0]}") if seen else raised
        wrong = unlike_ours(error)
        if wrong is None:
            return "refused"
        text = f"{wrong}: {type(error).__name__}: {str(error)[:500]}"
        return Finding(fuzzer.name, case, f"{type(error).__name__} at {_place(error.__traceback__)}", text, data)
    return "accepted"


def unlike_ours(error: BaseException) -> str | None:
    """What is wrong with an error as a refusal; None if it is one in our own words."""
    if isinstance(error, Broken):
        return "broken"
    if type(error) not in (ValueError, TypeError, ImportError) and not type(error).__module__.startswith("linearly"):
        return "not a refusal"
    if not _frames(error.__traceback__)[-1].startswith(SOURCE):
        return "not in our words"
    if not str(error).strip() or len(str(error)) > LONGEST_MESSAGE:
        return f"a message of {len(str(error))} characters"
    return None


def _frames(trace: TracebackType | None) -> list[str]:
    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename}:{code.co_name}")
        trace = trace.tb_next
    return frames or [""]


def _place(trace: TracebackType | None) -> str:
    frames = _frames(trace)
    own = [frame for frame in frames if frame.startswith(SOURCE)]
    ends = dict.fromkeys([*own[-1:], frames[-1]])
    return ", ".join("/".join(frame.rsplit(os.sep, 2)[-2:]) for frame in ends)


# --- limits ---------------------------------------------------------------------------------------


class _Watch:
    """Listens to what the interpreter is asked to do, while it is on."""

    def __init__(self) -> None:
        self.on, self.there, self.seen, self.opens = False, False, [], ()  # type: ignore[var-annotated]
        self.thread = 0

    def start(self, opens: tuple[str, ...]) -> None:
        if not self.there:
            self.there = True
            sys.addaudithook(self.hear)  # it cannot be taken away again
        self.seen, self.opens, self.thread, self.on = [], opens, threading.get_ident(), True

    def stop(self) -> list[str]:
        self.on = False
        return self.seen

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on or event not in FORBIDDEN or threading.get_ident() != self.thread:
            return  # what else runs in this process, such as a Dask client, may look around
        if event == "open" and (isinstance(arguments[0], int) or arguments[0] in self.opens):
            return
        self.seen.append(f"{event} {str(arguments)[:200]}")
        raise RuntimeError(f"{event} is not allowed here")


_WATCH = _Watch()


@contextlib.contextmanager
def limits(memory: int = MEMORY) -> Iterator[Callable[[], None]]:
    """Bounds on memory and time; gives what is to be called before each case."""

    def ring(number: int, frame: Any) -> None:
        raise TooSlow

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, hard))
    before = signal.signal(signal.SIGPROF, ring)
    try:
        yield lambda: signal.setitimer(signal.ITIMER_PROF, SECONDS) and None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def warm_up(fuzzer: Fuzzer) -> None:
    """A few cases that nobody watches: what is imported on first use is imported now."""
    for case in range(20):
        tried(replace(fuzzer, watched=False), drawn(fuzzer, -1, case))


def run(
    fuzzer: Fuzzer,
    cases: int,
    seed: int = 0,
    first: int = 0,
    tally: Tally | None = None,
    diary: Callable[[int, bytes], None] = lambda case, data: None,
) -> Tally:
    """So many cases, from the first on; the diary is told of each before it is tried."""
    warm_up(fuzzer)
    tally = Tally() if tally is None else tally
    with limits() as begin:
        for case in range(first, first + cases):
            data = drawn(fuzzer, seed, case)
            diary(case, data)
            begin()
            tally.add(tried(fuzzer, data, case))
    return tally
