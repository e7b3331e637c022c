"""Warn of predictions that the fitted rows do not determine."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import Block
from linearly.exceptions import NotEstimableWarning, warn_at_caller
from linearly.kernels.matrices import dense_keeping_low_part

_MAX_NAMED = 3  # rows that a warning names

_collector: ContextVar[NotEstimable | None] = ContextVar("collector", default=None)


class NotEstimable:
    """Collect the rows whose predictions are not estimable, and warn once when the outermost context ends."""

    def __init__(self) -> None:
        self.named: dict[str, None] = {}
        self.counts: dict[int, int] = {}  # by the first row of a block: a block may be checked twice

    def __enter__(self) -> Self:
        self._outer = _collector.get()
        self._token: Token[NotEstimable | None] = _collector.set(self._outer or self)
        return self

    def __exit__(self, failed: Any, *_: Any) -> None:
        _collector.reset(self._token)
        if self._outer is not None:
            self._outer.named |= self.named
            self._outer.counts |= self.counts
        elif self.named and failed is None:
            n = sum(self.counts.values())
            where = ", ".join([*self.named][:_MAX_NAMED]) + (f" and {n - _MAX_NAMED:,} more" if n > _MAX_NAMED else "")
            warn_at_caller(
                f"The prediction is not estimable at {where}: it depends on coefficients that the fitted rows do not "
                "determine. Drop the columns named in the RankWarning of the fit, or predict rows that combine "
                "columns and levels as the fitted rows do.",
                NotEstimableWarning,
            )

    def look(self, block: Block, estimable: Callable[[Any], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return which rows of a block are estimable, and note the others."""
        known = estimable(dense_keeping_low_part(block.X))
        rows = np.flatnonzero(~known)
        if len(rows):
            self.counts[block.start] = len(rows)
            self.named |= dict.fromkeys(block.describe_row(int(i)) for i in rows[:_MAX_NAMED])
        return known
