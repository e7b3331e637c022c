"""Write the page about a run of the selftest: promises, results, machine, and the tests that show the rest."""

from __future__ import annotations

import json
import os
import platform
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from linearly.dataset.rows.reduce import n_threads
from linearly.installed import installed_version, library_version
from linearly.kernels import kernels_in_use
from linearly.selftest import AREAS, Result

_HEAD, _TAIL = "<!-- measured: ", " -->\n"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "narwhals", "pyarrow", "dask", "distributed", "pyspark", "starlette")


@dataclass(frozen=True)
class Promise:
    """What is promised and what shows it; `promises.toml` explains the fields."""

    what: str
    required: str
    tests: Sequence[str]
    area: str | None = None
    about: Sequence[str] = ()
    quoted: Sequence[str] = ()


EXPLANATIONS = {  # what the figures of each area mean
    "nist": "A figure is the number of correct digits of the least accurate value.",
    "extreme": "Figures are the correct digits of coefficients and of standard errors, in the fits that do not warn.",
    "splits": "The same rows are fitted in other blocks, with other threads and from files. Differences are relative.",
    "laws": "Each law states how a model changes if its rows change. A violation exceeds rounding errors.",
    "digits": "Each fit is repeated in rational arithmetic to compare its reported digits with its correct digits.",
    "separability": "Verdicts are compared with a rational simplex method. Proofs are checked in rational arithmetic.",
    "verdicts": "Percentages are coverage, size or power; 97.2% at 50 means 97.2% with 50 rows.",
    "files": "Files are damaged, and processes are killed, while linearly reads or writes.",
    "server": "A running server receives requests that it must refuse.",
}

_TEXT = resources.files("linearly.selftest").joinpath("promises.toml").read_text(encoding="utf-8")
PROMISES = tuple(Promise(**promise) for promise in tomllib.loads(_TEXT)["promise"])


@dataclass(frozen=True)
class Measured:
    """The results of an area, and the circumstances: the command, when, how long, on what."""

    results: tuple[Result, ...]
    command: str
    date: str
    seconds: float
    where: str


def measured(area: str, results: Sequence[Result], seconds: float, *, long: bool = False, jobs: int = 1) -> Measured:
    """Return the results of a run that has just ended on this machine."""
    options = " --long" * long + f" --jobs {jobs}" * (jobs > 1)
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Measured(tuple(results), f"linearly selftest {area}{options}", date, round(seconds, 1), _describe_machine())


def render_page(areas: Mapping[str, Measured]) -> str:
    """Return the page in Markdown; its last line holds `areas` as JSON for `parse_page`."""
    lines = [
        "# Trust: promises and measurements",
        "",
        "`linearly selftest --long --output FILE.md` writes this page. The table of promises comes first, then the "
        "results of each area with the command, the date and the machine. `linearly selftest` checks the same on "
        "your machine in about a minute.",
        "",
        *table(("promise", "required", "found", "shown by"), [_promise_row(one, areas) for one in PROMISES]),
    ]
    for area, title in AREAS.items():
        if area in areas:
            one = areas[area]
            took = f"{one.seconds:.0f} s" if one.seconds < 90 else f"{one.seconds / 60:.0f} min"
            lines += ["", f"## {title}", "", EXPLANATIONS[area], ""]
            lines += [f"`{one.command}`, {one.date}, in {took}. {one.where}", ""]
            rows = [(r.what, r.figure, r.required, r.verdict) for r in one.results]
            lines += table(("check", "found", "required", "verdict"), rows)
    record = json.dumps({area: asdict(one) for area, one in areas.items()}, ensure_ascii=False)
    return "\n".join([*lines, "", _HEAD + record.replace(">", "\\u003e") + _TAIL])


def parse_page(text: str) -> dict[str, Measured]:
    """Return the areas that a page was made from, so that a run of some areas leaves the others as they were."""
    if not text.endswith(_TAIL) or _HEAD not in text:
        return {}
    record = json.loads(text.removesuffix(_TAIL).rpartition(_HEAD)[2])
    return {
        area: Measured(**one | {"results": tuple(Result(**result) for result in one["results"])})
        for area, one in record.items()
        if area in AREAS
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def _promise_row(promise: Promise, areas: Mapping[str, Measured]) -> tuple[str, str, str, str]:
    shown = [f"`linearly selftest {promise.area}`"] if promise.area else []
    shown += [f"`tests/{test}`" for test in promise.tests]
    return promise.what, promise.required, _figure(promise, areas), ", ".join(shown)


def _figure(promise: Promise, areas: Mapping[str, Measured]) -> str:
    if promise.area is None:
        return "by the project's tests"
    results = areas[promise.area].results if promise.area in areas else ()
    about = [r for r in results if not promise.about or r.what.startswith(tuple(promise.about))]
    if not about:  # some are run with --long only
        return "not run"
    ran = [r for r in about if r.passed is not None]
    failed = [r for r in ran if not r.passed]
    if failed:
        return f"**{len(failed)} of {len(ran)} FAILED**: " + "; ".join(f"{r.what}: {r.figure}" for r in failed)
    parts = [f"{len(ran)} of {len(ran)} passed"]
    parts += [f"{r.what}: {r.figure}" for r in ran if any(words in r.what for words in promise.quoted)]
    absent = len(about) - len(ran)
    return "; ".join([*parts, f"{absent} not run"] if absent else parts)


def _describe_machine() -> str:
    versions = [f"Python {sys.version.split()[0]}"]
    for name in LIBRARIES:
        version = installed_version(name)
        versions.append(f"{name} {version}" if version else f"no {name}")
    return (
        f"linearly {library_version()}, {kernels_in_use()} kernels, {n_threads()} threads; {_processor()}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}; {', '.join(versions)}."
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
