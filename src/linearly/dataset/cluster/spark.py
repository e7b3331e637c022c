"""Rows on Spark: the partitions of a DataFrame, reduced in its executors.

`mapInArrow` sends the function to each partition, where it is applied to chunks of up to 65,536 rows. Each partition
returns one summary. The summaries of many partitions are added in the executors, sixteen neighbours at a time, and the
last few here.

Every pass computes the DataFrame again. If that is expensive, or if a shuffle may distribute rows differently each
time, call ``frame.persist()`` first, so that models with several passes see the same rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext, cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DecimalType, StructField, StructType

from linearly.dataset.cluster.partitions import (
    UNKNOWN,
    PartitionOffsets,
    ReducePartition,
    after,
    capture_error,
    merge_pairwise,
    merge_results,
    not_empty,
    raise_workers_lack_package,
    unwrap_result,
)
from linearly.dataset.files.writers import as_arrow
from linearly.dataset.rows.block import RowOrigin
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.blas_threads import single_threaded_blas

S = TypeVar("S")

_ROWS = 2**16  # in a chunk
_GROUP = 16  # summaries that are merged in one task: four levels of the tree
_FEW = 64  # summaries that may come here
_RESULT_SCHEMA = "partition int, rows long, answer binary"


class SparkTables(Tables):
    """A Spark DataFrame with its partitions in order; `whole` is the DataFrame with all columns.

    Spark may deal rows out to partitions differently for each selection of columns, so their order is unrelated to
    which row is which: answers for rows are columns beside them.
    """

    ordered = False

    def __init__(self, frame: Any, whole: Any = None) -> None:
        if ".connect." in type(frame).__module__:
            raise TypeError(
                "This DataFrame is from Spark Connect, which does not expose partitions. Use a SparkSession."
            )
        self.whole = frame if whole is None else whole
        decimals = {f.name for f in frame.schema.fields if isinstance(f.dataType, DecimalType)}
        self.frame = frame.withColumns({name: sql.col(_quoted(name)).cast("double") for name in decimals})
        self._arrow = to_arrow_schema(self.frame.schema)
        self.schema = dict(nw.from_native(self._arrow.empty_table(), eager_only=True).schema)
        self._starts = PartitionOffsets(self._lengths)
        # `mapInArrow` looks its columns up by name, and takes a dot for a field of a struct: they travel by number.
        self._numbered = self.frame.toDF(*map(str, range(len(self._arrow))))

    @cached_property
    def n_partitions(self) -> int:
        """Return the number of partitions."""
        return int(self.frame.rdd.getNumPartitions())

    def select(self, columns: Sequence[str]) -> SparkTables:
        return SparkTables(self.frame.select(*map(_quoted, columns)), self.whole)

    def with_predictions(
        self, f: Callable[[Chunk], NDArray[Any]], kinds: Mapping[str, NDArray[Any]], keep: Sequence[str] = ()
    ) -> Any:
        """Return the whole DataFrame, or some columns of it, with the results of f per row.

        ``kinds`` are the names of the answers, with examples of them.
        """
        kept = list(keep) or self.whole.columns
        twice = next((name for name in kinds if name in kept), None)
        if twice is not None:
            raise ValueError(
                f"Column {twice!r} already exists in the DataFrame. Rename it, or name the columns to keep: keep=[...]."
            )
        casts = [sql.col(_quoted(field.name)).cast(field.dataType) for field in self.frame.schema]
        sent = self.whole.select(*map(_quoted, kept), *casts)
        sent = sent.toDF(*map(str, range(len(sent.columns))))
        types = [as_arrow(kind).type for kind in kinds.values()]
        fields = [*(field.dataType for field in sent.schema[: len(kept)]), *map(from_arrow_type, types)]
        schema = StructType([StructField(str(i), kind) for i, kind in enumerate(fields)])
        task = _PredictTask(cloudpickle.dumps(f), to_arrow_schema(sent.schema), self._arrow.names, types)
        return sent.mapInArrow(task, schema).toDF(*kept, *kinds)

    def __iter__(self) -> Iterator[Chunk]:
        return not_empty(self._in_order())

    def _in_order(self) -> Iterator[Chunk]:
        # One job a partition, when its turn comes: only its rows are ever here.
        start, before, at = 0, 0, -1
        for row in self._numbered.mapInArrow(_PackTask(self._arrow), _RESULT_SCHEMA).toLocalIterator():
            before = 0 if row.partition != at else before
            at = row.partition
            table = pa.ipc.open_stream(bytes(row.answer)).read_all()
            yield Chunk(nw.from_native(table, eager_only=True), start, RowOrigin(f"partition {at}", before))
            start, before = start + len(table), before + len(table)

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        value: S = self.reduce_partitions(ReducePartition(f))
        return value

    def reduce_partitions(self, f: Callable[[Iterable[Chunk]], S]) -> S:
        """Return the sum of f over the partitions, each given as its chunks in order."""
        task = cloudpickle.dumps(f)
        value: S = self._starts(lambda: self._reduced(task))
        return value

    def _reduced(self, task: bytes) -> Any:
        n = self.n_partitions
        starts = [self._starts.of(k) for k in range(n)] if self._starts.known else None
        answers = self._numbered.mapInArrow(_ReduceTask(task, starts, self._arrow), _RESULT_SCHEMA)
        while n > _FEW:
            group = sql.floor(sql.col("partition") / _GROUP).cast("int")
            answers = answers.groupBy(group.alias("group")).applyInArrow(_merged, _RESULT_SCHEMA)
            n = -(-n // _GROUP)
        found = sorted(_run(answers), key=lambda row: row.partition)
        total = (
            unwrap_result(merge_pairwise([pickle.loads(row.answer) for row in found], merge_results)) if found else None
        )
        if not any(row.rows for row in found):
            raise ValueError("The Spark DataFrame has column names but no rows. Pass a DataFrame with rows.")
        return total

    def _lengths(self) -> list[int]:
        found = {row.partition: row.rows for row in _run(self._numbered.mapInArrow(_counted, _RESULT_SCHEMA))}
        return [found.get(k, 0) for k in range(self.n_partitions)]


def _quoted(name: str) -> str:
    # A dot in a plain name would mean a field of a struct.
    return "`" + name.replace("`", "``") + "`"


def _run(frame: Any) -> list[Any]:
    try:
        return list(frame.collect())
    except Exception as failure:
        if "No module named 'linearly" in str(failure):
            raise_workers_lack_package("Spark", failure)
        if isinstance(failure, PythonException) and "PYTHON_VERSION_MISMATCH" in str(failure):
            raise_workers_lack_package("Spark", failure)
        raise


# --- what runs in the executors -------------------------------------------------------------------


class _ReduceTask:
    """A task that applies a pickled function to a partition."""

    def __init__(self, task: bytes, starts: list[int] | None, schema: Any) -> None:
        self.task, self.starts, self.schema = task, starts, schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        k, rows = _partition(), 0
        start = UNKNOWN if self.starts is None else self.starts[k]

        def seen() -> Iterator[Any]:
            nonlocal rows
            for batch in batches:
                rows += len(batch)
                yield batch

        value = capture_error(lambda: pickle.loads(self.task)(_chunks(seen(), self.schema, k, start)))
        yield from _table(k, rows, pickle.dumps(value, protocol=5)).to_batches()


def _merged(key: tuple[Any, ...], table: Any) -> Any:
    rows = sorted(table.to_pylist(), key=lambda row: row["partition"])
    total = merge_pairwise([pickle.loads(row["answer"]) for row in rows], merge_results)
    return _table(int(key[0].as_py()), sum(row["rows"] for row in rows), pickle.dumps(total, protocol=5))


def _counted(batches: Iterator[Any]) -> Iterator[Any]:
    yield from _table(_partition(), sum(len(batch) for batch in batches), b"").to_batches()


class _PackTask:
    """A task that returns the rows of a partition, some at a time."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        k = _partition()
        for table in _cut(batches, self.schema):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            yield from _table(k, len(table), sink.getvalue().to_pybytes()).to_batches()


class _PredictTask:
    """A task that returns some columns of a partition with the results of a pickled function."""

    def __init__(self, task: bytes, schema: Any, needed: list[str], types: list[Any]) -> None:
        self.task, self.schema, self.needed, self.types = task, schema, needed, types

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        f, kept, before = pickle.loads(self.task), len(self.schema) - len(self.needed), 0
        for table in _cut(batches, self.schema):
            if not len(table):
                continue
            needed = table.select(list(range(kept, len(self.schema)))).rename_columns(self.needed)
            place = RowOrigin(f"partition {_partition()}", before)
            with single_threaded_blas():
                found = f(Chunk(nw.from_native(needed, eager_only=True), 0, place))
            answers = map(as_arrow, found.T if found.ndim == 2 else [found])
            columns = [*table.columns[:kept], *(one.cast(kind) for one, kind in zip(answers, self.types, strict=True))]
            yield from pa.table(columns, names=[str(i) for i in range(len(columns))]).to_batches()
            before += len(table)


def _chunks(batches: Iterator[Any], schema: Any, k: int, start: int) -> Iterator[Chunk]:
    before = 0
    for table in _cut(batches, schema):
        place = RowOrigin(f"partition {k}", before)
        yield Chunk(nw.from_native(table, eager_only=True), after(start, before), place)
        before += len(table)


def _cut(batches: Iterator[Any], schema: Any) -> Iterator[Any]:
    """Yield tables of 65,536 rows from batches of any size, so that results do not depend on a setting of Spark.

    The columns get the names of the schema.
    """
    waiting: list[Any] = []
    rows, some = 0, False
    for batch in batches:
        while len(batch):
            part = batch.slice(0, _ROWS - rows)
            waiting.append(part)
            rows, batch = rows + len(part), batch.slice(len(part))
            if rows == _ROWS:
                yield pa.Table.from_batches(waiting).rename_columns(schema.names)
                waiting, rows, some = [], 0, True
    if rows or not some:
        yield pa.Table.from_batches(waiting, None if waiting else schema).rename_columns(schema.names)


def _partition() -> int:
    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _table(k: int, rows: int, answer: bytes) -> Any:
    columns = [pa.array([k], pa.int32()), pa.array([rows], pa.int64()), pa.array([answer], pa.binary())]
    return pa.table(columns, names=["partition", "rows", "answer"])
