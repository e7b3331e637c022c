"""Hostile tables: data frames, dicts, CSV bytes and formulas that `ly.fit` and `Model` must refuse by name."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from hostile import LABELS, Bad, N, X, Y, changed, inf, nan

import linearly as ly
from linearly.models.registry import MODELS, classifies

GOOD: dict[str, Any] = {"age": X[:, 0], "height": X[:, 1], "income": X[:, 2], "y": Y, "label": LABELS}
FEATURES = ["age", "height", "income"]
NEW = {"age": [1.0], "height": [2.0], "income": [3.0]}


def aged(values: Any) -> dict[str, Any]:
    """The columns with another age."""
    return {**GOOD, "age": values}


def target(model: str) -> str:
    return "label" if classifies(model) else "y"


def csv(*ages: str) -> io.BytesIO:
    """An open CSV file with these ages in its first lines."""
    values = [*ages, *map(str, X[len(ages) :, 0])]
    lines = [f"{a},{b},{c},{y},{label}" for a, b, c, y, label in zip(values, X[:, 1], X[:, 2], Y, LABELS, strict=True)]
    return io.BytesIO("\n".join(["age,height,income,y,label", *lines]).encode())


NO_DATA = r"data must be a data frame, a dict of columns, a path or a table on a cluster, not "
ONE_A_ROW = r"Column 'age' must be a list or an array with one value per row, not "
UNREAD = r"Column 'age' cannot be read as numbers or text"
KIND = r"Column 'age' is .*, which is neither numeric nor text\. Leave it out, or convert it to numbers"
DATE = r"Column 'age' is a date or time\. Convert it to numbers first"
MISSING = r"Column 'age' is missing in (row|line) \d+.*Fill in the value, or choose missing=\"drop\""
BEYOND = r"integer in (row|line) \d+.*, column 'age' exceeds 2\*\*53"

# Data that no model can learn from; the features are age, height and income.
DATA: dict[str, Bad] = {
    "None": Bad(lambda: None, NO_DATA),
    "a number": Bad(lambda: 3, NO_DATA),
    "an array": Bad(lambda: X, NO_DATA),
    "a sparse matrix": Bad(lambda: sp.csr_matrix(X), NO_DATA),
    "a set": Bad(lambda: {1}, NO_DATA),
    "a generator": Bad(lambda: (row for row in X), NO_DATA),
    "bytes": Bad(lambda: b"age,y\n1,2\n", NO_DATA),
    "a series": Bad(lambda: pd.Series(Y), r"data= is a series"),
    "a list of numbers": Bad(lambda: [1, 2], r"The file must be a path or an open binary file, not int"),
    "a list of dicts": Bad(lambda: [{"age": 1}], r"The file must be a path or an open binary file, not dict"),
    "an empty list": Bad(lambda: [], r"The list of files is empty"),
    "an empty dict": Bad(dict, r"The target column .* does not exist"),
    "a dict of numbers": Bad(lambda: aged(1.0), ONE_A_ROW + "float"),
    "a dict of None": Bad(lambda: aged(None), ONE_A_ROW + "NoneType"),
    "a text as column": Bad(lambda: aged("a" * N), ONE_A_ROW + "str"),
    "a set as column": Bad(lambda: aged(set(range(N))), ONE_A_ROW + "set"),
    "a generator as column": Bad(lambda: aged(v for v in range(N)), ONE_A_ROW + "generator"),
    "a matrix as column": Bad(lambda: aged(X), ONE_A_ROW + r"ndarray of shape \(24, 3\)"),
    "columns of two lengths": Bad(lambda: aged(X[:3, 0]), r"The columns have different lengths: .*'age': 3"),
    "one name in two types": Bad(lambda: {0: X[:, 0], "0": X[:, 1], **GOOD}, r"Two columns have the same name"),
    "numbers and text": Bad(lambda: aged([1, "a"] * (N // 2)), UNREAD),
    "complex numbers": Bad(lambda: aged(X[:, 0] + 1j), UNREAD),
    "objects": Bad(lambda: aged([object()] * N), UNREAD),
    "10**400": Bad(lambda: aged([10**400] * N), UNREAD),
    "a masked cell": Bad(lambda: aged(np.ma.masked_array(X[:, 0], np.arange(N) == 3)), MISSING),
    "None in a column": Bad(lambda: aged([None, *X[1:, 0]]), MISSING),
    "NaN": Bad(lambda: aged(changed(X[:, 0], 3, nan)), r"contains NaN: row 3, column 'age'"),
    "infinity": Bad(lambda: aged(changed(X[:, 0], 3, inf)), r"contains infinity: row 3, column 'age'"),
    "a large integer": Bad(lambda: aged([2**60 + 1] * N), BEYOND),
    "dates": Bad(lambda: aged([dt.date(2020, 1, 1)] * N), DATE),
    "lists": Bad(lambda: aged([[1.0]] * N), KIND),
    "dicts": Bad(lambda: aged([{"a": 1}] * N), KIND),
    "binary": Bad(lambda: aged([b"a"] * N), KIND),
    "nothing but None": Bad(lambda: aged([None] * N), KIND),
    "pandas names twice": Bad(
        lambda: pd.DataFrame(GOOD).rename(columns={"height": "age"}), r"Several columns have the name 'age' 2 times"
    ),
    "Arrow names twice": Bad(
        lambda: pa.table([pa.array(X[:, 0])] * 2, names=["age", "age"]), r"Several columns have the name 'age' 2 times"
    ),
    "pandas mixed objects": Bad(
        lambda: pd.DataFrame(aged(np.array([1, "a"] * (N // 2), dtype=object))),
        r"'age' contains a number, 1, in row 0 and text, 'a', in row 1",
    ),
    "pandas lists": Bad(lambda: pd.DataFrame(aged([[1]] * N)), r"'age' contains neither numbers nor text"),
    "pandas tuples": Bad(lambda: pd.DataFrame(aged([(1, 2)] * N)), r"'age' contains neither numbers nor text"),
    "pandas periods": Bad(lambda: pd.DataFrame(aged(pd.period_range("2020", periods=N, freq="D"))), KIND),
    "pandas complex": Bad(lambda: pd.DataFrame(aged(X[:, 0] + 1j)), KIND),
    "pandas NA": Bad(lambda: pd.DataFrame(aged(pd.array([1, None] * (N // 2), dtype="Int64"))), MISSING),
    "polars lists": Bad(lambda: pl.DataFrame(aged([[1.0]] * N)), KIND),
    "polars null": Bad(lambda: pl.DataFrame(aged([None, *X[1:, 0]])), MISSING),
    "polars Int128": Bad(lambda: pl.DataFrame(aged(pl.Series([2**100] * N, dtype=pl.Int128))), BEYOND),
    "Arrow structs": Bad(lambda: pa.table(aged([{"a": 1}] * N)), KIND),
    "no rows": Bad(lambda: pd.DataFrame(GOOD)[:0], r"The data contain no rows to fit|is empty, so it has no levels"),
    "CSV infinity": Bad(lambda: csv("inf"), r"contains infinity: line 2 of .*column 'age'"),
    "CSV NaN": Bad(lambda: csv("1", "nan"), MISSING),
    "CSV gap": Bad(lambda: csv("1", ""), MISSING),
    "CSV beyond float64": Bad(lambda: csv("1e999"), r"contains infinity: line 2 of .*column 'age'"),
    "CSV large integer": Bad(
        lambda: io.BytesIO(b"age,height,income,y,label\n9007199254740993,1,2,3,no\n2,1,3,4,yes\n"), BEYOND
    ),
    "CSV empty": Bad(io.BytesIO, r"the open file is empty"),
    "CSV header alone": Bad(lambda: io.BytesIO(b"age,height,income,y,label\n"), r"contains column names but no rows"),
    "CSV short line": Bad(lambda: io.BytesIO(csv().getvalue() + b"\n1,2"), r"Line 26 of the open file has 2 fields"),
    "CSV names twice": Bad(
        lambda: io.BytesIO(b"age,age,y\n1,2,3\n"), r"the open file has two columns with the name 'age'"
    ),
    "CSV as text": Bad(lambda: io.StringIO("age,y\n1,2\n"), r"the open file is open as text. Open it in binary mode"),
    "garbage": Bad(lambda: io.BytesIO(bytes(range(256))), r"the open file is not Parquet, Arrow or CSV"),
    "half a Parquet file": Bad(lambda: io.BytesIO(b"PAR1garbage"), r"not a Parquet file, or is truncated"),
}


def fit(**how: Any) -> Callable[[], Any]:
    """A call of fit on good columns."""
    return lambda: ly.fit(GOOD, **how)


def weighed(weight: Any) -> Callable[[], Any]:
    return lambda: ly.fit({**GOOD, "w": weight}, target="y", features=FEATURES, weight="w")


def computed(formula: str) -> Callable[[], Any]:
    return lambda: ly.fit(GOOD, formula=formula)


# Calls that say something that cannot be meant.
CALLS: dict[str, Bad] = {
    "no target": Bad(fit(), r"Pass target=.* or formula="),
    "target and formula": Bad(fit(target="y", formula="y ~ age"), r"requires exactly one of target= and formula="),
    "an unknown target": Bad(fit(target="yy"), r"The target column 'yy' does not exist\. Did you mean 'y'"),
    "a number as target": Bad(fit(target=3), r"The target column must be given by its name \(a string\), not 3"),
    "a list as target": Bad(
        fit(target=["y"]),
        r"The target column must be given by its name \(a string\), not \['y'\]",
    ),
    "an unknown feature": Bad(
        fit(target="y", features=["agee"]), r"The column 'agee' does not exist\. Did you mean 'age'"
    ),
    "a text as features": Bad(fit(target="y", features="age"), r"a list of names, not one string. Write \['age'\]"),
    "a number as feature": Bad(
        fit(target="y", features=[0]), r"The column must be given by its name \(a string\), not 0"
    ),
    "no features": Bad(fit(target="y", features=[]), r"The data contain no column besides the target"),
    "a feature twice": Bad(fit(target="y", features=["age", "age"]), r"features= contains the name 'age' 2 times"),
    "the target as feature": Bad(fit(target="y", features=["y"]), r"The target 'y' cannot also be a feature"),
    "the target as weight": Bad(fit(target="y", features=["age"], weight="y"), r"target 'y' cannot also be a weight"),
    "an unknown weight": Bad(fit(target="y", weight="w"), r"The weight column 'w' does not exist"),
    "a text weight": Bad(fit(target="y", features=["age"], weight="label"), r"Column 'label' is text, not numeric"),
    "a negative weight": Bad(
        weighed(-np.ones(N)), r"The weight 'w' is negative in row 0: -1\.0\. Make all weights at least 0"
    ),
    "no weight": Bad(weighed(np.zeros(N)), r"pass rows with positive weight"),
    "a NaN weight": Bad(weighed(np.r_[nan, np.ones(N - 1)]), r"sample_weight contains NaN: row 0"),
    "an infinite weight": Bad(weighed(np.r_[inf, np.ones(N - 1)]), r"The weight 'w' is inf in row 0"),
    "a huge weight": Bad(weighed(np.r_[1e308, np.ones(N - 1)]), r"The weight 'w' is 1e\+308 in row 0.*Divide all"),
    "an unknown model": Bad(fit(target="y", model="forest"), r"model must be one of auto, linear, .*, not 'forest'"),
    "a class as model": Bad(fit(target="y", model=ly.RidgeCV), r"model must be one of auto, linear"),
    "an unknown parameter": Bad(fit(target="y", alphaa=1), r"Model 'linear' has no parameter 'alphaa'\. Choose"),
    "a bad parameter": Bad(fit(target="y", alpha=-1), r"alpha must be a number of at least 0, not -1"),
    "an unknown policy": Bad(fit(target="y", missing="ignore"), r"missing must be one of .*, not 'ignore'"),
    "another unknown policy": Bad(fit(target="y", unseen="x"), r"unseen must be one of .*, not 'x'"),
    "a path as like": Bad(fit(like="model.json"), r"like= must be a fitted Model, not str\. Load"),
    "words for numbers": Bad(fit(target="label", model="linear"), r"but model 'linear' predicts numbers"),
    "a number as formula": Bad(fit(formula=3), r"The formula must be text, not int"),
    "features beside a formula": Bad(fit(formula="y ~ age", features=["age"]), r"features= cannot be combined"),
    "an empty formula": Bad(computed(""), r"A formula must have one ~"),
    "a formula without target": Bad(computed("~ age"), r"lacks a target before the ~"),
    "a formula without terms": Bad(computed("y ~"), r"lacks a term after the ~"),
    "a formula without features": Bad(computed("y ~ 0"), r"has no term"),
    "an unknown column": Bad(computed("y ~ agee"), r"The column 'agee' does not exist\. Did you mean 'age'"),
    "code in a formula": Bad(
        computed("y ~ {__import__('os')}"), r"The function '__import__' is not available in formulas"
    ),
    "an unknown function": Bad(computed("y ~ system(age)"), r"The function 'system' is not available in formulas"),
    "a logarithm of minus two": Bad(computed("y ~ log(age)"), r"log\(age\) is not a number in row \d+, where age is -"),
    "a root of minus two": Bad(computed("y ~ sqrt(age)"), r"sqrt\(age\) is not a number in row \d+"),
    "a division by zero": Bad(computed("y ~ I(1/(age - age))"), r"is infinite in row 0"),
    "a logarithm of words": Bad(computed("y ~ log(label)"), r"Column 'label' contains text"),
    "the target on both sides": Bad(computed("y ~ y"), r"The target 'y' cannot also be a feature"),
    "deep brackets": Bad(computed("y ~ " + "(" * 500 + "age" + ")" * 500), r"more than 30 nested brackets"),
    "a long formula": Bad(
        computed("y ~ " + "+".join(["age"] * 20_000)), r"80003 characters, more than the limit of 10000"
    ),
    "a high degree": Bad(
        computed("y ~ poly(age, 50)"), r"degree of a polynomial must be an integer from 1 to 20, not 50"
    ),
    "a zero byte": Bad(computed("y ~ age\x00"), r"The formula contains the invalid character '\\x00'"),
    "an open bracket": Bad(computed("y ~ (age"), r"lacks a closing '\)'"),
    "no file": Bad(lambda: ly.fit("nowhere/none.csv", target="y"), r"The file .* does not exist"),
}

# New rows that a fitted model cannot read.
ROWS: dict[str, Bad] = {
    "a missing column": Bad(lambda: {"age": [1.0]}, r"The column 'height' does not exist"),
    "text": Bad(lambda: {**NEW, "age": ["x"]}, r"Column 'age' is text, not numeric\. Convert it to numbers"),
    "a word among numbers": Bad(
        lambda: {"age": ["1.0", "?"], "height": [2.0, 2.0], "income": [3.0, 3.0]},
        r"'\?' in row 1, column 'age', is not a number\. Correct it, or leave it empty",
    ),
    "text that looks like a number": Bad(lambda: {**NEW, "age": ["1.0"]}, r"Column 'age' is text, not numeric"),
    "a date": Bad(lambda: {**NEW, "age": [dt.date(2020, 1, 1)]}, r"Column 'age' is Date, not numeric"),
    "a duration": Bad(lambda: {**NEW, "age": [dt.timedelta(1)]}, r"Column 'age' is Duration.*, not numeric"),
    "NaN": Bad(lambda: {**NEW, "age": [nan]}, r"contains NaN: row 0, column 'age'"),
    "infinity": Bad(lambda: {**NEW, "age": [inf]}, r"contains infinity: row 0, column 'age'"),
    "None": Bad(lambda: {**NEW, "age": [None]}, MISSING),
    "no data": Bad(lambda: None, NO_DATA),
    "an array": Bad(lambda: X, NO_DATA),
    "a number for a column": Bad(lambda: {**NEW, "age": 1.0}, ONE_A_ROW + "float"),
    "a large integer": Bad(lambda: {**NEW, "age": [2**60 + 1]}, BEYOND),
    "names twice": Bad(
        lambda: pd.DataFrame([[1.0] * 4], columns=["age", "age", "height", "income"]), r"the name 'age' 2 times"
    ),
}

__all__ = ["CALLS", "DATA", "FEATURES", "GOOD", "MODELS", "NEW", "ROWS", "target"]
