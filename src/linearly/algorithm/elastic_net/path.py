"""Minimize for many penalties: the path of an elastic net, its cross-validation, and the knots of the lasso.

A path starts at the largest penalty, where all penalised coefficients are zero, and each minimum starts from the one
before. Errors on the rows of a fold follow from its summary, so the rows are read once, whatever the number of
penalties, mixing weights and folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.elastic_net.active_set import minimize
from linearly.algorithm.elastic_net.quadratic_loss import Penalty, QuadraticLoss
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries, dense_rows, held_out_errors
from linearly.dataset.rows.block import Block, Rows
from linearly.kernels.double_double import Array

MIN_RATIO = 1e-3  # smallest penalty of a path over the largest
_MIN_L1_RATIO = 1e-3  # of the largest penalty: without an absolute value no penalty sets all coefficients to zero
_ABOVE = 1e-14  # by which the largest penalty exceeds the gradients, so that zeros are optimal despite its rounding
_EVENT_TOL = 1e-10  # relative distance within which two knots are one
_MAX_KNOTS_PER_FEATURE = 20
_MAX_FITS = 10**6  # of leave-one-out: about a minute
_MAX_COLUMNS = 2000  # of leave-one-out, which changes a matrix of all columns for each row


def largest_alpha(loss: QuadraticLoss, penalty: Penalty) -> float:
    """Return the smallest alpha at which all penalised coefficients of all targets are zero."""
    ratio = max(penalty.l1_ratio, _MIN_L1_RATIO)
    free = penalty.absolute == 0
    largest = 0.0
    for t in range(len(loss.total)):
        gradient = loss.c[:, t]
        if free.any():
            gradient = minimize(loss, t, np.where(free, 0.0, 1e300), np.zeros(loss.p)).gradient
        scale = np.abs(gradient) * loss.unit * loss.y_unit[t]
        entry = np.divide(scale, ratio * penalty.absolute, out=np.zeros(loss.p), where=~free)
        largest = max(largest, float(entry.max(initial=0.0)))
    return largest * (1 + _ABOVE)


def grid(largest: float, n: int) -> Array:
    """Return n penalties from the largest down to a thousandth of it, evenly spaced in their logarithms."""
    return largest * np.logspace(0.0, np.log10(MIN_RATIO), n)


def coefficient_path(loss: QuadraticLoss, penalty: Penalty, alphas: Array) -> Array:
    """Return the coefficients for decreasing alphas in scaled units, p × alphas × targets."""
    W = np.zeros((loss.p, len(alphas), len(loss.total)))
    for t in range(len(loss.total)):
        w, gradient = np.zeros(loss.p), loss.c[:, t]
        for i, alpha in enumerate(alphas.tolist()):
            found = minimize(loss, t, *loss.penalties(replace(penalty, alpha=alpha), t), w, gradient)
            W[:, i, t] = w = found.w
            gradient = found.gradient
    return W


def cross_validated_errors(
    folds: FoldSummaries, penalties: list[Penalty], alphas: list[Array], intercept: bool
) -> list[Array]:
    """Return the mean squared error of each fold by the model of the others.

    For each penalty the result is alphas × folds × targets. Folds without rows have NaN.
    """
    k = len(folds.parts[0].scaling.scale) - folds.parts[0].p
    errors = [np.full((len(tried), len(folds.parts), k), np.nan) for tried in alphas]
    for j, part in enumerate(folds.parts):
        if part.n == 0:
            continue
        loss = QuadraticLoss.of(folds.training_summary(j), intercept)
        for penalty, tried, error in zip(penalties, alphas, errors, strict=True):
            coef, _ = loss.coefficients(coefficient_path(loss, penalty, tried))
            error[:, j] = held_out_errors(part, coef, (loss.mean, loss.y_mean) if intercept else None)
    return errors


@dataclass(frozen=True, slots=True, eq=False)
class LassoKnots:
    """The lasso for every alpha: coefficients are linear in alpha between knots (Osborne, Presnell & Turlach 2000).

    Attributes
    ----------
    alphas : ndarray of shape (n_knots,)
        Penalties at which a coefficient leaves or reaches zero, in decreasing order; the last is 0.
    coefs : ndarray of shape (n_knots, n_features)
        Coefficients at the knots.
    intercepts : ndarray of shape (n_knots,)
        Intercepts at the knots.
    """

    alphas: Array
    coefs: Array
    intercepts: Array

    def coef_at(self, alpha: float) -> Array:
        """Interpolate the coefficients for any penalty.

        Parameters
        ----------
        alpha : float
            The penalty.

        Returns
        -------
        ndarray of shape (n_features,)
            The coefficients.
        """
        if alpha >= self.alphas[0]:
            return np.array(self.coefs[0])
        i = int(np.searchsorted(-self.alphas, -alpha, side="right")) - 1
        i = min(i, len(self.alphas) - 2)
        share = (self.alphas[i] - alpha) / (self.alphas[i] - self.alphas[i + 1])
        return np.asarray(self.coefs[i] + share * (self.coefs[i + 1] - self.coefs[i]))


def lasso_knots(loss: QuadraticLoss, absolute: Array) -> LassoKnots:
    """Follow the lasso of the first target from the largest penalty to 0, and return its knots.

    With active features A and signs s, w = M⁻¹c − αM⁻¹(as) is linear in α until an inactive feature's gradient reaches
    its penalty or an active coefficient reaches zero.
    """
    p, unit = loss.p, loss.unit * loss.y_unit[0]
    a = absolute / unit  # penalty of each |w| per unit of alpha
    c = loss.c[:, 0]
    free = (absolute == 0) & (loss.diagonal > 0)
    active = np.flatnonzero(free).tolist()
    sign = np.zeros(p)
    blocked = loss.diagonal == 0
    alpha, dropped = np.inf, -1
    knots: list[tuple[float, Array]] = []
    for _ in range(_MAX_KNOTS_PER_FEATURE * (p + 10)):
        A = np.array(active, dtype=np.intp)
        columns = loss.columns(A)
        both = np.linalg.lstsq(columns[A], np.column_stack([c[A], a[A] * sign[A]]), rcond=1e-13)[0]
        level, slope = both[:, 0], both[:, 1]
        g, dg = c - columns @ level, columns @ slope  # gradient g + α·dg
        outside = ~blocked & (a > 0)
        outside[A] = False
        entry, side = _next_entry(g, dg, a, outside, alpha, dropped)
        exits = np.where((slope != 0) & (a[A] > 0), level / np.where(slope != 0, slope, 1.0), -np.inf)
        exits[exits >= alpha * (1 - _EVENT_TOL)] = -np.inf
        leaving = float(exits.max(initial=-np.inf))
        following = max(float(entry.max(initial=-np.inf)), leaving, 0.0)
        w = np.zeros(p)
        w[A] = level - following * slope
        knots.append((following, w))
        if following <= 0:
            break
        if leaving >= following:
            dropped = active.pop(int(np.argmax(exits)))
            sign[dropped] = 0.0
            knots[-1][1][dropped] = 0.0
        else:
            j = int(np.argmax(entry))
            if _is_dependent(loss, A, j):
                blocked[j] = True
                knots.pop()
                continue
            active.append(j)
            sign[j], dropped = side[j], -1
        alpha = following
    alphas, W = np.array([knot for knot, _ in knots]), np.stack([w for _, w in knots])
    coef, intercept = loss.coefficients(W.T[:, :, None])
    return LassoKnots(alphas, coef[:, :, 0].T, intercept[:, 0])


def _next_entry(
    g: Array, dg: Array, a: Array, outside: NDArray[np.bool_], alpha: float, dropped: int
) -> tuple[Array, Array]:
    """Return the next alpha at which |g + α·dg| = α·a for each inactive feature, and the sign of the gradient there."""
    entries = np.full((2, len(g)), -np.inf)
    for row, s in zip(entries, (1.0, -1.0), strict=True):
        rate = a - s * dg
        known = outside & (rate > 0)
        row[known] = s * g[known] / rate[known]
        row[row >= alpha * (1 - _EVENT_TOL) if np.isfinite(alpha) else np.zeros(len(g), dtype=bool)] = -np.inf
    if dropped >= 0:  # at the knot itself its gradient equals its penalty
        entries[:, dropped] = np.where(entries[:, dropped] >= alpha * (1 - 1e-6), -np.inf, entries[:, dropped])
    first = entries[0] >= entries[1]
    return np.where(first, entries[0], entries[1]), np.where(first, 1.0, -1.0)


def _is_dependent(loss: QuadraticLoss, A: NDArray[np.intp], j: int) -> bool:
    if not len(A):
        return False
    columns = loss.columns(np.append(A, j))
    rest = columns[j, -1] - columns[A, -1] @ np.linalg.lstsq(columns[A, :-1], columns[A, -1], rcond=1e-13)[0]
    return bool(rest <= 1e-11 * columns[j, -1])


def leave_one_out_errors(
    rows: Rows, loss: QuadraticLoss, penalties: list[Penalty], alphas: list[Array], intercept: bool
) -> tuple[Array, Array]:
    """Return the mean squared leave-one-out error and its standard error, penalties × alphas, by a second pass.

    Leaving out a row changes S and c by a product of two vectors, and the minimum is found again from that of all rows.
    The penalty stays the same, and so does the standardization.
    """
    check_affordable(loss, alphas)
    S = loss.S if loss.S is not None else loss.columns(np.arange(loss.p))
    paths = [coefficient_path(loss, penalty, tried) for penalty, tried in zip(penalties, alphas, strict=True)]

    def add_up(block: Block) -> Array:
        X, Y, w = dense_rows(block)
        Z, E = (X - loss.mean) / loss.unit, (Y - loss.y_mean) / loss.y_unit
        sums = np.zeros((3, len(penalties), len(alphas[0])))  # Σw, Σw·loss, Σw·loss²
        for z, e, weight in zip(Z, E, w.tolist(), strict=True):
            rest = loss.weight - weight
            factor = weight * loss.weight / rest if intercept else weight
            without = replace(
                loss,
                S=S - factor * np.outer(z, z),
                rows=None,
                diagonal=np.maximum(loss.diagonal - factor * z**2, 0.0),
                c=loss.c - factor * np.outer(z, e),
                total=loss.total - factor * e**2,
            )
            moved = loss.weight / rest if intercept else 1.0  # the row about the means of the others
            for i, (penalty, tried) in enumerate(zip(penalties, alphas, strict=True)):
                for j, alpha in enumerate(tried.tolist()):
                    error = 0.0
                    for t in range(len(e)):
                        lam, mu = loss.penalties(replace(penalty, alpha=alpha), t)
                        found = minimize(without, t, lam, mu, start=paths[i][:, j, t])
                        error += float((moved * (e[t] - z @ found.w) * loss.y_unit[t]) ** 2)
                    error /= len(e)
                    sums[:, i, j] += weight, weight * error, weight * error**2
        return sums

    total, first, second = rows.reduce(add_up)
    mean = first / total
    return mean, np.sqrt(np.maximum(second / total - mean**2, 0.0) / max(loss.n - 1, 1))


def check_affordable(loss: QuadraticLoss, alphas: list[Array]) -> None:
    """Raise if leaving out each row would take more than some minutes."""
    fits = loss.n * sum(map(len, alphas))
    if fits > _MAX_FITS or loss.p > _MAX_COLUMNS:
        raise ValueError(
            f'cv="loo" would require {fits:,} fits of {loss.p:,} columns, which is too many. Pass cv as a '
            "number of folds, or pass fewer alphas."
        )
