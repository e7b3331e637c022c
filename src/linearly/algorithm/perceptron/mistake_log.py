"""The log of a perceptron's mistakes, from which the final, best, averaged and voted weights are computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linearly.algorithm.perceptron.error_counts import argmax_first, count_errors
from linearly.algorithm.perceptron.online_pass import Codes, Integers, Mistakes
from linearly.dataset.rows.block import Rows
from linearly.dataset.rows.safe_scaling import times_power
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense, is_sparse

MAX_LOG_BYTES = 2**22  # mistaken rows that a log keeps by default
CANDIDATES_PER_PASS = 64  # scored in one reduction, at the speed of a matrix product
_CANDIDATE_VECTORS = 256
_CANDIDATE_CELLS = 2**22  # and no more than 32 MB of them
_TILE = 256
_NARROW = 64  # columns up to which votes are computed from weights, not from products of rows
_PLACES = 2**13  # rows per tile then
_SCORES = 2**17  # scores per tile: one megabyte
_MAX_COMPARED = 2**16  # rows searched for contradictions: about 50 ms


class BestWeights(NamedTuple):
    """The weights with the fewest errors, and after which update they occurred (0: the start)."""

    update: int
    errors: float
    coef: Array
    intercept: Array


@dataclass(frozen=True, eq=False, repr=False)
class MistakeLog:
    """The rows that a perceptron misclassified, in order. Started at zero, its weights are Σ y x over the log.

    Attributes
    ----------
    rows : ndarray of int64
        Index of each mistaken row; in a stream, the number of rows before it.
    codes, rivals : ndarray of int32
        Code of its class (two classes: 0 for y = −1, 1 for y = +1) and of the class it was mistaken for.
    times : ndarray of int64
        Number of rows seen when the mistake was made, itself included.
    seen : int
        Number of rows seen in total.
    features, which : array and ndarray of int64, or None
        The distinct mistaken rows, and the index of each mistake among them. None if they take more than 4 MB;
        `with_rows` adds them. Rows of extreme magnitude are in the unit that makes their sum the coefficients.
    start : tuple of ndarray, or None
        Initial weights and intercepts, if not zero.
    """

    rows: Integers
    codes: Codes
    rivals: Codes
    times: Integers
    seen: int
    vectors: int
    p: int
    intercept: bool
    features: Any = None
    which: Integers | None = None
    start: tuple[Array, Array] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        bare = "" if self.features is not None else ", without their features"
        return f"MistakeLog({len(self)} mistakes in {self.seen} rows seen{bare})"

    @property
    def signs(self) -> NDArray[np.int64]:
        """Return y = ±1 of each mistake, for two classes."""
        if self.vectors > 1:
            raise ValueError("signs requires two classes. Use codes and rivals instead.")
        return 2 * self.codes.astype(np.int64) - 1

    @property
    def survival_counts(self) -> Integers:
        """Return how many rows each weight vector survived, the initial one first (c in Freund & Schapire 1999)."""
        return np.diff(np.concatenate([[1], self.times, [self.seen + 1]]))

    def with_rows(self, X: Any) -> MistakeLog:
        """Return the log with the mistaken rows taken from X, the array or CSR matrix of the training data."""
        distinct, which = np.unique(self.rows, return_inverse=True)
        if len(distinct) and (X.shape[1] != self.p or X.shape[0] <= distinct[-1]):
            raise ValueError(
                f"X does not match the mistake log, which has {self.p} columns and includes row "
                f"{distinct[-1]}. Pass the training rows."
            )
        return replace(self, features=X[distinct], which=which.astype(np.int64))

    # --- readings

    def final_weights(self) -> tuple[Array, Array]:
        """Return the weights and intercepts after the last mistake, bit for bit as in training."""
        W, b = self._start()
        for _, coef, intercept in self.iter_weights():
            W, b = coef[-1], intercept[-1]
        return W, b

    def averaged_weights(self) -> tuple[Array, Array]:
        """Return the mean of the weights after each row seen: each correction counts for the rows from it on."""
        features, which = self._mistaken_rows()
        share = (self.seen - self.times + 1) / max(self.seen, 1)
        C = np.zeros((features.shape[0], self.vectors))
        W, b = self._start()
        for vector, factor in self._corrections():
            np.add.at(C, (which, vector), factor * share)
            if self.intercept:
                np.add.at(b, vector, factor * share)
        return W + np.asarray(features.T @ C).T, b

    def vote(self, X: Any, weighting: str = "survival") -> Array:
        """Return the vote of the weights after each mistake, weighted by "survival" counts or "uniform".

        For two classes this is the mean of their signs (sign(0) = +1), between −1 and 1. For K classes it is the share
        of votes for each, n × K.
        """
        counts = self.survival_counts.astype(np.float64) if weighting == "survival" else np.ones(len(self) + 1)
        counts[0] *= weighting == "survival"
        features, _ = self._mistaken_rows()
        narrow = self.p <= _NARROW and not is_sparse(X) and not is_sparse(features)
        tally = (self._tally_by_weights if narrow else self._tally_by_products)(X, counts) / counts.sum()
        return tally[0] if self.vectors == 1 else np.asarray(tally.T)

    def _tally_by_weights(self, X: Any, counts: Array) -> Array:
        """Return the votes per class by forming the weights after each mistake: cheaper with few columns."""
        W, b = self._start()
        tally = np.empty((self.vectors, X.shape[0]))
        exact = np.float32 if counts.sum() < 2**24 else np.float64  # integers; half the bytes if they fit
        for first in range(0, X.shape[0], _PLACES):
            Z = np.asarray(X[first : first + _PLACES], dtype=np.float64).T
            some = counts[0] * _votes(W @ Z + b[:, None])
            for a, coef, intercept in self.iter_weights(
                max(CANDIDATES_PER_PASS, _SCORES // max(self.vectors * self.p, Z.shape[1]))
            ):
                mine = counts[1 + a : 1 + a + len(coef)].astype(exact)
                if self.vectors == 1:
                    positive = coef[:, 0] @ Z >= -intercept
                    some += 2.0 * (mine @ positive.astype(exact)) - mine.sum(dtype=np.float64)
                else:
                    scores = coef.transpose(1, 0, 2) @ Z
                    scores += intercept.T[:, :, None]
                    some += mine @ _votes(scores).astype(exact)
            tally[:, first : first + _PLACES] = some
        return tally

    def _tally_by_products(self, X: Any, counts: Array) -> Array:
        """Return the same from products of rows with mistaken rows: cheaper with many columns."""
        features, which = self._mistaken_rows()
        n, k = X.shape[0], self.vectors
        tally = np.zeros((k, n))
        for first in range(0, n, _TILE):
            some = slice(first, first + _TILE)
            W, b = self._start()
            score = np.asarray(X[some] @ W.T).T + b[:, None]
            tally[:, some] += counts[0] * _votes(score)
            for a in range(0, len(self), _TILE):
                mine = slice(a, a + _TILE)
                D = X[some] @ features[which[mine]].T
                D = np.asarray(dense(D)) + float(self.intercept)
                trail = np.zeros((k, *D.shape))
                for vector, factor in self._corrections(mine):
                    trail[vector, :, np.arange(D.shape[1])] = (D * factor).T
                np.cumsum(trail, axis=2, out=trail)
                trail += score[:, :, None]
                tally[:, some] += _votes(trail) @ counts[1:][mine]
                score = trail[:, :, -1].copy()
        return tally

    def best(self, rows: Rows) -> BestWeights:
        """Return the first weights, from the start to the last mistake, with the fewest errors on rows with codes."""
        W, b = self._start()
        best = BestWeights(0, float(count_errors(rows, W[None], b[None])[0]), W, b)
        for update, coef, intercept in self.iter_weights():
            best = better_of(best, update, coef, intercept, count_errors(rows, coef, intercept)[:-1])
        return best

    def iter_weights(self, at_once: int | None = None) -> Iterator[tuple[int, Array, Array]]:
        """Yield the weights after each mistake, some at a time: mistakes before, m × vectors × p, m × vectors."""
        features, which = self._mistaken_rows()
        W, b = self._start()
        step = candidates_at_once(self.vectors, self.p) if at_once is None else at_once
        for a in range(0, len(self), step):
            mine = slice(a, a + step)
            coef, intercept = apply_updates(
                W, b, features[which[mine]], self.codes[mine], self.rivals[mine], self.intercept
            )
            yield a, coef, intercept
            W, b = coef[-1], intercept[-1]

    def find_contradiction(self) -> str:
        """Return a simple proof, found among the mistaken rows, that no hyperplane separates; "" if there is none."""
        if self.features is None or self.which is None or self.features.shape[0] > _MAX_COMPARED:
            return ""
        mistake = np.full(self.features.shape[0], -1)
        mistake[self.which[::-1]] = np.arange(len(self))[::-1]
        seen: dict[bytes, int] = {}
        for i, key in zip(mistake.tolist(), _keys(self.features), strict=True):
            if i < 0:
                continue
            if not key.strip(b"\0") and not self.intercept:
                return f"row {self.rows[i]} is zero and there is no intercept"
            j = seen.setdefault(key, i)
            if self.codes[j] != self.codes[i]:
                a, b = sorted((int(self.rows[j]), int(self.rows[i])))
                return f"rows {a} and {b} are the same point with different labels"
        return ""

    def _mistaken_rows(self) -> tuple[Any, Integers]:
        if self.features is None or self.which is None:
            raise ValueError(
                "This log contains row numbers but not the rows, which need more than "
                f"{MAX_LOG_BYTES // 2**20} MB. Add them with log.with_rows(X)."
            )
        return self.features, self.which

    def _start(self) -> tuple[Array, Array]:
        if self.start is None:
            return np.zeros((self.vectors, self.p)), np.zeros(self.vectors)
        return self.start[0].copy(), self.start[1].copy()

    def _corrections(self, some: slice = slice(None)) -> list[tuple[Any, Any]]:
        return _corrections(self.codes[some], self.rivals[some], self.vectors)


class Recorder:
    """Collect the mistakes of online passes, and the mistaken rows as far as there is room."""

    def __init__(self, start: tuple[Array, Array] | None = None, room: float = MAX_LOG_BYTES) -> None:
        self.start, self.room = start, room
        self.parts: list[tuple[Integers, Codes, Codes, Integers]] = []
        self.kept: list[tuple[Integers, Any]] | None = []
        self._known: dict[int, NDArray[np.bool_]] = {}  # by block, which of its rows are kept

    def add(self, found: Mistakes, *, before: int = 0, exponent: int = 0) -> None:
        """Add mistakes; `before` is the number of rows of the stream before this data set."""
        self.parts.append((before + found.rows, found.codes, found.rivals, found.times))
        if self.kept is None:
            return
        known = self._known.get(found.block.start)
        if known is None:
            known = self._known[found.block.start] = np.zeros(len(found.block), dtype=bool)
        elif known[found.local].all():
            return
        new = np.sort(found.local[~known[found.local]])
        X = found.block.X
        size = int((X.indptr[new + 1] - X.indptr[new]).sum()) * 12 if is_sparse(X) else len(new) * X.shape[1] * 8
        self.room -= size
        if self.room < 0:
            self.kept = None
            return
        features = times_power(X[new], -exponent) if exponent else X[new]
        self.kept.append((before + found.block.global_index(new), features))
        known[new] = True

    def copy(self) -> Recorder:
        """Return an independent copy."""
        other = Recorder(self.start, self.room)
        other.parts, other.kept = self.parts.copy(), None if self.kept is None else self.kept.copy()
        other._known = {start: known.copy() for start, known in self._known.items()}
        return other

    def forget_rows_known(self) -> None:
        """Declare that the next data set has different rows from earlier ones."""
        self._known = {}

    def log(self, seen: int, vectors: int, p: int, intercept: bool) -> MistakeLog:
        """Return the log of all mistakes collected."""
        none: Any = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))
        rows, codes, rivals, times = (np.concatenate(c) for c in zip(*(self.parts or [none]), strict=True))
        self.parts = [(rows, codes, rivals, times)]
        log = MistakeLog(rows, codes, rivals, times, seen, vectors, p, intercept, start=self.start)
        if self.kept is None:
            return log
        if not self.kept:
            return replace(log, features=np.empty((0, p)), which=np.empty(0, dtype=np.int64))
        ids = np.concatenate([i for i, _ in self.kept])
        stack = [f for _, f in self.kept]
        features = scipy.sparse.vstack(stack, format="csr") if any(map(is_sparse, stack)) else np.concatenate(stack)
        by_row = np.argsort(ids, kind="stable")
        which = by_row[np.searchsorted(ids, rows, sorter=by_row)]
        self.kept = [(ids, features)]
        return replace(log, features=features, which=which)


def candidates_at_once(vectors: int, p: int) -> int:
    """Return how many candidates one reduction scores."""
    return max(1, min(CANDIDATES_PER_PASS, _CANDIDATE_VECTORS // vectors, _CANDIDATE_CELLS // (vectors * max(p, 1))))


def apply_updates(
    W: Array, b: Array, features: Any, codes: Codes, rivals: Codes, intercept: bool
) -> tuple[Array, Array]:
    """Return W and b after each correction, bit for bit as in a pass: m × vectors × p and m × vectors."""
    rows = np.asarray(dense(features), dtype=np.float64)
    m, vectors = len(codes), len(W)
    coef, constants = np.zeros((m + 1, vectors, W.shape[1])), np.zeros((m + 1, vectors))
    coef[0], constants[0] = W, b
    for vector, factor in _corrections(codes, rivals, vectors):
        coef[np.arange(1, m + 1), vector] = factor[:, None] * rows
        if intercept:
            constants[np.arange(1, m + 1), vector] = factor
    return np.add.accumulate(coef, axis=0)[1:], np.add.accumulate(constants, axis=0)[1:]


def better_of(best: BestWeights, update: int, coef: Array, intercept: Array, wrong: Array) -> BestWeights:
    """Return the best of the candidates after `update` corrections if strictly better than `best`, else `best`."""
    j = int(np.argmin(wrong))
    if wrong[j] >= best.errors:
        return best
    return BestWeights(update + j + 1, float(wrong[j]), coef[j].copy(), intercept[j].copy())


def _corrections(codes: Codes, rivals: Codes, vectors: int) -> list[tuple[Any, Any]]:
    """Return (vector, factor) pairs: mistake j adds factor[j]·x to vector[j]."""
    if vectors == 1:
        return [(np.zeros(len(codes), dtype=np.intp), 2.0 * codes - 1.0)]
    return [(codes.astype(np.intp), np.ones(len(codes))), (rivals.astype(np.intp), -np.ones(len(codes)))]


def _votes(trail: Array) -> Array:
    """Return signs (two classes) or indicators of the winner (K classes) along the first axis."""
    if len(trail) == 1:
        signs = (trail >= 0).astype(np.float64)  # four times as fast as np.where
        signs *= 2.0
        signs -= 1.0
        return signs
    winner = argmax_first(list(trail))
    return np.stack([winner == k for k in range(len(trail))]).astype(np.float64)


def _keys(features: Any) -> Iterator[bytes]:
    """Yield bytes per row: equal if the rows are equal, all zero if the row is zero."""
    if not is_sparse(features):
        data, size = (features + 0.0).tobytes(), features.shape[1] * features.dtype.itemsize
        yield from (data[i * size : (i + 1) * size] for i in range(len(features)))
        return
    tidy = features.copy()
    tidy.sum_duplicates()
    tidy.eliminate_zeros()
    for a, b in zip(tidy.indptr[:-1], tidy.indptr[1:], strict=True):
        yield tidy.indices[a:b].tobytes() + tidy.data[a:b].tobytes()
