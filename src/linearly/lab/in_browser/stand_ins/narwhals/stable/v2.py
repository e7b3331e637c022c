"""Placeholder: nothing is a data frame."""

from typing import Any


class dependencies:
    """Tests of what an object is."""

    @staticmethod
    def is_into_dataframe(_: Any) -> bool:
        """Return whether an object is a data frame: never."""
        return False

    is_pandas_dataframe = is_into_dataframe
