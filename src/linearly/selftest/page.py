"""The page about a run: what is promised, what was found, on which machine, and which tests show the rest."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from linearly.selftest import AREAS, Result

_HEAD, _TAIL = "<!-- measured: ", " -->\n"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "narwhals", "pyarrow", "dask", "distributed", "pyspark", "starlette")


@dataclass(frozen=True)
class Promise:
    """What is promised and what shows it: results of an area, and tests of the project."""

    what: str
    required: str
    area: str
    about: tuple[str, ...] = ()  # how the results begin that speak of it; none: all of the area
    quoted: tuple[str, ...] = ()  # words of those whose figures stand for the others
    tests: tuple[str, ...] = ()


PROMISES = (
    Promise(
        "NIST's 11 reference sets, every certified figure",
        '13 digits with `method="extended"` (12.5 of standard errors), 9 with `auto`',
        "nist",
        quoted=("coefficients, exact", "standard errors, exact", "coefficients, auto"),
        tests=("test_nist.py",),
    ),
    Promise(
        "Hostile scales: offsets to 1e15, units from 1e-300 to 1e300, float32, near-collinear columns",
        "12 digits (11 of standard errors), or a named warning",
        "extreme",
        quoted=("sets, auto: ", "sets, exact: "),
        tests=("test_scale.py",),
    ),
    Promise(
        "The same rows in any blocks, order of merging, threads, files, on Dask and Spark",
        "the same bits for the same blocks; 1e-10 across blockings",
        "splits",
        quoted=("blocks on", "blockings", "CSV", "two Dask", "Spark"),
        tests=("test_fold.py", "test_files.py", "test_clusters.py"),
    ),
    Promise(
        "Laws: permutation, duplicate = weight 2, weight 0 = absent, scaling, shift, rotation, relabelling",
        "0 violations in 10 000 random cases",
        "laws",
        quoted=("all laws",),
        tests=("test_laws.py",),
    ),
    Promise(
        "Claimed digits: chains of `+` and `−` of any scale; weights from 1e-12 to 1e12, with and without an intercept",
        "0 claims above the truth by more than a digit without a warning, in 5,000 chains and 6,250 fits",
        "digits",
        quoted=("least squares", "LDA", "no intercept, auto"),
        tests=("test_trust_digits.py",),
    ),
    Promise(
        "Verdicts on separability",
        "0 false in 8 000 random sets, every proof re-done in fractions",
        "separability",
        quoted=("random sets",),
        tests=("test_separability.py",),
    ),
    Promise(
        "Bad inputs × every estimator",
        "each a named error, no silent wrong answer",
        "inputs",
        quoted=("bad inputs",),
        tests=("test_bad_input.py", "test_hostile_input.py"),
    ),
    Promise(
        "A Dask worker killed in the middle of a fit",
        "the same bits, or an explicit failure",
        "splits",
        ("kill -9",),
        ("kill -9",),
        tests=("test_clusters.py::test_killed_workers_change_no_bit",),
    ),
    Promise(
        "`kill -9` during a save",
        "the old file or the new one, whole, 200 times; nothing left behind after the next save",
        "files",
        ("kill -9", "what kills leave"),
        ("kill -9", "what kills leave"),
        ("test_model_file.py::test_kill_during_save_leaves_whole_files",),
    ),
    Promise(
        "A full disk; truncated and hostile files (CSV, Parquet, Arrow, model files)",
        "a clear error, bounded memory, no code run",
        "files",
        ("a full disk", "hostile model", "model files cut", "tables cut"),
        ("hostile model", "model files cut", "tables cut"),
        ("test_bad_files.py", "test_model_file.py"),
    ),
    Promise(
        "The lab's server: foreign Host or Origin, no token, oversize body, unknown fields",
        "refused; it listens on this machine alone",
        "server",
        tests=("test_lab.py",),
    ),
    Promise(
        "Ctrl-C on the command line",
        "exit code 130, no half-written output",
        "files",
        ("Ctrl-C",),
        ("Ctrl-C",),
        ("test_cli.py::test_interrupted_while_writing", "test_cli.py::test_interrupted_while_reading"),
    ),
)


@dataclass(frozen=True)
class Measured:
    """The results of an area, and the circumstances: the command, when, how long, on what."""

    results: tuple[Result, ...]
    command: str
    date: str
    seconds: float
    where: str


def measured(area: str, results: Sequence[Result], seconds: float, *, long: bool = False, jobs: int = 1) -> Measured:
    """What was found just now, here."""
    options = " --long" * long + f" --jobs {jobs}" * (jobs > 1)
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Measured(tuple(results), f"linearly selftest {area}{options}", date, round(seconds, 1), _here())


def page(found: Mapping[str, Measured]) -> str:
    """The page in Markdown about the areas that were run; at its end, for `kept`, what it was made from."""
    lines = [
        "# Trust: what is promised, and what was found",
        "",
        "Written by `linearly selftest --long --output FILE.md`, and not by hand. Below the promises stand the figures "
        "of each area, with the command, the date and the machine they come from. `linearly selftest` looks at the "
        "same things on your machine, in about a minute.",
        "",
        *table(("promise", "required", "found", "shown by"), [_promise_row(one, found) for one in PROMISES]),
    ]
    for area, title in AREAS.items():
        if area in found:
            one = found[area]
            took = f"{one.seconds:.0f} s" if one.seconds < 90 else f"{one.seconds / 60:.0f} min"
            lines += ["", f"## {title}", "", f"`{one.command}`, {one.date}, in {took}. {one.where}", ""]
            rows = [(r.what, r.figure, r.required, r.verdict) for r in one.results]
            lines += table(("what", "found", "required", "verdict"), rows)
    plain = {area: asdict(one) for area, one in found.items()}
    return "\n".join([*lines, "", _HEAD + json.dumps(plain, ensure_ascii=False).replace(">", "\\u003e") + _TAIL])


def kept(text: str) -> dict[str, Measured]:
    """What a page was made from, so that a run of some areas leaves the others as they were."""
    if not text.endswith(_TAIL) or _HEAD not in text:
        return {}
    plain = json.loads(text.removesuffix(_TAIL).rpartition(_HEAD)[2])
    return {
        area: Measured(**{**one, "results": tuple(Result(**result) for result in one["results"])})
        for area, one in plain.items()
    }


def _here() -> str:
    import linearly
    from linearly.dataset.rows.reduce import n_threads
    from linearly.kernels import kernels_in_use

    versions = [f"Python {sys.version.split()[0]}"]
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    return (
        f"linearly {linearly.__version__}, {kernels_in_use()} kernels, {n_threads()} threads; {_processor()}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}; {', '.join(versions)}."
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def _promise_row(promise: Promise, found: Mapping[str, Measured]) -> tuple[str, str, str, str]:
    shown = [f"`linearly selftest {promise.area}`", *(f"`tests/{test}`" for test in promise.tests)]
    return promise.what, promise.required, _figure(promise, found), ", ".join(shown)


def _figure(promise: Promise, found: Mapping[str, Measured]) -> str:
    if promise.area not in found:
        return "not run"
    about = [r for r in found[promise.area].results if not promise.about or r.what.startswith(promise.about)]
    if not about:  # with --long alone
        return "not run"
    ran = [r for r in about if r.passed is not None]
    failed = [r for r in ran if not r.passed]
    if failed:
        return f"**{len(failed)} of {len(ran)} FAILED**: " + "; ".join(f"{r.what}: {r.figure}" for r in failed)
    told = [f"{len(ran)} of {len(ran)} passed"]
    told += [f"{r.what}: {r.figure}" for r in ran if any(words in r.what for words in promise.quoted)]
    absent = len(about) - len(ran)
    return "; ".join([*told, f"{absent} not run"] if absent else told)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
