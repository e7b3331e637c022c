"""Hostile targets and weights: the bad ones that the selftest knows, and those of pandas, polars and Arrow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hostile import LABELS, Bad, N, changed, nan

from linearly.selftest import bad_targets
from linearly.selftest.bad_targets import (
    CELL,
    CLASSES,
    CODES,
    GAP,
    GAP0,
    LENGTHS,
    NO_LABEL,
    SHAPE,
    THIRD,
    TWO_D,
    with_third,
)

__all__ = ["CLASSES", "NUMBERS", "TARGETS", "WEIGHTS"]

TARGETS: dict[str, Bad] = {
    **bad_targets.TARGETS,
    "a frame without columns": Bad(lambda: pd.DataFrame(index=range(N)), SHAPE),
    "NA among objects": Bad(lambda: with_third(CODES, pd.NA), GAP),
    "NaT among objects": Bad(lambda: with_third(CODES, pd.NaT), GAP),
    "pandas Int64 NA": Bad(lambda: pd.Series(CODES).astype("Int64").mask(THIRD), GAP),
    "pandas boolean NA": Bad(lambda: pd.Series(CODES == 1).astype("boolean").mask(THIRD), GAP),
    "a frame with NaN": Bad(lambda: pd.DataFrame({"a": changed(CODES.astype(float), 3, nan)}), GAP),
    "polars null": Bad(lambda: pl.Series([None, *CODES[1:].tolist()]), GAP0),
    "Arrow null": Bad(lambda: pa.array([None, *CODES[1:].tolist()]), GAP0),
    "Arrow null in chunks": Bad(lambda: pa.chunked_array([[None, *CODES[1:].tolist()]]), GAP0),
    "polars lists": Bad(lambda: pl.Series([[1.0]] * N), f"{CELL}|{NO_LABEL}"),
    "Arrow structs": Bad(lambda: pa.array([{"a": 1}] * N), f"{CELL}|{NO_LABEL}"),
    "strings with NA": Bad(lambda: pd.Series(LABELS, dtype="string").mask(THIRD), f"{CELL}|{GAP}"),
    "categories with a gap": Bad(lambda: pd.Series(pd.Categorical(LABELS)).mask(THIRD), f"{CELL}|{GAP}"),
    "two columns of text": Bad(lambda: pd.DataFrame({"a": LABELS, "b": LABELS}), f"Column 'a' is String|{TWO_D}"),
}
NUMBERS: dict[str, Bad] = {
    **bad_targets.NUMBERS,
    "names twice": Bad(lambda: pd.DataFrame(np.ones((N, 2)), columns=["a", "a"]), r"one name: 'a' 2 times"),
}
WEIGHTS: dict[str, Bad] = {
    **bad_targets.WEIGHTS,
    "a frame": Bad(lambda: pd.DataFrame({"w": np.ones(N)}), LENGTHS),
    "NA": Bad(lambda: with_third(np.ones(N), pd.NA), r"sample_weight contains NaN: row 3"),
    "pandas NA": Bad(lambda: pd.Series([1, None] * (N // 2), dtype="Int64"), r"sample_weight contains NaN: row 1"),
    "polars null": Bad(lambda: pl.Series([1.0, None] * (N // 2)), r"sample_weight contains NaN: row 1"),
}
