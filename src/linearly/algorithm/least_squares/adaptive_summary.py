"""Summarize rows of unknown number: by their R factor up to as many rows as columns, by their Gram beyond.

The Gram of 5,000 columns takes 200 MB and half a minute to solve, however few the rows are. An R factor takes no more
memory than the rows, and a time of rows² × columns to solve. With many rows it becomes a square, which takes several
times as long as a Gram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.rounding_bounds import MAX_ALWAYS_GRAM_COLUMNS
from linearly.dataset.rows.block import Block
from linearly.kernels.blas_threads import single_threaded_blas


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveSummary:
    """A `QRFactor` or a `Gram`, whichever suits the number of rows. ``a + b`` merges two and chooses again."""

    summary: Gram | QRFactor

    @staticmethod
    def of(block: Block) -> AdaptiveSummary:
        """Return the summary of a block."""
        return AdaptiveSummary(summarize_block(block))

    def __add__(self, other: AdaptiveSummary) -> AdaptiveSummary:
        return AdaptiveSummary(merge(self.summary, other.summary))


def summarize_block(block: Block) -> Gram | QRFactor:
    """Return the summary that suits the number of rows of a block."""
    p = block.X.shape[1]
    return QRFactor.of(block) if p > MAX_ALWAYS_GRAM_COLUMNS and len(block) <= p else Gram.of(block)


def merge(a: Gram | QRFactor, b: Gram | QRFactor) -> Gram | QRFactor:
    """Return the summary of both sets of rows that suits their number."""
    if a.n == 0 or b.n == 0:
        return b if a.n == 0 else a
    if isinstance(a, QRFactor) and isinstance(b, QRFactor) and a.n + b.n <= a.p:
        return a + b
    return a.gram() + b.gram()


def is_wide_qr(summary: Gram | QRFactor) -> TypeGuard[QRFactor]:
    """Return whether a summary is the R factor of no more rows than columns."""
    return isinstance(summary, QRFactor) and summary.n <= summary.p


@single_threaded_blas()
def subtract(a: Gram | QRFactor, b: Gram | QRFactor) -> Gram | QRFactor:
    """Return the summary of a without the rows of b: an R factor for few rows, otherwise a Gram."""
    if is_wide_qr(a) and isinstance(b, QRFactor):
        return a - b
    return a.gram() - b.gram()
