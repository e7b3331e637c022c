"""Check that the same rows give the same model in any blocks, threads, files and clusters."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import linearly as ly
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.selftest import ProgressCallback, Result, list_faults, not_run
from linearly.selftest.reference_fits import CLASSIFICATION, FEATURES, REGRESSION, WITHIN, difference, fitted, numbers

S = TypeVar("S")

ONE_ROW_AFTER_ANOTHER = (ly.Perceptron(max_passes=4), ly.AveragedPerceptron(max_passes=4))
ADDED = (
    ly.LinearRegression(),
    ly.LinearRegression(alpha=1.0, method="qr"),
    ly.LinearDiscriminantAnalysis(),
    ly.QuadraticDiscriminantAnalysis(),
    ly.LeastSquaresClassifier(),
)


class CutRows(Rows):
    """In-memory rows in blocks that are cut anywhere."""

    def __init__(self, X: Any, y: Any = None, weight: Any = None, cuts: Iterable[int] = ()) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.names = tuple(f"x{j}" for j in range(X.shape[1]))
        self.edges = [0, *sorted(cuts), X.shape[0]]

    def _block(self, start: int, stop: int) -> Block:
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        return Block(self.X[start:stop], y, weight, start, self.names)

    def __iter__(self) -> Iterator[Block]:
        return (self._block(start, stop) for start, stop in pairwise(self.edges))

    def reduce(self, f: Callable[[Block], S]) -> S:
        """Return the sum of f over the blocks."""
        return reduce_blocks((partial(self._block, start, stop) for start, stop in pairwise(self.edges)), f)


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield the differences between threads, blockings, orders of merging, files and clusters."""
    steps = 7 if long else 4
    X, y, labels = data(600, 7)
    yield _threads(X, y, labels)
    yield _threads_on_many_rows()
    progress(1, steps)
    yield _blockings(X, y, labels, 40 if long else 4)
    progress(2, steps)
    yield _merged(X, y, labels, 40 if long else 10)
    progress(3, steps)
    yield _files(X, y, labels)
    progress(4, steps)
    if long:
        from linearly.selftest.clusters import killed_on_dask, on_dask, on_spark

        yield on_dask(X, y, labels)
        progress(5, steps)
        yield killed_on_dask()
        progress(6, steps)
        yield on_spark(X, y, labels)
        progress(7, steps)


def data(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return X, a numeric target, and two overlapping classes, in no order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(loc=[0.0, 5.0, -3.0], size=(n, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=n)
    return X, y, np.where(y + 10.5 + rng.normal(size=n) > 0, "yes", "no")


def same_bits(a: Any, b: Any, X: Any) -> bool:
    """Return whether all numbers of two models are equal."""
    return all(u.tobytes() == v.tobytes() for u, v in zip(numbers(a, X), numbers(b, X), strict=True))


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Use so many threads."""
    before = os.environ.get("LINEARLY_NUM_THREADS")
    os.environ["LINEARLY_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LINEARLY_NUM_THREADS"]
        else:
            os.environ["LINEARLY_NUM_THREADS"] = before


def estimators_with_targets(y: Any, labels: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every estimator and its target."""
    yield from ((model, y) for model in REGRESSION)
    yield from ((model, labels) for model in (*CLASSIFICATION, *ONE_ROW_AFTER_ANOTHER))


def _threads(X: Any, y: Any, labels: Any) -> Result:
    models = list(estimators_with_targets(y, labels))
    cuts = range(37, len(X), 37)
    other = [repr(model) for model, target in models if _depends_on_threads(model, X, CutRows(X, target, cuts=cuts))]
    return _bits_result(f"{len(cuts) + 1} blocks on 1 and 2 threads, {len(models)} estimators", other, len(models))


def _threads_on_many_rows() -> Result:
    X, y, labels = data(150_000, 8)
    models = (
        (ly.LinearRegression(covariance="HC1"), y),
        (ly.LogisticRegression(), labels),
        (ly.LinearDiscriminantAnalysis(), labels),
    )
    other = [repr(model) for model, target in models if _depends_on_threads(model, X[:1000], X, target)]
    return _bits_result(f"{len(X):,} rows on 1 and 2 threads", other, len(models))


def _depends_on_threads(model: Any, X: Any, *rows: Any) -> bool:
    with on_threads(1):
        one = fitted(model, *rows)
    with on_threads(2):
        two = fitted(model, *rows)
    return not same_bits(one, two, X)


def _bits_result(what: str, other: list[str], fits: int) -> Result:
    figure = f"{len(other)} of {fits} fits differ in their bits{list_faults(other, between=', ')}"
    return Result(what, figure, "0", not other)


def _blockings(X: Any, y: Any, labels: Any, times: int) -> Result:
    rng = np.random.default_rng(9)
    worst = 0.0
    models = list(estimators_with_targets(y, labels))
    for model, target in models:
        whole = fitted(model, X, target)
        for _ in range(times):
            cuts = rng.integers(0, len(X) + 1, size=int(rng.integers(1, 40)))  # empty blocks too
            worst = max(worst, difference(fitted(model, CutRows(X, target, cuts=cuts.tolist())), whole, X))
    return _within(f"{times} random blockings × {len(models)} estimators", worst)


def _merged(X: Any, y: Any, labels: Any, times: int) -> Result:
    rng = np.random.default_rng(10)
    worst = 0.0
    for model in ADDED:
        target = y if isinstance(model, ly.LinearRegression) else labels
        whole = fitted(model, X, target)
        for _ in range(times):
            edges = [0, *sorted(rng.integers(40, len(X) - 40, size=3).tolist()), len(X)]
            parts = [fitted(model, X[a:b], target[a:b]) for a, b in pairwise(edges) if b - a > 20]
            if sum(b - a for a, b in pairwise(edges) if b - a > 20) < len(X):
                continue  # too few rows in a part for all its classes
            rng.shuffle(parts)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                total = parts[0]
                for part in parts[1:]:
                    total = total + part
            worst = max(worst, difference(total, whole, X))
    return _within(f"models of parts added in {times} random orders", worst)


def _within(what: str, worst: float) -> Result:
    return Result(what, f"largest difference {worst:.1e}", f"≤ {WITHIN:g}", worst <= WITHIN)


def _files(X: Any, y: Any, labels: Any) -> Result:
    what = "CSV, gzipped CSV, Parquet, Arrow, a directory"
    if find_spec("pyarrow") is None:
        return not_run(what, f"≤ {WITHIN:g}", "pyarrow: pip install 'linearly[files]'")
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="linearly-selftest-") as folder:
        for source in write_files(Path(folder), X, y, labels):
            for model, target in estimators_with_targets(y, labels):
                column = "y" if target is y else "label"
                away = fitted(model, ly.scan(str(source), target=column, features=list(FEATURES)))
                worst = max(worst, difference(away, fitted(model, X, target), X))
    return _within(what, worst)


def write_files(folder: Path, X: Any, y: Any, labels: Any) -> Iterator[Path]:
    """Write the table as files of several kinds, and yield their paths."""
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv, feather

    table = pa.table({**dict(zip(FEATURES, X.T, strict=True)), "y": y, "label": labels})
    csv.write_csv(table, folder / "t.csv")
    yield folder / "t.csv"
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    yield folder / "t.csv.gz"
    pq.write_table(table, folder / "t.parquet", row_group_size=90)
    yield folder / "t.parquet"
    feather.write_feather(table, folder / "t.arrow", chunksize=70)
    yield folder / "t.arrow"
    (folder / "parts").mkdir()
    for k, (start, stop) in enumerate(pairwise((0, 150, 151, 400, len(X)))):
        pq.write_table(table.slice(start, stop - start), folder / "parts" / f"{k}.parquet")
    yield folder / "parts"
