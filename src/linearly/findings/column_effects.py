"""Compute how the prediction of a regression changes with one column while the others stay at typical values.

The others stay at their means, and categories at their most frequent level, both of a sample of the rows. Each row of
the sample is a point: the prediction at its own value of the column, plus its residual (a partial residual; Larsen and
McCleary 1972). With one column these are the rows themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.design import Design, DesignRows
from linearly.dataset.design.terms import Category
from linearly.dataset.rows.block import Block, Rows, float_column
from linearly.dataset.rows.tables import Chunk
from linearly.findings.row_sample import Sample, random_keys
from linearly.formatting import typeset_number
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64

Facts = dict[str, Any]

MAX_POINTS = 200  # rows that are drawn
MAX_EFFECTS = 6  # columns, those with the largest effects
MAX_LINES = 5  # levels of a category that the effect of a column depends on
_GRID = 41  # values of a number
_WITHIN = 2.0  # standard deviations around the mean, if no value of a single row may be shown


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """A sample of the rows as the user has them: columns, target, residuals and where each row is."""

    columns: dict[str, list[Any]]
    y: Array
    X: Array
    places: list[str]
    rows: list[int]
    levels: dict[str, list[Any]]  # of categories
    partners: dict[str, str]  # the category that the effect of a column depends on

    @staticmethod
    def of(model: Any, rows: Rows) -> ColumnSample:
        """Draw a sample, the same one every time, however the rows are split."""
        if isinstance(rows, DesignRows) and unwrap_estimator(model) is not model:
            return _from_tables(model, rows)
        drawn = rows.reduce(_draw_numbers).in_order()
        columns = dict(zip(map(str, rows.names), drawn.values[:, 1:].T.tolist(), strict=True))
        places, numbers = list(map(str, drawn.places)), drawn.rows.tolist()
        return ColumnSample(columns, drawn.values[:, 0], drawn.values[:, 1:], places, numbers, {}, {})

    def usable(self, name: str) -> bool:
        """Return whether a column is a category of at least two levels, or a number that varies."""
        values = self.columns[name]
        if name in self.levels:
            return len(self.levels[name]) > 1
        return all(isinstance(value, (bool, int, float)) for value in values) and len(set(values)) > 1

    def typical(self) -> dict[str, Any]:
        """Return the mean of each number and the most frequent level of each category."""
        return {
            name: Counter(values).most_common(1)[0][0]
            if name in self.levels or not all(isinstance(value, (bool, int, float)) for value in values)
            else float(np.mean(values))
            for name, values in self.columns.items()
        }


def column_effects(
    model: Any, rows: Rows, level: float = 0.95, columns: Sequence[str] | None = None, *, no_rows: bool = False
) -> list[Facts]:
    """Return the effects of columns on the prediction, with intervals; by default, the columns that change it most.

    Parameters
    ----------
    model : Model or estimator
        Fitted least-squares model of one target.
    rows : Rows
        Rows of the fit.
    level : float, default=0.95
        Confidence level of the bands.
    columns : sequence of str, optional
        Columns of the data; by default at most `MAX_EFFECTS` of them.
    no_rows : bool, default=False
        If True, leave out points, and ranges that are values of single rows.

    Returns
    -------
    list of dict
        For each column its lines, and its points unless `no_rows`.
    """
    sample = ColumnSample.of(model, rows)
    if columns is None:
        columns = _strongest(model, rows, sample)
    if not columns:
        return []
    fitted = _predict(model, sample.columns, level)["fit"]
    return [_effect(model, sample, name, level, sample.y - fitted, no_rows=no_rows) for name in columns]


def _effect(model: Any, sample: ColumnSample, name: str, level: float, residual: Array, *, no_rows: bool) -> Facts:
    typical, partner = sample.typical(), sample.partners.get(name)
    values = np.array([], dtype=float) if name in sample.levels else np.array(sample.columns[name], dtype=float)
    levels = sample.levels.get(name)
    if levels is None and len(set(values.tolist())) == 2:
        levels = sorted(set(sample.columns[name]))
    grid: list[Any] = levels if levels is not None else np.linspace(*_ends(values, no_rows), _GRID).tolist()
    groups = [None] if partner is None else sample.levels[partner]
    lines = []
    for group in groups:
        fixed = typical if partner is None else typical | {partner: group}
        points = {other: [value] * len(grid) for other, value in fixed.items()} | {name: grid}
        ends = _predict(model, points, level)
        if len(sample.columns) == 1 and not no_rows:
            new = _predict(model, points, level, "prediction")
            ends |= {"new_low": new["low"], "new_high": new["high"]}
        lines.append({"name": None if group is None else str(group), **ends})
    others = {other: value for other, value in typical.items() if other not in (name, partner)}
    found: Facts = {
        "column": name,
        "levels": None if levels is None else [_level_name(value) for value in levels],
        "x": list(range(len(grid))) if levels is not None else grid,
        "partner": partner,
        "lines": lines,
        "others": others,
        "points": None,
    }
    if no_rows:
        return found
    n = len(residual)
    own = {other: [value] * n for other, value in typical.items()} | {name: sample.columns[name]}
    if partner is not None:
        own[partner] = sample.columns[partner]
    place = values.tolist() if levels is None else [levels.index(value) for value in sample.columns[name]]
    line = [0] * n if partner is None else [groups.index(value) for value in sample.columns[partner]]
    partial = _predict(model, own, level)["fit"] + residual
    found["points"] = {"x": place, "y": partial, "line": line, "place": sample.places, "row": sample.rows}
    return found


def _ends(values: Array, no_rows: bool) -> tuple[float, float]:
    if not no_rows:
        return float(values.min()), float(values.max())
    mean, reach = float(values.mean()), _WITHIN * float(values.std())
    return mean - reach, mean + reach


def _level_name(value: Any) -> str:
    return typeset_number(f"{value:g}") if isinstance(value, float) else str(value)


def _predict(model: Any, columns: Mapping[str, Sequence[Any]], level: float, kind: str = "confidence") -> Facts:
    """Return predictions and the ends of their intervals."""
    data: Any = dict(columns)
    if unwrap_estimator(model) is model:
        data = np.column_stack([np.asarray(values, dtype=float) for values in columns.values()])
    table = model.predict_interval(data, level=level, kind=kind)
    return {name: np.asarray(table[name], dtype=float) for name in ("fit", "low", "high")}


def _strongest(model: Any, rows: Rows, sample: ColumnSample) -> list[str]:
    """Return the columns whose terms vary most in the sample, in the order of the data."""
    coef = np.ravel(unwrap_estimator(model).coef_)
    sources: list[Sequence[str]] = [[name] for name in map(str, rows.names)]
    if sample.levels or sample.partners or isinstance(rows, DesignRows):
        design: Design = model.design
        sources = [
            [column for factor in term.factors for column in factor.required_columns]
            for term in design.terms
            for _ in range(term.width)
        ]
    strength = {}
    for name in filter(sample.usable, sample.columns):
        own = [j for j, columns in enumerate(sources) if name in columns]
        strength[name] = float(np.std(sample.X[:, own] @ coef[own])) if own else 0.0
    chosen = sorted(strength, key=lambda name: -strength[name])[:MAX_EFFECTS]
    return chosen


# --- samples --------------------------------------------------------------------------------------


def _draw_numbers(block: Block) -> Sample:
    X, y = dense_float64(block.X), np.asarray(block.y, dtype=float).ravel()
    keys = random_keys(block.global_index(np.arange(len(block))))
    keys = keys if block.weight is None else np.where(block.weight > 0, keys, np.inf)
    return Sample.of(MAX_POINTS, keys, block, lambda chosen: np.column_stack([y[chosen], X[chosen]]))


@dataclass(frozen=True)
class _DrawColumns:
    """Reduce a chunk to a sample of its complete rows, as objects."""

    design: Design

    def __call__(self, chunk: Chunk) -> Sample:
        complete = self.design.complete(chunk)
        chunk = chunk if complete is None else chunk.rows(complete)
        n, names = len(chunk), list(self.design.required_columns)
        block = Block(np.empty((n, 0)), None, None, chunk.start, (), chunk.place, chunk.kept)
        keys = random_keys(block.global_index(np.arange(n)))
        if self.design.weight is not None:
            keys = np.where(float_column(chunk.frame[self.design.weight], chunk.where) > 0, keys, np.inf)

        def values(chosen: NDArray[np.intp]) -> Any:
            table = np.empty((len(chosen), len(names)), dtype=object)
            frame = chunk.frame[chosen.tolist()] if len(chosen) else chunk.frame[:0]
            for j, name in enumerate(names):
                table[:, j] = frame[name].to_list()
            return table

        return Sample.of(MAX_POINTS, keys, block, values)


def _from_tables(model: Any, rows: DesignRows) -> ColumnSample:
    design = rows.design
    drawn = rows.tables.reduce(_DrawColumns(design)).in_order()
    raw = dict(zip(design.required_columns, drawn.values.T.tolist(), strict=True))
    blocks = list(DesignRows(model.design_rows(raw).tables, design))
    X = np.concatenate([dense_float64(block.X) for block in blocks])
    y = np.concatenate([np.asarray(block.y, dtype=float).ravel() for block in blocks])
    levels = {category.name: list(category.levels) for category in design.categories}
    partners: dict[str, str] = {}
    for term in design.terms:
        for factor in term.factors:
            beside = [
                other.name
                for other in term.factors
                if other is not factor and isinstance(other, Category) and 1 < len(other.levels) <= MAX_LINES
            ]
            for name in factor.required_columns if beside else ():
                partners.setdefault(name, beside[0])
    columns = {name: raw[name] for name in design.features}
    return ColumnSample(columns, y, X, list(map(str, drawn.places)), drawn.rows.tolist(), levels, partners)
