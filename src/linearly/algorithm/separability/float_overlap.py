"""Prove overlap in floating point, for a fit that needs no certificate.

A relation Σ λ a = 0 among one row more than there are unknowns is the solution of a linear system. An approximate
inverse bounds the distance of the exact solution from the one in floating point (Rump 2010, "Verification methods"). If
every λ exceeds that bound, every λ of the exact relation is positive, and its rows span everything. The same proof in
integers (`exact_search`) takes a hundred times as long at 100 columns.
"""

from __future__ import annotations

import numpy as np

from linearly.algorithm.separability.exact_search import SeparatorSearch, overlapping_class_pairs
from linearly.algorithm.separability.float_search import search_min_norm_point
from linearly.algorithm.separability.halfspaces import UNIT, Floats, Halfspaces

_SOME_ROWS = 4096
_ROWS_EACH = 10  # for each column and class
_UNDERFLOW = 2.0**-900  # more than all numbers below float64 can add up to


def certify_overlap(H: Halfspaces) -> bool:
    """Return True if overlap is certified in floating point; False is inconclusive."""
    some = max(_SOME_ROWS, _ROWS_EACH * H.n_terms * H.K)
    if H.n >= 2 * some:  # what some rows prove holds for all
        step = H.n // some
        part = Halfspaces(
            H.X[::step], H.codes[::step], fit_intercept=H.fit_intercept, names=H.names, classes=np.arange(H.K)
        )
        if _overlap(part):
            return True
    return _overlap(H)


def _overlap(H: Halfspaces) -> bool:
    if H.exponent.any():  # numbers that were rescaled may have lost digits
        return False
    if H.K == 2:
        return _two_overlap(H) is not None
    pairs = overlapping_class_pairs(H, SeparatorSearch(H).first_guess, _two_overlap)
    return sum(1 for _ in pairs) == H.K - 1


def _two_overlap(H: Halfspaces) -> bool | None:
    active = H.of_rows(H.nonzero_rows())
    if not active.all():
        return None
    search = SeparatorSearch(H)
    hint = search_min_norm_point(H, search.coordinates, active, search.good_guess)
    if hint.v is not None or len(hint.ids) != H.n_unknowns + 1:
        return None
    size = np.ldexp(1.0, -np.frexp(H.top)[1])
    return True if positive_relation(H.rows(np.array(hint.ids)) * size) else None


def positive_relation(A: Floats) -> bool:
    """Return whether the rows of A, one more than its columns, certainly satisfy λ'A = 0 with every λ positive."""
    system = np.vstack([A.T, np.ones(len(A))])
    try:
        inverse = np.linalg.inv(system)
    except np.linalg.LinAlgError:
        return False
    gamma, each, total = 1.01 * (len(A) + 4) * UNIT, np.abs(inverse), np.abs(system)
    apart = np.abs(inverse @ system - np.eye(len(A))) + gamma * (each @ total + 1) + _UNDERFLOW
    contraction = 1.01 * float(apart.sum(axis=1).max())
    if not contraction < 0.5:
        return False
    share = inverse[:, -1]
    left = system @ share
    left[-1] -= 1
    error = each @ (np.abs(left) + gamma * (total @ np.abs(share) + 1) + _UNDERFLOW)
    return bool(share.min() > 1.01 * float(error.max()) / (1 - contraction))
