"""`python tests/fuzz [formula model csv columnar pages] --cases N --seed S`."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package is, not what is in it

from fuzz import run as running  # noqa: E402
from fuzz.run import Finding, Fuzzer, Tally  # noqa: E402

MODULES = {"formula": "formula", "model": "model", "csv": "csv_text", "columnar": "columnar", "pages": "pages"}


def fuzzer_of(name: str) -> Fuzzer:
    """A fuzzer by its name."""
    fuzzer: Fuzzer = importlib.import_module(f"fuzz.{MODULES[name]}").FUZZER
    return fuzzer


def main() -> int:
    """Run what was asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description="Inputs nobody would write.")
    parser.add_argument("fuzzers", nargs="*", metavar="|".join(MODULES), help="all of them by default")
    parser.add_argument("--cases", type=int, default=1000, help="for each fuzzer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where inputs that fail are written")
    parser.add_argument("--guided", action="store_true", help="steered by coverage; needs atheris")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names = asked.fuzzers or list(MODULES)
    for name in names:
        if name not in MODULES:
            parser.error(f"there is no fuzzer {name!r}: choose from {', '.join(MODULES)}")
    asked.keep.mkdir(parents=True, exist_ok=True)
    if asked.guided:
        return guided(names[0], asked)
    if asked.alone:
        return alone(fuzzer_of(names[0]), asked)
    return max(supervised(name, asked) for name in names)


def alone(fuzzer: Fuzzer, asked: argparse.Namespace) -> int:
    """The cases in this process, with a diary that outlives it."""
    diary = os.open(asked.keep / f"{fuzzer.name}-{asked.seed}.now", os.O_RDWR | os.O_CREAT)

    def note(case: int, data: bytes) -> None:
        entry = b"%d\n%b" % (case, data)
        os.ftruncate(diary, len(entry))
        os.pwrite(diary, entry, 0)

    tally = Tally(tell=lambda finding: tell(finding, asked))
    try:
        running.run(fuzzer, asked.cases, asked.seed, asked.first, tally, note)
    finally:
        print(tally.line(fuzzer.name), flush=True)
    return 1 if tally.findings else 0


def tell(finding: Finding, asked: argparse.Namespace) -> None:
    """A finding, with its input in a file."""
    path = asked.keep / f"{finding.fuzzer}-{asked.seed}-{finding.case}.input"
    path.write_bytes(finding.data)
    print(f"  case {finding.case}, {path}\n    {finding.sort}\n    {finding.text}", flush=True)


def supervised(name: str, asked: argparse.Namespace) -> int:
    """The cases in a process of their own; where it dies, that is a finding, and the rest goes on after it."""
    first, end, worst = asked.first, asked.first + asked.cases, 0
    while first < end:
        options = [f"--cases={end - first}", f"--seed={asked.seed}", f"--first={first}", f"--keep={asked.keep}"]
        done = subprocess.run([sys.executable, "-X", "faulthandler", sys.argv[0], name, "--alone", *options])
        worst = max(worst, int(done.returncode != 0))
        if done.returncode >= 0:
            break
        case, _, data = (asked.keep / f"{name}-{asked.seed}.now").read_bytes().partition(b"\n")
        path = asked.keep / f"{name}-{asked.seed}-{int(case)}.input"
        path.write_bytes(data)
        print(f"  case {int(case)}, {path}\n    the process died: {signal.Signals(-done.returncode).name}", flush=True)
        first = int(case) + 1
    return worst


def guided(name: str, asked: argparse.Namespace) -> int:
    """The cases steered by coverage of our own modules."""
    try:
        import atheris
    except ImportError:
        print("--guided needs atheris: pip install atheris", file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["linearly.dataset", "linearly.export"]):
        for module in [module for module in sys.modules if module.startswith(("linearly.dataset", "linearly.export"))]:
            del sys.modules[module]
        fuzzer = fuzzer_of(name)
    from fuzz.mutation import Steered

    tally = Tally(tell=lambda finding: tell(finding, asked))
    running.warm_up(fuzzer)
    with running.limits() as begin:

        def one(data: bytes) -> None:
            begin()
            tally.add(running.tried(fuzzer, fuzzer.draw(Steered(data)), tally.cases))
            if tally.cases == asked.cases:
                print(tally.line(name), flush=True)  # the engine does not come back

        options = [f"-runs={asked.cases}", f"-seed={asked.seed + 1}", "-max_len=4096", "-verbosity=0"]
        with tempfile.TemporaryDirectory() as corpus:
            atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=0", corpus], one, enable_python_coverage=True)
            atheris.Fuzz()
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
