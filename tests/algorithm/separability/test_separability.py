"""Separability: every verdict against an independent simplex, every proof re-done in fractions."""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from threadpoolctl import threadpool_limits

from linearly.algorithm.separability import exact_search as relations
from linearly.algorithm.separability.certificate import _least
from linearly.algorithm.separability.decide import error_floor, mistake_bound, separability
from linearly.algorithm.separability.error_floor import duplicate_rows_with_different_labels
from linearly.algorithm.separability.float_search import FloatHint, least_squares_guess, whitening_matrix
from linearly.algorithm.separability.halfspaces import Halfspaces
from linearly.algorithm.separability.integer_algebra import as_integers, null_space, product
from linearly.selftest.hyperplanes import oracle, proven, rank
from linearly.selftest.separability import hairline, random_set

XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]


# --- against an oracle and a checker that share no line with the library ------------------------------


def decided(seed):
    X, y, fit_intercept = random_set(seed)
    c = separability(X, y, fit_intercept=fit_intercept)
    assert c.verdict == oracle(X, y.tolist(), fit_intercept), seed
    assert c.check(), seed
    assert proven(c, X, y.tolist()), seed


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_verdicts_and_proofs(start):
    for seed in range(start, start + 50):
        decided(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 8000, 500))
def test_no_false_verdict_in_8000_sets(start):
    for seed in range(start, start + 500):
        decided(seed)


# --- sets whose answer is known ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "fit_intercept", "verdict", "rows"),
    [
        (*XOR, True, "overlapping", [0, 1, 2, 3]),
        ([[0.0], [1.0]], "ab", True, "separable", None),
        ([[3.0, 1.0], [3.0, 1.0]], "ab", True, "overlapping", [0, 1]),
        ([[0.0], [1.0], [1.0], [2.0]], "aabb", True, "quasi-separable", [1, 2]),
        ([[0.0, 0.0], [0.0, 1.0]], "ab", False, "quasi-separable", [0]),
        ([[0.0], [0.0]], "ab", False, "overlapping", [0, 1]),
        ([[1.0], [2.0]], "ab", False, "overlapping", [0, 1]),
        ([[-1.0], [2.0]], "ab", False, "separable", None),
        ([[0.0], [1.0], [2.0]], "aba", True, "overlapping", [0, 1, 2]),
        ([[5.0], [5.0], [5.0]], "aba", True, "overlapping", [0, 1]),
        ([[0.0], [1.0], [2.0], [3.0]], "abca", True, "overlapping", None),
        ([[0.0], [1.0], [2.0]], "abc", True, "separable", None),
        ([[0.0], [0.0], [2.0]], "abc", True, "quasi-separable", [0, 1]),
    ],
)
def test_known_sets(X, y, fit_intercept, verdict, rows):
    c = separability(X, list(y), fit_intercept=fit_intercept)
    assert c.verdict == verdict
    assert rows is None or c.witness_rows.tolist() == rows
    assert c.check()
    assert c.check(np.array(X), np.array(list(y)))
    assert proven(c, X, list(y))


def test_xor_hulls_meet_in_the_middle():
    c = separability(*XOR)
    assert c.witness_weights == (Fraction(1, 2),) * 4
    assert c.common_hull_point.tolist() == [0.5, 0.5]
    assert c.coef is None
    assert c.margin is None


def test_iris():
    X, y = load_iris(return_X_y=True)
    setosa = separability(X, y == 0)
    assert setosa.verdict == "separable"
    assert setosa.rules == ("x2 ≥ 2 exactly for False", "x3 ≥ 0.8 exactly for False")
    assert setosa.separating_columns == (("x2", -1.0), ("x3", -1.0))
    others = separability(X[50:], y[50:])
    assert others.verdict == "overlapping"
    assert len(others.witness) <= 6
    # Setosa can be told from both, they cannot be told from each other: w₁ = w₂ ≠ w₀.
    three = separability(X, y)
    assert three.verdict == "quasi-separable"
    assert set(y[three.witness_rows]) == {1, 2}
    assert np.array_equal(three.coef[1], three.coef[2])
    assert all(c.check() for c in (setosa, others, three))


@pytest.mark.parametrize("K", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_digits_have_a_hyperplane_for_each(K):
    X, y = load_digits(n_class=K, return_X_y=True)
    c = separability(X, y)
    assert c.verdict == "separable"
    assert c.check()
    assert (np.argmax(X @ c.coef.T + c.intercept, axis=1) == y).all()


def test_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    c = separability(X, y)
    assert c.verdict == "separable"
    assert ((X @ c.coef + c.intercept > 0) == (y == 1)).all()
    assert separability(X[:, :10], y).verdict == "overlapping"


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 300))
    c = separability(X, np.arange(20) % 2)
    assert c.verdict == "separable"
    X[1] = X[0]
    c = separability(X, np.arange(20) % 2)
    assert c.verdict == "quasi-separable"
    assert c.witness_rows.tolist() == [0, 1]
    assert c.check()


def test_quasi_separation_names_the_column():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((500, 4)), columns=["age", "dose", "weight", "smoker"])
    X["smoker"] = rng.integers(0, 2, 500)
    y = np.where((rng.random(500) < 0.5) | (X["smoker"] == 1), "ill", "well")
    c = separability(X, y)
    assert c.verdict == "quasi-separable"
    assert c.rules == ("smoker > 0 only for 'ill'",)
    assert c.separating_columns == (("smoker", -1.0),)
    assert c.coef.tolist() == [0, 0, 0, -1]
    assert "smoker > 0 only for 'ill'" in str(c)
    assert c.check()


def test_quasi_separation_by_a_combination():
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (300, 5)).astype(float)
    s = X[:, 1] - 2 * X[:, 3]
    c = separability(X, np.where(s == 0, rng.integers(0, 2, 300), s > 0))
    assert c.verdict == "quasi-separable"
    assert c.rules == ()
    assert {name for name, _ in c.separating_columns} == {"x1", "x3"}
    assert c.coef[3] == -2 * c.coef[1]
    assert c.check()


# --- hard to see in floats --------------------------------------------------------------------------


def test_hairline_sets_are_decided_in_integers(monkeypatch):
    calls = []
    exactly = relations.SeparatorSearch._exactly
    monkeypatch.setattr(relations.SeparatorSearch, "_exactly", lambda self, *a: calls.append(1) or exactly(self, *a))
    verdicts = set()
    for seed in range(30):
        X, y = hairline(seed)
        c = separability(X, y)
        assert c.verdict == oracle(X, y.tolist()), seed
        assert c.check()
        assert proven(c, X, y.tolist())
        verdicts.add(c.verdict)
    assert verdicts == {"separable", "quasi-separable", "overlapping"}
    assert len(calls) > 10


def test_one_unit_in_the_last_place_separates():
    t = 0.1
    X = np.array([[0.0], [t], [np.nextafter(t, 1)], [1.0]])
    c = separability(X, [0, 0, 1, 1])
    assert c.verdict == "separable"
    assert c.check()
    X[2] = t
    assert separability(X, [0, 0, 1, 1]).verdict == "quasi-separable"


@pytest.mark.parametrize("shape", [(200, 4), (4, 6)])
@pytest.mark.parametrize("layout", [np.asarray, scipy.sparse.csr_array])
def test_whitening_sees_spreads_of_a_billionth(shape, layout):
    X = np.random.default_rng(1).standard_normal(shape)
    X[:, 1] = X[:, 0] + 1e-9 * X[:, 1]
    H = Halfspaces(layout(X), np.arange(shape[0]) % 2)
    T = whitening_matrix(H)
    white = H.dense(slice(None)) @ T
    assert T.shape[1] == min(shape[0], shape[1] + 1)
    np.testing.assert_allclose(white.T @ white / shape[0], np.eye(T.shape[1]), atol=1e-5)


def test_wrong_float_hints_are_discarded(monkeypatch):
    rng = np.random.default_rng(0)

    def lie(H, frame, *_):
        return FloatHint(frame @ rng.standard_normal(frame.shape[1]), [], np.empty(0))

    monkeypatch.setattr(relations, "search_min_norm_point", lie)
    for seed in range(30):
        decided(seed)


@pytest.mark.parametrize("K", [2, 3])
def test_least_squares_separates_clouds_far_apart(K):
    y = np.arange(60) % K
    X = np.random.default_rng(2).standard_normal((60, K)) + 20 * np.eye(K)[y]
    H = Halfspaces(X, y)
    assert H.scores(least_squares_guess(H, whitening_matrix(H))).min() > 0


@pytest.mark.parametrize("sign", [-1, 1])
def test_columns_far_from_zero_are_moved_near_it_on_either_side(sign):
    X = sign * (1e9 + np.arange(10.0).reshape(-1, 1))
    assert np.abs(Halfspaces(X, np.arange(10) % 2).Z).max() <= 9
    near = sign * np.arange(1.0, 11.0).reshape(-1, 1)
    np.testing.assert_array_equal(Halfspaces(near, np.arange(10) % 2).Z, near)


def test_nearly_collinear_columns_that_separate():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 6))
    X[:, 1] = X[:, 0] + 1e-9 * rng.standard_normal(5000)
    y = X[:, 1] > X[:, 0]
    assert separability(X, y).check()
    assert separability(X, y).verdict == "separable"
    y[0] = not y[0]
    assert separability(X, y).verdict == "overlapping"


@pytest.mark.parametrize("scale", [1e-298, 1e-150, 1.0, 1e150, 1e298])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_any_scale_and_offset(scale, offset):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((200, 3)), 3)
    w = np.array([1.0, -2.0, 0.5])
    noise = rng.random(200) < 0.5
    moved = (X + offset) * np.array([scale, 1 / scale, 1.0])
    for y in (X @ w > 0, noise):
        a, b = separability(X, y), separability(moved, y)
        assert a.verdict == b.verdict
        assert b.check()
    assert separability(moved, X @ w > 0).margin > 0


def test_one_column_from_the_smallest_float_to_the_largest():
    column = np.array([5e-324, 1e-300, 1.0, 1e300, 1.7e308])
    for y in ([0, 0, 0, 1, 1], [0, 1, 1, 1, 1], [0, 1, 0, 1, 0]):
        X = np.column_stack([column, -column[::-1]])
        c = separability(X, y)
        assert c.verdict == oracle(X, y)
        assert c.check()
        assert proven(c, X, y)


# --- laws -------------------------------------------------------------------------------------------

small_sets = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1),
    )
)


@settings(max_examples=20)
@given(small_sets, st.integers(-30, 30), st.integers(-1000, 1000), st.randoms(use_true_random=False))
def test_verdict_survives_moves_scales_order_and_names(data, power, shift, random):
    X, y = np.array(data[0], dtype=float), np.array(data[1])
    verdict = separability(X, y).verdict
    order = list(range(len(X)))
    random.shuffle(order)
    moved = X @ np.array([[1.0, 3.0], [0.0, 2.0**power]]) + shift
    assert separability(moved[order], y[order]).verdict == verdict
    assert separability(np.vstack([X, X]), np.concatenate([y, y])).verdict == verdict
    assert separability(np.hstack([X, X[:, :1], np.ones((len(X), 1))]), y).verdict == verdict
    assert separability(X, np.array(["c", "a", "b"])[y]).verdict == verdict


@given(small_sets)
def test_two_classes_agree_with_linear_programming(data):
    X, y = np.array(data[0], dtype=float), np.array(data[1]) > 0
    assume(len(set(y)) == 2)
    A = np.where(y[:, None], 1.0, -1.0) * np.column_stack([X, np.ones(len(X))])
    lp = linprog(np.zeros(3), A_ub=-A, b_ub=-np.ones(len(A)), bounds=(None, None))
    assert (separability(X, y).verdict == "separable") == (lp.status == 0)


def layouts(X):
    yield "float32", X.astype(np.float32)
    yield "int", X.astype(np.int64)
    yield "columns first", np.asfortranarray(X)
    yield "strided", np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    frozen = X.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    yield "list", X.tolist()
    yield "pandas", pd.DataFrame(X)
    yield "polars", pl.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    yield "csr", scipy.sparse.csr_array(X)
    yield "csc", scipy.sparse.csc_matrix(X)
    i, j = np.nonzero(X)
    halves = (np.tile(X[i, j], 2) / 2, (np.tile(i, 2), np.tile(j, 2)))
    repeated = scipy.sparse.csr_array(scipy.sparse.coo_array(halves, shape=X.shape))
    repeated = scipy.sparse.csr_array(
        (np.append(repeated.data, 0.0), np.append(repeated.indices, 1), [*repeated.indptr[:-1], repeated.nnz + 1]),
        shape=X.shape,
    )
    yield "csr with repeated entries and explicit zeros", repeated


@pytest.mark.parametrize("noisy", [False, True])
def test_every_layout_gives_the_same_answer(noisy):
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (120, 3)).astype(float)
    y = rng.integers(0, 2, 120) if noisy else X @ [1, 2, -1] > 0.5
    expected = separability(X, y)
    for name, same in layouts(X):
        c = separability(same, y)
        assert c.verdict == expected.verdict, name
        assert c.check(), name
        assert c.check(X, y), name


def test_names():
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 1.0]})
    assert separability(X, [0, 1]).names == ("a", "b")
    assert separability(X.to_numpy(), [0, 1]).names == ("x0", "x1")
    assert separability(pa.Table.from_pandas(X), [0, 1]).rules == ("a ≥ 0.5 exactly for 1",)
    assert separability(X, [0, 1], names=["u", "v"]).rules == ("u ≥ 0.5 exactly for 1",)


# --- a certificate is worth its check -----------------------------------------------------------------


def test_check_refuses_other_data():
    c = separability([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    assert c.check([[0.5], [1.5], [2.5], [9.0]], [0, 0, 1, 1])
    assert not c.check([[0.0], [3.0], [1.0], [4.0]], [0, 0, 1, 1])
    assert not c.check([[0.0, 1.0], [3.0, 1.0]], [0, 1])
    xor = separability(*XOR)
    assert not xor.check([[0, 0], [1, 1.001], [0, 1], [1, 0]], XOR[1])
    assert not xor.check(XOR[0][:2], [0, 1])
    assert not xor.check(XOR[0], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="both"):
        xor.check(XOR[0])


def replaced(thing, **changes):
    fresh = object.__new__(type(thing))
    for name, value in {**vars(thing), **changes}.items():
        object.__setattr__(fresh, name, value)
    return fresh


def test_check_refuses_false_claims():
    X, y = [[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]
    c = separability(X, y)
    assert c.verdict == "quasi-separable"
    assert not replaced(c, verdict="separable").check()
    assert not replaced(c, verdict="overlapping").check()
    assert not replaced(c, verdict="overlapping", spanning=c.witness).check()
    assert not replaced(c, coef=c.coef * 2).check()
    assert not replaced(c, witness=replaced(c.witness, witness_weights=(Fraction(1), Fraction(2)))).check()
    assert not replaced(c, witness=replaced(c.witness, witness_weights=(Fraction(-1), Fraction(-1)))).check()
    assert not replaced(c, witness=replaced(c.witness, rows=np.array([0, 2]))).check()
    assert not replaced(c, witness=replaced(c.witness, rows=np.array([1, 9]))).check()
    assert not replaced(c, witness=replaced(c.witness, rivals=np.array([7, 0]))).check()
    assert not replaced(c, witness=replaced(c.witness, rivals=np.array([1, 7]))).check()
    xor = separability(*XOR)
    assert not replaced(xor, verdict="quasi-separable").check()
    assert not replaced(xor, verdict="separable").check()


def with_index(column):
    X = scipy.sparse.csr_array(np.eye(2))
    X.indices[1] = column
    return X


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [2.0]], ["a", "a"], "only one class, .*'a'"),
        ([[1.0, np.nan], [2.0, 1.0]], [0, 1], "NaN: row 0, column 'x1'"),
        ([[1.0, 2.0], [-np.inf, 1.0]], [0, 1], "infinity: row 1, column 'x0'"),
        (scipy.sparse.csr_array([[0.0, np.nan], [2.0, 1.0]]), [0, 1], "NaN: row 0, column 'x1'"),
        ([[1.0], [2.0]], [0, 1, 1], "2 rows, but y has 3"),
        ([1.0, 2.0], [0, 1], "two dimensions"),
        (np.empty((0, 3)), [], "no data"),
        (np.empty((3, 0)), [0, 1, 1], "no data"),
        ([[1.0], [2.0]], [[0, 1], [1, 0]], "one label per row"),
        ([[1.0], [2.0]], [0.0, np.nan], "no label in row 1"),
        ([[1.0], [2.0]], ["a", None], "no label in row 1|mixes"),
        ([[1.0], [2.0], [3.0]], ["a", 1, 2], "mixes"),
        ([[1.0], [2.0]], np.array(["a", 1], dtype=object), "mixes"),
        ([[0, 1], [2**53 + 1, 2]], [0, 1], "row 1, column 'x0'"),
        (scipy.sparse.csr_array([[0, 1], [2, 2**60]]), [0, 1], "row 1, column 'x1'"),
        ([["a"], ["b"]], [0, 1], "not numeric"),
        (np.array([["1.5"], ["2"]]), [0, 1], "X contains text"),
        (np.array([["2024-01-01"], ["2024-01-02"]], dtype="M8[D]"), [0, 1], "X contains dates"),
        (np.ma.array([[1.0], [2.0]], mask=[[0], [1]]), [0, 1], "X is masked, so missing: row 1"),
        ([[1.0], [2.0]], np.ma.array([0, 1], mask=[0, 1]), "y is masked, so missing: row 1"),
        ([[1.0], [2.0]], np.array(["2024-01-01", "NaT"], dtype="M8[D]"), "no label in row 1"),
        (with_index(7), [0, 1], "damaged sparse matrix: row 1 has column 7"),
        (np.array([[1j], [2.0]]), [0, 1], "Complex"),
    ],
)
def test_bad_input_is_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        separability(X, y)


def test_wrong_number_of_names():
    with pytest.raises(ValueError, match="1 entries, but X has 2 columns"):
        separability([[1.0, 2.0], [2.0, 1.0]], [0, 1], names=["a"])


def test_certificate_describes_known_sets():
    c = separability([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    assert repr(c) == "Certificate(separable, 4 rows × 1 column, margin 1)"
    assert str(c).startswith("The classes 'no' and 'yes' are linearly separable (x0 ≥ 2 exactly for 'yes').")
    twins = separability([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], [0, 1, 0])
    assert "rows 0 and 1 are the same point with different labels" in twins.describe()
    zero = separability([[0.0], [1.0]], [0, 1], fit_intercept=False)
    assert "row 0 is zero and there is no intercept" in zero.describe()
    three = separability([[0.0], [1.0], [2.0], [3.0]], list("abca"))
    assert "'a', 'b' and 'c' overlap" in three.describe()


# --- margins and mistakes ---------------------------------------------------------------------------


def test_margin_is_nearly_the_largest():
    # (±2, 0): w = (1, 0), b = 0 is best, with distance 2 for both margins.
    c = separability([[-2.0, 0.0], [2.0, 0.0], [3.0, 5.0]], [0, 1, 1])
    assert 1.9 < c.augmented_margin <= c.margin <= 2
    assert np.linalg.norm(c.coef) == pytest.approx(1)
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.standard_normal((60, 3))
        y = X @ rng.standard_normal(3) + 0.3 > 0
        c = separability(X, y)
        scores = np.where(y, 1, -1) * (X @ c.coef + c.intercept)
        assert c.margin == pytest.approx(scores.min() / np.linalg.norm(c.coef))
        assert c.augmented_margin == pytest.approx(scores.min() / np.linalg.norm([*c.coef, c.intercept]))
        # The nearest point of the hull of y(x, 1) bounds every augmented margin; NNLS finds it another way.
        A = np.where(y, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(60)])
        weights, _ = nnls(np.vstack([A.T, np.ones(60)]), np.append(np.zeros(4), 1.0))
        largest = np.linalg.norm(A.T @ (weights / weights.sum()))
        assert 0.95 * largest <= c.augmented_margin <= largest * (1 + 1e-9)


def perceptron_mistakes(X, y, fit_intercept):
    """The mistakes of the perceptron that starts at zero; K classes: true class + x, predicted − x."""
    Z = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    K = int(y.max()) + 1
    W = np.zeros((1 if K == 2 else K, Z.shape[1]))
    mistakes = -1
    total = 0
    while mistakes:
        mistakes = 0
        for z, c in zip(Z, y, strict=True):
            if K == 2:
                if (2 * c - 1) * (W[0] @ z) <= 0:
                    W[0] += (2 * c - 1) * z
                    mistakes += 1
                continue
            scores = W @ z
            rival = max((k for k in range(K) if k != c), key=lambda k: scores[k])
            if scores[c] <= scores[rival]:
                W[c] += z
                W[rival] -= z
                mistakes += 1
        total += mistakes
    return total


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_novikoff(K, fit_intercept):
    rng = np.random.default_rng(K)
    compared = 0
    for _ in range(60):
        X = rng.standard_normal((40, int(rng.integers(1, 4)) + (K > 2))) * 10 ** rng.uniform(-1, 1)
        W = rng.standard_normal((K, X.shape[1]))
        scores = np.sort(X @ W.T, axis=1)
        keep = scores[:, -1] - scores[:, -2] > 0.3 * np.abs(X).mean()
        X, y = X[keep], np.argmax(X[keep] @ W.T, axis=1)
        if len(set(y)) < K:
            continue
        bound = mistake_bound(X, y, fit_intercept=fit_intercept)
        assert perceptron_mistakes(X, y, fit_intercept) <= bound < math.inf
        compared += 1
    assert compared >= 50


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("K", "factor"), [(2, 1), (3, 2)])
def test_the_bound_is_that_of_the_paper(K, factor, fit_intercept):
    angle = 2 * np.pi * np.arange(K) / K
    X = np.repeat(5 * np.column_stack([np.cos(angle), np.sin(angle)]), 2, axis=0) + [[0.5, 0], [0, 0.25]] * K
    c = separability(X, np.repeat(np.arange(K), 2), fit_intercept=fit_intercept)
    largest = (X**2).sum(axis=1).max() + fit_intercept
    assert c.mistake_bound() == pytest.approx(factor * largest / c.augmented_margin**2, rel=1e-9)


def test_no_bound_without_separation():
    assert mistake_bound(*XOR) == math.inf
    assert mistake_bound([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]) == math.inf


# --- the error floor --------------------------------------------------------------------------------


def flawless(X, y, K, fit_intercept):
    """Whether some hyperplane makes no error: sign(0) = +1 for two classes, the first of equal scores for K."""
    rows, least = [], []
    for x, c in zip(X, y, strict=True):
        z = np.append(x, [1.0] * fit_intercept)
        for k in set(range(K)) - {c}:
            a = np.zeros((K, len(z)))
            a[c], a[k] = z, -z
            rows.append(a.ravel())
            loses_ties = k == 1 if K == 2 else k < c
            least.append(float(loses_ties))
    if not rows:
        return True
    A = np.array(rows)
    return linprog(np.zeros(A.shape[1]), A_ub=-A, b_ub=-np.array(least), bounds=(None, None)).status == 0


def fewest_errors(X, y, K, fit_intercept):
    n = len(X)
    for errors in range(n):
        for keep in itertools.combinations(range(n), n - errors):
            if flawless(X[list(keep)], y[list(keep)], K, fit_intercept):
                return errors
    raise AssertionError


def test_error_floor_never_exceeds_the_fewest_errors():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(3, 8)), int(rng.integers(1, 4))
        X = rng.integers(-2, 3, (n, p)).astype(float)
        y = rng.integers(0, rng.choice([2, 2, 3]), n)
        y[:2] = [0, 1]
        y = np.unique(y, return_inverse=True)[1]
        fit_intercept = bool(rng.random() < 0.4)
        floor = error_floor(X, y, fit_intercept=fit_intercept)
        best = fewest_errors(X, y, y.max() + 1, fit_intercept)
        assert floor.check()
        assert floor.value <= best
        assert (floor.value == 0) == (best == 0)


@pytest.mark.parametrize(
    ("X", "y", "fit_intercept", "value"),
    [
        (*XOR, True, 1),
        ([[1.0]] * 6, [0, 1, 0, 1, 0, 1], True, 3),
        ([[1.0]] * 5, [0, 1, 2, 0, 1], True, 2),
        # Without an intercept a zero row ties, and ties go to the second of two classes.
        ([[0.0], [-1.0], [1.0]], [1, 0, 1], False, 0),
        ([[0.0], [-1.0], [1.0]], [0, 0, 1], False, 1),
        # Opposite rows of the class that wins ties: w = 0 gets them right; of the other class, nothing does.
        ([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]], [1, 1, 0], False, 0),
        ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0, 0, 1], False, 1),
        # A row of the losing class in the span of opposite rows of the winning class can at best tie.
        ([[1.0], [-1.0], [2.0]], [1, 1, 0], False, 1),
    ],
)
def test_error_floor_of_known_sets(X, y, fit_intercept, value):
    floor = error_floor(X, y, fit_intercept=fit_intercept)
    assert floor.value == int(floor) == value
    assert floor.check()
    assert floor.check(X, y)
    assert repr(floor) == f"ErrorFloor({value} of {len(X)} rows)"


@pytest.mark.parametrize("place", [0, 4999])
def test_the_least_of_thousands_that_floats_cannot_tell_apart(place):
    X = np.full((5001, 1), np.nextafter(1.0, 2.0))
    X[place], X[5000] = 1.0, -5.0
    H = Halfspaces(X, np.arange(5001) < 5000)
    assert _least(H, np.array([1, 0], dtype=object)) == 1


@pytest.mark.parametrize("layout", [np.asarray, scipy.sparse.csr_array])
def test_contradictions_are_found_among_many_rows(layout):
    X = np.arange(1.0, 20001.0).reshape(-1, 1)
    X[[8191, 8192, 16385]] = X[[19999, 19998, 19997]]
    y = (np.arange(20000) > 19000).astype(int)
    H = Halfspaces(layout(X), y)
    pairs = {tuple(sorted(H.pair(ids)[0].tolist())) for ids in duplicate_rows_with_different_labels(H)}
    assert pairs == {(8191, 19999), (8192, 19998), (16385, 19997)}


def test_error_floor_is_near_the_errors_of_a_good_hyperplane():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :2], y[50:]
    floor = error_floor(X, y)
    # Sepal length and width leave 25 errors to least squares.
    assert 12 <= floor.value <= 25
    assert floor.check()
    rows = np.concatenate([w.rows for w in floor.witnesses])
    assert len(set(rows.tolist())) == len(rows)
    assert error_floor(X, y, limit=3).value == 3
    assert not replaced(floor, witnesses=floor.witnesses + floor.witnesses[:1]).check()


# --- exact arithmetic ---------------------------------------------------------------------------------


def test_integers_are_the_floats():
    rng = np.random.default_rng(0)
    for _ in range(100):
        r, c = rng.integers(1, 6, 2)
        A = rng.standard_normal((r, c)) * 10.0 ** rng.integers(-300, 300, (r, c)) * rng.integers(0, 2, (r, c))
        N, e = as_integers(A)
        assert all(
            Fraction(A[i, j]) == Fraction(int(N[i, j])) * Fraction(2) ** int(e[j]) for i in range(r) for j in range(c)
        )


def test_null_space_of_random_matrices_has_full_dimension():
    rng = np.random.default_rng(0)
    for trial in range(100):
        r, c = (int(t) for t in rng.integers(1, 9, 2))
        A = rng.integers(-2, 3, (r, c)).astype(float)
        if trial % 3 == 0:
            A = rng.standard_normal((r, c))
        elif trial % 3 == 1:
            A = A @ rng.integers(-2, 3, (c, c))
        N, _ = as_integers(A)
        B, pivots = null_space(N)
        assert not product(N, B).any()
        assert len(pivots) == rank([[Fraction(int(t)) for t in row] for row in N])
        assert B.shape == (c, c - len(pivots))
        assert not B.shape[1] or rank([[Fraction(int(t)) for t in row] for row in B.T]) == B.shape[1]


@pytest.mark.slow
def test_100_000_rows_of_50_columns_in_3_seconds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 50))
    s = X @ rng.standard_normal(50) / 7 + 0.3
    flipped = s > 0
    flipped[np.argmax(np.abs(s))] ^= True
    dummy = X.copy()
    dummy[:, 7] = rng.random(len(X)) < 0.1
    noise = rng.random(len(X)) < 0.5
    for A, y, verdict in [
        (X, s > 0, "separable"),
        (X[np.abs(s) > 0.05], s[np.abs(s) > 0.05] > 0, "separable"),
        (X, rng.random(len(X)) < 1 / (1 + np.exp(-2 * s)), "overlapping"),
        (X, noise, "overlapping"),
        (X, flipped, "overlapping"),
        (dummy, noise | (dummy[:, 7] == 1), "quasi-separable"),
        (np.hstack([X[:, :49], X[:, :1]]), noise, "overlapping"),
        (rng.integers(0, 3, X.shape).astype(float), noise, "overlapping"),
    ]:
        # Processor time on one thread: what the clock shows on a machine that has nothing else to do.
        with threadpool_limits(1):
            start = time.process_time()
            c = separability(A, y)
            took = time.process_time() - start
        assert c.verdict == verdict
        assert c.check()
        assert took < 3


def test_columns_are_named_by_how_much_they_move_the_score():
    # Equal weights: the column with the wider range comes first, however far from zero the other lies.
    rng = np.random.default_rng(0)
    t = rng.uniform(-5, 5, 200)
    near, far = t + rng.uniform(-0.5, 0.5, 200), 1000 + rng.uniform(-0.5, 0.5, 200)
    y = (near + far - 1000 > 0).astype(int)
    keep = np.abs(near + far - 1000) > 0.05
    certificate = separability(np.column_stack([far, near])[keep], y[keep], names=["far", "near"])
    assert certificate.verdict == "separable"
    assert next(name for name, _ in certificate.separating_columns) == "near"
