"""Rows on Dask: arrays, data frames and bags of blocks, reduced by the workers that store them.

Every partition is one block. Its worker applies the function, neighbours are added up on the workers, and only the sum
comes here. A `distributed.Client` in use is used; without one Dask's threads are. A worker that dies takes nothing
with it: Dask does its partitions again, and the tree of merging does not depend on who did them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import cloudpickle
import dask
import narwhals.stable.v2 as nw
import numpy as np
from dask._task_spec import DataNode, Task, TaskRef
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from linearly.dataset.cluster.partitions import (
    PartitionOffsets,
    ReducePartition,
    after,
    capture_error,
    merge_pairwise,
    merge_results,
    not_empty,
    prediction_of_zeros,
    raise_workers_lack_package,
    unwrap_result,
)
from linearly.dataset.rows.array_checks import check_weight_range
from linearly.dataset.rows.block import (
    Block,
    InMemoryRows,
    RowOrigin,
    Rows,
    SingleBlockRows,
    as_frame,
    as_rows,
    check_integer_range,
    default_names,
    float_column,
)
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.blas_threads import single_threaded_blas

with suppress(ImportError):
    import distributed

    # Dask imports it while it optimizes an expression over Arrow's file system, and then restores its own settings:
    # those of `distributed` are lost, and every later computation ends in a KeyError.
    if dask.config.get("distributed", None) is None:
        dask.config.update_defaults(distributed.config.defaults)

S = TypeVar("S")

# What a partition is made into on its worker: (its number, its first row, the parts it consists of) → blocks.
LoadBlocks = Callable[..., list[Any]]


def dask_rows(X: Any, y: Any = None, weight: Any = None, *, labels: bool = False) -> DaskRows:
    """Return the rows of a Dask collection as `from_dask` describes; without ``labels``, y must be numbers."""
    if isinstance(X, (list, tuple)) or type(X).__name__ == "Bag":
        if y is not None or weight is not None:
            raise ValueError(
                "y and weight cannot be combined with a bag of blocks, which contain targets and "
                "weights. Leave y and weight out."
            )
        return _rows_of_blocks(X)
    what = "y", "sample_weight"
    for name, given in zip(what, (y, weight), strict=True):
        if given is not None and not hasattr(given, "to_delayed"):
            raise ValueError(
                f"X is on Dask but {name} is not. Pass {name} as a Dask array or series with the partitions of X."
            )
    X, names = _checked(X)
    load = partial(_block, names=names, labels=labels)
    if hasattr(X, "columns"):
        return DaskRows(_align_partitions(X, y, weight), names, load, None, y, narrow=X[[X.columns[0]]])
    lengths = X.chunks[0] if _known(X) else None
    return DaskRows(_align_partitions(X, y, weight), names, load, lengths, y)


def _checked(X: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a data frame, or an array with one chunk of columns, and the names of its columns."""
    if hasattr(X, "columns"):
        as_rows(X._meta)  # refuses what is not numeric by name
        return X, tuple(map(str, X.columns))
    if not hasattr(X, "chunks"):
        raise TypeError(
            f"Dask rows must be an array, a data frame or a bag of blocks, not {type(X).__name__}. Convert "
            "them to one of these."
        )
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), not {X.ndim}. Reshape your data.")
    if X.shape[1] == 0 or X.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) or feature(s) (shape={X.shape}). Pass at least one row and one column."
        )
    return X.rechunk({1: -1}), default_names(X.shape[1])


def dask_predictions(X: Any, predict: Callable[[Rows], NDArray[Any]], labels: Callable[[int], Sequence[Any]]) -> Any:
    """Return an estimator's predictions for the rows of X as a lazy Dask collection.

    An array has the chunks of X, a series or data frame its partitions and its index.
    """
    X, names = _checked(X)
    example = prediction_of_zeros(predict, names)
    sent = {"predict": predict, "names": names, "none": example[:0]}
    if hasattr(X, "divisions"):
        import pandas as pd

        index, none = X._meta.index, example[:0]
        columns = None if none.ndim == 1 else list(labels(none.shape[1]))
        meta = (
            pd.Series(none, index) if columns is None else pd.DataFrame(dict(zip(columns, none.T, strict=True)), index)
        )
        return X.map_partitions(_predict_frame, **sent, like=meta, meta=meta, enforce_metadata=False)
    shape = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (X.chunks[0], (example.shape[1],))}
    return X.map_blocks(_predict_array, **sent, **shape, dtype=example.dtype, meta=example[:0])


def _rows_of_blocks(blocks: Any) -> DaskRows:
    parts = list(blocks) if isinstance(blocks, (list, tuple)) else list(blocks.to_delayed())
    if not parts:
        raise ValueError("The collection contains no rows to reduce. Pass one with at least one row.")
    first: list[Any] = next((found for part in parts if (found := _as_list(_run(part)))), [])
    if not first or not isinstance(first[0], Block):
        raise TypeError(
            "The bag of rows must contain linearly blocks, not "
            f"{type(first[0]).__name__ if first else 'nothing'}. Map each partition to a block first."
        )
    names = first[0].names or default_names(first[0].X.shape[1])
    none = replace(first[0], X=first[0].X[:0], y=None if first[0].y is None else first[0].y[:0], weight=None)
    return DaskRows([(part,) for part in parts], names, partial(_blocks, names=names, none=none), None, first[0].y)


class DaskRows(Rows):
    """Rows in partitions on Dask. Each partition is one block; a partition of a bag may have several."""

    def __init__(
        self,
        parts: Sequence[tuple[Any, ...]],
        names: tuple[str, ...],
        load: LoadBlocks,
        lengths: Sequence[int] | None = None,
        y: Any = None,
        narrow: Any = None,
    ) -> None:
        self.names, self.y = names, y
        self._partitions = _Partitions(parts, load, lengths, narrow)

    @property
    def n_partitions(self) -> int:
        """Return the number of partitions."""
        return len(self._partitions)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._partitions)

    def reduce(self, f: Callable[[Block], S]) -> S:
        value: S = self._partitions.reduce(ReducePartition(f))
        return value

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """Return the sum of f over the partitions, each given as its blocks in order."""
        return self._partitions.reduce(f)


class DaskTables(Tables):
    """A Dask data frame, one chunk per partition."""

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "columns"):
            raise TypeError(
                f"Column names require a Dask data frame, not a Dask {type(frame).__name__}. Pass a data frame."
            )
        if not all(isinstance(name, str) for name in frame.columns):
            frame = frame.copy()
            frame.columns = list(map(str, frame.columns))  # as for frames in memory
        self.frame = frame
        self.schema = dict(as_frame(frame._meta).schema)
        self._cut: _Partitions | None = None

    @property
    def n_partitions(self) -> int:
        """Return the number of partitions."""
        return int(self.frame.npartitions)

    def select(self, columns: Sequence[str]) -> DaskTables:
        return DaskTables(self.frame[list(columns)])

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self._partitions())

    def reduce(self, f: Callable[[Chunk], S]) -> S:
        value: S = self._partitions().reduce(ReducePartition(f))
        return value

    def reduce_partitions(self, f: Callable[[Iterable[Chunk]], S]) -> S:
        """Return the sum of f over the partitions, each given as its chunks in order."""
        return self._partitions().reduce(f)

    def with_predictions(
        self, f: Callable[[Chunk], NDArray[Any]], kinds: Mapping[str, NDArray[Any]], keep: Sequence[str] = ()
    ) -> Any:
        """Return a data frame of some columns and the results of f per row, with the same partitions and index.

        ``kinds`` are the names of the answers, with examples of them. A single one without columns is a series.
        """
        columns, answers = list(keep), {name: kind[:0] for name, kind in kinds.items()}
        meta = self.frame._meta[columns].assign(**answers)
        found = self.frame.map_partitions(
            _predict_chunk, f=f, keep=columns, like=meta, meta=meta, enforce_metadata=False
        )
        return found if columns or len(answers) > 1 else found[next(iter(answers))]

    def _partitions(self) -> _Partitions:
        if self._cut is None:
            one = self.frame[[self.frame.columns[0]]] if len(self.frame.columns) else self.frame
            self._cut = _Partitions([(part,) for part in _parts(self.frame)], _chunk, None, one)
        return self._cut


class _Partitions:
    def __init__(
        self,
        parts: Sequence[tuple[Any, ...]],
        load: LoadBlocks,
        lengths: Sequence[int] | None = None,
        narrow: Any = None,
    ) -> None:
        self.parts, self.load, self.narrow = parts, load, narrow
        self.starts = PartitionOffsets(self._count, lengths)

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return not_empty(self._in_order())

    def _in_order(self) -> Iterator[Any]:
        start = 0
        for k, parts in enumerate(self.parts):
            for block in _run(dask.delayed(self.load, pure=False)(k, start, *parts)):
                yield block
                start += len(block)

    def reduce(self, f: Callable[[Iterable[Any]], S]) -> S:
        task = cloudpickle.dumps(f)
        value: S = self.starts(lambda: unwrap_result(_run(self._graph(task))))
        return value

    def _graph(self, task: bytes) -> Delayed:
        # Written out by hand: the same graph by `dask.delayed` takes twice the time at 4096 partitions.
        name = f"linearly-reduce-{uuid4().hex}"
        sent = (name, "task")
        graph: dict[Any, Any] = {sent: DataNode(sent, task)}
        leaves = []
        for k, parts in enumerate(self.parts):
            key = (name, 0, k)
            own = (TaskRef(part.key) for part in parts)
            graph[key] = Task(key, _leaf, TaskRef(sent), self.load, k, self.starts.of(k), *own)
            leaves.append(key)

        def merge(a: Any, b: Any) -> Any:
            key = (name, a[1] + 1, a[2] // 2)
            graph[key] = Task(key, merge_results, TaskRef(a), TaskRef(b))
            return key

        root = merge_pairwise(leaves, merge)
        needed = [part for parts in self.parts for part in parts]
        return Delayed(root, HighLevelGraph.from_collections(name, graph, dependencies=needed), layer=name)

    def _count(self) -> list[int]:
        # One column is enough to count the rows, unless a filter has left the parts of it cut otherwise.
        narrow = [] if self.narrow is None else [(part,) for part in _parts(self.narrow)]
        return _lengths(narrow if len(narrow) == len(self.parts) else self.parts)


def _run(delayed: Any) -> Any:
    try:
        return delayed.compute()
    except ModuleNotFoundError as failure:
        if (failure.name or "").partition(".")[0] == "linearly":
            raise_workers_lack_package("Dask", failure)
        raise


class PartitionColumns(NamedTuple):
    """The rows of a partition of X, with their targets and weights if there are any."""

    X: Any
    y: Any = None
    weight: Any = None


def _align_partitions(X: Any, y: Any, weight: Any) -> list[tuple[Any, ...]]:
    """Return the parts of each partition: all in one, or those of X, of y and of the weights."""
    named = {name: one for name, one in (("y", y), ("weight", weight)) if one is not None}
    if all(hasattr(one, "divisions") and one.npartitions == X.npartitions for one in (X, *named.values())):
        # One expression for X, y and weights, so that a file is read once.
        whole = X.map_partitions(
            _partition_columns, *named.values(), names=tuple(named), align_dataframes=False, enforce_metadata=False,
            meta=("columns", object),
        ) if named else X  # fmt: skip
        return [(part,) for part in _parts(whole)]
    columns = [_parts(X)]
    for name, given in (("y", y), ("sample_weight", weight)):
        if given is None:
            columns.append([_NOTHING] * len(columns[0]))
            continue
        if _known(X) and _known(given):
            _refuse_lengths(name, sum(given.chunks[0]), sum(X.chunks[0]))
            given = given.rechunk({0: X.chunks[0], **dict.fromkeys(range(1, given.ndim), -1)})
        parts = _parts(given)
        if len(parts) != len(columns[0]):
            if hasattr(X, "divisions") != hasattr(given, "divisions"):
                raise ValueError(
                    f"{name} has {len(parts)} partitions, but X has {len(columns[0])}. Repartition or rechunk "
                    "both in the same way. Or pass both as arrays, or as columns of one data frame."
                )
            parts = _recut(name, parts, columns[0])
        columns.append(parts)
    return list(zip(*columns, strict=True))


def _refuse_lengths(name: str, given: int, rows: int) -> None:
    if given != rows:
        raise ValueError(
            f"X and {name} have inconsistent numbers of samples: {name} has {given} rows, but X has {rows}. Pass one "
            "value per row of X."
        )


def _recut(name: str, parts: list[Any], own: list[Any]) -> list[Any]:
    """Return y or the weights cut into the partitions of X; Dask's optimizer cuts columns of one frame differently.

    Row i belongs to row i of X. Where both have an index, a worker compares them.
    """
    lengths = _lengths([(part,) for part in (*parts, *own)])
    theirs, ours = lengths[: len(parts)], lengths[len(parts) :]
    _refuse_lengths(name, sum(theirs), sum(ours))
    edges = list(pairwise(accumulate(theirs, initial=0)))
    found = []
    for k, (start, stop) in enumerate(pairwise(accumulate(ours, initial=0))):
        overlaps = [
            (i, max(start, a) - a, min(stop, b) - a) for i, (a, b) in enumerate(edges) if a < stop and b > start
        ]
        overlaps = overlaps or [(0, 0, 0)]
        pieces = [parts[i] for i, _, _ in overlaps]
        found.append(dask.delayed(_join_pieces, pure=False)(own[k], name, k, [cut for _, *cut in overlaps], pieces))
    return found


def _known(collection: Any) -> bool:
    return hasattr(collection, "chunks") and not any(n != n for n in collection.chunks[0])


def _parts(collection: Any) -> list[Any]:
    """Return the partitions of a collection as it is cut, whatever columns are selected.

    Dask's optimizer would join partitions of few columns: X and y of one frame no longer had the same ones, nor had the
    columns of two passes. Simplifying leaves the partitions alone, and reads no column that is not needed.
    """
    if not hasattr(collection, "divisions"):
        return list(np.ravel(collection.to_delayed()).tolist())
    parts = list(collection.simplify().to_delayed(optimize_graph=False))
    _refuse_lost(parts)
    return parts


def _refuse_lost(parts: list[Delayed]) -> None:
    """Raise if Dask has lost partitions, as it may when it joins those of Parquet files and persists."""
    graph = dict(parts[0].__dask_graph__()) if parts else {}
    lost = any(part.key not in graph for part in parts)
    if lost or any(not graph.keys() >= getattr(task, "dependencies", set()) for task in graph.values()):
        raise ValueError(
            "Dask lost partitions of a data frame when it persisted it. Persist it within "
            'dask.config.set({"optimization.tune.active": False}).'
        )


_NOTHING = dask.delayed(None, name="linearly-nothing")


# --- what runs on the workers ---------------------------------------------------------------------


def _leaf(task: bytes, load: LoadBlocks, k: int, start: int, *parts: Any) -> Any:
    return capture_error(lambda: cloudpickle.loads(task)(load(k, start, *parts)))


def _predict_chunk(
    frame: Any, *, f: Callable[[Chunk], NDArray[Any]], keep: list[str], like: Any, partition_info: Any = None
) -> Any:
    if not len(frame):
        return like
    with single_threaded_blas():
        found = f(_chunk(partition_info["number"], 0, frame)[0])
    columns = found.T if found.ndim == 2 else [found]
    answers = dict(zip(like.columns[len(keep) :], columns, strict=True))
    kinds = {name: like.dtypes[name] for name in answers}
    return frame[keep].assign(**answers).astype(kinds)


def _predict_frame(X: Any, *, like: Any, partition_info: Any = None, **sent: Any) -> Any:
    found = _predict_block(partition_info["number"], X, **sent)
    return type(like)(found, index=X.index, **({"columns": like.columns} if found.ndim == 2 else {}))


def _predict_array(X: Any, *, block_id: Any = None, **sent: Any) -> NDArray[Any]:
    return _predict_block(block_id[0], X, **sent)


def _predict_block(
    k: int, X: Any, *, predict: Callable[[Rows], NDArray[Any]], names: tuple[str, ...], none: NDArray[Any]
) -> NDArray[Any]:
    if not len(X):
        return none
    with single_threaded_blas():
        return predict(SingleBlockRows(_block(k, 0, X, names=names, labels=False)[0]))


def _chunk(k: int, start: int, frame: Any) -> list[Chunk]:
    return [Chunk(nw.from_native(frame, eager_only=True), start, RowOrigin(f"partition {k}"))]


def _partition_columns(X: Any, *others: Any, names: tuple[str, ...]) -> PartitionColumns:
    return PartitionColumns(X, **dict(zip(names, others, strict=True)))


def _join_pieces(X: Any, name: str, k: int, cuts: list[list[int]], parts: list[Any]) -> Any:
    pieces = [getattr(part, "iloc", part)[start:stop] for part, (start, stop) in zip(parts, cuts, strict=True)]
    if not hasattr(X, "index"):
        return np.concatenate(pieces)
    import pandas as pd

    joined = pd.concat(pieces)
    if not joined.index.equals(X.index):
        raise ValueError(
            f"{name} and X have different partitions and different indexes in partition {k}. Take both from one data "
            "frame, or repartition them in the same way."
        )
    return joined


def _block(
    k: int, start: int, X: Any, y: Any = None, weight: Any = None, *, names: tuple[str, ...], labels: bool
) -> list[Block]:
    if isinstance(X, PartitionColumns):
        X, y, weight = X
    place = RowOrigin(f"partition {k}")
    for name, given in (("y", y), ("sample_weight", weight)):
        if given is not None and len(given) != X.shape[0]:
            raise ValueError(
                f"X and {name} have inconsistent numbers of samples: {name} has {len(given)} rows in partition {k}, "
                f"but X has {X.shape[0]}. Pass one value per row of X."
            )
    local = as_rows(X, names=names)
    assert isinstance(local, InMemoryRows)
    block = replace(local.block(0, len(local)), start=start, place=place)
    target = None if y is None else np.asarray(y) if labels else _numbers(y, k)
    return [replace(block, y=target, weight=None if weight is None else _weights(weight, place))]


def _numbers(y: Any, k: int) -> NDArray[np.float64]:
    if hasattr(y, "dtype") and not isinstance(y, np.ndarray):
        column = nw.from_native(y, series_only=True)
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            raise ValueError(f"The target y is {column.dtype}, not numeric, in partition {k}. Use a classifier.")
        return float_column(column, RowOrigin(f"partition {k}").where)
    values = np.asarray(y)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"The target y is {values.dtype}, not numeric, in partition {k}. Use a classifier.")
    if values.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, not {values.ndim}. Pass one value per row.")
    check_integer_range(values if values.ndim == 2 else values[:, None], RowOrigin(f"partition {k}").where, "y")
    return values.astype(np.float64)


def _weights(weight: Any, place: RowOrigin) -> NDArray[np.float64]:
    values = np.ascontiguousarray(weight, dtype=np.float64)
    bad = ~(values >= 0) | np.isinf(values)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight has a negative or missing value in {place.where(i)}: {values[i]}. Make all weights at "
            "least 0."
        )
    check_weight_range(values, place.where, "sample_weight")
    return values


def _blocks(k: int, start: int, blocks: Any, *, names: tuple[str, ...], none: Block) -> list[Block]:
    found, seen = [], 0
    for block in _as_list(blocks) or [none]:
        place = RowOrigin(f"partition {k}", first=seen)
        found.append(replace(block, start=after(start, seen), names=names, place=place))
        seen += len(block)
    return found


def _as_list(blocks: Any) -> list[Block]:
    return [blocks] if isinstance(blocks, Block) else list(blocks)


def _length(X: Any, *_: Any) -> int:
    if isinstance(X, PartitionColumns):
        X = X.X
    if isinstance(X, (list, tuple, Block)):
        return sum(map(len, _as_list(X)))
    return int(X.shape[0])


def _lengths(parts: Iterable[tuple[Any, ...]]) -> list[int]:
    return list(dask.compute(*(dask.delayed(_length, pure=False)(*part) for part in parts)))
