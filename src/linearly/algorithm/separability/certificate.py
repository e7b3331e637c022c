"""A verdict on separability with its proof, and the check of that proof in rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.separability.halfspaces import Floats, Halfspaces, Ids, floats
from linearly.algorithm.separability.integer_algebra import Integers, null_space
from linearly.formatting import visible
from linearly.kernels.matrices import dense

Verdict = Literal["separable", "quasi-separable", "overlapping", "undecided"]


@dataclass(frozen=True, eq=False)
class Relation:
    """Rows, the rival class of each, and positive fractions λ with Σ λ a = 0.

    With two classes, Σ λ x over the rows of one class equals Σ λ x over the rows of the other. With an intercept both
    sums of λ are 1, so this is a point common to both convex hulls. With K classes, for every class, Σ λ (x, 1) over
    its rows equals Σ λ (x, 1) over the rows whose rival it is.
    """

    rows: NDArray[np.intp]
    rivals: NDArray[Any]
    witness_weights: tuple[Fraction, ...]

    @classmethod
    def of(cls, H: Halfspaces, found: Mapping[int, int]) -> Relation:
        """Return the relation of some inequalities of H, given their weights up to scale."""
        ids = np.array(sorted(found), dtype=np.intp)
        rows, rivals = H.pair(ids)
        # Two hulls: if the weights of one class sum to 1, so do those of the other. Otherwise all weights sum to 1.
        counted = H.codes[rows] == 1 if H.K == 2 and H.fit_intercept else np.ones(len(ids), dtype=bool)
        total = sum(found[i] for i in ids[counted].tolist())
        return cls(rows, H.classes[rivals], tuple(Fraction(found[i], total) for i in ids.tolist()))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def weights(self) -> Floats:
        """Return the weights as floats."""
        return np.array([float(t) for t in self.witness_weights])

    def ids(self, H: Halfspaces) -> Ids | None:
        """Return the ids of its inequalities in a data set, or None if its rows or rivals are not there."""
        codes = {c: k for k, c in enumerate(H.classes.tolist())}
        rivals = np.array([codes.get(c, -1) for c in self.rivals.tolist()], dtype=np.intp)
        if (rivals < 0).any() or (self.rows < 0).any() or (self.rows >= H.n).any():
            return None
        return None if (H.codes[self.rows] == rivals).any() else H.index(self.rows, rivals)

    def holds(self, H: Halfspaces) -> bool:
        """Return whether all λ are positive and Σ λ a = 0, in integer arithmetic."""
        ids = self.ids(H)
        if ids is None or not len(ids) or min(self.witness_weights) <= 0:
            return False
        scale = math.lcm(*(t.denominator for t in self.witness_weights))
        whole = np.array([int(t * scale) for t in self.witness_weights], dtype=object)
        return not (whole @ H.lattice(ids)[0].astype(object)).any()

    def spans(self, H: Halfspaces) -> bool:
        """Return whether its vectors a span those of all rows."""
        ids = self.ids(H)
        if ids is None:
            return False
        N, e = H.lattice(ids)
        B, _ = null_space(N)
        return all(not H.signs(b << (e.max() - e).astype(object)).any() for b in B.T)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Verdict on the linear separability of two or more classes, with its proof.

    Attributes
    ----------
    verdict : {"separable", "quasi-separable", "overlapping", "undecided"}
        "separable": some hyperplane has every row strictly on its own side. A perceptron converges; the logistic
        maximum likelihood estimate does not exist.
        "quasi-separable": some hyperplane has no row on the wrong side and some rows strictly on their own side, but
        none has all. No perceptron converges; the estimate does not exist.
        "overlapping": every hyperplane has rows strictly on the wrong side, unless all rows lie on it. No perceptron
        converges; the estimate exists.
        "undecided": the search used up its budget. A witness, if present, proves that the classes are not separable.
        With K > 2 classes, "on its own side" means that the score of its own class is the largest, "on it" means a tie.
    classes : ndarray of shape (K,)
        The labels, sorted.
    names : tuple of str
        Names of the columns.
    coef, intercept : ndarray and float, or ndarrays for K > 2, or None
        The hyperplane, unless overlapping: w·x + b > 0 for ``classes[1]``; for K > 2 classes one row of weights and one
        intercept per class, and the largest score wins. If separable, ‖w‖ is 1 up to rounding and the augmented margin
        is within a few percent of the largest possible (the search is cut short only with thousands of unknowns).
    hyperplane : tuple of tuples of Fraction, or None
        The same (w, b) as exact fractions. `coef` and `intercept` are the nearest floats.
    margin : float or None
        If separable: min y(w·x + b)/‖w‖, the distance of the nearest row.
    augmented_margin : float or None
        If separable: min y(w·x + b)/‖(w, b)‖, the γ of Novikoff's bound, which treats the intercept as one more weight.
        For K > 2, y(w·x + b) is the score of the row's class minus the best other score, and the norm is the
        Frobenius norm of the centred weights. If the largest ``|x|`` lies outside 1e±100, perceptrons with an intercept
        measure x in the power of two 2^e above it, and the norm is ‖(w·2^e, b)‖.
    witness : Relation or None
        Unless separable: at most p + 2 rows (K > 2: (K − 1)(p + 1) + 1 pairs of row and rival) that prove that no
        hyperplane separates strictly.
    spanning : Relation or None
        If overlapping: at most 2(K − 1)(p + 1) pairs that span all rows. They prove that no hyperplane separates some
        rows and has all others on it.
    separating_columns : tuple of (str, float)
        Unless overlapping: the columns that the hyperplane uses and their weights (K > 2: norms of weights), ordered by
        weight times spread. If single columns suffice, only those.
    rules : tuple of str
        The single columns that (quasi-)separate two classes alone, in words.
    stopped_after : float or None
        If undecided: the budget, in operations.
    index : ndarray or None
        If X and y are a subset of the rows: the index of each row in the full data, used to name rows.

    See Also
    --------
    separability : Make a certificate.
    error_floor : A proven lower bound on the training errors of any hyperplane.

    References
    ----------
    .. [1] Albert, Anderson (1984), On the existence of maximum likelihood estimates in logistic regression models,
       Biometrika 71.
    .. [2] Novikoff (1962), On convergence proofs on perceptrons.

    Examples
    --------
    >>> from linearly.algorithm.separability.decide import separability
    >>> certificate = separability([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> certificate
    Certificate(separable, 4 rows × 1 column, margin 1)
    >>> certificate.rules
    ("x0 ≥ 2 exactly for 'yes'",)
    >>> certificate.check()
    True
    """

    verdict: Verdict
    classes: NDArray[Any]
    names: tuple[str, ...]
    fit_intercept: bool
    coef: Floats | None = None
    intercept: Any = None
    hyperplane: tuple[tuple[Fraction, ...], ...] | None = None
    margin: float | None = None
    augmented_margin: float | None = None
    witness: Relation | None = None
    spanning: Relation | None = None
    separating_columns: tuple[tuple[str, float], ...] = ()
    rules: tuple[str, ...] = ()
    X: Any = field(default=None)
    y: Any = field(default=None)
    index: NDArray[np.intp] | None = None
    stopped_after: float | None = None

    @property
    def witness_rows(self) -> NDArray[np.intp] | None:
        """Return the rows of the witness."""
        return None if self.witness is None else self.witness.rows

    @property
    def witness_weights(self) -> tuple[Fraction, ...] | None:
        """Return the weights of the witness."""
        return None if self.witness is None else self.witness.witness_weights

    @property
    def common_hull_point(self) -> Floats | None:
        """Return a point in the convex hulls of both classes (two classes with an intercept, not separable)."""
        if self.witness is None or len(self.classes) > 2 or not self.fit_intercept:
            return None
        H = self._halfspaces(self.X, self.y)
        mine = H.codes[self.witness.rows] == 1
        rows = H.X[self.witness.rows[mine]]
        weights = self.witness.weights[mine]
        return np.asarray(weights @ dense(rows))

    def check(self, X: Any = None, y: Any = None) -> bool:
        """Verify the proof without rounding.

        The sign of a float is accepted if its magnitude exceeds its rounding error. Everything else is computed in
        integers.

        Parameters
        ----------
        X, y : array-like, optional
            Data to check the claims against. By default, the data from which the certificate was computed.

        Returns
        -------
        bool
            True if every claim of the certificate is correct.
        """
        if (X is None) != (y is None):
            raise ValueError("check() requires both X and y, or neither. Pass both.")
        H = self._halfspaces(self.X if X is None else X, self.y if y is None else y)
        if H.p != len(self.names):
            return False
        if self.verdict == "undecided":
            return self.witness is None or self.witness.holds(H)
        if self.verdict == "overlapping":
            parts = (self.witness, self.spanning)
            return all(part is not None and part.holds(H) for part in parts) and bool(
                self.spanning is not None and self.spanning.spans(H)
            )
        if self.hyperplane is None or not self._floats_are_nearest():
            return False
        signs = H.signs(H.from_data(self.hyperplane))
        if self.verdict == "separable":
            return bool((signs > 0).all())
        return bool((signs >= 0).all() and signs.any()) and self.witness is not None and self.witness.holds(H)

    def _halfspaces(self, X: Any, y: Any) -> Halfspaces:
        return Halfspaces(X, y, fit_intercept=self.fit_intercept, classes=self.classes)

    def _floats_are_nearest(self) -> bool:
        if self.hyperplane is None or self.coef is None:
            return False
        W = np.atleast_2d(self.coef)
        if self.fit_intercept:
            W = np.column_stack([W, np.atleast_1d(self.intercept)])
        exact = [nearest_float(t) for row in self.hyperplane for t in row]
        return np.array_equal(W.ravel(), np.array(exact))

    def mistake_bound(self) -> float:
        """Return (R/γ)², the most mistakes that a perceptron starting at zero can make; infinite unless separable.

        R is the largest norm of a row (x, 1) and γ the augmented margin (Novikoff 1962). For K > 2 classes the bound
        is 2R²/γ², for the perceptron that adds x to the true class and subtracts it from the predicted one. Every γ
        gives a valid bound. Rows of extreme magnitude count as the perceptrons scale them, (x·2^−e, 1); see
        `augmented_margin`.
        """
        if self.augmented_margin is None:
            return math.inf
        H = self._halfspaces(self.X, self.y)
        gamma = self.augmented_margin
        largest, scale = _largest_row(H)
        scale -= H.unit
        square = (1 if H.K == 2 else 2) * (largest**2 + math.ldexp(H.fit_intercept, -2 * scale))
        ratio = math.sqrt(square) / math.ldexp(gamma, -scale) if gamma else math.inf
        return ratio * ratio * (1 + 1e-12) if ratio < 1e150 else math.inf

    def describe(self) -> str:
        """Return the verdict, its proof and its meaning in words."""
        *others, last = map(repr, self.classes.tolist())
        who = f"{', '.join([*others[:8], '…'] if len(others) > 10 else others)} and {last}"
        two = len(self.classes) == 2  # K > 2 classes have scores instead of sides of a hyperplane
        by = "a hyperplane" if two else "linear scores, of which the largest wins,"
        if self.verdict == "undecided":
            stopped = f"it stopped after {self.stopped_after:.3g} operations. Pass a larger budget= to continue"
            if self.witness is None:
                return f"The search did not decide whether the classes {who} are linearly separable, because {stopped}."
            return (
                f"The classes {who} are not linearly separable, because {self._why_not_strictly()}. No "
                "perceptron converges. The search did not decide whether the logistic maximum likelihood "
                f"estimate exists, because {stopped}."
            )
        if self.verdict == "separable":
            how = "; ".join(self.rules[:3]) or f"{by} with margin {self.margin:.3g}"
            return (
                f"The classes {who} are linearly separable ({how}). A perceptron converges; the logistic maximum "
                "likelihood estimate does not exist."
            )
        why = self._why_not_strictly()
        if self.verdict == "quasi-separable":
            columns = ", ".join(name for name, _ in self.separating_columns[:5])
            how = "; ".join(self.rules[:3]) or f"{by} in {columns}"
            none = (
                "no row lies on the wrong side"
                if two
                else ("no row has another class's score above that of its own class, but some tie")
            )
            return (
                f"The classes {who} are quasi-separable ({how}): {none}{', but' if two else ', for'} {why}. "
                "No perceptron converges; the logistic maximum likelihood estimate does not exist."
            )
        some = (
            "every hyperplane that separates some rows has others on the wrong side"
            if two
            else "linear scores that separate some rows rank another class first in others"
        )
        return (
            f"The classes {who} overlap, because {why}, and {some}. No perceptron converges; the logistic "
            "maximum likelihood estimate exists."
        )

    def _why_not_strictly(self) -> str:
        assert self.witness is not None
        distinct = np.unique(self.witness.rows)  # of K classes, a row may be held against several rivals
        rows = self._named(distinct)
        if len(rows) == 1:
            return f"row {rows[0]} is zero and there is no intercept"
        listed = ", ".join(map(str, rows[:6])) + (", …" if len(rows) > 6 else "")
        values = np.asarray(dense(self.X[distinct]))
        if len(rows) == 2 and np.array_equal(values[0], values[1]):
            return f"rows {rows[0]} and {rows[1]} are the same point with different labels"
        if len(self.classes) == 2 and self.fit_intercept:
            return f"the convex hulls of the classes meet (rows {listed})"
        return f"{len(rows)} rows contradict each other (rows {listed})"

    def _named(self, rows: NDArray[np.intp]) -> list[int]:
        named: list[int] = (rows if self.index is None else self.index[rows]).tolist()
        return named

    def __str__(self) -> str:
        return visible(self.describe())

    def __repr__(self) -> str:
        n, p = self.X.shape
        size = f"{n} rows × {p} column{'s' * (p != 1)}"
        if self.verdict == "separable":
            return f"Certificate({self.verdict}, {size}, margin {self.margin:.4g})"
        if self.witness is None:
            return f"Certificate({self.verdict}, {size}, stopped after {self.stopped_after:.3g} operations)"
        rows = ", ".join(map(str, self._named(self.witness.rows[:6]))) + (", …" if len(self.witness) > 6 else "")
        return f"Certificate({self.verdict}, {size}, witness rows {rows})"


def nearest_float(t: Fraction) -> float:
    """Return the float nearest to a fraction; infinity if it is too large."""
    try:
        return float(t)
    except OverflowError:
        return math.inf if t > 0 else -math.inf


def margins(H: Halfspaces, v: Integers) -> tuple[float, float]:
    """Return the smallest a·v over ‖w‖ in the units of X and over ‖(w, b)‖ in a perceptron's, both rounded once."""
    least = _least(H, v)
    W = H.to_data(v)
    weights = [t for row in W for t in row[: H.p]]
    constants = [t for row in W for t in row[H.p :]]
    measured = [t * Fraction(2) ** H.unit for t in weights]
    return margin_ratio(least, weights), margin_ratio(least, measured + constants)


def margin_ratio(least: Fraction, weights: list[Fraction]) -> float:
    """Return least / ‖weights‖ without intermediate overflow."""
    s = max((t.numerator.bit_length() - t.denominator.bit_length() for t in weights if t), default=0)
    unit = Fraction(2) ** s
    norm = math.hypot(*(nearest_float(t / unit) for t in weights))
    return nearest_float(least / unit) / norm if norm else math.inf


def _least(H: Halfspaces, v: Integers) -> Fraction:
    """Return the exact smallest a·v: floating point finds the candidates, integers compute them."""
    weight = np.tile(H.top, H.K - 1)
    f, _ = floats(v, weight)
    value = H.scores(f)
    error = 4.0 * (H.n_terms + 4) * 2.0**-53 * float(weight @ np.abs(f)) + 2.0**-590
    ids = np.flatnonzero(value <= value.min() + 2 * error)
    best = None
    for start in range(0, len(ids), 4096):
        N, e = H.lattice(ids[start : start + 4096])
        low = int(e.min())
        scaled = (N.astype(object) << (e - low).astype(object)) @ v
        least = Fraction(int(min(scaled))) * Fraction(2) ** low
        best = least if best is None else min(best, least)
    assert best is not None
    return best


def _largest_row(H: Halfspaces) -> tuple[float, int]:
    """Return the largest ‖x‖·2^−s, rounded upwards, and s."""
    s = int(np.frexp(max(np.abs(H.low).max(), np.abs(H.high).max(), math.ldexp(H.fit_intercept, H.unit)))[1])
    if H.sparse:
        squares = H.X.copy()
        squares.data = np.ldexp(squares.data, -s) ** 2
        largest = float(squares.sum(axis=1).max())
    else:
        largest = max(
            float(np.einsum("ij,ij->i", part, part).max())
            for part in (np.ldexp(H.X[i : i + 8192], -s) for i in range(0, H.n, 8192))
        )
    return math.sqrt(largest) * (1 + (H.p + 4) * 2.0**-52), s
