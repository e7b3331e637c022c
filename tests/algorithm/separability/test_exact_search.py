"""Tests of `exact_search`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from separability_cases import XOR, dot, is_relation, lattices, total, uneven, vectors

from linearly.algorithm.separability import exact_search as relations_module
from linearly.algorithm.separability.decide import (
    separability,
)
from linearly.algorithm.separability.exact_search import (
    RelationSpan,
    SeparatorSearch,
    _integral,
    _minimal_relation,
    _orthonormal,
    _overlapping_pairs,
    decide,
    outside,
)
from linearly.algorithm.separability.float_search import (
    FloatHint,
)
from linearly.algorithm.separability.halfspaces import Halfspaces
from linearly.selftest.hyperplanes import rank


@pytest.mark.parametrize("seed", range(24))
def test_decide_returns_a_span_that_proves_the_decision(seed):
    H = lattices(seed)
    A = vectors(H)
    decision = decide(H)
    span = decision.span
    assert decision.v is not None or span.relation
    assert decision.first is None or is_relation(H, decision.first)
    if decision.v is not None:
        values = [dot(a, decision.v) for a in A]
        assert min(values) >= 0
        assert any(values)
        assert (decision.first is None) == (min(values) > 0)
    assert (not span.basis) == (seed in (5, 11, 12))  # seeds of separable classes
    if span.basis:
        assert_is_basis_of_relation(H, decision)


def assert_is_basis_of_relation(H, decision):
    A, span = vectors(H), decision.span
    assert is_relation(H, span.relation)
    size = rank([A[i] for i in span.basis])
    assert size == len(span.basis) == rank([A[i] for i in span.relation])
    assert (decision.v is None) == (size == rank(A))
    B = span.orthogonal
    assert B.shape == (H.n_unknowns, H.n_unknowns - size)
    assert not any(dot(A[i], b) for i in span.basis for b in B.T)
    assert not B.shape[1] or rank([[Fraction(int(t)) for t in b] for b in B.T]) == B.shape[1]
    assert all(math.gcd(*(int(t) for t in b)) == 1 for b in B.T)
    inside = [rank([*(A[j] for j in span.basis), a]) == size for a in A]
    assert [span.holds(i) for i in range(H.n_inequalities)] == inside
    assert outside(span).tolist() == [not t for t in inside]


def test_a_span_of_nothing_holds_nothing():
    H = Halfspaces(*XOR)
    assert not any(RelationSpan(H).holds(i) for i in range(H.n_inequalities))
    assert RelationSpan(H).lift({0: 2, 1: 3}) == {0: 2, 1: 3}


def crossing() -> tuple[Halfspaces, RelationSpan]:
    """Rows 0 and 1 contradict each other; the others do so one by one modulo those and then those before."""
    X = [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 0.25], [0.0, 0.75], [1.0, 1.0], [5.0, 2.0]]
    H = Halfspaces(X, [0, 1, 0, 1, 1, 0, 0, 1])
    return H, RelationSpan(H).grow({0: 1, 1: 1})


def test_a_relation_modulo_a_span_grows_to_one_that_holds():
    H, span = crossing()
    assert is_relation(H, span.relation)
    assert span.basis == [0]
    found = {2: 3, 3: 1}  # −3(1, 0) + (3, 0) = 0 in the columns, −2 in the constant
    lifted = span.lift(found)
    assert not any(total(H, lifted))
    assert lifted[2] == 3 * lifted[3] > 0
    grown = span.grow(found)
    assert is_relation(H, grown.relation)
    assert set(grown.relation) == {0, 1, 2, 3}
    assert grown.basis == [0, 2]
    assert [grown.holds(i) for i in range(H.n_inequalities)] == [True] * 4 + [False] * 4
    assert outside(grown).tolist() == [False] * 4 + [True] * 4
    all_of_it = grown.grow({4: 3, 5: 1})
    assert is_relation(H, all_of_it.relation)
    assert all_of_it.orthogonal.shape == (3, 0)
    assert all(all_of_it.holds(i) for i in range(H.n_inequalities))
    assert not outside(all_of_it).any()


def test_independent_spans_join():
    X = [[0.0], [0.0], [5.0], [5.0], [9.0], [9.0]]
    H = Halfspaces(X, [0, 1, 1, 2, 0, 2])
    low, high = (RelationSpan(H).grow(dict.fromkeys(ids, 1)) for ids in ([0, 2], [5, 7]))
    both = low.join(high).grow({})
    assert is_relation(H, low.relation)
    assert is_relation(H, high.relation)
    assert both.relation == {0: 1, 2: 1, 5: 1, 7: 1}
    assert both.basis == [0, 5]
    assert both.orthogonal.shape == (4, 2)
    assert both.holds(0)
    assert not both.holds(8)


def test_outside_of_a_span_by_less_than_float_rounding_is_decided_in_integers():
    X = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0 + 2.0**-45], [-1.0, -1.0]])
    H = Halfspaces(X, [0, 1, 1, 0], fit_intercept=False)
    span = RelationSpan(H).grow({0: 1, 1: 1})
    assert outside(span).tolist() == [False, False, True, False]


def test_minimal_relation_is_unique_and_positive():
    H = Halfspaces(*XOR)
    assert _minimal_relation(H, [0, 1, 2, 3], RelationSpan(H)) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert _minimal_relation(H, [3, 1, 0, 2], RelationSpan(H)) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert _minimal_relation(H, [0, 1, 2], RelationSpan(H)) is None
    line = Halfspaces([[0.0], [1.0], [2.0], [3.0], [6.0]], [0, 0, 0, 1, 0])
    assert _minimal_relation(line, [0, 1, 2], RelationSpan(line)) is None
    assert _minimal_relation(line, [0, 3, 4], RelationSpan(line)) == {0: 1, 3: 2, 4: 1}
    assert _minimal_relation(line, [0, 2, 3, 4], RelationSpan(line)) is None
    H, span = crossing()
    assert _minimal_relation(H, [2, 3], RelationSpan(H)) is None
    assert _minimal_relation(H, [2, 3], span) == {2: 3, 3: 1}
    assert _minimal_relation(H, [2, 3, 6], span) == {2: 3, 3: 1}
    assert _minimal_relation(H, [2, 4], span) is None
    units = Halfspaces(H.X * [2.0**-30, 2.0**40], H.codes)
    assert _minimal_relation(units, [2, 3], RelationSpan(units).grow({0: 1, 1: 1})) == {2: 3, 3: 1}


@pytest.mark.parametrize("units", [[1.0, 1.0, 1.0], [2.0**-30, 2.0**20, 1.0]])
def test_integral_direction_outside_a_span_vanishes_on_it(units):
    # Rows 0 and 1 are the same; where they vanish, x·(1, 2, −1) is positive for the rest of class 1.
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (40, 3)).astype(float)
    score = X @ [1.0, 2.0, -1.0]
    X, score = X[score != 0], score[score != 0]
    X = np.vstack([np.zeros((2, 3)), X]) * units
    H = Halfspaces(X, np.append([0, 1], score > 0))
    span = RelationSpan(H).grow({0: 1, 1: 1})
    active = outside(span)
    v = _integral(np.array([1.0, 2.0, -1.0, 0.0]) / np.append(units, 1.0), span, H, active)
    assert math.gcd(*v) == 1
    values = [dot(a, v) for a in vectors(H)]
    assert values[:2] == [0, 0]
    assert min(values[2:]) > 0
    nearly = np.array([1.0, 2.0001, -0.9999, 0.0]) / np.append(units, 1.0)
    np.testing.assert_array_equal(_integral(nearly, span, H, active), v)
    plain = _integral(np.array([0.5, -3.0, 0.0, 0.25]), RelationSpan(H), H, active)
    assert plain.tolist() == [2, -12, 0, 1]


@pytest.mark.parametrize("ratio", [5, 300, 10**6])
def test_integral_direction_has_as_many_bits_as_its_signs_require(ratio):
    # x·(ratio, 1) > 0 for the last two rows: a slope that is too flat or too steep gets one of them wrong.
    H = Halfspaces([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0 - ratio], [0.0, 1.0], [1.0, 0.0]], [0, 1, 1, 1, 1])
    span = RelationSpan(H).grow({0: 1, 1: 1})
    active = outside(span)
    v = _integral(np.array([1.0, 1 / ratio, 0.0]), span, H, active)
    assert active.tolist() == [False, False, True, True, True]
    assert answered(H, active, v)


def test_a_basis_becomes_orthonormal_in_the_units_of_the_columns():
    H = uneven(3)
    top = np.tile(H.top, 2)
    rng = np.random.default_rng(0)
    B = rng.integers(-5, 6, (8, 3)).astype(object)
    B[:, 1] *= 1 << 90
    Q = _orthonormal(B, H)
    scaled = Q * top[:, None]
    np.testing.assert_allclose(scaled.T @ scaled, np.eye(3), atol=1e-12)
    target = B.astype(float) * top[:, None]
    target /= np.linalg.norm(target, axis=0)
    np.testing.assert_allclose(scaled @ (scaled.T @ target), target, atol=1e-12)


def test_a_column_of_zeros_has_a_basis_too():
    H = Halfspaces([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]], [0, 1, 0])
    Q = _orthonormal(np.array([[1, 0], [1, 2], [0, 1]], dtype=object), H)
    assert np.isfinite(Q).all()
    scaled = Q * [[1.0], [3.0], [1.0]]
    np.testing.assert_allclose(scaled.T @ scaled, np.eye(2), atol=1e-12)


def answered(H: Halfspaces, active: np.ndarray, found) -> bool:
    if isinstance(found, dict):
        return is_relation(H, found) and active[list(found)].all()
    return all(dot(a, found) > 0 for a, asked in zip(vectors(H), active, strict=True) if asked)


@pytest.mark.parametrize("seed", range(12))
def test_the_search_in_integers_needs_no_hint(seed):
    H = lattices(seed)
    for active in (H.of_rows(H.nonzero_rows()), H.of_rows(np.arange(12) % 3 > 0) & H.of_rows(H.nonzero_rows())):
        found = SeparatorSearch(H)._exactly(active, RelationSpan(H), FloatHint(None, [], np.empty(0)))
        assert answered(H, active, found)
        assert isinstance(found, dict) == isinstance(SeparatorSearch(H).find_separator_or_relation(active), dict)


@pytest.mark.parametrize("seed", [1, 13, 17, 20, 21, 23, 25, 30, 31, 35, 37, 41])  # with rows outside the span
def test_integer_search_outside_a_complete_span_finds_a_separator_that_vanishes_on_the_span(seed):
    H = lattices(seed)
    span = decide(H).span
    active = outside(span)
    assert span.basis
    assert active.any()
    found = SeparatorSearch(H)._exactly(active, span, FloatHint(None, [], np.empty(0)))
    values = [dot(a, found) for a in vectors(H)]
    assert all(t > 0 if asked else t == 0 for t, asked in zip(values, active, strict=True))


def test_integer_search_outside_an_incomplete_span_finds_a_relation_modulo_the_span():
    H, span = crossing()
    active = outside(span)
    found = SeparatorSearch(H)._exactly(active, span, FloatHint(None, [], np.empty(0)))
    assert isinstance(found, dict)
    assert active[list(found)].all()
    assert not any(total(H, span.lift(found)))


@pytest.mark.parametrize("lie", ["all", "some", "none", "ties", "ids", "silence"])
def test_exact_search_uses_a_float_hint_only_if_integers_confirm_it(lie, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (30, 2)).astype(float)
    X = X[X @ [1, 2] != 0]
    H = Halfspaces(X, X @ [1, 2] > 0)
    v = np.array([1.0, 2.0, 0.0])
    hints = {
        "all": FloatHint(-v, [], np.empty(0)),
        "some": FloatHint(np.array([1.0, 0.0, 0.0]), [], np.empty(0)),
        "none": FloatHint(v, [], np.empty(0)),
        "ties": FloatHint(np.zeros(3), [], np.empty(0)),
        "ids": FloatHint(None, [0, 1, 2], np.array([0.5, 0.25, 0.25])),
        "silence": FloatHint(None, [], np.empty(0)),
    }
    monkeypatch.setattr(relations_module, "search_min_norm_point", lambda *_: hints[lie])
    everything = np.ones(H.n_inequalities, dtype=bool)
    found = SeparatorSearch(H).find_separator_or_relation(everything)
    assert not isinstance(found, dict)
    assert answered(H, everything, found)
    if lie == "none":
        assert found.tolist() == [1, 2, 0]


def test_float_hint_concerns_active_rows_only(monkeypatch):
    H = Halfspaces([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    monkeypatch.setattr(
        relations_module, "search_min_norm_point", lambda *_: FloatHint(np.array([2.0, -1.0]), [], np.empty(0))
    )
    assert SeparatorSearch(H).find_separator_or_relation(np.array([True, True, False, True])).tolist() == [2, -1]


def test_pairs_of_classes_that_overlap_are_found_without_closing_a_ring():
    rng = np.random.default_rng(0)
    square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    # Classes 0 and 1 cross, 2 and 3 cross far away, 4 is alone.
    X = np.vstack([square, square + 50, rng.uniform(-90, -80, (4, 2))])
    y = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4]
    H = Halfspaces(X, y)
    found = list(_overlapping_pairs(H, SeparatorSearch(H).first_guess))
    pairs = {tuple(sorted(set(H.codes[H.pair(np.array(list(d.first)))[0]].tolist()))) for d in found}
    assert pairs == {(0, 1), (2, 3)}
    for d in found:
        assert d.v is None
        assert is_relation(H, d.first)
        assert is_relation(H, d.span.relation)
        assert rank([vectors(H)[i] for i in d.span.basis]) == len(d.span.basis) == 3
    three = Halfspaces(np.vstack([square] * 3), np.repeat([0, 1, 2], 4))
    ring = list(_overlapping_pairs(three, np.zeros(three.n_unknowns)))
    assert len(ring) == 2
    assert all(is_relation(three, d.first) for d in ring)
    assert list(_overlapping_pairs(Halfspaces(*XOR), np.zeros(3))) == []


def test_a_pair_of_classes_that_only_touch_is_left_to_all_classes_together():
    H = Halfspaces([[0.0], [1.0], [1.0], [2.0], [9.0], [9.5]], [0, 0, 1, 1, 2, 2])
    assert list(_overlapping_pairs(H, np.zeros(H.n_unknowns))) == []
    assert separability(H.X, H.codes).verdict == "quasi-separable"
