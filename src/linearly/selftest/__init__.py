"""Check that the installed package is right on this machine: `linearly selftest`.

An area is a module with a function `results` that yields one `Result` per thing checked. The areas need no tests, no
network and no more than the core dependencies. A result that needs a missing optional part counts as not run.

In reading order:
    nist             digits of NIST's reference data sets
    extreme          extreme scales against rational arithmetic
    splits           the same rows in any blocks, threads and files
    clusters         the same rows on Dask and Spark; part of the area splits
    reference_fits   the estimators that splits and clusters fit
    laws             what must not change a model, on random data
    digits           claimed digits after sums and differences, and of weighted fits
    separability     verdicts and proofs
    verdicts         coverage of intervals, size and power of tests
    cases            one simulated case: its draws and the bounds of its shares
    finding_cases    false alarms and power of each finding; part of the area verdicts
    files            damaged and hostile files
    kill_tests       kills, full disks and Ctrl-C while a file is written; part of the area files
    server           requests that the lab's server must refuse
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
    "extreme": "Data of extreme scale",
    "splits": "Same results for any blocks of rows",
    "laws": "Invariances of every estimator",
    "digits": "Reported digits, compared with rational arithmetic",
    "separability": "Verdicts on separability, and their proofs",
    "verdicts": "Coverage of intervals, size and power of tests",
    "files": "Damaged files, killed processes and interruptions",
    "server": "Server of the lab",
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
            raise ValueError(f"{area!r} is not an area of the selftest. Choose one of {', '.join(AREAS)}.")
        try:
            for result in importlib.import_module(f"linearly.selftest.{area}").results(long, progress):
                yield area, result
        except Exception as failure:  # one area that breaks must not hide the others
            yield area, Result("the rest", f"{type(failure).__name__}: {failure}", "no error", False)
