"""`linearly selftest`: whether the installed package is right on this machine, with figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.options import common_options
from linearly.cli.terminal import format_duration, print_err, print_json, print_out, print_saved, terminal_width
from linearly.selftest import AREAS

if TYPE_CHECKING:
    from linearly.selftest import Result

COLOURS = {"passed": "green", "FAILED": "bold red", "not run": "yellow"}


@click.command()
@click.argument("areas", nargs=-1, metavar="[AREA]...", type=click.Choice(list(AREAS)))
@click.option("--long", "long", is_flag=True, help="The full runs: the better part of an hour instead of a minute.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, help="Areas at once, each in its own process.")
@click.option("--output", "-o", metavar="FILE", help="A page (.md) with the results; areas it has from before stay.")
@common_options
def selftest(areas: tuple[str, ...], long: bool, jobs: int, output: str | None, as_json: bool) -> int:
    """See whether the installed package is right on this machine.

    \b
    AREA is any of these; without one, all are run.
      nist          digits of NIST's reference data sets
      extreme       hostile scales, against exact fractions
      splits        any blocks, threads, files; Dask and Spark with --long
      laws          what must not change a model, on random data
      digits        claimed digits after + and −, and of weighted fits
      separability  verdicts and proofs, against exact fractions
      files         kill -9 while saving, Ctrl-C, hostile and damaged files
      server        what the lab's server refuses

    No network is used. Where an optional part is missing, the table says how to install it, and the line counts as not
    run. The exit code is 1 if anything failed, or if nothing could be run.

    \b
    Examples:
      linearly selftest
      linearly selftest nist laws
      linearly selftest --long --jobs 2 --output trust.md
    """
    if output is not None and not output.lower().endswith(".md"):
        raise click.UsageError(f"{output}: the page must end in .md.")
    chosen = list(dict.fromkeys(areas or AREAS))
    found: dict[str, list[Result]] = {}
    seconds: dict[str, float] = {}
    for area, (results, took) in zip(chosen, _looked_at(chosen, long, jobs), strict=True):
        found[area], seconds[area] = results, took
    verdicts = [result.verdict for results in found.values() for result in results]
    counts = {verdict.lower(): verdicts.count(verdict) for verdict in COLOURS}
    if as_json:
        print_json({"long": long, "counts": counts, "seconds": seconds, "results": _rows(found)})
    else:
        _draw(found)
        total = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        print_out(f"{total}   {format_duration(sum(seconds.values()))}")
    if output is not None:
        _write(output, found, seconds, long, jobs)
    return 1 if counts["failed"] or not counts["passed"] else 0


def _write(output: str, found: dict[str, list[Result]], seconds: dict[str, float], long: bool, jobs: int) -> None:
    from pathlib import Path

    from linearly.export.atomic_file import write_atomic
    from linearly.selftest.page import measured, parse_page, render_page

    old = parse_page(Path(output).read_text(encoding="utf-8")) if Path(output).exists() else {}
    new = {area: measured(area, found[area], seconds[area], long=long, jobs=jobs) for area in found}
    write_atomic(output, render_page({**old, **new}).encode("utf-8"))
    print_saved(output)


def _looked_at(areas: list[str], long: bool, jobs: int) -> Iterator[tuple[list[Result], float]]:
    """The results of each area and the seconds they took, in order."""
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
    """A bar on standard error, or a line where that is no terminal."""
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
            # Text, not str: [lab] in a sentence is no markup.
            told = (area if k == 0 else "", result.what, result.figure, result.required)
            table.add_row(*map(Text, told), Text(result.verdict, style=COLOURS[result.verdict]))
        table.add_section()
    Console(width=terminal_width()).print(table)
