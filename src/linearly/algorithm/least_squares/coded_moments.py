"""Cross-products of numbers and categories, from sums by code: the columns of 0 and 1 are never formed.

The product of a category's column and a number is a sum over the rows of that level; that of two categories is a count.
A column is measured from 0, or from 1 if most rows have its level: the rows of the other levels are then summed, so
that nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linearly import kernels
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.kernels.double_double import Array

_ROWS = 8192  # summed at a time: partial sums keep rounding errors small


def coded_moments(
    X: ColumnMatrix, Y: Array | None, weight: Array | None, shift: Array, scale: Array
) -> tuple[Array, Array]:
    """Return Z'WZ of Z = [1 | X | Y], and the largest share of a column's squares in the rows of each level.

    `shift` is 0 or 1 and `scale` is 1 for the columns of codes. Only the rows of a level add rounding errors to its
    products, so their errors are smaller than those of other columns by the root of the share.
    """
    p, total = X.shape[1], len(shift)
    at_numbers = np.concatenate([X.at_numbers, np.arange(p, total)])
    targets = [] if Y is None else list(np.ascontiguousarray(Y.T))
    G = np.empty((1 + total, 1 + total))
    numbers = np.concatenate([[0], 1 + at_numbers])
    G[np.ix_(numbers, numbers)] = _moments_of_numbers(X, Y, weight, shift[at_numbers], scale[at_numbers])
    sums, pairs = _tables([*X.numbers, *targets], X, weight, shift[at_numbers], scale[at_numbers])
    pairs = pairs + pairs.T
    np.fill_diagonal(pairs, sums[:, 0])
    most = _rows_of_shifted(X, shift)
    widths = [one.width for one in X.codes]
    sums, pairs = _measured(sums, widths, most), _measured(pairs, widths, most)
    pairs = _measured(pairs.T, widths, most)
    codes, m = 1 + X.at_codes, len(numbers)
    G[np.ix_(codes, numbers)], G[np.ix_(numbers, codes)] = sums[:, :m], sums[:, :m].T
    G[np.ix_(codes, codes)] = pairs
    squares = np.abs(np.column_stack([sums[:, :1], sums[:, m:]]))
    all_rows = np.diagonal(G)[numbers]
    shares = np.divide(squares, all_rows, out=np.ones_like(squares), where=all_rows > 0)
    return G, np.minimum(shares.max(axis=1), 1.0)


def suits_codes(X: ColumnMatrix, shift: Array, scale: Array) -> bool:
    """Return whether `coded_moments` accepts a shift and scale; a scaling learnt from expanded codes may not suit."""
    own = shift[X.at_codes]
    return bool(((own == 0.0) | (own == 1.0)).all() and (scale[X.at_codes] == 1.0).all())


def _moments_of_numbers(X: ColumnMatrix, Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    if X.numbers:
        return kernels.gram_columns(X.numbers, Y, weight, shift, scale)
    return kernels.gram(np.empty((X.shape[0], 0)), Y, weight, shift, scale)


def _tables(
    columns: Sequence[Array], X: ColumnMatrix, weight: Array | None, shift: Array, scale: Array
) -> tuple[Array, Array]:
    widths = [one.width for one in X.codes]
    size = len(widths) + sum(widths)
    step = max(_ROWS, size * size // 16)
    total: tuple[Array, Array] | None = None
    for first in range(0, max(X.shape[0], 1), step):
        rows = slice(first, first + step)
        part = kernels.code_tables(
            [column[rows] for column in columns],
            None if weight is None else weight[rows],
            shift,
            scale,
            [one.values[rows] for one in X.codes],
            widths,
        )
        total = part if total is None else (total[0] + part[0], total[1] + part[1])
    assert total is not None
    return total


def _rows_of_shifted(X: ColumnMatrix, shift: Array) -> list[int]:
    """Return for each category the code whose column is measured from 1, −1 if there is none."""
    own = shift[X.at_codes]
    ends = np.cumsum([one.width for one in X.codes])
    parts = np.split(own, ends[:-1])
    return [int(np.argmax(part)) if part.any() else -1 for part in parts]


def _measured(table: Array, widths: Sequence[int], most: Sequence[int]) -> Array:
    """Return the rows of a table without those of code −1; the row of `most` is the negative sum of all others."""
    parts, start = [], 0
    for width, code in zip(widths, most, strict=True):
        part = table[start : start + 1 + width]
        own = part[1:]
        if code >= 0:
            own = own.copy()
            own[code] = -np.delete(part, 1 + code, axis=0).sum(axis=0)
        parts.append(own)
        start += 1 + width
    return np.concatenate(parts)
