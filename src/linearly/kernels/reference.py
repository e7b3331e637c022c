"""The hot loops in NumPy: what each compiled loop means, and what runs where there is no compiler.

Rows are X (n × p, float64 or float32, any strides) and Y (n × k, float64). They are measured in a scaling,
z = (x − shift) · scale with scale a power of two, so that squares neither overflow nor cancel. Z = [1 | X | Y] in
that scaling, m = 1 + p + k columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array, DoubleDouble, two_sum
from linearly.kernels.matrices import is_sparse

_ROWS = 2048  # rows in float64 at a time: the copy stays in cache, and memory does not grow with n


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def gram(
    X: NDArray[Any],
    Y: Array | None,
    weight: Array | None,
    shift: Array,
    scale: Array,
    coef: Array | None = None,
) -> Array:
    """Z'WZ; with `coef` (p numbers and an intercept, in the scaling) each row counts weight · residual²."""
    m = len(shift) + 1
    G = np.zeros((m, m))
    for first in range(0, len(X), _ROWS):
        some = slice(first, first + _ROWS)
        Z = _gauged(X, Y, some, shift, scale)
        root = None if weight is None else np.sqrt(weight[some])
        if coef is not None:
            p = X.shape[1]
            residual = Z[:, 1 + p] - coef[p] - Z[:, 1 : 1 + p] @ coef[:p]
            root = residual if root is None else residual * root
        if root is not None:
            Z *= root[:, None]
        G += Z.T @ Z
    return G


def gram_by_class(
    X: NDArray[Any],
    weight: Array | None,
    shift: Array,
    scale: Array,
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> Array:
    """Z'WZ for each class k, whose rows are order[ends[k] : ends[k + 1]]: K × m × m."""
    parts = []
    for k in range(len(ends) - 1):
        G = np.zeros((len(shift) + 1, len(shift) + 1))
        for first in range(ends[k], ends[k + 1], _ROWS):
            rows = order[first : min(first + _ROWS, ends[k + 1])]
            G += gram(X[rows], None, None if weight is None else weight[rows], shift, scale)
        parts.append(G)
    return np.array(parts)


def gram_columns(X: Sequence[Array], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """Z'WZ where the columns of X lie apart from each other, each of them together."""
    G = np.zeros((len(shift) + 1, len(shift) + 1))
    for first in range(0, len(X[0]), _ROWS):
        some = slice(first, first + _ROWS)
        part = np.stack([column[some] for column in X], axis=1)
        targets = None if Y is None else Y[some]
        G += gram(part, targets, None if weight is None else weight[some], shift, scale)
    return G


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def gram_extended(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, weight: Array | None, shift: Array, scale: Array
) -> DoubleDouble:
    """Z'WZ in double-double. X_low carries the digits of X below float64."""
    m = len(shift) + 1
    G = DoubleDouble.of(np.zeros((m, m)))
    rows_at_once = max(1, _ROWS // m)
    for first in range(0, len(X), rows_at_once):
        rows = slice(first, first + rows_at_once)
        Z = _gauged_exactly(X, X_low, Y, rows, shift, scale)
        left = Z if weight is None else Z * weight[rows, None]
        G = G + (left[:, :, None] * Z[:, None, :]).sum(axis=0)
    return G


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def qr_update(R: Array, X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """The R factor of QR of R stacked on W^½ Z: as many rows as the two have, m at most."""
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        Z = _gauged(X, Y, rows, shift, scale)
        if weight is not None:
            Z *= np.sqrt(weight[rows])[:, None]
        R = upper(np.vstack([R, Z]))
    return R


def upper(A: Array) -> Array:
    """R of the QR factorisation of A: as many rows as A has, or as it has columns."""
    rows, columns = A.shape
    if rows >= columns:
        return np.asarray(np.linalg.qr(A, mode="r"))
    # The first columns say how to reflect, and the others follow in one product: 60 × 5000 in 1 ms. NumPy's QR of the
    # whole, which reflects them one row after another, takes 700.
    Q, R = np.linalg.qr(A[:, :rows])
    return np.hstack([R, Q.T @ A[:, rows:]])


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def residual_extended(
    X: NDArray[Any],
    X_low: Array | None,
    Y: Array,
    weight: Array | None,
    shift: Array,
    scale: Array,
    B: DoubleDouble,
) -> DoubleDouble:
    """For r = y − [1 | X]B in the scaling: rows 0..p of the result are [1 | X]'W r, the last is Σ w r²."""
    p, k = X.shape[1], Y.shape[1]
    total = DoubleDouble.of(np.zeros((p + 2, k)))
    rows_at_once = max(1, _ROWS // (1 + p))
    for first in range(0, len(X), rows_at_once):
        rows = slice(first, first + rows_at_once)
        Z = _gauged_exactly(X, X_low, Y, rows, shift, scale)
        fitted = (Z[:, : 1 + p, None] * B[None, :, :]).sum(axis=1)
        r = Z[:, 1 + p :] - fitted
        wr = r if weight is None else r * weight[rows, None]
        gradient = (Z[:, : 1 + p, None] * wr[:, None, :]).sum(axis=0)
        squares = (r * wr).sum(axis=0)
        total = total + DoubleDouble(np.vstack([gradient.high, squares.high]), np.vstack([gradient.low, squares.low]))
    return total


def _gauged(X: NDArray[Any], Y: Array | None, rows: Any, shift: Array, scale: Array) -> Array:
    p = X.shape[1]
    part = X[rows]
    Z = np.empty((len(part), len(shift) + 1))
    Z[:, 0] = 1.0
    Z[:, 1 : 1 + p] = part
    if Y is not None:
        Z[:, 1 + p :] = Y[rows]
    Z[:, 1:] -= shift
    Z[:, 1:] *= scale
    return Z


def _gauged_exactly(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, rows: slice, shift: Array, scale: Array
) -> DoubleDouble:
    plain = np.concatenate([np.asarray(X[rows], dtype=np.float64)] + ([] if Y is None else [Y[rows]]), axis=1)
    high, low = two_sum(plain, -np.broadcast_to(shift, plain.shape))
    if X_low is not None:
        low[:, : X.shape[1]] += X_low[rows]
    high, low = two_sum(high, low)
    ones = np.ones((len(plain), 1))
    return DoubleDouble(np.hstack([ones, high * scale]), np.hstack([0 * ones, low * scale]))


SUMS = 16  # partial sums of a perceptron's score


@np.errstate(over="ignore", invalid="ignore")
def perceptron_pass(
    X: Any,
    labels: NDArray[np.int32],
    order: NDArray[np.int64] | None,
    W: Array,
    b: Array | None,
    U: Array | None,
    c: Array | None,
    seen: int,
    most: int,
    measure: bool,
    mistakes: NDArray[np.int64],
    rivals: NDArray[np.int32],
) -> tuple[int, int, float, bool]:
    """Walk the rows in order and correct the weights, in place, after every mistake.

    Two classes: W is one vector, label 0 means y = −1, label 1 means y = +1; a mistake is y(x'w + b) ≤ 0, corrected by
    w += y x, b += y. K classes: a mistake is a row whose own score is not the only largest one; its rival is the best
    of the other classes, the first among equals; corrected by w_own += x, w_rival −= x. Labels are codes from 0 on. W
    is K × p for an array X and p × K for CSR, K = 1 for two classes. b is None without an intercept.

    U and c, where an average is wanted, take (rows seen before) × (what was added to W and b): the mean of the
    weights after each of T rows is W − U/T, without a sum over p at every row.

    Steps that were mistakes go to `mistakes`, the classes they were mistaken for to `rivals`. The walk ends with the
    rows, after `most` mistakes, or before a row whose score is not finite. Returns the steps walked, the mistakes
    found, the largest |x| on the way (if `measure`) and whether all was finite.

    The order of summation is part of the meaning, so that every implementation makes the same mistakes: entry j
    of a row (CSR: its j-th stored entry) goes to partial sum j mod 16, the sixteen meet by halves, b comes last.
    """
    sparse = is_sparse(X)
    weights, averages = (W.T, None if U is None else U.T) if sparse else (W, U)
    steps = X.shape[0] if order is None else len(order)
    walked, found, largest, stretch = 0, 0, 0.0, 1
    while walked < steps and found < most:
        stop = min(walked + stretch, steps)
        rows = np.arange(walked, stop) if order is None else order[walked:stop]
        entries, at = _entries(X, rows)
        scores = _scores(entries, at, weights)
        if b is not None:
            scores += b
        own = labels[rows]
        rival, wrong = _judged(scores, own)
        ends = wrong | ~np.isfinite(scores).all(axis=1)
        first = int(np.argmax(ends)) if ends.any() else len(rows)
        if measure:
            largest = max(largest, float(np.abs(entries[: first + 1]).max(initial=0.0)))
        walked += first
        if first == len(rows):
            stretch = min(2 * stretch, max(1, 2**18 // max(entries.shape[1], 1)))
            continue
        if not np.isfinite(scores[first]).all():
            return walked, found, largest, False
        corrections = [(0, 2.0 * own[first] - 1.0)] if len(weights) == 1 else [(own[first], 1.0), (rival[first], -1.0)]
        before = float(seen + walked)
        for k, sign in corrections:
            _add(weights[k], entries[first], None if at is None else at[first], sign)
            if b is not None:
                b[k] += sign
            if averages is not None:
                _add(averages[k], entries[first], None if at is None else at[first], before * sign)
                if b is not None and c is not None:
                    c[k] += before * sign
        mistakes[found] = walked
        if len(weights) > 1:
            rivals[found] = rival[first]
        walked, found, stretch = walked + 1, found + 1, max(1, stretch // 2)
    return walked, found, largest, True


def count_errors(X: Any, labels: NDArray[np.int32], W: Array, b: Array | None) -> int:
    """How many rows these weights classify wrongly, W and labels as in `perceptron_pass`, scores in the same order of summation.

    Two classes: x'w + b ≥ 0 predicts label 1. K classes: the largest score wins, the first among equals.
    """
    weights = W.T if is_sparse(X) else W
    wrong = 0
    for first in range(0, X.shape[0], _ROWS):
        rows = np.arange(first, min(first + _ROWS, X.shape[0]))
        scores = _scores(*_entries(X, rows), weights)
        if b is not None:
            scores += b
        predicted = scores[:, 0] >= 0 if len(weights) == 1 else np.argmax(scores, axis=1)
        wrong += int(np.count_nonzero(predicted != labels[rows]))
    return wrong


def _entries(X: Any, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64] | None]:
    """Some rows in float64; of CSR their stored entries side by side, and the columns they stand in (−1: no entry)."""
    if not is_sparse(X):
        return np.asarray(X[rows], dtype=np.float64), None
    starts, ends = X.indptr[rows].astype(np.int64), X.indptr[rows + 1].astype(np.int64)
    position = np.arange(int((ends - starts).max(initial=0)))
    there = position < (ends - starts)[:, None]
    source = (starts[:, None] + position)[there]
    entries, at = np.zeros(there.shape), np.full(there.shape, -1)
    entries[there], at[there] = X.data[source], X.indices[source]
    if at.size and (at.max() >= X.shape[1] or (at[there] < 0).any()):
        raise ValueError("a sparse row has an index outside its columns")
    return entries, at


def _scores(entries: Array, at: NDArray[np.int64] | None, weights: Array) -> Array:
    scores = np.empty((len(entries), len(weights)))
    for k, w in enumerate(weights):
        products = entries * (w if at is None else np.where(at < 0, 0.0, w[at]))
        sums = np.zeros((len(entries), SUMS))
        for j in range(0, products.shape[1], SUMS):
            part = products[:, j : j + SUMS]
            sums[:, : part.shape[1]] += part
        half = SUMS // 2
        while half:
            sums = sums[:, :half] + sums[:, half:]
            half //= 2
        scores[:, k] = sums[:, 0]
    return scores


def _judged(scores: Array, own: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The best class that is not a row's own, and whether the row is a mistake (NaN is)."""
    if scores.shape[1] == 1:
        return 1 - own.astype(np.int64), ~((2.0 * own - 1.0) * scores[:, 0] > 0)
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, own] = -np.inf
    rival = np.argmax(others, axis=1)
    return rival, ~(scores[rows, own] > scores[rows, rival])


def _add(w: Array, entries: Array, at: NDArray[np.int64] | None, factor: float) -> None:
    if at is None:
        w += factor * entries
    else:
        np.add.at(w, at[at >= 0], factor * entries[at >= 0])


@np.errstate(invalid="ignore", over="ignore")  # a NaN or infinity in X shows up in the loss
def logistic(
    X: NDArray[Any], y: Array, weight: Array | None, shift: Array, scale: Array, beta: Array, hessian: bool
) -> tuple[float, Array, Array | None, int, float]:
    """One read of rows for two classes, y being 0 or 1: (loss, gradient, Hessian, mistakes, largest |logit|).

    beta is the intercept, then p coefficients, in the scaling. Gradient is (1 + p) × 1, the Hessian [1 | X]'W[1 | X].
    """
    m = X.shape[1] + 1
    loss, gradient, H = 0.0, np.zeros((m, 1)), np.zeros((m, m))
    mistakes, largest = 0, 0.0
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        Z = _gauged(X, None, rows, shift, scale)
        w = np.ones(len(Z)) if weight is None else weight[rows]
        logit, target = Z @ beta, y[rows]
        e = np.exp(-np.abs(logit))
        up, down = np.where(logit >= 0, 1.0, e) / (1 + e), np.where(logit >= 0, e, 1.0) / (1 + e)
        loss += float(w @ (np.log1p(e) + np.maximum(logit, 0.0) - target * logit))
        gradient[:, 0] += (w * np.where(target > 0.5, -down, up)) @ Z
        if hessian:
            H += (Z * (w * up * down)[:, None]).T @ Z
        counted = w > 0
        mistakes += int((np.where(target > 0.5, logit, -logit)[counted] <= 0).sum())
        largest = max(largest, float(np.abs(logit[counted]).max(initial=0.0)))
    return loss, gradient, H if hessian else None, mistakes, largest


def probabilities(X: NDArray[Any], beta: Array) -> Array:
    """The probabilities of both classes, n × 2, for logits beta[0] + X beta[1:]; NaN where a logit is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        logit = np.asarray(X, dtype=np.float64) @ beta[1:] + beta[0]
        # The smaller of a logit and its negative is exponentiated: nothing overflows, small probabilities keep digits.
        small = np.exp(-np.abs(logit))
        share = 1 / (1 + small) + 0 * logit
        rest = small * share
    positive = logit >= 0
    return np.stack([np.where(positive, rest, share), np.where(positive, share, rest)], axis=1)


@np.errstate(invalid="ignore", over="ignore")
def softmax(
    X: NDArray[Any], codes: NDArray[np.int32], weight: Array | None, shift: Array, scale: Array, B: Array
) -> tuple[float, Array, int, float]:
    """One read of rows for c logits against a reference class: (loss, gradient, mistakes, largest |logit|).

    codes[i] is the logit of the row's class, −1 for the reference. B and gradient are (1 + p) × c, intercepts first.
    """
    gradient = np.zeros(B.shape)
    loss, mistakes, largest = 0.0, 0, 0.0
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        Z = _gauged(X, None, rows, shift, scale)
        w = np.ones(len(Z)) if weight is None else weight[rows]
        logits = np.column_stack([Z @ B, np.zeros(len(Z))])  # the reference last
        own = np.where(codes[rows] < 0, B.shape[1], codes[rows])
        each = np.arange(len(Z))
        top = logits.max(axis=1)
        E = np.exp(logits - top[:, None])
        total = E.sum(axis=1)
        loss += float(w @ (top + np.log(total) - logits[each, own]))
        R = E * (w / total)[:, None]
        R[each, own] -= w
        gradient += Z.T @ R[:, :-1]
        largest = max(largest, float(np.abs(logits[w > 0]).max(initial=0.0)))
        mine = logits[each, own]
        logits[each, own] = -np.inf
        mistakes += int(((mine <= logits.max(axis=1)) & (w > 0)).sum())
    return loss, gradient, mistakes, largest


@np.errstate(invalid="ignore", over="ignore")
def softmax_probabilities(X: NDArray[Any], B: Array) -> Array:
    """The shares of exp(score) for K scores [1 | X]B, n × K: probabilities. NaN where a score of the row is not finite.

    Scores are measured from the largest of their row, so that nothing overflows.
    """
    scores = np.asarray(X, dtype=np.float64) @ B[1:] + B[0]
    E = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(E / E.sum(axis=1, keepdims=True) + (scores - scores).sum(axis=1, keepdims=True))


def mahalanobis(X: NDArray[Any], shift: Array, scale: Array, roots: Array, moved: Array, K: int) -> Array:
    """‖zR_k − moved_k‖² of rows z in the scaling, n × K; `roots` is [R_1 … R_K], `moved` their vectors end to end."""
    out = np.empty((len(X), K))
    for first in range(0, len(X), _ROWS):
        D = (np.asarray(X[first : first + _ROWS], dtype=np.float64) - shift) * scale @ roots - moved
        out[first : first + _ROWS] = (D.reshape(len(D), K, -1) ** 2).sum(axis=2)
    return out


def count_rows(text: bytes) -> tuple[int, int, bool]:
    """Of rows of CSV: the lines that are not blank, the line ends, and whether there is a quote."""
    lines = text.split(b"\n")
    return sum(line not in (b"", b"\r") for line in lines), len(lines) - 1, b'"' in text


SKIPPED, NUMBER, WHOLE = 0, 1, 2  # what a column of text is read as
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?\d+")


def read_numbers(
    text: bytes, delimiter: str, fields: NDArray[np.int8], rows: int
) -> tuple[Array, NDArray[np.int64]] | None:
    """The numbers of rows of CSV, column after column; None if anything in them is not plain.

    A field is a number or a whole number, by its column, or is skipped. Plain rows have a number wherever one is
    wanted, and no quote; they are neither blank nor too few nor too many.
    """
    lines = text.decode("latin-1").replace("\r\n", "\n").removesuffix("\n").split("\n")
    cells = [line.split(delimiter) for line in lines]
    if len(lines) != rows or "" in lines or any(len(row) != len(fields) for row in cells):
        return None
    columns: tuple[list[list[float]], list[list[int]]] = ([], [])
    for kind, column in zip(fields.tolist(), zip(*cells, strict=True), strict=True):
        if kind == NUMBER and all(map(_NUMBER.fullmatch, column)) and not any(map(_unheard_of, column)):
            columns[0].append([float(cell) for cell in column])
        elif (
            kind == WHOLE
            and all(map(_WHOLE.fullmatch, column))
            and all(-(2**63) <= int(cell) < 2**63 for cell in column)
        ):
            columns[1].append([int(cell) for cell in column])
        elif kind != SKIPPED or any('"' in cell or "\r" in cell for cell in column):
            return None
    return (
        np.array(columns[0], dtype=np.float64).reshape(-1, rows),
        np.array(columns[1], dtype=np.int64).reshape(-1, rows),
    )


def _unheard_of(cell: str) -> bool:
    """Whether a number is too large or too small for float64."""
    value = float(cell)
    return np.isinf(value) or (value == 0 and any(digit in cell.lower().split("e")[0] for digit in "123456789"))
