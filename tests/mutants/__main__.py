"""`python tests/mutants [module ...] --sample N --seed S`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from random import Random

sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package is, not what is in it

from mutants.mutation import Mutant, mutants_of  # noqa: E402
from mutants.reach import Reach, measure  # noqa: E402
from mutants.run import Copy, Fate, copied  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/mutants"


def main() -> int:
    """Try a sample of mutants; 1 if any survived."""
    parser = argparse.ArgumentParser(prog="python tests/mutants", description="Whether a test notices a mistake.")
    parser.add_argument("modules", nargs="*", metavar="module", help="such as least_squares/gram; all by default")
    parser.add_argument("--sample", type=int, default=100, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=0, help="which")
    parser.add_argument("--first", type=int, default=0, help="the number of the first of the sample, to go on after")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of tests for each, as timed with --map")
    parser.add_argument("--map", action="store_true", help="find out first which tests execute which line")
    parser.add_argument("--only", nargs="+", metavar="MODULE:LINE:NUMBER", help="these mutants instead of a sample")
    parser.add_argument("--tests", nargs="+", default=[], help="these tests instead of those that execute the line")
    asked = parser.parse_args()
    folder = ROOT / "src/linearly/algorithm"
    paths = sorted(folder.rglob("*.py"))
    sources = {path.relative_to(folder).with_suffix("").as_posix(): path.read_bytes() for path in paths}
    for name in asked.modules:
        if name not in sources:
            parser.error(f"there is no module {name!r} in linearly.algorithm")
    mutants = [m for name, source in sources.items() for m in mutants_of(name, source)]
    if asked.only:
        named = {mutant.name: mutant for mutant in mutants}
        if unknown := [name for name in asked.only if name not in named]:
            parser.error(f"there is no mutant {', '.join(unknown)}")
        mutants = [named[name] for name in asked.only]
    else:
        mutants = [mutant for mutant in mutants if mutant.module in (asked.modules or sources)]
        mutants = Random(asked.seed).sample(mutants, min(asked.sample, len(mutants)))[asked.first :]
    with ExitStack() as ends:
        copies = [ends.enter_context(copied(ROOT)) for _ in range(asked.jobs)]
        reach = None if asked.tests and not asked.map else reach_of(copies[0], sources, asked)
        fates = tried(mutants, copies, None if asked.tests else reach, asked)
    tell(fates)
    return int(not all(fate.dead for fate in fates))


def reach_of(copy: Copy, sources: dict[str, bytes], asked: argparse.Namespace) -> Reach:
    """Which tests execute which line: measured now, or at the last time."""
    stored = FOLDER / "reach.json"
    if asked.map:
        measure(ROOT, copy.package, copy.environment, FOLDER).save(stored)
    if not stored.exists():
        raise SystemExit("nobody knows yet which tests execute which line: run with --map")
    reach = Reach.load(stored)
    changed = [name for name, source in sources.items() if name in reach.digests and reach.stale(name, source)]
    if changed:
        raise SystemExit(f"{', '.join(changed)} changed since the last --map: run with --map again")
    return reach


def tried(mutants: list[Mutant], copies: list[Copy], reach: Reach | None, asked: argparse.Namespace) -> list[Fate]:
    """The fate of each mutant, told as it is known."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def one(mutant: Mutant) -> Fate:
        copy = free.get()
        try:
            return copy.live(mutant, reach, asked.tests, asked.budget)
        finally:
            free.put(copy)

    fates = []
    with ThreadPoolExecutor(len(copies)) as pool:
        for done in as_completed([pool.submit(one, mutant) for mutant in mutants]):
            fate = done.result()
            fates.append(fate)
            print(f"{len(fates):5} {fate.end:9}  {fate.mutant}  {fate.by}", flush=True)
    return fates


def tell(fates: list[Fate]) -> None:
    """The figures, and who survived."""
    ends = Counter(fate.end for fate in fates)
    print(", ".join(f"{count} {end}" for end, count in ends.most_common()))
    dead = sum(fate.dead for fate in fates)
    print(f"{dead} of {len(fates)} mutants found out ({dead / max(1, len(fates)):.0%})")
    for fate in sorted(fates, key=lambda fate: fate.mutant.name):
        if not fate.dead:
            print(f"  {fate.end:9}  {fate.mutant}")


if __name__ == "__main__":
    sys.exit(main())
