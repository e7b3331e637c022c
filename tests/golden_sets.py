"""Numbers that R computed (tests/golden/*.json), and the data sets that its least squares were fitted to."""

import json
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from linearly.exceptions import PrecisionWarning
from linearly.models.linear_regression import LinearRegression


def read_golden(name):
    """Return what the R script of this name in tests/golden wrote."""
    return json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text(encoding="utf-8"))


LM = read_golden("lm")


class Case(NamedTuple):
    """A data set with the numbers of R; `golden[kind]` holds the numbers of one kind of fit."""

    name: str
    golden: dict
    X: np.ndarray
    y: np.ndarray

    def fit(self, kind="fit", **parameters):
        """Return the model that R calls fit, weighted, zero_weighted, no_intercept or rank_deficient."""
        weight = self.golden[kind].get("weights")
        if kind == "rank_deficient":
            copy = np.column_stack([self.X, self.X[:, 0]])
            with pytest.warns(np.exceptions.RankWarning, match=f"^Column 'x{self.X.shape[1]}' is "):
                return LinearRegression(**parameters).fit(copy, self.y)
        model = LinearRegression(fit_intercept=kind != "no_intercept", **parameters)
        with warnings.catch_warnings():
            if parameters.get("method") == "gram":  # it may say that ten digits are not sure; eight are asked for here
                warnings.simplefilter("ignore", PrecisionWarning)
            return model.fit(self.X, self.y, sample_weight=weight)


def case_of(name):
    """Return the data set of this name in lm.json."""
    golden = LM["data"][name]
    data = {column: np.array(values, dtype=np.float64) for column, values in golden["data"].items()}
    X = np.column_stack([data[feature] for feature in golden["features"]])
    return Case(name, golden, X, data[golden["response"]])


def assert_as_in_r(actual, expected, rel=1e-8):
    """Check equality to a relative `rel`; entries that R leaves out (null) are not compared."""
    actual, expected = np.asarray(actual, dtype=np.float64), np.array(expected, dtype=np.float64)
    known = ~np.isnan(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual[known], expected[known], rtol=rel, atol=0)
