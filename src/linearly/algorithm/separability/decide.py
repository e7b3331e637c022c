"""Decide whether a hyperplane separates the classes: `separability` and `mistake_bound`.

`separability` returns a `Certificate`: a hyperplane with its margin, or at most p + 2 rows whose convex hulls meet. The
module `exact_search` makes the decision and `certificate` checks it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linearly.algorithm.separability.budget import DEFAULT_BUDGET, BudgetExceeded, check_budget, work_limit
from linearly.algorithm.separability.certificate import Certificate, Relation, margins, nearest_float
from linearly.algorithm.separability.error_floor import ErrorFloor, duplicate_rows_with_different_labels, error_floor
from linearly.algorithm.separability.exact_search import Decision, Multipliers, decide
from linearly.algorithm.separability.float_search import per_class, search_min_norm_point
from linearly.algorithm.separability.halfspaces import Floats, Halfspaces, floats
from linearly.algorithm.separability.integer_algebra import Integers, as_integers
from linearly.formatting import typeset_number
from linearly.kernels.blas_threads import single_threaded_blas

__all__ = ["Certificate", "ErrorFloor", "error_floor", "mistake_bound", "separability"]


@single_threaded_blas()
def separability(
    X: Any,
    y: ArrayLike,
    *,
    fit_intercept: bool = True,
    names: Sequence[str] | None = None,
    budget: float | None = DEFAULT_BUDGET,
) -> Certificate:
    """Decide whether classes are linearly separable, quasi-separable or overlapping, with a proof.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        Numeric features.
    y : array-like of shape (n_rows,)
        Two or more labels of any type. With K > 2 classes, separable means that K linear scores exist such that the
        true class always has the largest.
    fit_intercept : bool, default=True
        If True, hyperplanes may have an intercept.
    names : sequence of str, optional
        Names of the columns. By default those of the data frame, or x0, x1, …
    budget : float or None, default=1e10
        Largest number of operations (about a billion per second). None means no limit.

    Returns
    -------
    Certificate
        The verdict and its proof. If the budget does not suffice, the verdict is "undecided", with a witness against
        strict separation if one was found.

    See Also
    --------
    error_floor : A proven lower bound on the training errors of any hyperplane.
    mistake_bound : The most mistakes that a perceptron can make.

    Examples
    --------
    >>> certificate = separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> certificate
    Certificate(overlapping, 4 rows × 2 columns, witness rows 0, 1, 2, 3)
    >>> certificate.common_hull_point
    array([0.5, 0.5])
    """
    budget = check_budget(budget)
    H = Halfspaces(X, y, fit_intercept=fit_intercept, names=names)
    # A single column that separates is found at once; with hundreds of dummy columns the search takes minutes.
    alone = _single_columns(H, strict=False)
    certificate = partial(Certificate, classes=H.classes, names=H.names, fit_intercept=fit_intercept)
    certificate = partial(certificate, X=H.X, y=H.classes[H.codes])
    try:
        with work_limit(budget):
            decision = decide(H, alone[0].hyperplane(H) if alone else None)
    except BudgetExceeded as out:
        return certificate("undecided", witness=_shortest(H, out.relation), stopped_after=budget)
    witness = None if decision.first is None else _shortest(H, decision.first)
    if decision.v is None:
        spanning = Relation.of(H, decision.span.relation)
        return certificate("overlapping", witness=witness, spanning=spanning)
    columns = _single_columns(H, strict=True) if witness is None else alone
    v = _widest(H, decision.v) if witness is None else _sparsest(H, decision, columns)
    W, exact = _rounded(H, v, unit=witness is None)
    margin, augmented = margins(H, H.from_data(exact)) if witness is None else (None, None)
    coef, intercept = W[:, : H.p], W[:, H.p] if fit_intercept else np.zeros(len(W))
    return certificate(
        "separable" if witness is None else "quasi-separable",
        coef=coef[0] if H.K == 2 else coef,
        intercept=float(intercept[0]) if H.K == 2 else intercept,
        hyperplane=exact,
        margin=margin,
        augmented_margin=augmented,
        witness=witness,
        separating_columns=_taking_part(H, coef, columns),
        rules=tuple(column.rule(H) for column in columns),
    )


def mistake_bound(X: Any, y: ArrayLike, *, fit_intercept: bool = True, budget: float | None = DEFAULT_BUDGET) -> float:
    """Return Novikoff's bound (R/γ)² on the mistakes of a perceptron that starts at zero.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        Numeric features.
    y : array-like of shape (n_rows,)
        Two or more labels.
    fit_intercept : bool, default=True
        If True, the perceptron has an intercept.
    budget : float or None, default=1e10
        Largest number of operations; see `separability`.

    Returns
    -------
    float
        The bound. It is infinite if the classes are not separable or if the budget does not suffice. γ is the augmented
        margin of the certificate's hyperplane, within a few percent of the largest.

    References
    ----------
    .. [1] Novikoff (1962), On convergence proofs on perceptrons.

    Examples
    --------
    >>> round(mistake_bound([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]))
    85
    """
    return separability(X, y, fit_intercept=fit_intercept, budget=budget).mistake_bound()


def _shortest(H: Halfspaces, found: Multipliers | None) -> Relation | None:
    """Return the relation to show: two equal rows with different labels if there are any, else the one found."""
    duplicates = next(duplicate_rows_with_different_labels(H), None)
    if duplicates is None:
        return Relation.of(H, found) if found else None
    return Relation.of(H, {int(i): 1 for i in duplicates})


def tied_rows(certificate: Certificate) -> NDArray[np.intp]:
    """Return the rows of two quasi-separable classes that lie on its hyperplane and on those of single columns.

    In the limit of the likelihood the other rows contribute nothing. The tied rows may be quasi-separable themselves.
    """
    assert certificate.hyperplane is not None
    H = Halfspaces(certificate.X, certificate.y, fit_intercept=certificate.fit_intercept, classes=certificate.classes)
    apart = H.signs(H.from_data(certificate.hyperplane)) != 0
    for column in _single_columns(H, strict=False):
        apart |= H.signs(column.hyperplane(H)) != 0
    return np.flatnonzero(~apart)


# --- the hyperplane to show


def _widest(H: Halfspaces, v: Integers) -> Integers:
    """Return a separator of nearly the largest augmented margin, in a perceptron's units; v if none better is found."""
    largest = np.ldexp(max(np.abs(H.low).max(), np.abs(H.high).max()), -H.unit)
    s = int(np.frexp(max(largest, float(H.fit_intercept)))[1])
    units = np.eye(H.n_terms) if H.n_terms <= H.n else np.linalg.qr(_in_data_units(H, H.dense(slice(None)), s).T)[0]
    frame = per_class(H.K, _from_data_units(H, units, s))
    # A step costs about 6 d² operations: some seconds at most.
    steps = 100 + 10**9 // (6 * frame.shape[1] ** 2)
    start = floats(v, np.tile(H.top, H.K - 1))[0]
    try:
        with work_limit(DEFAULT_BUDGET):
            hint = search_min_norm_point(H, frame, np.ones(H.n_inequalities, dtype=bool), start, gap=0.02, steps=steps)
    except BudgetExceeded:
        return v
    if hint.v is None or not np.isfinite(hint.v).all() or not hint.v.any():
        return v
    other = as_integers(hint.v[:, None])[0][:, 0].astype(object)
    if not (H.signs(other) > 0).all():
        return v
    return max(v, other, key=lambda u: margins(H, u)[1])


def _from_data_units(H: Halfspaces, W: Floats, s: int) -> Floats:
    """Return columns (w, b) of W, in a perceptron's units times 2^−s, in the units of z: w·x·2^−unit + b = v·z."""
    V = np.ldexp(W, -s)
    V[: H.p] = np.ldexp(V[: H.p], -H.unit)
    if H.fit_intercept:
        V[-1] += H.shift @ V[:-1]
    V[: H.p] = np.ldexp(V[: H.p], H.exponent[:, None])
    return V


def _in_data_units(H: Halfspaces, Z: Floats, s: int) -> Floats:
    """Return rows (x·2^−unit, 1)·2^−s of rows z."""
    A = Z.copy()
    A[:, : H.p] = np.ldexp(np.ldexp(A[:, : H.p], H.exponent) + H.shift, -H.unit)
    return np.ldexp(A, -s)


def _sparsest(H: Halfspaces, decision: Decision, columns: Sequence[SingleColumn]) -> Integers:
    """Return a quasi-separating hyperplane with few columns: a single one, a basis vector of L⊥, or the one found."""
    if columns:
        return columns[0].hyperplane(H)
    v, B = decision.v, decision.span.orthogonal
    assert v is not None
    best = v
    for b in () if B is None else B.T[:64]:
        if np.count_nonzero(b) < np.count_nonzero(best):
            signs = H.signs(b)
            if signs.any() and (signs.min() >= 0 or signs.max() <= 0):
                best = b if signs.max() > 0 else -b
    return best


def _rounded(H: Halfspaces, v: Integers, unit: bool) -> tuple[Floats, tuple[tuple[Fraction, ...], ...]]:
    """Return (w, b) as floats and as fractions: the floats themselves if they separate as v does, else v's own."""
    W = H.to_data(v)
    largest = max(abs(t) for row in W for t in row)
    W = [[t / largest for t in row] for row in W]
    if unit:
        weights = [nearest_float(t) for row in W for t in row[: H.p]]
        norm = Fraction(math.hypot(*weights) or 1.0)
        W = [[t / norm for t in row] for row in W]
    near = np.array([[nearest_float(t) for t in row] for row in W])
    if np.isfinite(near).all():
        exact = tuple(tuple(Fraction(float(t)) for t in row) for row in near)
        signs = H.signs(H.from_data(exact))
        if (signs > 0).all() if unit else (signs >= 0).all() and signs.any():
            return near, exact
    return near, tuple(tuple(row) for row in W)


@dataclass(frozen=True)
class SingleColumn:
    """A column that separates two classes alone: class `above` is at or over the threshold, the other one under it.

    `low` and `high` are the smallest and largest entry of the column.
    """

    j: int
    above: int
    threshold: float
    low: float
    high: float
    strict: bool

    def rule(self, H: Halfspaces) -> str:
        """Return the rule in words."""
        up, down = (repr(H.classes.tolist()[k]) for k in (self.above, 1 - self.above))
        name = H.names[self.j]
        t = typeset_number(f"{self.threshold:.15g}")
        if self.strict:
            return f"{name} ≥ {t} exactly for {up}"
        only = [f"{name} > {t} only for {up}"] if self.high > self.threshold else []
        only += [f"{name} < {t} only for {down}"] if self.low < self.threshold else []
        return " and ".join(only)

    def hyperplane(self, H: Halfspaces) -> Integers:
        """Return the rule as a hyperplane."""
        w = [Fraction(0)] * H.n_terms
        side = 1 if self.above == 1 else -1
        w[self.j] = Fraction(side)
        if H.fit_intercept:
            w[-1] = -side * Fraction(self.threshold)
        return H.from_data([w])


def _single_columns(H: Halfspaces, strict: bool) -> list[SingleColumn]:
    if H.K > 2:
        return []
    extent = []
    for k in (0, 1):
        part = H.X[H.codes == k]
        low, high = part.min(axis=0), part.max(axis=0)
        extent.append((low.toarray().ravel(), high.toarray().ravel()) if H.sparse else (low, high))
    found = []
    for above in (1, 0):
        (floor, high), (low, ceiling) = extent[above], extent[1 - above]
        # Class `above` lives in [floor, high], the other one in [low, ceiling].
        fits = (ceiling < floor) if strict else (ceiling <= floor) & (low < high)
        if not H.fit_intercept:
            fits &= (ceiling < 0) & (floor > 0) if strict else (ceiling <= 0) & (floor >= 0)
        for j in np.flatnonzero(fits):
            between = _between(float(ceiling[j]), float(floor[j])) if H.fit_intercept else 0.0
            found.append(SingleColumn(int(j), above, between, float(low[j]), float(high[j]), strict))
    return sorted(found, key=lambda c: c.j)


def _between(low: float, high: float) -> float:
    """Return the number in (low, high] near the middle that has the fewest digits."""
    middle = low / 2 + high / 2
    short = (float(f"{middle:.{digits}g}") for digits in range(1, 18))
    return next((t for t in short if low < t <= high), high)


def _taking_part(H: Halfspaces, coef: Floats, columns: Sequence[SingleColumn]) -> tuple[tuple[str, float], ...]:
    if columns:
        return tuple((H.names[c.j], 1.0 if c.above == 1 else -1.0) for c in columns)
    size = coef[0] if H.K == 2 else np.linalg.norm(coef, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        order = np.argsort(-np.abs(size) * (H.high - H.low), kind="stable")
    return tuple((H.names[j], float(size[j])) for j in order if size[j])
