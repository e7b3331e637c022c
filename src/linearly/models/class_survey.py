"""The first pass of an iterative classifier: its classes, their weights and the scale of the columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.dataset.rows.block import Block, InMemoryRows, Rows, row_weights
from linearly.dataset.rows.column_matrix import ColumnMatrix, taking_columns
from linearly.dataset.rows.sparse import SparseRows
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import drop_low_part
from linearly.models.label_encoding import Labelled, class_counts, encode_rows


@dataclass(frozen=True, eq=False)
class ClassSurvey:
    """Classes, their weights and numbers of rows (2 × K), rows with codes as targets, and a scaling of the columns."""

    classes: NDArray[Any]
    counts: Array
    rows: Rows
    scaling: ColumnScaling
    means: Array | None = None  # of the columns, for rows that are not arrays; a row with trials counts once
    has_offset: bool = False
    trials: Array | None = None  # of paired blocks: data rows, saturated log likelihood, log of binomial coefficients

    @staticmethod
    def at(classes: NDArray[Any] | None, rows: Rows) -> ClassSurvey:
        """Survey rows whose targets are codes of the classes, or labels if the classes are not known yet."""
        # Arrays are large more often than tables, and their owners have them for the means.
        has_means = not isinstance(rows, (InMemoryRows, SparseRows))
        if classes is None:
            survey = rows.reduce(taking_columns(partial(_BlockSurvey.of, count=Labelled.counts, has_means=has_means)))
            classes = survey.counts.classes()
            rows = encode_rows(rows, classes)
            counts = np.stack([survey.counts.parts[label] for label in classes.tolist()], axis=1)
        else:
            count = partial(class_counts, K=len(classes))
            survey = rows.reduce(taking_columns(partial(_BlockSurvey.of, count=count, has_means=has_means)))
            counts = survey.counts
        if survey.scaling is None:
            raise ValueError("All sample weights are zero. Give some rows a positive weight.")
        n = counts[0].sum() if survey.trials is None else survey.trials[0]
        means = None if survey.sums is None else survey.sums / n
        return ClassSurvey(classes, counts, rows, survey.scaling, means, survey.has_offset, survey.trials)


@dataclass(frozen=True, eq=False)
class _BlockSurvey:
    counts: Any
    scaling: ColumnScaling | None  # of the first block with rows of positive weight
    sums: Array | None  # weighted, of the columns
    has_offset: bool
    trials: Array | None

    @staticmethod
    def of(block: Block, count: Callable[[Block], Any], has_means: bool) -> _BlockSurvey:
        has_rows = len(block) > 0 and (block.weight is None or bool(block.weight.any()))
        return _BlockSurvey(
            count(block),
            ColumnScaling.of(block, None, coarse=1) if has_rows else None,
            _weighted_sums(block) if has_means else None,
            block.offset is not None,
            _trials(block) if block.paired else None,
        )

    def __add__(self, other: _BlockSurvey) -> _BlockSurvey:
        return _BlockSurvey(
            self.counts + other.counts,
            other.scaling if self.scaling is None else self.scaling,
            None if self.sums is None or other.sums is None else self.sums + other.sums,
            self.has_offset or other.has_offset,
            None if self.trials is None or other.trials is None else self.trials + other.trials,
        )


def _weighted_sums(block: Block) -> Array:
    weight = row_weights(block)
    if block.paired:
        weight = np.repeat(weight.reshape(-1, 2).any(axis=1) / 2, 2)
    X = block.X if isinstance(block.X, ColumnMatrix) else drop_low_part(block.X)
    if block.unknown is not None:  # those rows have weight 0, and their X is meaningless
        X = np.where(block.unknown[:, None], 0.0, X[:])
    with np.errstate(invalid="ignore", over="ignore"):  # the fit names a NaN or infinity by its row
        if isinstance(X, ColumnMatrix):
            return X.transposed_product(weight[:, None])[:, 0]
        return np.asarray(X.T @ weight)


def _trials(block: Block) -> Array:
    """Return the number of data rows with trials, their saturated log likelihood, and Σ log C(n, successes)."""
    assert block.weight is not None
    counts = block.weight.reshape(-1, 2)
    n = counts.sum(axis=1)
    saturated = xlogy(counts, counts).sum() - xlogy(n, n).sum()
    coefficients = gammaln(n + 1).sum() - gammaln(counts + 1).sum()
    return np.array([np.count_nonzero(n > 0), saturated, coefficients])
