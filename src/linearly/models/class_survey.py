"""The first pass of an iterative classifier: its classes, their weights and the scale of the columns."""

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
    """Classes, their weights and numbers of rows (2 × K), rows with codes as targets, and a scaling of the columns."""

    classes: NDArray[Any]
    counts: Array
    rows: Rows
    scaling: ColumnScaling

    @staticmethod
    def at(classes: NDArray[Any] | None, rows: Rows) -> ClassSurvey:
        """Survey rows whose targets are codes of the classes, or labels if the classes are not known yet."""
        if classes is None:
            survey = rows.reduce(partial(_BlockSurvey.of, count=Labelled.counts))
            classes = survey.counts.classes()
            rows = encode_rows(rows, classes)
            counts = np.stack([survey.counts.parts[label] for label in classes.tolist()], axis=1)
        else:
            survey = rows.reduce(partial(_BlockSurvey.of, count=partial(class_counts, K=len(classes))))
            counts = survey.counts
        if survey.scaling is None:
            raise ValueError("All sample weights are zero: there are no rows to learn from.")
        return ClassSurvey(classes, counts, rows, survey.scaling)


@dataclass(frozen=True, eq=False)
class _BlockSurvey:
    counts: Any
    scaling: ColumnScaling | None  # of the first block with rows of positive weight

    @staticmethod
    def of(block: Block, count: Callable[[Block], Any]) -> _BlockSurvey:
        has_rows = len(block) > 0 and (block.weight is None or bool(block.weight.any()))
        return _BlockSurvey(count(block), ColumnScaling.of(block, None, coarse=1) if has_rows else None)

    def __add__(self, other: _BlockSurvey) -> _BlockSurvey:
        return _BlockSurvey(self.counts + other.counts, other.scaling if self.scaling is None else self.scaling)
