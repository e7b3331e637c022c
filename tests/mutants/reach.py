"""Which tests execute which line, and how long each takes: from one run of the suite under coverage."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import coverage

from mutants.mutation import Mutant

CASES = 5  # of a test with many
# Tests of the clock, of memory, of other processes and of the repository say nothing about a module's arithmetic.
LEFT_OUT = ("clusters", "cli", "demos", "docs", "fuzz", "lab", "lab_browser", "packaging", "project", "resources")


@dataclass(frozen=True)
class Reach:
    """For each module, the tests that execute each of its lines; for each test, its seconds."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    digests: dict[str, str]

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that execute what the mutant changes, the quick ones first."""
        lines = self.lines.get(mutant.module, {})
        chosen = lines if mutant.at_import else [line for line in mutant.lines if line in lines]
        found = {test for line in chosen for test in lines[line] if test in self.seconds}
        return sorted(found, key=lambda test: (self.seconds[test], test))

    def stale(self, module: str, source: bytes) -> bool:
        """Whether the module has changed since."""
        return self.digests.get(module) != digest(source)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps([self.lines, self.seconds, self.digests]))

    @staticmethod
    def load(path: Path) -> Reach:
        lines, seconds, digests = json.loads(path.read_text())
        return Reach({m: {int(line): tests for line, tests in of.items()} for m, of in lines.items()}, seconds, digests)


def digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()


def measure(root: Path, package: Path, environment: dict[str, str], folder: Path) -> Reach:
    """Run the tests on the package and see which lines of its algorithms they execute."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data, times, listed = folder / "coverage", folder / "times.xml", folder / "tests.txt"
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command = [*pytest, "-n0", "--collect-only", "-o", "addopts=-q -m 'not slow'", "tests"]
    found = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True).stdout
    listed.write_text("\n".join(chosen(line for line in found.splitlines() if "::" in line)))
    command = [*pytest, "-o", "junit_family=xunit1", f"--junitxml={times}", f"@{listed}"]
    command += ["--cov=linearly.algorithm", "--cov-context=test", "--cov-report="]
    subprocess.run(command, cwd=root, env={**environment, "COVERAGE_FILE": str(data)})
    return read(package, data, times)


def chosen(tests: Iterable[str]) -> list[str]:
    """Of each test with many cases, a few far apart: the map takes minutes, not an hour."""
    cases = defaultdict(list)
    for test in tests:
        if Path(test.partition("::")[0]).stem.removeprefix("test_") not in LEFT_OUT:
            cases[test.partition("[")[0]].append(test)
    return [of[i * len(of) // few] for of in cases.values() for few in [min(CASES, len(of))] for i in range(few)]


def read(package: Path, data: Path, times: Path) -> Reach:
    """The reach from coverage's data and pytest's times; a test that fails without a mutant is not counted."""
    seconds = {}
    for case in ElementTree.parse(times).iter("testcase"):
        if case.find("failure") is None and case.find("error") is None and case.find("skipped") is None:
            module = case.get("file", "").removesuffix(".py").replace(os.sep, ".")
            classes = case.get("classname", "").removeprefix(module).strip(".")
            name = "::".join(part for part in (case.get("file"), *classes.split("."), case.get("name")) if part)
            seconds[name] = float(case.get("time", 0))
    measured = coverage.CoverageData(str(data))
    measured.read()
    lines: dict[str, dict[int, list[str]]] = {}
    digests = {}
    for file in measured.measured_files():
        path = Path(file)
        if path.is_relative_to(package / "algorithm"):
            reached = defaultdict(list)
            for line, contexts in measured.contexts_by_lineno(file).items():
                reached[line] = sorted({context.partition("|")[0] for context in contexts if context})
            lines[path.relative_to(package / "algorithm").with_suffix("").as_posix()] = dict(reached)
            digests[path.relative_to(package / "algorithm").with_suffix("").as_posix()] = digest(path.read_bytes())
    return Reach(lines, seconds, digests)
