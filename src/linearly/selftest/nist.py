"""Count the correct digits of every certified figure of NIST's reference data sets for least squares."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

import numpy as np

from linearly.dataset.features.polynomial import polynomial_features
from linearly.exceptions import PrecisionWarning
from linearly.inference.glance import glance
from linearly.models.linear_regression import LinearRegression
from linearly.selftest import ProgressCallback, Result, list_faults
from linearly.selftest.rationals import digits, least_squares, rational, worst_digits

SETS: dict[str, dict[str, Any]] = json.loads(
    resources.files("linearly.selftest").joinpath("nist.json").read_text(encoding="utf-8")
)["sets"]

METHODS = ("auto", "gram", "qr", "extended")
COEFFICIENTS, ERRORS, AUTO = 13.0, 12.5, 9.0
CERTIFIED = 29  # digits to which the stored answers must be those of exact arithmetic


@dataclass(frozen=True)
class Digits:
    """Correct digits of a fit, the worst of each kind, and whether it warned."""

    coef: float
    std_error: float
    others: float  # σ, R², the residual sum of squares, F
    warned: bool


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield correct digits with "extended" for every set, with "auto" for the worst, and false claims of digits."""
    exact: dict[str, Digits] = {}
    for name in SETS:
        exact[name] = found = fitted(name, "extended")
        yield Result(
            f"{name}, extended: coefficients, standard errors",
            f"{found.coef:.1f}, {found.std_error:.1f} digits",
            f"≥ {COEFFICIENTS:g}, ≥ {ERRORS:g}",
            found.coef >= COEFFICIENTS and found.std_error >= ERRORS and not found.warned,
        )
        progress(len(exact), 2 * len(SETS))
    for method, found_by in (("extended", exact), ("auto", {name: fitted(name, "auto") for name in SETS})):
        least = (COEFFICIENTS, ERRORS, ERRORS) if method == "extended" else (AUTO, AUTO, AUTO)
        yield _worst(f"coefficients, {method}", {name: one.coef for name, one in found_by.items()}, least[0])
        yield _worst(f"standard errors, {method}", {name: one.std_error for name, one in found_by.items()}, least[1])
        yield _worst(f"σ, R², RSS, F, {method}", {name: one.others for name, one in found_by.items()}, least[2])
    wrong = []
    for done, name in enumerate(SETS, start=1):
        wrong += [f"{name} ({method})" for method in overclaiming_methods(name)]
        progress(len(SETS) + done, 2 * len(SETS))
    yield Result(
        "fits that report too many digits without a warning",
        f"{len(wrong)} of {len(METHODS) * len(SETS)} fits{list_faults(wrong, between=', ')}",
        "0",
        not wrong,
    )
    agree = min(map(stored_digits, SETS))
    yield Result(
        "stored reference values, compared with rational arithmetic",
        f"≥ {agree} digits",
        f"≥ {CERTIFIED}",
        agree >= CERTIFIED,
    )


def _worst(what: str, found: dict[str, float], least: float) -> Result:
    worst = min(found, key=lambda name: found[name])
    return Result(f"{what}: worst is {worst}", f"{found[worst]:.1f} digits", f"≥ {least:g}", found[worst] >= least)


def load_rows(name: str) -> tuple[Any, Any]:
    """Return the rows as a user passes them, `polynomial_features(x, degree)` or the columns, and y."""
    stored = SETS[name]
    X = np.array(stored["X"], dtype=np.float64).T
    rows = X if stored["kind"] == "lin" else polynomial_features(X[:, 0], stored["degree"])
    return rows, np.array(stored["y"], dtype=np.float64)


def fit_set(name: str, method: str) -> tuple[LinearRegression, bool]:
    """Return the fitted model, and whether it warned that digits were lost."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LinearRegression(method=method, fit_intercept=SETS[name]["intercept"]).fit(*load_rows(name))
    return model, any(issubclass(one.category, PrecisionWarning) for one in caught)


def coefficients(model: LinearRegression) -> Any:
    """Return all coefficients, the intercept first."""
    return np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_


def fitted(name: str, method: str) -> Digits:
    """Return the digits of a fit to a set."""
    stored = SETS[name]
    model, warned = fit_set(name, method)
    summary = glance(model).row(0)
    others = [
        digits(summary["sigma"], stored["rsd"]),
        digits(summary["r_squared"], stored["r2"]),
        digits(model.solution_.rss[0], stored["rss"]),
    ]
    if stored["F"] != "inf":
        others.append(digits(summary["f_statistic"], stored["F"]))
    if model.solution_.dof != stored["df"][1]:
        others.append(0.0)
    return Digits(
        coef=worst_digits(coefficients(model), stored["beta"]),
        std_error=worst_digits(np.sqrt(np.diagonal(model.covariance_)), stored["sd"]),
        others=min(others),
        warned=warned,
    )


def overclaiming_methods(name: str) -> Iterator[str]:
    """Yield methods that claim more digits than they have, against the rational answer for the float64 numbers."""
    stored = SETS[name]
    rows, y = load_rows(name)
    if stored["kind"] == "lin":
        X: Any = rows
    else:
        X = [[x**d for d in range(1, stored["degree"] + 1)] for x in rational(np.asarray(rows)[:, 0])]
    exact = least_squares(X, y, intercept=stored["intercept"])
    for method in METHODS:
        model, warned = fit_set(name, method)
        if model.solution_.digits > worst_digits(coefficients(model), exact.coef) + 1 and not warned:
            yield method


def stored_digits(name: str) -> int:
    """Return to how many digits the stored coefficients equal those of rational arithmetic on the decimal data."""
    stored = SETS[name]
    columns = rational(stored["X"])
    if stored["kind"] == "lin":
        X = [list(row) for row in zip(*columns, strict=True)]
    else:
        X = [[x**d for d in range(1, stored["degree"] + 1)] for x in columns[0]]
    exact = least_squares(X, rational(stored["y"]), intercept=stored["intercept"])
    pairs = list(zip(exact.coef, rational(stored["beta"]), strict=True))
    agreed = 0
    while agreed < CERTIFIED and all(abs(b - s) <= Fraction(10) ** -(agreed + 1) * abs(b) for b, s in pairs):
        agreed += 1
    return agreed
