"""The compiled loops of least squares agree with the NumPy reference on every instruction set and memory layout."""

import itertools
import os
import subprocess
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from conftest import require

from linearly import kernels
from linearly.dataset.features.polynomial import polynomial_features
from linearly.kernels import _compiled, reference
from linearly.kernels.double_double import DoubleDouble
from linearly.selftest.rationals import rational

EPS = np.finfo(np.float64).eps
SETS = _compiled.instruction_sets() if _compiled is not None else ["compiled"]


@pytest.fixture(params=SETS)
def compiled(request):
    """The kernels of each instruction set of this machine, in turn."""
    require(_compiled is not None, "needs the compiled kernels")
    before = _compiled.instruction_set()
    _compiled.use_instruction_set(request.param)
    yield kernels
    _compiled.use_instruction_set(before)


@pytest.fixture(params=["reference", *SETS])
def kernel(request):
    """The reference, then the kernels of each instruction set."""
    if request.param == "reference":
        yield reference
        return
    require(_compiled is not None, "needs the compiled kernels")
    before = _compiled.instruction_set()
    _compiled.use_instruction_set(request.param)
    yield kernels
    _compiled.use_instruction_set(before)


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS = {
    "C": lambda a: a,
    "Fortran": np.asfortranarray,
    "rows apart": lambda a: np.repeat(a, 3, axis=0)[::3],
    "columns apart": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "strided both ways": lambda a: np.asfortranarray(np.repeat(np.repeat(a, 3, axis=0), 2, axis=1))[::3, ::2],
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "backwards, Fortran": lambda a: np.asfortranarray(a[::-1, ::-1])[::-1, ::-1],
    "float32": lambda a: a.astype(np.float32),
    "float32, Fortran": lambda a: np.asfortranarray(a.astype(np.float32)),
    "float32, strided": lambda a: np.repeat(np.repeat(a.astype(np.float32), 3, axis=0), 2, axis=1)[::3, ::2],
    "read-only": read_only,
    "one row repeated": lambda a: np.broadcast_to(a[:1] if len(a) else np.zeros((1, a.shape[1])), a.shape),
}
SHAPES = [
    *itertools.product([0, 1, 127, 128, 129, 257], [1, 3, 8], [0, 1, 3]),
    (257, 300, 1),
    (40, 300, 3),
    (515, 129, 0),
]
FEWER_SHAPES = [(0, 3, 1), (1, 1, 0), (129, 3, 0), (257, 8, 1), (129, 17, 3)]  # for layouts that differ in strides only


def case(n, p, k, seed=0):
    """X, Y, weights with zeros among them, and a scaling that is not trivial."""
    rng = np.random.default_rng([seed, n, p, k])
    X = rng.normal(size=(n, p)) * 2.0 ** rng.integers(-3, 4, p) + rng.normal(size=p)
    Y = rng.normal(size=(n, k)) + 5.0 if k else None
    weight = rng.exponential(size=n) * (rng.random(n) > 0.2)
    shift, scale = rng.normal(size=p + k), 2.0 ** rng.integers(-3, 4, p + k)
    return X, Y, weight, shift, scale


def assert_same_moments(G, expected):
    """Equal to rounding: entry i, j is a sum of products, so its size is that of the two columns it joins."""
    size = np.sqrt(np.maximum(np.diagonal(expected), 0.0))
    assert np.all(np.abs(G - expected) <= 64 * EPS * np.outer(size, size))


# --- compiled = reference -------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
class TestCompiledAgreesWithReference:
    def cases(self, layout, weighted):
        for n, p, k in SHAPES if layout in ("C", "Fortran", "float32") else FEWER_SHAPES:
            X, Y, weight, shift, scale = case(n, p, k)
            yield LAYOUTS[layout](X), Y, weight if weighted else None, shift, scale

    def test_gram(self, compiled, layout, weighted):
        for rows in self.cases(layout, weighted):
            G = compiled.gram(*rows)
            assert_same_moments(G, reference.gram(*rows))
            np.testing.assert_array_equal(G, G.T)

    def test_gram_weighted_by_residuals(self, compiled, layout, weighted):
        for X, Y, *rest in self.cases(layout, weighted):
            if Y is None:
                continue
            weight, shift, scale = rest
            p = X.shape[1]
            keep = [*range(p), p]
            coef = np.random.default_rng(p).normal(size=p + 1) / p
            rows = X, Y[:, :1], weight, shift[keep], scale[keep]
            assert_same_moments(compiled.gram(*rows, coef), reference.gram(*rows, coef))

    def test_qr_update(self, compiled, layout, weighted):
        for X, *rest in self.cases(layout, weighted):
            m = len(rest[-1]) + 1
            R = compiled.qr_update(np.zeros((m, m)), X, *rest)
            assert_same_moments(R.T @ R, reference.gram(X, *rest))
            np.testing.assert_array_equal(R, np.triu(R))
            if len(X) > 2 * m and layout != "one row repeated":  # then R is unique up to the signs of its rows
                expected = reference.qr_update(np.zeros((m, m)), X, *rest)
                flip = np.sign(np.diagonal(R) * np.diagonal(expected))
                size = np.linalg.norm(expected, axis=0)
                assert np.all(np.abs(flip[:, None] * R - expected) <= 1e4 * EPS * size)

    def test_gram_extended(self, compiled, layout, weighted):
        for X, Y, *rest in self.cases(layout, weighted):
            if X.shape[1] > 8 and (layout != "C" or len(X) > 100):
                continue  # the reference is slow: one wide case is enough
            G, expected = compiled.gram_extended(X, None, Y, *rest), reference.gram_extended(X, None, Y, *rest)
            assert_same_to_28_digits(G, expected)

    def test_residual_extended(self, compiled, layout, weighted):
        for X, Y, *rest in self.cases(layout, weighted):
            if Y is None or X.shape[1] > 8:
                continue
            rng = np.random.default_rng(1)
            B = DoubleDouble.of(rng.normal(size=(1 + X.shape[1], Y.shape[1])))
            total = compiled.residual_extended(X, None, Y, *rest, B)
            expected = reference.residual_extended(X, None, Y, *rest, B)
            squares = np.maximum(expected.high[-1], 0.0)
            size = np.sqrt(np.diagonal(reference.gram(X, Y, *rest)))[: len(B) + 1, None] * np.sqrt(squares)
            size[-1] = squares
            assert np.all(np.abs((total - expected).to_float64()) <= 1e-28 * size)


def assert_same_to_28_digits(G, expected):
    size = np.sqrt(np.maximum(np.diagonal(expected.high), 0.0))
    assert np.all(np.abs((G - expected).to_float64()) <= 1e-28 * np.outer(size, size))


def test_gram_of_several_packed_row_blocks_agrees_with_reference(compiled):
    X, Y, weight, shift, scale = case(20_000, 50, 2)
    assert_same_moments(compiled.gram(X, Y, weight, shift, scale), reference.gram(X, Y, weight, shift, scale))


def test_gram_columns_equals_gram_of_the_matrix(kernel):
    for n, p, k in [*SHAPES, (1000, 20, 1), (3000, 2, 2)]:
        X, Y, weight, shift, scale = case(n, p, k)
        columns = [read_only(column) for column in X.T]
        for w in (None, weight):
            G = kernel.gram_columns(columns, Y, w, shift, scale)
            assert_same_moments(G, reference.gram(X, Y, w, shift, scale))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gram_by_class_equals_gram_of_each_class(kernel, layout):
    X, _, weight, shift, scale = case(400, 9, 0)
    X = LAYOUTS[layout](X)
    classes = [[], [7], [399, 0, 0, 5], np.arange(0, 400, 3), np.random.default_rng(0).permutation(400)]
    order = np.concatenate(classes).astype(np.int64)
    ends = np.cumsum([0, *map(len, classes)])
    for w in (None, weight):
        G = kernel.gram_by_class(X, w, shift, scale, order, ends)
        for k, rows in enumerate(classes):
            some = np.array(rows, dtype=np.int64)
            expected = reference.gram(X[some], None, None if w is None else w[some], shift, scale)
            assert_same_moments(G[k], expected)


def test_qr_update_continues_from_a_triangle_without_changing_it(kernel):
    X, Y, weight, shift, scale = case(400, 5, 1)
    m = 7
    part = kernel.qr_update(np.zeros((m, m)), X[:130], Y[:130], weight[:130], shift, scale)
    before = part.copy()
    R = kernel.qr_update(part, X[130:], Y[130:], weight[130:], shift, scale)
    np.testing.assert_array_equal(part, before)  # what was passed is left alone
    assert_same_moments(R.T @ R, reference.gram(X, Y, weight, shift, scale))


@pytest.mark.parametrize("kind", ["copies", "groups in order", "steps"])
def test_qr_update_of_nearly_equal_columns_keeps_their_products(kernel, kind):
    # Of equal columns each leaves 1e-16 of the one before, until squares underflow.
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(5, 900)), int(rng.integers(40, 90))
        if kind == "copies":
            X = np.column_stack([np.repeat(rng.standard_normal((n, 1)), p - 1, axis=1), rng.standard_normal(n)])
        elif kind == "groups in order":
            X = (np.sort(rng.integers(0, p, n))[:, None] == np.arange(p)).astype(float)
        else:
            X = np.sort(rng.integers(0, 3, (n, p)), axis=0).astype(float)
        R = kernel.qr_update(np.zeros((p + 1, p + 1)), X, None, None, np.zeros(p), np.ones(p))
        Z = np.column_stack([np.ones(n), X])
        assert np.abs(R.T @ R - Z.T @ Z).max() <= 1e-13 * np.abs(Z.T @ Z).max()


@pytest.mark.parametrize("rows", [1, 4, 300])
def test_qr_update_of_dependent_columns_keeps_their_products(kernel, rows):
    X = np.repeat(np.arange(1.0, rows + 1)[:, None], 4, axis=1)
    R = kernel.qr_update(np.zeros((5, 5)), X, None, None, np.zeros(4), np.ones(4))
    assert_same_moments(R.T @ R, reference.gram(X, None, None, np.zeros(4), np.ones(4)))


def test_nan_in_a_column_appears_in_every_result(kernel):
    X, Y, _, shift, scale = case(130, 3, 1)
    X[77, 1] = np.nan
    assert np.isnan(kernel.gram(X, Y, None, shift, scale)[2, 2])
    assert np.isnan(kernel.gram_extended(X, None, Y, None, shift, scale).high[2, 2])
    assert np.isnan(kernel.qr_update(np.zeros((5, 5)), X, Y, None, shift, scale)[:, 2]).any()


@pytest.mark.parametrize("layout", ["C", "Fortran", "rows apart", "backwards", "float32"])
@pytest.mark.parametrize("name", ["gram", "gram_extended", "qr_update"])
def test_rows_are_neither_copied_nor_written(compiled, name, layout):
    X, Y, weight, shift, scale = case(20_000, 8, 1)
    X = LAYOUTS[layout](X)
    rows = (X, Y, weight)
    before = [a.copy() for a in rows]
    for a in (X, Y, weight, shift, scale):
        a.flags.writeable = False
    more = {"gram_extended": (X, None), "qr_update": (np.zeros((10, 10)), X)}.get(name, (X,))
    tracemalloc.start()  # NumPy reports the memory of its arrays
    try:
        getattr(compiled, name)(*more, Y, weight, shift, scale)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < min(a.nbytes for a in rows) / 4
    for a, b in zip(rows, before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_wrong_shapes_and_types_raise():
    require(_compiled is not None, "needs the compiled kernels")
    X, Y, weight, shift, scale = case(10, 3, 1)
    wrong = [
        ((X, Y[:9], weight, shift, scale), "Y has the wrong number of rows"),
        ((X, Y, weight[:9], shift, scale), "weight has the wrong number of rows"),
        ((X, Y, weight, shift[:3], scale[:3]), "one shift and one scale for each column"),
        ((X.astype(np.int64), Y, weight, shift, scale), "X must be float64 or float32"),
        ((X, Y.astype(np.float32), weight, shift, scale), "Y must be float64"),
    ]
    for rows, match in wrong:
        with pytest.raises(ValueError, match=match):
            kernels.gram(*rows)
        with pytest.raises(ValueError, match=match):
            kernels.qr_update(np.zeros((5, 5)), *rows)
    order, ends = np.arange(10), np.array([0, 4, 10])
    for bad, match in (((order + 1, ends), "index out of range"), ((order, ends[::-1].copy()), "out of order")):
        with pytest.raises(ValueError, match=match):
            kernels.gram_by_class(X, weight, shift[:3], scale[:3], *bad)
    with pytest.raises(ValueError, match="columns must have one length"):
        kernels.gram_columns([X[:, 0].copy(), X[:5, 1].copy(), X[:, 2].copy()], Y, weight, shift, scale)
    with pytest.raises(ValueError, match="Y has the wrong number of rows"):
        kernels.gram_columns(list(np.ascontiguousarray(X.T)), Y[:9], weight, shift, scale)
    with pytest.raises(ValueError, match="coef needs one target"):
        kernels.gram(X, Y, weight, shift, scale, np.zeros(3))
    with pytest.raises(ValueError, match="cannot run"):
        _compiled.use_instruction_set("abacus")


def test_environment_variable_selects_the_reference():
    code = "from linearly import kernels; print(kernels.kernels_in_use())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LINEARLY_KERNELS": "reference"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "NumPy reference"


# --- double-double sums against fractions ---------------------------------------------------------


def fractions_of(d):
    return np.vectorize(lambda high, low: Fraction(high) + Fraction(low), otypes=[object])(d.high, d.low)


def scaled_fractions(X, X_low, Y, shift, scale):
    Z = np.array(rational(X), dtype=object)
    if X_low is not None:
        Z = Z + np.array(rational(X_low), dtype=object)
    if Y is not None:
        Z = np.hstack([Z, np.array(rational(Y), dtype=object)])
    Z = (Z - np.array(rational(shift), dtype=object)) * np.array(rational(scale), dtype=object)
    return np.hstack([np.full((len(X), 1), Fraction(1)), Z])


CASES_IN_FRACTIONS = {
    "random": lambda: (*case(257, 3, 2)[:2], None, *case(257, 3, 2)[2:]),
    "mean 1e9": lambda: with_offset(case(257, 2, 1), offset=1e9),
    "polynomial": lambda: powers(),
}


def with_offset(rows, offset):
    X, Y, weight, shift, scale = rows
    return X + offset, Y, None, weight, shift + offset, scale


def powers():
    x = np.random.default_rng(5).normal(size=130) - 6
    X = polynomial_features(x, 6).cut(slice(None))
    shift = np.append(X.high.mean(axis=0), 0.0)
    return X.high, x[:, None] ** 2, X.low, np.ones(130), shift, 2.0 ** -np.arange(7.0)


@pytest.mark.parametrize("name", CASES_IN_FRACTIONS)
def test_gram_extended_has_28_digits(kernel, name):
    X, Y, X_low, weight, shift, scale = CASES_IN_FRACTIONS[name]()
    Z, W = scaled_fractions(X, X_low, Y, shift, scale), np.array(rational(weight), dtype=object)
    expected = Z.T @ (Z * W[:, None])
    G = kernel.gram_extended(X, X_low, Y, weight, shift, scale)
    error = np.abs(fractions_of(G) - expected)
    size = np.sqrt(np.diagonal(expected).astype(float))
    assert np.all(error.astype(float) <= 1e-28 * np.outer(size, size))


@pytest.mark.parametrize("name", CASES_IN_FRACTIONS)
def test_residual_extended_has_28_digits(kernel, name):
    X, Y, X_low, weight, shift, scale = CASES_IN_FRACTIONS[name]()
    p, k = X.shape[1], Y.shape[1]
    rng = np.random.default_rng(2)
    B = DoubleDouble.of(rng.normal(size=(1 + p, k))) + 1e-18 * rng.normal(size=(1 + p, k))
    Z, W = scaled_fractions(X, X_low, Y, shift, scale), np.array(rational(weight), dtype=object)[:, None]
    r = Z[:, 1 + p :] - Z[:, : 1 + p] @ fractions_of(B)
    expected = np.vstack([Z[:, : 1 + p].T @ (W * r), (W * r * r).sum(axis=0)])
    total = kernel.residual_extended(X, X_low, Y, weight, shift, scale, B)
    error = np.abs(fractions_of(total) - expected).astype(float)
    terms = np.abs(Z[:, 1 + p :]) + np.abs(Z[:, : 1 + p]) @ np.abs(fractions_of(B))
    size = np.vstack([np.abs(Z[:, : 1 + p]).T @ (W * terms), (W * terms * terms).sum(axis=0)]).astype(float)
    assert np.all(error <= 1e-28 * size)
