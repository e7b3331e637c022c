"""Tests behind the verdicts on a regression: chance, curvature, unequal variance, serial correlation.

Each test keeps its level without normal errors, and all but `variance_test` without equal variances. Rates of false
alarms and power by simulation are in tests/findings/test_error_rates.py. The arguments are residuals r and rows Z of
the design with its intercept, both times the root of their weights.

Two tests compare a statistic with its values for residuals of random signs (the wild bootstrap of Liu 1988). The signs
are drawn from a fixed seed, so that the same rows give the same p-value. Rows that repeat each other have one sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, ndtr

from linearly.kernels.double_double import Array

N_SIGNS = 499  # draws of random signs
MAX_WAVES = 8  # half-waves of the curves that `curvature_test` looks for
ROWS_PER_WAVE = 6
MAX_CURVED_COLUMNS = 20  # with more columns, only the fitted values are looked at
HIGH_LEVERAGE = 0.5  # one row of more leverage is not evidence
MIN_ROWS = 10
MAX_MEDIAN_DISTANCES = 8.0  # from the median residual; farther ones are outliers
LEVERAGE_POWER = 2.0  # of 1 − h in the residuals that get random signs; with less, lognormal columns exceed the level
MIN_ORDER = 3.0  # standard errors of the correlation of neighbouring values, above which a variable is ordered
_INSIDE = 1e-3  # share of a curve outside the model below which it belongs to the model


class PatternTest(NamedTuple):
    """Statistic, p-value, rows used, and for a curve the variable that it follows."""

    statistic: float
    p_value: float
    n: int
    variable: int = -1


NOT_APPLICABLE = PatternTest(np.nan, np.nan, 0)


def curvature_test(r: Array, Z: Array, variables: Array, root: Array, clusters: NDArray[np.intp]) -> PatternTest:
    """Test whether the mean of residuals follows a curve in some variable.

    The curves are cosines of the ranks of a variable, of 1 to 8 half-waves, without what the model explains. The
    statistic is the largest adaptive Neyman statistic of a variable (Fan and Huang 2001). Each score is divided by a
    standard error that allows unequal variances.

    Parameters
    ----------
    r, Z : ndarray of shape (n,), (n, k)
        Residuals and design, times the root of the weights.
    variables : ndarray of shape (n, m)
        Variables to look along.
    root : ndarray of shape (n,)
        Roots of the weights.
    clusters : ndarray of shape (n,)
        Number of the distinct row of each row; rows of one number get the same sign.
    """
    n = len(r)
    Q, leverage = _basis(Z)
    k = Q.shape[1]
    if n - k < MIN_ROWS:
        return NOT_APPLICABLE
    scale = ((n - k) / n) ** (LEVERAGE_POWER - 0.5)
    error = scale * r / np.maximum(1 - leverage, 1e-3) ** LEVERAGE_POWER
    flipped = error[:, None] * _signs(clusters)
    waves = np.arange(1, int(np.clip((n - k) // ROWS_PER_WAVE, 1, MAX_WAVES)) + 1)
    best, drawn = NOT_APPLICABLE._replace(statistic=-np.inf), np.full(N_SIGNS, -np.inf)
    for j, variable in enumerate(variables.T):
        curves = np.cos(np.pi * np.outer((_ranks(variable) - 0.5) / n, waves)) * root[:, None]
        outside = curves - Q @ (Q.T @ curves)
        known = (outside**2).sum(axis=0) > _INSIDE * (curves**2).sum(axis=0)
        basis = np.linalg.qr(outside[:, known])[0]
        size = np.sqrt((basis**2).T @ error**2)
        if not len(size) or not size.min() > 0:
            continue
        m = np.arange(1, len(size) + 1)

        sums = _neyman_sums(basis.T @ r / size, m)
        drawn = np.maximum(drawn, _neyman_sums((basis.T @ flipped).T / size, m).max(axis=1))
        if sums.max() > best.statistic + 1e-6 * abs(sums.max()):  # the first of equals, whatever the rounding
            best = PatternTest(float(sums.max()), np.nan, n, j)
    if best.variable < 0:
        return NOT_APPLICABLE
    return best._replace(p_value=_share_above(drawn, best.statistic))


def is_ordered(variable: Array) -> bool:
    """Return whether neighbouring rows have similar values of a variable, as in rows sorted by it or by time.

    A curve in such a variable and correlated errors of neighbouring rows leave the same residuals: with errors of
    correlation 0.6 and a column of time, residuals of 71% of fits to 100 rows follow a curve.
    """
    ranks = _ranks(variable) - (len(variable) + 1) / 2
    size = float(ranks @ ranks)
    return size > 0 and float(ranks[:-1] @ ranks[1:]) / size * np.sqrt(len(ranks)) > MIN_ORDER


def best_degree(r: Array, Z: Array, variable: Array, root: Array) -> int:
    """Return the degree of the polynomial in a variable that predicts rows left out best; 1 if none helps.

    The arguments are those of `curvature_test`.
    """
    spread = float(variable.std()) or 1.0
    z = (variable - variable.mean()) / spread
    best, degree = np.inf, 1
    for d in range(1, MAX_WAVES + 1):
        powers = z[:, None] ** np.arange(2, d + 1) * root[:, None]
        Q, leverage = _basis(np.column_stack([Z, powers]))
        left_out = (r - Q @ (Q.T @ r)) / np.maximum(1 - leverage, 1e-10)
        press = float(left_out @ left_out)
        best, degree = (press, d) if press < 0.99 * best else (best, degree)
    return degree


def _neyman_sums(scores: Array, m: NDArray[np.intp]) -> Array:
    """Return the standardised sums of the first m squares of scores, along the last axis."""
    return np.asarray((np.cumsum(scores**2, axis=-1) - m) / np.sqrt(2 * m))


def chance_test(y: Array, Z: Array, clusters: NDArray[np.intp], *, penalised: bool = False) -> PatternTest:
    """Test whether the columns of the design beyond the first explain more of y than chance does.

    The statistic is R². It is compared with that of deviations of random signs, so that variances may differ. Rows of a
    leverage above 0.5 are left out: a single row is not evidence. Penalised fits may have more columns than rows. For
    them, the statistic is the sum of squared correlations with the columns (the global test of Goeman et al. 2006).

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets, times the root of the weights.
    Z : ndarray of shape (n, k)
        Design, its first column the roots of the weights.
    clusters : ndarray of shape (n,)
        Number of the distinct row of each row; rows of one number get the same sign.
    penalised : bool
        True if the fit is penalised.
    """
    Q, leverage = _basis(Z)
    kept = leverage <= max(HIGH_LEVERAGE, 2 * Q.shape[1] / len(y))
    if not kept.all():
        y, Z, clusters = y[kept], Z[kept], clusters[kept]
    constant = Z[:, 0] / np.sqrt(Z[:, 0] @ Z[:, 0])
    deviation, columns = y - constant * (constant @ y), Z[:, 1:] - np.outer(constant, constant @ Z[:, 1:])
    columns = _unit_columns(columns) if penalised else _basis(columns)[0]
    n, k = columns.shape
    if n - 1 - (0 if penalised else k) < MIN_ROWS or k == 0:
        return NOT_APPLICABLE
    flipped = deviation[:, None] * _signs(clusters)
    total = float(deviation @ deviation)
    if not total > 0:
        return NOT_APPLICABLE
    mine = float(((columns.T @ deviation) ** 2).sum()) / total
    drawn = ((columns.T @ flipped) ** 2).sum(axis=0) / (total - (constant @ flipped) ** 2)
    return PatternTest(mine, _share_above(drawn, mine), n)


def wald_chance_test(coef: Array, U: Array, residual: Array, n: int) -> PatternTest:
    """Test whether all coefficients are 0, with variances estimated from a sample of the n rows of a fit.

    Parameters
    ----------
    coef : ndarray of shape (k,)
        Coefficients beyond the intercept, in the coordinates of U.
    U : ndarray of shape (m, k)
        Coordinates of the sampled rows in which the cross-product of all rows is the identity.
    residual : ndarray of shape (m,)
        Their residuals, times the root of their weights.
    n : int
        Rows of the fit.
    """
    m, k = U.shape
    if m - k < MIN_ROWS or k == 0:
        return NOT_APPLICABLE
    scores = U * residual[:, None] * np.sqrt(n / m)
    wald = float(coef @ np.linalg.lstsq(scores.T @ scores, coef, rcond=None)[0])
    statistic = wald * (m - k) / (k * (m - 1))  # Hotelling's: the covariance is that of m rows
    return PatternTest(statistic, float(fdtrc(k, m - k, statistic)), n)


def variance_test(r_squared: float, n: int, rank: int) -> PatternTest:
    """Test equal variance from R² of a fit of squared residuals to the columns (Koenker 1981).

    The statistic is (n − rank − 1) R² instead of n R², which exceeds the level with skewed errors and many columns.
    """
    if rank == 0 or n - rank - 1 < MIN_ROWS:
        return NOT_APPLICABLE
    statistic = (n - rank - 1) * r_squared
    return PatternTest(statistic, float(chdtrc(rank, statistic)), n)


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourProducts:
    """Sums over products of neighbouring residuals; `a + b` is the summary of a's rows followed by b's.

    A product AB of independent errors has mean −hσ² in a fit whose hat matrix has h at their place, so h(A² + B²)/2 is
    added to it. The statistic Σq/√Σq² of these sums q allows unequal variances. One outlier shifts all other residuals,
    which makes them look correlated: residuals are therefore centred on c, the mean of all but the outliers, and pairs
    with an outlier do not count. As c is known only at the end, q is kept as a polynomial in c.
    """

    n: int
    centre_sum: float  # of residuals that are no outliers
    n_centred: int
    total: Array  # Σ v, of the coefficients v of q
    squares: Array  # Σ vv'
    first: Array  # whether it counts, residual, coordinates: of the outermost rows
    last: Array

    @classmethod
    def of(cls, r: Array, U: Array, low: float = -np.inf, high: float = np.inf) -> NeighbourProducts:
        """Return the summary of at least one residual and its row of an orthonormal basis U; others are outliers."""
        counted = (r >= low) & (r <= high)
        rows = np.column_stack([counted, r, U])
        v = _products(rows[:-1], rows[1:])
        return cls(len(r), float(r[counted].sum()), int(counted.sum()), v.sum(axis=0), v.T @ v, rows[0], rows[-1])

    def __add__(self, other: NeighbourProducts) -> NeighbourProducts:
        v = _products(self.last[None], other.first[None])
        return NeighbourProducts(
            self.n + other.n,
            self.centre_sum + other.centre_sum,
            self.n_centred + other.n_centred,
            self.total + other.total + v[0],
            self.squares + other.squares + v.T @ v,
            self.first,
            other.last,
        )

    def test(self) -> PatternTest:
        """Return the two-sided test; a positive statistic means positive correlation of neighbours."""
        c = self.centre_sum / max(self.n_centred, 1)
        powers = np.array([1.0, c, c * c])
        square = float(powers @ self.squares @ powers)
        if self.n_centred - (len(self.first) - 1) < MIN_ROWS or not square > 0:
            return NOT_APPLICABLE
        z = float(self.total @ powers) / np.sqrt(square)
        return PatternTest(float(z), float(2 * ndtr(-abs(z))), self.n)


def confirm_by_signs(test: PatternTest, r: Array, U: Array, low: float, high: float) -> PatternTest:
    """Return the test of neighbouring rows with the p-value of residuals of random signs, if that is larger.

    If few rows of large variance determine a fit to ordered rows, the residuals of the other rows follow its error and
    look correlated. Refits with random signs of the residuals estimate this effect. With errors in proportion to exp(x)
    in 150 rows sorted by x, the test then rejects in 5% of samples instead of 10%.

    Parameters
    ----------
    test : PatternTest
        Result of ``NeighbourProducts.test``.
    r, U : ndarray of shape (n,), (n, k)
        Residuals of all rows in their order, and an orthonormal basis, times the roots of the weights.
    low, high : float
        Limits beyond which a residual is an outlier.
    """
    counted = (r >= low) & (r <= high)
    errors = (r / np.sqrt(np.maximum(1 - (U**2).sum(axis=1), 1e-3)))[:, None] * _signs(np.arange(len(r)))
    pairs = (counted[:-1] & counted[1:])[:, None]
    hat = (U[:-1] * U[1:]).sum(axis=1)[:, None]

    def statistic(columns: Array) -> Array:
        A, B = (columns - columns[counted].mean(axis=0))[:-1], (columns - columns[counted].mean(axis=0))[1:]
        q = (A * B + hat * (A**2 + B**2) / 2) * pairs
        size = np.sqrt((q**2).sum(axis=0))
        return np.asarray(np.divide(q.sum(axis=0), size, out=np.zeros_like(size), where=size > 0))

    drawn, mine = statistic(errors - U @ (U.T @ errors)), float(statistic(r[:, None])[0])
    p_value = _share_above(np.abs(drawn), abs(mine))
    least = 1 / (N_SIGNS + 1)  # that so many draws can show
    return test._replace(p_value=p_value) if p_value > max(test.p_value, least) else test


def outlier_limits(r: Array) -> tuple[float, float]:
    """Return the limits beyond which a residual is an outlier: 8 times the median distance from the median."""
    centre = float(np.median(r)) if len(r) else 0.0
    reach = MAX_MEDIAN_DISTANCES * float(np.median(np.abs(r - centre))) if len(r) else 0.0
    return centre - reach, centre + reach


def _products(before: Array, after: Array) -> Array:
    """Return the coefficients of q for each pair of neighbouring rows, zeros for pairs that do not count."""
    A, B = before[:, 1], after[:, 1]
    hat = (before[:, 2:] * after[:, 2:]).sum(axis=1)
    v = np.stack([A * B + hat * (A**2 + B**2) / 2, -(A + B) * (1 + hat), 1 + hat], axis=1)
    return np.asarray(v * (before[:, :1] * after[:, :1]))


def number_distinct(rows: Array) -> NDArray[np.intp]:
    """Return the number of the distinct row of each row.

    >>> number_distinct(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    array([0, 1, 0])
    """
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel())


def _basis(Z: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis of the columns of Z, and the leverages of its rows."""
    U, s, _ = np.linalg.svd(_unit_columns(Z), full_matrices=False)
    Q = U[:, s > 1e-7 * s.max(initial=0.0)]
    return Q, (Q**2).sum(axis=1)


def _unit_columns(Z: Array) -> Array:
    largest = np.abs(Z).max(axis=0, initial=0.0)  # squares of columns of size 1e200 would overflow
    scaled = Z / np.where(largest > 0, largest, 1.0)
    length = np.sqrt((scaled**2).sum(axis=0))
    return np.asarray(scaled / np.where(length > 0, length, 1.0))


def _signs(clusters: NDArray[np.intp]) -> NDArray[np.int8]:
    """Return the random signs of the rows, drawn a few at a time: an integer takes eight times the memory of a sign."""
    rng, signs = np.random.default_rng(20), np.empty((int(clusters.max(initial=0)) + 1, N_SIGNS), dtype=np.int8)
    for some in np.array_split(signs, len(signs) // 64 + 1):
        some[:] = 2 * rng.integers(0, 2, some.shape) - 1
    return signs[clusters]


def _ranks(values: Array) -> Array:
    """Return average ranks, 1 to n."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])


def _share_above(drawn: Array, mine: float) -> float:
    # Ties within rounding errors count as at least as large, which makes the test conservative.
    return float((1 + np.count_nonzero(drawn >= mine * (1 - 1e-9))) / (len(drawn) + 1))
