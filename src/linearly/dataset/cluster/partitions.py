"""Reduce and predict the partitions of rows on a cluster: what Dask and Spark share.

Rows are stored in partitions. A reduction sends a function to each partition and merges the results pairwise in the
tree of `MergeTree`. The bits are those of a local reduction over the same blocks, whatever the workers did and in
which order.

The number of rows before a partition is known only after a pass, and few functions need it. Blocks therefore have an
`UnknownOffset`. A function that uses it raises `OffsetsNeeded`; the partitions are then counted once and the reduction
is repeated.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import Block, Rows, SingleBlockRows
from linearly.dataset.rows.reduce import MergeTree
from linearly.kernels.blas_threads import single_threaded_blas

S = TypeVar("S")


@dataclass(frozen=True)
class ReducePartition:
    """The sum of f over the blocks of a partition."""

    f: Callable[[Any], Any]

    def __call__(self, blocks: Iterable[Any]) -> Any:
        tree: MergeTree[Any] = MergeTree()
        for index, block in enumerate(blocks):
            tree.add(index, self.f(block))
        return tree.total()


@dataclass(frozen=True)
class PredictChunk:
    """The predictions of an estimator for the rows of a chunk, one per row.

    Rows that are dropped because of missing values keep their place: their prediction is NaN or None.
    """

    design: Any
    predict: Callable[[Rows], NDArray[Any]]

    def __call__(self, chunk: Any) -> NDArray[Any]:
        answer = self.predict(SingleBlockRows(self.design.block(chunk)))
        complete = self.design.complete(chunk) if self.design.missing == "drop" else None
        if complete is None:
            return answer
        shape = (len(chunk), *answer.shape[1:])
        missing = np.full(shape, np.nan) if answer.dtype.kind == "f" else np.full(shape, None, dtype=object)
        missing[complete] = answer
        return missing


@dataclass(frozen=True)
class Failure:
    """An error of the rows of a partition, returned like a result; the first one is raised.

    It would occur on any worker, so it is reported and not retried. The cluster retries other failures.
    """

    cause: Exception

    @staticmethod
    def of(cause: Exception) -> Failure:
        """Return the failure in a form that can be pickled."""
        try:
            pickle.loads(pickle.dumps(cause))
        except Exception:
            return Failure(ValueError(str(cause)))
        return Failure(cause)


def capture_error(f: Callable[[], Any]) -> Any:
    """Return f(), or the failure if the rows make it raise."""
    with single_threaded_blas():
        try:
            return f()
        except (ValueError, TypeError, OffsetsNeeded) as cause:
            return Failure.of(cause)


def merge_results(a: Any, b: Any) -> Any:
    """Return the sum of two results, or the first failure."""
    if isinstance(a, Failure) or isinstance(b, Failure):
        return a if isinstance(a, Failure) else b
    return capture_error(lambda: a + b)


def unwrap_result(answer: Any) -> Any:
    """Return a result, or raise the failure."""
    if isinstance(answer, Failure):
        raise answer.cause
    return answer


class OffsetsNeeded(Exception):
    """A function needs the index of a row, and the rows before its partition are not counted yet."""


class UnknownOffset:
    """The unknown index of a first row: computing with it or printing it raises `OffsetsNeeded`."""

    def _needed(self, *_: Any) -> NoReturn:
        raise OffsetsNeeded

    __add__ = __radd__ = __sub__ = __rsub__ = __mod__ = __rmod__ = __mul__ = __rmul__ = _needed
    __index__ = __int__ = __float__ = __array__ = __str__ = __format__ = __lt__ = __le__ = __gt__ = __ge__ = _needed


UNKNOWN = cast(int, UnknownOffset())


def after(start: int, n: int) -> int:
    """Return the index n rows after a start that may be unknown."""
    return start if isinstance(start, UnknownOffset) else start + n


class PartitionOffsets:
    """The first row of each partition, counted when a reduction needs it."""

    def __init__(self, count: Callable[[], Sequence[int]], lengths: Sequence[int] | None = None) -> None:
        self._count, self._starts = count, None if lengths is None else _starts(lengths)

    @property
    def known(self) -> bool:
        """Return whether the partitions have been counted."""
        return self._starts is not None

    def of(self, k: int) -> int:
        """Return the number of rows before partition k, or `UNKNOWN`."""
        return UNKNOWN if self._starts is None else self._starts[k]

    def __call__(self, reduce: Callable[[], S]) -> S:
        """Return reduce(), called again with known offsets if it needs them."""
        try:
            return reduce()
        except OffsetsNeeded:
            if self.known:
                raise
            self._starts = _starts(self._count())
            return reduce()


def _starts(lengths: Sequence[int]) -> list[int]:
    return list(accumulate(map(int, lengths), initial=0))


def merge_pairwise(summaries: Sequence[S], plus: Callable[[S, S], S]) -> S:
    """Return the sum of summaries, merged by neighbours level by level, as `MergeTree` does."""
    while len(summaries) > 1:
        merged = [plus(*two) for two in zip(summaries[::2], summaries[1::2], strict=False)]
        summaries = [*merged, summaries[-1]] if len(summaries) % 2 else merged
    return summaries[0]


def not_empty(blocks: Iterable[S]) -> Iterator[S]:
    """Yield the blocks that have rows; the last one if none has any."""
    block, found = None, False
    for block in blocks:
        if len(block):  # type: ignore[arg-type]
            found = True
            yield block
    if not found and block is not None:
        yield block


def prediction_of_zeros(predict: Callable[[Rows], NDArray[Any]], names: tuple[str, ...]) -> NDArray[Any]:
    """Return the prediction for one row of zeros: the form of predictions before any row is read."""
    return predict(SingleBlockRows(Block(np.zeros((1, len(names))), names=names)))


def raise_workers_lack_package(cluster: str, cause: BaseException) -> NoReturn:
    """Raise an ImportError because the workers cannot import linearly."""
    raise ImportError(
        f"The {cluster} workers cannot import linearly. Install the version used here in the Python that the workers "
        "run."
    ) from cause
