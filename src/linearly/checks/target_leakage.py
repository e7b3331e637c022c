"""Find columns that give the target away: exact linear functions, and levels that lack a label."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.dataset.design.design import Design, DesignRows
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.double_double import to_float64

# 1 − R² below this counts as 0. Measurements never get there (NIST's Norris, a calibration of ozone monitors, has
# 6e-6), and a float64 Gram is accurate to about 1e-14.
EXACT_FIT_TOL = 1e-10
MIN_SHARE = 1e-6  # of the target's standard deviation that a column must account for


def exact_columns(tables: Tables, design: Design) -> list[int]:
    """Return the columns of a design whose combination equals the numeric target; empty if there is none."""
    gram = DesignRows(tables, replace(design, weight=None)).reduce(Gram.of)
    # Shares do not depend on units, and in those of the scaling no square of 1e300 overflows.
    scaling = replace(
        gram.scaling, shift=gram.scaling.shift / gram.scaling.scale, scale=np.ones_like(gram.scaling.scale)
    )
    gram = replace(gram, scaling=scaling)
    solution = gram.select(None, True).solve()
    if solution.dof <= 0 or not solution.tss[0] > 0 or solution.rss[0] > EXACT_FIT_TOL * solution.tss[0]:
        return []
    cross = np.asarray(to_float64(gram.centered_crossprod))
    squares, shared = np.diagonal(cross), cross[:-1, -1] ** 2
    spread = np.sqrt(squares)
    alone = np.flatnonzero((squares[:-1] > 0) & (shared >= (1 - EXACT_FIT_TOL) * squares[:-1] * squares[-1]))
    if len(alone):
        return [int(alone[0])]
    return np.flatnonzero(np.abs(solution.coef[:, 0]) * spread[:-1] > MIN_SHARE * spread[-1]).tolist()


def levels_without_label(tables: Tables, design: Design, column: str) -> list[tuple[Any, Any]]:
    """Return the levels of a text column that lack a label in the complete rows, each with such a label."""
    assert design.target is not None
    labels, target = design.target.classes, design.target.factor.required_columns[0]

    def pairs(chunk: Chunk) -> Counter[tuple[Any, Any]]:
        complete = design.complete(chunk)
        kept = chunk.frame if complete is None else chunk.rows(complete).frame
        kept = kept.select([column, target]).drop_nulls().unique()
        return Counter(zip(text_of(kept[column]).to_list(), text_of(kept[target]).to_list(), strict=True))

    present: dict[Any, set[Any]] = {}
    for level, label in tables.select(list(dict.fromkeys([*design.required_columns, column]))).reduce(pairs):
        present.setdefault(level, set()).add(label)
    missing = ((level, next((one for one in labels if one not in present[level]), None)) for level in sorted(present))
    return [(level, label) for level, label in missing if label is not None]
