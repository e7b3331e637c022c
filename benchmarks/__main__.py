"""Run the workloads, print the table of ratios, write JSON to benchmarks/results/."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.race import Result, machine

MODULES = ("least_squares", "classification", "perceptron", "files")


def main() -> None:
    """Parse the arguments, race, report."""
    workloads = {
        workload.__name__: workload
        for module in MODULES
        for workload in importlib.import_module(f"benchmarks.{module}").WORKLOADS
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller data, about two minutes in all")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("names", nargs="*", metavar="name", help="workloads to run (default: all)")
    asked = parser.parse_args()
    if asked.list:
        for name, workload in workloads.items():
            print(f"{name:<18} {(workload.__doc__ or '').strip()}")
        return
    unknown = [name for name in asked.names if name not in workloads]
    if unknown:
        parser.error(f"no workload {unknown[0]!r}; there are {', '.join(workloads)}")
    here = machine()
    print("  ".join(f"{key} {value}" for key, value in here.items()))
    results = []
    for name in asked.names or workloads:
        start = time.perf_counter()
        results.append(workloads[name](asked.quick))
        show(results[-1], time.perf_counter() - start)
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{'quick-' if asked.quick else ''}{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": here, "results": [asdict(result) for result in results]}, indent=1))
    print(f"\nwritten to {path}")


def show(result: Result, seconds: float) -> None:
    """One workload as text: who, how long, how many times ours, how much memory, how far the answers differ."""
    growth = "" if result.growth is None else f", time grows as n^{result.growth:.2f}"
    print(f"\n{result.workload}   {result.size}   ({seconds:.0f} s{growth})")
    mine = result.seconds[result.ours]
    for name, taken in result.seconds.items():
        memory = result.extra_mb.get(name)
        extra = "" if memory is None else f"{memory:9.0f} MB more"
        apart = result.difference.get(name)
        agreement = "" if not apart else f"   answers within {apart:.0e}"
        print(f"  {name:<32}{taken:12.6f} s{taken / mine:10.2f} ×{extra}{agreement}")


if __name__ == "__main__":
    main()
