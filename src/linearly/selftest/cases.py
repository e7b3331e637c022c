"""One simulated case: rows are drawn, decisions are made about them, and their shares must lie within bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Decisions = Mapping[str, bool]
Draw = Callable[[np.random.Generator, int], Any]

COVERAGE, SIZE, POWER = (0.93, 0.97), (0.0, 0.06), (0.4, 1.0)
ALL, FEW = (20, 50, 100, 300, 1000, 6000), (60, 300)


@dataclass(frozen=True)
class Case:
    """What is simulated: rows are drawn, decisions are made about them, and their shares must lie within bounds.

    `exceptions` are bounds of their own for decisions that are known to be further off; they are part of the page.
    """

    what: str
    draw: Draw
    decide: Callable[[Any], Decisions]
    bounds: tuple[float, float]
    sizes: tuple[int, ...] = (50, 100, 300, 1000, 6000)
    exceptions: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cost: float = 1.0  # of a draw: dearer ones are drawn less often
    quick: bool = False  # whether it is part of a short run


class Numbers:
    """A model whose prediction is the column of X."""

    def predict(self, X: Array) -> Array:
        """Return the column."""
        return np.asarray(X[:, 0])


class Probabilities:
    """A classifier whose probabilities are the columns of X: one label per row, or any of several."""

    def __init__(self, labels: int, several: bool) -> None:
        self.classes_: Any = [np.array([0, 1])] * labels if several else np.arange(labels)
        self.several = several
        self.n_features_in_ = labels

    def predict(self, X: Array) -> Array:
        """Return the label of the largest probability, or whether each is above one half."""
        return np.asarray((X > 0.5).astype(int) if self.several else self.classes_[X.argmax(axis=1)])

    def predict_proba(self, X: Array) -> Array:
        """Return the columns."""
        return X


def errors(rng: np.random.Generator, n: int, shape: str) -> Array:
    """Draw errors of mean 0 and variance 1: normal, of Student's t with 5 degrees of freedom, or exponential."""
    if shape == "t5":
        return np.asarray(rng.standard_t(5, n) / np.sqrt(5 / 3))
    return rng.standard_exponential(n) - 1 if shape == "skewed" else rng.standard_normal(n)


def only(names: tuple[str, ...], decide: Callable[[Any], Decisions], rows: Any) -> Decisions:
    """Return some of the decisions."""
    return {name: made for name, made in decide(rows).items() if name in names}
