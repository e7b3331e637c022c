"""Compute the middle ("meat") of robust sandwich covariances, by one more pass over the rows.

Covariances are root · meat · root'. The meat is that of the rows u of `Solution.whitened_rows`, for which X'WX is the
identity, so it is well scaled whatever the columns are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from linearly import kernels
from linearly.algorithm.least_squares.column_scaling import power_of_two
from linearly.algorithm.least_squares.gram import target_matrix
from linearly.algorithm.least_squares.rounding_bounds import SAFE, digits_of_error, largest_ratio
from linearly.algorithm.least_squares.small_sample import (
    EXACT_TOL,
    HIGH,
    MAX_TERMS,
    ScoreMoments,
    SmallSample,
    feature_directions,
    packed_index,
)
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import digits_of_standard_errors
from linearly.algorithm.least_squares.triangular import EPS, exact_rescale
from linearly.dataset.rows.block import Block, Rows, row_weights
from linearly.kernels.double_double import Array, DoubleDouble
from linearly.kernels.matrices import dense, dense_keeping_low_part

_ROWS = 2048  # rows per product of pairs, so that temporaries stay small
_KERNEL_ROWS = 10_000  # up to this, products of single rows take no time, and show their rounding errors
_MAX_FLOPS = 4e9  # for the moments of scores; rows of small leverage are left out beyond that


class RobustMeat(NamedTuple):
    """The meat, what the small-sample tests of HC2 and HC3 need, and the meat of rounding errors if it is known."""

    meat: Array  # targets × r × r
    small_sample: SmallSample | None = None
    rounding: Array | None = None


def robust_meat(rows: Rows, solution: Solution, kind: str) -> RobustMeat:
    """Return Σ w²r² uu' with White's (HC0) or a corrected (HC1-HC3) weight on each squared residual, one per target.

    HC2 and HC3 without a penalty have small-sample tests.
    """
    # The Gram kernel is faster, but forms p × p products. They are larger than those of few rows, and lose digits as
    # the square of the condition number.
    pays = solution.n > max(len(solution.coef), _KERNEL_ROWS) and not solution.is_delicate
    small_sample = None
    if kind in ("HC0", "HC1") and solution.mean is not None and pays:
        meat, rounding = rows.reduce(_gram_meat(solution)), None
    else:
        if kind in ("HC0", "HC1") or solution.alpha > 0:
            both = rows.reduce(_row_meat(solution, kind))
        else:
            total: CorrectedScores = rows.reduce(_corrected_scores(solution, kind))
            both, small_sample = total.meat, total.small_sample(solution)
        meat, rounding = both[: len(both) // 2], both[len(both) // 2 :]
    if kind == "HC1":
        meat = meat * (solution.n / solution.dof if solution.dof > 0 else np.nan)
    return RobustMeat(np.asarray(meat), small_sample, rounding)


def limit_error_digits(solution: Solution, meat: Array, rounding: Array | None) -> Solution:
    """Return the solution with the correct digits of standard errors, from this meat and the meat of rounding errors.

    For scores s of errors d, the variance v = Σ s² of a term changes by at most 2 √(v Σ d²).
    """
    error = EPS * (solution.condition**2 if rounding is None else 1.0)
    if rounding is not None:
        root = solution.inverse_root[solution.identified]
        root = root / np.abs(root).max(axis=1, keepdims=True, initial=np.finfo(np.float64).tiny)
        variances, wrong = (np.einsum("ir,trs,is->ti", root, each, root) for each in (meat, rounding))
        # A variance that is zero up to rounding has no digits: it is compared to what it could have been.
        could_be = solution.sigma2[:, None] * (root**2).sum(axis=1)
        size = np.where(variances > 64 * wrong, variances, np.fmax(variances, could_be))
        error = max(error, math.sqrt(largest_ratio(wrong, size)))
    digits = digits_of_error(SAFE * error)
    return replace(solution, error_digits=digits) if digits < digits_of_standard_errors(solution) else solution


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedScores:
    """Sums over rows for HC2 and HC3: the meat, and the moments of `ScoreMoments` or, of many terms, bounds on them."""

    meat: Array  # of residuals, then of their rounding errors: 2 targets × r × r
    expected: Array  # r × r
    pairs: Array  # Σ over rows that are not left out, nor of high leverage; empty for many terms
    own: Array
    high: Array  # N and P − Q of each row of high leverage, packed: 2 × rows × r(r+1)/2
    by_term: Array  # of many terms, per term: mean of its variance, and a bound on half the variance of it
    joint: float  # the same bound for all features together
    largest: float  # leverage over (1 − leverage)^k of a row that is not in `pairs`
    exact: Array  # whitened rows of leverage 1

    def __add__(self, other: CorrectedScores) -> CorrectedScores:
        return CorrectedScores(
            self.meat + other.meat,
            self.expected + other.expected,
            self.pairs + other.pairs,
            self.own + other.own,
            np.concatenate([self.high, other.high], axis=1),
            self.by_term + other.by_term,
            self.joint + other.joint,
            max(self.largest, other.largest),
            np.concatenate([self.exact, other.exact]),
        )

    def small_sample(self, solution: Solution) -> SmallSample:
        """Return the degrees of freedom of the terms and of the F test."""
        exact = self.exact.T
        basis = feature_directions(solution, exact)
        if len(self.pairs):
            # A row of small leverage adds its own spread, and its products with the others (Cauchy-Schwarz).
            products, variances = self.high
            moments = ScoreMoments(self.expected, self.pairs, self.own, products, variances, 3 * self.largest)
            f_dof = moments.joint_dof(basis) if basis.shape[1] else np.nan
            return SmallSample(exact, moments.dof(solution.inverse_root.T), f_dof, moments)
        with np.errstate(divide="ignore", invalid="ignore"):
            term_dof = self.by_term[:, 0] ** 2 / self.by_term[:, 1]
            q = basis.shape[1]
            return SmallSample(exact, term_dof, float(np.float64(q * (q + 1)) / (2 * self.joint)))


def row_parts(block: Block, solution: Solution) -> tuple[Array, Array, Array]:
    """Return the whitened rows of a block, their weights, and their residuals with the rounding errors.

    The errors have the signs of a random choice, so that their sums over groups of rows have the usual length.
    """
    X, y = dense_keeping_low_part(block.X), target_matrix(block)
    assert y is not None
    weight = row_weights(block)
    residual = solution.residuals(X, y)
    mixed = block.global_index(np.arange(len(block))).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sign = np.where(mixed >> np.uint64(63), 1.0, -1.0)
    rounding = solution.rounding_of_residuals(X, y, residual) * sign[:, None]
    return solution.whitened_rows(X), np.hstack([residual, rounding]), weight


def _add_rounding_of_shares(residual: Array, leverage: Array, power: int, solution: Solution) -> Array:
    """Return residuals beside rounding errors, which include those of (1 − leverage)^(−power/2)."""
    k = residual.shape[1] // 2
    loss = EPS * power * (1.0 if solution.rows_are_extended else solution.condition)
    of_shares = loss * (leverage / np.maximum(1 - leverage, EXACT_TOL))[:, None] * residual[:, :k]
    return np.hstack([residual[:, :k], np.hypot(residual[:, k:], of_shares)])


def _row_meat(solution: Solution, kind: str) -> Callable[[Block], Array]:
    power = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}[kind]

    def meat(block: Block) -> Array:
        u, residual, weight = row_parts(block, solution)
        leverage = weight * (u**2).sum(axis=1)
        remaining = 1 - leverage
        if power:
            residual = _add_rounding_of_shares(residual, leverage, power, solution)
        with np.errstate(divide="ignore"):
            share = np.where(remaining > EXACT_TOL, 1 / remaining, np.nan) ** power if power else np.ones(len(u))
        scores = (weight * residual.T) ** 2 * share
        return np.stack([(u * s[:, None]).T @ u for s in scores])

    return meat


def _corrected_scores(solution: Solution, kind: str) -> Callable[[Block], CorrectedScores]:
    """Return the function for HC2 and HC3 without a penalty, where a = √w·u are the rows of an orthonormal matrix."""
    power = {"HC2": 1, "HC3": 2}[kind]
    root, r = solution.inverse_root, solution.inverse_root.shape[1]
    i, j = packed_index(r)
    few = r <= MAX_TERMS
    # Leverages sum to r, so at most r / floor rows exceed the floor, however many rows there are.
    cost = 4.0 * len(i) ** 2
    floor = cost * r / _MAX_FLOPS if solution.n * cost > _MAX_FLOPS else 0.0
    units = np.abs(root).max(axis=1, keepdims=True, initial=0.0)
    directions = (root / np.where(units > 0, units, 1.0)).T
    features = feature_directions(solution, np.zeros((r, 0)))

    def sums(block: Block) -> CorrectedScores:
        u, residual, weight = row_parts(block, solution)
        a = np.sqrt(weight)[:, None] * u
        leverage = (a**2).sum(axis=1)
        rest = 1 - leverage
        exact = rest <= EXACT_TOL
        share = np.where(exact, 0.0, 1 / np.where(exact, 1.0, rest)) ** power
        residual = _add_rounding_of_shares(residual, leverage, power, solution)
        squares = weight * residual.T**2 * share
        meat = np.stack([(a * s[:, None]).T @ a for s in squares])
        expected = (a * (share * rest)[:, None]).T @ a
        pairs, own = np.zeros((len(i), len(i)) if few else (0, 0)), np.zeros((len(i), len(i)) if few else (0, 0))
        by_term, joint, largest = np.zeros((0 if few else len(root), 2)), 0.0, 0.0
        high = np.zeros((2, 0, len(i)))
        if few:
            alone = np.flatnonzero((leverage > HIGH) & ~exact)
            products = a[alone][:, i] * a[alone][:, j]
            high = products * np.stack([np.sqrt(share), share * rest])[:, alone, None]
            chosen = np.flatnonzero((leverage > floor) & (leverage <= HIGH))
            for start in range(0, len(chosen), _ROWS):
                part = chosen[start : start + _ROWS]
                products = a[part][:, i] * a[part][:, j]
                scaled = products * share[part, None]
                pairs += scaled.T @ products
                own += (scaled * (share * (1 - 2 * leverage))[part, None]).T @ products
            largest = float((leverage * share).max(initial=0.0, where=leverage <= floor))
        else:
            by_row = (a @ directions) ** 2 * share[:, None]
            by_term = np.stack([rest @ by_row, rest @ by_row**2], axis=1)
            joint = float((share**2 * rest) @ ((a @ features) ** 2).sum(axis=1) ** 2)
        return CorrectedScores(meat, expected, pairs, own, high, by_term, joint, largest, a[exact])

    return sums


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
            return by_row(block)[:k]
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
