"""Tests of `error_floor`."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from separability_cases import LAYOUTS, is_relation, lattices, relation_of, uneven, vectors

from linearly.algorithm.separability import decide as separability_module
from linearly.algorithm.separability.certificate import (
    nearest_float,
)
from linearly.algorithm.separability.error_floor import (
    ErrorFloor,
    _reduced,
    _wins_ties,
    duplicate_rows_with_different_labels,
    error_floor,
)
from linearly.algorithm.separability.exact_search import (
    decide,
)
from linearly.algorithm.separability.halfspaces import Halfspaces
from linearly.algorithm.separability.integer_algebra import product as exact_product
from linearly.selftest.hyperplanes import rank


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(6))
def test_contradictions_are_as_many_disjoint_pairs_of_twins_as_there_can_be(seed, layout):
    rng = np.random.default_rng(seed)
    K = 2 + seed % 3
    X = rng.standard_normal((9, 2))[rng.integers(0, 9, 40)]
    X[X[:, 0] < 0, 0] = 0.0
    X[X == 0] *= rng.choice([-1.0, 1.0], (X == 0).sum())
    y = rng.integers(0, K, 40)
    y[:K] = range(K)
    H = Halfspaces(layout(X), y)
    found = [H.pair(ids) for ids in duplicate_rows_with_different_labels(H)]
    rows = [i for pair, _ in found for i in pair.tolist()]
    assert len(set(rows)) == len(rows)
    for (i, j), (a, b) in found:
        assert (X[i] == X[j]).all()
        assert y[i] != y[j]
        assert (a, b) == (y[j], y[i])
    best = 0
    for point in {tuple(x) for x in X.tolist()}:
        counts = np.bincount(y[(point == X).all(axis=1)], minlength=K)
        best += min(counts.sum() // 2, counts.sum() - counts.max())
    assert len(found) == best


def test_different_rows_of_the_same_sparsity_do_not_contradict_each_other():
    X = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]))
    assert [ids.tolist() for ids in duplicate_rows_with_different_labels(Halfspaces(X, [0, 1, 1, 0]))] == [[0, 2]]
    stored = X.copy()
    stored.data[0] = 0.0
    zero = sp.csr_array(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]))
    both = sp.vstack([stored, zero], format="csr")
    H = Halfspaces(both, [0, 1, 1, 0, 1, 1, 1, 0])
    assert [ids.tolist() for ids in duplicate_rows_with_different_labels(H)] == [[0, 4]]


@pytest.mark.parametrize("K", [2, 3])
def test_ties_go_to_the_second_of_two_classes_and_to_the_first_of_more(K):
    H = uneven(K, fit_intercept=False)
    ids = np.arange(H.n_inequalities)
    rows, rivals = H.pair(ids)
    winners = [1 if K == 2 else min(own, rival) for own, rival in zip(H.codes[rows], rivals, strict=True)]
    assert _wins_ties(H, ids).tolist() == (rivals == winners).tolist()


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 13, 14])  # the others are separable
def test_a_relation_is_reduced_to_a_minimal_one_that_keeps_a_row(seed):
    H = lattices(seed)
    span = decide(H).span
    assert span.relation
    for keep in span.relation:
        found = _reduced(H, dict(span.relation), keep)
        assert keep in found
        assert is_relation(H, found)
        assert set(found) <= set(span.relation)
        assert rank([vectors(H)[i] for i in found]) == len(found) - 1


def test_relations_of_many_rows_are_reduced_step_by_step():
    H = Halfspaces([[float(t)] for t in (-3, -2, -1, 0, 1, 2, 3)], [1, 1, 1, 0, 1, 1, 1])
    everything = {0: 1, 1: 1, 2: 1, 3: 6, 4: 1, 5: 1, 6: 1}
    assert is_relation(H, everything)
    for keep in range(7):
        found = _reduced(H, everything, keep)
        assert keep in found
        assert is_relation(H, found)
        assert len(found) <= 3


def flawless(X, y, fit_intercept) -> bool:
    return error_floor(X, y, fit_intercept=fit_intercept).value == 0


def test_an_error_floor_counts_its_witnesses_and_no_row_twice():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [5.0]])
    y = [0, 1, 0, 1, 1, 0, 1]
    floor = error_floor(X, y)
    assert (floor.value, int(floor), list(range(9))[floor]) == (3, 3, 3)
    assert floor.n_rows == 7
    assert floor.check() is True
    assert floor.check(X, y) is True
    assert floor.check(X + np.eye(7)[:, [1]], y) is False
    for limit in (0, 1, 2, 3, 4):
        assert error_floor(X, y, limit=limit).value == min(limit, 3)
    with pytest.raises(ValueError, match="both"):
        floor.check(X)
    with pytest.raises(ValueError, match="both"):
        floor.check(y=y)
    one, two, three = floor.witnesses
    assert replace(floor, witnesses=(one, one)).check() is False
    assert replace(floor, witnesses=(one, relation_of([2, 5], [1, 1], [1, 1]))).check() is False
    assert replace(floor, witnesses=(relation_of([2, 5], [1, 1], [1, 1]),)).check() is False
    assert replace(floor, witnesses=(two, three)).check() is True
    assert replace(floor, witnesses=()).check() is True


def test_a_witness_whose_rows_all_win_ties_is_no_error():
    X, y = [[1.0], [-1.0], [2.0]], [1, 1, 0]
    floor = error_floor(X, y, fit_intercept=False)
    tied = relation_of([0, 1], [0, 0], [1, 1])
    assert tied.holds(Halfspaces(X, y, fit_intercept=False))
    assert replace(floor, witnesses=(tied,)).check() is False
    assert replace(floor, witnesses=(relation_of([1, 2], [0, 1], [2, 1]),)).check() is False
    assert replace(floor, witnesses=(relation_of([0, 2], [0, 1], [2, 1]),)).check() is True


def test_rows_of_zeros_without_an_intercept_err_unless_ties_go_their_way():
    X = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    for K, y, errors in [(2, [0, 1, 0, 1, 0, 1], [0, 2]), (3, [0, 1, 2, 0, 1, 2], [1, 2])]:
        floor = error_floor(X, y, fit_intercept=False)
        zeros = [w.rows.tolist() for w in floor.witnesses if len(w) == 1]
        assert zeros == [[i] for i in errors], K
        assert floor.check()


@pytest.mark.parametrize("seed", range(8))
def test_no_smaller_set_than_a_witness_contradicts_itself(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (14, 2)).astype(float)
    y = rng.integers(0, 2, 14)
    y[:2] = [0, 1]
    fit_intercept = seed % 2 == 0
    floor = error_floor(X, y, fit_intercept=fit_intercept)
    assert floor.check()
    for witness in floor.witnesses:
        for part in combinations(witness.rows.tolist(), len(witness) - 1):
            labels = y[list(part)]
            assert len(set(labels.tolist())) < 2 or flawless(X[list(part)], labels, fit_intercept)
    left = np.setdiff1d(np.arange(14), np.concatenate([w.rows for w in floor.witnesses] or [[]]).astype(int))
    if len(set(y[left].tolist())) == 2:
        assert flawless(X[left], y[left], fit_intercept)


@pytest.mark.parametrize("K", [2, 3])
def test_every_label_exchanged_between_clouds_far_apart_is_an_error(K):
    rng = np.random.default_rng(K)
    y = np.arange(90) % K
    exchanged = np.arange(0, 90, 11)
    X = rng.uniform(-1, 1, (90, 2))
    X[exchanged] /= 100  # in the midst of its cloud
    X += 40 * np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])[y]
    wrong = y.copy()
    wrong[exchanged] = (y[exchanged] + 1) % K
    assert error_floor(X, y).value == 0
    floor = error_floor(X, wrong)
    assert floor.value == len(exchanged)
    assert all(len(np.intersect1d(witness.rows, exchanged)) == 1 for witness in floor.witnesses)


def test_an_error_floor_is_what_its_fields_say():
    floor = ErrorFloor((), 3, np.eye(3), np.array([0, 1, 1]), np.array([0, 1]), True)
    assert int(floor) == 0
    assert floor.check() is True


def test_fractions_beyond_floats_are_infinite():
    assert nearest_float(Fraction(10) ** 400) == math.inf
    assert nearest_float(-(Fraction(10) ** 400)) == -math.inf
    huge = np.array([[1.7e308, 1.7e308], [-1.7e308, -1.7e308]])
    assert separability_module.separability(huge, [0, 1]).verdict == "separable"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_every_twin_among_round_numbers_is_found(form):
    grid = np.array(list(product(range(-3, 4), repeat=2)), dtype=float)
    X, y = np.vstack([grid, grid]), np.repeat([0, 1], len(grid))
    assert len(list(duplicate_rows_with_different_labels(Halfspaces(form(X), y)))) == len(grid)


@pytest.mark.parametrize("sign", [1, -1])
def test_products_beyond_64_bits_are_those_of_integers_of_any_size(sign):
    A, B = np.array([[2**61, 2**61]]), np.array([[3 * sign], [3 * sign]])
    assert exact_product(A, B).tolist() == [[6 * sign * 2**61]]
    assert exact_product(A // 4, B).dtype == np.int64
