"""Placeholder: exceptions of narwhals that the library imports."""


class DuplicateError(Exception):
    """Never raised without data frames."""


class NarwhalsError(Exception):
    """Never raised without data frames."""
