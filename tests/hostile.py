"""Hostile features: the bad ones that the selftest knows, in arrays and in frames, and clean rows in disguise.

`FEATURES` are bad wherever rows of numbers are asked for. `DISGUISED` are the clean rows in another form: they must
give the clean answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from linearly.selftest import bad_features
from linearly.selftest.bad_features import (
    CLASSIFIERS,
    ESTIMATORS,
    LABELS,
    REGRESSORS,
    Awkward,
    Bad,
    N,
    X,
    Y,
    changed,
    inf,
    nan,
    target,
)
from linearly.selftest.bad_frames import NEEDS

__all__ = [
    "CLASSIFIERS",
    "DISGUISED",
    "ESTIMATORS",
    "FEATURES",
    "FRAME",
    "LABELS",
    "REGRESSORS",
    "Awkward",
    "Bad",
    "N",
    "X",
    "Y",
    "changed",
    "inf",
    "nan",
    "target",
]

FRAME = pd.DataFrame(X, columns=["age", "height", "income"])

FEATURES: dict[str, Bad] = dict(bad_features.FEATURES)
for table in NEEDS:
    FEATURES.update(table())

# The clean rows in another form.
DISGUISED: dict[str, Callable[[], Any]] = {
    **bad_features.DISGUISED,
    "pandas with an odd index": lambda: pd.DataFrame(X, index=[7] * N),
    "pandas Int32": lambda: pd.DataFrame(X).astype("Int32"),
    "pandas Arrow": lambda: pd.DataFrame(X).astype("float64[pyarrow]"),
    "pandas with levels of names": lambda: pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a"], [1, 2, 3]])),
    "polars decimals": lambda: pl.DataFrame(X, schema=["x0", "x1", "x2"]).cast(pl.Decimal(10, 2)),
    "polars Int128": lambda: pl.DataFrame(X, schema=["x0", "x1", "x2"]).cast(pl.Int128),
    "Arrow in chunks": lambda: pa.concat_tables(
        [pa.table(dict(zip("abc", part.T, strict=True))) for part in (X[:7], X[7:])]
    ),
    "an Arrow batch": lambda: pa.table(dict(zip("abc", X.T, strict=True))).to_batches()[0],
}
