"""Robust covariances: the middle of the sandwich, by one more fold at the fitted coefficients.

Covariances are root · meat · root' in the coordinates u of `Solution.coordinates`, where X'WX is the identity: the meat
is then well scaled whatever the columns are.
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

MIN_CLUSTERS = (
    40  # below about so many, t tests on G − 1 degrees of freedom still reject too often (Cameron & Miller 2015)
)


def robust_meat(rows: Rows, solution: Solution, kind: str) -> Array:
    """Σ w²r² uu' with White's (HC0) or a corrected (HC1-HC3) weight on each squared residual, one matrix a target.

    A row of leverage 1 is fitted exactly, whatever its error is: HC2 and HC3 divide 0 by 0, and are not known.
    """
    # Of few rows the product of their coordinates is the smaller one.
    plain = kind in ("HC0", "HC1") and solution.mean is not None and solution.n > len(solution.coef)
    meat = rows.reduce(_gram_meat(solution) if plain else _row_meat(solution, kind))
    if not plain and np.isnan(meat).any():
        warn_at_caller(
            f"{kind} is not known: a row has leverage 1, so a coefficient hangs on it alone, and its residual is 0 "
            "whatever its error was. Leave the row out (augment shows leverages), or use HC1.",
            np.exceptions.RankWarning,
        )
    if kind == "HC1":
        meat = meat * (solution.n / solution.dof if solution.dof > 0 else np.nan)
    return np.asarray(meat)


def clustered_meat(rows: Rows, solution: Solution, groups: Any) -> tuple[Array, int]:
    """Scores summed within groups, with the correction G/(G−1) · (n−1)/(n−k) of R's sandwich and of Stata; and G."""
    r, k = solution.inverse_root.shape[1], len(solution.intercept)

    def scores(block: Block) -> Array:
        u, residual, weight = _row_parts(block, solution)
        return np.asarray(((weight[:, None] * residual)[:, :, None] * u[:, None, :]).reshape(len(u), k * r))

    sums = sums_by_group(rows, groups, scores)
    s, G = sums.reshape(len(sums), k, r), len(sums)
    correction = G / (G - 1) * (solution.n - 1) / solution.dof if solution.dof > 0 else np.nan
    return np.asarray(correction * np.einsum("gti,gtj->tij", s, s)), G


def sums_by_group(rows: Rows, groups: Any, scores: Callable[[Block], Array]) -> Array:
    """The scores of rows summed within their groups, one row a group; a group whose rows have weight 0 is absent.

    `groups` contains one label per row, or is the name of the column that has them.
    """
    # Workers get the column's name or the codes, and not the labels as given: a Dask series may not be sent.
    column, codes = (groups, None) if isinstance(groups, str) else ("", group_codes(rows, groups)[0])

    def by_group(block: Block) -> GroupSums:
        labels = _labels_of(block, column) if codes is None else of_block(codes, block)
        values = scores(block)
        if block.weight is not None:
            labels, values = labels[block.weight > 0], values[block.weight > 0]
        return GroupSums.of(labels, values)

    found: GroupSums = rows.reduce(by_group)
    if len(found.labels) < 2:
        raise ValueError("A clustered covariance needs at least two groups.")
    return found.sums


def check_enough_clusters(G: int, terms: int) -> None:
    """Refuse G clusters for as many terms, and warn of few.

    The summed scores of all clusters are 0, so G of them span at most G − 1 directions: a covariance of G terms would
    be singular.
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
    """Sums of the rows of each group: the labels of the groups in order, and a row of sums for each."""

    labels: NDArray[Any]
    sums: Array

    @staticmethod
    def of(labels: NDArray[Any], values: Array) -> GroupSums:
        """From a label and some numbers for each row."""
        found, codes = unique_with_codes(labels, "groups")
        sums = np.zeros((len(found), values.shape[1]))
        np.add.at(sums, codes, values)
        return GroupSums(found, sums)

    def __add__(self, other: GroupSums) -> GroupSums:
        if not (len(self.labels) and len(other.labels)):
            return self if len(self.labels) else other
        return GroupSums.of(np.concatenate([self.labels, other.labels]), np.concatenate([self.sums, other.sums]))


def _labels_of(block: Block, column: str) -> NDArray[Any]:
    if block.group is None:
        raise ValueError(
            f"groups={column!r} is the name of a column, and these rows have no such column. Pass one label per "
            f"row, or fit a table: ly.fit(data, target=…, groups={column!r})."
        )
    return block.group


def of_block(codes: NDArray[np.intp], block: Block) -> NDArray[np.intp]:
    """The groups of the rows of a block."""
    last = int(block.global_index(len(block) - 1)) if len(block) else -1
    if last >= len(codes):
        raise ValueError(f"groups has {len(codes)} labels, fewer than there are rows.")
    return np.asarray(codes[block.global_index(np.arange(len(block)))])


def group_codes(rows: Rows, groups: Any) -> tuple[NDArray[np.intp], int]:
    """Groups as numbers 0, 1, …, and how many there are."""
    # Of a list NumPy would make one type, and so text of a gap or a number among texts.
    labels = np.array(groups, dtype=object) if isinstance(groups, (list, tuple)) else np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError("groups must be one label a row.")
    if isinstance(rows, Sized) and len(rows) != len(labels):
        raise ValueError(f"groups has {len(labels)} labels for {len(rows)} rows.")
    gap = first_missing(labels)
    if gap is not None:
        raise ValueError(f"groups has no label in row {gap}. Drop the row or give it a group of its own.")
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
        kept = 1 - weight * (u**2).sum(axis=1)
        with np.errstate(divide="ignore"):
            share = np.where(kept > 1e-10, 1 / kept, np.nan) ** power if power else np.ones(len(u))
        scores = (weight * residual.T) ** 2 * share
        return np.stack([(u * s[:, None]).T @ u for s in scores])

    return meat


def _gram_meat(solution: Solution) -> Callable[[Block], Array]:
    """The same for HC0 and HC1 by the Gram kernel: residual, weight and product in one read of the block."""
    mean = solution.mean
    assert mean is not None
    p, k = solution.coef.shape
    with np.errstate(divide="ignore"):
        unit = power_of_two(1 / np.abs(solution.inverse_root[1:]).max(axis=1, initial=0.0))
    y_unit = power_of_two(np.sqrt(solution.tss / solution.weight))
    # (1, x − mean) = (1, x − mean.high) T, which puts the low part of the mean back.
    T = np.eye(1 + p)
    T[0, 1:] = -mean.low / unit
    S = np.zeros_like(solution.inverse_root)
    S[0, 0], S[1:, 1:] = (
        solution.inverse_root[0, 0],
        exact_rescale(solution.inverse_root[1:, 1:], unit[:, None], np.ones(1)),
    )
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
