"""Inspect a table before any fit: what will go wrong, and the remedy.

In reading order:
    fit_options      options of a fit that avoids a problem
    column_profile   rows, missing values, range and levels of every column, in one pass
    sentinel_values  numbers that stand for missing values
    column_checks    what single columns and the target show
    target_leakage   columns that give the target away
    missing_rows     whether the target of incomplete rows differs
    joint_checks     what columns show together: scale, collinearity, separability, leakage
    inspection       all of them, for any table
"""

from linearly.checks.inspection import Inspection, inspect_table
from linearly.findings import Finding

__all__ = ["Finding", "Inspection", "inspect_table"]
