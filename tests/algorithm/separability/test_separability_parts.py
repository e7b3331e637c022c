"""The parts of separability by themselves: each against its definition in exact fractions, a law, or a known answer."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls

from linearly.algorithm.separability import decide as separability_module
from linearly.algorithm.separability import exact_search as relations_module
from linearly.algorithm.separability import halfspaces as halfspaces_module
from linearly.algorithm.separability.certificate import (
    Certificate,
    Relation,
    _largest_row,
    _least,
    margin_ratio,
    margins,
    nearest_float,
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
    mistake_bound,
    separability,
)
from linearly.algorithm.separability.error_floor import (
    ErrorFloor,
    _reduced,
    _wins_ties,
    duplicate_rows_with_different_labels,
    error_floor,
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
    least_squares_guess,
    logistic_guess,
    per_class,
    search_min_norm_point,
    values,
    whitening_matrix,
)
from linearly.algorithm.separability.halfspaces import Halfspaces, floats
from linearly.algorithm.separability.integer_algebra import product as exact_product
from linearly.algorithm.separability.min_norm_point import Corral, ExactCorral
from linearly.selftest.hyperplanes import rank

XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
LAYOUTS = [np.asarray, sp.csr_array]


def uneven(K: int = 2, fit_intercept: bool = True, layout=np.asarray, seed: int = 0) -> Halfspaces:
    """Small numbers in one column, tiny ones in the second, huge ones close together in the third, zeros in a row."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (13, 3)) / 8
    X[4] = 0.0
    if fit_intercept and layout is np.asarray:
        X[:, 2] += 2.0**33
    X[:, 1] *= 2.0**-700
    return Halfspaces(layout(X), np.arange(13) * 7 % K, fit_intercept=fit_intercept)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def vectors(H: Halfspaces) -> list[list[Fraction]]:
    """Every vector a by the definition, in fractions: z in the block of its own class, −z in the rival's."""
    found = []
    for x, own in zip(dense(H.X).tolist(), H.codes.tolist(), strict=True):
        z = [
            (Fraction(t) - Fraction(float(c))) / Fraction(2) ** int(e)
            for t, c, e in zip(x, H.shift, H.exponent, strict=True)
        ]
        z += [Fraction(1)] * H.fit_intercept
        for rival in range(H.K):
            if rival != own:
                blocks = {own: z, rival: [-t for t in z]}
                found.append([t for k in range(1, H.K) for t in blocks.get(k, [Fraction(0)] * H.m)])
    return found


def dot(a, b) -> Fraction:
    return sum((Fraction(s) * Fraction(t) for s, t in zip(a, b, strict=True)), Fraction(0))


def total(H: Halfspaces, relation: dict[int, int]) -> list[Fraction]:
    """Σ λ a."""
    A = vectors(H)
    return [sum(t * A[i][j] for i, t in relation.items()) for j in range(H.M)]


def is_relation(H: Halfspaces, relation: dict[int, int]) -> bool:
    return bool(relation) and min(relation.values()) > 0 and not any(total(H, relation))


def whole(values) -> np.ndarray:
    return np.array([int(t) for t in values], dtype=object)


def some_integers(H: Halfspaces, seed: int, bits: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return whole(int(t) << bits - 5 for t in rng.integers(-30, 31, H.M))


# --- inequalities -------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3, 4])
def test_every_row_is_held_against_every_class_but_its_own(K):
    H = uneven(K)
    rows, rivals = H.pair(np.arange(H.N))
    assert (H.n, H.p, H.m, H.M, H.N) == (13, 3, 4, 4 * (K - 1), 13 * (K - 1))
    assert list(zip(rows, rivals, strict=True)) == [(i, k) for i in range(13) for k in range(K) if k != H.codes[i]]
    assert H.index(rows, rivals).tolist() == list(range(H.N))
    mask = np.arange(13) % 3 == 0
    assert H.of_rows(mask).tolist() == mask[rows].tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3, 4])
class TestInequalities:
    def test_are_exact_in_integers_and_in_floats(self, K, fit_intercept, layout):
        H = uneven(K, fit_intercept, layout)
        A, ids = vectors(H), np.arange(H.N)
        N, e = H.lattice(ids)
        for i in ids:
            assert [Fraction(int(t)) * Fraction(2) ** int(s) for t, s in zip(N[i], e, strict=True)] == A[i]
        some = ids[::-2]
        assert [[Fraction(t) for t in row] for row in H.rows(some).tolist()] == [A[i] for i in some]
        Z = H.dense(slice(None))
        assert Z.shape == (13, H.m)
        np.testing.assert_array_equal(H.top, np.abs(Z).max(axis=0))
        assert H.top.max() < 4

    def test_have_the_scores_of_their_vectors(self, K, fit_intercept, layout):
        H = uneven(K, fit_intercept, layout)
        A = np.array(vectors(H), dtype=float)
        V = np.random.default_rng(1).standard_normal((H.M, 5))
        np.testing.assert_allclose(H.scores(V), A @ V, atol=1e-12)
        np.testing.assert_allclose(H.scores(V[:, 0]), A @ V[:, 0], atol=1e-12)
        np.testing.assert_allclose(values(H, V[: H.m]), H.dense(slice(None)) @ V[: H.m], atol=1e-12)

    @pytest.mark.parametrize("bits", [5, 63, 90])
    def test_have_signs_without_rounding(self, K, fit_intercept, layout, bits):
        H = uneven(K, fit_intercept, layout)
        A = vectors(H)
        for seed in range(6):
            v = some_integers(H, seed, bits)
            v[:: 2 + seed % 3] = seed % 2
            expected = [int(np.sign(dot(a, v))) for a in A]
            np.testing.assert_array_equal(H.signs(v), expected)
            among = np.arange(H.N) % 3 < 2
            np.testing.assert_array_equal(H.signs(v, among), np.where(among, expected, 0))

    def test_are_the_same_in_the_units_of_the_data(self, K, fit_intercept, layout):
        H = uneven(K, fit_intercept, layout)
        v = some_integers(H, 3)
        W = H.to_data(v)
        assert len(W) == (1 if K == 2 else K)
        assert K == 2 or not any(sum(column) for column in zip(*W, strict=True))
        scores = [
            [dot(w, [Fraction(t) for t in x] + [Fraction(1)] * fit_intercept) for w in W] for x in dense(H.X).tolist()
        ]
        if K == 2:
            scores = [[Fraction(0), s] for (s,) in scores]
        rows, rivals = H.pair(np.arange(H.N))
        own = [scores[i][H.codes[i]] - scores[i][k] for i, k in zip(rows, rivals, strict=True)]
        assert own == [dot(a, v) for a in vectors(H)]
        back = H.from_data(W)
        ratio = {Fraction(int(s), int(t)) for s, t in zip(back, v, strict=True) if t}
        assert len(ratio) == 1
        assert min(ratio) > 0
        assert not any(s for s, t in zip(back, v, strict=True) if not t)

    def test_lie_on_the_finest_grid(self, K, fit_intercept, layout, monkeypatch):
        monkeypatch.setattr(halfspaces_module, "_CHUNK", 5)
        H = uneven(K, fit_intercept, layout)
        grid = Fraction(2) ** H.finest()
        ratios = [t / grid for a in vectors(H) for t in a]
        assert all(t.denominator == 1 for t in ratios)
        assert any(t.numerator % 2 for t in ratios)


def close_calls(K: int) -> tuple[Halfspaces, np.ndarray]:
    """Rows that lie on a hyperplane, and rows that miss it by less than floats can tell."""
    rng = np.random.default_rng(K)
    X = rng.standard_normal((23, 2))
    X[:, 1] = X[:, 0] + np.arange(-11, 12) % 3 * 2.0**-52
    X = np.column_stack([X, rng.standard_normal(23)])
    H = Halfspaces(X, np.arange(23) % K)
    v = np.zeros((K - 1, 4), dtype=object)
    v[0] = [3 << 60, -3 << 60, 0, 0]
    v[-1] += whole([7, -7, 0, 0])
    return H, v.ravel()


@pytest.mark.parametrize("chunk", [4, 5, 4096])
@pytest.mark.parametrize("K", [2, 3, 4])
def test_signs_that_floats_cannot_tell_are_computed(K, chunk, monkeypatch):
    monkeypatch.setattr(halfspaces_module, "_CHUNK", chunk)
    H, v = close_calls(K)
    expected = [int(np.sign(dot(a, v))) for a in vectors(H)]
    assert set(expected) == {-1, 0, 1}
    np.testing.assert_array_equal(H.signs(v), expected)
    among = np.arange(H.N) % 4 > 0
    np.testing.assert_array_equal(H.signs(v, among), np.where(among, expected, 0))


@pytest.mark.parametrize("K", [2, 3, 4])
def test_signs_that_floats_tell_need_no_integers(K, monkeypatch):
    X = np.random.default_rng(0).integers(-9, 10, (40, 2)) + 0.5
    H = Halfspaces(X, np.arange(40) % K)
    v = whole(np.random.default_rng(1).integers(-999, 1000, H.M))
    expected = [int(np.sign(dot(a, v))) for a in vectors(H)]
    assert 0 not in expected
    monkeypatch.setattr(Halfspaces, "_integers", lambda *_: pytest.fail("integers were asked"))
    np.testing.assert_array_equal(H.signs(v), expected)


@pytest.mark.parametrize("p", [1, 3, 8])
@pytest.mark.parametrize("K", [2, 3])
def test_scores_are_wrong_by_less_than_the_bound_on_their_rounding(K, p):
    rng = np.random.default_rng(p)
    X = rng.standard_normal((60, p))
    X[:, -1] = -X[:, :-1].sum(axis=1) if p > 1 else X[:, 0]
    H = Halfspaces(X, np.arange(60) % K)
    v = np.tile(1.0 + rng.integers(0, 9, H.m) * 2.0**-50, K - 1) * np.repeat(np.arange(1, K), H.m)
    exact = [dot(a, v.tolist()) for a in vectors(H)]
    error = np.array([float(abs(Fraction(t) - s)) for t, s in zip(H.scores(v).tolist(), exact, strict=True)])
    V = np.abs(v).reshape(K - 1, H.m)
    everywhere = H._rounding(V, H.top[None, :], slice(None))
    each = H._rounding(V, np.abs(H.dense(slice(None))), slice(None))
    assert error.max() > 0
    assert (error <= each.ravel()).all()
    assert (each <= everywhere * (1 + 1e-12)).all()
    assert everywhere.max() < 1e-12


def test_some_columns_of_rows_are_integers_too():
    H = uneven()
    N, e = H._integers(np.array([1, 5]), np.array([0, 2]))
    A = [[t if H.codes[i] else -t for t in vectors(H)[i]] for i in (1, 5)]
    assert [[Fraction(int(t)) * Fraction(2) ** int(s) for t, s in zip(row, e, strict=True)] for row in N] == [
        [a[0], a[2]] for a in A
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_without_an_intercept_a_row_of_zeros_is_nowhere(layout):
    X = layout([[0.0, 0.0], [0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    assert Halfspaces(X, [0, 1, 0, 1], fit_intercept=False).nonzero_rows().tolist() == [False, True, True, True]
    assert Halfspaces(X, [0, 1, 0, 1]).nonzero_rows().tolist() == [True] * 4


def test_columns_are_moved_and_scaled_only_where_that_is_exact():
    t = np.arange(1.0, 9.0)
    X = np.column_stack([t, 1e6 + t, -1e6 - t, t * 2.0**-300, t * 2.0**300, np.full(8, 1e9), t - 4])
    H = Halfspaces(X, np.arange(8) % 2)
    assert H.shift.tolist() == [0, 1e6 + 1, -1e6 - 8, 0, 0, 0, 0]
    assert (H.exponent != 0).tolist() == [False, False, False, True, True, False, False]
    np.testing.assert_array_equal(H.Z, np.ldexp(X - H.shift, -H.exponent))
    assert ((H.top[3:5] >= 0.5) & (H.top[3:5] <= 1)).all()
    bare = Halfspaces(X, np.arange(8) % 2, fit_intercept=False)
    assert not bare.shift.any()
    np.testing.assert_array_equal(bare.exponent, H.exponent)
    plain = X[:, [0, 6]]
    np.testing.assert_array_equal(Halfspaces(plain, np.arange(8) % 2).Z, plain)


@pytest.mark.parametrize(
    ("v", "weight"),
    [
        ([3, -5, 0, 1], None),
        ([3 << 1500, -5 << 1490, 0, 1 << 1480], None),
        ([3, -5, 0, 1], [2.0**-50, 2.0**-60, 1.0, 2.0**-49]),
        ([3, -5, 0, 1], [2.0**50, 1.0, 1.0, 2.0**60]),
        ([1 << 90, 1], [2.0**-91, 0.75]),
        ([7], [2.0**-3]),
        ([1], [0.25]),
        ([0, 0], None),
    ],
)
def test_integers_are_floats_times_a_power_of_two(v, weight):
    f, s = floats(whole(v), None if weight is None else np.array(weight))
    assert [Fraction(t) * Fraction(2) ** s for t in f.tolist()] == v
    largest = max(np.abs(f) * (1.0 if weight is None else np.array(weight)))
    assert 0.25 <= largest <= 1 if any(v) else s == 0


# --- what is let in -----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_integers_are_let_in_as_far_as_floats_are_exact(kind, layout):
    X = np.array([[1, 2], [3, 4], [5, 2**53]], dtype=kind)
    y = [0, 1, 1]
    assert dense(Halfspaces(layout(X), y).X).tolist() == X.tolist()
    X[2, 1] += np.array(1, dtype=kind)
    with pytest.raises(ValueError, match=r"beyond 2⁵³.*row 2, column 'x1'"):
        Halfspaces(layout(X), y)
    X = np.array([[1, 2, 3], [0, 2**60, 4], [5, 2**61, 6]], dtype=kind)
    with pytest.raises(ValueError, match="row 1, column 'x1'"):
        Halfspaces(layout(X), y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_negative_integers_are_let_in_as_far(layout):
    X = np.array([[1, 2], [3, -(2**53)]])
    assert dense(Halfspaces(layout(X), [0, 1]).X).tolist() == X.tolist()
    with pytest.raises(ValueError, match="row 1, column 'x1'"):
        Halfspaces(layout(X - [[0, 0], [0, 1]]), [0, 1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_first_gap_is_named(layout):
    X = np.ones((4, 3))
    X[2, 1], X[3, 1], X[1, 2] = np.inf, np.nan, np.nan
    with pytest.raises(ValueError, match="infinity: row 2, column 'x1'"):
        Halfspaces(layout(X[:3]), [0, 1, 1])
    X[2, 1] = -np.inf
    with pytest.raises(ValueError, match="infinity: row 2, column 'x1'"):
        Halfspaces(layout(X[:3, :2]), [0, 1, 1])
    X[2, 1] = 0.0
    with pytest.raises(ValueError, match="NaN: row 3, column 'x1'"):
        Halfspaces(layout(X), [0, 1, 1, 0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_extent_of_columns_is_that_of_all_rows(layout):
    X = np.array([[0.0, -3.0, 5.0], [2.0, 0.0, 4.0], [1.0, -7.0, 6.0]])
    H = Halfspaces(layout(X), [0, 1, 1])
    assert (H.low.tolist(), H.high.tolist()) == ([0.0, -7.0, 4.0], [2.0, 0.0, 6.0])


def test_repeated_entries_of_a_sparse_row_are_one_number_and_the_callers_matrix_stays():
    X = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert Halfspaces(X, [0, 1]).X.toarray().tolist() == [[3.0, 0.0], [0.0, 4.0]]
    assert X.nnz == 3


def test_arrays_in_any_order_of_memory_are_read_right_and_not_copied_without_need():
    X = np.random.default_rng(0).standard_normal((6, 4))
    for same in (X, np.asfortranarray(X)):
        assert np.shares_memory(Halfspaces(same, np.arange(6) % 2).X, same)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    H = Halfspaces(strided, np.arange(6) % 2)
    np.testing.assert_array_equal(H.X, X)
    assert H.X.flags.c_contiguous
    assert Halfspaces(X.astype(np.float32), np.arange(6) % 2).X.dtype == np.float64


def test_labels_may_be_a_column_and_of_any_one_type():
    X = np.arange(3.0).reshape(-1, 1)
    for y in ([2, 9, 2], [[2], [9], [2]], ("a", "b", "a"), [0.5, 1.5, 0.5], np.array(["b", "c", "b"], dtype=object)):
        assert Halfspaces(X, y).codes.tolist() == [0, 1, 0]
    dates = np.array(["2024-01-01", "2025-01-01", "2024-01-01"], dtype="M8[D]")
    assert Halfspaces(X, dates).codes.tolist() == [0, 1, 0]
    known = np.array([1, 2, 5, 9])
    assert Halfspaces(X, [2, 9, 2], classes=known).codes.tolist() == [1, 3, 1]
    assert Halfspaces(X, [5, 5, 5], classes=known).K == 4
    with pytest.raises(ValueError, match=r"none of the classes: \[3\]"):
        Halfspaces(X, [2, 3, 2], classes=known)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, np.nan, np.nan], "no label in row 1"),
        (np.array(["a", None, "b"], dtype=object), "no label in row 1"),
        (np.array([1, 2, float("nan")], dtype=object), "no label in row 2"),
        (np.array([0, 1, "NaT"], dtype="m8[s]"), "no label in row 2"),
        (np.zeros((3, 1, 1)), "one label a row"),
        (np.zeros((1, 3)), "one label a row"),
        ([0, 1], "3 rows and y has 2"),
        ([4, 4, 4], "one class only, .*4"),
        (["a", "b", 1], "mixes labels that are text"),
        ((1, "b", "a"), "mixes labels that are text"),
        (np.array([1, "b", 2.0], dtype=object), r"different types \(float, int, str\)"),
    ],
)
def test_labels_that_are_none_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        Halfspaces(np.arange(3.0).reshape(-1, 1), y)


def test_names_given_come_before_those_of_the_frame():
    frame = pd.DataFrame({"a": [0.0, 1.0], 7: [1.0, 3.0]})
    assert Halfspaces(frame, [0, 1]).names == ("a", "7")
    assert Halfspaces(frame, [0, 1], names=["u", "v"]).names == ("u", "v")
    assert Halfspaces(frame.to_numpy(), [0, 1]).names == ("x0", "x1")
    with pytest.raises(ValueError, match="3 entries"):
        Halfspaces(frame, [0, 1], names=["u", "v", "w"])


# --- the nearest point --------------------------------------------------------------------------------


def nearest_point(A: np.ndarray) -> np.ndarray:
    """The point of the hull of rows nearest to the origin, by nonnegative least squares."""
    weights, _ = nnls(np.vstack([A.T, np.ones(len(A))]), np.append(np.zeros(A.shape[1]), 1.0))
    return weights / weights.sum() @ A


def is_carried(corral: Corral) -> bool:
    members, weights = corral.members, corral.weights
    return (
        len(set(members)) == len(members) == len(weights)
        and (weights > 0).all()
        and weights.sum() == pytest.approx(1, rel=1e-12)
        and np.allclose(weights @ corral.rows[members], corral.x, rtol=0, atol=1e-12 * np.abs(corral.rows).max())
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(("n", "d"), [(4, 1), (12, 2), (40, 3), (60, 8), (300, 20)])
def test_the_corral_ends_at_the_nearest_point(n, d, scale):
    rng = np.random.default_rng(d)
    A = (rng.standard_normal((n, d)) + 2 * np.eye(d)[0] * math.sqrt(d) + 1) * scale
    expected = nearest_point(A / scale) * scale
    corral = Corral(d)
    corral.add(A[: n // 2])
    assert corral.run(1e-10) is True
    corral.add(A[n // 2 :])
    assert corral.run(1e-10) is True
    assert not corral.contains_origin
    np.testing.assert_allclose(corral.x / scale, expected / scale, atol=1e-7)
    assert is_carried(corral)
    assert (A @ corral.x >= (1 - 1e-9) * corral.x @ corral.x).all()


@pytest.mark.parametrize("seed", range(12))
def test_every_step_of_the_corral_comes_nearer(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    A = rng.standard_normal((30, d)) + rng.uniform(0.5, 2.0)
    corral = Corral(d)
    corral.add(A)
    last = math.inf
    for _ in range(200):
        settled = corral.run(1e-10, steps=1)
        distance = np.linalg.norm(corral.x)
        assert distance <= last * (1 + 1e-12)
        last = distance
        if settled:
            break
        assert settled is False
    assert corral.contains_origin or last == pytest.approx(np.linalg.norm(nearest_point(A)), rel=1e-8)
    assert is_carried(corral)


@pytest.mark.parametrize("seed", range(5))
def test_the_corral_without_a_gap_ends_at_any_direction_that_no_row_opposes(seed):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(6)
    A = rng.standard_normal((200, 6))
    A *= np.sign(A @ w)[:, None]
    corral = Corral(6)
    corral.add(A)
    assert corral.run() is True
    assert not corral.contains_origin
    assert (A @ corral.x > 0).all()
    assert is_carried(corral)
    assert np.linalg.norm(corral.x) >= np.linalg.norm(nearest_point(A)) * (1 - 1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(
    "A",
    [
        [[1.0, 0.1], [-1.0, 0.3], [0.1, -2.0], [4.0, 4.0]],
        [[0.3, 0.1, 0.7], [-0.21, -0.07, -0.49], [5.0, 1.0, 2.0]],
        [[0.0, 0.0], [1.0, 2.0]],
        [[-3.0], [0.7]],
    ],
)
def test_the_corral_touches_the_origin_in_the_hull(A, scale):
    corral = Corral(len(A[0]))
    corral.add(np.array(A) * scale)
    assert corral.run() is True
    assert corral.contains_origin
    assert is_carried(corral)
    assert np.abs(corral.weights @ corral.rows[corral.members]).max() <= 1e-12 * scale


def test_the_corral_begins_at_the_shortest_row():
    corral = Corral(2)
    corral.add(np.array([[3.0, 4.0], [1.0, 1.0], [5.0, 0.0]]))
    assert corral.run() is True
    assert corral.members == [1]
    assert corral.x.tolist() == [1.0, 1.0]


def exact_nearest(corral: ExactCorral) -> list[Fraction]:
    return [dot(corral.weights, column) for column in zip(*corral.points, strict=True)]


def is_nearest(corral: ExactCorral, points) -> bool:
    x = exact_nearest(corral)
    square = dot(x, x)
    assert sum(corral.weights) == 1
    assert min(corral.weights) > 0
    assert len(corral.ids) == len(corral.points) == len(corral.weights)
    shown = corral.x.tolist()
    assert dot(shown, x) > 0 or not any(x)
    assert all(s * b == t * a for s, a in zip(shown, x, strict=True) for t, b in zip(shown, x, strict=True))
    return all(dot(a, x) >= square for a in points)


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_corral_ends_at_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    points = (rng.integers(-6, 7, (12, d)) + seed % 5).astype(object)
    corral = ExactCorral()
    corral.enter(0, points[0])
    distances = []
    for _ in range(50):
        x = exact_nearest(corral)
        distances.append(dot(x, x))
        worst = min(range(12), key=lambda i: dot(points[i], x))
        if dot(points[worst], x) >= dot(x, x):
            break
        corral.enter(worst, points[worst])
    assert is_nearest(corral, points)
    assert all(a > b for a, b in pairwise(distances))
    assert all((points[i] == a).all() for i, a in zip(corral.ids, corral.points, strict=True))
    expected = nearest_point(points.astype(float))
    np.testing.assert_allclose(np.array(exact_nearest(corral), dtype=float), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_corral_goes_on_from_what_floats_left(seed):
    rng = np.random.default_rng(seed)
    points = (rng.integers(-5, 6, (5, 3)) + 2).astype(object)
    points[3] = points[0]
    weights = rng.uniform(-0.1, 0.5, 5)
    corral = ExactCorral()
    corral.start([40, 41, 42, 43, 44], points, weights)
    assert is_nearest(corral, corral.points)
    assert 43 not in corral.ids  # the same point as 40
    assert all((points[i - 40] == a).all() for i, a in zip(corral.ids, corral.points, strict=True))


# --- spans and relations ------------------------------------------------------------------------------


def lattices(seed: int) -> Halfspaces:
    """Grids with many relations; columns of very different units."""
    rng = np.random.default_rng(seed)
    K, p = 2 + seed % 2, 2 + seed % 3
    X = rng.integers(-2, 3, (12, p)) * 2.0 ** rng.integers(-40, 40, p)
    if seed % 4 == 0:
        X[:, 0] = 2.0**-3
    y = rng.integers(0, K, 12)
    y[:K] = range(K)
    if seed % 5 < 2:
        score = (X @ (1 / np.abs(X).max(axis=0).clip(1e-30))).round(3)
        y = np.where(score == 0, y, np.where(score > 0, K - 1, 0))
        y[:K] = range(K)
    return Halfspaces(X, y, fit_intercept=seed % 3 > 0)


@pytest.mark.parametrize("seed", range(24))
def test_a_decision_is_proven_by_its_span(seed):
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
    if not span.basis:
        return
    assert is_relation(H, span.relation)
    size = rank([A[i] for i in span.basis])
    assert size == len(span.basis) == rank([A[i] for i in span.relation])
    assert (decision.v is None) == (size == rank(A))
    B = span.orthogonal
    assert B.shape == (H.M, H.M - size)
    assert not any(dot(A[i], b) for i in span.basis for b in B.T)
    assert not B.shape[1] or rank([[Fraction(int(t)) for t in b] for b in B.T]) == B.shape[1]
    assert all(math.gcd(*(int(t) for t in b)) == 1 for b in B.T)
    inside = [rank([*(A[j] for j in span.basis), a]) == size for a in A]
    assert [span.holds(i) for i in range(H.N)] == inside
    assert outside(span).tolist() == [not t for t in inside]


def test_a_span_of_nothing_holds_nothing():
    H = Halfspaces(*XOR)
    assert not any(RelationSpan(H).holds(i) for i in range(H.N))
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
    assert [grown.holds(i) for i in range(H.N)] == [True] * 4 + [False] * 4
    assert outside(grown).tolist() == [False] * 4 + [True] * 4
    all_of_it = grown.grow({4: 3, 5: 1})
    assert is_relation(H, all_of_it.relation)
    assert all_of_it.orthogonal.shape == (3, 0)
    assert all(all_of_it.holds(i) for i in range(H.N))
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


def test_what_only_integers_see_is_outside_a_span():
    X = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0 + 2.0**-45], [-1.0, -1.0]])
    H = Halfspaces(X, [0, 1, 1, 0], fit_intercept=False)
    span = RelationSpan(H).grow({0: 1, 1: 1})
    assert outside(span).tolist() == [False, False, True, False]


def test_a_circuit_is_the_only_relation_and_of_one_sign():
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
def test_a_direction_off_a_span_becomes_integers(units):
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
def test_a_direction_gets_as_many_bits_as_its_signs_need(ratio):
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


@pytest.mark.parametrize("seed", range(12))
def test_the_search_in_integers_stays_off_a_span(seed):
    H = lattices(seed)
    span = decide(H).span
    active = outside(span) if span.basis else np.zeros(H.N, dtype=bool)
    if not active.any():
        return
    found = SeparatorSearch(H)._exactly(active, span, FloatHint(None, [], np.empty(0)))
    if isinstance(found, dict):
        assert not any(total(H, span.lift(found)))
    else:
        values = [dot(a, found) for a in vectors(H)]
        assert all(t > 0 if asked else t == 0 for t, asked in zip(values, active, strict=True))


@pytest.mark.parametrize("lie", ["all", "some", "none", "ties", "ids", "silence"])
def test_a_hint_is_taken_only_if_it_holds(lie, monkeypatch):
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
    monkeypatch.setattr(relations_module, "approach", lambda *_: hints[lie])
    everything = np.ones(H.N, dtype=bool)
    found = SeparatorSearch(H).find_separator_or_relation(everything)
    assert not isinstance(found, dict)
    assert answered(H, everything, found)
    if lie == "none":
        assert found.tolist() == [1, 2, 0]


def test_a_hint_need_not_hold_for_rows_that_nobody_asked_about(monkeypatch):
    H = Halfspaces([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    monkeypatch.setattr(relations_module, "approach", lambda *_: FloatHint(np.array([2.0, -1.0]), [], np.empty(0)))
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
    ring = list(_overlapping_pairs(three, np.zeros(three.M)))
    assert len(ring) == 2
    assert all(is_relation(three, d.first) for d in ring)
    assert list(_overlapping_pairs(Halfspaces(*XOR), np.zeros(3))) == []


def test_a_pair_of_classes_that_only_touch_is_left_to_all_classes_together():
    H = Halfspaces([[0.0], [1.0], [1.0], [2.0], [9.0], [9.5]], [0, 0, 1, 1, 2, 2])
    assert list(_overlapping_pairs(H, np.zeros(H.M))) == []
    assert separability(H.X, H.codes).verdict == "quasi-separable"


# --- what floats suggest ------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 4), (5, 9), (4, 4)])
def test_whitened_rows_have_unit_covariance(shape, fit_intercept, layout):
    n, p = shape
    X = np.random.default_rng(0).standard_normal(shape) @ np.diag(10.0 ** np.arange(p) / 100) + 1
    H = Halfspaces(layout(X), np.arange(n) % 2, fit_intercept=fit_intercept)
    T = whitening_matrix(H)
    white = H.dense(slice(None)) @ T
    assert T.shape == (H.m, min(n, H.m))
    np.testing.assert_allclose(white.T @ white / n, np.eye(T.shape[1]), atol=1e-6)


def test_whitening_leaves_out_what_does_not_vary():
    X = np.random.default_rng(0).standard_normal((50, 3))
    X = np.column_stack([X, X[:, 0] - X[:, 1], np.zeros(50)])
    for scale in (1.0, 1e-7, 1e7):
        H = Halfspaces(X * scale, np.arange(50) % 2)
        T = whitening_matrix(H)
        assert T.shape == (6, 4)
        white = H.dense(slice(None)) @ T
        np.testing.assert_allclose(white.T @ white / 50, np.eye(4), atol=1e-6)


def test_directions_of_small_spread_are_told_apart_from_each_other():
    rng = np.random.default_rng(0)
    base = rng.standard_normal(200)
    X = np.column_stack([base, base + 1e-7 * rng.standard_normal(200), base + 1e-8 * rng.standard_normal(200)])
    H = Halfspaces(X, np.arange(200) % 2, fit_intercept=False)
    white = H.Z @ whitening_matrix(H)
    np.testing.assert_allclose(white.T @ white / 200, np.eye(3), atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_the_first_guess_is_least_squares_on_class_indicators(K, fit_intercept):
    rng = np.random.default_rng(K)
    H = Halfspaces(rng.standard_normal((40, 3)) + 1, np.arange(40) % K, fit_intercept=fit_intercept)
    B = np.linalg.lstsq(H.dense(slice(None)), np.eye(K)[H.codes], rcond=None)[0]
    expected = np.concatenate([B[:, k] - B[:, 0] for k in range(1, K)])
    np.testing.assert_allclose(least_squares_guess(H, whitening_matrix(H)), expected, atol=1e-10)


def logistic_loss(H: Halfspaces, v: np.ndarray) -> float:
    F = np.zeros((H.n, H.K))
    F[:, 1:] = H.dense(slice(None)) @ v.reshape(H.K - 1, H.m).T
    return float((np.log(np.exp(F).sum(axis=1)) - F[np.arange(H.n), H.codes]).sum())


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_descent_ends_at_the_smallest_logistic_loss(K, fit_intercept):
    rng = np.random.default_rng(K)
    X = rng.standard_normal((60, 2))
    y = np.argmax(X @ rng.standard_normal((2, K)) + 1.5 * rng.standard_normal((60, K)) + [0.5, *[0] * (K - 1)], axis=1)
    H = Halfspaces(X, y, fit_intercept=fit_intercept)
    v = logistic_guess(H, whitening_matrix(H))
    best = minimize(lambda u: logistic_loss(H, u), np.zeros(H.M), method="BFGS")
    assert H.scores(v).min() < 0
    assert logistic_loss(H, v) == pytest.approx(best.fun, abs=1e-6)


@pytest.mark.parametrize("K", [2, 4])
def test_descent_ends_where_classes_are_separated(K):
    rng = np.random.default_rng(K)
    X = rng.standard_normal((200, 6))
    H = Halfspaces(X, np.argmax(X @ rng.standard_normal((6, K)), axis=1))
    assert H.scores(least_squares_guess(H, whitening_matrix(H))).min() <= 0
    assert H.scores(logistic_guess(H, whitening_matrix(H))).min() > 0


@pytest.mark.parametrize("K", [2, 3, 5])
def test_coordinates_of_classes_favour_none(K):
    T = np.random.default_rng(0).standard_normal((4, 3))
    frame = per_class(K, T)
    assert frame.shape == ((K - 1) * 4, (K - 1) * 3)
    if K == 2:
        np.testing.assert_array_equal(frame, T)
        return
    # ‖x‖ is the Frobenius norm of K centred columns of coordinates, of which v = frame·x holds the differences.
    x = np.random.default_rng(1).standard_normal(frame.shape[1])
    W = np.column_stack([np.zeros(4), (frame @ x).reshape(K - 1, 4).T])
    W -= W.mean(axis=1, keepdims=True)
    U = np.linalg.lstsq(T, W, rcond=None)[0]
    np.testing.assert_allclose(T @ U, W, atol=1e-12)
    assert np.linalg.norm(U) == pytest.approx(np.linalg.norm(x))


@pytest.mark.parametrize("n", [50, 2000])
def test_the_approach_ends_with_a_direction_that_no_asked_row_opposes(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 3))
    H = Halfspaces(X, X @ [1.0, -1.0, 0.5] > 0.2)
    flipped = Halfspaces(X, H.codes ^ (np.arange(n) == 7))
    asked = np.arange(n) != 7
    frame = whitening_matrix(H)
    for halfspaces, active in ((H, np.ones(n, dtype=bool)), (flipped, asked)):
        for guess in (None, np.zeros(4), np.array([-1.0, 1.0, 0.0, 0.0]), least_squares_guess(H, frame)):
            hint = search_min_norm_point(halfspaces, frame, active, guess)
            assert (halfspaces.scores(hint.v)[active] > 0).all()
            assert active[hint.ids].all()
            assert len(hint.ids) == len(hint.weights)


def test_a_guess_that_is_right_is_taken_as_it_is():
    X = np.random.default_rng(0).standard_normal((500, 2))
    H = Halfspaces(X, X @ [1.0, 3.0] > 0)
    guess = np.array([1.0, 3.0, 0.0])
    hint = search_min_norm_point(H, whitening_matrix(H), np.ones(500, dtype=bool), guess)
    assert hint.v is guess
    assert hint.ids == []


@pytest.mark.parametrize("n", [50, 2000])
def test_the_approach_ends_with_rows_whose_hull_holds_the_origin(n):
    rng = np.random.default_rng(n)
    H = Halfspaces(rng.standard_normal((n, 3)), rng.integers(0, 2, n))
    active = np.arange(n) % 5 > 0
    hint = search_min_norm_point(H, whitening_matrix(H), active)
    assert hint.v is None
    assert active[hint.ids].all()
    assert (hint.weights > 0).all()
    np.testing.assert_allclose(hint.weights @ H.rows(np.array(hint.ids)), 0, atol=1e-10)


@pytest.mark.parametrize("n", [40, 3000])
@pytest.mark.parametrize("gap", [0.001, 0.02])
def test_the_approach_with_a_gap_ends_near_the_largest_margin(gap, n):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 3)) + 0.1
    X = X[np.abs(X @ [1.0, 2.0, -1.0]) > 0.1]
    H = Halfspaces(X, X @ [1.0, 2.0, -1.0] > 0)
    A = np.array(vectors(H), dtype=float) if n < 100 else H.rows(np.arange(H.N))
    largest = np.linalg.norm(nearest_point(A))
    hint = search_min_norm_point(H, np.eye(4), np.ones(H.N, dtype=bool), gap=gap)
    margin = (A @ hint.v).min() / np.linalg.norm(hint.v)
    assert (1 - 2.5 * gap) * largest <= margin <= largest * (1 + 1e-9)
    short = search_min_norm_point(H, np.eye(4), np.ones(H.N, dtype=bool), gap=1e-12, steps=2)
    assert short.v is not None
    assert np.linalg.norm(short.v) >= largest * (1 - 1e-9)


def test_only_many_unknowns_are_worth_a_descent(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(relations_module, "descend", lambda *_: "descended")
    few = SeparatorSearch(Halfspaces(rng.standard_normal((40, 3)), np.arange(40) % 2))
    assert few.good_guess is few.first_guess
    many = SeparatorSearch(Halfspaces(rng.standard_normal((400, 160)), np.arange(400) % 2))
    assert many.H.scores(many.first_guess).min() < 0
    assert many.good_guess == "descended"
    wide = SeparatorSearch(Halfspaces(rng.standard_normal((40, 160)), np.arange(40) % 2))
    assert wide.H.scores(wide.first_guess).min() > 0
    assert wide.good_guess is wide.first_guess


# --- certificates -------------------------------------------------------------------------------------


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


def relation_of(rows, rivals, multipliers) -> Relation:
    return Relation(np.array(rows), np.array(rivals), tuple(Fraction(t) for t in multipliers))


def test_a_relation_speaks_of_rows_and_rivals_that_are_there():
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


def test_nothing_is_no_relation():
    H = Halfspaces([[0.0], [1.0]], [0, 1])
    assert Relation(np.array([], dtype=np.intp), np.array([], dtype=int), ()).holds(H) is False


@pytest.mark.parametrize("seed", range(20))
def test_a_relation_spans_as_its_rank_says(seed):
    H = lattices(seed)
    A = vectors(H)
    rng = np.random.default_rng(seed)
    for size in (1, 3, 6, H.N):
        ids = rng.permutation(H.N)[:size]
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
    assert c.spanning_rows is c.spanning.rows
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
    assert (c.witness_rows, c.spanning_rows, c.witness_weights, c.common_hull_point) == (None, None, None, None)
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
def test_a_quotient_by_a_norm_does_not_overflow_on_the_way(power):
    unit = Fraction(2) ** power
    assert margin_ratio(10 * unit, [3 * unit, -4 * unit]) == 2.0
    assert margin_ratio(-unit, [Fraction(0), unit / 2]) == -2.0
    assert margin_ratio(unit / 3, [unit]) == 1 / 3
    assert margin_ratio(unit, [Fraction(0)]) == math.inf
    assert margin_ratio(unit, []) == math.inf


def test_the_least_value_is_told_from_its_neighbours():
    # Floats see the same value in all rows; one is smaller by 2⁻⁵².
    for place in range(6):
        X = np.full((7, 2), [1.0, -1.0])
        X[place, 0] -= 2.0**-53
        X[6] = [1000.0, 1000.0]
        H = Halfspaces(X, np.ones(7, dtype=int), classes=np.array([0, 1]))
        assert _least(H, whole([1, 1, 1 << 60])) == (1 << 60) - Fraction(2) ** -53


# --- words --------------------------------------------------------------------------------------------


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
        ([[0.0], [2.0], [1.0], [9.0]], "aabc", "no row has a rival's score above its own, but some tie, for 3 rows"),
        ([[0.0], [1.0], [2.0], [3.0]], "abca", "linear scores that tell rows apart put a rival's above the own one"),
    ]
    for (X, y, words), verdict in zip(parts, ("separable", "quasi-separable", "overlapping"), strict=True):
        c = separability(X, list(y))
        assert c.verdict == verdict
        assert words in c.describe()
        assert "hyperplane" not in c.describe()
    c = separability([[-2.0, 1.0], [2.0, 2.0], [-2.0, -2.0], [0.0, 1.0], [-2.0, 2.0]], [0, 0, 1, 2, 1])
    assert c.witness.rows.tolist() == [0, 0, 1, 2, 3, 4]  # row 0 is held against both rivals, and is one row
    assert "5 rows contradict each other (rows 0, 1, 2, 3, 4)" in c.describe()


# --- the hyperplane to show ---------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("s", [-2, 0, 5])
def test_units_of_the_data_and_back(fit_intercept, s):
    H = uneven(2, fit_intercept)
    # Weights that matter in each column; powers of two, so that nothing is rounded away.
    W = np.random.default_rng(0).integers(-4, 5, (H.m, 3)).astype(float)
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
    monkeypatch.setattr(separability_module, "approach", lambda *_, **__: FloatHint(other, [], np.empty(0)))
    assert _widest(H, v) is v


def test_a_wider_separator_is_taken(monkeypatch):
    H = Halfspaces([[-2.0, 0.0], [2.0, 0.0], [3.0, 5.0]], [0, 1, 1])
    monkeypatch.setattr(
        separability_module, "approach", lambda *_, **__: FloatHint(np.array([0.5, 0.0, 0.0]), [], np.empty(0))
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


def test_a_rule_says_which_side_belongs_to_whom():
    H = Halfspaces([[0.0], [1.0]], ["no", "yes"], names=["dose"])
    assert SingleColumn(0, 1, 0.5, 0.0, 1.0, True).rule(H) == "dose ≥ 0.5 exactly for 'yes'"
    assert SingleColumn(0, 0, 0.5, 0.0, 1.0, True).rule(H) == "dose ≥ 0.5 exactly for 'no'"
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


def test_a_threshold_always_tells_two_numbers_apart():
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


# --- the error floor ----------------------------------------------------------------------------------


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
    ids = np.arange(H.N)
    rows, rivals = H.pair(ids)
    winners = [1 if K == 2 else min(own, rival) for own, rival in zip(H.codes[rows], rivals, strict=True)]
    assert _wins_ties(H, ids).tolist() == (rivals == winners).tolist()


@pytest.mark.parametrize("seed", range(15))
def test_a_relation_is_reduced_to_a_minimal_one_that_keeps_a_row(seed):
    H = lattices(seed)
    span = decide(H).span
    if not span.relation:
        return
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
