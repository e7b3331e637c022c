"""Convert data of any container to `Tables`: frames, dicts, files, streams and tables on a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from linearly.dataset.design.design import Design, DesignRows, design_of
from linearly.dataset.design.missing_markers import as_markers, without_markers
from linearly.dataset.design.numeric_text_checks import check_no_numeric_text
from linearly.dataset.design.zero_weights import fit_design
from linearly.dataset.rows.block import is_frame
from linearly.dataset.rows.level_spelling import spell_level
from linearly.dataset.rows.tables import FrameTables, Tables
from linearly.exceptions import ColumnTypeWarning, warn_at_caller


def as_tables(data: Any) -> Tables:
    """Return the tables of a data frame, a dict of columns, files, Arrow batches or a table on a cluster."""
    if isinstance(data, dict):
        return FrameTables(frame_of(data))
    if all(hasattr(data, name) for name in ("reduce", "select", "schema")) and not is_frame(data):
        return data  # type: ignore[no-any-return]
    home = type(data).__module__.split(".")[0]
    if home in ("dask", "dask_expr"):
        from linearly.dataset.cluster.dask import DaskTables

        return DaskTables(data)
    if home == "pyspark":
        from linearly.dataset.cluster.spark import SparkTables

        return SparkTables(data)
    if nw.dependencies.is_pyarrow_table(data) or (home == "pyarrow" and type(data).__name__ == "RecordBatch"):
        return FrameTables(_plain_table(data))
    if is_frame(data):
        return FrameTables(data)
    if nw.dependencies.is_into_series(data):
        raise TypeError(
            "data= is a series, which is a single column. Pass a data frame with the target and the features."
        )
    if isinstance(data, (str, os.PathLike, list, tuple)) or hasattr(data, "read"):
        from linearly.dataset.files.tables import file_tables

        return file_tables(data)
    if any(hasattr(data, name) for name in ("__arrow_c_stream__", "collect_batches", "scanner")):
        from linearly.dataset.files.tables import stream_tables

        return stream_tables(data)
    raise TypeError(
        "data must be a data frame, a dict of columns, a path or a table on a cluster, not "
        f"{type(data).__name__}. Pass one of these."
    )


def read_as(data: Any, design: Design) -> Tables:
    """Return the tables of data, with text columns and markers of missing values as a design has them."""
    return without_markers(as_tables(data).with_text(design.text_columns), design.na_values)


def frame_of(columns: dict[str, Any]) -> Any:
    """Return a data frame of a dict of columns or of the values of one row, by pyarrow or pandas if that is missing."""
    if all(np.isscalar(value) or value is None or isinstance(value, date) for value in columns.values()):
        columns = {name: [value] for name, value in columns.items()}
    for name, values in columns.items():
        ordered = hasattr(values, "__len__") and not isinstance(values, (str, bytes, dict, set, frozenset))
        if not ordered or getattr(values, "ndim", 1) != 1:
            kind = type(values).__name__ + (f" of shape {values.shape}" if hasattr(values, "shape") else "")
            raise ValueError(
                f"Column {name!r} must be a list or an array with one value per row, not {kind}. Convert the column."
            )
    lengths = {str(name): len(values) for name, values in columns.items()}
    if len(lengths) < len(columns):
        raise ValueError(f"Two columns have the same name: {', '.join(map(repr, columns))}. Rename one of them.")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"The columns have different lengths: {lengths}. Give all columns one value per row.")
    try:
        import pyarrow as pa
    except ImportError:
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "A dict of columns needs pyarrow or pandas. Run: pip install 'linearly[files]'."
            ) from None
        return pd.DataFrame(columns)
    return _plain_table(pa.table({str(name): _arrow(pa, str(name), values) for name, values in columns.items()}))


def _plain_table(data: Any) -> Any:
    """Return an Arrow table of a table or record batch, with views of text as text."""
    import pyarrow as pa

    from linearly.dataset.files.read_units import plain_views

    return pa.table([plain_views(column) for column in data.columns], names=data.schema.names)


def _pandas_arrow(pa: Any, values: Any) -> Any:
    """Return a pandas column as an Arrow column, with its categories in their order."""
    if not hasattr(values, "categories"):
        return pa.array(values, from_pandas=True)
    categories: Any = values.categories
    numbers = getattr(categories.dtype, "kind", "O") in "biuf"
    words = pa.array(categories) if numbers else pa.array(list(map(spell_level, categories)), pa.string())
    codes = np.asarray(values.codes)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), words, ordered=True)


def _arrow(pa: Any, name: str, values: Any) -> Any:
    try:
        if isinstance(values, np.ma.MaskedArray):
            return pa.array(values.data, mask=np.ma.getmaskarray(values))
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            return values
        if hasattr(values, "to_arrow"):  # of polars
            return values.to_arrow()
        if type(values).__module__.split(".")[0] == "pandas":
            return _pandas_arrow(pa, getattr(values, "array", values))
        return pa.array(np.asarray(values) if hasattr(values, "dtype") else list(values))
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ValueError(
            f"Column {name!r} cannot be read as numbers or text: {error}. Convert it, or leave it out."
        ) from None


def scan(
    source: Any,
    *,
    target: str,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    missing: str = "error",
    na_values: Sequence[str] = (),
) -> DesignRows:
    """Return the rows of files that may be larger than memory, for the `fit` of any estimator.

    Numbers are read unchanged. A text column becomes one indicator per sorted level except the first, and a text target
    becomes labels. Finding the levels takes a pass over the text columns.

    Parameters
    ----------
    source : path, glob, directory, list of paths, open binary file, "-", URL, data frame or stream of Arrow batches
        Parquet, CSV (also .gz, .zst, .bz2) and Arrow files are recognised by their first bytes. "-" is standard input.
        URLs may be of any filesystem that pyarrow supports (s3://, gs://, hdfs://). Directory names such as
        year=2024/region=eu below the given directory become columns.
    target : str
        Column to predict.
    features : list of str, optional
        Columns to predict it from; all others by default. Columns that are not needed are not read.
    weight : str, optional
        Column of row weights.
    missing : {"error", "drop"}, default="error"
        Treatment of rows with missing values: an error, or left out.
    na_values : list of str, default=()
        Texts that count as missing values, such as ``["-", "?"]``, in addition to empty cells and NA in CSV files.

    Returns
    -------
    DesignRows
        Numeric rows, which are read in each pass of a fit.

    Raises
    ------
    ValueError
        If a column does not exist or cannot be encoded, or a file cannot be read.
    FileNotFoundError
        If no file matches.
    ImportError
        If pyarrow is not installed.

    See Also
    --------
    fit : Fit a model to a file, a frame or a formula in one call.

    Examples
    --------
    >>> import io, linearly as ly
    >>> rows = ly.scan(io.BytesIO(b"size,price\\n1,3.1\\n2,5.0\\n3,6.9\\n"), target="price")
    >>> ly.LinearRegression().fit(rows).coef_.round(2).tolist()
    [1.9]
    """
    tables = without_markers(as_tables(source), as_markers(na_values))
    design = design_of(tables.schema, target=target, features=features, weight=weight, missing=missing)
    design = fit_design(design, tables)
    for remark in check_no_numeric_text(design, tables):
        warn_at_caller(remark, ColumnTypeWarning)
    return DesignRows(tables, design)
