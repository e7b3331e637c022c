"""A summary that suits the number of rows: the triangle of few, the Gram of many.

The Gram of 5000 columns takes 200 MB, and its solution half a minute, however few the rows are. A triangle takes no
more than the rows themselves, and its solution the rows squared times the columns; but it grows into a square, which
takes several times as long as a Gram. So rows that nobody has counted are summarised by their triangle for as long as
they are no more than the columns, and by their Gram from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.reduce import single_threaded_blas

MAX_ALWAYS_GRAM_COLUMNS = 128  # columns up to which a Gram, and a solution of it even in double-double, takes no time


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveSummary:
    """A Triangle or a Gram, whichever suits the rows so far. ``a + b`` is the one that suits both together."""

    summary: Gram | QRFactor

    @staticmethod
    def of(block: Block) -> AdaptiveSummary:
        """The summary of a block."""
        return AdaptiveSummary(summarize_block(block))

    def __add__(self, other: AdaptiveSummary) -> AdaptiveSummary:
        return AdaptiveSummary(merge(self.summary, other.summary))


def summarize_block(block: Block) -> Gram | QRFactor:
    """The summary that suits the rows of a block."""
    p = block.X.shape[1]
    return QRFactor.of(block) if p > MAX_ALWAYS_GRAM_COLUMNS and len(block) <= p else Gram.of(block)


def merge(a: Gram | QRFactor, b: Gram | QRFactor) -> Gram | QRFactor:
    """The summary of the rows of both that suits them."""
    if a.n == 0 or b.n == 0:
        return b if a.n == 0 else a
    if isinstance(a, QRFactor) and isinstance(b, QRFactor) and a.n + b.n <= a.p:
        return a + b
    return a.gram() + b.gram()


def is_wide_qr(summary: Gram | QRFactor) -> TypeGuard[QRFactor]:
    """Whether a summary is the triangle of no more rows than columns."""
    return isinstance(summary, QRFactor) and summary.n <= summary.p


@single_threaded_blas()
def subtract(a: Gram | QRFactor, b: Gram | QRFactor) -> Gram | QRFactor:
    """The summary of the rows of a without those of b: of few rows a triangle, of more a Gram."""
    if is_wide_qr(a) and isinstance(b, QRFactor):
        return a - b
    return a.gram() - b.gram()
