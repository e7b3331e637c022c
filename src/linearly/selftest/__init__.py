"""What a user can run to see that the installed package is right on this machine.

An area is a module with a function `results`, which gives one `Result` for each thing it looked at. Nothing here needs
the tests, a network or more than the core dependencies; where an optional part is missing, the result says which, and
counts as not run.

for area, result in run(): print(area, result.what, result.figure, result.verdict)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

__all__ = ["AREAS", "ProgressCallback", "Result", "not_run", "run"]

AREAS = {
    "nist": "NIST's reference data sets",
    "extreme": "Hostile scales",
    "splits": "The same rows in any blocks",
    "laws": "Laws that every estimator obeys",
    "digits": "Claimed digits against exact fractions",
    "inputs": "Bad inputs to every estimator",
    "separability": "Verdicts on separability, and their proofs",
    "files": "Files, kills and interruptions",
    "server": "The lab's server",
}

ProgressCallback = Callable[[int, int], None]  # so many of so many are done


@dataclass(frozen=True, slots=True)
class Result:
    """One thing that was looked at: the figure found, the figure required, and whether that was reached.

    `passed` is None where it could not be run; the figure then says what is missing.
    """

    what: str
    figure: str
    required: str
    passed: bool | None

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "passed", False: "FAILED", None: "not run"}[self.passed]


def not_run(what: str, required: str, needs: str) -> Result:
    """The result of what cannot be looked at here."""
    return Result(what, f"needs {needs}", required, None)


def silent(done: int, total: int) -> None:
    """Tell nobody."""


def run(
    areas: Iterable[str] = AREAS, *, long: bool = False, tell: ProgressCallback = silent
) -> Iterator[tuple[str, Result]]:
    """The areas and their results, one by one; `long` takes an hour instead of a minute."""
    for area in areas:
        if area not in AREAS:
            raise ValueError(f"There is no area {area!r}: it is one of {', '.join(AREAS)}.")
        try:
            for result in importlib.import_module(f"linearly.selftest.{area}").results(long, tell):
                yield area, result
        except Exception as failure:  # one area that breaks must not keep the others from being seen
            yield area, Result("the rest", f"{type(failure).__name__}: {failure}", "no error", False)
