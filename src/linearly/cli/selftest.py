"""`linearly selftest`: check the installed package on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.inputs import check_output
from linearly.cli.options import check_suffix, common_options, force_option
from linearly.cli.terminal import format_duration, print_err, print_json, print_out, print_saved, terminal_width
from linearly.selftest import AREAS

if TYPE_CHECKING:
    from linearly.selftest import Result

COLOURS = {"passed": "green", "FAILED": "bold red", "not run": "yellow"}


@click.command()
@click.argument("areas", nargs=-1, metavar="[AREA]...", type=click.Choice(list(AREAS)))
@click.option(
    "--long", "long", is_flag=True, help="Run the full checks, which take most of an hour instead of a minute."
)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Number of areas to run at once, each in its own process.",
)
@click.option("--output", "-o", metavar="FILE", help="Markdown page to write; results for other areas are kept.")
@click.option("--verbose", "-v", is_flag=True, help="Print every check, not one line per area.")
@force_option
@common_options
def selftest(
    areas: tuple[str, ...], long: bool, jobs: int, output: str | None, verbose: bool, force: bool, as_json: bool
) -> int:
    """Check that linearly computes correctly on this machine.

    \b
    AREA is any of these; without one, all are run.
      nist          correct digits on NIST's reference data sets
      extreme       extreme scales, compared with rational arithmetic
      splits        equal results for all blocks, threads and files (--long: Dask, Spark)
      laws          changes of the data that must not change a model
      digits        reported digits of added, subtracted and weighted fits
      separability  verdicts and proofs, checked in rational arithmetic
      verdicts      coverage of intervals, size and power of tests, simulated
      files         kill -9 while saving, Ctrl-C, damaged and malicious files
      server        requests that the lab's server must refuse

    No network is used. A check whose optional package is missing counts as not run. The exit code is 1 if a check
    failed, or if none could be run.

    \b
    Examples:
      linearly selftest
      linearly selftest nist laws
      linearly selftest --long --jobs 2 --output trust.md
    """
    check_suffix(output, "the page", ".md")
    check_output(output, force=force)
    chosen = list(dict.fromkeys(areas or AREAS))
    found: dict[str, list[Result]] = {}
    seconds: dict[str, float] = {}
    for area, (results, took) in zip(chosen, _run_areas(chosen, long, jobs), strict=True):
        found[area], seconds[area] = results, took
    verdicts = [result.verdict for results in found.values() for result in results]
    counts = {verdict.lower(): verdicts.count(verdict) for verdict in COLOURS}
    if as_json:
        print_json({"long": long, "counts": counts, "seconds": seconds, "results": _rows(found)})
    else:
        if verbose:
            _draw(found)
        else:
            print_out("\n".join(_area_line(area, found[area], seconds[area]) for area in found))
        total = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        print_out(f"{total}   {format_duration(sum(seconds.values()))}")
    if output is not None:
        _write(output, found, seconds, long, jobs)
    return 1 if counts["failed"] or not counts["passed"] else 0


def _write(output: str, found: dict[str, list[Result]], seconds: dict[str, float], long: bool, jobs: int) -> None:
    from pathlib import Path

    from linearly.dataset.files.atomic_file import write_atomic
    from linearly.selftest.page import measured, parse_page, render_page

    old = parse_page(Path(output).read_text(encoding="utf-8")) if Path(output).exists() else {}
    new = {area: measured(area, found[area], seconds[area], long=long, jobs=jobs) for area in found}
    write_atomic(output, render_page({**old, **new}).encode("utf-8"))
    print_saved(output)


def _run_areas(areas: list[str], long: bool, jobs: int) -> Iterator[tuple[list[Result], float]]:
    """Yield the results of each area and the seconds they took, in order."""
    if jobs == 1:
        for area in areas:
            with _progress(area) as tell:
                yield _results(area, long, tell)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        started = [pool.submit(_results, area, long) for area in areas]
        try:
            for area, one in zip(areas, started, strict=True):
                with _progress(area):
                    done = one.result()
                yield done
        finally:
            for one in started:
                one.cancel()


def _results(area: str, long: bool, tell: Callable[[int, int], None] | None = None) -> tuple[list[Result], float]:
    from linearly.selftest import run

    begun = monotonic()
    more = {} if tell is None else {"progress": tell}
    return [result for _, result in run([area], long=long, **more)], monotonic() - begun


@contextmanager
def _progress(area: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, or print a line if that is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        print_err(f"{area} …")
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(area, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _rows(found: dict[str, list[Result]]) -> list[dict[str, Any]]:
    return [
        {
            "area": area,
            "what": result.what,
            "figure": result.figure,
            "required": result.required,
            "verdict": result.verdict.lower(),
        }
        for area, results in found.items()
        for result in results
    ]


def _area_line(area: str, results: list[Result], seconds: float) -> str:
    """Return the counts of an area on one line, followed by the checks that failed or did not run."""
    counts = [(sum(result.verdict == verdict for result in results), verdict) for verdict in COLOURS]
    line = f"{area:<12}  {', '.join(f'{n} {verdict}' for n, verdict in counts if n):<28}  {format_duration(seconds)}"
    others = [result for result in results if result.verdict != "passed"]
    return "\n".join([line, *(f"  {result.verdict}: {result.what}: {result.figure}" for result in others)])


def _draw(found: dict[str, list[Result]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("area", no_wrap=True)
    table.add_column("what", ratio=4)
    table.add_column("figure", ratio=4)
    table.add_column("required", ratio=2)
    table.add_column("verdict", no_wrap=True)
    for area, results in found.items():
        for k, result in enumerate(results):
            # Text, not str: rich would read [lab] in a sentence as markup.
            cells = (area if k == 0 else "", result.what, result.figure, result.required)
            table.add_row(*map(Text, cells), Text(result.verdict, style=COLOURS[result.verdict]))
        table.add_section()
    Console(width=terminal_width()).print(table)
