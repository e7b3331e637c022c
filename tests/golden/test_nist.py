"""NIST's reference data sets for least squares: how many digits are right, and whether we say so."""

import warnings
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from linearly.dataset.features.polynomial import polynomial_features
from linearly.exceptions import PrecisionWarning
from linearly.models.linear_regression import LinearRegression
from linearly.selftest.nist import SETS as GOLDEN
from linearly.selftest.rationals import digits, least_squares, rational, worst_digits

POLYNOMIALS = [name for name, golden in GOLDEN.items() if golden["kind"] == "poly"]


class Case(NamedTuple):
    name: str
    golden: dict
    y: np.ndarray
    columns: np.ndarray  # float64 columns: for a polynomial the powers as anyone would form them
    rows: object  # what a user of this library passes: `polynomial(x, degree)`, or the columns

    @property
    def intercept(self):
        return self.golden["intercept"]

    def fit(self, X, method):
        """The model, and whether it warned that digits were lost."""
        model = LinearRegression(method=method, fit_intercept=self.intercept)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, self.y)
        assert all(issubclass(w.category, PrecisionWarning) for w in caught)
        return model, bool(caught)


def case_of(name):
    golden = GOLDEN[name]
    y = np.array(golden["y"], dtype=np.float64)
    X = np.array(golden["X"], dtype=np.float64).T
    if golden["kind"] == "lin":
        return Case(name, golden, y, X, X)
    columns = X ** np.arange(1, golden["degree"] + 1)
    return Case(name, golden, y, columns, polynomial_features(X[:, 0], golden["degree"]))


@pytest.fixture(params=list(GOLDEN))
def case(request):
    return case_of(request.param)


def coefficients(model):
    return np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_


def std_errors(model):
    return np.sqrt(np.diagonal(model.covariance_))


def r_squared(model):
    return 1 - model.solution_.rss[0] / model.solution_.tss[0]


def test_eleven_sets():
    assert len(GOLDEN) == 11


def test_the_certified_answers_are_those_of_exact_arithmetic(case):
    X = [[x**d for d in range(1, case.golden["degree"] + 1)] for x in rational(case.golden["X"][0])]
    if case.golden["kind"] == "lin":
        X = list(map(list, zip(*rational(case.golden["X"]), strict=True)))
    exact = least_squares(X, rational(case.golden["y"]), intercept=case.intercept)
    for beta, expected in zip(exact.coef, case.golden["beta"], strict=True):
        assert abs(beta - rational(expected)) <= Fraction(10) ** -29 * abs(beta)


# --- figures to reach -----------------------------------------------------------------------------


def test_exact_reaches_13_digits(case):
    model, warned = case.fit(case.rows, "extended")
    assert worst_digits(coefficients(model), case.golden["beta"]) >= 13
    assert worst_digits(std_errors(model), case.golden["sd"]) >= 12.5
    assert digits(np.sqrt(model.solution_.sigma2[0]), case.golden["rsd"]) >= 12.5
    assert digits(r_squared(model), case.golden["r2"]) >= 13
    assert not warned
    assert model.solution_.dof == case.golden["df"][1]


@pytest.mark.parametrize("form", ["columns", "rows"])
def test_auto_is_never_below_lstsq(case, form):
    design = np.column_stack([np.ones(len(case.y)), case.columns]) if case.intercept else case.columns
    peer = np.linalg.lstsq(design, case.y, rcond=None)[0]
    model, _ = case.fit(getattr(case, form), "auto")
    assert worst_digits(coefficients(model), case.golden["beta"]) >= worst_digits(peer, case.golden["beta"])


def test_auto_reaches_9_digits_where_the_input_allows(case):
    model, _ = case.fit(case.rows, "auto")
    assert worst_digits(coefficients(model), case.golden["beta"]) >= 9
    assert worst_digits(std_errors(model), case.golden["sd"]) >= 9


def test_powers_in_float64_cost_filip_its_digits():
    # Why `polynomial` exists: the rounding of x^10 alone leaves about 8 digits, whatever solves the rest.
    case = case_of("Filip")
    model, _ = case.fit(case.columns, "extended")
    assert 7 <= worst_digits(coefficients(model), case.golden["beta"]) < 9
    model, _ = case.fit(case.rows, "extended")
    assert worst_digits(coefficients(model), case.golden["beta"]) >= 13


# --- and to say so --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "gram", "qr", "extended"])
@pytest.mark.parametrize("form", ["columns", "rows"])
def test_claimed_digits_are_there(case, form, method):
    """The claim is about the computation: it is held against the exact answer for the float64 numbers passed in."""
    model, warned = case.fit(getattr(case, form), method)
    if form == "columns":
        expected = least_squares(case.columns, case.y, intercept=case.intercept)
    else:
        x = rational(np.asarray(case.rows)[:, 0])
        powers = [[v**d for d in range(1, case.columns.shape[1] + 1)] for v in x]
        expected = least_squares(powers if case.name in POLYNOMIALS else case.columns, case.y, intercept=case.intercept)
    actual = worst_digits(coefficients(model), expected.coef)
    claimed = model.solution_.digits
    assert claimed <= max(actual + 1, 1.5), f"claimed {claimed:.1f}, actual {actual:.1f}"  # 1.5 digits claim nothing
    assert claimed < 10 if warned else model.solution_.digits_of_relevant_coefs >= 10


@pytest.mark.parametrize("method", ["auto", "gram", "qr", "extended"])
@pytest.mark.parametrize("form", ["columns", "rows"])
def test_filip_is_never_silently_wrong(form, method):
    case = case_of("Filip")
    model, warned = case.fit(getattr(case, form), method)
    certified = worst_digits(coefficients(model), case.golden["beta"])
    if certified < 7:  # 7 is what the float64 powers allow
        assert warned
        assert model.solution_.digits < 7
