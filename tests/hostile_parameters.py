"""Bad parameters: values of the wrong type, size or spelling for every argument of every constructor."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from hostile import ESTIMATORS

_TYPES: list[Any] = [1j, b"zeros", {}, {1}, [1.0, "a"], np.array(["auto", "qr"]), object(), int, len, "", "NO", "1.0"]
_NO_NUMBER: list[Any] = [*_TYPES, None, True, np.bool_(False), [1.0], (1, 2), np.array([1.0, 2.0]), np.array(1.0)]
_NO_SIZE: list[Any] = [*_NO_NUMBER, -1, -0.5, np.nan, np.inf, -np.inf, np.float32("nan")]

NUMBER: list[Any] = [*_NO_SIZE, 10**400]
COUNT: list[Any] = [*_NO_SIZE, 2.5, np.float64(3.0)]
SHARE: list[Any] = [*(value for value in NUMBER if value is not None), 1.5, 2]
TRUTH: list[Any] = [*_TYPES, None, 0, 1, -1, 2.5, np.nan, [True], np.array([True, False])]
CHOICE: list[Any] = [*_TYPES, None, True, 0, 1, np.nan, ["auto"], np.array("none"), "AUTO", "auto "]
SEED: list[Any] = [*_TYPES, True, -1, 2**32, 1.5, np.nan, [1.5], np.random.default_rng(0), (-1,)]
SEVERAL: list[Any] = [
    *_TYPES,
    True,
    [],
    [[1.0]],
    [-1.0],
    [np.nan],
    [1.0, np.inf],
    -1,
    np.nan,
    [True],
    "abc",
    ["1"],
    [[1.0], 2],
]
FOLDS: list[Any] = [
    *_TYPES,
    True,
    0,
    1,
    -5,
    2.5,
    np.nan,
    10**6,
    10**400,
    [1.0],
    [(0, 1)],
    [([0], [99])],
    [([0], [0.5])],
]
SHARES: list[Any] = [
    *_TYPES,
    True,
    0.5,
    [],
    [1.0],
    [0.5, 0.6],
    [-0.5, 1.5],
    [np.nan, 1.0],
    [0.0, 1.0],
    [[0.5, 0.5]],
    "ab",
]
LABEL: list[Any] = [*_TYPES, 7, np.nan, ["no"], "maybe", ("no",), np.array(["no", "yes"])]

SHARE_OR_SEVERAL: list[Any] = [value for value in SHARE if not np.array_equal(np.ravel(value), [1.0])]  # [1.0] is one

BAD: dict[str, list[Any]] = {
    "alpha": NUMBER,
    "epsilon": NUMBER,
    "shrinkage": SHARE,
    "max_passes": [*COUNT, 0],
    "max_updates": [*COUNT, 0],
    "tolerance": COUNT,
    "fit_intercept": TRUTH,
    "penalize_intercept": TRUTH,
    "shuffle": TRUTH,
    "method": CHOICE,
    "covariance": CHOICE,
    "solver": CHOICE,
    "init": CHOICE,
    "weighting": CHOICE,
    "bias_reduction": [value for value in CHOICE if value is not None],
    "random_state": SEED,
    "alphas": SEVERAL,
    "cv": FOLDS,
    "priors": SHARES,
    "reference": LABEL,
    "lags": [value for value in COUNT if value is not None],
    "l1_ratio": SHARE_OR_SEVERAL,
    "standardize": TRUTH,
    "penalty_weights": SEVERAL,
    "rule": CHOICE,
}


def arguments(name: str) -> list[str]:
    """The arguments of an estimator's constructor."""
    return list(inspect.signature(type(ESTIMATORS[name]())).parameters)
