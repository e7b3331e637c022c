"""The loops of the classifiers: compiled equals NumPy, on every instruction set and layout of rows."""

import math

import numpy as np
import pytest

from linearly import kernels
from linearly.kernels import reference

compiled = pytest.importorskip("linearly.kernels._compiled")
LAYOUTS = {
    "C": lambda X: X,
    "Fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
}


@pytest.fixture(params=compiled.instruction_sets(), autouse=True)
def instruction_set(request, monkeypatch):
    monkeypatch.setattr(kernels, "_compiled", compiled)
    before = compiled.instruction_set()
    compiled.use_instruction_set(request.param)
    yield request.param
    compiled.use_instruction_set(before)


def rows(n, p, layout, seed=0):
    rng = np.random.default_rng(seed)
    X = LAYOUTS[layout](3 * rng.standard_normal((n, p)) + 1)
    weight = rng.integers(0, 3, n).astype(float)
    return rng, X, weight, np.full(p, 0.5), np.full(p, 0.25)


def same(ours, theirs, n):
    for a, b in zip(ours, theirs, strict=True):
        if b is None:
            assert a is None
        else:
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * n)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "p"), [(0, 3), (1, 1), (5, 3), (127, 8), (129, 50), (700, 130)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hessian", [False, True])
def test_logistic_agrees_with_reference(n, p, layout, weighted, hessian):
    rng, X, weight, shift, scale = rows(n, p, layout)
    y = rng.integers(0, 2, n).astype(float)
    beta = 4 * rng.standard_normal(1 + p) / np.sqrt(p)
    asked = (X, y, weight if weighted else None, shift, scale, beta, hessian)
    same(kernels.logistic(*asked), reference.logistic(*asked), max(n, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("n", "p", "c"),
    [(0, 3, 2), (1, 1, 2), (5, 3, 3), (33, 41, 4), (65, 7, 9), (130, 20, 17), (24, 100, 8), (50, 70, 10)],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hessian", [False, True])
def test_softmax_agrees_with_reference(n, p, c, layout, weighted, hessian):
    rng, X, weight, shift, scale = rows(n, p, layout)
    codes = rng.integers(-1, c, n).astype(np.int32)
    asked = (X, codes, weight if weighted else None, shift, scale, rng.standard_normal((1 + p, c)), hessian)
    same(kernels.softmax(*asked), reference.softmax(*asked), max(n, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("n", "p", "K", "width"), [(0, 2, 2, 2), (1, 1, 3, 1), (5, 3, 2, 2), (65, 7, 4, 7), (130, 50, 3, 50)]
)
@pytest.mark.parametrize("triangular", [False, True])
def test_mahalanobis_agrees_with_reference(n, p, K, width, layout, triangular):
    rng, X, _, shift, scale = rows(n, p, layout)
    roots = rng.standard_normal((p, K, width))
    if triangular:
        roots *= (np.arange(p)[:, None] >= np.arange(width))[:, None]
    asked = (X, shift, scale, roots.reshape(p, -1), rng.standard_normal(K * width), K)
    np.testing.assert_allclose(kernels.mahalanobis(*asked), reference.mahalanobis(*asked), rtol=1e-12)


def test_logistic_of_extreme_logits_neither_overflows_nor_underflows():
    X = np.array([[-800.0], [-40.0], [0.0], [40.0], [800.0]])
    for y in (np.zeros(5), np.ones(5)):
        asked = (X, y, None, np.zeros(1), np.ones(1), np.array([0.0, 1.0]), True)
        loss, gradient, H, *_ = kernels.logistic(*asked)
        expected = reference.logistic(*asked)
        assert loss == pytest.approx(expected[0], rel=1e-14)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-13)
        np.testing.assert_allclose(H, expected[2], rtol=1e-12, atol=1e-28)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_probabilities_agree_with_reference(layout):
    for n, p in ((0, 3), (1, 1), (7, 4), (300, 9), (1000, 50)):
        rng, X, *_ = rows(n, p, layout)
        beta = rng.standard_normal(p + 1)
        P = kernels.probabilities(X, beta)
        np.testing.assert_allclose(P, reference.probabilities(X, beta), rtol=1e-12)
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-15)


def test_probabilities_keep_digits_and_are_nan_for_nonfinite_logits():
    X = np.array([[-700.0], [-40.0], [-1e-9], [0.0], [40.0], [700.0], [np.nan], [np.inf], [-np.inf]])
    P = kernels.probabilities(X, np.array([0.0, 1.0]))
    t = X[:6, 0]
    np.testing.assert_allclose(
        P[:6, 1], [math.exp(v) / (1 + math.exp(v)) if v < 0 else 1 / (1 + math.exp(-v)) for v in t], rtol=1e-14
    )
    np.testing.assert_array_equal(P[:6, 0], kernels.probabilities(-X[:6], np.array([0.0, 1.0]))[:, 1])
    assert np.isnan(P[6:]).all()
    with pytest.raises(ValueError, match="beta needs an intercept"):
        kernels.probabilities(X, np.zeros(3))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "p"), [(0, 3), (1, 1), (4, 0), (5, 3), (127, 8), (129, 50), (70, 130)])
@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 8, 9, 10, 17, 33])
def test_softmax_probabilities_agree_with_reference(n, p, K, layout):
    rng, X, *_ = rows(n, p, layout)
    B = rng.standard_normal((1 + p, K))
    found = kernels.softmax_probabilities(X, B)
    np.testing.assert_allclose(found, reference.softmax_probabilities(X, B), rtol=1e-11)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


def test_softmax_probabilities_keep_digits_and_are_nan_for_nonfinite_scores():
    X = np.array([[0.0], [700.0], [1e5], [-1e5], [np.nan], [np.inf], [1e308]])
    B = np.array([[0.0, 1.0, -1.0], [0.0, 1.0, 10.0]])
    for found in (kernels.softmax_probabilities(X, B), reference.softmax_probabilities(X, B)):
        np.testing.assert_allclose(found[0], np.exp([0, 1, -1]) / np.exp([0, 1, -1]).sum(), rtol=1e-15)
        np.testing.assert_allclose(found[1:4], [[0, 0, 1], [0, 0, 1], [1, 0, 0]], atol=1e-300)
        assert np.isnan(found[4:]).all()
    few = kernels.softmax_probabilities(np.array([[20.0]]), B)[0]
    np.testing.assert_allclose(few[:2], [math.exp(-199.0), math.exp(21.0 - 199.0)], rtol=1e-13)


def test_softmax_with_codes_out_of_range_raises():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="codes must be"):
        kernels.softmax(X, np.array([0, 1, 5], dtype=np.int32), None, np.zeros(2), np.ones(2), np.zeros((3, 2)))
