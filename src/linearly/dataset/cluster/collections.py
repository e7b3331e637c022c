"""Accept collections of Dask and Spark: `from_dask`, `from_spark`, and predictions with the same partitions.

Dask and Spark are imported when the first collection of theirs is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from linearly.dataset.cluster.partitions import PredictChunk, prediction_of_zeros
from linearly.dataset.rows.block import Rows

if TYPE_CHECKING:
    from linearly.dataset.cluster.dask import DaskRows
    from linearly.dataset.design.design import DesignRows


def from_dask(X: Any, y: Any = None, weight: Any = None) -> DaskRows:
    """Return rows of a Dask collection for the ``fit`` of any estimator.

    Estimators also accept Dask arrays and numeric data frames directly: ``fit(X, y)``. Pass a data frame with
    categories to ``ly.fit(frame, target=...)``.

    Parameters
    ----------
    X : Dask array, Dask data frame, bag or list of delayed
        Numeric features, or a bag (or list of delayed) of `Block`.
    y, weight : Dask array or column of a Dask data frame, optional
        Targets and weights, with the rows of X in the same order.

    Returns
    -------
    DaskRows
        The rows, which the workers reduce where they are.

    See Also
    --------
    from_spark : The same for Spark.
    """
    try:
        from linearly.dataset.cluster.dask import dask_rows
    except ModuleNotFoundError as missing:
        raise ImportError(f"Dask rows require {missing.name}. Run: pip install 'linearly[dask]'.") from missing
    return dask_rows(X, y, weight, labels=True)


def from_spark(
    frame: Any,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    missing: str = "error",
) -> DesignRows:
    """Return rows of a Spark DataFrame for the ``fit`` of any estimator.

    Text columns are categories, and decimals become float64. Levels of categories are found in a pass over those
    columns. Every pass computes the DataFrame again, so call ``frame.persist()`` first if it is expensive to compute.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table.
    target : str, optional
        Name of the target column.
    features : sequence of str, optional
        Names of the features. By default, all columns except target and weight.
    weight : str, optional
        Name of the weight column.
    missing : {"error", "drop"}, default="error"
        Treatment of rows with NULL: an error, or left out.

    Returns
    -------
    DesignRows
        The rows, which the executors reduce.

    See Also
    --------
    from_dask : The same for Dask.
    """
    try:
        from linearly.dataset.cluster.spark import SparkTables
    except ModuleNotFoundError as absent:
        raise ImportError(f"Spark rows require {absent.name}. Run: pip install 'linearly[spark]'.") from absent
    from linearly.dataset.design.design import DesignRows, design_of  # every fit imports this module
    from linearly.dataset.design.zero_weights import fit_design

    tables = SparkTables(frame)
    design = design_of(tables.schema, target=target, features=features, weight=weight, missing=missing)
    return DesignRows(tables, fit_design(design, tables))


def rows_from_cluster(X: Any, y: Any = None, weight: Any = None, *, labels: bool = False) -> Rows | None:
    """Return the rows of X on Dask with y and weights; None if X is not on Dask. With ``labels``, y may be text."""
    home = type(X).__module__.partition(".")[0]
    if home in ("dask", "dask_expr"):
        from linearly.dataset.cluster.dask import dask_rows

        return dask_rows(X, y, weight, labels=labels)
    if home == "pyspark":
        raise TypeError(
            "A Spark DataFrame contains features and target together. Call fit(ly.from_spark(frame, target=...)) or "
            "ly.fit(frame, target=...)."
        )
    return None


def predictions_on_cluster(
    X: Any, predict: Callable[[Rows], NDArray[Any]], what: str, labels: Callable[[int], Sequence[Any]]
) -> Any | None:
    """Return an estimator's predictions for rows on a cluster, as a collection there that stays with its rows.

    It is an array or a data frame on Dask for one on Dask, and for columns of a table (`from_spark`) that table with
    ``what``, or what[label] for each of k labels; None for all other rows.
    """
    home = type(X).__module__.partition(".")[0]
    if home in ("dask", "dask_expr") and hasattr(X, "ndim"):
        from linearly.dataset.cluster.dask import dask_predictions

        return dask_predictions(X, predict, labels)
    tables: Any = getattr(X, "tables", None)
    if not hasattr(tables, "with_predictions"):
        return None
    rows: Any = X
    design = rows.design.without_target()
    names, example = [what], prediction_of_zeros(predict, design.names)
    if example.ndim == 2:
        names = [f"{what}[{label}]" for label in labels(example.shape[1])]
    kinds = dict(zip(names, example.T if example.ndim == 2 else [example], strict=True))
    return tables.with_predictions(PredictChunk(design, predict), kinds)
