"""The first look of a model that searches: classes, their weights and the size of the columns, all in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.dataset.rows.block import Block, Rows
from linearly.models.base import Array
from linearly.models.label_encoding import Labelled, class_counts, encode_rows


@dataclass(frozen=True, eq=False)
class ClassSurvey:
    """The classes, Σ w and the rows of positive weight in each, rows with codes, and a scaling of the columns."""

    classes: NDArray[Any]
    counts: Array
    rows: Rows
    scaling: ColumnScaling

    @staticmethod
    def at(classes: NDArray[Any] | None, rows: Rows) -> ClassSurvey:
        """Look at rows whose targets are codes of classes, or labels where the classes are to be found."""
        if classes is None:
            seen = rows.reduce(partial(_Seen.of, count=Labelled.counts))
            classes = seen.counts.classes()
            rows, counts = (
                encode_rows(rows, classes),
                np.stack([seen.counts.parts[k] for k in classes.tolist()], axis=1),
            )
        else:
            seen = rows.reduce(partial(_Seen.of, count=partial(class_counts, K=len(classes))))
            counts = seen.counts
        if seen.scaling is None:
            raise ValueError("All sample weights are zero: there are no rows to learn from.")
        return ClassSurvey(classes, counts, rows, seen.scaling)


@dataclass(frozen=True, eq=False)
class _Seen:
    counts: Any
    scaling: ColumnScaling | None  # of the first block that has rows

    @staticmethod
    def of(block: Block, count: Callable[[Block], Any]) -> _Seen:
        there = len(block) > 0 and (block.weight is None or bool(block.weight.any()))
        return _Seen(count(block), ColumnScaling.of(block, None, coarse=1) if there else None)

    def __add__(self, other: _Seen) -> _Seen:
        return _Seen(self.counts + other.counts, other.scaling if self.scaling is None else self.scaling)
