"""Decide and check separability in fractions, by the definitions and without the library's code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Vector = list[Fraction]


def vectors(X: Any, y: Sequence[Any], fit_intercept: bool = True) -> dict[tuple[int, Any], Vector]:
    """Return the vector a of every (row, rival): K blocks of fractions."""
    classes = sorted(set(y))
    found = {}
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        z = [Fraction(float(t)) for t in x] + [Fraction(1)] * fit_intercept
        for rival in classes:
            if rival != label:
                blocks = {label: z, rival: [-t for t in z]}
                found[i, rival] = [t for c in classes for t in blocks.get(c, [Fraction(0)] * len(z))]
    return found


def as_integers(rows: Iterable[Vector]) -> list[list[int]]:
    """Return the rows as integers; this changes units, but not the signs of a·v."""
    columns = []
    for column in zip(*rows, strict=True):
        scale = math.lcm(*(t.denominator for t in column))
        integers = [int(t * scale) for t in column]
        columns.append([t // (math.gcd(*integers) or 1) for t in integers])
    return [list(row) for row in zip(*columns, strict=True)]


def oracle(X: Any, y: Sequence[Any], fit_intercept: bool = True) -> str:
    """Return the verdict from max Σ s with s ≤ a·v, 0 ≤ s ≤ 1, by the integer-preserving simplex method."""
    A = as_integers(list(vectors(X, y, fit_intercept).values()))
    N, M = len(A), len(A[0])
    T = np.zeros((2 * N + 1, 2 * M + N + 1), dtype=object)
    T[:N, :M], T[:N, M : 2 * M] = -np.array(A, dtype=object), A
    T[range(N), range(2 * M, 2 * M + N)] = T[range(N, 2 * N), range(2 * M, 2 * M + N)] = 1
    T[N : 2 * N, -1] = 1
    T[-1, 2 * M : 2 * M + N] = -1
    columns, rows = list(range(2 * M + N)), list(range(2 * M + N, 2 * M + 3 * N))
    denominator = 1
    for step in itertools.count():
        better = [j for j, t in enumerate(T[-1, :-1]) if t < 0]
        if not better:
            break
        # Steepest at first, Bland's rule after that: it cannot cycle.
        c = min(better, key=lambda j: T[-1, j] if step < 50 else columns[j])
        candidates = [i for i in range(2 * N) if T[i, c] > 0]
        r = min(candidates, key=lambda i: (Fraction(int(T[i, -1]), int(T[i, c])), rows[i]))
        pivot, column, row = T[r, c], T[:, c].copy(), T[r].copy()
        T = (T * pivot - np.outer(column, row)) // denominator
        T[r], T[:, c] = row, -column
        T[r, c] = denominator
        denominator = pivot
        columns[c], rows[r] = rows[r], columns[c]
    best = Fraction(int(T[-1, -1]), int(denominator))
    return {0: "overlapping", N: "separable"}.get(best, "quasi-separable")  # type: ignore[call-overload, no-any-return]


def rank(rows: Iterable[Vector]) -> int:
    """Return the rank of vectors of fractions."""
    M = [list(row) for row in rows]
    r = 0
    for j in range(len(M[0])):
        pivot = next((i for i in range(r, len(M)) if M[i][j]), None)
        if pivot is None:
            continue
        M[r], M[pivot] = M[pivot], M[r]
        for i in range(r + 1, len(M)):
            if M[i][j]:
                t = M[i][j] / M[r][j]
                M[i] = [a - t * b for a, b in zip(M[i], M[r], strict=True)]
        r += 1
    return r


def related(relation: Any, a: Mapping[tuple[int, Any], Vector]) -> bool:
    """Return whether the multipliers λ are positive and Σ λ a = 0."""
    pairs = list(zip(relation.rows.tolist(), relation.rivals.tolist(), strict=True))
    sums = [
        sum(t * a[pair][j] for t, pair in zip(relation.witness_weights, pairs, strict=True))
        for j in range(len(a[pairs[0]]))
    ]
    return len(set(pairs)) == len(pairs) and min(relation.witness_weights) > 0 and not any(sums)


def proven(c: Any, X: Any, y: Sequence[Any]) -> bool:
    """Return whether the certificate's claims hold in fractions, by the definitions."""
    a = vectors(X, y, c.fit_intercept)
    p, K = len(X[0]), len(c.classes)
    m = p + c.fit_intercept
    if c.witness is not None and (len(c.witness) > (K - 1) * m + 1 or not related(c.witness, a)):
        return False
    if c.verdict == "overlapping":
        if c.witness is None or not related(c.spanning, a) or len(c.spanning) > max(1, 2 * (K - 1) * m):
            return False
        span = [a[pair] for pair in zip(c.spanning.rows.tolist(), c.spanning.rivals.tolist(), strict=True)]
        return rank(span) == rank(a.values())
    W = c.hyperplane if K > 2 else ([-t for t in c.hyperplane[0]], c.hyperplane[0])
    v = [t for row in W for t in row]
    signs = [sum(s * t for s, t in zip(row, v, strict=True)) for row in a.values()]
    if c.verdict == "separable":
        return bool(min(signs) > 0)
    return min(signs) == 0 < max(signs) and c.witness is not None
