"""Stop processes while they write (kill, Ctrl-C, full disk), and check that each file is complete, old or new."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import linearly as ly
from linearly.selftest import Result, not_run

PATIENCE = 300.0  # seconds to wait for the output of a process
ROWS, OLD = 1_000_000, b"the old answers\n"
TRIES = 3
# -P: what lies in the current directory is not imported.
PYTHON = (sys.executable, "-P", "-W", "ignore")

# The command line where Ctrl-C means something, though whoever started this may have had it ignored (nohup, a script).
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from linearly.cli.main import main
sys.exit(main())
"""

# Forks a child that saves in a loop, and kills it: so many seconds after it started, or after a write has begun.
# Forks, because 200 imports of NumPy would take minutes.
SAVER = """
import os, signal, sys, time
import linearly as ly
target, *names = sys.argv[1:]
inside = os.path.dirname(target)
models = [ly.load(name) for name in names]
begun = time.perf_counter()
for model in models:
    model.save(target)
both = time.perf_counter() - begun
print(both, flush=True)
for line in sys.stdin:
    when, seconds = line.split()
    before = set(os.listdir(inside))
    child = os.fork()
    if child == 0:
        try:
            while True:
                for model in models:
                    model.save(target)
        finally:
            os._exit(1)
    patience = time.perf_counter() + 4 * both
    while when == "writing" and set(os.listdir(inside)) <= before and time.perf_counter() < patience:
        pass
    time.sleep(float(seconds))
    os.kill(child, signal.SIGKILL)
    print(os.waitpid(child, 0)[1], flush=True)
"""

# A limit on the size of files stands for a full disk: the write fails half-way.
FULL = """
import resource, signal, sys
import linearly as ly
model = ly.load(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    model.save(sys.argv[1])
except OSError:
    sys.exit(7)
"""


def two_models(folder: Path) -> tuple[Path, Path]:
    """Save two different models, large enough to be written in more than one piece."""
    rng = np.random.default_rng(11)
    paths = folder / "one.json", folder / "two.json"
    for path in paths:
        X = rng.normal(size=(300, 120))
        columns = {f"x{j}": column for j, column in enumerate(X.T)} | {"y": X.sum(axis=1) + rng.normal(size=300)}
        ly.fit(columns, target="y").save(path)
    return paths


def killed_while_saving(folder: Path, kills: int, progress: Callable[[int], None]) -> Iterator[Result]:
    """Yield damaged files after `kill -9` of a process that saves, and what is left after the next save."""
    what = "kill -9 while a model is saved"
    if not hasattr(os, "fork"):
        yield not_run(what, "0 damaged", "a system with fork and kill")
        return
    one, two = two_models(folder)
    known = [ly.load(path).estimator.coef_.tobytes() for path in (one, two)]
    inside = folder / "saves"
    inside.mkdir()
    target = inside / "m.json"
    command = [*PYTHON, "-c", SAVER, str(target), str(one), str(two)]
    rng = np.random.default_rng(12)
    damaged = middle = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as saver:
        assert saver.stdin is not None
        assert saver.stdout is not None
        try:
            both = float(saver.stdout.readline())
            before: set[str] = set()
            for done in range(1, kills + 1):
                when = f"writing {rng.uniform(0.0, 0.001)}" if done % 2 else f"any {rng.uniform(0.0, 2 * both)}"
                saver.stdin.write(f"{when}\n")
                saver.stdin.flush()
                if int(saver.stdout.readline()) != signal.SIGKILL:
                    raise RuntimeError("The process that saves ended by itself.")
                after = set(os.listdir(inside)) - {"m.json"}
                middle += bool(after - before)
                before = after
                damaged += not _is_complete(target, known)
                progress(done)
        except BaseException:
            saver.kill()
            raise
        finally:
            saver.stdin.close()
    figure = f"{damaged} damaged in {kills} kills, {middle} of them in the middle of a write"
    # Where no kill came in the middle, nothing has been shown.
    yield Result(what, figure, "0 damaged", False if damaged else True if middle else None)
    ly.load(one).save(target)
    left = len(os.listdir(inside)) - 1
    yield Result("temporary files left after kills and the next save", f"{left} files", "0", left == 0)


def _is_complete(path: Path, known: list[bytes]) -> bool:
    try:
        return bool(ly.load(path).estimator.coef_.tobytes() in known)
    except (ValueError, OSError):
        return False


def disk_full(folder: Path) -> Result:
    """Check the old file after a save that the disk had no room for."""
    what, required = "a full disk while a model is saved", "an error, and an unchanged old file"
    if find_spec("resource") is None:
        return not_run(what, required, "a system with limits on the size of files")
    inside = folder / "full"
    inside.mkdir()
    path = inside / "m.json"
    path.write_bytes((folder / "one.json").read_bytes())
    before = path.read_bytes()
    done = subprocess.run([*PYTHON, "-c", FULL, str(path)], capture_output=True, timeout=PATIENCE, check=False)
    outcome = "an error" if done.returncode == 7 else f"exit code {done.returncode}"
    same = path.read_bytes() == before and os.listdir(inside) == ["m.json"]
    figure = f"{outcome}; the old file is {'unchanged' if same else 'damaged, or a temporary file remains'}"
    return Result(what, figure, required, done.returncode == 7 and same)


def interrupted(folder: Path, times: int) -> Result:
    """Press Ctrl-C during `linearly fit` and `linearly predict`; check that files are old, or complete."""
    what, required = "Ctrl-C in fit and predict", "exit code 130; 0 incomplete files"
    if os.name == "nt":
        return not_run(what, required, "a system with signals")
    if find_spec("click") is None or find_spec("pyarrow") is None:
        return not_run(what, required, "the command line: pip install 'linearly[cli]'")
    inside = folder / "interrupted"
    inside.mkdir()
    ly.fit({"x": [1.0, 2.0, 3.0, 5.0], "y": [2.0, 4.1, 5.9, 10.0]}, target="y").save(inside / "m.json")
    (inside / "rows.csv").write_bytes(b"x\n" + b"1.5\n2.25\n" * (ROWS // 2))
    codes, broken = [], 0
    for _ in range(times):
        for interrupt in (_interrupt_fit, _interrupt_predict):
            for _ in range(TRIES):
                (inside / "answers.csv").write_bytes(OLD)
                code = interrupt(inside)
                broken += _half_written(inside)
                if code != 0:  # 0: it had ended before the signal came
                    break
            codes.append(code)
    figure = f"exit codes {', '.join(map(str, sorted(set(codes))))} in {len(codes)} runs; {broken} incomplete files"
    return Result(what, figure, required, set(codes) == {130} and not broken)


def _half_written(folder: Path) -> int:
    """Count files that are neither old nor complete; remove a new model for the next run."""
    strays = set(os.listdir(folder)) - {"m.json", "rows.csv", "answers.csv", "new.json"}
    answers = (folder / "answers.csv").read_bytes()
    broken = len(strays) + (answers != OLD and not (answers.endswith(b"\n") and answers.count(b"\n") == ROWS + 1))
    if (folder / "new.json").exists():
        try:
            ly.load(folder / "new.json")
        except ValueError:
            broken += 1
        (folder / "new.json").unlink()
    return broken


def _interrupt_fit(folder: Path) -> int:
    command = [*PYTHON, "-c", COMMAND, "fit", "-", "-t", "y", "-o", "new.json"]
    with _start(command, folder, stdin=subprocess.PIPE) as fit:
        assert fit.stdin is not None
        # More than a pipe holds: when it is written, it is being read.
        fit.stdin.write(b"x,y\n" + b"1,2\n" * 500_000)
        fit.stdin.flush()
        return _press_ctrl_c(fit)


def _interrupt_predict(folder: Path) -> int:
    command = [*PYTHON, "-c", COMMAND, "predict", "m.json", "rows.csv", "-o", "answers.csv"]
    before = sorted(os.listdir(folder))
    with _start(command, folder) as predict:
        begun = time.monotonic()
        while sorted(os.listdir(folder)) == before and predict.poll() is None:
            if time.monotonic() - begun > PATIENCE:
                predict.kill()
                raise RuntimeError("linearly predict did not begin to write.")
            time.sleep(0.001)
        return _press_ctrl_c(predict)


def _start(command: list[str], folder: Path, **more: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def _press_ctrl_c(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=PATIENCE)
    except BaseException:
        process.kill()
        raise
    return process.returncode
