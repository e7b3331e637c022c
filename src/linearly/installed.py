"""Versions of the installed packages."""

from __future__ import annotations


def installed_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    from importlib import metadata  # takes a third of the time of `linearly --help`

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def library_version() -> str:
    """Return the version of linearly, also in a source tree that was never installed."""
    return installed_version("linearly") or "0+unknown"
