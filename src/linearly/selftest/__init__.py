"""Check that the installed package is right on this machine: `linearly selftest`.

An area is a module with a function `results` that yields one `Result` per thing checked. The areas need no tests, no
network and no more than the core dependencies. A result that needs a missing optional part counts as not run.

In reading order:
    nist             digits of NIST's reference data sets
    extreme          hostile scales against rational arithmetic
    splits           the same rows in any blocks, threads, files; clusters for Dask and Spark
    laws             what must not change a model, on random data
    digits           claimed digits after sums and differences, and of weighted fits
    separability     verdicts and proofs
    files            damaged and hostile files; kill_tests for kills, full disks and Ctrl-C
    server           what the lab's server refuses
    rationals        least squares in fractions
    hyperplanes      separability in fractions
    untrusted_files  model files with one thing changed
    page             the page of a run, and the promises it reports on (promises.toml)

    for area, result in run(): print(area, result.what, result.figure, result.verdict)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["AREAS", "ProgressCallback", "Result", "list_faults", "not_run", "run"]

AREAS = {
    "nist": "NIST's reference data sets",
    "extreme": "Hostile scales",
    "splits": "The same rows in any blocks",
    "laws": "Laws that every estimator obeys",
    "digits": "Claimed digits against exact fractions",
    "separability": "Verdicts on separability, and their proofs",
    "files": "Files, kills and interruptions",
    "server": "The lab's server",
}

ProgressCallback = Callable[[int, int], None]  # steps done, steps in total


@dataclass(frozen=True, slots=True)
class Result:
    """One check: the figure found, the figure required, and whether it passed.

    `passed` is None if the check could not be run; the figure then names what is missing.
    """

    what: str
    figure: str
    required: str
    passed: bool | None

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        return {True: "passed", False: "FAILED", None: "not run"}[self.passed]


def list_faults(faults: Sequence[str], limit: int | None = None, before: str = ": ", between: str = "; ") -> str:
    """Return the first faults for the end of a figure; empty if there are none."""
    return before + between.join(faults[:limit]) if faults else ""


def not_run(what: str, required: str, needs: str) -> Result:
    """Return the result of a check that cannot be run here."""
    return Result(what, f"needs {needs}", required, None)


def run(
    areas: Iterable[str] = AREAS, *, long: bool = False, progress: ProgressCallback = lambda done, total: None
) -> Iterator[tuple[str, Result]]:
    """Yield each area and its results, one by one; `long` takes an hour instead of a minute."""
    for area in areas:
        if area not in AREAS:
            raise ValueError(f"There is no area {area!r}: it is one of {', '.join(AREAS)}.")
        try:
            for result in importlib.import_module(f"linearly.selftest.{area}").results(long, progress):
                yield area, result
        except Exception as failure:  # one area that breaks must not hide the others
            yield area, Result("the rest", f"{type(failure).__name__}: {failure}", "no error", False)
