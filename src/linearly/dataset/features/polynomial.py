"""Powers of one column as features for a polynomial fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.dataset.rows.array_checks import as_array, beyond_float64
from linearly.dataset.rows.polynomial import Polynomial

_MAX_DEGREE = 100
_MAX_POWER = 2.0**990  # products in double-double are exact below 2⁹⁹⁵


def polynomial_features(x: Any, degree: int, *, name: str | None = None) -> Polynomial:
    """Return the powers x, x², …, x^degree of one column as features for a polynomial fit.

    Powers are formed in double-double, so that high degrees keep their digits.

    Parameters
    ----------
    x : array-like of shape (n_rows,)
        One column of numbers.
    degree : int
        Highest power.
    name : str, optional
        Name of the column in tables. By default, the name of the series, or "x".

    Returns
    -------
    Polynomial
        Features that `fit` and `predict` accept like any X.

    Examples
    --------
    >>> import linearly as ly
    >>> ly.polynomial_features([1.0, 2.0, 3.0], 2)
    <polynomial of degree 2 in 'x', 3 rows>
    """
    values = as_array(x, "x")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"x must be one numeric column, not an array of shape {values.shape}. Pass one value per row.")
    if not isinstance(degree, (int, np.integer)) or not 1 <= degree <= _MAX_DEGREE:
        raise ValueError(f"degree must be an integer from 1 to {_MAX_DEGREE}, not {degree!r}.")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"x must be numeric, not {values.dtype}. Convert it to numbers.")
    wrong = {
        "is NaN or infinite": ~np.isfinite(values),
        "is beyond 2**53 and would lose digits as a float64": beyond_float64(values) & (values.dtype.kind in "iu"),
        f"is too large: its power {degree} exceeds the float64 range": np.abs(values) > _MAX_POWER ** (1.0 / degree),
    }
    for what, where in wrong.items():
        if where.any():
            i = int(np.argmax(where))
            raise ValueError(f"x {what}: {values[i]} in row {i}. Drop the row, correct the value or rescale x.")
    values = values.astype(np.float64)
    if name is None:
        name = str(getattr(x, "name", None) or "x")
    return Polynomial(values, int(degree), name)
