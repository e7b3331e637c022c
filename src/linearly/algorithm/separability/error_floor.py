"""A proven lower bound on the training errors of any hyperplane: disjoint sets of rows that each contain an error.

A witness (Σ λ a = 0, λ > 0) forces a·v ≤ 0 for one of its rows, whatever v. That is an error unless the row lies on
the hyperplane and ties go its way (sign(0) = +1 for two classes, the first of equal scores for K > 2). With an
intercept ties do not matter: rows without error stay without error when the intercepts move a little against the
classes that win ties, and then no row is on the hyperplane, which a witness forbids. Without an intercept a witness
counts only if it has a row whose rival wins ties: either some row has a·v < 0, an error, or all have a·v = 0, and that
row is one. Both directions hold (Motzkin), so a floor of 0 means that some hyperplane makes no error, unless a budget
ended the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linearly.algorithm.separability.budget import DEFAULT_BUDGET, BudgetExceeded, check_budget, work_limit
from linearly.algorithm.separability.certificate import Relation
from linearly.algorithm.separability.exact_search import Mask, Multipliers, RelationSpan, SeparatorSearch, outside
from linearly.algorithm.separability.halfspaces import Halfspaces, Ids
from linearly.algorithm.separability.integer_algebra import divide_by_gcd, null_space
from linearly.dataset.rows.row_hash import hash_rows
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.matrices import dense


@dataclass(frozen=True, eq=False, repr=False)
class ErrorFloor:
    """A proven lower bound on the training errors of any hyperplane.

    Attributes
    ----------
    value : int
        The bound: every hyperplane misclassifies at least one row of each witness.
    witnesses : tuple of Relation
        Disjoint sets of rows, each of which proves one error.
    n_rows : int
        Number of rows.
    stopped_after : float or None
        The budget in operations if it ended the search, else None.
    """

    witnesses: tuple[Relation, ...]
    n_rows: int
    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    fit_intercept: bool
    stopped_after: float | None = None

    @property
    def value(self) -> int:
        """Return the number of errors that every hyperplane makes."""
        return len(self.witnesses)

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"ErrorFloor({self.value} of {self.n_rows} rows{self._stopped()})"

    def describe(self) -> str:
        """Return the bound in words."""
        errors = f"{self.value} error{'s' * (self.value != 1)}"
        return f"Every hyperplane makes at least {errors} on these {self.n_rows} rows{self._stopped()}."

    def _stopped(self) -> str:
        return "" if self.stopped_after is None else f"; the search stopped after {self.stopped_after:.3g} operations"

    def check(self, X: Any = None, y: Any = None) -> bool:
        """Verify that every witness holds in integers, implies an error, and shares no row with another.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), optional
            Rows to check the witnesses against; by default those that `error_floor` was given.
        y : array-like of shape (n_rows,), optional
            Their labels.

        Returns
        -------
        bool
            True if the number of errors is proven.

        Raises
        ------
        ValueError
            If only one of X and y is given.
        """
        if (X is None) != (y is None):
            raise ValueError("check() requires both X and y, or neither. Pass both.")
        X, y = (self.X, self.y) if X is None else (X, y)
        H = Halfspaces(X, y, fit_intercept=self.fit_intercept, classes=self.classes)
        rows = [int(i) for witness in self.witnesses for i in np.unique(witness.rows)]
        return len(rows) == len(set(rows)) and all(
            witness.holds(H) and _implies_error(H, witness) for witness in self.witnesses
        )


@single_threaded_blas()
def error_floor(
    X: Any, y: ArrayLike, *, fit_intercept: bool = True, limit: int | None = None, budget: float | None = DEFAULT_BUDGET
) -> ErrorFloor:
    """Prove a lower bound on the training errors of any hyperplane.

    The bound is proven but seldom the best possible, because each witness uses up to p + 2 rows and proves one error.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        Numeric features.
    y : array-like of shape (n_rows,)
        Two or more labels.
    fit_intercept : bool, default=True
        If True, hyperplanes may have an intercept.
    limit : int, optional
        Stop after this many witnesses.
    budget : float or None, default=1e10
        Largest number of operations (about a billion per second). None means no limit. The search returns what it has
        proven within the budget.

    Returns
    -------
    ErrorFloor
        The bound and its witnesses.

    See Also
    --------
    separability : Decide whether the bound is 0.

    Examples
    --------
    >>> floor = error_floor([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> floor, floor.check()
    (ErrorFloor(1 of 4 rows), True)
    """
    budget = check_budget(budget)
    H = Halfspaces(X, y, fit_intercept=fit_intercept)
    alive = np.ones(H.n, dtype=bool)
    witnesses: list[Relation] = []
    stopped_after = None
    try:
        with work_limit(budget):
            for found in _witnesses(H, alive):
                if limit is not None and len(witnesses) >= limit:
                    break
                witnesses.append(Relation.of(H, found))
                alive[witnesses[-1].rows] = False
    except BudgetExceeded:
        stopped_after = budget
    return ErrorFloor(tuple(witnesses), H.n, H.X, H.classes[H.codes], H.classes, fit_intercept, stopped_after)


def _witnesses(H: Halfspaces, alive: Mask) -> Iterator[Multipliers]:
    """Yield witnesses among the rows that are alive. The caller removes the rows of each before asking for the next."""
    for i in np.flatnonzero(~H.nonzero_rows()):
        ids = np.arange(i * (H.K - 1), (i + 1) * (H.K - 1))
        if _wins_ties(H, ids).any():
            yield {int(ids[_wins_ties(H, ids)][0]): 1}
        else:
            alive[i] = False  # always right
    for duplicates in duplicate_rows_with_different_labels(H):
        if alive[H.pair(duplicates)[0]].all():
            yield {int(i): 1 for i in duplicates}
    search = SeparatorSearch(H)
    # A row that a good hyperplane gets wrong, with rows that it gets right, makes a witness that spends one error only.
    value = H.scores(search.first_guess).reshape(H.n, -1).min(axis=1)
    right = value > 0
    for i in np.flatnonzero(~right)[np.argsort(value[~right])]:
        if alive[i]:
            rows = alive & right
            rows[i] = True
            found = _witness(search, H.of_rows(rows))
            if found is not None:
                yield found
    while True:
        found = _witness(search, H.of_rows(alive))
        if found is None:
            return
        yield found


def _witness(search: SeparatorSearch, active: Mask) -> Multipliers | None:
    """Return a minimal relation among active inequalities that proves an error, or None if there is none."""
    H = search.H
    ties = _wins_ties(H, np.arange(H.n_inequalities))
    span = RelationSpan(H)
    remaining = active.copy()
    while remaining.any():
        found = search.find_separator_or_relation(remaining, span)
        if isinstance(found, dict):
            errors = [i for i in found if H.fit_intercept or ties[i]]
            if errors and not span.relation:
                return found
            span = span.grow(found)
            if errors:
                return _reduced(H, span.relation, errors[0])
            remaining = active & outside(span)
            # A row in the span of rows that tie in their favour can do no better than tie.
            for i in np.flatnonzero(active & ties & ~remaining).tolist():
                if span.holds(i):
                    return _reduced(H, span.grow({i: 1}).relation, i)
                remaining[i] = True
        else:
            wrong = active & (H.signs(found, active) < 0)
            if not wrong.any():
                return None
            remaining |= wrong
    return None


def _reduced(H: Halfspaces, found: Multipliers, keep: int) -> Multipliers:
    """Return a minimal relation among the inequalities of one that contains inequality `keep` (Carathéodory)."""
    while True:
        ids = list(found)
        B, _ = null_space(H.lattice(np.array(ids, dtype=np.intp))[0].T)
        if B.shape[1] == 1:
            return found
        k = ids.index(keep)
        a, b = B[:, 0], B[:, 1]
        mu = a * b[k] - b * a[k] if a[k] or b[k] else a
        mu = mu if max(mu) > 0 else -mu
        weights = np.array(list(found.values()), dtype=object)
        # The largest step along μ that leaves all multipliers positive or zero; μ is zero at `keep`.
        steps = {i: Fraction(int(w), int(m)) for i, (w, m) in enumerate(zip(weights, mu, strict=True)) if m > 0}
        out = min(steps, key=lambda i: steps[i])
        weights = divide_by_gcd(weights * mu[out] - mu * weights[out])
        found = {i: int(t) for i, t in zip(ids, weights, strict=True) if t}


def _implies_error(H: Halfspaces, witness: Relation) -> bool:
    ids = witness.ids(H)
    return ids is not None and (H.fit_intercept or bool(_wins_ties(H, ids).any()))


def _wins_ties(H: Halfspaces, ids: Ids) -> Mask:
    rows, rivals = H.pair(ids)
    return rivals == 1 if H.K == 2 else rivals < H.codes[rows]


def duplicate_rows_with_different_labels(H: Halfspaces) -> Iterator[Ids]:
    """Yield disjoint pairs of inequalities of two rows with the same x and different labels."""
    hashes = hash_rows(H.X)
    order = np.lexsort((H.codes, hashes))
    same = hashes[order[1:]] == hashes[order[:-1]]
    starts = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)) == -1)
    for start, end in zip(starts, ends, strict=True):
        group = order[start : end + 1]
        if H.codes[group[0]] == H.codes[group[-1]]:
            continue
        values = dense(H.X[group])
        while len(group):  # two different rows may share a hash
            duplicates = (values == values[0]).all(axis=1)
            yield from _pairs(H, group[duplicates])
            group, values = group[~duplicates], values[~duplicates]


def _pairs(H: Halfspaces, duplicates: NDArray[np.intp]) -> Iterator[Ids]:
    """Yield as many disjoint pairs of different labels as these equal rows can form."""
    waiting = {k: duplicates[H.codes[duplicates] == k].tolist() for k in np.unique(H.codes[duplicates])}
    while True:
        a, b = sorted(waiting, key=lambda k: len(waiting[k]))[-2:] if len(waiting) > 1 else (0, 0)
        if a == b or not waiting[a]:
            return
        i, j = waiting[a].pop(0), waiting[b].pop(0)
        yield H.index(np.array([i, j]), np.array([b, a]))
