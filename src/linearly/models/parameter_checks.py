"""Checks of parameters: each returns the value, or raises an error that names the parameter and what it may be."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from linearly.dataset.rows.array_checks import as_numeric_array

_LARGEST = float(np.finfo(np.float64).max)


def check_integer(name: str, value: Any, least: int) -> int:
    """Return the value if it is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, not {value!r}.")
    return int(value)


def check_nonnegative(name: str, value: Any) -> float:
    """Return the value if it is a finite number of at least 0."""
    if not _between(value, 0, _LARGEST):
        raise ValueError(f"{name} must be a number from 0 on, not {value!r}.")
    return float(value)


def check_several_nonnegative(name: str, values: Any) -> NDArray[np.float64]:
    """Return one or several finite numbers of at least 0 as an array."""
    try:
        array = np.atleast_1d(as_numeric_array(values, name))
        if array.ndim == 1 and len(array) and array.dtype.kind != "b" and (np.isfinite(array) & (array >= 0)).all():
            return array.astype(np.float64)
    except (ValueError, TypeError):
        pass
    raise ValueError(f"{name} must be numbers from 0 on, at least one, not {values!r}.")


def check_fraction(name: str, value: Any) -> float:
    """Return the value if it is a number from 0 to 1."""
    if not _between(value, 0, 1):
        raise ValueError(f"{name} must be a number from 0 to 1, not {value!r}.")
    return float(value)


def check_bool(name: str, value: Any) -> bool:
    """Return the value if it is True or False; the text "no" would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def check_seed(name: str, value: Any) -> np.random.RandomState:
    """Return the random generator of a seed; raise if the value is not a seed."""
    try:
        if isinstance(value, bool):
            raise ValueError
        random: np.random.RandomState = check_random_state(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(
            f"{name} must be None, a whole number from 0 to 2**32 − 1, or a RandomState, not {value!r}."
        ) from None
    return random


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}.")
    return value


def check_groups(covariance: str, groups: Any) -> None:
    """Raise for groups without a clustered covariance, and for a clustered covariance without groups."""
    if groups is not None and covariance != "cluster":
        raise ValueError(f'groups= goes with covariance="cluster", not with covariance={covariance!r}. Set the former.')
    if groups is None and covariance == "cluster":
        raise ValueError(
            'covariance="cluster" needs groups=: one label per row, in fit(X, y, groups=labels), or the name of their '
            'column in ly.fit(data, groups="column").'
        )


def _between(value: Any, low: float, high: float) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and bool(low <= value <= high)
