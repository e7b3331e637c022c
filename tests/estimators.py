"""One table of estimators drives laws × kinds of rows × scikit-learn's checks × passes. A new estimator is a line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.models.elastic_net import ElasticNet
from linearly.models.elastic_net_cv import ElasticNetCV
from linearly.models.linear_regression import LinearRegression
from linearly.models.ridge_cv import RidgeCV

# What must not change the model: how rows are split, their order, …; `scale` and `shift` are of columns of X.
LAWS = frozenset({"split", "stream", "order", "duplicate", "absent", "weight", "scale", "shift", "rotate", "merge"})
LAWS |= {"unlearn"}


@dataclass(frozen=True)
class Entry:
    """An estimator, the laws it obeys, how closely, and the passes it may take over well-behaved rows."""

    name: str
    make: Callable[[], Any]
    laws: frozenset[str] = LAWS
    passes: int = 1
    tolerance: float = 1e-10
    twin: bool = False  # of another entry, as far as scikit-learn's checks can see

    def __str__(self) -> str:
        return self.name


def entry(make: Callable[[], Any], name: str = "", *, without: set[str] = frozenset(), **rest: Any) -> Entry:
    return Entry(name or repr(make()), make, LAWS - without, **rest)


REGRESSION = [
    entry(lambda: LinearRegression()),
    entry(lambda: LinearRegression(method="gram"), twin=True),
    entry(lambda: LinearRegression(method="qr"), without={"unlearn"}),
    entry(lambda: LinearRegression(method="extended"), passes=2),
    entry(lambda: LinearRegression(fit_intercept=False), without={"shift"}),
    entry(lambda: LinearRegression(fit_intercept=False, method="qr"), without={"shift", "unlearn"}, twin=True),
    entry(lambda: LinearRegression(fit_intercept=False, method="extended"), without={"shift"}, passes=2, twin=True),
    entry(lambda: LinearRegression(alpha=1.0), without={"scale", "weight"}),
    entry(lambda: LinearRegression(alpha=1.0, method="qr"), without={"scale", "weight", "unlearn"}, twin=True),
    entry(lambda: LinearRegression(alpha=1.0, method="extended"), without={"scale", "weight"}, twin=True),
    entry(lambda: LinearRegression(alpha=1.0, fit_intercept=False), without={"scale", "weight", "shift"}, twin=True),
    entry(lambda: LinearRegression(alpha=1.0, penalize_intercept=True), without={"scale", "weight", "shift"}),
    entry(
        lambda: LinearRegression(alpha=1.0, penalize_intercept=True, method="qr"),
        without={"scale", "weight", "shift", "unlearn"},
        twin=True,
    ),
    entry(lambda: LinearRegression(covariance="HC0"), without={"stream", "merge", "unlearn"}, passes=2, twin=True),
    entry(lambda: LinearRegression(covariance="HC3"), without={"stream", "merge", "unlearn"}, passes=2),
    entry(lambda: LinearRegression(method="gradient_descent"), tolerance=1e-5),
    # The values of a row decide its fold.
    entry(
        lambda: RidgeCV(alphas=[0.1, 1.0, 10.0]),
        without={"stream", "weight", "scale", "shift", "rotate", "unlearn"},
    ),
    entry(
        lambda: RidgeCV(alphas=[0.1, 1.0, 10.0], cv="loo"),
        without={"stream", "duplicate", "weight", "scale", "merge", "unlearn"},
        passes=2,
    ),
    entry(lambda: ElasticNet(alpha=0.5), without={"scale", "weight", "rotate"}),
    entry(lambda: ElasticNet(alpha=0.5, l1_ratio=0.5, standardize=True), without={"weight", "rotate"}),
    entry(
        lambda: ElasticNet(alpha=0.5, fit_intercept=False), without={"scale", "weight", "rotate", "shift"}, twin=True
    ),
    entry(
        lambda: ElasticNetCV(alphas=[0.1, 1.0, 10.0]),
        without={"stream", "weight", "scale", "shift", "rotate", "unlearn"},
    ),
]


def obeying(law: str) -> list[Entry]:
    assert law in LAWS
    return [e for e in REGRESSION if law in e.laws]


class CutRows(Rows):
    """Rows cut anywhere, that count the passes made over them."""

    def __init__(self, X: Any, y: Any = None, weight: Any = None, cuts: Any = ()) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.names = tuple(f"x{j}" for j in range(X.shape[1]))
        self.edges = [0, *sorted(cuts), X.shape[0]]
        self.passes = 0

    def _blocks(self):
        for start, stop in zip(self.edges[:-1], self.edges[1:], strict=True):
            y = None if self.y is None else self.y[start:stop]
            weight = None if self.weight is None else self.weight[start:stop]
            yield Block(self.X[start:stop], y, weight, start, self.names)

    def __iter__(self):
        self.passes += 1
        yield from self._blocks()

    def reduce(self, f):
        self.passes += 1
        return reduce_blocks((lambda block=block: block for block in self._blocks()), f)


def columns(X: np.ndarray) -> dict[str, np.ndarray]:
    return {f"x{j}": column for j, column in enumerate(X.T)}


# The same whole numbers as every kind of rows.
KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(columns(X)),
    "pandas, integer names": lambda X: pd.DataFrame(X),
    "pandas, Int32": lambda X: pd.DataFrame(columns(X)).astype("Int32"),
    "polars": lambda X: pl.DataFrame(columns(X)),
    "Arrow": lambda X: pa.table(columns(X)),
    "CSR": sp.csr_matrix,
    "CSC": sp.csc_matrix,
    "COO array": sp.coo_array,
    "rows": lambda X: X,  # passed as `Rows`, see test_laws
}
