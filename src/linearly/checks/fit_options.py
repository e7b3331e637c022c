"""Make the findings about a table, and list the options of a fit that they advise."""

from __future__ import annotations

from functools import partial

from linearly.findings import Options, make_finding

make = partial(make_finding, catalogue="table")

DROP_ROWS: Options = (("missing", "drop"),)


def without(column: str) -> Options:
    """Return the options of a fit that leaves a column out."""
    return (("without", column),)
