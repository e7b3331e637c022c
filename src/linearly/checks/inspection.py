"""Inspect a table: profile its columns, then look for problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from linearly.checks.column_checks import find_codes, find_missing, find_numeric_text, find_unusable, inspect_target
from linearly.checks.column_profile import Profile, profile_columns
from linearly.checks.fit_options import make
from linearly.checks.joint_checks import inspect_jointly
from linearly.dataset.rows.tables import Tables, check_columns_known
from linearly.dataset.sources import as_tables
from linearly.findings import Finding


@dataclass(frozen=True)
class Inspection:
    """The profile of a table's columns, and the findings about it."""

    profile: Profile
    findings: list[Finding]


def inspect_table(data: Any, target: str | None = None, weight: str | None = None) -> Inspection:
    """Return what will go wrong with a table before any fit, and the remedies.

    Parameters
    ----------
    data : data frame, dict of columns, path, or table on a cluster
        All columns but the target and the weight are taken as features.
    target : str, optional
        The column to predict.
    weight : str, optional
        A column of row weights.

    Returns
    -------
    Inspection
        A profile of every column, and findings of severity "OK", "Check" or "Problem".

    Raises
    ------
    ValueError
        If a column does not exist.

    Examples
    --------
    >>> found = inspect_table({"x": [1, 2, 4, 3], "unit": [5, 5, 5, 5], "y": [1.0, 2.1, 3.9, 3.2]}, target="y")
    >>> [(one.about, one.claim, one.remedy) for one in found.findings if one.severity == "Problem"]
    [('unit', 'is constant (5 in every row)', 'leave it out')]
    """
    tables = as_tables(data)
    check_columns_known([target] if target is not None else [], tables.schema, "target column")
    check_columns_known([weight] if weight is not None else [], tables.schema)
    profile = profile_columns(tables, counted=target)
    return Inspection(profile, list(_iter_findings(tables, profile, target, weight)))


def _iter_findings(tables: Tables, profile: Profile, target: str | None, weight: str | None) -> Iterator[Finding]:
    if profile.n == 0:
        yield make("no_rows")
        return
    missing = list(find_missing(profile, target))
    yield from missing
    listed = {finding.about for finding in missing if finding.id == "mostly_missing"}
    usable = {}
    for name, column in profile.columns.items():
        if name in (target, weight):
            continue
        finding = find_numeric_text(tables, name, column) or find_unusable(name, column)
        finding = finding if name else make("nameless")
        if finding is None:
            usable[name] = column
        elif finding.id != "too_many_missing" or name not in listed:
            yield finding
    yield from find_codes(tables, {name: c for name, c in profile.columns.items() if name != weight}, target)
    if target is not None:
        column = profile.columns[target]
        doubt = find_numeric_text(tables, target, column, is_target=True)
        yield from [doubt] if doubt else inspect_target(target, column)
    if not usable:
        yield make("no_columns")
        return
    yield from inspect_jointly(tables, profile, usable, target, weight)
