"""Columns of a logistic design that are combinations of others, and what follows for its coefficients.

The likelihood determines coefficients only up to the null space of the columns. Of all that maximise it those of
smallest norm in the user's units are given, the intercept left out of the norm: the convention of least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.identification import constant_columns, null_direction, set_small_to_zero
from linearly.algorithm.least_squares.solution import least_norm, whiten
from linearly.algorithm.least_squares.triangular import PivotedTriangle
from linearly.kernels.double_double import Array

_ALIAS_TOL = 1e-7  # of the length of a column: what is left of one that is constant


@dataclass(frozen=True, slots=True, eq=False)
class Aliasing:
    """Features that are combinations of the intercept and others, all in the units of a scaling."""

    aliased: tuple[int, ...]  # features
    null: Array  # a generic direction of the null space in the user's units, intercept first
    spread: Array  # takes the coefficients of the other features to those of smallest norm
    combinations: Array  # the aliased features as combinations of the others
    mean: Array  # of the features, in some weights

    @classmethod
    def of(cls, design: Array, scaling: ColumnScaling, intercept: bool) -> Self | None:
        """Read it off D'WD for a design D = [1 | Z], or Z without an intercept; None at full rank."""
        white = whiten(design)
        if not white.aliased:
            return None
        first, solved, size = int(intercept), white.solved, white.size[int(intercept) :]
        beside = solved.beside[first:].copy()  # the rest of a triangle whose first column is 1 is that about the mean
        beside[:, np.linalg.norm(beside, axis=0) <= _ALIAS_TOL * np.linalg.norm(solved.beside, axis=0)] = 0.0
        kept, aliased = solved.kept[first:] - first, solved.aliased - first
        about = PivotedTriangle(solved.R[first:, first:], solved.c[first:], list(kept), list(aliased), beside)
        unit = scaling.scale * size
        null = null_direction(about, unit)
        mean = design[0, first:] / design[0, 0] if intercept else np.zeros(len(unit))
        if intercept:
            others = np.delete(np.arange(len(unit)), constant_columns(about))
            null = np.append(set_small_to_zero(null[others], (scaling.shift + scaling.scale * mean)[others]), null)
        return cls(
            aliased=tuple(map(int, aliased)),
            null=null,
            spread=least_norm(about, unit) * scaling.scale[:, None] / scaling.scale[kept],
            combinations=about.combinations * size[aliased] / size[kept][:, None],
            mean=mean,
        )

    def of_smallest_norm(self, B: Array) -> Array:
        """Return the coefficients of smallest norm, intercept first if there is one, that give the logits of B."""
        first, aliased = len(self.null) - len(self.mean), list(self.aliased)
        slopes = B[first:]
        alone = np.delete(slopes, aliased, axis=0) + self.combinations @ slopes[aliased]
        least = self.spread @ alone
        return np.concatenate([B[:first] + self.mean @ (slopes - least), least]) if first else least
