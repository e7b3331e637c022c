"""Record which blocks of rows a model was fitted to, so that none is added twice or removed without having been added.

The fingerprint of a block has two halves. The first is a hash of its targets, its weights and a few of its rows. It
finds rows that two models share, whatever the precision of each. The second is a hash of its summary (count, means,
cross-products), which depends on every cell. Rows are removed only if both agree. Both cost little beside the fit. The
same rows in other blocks have other fingerprints, so a ledger recognises files and partitions, not single rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from linearly.algorithm.least_squares.adaptive_summary import AdaptiveSummary
from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.column_matrix import takes_columns
from linearly.dataset.rows.reduce import FieldwiseSum
from linearly.kernels.double_double import DoubleDouble, Numbers, to_float64

S = TypeVar("S")

_HALF = 16  # hexadecimal digits of each half
_SAMPLE = 64  # rows of a block whose features are hashed


@dataclass(frozen=True)
class BlockLedger:
    """Fingerprints of blocks, each with the number of times it was added."""

    blocks: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return self.blocks.total()

    def shared_with(self, other: BlockLedger) -> set[str]:
        """Return the fingerprints of the blocks that both contain."""
        return {name[:_HALF] for name in self.blocks} & {name[:_HALF] for name in other.blocks}

    def __add__(self, other: BlockLedger) -> BlockLedger:
        shared = self.shared_with(other)
        if shared:
            raise ValueError(
                f"{len(shared)} block{'s' * (len(shared) > 1)} of rows {'are' if len(shared) > 1 else 'is'} in both "
                "models, so adding them would count those rows twice. Remove them from one model first."
            )
        return BlockLedger(self.blocks + other.blocks)

    def __sub__(self, other: BlockLedger) -> BlockLedger:
        absent = other.blocks - self.blocks
        left = self.blocks - other.blocks
        if absent and {name[:_HALF] for name in absent} <= {name[:_HALF] for name in left}:
            raise ValueError(
                "These rows were added to this model with another precision, or some of their features have "
                'changed since. Fit them with the same method, such as method="extended".'
            )
        if absent:
            blocks = "1 block of rows was" if absent.total() == 1 else f"{absent.total()} blocks of rows were"
            raise ValueError(
                f"{blocks} never added to this model, so they cannot be removed. Subtract only blocks (row groups of "
                "a file, or partitions) that the model was fitted to."
            )
        return BlockLedger(self.blocks - other.blocks)


class FingerprintingRows(Rows):
    """Rows that record the fingerprint of every block they are reduced to a summary from."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.names, self.classes = rows, rows.names, rows.classes
        self.one_shot, self.ordered = rows.one_shot, rows.ordered
        self.ledger = BlockLedger()

    def __iter__(self) -> Iterator[Block]:
        return iter(self.rows)

    def reduce(self, f: Callable[[Block], S]) -> S:
        total: Fingerprinted = self.rows.reduce(AddFingerprint(f))
        if total.fingerprints:
            self.ledger = BlockLedger(total.fingerprints)
        value: S = total.value
        return value

    @property
    def n_partitions(self) -> int | None:
        """Return the number of partitions; None for rows in this process."""
        return self.rows.n_partitions

    def reduce_partitions(self, f: Callable[[Iterable[Block]], S]) -> S:
        """Return the sum of f over the partitions, each given as its blocks in order."""
        return self.rows.reduce_partitions(f)


@dataclass(frozen=True)
class AddFingerprint:
    """Apply f to a block and add the fingerprint of the result."""

    f: Callable[[Block], Any]

    @property
    def takes_columns(self) -> bool:
        """Return whether f accepts separate columns."""
        return takes_columns(self.f)

    def __call__(self, block: Block) -> Fingerprinted:
        value = self.f(block)
        print_ = fingerprint(value, block) if len(block) else None
        return Fingerprinted(value, Counter() if print_ is None else Counter([print_]))


@dataclass(frozen=True)
class Fingerprinted(FieldwiseSum):
    """A summary and the fingerprints of its blocks."""

    value: Any
    fingerprints: Counter[str]


def fingerprint(summary: Any, block: Block) -> str | None:
    """Return a hash of a block and of its summary; None if the value is not a summary."""
    summary = summary.summary if isinstance(summary, AdaptiveSummary) else summary
    if not isinstance(summary, (Gram, ClassGrams, FoldSummaries, QRFactor)):
        return None
    digest = hashlib.blake2b(digest_size=_HALF // 2)
    for part in summary.parts if isinstance(summary, (ClassGrams, FoldSummaries)) else (summary,):
        digest.update(str(part.n).encode())
        for numbers in (part.scaling.shift, part.scaling.scale, *_arrays(part)):
            digest.update(np.ascontiguousarray(numbers).tobytes())
    return _row_digest(block) + digest.hexdigest()


def _row_digest(block: Block) -> str:
    """Return a hash that depends neither on the summary nor on whether columns are stored separately."""
    digest = hashlib.blake2b(str(len(block)).encode(), digest_size=_HALF // 2)
    some = slice(None, None, max(1, len(block) // _SAMPLE))
    for numbers in (block.y, block.weight):
        if numbers is not None:
            # Their sum as integers takes a hundredth of the time of hashing them, and has no rounding.
            bits = np.ascontiguousarray(numbers).view(f"u{numbers.itemsize}")
            digest.update(np.add.reduce(bits, axis=None, dtype=np.uint64).tobytes())
            digest.update(np.ascontiguousarray(numbers[some]).tobytes())
    digest.update(np.ascontiguousarray(to_float64(block.X[some]), dtype=np.float64).tobytes())
    return digest.hexdigest()


def _arrays(summary: Gram | QRFactor) -> list[Any]:
    if isinstance(summary, QRFactor):
        return [summary.R]
    numbers: tuple[Numbers, ...] = (summary.weight, summary.mean, summary.centered_crossprod)
    return [part for a in numbers for part in ((a.high, a.low) if isinstance(a, DoubleDouble) else (a,))]
