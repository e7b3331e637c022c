"""A stand-in: polars brings an allocator that does not start under the thread sanitizer.

Its data frames are Arrow tables here, so that the tests that list polars among others can run.
"""

from typing import Any

import pyarrow as pa


class DataFrame:
    """Makes Arrow tables."""

    def __new__(cls, columns: Any) -> Any:
        return pa.table(columns)


class LazyFrame:
    """There is none."""


class Series:
    """There is none."""
