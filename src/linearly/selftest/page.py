"""The page about a run: what is promised, what was found, on which machine, and which tests show the rest."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from linearly.selftest import AREAS, Result

LIBRARIES = ("numpy", "scipy", "scikit-learn", "narwhals", "pyarrow", "dask", "distributed", "pyspark", "starlette")


@dataclass(frozen=True)
class Promise:
    """What is promised and what shows it: results of an area, or tests of the project."""

    what: str
    required: str
    area: str = ""
    about: tuple[str, ...] = ()  # how the results begin that speak of it; none: all of the area
    quoted: tuple[str, ...] = ()  # words of those whose figures stand for the others
    tests: tuple[str, ...] = ()


PROMISES = (
    Promise(
        "NIST's 11 reference sets, every certified figure",
        '13 digits with `method="exact"` (12.5 of standard errors), 9 with `auto`',
        "nist",
        quoted=("coefficients, exact", "standard errors, exact", "coefficients, auto"),
        tests=("test_nist.py",),
    ),
    Promise(
        "Hostile scales: offsets to 1e15, units from 1e-300 to 1e300, float32, near-collinear columns",
        "12 digits, or a named warning",
        "extreme",
        quoted=("sets, auto: ", "sets, exact: "),
        tests=("test_scale.py",),
    ),
    Promise(
        "The same rows in any blocks, order of merging, threads, files, on Dask and Spark",
        "the same bits for the same blocks; 1e-10 across blockings",
        "splits",
        quoted=("blocks on", "blockings", "CSV", "Dask", "Spark"),
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
        "Verdicts on separability",
        "0 false in 8 000 random sets, every proof re-done in fractions",
        "separability",
        quoted=("random sets",),
        tests=("test_separability.py",),
    ),
    Promise(
        "Bad inputs × every estimator",
        "each a named error, no silent wrong answer",
        tests=("test_bad_input.py",),
    ),
    Promise(
        "A Dask worker killed in the middle of a fit",
        "the same bits, or an explicit failure",
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


def page(
    found: Mapping[str, Sequence[Result]], seconds: Mapping[str, float], *, long: bool = False, jobs: int = 1
) -> str:
    """The page in Markdown about the results of each area that was run."""
    options = " --long" * long + f" --jobs {jobs}" * (jobs > 1)
    command = f"linearly selftest{options} --output FILE.md"
    lines = [
        "# Trust: what is promised, and what was found",
        "",
        f"Written by `{command}`; the figures are those of that run and of nothing else. "
        "`linearly selftest` looks at the same things on your machine, in about a minute.",
        "",
        *(f"- {name}: {value}" for name, value in circumstances(long, jobs).items()),
        "",
        *table(("promise", "required", "found", "shown by"), [_promise_row(one, found) for one in PROMISES]),
        "",
        "Where no figure stands, this command does not look: the tests that are named do.",
    ]
    for area, title in AREAS.items():
        if area in found:
            rows = [(r.what, r.figure, r.required, r.verdict) for r in found[area]]
            took = f"{seconds[area]:.0f} s" if seconds[area] < 90 else f"{seconds[area] / 60:.0f} min"
            lines += ["", f"## {title}", "", f"`linearly selftest {area}{' --long' if long else ''}`, {took}.", ""]
            lines += table(("what", "found", "required", "verdict"), rows)
    return "\n".join(lines) + "\n"


def circumstances(long: bool, jobs: int) -> dict[str, str]:
    """When, on what, and with which versions."""
    import linearly
    from linearly.dataset.fold import threads
    from linearly.kernels import kernels_in_use

    versions = []
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "run": ("the full one (`--long`)" if long else "the short one; the full one is `--long`")
        + (f", {jobs} areas at once, so that the times are those of a busy machine" if jobs > 1 else ""),
        "linearly": f"{linearly.__version__}, {kernels_in_use()} kernels, {threads()} threads",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "Python": f"{sys.version.split()[0]}; {', '.join(versions)}",
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def _promise_row(promise: Promise, found: Mapping[str, Sequence[Result]]) -> tuple[str, str, str, str]:
    shown = [f"`linearly selftest {promise.area}`"] if promise.area else []
    shown += [f"`tests/{test}`" for test in promise.tests]
    return promise.what, promise.required, _figure(promise, found), ", ".join(shown)


def _figure(promise: Promise, found: Mapping[str, Sequence[Result]]) -> str:
    if promise.area not in found:
        return "not run" if promise.area else ""
    about = [r for r in found[promise.area] if not promise.about or r.what.startswith(promise.about)]
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
