"""Time, memory and bytes read of questions to a model of 10,000,000 × 20 Parquet rows.

    python -m benchmarks.questions                  10,000,000 rows, in a temporary file of about 1.3 GB
    python -m benchmarks.questions --rows 1000000   fewer rows

Each step runs in a process of its own and prints one line of JSON: processor seconds, peak resident memory (VmHWM) and
bytes read as a share of the file. The models are those of saved files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GROUP = 250_000  # rows of a row group
FORMULA = "{y} ~ f * g + x0 * h + " + " + ".join(f"x{j}" for j in range(1, 15))
STEPS = {
    "fit linear": "ly.fit(data, formula={linear!r}).save(folder + '/linear.json')",
    "anova linear, type 2": "print(ly.anova(ly.load(folder + '/linear.json')), file=sys.stderr)",
    "anova linear, type 3": "ly.anova(ly.load(folder + '/linear.json'), type=3)",
    "marginal_effects linear": "ly.marginal_effects(ly.load(folder + '/linear.json'), data)",
    "fit logistic": "ly.fit(data, formula={logistic!r}, model='logistic').save(folder + '/logistic.json')",
    "anova logistic, Wald": "ly.anova(ly.load(folder + '/logistic.json'))",
    "marginal_effects logistic": "ly.marginal_effects(ly.load(folder + '/logistic.json'), data)",
}


def write_rows(path: Path, n: int) -> None:
    """Write n rows: categories f, g and h, numbers x0 to x14, a number y and labels."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for start in range(0, n, GROUP):
        m, rng = min(GROUP, n - start), np.random.default_rng(start)
        codes = {name: rng.integers(0, k, m) for name, k in (("f", 3), ("g", 4), ("h", 2))}
        f, g, h = codes.values()
        X = rng.standard_normal((15, m)).astype(np.float32).astype(np.float64)
        eta = 0.3 * f - 0.2 * g * (f == 1) + 0.5 * X[0] * (1 + h) + 0.1 * X[1:].sum(axis=0)
        columns = {name: pa.array(np.char.add(name, code.astype(str))) for name, code in codes.items()}
        columns |= {f"x{j}": pa.array(x) for j, x in enumerate(X)}
        columns["y"] = pa.array(eta + rng.standard_normal(m))
        columns["label"] = pa.array(np.where(eta + rng.logistic(size=m) > 0, "yes", "no"))
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def measure(code: str, folder: str, data: str) -> dict[str, float]:
    """Run code in a process of its own; return its processor seconds, peak memory in MB and GB read."""
    program = (
        "import sys, resource\nimport linearly as ly\n"
        f"folder, data = {folder!r}, {data!r}\n{code}\n"
        "status, io = open('/proc/self/status').read(), open('/proc/self/io').read()\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(status, io, 'seconds:', used.ru_utime + used.ru_stime)\n"
    )
    start = time.perf_counter()
    text = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout

    def number(name: str) -> float:
        found = re.search(rf"{name}:\s*([\d.]+)", text)
        assert found is not None
        return float(found[1])

    return {
        "processor_seconds": round(number("seconds"), 2),
        "seconds": round(time.perf_counter() - start, 2),
        "peak_mb": round(number("VmHWM") * 1024 / 1e6),
        "passes": round(number("rchar") / os.path.getsize(data), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    formulas = {"linear": FORMULA.format(y="y"), "logistic": FORMULA.format(y="label")}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.parquet"
        write_rows(data, rows)
        print(json.dumps({"rows": rows, "gb": round(data.stat().st_size / 1e9, 2)}), flush=True)
        for name, code in STEPS.items():
            found = measure(code.format(**formulas), folder, str(data))
            print(json.dumps({"step": name, **found}), flush=True)


if __name__ == "__main__":
    main()
