"""Rows on Spark: the partitions of a DataFrame, folded in its executors.

The function goes to each partition with `mapInArrow`, is applied there to stretches of up to 65,536 rows, and one
summary a partition comes out. Where there are many partitions their summaries are added up in the executors, sixteen
neighbours at a time, and the last few here.

A DataFrame is computed anew in every pass. Where that is dear, or where it comes out of a shuffle, whose rows Spark may
deal out differently the next time, ``frame.persist()`` first: models that take several passes then see the same rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DecimalType

from linearly.dataset.elsewhere import (
    UNKNOWN,
    Each,
    Starts,
    after,
    answer,
    not_empty,
    pairs,
    plus,
    refuse_workers,
    told,
)
from linearly.dataset.rows import Place
from linearly.dataset.tables import Chunk

S = TypeVar("S")

_ROWS = 2**16  # in a chunk
_GROUP = 16  # summaries that are merged in one task: four levels of the tree
_FEW = 64  # summaries that may come here
_ANSWER = "partition int, answer binary"


class SparkTables:
    """A Spark DataFrame, its partitions in order."""

    def __init__(self, frame: Any) -> None:
        if ".connect." in type(frame).__module__:
            raise TypeError(
                "This DataFrame is of Spark Connect, which does not tell its partitions: use a SparkSession."
            )
        decimals = {f.name for f in frame.schema.fields if isinstance(f.dataType, DecimalType)}
        self.frame = frame.withColumns({name: sql.col(_quoted(name)).cast("double") for name in decimals})
        self._arrow = to_arrow_schema(self.frame.schema)
        self.schema = dict(nw.from_native(self._arrow.empty_table(), eager_only=True).schema)
        self._starts = Starts(self._lengths)
        # `mapInArrow` looks its columns up by name, and takes a dot for a field of a struct: they travel by number.
        self._numbered = self.frame.toDF(*map(str, range(len(self._arrow))))

    @cached_property
    def n_partitions(self) -> int:
        """How many partitions there are."""
        return int(self.frame.rdd.getNumPartitions())

    def select(self, columns: Sequence[str]) -> SparkTables:
        return SparkTables(self.frame.select(*map(_quoted, columns)))

    def __iter__(self) -> Iterator[Chunk]:
        return not_empty(self._in_order())

    def _in_order(self) -> Iterator[Chunk]:
        # One job a partition, when its turn comes: only its rows are ever here.
        start, before, at = 0, 0, -1
        for row in self._numbered.mapInArrow(_Pack(self._arrow), _ANSWER).toLocalIterator():
            before = 0 if row.partition != at else before
            at = row.partition
            table = pa.ipc.open_stream(bytes(row.answer)).read_all()
            yield Chunk(nw.from_native(table, eager_only=True), start, Place(f"partition {at}", before))
            start, before = start + len(table), before + len(table)

    def fold(self, f: Callable[[Chunk], S]) -> S:
        value: S = self.fold_partitions(Each(f))
        return value

    def fold_partitions(self, f: Callable[[Iterable[Chunk]], S]) -> S:
        """The sum of f over the partitions, each given as its chunks in order."""
        task = cloudpickle.dumps(f)
        value: S = self._starts(lambda: self._folded(task))
        return value

    def _folded(self, task: bytes) -> Any:
        n = self.n_partitions
        starts = [self._starts.of(k) for k in range(n)] if self._starts.known else None
        answers = self._numbered.mapInArrow(_Fold(task, starts, self._arrow), _ANSWER)
        while n > _FEW:
            group = sql.floor(sql.col("partition") / _GROUP).cast("int")
            answers = answers.groupBy(group.alias("group")).applyInArrow(_merged, _ANSWER)
            n = -(-n // _GROUP)
        found = sorted(_run(answers), key=lambda row: row.partition)
        return told(pairs([pickle.loads(row.answer) for row in found], plus))

    def _lengths(self) -> list[int]:
        found = {
            row.partition: int.from_bytes(row.answer) for row in _run(self._numbered.mapInArrow(_counted, _ANSWER))
        }
        return [found.get(k, 0) for k in range(self.n_partitions)]


def _quoted(name: str) -> str:
    # A dot in a plain name would mean a field of a struct.
    return "`" + name.replace("`", "``") + "`"


def _run(frame: Any) -> list[Any]:
    try:
        return list(frame.collect())
    except Exception as failure:
        if "No module named 'linearly" in str(failure):
            refuse_workers("Spark", failure)
        if isinstance(failure, PythonException) and "PYTHON_VERSION_MISMATCH" in str(failure):
            refuse_workers("Spark", failure)
        raise


# --- what runs in the executors -------------------------------------------------------------------


class _Fold:
    """A task: the pickled function of a partition, applied to it."""

    def __init__(self, task: bytes, starts: list[int] | None, schema: Any) -> None:
        self.task, self.starts, self.schema = task, starts, schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        k = _partition()
        start = UNKNOWN if self.starts is None else self.starts[k]
        value = answer(lambda: pickle.loads(self.task)(_chunks(batches, self.schema, k, start)))
        yield from _table(k, pickle.dumps(value, protocol=5)).to_batches()


def _merged(key: tuple[Any, ...], table: Any) -> Any:
    rows = sorted(table.to_pylist(), key=lambda row: row["partition"])
    total = pairs([pickle.loads(row["answer"]) for row in rows], plus)
    return _table(int(key[0].as_py()), pickle.dumps(total, protocol=5))


def _counted(batches: Iterator[Any]) -> Iterator[Any]:
    yield from _table(_partition(), sum(len(batch) for batch in batches).to_bytes(8)).to_batches()


class _Pack:
    """A task: the rows of a partition as they are, a stretch at a time."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        k = _partition()
        for table in _cut(batches, self.schema):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            yield from _table(k, sink.getvalue().to_pybytes()).to_batches()


def _chunks(batches: Iterator[Any], schema: Any, k: int, start: int) -> Iterator[Chunk]:
    before = 0
    for table in _cut(batches, schema):
        place = Place(f"partition {k}", before)
        yield Chunk(nw.from_native(table, eager_only=True), after(start, before), place)
        before += len(table)


def _cut(batches: Iterator[Any], schema: Any) -> Iterator[Any]:
    """Tables of 65,536 rows, whatever the size of Spark's batches: the bits must not hang on a setting.

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


def _table(k: int, answer: bytes) -> Any:
    return pa.table([pa.array([k], pa.int32()), pa.array([answer], pa.binary())], names=["partition", "answer"])
