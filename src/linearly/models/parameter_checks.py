"""Checks of parameters: each raises an error that names the parameter and what it may be.

Most return the value as the type that the algorithms need.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.covariance_names import CLUSTERED
from linearly.dataset.rows.array_checks import as_numeric_array

_LARGEST = float(np.finfo(np.float64).max)


def check_integer(name: str, value: Any, least: int) -> int:
    """Return the value if it is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}.")
    return int(value)


def check_nonnegative(name: str, value: Any) -> float:
    """Return the value if it is a finite number of at least 0."""
    if type(value) is float and 0 <= value <= _LARGEST:
        return value
    if not _between(value, 0, _LARGEST):
        raise ValueError(f"{name} must be a number of at least 0, not {value!r}.")
    return float(value)


def check_several_nonnegative(name: str, values: Any) -> NDArray[np.float64]:
    """Return one or several finite numbers of at least 0 as an array."""
    try:
        array = np.atleast_1d(as_numeric_array(values, name))
        if array.ndim == 1 and len(array) and array.dtype.kind != "b" and (np.isfinite(array) & (array >= 0)).all():
            return array.astype(np.float64)
    except (ValueError, TypeError):
        pass
    raise ValueError(f"{name} must be one or more numbers of at least 0, not {values!r}.")


def check_fraction(name: str, value: Any) -> float:
    """Return the value if it is a number from 0 to 1."""
    if not _between(value, 0, 1):
        raise ValueError(f"{name} must be a number between 0 and 1, not {value!r}.")
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
        return random_generator(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(
            f"{name} must be None, an integer from 0 to 2**32 − 1, or a RandomState, not {value!r}."
        ) from None


def random_generator(seed: Any) -> np.random.RandomState:
    """Return the random generator of a seed, as scikit-learn's `check_random_state` does."""
    if seed is None or seed is np.random:
        return np.random.mtrand._rand
    return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}.")
    return value


def check_groups_given(covariance: str, groups: Any) -> None:
    """Raise for groups without a clustered covariance, and for a clustered covariance without groups."""
    if groups is not None and covariance not in CLUSTERED:
        raise ValueError(
            f'groups= requires a clustered covariance, not covariance={covariance!r}. Set covariance="cluster".'
        )
    if groups is None and covariance in CLUSTERED:
        raise ValueError(
            f'covariance="{covariance}" needs groups=. Pass one label per row in fit(X, y, groups=labels), or the '
            'name of a column in ly.fit(data, groups="column").'
        )


def check_lags(covariance: str, lags: Any) -> None:
    """Raise for lags that are not an integer, too many, or without the covariance that uses them."""
    if lags is None:
        return
    if covariance != "HAC":
        raise ValueError(f'lags= applies to covariance="HAC" only, not to covariance={covariance!r}. Leave lags= out.')
    from linearly.algorithm.least_squares.hac import MAX_LAGS  # few fits need it

    if check_integer("lags", lags, 0) > MAX_LAGS:
        raise ValueError(f"lags must be at most {MAX_LAGS}, not {lags}.")


def _between(value: Any, low: float, high: float) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and bool(low <= value <= high)
