"""What tests on Dask and Spark share: tables cut into given partitions, parameter mixing by hand, and a killer."""

import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from linearly.selftest.clusters import fitted_despite_a_kill, same_fit


def fitted(model: Any, *rows: Any) -> Any:
    """The model, fitted; that it did not settle goes without saying."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*rows)


def dask_array(values: np.ndarray, edges: list[int]) -> Any:
    import dask.array as da

    return da.from_array(values, chunks=(tuple(np.diff(edges).tolist()), *((2,) if values.ndim == 2 else ())))


def dask_frame(columns: dict[str, np.ndarray], edges: list[int]) -> Any:
    import dask.dataframe as dd

    whole = pd.DataFrame(columns)
    parts = [whole.iloc[a:b] for a, b in pairwise(edges)]
    return dd.from_map(lambda k: parts[k], range(len(parts)), meta=whole.iloc[:0])


def spark_frame(spark: Any, columns: dict[str, Any], edges: list[int]) -> Any:
    """A DataFrame with just these partitions, the empty ones too."""
    whole = pd.DataFrame(columns)
    schema = spark.createDataFrame(whole.iloc[:2]).schema
    records = list(whole.astype(object).itertuples(index=False, name=None))
    parts = [records[a:b] for a, b in pairwise(edges)]
    dealt = spark.sparkContext.parallelize(range(len(parts)), len(parts)).flatMap(lambda k: parts[k])
    return spark.createDataFrame(dealt, schema).persist()


def pickled_by_value(module: str) -> None:
    """Send what a test module defines to workers, which cannot import it."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[module])
    try:
        import pyspark.cloudpickle
    except ImportError:
        return
    pyspark.cloudpickle.register_pickle_by_value(sys.modules[module])


def mixed_by_hand(X: np.ndarray, labels: np.ndarray, passes: int, edges: list[int]) -> tuple[np.ndarray, ...]:
    """Iterative parameter mixing as the paper writes it, row by row: the last weights, their mean; intercept last."""
    classes, codes = np.unique(labels, return_inverse=True)
    K = len(classes)
    Z = np.column_stack([X, np.ones(len(X))])
    w = np.zeros((1 if K == 2 else K, Z.shape[1]))
    total, seen = np.zeros_like(w), 0
    for _ in range(passes):
        shards = []
        for start, stop in pairwise(edges):
            v, made = w.copy(), 0
            for z, k in zip(Z[start:stop], codes[start:stop], strict=True):
                if K == 2:
                    sign = 2 * k - 1
                    if sign * (v[0] @ z) <= 0:
                        v[0] += sign * z
                        made += 1
                else:
                    scores = v @ z
                    others = np.where(np.arange(K) == k, -np.inf, scores)
                    rival = int(np.argmax(others))
                    if scores[k] <= scores[rival]:
                        v[k] += z
                        v[rival] -= z
                        made += 1
                total, seen = total + v, seen + 1
            shards.append((made, v))
        k = sum(made for made, _ in shards)
        if k == 0:
            break
        w = sum(made / k * v for made, v in shards)
    return w, total / seen


def kill_one(client: Any, folder: Path, at: int) -> None:
    """A logistic regression during whose pass number `at` the worker of partition 1 is killed: the same bits."""
    folder.mkdir()
    expected, model, killed = fitted_despite_a_kill(client, folder, at)
    if isinstance(model, Exception):
        raise model
    assert killed, "no worker was killed"
    assert same_fit(expected, model)
