"""Tests of `certificate`."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from separability_cases import LAYOUTS, XOR, dot, lattices, relation_of, some_integers, uneven, vectors, whole

from linearly.algorithm.separability.certificate import (
    Certificate,
    Relation,
    _largest_row,
    _least,
    margin_ratio,
    margins,
)
from linearly.algorithm.separability.decide import (
    mistake_bound,
    separability,
)
from linearly.algorithm.separability.halfspaces import Halfspaces
from linearly.selftest.hyperplanes import rank


def test_multipliers_add_up_to_one_in_each_hull_or_over_all():
    X, y = [[0.0], [4.0], [1.0], [1.0]], [0, 0, 1, 2]
    two = Halfspaces(X[:3], y[:3])
    relation = Relation.of(two, {2: 4, 0: 3, 1: 1})
    assert relation.rows.tolist() == [0, 1, 2]
    assert relation.rivals.tolist() == [1, 1, 0]
    assert relation.witness_weights == (Fraction(3, 4), Fraction(1, 4), Fraction(1))
    assert relation.weights.tolist() == [0.75, 0.25, 1.0]
    assert len(relation) == 3
    assert relation.holds(two)
    bare = Halfspaces([[1.0], [2.0]], ["a", "b"], fit_intercept=False)
    assert Relation.of(bare, {0: 2, 1: 1}).witness_weights == (Fraction(2, 3), Fraction(1, 3))
    three = Halfspaces(X, y)
    ids = three.index(np.array([2, 3]), np.array([2, 1])).tolist()
    relation = Relation.of(three, dict.fromkeys(ids, 5))
    assert relation.witness_weights == (Fraction(1, 2), Fraction(1, 2))
    assert relation.rivals.tolist() == [2, 1]
    assert relation.ids(three).tolist() == ids


def test_relation_with_unknown_rows_or_rivals_does_not_hold():
    H = Halfspaces([[1.0], [1.0], [5.0]], ["a", "b", "c"])
    assert relation_of([0, 1], ["b", "a"], [1, 1]).ids(H).tolist() == [0, 2]
    assert relation_of([0, 1], ["c", "c"], [1, 1]).ids(H).tolist() == [1, 3]
    assert relation_of([2, 2], ["a", "b"], [1, 1]).ids(H).tolist() == [4, 5]
    for rows, rivals in [
        ([0, 1], ["b", "z"]),
        ([0, 1], ["z", "a"]),
        ([0, 1], ["b", "b"]),
        ([0, -1], ["b", "b"]),
        ([-1, -2], ["a", "a"]),
        ([0, 3], ["b", "a"]),
        ([3, 4], ["a", "a"]),
    ]:
        relation = relation_of(rows, rivals, [1, 1])
        assert relation.ids(H) is None
        assert relation.holds(H) is False
        assert relation.spans(H) is False


@pytest.mark.parametrize(
    ("multipliers", "holds"),
    [
        (["3/4", "1/4", "1"], True),
        (["3", "1", "4"], True),
        (["3/7", "1/7", "4/7"], True),
        (["1/100", "1/300", "4/300"], True),
        (["-3", "-1", "-4"], False),
        (["3", "1", "5"], False),
        (["4", "0", "4"], False),
        (["1", "1", "2"], False),
        (["0", "0", "0"], False),
    ],
)
def test_a_relation_holds_if_all_is_positive_and_adds_up_to_zero(multipliers, holds):
    H = Halfspaces([[0.0], [4.0], [1.0]], [0, 0, 1])
    assert relation_of([0, 1, 2], [1, 1, 0], multipliers).holds(H) is holds


def test_empty_relation_does_not_hold():
    H = Halfspaces([[0.0], [1.0]], [0, 1])
    assert Relation(np.array([], dtype=np.intp), np.array([], dtype=int), ()).holds(H) is False


@pytest.mark.parametrize("seed", range(20))
def test_a_relation_spans_as_its_rank_says(seed):
    H = lattices(seed)
    A = vectors(H)
    rng = np.random.default_rng(seed)
    for size in (1, 3, 6, H.n_inequalities):
        ids = rng.permutation(H.n_inequalities)[:size]
        relation = Relation.of(H, dict.fromkeys(sorted(ids.tolist()), 1)) if H.K > 2 or not H.fit_intercept else None
        if relation is None:
            rows, rivals = H.pair(np.sort(ids))
            relation = Relation(rows, H.classes[rivals], (Fraction(1),) * size)
        assert relation.spans(H) == (rank([A[i] for i in ids]) == rank(A))


def test_a_certificate_of_overlap_needs_both_its_relations():
    # Two pairs of twins; only both together span the plane of (x, 1).
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]
    c = separability(X, y)
    assert c.verdict == "overlapping"
    assert c.check() is True
    other = relation_of([2, 3], [1, 0], [1, 1])
    wrong = relation_of([0, 3], [1, 0], [1, 1])
    assert replace(c, witness=other).check() is True
    assert replace(c, witness=wrong).check() is False
    assert replace(c, witness=None).check() is False
    assert replace(c, spanning=None).check() is False
    assert replace(c, spanning=other).check() is False
    assert replace(c, spanning=relation_of([0, 1, 2, 3], [1, 0, 1, 0], [1, 1, 1, 2])).check() is False
    assert c.witness_rows is c.witness.rows
    assert c.witness_weights is c.witness.witness_weights


def test_a_certificate_of_a_hyperplane_needs_its_floats_and_its_fractions():
    c = separability([[0.0, 5.0], [1.0, 2.0], [3.0, 1.0], [4.0, 7.0]], [0, 0, 1, 1])
    assert c.verdict == "separable"
    assert c.check() is True
    assert replace(c, hyperplane=None).check() is False
    assert replace(c, coef=None).check() is False
    assert replace(c, intercept=c.intercept * 2).check() is False
    assert replace(c, names=("only",)).check() is False
    (w,) = c.hyperplane
    turned = replace(c, coef=-c.coef, intercept=-c.intercept, hyperplane=(tuple(-t for t in w),))
    assert turned.check() is False
    assert (c.witness_rows, c.witness_weights, c.common_hull_point) == (None, None, None)
    bare = separability([[-1.0], [2.0]], [0, 1], fit_intercept=False)
    assert bare.check() is True
    assert bare.intercept == 0.0
    assert bare.coef.tolist() == [1.0]


def plane(c: Certificate, coef, intercept) -> Certificate:
    exact = (tuple(Fraction(t) for t in [*coef, intercept]),)
    return replace(c, coef=np.array(coef), intercept=intercept, hyperplane=exact)


def test_a_hyperplane_is_checked_row_by_row():
    X, y = [[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]
    c = separability(X, y)
    assert c.verdict == "quasi-separable"
    assert plane(c, [2.0], -2.0).check() is True
    assert plane(c, [1.0], -1.5).check() is False
    assert plane(c, [-1.0], 1.0).check() is False
    assert plane(c, [0.0], 0.0).check() is False
    assert replace(c, witness=None).check() is False
    assert replace(c, witness=relation_of([0, 2], [1, 0], [1, 1])).check() is False
    apart = separability([[0.0], [1.0], [3.0]], [0, 0, 1])
    assert plane(apart, [1.0], -2.0).check() is True
    assert plane(apart, [1.0], -1.0).check() is False
    assert plane(apart, [1.0], -0.5).check() is False
    assert plane(apart, [1.0], -9.0).check() is False


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_meeting_point_lies_in_both_hulls(layout):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-5, 6, (40, 3)).astype(float), rng.integers(0, 2, 40)
    c = separability(layout(X), y)
    for k in (0, 1):
        mine = y[c.witness.rows] == k
        assert sum(t for t, own in zip(c.witness_weights, mine, strict=True) if own) == 1
        np.testing.assert_allclose(c.witness.weights[mine] @ X[c.witness.rows[mine]], c.common_hull_point, atol=1e-12)


def test_only_two_hulls_meet_in_a_point():
    assert separability([[0.0], [0.0], [0.0]], [0, 1, 2]).common_hull_point is None
    assert separability([[1.0], [2.0]], [0, 1], fit_intercept=False).common_hull_point is None
    assert separability([[3.0, 4.0]] * 2, [0, 1]).common_hull_point.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scale", [2.0**-400, 1.0, 2.0**400])
def test_the_largest_row_is_rounded_upwards_and_hardly(scale, layout):
    rng = np.random.default_rng(0)
    for _ in range(40):
        X = rng.standard_normal((5, 7)) * scale
        H = Halfspaces(layout(X), [0, 1, 0, 1, 0], fit_intercept=False)
        largest, s = _largest_row(H)
        square = max(dot(x, x) for x in X.tolist()) / Fraction(4) ** s
        assert square <= Fraction(largest) ** 2 <= square * Fraction(1 + 1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_largest_row_is_found_among_thousands(layout):
    for place in (0, 8191, 8192, 9999):
        X = np.zeros((10000, 2))
        X[place] = [3.0, -4.0]
        largest, s = _largest_row(Halfspaces(layout(X), np.arange(10000) % 2))
        assert math.ldexp(largest, s) == pytest.approx(5.0)


@pytest.mark.parametrize("scale", [1.0, 2.0**-300, 2.0**300])
def test_the_mistake_bound_scales_with_the_data(scale):
    X = np.array([[-3.0, 0.0], [-5.0, 12.0], [4.0, 3.0]]) * scale
    c = separability(X, [0, 0, 1], fit_intercept=False)
    assert c.mistake_bound() == pytest.approx((13 * scale / c.augmented_margin) ** 2, rel=1e-11)
    assert Fraction(c.mistake_bound()) > (Fraction(13) * Fraction(scale) / Fraction(c.augmented_margin)) ** 2
    assert replace(c, augmented_margin=None).mistake_bound() == math.inf
    assert replace(c, augmented_margin=0.0).mistake_bound() == math.inf
    assert replace(c, augmented_margin=2.0**-520 * scale).mistake_bound() == math.inf
    assert mistake_bound(X, [0, 0, 1], fit_intercept=False) == c.mistake_bound()


def test_the_mistake_bound_counts_the_intercept_as_one_more_entry_of_each_row():
    for scale in (0.25, 1.0, 64.0):
        X = np.array([[-3.0], [4.0]]) * scale
        c = separability(X, [0, 1])
        assert c.mistake_bound() == pytest.approx((16 * scale**2 + 1) / c.augmented_margin**2, rel=1e-11)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3, 4])
def test_margins_are_least_values_over_norms(K, fit_intercept):
    H = uneven(K, fit_intercept)
    v = some_integers(H, 5)
    least = min(dot(a, v) for a in vectors(H))
    assert _least(H, v) == least
    W = H.to_data(v)
    unit = max(abs(t) for row in W for t in row)
    weights = np.array([[float(t / unit) for t in row] for row in W])
    margin, augmented = margins(H, v)
    assert augmented == pytest.approx(float(least / unit) / np.linalg.norm(weights), rel=1e-13)
    assert margin == pytest.approx(float(least / unit) / np.linalg.norm(weights[:, : H.p]), rel=1e-13)


@pytest.mark.parametrize("power", [-3000, -20, 0, 20, 3000])
def test_margin_ratio_of_large_numbers_does_not_overflow(power):
    unit = Fraction(2) ** power
    assert margin_ratio(10 * unit, [3 * unit, -4 * unit]) == 2.0
    assert margin_ratio(-unit, [Fraction(0), unit / 2]) == -2.0
    assert margin_ratio(unit / 3, [unit]) == 1 / 3
    assert margin_ratio(unit, [Fraction(0)]) == math.inf
    assert margin_ratio(unit, []) == math.inf


def test_smallest_margin_is_distinguished_from_close_ones():
    # Floats see the same value in all rows; one is smaller by 2⁻⁵².
    for place in range(6):
        X = np.full((7, 2), [1.0, -1.0])
        X[place, 0] -= 2.0**-53
        X[6] = [1000.0, 1000.0]
        H = Halfspaces(X, np.ones(7, dtype=int), classes=np.array([0, 1]))
        assert _least(H, whole([1, 1, 1 << 60])) == (1 << 60) - Fraction(2) ** -53


def test_a_sentence_names_the_rows_of_the_witness_as_they_are_indexed():
    c = separability(*XOR)
    assert "the convex hulls of the classes meet (rows 0, 1, 2, 3)" in c.describe()
    moved = replace(c, index=np.array([10, 20, 30, 40]))
    assert "(rows 10, 20, 30, 40)" in moved.describe()
    assert "witness rows 10, 20, 30, 40" in repr(moved)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("X", "y", "fit_intercept", "words"),
    [
        ([[3.0, 1.0], [3.0, 1.0]], [0, 1], True, "rows 0 and 1 are the same point with different labels"),
        ([[1.0, 1.0], [2.0, 2.0]], [0, 1], False, "2 rows contradict each other (rows 0, 1)"),
        ([[0.0], [1.0]], [0, 1], False, "row 0 is zero and there is no intercept"),
        ([[0.0], [1.0], [2.0]], [0, 1, 0], True, "the convex hulls of the classes meet (rows 0, 1, 2)"),
        ([[0.0], [2.0], [0.0], [4.0], [1.0]], list("aabbc"), True, "rows 0 and 2 are the same point"),
        ([[0.0], [2.0], [1.0], [9.0]], list("aabc"), True, "3 rows contradict each other (rows 0, 1, 2)"),
    ],
)
def test_a_sentence_says_why_no_hyperplane_separates(X, y, fit_intercept, words, layout):
    assert words in separability(layout(X), y, fit_intercept=fit_intercept).describe()


def test_long_lists_are_cut_short():
    # The corners of a simplex, and their mean in the other class.
    for corners, words in [(5, "(rows 0, 1, 2, 3, 4, 5)"), (6, "(rows 0, 1, 2, 3, 4, 5, …)")]:
        X = np.vstack([corners * np.eye(corners), np.ones((1, corners))])
        c = separability(X, [0] * corners + [1])
        assert len(c.witness) == corners + 1
        assert words in c.describe()


def test_a_sentence_names_at_most_three_rules():
    t = np.arange(6.0)
    for columns in (1, 2, 3, 5):
        c = separability(np.column_stack([t] * columns), t > 2)
        assert c.describe().count("exactly for") == min(columns, 3)
        touching = separability(np.column_stack([np.minimum(t, 3)] * columns), t > 3)
        assert touching.verdict == "quasi-separable"
        assert touching.describe().count("only for") == min(columns, 3)


def test_a_sentence_names_at_most_five_columns_of_a_hyperplane():
    X = np.random.default_rng(0).integers(-3, 4, (400, 6)).astype(float)
    for columns in (4, 5, 6):
        s = X[:, :columns].sum(axis=1)
        c = separability(X[:, :columns], np.where(s == 0, np.arange(400) % 2, s > 0))
        assert len(c.separating_columns) == columns
        named = ", ".join(name for name, _ in c.separating_columns[:5])
        assert f"(a hyperplane in {named})" in c.describe()


def test_a_sentence_without_a_rule_names_the_margin_or_the_columns():
    X = [[0.0, 0.0], [2.0, -1.0], [-1.0, 2.0], [1.0, 1.0], [3.0, 0.0], [0.0, 3.0]]
    diagonal = separability(X, [0, 0, 0, 1, 1, 1])
    assert diagonal.rules == ()
    assert f"(a hyperplane with margin {diagonal.margin:.3g})" in diagonal.describe()
    X = np.random.default_rng(1).integers(-3, 4, (300, 3)).astype(float)
    s = X[:, 0] - 2 * X[:, 2]
    c = separability(X, np.where(s == 0, np.arange(300) % 2, s > 0))
    assert "(a hyperplane in x2, x0)" in c.describe()
    assert "The classes 0 and 1 are quasi-separable" in c.describe()
    three = separability([[0.0], [1.0], [2.0]], list("abc"))
    assert "The classes 'a', 'b' and 'c' are linearly separable" in three.describe()


def test_a_sentence_about_three_classes_speaks_of_scores():
    parts = [
        ([[0.0], [1.0], [2.0]], "abc", "(linear scores, of which the largest wins, with margin "),
        (
            [[0.0], [2.0], [1.0], [9.0]],
            "aabc",
            "of its own class, but some tie, for 3 rows",
        ),
        (
            [[0.0], [1.0], [2.0], [3.0]],
            "abca",
            "linear scores that separate some rows rank another",
        ),
    ]
    for (X, y, words), verdict in zip(parts, ("separable", "quasi-separable", "overlapping"), strict=True):
        c = separability(X, list(y))
        assert c.verdict == verdict
        assert words in c.describe()
        assert "hyperplane" not in c.describe()
    c = separability([[-2.0, 1.0], [2.0, 2.0], [-2.0, -2.0], [0.0, 1.0], [-2.0, 2.0]], [0, 0, 1, 2, 1])
    assert c.witness.rows.tolist() == [0, 0, 1, 2, 3, 4]  # row 0 is held against both rivals, and is one row
    assert "5 rows contradict each other (rows 0, 1, 2, 3, 4)" in c.describe()
