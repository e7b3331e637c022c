"""Fits on files against polars, DuckDB, Dask and pyarrow with NumPy; what decoding alone takes; how much memory.

Peers form the same cross-products of [1 | X | y] and solve the same equations, each in the fastest way found for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

import linearly as ly
from benchmarks.race import Contender, Result, race
from linearly.dataset.files.tables import file_tables

Array = NDArray[np.float64]

P = 20
NAMES = [*(f"x{j}" for j in range(P)), "y"]
_PART = 1_000_000  # rows made at a time


def part(k: int, n: int) -> pa.Table:
    """n rows of P features, a target and a label, the k-th such part."""
    rng = np.random.default_rng(k)
    X = rng.standard_normal((P, n))
    y = np.arange(1.0, P + 1) @ X + 3.0 + 20 * rng.standard_normal(n)
    return pa.table([*X, y, (y > 3.0).astype(np.int32)], names=[*NAMES, "label"])


def write_parquet(folder: Path, n: int) -> Path:
    """A directory of Parquet files of a million rows each, written with pyarrow's own settings."""
    folder.mkdir()
    for k, start in enumerate(range(0, n, _PART)):
        pq.write_table(part(k, min(_PART, n - start)), folder / f"{k:03}.parquet", row_group_size=_PART // 4)
    return folder


def write_csv(path: Path, n: int) -> Path:
    """One CSV file of features and target."""
    with csv.CSVWriter(path, part(0, 1).select(NAMES).schema) as writer:
        for k, start in enumerate(range(0, n, _PART)):
            writer.write_table(part(k, min(_PART, n - start)).select(NAMES))
    return path


def solved(moments: Iterable[Array]) -> Array:
    """The coefficients, from cross-products of [1 | X | y]."""
    G = sum(moments)
    assert isinstance(G, np.ndarray)
    return np.asarray(np.linalg.solve(G[:-1, :-1], G[:-1, -1])[1:], dtype=np.float64)


def cross_products(columns: Array) -> Array:
    """[1 | X | y]'[1 | X | y] of the columns of X and y."""
    G = np.empty((P + 2, P + 2))
    G[0, 0] = len(columns)
    G[0, 1:] = G[1:, 0] = columns.sum(axis=0)
    G[1:, 1:] = columns.T @ columns
    return G


def batch_columns(batch: Any) -> Array:
    """A record batch as a matrix."""
    columns = np.empty((len(batch), len(NAMES)), order="F")
    for j, name in enumerate(NAMES):
        columns[:, j] = batch.column(name).to_numpy()
    return columns


def ours(source: Path) -> Contender:
    """The fit that is raced."""

    def run() -> Any:
        return ly.LinearRegression().fit(ly.scan(source, target="y", features=NAMES[:-1])).coef_

    return Contender("linearly", run, ours=True, repeats=5)


def parquet_peers(folder: Path) -> list[Contender]:
    """Who reads Parquet and can form cross-products."""
    files = str(folder / "*.parquet")

    def polars_whole() -> Array:
        import polars as pl

        return solved([cross_products(pl.scan_parquet(files).select(NAMES).collect().to_numpy(order="fortran"))])

    def polars_batches() -> Array:
        import polars as pl

        frames = pl.scan_parquet(files).select(NAMES).collect_batches(maintain_order=False)
        return solved(cross_products(frame.to_numpy(order="fortran")) for frame in frames)

    def duckdb_sql() -> Array:
        import duckdb

        pairs = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i:]]
        terms = ["count(*)", *(f"sum({a})" for a in NAMES), *(f"sum({a} * {b})" for a, b in pairs)]
        (row,) = duckdb.connect().sql(f"select {', '.join(terms)} from read_parquet('{files}')").fetchall()
        G = np.empty((P + 2, P + 2))
        G[0, 0] = row[0]
        G[0, 1:] = G[1:, 0] = row[1 : P + 2]
        for (a, b), value in zip(pairs, row[P + 2 :], strict=True):
            i, j = NAMES.index(a) + 1, NAMES.index(b) + 1
            G[i, j] = G[j, i] = value
        return solved([G])

    def duckdb_batches() -> Array:
        import duckdb

        relation = duckdb.connect().sql(f"select {', '.join(NAMES)} from read_parquet('{files}')")
        reader = pa.RecordBatchReader.from_stream(relation)
        return solved(cross_products(batch_columns(batch)) for batch in reader)

    def dask_partitions() -> Array:
        import dask
        import dask.dataframe as dd

        frame = dd.read_parquet(files, columns=NAMES)
        parts = [dask.delayed(lambda one: cross_products(one.to_numpy()))(one) for one in frame.to_delayed()]
        return solved(dask.compute(*parts, scheduler="threads"))

    def pyarrow_batches() -> Array:
        def moments() -> Iterable[Array]:
            for path in sorted(folder.iterdir()):
                with pq.ParquetFile(path, pre_buffer=True) as file:
                    for batch in file.iter_batches(131_072, columns=NAMES):
                        yield cross_products(batch_columns(batch))

        return solved(moments())

    return [
        Contender("polars, whole", polars_whole, repeats=2, optional="polars"),
        Contender("polars, in batches", polars_batches, repeats=2, optional="polars"),
        Contender("DuckDB, sums in SQL", duckdb_sql, repeats=1, optional="duckdb"),
        Contender("DuckDB, Arrow batches", duckdb_batches, repeats=2, optional="duckdb"),
        Contender("Dask, threads", dask_partitions, repeats=1, optional="dask"),
        Contender("pyarrow and NumPy", pyarrow_batches, repeats=2),
    ]


def parquet_ols(quick: bool) -> Result:
    """Least squares on a directory of Parquet files, 10 000 000 rows of 20 columns."""
    n = 2_000_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as place:
        folder = write_parquet(Path(place) / "rows", n)
        return race("parquet_ols", f"{n} × {P}", [ours(folder), *parquet_peers(folder)], agree=1e-8, quick=quick)


class _Decoded:
    """What is asked of a chunk that is decoded for its own sake, whole as a fit takes it: how many rows it has."""

    takes_columns = True

    def __call__(self, chunk: Sized) -> int:
        return len(chunk)


def pyarrow_decoders(folder: Path) -> dict[str, Callable[[], Any]]:
    """The ways in which pyarrow itself decodes the columns, each on two threads."""
    files = sorted(folder.iterdir())

    def table() -> Any:
        return pq.read_table(folder, columns=NAMES)

    def row_groups() -> Any:
        def decoded(path: Path) -> None:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    file.read_row_group(group, NAMES, use_threads=False)

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(decoded, files))

    def batches() -> Any:
        for path in files:
            with pq.ParquetFile(path) as file:
                for _ in file.iter_batches(131_072, columns=NAMES):
                    pass

    return {"pyarrow, read_table": table, "pyarrow, row groups": row_groups, "pyarrow, batches": batches}


def parquet_decode(quick: bool) -> Result:
    """The same fit beside decoding alone: as pyarrow does it, and by the reader of the fit with nothing done after."""
    n = 2_000_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as place:
        folder = write_parquet(Path(place) / "rows", n)
        tables = file_tables(folder).select(NAMES)
        plain = pyarrow_decoders(folder)
        runs = {"linearly": ours(folder).run, **plain, "the reader alone": lambda: tables.reduce(_Decoded())}
        result = Result("parquet_decode", f"{n} × {P}", dict.fromkeys(runs, np.inf))
        for _ in range(3 if quick else 5):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                result.seconds[name] = min(result.seconds[name], time.perf_counter() - start)
        fit = result.seconds["linearly"]
        share = min(result.seconds[name] for name in plain) / fit
        alone = result.seconds["the reader alone"] / fit
        result.size += f", {share:.0%} of the speed of decoding by pyarrow, {alone:.0%} of that of the reader alone"
        return result


def csv_ols(quick: bool) -> Result:
    """Least squares on one CSV file, 2 000 000 rows of 20 columns."""
    n = 400_000 if quick else 2_000_000

    def polars_whole() -> Array:
        import polars as pl

        return solved([cross_products(pl.read_csv(path).select(NAMES).to_numpy(order="fortran"))])

    def polars_batches() -> Array:
        import polars as pl

        frames = pl.scan_csv(path).select(NAMES).collect_batches(maintain_order=False)
        return solved(cross_products(frame.to_numpy(order="fortran")) for frame in frames)

    def duckdb_batches() -> Array:
        import duckdb

        relation = duckdb.connect().sql(f"select {', '.join(NAMES)} from read_csv('{path}')")
        return solved(cross_products(batch_columns(batch)) for batch in pa.RecordBatchReader.from_stream(relation))

    def pyarrow_whole() -> Array:
        return solved(cross_products(batch_columns(batch)) for batch in csv.read_csv(path).to_batches())

    with tempfile.TemporaryDirectory() as place:
        path = write_csv(Path(place) / "rows.csv", n)
        peers = [
            Contender("polars, whole", polars_whole, repeats=2, optional="polars"),
            Contender("polars, in batches", polars_batches, repeats=2, optional="polars"),
            Contender("DuckDB, Arrow batches", duckdb_batches, repeats=2, optional="duckdb"),
            Contender("pyarrow and NumPy", pyarrow_whole, repeats=2),
        ]
        return race("csv_ols", f"{n} × {P}", [ours(path), *peers], agree=1e-8, quick=quick)


_FITS = {
    "LinearRegression": ("y", "{}"),
    "LinearDiscriminantAnalysis": ("label", "{}"),
    "LogisticRegression": ("label", "{}"),
    "Perceptron": ("label", "{'max_passes': 2, 'shuffle': False}"),
}

_FIT = """
import sys, time, linearly as ly
folder, name, target, options = sys.argv[1:]
features = [f"x{j}" for j in range(20)]
start = time.perf_counter()
getattr(ly, name)(**eval(options)).fit(ly.scan(folder, target=target, features=features))
taken = time.perf_counter() - start
print(taken, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def files_memory(quick: bool) -> Result:
    """Peak memory of four fits on a Parquet directory of n, 2n and 4n rows (3 GB): under 600 MB, and flat."""
    files = {"n": 1, "2n": 2, "4n": 4} if quick else {"n": 5, "2n": 10, "4n": 20}
    result = Result("files_memory", f"{files['4n']} million × {P} = 4n")
    with tempfile.TemporaryDirectory() as place:
        folder = write_parquet(Path(place) / "one", _PART)
        for size, count in files.items():
            (Path(place) / size).mkdir()
            for k in range(count):
                os.link(folder / "000.parquet", Path(place) / size / f"{k:03}.parquet")
        for name, (target, options) in _FITS.items():
            for size in files:
                command = [sys.executable, "-W", "ignore", "-c", _FIT, f"{place}/{size}", name, target, options]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                seconds, peak = map(float, done.stdout.split())
                result.seconds[f"{name} {size}"], result.extra_mb[f"{name} {size}"] = seconds, peak / 1024
            peaks = [result.extra_mb[f"{name} {size}"] for size in files]
            if max(peaks) > 600 or peaks[-1] - peaks[0] > 64:
                raise AssertionError(f"files_memory: {name} takes {peaks} MB at n, 2n, 4n")
    return result


WORKLOADS = [parquet_ols, parquet_decode, csv_ols, files_memory]
