"""Test a coefficient with few clusters by the wild cluster bootstrap, from sums per cluster instead of rows.

The null hypothesis is imposed on the residuals (Cameron, Gelbach and Miller 2008). Each draw multiplies the residuals
of a cluster by one random number. A draw changes every sum linearly, so its cost depends on the number of clusters, not
on the number of rows (Roodman, MacKinnon, Nielsen and Webb 2019).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.optimize import brentq

from linearly.algorithm.least_squares.clusters import ClusterSums
from linearly.algorithm.least_squares.small_sample import unpacked
from linearly.inference.coefficients import coefficients_of
from linearly.inference.fitted_terms import check_single_target, estimates, require_solution, term_names
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import check_level
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.models.parameter_checks import check_choice, check_integer, check_seed
from linearly.table import Table

WEIGHTS = ("rademacher", "webb")
_WEBB = np.sqrt(np.array([1.5, 1.0, 0.5]))
_CELLS = 2**22  # random numbers that are drawn together


@single_threaded_blas()
def wild_bootstrap(
    model: Any,
    hypothesis: str,
    n: int = 9999,
    *,
    weights: str = "rademacher",
    level: float = 0.95,
    random_state: Any = None,
) -> Table:
    """Test a hypothesis about one coefficient by the wild cluster bootstrap, for models with few clusters.

    Parameters
    ----------
    model : Model or LinearRegression
        A linear model with a clustered covariance and one column of groups, or its model file.
    hypothesis : str
        A term, as `tidy` prints it, and its value: ``"x = 0"``.
    n : int, default=9999
        Number of draws. If there are no more than n + 1 sign patterns, all 2^G of them are used instead.
    weights : {"rademacher", "webb"}, default="rademacher"
        Distribution of the random factors: -1 and 1, or six values, which are better with fewer than about ten
        clusters.
    level : float, default=0.95
        Confidence level of the interval.
    random_state : int, RandomState or None, default=None
        Seed for the draws.

    Returns
    -------
    Table
        Columns ``hypothesis, estimate, std_error, statistic, p_value, conf_low, conf_high``. The interval contains the
        values that the test does not reject.

    Raises
    ------
    ValueError
        If the model has no sums per cluster, or the hypothesis names no term. If the rows do not determine the term, or
        a single group does.

    See Also
    --------
    tidy : Tests of all terms; ``covariance="CR2"`` is another remedy for few clusters.

    References
    ----------
    .. [1] A. C. Cameron, J. B. Gelbach, D. L. Miller (2008). Bootstrap-based improvements for inference with clustered
       errors. Review of Economics and Statistics 90, 414-427.
    .. [2] D. Roodman, J. G. MacKinnon, M. Ø. Nielsen, M. D. Webb (2019). Fast and wild: bootstrap inference in Stata
       using boottest. Stata Journal 19, 4-60.

    Examples
    --------
    >>> import linearly as ly, numpy as np
    >>> x, groups = np.arange(40.0), np.repeat(np.arange(8), 5)
    >>> y = 0.5 * x + np.sin(x) + groups % 3
    >>> model = ly.LinearRegression(covariance="CR2").fit(x[:, None], y, groups=groups)
    >>> ly.wild_bootstrap(model, "x0 = 0", random_state=0)["p_value"].round(3)
    array([0.008])
    """
    model = unwrap_estimator(model)
    solution = require_solution(model)
    check_single_target(model, "wild_bootstrap")
    check_level(level)
    check_integer("n", n, 1)
    check_choice("weights", weights, WEIGHTS)
    sums = _sums(model)
    term, value = _parse(hypothesis, term_names(model))
    _check_testable(model, term)
    direction = solution.inverse_root[term]
    estimate = float(estimates(solution)[term, 0])
    draws = _Draws(
        sums, direction, _multipliers(len(sums.scores), n, weights, check_seed("random_state", random_state))
    )
    error = draws.error * float(np.sqrt((solution.n - 1) / solution.dof if solution.dof > 0 else np.nan))
    p_value = draws.p_value(estimate - value)
    reach = _reach(draws, 1 - level, draws.error)
    return Table(
        {
            "hypothesis": [hypothesis],
            "estimate": [estimate],
            "std_error": [error],
            "statistic": [(estimate - value) / error],
            "p_value": [p_value],
            "conf_low": [estimate - reach[1]],
            "conf_high": [estimate + reach[0]],
        },
        notes=[f"The test uses {draws.n:,} draws for {len(sums.scores)} clusters. The standard error is that of CR1."],
    )


class _Draws:
    """Statistics of the draws for residuals under the hypothesis ℓ'β = ℓ'β̂ − distance."""

    def __init__(self, sums: ClusterSums, direction: Array, multipliers: Array) -> None:
        G, r = sums.scores.shape
        self.multipliers, self.n = multipliers, len(multipliers)
        products = unpacked(sums.products, r)
        along = products @ direction  # G × r: what a shift of the coefficients along ℓ does to the scores
        self.along = along
        self.own = sums.scores @ direction
        size = float(direction @ direction)
        # Scores under the hypothesis are linear in the distance: s + distance · shift.
        self.shift = along / size
        self.scores, self.direction = sums.scores, direction
        self.error = float(np.sqrt(G / (G - 1) * (self.own**2).sum()))

    def p_value(self, distance: float) -> float:
        """Return the share of draws whose |t| is at least that of the fit."""
        scores = self.scores + distance * self.shift
        projected = scores @ self.direction
        observed = abs(distance) / np.sqrt((self.own**2).sum())
        larger = 0
        step = max(_CELLS // len(scores), 1)
        for start in range(0, self.n, step):
            v = self.multipliers[start : start + step]
            total = v @ scores  # change of the coefficients
            parts = v * projected - total @ self.along.T
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.abs(total @ self.direction) / np.sqrt((parts**2).sum(axis=1))
            larger += int((t >= observed * (1 - 1e-12)).sum())
        return larger / self.n


def _reach(draws: _Draws, size: float, error: float) -> tuple[float, float]:
    """Return how far the interval reaches above and below the estimate: where the p-value falls to `size`."""
    ends = []
    for sign in (-1.0, 1.0):
        far = 2.0
        while draws.p_value(sign * far * error) > size and far < 1e4:
            far *= 2
        if far >= 1e4:
            ends.append(np.inf)
            continue
        found = brentq(lambda d, sign=sign: draws.p_value(sign * d * error) - size, 0.0, far, xtol=1e-4)
        ends.append(float(found) * error)
    return ends[0], ends[1]


def _sums(model: Any) -> ClusterSums:
    sums = getattr(model, "cluster_sums_", None)
    if not isinstance(sums, ClusterSums) or model.solution_.alpha > 0:
        raise ValueError(
            "wild_bootstrap needs sums per cluster, which this model does not contain. Fit a linear model without a "
            'penalty, with one groups column and covariance="CR2".'
        )
    return sums


def _check_testable(model: Any, term: int) -> None:
    """Raise for a term that the rows do not determine, or whose variance is unknown."""
    coefficients = coefficients_of(model, "wild_bootstrap")
    name = coefficients.names[term]
    value, root = coefficients.combine(np.eye(coefficients.width)[[term]])
    if np.isnan(value[0]):
        raise ValueError(
            f"The rows do not determine {name!r}, because its column is a linear combination of others. Drop one of "
            "those columns."
        )
    if np.isnan(root).any():
        raise ValueError(
            f"The rows of a single group determine {name!r}, so its variance is unknown. Test another term."
        )


def _parse(hypothesis: Any, terms: tuple[str, ...]) -> tuple[int, float]:
    """Return the number of the term and the value of "term = value"."""
    if not isinstance(hypothesis, str) or len(hypothesis) > 10_000:
        raise ValueError('The hypothesis must be a string such as "x = 0". Pass a string.')
    name, sign, value = hypothesis.rpartition("=")
    name = name.strip().strip("`")
    try:
        number = float(value)
    except ValueError:
        sign = ""
    if not sign or not np.isfinite(number):
        raise ValueError(
            f'The hypothesis {hypothesis[:60]!r} must consist of a term and a number. Write it as "x = 0".'
        )
    if name not in terms:
        raise ValueError(f"The model has no term {name[:60]!r}. Choose one of {', '.join(terms[:8])}.")
    return terms.index(name), number


def _multipliers(G: int, n: int, weights: str, random: np.random.RandomState) -> Array:
    if weights == "rademacher" and n + 1 >= 2**G:
        return np.array(list(itertools.product((-1.0, 1.0), repeat=G)))
    if weights == "rademacher":
        return np.asarray(2.0 * random.randint(0, 2, (n, G)) - 1)
    values = np.concatenate([-_WEBB, _WEBB[::-1]])
    return np.asarray(values[random.randint(0, 6, (n, G))])
