"""linearly: linear models that are fast, say how sure they are, and run from ten points to a cluster.

The public API, loaded when first used:

    LinearRegression  RidgeCV                      least squares and ridge
    tidy  glance  augment  vif  error_model        evidence: tables a term, a model, a row
    residual_tests                                 are the residuals what the model assumes?
    polynomial                                     powers of a column with all their digits
    PrecisionWarning  Table  show_versions
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linearly.algorithm.ladder import PrecisionWarning
    from linearly.dataset.polynomial import polynomial
    from linearly.evidence.diagnostics import residual_tests, vif
    from linearly.evidence.inference import augment, error_model, glance, tidy
    from linearly.evidence.table import Table
    from linearly.models.regression import LinearRegression
    from linearly.models.ridge import RidgeCV
    from linearly.versions import show_versions

_HOME = {
    "LinearRegression": "linearly.models.regression",
    "PrecisionWarning": "linearly.algorithm.ladder",
    "RidgeCV": "linearly.models.ridge",
    "Table": "linearly.evidence.table",
    "augment": "linearly.evidence.inference",
    "error_model": "linearly.evidence.inference",
    "glance": "linearly.evidence.inference",
    "polynomial": "linearly.dataset.polynomial",
    "residual_tests": "linearly.evidence.diagnostics",
    "show_versions": "linearly.versions",
    "tidy": "linearly.evidence.inference",
    "vif": "linearly.evidence.diagnostics",
}

__all__ = [
    "LinearRegression",
    "PrecisionWarning",
    "RidgeCV",
    "Table",
    "augment",
    "error_model",
    "glance",
    "polynomial",
    "residual_tests",
    "show_versions",
    "tidy",
    "vif",
]

try:
    __version__ = metadata.version("linearly")
except metadata.PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'linearly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
