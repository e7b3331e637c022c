"""Columns that give the answer away: a target that is a linear function of them, levels in which a label never is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.dataset.design.design import Design, DesignRows
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.double_double import to_float64

# 1 − R² below is said to be 0. What is measured never gets there (NIST's Norris, a calibration of ozone monitors, has
# 6e-6), and a float64 Gram knows it to 1e-14 or so.
_EXACT = 1e-10
_TAKES_PART = 1e-6  # share of the target's spread that a column must account for


def exact_columns(tables: Tables, design: Design) -> list[int]:
    """The columns of a design whose combination is the target, which holds numbers; none if there is no such one."""
    gram = DesignRows(tables, replace(design, weight=None)).reduce(Gram.of)
    # Shares do not depend on units, and in those of the scaling no square of 1e300 overflows.
    scaling = replace(
        gram.scaling, shift=gram.scaling.shift / gram.scaling.scale, scale=np.ones_like(gram.scaling.scale)
    )
    gram = replace(gram, scaling=scaling)
    solution = gram.select(None, True).solve()
    if solution.dof <= 0 or not solution.tss[0] > 0 or solution.rss[0] > _EXACT * solution.tss[0]:
        return []
    squares = np.diagonal(np.asarray(to_float64(gram.centered_crossprod)))
    spread = np.sqrt(squares)
    shared = np.asarray(to_float64(gram.centered_crossprod))[:-1, -1] ** 2
    alone = np.flatnonzero((squares[:-1] > 0) & (shared >= (1 - _EXACT) * squares[:-1] * squares[-1]))
    if len(alone):
        return [int(alone[0])]
    return np.flatnonzero(np.abs(solution.coef[:, 0]) * spread[:-1] > _TAKES_PART * spread[-1]).tolist()


def lacking(tables: Tables, design: Design, column: str) -> list[tuple[Any, Any]]:
    """Levels of a column of text, each with a label that none of its complete rows has."""
    assert design.target is not None
    labels, target = design.target.classes, design.target.factor.required_columns[0]

    def pairs(chunk: Chunk) -> Counter[tuple[Any, Any]]:
        complete = design.complete(chunk)
        kept = chunk.frame if complete is None else chunk.rows(complete).frame
        kept = kept.select([column, target]).drop_nulls().unique()
        return Counter(zip(text_of(kept[column]).to_list(), text_of(kept[target]).to_list(), strict=True))

    there: dict[Any, set[Any]] = {}
    for level, label in tables.select(_once([*design.required_columns, column])).reduce(pairs):
        there.setdefault(level, set()).add(label)
    missing = ((level, next((one for one in labels if one not in there[level]), None)) for level in sorted(there))
    return [(level, label) for level, label in missing if label is not None]


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
