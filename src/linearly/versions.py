"""Versions of linearly and its dependencies, for a bug report."""

from __future__ import annotations

import platform
import sys

from linearly.installed import installed_version, library_version


def show_versions() -> None:
    """Print the versions of linearly and its dependencies, and which kernels are in use.

    Examples
    --------
    >>> import linearly as ly
    >>> ly.show_versions()  # doctest: +ELLIPSIS
    linearly      ...
    """
    from linearly.dataset.rows.reduce import n_threads
    from linearly.kernels import kernels_in_use

    print(f"linearly      {library_version()}")
    print(f"kernels       {kernels_in_use()}")
    print(f"threads       {n_threads()}")
    print(f"python        {sys.version.split()[0]} on {platform.platform()}")
    libraries = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow", "matplotlib")
    for name in (*libraries, "dask", "distributed", "pyspark"):
        print(f"{name:<13} {installed_version(name) or 'not installed'}")
