"""Versions of linearly and its dependencies, for a bug report."""

from __future__ import annotations

import platform
import sys
from importlib import metadata


def show_versions() -> None:
    """Print the versions of linearly and its dependencies, and which kernels are in use.

    Examples
    --------
    >>> import linearly as ly
    >>> ly.show_versions()  # doctest: +ELLIPSIS
    linearly      ...
    """
    import linearly
    from linearly.dataset.rows.reduce import n_threads
    from linearly.kernels import kernels_in_use

    print(f"linearly      {linearly.__version__}")
    print(f"kernels       {kernels_in_use()}")
    print(f"threads       {n_threads()}")
    print(f"python        {sys.version.split()[0]} on {platform.platform()}")
    libraries = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow", "matplotlib")
    for name in (*libraries, "dask", "distributed", "pyspark"):
        try:
            print(f"{name:<13} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            print(f"{name:<13} not installed")
