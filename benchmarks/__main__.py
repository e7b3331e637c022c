"""Run the workloads, print the table of ratios, write JSON to benchmarks/results/."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import grid
from benchmarks.limits import limits
from benchmarks.race import Result, machine
from benchmarks.targets import table, written_into

MODULES = ("least_squares", "classification", "perceptron", "files", "lab")


def main() -> None:
    """Parse the arguments, race, report."""
    workloads = {
        workload.__name__: workload
        for module in MODULES
        for workload in importlib.import_module(f"benchmarks.{module}").WORKLOADS
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller data, about two minutes in all")
    parser.add_argument("--page", action="store_true", help="write the table of a full run into docs/benchmarks.md")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("names", nargs="*", metavar="name", help="workloads to run (default: all)")
    asked = parser.parse_args()
    if asked.names == ["grid"]:
        if asked.page and asked.quick:
            parser.error("--page takes a full run, not --quick")
        grid.main(asked.quick, asked.page)
        return
    if asked.list:
        print(f"{'grid':<18} Small and large cells, models and kinds of input, against the best peer.")
        for name, workload in workloads.items():
            print(f"{name:<18} {(workload.__doc__ or '').strip()}")
        return
    unknown = [name for name in asked.names if name not in workloads]
    if unknown:
        parser.error(f"no workload {unknown[0]!r}; there are {', '.join(workloads)}")
    if asked.page and (asked.quick or asked.names):
        parser.error("--page takes a full run: neither --quick nor names")
    here, most = machine(), limits(asked.quick)
    print("  ".join(f"{key} {value}" for key, value in here.items()))
    print("  ".join(f"{key} {value:.0f}" for key, value in most.items()), flush=True)
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{'quick-' if asked.quick else ''}{time.strftime('%Y%m%d-%H%M%S')}.json"
    plain: list[dict[str, Any]] = []
    for name in asked.names or workloads:
        start = time.perf_counter()
        result = workloads[name](asked.quick)
        show(result, most, time.perf_counter() - start)
        plain.append(asdict(result))
        path.write_text(json.dumps({"machine": here, "limits": most, "results": plain}, indent=1))
    print(f"\n{table(plain)}\n\nwritten to {path}")
    if asked.page:
        page = Path(__file__).parent.parent / "docs" / "benchmarks.md"
        page.write_text(written_into(page.read_text(encoding="utf-8"), here, most, plain), encoding="utf-8")


def show(result: Result, most: dict[str, float], seconds: float) -> None:
    """One workload as text: who, how long, how many times ours, how much memory, how far the answers differ."""
    growth = "" if result.growth is None else f", time grows as n^{result.growth:.2f}"
    share = result.share_of_limit(most)
    limit = "" if share is None else f", {share:.0%} of the limit of this machine"
    print(f"\n{result.workload}   {result.size}   ({seconds:.0f} s{growth}{limit})")
    mine = result.seconds[result.ours]
    for name, taken in result.seconds.items():
        memory = result.extra_mb.get(name)
        extra = "" if memory is None else f"{memory:9.0f} MB more"
        apart = result.difference.get(name)
        agreement = "" if not apart else f"   answers within {apart:.0e}"
        print(f"  {name:<32}{taken:12.6f} s{taken / mine:10.2f} ×{extra}{agreement}", flush=True)


if __name__ == "__main__":
    main()
