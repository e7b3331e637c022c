"""Data and expected values of questions to fitted models, by R: see golden/questions.R."""

import json
import math
from pathlib import Path

import numpy as np

GOLDEN = json.loads((Path(__file__).parent / "golden" / "questions.json").read_text(encoding="utf-8"))
DATA = GOLDEN["data"]
EMPTY_CELL = {name: [values[i - 1] for i in GOLDEN["empty"]["row"]] for name, values in DATA.items()}
WALD = ("estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high")


def numbers(values):
    """Return values of JSON, in which null is NaN."""
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def assert_columns(table, expected, columns, rtol=1e-8):
    """Raise unless columns of a table are the expected ones, NaN included."""
    for name in columns:
        wanted = numbers(expected[name])
        np.testing.assert_allclose(np.asarray(table[name], dtype=np.float64)[: len(wanted)], wanted, rtol, err_msg=name)
