"""Placeholder: the package of `v2`."""
