"""Compare an export with its model on made-up rows before it is returned."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from linearly.dataset.design.design import DesignRows
from linearly.dataset.design.terms import Category, Numeric
from linearly.dataset.sources import read_as
from linearly.exceptions import NotEstimableWarning
from linearly.export.test_vectors import typical_values
from linearly.kernels.double_double import Array

ROWS = 48
MIN_ROWS = 5
PREDICTION_TOL = 1e-12  # of the size of the predictions
INTERVAL_TOL = 1e-8  # of the size of the ends of intervals


class ParityCheck:
    """Columns of Python values, and the model's predictions for their rows."""

    def __init__(self, model: Any) -> None:
        self.model, self.columns = model, made_up_columns(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotEstimableWarning)  # of rows that are made up, and may not occur
            self.predictions: list[Any] = model.predict(self.columns).tolist()
            self.probabilities: Array | None = (
                model.predict_proba(self.columns) if hasattr(model.estimator, "predict_proba") else None
            )
            self.scores = _scores(model, self.columns)

    def __len__(self) -> int:
        return len(self.predictions)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dicts."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]

    def compare(self, predictions: list[Any], probabilities: Any, what: str, tolerance: float = PREDICTION_TOL) -> None:
        """Refuse predictions or probabilities that are not the model's."""
        if len(predictions) != len(self):
            raise ValueError(
                f"The {what} returned {len(predictions)} predictions for {len(self)} rows, so it was not "
                "exported. Report this bug."
            )
        for i, (mine, theirs) in enumerate(zip(self.predictions, predictions, strict=True)):
            if not self._same(i, mine, theirs, tolerance):
                raise ValueError(
                    f"The {what} differs from the model ({theirs!r} instead of {mine!r} for one row), so it was not "
                    "exported. Report this bug."
                )
        if self.probabilities is not None:
            found = np.array(probabilities, dtype=np.float64)
            worst = float(np.abs(found - self.probabilities).max()) if found.shape == self.probabilities.shape else 1.0
            if not worst <= max(tolerance, PREDICTION_TOL * self._largest()):
                raise ValueError(
                    f"The {what} differs from the model (probabilities differ by {worst:.2g}), so it was not "
                    "exported. Report this bug."
                )

    def compare_ends(self, ends: Any, level: float, what: str) -> None:
        """Refuse ends of intervals that are not the model's."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotEstimableWarning)
            table = self.model.predict_interval(self.columns, level)
        expected = np.column_stack([table["low"], table["high"]])
        found = np.array(ends, dtype=np.float64)
        unit = np.abs(expected).max(axis=1, keepdims=True) + (0.0 if self.scores is None else 1.0)
        if found.shape != expected.shape or not (np.abs(found - expected) <= INTERVAL_TOL * unit).all():
            raise ValueError(
                f"The intervals of the {what} differ from those of the model, so it was not exported. Report this bug."
            )

    def _same(self, i: int, mine: Any, theirs: Any, tolerance: float) -> bool:
        if self.scores is None:
            return theirs is not None and abs(mine - theirs) <= tolerance * max(abs(mine), self._largest())
        if mine == theirs and (isinstance(theirs, type(mine)) or isinstance(mine, bool)):
            return True
        # Rounding may decide otherwise where the model itself is undecided.
        top = np.sort(self.scores[i])
        return float(top[-1] - top[-2]) <= max(tolerance, 1e-9) * self._largest() and theirs is not None

    def _largest(self) -> float:
        return float(np.abs(self.predictions if self.scores is None else self.scores).max())


def _design_rows(model: Any, columns: dict[str, list[Any]]) -> DesignRows:
    design = model.design.without_target()
    return DesignRows(read_as(columns, design), design)


def _scores(model: Any, columns: dict[str, list[Any]]) -> Array | None:
    if not hasattr(model.estimator, "classes_"):
        return None
    scores = model.estimator.decision_function(_design_rows(model, columns))
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else np.asarray(scores)


def made_up_columns(model: Any) -> dict[str, list[Any]]:
    """Return random rows that the design can code: known levels, and numbers near known means or of many sizes."""
    design = model.design.without_target()
    random = np.random.default_rng(20240229)
    levels: dict[str, tuple[Any, ...]] = {}
    near: dict[str, tuple[float, float]] = {}
    center, spread = typical_values(model.estimator)
    at = 0
    for term in design.terms:
        for factor in term.factors:
            if isinstance(factor, Category):
                levels[factor.name] = factor.levels
        if len(term.factors) == 1 and isinstance(term.factors[0], Numeric):
            near[term.factors[0].name] = float(center[at]), float(spread[at])
        at += len(term.names())
    drawn = {name: _draw_column(random, levels.get(name), near.get(name)) for name in design.inputs}
    good: list[int] = []
    for start in range(0, len(next(iter(drawn.values()))), ROWS):
        good += _codable_rows(model, drawn, range(start, start + ROWS)) if len(good) < ROWS // 2 else []
    if len(good) < MIN_ROWS:
        raise ValueError(
            "No rows could be generated to check the export against the model, because its functions are defined for "
            "only a few numbers. Save a model file instead."
        )
    return {name: [values[i] for i in good[:ROWS]] for name, values in drawn.items()}


def _draw_column(random: Any, levels: tuple[Any, ...] | None, near: tuple[float, float] | None) -> list[Any]:
    n = 4 * ROWS
    if levels is not None:
        return [levels[k] for k in random.integers(len(levels), size=n)]
    if near is not None:
        mean, spread = near
        drawn = mean + spread * random.standard_normal(n)
        return np.where(np.arange(n) % 4 == 3, np.abs(drawn), drawn).tolist()  # type: ignore[no-any-return]
    size = 10.0 ** random.integers(-2, 4, size=n)
    drawn = random.random(n) * np.where(np.arange(n) % 2, size, 1.0)
    return np.where(random.random(n) < 0.25, -drawn, drawn).tolist()  # type: ignore[no-any-return]


def _codable_rows(model: Any, drawn: dict[str, list[Any]], rows: range) -> list[int]:
    """Return the rows that the design can code: all if it codes them together, else those of each half."""
    try:
        with np.errstate(all="ignore"):
            next(iter(_design_rows(model, {name: [values[i] for i in rows] for name, values in drawn.items()})))
        return list(rows)
    except ValueError:
        half = len(rows) // 2
        return _codable_rows(model, drawn, rows[:half]) + _codable_rows(model, drawn, rows[half:]) if half else []
