"""Define the hot loops in NumPy. They run without the extension, and the compiled loops are tested against them.

Rows are X (n × p, float64 or float32, any strides) and Y (n × k, float64). The loops use scaled columns,
z = (x − shift) · scale with scale a power of two, so that squares neither overflow nor cancel. Z = [1 | X | Y] is
the scaled matrix of m = 1 + p + k columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.kernels.double_double import Array, DoubleDouble, concatenate, two_sum
from linearly.kernels.matrices import is_sparse

_ROWS = 2048  # rows in float64 at a time: the copy stays in cache, and memory does not grow with n


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def power_of_two(size: Array, step: int = 1) -> Array:
    """Return the power of 2ˢᵗᵉᵖ just above each size; 1 for a size of 0 or one that is not finite."""
    _, exponent = np.frexp(np.where((size > 0) & (size < np.inf), size, 0.5))
    if step > 1:
        exponent = -(-exponent // step) * step
    return np.asarray(np.ldexp(1.0, np.minimum(np.maximum(exponent, -1021), 1022)))


def gram(
    X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array, coef: Array | None = None
) -> Array:
    """Return Z'WZ. With `coef` (p slopes and an intercept, scaled) each row has the weight weight · residual²."""
    m = len(shift) + 1
    G = np.zeros((m, m))
    for first in range(0, len(X), _ROWS):
        some = slice(first, first + _ROWS)
        Z = _scaled_rows(X, Y, some, shift, scale)
        root = None if weight is None else np.sqrt(weight[some])
        if coef is not None:
            p = X.shape[1]
            residual = Z[:, 1 + p] - coef[p] - Z[:, 1 : 1 + p] @ coef[:p]
            root = residual if root is None else residual * root
        if root is not None:
            Z *= root[:, None]
        G += Z.T @ Z
    return G


def sparse_gram(X: Any, weight: Array | None, scale: Array, D: Array) -> tuple[Array, Array]:
    """Return Z'WZ and Z'WD for a CSR matrix X with z = x · scale, and dense columns D."""
    Z = X.astype(np.float64).multiply(scale).tocsr()
    weighted = Z.multiply((np.ones(X.shape[0]) if weight is None else weight)[:, None]).tocsr()
    return (weighted.T @ Z).toarray(), weighted.T @ D


def largest_of_columns(X: Any) -> Array:
    """Return the largest absolute value of each column of a CSR matrix."""
    largest = np.zeros(X.shape[1])
    with np.errstate(invalid="ignore"):  # a NaN appears in the sums
        np.maximum.at(largest, X.indices, np.abs(X.data))
    return largest


def coordinate_descent(
    columns: Array,
    places: NDArray[np.int64],
    squares: Array,
    lam: Array,
    mu: Array,
    w: Array,
    residual: Array,
    tolerance: float,
    most: int,
) -> tuple[Array, Array]:
    """Return w and residual after sweeps that reduce ½‖residual‖² + Σ λ|w| + ½ Σ μw² feature by feature.

    Feature j is column places[j], with the sum of squares squares[j] > 0. It ends if no coefficient changes by more
    than the tolerance, or after `most` sweeps. Nine of ten sweeps are over the coefficients that are not 0.
    """
    w, residual, every = w.copy(), residual.copy(), True
    for sweep in range(1, most + 1):
        largest = 0.0
        for j in range(len(w)) if every else np.flatnonzero(w).tolist():
            column = columns[:, places[j]]
            slope = column @ residual + squares[j] * w[j]
            excess = abs(slope) - lam[j]
            change = (np.copysign(excess / (squares[j] + mu[j]), slope) if excess > 0 else 0.0) - w[j]
            if change != 0:
                residual -= change * column
                w[j] = w[j] + change if excess > 0 else 0.0
                largest = max(largest, abs(change))
        if largest <= tolerance and every:
            break
        every = largest <= tolerance or sweep % 10 == 0
    return w, residual


def gram_by_class(
    X: NDArray[Any], weight: Array | None, shift: Array, scale: Array, order: NDArray[np.int64], ends: NDArray[np.int64]
) -> Array:
    """Return Z'WZ for each class k, whose rows are order[ends[k] : ends[k + 1]]: K × m × m."""
    parts = []
    for k in range(len(ends) - 1):
        G = np.zeros((len(shift) + 1, len(shift) + 1))
        for first in range(ends[k], ends[k + 1], _ROWS):
            rows = order[first : min(first + _ROWS, ends[k + 1])]
            G += gram(X[rows], None, None if weight is None else weight[rows], shift, scale)
        parts.append(G)
    return np.array(parts)


def gram_columns(X: Sequence[Array], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """Return Z'WZ for features stored as separate contiguous columns."""
    G = np.zeros((len(shift) + 1, len(shift) + 1))
    for first in range(0, len(X[0]), _ROWS):
        some = slice(first, first + _ROWS)
        part = np.stack([column[some] for column in X], axis=1)
        targets = None if Y is None else Y[some]
        G += gram(part, targets, None if weight is None else weight[some], shift, scale)
    return G


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def code_tables(
    X: Sequence[Array],
    weight: Array | None,
    shift: Array,
    scale: Array,
    codes: Sequence[NDArray[np.int32]],
    widths: Sequence[int],
) -> tuple[Array, Array]:
    """Return Σ w [1 | z | z²] by code, and Σ w by the codes of two categories, for scaled columns z.

    Category c has codes −1 … widths[c] − 1, one row of the tables each, categories one after another. The second table
    is filled below its diagonal blocks: the later category gives the row.
    """
    starts = np.concatenate([[0], np.cumsum(np.array(widths) + 1)]).astype(np.int64)
    rows = [start + 1 + code.astype(np.int64) for start, code in zip(starts[:-1], codes, strict=True)]
    for row, first, last in zip(rows, starts[:-1], starts[1:], strict=True):
        if ((row < first) | (row >= last)).any():
            raise ValueError("a code is outside its category")
    w = np.ones(len(codes[0])) if weight is None else weight
    size = int(starts[-1])
    scaled = [(x - s) * u for x, s, u in zip(X, shift, scale, strict=True)]
    columns = [w, *(w * z for z in scaled), *(w * z * z for z in scaled)]
    sums, pairs = np.zeros((size, len(columns))), np.zeros((size, size))
    for a, row in enumerate(rows):
        for j, column in enumerate(columns):
            sums[:, j] += np.bincount(row, column, size)
        for other in rows[:a]:
            pairs += np.bincount(row * size + other, w, size * size).reshape(size, size)
    return sums, pairs


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def gram_extended(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, weight: Array | None, shift: Array, scale: Array
) -> DoubleDouble:
    """Return Z'WZ in double-double. X_low has the low parts of X, if X is double-double."""
    m = len(shift) + 1
    G = DoubleDouble.of(np.zeros((m, m)))
    rows_at_once = max(1, _ROWS // m)
    for first in range(0, len(X), rows_at_once):
        rows = slice(first, first + rows_at_once)
        Z = _scaled_rows_extended(X, X_low, Y, rows, shift, scale)
        left = Z if weight is None else Z * weight[rows, None]
        G = G + (left[:, :, None] * Z[:, None, :]).sum(axis=0)
    return G


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def qr_update(R: Array, X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """Return the R factor of R stacked on W^½ Z. It has as many rows as the two together, at most m."""
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        of_rows = None if weight is None else weight[rows]
        Z = weighted_rows(X[rows], None if Y is None else Y[rows], of_rows, shift, scale)
        R = upper(np.vstack([R, Z]))
    return R


def weighted_rows(X: NDArray[Any], Y: Array | None, weight: Array | None, shift: Array, scale: Array) -> Array:
    """Return W^½ Z for the rows Z of scaled [1 | X | Y]."""
    Z = _scaled_rows(X, Y, slice(None), shift, scale)
    if weight is not None:
        Z *= np.sqrt(weight)[:, None]
    return Z


def upper(A: Array) -> Array:
    """Return the R factor of A, of min(rows, columns) rows."""
    rows, columns = A.shape
    if rows >= columns:
        return np.asarray(np.linalg.qr(A, mode="r"))
    # The first columns determine the reflections; one product applies them to the others. A matrix of 60 × 5000 takes
    # 1 ms this way. NumPy's QR of the whole matrix, which reflects row by row, takes 700 ms.
    Q, R = np.linalg.qr(A[:, :rows])
    return np.hstack([R, Q.T @ A[:, rows:]])


@np.errstate(over="ignore", invalid="ignore")  # a NaN or infinity shows up in the result
def residual_extended(
    X: NDArray[Any], X_low: Array | None, Y: Array, weight: Array | None, shift: Array, scale: Array, B: DoubleDouble
) -> DoubleDouble:
    """Return [1 | X]'W r (rows 0 to p) and Σ w r² (the last row) for the scaled residuals r = y − [1 | X]B."""
    p, k = X.shape[1], Y.shape[1]
    total = DoubleDouble.of(np.zeros((p + 2, k)))
    rows_at_once = max(1, _ROWS // (1 + p))
    for first in range(0, len(X), rows_at_once):
        rows = slice(first, first + rows_at_once)
        Z = _scaled_rows_extended(X, X_low, Y, rows, shift, scale)
        fitted = (Z[:, : 1 + p, None] * B[None, :, :]).sum(axis=1)
        r = Z[:, 1 + p :] - fitted
        wr = r if weight is None else r * weight[rows, None]
        gradient = (Z[:, : 1 + p, None] * wr[:, None, :]).sum(axis=0)
        squares = (r * wr).sum(axis=0)
        total = total + concatenate([gradient, squares[None]])
    return total


def _scaled_rows(X: NDArray[Any], Y: Array | None, rows: Any, shift: Array, scale: Array) -> Array:
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


def _scaled_rows_extended(
    X: NDArray[Any], X_low: Array | None, Y: Array | None, rows: slice, shift: Array, scale: Array
) -> DoubleDouble:
    values = np.concatenate([np.asarray(X[rows], dtype=np.float64)] + ([] if Y is None else [Y[rows]]), axis=1)
    high, low = two_sum(values, -np.broadcast_to(shift, values.shape))
    if X_low is not None:
        low[:, : X.shape[1]] += X_low[rows]
    high, low = two_sum(high, low)
    ones = np.ones((len(values), 1))
    return DoubleDouble(np.hstack([ones, high * scale]), np.hstack([0 * ones, low * scale]))


class PassResult(NamedTuple):
    """Report of an online pass: steps made, mistakes found, the largest |x|, and whether every score was finite."""

    walked: int
    found: int
    largest: float
    finite: bool


SUMS = 16  # partial sums in the score of a perceptron


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
) -> PassResult:
    """Visit the rows in order and correct the weights, in place, after every mistake.

    Two classes: W is one vector. Label 0 means y = −1 and label 1 means y = +1. A mistake is y(x'w + b) ≤ 0, corrected
    by w += y x, b += y. K classes: a mistake is a row whose own score is not the only largest one. Its rival is the
    class with the best score among the others, the first of equal ones. The correction is w_own += x, w_rival −= x.
    Labels are codes from 0. W is K × p for an array X and p × K for CSR, K = 1 for two classes. b is None without an
    intercept.

    U and c, used for an average, accumulate (rows seen before) × (what was added to W and b). The mean of the weights
    after each of T rows is W − U/T, without a sum over p at every row.

    The steps that were mistakes are written to `mistakes`, and the rivals to `rivals`. The pass ends with the rows,
    after `most` mistakes, or before a row whose score is not finite. `measure` requests the largest |x|.

    The order of summation is fixed, so that every implementation makes the same mistakes. Entry j of a row (CSR: its
    j-th stored entry) is added to partial sum j mod 16. The 16 sums are added by halves, and b is added last.
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
        rival, wrong = _rival_and_mistake(scores, own)
        ends = wrong | ~np.isfinite(scores).all(axis=1)
        first = int(np.argmax(ends)) if ends.any() else len(rows)
        if measure:
            largest = max(largest, float(np.abs(entries[: first + 1]).max(initial=0.0)))
        walked += first
        if first == len(rows):
            stretch = min(2 * stretch, max(1, 2**18 // max(entries.shape[1], 1)))
            continue
        if not np.isfinite(scores[first]).all():
            return PassResult(walked, found, largest, False)
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
    return PassResult(walked, found, largest, True)


def count_errors(X: Any, labels: NDArray[np.int32], W: Array, b: Array | None) -> int:
    """Return the number of rows that these weights classify wrongly, in the conventions of `perceptron_pass`.

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
    """Return some rows in float64 and None; for CSR their stored entries and their columns (−1 is padding)."""
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


def _rival_and_mistake(scores: Array, own: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the best class other than a row's own, and whether the row is a mistake (a NaN score is)."""
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
    """Return (loss, gradient, Hessian, mistakes, largest |logit|) for two classes, y being 0 or 1.

    beta has the intercept, then p slopes, all scaled. The gradient is (1 + p) × 1, the Hessian [1 | X]'W[1 | X].
    """
    m = X.shape[1] + 1
    loss, gradient, H = 0.0, np.zeros((m, 1)), np.zeros((m, m))
    mistakes, largest = 0, 0.0
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        Z = _scaled_rows(X, None, rows, shift, scale)
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
    """Return the probabilities of both classes, n × 2, for logits beta[0] + X beta[1:]; NaN if one is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        logit = np.asarray(X, dtype=np.float64) @ beta[1:] + beta[0]
        # exp(−|logit|) cannot overflow, and small probabilities keep their digits.
        small = np.exp(-np.abs(logit))
        share = 1 / (1 + small) + 0 * logit
        rest = small * share
    positive = logit >= 0
    return np.stack([np.where(positive, rest, share), np.where(positive, share, rest)], axis=1)


@np.errstate(invalid="ignore", over="ignore")
def softmax(
    X: NDArray[Any],
    codes: NDArray[np.int32],
    weight: Array | None,
    shift: Array,
    scale: Array,
    B: Array,
    hessian: bool = False,
) -> tuple[float, Array, Array | None, int, float]:
    """Return (loss, gradient, Hessian, mistakes, largest |logit|) for c logits against a reference class.

    codes[i] is the logit of the row's class, −1 for the reference. B and gradient are (1 + p) × c, intercepts first.
    The Hessian is logit by logit, and None unless it is requested.
    """
    q, c = B.shape
    gradient, H = np.zeros((q, c)), np.zeros((c * q, c * q)) if hessian else None
    loss, mistakes, largest = 0.0, 0, 0.0
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        Z = _scaled_rows(X, None, rows, shift, scale)
        w = np.ones(len(Z)) if weight is None else weight[rows]
        logits = np.column_stack([Z @ B, np.zeros(len(Z))])  # the reference last
        own = np.where(codes[rows] < 0, B.shape[1], codes[rows])
        each = np.arange(len(Z))
        top = logits.max(axis=1)
        E = np.exp(logits - top[:, None])
        total = E.sum(axis=1)
        loss += float(w @ (top + np.log(total) - logits[each, own]))
        R = E * (w / total)[:, None]
        if H is not None:
            for a in range(c):
                for b in range(a + 1):
                    other = np.delete(E, a, axis=1).sum(axis=1) if a == b else -E[:, b]
                    part = (Z * (R[:, a] * other / total)[:, None]).T @ Z
                    H[a * q : (a + 1) * q, b * q : (b + 1) * q] += part
                    if a != b:
                        H[b * q : (b + 1) * q, a * q : (a + 1) * q] += part
        R[each, own] -= w
        gradient += Z.T @ R[:, :-1]
        largest = max(largest, float(np.abs(logits[w > 0]).max(initial=0.0)))
        mine = logits[each, own]
        logits[each, own] = -np.inf
        mistakes += int(((mine <= logits.max(axis=1)) & (w > 0)).sum())
    return loss, gradient, H, mistakes, largest


@np.errstate(invalid="ignore", over="ignore")
def softmax_probabilities(X: NDArray[Any], B: Array) -> Array:
    """Return the softmax of the scores [1 | X]B, n × K; NaN for a row with a score that is not finite.

    The largest score of each row is subtracted first, so that nothing overflows.
    """
    scores = np.asarray(X, dtype=np.float64) @ B[1:] + B[0]
    E = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(E / E.sum(axis=1, keepdims=True) + (scores - scores).sum(axis=1, keepdims=True))


def mahalanobis(X: NDArray[Any], shift: Array, scale: Array, roots: Array, moved: Array, K: int) -> Array:
    """Return ‖zR_k − moved_k‖² of scaled rows z, n × K; `roots` is [R_1 … R_K], `moved` their vectors end to end."""
    out = np.empty((len(X), K))
    for first in range(0, len(X), _ROWS):
        D = (np.asarray(X[first : first + _ROWS], dtype=np.float64) - shift) * scale @ roots - moved
        out[first : first + _ROWS] = (D.reshape(len(D), K, -1) ** 2).sum(axis=2)
    return out


def count_rows(text: bytes) -> tuple[int, int, bool]:
    """Return the number of non-blank lines of CSV text, the number of line ends, and whether it has a quote."""
    lines = text.split(b"\n")
    return sum(line not in (b"", b"\r") for line in lines), len(lines) - 1, b'"' in text
