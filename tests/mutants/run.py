"""A mutant's life: in a copy of the package, until a test fails, the tests are through, or time is up."""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mutants.mutation import Mutant
from mutants.reach import Reach

# An editable install finds the package before the path is asked.
FREE = "import sys\nsys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in type(f).__module__]\n"


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: killed, timed out, survived, or unreached by any test."""

    mutant: Mutant
    end: str
    by: str = ""

    @property
    def dead(self) -> bool:
        return self.end in ("killed", "timed out")


@dataclass(frozen=True)
class Copy:
    """A copy of the package with its kernels, found before any other."""

    root: Path
    folder: Path

    @property
    def package(self) -> Path:
        return self.folder / "linearly"

    @property
    def environment(self) -> dict[str, str]:
        """The same cases in every run, one thread, no bytecode left from the mutant before."""
        fixed = {"CI": "1", "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        return {**os.environ, **fixed, "PYTHONPATH": str(self.folder)}

    def pytest(self, arguments: list[str], seconds: float) -> tuple[int, str]:
        """Exit code and output of pytest on this copy; -1 after so many seconds of computing, or ten times as many."""
        listed = self.folder / "tests.txt"
        listed.write_text("\n".join(arguments))
        command = [sys.executable, "-m", "pytest", "-x", "-n0", "-p", "no:cacheprovider", "--tb=line", f"@{listed}"]
        limited = ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(round(seconds)), *command]
        child = subprocess.Popen(
            limited,
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            text, _ = child.communicate(timeout=10 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.communicate()
            return -1, ""
        return -1 if child.returncode == -signal.SIGXCPU else child.returncode, text

    def live(self, mutant: Mutant, reach: Reach | None, tests: list[str], budget: float) -> Fate:
        """Put the mutant in, run the tests, take it out."""
        path = self.package / "algorithm" / f"{mutant.module}.py"
        source = path.read_bytes()
        path.write_bytes(mutant.of(source))
        try:
            stages = [(tests, budget)] if reach is None else list(_stages(reach, mutant, budget))
            for chosen, expected in stages:
                code, text = self.pytest(chosen, 20 + 4 * expected)
                if code == -1:
                    return Fate(mutant, "timed out")
                if code == 4 and "rror" not in text.replace("ERROR: not found", ""):
                    raise SystemExit(f"the tests have changed: run with --map again\n{text}")
                if code:
                    return Fate(mutant, "killed", _killer(text))
            return Fate(mutant, "survival" if stages else "unreached")
        finally:
            path.write_bytes(source)


@contextmanager
def copied(root: Path) -> Iterator[Copy]:
    """A copy of the package that Python finds first."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name).resolve()
        shutil.copytree(
            root / "src/linearly", folder / "linearly", ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
        where = [sys.executable, "-c", "import linearly.kernels._compiled as c; print(c.__file__)"]
        kernels = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
        shutil.copy(kernels, folder / "linearly/kernels")
        (folder / "sitecustomize.py").write_text(FREE)
        compileall.compile_dir(folder, quiet=1)
        for stale in (folder / "linearly/algorithm").rglob("*.pyc"):
            stale.unlink()
        copy = Copy(root, folder)
        where = [sys.executable, "-c", "import linearly.kernels._compiled as c; print(c.__file__)"]
        found = subprocess.run(where, env=copy.environment, cwd=root, capture_output=True, text=True, check=True).stdout
        if not found.startswith(str(folder)):
            raise SystemExit(f"Python finds {found.strip()} before the copy in {folder}")
        yield copy


def _stages(reach: Reach, mutant: Mutant, budget: float) -> Iterator[tuple[list[str], float]]:
    """First a few tests of the three files closest to the line, then the quick ones of the rest."""
    tests = reach.tests(mutant)
    sizes, hits = dict[str, int](), dict[str, int]()
    for test in reach.seconds:
        sizes[_file(test)] = sizes.get(_file(test), 0) + 1
    for test in tests:
        hits[_file(test)] = hits.get(_file(test), 0) + 1
    close = sorted(hits, key=lambda file: -hits[file] / sizes[file])[:3]
    first = _within([test for test in tests if _file(test) in close], reach, budget / 4)
    rest = _within([test for test in tests if test not in set(first)], reach, budget - budget / 4)
    for chosen in (first, rest):
        if chosen:
            yield chosen, sum(reach.seconds[test] for test in chosen)


def _within(tests: list[str], reach: Reach, budget: float) -> list[str]:
    """As many as fit into the budget, at least one, each file's together."""
    total, chosen = 0.0, list[str]()
    for test in tests:
        total += reach.seconds[test]
        if chosen and total > budget:
            break
        chosen.append(test)
    return sorted(chosen, key=_file)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _killer(text: str) -> str:
    for line in text.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1]
    return text.strip().splitlines()[-1] if text.strip() else ""
