"""Limit the work of a search for a proof.

Work is counted in operations (about a billion per second), not in seconds, so that the same rows stop at the same point
on every machine. `spend_work` is called before the work is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

DEFAULT_BUDGET = 10**10  # operations: about ten seconds

# Rows × columns × rival classes up to which a proof is made without a request: seconds before a fit, less on a page,
# and least for an error floor, which repeats the search.
_AFFORDABLE = {"check": 2_000_000, "page": 200_000, "error floor": 12_000}

_left: ContextVar[float] = ContextVar("left", default=np.inf)


class BudgetExceeded(Exception):
    """Signal that the allowed work is done; `relation` is what the search has found so far."""

    relation: dict[int, int] | None = None


def is_affordable(purpose: str, n: int, p: int, n_rivals: int = 1) -> bool:
    """Return whether a proof about n rows and p columns is quick enough if it was not requested."""
    return n * p * n_rivals <= _AFFORDABLE[purpose]


@contextmanager
def work_limit(budget: float | None) -> Iterator[None]:
    """Limit the work inside the `with` block, which raises `BudgetExceeded` beyond it. None means no limit."""
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
    """Return a parameter ``budget`` as a float or None; raise a ValueError unless it is positive or None."""
    if budget is None:
        return None
    if isinstance(budget, bool) or not isinstance(budget, (int, float, np.integer, np.floating)) or not budget > 0:
        raise ValueError(f"budget must be a positive number of operations, or None for no limit, not {budget!r}.")
    return float(budget)
