"""The first look of a model that searches: classes, their weights and the size of the columns, all in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import Gauge
from linearly.dataset.rows.block import Block, Rows
from linearly.models.base import Array
from linearly.models.label_encoding import Labelled, class_counts, coded


@dataclass(frozen=True, eq=False)
class FirstLook:
    """The classes, Σ w and the rows of positive weight in each, rows with codes, and a gauge of the columns."""

    classes: NDArray[Any]
    counts: Array
    rows: Rows
    gauge: Gauge

    @staticmethod
    def at(classes: NDArray[Any] | None, rows: Rows) -> FirstLook:
        """Look at rows whose targets are codes of classes, or labels where the classes are to be found."""
        if classes is None:
            seen = rows.fold(partial(_Seen.of, count=Labelled.counts))
            classes = seen.counts.classes()
            rows, counts = coded(rows, classes), np.stack([seen.counts.parts[k] for k in classes.tolist()], axis=1)
        else:
            seen = rows.fold(partial(_Seen.of, count=partial(class_counts, K=len(classes))))
            counts = seen.counts
        if seen.gauge is None:
            raise ValueError("All sample weights are zero: there are no rows to learn from.")
        return FirstLook(classes, counts, rows, seen.gauge)


@dataclass(frozen=True, eq=False)
class _Seen:
    counts: Any
    gauge: Gauge | None  # of the first block that has rows

    @staticmethod
    def of(block: Block, count: Callable[[Block], Any]) -> _Seen:
        there = len(block) > 0 and (block.weight is None or bool(block.weight.any()))
        return _Seen(count(block), Gauge.of(block, None, coarse=1) if there else None)

    def __add__(self, other: _Seen) -> _Seen:
        return _Seen(self.counts + other.counts, other.gauge if self.gauge is None else self.gauge)
