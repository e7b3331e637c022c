"""Split the expected prediction error of a model into noise, bias² and variance, against its complexity.

Refits are cheap because they are solved from summaries (see `ModelFamily`): data sets with the same x are targets of
one Gram.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linearly.algorithm.least_squares.polynomial_families import ModelFamily
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.models.parameter_checks import random_generator
from linearly.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TARGETS_AT_ONCE = 64
MIN_RESAMPLES = 20


@single_threaded_blas()
def bias_variance(
    x: Any,
    y: Any = None,
    *,
    truth: Callable[[Any], Any] | None = None,
    noise: float | None = None,
    degrees: Sequence[int] | None = None,
    alphas: Sequence[float] | None = None,
    degree: int | None = None,
    at: Any = None,
    resamples: int = 200,
    random_state: Any = None,
) -> BiasVariance:
    """Estimate noise, bias² and variance of polynomial fits of each degree, or of ridge fits with each penalty.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_rows, n_features)
        One column of numbers, or features with `alphas`.
    y : array-like of shape (n_rows,), optional
        Observed targets. Leave it out if `truth` is given.
    truth : callable, optional
        Function of x that returns the mean of y.
    noise : float, optional
        Standard deviation of y about its mean. Required with `truth`.
    degrees : sequence of int, optional
        Polynomial degrees to fit, 0 to 10 by default.
    alphas : sequence of float, optional
        Ridge penalties to fit, instead of degrees.
    degree : int, optional
        With `alphas` and one column: fit a polynomial of this degree, in Legendre polynomials of x scaled to [-1, 1].
    at : array-like, optional
        Points at which predictions are evaluated, with `truth` only; x by default.
    resamples : int, default=200
        Number of sets of targets or of bootstrap samples, at least 20.
    random_state : int, RandomState or None, optional
        Seed or generator of the draws.

    Returns
    -------
    BiasVariance
        A table with one row per degree or alpha, the best of them, and a plot.

    Raises
    ------
    ValueError
        If neither or both of `y` and `truth` are given, or if another argument is out of range.

    See Also
    --------
    cross_validate : The prediction error only, for any model of linearly.

    Notes
    -----
    With `truth`, sets of targets ``truth(x) + noise`` are drawn and each is fitted. ``epe`` is measured on other draws,
    to be compared with the sum of noise, bias² and variance.

    With data only, the model is refitted to bootstrap samples of the rows and predicts those that each leaves out.
    ``epe`` is the squared error of the mean of these predictions. The mean of the refits is as accurate as one fit
    without that row. ``variance`` is the variance of fits to targets with this noise at the same x. The noise must be
    known. Otherwise, the residual variance of the most flexible fit is used, and a note reports it. ``bias2`` is the
    rest of ``epe``, so that the three parts add up to it. It may be below 0 by chance.

    References
    ----------
    .. [1] Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, section 7.3.

    Examples
    --------
    >>> import numpy as np, linearly as ly
    >>> x = np.linspace(0, 1, 30)
    >>> result = ly.bias_variance(x, truth=lambda x: np.sin(6 * x), noise=0.3, degrees=range(8), random_state=0)
    >>> result.best
    3
    """
    if not isinstance(resamples, (int, np.integer)) or resamples < MIN_RESAMPLES:
        raise ValueError(f"resamples must be an integer of at least {MIN_RESAMPLES}, not {resamples!r}.")
    if noise is not None and not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a standard deviation (a number of at least 0), not {noise!r}.")
    if (truth is None) == (y is None):
        raise ValueError(
            "y and truth= cannot be combined. Pass either y (observed targets) or truth= (the function that "
            "targets are drawn from)."
        )
    draw = random_generator(random_state)
    family = ModelFamily.of(x, degrees, alphas, degree)
    if truth is not None:
        if noise is None:
            raise ValueError("truth= needs the standard deviation of the noise around it. Pass noise=.")
        return _from_truth(family, x, truth, float(noise), at, int(resamples), draw)
    if at is not None:
        raise ValueError("at= requires truth=; with data, errors are measured at their rows. Leave at= out.")
    return _from_data(family, _targets(y, len(family.basis)), noise, int(resamples), draw)


@dataclass(frozen=True, repr=False)
class BiasVariance:
    """The result of `bias_variance`.

    Attributes
    ----------
    table : Table
        One row per ``degree`` or ``alpha``: ``noise, bias2, variance``, their sum as measured on new rows (``epe``),
        and the error on the training rows (``train_error``).
    complexity : {"degree", "alpha"}
        What differs between the rows of the table.
    resamples : int
        Number of refits behind each row.
    best : int or float
        The degree or alpha with the smallest expected prediction error.

    See Also
    --------
    bias_variance : Return this result.
    """

    table: Table
    complexity: str
    resamples: int

    @property
    def best(self) -> Any:
        """Return the degree or alpha with the smallest expected prediction error."""
        return self.table.row(int(np.argmin(self.table["epe"])))[self.complexity]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the errors against complexity, which grows to the right.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("BiasVariance.plot needs matplotlib. Run: pip install matplotlib") from error
            _, ax = plt.subplots()
        at = self.table[self.complexity]
        for name, label, style in (
            ("epe", "expected prediction error", "C3-"),
            ("train_error", "training error", "C0-"),
            ("bias2", "bias²", "C1--"),
            ("variance", "variance", "C2--"),
            ("noise", "noise", "C7:"),
        ):
            ax.plot(at, self.table[name], style, marker=".", label=label)
        if self.complexity == "alpha":
            ax.set_xscale("symlog" if (at == 0).any() else "log")
            ax.invert_xaxis()
        # One wild high degree must not flatten the other curves.
        ax.set_ylim(0, 1.05 * float(min(self.table["epe"].max(), 6 * np.median(self.table["epe"]))) or 1.0)
        ax.axvline(self.best, color="C3", alpha=0.2, lw=4)
        ax.set_xlabel("polynomial degree" if self.complexity == "degree" else "alpha (complexity grows to the right)")
        ax.set_ylabel("mean squared error")
        ax.legend()
        return ax

    def __str__(self) -> str:
        return str(self.table)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def _from_truth(
    family: ModelFamily, x: Any, truth: Callable[[Any], Any], noise: float, at: Any, resamples: int, draw: Any
) -> BiasVariance:
    n = len(family.basis)
    mean = _targets(truth(np.asarray(x)), n)
    where, mean_at = family.basis, mean
    if at is not None:
        where = family.design(at)
        mean_at = _targets(truth(np.asarray(at)), len(where))
    # Σ(ŷ − truth) and Σ(ŷ − truth)² at each point over resamples; squared errors on fresh and on training targets.
    L, m = len(family.levels), len(where)
    first, second = np.zeros((L, m)), np.zeros((L, m))
    fresh, training = np.zeros(L), np.zeros(L)
    for start in range(0, resamples, _TARGETS_AT_ONCE):
        k = min(_TARGETS_AT_ONCE, resamples - start)
        Y = mean[:, None] + noise * draw.standard_normal((n, k))
        new = noise * draw.standard_normal((m, k))
        for level, (coef, intercept) in enumerate(family.fits(family.gram(Y))):
            off = where @ coef + intercept - mean_at[:, None]
            first[level] += off.sum(axis=1)
            second[level] += (off**2).sum(axis=1)
            fresh[level] += ((new - off) ** 2).mean(axis=0).sum()
            training[level] += ((Y - family.basis @ coef - intercept) ** 2).mean(axis=0).sum()
    variance = (second - first**2 / resamples) / (resamples - 1)
    # The square of a mean of resamples is too large by its variance.
    bias2 = (first / resamples) ** 2 - variance / resamples
    notes = [f"{resamples} sets of targets were drawn from the true model. epe is measured on further draws."]
    return _result(
        family, resamples, notes, np.full(L, noise**2), bias2.mean(axis=1), variance.mean(axis=1),
        fresh / resamples, training / resamples,
    )  # fmt: skip


def _from_data(family: ModelFamily, y: Array, noise: float | None, resamples: int, draw: Any) -> BiasVariance:
    n, L = len(y), len(family.levels)
    left_out = np.zeros(n)
    first, second, training = np.zeros((L, n)), np.zeros((L, n)), np.zeros(L)
    shifted = y - y.mean()  # about their mean, squares of predictions keep their digits
    for _ in range(resamples):
        weight = np.bincount(draw.randint(n, size=n), minlength=n).astype(np.float64)
        out = weight == 0
        left_out += out
        for level, (coef, intercept) in enumerate(family.fits(family.gram(shifted, weight))):
            prediction = (family.basis @ coef + intercept)[:, 0]
            training[level] += weight @ (shifted - prediction) ** 2 / n
            first[level] += np.where(out, prediction, 0.0)
            second[level] += np.where(out, prediction**2, 0.0)
    rows = left_out >= 2
    times, first, second = left_out[rows], first[:, rows], second[:, rows]
    mean = first / times
    spread = np.maximum(second - first * mean, 0.0) / (times - 1)
    # The square of a mean of resamples is too large by its variance.
    epe = ((shifted[rows] - mean) ** 2 - spread / times).mean(axis=1)
    sigma2 = family.residual_variance(y) if noise is None else noise**2
    # The spread of the refits is no estimate of the variance: samples that lack the ends of x extrapolate. At degree 8
    # and 40 rows it is 100 times as large. The fits are linear in y, so that noise alone shows their variance at x.
    variance = np.zeros(L)
    for start in range(0, resamples, _TARGETS_AT_ONCE):
        Y = draw.standard_normal((n, min(_TARGETS_AT_ONCE, resamples - start)))
        for level, (coef, intercept) in enumerate(family.fits(family.gram(Y))):
            variance[level] += sigma2 * ((family.basis @ coef + intercept) ** 2).mean(axis=0).sum() / resamples
    notes = [f"{resamples} bootstrap samples were drawn. Errors are measured on the rows that each sample leaves out."]
    if noise is None:
        which = f"degree {family.levels.max()}" if family.complexity == "degree" else f"alpha {family.levels.min():g}"
        notes.append(
            f"noise is estimated by the residual variance of {which}, and bias2 is epe minus noise and variance."
        )
    return _result(
        family, resamples, notes, np.full(L, sigma2), epe - variance - sigma2, variance, epe, training / resamples
    )


def _result(
    family: ModelFamily, resamples: int, notes: list[str],
    noise: Array, bias2: Array, variance: Array, epe: Array, train_error: Array,
) -> BiasVariance:  # fmt: skip
    if (bias2 < 0).any():
        notes.append("bias2 is an unbiased estimate. A value below 0 is due to chance, and means no evidence of bias.")
    columns = {
        family.complexity: family.levels,
        "noise": noise,
        "bias2": bias2,
        "variance": variance,
        "epe": epe,
        "train_error": train_error,
    }
    return BiasVariance(Table(columns, notes=notes), family.complexity, resamples)


def _targets(y: Any, n: int) -> Array:
    target = np.asarray(y, dtype=np.float64)
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    if target.shape != (n,):
        raise ValueError(f"y must have one number per row ({n} rows), not the shape {target.shape}.")
    bad = np.flatnonzero(~np.isfinite(target))
    if len(bad):
        raise ValueError(f"y contains {target[bad[0]]} in row {bad[0]}. Drop the row.")
    return target
