"""One pass of an online perceptron: rows in order, each classified by the weights that the rows before it left.

`online_pass` is the only code that walks blocks in sequence, because an online perceptron depends on the order of the
rows. It corrects `Weights` in place and yields the mistakes, from which `mistake_log` makes the log that is the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.dataset.rows.block import Block, InMemoryRows, Rows, check_finite
from linearly.dataset.rows.safe_scaling import UnsafeMagnitude, is_safe_magnitude
from linearly.dataset.rows.sparse import SparseRows, part
from linearly.dataset.rows.views import MappedRows
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import is_sparse

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]

_MAX_BLOCK_CELLS = 2**23  # 64 MB, walked in about 5 ms, after which Ctrl-C takes effect
_MAX_BLOCK_STEPS = 2**18  # the same limit for rows walked in a given order
_MISTAKE_BUFFER = 2**15  # mistakes yielded at a time: the buffer stays in the cache


@dataclass
class Weights:
    """The current weights of a perceptron: one vector for two classes, K vectors for K classes.

    ``U`` and ``c`` accumulate what the average needs: the mean of the weights after each row seen is W − U/seen. For
    sparse rows the vectors are interleaved, so that all weights of a feature share a cache line.
    """

    W: Array
    b: Array | None
    U: Array | None = None
    c: Array | None = None
    interleaved: bool = False
    seen: int = 0
    largest: float = 0.0

    @staticmethod
    def zeros(vectors: int, p: int, *, intercept: bool = True, averaged: bool = False) -> Weights:
        """Return weights that are all zero."""
        b, c = (np.zeros(vectors) if wanted else None for wanted in (intercept, intercept and averaged))
        return Weights(np.zeros((vectors, p)), b, np.zeros((vectors, p)) if averaged else None, c)

    @property
    def coef(self) -> Array:
        """Return the weights, one row per vector."""
        return self.W.T if self.interleaved else self.W

    @property
    def intercept(self) -> Array:
        """Return the intercepts, one per vector."""
        return np.zeros(len(self.coef)) if self.b is None else self.b

    def copy(self) -> Weights:
        """Return a copy."""
        b, U, c = (None if a is None else a.copy() for a in (self.b, self.U, self.c))
        return replace(self, W=self.W.copy(), b=b, U=U, c=c)

    def averaged_weights(self) -> tuple[Array, Array]:
        """Return the mean, over all rows seen, of the weights and intercepts after each row."""
        if self.U is None:
            raise ValueError("These weights were not averaged during training. Use AveragedPerceptron.")
        T = max(self.seen, 1)
        W = self.W - self.U / T
        b = self.intercept if self.b is None or self.c is None else self.b - self.c / T
        return W.T if self.interleaved else W, b

    def set_layout(self, interleaved: bool) -> None:
        """Change the memory layout to that for dense or for sparse rows."""
        if self.interleaved != interleaved:
            self.W = np.ascontiguousarray(self.W.T)
            self.U = None if self.U is None else np.ascontiguousarray(self.U.T)
            self.interleaved = interleaved


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Consecutive mistakes, in order.

    ``rows`` are indices in the whole data set, ``codes`` the classes they belong to, ``rivals`` those they were
    mistaken for, ``times`` the number of rows seen, this one included. ``local`` are the indices in the ``block``.
    """

    rows: Integers
    codes: Codes
    rivals: Codes
    times: Integers
    local: Integers
    block: Block

    def __len__(self) -> int:
        return len(self.rows)


def online_pass(
    rows: Rows,
    weights: Weights,
    *,
    order: Integers | None = None,
    most: int | None = None,
    measure: bool = False,
) -> Iterator[Mistakes]:
    """Make one pass over rows whose targets are codes. Correct the weights in place and yield the mistakes.

    `kernels.reference.perceptron_pass` defines a mistake and its correction. ``order`` walks the rows of a data set in
    memory in that order. At most ``most`` mistakes are yielded at a time, and the weights are then those after the last
    of them. ``measure`` checks the magnitude of the rows and raises `UnsafeMagnitude` if their products would overflow
    or underflow; one pass of a fit has to do so.
    """
    for block in _blocks(rows) if order is None else (in_one_array(rows),):
        if block.weight is not None:
            raise ValueError(
                "These rows have weights, which an online perceptron does not accept. Leave them out, or use "
                "BatchPerceptron."
            )
        steps = len(block) if order is None else len(order)
        weights.set_layout(is_sparse(block.X))
        at = 0
        while at < steps:
            found, walked = _walk(block, at, order, weights, most, measure)
            at += walked
            if len(found):
                yield found
    if measure and not is_safe_magnitude(weights.largest):
        raise UnsafeMagnitude


def in_memory(rows: Rows) -> bool:
    """Return whether all rows are in memory and not read again at each pass."""
    return in_memory(rows.rows) if isinstance(rows, MappedRows) else isinstance(rows, InMemoryRows | SparseRows)


def in_one_array(rows: Rows) -> Block:
    """Return all rows as one block; raise a ValueError for rows that come one block at a time."""
    if isinstance(rows, MappedRows):
        return rows.change(in_one_array(rows.rows))
    if not isinstance(rows, InMemoryRows | SparseRows):
        raise ValueError("Rows that are read block by block cannot be shuffled. Use shuffle=False.")
    return rows.block(0, len(rows))


def _blocks(rows: Rows) -> Iterator[Block]:
    if isinstance(rows, InMemoryRows):
        step = max(256, _MAX_BLOCK_CELLS // max(len(rows.names), 1))
    elif isinstance(rows, SparseRows):
        step = max(256, len(rows) * _MAX_BLOCK_CELLS // max(rows.X.nnz, 1))
    else:
        yield from rows
        return
    for start in range(0, len(rows), step):
        yield rows.block(start, min(start + step, len(rows)))


def _walk(
    block: Block, at: int, order: Integers | None, weights: Weights, most: int | None, measure: bool
) -> tuple[Mistakes, int]:
    X, codes = block.X, block.y
    assert codes is not None
    if order is None:
        X = part(X, at, len(block)) if weights.interleaved else X[at:]
        labels, some, steps = codes[at:], None, len(block) - at
    else:
        labels, some = codes, order[at : at + _MAX_BLOCK_STEPS]
        steps = len(some)
    room = min(_MISTAKE_BUFFER if most is None else most, steps)
    found, rivals = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
    done = kernels.perceptron_pass(
        X, labels, some, weights.W, weights.b, weights.U, weights.c, weights.seen, room, measure, found, rivals
    )
    found = found[: done.found]
    times = weights.seen + found + 1
    weights.seen += done.walked
    weights.largest = max(weights.largest, done.largest)
    if not done.finite:
        check_finite(block)
        raise UnsafeMagnitude
    local = found + at if some is None else some[found]
    own = codes[local]
    mistaken_for = rivals[: done.found].copy() if len(weights.coef) > 1 else 1 - own
    return Mistakes(block.global_index(local), own, mistaken_for, times, local, block), done.walked
