"""Compute the middle ("meat") of robust sandwich covariances, by one more pass over the rows.

Covariances are root · meat · root'. The meat is that of the rows u of `Solution.whitened_rows`, for which X'WX is the
identity, so it is well scaled whatever the columns are.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.triangular import exact_rescale
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.label_checks import first_missing, unique_with_codes
from linearly.exceptions import FewClustersWarning, warn_at_caller
from linearly.kernels.double_double import Array, DoubleDouble
from linearly.kernels.matrices import dense, dense_keeping_low_part

MIN_CLUSTERS = 40  # with fewer, t tests on G − 1 degrees of freedom reject too often (Cameron & Miller 2015)


def robust_meat(rows: Rows, solution: Solution, kind: str) -> Array:
    """Return Σ w²r² uu' with White's (HC0) or a corrected (HC1-HC3) weight on each squared residual, one per target.

    A row of leverage 1 has residual 0 whatever its error is: HC2 and HC3 divide 0 by 0 and are NaN.
    """
    # The Gram kernel is faster, but forms p × p products, which are larger than those of few rows.
    by_kernel = kind in ("HC0", "HC1") and solution.mean is not None and solution.n > len(solution.coef)
    meat = rows.reduce(_gram_meat(solution) if by_kernel else _row_meat(solution, kind))
    if not by_kernel and np.isnan(meat).any():
        warn_at_caller(
            f"{kind} is not known: a row has leverage 1, so a coefficient hangs on it alone, and its residual is 0 "
            "whatever its error was. Leave the row out (augment shows leverages), or use HC1.",
            np.exceptions.RankWarning,
        )
    if kind == "HC1":
        meat = meat * (solution.n / solution.dof if solution.dof > 0 else np.nan)
    return np.asarray(meat)


def clustered_meat(rows: Rows, solution: Solution, groups: Any) -> tuple[Array, int]:
    """Return Σ ss' for scores s summed within groups, times G/(G−1) · (n−1)/(n−k) as in R and Stata; and G."""
    r, k = solution.inverse_root.shape[1], len(solution.intercept)

    def scores(block: Block) -> Array:
        u, residual, weight = _row_parts(block, solution)
        return np.asarray(((weight[:, None] * residual)[:, :, None] * u[:, None, :]).reshape(len(u), k * r))

    sums = sums_by_group(rows, groups, scores)
    s, G = sums.reshape(len(sums), k, r), len(sums)
    correction = G / (G - 1) * (solution.n - 1) / solution.dof if solution.dof > 0 else np.nan
    return np.asarray(correction * np.einsum("gti,gtj->tij", s, s)), G


def sums_by_group(rows: Rows, groups: Any, scores: Callable[[Block], Array]) -> Array:
    """Return the scores of rows summed within groups, one row per group without groups of weight 0.

    `groups` contains one label per row, or is the name of the column that has them.
    """
    # Workers receive the name of the column or the codes, not the labels: a Dask series cannot be sent.
    column, codes = (groups, None) if isinstance(groups, str) else ("", group_codes(rows, groups)[0])

    def by_group(block: Block) -> GroupSums:
        labels = _group_column(block, column) if codes is None else codes_of_block(codes, block)
        values = scores(block)
        if block.weight is not None:
            labels, values = labels[block.weight > 0], values[block.weight > 0]
        return GroupSums.of(labels, values)

    total: GroupSums = rows.reduce(by_group)
    if len(total.labels) < 2:
        raise ValueError("A clustered covariance needs at least two groups.")
    return total.sums


def check_enough_clusters(G: int, terms: int) -> None:
    """Raise for no more than `terms` clusters, and warn about few.

    The scores of all clusters sum to 0, so they span at most G − 1 directions: a covariance of G terms would be
    singular.
    """
    if terms >= G:
        raise ValueError(
            f"groups has {G} groups, and the model {terms} terms: a clustered covariance needs more groups than terms. "
            'Leave columns out, use smaller groups, or use covariance="HC1" if rows are independent.'
        )
    if G < MIN_CLUSTERS:
        warn_at_caller(
            f"groups has {G} groups only. Clustered standard errors are too small with fewer than about "
            f"{MIN_CLUSTERS}: take p-values and intervals with care.",
            FewClustersWarning,
        )


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums:
    """Sums over the rows of each group: the labels of the groups in order, and one row of sums per group."""

    labels: NDArray[Any]
    sums: Array

    @staticmethod
    def of(labels: NDArray[Any], values: Array) -> GroupSums:
        """Return the sums for one label and one row of values per row."""
        found, codes = unique_with_codes(labels, "groups")
        sums = np.zeros((len(found), values.shape[1]))
        np.add.at(sums, codes, values)
        return GroupSums(found, sums)

    def __add__(self, other: GroupSums) -> GroupSums:
        if not (len(self.labels) and len(other.labels)):
            return self if len(self.labels) else other
        return GroupSums.of(np.concatenate([self.labels, other.labels]), np.concatenate([self.sums, other.sums]))


def _group_column(block: Block, column: str) -> NDArray[Any]:
    if block.group is None:
        raise ValueError(
            f"groups={column!r} is the name of a column, and these rows have no such column. Pass one label per "
            f"row, or fit a table: ly.fit(data, target=…, groups={column!r})."
        )
    return block.group


def codes_of_block(codes: NDArray[np.intp], block: Block) -> NDArray[np.intp]:
    """Return the codes of the rows of a block."""
    last = int(block.global_index(len(block) - 1)) if len(block) else -1
    if last >= len(codes):
        raise ValueError(f"groups has {len(codes)} labels, fewer than there are rows.")
    return np.asarray(codes[block.global_index(np.arange(len(block)))])


def group_codes(rows: Rows, groups: Any) -> tuple[NDArray[np.intp], int]:
    """Return groups as codes 0, 1, …, and their number."""
    # NumPy would convert a list to one type, and so a missing label or a number among texts to text.
    labels = np.array(groups, dtype=object) if isinstance(groups, (list, tuple)) else np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError("groups must be one label a row.")
    if isinstance(rows, Sized) and len(rows) != len(labels):
        raise ValueError(f"groups has {len(labels)} labels for {len(rows)} rows.")
    missing = first_missing(labels)
    if missing is not None:
        raise ValueError(f"groups has no label in row {missing}. Drop the row or give it a group of its own.")
    found, codes = unique_with_codes(labels, "groups")
    return codes, len(found)


def _row_parts(block: Block, solution: Solution) -> tuple[Array, Array, Array]:
    X, y = dense_keeping_low_part(block.X), target_matrix(block)
    assert y is not None
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return solution.whitened_rows(X), y - solution.predict(X), weight


def _row_meat(solution: Solution, kind: str) -> Callable[[Block], Array]:
    power = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}[kind]

    def meat(block: Block) -> Array:
        u, residual, weight = _row_parts(block, solution)
        remaining = 1 - weight * (u**2).sum(axis=1)
        with np.errstate(divide="ignore"):
            share = np.where(remaining > 1e-10, 1 / remaining, np.nan) ** power if power else np.ones(len(u))
        scores = (weight * residual.T) ** 2 * share
        return np.stack([(u * s[:, None]).T @ u for s in scores])

    return meat


def _gram_meat(solution: Solution) -> Callable[[Block], Array]:
    """Return the function for HC0 and HC1 by the Gram kernel: residual, weight and product in one read of a block."""
    mean = solution.mean
    assert mean is not None
    p, k = solution.coef.shape
    with np.errstate(divide="ignore"):
        unit = power_of_two(1 / np.abs(solution.inverse_root[1:]).max(axis=1, initial=0.0))
    y_unit = power_of_two(np.sqrt(solution.tss / solution.weight))
    # (1, x − mean) = (1, x − mean.high) T subtracts the low part of the mean.
    T = np.eye(1 + p)
    T[0, 1:] = -mean.low / unit
    S = np.zeros_like(solution.inverse_root)
    S[0, 0] = solution.inverse_root[0, 0]
    S[1:, 1:] = exact_rescale(solution.inverse_root[1:, 1:], unit[:, None], np.ones(1))
    S = T @ S
    coef = exact_rescale(solution.coef, unit[:, None], y_unit)
    at_mean = solution.prediction_at_mean - mean.low @ solution.coef
    by_row = _row_meat(solution, "HC0")

    def meat(block: Block) -> Array:
        if isinstance(block.X, DoubleDouble):
            return by_row(block)
        X = dense(block.X)
        y = target_matrix(block)
        assert y is not None
        weight = None if block.weight is None else block.weight**2
        parts = []
        for t in range(k):
            shift, scale = np.append(mean.high, at_mean[t]), 1.0 / np.append(unit, y_unit[t])
            G = kernels.gram(X, np.ascontiguousarray(y[:, [t]]), weight, shift, scale, np.append(coef[:, t], 0.0))
            parts.append(S.T @ G[: 1 + p, : 1 + p] @ S * y_unit[t] ** 2)
        return np.stack(parts)

    return meat
