"""Fit data of extreme scales: either 12 digits agree with rational arithmetic, or a named warning is issued."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import linearly as ly
from linearly.selftest import ProgressCallback, Result, list_faults
from linearly.selftest.rationals import Exact, least_squares, worst_digits
from linearly.selftest.splits import CutRows

RNG = np.random.default_rng(20)
N = 60
X = RNG.normal(size=(N, 3))
Y = 1.5 + X @ [1.0, -2.0, 0.5] + RNG.normal(size=N)
WEIGHT = RNG.exponential(size=N)

METHODS = ("auto", "gram", "qr", "extended")
DIGITS, DIGITS_OF_ERRORS = 12.0, 11.0
NAMED = {ly.PrecisionWarning, np.exceptions.RankWarning}


def late(size: float) -> Any:
    """Return a column whose first rows are constant, unlike the others."""
    column = np.zeros(N)
    column[40:] = size * RNG.normal(size=20)
    return column


def with_column(column: Any) -> Any:
    """Return X with another second column."""
    changed = X.copy()
    changed[:, 1] = column
    return changed


HOSTILE: dict[str, tuple[Any, Any]] = {
    "tame": (X, Y),
    "offset 1e9": (X + 1e9, Y),
    "offset 1e15": (np.round(X * 8) + 1e15, Y),
    "offset 1e9 of one column": (X + np.array([0, 1e9, 0]), Y),
    "offset -1e12, y with it": (X - 1e12, Y - 1e12),
    "offset of y 1e12": (X, np.round(Y * 1e3) / 1024 + 1e12),
    **{f"x · {scale:g}": (X * scale, Y) for scale in (1e150, 1e-150, 1e300, 1e-300)},
    "x · 1e150 and 1e-150": (X * [1e150, 1.0, 1e-150], Y),
    "x · 1e300 and 1e-300": (X * [1e300, 1.0, 1e-300], Y),
    "x · 1e8 beside 1e-8": (X * [1e8, 1e-8, 1.0], Y),
    "x · 1e300, offset": ((X + 1000) * 1e300, Y),
    **{f"y · {scale:g}": (X, Y * scale) for scale in (1e150, 1e-150)},
    "x · 1e-150, y · 1e150": (X * 1e-150, Y * 1e150),
    "x and y · 1e-150": (X * 1e-150, Y * 1e-150),
    "x and y · 1e150": (X * 1e150, Y * 1e150),
    "float32": (X.astype(np.float32), Y),
    "float32, offset 1e5": ((X + 1e5).astype(np.float32), Y),
    **{f"near-collinear {e:g}": (with_column(X[:, 0] + e * X[:, 1]), Y) for e in (1e-3, 1e-5, 1e-7, 1e-8, 1e-10)},
    "near-constant 1e-7": (with_column(5 + 1e-7 * X[:, 1]), Y),
    "a column that starts with zeros, then 1e-200": (with_column(late(1e-200)), Y),
    "a column that starts with zeros, then 1e200": (with_column(late(1e200)), Y),
    "a column that starts with zeros, then 1e-300": (with_column(late(1e-300)), Y),
    "a column that starts constant": (with_column(late(1.0) + 1e6), Y),
    "one row of 1e200 among others of 1": (with_column(np.where(np.arange(N) == 33, 1e200, X[:, 1])), Y),
    "one row of 1e12 among others of 1": (with_column(np.where(np.arange(N) == 33, 1e12, X[:, 1])), Y),
}


@dataclass
class Tally:
    """Fits of one kind: digits of those without a warning, and those that are wrong without one."""

    what: str
    coef: float = 16.0
    std_error: float = 16.0
    fits: int = 0
    warned: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(
        self, name: str, model: ly.LinearRegression, named: set[type], exact: Exact, *, errors: bool = True
    ) -> None:
        """Count one more fit, given the answer it should have."""
        self.fits += 1
        strange = named - NAMED
        if named and not strange:
            self.warned += 1
            return
        coef = np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_
        right = worst_digits(coef, exact.coef)
        right_errors = worst_digits(model.std_errors()[:, 0], exact.std_error) if errors else 16.0
        self.coef, self.std_error = min(self.coef, right), min(self.std_error, right_errors)
        if right < DIGITS or right_errors < DIGITS_OF_ERRORS or strange:
            self.wrong.append(name)

    def result(self) -> Result:
        """Return the tally in words."""
        figure = f"{self.coef:.1f}, {self.std_error:.1f} digits in {self.fits - self.warned} fits; {self.warned} warned"
        figure += list_faults(self.wrong, before="; wrong without a warning: ")
        return Result(self.what, figure, f"≥ {DIGITS:g}, ≥ {DIGITS_OF_ERRORS:g}, or a warning", not self.wrong)


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield the digits of coefficients and standard errors in every hostile set, and labels far from the origin."""
    exact = {name: least_squares(np.asarray(Z, dtype=np.float64), y) for name, (Z, y) in HOSTILE.items()}
    progress(1, 3)
    for method in METHODS:
        tally = Tally(f"{len(HOSTILE)} ill-conditioned data sets, {method}: coefficients, standard errors")
        for name, (Z, y) in HOSTILE.items():
            tally.add(name, *fitted(ly.LinearRegression(method=method), Z, y), exact[name])
        yield tally.result()
    yield _in_blocks(exact)
    progress(2, 3)
    if long:
        yield from _variants()
    yield _far_from_the_origin()


def fitted(model: Any, Z: Any, y: Any = None, **more: Any) -> tuple[Any, set[type]]:
    """Return the model and the categories of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(Z, y, **more)
    return model, {one.category for one in caught}


def _in_blocks(exact: dict[str, Exact]) -> Result:
    tally = Tally(f"{len(HOSTILE)} ill-conditioned data sets, auto, in blocks of 7 rows")
    for name, (Z, y) in HOSTILE.items():
        rows = CutRows(np.asarray(Z, dtype=np.float64), y, cuts=range(7, N, 7))
        tally.add(name, *fitted(ly.LinearRegression(), rows), exact[name])
    return tally.result()


def _variants() -> Iterator[Result]:
    thin = np.random.default_rng(21).random((N, 3)) < 0.4
    kinds: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
        "without an intercept": ({"fit_intercept": False}, {}, {"intercept": False}),
        "with weights": ({}, {"sample_weight": WEIGHT}, {"weight": WEIGHT}),
        "ridge, alpha 0.7": ({"alpha": 0.7}, {}, {"alpha": 0.7}),
        "sparse": ({}, {}, {}),
    }
    for kind, (params, more, known) in kinds.items():
        tally = Tally(f"{len(HOSTILE)} ill-conditioned data sets, four methods, {kind}")
        for name, (hostile, y) in HOSTILE.items():
            Z: Any = np.asarray(hostile, dtype=np.float64)
            if kind == "sparse":
                Z = sp.csr_matrix(np.where(thin, Z, 0.0))
            exact = least_squares(Z.toarray() if kind == "sparse" else Z, y, **known)
            for method in METHODS:
                model, named = fitted(ly.LinearRegression(method=method, **params), Z, y, **more)
                tally.add(f"{name} ({method})", model, named, exact, errors="alpha" not in params)
        yield tally.result()


def _far_from_the_origin() -> Result:
    """Check that classifiers without regard to offsets predict the same labels at 1e9 and 1e12."""
    rng = np.random.default_rng(22)
    near = np.round(rng.normal(size=(300, 3)) * 1024) / 1024  # the offset leaves these exact
    score = near @ [1.0, -2.0, 0.5] + rng.logistic(size=300)
    targets = (np.where(score > 0.3, "yes", "no"), np.digitize(score, [-1.0, 1.5]))
    other, fits = [], 0
    makes = (
        ly.LinearDiscriminantAnalysis,
        ly.QuadraticDiscriminantAnalysis,
        ly.LeastSquaresClassifier,
        ly.LogisticRegression,
    )
    for make in makes:
        for y in targets:
            expected, _ = fitted(make(), near, y)
            for offset in (1e9, 1e12):
                fits += 1
                model, named = fitted(make(), near + offset, y)
                said = named & {ly.PrecisionWarning, ConvergenceWarning, ly.SeparationWarning}
                if not said and not np.array_equal(model.predict(near + offset), expected.predict(near)):
                    other.append(f"{make.__name__} at {offset:g}")
    figure = f"{len(other)} of {fits} fits predict other labels{list_faults(other, between=', ')}"
    return Result("LDA, QDA, indicators, logistic at offsets 1e9 and 1e12", figure, "0, or a warning", not other)
