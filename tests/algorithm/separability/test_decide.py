"""Tests of `decide`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from separability_cases import LAYOUTS, dot, nearest_point, uneven, vectors, whole

from linearly.algorithm.separability import decide as separability_module
from linearly.algorithm.separability.certificate import (
    margins,
)
from linearly.algorithm.separability.decide import (
    SingleColumn,
    _between,
    _from_data_units,
    _in_data_units,
    _rounded,
    _single_columns,
    _sparsest,
    _taking_part,
    _widest,
    separability,
)
from linearly.algorithm.separability.exact_search import (
    decide,
)
from linearly.algorithm.separability.float_search import (
    FloatHint,
)
from linearly.algorithm.separability.halfspaces import Halfspaces


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("s", [-2, 0, 5])
def test_coefficients_in_scaled_units_convert_back_to_those_of_the_data(fit_intercept, s):
    H = uneven(2, fit_intercept)
    # Weights that matter in each column; powers of two, so that nothing is rounded away.
    W = np.random.default_rng(0).integers(-4, 5, (H.n_terms, 3)).astype(float)
    W[1] *= 2.0**690
    V = _from_data_units(H, W, s)
    Z = H.dense(slice(None))
    A = _in_data_units(H, Z, s)
    ones = [[1.0] * fit_intercept] * H.n
    np.testing.assert_array_equal(A, np.ldexp(np.hstack([H.X, ones]) if fit_intercept else H.X, -s))
    for w, v in zip(W.T.tolist(), V.T.tolist(), strict=True):
        for x, z in zip(H.X.tolist(), Z.tolist(), strict=True):
            assert dot(w, [*x, *[1.0] * fit_intercept]) == dot(v, z) * Fraction(2) ** s


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("shape", [(40, 3), (4, 9), (5, 5)])
def test_the_widest_hyperplane_is_nearly_the_widest(shape, K):
    rng = np.random.default_rng(0)
    n, p = shape
    y = np.arange(n) % K
    X = rng.standard_normal((n, p)) + 6 * np.eye(max(p, K))[y][:, :p]
    if n > p:
        X = X + 100
    H = Halfspaces(X, y)
    start = decide(H).v
    v = _widest(H, start)
    assert (H.signs(v) > 0).all()
    assert margins(H, v)[1] >= margins(H, start)[1]
    # The largest augmented margin: the distance of the hull of all a, in K centred blocks of (x, 1).
    Z = np.column_stack([X, np.ones(n)])
    rows = [np.kron(np.eye(K)[c] - np.eye(K)[k], z) for z, c in zip(Z, y, strict=True) for k in range(K) if k != c]
    largest = np.linalg.norm(nearest_point(np.array(rows))) / (math.sqrt(2) if K == 2 else 1)
    assert 0.95 * largest <= margins(H, v)[1] <= largest * (1 + 1e-9)


@pytest.mark.parametrize("hint", ["none", "zero", "infinite", "half infinite", "wrong", "narrower", "touching"])
def test_a_separator_is_only_exchanged_for_a_wider_one(hint, monkeypatch):
    H = Halfspaces([[-2.0, 0.0], [2.0, 0.0], [3.0, 5.0]], [0, 1, 1])
    v = whole([4, 1, 0])
    other = {
        "none": None,
        "zero": np.zeros(3),
        "infinite": np.array([np.inf, np.inf, np.inf]),
        "half infinite": np.array([1.0, np.inf, 0.0]),
        "wrong": np.array([1.0, 0.0, 3.0]),
        "narrower": np.array([1.0, 1.0, 0.0]),
        "touching": np.array([1.0, 0.0, 2.0]),
    }[hint]
    monkeypatch.setattr(
        separability_module, "search_min_norm_point", lambda *_, **__: FloatHint(other, [], np.empty(0))
    )
    assert _widest(H, v) is v


def test_a_wider_separator_is_taken(monkeypatch):
    H = Halfspaces([[-2.0, 0.0], [2.0, 0.0], [3.0, 5.0]], [0, 1, 1])
    monkeypatch.setattr(
        separability_module,
        "search_min_norm_point",
        lambda *_, **__: FloatHint(np.array([0.5, 0.0, 0.0]), [], np.empty(0)),
    )
    assert _widest(H, whole([4, 1, 0])).tolist() == [1, 0, 0]


def test_a_hyperplane_is_rounded_to_weights_of_norm_one():
    H = Halfspaces([[-2.0, 0.0], [2.0, 1.0], [3.0, 5.0]], [0, 1, 1])
    W, exact = _rounded(H, whole([-30, 40, 7]) * -1, unit=True)
    np.testing.assert_allclose(W, [[0.6, -0.8, -0.14]], rtol=1e-15)
    W, exact = _rounded(H, whole([6, 8, 2]), unit=True)
    np.testing.assert_allclose(W, [[0.6, 0.8, 0.2]], rtol=1e-15)
    assert exact == tuple(tuple(Fraction(t) for t in row) for row in W.tolist())
    W, exact = _rounded(H, whole([6, -8, 2]), unit=False)
    assert W.tolist() == [[0.75, -1.0, 0.25]]
    W, exact = _rounded(H, whole([0, 0, 5]), unit=True)
    assert W.tolist() == [[0.0, 0.0, 1.0]]


def test_fractions_are_kept_where_floats_would_not_separate():
    H = Halfspaces([[1.0, 1.0], [1.0 + 2.0**-52, 1.0], [-7.0, 3.0]], [0, 1, 0], fit_intercept=False)
    v = whole([(1 << 53) * 3 - 1, -((1 << 53) * 3 - 1) - 1])
    exact_signs = [dot(a, v) > 0 for a in vectors(H)]
    assert exact_signs == [True, True, True]
    near, exact = _rounded(H, v, unit=True)
    assert all(dot(a, exact[0]) > 0 for a in vectors(H))
    assert near.tolist() == [[float(s) for s in exact[0]]]


def test_a_quasi_separating_hyperplane_keeps_its_ties():
    H = Halfspaces([[0.0, 0.0], [3.0, -1.0], [0.0, 0.0], [3.0, -1.0], [1.0, 0.0]], [0, 0, 1, 1, 1])
    near, exact = _rounded(H, whole([1, 3, 0]), unit=False)
    values = [dot(a, H.from_data(exact)) for a in vectors(H)]
    assert values[:4] == [0, 0, 0, 0]
    assert values[4] > 0
    assert exact == ((Fraction(1, 3), Fraction(1), Fraction(0)),)
    assert near.tolist() == [[1 / 3, 1.0, 0.0]]


def alone(X, y, fit_intercept, strict):
    """Columns that separate on their own, by trying every threshold: at and between all entries."""
    found = []
    for j, column in enumerate(np.asarray(X, dtype=float).T):
        entries = np.unique(column)
        thresholds = np.concatenate([entries, (entries[1:] + entries[:-1]) / 2]) if fit_intercept else [0.0]
        for side in (1, -1):
            values = [side * (2 * y - 1) * (column - t) for t in thresholds]
            if any(v.min() > 0 if strict else v.min() >= 0 and v.any() for v in values):
                found.append((j, 1 if side == 1 else 0))
    return sorted(found)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_single_columns_are_those_that_separate_on_their_own(fit_intercept, strict, layout):
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (5, 6)).astype(float)
        X[:, 0], X[:, 1], X[:, 2] = [-1, 0, 0, 1, 1], [2, 0, 0, 0, -1], [-2, -1, 1, 2, 1]
        X[:, 3] = 1.0
        y = rng.integers(0, 2, 5) if seed else np.array([0, 0, 1, 1, 1])
        y[[0, 4]] = [0, 1]
        H = Halfspaces(layout(X), y, fit_intercept=fit_intercept)
        columns = _single_columns(H, strict)
        expected = alone(X, y, fit_intercept, strict)
        assert [(c.j, c.above) for c in columns] == expected
        seen |= {above for _, above in expected}
        for c in columns:
            signs = H.signs(c.hyperplane(H))
            assert signs.min() >= 0
            assert signs.any()
            mine = X[y == c.above, c.j]
            others = X[y != c.above, c.j]
            assert (c.low, c.high) == (others.min(), mine.max())
            assert c.strict is strict
    assert seen == {0, 1}


def test_more_than_two_classes_have_no_single_columns():
    assert _single_columns(Halfspaces([[0.0], [1.0], [2.0]], [0, 1, 2]), strict=True) == []


def test_rule_of_a_hyperplane_names_the_class_of_each_side():
    H = Halfspaces([[0.0], [1.0]], ["no", "yes"], names=["dose"])
    assert SingleColumn(0, 1, 0.5, 0.0, 1.0, True).rule(H) == "dose ≥ 0.5 exactly for 'yes'"
    assert SingleColumn(0, 0, 0.5, 0.0, 1.0, True).rule(H) == "dose ≥ 0.5 exactly for 'no'"
    assert SingleColumn(0, 0, -0.5, -1.0, 0.0, True).rule(H) == "dose ≥ −0.5 exactly for 'no'"
    assert SingleColumn(0, 1, 0.5, 0.5, 1.0, False).rule(H) == "dose > 0.5 only for 'yes'"
    assert SingleColumn(0, 1, 0.5, 0.0, 0.5, False).rule(H) == "dose < 0.5 only for 'no'"
    both = SingleColumn(0, 0, 0.5, 0.0, 1.0, False).rule(H)
    assert both == "dose > 0.5 only for 'no' and dose < 0.5 only for 'yes'"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, 0.5),
        (1.9, 2.0, 2.0),
        (2.0, 2.1, 2.05),
        (1.0, 3.0, 2.0),
        (-4.0, 1.0, -2.0),
        (0.8, 1.0, 0.9),
        (123.0, 125.0, 124.0),
        (1e308, 1.6e308, 1.3e308),
        (1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 2.0)),
        (np.nextafter(2.0, 0.0), 2.0, 2.0),
        (5.0, 5.0, 5.0),
    ],
)
def test_a_threshold_is_the_shortest_number_in_the_middle(low, high, expected):
    assert _between(low, high) == pytest.approx(expected, rel=1e-15)
    assert low < _between(low, high) <= high or low == high


def test_threshold_lies_between_any_two_numbers():
    rng = np.random.default_rng(0)
    for low, gap in zip(rng.standard_normal(200).tolist(), 10.0 ** rng.uniform(-17, 3, 200), strict=True):
        high = max(low + gap, np.nextafter(low, np.inf))
        t = _between(low, high)
        assert low < t <= high
        assert t == high or abs(t - (low + high) / 2) <= (high - low) / 2


def test_columns_take_part_by_how_far_they_move_the_score():
    H = Halfspaces([[0.0, 5.0, 1.0, 0.0], [4.0, 6.0, 1.5, 3.0]], [0, 1], names=list("abcd"))
    assert _taking_part(H, np.array([[1.0, -2.0, 100.0, 0.0]]), []) == (("c", 100.0), ("a", 1.0), ("b", -2.0))
    columns = [SingleColumn(0, 1, 2.0, 0.0, 4.0, True), SingleColumn(3, 0, 2.0, 0.0, 3.0, True)]
    assert _taking_part(H, np.ones((1, 4)), columns) == (("a", 1.0), ("d", -1.0))
    H = Halfspaces([[0.0, 5.0], [4.0, 6.0], [1.0, 7.0]], [0, 1, 2])
    coef = np.array([[3.0, 0.0], [4.0, 12.0], [0.0, -5.0]])
    assert _taking_part(H, coef, []) == (("x1", 13.0), ("x0", 5.0))


def test_the_sparsest_of_quasi_separators_is_shown():
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (300, 5)).astype(float)
    s = X[:, 1] - 2 * X[:, 3]
    for sign in (1, -1):
        H = Halfspaces(X, np.where(s == 0, rng.integers(0, 2, 300), sign * s > 0))
        decision = decide(H)
        v = _sparsest(H, decision, [])
        signs = H.signs(v)
        assert signs.min() == 0 < signs.max()
        assert np.flatnonzero(v).tolist() == [1, 3]
    column = SingleColumn(2, 0, 1.5, 0.0, 3.0, False)
    np.testing.assert_array_equal(_sparsest(H, decision, [column]), column.hyperplane(H))


def test_the_shorter_of_two_quasi_separators_is_shown():
    # The same two points in both classes; on the line through them x0 and x1 say nothing, x2 and x3 tell the rest.
    H = Halfspaces(
        [[0.0, 0, 0, 0], [1.0, 1, 0, 0], [0.0, 0, 0, 0], [1.0, 1, 0, 0], [0.0, 0, 1, 2], [3.0, 0, 2, 1]],
        [0, 0, 1, 1, 1, 1],
    )
    decision = decide(H)
    v = _sparsest(H, decision, [])
    assert H.signs(v).min() == 0 < H.signs(v).max()
    assert np.count_nonzero(v) == 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_a_certificate_shows_the_hyperplane_it_proves(K, fit_intercept):
    rng = np.random.default_rng(K)
    y = np.arange(30) % K
    X = rng.standard_normal((30, 3)) + 30 * np.eye(3)[y]
    if not fit_intercept:
        X -= 15
    c = separability(X, y, fit_intercept=fit_intercept)
    assert c.verdict == "separable"
    W, b = np.atleast_2d(c.coef), np.atleast_1d(c.intercept)
    assert W.shape == (1 if K == 2 else K, 3)
    assert b.shape == (len(W),)
    assert np.linalg.norm(W) == pytest.approx(1)
    assert fit_intercept or not b.any()
    scores = X @ W.T + b
    scores = np.column_stack([np.zeros(30), scores]) if K == 2 else scores
    own = scores[np.arange(30), y]
    scores[np.arange(30), y] = -np.inf
    least = (own - scores.max(axis=1)).min()
    assert c.margin == pytest.approx(least, rel=1e-9)
    assert c.augmented_margin == pytest.approx(least / np.linalg.norm(np.column_stack([W, b])), rel=1e-9)
