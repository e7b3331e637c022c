"""Budgets of proofs: how much work a search may take before it reports what it has proven so far.

Work is counted in operations, about a billion to a second, and not in seconds: the same rows stop at the same point on
every machine and at any load. The code that does the work counts it (`spend`) before it does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

DEFAULT_BUDGET = 10**10  # of a proof: ten seconds or so

_left: ContextVar[float] = ContextVar("left", default=np.inf)


class BudgetExceeded(Exception):
    """The work that is allowed is done; `relation` is what the search had found by then."""

    relation: dict[int, int] | None = None


@contextmanager
def work_limit(budget: float | None) -> Iterator[None]:
    """Allow so much work in the block, which raises OutOfBudget when that is done; None allows any."""
    before = _left.set(np.inf if budget is None else float(budget))
    try:
        yield
    finally:
        _left.reset(before)


def spend_work(operations: float) -> None:
    """Count work that is about to be done."""
    left = _left.get()
    if left == np.inf:
        return
    left -= operations
    _left.set(left)
    if left < 0:
        raise BudgetExceeded


def check_budget(budget: Any) -> float | None:
    """The value of a parameter ``budget``, refused unless it is a number above 0 or None."""
    if budget is None:
        return None
    if isinstance(budget, bool) or not isinstance(budget, (int, float, np.integer, np.floating)) or not budget > 0:
        raise ValueError(f"budget must be a number of operations above 0, or None for no limit, not {budget!r}.")
    return float(budget)
