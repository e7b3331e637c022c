"""Compute clustered covariances: sum the scores of rows within groups, and correct them for small samples.

    CR0   Σ ss' for scores s summed within groups (Liang and Zeger 1986)
    CR1   CR0 · G/(G−1) · (n−1)/(n−k), as Stata and R's vcovCL; "cluster" is another name for it
    CR2   scores times (I − G_g)^(-1/2): unbiased for errors of equal variance (Bell and McCaffrey 2002)
    CR3   scores times (I − G_g)^(-1): the jackknife that leaves one group out

G_g = A'A is the cross-product of a group's rows in the coordinates in which that of all rows is the identity. Two
columns of groups give V₁ + V₂ − V₁₂ (Cameron, Gelbach and Miller 2011), each part with its own correction. Weighted
fits have another correction (`cluster_corrections`).
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.cluster_corrections import equal_variance_corrections, meat_and_small_sample
from linearly.algorithm.least_squares.covariance_names import CORRECTED
from linearly.algorithm.least_squares.sandwich import row_parts
from linearly.algorithm.least_squares.small_sample import (
    EXACT_TOL,
    HIGH,
    MAX_TERMS,
    ScoreMoments,
    SmallSample,
    feature_directions,
    packed_index,
    unpacked,
)
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.label_checks import first_missing, unique_with_codes
from linearly.exceptions import FewClustersWarning, warn_at_caller
from linearly.kernels.double_double import Array

MIN_CLUSTERS = 40  # with fewer, t tests on G − 1 degrees of freedom reject too often (Cameron & Miller 2015)
_MAX_KEPT = 2**18  # numbers of cluster summaries that a model keeps, and its file: 2 MB
_MAX_PRODUCTS = 10**8  # rows times pairs of terms up to which CR0 and CR1 keep summaries, too
_ROWS = 2**14  # rows whose products are in memory at once; even, as successes and failures are pairs of rows
_CHUNK = 4096  # groups that are decomposed together


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Per group: the scores of one target, groups × r, and the packed cross-products of its rows."""

    scores: Array
    products: Array


@dataclass(frozen=True, eq=False)
class ClusteredMeat:
    """The meat of a clustered covariance, targets × r × r, and the number of groups (the smaller of two numbers)."""

    meat: Array
    n_clusters: int
    small_sample: SmallSample | None = None
    sums: ClusterSums | None = None
    rounding: Array | None = None  # of least squares, CR2 and CR3: the meat of the rounding errors of scores


def clustered_meat(rows: Rows, solution: Solution, groups: Any, kind: str = "CR1") -> ClusteredMeat:
    """Return the meat of a clustered covariance of least squares, by one pass over the rows."""
    r, k = solution.inverse_root.shape[1], len(solution.intercept)
    i, j = packed_index(r)
    keep = kind in CORRECTED or (r <= MAX_TERMS and k == 1 and solution.n * len(i) <= _MAX_PRODUCTS)

    def scores(block: Block) -> Array:
        u, residual, weight = row_parts(block, solution)
        own = (residual[:, :, None] * u[:, None, :]).reshape(len(u), 2 * k * r)
        if not keep:
            return np.asarray(weight[:, None] * own)
        products = u[:, i] * u[:, j]
        parts = [weight[:, None] * own, weight[:, None] * products]
        if kind in CORRECTED and block.weight is not None:
            parts += [own, products, weight[:, None] ** 2 * products]
        return np.hstack(parts)

    scale = (solution.n - 1) / solution.dof if solution.dof > 0 else np.nan
    found = meat_of_groups(rows, groups, kind, scores, (2 * k, r), scale, solution, keep=k == 1)
    rounding = found.meat[k:]
    if found.rounding is not None:
        rounding = rounding + found.rounding[:k]
    return replace(found, meat=found.meat[:k], rounding=rounding)


def meat_of_groups(
    rows: Rows,
    groups: Any,
    kind: str,
    scores: Callable[[Block], Array],
    shape: tuple[int, int],
    scale: float,
    solution: Solution | Array,
    *,
    keep: bool = True,
) -> ClusteredMeat:
    """Return the meat from scores of rows, n × targets·r, beside packed cross-products if those are needed.

    `scale` is CR1's (n−1)/(n−k); `solution` is the solution, or an inverse root whose rows are the terms. `keep` is
    whether to return the sums of the first target.
    """
    k, r = shape
    parts = [part.sums for part in sums_by_group(rows, groups, scores)]
    check_one_column(parts, kind)
    counts = [len(sums) for sums in parts]
    if kind not in CORRECTED:
        total = np.zeros((k, r, r))
        for sign, sums in zip((1, 1, -1), parts, strict=False):
            s, G = sums[:, : k * r].reshape(len(sums), k, r), len(sums)
            factor = 1.0 if kind == "CR0" else G / (G - 1) * scale
            total += sign * factor * np.einsum("gti,gtj->tij", s, s)
        return ClusteredMeat(total, min(counts[:2]), None, _kept_sums(parts, k, r) if keep else None)
    if parts[0].shape[1] > k * r + r * (r + 1) // 2:
        meat, small_sample, lost = meat_and_small_sample(*equal_variance_corrections(parts[0], kind, k, r), solution)
        lost *= _rounding_of_rows(solution) ** 2
    else:
        meat, small_sample, lost = _corrected(parts[0], kind, k, r, solution)
    return ClusteredMeat(meat, counts[0], small_sample, _kept_sums(parts, k, r) if keep else None, lost)


def _rounding_of_rows(solution: Solution | Array) -> float:
    return EPS * (1.0 if isinstance(solution, np.ndarray) or solution.rows_are_extended else solution.condition)


def check_one_column(parts: list[Any], kind: str) -> None:
    """Raise for CR2 and CR3 with sums by two columns."""
    if len(parts) > 1 and kind in CORRECTED:
        raise ValueError(f'covariance="{kind}" accepts only one groups column. Use covariance="CR1" for two.')


def _kept_sums(parts: list[Array], k: int, r: int) -> ClusterSums | None:
    scores, products = parts[0][:, :r], parts[0][:, k * r : k * r + r * (r + 1) // 2]
    if len(parts) > 1 or not products.size or scores.size + products.size > _MAX_KEPT:
        return None
    return ClusterSums(np.ascontiguousarray(scores), np.ascontiguousarray(products))


def _corrected(sums: Array, kind: str, k: int, r: int, solution: Solution | Array) -> tuple[Array, SmallSample, Array]:
    """Return the meat of CR2 or CR3, its degrees of freedom, and the meat of the errors of scores by the correction."""
    root = solution if isinstance(solution, np.ndarray) else solution.inverse_root
    m = sums.shape[1] - k * r
    few, power = r <= MAX_TERMS, 0.5 if kind == "CR2" else 1.0
    meat, lost, expected = np.zeros((k, r, r)), np.zeros((k, r, r)), np.zeros((r, r))
    exact, loss = [np.zeros((r, 0))], _rounding_of_rows(solution)
    # Of a logistic fit, the root is that of the information before the last step.
    excess = unpacked(sums[:, k * r :].sum(axis=0), r) - np.eye(r)
    pairs, own, high = np.zeros((m, m)), np.zeros((m, m)), [np.zeros((2, 0, m))]
    i, j = packed_index(r)
    units = np.abs(root).max(axis=1, keepdims=True, initial=0.0)
    directions = (root / np.where(units > 0, units, 1.0)).T
    by_term, outer = np.zeros((len(root), 2)), np.zeros((0 if few else len(root), r, r))
    features = None if isinstance(solution, np.ndarray) else feature_directions(solution, np.zeros((r, 0)))
    joint = 0.0
    for start in range(0, len(sums), _CHUNK):
        part = sums[start : start + _CHUNK]
        values, vectors = np.linalg.eigh(unpacked(part[:, k * r :], r))
        values = np.clip(values, 0.0, 1.0)
        alone = 1 - values <= EXACT_TOL
        exact.append(vectors.transpose(1, 0, 2)[:, alone])
        beta = np.where(alone, 0.0, 1 / np.where(alone, 1.0, 1 - values)) ** power

        def of(eigenvalues: Array, vectors: Array = vectors) -> Array:
            return np.asarray((vectors * eigenvalues[:, None, :]) @ vectors.transpose(0, 2, 1))

        scores = part[:, : k * r].reshape(len(part), k, r)
        s = np.einsum("gij,gtj->gti", of(beta), scores)
        meat += np.einsum("gti,gtj->tij", s, s)
        # β loses the digits of 1 − eigenvalue.
        of_beta = of(2 * power * loss * beta * values / np.maximum(1 - values, EXACT_TOL))
        wrong = np.einsum("gij,gtj->gti", of_beta, scores)
        lost += np.einsum("gti,gtj->tij", wrong, wrong)
        if isinstance(solution, np.ndarray):
            wrong = power * np.einsum("gij,gtj->gti", of(1 / np.maximum(1 - values, EXACT_TOL)) @ excess, s)
            lost += np.einsum("gti,gtj->tij", wrong, wrong)
        P, N, Q = of(values * beta**2), of(values * beta), of((values * beta) ** 2)
        D = of(values * beta**2 * (1 - values))  # P − Q
        expected += D.sum(axis=0)
        if few:
            above = values.max(axis=1, initial=0.0, where=~alone) > HIGH
            high.append(np.stack([N, D])[:, above][:, :, i, j])
            N, Q, D = (part[~above][:, i, j] for part in (N, Q, D))
            pairs += N.T @ N
            own += D.T @ D - Q.T @ Q
        else:
            tau, v = np.einsum("gij,ic,jc->gc", P, directions, directions), np.einsum("gij,jc->cgi", N, directions)
            length = (v**2).sum(axis=2).T
            by_term += np.stack([(tau - length).sum(axis=0), (tau**2 - 2 * tau * length).sum(axis=0)], axis=1)
            outer += v.transpose(0, 2, 1) @ v
            if features is not None:
                C = features.T @ P @ features
                joint += float((np.trace(C, axis1=1, axis2=2) ** 2).sum() + (C**2).sum())
    alone_directions = np.concatenate(exact, axis=1)
    basis = None if isinstance(solution, np.ndarray) else feature_directions(solution, alone_directions)
    if few:
        moments = ScoreMoments(expected, pairs, own, *np.concatenate(high, axis=1))
        f_dof = np.nan if basis is None or not basis.shape[1] else moments.joint_dof(basis)
        return meat, SmallSample(alone_directions, moments.dof(root.T), f_dof, moments), lost
    with np.errstate(divide="ignore", invalid="ignore"):
        term_dof = by_term[:, 0] ** 2 / (by_term[:, 1] + (outer**2).sum(axis=(1, 2)))
        q = np.float64(0 if basis is None else basis.shape[1])
        return meat, SmallSample(alone_directions, term_dof, float(q * (q + 1) / joint)), lost


def sums_by_group(rows: Rows, groups: Any, scores: Callable[[Block], Array]) -> list[GroupSums]:
    """Return the scores of rows summed within groups, one row per group, omitting groups with weight 0.

    `groups` contains one label per row, or two in an n × 2 array, or is the name of the column, or of two. Two give
    three sums: by the first, by the second, and by pairs.
    """

    def summed(block: Block) -> Callable[[NDArray[Any], NDArray[np.bool_]], GroupSums]:
        values = scores(block)
        return lambda labels, there: GroupSums.of(labels[there], values[there])

    parts = totals_by_group(rows, groups, summed)
    if any(len(part.labels) < 2 for part in parts):
        raise ValueError(
            "groups has only one group, and a clustered covariance needs at least two. Use "
            'covariance="HC1" if rows are independent.'
        )
    return parts


def totals_by_group(
    rows: Rows, groups: Any, summed: Callable[[Block], Callable[[NDArray[Any], NDArray[np.bool_]], GroupSums]]
) -> list[GroupSums]:
    """Return sums within groups. For a block, `summed` returns a function of the labels and of which rows count."""
    # Workers receive the name of the column or the codes, not the labels: a Dask series cannot be sent.
    named = isinstance(groups, str) or (isinstance(groups, tuple) and all(isinstance(name, str) for name in groups))
    codes = None if named else _all_codes(rows, groups)
    names: Any = groups if named else None

    def of_some_rows(block: Block) -> SeveralSums:
        found = _labels_of_block(block, names) if codes is None else [codes_of_block(one, block) for one in codes]
        there = np.ones(len(block), dtype=bool) if block.weight is None else block.weight > 0
        of = summed(block)
        return SeveralSums([of(labels, there) for labels in found])

    def by_group(block: Block) -> SeveralSums:
        starts = range(0, max(len(block), 1), _ROWS)
        parts = (replace(block.take(slice(at, at + _ROWS)), paired=block.paired) for at in starts)
        return reduce(add, map(of_some_rows, parts))

    total: SeveralSums = rows.reduce(by_group)
    return total.parts


def check_enough_clusters(G: int, terms: int, kind: str = "CR1") -> None:
    """Raise for no more than `terms` clusters, and warn about few. CR2 and CR3 have tests that are valid for few.

    The scores of all clusters sum to 0, so they span at most G − 1 directions: a covariance of G terms would be
    singular.
    """
    if kind in CORRECTED:
        return
    if terms >= G:
        raise ValueError(
            f"groups has {G} groups for {terms} terms, but a clustered covariance needs more groups than terms. Leave "
            'columns out, use smaller groups, or use covariance="HC1" if rows are independent.'
        )
    if G < MIN_CLUSTERS:
        warn_at_caller(
            f"groups contains only {G} groups. Clustered standard errors are too small with fewer than about "
            f'{MIN_CLUSTERS}. Use covariance="CR2", or interpret p-values and intervals with caution.',
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
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(found)))
        return GroupSums(
            found, np.add.reduceat(values[order], starts) if len(found) else np.zeros((0, values.shape[1]))
        )

    def __add__(self, other: GroupSums) -> GroupSums:
        if not (len(self.labels) and len(other.labels)):
            return self if len(self.labels) else other
        found, codes = unique_with_codes(np.concatenate([self.labels, other.labels]), "groups")
        total = np.zeros((len(found), self.sums.shape[1]))
        total[codes[: len(self.labels)]] = self.sums  # the labels of each of the two are distinct
        total[codes[len(self.labels) :]] += other.sums
        return GroupSums(found, total)


@dataclass(frozen=True, slots=True, eq=False)
class SeveralSums:
    """Sums by several groupings of the same rows."""

    parts: list[GroupSums]

    def __add__(self, other: SeveralSums) -> SeveralSums:
        return SeveralSums([a + b for a, b in zip(self.parts, other.parts, strict=True)])


def _labels_of_block(block: Block, columns: str | tuple[str, ...]) -> list[NDArray[Any]]:
    if block.group is None:
        raise ValueError(
            f"groups={columns!r} is the name of a column, but these rows have no such column. Pass one label per row, "
            f"or fit a table: ly.fit(data, target=…, groups={columns!r})."
        )
    if block.group.ndim == 1:
        return [block.group]
    first, second = block.group.T
    # A separator alone would make ("a|b", "c") and ("a", "b|c") the same pair.
    pairs = [f"{len(str(one))}:{one}|{other}" for one, other in zip(first, second, strict=True)]
    return [first, second, np.array(pairs, dtype=object)]


def _all_codes(rows: Rows, groups: Any) -> list[NDArray[np.intp]]:
    columns = [groups] if isinstance(groups, (list, tuple)) or np.ndim(groups) != 2 else list(np.asarray(groups).T)
    if isinstance(groups, (list, tuple)) and groups and isinstance(groups[0], (list, tuple, np.ndarray)):
        columns = list(np.array(groups, dtype=object).T)
    if len(columns) > 2:
        raise ValueError(f"groups has {len(columns)} columns. Pass one label per row, or two in an n × 2 array.")
    codes = [group_codes(rows, column)[0] for column in columns]
    return codes if len(codes) == 1 else [*codes, codes[0] * (codes[1].max(initial=0) + 1) + codes[1]]


def codes_of_block(codes: NDArray[np.intp], block: Block) -> NDArray[np.intp]:
    """Return the codes of the rows of a block."""
    last = int(block.global_index(len(block) - 1)) if len(block) else -1
    if last >= len(codes):
        raise ValueError(f"groups has {len(codes)} labels, fewer than there are rows. Pass one label per row.")
    return np.asarray(codes[block.global_index(np.arange(len(block)))])


def group_codes(rows: Rows, groups: Any) -> tuple[NDArray[np.intp], int]:
    """Return groups as codes 0, 1, …, and their number."""
    # NumPy would convert a list to one type, and so a missing label or a number among texts to text.
    labels = np.array(groups, dtype=object) if isinstance(groups, (list, tuple)) else np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError("groups has the wrong shape. Pass one label per row, or two in an n × 2 array.")
    if isinstance(rows, Sized) and len(rows) != len(labels):
        raise ValueError(f"groups has {len(labels)} labels for {len(rows)} rows. Pass one label per row.")
    missing = first_missing(labels)
    if missing is not None:
        raise ValueError(f"groups has no label in row {missing}. Drop the row, or give it a separate group.")
    found, codes = unique_with_codes(labels, "groups")
    return codes, len(found)
