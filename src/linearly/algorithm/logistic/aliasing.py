"""Find columns of a logistic design that are combinations of others, and choose the coefficients of smallest norm.

The likelihood determines coefficients only up to the null space of the columns. As in least squares, the result is the
maximiser whose slopes have the smallest norm in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.identification import constant_columns, intercept_of_direction, null_direction
from linearly.algorithm.least_squares.triangular import PivotedTriangle, least_norm
from linearly.algorithm.least_squares.whitening import CholeskyFactor, whiten
from linearly.kernels.double_double import Array

_ALIAS_TOL = 1e-7  # share of its length that rounding leaves of a constant column


@dataclass(frozen=True, slots=True, eq=False)
class Aliasing:
    """Features that are combinations of the intercept and others, in scaled columns."""

    aliased: tuple[int, ...]  # features
    null: Array  # a random direction of the null space in the user's units, intercept first
    spread: Array  # maps the coefficients of the other features to those of smallest norm
    combinations: Array  # the aliased features as combinations of the others
    mean: Array  # of the features, in some weights

    @classmethod
    def of(cls, design: Array, scaling: ColumnScaling, intercept: bool) -> Self | None:
        """Return the aliasing of D'WD for a design D = [1 | Z], or Z without an intercept; None at full rank."""
        if CholeskyFactor.of(design) is not None:
            return None
        white = whiten(design)
        if not white.aliased:
            return None
        first, solved, size = int(intercept), white.solved, white.size[int(intercept) :]
        aliased_R = solved.aliased_R[first:].copy()  # below row 0, that of the ones, columns are centred
        aliased_R[:, np.linalg.norm(aliased_R, axis=0) <= _ALIAS_TOL * np.linalg.norm(solved.aliased_R, axis=0)] = 0.0
        kept, aliased = solved.kept[first:] - first, solved.aliased - first
        about = PivotedTriangle(solved.R[first:, first:], solved.c[first:], list(kept), list(aliased), aliased_R)
        unit = scaling.scale * size
        null = null_direction(about, unit)
        mean = design[0, first:] / design[0, 0] if intercept else np.zeros(len(unit))
        if intercept:
            others = np.delete(np.arange(len(unit)), constant_columns(about))
            null = np.append(intercept_of_direction(null[others], (scaling.shift + scaling.scale * mean)[others]), null)
        return cls(
            aliased=tuple(map(int, aliased)),
            null=null,
            spread=least_norm(about, unit)[0] * scaling.scale[:, None] / scaling.scale[kept],
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
