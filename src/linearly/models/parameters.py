"""Checks of parameters, each naming the parameter and what it may be."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np


def whole_number(name: str, value: Any, least: int) -> int:
    """The value, refused unless it is a whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, not {value!r}.")
    return int(value)


def from_zero(name: str, value: Any) -> float:
    """The value, refused unless it is a finite number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} must be a number from 0 on, not {value!r}.")
    return float(value)


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    """The value, refused unless it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}.")
    return value
