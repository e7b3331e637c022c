"""Placeholder: the lab has no sparse matrices."""

from . import missing_function

__getattr__ = missing_function("scipy.sparse")
