"""The compiled perceptron scan makes the mistakes of the NumPy reference, bit for bit, on every instruction set."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import require
from hypothesis import given
from hypothesis import strategies as st

from linearly import kernels
from linearly.kernels import _compiled, reference

SETS = _compiled.instruction_sets() if _compiled is not None else ["compiled"]
ALL = 2**62


@pytest.fixture(params=SETS)
def compiled(request):
    """The kernels of each instruction set of this machine, in turn."""
    require(_compiled is not None, "needs the compiled kernels")
    before = _compiled.instruction_set()
    _compiled.use_instruction_set(request.param)
    yield kernels
    _compiled.use_instruction_set(before)


def csr(X, index=np.int32):
    """X with most entries dropped, one stored twice and one stored zero, if there is room for them."""
    X = sp.csr_matrix(np.where(np.abs(X) <= 0.7, 0.0, X))
    if X.nnz:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        extra = [0, X.nnz - 1]
        at = np.concatenate([np.arange(X.nnz), extra])
        order = np.argsort(rows[at], kind="stable")
        data = np.concatenate([X.data, [0.0, 0.5]])[order]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[at], minlength=X.shape[0]))])
        X.data, X.indices, X.indptr = data, X.indices[at][order], offsets
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


LAYOUTS = {
    "C": lambda X: X,
    "Fortran": np.asfortranarray,
    "rows apart": lambda X: np.repeat(X, 3, axis=0)[::3],
    "columns apart": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "float32 Fortran": lambda X: np.asfortranarray(X, dtype=np.float32),
    "CSR": csr,
    "CSR int64": lambda X: csr(X, np.int64),
    "CSR float32": lambda X: csr(X).astype(np.float32),
}


def walk(scan, X, labels, K, *, order=None, averaged=False, intercept=True, most=ALL, passes=3):
    """Some passes: all that the scan reports, and the weights it leaves."""
    n, p = X.shape
    k = 1 if K == 2 else K
    shape = (p, k) if sp.issparse(X) else (k, p)
    W, b = np.zeros(shape), np.zeros(k) if intercept else None
    U, c = (np.zeros(shape), np.zeros(k) if intercept else None) if averaged else (None, None)
    told, seen = [], 0
    for turn in range(passes):
        steps = n if order is None else len(order)
        mistakes, rivals = np.zeros(min(steps, most), np.int64), np.zeros(min(steps, most), np.int32)
        done = scan(X, labels, order, W, b, U, c, seen, most, turn == 0, mistakes, rivals)
        seen += done[0]
        told.append((*done, mistakes[: done[1]].tolist(), rivals[: done[1]].tolist()))
    return told, [a for a in (W, b, U, c) if a is not None]


@st.composite
def walks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p, K = draw(st.integers(1, 40)), draw(st.integers(1, 70)), draw(st.integers(2, 5))
    X = rng.normal(size=(n, p))
    X = np.round(X) if draw(st.booleans()) else X  # whole numbers tie
    how = {
        "order": rng.permutation(n).astype(np.int64) if draw(st.booleans()) else None,
        "averaged": draw(st.booleans()),
        "intercept": draw(st.booleans()),
        "most": draw(st.sampled_from([1, 3, ALL])),
    }
    return X, rng.integers(0, K, n).astype(np.int32), K, how


@pytest.mark.parametrize("layout", LAYOUTS)
@given(walks())
def test_perceptron_pass_agrees_with_reference_bit_for_bit(layout, case):
    require(_compiled is not None, "needs the compiled kernels")
    X, labels, K, how = case
    X = LAYOUTS[layout](X)
    expected, weights = walk(reference.perceptron_pass, X, labels, K, **how)
    before = _compiled.instruction_set()
    try:
        for isa in SETS:
            _compiled.use_instruction_set(isa)
            told, found = walk(kernels.perceptron_pass, X, labels, K, **how)
            assert told == expected, isa
            assert all(np.array_equal(a, b) for a, b in zip(found, weights, strict=True)), isa
            assert kernels.count_errors(X, labels, found[0], None) == reference.count_errors(
                X, labels, weights[0], None
            )
    finally:
        _compiled.use_instruction_set(before)


@pytest.mark.parametrize(("n", "p"), [(300, 100), (200, 1000)])
def test_perceptron_pass_of_noisy_data_agrees_with_reference(compiled, n, p):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p))
    labels = (X @ rng.normal(size=p) + 20 * rng.normal(size=n) > 0).astype(np.int32)
    assert (
        walk(compiled.perceptron_pass, X, labels, 2, passes=5)[0]
        == walk(reference.perceptron_pass, X, labels, 2, passes=5)[0]
    )


def test_two_classes_equal_the_multiclass_pass_with_two(compiled):
    """With whole numbers all is exact: two vectors, ±w, make the mistakes of one."""
    rng = np.random.default_rng(4)
    X, labels = rng.integers(-5, 6, size=(200, 7)).astype(float), rng.integers(0, 2, 200).astype(np.int32)
    W, b = np.zeros((2, 7)), np.zeros(2)
    mistakes, rivals = np.zeros(200, np.int64), np.zeros(200, np.int32)
    done = compiled.perceptron_pass(X, labels, None, W, b, None, None, 0, ALL, False, mistakes, rivals)
    (one,), (w, constant) = walk(compiled.perceptron_pass, X, labels, 2, passes=1)
    assert mistakes[: done.found].tolist() == one[4]
    assert np.array_equal(W[1] - W[0], 2 * w[0])
    assert np.array_equal(W[1], -W[0])
    assert b[1] - b[0] == 2 * constant[0]


def test_averaged_weights_are_the_mean_after_each_row(compiled):
    rng = np.random.default_rng(5)
    for K in (2, 3):
        X, labels = rng.integers(-5, 6, size=(50, 4)).astype(float), rng.integers(0, K, 50).astype(np.int32)
        k = 1 if K == 2 else K
        _, (W, b, U, c) = walk(compiled.perceptron_pass, X, labels, K, averaged=True, passes=2)
        w, constant, total, constants = np.zeros((k, 4)), np.zeros(k), np.zeros((k, 4)), np.zeros(k)
        for _ in range(2):
            for i in range(50):
                one = np.zeros(1, np.int64), np.zeros(1, np.int32)
                compiled.perceptron_pass(
                    X[i : i + 1], labels[i : i + 1], None, w, constant, None, None, 0, ALL, False, *one
                )
                total += w
                constants += constant
        assert np.array_equal(100 * W - U, total)
        assert np.array_equal(100 * b - c, constants)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nonfinite_score_stops_the_pass(compiled, layout):
    rng = np.random.default_rng(6)
    labels = np.arange(20, dtype=np.int32) % 2
    for bad in (np.nan, np.inf, -np.inf):
        X = 2.0 + rng.random(size=(20, 5))
        X[11, 2] = bad
        (told,), _ = walk(compiled.perceptron_pass, LAYOUTS[layout](X), labels, 2, passes=1)
        assert (told[0], told[3]) == (8 if layout == "reversed" else 11, False)
    if "float32" not in layout:
        (told,), _ = walk(compiled.perceptron_pass, LAYOUTS[layout](1e200 * X[:5]), labels[:5], 2, passes=1)
        assert (told[0], told[3]) == (1, False)  # the first row ties with zero weights, the second overflows with them


def test_measure_returns_the_largest_absolute_entry(compiled):
    X = np.array([[1.0, -3.0], [0.5, 2.0]])
    labels = np.array([0, 1], dtype=np.int32)
    for some in (X, np.asfortranarray(X), X.astype(np.float32), sp.csr_matrix(X)):
        assert walk(compiled.perceptron_pass, some, labels, 2, passes=1)[0][0][2] == 3.0


def test_wrong_arguments_raise(compiled):
    X, labels = np.ones((3, 2)), np.zeros(3, np.int32)
    W, b, room = np.zeros((1, 2)), np.zeros(1), (np.zeros(3, np.int64), np.zeros(3, np.int32))
    S = sp.csr_matrix(X)

    def scan(X=X, labels=labels, order=None, W=W, b=b, mistakes=room[0], rivals=room[1]):
        return compiled.perceptron_pass(X, labels, order, W, b, None, None, 0, ALL, True, mistakes, rivals)

    for wrong, message in (
        ({"labels": labels[:2]}, "one label for each row"),
        ({"labels": labels + 2}, "unknown label"),
        ({"labels": labels - 1}, "unknown label"),
        ({"W": np.zeros((1, 3))}, "wrong shape"),
        ({"b": np.zeros(2)}, "one intercept"),
        ({"order": np.array([0, 3])}, "not there"),
        ({"order": np.array([-1, 0])}, "not there"),
        ({"mistakes": np.zeros(2, np.int64)}, "no room"),
        ({"X": X.astype(np.int64)}, "float64 or float32"),
    ):
        with pytest.raises(ValueError, match=message):
            scan(**wrong)
    for indices in ([0, 1, 0, 2, 0, 1], [0, 1, 0, -1, 0, 1]):
        S.indices = np.array(indices, dtype=np.int32)
        with pytest.raises(ValueError, match="index outside"):
            scan(X=S, W=np.zeros((2, 1)))
    S = sp.csr_matrix(X)
    S.indptr = np.array([0, 4, 2, 6], dtype=np.int32)
    with pytest.raises(ValueError, match="not in order"):
        scan(X=S, W=np.zeros((2, 1)))


def test_pass_releases_the_interpreter_lock(compiled):
    """Another thread counts while a scan runs."""
    import threading

    X = np.ones((200_000, 50))
    labels = (np.arange(200_000) % 2).astype(np.int32)
    running, counted = threading.Event(), [0]

    def count():
        while not running.is_set():
            counted[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = counted[0]
    walk(compiled.perceptron_pass, X, labels, 2, passes=2)
    during = counted[0] - before
    running.set()
    other.join()
    assert during > 0
