"""Raise for text columns that were meant for numbers, before each number becomes a level."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from linearly.dataset.design.design import Design
from linearly.dataset.design.numeric_text import NumericTextReport, detect_numeric_text
from linearly.dataset.design.terms import Level
from linearly.dataset.formula.tokens import quote_name
from linearly.dataset.rows.tables import Tables
from linearly.formatting import shown

_ZERO_FIRST = re.compile(r"0\d\d+")  # not 07, which may well be a month


def check_no_numeric_text(design: Design, tables: Tables, *, certain: bool = True) -> list[str]:
    """Raise for text columns that were meant for numbers; return warnings about codes such as 00501.

    A target raises only if it is not `certain` that it contains labels. C(column) in a formula, or a categorical
    column, makes it certain that a column contains levels.
    """
    warnings, schema = [], tables.schema
    for name, levels in {factor.name: factor.levels for factor in design.categories}.items():
        found = _detect(name, levels, schema)
        if found is None or _is_declared_category(name, design.formula):
            continue
        if found.code:
            if found.words or found.marked:
                other = (*found.words, *found.marked)[0]
                reason = f"{found}. {shown(other)} is a level like the others"
                warnings.append(f"Column {name!r} is text and is coded as {len(levels)} levels: {reason}.")
            continue
        raise ValueError(
            f"Column {name!r} is text and would become {len(levels)} levels, although {found}. {found.remedy}, leave "
            f"the column out, or write C({quote_name(name)}) in a formula to keep its levels."
        )
    plain = [term.plain for term in design.terms if term.plain is not None]
    integers = [name for name in plain if schema[name].is_integer()]
    for name, cell in leading_zeros(tables, integers).items():
        warnings.append(
            f"Column {name!r} is read as numbers, but has leading zeros ({shown(cell)}), so it may be a code. Leave "
            f"it out, or write C({quote_name(name)}) in a formula to use its levels."
        )
    target = design.target
    if target is not None and target.labels and not certain:
        name = target.factor.required_columns[0]
        found = _detect(name, target.classes, schema, integers=True)
        if found is not None and not found.code:
            raise ValueError(
                f'The target {name!r} is text, although {found}. {found.remedy}, or choose model="logistic" if these '
                "are labels."
            )
    return warnings


def leading_zeros(tables: Any, columns: Sequence[str]) -> dict[str, str]:
    """Return the integer columns that the first rows of a text file write with leading zeros, each with such a cell."""
    while hasattr(tables, "tables"):
        tables = tables.tables
    files: Any = getattr(tables, "files", ())
    cells: dict[str, list[str]] = files[0].first_cells() if files and columns and not files[0].one_shot else {}
    found = ((name, next(filter(_ZERO_FIRST.fullmatch, cells.get(name, ())), None)) for name in columns)
    return {name: cell for name, cell in found if cell is not None}


def _detect(
    name: str, levels: tuple[Level, ...], schema: Mapping[str, Any], *, integers: bool = False
) -> NumericTextReport | None:
    """Return why a text column seems to contain numbers. Integers may be levels: they count only with `integers`."""
    found = detect_numeric_text(levels) if levels and schema.get(name) == nw.String else None
    if found is None or found.words or found.marked or found.code or integers:
        return found
    return None if all(str(level).lstrip("+-").isdigit() for level in levels) else found


def _is_declared_category(name: str, formula: str | None) -> bool:
    """Return whether the formula contains C(column)."""
    return formula is not None and bool(re.search(rf"\b(?:C|factor)\(\s*`?{re.escape(name)}`?\s*[,)]", formula))
