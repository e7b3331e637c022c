"""Bad targets and weights, with the message that each must raise."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from hostile import LABELS, RECORDS, Awkward, Bad, N, Y, changed, inf, nan

CODES = (LABELS == "yes").astype(int)
THIRD = np.arange(N) == 3


def cells(values: Any) -> Any:
    """A one-dimensional array of objects, whatever they are."""
    array = np.empty(N, dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def with_third(values: Any, value: Any) -> Any:
    """The values as objects, with another in row 3."""
    return changed(values, 3, value, object)


# What is said about y: of any kind, as numbers, as labels.
NO_LIST = r"y (must be an array or a list with one entry per row|should be a 1d array of labels, one per row), not "
LENGTH = r"X and y have inconsistent numbers of samples: \[24, \d+\]\. Pass one target per row"
SHAPE = r"y must have one or two dimensions|y should be a 1d array of labels|2-D y must contain only|inconsistent"
GAP = r"y contains NaN: row 3( has no label)?\. Drop the row or fill in the (value|label)"
GAP0 = r"y contains NaN: row 0( has no label)?\. Drop the row or fill in the (value|label)"
INF = r"y contains infinity: row 3( has no label)?\. Drop the row or fill in the (value|label)"
MASKED = r"y is masked, so missing: row 3\. Drop the row or fill in the (value|label)"
COMPLEX = r"Complex data not supported: y is complex128"
NOT_NUMERIC = r"y contains (text|bytes|dates|durations|records) .*not numeric\. Encode them as numbers"
CELL = r"Row \d+ of y is .*Encode each as a number"
NO_LABEL = r"Row 0 has .*, which is not a label\. Labels must be strings, booleans or integers"
CONTINUOUS = r"Unknown label type: continuous\. Row \d+ has .*Labels must be strings, booleans or integers"
ONE = r"y has only one class, .*\. Fit rows from at least two classes"
MIXED = r"Labels of mixed types: row 0 has .*, row \d+ has .*Make all labels strings or all numbers"
TWO_D = r"2-D y must contain only 0 and 1, one column per label|y should be a 1d array of labels, one per row"

TARGETS: dict[str, Bad] = {
    "None": Bad(lambda: None, r"requires y to be passed, but the target y is None"),
    "a number": Bad(lambda: 3.0, SHAPE),
    "no dimension": Bad(lambda: np.array(1), SHAPE),
    "a text": Bad(lambda: "yes", NO_LIST),
    "bytes": Bad(lambda: b"a" * N, NO_LIST),
    "a set": Bad(lambda: {0, 1}, NO_LIST),
    "a dict": Bad(lambda: dict.fromkeys(range(N), 1), NO_LIST),
    "a generator": Bad(lambda: (v for v in CODES), NO_LIST),
    "an object": Bad(object, NO_LIST),
    "a function": Bad(lambda: len, NO_LIST),
    "an awkward object": Bad(Awkward, r"y is an Awkward, which cannot be read as an array: no array here"),
    "too few": Bad(lambda: CODES[:-1], LENGTH),
    "too many": Bad(lambda: np.append(CODES, 1), LENGTH),
    "none at all": Bad(lambda: CODES[:0], SHAPE),
    "a row": Bad(lambda: CODES[None, :], SHAPE + r"|X has 24 rows, but y has 1"),
    "three dimensions": Bad(lambda: CODES[:, None, None], SHAPE),
    "no columns": Bad(lambda: np.zeros((N, 0)), SHAPE),
    "ragged": Bad(lambda: [[1], [1, 2]] * (N // 2), r"rows of y differ in length: row 0 has 1 values, row 1 has 2"),
    "NaN": Bad(lambda: changed(CODES.astype(float), 3, nan), GAP),
    "infinity": Bad(lambda: changed(CODES.astype(float), 3, inf), INF),
    "infinity in float32": Bad(lambda: changed(CODES, 3, -inf, np.float32), INF),
    "NaN among objects": Bad(lambda: with_third(CODES, nan), GAP),
    "None among objects": Bad(lambda: with_third(CODES, None), GAP),
    "None in a list": Bad(lambda: [None, *CODES[1:].tolist()], GAP0),
    "nothing but None": Bad(lambda: [None] * N, GAP0),
    "masked": Bad(lambda: np.ma.masked_array(CODES, THIRD), MASKED),
    "complex": Bad(lambda: CODES + 1j, COMPLEX),
    "complex in a list": Bad(lambda: [1j if code else 2j for code in CODES], COMPLEX),
    "records": Bad(lambda: RECORDS, r"y contains records"),
    "bare bytes": Bad(lambda: np.zeros(N, "V2"), r"y contains records"),
    "dicts": Bad(lambda: [{"a": 1}] * N, f"{CELL}|{NO_LABEL}"),
    "lists among objects": Bad(lambda: cells([[int(code)] for code in CODES]), f"{CELL}|{NO_LABEL}"),
    "sets among objects": Bad(lambda: cells([{int(code)} for code in CODES]), f"{CELL}|{NO_LABEL}"),
    "classes among objects": Bad(lambda: cells([(int, str)[code] for code in CODES]), f"{CELL}|{NO_LABEL}"),
    "functions among objects": Bad(lambda: cells([(len, print)[code] for code in CODES]), f"{CELL}|{NO_LABEL}"),
    "NaT among dates": Bad(
        lambda: changed(np.datetime64("2020-01-01") + CODES, 3, np.datetime64("NaT")), f"{NOT_NUMERIC}|{GAP}"
    ),
    "NaT among durations": Bad(
        lambda: changed(np.timedelta64(1, "D") * CODES, 3, np.timedelta64("NaT")), f"{NOT_NUMERIC}|{GAP}"
    ),
    "words and a number": Bad(lambda: with_third(LABELS, 7), f"{CELL}|{MIXED}"),
    "bytes and text": Bad(lambda: [b"y" if code else "n" for code in CODES], f"{NOT_NUMERIC}|{MIXED}"),
    "sparse": Bad(lambda: sp.csr_matrix(CODES[:, None]), r"Sparse data was passed for y|y should be a 1d array"),
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

# Bad for numbers alone.
NUMBERS: dict[str, Bad] = {
    "words": Bad(lambda: LABELS, NOT_NUMERIC),
    "text numbers": Bad(lambda: Y.astype(str), NOT_NUMERIC),
    "text numbers among objects": Bad(lambda: Y.astype(str).astype(object), CELL),
    "NumPy strings": Bad(lambda: LABELS.astype(np.dtypes.StringDType()), NOT_NUMERIC),
    "bytes labels": Bad(lambda: LABELS.astype("S"), NOT_NUMERIC),
    "dates": Bad(lambda: np.datetime64("2020-01-01") + CODES, NOT_NUMERIC),
    "dates among objects": Bad(lambda: [dt.date(2020, 1, 1)] * N, CELL),
    "durations": Bad(lambda: np.timedelta64(1, "D") * CODES, NOT_NUMERIC),
    "a large integer": Bad(lambda: changed(CODES, 3, 2**60 + 1), r"integer in row 3, column 'y' exceeds 2\*\*53"),
    "a large object": Bad(lambda: with_third(CODES, 2**60 + 1), r"integer in row 3 of y exceeds 2\*\*53"),
    "10**400": Bad(lambda: with_third(CODES, 10**400), r"Row 3 of y is .*, which exceeds the float64 range"),
    "a long double beyond": Bad(lambda: changed(CODES, 3, np.longdouble("1e4000"), np.longdouble), INF),
    "NaN in one of two": Bad(
        lambda: np.column_stack([Y, changed(Y, 3, nan)]), r"y contains NaN: row 3, column 1\. Drop the row"
    ),
    "masked in one of two": Bad(
        lambda: np.ma.masked_array(np.column_stack([Y, Y]), np.column_stack([THIRD & False, THIRD])),
        r"y is masked, so missing: row 3, column 1",
    ),
    "names twice": Bad(lambda: pd.DataFrame(np.ones((N, 2)), columns=["a", "a"]), r"the name 'a' 2 times"),
}

# Bad for labels alone.
CLASSES: dict[str, Bad] = {
    "continuous": Bad(lambda: Y, CONTINUOUS),
    "continuous float32": Bad(lambda: Y.astype(np.float32), CONTINUOUS),
    "continuous in a list": Bad(Y.tolist, CONTINUOUS),
    "continuous objects": Bad(lambda: Y.astype(object), CONTINUOUS),
    "one fraction": Bad(lambda: changed(CODES.astype(float), 3, 0.5), CONTINUOUS),
    "decimals": Bad(lambda: [Decimal("0.5") + int(code) for code in CODES], CONTINUOUS),
    "fractions": Bad(lambda: [Fraction(1, 3) + int(code) for code in CODES], CONTINUOUS),
    "one class": Bad(lambda: np.repeat("yes", N), ONE),
    "one whole number": Bad(lambda: np.ones(N, dtype=int), ONE),
    "one truth": Bad(lambda: np.ones(N, dtype=bool), ONE),
    "one float": Bad(lambda: np.zeros(N), ONE),
    "zero and minus zero": Bad(lambda: np.where(CODES, 0.0, -0.0), ONE),
    "numbers and text": Bad(lambda: [1 if code else "0" for code in CODES], MIXED),
    "truths and numbers": Bad(lambda: [True if code else 2 for code in CODES], MIXED),
    "two columns of numbers": Bad(lambda: np.column_stack([CODES, CODES * 2]), TWO_D),
    "two columns with NaN": Bad(lambda: np.column_stack([CODES, changed(CODES.astype(float), 3, nan)]), TWO_D),
    "two complex columns": Bad(lambda: np.column_stack([CODES, CODES]) + 0j, f"Complex data not supported|{TWO_D}"),
    "two masked columns": Bad(
        lambda: np.ma.masked_array(np.column_stack([CODES, CODES]), np.column_stack([THIRD & False, THIRD])),
        r"y is masked, so missing: row 3, column 1",
    ),
}

LENGTHS = r"sample_weight\.shape == .*expected \(24,\)\. Pass one weight per row"
NO_WEIGHTS = r"sample_weight must be an array or a list with one entry per row, not an? "
LOST = r"Sample weights must contain at least one non-zero number. Give some rows a positive weight"
EXTREME = r"sample_weight is .* in row \d+, but weights must be 0 or between 1e-100 and 1e\+100\. Divide all"

WEIGHTS: dict[str, Bad] = {
    "too few": Bad(lambda: np.ones(N - 1), LENGTHS),
    "too many": Bad(lambda: np.ones(N + 1), LENGTHS),
    "none": Bad(lambda: [], LENGTHS),
    "a column": Bad(lambda: np.ones((N, 1)), LENGTHS),
    "a row": Bad(lambda: np.ones((1, N)), LENGTHS),
    "three dimensions": Bad(lambda: np.ones((N, 1, 1)), LENGTHS),
    "no dimension": Bad(lambda: np.array(1.0), LENGTHS),
    "sparse": Bad(lambda: sp.csr_matrix(np.ones((1, N))), LENGTHS),
    "a text": Bad(lambda: "balanced", NO_WEIGHTS + "str"),
    "bytes": Bad(lambda: b"1", NO_WEIGHTS + "bytes"),
    "a dict": Bad(lambda: {"yes": 1.0, "no": 2.0}, NO_WEIGHTS + "dict"),
    "a set": Bad(lambda: {1.0}, NO_WEIGHTS + "set"),
    "a generator": Bad(lambda: (1.0 for _ in range(N)), NO_WEIGHTS + "generator"),
    "an object": Bad(object, NO_WEIGHTS + "object"),
    "ragged": Bad(lambda: [[1.0], [1.0, 2.0]] * (N // 2), r"rows of sample_weight differ in length"),
    "text numbers": Bad(lambda: ["1"] * N, r"sample_weight contains text .*not numeric"),
    "text among objects": Bad(lambda: with_third(np.ones(N), "1"), r"Row 3 of sample_weight is '1'"),
    "None": Bad(lambda: [None] + [1.0] * (N - 1), r"sample_weight contains NaN: row 0"),
    "masked": Bad(lambda: np.ma.masked_array(np.ones(N), THIRD), r"sample_weight is masked, so missing: row 3"),
    "float32 NaN": Bad(lambda: changed(np.ones(N, np.float32), 3, nan), r"sample_weight contains NaN: row 3"),
    "infinity": Bad(lambda: changed(np.ones(N), 3, inf), r"sample_weight contains infinity: row 3"),
    "minus infinity": Bad(lambda: changed(np.ones(N), 3, -inf), r"sample_weight contains infinity: row 3"),
    "negative": Bad(lambda: changed(np.ones(N), 3, -0.5), r"Negative values in sample_weight: row 3 has -0\.5"),
    "hardly negative": Bad(lambda: changed(np.ones(N), 3, -5e-324), r"Negative values in sample_weight: row 3"),
    "one negative number": Bad(lambda: -1.0, r"Negative values in sample_weight: row 0"),
    "one NaN": Bad(lambda: nan, r"sample_weight contains NaN: row 0"),
    "one complex number": Bad(lambda: 1j, r"Complex data not supported: sample_weight"),
    "complex": Bad(lambda: np.ones(N) + 0j, r"Complex data not supported: sample_weight"),
    "dates": Bad(lambda: np.zeros(N, "M8[D]"), r"sample_weight contains dates .*not numeric"),
    "durations": Bad(lambda: np.ones(N, "m8[D]"), r"sample_weight contains durations .*not numeric"),
    "10**400": Bad(lambda: [10**400] * N, r"Row 0 of sample_weight is .*, which exceeds the float64 range"),
    "all zero": Bad(lambda: np.zeros(N), LOST),
    "all minus zero": Bad(lambda: -np.zeros(N), LOST),
    "one zero": Bad(lambda: 0, LOST),
    "sums that overflow": Bad(lambda: np.full(N, 1e308), EXTREME),
    "squares that overflow": Bad(lambda: np.full(N, 1e200), EXTREME),
    "subnormal": Bad(lambda: np.full(N, 5e-324), EXTREME),
    "squares that vanish": Bad(lambda: np.full(N, 1e-200), EXTREME),
    "giants among dwarfs": Bad(lambda: np.r_[1e308, np.full(N - 1, 1e-308)], EXTREME),
    "a frame": Bad(lambda: pd.DataFrame({"w": np.ones(N)}), LENGTHS),
    "NA": Bad(lambda: with_third(np.ones(N), pd.NA), r"sample_weight contains NaN: row 3"),
    "pandas NA": Bad(lambda: pd.Series([1, None] * (N // 2), dtype="Int64"), r"sample_weight contains NaN: row 1"),
    "polars null": Bad(lambda: pl.Series([1.0, None] * (N // 2)), r"sample_weight contains NaN: row 1"),
}
