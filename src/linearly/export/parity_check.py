"""Trials: made-up rows on which an export must say what the model says, before anybody gets it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.terms import Category, Numeric
from linearly.exceptions import NotEstimableWarning
from linearly.export.test_vectors import typical_values

Array = NDArray[np.float64]

ROWS = 48
FEWEST = 5
CLOSE = 1e-12  # of the size of the answers


class ParityCheck:
    """Rows as columns of plain Python values, and what the model says of them."""

    def __init__(self, model: Any) -> None:
        self.columns = trial_columns(model)
        has = hasattr(model.estimator, "predict_proba")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotEstimableWarning)  # of rows that are made up, and may not occur
            self.predictions: list[Any] = model.predict(self.columns).tolist()
            self.probabilities: Array | None = model.predict_proba(self.columns) if has else None
            self.scores = _scores(model, self.columns)

    def __len__(self) -> int:
        return len(self.predictions)

    def rows(self) -> list[dict[str, Any]]:
        """The rows one by one."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]

    def compare(self, predictions: list[Any], probabilities: Any, what: str, close: float = CLOSE) -> None:
        """Refuse answers that are not the model's."""
        if len(predictions) != len(self):
            raise ValueError(f"The {what} gave {len(predictions)} answers for {len(self)} rows: it was not exported.")
        for i, (mine, theirs) in enumerate(zip(self.predictions, predictions, strict=True)):
            if not self._same(i, mine, theirs, close):
                raise ValueError(
                    f"The {what} is not what the model is: for one row it says {theirs!r} and the model {mine!r}. It "
                    "was not exported."
                )
        if self.probabilities is not None:
            found = np.array(probabilities, dtype=np.float64)
            worst = float(np.abs(found - self.probabilities).max()) if found.shape == self.probabilities.shape else 1.0
            if not worst <= max(close, 1e-12 * self._largest()):
                raise ValueError(
                    f"The {what} is not what the model is: probabilities differ by {worst:.2g}. It was not exported."
                )

    def _same(self, i: int, mine: Any, theirs: Any, close: float) -> bool:
        if self.scores is None:
            return theirs is not None and abs(mine - theirs) <= close * max(abs(mine), self._largest())
        if mine == theirs and (isinstance(theirs, type(mine)) or isinstance(mine, bool)):
            return True
        # Rounding may decide otherwise where the model itself is undecided.
        top = np.sort(self.scores[i])
        return float(top[-1] - top[-2]) <= max(close, 1e-9) * self._largest() and theirs is not None

    def _largest(self) -> float:
        if self.scores is None:
            return float(np.abs(self.predictions).max())
        return float(np.abs(self.scores).max())


def _scores(model: Any, columns: dict[str, list[Any]]) -> Array | None:
    if not hasattr(model.estimator, "classes_"):
        return None
    scores = model.estimator.decision_function(model._new_rows(columns))
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else np.asarray(scores)


def trial_columns(model: Any) -> dict[str, list[Any]]:
    """Random raw rows that the design can code: levels it knows, numbers about the means it knows or of many sizes."""
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
    drawn = {name: _drawn(random, levels.get(name), near.get(name)) for name in design.features}
    good: list[int] = []
    for start in range(0, len(next(iter(drawn.values()))), ROWS):
        good += _coded(model, drawn, range(start, start + ROWS)) if len(good) < ROWS // 2 else []
    if len(good) < FEWEST:
        raise ValueError(
            "No rows could be made up on which the export can be checked against the model: its functions have a value "
            "for few numbers only. It was not exported."
        )
    return {name: [values[i] for i in good[:ROWS]] for name, values in drawn.items()}


def _drawn(random: Any, levels: tuple[Any, ...] | None, near: tuple[float, float] | None) -> list[Any]:
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


def _coded(model: Any, drawn: dict[str, list[Any]], rows: range) -> list[int]:
    """Those of some rows that the design can code: all if it codes them together, else those of each half."""
    try:
        with np.errstate(all="ignore"):
            next(iter(model._new_rows({name: [values[i] for i in rows] for name, values in drawn.items()})))
        return list(rows)
    except ValueError:
        half = len(rows) // 2
        return _coded(model, drawn, rows[:half]) + _coded(model, drawn, rows[half:]) if half else []
