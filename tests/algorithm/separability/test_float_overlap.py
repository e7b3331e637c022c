"""Overlap proven in floats: never where it is not so, and nearly always where it is."""

import numpy as np
import pytest

import linearly as ly
from linearly.algorithm.separability import float_overlap as overlap
from linearly.algorithm.separability.float_overlap import certify_overlap, positive_relation
from linearly.algorithm.separability.halfspaces import Halfspaces
from linearly.algorithm.separability.integer_algebra import as_integers, null_space


def sets(count):
    """Small sets of every verdict: normal, badly scaled or on a grid, labels at random or nearly separable."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p, K = int(rng.integers(4, 60)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
        X = rng.standard_normal((n, p)) if seed % 4 < 2 else rng.integers(-2, 3, (n, p)).astype(float)
        if seed % 4 == 1:
            X = X * 10.0 ** rng.integers(-6, 7, p) + 10.0 ** rng.integers(-2, 9, p)
        y = rng.integers(0, K, n)
        if seed % 3 == 0:
            noise = rng.normal(size=(n, K)) * rng.choice([0.0, 0.1, 0.5])
            y = (X @ rng.standard_normal((p, K)) + noise).argmax(axis=1)
        yield X, np.r_[np.arange(K), y[K:]], bool(seed % 5)


@pytest.mark.parametrize("n_sets", [120, pytest.param(600, marks=pytest.mark.slow)])
def test_certified_overlap_is_true_and_most_overlap_is_certified(n_sets):
    verdicts = []
    for X, y, intercept in sets(n_sets):
        verdict = ly.separability(X, y, fit_intercept=intercept).verdict
        verdicts.append((verdict, certify_overlap(Halfspaces(X, y, fit_intercept=intercept))))
    assert all(verdict == "overlapping" for verdict, sure in verdicts if sure)
    overlapping = [sure for verdict, sure in verdicts if verdict == "overlapping"]
    assert len(verdicts) - len(overlapping) > n_sets / 6
    assert np.mean(overlapping) > 0.7


def exactly_positive(A):
    """The same question answered in integers."""
    N, e = as_integers(A)
    B, _ = null_space((N.astype(object) * (1 << (e - e.min()).astype(object))).T)
    return B.shape[1] == 1 and (min(B[:, 0]) > 0 or max(B[:, 0]) < 0)


@pytest.mark.parametrize("p", [1, 2, 5, 12])
def test_float_relations_are_certified_only_if_integers_confirm_them(p):
    sure = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((p + 1, p))
        share = rng.uniform(0.5, 1.0, p + 1)
        share[0] = rng.choice([0.3, 1e-3, 1e-9, 1e-13, 1e-15, 0.0, -1e-15, -1e-9, -0.3])
        A[-1] = -(share[:-1] @ A[:-1]) / share[-1]
        found = positive_relation(A)
        sure += found
        assert not found or exactly_positive(A)
        if share[0] >= 1e-3:
            assert found
        if share[0] < 0:
            assert not found
    assert sure > 0


def test_wrong_inverse_proves_no_positive_relation(monkeypatch):
    A = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    inverse = np.linalg.inv
    for row in range(3):

        def wrong(system, row=row):
            found = inverse(system)
            found[row, 0] += 1.0  # the shares, in its last column, are right
            return found

        monkeypatch.setattr(np.linalg, "inv", wrong)
        assert not positive_relation(A)
    monkeypatch.setattr(np.linalg, "inv", inverse)
    assert positive_relation(A)


def test_relation_of_rows_that_span_less_proves_no_overlap():
    assert not positive_relation(np.zeros((3, 2)))
    assert not positive_relation(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]))
    assert not positive_relation(np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, 2.0]]))
    assert positive_relation(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
    X = np.random.default_rng(0).standard_normal((50, 2))
    y = np.arange(50) % 2
    assert certify_overlap(Halfspaces(X, y))
    assert not certify_overlap(Halfspaces(np.column_stack([X, X[:, 0]]), y))  # left to the integers
    assert not certify_overlap(Halfspaces(X * [1e-250, 1.0], y))
    X[0] = 0.0
    assert not certify_overlap(Halfspaces(X, y, fit_intercept=False))


@pytest.mark.parametrize("K", [2, 3])
def test_certify_overlap_tries_some_rows_before_all(K, monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((900, 2)), rng.integers(0, K, 900)
    asked = []
    monkeypatch.setattr(overlap, "_SOME_ROWS", 300)
    monkeypatch.setattr(overlap, "_overlap", lambda H: asked.append(H.n) or H.n > 500)
    assert certify_overlap(Halfspaces(X, y))
    assert asked == [300, 900]  # some do not prove it here, so all are asked
    monkeypatch.setattr(overlap, "_overlap", lambda H: asked.append(H.n) or True)
    assert certify_overlap(Halfspaces(X, y))
    assert asked[2:] == [300]
    monkeypatch.setattr(overlap, "_SOME_ROWS", 451)
    assert certify_overlap(Halfspaces(X, y))
    assert asked[3:] == [900]


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_fit_of_large_logits_computes_no_certificate_if_overlap_is_certified(solver, monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4000, 3))
    y = (8 * X @ rng.standard_normal((3, 3)) + rng.gumbel(size=(4000, 3))).argmax(axis=1)

    def refused(*given, **named):
        raise AssertionError("a certificate was asked for")

    expected = ly.LogisticRegression(solver="newton").fit(X, y)
    assert np.abs(expected.decision_function(X)).max() > 15
    monkeypatch.setattr("linearly.algorithm.separability.decide.separability", refused)
    model = ly.LogisticRegression(solver=solver).fit(X, y)
    assert model.converged_
    assert model.separation_ is None
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4)
