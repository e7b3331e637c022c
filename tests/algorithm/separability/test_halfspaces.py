"""Tests of `halfspaces`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from separability_cases import LAYOUTS, dense, dot, some_integers, uneven, vectors, whole

from linearly.algorithm.separability import halfspaces as halfspaces_module
from linearly.algorithm.separability.float_search import (
    values,
)
from linearly.algorithm.separability.halfspaces import Halfspaces, floats


@pytest.mark.parametrize("K", [2, 3, 4])
def test_every_row_is_held_against_every_class_but_its_own(K):
    H = uneven(K)
    rows, rivals = H.pair(np.arange(H.n_inequalities))
    assert (H.n, H.p, H.n_terms, H.n_unknowns, H.n_inequalities) == (13, 3, 4, 4 * (K - 1), 13 * (K - 1))
    assert list(zip(rows, rivals, strict=True)) == [(i, k) for i in range(13) for k in range(K) if k != H.codes[i]]
    assert H.index(rows, rivals).tolist() == list(range(H.n_inequalities))
    mask = np.arange(13) % 3 == 0
    assert H.of_rows(mask).tolist() == mask[rows].tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3, 4])
class TestInequalities:
    def test_are_exact_in_integers_and_in_floats(self, K, fit_intercept, layout):
        H = uneven(K, fit_intercept, layout)
        A, ids = vectors(H), np.arange(H.n_inequalities)
        N, e = H.lattice(ids)
        for i in ids:
            assert [Fraction(int(t)) * Fraction(2) ** int(s) for t, s in zip(N[i], e, strict=True)] == A[i]
        some = ids[::-2]
        assert [[Fraction(t) for t in row] for row in H.rows(some).tolist()] == [A[i] for i in some]
        Z = H.dense(slice(None))
        assert Z.shape == (13, H.n_terms)
        np.testing.assert_array_equal(H.top, np.abs(Z).max(axis=0))
        assert H.top.max() < 4

    def test_have_the_scores_of_their_vectors(self, K, fit_intercept, layout):
        H = uneven(K, fit_intercept, layout)
        A = np.array(vectors(H), dtype=float)
        V = np.random.default_rng(1).standard_normal((H.n_unknowns, 5))
        np.testing.assert_allclose(H.scores(V), A @ V, atol=1e-12)
        np.testing.assert_allclose(H.scores(V[:, 0]), A @ V[:, 0], atol=1e-12)
        np.testing.assert_allclose(values(H, V[: H.n_terms]), H.dense(slice(None)) @ V[: H.n_terms], atol=1e-12)

    @pytest.mark.parametrize("bits", [5, 63, 90])
    def test_have_signs_without_rounding(self, K, fit_intercept, layout, bits):
        H = uneven(K, fit_intercept, layout)
        A = vectors(H)
        for seed in range(6):
            v = some_integers(H, seed, bits)
            v[:: 2 + seed % 3] = seed % 2
            expected = [int(np.sign(dot(a, v))) for a in A]
            np.testing.assert_array_equal(H.signs(v), expected)
            among = np.arange(H.n_inequalities) % 3 < 2
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
        rows, rivals = H.pair(np.arange(H.n_inequalities))
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
    among = np.arange(H.n_inequalities) % 4 > 0
    np.testing.assert_array_equal(H.signs(v, among), np.where(among, expected, 0))


@pytest.mark.parametrize("K", [2, 3, 4])
def test_signs_that_floats_tell_need_no_integers(K, monkeypatch):
    X = np.random.default_rng(0).integers(-9, 10, (40, 2)) + 0.5
    H = Halfspaces(X, np.arange(40) % K)
    v = whole(np.random.default_rng(1).integers(-999, 1000, H.n_unknowns))
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
    v = np.tile(1.0 + rng.integers(0, 9, H.n_terms) * 2.0**-50, K - 1) * np.repeat(np.arange(1, K), H.n_terms)
    exact = [dot(a, v.tolist()) for a in vectors(H)]
    error = np.array([float(abs(Fraction(t) - s)) for t, s in zip(H.scores(v).tolist(), exact, strict=True)])
    V = np.abs(v).reshape(K - 1, H.n_terms)
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
def test_nonzero_rows_leave_out_zeros_only_without_an_intercept(layout):
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
    with pytest.raises(ValueError, match=r"not among the classes: \[3\]"):
        Halfspaces(X, [2, 3, 2], classes=known)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, np.nan, np.nan], "no label in row 1"),
        (np.array(["a", None, "b"], dtype=object), "no label in row 1"),
        (np.array([1, 2, float("nan")], dtype=object), "no label in row 2"),
        (np.array([0, 1, "NaT"], dtype="m8[s]"), "no label in row 2"),
        (np.zeros((3, 1, 1)), "one label per row"),
        (np.zeros((1, 3)), "one label per row"),
        ([0, 1], "3 rows, but y has 2"),
        ([4, 4, 4], "only one class, .*4"),
        (["a", "b", 1], "mixes text labels"),
        ((1, "b", "a"), "mixes text labels"),
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
