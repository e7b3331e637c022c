"""Adjust p-values and intervals of several comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linearly.inference.wald_tests import t_p_values, t_quantile
from linearly.kernels.double_double import Array

_METHODS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


def check_adjust(adjust: str | None, *, tukey: bool = False) -> None:
    """Raise ValueError if a method of adjustment is unknown, or not valid here."""
    known = ("tukey", *_METHODS) if tukey else tuple(_METHODS)
    if adjust is not None and adjust not in known:
        extra = ' Use "tukey" for all pairs with pairwise().' if adjust == "tukey" else ""
        raise ValueError(f"adjust must be one of {', '.join(map(repr, known))} or None, not {adjust!r}.{extra}")


def adjusted_within(
    groups: Sequence[Any], estimate: Array, error: Array, dof: float | Array, level: float, adjust: str | None
) -> dict[str, Array]:
    """Return the columns of `adjusted_wald`, adjusted within groups of rows: `groups` has the group of each row."""
    members: dict[Any, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    each = np.broadcast_to(dof, estimate.shape)
    parts = [adjusted_wald(estimate[rows], error[rows], each[rows], level, adjust) for rows in members.values()]
    order = np.argsort([row for rows in members.values() for row in rows])
    return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def adjusted_wald(
    estimate: Array, error: Array, dof: Any, level: float, adjust: str | None, family: int = 0, null: Any = 0.0
) -> dict[str, Array]:
    """Return the columns from ``estimate`` to ``conf_high`` with adjusted p-values and intervals.

    `family` is how many estimates the comparisons are pairs of, for Tukey's method. Holm's and Benjamini-Hochberg's
    count all comparisons, those without a number included, as emmeans does.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (estimate - null) / error
    p_value, reach = t_p_values(statistic, dof), t_quantile(level, dof)
    m = len(p_value)
    if adjust == "tukey" and family > 2:
        p_value, reach = _tukey(statistic, dof, level, family)
    elif adjust in _METHODS and m > 1:
        p_value, reach = adjust_p_values(p_value, adjust), t_quantile(1 - (1 - level) / m, dof)
    return {
        "estimate": estimate,
        "std_error": error,
        "statistic": statistic,
        "p_value": p_value,
        "conf_low": estimate - reach * error,
        "conf_high": estimate + reach * error,
    }


def adjust_note(adjust: str | None, m: int, family: int = 0) -> list[str]:
    """Return a note on the adjustment: none for a single comparison."""
    if adjust is None or m < 2 or (adjust == "tukey" and family < 3):
        return []
    if adjust == "tukey":
        return [f"p-values and intervals are adjusted by Tukey's method, for all pairs of {family} means."]
    return [f"p-values are adjusted by {_METHODS[adjust]}'s method and intervals by Bonferroni's, for {m} comparisons."]


def adjust_p_values(p_value: Array, adjust: str) -> Array:
    """Return p-values adjusted by Holm's or by Benjamini and Hochberg's method, as R's ``p.adjust(p, n=length(p))``.

    NaN stays NaN and counts as a comparison.
    """
    adjusted = p_value.copy()
    known = np.flatnonzero(np.isfinite(p_value))
    order = known[np.argsort(p_value[known], kind="stable")]
    m, sorted_p, rank = len(p_value), p_value[order], np.arange(1, len(order) + 1)
    if adjust == "holm":
        adjusted[order] = np.minimum(np.maximum.accumulate(sorted_p * (m + 1 - rank)), 1.0)
    else:
        rising = sorted_p * m / rank
        adjusted[order] = np.minimum(np.minimum.accumulate(rising[::-1])[::-1], 1.0)
    return adjusted


def _tukey(statistic: Array, dof: float | Array, level: float, family: int) -> tuple[Array, float | Array]:
    """Return p-values and the reach of intervals by the studentized range."""
    from scipy.stats import studentized_range

    every = np.broadcast_to(dof, statistic.shape)
    p_value = np.full(len(statistic), np.nan)
    known = np.isfinite(statistic) & (every >= 1)
    p_value[known] = studentized_range.sf(np.sqrt(2) * np.abs(statistic[known]), family, every[known])
    # The integral has an absolute error of about 1e-13. The p-value lies between those of one and of all pairs.
    one = t_p_values(statistic, dof)
    p_value = np.clip(p_value, one, np.minimum(one * family * (family - 1) / 2, 1.0))
    different, place = np.unique(every, return_inverse=True)
    reach = np.array([studentized_range.ppf(level, family, df) if df >= 1 else np.nan for df in different])
    return p_value, reach[place] / np.sqrt(2)
