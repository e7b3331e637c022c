"""Say how the columns of a design are related: levels of a category, powers, interactions.

A coefficient of a column that is related to others cannot be interpreted alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any


def level_columns(design: Any) -> list[str]:
    """Return the columns that are levels of a category, or products with one."""
    terms = () if design is None else design.terms
    return [name for term in terms if any(hasattr(f, "reference") for f in term.factors) for name in term.names()]


def term_groups(design: Any, names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the terms of the design and their numbers of columns; the columns of a category belong together."""
    if design is None:
        return [(str(name), 1) for name in names]
    return [(term.label, term.width) for term in design.terms]


def references(design: Any) -> dict[str, Any]:
    """Return the reference level for each column that is a level of one category."""
    found: dict[str, Any] = {}
    for term in () if design is None else design.terms:
        (factor, *others), full = term.factors, any(term.full)
        if not others and not full and hasattr(factor, "reference"):
            found |= dict.fromkeys(term.names(), factor.reference)
    return found


def shared_terms(design: Any, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return, for each column that cannot be interpreted alone, what it is part of.

    An "interaction" has the parts whose product it is. A "main" effect also occurs in interactions: it "depends" on
    other factors, and its coefficient is the effect "where" those are 0 or at their reference level. A "curve" is one
    of several functions "of" the same columns.
    """
    if design is None:  # names of `polynomial_features`: x, x^2, x^3
        bases = {name: re.sub(r"\^\d+$", "", name) for name in map(str, names)}
        powers = {base for name, base in bases.items() if name != base and base in bases}
        return {name: {"kind": "curve", "of": [base]} for name, base in bases.items() if base in powers}
    found: dict[str, dict[str, Any]] = {}
    for term in design.terms:
        own = _required_columns(term)
        others = [other for other in design.terms if other is not term and _required_columns(other) & own]
        products = [factor for other in others if len(other.factors) > 1 for factor in other.factors]
        beside = {factor.label: factor for factor in products if not own & {*factor.required_columns}}
        if len(term.factors) > 1:
            full = term.full or (False,) * len(term.factors)
            levels = [factor.names(all_levels) for factor, all_levels in zip(term.factors, full, strict=True)]
            # The levels of the first factor change fastest.
            parts = [list(reversed(part)) for part in product(*reversed(levels))]
            described = [{"kind": "interaction", "parts": part} for part in parts]
        elif beside:
            where = [f"{label} is {getattr(factor, 'reference', 0)}" for label, factor in beside.items()]
            described = [{"kind": "main", "depends": list(beside), "where": where}] * term.width
        elif others or (term.width > 1 and not hasattr(term.factors[0], "reference")):
            described = [{"kind": "curve", "of": sorted(own)}] * term.width
        else:
            continue
        found |= zip(term.names(), described, strict=True)
    return found


def _required_columns(term: Any) -> set[str]:
    return {name for factor in term.factors for name in factor.required_columns}
