"""The functions of `linearly.inference` that methods of estimators call.

`linearly.inference` builds on the estimators, so nothing here imports it. `linearly/__init__.py`, which Python runs
before any other module of the package, assigns these six names. Each function is imported when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linearly.table import Summary, Table

regression_summary: Callable[[Any], Summary]
logistic_summary: Callable[[Any], Summary]
explain: Callable[[Any, Any, Any], Summary]
prediction_interval: Callable[[Any, Any, float, str, Any], Table]
probability_interval: Callable[[Any, Any, float, str], Table]
draw_coefficients: Callable[[Any, int, str, Any, Any, Any], Any]
